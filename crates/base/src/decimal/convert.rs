//! Decimals to and from machine numbers.

use super::{Decimal, parse_units, rescale};

/// The number as units of `scale`.
#[inline]
pub fn from_i64(value: i64, scale: u8) -> Option<i128> {
    rescale(value.into(), 0, scale)
}

/// The number rounded half away from zero to a whole one.
#[inline]
pub fn to_i64(units: i128, scale: u8) -> Option<i64> {
    rescale(units, scale, 0)?.try_into().ok()
}

/// The nearest double.
pub fn to_f64(units: i128, scale: u8) -> f64 {
    // Both operands are exact up to 2^53 and 10^22, so the division rounds once.
    if units.unsigned_abs() <= 1 << 53 && scale <= 22 {
        return units as f64 / 10_f64.powi(scale.into());
    }
    let text = Decimal { units, scale }.to_string();
    text.parse().expect("a decimal is a float literal")
}

/// The double's first 15 significant digits (PostgreSQL's cast), rounded to `scale`; `None` for
/// NaN, infinities and numbers of more than 38 digits.
pub fn from_f64(value: f64, scale: u8) -> Option<i128> {
    parse_units(&format!("{value:.14e}"), scale).ok()
}

/// As [`from_f64`] with the real's first 6 digits.
pub fn from_f32(value: f32, scale: u8) -> Option<i128> {
    parse_units(&format!("{value:.5e}"), scale).ok()
}
