//! Early lock release: what a reader was told must still be there after the system fails.
//!
//! Table 6 of locking.txt: B changes a row, commits and lets its locks go before its entry is
//! durable; A reads the row, and being a reader writes nothing to the log. If A's answer leaves at
//! once and the system fails, A has told what never was.

use std::time::Duration;

use hotrow::{Config, Database, EngineOptions};
use hotrow_tests::directory::TestDirectory;
use hotrow_tests::matrix;

/// Every sync of the log takes so much longer: time to look at the log meanwhile.
const SYNC_DELAY: Duration = Duration::from_millis(150);

const LOCKING: &str = "two_phase_locking";

const SCRIPT: &str = "
    CREATE TABLE counter (id bigint PRIMARY KEY, n bigint NOT NULL);
    INSERT INTO counter VALUES (1, 0);
    CREATE PROCEDURE bump() AS $$
    BEGIN UPDATE counter SET n = n + 1 WHERE id = 1; END $$ LANGUAGE plpgsql;
    CREATE FUNCTION look() RETURNS bigint AS $$
    DECLARE result bigint;
    BEGIN SELECT n INTO result FROM counter WHERE id = 1; RETURN result; END $$ LANGUAGE plpgsql;";

/// Whether a reader was told what a failure right after would have taken back.
fn reader_is_betrayed(engine: &str, settings: &[(&str, &str)]) -> bool {
    let directory = TestDirectory::new("early-release");
    Database::open(directory.path(), Config::default())
        .and_then(|db| db.session().execute(SCRIPT).map(|_| ()))
        .expect("the tables are made");
    let config = Config::default();
    let path = directory.path();
    let mut db = Database::open_without_engine_on_slow_log(path, config, SYNC_DELAY, |_| ())
        .expect("it opens again");
    let options = EngineOptions {
        threads: 2,
        settings: settings.iter().map(|&(n, v)| (n.to_owned(), v.to_owned())).collect(),
        ..EngineOptions::default()
    };
    db.serve(matrix::engine(engine), &options).expect("the settings are known");
    let log = db.log().expect("it has a directory");
    let before = log.horizon();
    let mut betrayed = false;
    let writer = db.session();
    std::thread::scope(|scope| {
        let writer = scope.spawn(move || writer.call("bump", ()).map(|_| ()));
        let reader = db.session();
        loop {
            let seen = reader.call("look", ()).expect("it reads").one::<i64>().expect("one row");
            if seen == 1 {
                // Nothing but the writer's entry moves the horizon.
                betrayed = log.horizon() == before;
                break;
            }
        }
        writer.join().expect("the writer ends").expect("its call ends well");
    });
    assert!(log.horizon() > before, "the writer was told that it is durable");
    betrayed
}

#[test]
fn a_reader_is_told_only_what_is_durable() {
    for acquisition in ["wait-die", "wait-for-graph"] {
        for release in ["none", "shared", "all"] {
            let settings = [("acquisition", acquisition), ("release", release)];
            assert!(!reader_is_betrayed(LOCKING, &settings), "{settings:?}");
        }
    }
    for last_use in ["keep", "release"] {
        let settings = [("acquisition", "ordered"), ("order", "identity"), ("last_use", last_use)];
        assert!(!reader_is_betrayed(LOCKING, &settings), "{settings:?}");
    }
    for engine in ["orthrus", "partitioned", "silo"] {
        assert!(!reader_is_betrayed(engine, &[]), "{engine}");
    }
}

#[test]
fn without_tags_a_reader_is_told_what_may_be_lost() {
    let settings = [("acquisition", "wait-die"), ("release", "all-untagged")];
    assert!(reader_is_betrayed(LOCKING, &settings));
}
