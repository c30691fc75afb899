//! FOR UPDATE, NOWAIT and SKIP LOCKED: rows held as writers hold them before they are changed.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::every_engine::{every_engine, open};
use crate::transactions::{every_locking_engine, integers, locking_engines, said};
use hotrow::{Session, Value};

const JOBS: &str = "
CREATE TABLE job (id bigint PRIMARY KEY, kind text NOT NULL, rank int NOT NULL, done_by bigint,
  note text DEFAULT '');
CREATE INDEX job_kind ON job (kind);
CREATE TABLE log (id bigint PRIMARY KEY, job bigint REFERENCES job);
INSERT INTO job SELECT g, CASE WHEN g % 2 = 0 THEN 'even' ELSE 'odd' END, g % 5, NULL
FROM generate_series(1, 40) g;
";

/// The error of a statement, which leaves the session outside of transactions.
fn refused(session: &Session, statement: &str) -> (String, String) {
    let error = session.execute(statement).expect_err("it is refused");
    let error = error.as_sql().expect("it is SQL").clone();
    session.execute("ROLLBACK").expect("it may end");
    (error.code().to_owned(), error.message)
}

#[test]
fn rows_read_for_update_are_changed_without_deadlocks() {
    const ROUNDS: i64 = 40;
    every_locking_engine(|config| {
        let policy = config.settings.get("acquisition").cloned().unwrap_or_default();
        let db = open(config);
        db.session().execute(JOBS)?;
        let repeated: u64 = std::thread::scope(|scope| {
            let clients = [0; 3].map(|_| {
                let session = db.session();
                scope.spawn(move || {
                    let (mut done, mut repeated) = (0, 0);
                    while done < ROUNDS {
                        let read = "BEGIN; SELECT rank FROM job WHERE id = 7 FOR UPDATE";
                        let ended = match said(&session, read).as_str() {
                            "SELECT 1" => {
                                let write = "UPDATE job SET rank = rank + 1 WHERE id = 7; COMMIT";
                                said(&session, write)
                            }
                            other => other.to_owned(),
                        };
                        if ended == "COMMIT" {
                            done += 1;
                            continue;
                        }
                        assert!(["40001", "40P01"].contains(&ended.as_str()), "{ended}");
                        repeated += 1;
                        session.execute("ROLLBACK").expect("it may end");
                    }
                    repeated
                })
            });
            clients.into_iter().map(|client| client.join().expect("it ends")).sum()
        });
        if policy.is_empty() || policy == "ordered" {
            assert_eq!(repeated, 0, "nobody has to make way");
        }
        let rank = integers(&db.session(), "SELECT rank FROM job WHERE id = 7");
        assert_eq!(rank, [2 + 3 * ROUNDS]);
        Ok(())
    });
}

#[test]
fn who_does_not_wait_fails_at_once_and_who_skips_gets_others() {
    every_locking_engine(|config| {
        let db = open(config);
        let (one, two) = (db.session(), db.session());
        one.execute(JOBS)?;
        assert_eq!(integers(&one, "BEGIN; SELECT id FROM job WHERE id = 4 FOR UPDATE"), [4]);
        assert_eq!(integers(&one, "SELECT id FROM job WHERE id = 5 FOR SHARE"), [5]);

        for nowait in [
            "BEGIN; SELECT * FROM job WHERE id = 4 FOR UPDATE NOWAIT",
            "BEGIN; SELECT j.id FROM job j JOIN log l ON false WHERE j.id = 4 FOR UPDATE NOWAIT",
            "BEGIN; SELECT id FROM job WHERE id = 4 FOR NO KEY UPDATE NOWAIT",
        ] {
            let (code, message) = refused(&two, nowait);
            assert_eq!(code, "55P03", "{nowait}");
            assert_eq!(message, "could not obtain lock on row in relation \"job\"");
        }
        let free = "BEGIN; SELECT id FROM job WHERE id = 6 FOR UPDATE NOWAIT";
        assert_eq!(integers(&two, free), [6]);
        assert_eq!(integers(&two, "SELECT id FROM job WHERE id = 6 FOR UPDATE SKIP LOCKED"), [6]);

        let next = "SELECT id FROM job WHERE kind = 'even' AND done_by IS NULL AND id < 10
                    ORDER BY id FOR UPDATE SKIP LOCKED LIMIT 2";
        assert_eq!(integers(&two, next), [2, 6], "the other one has 4");
        // What somebody has changed and not committed is his, too.
        one.execute("UPDATE job SET rank = 99 WHERE id = 8; DELETE FROM job WHERE id = 10")?;
        let ranked = "SELECT id FROM job WHERE kind = 'even' AND id <= 12
                      ORDER BY rank DESC, id DESC FOR UPDATE SKIP LOCKED";
        assert_eq!(integers(&two, ranked), [12, 2, 6], "4 and 8 are held, 10 may be gone");
        let joined = "SELECT j.id FROM job j LEFT JOIN log l ON l.job = j.id WHERE j.id < 7
                      ORDER BY j.id FOR UPDATE OF j SKIP LOCKED";
        assert_eq!(integers(&two, joined), [1, 2, 3, 6]);
        assert_eq!(said(&two, "COMMIT"), "COMMIT");
        assert_eq!(said(&one, "ROLLBACK"), "ROLLBACK");
        assert_eq!(integers(&two, ranked), [4, 8, 12, 2, 6, 10], "nobody holds anything");
        Ok(())
    });
}

#[test]
fn those_that_are_free_are_found_behind_many_that_are_held() {
    locking_engines(|config| {
        let db = open(config);
        let (one, two) = (db.session(), db.session());
        one.execute(JOBS)?;
        one.execute("INSERT INTO job SELECT g, 'many', 0, NULL FROM generate_series(41, 1000) g")?;
        let held = integers(&one, "BEGIN; SELECT id FROM job WHERE id <= 700 FOR UPDATE");
        assert_eq!(held.len(), 700);
        let first = "BEGIN; SELECT id FROM job ORDER BY id LIMIT 3 FOR UPDATE SKIP LOCKED";
        assert_eq!(integers(&two, first), [701, 702, 703]);
        let further = "SELECT id FROM job WHERE kind = 'many' ORDER BY id LIMIT 2 OFFSET 2
                       FOR UPDATE SKIP LOCKED";
        assert_eq!(integers(&two, further), [703, 704]);
        let last = "SELECT id FROM job ORDER BY id DESC LIMIT 1 FOR UPDATE SKIP LOCKED";
        assert_eq!(integers(&two, last), [1000]);
        let any = "SELECT id FROM job LIMIT 400 FOR UPDATE SKIP LOCKED";
        let any = integers(&two, any);
        assert_eq!(any.len(), 300, "all that are free");
        assert!(any.iter().all(|id| *id > 700));
        let none = "SELECT id FROM job ORDER BY id LIMIT NULL FOR UPDATE SKIP LOCKED";
        assert_eq!(integers(&two, none).len(), 300);
        let plan = "EXPLAIN SELECT id FROM job ORDER BY id LIMIT 3 FOR UPDATE SKIP LOCKED";
        let mut plan = two.execute(plan)?;
        let plan = plan.pop().expect("one statement").rows.all::<(String,)>().expect("texts");
        let plan = plan.into_iter().map(|(line,)| line).collect::<Vec<_>>().join("\n");
        assert!(plan.contains("as many as are needed") && !plan.contains("sort"), "{plan}");
        Ok(())
    });
}

#[test]
fn a_queue_of_jobs_gives_each_to_one_worker() {
    let taking = [
        "UPDATE job SET done_by = $ WHERE id = (SELECT id FROM job WHERE done_by IS NULL
             AND length(note || 'x') < 900 ORDER BY rank DESC, id LIMIT 1
             FOR UPDATE SKIP LOCKED) RETURNING id",
        "WITH next AS (SELECT id FROM job WHERE done_by IS NULL
             ORDER BY id LIMIT 3 FOR UPDATE SKIP LOCKED)
         UPDATE job SET done_by = $ FROM next WHERE job.id = next.id RETURNING job.id",
    ];
    locking_engines(|config| {
        for take in taking {
            let db = open(config.clone());
            db.session().execute(JOBS)?;
            let (taken, is_done) = (Mutex::new(Vec::new()), AtomicBool::new(false));
            std::thread::scope(|scope| {
                // Changes the rows that are looked at, and their sizes.
                let (session, done) = (db.session(), &is_done);
                scope.spawn(move || {
                    for turn in 0.. {
                        let text = "ab".repeat(turn * 7 % 300);
                        let id = turn % 40 + 1;
                        let update = format!("UPDATE job SET note = '{text}' WHERE id = {id}");
                        assert_eq!(said(&session, &update), "UPDATE 1");
                        if done.load(Ordering::Relaxed) {
                            return;
                        }
                    }
                });
                for worker in 1..=4 {
                    let (session, taken, done) = (db.session(), &taken, &is_done);
                    let take = take.replace('$', &worker.to_string());
                    scope.spawn(move || {
                        loop {
                            assert_eq!(said(&session, "BEGIN"), "BEGIN");
                            let jobs = integers(&session, &take);
                            std::thread::sleep(Duration::from_millis(1)); // it is being done
                            assert_eq!(said(&session, "COMMIT"), "COMMIT");
                            // Others may hold the last ones.
                            let left = "SELECT count(*) FROM job WHERE done_by IS NULL";
                            if jobs.is_empty() && integers(&session, left) == [0] {
                                done.store(true, Ordering::Relaxed);
                                return;
                            }
                            taken.lock().expect("nobody panics").extend(jobs);
                        }
                    });
                }
            });
            let mut taken = taken.into_inner().expect("nobody panics");
            taken.sort_unstable();
            assert_eq!(taken, (1..=40).collect::<Vec<_>>(), "{take}");
            assert_eq!(db.session().execute(take.replace('$', "0").as_str())?[0].tag, "UPDATE 0");
        }
        Ok(())
    });
}

#[test]
fn what_cannot_be_locked_is_told() {
    let config = hotrow::Config::default().threads(1);
    let session = open(config).session();
    session.execute(JOBS).expect("the script is right");
    for (statement, code, told) in [
        ("SELECT DISTINCT kind FROM job FOR UPDATE SKIP LOCKED", "0A000", "DISTINCT"),
        ("SELECT count(*) FROM job FOR UPDATE SKIP LOCKED", "0A000", "aggregate"),
        ("SELECT id FROM job UNION SELECT id FROM log FOR UPDATE", "0A000", "UNION"),
        ("SELECT sum(rank) FROM job FOR UPDATE", "0A000", "aggregate"),
        ("SELECT DISTINCT kind FROM job FOR UPDATE", "0A000", "DISTINCT"),
        (
            "CREATE FUNCTION take() RETURNS bigint LANGUAGE plpgsql AS $$ DECLARE i bigint; BEGIN
             SELECT id INTO i FROM job LIMIT 1 FOR UPDATE NOWAIT; RETURN i; END $$",
            "0A000",
            "NOWAIT in a procedure",
        ),
        ("SELECT j.id FROM job j, log FOR UPDATE OF job", "42P01", "\"job\" in FOR UPDATE"),
        ("SELECT id FROM job FOR UPDATE OF public.job", "42601", "unqualified"),
    ] {
        let error = session.execute(statement).expect_err(statement);
        let error = error.as_sql().expect("it is SQL");
        assert_eq!(error.code(), code, "{statement}: {error}");
        assert!(error.message.contains(told), "{statement}: {error}");
    }
    session.execute("BEGIN READ ONLY").expect("it begins");
    let (code, _) = refused(&session, "SELECT id FROM job WHERE id = 1 FOR UPDATE");
    assert_eq!(code, "25006");
    session.execute("BEGIN READ ONLY").expect("it begins");
    assert_eq!(integers(&session, "SELECT id FROM job WHERE id = 1 FOR KEY SHARE"), [1]);
}

#[test]
fn without_transactions_nobody_else_holds_anything() {
    every_engine(|config| {
        let session = open(config).session();
        session.execute("CREATE TABLE t (id bigint PRIMARY KEY)")?;
        for id in 1..=3 {
            session.execute(&format!("INSERT INTO t VALUES ({id})"))?;
        }
        for how in ["", "NOWAIT", "SKIP LOCKED"] {
            let query = format!("SELECT id FROM t WHERE id < 4 ORDER BY id DESC FOR UPDATE {how}");
            assert_eq!(integers(&session, &query), [3, 2, 1], "{how}");
        }
        Ok(())
    });
}

#[test]
fn rows_of_lists_are_found_and_held_one_by_one() {
    locking_engines(|config| {
        let db = open(config);
        let (one, two) = (db.session(), db.session());
        one.execute(JOBS)?;
        one.execute("BEGIN; UPDATE job SET rank = 0 WHERE id IN (1, 2, 2, 999)")?;
        one.execute("SELECT * FROM job WHERE id IN (3, 4) FOR UPDATE")?;
        one.execute("DELETE FROM job WHERE id = ANY (ARRAY[5, 5])")?;
        two.execute("BEGIN; SET LOCAL lock_timeout = 100")?;
        let free = "UPDATE job SET rank = rank + 1 WHERE id IN (6, 7, 7, 1000) RETURNING rank";
        assert_eq!(integers(&two, free), [2, 3]);
        assert_eq!(integers(&two, "SELECT id FROM job WHERE id IN (8, 9) ORDER BY 1"), [8, 9]);
        for held in ["(6, 1)", "(4, 9)", "(5, 5)"] {
            let read = format!("SAVEPOINT a; SELECT id FROM job WHERE id IN {held}");
            assert_eq!(said(&two, &read), "55P03", "{held}");
            two.execute("ROLLBACK TO a")?;
        }
        let prepared = two.prepare("DELETE FROM job WHERE id = ANY ($1) RETURNING id", &[])?;
        let listed = two.prepare("SELECT id FROM job WHERE id IN ($1, 9, $2)", &[])?;
        let types: Vec<_> = listed.parameters().iter().map(ToString::to_string).collect();
        assert_eq!(types, ["bigint", "bigint"]);
        let array = [Value::Array(vec![Value::BigInt(14), Value::Null, Value::BigInt(12)])];
        assert_eq!(two.execute_prepared(&prepared, &array)?.tag, "DELETE 2");
        assert_eq!(
            (said(&one, "COMMIT"), said(&two, "COMMIT")),
            ("COMMIT".into(), "COMMIT".into())
        );
        assert_eq!(integers(&one, "SELECT count(*) FROM job"), [37]);
        Ok(())
    });
}

#[test]
fn changes_stand_behind_names_for_queries() {
    locking_engines(|config| {
        let session = open(config).session();
        session.execute(JOBS)?;
        let delete = "WITH old AS (SELECT id FROM job WHERE kind = 'odd')
                      DELETE FROM job USING old WHERE job.id = old.id AND job.id < 6";
        assert_eq!(said(&session, delete), "DELETE 3");
        let insert = "WITH more(n) AS (VALUES (101), (102)) INSERT INTO job
                      WITH kinds(k) AS (VALUES ('new')) SELECT n, k, 1, NULL FROM more, kinds";
        assert_eq!(said(&session, insert), "INSERT 0 2");
        let update =
            "WITH RECURSIVE r(n) AS (SELECT 101 UNION ALL SELECT n + 1 FROM r WHERE n < 109)
                      UPDATE job SET rank = r.n FROM r WHERE id = r.n RETURNING rank";
        assert_eq!(integers(&session, update), [101, 102]);
        Ok(())
    });
}
