//! Serial equivalence (DESIGN 6.1): the engine's own order of commits, replayed on the reference
//! engine, gives the same results, call by call, and the same final state.

use std::sync::Mutex;

use hotrow::{Database, Error, Rows, Traced};
use hotrow_tests::matrix::{self, Setup};
use hotrow_tests::{generate, seed, state};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

const RUNS: u64 = 400;
const CLIENTS: u64 = 4;
const CALLS_PER_CLIENT: u64 = 20;
/// What a generated call may fail with: constraints, RAISE, a NULL where none may be, several rows
/// of RETURNING INTO, a row that one ON CONFLICT DO UPDATE comes to twice.
const ALLOWED: &[&str] = &["23505", "23514", "23502", "P0001", "P0003", "22004", "22003", "21000"];

/// Runs random calls at the same time; how many committed.
pub fn call_at_random(db: &Database, seed: u64, procedures: usize) -> usize {
    let committed = Mutex::new(0);
    std::thread::scope(|scope| {
        for client in 0..CLIENTS {
            let (session, committed) = (db.session(), &committed);
            scope.spawn(move || {
                let mut random = StdRng::seed_from_u64(seed * 1000 + client);
                for _ in 0..CALLS_PER_CLIENT {
                    let name = format!("f{}", random.random_range(0..procedures));
                    let arguments = generate::arguments(&mut random);
                    match session.call(&name, arguments) {
                        Ok(_) => *committed.lock().expect("clients do not panic") += 1,
                        Err(Error::Sql(error)) if ALLOWED.contains(&error.code()) => {}
                        Err(error) => panic!("{name}: {error}"),
                    }
                }
            });
        }
    });
    committed.into_inner().expect("clients do not panic")
}

/// Runs random procedures on an engine and their trace on the reference; the first difference.
pub fn difference(setup: &Setup, seed: u64, mut random: StdRng) -> Option<String> {
    let generate::Script { text: script, procedures } = generate::script(&mut random);
    let db = setup.open_with(|config| config.trace(true));
    let context = |what: String| format!("{} {what}\n{script}", setup.name);
    db.session().execute(&script).unwrap_or_else(|error| panic!("{}", context(error.to_string())));
    let committed = call_at_random(&db, seed, procedures);
    let calls = db.trace().expect("it was asked for").take();
    if calls.len() != committed {
        return Some(context(format!("traced {} calls, committed {committed}", calls.len())));
    }
    let reference = matrix::reference().open();
    let session = reference.session();
    session.execute(&script).expect("it was right before");
    for Traced { position, invocation, result } in calls {
        let (expected, replayed) = (Rows::from(result), session.replay(&invocation));
        if !matches!(&replayed, Ok(rows) if *rows == expected) {
            let call = format!("call {position} {invocation:?}");
            return Some(context(format!("{call}\n  gave {expected:?}\n  replayed {replayed:?}")));
        }
    }
    let (state, replayed) = (state::dump_checked(&db), state::dump_checked(&reference));
    (state != replayed).then(|| context(format!("ended as {state:?}\n  replayed {replayed:?}")))
}

#[test]
fn random_calls_are_equivalent_to_their_serial_order() {
    let setups = matrix::setups(&[1, 2, 4]);
    seed::for_seeds(1, RUNS, |seed, random| {
        let setup = &setups[seed as usize % setups.len()];
        if let Some(difference) = difference(setup, seed, random) {
            panic!("{difference}");
        }
    });
}
