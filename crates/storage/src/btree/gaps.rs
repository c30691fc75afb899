//! Gaps between keys, and who is asked before one is divided or two become one.
//!
//! Role         prior-key locking locks a gap by the name of what stands before it in its leaf: an
//!              entry's key or, left of all entries, the leaf's lower fence. The tree knows no
//!              locks; whoever uses it so hands a [`GapGuard`] to each change that moves a gap to
//!              another name, and is asked under the latch of its leaf
//! Invariants   a part of a gap moves to another name only by these steps:
//!
//!  - an insert divides a gap: what is behind the new key moves to it. Asked; ghosts divide gaps as
//!    all entries do, so an insert in a ghost's place asks nobody
//!  - a removal unites two: what was behind the key moves to the prior one. Asked; refused, a ghost
//!    without a value stays ([`VACANT`]), which needs no record. Where the key is its leaf's lower
//!    fence as well, nothing moves: the fence goes by the same name
//!  - a split divides none: the fence is a key of the right leaf, before which the left leaf's gap
//!    ends as before (`split`, I3)
//!  - a merge unites two if the fence between the leaves is not an entry (any more). Asked; where
//!    nobody is there to be asked (a scan that meets an empty leaf) it is done only while no guard
//!    is in use, see [`BTree::guard_gaps`](super::BTree::guard_gaps)
//!  - inner nodes hold no gaps; a root that takes in its only child takes its fences, too
//!
//! Concurrency  who reads a leaf optimistically, locks the name it found, and finds the leaf's
//!              version unchanged *afterwards*, was seen by every guard asked later, and saw all
//!              that was done before: the guard looks at the locks with the leaf latched
//! Source       locking.txt 2.2, Algorithm 1; system transactions, ghosts and fence keys. We
//!              differ: a fence need not be an entry, not even a ghost

use super::layout::{GHOST, VALUE_MASK};

/// The value of a ghost that is only there to divide a gap: no record is behind it, and the next
/// insert of its key takes its place.
pub const VACANT: u64 = GHOST | VALUE_MASK;

/// Is asked, with the leaf latched; must neither wait nor use the tree.
pub trait GapGuard {
    /// Whether there is anybody to ask.
    const ASKS: bool;

    /// Whether `key` may come to divide the gap behind `prior`, a key of the leaf or its lower
    /// fence.
    fn may_divide(&mut self, prior: &[u8], key: &[u8]) -> bool;

    /// Whether what is behind `key`, an entry or a fence, may from now on be behind `prior`.
    fn may_unite(&mut self, prior: &[u8], key: &[u8]) -> bool;
}

/// Nobody locks gaps.
#[derive(Clone, Copy, Default, Debug)]
pub struct Unguarded;

impl GapGuard for Unguarded {
    const ASKS: bool = false;

    #[inline(always)]
    fn may_divide(&mut self, _: &[u8], _: &[u8]) -> bool {
        true
    }

    #[inline(always)]
    fn may_unite(&mut self, _: &[u8], _: &[u8]) -> bool {
        true
    }
}

/// What became of an insert.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Entered {
    /// the entry is there
    Yes,
    /// the key was there, with this value, perhaps a ghost's; nothing was changed
    Exists(u64),
    /// the guard did not allow it; nothing was changed
    Denied,
}

/// What became of a removal.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Removal {
    /// there was no entry with that value
    Absent,
    /// as `Absent`; the leaf is empty and could not be merged yet
    StillEmpty,
    /// the entry is gone
    Done,
    /// as `Done`; its leaf is empty and could not be merged yet, which another removal of the same
    /// key tries again
    Emptied,
    /// the guard did not allow it: a [`VACANT`] ghost stands there now
    Kept,
}
