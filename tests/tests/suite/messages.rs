//! How many messages a call of the engine that passes messages takes (orthrus.txt 3.3), also while
//! threads change their roles (4.2).

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use hotrow::{CallSource, Config, Database, EngineEntry, EngineOptions, ProcedureId};
use hotrow_engine::source::{End, Fetch, Ticket};
use hotrow_tests::matrix;
use hotrow_transaction::invocation::Invocation;
use hotrow_transaction::routing::partition_of_bigint;

const LOCK_THREADS: u16 = 5;
const ROWS: i64 = 40;
const SCRIPT: &str = "
    CREATE TABLE counter (id bigint PRIMARY KEY, hits bigint NOT NULL);
    CREATE PROCEDURE bump(a bigint, b bigint, c bigint) AS $$
    BEGIN
      UPDATE counter SET hits = hits + 1 WHERE id = a;
      UPDATE counter SET hits = hits + 1 WHERE id = b;
      UPDATE counter SET hits = hits + 1 WHERE id = c;
    END $$ LANGUAGE plpgsql;
";

struct Calls {
    procedure: ProcedureId,
    left: Vec<[i64; 3]>,
}

impl CallSource for Calls {
    fn fetch(&mut self, invocation: &mut Invocation) -> Fetch {
        let Some(rows) = self.left.pop() else { return Fetch::Closed };
        invocation.procedure = self.procedure;
        invocation.arguments.clear();
        rows.iter().for_each(|&row| invocation.arguments.push_int(row));
        Fetch::Ready(Ticket(0))
    }

    fn wait(&mut self) {}

    fn finish(&mut self, _: Ticket, end: End<'_>) {
        assert!(matches!(end, End::Committed { .. }));
    }
}

/// Rows to bump, for so many threads, and the procedure that does it.
fn counters(threads: usize) -> (Database, ProcedureId) {
    let config = Config::default().threads(threads);
    let db = Database::open_in_memory_without_engine(config).expect("a legal configuration");
    let session = db.session();
    session.execute(SCRIPT).expect("a legal script");
    for id in 0..ROWS {
        session.execute(&format!("INSERT INTO counter VALUES ({id}, 0)")).expect("it is new");
    }
    let procedure = session.procedure("bump").expect("it is there").id();
    (db, procedure)
}

/// Messages of calls, and those that were expected, where a call that visits n lock threads takes
/// `expected(n)`.
fn messages(entry: &EngineEntry, visits: &str, expected: impl Fn(u64) -> u64) -> (u64, u64) {
    let threads = usize::from(LOCK_THREADS) + 2;
    let (db, procedure) = counters(threads);
    let call = |at: i64| [at % ROWS, (at * 7 + 1) % ROWS, (at * 11 + 5) % ROWS];
    let calls: Vec<_> = (0..500).map(call).collect();
    let visited = |rows: &[i64; 3]| {
        let owner = |&row: &i64| partition_of_bigint(row, LOCK_THREADS);
        let owners: BTreeSet<_> = rows.iter().map(owner).collect();
        owners.len() as u64
    };
    let kinds: BTreeSet<u64> = calls.iter().map(visited).collect();
    assert_eq!(kinds, BTreeSet::from([1, 2, 3]), "calls of all kinds");
    let wanted = calls.iter().map(|rows| expected(visited(rows))).sum();
    let setting = |name: &str, value: String| (name.to_owned(), value);
    let options = EngineOptions {
        threads,
        pin_threads: false,
        settings: [
            setting("lock_threads", LOCK_THREADS.to_string()),
            setting("visits", visits.to_owned()),
        ]
        .into(),
        ..EngineOptions::default()
    };
    let mut shares: Vec<Calls> =
        (0..threads).map(|_| Calls { procedure, left: Vec::new() }).collect();
    for (at, rows) in calls.into_iter().enumerate() {
        shares[at % threads].left.push(rows);
    }
    let sources = shares.into_iter().map(|calls| Box::new(calls) as Box<dyn CallSource>).collect();
    let engine = db.start_engine(entry, &options, sources).expect("it starts");
    while engine.statistics().committed < 500 {
        std::thread::yield_now();
    }
    let statistics = engine.stop();
    assert_eq!(statistics.conflict_aborts() + statistics.replans, 0);
    (statistics.messages, wanted)
}

#[test]
fn a_call_takes_a_message_for_each_lock_thread_and_one_more_or_twice_as_many() {
    let entry = matrix::engine("orthrus");
    // Each lock thread is told, besides, that the locks are free.
    let (sent, wanted) = messages(entry, "forwarded", |visited| (visited + 1) + visited);
    assert_eq!(sent, wanted, "requests handed on");
    let (sent, wanted) = messages(entry, "returned", |visited| 2 * visited + visited);
    assert_eq!(sent, wanted, "requests given back");
}

/// Lets its thread rest between calls, so that lock threads have little to do.
struct Paced {
    procedure: ProcedureId,
    next: i64,
    ended: Arc<AtomicU64>,
    closing: Arc<AtomicBool>,
    rests: bool,
}

impl CallSource for Paced {
    fn fetch(&mut self, invocation: &mut Invocation) -> Fetch {
        if self.closing.load(Relaxed) {
            return Fetch::Closed;
        }
        self.rests = !self.rests;
        if self.rests {
            return Fetch::Empty;
        }
        self.next += 1;
        invocation.procedure = self.procedure;
        invocation.arguments.clear();
        for row in [self.next % ROWS, (self.next * 7 + 1) % ROWS, (self.next * 11 + 5) % ROWS] {
            invocation.arguments.push_int(row);
        }
        Fetch::Ready(Ticket(0))
    }

    fn wait(&mut self) {
        std::thread::sleep(Duration::from_millis(1));
    }

    fn finish(&mut self, _: Ticket, end: End<'_>) {
        assert!(matches!(end, End::Committed { .. }));
        self.ended.fetch_add(1, Relaxed);
    }
}

/// A thread that locks and has little to do becomes one that executes, while the engine runs: then
/// one lock thread has all locks, and each call takes three messages: there, back, and released.
#[test]
fn a_lock_thread_without_work_goes_over_to_execution() {
    let entry = matrix::engine("orthrus");
    let (db, procedure) = counters(10);
    let options = EngineOptions {
        threads: 10,
        pin_threads: false,
        settings: [("lock_threads".to_owned(), "auto".to_owned())].into(),
        ..EngineOptions::default()
    };
    let (ended, closing) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicBool::new(false)));
    let source = |next| {
        let (ended, closing) = (Arc::clone(&ended), Arc::clone(&closing));
        Box::new(Paced { procedure, next, ended, closing, rests: false }) as Box<dyn CallSource>
    };
    let engine = db.start_engine(entry, &options, (0..10).map(source).collect());
    let engine = engine.expect("it starts");
    let per_call = || {
        let before = engine.statistics();
        std::thread::sleep(Duration::from_millis(200));
        let now = engine.statistics();
        let calls = (now.committed - before.committed).max(1);
        (now.messages - before.messages) as f64 / calls as f64
    };
    // Two of ten lock at first: 2 n + 1 messages with those that release, n being 1.75 in the mean.
    let moved = (0..150).map(|_| per_call()).any(|messages| messages < 3.2);
    closing.store(true, Relaxed);
    let statistics = engine.stop();
    assert!(moved, "two lock threads are still there");
    assert!(statistics.messages > 3 * statistics.committed, "there was one from the start");
    assert_eq!(statistics.committed, ended.load(Relaxed), "every call ended once");
    let hits = db.session().execute("SELECT CAST(sum(hits) AS bigint) FROM counter");
    let hits: i64 = hits.expect("it reads").remove(0).rows.one().expect("one row");
    assert_eq!(hits as u64, 3 * statistics.committed);
}
