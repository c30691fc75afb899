//! Where keys are written: a small buffer, or the end of an arena.

use super::KEY_BYTES_MAX;
use std::ops::Deref;

/// Bytes a [`KeyBuffer`] holds before it spills: two uuids, or four bigints.
pub const KEY_BYTES_INLINE: usize = 32;

/// Something that a key is written to, part after part.
pub trait KeySink {
    /// Appends a fixed number of bytes.
    fn put<const N: usize>(&mut self, bytes: [u8; N]);
    /// Appends the highest `count` bytes of `word`, 1 to 8 of them.
    fn put_high(&mut self, word: u64, count: usize);
    /// Appends bytes.
    fn put_slice(&mut self, bytes: &[u8]);
    /// Lets `write` put a whole short key at once: it fills the bytes from the front and says how
    /// many count. `false`, and nothing was put, if it returns `None` or the key is begun already.
    fn put_short(
        &mut self,
        write: impl FnOnce(&mut [u8; KEY_BYTES_INLINE]) -> Option<usize>,
    ) -> bool {
        let mut bytes = [0; KEY_BYTES_INLINE];
        let Some(len) = write(&mut bytes).filter(|_| self.key_len() == 0) else { return false };
        self.put_slice(&bytes[..len]);
        true
    }
    /// Bytes of the key so far.
    fn key_len(&self) -> usize;
}

/// One key, inline up to 32 bytes; longer ones spill to a vector that is kept for reuse, so that
/// composite integer keys never allocate and others allocate once.
#[derive(Clone, Default)]
pub struct KeyBuffer {
    len: usize,
    inline: [u8; KEY_BYTES_INLINE],
    /// the whole key, once `len > KEY_BYTES_INLINE`
    spill: Vec<u8>,
}

impl KeyBuffer {
    /// An empty key.
    pub const fn new() -> Self {
        Self { len: 0, inline: [0; KEY_BYTES_INLINE], spill: Vec::new() }
    }

    /// Empties the key; a spill's memory stays.
    #[inline]
    pub fn clear(&mut self) {
        self.len = 0;
    }

    /// The key's bytes.
    #[inline]
    pub fn as_slice(&self) -> &[u8] {
        if self.len <= KEY_BYTES_INLINE { &self.inline[..self.len] } else { &self.spill }
    }

    /// Replaces the key.
    #[inline]
    pub fn set(&mut self, bytes: &[u8]) {
        self.clear();
        self.put_slice(bytes);
    }

    /// Keeps the first `len` bytes.
    pub fn truncate(&mut self, len: usize) {
        if len >= self.len {
            return;
        }
        if self.len > KEY_BYTES_INLINE {
            self.spill.truncate(len);
            if len <= KEY_BYTES_INLINE {
                self.inline[..len].copy_from_slice(&self.spill);
            }
        }
        self.len = len;
    }

    #[inline(never)]
    fn put_slice_slowly(&mut self, bytes: &[u8]) {
        self.put_slice(bytes);
    }

    #[cold]
    #[inline(never)]
    fn put_spilled(&mut self, bytes: &[u8]) {
        if self.len <= KEY_BYTES_INLINE {
            // Room for the longest key at once: one allocation in the buffer's life.
            self.spill.clear();
            self.spill.reserve(KEY_BYTES_MAX);
            self.spill.extend_from_slice(&self.inline[..self.len]);
        }
        self.spill.extend_from_slice(bytes);
        self.len = self.spill.len();
    }
}

impl KeySink for KeyBuffer {
    #[inline(always)]
    fn put<const N: usize>(&mut self, bytes: [u8; N]) {
        match self.inline.get_mut(self.len..self.len + N) {
            Some(place) => {
                place.copy_from_slice(&bytes);
                self.len += N;
            }
            None => self.put_spilled(&bytes),
        }
    }

    #[inline(always)]
    fn put_high(&mut self, word: u64, count: usize) {
        match self.inline.get_mut(self.len..self.len + 8) {
            // What is written behind the key is written over, or not looked at.
            Some(place) => {
                place.copy_from_slice(&word.to_be_bytes());
                self.len += count;
            }
            None => self.put_slice_slowly(&word.to_be_bytes()[..count]),
        }
    }

    #[inline(always)]
    fn put_short(
        &mut self,
        write: impl FnOnce(&mut [u8; KEY_BYTES_INLINE]) -> Option<usize>,
    ) -> bool {
        if self.len > 0 {
            return false;
        }
        // What is written behind the key is written over, or not looked at.
        let Some(len) = write(&mut self.inline) else { return false };
        self.len = len;
        true
    }

    #[inline]
    fn put_slice(&mut self, bytes: &[u8]) {
        match self.inline.get_mut(self.len..self.len + bytes.len()) {
            Some(place) => {
                place.copy_from_slice(bytes);
                self.len += bytes.len();
            }
            None => self.put_spilled(bytes),
        }
    }

    #[inline(always)]
    fn key_len(&self) -> usize {
        self.len
    }
}

impl Deref for KeyBuffer {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        self.as_slice()
    }
}

impl PartialEq for KeyBuffer {
    fn eq(&self, other: &Self) -> bool {
        self.as_slice() == other.as_slice()
    }
}

impl Eq for KeyBuffer {}

impl std::fmt::Debug for KeyBuffer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.as_slice().iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

/// A key being written to the end of an arena of keys.
pub struct ArenaKey<'a> {
    arena: &'a mut Vec<u8>,
    start: usize,
}

impl<'a> ArenaKey<'a> {
    /// Begins a key behind what `arena` holds.
    #[inline]
    pub fn new(arena: &'a mut Vec<u8>) -> Self {
        let start = arena.len();
        Self { arena, start }
    }

    /// Where the key lies in the arena.
    #[inline]
    pub fn range(&self) -> std::ops::Range<usize> {
        self.start..self.arena.len()
    }
}

impl KeySink for ArenaKey<'_> {
    #[inline(always)]
    fn put<const N: usize>(&mut self, bytes: [u8; N]) {
        self.arena.extend_from_slice(&bytes);
    }

    #[inline]
    fn put_high(&mut self, word: u64, count: usize) {
        self.arena.extend_from_slice(&word.to_be_bytes()[..count]);
    }

    #[inline]
    fn put_slice(&mut self, bytes: &[u8]) {
        self.arena.extend_from_slice(bytes);
    }

    #[inline(always)]
    fn key_len(&self) -> usize {
        self.arena.len() - self.start
    }
}
