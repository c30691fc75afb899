//! The table of functions: what has a name and is called with brackets.
//!
//! Role         says of each function what it takes and gives, how it is evaluated, and what it
//!              is for. Names are recognised here and nowhere else: the compiler looks a name up
//!              ([`named`]), chooses one of its rows by the types of the arguments
//!              ([`resolve::resolve`]), and compiles what its [`Evaluation`] says. `hotrow
//!              functions` prints the table, and docs/functions.md is written from it
//! Invariants   I1 rows of one name have evaluations of one family: what looks at arguments as they
//!              are written is not beside what takes them as values (asserted by a test)
//!              I2 each row's example gives its value in a session, and in a procedure, too, unless
//!              the row says that procedures do not have it (asserted in crate `hotrow`)

mod aggregates;
mod arrays;
mod catalog;
mod document;
mod json;
mod locks;
mod numbers;
mod resolve;
mod rows;
mod session;
mod signature;
#[cfg(test)]
mod tests;
mod texts;
mod times;
mod windows;

use std::collections::HashMap;
use std::sync::LazyLock;

use hotrow_base::json::JsonFunction;
use hotrow_base::types::DataType;
use hotrow_query::HostFunction;
use hotrow_transaction::program::{AggregateFunction, Function};
use hotrow_transaction::random::Randomness;

pub use document::{EXAMPLE_TABLES, function_document};
pub(crate) use resolve::{no_function, resolve};
pub(crate) use session::PASS_VALUE;
pub(crate) use signature::{Argument, Type};

/// A function, or one of several that have a name and differ in their arguments.
#[derive(Debug)]
pub struct FunctionRow {
    /// what it is called by
    pub name: &'static str,
    /// other names of the same
    pub aliases: &'static [&'static str],
    pub(crate) arguments: &'static [Argument],
    pub(crate) result: Type,
    /// whether equal arguments give equal values
    pub volatility: Volatility,
    pub(crate) evaluation: Evaluation,
    /// in a few words
    pub description: &'static str,
    /// an expression
    pub example: &'static str,
    /// the example's value, as text
    pub value: &'static str,
}

/// Functions that belong together.
#[derive(Debug)]
pub struct FunctionGroup {
    /// what they are for
    pub title: &'static str,
    /// the functions
    pub rows: &'static [FunctionRow],
}

/// Whether equal arguments give equal values.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Volatility {
    /// always
    Immutable,
    /// within a statement
    Stable,
    /// not even within a statement
    Volatile,
}

/// What a function is called on, and what it gives.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FunctionKind {
    /// a value of values
    Scalar,
    /// a value of the rows of a group
    Aggregate,
    /// a value of a row and those around it
    Window,
    /// rows
    SetReturning,
}

/// How a function is evaluated.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Evaluation {
    /// by programs
    Program(Function),
    /// beside programs, by the operators of queries
    Host(HostFunction),
    /// a random value
    Random(Randomness),
    /// the call's time, as this type
    Time(DataType),
    /// the same, whatever it is asked
    Constant(Constant),
    /// an expression that the compiler writes, of values
    Values(ValueForm),
    /// an expression that the compiler writes, of arguments as they are written: their literals or
    /// their names matter, or they are not always evaluated
    Syntax(SyntaxForm),
    /// rows
    Rows(HostFunction),
    Aggregate(AggregateForm),
    Window(WindowForm),
    /// PostgreSQL has it; what to do instead
    Refused(&'static str),
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum Constant {
    Text(&'static str),
    Truth(bool),
    Null,
    /// schemas
    Schemas,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum ValueForm {
    /// GREATEST, LEAST
    Extreme(Function),
    NullIf,
    Concat,
    Format,
    Modulo,
    /// of a numeric, whose digits decide those of the result
    Round(Function),
    /// of a numeric, to so many digits
    RoundTo(Function),
    Age,
    ToJson(DataType),
    BuildJson(JsonFunction, DataType),
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum SyntaxForm {
    Coalesce,
    ArrayLength,
    Cardinality,
    Extract,
    DateTrunc,
    MakeInterval,
    /// jsonb_set, jsonb_insert; whether a missing key is made, or a value put behind the place
    JsonChange(JsonFunction, bool),
    /// its first argument; the others are not evaluated
    First,
    NextNumber,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum AggregateForm {
    /// in programs, too
    Plain(AggregateFunction),
    /// in queries
    OfQueries,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum WindowForm {
    RowNumber,
    Rank,
    DenseRank,
    PercentRank,
    CumeDist,
    Buckets,
    Lag,
    Lead,
    First,
    Last,
    Nth,
}

/// Writes rows of the table: names, arguments, result, volatility and evaluation, then what it is
/// for, an example and its value.
macro_rules! functions {
    ($title:literal: $(
        $name:ident $(| $alias:ident)* ($($of:expr),*) -> $result:expr, $volatility:ident,
        $evaluation:expr, $description:literal, $example:literal, $value:literal;
    )*) => {
        FunctionGroup {
            title: $title,
            rows: &[$(FunctionRow {
                name: stringify!($name),
                aliases: &[$(stringify!($alias)),*],
                arguments: &[$($of),*],
                result: $result.of,
                volatility: Volatility::$volatility,
                evaluation: $evaluation,
                description: $description,
                example: $example,
                value: $value,
            }),*],
        }
    };
}
use functions;

/// All functions that Hotrow has of its own.
pub const FUNCTIONS: &[FunctionGroup] = &[
    numbers::NUMBERS,
    texts::TEXTS,
    texts::PATTERNS,
    times::TIMES,
    json::JSON,
    arrays::ARRAYS,
    aggregates::AGGREGATES,
    windows::WINDOWS,
    rows::ROWS,
    session::CHOICES,
    session::DRAWN,
    session::SESSION,
    locks::ADVISORY_LOCKS,
    catalog::CATALOG,
    session::REFUSED,
];

static BY_NAME: LazyLock<HashMap<&'static str, Vec<&'static FunctionRow>>> = LazyLock::new(|| {
    let mut all = HashMap::<_, Vec<_>>::new();
    for row in FUNCTIONS.iter().flat_map(|group| group.rows) {
        for name in row.names() {
            all.entry(name).or_default().push(row);
        }
    }
    all
});

/// The rows of a name; none: there is no such function.
pub(crate) fn named(name: &str) -> &'static [&'static FunctionRow] {
    BY_NAME.get(name).map(Vec::as_slice).unwrap_or_default()
}

/// A row of a name that takes so many arguments.
pub(crate) fn with_count(name: &str, count: usize) -> Option<&'static FunctionRow> {
    named(name).iter().find(|row| row.takes(count)).copied()
}

/// The names that there are.
fn names() -> impl Iterator<Item = &'static str> {
    BY_NAME.keys().copied()
}

/// The aggregate of programs with this name.
pub(crate) fn aggregate_named(name: &str) -> Option<AggregateFunction> {
    match named(name).first()?.evaluation {
        Evaluation::Aggregate(AggregateForm::Plain(function)) => Some(function),
        _ => None,
    }
}

/// Whether this is the name of what takes the next number of a sequence.
pub(crate) fn takes_number(name: &str) -> bool {
    let first = named(name).first().map(|row| row.evaluation);
    matches!(first, Some(Evaluation::Syntax(SyntaxForm::NextNumber)))
}

/// Whether this is the name of an aggregate.
pub(crate) fn is_aggregate(name: &str) -> bool {
    named(name).first().is_some_and(|row| row.kind() == FunctionKind::Aggregate)
}

impl FunctionRow {
    /// Its name and its aliases.
    pub fn names(&self) -> impl Iterator<Item = &'static str> {
        std::iter::once(self.name).chain(self.aliases.iter().copied())
    }

    /// What it is called on, and what it gives.
    pub const fn kind(&self) -> FunctionKind {
        match self.evaluation {
            Evaluation::Aggregate(_) => FunctionKind::Aggregate,
            Evaluation::Window(_) => FunctionKind::Window,
            Evaluation::Rows(_) => FunctionKind::SetReturning,
            _ => FunctionKind::Scalar,
        }
    }

    /// Whether procedures have it: a call that is repeated from the log has to do the same, which
    /// functions of the session would not.
    pub const fn is_in_procedures(&self) -> bool {
        !matches!(
            self.evaluation,
            Evaluation::Host(HostFunction::System(_)) | Evaluation::Refused(_)
        )
    }

    /// Whether it is there at all: some are known only to be refused with advice.
    pub const fn is_refused(&self) -> bool {
        matches!(self.evaluation, Evaluation::Refused(_))
    }

    /// `name(type, ... [, type])`, as PostgreSQL's manual writes it.
    pub fn signature(&self) -> String {
        format!("{}({})", self.name, signature::list(self.arguments))
    }

    /// The type of its result, by name.
    pub fn result_name(&self) -> String {
        self.result.to_string()
    }

    /// Whether it takes so many arguments.
    pub(crate) fn takes(&self, count: usize) -> bool {
        let least = self.arguments.iter().filter(|argument| argument.is_required()).count();
        let is_open = self.arguments.last().is_some_and(Argument::is_variadic);
        least <= count && (is_open || count <= self.arguments.len())
    }

    /// What argument number `at` has to be.
    pub(crate) fn argument(&self, at: usize) -> Type {
        let last = self.arguments.len().saturating_sub(1);
        self.arguments.get(at.min(last)).map_or(Type::Any, |argument| argument.of)
    }
}
