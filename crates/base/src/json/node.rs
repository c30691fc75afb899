//! A value as a tree, for what looks into more than one level.

use super::{Kind, Result, elements, fields, normal_fields, number, write_text};
use crate::interrupt::current::Pace;
use crate::value::TextBuilder;

/// A value.
#[derive(Clone, Debug)]
pub(super) enum Node<'a> {
    /// as it is written
    Scalar(&'a str),
    Array(Vec<Self>),
    /// in the order in which it is written
    Object(Vec<(String, Self)>),
}

impl<'a> Node<'a> {
    /// The tree of a value that has been checked.
    pub(super) fn read(raw: &'a str) -> Result<Self> {
        Ok(match Kind::of(raw) {
            Kind::Object => {
                let read = |(key, value): (String, &'a str)| Ok((key, Self::read(value)?));
                Self::Object(fields(raw)?.into_iter().map(read).collect::<Result<_>>()?)
            }
            Kind::Array => {
                Self::Array(elements(raw)?.into_iter().map(Self::read).collect::<Result<_>>()?)
            }
            _ => Self::Scalar(raw.trim_ascii()),
        })
    }

    /// The normal form of a tree whose parts have it.
    pub(super) fn normal(self) -> Result<String> {
        let mut out = super::jsonb();
        self.write(Spacing::Normal, &mut out)?;
        Ok(out.finish())
    }

    /// Appends it.
    pub(super) fn write(self, spacing: Spacing, out: &mut TextBuilder) -> Result<()> {
        let (comma, colon) = match spacing {
            Spacing::Normal => (", ", ": "),
            Spacing::None => (",", ":"),
        };
        match self {
            Self::Scalar(raw) => out.push(raw)?,
            Self::Array(all) => {
                out.push("[")?;
                for (at, element) in all.into_iter().enumerate() {
                    out.push(if at > 0 { comma } else { "" })?;
                    element.write(spacing, out)?;
                }
                out.push("]")?;
            }
            Self::Object(fields) => {
                let fields = match spacing {
                    Spacing::Normal => normal_fields(fields),
                    Spacing::None => fields,
                };
                out.push("{")?;
                for (at, (key, value)) in fields.into_iter().enumerate() {
                    out.push(if at > 0 { comma } else { "" })?;
                    write_text(&key, out)?;
                    out.push(colon)?;
                    value.write(spacing, out)?;
                }
                out.push("}")?;
            }
        }
        Ok(())
    }

    /// Appends it with a line for each value.
    pub(super) fn write_pretty(&self, depth: usize, out: &mut TextBuilder) -> Result<()> {
        let line = |depth: usize, out: &mut TextBuilder| {
            out.push("\n")?;
            out.push(&"    ".repeat(depth))
        };
        match self {
            Self::Scalar(raw) => out.push(raw)?,
            Self::Array(all) => {
                out.push("[")?;
                for (at, element) in all.iter().enumerate() {
                    out.push(if at > 0 { "," } else { "" })?;
                    line(depth + 1, out)?;
                    element.write_pretty(depth + 1, out)?;
                }
                line(depth, out)?;
                out.push("]")?;
            }
            Self::Object(fields) => {
                out.push("{")?;
                for (at, (key, value)) in fields.iter().enumerate() {
                    out.push(if at > 0 { "," } else { "" })?;
                    line(depth + 1, out)?;
                    write_text(key, out)?;
                    out.push(": ")?;
                    value.write_pretty(depth + 1, out)?;
                }
                line(depth, out)?;
                out.push("}")?;
            }
        }
        Ok(())
    }

    /// Leaves out the fields of objects that are null.
    pub(super) fn strip_nulls(self) -> Self {
        match self {
            Self::Object(fields) => {
                let kept = fields.into_iter().filter(|(_, value)| !value.is_null());
                Self::Object(kept.map(|(key, value)| (key, value.strip_nulls())).collect())
            }
            Self::Array(all) => Self::Array(all.into_iter().map(Self::strip_nulls).collect()),
            scalar => scalar,
        }
    }

    fn is_null(&self) -> bool {
        matches!(self, Self::Scalar("null"))
    }

    /// `self @> other`; both are normal forms.
    pub(super) fn contains(&self, other: &Self) -> Result<bool> {
        match (self, other) {
            // A scalar is contained in an array, but only here, at the top.
            (Self::Array(all), Self::Scalar(_)) => {
                Ok(all.iter().any(|one| one.equals_scalar(other)))
            }
            _ => self.contains_within(other, &mut Pace::default()),
        }
    }

    /// Each with each: so many steps are looked at.
    fn contains_within(&self, other: &Self, pace: &mut Pace) -> Result<bool> {
        match (self, other) {
            (Self::Object(own), Self::Object(wanted)) => {
                for (key, value) in wanted {
                    pace.went(own.len() * 16)?;
                    let found = own.iter().find(|(known, _)| known == key);
                    let Some((_, own)) = found else { return Ok(false) };
                    if !own.contains_within(value, pace)? {
                        return Ok(false);
                    }
                }
                Ok(true)
            }
            (Self::Array(own), Self::Array(wanted)) => {
                for value in wanted {
                    let mut is_there = false;
                    for own in own {
                        is_there = own.contains_within(value, pace)?;
                        if is_there {
                            break;
                        }
                    }
                    if !is_there {
                        return Ok(false);
                    }
                }
                Ok(true)
            }
            _ => {
                pace.went(16)?;
                Ok(self.equals_scalar(other))
            }
        }
    }

    fn equals_scalar(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Scalar(a), Self::Scalar(b)) => match (Kind::of(a), Kind::of(b)) {
                (Kind::Number, Kind::Number) => number::trimmed(a) == number::trimmed(b),
                _ => a == b,
            },
            _ => false,
        }
    }
}

/// How a tree is written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Spacing {
    /// `{"a": 1, "b": 2}`, as a jsonb: in order
    Normal,
    /// `{"a":1,"b":2}`
    None,
}
