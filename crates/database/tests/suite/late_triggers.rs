//! Constraint triggers that fire before COMMIT, on every engine: in calls, which are planned with
//! them, in transactions, and in what comes from elsewhere.

use std::thread;

use hotrow::{Database, Error, Session, TransactionState};

use crate::asking::{code, number};
use crate::every_engine::{each_engine_with, two_threads};
use crate::scratch::Directory;

/// A ledger whose journals balance when they are whole, and accounts that say what is in them.
const LEDGER: &str = "
CREATE TABLE account (id integer PRIMARY KEY, balance bigint NOT NULL);
CREATE TABLE entry (journal integer NOT NULL, line integer NOT NULL, account integer NOT NULL,
    amount bigint NOT NULL, PRIMARY KEY (journal, line));
INSERT INTO account SELECT i, 0 FROM generate_series(0, 8) i;
CREATE FUNCTION balanced() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE total bigint;
BEGIN
  SELECT coalesce(sum(amount), 0) INTO total FROM entry WHERE journal = NEW.journal;
  IF total <> 0 THEN
    RAISE EXCEPTION 'journal % is off by %', NEW.journal, total USING ERRCODE = '23514';
  END IF;
  RETURN NULL;
END $$;
CREATE CONSTRAINT TRIGGER balanced AFTER INSERT ON entry DEFERRABLE INITIALLY DEFERRED
    FOR EACH ROW EXECUTE FUNCTION balanced();
CREATE PROCEDURE line(j integer, l integer, a integer, n bigint) LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO entry VALUES (j, l, a, n);
  UPDATE account SET balance = balance + n WHERE id = a;
END $$;
CREATE PROCEDURE pay(j integer, a integer, n bigint, fee bigint) LANGUAGE plpgsql AS $$
BEGIN
  CALL line(j, 1, a, -n);
  CALL line(j, 2, a % 8 + 1, n - fee);
  CALL line(j, 3, 0, fee);
END $$;
CREATE PROCEDURE pay_in_a_loop(j integer, a integer, n integer) LANGUAGE plpgsql AS $$
BEGIN
  FOR i IN 1..n LOOP
    BEGIN
      CALL line(j, i, a, 1);
      IF i % 3 = 0 THEN RAISE EXCEPTION 'taken back' USING ERRCODE = 'P0009'; END IF;
    EXCEPTION WHEN SQLSTATE 'P0009' THEN CALL line(j, 100 + i, a, 1);
    END;
  END LOOP;
  CALL line(j, 1000, 0, -n);
END $$;
CREATE FUNCTION paid(j integer, a integer, n bigint) RETURNS bigint LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO entry VALUES (j, 1, a, n), (j, 2, 0, -n);
  IF n > 1000 THEN RETURN n / 10; END IF;
  RETURN n;
END $$;
";

fn with_ledger(test: impl Fn(&Database, &str)) {
    each_engine_with(LEDGER, test);
}

/// No journal is off, whatever was refused.
fn assert_balanced(session: &Session, engine: &str) {
    let off = "SELECT count(*) FROM (SELECT journal FROM entry GROUP BY journal HAVING sum(amount) \
               <> 0) j";
    assert_eq!(number(session, off), 0, "{engine}");
}

#[test]
fn a_call_fires_at_its_end() {
    with_ledger(|db, engine| {
        let session = db.session();
        session.call("pay", (1_i32, 1_i32, 10_i64, 1_i64)).expect("it balances");
        let failed = session.call("line", (2_i32, 1_i32, 1_i32, 5_i64)).expect_err("it is off");
        assert_eq!(failed.as_sql().expect("of SQL").message, "journal 2 is off by 5", "{engine}");
        // With a name of its own, and by a handle, nobody is there who would commit later.
        let once = session.call_once("k", "pay", (3_i32, 2_i32, 10_i64, 1_i64));
        once.expect("it balances");
        assert_eq!(code(session.call_once("l", "line", (4_i32, 1_i32, 1_i32, 5_i64))), "23514");
        let pay = session.procedure("pay").expect("it is there");
        pay.call((5_i32, 3_i32, 10_i64, 1_i64)).expect("it balances");
        let rows = session.call("paid", (6_i32, 1_i32, 2000_i64)).expect("it balances");
        assert_eq!(rows.iter().next().expect("a row")[0].to_string(), "200", "{engine}");
        session.call("pay_in_a_loop", (7_i32, 4_i32, 7_i32)).expect("it balances");
        assert_eq!(number(&session, "SELECT count(*) FROM entry WHERE journal = 7"), 8);
        assert_eq!(number(&session, "SELECT count(DISTINCT journal) FROM entry"), 5, "{engine}");
        assert_balanced(&session, engine);
    });
}

#[test]
fn a_call_in_a_transaction_fires_at_its_commit() {
    with_ledger(|db, engine| {
        let session = db.session();
        session.execute("BEGIN; CALL line(1, 1, 1, 5)").expect("it is off for now");
        session.execute("CALL line(1, 2, 2, -5); COMMIT").expect("it balances");
        session.execute("BEGIN; CALL pay(2, 1, 10, 1); CALL line(2, 9, 1, 1)").expect("for now");
        assert_eq!(code(session.execute("COMMIT")), "23514", "{engine}");
        session.begin_batch();
        session.execute("INSERT INTO account VALUES (100, 0)").expect("it is new");
        // Elsewhere, and where it comes first, a call is a transaction of its own.
        let is_inside = session.transaction_state() == TransactionState::Open;
        let first = code(session.execute("CALL line(3, 1, 1, 5)"));
        assert_eq!(first, if is_inside { "done" } else { "23514" }, "{engine}");
        if is_inside {
            session.execute("CALL line(3, 2, 1, -5)").expect("it balances");
        }
        assert_eq!(code(session.end_batch(is_inside)), "done", "{engine}");
        assert_balanced(&session, engine);
    });
}

/// The fee account is in every journal: calls queue for it, and none fails.
#[test]
fn calls_that_fire_late_never_conflict() {
    with_ledger(|db, engine| {
        thread::scope(|scope| {
            for worker in 0..6_i32 {
                let session = db.session();
                scope.spawn(move || {
                    for turn in 0..40_i32 {
                        let (journal, fee) = (1 + worker * 1000 + turn, i64::from(turn % 2));
                        let account = 1 + (worker + turn) % 8;
                        let paid = session.call("pay", (journal, account, 10_i64, fee));
                        assert_eq!(code(paid), "done", "{engine}");
                        let off = session.call("line", (-journal, 1_i32, account, 1_i64));
                        assert_eq!(code(off), "23514", "{engine}");
                    }
                });
            }
        });
        let session = db.session();
        assert_eq!(number(&session, "SELECT count(*) FROM entry"), 3 * 240, "{engine}");
        assert_eq!(number(&session, "SELECT balance FROM account WHERE id = 0"), 120, "{engine}");
        assert_eq!(number(&session, "SELECT sum(balance) FROM account"), 0, "{engine}");
        assert_balanced(&session, engine);
    });
}

#[test]
fn what_fires_late_is_replayed() -> Result<(), Error> {
    for entry in hotrow::engines() {
        let directory = Directory::new(&format!("late-triggers-{}", entry.name));
        let db = Database::open(&directory.0, two_threads(entry))?;
        let session = db.session();
        session.execute(LEDGER)?;
        session.execute(
            "CREATE TABLE seen (at serial PRIMARY KEY, journal integer, line integer);
             CREATE FUNCTION sees() RETURNS trigger LANGUAGE plpgsql AS $$
             BEGIN INSERT INTO seen (journal, line) VALUES (NEW.journal, NEW.line); RETURN NULL;
             END $$;
             CREATE CONSTRAINT TRIGGER sees AFTER INSERT ON entry INITIALLY DEFERRED
             FOR EACH ROW EXECUTE FUNCTION sees()",
        )?;
        session.call("pay", (1_i32, 1_i32, 10_i64, 1_i64))?;
        session.execute("BEGIN; CALL pay(2, 1, 10, 1); COMMIT")?;
        session.execute("INSERT INTO entry VALUES (3, 1, 1, 5), (3, 2, 2, -5)")?;
        let seen = "SELECT count(*) * 1000 + sum(journal) FROM seen";
        assert_eq!(number(&session, seen), 8_015, "{}", entry.name);
        drop((session, db));
        let db = Database::open(&directory.0, two_threads(entry))?;
        let session = db.session();
        assert_eq!(number(&session, seen), 8_015, "{}", entry.name);
        assert_balanced(&session, entry.name);
        assert_eq!(code(session.execute("INSERT INTO entry VALUES (4, 1, 1, 5)")), "23514");
    }
    Ok(())
}
