//! Damage: every byte of a small data directory changed (of padding, every 64th), every file lost.

use std::fs;
use std::path::Path;

use crate::scratch::Directory;
use hotrow::{Config, Database, VerifyReport, verify};

const SCRIPT: &str = "
    CREATE TABLE t (id bigint PRIMARY KEY, n bigint NOT NULL, s text);
    CREATE INDEX t_s ON t (s);
    CREATE FUNCTION f(which bigint, more bigint) RETURNS bigint AS $$
    DECLARE result bigint;
    BEGIN
      UPDATE t SET n = n + more, s = s || 'x' WHERE id = which RETURNING n INTO result;
      RETURN result;
    END $$ LANGUAGE plpgsql;
    INSERT INTO t VALUES (1, 10, 'one'), (2, 20, NULL);
";

fn config() -> Config {
    Config::default().threads(1).memory_bytes(64 << 20).checkpoint_log_bytes(None)
}

/// A directory with a checkpoint and some log behind it, closed in order.
fn make(path: &Path) {
    let db = Database::open(path, config()).expect("it opens");
    let session = db.session();
    session.execute(SCRIPT).expect("the script is right");
    session.call("f", (1_i64, 5_i64)).expect("it runs");
    session.call_once("k", "f", (2_i64, 6_i64)).expect("it runs");
    db.checkpoint().expect("it is taken");
    for more in 0..3_i64 {
        session.call("f", (1_i64, more)).expect("it runs");
    }
    assert!(session.call_once("other", "f", (1_i64, i64::MAX)).is_err(), "out of range");
}

/// What of a report does not depend on when it was made.
fn lasting(report: VerifyReport) -> (u64, u64, u64, Vec<(String, u64)>, Vec<String>) {
    let recovery = report.recovery;
    let rows = recovery.checkpoint_rows;
    (report.checkpoint_chunks, rows, recovery.transactions, report.tables, recovery.notices)
}

#[test]
fn every_changed_byte_is_refused_or_changes_nothing() {
    let directory = Directory::new("damage");
    let path = &directory.0;
    make(path);
    let look = || verify(path, &config(), |_| ()).map(lasting);
    let whole = look().expect("nothing is wrong yet");
    assert_eq!((whole.1, whole.2), (2, 4), "{whole:?}");
    let (mut refused, mut harmless) = (0, 0);
    for folder in ["log", "checkpoint"] {
        for file in fs::read_dir(path.join(folder)).expect("it can be listed") {
            let file = file.expect("it can be listed").path();
            let bytes = fs::read(&file).expect("it can be read");
            assert!(bytes.len() < 1 << 16, "small enough to try every byte: {file:?}");
            let is_tried = |&at: &usize| bytes[at] != 0 || at % 64 == 0;
            for at in (0..bytes.len()).filter(is_tried) {
                let mut changed = bytes.clone();
                changed[at] ^= 1 << (at % 8);
                fs::write(&file, &changed).expect("it can be written");
                match look() {
                    Err(error) => {
                        refused += 1;
                        assert!(!error.to_string().is_empty());
                    }
                    Ok(found) => {
                        harmless += 1;
                        assert_eq!(found, whole, "{file:?}, byte {at}");
                        assert_eq!(bytes[at], 0, "{file:?}, byte {at} is not padding");
                    }
                }
            }
            fs::write(&file, &bytes).expect("it can be written");
        }
    }
    assert_eq!(look().expect("all is as before"), whole);
    assert!(refused > 1000, "{refused} refused, {harmless} harmless");
}

#[test]
fn a_missing_file_is_refused() {
    let directory = Directory::new("missing");
    let path = &directory.0;
    make(path);
    for folder in ["log", "checkpoint"] {
        for file in fs::read_dir(path.join(folder)).expect("it can be listed") {
            let file = file.expect("it can be listed").path();
            let bytes = fs::read(&file).expect("it can be read");
            fs::remove_file(&file).expect("it can be removed");
            // The log of this small directory still reaches back to its beginning, so a lost
            // manifest costs nothing but time.
            if let Ok(found) = verify(path, &config(), |_| ()) {
                let name = file.to_string_lossy();
                assert!(name.ends_with(".manifest"), "without {file:?}: {found:?}");
                assert_eq!(found.tables, [("t".to_owned(), 2)]);
                assert_eq!(found.recovery.transactions, 10);
            }
            fs::write(&file, bytes).expect("it can be written");
        }
    }
    verify(path, &config(), |_| ()).expect("all is as before");
}
