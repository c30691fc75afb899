//! Transactions that are run again when they commit: what fails with 40001, and what does not.

use std::sync::Barrier;
use std::thread;

use super::{entry_of, every_transacting_engine, integers, said, transacting_engines, with_table};
use crate::scratch::Directory;
use hotrow::{Config, Database, Error, Session, TransactionState, Value};

/// Calls `test` once per engine on which transactions are run again.
fn rerunning_engines(test: impl Fn(Config) -> Result<(), Error>) {
    let able = |config: &Config| !entry_of(config).locks_as_it_goes;
    transacting_engines(|config| if able(&config) { test(config) } else { Ok(()) });
}

/// Executes what must not fail.
fn run(session: &Session, script: &str) {
    session.execute(script).unwrap_or_else(|error| panic!("{script}: {error}"));
}

#[test]
fn an_update_of_what_was_read_is_not_lost() {
    rerunning_engines(|config| {
        let (db, one) = with_table(config);
        let two = db.session();
        for session in [&one, &two] {
            assert_eq!(integers(session, "BEGIN; SELECT n FROM t WHERE id = 1"), [10]);
            run(session, "UPDATE t SET n = 11 WHERE id = 1");
        }
        // Neither has waited for the other, and the first one to commit is the one that does.
        assert_eq!(said(&two, "COMMIT"), "COMMIT");
        let error = one.execute("COMMIT").expect_err("what it read is not so any more");
        assert_eq!(error.sqlstate(), Some("40001"));
        assert_eq!(one.transaction_state(), TransactionState::Idle);
        assert_eq!(integers(&one, "SELECT n FROM t ORDER BY id"), [11, 20]);
        // What repeats a change that now gives something else fails at once.
        run(&one, "BEGIN; UPDATE t SET n = n + 1 WHERE id = 2 RETURNING n");
        run(&two, "UPDATE t SET n = 0 WHERE id = 2");
        assert_eq!(said(&one, "SELECT n FROM t WHERE id = 1"), "40001");
        assert_eq!(said(&one, "SELECT n FROM t WHERE id = 1"), "25P02");
        assert_eq!(said(&one, "COMMIT"), "ROLLBACK");
        Ok(())
    });
}

#[test]
fn skewed_writes_and_phantoms_are_prevented() {
    rerunning_engines(|config| {
        let (db, one) = with_table(config);
        let two = db.session();
        for (look, first, second) in [
            (
                "SELECT sum(n) FROM t",
                "UPDATE t SET n = 0 WHERE id = 1",
                "UPDATE t SET n = 0 WHERE id = 2",
            ),
            ("SELECT count(*) FROM t WHERE n > 25", "INSERT INTO t VALUES (3, 30)", {
                "INSERT INTO t VALUES (4, 40)"
            }),
        ] {
            for (session, change) in [(&one, first), (&two, second)] {
                run(session, &format!("BEGIN; {look}; {change}"));
            }
            assert_eq!(said(&one, "COMMIT"), "COMMIT", "{look}");
            assert_eq!(said(&two, "COMMIT"), "40001", "{look}");
        }
        // Who only reads is checked, too, unless it has looked but once.
        run(&one, "BEGIN; SELECT n FROM t WHERE id = 1");
        run(&two, "UPDATE t SET n = n + 1");
        assert_eq!(said(&one, "COMMIT"), "COMMIT", "it stands before");
        run(&one, "BEGIN; SELECT n FROM t WHERE id = 1");
        run(&two, "UPDATE t SET n = n + 1");
        run(&one, "SELECT n FROM t WHERE id = 2");
        assert_eq!(said(&one, "COMMIT"), "40001", "no moment had both");
        Ok(())
    });
}

/// What passes the gate in between takes a transaction's moment from it; whether anything does is a
/// matter of time, and what a transaction is told must not be.
#[test]
fn who_only_reads_is_told_of_his_last_statement_s_moment() {
    rerunning_engines(|config| {
        let (db, one) = with_table(config);
        let two = db.session();
        run(&one, "BEGIN; SELECT n FROM t WHERE id = 1");
        run(&two, "UPDATE t SET n = n + 1 WHERE id = 2");
        run(&one, "SELECT n FROM t WHERE id = 2; SELECT sum(n) FROM t");
        run(&two, "UPDATE t SET n = n + 1");
        assert_eq!(said(&one, "COMMIT"), "COMMIT", "all of it was so before the last change");

        run(&one, "BEGIN; SELECT n FROM t WHERE id = 1");
        run(&two, "UPDATE t SET n = n + 1");
        run(&one, "SELECT n FROM t WHERE id = 2");
        run(&two, "UPDATE t SET n = n - 1");
        run(&one, "SELECT n FROM t WHERE id = 2");
        assert_eq!(said(&one, "COMMIT"), "40001", "it has seen a state in between");

        // A call that had nothing to change, and now has: it is run at COMMIT, and not before.
        run(
            &one,
            "CREATE PROCEDURE raise_low() LANGUAGE plpgsql AS $$\
                   BEGIN UPDATE t SET n = 100 WHERE n < 0; END $$",
        );
        run(&one, "BEGIN; CALL raise_low()");
        run(&two, "UPDATE t SET n = -1 WHERE id = 1");
        assert_eq!(integers(&one, "SELECT n FROM t WHERE id = 1"), [-1]);
        assert_eq!(said(&one, "COMMIT"), "40001", "the call comes first, and changes the row");
        assert_eq!(integers(&one, "SELECT n FROM t WHERE id = 1"), [-1]);
        Ok(())
    });
}

#[test]
fn blind_changes_of_one_row_never_fail_each_other() {
    const SESSIONS: usize = 8;
    const EACH: i64 = 25;
    rerunning_engines(|config| {
        let (db, session) = with_table(config);
        let barrier = Barrier::new(SESSIONS);
        thread::scope(|scope| {
            for _ in 0..SESSIONS {
                scope.spawn(|| {
                    let session = db.session();
                    barrier.wait();
                    for _ in 0..EACH {
                        run(&session, "BEGIN");
                        run(&session, "UPDATE t SET n = n + 1 WHERE id = 1");
                        run(&session, "UPDATE t SET n = n - 1 WHERE id = 2");
                        run(&session, "COMMIT");
                    }
                });
            }
        });
        let sum = SESSIONS as i64 * EACH;
        assert_eq!(integers(&session, "SELECT n FROM t ORDER BY id"), [10 + sum, 20 - sum]);
        Ok(())
    });
}

#[test]
fn nobody_waits_for_a_session_that_thinks() {
    every_transacting_engine(|config| {
        if entry_of(&config).locks_as_it_goes {
            return Ok(());
        }
        let (db, one) = with_table(config);
        let two = db.session();
        run(
            &one,
            "CREATE TABLE o (id serial PRIMARY KEY, of bigint NOT NULL);
             CREATE PROCEDURE bump(x bigint) AS $$
             BEGIN UPDATE t SET n = n + 1 WHERE id = x; END $$ LANGUAGE plpgsql",
        );
        // Whatever wants to go on has the changes taken back that stand in place.
        let call = || two.call("bump", (1_i64,)).map(drop);
        let single = || two.execute("UPDATE t SET n = n + 1 WHERE id = 1").map(drop);
        let typed = || two.execute("BEGIN; UPDATE t SET n = n + 1 WHERE id = 1; COMMIT").map(drop);
        let defined =
            || two.execute("CREATE TABLE u (id bigint PRIMARY KEY); DROP TABLE u").map(drop);
        let scanned = || db.scan("t", |_| ());
        let others: [&dyn Fn() -> Result<(), Error>; 5] =
            [&call, &single, &typed, &defined, &scanned];
        for other in others {
            run(&one, "BEGIN; UPDATE t SET n = n + 1 WHERE id = 1");
            assert_eq!(integers(&one, "SELECT n FROM t WHERE id = 2"), [20]);
            other()?;
            run(&one, "UPDATE t SET n = n + 1 WHERE id = 1");
            other()?;
            run(&one, "COMMIT");
            run(&one, "BEGIN; UPDATE t SET n = 0 WHERE id = 1");
            other()?;
            run(&one, "ROLLBACK");
        }
        // 2 of its own each time, and 3 of each of three others.
        assert_eq!(integers(&two, "SELECT n FROM t ORDER BY id"), [10 + 10 + 9, 20]);
        // So has the session itself, when the next block of numbers has to be stored.
        run(&one, "BEGIN");
        for _ in 0..100 {
            run(&one, "INSERT INTO o (of) VALUES (1)");
        }
        run(&one, "COMMIT");
        assert_eq!(integers(&two, "SELECT max(id)::bigint FROM o"), [100]);
        Ok(())
    });
}

#[test]
fn what_was_taken_back_was_seen_all_the_same() {
    rerunning_engines(|config| {
        let (db, one) = with_table(config);
        let two = db.session();
        run(&one, "BEGIN; SAVEPOINT a; SELECT n FROM t WHERE id = 1; ROLLBACK TO a");
        run(&one, "INSERT INTO t VALUES (3, 10)");
        run(&two, "UPDATE t SET n = 11 WHERE id = 1");
        assert_eq!(said(&one, "COMMIT"), "40001", "3 has what 1 had");
        // An error was seen, too.
        run(&one, "BEGIN; SAVEPOINT a");
        assert_eq!(said(&one, "INSERT INTO t VALUES (2, 0)"), "23505");
        run(&one, "ROLLBACK TO a; UPDATE t SET n = 21 WHERE id = 1");
        run(&two, "DELETE FROM t WHERE id = 2");
        assert_eq!(said(&one, "COMMIT"), "40001", "2 is not there any more");
        assert_eq!(integers(&one, "SELECT n FROM t ORDER BY id"), [11]);
        run(&one, "BEGIN; SAVEPOINT a; DELETE FROM t; SAVEPOINT b; INSERT INTO t VALUES (8, 8)");
        run(&one, "ROLLBACK TO b; INSERT INTO t VALUES (9, 9); ROLLBACK TO a");
        run(&one, "INSERT INTO t VALUES (5, 5); COMMIT");
        assert_eq!(integers(&one, "SELECT id FROM t ORDER BY id"), [1, 5]);
        Ok(())
    });
}

#[test]
fn only_definitions_of_its_tables_end_one() {
    rerunning_engines(|config| {
        let (db, one) = with_table(config);
        let two = db.session();
        run(&two, "CREATE TABLE u (id bigint PRIMARY KEY)");
        run(&one, "BEGIN; UPDATE t SET n = 0 WHERE id = 1");
        run(&two, "CREATE INDEX u_id ON u (id)");
        // Statements that are kept as procedures are definitions of their own kind.
        let insert = two.prepare("INSERT INTO t (id, n) VALUES ($1, 0)", &[])?;
        for id in 10..20 {
            two.execute_prepared(&insert, &[Value::BigInt(id)])?;
        }
        assert_eq!(said(&one, "INSERT INTO u VALUES (1); COMMIT"), "COMMIT");
        run(&one, "BEGIN; SELECT n FROM t WHERE id = 1");
        run(&two, "ALTER TABLE t ADD COLUMN more bigint");
        assert_eq!(said(&one, "SELECT n FROM t WHERE id = 1"), "40001");
        run(&one, "ROLLBACK; BEGIN; UPDATE t SET n = 1 WHERE id = 1");
        run(&two, "CREATE INDEX t_n ON t (n)");
        assert_eq!(said(&one, "COMMIT"), "40001");
        // Nobody waits for one, and nobody ends it.
        run(&one, "BEGIN; UPDATE t SET n = 1 WHERE id = 1");
        let mut rows = 0;
        db.scan("t", |_| rows += 1)?;
        assert_eq!((rows, said(&one, "COMMIT")), (12, "COMMIT".to_owned()));
        // A procedure is called as it is when the transaction commits.
        let returns = |number: i64| {
            format!(
                "CREATE OR REPLACE FUNCTION f() RETURNS bigint AS $$
                 BEGIN RETURN {number}; END $$ LANGUAGE plpgsql"
            )
        };
        run(&two, &returns(1));
        run(&one, "BEGIN; SELECT f(); UPDATE t SET n = 2 WHERE id = 1");
        run(&two, &returns(2));
        assert_eq!(said(&one, "COMMIT"), "40001");
        Ok(())
    });
}

#[test]
fn statements_of_several_parts_and_numbers_are_kept() {
    rerunning_engines(|config| {
        let (db, one) = with_table(config);
        let two = db.session();
        run(&one, "CREATE TABLE o (id serial PRIMARY KEY, of bigint NOT NULL, made timestamptz)");
        run(&one, "BEGIN; INSERT INTO o (of) VALUES (1)");
        let drawn = "INSERT INTO o (of) SELECT a.id FROM t a, t b ORDER BY a.id RETURNING id";
        assert_eq!(integers_of(&one, drawn), [2, 3, 4, 5]);
        assert_eq!(integers_of(&two, "INSERT INTO o (of) VALUES (9) RETURNING id"), [6]);
        run(&one, "UPDATE o SET made = now(); UPDATE o SET of = o.of + t.n FROM t WHERE t.id = of");
        let joined = "SELECT o.id::bigint FROM o, t WHERE o.of = t.id + t.n ORDER BY 1";
        assert_eq!(integers(&one, joined), [1, 2, 3, 4, 5]);
        // `UPDATE o` without a condition has touched two sessions' rows, and tells how many.
        assert_eq!(said(&one, "COMMIT"), "COMMIT");
        assert_eq!(integers(&two, "SELECT count(*) FROM o WHERE made IS NULL"), [0]);
        // Outside of transactions, too.
        assert_eq!(said(&one, "INSERT INTO o (of) SELECT a.id FROM t a, t b"), "INSERT 0 4");
        assert_eq!(integers(&two, "SELECT max(id)::bigint FROM o"), [10]);
        Ok(())
    });
}

/// As [`integers`], of a column of type integer.
fn integers_of(session: &Session, query: &str) -> Vec<i32> {
    let mut results = session.execute(query).unwrap_or_else(|error| panic!("{query}: {error}"));
    let rows = results.pop().expect("one statement").rows.all::<(i32,)>();
    rows.expect("integers").into_iter().map(|(n,)| n).collect()
}

#[test]
fn rows_of_a_copy_come_all_or_none() {
    rerunning_engines(|config| {
        let (db, one) = with_table(config);
        let two = db.session();
        let rows: String = (100..20_100).map(|id| format!("{id}\t1\tx\n")).collect();
        assert_eq!(one.copy_in("COPY t FROM STDIN", rows.as_bytes())?, 20_000);
        assert_eq!(integers(&two, "SELECT sum(n)::bigint FROM t WHERE id >= 100"), [20_000]);
        run(&one, "BEGIN; DELETE FROM t WHERE id >= 100");
        assert_eq!(one.copy_in("COPY t FROM STDIN", &b"3\t3\t\\N\n4\t4\tfour\n"[..])?, 2);
        assert_eq!(integers(&one, "SELECT id FROM t ORDER BY id"), [1, 2, 3, 4]);
        assert_eq!(integers(&two, "SELECT count(*) FROM t"), [20_002]);
        run(&one, "COMMIT");
        for begin in ["SELECT 1", "BEGIN; SAVEPOINT a"] {
            run(&one, begin);
            let refused = one.copy_in("COPY t FROM STDIN", &b"5\t5\t\\N\n2\t2\t\\N\n6\t6\tx\n"[..]);
            let error = refused.expect_err("2 is there");
            assert_eq!(error.sqlstate(), Some("23505"), "{error}");
            let context = error.as_sql().and_then(|error| error.context.clone());
            assert_eq!(context.as_deref(), Some("COPY t, line 2"), "{begin}");
        }
        run(&one, "ROLLBACK TO a; INSERT INTO t VALUES (7, 7); COMMIT");
        assert_eq!(integers(&two, "SELECT id FROM t ORDER BY id"), [1, 2, 3, 4, 7]);
        Ok(())
    });
}

#[test]
fn so_many_statements_and_so_much_memory_are_enough() {
    rerunning_engines(|config| {
        let (db, one) = with_table(config);
        run(&one, "BEGIN");
        let look = one.prepare("SELECT n FROM t WHERE id = $1", &[])?;
        for _ in 0..10_000 {
            one.execute_prepared(&look, &[Value::BigInt(1)])?;
        }
        let error = one.execute_prepared(&look, &[Value::BigInt(1)]).expect_err("too many");
        assert_eq!(error.sqlstate(), Some("54000"));
        assert_eq!(said(&one, "ROLLBACK"), "ROLLBACK");
        drop(one);
        let session = db.session();
        let before = session.memory().used();
        let put = session.prepare("UPDATE t SET name = $1 WHERE id = 1", &[])?;
        run(&session, "BEGIN");
        for _ in 0..10 {
            session.execute_prepared(&put, &[Value::from("x".repeat(10_000))])?;
        }
        let taken = session.memory().used() - before;
        assert!((100_000..400_000).contains(&taken), "{taken}");
        run(&session, "COMMIT");
        assert!(session.memory().used() < before + 50_000);
        Ok(())
    });
}

#[test]
fn what_is_committed_outlasts_a_crash_and_what_is_open_does_not() {
    rerunning_engines(|config| {
        let directory = Directory::new(&format!("rerun-{}", config.engine));
        for life in 0..3_i64 {
            let db = Database::open(&directory.0, config.clone())?;
            let (one, two) = (db.session(), db.session());
            if life == 0 {
                run(&one, "CREATE TABLE t (id bigint PRIMARY KEY, n bigint NOT NULL)");
                run(
                    &one,
                    "CREATE PROCEDURE bump(x bigint) AS $$
                     BEGIN UPDATE t SET n = n + 1 WHERE id = x; END $$ LANGUAGE plpgsql",
                );
                run(&one, "INSERT INTO t VALUES (0, 0)");
            }
            assert_eq!(integers(&one, "SELECT count(*) FROM t"), [1 + life]);
            assert_eq!(integers(&one, "SELECT n FROM t WHERE id = 0"), [3 * life]);
            run(&one, &format!("BEGIN; INSERT INTO t VALUES ({}, 0); CALL bump(0)", life + 1));
            run(&two, "BEGIN; DELETE FROM t");
            two.execute("SELECT n FROM t")?;
            db.session().call("bump", (0_i64,))?;
            run(&one, "UPDATE t SET n = n + 1 WHERE id = 0; COMMIT");
            std::mem::forget(two); // as if nobody had ended it
            db.shutdown();
        }
        Ok(())
    });
}
