//! Reports: statements that read whole tables neither hold writers up nor wait for them, and see
//! one moment.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use crate::every_engine::{every_engine, open};
use crate::scratch::Directory;
use hotrow::{Config, Database, Error, Session, Value};

const ACCOUNTS: i64 = 200;
const CENTS: i64 = 1000;
const BANK: &str = "
    CREATE TABLE checking (id bigint PRIMARY KEY, cents bigint NOT NULL);
    CREATE TABLE savings (id bigint PRIMARY KEY, cents bigint NOT NULL, note text);
    CREATE FUNCTION save(which bigint, amount bigint) RETURNS bigint LANGUAGE plpgsql AS $$
    DECLARE rest bigint;
    BEGIN
        UPDATE checking SET cents = cents - amount WHERE id = which RETURNING cents INTO rest;
        UPDATE savings SET cents = cents + amount, note = 'moved ' || amount WHERE id = which;
        RETURN rest;
    END $$;
    CREATE FUNCTION renew(which bigint) RETURNS bigint LANGUAGE plpgsql AS $$
    DECLARE v bigint;
    BEGIN
        SELECT cents INTO v FROM savings WHERE id = which;
        DELETE FROM savings WHERE id = which;
        INSERT INTO savings VALUES (which, v, 'renewed');
        RETURN v;
    END $$;";
const TOTAL: &str = "SELECT (SELECT sum(cents) FROM checking) + (SELECT sum(cents) FROM savings),
                            (SELECT count(*) FROM checking) + (SELECT count(*) FROM savings)";

fn bank(config: Config) -> Database {
    let db = open(config);
    let session = db.session();
    session.execute(BANK).unwrap();
    for id in 0..ACCOUNTS {
        let insert = format!(
            "INSERT INTO checking VALUES ({id}, {CENTS});
             INSERT INTO savings VALUES ({id}, 0, NULL)"
        );
        session.execute(&insert).unwrap();
    }
    db
}

fn at_once() -> Config {
    Config::default().report_attempt(Duration::ZERO).memory_bytes(256 << 20)
}

fn one(session: &Session, query: &str) -> Value {
    let results = session.execute(query).unwrap_or_else(|error| panic!("{query}: {error}"));
    results[0].rows.iter().next().expect("a row")[0].clone()
}

fn totals(session: &Session) -> (String, i64) {
    let row = session.execute(TOTAL).unwrap()[0].rows.iter().next().unwrap().to_vec();
    let Value::BigInt(rows) = row[1] else { panic!("{row:?}") };
    (row[0].to_string(), rows)
}

#[test]
fn a_report_sees_one_moment_on_every_engine() {
    every_engine(|config| {
        let db = bank(config.report_attempt(Duration::ZERO));
        let ended = AtomicBool::new(false);
        let calls = AtomicU64::new(0);
        std::thread::scope(|scope| {
            for client in 0..2_i64 {
                let (db, ended, calls) = (&db, &ended, &calls);
                scope.spawn(move || {
                    let session = db.session();
                    let mut n = client;
                    while !ended.load(Ordering::Relaxed) {
                        n += 7;
                        session.call("save", (n % ACCOUNTS, n % 13 - 6)).unwrap();
                        session.call("renew", (n % ACCOUNTS,)).unwrap();
                        calls.fetch_add(2, Ordering::Relaxed);
                    }
                });
            }
            let reporter = db.session();
            let mut least = 0;
            for _ in 0..20 {
                // A few calls in between: reports of one moment after another.
                least += 5;
                while calls.load(Ordering::Relaxed) < least {
                    std::thread::yield_now();
                }
                let expected = ((ACCOUNTS * CENTS).to_string(), 2 * ACCOUNTS);
                assert_eq!(totals(&reporter), expected);
            }
            ended.store(true, Ordering::Relaxed);
        });
        assert_eq!(db.status().sessions.snapshots, 20);
        assert_eq!(db.status().snapshot_bytes, 0, "they are gone");
        Ok(())
    });
}

/// What was committed before a report begins is in it, whoever committed it.
#[test]
fn a_report_sees_what_was_committed_before() {
    every_engine(|config| {
        let db = bank(config.report_attempt(Duration::ZERO));
        let (writer, reporter) = (db.session(), db.session());
        for n in 1..=20_i64 {
            writer.call("save", (n, n))?;
            let saved = one(&reporter, "SELECT sum(cents) FROM savings");
            assert_eq!(saved.to_string(), (n * (n + 1) / 2).to_string());
        }
        Ok(())
    });
}

#[test]
fn uncommitted_changes_are_neither_seen_nor_waited_for() {
    let db = bank(at_once());
    let (writer, reporter) = (db.session(), db.session());
    let rows = || {
        let query = "SELECT id, cents, note FROM savings WHERE id < 8 OR id > 199 ORDER BY id";
        let results = reporter.execute(query).unwrap();
        let row = |row: &[Value]| row.iter().map(Value::to_string).collect::<Vec<_>>().join(" ");
        results[0].rows.iter().map(row).collect::<Vec<_>>()
    };
    writer.execute("UPDATE savings SET note = 'a' WHERE id = 7").unwrap();
    let before = rows();
    assert_eq!(before.len(), 8);
    let long = "x".repeat(3000);
    let changes = format!(
        "BEGIN;
         UPDATE savings SET cents = 5 WHERE id = 0;
         UPDATE savings SET cents = 6 WHERE id = 0;
         UPDATE savings SET note = '{long}' WHERE id = 1;
         UPDATE savings SET note = note || '{long}', cents = -1 WHERE id = 1;
         DELETE FROM savings WHERE id = 2;
         DELETE FROM savings WHERE id = 3;
         INSERT INTO savings VALUES (3, 33, 'again');
         UPDATE savings SET cents = 34 WHERE id = 3;
         DELETE FROM savings WHERE id = 4;
         INSERT INTO savings VALUES (4, 44, '{long}');
         DELETE FROM savings WHERE id = 4;
         INSERT INTO savings VALUES (1000, 1, 'new');
         UPDATE savings SET cents = 2 WHERE id = 1000;
         INSERT INTO savings VALUES (1001, 1, 'new');
         DELETE FROM savings WHERE id = 1001;
         UPDATE savings SET note = 'b' WHERE id = 7;
         UPDATE savings SET note = NULL WHERE id = 7;
         SAVEPOINT s;
         UPDATE savings SET cents = 77 WHERE id = 6;
         ROLLBACK TO s;"
    );
    for end in ["ROLLBACK", "COMMIT"] {
        writer.execute(&changes).unwrap();
        for _ in 0..3 {
            assert_eq!(rows(), before, "before {end}");
        }
        // It goes on as if nobody had looked.
        writer.execute("UPDATE savings SET cents = 9 WHERE id = 5").unwrap();
        assert_eq!(rows(), before, "before {end}");
        writer.execute(end).unwrap();
        if end == "ROLLBACK" {
            assert_eq!(rows(), before, "behind {end}");
        }
    }
    let behind = rows();
    let mut copied = Vec::new();
    assert_eq!(reporter.copy_out("COPY savings TO STDOUT", &mut copied).unwrap(), 199);
    let found: Vec<_> = behind.iter().map(|row| &row[..row.len().min(10)]).collect();
    let expected =
        ["0 6 NULL", "1 -1 xxxxx", "3 34 again", "5 9 NULL", "6 0 NULL", "7 0 NULL", "1000 2 new"];
    assert_eq!(found, expected);
    assert_eq!(db.status().sessions.snapshots, 12);
}

#[test]
fn nobody_waits_for_a_report_nor_a_report_for_anybody() {
    let db = bank(at_once());
    let slow = db.session();
    let canceller = slow.canceller();
    std::thread::scope(|scope| {
        // It sleeps with its snapshot in hand until it is cancelled.
        let report = scope.spawn(move || {
            slow.execute("SELECT sum(cents), pg_sleep(600) FROM savings GROUP BY 2").unwrap_err()
        });
        let began = Instant::now();
        while db.status().snapshot_bytes == 0 {
            assert!(began.elapsed() < Duration::from_secs(60), "it has its snapshot");
            std::thread::sleep(Duration::from_millis(1));
        }
        let writer = db.session();
        writer.execute("BEGIN; UPDATE savings SET cents = cents + 1").unwrap();
        // Another one, beside a transaction that has changed all of the table.
        let total = one(&db.session(), "SELECT sum(cents) FROM savings");
        assert_eq!(total.to_string(), "0");
        writer.execute("COMMIT").unwrap();
        db.session().call("save", (1_i64, 10_i64)).unwrap();
        db.session().execute("CREATE INDEX by_cents ON savings (cents)").unwrap();
        assert!(!report.is_finished());
        assert!(canceller.cancel());
        assert_eq!(report.join().unwrap().sqlstate(), Some("57014"));
    });
    let total = one(&db.session(), "SELECT sum(cents) FROM savings");
    assert_eq!(total.to_string(), (ACCOUNTS + 10).to_string());
    assert_eq!(db.status().snapshot_bytes, 0);
    let told = one(&db.session(), "SELECT snapshots FROM hotrow.engine_status");
    assert_eq!(told.to_string(), "2");
}

#[test]
fn a_short_report_takes_no_snapshot_and_a_long_one_does() {
    let patient = Config::default().report_attempt(Duration::from_secs(600));
    let db = bank(patient.memory_bytes(256 << 20));
    let session = db.session();
    assert_eq!(totals(&session).1, 2 * ACCOUNTS);
    session.execute("BEGIN; SELECT 1 FROM savings; COMMIT").unwrap();
    assert_eq!(totals(&session).1, 2 * ACCOUNTS);
    assert_eq!(db.status().sessions.snapshots, 0);
    let query = "SELECT count(pg_sleep(0.05)) FROM savings WHERE id = 1 OR id + 0 = 2";
    every_engine(|config| {
        let db = bank(config);
        assert_eq!(one(&db.session(), query).to_string(), "2");
        assert_eq!(db.status().sessions.snapshots, 1);
        Ok(())
    });
    let db = bank(Config::default().memory_bytes(256 << 20));
    let session = db.session();
    session.execute("BEGIN; SELECT 1 FROM savings; COMMIT").unwrap();
    assert_eq!(one(&session, query).to_string(), "2");
    assert_eq!(db.status().sessions.snapshots, 1);
    // What changes something, and what a transaction reads, is as it was.
    session.execute("BEGIN").unwrap();
    one(&session, query);
    session.execute("COMMIT").unwrap();
    session.execute("UPDATE savings SET cents = 1 WHERE id + 0 < 100").unwrap();
    assert_eq!(db.status().sessions.snapshots, 1);
}

/// What a session keeps is done once, so such a statement is not begun anew.
#[test]
fn a_statement_that_acts_is_no_report() {
    for span in [Duration::ZERO, Duration::from_millis(1)] {
        let db = bank(Config::default().report_attempt(span).memory_bytes(256 << 20));
        let session = db.session();
        session.execute("BEGIN; SELECT 1 FROM savings; COMMIT").unwrap();
        let query = "SELECT pg_advisory_lock(7), pg_sleep(0.05) FROM savings WHERE id + 0 = 1";
        session.execute(query).unwrap();
        assert_eq!(one(&session, "SELECT pg_advisory_unlock(7)"), Value::Bool(true));
        assert_eq!(one(&session, "SELECT pg_advisory_unlock(7)"), Value::Bool(false));
        assert_eq!(db.status().sessions.snapshots, 0);
    }
}

#[test]
fn without_room_a_report_waits_for_its_locks() {
    let db = bank(at_once().snapshot_bytes_max(1000));
    let (writer, reporter) = (db.session(), db.session());
    writer.execute("BEGIN; UPDATE savings SET cents = 1 WHERE id = 1").unwrap();
    reporter.execute("SET lock_timeout = '50ms'").unwrap();
    let error = reporter.execute("SELECT sum(cents) FROM savings").unwrap_err();
    assert_eq!(error.sqlstate(), Some("55P03"), "{error}");
    writer.execute("COMMIT").unwrap();
    assert_eq!(one(&reporter, "SELECT sum(cents) FROM savings").to_string(), "1");
    assert_eq!(db.status().sessions.snapshots, 0);
}

#[test]
fn errors_and_limits_are_those_of_any_statement() {
    let db = bank(at_once().result_bytes_max(64 << 10));
    let session = db.session();
    for (query, code) in [
        ("SELECT 1 / (id - 50) FROM savings WHERE cents = 0", "22012"),
        ("SELECT a.id FROM savings a, savings b", "53200"),
    ] {
        let error = session.execute(query).unwrap_err();
        assert_eq!(error.sqlstate(), Some(code), "{query}: {error}");
    }
    session.execute("SET statement_timeout = '20ms'").unwrap();
    let error = session.execute("SELECT pg_sleep(600) FROM savings").unwrap_err();
    assert_eq!(error.sqlstate(), Some("57014"));
    assert_eq!(db.status().snapshot_bytes, 0);
}

/// Definitions, checkpoints, reports and changes, all at once: everybody gets through, and what is
/// found when the database is opened again is what was there.
#[test]
fn reports_checkpoints_and_definitions_side_by_side() -> Result<(), Error> {
    let directory = Directory::new("reports");
    let config = || at_once().threads(2);
    let db = Database::open(&directory.0, config())?;
    let session = db.session();
    session.execute(BANK)?;
    for id in 0..ACCOUNTS {
        let insert = format!(
            "INSERT INTO checking VALUES ({id}, {CENTS});
             INSERT INTO savings VALUES ({id}, 0, NULL)"
        );
        session.execute(&insert)?;
    }
    let ended = AtomicBool::new(false);
    let expected = ((ACCOUNTS * CENTS).to_string(), 2 * ACCOUNTS);
    let go_on = || !ended.load(Ordering::Relaxed);
    std::thread::scope(|scope| {
        let writers: Vec<_> = (0..2_i64)
            .map(|client| {
                let (db, go_on) = (&db, &go_on);
                scope.spawn(move || {
                    let session = db.session();
                    let mut n = client;
                    while go_on() {
                        n += 7;
                        session.call("save", (n % ACCOUNTS, n % 13 - 6)).unwrap();
                        session.call("renew", (n % ACCOUNTS,)).unwrap();
                    }
                })
            })
            .collect();
        scope.spawn(|| {
            let session = db.session();
            while go_on() {
                // In a transaction, so that some change is always under way.
                let move_back = "BEGIN; UPDATE savings SET cents = cents - 1 WHERE id = 3;
                    UPDATE checking SET cents = cents + 1 WHERE id = 3; COMMIT";
                if let Err(error) = session.execute(move_back) {
                    assert!(matches!(error.sqlstate(), Some("40001" | "40P01")), "{error}");
                    session.execute("ROLLBACK").unwrap();
                }
            }
        });
        scope.spawn(|| {
            while go_on() {
                db.checkpoint().unwrap();
            }
        });
        scope.spawn(|| {
            let session = db.session();
            while go_on() {
                let define = "ALTER TABLE savings ADD COLUMN more int;
                    ALTER TABLE savings DROP COLUMN more";
                session.execute(define).unwrap();
                std::thread::sleep(Duration::from_millis(5));
            }
        });
        let reporter = db.session();
        for _ in 0..60 {
            assert_eq!(totals(&reporter), expected);
        }
        ended.store(true, Ordering::Relaxed);
        writers.into_iter().for_each(|writer| writer.join().unwrap());
    });
    assert_eq!(totals(&session), expected);
    assert!(db.status().sessions.snapshots >= 50, "{}", db.status().sessions.snapshots);
    drop(session);
    db.shutdown();
    drop(db);
    let again = Database::open(&directory.0, config())?;
    assert_eq!(totals(&again.session()), expected);
    Ok(())
}
