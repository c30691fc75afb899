//! Functions of json and jsonb that give rows.

use super::call::{as_text, like};
use super::{Kind, Result, charge_parts, elements, fields, normal_fields};
use crate::value::{Value, ValueError};

/// A function that gives rows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum JsonRows {
    /// json_array_elements(json): value
    Elements,
    /// json_array_elements_text(json): value
    ElementsText,
    /// json_each(json): key, value
    Each,
    /// json_each_text(json): key, value
    EachText,
    /// json_object_keys(json): key
    Keys,
}

/// The rows of a value; none of NULL.
pub fn rows(function: JsonRows, value: &Value) -> Result<Vec<Vec<Value>>> {
    let (text, is_binary) = match value {
        Value::Json(text) => (text, false),
        Value::Jsonb(text) => (text, true),
        _ => return Ok(Vec::new()),
    };
    let is_text = matches!(function, JsonRows::ElementsText | JsonRows::EachText);
    let shown = |raw: &str| match is_text {
        true => as_text(raw),
        false => Ok(like(raw.to_owned(), is_binary)),
    };
    let _parts = charge_parts(text)?;
    match (function, Kind::of(text)) {
        (JsonRows::Elements | JsonRows::ElementsText, Kind::Array) => {
            elements(text)?.into_iter().map(|raw| Ok(vec![shown(raw)?])).collect()
        }
        (JsonRows::Each | JsonRows::EachText, Kind::Object) => {
            let row = |(key, raw): (String, &str)| Ok(vec![Value::Text(key), shown(raw)?]);
            fields(text)?.into_iter().map(row).collect()
        }
        (JsonRows::Keys, Kind::Object) => {
            let fields = fields(text)?;
            let fields = if is_binary { normal_fields(fields) } else { fields };
            Ok(fields.into_iter().map(|(key, _)| vec![Value::Text(key)]).collect())
        }
        (function, kind) => Err(ValueError::json_use(refusal(function, kind, is_binary))),
    }
}

/// What PostgreSQL says to a value that has no such rows.
fn refusal(function: JsonRows, kind: Kind, is_binary: bool) -> String {
    let prefix = if is_binary { "jsonb" } else { "json" };
    let is_scalar = !kind.is_container();
    match function {
        JsonRows::Elements | JsonRows::ElementsText if is_binary => {
            let what = if is_scalar { "a scalar" } else { "an object" };
            format!("cannot extract elements from {what}")
        }
        JsonRows::Elements | JsonRows::ElementsText => {
            let suffix = if function == JsonRows::ElementsText { "_text" } else { "" };
            let what = if is_scalar { "a scalar" } else { "a non-array" };
            format!("cannot call json_array_elements{suffix} on {what}")
        }
        JsonRows::Each | JsonRows::EachText if is_binary => {
            let suffix = if function == JsonRows::EachText { "_text" } else { "" };
            format!("cannot call jsonb_each{suffix} on a non-object")
        }
        JsonRows::Each | JsonRows::EachText if is_scalar => {
            "cannot deconstruct a scalar".to_owned()
        }
        JsonRows::Each | JsonRows::EachText => {
            "cannot deconstruct an array as an object".to_owned()
        }
        JsonRows::Keys => {
            let what = if is_scalar { "a scalar" } else { "an array" };
            format!("cannot call {prefix}_object_keys on {what}")
        }
    }
}
