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
mod encoded;
mod json;
mod locks;
mod numbers;
mod operators;
mod ranges;
mod resolve;
mod row;
mod rows;
mod session;
mod signature;
mod texts;
mod times;
mod windows;

use std::collections::HashMap;
use std::sync::LazyLock;

use hotrow_base::types::SqlType;
use hotrow_transaction::program::{AggregateFunction, Function};

pub use document::{EXAMPLE_TABLES, function_document};
pub use resolve::resolve;
pub(crate) use resolve::{Fit, Given, call_text, fit_of, no_function, type_text};
pub(crate) use row::{
    AggregateForm, Constant, Evaluation, Labels, SyntaxForm, ValueForm, WindowForm,
};
pub use row::{FunctionGroup, FunctionKind, FunctionRow, Volatility};
pub(crate) use session::PASS_VALUE;
pub(crate) use signature::Type;

/// All functions that Hotrow has of its own.
pub const FUNCTIONS: &[FunctionGroup] = &[
    operators::OPERATORS,
    numbers::NUMBERS,
    texts::TEXTS,
    texts::PATTERNS,
    times::TIMES,
    json::JSON,
    arrays::ARRAYS,
    ranges::RANGES,
    encoded::ADDRESSES,
    encoded::BITS,
    encoded::ZONED_TIMES,
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

/// What a function of programs is called in SQL; none: a form of its own has it.
pub(crate) fn name_of(function: Function) -> Option<&'static str> {
    let is_it = |row: &&FunctionRow| match row.evaluation {
        Evaluation::Program(of) => of == function,
        Evaluation::Values(
            ValueForm::Extreme(of)
            | ValueForm::Concat(of)
            | ValueForm::Round(of)
            | ValueForm::RoundTo(of),
        ) => of == function,
        _ => false,
    };
    let mut all = FUNCTIONS.iter().flat_map(|group| group.rows);
    all.find(is_it).map(|row| row.name)
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

/// Whether a function of this name gives an array.
pub(crate) fn gives_array(name: &str) -> bool {
    let is_array =
        |row: &&FunctionRow| matches!(row.result, Type::AnyArray | Type::Is(SqlType::Array(_)));
    named(name).iter().any(is_array)
}

/// Whether this is the name of what takes the next number of a sequence.
pub(crate) fn takes_number(name: &str) -> bool {
    let first = named(name).first().map(|row| row.evaluation);
    matches!(first, Some(Evaluation::Syntax(SyntaxForm::NextNumber)))
}

/// Whether this is the name of a function that gives rows.
pub(crate) fn is_set_returning(name: &str) -> bool {
    named(name).first().is_some_and(|row| row.kind() == FunctionKind::SetReturning)
}

/// Whether this is the name of an aggregate.
pub(crate) fn is_aggregate(name: &str) -> bool {
    named(name).first().is_some_and(|row| row.kind() == FunctionKind::Aggregate)
}
