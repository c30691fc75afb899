//! Values from text, as PostgreSQL's input functions read it.

use super::{Value, ValueError, cast};
use crate::any_numeric::AnyNumeric;
use crate::conventions::{Conventions, Style};
use crate::decimal::{Decimal, DecimalError, parse_units};
use crate::json;
use crate::range::Range;
use crate::temporal::{
    TemporalError, parse_date, parse_interval, parse_time, parse_timestamp, parse_timestamp_tz,
    rounded_time,
};
use crate::types::DataType;
use std::num::IntErrorKind;
use std::str::FromStr;

impl Value {
    /// The value of a text as a literal of `data_type`.
    pub fn parse(data_type: DataType, text: &str) -> Result<Self, ValueError> {
        let bare = text.trim_ascii();
        let temporal = |error| temporal_error(data_type, text, error);
        match data_type {
            DataType::Boolean => parse_bool(bare).map(Self::Bool),
            DataType::SmallInt => parse_int(data_type, bare).map(Self::SmallInt),
            DataType::Integer => parse_int(data_type, bare).map(Self::Int),
            DataType::BigInt => parse_int(data_type, bare).map(Self::BigInt),
            DataType::Oid => parse_oid(bare).map(Self::BigInt),
            DataType::Real => parse_real(bare).map(Self::Real),
            DataType::Double => parse_double(bare).map(Self::Double),
            DataType::Numeric { precision, scale } => {
                parse_numeric(bare, precision, scale).map(Self::Numeric)
            }
            DataType::AnyNumeric => parse_any_numeric(bare).map(Self::from),
            DataType::WideNumeric { precision, scale } => parse_any_numeric(bare)?
                .fitted(precision, scale)
                .map(Self::from)
                .ok_or_else(|| ValueError::out_of_range(data_type)),
            DataType::Text
            | DataType::Varchar(_)
            | DataType::Char(_)
            | DataType::CatalogChar
            | DataType::RefCursor
            | DataType::Any(_)
            | DataType::Name => cast::stored_text(data_type, text).map(Self::Text),
            DataType::CiText => cast::stored_text(data_type, text).map(Self::CiText),
            DataType::Bytea => parse_bytea(text).map(Self::Bytea),
            DataType::Timestamp(digits) => parse_timestamp(bare, style().order)
                .map_err(temporal)
                .and_then(|micros| cast::in_digits(micros, digits, data_type))
                .map(Self::Timestamp),
            DataType::TimestampTz(digits) => parse_timestamp_tz(bare, Conventions::current())
                .map_err(temporal)
                .and_then(|micros| cast::in_digits(micros, digits, data_type))
                .map(Self::TimestampTz),
            DataType::Date => parse_date(bare, style().order).map(Self::Date).map_err(temporal),
            DataType::Time(digits) => parse_time(bare, style().order)
                .map(|time| Self::Time(rounded_time(time, digits)))
                .map_err(temporal),
            DataType::Interval => {
                parse_interval(bare, style().intervals).map(Self::Interval).map_err(temporal)
            }
            DataType::Uuid => parse_uuid(bare).map(Self::Uuid),
            DataType::Json => json::check(text).map(|()| Self::Json(text.to_owned())),
            DataType::Jsonb => json::normal(text).map(Self::Jsonb),
            DataType::Range(kind) => Range::parse(kind, text).map(Self::from),
            DataType::Encoded(of) => of.parse(text).map(Self::from),
            DataType::Composite(of) => Self::parse_composite(of, text),
            DataType::Array(element) => Self::parse_array(*element, text),
            // Blanks count, as in PostgreSQL.
            DataType::Enum(of) => of
                .place(text)
                .map(|place| Self::Enum(of, place))
                .ok_or_else(|| ValueError::syntax(data_type, text)),
        }
    }
}

fn style() -> Style {
    Conventions::current().style
}

fn parse_bool(text: &str) -> Result<bool, ValueError> {
    let word = text.to_ascii_lowercase();
    // Any prefix that tells one word from the others; `o` alone does not.
    let is = |full: &str, least: usize| word.len() >= least && full.starts_with(&word);
    match () {
        () if is("true", 1) || is("yes", 1) || is("on", 2) || word == "1" => Ok(true),
        () if is("false", 1) || is("no", 1) || is("off", 2) || word == "0" => Ok(false),
        () => Err(ValueError::syntax(DataType::Boolean, text)),
    }
}

fn parse_int<T>(data_type: DataType, text: &str) -> Result<T, ValueError>
where
    T: FromStr<Err = std::num::ParseIntError>,
{
    text.parse().map_err(|error: std::num::ParseIntError| match error.kind() {
        IntErrorKind::PosOverflow | IntErrorKind::NegOverflow => {
            ValueError::text_out_of_range(data_type, text)
        }
        _ => ValueError::syntax(data_type, text),
    })
}

/// A negative number is what its 32 bits are without a sign, as PostgreSQL reads it.
fn parse_oid(text: &str) -> Result<i64, ValueError> {
    let number: i64 = parse_int(DataType::Oid, text)?;
    match (u32::try_from(number), i32::try_from(number)) {
        (Ok(oid), _) => Ok(oid.into()),
        (_, Ok(signed)) => Ok((signed as u32).into()),
        _ => Err(ValueError::text_out_of_range(DataType::Oid, text)),
    }
}

fn parse_double(text: &str) -> Result<f64, ValueError> {
    let value: f64 = text.parse().map_err(|_| ValueError::syntax(DataType::Double, text))?;
    if is_lost(value.is_infinite(), value == 0.0, text) {
        return Err(ValueError::text_out_of_range(DataType::Double, text));
    }
    Ok(value)
}

fn parse_real(text: &str) -> Result<f32, ValueError> {
    let value: f32 = text.parse().map_err(|_| ValueError::syntax(DataType::Real, text))?;
    if is_lost(value.is_infinite(), value == 0.0, text) {
        return Err(ValueError::text_out_of_range(DataType::Real, text));
    }
    Ok(value)
}

/// Whether digits became infinite, or digits other than 0 became zero.
fn is_lost(is_infinite: bool, is_zero: bool, text: &str) -> bool {
    let mantissa = text.split(['e', 'E']).next().unwrap_or(text);
    is_infinite && text.contains(|c: char| c.is_ascii_digit())
        || is_zero && mantissa.contains(|c: char| matches!(c, '1'..='9'))
}

fn parse_numeric(text: &str, precision: u8, scale: u8) -> Result<Decimal, ValueError> {
    let data_type = DataType::Numeric { precision, scale };
    let word = text.trim_start_matches(['+', '-']);
    if ["nan", "inf", "infinity"].iter().any(|name| word.eq_ignore_ascii_case(name)) {
        return Err(ValueError::unsupported(data_type, text));
    }
    let units = parse_units(text, scale).map_err(|error| match error {
        DecimalError::Syntax => ValueError::syntax(data_type, text),
        DecimalError::OutOfRange => ValueError::out_of_range(data_type),
    })?;
    cast::in_precision(units, precision)
        .and_then(|units| Decimal::new(units, scale))
        .ok_or_else(|| ValueError::out_of_range(data_type))
}

fn parse_any_numeric(text: &str) -> Result<AnyNumeric, ValueError> {
    text.parse::<AnyNumeric>().map_err(|error| match error {
        DecimalError::Syntax => ValueError::syntax(DataType::AnyNumeric, text),
        DecimalError::OutOfRange => ValueError::out_of_range(DataType::AnyNumeric),
    })
}

pub(super) fn temporal_error(data_type: DataType, text: &str, error: TemporalError) -> ValueError {
    match error {
        TemporalError::Syntax => ValueError::syntax(data_type, text),
        TemporalError::OutOfRange if data_type == DataType::Interval => {
            ValueError::interval_out_of_range(text)
        }
        TemporalError::TotalRange => ValueError::interval_total(),
        TemporalError::OutOfRange => ValueError::time_out_of_range(data_type, text),
        TemporalError::FieldRange => ValueError::field_out_of_range(text),
        TemporalError::FieldOrder => ValueError::field_order(text),
        TemporalError::ZoneRange => ValueError::zone_out_of_range(text),
        TemporalError::UnknownZone(name) => ValueError::unknown_zone(&name),
        TemporalError::Clock => ValueError::clock(data_type, text),
    }
}

/// `\x` and hexadecimal digits, blanks between bytes allowed; or plain text in which `\\` is a
/// backslash and `\ooo` a byte in octal.
fn parse_bytea(text: &str) -> Result<Vec<u8>, ValueError> {
    let parsed = match text.strip_prefix("\\x") {
        Some(digits) => parse_hex(digits),
        None => parse_escaped(text.as_bytes()),
    };
    parsed.ok_or_else(|| ValueError::syntax(DataType::Bytea, text))
}

fn parse_hex(digits: &str) -> Option<Vec<u8>> {
    digits.split_ascii_whitespace().try_fold(vec![], |mut bytes, run| {
        let (pairs, rest) = run.as_bytes().as_chunks::<2>();
        for &[high, low] in pairs {
            bytes.push(hex_digit(high)? << 4 | hex_digit(low)?);
        }
        rest.is_empty().then_some(bytes)
    })
}

fn hex_digit(byte: u8) -> Option<u8> {
    char::from(byte).to_digit(16).map(|digit| digit as u8)
}

fn parse_escaped(mut text: &[u8]) -> Option<Vec<u8>> {
    let mut bytes = vec![];
    while let Some((&first, rest)) = text.split_first() {
        text = match rest {
            _ if first != b'\\' => {
                bytes.push(first);
                rest
            }
            [b'\\', rest @ ..] => {
                bytes.push(b'\\');
                rest
            }
            [a @ b'0'..=b'3', b @ b'0'..=b'7', c @ b'0'..=b'7', rest @ ..] => {
                bytes.push((a - b'0') << 6 | (b - b'0') << 3 | (c - b'0'));
                rest
            }
            _ => return None,
        };
    }
    Some(bytes)
}

/// 32 hexadecimal digits, a hyphen allowed after each four, all in braces or not.
fn parse_uuid(text: &str) -> Result<[u8; 16], ValueError> {
    parse_uuid_digits(text).ok_or_else(|| ValueError::syntax(DataType::Uuid, text))
}

fn parse_uuid_digits(text: &str) -> Option<[u8; 16]> {
    let inner = text.strip_prefix('{').map_or(Some(text), |text| text.strip_suffix('}'))?;
    let (mut uuid, mut rest) = ([0; 16], inner.as_bytes());
    for (i, byte) in uuid.iter_mut().enumerate() {
        if let (true, [b'-', behind @ ..]) = (i > 0 && i % 2 == 0, rest) {
            rest = behind;
        }
        let (&[high, low], behind) = rest.split_first_chunk::<2>()?;
        *byte = hex_digit(high)? << 4 | hex_digit(low)?;
        rest = behind;
    }
    rest.is_empty().then_some(uuid)
}
