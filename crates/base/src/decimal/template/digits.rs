//! A number's digits as a picture has room for them.
//!
//! What types do differently is PostgreSQL's: integers are shifted by V as the machine multiplies
//! them, floats show no more digits than they hold, numerics are rounded away from zero.

use super::super::{Decimal, POWERS_OF_TEN};
use super::Number;
use super::picture::Picture;
use crate::template::TemplateError;

/// What is to be written.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Digits {
    /// digits, and a point; or a Roman numeral, or all with an exponent
    pub(super) text: String,
    pub(super) sign: Sign,
    /// places of digits that the template has before them
    pub(super) places_before: usize,
}

/// The number's sign.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Sign {
    Plus,
    Minus,
    /// the text says it itself
    Said,
}

/// Digits that C's printf computes; others are zeros.
const PRECISION_MAX: usize = 350;
const ROMAN_WIDTH: usize = 15;

/// Makes the digits, and the picture that of the digits: V makes it wider, floats narrower.
pub(super) fn of(number: Number, picture: &mut Picture) -> Result<Digits, TemplateError> {
    if picture.is_roman {
        return Ok(said(roman(to_i32(number)?)));
    }
    if picture.has_exponent {
        return Ok(said(with_exponent(number, picture)));
    }
    let (text, fraction) = plain(number, picture)?;
    picture.fraction = fraction;
    picture.whole += picture.shift;
    let (sign, text) = match text.strip_prefix('-') {
        Some(rest) => (Sign::Minus, rest.to_owned()),
        None => (Sign::Plus, text),
    };
    let whole = text.find('.').unwrap_or(text.len());
    if whole > picture.whole {
        let text = overflow(picture.whole, picture.fraction, "");
        return Ok(Digits { text, sign, places_before: 0 });
    }
    Ok(Digits { text, sign, places_before: picture.whole - whole })
}

fn said(text: String) -> Digits {
    Digits { text, sign: Sign::Said, places_before: 0 }
}

/// `##.##`
fn overflow(whole: usize, fraction: usize, end: &str) -> String {
    format!("{}.{}{end}", "#".repeat(whole), "#".repeat(fraction))
}

/// The digits with their sign, and how many the picture has behind the point for them.
fn plain(number: Number, picture: &Picture) -> Result<(String, usize), TemplateError> {
    let fraction = picture.fraction;
    let with_zeros = |whole: String| match fraction {
        0 => whole,
        zeros => format!("{whole}.{}", "0".repeat(zeros)),
    };
    Ok(match number {
        Number::Int(value) => {
            // The power is converted as the processor does: to the least integer if it is too
            // great.
            let power = 10_i32.checked_pow(picture.shift as u32).filter(|_| picture.shift < 10);
            (with_zeros(value.wrapping_mul(power.unwrap_or(i32::MIN)).to_string()), fraction)
        }
        Number::BigInt(value) => {
            let power = POWERS_OF_TEN.get(picture.shift).copied();
            let power = power.and_then(|power| i64::try_from(power).ok());
            let shifted = power.and_then(|power| value.checked_mul(power));
            let out_of_range = || TemplateError::new(b"22003", "bigint out of range");
            (with_zeros(shifted.ok_or_else(out_of_range)?.to_string()), fraction)
        }
        Number::Numeric(value) => (of_numeric(value, picture.shift, fraction), fraction),
        Number::Real(value) => {
            let power = 10_f64.powf(picture.shift as f64) as f32;
            let value = if picture.is_shifted { value * power } else { value };
            of_float(value.into(), fraction, f32::DIGITS)
        }
        Number::Double(value) => {
            let power = 10_f64.powf(picture.shift as f64);
            let value = if picture.is_shifted { value * power } else { value };
            of_float(value, fraction, f64::DIGITS)
        }
    })
}

fn of_numeric(value: Decimal, shift: usize, fraction: usize) -> String {
    let scale = usize::from(value.scale());
    let is_negative = value.units() < 0;
    let units = value.units().unsigned_abs();
    // Digits behind those that are wanted, or zeros that are wanted behind the digits.
    let wanted = shift + fraction;
    let units = rounded(units, scale.saturating_sub(wanted));
    let zeros = "0".repeat(wanted.saturating_sub(scale));
    let digits = match units {
        0 => zeros,
        units => format!("{units}{zeros}"),
    };
    // As many as there are behind the point, and one. A width is no way: it has 16 bits.
    let missing = "0".repeat((fraction + 1).saturating_sub(digits.len()));
    let digits = missing + &digits;
    let (whole, behind) = digits.split_at(digits.len() - fraction);
    let whole = match whole.trim_start_matches('0') {
        "" => "0",
        whole => whole,
    };
    let sign = if is_negative && units != 0 { "-" } else { "" };
    let point = if fraction > 0 { "." } else { "" };
    format!("{sign}{whole}{point}{behind}")
}

/// Without its last digits; half away from zero.
fn rounded(units: u128, digits: usize) -> u128 {
    let power = POWERS_OF_TEN.get(digits).map_or(0, |power| power.unsigned_abs());
    if power == 0 {
        return 0;
    }
    units / power + u128::from(units % power >= power.div_ceil(2))
}

/// As many digits as a float holds, of those that are wanted.
fn of_float(value: f64, fraction: usize, digits_max: u32) -> (String, usize) {
    let digits_max = digits_max as usize;
    let whole = fixed(value.abs(), 0).len();
    let fraction = fraction.min(digits_max.saturating_sub(whole));
    (fixed(value, fraction), fraction)
}

fn fixed(value: f64, fraction: usize) -> String {
    if value.is_nan() {
        "NaN".to_owned()
    } else if value.is_infinite() {
        if value > 0.0 { "Infinity".to_owned() } else { "-Infinity".to_owned() }
    } else {
        format!("{value:.fraction$}")
    }
}

/// A digit, those behind the point, and the exponent. A positive number has a blank before it.
fn with_exponent(number: Number, picture: &Picture) -> String {
    let fraction = picture.fraction;
    let of_float = |value: f64| match value.is_finite() {
        true => float_with_exponent(value, fraction),
        // A blank for the sign, and four for the exponent.
        false => format!(" {}", overflow(picture.whole, fraction, "####")),
    };
    let text = match number {
        Number::Int(value) => of_float(value.into()),
        Number::Real(value) => of_float(value.into()),
        Number::Double(value) => of_float(value),
        Number::BigInt(value) => numeric_with_exponent(Decimal::from(value), fraction),
        Number::Numeric(value) => numeric_with_exponent(value, fraction),
    };
    if text.starts_with(['-', ' ']) { text } else { format!(" {text}") }
}

fn float_with_exponent(value: f64, fraction: usize) -> String {
    let precision = fraction.min(PRECISION_MAX);
    let text = format!("{value:.precision$e}");
    let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let zeros = "0".repeat(fraction - precision);
    format!("{digits}{zeros}{}", exponent_text(exponent.parse().unwrap_or(0)))
}

/// PostgreSQL finds the exponent before it rounds: 9.99 with one digit is 10.0e+00.
fn numeric_with_exponent(value: Decimal, fraction: usize) -> String {
    let units = value.units().unsigned_abs();
    let count = units.checked_ilog10().unwrap_or(0) as usize; // digits behind the first
    let exponent = match units {
        0 => 0,
        _ => count as i64 - i64::from(value.scale()),
    };
    let units = rounded(units, count.saturating_sub(fraction));
    let zeros = "0".repeat(fraction.saturating_sub(count));
    let least = fraction.min(count) + 1;
    let digits = format!("{units:0>least$}{zeros}");
    let (whole, behind) = digits.split_at(digits.len() - fraction);
    let sign = if value.units() < 0 { "-" } else { "" };
    let point = if fraction > 0 { "." } else { "" };
    format!("{sign}{whole}{point}{behind}{}", exponent_text(exponent))
}

fn exponent_text(exponent: i64) -> String {
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("e{sign}{:02}", exponent.unsigned_abs())
}

/// The number that is shown as a Roman one.
fn to_i32(number: Number) -> Result<i32, TemplateError> {
    let out_of_range = || TemplateError::new(b"22003", "integer out of range");
    // A float beyond 32 bits is none that can be shown, however it is converted.
    let of_float = |value: f64| value.round_ties_even() as i32;
    match number {
        Number::Int(value) => Ok(value),
        Number::BigInt(value) => i32::try_from(value).map_err(|_| out_of_range()),
        Number::Numeric(value) => {
            let whole = value.with_scale(0).and_then(|whole| i32::try_from(whole.units()).ok());
            whole.ok_or_else(out_of_range)
        }
        Number::Real(value) => Ok(of_float(value.into())),
        Number::Double(value) => Ok(of_float(value)),
    }
}

fn roman(number: i32) -> String {
    const NUMERALS: [(i32, &str); 13] = [
        (1_000, "M"),
        (900, "CM"),
        (500, "D"),
        (400, "CD"),
        (100, "C"),
        (90, "XC"),
        (50, "L"),
        (40, "XL"),
        (10, "X"),
        (9, "IX"),
        (5, "V"),
        (4, "IV"),
        (1, "I"),
    ];
    if !(1..=3_999).contains(&number) {
        return "#".repeat(ROMAN_WIDTH);
    }
    let (mut left, mut text) = (number, String::new());
    for (value, numeral) in NUMERALS {
        while left >= value {
            text.push_str(numeral);
            left -= value;
        }
    }
    text
}
