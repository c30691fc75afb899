//! Constraints that are checked later: whoever calls, and whatever comes in between.

use std::thread;

use crate::asking::{self, number};
use crate::every_engine::{each_engine_with, two_threads};
use crate::scratch::Directory;
use hotrow::{Database, Error, Session};

const TABLES: &str = "
CREATE TABLE parent (id integer PRIMARY KEY);
CREATE TABLE child (id integer PRIMARY KEY,
    parent integer REFERENCES parent DEFERRABLE INITIALLY DEFERRED);
CREATE TABLE place (id integer PRIMARY KEY, pos integer NOT NULL UNIQUE DEFERRABLE);
CREATE PROCEDURE both(n integer) LANGUAGE plpgsql AS $$
BEGIN INSERT INTO child VALUES (n, n); INSERT INTO parent VALUES (n); END $$;
CREATE PROCEDURE alone(n integer) LANGUAGE plpgsql AS $$
BEGIN INSERT INTO child VALUES (n, n); END $$;
CREATE PROCEDURE swap(a integer, b integer) LANGUAGE plpgsql AS $$
DECLARE pa integer; pb integer;
BEGIN
  SELECT pos INTO pa FROM place WHERE id = a;
  SELECT pos INTO pb FROM place WHERE id = b;
  UPDATE place SET pos = pb WHERE id = a;
  UPDATE place SET pos = pa WHERE id = b;
END $$;
CREATE VIEW orphans AS SELECT c.id FROM child c LEFT JOIN parent p ON p.id = c.parent
    WHERE p.id IS NULL AND c.parent IS NOT NULL;
";

/// Calls `test` with a database of these tables on each engine, and the engine's name.
fn with_tables(test: impl Fn(&Database, &str)) {
    each_engine_with(TABLES, test);
}

/// The SQLSTATE of what was done. What is said among ourselves of what is violated is nobody
/// else's.
fn code(done: Result<impl Sized, Error>) -> String {
    if let Err(error) = &done {
        assert_eq!(error.as_sql().expect("an error of SQL").hint, None, "{error}");
    }
    asking::code(done)
}

fn count(session: &Session, of: &str) -> i64 {
    number(session, &format!("SELECT count(*) FROM {of}"))
}

#[test]
fn calls_find_what_comes_later_in_them() {
    with_tables(|db, engine| {
        let session = db.session();
        let call = |name, n: i32| code(session.call(name, (n,)));
        assert_eq!(call("both", 1), "done", "{engine}");
        assert_eq!(call("alone", 2), "23503", "{engine}");
        assert_eq!(code(session.try_call("both", (3_i32,))), "done", "{engine}");
        assert_eq!(code(session.try_call("alone", (4_i32,))), "23503", "{engine}");
        assert_eq!(code(session.submit("both", (5_i32,)).wait()), "done", "{engine}");
        assert_eq!(count(&session, "child"), 3, "{engine}");
        // Those who have no session that would look again are told at once.
        assert_eq!(code(session.call_once("one", "both", (6_i32,))), "23503", "{engine}");
        assert_eq!(code(session.call_once("one", "both", (6_i32,))), "23503", "{engine}");
        let handle = session.procedure("both").expect("it is there");
        assert_eq!(code(handle.call((7_i32,))), "23503", "{engine}");
        assert_eq!(count(&session, "child"), 3, "{engine}");
        session.execute("INSERT INTO place VALUES (1, 10), (2, 20)").expect("they are apart");
        assert_eq!(code(session.call("swap", (1_i32, 2_i32))), "done", "{engine}");
        let first = "place WHERE id = 1 AND pos = 20";
        assert_eq!(count(&session, first), 1, "{engine}");
    });
}

#[test]
fn copied_rows_may_come_before_their_parents() {
    with_tables(|db, engine| {
        let session = db.session();
        let copy = |table: &str, rows: &str| {
            session.copy_in(&format!("COPY {table} FROM STDIN"), rows.as_bytes())
        };
        assert_eq!(code(copy("child", "1\t1\n2\t\\N\n")), "23503", "{engine}");
        assert_eq!(count(&session, "child"), 0, "{engine}");
        session.execute("BEGIN").expect("none is open");
        copy("child", "1\t1\n2\t2\n3\t\\N\n").expect("it is checked later");
        copy("parent", "1\n2\n").expect("they are new");
        session.execute("COMMIT").expect("all is there");
        assert_eq!((count(&session, "child"), count(&session, "orphans")), (3, 0), "{engine}");
        session.execute("BEGIN").expect("none is open");
        copy("child", "4\t4\n").expect("it is checked later");
        assert_eq!(code(session.execute("COMMIT")), "23503", "{engine}");
        assert_eq!(code(copy("place", "1\t1\n2\t2\n3\t1\n")), "23505", "{engine}");
        assert_eq!(count(&session, "place"), 0, "{engine}");
    });
}

#[test]
fn a_batch_is_checked_at_its_end() {
    with_tables(|db, engine| {
        let session = db.session();
        session.begin_batch();
        session.execute("INSERT INTO child VALUES (1, 1)").expect("it is checked later");
        session.execute("INSERT INTO parent VALUES (1)").expect("it is new");
        assert_eq!(code(session.end_batch(true)), "done", "{engine}");
        session.begin_batch();
        session.call("alone", (2_i32,)).expect("it is checked later");
        assert_eq!(code(session.end_batch(true)), "23503", "{engine}");
        assert_eq!((count(&session, "child"), count(&session, "orphans")), (1, 0), "{engine}");
    });
}

/// Parents go while others add children that count on them: whoever comes second is told, and
/// nobody is left without a parent.
#[test]
fn nobody_loses_a_parent_to_another_session() {
    with_tables(|db, engine| {
        thread::scope(|scope| {
            for worker in 0..4_i32 {
                let session = db.session();
                scope.spawn(move || {
                    for turn in 0..40_i32 {
                        let (n, parent) = (worker * 1000 + turn, turn % 4);
                        let script = match worker % 2 {
                            0 => format!(
                                "BEGIN; INSERT INTO child VALUES ({n}, {parent});
                                 INSERT INTO parent VALUES ({parent}) ON CONFLICT DO NOTHING;
                                 COMMIT"
                            ),
                            _ => format!(
                                "BEGIN; DELETE FROM parent WHERE id = {parent};
                                 DELETE FROM child WHERE parent = {parent} AND id % 3 > 0; COMMIT"
                            ),
                        };
                        let done = code(session.execute(&script).map_err(without_hint));
                        let is_known = ["done", "23503", "40001", "40P01"].contains(&&*done);
                        assert!(is_known, "{engine}: {done}");
                        if done != "done" {
                            let _ = session.execute("ROLLBACK");
                        }
                    }
                });
            }
        });
        assert_eq!(count(&db.session(), "orphans"), 0, "{engine}");
    });
}

/// 40001 has advice of its own.
fn without_hint(error: Error) -> Error {
    match error {
        Error::Sql(mut error) if error.sqlstate.starts_with(b"40") => {
            error.hint = None;
            Error::Sql(error)
        }
        error => error,
    }
}

#[test]
fn what_was_checked_later_is_there_after_a_restart() -> Result<(), Error> {
    for entry in hotrow::engines() {
        let directory = Directory::new(&format!("deferred-{}", entry.name));
        let db = Database::open(&directory.0, two_threads(entry))?;
        let session = db.session();
        session.execute(TABLES)?;
        session.call("both", (1_i32,))?;
        session.execute(
            "BEGIN; INSERT INTO child VALUES (2, 2); INSERT INTO parent VALUES (2);
            COMMIT; INSERT INTO place VALUES (1, 1), (2, 2); UPDATE place SET pos = 3 - pos",
        )?;
        drop((session, db));
        let db = Database::open(&directory.0, two_threads(entry))?;
        let session = db.session();
        assert_eq!(count(&session, "child JOIN parent ON parent.id = child.parent"), 2);
        assert_eq!(count(&session, "place WHERE pos = 3 - id"), 2, "{}", entry.name);
        // And so is what is checked.
        assert_eq!(code(session.execute("INSERT INTO place VALUES (3, 1)")), "23505");
        session.execute("BEGIN; INSERT INTO child VALUES (3, 3)")?;
        assert_eq!(code(session.execute("COMMIT")), "23503", "{}", entry.name);
        session.call("both", (3_i32,))?;
    }
    Ok(())
}
