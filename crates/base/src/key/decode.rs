//! From key bytes back to values, for error messages, EXPLAIN and tests.

use super::layout::{MARKER_NULL, MARKER_VALUE, Part, PartKind, escaped_len};
use super::{KeyError, KeyLayout};
use crate::any_numeric::{self, SCALE_BYTES, SCALE_MAX};
use crate::datum::Datum;
use crate::types::DataType;
use crate::value::Value;

impl KeyLayout {
    /// The values of a key, or of a key prefix: as many as it has parts.
    pub fn decode(&self, key: &[u8]) -> Result<Vec<Value>, KeyError> {
        let (mut rest, mut values) = (key, vec![]);
        for (i, (part, column)) in self.parts.iter().zip(&self.types).enumerate() {
            if rest.is_empty() {
                break;
            }
            let malformed = KeyError::Malformed { part: i };
            let (value, behind) = part.decode(column.data_type, rest).ok_or(malformed)?;
            values.push(value);
            rest = behind;
        }
        if rest.is_empty() { Ok(values) } else { Err(KeyError::Malformed { part: values.len() }) }
    }
}

impl Part {
    fn decode<'k>(&self, data_type: DataType, mut key: &'k [u8]) -> Option<(Value, &'k [u8])> {
        if self.nullable {
            let (&marker, rest) = key.split_first()?;
            match marker {
                MARKER_NULL => return Some((Value::Null, rest)),
                MARKER_VALUE => key = rest,
                _ => return None,
            }
        }
        let len = match self.kind {
            PartKind::Escaped | PartKind::Folded | PartKind::Number => escaped_len(key),
            _ => usize::from(self.width),
        };
        let (bytes, rest) = key.split_at_checked(len)?;
        Some((self.value(data_type, bytes)?, rest))
    }

    /// The value of just this part's bytes.
    fn value(&self, data_type: DataType, bytes: &[u8]) -> Option<Value> {
        let (mut heap, unsigned) = (vec![], big_endian(bytes));
        let datum = match self.kind {
            PartKind::Bool => Datum::bool(unsigned == 1),
            PartKind::Int => Datum::int(self.int((unsigned as u64) << self.shift)),
            PartKind::N64 => Datum::numeric(self.int(unsigned as u64).into()),
            PartKind::N128 => Datum::numeric((unsigned ^ 1 << 127) as i128),
            PartKind::F32 => Datum::float(real(unsigned as u32).into()),
            PartKind::F64 => Datum::float(double(unsigned as u64)),
            // Of a text whose case does not count, in small letters.
            PartKind::Escaped | PartKind::Folded => {
                unescape(bytes, &mut heap)?;
                Datum::range(0, heap.len() as u32)
            }
            PartKind::Number if matches!(data_type, DataType::Range(_)) => {
                unescape(bytes, &mut heap)?;
                heap.extend([0; SCALE_BYTES]);
                Datum::range(0, heap.len() as u32)
            }
            PartKind::Number => {
                // As many digits as the number needs.
                unescape(bytes, &mut heap)?;
                heap.extend(SCALE_MAX.to_le_bytes());
                let number = any_numeric::read(&heap).trimmed();
                heap.clear();
                any_numeric::write(&number, &mut heap)
            }
            PartKind::Char | PartKind::Bytes16 => {
                heap.extend_from_slice(bytes);
                Datum::range(0, heap.len() as u32)
            }
        };
        Some(Value::from_datum(datum, data_type, &heap))
    }
}

/// Up to 16 bytes as a number; of more, the last ones.
fn big_endian(bytes: &[u8]) -> u128 {
    bytes.iter().fold(0, |value, &byte| value << 8 | u128::from(byte))
}

/// Undoes the flip of an ordered float: of all bits if it was negative, else of the sign.
fn double(bits: u64) -> f64 {
    let flip = if bits >> 63 == 1 { 1 << 63 } else { u64::MAX };
    f64::from_bits(bits ^ flip)
}

fn real(bits: u32) -> f32 {
    let flip = if bits >> 31 == 1 { 1 << 31 } else { u32::MAX };
    f32::from_bits(bits ^ flip)
}

/// Appends what was escaped; `None` if it does not end in its end mark.
fn unescape(bytes: &[u8], out: &mut Vec<u8>) -> Option<()> {
    let mut rest = bytes.strip_suffix(&[0, 0])?;
    while let Some(zero) = rest.iter().position(|&byte| byte == 0) {
        out.extend_from_slice(&rest[..=zero]);
        rest = rest[zero + 1..].strip_prefix(&[u8::MAX])?;
    }
    out.extend_from_slice(rest);
    Some(())
}
