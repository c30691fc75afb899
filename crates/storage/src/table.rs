//! A table in memory: its records and the indexes over them.
//!
//! Role         what engines hold for each table; a split index is there part by part.
//!              Knows no column, key layout or name: keys come in as hashes and bytes
//! Invariants   I1 undoing an entry needs no memory and cannot fail
//! Concurrency  as its parts have it

use std::sync::Arc;

use hotrow_base::ids::WorkerId;

use crate::btree::{BTree, BTreeError, GHOST};
use crate::budget::MemoryBudget;
use crate::hash_index::HashIndex;
use crate::record::RecordId;
use crate::slab::RecordStore;
use crate::undo::{IndexChange, IndexKey, Undo};
use hotrow_base::sync::reclaim::ReclaimEpochs;

/// What kind of index to make.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IndexKind {
    /// A hash index: equality only.
    Hash,
    /// A B+-tree: equality, ranges and order. Its values are record ids, with the ghost flag.
    BTree {
        /// Bytes of the longest key that the schema allows.
        max_key_bytes: usize,
    },
}

/// An index of a table.
#[derive(Debug)]
#[expect(
    clippy::large_enum_variant,
    reason = "a table has a few, each behind an Arc; a box would cost each access a load"
)]
pub enum Index {
    /// See [`HashIndex`].
    Hash(HashIndex),
    /// See [`BTree`].
    BTree(BTree),
}

impl Index {
    /// An empty index.
    ///
    /// # Errors
    ///
    /// [`BTreeError::OutOfMemoryBudget`] when the budget has no room for its first block (of a hash
    /// index too), and [`BTreeError::KeyTooLong`] for a tree of keys that no tree takes.
    pub fn new(kind: IndexKind, budget: Arc<MemoryBudget>) -> Result<Self, BTreeError> {
        match kind {
            IndexKind::Hash => Ok(Self::Hash(HashIndex::new(budget)?)),
            IndexKind::BTree { max_key_bytes } => {
                BTree::new(max_key_bytes, budget).map(Self::BTree)
            }
        }
    }

    /// The hash index that this is, if it is one.
    #[inline]
    #[must_use]
    pub fn as_hash(&self) -> Option<&HashIndex> {
        match self {
            Self::Hash(index) => Some(index),
            Self::BTree(_) => None,
        }
    }

    /// The B+-tree that this is, if it is one.
    #[inline]
    #[must_use]
    pub fn as_btree(&self) -> Option<&BTree> {
        match self {
            Self::Hash(_) => None,
            Self::BTree(index) => Some(index),
        }
    }

    /// Asks for the first cache lines that a lookup of `key` needs.
    #[inline]
    pub fn prefetch(&self, key: IndexKey<'_>) {
        match (self, key) {
            (Self::Hash(index), IndexKey::Hash(hash)) => index.prefetch(hash),
            (Self::BTree(index), IndexKey::Bytes(key)) => index.prefetch(key),
            _ => wrong_key(),
        }
    }

    /// See [`BTree::set_one_writer`].
    pub fn set_one_writer(&self, one: bool) {
        match self {
            Self::Hash(index) => index.set_one_writer(one),
            Self::BTree(index) => index.set_one_writer(one),
        }
    }

    /// Bytes charged to the budget for this index.
    #[must_use]
    pub fn bytes_used(&self) -> u64 {
        match self {
            Self::Hash(index) => index.bytes_used(),
            Self::BTree(index) => index.bytes_used(),
        }
    }

    /// Takes back `change` of the entry of `id` under `key`.
    fn undo(&self, change: IndexChange, key: IndexKey<'_>, id: RecordId) {
        match (self, key) {
            (Self::Hash(index), IndexKey::Hash(hash)) => {
                debug_assert_eq!(change, IndexChange::Added, "a hash index has no ghost entries");
                let removed = index.remove(hash, id);
                debug_assert!(removed, "the entry was added by the transaction being undone");
            }
            (Self::BTree(index), IndexKey::Bytes(key)) => {
                let undone = match change {
                    IndexChange::Added => index.remove(key, id.bits()),
                    IndexChange::Ghosted => index.set_ghost(key, id.bits(), false),
                    IndexChange::Revived => index.set_ghost(key, id.bits(), true),
                    IndexChange::TakenFromRemoved => index.replace(key, id.bits()).is_some(),
                    IndexChange::TakenFromMoved => index.replace(key, id.bits() | GHOST).is_some(),
                };
                debug_assert!(undone, "the entry is as the transaction being undone left it");
            }
            _ => wrong_key(),
        }
    }
}

/// A record store, and the indexes over it.
#[derive(Debug)]
pub struct Table {
    records: Arc<RecordStore>,
    indexes: Box<[Arc<Index>]>,
}

impl Table {
    /// An empty table without indexes, for the workers `0..workers`.
    #[must_use]
    pub fn new(workers: usize, budget: &Arc<MemoryBudget>) -> Self {
        let records = Arc::new(RecordStore::new(workers, Arc::clone(budget)));
        Self { records, indexes: Box::new([]) }
    }

    /// A table of the same records, which are shared, with these indexes, by number. An index that
    /// is split into parts has a number for each.
    #[must_use]
    pub fn with_indexes(&self, indexes: Vec<Arc<Index>>) -> Self {
        Self { records: Arc::clone(&self.records), indexes: indexes.into() }
    }

    /// The records.
    #[inline]
    #[must_use]
    pub fn records(&self) -> &RecordStore {
        &self.records
    }

    /// The records, to be kept by whoever reaches them often.
    #[must_use]
    pub fn shared_records(&self) -> &Arc<RecordStore> {
        &self.records
    }

    /// Index number `index`.
    ///
    /// # Panics
    ///
    /// If the table has fewer indexes.
    #[inline]
    #[must_use]
    pub fn index_at(&self, index: usize) -> &Index {
        &self.indexes[index]
    }

    /// All indexes, by number.
    #[must_use]
    pub fn indexes(&self) -> &[Arc<Index>] {
        &self.indexes
    }

    /// Asks for the cache lines of the record that index `index` most probably has under `hash`.
    /// The bucket should have been asked for some time before, or this waits for it.
    #[inline]
    pub fn prefetch_record(&self, index: usize, hash: u64) {
        if let Some(id) = self.indexes[index].as_hash().and_then(|index| index.candidate(hash)) {
            self.records.prefetch(id);
        }
    }

    /// Takes back one change of an undo log. The caller still holds the record exclusively, and
    /// goes on to older entries.
    pub fn undo(&self, worker: WorkerId, epochs: &ReclaimEpochs, id: RecordId, undo: Undo<'_>) {
        let record = self.records.record(id);
        match undo {
            Undo::Word { index, old } => record.store_word(index, old),
            Undo::Row { old } => {
                let stored = record.try_store_row(old);
                debug_assert!(stored, "the old row was in this slot");
            }
            Undo::Grown { prior } => {
                self.records.restore(worker, id, prior, epochs.retire_epoch());
            }
            // Its index entries are younger and gone by now.
            Undo::Inserted => self.records.retire(worker, id, epochs.retire_epoch()),
            Undo::Deleted => record.clear_ghost(),
            Undo::Revived => record.set_ghost(),
            Undo::Index { index, change, key } => self.indexes[index].undo(change, key, id),
        }
    }

    /// Bytes charged to the budget for records and indexes.
    #[must_use]
    pub fn bytes_used(&self) -> u64 {
        self.records.bytes_used() + self.indexes.iter().map(|index| index.bytes_used()).sum::<u64>()
    }
}

#[cold]
#[inline(never)]
fn wrong_key() -> ! {
    panic!("hash indexes take hashes and B+-trees take bytes")
}

#[cfg(test)]
mod tests;
