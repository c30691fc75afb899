//! The order of jsonb values.
//!
//! Role         a key for each value, whose bytes stand in the order of the values: what
//!              comparisons compare in place of these
//! Source       PostgreSQL 15, "jsonb Indexing": object > array > boolean > number > string > null;
//!              of objects and arrays the longer ones are greater, else their parts decide, one by
//!              one, those of objects in the order in which they are kept (the shortest keys
//!              first). An empty array at the top is less than all others, as there, "for
//!              historical reasons"

use super::node::Node;
use super::{Kind, Result, normal_fields, text_of};
use crate::interrupt::current;
use crate::value::ValueError;

/// A digit's place among the bytes of a number; what is less ends it.
const END: u8 = 0;

/// The key of a value's place in the order of all.
pub(super) fn order_key(raw: &str) -> Result<Vec<u8>> {
    // Escapes get shorter, and what is told of parts is at most as long as brackets and commas are,
    // but for numbers and counts.
    current::charge().add(8 * raw.len() + 16)?;
    let mut key = Vec::with_capacity(raw.len() + 16);
    let node = Node::read(raw)?;
    let rank = match &node {
        Node::Array(all) if all.is_empty() => 0,
        Node::Scalar(_) => 1,
        _ => 2,
    };
    key.push(rank);
    put(node, &mut key)?;
    Ok(key)
}

fn put(node: Node<'_>, key: &mut Vec<u8>) -> Result<()> {
    match node {
        Node::Scalar(raw) => put_scalar(raw, key)?,
        Node::Array(all) => {
            key.push(5);
            key.extend((all.len() as u32).to_be_bytes());
            all.into_iter().try_for_each(|element| put(element, key))?;
        }
        Node::Object(fields) => {
            let fields = normal_fields(fields);
            key.push(6);
            key.extend((fields.len() as u32).to_be_bytes());
            for (name, value) in fields {
                put_text(&name, key);
                put(value, key)?;
            }
        }
    }
    Ok(())
}

fn put_scalar(raw: &str, key: &mut Vec<u8>) -> Result<()> {
    match Kind::of(raw) {
        Kind::Null => key.push(1),
        Kind::Text => {
            key.push(2);
            put_text(&text_of(raw)?, key);
        }
        Kind::Number => {
            key.push(3);
            put_number(raw, key)?;
        }
        _ => key.extend([4, u8::from(raw.starts_with('t'))]),
    }
    Ok(())
}

/// No text of jsonb has a zero in it.
fn put_text(text: &str, key: &mut Vec<u8>) {
    key.extend(text.as_bytes());
    key.push(END);
}

/// A number as its sign, the place of its first digit, and its digits; all bytes are turned around
/// where it is negative.
fn put_number(raw: &str, key: &mut Vec<u8>) -> Result<()> {
    let (is_negative, size) = match raw.strip_prefix('-') {
        Some(size) => (true, size),
        None => (false, raw),
    };
    let (digits, exponent) = size.split_once(['e', 'E']).unwrap_or((size, "0"));
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let exponent: i64 =
        exponent.parse().map_err(|_| ValueError::json_use(format!("number {raw}")))?;
    let all = || whole.bytes().chain(fraction.bytes());
    let Some(first) = all().position(|digit| digit != b'0') else {
        key.push(1); // between those that are less and those that are greater
        return Ok(());
    };
    let place = whole.len() as i64 - first as i64 + exponent;
    let last = all().collect::<Vec<_>>().iter().rposition(|digit| *digit != b'0');
    key.push(if is_negative { 0 } else { 2 });
    let start = key.len();
    key.extend((place.wrapping_sub(i64::MIN) as u64).to_be_bytes());
    key.extend(all().take(last.unwrap_or(0) + 1).skip(first));
    key.push(END);
    if is_negative {
        key[start..].iter_mut().for_each(|byte| *byte = !*byte);
    }
    Ok(())
}
