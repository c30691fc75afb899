//! A record: its id, its header and its row words.
//!
//! Role         what engines read and write; made by the record store. Knows neither columns (the
//!              row layout does) nor what the control word means (the running engine does)
//! States       live -> ghost <-> live -> retired -> free (see the record store)
//! Invariants   I1 a slot keeps its size class for ever, so a stale view never reads outside it
//!              I2 a forwarded record's body is not forwarded
//!              I3 whoever holds a record exclusively changes it only when it is captured, so that
//!              no image misses the row as it was (asserted in debug builds)
//! Concurrency  control word: the engine's own protocol.
//!              meta word and row words: written only by whoever holds the record exclusively
//!              under the engine's protocol; read by any thread. Row words are accessed Relaxed,
//!              because the engine's control word orders them; meta is stored Release and loaded
//!              Acquire, so that whoever sees a new body sees its words.
//!              Bits 58 and 57 of meta are a claim (base's `sync::claim`) on copying the row into
//!              an image. While a record is not captured, any thread may claim it by
//!              compare-exchange; once it is, by I3 only its holder changes meta. So the holder's
//!              loads and stores of meta lose no claim, and no claim loses a change of the holder's
//!
//! ```text
//! word 0   control word: opaque
//! word 1   meta   63 ghost | 62 retired | 61 forwarded | 60 body | 59 free
//!                 58 stamp: as its store's, when captured | 57 busy: being captured
//!                 48..56 size class
//!                  0..48 row length in words; forwarded: id of the body; free: next free slot
//! word 2.. row; a forwarded record's row is in its body, a slot of the same form
//! ```

use hotrow_base::sync::facade::atomic::{
    AtomicU64,
    Ordering::{Acquire, Relaxed, Release},
};
use std::fmt;

use hotrow_base::sync::ClaimBits;

use crate::slab::size_class::SizeClass;
use crate::slab::space::Space;

/// Words before the row: control word and meta.
pub const HEADER_WORDS: usize = 2;
/// The longest row in words (1 MiB). Whoever builds rows from user input checks it.
pub const MAX_ROW_WORDS: usize = 1 << 17;

/// Names a record within its store, for good; never 0.
///
/// Only the low 48 bits of [`RecordId::bits`] are ever used (today 40), so an index value keeps
/// its upper 16 bits for flags.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RecordId(u64);

impl RecordId {
    /// The bits that an id may use.
    pub const MASK: u64 = (1 << 48) - 1;

    /// The id in the low 48 bits of `bits`; the others are ignored.
    ///
    /// Any number is accepted; one that no store handed out panics when it is resolved, or names
    /// other words of the store.
    #[inline]
    #[must_use]
    pub const fn from_bits(bits: u64) -> Self {
        Self(bits & Self::MASK)
    }

    /// The id as a number below 2^48.
    #[inline]
    #[must_use]
    pub const fn bits(self) -> u64 {
        self.0
    }
}

impl fmt::Debug for RecordId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RecordId({:#x})", self.0)
    }
}

/// A record's row: exactly as many words as the row has, read and written Relaxed.
pub type RowWords<'a> = &'a [AtomicU64];

/// One record, resolved: cheap to copy and to keep for as long as its transaction runs.
#[derive(Clone, Copy)]
pub struct Record<'a> {
    id: RecordId,
    /// Header and row, to the end of the segment. At least a header long, as `resolve` checked.
    words: &'a [AtomicU64],
    space: &'a Space,
}

impl<'a> Record<'a> {
    /// The record at `id`.
    #[inline(always)]
    pub(crate) fn resolve(space: &'a Space, id: RecordId) -> Self {
        let words = space.segments.words_from(id.bits());
        assert!(words.len() >= HEADER_WORDS, "a slot is at least a header long");
        Self { id, words, space }
    }

    /// The name of the record.
    #[inline(always)]
    #[must_use]
    pub fn id(&self) -> RecordId {
        self.id
    }

    /// Header, and the words after it to the end of the segment.
    #[inline(always)]
    fn parts(&self) -> (&'a [AtomicU64; HEADER_WORDS], &'a [AtomicU64]) {
        // SAFETY: `resolve` is the only maker and checked the length, which never changes.
        // JUSTIFICATION: spares two instructions of each look at a header, which are a tenth of a
        // point read's share in ycsb (`hotrow bench ycsb` under callgrind).
        unsafe { std::hint::assert_unchecked(self.words.len() >= HEADER_WORDS) };
        self.words.split_first_chunk().expect("asserted above")
    }

    /// The words after the header, to the end of the segment.
    #[inline(always)]
    pub(crate) fn rest(&self) -> &'a [AtomicU64] {
        self.parts().1
    }

    /// The word that belongs to the running engine; 0 in a new record.
    #[inline(always)]
    #[must_use]
    pub fn control(&self) -> &'a AtomicU64 {
        &self.parts().0[0]
    }

    /// Whether the record is logically deleted and only kept physically.
    #[inline]
    #[must_use]
    pub fn is_ghost(&self) -> bool {
        self.meta().has(Meta::GHOST)
    }

    /// Makes the record a ghost.
    #[inline]
    pub fn set_ghost(&self) {
        debug_assert!(self.is_captured(), "I3");
        self.set_meta(self.meta().with(Meta::GHOST));
    }

    /// Makes a ghost a live record again.
    #[inline]
    pub fn clear_ghost(&self) {
        debug_assert!(self.is_captured(), "I3");
        self.set_meta(self.meta().without(Meta::GHOST));
    }

    /// Whether the image that is being made, if any, has the row or needs none. Who holds the
    /// record exclusively asks before its first change, and else calls [`Record::claim`].
    #[inline(always)]
    #[must_use]
    pub fn is_captured(&self) -> bool {
        Meta::CLAIM.is_done(self.meta().0, self.space.stamp())
    }

    /// The right to copy the row, and the duty; none when it was copied, after waiting for that
    /// where another thread is at it. Kept for the time of the copy: others spin.
    #[must_use]
    pub fn claim(&self) -> Option<Claimed<'a>> {
        let claimed = Meta::CLAIM.claim(self.meta_word(), self.space.stamp());
        claimed.then(|| Claimed { record: *self })
    }

    /// Whether the record was unlinked and waits for its reclamation epoch (or is free again).
    #[inline]
    #[must_use]
    pub fn is_retired(&self) -> bool {
        self.meta().has(Meta::RETIRED) || self.meta().has(Meta::FREE)
    }

    /// The row's words.
    #[inline(always)]
    #[must_use]
    pub fn row(&self) -> RowWords<'a> {
        let meta = self.meta();
        if meta.has(Meta::FORWARDED) {
            return self.forwarded_row(meta);
        }
        &self.rest()[..meta.payload() as usize]
    }

    /// The row's words, unless the record is a ghost, or was unlinked.
    #[inline(always)]
    #[must_use]
    pub fn live_row(&self) -> Option<RowWords<'a>> {
        let meta = self.meta();
        if meta.has(Meta::GHOST | Meta::RETIRED | Meta::FREE | Meta::FORWARDED) {
            return self.unusual_row(meta);
        }
        Some(&self.rest()[..meta.payload() as usize])
    }

    #[cold]
    #[inline(never)]
    fn unusual_row(self, meta: Meta) -> Option<RowWords<'a>> {
        let is_live = !meta.has(Meta::GHOST | Meta::RETIRED | Meta::FREE);
        is_live.then(|| self.row())
    }

    #[cold]
    #[inline(never)]
    fn forwarded_row(self, meta: Meta) -> RowWords<'a> {
        self.body(meta).row_here()
    }

    /// Stores word `index` of the row.
    ///
    /// # Panics
    ///
    /// If the row is not longer than `index`.
    #[inline(always)]
    pub fn store_word(&self, index: usize, word: u64) {
        debug_assert!(self.is_captured(), "I3");
        self.row()[index].store(word, Relaxed);
    }

    /// How long a row [`Record::try_store_row`] takes, in words.
    #[must_use]
    pub fn capacity_words(&self) -> usize {
        self.holder().class().words() - HEADER_WORDS
    }

    /// Overwrites the row with `row`, of another length perhaps, if there is room for it.
    /// Otherwise nothing happens; the store's `grow` is what to call then.
    #[must_use]
    pub fn try_store_row(&self, row: &[u64]) -> bool {
        let holder = self.holder();
        if row.len() > holder.class().words() - HEADER_WORDS {
            return false;
        }
        debug_assert!(self.is_captured(), "I3");
        for (word, &value) in holder.rest().iter().zip(row) {
            word.store(value, Relaxed);
        }
        holder.set_meta(holder.meta().with_payload(row.len() as u64));
        true
    }

    /// The slot that holds the row: the record itself or its body.
    fn holder(self) -> Self {
        let meta = self.meta();
        if meta.has(Meta::FORWARDED) { self.body(meta) } else { self }
    }

    fn body(&self, meta: Meta) -> Record<'a> {
        Record::resolve(self.space, RecordId::from_bits(meta.payload()))
    }

    fn row_here(&self) -> RowWords<'a> {
        debug_assert!(!self.meta().has(Meta::FORWARDED), "I2");
        &self.rest()[..self.meta().payload() as usize]
    }

    pub(crate) fn class(&self) -> SizeClass {
        self.meta().class()
    }

    #[inline(always)]
    fn meta_word(&self) -> &'a AtomicU64 {
        &self.parts().0[1]
    }

    #[inline(always)]
    pub(crate) fn meta(&self) -> Meta {
        // Acquire; partner: the Release store in `set_meta`.
        Meta(self.meta_word().load(Acquire))
    }

    #[inline(always)]
    pub(crate) fn set_meta(&self, meta: Meta) {
        // Release; partner: the Acquire load in `meta`.
        self.meta_word().store(meta.0, Release);
    }
}

/// A record whose row the holder of this copies into an image; captured when dropped.
#[must_use = "dropped, the record counts as captured"]
#[derive(Debug)]
pub struct Claimed<'a> {
    record: Record<'a>,
}

impl<'a> Claimed<'a> {
    /// The row; none when the record is a ghost: it then has no row that an image needs.
    #[must_use]
    pub fn row(&self) -> Option<RowWords<'a>> {
        self.record.live_row()
    }
}

impl Drop for Claimed<'_> {
    fn drop(&mut self) {
        Meta::CLAIM.finish(self.record.meta_word(), self.record.space.stamp());
    }
}

impl fmt::Debug for Record<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Record")
            .field("control", &format_args!("{:#x}", self.control().load(Relaxed)))
            .field("meta", &format_args!("{:#x}", self.meta().0))
            .field("row", &self.row())
            .finish()
    }
}

/// The meta word; see the module's diagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Meta(pub(crate) u64);

impl Meta {
    pub(crate) const GHOST: u64 = 1 << 63;
    pub(crate) const RETIRED: u64 = 1 << 62;
    pub(crate) const FORWARDED: u64 = 1 << 61;
    pub(crate) const BODY: u64 = 1 << 60;
    pub(crate) const FREE: u64 = 1 << 59;
    pub(crate) const STAMP: u64 = 1 << 58;
    const BUSY: u64 = 1 << 57;
    /// Slots that are no records have no row to copy.
    pub(crate) const NO_RECORD: u64 = Self::RETIRED | Self::FREE | Self::BODY;
    const CLAIM: ClaimBits =
        ClaimBits { stamp: Self::STAMP, busy: Self::BUSY, nothing: Self::NO_RECORD };
    const CLASS_SHIFT: u32 = 48;
    const CLASS: u64 = 0xff << Self::CLASS_SHIFT;
    const PAYLOAD: u64 = RecordId::MASK;

    pub(crate) fn new(flags: u64, class: SizeClass, payload: u64) -> Self {
        debug_assert!(payload <= Self::PAYLOAD, "lengths and ids have 48 bits");
        Self(flags | (class.number() as u64) << Self::CLASS_SHIFT | payload)
    }

    /// Whether the slot was never used.
    pub(crate) fn is_untouched(self) -> bool {
        self.0 == 0
    }

    #[inline(always)]
    pub(crate) fn has(self, flag: u64) -> bool {
        self.0 & flag != 0
    }

    pub(crate) fn with(self, flag: u64) -> Self {
        Self(self.0 | flag)
    }

    pub(crate) fn without(self, flag: u64) -> Self {
        Self(self.0 & !flag)
    }

    #[inline(always)]
    pub(crate) fn payload(self) -> u64 {
        self.0 & Self::PAYLOAD
    }

    pub(crate) fn with_payload(self, payload: u64) -> Self {
        Self(self.0 & !Self::PAYLOAD | payload)
    }

    pub(crate) fn class(self) -> SizeClass {
        SizeClass::from_number(((self.0 & Self::CLASS) >> Self::CLASS_SHIFT) as usize)
    }

    /// Where the row is, with the flags of `flags_of`.
    pub(crate) fn with_flags_of(self, flags_of: Self) -> Self {
        const KEPT: u64 = Meta::GHOST | Meta::RETIRED | Meta::STAMP;
        Self(self.0 & !KEPT | flags_of.0 & KEPT)
    }
}
