//! Arrays: one-dimensional. As parameters their elements lie in a list; in columns they are
//! [packed](crate::packed).

use std::fmt;

use super::{Value, ValueError};
use crate::datum::Datum;
use crate::interrupt::current::{self, Pace};
use crate::memory::{Charge, OutOfMemory};
use crate::types::{DataType, SqlType};

impl Value {
    /// The value as a datum of a parameter's type: a scalar as [`Value::to_datum`] makes it, an
    /// array as a range of `elements`, to which its elements are appended. A text is read as an
    /// array literal.
    pub fn to_parameter(
        &self,
        sql_type: SqlType,
        heap: &mut Vec<u8>,
        elements: &mut Vec<Datum>,
    ) -> Result<Datum, ValueError> {
        let (element, values) = match (sql_type, self) {
            (SqlType::Scalar(data_type), _) => return self.to_datum(data_type, heap),
            (_, Self::Null) => return Ok(Datum::NULL),
            (SqlType::Array(element), Self::Array(values)) => (element, values),
            (SqlType::Array(element), Self::Text(text)) => {
                let array = Self::parse_array(element, text)?;
                return array.to_parameter(sql_type, heap, elements);
            }
            _ => return Err(ValueError::no_cast(self.type_name(), sql_type)),
        };
        let start = elements.len();
        for value in values {
            elements.push(value.to_datum(element, heap)?);
        }
        Ok(Datum::range(start as u32, values.len() as u32))
    }

    /// The value of a datum of a parameter's type.
    pub fn from_parameter(
        datum: Datum,
        sql_type: SqlType,
        heap: &[u8],
        elements: &[Datum],
    ) -> Self {
        match sql_type {
            SqlType::Scalar(data_type) => Self::from_datum(datum, data_type, heap),
            SqlType::Array(_) if datum.is_null() => Self::Null,
            SqlType::Array(element) => Self::Array(
                elements[datum.as_range().range()]
                    .iter()
                    .map(|&datum| Self::from_datum(datum, element, heap))
                    .collect(),
            ),
        }
    }

    /// The value of an array literal, `{1,2,NULL}` or `{"a b",c}`.
    pub fn parse_array(element: DataType, text: &str) -> Result<Self, ValueError> {
        let malformed = || ValueError::malformed_array(text);
        let begin = text.trim_ascii_start();
        let is_nested =
            begin.strip_prefix('{').is_some_and(|in_it| in_it.trim_ascii_start().starts_with('{'));
        if is_nested || begin.starts_with('[') {
            return Err(ValueError::array_form(text));
        }
        let Some(begun) = text.trim_ascii().strip_prefix('{') else {
            let detail = "Array value must start with \"{\" or dimension information.";
            return Err(ValueError::malformed_array_because(text, detail));
        };
        let Some(inner) = begun.strip_suffix('}') else {
            let detail = match begun.contains('}') {
                true => "Junk after closing right brace.",
                false => "Unexpected end of input.",
            };
            return Err(ValueError::malformed_array_because(text, detail));
        };
        let mut rest = inner.trim_ascii();
        // Until somebody has them all, who charges them then.
        let count = 1 + rest.bytes().filter(|byte| *byte == b',').count();
        let _list = charged_list(count, rest.len())?;
        let (mut values, mut pace) = (Vec::new(), Pace::new());
        while !rest.is_empty() {
            let (item, behind) = split_item(rest).ok_or_else(malformed)?;
            pace.went(rest.len() - behind.len() + size_of::<Self>())?;
            values.push(match item {
                Item::Bare(word) if word.eq_ignore_ascii_case("null") => Self::Null,
                Item::Bare(word) => Self::parse(element, word)?,
                Item::Quoted(word) => Self::parse(element, &word)?,
            });
            rest = match behind.strip_prefix(',') {
                Some(next) if !next.trim_ascii_start().is_empty() => next.trim_ascii_start(),
                None if behind.is_empty() => behind,
                _ => return Err(malformed()),
            };
        }
        Ok(Self::Array(values))
    }
}

/// A list that nobody knows of before it is read costs nobody anything up to here.
const FREE_BYTES: usize = 64 << 10;

/// The charge of a list of so many values with so many bytes of texts, which grows: none of a small
/// one.
///
/// # Errors
///
/// There is no room for it.
pub fn charged_list(values: usize, text_bytes: usize) -> Result<Charge, OutOfMemory> {
    let bytes = values.saturating_mul(size_of::<Value>()).saturating_mul(3) / 2;
    let bytes = bytes.saturating_add(text_bytes);
    if bytes <= FREE_BYTES {
        return Ok(Charge::default());
    }
    let mut charge = current::charge();
    charge.add(bytes)?;
    Ok(charge)
}

enum Item<'a> {
    Bare(&'a str),
    Quoted(String),
}

/// The first item of a list that is not empty, and what lies behind it, a comma first.
fn split_item(text: &str) -> Option<(Item<'_>, &str)> {
    let Some(quoted) = text.strip_prefix('"') else {
        let (word, behind) = text.split_at(text.find(',').unwrap_or(text.len()));
        let word = word.trim_ascii();
        let is_bare = !word.is_empty() && !word.contains(['{', '}', '"', '\\']);
        return is_bare.then_some((Item::Bare(word), behind));
    };
    let (mut word, mut chars) = (String::new(), quoted.char_indices());
    loop {
        match chars.next()? {
            (end, '"') => {
                return Some((Item::Quoted(word), quoted[end + 1..].trim_ascii_start()));
            }
            (_, '\\') => word.push(chars.next()?.1),
            (_, other) => word.push(other),
        }
    }
}

pub(super) fn write_array(elements: &[Value], f: &mut fmt::Formatter<'_>) -> fmt::Result {
    f.write_str("{")?;
    for (i, element) in elements.iter().enumerate() {
        f.write_str(if i > 0 { "," } else { "" })?;
        let text = element.to_string();
        if element.is_null() || !needs_quotes(&text) {
            f.write_str(&text)?;
        } else {
            write!(f, "\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))?;
        }
    }
    f.write_str("}")
}

fn needs_quotes(text: &str) -> bool {
    let special = |c: char| matches!(c, '{' | '}' | ',' | '"' | '\\') || c.is_ascii_whitespace();
    // A vertical tab is white space to PostgreSQL, though not to Rust.
    text.is_empty()
        || text.eq_ignore_ascii_case("null")
        || text.contains(special)
        || text.contains('\u{b}')
}
