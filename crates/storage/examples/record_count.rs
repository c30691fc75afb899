//! Runs record and hash index operations for an instruction counter:
//!
//! ```text
//! cargo build --release -p hotrow-storage --example record_count
//! valgrind --tool=callgrind --collect-atstart=no --toggle-collect='*get_hits*' \
//!     target/release/examples/record_count
//! ```
//!
//! Each function named below does its operation [`OPERATIONS`] times; what is counted, divided by
//! that, is the cost of one, the loop and the hash (13 instructions together) included.

use std::hint::black_box;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use hotrow_base::ids::WorkerId;
use hotrow_base::sync::reclaim::ReclaimEpochs;
use hotrow_storage::budget::MemoryBudget;
use hotrow_storage::hash_index::HashIndex;
use hotrow_storage::record::RecordId;
use hotrow_storage::slab::RecordStore;

const OPERATIONS: u64 = 1_000_000;
const WORKER: WorkerId = WorkerId(0);

fn hash(key: u64) -> u64 {
    let product = u128::from(key ^ 0x243f_6a88_85a3_08d3) * 0x9e37_79b9_7f4a_7c15_f39c_c060;
    product as u64 ^ (product >> 64) as u64
}

#[inline(never)]
fn allocations(store: &RecordStore) -> Vec<RecordId> {
    let mut ids = Vec::with_capacity(OPERATIONS as usize);
    for key in 0..OPERATIONS {
        let row = [key, 1, 2, 3, 4, 5, 6, 7];
        ids.push(store.allocate(WORKER, &row).expect("the budget is unlimited"));
    }
    ids
}

#[inline(never)]
fn row_reads(store: &RecordStore, ids: &[RecordId]) -> u64 {
    ids.iter().map(|&id| store.record(id).row()[0].load(Relaxed)).sum()
}

#[inline(never)]
fn unique_inserts(index: &HashIndex, store: &RecordStore, ids: &[RecordId]) {
    for (key, &id) in (0..).zip(ids) {
        let same_key = |other| store.record(other).row()[0].load(Relaxed) == key;
        let inserted = index.insert_unique(hash(key), id, same_key);
        assert_eq!(inserted, Ok(None));
    }
}

#[inline(never)]
fn get_hits(index: &HashIndex, store: &RecordStore) {
    for key in 0..OPERATIONS {
        let same_key = |id| (store.record(id).row()[0].load(Relaxed) == key).then_some(id);
        black_box(index.get(hash(key), same_key));
    }
}

/// The index alone: every candidate is accepted.
#[inline(never)]
fn get_any(index: &HashIndex) {
    for key in 0..OPERATIONS {
        black_box(index.get(hash(key), Some));
    }
}

#[inline(never)]
fn get_misses(index: &HashIndex, store: &RecordStore) {
    for key in OPERATIONS..2 * OPERATIONS {
        let same_key = |id| (store.record(id).row()[0].load(Relaxed) == key).then_some(id);
        black_box(index.get(hash(key), same_key));
    }
}

#[inline(never)]
fn pins(epochs: &ReclaimEpochs) {
    for _ in 0..OPERATIONS {
        let _ = black_box(epochs.pin(WORKER));
    }
}

#[inline(never)]
fn removals(index: &HashIndex, ids: &[RecordId]) {
    for (key, &id) in (0..).zip(ids) {
        assert!(index.remove(hash(key), id));
    }
}

fn timed<T>(name: &str, work: impl FnOnce() -> T) -> T {
    let start = std::time::Instant::now();
    let result = work();
    println!("{name:>15} {:7.1} ns", start.elapsed().as_nanos() as f64 / OPERATIONS as f64);
    result
}

fn main() {
    let budget = Arc::new(MemoryBudget::unlimited());
    let store = RecordStore::new(1, Arc::clone(&budget));
    let index = HashIndex::new(budget).expect("the budget is unlimited");
    let epochs = ReclaimEpochs::new(1);
    let ids = timed("allocations", || allocations(&store));
    timed("row_reads", || black_box(row_reads(&store, &ids)));
    timed("unique_inserts", || unique_inserts(&index, &store, &ids));
    timed("get_hits", || get_hits(&index, &store));
    timed("get_any", || get_any(&index));
    timed("get_misses", || get_misses(&index, &store));
    timed("pins", || pins(&epochs));
    let per_entry = |bytes: u64| bytes as f64 / OPERATIONS as f64;
    println!(
        "{:.1} bytes a record, {:.1} bytes an entry",
        per_entry(store.bytes_used()),
        per_entry(index.bytes_used())
    );
    timed("removals", || removals(&index, &ids));
}
