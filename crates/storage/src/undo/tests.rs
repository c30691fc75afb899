use std::sync::Arc;

use hotrow_base::ids::WorkerId;

use super::*;
use crate::budget::MemoryBudget;
use crate::slab::RecordStore;

const TABLE: TableId = TableId(3);
const WORKER: WorkerId = WorkerId(0);

fn store_with(row: &[u64]) -> (RecordStore, RecordId) {
    let store = RecordStore::new(1, Arc::new(MemoryBudget::unlimited()));
    let id = store.allocate(WORKER, row).expect("the budget is unlimited");
    (store, id)
}

#[test]
fn entries_come_back_newest_first_with_what_was_noted() {
    let (store, id) = store_with(&[1, 2, 3]);
    let mut log = UndoLog::new();
    log.log_row(TABLE, store.record(id));
    log.change_word(TABLE, id, (store.record(id).row(), 1), |old| old * 10);
    assert_eq!(store.record(id).row()[1].load(Relaxed), 20);
    log.log_index(TABLE, id, 0, IndexChange::Added, IndexKey::Hash(77));
    log.log_index(TABLE, id, 1, IndexChange::Ghosted, IndexKey::Bytes(b"key"));
    log.log_deleted(TABLE, store.record(id));
    let mut undone = Vec::new();
    log.rollback(|entry| {
        assert_eq!((entry.table, entry.record), (TABLE, id));
        undone.push(format!("{:?}", entry.undo));
    });
    assert_eq!(
        undone,
        [
            "Deleted",
            "Index { index: 1, change: Ghosted, key: Bytes([107, 101, 121]) }",
            "Index { index: 0, change: Added, key: Hash(77) }",
            "Word { index: 1, old: 2 }",
            "Row { old: [1, 2, 3] }",
        ]
    );
    assert!(log.is_empty());
}

#[test]
fn a_rollback_to_a_savepoint_keeps_what_is_older() {
    let (store, id) = store_with(&[1, 2, 3]);
    let mut log = UndoLog::new();
    log.log_row(TABLE, store.record(id));
    log.log_index(TABLE, id, 1, IndexChange::Added, IndexKey::Bytes(b"old"));
    let savepoint = log.savepoint();
    store.record(id).store_word(0, 9);
    log.log_row(TABLE, store.record(id));
    log.log_index(TABLE, id, 1, IndexChange::Added, IndexKey::Bytes(b"new"));
    let mut count = 0;
    log.rollback_to(savepoint, |_| count += 1);
    assert_eq!((count, log.len()), (2, 2));
    let kept: Vec<_> = log.iter().map(|entry| entry.undo).collect();
    let key = IndexKey::Bytes(b"old");
    assert_eq!(kept[0], Undo::Row { old: &[1, 2, 3] });
    assert_eq!(kept[1], Undo::Index { index: 1, change: IndexChange::Added, key });
}

#[test]
fn buffers_are_kept_and_bounded() {
    let (store, id) = store_with(&[0; 100]);
    let mut log = UndoLog::new();
    log.log_row(TABLE, store.record(id));
    log.clear();
    assert!(log.words.capacity() >= 100);
    for _ in 0..2 * WORDS_KEPT / 100 {
        log.log_row(TABLE, store.record(id));
    }
    log.clear();
    assert!(log.words.capacity() <= WORDS_KEPT);
}

#[test]
fn the_hash_of_writes_is_a_sum_that_rollbacks_take_back() {
    let (store, id) = store_with(&[1, 2, 3]);
    let (record, mut log) = (store.record(id), UndoLog::new());
    assert_eq!(log.write_hash(), 0);
    log.change_word(TABLE, id, (record.row(), 0), |_| 10);
    let (first, savepoint) = (log.write_hash(), log.savepoint());
    assert_ne!(first, 0);
    log.log_inserted(TABLE, id, &[4, 5]);
    log.change_word(TABLE, id, (record.row(), 1), |_| 20);
    log.note_rebuilt(TABLE, record.row(), &[6]);
    let all = log.write_hash();
    log.rollback_to(savepoint, |_| {});
    assert_eq!(log.write_hash(), first);
    // The same changes in another order.
    record.store_word(1, 2);
    log.change_word(TABLE, id, (record.row(), 1), |_| 20);
    log.log_revived(TABLE, id, &[4, 5]);
    log.note_rebuilt(TABLE, record.row(), &[6]);
    assert_eq!(log.write_hash(), all, "and a revived row counts as an inserted one");
    log.rollback(|_| {});
    assert_eq!(log.write_hash(), 0);
    log.log_deleted(TABLE, record);
    assert_ne!(log.write_hash(), 0);
    log.clear();
    assert_eq!(log.write_hash(), 0);
}
