//! A milestone: how far one thread has come, for others to wait for.
//!
//! Role         under [`Barrier`](super::Barrier), and for engines in which a thread tells all
//!              others that a step of its own is done (LADS: its graph is built)
//! Invariants   I1  steps are numbered upwards, around 0 again; nobody asks for one that is 2^31 or
//!                  more behind or ahead
//! Concurrency  `reached` -> stored by one thread at a time, whoever makes the step.
//!
//!  - P1  the step is stored **Release**, who waits loads it **Acquire**: what was done before the
//!    step is seen behind it.

#[cfg(all(test, loom))]
mod loom_tests;

use super::facade::atomic::{AtomicU32, Ordering};
use super::{EventCount, Spin, spin_for};
use crossbeam_utils::CachePadded;

/// How far somebody has come, on a line of its own, and who waits for that.
#[derive(Debug)]
pub struct Milestone {
    reached: CachePadded<AtomicU32>,
    spin: Spin,
    waiting: EventCount,
}

impl Milestone {
    /// One for so many threads, at step 0.
    pub fn new(threads: usize) -> Self {
        Self {
            reached: CachePadded::new(AtomicU32::new(0)),
            spin: Spin::for_threads(threads),
            waiting: EventCount::new(),
        }
    }

    /// The last step that was made. Nothing that was done before it is seen therefore.
    #[inline]
    pub fn last(&self) -> u32 {
        self.reached.load(Ordering::Relaxed)
    }

    /// Makes a step.
    #[inline]
    pub fn reach(&self, step: u32) {
        self.reached.store(step, Ordering::Release); // P1
        self.waiting.notify_all();
    }

    /// Whether a step is made.
    #[inline]
    pub fn is_reached(&self, step: u32) -> bool {
        let ahead = self.reached.load(Ordering::Acquire).wrapping_sub(step); // P1
        ahead.cast_signed() >= 0 // I1
    }

    /// As [`Milestone::wait`], after having worked, one piece after the other, as long as the step
    /// is not made and `work` says that there is more to do.
    #[inline]
    pub fn wait_working(&self, step: u32, mut work: impl FnMut() -> bool) {
        while !self.is_reached(step) {
            if !work() {
                return self.wait(step);
            }
        }
    }

    /// Waits until a step is made: spins for a while (steps are long, and to wake somebody takes as
    /// long as a short one), then sleeps.
    #[inline]
    pub fn wait(&self, step: u32) {
        let is_reached = || self.is_reached(step).then_some(());
        if cfg!(loom) || spin_for(self.spin, is_reached).is_none() {
            self.waiting.wait_for(None, is_reached);
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn steps_go_around_zero() {
        let milestone = Milestone::new(1);
        assert!(milestone.is_reached(0) && !milestone.is_reached(1));
        milestone.reach(u32::MAX);
        assert!(milestone.is_reached(u32::MAX) && milestone.is_reached(u32::MAX - 7));
        assert!(!milestone.is_reached(0));
        milestone.reach(u32::MAX.wrapping_add(1));
        milestone.wait(u32::MAX);
        milestone.wait(0);
        assert_eq!(milestone.last(), 0);
    }
}
