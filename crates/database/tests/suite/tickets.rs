//! Tickets: calls that have run and wait for the disk.

use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};

use hotrow::{Config, Database, Session, engines};
use hotrow_log::files::DiskSwitch;

const SCRIPT: &str = "
CREATE TABLE counter (id bigint PRIMARY KEY, n bigint NOT NULL);
INSERT INTO counter VALUES (1, 0);
CREATE FUNCTION bump() RETURNS bigint AS $$
DECLARE result bigint;
BEGIN
  UPDATE counter SET n = n + 1 WHERE id = 1 RETURNING n INTO result;
  IF result = 7 THEN RAISE EXCEPTION 'seven'; END IF;
  RETURN result;
END $$ LANGUAGE plpgsql;";

fn with_database(name: &str, test: impl FnOnce(&Session, &DiskSwitch)) {
    let directory = std::env::temp_dir().join(format!("hotrow-{name}-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&directory);
    let disk = Arc::<DiskSwitch>::default();
    let config = Config::default().threads(1);
    let entry = engines().iter().find(|entry| entry.name == config.engine).expect("it is there");
    let sync = Arc::clone(&disk);
    let db = Database::open_on_slow_log(entry, &directory, config, move || sync.pass());
    let db = db.expect("it opens");
    db.session().execute(SCRIPT).expect("it is right");
    test(&db.session(), &disk);
    disk.open();
    drop(db);
    std::fs::remove_dir_all(directory).expect("it is there");
}

struct Thread(std::thread::Thread);

impl Wake for Thread {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

/// The least of runtimes.
fn block_on<F: Future>(future: F) -> F::Output {
    let mut future = std::pin::pin!(future);
    let waker = Waker::from(Arc::new(Thread(std::thread::current())));
    loop {
        match future.as_mut().poll(&mut Context::from_waker(&waker)) {
            Poll::Ready(ready) => return ready,
            Poll::Pending => std::thread::park(),
        }
    }
}

#[test]
fn tickets_wait_for_the_disk_and_calls_do_not() {
    with_database("tickets", |session, disk| {
        disk.close();
        let tickets: Vec<_> = (0..10).map(|_| session.submit("bump", ())).collect();
        assert!(tickets.iter().all(|ticket| !ticket.is_durable()));
        disk.open();
        for (ticket, number) in tickets.into_iter().zip(1_i64..) {
            let answer = ticket.wait();
            match number {
                7.. => assert_eq!(answer.expect_err("it raises").sqlstate(), Some("P0001")),
                _ => assert_eq!(answer.and_then(|rows| rows.one::<i64>()).ok(), Some(number)),
            }
        }
        let ended = session.call("bump", ()).expect_err("it raises");
        assert_eq!(ended.sqlstate(), Some("P0001"), "and waits as before");
    });
}

#[test]
fn tickets_are_futures() {
    with_database("futures", |session, disk| {
        disk.close();
        let ticket = session.submit("bump", ());
        let mut ticket = std::pin::pin!(ticket);
        let mut nobody = Context::from_waker(Waker::noop());
        assert!(ticket.as_mut().poll(&mut nobody).is_pending());
        std::thread::scope(|scope| {
            scope.spawn(|| disk.open());
            let answer = block_on(ticket);
            assert_eq!(answer.and_then(|rows| rows.one::<i64>()).ok(), Some(1));
        });
    });
}

#[test]
fn lost_tickets_say_so() {
    with_database("lost", |session, disk| {
        disk.close();
        let tickets = [session.submit("bump", ()), session.submit("bump", ())];
        disk.fail();
        for ticket in tickets {
            assert_eq!(ticket.wait().expect_err("it is lost").sqlstate(), Some("08007"));
        }
        let answer = session.submit("bump", ()).wait();
        assert_eq!(answer.expect_err("the log has failed").sqlstate(), Some("58030"));
    });
}
