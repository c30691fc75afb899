//! Types and values as PostgreSQL's protocol has them.
//!
//! Role         object identifiers of types; values to and from text and binary
//! Source       PostgreSQL 15, pg_type.dat and the send and recv functions of each type

use std::fmt::Write as _;

use bytes::{BufMut, BytesMut};
use hotrow::{
    DataType, EncodedType, RangeKind, SqlError, SqlType, Value, binary, composite_with_oid,
    enum_with_oid, of_known_type, type_modifier,
};

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

    /// Of the rows of a COPY.
    pub(crate) fn of_copy(is_binary: bool) -> Self {
        if is_binary { Self::Binary } else { Self::Text }
    }

    pub(crate) fn code(self) -> i16 {
        match self {
            Self::Text => 0,
            Self::Binary => 1,
        }
    }
}

/// The types that identifiers name. Lengths and digits are not part of a parameter's type.
const KNOWN: [DataType; 37] = [
    DataType::Boolean,
    DataType::Bytea,
    DataType::BigInt,
    DataType::Oid,
    DataType::SmallInt,
    DataType::Integer,
    DataType::Text,
    DataType::Real,
    DataType::Double,
    DataType::Char(0),
    DataType::Varchar(0),
    DataType::CatalogChar,
    DataType::Name,
    DataType::RefCursor,
    DataType::Date,
    DataType::TIMESTAMP,
    DataType::TIMESTAMPTZ,
    DataType::AnyNumeric,
    DataType::Time(6),
    DataType::Interval,
    DataType::Uuid,
    DataType::Json,
    DataType::Jsonb,
    DataType::Range(RangeKind::Int4),
    DataType::Range(RangeKind::Int8),
    DataType::Range(RangeKind::Num),
    DataType::Range(RangeKind::Ts),
    DataType::Range(RangeKind::TsTz),
    DataType::Range(RangeKind::Date),
    DataType::Encoded(EncodedType::Inet),
    DataType::Encoded(EncodedType::Cidr),
    DataType::Encoded(EncodedType::MacAddr),
    DataType::Encoded(EncodedType::MacAddr8),
    DataType::Encoded(EncodedType::Bit(0)),
    DataType::Encoded(EncodedType::VarBit(0)),
    DataType::Encoded(EncodedType::TimeTz(6)),
    DataType::CiText,
];

/// The identifier of a type.
pub(crate) fn oid(sql_type: SqlType) -> u32 {
    match sql_type {
        SqlType::Scalar(data_type) => of_known_type(data_type, |known| known.oid as u32),
        SqlType::Array(data_type) => of_known_type(data_type, |known| known.array as u32),
    }
}

/// The bytes of a value of a type, -1 for any number.
pub(crate) fn size(sql_type: SqlType) -> i16 {
    match sql_type {
        SqlType::Scalar(data_type) => of_known_type(data_type, |known| known.length),
        SqlType::Array(_) => -1,
    }
}

/// A type's length or digits, as RowDescription tells them.
pub(crate) fn modifier(sql_type: SqlType) -> i32 {
    type_modifier(sql_type.packed())
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
    // What nobody reads may be a text.
    if oid == VOID {
        return Ok(Some(SqlType::Scalar(DataType::Text)));
    }
    for data_type in KNOWN {
        let of = match data_type {
            DataType::Char(_) | DataType::Varchar(_) | DataType::Name => DataType::Text,
            other => other,
        };
        if oid == self::oid(SqlType::Scalar(data_type)) {
            return Ok(Some(SqlType::Scalar(of)));
        }
        if oid == self::oid(SqlType::Array(data_type)) {
            return Ok(Some(SqlType::Array(of)));
        }
    }
    if let Some(of) = enum_with_oid(oid) {
        return Ok(Some(SqlType::Scalar(DataType::Enum(of))));
    }
    if let Some(of) = oid.checked_sub(1).and_then(enum_with_oid) {
        return Ok(Some(SqlType::Array(DataType::Enum(of))));
    }
    if let Some(of) = composite_with_oid(oid) {
        return Ok(Some(SqlType::Scalar(DataType::Composite(of))));
    }
    if let Some(of) = oid.checked_sub(1).and_then(composite_with_oid) {
        return Ok(Some(SqlType::Array(DataType::Composite(of))));
    }
    let mut error = SqlError::new(b"42704", format!("there is no type with OID {oid}"));
    error.hint = Some("Send the parameter as text, without a type.".to_owned());
    Err(error)
}

/// Appends a value that is not NULL.
pub(crate) fn write(value: &Value, format: Format, data_type: DataType, out: &mut BytesMut) {
    match format {
        Format::Text => write_text(value, out),
        Format::Binary => binary::write(value, data_type, out),
    }
}

/// Appends what [`Value`]'s `Display` gives, without its detour where that is easy.
fn write_text(value: &Value, out: &mut BytesMut) {
    let mut digits = itoa::Buffer::new();
    let text = match value {
        Value::Text(text) | Value::Json(text) | Value::Jsonb(text) => text,
        Value::SmallInt(value) => digits.format(*value),
        Value::Int(value) => digits.format(*value),
        Value::BigInt(value) => digits.format(*value),
        _ => {
            let _ = write!(out, "{value}"); // it takes everything
            return;
        }
    };
    out.put_slice(text.as_bytes());
}

/// Appends a value's length and the value; NULL has the length -1.
pub(crate) fn write_with_length(
    value: &Value,
    format: Format,
    sql_type: SqlType,
    out: &mut BytesMut,
) {
    let (SqlType::Scalar(data_type) | SqlType::Array(data_type)) = sql_type;
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
            let text = binary::text(bytes)?;
            let value = match sql_type {
                SqlType::Scalar(data_type) => Value::parse(data_type, text),
                SqlType::Array(element) => Value::parse_array(element, text),
            };
            Ok(value?)
        }
        (Format::Binary, sql_type) => binary::read(bytes, sql_type),
    }
}

#[cfg(test)]
mod tests;
