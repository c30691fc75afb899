//! A bounded latch-free ring between one producer and one consumer.
//!
//! Role         the message channel of engines whose threads share nothing (ORTHRUS: one per pair
//!              of threads and direction); it is bounded, so a full ring is back-pressure
//! States       positions count up for ever and wrap; a slot is its position's low bits
//!
//! ```text
//!      freed            waiting            pushed, unpublished        free
//!     ───────┬─────────────────────────┬─────────────────────┬────────────────
//!          head (consumer)       tail (producer)      pushed (producer's own)
//! ```
//!
//! Invariants   I1  head <= tail <= pushed <= head + capacity (asserted in `push` and `pop`)
//!              I2  slots in [head, pushed) hold a value, all others none
//! Concurrency  field -> who -> right
//!
//!  - slot in [tail, head + capacity) -> the producer alone; slot in [head, tail) -> the consumer
//!    alone. Ownership passes by the two stores below.
//!  - `tail` -> stored by the producer **Release** after the values, loaded by the consumer
//!    **Acquire** before it reads them (P1).
//!  - `head` -> stored by the consumer **Release** after it took a value, loaded by the producer
//!    **Acquire** before it writes the slot again (P2).
//!  - each side keeps a copy of the other's position and looks again only when the copy says full
//!    or empty, so that the two lines travel once per batch and not once per message.
//!
//! Source       Lamport's ring; Lee et al., "A Lock-Free, Cache-Efficient Shared Ring Buffer"
//!              (MCRingBuffer: copied positions, batched publication). We differ: the consumer
//!              publishes `head` with every value, or with every few that it takes at once, and
//!              never waits with it until a batch is full: a producer blocked on values that were
//!              long taken could close a cycle of full rings.

#[cfg(all(test, loom))]
mod loom_tests;
#[cfg(all(test, not(loom)))]
mod tests;

use super::facade::atomic::{AtomicUsize, Ordering};
use super::facade::{Arc, UnsafeCell};
use crossbeam_utils::CachePadded;
use std::fmt;
use std::mem::MaybeUninit;

/// A ring for at least `capacity` values (rounded up to a power of two), and its two ends. All
/// memory is allocated here. Panics when `capacity` is 0 or above 2^31.
pub fn ring<T: Send>(capacity: usize) -> (Producer<T>, Consumer<T>) {
    assert!((1..=1 << 31).contains(&capacity), "a ring holds 1 to 2^31 values, not {capacity}");
    let slots = capacity.next_power_of_two();
    let ring = Arc::new(Ring {
        head: CachePadded::new(AtomicUsize::new(0)),
        tail: CachePadded::new(AtomicUsize::new(0)),
        slots: (0..slots).map(|_| UnsafeCell::new(MaybeUninit::uninit())).collect(),
    });
    let producer = Producer { ring: Arc::clone(&ring), pushed: 0, published: 0, head_seen: 0 };
    (producer, Consumer { ring, head: 0, tail_seen: 0 })
}

struct Ring<T> {
    head: CachePadded<AtomicUsize>,
    tail: CachePadded<AtomicUsize>,
    slots: Box<[UnsafeCell<MaybeUninit<T>>]>,
}

// SAFETY: each slot is reached by one end at a time (module, "Concurrency"), and its value moves
// from the producer's thread to the consumer's, so it must be Send.
unsafe impl<T: Send> Sync for Ring<T> {}

impl<T> Ring<T> {
    #[inline(always)]
    fn slot(&self, position: usize) -> &UnsafeCell<MaybeUninit<T>> {
        &self.slots[position & (self.slots.len() - 1)]
    }
}

impl<T> Drop for Ring<T> {
    fn drop(&mut self) {
        // Relaxed: both ends are gone, and the Arc's last decrement ordered what they did.
        let tail = self.tail.load(Ordering::Relaxed);
        let mut position = self.head.load(Ordering::Relaxed);
        while position != tail {
            // SAFETY: by I2 the slot holds a value; no one else can reach it. (The producer
            // published everything when it was dropped.)
            self.slot(position).with_mut(|slot| unsafe { (*slot).assume_init_drop() });
            position = position.wrapping_add(1);
        }
    }
}

/// The end that pushes. Dropping it publishes what was pushed.
pub struct Producer<T> {
    ring: Arc<Ring<T>>,
    /// Position of the next push.
    pushed: usize,
    /// The ring's `tail`, which only this end stores.
    published: usize,
    /// The ring's `head` when last looked at: the true one is the same or later.
    head_seen: usize,
}

impl<T> Producer<T> {
    /// Appends `value`, not yet visible to the consumer; gives it back when the ring is full.
    #[inline]
    pub fn push(&mut self, value: T) -> Result<(), T> {
        let capacity = self.capacity();
        if self.pushed.wrapping_sub(self.head_seen) == capacity {
            self.look_at_head();
            if self.pushed.wrapping_sub(self.head_seen) == capacity {
                return Err(value);
            }
        }
        debug_assert!(self.pushed.wrapping_sub(self.head_seen) < capacity, "I1");
        // SAFETY: the position is within head + capacity, so by P2 the consumer has taken what was
        // in the slot and never reads it again before the position is published.
        self.ring.slot(self.pushed).with_mut(|slot| unsafe { (*slot).write(value) });
        self.pushed = self.pushed.wrapping_add(1);
        Ok(())
    }

    /// Makes everything pushed so far visible to the consumer.
    #[inline]
    pub fn publish(&mut self) {
        if self.published != self.pushed {
            self.ring.tail.store(self.pushed, Ordering::Release); // P1
            self.published = self.pushed;
        }
    }

    /// Appends `value` and makes it visible; gives it back when the ring is full. What was pushed
    /// before becomes visible in either case, or a full ring would never be emptied.
    #[inline]
    pub fn try_push(&mut self, value: T) -> Result<(), T> {
        let result = self.push(value);
        self.publish();
        result
    }

    /// How many values can be pushed for certain; more when the consumer is at work.
    #[inline]
    pub fn free_slots(&mut self) -> usize {
        self.look_at_head();
        self.capacity() - self.pushed.wrapping_sub(self.head_seen)
    }

    /// How many values were pushed and not yet published.
    #[inline]
    pub fn unpublished(&self) -> usize {
        self.pushed.wrapping_sub(self.published)
    }

    /// How many values the ring holds at most.
    #[inline]
    pub fn capacity(&self) -> usize {
        self.ring.slots.len()
    }

    #[inline]
    fn look_at_head(&mut self) {
        self.head_seen = self.ring.head.load(Ordering::Acquire); // P2
    }
}

impl<T> Drop for Producer<T> {
    fn drop(&mut self) {
        self.publish();
    }
}

/// The end that takes values, in the order they were pushed.
pub struct Consumer<T> {
    ring: Arc<Ring<T>>,
    /// The ring's `head`, which only this end stores.
    head: usize,
    /// The ring's `tail` when last looked at: the true one is the same or later.
    tail_seen: usize,
}

impl<T> Consumer<T> {
    /// The oldest value, taken out of the ring; `None` when nothing is published.
    #[inline]
    pub fn pop(&mut self) -> Option<T> {
        if !self.has_next() {
            return None;
        }
        // SAFETY: head < tail, so by P1 and I2 the slot holds a value; it is read once, for head
        // moves past it.
        let value = self.ring.slot(self.head).with(|slot| unsafe { (*slot).assume_init_read() });
        self.head = self.head.wrapping_add(1);
        self.ring.head.store(self.head, Ordering::Release); // P2
        Some(value)
    }

    /// Takes the oldest values, `most` at most, in their order; how many. The producer sees their
    /// slots free when all of them have been taken, so that the position travels once.
    #[inline]
    pub fn take(&mut self, most: usize, mut each: impl FnMut(T)) -> usize {
        if self.tail_seen.wrapping_sub(self.head) < most {
            self.look_at_tail();
        }
        let count = self.tail_seen.wrapping_sub(self.head).min(most);
        if count == 0 {
            return 0;
        }
        let taking = Taking(self);
        for _ in 0..count {
            let slot = taking.0.ring.slot(taking.0.head);
            // SAFETY: as in `pop`: head < tail. Should `each` panic, head has moved past the value,
            // and is published when `taking` is dropped.
            let value = slot.with(|slot| unsafe { (*slot).assume_init_read() });
            taking.0.head = taking.0.head.wrapping_add(1);
            each(value);
        }
        count
    }

    /// The oldest value, left in the ring; `None` when nothing is published.
    #[inline]
    pub fn peek(&mut self) -> Option<&T> {
        if !self.has_next() {
            return None;
        }
        // SAFETY: as in `pop`; the borrow of `self` keeps the value in place.
        Some(self.ring.slot(self.head).with(|slot| unsafe { (*slot).assume_init_ref() }))
    }

    /// How many values are published and not taken.
    #[inline]
    pub fn len(&mut self) -> usize {
        self.look_at_tail();
        self.tail_seen.wrapping_sub(self.head)
    }

    /// Whether nothing is published.
    #[inline]
    pub fn is_empty(&mut self) -> bool {
        !self.has_next()
    }

    /// How many values the ring holds at most.
    #[inline]
    pub fn capacity(&self) -> usize {
        self.ring.slots.len()
    }

    #[inline]
    fn has_next(&mut self) -> bool {
        if self.head == self.tail_seen {
            self.look_at_tail();
        }
        debug_assert!(self.tail_seen.wrapping_sub(self.head) <= self.capacity(), "I1");
        self.head != self.tail_seen
    }

    #[inline]
    fn look_at_tail(&mut self) {
        self.tail_seen = self.ring.tail.load(Ordering::Acquire); // P1
    }
}

/// A consumer whose `head` has moved on, unpublished.
struct Taking<'a, T>(&'a mut Consumer<T>);

impl<T> Drop for Taking<'_, T> {
    #[inline]
    fn drop(&mut self) {
        self.0.ring.head.store(self.0.head, Ordering::Release); // P2
    }
}

impl<T> fmt::Debug for Producer<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Producer")
            .field("pushed", &self.pushed)
            .field("published", &self.published)
            .finish_non_exhaustive()
    }
}

impl<T> fmt::Debug for Consumer<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Consumer").field("head", &self.head).finish_non_exhaustive()
    }
}
