//! Replays: calls run in parallel by their order in a log leave what they left when they were run
//! one after the other, and wrote the same.

use std::sync::Mutex;

use hotrow::{Config, Database, Invocation};
use hotrow_engine::recovery::{LoggedCall, ReplayEnds, ReplayError};
use hotrow_engine::schema::Schema;
use hotrow_tests::loaded::open_loaded;
use hotrow_tests::replay::{replay, run_serially, schema_of};
use hotrow_tests::state::State;
use hotrow_tests::{generate, seed, state};
use hotrow_transaction::bytecode::Program;
use hotrow_transaction::frame::Frame;
use hotrow_transaction::outcome::Rows;
use hotrow_workloads::{Share, Workload};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

use crate::workloads::{Context, Told, small};

const THREADS: [usize; 4] = [1, 2, 4, 8];
const SEED: u64 = 7;
const RUNS: u64 = 300;
const CALLS: usize = 80;
const WORKLOAD_CALLS: usize = 3_000;

fn open(script: &str) -> Database {
    let config = Config::default().threads(8).memory_bytes(256 << 20);
    let db = Database::open_in_memory_without_engine(config).expect("the configuration is right");
    db.session().execute(script).unwrap_or_else(|error| panic!("{error}\n{script}"));
    db
}

/// Calls of a procedure with integer arguments.
fn calls<const N: usize>(
    db: &Database,
    name: &str,
    arguments: impl IntoIterator<Item = [i64; N]>,
) -> Vec<Invocation> {
    let procedure = db.session().procedure(name).expect("it was created").id();
    let call = |arguments: [i64; N]| {
        let mut invocation = Invocation { procedure, ..Invocation::default() };
        arguments.into_iter().for_each(|value| invocation.arguments.push_int(value));
        invocation
    };
    arguments.into_iter().map(call).collect()
}

/// Runs calls on one database and replays them on another with 1 to 8 threads.
fn check(script: &str, calls: &[Invocation]) {
    let db = open(script);
    let logged = run_serially(&schema_of(&db), calls.iter().cloned());
    let expected = state::dump_checked(&db);
    assert!(!logged.is_empty(), "no call committed");
    for threads in THREADS {
        let state = replayed(script, &logged, (threads, CALLS));
        assert!(state == Ok(expected.clone()), "{threads} threads: {state:?}, not {expected:?}");
    }
}

fn replayed(
    script: &str,
    logged: &[LoggedCall],
    how: (usize, usize),
) -> Result<State, ReplayError> {
    let db = open(script);
    replay(&schema_of(&db), logged, how, &())?;
    Ok(state::dump_checked(&db))
}

#[test]
fn random_calls_replayed_leave_the_same_state() {
    seed::for_seeds(1, RUNS, |seed, mut random| {
        let generate::Script { text: script, procedures } = generate::script(&mut random);
        let db = open(&script);
        let schema = schema_of(&db);
        let calls = (0..CALLS).map(|_| random_call(&db, &schema, procedures, &mut random));
        let logged = run_serially(&schema, calls.collect::<Vec<_>>());
        let expected = state::dump_checked(&db);
        let threads = THREADS[seed as usize % THREADS.len()];
        let at_once = random.random_range(1..2 * CALLS);
        let state = replayed(&script, &logged, (threads, at_once));
        assert!(
            state == Ok(expected.clone()),
            "{threads} threads, {at_once} at once, {script}\n{state:?}\nnot {expected:?}"
        );
    });
}

fn random_call(
    db: &Database,
    schema: &Schema,
    procedures: usize,
    random: &mut StdRng,
) -> Invocation {
    let name = format!("f{}", random.random_range(0..procedures));
    let procedure = db.session().procedure(&name).expect("it was created").id();
    let mut invocation = Invocation { procedure, ..Invocation::default() };
    let compiled = schema.procedure(procedure).expect("it was created");
    for (&sql_type, value) in compiled.program.parameters.iter().zip(generate::arguments(random)) {
        invocation.arguments.push_value(sql_type, &value).expect("it fits the parameter");
    }
    invocation
}

const COUNTERS: &str = "
CREATE TABLE c (id bigint PRIMARY KEY, n bigint NOT NULL, next bigint NOT NULL);
INSERT INTO c VALUES (0, 0, 1), (1, 0, 2), (2, 0, 3), (3, 0, 0);
CREATE PROCEDURE bump(p bigint) AS $$ BEGIN
  UPDATE c SET n = n * 3 + 1 WHERE id = p AND n < 1000000;
  UPDATE c SET n = 0 WHERE id = p AND n >= 1000000;
END $$ LANGUAGE plpgsql;
CREATE PROCEDURE point(p bigint, q bigint) AS $$ BEGIN
  UPDATE c SET next = q WHERE id = p;
END $$ LANGUAGE plpgsql;
CREATE PROCEDURE follow(p bigint, add bigint) AS $$ DECLARE q bigint; BEGIN
  SELECT next INTO q FROM c WHERE id = p;
  UPDATE c SET n = n * 2 + add WHERE id = q AND n < 1000000;
END $$ LANGUAGE plpgsql;
CREATE PROCEDURE point_and_follow(p bigint, q bigint) AS $$ DECLARE r bigint; BEGIN
  UPDATE c SET next = q WHERE id = p;
  SELECT next INTO r FROM c WHERE id = p;
  UPDATE c SET n = n + 7 WHERE id = r;
END $$ LANGUAGE plpgsql;
";

const WHOLE: &str = "
CREATE PROCEDURE level(least bigint) AS $$ BEGIN
  UPDATE c SET n = least WHERE n < least;
END $$ LANGUAGE plpgsql;
CREATE PROCEDURE total(p bigint) AS $$ DECLARE t bigint; BEGIN
  SELECT sum(n) INTO t FROM c;
  UPDATE c SET n = t % 1000 WHERE id = p;
END $$ LANGUAGE plpgsql;
";

#[test]
fn calls_on_one_row_keep_their_order() {
    let db = open(COUNTERS);
    let mut all = calls(&db, "bump", [[0]; 700]);
    let pointed = calls(&db, "point", [[0, 2], [0, 3]]);
    all.splice(300..300, pointed);
    check(COUNTERS, &all);
}

/// Calls that change where others, which follow in the same batch, will go.
fn chase(db: &Database, count: usize, random: &mut StdRng) -> Vec<Invocation> {
    let mut one = || match random.random_range(0..6) {
        0 => calls(db, "point", [[random.random_range(0..4), random.random_range(0..4)]]),
        1 => calls(db, "bump", [[random.random_range(0..4)]]),
        2 => {
            let (from, to) = (random.random_range(0..4), random.random_range(0..4));
            calls(db, "point_and_follow", [[from, to]])
        }
        _ => calls(db, "follow", [[random.random_range(0..4), random.random_range(0..9)]]),
    };
    (0..count).flat_map(|_| one()).collect()
}

#[test]
fn a_guess_that_goes_stale_in_its_batch_is_made_again() {
    let db = open(COUNTERS);
    let mut pointed_then_followed = Vec::new();
    for to in [2, 3, 1, 0, 2, 1] {
        // The first one is slow to come: everything behind it has been planned by then.
        pointed_then_followed.extend(calls(&db, "bump", [[0], [0], [0]]));
        pointed_then_followed.extend(calls(&db, "point", [[0, to]]));
        pointed_then_followed.extend(calls(&db, "follow", [[0, to + 1]]));
        pointed_then_followed.extend(calls(&db, "bump", [[to], [to]]));
    }
    let logged = run_serially(&schema_of(&db), pointed_then_followed);
    let expected = state::dump_checked(&db);
    let replaying = open(COUNTERS);
    let counts = replay(&schema_of(&replaying), &logged, (1, CALLS), &()).expect("it is right");
    assert_eq!(state::dump_checked(&replaying), expected);
    assert!(counts.planned_again >= 5, "{counts:?}: `follow` was planned before its `point` ran");
    assert_eq!(counts.alone, 0, "{counts:?}");
    seed::for_seeds(1, 30, |_, mut random| {
        let calls = chase(&db, 200, &mut random);
        check(COUNTERS, &calls);
    });
}

#[test]
fn a_call_that_follows_its_own_writes_runs_alone() {
    let db = open(COUNTERS);
    let all = calls(&db, "point_and_follow", [[0, 2], [0, 3], [1, 1]]);
    let logged = run_serially(&schema_of(&db), all);
    let expected = state::dump_checked(&db);
    let replaying = open(COUNTERS);
    let counts = replay(&schema_of(&replaying), &logged, (2, CALLS), &()).expect("it is right");
    assert_eq!(state::dump_checked(&replaying), expected);
    assert_eq!(counts.alone, 3, "{counts:?}");
}

#[test]
fn calls_that_touch_a_table_as_a_whole_keep_their_order() {
    let script = format!("{COUNTERS}{WHOLE}");
    let db = open(&script);
    let mut all = Vec::new();
    for round in 0..60 {
        all.extend(calls(&db, "bump", [[round % 4], [(round + 1) % 4], [0], [3]]));
        all.extend(calls(&db, "level", [[round * 5]]));
        all.extend(calls(&db, "follow", [[round % 4, 1]]));
        all.extend(calls(&db, "total", [[round % 4]]));
    }
    check(&script, &all);
}

#[test]
fn calls_that_ran_alone_are_replayed_alone() {
    let db = open(COUNTERS);
    let mut logged = run_serially(&schema_of(&db), chase(&db, 300, &mut StdRng::seed_from_u64(5)));
    logged.iter_mut().step_by(17).for_each(|call| call.alone = true);
    let expected = state::dump_checked(&db);
    for threads in THREADS {
        assert_eq!(replayed(COUNTERS, &logged, (threads, 100)), Ok(expected.clone()));
    }
}

/// Keeps results by time.
#[derive(Default)]
struct Results(Mutex<Vec<(u64, Rows)>>);

impl ReplayEnds for Results {
    fn ended(&self, call: &LoggedCall, frame: &mut Frame, program: &Program) {
        let mut results = self.0.lock().expect("nobody panics");
        results.push((call.place.position.time, frame.result_rows(program)));
    }
}

#[test]
fn results_are_told_to_who_asked() {
    let script = "CREATE TABLE n (id bigint PRIMARY KEY, n bigint NOT NULL);
        INSERT INTO n VALUES (1, 0);
        CREATE FUNCTION next() RETURNS bigint AS $$ DECLARE v bigint; BEGIN
          UPDATE n SET n = n + 1 WHERE id = 1 RETURNING n INTO v; RETURN v;
        END $$ LANGUAGE plpgsql;";
    let db = open(script);
    let mut logged = run_serially(&schema_of(&db), calls(&db, "next", [[]; 50]));
    logged.iter_mut().step_by(10).for_each(|call| call.tell_end = true);
    let replaying = open(script);
    let results = Results::default();
    replay(&schema_of(&replaying), &logged, (4, 100), &results).expect("it is right");
    let mut results = results.0.into_inner().expect("nobody panics");
    results.sort_by_key(|(time, _)| *time);
    let values: Vec<_> = results.iter().map(|(_, rows)| format!("{:?}", rows.rows)).collect();
    assert_eq!(
        values,
        ["[[BigInt(1)]]", "[[BigInt(11)]]", "[[BigInt(21)]]", "[[BigInt(31)]]", "[[BigInt(41)]]"]
    );
}

#[test]
fn a_call_that_does_something_else_is_named() {
    let db = open(COUNTERS);
    let schema = schema_of(&db);
    let logged = run_serially(&schema, chase(&db, 200, &mut StdRng::seed_from_u64(9)));
    for threads in THREADS {
        let mut other = logged.clone();
        other[120].write_hash ^= 1;
        let ended = replayed(COUNTERS, &other, (threads, 1000));
        assert!(
            matches!(&ended, Err(ReplayError::Differs { place, .. }) if place.position.time == 120),
            "{ended:?}"
        );
        let mut other = logged.clone();
        other[7].invocation.procedure.0 = 99;
        let ended = replayed(COUNTERS, &other, (threads, 1000));
        let place = logged[7].place;
        assert_eq!(ended, Err(ReplayError::UnknownProcedure { place, procedure: 99 }));
    }
    let message = {
        let script = COUNTERS.replace("WHERE id = p AND n < 1000000;", "WHERE id = p / 0;");
        let bumps = run_serially(&schema, calls(&db, "bump", [[1]; 3]));
        replayed(&script, &bumps, (2, 10)).expect_err("it divides by zero").to_string()
    };
    assert!(message.contains("bump at position 1.0") && message.contains("22012"), "{message}");
}

/// Takes calls from a generator, replays those that committed, and checks what must hold.
fn check_workload(workload: &dyn Workload) {
    let config = || Config::default().threads(8).memory_bytes(512 << 20);
    let db = open_loaded(workload, SEED, config());
    let session = db.session();
    let resolve = |name: &str| session.procedure(name).expect("it was created").id();
    let mut generator = workload.generator(Share::WHOLE, 3, &resolve);
    let mut told = Told { committed: vec![0; workload.kinds().len()], ..Told::default() };
    let schema = schema_of(&db);
    let mut logged = Vec::new();
    for now_us in 1..=WORKLOAD_CALLS as i64 {
        let mut invocation = Invocation::default();
        let kind = generator.next(&mut invocation);
        invocation.now_us = now_us;
        let committed = run_serially(&schema, [invocation]);
        told.committed[kind.index()] += committed.len() as u64;
        told.tally += generator.tally() * committed.len() as u64;
        logged.extend(committed);
    }
    let expected = state::dump(&db);
    for threads in THREADS {
        let replaying = open_loaded(workload, SEED, config());
        let how = (threads, 1_000);
        let counts = replay(&schema_of(&replaying), &logged, how, &());
        let counts = counts.unwrap_or_else(|error| panic!("{threads} threads: {error}"));
        assert_eq!(counts.alone, 0, "{counts:?}");
        let state = state::dump(&replaying);
        for (table, rows) in &expected {
            assert!(*rows == state[table], "{threads} threads: {table} is not as it was");
        }
        for check in workload.checks() {
            let result = check.result(&mut Context(&replaying, &told));
            assert!(result.holds(), "{threads} threads, {}: {}", result.name, result.detail());
        }
    }
}

#[test]
fn tpcc_is_replayed() {
    let sizes = [("items", "100"), ("customers", "30"), ("rollbacks", "5")];
    let mut values = vec![("warehouses", "2"), ("remote-lines", "20"), ("remote-payments", "50")];
    values.extend(sizes);
    check_workload(&*small("tpcc", &values));
    values[0].1 = "1";
    values.truncate(1);
    values.extend(sizes);
    check_workload(&*small("tpcc", &values));
}

#[test]
fn kv_of_two_rounds_is_replayed() {
    let settings = [
        ("clients", "4"),
        ("multi-partition", "50"),
        ("conflict", "50"),
        ("aborts", "5"),
        ("rounds", "2"),
    ];
    check_workload(&*small("kv", &settings));
}

#[test]
fn hot_ycsb_is_replayed() {
    let hot = [("records", "200"), ("hot", "4"), ("hot-operations", "2"), ("reads", "30")];
    check_workload(&*small("ycsb", &hot));
}
