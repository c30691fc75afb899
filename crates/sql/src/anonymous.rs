//! DO blocks as they are parsed, and the definitions in them.

use hotrow_transaction::program::Place;
use sqlparser::tokenizer::Location;

use crate::syntax::Block;

/// A DO block, and its text, of which definitions are parts.
#[derive(Debug)]
pub(crate) struct Anonymous {
    pub(crate) block: Block,
    /// empty where there are no definitions
    pub(crate) text: String,
    /// where that starts in the script
    pub(crate) origin: Place,
    pub(crate) holds: Holds,
    /// of a call: variables whose values are its result
    pub(crate) outs: Vec<String>,
    /// of a call: whether it gives rows of these, each as RETURN NEXT has it
    pub(crate) returns_set: bool,
    /// whether it may hold COMMIT and ROLLBACK
    pub(crate) may_end: bool,
    /// of CREATE SCHEMA: which, whose elements the other definitions are
    pub(crate) schema: Option<String>,
}

impl Anonymous {
    /// One of a DO statement.
    pub(crate) fn new(block: Block, (text, origin): (String, Place), holds: Holds) -> Self {
        let (outs, returns_set, may_end, schema) = (Vec::new(), false, true, None);
        Self { block, text, origin, holds, outs, returns_set, may_end, schema }
    }
}

/// A definition in a block, or a command of sessions.
#[derive(Clone, Debug)]
pub(crate) struct DefinitionSyntax {
    /// its first word, in capitals
    pub(crate) verb: String,
    pub(crate) place: Place,
    /// where its text begins, and ends
    pub(crate) from: Location,
    pub(crate) to: Location,
}

/// What a DO block holds of definitions.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Holds {
    /// nothing
    Nothing,
    /// it executes texts that are known only when it runs, and may be definitions
    Perhaps,
    /// some
    Definitions,
}

/// What begins statements that define something, or are commands of sessions.
pub(crate) const DEFINING: [&str; 14] = [
    "create", "alter", "drop", "comment", "grant", "revoke", "truncate", "refresh", "reindex",
    "lock", "set", "reset", "analyze", "reassign",
];
