//! The hash index: from a key's hash to record ids, in cache-line buckets.
//!
//! Role         primary or secondary index for equality. The caller hashes keys and tells, given a
//!              record id, whether that record has the key it looks for: the index holds no keys
//!              and reads no records. Use the B+-tree for ranges, and for secondary keys shared by
//!              hundreds of records: those are one chain here
//! States       of a bucket: unlatched at a version <-> latched. The bucket array only grows
//! Invariants   I1 every entry is in the chain that its hash addresses, once, at the moment the
//!              chain's head is unlatched
//!              I2 whoever moves an entry holds the latch of the chain it leaves, so a reader that
//!              misses it sees a changed version, or a changed count, and looks again
//! Concurrency  entries, headers: written by whoever latched the head bucket, read by any thread;
//!              see `bucket` and `chain`. `count`: written under `growth`, read by any thread.
//!              `sampled`: any thread, at every 64th entry. Ids found stay resolvable only while
//!              the reader's epoch is pinned
//! Source       Litwin, "Linear hashing" (VLDB 1980): one bucket is split at a time, so growth
//!              stops nobody. Larson, Zwilling, Farlee, "The Hekaton memory-optimized OLTP engine"
//!              for hash indexes over rows; we differ: seven tagged entries share a line, so that
//!              a lookup touches one line and then the record it wants. Readers validate versions
//!              as in OLC (Leis et al., 2019) but only when they miss, because a hit was in the
//!              index when it was loaded, whatever moved since
//!
//! # What an entry remembers of its hash
//!
//! Splitting a bucket must decide for each entry whether it leaves, by one bit of its hash that no
//! split has used before. Reading the records for it would be a cache miss each, and wrong where
//! the key has just been changed in place. The 24 tag bits are those bits: splits use them up from
//! the lowest, and the rest tells entries apart. With 4.5 entries a bucket, an index of 4 million
//! entries has 14 bits left and one of 1,000 million 6: one needless look at a record in 28 hits or
//! 14 misses.
//!
//! # Load
//!
//! A bucket is added whenever there are more than 4.5 entries for each. With Poisson's distribution
//! that is 15.5 to 16.2 bytes an entry, overflow buckets included, and 3.4 % (when the array has
//! just doubled) to 7.2 % (half-way: unsplit buckets have 6.75 entries in the mean) of all entries
//! are in overflow buckets, a second cache miss away. The number of entries is not counted but
//! sampled: ids that a multiplicative hash maps to one value in 64 are counted, as they come and as
//! they go.
//!
//! # Measured
//!
//! Instructions (callgrind, `examples/record_count.rs`, 1 million entries, the loop and the hash,
//! 13 together, included): lookup 68 in the mean, 81 with the key compared in the record. Miss
//! 130. Unique insert 335, its share of the splits included. Removal 166. 16.2 bytes an entry.

mod bucket;
mod chain;
mod growth;
mod space;

use hotrow_base::sync::facade::Mutex;
use hotrow_base::sync::facade::atomic::{
    AtomicI64, AtomicU64,
    Ordering::{Acquire, Relaxed},
};
use std::convert::Infallible;
use std::fmt;
use std::sync::Arc;

use crossbeam_utils::CachePadded;
use hotrow_base::prefetch::prefetch;
use hotrow_base::sync::SpinWait;

use self::bucket::{Bucket, Entry, Header, tag};
use self::chain::Chain;
use self::growth::Growth;
use self::space::{BUCKETS_FIRST, BucketSpace};
use crate::budget::{MemoryBudget, OutOfMemoryBudget};
use crate::record::RecordId;
use crate::writers::Writers;

/// See the module. Hashes must be well mixed in their low 34 bits.
pub struct HashIndex {
    buckets: BucketSpace,
    overflow: BucketSpace,
    /// Number of buckets. On a line of its own with what else lookups read and hardly ever changes.
    count: AtomicU64,
    growth: CachePadded<Mutex<Growth>>,
    /// Entries sampled, one in [`growth::SAMPLE`].
    sampled: CachePadded<AtomicI64>,
    writers: Writers,
}

impl HashIndex {
    /// An empty index, with its first 64 KiB of buckets, charged to `budget`.
    ///
    /// # Errors
    ///
    /// [`OutOfMemoryBudget`] when the budget has no room for them.
    pub fn new(budget: Arc<MemoryBudget>) -> Result<Self, OutOfMemoryBudget> {
        let buckets = BucketSpace::new(Arc::clone(&budget));
        for _ in 0..BUCKETS_FIRST {
            buckets.append()?;
        }
        Ok(Self {
            buckets,
            overflow: BucketSpace::new(budget),
            count: AtomicU64::new(BUCKETS_FIRST),
            growth: CachePadded::default(),
            sampled: CachePadded::default(),
            writers: Writers::default(),
        })
    }

    /// What `check` makes of the first record with `hash` that it accepts. Latch-free.
    ///
    /// `check` may be asked about the same record more than once, and about records that have
    /// just been removed; if it panics, the index is unharmed.
    #[inline(always)]
    pub fn get<T>(&self, hash: u64, mut check: impl FnMut(RecordId) -> Option<T>) -> Option<T> {
        let probe = self.probe(hash);
        match probe.head.first(tag(hash)) {
            Some(id) if id.bits() != 0 => {
                if let Some(found) = check(id) {
                    return Some(found);
                }
            }
            None if probe.header.link() == 0 && self.is_undisturbed(&probe) => return None,
            _ => {}
        }
        self.get_slowly(hash, check)
    }

    /// All records with `hash`, and some with another one, in no order. `ids` is cleared first;
    /// it is a buffer and not a visitor because a disturbed reading starts again. Latch-free.
    pub fn get_all(&self, hash: u64, ids: &mut Vec<RecordId>) {
        let mut wait = SpinWait::new();
        loop {
            ids.clear();
            let collect = |id| {
                ids.push(id);
                None::<Infallible>
            };
            if self.search(hash, collect).is_ok() {
                return;
            }
            wait.wait();
        }
    }

    /// The first record that probably has `hash`, without a look at it: what to prefetch.
    #[inline]
    #[must_use]
    pub fn candidate(&self, hash: u64) -> Option<RecordId> {
        self.probe(hash).head.first(tag(hash)).filter(|id| id.bits() != 0)
    }

    /// Asks for the cache line that a lookup of `hash` starts at.
    #[inline]
    pub fn prefetch(&self, hash: u64) {
        let number = Self::address(hash, self.bucket_count());
        prefetch(self.buckets.bucket(number).header_word());
    }

    /// As [`BTree::set_one_writer`](crate::btree::BTree::set_one_writer).
    pub fn set_one_writer(&self, one: bool) {
        self.writers.set_one(one);
    }

    /// Adds `id` unless a record with `hash` already `matches`, which is returned then.
    ///
    /// `matches` runs under the bucket's latch: it may read records and must not use this index.
    ///
    /// # Errors
    ///
    /// [`OutOfMemoryBudget`], with the index unchanged.
    #[inline]
    pub fn insert_unique(
        &self,
        hash: u64,
        id: RecordId,
        matches: impl FnMut(RecordId) -> bool,
    ) -> Result<Option<RecordId>, OutOfMemoryBudget> {
        self.insert_unique_observed(hash, id, matches, |_, _| {})
    }

    /// [`insert_unique`](Self::insert_unique) that tells `observe` the bucket's stamps before and
    /// after the record was added, for an engine that keeps a node set.
    ///
    /// # Errors
    ///
    /// As [`insert_unique`](Self::insert_unique).
    #[inline]
    pub fn insert_unique_observed(
        &self,
        hash: u64,
        id: RecordId,
        matches: impl FnMut(RecordId) -> bool,
        observe: impl FnOnce(BucketStamp, BucketStamp),
    ) -> Result<Option<RecordId>, OutOfMemoryBudget> {
        let _change = self.writers.change();
        let mut chain = self.latch(hash);
        if let Some((_, _, existing)) = chain.find(hash, matches) {
            return Ok(Some(existing));
        }
        chain.add(Entry::new(hash, id))?;
        let bucket = Self::address(hash, self.bucket_count());
        let [before, after] = chain.headers().map(|header| BucketStamp { bucket, header });
        drop(chain);
        observe(before, after);
        self.note_added(id);
        Ok(None)
    }

    /// The stamp of the bucket of `hash`, taken before a look into it that may find nothing: as
    /// long as it [holds](Self::holds), no record with `hash` was added.
    #[must_use]
    pub fn stamp(&self, hash: u64) -> BucketStamp {
        let mut wait = SpinWait::new();
        loop {
            let probe = self.probe(hash);
            if self.is_undisturbed(&probe) {
                let bucket = Self::address(hash, probe.count);
                return BucketStamp { bucket, header: probe.header };
            }
            wait.wait();
        }
    }

    /// Whether nothing in the bucket changed since `stamp` was taken.
    #[inline]
    #[must_use]
    pub fn holds(&self, stamp: BucketStamp) -> bool {
        // A bucket that was split since has another version: its entries may be elsewhere.
        self.buckets.bucket(stamp.bucket).is_unchanged_since(stamp.header)
    }

    /// Adds `id`, whatever else has `hash`.
    ///
    /// # Errors
    ///
    /// [`OutOfMemoryBudget`], with the index unchanged.
    #[inline]
    pub fn insert(&self, hash: u64, id: RecordId) -> Result<(), OutOfMemoryBudget> {
        let _change = self.writers.change();
        self.latch(hash).add(Entry::new(hash, id))?;
        self.note_added(id);
        Ok(())
    }

    /// Puts `new` in the place of `old`, for readers in one step; whether `old` was there.
    pub fn replace(&self, hash: u64, old: RecordId, new: RecordId) -> bool {
        let _change = self.writers.change();
        let chain = self.latch(hash);
        let Some((bucket, slot, _)) = chain.find(hash, |id| id == old) else {
            return false;
        };
        bucket.store(slot, Some(Entry::new(hash, new)));
        drop(chain);
        self.note_removed(old);
        self.note_added(new);
        true
    }

    /// Removes `id`; whether it was there. Needs no memory.
    pub fn remove(&self, hash: u64, id: RecordId) -> bool {
        let _change = self.writers.change();
        let mut chain = self.latch(hash);
        let Some((bucket, slot, _)) = chain.find(hash, |entry| entry == id) else {
            return false;
        };
        chain.take_out(bucket, slot);
        drop(chain);
        self.note_removed(id);
        true
    }

    /// Visits every entry. While the index changes, entries may be visited twice, and those
    /// added meanwhile may be missed, but none that was there throughout. Latches the buckets: as
    /// for writers, so that it is called where there may be one writer only.
    pub fn for_each(&self, mut visit: impl FnMut(RecordId)) {
        let _change = self.writers.change();
        let mut entries = Vec::new();
        let mut number = 0;
        // Upwards, because a split moves entries upwards.
        while number < self.bucket_count() {
            entries.clear();
            // A bucket's number as a hash addresses the bucket or, in a smaller array, its source.
            let latched = self.latch_at(number);
            latched.copy_to(&mut entries);
            drop(latched);
            entries.iter().for_each(|entry| visit(entry.id()));
            number += 1;
        }
    }

    /// The number of entries, counted one by one.
    #[must_use]
    pub fn len(&self) -> u64 {
        let mut entries = 0;
        self.for_each(|_| entries += 1);
        entries
    }

    /// Whether there is no entry.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// About how many entries there are, from the sample; cheap, and useless below some hundreds.
    #[must_use]
    pub fn len_estimate(&self) -> u64 {
        // Negative for a moment when an entry is removed before its adder has counted it.
        self.sampled.load(Relaxed).max(0) as u64 * growth::SAMPLE
    }

    /// How many buckets there are, overflow buckets not counted.
    #[must_use]
    pub fn bucket_count(&self) -> u64 {
        // Acquire; partner: the Release store in `split_next`. The bucket is there and filled.
        self.count.load(Acquire)
    }

    /// Bytes charged to the budget for this index.
    #[must_use]
    pub fn bytes_used(&self) -> u64 {
        self.buckets.bytes() + self.overflow.bytes()
    }

    /// The number of the bucket for `hash` in an array of `count` buckets.
    #[inline(always)]
    fn address(hash: u64, count: u64) -> u64 {
        // `| 1` spares a check for zero.
        let half = 1 << (count | 1).ilog2();
        let number = hash & (half * 2 - 1);
        // Buckets from `count` on do not exist yet; their entries are in the lower half.
        if number < count { number } else { number ^ half }
    }

    /// Begins a walk.
    #[inline(always)]
    fn probe(&self, hash: u64) -> Probe<'_> {
        let count = self.bucket_count();
        let head = self.buckets.bucket(Self::address(hash, count));
        Probe { count, head, header: head.header() }
    }

    /// Whether a miss in the chain can be trusted.
    #[inline(always)]
    fn is_undisturbed(&self, probe: &Probe<'_>) -> bool {
        // The count, because the bucket may have been split before its header was read. The
        // Acquire load of that header then makes the new count visible.
        probe.head.is_unchanged_since(probe.header) && self.bucket_count() == probe.count
    }

    /// The whole chain, from the head on again: where its first entry was not the one, or it was
    /// disturbed, or has overflow buckets.
    #[cold]
    #[inline(never)]
    fn get_slowly<T>(&self, hash: u64, mut check: impl FnMut(RecordId) -> Option<T>) -> Option<T> {
        let mut wait = SpinWait::new();
        loop {
            match self.search(hash, &mut check) {
                Ok(found) => return found,
                Err(Disturbed) => wait.wait(),
            }
        }
    }

    /// One walk through the chain of `hash`.
    fn search<T>(
        &self,
        hash: u64,
        mut check: impl FnMut(RecordId) -> Option<T>,
    ) -> Result<Option<T>, Disturbed> {
        let probe = self.probe(hash);
        let (mut bucket, mut link) = (probe.head, probe.header.link());
        loop {
            if let Some(found) = bucket.find(tag(hash), |_, id| check(id)) {
                return Ok(Some(found));
            }
            // At every step, because an overflow bucket that was recycled leads elsewhere.
            if !self.is_undisturbed(&probe) {
                return Err(Disturbed);
            }
            if link == 0 {
                return Ok(None);
            }
            bucket = self.overflow.bucket(link);
            link = bucket.header().link();
        }
    }

    /// Latches the chain of `hash`.
    #[inline]
    fn latch(&self, hash: u64) -> Chain<'_> {
        let mut wait = SpinWait::new();
        loop {
            let Probe { count, head, header } = self.probe(hash);
            if self.try_latch(head, header) {
                let chain = Chain::owned(head, header, &self.overflow);
                // A split may have come between; the latch makes its count visible.
                if Self::address(hash, self.bucket_count()) == Self::address(hash, count) {
                    return chain;
                }
            } else {
                wait.wait();
            }
        }
    }

    /// Latches the chain of bucket `number`.
    fn latch_at(&self, number: u64) -> Chain<'_> {
        let mut wait = SpinWait::new();
        let head = self.buckets.bucket(number);
        loop {
            let header = head.header();
            if self.try_latch(head, header) {
                return Chain::owned(head, header, &self.overflow);
            }
            wait.wait();
        }
    }

    #[inline(always)]
    fn try_latch(&self, head: Bucket<'_>, header: Header) -> bool {
        if header.is_latched() {
            return false;
        }
        match self.writers.is_one() {
            true => head.latch_alone(header),
            false => head.try_latch(header),
        }
    }
}

/// A bucket and the version it was looked into at; see [`HashIndex::stamp`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BucketStamp {
    bucket: u64,
    header: Header,
}

/// The beginning of a walk: what must be the same at its end if nothing was found.
struct Probe<'a> {
    count: u64,
    head: Bucket<'a>,
    header: Header,
}

/// A writer was at work: the walk proves nothing.
struct Disturbed;

impl fmt::Debug for HashIndex {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HashIndex")
            .field("buckets", &self.bucket_count())
            .field("entries_estimate", &self.len_estimate())
            .field("bytes", &self.bytes_used())
            .finish()
    }
}

#[cfg(test)]
mod tests;
