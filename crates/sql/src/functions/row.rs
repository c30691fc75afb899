//! A row of the table of functions, and how it is written down.

use hotrow_base::json::{JsonFunction, PathFunction};
use hotrow_base::types::DataType;
use hotrow_query::{HostFunction, SystemFunction};
use hotrow_transaction::program::{AggregateFunction, Function};
use hotrow_transaction::random::Randomness;

use super::signature::{Argument, Type, list};

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
    /// the first of these that is there
    Schema,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum ValueForm {
    /// GREATEST, LEAST
    Extreme(Function),
    NullIf,
    /// how many arguments are NULL, or are not
    CountNulls {
        is_null: bool,
    },
    /// the first, the last or all labels of an enum
    Labels(Labels),
    /// the opposite of what this function says
    Not(Function),
    /// each is cast to text
    Concat(Function),
    Format,
    Modulo,
    /// of a numeric, whose digits decide those of the result
    Round(Function),
    /// of a numeric, to so many digits
    RoundTo(Function),
    Age,
    Overlay,
    /// of a value as a text
    QuoteLiteral,
    /// quote_literal, or the word NULL
    QuoteNullable,
    /// of a text and a template, which decides the digits of the result
    ToNumber,
    /// a timestamp in a zone, or a zone's timestamp
    AtTimeZone,
    /// an operator of paths, which keeps errors quiet
    Path(PathFunction),
    ToJson(DataType),
    BuildJson(JsonFunction, DataType),
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Labels {
    First,
    Last,
    All,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum SyntaxForm {
    Coalesce,
    Extract,
    DateTrunc,
    MakeInterval,
    /// jsonb_set, jsonb_insert; whether a missing key is made, or a value put behind the place
    JsonChange(JsonFunction, bool),
    /// its first argument; the others are not evaluated
    First,
    /// the name of its argument's type; the argument is not evaluated
    TypeName,
    NextNumber,
    /// gen_random_bytes: of a random value, which is drawn for it
    RandomBytes,
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

/// The name of a function, or the sign of an operator.
macro_rules! name {
    ($name:ident) => {
        stringify!($name)
    };
    ($sign:literal) => {
        $sign
    };
}
pub(super) use name;

/// Writes rows of the table: names, arguments, result, volatility and evaluation, then what it is
/// for, an example and its value.
macro_rules! functions {
    ($title:literal: $(
        $name:tt $(| $alias:ident)* ($($of:expr),*) -> $result:expr, $volatility:ident,
        $evaluation:expr, $description:literal, $example:literal, $value:literal;
    )*) => {
        FunctionGroup {
            title: $title,
            rows: &[$(FunctionRow {
                name: $crate::functions::row::name!($name),
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
pub(super) use functions;

/// Whether a name is the sign of an operator.
pub(super) fn is_sign(name: &str) -> bool {
    !name.starts_with(|first: char| first.is_alphabetic() || first == '_')
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

    /// Whether its arguments are taken as they are written, before they have types.
    pub const fn is_syntax(&self) -> bool {
        matches!(self.evaluation, Evaluation::Syntax(_))
    }

    /// Whether procedures have it: a call that is repeated from the log has to do the same, which
    /// functions of the session would not.
    pub const fn is_in_procedures(&self) -> bool {
        use SystemFunction::{CurrentSetting, CurrentUser, SessionUser};
        match self.evaluation {
            Evaluation::Refused(_) => false,
            // What these say is drawn with the call.
            Evaluation::Host(HostFunction::System(of)) => {
                matches!(of, CurrentUser | SessionUser | CurrentSetting)
            }
            _ => true,
        }
    }

    /// Whether it is there at all: some are known only to be refused with advice.
    pub const fn is_refused(&self) -> bool {
        matches!(self.evaluation, Evaluation::Refused(_))
    }

    /// `name(type, ... [, type])`, or `type + type`, as PostgreSQL's manual writes it.
    pub fn signature(&self) -> String {
        match self.arguments {
            [left, right] if is_sign(self.name) => {
                format!("{} {} {}", left.of, self.name, right.of)
            }
            arguments => format!("{}({})", self.name, list(arguments)),
        }
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
