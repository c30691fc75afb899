//! Key-range locking: what is read and changed is held by keys of indexes and the gaps between
//! them.
//!
//! Role         the access path of protections that lock keys, instead of the granules of
//!              [`hotrow_transaction::granule`]; and, for all that share tables with them, the
//!              checks before a gap is divided or two become one
//! Protocol     prior-key locking. In a B+-tree:
//!
//! ```text
//! point read    key there, ghosts too: SN (XN to write) on it; else NS on the prior key
//! range         table 3 of the paper, by `hotrow_storage::btree::Walk`: S on keys passed (XS to
//!               write), NS on what stands before a gap only, SN on a key without its gap
//! insert        XN on the new key; nobody else holds the gap it comes to stand in; what the
//!               transaction itself holds of that gap it holds of the part behind the new key, too
//! delete        XN on the keys of all entries; entries leave at commit, if nobody else holds or
//!               waits for their keys, else as vacant ghosts, some time later
//! update        of a column of an entry: delete and insert of the entry
//! ```
//!
//! A hash index has no order: the lock on a key covers its presence and its absence. Rows reached
//! through a secondary index are held by their primary key, unless only the entry is read.
//!
//! Invariants   I1 a name found in a leaf counts only if the leaf is unchanged once the lock is
//!              held ([`BTree::validate`](hotrow_storage::btree::BTree::validate)): so the lock is
//!              waited for with nothing latched, and whoever changes the leaf sees it
//!              I2 an entry made by a transaction that is undone leaves like a deleted one; undone
//!              back to a savepoint it stays as a ghost, because the transaction itself may have
//!              locked the gap behind it
//! Source       locking.txt 2.2, Algorithms 1 and 2, table 3. We differ: leaves are read without
//!              latches, so all readers' requests may wait where they stand; only the look before
//!              an insert is conditional

use hotrow_base::sync::facade::atomic::AtomicU64;
use std::ops::{Bound, ControlFlow};

use hotrow_base::ids::WorkerId;
use hotrow_storage::btree::{
    BTree, Entered, GapGuard, Hint, KeyBuffer as StoredKey, Prior, Removal, VACANT,
};
use hotrow_storage::record::Record;
use hotrow_storage::table::Index as StoredIndex;
use hotrow_storage::undo::{IndexChange, IndexKey, Undo, UndoEntry};
use hotrow_transaction::access::{Intent, KeyAt, RangeAt};
use hotrow_transaction::locks;
use hotrow_transaction::outcome::Stop;

use super::InPlace;
use super::visit::live_record;
use super::walk::Holding;
use crate::ghosts::Ghost;
use crate::lock_mode::Strength::{self, Exclusive, None as Free, Shared};
use crate::protection::{KeyLock, KeySpace, Protection};
use crate::schema::{AccessPath, Part, Schema};
use crate::stamp::Change;

impl AccessPath {
    /// The lock on an entry: in a hash index that on all entries with the same declared columns.
    fn entry_lock(&self, schema: &Schema, entry_key: &[u8]) -> KeyLock {
        let part = self.parts.of_key(entry_key);
        match &*part.stored {
            StoredIndex::BTree(_) => part.keys.lock(entry_key),
            StoredIndex::Hash(_) => {
                let index = schema.catalog.index(self.id);
                part.keys.lock_hashed(schema.entry_hash(index, entry_key))
            }
        }
    }

    /// How a key of the index is held by an access that goes through it.
    #[inline]
    pub(super) fn key_strength(&self, intent: Intent) -> Strength {
        match intent {
            Intent::Write if self.is_primary => Exclusive,
            _ => Shared,
        }
    }
}

impl<'a, P: Protection> InPlace<'a, P> {
    /// The live record under a key, held or, where there is none, its absence.
    pub(super) fn find_by_key(
        &mut self,
        at: &KeyAt<'_>,
        path: &'a AccessPath,
        intent: Intent,
    ) -> Result<Option<Record<'a>>, Stop> {
        if !Self::holds(at.reads) || !P::ALWAYS && !path.is_locked {
            return Ok(Self::look_up(at, path));
        }
        self.hold_table(at.table, locks::intent_mode(intent))?;
        Self::hold_granule(&mut self.protection, path, at.key, Self::path_mode(path, intent))?;
        let strength = path.key_strength(intent);
        let part = path.parts.of_key(at.key);
        let found = match &*part.stored {
            StoredIndex::Hash(_) => {
                let lock = part.keys.lock_hashed(at.hash);
                self.protection.hold_key(lock, strength, Free)?;
                Self::look_up(at, path)
            }
            StoredIndex::BTree(tree) => {
                let entry = self.find_in_tree(tree, part.keys, at.key, strength)?;
                let record = entry.and_then(live_record).map(|id| path.records.record(id));
                record.filter(|record| !record.is_ghost())
            }
        };
        if Self::holds_rows(at.reads)
            && !path.is_primary
            && let Some(record) = found
        {
            let (protection, buffer) = (&mut self.protection, &mut self.scratch.key);
            Self::hold_row(protection, self.schema, buffer, at.table, record.row(), intent)?;
        }
        Ok(found)
    }

    /// Algorithm 2.
    fn find_in_tree(
        &mut self,
        tree: &BTree,
        keys: KeySpace,
        key: &[u8],
        strength: Strength,
    ) -> Result<Option<u64>, Stop> {
        loop {
            let prior = &mut self.scratch.prior;
            let (found, stamp) = tree.get_or_prior(key, prior);
            let lock = keys.lock(prior.as_bytes());
            let entry = match found {
                Prior::Exact(entry) => {
                    self.protection.hold_key(lock, strength, Free)?;
                    Some(entry)
                }
                Prior::Key(_) | Prior::Fence => {
                    self.protection.hold_key(lock, Free, Shared)?;
                    None
                }
            };
            if tree.validate(stamp) {
                return Ok(entry);
            }
        }
    }

    /// Holds the primary key of a row reached through a secondary index.
    pub(super) fn hold_row_key(
        protection: &mut P,
        path: &AccessPath,
        key: &[u8],
        intent: Intent,
    ) -> Result<(), Stop> {
        if !P::ALWAYS && !path.is_locked {
            return Ok(());
        }
        let keys = path.parts.of_key(key).keys;
        protection.hold_key(keys.lock(key), path.key_strength(intent), Free)
    }

    /// Visits a range, holding its keys and gaps.
    pub(super) fn scan_keys(
        &mut self,
        range: &RangeAt<'_>,
        intent: Intent,
        visit: impl FnMut(Record<'a>, &[AtomicU64]) -> ControlFlow<()>,
    ) -> Result<(), Stop> {
        let path = self.schema.path(range.index);
        self.hold_table(range.table, locks::intent_mode(intent))?;
        let parts = path.parts.of_prefix(range.prefix, range.prefix_parts);
        let rows = Self::holds_rows(range.reads) && !path.is_primary;
        match &*parts[0].stored {
            StoredIndex::BTree(_) => {
                self.walk_range(range, (path, parts), Holding { intent, keys: true, rows }, visit)
            }
            StoredIndex::Hash(_) => {
                let mode = Self::path_mode(path, intent);
                Self::hold_granule(&mut self.protection, path, range.prefix, mode)?;
                let lock = parts[0].keys.lock(range.prefix);
                self.protection.hold_key(lock, path.key_strength(intent), Free)?;
                self.visit_range(range, intent, rows, visit)
            }
        }
    }

    /// Holds an entry's key to make, move or remove the entry.
    #[inline]
    pub(super) fn hold_entry(
        protection: &mut P,
        schema: &Schema,
        path: &AccessPath,
        entry_key: &[u8],
    ) -> Result<(), Stop> {
        if !P::LOCKS_KEYS {
            return Ok(());
        }
        protection.hold_key(path.entry_lock(schema, entry_key), Exclusive, Free)
    }

    /// Inserts an entry, whose key is held, into the tree of a part; what was there under its
    /// key. Algorithm 1: a key that is new divides a gap.
    pub(super) fn enter(
        protection: &mut P,
        part: &Part,
        tree: &BTree,
        (key, value): (&[u8], u64),
        hint: Option<&mut Hint>,
    ) -> Result<Option<u64>, Stop> {
        if !protection.guards_gaps() {
            let observe = |change| protection.changed(part.name(), Change::of_node(change));
            let there = match hint {
                Some(hint) => tree.insert_hinted_observed(key, value, hint, observe),
                None => tree.insert_observed(key, value, observe),
            };
            return there.map_err(|_| Stop::OutOfMemory);
        }
        let entered = Self::enter_guarded(protection, part.keys, tree, (key, value), hint);
        protection.done_dividing();
        entered
    }

    fn enter_guarded(
        protection: &mut P,
        keys: KeySpace,
        tree: &BTree,
        (key, value): (&[u8], u64),
        hint: Option<&mut Hint>,
    ) -> Result<Option<u64>, Stop> {
        let mut none = Hint::default();
        let hint = hint.unwrap_or(&mut none);
        loop {
            let mut guard = Guard { protection, keys };
            match tree.insert_guarded(key, value, hint, &mut guard) {
                Ok(Entered::Yes) => return Ok(None),
                Ok(Entered::Exists(value)) => return Ok(Some(value)),
                Ok(Entered::Denied) => protection.wait_to_divide()?,
                Err(_) => return Err(Stop::OutOfMemory),
            }
        }
    }
}

/// Whether a range visits the whole of its index.
pub(super) fn is_whole(range: &RangeAt<'_>) -> bool {
    matches!((range.lower, range.upper), (Bound::Unbounded, Bound::Unbounded))
}

/// Asks a protection on behalf of an index.
struct Guard<'p, P> {
    protection: &'p mut P,
    keys: KeySpace,
}

impl<P: Protection> GapGuard for Guard<'_, P> {
    const ASKS: bool = true;

    fn may_divide(&mut self, prior: &[u8], key: &[u8]) -> bool {
        self.protection.may_divide(self.keys.lock(prior), self.keys.lock(key))
    }

    fn may_unite(&mut self, prior: &[u8], key: &[u8]) -> bool {
        self.protection.may_unite(self.keys.lock(prior), self.keys.lock(key))
    }
}

/// Takes an entry out of a B+-tree when its transaction ends. One that must stay is a vacant ghost
/// from now on, and needs its record no more.
pub(super) fn leave<P: Protection>(
    schema: &Schema,
    protection: &mut P,
    part: &Part,
    key: &[u8],
    value: u64,
) {
    let StoredIndex::BTree(tree) = &*part.stored else { return };
    if !protection.guards_gaps() {
        tree.remove(key, value);
        return;
    }
    let mut guard = Guard { protection, keys: part.keys };
    match tree.remove_guarded(key, value, &mut guard) {
        Removal::Absent | Removal::StillEmpty | Removal::Done => {}
        Removal::Kept | Removal::Emptied => {
            schema.memory.ghosts().push(Ghost::new(&part.stored, part.keys), key);
        }
    }
}

/// How much of a transaction is undone.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Reach {
    /// a part: it goes on
    Part,
    /// the whole of it
    Whole,
}

/// Takes back one change.
pub(super) fn undo<P: Protection>(
    schema: &Schema,
    worker: WorkerId,
    protection: &mut P,
    reach: Reach,
    entry: &UndoEntry<'_>,
) {
    if protection.guards_gaps()
        && let Undo::Index { index, change: IndexChange::Added, key: IndexKey::Bytes(key) } =
            entry.undo
    {
        let part = schema.part_at(entry.table, index);
        let value = entry.record.bits();
        if reach == Reach::Whole || !P::LOCKS_KEYS {
            leave(schema, protection, part, key, value);
        } else if let StoredIndex::BTree(tree) = &*part.stored {
            let old = tree.replace(key, VACANT);
            debug_assert_eq!(old, Some(value), "nobody else may change an entry that was added");
            schema.memory.ghosts().push(Ghost::new(&part.stored, part.keys), key);
        }
        return;
    }
    let epochs = schema.memory.epochs();
    schema.table(entry.table).undo(worker, epochs, entry.record, entry.undo);
}

/// Ghosts looked at when a transaction ends.
const GHOSTS_AT_ONCE: usize = 4;

/// Tries to remove ghosts that had to stay before. Called when the transaction has come to its end.
#[inline]
pub(super) fn housekeep<P: Protection>(schema: &Schema, protection: &mut P, key: &mut StoredKey) {
    if protection.guards_gaps() && !schema.memory.ghosts().is_empty() {
        remove_ghosts(schema, protection, key);
    }
}

#[cold]
fn remove_ghosts<P: Protection>(schema: &Schema, protection: &mut P, key: &mut StoredKey) {
    let ghosts = schema.memory.ghosts();
    for _ in 0..ghosts.len().min(GHOSTS_AT_ONCE) {
        let Some(ghost) = ghosts.pop(key) else { return };
        let StoredIndex::BTree(tree) = &*ghost.index else { continue };
        let mut guard = Guard { protection, keys: ghost.keys };
        let again = match tree.remove_guarded(key.as_bytes(), VACANT, &mut guard) {
            Removal::Absent | Removal::Done => None,
            Removal::Kept => Some(ghost),
            Removal::Emptied | Removal::StillEmpty => ghost.of_empty_leaf(),
        };
        if let Some(ghost) = again {
            ghosts.push(ghost, key.as_bytes());
        }
    }
}

#[cfg(test)]
mod tests;
