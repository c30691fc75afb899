//! Per-thread counters: one writer each, summed by whoever reads.
//!
//! Role         statistics of every crate; nothing here is ever written by two threads, so counting
//!              costs a plain load and store and no cache line travels
//! Invariants   I1  each [`Counter`] has one writing thread at a time; a second one loses counts,
//!                  nothing worse
//! Concurrency  counter word -> written by its owner, read by anyone -> Relaxed: a count orders
//!              nothing, and a reader wants a recent value, not a consistent cut

#[cfg(all(test, not(loom)))]
mod tests;

use crate::sync::facade::plain_atomic::{AtomicU64, Ordering};
use crossbeam_utils::CachePadded;

/// A count with one writer at a time.
#[derive(Debug, Default)]
#[repr(transparent)]
pub struct Counter(AtomicU64);

impl Counter {
    /// A count of 0.
    pub const fn new() -> Self {
        Self(AtomicU64::new(0))
    }

    /// Adds `amount`; wraps at 2^64. Only the owner calls this.
    #[inline]
    pub fn add(&self, amount: u64) {
        self.0.store(self.get().wrapping_add(amount), Ordering::Relaxed); // I1: no other writer
    }

    /// Adds 1. Only the owner calls this.
    #[inline]
    pub fn increment(&self) {
        self.add(1);
    }

    /// Raises the count to `value` if that is higher. Only the owner calls this.
    #[inline]
    pub fn raise_to(&self, value: u64) {
        if value > self.get() {
            self.0.store(value, Ordering::Relaxed); // I1: no other writer
        }
    }

    /// Sets the count, for gauges such as a queue's length. Only the owner calls this.
    #[inline]
    pub fn set(&self, value: u64) {
        self.0.store(value, Ordering::Relaxed); // I1: no other writer
    }

    /// The count now; a recent value for threads other than the owner.
    #[inline]
    pub fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed) // a count orders nothing
    }
}

/// One `T` per worker, each on cache lines of its own (128 bytes apart: x86-64 fetches lines in
/// pairs).
#[derive(Debug)]
pub struct PerWorker<T> {
    slots: Box<[CachePadded<T>]>,
}

impl<T> PerWorker<T> {
    /// `workers` values made by `make(worker)`.
    pub fn new(workers: usize, mut make: impl FnMut(usize) -> T) -> Self {
        Self { slots: (0..workers).map(|worker| CachePadded::new(make(worker))).collect() }
    }

    /// The value of worker number `worker`; panics when there is no such worker.
    #[inline]
    pub fn of(&self, worker: usize) -> &T {
        &self.slots[worker]
    }

    /// The value of worker number `worker`, or `None` when there is no such worker.
    #[inline]
    pub fn get(&self, worker: usize) -> Option<&T> {
        self.slots.get(worker).map(|slot| &**slot)
    }

    /// Number of workers.
    #[inline]
    pub fn workers(&self) -> usize {
        self.slots.len()
    }

    /// All values in the order of workers.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &T> + DoubleEndedIterator {
        self.slots.iter().map(|slot| &**slot)
    }

    /// The sum of what `count` gives for each worker: a snapshot, not a consistent cut.
    pub fn sum(&self, count: impl Fn(&T) -> u64) -> u64 {
        self.iter().fold(0, |sum, value| sum.wrapping_add(count(value)))
    }

    /// The highest of what `count` gives for each worker; 0 without workers.
    pub fn max(&self, count: impl Fn(&T) -> u64) -> u64 {
        self.iter().map(count).max().unwrap_or(0)
    }
}

impl<T: Default> PerWorker<T> {
    /// `workers` default values.
    pub fn with_defaults(workers: usize) -> Self {
        Self::new(workers, |_| T::default())
    }
}
