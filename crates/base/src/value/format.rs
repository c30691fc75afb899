//! Values as PostgreSQL's text.

use super::{Value, array, composite};
use crate::conventions::{BytesStyle, Conventions, Style};
use crate::temporal::{
    write_date, write_interval, write_time, write_timestamp, write_timestamp_tz,
};
use std::fmt::{self, Write};

impl fmt::Display for Value {
    /// The text form that PostgreSQL sends; NULL, which it sends without text, as `NULL`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Null => f.write_str("NULL"),
            Self::Bool(value) => f.write_str(if *value { "t" } else { "f" }),
            Self::SmallInt(value) => write!(f, "{value}"),
            Self::Int(value) => write!(f, "{value}"),
            Self::BigInt(value) => write!(f, "{value}"),
            Self::Real(value) => match style().float_digits {
                1.. => write_float(&format!("{value:e}"), REAL_DIGITS, f),
                more => write_digits((*value).into(), REAL_DIGITS + i32::from(more), f),
            },
            Self::Double(value) => match style().float_digits {
                1.. => write_float(&format!("{value:e}"), DOUBLE_DIGITS, f),
                more => write_digits(*value, DOUBLE_DIGITS + i32::from(more), f),
            },
            Self::Numeric(value) => write!(f, "{value}"),
            Self::AnyNumeric(value) => write!(f, "{value}"),
            Self::Text(text) | Self::CiText(text) | Self::Json(text) | Self::Jsonb(text) => {
                f.write_str(text)
            }
            Self::Bytea(bytes) => write_bytes(bytes, style().bytes, f),
            Self::Timestamp(micros) => write_timestamp(*micros, style(), f),
            Self::TimestampTz(micros) => write_timestamp_tz(*micros, Conventions::current(), f),
            Self::Date(days) => write_date(*days, style(), f),
            Self::Time(micros) => write_time(*micros, f),
            Self::Interval(value) => write_interval(*value, style().intervals, f),
            Self::Uuid(bytes) => write_uuid(*bytes, f),
            Self::Range(range) => write!(f, "{range}"),
            Self::Encoded(value) => write!(f, "{value}"),
            Self::Enum(of, place) => f.write_str(of.label(*place)),
            Self::Composite(_, fields) => composite::write_composite(fields, f),
            Self::Array(elements) => array::write_array(&self.shape(), elements, f),
            Self::Shaped(shape, elements) => array::write_array(shape, elements, f),
        }
    }
}

/// Digits that a text of 32 bits always has exactly.
const REAL_DIGITS: i32 = 6;
/// Digits that a text of 64 bits always has exactly.
const DOUBLE_DIGITS: i32 = 15;

fn style() -> Style {
    Conventions::current().style
}

/// Writes `\x6100`, or `a\000`: what is no printed character in octal.
fn write_bytes(bytes: &[u8], style: BytesStyle, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    if style == BytesStyle::Hex {
        f.write_str("\\x")?;
        return bytes.iter().try_for_each(|byte| write!(f, "{byte:02x}"));
    }
    bytes.iter().try_for_each(|byte| match byte {
        b'\\' => f.write_str("\\\\"),
        b' '..=b'~' => f.write_char(char::from(*byte)),
        _ => write!(f, "\\{byte:03o}"),
    })
}

/// Writes a float rounded to so many digits, as `%g` of C.
fn write_digits(value: f64, digits: i32, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let digits = digits.max(1);
    let text = format!("{value:.*e}", digits as usize - 1);
    let Some((mantissa, exponent)) = text.split_once('e') else {
        return write_float(&text, digits, f);
    };
    let mantissa = match mantissa.contains('.') {
        true => mantissa.trim_end_matches('0').trim_end_matches('.'),
        false => mantissa,
    };
    write_float(&format!("{mantissa}e{exponent}"), digits, f)
}

fn write_uuid(bytes: [u8; 16], f: &mut fmt::Formatter<'_>) -> fmt::Result {
    for (i, byte) in bytes.iter().enumerate() {
        let hyphen = if matches!(i, 4 | 6 | 8 | 10) { "-" } else { "" };
        write!(f, "{hyphen}{byte:02x}")?;
    }
    Ok(())
}

/// Writes a float given in shortest scientific form, as `1.5e-7`: with a point while the exponent
/// is in `-4..digits`, else as `1.5e-07`.
fn write_float(text: &str, digits: i32, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let (sign, magnitude) = match text.strip_prefix('-') {
        Some(magnitude) => ("-", magnitude),
        None => ("", text),
    };
    let Some((mantissa, exponent)) = magnitude.split_once('e') else {
        let word = if magnitude == "inf" { "Infinity" } else { magnitude };
        return write!(f, "{sign}{word}");
    };
    let exponent: i32 = exponent.parse().map_err(|_| fmt::Error)?;
    if !(-4..digits).contains(&exponent) {
        let direction = if exponent < 0 { '-' } else { '+' };
        return write!(f, "{sign}{mantissa}e{direction}{:02}", exponent.unsigned_abs());
    }
    let significant = mantissa.replace('.', "");
    f.write_str(sign)?;
    match usize::try_from(exponent) {
        Ok(exponent) if significant.len() > exponent + 1 => {
            write!(f, "{}.{}", &significant[..=exponent], &significant[exponent + 1..])
        }
        Ok(exponent) => write!(f, "{significant:0<width$}", width = exponent + 1),
        Err(_) => {
            let zeros = "0".repeat(exponent.unsigned_abs() as usize - 1);
            write!(f, "0.{zeros}{significant}")
        }
    }
}
