use std::collections::BTreeMap;

use hotrow_base::sync::Latch;
use hotrow_base::sync::reclaim::ReclaimEpochs;

use super::*;
use crate::record::RowWords;

const WORKER: WorkerId = WorkerId(0);

fn store() -> RecordStore {
    RecordStore::new(2, Arc::new(MemoryBudget::unlimited()))
}

fn words(row: RowWords<'_>) -> Vec<u64> {
    row.iter().map(|word| word.load(Relaxed)).collect()
}

/// The rows that a walk of all pieces captures, sorted.
fn walk(store: &RecordStore) -> Vec<Vec<u64>> {
    let mut rows = Vec::new();
    for piece in store.pieces() {
        store.capture_piece(piece, |claimed| rows.extend(claimed.row().map(words)));
    }
    rows.sort();
    rows
}

/// What a transaction does before its first change of a record.
fn save(store: &RecordStore, id: RecordId, saved: &mut Vec<Vec<u64>>) {
    let record = store.record(id);
    if !record.is_captured()
        && let Some(claimed) = record.claim()
    {
        saved.extend(claimed.row().map(words));
    }
}

#[test]
fn an_image_has_each_row_as_it_was_when_it_began() {
    let (store, epochs) = (store(), ReclaimEpochs::new(2));
    let room = |result: Result<RecordId, _>| result.expect("the budget has room");
    let ids: Vec<_> = (0..6).map(|n| room(store.allocate(WORKER, &[n, 100 + n]))).collect();
    let prior = store.grow(WORKER, ids[5], &[5; 40]).expect("the budget has room");
    store.settle(WORKER, prior, epochs.retire_epoch());
    store.record(ids[4]).set_ghost();

    store.begin_capture();
    let mut saved = Vec::new();
    let change = |id: RecordId, saved: &mut Vec<_>| {
        save(&store, id, saved);
        store.record(id)
    };
    change(ids[0], &mut saved).store_word(1, 7);
    change(ids[1], &mut saved).set_ghost();
    change(ids[1], &mut saved).clear_ghost();
    change(ids[2], &mut saved);
    let prior = store.grow(WORKER, ids[2], &[9; 50]).expect("the budget has room");
    change(ids[5], &mut saved).store_word(3, 8);
    change(ids[4], &mut saved).clear_ghost();
    room(store.allocate(WORKER, &[77]));
    store.restore(WORKER, ids[2], prior, epochs.retire_epoch());

    let mut image = walk(&store);
    assert_eq!(image, [[3, 103]], "what was changed is not copied again");
    image.extend(saved);
    image.sort();
    let mut expected: Vec<_> = (0..4).map(|n| vec![n, 100 + n]).collect();
    expected.push(vec![5; 40]);
    assert_eq!(image, expected);

    store.begin_capture();
    let mut expected =
        vec![vec![0, 7], vec![1, 101], vec![2, 102], vec![3, 103], vec![4, 104], vec![77]];
    let mut grown = vec![5; 40];
    grown[3] = 8;
    expected.push(grown);
    expected.sort();
    assert_eq!(walk(&store), expected, "the next image has what became of it all");
    assert!(walk(&store).is_empty(), "and has it once");
}

#[test]
fn places_used_again_are_not_taken_for_what_was_there() {
    let (store, epochs) = (store(), ReclaimEpochs::new(2));
    let allocate = |row: &[u64]| store.allocate(WORKER, row).expect("the budget has room");
    let free = |id: RecordId| {
        store.retire(WORKER, id, epochs.retire_epoch());
        epochs.advance();
        store.reclaim(WORKER, epochs.safe_epoch());
    };
    for round in 0..4_u64 {
        let kept = allocate(&[round, 1]);
        let dropped = allocate(&[round, 2]);
        free(dropped);
        store.begin_capture();
        let again = allocate(&[round, 3]);
        assert_eq!(again, dropped, "the place is used again");
        let mut saved = Vec::new();
        save(&store, kept, &mut saved);
        free(kept);
        assert_eq!(saved, [[round, 1]]);
        assert!(walk(&store).is_empty(), "round {round}: nothing else was there");
        free(again);
    }
}

/// Threads change counters and walk at the same time: each image has each counter once, with the
/// value it had when the image began.
#[test]
fn changes_and_walks_at_the_same_time_capture_each_row_once() {
    const COUNTERS: u64 = 3_000;
    let store = store();
    let ids: Vec<_> = (0..COUNTERS)
        .map(|n| store.allocate(WORKER, &[n, 0]).expect("the budget has room"))
        .collect();
    for _ in 0..20 {
        let before: Vec<_> = ids.iter().map(|&id| words(store.record(id).row())).collect();
        store.begin_capture();
        let captured = Latch::new(BTreeMap::new());
        let take = |row: Vec<u64>| {
            assert!(captured.lock().insert(row[0], row).is_none(), "a row was captured twice");
        };
        let change = |from: usize| {
            // Two threads share the ids between them: each holds its own exclusively.
            for &id in ids.iter().skip(from).step_by(2) {
                let mut saved = Vec::new();
                save(&store, id, &mut saved);
                saved.into_iter().for_each(&take);
                let record = store.record(id);
                record.set_ghost();
                record.store_word(1, record.row()[1].load(Relaxed) + 1);
                record.clear_ghost();
            }
        };
        std::thread::scope(|scope| {
            scope.spawn(|| change(0));
            scope.spawn(|| change(1));
            scope.spawn(|| walk(&store).into_iter().for_each(&take));
            walk(&store).into_iter().for_each(&take);
        });
        let captured: Vec<_> = captured.lock().values().cloned().collect();
        assert_eq!(captured, before);
        let after = ids.iter().map(|&id| words(store.record(id).row()));
        assert!(after.eq(before.iter().map(|row| vec![row[0], row[1] + 1])), "no change is lost");
    }
}
