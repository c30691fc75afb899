//! A latch: a small mutex that spins briefly and then sleeps.
//!
//! Role         rare paths and short critical sections where readers must exclude each other too;
//!              hot read paths use [`VersionLatch`](super::VersionLatch)
//! States       0 free, 1 held, 2 held and perhaps slept on
//!
//! ```text
//!     free ──lock──▶ held ──another lock──▶ held, slept on ──unlock: wake one──▶ free
//!      ▲───unlock─────┘
//! ```
//!
//! Invariants   I1  a sleeper's word is 2: who sleeps has set it, and who wakes up sets it again
//!                  because it cannot know whether others sleep
//!              I2  no poisoning: a panic in a critical section is a bug, and ends the process
//!                  ([`crate::panics`])
//! Concurrency  word -> any thread by compare-exchange or swap. Every locking one is **Acquire**,
//!              paired with the **Release** swap of `unlock`
//! Source       Drepper, "Futexes Are Tricky", mutex 3

#[cfg(all(test, loom))]
mod loom_tests;
#[cfg(all(test, not(loom)))]
mod tests;

use super::facade::UnsafeCell;
use super::facade::atomic::Ordering;
use super::futex::Futex;
use super::spin::spin_briefly;
use crate::clock::Ticks;
use std::fmt;
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};
use std::time::Duration;

const FREE: u32 = 0;
const HELD: u32 = 1;
const SLEPT_ON: u32 = 2;

/// A latch without data: 4 bytes on Linux.
#[derive(Debug)]
pub struct RawLatch {
    word: Futex,
}

impl Default for RawLatch {
    fn default() -> Self {
        Self::new()
    }
}

impl RawLatch {
    /// A free latch.
    #[cfg(all(not(loom), target_os = "linux"))]
    pub const fn new() -> Self {
        Self { word: Futex::new(FREE) }
    }

    /// A free latch.
    #[cfg(any(loom, not(target_os = "linux")))]
    pub fn new() -> Self {
        Self { word: Futex::new(FREE) }
    }

    /// Waits for the latch; it is held until the guard is dropped.
    #[inline]
    pub fn lock(&self) -> RawLatchGuard<'_> {
        if !self.acquire_free() {
            self.lock_slow();
        }
        RawLatchGuard::new(self)
    }

    /// The latch if it is free now.
    #[inline]
    pub fn try_lock(&self) -> Option<RawLatchGuard<'_>> {
        self.acquire_free().then(|| RawLatchGuard::new(self))
    }

    /// As [`RawLatch::lock`], but gives up after `span`.
    pub fn lock_within(&self, span: Duration) -> Option<RawLatchGuard<'_>> {
        let deadline = Ticks::from_now(span);
        // As in `lock_slow`. Who gives up leaves a 2, by which a wake-up may be for nobody.
        while self.word.swap(SLEPT_ON, Ordering::Acquire) != FREE {
            let left = deadline.remaining();
            if left.is_zero() {
                return None;
            }
            self.word.wait(SLEPT_ON, Some(left));
        }
        Some(RawLatchGuard::new(self))
    }

    /// Whether some thread holds the latch at this moment; a hint.
    #[inline]
    pub fn is_locked(&self) -> bool {
        self.word.load(Ordering::Relaxed) != FREE // a hint orders nothing
    }

    #[inline]
    fn acquire_free(&self) -> bool {
        // Acquire: partner in `unlock`.
        self.word.compare_exchange(FREE, HELD, Ordering::Acquire, Ordering::Relaxed).is_ok()
    }

    #[cold]
    fn lock_slow(&self) {
        let spun = spin_briefly(|| {
            // Relaxed: only decides whether the compare-exchange is worth a try.
            let is_free = self.word.load(Ordering::Relaxed) == FREE;
            (is_free && self.acquire_free()).then_some(())
        });
        if spun.is_some() {
            return;
        }
        // Acquire: partner in `unlock`. It stores 2 even when it gets the latch (I1).
        while self.word.swap(SLEPT_ON, Ordering::Acquire) != FREE {
            self.word.wait(SLEPT_ON, None);
        }
    }

    #[inline]
    pub(super) fn unlock(&self) {
        // Release: partner of every Acquire above.
        if self.word.swap(FREE, Ordering::Release) == SLEPT_ON {
            self.word.wake_one();
        }
    }
}

/// A held [`RawLatch`]; dropping it releases the latch. It stays on its thread.
#[derive(Debug)]
#[must_use = "the latch is released at once when its guard is not kept"]
pub struct RawLatchGuard<'a> {
    latch: &'a RawLatch,
    stays_on_thread: PhantomData<*const ()>,
}

impl<'a> RawLatchGuard<'a> {
    #[inline]
    fn new(latch: &'a RawLatch) -> Self {
        Self { latch, stays_on_thread: PhantomData }
    }
}

impl Drop for RawLatchGuard<'_> {
    #[inline]
    fn drop(&mut self) {
        self.latch.unlock();
    }
}

/// A latch and the data it protects.
#[derive(Default)]
pub struct Latch<T> {
    raw: RawLatch,
    data: UnsafeCell<T>,
}

// SAFETY: the data is reached by one thread at a time, the latch's holder, and handed from one to
// the next through unlock and lock; so it must be Send, and need not be Sync.
unsafe impl<T: Send> Sync for Latch<T> {}

impl<T> Latch<T> {
    /// A free latch around `data`.
    #[cfg(all(not(loom), target_os = "linux"))]
    pub const fn new(data: T) -> Self {
        Self { raw: RawLatch::new(), data: UnsafeCell::new(data) }
    }

    /// A free latch around `data`.
    #[cfg(any(loom, not(target_os = "linux")))]
    pub fn new(data: T) -> Self {
        Self { raw: RawLatch::new(), data: UnsafeCell::new(data) }
    }

    /// Waits for the latch; it is held until the guard is dropped.
    #[inline]
    pub fn lock(&self) -> LatchGuard<'_, T> {
        LatchGuard { raw: self.raw.lock(), data: &self.data }
    }

    /// The data if the latch is free now.
    #[inline]
    pub fn try_lock(&self) -> Option<LatchGuard<'_, T>> {
        Some(LatchGuard { raw: self.raw.try_lock()?, data: &self.data })
    }

    /// The data, given up by the latch.
    pub fn into_inner(self) -> T {
        self.data.into_inner()
    }
}

impl<T> fmt::Debug for Latch<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Latch").field("is_locked", &self.raw.is_locked()).finish_non_exhaustive()
    }
}

/// The data of a held [`Latch`]; dropping it releases the latch.
#[must_use = "the latch is released at once when its guard is not kept"]
pub struct LatchGuard<'a, T> {
    /// Dropped with the guard, after the last use of `data`.
    #[expect(dead_code, reason = "kept for its drop")]
    raw: RawLatchGuard<'a>,
    data: &'a UnsafeCell<T>,
}

impl<T: fmt::Debug> fmt::Debug for LatchGuard<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&**self, f)
    }
}

// SAFETY: a shared guard gives out `&T` and nothing else, so it is as shareable as `&T`; the field
// that keeps it from being Send is a marker.
unsafe impl<T: Sync> Sync for LatchGuard<'_, T> {}

impl<T> Deref for LatchGuard<'_, T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        // SAFETY: the latch is held until the guard is dropped, so no other thread reaches the
        // data; `&mut T` is only given out for `&mut self`.
        self.data.with(|data| unsafe { &*data })
    }
}

impl<T> DerefMut for LatchGuard<'_, T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: as in `deref`, and `&mut self` excludes any other reference made by this guard.
        self.data.with_mut(|data| unsafe { &mut *data })
    }
}
