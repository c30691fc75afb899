//! Who waits for whom: what an engine that locks remembers of waiting, and what it is called.
//!
//! Role         engines fill a [`WaitBook`] per owner of locks, where they wait anyway; whoever
//!              asks adds the books up and has identities of locks turned back into keys
//! Invariants   I1 a book is bounded: when it is full, what was waited for least makes room
//!              (space-saving, Metwally et al. 2005, by time), so what is hot stays
//!
//! Locks are remembered by identity alone. Which key an identity belongs to is found out when
//! somebody asks, by walking over the rows: that costs seconds in a large database, and nothing
//! where transactions run.

use std::collections::HashMap;

use hotrow_base::ids::{IndexId, ProcedureId, TableId};
use hotrow_base::key::KeyBuffer;
use hotrow_base::value::Value;
use hotrow_transaction::granule::Space;

use crate::schema::Schema;

/// Who waits or is waited for.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Debug)]
pub enum Party {
    /// not known
    #[default]
    Unknown,
    /// a call of a procedure
    Procedure(ProcedureId),
    /// a transaction that a client types
    Session,
}

impl Party {
    /// As a number, for an atomic word.
    pub const fn to_word(self) -> u32 {
        match self {
            Self::Unknown => 0,
            Self::Session => 1,
            Self::Procedure(id) => id.0 + 2,
        }
    }

    /// The reverse of [`Party::to_word`].
    pub const fn from_word(word: u32) -> Self {
        match word {
            0 => Self::Unknown,
            1 => Self::Session,
            _ => Self::Procedure(ProcedureId(word - 2)),
        }
    }
}

/// What was waited for, and by whom.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Awaited {
    /// identity of the lock
    pub lock: u64,
    /// who waited
    pub waiter: Party,
    /// who was in the way; of several the first
    pub holder: Party,
}

/// How often and how long.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Waited {
    /// times
    pub count: u64,
    /// nanoseconds in all
    pub total_ns: u64,
    /// nanoseconds of the longest
    pub longest_ns: u64,
}

impl Waited {
    /// Adds others.
    pub fn add(&mut self, other: Self) {
        self.count += other.count;
        self.total_ns += other.total_ns;
        self.longest_ns = self.longest_ns.max(other.longest_ns);
    }
}

/// Lines of a book.
const LINES: usize = 64;

/// What one owner of locks has waited for.
#[derive(Clone, Default, Debug)]
pub struct WaitBook {
    lines: Vec<(Awaited, Waited)>,
}

impl WaitBook {
    /// A book with memory for all it may ever hold.
    pub fn new() -> Self {
        Self { lines: Vec::with_capacity(LINES) }
    }

    /// Notes a wait of so many nanoseconds.
    pub fn note(&mut self, awaited: Awaited, nanos: u64) {
        let once = Waited { count: 1, total_ns: nanos, longest_ns: nanos };
        if let Some((_, waited)) = self.lines.iter_mut().find(|(line, _)| *line == awaited) {
            return waited.add(once);
        }
        if self.lines.len() < LINES {
            return self.lines.push((awaited, once));
        }
        let least = self.lines.iter_mut().min_by_key(|(_, waited)| waited.total_ns);
        *least.expect("a full book has lines") = (awaited, once); // I1
    }

    /// What is in it.
    pub fn lines(&self) -> &[(Awaited, Waited)] {
        &self.lines
    }
}

/// Adds books up, the longest waits first.
pub fn sum(books: impl IntoIterator<Item = WaitBook>) -> Vec<(Awaited, Waited)> {
    let mut sums: HashMap<Awaited, Waited> = HashMap::new();
    for book in books {
        for (awaited, waited) in book.lines {
            sums.entry(awaited).or_default().add(waited);
        }
    }
    let mut sums: Vec<_> = sums.into_iter().collect();
    sums.sort_by_key(|(awaited, waited)| (std::cmp::Reverse(waited.total_ns), awaited.lock));
    sums
}

/// What a lock protects.
#[derive(Clone, PartialEq, Debug)]
pub enum Locked {
    /// a table as a whole
    Table(TableId),
    /// the rows with these first key columns in an index
    Granule(IndexId, Vec<Value>),
    /// one key of an index, or the gap behind it
    Key(IndexId, Vec<Value>),
}

/// Finds out what locks protect, by walking over all rows. Locks on keys that no row has are not
/// found, and rows that change meanwhile may be missed.
pub fn find_locked(schema: &Schema, locks: impl IntoIterator<Item = u64>) -> HashMap<u64, Locked> {
    let mut wanted: HashMap<u64, Option<Locked>> =
        locks.into_iter().map(|lock| (lock, None)).collect();
    for table in schema.catalog.tables().iter() {
        let lock = Space::Table(table.id).lock_id(&[]);
        if let Some(found) = wanted.get_mut(&lock) {
            *found = Some(Locked::Table(table.id));
        }
    }
    let mut key = KeyBuffer::new();
    for table in schema.catalog.tables().iter() {
        if wanted.values().all(Option::is_some) {
            break;
        }
        schema.table(table.id).records().for_each_record(|id, record| {
            for index in table.indexes().map(|index| schema.catalog.index(index)) {
                key.clear();
                if schema.encode_entry(index, id, record.row(), &mut key).is_err() {
                    continue;
                }
                let entry = key.as_slice();
                let path = schema.path(index.id);
                let granule = path.granule(entry);
                let granule = Space::Index(index.id).lock_id(granule);
                let values = |parts| {
                    let mut values = index.key.decode(entry).unwrap_or_default();
                    values.truncate(parts);
                    values
                };
                if let Some(found @ None) = wanted.get_mut(&granule) {
                    let parts = schema.granules.parts(index.id);
                    *found = Some(Locked::Granule(index.id, values(parts)));
                }
                let one = path.parts.of_key(entry).keys.lock(entry).lock;
                if let Some(found @ None) = wanted.get_mut(&one) {
                    *found = Some(Locked::Key(index.id, values(index.columns.len())));
                }
            }
        });
    }
    wanted.into_iter().filter_map(|(lock, found)| Some((lock, found?))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn awaited(lock: u64) -> Awaited {
        Awaited { lock, waiter: Party::Session, holder: Party::Procedure(ProcedureId(3)) }
    }

    #[test]
    fn a_full_book_keeps_what_is_waited_for_longest() {
        let mut book = WaitBook::new();
        book.note(awaited(7), 1_000);
        book.note(awaited(7), 3_000);
        for lock in 100..1_000 {
            book.note(awaited(lock), 10);
        }
        assert_eq!(book.lines().len(), LINES);
        let sums = sum([book.clone(), book]);
        let hottest = Waited { count: 4, total_ns: 8_000, longest_ns: 3_000 };
        assert_eq!(sums[0], (awaited(7), hottest));
    }

    #[test]
    fn a_party_is_read_back_from_its_word() {
        for party in [Party::Unknown, Party::Session, Party::Procedure(ProcedureId(0))] {
            assert_eq!(Party::from_word(party.to_word()), party);
        }
    }
}
