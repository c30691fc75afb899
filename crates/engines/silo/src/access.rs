//! The access path: reads are copied and noted, changes are kept.
//!
//! Invariants   I1 what an index shows counts only for a record that is read and has the key: the
//!              entry may be on its way in or out
//!              I2 what was not found is in the node set, from before it was looked for
//! Source       Silo 4.4 and 4.6. We differ: an insert is no record until commit, so that there is
//!              nothing to take back where a transaction ends before; and a table without an order
//!              is not scanned beside others: the call runs alone

use std::ops::{Bound, ControlFlow, RangeBounds};

use hotrow_base::datum::Datum;
use hotrow_base::ids::{ColumnId, IndexId, TableId};
use hotrow_base::key::KeyBuffer;
use hotrow_engine::probe;
use hotrow_engine::schema::Schema;
use hotrow_storage::record::RecordId;
use hotrow_transaction::access::{Inserted, Intent, KeyAt, RangeAt, Reads, RecordAccess};
use hotrow_transaction::catalog::{Index, IndexKind};
use hotrow_transaction::dynamic::Definitions;
use hotrow_transaction::outcome::Stop;

use crate::transaction::{Entry, Kind, NONE, NOTHING, Operation, Span, Transaction};

/// One attempt's access path, borrowed from its transaction while the procedure runs.
pub struct Access<'a> {
    schema: &'a Schema,
    transaction: &'a mut Transaction,
}

impl<'a> Access<'a> {
    /// For a transaction that has begun.
    pub fn new(schema: &'a Schema, transaction: &'a mut Transaction) -> Self {
        Self { schema, transaction }
    }

    /// The live record under a key, own changes and all.
    fn look_up(&mut self, at: &KeyAt<'_>) -> Option<u32> {
        let Self { schema, transaction } = self;
        if let Some(entry) = transaction.expected(at.index, at.key) {
            return Some(entry);
        }
        let index = schema.catalog.index(at.index);
        let found = probe::find(schema, at, |id| {
            let entry = transaction.read(schema, at.table, id)?;
            let row = transaction.row(entry);
            index.key.matches_row(&index.fields, row, at.key).then_some(entry)
        });
        found.map_err(|seen| transaction.seen.push(seen)).ok()
    }

    /// Whether a unique index has the key for another record than `by`.
    fn is_taken(&mut self, index: &Index, key: &[u8], by: u32) -> bool {
        let hash = match index.kind {
            IndexKind::Hash => self.schema.entry_hash(index, key),
            IndexKind::BTree => 0,
        };
        let (table, index) = (index.table, index.id);
        let at = KeyAt { table, index, key, hash, reads: Reads::Rows, entry: None };
        self.look_up(&at).is_some_and(|entry| entry != by)
    }

    /// Gives an entry another row, which is in the transaction's buffer.
    fn change_row(&mut self, entry: u32) -> Inserted {
        let [mut old, mut new] = std::mem::take(&mut self.transaction.key_buffers);
        let moved = self.move_entries(entry, &mut old, &mut new);
        self.transaction.key_buffers = [old, new];
        match moved {
            Ok(moves) => {
                self.put_row(entry, moves);
                Inserted::Yes
            }
            Err(index) => Inserted::Duplicate(index),
        }
    }

    /// Notes where a row that is to change will have entries; whether there are any such. The index
    /// that has the key of another row, if one has.
    fn move_entries(
        &mut self,
        entry: u32,
        old_key: &mut KeyBuffer,
        new_key: &mut KeyBuffer,
    ) -> Result<bool, IndexId> {
        let schema = self.schema;
        let Entry { table, row, .. } = self.transaction.entries[entry as usize];
        let id = self.name_of(entry);
        let mut moves = false;
        for &secondary in &schema.catalog.table(table).secondary {
            let index = schema.catalog.index(secondary);
            self.encode(index, id, row.of(&self.transaction.words), old_key);
            self.encode(index, id, &self.transaction.row, new_key);
            if old_key.as_slice() == new_key.as_slice() {
                continue;
            }
            moves = true;
            if is_unique(index, &self.transaction.row)
                && self.is_taken(index, new_key.as_slice(), entry)
            {
                return Err(secondary);
            }
        }
        if !moves {
            return Ok(false);
        }
        for &secondary in &schema.catalog.table(table).secondary {
            let index = schema.catalog.index(secondary);
            self.encode(index, id, &self.transaction.row, new_key);
            self.transaction.expect_no_more(Some(secondary), entry);
            self.transaction.expect(secondary, new_key.as_slice(), entry);
        }
        self.transaction.removes = true;
        Ok(true)
    }

    /// Puts the row in the transaction's buffer into the place of an entry's.
    fn put_row(&mut self, entry: u32, moves: bool) {
        let transaction = &mut *self.transaction;
        let Entry { row, operation, .. } = transaction.entries[entry as usize];
        let is_insert =
            operation != NONE && transaction.operations[operation as usize].kind == Kind::Insert;
        let in_place = operation != NONE && (!moves || is_insert);
        if in_place && row.of(&transaction.words).len() == transaction.row.len() {
            return row.of_mut(&mut transaction.words).copy_from_slice(&transaction.row);
        }
        let row = Span::append(&mut transaction.words, &transaction.row);
        transaction.entries[entry as usize].row = row;
        if in_place {
            transaction.operations[operation as usize].row = row;
        } else {
            transaction.note_change(entry, Kind::Update, row);
        }
    }

    /// Whether changes are all of integers that no index has.
    fn sets_words(&self, table: TableId, changes: &[(ColumnId, Datum)]) -> bool {
        let layout = &self.schema.catalog.table(table).layout;
        let is_word = |&(column, _): &(ColumnId, Datum)| {
            layout.field(column).is_plain_int() && !self.schema.may_be_indexed(table, column)
        };
        changes.iter().all(is_word)
    }

    /// Sets such columns where they lie.
    fn set_words(&mut self, table: TableId, entry: u32, changes: &[(ColumnId, Datum)]) {
        let layout = &self.schema.catalog.table(table).layout;
        let transaction = &mut *self.transaction;
        let Entry { row, operation, .. } = transaction.entries[entry as usize];
        let words = row.of_mut(&mut transaction.words);
        for &(column, value) in changes {
            let field = layout.field(column);
            words[field.word()] = field.with_int(words[field.word()], value.as_int());
        }
        if operation == NONE {
            transaction.note_change(entry, Kind::Update, row);
        }
    }

    /// The record's name, as far as keys need one: an insert has none yet, and nobody compares.
    fn name_of(&self, entry: u32) -> RecordId {
        let id = self.transaction.entries[entry as usize].id;
        id.unwrap_or_else(|| RecordId::from_bits(u64::MAX - u64::from(entry)))
    }

    /// The key of a row's entry.
    fn encode(&self, index: &Index, id: RecordId, row: &[u64], key: &mut KeyBuffer) {
        key.clear();
        let encoded = self.schema.encode_entry(index, id, row, key);
        debug_assert!(encoded.is_ok(), "the catalog allows no longer keys");
    }
}

/// Whether no other row may have the same key.
fn is_unique(index: &Index, row: &[u64]) -> bool {
    index.unique && !index.fields.iter().any(|field| field.is_null(row))
}

impl RecordAccess for Access<'_> {
    type Record = u32;
    type Row = [u64];

    fn definitions(&self) -> Option<&dyn Definitions> {
        Some(self.schema)
    }

    fn find(&mut self, at: &KeyAt<'_>, _: Intent) -> Result<Option<u32>, Stop> {
        if at.key.is_empty() {
            return Ok(None); // a key with a NULL in it
        }
        let found = self.look_up(at);
        self.transaction.check_size()?;
        Ok(found)
    }

    fn row(&self, _: TableId, record: u32) -> &[u64] {
        self.transaction.row(record)
    }

    fn scan(
        &mut self,
        range: &RangeAt<'_>,
        _: Intent,
        mut visit: impl FnMut(u32, &[u64]) -> ControlFlow<()>,
    ) -> Result<(), Stop> {
        let schema = self.schema;
        let index = schema.catalog.index(range.index);
        let is_primary = schema.catalog.table(range.table).primary == Some(range.index);
        let transaction = &mut *self.transaction;
        let is_tree = index.kind == IndexKind::BTree;
        transaction.match_expected(range.index, |key| match is_tree {
            true => (range.lower, range.upper).contains(key),
            false => key.starts_with(range.prefix),
        });
        let mut matches = std::mem::take(&mut transaction.matches);
        if range.descending {
            matches.reverse();
        }
        let mut probe = std::mem::take(&mut transaction.probe);
        let mut seen = std::mem::take(&mut transaction.seen);
        let mut next = matches.iter().peekable();
        let [mut entry_key, other] = std::mem::take(&mut transaction.key_buffers);
        let mut stopped = false;
        probe::scan(schema, range, &mut probe, &mut seen, |key, id| {
            let comes_first = |&&(own, _): &&(Span, u32)| {
                let own = own.of(&transaction.keys);
                key.is_some_and(|key| if range.descending { own > key } else { own < key })
            };
            while let Some(&(_, entry)) = next.next_if(comes_first) {
                if visit(entry, transaction.row(entry)).is_break() {
                    stopped = true;
                    return ControlFlow::Break(());
                }
            }
            let Some(entry) = transaction.read(schema, range.table, id) else {
                return ControlFlow::Continue(());
            };
            if transaction.is_too_much() {
                return ControlFlow::Break(());
            }
            let row = transaction.row(entry);
            // I1. What it has under another key, or will have under this one, comes by itself.
            let has_key = match key {
                Some(_) if is_primary => true,
                Some(key) => {
                    entry_key.clear();
                    let encoded = schema.encode_entry(index, id, row, &mut entry_key);
                    encoded.is_ok() && entry_key.as_slice() == key
                }
                None => schema.row_has_prefix(index, row, range.prefix),
            };
            let is_own = matches.iter().any(|&(_, own)| own == entry);
            if !has_key || is_own {
                return ControlFlow::Continue(());
            }
            let flow = visit(entry, row);
            stopped = flow.is_break();
            flow
        });
        if !stopped && !transaction.needs_quiet {
            let _ = next.try_for_each(|&(_, entry)| visit(entry, transaction.row(entry)));
        }
        transaction.key_buffers = [entry_key, other];
        transaction.matches = matches;
        transaction.probe = probe;
        transaction.seen = seen;
        transaction.check_size()
    }

    fn scan_table(
        &mut self,
        table: TableId,
        intent: Intent,
        visit: impl FnMut(u32, &[u64]) -> ControlFlow<()>,
    ) -> Result<(), Stop> {
        let primary = self.schema.catalog.table(table).primary;
        let ordered = primary.filter(|&id| self.schema.catalog.index(id).kind == IndexKind::BTree);
        let Some(index) = ordered else {
            self.transaction.needs_quiet = true;
            return Err(Stop::Replan);
        };
        let range = RangeAt {
            table,
            index,
            prefix: &[],
            prefix_parts: 0,
            lower: Bound::Unbounded,
            upper: Bound::Unbounded,
            descending: false,
            reads: Reads::Rows,
            entry: None,
        };
        self.scan(&range, intent, visit)
    }

    fn update(
        &mut self,
        table: TableId,
        record: u32,
        changes: &[(ColumnId, Datum)],
        heap: &[u8],
    ) -> Result<Inserted, Stop> {
        if self.sets_words(table, changes) {
            self.set_words(table, record, changes);
            return Ok(Inserted::Yes);
        }
        let layout = &self.schema.catalog.table(table).layout;
        let mut row = std::mem::take(&mut self.transaction.row);
        let laid_out = layout.rebuild(self.transaction.row(record), changes, heap, &mut row);
        self.transaction.row = row;
        // Values were checked one by one; only the row's size as a whole is left to fail.
        laid_out.map_err(|_| Stop::OutOfMemory)?;
        Ok(self.change_row(record))
    }

    fn insert(
        &mut self,
        table: TableId,
        row: &[u64],
        primary: Option<&KeyAt<'_>>,
    ) -> Result<Inserted, Stop> {
        if let Some(at) = primary
            && self.look_up(at).is_some()
        {
            return Ok(Inserted::Duplicate(at.index));
        }
        let mut key = std::mem::take(&mut self.transaction.key_buffers[0]);
        let inserted = self.insert_new(table, row, primary, &mut key);
        self.transaction.key_buffers[0] = key;
        self.transaction.check_size()?;
        Ok(inserted)
    }

    /// What was changed is changed in the transaction's copies, which are not kept twice: the call
    /// runs alone.
    fn note_place(&mut self, _: u16) -> Result<(), Stop> {
        self.transaction.needs_quiet = true;
        Err(Stop::Replan)
    }

    fn remove(&mut self, _: TableId, record: u32) -> Result<(), Stop> {
        let transaction = &mut *self.transaction;
        transaction.expect_no_more(None, record);
        let entry = &mut transaction.entries[record as usize];
        entry.live = false;
        let Entry { id, operation, row, .. } = *entry;
        if id.is_none() {
            transaction.operations[operation as usize].kind = Kind::Nothing;
        } else {
            transaction.note_change(record, Kind::Remove, row);
            transaction.removes = true;
        }
        Ok(())
    }
}

impl Access<'_> {
    /// Inserts a row whose primary key nobody has.
    fn insert_new(
        &mut self,
        table: TableId,
        row: &[u64],
        primary: Option<&KeyAt<'_>>,
        key: &mut KeyBuffer,
    ) -> Inserted {
        let schema = self.schema;
        for &secondary in &schema.catalog.table(table).secondary {
            let index = schema.catalog.index(secondary);
            if !is_unique(index, row) {
                continue;
            }
            self.encode(index, RecordId::from_bits(0), row, key);
            if self.is_taken(index, key.as_slice(), NONE) {
                return Inserted::Duplicate(secondary);
            }
        }
        let transaction = &mut *self.transaction;
        let laid = Span::append(&mut transaction.words, row);
        let new =
            Entry { table, id: None, version: NOTHING, row: laid, live: true, operation: NONE };
        let entry = transaction.add(new);
        let (mut key_span, mut hash) = (Span::default(), 0);
        if let Some(at) = primary {
            (key_span, hash) = (transaction.expect(at.index, at.key, entry), at.hash);
        }
        let operation = Operation { entry, kind: Kind::Insert, row: laid, key: key_span, hash };
        transaction.note(operation);
        for &secondary in &schema.catalog.table(table).secondary {
            let index = schema.catalog.index(secondary);
            self.encode(index, self.name_of(entry), laid.of(&self.transaction.words), key);
            self.transaction.expect(secondary, key.as_slice(), entry);
        }
        Inserted::Yes
    }
}
