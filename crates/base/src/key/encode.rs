//! From values to key bytes.

use super::layout::{MARKER_NULL, MARKER_VALUE, Part, PartKind};
use super::{KEY_BYTES_MAX, KeyError, KeyLayout, KeySink};
use crate::any_numeric;
use crate::datum::Datum;
use crate::fold;
use crate::row::trim_blanks;

impl KeyLayout {
    /// Appends one part to a key that has all parts before it. `heap` is what a byte range of
    /// `value` points into; `value` must already have the part's type. After an error the sink
    /// holds an incomplete key.
    #[inline]
    pub fn encode_part<S: KeySink>(
        &self,
        part_index: usize,
        value: Datum,
        heap: &[u8],
        out: &mut S,
    ) -> Result<(), KeyError> {
        let part = &self.parts[part_index];
        if !put_plain(part, value, out) {
            put_other(part, part_index, value, heap, out)?;
        }
        check_length(out)
    }

    /// Appends the parts of `values`, which may be fewer than the layout has: a key prefix.
    #[inline]
    pub fn encode<S: KeySink>(
        &self,
        values: &[Datum],
        heap: &[u8],
        out: &mut S,
    ) -> Result<(), KeyError> {
        debug_assert!(values.len() <= self.parts.len(), "no more values than parts");
        if self.put_plain(values, out) {
            return Ok(());
        }
        self.encode_general(values, heap, out)
    }

    #[inline(never)]
    fn encode_general<S: KeySink>(
        &self,
        values: &[Datum],
        heap: &[u8],
        out: &mut S,
    ) -> Result<(), KeyError> {
        for (i, (part, &value)) in self.parts.iter().zip(values).enumerate() {
            if !put_plain(part, value, out) {
                put_other(part, i, value, heap, out)?;
            }
        }
        check_length(out)
    }
}

/// Puts a plain integer in range; false, and nothing is put, if it is anything else.
#[inline(always)]
fn put_plain<S: KeySink>(part: &Part, value: Datum, out: &mut S) -> bool {
    if !part.is_plain || value.is_null() {
        return false;
    }
    let int = value.as_int();
    // A numeric of more than 64 bits shows in its high half.
    if part.kind != PartKind::Int && value.as_numeric() != i128::from(int) {
        return false;
    }
    put_int(part, int, out).is_some()
}

#[inline(always)]
fn put_int<S: KeySink>(part: &Part, value: i64, out: &mut S) -> Option<()> {
    let ordered = part.ordered(value);
    (part.int(ordered) == value).then(|| out.put_high(ordered, part.width.into()))
}

#[inline(never)]
fn put_other<S: KeySink>(
    part: &Part,
    part_index: usize,
    value: Datum,
    heap: &[u8],
    out: &mut S,
) -> Result<(), KeyError> {
    if put_marker(part, value.is_null(), part_index, out)? {
        return Ok(());
    }
    let out_of_range = KeyError::OutOfRange { part: part_index };
    match part.kind {
        PartKind::Int => put_int(part, value.as_int(), out).ok_or(out_of_range)?,
        PartKind::N64 => {
            let units = i64::try_from(value.as_numeric()).map_err(|_| out_of_range)?;
            put_int(part, units, out).ok_or(out_of_range)?;
        }
        PartKind::Bool => out.put([value.as_int() as u8 & 1]),
        PartKind::N128 => out.put(ordered_128(value.as_numeric())),
        PartKind::F32 => out.put(ordered_real(value.as_float() as f32)),
        PartKind::F64 => out.put(ordered_double(value.as_float())),
        PartKind::Escaped => put_escaped(&heap[value.as_range().range()], out),
        PartKind::Folded => put_folded(&heap[value.as_range().range()], out),
        PartKind::Number => {
            put_escaped(any_numeric::comparable(&heap[value.as_range().range()]), out);
        }
        PartKind::Char => {
            put_char(part, &heap[value.as_range().range()], out).ok_or(out_of_range)?;
        }
        PartKind::Bytes16 => {
            let bytes = heap[value.as_range().range()].try_into().map_err(|_| out_of_range)?;
            out.put::<16>(bytes);
        }
    }
    Ok(())
}

/// Puts the marker of a part that may be NULL; true if nothing follows it.
#[inline(always)]
pub(super) fn put_marker<S: KeySink>(
    part: &Part,
    is_null: bool,
    part_index: usize,
    out: &mut S,
) -> Result<bool, KeyError> {
    match (part.nullable, is_null) {
        (true, true) => out.put([MARKER_NULL]),
        (true, false) => out.put([MARKER_VALUE]),
        (false, true) => return Err(KeyError::NullInNotNull { part: part_index }),
        (false, false) => {}
    }
    Ok(is_null)
}

#[inline(always)]
pub(super) fn check_length<S: KeySink>(out: &S) -> Result<(), KeyError> {
    let bytes = out.key_len();
    if bytes > KEY_BYTES_MAX { Err(KeyError::TooLong { bytes }) } else { Ok(()) }
}

#[inline(always)]
pub(super) const fn ordered_128(value: i128) -> [u8; 16] {
    (value as u128 ^ 1 << 127).to_be_bytes()
}

/// Adding 0.0 turns -0.0 into 0.0 and nothing else; every NaN becomes the one that sorts last.
#[inline]
pub(super) fn ordered_double(value: f64) -> [u8; 8] {
    let bits =
        if value.is_nan() { f64::NAN.to_bits() & !(1 << 63) } else { (value + 0.0).to_bits() };
    let flip = ((bits as i64 >> 63) as u64) | 1 << 63;
    (bits ^ flip).to_be_bytes()
}

/// As [`ordered_double`].
#[inline]
pub(super) fn ordered_real(value: f32) -> [u8; 4] {
    let bits =
        if value.is_nan() { f32::NAN.to_bits() & !(1 << 31) } else { (value + 0.0).to_bits() };
    let flip = ((bits as i32 >> 31) as u32) | 1 << 31;
    (bits ^ flip).to_be_bytes()
}

/// Bytes with each 0x00 followed by 0xFF, and the end mark. Cut where the key is too long anyway,
/// so that a huge text costs no more than a long one.
pub(super) fn put_escaped<S: KeySink>(bytes: &[u8], out: &mut S) {
    let bytes = &bytes[..bytes.len().min(KEY_BYTES_MAX)];
    let mut pieces = bytes.split(|&byte| byte == 0);
    // `split` yields at least one piece.
    out.put_slice(pieces.next().unwrap_or(&[]));
    for piece in pieces {
        out.put([0, u8::MAX]);
        out.put_slice(piece);
    }
    out.put([0, 0]);
}

/// A text in small letters, escaped and ended.
pub(super) fn put_folded<S: KeySink>(bytes: &[u8], out: &mut S) {
    if bytes.len() > KEY_BYTES_MAX {
        return put_escaped(bytes, out); // it is too long, whatever its letters
    }
    for letter in fold::letters(bytes) {
        match letter {
            '\0' => out.put([0, u8::MAX]),
            letter => out.put_slice(letter.encode_utf8(&mut [0; 4]).as_bytes()),
        }
    }
    out.put([0, 0]);
}

/// Blank-padded bytes; `None` if more than blanks would be lost.
fn put_char<S: KeySink>(part: &Part, bytes: &[u8], out: &mut S) -> Option<()> {
    let bytes = trim_blanks(bytes);
    let padding = usize::from(part.width).checked_sub(bytes.len())?;
    out.put_slice(bytes);
    out.put_slice(&[b' '; KEY_BYTES_MAX][..padding]);
    Some(())
}
