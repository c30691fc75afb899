//! A writer: makes the changes that were dealt out to it.
//!
//! Role         one per thread and worker id; the only one here that touches records
//! Invariants   I1 records are touched under an epoch pin, which lasts for a run
//! Concurrency  writers share latched indexes, and no row

use std::collections::HashMap;

use hotrow_base::ids::{TableId, WorkerId};
use hotrow_base::key::{self, KeyBuffer};
use hotrow_base::row::{Word, Words};
use hotrow_storage::btree::Hint;
use hotrow_storage::record::{Record, RecordId, RowWords};
use hotrow_storage::table::Index as StoredIndex;
use hotrow_transaction::catalog::{Index, Table};

use super::apply::{Batch, Fault, ValuesError, check_row, has_one_writer};
use super::decode::{Change, Operation};
use crate::recovery::LogPlace;
use crate::schema::Schema;

/// Rows of a table without a primary key, by what they hold.
type RowsByWords = HashMap<Box<[u64]>, Vec<RecordId>>;

/// One writer's worker number and memory; what it finds is kept for a run of entries.
pub(super) struct Writer {
    worker: WorkerId,
    key: KeyBuffer,
    other_key: KeyBuffer,
    row: Vec<u64>,
    /// by index id
    hints: Vec<Hint>,
    /// the records of an entry's changes
    found: Vec<Option<RecordId>>,
    /// made when they are first needed in a run, since others may change the rows between two
    by_words: HashMap<TableId, RowsByWords>,
}

impl Writer {
    pub(super) fn new(worker: WorkerId) -> Self {
        Self {
            worker,
            key: KeyBuffer::new(),
            other_key: KeyBuffer::new(),
            row: Vec::new(),
            hints: Vec::new(),
            found: Vec::new(),
            by_words: HashMap::new(),
        }
    }

    pub(super) fn worker(&self) -> WorkerId {
        self.worker
    }

    /// Makes the changes of all batches, in order.
    pub(super) fn write<'b>(
        &mut self,
        schema: &Schema,
        batches: impl Iterator<Item = &'b Batch>,
        place: impl Fn(u32) -> LogPlace,
    ) -> Result<(), ValuesError> {
        let _pin = schema.memory.epochs().pin(self.worker);
        self.hints.clear();
        self.hints.resize_with(schema.catalog.indexes().len(), Hint::default);
        self.by_words.clear();
        for batch in batches {
            for changes in batch.changes.chunk_by(|one, other| one.entry == other.entry) {
                let entry = changes[0].entry;
                let changes = || changes.iter().map(|planned| batch.change(planned));
                self.write_entry(schema, changes).map_err(|fault| fault.at(place(entry)))?;
            }
        }
        Ok(())
    }

    fn write_entry<'b, C: Iterator<Item = Change<'b>>>(
        &mut self,
        schema: &Schema,
        changes: impl Fn() -> C,
    ) -> Result<(), Fault> {
        let mut found = std::mem::take(&mut self.found);
        found.clear();
        for change in changes() {
            let table = schema.catalog.table(change.table);
            let id = self.find(schema, table, &change)?;
            if let Some(id) = id
                && has_one_writer(&schema.catalog, table)
            {
                self.leave_secondary(schema, table, id);
            }
            found.push(id);
        }
        for (change, &id) in changes().zip(&found) {
            self.write_change(schema, &change, id)?;
        }
        self.found = found;
        Ok(())
    }

    /// The row that a change is about; none for an insert.
    fn find(
        &mut self,
        schema: &Schema,
        table: &Table,
        change: &Change<'_>,
    ) -> Result<Option<RecordId>, Fault> {
        if change.operation == Operation::Insert {
            return Ok(None);
        }
        let records = schema.table(table.id).records();
        let found = match table.primary {
            None => {
                let rows = self.by_words.entry(table.id);
                let rows = rows.or_insert_with(|| rows_by_words(schema, table));
                rows.get_mut(change.old).and_then(Vec::pop)
            }
            Some(primary) => {
                let index = schema.catalog.index(primary);
                match schema.stored_part(index, change.key) {
                    StoredIndex::BTree(stored) => stored.get(change.key).map(RecordId::from_bits),
                    StoredIndex::Hash(stored) => stored.get(key::hash(change.key), |id| {
                        let row = records.record(id).live_row()?;
                        index.key.matches_row(&index.fields, row, change.key).then_some(id)
                    }),
                }
            }
        };
        let missing = || format!("{} is not there", named(schema, table, change.key));
        found.map(Some).ok_or_else(|| missing().into())
    }

    fn write_change(
        &mut self,
        schema: &Schema,
        change: &Change<'_>,
        id: Option<RecordId>,
    ) -> Result<(), Fault> {
        let table = schema.catalog.table(change.table);
        let Some(id) = id else { return self.insert(schema, table, change) };
        let record = schema.table(table.id).records().record(id);
        let Some(old) = record.live_row() else {
            return Err(format!("{} changes twice", named(schema, table, change.key)).into());
        };
        match change.operation {
            Operation::Delete => {
                self.delete(schema, table, change.key, record);
                return Ok(());
            }
            Operation::Words => self.change_words(table, old, change.new)?,
            Operation::Row | Operation::Insert => {
                self.row.clear();
                self.row.extend_from_slice(change.new);
            }
        }
        self.update(schema, table, change.key, record)
    }

    /// Puts a row with some words changed into `row`.
    fn change_words(
        &mut self,
        table: &Table,
        old: RowWords<'_>,
        changed: &[u64],
    ) -> Result<(), String> {
        self.row.clear();
        self.row.extend(old.iter().map(Word::load));
        for pair in changed.chunks_exact(2) {
            let word = usize::try_from(pair[0]).ok().and_then(|index| self.row.get_mut(index));
            let Some(word) = word else {
                let words = old.len();
                let name = &table.name;
                return Err(format!("a row of table \"{name}\" has {words} words, no {}", pair[0]));
            };
            *word = pair[1];
        }
        Ok(())
    }

    fn insert(&mut self, schema: &Schema, table: &Table, change: &Change<'_>) -> Result<(), Fault> {
        let records = schema.table(table.id).records();
        let allocated = records.allocate(self.worker, change.new);
        let id = allocated.map_err(|_| schema.memory.out_of_memory())?;
        if let Some(primary) = table.primary {
            self.key.set(change.key);
            self.enter(schema, schema.catalog.index(primary), id)?;
        }
        for &secondary in &table.secondary {
            let index = schema.catalog.index(secondary);
            encode(schema, index, id, change.new, &mut self.key)?;
            self.enter(schema, index, id)?;
        }
        self.note_row(table, change.new, id);
        Ok(())
    }

    /// Gives a record the row in `row`.
    fn update(
        &mut self,
        schema: &Schema,
        table: &Table,
        key: &[u8],
        record: Record<'_>,
    ) -> Result<(), Fault> {
        let row = std::mem::take(&mut self.row);
        check_row(table, &row)?;
        if let Some(primary) = table.primary {
            let index = schema.catalog.index(primary);
            if !index.key.matches_row(&index.fields, &row[..], key) {
                return Err(format!("{} gets another key", named(schema, table, key)).into());
            }
        }
        for &secondary in &table.secondary {
            self.move_entry(schema, table, schema.catalog.index(secondary), (record, &row))?;
        }
        if row.len() <= record.capacity_words() {
            let stored = record.try_store_row(&row);
            debug_assert!(stored, "the capacity was looked at");
        } else {
            let records = schema.table(table.id).records();
            let grown = records.grow(self.worker, record.id(), &row);
            let prior = grown.map_err(|_| schema.memory.out_of_memory())?;
            records.settle(self.worker, prior, schema.memory.epochs().retire_epoch());
        }
        self.note_row(table, &row, record.id());
        self.row = row;
        Ok(())
    }

    /// Enters a record for the row it will have, and takes its old entry out unless that was done.
    fn move_entry(
        &mut self,
        schema: &Schema,
        table: &Table,
        index: &Index,
        (record, row): (Record<'_>, &[u64]),
    ) -> Result<(), Fault> {
        encode(schema, index, record.id(), row, &mut self.key)?;
        if !has_one_writer(&schema.catalog, table) {
            encode(schema, index, record.id(), record.row(), &mut self.other_key)?;
            if self.key.as_slice() == self.other_key.as_slice() {
                return Ok(());
            }
            schema.leave_entry(index, record.id(), self.other_key.as_slice());
        }
        self.enter(schema, index, record.id())
    }

    fn delete(&mut self, schema: &Schema, table: &Table, key: &[u8], record: Record<'_>) {
        self.leave_secondary(schema, table, record.id()); // again, where it was done: no harm
        if let Some(primary) = table.primary {
            schema.leave_entry(schema.catalog.index(primary), record.id(), key);
        }
        record.set_ghost();
        let epoch = schema.memory.epochs().retire_epoch();
        schema.table(table.id).records().retire(self.worker, record.id(), epoch);
    }

    fn leave_secondary(&mut self, schema: &Schema, table: &Table, id: RecordId) {
        for &secondary in &table.secondary {
            let index = schema.catalog.index(secondary);
            let row = schema.table(table.id).records().record(id).row();
            if encode(schema, index, id, row, &mut self.key).is_ok() {
                schema.leave_entry(index, id, self.key.as_slice());
            }
        }
    }

    /// Enters a record under the key in `key`.
    fn enter(&mut self, schema: &Schema, index: &Index, id: RecordId) -> Result<(), Fault> {
        let hint = &mut self.hints[index.id.index()];
        if schema.enter_entry_near(index, id, self.key.as_slice(), hint)? {
            let name = &index.name;
            return Err(format!("two rows have the same key in unique index \"{name}\"").into());
        }
        Ok(())
    }

    /// Notes what a row holds now, if rows of its table are found by that.
    fn note_row(&mut self, table: &Table, row: &[u64], id: RecordId) {
        if let Some(rows) = self.by_words.get_mut(&table.id) {
            rows.entry(row.into()).or_default().push(id);
        }
    }
}

fn rows_by_words(schema: &Schema, table: &Table) -> RowsByWords {
    let mut rows = RowsByWords::new();
    schema.table(table.id).records().for_each_record(|id, record| {
        if let Some(row) = record.live_row() {
            let words = row.iter().map(Word::load).collect();
            rows.entry(words).or_default().push(id);
        }
    });
    rows
}

fn encode<W: Words + ?Sized>(
    schema: &Schema,
    index: &Index,
    id: RecordId,
    row: &W,
    key: &mut KeyBuffer,
) -> Result<(), String> {
    key.clear();
    let encoded = schema.encode_entry(index, id, row, key);
    encoded.map_err(|error| format!("index \"{}\": {error}", index.name))
}

/// A row, for messages.
fn named(schema: &Schema, table: &Table, key: &[u8]) -> String {
    let name = &table.name;
    let Some(primary) = table.primary else { return format!("the row of table \"{name}\"") };
    let key = match schema.catalog.index(primary).key.decode(key) {
        Ok(values) => values.iter().map(ToString::to_string).collect::<Vec<_>>().join(", "),
        Err(_) => format!("{key:02x?}"),
    };
    format!("row ({key}) of table \"{name}\"")
}
