//! Growth of a hash index: when to add buckets, and the split that adds one.
//!
//! States       bucket `n` absent -> filled by its one splitter, unreachable -> reachable, when
//!              `count` becomes `n + 1`
//! Invariants   I1 one thread splits at a time (it holds `growth`)
//!              I2 `count` is stored before the source is unlatched: whoever sees the source
//!              without the entries that left it also sees where they are

use hotrow_base::sync::facade::atomic::Ordering::{Relaxed, Release};
use std::sync::{PoisonError, TryLockError};

use super::HashIndex;
use super::bucket::{Entry, TAG_TO_BIT, entry_bit};
use super::chain::Chain;
use crate::record::RecordId;

/// One entry in this many is counted.
pub(super) const SAMPLE: u64 = 64;
const SAMPLE_LOG2: u32 = SAMPLE.ilog2();

/// Entries for each two buckets that the index grows at.
const ENTRIES_PER_TWO_BUCKETS: u64 = 9;

/// Splits one insert does at most. A sampled insert stands for 64 entries, which want 14 buckets
/// more, so growth catches up, and no insert pays for more than some microseconds of it.
const SPLITS_PER_INSERT_MAX: u32 = 32;

/// What the splitter owns.
#[derive(Debug, Default)]
pub(super) struct Growth {
    /// Entries of the chain being split.
    scratch: Vec<Entry>,
}

impl HashIndex {
    /// Counts an entry that was added, and grows the index if it is time.
    #[inline]
    pub(super) fn note_added(&self, id: RecordId) {
        if is_sampled(id) {
            self.sampled.fetch_add(1, Relaxed);
            self.grow();
        }
    }

    #[inline]
    pub(super) fn note_removed(&self, id: RecordId) {
        if is_sampled(id) {
            self.sampled.fetch_sub(1, Relaxed);
        }
    }

    #[cold]
    fn grow(&self) {
        let mut growth = match self.growth.try_lock() {
            Ok(growth) => growth,
            Err(TryLockError::Poisoned(poisoned)) => PoisonError::into_inner(poisoned),
            // Another thread is at it, and will be again at its next sampled entry.
            Err(TryLockError::WouldBlock) => return,
        };
        for _ in 0..SPLITS_PER_INSERT_MAX {
            let is_sparse =
                self.len_estimate() * 2 <= self.bucket_count() * ENTRIES_PER_TWO_BUCKETS;
            if is_sparse || !self.split_next(&mut growth) {
                return;
            }
        }
    }

    /// Adds a bucket and moves into it what it takes over from its source. Whether there was
    /// memory for it: if not, chains get longer and nothing else happens.
    fn split_next(&self, growth: &mut Growth) -> bool {
        let new = self.bucket_count();
        let bit = new.ilog2();
        if bit >= TAG_TO_BIT {
            return false;
        }
        let Ok(appended) = self.buckets.append() else {
            return false;
        };
        assert_eq!(appended, new, "buckets are appended here only (I1)");
        let mut source = self.latch_at(new ^ (1 << bit));
        let head = self.buckets.bucket(new);
        let mut target = Chain::owned(head, head.header(), &self.overflow);
        let leaves = |entry: Entry| entry.0 & entry_bit(bit) != 0;
        source.divide(&mut target, leaves, &mut growth.scratch);
        drop(target);
        // Release; partner: the Acquire load in `bucket_count`.
        self.count.store(new + 1, Release);
        drop(source);
        true
    }
}

fn is_sampled(id: RecordId) -> bool {
    // Fibonacci hashing: ids in a row are sampled evenly. By id and not by hash, so that a
    // duplicate key's thousand entries are not all counted or all ignored.
    id.bits().wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (u64::BITS - SAMPLE_LOG2) == 0
}
