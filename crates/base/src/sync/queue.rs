//! A bounded queue of many producers and many consumers.
//!
//! Role         the way in: client invocations on their way to workers. [`BoundedQueue`] never
//!              waits; [`BlockingQueue`] waits by spinning briefly and then sleeping. Threads of an
//!              engine talk through [`spsc`](super::spsc) rings instead, for here every push and
//!              pop writes a line that all share.
//! States       of a slot at index i, by its sequence number, for the lap's position p = i + k n:
//!              p free, p + 1 full, p + n free for the next lap. Of the queue: open, closed (bit 0
//!              of `tail`), drained (closed and head = tail)
//! Invariants   I1  no push succeeds after `close`: the flag and the position are one word
//!              I2  a value is seen by one pop; pops see values in the order of their positions
//! Concurrency  field -> who -> right
//!
//!  - `tail`, `head` -> claimed by compare-exchange, Relaxed: a position alone carries no value.
//!  - slot's value -> whoever claimed its position, until it stores the sequence number. Store
//!    **Release**, load **Acquire** (P1): the number hands the slot over in both directions.
//!
//! Source       Vyukov's bounded MPMC queue; the closing bit as in crossbeam and concurrent-queue

#[cfg(all(test, loom))]
mod loom_tests;
#[cfg(all(test, not(loom)))]
mod tests;

mod blocking;

pub use blocking::BlockingQueue;

use super::facade::UnsafeCell;
use super::facade::atomic::{AtomicUsize, Ordering};
use super::spin::SpinWait;
use crossbeam_utils::CachePadded;
use std::fmt;
use std::mem::MaybeUninit;

/// Why a push gave its value back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PushError<T> {
    /// The queue was full.
    Full(T),
    /// The queue is closed and will never take a value again.
    Closed(T),
}

impl<T> PushError<T> {
    /// The value given back.
    pub fn into_value(self) -> T {
        match self {
            Self::Full(value) | Self::Closed(value) => value,
        }
    }
}

/// Why a pop gave nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PopError {
    /// Nothing was in the queue, or the next value is still being written.
    Empty,
    /// The queue is closed and every value was taken: nothing will ever come.
    Drained,
}

const CLOSED: usize = 1;
/// Positions in `tail` count in steps of this, above the closing bit.
const STEP: usize = 2;

struct Slot<T> {
    sequence: AtomicUsize,
    value: UnsafeCell<MaybeUninit<T>>,
}

/// A bounded queue that never waits.
pub struct BoundedQueue<T> {
    /// Twice the position of the next push, plus the closing bit.
    tail: CachePadded<AtomicUsize>,
    /// Twice the position of the next pop.
    head: CachePadded<AtomicUsize>,
    slots: Box<[Slot<T>]>,
}

// SAFETY: a slot's value is reached only by the thread that claimed its position, and values move
// from the pushing to the popping thread, so they must be Send.
unsafe impl<T: Send> Sync for BoundedQueue<T> {}

impl<T> BoundedQueue<T> {
    /// A queue for at least `capacity` values (rounded up to a power of two, at least 2). All its
    /// memory is allocated here. Panics when `capacity` is 0 or above 2^30.
    pub fn new(capacity: usize) -> Self {
        assert!((1..=1 << 30).contains(&capacity), "a queue holds 1 to 2^30, not {capacity}");
        // At least 2: with one slot, "full" and "free for the next lap" are one number.
        let slots = capacity.next_power_of_two().max(2);
        let slot = |index| Slot {
            sequence: AtomicUsize::new(index),
            value: UnsafeCell::new(MaybeUninit::uninit()),
        };
        Self {
            tail: CachePadded::new(AtomicUsize::new(0)),
            head: CachePadded::new(AtomicUsize::new(0)),
            slots: (0..slots).map(slot).collect(),
        }
    }

    /// Appends `value`, or gives it back when the queue is full or closed.
    pub fn try_push(&self, value: T) -> Result<(), PushError<T>> {
        let mut tail = self.tail.load(Ordering::Relaxed); // checked by the compare-exchange
        let mut spin = SpinWait::new();
        loop {
            if tail & CLOSED != 0 {
                return Err(PushError::Closed(value));
            }
            let position = tail / STEP;
            let slot = self.slot(position);
            let lag = lag(slot.sequence.load(Ordering::Acquire), position); // P1
            if lag == 0 {
                match Self::claim(&self.tail, tail) {
                    Ok(()) => {
                        // SAFETY: the sequence number said the slot is free at this position, and
                        // the compare-exchange gave the position to this thread alone.
                        slot.value.with_mut(|cell| unsafe { (*cell).write(value) });
                        slot.sequence.store(after(position, 1), Ordering::Release); // P1
                        return Ok(());
                    }
                    Err(current) => tail = current,
                }
                continue;
            }
            // Behind: the slot still holds the last lap's value, unless the position is stale.
            let current = self.tail.load(Ordering::Relaxed);
            if lag < 0 && current == tail {
                return Err(PushError::Full(value));
            }
            tail = current;
            spin.wait();
        }
    }

    /// The oldest value, or why there is none.
    pub fn try_pop(&self) -> Result<T, PopError> {
        let mut head = self.head.load(Ordering::Relaxed); // checked by the compare-exchange
        let mut spin = SpinWait::new();
        loop {
            let position = head / STEP;
            let slot = self.slot(position);
            let lag = lag(slot.sequence.load(Ordering::Acquire), after(position, 1)); // P1
            if lag == 0 {
                match Self::claim(&self.head, head) {
                    Ok(()) => {
                        // SAFETY: the sequence number said the slot is full at this position, and
                        // the compare-exchange gave the position to this thread alone.
                        let value = slot.value.with(|cell| unsafe { (*cell).assume_init_read() });
                        let next_lap = after(position, self.slots.len());
                        slot.sequence.store(next_lap, Ordering::Release); // P1
                        return Ok(value);
                    }
                    Err(current) => head = current,
                }
                continue;
            }
            let current = self.head.load(Ordering::Relaxed);
            if lag < 0 && current == head {
                // A closed tail never moves again, so equality is final. Relaxed: the word alone
                // decides.
                let drained = self.tail.load(Ordering::Relaxed) == head | CLOSED;
                return Err(if drained { PopError::Drained } else { PopError::Empty });
            }
            head = current;
            spin.wait();
        }
    }

    /// Closes the queue: pushes fail from now on, pops take what is left. Whether this call did it.
    pub fn close(&self) -> bool {
        // Relaxed: the flag orders nothing but pushes, which use the same word.
        self.tail.fetch_or(CLOSED, Ordering::Relaxed) & CLOSED == 0
    }

    /// Whether the queue is closed at this moment.
    pub fn is_closed(&self) -> bool {
        self.tail.load(Ordering::Relaxed) & CLOSED != 0 // a hint orders nothing
    }

    /// About how many values wait; exact when nothing moves.
    pub fn len(&self) -> usize {
        // Relaxed, and head first: both only grow, so the difference is not negative.
        let head = self.head.load(Ordering::Relaxed) / STEP;
        let tail = self.tail.load(Ordering::Relaxed) / STEP;
        (after(tail, POSITIONS - head)).min(self.slots.len())
    }

    /// Whether about nothing waits.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How many values fit.
    pub fn capacity(&self) -> usize {
        self.slots.len()
    }

    fn claim(word: &AtomicUsize, current: usize) -> Result<(), usize> {
        let next = current.wrapping_add(STEP);
        // Relaxed: the sequence numbers order the values (P1).
        word.compare_exchange_weak(current, next, Ordering::Relaxed, Ordering::Relaxed).map(drop)
    }

    #[inline(always)]
    fn slot(&self, position: usize) -> &Slot<T> {
        &self.slots[position & (self.slots.len() - 1)]
    }
}

/// Positions and sequence numbers count modulo this, since `tail` keeps a flag beside them.
const POSITIONS: usize = 1 << (usize::BITS - 1);

fn after(position: usize, count: usize) -> usize {
    position.wrapping_add(count) & (POSITIONS - 1)
}

/// How far `sequence` is ahead of `position`, modulo [`POSITIONS`]: below 0 if behind.
fn lag(sequence: usize, position: usize) -> isize {
    // Both doubled, so that the difference wraps at the word's size and keeps its sign.
    (sequence * STEP).wrapping_sub(position * STEP).cast_signed() / 2
}

impl<T> Drop for BoundedQueue<T> {
    fn drop(&mut self) {
        while let Ok(value) = self.try_pop() {
            drop(value);
        }
    }
}

impl<T> fmt::Debug for BoundedQueue<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BoundedQueue")
            .field("len", &self.len())
            .field("capacity", &self.capacity())
            .field("is_closed", &self.is_closed())
            .finish()
    }
}
