//! Snapshots: copies of tables as they were at one moment, read by who is in nobody's way.
//!
//! Role         a [`Capture`] of some tables, kept in memory, and an access path to it: a report
//!              runs on a snapshot for as long as it takes, and nobody waits for it
//! States       begun at a quiet point -> copied, with transactions running -> read
//! Invariants   I1 it has what was committed at the quiet point, all of it and nothing else
//!              I2 nothing in it changes; whoever wants to change a row is refused
//! Concurrency  one reader; what made it is the capture's
//! Source       the capture is a checkpoint's (see [`crate::checkpoint`]). That readers need no
//!              locks when they read the past is multiversioning; we differ: no row has versions,
//!              and a reader pays for a copy of the tables that it names
//!
//! ```text
//! table    chunk ▶ | length | words of a row ... | length | words ... |   as batches came
//!          chunk ▶ | ...
//! record   chunk, and where the row's length stands in it
//! index    keys of all rows in their order, made when the index is first asked
//! ```

mod keys;

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::ops::ControlFlow;
use std::sync::Arc;

use hotrow_base::datum::Datum;
use hotrow_base::ids::{ColumnId, IndexId, TableId};
use hotrow_base::interrupt::{Interrupt, Interruption};
use hotrow_transaction::access::{Inserted, Intent, KeyAt, RangeAt, RecordAccess};
use hotrow_transaction::outcome::Stop;

use self::keys::Keys;
use crate::checkpoint::{Capture, RowBatch, RowSink};
use crate::schema::Schema;

/// Copies of tables and of indexes' keys, with the schema that they are of.
pub struct Snapshot {
    schema: Arc<Schema>,
    tables: HashMap<TableId, TableCopy>,
    indexes: HashMap<IndexId, Keys>,
}

/// The rows of one table.
#[derive(Default)]
struct TableCopy {
    rows: u64,
    chunks: Vec<Box<[u64]>>,
}

/// A row of a table's copy.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct SnapshotRecord {
    chunk: u32,
    at: u32,
}

impl Snapshot {
    /// Copies what a capture has begun, unless the statement that it is for is interrupted.
    ///
    /// # Errors
    ///
    /// Why it was.
    pub fn of(capture: Capture, interrupt: &Arc<Interrupt>) -> Result<Self, Interruption> {
        let schema = Arc::clone(capture.schema());
        let copies = Copies { tables: HashMap::new(), interrupt: Arc::clone(interrupt) };
        let mut sinks = [copies];
        capture.run(&mut sinks, &|_| {})?;
        let [Copies { tables, .. }] = sinks;
        Ok(Self { schema, tables, indexes: HashMap::new() })
    }

    /// Rows of all its tables.
    pub fn rows(&self) -> u64 {
        self.tables.values().map(|table| table.rows).sum()
    }

    /// An index's keys, of which there are none before somebody asks.
    fn keys(&mut self, table: TableId, index: IndexId) -> Result<&Keys, Stop> {
        let Self { schema, tables, indexes } = self;
        match indexes.entry(index) {
            Entry::Occupied(keys) => Ok(keys.into_mut()),
            Entry::Vacant(place) => {
                let rows = tables.get(&table).into_iter().flat_map(TableCopy::records);
                Ok(place.insert(Keys::of(schema, index, rows)?))
            }
        }
    }

    fn copied_row(&self, table: TableId, record: SnapshotRecord) -> &[u64] {
        self.tables.get(&table).map_or(&[], |copy| copy.row(record))
    }
}

impl TableCopy {
    fn row(&self, SnapshotRecord { chunk, at }: SnapshotRecord) -> &[u64] {
        let rest = &self.chunks[chunk as usize][at as usize..];
        &rest[1..=rest[0] as usize]
    }

    fn records(&self) -> impl Iterator<Item = (SnapshotRecord, &[u64])> {
        (0..).zip(&self.chunks).flat_map(|(chunk, words)| {
            let mut at = 0;
            std::iter::from_fn(move || {
                let length = *words.get(at)? as usize;
                let record = SnapshotRecord { chunk, at: at as u32 };
                let row = &words[at + 1..][..length];
                at += 1 + length;
                Some((record, row))
            })
        })
    }
}

/// Where the rows of a capture go.
struct Copies {
    tables: HashMap<TableId, TableCopy>,
    interrupt: Arc<Interrupt>,
}

impl RowSink for Copies {
    type Error = Interruption;

    fn put(&mut self, batch: RowBatch<'_>) -> Result<(), Interruption> {
        self.interrupt.check()?;
        let table = self.tables.entry(batch.table).or_default();
        table.rows += batch.rows;
        table.chunks.push(batch.words.into());
        Ok(())
    }
}

/// Changes nothing: I2. Statements that would are not run on snapshots.
impl RecordAccess for Snapshot {
    type Record = SnapshotRecord;
    type Row = [u64];

    fn find(&mut self, at: &KeyAt<'_>, _: Intent) -> Result<Option<SnapshotRecord>, Stop> {
        if at.key.is_empty() {
            return Ok(None); // a planned key with a NULL in it
        }
        Ok(self.keys(at.table, at.index)?.find(at.key))
    }

    fn row(&self, table: TableId, record: SnapshotRecord) -> &[u64] {
        self.copied_row(table, record)
    }

    fn scan(
        &mut self,
        range: &RangeAt<'_>,
        _: Intent,
        mut visit: impl FnMut(SnapshotRecord, &[u64]) -> ControlFlow<()>,
    ) -> Result<(), Stop> {
        self.keys(range.table, range.index)?;
        let Self { tables, indexes, .. } = &*self;
        let (Some(keys), Some(copy)) = (indexes.get(&range.index), tables.get(&range.table)) else {
            return Ok(()); // a table without rows
        };
        let _ = keys.range(range).try_for_each(|record| visit(record, copy.row(record)));
        Ok(())
    }

    fn scan_table(
        &mut self,
        table: TableId,
        _: Intent,
        mut visit: impl FnMut(SnapshotRecord, &[u64]) -> ControlFlow<()>,
    ) -> Result<(), Stop> {
        let rows = self.tables.get(&table).into_iter().flat_map(TableCopy::records);
        let _ = { rows }.try_for_each(|(record, row)| visit(record, row));
        Ok(())
    }

    fn update(
        &mut self,
        _: TableId,
        _: SnapshotRecord,
        _: &[(ColumnId, Datum)],
        _: &[u8],
    ) -> Result<Inserted, Stop> {
        Err(Stop::Error)
    }

    fn insert(&mut self, _: TableId, _: &[u64], _: Option<&KeyAt<'_>>) -> Result<Inserted, Stop> {
        Err(Stop::Error)
    }

    fn remove(&mut self, _: TableId, _: SnapshotRecord) -> Result<(), Stop> {
        Err(Stop::Error)
    }
}
