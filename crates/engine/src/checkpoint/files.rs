//! Images in files: what joins captures and loads with the log crate's checkpoints.
//!
//! Role         [`write`] and [`restore`] are what a database calls; they know which section is
//!              whose and which number is which table, and nothing of formats

use std::fmt;
use std::sync::Arc;

use hotrow_base::ids::TableId;
use hotrow_log::checkpoint::{
    CheckpointError, ChunkHead, Identity, Manifest, Reader, Section, TableRows, Writer,
};
use hotrow_log::files::Files;

use super::capture::{Capture, Captured, Progress};
use super::load::{LoadError, Loaded, load};
use super::rows::{BatchHead, RowBatch, RowSink, RowSource};
use crate::schema::Schema;

/// Where a checkpoint goes, and what it is called.
pub struct Destination {
    /// the directory of checkpoints
    pub files: Arc<dyn Files>,
    /// log and epoch; the epoch began at the capture's quiet point
    pub identity: Identity,
    /// what the database wants to read before the rows: its definitions, as at the quiet point
    pub catalog: Vec<u8>,
    /// threads that copy, and sections; at least 1
    pub threads: usize,
}

/// A checkpoint that exists.
#[derive(Clone, Debug)]
pub struct Written {
    /// what it consists of
    pub manifest: Manifest,
    /// what was captured
    pub captured: Captured,
}

/// Writes a capture as a checkpoint. When this returns without an error it is durable; the log
/// before its epoch and older checkpoints are of no use any more.
///
/// # Errors
///
/// When a file cannot be written. There is then no new checkpoint, the older ones are as they were,
/// and another one can be taken.
pub fn write(
    capture: Capture,
    to: Destination,
    progress: &(dyn Fn(Progress) + Sync),
) -> Result<Written, CheckpointError> {
    let (writer, mut sections) = Writer::begin(to.files, to.identity, to.threads.max(1))?;
    let schema = Arc::clone(capture.schema());
    let captured = capture.run(&mut sections, progress)?;
    let tables = captured.tables.iter().map(|table| TableRows {
        number: u32::from(table.table.0),
        name: schema.catalog.table(table.table).key(),
        rows: table.rows,
    });
    let manifest = writer.finish(sections, to.catalog, tables.collect())?;
    Ok(Written { manifest, captured })
}

/// Loads the rows of a checkpoint into the tables of `schema`, which are empty and were made from
/// its catalog. See [`load`].
pub fn restore(
    schema: &Schema,
    reader: &Reader,
    threads: usize,
) -> Result<Loaded, LoadError<CheckpointError>> {
    load(schema, &Chunks::new(schema, reader)?, threads)
}

impl RowSink for Section {
    type Error = CheckpointError;

    fn put(&mut self, batch: RowBatch<'_>) -> Result<(), CheckpointError> {
        Section::put(self, u32::from(batch.table.0), batch.rows, batch.words)
    }
}

/// A checkpoint's chunks as batches of the schema's tables.
struct Chunks<'a> {
    reader: &'a Reader,
    /// numbers in the checkpoint, and which tables have their names now
    tables: Vec<(u32, TableId)>,
}

impl<'a> Chunks<'a> {
    fn new(schema: &Schema, reader: &'a Reader) -> Result<Self, LoadError<CheckpointError>> {
        let known = |name: &str| schema.catalog.table_named(name).map(|table| table.id);
        let tables = reader.manifest().tables.iter().map(|table| {
            known(&table.name).map(|id| (table.number, id)).ok_or_else(|| LoadError::Damaged {
                place: format!("the checkpoint of epoch {}", reader.manifest().epoch),
                what: format!("it has rows of table \"{}\", and no definition of it", table.name),
            })
        });
        Ok(Self { reader, tables: tables.collect::<Result<_, _>>()? })
    }
}

/// Where a chunk is.
struct ChunkPlace(ChunkHead);

impl fmt::Display for ChunkPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, chunk at byte {}", self.0.path, self.0.offset)
    }
}

impl RowSource for Chunks<'_> {
    type Error = CheckpointError;
    type Place = ChunkPlace;

    fn next(
        &self,
        bytes: &mut Vec<u8>,
        words: &mut Vec<u64>,
    ) -> Result<Option<BatchHead<ChunkPlace>>, CheckpointError> {
        let Some(head) = self.reader.next(bytes, words)? else { return Ok(None) };
        let table = self.tables.iter().find(|(number, _)| *number == head.table);
        let table = table.expect("the reader gives tables of the manifest only").1;
        Ok(Some(BatchHead { table, rows: head.rows, place: ChunkPlace(head) }))
    }
}
