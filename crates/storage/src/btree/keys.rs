//! Putting keys and fences together from a node's words.

use hotrow_base::sync::facade::atomic::Ordering::Relaxed;

use super::key::KeyBuffer;
use super::layout::{HEADS, PREFIX, View, key_length_in};

impl<const N: usize> View<'_, N> {
    /// The length of the key at `index`, in bytes.
    #[inline]
    pub(super) fn key_length(&self, index: usize) -> usize {
        key_length_in(self.value_word(index)).min(self.reach())
    }

    #[inline]
    pub(super) fn prefix_word(&self, number: usize) -> u64 {
        match number.checked_sub(1) {
            None => self.word(PREFIX),
            Some(further) => self.word(self.header.prefix_rest_start() + further),
        }
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

    /// What stands before place `index` of a leaf: the entry's key, or the lower fence.
    pub(super) fn copy_prior(&self, index: usize, key: &mut KeyBuffer) {
        match index {
            0 => self.copy_lower_fence(key),
            _ => self.copy_key(index - 1, key),
        }
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
}
