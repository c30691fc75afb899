//! Paths of SQL/JSON: `$.a[*] ? (@.b > 1)`.
//!
//! Role         queries read a path once and evaluate it for each json; patterns of `like_regex`
//!              are matched by whoever calls
//! Invariants   I1 a path has at most [`PARTS_MAX`] parts, which nest at most [`DEPTH_MAX`] deep in
//!                 brackets: recursion over it is bounded, and goes on a further stack where it
//!                 must ([`crate::stack`])
//!              I2 what a path finds is charged while it is found, and looks from time to time
//! Source       PostgreSQL 15, chapter 9.16.2, and ISO/IEC 9075-2:2016, 9.39. We differ: numbers
//!              that are computed have 38 digits; `.datetime()` is refused; a path's text is of
//!              type text

mod lex;
mod numbers;
mod read;
mod run;
mod write;

#[cfg(test)]
mod tests;

use crate::value::{Value, ValueError};

use super::Result;
pub use run::{PathTarget, evaluate};

/// Parts of a path: operands, operators and steps.
const PARTS_MAX: usize = 2_000;
/// Brackets within each other.
const DEPTH_MAX: usize = 64;
/// Bytes of a path's text.
const TEXT_BYTES_MAX: usize = 1 << 20;

/// A path.
#[derive(Clone, Debug)]
pub struct Path {
    is_strict: bool,
    top: Expr,
}

/// What a path asks for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PathFunction {
    /// jsonb_path_exists(jsonb, path [, vars [, silent]]), `jsonb @? path`
    Exists,
    /// jsonb_path_match(jsonb, path [, vars [, silent]]), `jsonb @@ path`
    Match,
    /// jsonb_path_query(jsonb, path [, vars [, silent]])
    Query,
    /// jsonb_path_query_array(jsonb, path [, vars [, silent]])
    QueryArray,
    /// jsonb_path_query_first(jsonb, path [, vars [, silent]])
    QueryFirst,
}

/// Something that gives items, or a truth.
#[derive(Clone, Debug)]
enum Expr {
    Root,
    Current,
    Last,
    Variable(String),
    Null,
    Bool(bool),
    Text(String),
    /// in the normal form of numbers
    Number(String),
    /// an operand, which has no steps of its own, and steps from it on
    Steps(Box<Self>, Vec<Step>),
    Arithmetic(Arithmetic, Box<Self>, Box<Self>),
    /// `+ x` and `- x`
    Sign(Sign, Box<Self>),
    And(Box<Self>, Box<Self>),
    Or(Box<Self>, Box<Self>),
    Not(Box<Self>),
    Compare(Comparison, Box<Self>, Box<Self>),
    IsUnknown(Box<Self>),
    Exists(Box<Self>),
    StartsWith(Box<Self>, Box<Self>),
    LikeRegex(Box<Self>, Like),
}

#[derive(Clone, Debug)]
enum Step {
    Field(String),
    AnyField,
    /// elements by their numbers, or from one to another
    Elements(Vec<(Expr, Option<Expr>)>),
    AnyElement,
    /// what is so many levels below; [`u32::MAX`] is the last one
    Below(u32, u32),
    Filter(Expr),
    Method(Method),
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Method {
    Type,
    Size,
    Double,
    Ceiling,
    Floor,
    Abs,
    KeyValue,
}

impl Method {
    const ALL: [Self; 7] = [
        Self::Type,
        Self::Size,
        Self::Double,
        Self::Ceiling,
        Self::Floor,
        Self::Abs,
        Self::KeyValue,
    ];

    const fn name(self) -> &'static str {
        match self {
            Self::Type => "type",
            Self::Size => "size",
            Self::Double => "double",
            Self::Ceiling => "ceiling",
            Self::Floor => "floor",
            Self::Abs => "abs",
            Self::KeyValue => "keyvalue",
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Arithmetic {
    Add,
    Subtract,
    Multiply,
    Divide,
    Modulo,
}

impl Arithmetic {
    const fn sign(self) -> &'static str {
        match self {
            Self::Add => "+",
            Self::Subtract => "-",
            Self::Multiply => "*",
            Self::Divide => "/",
            Self::Modulo => "%",
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Sign {
    Plus,
    Minus,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Comparison {
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

impl Comparison {
    const fn sign(self) -> &'static str {
        match self {
            Self::Equal => "==",
            Self::NotEqual => "!=",
            Self::Less => "<",
            Self::LessOrEqual => "<=",
            Self::Greater => ">",
            Self::GreaterOrEqual => ">=",
        }
    }
}

/// A pattern of `like_regex`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Like {
    /// the regular expression
    pub pattern: String,
    /// `i`, `s`, `m` and `q`, each once, in this order
    pub flags: String,
}

impl Path {
    /// Reads a path.
    ///
    /// # Errors
    ///
    /// 42601 and 22P02 as PostgreSQL has them, 54001 where it has too many parts, 0A000 for what is
    /// not supported.
    pub fn read(text: &str) -> Result<Self> {
        if text.len() > TEXT_BYTES_MAX {
            return Err(ValueError::too_many_bytes("jsonpath", TEXT_BYTES_MAX));
        }
        read::Reader::new(text)?.read()
    }

    /// The patterns of `like_regex` in it.
    pub fn likes(&self) -> Vec<&Like> {
        let mut all = Vec::new();
        self.top.likes(&mut all);
        all
    }
}

impl Expr {
    fn likes<'p>(&'p self, all: &mut Vec<&'p Like>) {
        match self {
            Self::Root | Self::Current | Self::Last | Self::Variable(_) => {}
            Self::Null | Self::Bool(_) | Self::Text(_) | Self::Number(_) => {}
            Self::Steps(of, steps) => {
                of.likes(all);
                for step in steps {
                    match step {
                        Step::Filter(condition) => condition.likes(all),
                        Step::Elements(ranges) => {
                            for (from, to) in ranges {
                                std::iter::once(from).chain(to).for_each(|one| one.likes(all));
                            }
                        }
                        _ => {}
                    }
                }
            }
            Self::Arithmetic(_, left, right)
            | Self::And(left, right)
            | Self::Or(left, right)
            | Self::Compare(_, left, right)
            | Self::StartsWith(left, right) => {
                left.likes(all);
                right.likes(all);
            }
            Self::Sign(_, of) | Self::Not(of) | Self::IsUnknown(of) | Self::Exists(of) => {
                of.likes(all);
            }
            Self::LikeRegex(of, like) => {
                of.likes(all);
                all.push(like);
            }
        }
    }

    /// Whether it gives a truth rather than items.
    const fn is_condition(&self) -> bool {
        matches!(
            self,
            Self::And(..)
                | Self::Or(..)
                | Self::Not(_)
                | Self::Compare(..)
                | Self::IsUnknown(_)
                | Self::Exists(_)
                | Self::StartsWith(..)
                | Self::LikeRegex(..)
        )
    }
}

/// A path in the form in which PostgreSQL shows it.
///
/// # Errors
///
/// As [`Path::read`].
pub fn normal_path(text: &str) -> Result<Value> {
    Path::read(text)?.text().map(Value::Text)
}
