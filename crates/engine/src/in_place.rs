//! Records changed in place, with undo: the access path of every engine that holds what it
//! touches until it commits.
//!
//! Role         [`RecordAccess`] over stored tables, generic over how granules are protected
//! States       running -> committed (removed entries and records go) or undone (all as before)
//! Invariants   I1 an entry made by the transaction is in its index at once, and leaves on undo;
//!              a row removed by it stays as a ghost until commit, and is live again on undo
//!              I2 whoever could meet another transaction's ghost or new entry has not been let in
//!              by the protection; trial reads, which ask for none, check nothing they see. Or it
//!              [runs ahead](Protection::RUNS_AHEAD): then it stops before it brings back a ghost
//!              that is not its own
//!              I3 undo runs newest first and needs no memory
//!              I4 a row is kept for the checkpoint being taken before it is changed the first time
//!              (storage asserts it at each change of a record's header)
//! Source       ghosts: locking.txt 2.2; undo in memory: partitioned.txt 3.1

mod cell;
mod change;
mod finish;
mod key_ranges;
mod prior;
#[cfg(test)]
mod tests;
mod visit;
mod walk;

pub use cell::CellChange;
pub(crate) use walk::direction;

use hotrow_base::sync::facade::atomic::AtomicU64;
use std::ops::ControlFlow;
use std::sync::Arc;

use hotrow_base::datum::Datum;
use hotrow_base::ids::{ColumnId, IndexId, TableId, WorkerId};
use hotrow_base::interrupt::Interrupt;
use hotrow_base::key::KeyBuffer;
use hotrow_base::row::Field;
use hotrow_storage::btree::{Hint, KeyBuffer as StoredKey, ScanBuffers, WalkBuffers};
use hotrow_storage::record::{Record, RecordId};
use hotrow_storage::table::Index as StoredIndex;
use hotrow_storage::undo::{IndexChange, IndexKey, Undo, UndoEntry, UndoLog};
use hotrow_transaction::access::{Inserted, Intent, KeyAt, RangeAt, Reads, RecordAccess};
use hotrow_transaction::dynamic::Definitions;
use hotrow_transaction::granule::{LockMode, Space};
use hotrow_transaction::locks;
use hotrow_transaction::outcome::Stop;

use crate::journal::Effect;
use crate::protection::Protection;
use crate::schema::{AccessPath, Schema};
use crate::values::ValueEncoder;

/// Records that a list is kept for from visit to visit: half a MiB.
const RECORDS_KEPT: usize = 1 << 15;

/// Buffers of one worker, kept from transaction to transaction.
#[derive(Debug)]
pub struct Scratch {
    worker: WorkerId,
    /// the transaction's
    part: Part,
    key: KeyBuffer,
    other_key: KeyBuffer,
    row: Vec<u64>,
    found: Vec<RecordId>,
    scan: ScanBuffers,
    /// as storage copies keys out: what stands before one
    prior: StoredKey,
    walk: WalkBuffers,
    /// where the last insert into a B+-tree went, and which tree that was: a NewOrder's order
    /// lines follow one another
    last_insert: (Option<IndexId>, Hint),
    /// the list that the interpreter collects records in; empty between transactions
    records: Vec<Record<'static>>,
    values: ValueEncoder,
}

#[derive(Clone, Copy, Debug)]
struct MovedEntry {
    table: TableId,
    /// the index's, or its part's, in the table
    number: u16,
    hash: u64,
    record: RecordId,
}

impl Scratch {
    /// Buffers for one worker.
    pub fn new(worker: WorkerId) -> Self {
        Self {
            worker,
            part: Part::default(),
            key: KeyBuffer::new(),
            other_key: KeyBuffer::new(),
            row: Vec::new(),
            found: Vec::new(),
            scan: ScanBuffers::default(),
            prior: StoredKey::new(),
            walk: WalkBuffers::default(),
            last_insert: (None, Hint::default()),
            records: Vec::new(),
            values: ValueEncoder::default(),
        }
    }

    /// The hint of the last insert, if it went to this index.
    #[inline]
    fn insert_hint(&mut self, index: IndexId) -> &mut Hint {
        if self.last_insert.0 != Some(index) {
            self.last_insert = (Some(index), Hint::default());
        }
        &mut self.last_insert.1
    }

    /// Has a session pay for what its transactions change; see [`UndoLog::charge_to`].
    pub fn charge_to(&mut self, interrupt: Option<&Arc<Interrupt>>) {
        self.part.undo.charge_to(interrupt);
    }

    /// A statement has ended, its transaction goes on; see [`UndoLog::end_statement`].
    #[inline]
    pub fn end_statement(&mut self) {
        self.part.undo.end_statement();
    }

    /// The worker.
    pub fn worker(&self) -> WorkerId {
        self.worker
    }

    /// A place to which the transaction can be taken back.
    pub fn savepoint(&self) -> Savepoint {
        Savepoint { undo: self.part.undo.savepoint(), moved: self.part.moved.len() }
    }

    /// How many changes the transaction has made that are not taken back.
    pub fn changes(&self) -> usize {
        self.part.undo.len()
    }

    /// Whether the transaction has changed nothing so far.
    #[inline]
    pub fn is_unchanged(&self) -> bool {
        self.part.undo.is_empty()
    }

    /// The hash of what was changed since, by which a replay is compared with the run (see
    /// [`hotrow_storage::write_hash`]); `None` if nothing was. The default savepoint is the begin
    /// of the transaction.
    #[inline]
    pub fn changed_since(&self, savepoint: &Savepoint) -> Option<u64> {
        self.part.undo.changed_since(&savepoint.undo)
    }

    /// Appends what the transaction has changed to an entry of a log of values. Its rows are still
    /// its own.
    pub fn encode_values(&mut self, schema: &Schema, out: &mut Vec<u8>) {
        self.values.encode(out, schema, &self.part.undo);
    }

    /// The places of rows that the transaction has put there or taken away, since it had made so
    /// many [changes](Scratch::changes).
    pub fn slots_since(&self, changes: usize) -> impl Iterator<Item = (TableId, RecordId)> {
        let later = (changes..self.part.undo.len()).map(|at| self.part.undo.entry(at));
        let moved = later.filter(|entry| matches!(entry.undo, Undo::Inserted | Undo::Deleted));
        moved.map(|entry| (entry.table, entry.record))
    }

    /// Whether a commit has something to remove or to free.
    #[inline]
    pub fn is_unsettled(&self) -> bool {
        self.part.unsettled
    }
}

/// What a transaction has changed, and what undoes it. It can be kept apart while others run.
#[derive(Default, Debug)]
pub struct Part {
    undo: UndoLog,
    /// the undo log has entries that commit must look at
    unsettled: bool,
    /// hash entries that commit removes: the rows moved on to other keys
    moved: Vec<MovedEntry>,
    /// where the protected blocks of the call that runs began, by number
    places: Vec<Savepoint>,
}

impl Scratch {
    /// Takes up the transaction of a part, and puts into the part what was here; so done twice,
    /// everything is as it was.
    #[inline]
    pub fn exchange(&mut self, part: &mut Part) {
        std::mem::swap(&mut self.part, part);
    }

    /// Whether the transaction itself has removed a row, which is a ghost.
    fn has_removed(&self, table: TableId, id: RecordId) -> bool {
        let is_it = |entry: UndoEntry<'_>| {
            (entry.table, entry.record) == (table, id) && entry.undo == Undo::Deleted
        };
        self.part.undo.iter().any(is_it)
    }

    /// Whether the transaction itself has made the ghost entry under a key: its row has moved on.
    fn has_moved(&self, (table, index): (TableId, usize), key: IndexKey<'_>) -> bool {
        let change = IndexChange::Ghosted;
        let it = Undo::Index { index, change, key };
        self.part.undo.iter().any(|entry| entry.table == table && entry.undo == it)
    }
}

/// A place in a transaction to which it can be taken back.
#[derive(Clone, Copy, Default, Debug)]
pub struct Savepoint {
    undo: hotrow_storage::undo::Savepoint,
    moved: usize,
}

/// The access path of one transaction. Ends with [`InPlace::commit`] or [`InPlace::undo`].
pub struct InPlace<'a, P: Protection> {
    schema: &'a Schema,
    scratch: &'a mut Scratch,
    protection: P,
    hints: &'a [u64],
}

impl<'a, P: Protection> InPlace<'a, P> {
    /// An access path for a transaction that begins.
    pub fn new(schema: &'a Schema, scratch: &'a mut Scratch, protection: P) -> Self {
        debug_assert!(scratch.part.undo.is_empty(), "the last transaction was committed or undone");
        Self::resume(schema, scratch, protection)
    }

    /// An access path for a transaction that goes on, with the buffers it had.
    pub fn resume(schema: &'a Schema, scratch: &'a mut Scratch, protection: P) -> Self {
        Self { schema, scratch, protection, hints: &[] }
    }

    /// How the transaction protects what it touches.
    pub fn protection(&self) -> &P {
        &self.protection
    }

    /// What the transaction did so far. Asked before it is committed or undone.
    #[inline]
    pub fn effect(&self) -> Effect {
        Effect::of(self.write_hash())
    }

    /// Adds hints: per plan entry, the bits of the record found while planning plus one, or 0.
    pub fn with_hints(mut self, hints: &'a [u64]) -> Self {
        self.hints = hints;
        self
    }

    /// Whether the transaction has changed nothing so far.
    #[inline]
    pub fn is_read_only(&self) -> bool {
        self.scratch.is_unchanged()
    }

    /// See [`Scratch::savepoint`].
    #[inline]
    pub fn savepoint(&self) -> Savepoint {
        self.scratch.savepoint()
    }

    /// The hash of all that the transaction has changed so far, if anything.
    #[inline]
    pub fn write_hash(&self) -> Option<u64> {
        self.changed_since(&Savepoint::default())
    }

    /// See [`Scratch::changed_since`].
    #[inline]
    pub fn changed_since(&self, savepoint: &Savepoint) -> Option<u64> {
        self.scratch.changed_since(savepoint)
    }

    /// Keeps a row, which the caller holds exclusively and is about to change, for the checkpoint
    /// that is being taken, if that has not got it yet.
    #[inline(always)]
    fn keep_for_checkpoint(&self, table: TableId, record: Record<'_>) {
        if !record.is_captured() {
            keep_row(self.schema, self.scratch.worker, table, record.id());
        }
    }

    /// Whether what an access goes through is held. Who is joined by statements that nobody knew of
    /// holds what nobody has changed so far, too.
    #[inline]
    const fn holds(reads: Reads) -> bool {
        P::ACTIVE && (P::ALWAYS || !matches!(reads, Reads::Unchanged))
    }

    /// Whether the rows are held that an access finds by a secondary index.
    #[inline]
    const fn holds_rows(reads: Reads) -> bool {
        Self::holds(reads) && !matches!(reads, Reads::Entries)
    }

    /// Holds the granule of a key or key prefix of an index.
    #[inline]
    fn hold_granule(
        protection: &mut P,
        path: &AccessPath,
        key: &[u8],
        mode: LockMode,
    ) -> Result<(), Stop> {
        let in_vain = P::LOCKS_KEYS && !P::ANNOUNCES || !P::ALWAYS && !path.has_granules;
        if !P::ACTIVE || in_vain {
            return Ok(());
        }
        let mode = if P::LOCKS_KEYS { mode.announcing() } else { mode };
        protection.hold(path.space.lock_id(path.granule(key)), path.space, mode)
    }

    /// Holds a whole table, or announces granule locks in it where somebody might do so.
    #[inline]
    fn hold_table(&mut self, table: TableId, mode: LockMode) -> Result<(), Stop> {
        let usage = self.schema.granules.table(table);
        let announces = mode < LockMode::Shared;
        let in_vain = !usage.is_written() || announces && !usage.coarse;
        if !P::ACTIVE || !P::ALWAYS && in_vain {
            return Ok(());
        }
        let space = Space::Table(table);
        self.protection.hold(space.lock_id(&[]), space, mode)
    }

    /// Mode for the granule of the index an access goes through.
    #[inline]
    fn path_mode(path: &AccessPath, intent: Intent) -> LockMode {
        if path.is_primary { locks::granule_mode(intent) } else { LockMode::Shared }
    }

    /// Holds the primary granule of a row reached through a secondary index.
    fn hold_row(
        protection: &mut P,
        schema: &Schema,
        buffer: &mut KeyBuffer,
        table: TableId,
        row: &[AtomicU64],
        intent: Intent,
    ) -> Result<(), Stop> {
        let Some(primary) = schema.catalog.table(table).primary else { return Ok(()) };
        let index = schema.catalog.index(primary);
        buffer.clear();
        if index.key.encode_from_row(&index.fields, row, buffer).is_err() {
            return Ok(());
        }
        let (path, key) = (schema.path(primary), buffer.as_slice());
        Self::hold_granule(protection, path, key, locks::granule_mode(intent))?;
        if P::LOCKS_KEYS { Self::hold_row_key(protection, path, key, intent) } else { Ok(()) }
    }

    /// Holds what a look-up of a full key needs, before it.
    #[inline]
    fn hold_key(&mut self, at: &KeyAt<'_>, path: &AccessPath, intent: Intent) -> Result<(), Stop> {
        self.hold_table(at.table, locks::intent_mode(intent))?;
        let mode = Self::path_mode(path, intent);
        Self::hold_granule(&mut self.protection, path, at.key, mode)
    }

    /// The record that the plan's hint names, if it is live and has the key.
    #[inline]
    fn look_up_hint(&self, at: &KeyAt<'_>, path: &'a AccessPath) -> Option<Record<'a>> {
        let hint = *self.hints.get(at.entry? as usize)?;
        if hint == 0 {
            return None;
        }
        let record = path.records.record(RecordId::from_bits(hint - 1));
        path.is_key_of(record.live_row()?, at.key).then_some(record)
    }

    /// The live record under a key.
    #[inline(always)]
    fn look_up(at: &KeyAt<'_>, path: &'a AccessPath) -> Option<Record<'a>> {
        let records = &*path.records;
        match &*path.parts.of_key(at.key).stored {
            StoredIndex::Hash(stored) => stored.get(at.hash, |id| {
                let record = records.record(id);
                path.is_key_of(record.live_row()?, at.key).then_some(record)
            }),
            StoredIndex::BTree(stored) => {
                let record = records.record(visit::live_record(stored.get(at.key)?)?);
                (!record.is_ghost()).then_some(record)
            }
        }
    }
}

/// Takes an id and not the record, so that the way past it need not have a record in memory.
#[cold]
#[inline(never)]
fn keep_row(schema: &Schema, worker: WorkerId, table: TableId, id: RecordId) {
    let record = schema.table(table).records().record(id);
    schema.memory.saved_rows().save(worker, table, record);
}

impl<'a, P: Protection> RecordAccess for InPlace<'a, P> {
    type Record = Record<'a>;
    type Row = [AtomicU64];

    fn definitions(&self) -> Option<&dyn Definitions> {
        Some(self.schema)
    }

    fn is_alone(&self) -> bool {
        !P::ACTIVE
    }

    #[inline]
    fn find(&mut self, at: &KeyAt<'_>, intent: Intent) -> Result<Option<Record<'a>>, Stop> {
        if at.key.is_empty() {
            self.protection.missed();
            return Ok(None); // a planned key with a NULL in it
        }
        let schema = self.schema;
        let path = schema.path(at.index);
        if P::LOCKS_KEYS {
            return self.find_by_key(at, path, intent);
        }
        match at.entry {
            Some(entry) => self.protection.reach(entry)?,
            None if Self::holds(at.reads) => self.hold_key(at, path, intent)?,
            None => {}
        }
        let found = match self.look_up_hint(at, path) {
            Some(record) => Some(record),
            None => Self::look_up(at, path),
        };
        if found.is_none() {
            self.protection.missed();
        }
        if Self::holds_rows(at.reads)
            && !path.is_primary
            && let Some(record) = found
        {
            let (protection, buffer) = (&mut self.protection, &mut self.scratch.key);
            Self::hold_row(protection, schema, buffer, at.table, record.row(), intent)?;
        }
        Ok(found)
    }

    #[inline(always)]
    fn row(&self, _: TableId, record: Record<'a>) -> &[AtomicU64] {
        record.row()
    }

    fn scan(
        &mut self,
        range: &RangeAt<'_>,
        intent: Intent,
        visit: impl FnMut(Record<'a>, &[AtomicU64]) -> ControlFlow<()>,
    ) -> Result<(), Stop> {
        self.scan_range(range, intent, visit)
    }

    fn scan_table(
        &mut self,
        table: TableId,
        intent: Intent,
        visit: impl FnMut(Record<'a>, &[AtomicU64]) -> ControlFlow<()>,
    ) -> Result<(), Stop> {
        self.scan_whole(table, intent, visit)
    }

    fn update(
        &mut self,
        table: TableId,
        record: Record<'a>,
        changes: &[(ColumnId, Datum)],
        heap: &[u8],
    ) -> Result<Inserted, Stop> {
        self.change_row(table, record, changes, heap)
    }

    #[inline(always)]
    fn update_int(
        &mut self,
        table: TableId,
        record: Record<'a>,
        field: Field,
        value: i64,
    ) -> Result<Inserted, Stop> {
        if self.schema.may_be_indexed(table, field.column()) {
            let change = [(field.column(), Datum::int(value))];
            return self.change_row(table, record, &change, &[]);
        }
        self.keep_for_checkpoint(table, record);
        let undo = &mut self.scratch.part.undo;
        change::set_int(undo, table, record.id(), record.row(), field, value);
        Ok(Inserted::Yes)
    }

    fn insert(
        &mut self,
        table: TableId,
        row: &[u64],
        primary: Option<&KeyAt<'_>>,
    ) -> Result<Inserted, Stop> {
        self.insert_row(table, row, primary)
    }

    fn note_place(&mut self, number: u16) -> Result<(), Stop> {
        let place = self.scratch.savepoint();
        let places = &mut self.scratch.part.places;
        places.truncate(usize::from(number));
        places.resize(usize::from(number) + 1, place);
        Ok(())
    }

    fn take_back_to(&mut self, number: u16) -> Result<(), Stop> {
        let place = self.scratch.part.places[usize::from(number)];
        self.take_back(place);
        Ok(())
    }

    fn take_records(&mut self) -> Vec<Record<'a>> {
        std::mem::take(&mut self.scratch.records)
    }

    fn give_back_records(&mut self, mut records: Vec<Record<'a>>) {
        if records.capacity() > RECORDS_KEPT {
            return; // what many rows took is given back
        }
        records.clear();
        // No record is converted. Collected in place, the list keeps its memory.
        let emptied = records.into_iter().map(|_| unreachable!("it was cleared"));
        self.scratch.records = emptied.collect();
    }

    fn remove(&mut self, table: TableId, record: Record<'a>) -> Result<(), Stop> {
        self.remove_row(table, record)
    }
}
