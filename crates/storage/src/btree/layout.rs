//! A node's words and how to search them.
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

use std::cmp::Ordering;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use super::arena::NodeId;
use super::key::{KeyBuffer, SearchKey, word_at};
use super::search::{BORDER_WINDOW, border_in, lower_bound, partition, upper_bound};

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

/// What a search for a key found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Found {
    /// The entry with the key.
    Entry(usize),
    /// No such entry; it would stand here.
    Gap(usize),
    /// As `Gap`, and the key does not begin with the node's prefix.
    Stray(usize),
    /// An entry whose key differs only in zero bytes at the end; the key belongs here.
    Padded(usize),
}

impl Found {
    /// The first entry whose key is not less.
    #[inline]
    pub(super) fn index(self) -> usize {
        match self {
            Self::Entry(index) | Self::Gap(index) | Self::Stray(index) | Self::Padded(index) => {
                index
            }
        }
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
    fn heads(&self) -> &'n [AtomicU64] {
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

    /// Where in a leaf `key` is or belongs.
    pub(super) fn find(&self, key: &[u8]) -> Found {
        self.find_key(SearchKey::new(key))
    }

    /// [`find`](Self::find), inlined.
    #[inline(always)]
    pub(super) fn find_key(&self, search: SearchKey<'_>) -> Found {
        let key = search.bytes;
        match self.compare_prefix(search) {
            Ordering::Equal => {}
            Ordering::Less => return Found::Stray(0),
            Ordering::Greater => return Found::Stray(self.count()),
        }
        let head = search.word_behind(self.header.prefix_bytes());
        let heads = self.heads();
        if heads.last().is_none_or(|last| last.load(Relaxed) < head) {
            return Found::Gap(heads.len()); // an append: no search
        }
        let mut index = self.border(|word| word < head);
        let mut tie = heads.get(index).is_some_and(|word| word.load(Relaxed) == head);
        if tie && self.header.stride() > 1 {
            (index, tie) = self.find_tail(key, index, head);
        }
        if !tie {
            return Found::Gap(index);
        }
        // Word for word the same: only the lengths can differ.
        match key_length_in(self.value_word(index)).cmp(&key.len()) {
            Ordering::Equal => Found::Entry(index),
            Ordering::Less => Found::Padded(index + 1),
            Ordering::Greater => Found::Padded(index),
        }
    }

    /// How many heads, all at the front, are `before` what is looked for.
    #[inline(always)]
    fn border(&self, before: impl Fn(u64) -> bool) -> usize {
        const { assert!(HEADS + BORDER_WINDOW <= N) };
        match (self.words[HEADS..].first_chunk(), self.count()) {
            (Some(heads), count @ 32..64) => border_in(heads, count, before),
            _ => partition(self.heads(), before),
        }
    }

    /// The child of an inner node that covers `key`.
    pub(super) fn child_covering(&self, key: &[u8]) -> usize {
        self.child_for(SearchKey::new(key))
    }

    /// [`child_covering`](Self::child_covering), inlined.
    #[inline(always)]
    pub(super) fn child_for(&self, search: SearchKey<'_>) -> usize {
        let key = search.bytes;
        match self.compare_prefix(search) {
            Ordering::Equal => {}
            Ordering::Less => return 0,
            Ordering::Greater => return self.count().saturating_sub(1),
        }
        let head = search.word_behind(self.header.prefix_bytes());
        if self.header.stride() == 1 {
            // Slot 0 holds zeros, so it is never greater.
            return self.border(|word| word <= head).saturating_sub(1);
        }
        let Some((_, heads)) = self.heads().split_first() else { return 0 };
        let index = lower_bound(heads, head) + 1;
        if self.heads().get(index).is_none_or(|word| word.load(Relaxed) != head) {
            return index - 1;
        }
        let (index, tie) = self.find_tail(key, index, head);
        if tie { index } else { index - 1 }
    }

    /// The child of an inner node that covers the keys just below `key`, a fence.
    pub(super) fn child_below(&self, key: &[u8]) -> usize {
        let index = self.child_covering(key);
        if index > 0 && self.compare_key(index, key).is_eq() { index - 1 } else { index }
    }

    /// Compares the key at `index` with `key`, word by word.
    pub(super) fn compare_key(&self, index: usize, key: &[u8]) -> Ordering {
        let end = self.reach().max(key.len());
        (0..end)
            .step_by(8)
            .map(|offset| self.key_word(index, offset).cmp(&word_at(key, offset)))
            .find(|ordering| ordering.is_ne())
            .unwrap_or(Ordering::Equal)
    }

    /// Among the keys from `first` on that begin with `head`: the first not less than `key`, and
    /// whether it is word for word the same.
    #[inline(never)]
    fn find_tail(self, key: &[u8], first: usize, head: u64) -> (usize, bool) {
        let run = upper_bound(&self.heads()[first..], head);
        if self.header.stride() == 2 {
            // The usual composite key: one more word, in an array of its own as the heads are.
            let tail = word_at(key, self.header.prefix_bytes() + 8);
            let tails = &self.words[self.header.tails_start() + first..][..run];
            let index = lower_bound(tails, tail);
            return (
                first + index,
                tails.get(index).is_some_and(|word| word.load(Relaxed) == tail),
            );
        }
        let (mut low, mut high) = (first, first + run);
        while low < high {
            let middle = low.midpoint(high);
            match self.compare_tail(middle, key) {
                Ordering::Less => low = middle + 1,
                Ordering::Equal => return (middle, true),
                Ordering::Greater => high = middle,
            }
        }
        (low, false)
    }

    #[inline]
    fn compare_tail(&self, index: usize, key: &[u8]) -> Ordering {
        let tail_words = self.header.stride() - 1;
        let start = self.header.tails_start() + index * tail_words;
        let mut offset = self.header.prefix_bytes();
        for word in &self.words[start..start + tail_words] {
            offset += 8;
            let ordering = word.load(Relaxed).cmp(&word_at(key, offset));
            if ordering.is_ne() {
                return ordering;
            }
        }
        Ordering::Equal
    }

    /// The length of the key at `index`, in bytes.
    #[inline]
    pub(super) fn key_length(&self, index: usize) -> usize {
        key_length_in(self.value_word(index)).min(self.reach())
    }

    /// Compares the key's first bytes with the node's prefix.
    #[inline(always)]
    pub(super) fn compare_prefix(&self, search: SearchKey<'_>) -> Ordering {
        let bytes = self.header.prefix_bytes();
        if bytes == 0 {
            return Ordering::Equal;
        }
        if bytes > 8 {
            return self.compare_long_prefix(search.bytes, bytes);
        }
        let behind = (64 - 8 * bytes as u32) & 63;
        (search.first >> behind).cmp(&(self.word(PREFIX) >> behind))
    }

    #[inline(never)]
    fn compare_long_prefix(self, key: &[u8], bytes: usize) -> Ordering {
        let mut offset = 0;
        while offset + 8 <= bytes {
            let ordering = word_at(key, offset).cmp(&self.prefix_word(offset / 8));
            if ordering.is_ne() {
                return ordering;
            }
            offset += 8;
        }
        if offset == bytes {
            return Ordering::Equal;
        }
        let shift = 64 - 8 * (bytes - offset);
        (word_at(key, offset) >> shift).cmp(&(self.prefix_word(offset / 8) >> shift))
    }

    #[inline]
    fn prefix_word(&self, number: usize) -> u64 {
        match number.checked_sub(1) {
            None => self.word(PREFIX),
            Some(further) => self.word(self.header.prefix_rest_start() + further),
        }
    }

    /// How many bytes of a key the node's words can tell.
    #[inline]
    pub(super) fn reach(&self) -> usize {
        self.header.prefix_bytes() + 8 * self.header.stride()
    }

    /// Eight bytes of the key at `index` from byte `offset`, as a big-endian word.
    pub(super) fn key_word(&self, index: usize, offset: usize) -> u64 {
        let prefix = self.header.prefix_bytes();
        if offset >= prefix {
            let (word, shift) = ((offset - prefix) / 8, (offset - prefix) % 8 * 8);
            let first = self.suffix_word(index, word) << shift;
            if shift == 0 {
                return first;
            }
            return first | self.suffix_word(index, word + 1) >> (64 - shift);
        }
        let (word, shift) = (offset / 8, offset % 8 * 8);
        let mut bytes = self.prefix_word(word) << shift;
        if shift > 0 && (word + 1) * 8 < prefix {
            bytes |= self.prefix_word(word + 1) >> (64 - shift);
        }
        match prefix - offset {
            left @ 1..8 => bytes | self.suffix_word(index, 0) >> (8 * left),
            _ => bytes,
        }
    }

    /// Copies entries from `first` on into slots of an entry word and the key's words, column by
    /// column, because a column is an array here.
    #[inline(never)]
    pub(super) fn copy_entries(&self, first: usize, slots: &mut [[u8; 8]], slot_words: usize) {
        let prefix = self.header.prefix_bytes();
        let (whole, shift) = (prefix / 8, 8 * (prefix % 8) as u32);
        let values = self.column(0, first);
        for (slot, value) in slots.chunks_exact_mut(slot_words).zip(values) {
            slot[0] = value.to_ne_bytes();
        }
        for number in 0..slot_words - 1 {
            let places = slots[1 + number..].iter_mut().step_by(slot_words);
            if number < whole {
                let word = self.prefix_word(number).to_be_bytes();
                places.for_each(|place| *place = word);
            } else if shift == 0 {
                let own = self.column(number - whole + 1, first);
                places.zip(own).for_each(|(place, word)| *place = word.to_be_bytes());
            } else {
                for (index, place) in (first..).zip(places) {
                    *place = self.key_word(index, 8 * number).to_be_bytes();
                }
            }
        }
    }

    /// Column 0 is the entry words, column k the words k - 1 behind the prefix; from `first` on.
    #[inline(always)]
    fn column(&self, number: usize, first: usize) -> impl Iterator<Item = u64> {
        let tail_words = self.header.stride().saturating_sub(1);
        let (start, step) = match number {
            0 => (self.header.values_start() + first, 1),
            1 => (HEADS + first, 1),
            _ => (self.header.tails_start() + first * tail_words + number - 2, tail_words.max(1)),
        };
        self.words[start.min(N)..].iter().step_by(step).map(|word| word.load(Relaxed))
    }

    #[inline]
    pub(super) fn suffix_word(&self, index: usize, word: usize) -> u64 {
        let stride = self.header.stride();
        match word {
            0 => self.word(HEADS + index),
            _ if word >= stride => 0,
            _ => self.word(self.header.tails_start() + index * (stride - 1) + word - 1),
        }
    }

    /// The key at `index`; for entry 0 of an inner node the lower fence.
    pub(super) fn copy_key(&self, index: usize, key: &mut KeyBuffer) {
        if index == 0 && !self.is_leaf() {
            return self.copy_lower_fence(key);
        }
        key.fill(self.key_length(index), |offset| self.key_word(index, offset));
    }

    /// The least key this node may hold.
    pub(super) fn copy_lower_fence(&self, key: &mut KeyBuffer) {
        let bytes = self.fences().lower_bytes();
        let start = self.words.len().saturating_sub(bytes.div_ceil(8));
        key.fill(bytes, |offset| self.word(start + offset / 8));
    }

    /// The least key above all this node may hold; `false` when there is none.
    pub(super) fn copy_upper_fence(&self, key: &mut KeyBuffer) -> bool {
        let fences = self.fences();
        let Some(bytes) = fences.upper_bytes() else {
            key.copy_from(&[]);
            return false;
        };
        let words = bytes.div_ceil(8) + fences.lower_bytes().div_ceil(8);
        let start = self.words.len().saturating_sub(words);
        key.fill(bytes, |offset| self.word(start + offset / 8));
        true
    }

    /// Whether the key is less than the upper fence.
    #[inline(always)]
    pub(super) fn is_below_upper_fence(&self, search: SearchKey<'_>) -> bool {
        let fences = self.fences();
        let Some(bytes) = fences.upper_bytes() else { return true };
        let words = bytes.div_ceil(8) + fences.lower_bytes().div_ceil(8);
        let start = N - words.clamp(1, N);
        let first = self.word(start);
        match search.first.cmp(&first) {
            // A fence of no bytes is that of a node never used.
            Ordering::Less => bytes > 0,
            Ordering::Greater => false,
            Ordering::Equal => self.is_below_at(search.bytes, start, bytes),
        }
    }

    #[inline(never)]
    fn is_below_at(&self, key: &[u8], start: usize, bytes: usize) -> bool {
        (0..bytes.max(key.len()))
            .step_by(8)
            .map(|offset| {
                let within = offset < bytes && start + offset / 8 < N;
                let word = if within { self.word(start + offset / 8) } else { 0 };
                word_at(key, offset).cmp(&word)
            })
            .find(|ordering| ordering.is_ne())
            .is_some_and(Ordering::is_lt)
    }

    /// Whether the key is not less than the lower fence.
    #[inline(never)]
    pub(super) fn is_above_lower_fence(&self, key: &[u8]) -> bool {
        let bytes = self.fences().lower_bytes();
        let start = N.saturating_sub(bytes.div_ceil(8));
        !self.is_below_at(key, start, bytes)
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
