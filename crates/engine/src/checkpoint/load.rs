//! Loading an image: several threads make records of its rows and enter them into all indexes.
//!
//! Role         the start of a database; nothing else runs, and the tables are empty
//! Invariants   I1 a row that is not one of its table's, or that violates a unique index, ends the
//!              load with an error that says where it lies; whatever the source gives, nothing
//!              panics, then or later (`RowLayout::is_well_formed`)
//! Concurrency  threads share the latched indexes and the source; each has a worker id of its own

use hotrow_base::sync::facade::atomic::{AtomicBool, Ordering::Relaxed};

use hotrow_base::ids::WorkerId;
use hotrow_base::key::KeyBuffer;
use hotrow_base::thread::{self, ThreadOptions};
use hotrow_storage::btree::Hint;
use hotrow_storage::record::RecordId;
use hotrow_transaction::catalog::Table;
use hotrow_transaction::outcome::SqlError;

use super::capture::TableRows;
use super::rows::{BatchFault, BatchHead, RowBatch, RowSource};
use crate::schema::Schema;

/// Why an image could not be loaded. What was loaded before is still in the tables.
#[derive(Clone, PartialEq, Debug, thiserror::Error)]
pub enum LoadError<E> {
    /// the source failed
    #[error("{0}")]
    Source(E),
    /// it gave what cannot be rows of this schema
    #[error("{place}: {what}")]
    Damaged {
        /// where
        place: String,
        /// what is wrong
        what: String,
    },
    /// the memory budget is too small for the rows
    #[error("{}", .0.message)]
    OutOfMemory(SqlError),
}

/// What was loaded.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Loaded {
    /// each table that rows were loaded into
    pub tables: Vec<TableRows>,
}

impl Loaded {
    /// Rows of all tables.
    pub fn rows(&self) -> u64 {
        self.tables.iter().map(|table| table.rows).sum()
    }
}

/// Loads all rows of `source` into the tables of `schema`, with `threads` threads, the calling one
/// included (as many as there are workers, at most). No call runs, and no other load.
///
/// # Errors
///
/// See [`LoadError`]; the first one that is met.
pub fn load<S: RowSource>(
    schema: &Schema,
    source: &S,
    threads: usize,
) -> Result<Loaded, LoadError<S::Error>> {
    let threads = threads.clamp(1, schema.memory.workers());
    let failed = AtomicBool::new(false);
    let loader = |number: usize| Loader {
        schema,
        source,
        failed: &failed,
        worker: WorkerId(number as u16),
        key: KeyBuffer::new(),
        hints: vec![Hint::default(); schema.catalog.indexes().len()],
        rows: vec![0; schema.catalog.tables().len()],
    };
    let held = schema.held_partitions();
    schema.hold_partitions(0); // each thread enters rows of all of them
    let ended: Vec<_> = thread::scope(|scope| {
        let started: Vec<_> = (1..threads)
            .filter_map(|number| {
                let loader = loader(number);
                let options = ThreadOptions::named(format!("load-{number}"));
                // Where the system has no room for a thread the others do its work.
                options.spawn_scoped(scope, move || loader.run()).ok()
            })
            .collect();
        let first = loader(0).run();
        let join = |thread: thread::ScopedJoinHandle<'_, _>| {
            thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        };
        started.into_iter().map(join).chain([first]).collect()
    });
    schema.hold_partitions(held);
    let mut rows = vec![0; schema.catalog.tables().len()];
    for loaded in ended {
        for (sum, more) in rows.iter_mut().zip(loaded?) {
            *sum += more;
        }
    }
    let tables = schema.catalog.tables().iter();
    let tables = tables.map(|table| TableRows { table: table.id, rows: rows[table.id.index()] });
    Ok(Loaded { tables: tables.filter(|table| table.rows > 0).collect() })
}

struct Loader<'a, S: RowSource> {
    schema: &'a Schema,
    source: &'a S,
    /// another thread has met an error
    failed: &'a AtomicBool,
    worker: WorkerId,
    key: KeyBuffer,
    /// by index id: records come in much the order in which they were made, and so do their keys
    hints: Vec<Hint>,
    /// by table id
    rows: Vec<u64>,
}

/// What can be wrong with a row.
enum Fault {
    Damaged(String),
    OutOfMemory(SqlError),
}

impl From<BatchFault> for Fault {
    fn from(fault: BatchFault) -> Self {
        Self::Damaged(fault.to_string())
    }
}

impl From<SqlError> for Fault {
    fn from(error: SqlError) -> Self {
        Self::OutOfMemory(error)
    }
}

impl<S: RowSource> Loader<'_, S> {
    /// Loads batches until there are no more; the rows loaded, by table id.
    fn run(mut self) -> Result<Vec<u64>, LoadError<S::Error>> {
        let loaded = self.load_all();
        if loaded.is_err() {
            self.failed.store(true, Relaxed); // joining the threads orders the rest
        }
        loaded.map(|()| self.rows)
    }

    fn load_all(&mut self) -> Result<(), LoadError<S::Error>> {
        let (mut bytes, mut words) = (Vec::new(), Vec::new());
        while !self.failed.load(Relaxed) {
            let next = self.source.next(&mut bytes, &mut words);
            let Some(head) = next.map_err(LoadError::Source)? else { break };
            let BatchHead { table, rows, place } = head;
            let loaded = self.load_batch(RowBatch { table, rows, words: &words });
            loaded.map_err(|fault| match fault {
                Fault::Damaged(what) => LoadError::Damaged { place: place.to_string(), what },
                Fault::OutOfMemory(error) => LoadError::OutOfMemory(error),
            })?;
        }
        Ok(())
    }

    fn load_batch(&mut self, batch: RowBatch<'_>) -> Result<(), Fault> {
        let schema = self.schema;
        let Some(table) = schema.catalog.tables().at(batch.table.index()) else {
            return Err(Fault::Damaged(format!("there is no table number {}", batch.table)));
        };
        batch.for_each(|row| self.load_row(table, row))?;
        self.rows[table.id.index()] += batch.rows;
        Ok(())
    }

    fn load_row(&mut self, table: &Table, row: &[u64]) -> Result<(), Fault> {
        if !table.layout.is_well_formed(row) {
            let (words, name) = (row.len(), &table.name);
            let text = format!("a row of {words} words that cannot be one of table \"{name}\"");
            return Err(Fault::Damaged(text));
        }
        let records = self.schema.table(table.id).records();
        let id =
            records.allocate(self.worker, row).map_err(|_| self.schema.memory.out_of_memory())?;
        self.enter(table, id, row)
    }

    fn enter(&mut self, table: &Table, id: RecordId, row: &[u64]) -> Result<(), Fault> {
        let Self { schema, key, hints, .. } = self;
        for index in table.indexes() {
            let index = schema.catalog.index(index);
            key.clear();
            if let Err(error) = schema.encode_entry(index, id, row, key) {
                return Err(Fault::Damaged(format!("index \"{}\": {error}", index.name)));
            }
            let hint = &mut hints[index.id.index()];
            if schema.enter_entry_near(index, id, key.as_slice(), hint)? {
                let text = format!("two rows have the same key in unique index \"{}\"", index.name);
                return Err(Fault::Damaged(text));
            }
        }
        Ok(())
    }
}
