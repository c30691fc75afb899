//! Numbered buckets that are added one at a time, never move, and may be recycled.
//!
//! Role         holds the bucket array of an index, and in a second instance its overflow buckets
//! Invariants   I1 every bucket handed out is charged: 64 KiB at first, at most 1 MiB at a time
//! Concurrency  resolving is latch-free; adding and recycling are latched, and rare

use hotrow_base::sync::facade::atomic::{AtomicU64, Ordering::Relaxed};
use hotrow_base::sync::facade::{Mutex, MutexGuard};
use std::sync::{Arc, PoisonError};

use crossbeam_utils::CachePadded;

use super::bucket::{BUCKET_WORDS, Bucket};
use crate::budget::{MemoryBudget, MemoryKind, OutOfMemoryBudget};
use crate::slab::segments::{FIRST, Segments, segment_words_at};

/// Buckets of the first segment.
pub(super) const BUCKETS_FIRST: u64 = FIRST / BUCKET_WORDS as u64;
/// Buckets are numbered from 0 in the array; links need one more bit than the array's half.
const BUCKETS_MAX: u64 = 1 << 32;
/// Words charged at a time: 64 KiB to 1 MiB, a sixteenth of the segment in between, so that at
/// most 6 % of a large index is charged and not used yet.
const CHARGE_WORDS_MIN: u64 = FIRST;
const CHARGE_WORDS_MAX: u64 = 1 << 17;

/// Buckets by number, charged to a budget; both ends are under a mutex.
#[derive(Debug)]
pub(super) struct BucketSpace {
    segments: Segments,
    /// Padded, because lookups read the line of `segments`.
    ends: CachePadded<Mutex<Ends>>,
    charged_bytes: AtomicU64,
    budget: Arc<MemoryBudget>,
}

#[derive(Debug)]
struct Ends {
    /// Position of the next bucket.
    next: u64,
    /// Position up to which the budget was charged.
    charged: u64,
    /// First of the recycled buckets, linked through their headers; 0 for none.
    recycled: u64,
}

impl BucketSpace {
    pub(super) fn new(budget: Arc<MemoryBudget>) -> Self {
        let ends = Ends { next: FIRST, charged: FIRST, recycled: 0 };
        Self {
            segments: Segments::new(),
            ends: CachePadded::new(Mutex::new(ends)),
            charged_bytes: AtomicU64::new(0),
            budget,
        }
    }

    /// The bucket with this number.
    #[inline(always)]
    pub(super) fn bucket(&self, number: u64) -> Bucket<'_> {
        let words = self.segments.words_from(FIRST + number * BUCKET_WORDS as u64);
        Bucket(words.first_chunk().expect("segments are whole buckets long"))
    }

    /// Adds an empty bucket: number 0 first, then 1, and so on.
    pub(super) fn append(&self) -> Result<u64, OutOfMemoryBudget> {
        self.append_latched(&mut self.latch())
    }

    /// A recycled bucket, or a new one; never number 0, which in a link means "none".
    pub(super) fn take(&self) -> Result<u64, OutOfMemoryBudget> {
        let mut ends = self.latch();
        if ends.recycled == 0 {
            return match self.append_latched(&mut ends)? {
                0 => self.append_latched(&mut ends),
                number => Ok(number),
            };
        }
        let number = ends.recycled;
        ends.recycled = self.bucket(number).header().link();
        Ok(number)
    }

    /// Lets the bucket, whose entries are all free, be taken again. Readers may still pass through
    /// it; its header never says that it ends a chain they should trust, the head's does.
    pub(super) fn recycle(&self, number: u64) {
        let mut ends = self.latch();
        let bucket = self.bucket(number);
        bucket.set_header(bucket.header().next(ends.recycled));
        ends.recycled = number;
    }

    /// Bytes charged to the budget.
    pub(super) fn bytes(&self) -> u64 {
        self.charged_bytes.load(Relaxed)
    }

    fn append_latched(&self, ends: &mut Ends) -> Result<u64, OutOfMemoryBudget> {
        if ends.next == ends.charged {
            ends.charged += self.charge(ends.next)?;
        }
        let number = (ends.next - FIRST) / BUCKET_WORDS as u64;
        ends.next += BUCKET_WORDS as u64;
        Ok(number)
    }

    /// Charges for words from `position` on; how many.
    fn charge(&self, position: u64) -> Result<u64, OutOfMemoryBudget> {
        let words = (segment_words_at(position) / 16).clamp(CHARGE_WORDS_MIN, CHARGE_WORDS_MAX);
        let bytes = words * size_of::<u64>() as u64;
        if position >= BUCKETS_MAX * BUCKET_WORDS as u64 {
            return Err(self.budget.refused(bytes));
        }
        self.budget.try_charge(MemoryKind::Indexes, bytes)?;
        if self.segments.ensure(position).is_none() {
            self.budget.release(MemoryKind::Indexes, bytes);
            return Err(self.budget.refused(bytes));
        }
        self.charged_bytes.fetch_add(bytes, Relaxed);
        Ok(words)
    }

    /// Nothing under the latch can leave it half done, so poison means nothing here.
    fn latch(&self) -> MutexGuard<'_, Ends> {
        self.ends.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for BucketSpace {
    fn drop(&mut self) {
        self.budget.release(MemoryKind::Indexes, self.bytes());
    }
}
