//! The items that a path goes through.

use std::borrow::Cow;

use crate::json::node::{Node, Spacing};
use crate::json::{Kind, Result, jsonb, text_of, write_text};
use crate::value::{TextBuilder, Value};

/// One of the things that a path goes through.
#[derive(Clone, Debug)]
pub(super) enum Item<'n> {
    At(&'n Node<'n>),
    Number(String),
    Text(String),
    Bool(bool),
    Null,
    /// of `.keyvalue()`: the number of its object, a key, a value
    Pair(u64, &'n str, &'n Node<'n>),
}

impl<'n> Item<'n> {
    pub(super) fn kind(&self) -> Kind {
        match self {
            Self::At(Node::Object(_)) | Self::Pair(..) => Kind::Object,
            Self::At(Node::Array(_)) => Kind::Array,
            Self::At(Node::Scalar(raw)) => Kind::of(raw),
            Self::Number(_) => Kind::Number,
            Self::Text(_) => Kind::Text,
            Self::Bool(_) => Kind::Boolean,
            Self::Null => Kind::Null,
        }
    }

    pub(super) fn number(&self) -> Option<&str> {
        match self {
            Self::At(Node::Scalar(raw)) if Kind::of(raw) == Kind::Number => Some(raw),
            Self::Number(number) => Some(number),
            _ => None,
        }
    }

    pub(super) fn text(&self) -> Result<Option<Cow<'_, str>>> {
        Ok(match self {
            Self::At(Node::Scalar(raw)) if Kind::of(raw) == Kind::Text => {
                Some(Cow::Owned(text_of(raw)?))
            }
            Self::Text(text) => Some(Cow::Borrowed(text)),
            _ => None,
        })
    }

    pub(super) fn truth(&self) -> Option<bool> {
        match self {
            Self::At(Node::Scalar(raw)) if Kind::of(raw) == Kind::Boolean => Some(*raw == "true"),
            Self::Bool(truth) => Some(*truth),
            _ => None,
        }
    }

    pub(super) fn elements(&self) -> Option<&'n [Node<'n>]> {
        match self {
            Self::At(Node::Array(elements)) => Some(elements),
            _ => None,
        }
    }

    /// What an object has by a key; none: it is no object, or has no such key.
    pub(super) fn field(&self, name: &str) -> Option<Item<'n>> {
        match self {
            Self::At(Node::Object(fields)) => {
                let found = fields.iter().find(|(key, _)| key == name);
                found.map(|(_, value)| Item::At(value))
            }
            Self::Pair(number, key, value) => match name {
                "id" => Some(Item::Number(number.to_string())),
                "key" => Some(Item::Text((*key).to_owned())),
                "value" => Some(Item::At(value)),
                _ => None,
            },
            _ => None,
        }
    }

    /// The values of an object or of an array.
    pub(super) fn children(&self) -> Vec<Item<'n>> {
        match self {
            Self::At(Node::Array(elements)) => elements.iter().map(Item::At).collect(),
            Self::At(Node::Object(fields)) => {
                fields.iter().map(|(_, value)| Item::At(value)).collect()
            }
            Self::Pair(..) => {
                ["id", "key", "value"].iter().filter_map(|name| self.field(name)).collect()
            }
            _ => Vec::new(),
        }
    }

    pub(super) fn bytes(&self) -> usize {
        match self {
            Self::Number(text) | Self::Text(text) => text.len(),
            _ => 0,
        }
    }

    pub(super) fn write(&self, out: &mut TextBuilder) -> Result<()> {
        match self {
            Self::At(node) => (*node).clone().write(Spacing::Normal, out),
            Self::Number(number) => out.push(number),
            Self::Text(text) => write_text(text, out),
            Self::Bool(truth) => out.push(if *truth { "true" } else { "false" }),
            Self::Null => out.push("null"),
            Self::Pair(number, key, value) => {
                out.push(&format!("{{\"id\": {number}, \"key\": "))?;
                write_text(key, out)?;
                out.push(", \"value\": ")?;
                Item::At(value).write(out)?;
                out.push("}")
            }
        }
    }

    pub(super) fn json(&self) -> Result<Value> {
        let mut out = jsonb();
        self.write(&mut out)?;
        Ok(Value::Jsonb(out.finish()))
    }
}
