use std::collections::{HashMap, HashSet};

use proptest::prelude::*;
use rand::{Rng, SeedableRng, rngs::SmallRng};

use super::*;
use hotrow_base::sync::reclaim::ReclaimEpochs;

const WORKER: WorkerId = WorkerId(0);

fn store() -> RecordStore {
    RecordStore::new(2, Arc::new(MemoryBudget::unlimited()))
}

fn row_of(store: &RecordStore, id: RecordId) -> Vec<u64> {
    store.record(id).row().iter().map(|word| word.load(Relaxed)).collect()
}

fn allocated(store: &RecordStore, row: &[u64]) -> RecordId {
    store.allocate(WORKER, row).expect("the budget has room")
}

#[test]
fn a_record_holds_its_row_and_nothing_else() {
    let store = store();
    let id = allocated(&store, &[1, 2, 3]);
    let record = store.record(id);
    assert_eq!(row_of(&store, id), [1, 2, 3]);
    assert_eq!(record.control().load(Relaxed), 0);
    assert!(!record.is_ghost() && !record.is_retired());
    record.store_word(1, 9);
    record.set_ghost();
    assert_eq!(row_of(&store, id), [1, 9, 3]);
    assert!(record.is_ghost());
    record.clear_ghost();
    assert!(!record.is_ghost());
}

#[test]
fn an_empty_row_is_a_record_too() {
    let store = store();
    let ids: Vec<_> = (0..100).map(|_| allocated(&store, &[])).collect();
    assert_eq!(ids.iter().collect::<HashSet<_>>().len(), 100);
    assert!(row_of(&store, ids[50]).is_empty());
}

#[test]
fn records_of_a_small_table_start_on_cache_lines() {
    let store = store();
    for length in [1, 7, 20, 100] {
        let id = allocated(&store, &vec![7; length]);
        let address = std::ptr::from_ref(store.record(id).control()).addr();
        assert_eq!(address % 64, 0, "row of {length} words");
    }
}

#[test]
fn records_of_a_large_table_are_packed() {
    let store = store();
    let rows = 200_000;
    for _ in 0..rows {
        allocated(&store, &[0; 8]);
    }
    let bytes_per_row = store.bytes_used() as f64 / f64::from(rows);
    // 80 packed, 128 in the first 2 MiB, and the unfilled end of the last chunk.
    assert!(bytes_per_row < 88.0, "{bytes_per_row} bytes for a record of 80");
}

#[test]
fn a_retired_record_is_reused_only_when_its_epoch_is_safe() {
    let (store, epochs) = (store(), ReclaimEpochs::new(2));
    let id = allocated(&store, &[1, 2]);
    let reader = epochs.pin(WorkerId(1));
    store.retire(WORKER, id, epochs.retire_epoch());
    epochs.advance();
    store.reclaim(WORKER, epochs.safe_epoch());
    assert_eq!(store.retired_len(WORKER), 1);
    assert_ne!(allocated(&store, &[3, 4]), id);
    assert_eq!(row_of(&store, id), [1, 2], "a pinned reader still reads the old row");
    assert!(store.record(id).is_retired());
    drop(reader);
    store.reclaim(WORKER, epochs.safe_epoch());
    assert_eq!(allocated(&store, &[5]), id);
    assert_eq!(row_of(&store, id), [5]);
    assert!(!store.record(id).is_retired());
}

#[test]
fn a_row_grows_in_place_within_its_slot_only() {
    let store = store();
    let id = allocated(&store, &[1]);
    let record = store.record(id);
    let capacity = record.capacity_words();
    let longest = vec![8; capacity];
    assert!(record.try_store_row(&longest));
    assert_eq!(row_of(&store, id), longest);
    assert!(!record.try_store_row(&vec![9; capacity + 1]));
    assert_eq!(row_of(&store, id), longest);
    assert!(record.try_store_row(&[]));
    assert!(row_of(&store, id).is_empty());
}

#[test]
fn growing_keeps_the_id_and_the_old_row_for_readers() {
    let (store, epochs) = (store(), ReclaimEpochs::new(2));
    let id = allocated(&store, &[1, 2]);
    let before = store.record(id).row();
    let long: Vec<u64> = (0..300).collect();
    let prior = store.grow(WORKER, id, &long).expect("the budget has room");
    assert_eq!(row_of(&store, id), long);
    assert_eq!(before.iter().map(|word| word.load(Relaxed)).collect::<Vec<_>>(), [1, 2]);
    assert!(store.record(id).capacity_words() >= 300);
    store.settle(WORKER, prior, epochs.retire_epoch());
    assert_eq!(store.retired_len(WORKER), 0, "the first place stays the record's own");
    let prior = store.grow(WORKER, id, &[7; 400]).expect("the budget has room");
    store.settle(WORKER, prior, epochs.retire_epoch());
    assert_eq!(store.retired_len(WORKER), 1, "the first body is given back");
}

#[test]
fn restoring_newest_first_brings_back_every_row() {
    let (store, epochs) = (store(), ReclaimEpochs::new(2));
    let id = allocated(&store, &[1, 2]);
    let first = store.grow(WORKER, id, &[3; 50]).expect("the budget has room");
    let second = store.grow(WORKER, id, &[4; 500]).expect("the budget has room");
    let words = |prior| {
        let row = store.prior_row(id, prior).iter();
        row.map(|word| word.load(Relaxed)).collect::<Vec<_>>()
    };
    assert_eq!((words(first), words(second)), (vec![1, 2], vec![3; 50]));
    store.record(id).set_ghost();
    store.restore(WORKER, id, second, epochs.retire_epoch());
    assert_eq!(row_of(&store, id), [3; 50]);
    store.restore(WORKER, id, first, epochs.retire_epoch());
    assert_eq!(row_of(&store, id), [1, 2]);
    assert!(store.record(id).is_ghost(), "flags are not the row's business");
    assert_eq!(store.retired_len(WORKER), 2);
}

#[test]
fn reclaiming_a_forwarded_record_frees_its_body_too() {
    let (store, epochs) = (store(), ReclaimEpochs::new(2));
    let bytes_after_one = {
        let id = allocated(&store, &[1]);
        let _ = store.grow(WORKER, id, &[2; 5_000]).expect("the budget has room");
        store.retire(WORKER, id, epochs.retire_epoch());
        store.bytes_used()
    };
    for _ in 0..100 {
        epochs.advance();
        store.reclaim(WORKER, epochs.safe_epoch());
        let id = allocated(&store, &[1]);
        let _ = store.grow(WORKER, id, &[2; 5_000]).expect("the budget has room");
        store.retire(WORKER, id, epochs.retire_epoch());
    }
    assert_eq!(store.bytes_used(), bytes_after_one);
}

#[test]
fn what_one_worker_frees_another_gets() {
    let (store, epochs) = (store(), ReclaimEpochs::new(2));
    let (inserter, cleaner) = (WorkerId(0), WorkerId(1));
    let mut bytes_after_warm_up = 0;
    for round in 0..200 {
        let ids: Vec<_> = (0..1_000)
            .map(|_| store.allocate(inserter, &[round; 6]).expect("the budget has room"))
            .collect();
        for id in ids {
            store.retire(cleaner, id, epochs.retire_epoch());
        }
        epochs.advance();
        store.reclaim(cleaner, epochs.safe_epoch());
        if round == 20 {
            bytes_after_warm_up = store.bytes_used();
        }
    }
    assert_eq!(store.bytes_used(), bytes_after_warm_up);
}

#[test]
fn the_budget_refuses_and_deletes_make_room_again() {
    let epochs = ReclaimEpochs::new(1);
    let budget = Arc::new(MemoryBudget::new(200_000));
    let store = RecordStore::new(1, Arc::clone(&budget));
    let mut ids = Vec::new();
    let refused = loop {
        match store.allocate(WORKER, &[0; 30]) {
            Ok(id) => ids.push(id),
            Err(refused) => break refused,
        }
    };
    assert_eq!(refused.limit, 200_000);
    assert_eq!(refused.used, budget.used());
    assert_eq!(budget.used_by(MemoryKind::Records), store.bytes_used());
    assert!(store.grow(WORKER, ids[0], &[1; 100]).is_err());
    assert_eq!(row_of(&store, ids[0]), [0; 30], "a refused growth changes nothing");
    store.retire(WORKER, ids[1], epochs.retire_epoch());
    epochs.advance();
    store.reclaim(WORKER, epochs.safe_epoch());
    assert_eq!(allocated(&store, &[1; 30]), ids[1]);
    drop(store);
    assert_eq!(budget.used(), 0);
}

#[test]
fn a_row_larger_than_a_chunk_gets_its_own() {
    let store = store();
    let small = allocated(&store, &[1]);
    let large = allocated(&store, &vec![2; MAX_ROW_WORDS]);
    let next = allocated(&store, &[3]);
    assert_eq!(row_of(&store, large).len(), MAX_ROW_WORDS);
    assert_eq!((row_of(&store, small), row_of(&store, next)), (vec![1], vec![3]));
}

#[test]
fn a_visit_sees_live_records_and_ghosts_only() {
    let (store, epochs) = (store(), ReclaimEpochs::new(1));
    let ids: Vec<_> = (0..5_000).map(|n| allocated(&store, &vec![n; n as usize % 40])).collect();
    for &id in ids.iter().step_by(3) {
        store.retire(WORKER, id, epochs.retire_epoch());
    }
    let _ = store.grow(WORKER, ids[1], &[0; 90]).expect("the budget has room");
    store.record(ids[2]).set_ghost();
    let mut seen = HashSet::new();
    let mut ghosts = 0;
    store.for_each_record(|id, record| {
        assert!(seen.insert(id));
        ghosts += usize::from(record.is_ghost());
    });
    let expected: HashSet<_> =
        ids.iter().enumerate().filter(|(n, _)| n % 3 != 0).map(|(_, &id)| id).collect();
    assert_eq!((seen, ghosts), (expected, 1));
}

#[test]
#[should_panic(expected = "never handed out")]
fn an_id_of_nowhere_panics_and_reads_nothing() {
    let _ = store().record(RecordId::from_bits(1 << 30)).row();
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Any sequence of allocations, changes, growths, deletions and reclamations leaves every live
    /// record with the row it was last given.
    #[test]
    fn records_behave_like_a_map(
        steps in prop::collection::vec((0..6_u8, 0..120_usize, any::<u64>()), 1..400),
    ) {
        let (store, epochs) = (store(), ReclaimEpochs::new(2));
        let mut model: HashMap<RecordId, Vec<u64>> = HashMap::new();
        for (step, length, value) in steps {
            let row: Vec<u64> = (0..length as u64).map(|n| value ^ n).collect();
            let target = model.keys().min_by_key(|id| id.bits() ^ (value % 8_192)).copied();
            match (step, target) {
                (0..=2, _) | (_, None) => {
                    let id = allocated(&store, &row);
                    prop_assert!(model.insert(id, row).is_none(), "a slot in use was given");
                }
                (3, Some(id)) => {
                    if !store.record(id).try_store_row(&row) {
                        let prior = store.grow(WORKER, id, &row).expect("the budget has room");
                        store.settle(WORKER, prior, epochs.retire_epoch());
                    }
                    model.insert(id, row);
                }
                (4, Some(id)) => {
                    store.retire(WORKER, id, epochs.retire_epoch());
                    model.remove(&id);
                }
                _ => {
                    epochs.advance();
                    store.reclaim(WORKER, epochs.safe_epoch());
                }
            }
        }
        let mut seen = HashMap::new();
        store.for_each_record(|id, _| { seen.insert(id, row_of(&store, id)); });
        prop_assert_eq!(seen, model);
    }
}

/// Workers publish records in shared links, replace each other's and retire what they replaced;
/// readers must never see a row that is not all one value.
#[test]
fn no_reader_sees_a_reused_slot() {
    const WORKERS: u16 = 4;
    const LINKS: usize = 32;
    let epochs = ReclaimEpochs::new(WORKERS.into());
    let store = RecordStore::new(WORKERS.into(), Arc::new(MemoryBudget::unlimited()));
    let links: Vec<_> = (0..LINKS)
        .map(|_| {
            hotrow_base::sync::facade::atomic::AtomicU64::new(allocated(&store, &[0; 5]).bits())
        })
        .collect();
    std::thread::scope(|scope| {
        for worker in (0..WORKERS).map(WorkerId) {
            let (epochs, store, links) = (&epochs, &store, &links);
            scope.spawn(move || {
                let mut random = SmallRng::seed_from_u64(worker.0.into());
                for round in 1..20_000_u64 {
                    let guard = epochs.pin(worker);
                    let link = &links[random.random_range(0..LINKS)];
                    let id = RecordId::from_bits(
                        link.load(hotrow_base::sync::facade::atomic::Ordering::Acquire),
                    );
                    let row = row_of(store, id);
                    assert_eq!(row.len(), 5);
                    assert!(row.iter().all(|&word| word == row[0]), "torn row {row:?}");
                    let value = round << 16 | u64::from(worker.0);
                    let new = store.allocate(worker, &[value; 5]).expect("the budget has room");
                    let old =
                        link.swap(new.bits(), hotrow_base::sync::facade::atomic::Ordering::AcqRel);
                    store.retire(worker, RecordId::from_bits(old), epochs.retire_epoch());
                    drop(guard);
                    if round % 64 == 0 {
                        epochs.advance();
                        store.reclaim(worker, epochs.safe_epoch());
                    }
                }
            });
        }
    });
    let mut live = 0;
    store.for_each_record(|_, _| live += 1);
    assert_eq!(live, LINKS);
}
