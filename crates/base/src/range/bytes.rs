//! The bytes of a range: what a datum points to, a row holds and a key is made of.
//!
//! Invariants   I1 but for the last two, equal ranges of one kind have equal bytes, and the order
//!                 of the bytes is that of the ranges: as with numerics without a precision, keys
//!                 and comparisons need not read them
//!              I2 reading is total: whatever bytes a racing reader meets, a range comes out
//!
//! ```text
//! byte 0     | 0: empty, 1: with bounds
//! lower      | 0: none; or 1, the value, and 0 if it lies in the range, else 1
//! upper      | 2: none; or 1, the value, and 1 if it lies in the range, else 0
//! last two   | zeros shown behind the last digit of each bound's numeric, 255 at most
//! ```
//!
//! Values of 32 and 64 bits stand with the highest byte first and the sign inverted, numerics as
//! [`crate::any_numeric`] has them, without their scale.

use super::{Bound, Range};
use crate::any_numeric::{self, SCALE_BYTES, least_scale_of, read_comparable, split_comparable};
use crate::datum::Datum;
use crate::types::RangeKind;
use crate::value::Value;

/// A bound that goes on for ever, below and above.
const FROM_EVER: u8 = 0;
const FOR_EVER: u8 = 2;
/// A bound with a value.
const AT: u8 = 1;

impl Range {
    /// Appends the range's bytes to a heap.
    pub fn write(&self, heap: &mut Vec<u8>) -> Datum {
        let start = heap.len();
        let mut zeros = [0; SCALE_BYTES];
        heap.push(u8::from(self.bounds.is_some()));
        if let Some([lower, upper]) = &self.bounds {
            let [of_lower, of_upper] = &mut zeros;
            *of_lower = write_bound(lower, FROM_EVER, !lower.inclusive, heap);
            *of_upper = write_bound(upper, FOR_EVER, upper.inclusive, heap);
        }
        heap.extend(zeros);
        Datum::range(start as u32, (heap.len() - start) as u32)
    }

    /// Appends bytes that are equal exactly where ranges of one kind are.
    pub fn write_comparable(&self, out: &mut Vec<u8>) {
        self.write(out);
        out.truncate(out.len() - SCALE_BYTES);
    }

    /// The range that bytes stand for; the empty one, if they stand for none.
    pub fn read(kind: RangeKind, bytes: &[u8]) -> Self {
        Self { kind, bounds: read_bounds(kind, bytes) }
    }
}

/// Zeros that the bound shows behind its last digit.
fn write_bound(bound: &Bound, none: u8, last: bool, heap: &mut Vec<u8>) -> u8 {
    let Some(value) = &bound.value else {
        heap.push(none);
        return 0;
    };
    heap.push(AT);
    let zeros = write_value(value, heap);
    heap.push(u8::from(last));
    zeros
}

fn write_value(value: &Value, heap: &mut Vec<u8>) -> u8 {
    match value {
        Value::Int(value) | Value::Date(value) => {
            heap.extend((*value as u32 ^ 1 << 31).to_be_bytes());
        }
        Value::BigInt(value) | Value::Timestamp(value) | Value::TimestampTz(value) => {
            heap.extend((*value as u64 ^ 1 << 63).to_be_bytes());
        }
        other => {
            let number = other.to_any_numeric().unwrap_or(any_numeric::AnyNumeric::ZERO);
            let start = heap.len();
            any_numeric::write(&number, heap);
            heap.truncate(heap.len() - SCALE_BYTES);
            let zeros = number.scale() - least_scale_of(&heap[start..]).min(number.scale());
            return zeros.min(u8::MAX.into()) as u8;
        }
    }
    0
}

fn read_bounds(kind: RangeKind, bytes: &[u8]) -> Option<[Bound; 2]> {
    let (rest, [of_lower, of_upper]) = bytes.split_last_chunk::<SCALE_BYTES>()?;
    let (&1, rest) = rest.split_first()? else { return None };
    let (lower, last, rest) = read_bound(kind, *of_lower, rest)?;
    let lower = Bound { inclusive: lower.is_some() && last == 0, value: lower };
    let (upper, last, _) = read_bound(kind, *of_upper, rest)?;
    let upper = Bound { inclusive: upper.is_some() && last == 1, value: upper };
    Some([lower, upper])
}

/// A bound's value, the byte behind it, and what follows.
fn read_bound(kind: RangeKind, zeros: u8, bytes: &[u8]) -> Option<(Option<Value>, u8, &[u8])> {
    let (form, rest) = bytes.split_first()?;
    if *form != AT {
        return Some((None, 0, rest));
    }
    let (value, rest) = match kind {
        RangeKind::Int4 | RangeKind::Date => {
            let (value, rest) = rest.split_first_chunk()?;
            let value = (u32::from_be_bytes(*value) ^ 1 << 31) as i32;
            let is_date = kind == RangeKind::Date;
            (if is_date { Value::Date(value) } else { Value::Int(value) }, rest)
        }
        RangeKind::Int8 | RangeKind::Ts | RangeKind::TsTz => {
            let (value, rest) = rest.split_first_chunk()?;
            let value = (u64::from_be_bytes(*value) ^ 1 << 63) as i64;
            let value = match kind {
                RangeKind::Ts => Value::Timestamp(value),
                RangeKind::TsTz => Value::TimestampTz(value),
                _ => Value::BigInt(value),
            };
            (value, rest)
        }
        RangeKind::Num => {
            let (number, rest) = split_comparable(rest)?;
            let scale = least_scale_of(number).saturating_add(zeros.into());
            (read_comparable(number, scale).into(), rest)
        }
    };
    let (last, rest) = rest.split_first()?;
    Some((Some(value), *last, rest))
}
