//! Numerics of any number of digits as text.

use std::fmt;
use std::str::FromStr;

use num_bigint::BigInt;

use super::{AnyNumeric, SCALE_MAX, WHOLE_DIGITS_MAX, power_of_ten};
use crate::decimal::{Decimal, DecimalError};

impl AnyNumeric {
    /// A text that has been checked, or that is short.
    pub(super) fn parse(text: &str) -> Option<Self> {
        text.parse().ok()
    }
}

impl FromStr for AnyNumeric {
    type Err = DecimalError;

    /// `[+-]digits[.digits][e[+-]digits]`, `NaN`, `[+-]inf[inity]`, blanks around it.
    fn from_str(text: &str) -> Result<Self, DecimalError> {
        let text = text.trim_ascii();
        if let Some(known) = special(text) {
            return Ok(known);
        }
        let (mantissa, exponent) = match text.split_once(['e', 'E']) {
            Some((mantissa, exponent)) => (mantissa, read_exponent(exponent)?),
            None => (text, 0),
        };
        let (negative, digits) = match mantissa.as_bytes().first() {
            Some(b'-') => (true, &mantissa[1..]),
            Some(b'+') => (false, &mantissa[1..]),
            _ => (false, mantissa),
        };
        let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
        let is_digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
        if whole.is_empty() && fraction.is_empty() || !is_digits(whole) || !is_digits(fraction) {
            return Err(DecimalError::Syntax);
        }
        let whole = whole.trim_start_matches('0');
        let scale = fraction.len() as i64 - exponent;
        let count = (whole.len() + fraction.len()) as i64;
        // The same digits, whatever they stand for.
        if (0..=38).contains(&scale) && count <= 38 {
            let digits = whole.bytes().chain(fraction.bytes());
            let units = digits.fold(0_i128, |units, digit| units * 10 + i128::from(digit - b'0'));
            let units = if negative { -units } else { units };
            return Decimal::new(units, scale as u8)
                .map(Self::Short)
                .ok_or(DecimalError::OutOfRange);
        }
        let is_zero = whole.is_empty() && fraction.bytes().all(|digit| digit == b'0');
        if is_zero && scale < 0 {
            return Ok(Self::ZERO);
        }
        if !is_zero && whole.len() as i64 + exponent > i64::from(WHOLE_DIGITS_MAX)
            || scale > i64::from(SCALE_MAX)
        {
            return Err(DecimalError::OutOfRange);
        }
        let mut all = String::with_capacity(count as usize + 1);
        all.push('0');
        all.push_str(whole);
        all.push_str(fraction);
        let units = BigInt::from_str(&all).map_err(|_| DecimalError::Syntax)?;
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

/// An exponent, cut to six digits: more of them change nothing but the work to see it.
fn read_exponent(text: &str) -> Result<i64, DecimalError> {
    let (sign, digits) = match text.as_bytes().first() {
        Some(b'-') => (-1, &text[1..]),
        Some(b'+') => (1, &text[1..]),
        _ => (1, text),
    };
    if digits.is_empty() || !digits.bytes().all(|digit| digit.is_ascii_digit()) {
        return Err(DecimalError::Syntax);
    }
    let limit = |value: i64, digit: u8| (value * 10 + i64::from(digit - b'0')).min(999_999);
    Ok(sign * digits.bytes().fold(0, limit))
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
