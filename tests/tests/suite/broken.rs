//! Engines that are wrong on purpose must be convicted, each of the anomaly its flaw allows.
//!
//! Reached this way: write cycles (G0), aborted, intermediate and circular reads (G1a to c), lost
//! updates, read skew, write skew, phantoms, stale reads. Long forks need several sites or
//! snapshots, which locks with one flaw do not give: a toy store shows those to the checker (the
//! history crate's `broken_stores` test, which has one toy for each class).

mod engine;

use engine::{ENTRY, Flaw};
use hotrow_history::{AnomalyClass, Report, check};
use hotrow_tests::history_run::{Load, Step, record};
use hotrow_tests::matrix::Setup;
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

use crate::serial;

use Step::{Add, Append, Read, ReadRegister, Scan, Write};

/// Runs until the flaw must have shown; it nearly always shows in the first.
const SEEDS: u64 = 40;

fn report(
    flaw: Flaw,
    seed: u64,
    fail_percent: u32,
    plan: impl Fn(&mut StdRng, u64) -> Vec<Step> + Sync,
) -> Report {
    let setup = Setup::new(&ENTRY, &[("flaw", flaw.name())], 4);
    let load = Load { seed, clients: 6, transactions: 25, fail_percent, typed_percent: 0 };
    check(&record(&setup.open_with(|config| config.in_flight(1)), load, plan))
}

fn convict(
    flaw: Flaw,
    class: AnomalyClass,
    fail_percent: u32,
    plan: impl Fn(&mut StdRng, u64) -> Vec<Step> + Sync,
) {
    let mut found = Vec::new();
    for seed in 1..=SEEDS {
        let report = report(flaw, seed, fail_percent, &plan);
        if report.has(class) {
            println!("{flaw:?} convicted in run {seed}: {:?}", report.classes());
            return;
        }
        found.extend(report.classes());
    }
    panic!("{flaw:?}: no {class} in {SEEDS} runs, but {found:?}");
}

/// The control: the same engine and plans without a flaw.
#[test]
fn without_a_flaw_it_is_acquitted() {
    for seed in 1..=6 {
        let report = report(Flaw::None, seed, 10, |random, client| {
            let key = random.random_range(0..2);
            match random.random_range(0..4) {
                0 => vec![Read(0), Read(1), Append(key)],
                1 => vec![Scan(10), Add(10), Append(client % 2)],
                2 => vec![ReadRegister(20 + key), Write(20 + key), ReadRegister(21 - key)],
                _ => vec![Append(key), Append(1 - key), Append(key)],
            }
        });
        assert!(report.is_clean(), "seed {seed}: {report}");
    }
}

#[test]
fn locks_released_one_by_one_give_write_cycles() {
    convict(Flaw::LocksOneByOne, AnomalyClass::WriteCycle, 0, |random, _| {
        let first = random.random_range(0..2);
        vec![Append(first), Append(1 - first)]
    });
}

#[test]
fn unlocked_reads_see_what_is_rolled_back() {
    convict(Flaw::ReadsUnlocked, AnomalyClass::AbortedRead, 50, |random, client| {
        let key = random.random_range(0..3);
        if client < 3 {
            vec![Append(key), Append(2 - key)]
        } else {
            vec![Read(0), Read(1), Read(2)]
        }
    });
}

#[test]
fn unlocked_reads_see_half_a_transaction() {
    convict(Flaw::ReadsUnlocked, AnomalyClass::IntermediateRead, 0, |random, client| {
        let key = random.random_range(0..2);
        if client < 3 {
            vec![Append(key), Append(key), Append(key)]
        } else {
            vec![Read(0), Read(1)]
        }
    });
}

#[test]
fn unlocked_reads_see_each_other() {
    convict(Flaw::ReadsUnlocked, AnomalyClass::CircularInformationFlow, 0, |_, client| {
        vec![Append(client % 2), Read(1 - client % 2)]
    });
}

#[test]
fn brief_read_locks_lose_updates() {
    convict(Flaw::ReadLocksBrief, AnomalyClass::LostUpdate, 0, |random, _| {
        let key = 20 + random.random_range(0..2);
        vec![ReadRegister(key), Write(key)]
    });
}

#[test]
fn brief_read_locks_skew_reads() {
    convict(Flaw::ReadLocksBrief, AnomalyClass::ReadSkew, 0, |_, client| {
        if client < 3 { vec![Append(0), Append(1)] } else { vec![Read(0), Read(1)] }
    });
}

#[test]
fn brief_read_locks_skew_writes() {
    convict(Flaw::ReadLocksBrief, AnomalyClass::WriteSkew, 0, |random, _| {
        vec![Read(0), Read(1), Append(random.random_range(0..2))]
    });
}

#[test]
fn unlocked_scans_miss_phantoms() {
    convict(Flaw::ScansUnlocked, AnomalyClass::Phantom, 0, |_, _| vec![Scan(10), Add(10)]);
}

#[test]
fn early_acknowledgements_give_stale_reads() {
    convict(Flaw::AcknowledgedEarly, AnomalyClass::StaleRead, 0, |random, client| {
        if client < 3 { vec![Append(random.random_range(0..2))] } else { vec![Read(0), Read(1)] }
    });
}

/// The other proof bites too: replaying the trace of an engine that reads without locks differs.
#[test]
fn serial_equivalence_convicts_unlocked_reads() {
    let compare = |flaw: Flaw, seed| {
        let setup = Setup::new(&ENTRY, &[("flaw", flaw.name())], 4);
        let setup = Setup { config: setup.config.clone().in_flight(1), ..setup };
        serial::difference(&setup, seed, StdRng::seed_from_u64(seed))
    };
    assert!((1..=SEEDS).any(|seed| compare(Flaw::ReadsUnlocked, seed).is_some()));
    for seed in 1..=10 {
        assert_eq!(compare(Flaw::None, seed), None);
    }
}
