//! Calls that come first in a transaction: planned, and repeated unseen.

use std::thread;

use hotrow::Error;

use super::{every_locking_engine, integers, said, with_table};

const TRANSFER: &str = "
CREATE FUNCTION move_one(a bigint, b bigint) RETURNS bigint AS $$
DECLARE left_over bigint;
BEGIN
  UPDATE t SET n = n - 1 WHERE id = a RETURNING n INTO left_over;
  UPDATE t SET n = n + 1 WHERE id = b;
  IF left_over < 0 THEN RAISE EXCEPTION 'nothing is left'; END IF;
  RETURN left_over;
END $$ LANGUAGE plpgsql;
";

#[test]
fn a_first_call_is_part_of_its_transaction() {
    every_locking_engine(|config| {
        let (db, session) = with_table(config);
        session.execute(TRANSFER)?;
        session.execute("BEGIN; SELECT move_one(1, 2); ROLLBACK")?;
        assert_eq!(integers(&session, "SELECT n FROM t ORDER BY id"), [10, 20], "taken back");
        session.execute("BEGIN; SELECT move_one(1, 2)")?;
        assert_eq!(integers(&session, "SELECT n FROM t ORDER BY id"), [9, 21], "its own");
        session.execute("SAVEPOINT a; SELECT move_one(1, 2); ROLLBACK TO a; COMMIT")?;
        assert_eq!(integers(&session, "SELECT n FROM t ORDER BY id"), [9, 21]);
        assert_eq!(said(&session, "BEGIN; SAVEPOINT a; SELECT move_one(1, 2)"), "SELECT 1");
        assert_eq!(said(&session, "ROLLBACK TO a; SELECT move_one(2, 1); COMMIT"), "COMMIT");
        assert_eq!(integers(&session, "SELECT n FROM t ORDER BY id"), [10, 20]);
        let calls = db.calls();
        assert_eq!((calls.len(), calls[0].calls), (1, 5), "calls inside are counted");
        Ok(())
    });
}

#[test]
fn a_first_call_that_fails_leaves_nothing() {
    every_locking_engine(|config| {
        let (_db, session) = with_table(config);
        session.execute(TRANSFER)?;
        session.execute("UPDATE t SET n = 0 WHERE id = 1")?;
        assert_eq!(said(&session, "BEGIN; SELECT move_one(1, 2)"), "P0001");
        assert_eq!(said(&session, "COMMIT"), "ROLLBACK");
        session.execute("BEGIN; SAVEPOINT a")?;
        assert_eq!(said(&session, "SELECT move_one(1, 2)"), "P0001");
        session.execute("ROLLBACK TO a; SELECT move_one(2, 1); COMMIT")?;
        assert_eq!(integers(&session, "SELECT n FROM t ORDER BY id"), [1, 19]);
        Ok(())
    });
}

/// Half of them move one way, half the other way: as statements that lock as they go, they would
/// deadlock again and again.
#[test]
fn first_calls_of_many_sessions_are_never_refused() {
    const SESSIONS: usize = 6;
    const CALLS: usize = 60;
    every_locking_engine(|config| {
        // Who has its answer and stays open can be in the way of older ones: where calls lock as
        // they go, a policy may end it then, which its COMMIT tells. Where they are planned,
        // nothing ever does.
        let is_planned = config.settings.get("acquisition").is_none_or(|way| way == "ordered");
        let (db, session) = with_table(config);
        session.execute(TRANSFER)?;
        session.execute("UPDATE t SET n = 1000")?;
        thread::scope(|scope| {
            let run = |number: usize| {
                let session = db.session();
                move || -> Result<(), Error> {
                    let (a, b) = if number.is_multiple_of(2) { (1, 2) } else { (2, 1) };
                    for call in 0..CALLS {
                        if (call + number).is_multiple_of(3) {
                            session.call("move_one", (a, b))?; // beside planned calls
                            continue;
                        }
                        let transfer = || {
                            session.execute(&format!("BEGIN; SELECT move_one({a}, {b})"))?;
                            thread::yield_now();
                            session.execute("COMMIT")
                        };
                        while let Err(error) = transfer() {
                            if is_planned || error.sqlstate() != Some("40001") {
                                return Err(error);
                            }
                            session.execute("ROLLBACK")?;
                        }
                    }
                    Ok(())
                }
            };
            let sessions: Vec<_> = (0..SESSIONS).map(|number| scope.spawn(run(number))).collect();
            sessions.into_iter().try_for_each(|ended| ended.join().expect("none panics"))
        })?;
        assert_eq!(integers(&session, "SELECT n FROM t ORDER BY id"), [1000, 1000]);
        Ok(())
    });
}

/// Each begins with a call and then wants the whole table, in which the next one's call waits for
/// the same row, with its intent: if that call were never undone, each of them would be undone for
/// another one's call, and begin again with a call itself, for ever.
#[test]
fn of_those_that_want_a_table_behind_a_first_call_somebody_gets_through() {
    const SESSIONS: usize = 8;
    const TIMES: usize = 15;
    /// In vain, of one step.
    const TRIES_MAX: usize = 3000;
    every_locking_engine(|config| {
        let (db, session) = with_table(config);
        session.execute(TRANSFER)?;
        session.execute("UPDATE t SET n = 1000")?;
        let script = "BEGIN; SELECT move_one(1, 2); SELECT sum(n) FROM t; COMMIT";
        thread::scope(|scope| {
            let run = || {
                let session = db.session();
                move || -> Result<(), Error> {
                    for _ in 0..TIMES {
                        let mut tries = 0;
                        while let Err(error) = session.execute(script) {
                            tries += 1;
                            let is_undone = matches!(error.sqlstate(), Some("40001" | "40P01"));
                            if !is_undone || tries == TRIES_MAX {
                                return Err(error);
                            }
                            session.execute("ROLLBACK")?;
                        }
                    }
                    Ok(())
                }
            };
            let sessions: Vec<_> = (0..SESSIONS).map(|_| scope.spawn(run())).collect();
            sessions.into_iter().try_for_each(|ended| ended.join().expect("none panics"))
        })?;
        let moved = (SESSIONS * TIMES) as i64;
        let left = integers(&session, "SELECT n FROM t ORDER BY id");
        assert_eq!(left, [1000 - moved, 1000 + moved]);
        Ok(())
    });
}
