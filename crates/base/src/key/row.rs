//! Keys and rows: making a row's key, and asking whether a row has a key.

use super::encode::{check_length, ordered_128, ordered_double, ordered_real};
use super::encode::{put_escaped, put_folded, put_marker};
use super::layout::{MARKER_NULL, MARKER_VALUE, Part, PartKind, escaped_len};
use super::{KEY_BYTES_MAX, KeyError, KeyLayout, KeySink};
use crate::any_numeric::SCALE_BYTES;
use crate::fold;
use crate::row::{Field, FieldKind, Words, bytes_equal};

impl KeyLayout {
    /// Appends the key of a row; `columns` are the places of the parts' columns. Only a text makes
    /// it fail (too long); rows never hold NULL in a NOT NULL part.
    #[inline]
    pub fn encode_from_row<W: Words + ?Sized, S: KeySink>(
        &self,
        columns: &[Field],
        row: &W,
        out: &mut S,
    ) -> Result<(), KeyError> {
        debug_assert_eq!(columns.len(), self.parts.len(), "one column per part");
        if self.put_plain_row(columns, row, out) {
            return Ok(());
        }
        self.encode_row_general(columns, row, out)
    }

    #[inline(never)]
    fn encode_row_general<W: Words + ?Sized, S: KeySink>(
        &self,
        columns: &[Field],
        row: &W,
        out: &mut S,
    ) -> Result<(), KeyError> {
        for (i, (part, field)) in self.parts.iter().zip(columns).enumerate() {
            if part.is_plain {
                out.put_high(part.ordered(field.read_int(row)), part.width.into());
            } else if !put_marker(part, field.is_null(row), i, out)? {
                put_cell(part, field, row, out);
            }
        }
        check_length(out)
    }

    /// Whether `row` has exactly this key. Allocates nothing; an integer part is one load and one
    /// comparison.
    #[inline]
    pub fn matches_row<W: Words + ?Sized>(&self, columns: &[Field], row: &W, key: &[u8]) -> bool {
        debug_assert_eq!(columns.len(), self.parts.len(), "one column per part");
        match self.matches_plain(columns, row, key) {
            Some(matches) => matches,
            None => self.matches_general(columns, row, key),
        }
    }

    #[inline(never)]
    fn matches_general<W: Words + ?Sized>(&self, columns: &[Field], row: &W, key: &[u8]) -> bool {
        let mut rest = key;
        for (part, field) in self.parts.iter().zip(columns) {
            let behind = if part.is_plain {
                part.matches_int(field, row, rest)
            } else {
                part.matches(field, row, rest)
            };
            match behind {
                Some(behind) => rest = behind,
                None => return false,
            }
        }
        rest.is_empty()
    }
}

impl Part {
    #[inline(always)]
    fn matches_int<'k, W: Words + ?Sized>(
        &self,
        field: &Field,
        row: &W,
        key: &'k [u8],
    ) -> Option<&'k [u8]> {
        let ordered = self.ordered(field.read_int(row));
        match self.width {
            4 => strip(key, ((ordered >> 32) as u32).to_be_bytes()),
            2 => strip(key, ((ordered >> 48) as u16).to_be_bytes()),
            _ => strip(key, ordered.to_be_bytes()),
        }
    }

    /// What of `key` lies behind this part, if the part equals the row's column.
    #[inline(never)]
    fn matches<'k, W: Words + ?Sized>(
        &self,
        field: &Field,
        row: &W,
        mut key: &'k [u8],
    ) -> Option<&'k [u8]> {
        if self.nullable {
            let (&marker, rest) = key.split_first()?;
            let is_null = field.is_null(row);
            if is_null || marker != MARKER_VALUE {
                return (is_null && marker == MARKER_NULL).then_some(rest);
            }
            key = rest;
        }
        match self.kind {
            PartKind::Int | PartKind::N64 => self.matches_int(field, row, key),
            _ => self.matches_wide(field, row, key),
        }
    }

    fn matches_wide<'k, W: Words + ?Sized>(
        &self,
        field: &Field,
        row: &W,
        key: &'k [u8],
    ) -> Option<&'k [u8]> {
        match self.kind {
            PartKind::Escaped => {
                let (value, rest) = key.split_at(escaped_len(key));
                let (word, len) = field.descriptor(row);
                escaped_equal(row, word, len, value).then_some(rest)
            }
            PartKind::Folded => {
                let (value, rest) = key.split_at(escaped_len(key));
                let (word, len) = field.descriptor(row);
                folded_equal(row, word, len, value).then_some(rest)
            }
            PartKind::Number => {
                let (value, rest) = key.split_at(escaped_len(key));
                let (word, len) = field.descriptor(row);
                escaped_equal(row, word, len.saturating_sub(SCALE_BYTES), value).then_some(rest)
            }
            PartKind::Char if field.kind() == FieldKind::CharWords => {
                let (value, rest) = key.split_at_checked(usize::from(self.width))?;
                bytes_equal(row, field.word(), value).then_some(rest)
            }
            _ => {
                let mut cell = Cell::default();
                put_cell(self, field, row, &mut cell);
                key.strip_prefix(&cell.bytes[..cell.len])
            }
        }
    }
}

#[inline(always)]
fn strip<const N: usize>(key: &[u8], expected: [u8; N]) -> Option<&[u8]> {
    let (part, rest) = key.split_first_chunk::<N>()?;
    (*part == expected).then_some(rest)
}

/// Puts the value of a column that is not NULL.
#[inline(never)]
fn put_cell<W: Words + ?Sized, S: KeySink>(part: &Part, field: &Field, row: &W, out: &mut S) {
    match part.kind {
        PartKind::Int | PartKind::N64 => {
            out.put_high(part.ordered(field.read_int(row)), part.width.into());
        }
        PartKind::Bool => out.put([field.cell(row) as u8 & 1]),
        PartKind::N128 => out.put(ordered_128(field.wide(row) as i128)),
        PartKind::F32 => out.put(ordered_real(f32::from_bits(field.cell(row) as u32))),
        PartKind::F64 => out.put(ordered_double(f64::from_bits(field.cell(row)))),
        PartKind::Bytes16 => out.put(field.wide(row).to_le_bytes()),
        PartKind::Char if field.kind() == FieldKind::CharCell => {
            out.put_slice(&field.cell(row).to_le_bytes()[..usize::from(part.width)]);
        }
        PartKind::Char => for_each_chunk(row, field.word(), part.width.into(), |bytes| {
            out.put_slice(bytes);
        }),
        PartKind::Escaped => put_text(field, row, 0, out),
        PartKind::Folded => {
            let (word, len) = field.descriptor(row);
            with_text(row, word, len, |text| put_folded(text, out));
        }
        PartKind::Number => put_text(field, row, SCALE_BYTES, out),
    }
}

/// A text but for its last bytes, put by pieces of 512 bytes; what is behind them is too long
/// anyway.
fn put_text<W: Words + ?Sized, S: KeySink>(field: &Field, row: &W, cut: usize, out: &mut S) {
    let (word, len) = field.descriptor(row);
    let len = len.saturating_sub(cut);
    with_text(row, word, len, |text| put_escaped(text, out));
}

/// Does something with the first bytes of a text: one more than a key may have, at most.
fn with_text<W: Words + ?Sized>(row: &W, word: usize, len: usize, take: impl FnOnce(&[u8])) {
    let mut text = [0; KEY_BYTES_MAX + 1];
    let (kept, mut at) = (len.min(text.len()), 0);
    for_each_chunk(row, word, kept, |bytes| {
        text[at..at + bytes.len()].copy_from_slice(bytes);
        at += bytes.len();
    });
    take(&text[..kept]);
}

/// Whether a text of a row, in small letters, escaped and ended, is `escaped`.
fn folded_equal<W: Words + ?Sized>(row: &W, word: usize, len: usize, escaped: &[u8]) -> bool {
    let mut is_equal = false;
    with_text(row, word, len, |text| {
        let mut rest = Some(escaped);
        for letter in fold::letters(text) {
            let (mut own, zero) = ([0; 4], [0, u8::MAX]);
            let expected = match letter {
                '\0' => &zero,
                letter => letter.encode_utf8(&mut own).as_bytes(),
            };
            rest = rest.and_then(|rest| rest.strip_prefix(expected));
        }
        is_equal = rest == Some([0, 0].as_slice());
    });
    is_equal
}

/// `len` bytes from a word boundary on, by up to 8.
fn for_each_chunk<W: Words + ?Sized>(
    row: &W,
    word: usize,
    len: usize,
    mut visit: impl FnMut(&[u8]),
) {
    for i in 0..len.div_ceil(8) {
        visit(&row.word(word + i).to_le_bytes()[..(len - i * 8).min(8)]);
    }
}

/// Whether `len` bytes of a row, escaped and ended, are `escaped`.
fn escaped_equal<W: Words + ?Sized>(row: &W, word: usize, len: usize, escaped: &[u8]) -> bool {
    let mut rest = Some(escaped);
    for_each_chunk(row, word, len, |bytes| {
        for &byte in bytes {
            let expected: &[u8] = if byte == 0 { &[0, u8::MAX] } else { &[byte] };
            rest = rest.and_then(|rest| rest.strip_prefix(expected));
        }
    });
    rest == Some([0, 0].as_slice())
}

/// A value of at most 16 bytes on its way into a comparison.
#[derive(Default)]
struct Cell {
    bytes: [u8; 16],
    len: usize,
}

impl KeySink for Cell {
    #[inline(always)]
    fn put<const N: usize>(&mut self, bytes: [u8; N]) {
        self.put_slice(&bytes);
    }

    #[inline(always)]
    fn put_high(&mut self, word: u64, count: usize) {
        self.put_slice(&word.to_be_bytes()[..count]);
    }

    #[inline(always)]
    fn put_slice(&mut self, bytes: &[u8]) {
        self.bytes[self.len..self.len + bytes.len()].copy_from_slice(bytes);
        self.len += bytes.len();
    }

    fn key_len(&self) -> usize {
        self.len
    }
}
