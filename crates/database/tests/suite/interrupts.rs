//! Statements that are ended early: by another thread, by their time, by their wait for a lock.

use std::time::{Duration, Instant};

use hotrow::{Canceller, Config, Database, Error, Session, TransactionState};

const TABLE: &str = "
CREATE TABLE t (id bigint PRIMARY KEY, n bigint NOT NULL);
INSERT INTO t VALUES (1, 10), (2, 20);
CREATE PROCEDURE add(which bigint, more bigint) LANGUAGE plpgsql AS $$
BEGIN UPDATE t SET n = n + more WHERE id = which; END $$;
CREATE FUNCTION spin(times bigint) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE sum bigint := 0;
BEGIN FOR i IN 1..times LOOP sum := sum + i % 7; END LOOP; RETURN sum; END $$;
";

/// What a test waits for at most.
const LONG: Duration = Duration::from_secs(30);

fn locking_engines(test: impl Fn(Config) -> Result<(), Error>) {
    for entry in hotrow::engines().iter().filter(|entry| entry.locks_as_it_goes) {
        let config = Config::default().engine(entry.name).threads(1).memory_bytes(256 << 20);
        test(config).unwrap_or_else(|error| panic!("{}: {error}", entry.name));
    }
}

fn with_table(config: Config) -> (Database, Session) {
    let db = Database::open_in_memory(config).expect("the configuration is right");
    let session = db.session();
    session.execute(TABLE).expect("the table is made");
    (db, session)
}

/// The code of an error, or the last tag.
fn said(session: &Session, script: &str) -> String {
    match session.execute(script) {
        Ok(results) => results.last().map(|last| last.tag.clone()).unwrap_or_default(),
        Err(error) => error.sqlstate().unwrap_or("no SQL error").to_owned(),
    }
}

fn n_of(session: &Session, id: i64) -> i64 {
    let mut results = session.execute(&format!("SELECT n FROM t WHERE id = {id}")).expect("it is");
    results.pop().expect("one statement").rows.one().expect("one row")
}

/// Cancels again and again until `body` has ended, which it must within a while.
fn cancelled<T: Send>(canceller: &Canceller, body: impl FnOnce() -> T + Send) -> T {
    let began = Instant::now();
    let ended = std::thread::scope(|scope| {
        let thread = scope.spawn(body);
        while !thread.is_finished() {
            assert!(began.elapsed() < LONG, "it is not cancelled");
            std::thread::sleep(Duration::from_millis(5));
            canceller.cancel();
        }
        thread.join().expect("it ends well")
    });
    assert!(!canceller.cancel(), "nothing runs");
    ended
}

#[test]
fn whatever_computes_is_cancelled_and_its_time_is_limited() {
    locking_engines(|config| {
        let (_db, session) = with_table(config.step_budget(u64::MAX));
        let long = [
            "SELECT pg_sleep(3600)",
            "SELECT count(*) FROM generate_series(1, 30000) a, generate_series(1, 30000) b",
            "BEGIN; SELECT spin(2000000000)",
            "BEGIN; UPDATE t SET n = 0 WHERE id = 1; SELECT pg_sleep(3600) FROM t",
        ];
        let canceller = session.canceller();
        let mut session = Some(session);
        for script in long {
            let own = session.take().expect("it is given back");
            let (own, code) = cancelled(&canceller, move || {
                let code = said(&own, script);
                (own, code)
            });
            assert_eq!(code, "57014", "{script}");
            if own.transaction_state() != TransactionState::Idle {
                assert_eq!(said(&own, "SELECT 1"), "25P02");
                assert_eq!(said(&own, "ROLLBACK"), "ROLLBACK");
            }
            own.execute("SET statement_timeout = '20ms'")?;
            let error = own.execute(script).expect_err("it takes too long");
            assert_eq!(error.sqlstate(), Some("57014"), "{script}");
            assert!(error.to_string().contains("due to statement timeout"), "{error}");
            own.execute("ROLLBACK; RESET statement_timeout")?;
            session = Some(own);
        }
        assert_eq!(n_of(&session.expect("it is given back"), 1), 10);
        Ok(())
    });
}

#[test]
fn a_wait_for_a_lock_is_cancelled_and_its_time_is_limited() {
    locking_engines(|config| {
        let (db, holder) = with_table(config);
        let other = db.session();
        holder.execute("BEGIN; UPDATE t SET n = 11 WHERE id = 1")?;
        other.execute("BEGIN; UPDATE t SET n = 21 WHERE id = 2; SAVEPOINT before")?;
        other.execute("SET lock_timeout = 30")?;
        let began = Instant::now();
        let error = other.execute("UPDATE t SET n = 12 WHERE id = 1").expect_err("it is locked");
        assert_eq!(error.sqlstate(), Some("55P03"), "{error}");
        assert!(began.elapsed() < LONG);
        // It is a statement that has failed: the transaction goes on behind its savepoint.
        other.execute("ROLLBACK TO before")?;
        let canceller = other.canceller();
        let (other, code) = cancelled(&canceller, move || {
            let code = said(&other, "UPDATE t SET n = 12 WHERE id = 1");
            (other, code)
        });
        assert_eq!(code, "57014");
        other.execute("ROLLBACK TO before; COMMIT")?;
        holder.execute("COMMIT")?;
        assert_eq!((n_of(&holder, 1), n_of(&holder, 2)), (11, 21));
        assert_eq!(said(&other, "UPDATE t SET n = 12 WHERE id = 1"), "UPDATE 1");
        Ok(())
    });
}

#[test]
fn a_call_is_withdrawn_as_long_as_it_waits_for_a_thread() {
    locking_engines(|config| {
        let (db, holder) = with_table(config);
        // Makes the row one that transactions use, so that what follows needs no quiet point.
        holder.execute("BEGIN; UPDATE t SET n = 10 WHERE id = 1")?;
        std::thread::scope(|scope| {
            let busy = scope.spawn(|| db.session().call("add", (1_i64, 1_i64)).map(drop));
            std::thread::sleep(Duration::from_millis(50)); // the only thread waits for the row
            let waiting = db.session();
            waiting.execute("SET statement_timeout = 40")?;
            let error = waiting.call("add", (1_i64, 100_i64)).expect_err("nobody takes it");
            assert_eq!(error.sqlstate(), Some("57014"), "{error}");
            waiting.execute("RESET statement_timeout")?;
            let canceller = waiting.canceller();
            let (waiting, ended) = cancelled(&canceller, move || {
                let ended = waiting.call("add", (1_i64, 100_i64));
                (waiting, ended)
            });
            assert_eq!(ended.expect_err("nobody takes it").sqlstate(), Some("57014"));
            holder.execute("COMMIT")?;
            busy.join().expect("it ends well")?;
            // The session goes on, and what was withdrawn has never run.
            waiting.call("add", (1_i64, 1_i64))?;
            assert_eq!(n_of(&waiting, 1), 12);
            Ok(())
        })
    });
}

#[test]
fn limits_end_with_their_transaction_and_with_what_discards_them() {
    locking_engines(|config| {
        let (_db, session) = with_table(config);
        let sleeps = |session: &Session| said(session, "SELECT pg_sleep(0.05)");
        assert_eq!(said(&session, "BEGIN; SET LOCAL statement_timeout = 5"), "SET");
        assert_eq!(sleeps(&session), "57014");
        session.execute("ROLLBACK")?;
        assert_eq!(sleeps(&session), "SELECT 1");
        session.execute("BEGIN; SET statement_timeout = 5; ROLLBACK")?;
        assert_eq!(sleeps(&session), "SELECT 1");
        session.execute("SET statement_timeout = 5")?;
        assert_eq!(sleeps(&session), "57014");
        session.discard_all()?;
        assert_eq!(sleeps(&session), "SELECT 1");
        session.start_settings("me", [("statement_timeout", "5ms")])?;
        assert_eq!(sleeps(&session), "57014");
        assert_eq!(said(&session, "SET statement_timeout = 0"), "SET");
        assert_eq!(sleeps(&session), "SELECT 1");
        Ok(())
    });
}

#[test]
fn a_copy_is_cancelled_while_its_client_is_silent() {
    locking_engines(|config| {
        let (_db, session) = with_table(config);
        let copy = session.prepare("COPY t FROM STDIN", &[])?;
        let hotrow::Outcome::CopyIn(mut rows) = session.perform(&copy, &[])? else {
            panic!("it takes rows");
        };
        rows.write(&session, b"3\t30\n")?;
        assert!(session.canceller().cancel());
        let error = rows.write(&session, b"4\t40\n").expect_err("it is cancelled");
        assert_eq!(error.sqlstate(), Some("57014"));
        drop(rows);
        assert!(!session.canceller().cancel(), "it has ended");
        assert_eq!(said(&session, "SELECT n FROM t WHERE id = 3"), "SELECT 0");
        Ok(())
    });
}

#[test]
fn sessions_cancel_each_other_by_number() -> Result<(), Error> {
    let (db, session) = with_table(Config::default().threads(1));
    session.identify("me", "app", 7);
    session.identify("me", "app", 8);
    let other = db.session();
    other.identify("me", "app", 9);
    let ask = |number: i32| {
        let asked = format!("SELECT pg_cancel_backend({number})");
        let mut results = other.execute(&asked).expect("it is a query");
        results.pop().expect("one statement").rows.one::<bool>().expect("one row")
    };
    assert!(!ask(7), "nobody has that number any more");
    let ended = std::thread::scope(|scope| {
        let sleeper = scope.spawn(move || said(&session, "SELECT pg_sleep(3600)"));
        while !sleeper.is_finished() {
            assert!(ask(8) || sleeper.is_finished());
            std::thread::sleep(Duration::from_millis(5));
        }
        sleeper.join().expect("it ends well")
    });
    assert_eq!(ended, "57014");
    assert!(!ask(8), "it has gone");
    Ok(())
}

#[test]
fn the_shorter_limit_of_silence_holds() {
    locking_engines(|config| {
        let (db, session) = with_table(config.idle_in_transaction(Some(LONG)));
        session.execute("SET idle_in_transaction_session_timeout = '20ms'; BEGIN")?;
        assert_eq!(session.idle_limit(), Some(Duration::from_millis(20)));
        session.execute("UPDATE t SET n = 0 WHERE id = 1")?;
        let other = db.session();
        assert_eq!(said(&other, "UPDATE t SET n = n + 1 WHERE id = 1"), "UPDATE 1");
        assert_eq!(said(&session, "SELECT n FROM t"), "25P03");
        session.execute("ROLLBACK; RESET idle_in_transaction_session_timeout; BEGIN")?;
        session.execute("UPDATE t SET n = 0 WHERE id = 1")?;
        std::thread::sleep(Duration::from_millis(100));
        session.execute("SET LOCAL idle_in_transaction_session_timeout = '20ms'")?;
        std::thread::sleep(Duration::from_millis(100));
        assert_eq!(said(&session, "COMMIT"), "25P03");
        assert_eq!(n_of(&session, 1), 11);
        Ok(())
    });
}
