//! Types and values as PostgreSQL's protocol has them.
//!
//! Role         object identifiers of types; values to and from text and binary
//! Source       PostgreSQL 15, pg_type.dat and the send and recv functions of each type

use bytes::{BufMut, BytesMut};
use hotrow::{DataType, Interval, SqlError, SqlType, Value, known_type};

use crate::numeric;

/// How a value is written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Format {
    Text,
    Binary,
}

impl Format {
    /// Of a code; none for a number that is none.
    pub(crate) fn of(code: i16) -> Option<Self> {
        match code {
            0 => Some(Self::Text),
            1 => Some(Self::Binary),
            _ => None,
        }
    }

    pub(crate) fn code(self) -> i16 {
        match self {
            Self::Text => 0,
            Self::Binary => 1,
        }
    }
}

/// What the binary form of a jsonb begins with.
const JSONB_VERSION: u8 = 1;

/// The types that identifiers name. Lengths and digits are not part of a parameter's type.
const KNOWN: [DataType; 18] = [
    DataType::Boolean,
    DataType::Bytea,
    DataType::BigInt,
    DataType::SmallInt,
    DataType::Integer,
    DataType::Text,
    DataType::Real,
    DataType::Double,
    DataType::Char(0),
    DataType::Varchar(0),
    DataType::Date,
    DataType::Timestamp,
    DataType::TimestampTz,
    DataType::Numeric { precision: 38, scale: 10 },
    DataType::Interval,
    DataType::Uuid,
    DataType::Json,
    DataType::Jsonb,
];

/// The identifier of a type.
pub(crate) fn oid(sql_type: SqlType) -> u32 {
    match sql_type {
        SqlType::Scalar(data_type) => known_type(data_type).oid as u32,
        SqlType::Array(data_type) => known_type(data_type).array as u32,
    }
}

/// The bytes of a value of a type, -1 for any number.
pub(crate) fn size(sql_type: SqlType) -> i16 {
    match sql_type {
        SqlType::Scalar(data_type) => known_type(data_type).length,
        SqlType::Array(_) => -1,
    }
}

/// A type's length or digits, as RowDescription tells them.
pub(crate) fn modifier(sql_type: SqlType) -> i32 {
    let (SqlType::Scalar(data_type) | SqlType::Array(data_type)) = sql_type;
    match data_type {
        DataType::Varchar(n) | DataType::Char(n) => n as i32 + 4,
        DataType::Numeric { precision, scale } => {
            (i32::from(precision) << 16 | i32::from(scale)) + 4
        }
        _ => -1,
    }
}

/// The type of parameters that are no arguments: JDBC sends them for what a call returns.
pub(crate) const VOID: u32 = 2278;

/// Whether a client names no type: unspecified, or unknown.
pub(crate) fn is_open(oid: u32) -> bool {
    matches!(oid, 0 | 705)
}

/// The type of a parameter that a client names; none where it leaves that to us.
pub(crate) fn parameter_type(oid: u32) -> Result<Option<SqlType>, SqlError> {
    if is_open(oid) {
        return Ok(None);
    }
    // Names are texts, and what nobody reads may be one.
    if matches!(oid, 19 | VOID) {
        return Ok(Some(SqlType::Scalar(DataType::Text)));
    }
    for data_type in KNOWN {
        let of = match data_type {
            DataType::Char(_) | DataType::Varchar(_) => DataType::Text,
            other => other,
        };
        if oid == self::oid(SqlType::Scalar(data_type)) {
            return Ok(Some(SqlType::Scalar(of)));
        }
        if oid == self::oid(SqlType::Array(data_type)) {
            return Ok(Some(SqlType::Array(of)));
        }
    }
    let mut error = SqlError::new(b"42704", format!("there is no type with OID {oid}"));
    error.hint = Some("Send the parameter as text, without a type.".to_owned());
    Err(error)
}

/// Appends a value that is not NULL.
pub(crate) fn write(value: &Value, format: Format, data_type: DataType, out: &mut BytesMut) {
    if format == Format::Text {
        return out.put_slice(value.to_string().as_bytes());
    }
    match value {
        Value::Null => {}
        Value::Bool(value) => out.put_u8(u8::from(*value)),
        Value::SmallInt(value) => out.put_slice(&value.to_be_bytes()),
        Value::Int(value) | Value::Date(value) => out.put_slice(&value.to_be_bytes()),
        Value::BigInt(value) | Value::Timestamp(value) | Value::TimestampTz(value) => {
            out.put_slice(&value.to_be_bytes());
        }
        Value::Real(value) => out.put_slice(&value.to_be_bytes()),
        Value::Double(value) => out.put_slice(&value.to_be_bytes()),
        Value::Numeric(value) => numeric::write(*value, out),
        Value::Text(value) | Value::Json(value) => out.put_slice(value.as_bytes()),
        Value::Jsonb(value) => {
            out.put_u8(JSONB_VERSION);
            out.put_slice(value.as_bytes());
        }
        Value::Bytea(value) => out.put_slice(value),
        Value::Interval(value) => {
            out.put_slice(&value.micros.to_be_bytes());
            out.put_slice(&value.days.to_be_bytes());
            out.put_slice(&value.months.to_be_bytes());
        }
        Value::Uuid(value) => out.put_slice(value),
        Value::Array(elements) => write_array(elements, data_type, out),
    }
}

/// One dimension, counted from 1.
fn write_array(elements: &[Value], element: DataType, out: &mut BytesMut) {
    let has_nulls = elements.iter().any(Value::is_null);
    out.put_slice(&i32::from(!elements.is_empty()).to_be_bytes());
    out.put_slice(&i32::from(has_nulls).to_be_bytes());
    out.put_slice(&oid(SqlType::Scalar(element)).to_be_bytes());
    if elements.is_empty() {
        return;
    }
    out.put_slice(&(elements.len() as i32).to_be_bytes());
    out.put_slice(&1_i32.to_be_bytes());
    for value in elements {
        write_with_length(value, Format::Binary, element, out);
    }
}

/// Appends a value's length and the value; NULL has the length -1.
pub(crate) fn write_with_length(
    value: &Value,
    format: Format,
    data_type: DataType,
    out: &mut BytesMut,
) {
    if value.is_null() {
        return out.put_slice(&(-1_i32).to_be_bytes());
    }
    let start = out.len();
    out.put_slice(&[0; 4]);
    write(value, format, data_type, out);
    let length = (out.len() - start - 4) as i32;
    out[start..start + 4].copy_from_slice(&length.to_be_bytes());
}

/// Reads a parameter's value.
pub(crate) fn read(bytes: &[u8], format: Format, sql_type: SqlType) -> Result<Value, SqlError> {
    match (format, sql_type) {
        (Format::Text, sql_type) => {
            let text = text(bytes)?;
            let value = match sql_type {
                SqlType::Scalar(data_type) => Value::parse(data_type, text),
                SqlType::Array(element) => Value::parse_array(element, text),
            };
            Ok(value?)
        }
        (Format::Binary, SqlType::Scalar(data_type)) => read_binary(bytes, data_type),
        (Format::Binary, SqlType::Array(element)) => read_array(bytes, element),
    }
}

fn text(bytes: &[u8]) -> Result<&str, SqlError> {
    let text = std::str::from_utf8(bytes).ok().filter(|text| !text.contains('\0'));
    text.ok_or_else(|| SqlError::new(b"22021", "invalid byte sequence for encoding \"UTF8\""))
}

fn read_binary(bytes: &[u8], data_type: DataType) -> Result<Value, SqlError> {
    fn exactly<const N: usize>(bytes: &[u8]) -> Result<[u8; N], SqlError> {
        bytes.try_into().map_err(|_| incorrect())
    }
    Ok(match data_type {
        DataType::Boolean => Value::Bool(exactly::<1>(bytes)? != [0]),
        DataType::SmallInt => Value::SmallInt(i16::from_be_bytes(exactly(bytes)?)),
        DataType::Integer => Value::Int(i32::from_be_bytes(exactly(bytes)?)),
        DataType::BigInt => Value::BigInt(i64::from_be_bytes(exactly(bytes)?)),
        DataType::Real => Value::Real(f32::from_be_bytes(exactly(bytes)?)),
        DataType::Double => Value::Double(f64::from_be_bytes(exactly(bytes)?)),
        DataType::Date => Value::Date(i32::from_be_bytes(exactly(bytes)?)),
        DataType::Timestamp => Value::Timestamp(i64::from_be_bytes(exactly(bytes)?)),
        DataType::TimestampTz => Value::TimestampTz(i64::from_be_bytes(exactly(bytes)?)),
        DataType::Interval => {
            let bytes: [u8; 16] = exactly(bytes)?;
            let part = |at: usize| exactly(&bytes[at..at + 4]).map(i32::from_be_bytes);
            let micros = i64::from_be_bytes(exactly(&bytes[..8])?);
            let interval = Interval::new(part(12)?.into(), part(8)?.into(), micros);
            Value::Interval(
                interval.ok_or_else(|| SqlError::new(b"22008", "interval out of range"))?,
            )
        }
        DataType::Uuid => Value::Uuid(exactly(bytes)?),
        DataType::Bytea => Value::Bytea(bytes.to_vec()),
        DataType::Text | DataType::Varchar(_) | DataType::Char(_) => {
            Value::Text(text(bytes)?.to_owned())
        }
        DataType::Json => {
            return read(bytes, Format::Text, SqlType::Scalar(data_type));
        }
        DataType::Jsonb => match bytes.split_first() {
            Some((&JSONB_VERSION, text)) => {
                return read(text, Format::Text, SqlType::Scalar(data_type));
            }
            Some((version, _)) => {
                let message = format!("unsupported jsonb version number {version}");
                return Err(SqlError::new(b"XX000", message));
            }
            None => return Err(incorrect()),
        },
        DataType::Numeric { .. } => {
            let written = numeric::read(bytes).ok_or_else(incorrect)?;
            return read(written.as_bytes(), Format::Text, SqlType::Scalar(data_type));
        }
    })
}

fn read_array(bytes: &[u8], element: DataType) -> Result<Value, SqlError> {
    let mut rest = bytes;
    let mut int = || {
        let (taken, after) = rest.split_first_chunk::<4>().ok_or_else(incorrect)?;
        rest = after;
        Ok::<_, SqlError>(i32::from_be_bytes(*taken))
    };
    let (dimensions, _has_nulls, given) = (int()?, int()?, int()?);
    let wanted = oid(SqlType::Scalar(element));
    let is_text = element.is_text() && matches!(given, 25 | 1042 | 1043 | 705);
    if given as u32 != wanted && !is_text {
        let message = format!("the array's elements have the type with OID {given}, not {wanted}");
        return Err(SqlError::new(b"42804", message));
    }
    if dimensions == 0 {
        return Ok(Value::Array(Vec::new()));
    }
    if dimensions != 1 {
        return Err(SqlError::new(b"0A000", "arrays have one dimension"));
    }
    let (count, _first) = (int()?, int()?);
    // Each element has a length of four bytes.
    let count = usize::try_from(count).ok().filter(|count| *count <= rest.len() / 4);
    let count = count.ok_or_else(incorrect)?;
    let mut elements = Vec::with_capacity(count);
    for _ in 0..count {
        let (length, after) = rest.split_first_chunk::<4>().ok_or_else(incorrect)?;
        rest = after;
        let length = i32::from_be_bytes(*length);
        if length == -1 {
            elements.push(Value::Null);
            continue;
        }
        let length = usize::try_from(length).map_err(|_| incorrect())?;
        let (value, after) = rest.split_at_checked(length).ok_or_else(incorrect)?;
        rest = after;
        elements.push(read_binary(value, element)?);
    }
    if rest.is_empty() { Ok(Value::Array(elements)) } else { Err(incorrect()) }
}

fn incorrect() -> SqlError {
    SqlError::new(b"22P03", "incorrect binary data format")
}

#[cfg(test)]
mod tests;
