//! Objects as rows: json_to_record, json_to_recordset and those of jsonb.

use std::collections::HashMap;

use super::{Kind, Result, charge_parts, elements, fields, text_of};
use crate::interrupt::current;
use crate::value::{Value, ValueError};

/// A function that gives objects as rows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum JsonRecords {
    /// json_to_record(object): one row
    One,
    /// json_to_recordset(array): a row for each object in it
    Each,
}

/// What a field of an object becomes, for a column of some type.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FieldForm {
    /// a text that is read as one of that type
    Text,
    /// a json as it is written
    Json,
    /// a text of an array
    Array,
}

impl FieldForm {
    /// As an argument of the function.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Json => "json",
            Self::Array => "array",
        }
    }
}

/// The rows of a value; `columns` are, in turn, names of fields and of their forms.
///
/// # Errors
///
/// 22023 where the value is no object, or no array of them.
pub fn records(function: JsonRecords, value: &Value, columns: &[Value]) -> Result<Vec<Vec<Value>>> {
    let (text, prefix) = match value {
        Value::Json(text) => (text, "json"),
        Value::Jsonb(text) => (text, "jsonb"),
        _ if function == JsonRecords::One => return Ok(vec![vec![Value::Null; columns.len() / 2]]),
        _ => return Ok(Vec::new()),
    };
    let _parts = charge_parts(text)?;
    let refused = |message: String| Err(ValueError::json_use(message));
    match (function, Kind::of(text)) {
        (JsonRecords::One, Kind::Object) => Ok(vec![record(text, columns)?]),
        (JsonRecords::One, kind) => {
            let what = if kind == Kind::Array { "an array" } else { "a scalar" };
            refused(format!("cannot call populate_composite on {what}"))
        }
        (JsonRecords::Each, Kind::Array) => {
            let mut rows = Vec::new();
            let mut charge = current::charge();
            for element in elements(text)? {
                if Kind::of(element) != Kind::Object {
                    let what = "must be an array of objects";
                    return refused(format!("argument of {prefix}_to_recordset {what}"));
                }
                charge.add(size_of_val(columns) + element.len())?;
                rows.push(record(element, columns)?);
            }
            Ok(rows)
        }
        (JsonRecords::Each, kind) => {
            let what = match (prefix, kind) {
                ("jsonb", _) => "a non-array",
                (_, Kind::Object) => "an object",
                _ => "a scalar",
            };
            refused(format!("cannot call {prefix}_to_recordset on {what}"))
        }
    }
}

fn record(object: &str, columns: &[Value]) -> Result<Vec<Value>> {
    // Of equal keys the last one counts.
    let fields: HashMap<String, &str> = fields(object)?.into_iter().collect();
    let column = |[name, form]: &[Value; 2]| {
        let (Value::Text(name), Value::Text(form)) = (name, form) else { return Ok(Value::Null) };
        let Some(raw) = fields.get(name.as_str()) else { return Ok(Value::Null) };
        match (Kind::of(raw), form.as_str()) {
            (Kind::Null, _) => Ok(Value::Null),
            (_, "json") => Ok(Value::Text((*raw).to_owned())),
            (Kind::Array, "array") => array_text(raw).map(Value::Text),
            (Kind::Text, _) => text_of(raw).map(Value::Text),
            _ => Ok(Value::Text((*raw).to_owned())),
        }
    };
    columns.as_chunks::<2>().0.iter().map(column).collect()
}

/// An array as the text of one of SQL.
fn array_text(raw: &str) -> Result<String> {
    let shown = |element: &str| match Kind::of(element) {
        Kind::Null => Ok(Value::Null),
        Kind::Text => text_of(element).map(Value::Text),
        _ => Ok(Value::Text(element.to_owned())),
    };
    let elements = elements(raw)?.into_iter().map(shown).collect::<Result<_>>()?;
    Ok(Value::Array(elements).to_string())
}
