//! Versions of parts of indexes, by which it is told whether something was added there.
//!
//! Role         what [`crate::probe`] notes of its looks, and what
//!              [`Protection::changed`](crate::protection::Protection::changed) tells of a change

use hotrow_base::ids::IndexId;
use hotrow_storage::btree::{NodeStamp, StampChange};
use hotrow_storage::hash_index::BucketStamp;

/// A part of an index; what is not split is one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PartOf {
    pub(crate) index: IndexId,
    /// its number in its table
    pub(crate) number: u16,
}

/// A node or a bucket, and its version.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Stamp {
    /// a leaf of a B+-tree
    Node(NodeStamp),
    /// a bucket of a hash index
    Bucket(BucketStamp),
}

/// What a change did to what may have been seen; see [`StampChange`].
#[derive(Clone, Copy, Debug)]
pub struct Change {
    /// as it was before
    pub before: Stamp,
    /// as it is now
    pub after: Stamp,
    /// what was made of a part of it
    pub created: Option<Stamp>,
}

impl Change {
    pub(crate) fn of_node(change: StampChange) -> Self {
        Self {
            before: Stamp::Node(change.before),
            after: Stamp::Node(change.after),
            created: change.created.map(Stamp::Node),
        }
    }

    pub(crate) fn of_bucket(before: BucketStamp, after: BucketStamp) -> Self {
        Self { before: Stamp::Bucket(before), after: Stamp::Bucket(after), created: None }
    }
}
