//! Prints what coarse locks cost in each form: `intent_cost [threads [transactions]]`.

use hotrow_engine::contract::ExperimentOptions;
use hotrow_two_phase_locking::experiment::INTENTS;

fn main() {
    let mut arguments = std::env::args().skip(1).map(|text| text.parse().expect("a number"));
    let threads = arguments.next().unwrap_or(2) as usize;
    let transactions = arguments.next().unwrap_or(1_000_000);
    for point in (INTENTS.run)(&ExperimentOptions { threads, transactions, seed: 1 }) {
        println!("{:24} {:8} {:8.3} s", point.series, point.x, point.value);
    }
}
