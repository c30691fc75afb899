//! JSON: texts checked, taken apart and brought into normal form; the functions and operators of
//! the types json and jsonb.
//!
//! Role         `value` reads and writes the types by it; programs and queries call its functions
//! Invariants   I1 a json is kept as it was written, a jsonb in PostgreSQL's normal form: a key
//!                 once, with its last value; keys by length, then by bytes; numbers with the
//!                 digits that they were written with and without exponents
//!              I2 no value is deeper than [`DEPTH_MAX`], no normal form longer than
//!                 [`BYTES_MAX`]: recursion and memory are bounded
//!
//! serde_json reads and writes: `RawValue` tells where a value begins and ends, so that numbers
//! keep their digits and a part of a json its blanks, which serde_json's own values do not. A value
//! is read once for each level that it lies below, which I2 bounds.

mod call;
mod change;
mod node;
mod number;
mod order;
mod path;
mod populate;
mod records;
mod rows;
mod write;

#[cfg(test)]
mod tests;

pub(crate) use call::scalar_of;
pub use call::{JsonFunction, call};
pub use path::{Like, Path, PathFunction, PathTarget, evaluate as evaluate_path, normal_path};
pub use records::{FieldForm, JsonRecords, records};
pub use rows::{JsonRows, rows};
pub use write::{array_in_lines, array_of, json_of, object_of};
use write::{object_of_texts, row_of};

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;
use std::cell::RefCell;
use std::fmt;

use crate::interrupt::current::{self, Pace};
use crate::memory::Charge;
use crate::value::{TextBuilder, ValueError};

/// Arrays and objects within each other. PostgreSQL's limit is its stack, some thousands.
pub const DEPTH_MAX: usize = 128;
/// The longest value, and the longest normal form: exponents make short texts long.
const BYTES_MAX: usize = 1 << 26;

thread_local! {
    static PACE: RefCell<Pace> = const { RefCell::new(Pace::new()) };
}

type Result<T> = std::result::Result<T, ValueError>;

/// Checks a text of type json.
pub fn check(text: &str) -> Result<()> {
    if text.len() > BYTES_MAX {
        return Err(ValueError::too_many_bytes("json", BYTES_MAX));
    }
    check_depth(text)?;
    raw(text).map(drop)
}

/// The normal form of a text: what a jsonb is.
pub fn normal(text: &str) -> Result<String> {
    if text.len() > BYTES_MAX {
        return Err(ValueError::too_many_bytes("jsonb", BYTES_MAX));
    }
    check_depth(text)?;
    let _parts = charge_parts(text)?;
    let mut out = jsonb();
    out.reserve(text.len())?;
    write_normal(raw(text)?, &mut out)?;
    Ok(out.finish())
}

/// The normal form of a value while it is written.
fn jsonb() -> TextBuilder {
    TextBuilder::new("jsonb", BYTES_MAX)
}

/// What a part of a value takes while it is looked at: where it begins and ends, its key, a node.
const PART_BYTES: usize = 160;

/// Charges the parts that a value is taken into, of which nobody knows more than that commas are
/// between them.
fn charge_parts(text: &str) -> Result<Charge> {
    let parts = 1 + text.bytes().filter(|byte| matches!(byte, b',' | b'[' | b'{')).count();
    let mut charge = current::charge();
    charge.add(parts.saturating_mul(PART_BYTES).saturating_add(text.len()))?;
    Ok(charge)
}

/// What a value is, by its first byte.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    Object,
    Array,
    Text,
    Number,
    Boolean,
    Null,
}

impl Kind {
    /// Of a value that has been checked.
    pub(crate) fn of(raw: &str) -> Self {
        match raw.trim_ascii_start().as_bytes().first() {
            Some(b'{') => Self::Object,
            Some(b'[') => Self::Array,
            Some(b'"') => Self::Text,
            Some(b't' | b'f') => Self::Boolean,
            Some(b'n') => Self::Null,
            _ => Self::Number,
        }
    }

    /// What `jsonb_typeof` and `.type()` call it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Object => "object",
            Self::Array => "array",
            Self::Text => "string",
            Self::Number => "number",
            Self::Boolean => "boolean",
            Self::Null => "null",
        }
    }

    pub(crate) fn is_container(self) -> bool {
        matches!(self, Self::Object | Self::Array)
    }
}

/// Counts brackets outside of texts; whether they are in order is serde_json's to say.
fn check_depth(text: &str) -> Result<()> {
    let (mut depth, mut in_text, mut escaped) = (0_usize, false, false);
    for byte in text.bytes() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_text => escaped = true,
            b'"' => in_text = !in_text,
            _ if in_text => {}
            b'[' | b'{' => {
                depth += 1;
                if depth > DEPTH_MAX {
                    return Err(ValueError::json_too_deep(DEPTH_MAX));
                }
            }
            b']' | b'}' => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    Ok(())
}

/// A value without the blanks around it.
fn raw(text: &str) -> Result<&str> {
    read::<&RawValue>(text).map(RawValue::get)
}

fn read<'a, T: Deserialize<'a>>(text: &'a str) -> Result<T> {
    // A value is read once for each level, of at most [`BYTES_MAX`] bytes.
    PACE.with_borrow_mut(|pace| pace.went(text.len()))?;
    serde_json::from_str(text).map_err(|problem| ValueError::json(&problem))
}

/// The elements of an array, as they are written.
pub(crate) fn elements(array: &str) -> Result<Vec<&str>> {
    let all: Vec<&RawValue> = read(array)?;
    Ok(all.into_iter().map(RawValue::get).collect())
}

/// The keys and values of an object, as they are written, each as often as it stands there.
pub(crate) fn fields(object: &str) -> Result<Vec<(String, &str)>> {
    let fields: Fields<'_> = read(object)?;
    let has_zero = fields.0.iter().any(|(key, _)| key.contains('\0'));
    if has_zero { Err(ValueError::json_zero()) } else { Ok(fields.0) }
}

/// What a text says.
pub(crate) fn text_of(raw: &str) -> Result<String> {
    let text: String = read(raw)?;
    if text.contains('\0') { Err(ValueError::json_zero()) } else { Ok(text) }
}

/// Appends a text in quotes, as PostgreSQL escapes it.
pub(crate) fn write_text(text: &str, out: &mut TextBuilder) -> Result<()> {
    let escaped = text.bytes().filter(|byte| *byte < b' ' || matches!(byte, b'"' | b'\\')).count();
    let len = text.len() + 5 * escaped + 2;
    out.reserve(len)?;
    let mut copy = current::charge();
    copy.add(2 * len)?;
    // A text always can be written.
    out.push(&serde_json::to_string(text).unwrap_or_default())
}

fn write_normal(raw: &str, out: &mut TextBuilder) -> Result<()> {
    match Kind::of(raw) {
        Kind::Object => {
            out.push("{")?;
            for (at, (key, value)) in normal_fields(fields(raw)?).into_iter().enumerate() {
                out.push(if at > 0 { ", " } else { "" })?;
                write_text(&key, out)?;
                out.push(": ")?;
                write_normal(value, out)?;
            }
            out.push("}")?;
        }
        Kind::Array => {
            out.push("[")?;
            for (at, value) in elements(raw)?.into_iter().enumerate() {
                out.push(if at > 0 { ", " } else { "" })?;
                write_normal(value, out)?;
            }
            out.push("]")?;
        }
        Kind::Text => write_text(&text_of(raw)?, out)?,
        Kind::Number => number::write_normal(raw, out)?,
        Kind::Boolean | Kind::Null => out.push(raw)?,
    }
    Ok(())
}

/// Keys in their order (I1), each with its last value.
pub(crate) fn normal_fields<V>(mut fields: Vec<(String, V)>) -> Vec<(String, V)> {
    // Backwards and stable, so that of equal keys the last comes first.
    fields.reverse();
    fields.sort_by(|(a, _), (b, _)| (a.len(), a.as_str()).cmp(&(b.len(), b.as_str())));
    fields.dedup_by(|(later, _), (kept, _)| later == kept);
    fields
}

struct Fields<'a>(Vec<(String, &'a str)>);

impl<'de: 'a, 'a> Deserialize<'de> for Fields<'a> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> std::result::Result<Self, D::Error> {
        struct Visit;
        impl<'de> Visitor<'de> for Visit {
            type Value = Vec<(String, &'de str)>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(
                self,
                mut map: A,
            ) -> std::result::Result<Self::Value, A::Error> {
                let mut fields = Vec::new();
                while let Some((key, value)) = map.next_entry::<String, &RawValue>()? {
                    fields.push((key, value.get()));
                }
                Ok(fields)
            }
        }
        from.deserialize_map(Visit).map(Self)
    }
}
