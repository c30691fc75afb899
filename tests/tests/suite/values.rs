//! Values in the log: databases whose calls were logged by what they wrote are there again after a
//! restart, with all their indexes; also where values and commands follow one another.

use hotrow::{Config, Database, Durability, Error, LogEntries};
use hotrow_base::ids::WorkerId;
use hotrow_engine::recovery::LogPlace;
use hotrow_engine::values::Applier;
use hotrow_log::entry::Kind;
use hotrow_log::files::Directory;
use hotrow_log::read::{self, Block};
use hotrow_tests::directory::TestDirectory;
use hotrow_tests::matrix::{self, Setup};
use hotrow_tests::replay::schema_of;
use hotrow_tests::{generate, seed, state};
use rand::Rng;

use crate::serial::call_at_random;

const RUNS: u64 = 60;
const RESTARTS: usize = 3;

fn open(setup: &Setup, directory: &TestDirectory, entries: LogEntries) -> Database {
    let config = setup.config.clone().durability(Durability::Buffered).log_entries(entries);
    let opened = Database::open_with(&setup.entry, directory.path(), config, |_| ());
    opened.unwrap_or_else(|error| panic!("{}: {error}", setup.name))
}

#[test]
fn what_random_calls_wrote_is_there_again() {
    let setups = matrix::setups(&[1, 2, 4]);
    seed::for_seeds(1, RUNS, |seed, mut random| {
        let setup = &setups[seed as usize % setups.len()];
        let directory = TestDirectory::new("values");
        let generate::Script { text: script, procedures } = generate::script(&mut random);
        let mut expected = None;
        for restart in 0..=RESTARTS {
            let values = restart == 0 || random.random_bool(0.5);
            let entries = if values { LogEntries::Values } else { LogEntries::Commands };
            let db = open(setup, &directory, entries);
            match &expected {
                None => drop(db.session().execute(&script).expect("every text compiles")),
                Some(state) => {
                    let found = state::dump_checked(&db);
                    assert!(found == *state, "{}\n{script}\n{found:?}\nnot {state:?}", setup.name);
                }
            }
            // So many entries that several threads apply them.
            for round in 0..4 {
                call_at_random(&db, seed * 100 + restart as u64 * 10 + round, procedures);
            }
            if random.random_bool(0.2) {
                db.checkpoint().expect("the disk takes it");
            }
            expected = Some(state::dump_checked(&db));
        }
    });
}

const SWAPS: &str = "
CREATE TABLE seat (id bigint PRIMARY KEY, holder bigint UNIQUE, note text);
INSERT INTO seat VALUES (1, 10, 'a'), (2, 20, NULL), (3, NULL, NULL), (4, 40, 'd');
CREATE TABLE tally (n bigint NOT NULL, note text);
INSERT INTO tally VALUES (1, 'x'), (1, 'x'), (2, NULL), (3, NULL);
CREATE PROCEDURE swap(p bigint, q bigint) AS $$ DECLARE a bigint; b bigint; BEGIN
  SELECT holder INTO a FROM seat WHERE id = p;
  SELECT holder INTO b FROM seat WHERE id = q;
  UPDATE seat SET holder = NULL WHERE id = p;
  UPDATE seat SET holder = a WHERE id = q;
  UPDATE seat SET holder = b WHERE id = p;
END $$ LANGUAGE plpgsql;
CREATE PROCEDURE replace(p bigint, remark text) AS $$ DECLARE a bigint; BEGIN
  SELECT holder INTO a FROM seat WHERE id = p;
  DELETE FROM seat WHERE id = p;
  INSERT INTO seat VALUES (p, a, remark);
  INSERT INTO seat VALUES (p + 100, NULL, remark);
  DELETE FROM seat WHERE id = p + 100;
END $$ LANGUAGE plpgsql;
CREATE PROCEDURE count_up(remark text) AS $$ BEGIN
  UPDATE tally SET n = n + 1, note = remark WHERE n < 3;
  UPDATE tally SET n = n + 1 WHERE n = 2;
  INSERT INTO tally VALUES (1, remark);
  DELETE FROM tally WHERE n > 5;
END $$ LANGUAGE plpgsql;
CREATE PROCEDURE nothing_new() AS $$ BEGIN
  UPDATE seat SET note = note, holder = holder WHERE id = 1;
END $$ LANGUAGE plpgsql;
";

/// Runs calls that move unique keys from row to row, revive and outgrow rows, and change rows
/// that have no key.
fn swap_and_count(db: &Database) {
    let session = db.session();
    for (p, q) in [(1_i64, 2_i64), (2, 3), (3, 4), (1, 4), (2, 1)] {
        session.call("swap", (p, q)).expect("both are there");
        session.call("replace", (q, "long".repeat(q as usize * 9))).expect("it is there");
        session.call("replace", (q, None::<&str>)).expect("it is there");
        session.call("count_up", (format!("{p} {q}").repeat(p as usize * 4),)).expect("it runs");
        session.call("nothing_new", ()).expect("it is there");
    }
    session.call_once("a key", "swap", (1_i64, 3_i64)).expect("both are there");
    session.call("swap", (1_i64, 2_i64)).expect("both are there");
}

#[test]
fn keys_that_move_and_rows_without_keys_are_there_again() {
    for setup in matrix::setups(&[2]) {
        let directory = TestDirectory::new("swaps");
        let mut expected = None;
        for restart in 0..3 {
            let db = open(&setup, &directory, LogEntries::Values);
            match &expected {
                None => drop(db.session().execute(SWAPS).expect("the script is right")),
                Some(state) => assert_eq!(state::dump_checked(&db), *state, "{}", setup.name),
            }
            swap_and_count(&db);
            assert_eq!(db.recovery().expect("a directory").transactions == 0, restart == 0);
            expected = Some(state::dump_checked(&db));
        }
    }
}

/// The bodies of all value entries in a directory, and how many commands are there.
fn logged(directory: &TestDirectory) -> (Vec<Vec<u8>>, usize) {
    let files = Directory::open(directory.path().join("log")).expect("it is there");
    let (mut bodies, mut commands) = (Vec::new(), 0);
    let scanned = read::scan(&files, 0, |block: Block<'_>| -> Result<(), Error> {
        for entry in block.entries() {
            match entry.kind {
                Kind::Values => bodies.push(entry.body.to_vec()),
                Kind::Command => commands += 1,
                _ => {}
            }
        }
        Ok(())
    });
    scanned.expect("the log is whole");
    (bodies, commands)
}

#[test]
fn calls_are_logged_as_values_but_for_those_with_keys() {
    let directory = TestDirectory::new("kinds");
    let db = open(&matrix::reference(), &directory, LogEntries::Values);
    db.session().execute(SWAPS).expect("the script is right");
    swap_and_count(&db);
    drop(db);
    let (bodies, commands) = logged(&directory);
    assert_eq!((bodies.len(), commands), (5 * 5 + 1, 1));
    let unchanged = bodies.iter().filter(|body| body.is_empty()).count();
    assert_eq!(unchanged, 5, "a row that is as it was is not logged");
}

#[test]
fn entries_that_cannot_be_are_refused() {
    let directory = TestDirectory::new("hostile");
    let db = open(&matrix::reference(), &directory, LogEntries::Values);
    db.session().execute(SWAPS).expect("the script is right");
    swap_and_count(&db);
    drop(db);
    let (bodies, _) = logged(&directory);
    let bodies: Vec<_> = bodies.into_iter().filter(|body| !body.is_empty()).collect();
    seed::for_seeds(1, 200, |_, mut random| {
        let config = Config::default().threads(2).memory_bytes(256 << 20);
        let db = Database::open_in_memory_without_engine(config).expect("it is right");
        db.session().execute(SWAPS).expect("the script is right");
        let schema = schema_of(&db);
        let mut refused = 0;
        for _ in 0..50 {
            let mut body = bodies[random.random_range(0..bodies.len())].clone();
            match random.random_range(0..3) {
                0 => body.truncate(random.random_range(0..body.len())),
                1 => body.extend_from_within(random.random_range(0..body.len())..),
                _ => {}
            }
            for _ in 0..random.random_range(0..3) {
                if !body.is_empty() {
                    let at = random.random_range(0..body.len());
                    body[at] = random.random();
                }
            }
            let mut applier = Applier::new(1, WorkerId(1));
            applier.gather(LogPlace::default(), &body);
            refused += u32::from(applier.run(&schema).is_err());
        }
        assert!(refused > 0, "most of it cannot be");
        // What was let through are rows: they can be read.
        state::dump(&db);
    });
}
