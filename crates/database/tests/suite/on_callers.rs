//! Short calls of sessions that run on their sessions' threads, on engines that have places for
//! them, beside calls that do not, definitions and the end of the database.

use hotrow::{Config, Database, Error, Value};

const SESSIONS: i64 = 4;
const ROUNDS: i64 = 400;
const ROWS: i64 = 3;
const TABLES: &str = "
    CREATE TABLE counter (id bigint PRIMARY KEY, n bigint NOT NULL);
    CREATE TABLE entry (id bigint PRIMARY KEY, counter bigint NOT NULL);
    INSERT INTO counter VALUES (0, 0), (1, 0), (2, 0);
    CREATE PROCEDURE count_up(which bigint, entry bigint) LANGUAGE plpgsql AS $$
    BEGIN
        UPDATE counter SET n = n + 1 WHERE id = which;
        INSERT INTO entry VALUES (entry, which);
    END $$;";

/// Databases of the engines that have places, with places and without.
fn databases() -> impl Iterator<Item = (Database, usize, bool)> {
    let engines = hotrow::engines().iter().filter(|entry| entry.runs_on_callers);
    engines.flat_map(|entry| {
        [("on", true), ("off", false)].map(|(value, has_places)| {
            let threads = entry.threads_near(2);
            let config = Config::default().engine(entry.name).threads(threads);
            let db = Database::open_in_memory(config.variant(&[("on_callers", value)]));
            (db.expect("the setting is known"), threads, has_places)
        })
    })
}

fn count(db: &Database, query: &str) -> i64 {
    let mut results = db.session().execute(query).expect("the query is right");
    results.remove(0).rows.one().expect("there is one row")
}

/// One session's calls and statements, all of them short but for the first of each kind.
fn count_up(db: &Database, number: i64) -> Result<(), Error> {
    let session = db.session();
    let insert = session.prepare("INSERT INTO entry VALUES ($1, $2)", &[])?;
    for round in 0..ROUNDS {
        let (which, entry) = (round % ROWS, 2 * (number * ROUNDS + round));
        session.call("count_up", (which, entry))?;
        session.execute_prepared(&insert, &[Value::BigInt(entry + 1), Value::BigInt(which)])?;
        let error = session.call("count_up", (which, entry)).expect_err("the entry is there");
        assert_eq!(error.sqlstate(), Some("23505"), "and nothing of the call remains");
    }
    Ok(())
}

#[test]
fn calls_on_their_sessions_threads_are_calls() {
    for (db, threads, has_places) in databases() {
        db.session().execute(TABLES).expect("the schema is right");
        std::thread::scope(|scope| {
            let db = &db;
            let sessions: Vec<_> =
                (0..SESSIONS).map(|number| scope.spawn(move || count_up(db, number))).collect();
            // Quiet points, and schemas that places have to notice.
            for at in 0..10 {
                let definition = format!("CREATE TABLE extra{at} (id bigint PRIMARY KEY)");
                db.session().execute(&definition).expect("nothing is in its way");
            }
            for session in sessions {
                session.join().expect("no session panics").expect("no call is refused");
            }
        });
        assert_eq!(count(&db, "SELECT sum(n)::bigint FROM counter"), SESSIONS * ROUNDS);
        assert_eq!(count(&db, "SELECT count(*) FROM entry"), 2 * SESSIONS * ROUNDS);
        db.shutdown();
        let statistics = db.statistics();
        // A statement runs at quiet points until a session has sent it some times.
        assert!(statistics.committed >= (SESSIONS * ROUNDS) as u64);
        let in_places = statistics.busy_nanos.iter().skip(threads).any(|nanos| *nanos > 0);
        assert_eq!(in_places, has_places);
        let ended = db.session().call("count_up", (0_i64, -1_i64));
        assert!(matches!(ended, Err(Error::Closed)));
    }
}
