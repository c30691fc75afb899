//! The undo log of one transaction in flight: what to do to memory to make it not have happened.
//!
//! Role         an engine that updates in place writes an entry before each change, and on a
//!              rollback applies the entries newest first. Never written to disk (the log crate
//!              has its own entries), and read by its own thread only
//! States       empty -> entries -> rolled back to a savepoint, or cleared at commit -> empty ...
//! Invariants   I1 undoing needs no memory, so a rollback cannot fail. That is why no entry stands
//!              for a physical removal from an index: whoever deletes makes a ghost, and removes
//!              it after commit
//! Concurrency  none: one owner
//!
//! Entries, row words and key bytes lie in three buffers that are kept from transaction to
//! transaction, so after warm-up nothing is allocated. Beyond what is kept they are charged to
//! whoever changes so much ([`payer`]), and given back when they are empty.

mod payer;

use hotrow_base::sync::facade::atomic::Ordering::Relaxed;
use std::ops::Range;
use std::sync::Arc;

use hotrow_base::ids::TableId;
use hotrow_base::interrupt::Interrupt;

use payer::Payer;

use crate::record::{Record, RecordId, RowWords};
use crate::slab::PriorRow;
use crate::write_hash::{self, RowChange};

/// Entries kept room for after a clear. One huge transaction shall not hold its memory for ever.
const ENTRIES_KEPT: usize = 1 << 14;
/// Row words kept room for after a clear: 1 MiB.
const WORDS_KEPT: usize = 1 << 17;
/// Key bytes kept room for after a clear: 1 MiB.
const KEY_BYTES_KEPT: usize = 1 << 20;

/// One change, and what is needed to take it back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Undo<'a> {
    /// A word of a row was overwritten.
    Word {
        /// The word's index in the row.
        index: usize,
        /// What it was.
        old: u64,
    },
    /// A row was overwritten within its slot, its length perhaps included.
    Row {
        /// What it was.
        old: &'a [u64],
    },
    /// A row was moved to a new place by the store's `grow`.
    Grown {
        /// Where it was; also what to settle at commit.
        prior: PriorRow,
    },
    /// The record was allocated. At commit there is nothing to do.
    Inserted,
    /// The record was made a ghost. At commit it is due for removal.
    Deleted,
    /// The record, a ghost before, was made a live one by an insert of the same key.
    Revived,
    /// An entry of the record in an index was changed.
    Index {
        /// The number of the index in its table.
        index: usize,
        /// What was done.
        change: IndexChange,
        /// Under which key.
        key: IndexKey<'a>,
    },
}

/// What was done to an index entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IndexChange {
    /// It was added.
    Added,
    /// It was made a ghost (B+-tree only).
    Ghosted,
    /// It was a ghost and was made a live entry (B+-tree only).
    Revived,
    /// It was the live entry of this record, a ghost, and another record took it over (B+-tree
    /// only).
    TakenFromRemoved,
    /// It was a ghost entry of this record, and another record took it over (B+-tree only).
    TakenFromMoved,
}

/// A key as the index takes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IndexKey<'a> {
    /// The hash, for a hash index.
    Hash(u64),
    /// The memcomparable bytes, for a B+-tree.
    Bytes(&'a [u8]),
}

/// A change with the record it was made to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UndoEntry<'a> {
    /// The record's table.
    pub table: TableId,
    /// The record.
    pub record: RecordId,
    /// The change.
    pub undo: Undo<'a>,
}

/// A place in the log to roll back to; the default is its beginning.
#[derive(Clone, Copy, Default, Debug, PartialEq, Eq)]
pub struct Savepoint {
    entries: usize,
    words: usize,
    key_bytes: usize,
    write_hash: u64,
}

/// One transaction's entries, with the words and keys that they put back.
#[derive(Debug, Default)]
pub struct UndoLog {
    entries: Vec<Stored>,
    words: Vec<u64>,
    key_bytes: Vec<u8>,
    write_hash: u64,
    payer: Payer,
}

#[derive(Clone, Copy, Debug)]
struct Stored {
    record: RecordId,
    table: TableId,
    change: Change,
}

/// [`Undo`] with places in the buffers instead of slices.
#[derive(Clone, Copy, Debug)]
enum Change {
    Word { index: u32, old: u64 },
    Row(Place),
    Grown(PriorRow),
    Inserted,
    Deleted,
    Revived,
    HashEntry { index: u16, hash: u64 },
    TreeEntry { index: u16, change: IndexChange, key: Place },
}

const _: () = assert!(size_of::<Stored>() <= 32, "two entries to a cache line");

/// A range of a buffer.
#[derive(Clone, Copy, Debug)]
struct Place {
    start: u32,
    length: u32,
}

impl Place {
    fn range(self) -> Range<usize> {
        let start = self.start as usize;
        start..start + self.length as usize
    }
}

impl UndoLog {
    /// An empty log.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Has a session pay for the changes from now on; none: whoever looks at its interrupt on the
    /// thread that changes, until the log is cleared.
    pub fn charge_to(&mut self, interrupt: Option<&Arc<Interrupt>>) {
        self.payer.set(interrupt);
    }

    /// What a statement that has ended has changed is its session's from now on.
    #[inline]
    pub fn end_statement(&mut self) {
        if self.payer.has_charged() {
            self.payer.end_statement();
        }
    }

    /// Where the log ends now.
    #[must_use]
    pub fn savepoint(&self) -> Savepoint {
        Savepoint {
            entries: self.entries.len(),
            words: self.words.len(),
            key_bytes: self.key_bytes.len(),
            write_hash: self.write_hash,
        }
    }

    /// Overwrites word `index` of a record's row with what `change` makes of it, and notes what it
    /// was. The caller holds the record exclusively.
    ///
    /// # Panics
    ///
    /// If the row is not longer than `index`.
    #[inline(always)]
    pub fn change_word(
        &mut self,
        table: TableId,
        id: RecordId,
        (row, index): (RowWords<'_>, usize),
        change: impl FnOnce(u64) -> u64,
    ) {
        let word = &row[index];
        let old = word.load(Relaxed);
        self.push(table, id, Change::Word { index: index as u32, old });
        let new = change(old);
        self.add_to_hash(write_hash::word(table, index, old, new));
        word.store(new, Relaxed);
    }

    /// Notes the whole row before it is overwritten; whether a row was removed and another one
    /// inserted, or one rebuilt, is for the caller to note.
    pub fn log_row(&mut self, table: TableId, record: Record<'_>) {
        let (start, row) = (self.words.len(), record.row());
        if self.words.capacity() - start < row.len() {
            self.payer.grow(&mut self.words, row.len(), WORDS_KEPT);
        }
        self.words.extend(row.iter().map(|word| word.load(Relaxed)));
        let place = place(start, self.words.len());
        self.push(table, record.id(), Change::Row(place));
    }

    /// Notes that the store's `grow` moved the row from `prior`. The only entry written after its
    /// change, which by itself leaves the old row as it was.
    pub fn log_grown(&mut self, table: TableId, id: RecordId, prior: PriorRow) {
        self.push(table, id, Change::Grown(prior));
    }

    /// Notes that the record was allocated, before an index links it.
    pub fn log_inserted(&mut self, table: TableId, id: RecordId, row: &[u64]) {
        self.push(table, id, Change::Inserted);
        let words = row.iter().copied();
        self.add_to_hash(write_hash::row(table, RowChange::Inserted, words));
    }

    /// Notes that the record will be made a ghost.
    pub fn log_deleted(&mut self, table: TableId, record: Record<'_>) {
        self.push(table, record.id(), Change::Deleted);
        let words = record.row().iter().map(|word| word.load(Relaxed));
        self.add_to_hash(write_hash::row(table, RowChange::Removed, words));
    }

    /// Notes that the record, a ghost, will be made a live one with this row.
    pub fn log_revived(&mut self, table: TableId, id: RecordId, row: &[u64]) {
        self.push(table, id, Change::Revived);
        let words = row.iter().copied();
        self.add_to_hash(write_hash::row(table, RowChange::Inserted, words));
    }

    /// Notes for the hash of all writes that a row was laid out anew; that it is overwritten or
    /// moved is noted by itself.
    pub fn note_rebuilt(&mut self, table: TableId, old: RowWords<'_>, new: &[u64]) {
        let old = old.iter().map(|word| word.load(Relaxed));
        self.add_to_hash(write_hash::row(table, RowChange::RebuiltFrom, old));
        let new = new.iter().copied();
        self.add_to_hash(write_hash::row(table, RowChange::RebuiltTo, new));
    }

    /// The hash of everything noted; see [`write_hash`]. 0 when nothing was changed.
    #[must_use]
    pub fn write_hash(&self) -> u64 {
        self.write_hash
    }

    /// The hash of what was noted since; `None` when nothing was.
    #[inline]
    pub fn changed_since(&self, savepoint: &Savepoint) -> Option<u64> {
        let has_changed = self.entries.len() > savepoint.entries;
        has_changed.then(|| self.write_hash.wrapping_sub(savepoint.write_hash))
    }

    #[inline(always)]
    fn add_to_hash(&mut self, hash: u64) {
        self.write_hash = self.write_hash.wrapping_add(hash);
    }

    /// Notes a change of the record's entry under `key` in index number `index` of its table.
    ///
    /// # Panics
    ///
    /// If the key is a hash and the change is not [`IndexChange::Added`]: a hash index has no
    /// ghost entries, its records tell.
    pub fn log_index(
        &mut self,
        table: TableId,
        id: RecordId,
        index: u16,
        change: IndexChange,
        key: IndexKey<'_>,
    ) {
        let change = match key {
            IndexKey::Hash(hash) => {
                assert_eq!(change, IndexChange::Added, "a hash index has no ghost entries");
                Change::HashEntry { index, hash }
            }
            IndexKey::Bytes(bytes) => {
                let start = self.key_bytes.len();
                if self.key_bytes.capacity() - start < bytes.len() {
                    self.payer.grow(&mut self.key_bytes, bytes.len(), KEY_BYTES_KEPT);
                }
                self.key_bytes.extend_from_slice(bytes);
                Change::TreeEntry { index, change, key: place(start, self.key_bytes.len()) }
            }
        };
        self.push(table, id, change);
    }

    /// Gives the entries since `savepoint` to `apply`, newest first, and forgets them.
    pub fn rollback_to(&mut self, savepoint: Savepoint, mut apply: impl FnMut(UndoEntry<'_>)) {
        for stored in self.entries[savepoint.entries..].iter().rev() {
            apply(self.resolve(stored));
        }
        self.entries.truncate(savepoint.entries);
        self.words.truncate(savepoint.words);
        self.key_bytes.truncate(savepoint.key_bytes);
        self.write_hash = savepoint.write_hash;
        self.shrink();
    }

    /// Gives all entries to `apply`, newest first, and forgets them.
    pub fn rollback(&mut self, apply: impl FnMut(UndoEntry<'_>)) {
        self.rollback_to(Savepoint::default(), apply);
    }

    /// The entries, oldest first: at commit they tell what to settle and what to remove.
    pub fn iter(&self) -> impl Iterator<Item = UndoEntry<'_>> {
        self.entries.iter().map(|stored| self.resolve(stored))
    }

    /// Entry number `at`, counted from the oldest.
    ///
    /// # Panics
    ///
    /// If there are not so many.
    #[must_use]
    pub fn entry(&self, at: usize) -> UndoEntry<'_> {
        self.resolve(&self.entries[at])
    }

    /// Whether nothing was changed.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Number of entries.
    #[must_use]
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Forgets all entries, and keeps the buffers up to a bound.
    pub fn clear(&mut self) {
        self.entries.clear();
        self.words.clear();
        self.key_bytes.clear();
        self.write_hash = 0;
        self.shrink();
    }

    /// Gives room back that nothing stands in, where it is more than is kept.
    #[inline]
    fn shrink(&mut self) {
        if self.payer.has_charged() {
            let Self { entries, words, key_bytes, payer, .. } = self;
            payer.shrink(entries, ENTRIES_KEPT);
            payer.shrink(words, WORDS_KEPT);
            payer.shrink(key_bytes, KEY_BYTES_KEPT);
        }
        if self.entries.is_empty() {
            self.payer.begin();
        }
    }

    #[inline(always)]
    fn push(&mut self, table: TableId, record: RecordId, change: Change) {
        self.entries.push(Stored { record, table, change });
        // Behind it and not before: the entry need not be kept while there is made room.
        if self.entries.len() == self.entries.capacity() {
            self.make_room();
        }
    }

    #[cold]
    #[inline(never)]
    fn make_room(&mut self) {
        self.payer.grow(&mut self.entries, 1, ENTRIES_KEPT);
    }

    fn resolve(&self, stored: &Stored) -> UndoEntry<'_> {
        let undo = match stored.change {
            Change::Word { index, old } => Undo::Word { index: index as usize, old },
            Change::Row(place) => Undo::Row { old: &self.words[place.range()] },
            Change::Grown(prior) => Undo::Grown { prior },
            Change::Inserted => Undo::Inserted,
            Change::Deleted => Undo::Deleted,
            Change::Revived => Undo::Revived,
            Change::HashEntry { index, hash } => Undo::Index {
                index: index.into(),
                change: IndexChange::Added,
                key: IndexKey::Hash(hash),
            },
            Change::TreeEntry { index, change, key } => Undo::Index {
                index: index.into(),
                change,
                key: IndexKey::Bytes(&self.key_bytes[key.range()]),
            },
        };
        UndoEntry { table: stored.table, record: stored.record, undo }
    }
}

fn place(start: usize, end: usize) -> Place {
    let narrow = |n| u32::try_from(n).expect("a transaction's step budget ends before 4 GiB");
    Place { start: narrow(start), length: narrow(end - start) }
}

#[cfg(test)]
mod tests;
