//! Images in memory, and databases whose schema a test can get at.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::sync::Mutex;
use std::sync::atomic::Ordering::Relaxed;

use hotrow::{Database, EngineEntry};
use hotrow_base::ids::TableId;
use hotrow_engine::checkpoint::{BatchFault, BatchHead, RowBatch, RowSink, RowSource};
use hotrow_engine::contract::{EngineOptions, Ground, OptionError, RunningEngine, Start};
use hotrow_engine::schema::Quiet;
use hotrow_engine::source::CallSource;
use hotrow_tests::matrix::Setup;

thread_local! {
    static STARTED: Cell<Option<Start>> = const { Cell::new(None) };
    static GROUND: RefCell<Option<Ground>> = const { RefCell::new(None) };
}

/// A database of a set-up, and the ground its engine stands on.
pub fn grounded(setup: &Setup) -> (Database, Ground) {
    fn start(
        ground: Ground,
        options: &EngineOptions,
        sources: Vec<Box<dyn CallSource>>,
    ) -> Result<Box<dyn RunningEngine>, OptionError> {
        GROUND.set(Some(ground.clone()));
        STARTED.get().expect("it was set")(ground, options, sources)
    }
    STARTED.set(Some(setup.entry.start));
    let setup = Setup { entry: EngineEntry { start, ..setup.entry }, ..setup.clone() };
    let db = setup.open();
    (db, GROUND.take().expect("the engine was started on this thread"))
}

/// Rows of all tables, sorted: what an image must have.
pub type Rows = BTreeMap<u16, Vec<Vec<u64>>>;

/// All rows there are at a quiet point.
pub fn rows_at(quiet: &Quiet<'_>) -> Rows {
    let schema = quiet.schema();
    let mut rows = Rows::new();
    for table in schema.catalog.tables().iter() {
        let of_table = rows.entry(table.id.0).or_default();
        schema.table(table.id).records().for_each_record(|_, record| {
            let row = record.live_row().map(|row| row.iter().map(|word| word.load(Relaxed)));
            of_table.extend(row.map(|row| row.collect::<Vec<u64>>()));
        });
        of_table.sort();
    }
    rows.retain(|_, rows| !rows.is_empty());
    rows
}

#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Batch {
    pub table: u16,
    pub rows: u64,
    pub words: Vec<u64>,
}

/// A sink that keeps what it gets, or has no room for anything.
#[derive(Default)]
pub struct MemorySink {
    batches: Vec<Batch>,
    is_full: bool,
}

impl MemorySink {
    /// A sink without room.
    pub fn full() -> Self {
        Self { batches: Vec::new(), is_full: true }
    }
}

#[derive(Debug)]
pub struct Full;

impl fmt::Display for Full {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the sink is full")
    }
}

impl RowSink for MemorySink {
    type Error = Full;

    fn put(&mut self, batch: RowBatch<'_>) -> Result<(), Full> {
        assert!(batch.rows > 0, "a batch has rows");
        if self.is_full {
            return Err(Full);
        }
        let words = batch.words.to_vec();
        self.batches.push(Batch { table: batch.table.0, rows: batch.rows, words });
        Ok(())
    }
}

/// An image, as batches. Two are equal when they have the same rows.
#[derive(Clone, Debug)]
pub struct Image {
    batches: Vec<Batch>,
}

impl PartialEq for Image {
    fn eq(&self, other: &Self) -> bool {
        self.sorted() == other.sorted()
    }
}

impl Image {
    pub fn of(sinks: &[MemorySink]) -> Self {
        let mut batches: Vec<_> = sinks.iter().flat_map(|sink| sink.batches.clone()).collect();
        batches.sort();
        Self { batches }
    }

    pub fn batch(&mut self, at: usize) -> &mut Batch {
        &mut self.batches[at]
    }

    pub fn add(&mut self, batch: Batch) {
        self.batches.push(batch);
    }

    pub fn rows(&self) -> usize {
        self.sorted().values().map(Vec::len).sum()
    }

    fn sorted(&self) -> Rows {
        let mut rows = Rows::new();
        for batch in &self.batches {
            let of_table = rows.entry(batch.table).or_default();
            let given =
                RowBatch { table: TableId(batch.table), rows: batch.rows, words: &batch.words };
            let visited: Result<(), BatchFault> = given.for_each(|row| {
                of_table.push(row.to_vec());
                Ok(())
            });
            visited.expect("it is as the capture made it");
        }
        rows.values_mut().for_each(|rows| rows.sort());
        rows
    }

    /// Panics with the first difference.
    pub fn check_equal(&self, expected: &Rows) {
        let rows = self.sorted();
        let (tables, others): (Vec<_>, Vec<_>) = (rows.keys().collect(), expected.keys().collect());
        assert_eq!(tables, others, "tables with rows");
        for (table, expected) in expected {
            let rows = &rows[table];
            let differ = rows.iter().zip(expected).find(|(row, expected)| row != expected);
            assert_eq!(differ, None, "table {table}: the image's row and the right one");
            assert_eq!(rows.len(), expected.len(), "table {table}: rows");
        }
    }

    pub fn source(&self) -> impl RowSource<Error = Full, Place = String> {
        MemorySource { batches: Mutex::new(self.batches.clone().into_iter().enumerate().collect()) }
    }
}

struct MemorySource {
    batches: Mutex<VecDeque<(usize, Batch)>>,
}

impl RowSource for MemorySource {
    type Error = Full;
    type Place = String;

    fn next(
        &self,
        _: &mut Vec<u8>,
        words: &mut Vec<u64>,
    ) -> Result<Option<BatchHead<String>>, Full> {
        let next = self.batches.lock().expect("no thread panics").pop_front();
        Ok(next.map(|(at, batch)| {
            *words = batch.words;
            let place = format!("batch {at} of the image");
            BatchHead { table: TableId(batch.table), rows: batch.rows, place }
        }))
    }
}
