//! Early lock release: what a reader was told must still be there after the system fails.
//!
//! Table 6 of locking.txt: B changes a row, commits and lets its locks go before its entry is
//! durable; A reads the row, and being a reader writes nothing to the log. If A's answer leaves at
//! once and the system fails, A has told what never was.

use std::sync::Arc;
use std::time::{Duration, Instant};

use hotrow::{Config, Database, EngineOptions};
use hotrow_log::files::DiskSwitch;
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

/// Besides: two rows that are read by who writes two others, and calls that write one of them and
/// take so long that two of them, on two threads, are run at once.
const MORE_ROWS: &str = "
    INSERT INTO counter VALUES (2, 0), (3, 0), (4, 0);
    CREATE PROCEDURE bump_after_look() AS $$
    DECLARE one bigint; other bigint;
    BEGIN
        SELECT n INTO one FROM counter WHERE id = 2;
        SELECT n INTO other FROM counter WHERE id = 3;
        UPDATE counter SET n = n + 1 + one - one WHERE id = 1;
        UPDATE counter SET n = n + 1 + other - other WHERE id = 4;
    END $$ LANGUAGE plpgsql;
    CREATE PROCEDURE bump_slowly(which bigint) AS $$
    DECLARE x bigint := 0;
    BEGIN
        FOR i IN 1..500000 LOOP x := x + i % 2; END LOOP;
        UPDATE counter SET n = n + 1 + x - x WHERE id = which;
    END $$ LANGUAGE plpgsql;";

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

/// Whether others can write two rows while a call that has read rows 2 and 3 and written rows 1 and
/// 4 is committed, but not durable. The thread that has run it may use its locks again, so there
/// are two others, of which one is run by the other thread.
fn lets_others_write(release: &str, rows: [i64; 2]) -> bool {
    let directory = TestDirectory::new("released");
    let disk = Arc::<DiskSwitch>::default();
    let config = Config::default()
        .threads(2)
        .engine(LOCKING)
        .variant(&[("acquisition", "dreadlocks"), ("release", release)]);
    let sync = Arc::clone(&disk);
    let entry = matrix::engine(LOCKING);
    let db = Database::open_on_slow_log(entry, directory.path(), config, move || sync.pass());
    let db = db.expect("it opens");
    for script in [SCRIPT, MORE_ROWS] {
        db.session().execute(script).expect("the tables are made");
    }
    let before = db.statistics().committed;
    let have_committed = |calls: u64, patience: Duration| {
        let began = Instant::now();
        while began.elapsed() < patience {
            if db.statistics().committed >= before + calls {
                return true;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        false
    };
    let soon = Duration::from_secs(60);
    disk.close();
    let both = std::thread::scope(|scope| {
        let first = scope.spawn(|| db.session().call("bump_after_look", ()).map(|_| ()));
        let some = have_committed(1, soon);
        let others = rows.map(|row| {
            let session = db.session();
            scope.spawn(move || session.call("bump_slowly", (row,)).map(|_| ()))
        });
        // One is run by the thread that has the locks.
        let some = some && have_committed(2, soon);
        // Who may go on does when the other one is through; who may not never does.
        let both = have_committed(3, Duration::from_secs(1));
        disk.open(); // before anything is asserted: somebody waits for it
        assert!(some, "the first one commits, and one of the others");
        for call in others.into_iter().chain([first]) {
            call.join().expect("it ends").expect("its call ends well");
        }
        both
    });
    assert!(have_committed(3, soon), "all have committed");
    both
}

/// Locks that a setting keeps until the log is durable are seen to be kept, and those that it lets
/// go are seen to be free.
#[test]
fn locks_stay_until_the_log_is_durable_as_the_setting_says() {
    for (release, written, read) in
        [("none", false, false), ("shared", false, true), ("all", true, true)]
    {
        // Where one thread happens to run both of the others, on a machine with much to do, it may
        // use its own locks for both: what is kept is seen to be kept at one of three times.
        let lets_write = |rows| (0..3).all(|_| lets_others_write(release, rows));
        assert_eq!(lets_write([1, 4]), written, "{release}: what was written");
        assert_eq!(lets_write([2, 3]), read, "{release}: what was read");
    }
}
