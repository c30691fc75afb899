//! Checkpoints: an image is exactly the state at its quiet point, on every engine, whatever runs.

mod images;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::thread;
use std::time::{Duration, Instant};

use hotrow::Database;
use hotrow_base::clock::Ticks;
use hotrow_engine::checkpoint::{self, Capture, Captured, Destination, Progress, Turn, Written};
use hotrow_engine::contract::Ground;
use hotrow_log::checkpoint::{self as files, CheckpointError, Identity};
use hotrow_log::files::simulated::{Fault, SimulatedDisk};
use hotrow_tests::matrix::{self, Setup};
use hotrow_tests::state;
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

use images::{Image, MemorySink, grounded, rows_at};

const ACCOUNTS: i64 = 200;
const MONEY: i64 = 1_000;

const SCHEMA: &str = "
CREATE TABLE account (
  id bigint PRIMARY KEY, cents bigint NOT NULL, owner integer NOT NULL, note text,
  visits bigint NOT NULL);
CREATE INDEX account_owner ON account (owner);
CREATE TABLE seat (id bigint PRIMARY KEY, holder text NOT NULL, holder_no bigint UNIQUE);
CREATE TABLE gone (id bigint PRIMARY KEY);
DROP TABLE gone;
CREATE TABLE journal (id bigint, no bigint, cents bigint NOT NULL, PRIMARY KEY (id, no));
CREATE PROCEDURE transfer(a bigint, b bigint, c bigint, n bigint) AS $$
BEGIN
  UPDATE account SET cents = cents - c WHERE id = a;
  UPDATE account SET cents = cents + c WHERE id = b;
  UPDATE account SET visits = visits + 1 WHERE id = (a + b) % 200;
  INSERT INTO journal VALUES (a, n, c);
END $$ LANGUAGE plpgsql;
CREATE PROCEDURE broken_transfer(a bigint, b bigint, c bigint, n bigint) AS $$
DECLARE left_over bigint;
BEGIN
  UPDATE account SET cents = cents - c, note = 'on its way to the other one, as it seems'
    WHERE id = a RETURNING cents INTO left_over;
  DELETE FROM seat WHERE id = b;
  INSERT INTO seat VALUES (b, 'nobody', NULL);
  INSERT INTO journal VALUES (a, n, left_over / 0);
END $$ LANGUAGE plpgsql;
CREATE PROCEDURE annotate(a bigint, o integer, t text) AS $$
BEGIN
  UPDATE account SET note = t, owner = o WHERE id = a;
END $$ LANGUAGE plpgsql;
CREATE PROCEDURE reseat(a bigint, t text, h bigint) AS $$
BEGIN
  DELETE FROM seat WHERE id = a;
  INSERT INTO seat VALUES (a, t, h);
END $$ LANGUAGE plpgsql;
CREATE PROCEDURE unseat(a bigint) AS $$
BEGIN
  DELETE FROM seat WHERE id = a;
END $$ LANGUAGE plpgsql;
CREATE PROCEDURE seat(a bigint, t text, h bigint) AS $$
BEGIN
  INSERT INTO seat VALUES (a, t, h);
END $$ LANGUAGE plpgsql;
";

fn fill(db: &Database) {
    let session = db.session();
    session.execute(SCHEMA).expect("the schema is right");
    for id in 0..ACCOUNTS {
        let note = if id % 3 == 0 { "NULL".to_owned() } else { format!("'{id}'") };
        let owner = id % 7;
        session
            .execute(&format!(
                "INSERT INTO account VALUES ({id}, {MONEY}, {owner}, {note}, 0);
                 INSERT INTO seat VALUES ({id}, 'first', {id})"
            ))
            .expect("the rows are right");
    }
}

/// Calls of all kinds until `stop`; those that fail do so for reasons of their own.
fn disturb(db: &Database, seed: u64, client: u64, stop: &AtomicBool, calls: &AtomicU64) {
    let session = db.session();
    let mut random = StdRng::seed_from_u64(seed << 8 | client);
    let mut number = i64::try_from(client).expect("a few clients") << 32;
    while !stop.load(Relaxed) {
        let (a, b) = (random.random_range(0..ACCOUNTS), random.random_range(0..ACCOUNTS));
        let text = "x".repeat(random.random_range(0..120));
        number += 1;
        let done = match random.random_range(0..10) {
            0..3 => session.call("transfer", (a, b, random.random_range(-9..10_i64), number)),
            3 => session.call("broken_transfer", (a, b, 5_i64, number)),
            4..6 => session.call("annotate", (a, random.random_range(0..7_i32), text)),
            6..8 => session.call("reseat", (a, text, number)),
            8 => session.call("unseat", (a,)),
            _ => session.call("seat", (a, text, number)),
        };
        if let Err(error) = done {
            let code = error.sqlstate().expect("it is the call's own");
            assert!(["22012", "23505"].contains(&code), "{error}");
        }
        calls.fetch_add(1, Relaxed);
    }
}

/// The turn to make an image, unless one is under way.
fn turn(ground: &Ground) -> Option<Turn> {
    Turn::wait(&ground.schema.current().memory, Some(Ticks::from_now(Duration::from_millis(1))))
}

fn begin(ground: &Ground) -> Capture {
    let turn = turn(ground).expect("none is under way");
    checkpoint::begin(&ground.schema.quiet(), turn)
}

/// Takes an image and compares it with the rows that were there at its quiet point.
fn take_image(ground: &Ground, copiers: usize) -> (Image, Captured) {
    // The tables are small: without a pause the walk would be over before a call had begun.
    take_image_with(ground, copiers, &|_| thread::sleep(Duration::from_millis(1)))
}

/// The same, with pauses that are the caller's.
fn take_image_with(
    ground: &Ground,
    copiers: usize,
    pause: &(dyn Fn(Progress) + Sync),
) -> (Image, Captured) {
    let (capture, expected) = {
        let turn = turn(ground).expect("no other is under way");
        let quiet = ground.schema.quiet();
        (checkpoint::begin(&quiet, turn), rows_at(&quiet))
    };
    let mut sinks: Vec<_> = (0..copiers).map(|_| MemorySink::default()).collect();
    let captured = capture.run(&mut sinks, pause).expect("memory takes everything");
    let image = Image::of(&sinks);
    image.check_equal(&expected);
    assert_eq!(captured.rows(), image.rows() as u64);
    (image, captured)
}

/// An empty database of the same schema that `image` is loaded into.
fn restored(setup: &Setup, image: &Image, threads: usize) -> Database {
    let (db, ground) = grounded(setup);
    db.session().execute(SCHEMA).expect("the schema is right");
    let quiet = ground.schema.quiet();
    let loaded = checkpoint::load(&quiet.schema(), &image.source(), threads);
    assert_eq!(loaded.expect("the image is whole").rows(), image.rows() as u64);
    image.check_equal(&rows_at(&quiet));
    drop(quiet);
    db
}

/// A pause that lasts until two calls have ended: the second began in it, however busy the machine
/// is. Bounded, since calls may wait for the image in their turn.
fn meets_a_call(calls: &AtomicU64) -> impl Fn(Progress) + Sync {
    |_| {
        let (before, began) = (calls.load(Relaxed), Instant::now());
        while calls.load(Relaxed) < before + 2 && began.elapsed() < Duration::from_millis(100) {
            thread::yield_now();
        }
    }
}

#[test]
fn images_taken_under_load_are_the_state_at_their_quiet_point() {
    for setup in matrix::setups(&[1, 3]) {
        let (db, ground) = grounded(&setup);
        fill(&db);
        let (stop, calls) = (AtomicBool::new(false), AtomicU64::new(0));
        let mut saved_rows = 0;
        let images: Vec<Image> = thread::scope(|scope| {
            for client in 0..3 {
                let (db, stop, calls) = (&db, &stop, &calls);
                scope.spawn(move || disturb(db, 17, client, stop, calls));
            }
            let take = |round: u64| {
                while calls.load(Relaxed) < round * 200 {
                    thread::yield_now();
                }
                let copiers = [1, 2, 8][round as usize % 3];
                let (image, captured) = take_image_with(&ground, copiers, &meets_a_call(&calls));
                saved_rows += captured.saved_rows;
                image
            };
            let images = (0..9).map(take).collect();
            stop.store(true, Relaxed);
            images
        });
        println!("{}: {} calls, {saved_rows} rows saved", setup.name, calls.load(Relaxed));
        assert!(saved_rows > 0, "{}: no call met an image", setup.name);
        for (round, image) in images.iter().enumerate().step_by(4) {
            let other = restored(&setup, image, 1 + round % 3);
            state::dump_checked(&other);
            let total = other.session().execute("SELECT CAST(sum(cents) AS bigint) FROM account");
            let total: i64 = total.unwrap().remove(0).rows.one().expect("one row");
            assert_eq!(total, ACCOUNTS * MONEY, "{}", setup.name);
            other.session().call("transfer", (1_i64, 2_i64, 3_i64, -1_i64)).expect("it is alive");
        }
    }
}

/// What an image has, once it is loaded, is what the one after the load has: slack and all.
#[test]
fn an_image_of_a_loaded_image_is_the_same() {
    let setup = matrix::reference();
    let (db, ground) = grounded(&setup);
    fill(&db);
    let session = db.session();
    for id in 0..20_i64 {
        session.call("annotate", (id, 1_i32, "long".repeat(20))).expect("it is there");
        session.call("annotate", (id, 1_i32, "short")).expect("it is there");
    }
    let (image, _) = take_image(&ground, 1);
    let (other, ground) = grounded(&setup);
    other.session().execute(SCHEMA).expect("the schema is right");
    {
        let quiet = ground.schema.quiet();
        checkpoint::load(&quiet.schema(), &image.source(), 2).expect("the image is whole");
    }
    let (again, _) = take_image(&ground, 2);
    assert_eq!(image, again);
}

#[test]
fn after_a_failed_or_dropped_image_the_next_one_is_right() {
    for setup in matrix::setups(&[2]) {
        let (db, ground) = grounded(&setup);
        fill(&db);
        let (stop, calls) = (AtomicBool::new(false), AtomicU64::new(0));
        thread::scope(|scope| {
            for client in 0..2 {
                let (db, stop, calls) = (&db, &stop, &calls);
                scope.spawn(move || disturb(db, 23, client, stop, calls));
            }
            for round in 0..4 {
                let capture = begin(&ground);
                assert!(turn(&ground).is_none(), "one at a time");
                if round % 2 == 0 {
                    drop(capture);
                } else {
                    let mut sinks: Vec<_> = (0..2).map(|_| MemorySink::full()).collect();
                    let failed = capture.run(&mut sinks, &|_| {});
                    assert!(failed.is_err(), "a sink was full");
                }
                take_image(&ground, 2);
            }
            stop.store(true, Relaxed);
        });
    }
}

/// Tables that definitions make or drop while an image is being taken are none of its business.
#[test]
fn definitions_go_on_during_an_image() {
    let (db, ground) = grounded(&matrix::reference());
    fill(&db);
    let session = db.session();
    session
        .execute("CREATE TABLE old (id bigint PRIMARY KEY); INSERT INTO old VALUES (1), (2)")
        .expect("the definition is right");
    let capture = begin(&ground);
    session
        .execute(
            "CREATE TABLE late (id bigint PRIMARY KEY); INSERT INTO late VALUES (1);
             CREATE INDEX seat_holder ON seat (holder);
             UPDATE seat SET holder = 'second' WHERE id = 3;
             DELETE FROM old WHERE id = 2; DROP TABLE old",
        )
        .expect("definitions are right");
    let mut sinks = [MemorySink::default()];
    let captured = capture.run(&mut sinks, &|_| {}).expect("memory takes everything");
    assert_eq!(captured.rows(), 2 * ACCOUNTS as u64 + 2);
    assert_eq!(captured.saved_rows, 2);
    let (image, _) = take_image(&ground, 1);
    assert_eq!(image.rows(), 2 * ACCOUNTS as usize + 1);
}

/// Workers wait when the rows they save pile up, and go on when the sink does.
#[test]
fn saved_rows_are_bounded() {
    const ROWS: i64 = 2_000;
    const BYTES_MAX: u64 = 4 << 20;
    const ROW_BYTES: usize = 8_000;
    let (db, ground) = grounded(&matrix::reference());
    let session = db.session();
    session
        .execute(
            "CREATE TABLE wide (id bigint PRIMARY KEY, t text NOT NULL, n bigint NOT NULL);
             CREATE PROCEDURE put(a bigint, t text) AS $$
             BEGIN INSERT INTO wide VALUES (a, t, 0); END $$ LANGUAGE plpgsql;
             CREATE PROCEDURE bump(a bigint) AS $$
             BEGIN UPDATE wide SET n = n + 1 WHERE id = a; END $$ LANGUAGE plpgsql;",
        )
        .expect("the schema is right");
    let text = "w".repeat(ROW_BYTES);
    for id in 0..ROWS {
        session.call("put", (id, text.clone())).expect("there is room");
    }
    let (capture, expected) = {
        let turn = turn(&ground).expect("no other is under way");
        let quiet = ground.schema.quiet();
        (checkpoint::begin(&quiet, turn), rows_at(&quiet))
    };
    let memory = ground.schema.current().memory.clone();
    let stop = AtomicBool::new(false);
    let most = thread::scope(|scope| {
        let (stop, db, memory) = (&stop, &db, &memory);
        scope.spawn(move || {
            let session = db.session();
            for id in (0..ROWS).rev() {
                session.call("bump", (id,)).expect("the row is there");
            }
        });
        let most = scope.spawn(move || {
            let mut most = 0;
            while !stop.load(Relaxed) {
                most = memory.saved_rows().bytes().max(most);
                thread::yield_now();
            }
            most
        });
        // The walk begins only when nobody can save more.
        let mut seen = 0;
        while seen <= BYTES_MAX {
            thread::yield_now();
            seen = memory.saved_rows().bytes();
        }
        let mut sinks = [MemorySink::default()];
        let captured = capture.run(&mut sinks, &|_| {}).expect("memory takes everything");
        stop.store(true, Relaxed);
        // A row takes a little more than its text.
        assert!(captured.saved_rows * (ROW_BYTES as u64 + 64) > BYTES_MAX);
        Image::of(&sinks).check_equal(&expected);
        most.join().expect("it does not panic").max(seen)
    });
    let turn = 64 * ROW_BYTES as u64;
    assert!(most > BYTES_MAX && most < BYTES_MAX + turn, "{most} bytes of saved rows");
    assert_eq!(memory.saved_rows().bytes(), 0);
}

const IDENTITY: Identity = Identity { log_id: 1, epoch: 2 };

fn write_to(disk: &SimulatedDisk, capture: Capture) -> Result<Written, CheckpointError> {
    let files = Arc::new(disk.clone());
    let catalog = SCHEMA.as_bytes().to_vec();
    let to = Destination { files, identity: IDENTITY, catalog, threads: 2 };
    checkpoint::write(capture, to, &|_| {})
}

/// Writes, reads back, and loads; then again with each operation on the disk failing once.
#[test]
fn an_image_goes_to_files_and_comes_back() {
    let setup = matrix::reference();
    let (db, ground) = grounded(&setup);
    fill(&db);
    // Numbers differ after the reload: this database has a dropped table, the next one has not.
    let schema = SCHEMA.replace("CREATE TABLE gone (id bigint PRIMARY KEY);\nDROP TABLE gone;", "");
    assert_ne!(schema, SCHEMA);
    let disk = SimulatedDisk::new();
    let written = write_to(&disk, begin(&ground)).expect("nothing fails");
    assert_eq!(written.manifest.rows(), 2 * ACCOUNTS as u64);

    let found = files::find(&disk).expect("it is whole").newest.expect("there is one");
    assert_eq!(found, written.manifest);
    assert_eq!(found.catalog, SCHEMA.as_bytes());
    let (other, other_ground) = grounded(&setup);
    other.session().execute(&schema).expect("the schema is right");
    {
        let reader = files::Reader::open(&disk, found).expect("it is whole");
        let quiet = other_ground.schema.quiet();
        checkpoint::restore(&quiet.schema(), &reader, 2).expect("it is whole");
    }
    assert_eq!(state::dump_checked(&other), state::dump_checked(&db));

    for nth in 1.. {
        let disk = disk.copy();
        disk.fail(nth, Fault::Full);
        let failed = write_to(&disk, begin(&ground));
        if !disk.has_failed() {
            break;
        }
        assert!(failed.is_err(), "operation {nth} failed");
        assert!(files::verify(&disk).expect("the old one is whole").is_some());
        take_image(&ground, 1);
    }
}

#[test]
fn rows_of_tables_that_nobody_defined_are_refused() {
    let (db, ground) = grounded(&matrix::reference());
    fill(&db);
    let disk = SimulatedDisk::new();
    let capture = begin(&ground);
    let manifest = write_to(&disk, capture).expect("nothing fails").manifest;
    let reader = files::Reader::open(&disk, manifest).expect("it is whole");
    let (_other, ground) = grounded(&matrix::reference());
    let quiet = ground.schema.quiet();
    let error = checkpoint::restore(&quiet.schema(), &reader, 1).expect_err("no table is there");
    assert!(error.to_string().contains("rows of table \"account\""), "{error}");
}

#[test]
fn what_cannot_be_rows_is_refused() {
    let setup = matrix::reference();
    let (db, ground) = grounded(&setup);
    fill(&db);
    let (image, _) = take_image(&ground, 1);
    let check = |what: &str, change: &dyn Fn(&mut Image)| {
        let mut image = image.clone();
        change(&mut image);
        let (other, ground) = grounded(&setup);
        other.session().execute(SCHEMA).expect("the schema is right");
        let quiet = ground.schema.quiet();
        let error = checkpoint::load(&quiet.schema(), &image.source(), 2).expect_err(what);
        assert!(error.to_string().contains(what), "{error}");
    };
    check("batch 0 of the image", &|image| image.batch(0).words[0] = u64::MAX);
    check("do not make the", &|image| image.batch(0).words[0] += 1);
    check("do not make the", &|image| image.batch(0).rows += 1);
    check("do not make the", &|image| image.batch(0).rows -= 1);
    check("no table number 99", &|image| image.batch(0).table = 99);
    check("no table number 2", &|image| image.batch(0).table = 2);
    check("cannot be one of table", &|image| image.batch(0).table = 3);
    check("two rows have the same key", &|image| {
        let again = image.batch(0).clone();
        image.add(again);
    });
}
