//! Names of both a variable and a column, and what `#variable_conflict` says of them.
//!
//! Source       PostgreSQL 15, 43.11.1 "Variable Substitution"

/// What a name is that is both a variable's and a column's.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) enum Ambiguity {
    /// an error
    #[default]
    Error,
    Variable,
    Column,
}
