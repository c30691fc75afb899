//! Sums, products, quotients and remainders.

use std::cmp::Ordering;

use num_bigint::BigInt;

use super::{
    AnyNumeric, NumericError, Result, SCALE_MAX, SHOWN_MAX, SIGNIFICANT_MIN, at_scale, digits_of,
    power_of_ten,
};
use crate::decimal::{self, DIGITS_MAX, Decimal};

/// A sum or a difference in 128 bits, if that suffices.
fn short_sum(
    (a, b): (&AnyNumeric, &AnyNumeric),
    sum: fn(i128, u8, i128, u8) -> Option<i128>,
) -> Option<AnyNumeric> {
    let (AnyNumeric::Short(a), AnyNumeric::Short(b)) = (a, b) else { return None };
    let units = sum(a.units(), a.scale(), b.units(), b.scale());
    short(units, a.scale().max(b.scale()))
}

/// A result in 128 bits, if that suffices.
fn short(units: Option<i128>, scale: u8) -> Option<AnyNumeric> {
    Decimal::new(units?, scale).map(AnyNumeric::Short)
}

impl AnyNumeric {
    /// The number with the other sign.
    pub fn negated(self) -> Self {
        match self {
            Self::Short(a) => {
                Self::Short(Decimal::new(-a.units(), a.scale()).unwrap_or(Decimal::ZERO))
            }
            Self::Long(mut long) => {
                long.units = -long.units;
                Self::Long(long)
            }
            Self::Infinite { negative } => Self::Infinite { negative: !negative },
            Self::NaN => Self::NaN,
        }
    }

    /// The sum, with the larger one of both scales.
    ///
    /// # Errors
    ///
    /// It has too many digits.
    pub fn add(&self, other: &Self) -> Result<Self> {
        if let Some(sum) = short_sum((self, other), decimal::add) {
            return Ok(sum);
        }
        match (self, other) {
            (Self::NaN, _) | (_, Self::NaN) => Ok(Self::NaN),
            (Self::Infinite { negative: a }, Self::Infinite { negative: b }) if a != b => {
                Ok(Self::NaN)
            }
            (Self::Infinite { negative }, _) | (_, Self::Infinite { negative }) => {
                Ok(Self::Infinite { negative: *negative })
            }
            (a, b) => {
                let scale = a.scale().max(b.scale());
                Self::finite(at_scale(a, scale) + at_scale(b, scale), scale)
            }
        }
    }

    /// The difference, with the larger one of both scales.
    ///
    /// # Errors
    ///
    /// It has too many digits.
    pub fn subtract(&self, other: &Self) -> Result<Self> {
        if let Some(difference) = short_sum((self, other), decimal::sub) {
            return Ok(difference);
        }
        self.add(&other.clone().negated())
    }

    /// The product, exact as long as it has no more digits behind the point than can be.
    ///
    /// # Errors
    ///
    /// It has too many digits.
    pub fn multiply(&self, other: &Self) -> Result<Self> {
        if let (Self::Short(a), Self::Short(b)) = (self, other) {
            let scale = a.scale() + b.scale();
            if scale <= DIGITS_MAX
                && let Some(product) =
                    short(decimal::mul(a.units(), a.scale(), b.units(), b.scale(), scale), scale)
            {
                return Ok(product);
            }
        }
        if !self.is_finite() || !other.is_finite() {
            return Ok(match (self.sign(), other.sign()) {
                _ if matches!((self, other), (Self::NaN, _) | (_, Self::NaN)) => Self::NaN,
                (Ordering::Equal, _) | (_, Ordering::Equal) => Self::NaN,
                (a, b) => Self::Infinite { negative: a != b },
            });
        }
        let scale = u32::from(self.scale()) + u32::from(other.scale());
        let product = self.units() * other.units();
        match scale.checked_sub(SCALE_MAX.into()) {
            None | Some(0) => Self::finite(product, scale as u16),
            Some(digits) => {
                Self::finite(divide_rounding(&product, &power_of_ten(digits)), SCALE_MAX)
            }
        }
    }

    /// The quotient, of at least 16 significant digits.
    ///
    /// # Errors
    ///
    /// The divisor is zero, or the quotient has too many digits.
    pub fn divide(&self, other: &Self) -> Result<Self> {
        match (self, other) {
            (Self::NaN, _) | (_, Self::NaN) => return Ok(Self::NaN),
            (_, b) if b.is_zero() => return Err(NumericError::DivisionByZero),
            (Self::Infinite { .. }, Self::Infinite { .. }) => return Ok(Self::NaN),
            (Self::Infinite { negative }, b) => {
                return Ok(Self::Infinite { negative: *negative != b.sign().is_lt() });
            }
            (_, Self::Infinite { .. }) => return Ok(Self::ZERO),
            _ => {}
        }
        let scale = quotient_scale(self, other);
        if let (Self::Short(a), Self::Short(b), ..=38) = (self, other, scale)
            && let Some(quotient) = short(
                decimal::div(a.units(), a.scale(), b.units(), b.scale(), scale as u8),
                scale as u8,
            )
        {
            return Ok(quotient);
        }
        Self::finite(self.quotient(other, scale.into()), scale)
    }

    /// The quotient of two numbers in units of a scale, rounded half away from zero.
    pub(super) fn quotient(&self, other: &Self, scale: u32) -> BigInt {
        let shift = i64::from(scale) + i64::from(other.scale()) - i64::from(self.scale());
        let power = power_of_ten(shift.unsigned_abs() as u32);
        let (dividend, divisor) = match shift < 0 {
            false => (self.units() * power, other.units()),
            true => (self.units(), other.units() * power),
        };
        divide_rounding(&dividend, &divisor)
    }

    /// What is left of a division whose quotient is cut to a whole number; with the sign of the
    /// dividend, and the larger one of both scales.
    ///
    /// # Errors
    ///
    /// The divisor is zero.
    pub fn remainder(&self, other: &Self) -> Result<Self> {
        match (self, other) {
            (Self::NaN, _) | (_, Self::NaN) => Ok(Self::NaN),
            (_, b) if b.is_zero() => Err(NumericError::DivisionByZero),
            (Self::Infinite { .. }, _) => Ok(Self::NaN),
            (a, Self::Infinite { .. }) => Ok(a.clone()),
            (a, b) => {
                let scale = a.scale().max(b.scale());
                Self::finite(at_scale(a, scale) % at_scale(b, scale), scale)
            }
        }
    }

    /// The quotient cut to a whole number.
    ///
    /// # Errors
    ///
    /// As [`AnyNumeric::divide`].
    pub fn divide_whole(&self, other: &Self) -> Result<Self> {
        if !self.is_finite() || !other.is_finite() || other.is_zero() {
            return self.divide(other);
        }
        let scale = self.scale().max(other.scale());
        Self::finite(at_scale(self, scale) / at_scale(other, scale), 0)
    }
}

/// A quotient rounded half away from zero.
pub(super) fn divide_rounding(dividend: &BigInt, divisor: &BigInt) -> BigInt {
    let (quotient, rest) = (dividend / divisor, dividend % divisor);
    let is_half = (rest.magnitude() << 1_u8) >= *divisor.magnitude();
    match (is_half, dividend.sign() == divisor.sign()) {
        (false, _) => quotient,
        (true, true) => quotient + 1,
        (true, false) => quotient - 1,
    }
}

/// The first four digits that are not all zero, in groups counted from the point, and which group
/// that is: 0 for the one before the point.
///
/// Source       PostgreSQL 15, `numeric.c`: numbers there are groups of four digits
pub(super) fn first_group(number: &AnyNumeric) -> (i64, i64) {
    let units = number.units();
    if units == BigInt::ZERO {
        return (0, 0);
    }
    let digits = digits_of(&units) as i64;
    // Digits before the point; none or fewer than none for what is below one.
    let whole = digits - i64::from(number.scale());
    let group = (whole - 1).div_euclid(4);
    let kept = (whole - 1).rem_euclid(4) + 1;
    let first = match digits.cmp(&kept) {
        Ordering::Greater => units.magnitude() / power_of_ten((digits - kept) as u32).magnitude(),
        _ => units.magnitude() * power_of_ten((kept - digits) as u32).magnitude(),
    };
    (u32::try_from(first).map_or(0, i64::from), group)
}

/// The scale of a quotient: at least 16 significant digits, and no less than either number has.
///
/// Source       PostgreSQL 15, `select_div_scale`
fn quotient_scale(a: &AnyNumeric, b: &AnyNumeric) -> u16 {
    let ((a_first, a_group), (b_first, b_group)) = (first_group(a), first_group(b));
    let group = a_group - b_group - i64::from(a_first <= b_first);
    let shown = (SIGNIFICANT_MIN - group * 4).max(a.scale().into()).max(b.scale().into());
    shown.clamp(0, SHOWN_MAX) as u16
}
