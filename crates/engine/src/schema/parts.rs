//! Indexes as they are stored: whole, or split into a part for each partition of their table.
//!
//! Role         a split index is smaller where one partition is used, so that a thread that works
//!              on few partitions finds more of it in its cache. Parts are chosen by the routing
//!              fields of the table, which stand in front of the keys; an index whose keys begin
//!              with something else stays whole, as do those of tables that no procedure writes
//! Invariants   I1 an entry lies in the part that its key's routing fields name
//!              I2 parts change only with a definition, never under a transaction: the fields they
//!              are chosen by are those inferred from the procedures that there are then
//! Source       orthrus.txt 4.3 (SPLIT ORTHRUS, Split deadlock-free): there the experimenter
//!              splits, here the routing rules do

use std::sync::Arc;

use hotrow_base::key::KeyLayout;
use hotrow_storage::table::Index as StoredIndex;
use hotrow_transaction::catalog::{Index, Table};
use hotrow_transaction::routing::{Hashing, Routing};

use crate::protection::KeySpace;
use crate::stamp::PartOf;

/// The most parts an index can be split into.
pub const SPLIT_MAX: u16 = 256;

/// A stored index: the whole of one, or one part of a split one.
#[derive(Clone)]
pub(crate) struct Part {
    pub(crate) stored: Arc<StoredIndex>,
    /// the locks on its keys; its own, as the gap before the first key of each part has no key to
    /// tell it from those of the others
    pub(crate) keys: KeySpace,
    /// its number in its table
    pub(crate) number: u16,
}

impl Part {
    /// Its name.
    #[inline]
    pub(crate) fn name(&self) -> PartOf {
        PartOf { index: self.keys.index(), number: self.number }
    }
}

/// The parts of an index.
#[derive(Clone)]
pub(crate) struct Parts {
    /// the first, or the only one
    first: Part,
    split: Option<Box<Split>>,
}

#[derive(Clone)]
struct Split {
    /// all of them, by partition
    parts: Box<[Part]>,
    key: KeyLayout,
    by: SplitBy,
}

/// What chooses among the parts of an index.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct SplitBy {
    /// so many leading columns of its keys
    fields: u8,
    hashing: Hashing,
    parts: u16,
    /// whoever changes an entry holds a granule that tells its part
    told: bool,
}

impl SplitBy {
    /// How an index of a table is to be split into so many parts, more than one, if it can be.
    pub(crate) fn of(table: &Table, index: &Index, routing: &Routing, parts: u16) -> Option<Self> {
        let (fields, hashing) = routing.leading_fields(index.id)?;
        let numbers = usize::from(parts) * table.indexes().count();
        let fits = numbers <= u16::MAX.into();
        let told = routing.granules_tell(index.table);
        fits.then_some(Self { fields: fields as u8, hashing, parts, told })
    }

    /// Whether each part of an index that is split so lies in one of this many partitions, by the
    /// granules of its table's rows.
    pub(crate) fn are_of_partitions(by: Option<Self>, partitions: u16) -> bool {
        partitions == 1 || by.is_some_and(|by| by.told && by.parts == partitions)
    }

    /// How many parts there are.
    pub(crate) fn count(by: Option<Self>) -> usize {
        by.map_or(1, |by| by.parts.into())
    }
}

impl Parts {
    /// The parts of an index: `stored`, numbered from `number` on.
    pub(crate) fn new(
        index: &Index,
        by: Option<SplitBy>,
        stored: &[Arc<StoredIndex>],
        number: usize,
    ) -> Self {
        debug_assert_eq!(stored.len(), SplitBy::count(by), "one for each partition");
        let part = |(at, stored): (usize, &Arc<StoredIndex>)| Part {
            stored: Arc::clone(stored),
            keys: KeySpace::of(index.id, at as u16),
            number: (number + at) as u16,
        };
        let parts: Box<[Part]> = stored.iter().enumerate().map(part).collect();
        let first = parts[0].clone();
        let split = by.map(|by| Box::new(Split { parts, key: index.key.clone(), by }));
        Self { first, split }
    }

    /// What chooses among them; none when there is one.
    pub(crate) fn split_by(&self) -> Option<SplitBy> {
        self.split.as_ref().map(|split| split.by)
    }

    /// The part in which an entry with this key lies, or one whose key begins with these columns,
    /// the routing fields at least.
    #[inline(always)]
    pub(crate) fn of_key(&self, key: &[u8]) -> &Part {
        match &self.split {
            None => &self.first,
            Some(split) => split.of_fields(key),
        }
    }

    /// The parts in which there may be entries whose keys begin with so many columns.
    #[inline]
    pub(crate) fn of_prefix(&self, prefix: &[u8], columns: usize) -> &[Part] {
        match &self.split {
            None => std::slice::from_ref(&self.first),
            Some(split) if columns >= split.by.fields.into() => {
                std::slice::from_ref(split.of_fields(prefix))
            }
            Some(split) => &split.parts,
        }
    }

    /// All of them.
    pub(crate) fn all(&self) -> &[Part] {
        self.of_prefix(&[], 0)
    }

    /// The one that has this number in its table.
    #[inline]
    pub(crate) fn numbered(&self, number: usize) -> Option<&Part> {
        let at = number.checked_sub(self.first.number.into())?;
        match &self.split {
            None => (at == 0).then_some(&self.first),
            Some(split) => split.parts.get(at),
        }
    }
}

impl Split {
    fn of_fields(&self, key: &[u8]) -> &Part {
        let SplitBy { fields, hashing, parts, .. } = self.by;
        let fields = &key[..self.key.prefix_bytes(key, fields.into())];
        &self.parts[hashing.partition(fields, parts).index()]
    }
}
