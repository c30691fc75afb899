//! A bucket: one cache line with a header and seven entries.
//!
//! ```text
//! word 0      header   32..64 link: number of the first overflow bucket, 0 for none
//!                       1..32 version: moved on by every writer that unlatches
//!                       0     latched
//! word 1..8   entry    40..64 tag: 24 bits of the hash
//!                       0..40 record id; the whole entry is 0 when free
//! ```
//!
//! An overflow bucket has the same form; of its header only the link is used, and its chain is
//! protected by the latch and version of the head bucket.

use hotrow_base::sync::facade::atomic::{
    AtomicU64,
    Ordering::{Acquire, Relaxed, Release},
};

use crate::record::RecordId;
use crate::slab::segments::POSITION_BITS;

/// Words of a bucket: a cache line.
pub(super) const BUCKET_WORDS: usize = 8;
/// Entries of a bucket.
pub(super) const ENTRIES: usize = BUCKET_WORDS - 1;

/// The tag is made of the hash's bits from here on. The bits below are the same for all entries of
/// a bucket from the start, as no index has fewer than `1 << TAG_FROM_BIT` buckets.
pub(super) const TAG_FROM_BIT: u32 = 10;
const TAG_SHIFT: u32 = POSITION_BITS;
const ID_MASK: u64 = (1 << TAG_SHIFT) - 1;
/// One past the last hash bit that an entry remembers.
pub(super) const TAG_TO_BIT: u32 = TAG_FROM_BIT + u64::BITS - TAG_SHIFT;

/// The tag of `hash`, placed as in an entry.
#[inline(always)]
pub(super) fn tag(hash: u64) -> u64 {
    (hash >> TAG_FROM_BIT) << TAG_SHIFT
}

/// The bit of an entry that is bit `bit` of its hash.
pub(super) fn entry_bit(bit: u32) -> u64 {
    debug_assert!((TAG_FROM_BIT..TAG_TO_BIT).contains(&bit), "the tag holds this bit");
    1 << (bit - TAG_FROM_BIT + TAG_SHIFT)
}

/// A non-empty entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Entry(pub(super) u64);

impl Entry {
    pub(super) fn new(hash: u64, id: RecordId) -> Self {
        debug_assert!(id.bits() != 0 && id.bits() <= ID_MASK, "stores hand out 40 bits, never 0");
        Self(tag(hash) | id.bits())
    }

    #[inline(always)]
    pub(super) fn id(self) -> RecordId {
        RecordId::from_bits(self.0 & ID_MASK)
    }
}

/// A header's value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Header(u64);

impl Header {
    const LATCHED: u64 = 1;
    const VERSION_ONE: u64 = 2;
    const VERSION: u64 = 0xffff_fffe;
    const LINK_SHIFT: u32 = 32;

    #[inline(always)]
    pub(super) fn is_latched(self) -> bool {
        self.0 & Self::LATCHED != 0
    }

    /// The first overflow bucket, 0 for none.
    #[inline(always)]
    pub(super) fn link(self) -> u64 {
        self.0 >> Self::LINK_SHIFT
    }

    pub(super) fn latched(self) -> Self {
        Self(self.0 | Self::LATCHED)
    }

    /// Unlatched, of the next version. 31 bits of version suffice: a reader would have to be
    /// stopped for exactly 2^31 changes of one bucket to be fooled.
    pub(super) fn next(self, link: u64) -> Self {
        debug_assert!(link >> 32 == 0, "the overflow space ends before");
        let version = (self.0 & Self::VERSION).wrapping_add(Self::VERSION_ONE) & Self::VERSION;
        Self(link << Self::LINK_SHIFT | version)
    }
}

/// A view of one bucket.
#[derive(Clone, Copy)]
pub(super) struct Bucket<'a>(pub(super) &'a [AtomicU64; BUCKET_WORDS]);

impl<'a> Bucket<'a> {
    #[inline(always)]
    pub(super) fn header(self) -> Header {
        // Acquire; partner: the Release store in `set_header`. A reader that sees a version
        // sees every change up to it.
        Header(self.0[0].load(Acquire))
    }

    #[inline(always)]
    pub(super) fn header_word(self) -> &'a AtomicU64 {
        &self.0[0]
    }

    pub(super) fn set_header(self, header: Header) {
        // Release; partner: the Acquire load in `header`.
        self.0[0].store(header.0, Release);
    }

    /// Latches the bucket if its header still is `header`.
    pub(super) fn try_latch(self, header: Header) -> bool {
        // Acquire; partner: the Release store of the header by the writer before.
        self.0[0].compare_exchange(header.0, header.latched().0, Acquire, Relaxed).is_ok()
    }

    /// As [`Bucket::try_latch`], for the only thread that latches buckets of this index.
    pub(super) fn latch_alone(self, header: Header) -> bool {
        let is_same = self.0[0].load(Relaxed) == header.0;
        if is_same {
            // Relaxed: entries are stored Release, and so not before this.
            self.0[0].store(header.latched().0, Relaxed);
        }
        is_same
    }

    /// Whether nothing was changed since `header` was read, and nothing is being changed.
    ///
    /// The entries read in between were loaded Acquire: had one been stored by a later writer
    /// (Release, after latching), this load would see that writer's latch or a later version.
    #[inline(always)]
    pub(super) fn is_unchanged_since(self, header: Header) -> bool {
        !header.is_latched() && self.0[0].load(Relaxed) == header.0
    }

    #[inline(always)]
    fn load(self, slot: usize) -> u64 {
        // Acquire; partner: the Release store in `store`. It publishes the record behind the id,
        // and it keeps a later validation from being done earlier.
        self.0[slot + 1].load(Acquire)
    }

    /// Stores into a bucket whose chain the caller has latched.
    pub(super) fn store(self, slot: usize, entry: Option<Entry>) {
        // Release; partner: the Acquire load in `load`.
        self.0[slot + 1].store(entry.map_or(0, |entry| entry.0), Release);
    }

    /// The entries, with their slots.
    pub(super) fn entries(self) -> impl Iterator<Item = (usize, Entry)> + use<'a> {
        (0..ENTRIES).map(move |slot| (slot, Entry(self.load(slot)))).filter(|(_, e)| e.0 != 0)
    }

    /// The record of the first entry of `tag`; 0 bits where a free entry passes for one of tag 0.
    #[inline(always)]
    pub(super) fn first(self, tag: u64) -> Option<RecordId> {
        // Nothing but comparisons stands in this loop, so that it is laid out: four instructions
        // an entry.
        for slot in 0..ENTRIES {
            let id = self.load(slot) ^ tag;
            if id <= ID_MASK {
                return Some(RecordId::from_bits(id));
            }
        }
        None
    }

    /// What `check` makes of the first entry of `tag`, given with its slot, that it accepts.
    #[inline(always)]
    pub(super) fn find<T>(
        self,
        tag: u64,
        mut check: impl FnMut(usize, RecordId) -> Option<T>,
    ) -> Option<T> {
        for slot in 0..ENTRIES {
            // One comparison for "same tag"; a free entry is found out by its id.
            let id = self.load(slot) ^ tag;
            if id <= ID_MASK
                && id != 0
                && let Some(found) = check(slot, RecordId::from_bits(id))
            {
                return Some(found);
            }
        }
        None
    }

    #[inline]
    pub(super) fn free_slot(self) -> Option<usize> {
        (0..ENTRIES).find(|&slot| self.load(slot) == 0)
    }
}
