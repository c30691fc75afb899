//! The compiled layout of one index's keys.

use super::plain::{PlainPart, plain_parts};
use super::{KEY_BYTES_MAX, KeyError};
use crate::row::NUMERIC_DIGITS_IN_WORD;
use crate::types::DataType;

/// What a key layout must know of a column.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct KeyPart {
    /// its type
    pub data_type: DataType,
    /// whether it may be NULL
    pub nullable: bool,
    /// whether greater values come first; for parts that [can](KeyPart::can_descend)
    pub descending: bool,
}

impl KeyPart {
    /// Whether greater values can come first: where a value is one integer of at most a word, and
    /// never NULL.
    pub fn can_descend(&self) -> bool {
        compile(&Self { descending: false, ..*self }).is_plain
    }
}

/// How a part's value is encoded.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub(super) enum PartKind {
    /// integer, date, time or timestamp of 2, 4 or 8 bytes
    Int,
    N64,
    Bool,
    N128,
    F32,
    F64,
    Escaped,
    /// the same, of the text in small letters
    Folded,
    /// a numeric without the digits that it shows: they are no part of the number; so is a range
    Number,
    Char,
    Bytes16,
}

pub(super) const SIGN: u64 = 1 << 63;
pub(super) const MARKER_VALUE: u8 = 1;
pub(super) const MARKER_NULL: u8 = 2;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Part {
    pub(super) kind: PartKind,
    pub(super) nullable: bool,
    /// bytes of the value without marker; 0 if it varies
    pub(super) width: u16,
    /// bits that a value of kind `Int` or `N64` must be moved up to fill a word
    pub(super) shift: u8,
    /// the bits of that word that a key has otherwise: the sign, and all others where greater
    /// values come first
    pub(super) flip: u64,
    /// whether the part is one integer of 2, 4 or 8 bytes and nothing else
    pub(super) is_plain: bool,
}

/// How the values of an index's columns become one key; see the module for the encodings.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct KeyLayout {
    pub(super) parts: Box<[Part]>,
    pub(super) types: Box<[KeyPart]>,
    /// the parts once more, if all are plain integers and the key is short; else none
    pub(super) plain: Box<[PlainPart]>,
    /// `ends[n]` is the byte length of the first n parts, as far as it is constant
    ends: Box<[u16]>,
}

impl KeyLayout {
    /// A layout of `parts`. Fails if every key would exceed `KEY_BYTES_MAX`.
    pub fn new(parts: &[KeyPart]) -> Result<Self, KeyError> {
        let least = |part: &KeyPart| match width(part.data_type) {
            _ if part.nullable => 1,
            Some(width) => width,
            None => 2,
        };
        let bytes: usize = parts.iter().map(least).sum();
        if bytes > KEY_BYTES_MAX || parts.iter().any(|part| too_wide(part.data_type)) {
            return Err(KeyError::TooLong { bytes: bytes.max(KEY_BYTES_MAX + 1) });
        }
        let compiled: Box<[Part]> = parts.iter().map(compile).collect();
        Ok(Self {
            plain: plain_parts(&compiled),
            parts: compiled,
            types: parts.into(),
            ends: constant_ends(parts),
        })
    }

    /// The parts this layout was made for.
    pub fn parts(&self) -> &[KeyPart] {
        &self.types
    }

    /// The byte length of all keys, if it is the same for all.
    #[inline]
    pub fn fixed_len(&self) -> Option<usize> {
        self.ends.get(self.parts.len()).map(|&end| usize::from(end))
    }

    /// The most bytes a key can have: text holds no zero byte to be escaped and at most four bytes
    /// a character; text and bytea without a length may fill a key alone.
    pub fn bytes_max(&self) -> usize {
        let most = |part: &KeyPart| {
            let value = match part.data_type {
                DataType::Varchar(n) => (n as usize).saturating_mul(4).saturating_add(2),
                other => width(other).unwrap_or(KEY_BYTES_MAX),
            };
            value.saturating_add(usize::from(part.nullable))
        };
        self.types.iter().map(most).fold(0, usize::saturating_add).min(KEY_BYTES_MAX)
    }

    /// The byte length of the first `parts` parts of `key`: a constant as far as parts are NOT NULL
    /// and of fixed width, and never more than the key has.
    #[inline]
    pub fn prefix_bytes(&self, key: &[u8], parts: usize) -> usize {
        match self.ends.get(parts) {
            Some(&end) => usize::from(end).min(key.len()),
            None => self.walk(key, parts),
        }
    }

    fn walk(&self, key: &[u8], parts: usize) -> usize {
        let known = self.ends.len() - 1;
        let mut at = usize::from(self.ends[known]).min(key.len());
        for part in self.parts.iter().take(parts).skip(known) {
            at += part.len_at(&key[at..]);
        }
        at
    }
}

impl Part {
    /// An integer in range as the highest `width` bytes of a big-endian word, sign flipped.
    #[inline(always)]
    pub(super) const fn ordered(&self, value: i64) -> u64 {
        ((value as u64) << (self.shift & 63)) ^ self.flip
    }

    /// Undoes [`Part::ordered`].
    pub(super) const fn int(&self, ordered: u64) -> i64 {
        (ordered ^ self.flip) as i64 >> (self.shift & 63)
    }

    /// Byte length of this part at the start of `key`, marker included; at most the key's.
    pub(super) fn len_at(&self, key: &[u8]) -> usize {
        let marker = usize::from(self.nullable);
        if self.nullable && key.first() != Some(&MARKER_VALUE) {
            return marker.min(key.len());
        }
        let value = match self.kind {
            PartKind::Escaped | PartKind::Folded | PartKind::Number => escaped_len(&key[marker..]),
            _ => usize::from(self.width),
        };
        (marker + value).min(key.len())
    }
}

/// Byte length of an escaped value with its terminator.
pub(super) fn escaped_len(bytes: &[u8]) -> usize {
    let mut at = 0;
    while let Some(zero) = bytes[at..].iter().position(|&byte| byte == 0) {
        at += zero + 2;
        if bytes.get(at - 1) != Some(&u8::MAX) {
            return at.min(bytes.len());
        }
    }
    bytes.len()
}

fn compile(part: &KeyPart) -> Part {
    let kind = match part.data_type {
        DataType::Boolean => PartKind::Bool,
        DataType::SmallInt | DataType::Integer | DataType::BigInt => PartKind::Int,
        DataType::Oid => PartKind::Int,
        DataType::Date | DataType::Timestamp(_) | DataType::TimestampTz(_) => PartKind::Int,
        DataType::Time(_) => PartKind::Int,
        DataType::Enum(_) => PartKind::Int,
        DataType::Numeric { precision, .. } if precision <= NUMERIC_DIGITS_IN_WORD => PartKind::N64,
        DataType::Numeric { .. } => PartKind::N128,
        DataType::AnyNumeric | DataType::WideNumeric { .. } => PartKind::Number,
        DataType::Range(_) => PartKind::Number,
        DataType::Real => PartKind::F32,
        DataType::Double => PartKind::F64,
        DataType::Text | DataType::Varchar(_) | DataType::Name => PartKind::Escaped,
        DataType::CiText => PartKind::Folded,
        DataType::Bytea | DataType::Encoded(_) => PartKind::Escaped,
        // Of no key that SQL makes.
        DataType::Json | DataType::Jsonb | DataType::CatalogChar => PartKind::Escaped,
        DataType::RefCursor | DataType::Any(_) => PartKind::Escaped,
        DataType::Array(_) | DataType::Composite(_) => PartKind::Escaped,
        DataType::Interval => PartKind::N128,
        DataType::Char(_) => PartKind::Char,
        DataType::Uuid => PartKind::Bytes16,
    };
    // `too_wide` was refused before, so the width fits.
    let width = width(part.data_type).unwrap_or(0) as u16;
    let shift = 64_u16.saturating_sub(width * 8) as u8;
    let is_plain = !part.nullable && matches!(kind, PartKind::Int | PartKind::N64);
    let flip = if is_plain && part.descending { SIGN ^ u64::MAX } else { SIGN };
    Part { kind, nullable: part.nullable, width, shift, flip, is_plain }
}

/// Bytes of a value of this type in a key, without marker; `None` if they vary.
fn width(data_type: DataType) -> Option<usize> {
    Some(match data_type {
        DataType::Boolean => 1,
        DataType::SmallInt | DataType::Enum(_) => 2,
        DataType::Integer | DataType::Date | DataType::Real => 4,
        DataType::BigInt | DataType::Timestamp(_) | DataType::TimestampTz(_) | DataType::Double => {
            8
        }
        DataType::Oid | DataType::Time(_) => 8,
        DataType::Numeric { precision, .. } if precision <= NUMERIC_DIGITS_IN_WORD => 8,
        DataType::Numeric { .. } | DataType::Uuid | DataType::Interval => 16,
        DataType::Char(n) => n as usize,
        DataType::Text | DataType::Varchar(_) | DataType::Name => return None,
        DataType::CiText => return None,
        DataType::Bytea => return None,
        DataType::Json | DataType::Jsonb | DataType::CatalogChar => return None,
        DataType::RefCursor | DataType::Any(_) => return None,
        DataType::AnyNumeric | DataType::WideNumeric { .. } => return None,
        DataType::Range(_) | DataType::Encoded(_) => return None,
        DataType::Array(_) | DataType::Composite(_) => return None,
    })
}

fn too_wide(data_type: DataType) -> bool {
    width(data_type).is_some_and(|width| width > KEY_BYTES_MAX)
}

fn constant_ends(parts: &[KeyPart]) -> Box<[u16]> {
    let fixed = parts.iter().map_while(|part| width(part.data_type).filter(|_| !part.nullable));
    let ends = fixed.scan(0, |end, width| {
        *end += width;
        Some(*end as u16)
    });
    std::iter::once(0).chain(ends).collect()
}
