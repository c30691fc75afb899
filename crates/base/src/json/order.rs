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
use super::number::Parts;
use super::{Kind, Result, normal_fields, text_of};
use crate::interrupt::current;

/// What ends texts and the digits of numbers: less than any byte of theirs.
const END: u8 = 0;

/// The key of a value's place in the order of all.
pub(super) fn order_key(raw: &str) -> Result<Vec<u8>> {
    // Escapes get shorter, and what is told of parts is at most as long as brackets and commas are,
    // but for numbers and counts.
    let mut charge = current::charge();
    charge.add(8 * raw.len() + 16)?;
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
    let Parts { is_negative, significant, point, .. } = Parts::of(raw)?;
    if significant.is_empty() {
        key.push(1); // between those that are less and those that are greater
        return Ok(());
    }
    key.push(if is_negative { 0 } else { 2 });
    let start = key.len();
    key.extend((point.wrapping_sub(i64::MIN) as u64).to_be_bytes());
    key.extend(significant.trim_end_matches('0').bytes());
    key.push(END);
    if is_negative {
        key[start..].iter_mut().for_each(|byte| *byte = !*byte);
    }
    Ok(())
}
