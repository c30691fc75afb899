//! Changes at the end of a path: jsonb_set, jsonb_insert, `#-`, `SET j['a'][0] = x`.

use super::node::Node;
use super::{BYTES_MAX, DEPTH_MAX, Result};
use crate::memory::Charge;
use crate::value::ValueError;

const NULL: Node<'static> = Node::Scalar("null");

/// What is done at the end of a path.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Change {
    Delete,
    /// jsonb_set without its last argument, or with true
    SetOrCreate,
    Set,
    InsertBefore,
    InsertAfter,
}

impl Change {
    fn creates(self) -> bool {
        matches!(self, Self::SetOrCreate | Self::InsertBefore | Self::InsertAfter)
    }
}

/// Changes what a path leads to.
pub(super) fn changed<'a>(
    node: Node<'a>,
    path: &[String],
    change: Change,
    new: &Node<'a>,
) -> Result<Node<'a>> {
    if let Node::Scalar(_) = node {
        let what = if change == Change::Delete { "delete" } else { "set" };
        return Err(ValueError::json_use(format!("cannot {what} path in scalar")));
    }
    if path.is_empty() { Ok(node) } else { step(node, path, 0, change, new) }
}

fn step<'a>(
    node: Node<'a>,
    path: &[String],
    level: usize,
    change: Change,
    new: &Node<'a>,
) -> Result<Node<'a>> {
    let Some(key) = path.get(level) else { return Ok(node) };
    let is_last = level + 1 == path.len();
    match node {
        Node::Scalar(_) => Ok(node),
        Node::Object(mut fields) => {
            let found = fields.iter().position(|(known, _)| known == key);
            match (found, is_last) {
                (Some(at), true) => match change {
                    Change::Delete => drop(fields.remove(at)),
                    Change::Set | Change::SetOrCreate => fields[at].1 = new.clone(),
                    Change::InsertBefore | Change::InsertAfter => {
                        return Err(ValueError::json_key_exists());
                    }
                },
                (Some(at), false) => {
                    let old = std::mem::replace(&mut fields[at].1, NULL);
                    fields[at].1 = step(old, path, level + 1, change, new)?;
                }
                (None, true) if change.creates() => fields.push((key.clone(), new.clone())),
                (None, _) => {}
            }
            Ok(Node::Object(fields))
        }
        Node::Array(mut all) => {
            let place = place_of(index_of(key, level)?.into(), all.len());
            match place {
                Ok(at) if !is_last => {
                    let old = std::mem::replace(&mut all[at], NULL);
                    all[at] = step(old, path, level + 1, change, new)?;
                }
                Ok(at) => match change {
                    Change::Delete => drop(all.remove(at)),
                    Change::Set | Change::SetOrCreate => all[at] = new.clone(),
                    Change::InsertBefore => all.insert(at, new.clone()),
                    Change::InsertAfter => all.insert(at + 1, new.clone()),
                },
                Err(end) if is_last && change.creates() => match end {
                    End::Front => all.insert(0, new.clone()),
                    End::Back => all.push(new.clone()),
                },
                Err(_) => {}
            }
            Ok(Node::Array(all))
        }
    }
}

/// Assigns to what a path leads to; what is missing on the way is made: objects for steps that are
/// names, arrays, with nulls before the place, for those that are numbers. Of `{"a": [1]}` and
/// `[a][3][b]` it makes `{"a": [1, null, null, {"b": new}]}`. `nulls` is charged for those.
///
/// # Errors
///
/// 22023 where the way leads through a scalar, or before an array's begin; 22P02 where a step into
/// an array is no number; 54001 where there are more steps than a value has levels.
pub(super) fn assigned<'a>(
    node: Node<'a>,
    path: &[String],
    new: Node<'a>,
    nulls: &mut Charge,
) -> Result<Node<'a>> {
    if path.len() > DEPTH_MAX {
        return Err(ValueError::json_too_deep(DEPTH_MAX));
    }
    assign(node, path, 0, new, nulls)
}

fn assign<'a>(
    node: Node<'a>,
    path: &[String],
    level: usize,
    new: Node<'a>,
    nulls: &mut Charge,
) -> Result<Node<'a>> {
    let Some(key) = path.get(level) else { return Ok(new) };
    let next = level + 1;
    let within = |old: &mut Node<'a>, new: Node<'a>, nulls: &mut Charge| -> Result<()> {
        let before = std::mem::replace(old, NULL);
        *old = if next == path.len() { new } else { assign(before, path, next, new, nulls)? };
        Ok(())
    };
    match node {
        Node::Scalar(_) => Err(ValueError::json_within_scalar()),
        Node::Object(mut fields) => {
            match fields.iter().position(|(known, _)| known == key) {
                Some(at) => within(&mut fields[at].1, new, nulls)?,
                None => fields.push((key.clone(), made_for(&path[next..], new, nulls)?)),
            }
            Ok(Node::Object(fields))
        }
        Node::Array(mut all) => {
            let index = index_of(key, level)?;
            match place_of(index.into(), all.len()) {
                Ok(at) => within(&mut all[at], new, nulls)?,
                Err(End::Front) => {
                    let message =
                        format!("path element at position {next} is out of range: {index}");
                    return Err(ValueError::json_use(message));
                }
                Err(End::Back) => {
                    fill(&mut all, index, nulls)?;
                    all.push(made_for(&path[next..], new, nulls)?);
                }
            }
            Ok(Node::Array(all))
        }
    }
}

/// What is made for the rest of a path.
fn made_for<'a>(path: &[String], new: Node<'a>, nulls: &mut Charge) -> Result<Node<'a>> {
    path.iter().rev().try_fold(new, |inner, step| {
        Ok(match step.trim_ascii_start().parse::<i32>() {
            Ok(index) => {
                let mut all = Vec::new();
                fill(&mut all, index, nulls)?;
                all.push(inner);
                Node::Array(all)
            }
            Err(_) => Node::Object(vec![(step.clone(), inner)]),
        })
    })
}

/// Makes an array at least so long. The nulls are charged as long as the tree is there; the normal
/// form is charged by who writes it.
fn fill(all: &mut Vec<Node<'_>>, len: i32, charge: &mut Charge) -> Result<()> {
    let len = usize::try_from(len).unwrap_or_default().max(all.len());
    let nulls = len - all.len();
    if nulls.saturating_mul("null, ".len()) > BYTES_MAX {
        return Err(ValueError::too_many_bytes("jsonb", BYTES_MAX));
    }
    charge.add(nulls.saturating_mul(size_of::<Node<'_>>()))?;
    all.resize(len, NULL);
    Ok(())
}

fn index_of(key: &str, level: usize) -> Result<i32> {
    key.trim_ascii_start().parse().map_err(|_| {
        let at = level + 1;
        let message = format!("path element at position {at} is not an integer: \"{key}\"");
        ValueError::json_path(message)
    })
}

/// Which end of an array an index lies beyond.
pub(super) enum End {
    Front,
    Back,
}

/// The place of an index, which counts from the end if it is negative.
pub(super) fn place_of(index: i64, len: usize) -> std::result::Result<usize, End> {
    let place = if index < 0 { index + len as i64 } else { index };
    match usize::try_from(place) {
        Ok(at) if at < len => Ok(at),
        Ok(_) => Err(End::Back),
        Err(_) => Err(End::Front),
    }
}

/// The element that an index names.
pub(super) fn indexed<T>(all: Vec<T>, index: i64) -> Option<T> {
    let at = place_of(index, all.len()).ok()?;
    all.into_iter().nth(at)
}
