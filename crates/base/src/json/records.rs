//! Objects as rows: json_to_record, json_populate_recordset and their kin.

use std::collections::HashMap;

use super::{Kind, Result, charge_parts, elements, fields, text_of};
use crate::interrupt::current;
use crate::value::{Value, ValueError};

/// A function that gives objects as rows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum JsonRecords {
    /// json_to_record(object), json_populate_record(base, object): one row
    One,
    /// json_to_recordset(array): a row for each object in it
    Each,
    /// json_populate_recordset(base, array): the same, by another name
    PopulateEach,
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
    /// a text of an array of jsons
    JsonArray,
    /// whether it is there
    Has,
}

impl FieldForm {
    const ALL: [Self; 5] = [Self::Text, Self::Json, Self::Array, Self::JsonArray, Self::Has];

    /// As an argument of the function.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Json => "json",
            Self::Array => "array",
            Self::JsonArray => "json array",
            Self::Has => "has",
        }
    }

    fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|form| form.name() == name)
    }
}

/// The rows of a value; `columns` are, in turn, names of fields and of their forms.
///
/// # Errors
///
/// 22023 where the value is no object, or no array of them; 22P02 where a field is no array that is
/// to be one.
pub fn records(function: JsonRecords, value: &Value, columns: &[Value]) -> Result<Vec<Vec<Value>>> {
    let (text, prefix) = match value {
        Value::Json(text) => (text, "json"),
        Value::Jsonb(text) => (text, "jsonb"),
        _ if function == JsonRecords::One => return Ok(vec![vec![Value::Null; columns.len() / 2]]),
        _ => return Ok(Vec::new()),
    };
    if function == JsonRecords::One {
        return Ok(vec![record(text, columns)?]);
    }
    let _parts = charge_parts(text)?;
    let verb = if function == JsonRecords::PopulateEach { "populate" } else { "to" };
    let refused = |message: String| Err(ValueError::json_use(message));
    match Kind::of(text) {
        Kind::Array => {
            let mut rows = Vec::new();
            let mut charge = current::charge();
            for element in elements(text)? {
                if Kind::of(element) != Kind::Object {
                    let what = "must be an array of objects";
                    return refused(format!("argument of {prefix}_{verb}_recordset {what}"));
                }
                charge.add(size_of_val(columns) + element.len())?;
                rows.push(record(element, columns)?);
            }
            Ok(rows)
        }
        kind => {
            let what = match (prefix, kind) {
                ("jsonb", _) => "a non-array",
                (_, Kind::Object) => "an object",
                _ => "a scalar",
            };
            refused(format!("cannot call {prefix}_{verb}_recordset on {what}"))
        }
    }
}

/// What an object's fields become, of which there are a name and a form each.
///
/// # Errors
///
/// As of [`records`].
pub(super) fn record(object: &str, columns: &[Value]) -> Result<Vec<Value>> {
    let _parts = charge_parts(object)?;
    match Kind::of(object) {
        Kind::Object => {}
        kind => {
            let what = if kind == Kind::Array { "an array" } else { "a scalar" };
            return Err(ValueError::json_use(format!("cannot call populate_composite on {what}")));
        }
    }
    // Of equal keys the last one counts.
    let fields: HashMap<String, &str> = fields(object)?.into_iter().collect();
    let column = |[name, form]: &[Value; 2]| {
        let (Value::Text(name), Value::Text(form)) = (name, form) else { return Ok(Value::Null) };
        let (raw, form) = (fields.get(name.as_str()), FieldForm::named(form));
        match (raw, form) {
            (raw, Some(FieldForm::Has)) => Ok(Value::Bool(raw.is_some())),
            (Some(raw), Some(form)) => field(name, raw, form),
            _ => Ok(Value::Null),
        }
    };
    columns.as_chunks::<2>().0.iter().map(column).collect()
}

fn field(name: &str, raw: &str, form: FieldForm) -> Result<Value> {
    match (Kind::of(raw), form) {
        (Kind::Null, _) => Ok(Value::Null),
        (_, FieldForm::Json) => Ok(Value::Text(raw.to_owned())),
        (Kind::Array, FieldForm::Array | FieldForm::JsonArray) => {
            array_text(name, raw, form).map(Value::Text)
        }
        (Kind::Text, _) => text_of(raw).map(Value::Text),
        (_, FieldForm::Array | FieldForm::JsonArray) => Err(ValueError::no_json_array(name)),
        _ => Ok(Value::Text(raw.to_owned())),
    }
}

/// An array as the text of one of SQL. Where its first element is an array, all of them are, and
/// of equal lengths.
pub(super) fn array_text(name: &str, raw: &str, form: FieldForm) -> Result<String> {
    let all = elements(raw)?;
    if all.first().is_some_and(|first| Kind::of(first) == Kind::Array) {
        let (mut text, mut length, mut is_empty) = (String::from("{"), None, true);
        for (at, element) in all.into_iter().enumerate() {
            if Kind::of(element) != Kind::Array {
                return Err(ValueError::no_json_array(name));
            }
            let own = elements(element)?.len();
            if *length.get_or_insert(own) != own {
                return Err(ValueError::ragged_json_array());
            }
            text += if at > 0 { "," } else { "" };
            let inner = array_text(name, element, form)?;
            is_empty &= inner == "{}";
            text += &inner;
        }
        return Ok(if is_empty { "{}".to_owned() } else { text + "}" });
    }
    let shown = |element: &str| match Kind::of(element) {
        Kind::Null => Ok(Value::Null),
        Kind::Text if form == FieldForm::Array => text_of(element).map(Value::Text),
        _ => Ok(Value::Text(element.to_owned())),
    };
    let elements = all.into_iter().map(shown).collect::<Result<_>>()?;
    Ok(Value::Array(elements).to_string())
}
