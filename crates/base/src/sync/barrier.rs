//! A barrier: so many threads wait for each other, again and again.
//!
//! Role         engines whose threads work in steps (LADS: build, then execute). The last one to
//!              come does what is to be done once between two steps
//! States       `arrived` counts up to the number of threads, and is 0 again before the next round
//!              is reached and the others go on
//! Invariants   I1  nobody is in step n + 1 before everybody has ended step n and the last one's
//!                  work between them is done
//! Concurrency  `arrived` -> each thread adds 1 to it, the last one sets it to 0; `rounds` ->
//!              advanced by the last one.
//!
//!  - P1  each thread adds to `arrived` **Release** what it did before, the last one **Acquire**
//!    sees it; it reaches the next round **Release**, who waits for it sees that **Acquire**: what
//!    anybody did in step n is seen by all in step n + 1.
//!  - P2  `arrived` is set to 0 before the next round is reached, and nobody comes again before he
//!    has seen that.

#[cfg(all(test, loom))]
mod loom_tests;

use super::Milestone;
use super::facade::atomic::{AtomicU32, Ordering};
use crossbeam_utils::CachePadded;

/// A meeting place for a fixed number of threads.
#[derive(Debug)]
pub struct Barrier {
    threads: u32,
    arrived: CachePadded<AtomicU32>,
    rounds: Milestone,
}

impl Barrier {
    /// A barrier for so many threads.
    pub fn new(threads: u32) -> Self {
        Self {
            threads,
            arrived: CachePadded::new(AtomicU32::new(0)),
            rounds: Milestone::new(threads as usize),
        }
    }

    /// Waits until all threads are here, as [`Milestone::wait`] does. The last one to come does
    /// `between` before anybody goes on.
    pub fn wait(&self, between: impl FnOnce()) {
        self.wait_working(between, || false);
    }

    /// As [`Barrier::wait`]; who waits [works](Milestone::wait_working) meanwhile.
    pub fn wait_working(&self, between: impl FnOnce(), work: impl FnMut() -> bool) {
        let next = self.rounds.last().wrapping_add(1); // it has seen that one (P2)
        if self.arrived.fetch_add(1, Ordering::AcqRel) + 1 == self.threads {
            between();
            self.arrived.store(0, Ordering::Relaxed); // P2: ordered by the next line
            self.rounds.reach(next); // P1
        } else {
            self.rounds.wait_working(next, work); // P1
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use std::sync::atomic::AtomicU64;
    use std::thread;

    use super::*;

    #[test]
    fn nobody_is_a_step_ahead() {
        const STEPS: u64 = 2000;
        for threads in [1, 2, 5] {
            let barrier = Barrier::new(threads);
            let steps: Vec<AtomicU64> = (0..threads).map(|_| AtomicU64::new(0)).collect();
            let between = AtomicU64::new(0);
            thread::scope(|scope| {
                for own in &steps {
                    scope.spawn(|| {
                        for step in 1..=STEPS {
                            own.store(step, Ordering::Relaxed);
                            barrier.wait(|| {
                                let all = steps.iter().all(|s| s.load(Ordering::Relaxed) == step);
                                assert!(all, "everybody has ended step {step}");
                                between.fetch_add(1, Ordering::Relaxed);
                            });
                            assert_eq!(between.load(Ordering::Relaxed), step);
                            barrier.wait(|| ());
                        }
                    });
                }
            });
        }
    }
}
