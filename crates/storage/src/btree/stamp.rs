//! Node stamps: what an optimistic engine keeps of a leaf it looked into, against phantoms.
//!
//! Source       Tu et al., "Speedy Transactions in Multicore In-Memory Databases" (Silo), 4.6: the
//!              node set, and how a transaction's own inserts change it

use hotrow_base::sync::Version;

use super::arena::NodeId;

/// A leaf and the version it was read at. Any insert, removal, ghosting or replacement in the leaf
/// afterwards makes it invalid, and so does a split or merge of the leaf.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct NodeStamp {
    /// The leaf.
    pub node: NodeId,
    /// Its version.
    pub version: Version,
}

/// What an insert did to a leaf: who had `before` in a node set, and found it valid there, must
/// have `after` instead, and `created` besides. A change that someone else made between leaves a
/// gap in the chain: then `before` is not what the set holds, and the transaction must abort.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StampChange {
    /// The leaf before the insert touched it.
    pub before: NodeStamp,
    /// The leaf that now holds (the left part of) its keys.
    pub after: NodeStamp,
    /// The new leaf to the right, when the leaf was split.
    pub created: Option<NodeStamp>,
}
