//! The memory of one tree's nodes: an arena that grows by chunks and never gives one back.
//!
//! Role         resolves a [`NodeId`] to the node's words and hands out locked nodes; it knows
//!              nothing of what the words mean, except that word 0 is the latch
//! Invariants   I1  memory is type-stable: an id once handed out resolves for as long as the tree
//!                  lives, and always to words of a node
//!              I2  a node's version only grows, over all its lives. So a retired node is reused at
//!                  once: who still holds its id and an old version fails to validate. No
//!                  reclamation epoch is needed
//! Concurrency  `chunks`: written once per slot under `growth`, read by anyone (OnceLock);
//!              `growth`: a mutex, taken once per split or merge
//!
//! ```text
//! id: 31..27 chunk k │ 26..0 slot ─▶ chunks[k] (16 << k nodes) ─▶ words
//! ```
//!
//! An id names its chunk outright, so a descent resolves it with one load that depends on it. A
//! chunk is reserved whole but committed by the operating system as it is touched, and charged to
//! the budget 16 nodes at a time, so doubling wastes address space only.

use hotrow_base::sync::facade::atomic::AtomicU64;
use hotrow_base::sync::facade::{Mutex, MutexGuard};
use std::mem;
use std::sync::{Arc, OnceLock, PoisonError};

use hotrow_base::sync::{Version, VersionLatch};

use crate::budget::{MemoryBudget, MemoryKind, OutOfMemoryBudget};
use crate::slab::zeroed_words::ZeroedWords;
use crate::writers::Writers;

/// Nodes of the first chunk, and nodes charged together: 16 KiB of 1 KiB nodes, small enough for a
/// tree per partition.
const CHARGED_NODES: u32 = 16;
/// Low bits of an id: the slot within the chunk.
const SLOT_BITS: u32 = 27;
/// All that five bits can name; the last ones can never be reached.
const CHUNKS: usize = 1 << (32 - SLOT_BITS);
/// Slots of the largest chunk fill their bits: 2^28 nodes in all.
const CHUNKS_USED: u32 = SLOT_BITS - CHARGED_NODES.ilog2() + 1;

/// The number of a node within its tree. Node 0 is the root for ever.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct NodeId(pub(super) u32);

/// The root never moves: when it splits, its entries do.
pub(super) const ROOT: NodeId = NodeId(0);

/// A node's words and number; word 0 is its latch.
#[derive(Clone, Copy)]
pub(super) struct Node<'t, const N: usize> {
    pub(super) id: NodeId,
    pub(super) words: &'t [AtomicU64; N],
}

impl<'t, const N: usize> Node<'t, N> {
    /// Its latch.
    #[inline(always)]
    pub(super) fn latch(self) -> &'t VersionLatch {
        VersionLatch::in_word(&self.words[0])
    }
}

/// The right to change a node: its latch is held until this is published or dropped.
pub(super) struct Held<'t, const N: usize> {
    node: Node<'t, N>,
}

impl<'t, const N: usize> Held<'t, N> {
    /// Latches the node if it still is at `version`.
    #[inline]
    pub(super) fn upgrade(node: Node<'t, N>, version: Version, writers: &Writers) -> Option<Self> {
        let held = match writers.is_one() {
            true => node.latch().upgrade_alone(version),
            false => node.latch().try_upgrade(version),
        };
        held.then(|| Self { node }) // not `then_some`: one that is dropped unlatches
    }

    /// Latches the node if its latch is free right now.
    pub(super) fn try_lock(node: Node<'t, N>) -> Option<Self> {
        node.latch().try_lock().map(|_| Self { node })
    }

    /// The node held.
    #[inline]
    pub(super) fn node(&self) -> Node<'t, N> {
        self.node
    }

    /// Releases the latch after a change; the version readers see from now on.
    #[inline]
    pub(super) fn publish(self) -> Version {
        let version = self.node.latch().unlock();
        mem::forget(self);
        version
    }
}

/// Dropping means that nothing was changed.
impl<const N: usize> Drop for Held<'_, N> {
    #[inline]
    fn drop(&mut self) {
        self.node.latch().unlock_unchanged();
    }
}

struct Growth {
    /// The chunk that new nodes come from, and the next slot in it.
    chunk: u32,
    next_slot: u32,
    /// Retired nodes.
    free: Vec<NodeId>,
}

/// The nodes of one tree, `N` words each.
pub(super) struct Arena<const N: usize> {
    chunks: [OnceLock<ZeroedWords>; CHUNKS],
    growth: Mutex<Growth>,
    budget: Arc<MemoryBudget>,
}

impl<const N: usize> Arena<N> {
    const CHARGED_BYTES: u64 = CHARGED_NODES as u64 * size_of::<[AtomicU64; N]>() as u64;

    /// An arena that holds the root, zeroed and free.
    pub(super) fn new(budget: Arc<MemoryBudget>) -> Result<Self, OutOfMemoryBudget> {
        const { assert!(N.is_power_of_two(), "masks and chunks rely on it") };
        let arena = Self {
            chunks: [const { OnceLock::new() }; CHUNKS],
            growth: Mutex::new(Growth { chunk: 0, next_slot: 0, free: Vec::new() }),
            budget,
        };
        let first = arena.next_id(&mut arena.lock_growth())?;
        debug_assert_eq!(first, ROOT);
        Ok(arena)
    }

    /// The node `id`; `None` for an id never handed out, which a reader racing with a writer may
    /// have read.
    #[inline(always)]
    pub(super) fn node(&self, id: NodeId) -> Option<Node<'_, N>> {
        let chunk = self.chunks[(id.0 >> SLOT_BITS) as usize].get()?;
        let slot = id.0 & ((1 << SLOT_BITS) - 1);
        Some(Node { id, words: chunk.as_chunks::<N>().0.get(slot as usize)? })
    }

    /// The root.
    #[inline(always)]
    pub(super) fn root(&self) -> Node<'_, N> {
        self.node(ROOT).expect("`new` allocated the root's chunk")
    }

    /// A node nobody reaches, latched.
    pub(super) fn allocate(&self) -> Result<Held<'_, N>, OutOfMemoryBudget> {
        let mut growth = self.lock_growth();
        let id = match growth.free.pop() {
            Some(id) => id,
            None => self.next_id(&mut growth)?,
        };
        drop(growth);
        let node = self.node(id).expect("its chunk was added when its id was");
        let held = node.latch().lock_for_reuse() || node.latch().lock().is_some();
        assert!(held, "nobody else has {id:?}");
        Ok(Held { node })
    }

    /// Marks a node that is no longer reachable obsolete and keeps it for reuse.
    pub(super) fn retire(&self, held: Held<'_, N>) {
        let id = held.node.id;
        held.node.latch().unlock_obsolete();
        mem::forget(held);
        self.lock_growth().free.push(id);
    }

    /// Bytes of all chunks.
    pub(super) fn bytes_used(&self) -> u64 {
        let charges = self.lock_growth().handed_out().div_ceil(u64::from(CHARGED_NODES));
        charges * Self::CHARGED_BYTES
    }

    /// Nodes handed out and not retired, the root included.
    pub(super) fn live_nodes(&self) -> usize {
        let growth = self.lock_growth();
        growth.handed_out() as usize - growth.free.len()
    }

    fn lock_growth(&self) -> MutexGuard<'_, Growth> {
        // A panic under this mutex leaves both fields whole.
        self.growth.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The next id never used.
    fn next_id(&self, growth: &mut Growth) -> Result<NodeId, OutOfMemoryBudget> {
        let (chunk, slot) = match (growth.chunk, growth.next_slot) {
            (chunk, slot) if slot == chunk_nodes(chunk) => (chunk + 1, 0),
            place => place,
        };
        if slot.is_multiple_of(CHARGED_NODES) {
            self.charge(chunk, slot)?;
        }
        (growth.chunk, growth.next_slot) = (chunk, slot + 1);
        Ok(NodeId(chunk << SLOT_BITS | slot))
    }

    /// Charges for the nodes from `slot` on, and adds their chunk if it is new. The caller holds
    /// `growth`, or is alone.
    fn charge(&self, chunk: u32, slot: u32) -> Result<(), OutOfMemoryBudget> {
        if chunk == CHUNKS_USED {
            return Err(self.budget.refused(Self::CHARGED_BYTES));
        }
        self.budget.try_charge(MemoryKind::Indexes, Self::CHARGED_BYTES)?;
        if slot == 0 {
            let Some(words) = ZeroedWords::try_new(chunk_nodes(chunk) as usize * N) else {
                self.budget.release(MemoryKind::Indexes, Self::CHARGED_BYTES);
                return Err(self.budget.refused(Self::CHARGED_BYTES));
            };
            let added = self.chunks[chunk as usize].set(words).is_ok();
            assert!(added, "chunks are added once, in order");
        }
        Ok(())
    }
}

impl Growth {
    /// Nodes ever handed out, the root included.
    fn handed_out(&self) -> u64 {
        let before = u64::from(chunk_nodes(self.chunk) - CHARGED_NODES);
        before + u64::from(self.next_slot)
    }
}

fn chunk_nodes(chunk: u32) -> u32 {
    CHARGED_NODES << chunk
}

impl<const N: usize> Drop for Arena<N> {
    fn drop(&mut self) {
        self.budget.release(MemoryKind::Indexes, self.bytes_used());
    }
}
