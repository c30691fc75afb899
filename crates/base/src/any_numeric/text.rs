//! Numerics of any number of digits as text.

use std::fmt;
use std::str::FromStr;

use num_bigint::BigInt;

use super::{AnyNumeric, SCALE_MAX, WHOLE_DIGITS_MAX, power_of_ten};
use crate::decimal::{Decimal, DecimalError, Literal};

impl FromStr for AnyNumeric {
    type Err = DecimalError;

    /// `[+-]digits[.digits][e[+-]digits]`, `NaN`, `[+-]inf[inity]`, blanks around it.
    fn from_str(text: &str) -> Result<Self, DecimalError> {
        let text = text.trim_ascii();
        if let Some(known) = special(text) {
            return Ok(known);
        }
        let Literal { negative, whole, fraction, exponent } = Literal::parse(text)?;
        let scale = -exponent;
        let count = (whole.len() + fraction.len()) as i64;
        // The same digits, whatever they stand for.
        if (0..=38).contains(&scale) && count <= 38 {
            let digits = whole.iter().chain(fraction);
            let units = digits.fold(0_i128, |units, digit| units * 10 + i128::from(digit - b'0'));
            let units = if negative { -units } else { units };
            return Decimal::new(units, scale as u8)
                .map(Self::Short)
                .ok_or(DecimalError::OutOfRange);
        }
        let is_zero = whole.is_empty() && fraction.iter().all(|digit| *digit == b'0');
        if is_zero && scale < 0 {
            return Ok(Self::ZERO);
        }
        if !is_zero && count - scale > i64::from(WHOLE_DIGITS_MAX) || scale > i64::from(SCALE_MAX) {
            return Err(DecimalError::OutOfRange);
        }
        let units = BigInt::parse_bytes(&[b"0", whole, fraction].concat(), 10);
        let units = units.ok_or(DecimalError::Syntax)?;
        let units = if negative { -units } else { units };
        let (units, scale) = match scale < 0 {
            true => (units * power_of_ten(scale.unsigned_abs() as u32), 0),
            false => (units, scale as u16),
        };
        Self::finite(units, scale).map_err(|_| DecimalError::OutOfRange)
    }
}

fn special(text: &str) -> Option<AnyNumeric> {
    let (negative, word) = match text.as_bytes().first()? {
        b'-' => (true, &text[1..]),
        b'+' => (false, &text[1..]),
        _ => (false, text),
    };
    let is = |name: &str| word.eq_ignore_ascii_case(name);
    match () {
        () if is("nan") && word.len() == text.len() => Some(AnyNumeric::NaN),
        () if is("inf") || is("infinity") => Some(AnyNumeric::Infinite { negative }),
        () => None,
    }
}

impl fmt::Display for AnyNumeric {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Short(decimal) => decimal.fmt(f),
            Self::Infinite { negative: true } => f.pad("-Infinity"),
            Self::Infinite { negative: false } => f.pad("Infinity"),
            Self::NaN => f.pad("NaN"),
            Self::Long(long) => {
                let scale = usize::from(long.scale);
                let mut digits = long.units.magnitude().to_string();
                if digits.len() <= scale {
                    digits.insert_str(0, &"0".repeat(scale + 1 - digits.len()));
                }
                if scale > 0 {
                    digits.insert(digits.len() - scale, '.');
                }
                f.pad_integral(long.units.sign() != num_bigint::Sign::Minus, "", &digits)
            }
        }
    }
}
