//! The keys of an index over a snapshot's rows, sorted.
//!
//! Role         stands for hash indexes and B+-trees alike: both are asked with the bytes of keys

use std::ops::Bound;

use hotrow_base::ids::IndexId;
use hotrow_base::key::KeyBuffer;
use hotrow_storage::record::RecordId;
use hotrow_transaction::access::RangeAt;
use hotrow_transaction::outcome::Stop;

use super::SnapshotRecord;
use crate::schema::Schema;

/// Encoded keys in order, and the row of each.
pub(super) struct Keys {
    bytes: Vec<u8>,
    /// in the order of keys, and of rows where those are equal
    entries: Vec<Entry>,
}

#[derive(Clone, Copy)]
struct Entry {
    start: usize,
    length: u32,
    record: SnapshotRecord,
}

impl Keys {
    /// The keys of these rows. Fails where one is too long, which no row of a table has.
    pub(super) fn of<'r>(
        schema: &Schema,
        index: IndexId,
        rows: impl Iterator<Item = (SnapshotRecord, &'r [u64])>,
    ) -> Result<Self, Stop> {
        let index = schema.catalog.index(index);
        let (mut bytes, mut entries, mut key) = (Vec::new(), Vec::new(), KeyBuffer::new());
        for (record, row) in rows {
            key.clear();
            // What tells rows with a NULL apart may be any number here.
            let number = RecordId::from_bits(entries.len() as u64);
            schema.encode_entry(index, number, row, &mut key).map_err(|_| Stop::OutOfMemory)?;
            let (start, key) = (bytes.len(), key.as_slice());
            bytes.extend_from_slice(key);
            entries.push(Entry { start, length: key.len() as u32, record });
        }
        let key_of = |entry: &Entry| &bytes[entry.start..][..entry.length as usize];
        entries.sort_unstable_by(|a, b| {
            key_of(a).cmp(key_of(b)).then_with(|| a.record.cmp(&b.record))
        });
        Ok(Self { bytes, entries })
    }

    /// The row with a key of a unique index.
    pub(super) fn find(&self, key: &[u8]) -> Option<SnapshotRecord> {
        let at = self.entries.partition_point(|entry| self.key(entry) < key);
        let entry = self.entries.get(at)?;
        (self.key(entry) == key).then_some(entry.record)
    }

    /// The rows of a range, in its order.
    pub(super) fn range(&self, range: &RangeAt<'_>) -> impl Iterator<Item = SnapshotRecord> {
        let before = |is_before: &dyn Fn(&[u8]) -> bool| {
            self.entries.partition_point(|entry| is_before(self.key(entry)))
        };
        let from = match range.lower {
            Bound::Included(lower) => before(&|key| key < lower),
            Bound::Excluded(lower) => before(&|key| key <= lower),
            Bound::Unbounded => 0,
        };
        let to = match range.upper {
            Bound::Included(upper) => before(&|key| key <= upper),
            Bound::Excluded(upper) => before(&|key| key < upper),
            Bound::Unbounded => self.entries.len(),
        };
        let found = &self.entries[from.min(to)..to];
        let (ascending, descending) = match range.descending {
            false => (found, &[][..]),
            true => (&[][..], found),
        };
        ascending.iter().chain(descending.iter().rev()).map(|entry| entry.record)
    }

    fn key(&self, entry: &Entry) -> &[u8] {
        &self.bytes[entry.start..][..entry.length as usize]
    }
}
