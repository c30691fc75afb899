//! Decimals as text.

use super::{DIGITS_MAX, Decimal};
use std::fmt;
use std::io::Write;
use std::str::FromStr;

/// Why a text is no decimal.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DecimalError {
    /// Not `[+-]digits[.digits][e[+-]digits]`.
    Syntax,
    /// More than 38 digits before the point, or in all after scaling.
    OutOfRange,
}

impl fmt::Display for DecimalError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Syntax => "invalid input syntax for type numeric",
            Self::OutOfRange => "numeric value out of range",
        })
    }
}

impl std::error::Error for DecimalError {}

/// Parses a number, exponent allowed, as units of `scale`, rounded half away from zero.
pub fn parse_units(text: &str, scale: u8) -> Result<i128, DecimalError> {
    Literal::parse(text)?.units(scale.into())
}

impl FromStr for Decimal {
    type Err = DecimalError;

    /// The scale is the number of digits given behind the point, as far as 38 digits allow.
    fn from_str(text: &str) -> Result<Self, DecimalError> {
        let literal = Literal::parse(text)?;
        let digits_max = i64::from(DIGITS_MAX);
        let scale = (-literal.exponent).min(digits_max - literal.whole_digits()).max(0);
        let scale = scale.min(digits_max);
        // Rounding may carry into one more whole digit: 99.9...9 of 39 digits.
        let units = literal.units(scale).or_else(|error| match scale {
            0 => Err(error),
            _ => literal.units(scale - 1).map(|units| units * 10),
        });
        Ok(Self { units: units?, scale: scale as u8 })
    }
}

impl fmt::Display for Decimal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const BYTES: usize = 48; // 39 digits and a point at most
        // On the stack: procedures turn numbers into text, and calls allocate nothing.
        let mut buffer = [0; BYTES];
        let mut free = buffer.as_mut_slice();
        let scale = usize::from(self.scale);
        let (units, width) = (self.units.unsigned_abs(), scale + 1);
        write!(free, "{units:0>width$}").map_err(|_| fmt::Error)?;
        let mut length = BYTES - free.len();
        if scale > 0 {
            let point = length - scale;
            buffer.copy_within(point..length, point + 1);
            buffer[point] = b'.';
            length += 1;
        }
        let digits = std::str::from_utf8(&buffer[..length]).map_err(|_| fmt::Error)?;
        f.pad_integral(self.units >= 0, "", digits)
    }
}

/// `digits * 10^exponent`; the digits may be divided by a point in their text.
pub(crate) struct Literal<'a> {
    pub(crate) negative: bool,
    /// digits before the point, without zeros in front
    pub(crate) whole: &'a [u8],
    /// digits behind it
    pub(crate) fraction: &'a [u8],
    pub(crate) exponent: i64,
}

impl<'a> Literal<'a> {
    pub(crate) fn parse(text: &'a str) -> Result<Self, DecimalError> {
        let text = text.trim_ascii().as_bytes();
        let (negative, text) = match text {
            [b'-', rest @ ..] => (true, rest),
            [b'+', rest @ ..] => (false, rest),
            _ => (false, text),
        };
        let (whole, rest) = leading_digits(text);
        let (fraction, rest) = match rest {
            [b'.', rest @ ..] => leading_digits(rest),
            _ => (&[][..], rest),
        };
        let exponent = match rest {
            [] => 0,
            [b'e' | b'E', exponent @ ..] => parse_exponent(exponent)?,
            _ => return Err(DecimalError::Syntax),
        };
        if whole.is_empty() && fraction.is_empty() {
            return Err(DecimalError::Syntax);
        }
        let zeros = whole.iter().take_while(|&&digit| digit == b'0').count();
        let exponent = exponent - fraction.len() as i64;
        Ok(Self { negative, whole: &whole[zeros..], fraction, exponent })
    }

    /// Digits before the point once the exponent is applied, at least 0.
    fn whole_digits(&self) -> i64 {
        let digits = (self.whole.len() + self.fraction.len()) as i64;
        (digits + self.exponent).max(0)
    }

    fn units(&self, scale: i64) -> Result<i128, DecimalError> {
        let count = (self.whole.len() + self.fraction.len()) as i64;
        // What is kept: all digits and zeros behind them, or all but the last ones.
        let shift = self.exponent + scale;
        let kept = count + shift;
        let mut digits = self.whole.iter().chain(self.fraction).map(|digit| digit - b'0');
        let mut magnitude = 0_i128;
        for _ in 0..kept.min(count) {
            magnitude = push(magnitude, digits.next().unwrap_or(0))?;
        }
        if magnitude != 0 {
            for _ in count..kept {
                magnitude = push(magnitude, 0)?;
            }
        }
        let rounds_up = kept >= 0 && digits.next().is_some_and(|digit| digit >= 5);
        let magnitude = super::in_range(magnitude + i128::from(rounds_up));
        let magnitude = magnitude.ok_or(DecimalError::OutOfRange)?;
        Ok(if self.negative { -magnitude } else { magnitude })
    }
}

/// One more digit. The product may exceed 128 bits: 10^38 is 0.6 times 2^127.
fn push(magnitude: i128, digit: u8) -> Result<i128, DecimalError> {
    magnitude
        .checked_mul(10)
        .and_then(|magnitude| super::in_range(magnitude + i128::from(digit)))
        .ok_or(DecimalError::OutOfRange)
}

fn leading_digits(text: &[u8]) -> (&[u8], &[u8]) {
    text.split_at(text.iter().take_while(|byte| byte.is_ascii_digit()).count())
}

/// An exponent, cut to six digits: more of them change nothing but the work to see it.
fn parse_exponent(text: &[u8]) -> Result<i64, DecimalError> {
    let (sign, text) = match text {
        [b'-', rest @ ..] => (-1, rest),
        [b'+', rest @ ..] => (1, rest),
        _ => (1, text),
    };
    if text.is_empty() || !text.iter().all(u8::is_ascii_digit) {
        return Err(DecimalError::Syntax);
    }
    let limit = |value: i64, digit: &u8| (value * 10 + i64::from(digit - b'0')).min(999_999);
    Ok(sign * text.iter().fold(0, limit))
}
