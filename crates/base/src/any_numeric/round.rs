//! Rounding, and whole numbers nearby.

use num_bigint::BigInt;

use super::arithmetic::divide_rounding;
use super::{AnyNumeric, Result, SCALE_MAX, WHOLE_DIGITS_MAX, power_of_ten};
use crate::decimal::{self, DIGITS_MAX, Decimal};

impl AnyNumeric {
    /// The number without its sign.
    pub fn absolute(self) -> Self {
        if self.sign().is_lt() { self.negated() } else { self }
    }

    /// Rounded half away from zero to so many digits behind the point, which it shows then;
    /// before it, if they are negative.
    ///
    /// # Errors
    ///
    /// It has too many digits.
    pub fn rounded(&self, digits: i64) -> Result<Self> {
        if let (Self::Short(a), 0..=38) = (self, digits)
            && let Some(decimal) = a.with_scale(digits as u8)
        {
            return Ok(Self::Short(decimal));
        }
        self.cut(digits, divide_rounding)
    }

    /// Cut to so many digits behind the point.
    ///
    /// # Errors
    ///
    /// It has too many digits.
    pub fn truncated(&self, digits: i64) -> Result<Self> {
        self.cut(digits, |units, power| units / power)
    }

    fn cut(&self, digits: i64, divide: fn(&BigInt, &BigInt) -> BigInt) -> Result<Self> {
        if !self.is_finite() {
            return Ok(self.clone());
        }
        let (least, most) = (-i64::from(WHOLE_DIGITS_MAX) - 1, i64::from(SCALE_MAX));
        let digits = digits.clamp(least, most);
        let fewer = i64::from(self.scale()) - digits;
        let power = power_of_ten(fewer.unsigned_abs() as u32);
        let units = match fewer < 0 {
            true => self.units() * power,
            false => divide(&self.units(), &power),
        };
        match digits < 0 {
            true => Self::finite(units * power_of_ten(digits.unsigned_abs() as u32), 0),
            false => Self::finite(units, digits as u16),
        }
    }

    /// The greatest whole number that is not greater.
    ///
    /// # Errors
    ///
    /// It has too many digits.
    pub fn floor(&self) -> Result<Self> {
        match self.sign().is_lt() && !self.is_whole() {
            true => self.truncated(0)?.subtract(&Self::from(1)),
            false => self.truncated(0),
        }
    }

    /// The least whole number that is not less.
    ///
    /// # Errors
    ///
    /// It has too many digits.
    pub fn ceiling(&self) -> Result<Self> {
        match self.sign().is_gt() && self.is_finite() && !self.is_whole() {
            true => self.truncated(0)?.add(&Self::from(1)),
            false => self.truncated(0),
        }
    }

    /// The same number without zeros at the end behind the point.
    pub fn trimmed(&self) -> Self {
        let scale = self.least_scale().unwrap_or(0);
        self.truncated(scale.into()).unwrap_or_else(|_| self.clone())
    }

    /// The digits behind the point that are needed to show the number; none for what is no number.
    pub fn least_scale(&self) -> Option<u16> {
        match self {
            Self::Short(decimal) => {
                let (mut units, mut scale) = (decimal.units(), decimal.scale());
                while scale > 0 && units % 10 == 0 {
                    (units, scale) = (units / 10, scale - 1);
                }
                Some(scale.into())
            }
            Self::Long(long) => {
                let digits = long.units.to_string();
                let zeros = digits.bytes().rev().take_while(|digit| *digit == b'0').count();
                Some(long.scale - zeros.min(long.scale.into()) as u16)
            }
            Self::Infinite { .. } | Self::NaN => None,
        }
    }

    /// The number as one of `numeric(precision, scale)` of any precision, rounded half away from
    /// zero; none: it has too many digits, or is infinite. NaN has no digits, and stays.
    pub fn fitted(&self, precision: u16, scale: i16) -> Option<Self> {
        if let Self::NaN = self {
            return Some(Self::NaN);
        }
        let rounded = self.rounded(scale.into()).ok().filter(Self::is_finite)?;
        let units = rounded.units();
        // Of zeros before the point, no digit of the precision.
        let digits = match scale < 0 {
            true => units / power_of_ten(scale.unsigned_abs().into()),
            false => units,
        };
        let limit = power_of_ten(precision.into());
        (digits.magnitude() < limit.magnitude()).then_some(rounded)
    }

    /// The number as one of `numeric(precision, scale)`, rounded; none: it has too many digits, or
    /// is no number.
    pub fn to_units(&self, precision: u8, scale: u8) -> Option<i128> {
        debug_assert!(precision <= DIGITS_MAX && scale <= DIGITS_MAX, "of a type");
        let rounded = match self {
            Self::Short(decimal) => decimal::rescale(decimal.units(), decimal.scale(), scale)?,
            Self::Long(_) => self.rounded(scale.into()).ok()?.short().map(Decimal::units)?,
            Self::Infinite { .. } | Self::NaN => return None,
        };
        let limit = decimal::POWERS_OF_TEN[usize::from(precision)];
        (rounded.unsigned_abs() < limit.unsigned_abs()).then_some(rounded)
    }
}
