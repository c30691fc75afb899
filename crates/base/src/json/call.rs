//! The functions and operators of json and jsonb.

use super::change::{Change, assigned, changed, indexed, place_of};
use super::node::{Node, Spacing};
use super::populate::populate;
use super::records::record;
use super::text_of;
use super::{
    BYTES_MAX, Kind, Result, array_of, charge_parts, check_depth, elements, fields, json_of,
    object_of, object_of_texts, row_of,
};
use crate::interrupt::current;
use crate::types::DataType;
use crate::value::{TextBuilder, Value, ValueError};

/// The longest text of jsonb_pretty.
const PRETTY_BYTES_MAX: usize = 1 << 28;

/// A function or an operator. A path is one argument for each of its steps, at the end of them;
/// NULL in any argument gives NULL, but for those that build.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum JsonFunction {
    /// `json -> key`, `json -> index`
    Get,
    /// `json ->> key`, `json ->> index`
    GetText,
    /// `json #> path`, json_extract_path(json, ...)
    Path,
    /// `json #>> path`, json_extract_path_text(json, ...)
    PathText,
    /// `jsonb @> jsonb`
    Contains,
    /// `jsonb ? key`
    HasKey,
    /// `jsonb ?| keys`
    HasAnyKey,
    /// `jsonb ?& keys`
    HasAllKeys,
    /// `jsonb || jsonb`
    Concat,
    /// `jsonb - key`, `jsonb - index`
    Delete,
    /// `jsonb - keys`
    DeleteKeys,
    /// `jsonb #- path`
    DeletePath,
    /// jsonb_set(target, new, creates, path ...): the path stands at the end
    Set,
    /// jsonb_insert(target, new, after, path ...)
    Insert,
    /// `target[step][step] := new`: (target, new, whether NULL counts as an array, step ...), where
    /// target and new may be NULL
    Assign,
    /// a field of an object for a column: (json, name, [`FieldForm`](super::FieldForm))
    Field,
    /// json_strip_nulls(json)
    StripNulls,
    /// jsonb_pretty(jsonb)
    Pretty,
    /// json_typeof(json)
    TypeOf,
    /// bytes in the order of jsonb values
    OrderKey,
    /// json_array_length(json)
    ArrayLength,
    /// json_build_object(key, value, ...)
    BuildObject,
    /// json_build_array(value, ...)
    BuildArray,
    /// a json as a value of the type that is given: (json, the row that it is laid over)
    Populate,
    /// json_build_object(VARIADIC array)
    ObjectOf,
    /// json_build_array(VARIADIC array)
    ArrayOf,
    /// to_json(value)
    ToJson,
    /// row_to_json(row): keys and values in turn
    Row,
    /// json_object(keys and values), json_object(keys, values), of arrays
    Object,
}

impl JsonFunction {
    /// Whether it is called for NULL, too.
    pub const fn takes_nulls(self) -> bool {
        matches!(
            self,
            Self::BuildObject | Self::BuildArray | Self::Row | Self::Assign | Self::Populate
        )
    }
}

/// Calls a function, whose result is of type `gives`.
pub fn call(function: JsonFunction, arguments: &[Value], gives: DataType) -> Result<Value> {
    use JsonFunction as F;
    match function {
        F::BuildObject => {
            let pairs = arguments.as_chunks::<2>().0.iter().map(|[key, value]| (key, value));
            return object_of(pairs, ["{", "}"], gives);
        }
        F::BuildArray => return array_of(arguments, gives),
        F::Row => {
            let pairs = arguments.as_chunks::<2>().0.iter().map(|[key, value]| (key, value));
            return row_of(pairs, gives);
        }
        F::Assign => return assign(arguments),
        F::Populate => return populate(arguments, gives),
        _ if arguments.iter().any(Value::is_null) => return Ok(Value::Null),
        _ => {}
    }
    let [first, rest @ ..] = arguments else { return Ok(Value::Null) };
    match function {
        F::ToJson => return json_of(first, gives),
        F::ArrayOf => return array_of(first.elements().unwrap_or_default(), gives),
        F::ObjectOf => {
            let (pairs, rest) = first.elements().unwrap_or_default().as_chunks::<2>();
            if !rest.is_empty() {
                let message = "argument list must have even number of elements";
                return Err(ValueError::json_use(message.to_owned()));
            }
            let pairs = pairs.iter().map(|[key, value]| (key, value));
            return object_of(pairs, ["{", "}"], gives);
        }
        F::Object => return object_of_texts(first, rest.first(), gives),
        _ => {}
    }
    let (Value::Json(own) | Value::Jsonb(own)) = first else { return Ok(Value::Null) };
    if function == F::Field {
        return Ok(record(own, rest)?.pop().unwrap_or_default());
    }
    let is_binary = matches!(first, Value::Jsonb(_));
    let _parts = charge_parts(own)?;
    let found = match function {
        F::Get | F::GetText => rest.first().map_or(Ok(None), |step| part(own, step, is_binary))?,
        F::Path | F::PathText => along(own, rest)?,
        _ => return whole(function, own, rest, is_binary),
    };
    match found {
        None => Ok(Value::Null),
        Some(found) if matches!(function, F::GetText | F::PathText) => as_text(found),
        Some(found) => Ok(like(found.to_owned(), is_binary)),
    }
}

/// What looks at all of a value.
fn whole(function: JsonFunction, own: &str, rest: &[Value], is_binary: bool) -> Result<Value> {
    use JsonFunction as F;
    let keys = || rest.iter().map(text);
    let jsonb = |node: Node<'_>| node.normal().map(Value::Jsonb);
    let _others = rest.iter().map(|other| charge_parts(text(other))).collect::<Result<Vec<_>>>()?;
    Ok(match function {
        F::Contains => {
            let other = rest.first().map_or("null", text);
            Value::Bool(Node::read(own)?.contains(&Node::read(other)?)?)
        }
        F::HasKey | F::HasAnyKey => Value::Bool(try_any(keys(), |key| has_key(own, key))?),
        F::HasAllKeys => Value::Bool(!try_any(keys(), |key| has_key(own, key).map(|has| !has))?),
        F::Concat => {
            let other = rest.first().map_or("", text);
            check_len(own.len() + other.len())?;
            jsonb(concat(Node::read(own)?, Node::read(other)?))?
        }
        F::Delete | F::DeleteKeys => {
            let mut node = Node::read(own)?;
            for key in rest {
                node = without(node, key)?;
            }
            jsonb(node)?
        }
        F::DeletePath => {
            let path: Vec<_> = keys().map(str::to_owned).collect();
            jsonb(changed(Node::read(own)?, &path, Change::Delete, &Node::Scalar("null"))?)?
        }
        F::Set | F::Insert => {
            let [new, flag, path @ ..] = rest else { return Ok(Value::Null) };
            let change = match (function, *flag == Value::Bool(true)) {
                (F::Set, true) => Change::SetOrCreate,
                (F::Set, false) => Change::Set,
                (_, true) => Change::InsertAfter,
                (_, false) => Change::InsertBefore,
            };
            let path: Vec<_> = path.iter().map(|step| text(step).to_owned()).collect();
            let changed = changed(Node::read(own)?, &path, change, &Node::read(text(new))?)?;
            let changed = changed.normal()?;
            check_depth(&changed)?;
            Value::Jsonb(changed)
        }
        F::StripNulls => {
            let stripped = Node::read(own)?.strip_nulls();
            let mut out = super::jsonb();
            let spacing = if is_binary { Spacing::Normal } else { Spacing::None };
            stripped.write(spacing, &mut out)?;
            like(out.finish(), is_binary)
        }
        F::Pretty => {
            let mut out = TextBuilder::new("text", PRETTY_BYTES_MAX);
            Node::read(own)?.write_pretty(0, &mut out)?;
            Value::Text(out.finish())
        }
        F::TypeOf => Value::Text(Kind::of(own).name().to_owned()),
        F::OrderKey => Value::Bytea(super::order::order_key(own)?),
        _ => match Kind::of(own) {
            Kind::Array => Value::Int(elements(own)?.len() as i32),
            Kind::Object => {
                return Err(ValueError::json_use(
                    "cannot get array length of a non-array".to_owned(),
                ));
            }
            _ => {
                return Err(ValueError::json_use("cannot get array length of a scalar".to_owned()));
            }
        },
    })
}

/// An assignment to what subscripts lead to.
fn assign(arguments: &[Value]) -> Result<Value> {
    let [target, new, is_array, steps @ ..] = arguments else { return Ok(Value::Null) };
    if steps.iter().any(Value::is_null) {
        let message = "jsonb subscript in assignment must not be null";
        return Err(ValueError::json_error("22004", message.to_owned()));
    }
    let own = match (target, is_array) {
        (Value::Jsonb(own), _) => own.as_str(),
        (_, Value::Bool(true)) => "[]",
        _ => "{}",
    };
    let new = if new.is_null() { "null" } else { text(new) };
    let _parts = (charge_parts(own)?, charge_parts(new)?);
    let steps: Vec<_> = steps.iter().map(|step| text(step).to_owned()).collect();
    let mut nulls = current::charge();
    let text = assigned(Node::read(own)?, &steps, Node::read(new)?, &mut nulls)?.normal()?;
    check_depth(&text)?;
    Ok(Value::Jsonb(text))
}

fn try_any<'k>(
    keys: impl Iterator<Item = &'k str>,
    mut test: impl FnMut(&str) -> Result<bool>,
) -> Result<bool> {
    for key in keys {
        if test(key)? {
            return Ok(true);
        }
    }
    Ok(false)
}

fn text(value: &Value) -> &str {
    match value {
        Value::Text(text) | Value::Json(text) | Value::Jsonb(text) => text,
        _ => "",
    }
}

fn integer(value: &Value) -> Option<i64> {
    match value {
        Value::SmallInt(n) => Some(i64::from(*n)),
        Value::Int(n) => Some(i64::from(*n)),
        _ => None,
    }
}

pub(super) fn like(text: String, is_binary: bool) -> Value {
    if is_binary { Value::Jsonb(text) } else { Value::Json(text) }
}

/// A part as the text that it says; that of null is NULL.
pub(super) fn as_text(raw: &str) -> Result<Value> {
    Ok(match Kind::of(raw) {
        Kind::Null => Value::Null,
        Kind::Text => Value::Text(text_of(raw)?),
        _ => Value::Text(raw.to_owned()),
    })
}

/// A field by its key, or an element by its index.
fn part<'a>(own: &'a str, step: &Value, is_binary: bool) -> Result<Option<&'a str>> {
    Ok(match (Kind::of(own), integer(step)) {
        (Kind::Object, None) => field(own, text(step))?,
        (Kind::Array, Some(index)) => indexed(elements(own)?, index),
        // To PostgreSQL a jsonb that is a scalar is an array of one.
        (kind, Some(0 | -1)) if is_binary && !kind.is_container() => Some(own),
        _ => None,
    })
}

fn field<'a>(object: &'a str, key: &str) -> Result<Option<&'a str>> {
    let mut fields = fields(object)?.into_iter().rev();
    Ok(fields.find(|(known, _)| known == key).map(|(_, value)| value))
}

fn along<'a>(own: &'a str, path: &[Value]) -> Result<Option<&'a str>> {
    let mut at = own;
    for step in path {
        let next = match Kind::of(at) {
            Kind::Object => field(at, text(step))?,
            Kind::Array => match text(step).trim_ascii_start().parse::<i32>() {
                Ok(index) => indexed(elements(at)?, index.into()),
                Err(_) => None,
            },
            _ => None,
        };
        let Some(next) = next else { return Ok(None) };
        at = next;
    }
    Ok(Some(at))
}

/// Whether an object has a key, or an array a text, or it is that text.
fn has_key(own: &str, key: &str) -> Result<bool> {
    let is_key = |raw: &str| Ok(Kind::of(raw) == Kind::Text && text_of(raw)? == key);
    match Kind::of(own) {
        Kind::Object => Ok(fields(own)?.iter().any(|(known, _)| known == key)),
        Kind::Array => try_any(elements(own)?.into_iter(), is_key),
        _ => is_key(own),
    }
}

/// Refuses what would be longer than a jsonb may be, before it is taken apart.
fn check_len(bytes: usize) -> Result<()> {
    if bytes > BYTES_MAX { Err(ValueError::too_many_bytes("jsonb", BYTES_MAX)) } else { Ok(()) }
}

fn concat<'a>(left: Node<'a>, right: Node<'a>) -> Node<'a> {
    let list = |node: Node<'a>| match node {
        Node::Array(all) => all,
        one => vec![one],
    };
    match (left, right) {
        (Node::Object(mut fields), Node::Object(more)) => {
            fields.extend(more);
            Node::Object(fields)
        }
        (left, right) => {
            let mut all = list(left);
            all.extend(list(right));
            Node::Array(all)
        }
    }
}

/// Without a key or the texts equal to it, or without the element at an index.
fn without<'a>(node: Node<'a>, key: &Value) -> Result<Node<'a>> {
    let refused = |what: &str| Err(ValueError::json_use(format!("cannot delete from {what}")));
    match (node, integer(key)) {
        (Node::Scalar(_), _) => refused("scalar"),
        (Node::Object(_), Some(_)) => refused("object using integer index"),
        (Node::Object(mut fields), None) => {
            fields.retain(|(known, _)| known != text(key));
            Ok(Node::Object(fields))
        }
        (Node::Array(mut all), Some(index)) => {
            if let Ok(at) = place_of(index, all.len()) {
                all.remove(at);
            }
            Ok(Node::Array(all))
        }
        (Node::Array(mut all), None) => {
            let mut quoted = super::jsonb();
            super::write_text(text(key), &mut quoted)?;
            let quoted = quoted.finish();
            all.retain(|one| !matches!(one, Node::Scalar(raw) if *raw == quoted));
            Ok(Node::Array(all))
        }
    }
}

/// A jsonb as a boolean or as the text of a number: what a cast to those types takes.
pub(crate) fn scalar_of(jsonb: &str, to: DataType) -> Result<Value> {
    let kind = Kind::of(jsonb);
    let fits = match to {
        DataType::Boolean => kind == Kind::Boolean,
        _ => kind == Kind::Number,
    };
    if !fits {
        let message = format!("cannot cast jsonb {} to type {to}", Kind::of(jsonb).name());
        return Err(ValueError::json_use(message));
    }
    Ok(match to {
        DataType::Boolean => Value::Bool(jsonb == "true"),
        DataType::SmallInt | DataType::Integer | DataType::BigInt => {
            // Rounded, as a numeric is.
            Value::parse(DataType::AnyNumeric, jsonb)?
        }
        _ => Value::parse(to, jsonb)?,
    })
}
