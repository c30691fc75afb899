//! Values of json as values of types that have parts: rows of composite types, and arrays of them.
//!
//! Role         what json_populate_record makes of a field that is an object or a list
//! Invariants   I1 as deep as types nest, which is bounded where they are made, and as arrays do

use std::collections::HashMap;

use super::records::array_text;
use super::{FieldForm, Kind, Result, charge_parts, elements, fields, text_of};
use crate::composite::CompositeType;
use crate::shape::DIMENSIONS_MAX;
use crate::types::DataType;
use crate::value::{Value, ValueError, checked_shape};

/// The value of a type that a json is, laid over a row, if there is one: (json, row).
///
/// # Errors
///
/// 22023 where a row is no object, 22P02 where an array is no list, and those of values.
pub(super) fn populate(arguments: &[Value], of: DataType) -> Result<Value> {
    let (raw, base) = match arguments {
        [Value::Json(raw) | Value::Jsonb(raw) | Value::Text(raw), base @ ..] => (raw, base.first()),
        [_, base, ..] => return Ok(base.clone()),
        _ => return Ok(Value::Null),
    };
    let _parts = charge_parts(raw)?;
    value_of("", raw, of, base)
}

fn value_of(name: &str, raw: &str, of: DataType, base: Option<&Value>) -> Result<Value> {
    match (Kind::of(raw), of) {
        (Kind::Null, _) => Ok(Value::Null),
        (_, DataType::Json | DataType::Jsonb) => Value::parse(of, raw),
        (Kind::Text, _) => Value::parse(of, &text_of(raw)?),
        (Kind::Object, DataType::Composite(of)) => row_of(raw, of, base),
        (kind, DataType::Composite(_)) => {
            let what = if kind == Kind::Array { "an array" } else { "a scalar" };
            Err(ValueError::json_use(format!("cannot call populate_composite on {what}")))
        }
        (Kind::Array, DataType::Array(element)) => match *element {
            row @ DataType::Composite(_) => rows_of(name, raw, row, 1),
            json if json.is_json() => {
                Value::parse(of, &array_text(name, raw, FieldForm::JsonArray)?)
            }
            _ => Value::parse(of, &array_text(name, raw, FieldForm::Array)?),
        },
        (_, DataType::Array(_)) => Err(ValueError::no_json_array(name)),
        _ => Value::parse(of, raw),
    }
}

fn row_of(object: &str, of: CompositeType, base: Option<&Value>) -> Result<Value> {
    // Of equal keys the last one counts.
    let given: HashMap<String, &str> = fields(object)?.into_iter().collect();
    let before = |at: usize| match base {
        Some(Value::Composite(_, values)) => values.get(at),
        _ => None,
    };
    let mut values = Vec::with_capacity(of.fields().len());
    for (at, (name, field)) in of.fields().iter().enumerate() {
        values.push(match given.get(&**name) {
            Some(raw) => value_of(name, raw, *field, before(at))?,
            None => before(at).cloned().unwrap_or_default(),
        });
    }
    Ok(Value::Composite(of, values))
}

/// A list of rows, or of such lists.
fn rows_of(name: &str, list: &str, row: DataType, depth: usize) -> Result<Value> {
    let all = elements(list)?;
    let is_nested = all.first().is_some_and(|first| Kind::of(first) == Kind::Array);
    if is_nested && depth > DIMENSIONS_MAX {
        return checked_shape(&[Default::default(); DIMENSIONS_MAX + 1]).map(|_| Value::Null);
    }
    let mut values = Vec::with_capacity(all.len());
    for element in all {
        values.push(match (is_nested, Kind::of(element)) {
            (true, Kind::Array) => rows_of(name, element, row, depth + 1)?,
            (true, _) => return Err(ValueError::no_json_array(name)),
            (false, _) => value_of(name, element, row, None)?,
        });
    }
    match is_nested {
        true if values.iter().all(|part| part.elements().is_some_and(<[_]>::is_empty)) => {
            Ok(Value::Array(Vec::new()))
        }
        true => Value::nested(&values).map_err(|_| ValueError::ragged_json_array()),
        false => Ok(Value::Array(values)),
    }
}
