//! Bulk loading: many rows into tables while nothing else runs, by several threads.
//!
//! Role         fills benchmark databases; checks NOT NULL, value ranges, and unique keys, and runs
//!              no CHECK and no foreign key
//! Invariants   I1 each part has a worker id of its own (1, 2, ...), free because no engine runs
//!              I2 a row that is refused is in no index
//! Concurrency  parts share the latched indexes; everything else a part touches is its own

use std::sync::Arc;

use hotrow_base::datum::Datum;
use hotrow_base::ids::{TableId, WorkerId};
use hotrow_base::key::KeyBuffer;
use hotrow_base::row::RowError;
use hotrow_engine::schema::{Quiet, Schema};
use hotrow_storage::record::RecordId;
use hotrow_transaction::catalog::{Index, Table};
use hotrow_transaction::outcome::SqlError;

use crate::core::Core;
use crate::error::Error;
use crate::lookup::table_named;

/// Loads rows outside transactions while no engine runs. No call runs while it lives.
///
/// ```
/// use hotrow::{Config, Database, Datum};
///
/// let db = Database::open_in_memory_without_engine(Config::default().threads(1))?;
/// db.session().execute("CREATE TABLE t (id bigint PRIMARY KEY, name text)")?;
/// let loader = db.bulk_loader()?;
/// for mut part in loader.parts() {
///     part.load("t", &[Datum::int(1), Datum::range(0, 3)], b"one")?;
/// }
/// # Ok::<(), hotrow::Error>(())
/// ```
///
/// In a database with a directory nothing of it is durable before [`BulkLoader::finish`], and until
/// then no engine starts.
pub struct BulkLoader<'a> {
    core: &'a Core,
    schema: Arc<Schema>,
    parts: usize,
    quiet: Quiet<'a>,
}

impl<'a> BulkLoader<'a> {
    pub(crate) fn new(core: &'a Core, quiet: Quiet<'a>) -> Self {
        let schema = quiet.schema();
        let parts = schema.memory.workers() - 1;
        core.set_unlogged(true);
        Self { core, schema, parts, quiet }
    }

    /// Makes what was loaded durable: in a database with a directory, by a checkpoint.
    ///
    /// # Errors
    ///
    /// As [`crate::Database::checkpoint`].
    pub fn finish(self) -> Result<(), Error> {
        let Self { core, quiet, .. } = self;
        drop(quiet);
        core.checkpoint(&|_| ())?;
        core.set_unlogged(false);
        Ok(())
    }

    /// One part for each thread that the database has room for. Each may go to another thread.
    pub fn parts(&self) -> Vec<BulkPart<'_>> {
        let part = |number| BulkPart {
            schema: &self.schema,
            worker: WorkerId(number as u16 + 1),
            current: None,
            row: Vec::new(),
            key: KeyBuffer::new(),
            rows: 0,
        };
        (0..self.parts).map(part).collect()
    }
}

/// What one thread loads with.
pub struct BulkPart<'a> {
    schema: &'a Schema,
    worker: WorkerId,
    /// the table of the last row: rows of one table mostly come in a run
    current: Option<TableId>,
    row: Vec<u64>,
    key: KeyBuffer,
    rows: u64,
}

impl BulkPart<'_> {
    /// Loads a row: one datum per column, of the column's type, and the heap that byte-like datums
    /// point into.
    ///
    /// # Errors
    ///
    /// 42P01 unknown table, 42804 wrong number of columns or a range outside the heap, 0A000 for a
    /// table with an index on an expression, 23502, 22003, 22001, 23505, 53200; the row is then not
    /// loaded.
    pub fn load(&mut self, table: &str, row: &[Datum], heap: &[u8]) -> Result<(), Error> {
        let schema = self.schema;
        let table = match self.current.map(|id| schema.catalog.table(id)) {
            Some(current) if current.name == table => current,
            _ => table_named(schema, table)?,
        };
        self.current = Some(table.id);
        check_shape(table, row, heap)?;
        table.layout.build(row, heap, &mut self.row).map_err(|error| refused(table, error))?;
        let records = schema.table(table.id).records();
        let id =
            records.allocate(self.worker, &self.row).map_err(|_| schema.memory.out_of_memory())?;
        if let Err(error) = self.enter(table, id) {
            records.retire(self.worker, id, schema.memory.epochs().retire_epoch());
            return Err(error.into());
        }
        self.rows += 1;
        Ok(())
    }

    /// Rows loaded by this part so far.
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// Enters a record into all indexes, or into none.
    fn enter(&mut self, table: &Table, id: RecordId) -> Result<(), SqlError> {
        let schema = self.schema;
        for (done, index) in table.indexes().enumerate() {
            if let Err(error) = self.enter_one(schema.catalog.index(index), id) {
                for index in table.indexes().take(done) {
                    self.leave_one(schema.catalog.index(index), id);
                }
                return Err(error);
            }
        }
        Ok(())
    }

    fn enter_one(&mut self, index: &Index, id: RecordId) -> Result<(), SqlError> {
        let schema = self.schema;
        self.encode(index, id)?;
        let there = schema.enter_entry(index, id, self.key.as_slice())?;
        if there { Err(duplicate(schema, index)) } else { Ok(()) }
    }

    fn leave_one(&mut self, index: &Index, id: RecordId) {
        if self.encode(index, id).is_ok() {
            self.schema.leave_entry(index, id, self.key.as_slice());
        }
    }

    fn encode(&mut self, index: &Index, id: RecordId) -> Result<(), SqlError> {
        self.key.clear();
        let encoded = self.schema.encode_entry(index, id, self.row.as_slice(), &mut self.key);
        encoded
            .map_err(|error| SqlError::new(b"54000", format!("index \"{}\": {error}", index.name)))
    }
}

fn check_shape(table: &Table, row: &[Datum], heap: &[u8]) -> Result<(), SqlError> {
    if !table.hidden.is_empty() {
        let message = format!(
            "table \"{}\" has an index on an expression, or of some of the rows",
            table.name
        );
        let mut refused = SqlError::new(b"0A000", message);
        refused.hint = Some("Create it when the rows are loaded.".to_owned());
        return Err(refused);
    }
    let (given, wanted) = (row.len(), table.columns.len());
    if given != wanted {
        let message = format!("table \"{}\" has {wanted} columns, not {given}", table.name);
        return Err(SqlError::new(b"42804", message));
    }
    for (datum, column) in row.iter().zip(&table.columns) {
        let fits = datum.is_null()
            || !column.data_type.is_bytes()
            || heap.get(datum.as_range().range()).is_some();
        if !fits {
            let name = &column.name;
            return Err(SqlError::new(b"42804", format!("\"{name}\" lies outside the heap")));
        }
    }
    Ok(())
}

fn refused(table: &Table, error: RowError) -> SqlError {
    let (code, column) = match error {
        RowError::NullInNotNull { column } => (b"23502", Some(column)),
        RowError::OutOfRange { column } => (b"22003", Some(column)),
        RowError::TooLong { column, .. } => (b"22001", Some(column)),
        RowError::RowTooLarge { .. } => (b"54000", None),
    };
    let mut refused = SqlError::new(code, format!("table \"{}\": {error}", table.name));
    refused.column = column.map(|column| table.columns[column.index()].name.clone());
    refused.table = Some(table.name.clone());
    refused
}

fn duplicate(schema: &Schema, index: &Index) -> SqlError {
    let name = &index.name;
    let message = format!("duplicate key value violates unique constraint \"{name}\"");
    let mut error = SqlError::new(b"23505", message);
    error.table = Some(schema.catalog.table(index.table).name.clone());
    error.constraint = Some(name.clone());
    error
}
