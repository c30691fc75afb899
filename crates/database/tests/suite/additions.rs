//! Definitions that change nothing but that a procedure is there: they come while calls run.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::every_engine::{every_engine, open, two_threads};
use crate::scratch::Directory;
use hotrow::{Config, Database, Error, Rows};

const TABLES: &str = "
CREATE TABLE counter (id bigint PRIMARY KEY, n bigint NOT NULL);
CREATE TABLE note (id bigint PRIMARY KEY, text text NOT NULL);
INSERT INTO counter VALUES (1, 0);
CREATE FUNCTION bump() RETURNS bigint LANGUAGE plpgsql AS $$
BEGIN UPDATE counter SET n = n + 1 WHERE id = 1; RETURN 0; END $$;
CREATE PROCEDURE take_note(which bigint) LANGUAGE sql AS $$
INSERT INTO note VALUES (which, 'a note') $$;
CREATE FUNCTION spin(times bigint) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE sum bigint := 0;
BEGIN FOR i IN 1..times LOOP sum := sum + i % 7; END LOOP; RETURN sum; END $$;
";

/// Whether a script is done before a call is that takes longer and longer, and was begun before.
fn is_done_during_a_call(db: &Database, script: impl Fn(u32) -> String) -> bool {
    (0..8).any(|attempt| {
        let session = db.session();
        let times = 100_000_i64 << (2 * attempt);
        std::thread::scope(|scope| {
            let called = scope.spawn(move || session.call("spin", (times,)).map(drop));
            std::thread::sleep(Duration::from_millis(20)); // by now it runs
            let statement = script(attempt);
            db.session().execute(&statement).unwrap_or_else(|e| panic!("{statement}: {e}"));
            let is_before = !called.is_finished();
            called.join().expect("nobody panics").expect("it may take its time");
            is_before
        })
    })
}

#[test]
fn no_call_keeps_a_procedure_from_coming() {
    for entry in hotrow::engines() {
        let db = open(two_threads(entry).step_budget(u64::MAX));
        db.session().execute(TABLES).expect("the tables are made");
        let define = |attempt| {
            format!(
                "CREATE FUNCTION more_{attempt}() RETURNS bigint LANGUAGE plpgsql AS $$
                 BEGIN UPDATE counter SET n = n + 1 WHERE id = 1; RETURN {attempt}; END $$"
            )
        };
        assert!(is_done_during_a_call(&db, define), "{}: it waited for the call", entry.name);
        let more = db.session().call("more_0", ()).and_then(Rows::one::<i64>);
        assert_eq!(more.expect("it is there"), 0, "{}", entry.name);
    }
}

/// Where another thread is free, a statement that nobody has sent before waits for no call either.
#[test]
fn no_call_keeps_a_new_statement_waiting() {
    let config = Config::default().engine("silo").threads(2).memory_bytes(256 << 20);
    let db = open(config.step_budget(u64::MAX));
    db.session().execute(TABLES).expect("the tables are made");
    // Each has another shape.
    let insert = |attempt| {
        let more = " + 1".repeat(attempt as usize);
        format!("INSERT INTO note VALUES (1000 * {attempt}{more}, 'new')")
    };
    assert!(is_done_during_a_call(&db, insert), "the INSERT waited for the call");
    let look = |attempt: u32| {
        format!("SELECT text{} FROM note WHERE id = 1", " || 'x'".repeat(attempt as usize))
    };
    assert!(is_done_during_a_call(&db, look), "the SELECT waited for the call");
}

/// More than come between two quiet points, beside calls of those that are there already; and they
/// are all there again, with the changes that their calls have made.
#[test]
fn many_procedures_come_beside_calls_and_are_there_again() {
    const MANY: i64 = 300;
    for entry in hotrow::engines() {
        let directory = Directory::new("additions");
        let config = two_threads(entry);
        let db = Database::open(&directory.0, config.clone()).expect("it opens");
        db.session().execute(TABLES).expect("the tables are made");
        let stop = AtomicBool::new(false);
        let bumps: i64 = std::thread::scope(|scope| {
            let client = || {
                let (session, stop) = (db.session(), &stop);
                scope.spawn(move || {
                    let mut bumps = 0_i64;
                    while !stop.load(Ordering::Relaxed) {
                        session.call("bump", ()).expect("it is always there");
                        bumps += 1;
                    }
                    bumps
                })
            };
            let clients = [client(), client()];
            let session = db.session();
            for number in 0..MANY {
                let define = format!(
                    "CREATE FUNCTION more_{number}() RETURNS bigint LANGUAGE plpgsql AS $$
                     BEGIN UPDATE counter SET n = n + 1 WHERE id = 1; RETURN {number}; END $$"
                );
                session.execute(&define).unwrap_or_else(|e| panic!("{}: {e}", entry.name));
                let other = db.session();
                let more = other.call(&format!("more_{number}"), ()).and_then(Rows::one::<i64>);
                assert_eq!(more.expect("it is there"), number, "{}", entry.name);
                if number == MANY / 2 {
                    db.checkpoint().expect("a checkpoint is taken");
                }
            }
            stop.store(true, Ordering::Relaxed);
            clients.into_iter().map(|client| client.join().expect("no client fails")).sum()
        });
        db.shutdown();
        let db = Database::open(&directory.0, config).expect("it opens again");
        let session = db.session();
        let rows = session.execute("SELECT n FROM counter").expect("it reads").remove(0).rows;
        assert_eq!(rows.one::<i64>().expect("one row"), bumps + MANY, "{}", entry.name);
        for number in 0..MANY {
            let more = session.call(&format!("more_{number}"), ()).and_then(Rows::one::<i64>);
            assert_eq!(more.expect("it is there"), number, "{}", entry.name);
        }
    }
}

/// Procedures come, change, and go, beside each other and statements of many kinds.
#[test]
fn additions_and_other_definitions_take_turns() {
    every_engine(|config| {
        let db = open(config);
        let session = db.session();
        session.execute(TABLES)?;
        for number in 0..12_i64 {
            session.execute(&format!(
                "CREATE FUNCTION step() RETURNS bigint LANGUAGE plpgsql AS $$
                 BEGIN UPDATE counter SET n = n + 1 WHERE id = 1; RETURN {number}; END $$"
            ))?;
            assert_eq!(session.call("step", ())?.one::<i64>()?, number);
            session.execute("CALL take_note(1)")?;
            match number % 4 {
                0 => session.execute(&format!("CREATE TABLE t{number} (id bigint PRIMARY KEY)"))?,
                1 => session.execute("BEGIN; UPDATE counter SET n = n + 0; COMMIT")?,
                2 => session.execute("ALTER TABLE counter ADD COLUMN IF NOT EXISTS m bigint")?,
                _ => session.execute(
                    "CREATE OR REPLACE FUNCTION step() RETURNS bigint LANGUAGE plpgsql AS $$
                     BEGIN RETURN -1; END $$",
                )?,
            };
            let stepped = session.call("step", ())?.one::<i64>()?;
            assert_eq!(stepped, if number % 4 == 3 { -1 } else { number });
            session.execute("DELETE FROM note WHERE id = 1; DROP FUNCTION step()")?;
            let gone = session.call("step", ()).expect_err("it went");
            assert_eq!(gone.sqlstate(), Some("42883"));
        }
        Ok::<_, Error>(())
    });
}
