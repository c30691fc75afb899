//! What ALTER FUNCTION, PROCEDURE and ROUTINE make of a routine.

use hotrow_transaction::program::Place;
use sqlparser::tokenizer::TokenWithSpan;

/// What ALTER, or the text of a CREATE, says that a routine is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RoutineKind {
    /// FUNCTION
    Function,
    /// PROCEDURE
    Procedure,
    /// ROUTINE: either
    Either,
}

impl RoutineKind {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Function => "function",
            Self::Procedure => "procedure",
            Self::Either => "routine",
        }
    }

    /// What it is called where there is none.
    pub(crate) fn missing(self) -> &'static str {
        if self == Self::Procedure { "procedure" } else { "function" }
    }
}

/// ALTER FUNCTION, PROCEDURE or ROUTINE, as it is written.
#[derive(Debug)]
pub(crate) struct AlterRoutineSyntax {
    pub(crate) kind: RoutineKind,
    pub(crate) name: String,
    pub(crate) place: Place,
    /// its parameters, if they are told
    pub(crate) taken: Option<Vec<TokenWithSpan>>,
    pub(crate) what: RoutineChange,
}

/// What becomes of a routine.
#[derive(Clone, Debug)]
pub enum RoutineChange {
    /// RENAME TO: its name in its schema
    Name(String),
    /// SET SCHEMA
    Schema(String),
    /// options, each of another kind
    Options(Vec<RoutineOption>),
}

/// An option of a routine, in place of the one of its kind that there is.
#[derive(Clone, Debug)]
pub struct RoutineOption {
    pub(crate) kind: OptionKind,
    pub(crate) place: Place,
    /// as CREATE writes it; empty: there is none from then on
    pub(crate) text: String,
}

/// The kinds of options, of which each stands in a CREATE once.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum OptionKind {
    Volatility,
    Strict,
    Security,
    Leakproof,
    Parallel,
    Cost,
    Rows,
    /// SET search_path
    Path,
    /// RESET of what is never set
    Unset,
}

impl OptionKind {
    /// Whether procedures have none such.
    pub(crate) fn is_of_functions(self) -> bool {
        !matches!(self, Self::Security | Self::Path | Self::Unset)
    }
}

/// A routine that ALTER has found.
#[derive(Clone, Debug)]
pub struct AlteredRoutine {
    /// its key
    pub name: String,
    /// where it is named
    pub place: Place,
    /// what it has to be
    pub kind: RoutineKind,
    /// what becomes of it
    pub change: RoutineChange,
    /// it and the types of its parameters, for people
    pub shown: String,
    /// the schema that it stands in from then on, where it gets a name there
    pub schema: Option<String>,
}
