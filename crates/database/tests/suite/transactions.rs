//! Transactions of several statements: states, errors, savepoints, and who ends them.

mod bystanders;
mod definitions;
mod first_calls;
mod rerun;
mod spans;
mod two_sessions;

use std::time::Duration;

use crate::every_engine::{every_engine, open};
use hotrow::{Config, Database, Error, Session, TransactionState};

pub fn entry_of(config: &Config) -> &'static hotrow::EngineEntry {
    let named = |entry: &&hotrow::EngineEntry| entry.name == config.engine;
    hotrow::engines().iter().find(named).expect("it is in the table")
}

/// Calls `test` once per engine and variant.
pub fn every_transacting_engine(test: impl Fn(Config) -> Result<(), Error>) {
    let able = |config: &Config| config.threads == Some(entry_of(config).threads_near(2));
    every_engine(|config| if able(&config) { test(config) } else { Ok(()) });
}

/// As [`every_transacting_engine`], in one variant each: for what waits for seconds.
pub fn transacting_engines(test: impl Fn(Config) -> Result<(), Error>) {
    for entry in hotrow::engines() {
        let config = Config::default().engine(entry.name).threads(entry.threads_near(2));
        let config = config.memory_bytes(256 << 20);
        test(config).unwrap_or_else(|error| panic!("{}: {error}", entry.name));
    }
}

/// As [`every_transacting_engine`], where statements hold what they touch, and others wait for it.
pub fn every_locking_engine(test: impl Fn(Config) -> Result<(), Error>) {
    let able = |config: &Config| entry_of(config).locks_as_it_goes;
    every_transacting_engine(|config| if able(&config) { test(config) } else { Ok(()) });
}

/// As [`every_locking_engine`], in one variant each.
pub fn locking_engines(test: impl Fn(Config) -> Result<(), Error>) {
    let able = |config: &Config| entry_of(config).locks_as_it_goes;
    transacting_engines(|config| if able(&config) { test(config) } else { Ok(()) });
}

/// The code of an error, or the last tag.
pub fn said(session: &Session, script: &str) -> String {
    match session.execute(script) {
        Ok(results) => results.last().map(|last| last.tag.clone()).unwrap_or_default(),
        Err(error) => error.sqlstate().unwrap_or("no SQL error").to_owned(),
    }
}

/// The integers of a query's only column.
pub fn integers(session: &Session, query: &str) -> Vec<i64> {
    let mut results = session.execute(query).unwrap_or_else(|error| panic!("{query}: {error}"));
    let rows = results.pop().expect("one statement").rows.all::<(i64,)>();
    rows.expect("integers").into_iter().map(|(n,)| n).collect()
}

const TABLE: &str = "
CREATE TABLE t (id bigint PRIMARY KEY, n bigint NOT NULL, name text);
INSERT INTO t VALUES (1, 10, 'one'), (2, 20, 'two');
";

pub(crate) fn with_table(config: Config) -> (Database, Session) {
    let db = open(config);
    let session = db.session();
    session.execute(TABLE).expect("the table is made");
    (db, session)
}

#[test]
fn a_database_that_is_opened_for_none_says_what_to_do() {
    transacting_engines(|config| {
        let session = open(config.open_transactions_max(0)).session();
        let error = session.execute("BEGIN").expect_err("it has none");
        assert_eq!(error.sqlstate(), Some("0A000"));
        let hint = error.as_sql().and_then(|error| error.hint.clone()).unwrap_or_default();
        assert!(hint.contains("procedure") && hint.contains("open_transactions_max"), "{hint}");
        assert_eq!(session.transaction_state(), TransactionState::Idle);
        Ok(())
    });
}

#[test]
fn what_is_committed_is_there_and_what_is_rolled_back_is_not() {
    every_transacting_engine(|config| {
        let (db, session) = with_table(config);
        let other = db.session();
        session.execute("BEGIN; UPDATE t SET n = n + 1; INSERT INTO t VALUES (3, 30)")?;
        assert_eq!(session.transaction_state(), TransactionState::Open);
        assert_eq!(integers(&session, "SELECT n FROM t ORDER BY id"), [11, 21, 30], "its own");
        assert_eq!(said(&session, "COMMIT"), "COMMIT");
        assert_eq!(session.transaction_state(), TransactionState::Idle);
        assert_eq!(integers(&other, "SELECT n FROM t ORDER BY id"), [11, 21, 30]);
        session.execute("BEGIN; DELETE FROM t WHERE id = 1; UPDATE t SET n = 0; ROLLBACK")?;
        assert_eq!(integers(&other, "SELECT n FROM t ORDER BY id"), [11, 21, 30]);
        session.execute("BEGIN; DELETE FROM t")?;
        drop(session);
        assert_eq!(integers(&other, "SELECT n FROM t ORDER BY id"), [11, 21, 30], "dropped");
        Ok(())
    });
}

#[test]
fn states_and_codes_are_those_of_postgresql() {
    every_transacting_engine(|config| {
        let (_db, session) = with_table(config);
        let warned = |script: &str| {
            let results = session.execute(script).expect("a warning only");
            let last = results.last().expect("a statement");
            (last.tag.clone(), last.notices.first().map(|warning| warning.said.code().to_owned()))
        };
        let warning = |code: &str| Some(code.to_owned());
        // Outside.
        assert_eq!(warned("COMMIT"), ("COMMIT".to_owned(), warning("25P01")));
        assert_eq!(warned("ROLLBACK"), ("ROLLBACK".to_owned(), warning("25P01")));
        for outside in ["SAVEPOINT a", "ROLLBACK TO a", "RELEASE a"] {
            assert_eq!(said(&session, outside), "25P01", "{outside}");
        }
        // Inside.
        assert_eq!(warned("BEGIN"), ("BEGIN".to_owned(), None));
        assert_eq!(warned("BEGIN"), ("BEGIN".to_owned(), warning("25001")));
        assert_eq!(said(&session, "ROLLBACK"), "ROLLBACK");
        // Every error ends it, wherever it comes from.
        for (wrong, code) in [
            ("SELECT 1/0", "22012"),
            ("SELECT nothing FROM nowhere", "42P01"),
            ("SELEC 1", "42601"),
            ("INSERT INTO t VALUES (1, 1)", "23505"),
            ("CALL nothing()", "42883"),
            ("ROLLBACK TO nowhere", "3B001"),
            ("RELEASE nowhere", "3B001"),
        ] {
            assert_eq!(said(&session, "BEGIN; INSERT INTO t VALUES (7, 7)"), "INSERT 0 1");
            assert_eq!(said(&session, wrong), code, "{wrong}");
            assert_eq!(session.transaction_state(), TransactionState::Failed, "{wrong}");
            for ignored in ["SELECT 1", "BEGIN", "SAVEPOINT a", "SELECT x FROM nowhere"] {
                assert_eq!(said(&session, ignored), "25P02", "{ignored}");
            }
            assert_eq!(session.call("nothing", ()).unwrap_err().sqlstate(), Some("25P02"));
            assert_eq!(said(&session, "COMMIT"), "ROLLBACK", "there is nothing to commit");
            assert_eq!(session.transaction_state(), TransactionState::Idle);
            assert_eq!(integers(&session, "SELECT count(*) FROM t"), [2], "{wrong}");
        }
        assert_eq!(said(&session, "BEGIN READ ONLY; SELECT 1"), "SELECT 1");
        assert_eq!(said(&session, "UPDATE t SET n = 1"), "25006");
        assert_eq!(said(&session, "END"), "ROLLBACK");
        assert_eq!(session.call_once("k", "nothing", ()).unwrap_err().sqlstate(), Some("42883"));
        session.execute("BEGIN")?;
        assert_eq!(session.call_once("k", "nothing", ()).unwrap_err().sqlstate(), Some("25001"));
        Ok(())
    });
}

#[test]
fn savepoints_take_back_every_kind_of_change() {
    every_transacting_engine(|config| {
        let db = open(config);
        let session = db.session();
        session.execute(
            "CREATE TABLE s (id bigint PRIMARY KEY, n bigint NOT NULL, name text);
             CREATE INDEX s_name ON s (name);
             CREATE UNIQUE INDEX s_n ON s (n);
             CREATE INDEX s_hash ON s USING hash (name);
             INSERT INTO s VALUES (1, 1, 'a'), (2, 2, 'b'), (3, 3, 'c'), (4, 4, NULL);",
        )?;
        let state = |session: &Session| {
            let rows = session.execute("SELECT id, n, name FROM s ORDER BY id").expect("a query");
            let rows = rows[0].rows.clone().all::<(i64, i64, Option<String>)>();
            let by_name: Vec<_> = ["a", "b", "c", "x", "long"]
                .iter()
                .map(|name| integers(session, &format!("SELECT id FROM s WHERE name = '{name}'")))
                .collect();
            let by_n: Vec<_> = (0..12)
                .map(|n| integers(session, &format!("SELECT id FROM s WHERE n = {n}")))
                .collect();
            (rows.expect("its types"), by_name, by_n)
        };
        let long = "x".repeat(500);
        let changes = [
            "UPDATE s SET n = n + 5 WHERE id = 1".to_owned(),
            "UPDATE s SET name = 'x' WHERE id = 2".to_owned(),
            "UPDATE s SET name = NULL WHERE id = 2".to_owned(),
            "UPDATE s SET name = 'b' WHERE id = 2".to_owned(),
            format!("UPDATE s SET name = '{long}' WHERE id = 3"),
            "DELETE FROM s WHERE id = 4".to_owned(),
            "INSERT INTO s VALUES (4, 4, 'x')".to_owned(),
            "INSERT INTO s VALUES (5, 9, 'a')".to_owned(),
            "DELETE FROM s WHERE id = 5".to_owned(),
            "INSERT INTO s VALUES (5, 10, 'long')".to_owned(),
            "UPDATE s SET n = 11, name = 'c' WHERE id = 5".to_owned(),
            "DELETE FROM s".to_owned(),
        ];
        let before = state(&session);
        session.execute("BEGIN")?;
        let mut states = vec![state(&session)];
        for (at, change) in changes.iter().enumerate() {
            session.execute(&format!("SAVEPOINT at_{at}; {change}"))?;
            states.push(state(&session));
        }
        // Back step by step, with a failure in between, which the savepoint heals.
        for (at, change) in changes.iter().enumerate().rev() {
            assert_eq!(state(&session), states[at + 1], "before {change} is taken back");
            assert_eq!(said(&session, "INSERT INTO s VALUES (99, 99), (99, 98)"), "23505");
            assert_eq!(said(&session, &format!("ROLLBACK TO at_{at}")), "ROLLBACK");
            assert_eq!(state(&session), states[at], "{change} was taken back");
        }
        // Forward once more, half way back, and committed.
        for (at, change) in changes.iter().enumerate() {
            session.execute(&format!("SAVEPOINT again_{at}; {change}"))?;
        }
        session.execute("ROLLBACK TO again_5; RELEASE again_2; COMMIT")?;
        assert_eq!(state(&session), states[5]);
        assert_ne!(state(&session), before);
        session.execute("BEGIN; SAVEPOINT a; DELETE FROM s; RELEASE a; ROLLBACK")?;
        assert_eq!(state(&session), states[5]);
        session.execute("BEGIN; SAVEPOINT a; SAVEPOINT a; DELETE FROM s; ROLLBACK TO a")?;
        assert_eq!(said(&session, "RELEASE a; RELEASE a; RELEASE a"), "3B001");
        Ok(())
    });
}

#[test]
fn calls_run_inside() {
    every_transacting_engine(|config| {
        let (db, session) = with_table(config);
        session.execute(
            "CREATE FUNCTION bump(which bigint) RETURNS bigint AS $$
             DECLARE r bigint;
             BEGIN
               UPDATE t SET n = n + 1 WHERE id = which RETURNING n INTO r;
               IF NOT FOUND THEN RAISE EXCEPTION 'no row'; END IF;
               RETURN r;
             END $$ LANGUAGE plpgsql;",
        )?;
        session.execute("BEGIN")?;
        assert_eq!(session.call("bump", (1_i64,))?.one::<i64>()?, 11);
        assert_eq!(integers(&session, "SELECT bump(1)"), [12]);
        session.execute("CALL bump(1)")?;
        assert_eq!(session.try_call("bump", (1_i64,))?.one::<i64>()?, 14);
        session.execute("ROLLBACK")?;
        assert_eq!(integers(&db.session(), "SELECT n FROM t ORDER BY id"), [10, 20]);
        session.execute("BEGIN; SAVEPOINT a")?;
        assert_eq!(session.call("bump", (9_i64,)).unwrap_err().sqlstate(), Some("P0001"));
        session.execute("ROLLBACK TO a; CALL bump(2); COMMIT")?;
        assert_eq!(integers(&db.session(), "SELECT n FROM t ORDER BY id"), [10, 21]);
        session.execute("BEGIN READ ONLY")?;
        assert_eq!(session.call("bump", (1_i64,)).unwrap_err().sqlstate(), Some("25006"));
        Ok(())
    });
}

#[test]
fn now_stands_still_inside() {
    transacting_engines(|config| {
        let (_db, session) = with_table(config);
        session.execute("CREATE TABLE times (id bigint PRIMARY KEY, at timestamptz NOT NULL)")?;
        session.execute("BEGIN; INSERT INTO times VALUES (1, now())")?;
        std::thread::sleep(Duration::from_millis(2));
        session.execute("INSERT INTO times VALUES (2, now()); COMMIT")?;
        session.execute("INSERT INTO times VALUES (3, now())")?;
        let same = "SELECT count(*) FROM times WHERE at = (SELECT at FROM times WHERE id = 1)";
        match session.execute(same) {
            Ok(results) => assert_eq!(results[0].rows.clone().one::<i64>()?, 2),
            Err(_) => {
                let rows = session.execute("SELECT at FROM times ORDER BY id")?;
                let at: Vec<_> = rows[0].rows.iter().map(|row| row[0].clone()).collect();
                assert!(at[0] == at[1] && at[1] != at[2], "{at:?}");
            }
        }
        Ok(())
    });
}

#[test]
fn idle_ones_are_ended() {
    every_transacting_engine(|config| {
        let span = Duration::from_millis(20);
        let (db, session) = with_table(config.idle_in_transaction(Some(span)));
        session.execute("BEGIN; UPDATE t SET n = 0 WHERE id = 1")?;
        // It gets through when the other one is ended, and not before, where that holds the row.
        let other = db.session();
        loop {
            match said(&other, "UPDATE t SET n = n + 1 WHERE id = 1").as_str() {
                "UPDATE 1" => break,
                code => assert!(code.starts_with("40"), "{code}"),
            }
        }
        std::thread::sleep(span);
        assert_eq!(said(&session, "SELECT n FROM t"), "25P03");
        assert_eq!(said(&session, "SELECT n FROM t"), "25P02");
        assert_eq!(said(&session, "ROLLBACK"), "ROLLBACK");
        assert_eq!(integers(&session, "SELECT n FROM t ORDER BY id"), [11, 20]);
        session.execute("BEGIN; SELECT n FROM t; SAVEPOINT a")?;
        std::thread::sleep(span * 4);
        assert_eq!(said(&session, "COMMIT"), "25P03");
        assert_eq!(session.transaction_state(), TransactionState::Idle);
        Ok(())
    });
}

#[test]
fn there_are_so_many_at_a_time() {
    transacting_engines(|config| {
        let locks = entry_of(&config).locks_as_it_goes;
        let (db, session) = with_table(config.open_transactions_max(2));
        let (one, two, three) = (db.session(), db.session(), db.session());
        one.execute("BEGIN")?;
        two.execute("BEGIN; SELECT n FROM t")?;
        assert_eq!(said(&three, "BEGIN"), "53300");
        assert_eq!(three.transaction_state(), TransactionState::Idle);
        // There it is a transaction beside them, elsewhere a call.
        let alone = if locks { "53300" } else { "SELECT 1" };
        assert_eq!(said(&session, "SELECT n FROM t WHERE id = 1"), alone);
        drop(one);
        assert_eq!(said(&three, "BEGIN"), "BEGIN");
        two.execute("ROLLBACK")?;
        assert_eq!(said(&session, "SELECT n FROM t WHERE id = 1"), "SELECT 1");
        drop(three);
        for _ in 0..10 {
            assert_eq!(said(&session, "BEGIN; DELETE FROM t WHERE id = 2; ROLLBACK"), "ROLLBACK");
        }
        Ok(())
    });
}

#[test]
fn definitions_end_them_and_checkpoints_end_those_that_have_changed_something() {
    locking_engines(|config| {
        let (db, session) = with_table(config);
        let other = db.session();
        // What holds nothing stays.
        session.execute("BEGIN")?;
        other.execute("CREATE TABLE u (id bigint PRIMARY KEY)")?;
        assert_eq!(said(&session, "INSERT INTO u VALUES (1); COMMIT"), "COMMIT");
        // What holds something is ended, in the end.
        session.execute("BEGIN; INSERT INTO u VALUES (2)")?;
        other.execute("CREATE INDEX t_n ON t (n)")?;
        assert_eq!(said(&session, "INSERT INTO u VALUES (3)"), "40001");
        assert_eq!(said(&session, "ROLLBACK TO a"), "25P02");
        assert_eq!(said(&session, "ROLLBACK"), "ROLLBACK");
        assert_eq!(integers(&session, "SELECT id FROM u"), [1]);
        // Who reads is not in the way of who looks at all rows.
        session.execute("BEGIN; SELECT id FROM u")?;
        let mut rows = 0;
        db.scan("u", |_| rows += 1)?;
        assert_eq!(rows, 1);
        assert_eq!(said(&session, "INSERT INTO u VALUES (4)"), "INSERT 0 1");
        db.scan("u", |_| rows += 1)?;
        assert_eq!(rows, 2, "and not of what is not committed");
        assert_eq!(said(&session, "COMMIT"), "40001");
        Ok(())
    });
}

#[test]
fn a_definition_waits_for_those_that_end_soon() {
    every_locking_engine(|config| {
        let (db, session) = with_table(config);
        session.execute("BEGIN; UPDATE t SET n = 0 WHERE id = 1")?;
        std::thread::scope(|scope| {
            let other = db.session();
            let made = scope.spawn(move || other.execute("CREATE INDEX t_n ON t (n)").map(drop));
            std::thread::sleep(Duration::from_millis(30));
            assert_eq!(said(&session, "UPDATE t SET n = 1 WHERE id = 2; COMMIT"), "COMMIT");
            made.join().expect("no panic")
        })?;
        assert_eq!(integers(&session, "SELECT n FROM t ORDER BY id"), [0, 1]);
        Ok(())
    });
}

#[test]
fn the_end_of_the_database_ends_them() {
    every_transacting_engine(|config| {
        let (db, session) = with_table(config);
        session.execute("BEGIN; UPDATE t SET n = 0")?;
        db.shutdown();
        assert_eq!(said(&session, "COMMIT"), "57P01");
        assert!(matches!(session.execute("BEGIN"), Err(Error::Closed)));
        assert!(matches!(session.execute("SELECT n FROM t"), Err(Error::Closed)));
        Ok(())
    });
}
