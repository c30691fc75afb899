//! Applying: entries in the order of their positions, by several threads.
//!
//! Role         recovery gathers entries, and runs them in batches; nothing else runs meanwhile
//! States       gathered -> decoded, each thread a part of the entries in a row, and dealt out to
//!              writers by table and primary key -> written, each writer its changes in the order
//!              of the entries
//! Invariants   I1 all changes of one row go to one writer, in order; those of different rows may
//!              come in any order, since each sets its row and looks at no other
//!              I2 a table with a unique secondary index, or without a primary key, has one writer:
//!              keys of such an index move from row to row, and rows without a key are found by
//!              what they hold. Within an entry the writer takes all entries of changed rows out of
//!              secondary indexes before it enters any, since two rows may have swapped keys

use std::ops::Range;

use hotrow_base::ids::{TableId, WorkerId};
use hotrow_base::key::{self, KeyBuffer};
use hotrow_base::thread;
use hotrow_transaction::catalog::{Catalog, Table};
use hotrow_transaction::outcome::SqlError;

use super::decode::{Change, Operation, Reader};
use super::writer::Writer;
use crate::recovery::LogPlace;
use crate::schema::Schema;

/// Entries for which another thread is worth its start, about 50 us.
const ENTRIES_PER_THREAD: usize = 64;

/// Why entries could not be applied.
#[derive(Clone, PartialEq, Debug, thiserror::Error)]
pub enum ValuesError {
    /// an entry says what cannot be
    #[error("the values at {place} do not fit the database: {what}")]
    Impossible {
        /// the entry
        place: LogPlace,
        /// what is wrong
        what: String,
    },
    /// the memory budget is too small for the rows
    #[error("{}", .0.message)]
    OutOfMemory(SqlError),
}

/// What is wrong with a change.
#[derive(Debug)]
pub(super) enum Fault {
    Impossible(String),
    OutOfMemory(SqlError),
}

impl From<String> for Fault {
    fn from(what: String) -> Self {
        Self::Impossible(what)
    }
}

impl From<SqlError> for Fault {
    fn from(error: SqlError) -> Self {
        Self::OutOfMemory(error)
    }
}

impl Fault {
    pub(super) fn at(self, place: LogPlace) -> ValuesError {
        match self {
            Self::Impossible(what) => ValuesError::Impossible { place, what },
            Self::OutOfMemory(error) => ValuesError::OutOfMemory(error),
        }
    }
}

/// Applies value entries; see the module.
pub struct Applier {
    entries: Vec<Entry>,
    bytes: Vec<u8>,
    decoders: Vec<Decoder>,
    writers: Vec<Writer>,
}

struct Entry {
    place: LogPlace,
    body: Range<usize>,
}

impl Applier {
    /// An applier whose threads run only while [`Applier::run`] does, with as many worker ids from
    /// `first_worker` on, which nobody else uses meanwhile.
    ///
    /// # Panics
    ///
    /// Without a thread.
    pub fn new(threads: usize, first_worker: WorkerId) -> Self {
        assert!(threads > 0, "values are applied by at least one thread");
        let workers = (first_worker.0..).take(threads).map(WorkerId);
        Self {
            entries: Vec::new(),
            bytes: Vec::new(),
            decoders: (0..threads).map(|_| Decoder::default()).collect(),
            writers: workers.map(Writer::new).collect(),
        }
    }

    /// Puts an entry behind those that are to be applied.
    pub fn gather(&mut self, place: LogPlace, body: &[u8]) {
        let start = self.bytes.len();
        self.bytes.extend_from_slice(body);
        self.entries.push(Entry { place, body: start..self.bytes.len() });
    }

    /// Bytes of the entries that are to be applied.
    pub fn gathered_bytes(&self) -> usize {
        self.bytes.len()
    }

    /// Applies what was gathered.
    ///
    /// # Errors
    ///
    /// [`ValuesError`]; the tables then hold some of the changes.
    pub fn run(&mut self, schema: &Schema) -> Result<(), ValuesError> {
        let Self { entries, bytes, decoders, writers } = self;
        if entries.is_empty() {
            return Ok(());
        }
        let threads = (entries.len() / ENTRIES_PER_THREAD).clamp(1, writers.len());
        let (decoders, writers) = (&mut decoders[..threads], &mut writers[..threads]);
        let part = entries.len().div_ceil(threads);
        let parts = |number: usize| {
            let start = (number * part).min(entries.len());
            start..(start + part).min(entries.len())
        };
        in_parallel(decoders, |number, decoder| {
            decoder.decode(schema, bytes, (entries, parts(number)), threads)
        })?;
        in_parallel(writers, |number, writer| {
            let batches = decoders.iter().map(|decoder| &decoder.batches[number]);
            writer.write(schema, batches, |entry| entries[entry as usize].place)
        })?;
        writers.iter().for_each(|writer| schema.reclaim(writer.worker()));
        entries.clear();
        bytes.clear();
        Ok(())
    }
}

/// Lets a thread work on each part, the calling one on the first; the error of the first that has
/// one.
fn in_parallel<T: Send>(
    parts: &mut [T],
    work: impl Fn(usize, &mut T) -> Result<(), ValuesError> + Sync,
) -> Result<(), ValuesError> {
    let (own, others) = parts.split_first_mut().expect("there is at least one");
    let work = &work;
    thread::scope(|scope| {
        let started = others.iter_mut().zip(1..);
        let started: Vec<_> =
            started.map(|(part, number)| scope.spawn(move || work(number, part))).collect();
        let first = work(0, own);
        let join = |thread: thread::ScopedJoinHandle<'_, _>| {
            thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        };
        started.into_iter().map(join).fold(first, Result::and)
    })
}

/// Changes for one writer, in order.
#[derive(Default)]
pub(super) struct Batch {
    pub(super) changes: Vec<Planned>,
    words: Vec<u64>,
    bytes: Vec<u8>,
}

/// A change, with places in its batch's buffers instead of slices.
pub(super) struct Planned {
    /// the entry's number in the run
    pub(super) entry: u32,
    table: TableId,
    operation: Operation,
    key: Range<usize>,
    old: Range<usize>,
    new: Range<usize>,
}

impl Batch {
    fn clear(&mut self) {
        self.changes.clear();
        self.words.clear();
        self.bytes.clear();
    }

    fn push(&mut self, entry: u32, change: &Change<'_>, key: &[u8]) {
        let Self { changes, words, bytes } = self;
        let mut put = |given: &[u64]| {
            let start = words.len();
            words.extend_from_slice(given);
            start..words.len()
        };
        let (old, new) = (put(change.old), put(change.new));
        let start = bytes.len();
        bytes.extend_from_slice(key);
        let key = start..bytes.len();
        let (table, operation) = (change.table, change.operation);
        changes.push(Planned { entry, table, operation, key, old, new });
    }

    /// The change; an insert into a table with a primary key has its key here.
    pub(super) fn change(&self, planned: &Planned) -> Change<'_> {
        Change {
            table: planned.table,
            operation: planned.operation,
            key: &self.bytes[planned.key.clone()],
            old: &self.words[planned.old.clone()],
            new: &self.words[planned.new.clone()],
        }
    }
}

/// Whether one writer has all of a table (I2).
pub(super) fn has_one_writer(catalog: &Catalog, table: &Table) -> bool {
    table.primary.is_none() || table.secondary.iter().any(|&index| catalog.index(index).unique)
}

#[derive(Default)]
struct Decoder {
    /// by writer
    batches: Vec<Batch>,
    words: Vec<u64>,
    key: KeyBuffer,
}

impl Decoder {
    fn decode(
        &mut self,
        schema: &Schema,
        bytes: &[u8],
        (entries, part): (&[Entry], Range<usize>),
        writers: usize,
    ) -> Result<(), ValuesError> {
        self.batches.resize_with(self.batches.len().max(writers), Batch::default);
        self.batches.iter_mut().for_each(Batch::clear);
        for number in part {
            let Entry { place, body } = &entries[number];
            let mut reader = Reader::new(&bytes[body.clone()]);
            let dealt = self.deal_out(schema, number as u32, &mut reader, writers);
            dealt.map_err(|what| Fault::Impossible(what).at(*place))?;
        }
        Ok(())
    }

    fn deal_out(
        &mut self,
        schema: &Schema,
        entry: u32,
        reader: &mut Reader<'_>,
        writers: usize,
    ) -> Result<(), String> {
        let Self { batches, words, key } = self;
        while let Some(change) = reader.next(schema, words)? {
            let table = schema.catalog.table(change.table);
            key.set(change.key);
            if change.operation == Operation::Insert {
                check_row(table, change.new)?;
                encode_primary(schema, table, change.new, key)?;
            }
            let dealt_by = match has_one_writer(&schema.catalog, table) {
                true => table.id.0.into(),
                false => key::hash(key.as_slice()),
            };
            let writer = (dealt_by % writers as u64) as usize;
            batches[writer].push(entry, &change, key.as_slice());
        }
        Ok(())
    }
}

/// Whether words can be a row of a table.
pub(super) fn check_row(table: &Table, row: &[u64]) -> Result<(), String> {
    if table.layout.is_well_formed(row) {
        return Ok(());
    }
    Err(format!("{} words that cannot be a row of table \"{}\"", row.len(), table.name))
}

/// Puts a row's primary key into `key`; nothing where the table has none.
fn encode_primary(
    schema: &Schema,
    table: &Table,
    row: &[u64],
    key: &mut KeyBuffer,
) -> Result<(), String> {
    key.clear();
    let Some(primary) = table.primary else { return Ok(()) };
    let index = schema.catalog.index(primary);
    let encoded = index.key.encode_from_row(&index.fields, row, key);
    encoded.map_err(|error| format!("index \"{}\": {error}", index.name))
}
