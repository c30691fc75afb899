//! Reclamation epochs: when memory that was unlinked may be used again.
//!
//! Role         every thread that follows ids out of an index pins an epoch for as long as it
//!              holds them; whoever unlinks a record or node retires its id with the epoch of
//!              that moment and reuses it once every pin is younger. Knows no ids' meaning;
//!              not related to Silo's commit epochs
//! States       a slot is unpinned (0) or pinned at the epoch its worker read
//! Invariants   I1 an id retired at `e` is reused only if `e < safe_epoch()`
//!              I2 `safe_epoch()` is at most the epoch of every pinned slot
//! Concurrency  `current`: any thread may advance it; a read that is too old only delays reuse.
//!              `pinned`, `depth` of a slot: written by the one thread that is this worker,
//!              read by any thread that computes the safe epoch
//! Source       Fraser, "Practical lock-freedom" (2004), section 5.2.3. We differ: advancing
//!              never waits for the pinned (a slow reader holds back reuse, not the clock), and
//!              what is free is derived from the oldest pin instead of from three generations
//!
//! Why it is sound. A reader pins (load `current`, store it in the slot, fence R) and then follows
//! links; a writer unlinks, passes fence W in [`ReclaimEpochs::retire_epoch`], reads the epoch `e`,
//! and later looks at the slots in [`ReclaimEpochs::safe_epoch`].
//!
//! - It does not see the pin: then W precedes R in the total order of fences, so the reader sees
//!   the unlinking and cannot reach the id.
//! - It sees a pin `p <= e`: the id is kept.
//! - It sees a pin `p > e`: had R preceded W, the writer would have read an epoch of at least `p`;
//!   so W precedes R, and the reader sees the unlinking.
//! - A pin that was moved on to a moment stands where a pin taken at that moment would: what is
//!   read since lies behind the moment's own fence R, and until the move the older pin kept more.
//!
//! Checked with loom; its models fail without R, without W, and with `e <= safe_epoch()` in I1.

use std::collections::VecDeque;
use std::marker::PhantomData;

use super::facade::atomic::{
    AtomicU64,
    Ordering::{Acquire, Relaxed, Release, SeqCst},
    fence,
};
use crate::ids::WorkerId;
use crossbeam_utils::CachePadded;

/// A moment of the reclamation clock. The first one is 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ReclaimEpoch(u64);

impl ReclaimEpoch {
    /// The epoch as a number.
    #[must_use]
    pub fn get(self) -> u64 {
        self.0
    }
}

const UNPINNED: u64 = 0;

#[derive(Debug)]
struct Slot {
    /// `UNPINNED` or the epoch at which the worker pinned.
    pinned: AtomicU64,
    /// How many guards the worker holds.
    depth: AtomicU64,
}

impl Slot {
    /// An unpinned slot. (Loom's atomics have no `Default`.)
    fn new() -> Self {
        Self { pinned: AtomicU64::new(UNPINNED), depth: AtomicU64::new(0) }
    }
}

/// The reclamation clock and one slot for each worker.
#[derive(Debug)]
pub struct ReclaimEpochs {
    current: CachePadded<AtomicU64>,
    slots: Box<[CachePadded<Slot>]>,
}

impl ReclaimEpochs {
    /// A clock for the workers `0..workers`.
    #[must_use]
    pub fn new(workers: usize) -> Self {
        Self {
            current: CachePadded::new(AtomicU64::new(1)),
            slots: (0..workers).map(|_| CachePadded::new(Slot::new())).collect(),
        }
    }

    /// Keeps everything that is reachable now from being reused until the guard is dropped.
    ///
    /// A pin inside a pin costs two plain stores; the outermost one costs a full fence, so a thread
    /// that runs many short transactions may hold one pin over a batch of them.
    ///
    /// # Panics
    ///
    /// If `worker` is not below the number of workers. Two threads must not use one worker at a
    /// time: ids might then be reused too early (which is wrong data, not undefined behaviour).
    #[inline]
    pub fn pin(&self, worker: WorkerId) -> EpochGuard<'_> {
        let slot = &*self.slots[worker.index()];
        // Relaxed: only this worker's thread writes its own slot.
        let depth = slot.depth.load(Relaxed);
        slot.depth.store(depth + 1, Relaxed);
        if depth == 0 {
            // Relaxed: an old epoch only delays reuse.
            let epoch = self.current.load(Relaxed);
            // Release, as in the guard's drop: whoever sees this pin and not the one before
            // must also see that the reads under the one before are over.
            slot.pinned.store(epoch, Release);
            // Fence R of the module's proof; partner: W in `retire_epoch`.
            fence(SeqCst);
        }
        EpochGuard { slot, not_send: PhantomData }
    }

    /// A moment to which a pin can be [moved on](EpochGuard::move_on) when its worker has no more
    /// use for what it reached before. Asked by a worker that holds a pin.
    #[must_use]
    pub fn moment(&self) -> ReclaimEpoch {
        let epoch = self.current.load(Relaxed); // as in `pin`
        fence(SeqCst); // R, as in `pin`: what is reached from now on was not unlinked before it
        ReclaimEpoch(epoch)
    }

    /// Moves the clock on by one and returns the new epoch. Never waits.
    pub fn advance(&self) -> ReclaimEpoch {
        ReclaimEpoch(self.current.fetch_add(1, Relaxed) + 1)
    }

    /// The epoch to retire an id with, called after the id was unlinked everywhere. (The result of
    /// [`ReclaimEpochs::advance`] will not do: it is not ordered after the unlinking.)
    #[must_use]
    pub fn retire_epoch(&self) -> ReclaimEpoch {
        // Fence W of the module's proof; partner: R in `pin`.
        fence(SeqCst);
        ReclaimEpoch(self.current.load(Relaxed))
    }

    /// Ids retired before this epoch are out of everybody's reach.
    ///
    /// To be asked by the thread that retired the ids (or one that synchronised with it since).
    #[must_use]
    pub fn safe_epoch(&self) -> ReclaimEpoch {
        // No fence: W, which each id to be reused has passed, orders these loads too.
        let current = self.current.load(Relaxed);
        let oldest = self
            .slots
            .iter()
            // Acquire; partner: the Release stores of `pin` and of the guard's drop. What the
            // reader read was read before we reuse it.
            .map(|slot| slot.pinned.load(Acquire))
            .filter(|&pinned| pinned != UNPINNED)
            .min();
        ReclaimEpoch(oldest.map_or(current, |oldest| oldest.min(current)))
    }

    /// How many workers may pin.
    #[must_use]
    pub fn workers(&self) -> usize {
        self.slots.len()
    }
}

/// A pin: while it lives, no id that its thread can reach is reused.
#[derive(Debug)]
#[must_use = "dropping the guard ends the protection"]
pub struct EpochGuard<'a> {
    slot: &'a Slot,
    /// The depth counter belongs to one thread.
    not_send: PhantomData<*const ()>,
}

impl EpochGuard<'_> {
    /// The epoch this worker is pinned at.
    #[must_use]
    pub fn epoch(&self) -> ReclaimEpoch {
        ReclaimEpoch(self.slot.pinned.load(Relaxed))
    }

    /// Gives up what was reached before a [moment](ReclaimEpochs::moment), and keeps the rest. The
    /// worker holds no other guard.
    pub fn move_on(&self, moment: ReclaimEpoch) {
        debug_assert_eq!(self.slot.depth.load(Relaxed), 1, "another guard would lose its own");
        // Release, as in the drop: the reads that are over stay before it. Protection does not end,
        // since fence R of the moment lies before all reads that are still of use.
        self.slot.pinned.store(moment.0, Release);
    }
}

impl Drop for EpochGuard<'_> {
    #[inline]
    fn drop(&mut self) {
        let depth = self.slot.depth.load(Relaxed) - 1;
        self.slot.depth.store(depth, Relaxed);
        if depth == 0 {
            // Release; partner: the Acquire load in `safe_epoch`.
            self.slot.pinned.store(UNPINNED, Release);
        }
    }
}

/// Ids one worker has unlinked, oldest first, each waiting for its epoch to be safe.
///
/// Keeps its buffer, so that after warm-up nothing is allocated.
#[derive(Debug)]
pub struct Retired<T> {
    queue: VecDeque<(ReclaimEpoch, T)>,
}

impl<T> Default for Retired<T> {
    fn default() -> Self {
        Self { queue: VecDeque::new() }
    }
}

impl<T> Retired<T> {
    /// Appends `id`; `epoch` comes from [`ReclaimEpochs::retire_epoch`].
    ///
    /// An epoch older than the newest one in the list counts as that newest one, which is later
    /// than necessary and never too early.
    pub fn retire(&mut self, epoch: ReclaimEpoch, id: T) {
        let newest = self.queue.back().map_or(epoch, |&(newest, _)| newest.max(epoch));
        self.queue.push_back((newest, id));
    }

    /// Takes out, oldest first, all ids retired before `safe`.
    pub fn drain_safe(&mut self, safe: ReclaimEpoch, mut reuse: impl FnMut(T)) {
        while let Some((_, id)) = self.queue.pop_front_if(|&mut (epoch, _)| epoch < safe) {
            reuse(id);
        }
    }

    /// How many ids wait.
    #[must_use]
    pub fn len(&self) -> usize {
        self.queue.len()
    }

    /// Whether none waits.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }
}

#[cfg(all(test, loom))]
mod loom_tests;
#[cfg(all(test, not(loom)))]
mod tests;
