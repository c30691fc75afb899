//! Keys of plain integers only: NOT NULL smallint, integer, bigint, date, timestamps, ascending.
//!
//! Role         the short way of [`KeyLayout`]'s operations for most keys there are. Each answers
//!              "not mine" where anything is unusual (NULL, out of range, a key begun before), and
//!              the general way goes on from there, errors included
//! Invariants   I1 a part is written as a whole word whose high `width` bytes are its own; the part
//!                 behind it, or nobody, has the others

use super::layout::{Part, PartKind, SIGN};
use super::{KEY_BYTES_INLINE, KeyLayout, KeySink};
use crate::datum::Datum;
use crate::row::{Field, Words};

/// A part of a plain key: 4 bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct PlainPart {
    /// Bits that a value must be moved up to fill a word.
    shift: u8,
    /// Bytes of the part.
    width: u8,
    /// Where in the key to read eight bytes that hold the whole part.
    at: u8,
    /// Bits to move those up until the part is on top.
    left: u8,
}

/// The parts of a layout all of whose parts are plain, if whole words fit the inline bytes; else
/// none.
pub(super) fn plain_parts(parts: &[Part]) -> Box<[PlainPart]> {
    let mut start = 0_u16;
    let mut plain = Vec::with_capacity(parts.len());
    for part in parts {
        let whole_word_fits = usize::from(start) + 8 <= KEY_BYTES_INLINE;
        let is_common = part.kind == PartKind::Int && !part.nullable && part.flip == SIGN;
        if !is_common || !whole_word_fits {
            return Box::new([]);
        }
        let end = start + part.width;
        let at = end.saturating_sub(8);
        plain.push(PlainPart {
            shift: part.shift,
            width: part.width as u8,
            at: at as u8,
            left: 8 * (start - at) as u8,
        });
        start = end;
    }
    plain.into_boxed_slice()
}

impl KeyLayout {
    /// Puts the key of `values`; `false`, and nothing is put, if it is not plain.
    #[inline(always)]
    pub(super) fn put_plain<S: KeySink>(&self, values: &[Datum], out: &mut S) -> bool {
        values.len() <= self.plain.len()
            && out.put_short(|bytes| {
                let (mut at, mut wrong) = (0, 0);
                for (part, &value) in self.plain.iter().zip(values) {
                    let (int, shift) = (value.as_int(), part.shift & 63);
                    let high = int << shift;
                    // NULL is an integer with another high half.
                    wrong |= (high >> shift ^ int) as u64 | value.high_half();
                    let word = high as u64 ^ SIGN;
                    put_word(bytes, at, word)?;
                    at += usize::from(part.width);
                }
                (wrong == 0).then_some(at)
            })
    }

    /// Puts the key of a row; `false`, and nothing is put, if it is not plain.
    #[inline(always)]
    pub(super) fn put_plain_row<W: Words + ?Sized, S: KeySink>(
        &self,
        columns: &[Field],
        row: &W,
        out: &mut S,
    ) -> bool {
        !self.plain.is_empty()
            && out.put_short(|bytes| {
                let mut at = 0;
                for (part, field) in self.plain.iter().zip(columns) {
                    let word = field.cell_on_top(row) ^ SIGN;
                    put_word(bytes, at, word)?;
                    at += usize::from(part.width);
                }
                Some(at)
            })
    }

    /// Whether a row has the key; `None` if the layout is not plain.
    #[inline(always)]
    pub(super) fn matches_plain<W: Words + ?Sized>(
        &self,
        columns: &[Field],
        row: &W,
        key: &[u8],
    ) -> Option<bool> {
        if self.plain.is_empty() {
            return None;
        }
        if self.fixed_len() != Some(key.len()) {
            return Some(false);
        }
        let differences = match key.len().checked_sub(8) {
            None => {
                let word = super::head(key);
                self.differences(columns, row, |_| Some(word))
            }
            Some(last) => self.differences(columns, row, |at| {
                // Written so that one comparison is enough.
                let bytes = (at <= last).then(|| &key[at..at + 8])?;
                bytes.first_chunk().map(|chunk| u64::from_be_bytes(*chunk))
            }),
        };
        Some(differences == Some(0))
    }

    /// Zero if every part equals its column. `word_at` reads eight bytes of the key.
    #[inline(always)]
    fn differences<W: Words + ?Sized>(
        &self,
        columns: &[Field],
        row: &W,
        word_at: impl Fn(usize) -> Option<u64>,
    ) -> Option<u64> {
        let mut all = 0;
        for (part, field) in self.plain.iter().zip(columns) {
            let expected = field.cell_on_top(row) ^ SIGN;
            let found = word_at(part.at.into())? << (part.left & 63);
            all |= (found ^ expected) >> (part.shift & 63);
        }
        Some(all)
    }
}

#[inline(always)]
fn put_word(bytes: &mut [u8; KEY_BYTES_INLINE], at: usize, word: u64) -> Option<()> {
    // Written so that one comparison is enough.
    if at > KEY_BYTES_INLINE - 8 {
        return None;
    }
    bytes[at..at + 8].copy_from_slice(&word.to_be_bytes());
    Some(())
}
