//! Instruction counts of the B+-tree's operations, by the difference of two runs:
//!
//! ```text
//! cargo build --release -p hotrow-storage --example btree_count
//! for run in load get; do
//!     valgrind --tool=callgrind --toggle-collect='*measured*' \
//!         target/release/examples/btree_count random $run 1000000
//! done
//! ```
//!
//! The total divided by the count is instructions per operation, loop and key making included
//! (about 10 for `random`, 5 for `ascending`). Without valgrind it prints nanoseconds instead.

use std::hint::black_box;
use std::ops::{Bound, ControlFlow};
use std::sync::Arc;
use std::time::Instant;

use hotrow_storage::btree::{BTree, Direction, Hint, KeyRange, ScanBuffers};
use hotrow_storage::budget::MemoryBudget;

#[derive(Clone, Copy, PartialEq)]
enum Keys {
    Random,
    Ascending,
}

fn key(keys: Keys, number: u64, buffer: &mut [u8; 16]) -> &[u8] {
    match keys {
        Keys::Random => {
            let mixed = (number ^ number >> 7).wrapping_mul(0x9E37_79B9_7F4A_7C15);
            let mixed = (mixed ^ mixed >> 32).wrapping_mul(0xD6E8_FEB8_6659_FD93);
            buffer[..8].copy_from_slice(&mixed.to_be_bytes());
            &buffer[..8]
        }
        Keys::Ascending => {
            buffer[..8].copy_from_slice(&(number / 30_000).to_be_bytes());
            buffer[8..].copy_from_slice(&(number % 30_000).to_be_bytes());
            buffer
        }
    }
}

fn load(tree: &BTree, keys: Keys, count: u64) {
    let mut buffer = [0; 16];
    for number in 0..count {
        let inserted = tree.insert(key(keys, number, &mut buffer), number);
        assert!(matches!(inserted, Ok(None)), "{inserted:?}");
    }
}

#[inline(never)]
fn measured_load(tree: &BTree, keys: Keys, count: u64) {
    load(tree, keys, count);
}

/// Inserts with a hint: `ascending` keys are runs of 10 in each of 10 places by turns, as order
/// lines of 10 districts are.
#[inline(never)]
fn measured_hinted(tree: &BTree, keys: Keys, count: u64) {
    let (mut buffer, mut hint) = ([0; 16], Hint::default());
    for number in 0..count {
        let number = match keys {
            Keys::Random => number,
            Keys::Ascending => {
                let (run, place) = (number / 100, number / 10 % 10);
                place * 30_000 + run % 3_000 * 10 + number % 10 + run / 3_000 * 300_000
            }
        };
        let inserted = tree.insert_hinted(key(keys, number, &mut buffer), number, &mut hint);
        assert!(matches!(inserted, Ok(None)), "{inserted:?}");
    }
}

#[inline(never)]
fn measured_get(tree: &BTree, keys: Keys, count: u64) {
    let mut buffer = [0; 16];
    for number in 0..count {
        let number = number.wrapping_mul(0x9E37_79B1) % count;
        assert_eq!(tree.get(key(keys, number, &mut buffer)), Some(number));
    }
}

/// Reads 10 entries from each of `count / 10` places.
#[inline(never)]
fn measured_scan(tree: &BTree, keys: Keys, count: u64) {
    let mut buffer = [0; 16];
    let mut buffers = ScanBuffers::default();
    for number in 0..count / 10 {
        let lower = key(keys, number.wrapping_mul(0x9E37_79B1) % count, &mut buffer);
        let range = KeyRange { lower: Bound::Included(lower), upper: Bound::Unbounded };
        let mut left = 10;
        let _ = tree.scan(&mut buffers, range, Direction::Ascending, |entry| {
            black_box(entry.value);
            left -= 1;
            if left == 0 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
    }
}

#[inline(never)]
fn measured_remove(tree: &BTree, keys: Keys, count: u64) {
    let mut buffer = [0; 16];
    for number in 0..count {
        assert!(tree.remove(key(keys, number, &mut buffer), number));
    }
}

fn run(keys: Keys, what: &str, count: u64, one_writer: bool) {
    let tree = BTree::new(16, Arc::new(MemoryBudget::unlimited())).expect("no limit");
    tree.set_one_writer(one_writer);
    if what != "load" && what != "hinted" {
        load(&tree, keys, count);
    }
    let start = Instant::now();
    match what {
        "load" => measured_load(&tree, keys, count),
        "hinted" => measured_hinted(&tree, keys, count),
        "get" => measured_get(&tree, keys, count),
        "scan" => measured_scan(&tree, keys, count),
        "remove" => measured_remove(&tree, keys, count),
        other => panic!("{other}: say load, hinted, get, scan or remove"),
    }
    let nanoseconds = start.elapsed().as_nanos() as f64 / count as f64;
    let bytes = tree.bytes_used() as f64 / count as f64;
    println!("{what}: {nanoseconds:.0} ns each, {bytes:.1} bytes per entry");
    println!("{:?}", tree.check_invariants());
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let argument = |at: usize, default| arguments.get(at).map_or(default, String::as_str);
    let keys = match argument(0, "random") {
        "random" => Keys::Random,
        "ascending" => Keys::Ascending,
        other => panic!("{other}: say random or ascending"),
    };
    let count = argument(2, "1000000").parse().expect("the third argument is a count");
    let one_writer = match argument(3, "many") {
        "many" => false,
        "one" => true,
        other => panic!("{other}: say many or one, for the writers"),
    };
    run(keys, argument(1, "get"), count, one_writer);
}
