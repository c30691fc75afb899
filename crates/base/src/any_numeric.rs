//! Numerics of any number of digits: the type `numeric` without a precision.
//!
//! Role         values of [`AnyNumeric`](crate::types::DataType::AnyNumeric): what columns,
//!              parameters and variables declared `numeric` hold, and what divisions, averages
//!              and roots of numerics give
//! Source       PostgreSQL 15, `numeric.c`: which digits an operation shows, and where numbers end
//! Invariants   I1 a number that [`Decimal`] can hold, with the digits it shows, is `Short`: two
//!                 numbers of one form are computed with 128-bit integers wherever these suffice
//!              I2 a finite number has at most [`WHOLE_DIGITS_MAX`] digits before the point and
//!                 [`SCALE_MAX`] behind it
//!
//! Each number knows how many digits it shows behind the point, its scale: 1.0 and 1.00 are equal
//! and look different. Columns of `numeric(p,s)` need none of this and stay what they are: integers
//! of 64 or 128 bits, scaled by their type.

mod arithmetic;
mod bytes;
mod convert;
mod elementary;
mod round;
mod text;

#[cfg(test)]
mod tests;

pub(crate) use bytes::{SCALE_BYTES, least_scale_of, read_comparable, split_comparable};
pub use bytes::{comparable, compare, read, text_bytes, write};

use std::cmp::Ordering;

use num_bigint::{BigInt, Sign};

use crate::decimal::{self, DIGITS_MAX, Decimal};

/// Digits behind the point, at most.
pub const SCALE_MAX: u16 = 16_383;
/// Digits before the point, at most.
pub const WHOLE_DIGITS_MAX: u32 = 131_072;
/// Digits behind the point that a division, a root or the like shows, at most.
const SHOWN_MAX: i64 = 1000;
/// Significant digits that a division, a root or the like has, at least.
const SIGNIFICANT_MIN: i64 = 16;

/// A number, infinite, or none. Equality and order are those of the numbers; NaN equals itself and
/// is greater than all others, as PostgreSQL has it.
#[derive(Clone, Debug)]
pub enum AnyNumeric {
    /// what a decimal can hold
    Short(Decimal),
    /// what has too many digits for that
    Long(Box<Long>),
    /// positive or negative infinity
    Infinite {
        /// less than all numbers
        negative: bool,
    },
    /// not a number
    NaN,
}

/// `units / 10^scale`.
#[derive(Clone, Debug)]
pub struct Long {
    units: BigInt,
    scale: u16,
}

/// Why there is no result.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NumericError {
    /// a number of too many digits
    Overflow,
    /// a divisor of zero
    DivisionByZero,
    /// the root of a negative number
    RootOfNegative,
    /// the logarithm of zero
    LogarithmOfZero,
    /// the logarithm of a negative number
    LogarithmOfNegative,
    /// zero to the power of a negative number
    ZeroToNegative,
    /// a negative number to the power of a fraction
    NegativeToFraction,
}

type Result<T> = std::result::Result<T, NumericError>;

impl AnyNumeric {
    /// Zero, without digits behind the point.
    pub const ZERO: Self = Self::Short(Decimal::ZERO);
    /// Greater than all numbers.
    pub const INFINITY: Self = Self::Infinite { negative: false };

    /// `units / 10^scale`.
    fn finite(units: BigInt, scale: u16) -> Result<Self> {
        if let (Ok(short), Ok(short_scale)) = (i128::try_from(&units), u8::try_from(scale))
            && let Some(decimal) = Decimal::new(short, short_scale)
        {
            return Ok(Self::Short(decimal));
        }
        // A digit has more than three bits: what is far from the limit needs no count of digits.
        let bits_max = (u64::from(WHOLE_DIGITS_MAX) + u64::from(scale)) * 3;
        if scale > SCALE_MAX
            || units.bits() > bits_max
                && digits_of(&units) > WHOLE_DIGITS_MAX as usize + usize::from(scale)
        {
            return Err(NumericError::Overflow);
        }
        Ok(Self::Long(Box::new(Long { units, scale })))
    }

    /// The number as a decimal, if it fits one.
    pub fn short(&self) -> Option<Decimal> {
        match self {
            Self::Short(decimal) => Some(*decimal),
            _ => None,
        }
    }

    /// The digits shown behind the point; 0 for what is no number.
    pub fn scale(&self) -> u16 {
        match self {
            Self::Short(decimal) => decimal.scale().into(),
            Self::Long(long) => long.scale,
            Self::Infinite { .. } | Self::NaN => 0,
        }
    }

    /// Whether it is a number.
    pub fn is_finite(&self) -> bool {
        matches!(self, Self::Short(_) | Self::Long(_))
    }

    /// The number times `10^scale`; 0 for what is no number.
    fn units(&self) -> BigInt {
        match self {
            Self::Short(decimal) => decimal.units().into(),
            Self::Long(long) => long.units.clone(),
            Self::Infinite { .. } | Self::NaN => BigInt::ZERO,
        }
    }

    /// Bytes of memory that it takes, beside its own.
    pub fn bytes(&self) -> usize {
        match self {
            Self::Long(long) => {
                size_of::<Self>() + size_of::<Long>() + long.units.bits() as usize / 8
            }
            _ => size_of::<Self>(),
        }
    }

    /// Less than, equal to or greater than zero; NaN is greater.
    pub fn sign(&self) -> Ordering {
        match self {
            Self::Short(decimal) => decimal.units().cmp(&0),
            Self::Long(long) => match long.units.sign() {
                Sign::Minus => Ordering::Less,
                Sign::NoSign => Ordering::Equal,
                Sign::Plus => Ordering::Greater,
            },
            Self::Infinite { negative: true } => Ordering::Less,
            Self::Infinite { negative: false } | Self::NaN => Ordering::Greater,
        }
    }

    fn is_zero(&self) -> bool {
        self.sign().is_eq()
    }

    /// Whether there are no digits but zeros behind the point.
    fn is_whole(&self) -> bool {
        match self {
            Self::Short(decimal) => {
                decimal.units() % decimal::POWERS_OF_TEN[usize::from(decimal.scale())] == 0
            }
            Self::Long(long) => (&long.units % power_of_ten(long.scale.into())) == BigInt::ZERO,
            Self::Infinite { .. } | Self::NaN => false,
        }
    }

    /// What is no number, by rank; numbers are 1.
    fn rank(&self) -> u8 {
        match self {
            Self::Infinite { negative: true } => 0,
            Self::Short(_) | Self::Long(_) => 1,
            Self::Infinite { negative: false } => 2,
            Self::NaN => 3,
        }
    }
}

impl From<Decimal> for AnyNumeric {
    fn from(decimal: Decimal) -> Self {
        Self::Short(decimal)
    }
}

impl From<i64> for AnyNumeric {
    fn from(value: i64) -> Self {
        Self::Short(value.into())
    }
}

impl PartialEq for AnyNumeric {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for AnyNumeric {}

impl PartialOrd for AnyNumeric {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for AnyNumeric {
    fn cmp(&self, other: &Self) -> Ordering {
        match (self, other) {
            (Self::Short(a), Self::Short(b)) => a.cmp(b),
            (a, b) if a.rank() != 1 || b.rank() != 1 => a.rank().cmp(&b.rank()),
            (a, b) if a.sign() != b.sign() => a.sign().cmp(&b.sign()),
            (a, b) => {
                let scale = a.scale().max(b.scale());
                at_scale(a, scale).cmp(&at_scale(b, scale))
            }
        }
    }
}

/// `10^n`.
fn power_of_ten(n: u32) -> BigInt {
    match decimal::POWERS_OF_TEN.get(n as usize) {
        Some(&power) => power.into(),
        None => BigInt::from(10).pow(n),
    }
}

/// The units of a number in a scale that is not less than its own.
fn at_scale(number: &AnyNumeric, scale: u16) -> BigInt {
    number.units() * power_of_ten(u32::from(scale.saturating_sub(number.scale())))
}

/// Decimal digits of an integer; 1 for zero.
fn digits_of(units: &BigInt) -> usize {
    if let Ok(short) = i128::try_from(units) {
        let digits = short.unsigned_abs().checked_ilog10().map_or(1, |log| log + 1);
        return digits as usize;
    }
    // log10(2) from below: one digit less at most, which a comparison finds.
    let digits = ((units.bits() - 1) as f64 * std::f64::consts::LOG10_2) as u32;
    let is_more = units.magnitude() >= power_of_ten(digits).magnitude();
    let digits = if is_more { digits + 1 } else { digits };
    let is_more = units.magnitude() >= power_of_ten(digits).magnitude();
    (if is_more { digits + 1 } else { digits }) as usize
}

const _: () = assert!(DIGITS_MAX as u16 <= SCALE_MAX);
