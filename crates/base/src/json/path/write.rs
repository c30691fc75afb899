//! Paths as texts, in the form in which PostgreSQL shows them.

use crate::value::TextBuilder;

use super::super::{Result, write_text};
use super::{Expr, Path, Sign, Step, TEXT_BYTES_MAX};

/// Whether what binds less tightly than what is around it has brackets.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Brackets {
    Yes,
    No,
}

impl Path {
    /// The path as a text.
    pub(super) fn text(&self) -> Result<String> {
        let mut out = TextBuilder::new("jsonpath", 8 * TEXT_BYTES_MAX);
        out.push(if self.is_strict { "strict " } else { "" })?;
        self.top.write(Brackets::Yes, &mut out)?;
        Ok(out.finish())
    }
}

impl Expr {
    const fn binds(&self) -> u8 {
        match self {
            Self::Or(..) => 0,
            Self::And(..) => 1,
            Self::Compare(..) | Self::StartsWith(..) => 2,
            Self::Arithmetic(of, ..) => match of {
                super::Arithmetic::Add | super::Arithmetic::Subtract => 3,
                _ => 4,
            },
            Self::Sign(..) => 5,
            _ => 6,
        }
    }

    /// Whether an operand has brackets.
    fn around(&self, operand: &Self) -> Brackets {
        let head = match operand {
            Self::Steps(of, _) => of,
            other => other,
        };
        if head.binds() <= self.binds() { Brackets::Yes } else { Brackets::No }
    }

    fn write(&self, brackets: Brackets, out: &mut TextBuilder) -> Result<()> {
        let has_brackets = brackets == Brackets::Yes
            && matches!(
                self,
                Self::Arithmetic(..)
                    | Self::Sign(..)
                    | Self::And(..)
                    | Self::Or(..)
                    | Self::Compare(..)
                    | Self::StartsWith(..)
                    | Self::LikeRegex(..)
            );
        out.push(if has_brackets { "(" } else { "" })?;
        match self {
            Self::Root => out.push("$")?,
            Self::Current => out.push("@")?,
            Self::Last => out.push("last")?,
            Self::Variable(name) => {
                out.push("$")?;
                write_text(name, out)?;
            }
            Self::Null => out.push("null")?,
            Self::Bool(truth) => out.push(if *truth { "true" } else { "false" })?,
            Self::Text(text) => write_text(text, out)?,
            Self::Number(number) => out.push(number)?,
            Self::Steps(of, steps) => {
                match **of {
                    // A point behind it would be its own.
                    Self::Number(_) => write_call("(", of, ")", out)?,
                    _ => of.write(brackets, out)?,
                }
                steps.iter().try_for_each(|step| step.write(out))?;
            }
            Self::Arithmetic(of, left, right) => self.write_binary(left, of.sign(), right, out)?,
            Self::Compare(of, left, right) => self.write_binary(left, of.sign(), right, out)?,
            Self::And(left, right) => self.write_binary(left, "&&", right, out)?,
            Self::Or(left, right) => self.write_binary(left, "||", right, out)?,
            Self::StartsWith(left, right) => self.write_binary(left, "starts with", right, out)?,
            Self::Sign(sign, of) => {
                out.push(if *sign == Sign::Minus { "-" } else { "+" })?;
                of.write(self.around(of), out)?;
            }
            Self::Not(of) => write_call("!(", of, ")", out)?,
            Self::IsUnknown(of) => write_call("(", of, ") is unknown", out)?,
            Self::Exists(of) => write_call("exists (", of, ")", out)?,
            Self::LikeRegex(of, like) => {
                of.write(self.around(of), out)?;
                out.push(" like_regex ")?;
                write_text(&like.pattern, out)?;
                if !like.flags.is_empty() {
                    out.push(" flag \"")?;
                    out.push(&like.flags)?;
                    out.push("\"")?;
                }
            }
        }
        out.push(if has_brackets { ")" } else { "" })?;
        Ok(())
    }

    fn write_binary(
        &self,
        left: &Self,
        sign: &str,
        right: &Self,
        out: &mut TextBuilder,
    ) -> Result<()> {
        left.write(self.around(left), out)?;
        for part in [" ", sign, " "] {
            out.push(part)?;
        }
        right.write(self.around(right), out)
    }
}

fn write_call(open: &str, of: &Expr, close: &str, out: &mut TextBuilder) -> Result<()> {
    out.push(open)?;
    of.write(Brackets::No, out)?;
    out.push(close)
}

impl Step {
    fn write(&self, out: &mut TextBuilder) -> Result<()> {
        match self {
            Self::Field(name) => {
                out.push(".")?;
                write_text(name, out)
            }
            Self::AnyField => out.push(".*"),
            Self::AnyElement => out.push("[*]"),
            Self::Elements(ranges) => {
                out.push("[")?;
                for (at, (from, to)) in ranges.iter().enumerate() {
                    out.push(if at > 0 { "," } else { "" })?;
                    from.write(Brackets::No, out)?;
                    if let Some(to) = to {
                        out.push(" to ")?;
                        to.write(Brackets::No, out)?;
                    }
                }
                out.push("]")
            }
            Self::Below(from, to) => {
                let shown = |level: u32| match level {
                    u32::MAX => "last".to_owned(),
                    level => level.to_string(),
                };
                out.push(".**")?;
                match (*from, *to) {
                    (0, u32::MAX) => Ok(()),
                    (from, to) if from == to => out.push(&format!("{{{}}}", shown(from))),
                    (from, to) => out.push(&format!("{{{} to {}}}", shown(from), shown(to))),
                }
            }
            Self::Filter(condition) => write_call("?(", condition, ")", out),
            Self::Method(method) => out.push(&format!(".{}()", method.name())),
        }
    }
}
