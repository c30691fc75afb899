//! Hermitage: the anomalies by which isolation levels are told apart, all prevented, on every
//! engine: where statements hold what they touch, by waiting; elsewhere by 40001.

use hotrow::Database;
use hotrow_tests::matrix::{self, Setup};
use hotrow_tests::schedule::{judge, parse, run};

const TABLE: &str = "
CREATE TABLE test (id bigint PRIMARY KEY, value bigint NOT NULL);
INSERT INTO test VALUES (1, 10), (2, 20);
";
/// As the table, with a procedure that writes it and one that visits all of it: planned calls
/// then share it, and its locks are announced.
const WITH_PROCEDURES: &str = "
CREATE PROCEDURE set_value(which bigint, new bigint) AS $$
BEGIN UPDATE test SET value = new WHERE id = which; END $$ LANGUAGE plpgsql;
CREATE FUNCTION total() RETURNS bigint AS $$
DECLARE r bigint;
BEGIN SELECT sum(value) INTO r FROM test; RETURN r; END $$ LANGUAGE plpgsql;
";
const LOOK: &str = "SELECT id, value FROM test ORDER BY id";

/// `!`: conflicts with what an open transaction has done, and must wait or be refused; where
/// statements hold nothing it does neither, and one of the transactions fails when it commits.
const SCHEDULES: &[(&str, &str)] = &[
    (
        "G0, write cycles",
        "1 UPDATE test SET value = 11 WHERE id = 1
         2! UPDATE test SET value = 12 WHERE id = 1
         1 UPDATE test SET value = 21 WHERE id = 2
         1 COMMIT
         2 UPDATE test SET value = 22 WHERE id = 2
         2 COMMIT",
    ),
    (
        "G1a, aborted reads",
        "1 UPDATE test SET value = 101 WHERE id = 1
         2! SELECT id, value FROM test ORDER BY id
         1 ROLLBACK
         2 SELECT id, value FROM test ORDER BY id
         2 COMMIT",
    ),
    (
        "G1b, intermediate reads",
        "1 UPDATE test SET value = 101 WHERE id = 1
         2! SELECT id, value FROM test ORDER BY id
         1 UPDATE test SET value = 11 WHERE id = 1
         1 COMMIT
         2 SELECT id, value FROM test ORDER BY id
         2 COMMIT",
    ),
    (
        "G1c, circular information flow",
        "1 UPDATE test SET value = 11 WHERE id = 1
         2 UPDATE test SET value = 22 WHERE id = 2
         1! SELECT value FROM test WHERE id = 2
         2! SELECT value FROM test WHERE id = 1
         1 COMMIT
         2 COMMIT",
    ),
    (
        "OTV, observed transaction vanishes",
        "1 UPDATE test SET value = 11 WHERE id = 1
         1 UPDATE test SET value = 19 WHERE id = 2
         2! UPDATE test SET value = 12 WHERE id = 1
         1 COMMIT
         3 SELECT value FROM test WHERE id = 1
         2 UPDATE test SET value = 18 WHERE id = 2
         3 SELECT value FROM test WHERE id = 2
         2 COMMIT
         3 SELECT value FROM test WHERE id = 2
         3 SELECT value FROM test WHERE id = 1
         3 COMMIT",
    ),
    (
        "PMP, predicate-many-preceders",
        "1 SELECT id, value FROM test WHERE value = 30
         2! INSERT INTO test VALUES (3, 30)
         2 COMMIT
         1 SELECT id, value FROM test WHERE value % 3 = 0
         1 COMMIT",
    ),
    (
        "PMP for write predicates",
        "1 UPDATE test SET value = value + 10
         2! DELETE FROM test WHERE value = 20
         1 COMMIT
         2 SELECT id, value FROM test WHERE value = 20
         2 COMMIT",
    ),
    (
        "P4, lost update",
        "1 SELECT value FROM test WHERE id = 1
         2 SELECT value FROM test WHERE id = 1
         1! UPDATE test SET value = 11 WHERE id = 1
         2! UPDATE test SET value = 11 WHERE id = 1
         1 COMMIT
         2 COMMIT",
    ),
    (
        "G-single, read skew",
        "1 SELECT value FROM test WHERE id = 1
         2 SELECT value FROM test WHERE id = 1
         2 SELECT value FROM test WHERE id = 2
         2! UPDATE test SET value = 12 WHERE id = 1
         2 UPDATE test SET value = 18 WHERE id = 2
         2 COMMIT
         1 SELECT value FROM test WHERE id = 2
         1 COMMIT",
    ),
    (
        "G-single with predicates",
        "1 SELECT id, value FROM test WHERE value % 5 = 0 ORDER BY id
         2! UPDATE test SET value = 12 WHERE value = 10
         2 COMMIT
         1 SELECT id, value FROM test WHERE value % 3 = 0
         1 COMMIT",
    ),
    (
        "G-single with a write predicate",
        "1 SELECT value FROM test WHERE id = 1
         2 SELECT id, value FROM test ORDER BY id
         2! UPDATE test SET value = 12 WHERE id = 1
         2 UPDATE test SET value = 18 WHERE id = 2
         2 COMMIT
         1 DELETE FROM test WHERE value = 20
         1 COMMIT",
    ),
    (
        "G2-item, write skew",
        "1 SELECT value FROM test WHERE id = 1
         1 SELECT value FROM test WHERE id = 2
         2 SELECT value FROM test WHERE id = 1
         2 SELECT value FROM test WHERE id = 2
         1! UPDATE test SET value = 11 WHERE id = 1
         2! UPDATE test SET value = 21 WHERE id = 2
         1 COMMIT
         2 COMMIT",
    ),
    (
        "G2, anti-dependency cycles",
        "1 SELECT id, value FROM test WHERE value % 3 = 0
         2 SELECT id, value FROM test WHERE value % 3 = 0
         1! INSERT INTO test VALUES (3, 30)
         2! INSERT INTO test VALUES (4, 42)
         1 COMMIT
         2 COMMIT",
    ),
    (
        "G2 with two anti-dependency edges",
        "1 SELECT id, value FROM test ORDER BY id
         2! UPDATE test SET value = value + 5 WHERE id = 2
         2 COMMIT
         3 SELECT id, value FROM test ORDER BY id
         3 COMMIT
         1 UPDATE test SET value = 0 WHERE id = 1
         1 COMMIT",
    ),
    (
        "a range that is empty stays so",
        "1 SELECT id FROM test WHERE id > 2 ORDER BY id
         2! INSERT INTO test VALUES (3, 30)
         2 COMMIT
         1 SELECT id FROM test WHERE id > 2 ORDER BY id
         1 COMMIT",
    ),
    (
        "a key that is absent stays so",
        "1 SELECT id FROM test WHERE id = 5
         2 SELECT id FROM test WHERE id = 5
         1! INSERT INTO test VALUES (5, 1)
         2! INSERT INTO test VALUES (5, 2)
         1 COMMIT
         2 COMMIT",
    ),
    (
        "a row that is deleted and made again",
        "1 DELETE FROM test WHERE id = 1
         2! SELECT value FROM test WHERE id = 1
         1 INSERT INTO test VALUES (1, 99)
         1 COMMIT
         2 COMMIT",
    ),
    (
        "a row that was deleted and is not after all",
        "1 DELETE FROM test WHERE id = 1
         2! INSERT INTO test VALUES (1, 77)
         1 COMMIT
         2 COMMIT",
    ),
];

/// What a statement may fail with where it does not wait: it has met what was there before the
/// other transaction, whose client knows of no end of it yet.
const NOT_WAITED: &[&str] = &["23505"];

fn prepared(setup: &Setup, script: &str) -> Database {
    let db = setup.open();
    let session = db.session();
    session.execute(TABLE).expect("the table is made");
    session.execute(script).expect("the script is right");
    db
}

#[test]
fn every_anomaly_is_prevented() {
    let setups = matrix::setups(&[2]);
    for (number, setup) in setups.iter().enumerate() {
        let scripts: &[&str] =
            if number == 0 { &["", WITH_PROCEDURES] } else { &[WITH_PROCEDURES] };
        for script in scripts {
            for (name, schedule) in SCHEDULES {
                let locks = setup.entry.locks_as_it_goes;
                let mut steps = parse(schedule);
                steps.iter_mut().for_each(|step| step.conflicts &= locks);
                let db = prepared(setup, script);
                let ran = run(&db, &steps);
                let fresh = || prepared(&matrix::reference(), "");
                let codes = if locks { &[] } else { NOT_WAITED };
                let wrong = judge(&steps, (&ran, codes), &db, fresh, LOOK);
                assert_eq!(wrong, None, "{} {name}", setup.name);
            }
        }
    }
}

/// So that a judge that lets everything pass is found out.
#[test]
fn the_judge_finds_what_is_not_serializable() {
    let fresh = || prepared(&matrix::reference(), "");
    let steps = parse(
        "1 SELECT value FROM test WHERE id = 1
         2 UPDATE test SET value = 11 WHERE id = 1
         2 COMMIT
         1 SELECT value FROM test WHERE id = 1
         1 COMMIT",
    );
    let seen = |value: i64| Ok(vec![vec![hotrow::Value::BigInt(value)]]);
    let mut ran = hotrow_tests::schedule::Ran {
        answers: vec![seen(10), Ok(Vec::new()), Ok(Vec::new()), seen(11), Ok(Vec::new())],
        waited: vec![false; 5],
        committed: vec![1, 2],
    };
    let left = fresh();
    left.session().execute("UPDATE test SET value = 11 WHERE id = 1").expect("it runs");
    assert!(
        judge(&steps, (&ran, &[]), &left, fresh, LOOK).is_some(),
        "a read that is not repeated"
    );
    ran.answers[3] = seen(10);
    assert_eq!(judge(&steps, (&ran, &[]), &left, fresh, LOOK), None, "first 1, then 2");
    assert!(judge(&steps, (&ran, &[]), &fresh(), fresh, LOOK).is_some(), "an update that is lost");
}
