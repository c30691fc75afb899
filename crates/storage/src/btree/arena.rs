//! The memory of one tree's nodes: an arena that grows by chunks and never gives one back.
//!
//! Role         resolves a [`NodeId`] to the node's words and hands out locked nodes; it knows
//!              nothing of what the words mean, except that word 0 is the latch
//! Invariants   I1  memory is type-stable: an id once handed out resolves for as long as the tree
//!                  lives, and always to words of a node
//!              I2  a node's version only grows, over all its lives. So a retired node is reused at
//!                  once: who still holds its id and an old version fails to validate. No
//!                  reclamation epoch is needed
//! Concurrency  `directories`: written once per slot under `growth`, read by anyone (OnceLock);
//!              `growth`: a mutex, taken once per split or merge
//!
//! ```text
//! id ─▶ chunk number (id / 16) ─▶ directory k (8 << k chunks) ─▶ chunk (16 nodes) ─▶ words
//! ```

use std::marker::PhantomData;
use std::mem;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use hotrow_base::sync::Version;

use crate::budget::{MemoryBudget, MemoryKind, OutOfMemoryBudget};
use crate::latching::Latching;

use super::latch;

/// Nodes allocated together: 16 KiB of 1 KiB nodes, small enough for a tree per partition.
const CHUNK_NODES: usize = 16;
/// Chunks in directory 0; directory k holds `FIRST_DIRECTORY << k`.
const FIRST_DIRECTORY: usize = 8;
/// Enough directories for every `u32` id: 8 * (2^26 - 1) chunks of 16 nodes are 2^33.
const DIRECTORIES: usize = 26;

/// The number of a node within its tree. Node 0 is the root for ever.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct NodeId(pub(super) u32);

/// The root never moves: when it splits, its entries do.
pub(super) const ROOT: NodeId = NodeId(0);

/// A node's words and number; word 0 is its latch.
#[derive(Clone, Copy)]
pub(super) struct Node<'t, const N: usize> {
    pub(super) id: NodeId,
    pub(super) words: &'t [AtomicU64; N],
}

/// The right to change a node: its latch is held until this is published or dropped.
pub(super) struct Held<'t, L: Latching, const N: usize> {
    node: Node<'t, N>,
    policy: PhantomData<L>,
}

impl<'t, L: Latching, const N: usize> Held<'t, L, N> {
    /// Latches the node if it still is at `version`.
    #[inline]
    pub(super) fn upgrade(node: Node<'t, N>, version: Version) -> Option<Self> {
        latch::try_upgrade::<L>(&node.words[0], version).then(|| Self { node, policy: PhantomData })
    }

    /// Latches the node if its latch is free right now.
    pub(super) fn try_lock(node: Node<'t, N>) -> Option<Self> {
        latch::try_lock::<L>(&node.words[0]).then(|| Self { node, policy: PhantomData })
    }

    /// The node held.
    #[inline]
    pub(super) fn node(&self) -> Node<'t, N> {
        self.node
    }

    /// Releases the latch after a change; the version readers see from now on.
    #[inline]
    pub(super) fn publish(self) -> Version {
        let version = latch::unlock::<L>(&self.node.words[0]);
        mem::forget(self);
        version
    }
}

/// Dropping means that nothing was changed.
impl<L: Latching, const N: usize> Drop for Held<'_, L, N> {
    #[inline]
    fn drop(&mut self) {
        latch::unlock_unchanged::<L>(&self.node.words[0]);
    }
}

/// A node's memory: whole cache lines.
#[repr(align(64))]
struct NodeMemory<const N: usize>([AtomicU64; N]);

type Chunk<const N: usize> = Box<[NodeMemory<N>; CHUNK_NODES]>;
type Directory<const N: usize> = Box<[OnceLock<Chunk<N>>]>;

struct Growth {
    /// The next id never used.
    next: u32,
    /// Retired nodes.
    free: Vec<NodeId>,
}

/// The nodes of one tree, `N` words each.
pub(super) struct Arena<const N: usize> {
    directories: [OnceLock<Directory<N>>; DIRECTORIES],
    growth: Mutex<Growth>,
    budget: Arc<MemoryBudget>,
}

impl<const N: usize> Arena<N> {
    const CHUNK_BYTES: u64 = (CHUNK_NODES * size_of::<NodeMemory<N>>()) as u64;

    /// An arena that holds the root, zeroed and free.
    pub(super) fn new(budget: Arc<MemoryBudget>) -> Result<Self, OutOfMemoryBudget> {
        let arena = Self {
            directories: [const { OnceLock::new() }; DIRECTORIES],
            growth: Mutex::new(Growth { next: 1, free: Vec::new() }),
            budget,
        };
        arena.add_chunk(0)?;
        Ok(arena)
    }

    /// The node `id`; `None` for an id never handed out, which a reader racing with a writer may
    /// have read.
    #[inline(always)]
    pub(super) fn node(&self, id: NodeId) -> Option<Node<'_, N>> {
        let index = id.0 as usize;
        let (directory, slot) = place_of(index / CHUNK_NODES);
        let chunk = self.directories.get(directory)?.get()?.get(slot)?.get()?;
        Some(Node { id, words: &chunk[index % CHUNK_NODES].0 })
    }

    /// The root.
    #[inline(always)]
    pub(super) fn root(&self) -> Node<'_, N> {
        self.node(ROOT).expect("`new` allocated the root's chunk")
    }

    /// A node nobody reaches, latched.
    pub(super) fn allocate<L: Latching>(&self) -> Result<Held<'_, L, N>, OutOfMemoryBudget> {
        let mut growth = self.lock_growth();
        let id = match growth.free.pop() {
            Some(id) => id,
            None => {
                let id = NodeId(growth.next);
                if (id.0 as usize).is_multiple_of(CHUNK_NODES) {
                    self.add_chunk(id.0 as usize / CHUNK_NODES)?;
                }
                growth.next += 1;
                id
            }
        };
        drop(growth);
        let node = self.node(id).expect("its chunk was added above or before");
        assert!(latch::lock_unreachable::<L>(&node.words[0]), "nobody else has {id:?}");
        Ok(Held { node, policy: PhantomData })
    }

    /// Marks a node that is no longer reachable obsolete and keeps it for reuse.
    pub(super) fn retire<L: Latching>(&self, held: Held<'_, L, N>) {
        let id = held.node.id;
        latch::unlock_obsolete::<L>(&held.node.words[0]);
        mem::forget(held);
        self.lock_growth().free.push(id);
    }

    /// Bytes of all chunks.
    pub(super) fn bytes_used(&self) -> u64 {
        let chunks = (self.lock_growth().next as usize).div_ceil(CHUNK_NODES);
        chunks as u64 * Self::CHUNK_BYTES
    }

    /// Nodes handed out and not retired, the root included.
    pub(super) fn live_nodes(&self) -> usize {
        let growth = self.lock_growth();
        growth.next as usize - growth.free.len()
    }

    fn lock_growth(&self) -> MutexGuard<'_, Growth> {
        // A panic under this mutex leaves both fields whole.
        self.growth.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Allocates chunk `number`; the caller holds `growth`, or is alone.
    fn add_chunk(&self, number: usize) -> Result<(), OutOfMemoryBudget> {
        self.budget.try_charge(MemoryKind::Indexes, Self::CHUNK_BYTES)?;
        let nodes: Box<[NodeMemory<N>]> =
            (0..CHUNK_NODES).map(|_| NodeMemory([const { AtomicU64::new(0) }; N])).collect();
        let chunk: Chunk<N> = nodes.try_into().ok().expect("it has CHUNK_NODES nodes");
        let (directory, slot) = place_of(number);
        let chunks = self.directories[directory]
            .get_or_init(|| (0..FIRST_DIRECTORY << directory).map(|_| OnceLock::new()).collect());
        let added = chunks[slot].set(chunk).is_ok();
        assert!(added, "chunks are added once, in order");
        Ok(())
    }
}

impl<const N: usize> Drop for Arena<N> {
    fn drop(&mut self) {
        self.budget.release(MemoryKind::Indexes, self.bytes_used());
    }
}

/// Directory and slot of a chunk: directory k holds the numbers whose sum with `FIRST_DIRECTORY`
/// has its top bit at `FIRST_DIRECTORY << k`.
#[inline(always)]
fn place_of(chunk: usize) -> (usize, usize) {
    let shifted = chunk + FIRST_DIRECTORY;
    let top_bit = shifted.ilog2();
    ((top_bit - FIRST_DIRECTORY.ilog2()) as usize, shifted ^ 1 << top_bit)
}
