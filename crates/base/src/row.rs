//! The record layout: how the columns of one table lie in the 64-bit words of a row.
//!
//! Role         compiled once per table; storage keeps rows as words, the interpreter reads and
//!              writes them through here. Knows no record header, no latch and no protocol
//! Invariants   I1 reading is total: whatever words a racing reader meets, no read panics; the
//!                 value is then rubbish, and the engine's validation throws it away
//!              I2 a variable column's word offset never changes while its row body lives, so the
//!                 words from it to the next variable column's offset are its capacity
//! Concurrency  rows shared between threads are `[AtomicU64]`, read with relaxed loads: order and
//!              exclusion come from the running engine's locks or versions, never from the row
//!
//! ```text
//! word 0          | null bits | narrow cells ... |     bits first, if any column is nullable
//! words 1..       | 16-byte cells, long char(n) | 8-byte cells | descriptors | narrow cells |
//! words fixed..   | bytes of the variable columns, in column order, each from a word boundary |
//! ```
//!
//! Cells are aligned to their width (1, 2, 4, 8 bytes), so none straddles a word; free pieces of a
//! word are handed out as a buddy allocator would, which leaves no hole that a narrower cell could
//! have filled. A descriptor is `{ word offset: low 32 bits, byte length: high 32 }`. Byte `i` of
//! any byte column lies in bits `8 * (i % 8)` of word `i / 8`.

mod bytes;
mod dump;
mod error;
mod field;
mod layout;
mod write;

#[cfg(test)]
mod tests;

pub(crate) use bytes::{bytes_equal, fit_characters, trim_blanks};
pub use error::RowError;
pub use field::{Field, FieldKind, read_field};
pub(crate) use layout::NUMERIC_DIGITS_IN_WORD;
pub use layout::{ColumnType, ROW_WORDS_MAX, RowLayout};
pub use write::Written;

use crate::sync::facade::plain_atomic::{AtomicU64, Ordering};
use std::cell::Cell;

/// One word of a row, shared or private.
pub trait Word {
    /// Its value.
    fn load(&self) -> u64;
}

impl Word for u64 {
    #[inline(always)]
    fn load(&self) -> u64 {
        *self
    }
}

impl Word for AtomicU64 {
    #[inline(always)]
    fn load(&self) -> u64 {
        // Relaxed: see the module's Concurrency line.
        AtomicU64::load(self, Ordering::Relaxed)
    }
}

/// A private row that is read while it is being changed.
impl Word for Cell<u64> {
    #[inline(always)]
    fn load(&self) -> u64 {
        self.get()
    }
}

/// A row's words. A word behind the end reads as 0.
#[expect(clippy::len_without_is_empty, reason = "every row has at least one word")]
pub trait Words {
    /// What one word is kept in.
    type Word: Word;
    /// All of them.
    fn words(&self) -> &[Self::Word];

    /// Word `index`, or 0 behind the end.
    #[inline(always)]
    fn word(&self, index: usize) -> u64 {
        self.words().get(index).map_or(0, Word::load)
    }

    /// Words in the row.
    #[inline(always)]
    fn len(&self) -> usize {
        self.words().len()
    }
}

impl<T: Word> Words for [T] {
    type Word = T;

    #[inline(always)]
    fn words(&self) -> &[T] {
        self
    }
}
