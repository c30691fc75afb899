//! Who waits for a row of a transaction that waits for a table: undone if that closes a circle, and
//! else left alone.

use std::thread::{self, ScopedJoinHandle};
use std::time::Duration;

use hotrow::{Database, Session};

use super::{locking_engines, said};
use crate::every_engine::open;

const TABLES: &str = "
CREATE TABLE a (id bigint PRIMARY KEY, n bigint NOT NULL);
CREATE TABLE b (id bigint PRIMARY KEY, n bigint NOT NULL);
INSERT INTO a SELECT g * 10, 0 FROM generate_series(1, 9) AS g;
INSERT INTO b SELECT g * 10, 0 FROM generate_series(1, 9) AS g;
";
const BUMP: &str = "UPDATE a SET n = n + 1 WHERE id = 10";
/// Several times as long as passes between two looks of who waits.
const A_WHILE: Duration = Duration::from_millis(100);

/// A session with a transaction in which a script has run.
fn begun(db: &Database, script: &str) -> Session {
    let session = db.session();
    session.execute(&format!("BEGIN; {script}")).unwrap_or_else(|error| panic!("{error}"));
    session
}

type Waits<'scope> = ScopedJoinHandle<'scope, String>;

/// Has a session run a statement that waits, and then commit; what the statement says.
fn wait<'scope>(
    scope: &'scope thread::Scope<'scope, '_>,
    session: Session,
    statement: &'static str,
) -> Waits<'scope> {
    let waits = scope.spawn(move || {
        let ended = said(&session, statement);
        said(&session, "COMMIT");
        ended
    });
    thread::sleep(A_WHILE);
    waits
}

#[test]
fn who_waits_behind_somebody_that_waits_for_a_table_is_left_alone() {
    locking_engines(|config| {
        let db = open(config);
        db.session().execute(TABLES)?;
        let reader = begun(&db, "SELECT sum(n) FROM b");
        let older = begun(&db, BUMP);
        let younger = begun(&db, "SELECT n FROM a WHERE id = 90");
        thread::scope(|scope| {
            let younger = wait(scope, younger, BUMP);
            let older = wait(scope, older, "INSERT INTO b VALUES (15, 0)");
            assert!(!younger.is_finished() && !older.is_finished(), "both wait");
            assert_eq!(said(&reader, "COMMIT"), "COMMIT");
            assert_eq!(older.join().expect("it ends well"), "INSERT 0 1");
            assert_eq!(younger.join().expect("it ends well"), "UPDATE 1");
        });
        Ok(())
    });
}

#[test]
fn who_closes_a_circle_through_a_table_is_undone() {
    locking_engines(|config| {
        let db = open(config);
        db.session().execute(TABLES)?;
        let older = begun(&db, BUMP);
        let between = begun(&db, "UPDATE a SET n = n + 1 WHERE id = 20");
        let younger = begun(&db, "INSERT INTO b VALUES (15, 0)");
        thread::scope(|scope| {
            // younger -> between -> older -> younger, the last one through the table.
            let younger = wait(scope, younger, "UPDATE a SET n = n + 1 WHERE id = 20");
            let between = wait(scope, between, BUMP);
            let older = wait(scope, older, "SELECT sum(n) FROM b");
            let ends = [older, between, younger].map(|end| end.join().expect("it ends well"));
            let undone = ends.iter().filter(|end| *end == "40P01").count();
            assert!(ends[0] == "SELECT 1" && (1..=2).contains(&undone), "{ends:?}");
        });
        Ok(())
    });
}
