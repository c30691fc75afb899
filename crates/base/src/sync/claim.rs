//! A claim: whoever comes first copies a thing before its owner changes it, and nobody else does.
//!
//! Role         checkpoints taken while transactions run: a record's row is copied once, either by
//!              a thread that walks all records or by the transaction that is about to change it.
//!              Lives in two bits of a word whose other bits belong to the thing's owner
//! States       with `current` being the stamp of the image that is being made:
//!
//! ```text
//!     old ──claim: compare-exchange──▶ busy ──finish: store──▶ done
//!      ▲                                                        │
//!      └────── the next image: `current` flips, no word does ───┘
//! ```
//!
//! Invariants   I1  of all that claim a word for one image, one gets it, if anybody claims it
//!              I2  while a word is busy only its claimant changes it
//!              I3  the owner changes the word or the thing only when the word is done, which it
//!                  stays until `current` flips; so the owner need not expect anybody else there,
//!                  and goes on changing the word by plain loads and stores
//!              I4  `current` flips only when nobody owns, claims or copies: at a quiet point that
//!                  every owner and claimant of before and after is ordered with
//! Concurrency  word -> by compare-exchange from a state that is not done, by whoever claims (I1);
//!              by its claimant while busy (I2); by its owner when done (I3).
//!
//!  - C1  `finish` stores **Release**; who finds the word done loads **Acquire**: the copy was
//!    taken before the owner's first change. The claim itself is Acquire, so that the word's other
//!    bits, of before the flip, are followed to what they name.
//!
//! Source       the stable-status bit vectors of CALC (Ren, Diamond, Abadi and Thomson, "Low-
//!              overhead asynchronous checkpointing in main-memory database systems", SIGMOD 2016);
//!              we differ: the bit lies in the record's own header, where a change looks anyway,
//!              and the third state spares a latch

#[cfg(all(test, loom))]
mod loom_tests;
#[cfg(all(test, not(loom)))]
mod tests;

use super::facade::atomic::{AtomicU64, Ordering};
use super::spin::SpinWait;

/// Which bits of a word a claim uses; see the module.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClaimBits {
    /// one bit: equals that of `current` when done
    pub stamp: u64,
    /// one bit: set while claimed
    pub busy: u64,
    /// bits of the owner's: where one of them is set there is nothing to copy, and never was since
    /// `current` flipped
    pub nothing: u64,
}

impl ClaimBits {
    /// Whether a word as it was read is done, so that its owner may change it.
    #[inline(always)]
    pub const fn is_done(self, word: u64, current: u64) -> bool {
        (word ^ current) & self.stamp == 0
    }

    /// Claims the word. `false` when it is done, after waiting for that where it is busy, or when
    /// there is nothing to copy. After `true` comes a [`ClaimBits::finish`], soon: others spin.
    #[must_use = "a claimed word stays busy until it is finished"]
    pub fn claim(self, word: &AtomicU64, current: u64) -> bool {
        let mut spin = SpinWait::new();
        let mut seen = word.load(Ordering::Acquire); // C1
        loop {
            if self.is_done(seen, current) || seen & self.nothing != 0 {
                return false;
            }
            if seen & self.busy != 0 {
                spin.wait();
                seen = word.load(Ordering::Acquire); // C1
                continue;
            }
            let busy = seen | self.busy;
            match word.compare_exchange(seen, busy, Ordering::Acquire, Ordering::Acquire) {
                Ok(_) => return true,
                Err(now) => seen = now, // C1
            }
        }
    }

    /// Ends a claim: the copy was taken.
    pub fn finish(self, word: &AtomicU64, current: u64) {
        let busy = word.load(Ordering::Relaxed); // I2: nobody else changes it
        debug_assert!(busy & self.busy != 0, "only who claimed finishes");
        let done = busy & !(self.busy | self.stamp) | current & self.stamp;
        word.store(done, Ordering::Release); // C1
    }
}
