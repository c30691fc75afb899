//! Decimal arithmetic: 128-bit integers scaled by powers of ten.
//!
//! Role         the interpreter computes numerics with the free functions here, on bare units whose
//!              scales are static; `Decimal` carries its scale along, for the API
//! Invariants   I1 units in range have a magnitude below 10^38, the largest precision; every
//!                 function gives `None` rather than more
//!              I2 results are exact or rounded once, half away from zero, as PostgreSQL does
//!
//! Values that fit 64 bits take short ways; where a product needs more than 128 bits, it is formed
//! in 256 and divided bit by bit (not measured; a few hundred instructions).

mod arithmetic;
mod convert;
pub mod template;
mod text;
mod wide;

#[cfg(test)]
mod tests;

pub use arithmetic::{add, compare, div, div_scale, in_range, mul, rem, rescale, sub};
pub use convert::{from_f32, from_f64, from_i64, to_f64, to_i64};
pub(crate) use text::Literal;
pub use text::{DecimalError, parse_units};

use std::cmp::Ordering;

/// Digits of the largest precision, and the largest scale.
pub const DIGITS_MAX: u8 = 38;

/// `POWERS_OF_TEN[n]` is `10^n`; the last, `10^38`, is the first magnitude out of range.
pub const POWERS_OF_TEN: [i128; DIGITS_MAX as usize + 1] = {
    let mut powers = [1; DIGITS_MAX as usize + 1];
    let mut n = 1;
    while n < powers.len() {
        powers[n] = powers[n - 1] * 10;
        n += 1;
    }
    powers
};

/// A decimal number, `units / 10^scale`. Equality and order are those of the numbers: 1.0 = 1.00.
#[derive(Clone, Copy, Debug)]
pub struct Decimal {
    units: i128,
    scale: u8,
}

impl Decimal {
    /// Zero.
    pub const ZERO: Self = Self { units: 0, scale: 0 };

    /// `units / 10^scale`, if both are in range.
    pub fn new(units: i128, scale: u8) -> Option<Self> {
        let units = in_range(units)?;
        (scale <= DIGITS_MAX).then_some(Self { units, scale })
    }

    /// The number times `10^scale`.
    pub const fn units(self) -> i128 {
        self.units
    }

    /// Digits behind the point.
    pub const fn scale(self) -> u8 {
        self.scale
    }

    /// The number with another scale, rounded half away from zero; `None` if out of range.
    pub fn with_scale(self, scale: u8) -> Option<Self> {
        Self::new(rescale(self.units, self.scale, scale)?, scale)
    }
}

impl From<i64> for Decimal {
    fn from(value: i64) -> Self {
        Self { units: value.into(), scale: 0 }
    }
}

impl PartialEq for Decimal {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Decimal {}

impl PartialOrd for Decimal {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Decimal {
    fn cmp(&self, other: &Self) -> Ordering {
        compare(self.units, self.scale, other.units, other.scale)
    }
}
