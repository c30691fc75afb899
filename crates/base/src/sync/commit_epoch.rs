//! Commit epochs: the clock of group commit.
//!
//! Role         a committing worker enters the current epoch, takes its position and appends its
//!              log entry, and leaves; the log writer ends an epoch when it is ready to write it.
//!              Knows neither entries nor files; not related to reclamation epochs
//! States       a worker is outside (0), or inside the epoch it entered; it may stay there while
//!              the next one goes on, which cannot end before, and move on into that
//! Invariants   I1 when [`CommitEpochs::advance`] returns `e`, nobody is inside `e` or an older
//!              epoch, and nobody will enter one again: what workers kept for `e` is the caller's
//!              I2 who enters after another worker's stay (as ordered by a lock that passed between
//!              them, say) enters the same epoch or a younger one. So if a transaction depends on
//!              another, it is not in an older epoch, and all epochs up to one are a consistent cut
//! Concurrency  `current` -> stored by the one thread that advances; `inside[i]` -> stored by
//!              worker i alone.
//!
//!  - E1  `enter` stores `inside` and then loads `current`; `advance` stores `current` and then
//!    loads `inside`; both pass a **SeqCst fence** in between (store buffering): one of them sees
//!    the other, so a worker that `advance` did not see finds the epoch ended and enters the next.
//!  - E2  `leave` stores **Release**, `advance` loads **Acquire**: what was kept for the epoch is
//!    seen by who ended it. `advance` stores `current` **Release**, `enter` loads **Acquire**: who
//!    enters `e + 2` sees that what belonged to `e` was taken (two buffers are enough).
//!
//! Source       Silo's epochs (Tu et al. 2013, 4.1 and 4.10). We differ: the epoch is not advanced
//!              by time but as soon as the disk is free, and a worker is inside for the few hundred
//!              instructions of its commit only, so that no long transaction holds back the others

use super::facade::atomic::{AtomicU64, Ordering, fence};
use super::spin::SpinWait;
use crossbeam_utils::CachePadded;

const OUTSIDE: u64 = 0;

/// The present epoch, and for each worker a word that says in which one it is inside.
#[derive(Debug)]
pub struct CommitEpochs {
    current: CachePadded<AtomicU64>,
    inside: Box<[CachePadded<AtomicU64>]>,
}

impl CommitEpochs {
    /// A clock for the workers `0..workers` that stands at `first`.
    ///
    /// # Panics
    ///
    /// If `first` is 0, which stands for outside.
    #[must_use]
    pub fn new(workers: usize, first: u64) -> Self {
        assert_ne!(first, OUTSIDE, "epochs are counted from 1");
        Self {
            current: CachePadded::new(AtomicU64::new(first)),
            inside: (0..workers).map(|_| CachePadded::new(AtomicU64::new(OUTSIDE))).collect(),
        }
    }

    /// The epoch that is entered now; it may be another one the next moment.
    #[must_use]
    pub fn current(&self) -> u64 {
        self.current.load(Ordering::Relaxed) // a hint
    }

    /// Enters the current epoch, which does not end before the worker leaves. Never waits for
    /// anybody; goes round again when the epoch ends meanwhile.
    #[inline]
    pub fn enter(&self, worker: usize) -> u64 {
        let inside = &self.inside[worker];
        let mut epoch = self.current.load(Ordering::Acquire); // E2
        loop {
            // Release, as in `leave`: who sees this stay and not the end of the one before must
            // see all the same what that one kept.
            inside.store(epoch, Ordering::Release); // E2; before the load below: E1
            fence(Ordering::SeqCst); // E1
            let now = self.current.load(Ordering::Acquire); // E2
            if now == epoch {
                return epoch;
            }
            epoch = now;
        }
    }

    /// The epoch that is entered now, asked by a worker that is inside one and stays there. It is
    /// that or the one behind it, and neither ends before the worker leaves.
    #[inline]
    pub fn current_beside(&self, worker: usize) -> u64 {
        let current = self.current.load(Ordering::Acquire); // E2
        let own = self.inside[worker].load(Ordering::Relaxed); // the worker's own
        debug_assert!(own == current || own + 1 == current, "I1: {own} has not ended");
        current
    }

    /// Goes on from the epoch that the worker is inside to the one behind it, which has begun.
    #[inline]
    pub fn move_on(&self, worker: usize) {
        let own = self.inside[worker].load(Ordering::Relaxed); // the worker's own
        debug_assert_ne!(own, OUTSIDE, "it is inside one");
        debug_assert!(self.current() > own, "the next one has begun");
        // Release: E2. Whoever ends the next one ended this one before, and saw the worker inside.
        self.inside[worker].store(own + 1, Ordering::Release);
    }

    /// Leaves the epoch.
    #[inline]
    pub fn leave(&self, worker: usize) {
        self.inside[worker].store(OUTSIDE, Ordering::Release); // E2
    }

    /// Ends the current epoch and waits until nobody is inside; which one it was. One thread at a
    /// time, who has taken what belonged to the epoch before.
    pub fn advance(&self) -> u64 {
        let ended = self.begin_next();
        for inside in &self.inside {
            let mut wait = SpinWait::new();
            while is_within(ended, inside) {
                wait.wait();
            }
        }
        ended
    }

    /// Begins the next epoch; which one it follows. That one has ended when [everybody has left
    /// it](CommitEpochs::is_left), which comes before the next call.
    pub fn begin_next(&self) -> u64 {
        let before = self.current.load(Ordering::Relaxed); // only the caller stores
        self.current.store(before + 1, Ordering::Release); // E2
        fence(Ordering::SeqCst); // E1
        before
    }

    /// Whether nobody is inside an epoch that the next one has followed, or an older one.
    #[must_use]
    pub fn is_left(&self, epoch: u64) -> bool {
        !self.inside.iter().any(|inside| is_within(epoch, inside))
    }
}

/// Whether a worker is inside this epoch, or an older one.
fn is_within(epoch: u64, inside: &AtomicU64) -> bool {
    (1..=epoch).contains(&inside.load(Ordering::Acquire)) // E2
}

/// The calls for which a worker stays inside epochs: counted by the epoch in which each began to
/// wait for its place. Who waits in it is in one of two epochs, since the later of them does not
/// end before the worker has left the earlier one.
#[derive(Clone, Copy, Default, Debug)]
pub struct EpochStay {
    /// calls, by parity of their epoch
    waiting: [u64; 2],
    /// the epoch of the oldest of them; 0: outside
    oldest: u64,
}

/// What a stay comes to when one of its calls waits no longer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[must_use = "the epoch ends when the worker has done it"]
pub enum StayEnd {
    /// others began in the same epoch
    Stays,
    /// the worker is to [move on](CommitEpochs::move_on)
    MovesOn,
    /// the worker is to [leave](CommitEpochs::leave)
    Leaves,
}

impl EpochStay {
    /// Whether no call waits.
    #[must_use]
    pub fn is_outside(&self) -> bool {
        self.oldest == OUTSIDE
    }

    /// A call begins to wait, in the epoch that the worker has [entered](CommitEpochs::enter), if
    /// it was outside, or that is [current beside](CommitEpochs::current_beside) its own.
    pub fn begin(&mut self, epoch: u64) {
        if self.is_outside() {
            self.oldest = epoch;
        }
        debug_assert!((self.oldest..self.oldest + 2).contains(&epoch), "{self:?} at {epoch}");
        self.waiting[parity(epoch)] += 1;
    }

    /// A call that began in this epoch waits no longer.
    pub fn end(&mut self, epoch: u64) -> StayEnd {
        self.waiting[parity(epoch)] -= 1;
        if self.waiting[parity(self.oldest)] > 0 {
            StayEnd::Stays
        } else if self.waiting[parity(self.oldest + 1)] > 0 {
            self.oldest += 1;
            StayEnd::MovesOn
        } else {
            self.oldest = OUTSIDE;
            StayEnd::Leaves
        }
    }
}

fn parity(epoch: u64) -> usize {
    (epoch & 1) as usize
}

#[cfg(all(test, loom))]
mod loom_tests;
#[cfg(all(test, not(loom)))]
mod tests;
