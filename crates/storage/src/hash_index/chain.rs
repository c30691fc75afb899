//! A latched chain: a head bucket and its overflow buckets, while one writer owns them.
//!
//! Invariants   I1 if there are overflow buckets, the head and all of them but the first are full,
//!              and the first holds at least one entry: room is found, and chains shrink, without
//!              a walk to the end
//! Concurrency  readers pass through at any time. They trust a hit, and trust a miss only if the
//!              head's version did not change

use super::bucket::{Bucket, ENTRIES, Entry, Header, tag};
use super::space::BucketSpace;
use crate::budget::OutOfMemoryBudget;
use crate::record::RecordId;

/// Ownership of a chain; dropping it unlatches and moves the version on.
pub(super) struct Chain<'a> {
    head: Bucket<'a>,
    /// The header before latching.
    before: Header,
    /// Number of the first overflow bucket, as it will be when unlatched.
    first: u64,
    overflow: &'a BucketSpace,
}

impl<'a> Chain<'a> {
    /// Ownership of the chain at `head`, which the caller has latched when its header was `before`
    /// (or which only the caller uses).
    pub(super) fn owned(head: Bucket<'a>, before: Header, overflow: &'a BucketSpace) -> Self {
        Self { head, before, first: before.link(), overflow }
    }

    /// The head's header before latching, and as it will be when unlatched.
    pub(super) fn headers(&self) -> [Header; 2] {
        [self.before, self.before.next(self.first)]
    }

    /// The first entry of the tag of `hash` that `matches`, and where it is.
    #[inline]
    pub(super) fn find(
        &self,
        hash: u64,
        mut matches: impl FnMut(RecordId) -> bool,
    ) -> Option<(Bucket<'a>, usize, RecordId)> {
        let tag = tag(hash);
        let mut bucket = self.head;
        let mut link = self.first;
        loop {
            let found = bucket.find(tag, |slot, id| matches(id).then_some((bucket, slot, id)));
            if found.is_some() {
                return found;
            }
            if link == 0 {
                return None;
            }
            bucket = self.overflow.bucket(link);
            link = bucket.header().link();
        }
    }

    /// Adds `entry`.
    #[inline]
    pub(super) fn add(&mut self, entry: Entry) -> Result<(), OutOfMemoryBudget> {
        let (bucket, slot) = match self.room() {
            Some(room) => room,
            None => (self.prepend(self.overflow.take()?), 0),
        };
        bucket.store(slot, Some(entry));
        Ok(())
    }

    /// Frees the entry in `slot` of `bucket`, closing the gap from the first overflow bucket (I1).
    pub(super) fn take_out(&mut self, bucket: Bucket<'a>, slot: usize) {
        if self.first == 0 {
            bucket.store(slot, None);
            return;
        }
        let first = self.overflow.bucket(self.first);
        let (last_slot, last) = first.entries().last().expect("I1: it holds at least one entry");
        // The copy is stored before the original goes, so a reader can only miss it by looking
        // here too early and there too late, and then the version tells it.
        bucket.store(slot, Some(last));
        first.store(last_slot, None);
        if first.entries().next().is_none() {
            let emptied = self.first;
            self.first = first.header().link();
            self.overflow.recycle(emptied);
        }
    }

    /// All entries, appended to `entries`.
    pub(super) fn copy_to(&self, entries: &mut Vec<Entry>) {
        entries.extend(self.buckets().flat_map(|bucket| bucket.entries().map(|(_, entry)| entry)));
    }

    /// Moves the entries for which `leaves` holds to the chain `other`, which is empty. `scratch`
    /// is a buffer. Needs no memory: the overflow buckets at hand are enough for both, because
    /// with `a + b <= 7 + 7k` entries, `ceil((a - 7) / 7) + ceil((b - 7) / 7) <= k`.
    pub(super) fn divide(
        &mut self,
        other: &mut Self,
        leaves: impl Fn(Entry) -> bool,
        scratch: &mut Vec<Entry>,
    ) {
        scratch.clear();
        self.copy_to(scratch);
        let buckets = self.buckets();
        let mut spare = std::mem::take(&mut self.first);
        for bucket in buckets {
            (0..ENTRIES).for_each(|slot| bucket.store(slot, None));
        }
        for &entry in scratch.iter() {
            let chain = if leaves(entry) { &mut *other } else { &mut *self };
            let (bucket, slot) = chain.room().unwrap_or_else(|| {
                let number = spare;
                assert!(number != 0, "both parts fit into the buckets of the whole");
                spare = chain.overflow.bucket(number).header().link();
                (chain.prepend(number), 0)
            });
            bucket.store(slot, Some(entry));
        }
        while spare != 0 {
            let number = spare;
            spare = self.overflow.bucket(number).header().link();
            self.overflow.recycle(number);
        }
    }

    /// A free slot. By I1, only the head and the first overflow bucket can have one.
    #[inline]
    fn room(&self) -> Option<(Bucket<'a>, usize)> {
        if let Some(slot) = self.head.free_slot() {
            return Some((self.head, slot));
        }
        if self.first == 0 {
            return None;
        }
        let first = self.overflow.bucket(self.first);
        first.free_slot().map(|slot| (first, slot))
    }

    /// Makes the empty bucket `number` the first overflow bucket.
    fn prepend(&mut self, number: u64) -> Bucket<'a> {
        let bucket = self.overflow.bucket(number);
        bucket.set_header(bucket.header().next(self.first));
        self.first = number;
        bucket
    }

    fn buckets(&self) -> impl Iterator<Item = Bucket<'a>> + use<'a> {
        let overflow = self.overflow;
        let mut link = self.first;
        std::iter::once(self.head).chain(std::iter::from_fn(move || {
            (link != 0).then(|| {
                let bucket = overflow.bucket(link);
                link = bucket.header().link();
                bucket
            })
        }))
    }
}

impl Drop for Chain<'_> {
    fn drop(&mut self) {
        self.head.set_header(self.before.next(self.first));
    }
}
