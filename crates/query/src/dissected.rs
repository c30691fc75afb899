//! Functions that take texts apart: names, sizes, escapes, parts; and buckets of numbers.
//!
//! Source       PostgreSQL's documentation, sections "String Functions" and "Mathematical
//!              Functions"

use std::cmp::Ordering;

use hotrow_base::any_numeric::AnyNumeric;
use hotrow_base::interrupt::current;
use hotrow_base::memory::Charge;
use hotrow_base::value::Value;
use hotrow_transaction::outcome::SqlError;

use crate::Row;
use crate::host::{integer, text};
use crate::order::compare;

/// A function of values that stands beside programs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DissectedFunction {
    /// parse_ident(text [, strict])
    Name,
    /// unistr(text)
    Unescaped,
    /// pg_size_bytes(text)
    Bytes,
    /// width_bucket(value, low, high, count)
    Bucket,
    /// width_bucket(value, thresholds)
    Threshold,
}

/// A function's value; NULL where an argument is NULL.
pub(crate) fn value(
    function: DissectedFunction,
    arguments: &[Value],
) -> Result<Option<Value>, SqlError> {
    use DissectedFunction as F;
    if arguments.iter().any(Value::is_null) {
        return Ok(None);
    }
    match (function, arguments) {
        (F::Name, [name, rest @ ..]) => {
            let Some(name) = text(name) else { return Ok(None) };
            let strict = !matches!(rest.first(), Some(Value::Bool(false)));
            let mut charge = current::charge();
            charge.add(2 * name.len() + name.len() * size_of::<Value>())?;
            let parts = name_parts(name, strict)?;
            Ok(Some(Value::Array(parts.into_iter().map(Value::Text).collect())))
        }
        (F::Unescaped, [escaped]) => match text(escaped) {
            Some(escaped) => {
                let mut charge = current::charge();
                charge.add(escaped.len())?;
                unescaped(escaped).map(|plain| Some(Value::Text(plain)))
            }
            None => Ok(None),
        },
        (F::Bytes, [size]) => match text(size) {
            Some(size) => bytes_of_size(size).map(|bytes| Some(Value::BigInt(bytes))),
            None => Ok(None),
        },
        (F::Bucket, [value, low, high, count]) => {
            let count = integer(count).unwrap_or_default();
            bucket(value, low, high, count).map(|bucket| Some(Value::Int(bucket)))
        }
        (F::Threshold, [_, Value::Shaped(shape, _)]) if shape.dimensions().len() > 1 => {
            Err(SqlError::new(b"2202E", "thresholds must be one-dimensional array"))
        }
        (F::Threshold, [value, Value::Array(thresholds) | Value::Shaped(_, thresholds)]) => {
            if thresholds.iter().any(Value::is_null) {
                return Err(SqlError::new(b"22004", "thresholds array must not contain NULLs"));
            }
            let below = thresholds.partition_point(|threshold| compare(threshold, value).is_le());
            Ok(Some(Value::Int(below as i32)))
        }
        _ => Ok(None),
    }
}

/// The parts of `a."B".c`, folded as names are.
fn name_parts(whole: &str, strict: bool) -> Result<Vec<String>, SqlError> {
    let refused = |detail: Option<String>| {
        let message = format!("string is not a valid identifier: \"{whole}\"");
        SqlError { detail, ..SqlError::new(b"22023", message) }
    };
    let blank = |c: char| matches!(c, ' ' | '\t' | '\n' | '\r' | '\u{b}' | '\u{c}');
    let begins = |c: char| c.is_ascii_alphabetic() || c == '_' || !c.is_ascii();
    let mut parts = Vec::new();
    let mut rest = whole.trim_start_matches(blank);
    let mut is_behind_dot = false;
    loop {
        if let Some(quoted) = rest.strip_prefix('"') {
            let mut part = String::new();
            let mut inner = quoted;
            loop {
                let Some((before, behind)) = inner.split_once('"') else {
                    return Err(refused(Some("String has unclosed double quotes.".to_owned())));
                };
                part.push_str(before);
                match behind.strip_prefix('"') {
                    Some(more) => {
                        part.push('"');
                        inner = more;
                    }
                    None => {
                        rest = behind;
                        break;
                    }
                }
            }
            if part.is_empty() {
                return Err(refused(Some("Quoted identifier must not be empty.".to_owned())));
            }
            parts.push(part);
        } else if rest.starts_with(begins) {
            let end = rest.find(|c: char| !begins(c) && !c.is_ascii_digit() && c != '$');
            let (part, behind) = rest.split_at(end.unwrap_or(rest.len()));
            parts.push(part.to_ascii_lowercase());
            rest = behind;
        } else {
            let detail = match (rest.chars().next(), is_behind_dot) {
                (Some('.'), _) => Some("No valid identifier before \".\".".to_owned()),
                (_, true) => Some("No valid identifier after \".\".".to_owned()),
                _ => None,
            };
            return Err(refused(detail));
        }
        rest = rest.trim_start_matches(blank);
        match rest.strip_prefix('.') {
            Some(behind) => {
                rest = behind.trim_start_matches(blank);
                is_behind_dot = true;
            }
            None if rest.is_empty() || !strict => return Ok(parts),
            None => return Err(refused(None)),
        }
    }
}

/// A text with `\XXXX`, `\+XXXXXX`, `\uXXXX` and `\UXXXXXXXX` as the characters that they are.
fn unescaped(escaped: &str) -> Result<String, SqlError> {
    let mut plain = String::with_capacity(escaped.len());
    let mut rest = escaped;
    // The first half of a character of two.
    let mut half: Option<u32> = None;
    let no_pair = || SqlError::new(b"42601", "invalid Unicode surrogate pair");
    while let Some(at) = rest.find('\\') {
        let (before, behind) = (&rest[..at], &rest[at + 1..]);
        if half.is_some() && !before.is_empty() {
            return Err(no_pair());
        }
        plain.push_str(before);
        if let Some(behind) = behind.strip_prefix('\\') {
            if half.is_some() {
                return Err(no_pair());
            }
            plain.push('\\');
            rest = behind;
            continue;
        }
        let (mark, digits) = match behind.as_bytes().first() {
            Some(b'+') => (1, 6),
            Some(b'u') => (1, 4),
            Some(b'U') => (1, 8),
            _ => (0, 4),
        };
        let written = behind.get(mark..mark + digits);
        let written = written.filter(|text| text.bytes().all(|byte| byte.is_ascii_hexdigit()));
        let code =
            written.and_then(|text| u32::from_str_radix(text, 16).ok()).ok_or_else(|| {
                let hint = "Unicode escapes must be \\XXXX, \\+XXXXXX, \\uXXXX, or \\UXXXXXXXX."
                    .to_owned();
                let error = SqlError::new(b"42601", "invalid Unicode escape");
                SqlError { hint: Some(hint), ..error }
            })?;
        rest = &behind[mark + digits..];
        let code = match (half.take(), code) {
            (None, 0xD800..=0xDBFF) => {
                half = Some(code);
                continue;
            }
            (Some(first), 0xDC00..=0xDFFF) => 0x10000 + ((first - 0xD800) << 10) + (code - 0xDC00),
            (Some(_), _) | (None, 0xDC00..=0xDFFF) => return Err(no_pair()),
            (None, code) => code,
        };
        let character = char::from_u32(code).filter(|c| *c != '\0').ok_or_else(|| {
            SqlError::new(b"22023", format!("invalid Unicode code point: {code:04X}"))
        })?;
        plain.push(character);
    }
    if half.is_some() {
        return Err(no_pair());
    }
    plain.push_str(rest);
    Ok(plain)
}

/// `1.5 MB` as a number of bytes.
fn bytes_of_size(size: &str) -> Result<i64, SqlError> {
    const UNITS: [(&str, u32); 6] =
        [("bytes", 0), ("kb", 10), ("mb", 20), ("gb", 30), ("tb", 40), ("pb", 50)];
    let refused = |detail: Option<String>| {
        let error = SqlError::new(b"22023", format!("invalid size: \"{size}\""));
        SqlError { detail, ..error }
    };
    let trimmed = size.trim_ascii();
    let bytes = trimmed.as_bytes();
    let digits = |from: usize| bytes[from..].iter().take_while(|b| b.is_ascii_digit()).count();
    let mut end = usize::from(matches!(bytes.first(), Some(b'+' | b'-')));
    let whole = digits(end);
    end += whole;
    let mut fraction = 0;
    if bytes.get(end) == Some(&b'.') {
        fraction = digits(end + 1);
        end += 1 + fraction;
    }
    if whole + fraction == 0 {
        return Err(refused(None));
    }
    if let Some(b'e' | b'E') = bytes.get(end) {
        let sign = usize::from(matches!(bytes.get(end + 1), Some(b'+' | b'-')));
        let exponent = digits((end + 1 + sign).min(bytes.len()));
        if exponent > 0 {
            end += 1 + sign + exponent;
        }
    }
    let (number, unit) = trimmed.split_at(end);
    let unit = unit.trim_ascii();
    let known = UNITS.iter().find(|(name, _)| name.eq_ignore_ascii_case(unit));
    let shift = match (unit, known) {
        ("", _) => 0,
        (_, Some((_, shift))) => *shift,
        (unit, None) => {
            let detail = format!("Invalid size unit: \"{unit}\".");
            let hint =
                "Valid units are \"bytes\", \"kB\", \"MB\", \"GB\", \"TB\", and \"PB\".".to_owned();
            return Err(SqlError { hint: Some(hint), ..refused(Some(detail)) });
        }
    };
    let too_large = || SqlError::new(b"22003", "bigint out of range");
    let number: AnyNumeric = number.parse().map_err(|_| refused(None))?;
    let bytes = number.multiply(&AnyNumeric::from(1_i64 << shift)).map_err(|_| too_large())?;
    let whole = bytes.rounded(0).map_err(|_| too_large())?;
    whole.to_i64().ok_or_else(too_large)
}

/// Which of so many buckets of one width between two ends a value is in; 0 and one more than there
/// are for those outside.
fn bucket(value: &Value, low: &Value, high: &Value, count: i64) -> Result<i32, SqlError> {
    let refused = |message: &str| Err(SqlError::new(b"2201G", message));
    if count <= 0 {
        return refused("count must be greater than zero");
    }
    let float = |value: &Value| match value {
        Value::Double(value) => Some(*value),
        _ => None,
    };
    let numeric = |value: &Value| value.to_any_numeric().unwrap_or(AnyNumeric::NaN);
    let is_nan = |value: &Value| match value {
        Value::Double(value) => value.is_nan(),
        value => numeric(value) == AnyNumeric::NaN,
    };
    let is_finite = |value: &Value| match value {
        Value::Double(value) => value.is_finite(),
        value => numeric(value).is_finite(),
    };
    if [value, low, high].into_iter().any(is_nan) {
        return refused("operand, lower bound, and upper bound cannot be NaN");
    }
    if !is_finite(low) || !is_finite(high) {
        return refused("lower and upper bounds must be finite");
    }
    let upwards = match compare(low, high) {
        Ordering::Equal => return refused("lower bound cannot equal upper bound"),
        ordering => ordering.is_lt(),
    };
    let before = compare(value, low);
    let beyond = compare(value, high);
    let (is_before, is_beyond) = match upwards {
        true => (before.is_lt(), beyond.is_ge()),
        false => (before.is_gt(), beyond.is_le()),
    };
    let within = if is_before {
        -1
    } else if is_beyond {
        count
    } else {
        let at = match (float(value), float(low), float(high)) {
            (Some(value), Some(low), Some(high)) => {
                let share = match (high - low).is_finite() {
                    true => (value - low) / (high - low),
                    false => (value / 2.0 - low / 2.0) / (high / 2.0 - low / 2.0),
                };
                (count as f64 * share) as i64
            }
            _ => share_of(&numeric(value), &numeric(low), &numeric(high), count)?,
        };
        at.min(count - 1)
    };
    i32::try_from(within + 1).map_err(|_| SqlError::new(b"22003", "integer out of range"))
}

fn share_of(
    value: &AnyNumeric,
    low: &AnyNumeric,
    high: &AnyNumeric,
    count: i64,
) -> Result<i64, SqlError> {
    let overflow = |_| SqlError::new(b"22003", "value overflows numeric format");
    let into = value.subtract(low).map_err(overflow)?;
    let into = into.multiply(&AnyNumeric::from(count)).map_err(overflow)?;
    let width = high.subtract(low).map_err(overflow)?;
    let at = into.divide_whole(&width).map_err(overflow)?;
    Ok(at.to_i64().unwrap_or_default())
}

/// string_to_table(text, separator [, null]): the parts, one row each.
pub(crate) fn parts(arguments: &[Value]) -> Result<(Vec<Row>, Charge), SqlError> {
    let mut charge = current::charge();
    let [Value::Text(whole), separator, rest @ ..] = arguments else {
        return Ok((Vec::new(), charge));
    };
    let null = rest.first().and_then(text);
    let mut rows = Vec::new();
    let mut add = |part: &str| -> Result<(), SqlError> {
        charge.add(part.len() + size_of::<Row>() + 2 * size_of::<Value>())?;
        let is_null = null == Some(part);
        rows.push(vec![if is_null { Value::Null } else { Value::Text(part.to_owned()) }]);
        Ok(())
    };
    match separator {
        _ if whole.is_empty() => {}
        Value::Text(separator) if separator.is_empty() => add(whole)?,
        Value::Text(separator) => whole.split(separator.as_str()).try_for_each(&mut add)?,
        _ => {
            let mut bytes = [0; 4];
            whole.chars().try_for_each(|c| add(c.encode_utf8(&mut bytes)))?;
        }
    }
    Ok((rows, charge))
}
