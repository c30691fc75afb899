//! The model store: records in ordered maps, one transaction at a time.
//!
//! Role         the oracle that the planner and all engines are compared with; simple enough to be
//!              read and believed. For tests: nothing here is fast.
//! Invariants   I1 an index holds exactly the entries of the live rows
//!              I2 `abort` leaves everything as it was at `begin`, but for row numbers

use std::collections::BTreeSet;
use std::fmt;
use std::ops::{Bound, ControlFlow};
use std::sync::Arc;

use hotrow_base::datum::Datum;
use hotrow_base::ids::{ColumnId, IndexId, TableId};
use hotrow_base::key::KeyBuffer;
use hotrow_base::value::Value;

use crate::access::{Inserted, Intent, KeyAt, RangeAt, RecordAccess};
use crate::bytecode::Program;
use crate::catalog::{Catalog, Index};
use crate::frame::Frame;
use crate::interpret::{NoHook, run};
use crate::invocation::Invocation;
use crate::outcome::{Outcome, SqlError, Stop};

/// Rows of one table by number; `None`: removed.
#[derive(Clone, Default, Debug)]
struct Rows(Vec<Option<Box<[u64]>>>);

/// A whole database in ordered maps.
#[derive(Clone, Debug)]
pub struct ModelStore {
    catalog: Arc<Catalog>,
    tables: Vec<Rows>,
    /// entries: key bytes, row number
    indexes: Vec<BTreeSet<(Vec<u8>, usize)>>,
    undo: Vec<Undo>,
    /// how long the undo log was when a place was noted, by number
    places: Vec<usize>,
    records: Vec<usize>,
}

#[derive(Clone, Debug)]
enum Undo {
    Inserted(TableId, usize),
    Changed(TableId, usize, Box<[u64]>),
    Removed(TableId, usize, Box<[u64]>),
}

/// The contents of all tables, rows in order: equal for equal databases, readable when not.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Dump(pub Vec<(String, Vec<Vec<String>>)>);

impl fmt::Display for Dump {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (table, rows) in &self.0 {
            writeln!(f, "{table}: {} rows", rows.len())?;
            for row in rows {
                writeln!(f, "  {}", row.join(" | "))?;
            }
        }
        Ok(())
    }
}

impl ModelStore {
    /// An empty database. Tables and indexes added to a catalog later need a new store.
    pub fn new(catalog: Arc<Catalog>) -> Self {
        Self {
            tables: vec![Rows::default(); catalog.tables().len()],
            indexes: vec![BTreeSet::new(); catalog.indexes().len()],
            catalog,
            undo: Vec::new(),
            places: Vec::new(),
            records: Vec::new(),
        }
    }

    /// Its catalog.
    pub fn catalog(&self) -> &Catalog {
        &self.catalog
    }

    /// Starts a transaction.
    pub fn begin(&mut self) {
        self.undo.clear();
    }

    /// Ends it, keeping its changes.
    pub fn commit(&mut self) {
        self.undo.clear();
    }

    /// Ends it, taking its changes back.
    pub fn abort(&mut self) {
        self.undo_to(0);
    }

    fn undo_to(&mut self, changes: usize) {
        while self.undo.len() > changes
            && let Some(undo) = self.undo.pop()
        {
            match undo {
                Undo::Inserted(table, row) => drop(self.take_row(table, row)),
                Undo::Changed(table, row, old) => {
                    drop(self.take_row(table, row));
                    self.put_row(table, row, old);
                }
                Undo::Removed(table, row, old) => self.put_row(table, row, old),
            }
        }
    }

    /// Runs one call as a transaction of its own.
    pub fn call(
        &mut self,
        program: &Program,
        invocation: &Invocation,
        frame: &mut Frame,
    ) -> Outcome {
        self.begin();
        frame.begin(program, invocation);
        match run(program, 0, frame, self, &mut NoHook) {
            Ok(()) => {
                self.commit();
                Ok(frame.take_rows(program))
            }
            Err(stop) => {
                self.abort();
                let other = || SqlError::new(b"XX000", format!("stopped: {stop:?}"));
                Err(frame.take_error().unwrap_or_else(other))
            }
        }
    }

    /// Inserts a row of values outside any procedure: loading.
    ///
    /// # Panics
    /// When the row is not legal: this is for tests.
    pub fn load(&mut self, table: TableId, values: &[Value]) {
        let owner = self.catalog.table(table);
        let mut heap = Vec::new();
        let datums: Vec<Datum> = values
            .iter()
            .zip(&owner.columns)
            .map(|(value, column)| {
                value.to_datum(column.data_type, &mut heap).expect("a loaded value fits its column")
            })
            .collect();
        let mut row = Vec::new();
        owner.layout.build(&datums, &heap, &mut row).expect("a loaded row is legal");
        let inserted = self.insert(table, &row, None);
        assert_eq!(inserted, Ok(Inserted::Yes), "loaded rows have distinct keys");
        self.undo.clear();
    }

    /// The rows of a table as values, in row number order.
    pub fn rows(&self, table: TableId) -> Vec<Vec<Value>> {
        let owner = self.catalog.table(table);
        let values = |row: &[u64]| {
            let mut heap = Vec::new();
            (0..owner.columns.len())
                .map(|i| {
                    let datum = owner.layout.read(row, ColumnId(i as u16), &mut heap);
                    Value::from_datum(datum, owner.columns[i].data_type, &heap)
                })
                .collect()
        };
        self.tables[table.index()].0.iter().flatten().map(|row| values(row)).collect()
    }

    /// All rows of all tables, in order of their texts.
    pub fn dump(&self) -> Dump {
        let text = |value: &Value| match value {
            Value::Null => "NULL".to_owned(),
            value => value.to_string(),
        };
        let table = |id: TableId| {
            let mut rows: Vec<Vec<String>> =
                self.rows(id).iter().map(|row| row.iter().map(text).collect()).collect();
            rows.sort();
            (self.catalog.table(id).name.clone(), rows)
        };
        Dump(self.catalog.tables().iter().map(|t| table(t.id)).collect())
    }

    fn indexes_of(&self, table: TableId) -> Vec<IndexId> {
        self.catalog.table(table).indexes().collect()
    }

    /// The key of a row in an index, and whether it has a NULL among its declared columns.
    fn key_of(index: &Index, row: &[u64]) -> (Vec<u8>, bool) {
        let mut key = KeyBuffer::new();
        index
            .key
            .encode_from_row(&index.fields, row, &mut key)
            .expect("the interpreter lets no row with too long a key pass");
        let declared = index.fields.iter().take(index.columns.len());
        (key.to_vec(), declared.into_iter().any(|field| field.is_null(row)))
    }

    fn put_row(&mut self, table: TableId, number: usize, row: Box<[u64]>) {
        for index in self.indexes_of(table) {
            let (key, _) = Self::key_of(self.catalog.index(index), &row);
            self.indexes[index.index()].insert((key, number));
        }
        self.tables[table.index()].0[number] = Some(row);
    }

    fn take_row(&mut self, table: TableId, number: usize) -> Box<[u64]> {
        let row = self.tables[table.index()].0[number].take().expect("the row is live");
        for index in self.indexes_of(table) {
            let (key, _) = Self::key_of(self.catalog.index(index), &row);
            self.indexes[index.index()].remove(&(key, number));
        }
        row
    }

    /// The unique index in which another row has this row's key.
    fn duplicate(&self, table: TableId, row: &[u64], own: Option<usize>) -> Option<IndexId> {
        self.indexes_of(table).into_iter().find(|&id| {
            let index = self.catalog.index(id);
            let (key, has_null) = Self::key_of(index, row);
            index.unique && !has_null && self.entries(id, &key).any(|number| Some(number) != own)
        })
    }

    fn entries<'s>(&'s self, index: IndexId, key: &[u8]) -> impl Iterator<Item = usize> + use<'s> {
        let range = (key.to_vec(), 0)..=(key.to_vec(), usize::MAX);
        self.indexes[index.index()].range(range).map(|&(_, number)| number)
    }
}

impl RecordAccess for ModelStore {
    type Record = usize;
    type Row = [u64];

    fn find(&mut self, at: &KeyAt<'_>, _intent: Intent) -> Result<Option<usize>, Stop> {
        Ok(self.entries(at.index, at.key).next())
    }

    fn row(&self, table: TableId, record: usize) -> &[u64] {
        self.tables[table.index()].0[record].as_deref().expect("a record in use is live")
    }

    fn scan(
        &mut self,
        range: &RangeAt<'_>,
        _intent: Intent,
        mut visit: impl FnMut(usize, &[u64]) -> ControlFlow<()>,
    ) -> Result<(), Stop> {
        let lower = match range.lower {
            Bound::Included(key) => Bound::Included((key.to_vec(), 0)),
            Bound::Excluded(key) => Bound::Excluded((key.to_vec(), usize::MAX)),
            Bound::Unbounded => Bound::Unbounded,
        };
        let upper = match range.upper {
            Bound::Included(key) => Bound::Included((key.to_vec(), usize::MAX)),
            Bound::Excluded(key) => Bound::Excluded((key.to_vec(), 0)),
            Bound::Unbounded => Bound::Unbounded,
        };
        let entries = self.indexes[range.index.index()].range((lower, upper));
        let numbers: Vec<usize> = match range.descending {
            false => entries.map(|&(_, number)| number).collect(),
            true => entries.rev().map(|&(_, number)| number).collect(),
        };
        for number in numbers {
            if visit(number, self.row(range.table, number)).is_break() {
                break;
            }
        }
        Ok(())
    }

    fn scan_table(
        &mut self,
        table: TableId,
        _intent: Intent,
        mut visit: impl FnMut(usize, &[u64]) -> ControlFlow<()>,
    ) -> Result<(), Stop> {
        for (number, row) in self.tables[table.index()].0.iter().enumerate() {
            if let Some(row) = row
                && visit(number, row).is_break()
            {
                break;
            }
        }
        Ok(())
    }

    fn update(
        &mut self,
        table: TableId,
        record: usize,
        changes: &[(ColumnId, Datum)],
        heap: &[u8],
    ) -> Result<Inserted, Stop> {
        let mut row = Vec::new();
        let layout = &self.catalog.table(table).layout;
        layout
            .rebuild(self.row(table, record), changes, heap, &mut row)
            .expect("the interpreter lets no illegal value pass");
        if let Some(index) = self.duplicate(table, &row, Some(record)) {
            return Ok(Inserted::Duplicate(index));
        }
        let old = self.take_row(table, record);
        self.put_row(table, record, row.into());
        self.undo.push(Undo::Changed(table, record, old));
        Ok(Inserted::Yes)
    }

    fn insert(
        &mut self,
        table: TableId,
        row: &[u64],
        _primary: Option<&KeyAt<'_>>,
    ) -> Result<Inserted, Stop> {
        if let Some(index) = self.duplicate(table, row, None) {
            return Ok(Inserted::Duplicate(index));
        }
        let number = self.tables[table.index()].0.len();
        self.tables[table.index()].0.push(None);
        self.put_row(table, number, row.into());
        self.undo.push(Undo::Inserted(table, number));
        Ok(Inserted::Yes)
    }

    fn remove(&mut self, table: TableId, record: usize) -> Result<(), Stop> {
        let old = self.take_row(table, record);
        self.undo.push(Undo::Removed(table, record, old));
        Ok(())
    }

    fn note_place(&mut self, number: u16) -> Result<(), Stop> {
        self.places.truncate(usize::from(number));
        self.places.resize(usize::from(number) + 1, self.undo.len());
        Ok(())
    }

    fn take_back_to(&mut self, number: u16) -> Result<(), Stop> {
        let changes = self.places[usize::from(number)];
        self.undo_to(changes);
        Ok(())
    }

    fn take_records(&mut self) -> Vec<usize> {
        std::mem::take(&mut self.records)
    }

    fn give_back_records(&mut self, records: Vec<usize>) {
        self.records = records;
    }
}
