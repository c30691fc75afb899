//! Rows and arguments as they go over the wire.
//!
//! Role         rows to and from COPY's text format; arguments as binary parameters of prepared
//!              statements, but numerics, ranges, addresses and the like, which the client library
//!              has no binary form of: they go as text, as many drivers send them
//! Source       PostgreSQL 15, the documentation of COPY, "Text Format"

use std::error::Error;
use std::fmt::Write as _;

use bytes::{BufMut, BytesMut};
use hotrow::{Arguments, DataType, Datum, SqlType, Value, ValueError};
use postgres::types::{Format, IsNull, Kind, ToSql, Type, to_sql_checked};

/// The types that the client library has no binary form of, but for ranges.
const AS_TEXT: [Type; 8] = [
    Type::NUMERIC,
    Type::INET,
    Type::CIDR,
    Type::MACADDR,
    Type::MACADDR8,
    Type::BIT,
    Type::VARBIT,
    Type::TIMETZ,
];

/// An argument of a call.
#[derive(Debug)]
pub(crate) struct Parameter(Value);

/// The arguments of a call, by the types of the procedure's parameters.
pub(crate) fn parameters(types: &[SqlType], arguments: &Arguments, out: &mut Vec<Parameter>) {
    out.clear();
    let given = types.iter().zip(&arguments.datums);
    out.extend(given.map(|(sql_type, &datum)| Parameter(value(*sql_type, datum, arguments))));
}

fn value(sql_type: SqlType, datum: Datum, arguments: &Arguments) -> Value {
    Value::from_parameter(datum, sql_type, &arguments.heap, &arguments.elements)
}

impl ToSql for Parameter {
    fn to_sql(
        &self,
        ty: &Type,
        out: &mut BytesMut,
    ) -> Result<IsNull, Box<dyn Error + Sync + Send>> {
        match &self.0 {
            Value::Null => return Ok(IsNull::Yes),
            Value::Bool(value) => out.put_u8(u8::from(*value)),
            Value::SmallInt(value) => out.put_i16(*value),
            Value::Int(value) | Value::Date(value) => out.put_i32(*value),
            Value::BigInt(value)
            | Value::Timestamp(value)
            | Value::TimestampTz(value)
            | Value::Time(value) => {
                out.put_i64(*value);
            }
            Value::Real(value) => out.put_f32(*value),
            Value::Double(value) => out.put_f64(*value),
            Value::Numeric(value) => write!(out, "{value}")?,
            Value::AnyNumeric(value) => write!(out, "{value}")?,
            Value::Text(value) | Value::CiText(value) | Value::Json(value) => {
                out.put_slice(value.as_bytes())
            }
            Value::Jsonb(value) => {
                out.put_u8(1); // the version of its binary form
                out.put_slice(value.as_bytes());
            }
            Value::Bytea(value) => out.put_slice(value),
            Value::Interval(value) => {
                out.put_i64(value.micros);
                out.put_i32(value.days);
                out.put_i32(value.months);
            }
            Value::Uuid(value) => out.put_slice(value),
            Value::Range(value) => write!(out, "{value}")?,
            Value::Encoded(value) => write!(out, "{value}")?,
            Value::Composite(..) => write!(out, "{}", self.0)?,
            Value::Enum(of, place) => out.put_slice(of.label(*place).as_bytes()),
            Value::Array(values) => {
                let values: Vec<_> = values.iter().cloned().map(Parameter).collect();
                return values.to_sql(ty, out);
            }
            Value::Shaped(..) => return Err("the workloads have plain arrays".into()),
        }
        Ok(IsNull::No)
    }

    /// The server told the types, and they are those of the procedure that it got from us.
    fn accepts(_: &Type) -> bool {
        true
    }

    fn encode_format(&self, ty: &Type) -> Format {
        let is_text = matches!(ty.kind(), Kind::Range(_) | Kind::Composite(_));
        if is_text || AS_TEXT.contains(ty) { Format::Text } else { Format::Binary }
    }

    to_sql_checked!();
}

/// Appends a row and its end of line as COPY reads them. `text` is memory that is used again.
pub(crate) fn write_row(
    types: impl Iterator<Item = DataType>,
    (row, heap): (&[Datum], &[u8]),
    text: &mut String,
    out: &mut Vec<u8>,
) {
    for (at, (data_type, &datum)) in types.zip(row).enumerate() {
        if at > 0 {
            out.push(b'\t');
        }
        let value = Value::from_datum(datum, data_type, heap);
        if value.is_null() {
            out.extend_from_slice(b"\\N");
            continue;
        }
        text.clear();
        let _ = write!(text, "{value}"); // a String takes everything
        for &byte in text.as_bytes() {
            match byte {
                b'\\' => out.extend_from_slice(b"\\\\"),
                b'\t' => out.extend_from_slice(b"\\t"),
                b'\n' => out.extend_from_slice(b"\\n"),
                b'\r' => out.extend_from_slice(b"\\r"),
                byte => out.push(byte),
            }
        }
    }
    out.push(b'\n');
}

/// Reads a row as COPY writes it, without its end of line; none if it has not so many cells.
pub(crate) fn read_row(
    line: &str,
    types: &[DataType],
    row: &mut Vec<Datum>,
    heap: &mut Vec<u8>,
) -> Result<Option<()>, ValueError> {
    row.clear();
    heap.clear();
    let mut cells = line.split('\t');
    for &data_type in types {
        let Some(cell) = cells.next() else { return Ok(None) };
        row.push(match cell {
            "\\N" => Datum::NULL,
            cell if cell.contains('\\') => {
                Value::parse(data_type, &unescaped(cell))?.to_datum(data_type, heap)?
            }
            cell => Value::parse(data_type, cell)?.to_datum(data_type, heap)?,
        });
    }
    Ok(cells.next().is_none().then_some(()))
}

/// A cell without the backslashes that COPY TO puts into it.
fn unescaped(cell: &str) -> String {
    let mut text = String::with_capacity(cell.len());
    let mut letters = cell.chars();
    while let Some(letter) = letters.next() {
        let meant = match letter {
            '\\' => match letters.next() {
                Some('b') => '\u{8}',
                Some('f') => '\u{c}',
                Some('n') => '\n',
                Some('r') => '\r',
                Some('t') => '\t',
                Some('v') => '\u{b}',
                Some(other) => other,
                None => '\\',
            },
            letter => letter,
        };
        text.push(meant);
    }
    text
}

#[cfg(test)]
mod tests;
