//! Numbers of machines.

use super::{AnyNumeric, NumericError, Result};
use crate::decimal::{self, Decimal};

impl AnyNumeric {
    /// The double's first 15 significant digits (PostgreSQL's cast).
    ///
    /// # Errors
    ///
    /// It has too many digits: never.
    pub fn from_f64(value: f64) -> Result<Self> {
        Self::from_float(value, &format!("{value:.14e}"))
    }

    /// The real's first 6 significant digits.
    ///
    /// # Errors
    ///
    /// As [`AnyNumeric::from_f64`].
    pub fn from_f32(value: f32) -> Result<Self> {
        Self::from_float(value.into(), &format!("{value:.5e}"))
    }

    fn from_float(value: f64, text: &str) -> Result<Self> {
        match value {
            _ if value.is_nan() => Ok(Self::NaN),
            _ if value.is_infinite() => Ok(Self::Infinite { negative: value < 0.0 }),
            // Digits without their zeros, as `%.15g` gives them.
            _ => text
                .parse::<Self>()
                .map(|number| number.trimmed())
                .map_err(|_| NumericError::Overflow),
        }
    }

    /// The nearest double; infinite for what is beyond them all.
    pub fn to_f64(&self) -> f64 {
        match self {
            Self::Short(decimal) => decimal::to_f64(decimal.units(), decimal.scale()),
            Self::Long(_) => self.to_string().parse().unwrap_or(f64::NAN),
            Self::Infinite { negative: true } => f64::NEG_INFINITY,
            Self::Infinite { negative: false } => f64::INFINITY,
            Self::NaN => f64::NAN,
        }
    }

    /// Rounded half away from zero to a whole number, if that has at most 64 bits.
    pub fn to_i64(&self) -> Option<i64> {
        let whole = match self {
            Self::Short(decimal) => *decimal,
            Self::Long(_) => self.rounded(0).ok()?.short()?,
            Self::Infinite { .. } | Self::NaN => return None,
        };
        decimal::to_i64(whole.units(), whole.scale())
    }

    /// The number as a decimal of at most 38 digits, rounded where it has more behind the point.
    pub fn to_decimal(&self) -> Option<Decimal> {
        match self {
            Self::Short(decimal) => Some(*decimal),
            Self::Long(_) => {
                let whole = self.truncated(0).ok()?.short()?;
                let digits = whole.units().unsigned_abs().checked_ilog10().map_or(0, |log| log + 1);
                // Rounding may give one more whole digit.
                (0..=38 - digits)
                    .rev()
                    .take(2)
                    .find_map(|scale| self.rounded(scale.into()).ok()?.short())
            }
            Self::Infinite { .. } | Self::NaN => None,
        }
    }
}
