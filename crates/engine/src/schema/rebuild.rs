//! Rows made anew, for tables whose columns have changed, and tables emptied, at quiet points.
//!
//! Role         what ALTER TABLE, TRUNCATE and DROP TABLE mean for storage: a table gets another
//!              store of records, and indexes of its own; the old one goes with the last schema
//!              that has it, so that a checkpoint that is being taken still finds its rows
//! Invariants   I1 a table keeps its id, and its indexes keep theirs: what refers to them, and the
//!                 log's entries, mean the same table as before

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use hotrow_base::datum::Datum;
use hotrow_base::ids::{ColumnId, TableId};
use hotrow_base::key::KeyBuffer;
use hotrow_base::row::{RowError, RowLayout, Words, read_field};
use hotrow_base::types::DataType;
use hotrow_base::value::Value;
use hotrow_storage::btree::GHOST;
use hotrow_storage::table::{Index as StoredIndex, Table as StoredTable};
use hotrow_transaction::catalog::{Catalog, Column, ForeignKey, Generated, Index, Table};
use hotrow_transaction::constant::Computation;
use hotrow_transaction::outcome::SqlError;
use hotrow_transaction::random::Spot;

use super::{QUIET_WORKER, Schema};

/// A table whose rows are made anew.
#[derive(Clone, Debug)]
pub struct Rebuilt {
    /// which
    pub table: TableId,
    /// where each of its columns comes from; none: the rows go
    pub columns: Option<Vec<ColumnFrom>>,
}

/// What a column of a rebuilt table has in it.
#[derive(Clone, Debug)]
pub enum ColumnFrom {
    /// what an old column had
    Old(ColumnId),
    /// the same value in all rows
    Constant(Value),
    /// computed from what the old columns have, at this time
    Converted(Generated, i64),
    /// computed from what the other columns get
    Computed(Generated, i64),
    /// a UUID that follows from the other columns, and of equal rows from their count: a replay of
    /// the log, which may find rows in another order, gives the same ones
    Identity,
}

/// Rows that are to be copied.
pub(super) struct OldRows {
    table: TableId,
    stored: Arc<StoredTable>,
    layout: RowLayout,
    columns: Vec<ColumnFrom>,
    /// of the columns that they have
    types: Vec<DataType>,
}

/// A column that is computed for each row.
struct Computing {
    at: usize,
    columns: Vec<ColumnId>,
    types: Vec<DataType>,
    now_us: i64,
    computation: Computation,
}

impl Computing {
    /// `types`: those of all columns that it may be computed from.
    fn new(at: usize, of: &Generated, types: &[DataType], now_us: i64) -> Result<Self, SqlError> {
        let columns = of.columns.clone();
        let types: Vec<DataType> = columns.iter().map(|column| types[column.index()]).collect();
        let computation = Computation::new(of.value.clone(), &types)?;
        Ok(Self { at, columns, types, now_us, computation })
    }

    /// What it is in a row whose columns `read` gives.
    fn datum(
        &mut self,
        column: &Column,
        heap: &mut Vec<u8>,
        read: impl Fn(ColumnId, &mut Vec<u8>) -> Datum,
    ) -> Result<Datum, SqlError> {
        let mut values = Vec::with_capacity(self.columns.len());
        for (from, of) in self.columns.iter().zip(&self.types) {
            let datum = read(*from, heap);
            values.push(Value::from_datum(datum, *of, heap));
        }
        let value = self.computation.value(self.now_us, &values)?;
        datum_of(&value, column, heap)
    }
}

/// A value as that of a column, whose bytes go to a heap.
fn datum_of(value: &Value, column: &Column, heap: &mut Vec<u8>) -> Result<Datum, SqlError> {
    value.to_datum(column.data_type, heap).map_err(|error| {
        let code = error.code().as_bytes().try_into().unwrap_or(*b"22023");
        SqlError::new(&code, format!("{}: {}", column.name, error.message()))
    })
}

impl Schema {
    /// Puts empty tables in the places of those that are rebuilt, emptied or dropped. Which they
    /// are, and what is to be copied into them.
    pub(super) fn take_rows(
        &mut self,
        next: &Catalog,
        changed: &BTreeSet<TableId>,
        rebuilt: &[Rebuilt],
    ) -> Vec<(TableId, Option<OldRows>)> {
        let mut taken = Vec::new();
        let of_rows = changed.iter().copied().chain(rebuilt.iter().map(|rebuilt| rebuilt.table));
        for id in of_rows.collect::<BTreeSet<_>>() {
            let Some(old) = self.catalog.tables().at(id.index()) else { continue };
            let asked = rebuilt.iter().find(|rebuilt| rebuilt.table == old.id);
            let is_dropped = next.tables().at(id.index()).is_none();
            if asked.is_none() && !is_dropped {
                continue;
            }
            let empty = || Arc::new(StoredTable::new(self.memory.workers(), self.memory.budget()));
            let empty = (!is_dropped).then(empty);
            let stored = std::mem::replace(&mut self.tables[old.id.index()], empty);
            let Some(stored) = stored else { continue };
            let columns = asked.and_then(|rebuilt| rebuilt.columns.clone());
            let (table, layout) = (old.id, old.layout.clone());
            let types = old.columns.iter().map(|column| column.data_type).collect();
            let rows = columns.map(|columns| OldRows { table, stored, layout, columns, types });
            taken.push((table, rows));
        }
        taken
    }

    /// Makes the new rows of old ones. They are in no index yet.
    pub(super) fn copy_rows(&self, old: &OldRows) -> Result<(), SqlError> {
        let OldRows { table, stored, layout, columns, types: old_types } = old;
        let table = self.catalog.table(*table);
        let new_types: Vec<DataType> =
            table.columns.iter().map(|column| column.data_type).collect();
        let (mut constants, mut values) = (Vec::new(), Vec::new());
        for (from, column) in columns.iter().zip(&table.columns) {
            values.push(match from {
                ColumnFrom::Old(_) | ColumnFrom::Converted(..) | ColumnFrom::Computed(..) => {
                    Datum::NULL
                }
                ColumnFrom::Identity => datum_of(&Value::Uuid([0; 16]), column, &mut constants)?,
                ColumnFrom::Constant(value) => datum_of(value, column, &mut constants)?,
            });
        }
        let (mut converted, mut computed) = (Vec::new(), Vec::new());
        for (at, from) in columns.iter().enumerate() {
            match from {
                ColumnFrom::Converted(of, now_us) => {
                    converted.push(Computing::new(at, of, old_types, *now_us)?);
                }
                ColumnFrom::Computed(of, now_us) => {
                    computed.push(Computing::new(at, of, &new_types, *now_us)?);
                }
                ColumnFrom::Old(_) | ColumnFrom::Constant(_) | ColumnFrom::Identity => {}
            }
        }
        let identity = columns.iter().position(|from| matches!(from, ColumnFrom::Identity));
        let mut equal_rows: HashMap<[u8; 16], u64> = HashMap::new();
        let (mut heap, mut row, mut failed) = (constants.clone(), Vec::new(), None);
        let records = self.table(table.id).records();
        stored.records().for_each_record(|_, record| {
            if failed.is_some() || record.is_ghost() {
                return;
            }
            heap.truncate(constants.len());
            for (value, from) in values.iter_mut().zip(columns) {
                if let ColumnFrom::Old(column) = from {
                    *value = layout.read(record.row(), *column, &mut heap);
                }
            }
            let mut fill = || {
                for of in &mut converted {
                    let column = &table.columns[of.at];
                    let read = |from, heap: &mut Vec<u8>| layout.read(record.row(), from, heap);
                    values[of.at] = of.datum(column, &mut heap, read)?;
                }
                for of in &mut computed {
                    let column = &table.columns[of.at];
                    let read = |from: ColumnId, _: &mut Vec<u8>| values[from.index()];
                    values[of.at] = of.datum(column, &mut heap, read)?;
                }
                Ok(())
            };
            failed = fill().err();
            if failed.is_some() {
                return;
            }
            let mut built = table.layout.build(&values, &heap, &mut row);
            if let Some(at) = identity
                && built.is_ok()
            {
                let bytes: Vec<u8> = row.iter().flat_map(|word| word.to_le_bytes()).collect();
                let count = equal_rows.entry(identity_of(&bytes, 0)).or_default();
                let uuid = Value::Uuid(identity_of(&bytes, *count));
                *count += 1;
                let zero = values[at];
                match datum_of(&uuid, &table.columns[at], &mut heap) {
                    Ok(datum) => values[at] = datum,
                    Err(error) => failed = Some(error),
                }
                built = table.layout.build(&values, &heap, &mut row);
                values[at] = zero;
            }
            failed = failed
                .take()
                .or_else(|| built.map_err(|error| refused(table, error, &values, &heap)).err());
            if failed.is_none() && records.allocate(QUIET_WORKER, &row).is_err() {
                failed = Some(self.memory.out_of_memory());
            }
        });
        failed.map_or(Ok(()), Err)
    }

    /// Fails with 23503 where a row refers to none of the parent's.
    ///
    /// # Errors
    ///
    /// As said.
    pub fn check_foreign_key(&self, key: &ForeignKey) -> Result<(), SqlError> {
        let (child, index) = (self.catalog.table(key.child), self.catalog.index(key.parent_index));
        let parent = self.catalog.table(key.parent);
        let (mut failed, mut buffer) = (None, KeyBuffer::new());
        self.table(child.id).records().for_each_record(|_, record| {
            if failed.is_some() || record.is_ghost() {
                return;
            }
            let (mut values, mut names) = (Vec::new(), Vec::new());
            for column in &key.child_columns {
                let mut heap = Vec::new();
                let described = &child.columns[column.index()];
                let datum = child.layout.read(record.row(), *column, &mut heap);
                values.push(Value::from_datum(datum, described.data_type, &heap));
                names.push(described.name.as_str());
            }
            if values.iter().any(Value::is_null)
                || self.has_key(parent, index, &values, &mut buffer)
            {
                return;
            }
            let (table, name) = (&child.name, &key.name);
            let text = format!(
                "insert or update on table \"{table}\" violates foreign key constraint \"{name}\""
            );
            let mut error = SqlError::new(b"23503", text);
            let values: Vec<String> = values.iter().map(Value::to_string).collect();
            error.detail = Some(format!(
                "Key ({})=({}) is not present in table \"{}\".",
                names.join(", "),
                values.join(", "),
                parent.name
            ));
            (error.table, error.constraint) = (Some(table.clone()), Some(name.clone()));
            failed = Some(error);
        });
        failed.map_or(Ok(()), Err)
    }

    /// Whether a unique index has a row with these values, none of them NULL.
    fn has_key(
        &self,
        table: &Table,
        index: &Index,
        values: &[Value],
        buffer: &mut KeyBuffer,
    ) -> bool {
        buffer.clear();
        for (part, (column, value)) in index.columns.iter().zip(values).enumerate() {
            let mut heap = Vec::new();
            let of = table.columns[column.index()].data_type;
            // What is no value of the parent's type is none of its keys.
            let Ok(datum) = value.to_datum(of, &mut heap) else { return false };
            if index.key.encode_part(part, datum, &heap, buffer).is_err() {
                return false;
            }
        }
        let key = buffer.as_slice();
        match self.stored_part(index, key) {
            StoredIndex::BTree(stored) => stored.get(key).is_some_and(|found| found & GHOST == 0),
            StoredIndex::Hash(stored) => {
                let records = self.table(table.id).records();
                let is_it = |id| {
                    let record = records.record(id);
                    let row = record.row();
                    (!record.is_ghost() && index.key.matches_row(&index.fields, row, key))
                        .then_some(())
                };
                stored.get(self.entry_hash(index, key), is_it).is_some()
            }
        }
    }

    /// `Key (a, b)=(1, 2)`, for messages.
    pub(super) fn key_of<W: Words + ?Sized>(&self, index: &Index, row: &W) -> String {
        let table = self.catalog.table(index.table);
        let (mut names, mut values) = (Vec::new(), Vec::new());
        for column in table.key_of(index) {
            let described = &table.columns[column.index()];
            let mut heap = Vec::new();
            let datum = read_field(table.layout.field(*column), row, &mut heap);
            names.push(described.name.as_str());
            values.push(Value::from_datum(datum, described.data_type, &heap).to_string());
        }
        format!("Key ({})=({})", names.join(", "), values.join(", "))
    }
}

/// The identity of the rows with these bytes that comes behind so many others.
fn identity_of(row: &[u8], before: u64) -> [u8; 16] {
    let mut uuid = Spot { seed: row, place: before, turn: 0, row: 0 }.uuid();
    uuid[0] = 0; // before those of rows to come, which begin with the time
    uuid
}

fn refused(table: &Table, error: RowError, values: &[Datum], heap: &[u8]) -> SqlError {
    let name = &table.name;
    let mut refused = match error {
        RowError::NullInNotNull { column } => {
            let column = &table.columns[column.index()].name;
            let message =
                format!("column \"{column}\" of relation \"{name}\" contains null values");
            SqlError { column: Some(column.clone()), ..SqlError::new(b"23502", message) }
        }
        error => SqlError::new(b"54000", format!("table \"{name}\": {error}")),
    };
    let shown = values.iter().zip(table.shown()).map(|(&datum, column)| {
        let value = Value::from_datum(datum, column.data_type, heap);
        if value.is_null() { "null".to_owned() } else { value.to_string() }
    });
    let shown: Vec<String> = shown.collect();
    refused.detail = Some(format!("Failing row contains ({}).", shown.join(", ")));
    refused.table = Some(name.clone());
    refused
}
