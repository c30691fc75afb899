//! Values in binary, as PostgreSQL's protocol and its COPY have them.
//!
//! Role         the server's for parameters and rows, COPY's for files; knows no message
//! Invariants   I1 no length in what is read is believed: memory is taken for bytes that are there
//! Source       PostgreSQL 15, the send and recv functions of each type

mod encoded;
mod numeric;
mod range;

use std::ops::DerefMut;

use bytes::BufMut;
use hotrow_base::composite::CompositeType;
use hotrow_base::shape::{ArrayShape, DIMENSIONS_MAX, Dimension};
use hotrow_base::temporal::{
    Interval, MICROS_PER_DAY, date_in_range, is_finite_date, is_finite_timestamp,
    timestamp_in_range,
};
use hotrow_base::types::{DataType, SqlType};
use hotrow_base::value::{Value, charged_list, checked_shape};
use hotrow_sql::known_type;
use hotrow_transaction::outcome::SqlError;

/// What the binary form of a jsonb begins with.
const JSONB_VERSION: u8 = 1;

/// Memory that bytes are appended to, and changed in afterwards.
pub trait Buffer: BufMut + DerefMut<Target = [u8]> {}

impl<B: BufMut + DerefMut<Target = [u8]>> Buffer for B {}

/// Appends a value that is not NULL.
pub fn write(value: &Value, data_type: DataType, out: &mut impl Buffer) {
    match value {
        Value::Null => {}
        Value::Bool(value) => out.put_u8(u8::from(*value)),
        Value::SmallInt(value) => out.put_slice(&value.to_be_bytes()),
        Value::Int(value) | Value::Date(value) => out.put_slice(&value.to_be_bytes()),
        // A value that is one lies in 32 bits.
        Value::BigInt(value) if data_type == DataType::Oid => {
            out.put_slice(&(*value as u32).to_be_bytes());
        }
        Value::BigInt(value)
        | Value::Timestamp(value)
        | Value::TimestampTz(value)
        | Value::Time(value) => {
            out.put_slice(&value.to_be_bytes());
        }
        Value::Real(value) => out.put_slice(&value.to_be_bytes()),
        Value::Double(value) => out.put_slice(&value.to_be_bytes()),
        Value::Numeric(value) => numeric::write(&(*value).into(), out),
        Value::AnyNumeric(value) => numeric::write(value, out),
        // No letter is a zero.
        Value::Text(value) if data_type == DataType::CatalogChar && value.is_empty() => {
            out.put_u8(0);
        }
        Value::Text(value) | Value::CiText(value) | Value::Json(value) => {
            out.put_slice(value.as_bytes())
        }
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
        Value::Enum(of, place) => out.put_slice(of.label(*place).as_bytes()),
        Value::Range(value) => range::write(value, out),
        Value::Encoded(value) => encoded::write(value, out),
        Value::Composite(of, values) => {
            out.put_slice(&(values.len() as i32).to_be_bytes());
            for (value, of) in values.iter().zip(of.types()) {
                out.put_slice(&(known_type(of).oid as u32).to_be_bytes());
                write_with_length(value, of, out);
            }
        }
        Value::Array(elements) | Value::Shaped(_, elements) => {
            let element = data_type.element().unwrap_or(data_type);
            write_array(elements, &value.shape(), element, out);
        }
    }
}

fn write_array(elements: &[Value], shape: &ArrayShape, element: DataType, out: &mut impl Buffer) {
    let has_nulls = elements.iter().any(Value::is_null);
    out.put_slice(&(shape.dimensions().len() as i32).to_be_bytes());
    out.put_slice(&i32::from(has_nulls).to_be_bytes());
    out.put_slice(&(known_type(element).oid as u32).to_be_bytes());
    for Dimension { length, lower } in shape.dimensions() {
        out.put_slice(&length.to_be_bytes());
        out.put_slice(&lower.to_be_bytes());
    }
    for value in elements {
        write_with_length(value, element, out);
    }
}

/// Appends a value's length and the value; NULL has the length -1.
pub fn write_with_length(value: &Value, data_type: DataType, out: &mut impl Buffer) {
    if value.is_null() {
        return out.put_slice(&(-1_i32).to_be_bytes());
    }
    let start = out.len();
    out.put_slice(&[0; 4]);
    write(value, data_type, out);
    let length = (out.len() - start - 4) as i32;
    out[start..start + 4].copy_from_slice(&length.to_be_bytes());
}

/// Reads a value that is not NULL.
///
/// # Errors
///
/// 22P03 and the like: it is none of the type.
pub fn read(bytes: &[u8], sql_type: SqlType) -> Result<Value, SqlError> {
    match sql_type {
        SqlType::Scalar(data_type) => read_scalar(bytes, data_type),
        SqlType::Array(element) => read_array(bytes, element),
    }
}

/// The text that bytes are.
///
/// # Errors
///
/// 22021: they are none.
pub fn text(bytes: &[u8]) -> Result<&str, SqlError> {
    let text = std::str::from_utf8(bytes).ok().filter(|text| !text.contains('\0'));
    text.ok_or_else(|| SqlError::new(b"22021", "invalid byte sequence for encoding \"UTF8\""))
}

fn read_timestamp(bytes: [u8; 8]) -> Result<i64, SqlError> {
    let micros = i64::from_be_bytes(bytes);
    let is_known = !is_finite_timestamp(micros) || timestamp_in_range(micros).is_some();
    Some(micros).filter(|_| is_known).ok_or_else(|| beyond("timestamp"))
}

/// datetime_field_overflow
fn beyond(of: &str) -> SqlError {
    SqlError::new(b"22008", format!("{of} out of range"))
}

fn read_scalar(bytes: &[u8], data_type: DataType) -> Result<Value, SqlError> {
    Ok(match data_type {
        DataType::Boolean => Value::Bool(exactly::<1>(bytes)? != [0]),
        DataType::SmallInt => Value::SmallInt(i16::from_be_bytes(exactly(bytes)?)),
        DataType::Integer => Value::Int(i32::from_be_bytes(exactly(bytes)?)),
        DataType::BigInt => Value::BigInt(i64::from_be_bytes(exactly(bytes)?)),
        DataType::Oid => Value::BigInt(u32::from_be_bytes(exactly(bytes)?).into()),
        DataType::Real => Value::Real(f32::from_be_bytes(exactly(bytes)?)),
        DataType::Double => Value::Double(f64::from_be_bytes(exactly(bytes)?)),
        DataType::Date => {
            let days = i32::from_be_bytes(exactly(bytes)?);
            let is_known = !is_finite_date(days) || date_in_range(days.into()).is_some();
            Value::Date(Some(days).filter(|_| is_known).ok_or_else(|| beyond("date"))?)
        }
        DataType::Timestamp(_) => Value::Timestamp(read_timestamp(exactly(bytes)?)?),
        DataType::TimestampTz(_) => Value::TimestampTz(read_timestamp(exactly(bytes)?)?),
        DataType::Time(_) => {
            let micros = i64::from_be_bytes(exactly(bytes)?);
            let is_known = (0..=MICROS_PER_DAY).contains(&micros);
            Value::Time(Some(micros).filter(|_| is_known).ok_or_else(|| beyond("time"))?)
        }
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
        DataType::CatalogChar if bytes == [0] => Value::Text(String::new()),
        DataType::Text
        | DataType::Varchar(_)
        | DataType::Char(_)
        | DataType::CatalogChar
        | DataType::RefCursor
        | DataType::Any(_)
        | DataType::Name => Value::Text(text(bytes)?.to_owned()),
        DataType::Json | DataType::CiText | DataType::Enum(_) => {
            return Ok(Value::parse(data_type, text(bytes)?)?);
        }
        DataType::Jsonb => match bytes.split_first() {
            Some((&JSONB_VERSION, json)) => return Ok(Value::parse(data_type, text(json)?)?),
            Some((version, _)) => {
                let message = format!("unsupported jsonb version number {version}");
                return Err(SqlError::new(b"XX000", message));
            }
            None => return Err(incorrect()),
        },
        DataType::Range(kind) => return range::read(bytes, kind),
        DataType::Encoded(of) => return encoded::read(bytes, of),
        DataType::Composite(of) => return read_row(bytes, of),
        DataType::Array(element) => return read_array(bytes, *element),
        DataType::Numeric { .. } | DataType::AnyNumeric | DataType::WideNumeric { .. } => {
            let written = numeric::read(bytes).ok_or_else(incorrect)?;
            return Ok(Value::parse(data_type, &written)?);
        }
    })
}

fn exactly<const N: usize>(bytes: &[u8]) -> Result<[u8; N], SqlError> {
    bytes.try_into().map_err(|_| incorrect())
}

/// A row: how many fields, and of each the number of its type, its length and it.
fn read_row(bytes: &[u8], of: CompositeType) -> Result<Value, SqlError> {
    let (count, mut rest) = bytes.split_first_chunk::<4>().ok_or_else(incorrect)?;
    let (count, wanted) = (i32::from_be_bytes(*count), of.fields().len());
    if usize::try_from(count) != Ok(wanted) {
        let message = format!("wrong number of columns: {count}, expected {wanted}");
        return Err(SqlError::new(b"42804", message));
    }
    let mut fields = Vec::with_capacity(wanted);
    for (at, of) in of.types().enumerate() {
        let (head, behind) = rest.split_first_chunk::<8>().ok_or_else(incorrect)?;
        let (given, length) = head.split_at(4);
        let given = u32::from_be_bytes(exactly(given)?);
        let length = i32::from_be_bytes(exactly(length)?);
        let wanted = match of {
            DataType::Array(element) => known_type(*element).array,
            of => known_type(of).oid,
        };
        if i64::from(given) != wanted {
            let message = format!(
                "binary data has type {given} instead of expected {wanted} in record column {}",
                at + 1
            );
            return Err(SqlError::new(b"42804", message));
        }
        rest = behind;
        let Ok(length) = usize::try_from(length) else {
            fields.push(Value::Null);
            continue;
        };
        let (field, behind) = rest.split_at_checked(length).ok_or_else(incorrect)?;
        fields.push(read_scalar(field, of)?);
        rest = behind;
    }
    match rest.is_empty() {
        true => Ok(Value::Composite(of, fields)),
        false => Err(incorrect()),
    }
}

fn read_array(bytes: &[u8], element: DataType) -> Result<Value, SqlError> {
    let mut rest = bytes;
    let mut int = || {
        let (taken, after) = rest.split_first_chunk::<4>().ok_or_else(incorrect)?;
        rest = after;
        Ok::<_, SqlError>(i32::from_be_bytes(*taken))
    };
    let (dimensions, _has_nulls, given) = (int()?, int()?, int()?);
    let wanted = known_type(element).oid as u32;
    let is_text = element.is_text() && matches!(given, 25 | 1042 | 1043 | 705);
    if given as u32 != wanted && !is_text {
        let message = format!("the array's elements have the type with OID {given}, not {wanted}");
        return Err(SqlError::new(b"42804", message));
    }
    if dimensions < 0 {
        return Err(SqlError::new(b"22P03", format!("invalid number of dimensions: {dimensions}")));
    }
    let mut read = Vec::new();
    for _ in 0..dimensions.min(DIMENSIONS_MAX as i32 + 1) {
        let length = u32::try_from(int()?).map_err(|_| incorrect())?;
        read.push(Dimension { length, lower: int()? });
    }
    let shape = checked_shape(&read).map_err(SqlError::from)?;
    // Each element has a length of four bytes.
    let count = Some(shape.elements()).filter(|count| *count <= rest.len() / 4);
    let count = count.ok_or_else(incorrect)?;
    let _list = charged_list(count, rest.len()).map_err(SqlError::from)?;
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
        elements.push(read_scalar(value, element)?);
    }
    if rest.is_empty() { Ok(Value::shaped(elements, &shape)) } else { Err(incorrect()) }
}

fn incorrect() -> SqlError {
    SqlError::new(b"22P03", "incorrect binary data format")
}
