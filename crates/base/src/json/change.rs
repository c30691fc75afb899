//! Changes at the end of a path: jsonb_set, jsonb_insert, `#-`.

use super::Result;
use super::node::Node;
use crate::value::ValueError;

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
                    let old = std::mem::replace(&mut fields[at].1, Node::Scalar("null"));
                    fields[at].1 = step(old, path, level + 1, change, new)?;
                }
                (None, true) if change.creates() => fields.push((key.clone(), new.clone())),
                (None, _) => {}
            }
            Ok(Node::Object(fields))
        }
        Node::Array(mut all) => {
            let index: i32 = key.trim_ascii().parse().map_err(|_| {
                let at = level + 1;
                let message = format!("path element at position {at} is not an integer: \"{key}\"");
                ValueError::json_path(message)
            })?;
            let place = place_of(index.into(), all.len());
            match place {
                Ok(at) if !is_last => {
                    let old = std::mem::replace(&mut all[at], Node::Scalar("null"));
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
