//! A reply slot: where one caller waits for one answer, again and again.
//!
//! Role         a client (or an execution thread) keeps one, sends a reference to it with its
//!              request, and waits; nothing is allocated per request
//! States       low bits of one word, plus SLEPT_ON while someone may sleep
//!
//! ```text
//!     empty ──complete──▶ writing ──▶ full ──take──▶ taking ──▶ empty
//! ```
//!
//! Invariants   I1  the value is there exactly in state full; it is touched only by the thread
//!                  that moved the word to writing or taking
//! Concurrency  word -> compare-exchange. Entering writing and taking is **Acquire**, leaving them
//!              **Release**: each hand-over of the value is ordered, in both directions. Misuse (a
//!              second answer, two takers) is refused by the same step, so nothing here is unsafe
//!              to call

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
use std::mem::MaybeUninit;

const EMPTY: u32 = 0;
const WRITING: u32 = 1;
const FULL: u32 = 2;
const TAKING: u32 = 3;
const STATE: u32 = 3;
const SLEPT_ON: u32 = 4;

/// A reusable place for one answer; see the module.
pub struct ReplySlot<T> {
    word: Futex,
    value: UnsafeCell<MaybeUninit<T>>,
}

// SAFETY: by I1 one thread at a time touches the value, and it moves from the completing to the
// taking thread, so it must be Send.
unsafe impl<T: Send> Sync for ReplySlot<T> {}

impl<T> Default for ReplySlot<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T> ReplySlot<T> {
    /// An empty slot.
    pub fn new() -> Self {
        Self { word: Futex::new(EMPTY), value: UnsafeCell::new(MaybeUninit::uninit()) }
    }

    /// Puts the answer in and wakes who waits for it; gives it back when an answer is there that
    /// nobody took.
    pub fn complete(&self, value: T) -> Result<(), T> {
        if !self.enter(EMPTY, WRITING) {
            return Err(value);
        }
        // SAFETY: this thread moved the word to writing (I1), and the slot was empty.
        self.value.with_mut(|cell| unsafe { (*cell).write(value) });
        // Release: partner is the Acquire of the taker's `enter`.
        if self.word.swap(FULL, Ordering::Release) & SLEPT_ON != 0 {
            self.word.wake_all();
        }
        Ok(())
    }

    /// The answer if it is there.
    pub fn try_take(&self) -> Option<T> {
        if !self.enter(FULL, TAKING) {
            return None;
        }
        // SAFETY: this thread moved the word to taking (I1), and the slot was full.
        let value = self.value.with(|cell| unsafe { (*cell).assume_init_read() });
        // Release: partner is the Acquire of the next completer's `enter`. The flag is kept, for a
        // second taker, though a mistake, may sleep.
        self.word.fetch_and(!STATE, Ordering::Release);
        Some(value)
    }

    /// Waits for the answer and takes it. One thread waits at a time; a second one gets the next
    /// answer, if any.
    pub fn wait(&self) -> T {
        loop {
            if let Some(value) = self.wait_at_most(None) {
                return value;
            }
        }
    }

    /// Waits for the answer until `deadline`. After `None` the answer may still come: it must be
    /// taken before the slot is used for another request.
    pub fn wait_until(&self, deadline: Ticks) -> Option<T> {
        self.wait_at_most(Some(deadline))
    }

    /// Whether an answer is there at this moment; a hint.
    pub fn is_full(&self) -> bool {
        self.word.load(Ordering::Relaxed) & STATE == FULL // a hint orders nothing
    }

    fn wait_at_most(&self, deadline: Option<Ticks>) -> Option<T> {
        if let Some(value) = spin_briefly(|| self.try_take()) {
            return Some(value);
        }
        loop {
            // Relaxed: it only leaves a mark. The mark and the state are one word, so the completer
            // either sees the mark or has already made the slot full.
            let word = self.word.fetch_or(SLEPT_ON, Ordering::Relaxed) | SLEPT_ON;
            if let Some(value) = self.try_take() {
                return Some(value);
            }
            if deadline.is_some_and(Ticks::has_passed) {
                return None;
            }
            if word & STATE != FULL {
                self.word.wait(word, deadline.map(Ticks::remaining));
            }
        }
    }

    /// Moves the word from state `from` to state `to`, keeping the mark; `false` in another state.
    fn enter(&self, from: u32, to: u32) -> bool {
        let mut word = self.word.load(Ordering::Relaxed); // checked by the compare-exchange
        while word & STATE == from {
            let next = (word & !STATE) | to;
            // Acquire: partner is the Release that left the last writing or taking.
            match self.word.compare_exchange_weak(word, next, Ordering::Acquire, Ordering::Relaxed)
            {
                Ok(_) => return true,
                Err(current) => word = current,
            }
        }
        false
    }
}

impl<T> Drop for ReplySlot<T> {
    fn drop(&mut self) {
        drop(self.try_take());
    }
}

impl<T> fmt::Debug for ReplySlot<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ReplySlot").field("is_full", &self.is_full()).finish_non_exhaustive()
    }
}
