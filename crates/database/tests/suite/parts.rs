//! Calls of several partitions that end early, in whichever state: all of each is gone, it is said
//! why, and the others go on.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::time::{Duration, Instant};

use hotrow::{Config, Database, Session, Value, engines};
use hotrow_log::files::DiskSwitch;

use crate::asking::code;
use crate::scratch::Directory;

/// Accounts: with two partitions, half of all pairs have both.
const ACCOUNTS: i64 = 40;

const DEFINITIONS: [&str; 6] = [
    "CREATE TABLE account (id bigint PRIMARY KEY, n bigint NOT NULL)",
    "CREATE TABLE note (id bigint, number bigint, words text, PRIMARY KEY (id, number))",
    "CREATE FUNCTION fill(rows bigint) RETURNS void LANGUAGE plpgsql AS $$ BEGIN
         FOR id IN 0..rows - 1 LOOP
             INSERT INTO account VALUES (id, 0);
         END LOOP;
     END $$",
    "CREATE FUNCTION move(a bigint, b bigint) RETURNS void LANGUAGE plpgsql AS $$ BEGIN
         UPDATE account SET n = n + 1 WHERE id = a;
         UPDATE account SET n = n - 1 WHERE id = b;
     END $$",
    // What it takes from one account decides how long it works on its way to the other.
    "CREATE FUNCTION spin(a bigint, b bigint, long bigint) RETURNS void LANGUAGE plpgsql AS $$
     DECLARE x bigint; y bigint := 0; BEGIN
         UPDATE account SET n = n + 1 WHERE id = a RETURNING n * 0 + long INTO x;
         FOR i IN 1..x LOOP
             y := y + i % 2;
         END LOOP;
         UPDATE account SET n = n - 1 - y * 0 WHERE id = b;
     END $$",
    "CREATE FUNCTION note(a bigint, b bigint, at bigint, size bigint) RETURNS void
     LANGUAGE plpgsql AS $$ BEGIN
         UPDATE account SET n = n + 1 WHERE id = a;
         INSERT INTO note VALUES (b, at, repeat('x', size::integer));
         UPDATE account SET n = n - 1 WHERE id = b;
     END $$",
];

/// All ways in which engines run calls in parts on two threads.
fn every_scheme(run: impl Fn(Config)) {
    let schemes: [(&str, &[(&str, &str)]); 11] = [
        ("partitioned", &[("scheme", "blocking"), ("partitions", "2")]),
        ("partitioned", &[("scheme", "local"), ("partitions", "2")]),
        ("partitioned", &[("scheme", "speculation"), ("partitions", "2")]),
        ("partitioned", &[("scheme", "speculation"), ("partitions", "2"), ("coordinators", "2")]),
        ("partitioned", &[("scheme", "locking"), ("partitions", "2")]),
        ("partitioned", &[("scheme", "locking"), ("partitions", "2"), ("locks", "always")]),
        ("dora", &[("plans", "parallel")]),
        ("dora", &[("plans", "sequential"), ("executors", "4")]),
        ("dora", &[("spread", "tables")]),
        ("dora", &[("enqueue", "latched"), ("executors", "4")]),
        ("dora", &[("spread", "tables"), ("locks", "phase"), ("rebalance", "on")]),
    ];
    for (engine, settings) in schemes {
        println!("{engine}: {settings:?}");
        run(Config::default().threads(2).engine(engine).variant(settings));
    }
}

fn prepare(db: &Database) -> Session {
    let session = db.session();
    for statement in DEFINITIONS {
        session.execute(statement).expect("it is legal");
    }
    session.call("fill", (ACCOUNTS,)).expect("there is room");
    session
}

/// The sum of all accounts, which every call keeps.
fn sum(session: &Session) -> String {
    let results = session.execute("SELECT sum(n) FROM account").expect("it is legal");
    results[0].rows.iter().next().expect("one row")[0].to_string()
}

fn count_notes(session: &Session) -> i64 {
    let results = session.execute("SELECT count(*) FROM note").expect("it is legal");
    match results[0].rows.iter().next() {
        Some([Value::BigInt(count)]) => *count,
        other => panic!("{other:?}"),
    }
}

/// Moves from all accounts to all others, from a thread of its own, until told to end; how many
/// times.
fn move_on(db: &Database, ends: &AtomicBool, moved: &AtomicI64) {
    let session = db.session();
    let mut a = 0;
    while !ends.load(Ordering::Relaxed) {
        a = (a + 7) % ACCOUNTS;
        session.call("move", (a, (a + 1) % ACCOUNTS)).expect("nothing is wrong with it");
        moved.fetch_add(1, Ordering::Relaxed);
    }
}

/// Runs something while others move.
fn among_others<T>(db: &Database, run: impl FnOnce(&dyn Fn()) -> T) -> T {
    let (ends, moved) = (AtomicBool::new(false), AtomicI64::new(0));
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| move_on(db, &ends, &moved));
        }
        let go_on = || {
            let (before, began) = (moved.load(Ordering::Relaxed), Instant::now());
            while moved.load(Ordering::Relaxed) < before + 20 {
                assert!(began.elapsed() < Duration::from_secs(60), "the others go on");
                std::thread::sleep(Duration::from_millis(1));
            }
        };
        let result = run(&go_on);
        ends.store(true, Ordering::Relaxed);
        result
    })
}

#[test]
fn one_that_takes_too_long_is_gone_in_whichever_state_it_was() {
    every_scheme(|config| {
        let db = Database::open_in_memory(config.step_budget(u64::MAX)).expect("it opens");
        let watcher = prepare(&db);
        let codes = among_others(&db, |go_on| {
            let session = db.session();
            let mut codes = Vec::new();
            // Short ones end; others are found waiting for their turn, at work in a part or between
            // two, or about to be told their end.
            for (time_out, long) in
                [(5, 1_000_000_000), (20, 1_000_000_000), (1, 2_000), (60_000, 10)]
            {
                session.execute(&format!("SET statement_timeout = {time_out}")).expect("legal");
                for a in 0..6 {
                    codes.push((time_out, code(session.call("spin", (a, a + 1, long)))));
                }
                go_on();
            }
            codes
        });
        for (time_out, code) in codes {
            let may_be: &[&str] = match time_out {
                5 | 20 => &["57014"],
                1 => &["57014", "done"],
                _ => &["done"],
            };
            assert!(may_be.contains(&code.as_str()), "{time_out}: {code}");
        }
        assert_eq!(sum(&watcher), "0");
        db.shutdown();
    });
}

#[test]
fn one_that_is_cancelled_is_gone() {
    every_scheme(|config| {
        let db = Database::open_in_memory(config.step_budget(u64::MAX)).expect("it opens");
        let watcher = prepare(&db);
        among_others(&db, |go_on| {
            for a in 0..8 {
                let session = db.session();
                let canceller = session.canceller();
                std::thread::scope(|scope| {
                    let long = 1_000_000_000_i64;
                    let call = scope.spawn(move || code(session.call("spin", (a, a + 1, long))));
                    std::thread::sleep(Duration::from_millis(a as u64));
                    while !call.is_finished() {
                        canceller.cancel();
                        std::thread::sleep(Duration::from_millis(1));
                    }
                    assert_eq!(call.join().expect("it ends"), "57014");
                });
                go_on();
            }
        });
        assert_eq!(sum(&watcher), "0");
        db.shutdown();
    });
}

#[test]
fn one_whose_part_finds_no_memory_is_gone() {
    every_scheme(|config| {
        let db = Database::open_in_memory(config.memory_bytes(16 << 20)).expect("it opens");
        let watcher = prepare(&db);
        let noted = among_others(&db, |go_on| {
            let session = db.session();
            let (mut noted, mut refused) = (0, 0);
            for at in 0..400 {
                let a = at % ACCOUNTS;
                match code(session.call("note", (a, (a + 1) % ACCOUNTS, at, 100_000_i64))).as_str()
                {
                    "done" => noted += 1,
                    "53200" => refused += 1,
                    other => panic!("{other}"),
                }
            }
            assert!(noted > 20 && refused > 20, "{noted} had room, {refused} had none");
            go_on();
            noted
        });
        assert_eq!((sum(&watcher).as_str(), count_notes(&watcher)), ("0", noted));
        db.shutdown();
    });
}

#[test]
fn one_part_that_fails_takes_the_others_along() {
    every_scheme(|config| {
        let db = Database::open_in_memory(config).expect("it opens");
        let watcher = prepare(&db);
        among_others(&db, |go_on| {
            let session = db.session();
            for at in 0..60 {
                let a = at % ACCOUNTS;
                // The second time a note is there already.
                let b = (a + 1) % ACCOUNTS;
                assert_eq!(code(session.call("note", (a, b, at, 3_i64))), "done");
                assert_eq!(code(session.call("note", (a, b, at, 3_i64))), "23505");
            }
            go_on();
        });
        assert_eq!((sum(&watcher).as_str(), count_notes(&watcher)), ("0", 60));
        db.shutdown();
    });
}

#[test]
fn more_partitions_than_keys_are_no_harm_and_bad_settings_are_refused() {
    let config = || Config::default().threads(2).engine("partitioned");
    let many = config().variant(&[("scheme", "speculation"), ("partitions", "1000")]);
    let db = Database::open_in_memory(many).expect("it opens");
    let session = prepare(&db);
    for a in 0..ACCOUNTS {
        session.call("move", (a, (a + 1) % ACCOUNTS)).expect("nothing is wrong with it");
    }
    assert_eq!(sum(&session), "0");
    let refused = session
        .execute("CREATE TABLE x (id bigint PRIMARY KEY, n bigint) WITH (routing = 'n')")
        .expect_err("rows are routed by their key");
    assert!(refused.to_string().contains("routing"), "{refused}");
    db.shutdown();
    for (name, value) in [("scheme", "speculate"), ("partitions", "0"), ("depth", "many")] {
        let bad = config().variant(&[("scheme", "speculation"), (name, value)]);
        let Err(error) = Database::open_in_memory(bad) else { panic!("{name} = {value}") };
        let text = error.to_string();
        assert!(text.contains(name) && text.contains(value), "{text}");
    }
}

/// A replicated table is read wherever the call is, and written in all partitions at once.
#[test]
fn a_replicated_table_is_read_anywhere_and_written_everywhere() {
    every_scheme(|config| {
        let db = Database::open_in_memory(config).expect("it opens");
        let watcher = prepare(&db);
        for statement in [
            "CREATE TABLE rate (id bigint PRIMARY KEY, percent bigint)
                 WITH (routing = 'replicated')",
            "CREATE FUNCTION set_rates(now bigint) RETURNS void LANGUAGE plpgsql AS $$ BEGIN
                 DELETE FROM rate WHERE id = 1;
                 INSERT INTO rate VALUES (1, now);
                 UPDATE rate SET percent = now WHERE id = 2;
             END $$",
            "CREATE FUNCTION charge(a bigint, b bigint) RETURNS bigint LANGUAGE plpgsql AS $$
             DECLARE one bigint; other bigint; BEGIN
                 SELECT percent INTO one FROM rate WHERE id = 1;
                 UPDATE account SET n = n + one WHERE id = a;
                 SELECT percent INTO other FROM rate WHERE id = 2;
                 UPDATE account SET n = n - other WHERE id = b;
                 IF one <> other THEN RAISE EXCEPTION 'rates % and %', one, other; END IF;
                 RETURN one;
             END $$",
            "INSERT INTO rate VALUES (1, 0), (2, 0)",
        ] {
            watcher.execute(statement).expect("it is legal");
        }
        let explain = |what: &str| {
            let rows = watcher.execute(&format!("EXPLAIN PROCEDURE {what}")).expect("it is there");
            format!("{:?}", rows[0].rows)
        };
        let says = |what: &str, text: &str| {
            let told = explain(what);
            assert!(told.contains(text), "{told}");
        };
        says("charge", "A call touches one partition when b = a");
        says("charge", "any partition (replicated)");
        says("set_rates", "A call touches all partitions");
        let ends = AtomicBool::new(false);
        std::thread::scope(|scope| {
            for own in 0..2 {
                let (db, ends) = (&db, &ends);
                scope.spawn(move || {
                    let session = db.session();
                    let (mut a, mut seen) = (own, 0);
                    while !ends.load(Ordering::Relaxed) {
                        a = (a + 7) % ACCOUNTS;
                        let other = (a + a % 2) % ACCOUNTS; // half are of one partition
                        let rows = session.call("charge", (a, other)).expect("rates are the same");
                        let rate: i64 = rows.one().expect("one number");
                        assert!(rate >= seen, "{rate} was set before {seen}");
                        seen = rate;
                    }
                });
            }
            let session = db.session();
            for now in 1..=100_i64 {
                session.call("set_rates", (now,)).expect("nothing is wrong with it");
            }
            ends.store(true, Ordering::Relaxed);
        });
        assert_eq!(sum(&watcher), "0");
        db.shutdown();
    });
}

/// Notes numbers from its own on until the log has failed: those that were told to be durable.
fn note_until_it_fails(db: &Database, own: i64, failing: &impl Fn(usize)) -> Vec<i64> {
    let session = db.session();
    let mut told = Vec::new();
    for at in (own..).step_by(4) {
        let a = at % ACCOUNTS;
        match code(session.call("note", (a, (a + 1) % ACCOUNTS, at, 3_i64))).as_str() {
            "done" => told.push(at),
            "08007" | "58030" => break,
            other => panic!("{other}"),
        }
        failing(told.len());
    }
    told
}

#[test]
fn a_log_that_fails_ends_all_and_nothing_that_was_told_is_gone() {
    every_scheme(|config| {
        let directory = Directory::new("parts-log");
        let disk = Arc::<DiskSwitch>::default();
        let mut engines = engines().iter();
        let entry = engines.find(|entry| entry.name == config.engine).expect("it is there");
        let sync = Arc::clone(&disk);
        let opened = move || sync.pass();
        let db = Database::open_on_slow_log(entry, &directory.0, config.clone(), opened);
        let db = db.expect("it opens");
        prepare(&db);
        let failing = |told: usize| {
            if told == 40 {
                disk.fail();
            }
        };
        let told: Vec<i64> = std::thread::scope(|scope| {
            let client = |own| {
                let (db, failing) = (&db, &failing);
                scope.spawn(move || note_until_it_fails(db, own, failing))
            };
            let clients: Vec<_> = (0..4).map(client).collect();
            clients.into_iter().flat_map(|client| client.join().expect("it ends")).collect()
        });
        assert!(told.len() >= 40, "{told:?}");
        assert_eq!(code(db.session().call("move", (0_i64, 1_i64))), "58030");
        drop(db);
        let db = Database::open(&directory.0, config).expect("it is recovered");
        let session = db.session();
        let notes = session.execute("SELECT number FROM note").expect("it is legal");
        let there: Vec<_> = notes[0].rows.iter().map(|row| row[0].clone()).collect();
        let gone = told.iter().find(|at| !there.contains(&Value::BigInt(**at)));
        assert_eq!((gone, sum(&session).as_str()), (None, "0"));
        db.shutdown();
    });
}

/// Where many calls of a procedure abort, they are run so that nobody works for one in vain, and
/// where they no longer do, side by side again.
#[test]
fn plans_follow_what_aborts() {
    let config = Config::default().threads(2).engine("dora");
    let db = Database::open_in_memory(config).expect("it opens");
    let session = prepare(&db);
    session
        .execute(
            "CREATE FUNCTION try(a bigint, b bigint, fails boolean) RETURNS void
             LANGUAGE plpgsql AS $$ BEGIN
                 UPDATE account SET n = n + 1 WHERE id = a;
                 IF fails THEN RAISE EXCEPTION 'no'; END IF;
                 UPDATE account SET n = n - 1 WHERE id = b;
             END $$",
        )
        .expect("it is legal");
    let choice = || {
        let results = session.execute("SELECT choice FROM hotrow.engine_status").expect("legal");
        results[0].rows.iter().next().expect("one row")[0].to_string()
    };
    let is_parallel = |told: String| told.ends_with("plans: all parallel, since few calls abort");
    assert!(is_parallel(choice()), "{}", choice());
    // From several sessions, so that both threads have some.
    let try_some = |fails: fn(i64) -> bool| {
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    let session = db.session();
                    for call in 0..2_000 {
                        let pair = (call % ACCOUNTS, (call * 7 + 1) % ACCOUNTS, fails(call));
                        let ended = code(session.call("try", pair));
                        assert_eq!(ended, if fails(call) { "P0001" } else { "done" });
                    }
                });
            }
        });
    };
    try_some(|call| call % 3 == 0);
    let told = choice();
    assert!(told.contains("plans: sequential for try, of whose calls "), "{told}");
    assert!(told.contains(" abort, since a thread's ") && told.contains("; queues: "), "{told}");
    // Both ways have been gone, and calls whose accounts were one thread's, too.
    let count = |kind: &str| -> u64 {
        let before = told.split(kind).next().expect("there is something");
        before.rsplit(' ').next().expect("a number").parse().expect("a number")
    };
    let kinds = [" in one thread", " in parallel", " sequential,"].map(count);
    assert!(kinds.iter().all(|&calls| calls > 0), "{told}");
    // A thread decides for the calls that come to it, some hundreds of which it has to see.
    let began = Instant::now();
    while !is_parallel(choice()) {
        assert!(began.elapsed() < Duration::from_secs(60), "{}", choice());
        try_some(|_| false);
    }
    assert_eq!(sum(&session), "0");
}
