//! Definitions in transactions: all of them stay, or none, whatever was changed before and behind.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use super::{every_transacting_engine, integers, said, transacting_engines, with_table};
use crate::every_engine::open;
use crate::scratch::Directory;
use hotrow::{Config, Database, Session};

/// Makes a table with numbers of its own, changes one that was there, with its rows, and calls what
/// it has made.
const MIGRATION: &str = "
CREATE TABLE made (id serial PRIMARY KEY, of bigint REFERENCES t (id));
INSERT INTO made (of) VALUES (1), (2);
ALTER TABLE t ADD COLUMN more bigint DEFAULT 5;
UPDATE t SET more = more + n;
CREATE INDEX t_more ON t (more);
CREATE FUNCTION more_of(k bigint) RETURNS bigint AS $$
  DECLARE r bigint;
  BEGIN UPDATE t SET more = more + 1 WHERE id = k RETURNING more INTO r; RETURN r; END
$$ LANGUAGE plpgsql;
DELETE FROM made WHERE id = 1;
SELECT more_of(1);
";

fn is_migrated(session: &Session) {
    assert_eq!(integers(session, "SELECT more FROM t ORDER BY id"), [16, 25]);
    assert_eq!(integers(session, "SELECT id FROM t WHERE more = 25"), [2], "by the index");
    assert_eq!(integers(session, "SELECT id FROM made"), [2]);
}

fn is_as_before(session: &Session) {
    assert_eq!(integers(session, "SELECT n FROM t ORDER BY id"), [10, 20]);
    assert_eq!(said(session, "SELECT more FROM t"), "42703");
    assert_eq!(said(session, "SELECT id FROM made"), "42P01");
    assert_eq!(said(session, "SELECT more_of(1)"), "42883");
    assert_eq!(said(session, "DROP INDEX t_more"), "42704");
}

#[test]
fn all_of_them_are_taken_back_or_stay() {
    every_transacting_engine(|config| {
        let (db, session) = with_table(config);
        let other = db.session();
        session.execute("BEGIN; SELECT n FROM t")?;
        session.execute(MIGRATION)?;
        is_migrated(&session);
        session.execute("ROLLBACK")?;
        is_as_before(&session);
        is_as_before(&other);
        session.execute("BEGIN")?;
        session.execute(MIGRATION)?;
        drop(session);
        is_as_before(&other);
        other.execute("BEGIN")?;
        other.execute(MIGRATION)?;
        assert_eq!(said(&other, "SELECT 1/0"), "22012");
        assert_eq!(said(&other, "COMMIT"), "ROLLBACK");
        is_as_before(&other);
        other.execute("BEGIN")?;
        other.execute(MIGRATION)?;
        other.execute("COMMIT")?;
        let session = db.session();
        is_migrated(&session);
        assert_eq!(session.call("more_of", (2_i64,))?.one::<i64>()?, 26);
        assert_eq!(integers(&session, "INSERT INTO made (of) VALUES (1) RETURNING id / 3"), [1]);
        Ok(())
    });
}

#[test]
fn savepoints_are_between_them() {
    every_transacting_engine(|config| {
        let (_db, session) = with_table(config);
        session
            .execute("BEGIN; CREATE TABLE u (x bigint); INSERT INTO u VALUES (1); SAVEPOINT a")?;
        session.execute("INSERT INTO u VALUES (2); SAVEPOINT b; DROP TABLE t")?;
        session.execute("ALTER TABLE u ADD COLUMN y bigint DEFAULT 7; INSERT INTO u VALUES (3)")?;
        assert_eq!(integers(&session, "SELECT y FROM u ORDER BY x"), [7, 7, 7]);
        assert_eq!(said(&session, "SELECT n FROM t"), "42P01");
        session.execute("ROLLBACK TO b")?;
        assert_eq!(integers(&session, "SELECT x FROM u ORDER BY x"), [1, 2]);
        assert_eq!(integers(&session, "SELECT n FROM t ORDER BY id"), [10, 20]);
        session.execute("CREATE INDEX u_x ON u (x); ROLLBACK TO a")?;
        assert_eq!(integers(&session, "SELECT x FROM u"), [1]);
        session.execute("ALTER TABLE t RENAME TO renamed; RELEASE a; COMMIT")?;
        assert_eq!(integers(&session, "SELECT n FROM renamed ORDER BY id"), [10, 20]);
        assert_eq!(integers(&session, "SELECT x FROM u"), [1]);
        Ok(())
    });
}

#[test]
fn rows_that_were_changed_before_go_with_them() {
    every_transacting_engine(|config| {
        let (db, session) = with_table(config);
        session.execute("BEGIN; SAVEPOINT a; UPDATE t SET n = 0; INSERT INTO t VALUES (3, 30)")?;
        session.execute("CREATE TABLE u (x bigint); ALTER TABLE t ADD COLUMN z bigint")?;
        assert_eq!(integers(&session, "SELECT n FROM t ORDER BY id"), [0, 0, 30]);
        session.execute("ROLLBACK TO a")?;
        assert_eq!(integers(&session, "SELECT n FROM t ORDER BY id"), [10, 20]);
        session.execute("DELETE FROM t WHERE id = 1; CREATE TABLE u (x bigint); COMMIT")?;
        assert_eq!(integers(&session, "SELECT id FROM t"), [2]);
        session.execute("BEGIN; UPDATE t SET n = 7; SAVEPOINT b; INSERT INTO t VALUES (4, 4)")?;
        session.execute("CREATE INDEX t_n ON t (n); ROLLBACK TO b; INSERT INTO t VALUES (5, 5)")?;
        assert_eq!(integers(&session, "SELECT n FROM t ORDER BY id"), [7, 5]);
        session.execute("ROLLBACK")?;
        assert_eq!(integers(&db.session(), "SELECT n FROM t ORDER BY id"), [20]);
        session.execute("BEGIN; DELETE FROM t; ALTER TABLE t ADD COLUMN w bigint")?;
        drop(session);
        assert_eq!(integers(&db.session(), "SELECT n FROM t ORDER BY id"), [20]);
        Ok(())
    });
}

/// Transactions change a row that calls want, too, and define something behind that; some meet each
/// other, and are repeated.
#[test]
fn migrations_that_have_changed_rows_meet_calls_and_each_other() {
    const ROUNDS: i64 = 12;
    transacting_engines(|config| {
        let (db, session) = with_table(config);
        session.execute(
            "CREATE FUNCTION add() RETURNS bigint LANGUAGE plpgsql AS $$
             BEGIN UPDATE t SET n = n + 1 WHERE id = 1; RETURN 0; END $$",
        )?;
        let stop = AtomicBool::new(false);
        let migrate = |who: i64| {
            let session = db.session();
            for round in 0..ROUNDS {
                let script = format!(
                    "BEGIN; UPDATE t SET n = n + 1000 WHERE id = 1; SELECT n FROM t WHERE id = 2;
                     CREATE TABLE made_{who}_{round} (id bigint PRIMARY KEY);
                     INSERT INTO made_{who}_{round} VALUES (1);
                     UPDATE t SET n = n + 1 WHERE id = 2; {}",
                    if round % 3 == 2 { "ROLLBACK" } else { "COMMIT" }
                );
                let began = std::time::Instant::now();
                while let Err(error) = session.execute(&script) {
                    assert!(matches!(error.sqlstate(), Some("40001" | "40P01")), "{error}");
                    session.execute("ROLLBACK").expect("it ends");
                    assert!(began.elapsed().as_secs() < 60, "{error}");
                }
            }
        };
        let calls: i64 = std::thread::scope(|scope| {
            let call = || {
                let (session, stop) = (db.session(), &stop);
                scope.spawn(move || {
                    let mut calls = 0;
                    while !stop.load(Ordering::Relaxed) {
                        session.call("add", ()).expect("calls are never undone");
                        calls += 1;
                    }
                    calls
                })
            };
            let callers = [call(), call()];
            let other = scope.spawn(|| migrate(1));
            migrate(0);
            other.join().expect("nobody panics");
            stop.store(true, Ordering::Relaxed);
            callers.into_iter().map(|caller| caller.join().expect("nobody panics")).sum()
        });
        let stay = ROUNDS / 3 * 2 * 2;
        assert_eq!(
            integers(&session, "SELECT n FROM t ORDER BY id"),
            [10 + calls + 1000 * stay, 20 + stay]
        );
        let made = db.tables().iter().filter(|name| name.starts_with("made_")).count();
        assert_eq!(made as i64, stay);
        Ok(())
    });
}

#[test]
fn a_crash_finds_all_of_a_transaction_or_nothing() {
    transacting_engines(|config| {
        let directory = Directory::new("migrations");
        let open = |at: &Directory| Database::open(&at.0, config.clone());
        let (before, within) = {
            let db = open(&directory)?;
            let session = db.session();
            session.execute(
                "CREATE TABLE t (id bigint PRIMARY KEY, n bigint NOT NULL, name text);
                 INSERT INTO t VALUES (1, 10, 'one'), (2, 20, 'two');
                 CREATE SEQUENCE known",
            )?;
            session.execute("BEGIN")?;
            session.execute(MIGRATION)?;
            // Of a sequence that was there numbers are given for good, under any name.
            session.execute("ALTER SEQUENCE known RENAME TO other; SELECT nextval('other')")?;
            let before = directory.copy("migrations-before");
            session.execute("COMMIT")?;
            (before, directory.copy("migrations-within"))
        };
        let db = open(&before)?;
        let session = db.session();
        is_as_before(&session);
        assert!(integers(&session, "SELECT nextval('known')")[0] > 1, "it was given");
        let db = open(&within)?;
        let session = db.session();
        is_migrated(&session);
        assert!(integers(&session, "SELECT nextval('other')")[0] > 1);
        assert!(integers(&session, "INSERT INTO made (of) VALUES (1) RETURNING id")[0] > 2);
        Ok(())
    });
}

#[test]
fn others_wait_for_it_and_not_for_ever() {
    transacting_engines(|config| {
        let patience = Duration::from_millis(300);
        let (db, session) = with_table(config.idle_while_awaited(Some(patience)));
        session.execute("BEGIN; ALTER TABLE t ADD COLUMN more bigint DEFAULT 5")?;
        let other = db.session();
        std::thread::scope(|scope| {
            let third = db.session();
            let looks = move || integers(&third, "SELECT count(*) FROM t WHERE n > 10");
            let seen = scope.spawn(looks);
            std::thread::sleep(Duration::from_millis(50));
            assert!(!seen.is_finished(), "nobody sees what may be taken back");
            session.execute("COMMIT").expect("it commits");
            assert_eq!(seen.join().expect("no panic"), [1]);
        });
        assert_eq!(integers(&other, "SELECT more FROM t WHERE id = 1"), [5]);
        session.execute("BEGIN; ALTER TABLE t DROP COLUMN more")?;
        other.execute("UPDATE t SET more = 6 WHERE id = 1")?;
        assert_eq!(said(&session, "SELECT n FROM t"), "25P03");
        assert_eq!(said(&session, "ROLLBACK"), "ROLLBACK");
        assert_eq!(integers(&session, "SELECT more FROM t ORDER BY id"), [6, 5]);
        Ok(())
    });
}

/// Whether others are told that the session with this number waits for a lock.
fn waits_for_lock(session: &Session, number: i32) -> bool {
    let asked = format!("SELECT pg_isolation_test_session_is_blocked({number}, ARRAY[0])");
    let mut results = session.execute(&asked).expect("it is a query");
    results.pop().expect("one statement").rows.one::<bool>().expect("one row")
}

#[test]
fn who_waits_for_it_has_limits_of_its_own() {
    every_transacting_engine(|config| {
        let (db, session) = with_table(config);
        session.execute("BEGIN; ALTER TABLE t ADD COLUMN more bigint DEFAULT 5")?;
        let limits = [("statement_timeout", "57014"), ("lock_timeout", "55P03")];
        let statements = ["SELECT n FROM t WHERE id = 1", "UPDATE t SET n = n + 1 WHERE id = 1"];
        for ((limit, code), statement) in limits.into_iter().zip(statements) {
            for begun in ["", "BEGIN; "] {
                let other = db.session();
                other.execute(&format!("SET {limit} = '20ms'; {begun}"))?;
                let (began, patience) = (Instant::now(), Duration::from_secs(5));
                assert_eq!(said(&other, statement), code, "{begun}{statement}");
                assert!(began.elapsed() < patience, "{begun}{statement}: it waits no longer");
            }
        }
        for begun in ["", "BEGIN; "] {
            let (other, asks) = (db.session(), db.session());
            other.identify("me", "app", 7);
            std::thread::scope(|scope| {
                let canceller = other.canceller();
                let waits = move || said(&other, &format!("{begun}{}", statements[1]));
                let waits = scope.spawn(waits);
                while !waits_for_lock(&asks, 7) {
                    std::thread::yield_now();
                }
                assert!(canceller.cancel(), "it runs");
                assert_eq!(waits.join().expect("no panic"), "57014");
            });
        }
        session.execute("COMMIT")?;
        assert_eq!(integers(&db.session(), "SELECT n + more FROM t ORDER BY id"), [15, 25]);
        Ok(())
    });
}

#[test]
fn what_cannot_be_inside_is_told() {
    transacting_engines(|config: Config| {
        let session = open(config).session();
        session.execute("CREATE FUNCTION f(k bigint) RETURNS bigint LANGUAGE sql AS 'SELECT k'")?;
        for wrong in ["CHECKPOINT", "VACUUM", "EXPLAIN PROCEDURE f(1)"] {
            session.execute("BEGIN; CREATE TABLE u (x bigint)")?;
            let error = session.execute(wrong).expect_err(wrong);
            assert!(matches!(error.sqlstate(), Some("25001" | "0A000")), "{wrong}: {error}");
            session.execute("ROLLBACK")?;
        }
        Ok(())
    });
}
