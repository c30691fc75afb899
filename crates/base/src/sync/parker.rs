//! A parker: where one thread sleeps until another has something for it.
//!
//! Role         idle workers, lock threads and executors. [`Parker::park`] waits for a token; a
//!              thread that has several sources of work (rings, a queue) uses [`Parker::wait_for`],
//!              whose wakers pay a fence and a load while it is awake.
//! States       0 empty, 1 token, 2 parked (or about to be)
//!
//! ```text
//!     empty ──park──▶ parked ──unpark: wake──▶ token ──park returns──▶ empty
//!       └──────────────unpark─────────────────▶┘
//! ```
//!
//! Invariants   I1  one thread at a time parks, the owner; anyone may unpark
//!              I2  tokens do not add up: several unparks before a park are one
//! Concurrency  word -> any thread by swap or compare-exchange.
//!
//!  - P1  `unpark` swaps **Release**, the owner takes the token by swap **Acquire**: what was done
//!    before the unpark is seen after the park.
//!  - P2  `notify` and `wait_for` each write (work; the word), pass a **SeqCst fence** and read the
//!    other's: one of the two sees the other, so that either the work is found or the sleeper.
//!
//! Policy       spin, yield, then sleep: `spin_briefly` and its constants in [`spin`](super::spin).

#[cfg(all(test, loom))]
mod loom_tests;
#[cfg(all(test, not(loom)))]
mod tests;

use super::facade::atomic::{Ordering, fence};
use super::futex::Futex;
use super::spin::{Spin, spin_briefly, spin_for};
use crate::clock::Ticks;

const EMPTY: u32 = 0;
const TOKEN: u32 = 1;
const PARKED: u32 = 2;

/// Where one thread sleeps; see the module.
#[derive(Debug)]
pub struct Parker {
    word: Futex,
}

impl Default for Parker {
    fn default() -> Self {
        Self::new()
    }
}

impl Parker {
    /// A parker without a token.
    pub fn new() -> Self {
        Self { word: Futex::new(EMPTY) }
    }

    /// Waits for a token and takes it. Only the owner calls this.
    pub fn park(&self) {
        self.park_at_most(None);
    }

    /// Waits for a token until `deadline`; whether it got one. Only the owner calls this.
    pub fn park_until(&self, deadline: Ticks) -> bool {
        self.park_at_most(Some(deadline))
    }

    /// Gives the owner a token: wakes it, or lets its next `park` return at once.
    pub fn unpark(&self) {
        // Release: P1.
        if self.word.swap(TOKEN, Ordering::Release) == PARKED {
            self.word.wake_one();
        }
    }

    /// Waits until `ready` returns true or `deadline` has passed; the last answer of `ready`. Who
    /// makes it true calls [`Parker::notify`] afterwards. `ready` is called many times and must be
    /// cheap. It may take a token meant for `park`, so an owner uses one of the two. Only the owner
    /// calls this.
    pub fn wait_for(&self, deadline: Option<Ticks>, mut ready: impl FnMut() -> bool) -> bool {
        spin_briefly(|| ready().then_some(())).is_some() || self.sleep_until(deadline, ready)
    }

    /// As [`Parker::wait_for`], after having spun as told instead.
    pub fn spin_then_wait(
        &self,
        spin: Spin,
        deadline: Option<Ticks>,
        mut ready: impl FnMut() -> bool,
    ) -> bool {
        spin_for(spin, || ready().then_some(())).is_some() || self.sleep_until(deadline, ready)
    }

    fn sleep_until(&self, deadline: Option<Ticks>, mut ready: impl FnMut() -> bool) -> bool {
        loop {
            self.word.swap(PARKED, Ordering::Acquire); // a left-over token is as good as none: P2
            fence(Ordering::SeqCst); // P2
            if ready() {
                self.take_token();
                return true;
            }
            if deadline.is_some_and(Ticks::has_passed) {
                self.take_token();
                return ready();
            }
            self.word.wait(PARKED, deadline.map(Ticks::remaining));
            self.take_token();
            if ready() {
                return true;
            }
        }
    }

    /// Wakes the owner if it sleeps in [`Parker::wait_for`]; called after making something ready.
    /// While the owner is awake this writes to no shared line.
    #[inline]
    pub fn notify(&self) {
        fence(Ordering::SeqCst); // P2
        // Relaxed: the fence orders it.
        if self.word.load(Ordering::Relaxed) == PARKED {
            self.notify_parked();
        }
    }

    #[cold]
    fn notify_parked(&self) {
        // Release: P1. Failure: the owner is awake, or another thread wakes it.
        let result =
            self.word.compare_exchange(PARKED, TOKEN, Ordering::Release, Ordering::Relaxed);
        if result.is_ok() {
            self.word.wake_one();
        }
    }

    fn park_at_most(&self, deadline: Option<Ticks>) -> bool {
        if spin_briefly(|| self.has_token().then_some(())).is_some() {
            return self.take_token();
        }
        // Relaxed: nothing is read on its strength; the token is taken by Acquire below.
        let parked =
            self.word.compare_exchange(EMPTY, PARKED, Ordering::Relaxed, Ordering::Relaxed);
        debug_assert_ne!(parked, Err(PARKED), "two threads at one parker (I1)");
        while parked.is_ok() && !self.has_token() {
            if deadline.is_some_and(Ticks::has_passed) {
                break;
            }
            self.word.wait(PARKED, deadline.map(Ticks::remaining));
        }
        self.take_token()
    }

    /// Relaxed: who acts on it takes the token by `take_token`.
    #[inline]
    fn has_token(&self) -> bool {
        self.word.load(Ordering::Relaxed) == TOKEN
    }

    /// Empties the word; whether it held a token. Acquire: P1. A swap rather than a load and a
    /// store, so that a second unpark in between is either taken or kept.
    #[inline]
    fn take_token(&self) -> bool {
        self.word.swap(EMPTY, Ordering::Acquire) == TOKEN
    }
}
