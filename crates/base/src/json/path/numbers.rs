//! Numbers of paths: texts in the normal form of JSON, of any length; what is computed of them has
//! 38 digits.

use std::cmp::Ordering;

use crate::decimal::{self, Decimal};
use crate::value::ValueError;

use super::super::{Result, number};
use super::{Arithmetic, Method};

/// Digits that a quotient has at least.
const QUOTIENT_DIGITS_MIN: i32 = 16;
/// Digits of a group, by which PostgreSQL counts a quotient's.
const GROUP: i32 = 4;

fn overflow() -> ValueError {
    ValueError::numeric_format()
}

fn decimal_of(text: &str) -> Result<Decimal> {
    let scale = text.split_once('.').map_or(0, |(_, fraction)| fraction.len());
    let scale = u8::try_from(scale).ok().filter(|scale| *scale <= decimal::DIGITS_MAX);
    let scale = scale.ok_or_else(overflow)?;
    let units = decimal::parse_units(text, scale).map_err(|_| overflow())?;
    Decimal::new(units, scale).ok_or_else(overflow)
}

fn shown(units: Option<i128>, scale: u8) -> Result<String> {
    let number = units.and_then(|units| Decimal::new(units, scale)).ok_or_else(overflow)?;
    Ok(number.to_string())
}

/// Of two numbers, which may have any number of digits.
pub(super) fn compare(left: &str, right: &str) -> Ordering {
    let (left, right) = (number::trimmed(left), number::trimmed(right));
    let parts = |text: &str| {
        let unsigned = text.trim_start_matches('-').trim_start_matches('0');
        let (whole, fraction) = unsigned.split_once('.').unwrap_or((unsigned, ""));
        (whole.len(), whole.to_owned(), fraction.to_owned())
    };
    let is_zero = |text: &str| text.bytes().all(|b| matches!(b, b'0' | b'.' | b'-'));
    let sign = |text: &str| match (is_zero(text), text.starts_with('-')) {
        (true, _) => 0,
        (false, true) => -1,
        (false, false) => 1,
    };
    let (one, other) = (sign(left), sign(right));
    match one.cmp(&other) {
        Ordering::Equal if one == 0 => Ordering::Equal,
        Ordering::Equal if one > 0 => parts(left).cmp(&parts(right)),
        Ordering::Equal => parts(right).cmp(&parts(left)),
        unequal => unequal,
    }
}

/// Where a number begins, in groups of four digits counted from the point, and its first group.
fn first_group(text: &str) -> (i32, i32) {
    let unsigned = text.trim_start_matches('-');
    let (whole, fraction) = unsigned.split_once('.').unwrap_or((unsigned, ""));
    let whole = whole.trim_start_matches('0');
    let digit = |at: i32| {
        // Places count from the point: 0 is the last before it, -1 the first behind it.
        let found = match usize::try_from(at) {
            Ok(before) => whole.len().checked_sub(before + 1).map(|at| whole.as_bytes()[at]),
            Err(_) => fraction.as_bytes().get((-1 - at) as usize).copied(),
        };
        i32::from(found.unwrap_or(b'0') - b'0')
    };
    let most = whole.len().div_ceil(GROUP as usize) as i32;
    let least = -(fraction.len().div_ceil(GROUP as usize) as i32);
    let group =
        |weight: i32| (0..GROUP).rev().fold(0, |sum, at| sum * 10 + digit(weight * GROUP + at));
    let mut found = (least..most).rev().map(|weight| (weight, group(weight)));
    found.find(|(_, digits)| *digits != 0).unwrap_or((0, 0))
}

/// Digits behind the point of a quotient: at least 16 that count, as PostgreSQL chooses them.
fn quotient_scale(left: (&str, u8), right: (&str, u8)) -> Result<u8> {
    let ((one, first), (other, second)) = (first_group(left.0), first_group(right.0));
    let weight = one - other - i32::from(first <= second);
    let scale = QUOTIENT_DIGITS_MIN - weight * GROUP;
    let scale = scale.max(left.1.into()).max(right.1.into()).max(0);
    u8::try_from(scale).ok().filter(|scale| *scale <= decimal::DIGITS_MAX).ok_or_else(overflow)
}

/// What an operator makes of two numbers.
pub(super) fn computed(of: Arithmetic, left: &str, right: &str) -> Result<String> {
    let (a, b) = (decimal_of(left)?, decimal_of(right)?);
    let larger = a.scale().max(b.scale());
    let (units, scale) = match of {
        Arithmetic::Add => (decimal::add(a.units(), a.scale(), b.units(), b.scale()), larger),
        Arithmetic::Subtract => (decimal::sub(a.units(), a.scale(), b.units(), b.scale()), larger),
        Arithmetic::Multiply => {
            let scale = a.scale() + b.scale();
            if scale > decimal::DIGITS_MAX {
                return Err(overflow());
            }
            (decimal::mul(a.units(), a.scale(), b.units(), b.scale(), scale), scale)
        }
        Arithmetic::Divide | Arithmetic::Modulo if b.units() == 0 => {
            return Err(ValueError::json_error("22012", "division by zero".to_owned()));
        }
        Arithmetic::Divide => {
            let scale = quotient_scale((left, a.scale()), (right, b.scale()))?;
            (decimal::div(a.units(), a.scale(), b.units(), b.scale(), scale), scale)
        }
        Arithmetic::Modulo => (decimal::rem(a.units(), a.scale(), b.units(), b.scale()), larger),
    };
    shown(units, scale)
}

/// What `.abs()`, `.floor()` or `.ceiling()` makes of a number.
pub(super) fn of_method(method: Method, text: &str) -> Result<String> {
    if method == Method::Abs {
        return Ok(text.trim_start_matches('-').to_owned());
    }
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let is_whole = fraction.bytes().all(|b| b == b'0');
    let is_negative = whole.starts_with('-');
    let away = match method {
        Method::Floor => !is_whole && is_negative,
        _ => !is_whole && !is_negative,
    };
    if !away {
        return Ok(if whole == "-0" { "0".to_owned() } else { whole.to_owned() });
    }
    let units = decimal_of(whole)?.units();
    shown(Some(if is_negative { units - 1 } else { units + 1 }), 0)
}

/// A text as a number with the digits that a double has for sure.
pub(super) fn of_double(text: &str) -> Option<String> {
    const DIGITS: usize = 15;
    let trimmed = text.trim();
    // As the type reads it: no names of numbers that are none.
    if trimmed.bytes().any(|b| b.is_ascii_alphabetic() && !matches!(b, b'e' | b'E')) {
        return None;
    }
    let double: f64 = trimmed.parse().ok().filter(|double: &f64| double.is_finite())?;
    let written = format!("{double:.*e}", DIGITS - 1);
    let (mantissa, exponent) = written.split_once('e')?;
    let mantissa = number::trimmed(mantissa);
    let mut out = crate::value::TextBuilder::new("numeric", 1 << 12);
    number::write_normal(&format!("{mantissa}e{exponent}"), &mut out).ok()?;
    Some(out.finish())
}
