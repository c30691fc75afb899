//! Outcomes as bytes: in checkpoints, and in the log where a keyed call was refused.
//!
//! ```text
//! answer   0 │ columns varint │ names │ touched varint │ values varint │ values
//!          1 │ error
//! value    tag 1 │ as the tag says
//! error    SQLSTATE 5 │ line varint │ column varint │ message │ detail │ hint │ table │ column
//!          │ constraint; each behind its length, those from detail on behind 0 (none) or 1
//! ```

use std::sync::Arc;

use hotrow_base::any_numeric;
use hotrow_base::decimal::Decimal;
use hotrow_base::encoded::EncodedType;
use hotrow_base::range::Range;
use hotrow_base::shape::{ArrayShape, Dimension};
use hotrow_base::temporal::Interval;
use hotrow_base::types::RangeKind;
use hotrow_base::value::Value;
use hotrow_base::varint::{ByteReader, put, put_bytes, put_signed, put_wide};
use hotrow_transaction::outcome::SqlError;
use hotrow_transaction::program::Place;

use crate::rows::Rows;

type Answer = Result<Rows, Box<SqlError>>;

pub(crate) fn encode_answer(out: &mut Vec<u8>, answer: &Answer) {
    match answer {
        Ok(rows) => {
            out.push(0);
            put(out, rows.columns().len() as u64);
            rows.columns().iter().for_each(|name| put_bytes(out, name.as_bytes()));
            put(out, rows.touched());
            put(out, rows.values().len() as u64);
            rows.values().iter().for_each(|value| encode_value(out, value));
        }
        Err(error) => {
            out.push(1);
            encode_error(out, error);
        }
    }
}

pub(crate) fn decode_answer(reader: &mut ByteReader<'_>) -> Option<Answer> {
    match reader.byte()? {
        0 => {
            let mut columns = Vec::new();
            for _ in 0..reader.varint()? {
                columns.push(text(reader)?);
            }
            let touched = reader.varint()?;
            let mut values = Vec::new();
            for _ in 0..reader.varint()? {
                values.push(decode_value(reader)?);
            }
            Some(Ok(Rows::new(Arc::from(columns), values, touched)))
        }
        1 => Some(Err(Box::new(decode_error(reader)?))),
        _ => None,
    }
}

fn text(reader: &mut ByteReader<'_>) -> Option<String> {
    String::from_utf8(reader.bytes()?.to_vec()).ok()
}

fn encode_value(out: &mut Vec<u8>, value: &Value) {
    match value {
        Value::Null => out.push(0),
        Value::Bool(value) => out.extend([1, u8::from(*value)]),
        Value::SmallInt(value) => signed(out, 2, (*value).into()),
        Value::Int(value) => signed(out, 3, (*value).into()),
        Value::BigInt(value) => signed(out, 4, *value),
        Value::Real(value) => {
            out.push(5);
            out.extend(value.to_bits().to_le_bytes());
        }
        Value::Double(value) => {
            out.push(6);
            out.extend(value.to_bits().to_le_bytes());
        }
        Value::Numeric(value) => {
            out.push(7);
            put_wide(out, value.units());
            out.push(value.scale());
        }
        Value::AnyNumeric(value) => {
            let mut number = Vec::new();
            any_numeric::write(value, &mut number);
            bytes(out, 19, &number);
        }
        Value::Text(value) | Value::CiText(value) => bytes(out, 8, value.as_bytes()),
        // Clients are told the type beside; of the value they get the label.
        Value::Enum(of, place) => bytes(out, 8, of.label(*place).as_bytes()),
        Value::Composite(..) => bytes(out, 8, value.to_string().as_bytes()),
        Value::Bytea(value) => bytes(out, 9, value),
        Value::Timestamp(value) => signed(out, 10, *value),
        Value::TimestampTz(value) => signed(out, 11, *value),
        Value::Time(value) => signed(out, 18, *value),
        Value::Date(value) => signed(out, 12, (*value).into()),
        Value::Uuid(value) => {
            out.push(13);
            out.extend(value);
        }
        Value::Interval(value) => {
            signed(out, 17, value.months.into());
            put_signed(out, value.days.into());
            put_signed(out, value.micros);
        }
        Value::Json(value) => bytes(out, 15, value.as_bytes()),
        Value::Jsonb(value) => bytes(out, 16, value.as_bytes()),
        Value::Range(range) => {
            out.extend([20, kind_number(range.kind())]);
            let mut written = Vec::new();
            range.write(&mut written);
            put_bytes(out, &written);
        }
        Value::Encoded(value) => {
            out.extend([21, value.of().place() as u8]);
            put_bytes(out, value.bytes());
        }
        Value::Array(values) => {
            out.push(14);
            put(out, values.len() as u64);
            values.iter().for_each(|value| encode_value(out, value));
        }
        Value::Shaped(shape, values) => {
            out.extend([22, shape.dimensions().len() as u8]);
            for Dimension { length, lower } in shape.dimensions() {
                put(out, (*length).into());
                put_signed(out, (*lower).into());
            }
            values.iter().for_each(|value| encode_value(out, value));
        }
    }
}

/// The place of a kind among all of them.
fn kind_number(kind: RangeKind) -> u8 {
    RangeKind::ALL.iter().position(|of| *of == kind).unwrap_or_default() as u8
}

fn signed(out: &mut Vec<u8>, tag: u8, value: i64) {
    out.push(tag);
    put_signed(out, value);
}

fn bytes(out: &mut Vec<u8>, tag: u8, value: &[u8]) {
    out.push(tag);
    put_bytes(out, value);
}

fn decode_value(reader: &mut ByteReader<'_>) -> Option<Value> {
    match reader.byte()? {
        14 => {
            let count = reader.varint()?;
            decode_elements(reader, count).map(Value::Array)
        }
        22 => {
            let mut dimensions = Vec::new();
            for _ in 0..reader.byte()? {
                let length = u32::try_from(reader.varint()?).ok()?;
                let lower = i32::try_from(reader.signed()?).ok()?;
                dimensions.push(Dimension { length, lower });
            }
            let shape = ArrayShape::new(&dimensions)?;
            let values = decode_elements(reader, shape.elements() as u64)?;
            Some(Value::shaped(values, &shape))
        }
        tag => decode_scalar(reader, tag),
    }
}

fn decode_elements(reader: &mut ByteReader<'_>, count: u64) -> Option<Vec<Value>> {
    let mut values = Vec::new();
    for _ in 0..count {
        let tag = reader.byte()?;
        values.push(decode_scalar(reader, tag)?);
    }
    Some(values)
}

fn decode_scalar(reader: &mut ByteReader<'_>, tag: u8) -> Option<Value> {
    Some(match tag {
        0 => Value::Null,
        1 => Value::Bool(reader.byte()? != 0),
        2 => Value::SmallInt(reader.signed()?.try_into().ok()?),
        3 => Value::Int(reader.signed()?.try_into().ok()?),
        4 => Value::BigInt(reader.signed()?),
        5 => Value::Real(f32::from_bits(u32::from_le_bytes(reader.array()?))),
        6 => Value::Double(f64::from_bits(u64::from_le_bytes(reader.array()?))),
        7 => {
            let units = reader.wide()?;
            Value::Numeric(Decimal::new(units, reader.byte()?)?)
        }
        8 => Value::Text(text(reader)?),
        19 => any_numeric::read(reader.bytes()?).into(),
        9 => Value::Bytea(reader.bytes()?.to_vec()),
        10 => Value::Timestamp(reader.signed()?),
        11 => Value::TimestampTz(reader.signed()?),
        18 => Value::Time(reader.signed()?),
        12 => Value::Date(reader.signed()?.try_into().ok()?),
        13 => Value::Uuid(reader.array()?),
        17 => {
            let (months, days) = (reader.signed()?, reader.signed()?);
            Value::Interval(Interval::new(months, days, reader.signed()?)?)
        }
        15 => Value::Json(text(reader)?),
        16 => Value::Jsonb(text(reader)?),
        20 => {
            let kind = *RangeKind::ALL.get(usize::from(reader.byte()?))?;
            Range::read(kind, reader.bytes()?).into()
        }
        21 => {
            let of = *EncodedType::ALL.get(usize::from(reader.byte()?))?;
            of.read(reader.bytes()?).into()
        }
        _ => return None,
    })
}

pub(crate) fn encode_error(out: &mut Vec<u8>, error: &SqlError) {
    out.extend(error.sqlstate);
    put(out, error.place.line.into());
    put(out, error.place.column.into());
    put_bytes(out, error.message.as_bytes());
    for part in [&error.detail, &error.hint, &error.table, &error.column, &error.constraint] {
        match part {
            None => out.push(0),
            Some(text) => bytes(out, 1, text.as_bytes()),
        }
    }
}

pub(crate) fn decode_error(reader: &mut ByteReader<'_>) -> Option<SqlError> {
    let sqlstate = reader.array()?;
    let line = u32::try_from(reader.varint()?).ok()?;
    let column = u32::try_from(reader.varint()?).ok()?;
    let message = text(reader)?;
    let mut part = || match reader.byte()? {
        0 => Some(None),
        1 => text(reader).map(Some),
        _ => None,
    };
    Some(SqlError {
        context: None,
        sqlstate,
        message,
        detail: part()?,
        hint: part()?,
        place: Place { line, column },
        table: part()?,
        column: part()?,
        constraint: part()?,
        named: None,
        notices: Vec::new(),
    })
}

#[cfg(test)]
mod tests;
