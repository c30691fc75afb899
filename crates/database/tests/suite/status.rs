//! What a running database tells of itself: figures, and the views of schema `hotrow`.

use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::time::{Duration, Instant};

use hotrow::{CallPhase, Config, Database, Value};

const SCHEMA: &str = "
    CREATE TABLE counter (id bigint PRIMARY KEY, n bigint NOT NULL CHECK (n < 1000000));
    INSERT INTO counter VALUES (1, 0), (2, 0);
    CREATE FUNCTION bump(which bigint, amount bigint) RETURNS bigint LANGUAGE plpgsql AS $$
    DECLARE v bigint;
    BEGIN
        UPDATE counter SET n = n + amount WHERE id = which RETURNING n INTO v;
        RETURN v;
    END $$;";

fn open(threads: usize) -> Database {
    let db = Database::open_in_memory(Config::default().threads(threads)).unwrap();
    db.session().execute(SCHEMA).unwrap();
    db
}

fn row(db: &Database, query: &str) -> Vec<Value> {
    let results = db.session().execute(query).unwrap();
    results[0].rows.iter().next().expect("one row").to_vec()
}

#[test]
fn calls_are_counted_by_procedure_with_the_phases_of_their_time() {
    let db = open(2);
    let session = db.session();
    for n in 1..=50 {
        let bumped: i64 = session.call("bump", (1_i64, 1_i64)).unwrap().one().unwrap();
        assert_eq!(bumped, n);
    }
    session.call("bump", (1_i64, 1_000_000_i64)).unwrap_err();
    session.procedure("bump").unwrap().call((2_i64, 1_i64)).unwrap();
    drop(session);
    let calls = db.calls();
    assert_eq!(calls.len(), 1);
    let bump = &calls[0];
    assert_eq!((bump.procedure.as_str(), bump.calls, bump.failed), ("bump", 52, 1));
    let phase = |phase: CallPhase| bump.phases[phase as usize];
    for told in [CallPhase::Queue, CallPhase::Plan, CallPhase::Execute, CallPhase::Reply] {
        assert!(phase(told) > Duration::ZERO, "{told:?} took some time");
    }
    let all: Duration = bump.phases.iter().sum();
    assert!(bump.longest <= all && bump.latencies.count() == 52);
    assert!(bump.latencies.quantile(0.5) <= bump.latencies.quantile(0.99));
    let view = row(&db, "SELECT procedure, calls, failed FROM hotrow.calls");
    let text = |text: &str| Value::Text(text.to_owned());
    assert_eq!(view, [text("bump"), Value::BigInt(52), Value::BigInt(1)]);
    let sums = row(
        &db,
        "SELECT mean_us > 0, p50_us <= p99_us, \
         abs(queue_us + plan_us + lock_us + execute_us + reply_us + log_us - mean_us) \
            < 0.01 * mean_us
         FROM hotrow.calls",
    );
    assert_eq!(sums, [Value::Bool(true), Value::Bool(true), Value::Bool(true)]);
}

#[test]
fn a_durable_call_waits_for_the_log_and_says_so() {
    let directory = crate::scratch::Directory::new("status");
    let db = Database::open(&directory.0, Config::default().threads(1)).unwrap();
    let session = db.session();
    session.execute(SCHEMA).unwrap();
    session.call("bump", (1_i64, 1_i64)).unwrap();
    let log = db.status().log.expect("a database in a directory has a log");
    assert!(log.statistics.bytes > 0 && log.horizon > 0 && log.failure.is_none());
    assert!(log.since_checkpoint_bytes > 0);
    assert!(db.calls()[0].phases[CallPhase::Log as usize] > Duration::ZERO);
    let status =
        row(&db, "SELECT durability, log_syncs > 0, log_failure FROM hotrow.engine_status");
    assert_eq!(status, [Value::Text("durable".to_owned()), Value::Bool(true), Value::Null]);
}

#[test]
fn status_tells_what_sessions_and_threads_did_also_when_they_are_gone() {
    let db = open(2);
    {
        let session = db.session();
        session.call("bump", (1_i64, 1_i64)).unwrap();
        session.execute("BEGIN; UPDATE counter SET n = 5 WHERE id = 2; COMMIT").unwrap();
        session.execute("BEGIN; UPDATE counter SET n = 6 WHERE id = 2; ROLLBACK").unwrap();
        session.execute("SELECT 1 / 0").unwrap_err();
    }
    let open = db.session();
    open.execute("BEGIN; SELECT n FROM counter WHERE id = 1").unwrap();
    let status = db.status();
    assert_eq!((status.threads, status.open_transactions, status.queued), (2, 1, 0));
    assert_eq!(status.sessions.failed, 1);
    // The division is a transaction of its own, which was taken back.
    assert_eq!((status.sessions.commits, status.sessions.rollbacks), (1, 2));
    assert!(status.sessions.statements >= 10, "{:?}", status.sessions);
    assert_eq!(status.statistics.committed, 1);
    assert!(status.memory_bytes > 0 && status.memory_bytes < status.memory_limit_bytes);
    assert!(!status.is_closed && status.log.is_none());
    let view = row(&db, "SELECT threads, open_transactions, durability FROM hotrow.engine_status");
    let memory = Value::Text("memory".to_owned());
    assert_eq!(view, [Value::BigInt(2), Value::BigInt(1), memory]);
    db.shutdown();
    assert!(db.status().is_closed);
}

/// Rows of `account`.
const ACCOUNTS: i64 = 1_000;

/// Calls `name` for two accounts, from eight threads, until the engine says that it has chosen
/// `scheme`; how many calls that were.
fn call_until_chosen(db: &Database, name: &str, scheme: &str) -> i64 {
    let (calls, done) = (AtomicI64::new(0), AtomicBool::new(false));
    std::thread::scope(|scope| {
        for client in 0..8_i64 {
            let (calls, done) = (&calls, &done);
            scope.spawn(move || {
                let session = db.session();
                let mut one = client;
                while !done.load(Ordering::Relaxed) {
                    one = (one * 13 + 7) % ACCOUNTS;
                    session.call(name, (one, (one + 1 + client) % ACCOUNTS)).unwrap();
                    calls.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
        let until = Instant::now() + Duration::from_secs(120);
        let choice = || db.status().choice.expect("it chooses");
        while !choice().starts_with(&format!("scheme={scheme}:")) && Instant::now() < until {
            std::thread::sleep(Duration::from_millis(20));
        }
        done.store(true, Ordering::Relaxed);
    });
    let choice = db.status().choice.expect("it chooses");
    assert!(choice.starts_with(&format!("scheme={scheme}:")), "{choice}");
    calls.into_inner()
}

#[test]
fn an_engine_that_chooses_its_scheme_says_which_and_why() {
    let config = Config::default().threads(2).engine("partitioned");
    // Messages take 200 us, so that what a call waits for them decides.
    let config = config.variant(&[("scheme", "auto"), ("partitions", "2"), ("delay_us", "200")]);
    let db = Database::open_in_memory(config).unwrap();
    let session = db.session();
    for statement in [
        "CREATE TABLE account (id bigint PRIMARY KEY, n bigint NOT NULL)",
        "CREATE FUNCTION fill(rows bigint) RETURNS void LANGUAGE plpgsql AS $$ BEGIN
             FOR id IN 0..rows - 1 LOOP
                 INSERT INTO account VALUES (id, 0);
             END LOOP;
         END $$",
        "CREATE FUNCTION once(a bigint, b bigint) RETURNS void LANGUAGE plpgsql AS $$ BEGIN
             UPDATE account SET n = n + 1 WHERE id = a;
             UPDATE account SET n = n - 1 WHERE id = b;
         END $$",
        "CREATE FUNCTION twice(a bigint, b bigint) RETURNS void LANGUAGE plpgsql AS $$
         DECLARE x bigint; y bigint; BEGIN
             SELECT n INTO x FROM account WHERE id = a;
             SELECT n INTO y FROM account WHERE id = b;
             UPDATE account SET n = y + 1 WHERE id = a;
             UPDATE account SET n = x - 1 WHERE id = b;
         END $$",
    ] {
        session.execute(statement).unwrap();
    }
    session.call("fill", (ACCOUNTS,)).unwrap();
    let first = db.status().choice.expect("it chooses");
    assert!(first.starts_with("scheme=speculation: the first one"), "{first}");
    let mut calls = 0;
    for (name, scheme) in [("twice", "locking"), ("once", "speculation"), ("twice", "locking")] {
        calls += call_until_chosen(&db, name, scheme);
        // Each call keeps the sum.
        let sum = row(&db, "SELECT sum(n) FROM account");
        assert_eq!(sum[0].to_string(), "0", "after {calls} calls");
    }
    let told = row(&db, "SELECT choice FROM hotrow.engine_status");
    let Value::Text(told) = &told[0] else { panic!("a sentence: {told:?}") };
    assert!(told.contains("of calls are of several partitions, in 2.0 rounds"), "{told}");
    assert!(open(1).status().choice.is_none(), "others have nothing to choose");
}

#[test]
fn a_key_that_is_waited_for_is_told_by_name() {
    let db = open(2);
    let holder = db.session();
    holder.execute("BEGIN; UPDATE counter SET n = n + 1 WHERE id = 2").unwrap();
    std::thread::scope(|scope| {
        let waiter = scope.spawn(|| {
            let session = db.session();
            session.execute("UPDATE counter SET n = n + 1 WHERE id = 2").unwrap();
        });
        std::thread::sleep(Duration::from_millis(50));
        holder.execute("COMMIT").unwrap();
        waiter.join().unwrap();
    });
    let hot = db.hot_keys(5);
    assert_eq!((hot[0].table.as_str(), hot[0].key.as_str()), ("counter", "id=2"), "{hot:?}");
    assert!(hot[0].waits >= 1 && hot[0].total >= Duration::from_millis(20));
    let text = |text: &str| Value::Text(text.to_owned());
    let view = row(&db, "SELECT table_name, key, longest_ms > 20 FROM hotrow.hot_keys");
    assert_eq!(view, [text("counter"), text("id=2"), Value::Bool(true)]);
    let view = row(&db, "SELECT waiter, holder FROM hotrow.waits");
    assert_eq!(view, [text("a session"), text("a session")]);
}

#[test]
fn the_views_are_in_the_catalog_and_cannot_be_changed() {
    let db = open(1);
    let query = "SELECT count(*) FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace \
                 WHERE n.nspname = 'hotrow' AND c.relkind = 'v'";
    assert_eq!(row(&db, query), [Value::BigInt(4)]);
    for statement in [
        "DELETE FROM hotrow.calls",
        "INSERT INTO hotrow.waits VALUES (1)",
        "CREATE TABLE hotrow.mine (id bigint PRIMARY KEY)",
        "SELECT * FROM hotrow.nothing",
    ] {
        let error = db.session().execute(statement).unwrap_err();
        assert!(error.sqlstate().is_some(), "{statement}: {error}");
    }
}
