//! Sessions against each other, and against calls.

use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use super::{every_locking_engine, integers, locking_engines, said};
use crate::every_engine::open;
use hotrow::{Config, Database, Session};

const ACCOUNTS: i64 = 6;
const CENTS: i64 = 1000;
const BANK: &str = "
CREATE TABLE account (id bigint PRIMARY KEY, cents bigint NOT NULL);
CREATE TABLE moved (id bigint PRIMARY KEY, cents bigint NOT NULL);
CREATE TABLE rate (id bigint PRIMARY KEY, percent bigint NOT NULL);
INSERT INTO rate VALUES (1, 100);
CREATE FUNCTION move_money(origin bigint, target bigint, amount bigint) RETURNS bigint AS $$
DECLARE p bigint; rest bigint;
BEGIN
  SELECT percent INTO p FROM rate WHERE id = 1;
  UPDATE account SET cents = cents - amount * p / 100 WHERE id = origin;
  UPDATE account SET cents = cents + amount * p / 100 WHERE id = target RETURNING cents INTO rest;
  RETURN rest;
END $$ LANGUAGE plpgsql;
";

fn bank(config: Config) -> Database {
    let db = open(config);
    fill(&db.session());
    db
}

fn fill(session: &Session) {
    session.execute(BANK).expect("the script is right");
    for id in 0..ACCOUNTS {
        let insert = format!("INSERT INTO account VALUES ({id}, {CENTS})");
        session.execute(&insert).expect("it is new");
    }
}

/// Whether an error asks for the transaction to be repeated.
fn is_conflict(code: &str) -> bool {
    matches!(code, "40001" | "40P01")
}

#[test]
fn of_two_that_wait_for_each_other_one_goes_on() {
    every_locking_engine(|config| {
        let policy = config.settings.get("acquisition").cloned().unwrap_or_default();
        let db = bank(config);
        let both = Barrier::new(2);
        let ends: Vec<String> = std::thread::scope(|scope| {
            let client = |first: i64, second: i64| {
                let (session, both) = (db.session(), &both);
                let update = |id| format!("UPDATE account SET cents = cents + 1 WHERE id = {id}");
                scope.spawn(move || {
                    session.execute(&format!("BEGIN; {}", update(first))).expect("it is free");
                    both.wait();
                    let end = said(&session, &update(second));
                    let told = said(&session, "COMMIT");
                    assert_eq!(told, if is_conflict(&end) { "ROLLBACK" } else { "COMMIT" });
                    end
                })
            };
            let clients = [client(0, 1), client(1, 0)];
            clients.into_iter().map(|client| client.join().expect("no panic")).collect()
        });
        let refused = ends.iter().filter(|end| is_conflict(end)).count();
        let done = ends.iter().filter(|end| *end == "UPDATE 1").count();
        // Where nobody knows of the other one, each may give up before it has been undone.
        let both_may_go = ["no-wait", "time-out"].contains(&&*policy) && refused == 2;
        assert!((refused, done) == (1, 1) || both_may_go, "{ends:?}");
        let cents = integers(&db.session(), "SELECT cents FROM account WHERE id <= 1 ORDER BY id");
        assert_eq!(cents, [CENTS + done as i64; 2], "of those that committed");
        Ok(())
    });
}

#[test]
fn a_call_waits_for_a_transaction_and_is_never_refused() {
    every_locking_engine(|config| {
        let db = bank(config);
        let session = db.session();
        session.execute("BEGIN; UPDATE account SET cents = 0 WHERE id = 1")?;
        std::thread::scope(|scope| {
            let other = db.session();
            let call = scope.spawn(move || other.call("move_money", (0_i64, 1_i64, 5_i64)));
            std::thread::sleep(Duration::from_millis(20));
            assert!(!call.is_finished(), "the account is changed and not committed");
            session.execute("COMMIT")?;
            let rest = call.join().expect("no panic")?.one::<i64>()?;
            assert_eq!(rest, 5, "it has seen what was committed");
            Ok::<(), hotrow::Error>(())
        })?;
        // A table that no procedure writes is protected from calls, too, once one is in use.
        session.execute("BEGIN; UPDATE rate SET percent = 200 WHERE id = 1")?;
        std::thread::scope(|scope| {
            let other = db.session();
            let call = scope.spawn(move || other.call("move_money", (0_i64, 1_i64, 5_i64)));
            std::thread::sleep(Duration::from_millis(20));
            assert!(!call.is_finished(), "the rate is changed and not committed");
            session.execute("ROLLBACK")?;
            let rest = call.join().expect("no panic")?.one::<i64>()?;
            assert_eq!(rest, 10, "at the old rate");
            Ok::<(), hotrow::Error>(())
        })?;
        // So is what a transaction has read, be it a row or all of them.
        for read in ["SELECT percent FROM rate WHERE id = 1", "SELECT sum(cents) FROM account"] {
            session.execute(&format!("BEGIN; {read}"))?;
            let other = db.session();
            std::thread::scope(|scope| {
                let writes = move || {
                    other.execute("CALL move_money(0, 1, 5)").map(drop)?;
                    other.execute("UPDATE rate SET percent = percent WHERE id = 1").map(drop)
                };
                let writing = scope.spawn(writes);
                std::thread::sleep(Duration::from_millis(20));
                assert!(!writing.is_finished(), "{read} is protected");
                session.execute("COMMIT")?;
                writing.join().expect("no panic")
            })?;
        }
        Ok(())
    });
}

/// A transfer in a transaction; whether it committed.
fn transfer(session: &Session, (origin, target): (i64, i64), amount: i64, number: u64) -> bool {
    let script = format!(
        "BEGIN;
         UPDATE account SET cents = cents - {amount} WHERE id = {origin};
         SAVEPOINT half; UPDATE account SET cents = -1; ROLLBACK TO half;
         UPDATE account SET cents = cents + {amount} WHERE id = {target};
         INSERT INTO moved VALUES ({number}, {amount});
         COMMIT"
    );
    match said(session, &script).as_str() {
        "COMMIT" => true,
        code => {
            assert!(is_conflict(code), "{code}");
            let told = said(session, "ROLLBACK");
            assert_eq!(told, "ROLLBACK");
            false
        }
    }
}

/// What runs beside transfers.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Beside {
    Nothing,
    Checkpoints,
    Definitions,
}

/// Transfers by sessions, by single statements and by calls; how many transactions committed.
fn transfers(db: &Database, beside: Beside, first: u64) -> u64 {
    let (done, over) = (AtomicU64::new(0), AtomicBool::new(false));
    std::thread::scope(|scope| {
        let clients: Vec<_> = (0..3_u64)
            .map(|client| {
                let (session, done) = (db.session(), &done);
                scope.spawn(move || {
                    let mut random = first + client + 1;
                    let mut any = |most: i64| {
                        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                        (random >> 33) as i64 % most
                    };
                    for step in 0..40 {
                        let accounts = (any(ACCOUNTS), any(ACCOUNTS));
                        let number = first + client * 100 + step;
                        match client {
                            0 => {
                                let (origin, target) = accounts;
                                let moved = session.call("move_money", (origin, target, any(9)));
                                moved.expect("calls are never refused");
                            }
                            1 => {
                                let add = "UPDATE account SET cents = cents + 0";
                                session.execute(add).expect("repeated until it gets through");
                                let look = "SELECT sum(cents)::bigint FROM account";
                                let sum = integers(&session, look);
                                assert_eq!(sum, [ACCOUNTS * CENTS], "halves are never seen");
                            }
                            _ => {
                                let amount = any(9);
                                if transfer(&session, accounts, amount, number) {
                                    done.fetch_add(1, Ordering::Relaxed);
                                }
                            }
                        }
                    }
                })
            })
            .collect();
        scope.spawn(|| {
            let session = db.session();
            while !over.load(Ordering::Relaxed) {
                match beside {
                    Beside::Nothing => {}
                    Beside::Checkpoints => drop(db.checkpoint().expect("one can be taken")),
                    Beside::Definitions => {
                        let script =
                            "CREATE INDEX by_cents ON account (cents); DROP INDEX by_cents";
                        session.execute(script).expect("it waits for the others");
                    }
                }
                std::thread::sleep(Duration::from_millis(5));
            }
        });
        let ended: Vec<_> = clients.into_iter().map(|client| client.join()).collect();
        over.store(true, Ordering::Relaxed);
        ended.into_iter().for_each(|ended| ended.expect("no panic"));
    });
    done.into_inner()
}

fn check(session: &Session, moved: u64) {
    assert_eq!(integers(session, "SELECT sum(cents)::bigint FROM account"), [ACCOUNTS * CENTS]);
    assert_eq!(integers(session, "SELECT count(*) FROM moved"), [moved as i64]);
}

#[test]
fn transfers_of_sessions_and_calls_conserve_money() {
    every_locking_engine(|config| {
        let db = bank(config);
        let moved = transfers(&db, Beside::Nothing, 0);
        assert!(moved > 0, "none got through");
        check(&db.session(), moved);
        Ok(())
    });
}

#[test]
fn definitions_come_between() {
    locking_engines(|config| {
        let db = bank(config);
        let moved = transfers(&db, Beside::Definitions, 0);
        assert!(moved > 0, "none got through");
        check(&db.session(), moved);
        Ok(())
    });
}

#[test]
fn checkpoints_and_recovery_know_nothing_of_what_is_open() {
    locking_engines(|config| {
        let directory = crate::scratch::Directory::new("transactions");
        let path = &directory.0;
        let mut moved = 0;
        for round in 0..3_u64 {
            let db = Database::open(path, config.clone())?;
            if round == 0 {
                fill(&db.session());
            }
            check(&db.session(), moved);
            let beside = if round == 1 { Beside::Nothing } else { Beside::Checkpoints };
            moved += transfers(&db, beside, round * 1000);
            check(&db.session(), moved);
            // One is open while the process ends, as far as its files can tell.
            let open = db.session();
            open.execute("BEGIN; UPDATE account SET cents = 0; INSERT INTO moved VALUES (-1, 0)")?;
            db.session().execute("SELECT id FROM rate")?;
            let copy = directory.copy(&format!("copy-{round}"));
            check(&Database::open(&copy.0, config.clone())?.session(), moved);
            drop(open);
        }
        Ok(())
    });
}

#[test]
fn a_transaction_larger_than_a_log_file_is_there_again() {
    locking_engines(|config| {
        let config = config.log_file_bytes(1 << 16);
        let directory = crate::scratch::Directory::new("large");
        let name = "x".repeat(1000);
        {
            let db = Database::open(&directory.0, config.clone())?;
            let session = db.session();
            session.execute("CREATE TABLE big (id bigint PRIMARY KEY, name text); BEGIN")?;
            for id in 0..1000 {
                session.execute(&format!("INSERT INTO big VALUES ({id}, '{name}{id}')"))?;
            }
            session.execute("SAVEPOINT a; DELETE FROM big; ROLLBACK TO a")?;
            session.execute("UPDATE big SET name = 'short' WHERE id >= 500; COMMIT")?;
        }
        let db = Database::open(&directory.0, config)?;
        let session = db.session();
        assert_eq!(integers(&session, "SELECT count(*) FROM big WHERE name = 'short'"), [500]);
        let long = format!("SELECT id FROM big WHERE name = '{name}77'");
        assert_eq!(integers(&session, &long), [77]);
        assert_eq!(integers(&session, "SELECT count(*) FROM big"), [1000]);
        Ok(())
    });
}

#[test]
fn who_only_opens_holds_nobody_up() {
    locking_engines(|config| {
        let db = bank(config);
        let open = db.session();
        open.execute("BEGIN")?;
        let started = AtomicU64::new(0);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let session = db.session();
                session.execute("CREATE INDEX by_cents ON account (cents)").expect("it is free");
                session.execute("UPDATE account SET cents = 1").expect("it is free");
                started.store(1, Ordering::Relaxed);
            });
        });
        assert_eq!(started.into_inner(), 1);
        assert_eq!(integers(&open, "SELECT sum(cents)::bigint FROM account"), [ACCOUNTS]);
        Ok(())
    });
}

#[test]
fn who_waits_for_a_row_makes_way_for_who_reads_a_table() {
    every_locking_engine(|config| {
        let db = bank(config);
        let holder = db.session();
        holder.execute("BEGIN; UPDATE account SET cents = 0 WHERE id = 1")?;
        std::thread::scope(|scope| {
            let waiter = db.session();
            let both = "UPDATE account SET cents = cents + 1 WHERE id >= 0 AND id <= 1";
            let waited = scope.spawn(move || said(&waiter, both));
            std::thread::sleep(Duration::from_millis(30));
            // Nobody has read this table as a whole: that takes a quiet point, beside the holder.
            assert_eq!(integers(&db.session(), "SELECT count(*) FROM moved"), [0]);
            assert_eq!(said(&holder, "UPDATE account SET cents = 7 WHERE id = 1"), "UPDATE 1");
            assert_eq!(said(&holder, "COMMIT"), "COMMIT");
            assert_eq!(waited.join().expect("no panic"), "UPDATE 2");
        });
        let cents = integers(&db.session(), "SELECT cents FROM account WHERE id <= 1 ORDER BY id");
        assert_eq!(cents, [CENTS + 1, 8]);
        Ok(())
    });
}
