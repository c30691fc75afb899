//! A barrier: so many threads wait for each other, again and again.
//!
//! Role         engines whose threads work in steps (LADS: build, then execute). The last one to
//!              come does what is to be done once between two steps
//! States       `arrived` counts up to the number of threads, and is 0 again before `round` tells
//!              the others to go on
//! Invariants   I1  nobody is in step n + 1 before everybody has ended step n and the last one's
//!                  work between them is done
//! Concurrency  `arrived` -> each thread adds 1 to it, the last one sets it to 0; `round` -> stored
//!              by the last one.
//!
//!  - P1  each thread adds to `arrived` **Release** what it did before, the last one **Acquire**
//!    sees it; it stores `round` **Release**, who waits loads it **Acquire**: what anybody did in
//!    step n is seen by all in step n + 1.
//!  - P2  `arrived` is set to 0 before `round` is stored, and nobody comes again before he has seen
//!    the new round.

#[cfg(all(test, loom))]
mod loom_tests;

use super::facade::atomic::{AtomicU32, Ordering};
use super::{EventCount, Spin, spin_for};
use crossbeam_utils::CachePadded;

/// See the module.
#[derive(Debug)]
pub struct Barrier {
    threads: u32,
    spin: Spin,
    arrived: CachePadded<AtomicU32>,
    round: CachePadded<AtomicU32>,
    waiting: EventCount,
}

impl Barrier {
    /// A barrier for so many threads.
    pub fn new(threads: u32) -> Self {
        Self {
            threads,
            spin: Spin::for_threads(threads as usize),
            arrived: CachePadded::new(AtomicU32::new(0)),
            round: CachePadded::new(AtomicU32::new(0)),
            waiting: EventCount::new(),
        }
    }

    /// Waits until all threads are here: spins for a while (steps are long, and to wake somebody
    /// takes as long as a short one), then sleeps. The last one to come does `between` before
    /// anybody goes on.
    pub fn wait(&self, between: impl FnOnce()) {
        let round = self.round.load(Ordering::Relaxed); // it has seen this one (P2)
        if self.arrived.fetch_add(1, Ordering::AcqRel) + 1 == self.threads {
            between();
            self.arrived.store(0, Ordering::Relaxed); // P2: ordered by the next line
            self.round.store(round.wrapping_add(1), Ordering::Release); // P1
            self.waiting.notify_all();
        } else {
            let goes_on = || (self.round.load(Ordering::Acquire) != round).then_some(()); // P1
            if cfg!(loom) || spin_for(self.spin, goes_on).is_none() {
                self.waiting.wait_for(None, goes_on);
            }
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
