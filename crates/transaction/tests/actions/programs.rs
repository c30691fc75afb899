//! Random procedures.

use hotrow_base::types::SqlType;
use hotrow_base::value::Value;
use hotrow_transaction::granule::Granules;
use hotrow_transaction::invocation::Invocation;
use hotrow_transaction::program::Procedure;
use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};

use crate::compare::{Planned, Subject, Tally};
use crate::generate::Generator;
use crate::{leaving, protecting, world};

pub fn arguments(procedure: &Procedure, random: &mut SmallRng) -> Invocation {
    let mut invocation = Invocation::default();
    let number = |random: &mut SmallRng| match random.random_range(0..16) {
        0 => Value::Null,
        _ => Value::Int(random.random_range(0..6)),
    };
    for slot in procedure.parameters() {
        let value = match slot.sql_type {
            SqlType::Array(_) => {
                let count = random.random_range(0..4);
                Value::Array((0..count).map(|_| number(random)).collect())
            }
            SqlType::Scalar(world::INT) => number(random),
            _ => Value::Text(format!("text {}", random.random_range(0..99))),
        };
        invocation.arguments.push_value(slot.sql_type, &value).expect("it fits");
    }
    invocation
}

/// What is added to generated programs.
#[derive(Clone, Copy, PartialEq, Eq)]
enum With {
    Nothing,
    /// they say something
    Notices,
    /// they read columns that nobody changes
    Unchanged,
    /// they have loops without a bound, and leave loops and blocks
    Leaving,
    /// they catch errors, and some of them leave loops and blocks
    Protected,
}

/// Tells which program it was that something panicked in.
struct Told(u64);

impl Drop for Told {
    fn drop(&mut self) {
        if std::thread::panicking() {
            println!("in program {}", self.0);
        }
    }
}

fn run(seeds: std::ops::Range<u64>, with: With) -> Tally {
    let catalog = world::catalog();
    let mut tally = Tally::default();
    let mut plan = Planned::default();
    let mut failures = Vec::new();
    for seed in seeds {
        let _told = Told(seed);
        let mut random = SmallRng::seed_from_u64(seed);
        let mut procedure = Generator::procedure(&mut random);
        let own = &mut SmallRng::seed_from_u64(seed);
        match with {
            With::Nothing => {}
            With::Notices => Generator::tell(&mut procedure, own),
            With::Unchanged => Generator::use_unchanged(&mut procedure, own),
            With::Leaving => leaving::add(&mut procedure, own),
            With::Protected => {
                if seed % 2 == 0 {
                    leaving::add(&mut procedure, own);
                }
                protecting::add(&mut procedure, own);
            }
        }
        let granules = Granules::infer(&catalog, [&procedure]);
        let subject = Subject::new(&catalog, &granules, &procedure);
        for call in 0..6 {
            let store = world::store(&catalog, &mut random);
            let invocation = arguments(&procedure, &mut random);
            let order = random.random();
            if let Err(text) = subject.check(&store, &invocation, &mut plan, order, &mut tally) {
                failures.push((procedure.body.len(), seed, call, text, procedure.clone()));
                break;
            }
        }
    }
    failures.sort_by_key(|(size, _, _, text, _)| (*size, text.len()));
    if let Some((_, seed, call, text, procedure)) = failures.first() {
        let count = failures.len();
        let all: Vec<_> = failures.iter().map(|f| (f.1, f.3.len())).collect();
        let body = format!("{:#?}", procedure.body);
        panic!("{count} failures {all:?}; seed {seed}, call {call}: {text}\n{body}");
    }
    tally
}

/// `HOTROW_PROGRAMS` makes more of them, `HOTROW_FIRST` begins with this one.
#[test]
fn any_order_of_actions_is_the_procedure() {
    let (first, count) = programs();
    let tally = run(first..first + count, With::Nothing);
    println!("{tally:?}");
    assert!(tally.replans * 20 < tally.calls, "reconnaissance is mostly right: {tally:?}");
    assert!(tally.whole * 20 < tally.calls, "nearly everything can be cut: {tally:?}");
    assert!(tally.parallel * 5 > tally.calls, "much can run at once: {tally:?}");
    assert!(tally.errors > 0, "calls fail, too: {tally:?}");
    assert_eq!(tally.told, 0);
    let tally = run(first..first + count, With::Notices);
    assert!(tally.told * 2 > tally.calls, "most say something: {tally:?}");
    assert!(tally.flat > 0, "some are flat all the same: {tally:?}");
    let tally = run(first..first + count, With::Unchanged);
    println!("{tally:?}");
    assert!(tally.unlocked * 4 > tally.calls, "many read what nobody changes: {tally:?}");
    assert!(tally.split * 20 > tally.calls, "many have accesses that are cut in two: {tally:?}");
}

/// As above, of procedures with LOOP, EXIT and CONTINUE.
#[test]
fn what_leaves_loops_leaves_them_in_any_order_of_actions() {
    let (first, count) = programs();
    let tally = run(first..first + count, With::Leaving);
    println!("{tally:?}");
    assert!(tally.replans * 20 < tally.calls, "reconnaissance is mostly right: {tally:?}");
    assert!(tally.whole * 4 < tally.calls, "most can be cut: {tally:?}");
    assert!(tally.parallel * 8 > tally.calls, "some can run at once: {tally:?}");
}

/// As above, of procedures that catch errors: in one piece, with planned keys, inside their plans.
#[test]
fn what_is_caught_is_caught_inside_of_plans() {
    let (first, count) = programs();
    let tally = run(first..first + count, With::Protected);
    println!("{tally:?}");
    assert!(tally.protected * 2 > tally.calls, "most catch: {tally:?}");
    assert!(tally.held * 5 > tally.protected, "many plans hold it all: {tally:?}");
    assert!(tally.replans * 3 < tally.calls, "most are planned right: {tally:?}");
}

/// The first one's number, and how many there are.
fn programs() -> (u64, u64) {
    let number = |name| std::env::var(name).ok().and_then(|text| text.parse().ok());
    (number("HOTROW_FIRST").unwrap_or(0), number("HOTROW_PROGRAMS").unwrap_or(2000))
}

/// Only of use as long as the generator makes the same programs of the same numbers.
#[test]
fn programs_that_once_differed() {
    // Failing keys that are never reached; an ignored insert's RETURNING; FOUND behind a trial
    // read; an update that moves an entry within the index it was found by.
    for first in [6846, 9628, 46082, 115_343, 146_539] {
        run(first..first + 1, With::Nothing);
    }
}
