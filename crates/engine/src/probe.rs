//! Looks into indexes that note what they saw, for engines that validate instead of locking.
//!
//! Role         what a transaction did not find, it must not have missed: each look tells the node
//!              or bucket it was in, with its version, and [`Seen::holds`] tells later whether
//!              anything was added there. What a transaction changes itself it hears by
//!              [`Protection::changed`](crate::protection::Protection::changed)
//! Invariants   I1 a look meets all entries, those of ghosts and of transactions under way too: the
//!              caller looks at the record of each
//! Source       Tu et al., "Speedy Transactions in Multicore In-Memory Databases" (Silo), 4.6. We
//!              differ: buckets of hash indexes are seen as nodes are

use std::ops::ControlFlow;

use hotrow_base::key;
use hotrow_storage::btree::{KeyRange, ScanBuffers, VACANT};
use hotrow_storage::record::RecordId;
use hotrow_storage::table::Index as StoredIndex;
use hotrow_transaction::access::{KeyAt, RangeAt};

use crate::in_place::direction;
use crate::schema::Schema;
use crate::stamp::{PartOf, Stamp};

/// What a look saw.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Seen {
    /// where
    pub part: PartOf,
    /// of what, at which version
    pub stamp: Stamp,
}

impl Seen {
    /// Whether nothing has changed there.
    pub fn holds(&self, schema: &Schema) -> bool {
        let parts = &schema.path(self.part.index).parts;
        let part = parts.numbered(self.part.number.into()).expect("it was seen in this schema");
        match (&*part.stored, self.stamp) {
            (StoredIndex::BTree(tree), Stamp::Node(stamp)) => tree.validate(stamp),
            (StoredIndex::Hash(index), Stamp::Bucket(stamp)) => index.holds(stamp),
            _ => unreachable!("an index is of one kind as long as the schema is the same"),
        }
    }
}

/// Looks for a key: what `check` makes of the first record that it accepts, or where none was.
pub fn find<T>(
    schema: &Schema,
    at: &KeyAt<'_>,
    mut check: impl FnMut(RecordId) -> Option<T>,
) -> Result<T, Seen> {
    let path = schema.path(at.index);
    let part = path.parts.of_key(at.key);
    let (found, stamp) = match &*part.stored {
        StoredIndex::Hash(index) => {
            let stamp = index.stamp(at.hash);
            let found = index.get(at.hash, |id| {
                // A primary key never changes, so a record that has another one is passed by.
                let may_be =
                    !path.is_primary || path.is_key_of(path.records.record(id).row(), at.key);
                if may_be { check(id) } else { None }
            });
            (found, Stamp::Bucket(stamp))
        }
        StoredIndex::BTree(tree) => {
            let seen = tree.lookup(at.key);
            let value = seen.value.filter(|&value| value != VACANT);
            (value.and_then(|value| check(RecordId::from_bits(value))), Stamp::Node(seen.stamp))
        }
    };
    found.ok_or(Seen { part: part.name(), stamp })
}

/// Buffers of scans.
#[derive(Default, Debug)]
pub struct ProbeBuffers {
    scan: ScanBuffers,
    found: Vec<RecordId>,
    /// entries of a range that lies in several parts: where their keys begin and end, records
    entries: Vec<(usize, usize, RecordId)>,
    keys: Vec<u8>,
}

/// Visits the entries of a range, in its order, until `visit` breaks; adds what was seen to `seen`.
/// An entry of a hash index comes without its key.
pub fn scan(
    schema: &Schema,
    range: &RangeAt<'_>,
    buffers: &mut ProbeBuffers,
    seen: &mut Vec<Seen>,
    mut visit: impl FnMut(Option<&[u8]>, RecordId) -> ControlFlow<()>,
) {
    let path = schema.path(range.index);
    let parts = path.parts.of_prefix(range.prefix, range.prefix_parts);
    let ProbeBuffers { scan, found, entries, keys } = buffers;
    if let [part] = parts
        && let StoredIndex::Hash(index) = &*part.stored
    {
        let hash = key::hash(range.prefix);
        let stamp = Stamp::Bucket(index.stamp(hash));
        seen.push(Seen { part: part.name(), stamp });
        index.get_all(hash, found);
        found.sort_unstable_by_key(|id| id.bits());
        found.dedup();
        let _ = found.iter().try_for_each(|&id| visit(None, id));
        return;
    }
    let bounds = KeyRange { lower: range.lower, upper: range.upper };
    entries.clear();
    keys.clear();
    for part in parts {
        let tree = part.stored.as_btree().expect("only trees have ranges");
        let _ = tree.scan(scan, bounds, direction(range), |entry| {
            if entry.value == VACANT {
                return ControlFlow::Continue(());
            }
            let id = RecordId::from_bits(entry.value);
            if parts.len() == 1 {
                return visit(Some(entry.key), id);
            }
            let start = keys.len();
            keys.extend_from_slice(entry.key);
            entries.push((start, keys.len(), id));
            ControlFlow::Continue(())
        });
        let stamps = scan.stamps().iter();
        seen.extend(stamps.map(|&stamp| Seen { part: part.name(), stamp: Stamp::Node(stamp) }));
    }
    if parts.len() > 1 {
        entries.sort_unstable_by(|a, b| keys[a.0..a.1].cmp(&keys[b.0..b.1]));
        let mut step =
            |&(start, end, id): &(usize, usize, RecordId)| visit(Some(&keys[start..end]), id);
        let _ = match range.descending {
            false => entries.iter().try_for_each(&mut step),
            true => entries.iter().rev().try_for_each(&mut step),
        };
    }
}
