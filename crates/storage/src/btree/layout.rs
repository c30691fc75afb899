//! A node's words.
//!
//! ```text
//! word 0            version latch
//! word 1            header: count, stride, prefix bytes, capacity, level
//! word 2            fences' lengths, whether the upper one is open, where the last insert went
//! word 3            the first eight bytes of the prefix that all keys here share, zero-padded
//! heads, from 4     capacity words: first word of each key behind the prefix
//! values            capacity words: entry words, or children
//! tails             capacity * (stride - 1) words: the other words of each key
//! prefix's rest     its other words: few nodes have any
//!                   (unused)
//! .. end            upper fence, lower fence, zero-padded
//!
//! value word        63 ghost │ 62..53 key length in bytes │ 52..0 value
//! child word                   62..53 length of separator │ 31..0 NodeId
//! ```
//!
//! Invariants   I1  the header is one word and always describes a layout that fits the node; so a
//!                  reader racing with a writer reads nonsense but never outside the node
//!              I2  child i of an inner node covers the keys from separator i to separator i + 1;
//!                  separator 0 is the lower fence and its slot holds zeros
//! Concurrency  all words Relaxed: the latch's protocol (`VersionLatch`, P1 and P2) orders them

use hotrow_base::sync::facade::atomic::{AtomicU64, Ordering::Relaxed};

use super::arena::NodeId;
use super::key::SearchKey;

/// The entry's ghost flag within a value.
pub const GHOST: u64 = 1 << 63;
/// The bits of a value that the tree's users may use, beside [`GHOST`].
pub const VALUE_MASK: u64 = (1 << LENGTH_SHIFT) - 1;

const LENGTH_SHIFT: u32 = 53;
const LENGTH_MASK: u64 = 0x3ff;

pub(super) const HEADER: usize = 1;
pub(super) const FENCES: usize = 2;
pub(super) const PREFIX: usize = 3;
/// The same in all nodes, so that the search of most is made of constants.
pub(super) const HEADS: usize = 4;

/// The word stored for `value` under a key of `key_length` bytes.
#[inline]
pub(super) fn entry_word(value: u64, key_length: usize) -> u64 {
    value & (GHOST | VALUE_MASK) | (key_length as u64) << LENGTH_SHIFT
}

/// The value, with its ghost flag, in an entry word.
#[inline]
pub(super) fn value_in(word: u64) -> u64 {
    word & (GHOST | VALUE_MASK)
}

/// The key length in an entry or child word.
#[inline]
pub(super) fn key_length_in(word: u64) -> usize {
    (word >> LENGTH_SHIFT & LENGTH_MASK) as usize
}

/// Word 1: count 0..10, stride 10..17, prefix bytes 17..27, where the values start 27..37, level
/// 44..50, longest key in bytes 50..60, key lengths differ 60. The lengths spare a split looking at
/// every entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Header(pub(super) u64);

impl Header {
    const MIXED: u64 = 1 << 60;

    pub(super) fn new(level: usize, layout: Layout, count: usize) -> Self {
        debug_assert!(count <= layout.capacity && layout.stride >= 1, "{layout:?} for {count}");
        let values_start = HEADS + layout.capacity;
        Self(
            count as u64
                | (layout.stride as u64) << 10
                | (layout.prefix_bytes as u64) << 17
                | (values_start as u64) << 27
                | (level as u64) << 44
                | (layout.longest as u64) << 50
                | u64::from(layout.mixed) << 60,
        )
    }

    /// The header of a node out of the tree: no leaf, and nothing in it.
    pub(super) fn retired() -> Self {
        let layout = Layout { stride: 1, prefix_bytes: 0, capacity: 0, longest: 0, mixed: false };
        Self::new(0x3f, layout, 0)
    }

    #[inline(always)]
    pub(super) fn count(self) -> usize {
        (self.0 & 0x3ff) as usize
    }

    #[inline(always)]
    pub(super) fn stride(self) -> usize {
        (self.0 >> 10 & 0x7f) as usize
    }

    #[inline(always)]
    pub(super) fn prefix_bytes(self) -> usize {
        (self.0 >> 17 & 0x3ff) as usize
    }

    #[inline(always)]
    pub(super) fn values_start(self) -> usize {
        (self.0 >> 27 & 0x3ff) as usize
    }

    #[inline(always)]
    pub(super) fn level(self) -> usize {
        (self.0 >> 44 & 0x3f) as usize
    }

    /// The longest key in bytes, or a bound of it after removals.
    #[inline(always)]
    pub(super) fn longest(self) -> usize {
        (self.0 >> 50 & 0x3ff) as usize
    }

    /// Whether the keys may have different lengths.
    #[inline(always)]
    pub(super) fn is_mixed(self) -> bool {
        self.0 & Self::MIXED != 0
    }

    /// The header after an insert of a key of `length` bytes.
    #[inline(always)]
    pub(super) fn with_inserted(self, length: usize) -> Self {
        let counted = Self(self.0 + 1); // the count is in the lowest bits
        if self.longest() == length { counted } else { counted.with_other_length(length) }
    }

    #[cold]
    fn with_other_length(self, length: usize) -> Self {
        let longest = self.longest().max(length) as u64;
        // The first key of a node does not differ from any.
        let mixed = if self.longest() == 0 { 0 } else { Self::MIXED };
        Self(self.0 & !(0x3ff << 50) | longest << 50 | mixed)
    }

    #[inline(always)]
    pub(super) fn is_leaf(self) -> bool {
        self.0 & 0x3f << 44 == 0
    }

    #[inline(always)]
    pub(super) fn capacity(self) -> usize {
        self.values_start().saturating_sub(HEADS)
    }

    /// Where the words of the prefix but the first one are.
    pub(super) fn prefix_rest_start(self) -> usize {
        HEADS + self.capacity() * (self.stride() + 1)
    }

    #[inline(always)]
    pub(super) fn tails_start(self) -> usize {
        self.values_start() + self.capacity()
    }
}

/// How a node's key space is divided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Layout {
    pub(super) stride: usize,
    pub(super) prefix_bytes: usize,
    pub(super) capacity: usize,
    /// The longest key, in bytes.
    pub(super) longest: usize,
    /// Whether keys have different lengths.
    pub(super) mixed: bool,
}

/// Word 2: lower fence bytes 0..10, upper fence bytes 10..20, upper fence open 20, position of the
/// last insert 21..31, ascending streak 31..35.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Fences(pub(super) u64);

impl Fences {
    const OPEN: u64 = 1 << 20;

    pub(super) fn new(lower_bytes: usize, upper_bytes: Option<usize>) -> Self {
        let upper = upper_bytes.map_or(Self::OPEN, |bytes| (bytes as u64) << 10);
        Self(lower_bytes as u64 | upper)
    }

    pub(super) fn lower_bytes(self) -> usize {
        (self.0 & 0x3ff) as usize
    }

    /// `None` when there is no upper fence.
    pub(super) fn upper_bytes(self) -> Option<usize> {
        (self.0 & Self::OPEN == 0).then_some((self.0 >> 10 & 0x3ff) as usize)
    }

    pub(super) fn last_insert(self) -> usize {
        (self.0 >> 21 & 0x3ff) as usize
    }

    /// How many of the last inserts (at most 15) came each right behind the one before.
    pub(super) fn streak(self) -> u64 {
        self.0 >> 31 & 0xf
    }

    /// Notes an insert at `position`. One place out of order does not end a streak (several
    /// threads appending overtake each other); anything else halves it.
    #[inline(always)]
    pub(super) fn with_insert_at(self, position: usize) -> Self {
        let streak = self.streak();
        let ascending = position.wrapping_sub(self.last_insert()) <= 2;
        let streak = if ascending { (streak + 1).min(15) } else { streak / 2 };
        Self(self.0 & ((1 << 21) - 1) | (position as u64) << 21 | streak << 31)
    }
}

/// A reader's view of a node under one header.
#[derive(Clone, Copy)]
pub(super) struct View<'n, const N: usize> {
    pub(super) words: &'n [AtomicU64; N],
    pub(super) header: Header,
}

impl<'n, const N: usize> View<'n, N> {
    #[inline(always)]
    pub(super) fn new(words: &'n [AtomicU64; N]) -> Self {
        Self { words, header: Header(words[HEADER].load(Relaxed)) }
    }

    #[inline(always)]
    pub(super) fn word(&self, index: usize) -> u64 {
        debug_assert!(index < N, "the header describes a layout that fits");
        // The mask changes no index; it spares the compiler's check, which it cannot see through.
        self.words[index & (N - 1)].load(Relaxed)
    }

    #[inline(always)]
    pub(super) fn count(&self) -> usize {
        self.header.count()
    }

    #[inline(always)]
    pub(super) fn is_leaf(&self) -> bool {
        self.header.is_leaf()
    }

    #[inline]
    pub(super) fn fences(&self) -> Fences {
        Fences(self.word(FENCES))
    }

    #[inline(always)]
    pub(super) fn heads(&self) -> &'n [AtomicU64] {
        &self.words[HEADS..][..self.header.count()]
    }

    /// The entry or child word at `index`.
    #[inline(always)]
    pub(super) fn value_word(&self, index: usize) -> u64 {
        self.word(self.header.values_start() + index)
    }

    /// The child at `index` of an inner node.
    #[inline(always)]
    pub(super) fn child(&self, index: usize) -> NodeId {
        NodeId(self.value_word(index) as u32)
    }

    /// How many bytes of a key the node's words can tell.
    #[inline]
    pub(super) fn reach(&self) -> usize {
        self.header.prefix_bytes() + 8 * self.header.stride()
    }

    /// Whether `key` can stand in this node as it is laid out now.
    #[inline]
    pub(super) fn accepts(&self, key: &[u8]) -> bool {
        self.takes(key.len()) && self.compare_prefix(SearchKey::new(key)).is_eq()
    }

    /// Whether a key of `length` bytes that begins with the node's prefix can stand in it.
    #[inline(always)]
    pub(super) fn takes(&self, length: usize) -> bool {
        self.count() < self.header.capacity() && length <= self.reach()
    }
}
