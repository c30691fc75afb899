//! Keys as the tree sees them: bytes read as big-endian words, endless zeros behind.
//!
//! Invariants   I1 order is by zero-padded words; two different keys of one prefix-free set never
//!                 compare equal, because they differ in a byte that both have

use std::cmp::Ordering;

/// The longest key in bytes.
pub const MAX_KEY_BYTES: usize = 512;

/// A key copied out of the tree: inline, so that a reused buffer never allocates.
#[derive(Clone)]
pub struct KeyBuffer {
    /// Whole words are written, so there is room for one beyond the longest key.
    bytes: [u8; MAX_KEY_BYTES + 8],
    length: usize,
}

impl Default for KeyBuffer {
    fn default() -> Self {
        Self::new()
    }
}

impl std::fmt::Debug for KeyBuffer {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "KeyBuffer({:02x?})", self.as_bytes())
    }
}

impl KeyBuffer {
    /// An empty key.
    #[must_use]
    pub const fn new() -> Self {
        Self { bytes: [0; MAX_KEY_BYTES + 8], length: 0 }
    }

    /// The key's bytes.
    #[inline]
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes[..self.length]
    }

    /// Makes this a copy of `key`, cut at [`MAX_KEY_BYTES`].
    #[inline]
    pub fn copy_from(&mut self, key: &[u8]) {
        let length = key.len().min(MAX_KEY_BYTES);
        self.bytes[..length].copy_from_slice(&key[..length]);
        self.length = length;
    }

    /// Makes this `length` bytes long, as `word_at_offset` gives them eight at a time.
    #[inline]
    pub(super) fn fill(&mut self, length: usize, mut word_at_offset: impl FnMut(usize) -> u64) {
        let length = length.min(MAX_KEY_BYTES);
        for offset in (0..length).step_by(8) {
            self.bytes[offset..offset + 8].copy_from_slice(&word_at_offset(offset).to_be_bytes());
        }
        self.length = length;
    }
}

/// A key on its way down the tree.
#[derive(Clone, Copy)]
pub(super) struct SearchKey<'k> {
    pub(super) bytes: &'k [u8],
    /// The first eight bytes: what most nodes are searched for, and what most prefixes are.
    pub(super) first: u64,
}

impl<'k> SearchKey<'k> {
    #[inline(always)]
    pub(super) fn new(bytes: &'k [u8]) -> Self {
        Self { bytes, first: word_at(bytes, 0) }
    }

    /// The eight bytes at `offset`.
    #[inline(always)]
    pub(super) fn word_behind(self, offset: usize) -> u64 {
        if offset == 0 { self.first } else { word_at(self.bytes, offset) }
    }
}

/// The eight bytes of `key` at `offset` as a big-endian word, zeros behind the key's end.
#[inline(always)]
pub(super) fn word_at(key: &[u8], offset: usize) -> u64 {
    match key.get(offset..).and_then(|rest| rest.first_chunk::<8>()) {
        Some(chunk) => u64::from_be_bytes(*chunk),
        None => word_at_end(key, offset),
    }
}

/// [`word_at`] where fewer than eight bytes are left.
#[inline]
fn word_at_end(key: &[u8], offset: usize) -> u64 {
    if offset >= key.len() {
        return 0;
    }
    match key.last_chunk::<8>() {
        Some(chunk) => u64::from_be_bytes(*chunk) << ((64 - 8 * (key.len() - offset)) & 63),
        None => short_word(key) << ((8 * offset) & 63),
    }
}

/// A key of less than eight bytes as one word.
#[inline]
fn short_word(key: &[u8]) -> u64 {
    let unused_bits = 64 - 8 * key.len() as u32;
    if let (Some(first), Some(last)) = (key.first_chunk::<4>(), key.last_chunk::<4>()) {
        // The two overlap in the same bytes of the word.
        let (first, last) = (u32::from_be_bytes(*first), u32::from_be_bytes(*last));
        return u64::from(first) << 32 | u64::from(last) << (unused_bits & 63);
    }
    let bytes = key.iter().fold(0, |word, &byte| word << 8 | u64::from(byte));
    bytes << (unused_bits & 63)
}

/// Compares two keys by zero-padded words.
pub(super) fn compare_padded(left: &[u8], right: &[u8]) -> Ordering {
    (0..left.len().max(right.len()))
        .step_by(8)
        .map(|offset| word_at(left, offset).cmp(&word_at(right, offset)))
        .find(|ordering| ordering.is_ne())
        .unwrap_or(Ordering::Equal)
}
