//! Times the check of large histories: `cargo run --release -p hotrow-history --example
//! check_speed [transactions]`.

use std::time::Instant;

use hotrow_history::{History, Op, Transaction, check};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

/// Transactions in flight at any time.
const CONCURRENT: u64 = 32;

/// Appends to one list before a fresh one takes its place, as in Jepsen's workloads.
const LIST_MAX: usize = 64;

fn main() {
    let argument = std::env::args().nth(1).and_then(|text| text.parse().ok());
    let transactions = argument.unwrap_or(100_000);
    report("lists", &lists(transactions, 0));
    report("lists, one read in 1000 stale", &lists(transactions, 1));
    report("lists, one read in 5 stale", &lists(transactions, 200));
    report("registers", &registers(transactions));
    report("scans", &scans(transactions));
}

fn report(name: &str, history: &History) {
    let started = Instant::now();
    let report = check(history);
    let took = started.elapsed();
    println!("{name}: {} transactions, {took:?}, {:?}", history.transactions.len(), report.counts);
}

/// Serial execution, each transaction stretched over its neighbours.
fn timed(id: u64, ops: Vec<Op>) -> Transaction {
    Transaction::committed(id, id % CONCURRENT, 10 * id, 10 * (id + CONCURRENT) - 1, ops)
}

fn lists(transactions: u64, stale_per_mille: u32) -> History {
    let mut random = StdRng::seed_from_u64(1);
    let mut lists: Vec<(u64, Vec<i64>)> = (0..16).map(|key| (key, Vec::new())).collect();
    let (mut keys, mut value) = (16, 0);
    let transaction = |id| {
        let op = |_| {
            let list = &mut lists[random.random_range(0..16)];
            if list.1.len() == LIST_MAX {
                *list = (keys, Vec::new());
                keys += 1;
            }
            if random.random_bool(0.5) {
                value += 1;
                list.1.push(value);
                return Op::append(list.0, value);
            }
            let stale = random.random_range(0..1000) < stale_per_mille;
            let hidden = if stale { random.random_range(0..=list.1.len()) } else { 0 };
            Op::read(list.0, &list.1[..list.1.len() - hidden])
        };
        timed(id, (0..4).map(op).collect())
    };
    History::new((0..transactions).map(transaction).collect())
}

fn registers(transactions: u64) -> History {
    let mut random = StdRng::seed_from_u64(1);
    let mut registers = [None; 16];
    let transaction = |id| {
        let op = |place| {
            let key = random.random_range(0..16);
            if random.random_bool(0.5) {
                registers[key] = Some(4 * id as i64 + place);
                return Op::write(key as u64, 4 * id as i64 + place);
            }
            Op::read_register(key as u64, registers[key])
        };
        timed(id, (0..4).map(op).collect())
    };
    History::new((0..transactions).map(transaction).collect())
}

fn scans(transactions: u64) -> History {
    let mut random = StdRng::seed_from_u64(1);
    let mut entries: Vec<i64> = Vec::new();
    let transaction = |id| {
        let key = id / 200;
        if id % 200 == 0 {
            entries.clear();
        }
        let scan = Op::scan(key, entries.clone());
        if random.random_bool(0.5) {
            return timed(id, vec![scan]);
        }
        entries.push(id as i64);
        timed(id, vec![scan, Op::append(key, id as i64)])
    };
    History::new((0..transactions).map(transaction).collect())
}
