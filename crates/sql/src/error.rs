//! Errors of compilation: PostgreSQL's codes and wording, a place, and what to write instead.

use hotrow_transaction::outcome::SqlError;
use hotrow_transaction::program::{ArithmeticOp, Place};
use sqlparser::ast::Spanned;
use sqlparser::parser::ParserError;
use sqlparser::tokenizer::Location;

pub(crate) type Result<T> = std::result::Result<T, SqlError>;

/// An error at a place.
pub(crate) fn error(code: &[u8; 5], place: Place, message: impl Into<String>) -> SqlError {
    let mut error = SqlError::new(code, message);
    error.place = place;
    error
}

/// 42601
pub(crate) fn syntax(place: Place, message: impl Into<String>) -> SqlError {
    error(b"42601", place, message)
}

/// 42P07
pub(crate) fn taken(name: &str, place: Place) -> SqlError {
    error(b"42P07", place, format!("relation \"{name}\" already exists"))
}

/// A table has a constraint of this name already.
pub(crate) fn constraint_taken(name: &str, table: &str, place: Place) -> SqlError {
    let message = format!("constraint \"{name}\" for relation \"{table}\" already exists");
    error(b"42710", place, message)
}

/// 0A000, with what to write instead
pub(crate) fn unsupported(
    place: Place,
    what: impl std::fmt::Display,
    hint: impl Into<String>,
) -> SqlError {
    error(b"0A000", place, format!("{what} is not supported")).hint(hint)
}

/// 54001: what stands behind the counts has found the stack's end
pub(crate) fn exhausted(place: Place) -> SqlError {
    SqlError { place, ..SqlError::from(hotrow_base::stack::Exhausted) }
}

/// 54001: something is nested too deeply or is too long
pub(crate) fn too_complex(place: Place, message: impl Into<String>) -> SqlError {
    error(b"54001", place, message)
}

/// Chained details of an error.
pub(crate) trait Advice: Sized {
    fn hint(self, hint: impl Into<String>) -> Self;
    fn detail(self, detail: impl Into<String>) -> Self;
    fn or_at(self, place: Place) -> Self;
}

impl Advice for SqlError {
    fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    fn detail(mut self, detail: impl Into<String>) -> Self {
        self.detail = Some(detail.into());
        self
    }

    fn or_at(mut self, place: Place) -> Self {
        if self.place.line == 0 {
            self.place = place;
        }
        self
    }
}

/// The place of a location; unknown locations stay 0, 0.
pub(crate) fn place_of(location: Location) -> Place {
    Place {
        line: u32::try_from(location.line).unwrap_or(u32::MAX),
        column: u32::try_from(location.column).unwrap_or(u32::MAX),
    }
}

/// Where a syntax node starts; `otherwise` when it does not know.
pub(crate) fn place_in(node: &impl Spanned, otherwise: Place) -> Place {
    let place = place_of(node.span().start);
    if place.line == 0 { otherwise } else { place }
}

/// Where a name stands.
pub(crate) fn ident_place(ident: &sqlparser::ast::Ident, otherwise: Place) -> Place {
    let place = place_of(ident.span.start);
    if place.line == 0 { otherwise } else { place }
}

/// What the parser stops at that PostgreSQL has: its message, what it is, and what to do instead.
const UNPARSED: [(&str, &str, &str); 3] = [
    (
        "Expected: ), found: EXCLUDE",
        "EXCLUDE of a window frame",
        "compute the rows that it leaves out apart, and take them away",
    ),
    (
        "Expected: SELECT, VALUES, or a subquery in the query body, found: SEARCH",
        "SEARCH of WITH RECURSIVE",
        "keep the path in a column, and order by it",
    ),
    (
        "Expected: SELECT, VALUES, or a subquery in the query body, found: CYCLE",
        "CYCLE of WITH RECURSIVE",
        "write UNION, or count the rounds in a column",
    ),
];

/// An error of the SQL parser. It only tells its place inside the message; `end` is where the
/// text handed to it ended.
pub(crate) fn from_parser(parser_error: ParserError, end: Place) -> SqlError {
    let message = match parser_error {
        ParserError::ParserError(message) | ParserError::TokenizerError(message) => message,
        ParserError::RecursionLimitExceeded => {
            return too_complex(end, "expression is nested too deeply")
                .hint("compute parts of it in variables first");
        }
    };
    match message.rfind(" at Line: ") {
        None => syntax(end, message),
        Some(start) => {
            let mut numbers = message[start..]
                .split(|c: char| !c.is_ascii_digit())
                .filter_map(|digits| digits.parse::<u32>().ok());
            let place = Place {
                line: numbers.next().unwrap_or(end.line),
                column: numbers.next().unwrap_or(end.column),
            };
            let unparsed = UNPARSED.iter().find(|(found, ..)| message[..start] == **found);
            match unparsed {
                Some((_, what, advice)) => unsupported(place, what, *advice),
                None => syntax(place, &message[..start]).or_at(end),
            }
        }
    }
}

pub(crate) fn no_operator(
    op: ArithmeticOp,
    left: &str,
    right: &str,
    place: Place,
) -> hotrow_transaction::outcome::SqlError {
    error(b"42883", place, format!("operator does not exist: {left} {} {right}", op.symbol()))
}

/// That a part of a change needs operators, where none can compute it.
pub(crate) fn refuse_operators(place: Place) -> SqlError {
    let advice = "SELECT it first, and send its value; RETURNING gives columns and what programs \
                  compute of them";
    unsupported(place, "a subquery or a function of queries here", advice)
}
