//! Arithmetic on scaled units. Scales above `DIGITS_MAX` panic: they come from checked types.

use super::wide::{div_wide, mul_wide};
use super::{DIGITS_MAX, POWERS_OF_TEN};
use std::cmp::Ordering;

/// The first magnitude out of range.
const LIMIT: u128 = POWERS_OF_TEN[DIGITS_MAX as usize] as u128;

/// Largest n with `10^n` in an `i64`.
const POWER_IN_WORD_MAX: u8 = 18;

#[inline(always)]
fn power(n: u8) -> i128 {
    POWERS_OF_TEN[usize::from(n)]
}

/// The units themselves, if they have at most 38 digits.
#[inline]
pub fn in_range(units: i128) -> Option<i128> {
    (units.unsigned_abs() < LIMIT).then_some(units)
}

/// Units of scale `from` as units of scale `to`, rounded half away from zero.
#[inline]
pub fn rescale(units: i128, from: u8, to: u8) -> Option<i128> {
    match from.cmp(&to) {
        Ordering::Equal => in_range(units),
        Ordering::Less => scale_up(units, to - from),
        Ordering::Greater => in_range(scale_down(units, from - to)),
    }
}

#[inline]
fn scale_up(units: i128, digits: u8) -> Option<i128> {
    if let (Ok(small), ..=POWER_IN_WORD_MAX) = (i64::try_from(units), digits) {
        // Below 2^63 * 10^18 < 2^123.
        return in_range(i128::from(small) * power(digits));
    }
    in_range(units.checked_mul(power(digits))?)
}

#[inline]
fn scale_down(units: i128, digits: u8) -> i128 {
    if let (Ok(small), ..=POWER_IN_WORD_MAX) = (i64::try_from(units), digits) {
        let divisor = power(digits) as i64;
        let (quotient, rest) = (small / divisor, small % divisor);
        let away = i64::from(rest.unsigned_abs() >= divisor.unsigned_abs().div_ceil(2));
        return i128::from(quotient + away * small.signum());
    }
    signed(divide_rounding(units.unsigned_abs(), power(digits).unsigned_abs()), units < 0)
}

/// `a + b`, in scale `max(a_scale, b_scale)`.
#[inline]
pub fn add(a: i128, a_scale: u8, b: i128, b_scale: u8) -> Option<i128> {
    let (a, b) = align(a, a_scale, b, b_scale)?;
    in_range(a.checked_add(b)?)
}

/// `a - b`, in scale `max(a_scale, b_scale)`.
#[inline]
pub fn sub(a: i128, a_scale: u8, b: i128, b_scale: u8) -> Option<i128> {
    let (a, b) = align(a, a_scale, b, b_scale)?;
    in_range(a.checked_sub(b)?)
}

/// `a * b`, rounded once to `scale`.
#[inline]
pub fn mul(a: i128, a_scale: u8, b: i128, b_scale: u8, scale: u8) -> Option<i128> {
    let product_scale = a_scale + b_scale;
    if product_scale <= DIGITS_MAX
        && let (Ok(a), Ok(b)) = (i64::try_from(a), i64::try_from(b))
    {
        // Below 2^126; may be out of range, and be in range again in a smaller scale.
        let product = i128::from(a) * i128::from(b);
        return match product_scale.checked_sub(scale) {
            Some(digits) => in_range(scale_down(product, digits)),
            None => rescale(product, product_scale, scale),
        };
    }
    mul_slow(a, b, product_scale, scale)
}

#[cold]
fn mul_slow(a: i128, b: i128, product_scale: u8, scale: u8) -> Option<i128> {
    let (a, b) = (in_range(a)?, in_range(b)?);
    let negative = (a < 0) != (b < 0);
    let (high, low) = mul_wide(a.unsigned_abs(), b.unsigned_abs());
    let magnitude = match product_scale.checked_sub(scale) {
        None if high > 0 => None,
        None => low.checked_mul(power(scale - product_scale).unsigned_abs()),
        Some(digits) => divide_wide_by_power(high, low, digits),
    }?;
    (magnitude < LIMIT).then(|| signed(magnitude, negative))
}

/// A 256-bit magnitude by `10^digits` (at most `10^76`), rounded once, half up.
fn divide_wide_by_power(high: u128, low: u128, digits: u8) -> Option<u128> {
    if digits <= DIGITS_MAX {
        let divisor = power(digits).unsigned_abs();
        let (quotient, rest) = div_wide(high, low, divisor)?;
        return Some(quotient + u128::from(rest >= divisor - rest));
    }
    // Two truncating steps are one truncating division. The last step decides the rounding: half
    // away depends on the quotient's next digit only, which truncation before it has not touched.
    let (quotient, _) = div_wide(high, low, power(DIGITS_MAX).unsigned_abs())?;
    Some(divide_rounding(quotient, power(digits - DIGITS_MAX).unsigned_abs()))
}

/// `a / b`, rounded once to `scale`; `None` also for `b == 0`.
#[inline]
pub fn div(a: i128, a_scale: u8, b: i128, b_scale: u8, scale: u8) -> Option<i128> {
    let (a, b) = (in_range(a)?, in_range(b).filter(|&b| b != 0)?);
    let negative = (a < 0) != (b < 0);
    let (a, b) = (a.unsigned_abs(), b.unsigned_abs());
    let magnitude = match (scale + b_scale).checked_sub(a_scale) {
        Some(digits) => divide_scaled(a, b, digits)?,
        None => match b.checked_mul(power(a_scale - scale - b_scale).unsigned_abs()) {
            Some(divisor) => divide_rounding(a, divisor),
            // The divisor exceeds 2^128 > 2 * 10^38 > 2a.
            None => 0,
        },
    };
    (magnitude < LIMIT).then(|| signed(magnitude, negative))
}

/// `a * 10^digits / b`, `digits <= 76`, rounded half up; `None` if it exceeds 128 bits.
fn divide_scaled(a: u128, b: u128, digits: u8) -> Option<u128> {
    let first = digits.min(DIGITS_MAX);
    if let Some(dividend) = a.checked_mul(power(first).unsigned_abs())
        && digits == first
    {
        return Some(divide_rounding(dividend, b));
    }
    let (high, low) = mul_wide(a, power(first).unsigned_abs());
    let (whole, rest) = div_wide(high, low, b)?;
    // rest < b < 10^38, so the second step's dividend again fits 256 bits.
    let shift = power(digits - first).unsigned_abs();
    let (high, low) = mul_wide(rest, shift);
    let (part, rest) = div_wide(high, low, b)?;
    let part = part + u128::from(rest >= b - rest);
    whole.checked_mul(shift)?.checked_add(part)
}

/// The scale of a division whose operands have these scales: at least 16 digits behind the point.
/// PostgreSQL picks at least 16 significant digits by looking at the values; a static type cannot.
pub const fn div_scale(a_scale: u8, b_scale: u8) -> u8 {
    let larger = if a_scale > b_scale { a_scale } else { b_scale };
    if larger > 16 { larger } else { 16 }
}

/// The remainder of `a / b` truncated, with the sign of `a`, in scale `max(a_scale, b_scale)`;
/// `None` also for `b == 0`.
#[inline]
pub fn rem(a: i128, a_scale: u8, b: i128, b_scale: u8) -> Option<i128> {
    let (a, b) = align(a, a_scale, b, b_scale)?;
    in_range(a.checked_rem(b)?)
}

/// Orders two numbers of any scales.
#[inline]
pub fn compare(a: i128, a_scale: u8, b: i128, b_scale: u8) -> Ordering {
    if a_scale == b_scale {
        return a.cmp(&b);
    }
    match align(a, a_scale, b, b_scale) {
        Some((a, b)) => a.cmp(&b),
        // The one of smaller scale left the range: it has the larger magnitude.
        None if a_scale < b_scale => a.cmp(&0),
        None => 0.cmp(&b),
    }
}

#[inline(always)]
fn align(a: i128, a_scale: u8, b: i128, b_scale: u8) -> Option<(i128, i128)> {
    match a_scale.cmp(&b_scale) {
        Ordering::Equal => Some((a, b)),
        Ordering::Less => Some((scale_up(a, b_scale - a_scale)?, b)),
        Ordering::Greater => Some((a, scale_up(b, a_scale - b_scale)?)),
    }
}

#[inline]
fn divide_rounding(dividend: u128, divisor: u128) -> u128 {
    let (quotient, rest) = match (u64::try_from(dividend), u64::try_from(divisor)) {
        (Ok(a), Ok(b)) => (u128::from(a / b), u128::from(a % b)),
        _ => (dividend / divisor, dividend % divisor),
    };
    quotient + u128::from(rest >= divisor - rest)
}

/// A magnitude below 2^127 with its sign.
#[inline(always)]
fn signed(magnitude: u128, negative: bool) -> i128 {
    if negative { -(magnitude as i128) } else { magnitude as i128 }
}
