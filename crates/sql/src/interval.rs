//! Interval literals: a fixed number of microseconds. Months and years have no fixed length and
//! are refused.

use hotrow_base::types::DataType;
use hotrow_base::value::Value;
use hotrow_transaction::program::{Expr, Place};
use sqlparser::ast;

use crate::error::{Advice, Result, error, unsupported};
use crate::typing::constant;

const UNITS: &[(&str, i64)] = &[
    ("microsecond", 1),
    ("us", 1),
    ("millisecond", 1_000),
    ("ms", 1_000),
    ("second", 1_000_000),
    ("sec", 1_000_000),
    ("s", 1_000_000),
    ("minute", 60_000_000),
    ("min", 60_000_000),
    ("m", 60_000_000),
    ("hour", 3_600_000_000),
    ("hr", 3_600_000_000),
    ("h", 3_600_000_000),
    ("day", 86_400_000_000),
    ("d", 86_400_000_000),
    ("week", 604_800_000_000),
    ("w", 604_800_000_000),
];

/// `INTERVAL '2 hours'`, `INTERVAL '2' HOUR`.
pub(crate) fn literal(literal: &ast::Interval, place: Place) -> Result<Expr> {
    let ast::Expr::Value(value) = &*literal.value else {
        return Err(unsupported(
            place,
            "an interval that is not a literal",
            "multiply: n * interval '1 day'",
        ));
    };
    let text = match &value.value {
        ast::Value::SingleQuotedString(text) | ast::Value::Number(text, _) => text.clone(),
        _ => return Err(error(b"22007", place, "invalid input syntax for type interval")),
    };
    match &literal.leading_field {
        None => parse(&text, place),
        Some(field) => parse(&format!("{text} {}", field.to_string().to_lowercase()), place),
    }
}

/// `'1 day 02:30:00'`, `'90 minutes'`, `'-1.5 hours'`: microseconds as bigint.
pub(crate) fn parse(text: &str, place: Place) -> Result<Expr> {
    let invalid = || {
        error(b"22007", place, format!("invalid input syntax for type interval: \"{text}\""))
            .hint("write for example '2 days', '90 minutes' or '01:30:00'")
    };
    let mut total: i64 = 0;
    let mut words = text.split_whitespace().peekable();
    if words.peek().is_none() {
        return Err(invalid());
    }
    while let Some(word) = words.next() {
        let micros = if word.contains(':') {
            clock(word).ok_or_else(invalid)?
        } else {
            let split = word.find(|c: char| c.is_ascii_alphabetic()).unwrap_or(word.len());
            let (amount, glued) = word.split_at(split);
            let unit = match glued {
                "" => words.next().ok_or_else(invalid)?,
                unit => unit,
            };
            let unit = unit.to_ascii_lowercase();
            let unit = unit.trim_end_matches(',');
            if unit.starts_with("mon") || unit.starts_with("year") || unit.starts_with('y') {
                return Err(unsupported(
                    place,
                    "an interval of months or years",
                    "months differ in length: write days",
                ));
            }
            let singular = if unit.len() > 2 { unit.trim_end_matches('s') } else { unit };
            let per = UNITS
                .iter()
                .find(|(name, _)| *name == unit || *name == singular)
                .ok_or_else(invalid)?
                .1;
            scaled(amount, per).ok_or_else(invalid)?
        };
        total = total.checked_add(micros).ok_or_else(invalid)?;
    }
    Ok(constant(Value::BigInt(total), DataType::BigInt))
}

/// `[-]hours:minutes[:seconds]` in microseconds.
fn clock(text: &str) -> Option<i64> {
    let (negative, digits) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text),
    };
    let mut micros: i64 = 0;
    let mut per: i64 = 3_600_000_000;
    let mut parts = 0;
    for part in digits.split(':') {
        parts += 1;
        if parts > 3 || part.starts_with('-') {
            return None;
        }
        micros = micros.checked_add(scaled(part, per)?)?;
        per /= 60;
    }
    Some(if negative { -micros } else { micros })
}

/// A decimal amount of units.
fn scaled(amount: &str, per: i64) -> Option<i64> {
    let (negative, digits) = match amount.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, amount.strip_prefix('+').unwrap_or(amount)),
    };
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    if whole.is_empty() && fraction.is_empty() || fraction.len() > 12 {
        return None;
    }
    if !digits.chars().all(|c| c.is_ascii_digit() || c == '.') {
        return None;
    }
    let whole: i64 = if whole.is_empty() { 0 } else { whole.parse().ok()? };
    let mut micros = i128::from(whole) * i128::from(per);
    if !fraction.is_empty() {
        let units: i128 = fraction.parse().ok()?;
        micros += units * i128::from(per) / 10_i128.pow(fraction.len() as u32);
    }
    let micros = i64::try_from(micros).ok()?;
    Some(if negative { -micros } else { micros })
}
