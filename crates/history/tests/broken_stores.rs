//! Every broken toy store must be convicted of exactly its anomaly; the correct ones of none.
//!
//! Each store has one flaw, and each workload is cut so that this flaw shows as one class only.

mod toy;

use hotrow_history::{AnomalyClass, History, Report, check, format};
use rand::Rng;
use rand::rngs::StdRng;

use toy::locks::{Hold, LockStore, Locking, STRICT, SerialStore};
use toy::simulator::{Plan, Step, run};
use toy::versions::{LaggingReplica, SnapshotStore, TwoSites};
use toy::{FIRST_INDEX, Store};

use Step::{Append, Read, ReadRegister, Write};

const SEEDS: u64 = 20;

fn plan(seed: u64) -> Plan {
    Plan { seed, processes: 6, transactions_per_process: 30, rollback_percent: 0, in_rounds: false }
}

/// Runs many seeds: no report may hold another class, and nearly every run must show this one.
fn convict(class: AnomalyClass, history: impl Fn(u64) -> History) {
    let reports: Vec<Report> = (0..SEEDS).map(|seed| check(&history(seed))).collect();
    for (seed, report) in reports.iter().enumerate() {
        assert!(report.classes().iter().all(|found| *found == class), "seed {seed}: {report}");
    }
    let found = reports.iter().filter(|report| report.has(class)).count() as u64;
    assert!(found * 10 >= SEEDS * 9, "{class}: only {found} of {SEEDS} runs");
    println!("{}", reports.iter().find(|report| !report.is_clean()).expect("counted above"));
}

/// Everything at once: reads, appends, scans, registers; some roll back.
fn mixed(random: &mut StdRng, _process: u64) -> Vec<Step> {
    let steps = random.random_range(1..5);
    let step = |random: &mut StdRng| {
        let key = random.random_range(0..3);
        match random.random_range(0..6) {
            0 => Append(key),
            1 => Read(key),
            2 => Append(FIRST_INDEX),
            3 => Read(FIRST_INDEX),
            4 => Write(10 + key),
            _ => ReadRegister(10 + key),
        }
    };
    (0..steps).map(|_| step(random)).collect()
}

fn acquit(make: impl Fn() -> Box<dyn Store>) {
    for seed in 0..3 * SEEDS {
        let history = run(&mut *make(), Plan { rollback_percent: 10, ..plan(seed) }, mixed);
        let report = check(&history);
        assert!(report.is_clean(), "seed {seed}: {report}");
        assert!(report.transactions_checked > 60, "seed {seed}: {report}");
    }
}

#[test]
fn serial_store_is_clean() {
    acquit(|| Box::new(SerialStore::new()));
}

#[test]
fn strict_two_phase_locking_is_clean() {
    acquit(|| Box::new(LockStore::new(STRICT)));
}

#[test]
fn no_write_locks_give_write_cycles() {
    let locking = Locking { writes: Hold::Never, ..STRICT };
    convict(AnomalyClass::WriteCycle, |seed| {
        // Only the last transaction, long after the others, reads.
        let mut begun = 0;
        let plan = plan(seed);
        let writers = plan.processes * plan.transactions_per_process;
        let mut store = LockStore::new(locking);
        let mut history = run(&mut store, plan, |random, _| {
            begun += 1;
            let first = random.random_range(0..2);
            vec![Append(first), Append(1 - first)]
        });
        assert_eq!(begun, writers);
        let last = Plan { processes: 1, transactions_per_process: 1, ..plan };
        let reader = run(&mut store, last, |_, _| vec![Read(0), Read(1)]);
        let quiet =
            1 + history.transactions.iter().filter_map(|txn| txn.completed_ns).max().unwrap_or(0);
        for mut txn in reader.transactions {
            txn.id = writers;
            txn.invoked_ns += quiet;
            txn.completed_ns = txn.completed_ns.map(|time| time + quiet);
            history.transactions.push(txn);
        }
        history
    });
}

const DIRTY_READS: Locking = Locking { reads: Hold::Never, ..STRICT };

#[test]
fn dirty_reads_of_rolled_back_appends() {
    convict(AnomalyClass::AbortedRead, |seed| {
        let plan = Plan { rollback_percent: 30, ..plan(seed) };
        run(&mut LockStore::new(DIRTY_READS), plan, |random, process| {
            let key = random.random_range(0..3);
            if process < 3 { vec![Append(key)] } else { vec![Read(key)] }
        })
    });
}

#[test]
fn dirty_reads_of_half_a_transaction() {
    convict(AnomalyClass::IntermediateRead, |seed| {
        run(&mut LockStore::new(DIRTY_READS), plan(seed), |random, process| {
            let key = random.random_range(0..3);
            if process < 3 { vec![Append(key), Append(key)] } else { vec![Read(key)] }
        })
    });
}

#[test]
fn dirty_reads_of_each_other() {
    convict(AnomalyClass::CircularInformationFlow, |seed| {
        // Pairs of processes: each appends to its own list, then reads its partner's.
        run(&mut LockStore::new(DIRTY_READS), plan(seed), |_, process| {
            vec![Append(process), Read(process ^ 1)]
        })
    });
}

const READ_COMMITTED: Locking = Locking { reads: Hold::Briefly, ..STRICT };

#[test]
fn short_read_locks_lose_updates() {
    convict(AnomalyClass::LostUpdate, |seed| {
        run(&mut LockStore::new(READ_COMMITTED), plan(seed), |random, _| {
            let key = random.random_range(0..3);
            vec![Read(key), Append(key)]
        })
    });
}

#[test]
fn short_read_locks_lose_register_updates() {
    convict(AnomalyClass::LostUpdate, |seed| {
        run(&mut LockStore::new(READ_COMMITTED), plan(seed), |random, _| {
            let key = random.random_range(0..3);
            vec![ReadRegister(key), Write(key)]
        })
    });
}

#[test]
fn short_read_locks_skew_reads() {
    convict(AnomalyClass::ReadSkew, |seed| {
        run(&mut LockStore::new(READ_COMMITTED), plan(seed), |_, process| {
            if process < 3 { vec![Append(0), Append(1)] } else { vec![Read(0), Read(1)] }
        })
    });
}

#[test]
fn snapshots_permit_write_skew() {
    convict(AnomalyClass::WriteSkew, |seed| {
        run(&mut SnapshotStore::default(), plan(seed), |random, _| {
            vec![Read(0), Read(1), Append(random.random_range(0..2))]
        })
    });
}

#[test]
fn unlocked_predicates_permit_phantoms() {
    let locking = Locking { indexes: Hold::Never, ..STRICT };
    convict(AnomalyClass::Phantom, |seed| {
        run(&mut LockStore::new(locking), plan(seed), |_, _| {
            vec![Read(FIRST_INDEX), Append(FIRST_INDEX)]
        })
    });
}

#[test]
fn two_sites_permit_long_forks() {
    convict(AnomalyClass::LongFork, |seed| {
        let plan = Plan { in_rounds: true, processes: 8, ..plan(seed) };
        let mut begun = 0;
        run(&mut TwoSites::default(), plan, |random, _| {
            begun += 1;
            match begun % 8 {
                1..=4 => vec![Append(random.random_range(0..2))],
                _ => vec![Read(0), Read(1)],
            }
        })
    });
}

#[test]
fn a_lagging_replica_gives_stale_reads() {
    convict(AnomalyClass::StaleRead, |seed| {
        run(&mut LaggingReplica::new(2), plan(seed), |random, process| {
            if process < 3 {
                vec![Append(random.random_range(0..2))]
            } else {
                vec![Read(0), Read(1)]
            }
        })
    });
}

#[test]
fn histories_survive_the_formats() {
    for seed in 0..SEEDS {
        let plan = Plan { rollback_percent: 10, ..plan(seed) };
        let history = run(&mut LockStore::new(DIRTY_READS), plan, |random, process| {
            mixed(random, process).into_iter().filter(|step| *step != Read(FIRST_INDEX)).collect()
        });
        let mut lines = Vec::new();
        history.write_json_lines(&mut lines).expect("writing to memory");
        assert_eq!(History::read_json_lines(lines.as_slice()).expect("just written"), history);
        let mut text = Vec::new();
        format::elle::write(&history, &mut text).expect("writing to memory");
        let text = String::from_utf8(text).expect("EDN is text");
        assert_eq!(format::elle::read(&text).expect("just written"), history);
    }
}
