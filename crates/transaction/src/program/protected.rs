//! Blocks whose errors are caught, and what handlers catch.

use super::{SlotId, Statement};
use crate::outcome::SqlError;

/// A block whose errors are caught.
///
/// An error in `body` that a handler names takes back what the body has changed in tables; slots
/// keep their values. Then the first handler that names it runs, whose own errors are not caught
/// here. What is no error of the procedure (a conflict, a wrong guess of reconnaissance, a spent
/// budget, an interruption) passes by all handlers.
#[derive(Clone, Debug)]
pub struct Protected {
    /// what is protected
    pub body: Vec<Statement>,
    /// what an error leads to; at least one
    pub handlers: Vec<Handler>,
    /// slots of type text that take parts of the error when it is caught
    pub told: Vec<(ErrorPart, SlotId)>,
}

/// WHEN ... THEN
#[derive(Clone, Debug)]
pub struct Handler {
    /// the errors that it catches: those that one of these names
    pub catches: Vec<Catch>,
    /// what it does
    pub body: Vec<Statement>,
}

/// Errors that a handler names.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Catch {
    /// those of this SQLSTATE
    State([u8; 5]),
    /// those whose SQLSTATE begins so
    Class([u8; 2]),
    /// OTHERS: all but query_canceled and assert_failure
    Others,
}

impl Catch {
    /// Whether errors of this SQLSTATE are among them.
    pub fn names(self, sqlstate: [u8; 5]) -> bool {
        match self {
            Self::State(state) => state == sqlstate,
            Self::Class(class) => sqlstate.starts_with(&class),
            Self::Others => !matches!(&sqlstate, b"57014" | b"P0004"),
        }
    }
}

/// A part of an error that was caught.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ErrorPart {
    /// SQLSTATE, RETURNED_SQLSTATE
    State,
    /// SQLERRM, MESSAGE_TEXT
    Message,
    /// PG_EXCEPTION_DETAIL
    Detail,
    /// PG_EXCEPTION_HINT
    Hint,
    /// CONSTRAINT_NAME
    Constraint,
    /// TABLE_NAME
    Table,
    /// COLUMN_NAME
    Column,
    /// SCHEMA_NAME
    Schema,
    /// PG_DATATYPE_NAME
    DataType,
    /// PG_EXCEPTION_CONTEXT: what was told as such, or the line of what failed
    Context,
}

impl ErrorPart {
    /// What it is of an error; empty where that says nothing of it.
    pub fn of(self, error: &SqlError) -> String {
        let said = match self {
            Self::State => return error.code().to_owned(),
            Self::Message => return error.message.clone(),
            Self::Detail => &error.detail,
            Self::Hint => &error.hint,
            Self::Constraint => &error.constraint,
            Self::Table => &error.table,
            Self::Column => &error.column,
            Self::Schema | Self::DataType => {
                let named = error.named.as_deref();
                let named = named.map(|named| match self {
                    Self::Schema => &named.schema,
                    _ => &named.data_type,
                });
                return named.cloned().flatten().unwrap_or_default();
            }
            Self::Context => {
                let line = format!("line {}", error.place.line);
                return error.context.as_ref().map_or(line.clone(), |c| format!("{line}\n{c}"));
            }
        };
        said.clone().unwrap_or_default()
    }

    /// Has an error say it. What is no code of five characters is none.
    pub(crate) fn put(self, error: &mut SqlError, text: String) {
        let place = match self {
            Self::State => match text.as_bytes().try_into() {
                Ok(code) if text.bytes().all(|b| b.is_ascii_digit() || b.is_ascii_uppercase()) => {
                    error.sqlstate = code;
                    return;
                }
                _ => {
                    let message = format!("unrecognized exception condition \"{text}\"");
                    *error = SqlError::new(b"42704", message);
                    return;
                }
            },
            Self::Message => {
                error.message = text;
                return;
            }
            Self::Detail => &mut error.detail,
            Self::Hint => &mut error.hint,
            Self::Constraint => &mut error.constraint,
            Self::Table => &mut error.table,
            Self::Column => &mut error.column,
            Self::Schema => &mut error.named.get_or_insert_default().schema,
            Self::DataType => &mut error.named.get_or_insert_default().data_type,
            Self::Context => &mut error.context,
        };
        *place = Some(text);
    }
}
