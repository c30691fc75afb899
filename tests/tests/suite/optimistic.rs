//! The optimistic engine: who is overtaken is tried again unseen, and who cannot be validated, or
//! loses for ever, runs alone.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread;

use hotrow::{Config, Database, Durability, EngineEntry};
use hotrow_tests::directory::TestDirectory;
use hotrow_tests::matrix;

const SCRIPT: &str = "
    CREATE TABLE account (id bigint PRIMARY KEY, cents bigint NOT NULL)
      WITH (primary_index = hash);
    CREATE INDEX account_order ON account USING btree (cents);
    CREATE TABLE page (id bigint PRIMARY KEY, body text NOT NULL);
    CREATE PROCEDURE write(id bigint, body text) AS $$
    BEGIN INSERT INTO page VALUES (id, body); END $$ LANGUAGE plpgsql;
    CREATE PROCEDURE write_many(first bigint, behind bigint) AS $$
    BEGIN
      FOR id IN first .. behind - 1 LOOP INSERT INTO page VALUES (id, ''); END LOOP;
    END $$ LANGUAGE plpgsql;
    CREATE FUNCTION written(most bigint) RETURNS bigint AS $$
    DECLARE result bigint;
    BEGIN
      SELECT count(body) INTO result FROM page WHERE id < most;
      RETURN result;
    END $$ LANGUAGE plpgsql;
    CREATE PROCEDURE keep(id bigint) AS $$
    BEGIN UPDATE account SET cents = cents WHERE account.id = keep.id; END $$ LANGUAGE plpgsql;
    CREATE PROCEDURE open(id bigint) AS $$
    BEGIN INSERT INTO account VALUES (id, 100); END $$ LANGUAGE plpgsql;
    CREATE PROCEDURE close(id bigint, heir bigint) AS $$
    BEGIN
      UPDATE account SET cents = cents + 1 WHERE account.id = heir;
      DELETE FROM account WHERE account.id = close.id;
    END $$ LANGUAGE plpgsql;
    CREATE PROCEDURE touch(id bigint) AS $$
    BEGIN UPDATE account SET cents = cents + 1 WHERE account.id = touch.id; END $$ LANGUAGE plpgsql;
    CREATE PROCEDURE move(one bigint, other bigint, amount bigint) AS $$
    BEGIN
      UPDATE account SET cents = cents - amount WHERE id = one;
      UPDATE account SET cents = cents + amount WHERE id = other;
    END $$ LANGUAGE plpgsql;
    CREATE FUNCTION total() RETURNS bigint AS $$
    DECLARE result bigint;
    BEGIN
      SELECT CAST(sum(cents) AS bigint) INTO result FROM account WHERE cents > -1000000000;
      RETURN result;
    END $$ LANGUAGE plpgsql;
    CREATE FUNCTION counted() RETURNS bigint AS $$
    DECLARE result bigint;
    BEGIN SELECT count(*) INTO result FROM account; RETURN result; END $$ LANGUAGE plpgsql;";

fn entry() -> &'static EngineEntry {
    matrix::engine("silo")
}

fn open(accounts: i64, threads: usize) -> Database {
    let config = Config::default().threads(threads).memory_bytes(256 << 20);
    let db = Database::open_in_memory_with(entry(), config).expect("it opens");
    let session = db.session();
    session.execute(SCRIPT).expect("the script is right");
    for id in 0..accounts {
        session.call("open", (id,)).expect("it is new");
    }
    db
}

#[test]
fn overtaken_calls_are_counted_and_hidden() {
    let db = open(2, 3);
    let mut calls = 0;
    while db.statistics().conflict_aborts() == 0 {
        thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| {
                    let session = db.session();
                    for turn in 0..300_i64 {
                        let (one, other) = (turn % 2, (turn + 1) % 2);
                        session.call("move", (one, other, 1_i64)).expect("conflicts are hidden");
                    }
                });
            }
        });
        calls += 900;
        let total = db.session().call("total", ()).expect("it reads").one::<i64>();
        assert_eq!(total.expect("one row"), 200);
    }
    let statistics = db.statistics();
    assert!(statistics.committed >= calls, "{} of {calls} calls", statistics.committed);
}

/// A reader of everything among writers of everything is overtaken each time.
#[test]
fn a_long_reader_among_writers_gets_its_turn() {
    const ACCOUNTS: i64 = 2_000;
    let db = open(ACCOUNTS, 3);
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        for writer in 0..2 {
            let (db, done) = (&db, &done);
            scope.spawn(move || {
                let session = db.session();
                let mut id = writer;
                while !done.load(Relaxed) {
                    id = (id * 31 + 7) % ACCOUNTS;
                    let (one, other) = (id, (id + 1) % ACCOUNTS);
                    session.call("move", (one, other, 1_i64)).expect("conflicts are hidden");
                }
            });
        }
        for _ in 0..3 {
            let total = db.session().call("total", ()).expect("it reads").one::<i64>();
            assert_eq!(total.expect("one row"), 100 * ACCOUNTS);
        }
        done.store(true, Relaxed);
    });
}

#[test]
fn a_scan_that_nothing_could_validate_runs_alone() {
    let db = open(10, 2);
    let before = db.statistics().exclusive;
    assert_eq!(db.session().call("total", ()).expect("it reads").one::<i64>().expect("one"), 1_000);
    assert_eq!(db.statistics().exclusive, before, "a range of a tree can be");
    assert_eq!(db.session().call("counted", ()).expect("it reads").one::<i64>().expect("one"), 10);
    assert_eq!(db.statistics().exclusive, before + 1, "all of a hash table cannot");
}

#[test]
fn a_call_that_copies_or_adds_too_much_runs_alone() {
    let db = open(1, 2);
    let session = db.session();
    for id in 0..2_000_i64 {
        session.call("write", (id, "x".repeat(5_000))).expect("it is new");
    }
    let before = db.statistics().exclusive;
    let written = |most: i64| session.call("written", (most,)).expect("it reads").one::<i64>();
    assert_eq!(written(200).expect("one row"), 200);
    assert_eq!(db.statistics().exclusive, before);
    assert_eq!(written(2_000).expect("one row"), 2_000);
    assert_eq!(db.statistics().exclusive, before + 1);
    session.call("write_many", (10_000_i64, 30_000_i64)).expect("they are new");
    assert_eq!(db.statistics().exclusive, before + 2);
    assert_eq!(written(40_000).expect("one row"), 2_000 + 20_000);
}

#[test]
fn a_call_with_a_key_takes_effect_once_across_a_restart() {
    let directory = TestDirectory::new("optimistic");
    let open = || {
        let config = Config::default().threads(2).memory_bytes(256 << 20);
        Database::open_with(entry(), directory.path(), config, |_| ()).expect("it opens")
    };
    let db = open();
    let session = db.session();
    session.execute(SCRIPT).expect("the script is right");
    (0..2_i64).for_each(|id| drop(session.call("open", (id,)).expect("it is new")));
    session.call_once("first", "touch", (1_i64,)).expect("it runs");
    session.call_once("first", "touch", (1_i64,)).expect("it is known");
    session.call("touch", (0_i64,)).expect("it runs");
    assert_eq!(db.statistics().exclusive, 1);
    drop((session, db));
    let db = open();
    let session = db.session();
    // Before anything else is written: what is as it was takes no place in the log.
    session.call("keep", (0_i64,)).expect("it runs");
    session.call_once("first", "touch", (1_i64,)).expect("it is known");
    session.call("touch", (0_i64,)).expect("it runs");
    assert_eq!(session.call("total", ()).expect("it reads").one::<i64>().expect("one"), 203);
}

/// A row that is removed and one that comes in its place have no record in common whose version
/// would tell which was first; yet the log must know.
#[test]
fn a_row_in_the_place_of_a_removed_one_is_there_after_a_restart() {
    const KEYS: i64 = 20;
    let directory = TestDirectory::new("in-its-place");
    let open = || {
        let config =
            Config::default().threads(3).memory_bytes(256 << 20).durability(Durability::Buffered);
        Database::open_with(entry(), directory.path(), config, |_| ()).expect("it opens")
    };
    let db = open();
    let session = db.session();
    session.execute(SCRIPT).expect("the script is right");
    (0..KEYS).for_each(|id| drop(session.call("open", (id,)).expect("it is new")));
    thread::scope(|scope| {
        // Nobody waits for the end of who removed a row before the next one comes.
        for client in 0..8 {
            let db = &db;
            scope.spawn(move || {
                let session = db.session();
                for round in 0..300_i64 {
                    let id = 1 + (client / 2 + round) % (KEYS - 1);
                    if client % 2 == 0 {
                        session.call("close", (id, 0_i64)).expect("it may not be there");
                    } else if let Err(error) = session.call("open", (id,)) {
                        assert_eq!(error.sqlstate(), Some("23505"), "{error}");
                    }
                }
            });
        }
    });
    let counted = |db: &Database| {
        let total = db.session().call("total", ()).expect("it reads").one::<i64>();
        let rows = db.session().call("counted", ()).expect("it reads").one::<i64>();
        (rows.expect("one row"), total.expect("one row"))
    };
    let before = counted(&db);
    assert!(before.0 <= KEYS);
    drop((session, db));
    assert_eq!(counted(&open()), before);
}
