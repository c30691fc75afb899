//! Encoding: from the undo log of a transaction that is about to commit.

use hotrow_base::ids::TableId;
use hotrow_base::key::KeyBuffer;
use hotrow_base::row::{Word, Words};
use hotrow_base::varint::{put, put_bytes};
use hotrow_storage::record::{Record, RecordId};
use hotrow_storage::undo::{Undo, UndoLog};

use super::decode::Operation;
use crate::schema::Schema;

/// Places kept room for after an entry. One huge transaction shall not hold its memory for ever.
const PLACES_KEPT: usize = 1 << 14;

/// The buffers of one worker.
#[derive(Default, Debug)]
pub struct ValueEncoder {
    /// undo entries by record, oldest first
    places: Vec<Place>,
    words: Vec<ChangedWord>,
    row: Vec<u64>,
    key: KeyBuffer,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Place {
    table: TableId,
    record: RecordId,
    /// the undo entry's number
    at: u32,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct ChangedWord {
    index: u32,
    at: u32,
    old: u64,
}

impl ValueEncoder {
    /// Appends the entry of the transaction whose undo log is given. Its rows are still held and
    /// its removed rows are still ghosts.
    pub(crate) fn encode(&mut self, out: &mut Vec<u8>, schema: &Schema, undo: &UndoLog) {
        let mut places = std::mem::take(&mut self.places);
        let rows =
            undo.iter().zip(0..).filter(|(entry, _)| !matches!(entry.undo, Undo::Index { .. }));
        places.extend(rows.map(|(entry, at)| {
            let (table, record) = (entry.table, entry.record);
            Place { table, record, at }
        }));
        places.sort_unstable();
        let same =
            |one: &Place, other: &Place| (one.table, one.record) == (other.table, other.record);
        for changes in places.chunk_by(same) {
            self.encode_record(out, schema, undo, changes);
        }
        places.clear();
        places.shrink_to(PLACES_KEPT);
        self.places = places;
    }

    fn encode_record(
        &mut self,
        out: &mut Vec<u8>,
        schema: &Schema,
        undo: &UndoLog,
        changes: &[Place],
    ) {
        let Place { table, record, at } = changes[0];
        let record = schema.table(table).records().record(record);
        let was_there = !matches!(undo.entry(at as usize).undo, Undo::Inserted);
        match (was_there, !record.is_ghost()) {
            (false, false) => {}
            (false, true) => {
                put_head(out, table, Operation::Insert);
                put_row(out, record.row());
            }
            (true, false) => {
                put_head(out, table, Operation::Delete);
                self.put_identity(out, schema, undo, (record, changes));
            }
            (true, true) if self.gather_words(undo, changes) => {
                self.words.retain(|word| record.row().word(word.index as usize) != word.old);
                if self.words.is_empty() {
                    return; // I1
                }
                put_head(out, table, Operation::Words);
                self.put_identity(out, schema, undo, (record, changes));
                put(out, self.words.len() as u64);
                for word in &self.words {
                    put(out, word.index.into());
                    put_word(out, record.row().word(word.index as usize));
                }
            }
            (true, true) => {
                put_head(out, table, Operation::Row);
                self.put_identity(out, schema, undo, (record, changes));
                put_row(out, record.row());
            }
        }
    }

    /// Puts the words that were changed into `words`, each once, with what it was first; false
    /// when the row was changed as a whole.
    fn gather_words(&mut self, undo: &UndoLog, changes: &[Place]) -> bool {
        self.words.clear();
        for &Place { at, .. } in changes {
            let Undo::Word { index, old } = undo.entry(at as usize).undo else { return false };
            self.words.push(ChangedWord { index: index as u32, at, old });
        }
        self.words.sort_unstable();
        self.words.dedup_by_key(|word| word.index);
        true
    }

    fn put_identity(
        &mut self,
        out: &mut Vec<u8>,
        schema: &Schema,
        undo: &UndoLog,
        (record, changes): (Record<'_>, &[Place]),
    ) {
        let table = changes[0].table;
        let Some(primary) = schema.catalog.table(table).primary else {
            self.restore_row(schema, undo, (record, changes));
            put_row(out, &self.row[..]);
            return;
        };
        // Columns of the primary key are never changed, and who revives a row gives it its key.
        let index = schema.catalog.index(primary);
        self.key.clear();
        let encoded = index.key.encode_from_row(&index.fields, record.row(), &mut self.key);
        encoded.expect("the row is in this index under this key");
        put_bytes(out, self.key.as_slice());
    }

    /// Puts the row as it was before the transaction into `row`.
    fn restore_row(
        &mut self,
        schema: &Schema,
        undo: &UndoLog,
        (record, changes): (Record<'_>, &[Place]),
    ) {
        let copy = |row: &mut Vec<u64>, words: &[_]| {
            row.clear();
            row.extend(words.iter().map(Word::load));
        };
        copy(&mut self.row, record.row());
        for change in changes.iter().rev() {
            match undo.entry(change.at as usize).undo {
                Undo::Word { index, old } => self.row[index] = old,
                Undo::Row { old } => {
                    self.row.clear();
                    self.row.extend_from_slice(old);
                }
                Undo::Grown { prior } => {
                    let records = schema.table(change.table).records();
                    copy(&mut self.row, records.prior_row(change.record, prior));
                }
                _ => {}
            }
        }
    }
}

fn put_head(out: &mut Vec<u8>, table: TableId, operation: Operation) {
    put(out, u64::from(table.0) << 2 | operation as u64);
}

fn put_row<W: Words + ?Sized>(out: &mut Vec<u8>, row: &W) {
    put(out, row.len() as u64);
    row.words().iter().for_each(|word| put_word(out, word.load()));
}

#[inline]
fn put_word(out: &mut Vec<u8>, word: u64) {
    let at = out.len();
    out.push(0);
    let mut mask = 0;
    for (bit, byte) in word.to_le_bytes().into_iter().enumerate() {
        if byte != 0 {
            mask |= 1 << bit;
            out.push(byte);
        }
    }
    out[at] = mask;
}
