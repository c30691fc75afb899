//! A bounded spin that turns into yielding.
//!
//! Role         loops that wait for a latch held for tens of instructions
//! Source       the exponential back-off of crossbeam-utils; we differ: it yields early, because
//!              Hotrow is run with more threads than cores and the holder may not be running

use super::facade;

/// Rounds of doubling pauses before yielding: 1 + 2 + ... + 32 = 63 pauses, about 3 us where one
/// pause takes 140 cycles (Intel since Skylake) and 1 us where it takes 45: longer than any latch
/// is held by a thread that is running, far shorter than a time slice. Not tuned by measurement.
const PAUSE_ROUNDS: u32 = 6;

/// The waiting state of one spin loop.
#[derive(Debug, Default)]
pub struct SpinWait {
    round: u32,
}

impl SpinWait {
    /// A wait that has not begun.
    #[inline]
    pub const fn new() -> Self {
        Self { round: 0 }
    }

    /// Waits once: a doubling number of pauses first, a yield to other threads later.
    #[inline]
    pub fn wait(&mut self) {
        if self.is_yielding() {
            facade::thread::yield_now();
            return;
        }
        for _ in 0..pauses(self.round) {
            facade::spin_hint();
        }
        self.round += 1;
    }

    /// Whether pausing is over, so that a caller who can sleep had better do so.
    #[inline]
    pub const fn is_yielding(&self) -> bool {
        self.round >= PAUSE_ROUNDS
    }
}

/// Loom counts each pause as a step of the schedule, so it gets one.
const fn pauses(round: u32) -> u32 {
    if cfg!(loom) { 1 } else { 1 << round }
}
