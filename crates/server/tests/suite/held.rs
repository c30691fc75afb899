//! Answers that are held back until they are durable, on a disk whose syncs the test lets through.

use std::io::ErrorKind;
use std::sync::Arc;
use std::time::Duration;

use hotrow::{Config, Database, engines};
use hotrow_log::files::DiskSwitch;
use hotrow_server::ServerOptions;

use crate::pipelines::{Messages, Raw, TABLES};
use crate::running::Running;

/// A server with a log, and what its disk does.
struct Held {
    db: Database,
    disk: Arc<DiskSwitch>,
    server: Running,
    directory: std::path::PathBuf,
}

impl Held {
    fn begin(name: &str) -> Self {
        let directory = format!("hotrow-held-{name}-{}", std::process::id());
        let directory = std::env::temp_dir().join(directory);
        let _ = std::fs::remove_dir_all(&directory);
        let disk = Arc::<DiskSwitch>::default();
        let config = Config::default().threads(2).memory_bytes(256 << 20);
        let entry =
            engines().iter().find(|entry| entry.name == config.engine).expect("it is there");
        let sync = {
            let disk = Arc::clone(&disk);
            move || disk.pass()
        };
        let db = Database::open_on_slow_log(entry, &directory, config, sync).expect("it opens");
        let server = Running::serve(db.clone(), ServerOptions::default());
        server.client().batch_execute(TABLES).expect("it is right");
        Self { db, disk, server, directory }
    }

    /// Waits until the engine has committed so many calls more than `before`.
    fn wait_for_commits(&self, before: u64, more: u64) {
        for _ in 0..30_000 {
            if self.db.statistics().committed >= before + more {
                return;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        panic!("the calls do not run while answers wait: {}", self.db.statistics().committed);
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.disk.open();
        let _ = std::fs::remove_dir_all(&self.directory);
    }
}

/// Whether something has come.
fn has_come(raw: &mut Raw) -> bool {
    raw.0.set_nonblocking(true).expect("it can be");
    let read = raw.0.peek(&mut [0; 1]);
    raw.0.set_nonblocking(false).expect("it can be");
    match read {
        Ok(_) => true,
        Err(error) => error.kind() != ErrorKind::WouldBlock,
    }
}

fn call(which: i32) -> String {
    format!("SELECT add({which})")
}

#[test]
fn calls_run_while_earlier_answers_wait_for_the_disk() {
    let held = Held::begin("calls");
    let mut raw = Raw::connect(&held.server);
    let before = held.db.statistics().committed;
    held.disk.close();
    for which in [1, 2, 3] {
        raw.send(&Messages::default().execute(&call(which)).sync());
    }
    held.wait_for_commits(before, 3);
    // That the first one was understood is told at once.
    assert_eq!([raw.message().0, raw.message().0], *b"12");
    assert!(!has_come(&mut raw), "an answer has left before it is durable");
    // What is read behind them waits with them, in its place.
    raw.send(&Messages::default().execute("SELECT id FROM t ORDER BY id").sync());
    held.disk.open();
    assert_eq!([(); 4].map(|()| raw.answer()), ["DCZI", "12DCZI", "12DCZI", "12DDDCZI"]);
}

#[test]
fn errors_commit_and_sync_keep_their_meaning() {
    let held = Held::begin("meaning");
    let mut raw = Raw::connect(&held.server);
    let before = held.db.statistics().committed;
    held.disk.close();
    let failing = Messages::default().execute(&call(1)).execute(&call(1)).execute(&call(2)).sync();
    let block = failing.execute("BEGIN").sync().execute("INSERT INTO t VALUES (5, 0)").sync();
    let rest = block.execute("COMMIT").sync().execute("SELECT id FROM t ORDER BY id").sync();
    raw.send(&rest);
    held.wait_for_commits(before, 1);
    held.disk.open();
    let answers = ["12DC12E23505 ZI", "12CZT", "12CZT", "12CZI", "12DDCZI"];
    assert_eq!(answers.map(|_| raw.answer()), answers);
    // A script is answered as a whole, and so is what comes behind it.
    held.disk.close();
    let script = b"INSERT INTO t VALUES (6, 0); SELECT count(*) FROM t; SELECT 1/0\0";
    raw.send(&Messages::default().message(b'Q', script).message(b'Q', b"SELECT 7\0"));
    held.disk.open();
    assert_eq!([raw.answer(), raw.answer()], ["CTDCE22012 ZI", "TDCZI"]);
}

#[test]
fn lost_answers_are_errors_and_the_connection_goes_on() {
    let held = Held::begin("lost");
    let mut raw = Raw::connect(&held.server);
    let before = held.db.statistics().committed;
    held.disk.close();
    let durable = Messages::default().execute("SELECT 1").sync();
    let lost = durable.execute(&call(1)).execute(&call(2)).sync().execute(&call(3)).sync();
    raw.send(&lost.execute("SELECT id FROM t WHERE id = 3").sync());
    held.wait_for_commits(before, 3);
    held.disk.fail();
    let answers = ["12DCZI", "12E08007 ZI", "12E08007 ZI", "12E58030 ZI"];
    assert_eq!(answers.map(|_| raw.answer()), answers);
    raw.send(&Messages::default().execute(&call(4)).sync().execute("SELECT 1").sync());
    assert_eq!([raw.answer(), raw.answer()], ["12E58030 ZI", "12DCZI"]);
}

#[test]
fn as_many_answers_are_held_back_as_are_to_be() {
    const CALLS: i32 = 5000;
    let held = Held::begin("many");
    let mut raw = Raw::connect(&held.server);
    let before = held.db.statistics().committed;
    held.disk.close();
    let mut sender = Raw(raw.0.try_clone().expect("there are descriptors"));
    let sender = std::thread::spawn(move || {
        for which in 0..CALLS {
            sender.send(&Messages::default().execute(&call(which)).sync());
        }
    });
    held.wait_for_commits(before, 512);
    std::thread::sleep(Duration::from_millis(200)); // for whoever would go on without a bound
    let most = held.db.statistics().committed - before;
    assert!(most <= 1026, "{most} calls have run");
    held.disk.open();
    for which in 0..CALLS {
        assert_eq!(raw.answer(), "12DCZI", "{which}");
    }
    sender.join().expect("it has sent all");
}
