//! SQL values as JSON.

use super::{Result, normal, write_text};
use crate::types::DataType;
use crate::value::{Value, ValueError};

/// A value as a json or jsonb.
pub fn json_of(value: &Value, to: DataType) -> Result<Value> {
    let mut out = String::new();
    write(value, &mut out);
    finished(out, to)
}

/// Values as a list.
pub fn array_of(values: &[Value], to: DataType) -> Result<Value> {
    let mut out = String::from("[");
    for (at, value) in values.iter().enumerate() {
        out.push_str(if at > 0 { ", " } else { "" });
        write(value, &mut out);
    }
    out.push(']');
    finished(out, to)
}

/// Keys and values as an object, with what stands before its first key and behind its last value.
pub fn object_of<'v>(
    fields: impl IntoIterator<Item = (&'v Value, &'v Value)>,
    [open, close]: [&str; 2],
    to: DataType,
) -> Result<Value> {
    let mut out = String::from(open);
    for (at, (key, value)) in fields.into_iter().enumerate() {
        out.push_str(if at > 0 { ", " } else { "" });
        match key {
            Value::Null => {
                let message = format!("argument {} cannot be null", 2 * at + 1);
                return Err(ValueError::json_use(message));
            }
            Value::Array(_) | Value::Json(_) | Value::Jsonb(_) => {
                let message = "key value must be scalar, not array, composite, or json";
                return Err(ValueError::json_use(message.to_owned()));
            }
            Value::Bool(truth) => write_text(&truth.to_string(), &mut out),
            key => write_text(&key.to_string(), &mut out),
        }
        out.push_str(" : ");
        write(value, &mut out);
    }
    out.push_str(close);
    finished(out, to)
}

fn finished(out: String, to: DataType) -> Result<Value> {
    match to {
        DataType::Jsonb => normal(&out).map(Value::Jsonb),
        _ => Ok(Value::Json(out)),
    }
}

fn write(value: &Value, out: &mut String) {
    match value {
        Value::Null => out.push_str("null"),
        Value::Bool(truth) => out.push_str(if *truth { "true" } else { "false" }),
        Value::SmallInt(_) | Value::Int(_) | Value::BigInt(_) | Value::Numeric(_) => {
            out.push_str(&value.to_string());
        }
        Value::Real(number) if number.is_finite() => out.push_str(&value.to_string()),
        Value::Double(number) if number.is_finite() => out.push_str(&value.to_string()),
        Value::Json(text) | Value::Jsonb(text) => out.push_str(text),
        Value::Timestamp(_) => write_text(&value.to_string().replacen(' ', "T", 1), out),
        Value::TimestampTz(_) => {
            let zoned = value.to_string().replacen(' ', "T", 1).replacen("+00", "+00:00", 1);
            write_text(&zoned, out);
        }
        Value::Array(values) => {
            out.push('[');
            for (at, value) in values.iter().enumerate() {
                out.push_str(if at > 0 { "," } else { "" });
                write(value, out);
            }
            out.push(']');
        }
        other => write_text(&other.to_string(), out),
    }
}
