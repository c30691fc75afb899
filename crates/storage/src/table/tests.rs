use hotrow_base::sync::facade::atomic::Ordering::Relaxed;
use std::collections::BTreeMap;

use hotrow_base::ids::TableId;
use rand::{Rng, SeedableRng, rngs::SmallRng};

use super::*;
use crate::btree::GHOST;
use crate::undo::UndoLog;

const WORKER: WorkerId = WorkerId(0);
const TABLE: TableId = TableId(0);

fn hash(key: u64) -> u64 {
    key.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(31)
}

fn with_indexes(kinds: &[IndexKind], budget: &Arc<MemoryBudget>) -> Result<Table, BTreeError> {
    let index = |&kind| Index::new(kind, Arc::clone(budget)).map(Arc::new);
    let indexes: Result<Vec<_>, _> = kinds.iter().map(index).collect();
    Ok(Table::new(1, budget).with_indexes(indexes?))
}

/// A table whose key is the row's first word, in a hash index and in a B+-tree, used the way an
/// engine that updates in place does.
struct Fixture {
    table: Table,
    epochs: ReclaimEpochs,
    log: UndoLog,
}

impl Fixture {
    fn new() -> Self {
        let budget = Arc::new(MemoryBudget::unlimited());
        let kinds = [IndexKind::Hash, IndexKind::BTree { max_key_bytes: 8 }];
        let table = with_indexes(&kinds, &budget).expect("the budget is unlimited");
        Self { table, epochs: ReclaimEpochs::new(1), log: UndoLog::new() }
    }

    fn find(&self, key: u64) -> Option<RecordId> {
        let records = self.table.records();
        let index = self.table.index_at(0).as_hash().expect("index 0 is a hash index");
        index.get(hash(key), |id| (records.record(id).row()[0].load(Relaxed) == key).then_some(id))
    }

    fn tree(&self) -> &BTree {
        self.table.index_at(1).as_btree().expect("index 1 is a B+-tree")
    }

    fn log_tree(&mut self, id: RecordId, key: u64, change: IndexChange) {
        self.log.log_index(TABLE, id, 1, change, IndexKey::Bytes(&key.to_be_bytes()));
    }

    fn insert(&mut self, row: &[u64]) {
        let key = row[0];
        let records = self.table.records();
        if let Some(id) = self.find(key) {
            if records.record(id).is_ghost() {
                self.log.log_revived(TABLE, id, row);
                records.record(id).clear_ghost();
                assert!(self.tree().set_ghost(&key.to_be_bytes(), id.bits(), false));
                self.log_tree(id, key, IndexChange::Revived);
                self.update(row);
            }
            return;
        }
        let id = records.allocate(WORKER, row).expect("the budget is unlimited");
        self.log.log_inserted(TABLE, id, row);
        let index = self.table.index_at(0).as_hash().expect("index 0 is a hash index");
        assert_eq!(index.insert_unique(hash(key), id, |_| false), Ok(None));
        self.log.log_index(TABLE, id, 0, IndexChange::Added, IndexKey::Hash(hash(key)));
        assert_eq!(self.tree().insert(&key.to_be_bytes(), id.bits()), Ok(None));
        self.log_tree(id, key, IndexChange::Added);
    }

    fn update(&mut self, row: &[u64]) {
        let Some(id) = self.find(row[0]) else { return };
        let record = self.table.records().record(id);
        if record.row().len() == row.len() {
            for (index, &word) in row.iter().enumerate() {
                self.log.change_word(TABLE, id, (record.row(), index), |_| word);
            }
        } else if row.len() <= record.capacity_words() {
            self.log.log_row(TABLE, record);
            assert!(record.try_store_row(row));
        } else {
            let grown = self.table.records().grow(WORKER, id, row);
            self.log.log_grown(TABLE, id, grown.expect("the budget is unlimited"));
        }
    }

    fn delete(&mut self, key: u64) {
        let Some(id) = self.find(key) else { return };
        if !self.table.records().record(id).is_ghost() {
            self.log.log_deleted(TABLE, self.table.records().record(id));
            self.table.records().record(id).set_ghost();
            assert!(self.tree().set_ghost(&key.to_be_bytes(), id.bits(), true));
            self.log_tree(id, key, IndexChange::Ghosted);
        }
    }

    fn rollback(&mut self) {
        let (table, epochs) = (&self.table, &self.epochs);
        self.log.rollback(|entry| table.undo(WORKER, epochs, entry.record, entry.undo));
    }

    fn commit(&mut self) {
        let records = self.table.records();
        for entry in self.log.iter() {
            if let Undo::Grown { prior } = entry.undo {
                records.settle(WORKER, prior, self.epochs.retire_epoch());
            }
        }
        self.log.clear();
        self.epochs.advance();
        records.reclaim(WORKER, self.epochs.safe_epoch());
    }

    fn contents(&self) -> BTreeMap<u64, Vec<u64>> {
        let mut contents = BTreeMap::new();
        self.table.records().for_each_record(|id, record| {
            let row: Vec<u64> = record.row().iter().map(|word| word.load(Relaxed)).collect();
            assert_eq!(self.find(row[0]), Some(id), "the hash index leads to every record");
            let ghost = if record.is_ghost() { GHOST } else { 0 };
            let in_tree = self.tree().get(&row[0].to_be_bytes());
            assert_eq!(in_tree, Some(id.bits() | ghost), "so does the tree, and knows ghosts");
            if !record.is_ghost() {
                contents.insert(row[0], row);
            }
        });
        contents
    }
}

#[test]
fn a_rolled_back_transaction_leaves_no_trace() {
    let mut fixture = Fixture::new();
    let mut random = SmallRng::seed_from_u64(7);
    for transaction in 0..2_000_u64 {
        let before = fixture.contents();
        for _ in 0..random.random_range(1..12) {
            let mut row = vec![random.random_range(0..40)];
            row.resize(random.random_range(1..60), transaction);
            match random.random_range(0..4) {
                0 | 1 => fixture.insert(&row),
                2 => fixture.update(&row),
                _ => fixture.delete(row[0]),
            }
        }
        if transaction % 2 == 0 {
            fixture.rollback();
            assert_eq!(fixture.contents(), before, "transaction {transaction}");
        }
        fixture.commit();
    }
    assert!(fixture.table.bytes_used() < 1 << 20, "what was undone is reused");
}

#[test]
fn a_table_accounts_for_its_parts() {
    let budget = Arc::new(MemoryBudget::unlimited());
    let kinds = [IndexKind::Hash, IndexKind::BTree { max_key_bytes: 100 }];
    let table = with_indexes(&kinds, &budget).expect("the budget is unlimited");
    table.records().allocate(WORKER, &[1]).expect("the budget is unlimited");
    assert_eq!(table.indexes().len(), 2);
    assert_eq!(table.bytes_used(), budget.used());
    drop(table);
    assert_eq!(budget.used(), 0);
}

#[test]
fn a_table_that_the_budget_has_no_room_for_is_not_made() {
    let budget = Arc::new(MemoryBudget::new(100_000));
    let kinds = [IndexKind::Hash, IndexKind::Hash];
    assert!(with_indexes(&kinds, &budget).is_err());
    assert_eq!(budget.used(), 0);
}

#[test]
fn prefetching_finds_its_way_or_does_nothing() {
    let mut fixture = Fixture::new();
    fixture.table.prefetch_record(0, hash(5));
    fixture.insert(&[5, 6]);
    fixture.table.index_at(0).prefetch(IndexKey::Hash(hash(5)));
    fixture.table.index_at(1).prefetch(IndexKey::Bytes(&5_u64.to_be_bytes()));
    fixture.table.prefetch_record(1, hash(5));
    fixture.table.prefetch_record(0, hash(5));
    assert!(fixture.find(5).is_some());
}

#[test]
fn a_tree_of_longer_keys_than_trees_take_is_refused() {
    let budget = Arc::new(MemoryBudget::unlimited());
    let kinds = [IndexKind::BTree { max_key_bytes: 100_000 }];
    let refused = with_indexes(&kinds, &budget).err();
    assert!(matches!(refused, Some(BTreeError::KeyTooLong { .. })));
}
