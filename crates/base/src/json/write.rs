//! SQL values as JSON.

use super::{BYTES_MAX, Result, normal, write_text};
use crate::conventions::Style;
use crate::interrupt::current;
use crate::shape::{ArrayShape, Dimension};
use crate::types::DataType;
use crate::value::{TextBuilder, Value, ValueError};

fn json() -> TextBuilder {
    TextBuilder::new("json", BYTES_MAX)
}

/// A value as a json or jsonb.
pub fn json_of(value: &Value, to: DataType) -> Result<Value> {
    let mut out = json();
    write(value, &mut out)?;
    finished(out, to)
}

/// Values as a list.
pub fn array_of(values: &[Value], to: DataType) -> Result<Value> {
    let mut out = json();
    out.push("[")?;
    for (at, value) in values.iter().enumerate() {
        out.push(if at > 0 { ", " } else { "" })?;
        write(value, &mut out)?;
    }
    out.push("]")?;
    finished(out, to)
}

/// Rows or arrays as a list of type json, a line each.
pub fn array_in_lines(values: &[Value]) -> Result<Value> {
    let mut out = json();
    out.push("[")?;
    for (at, value) in values.iter().enumerate() {
        out.push(match (at, value) {
            (0, _) => "",
            (_, Value::Null) => ", ",
            _ => ", \n ",
        })?;
        write(value, &mut out)?;
    }
    out.push("]")?;
    finished(out, DataType::Json)
}

/// Keys and values as an object, with what stands before its first key and behind its last value.
pub fn object_of<'v>(
    fields: impl IntoIterator<Item = (&'v Value, &'v Value)>,
    [open, close]: [&str; 2],
    to: DataType,
) -> Result<Value> {
    let mut out = json();
    out.push(open)?;
    for (at, (key, value)) in fields.into_iter().enumerate() {
        out.push(if at > 0 { ", " } else { "" })?;
        match key {
            Value::Null => {
                let message = format!("argument {} cannot be null", 2 * at + 1);
                return Err(ValueError::json_use(message));
            }
            Value::Array(_)
            | Value::Shaped(..)
            | Value::Composite(..)
            | Value::Json(_)
            | Value::Jsonb(_) => {
                let message = "key value must be scalar, not array, composite, or json";
                return Err(ValueError::json_use(message.to_owned()));
            }
            Value::Bool(truth) => write_text(&truth.to_string(), &mut out)?,
            Value::Text(key) | Value::CiText(key) => write_text(key, &mut out)?,
            key => write_text(&shown(key), &mut out)?,
        }
        out.push(" : ")?;
        write(value, &mut out)?;
    }
    out.push(close)?;
    finished(out, to)
}

/// A row as an object without blanks.
pub(super) fn row_of<'v>(
    fields: impl Iterator<Item = (&'v Value, &'v Value)>,
    to: DataType,
) -> Result<Value> {
    let mut out = json();
    out.push("{")?;
    for (at, (key, value)) in fields.enumerate() {
        out.push(if at > 0 { "," } else { "" })?;
        if let Value::Text(key) = key {
            write_text(key, &mut out)?;
        }
        out.push(":")?;
        write(value, &mut out)?;
    }
    out.push("}")?;
    finished(out, to)
}

/// An object of texts: of an array of keys and values in turn, or of one of each.
pub(super) fn object_of_texts(keys: &Value, values: Option<&Value>, to: DataType) -> Result<Value> {
    let Some(list) = keys.elements() else { return Ok(Value::Null) };
    let shapes = [keys.shape(), values.map(Value::shape).unwrap_or(ArrayShape::EMPTY)];
    let has_two_columns = values.is_none() && shapes[0].dimensions().len() == 2;
    if has_two_columns && shapes[0].dimensions()[1].length != 2 {
        let message = "array must have two columns".to_owned();
        return Err(ValueError::json_error("2202E", message));
    }
    if !has_two_columns && shapes.iter().any(|shape| shape.dimensions().len() > 1) {
        let message = "wrong number of array subscripts".to_owned();
        return Err(ValueError::json_error("2202E", message));
    }
    let (keys, values) = (list, values.map(Value::elements));
    let pairs: Vec<(&Value, &Value)> = match values {
        None if keys.len() % 2 == 1 => {
            let message = "array must have even number of elements".to_owned();
            return Err(ValueError::json_error("2202E", message));
        }
        None => keys.as_chunks::<2>().0.iter().map(|[key, value]| (key, value)).collect(),
        Some(Some(values)) if values.len() != keys.len() => {
            let message = "mismatched array dimensions".to_owned();
            return Err(ValueError::json_error("2202E", message));
        }
        Some(Some(values)) => keys.iter().zip(values).collect(),
        Some(None) => return Ok(Value::Null),
    };
    if pairs.iter().any(|(key, _)| key.is_null()) {
        let message = "null value not allowed for object key".to_owned();
        return Err(ValueError::json_error("22004", message));
    }
    object_of(pairs, ["{", "}"], to)
}

fn finished(out: TextBuilder, to: DataType) -> Result<Value> {
    match to {
        DataType::Jsonb => normal(&out.finish()).map(Value::Jsonb),
        _ => Ok(Value::Json(out.finish())),
    }
}

/// Writes an array that has `inner` dimensions within the first one, six at most.
fn write_list(inner: &[Dimension], values: &[Value], out: &mut TextBuilder) -> Result<()> {
    let each = inner.iter().map(|dimension| dimension.length as usize).product::<usize>();
    out.push("[")?;
    for (at, part) in values.chunks(each.max(1)).enumerate() {
        out.push(if at > 0 { "," } else { "" })?;
        match (inner, part) {
            ([_, inner @ ..], part) => write_list(inner, part, out)?,
            ([], part) => part.iter().try_for_each(|value| write(value, out))?,
        }
    }
    out.push("]")
}

/// A value as a text within quotes. Times are as ISO 8601 has them, whatever the session's style.
fn shown(value: &Value) -> String {
    if !matches!(value, Value::Date(_) | Value::Timestamp(_) | Value::TimestampTz(_)) {
        return value.to_string();
    }
    let iso = Style::DEFAULT.enter();
    let text = value.to_string();
    drop(iso);
    let (moment, era) = text.strip_suffix(" BC").map_or((&*text, ""), |it| (it, " BC"));
    let moment = moment.replacen(' ', "T", 1);
    // Minutes stand there even where the text of a timestamptz has none.
    let is_sign =
        |at: usize| moment.as_bytes().iter().rev().nth(at).is_some_and(|it| b"+-".contains(it));
    let is_whole = matches!(value, Value::TimestampTz(_)) && is_sign(2);
    format!("{moment}{}{era}", if is_whole { ":00" } else { "" })
}

fn write(value: &Value, out: &mut TextBuilder) -> Result<()> {
    match value {
        Value::Null => out.push("null")?,
        Value::Bool(truth) => out.push(if *truth { "true" } else { "false" })?,
        Value::SmallInt(_) | Value::Int(_) | Value::BigInt(_) | Value::Numeric(_) => {
            out.push(&value.to_string())?;
        }
        Value::AnyNumeric(number) if number.is_finite() => out.push(&value.to_string())?,
        Value::Real(number) if number.is_finite() => out.push(&value.to_string())?,
        Value::Double(number) if number.is_finite() => out.push(&value.to_string())?,
        Value::Json(text) | Value::Jsonb(text) => out.push(text)?,
        Value::Date(_) | Value::Timestamp(_) | Value::TimestampTz(_) => {
            write_text(&shown(value), out)?;
        }
        Value::Array(values) => write_list(&[], values, out)?,
        Value::Shaped(shape, values) => {
            let inner = shape.dimensions().get(1..).unwrap_or_default();
            write_list(inner, values, out)?;
        }
        Value::Composite(of, values) => {
            out.push("{")?;
            for (at, ((name, _), value)) in of.fields().iter().zip(values).enumerate() {
                out.push(if at > 0 { "," } else { "" })?;
                write_text(name, out)?;
                out.push(":")?;
                write(value, out)?;
            }
            out.push("}")?;
        }
        Value::Text(text) | Value::CiText(text) => write_text(text, out)?,
        other => {
            // Of a bytea, two digits a byte.
            let mut copy = current::charge();
            copy.add(4 * other.bytes())?;
            write_text(&other.to_string(), out)?;
        }
    }
    Ok(())
}
