//! The bytes of a numeric: what a datum points to, a row holds and a key is made of.
//!
//! Invariants   I1 but for the scale at their end, equal numbers have equal bytes, and the order of
//!                 the bytes is that of the numbers: keys and comparisons need not read them
//!              I2 reading is total: whatever bytes a racing reader meets, a number comes out
//!
//! ```text
//! byte 0     | 0: -Infinity, 1: negative, 2: zero, 3: positive, 4: Infinity, 5: NaN
//! bytes 1..4 | how many pairs of digits stand before the point, from EXPONENT_ZERO on, highest
//!            | byte first: the number is 0.P1 P2 P3 ... times 100 to the power of that
//! then       | the pairs of digits, each and 1, the first and the last one not 00, and a zero
//! last two   | the digits shown behind the point, lowest byte first
//! ```
//!
//! Of negative numbers, all between the first byte and the scale is inverted. Zero and what is no
//! number have their first byte and the scale only.

use std::cmp::Ordering;

use num_bigint::{BigInt, BigUint};

use super::{AnyNumeric, SCALE_MAX, power_of_ten};
use crate::datum::Datum;
use crate::decimal::{DIGITS_MAX, Decimal};

/// What an exponent of 0 is kept as.
const EXPONENT_ZERO: i64 = 1 << 16;
/// Bytes of the scale.
pub(crate) const SCALE_BYTES: usize = 2;
/// Pairs of digits of a decimal, one of which the point may divide.
const PAIRS_MAX: usize = 20;

/// Appends a number's bytes to a heap.
pub fn write(number: &AnyNumeric, heap: &mut Vec<u8>) -> Datum {
    let start = heap.len();
    match number {
        AnyNumeric::Infinite { negative: true } => heap.push(0),
        AnyNumeric::Infinite { negative: false } => heap.push(4),
        AnyNumeric::NaN => heap.push(5),
        number if number.is_zero() => heap.push(2),
        AnyNumeric::Short(decimal) => write_short(*decimal, heap),
        AnyNumeric::Long(long) => {
            // A pair may not be divided by the point.
            let filled = u32::from(long.scale % 2);
            let units = long.units.magnitude() * power_of_ten(filled).magnitude();
            let pairs = units.to_radix_be(100);
            write_pairs(number.sign().is_lt(), long.scale.div_ceil(2).into(), &pairs, heap);
        }
    }
    heap.extend(number.scale().to_le_bytes());
    Datum::range(start as u32, (heap.len() - start) as u32)
}

fn write_short(decimal: Decimal, heap: &mut Vec<u8>) {
    let mut pairs = [0; PAIRS_MAX];
    let mut first = PAIRS_MAX;
    let mut units = decimal.units().unsigned_abs();
    if decimal.scale() % 2 == 1 {
        // The last digit and a zero are a pair.
        first -= 1;
        pairs[first] = (units % 10 * 10) as u8;
        units /= 10;
    }
    while units > u128::from(u64::MAX) {
        first -= 1;
        pairs[first] = (units % 100) as u8;
        units /= 100;
    }
    let mut units = units as u64;
    while units > 0 {
        first -= 1;
        pairs[first] = (units % 100) as u8;
        units /= 100;
    }
    write_pairs(decimal.units() < 0, decimal.scale().div_ceil(2).into(), &pairs[first..], heap);
}

/// Writes pairs of digits, of which so many stand behind the point.
fn write_pairs(negative: bool, behind: i64, pairs: &[u8], heap: &mut Vec<u8>) {
    let leading = pairs.iter().take_while(|pair| **pair == 0).count();
    let exponent = pairs.len() as i64 - leading as i64 - behind + EXPONENT_ZERO;
    let kept = pairs.iter().rposition(|pair| *pair != 0).map_or(leading, |last| last + 1);
    heap.push(if negative { 1 } else { 3 });
    let start = heap.len();
    heap.extend(&(exponent as u32).to_be_bytes()[1..]);
    heap.extend(pairs[leading..kept].iter().map(|pair| pair + 1));
    heap.push(0);
    if negative {
        heap[start..].iter_mut().for_each(|byte| *byte = !*byte);
    }
}

/// The bytes that compare as the numbers do.
pub fn comparable(bytes: &[u8]) -> &[u8] {
    &bytes[..bytes.len().saturating_sub(SCALE_BYTES)]
}

/// Orders two numbers by their bytes.
pub fn compare(a: &[u8], b: &[u8]) -> Ordering {
    comparable(a).cmp(comparable(b))
}

/// How long a number's text is, at most.
pub fn text_bytes(bytes: &[u8]) -> usize {
    let scale = bytes.last_chunk::<SCALE_BYTES>().map_or(0, |scale| u16::from_le_bytes(*scale));
    let exponent = bytes.get(1..4).and_then(|rest| rest.first_chunk::<3>());
    let exponent = exponent.map_or(EXPONENT_ZERO, |exponent| {
        let flip = if bytes.first() == Some(&1) { u8::MAX } else { 0 };
        exponent.iter().fold(0, |all, byte| all << 8 | i64::from(byte ^ flip))
    });
    let whole = (exponent - EXPONENT_ZERO).clamp(0, EXPONENT_ZERO) as usize * 2;
    // A sign, a zero and a point; or a word.
    whole + usize::from(scale) + "-Infinity".len()
}

/// The bytes without a scale that a number has at the start of others, and those behind it; none:
/// they are cut off.
pub(crate) fn split_comparable(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let end: u8 = match bytes.first()? {
        1 => u8::MAX,
        3 => 0,
        _ => return Some(bytes.split_at(1)),
    };
    let length = bytes.get(4..)?.iter().position(|byte| *byte == end)?;
    bytes.split_at_checked(4 + length + 1)
}

/// The digits behind the point that a number has at least: the last of them is no zero.
pub(crate) fn least_scale_of(comparable: &[u8]) -> u16 {
    let flip = match comparable.first() {
        Some(1) => u8::MAX,
        Some(3) => 0,
        _ => return 0,
    };
    let Some((exponent, pairs)) = comparable[1..].split_first_chunk::<3>() else { return 0 };
    let exponent = exponent.iter().fold(0, |all, byte| all << 8 | i64::from(byte ^ flip));
    let Some((_, pairs)) = pairs.split_last() else { return 0 };
    let last = pairs.last().map_or(0, |byte| (byte ^ flip).wrapping_sub(1));
    let digits = (pairs.len() as i64 - (exponent - EXPONENT_ZERO)) * 2;
    (digits - i64::from(last % 10 == 0)).clamp(0, SCALE_MAX.into()) as u16
}

/// The number that bytes stand for.
pub fn read(bytes: &[u8]) -> AnyNumeric {
    let scale = bytes.last_chunk::<SCALE_BYTES>().map_or(0, |scale| u16::from_le_bytes(*scale));
    read_comparable(comparable(bytes), scale)
}

/// The number that bytes without a scale stand for, with the digits that it shows.
pub(crate) fn read_comparable(comparable: &[u8], scale: u16) -> AnyNumeric {
    let scale = scale.min(SCALE_MAX);
    let (kind, rest) = comparable.split_first().unwrap_or((&2, &[]));
    let negative = match kind {
        0 => return AnyNumeric::Infinite { negative: true },
        1 => true,
        3 => false,
        4 => return AnyNumeric::INFINITY,
        5 => return AnyNumeric::NaN,
        _ => return AnyNumeric::finite(BigInt::ZERO, scale).unwrap_or(AnyNumeric::ZERO),
    };
    let Some((exponent, pairs)) = rest.split_first_chunk::<3>() else { return AnyNumeric::ZERO };
    let flip = if negative { u8::MAX } else { 0 };
    let exponent = exponent.iter().fold(0, |all, byte| all << 8 | i64::from(byte ^ flip));
    let exponent = exponent - EXPONENT_ZERO;
    let pairs = pairs.strip_suffix(&[flip]).unwrap_or(pairs);
    let pair = |byte: &u8| (byte ^ flip).wrapping_sub(1).min(99);
    // Digits that are missing to the scale: at least -1, when the last pair ends in a zero that is
    // not shown.
    let missing = i64::from(scale) - (pairs.len() as i64 - exponent) * 2;
    if pairs.len() * 2 + missing.unsigned_abs() as usize <= usize::from(DIGITS_MAX) {
        // Nine pairs fit a word, and most numbers have fewer.
        let (first, rest) = pairs.split_at(pairs.len().min(9));
        let first = first.iter().fold(0, |all, byte| all * 100 + u64::from(pair(byte)));
        let units =
            rest.iter().fold(i128::from(first), |all, byte| all * 100 + i128::from(pair(byte)));
        let power = crate::decimal::POWERS_OF_TEN[missing.unsigned_abs() as usize];
        let units = if missing < 0 { units / power } else { units * power };
        let units = if negative { -units } else { units };
        if let Some(decimal) = Decimal::new(units, scale.min(DIGITS_MAX.into()) as u8)
            && scale <= DIGITS_MAX.into()
        {
            return AnyNumeric::Short(decimal);
        }
    }
    let digits: Vec<u8> = pairs.iter().map(pair).collect();
    let units = BigUint::from_radix_be(&digits, 100).unwrap_or_default();
    // As many as there can be, whatever the bytes are.
    let power = power_of_ten(missing.unsigned_abs().min(1 << 18) as u32);
    let units = BigInt::from(units);
    let units = if missing < 0 { units / power } else { units * power };
    let units = if negative { -units } else { units };
    AnyNumeric::finite(units, scale).unwrap_or(AnyNumeric::ZERO)
}
