//! Changing rows: columns in place, rows in and out, and the index entries that follow.

use hotrow_base::sync::facade::atomic::{AtomicU64, Ordering::Relaxed};

use hotrow_base::datum::Datum;
use hotrow_base::ids::{ColumnId, TableId};
use hotrow_base::row::{Field, RowLayout, Written};
use hotrow_storage::record::{Record, RecordId};
use hotrow_storage::table::Index as StoredIndex;
use hotrow_storage::undo::{IndexChange, IndexKey, UndoLog};
use hotrow_transaction::access::{Inserted, KeyAt};
use hotrow_transaction::catalog::{Index, IndexKind};
use hotrow_transaction::granule::LockMode;
use hotrow_transaction::outcome::{Conflict, Stop};

use super::visit::live_record;
use super::{InPlace, MovedEntry, Scratch};
use crate::protection::Protection;
use crate::stamp::Change;

/// Sets an integer cell that is not NULL: a load, an undo entry and a store.
#[inline(always)]
pub(super) fn set_int(
    undo: &mut UndoLog,
    table: TableId,
    id: RecordId,
    row: &[AtomicU64],
    field: Field,
    value: i64,
) {
    undo.change_word(table, id, (row, field.word()), |old| field.with_int(old, value));
    debug_assert_eq!(field.read_int(row), value, "the interpreter checked its range");
}

/// Sets any other cell where it lies, if it fits. A function of its own, so that integers do not
/// pay for it.
#[inline(never)]
fn write_other(
    undo: &mut UndoLog,
    (table, id): (TableId, RecordId),
    layout: &RowLayout,
    row: &[AtomicU64],
    &(column, datum): &(ColumnId, Datum),
    heap: &[u8],
) -> Written {
    let change = |word, new| undo.change_word(table, id, (row, word), |_| new);
    let written = layout.write_field(layout.field(column), datum, heap, row, change);
    written.unwrap_or_else(|_| unreachable!("the interpreter checked the values it sets"))
}

impl<'a, P: Protection> InPlace<'a, P> {
    pub(super) fn change_row(
        &mut self,
        table: TableId,
        record: Record<'a>,
        changes: &[(ColumnId, Datum)],
        heap: &[u8],
    ) -> Result<Inserted, Stop> {
        self.keep_for_checkpoint(table, record);
        let indexed = self.schema.indexed(table);
        if !indexed.is_empty()
            && changes.iter().any(|(column, _)| indexed.may_contain(column.index()))
            && let Inserted::Duplicate(index) = self.move_entries(table, record, changes, heap)?
        {
            return Ok(Inserted::Duplicate(index));
        }
        self.write_columns(table, record, changes, heap)?;
        Ok(Inserted::Yes)
    }

    /// Moves a row's entries in all secondary indexes that changes touch.
    #[inline(never)]
    fn move_entries(
        &mut self,
        table: TableId,
        record: Record<'a>,
        changes: &[(ColumnId, Datum)],
        heap: &[u8],
    ) -> Result<Inserted, Stop> {
        let schema = self.schema;
        for &secondary in &schema.catalog.table(table).secondary {
            let index = schema.catalog.index(secondary);
            if changes.iter().any(|(column, _)| index.entry_columns.contains(column))
                && let Inserted::Duplicate(index) = self.move_entry(index, record, changes, heap)?
            {
                return Ok(Inserted::Duplicate(index));
            }
        }
        Ok(Inserted::Yes)
    }

    /// Puts another row in the place of a record's, with its entries in secondary indexes.
    ///
    /// # Errors
    ///
    /// As [`RecordAccess::update`](hotrow_transaction::access::RecordAccess::update).
    pub fn store_row(
        &mut self,
        table: TableId,
        record: Record<'a>,
        row: &[u64],
    ) -> Result<Inserted, Stop> {
        self.keep_for_checkpoint(table, record);
        let (schema, id) = (self.schema, record.id());
        for &secondary in &schema.catalog.table(table).secondary {
            let index = schema.catalog.index(secondary);
            let Scratch { key, other_key, .. } = &mut *self.scratch;
            key.clear();
            other_key.clear();
            let encoded = schema.encode_entry(index, id, record.row(), key).is_ok()
                && schema.encode_entry(index, id, row, other_key).is_ok();
            if !encoded {
                return Err(Stop::OutOfMemory);
            }
            if let Inserted::Duplicate(index) = self.move_to_other_key(index, id)? {
                return Ok(Inserted::Duplicate(index));
            }
        }
        let old = record.row();
        if old.len() == row.len() {
            for (at, (old_word, &new)) in old.iter().zip(row).enumerate() {
                if old_word.load(Relaxed) != new {
                    self.scratch.part.undo.change_word(table, id, (old, at), |_| new);
                }
            }
            return Ok(Inserted::Yes);
        }
        self.scratch.row.clear();
        self.scratch.row.extend_from_slice(row);
        self.lay_anew(table, record)?;
        Ok(Inserted::Yes)
    }

    #[inline]
    fn write_columns(
        &mut self,
        table: TableId,
        record: Record<'a>,
        changes: &[(ColumnId, Datum)],
        heap: &[u8],
    ) -> Result<(), Stop> {
        let layout = &self.schema.catalog.table(table).layout;
        let undo = &mut self.scratch.part.undo;
        let (row, id) = (record.row(), record.id());
        for (at, &(column, datum)) in changes.iter().enumerate() {
            let field = layout.field(column);
            if field.is_plain_int() {
                debug_assert!(!datum.is_null(), "the interpreter checked the values it sets");
                set_int(undo, table, id, row, field, datum.as_int());
            } else if write_other(undo, (table, id), layout, row, &changes[at], heap)
                == Written::DoesNotFit
            {
                return self.rebuild_row(table, record, &changes[at..], heap);
            }
        }
        Ok(())
    }

    /// Gives a row that outgrew its place a new one.
    #[cold]
    fn rebuild_row(
        &mut self,
        table: TableId,
        record: Record<'a>,
        changes: &[(ColumnId, Datum)],
        heap: &[u8],
    ) -> Result<(), Stop> {
        let layout = &self.schema.catalog.table(table).layout;
        let scratch = &mut *self.scratch;
        if layout.rebuild(record.row(), changes, heap, &mut scratch.row).is_err() {
            // Values were checked one by one; only the row's size as a whole is left to fail.
            return Err(Stop::OutOfMemory);
        }
        self.lay_anew(table, record)
    }

    /// Puts the row in the buffer in the place of another one.
    fn lay_anew(&mut self, table: TableId, record: Record<'a>) -> Result<(), Stop> {
        let records = self.schema.table(table).records();
        let id = record.id();
        let scratch = &mut *self.scratch;
        scratch.part.undo.note_rebuilt(table, record.row(), &scratch.row);
        if scratch.row.len() <= record.capacity_words() {
            scratch.part.undo.log_row(table, record);
            let stored = record.try_store_row(&scratch.row);
            debug_assert!(stored, "the capacity was looked at");
            return Ok(());
        }
        let prior =
            records.grow(scratch.worker, id, &scratch.row).map_err(|_| Stop::OutOfMemory)?;
        scratch.part.undo.log_grown(table, id, prior);
        scratch.part.unsettled = true;
        Ok(())
    }

    /// Moves a row's entry in a secondary index to the key it will have.
    fn move_entry(
        &mut self,
        index: &Index,
        record: Record<'a>,
        changes: &[(ColumnId, Datum)],
        heap: &[u8],
    ) -> Result<Inserted, Stop> {
        let schema = self.schema;
        let (row, id) = (record.row(), record.id());
        self.scratch.key.clear();
        self.scratch.other_key.clear();
        let encoded = schema.encode_entry(index, id, row, &mut self.scratch.key).is_ok()
            && schema
                .encode_changed(index, id, row, changes, heap, &mut self.scratch.other_key)
                .is_ok();
        if !encoded {
            return Err(Stop::OutOfMemory);
        }
        self.move_to_other_key(index, id)
    }

    /// Moves a row's entry from the key in `key` to that in `other_key`.
    fn move_to_other_key(&mut self, index: &Index, id: RecordId) -> Result<Inserted, Stop> {
        let schema = self.schema;
        if self.scratch.key.as_slice() == self.scratch.other_key.as_slice() {
            return Ok(Inserted::Yes);
        }
        let (protection, scratch) = (&mut self.protection, &mut *self.scratch);
        for key in [&scratch.key, &scratch.other_key] {
            let path = schema.path(index.id);
            Self::hold_granule(protection, path, key.as_slice(), LockMode::Exclusive)?;
            Self::hold_entry(protection, schema, path, key.as_slice())?;
        }
        if let Inserted::Duplicate(index) = self.add_entry(index, id, true)? {
            return Ok(Inserted::Duplicate(index));
        }
        self.drop_entry(index, id);
        Ok(Inserted::Yes)
    }

    /// Adds the entry for the key in `other_key` (of a moved row) or `key` (of a new one).
    fn add_entry(&mut self, index: &Index, id: RecordId, moved: bool) -> Result<Inserted, Stop> {
        let schema = self.schema;
        let path = schema.path(index.id);
        let (protection, scratch) = (&mut self.protection, &mut *self.scratch);
        let new = if moved { scratch.other_key.as_slice() } else { scratch.key.as_slice() };
        Self::hold_entry(protection, schema, path, new)?;
        let part = path.parts.of_key(new);
        let number = part.number;
        match &*part.stored {
            StoredIndex::BTree(tree) => {
                let key = IndexKey::Bytes(new);
                match Self::enter(protection, part, tree, (new, id.bits()), None)? {
                    None => {
                        let added = IndexChange::Added;
                        scratch.part.undo.log_index(index.table, id, number, added, key);
                    }
                    Some(existing) if RecordId::from_bits(existing) == id => {
                        if live_record(existing).is_none() {
                            Self::may_bring_back(|| {
                                scratch.has_moved((index.table, number.into()), key)
                            })?;
                            tree.set_ghost_observed(new, existing, false, |change| {
                                protection.changed(part.name(), Change::of_node(change));
                            });
                            let revived = IndexChange::Revived;
                            scratch.part.undo.log_index(index.table, id, number, revived, key);
                        }
                    }
                    // The other row moved on to another key, or was removed, by this transaction:
                    // nobody else's ghosts are met or brought back (I2 of the module above).
                    Some(existing) => {
                        let other = RecordId::from_bits(existing);
                        let record = path.records.record(other);
                        if !protection.may_judge(index.table, record) {
                            return Ok(Inserted::Duplicate(index.id));
                        }
                        let removed = record.is_ghost();
                        let change = match live_record(existing) {
                            Some(_) if !removed => return Ok(Inserted::Duplicate(index.id)),
                            Some(_) => IndexChange::TakenFromRemoved,
                            None => IndexChange::TakenFromMoved,
                        };
                        Self::may_bring_back(|| match change {
                            IndexChange::TakenFromRemoved => {
                                scratch.has_removed(index.table, other)
                            }
                            _ => scratch.has_moved((index.table, number.into()), key),
                        })?;
                        tree.replace_observed(new, id.bits(), |change| {
                            protection.changed(part.name(), Change::of_node(change));
                        });
                        scratch.part.undo.log_index(index.table, other, number, change, key);
                        scratch.part.unsettled = true;
                    }
                }
            }
            StoredIndex::Hash(hash_index) => {
                let hash = schema.entry_hash(index, new);
                let is_taken = |other| {
                    let record = path.records.record(other);
                    let has_key = |row| path.is_key_of(row, new);
                    index.unique
                        && other != id
                        && (!protection.may_judge(index.table, record)
                            || record.live_row().is_some_and(has_key))
                };
                let mut change = None;
                let there = hash_index.insert_unique_observed(hash, id, is_taken, |old, new| {
                    change = Some(Change::of_bucket(old, new));
                });
                if let Some(change) = change {
                    protection.changed(part.name(), change);
                }
                if there.map_err(|_| Stop::OutOfMemory)?.is_some() {
                    return Ok(Inserted::Duplicate(index.id));
                }
                let key = IndexKey::Hash(hash);
                scratch.part.undo.log_index(index.table, id, number, IndexChange::Added, key);
            }
        }
        Ok(Inserted::Yes)
    }

    /// Takes the entry for the key in `key` out, finally at commit.
    fn drop_entry(&mut self, index: &Index, id: RecordId) {
        let scratch = &mut *self.scratch;
        let old = scratch.key.as_slice();
        let part = self.schema.path(index.id).parts.of_key(old);
        let (table, number) = (index.table, part.number);
        match &*part.stored {
            StoredIndex::BTree(tree) => {
                // Another row of this transaction may have taken the key of a removed one.
                let protection = &mut self.protection;
                let observe = |change| protection.changed(part.name(), Change::of_node(change));
                if tree.set_ghost_observed(old, id.bits(), true, observe) {
                    let (ghosted, key) = (IndexChange::Ghosted, IndexKey::Bytes(old));
                    scratch.part.undo.log_index(table, id, number, ghosted, key);
                }
            }
            StoredIndex::Hash(_) => {
                let hash = self.schema.entry_hash(index, old);
                scratch.part.moved.push(MovedEntry { table, number, hash, record: id });
            }
        }
        scratch.part.unsettled = true;
    }

    /// Inserts a row with all its entries, or leaves everything as it was.
    pub(super) fn insert_row(
        &mut self,
        table: TableId,
        row: &[u64],
        primary: Option<&KeyAt<'_>>,
    ) -> Result<Inserted, Stop> {
        let schema = self.schema;
        self.hold_table(table, LockMode::IntentExclusive)?;
        if P::ACTIVE {
            self.hold_entries(table, row, primary)?;
        }
        let scratch = &mut *self.scratch;
        let before = scratch.savepoint();
        let records = schema.table(table).records();
        let id = records.allocate(scratch.worker, row).map_err(|_| Stop::OutOfMemory)?;
        scratch.part.undo.log_inserted(table, id, row);
        self.protection.born(table, records.record(id));
        if let Some(at) = primary
            && let Some(existing) = self.add_primary(at, id)?
        {
            self.take_back(before);
            let record = records.record(existing);
            if !record.is_ghost() || !self.protection.may_judge(table, record) {
                return Ok(Inserted::Duplicate(at.index));
            }
            let revived = self.revive_row(table, existing, row)?;
            if revived != Inserted::Yes {
                self.take_back(before);
            }
            return Ok(revived);
        }
        let added = self.add_secondary_entries(table, id, row)?;
        if added != Inserted::Yes {
            self.take_back(before);
        }
        Ok(added)
    }

    /// Adds the primary entry, unless there is one with this key, whose record is returned then: a
    /// live one, or a ghost that this transaction made.
    #[inline]
    fn add_primary(&mut self, at: &KeyAt<'_>, id: RecordId) -> Result<Option<RecordId>, Stop> {
        let path = self.schema.path(at.index);
        let part = path.parts.of_key(at.key);
        let (table, number) = (at.table, part.number);
        let protection = &mut self.protection;
        Self::hold_entry(protection, self.schema, path, at.key)?;
        let key = match &*part.stored {
            StoredIndex::BTree(tree) => {
                let hint = self.scratch.insert_hint(at.index);
                let entry = (at.key, id.bits());
                if let Some(existing) = Self::enter(protection, part, tree, entry, Some(hint))? {
                    return Ok(Some(RecordId::from_bits(existing)));
                }
                IndexKey::Bytes(at.key)
            }
            StoredIndex::Hash(hash_index) => {
                // A ghost's key too: its record would live again.
                let has_key = |other| path.is_key_of(path.records.record(other).row(), at.key);
                let observe = |old, new| {
                    protection.changed(part.name(), Change::of_bucket(old, new));
                };
                let there = hash_index.insert_unique_observed(at.hash, id, has_key, observe);
                if let Some(existing) = there.map_err(|_| Stop::OutOfMemory)? {
                    return Ok(Some(existing));
                }
                IndexKey::Hash(at.hash)
            }
        };
        self.scratch.part.undo.log_index(table, id, number, IndexChange::Added, key);
        Ok(None)
    }

    fn add_secondary_entries(
        &mut self,
        table: TableId,
        id: RecordId,
        row: &[u64],
    ) -> Result<Inserted, Stop> {
        let schema = self.schema;
        for &secondary in &schema.catalog.table(table).secondary {
            let index = schema.catalog.index(secondary);
            let key = &mut self.scratch.key;
            key.clear();
            if schema.encode_entry(index, id, row, key).is_err() {
                return Err(Stop::OutOfMemory);
            }
            if let Inserted::Duplicate(index) = self.add_entry(index, id, false)? {
                return Ok(Inserted::Duplicate(index));
            }
        }
        Ok(Inserted::Yes)
    }

    /// Holds the granules of all entries a new row will have.
    fn hold_entries(
        &mut self,
        table: TableId,
        row: &[u64],
        primary: Option<&KeyAt<'_>>,
    ) -> Result<(), Stop> {
        let schema = self.schema;
        let exclusive = LockMode::Exclusive;
        let protection = &mut self.protection;
        match primary {
            Some(&KeyAt { entry: Some(entry), .. }) => protection.reach(entry)?,
            Some(at) => {
                Self::hold_granule(protection, schema.path(at.index), at.key, exclusive)?;
            }
            None => {}
        }
        for &secondary in &schema.catalog.table(table).secondary {
            let index = schema.catalog.index(secondary);
            let key = &mut self.scratch.key;
            key.clear();
            if index.key.encode_from_row(&index.fields, row, key).is_ok() {
                let path = schema.path(secondary);
                Self::hold_granule(protection, path, key.as_slice(), exclusive)?;
            }
        }
        Ok(())
    }

    /// An insert under the key of a row that this transaction removed: the record lives again.
    #[cold]
    fn revive_row(&mut self, table: TableId, id: RecordId, row: &[u64]) -> Result<Inserted, Stop> {
        let schema = self.schema;
        let records = schema.table(table).records();
        let record = records.record(id);
        Self::may_bring_back(|| self.scratch.has_removed(table, id))?;
        debug_assert!(record.is_captured(), "this transaction has changed it before");
        for &secondary in &schema.catalog.table(table).secondary {
            let index = schema.catalog.index(secondary);
            if let Inserted::Duplicate(index) = self.move_revived_entry(index, id, row)? {
                return Ok(Inserted::Duplicate(index));
            }
        }
        let scratch = &mut *self.scratch;
        if row.len() <= record.capacity_words() {
            scratch.part.undo.log_row(table, record);
            let stored = record.try_store_row(row);
            debug_assert!(stored, "the capacity was looked at");
        } else {
            let prior = records.grow(scratch.worker, id, row).map_err(|_| Stop::OutOfMemory)?;
            scratch.part.undo.log_grown(table, id, prior);
        }
        scratch.part.undo.log_revived(table, id, row);
        record.clear_ghost();
        scratch.part.unsettled = true;
        Ok(Inserted::Yes)
    }

    /// Stops before a ghost is brought back that another transaction has made, which may yet be
    /// undone, and then needs it, or has it removed for good.
    #[cold]
    fn may_bring_back(is_own: impl FnOnce() -> bool) -> Result<(), Stop> {
        match P::RUNS_AHEAD && !is_own() {
            true => Err(Stop::Conflict(Conflict::Undecided)),
            false => Ok(()),
        }
    }

    fn move_revived_entry(
        &mut self,
        index: &Index,
        id: RecordId,
        row: &[u64],
    ) -> Result<Inserted, Stop> {
        let schema = self.schema;
        let old = schema.table(index.table).records().record(id).row();
        let scratch = &mut *self.scratch;
        scratch.key.clear();
        scratch.other_key.clear();
        let encoded = schema.encode_entry(index, id, old, &mut scratch.key).is_ok()
            && schema.encode_entry(index, id, row, &mut scratch.other_key).is_ok();
        if !encoded {
            return Err(Stop::OutOfMemory);
        }
        let same = scratch.key.as_slice() == scratch.other_key.as_slice();
        if same && !index.unique {
            return Ok(Inserted::Yes);
        }
        // Under an equal key too: another row of this transaction may have taken it meanwhile.
        if let Inserted::Duplicate(index) = self.add_entry(index, id, true)? {
            return Ok(Inserted::Duplicate(index));
        }
        if !same || index.kind == IndexKind::Hash {
            self.drop_entry(index, id);
        }
        Ok(Inserted::Yes)
    }

    pub(super) fn remove_row(&mut self, table: TableId, record: Record<'a>) -> Result<(), Stop> {
        let schema = self.schema;
        if P::ACTIVE {
            for &secondary in &schema.catalog.table(table).secondary {
                let index = schema.catalog.index(secondary);
                let key = &mut self.scratch.key;
                key.clear();
                if schema.encode_entry(index, record.id(), record.row(), key).is_ok() {
                    let path = schema.path(secondary);
                    let (protection, key) = (&mut self.protection, key.as_slice());
                    Self::hold_granule(protection, path, key, LockMode::Exclusive)?;
                    Self::hold_entry(protection, schema, path, key)?;
                }
            }
        }
        self.keep_for_checkpoint(table, record);
        self.scratch.part.undo.log_deleted(table, record);
        record.set_ghost();
        self.scratch.part.unsettled = true;
        Ok(())
    }
}
