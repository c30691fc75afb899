//! Calls that wait for somebody's open transaction: they keep no thread, and end when they must.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::{self, ScopedJoinHandle};
use std::time::Duration;

use hotrow::{Config, Database, Session};

use crate::every_engine::open;
use crate::transactions::{every_locking_engine, integers, said};

/// More than there are threads, and than calls in a turn of each.
const WAITERS: usize = 40;
/// Calls that get through meanwhile.
const OTHERS: i64 = 500;

const TABLES: &str = "
CREATE TABLE t (id bigint PRIMARY KEY, n bigint NOT NULL);
INSERT INTO t SELECT g, 0 FROM generate_series(1, 20) AS g;
CREATE TABLE whole (id bigint PRIMARY KEY, n bigint NOT NULL);
CREATE FUNCTION bump(k bigint) RETURNS bigint AS $$
DECLARE result bigint;
BEGIN
  UPDATE t SET n = n + 1 WHERE id = k RETURNING n INTO result;
  RETURN result;
END $$ LANGUAGE plpgsql;
CREATE FUNCTION move(a bigint, b bigint) RETURNS void AS $$
BEGIN
  UPDATE t SET n = n - 1 WHERE id = a;
  UPDATE t SET n = n + 1 WHERE id = b;
END $$ LANGUAGE plpgsql;
CREATE FUNCTION enter(k bigint) RETURNS void AS $$
BEGIN INSERT INTO whole VALUES (k, 0); END $$ LANGUAGE plpgsql;
CREATE FUNCTION total() RETURNS bigint AS $$
DECLARE result bigint;
BEGIN
  SELECT count(*) INTO result FROM whole;
  RETURN result;
END $$ LANGUAGE plpgsql;
";

fn with_tables(config: Config) -> (Database, Session) {
    let db = open(config);
    let session = db.session();
    session.execute(TABLES).expect("the tables are made");
    (db, session)
}

/// Calls of `waiters` sessions of their own, all alike, each set up by `script`.
fn crowd<'scope, 'env>(
    scope: &'scope thread::Scope<'scope, 'env>,
    db: &'env Database,
    (waiters, script): (usize, &'env str),
    begun: &'env AtomicUsize,
) -> Vec<ScopedJoinHandle<'scope, String>> {
    let waiter = move |_| {
        scope.spawn(move || {
            let session = db.session();
            session.execute(script).expect("it is set up");
            begun.fetch_add(1, Ordering::Relaxed);
            session.call("bump", (1_i64,)).map_or_else(
                |error| error.sqlstate().unwrap_or("no SQL error").to_owned(),
                |_| "done".to_owned(),
            )
        })
    };
    (0..waiters).map(waiter).collect()
}

fn ends(crowd: Vec<ScopedJoinHandle<'_, String>>) -> Vec<String> {
    crowd.into_iter().map(|waiter| waiter.join().expect("it ends well")).collect()
}

/// Waits until so many calls are parked.
fn wait_for_waiters(db: &Database, calls: usize) {
    while db.status().parked != calls {
        thread::yield_now();
    }
}

#[test]
fn calls_of_other_rows_pass_those_that_wait_for_an_open_transaction() {
    every_locking_engine(|config| {
        let (db, holder) = with_tables(config);
        let (other, begun) = (db.session(), AtomicUsize::new(0));
        holder.execute("BEGIN; UPDATE t SET n = n + 100 WHERE id = 1")?;
        thread::scope(|scope| {
            let crowd = crowd(scope, &db, (WAITERS, ""), &begun);
            wait_for_waiters(&db, WAITERS);
            // They would not end at all if the crowd kept the threads.
            for call in 0..OTHERS {
                other.call("bump", (2 + call % 19,)).expect("its row is free");
            }
            assert_eq!(said(&holder, "COMMIT"), "COMMIT", "nobody ended it");
            assert!(ends(crowd).iter().all(|end| end == "done"));
        });
        assert_eq!(integers(&other, "SELECT n FROM t WHERE id = 1"), [100 + WAITERS as i64]);
        assert_eq!(integers(&other, "SELECT sum(n)::bigint FROM t WHERE id > 1"), [OTHERS]);
        Ok(())
    });
}

#[test]
fn who_waits_for_an_open_transaction_ends_at_its_limits() {
    every_locking_engine(|config| {
        let (db, holder) = with_tables(config);
        holder.execute("BEGIN; UPDATE t SET n = n + 100 WHERE id = 1")?;
        let begun = AtomicUsize::new(0);
        let ended =
            |script: &str| thread::scope(|scope| ends(crowd(scope, &db, (5, script), &begun)));
        assert_eq!(ended("SET lock_timeout = '30ms'"), ["55P03"; 5]);
        assert_eq!(ended("SET statement_timeout = '30ms'"), ["57014"; 5]);
        // And again: those who gave up left nothing behind that hinders.
        assert_eq!(ended("SET lock_timeout = '30ms'"), ["55P03"; 5]);
        assert_eq!(said(&holder, "ROLLBACK"), "ROLLBACK");
        assert_eq!(db.session().call("bump", (1_i64,))?.one::<i64>()?, 1);
        Ok(())
    });
}

#[test]
fn who_waits_for_an_open_transaction_can_be_cancelled() {
    every_locking_engine(|config| {
        let (db, holder) = with_tables(config);
        holder.execute("BEGIN; UPDATE t SET n = n + 100 WHERE id = 1")?;
        let waiter = db.session();
        let cancel = waiter.canceller();
        let ended = thread::scope(|scope| {
            let waiting = scope.spawn(move || said(&waiter, "SELECT bump(1)"));
            while !waiting.is_finished() {
                cancel.cancel();
                thread::sleep(Duration::from_millis(5));
            }
            waiting.join().expect("it ends well")
        });
        assert_eq!(ended, "57014");
        Ok(())
    });
}

#[test]
fn a_definition_comes_while_calls_wait_for_an_open_transaction() {
    every_locking_engine(|config| {
        let (db, holder) = with_tables(config);
        let (other, begun) = (db.session(), AtomicUsize::new(0));
        holder.execute("BEGIN; UPDATE t SET n = n + 100 WHERE id = 1")?;
        thread::scope(|scope| {
            let crowd = crowd(scope, &db, (8, ""), &begun);
            wait_for_waiters(&db, 8);
            // It ends the transaction, and those who waited are planned anew.
            other.execute("CREATE INDEX t_n ON t (n)").expect("it comes");
            assert!(ends(crowd).iter().all(|end| end == "done"));
        });
        assert_eq!(said(&holder, "COMMIT"), "40001");
        assert_eq!(integers(&other, "SELECT n FROM t WHERE id = 1"), [8]);
        Ok(())
    });
}

#[test]
fn a_procedure_dropped_while_its_call_waits_is_unknown() {
    every_locking_engine(|config| {
        let (db, holder) = with_tables(config);
        let (other, begun) = (db.session(), AtomicUsize::new(0));
        holder.execute("BEGIN; UPDATE t SET n = n + 100 WHERE id = 1")?;
        thread::scope(|scope| {
            let crowd = crowd(scope, &db, (3, ""), &begun);
            wait_for_waiters(&db, 3);
            other.execute("DROP FUNCTION bump").expect("it is dropped");
            assert!(ends(crowd).iter().all(|end| end == "42883"));
        });
        Ok(())
    });
}

#[test]
fn the_order_of_locks_holds_for_who_comes_back() {
    every_locking_engine(|config| {
        let (db, holder) = with_tables(config);
        holder.execute("BEGIN; UPDATE t SET n = n WHERE id IN (1, 11)")?;
        // All pairs, both ways round: who is granted one of two rows ahead of its turn must not
        // wait for the other one with it.
        thread::scope(|scope| {
            let movers: Vec<_> = (0..16_i64)
                .map(|number| {
                    let session = db.session();
                    scope.spawn(move || {
                        for round in 0..40 {
                            let (a, b) = (1 + (number + round) % 4, 11 + (number * round) % 3);
                            let (a, b) = if round % 2 == 0 { (a, b) } else { (b, a) };
                            session.call("move", (a, b)).expect("planned calls only wait");
                        }
                    })
                })
                .collect();
            let typist = db.session();
            for round in 0..40 {
                let id = if round % 2 == 0 { 1 } else { 11 };
                if round == 3 {
                    holder.execute("COMMIT").expect("it is open");
                }
                // It may be chosen to give way, and is repeated.
                let script = format!("BEGIN; UPDATE t SET n = n WHERE id = {id}; COMMIT");
                while round > 3 && said(&typist, &script) != "COMMIT" {
                    said(&typist, "ROLLBACK");
                }
            }
            movers.into_iter().for_each(|mover| mover.join().expect("it ends well"));
        });
        assert_eq!(integers(&db.session(), "SELECT sum(n)::bigint FROM t"), [0]);
        Ok(())
    });
}

#[test]
fn a_whole_table_is_waited_for_outside_too() {
    every_locking_engine(|config| {
        let (db, holder) = with_tables(config);
        let other = db.session();
        // Both uses are known to planned calls from here on.
        other.execute(
            "BEGIN; SELECT count(*) FROM whole; INSERT INTO whole VALUES (0, 0); COMMIT",
        )?;
        holder.execute("BEGIN; SELECT count(*) FROM whole")?;
        let call = |name: &'static str, argument: Option<i64>| {
            let session = db.session();
            move || match argument {
                Some(argument) => session.call(name, (argument,)).map(|_| ()),
                None => session.call(name, ()).map(|_| ()),
            }
        };
        thread::scope(|scope| {
            let entering: Vec<_> =
                (1..=8).map(|key| scope.spawn(call("enter", Some(key)))).collect();
            wait_for_waiters(&db, 8);
            for row in 0..OTHERS {
                other.call("bump", (1 + row % 20,)).expect("another table");
            }
            assert_eq!(integers(&holder, "SELECT count(*) FROM whole"), [1], "nobody came in");
            holder.execute("COMMIT").expect("nobody ended it");
            entering.into_iter().for_each(|call| call.join().expect("it ends well").expect("done"));
            // The other way round: rows are held, and the whole is wanted.
            holder.execute("BEGIN; INSERT INTO whole VALUES (100, 0)").expect("it is free");
            let counting: Vec<_> = (0..4).map(|_| scope.spawn(call("total", None))).collect();
            wait_for_waiters(&db, 4);
            for row in 0..OTHERS {
                other.call("bump", (1 + row % 20,)).expect("another table");
            }
            holder.execute("COMMIT").expect("nobody ended it");
            counting.into_iter().for_each(|call| call.join().expect("it ends well").expect("done"));
        });
        assert_eq!(integers(&other, "SELECT count(*) FROM whole"), [10]);
        Ok(())
    });
}

#[test]
fn a_database_that_ends_ends_those_who_wait() {
    every_locking_engine(|config| {
        let (db, holder) = with_tables(config);
        let begun = AtomicUsize::new(0);
        holder.execute("BEGIN; UPDATE t SET n = n + 100 WHERE id = 1")?;
        thread::scope(|scope| {
            let crowd = crowd(scope, &db, (8, ""), &begun);
            wait_for_waiters(&db, 8);
            db.shutdown();
            assert!(ends(crowd).iter().all(|end| end == "done"), "the transaction was ended first");
        });
        Ok(())
    });
}

fn waits_for_lock(session: &Session, number: i32) -> bool {
    let asked = format!("SELECT pg_isolation_test_session_is_blocked({number}, ARRAY[0])");
    let mut results = session.execute(&asked).expect("it is a query");
    results.pop().expect("one statement").rows.one::<bool>().expect("one row")
}

#[test]
fn calls_come_before_transactions_that_came_later() {
    let config = Config::default().threads(2);
    let (db, holder) = with_tables(config);
    holder.execute("BEGIN; UPDATE t SET n = n WHERE id = 1").expect("it is free");
    let (other, begun) = (db.session(), AtomicUsize::new(0));
    let later = db.session();
    later.identify("me", "app", 7);
    thread::scope(|scope| {
        let crowd = crowd(scope, &db, (1, ""), &begun);
        wait_for_waiters(&db, 1);
        let typing = scope.spawn(move || {
            later.execute("BEGIN").expect("it begins");
            integers(&later, "UPDATE t SET n = n + 10 WHERE id = 1 RETURNING n")
        });
        while !waits_for_lock(&other, 7) {
            thread::yield_now();
        }
        holder.execute("COMMIT").expect("nobody ended it");
        assert_eq!(typing.join().expect("it ends well"), [11], "the call was there before");
        assert_eq!(ends(crowd), ["done"]);
    });
}

#[test]
fn who_is_silent_while_others_wait_is_ended_whatever_he_says_now_and_then() {
    every_locking_engine(|config| {
        let config = config.idle_in_transaction(None);
        let (db, holder) = with_tables(config.idle_while_awaited(Some(Duration::from_millis(60))));
        holder.execute("BEGIN; UPDATE t SET n = n + 100 WHERE id = 1")?;
        // Nobody waits: nobody minds.
        thread::sleep(Duration::from_millis(150));
        assert_eq!(integers(&holder, "SELECT n FROM t WHERE id = 1"), [100]);
        let begun = AtomicUsize::new(0);
        thread::scope(|scope| {
            let crowd = crowd(scope, &db, (3, ""), &begun);
            // Each pause is shorter than the limit.
            let mut last = String::new();
            while last != "25P03" {
                thread::sleep(Duration::from_millis(5));
                last = said(&holder, "SELECT 1");
            }
            assert!(ends(crowd).iter().all(|end| end == "done"));
        });
        assert_eq!(integers(&db.session(), "SELECT n FROM t WHERE id = 1"), [3]);
        Ok(())
    });
}

/// Does something when it is dropped.
struct AtEnd<F: Fn()>(F);

impl<F: Fn()> Drop for AtEnd<F> {
    fn drop(&mut self) {
        (self.0)();
    }
}

#[test]
fn one_slow_statement_keeps_nobody_out_for_whom_a_definition_waits() {
    every_locking_engine(|config| {
        let (db, definer) = with_tables(config.step_budget(1 << 50));
        let (slow, other) = (db.session(), db.session());
        // From here on statements are transactions beside calls.
        other.execute("BEGIN; UPDATE t SET n = n WHERE id = 20; COMMIT")?;
        let cancel = slow.canceller();
        thread::scope(|scope| {
            // A failure below must not leave the endless statement behind.
            let _ended = AtEnd(|| {
                cancel.cancel();
            });
            let endless = "DO $$ BEGIN
              UPDATE t SET n = n + 1000 WHERE id = 19;
              FOR i IN 1..2000000000 LOOP FOR j IN 1..1000 LOOP NULL; END LOOP; END LOOP;
            END $$";
            let slow = scope.spawn(move || said(&slow, endless));
            let look = "SELECT n FROM t WHERE id = 19 FOR UPDATE NOWAIT";
            while said(&other, look) != "55P03" {
                thread::yield_now(); // until it has the row
            }
            definer.execute("SET statement_timeout = '200ms'").expect("it is a setting");
            assert_eq!(said(&definer, "CREATE TABLE u (id bigint PRIMARY KEY)"), "57014");
            definer.execute("SET statement_timeout = 0").expect("it is a setting");
            let defining =
                scope.spawn(move || said(&definer, "CREATE TABLE u (id bigint PRIMARY KEY)"));
            // They would not end before the statement, which nobody has ended yet.
            for call in 0..OTHERS {
                other.call("bump", (1 + call % 18,)).expect("its row is free");
                other.execute("UPDATE t SET n = n WHERE id = 20").expect("its row is free");
            }
            assert!(!defining.is_finished(), "somebody is inside");
            while !slow.is_finished() {
                cancel.cancel();
                thread::sleep(Duration::from_millis(5));
            }
            assert_eq!(slow.join().expect("it ends well"), "57014");
            assert_eq!(defining.join().expect("it ends well"), "CREATE TABLE");
        });
        Ok(())
    });
}
