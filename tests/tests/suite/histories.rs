//! Histories of every engine are strictly serializable, as far as a checker can tell that knows
//! nothing of engines.

use std::cell::Cell;

use hotrow_history::check;
use hotrow_tests::history_run::{Load, Step, record};
use hotrow_tests::{matrix, seed};
use rand::Rng;
use rand::rngs::StdRng;

const RUNS_PER_SETUP: u64 = 2;

/// Everything at once, on few keys.
fn mixed(random: &mut StdRng, _client: u64) -> Vec<Step> {
    let steps = random.random_range(1..6);
    let step = |random: &mut StdRng| {
        let key = random.random_range(0..3);
        match random.random_range(0..8) {
            0 | 1 => Step::Read(key),
            2 | 3 => Step::Append(key),
            4 => Step::Scan(10 + key % 2),
            5 => Step::Add(10 + key % 2),
            6 => Step::ReadRegister(20 + key),
            _ => Step::Write(20 + key),
        }
    };
    (0..steps).map(|_| step(random)).collect()
}

#[test]
fn histories_are_strictly_serializable() {
    let setups = matrix::setups(&[1, 2, 4]);
    seed::for_seeds(1, setups.len() as u64 * RUNS_PER_SETUP, |seed, _| {
        let setup = &setups[seed as usize % setups.len()];
        let load = Load { seed, clients: 5, transactions: 40, fail_percent: 10, typed_percent: 0 };
        let report = check(&record(&setup.open(), load, mixed));
        assert!(report.is_clean(), "{}: {report}", setup.name);
        assert!(report.transactions_checked > 150, "{}: {report}", setup.name);
    });
}

/// Calls, transactions typed statement by statement, and savepoints, on the same rows.
#[test]
fn histories_of_calls_and_typed_transactions_are_strictly_serializable() {
    let setups = matrix::setups(&[1, 2, 4]);
    let (histories, checked) = (Cell::new(0), Cell::new(0));
    seed::for_seeds(1000, setups.len() as u64 * RUNS_PER_SETUP, |seed, _| {
        let setup = &setups[seed as usize % setups.len()];
        let typed_percent = if seed % 3 == 0 { 100 } else { 50 };
        let load = Load { seed, clients: 5, transactions: 40, fail_percent: 10, typed_percent };
        let report = check(&record(&setup.open(), load, mixed));
        assert!(report.is_clean(), "{}: {report}", setup.name);
        // Of transactions that are typed, policies that refuse undo many for good.
        assert!(report.transactions_checked > 20, "{}: {report}", setup.name);
        histories.set(histories.get() + 1);
        checked.set(checked.get() + report.transactions_checked);
    });
    let (histories, checked) = (histories.get(), checked.get());
    println!("{checked} transactions in {histories} histories");
    assert!(checked > 80 * histories, "{checked} transactions in {histories} histories");
}
