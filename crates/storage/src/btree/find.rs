//! Searching a node for a key, and comparing keys with what a node holds.
//!
//! Concurrency  as `layout` has it: what is found counts once the node's version was checked

use hotrow_base::sync::facade::atomic::Ordering::Relaxed;
use std::cmp::Ordering;

use super::key::{SearchKey, word_at};
use super::layout::{HEADS, PREFIX, View, key_length_in};
use super::search::{BORDER_WINDOW, border_in, lower_bound, partition, upper_bound};

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

impl<const N: usize> View<'_, N> {
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
        // Slot 0 is the lower fence's and holds zeros: never looked for.
        let index = self.border(|word| word < head).max(1);
        if index >= self.count() || self.word(HEADS + index) != head {
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
}
