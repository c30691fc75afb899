//! The B+-tree: an ordered index from byte keys to record ids, read without latches.
//!
//! Role         primary and secondary indexes of tables, range scans, and what the engines' phantom
//!              protection hangs on: prior keys and fence keys for key-range locks, ghosts, and
//!              node stamps for optimistic validation. It knows no transaction: a ghost is a flag
//!              here, and nothing is undone
//! Keys         at most [`MAX_KEY_BYTES`] bytes, ordered as bytes and prefix-free within one tree
//!              (`hotrow_base::key` makes such keys). A node keeps what its keys share once and of
//!              each key the rest, in big-endian words: one word for most nodes
//! Values       53 bits ([`VALUE_MASK`]: a record id of 48 and 5 for the user) and [`GHOST`]. The
//!              ten bits between hold the key's length, so that a scan returns the key's exact
//!              bytes
//! Invariants   I1  every node carries both fences: the lower one belongs to it, the upper one does
//!                  not. There are no sibling links: a scan goes on from a fence, by the root
//!              I2  all leaves are equally deep; no leaf but the root stays empty for long
//!                  (`merge`)
//!              I3  node 0 is the root for ever
//!              I4  a gap between keys keeps its name, and where it must not, a guard is asked
//!                  (`gaps`)
//!              Checked by [`BTree::check_invariants`].
//! Concurrency  optimistic lock coupling. A reader notes a node's version, reads, and checks the
//!              version before it uses what it read; a writer does the same down to the leaf and
//!              then upgrades the version it read to the latch. Splits and merges latch node,
//!              neighbour and parent, by trying only, so nobody waits while holding a latch.
//!              A tree that one thread at a time changes ([`BTree::set_one_writer`]) has its nodes
//!              latched by plain stores (`crate::writers`).
//!              Retired nodes are reused at once, without a reclamation epoch: node memory is
//!              type-stable and versions never go back, so a stale reader fails to validate
//! Source       Leis et al., "The ART of Practical Synchronization" (the protocol); Graefe, "Modern
//!              B-Tree Techniques" (fence keys, prefix truncation, ghosts). We differ: the prefix
//!              comes from the keys and not from the fences, see `build`
//!
//! # Figures
//!
//! Instructions per operation by `examples/btree_count.rs` under callgrind, a million keys, 1 KiB
//! nodes, four levels; 30 of them are the example's own, 50 with a hint. The bytes are of all node
//! memory. In brackets: before the id named its chunk, heads began at one place and the search of
//! most nodes was laid out without a loop.
//!
//! | keys | get | insert | scan of 10 | remove | bytes per entry |
//! |---|---|---|---|---|---|
//! | random u64 | 482 (544) | 847 (1061) | 2324 (2894) | 801 (936) | 24.6 |
//! | ascending, 16 bytes | 747 (792) | 796 (1070) | 2700 (3620) | 1150 (1247) | 17.4 |
//! | runs of 10 in 10 places, 16 bytes, by hint | | 473 | | | not measured |
//!
//! Targets were 300 for a get and 300 to 400 for an insert: inserts near each other reach it with a
//! [`Hint`], the others miss it by far. A hint that misses costs some 200 instructions (random u64
//! at 300 k keys: 1016 with, 814 without), so it is for runs. A descent is about 100 a level, half
//! of it search. 16-byte keys pay for inner nodes whose separators need two words. Larger nodes
//! were not measured for short keys: by arithmetic 2 KiB save no level at a million keys and double
//! what an insert moves.
mod arena;
mod build;
mod cursor;
mod descend;
mod find;
mod gaps;
mod hint;
mod key;
mod keys;
mod layout;
mod merge;
mod search;
mod split;
mod stamp;
mod tree;
mod verify;
mod walk;
mod write;

#[cfg(test)]
mod tests;

use std::ops::ControlFlow;
use std::sync::Arc;

use crate::budget::{MemoryBudget, OutOfMemoryBudget};

use self::cursor::AnyCursor;
use self::tree::Tree;
use self::walk::AnyWalk;

pub use self::arena::NodeId;
pub use self::cursor::{Cursor, Direction, KeyRange, ScanBuffers, ScanEntry, Wanted};
pub use self::gaps::{Entered, GapGuard, Removal, Unguarded, VACANT};
pub use self::hint::Hint;
pub use self::key::{KeyBuffer, MAX_KEY_BYTES};
pub use self::layout::{GHOST, VALUE_MASK};
pub use self::stamp::{NodeStamp, StampChange};
pub use self::verify::TreeShape;
pub use self::walk::{Step, Walk, WalkBuffers};

/// Why an insert was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BTreeError {
    /// A node is needed and the memory budget has no room for it.
    #[error(transparent)]
    OutOfMemoryBudget(#[from] OutOfMemoryBudget),
    /// The key is longer than the tree was made for.
    #[error("index key of {length} bytes is longer than the limit of {limit} bytes")]
    KeyTooLong {
        /// The key's length in bytes.
        length: usize,
        /// The longest key this tree takes, in bytes.
        limit: usize,
    },
    /// The key and one in the tree differ only in zero bytes at the end: the keys of this tree are
    /// not prefix-free, which is a bug in how they are encoded.
    #[error("index key differs from an existing one only in zero bytes at its end")]
    KeyClash,
}

/// What a lookup found, and the leaf that says so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lookup {
    /// The value, with its ghost flag.
    pub value: Option<u64>,
    /// The leaf that holds the key, or would.
    pub stamp: NodeStamp,
}

/// The entry at a key or, where there is none, what stands before the gap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Prior {
    /// The key itself is there, with this value.
    Exact(u64),
    /// The greatest key below is in the buffer, with this value; nothing stands between.
    Key(u64),
    /// No key of the leaf is below; the leaf's lower fence is in the buffer (empty: the leaf has
    /// none, it is the first one). A key below the fence may exist, in the leaf before.
    Fence,
}

/// A B+-tree from byte keys to 53-bit values; see the module.
pub struct BTree {
    nodes: AnySize,
}

/// The node size is a constant of the code, so that the compiler knows that no index leaves a node.
enum AnySize {
    Small(Tree<128>),
    Medium(Tree<256>),
    Large(Tree<512>),
}

/// Calls the same method of whichever tree there is.
macro_rules! with_tree {
    ($this:expr, $tree:ident => $body:expr) => {
        match &$this.nodes {
            AnySize::Small($tree) => $body,
            AnySize::Medium($tree) => $body,
            AnySize::Large($tree) => $body,
        }
    };
}

impl std::fmt::Debug for BTree {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut shown = formatter.debug_struct("BTree");
        shown.field("max_key_bytes", &self.max_key_bytes()).field("height", &self.height());
        shown.finish_non_exhaustive()
    }
}

impl BTree {
    /// An empty tree for keys of at most `max_key_bytes` bytes (itself at most
    /// [`MAX_KEY_BYTES`]). Say what the schema allows: nodes are 1 KiB for keys up to 64 bytes,
    /// 2 KiB up to 160, else 4 KiB, and inserts into small nodes are cheaper.
    ///
    /// # Errors
    ///
    /// [`BTreeError::OutOfMemoryBudget`], and [`BTreeError::KeyTooLong`] above `MAX_KEY_BYTES`.
    pub fn new(max_key_bytes: usize, budget: Arc<MemoryBudget>) -> Result<Self, BTreeError> {
        let nodes = match max_key_bytes {
            0..=64 => AnySize::Small(Tree::new(max_key_bytes, budget)?),
            65..=160 => AnySize::Medium(Tree::new(max_key_bytes, budget)?),
            161..=MAX_KEY_BYTES => AnySize::Large(Tree::new(max_key_bytes, budget)?),
            length => return Err(BTreeError::KeyTooLong { length, limit: MAX_KEY_BYTES }),
        };
        Ok(Self { nodes })
    }

    /// The value of `key`, with its ghost flag.
    #[inline]
    #[must_use]
    pub fn get(&self, key: &[u8]) -> Option<u64> {
        self.lookup(key).value
    }

    /// The value of `key`, and the stamp of the leaf it is in or missing from.
    #[inline]
    #[must_use]
    pub fn lookup(&self, key: &[u8]) -> Lookup {
        with_tree!(self, tree => tree.lookup(key, None))
    }

    /// [`get`](Self::get) that asks the leaf of the last operation with `hint` first: for keys
    /// looked up near each other; a miss makes a lookup dearer than one without a hint.
    #[inline]
    #[must_use]
    pub fn get_hinted(&self, key: &[u8], hint: &mut Hint) -> Option<u64> {
        self.lookup_hinted(key, hint).value
    }

    /// [`lookup`](Self::lookup) with a hint, as [`get_hinted`](Self::get_hinted).
    #[inline]
    #[must_use]
    pub fn lookup_hinted(&self, key: &[u8], hint: &mut Hint) -> Lookup {
        with_tree!(self, tree => tree.lookup(key, Some(hint)))
    }

    /// The entry of `key`, or else the key that stands before it, copied into `prior`: what
    /// prior-key locking locks for an absent key. When the leaf has none, its lower fence stands
    /// for the gap, as a key of its own.
    pub fn get_or_prior(&self, key: &[u8], prior: &mut KeyBuffer) -> (Prior, NodeStamp) {
        with_tree!(self, tree => tree.get_or_prior(key, prior))
    }

    /// Whether nothing in the leaf changed since `stamp` was taken.
    #[inline]
    #[must_use]
    pub fn validate(&self, stamp: NodeStamp) -> bool {
        with_tree!(self, tree => tree.validate(stamp))
    }

    /// Whether from now on one thread at a time changes the tree, so that latches can be had by a
    /// store. Called while nobody changes it.
    pub fn set_one_writer(&self, one: bool) {
        with_tree!(self, tree => tree.writers.set_one(one));
    }

    /// Inserts `value` (of [`VALUE_MASK`], perhaps with [`GHOST`]) under `key`. If the key is
    /// there, even as a ghost (but not a [`VACANT`] one), its value is returned and nothing
    /// changes.
    ///
    /// # Errors
    ///
    /// See [`BTreeError`]; nothing was inserted.
    #[inline]
    pub fn insert(&self, key: &[u8], value: u64) -> Result<Option<u64>, BTreeError> {
        self.insert_observed(key, value, |_| {})
    }

    /// [`insert`](Self::insert) that tells `observe`, in order, what happened to the leaves, for an
    /// engine that keeps a node set. Changes may be observed even when an error or an existing
    /// value is returned.
    ///
    /// # Errors
    ///
    /// See [`BTreeError`]; nothing was inserted.
    #[inline]
    pub fn insert_observed(
        &self,
        key: &[u8],
        value: u64,
        observe: impl FnMut(StampChange),
    ) -> Result<Option<u64>, BTreeError> {
        let entered = with_tree!(
            self,
            tree => tree.insert_guarded(key, value, None, &mut Unguarded, observe)
        );
        entered.map(existing)
    }

    /// [`insert`](Self::insert) that tries the leaf of the last operation with `hint` first: a run
    /// of neighbouring keys costs one descent.
    ///
    /// # Errors
    ///
    /// See [`BTreeError`]; nothing was inserted.
    #[inline]
    pub fn insert_hinted(
        &self,
        key: &[u8],
        value: u64,
        hint: &mut Hint,
    ) -> Result<Option<u64>, BTreeError> {
        self.insert_hinted_observed(key, value, hint, |_| {})
    }

    /// [`insert_observed`](Self::insert_observed) with a hint, as
    /// [`insert_hinted`](Self::insert_hinted).
    ///
    /// # Errors
    ///
    /// See [`BTreeError`]; nothing was inserted.
    #[inline]
    pub fn insert_hinted_observed(
        &self,
        key: &[u8],
        value: u64,
        hint: &mut Hint,
        observe: impl FnMut(StampChange),
    ) -> Result<Option<u64>, BTreeError> {
        let entered = with_tree!(
            self,
            tree => tree.insert_guarded(key, value, Some(hint), &mut Unguarded, observe)
        );
        entered.map(existing)
    }

    /// [`insert_hinted`](Self::insert_hinted) that asks `guard` before it divides a gap.
    ///
    /// # Errors
    ///
    /// See [`BTreeError`]; nothing was inserted.
    pub fn insert_guarded(
        &self,
        key: &[u8],
        value: u64,
        hint: &mut Hint,
        guard: &mut impl GapGuard,
    ) -> Result<Entered, BTreeError> {
        with_tree!(self, tree => tree.insert_guarded(key, value, Some(hint), guard, |_| {}))
    }

    /// From now on [`GapGuard`]s are in use: without one no gaps are united where leaves are
    /// merged. Called while nobody else uses the tree.
    pub fn guard_gaps(&self) {
        with_tree!(self, tree => tree.guard_gaps());
    }

    /// Sets the value of `key`, ghost flag and all, and returns the old one; `None`, and nothing
    /// changed, when there is no entry.
    pub fn replace(&self, key: &[u8], value: u64) -> Option<u64> {
        self.replace_observed(key, value, |_| {})
    }

    /// [`replace`](Self::replace) that tells `observe` what happened to the leaf.
    pub fn replace_observed(
        &self,
        key: &[u8],
        value: u64,
        observe: impl FnMut(StampChange),
    ) -> Option<u64> {
        with_tree!(self, tree => tree.update(key, |_| Some(value), observe))
    }

    /// Sets or clears the ghost flag of `key` if its value, apart from that flag, is `expected`.
    /// Whether it was.
    pub fn set_ghost(&self, key: &[u8], expected: u64, ghost: bool) -> bool {
        self.set_ghost_observed(key, expected, ghost, |_| {})
    }

    /// [`set_ghost`](Self::set_ghost) that tells `observe` what happened to the leaf.
    pub fn set_ghost_observed(
        &self,
        key: &[u8],
        expected: u64,
        ghost: bool,
        observe: impl FnMut(StampChange),
    ) -> bool {
        let flag = if ghost { GHOST } else { 0 };
        let same = |old: u64| old & !GHOST == expected & !GHOST;
        let change = |old| same(old).then_some(old & !GHOST | flag);
        with_tree!(self, tree => tree.update(key, change, observe)).is_some_and(same)
    }

    /// Removes the entry of `key` if its value, ghost flag included, is `expected`: the physical
    /// removal, the step of a system transaction. Whether it was.
    pub fn remove(&self, key: &[u8], expected: u64) -> bool {
        matches!(
            self.remove_guarded(key, expected, &mut Unguarded),
            Removal::Done | Removal::Emptied
        )
    }

    /// [`remove`](Self::remove) that asks `guard` before it unites two gaps, and leaves a
    /// [`VACANT`] ghost where that may not be.
    pub fn remove_guarded(&self, key: &[u8], expected: u64, guard: &mut impl GapGuard) -> Removal {
        with_tree!(self, tree => tree.remove_guarded(key, expected, guard))
    }

    /// A scan of `range`. Nothing is read until [`Cursor::next`].
    #[must_use]
    pub fn cursor<'t, 'b>(
        &'t self,
        buffers: &'b mut ScanBuffers,
        wanted: Wanted,
        range: KeyRange<'_>,
        direction: Direction,
    ) -> Cursor<'t, 'b> {
        Cursor::new(match &self.nodes {
            AnySize::Small(tree) => {
                AnyCursor::Small(tree.cursor(buffers, wanted, range, direction))
            }
            AnySize::Medium(tree) => {
                AnyCursor::Medium(tree.cursor(buffers, wanted, range, direction))
            }
            AnySize::Large(tree) => {
                AnyCursor::Large(tree.cursor(buffers, wanted, range, direction))
            }
        })
    }

    /// Visits the entries of `range` in order until `visit` breaks; what it broke with.
    pub fn scan<B>(
        &self,
        buffers: &mut ScanBuffers,
        range: KeyRange<'_>,
        direction: Direction,
        mut visit: impl FnMut(ScanEntry<'_>) -> ControlFlow<B>,
    ) -> ControlFlow<B> {
        let mut cursor = self.cursor(buffers, Wanted::Entries, range, direction);
        while let Some(entry) = cursor.next() {
            visit(entry)?;
        }
        ControlFlow::Continue(())
    }

    /// As [`scan`](Self::scan), for whoever needs no keys.
    pub fn scan_values<B>(
        &self,
        buffers: &mut ScanBuffers,
        range: KeyRange<'_>,
        direction: Direction,
        mut visit: impl FnMut(u64) -> ControlFlow<B>,
    ) -> ControlFlow<B> {
        let mut cursor = self.cursor(buffers, Wanted::Values, range, direction);
        while let Some(entry) = cursor.next() {
            visit(entry.value)?;
        }
        ControlFlow::Continue(())
    }

    /// A walk over the keys and gaps of `range`, to lock them.
    #[must_use]
    pub fn walk<'t, 'b>(
        &'t self,
        buffers: &'b mut WalkBuffers,
        range: KeyRange<'_>,
        direction: Direction,
    ) -> Walk<'t, 'b> {
        Walk::new(match &self.nodes {
            AnySize::Small(tree) => AnyWalk::Small(tree.walk(buffers, range, direction)),
            AnySize::Medium(tree) => AnyWalk::Medium(tree.walk(buffers, range, direction)),
            AnySize::Large(tree) => AnyWalk::Large(tree.walk(buffers, range, direction)),
        })
    }

    /// Asks the processor for the leaf that covers `key`, so that an access soon after finds it.
    pub fn prefetch(&self, key: &[u8]) {
        with_tree!(self, tree => tree.prefetch(key));
    }

    /// Bytes of all node memory, as charged to the budget.
    #[must_use]
    pub fn bytes_used(&self) -> u64 {
        with_tree!(self, tree => tree.arena.bytes_used())
    }

    /// The longest key this tree takes, in bytes.
    #[must_use]
    pub fn max_key_bytes(&self) -> usize {
        with_tree!(self, tree => tree.max_key_bytes)
    }

    /// Levels, leaves included.
    #[must_use]
    pub fn height(&self) -> usize {
        with_tree!(self, tree => tree.height())
    }

    /// Checks order, fences, prefixes, counts and reachability, and tells what the tree is made of.
    /// No other thread may change the tree meanwhile.
    ///
    /// # Errors
    ///
    /// What is wrong, and in which node.
    pub fn check_invariants(&self) -> Result<TreeShape, String> {
        with_tree!(self, tree => tree.check_invariants())
    }
}

/// The value met by an insert that nobody can deny.
#[inline(always)]
fn existing(entered: Entered) -> Option<u64> {
    match entered {
        Entered::Yes => None,
        Entered::Exists(value) => Some(value),
        Entered::Denied => unreachable!("there is no guard"),
    }
}
