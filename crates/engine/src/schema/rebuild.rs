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
use hotrow_storage::record::{Record, RecordId};
use hotrow_storage::table::{Index as StoredIndex, Table as StoredTable};
use hotrow_transaction::catalog::{
    Catalog, Check, Column, ForeignKey, Generated, Index, Sequence, Table,
};
use hotrow_transaction::constant::Computation;
use hotrow_transaction::outcome::SqlError;
use hotrow_transaction::random::Spot;

use super::{QUIET_WORKER, Schema};

/// A table whose rows are made anew, or that gets rows of another one.
#[derive(Clone, Debug)]
pub struct Rebuilt {
    /// which
    pub table: TableId,
    /// the table whose rows they are: itself, or one that it gets rows of
    pub from: TableId,
    /// where each of its columns comes from; none: the rows go
    pub columns: Option<Vec<ColumnFrom>>,
    /// which of the rows
    pub rows: Vec<RowsThat>,
}

/// Which rows of a table are copied, by a condition on them that is true or false.
#[derive(Clone, Debug)]
pub enum RowsThat {
    /// those that satisfy it
    Satisfy(Check),
    /// those that do not
    DoNot(Check),
    /// all of them, which have to satisfy it, or this is what they fail with
    Must(Check, Box<SqlError>),
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
    /// the next number of a sequence that has given none, in the order of the old primary key: a
    /// replay of the log, which may find rows in another order, gives the same ones
    Numbered(TableId),
    /// a UUID that follows from the other columns, and of equal rows from their count: a replay of
    /// the log, which may find rows in another order, gives the same ones
    Identity,
}

impl Rebuilt {
    /// All rows of a table as they are.
    pub fn unchanged(table: &Table) -> Self {
        let columns = (0..table.columns.len()).map(|at| ColumnFrom::Old(ColumnId(at as u16)));
        let columns = Some(columns.collect());
        Self { table: table.id, from: table.id, columns, rows: Vec::new() }
    }

    /// Adds what becomes of the rows after this: numbers of old columns are those between both.
    ///
    /// # Errors
    ///
    /// 0A000 where that would need rows which are neither the old ones nor the new ones.
    pub fn followed_by(&mut self, next: Self) -> Result<(), SqlError> {
        self.rows.extend(next.rows);
        let (Some(before), Some(columns)) = (self.columns.take(), next.columns) else {
            return Ok(()); // the rows go
        };
        let old = |of: &mut ColumnId| match before.get(of.index()) {
            Some(ColumnFrom::Old(column)) => {
                *of = *column;
                Ok(())
            }
            _ => Err(SqlError::new(b"0A000", "a column that changes twice in one statement")),
        };
        let mut all = Vec::with_capacity(columns.len());
        for from in columns {
            all.push(match from {
                ColumnFrom::Old(column) => before[column.index()].clone(),
                ColumnFrom::Converted(mut of, now_us) => {
                    of.columns.iter_mut().try_for_each(old)?;
                    ColumnFrom::Converted(of, now_us)
                }
                new => new,
            });
        }
        self.columns = Some(all);
        Ok(())
    }
}

/// Rows that are to be copied.
pub(super) struct OldRows {
    table: TableId,
    stored: Arc<StoredTable>,
    layout: RowLayout,
    columns: Vec<ColumnFrom>,
    /// of the columns that they have
    types: Vec<DataType>,
    /// their primary key
    order: Option<Index>,
    rows: Vec<RowsThat>,
}

/// Conditions on the rows that are copied, ready to be computed.
struct Sieve<'a> {
    of: Vec<(&'a RowsThat, Computation, Vec<DataType>)>,
}

impl<'a> Sieve<'a> {
    fn new(rows: &'a [RowsThat], types: &[DataType]) -> Result<Self, SqlError> {
        let of = rows.iter().map(|rows| {
            let check = rows.check();
            let types: Vec<_> = check.columns.iter().map(|of| types[of.index()]).collect();
            Ok((rows, Computation::new(check.condition.clone(), &types)?, types))
        });
        Ok(Self { of: of.collect::<Result<_, SqlError>>()? })
    }

    /// Whether a row, whose columns `read` gives, is copied.
    fn passes(
        &mut self,
        heap: &mut Vec<u8>,
        read: impl Fn(ColumnId, &mut Vec<u8>) -> Datum,
    ) -> Result<bool, SqlError> {
        for (rows, computation, types) in &mut self.of {
            let columns = rows.check().columns.iter().zip(&*types);
            let values: Vec<_> = columns
                .map(|(column, of)| {
                    let datum = read(*column, heap);
                    Value::from_datum(datum, *of, heap)
                })
                .collect();
            let is_true = computation.value(0, &values)? == Value::Bool(true);
            match rows {
                RowsThat::Satisfy(_) if !is_true => return Ok(false),
                RowsThat::DoNot(_) if is_true => return Ok(false),
                RowsThat::Must(_, refused) if !is_true => return Err(SqlError::clone(refused)),
                _ => {}
            }
        }
        Ok(true)
    }
}

impl RowsThat {
    fn check(&self) -> &Check {
        match self {
            Self::Satisfy(check) | Self::DoNot(check) | Self::Must(check, _) => check,
        }
    }
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

/// The numbers that a new sequence gives to rows.
struct Numbers {
    of: Sequence,
    name: String,
    last: Option<i64>,
}

impl Numbers {
    /// Those of the sequence that a table is.
    fn new(table: &Table) -> Result<Self, SqlError> {
        let of = table.sequence.ok_or_else(|| {
            SqlError::new(b"42809", format!("\"{}\" is not a sequence", table.name))
        })?;
        Ok(Self { of, name: table.name.clone(), last: None })
    }

    /// The next one; fails with 2200H at the end.
    fn next(&mut self) -> Result<Value, SqlError> {
        let next = self.of.next_after(self.last, &self.name)?;
        self.last = Some(next);
        Ok(Value::BigInt(next))
    }
}

impl OldRows {
    /// The rows by their primary key; where there is none, by what they are: equal ones may be
    /// exchanged for each other.
    fn in_order(&self) -> Vec<RecordId> {
        let (mut ids, mut buffer) = (Vec::new(), KeyBuffer::new());
        self.stored.records().for_each_record(|id, record| {
            if record.is_ghost() {
                return;
            }
            let row = record.row();
            buffer.clear();
            let key = self.order.as_ref().and_then(|index| {
                index.key.encode_from_row(&index.fields, row, &mut buffer).ok()?;
                Some(buffer.as_slice().to_vec())
            });
            let key = key.unwrap_or_else(|| {
                let (mut heap, mut words) = (Vec::new(), Vec::new());
                let columns = (0..self.types.len()).map(|at| ColumnId(at as u16));
                let values = columns.map(|column| self.layout.read(row, column, &mut heap));
                let values: Vec<Datum> = values.collect();
                // It fits: it is the row that is there, without what a longer one has left in it.
                let _ = self.layout.build(&values, &heap, &mut words);
                bytes_of(words.as_slice())
            });
            ids.push((key, id));
        });
        ids.sort_unstable();
        ids.into_iter().map(|(_, id)| id).collect()
    }
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
        let mut taken: Vec<_> = rebuilt
            .iter()
            .filter(|rebuilt| rebuilt.from != rebuilt.table)
            .filter_map(|rebuilt| {
                self.old_rows(rebuilt, self.tables[rebuilt.from.index()].clone()?)
            })
            .map(|rows| (rows.table, Some(rows)))
            .collect();
        let of_rows = changed.iter().copied().chain(rebuilt.iter().map(|rebuilt| rebuilt.table));
        for id in of_rows.collect::<BTreeSet<_>>() {
            let Some(old) = self.catalog.tables().at(id.index()) else { continue };
            let is_own = |of: &&Rebuilt| of.table == id && of.from == id;
            let asked = rebuilt.iter().find(is_own);
            let is_dropped = next.tables().at(id.index()).is_none();
            if asked.is_none() && !is_dropped {
                continue;
            }
            let empty = || Arc::new(StoredTable::new(self.memory.workers(), self.memory.budget()));
            let empty = (!is_dropped).then(empty);
            let stored = std::mem::replace(&mut self.tables[old.id.index()], empty);
            let Some(stored) = stored else { continue };
            taken.push((id, asked.and_then(|rebuilt| self.old_rows(rebuilt, stored))));
        }
        taken
    }

    /// Rows of a table of this schema that are to be copied; none: they go.
    fn old_rows(&self, rebuilt: &Rebuilt, stored: Arc<StoredTable>) -> Option<OldRows> {
        let old = self.catalog.tables().at(rebuilt.from.index())?;
        let (columns, rows) = (rebuilt.columns.clone()?, rebuilt.rows.clone());
        let (table, layout) = (rebuilt.table, old.layout.clone());
        let types = old.columns.iter().map(|column| column.data_type).collect();
        let order = old.primary.map(|primary| self.catalog.index(primary).clone());
        Some(OldRows { table, stored, layout, columns, types, order, rows })
    }

    /// Makes the new rows of old ones. They are in no index yet.
    pub(super) fn copy_rows(&self, old: &OldRows) -> Result<(), SqlError> {
        let OldRows { table, stored, layout, columns, types: old_types, rows, .. } = old;
        let mut sieve = Sieve::new(rows, old_types)?;
        let table = self.catalog.table(*table);
        let new_types: Vec<DataType> =
            table.columns.iter().map(|column| column.data_type).collect();
        let (mut constants, mut values) = (Vec::new(), Vec::new());
        for (from, column) in columns.iter().zip(&table.columns) {
            values.push(match from {
                ColumnFrom::Old(_)
                | ColumnFrom::Converted(..)
                | ColumnFrom::Computed(..)
                | ColumnFrom::Numbered(_) => Datum::NULL,
                ColumnFrom::Identity => datum_of(&Value::Uuid([0; 16]), column, &mut constants)?,
                ColumnFrom::Constant(value) => datum_of(value, column, &mut constants)?,
            });
        }
        let (mut converted, mut computed, mut numbered) = (Vec::new(), Vec::new(), Vec::new());
        for (at, from) in columns.iter().enumerate() {
            match from {
                ColumnFrom::Converted(of, now_us) => {
                    converted.push(Computing::new(at, of, old_types, *now_us)?);
                }
                ColumnFrom::Computed(of, now_us) => {
                    computed.push(Computing::new(at, of, &new_types, *now_us)?);
                }
                ColumnFrom::Numbered(sequence) => {
                    numbered.push((at, Numbers::new(self.catalog.table(*sequence))?));
                }
                ColumnFrom::Old(_) | ColumnFrom::Constant(_) | ColumnFrom::Identity => {}
            }
        }
        let in_order = match numbered.is_empty() {
            true => None,
            false => Some(old.in_order()),
        };
        let identity = columns.iter().position(|from| matches!(from, ColumnFrom::Identity));
        let mut equal_rows: HashMap<[u8; 16], u64> = HashMap::new();
        let (mut heap, mut row, mut failed) = (constants.clone(), Vec::new(), None);
        let records = self.table(table.id).records();
        let mut copy = |record: &Record<'_>| {
            if failed.is_some() || record.is_ghost() {
                return;
            }
            heap.truncate(constants.len());
            if !sieve.of.is_empty() {
                let read = |from, heap: &mut Vec<u8>| layout.read(record.row(), from, heap);
                match sieve.passes(&mut heap, read) {
                    Ok(true) => {}
                    Ok(false) => return,
                    Err(refused) => return failed = Some(refused),
                }
            }
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
                for (at, numbers) in &mut numbered {
                    values[*at] = datum_of(&numbers.next()?, &table.columns[*at], &mut heap)?;
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
                let bytes = bytes_of(row.as_slice());
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
        };
        match in_order {
            None => stored.records().for_each_record(|_, record| copy(&record)),
            Some(ids) => ids.into_iter().for_each(|id| copy(&stored.records().record(id))),
        }
        failed.map_or(Ok(()), Err)?;
        for (at, from) in columns.iter().enumerate() {
            if let ColumnFrom::Numbered(sequence) = from
                && let Some((_, numbers)) = numbered.iter().find(|(of, _)| *of == at)
            {
                self.note_numbers(*sequence, numbers)?;
            }
        }
        Ok(())
    }

    /// Has the table of a new sequence say which number it has given last, if it has given one.
    fn note_numbers(&self, sequence: TableId, numbers: &Numbers) -> Result<(), SqlError> {
        let Some(last) = numbers.last else { return Ok(()) };
        let (table, mut row) = (self.catalog.table(sequence), Vec::new());
        let values = [Value::Bool(true), Value::BigInt(last), Value::Bool(true)];
        let mut heap = Vec::new();
        let values = values.iter().zip(&table.columns);
        let values = values.map(|(value, column)| datum_of(value, column, &mut heap));
        let values = values.collect::<Result<Vec<_>, _>>()?;
        let built = table.layout.build(&values, &heap, &mut row);
        built.map_err(|error| refused(table, error, &values, &heap))?;
        let records = self.table(sequence).records();
        records.allocate(QUIET_WORKER, &row).map_err(|_| self.memory.out_of_memory())?;
        Ok(())
    }

    /// Fails with 23514 where a row violates a CHECK.
    ///
    /// # Errors
    ///
    /// As said, and what computing the condition comes to.
    pub fn check_rows(&self, table: TableId, check: &Check) -> Result<(), SqlError> {
        self.require_rows(table, check, || {
            let (name, of) = (&check.name, &self.catalog.table(table).name);
            let text =
                format!("check constraint \"{name}\" of relation \"{of}\" is violated by some row");
            let mut error = SqlError::new(b"23514", text);
            (error.table, error.constraint) = (Some(of.clone()), Some(name.clone()));
            error
        })
    }

    /// Fails where a condition is false for a row.
    ///
    /// # Errors
    ///
    /// What is given, and what computing the condition comes to.
    pub fn require_rows(
        &self,
        table: TableId,
        check: &Check,
        refused: impl Fn() -> SqlError,
    ) -> Result<(), SqlError> {
        let table = self.catalog.table(table);
        let types: Vec<DataType> =
            check.columns.iter().map(|column| table.columns[column.index()].data_type).collect();
        let mut computation = Computation::new(check.condition.clone(), &types)?;
        let (mut failed, mut heap, mut values) = (None, Vec::new(), Vec::new());
        self.table(table.id).records().for_each_record(|_, record| {
            if failed.is_some() || record.is_ghost() {
                return;
            }
            heap.clear();
            values.clear();
            for (column, of) in check.columns.iter().zip(&types) {
                let datum = table.layout.read(record.row(), *column, &mut heap);
                values.push(Value::from_datum(datum, *of, &heap));
            }
            failed = match computation.value(0, &values) {
                Ok(Value::Bool(false)) => Some(refused()),
                done => done.err(),
            };
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

    /// As [`Schema::key_of`]; none for a row with a NULL in its key, which is equal to none.
    pub(super) fn whole_key_of<W: Words + ?Sized>(&self, index: &Index, row: &W) -> Option<String> {
        let table = self.catalog.table(index.table);
        let is_null = |column: &ColumnId| {
            read_field(table.layout.field(*column), row, &mut Vec::new()).is_null()
        };
        let has_null = table.key_of(index).iter().any(is_null);
        (!has_null).then(|| self.key_of(index, row))
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

/// What a row has in it.
fn bytes_of<W: Words + ?Sized>(row: &W) -> Vec<u8> {
    (0..row.words().len()).flat_map(|at| row.word(at).to_le_bytes()).collect()
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
