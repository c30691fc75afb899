//! A word that threads sleep on until it changes.
//!
//! Role         what latches, parkers and reply slots sleep on; they decide what the word means
//! Invariants   I1  `wait` tests the word and falls asleep as one step as seen by `wake_*`: a waker
//!                  that first changes the word and then wakes is never missed
//! Concurrency  I1 is the kernel's promise on Linux. Elsewhere, and under loom, a mutex held over
//!              test and sleep, and taken by wakers, gives the same
//! Source       Drepper, "Futexes Are Tricky"

use super::facade::atomic::AtomicU32;
use std::ops::Deref;
use std::time::Duration;

/// An `AtomicU32` (it dereferences to one) that can be slept on.
#[derive(Debug)]
pub struct Futex {
    word: AtomicU32,
    #[cfg(any(loom, not(target_os = "linux")))]
    sleepers: Sleepers,
}

impl Deref for Futex {
    type Target = AtomicU32;

    #[inline(always)]
    fn deref(&self) -> &AtomicU32 {
        &self.word
    }
}

impl Default for Futex {
    fn default() -> Self {
        Self::new(0)
    }
}

#[cfg(all(not(loom), target_os = "linux"))]
impl Futex {
    /// A word of `value`.
    pub const fn new(value: u32) -> Self {
        Self { word: AtomicU32::new(value) }
    }

    /// Sleeps while the word is `expected`, at most for `timeout`. May return early for no reason:
    /// callers test the word again.
    pub fn wait(&self, expected: u32, timeout: Option<Duration>) {
        use rustix::thread::futex;
        #[cfg(hotrow_machine)]
        if hotrow_machine::hook::is_running() {
            use super::facade::atomic::Ordering;
            let is_expected = || self.word.load(Ordering::Relaxed) == expected;
            hotrow_machine::hook::wait(self.word.as_ptr().addr(), timeout, is_expected);
            return;
        }
        // A timeout the system cannot represent is centuries long: as good as none.
        let timeout = timeout.and_then(|span| rustix::thread::Timespec::try_from(span).ok());
        // Any error (changed word, signal, time-out) sends the caller back to its test.
        let _ = futex::wait(self.kernels_word(), futex::Flags::PRIVATE, expected, timeout.as_ref());
    }

    /// Wakes one sleeper, if there is one.
    pub fn wake_one(&self) {
        self.wake(1);
    }

    /// Wakes all sleepers.
    pub fn wake_all(&self) {
        self.wake(i32::MAX.unsigned_abs());
    }

    #[cfg(not(hotrow_machine))]
    fn kernels_word(&self) -> &AtomicU32 {
        &self.word
    }

    #[cfg(hotrow_machine)]
    fn kernels_word(&self) -> &std::sync::atomic::AtomicU32 {
        self.word.inner()
    }

    fn wake(&self, count: u32) {
        use rustix::thread::futex;
        #[cfg(hotrow_machine)]
        if hotrow_machine::hook::is_running() {
            hotrow_machine::hook::wake(self.word.as_ptr().addr(), count as usize);
            return;
        }
        // The call fails only for an address that is not mapped; ours is borrowed.
        let _ = futex::wake(self.kernels_word(), futex::Flags::PRIVATE, count);
    }
}

#[cfg(any(loom, not(target_os = "linux")))]
pub use portable::Sleepers;

#[cfg(any(loom, not(target_os = "linux")))]
mod portable {
    use super::{AtomicU32, Duration, Futex};
    use crate::sync::facade::atomic::Ordering;
    use crate::sync::facade::{Condvar, Mutex};

    /// The mutex and condition variable that stand in for the kernel's queue.
    #[derive(Debug)]
    pub struct Sleepers {
        gate: Mutex<()>,
        changed: Condvar,
    }

    impl Futex {
        /// A word of `value`.
        pub fn new(value: u32) -> Self {
            let sleepers = Sleepers { gate: Mutex::new(()), changed: Condvar::new() };
            Self { word: AtomicU32::new(value), sleepers }
        }

        /// Sleeps while the word is `expected`, at most for `timeout`. May return early for no
        /// reason: callers test the word again. (Loom knows no time: it never times out.)
        pub fn wait(&self, expected: u32, timeout: Option<Duration>) {
            let gate = self.sleepers.gate.lock().unwrap_or_else(|poison| poison.into_inner());
            // Relaxed: a waker changed the word before it took the gate (I1).
            if self.word.load(Ordering::Relaxed) != expected {
                return;
            }
            match timeout {
                Some(span) if cfg!(not(loom)) => {
                    drop(self.sleepers.changed.wait_timeout(gate, span));
                }
                _ => drop(self.sleepers.changed.wait(gate)),
            }
        }

        /// Wakes one sleeper, if there is one.
        pub fn wake_one(&self) {
            let _gate = self.sleepers.gate.lock().unwrap_or_else(|poison| poison.into_inner());
            self.sleepers.changed.notify_one();
        }

        /// Wakes all sleepers.
        pub fn wake_all(&self) {
            let _gate = self.sleepers.gate.lock().unwrap_or_else(|poison| poison.into_inner());
            self.sleepers.changed.notify_all();
        }
    }
}
