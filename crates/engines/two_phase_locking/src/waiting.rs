//! The waiting cell: where one owner learns what became of its request.
//!
//! Role         one per owner; it waits for one request at a time
//! States       undecided -> granted | refused; the owner goes back to undecided with its next
//!              request
//! Concurrency  verdict -> reset by the owner and decided by whoever grants, both with the
//!              bucket's latch of that request held, so that they never race; read by the owner
//!              without it.
//!
//!  - W1  `decide` stores **Release**, the owner's wait loads **Acquire**: what the previous holder
//!    did is seen.
//!  - W2  age -> written by the owner while none of its requests is in the table; read by others
//!    under the latch of a bucket that holds one of its requests: ordered by that latch

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

use hotrow_base::sync::{Parker, spin_for};

const UNDECIDED: u32 = 0;
const GRANTED: u32 = 1;
const REFUSED: u32 = 2;

/// How a wait ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// the lock is held
    Granted,
    /// the policy takes the request back
    Refused,
}

/// See the module.
#[derive(Default, Debug)]
pub struct WaitingCell {
    verdict: AtomicU32,
    age: AtomicU64,
    parker: Parker,
}

impl WaitingCell {
    /// Makes ready for a request. Under the latch of its bucket.
    #[inline]
    pub fn reset(&self) {
        self.verdict.store(UNDECIDED, Ordering::Relaxed); // ordered by the latch
    }

    /// Decides the request. Under the latch of its bucket; [`WaitingCell::wake`] follows.
    pub fn decide(&self, verdict: Verdict) {
        let word = match verdict {
            Verdict::Granted => GRANTED,
            Verdict::Refused => REFUSED,
        };
        self.verdict.store(word, Ordering::Release); // W1
    }

    /// Wakes the owner if it sleeps. It may have gone on long ago: then it is woken in vain, or
    /// not at all.
    pub fn wake(&self) {
        self.parker.notify();
    }

    /// Waits until the request is decided: spins for `spin`, then sleeps. Only the owner calls
    /// this.
    pub fn wait(&self, spin: Duration) -> Verdict {
        // Acquire: W1.
        let is_decided = || self.verdict.load(Ordering::Acquire) != UNDECIDED;
        if !spin.is_zero() {
            spin_for(spin, || is_decided().then_some(()));
        }
        self.parker.wait_for(None, is_decided);
        match self.verdict.load(Ordering::Acquire) {
            GRANTED => Verdict::Granted,
            _ => Verdict::Refused,
        }
    }

    /// Whether the request is decided, for tests.
    #[cfg(test)]
    pub fn is_decided(&self) -> bool {
        self.verdict.load(Ordering::Acquire) != UNDECIDED // W1
    }

    /// When the owner's transaction began; lower is older.
    #[inline]
    pub fn age(&self) -> u64 {
        self.age.load(Ordering::Relaxed) // W2
    }

    /// Sets the age of the owner's transaction.
    #[inline]
    pub fn set_age(&self, age: u64) {
        self.age.store(age, Ordering::Relaxed); // W2
    }
}
