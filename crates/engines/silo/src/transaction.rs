//! What one transaction has read, and what it will change.
//!
//! Role         the read set (a copy of each row, with its version), the node set, and the changes
//!              in program order, until commit makes them: nobody else sees any of it
//! Invariants   I1 a record is in the read set once; its row is as the transaction sees it now
//!              I2 changes are made in program order, so that a key that moves from row to row
//!              arrives as it did here
//!              I3 a row that is written to in place belongs to one operation; one whose change
//!              moves an entry is a copy, and an operation of its own
//! Source       Silo 4.4: read set, write set, node set

use hotrow_base::sync::facade::atomic::Ordering::Relaxed;

use hotrow_base::ids::{IndexId, TableId};
use hotrow_base::key::{self, KeyBuffer};
use hotrow_base::sync::{SpinWait, Version, VersionLatch};
use hotrow_engine::probe::{ProbeBuffers, Seen};
use hotrow_engine::schema::Schema;
use hotrow_storage::record::RecordId;
use hotrow_transaction::outcome::Stop;

use crate::cells::Cells;
use crate::removals::Removals;

/// A piece of a buffer.
#[derive(Clone, Copy, Default, Debug)]
pub struct Span {
    start: usize,
    end: usize,
}

impl Span {
    /// What is appended to a buffer.
    pub fn append<T: Copy>(buffer: &mut Vec<T>, items: &[T]) -> Self {
        let start = buffer.len();
        buffer.extend_from_slice(items);
        Self::since(start, buffer)
    }

    /// What was appended to a buffer that was `start` long before.
    fn since<T>(start: usize, buffer: &[T]) -> Self {
        Self { start, end: buffer.len() }
    }

    /// That part of the buffer.
    #[inline]
    pub fn of<T>(self, buffer: &[T]) -> &[T] {
        &buffer[self.start..self.end]
    }

    /// That part of the buffer, to be changed.
    #[inline]
    pub fn of_mut<T>(self, buffer: &mut [T]) -> &mut [T] {
        &mut buffer[self.start..self.end]
    }
}

/// Words of rows that a transaction copies before it had better run alone: 8 MiB. One that reads so
/// much beside others is overtaken anyway.
const WORDS_MAX: usize = 1 << 20;
/// Entries that indexes will have before it had better: each look goes through them.
const PENDING_MAX: usize = 4096;

/// The version of what nobody has changed, and of what is inserted.
pub const NOTHING: Version = Version::from_word(0);

/// No operation.
pub const NONE: u32 = u32::MAX;

/// A record that the transaction has read or made.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// its table
    pub table: TableId,
    /// its name; none for one that the transaction inserts
    pub id: Option<RecordId>,
    /// when it was read
    pub version: Version,
    /// the row, in `words`
    pub row: Span,
    /// it was not removed
    pub live: bool,
    /// the last operation that changes it, or [`NONE`]
    pub operation: u32,
}

impl Entry {
    /// Whether the transaction changes it, or makes it.
    #[inline]
    pub fn is_written(&self) -> bool {
        self.operation != NONE
    }

    /// Whether the record is as it was read, and nobody holds it.
    #[inline]
    pub fn holds(&self, schema: &Schema) -> bool {
        self.id.is_none_or(|id| latch_of(schema, self.table, id).validate(self.version))
    }
}

/// What is done to a record.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// made, under this primary key, in `keys`
    Insert,
    /// given another row
    Update,
    /// removed
    Remove,
    /// made and removed: nothing
    Nothing,
}

/// A change.
#[derive(Clone, Copy, Debug)]
pub struct Operation {
    /// the record
    pub entry: u32,
    /// what
    pub kind: Kind,
    /// the row afterwards, in `words`
    pub row: Span,
    /// of an insert: the primary key, in `keys`
    pub key: Span,
    /// of an insert: its hash
    pub hash: u64,
}

/// An entry that an index will have.
#[derive(Clone, Copy, Debug)]
struct Pending {
    index: IndexId,
    key: Span,
    hash: u64,
    entry: u32,
}

/// See the module. Memory is kept from transaction to transaction.
#[derive(Default, Debug)]
pub struct Transaction {
    /// the read set, and what is inserted
    pub entries: Vec<Entry>,
    /// where records are in it
    pub cells: Cells,
    /// rows
    pub words: Vec<u64>,
    /// keys
    pub keys: Vec<u8>,
    /// the node set
    pub seen: Vec<Seen>,
    /// changes, in program order
    pub operations: Vec<Operation>,
    pending: Vec<Pending>,
    /// entries to lock, in the order in which they are locked
    pub written: Vec<u32>,
    /// records made while committing
    pub born: Vec<(TableId, RecordId)>,
    /// pending entries of the range that is visited
    pub matches: Vec<(Span, u32)>,
    /// of scans
    pub probe: ProbeBuffers,
    /// a row on its way
    pub row: Vec<u64>,
    /// keys on their way
    pub key_buffers: [KeyBuffer; 2],
    /// an entry will leave its index
    pub removes: bool,
    /// something cannot be validated, or is too much to copy: the call is to run alone
    pub needs_quiet: bool,
}

impl Transaction {
    /// Begins one: forgets everything.
    pub fn begin(&mut self) {
        self.entries.clear();
        self.cells.clear();
        self.words.clear();
        self.keys.clear();
        self.seen.clear();
        self.operations.clear();
        self.pending.clear();
        self.written.clear();
        self.born.clear();
        self.removes = false;
        self.needs_quiet = false;
    }

    /// The row of an entry, as the transaction sees it.
    #[inline]
    pub fn row(&self, entry: u32) -> &[u64] {
        self.entries[entry as usize].row.of(&self.words)
    }

    /// Reads a record, unless it was before; its entry, if it is live. Waits for who is committing
    /// a change of it.
    pub fn read(&mut self, schema: &Schema, table: TableId, id: RecordId) -> Option<u32> {
        if let Some(entry) = self.cells.get(table, id) {
            return self.entries[entry as usize].live.then_some(entry);
        }
        let record = schema.table(table).records().record(id);
        let latch = VersionLatch::in_word(record.control());
        let start = self.words.len();
        let mut wait = SpinWait::new();
        loop {
            let version = latch.read_begin()?; // none: removed for good
            let row = record.live_row();
            if let Some(row) = row {
                self.words.extend(row.iter().map(|word| word.load(Relaxed)));
            }
            if latch.validate(version) {
                row?;
                let row = Span::since(start, &self.words);
                let live = true;
                let read = Entry { table, id: Some(id), version, row, live, operation: NONE };
                let entry = self.add(read);
                self.cells.put(table, id, entry);
                return Some(entry);
            }
            self.words.truncate(start);
            wait.wait();
        }
    }

    /// Fails when it is too much to run beside others.
    #[inline]
    pub fn check_size(&mut self) -> Result<(), Stop> {
        if self.is_too_much() { Err(Stop::Replan) } else { Ok(()) }
    }

    /// Whether it is too much to run beside others; then it is noted.
    #[inline]
    pub fn is_too_much(&mut self) -> bool {
        self.needs_quiet |= self.words.len() > WORDS_MAX || self.pending.len() > PENDING_MAX;
        self.needs_quiet
    }

    /// Adds an entry.
    pub fn add(&mut self, entry: Entry) -> u32 {
        self.entries.push(entry);
        self.entries.len() as u32 - 1
    }

    /// Notes that an entry has this row from now on, or is removed.
    pub fn note_change(&mut self, entry: u32, kind: Kind, row: Span) {
        self.note(Operation { entry, kind, row, key: Span::default(), hash: 0 });
    }

    /// Notes an operation on an entry.
    pub fn note(&mut self, operation: Operation) {
        self.entries[operation.entry as usize].operation = self.operations.len() as u32;
        self.operations.push(operation);
    }

    /// Notes that an index will have an entry; where its key is kept.
    pub fn expect(&mut self, index: IndexId, key: &[u8], entry: u32) -> Span {
        let kept = Span::append(&mut self.keys, key);
        self.pending.push(Pending { index, key: kept, hash: key::hash(key), entry });
        kept
    }

    /// Notes that an index will not have an entry of this record after all.
    pub fn expect_no_more(&mut self, index: Option<IndexId>, entry: u32) {
        self.pending.retain(|pending| {
            pending.entry != entry || index.is_some_and(|index| index != pending.index)
        });
    }

    /// The record for which an index will have an entry under this key.
    #[inline]
    pub fn expected(&self, index: IndexId, key: &[u8]) -> Option<u32> {
        if self.pending.is_empty() {
            return None;
        }
        let hash = key::hash(key);
        let is_it = |pending: &&Pending| {
            pending.hash == hash && pending.index == index && pending.key.of(&self.keys) == key
        };
        self.pending.iter().find(is_it).map(|pending| pending.entry)
    }

    /// Collects the entries that an index will have, and whose keys are accepted, in their order.
    pub fn match_expected(&mut self, index: IndexId, accept: impl Fn(&[u8]) -> bool) {
        let Self { pending, matches, keys, .. } = self;
        matches.clear();
        let in_range = |pending: &&Pending| pending.index == index && accept(pending.key.of(keys));
        matches.extend(pending.iter().filter(in_range).map(|one| (one.key, one.entry)));
        matches.sort_unstable_by(|a, b| a.0.of(keys).cmp(b.0.of(keys)));
    }

    /// The greatest version among what was read, and among removals of what was not found.
    pub fn newest(&self, removals: &Removals) -> Version {
        let absences = if self.seen.is_empty() { NOTHING } else { removals.newest() };
        self.entries.iter().map(|entry| entry.version).fold(absences, Version::max)
    }

    /// Whether everything that was read is as it was, given that the transaction holds nothing.
    pub fn is_valid(&self, schema: &Schema) -> bool {
        self.entries.iter().all(|entry| entry.holds(schema))
            && self.seen.iter().all(|seen| seen.holds(schema))
    }
}

/// The latch of a record.
#[inline]
pub fn latch_of(schema: &Schema, table: TableId, id: RecordId) -> &VersionLatch {
    VersionLatch::in_word(schema.table(table).records().record(id).control())
}
