//! DO blocks that hold definitions: run statement by statement.
//!
//! Role         such a block cannot be compiled as one program: what it defines is not there when
//!              it is compiled. Control flow and variables are interpreted over the tree of the
//!              block ([`run`]); statements and expressions are compiled when their turn comes, as
//!              programs whose parameters are the variables, and whose result are their values
//!              behind it ([`step`]); definitions go, by their text, the way of whoever sends them
//!              by themselves. Runs nothing itself: all that is done is asked of a [`BlockHost`].
//!              Blocks without definitions are programs as before
//! Invariants   I1 what is compiled is a part of the block that defines nothing and leaves nothing
//!              around it, so that it does what it would do in the program of the whole block
//!              What a program cannot have, such as the system catalog, is asked as the session's
//!              own query ([`refused`])
//!              I2 errors of the block, caught ones too, leave nothing of what they end: each block
//!              with handlers is protected by its host
//!              I3 each statement, and each turn of a loop, is a step, and the host bounds them;
//!              blocks nest as deep as the parser lets them (`block`, I1)
//! Source       PostgreSQL 15, chapter 43. We differ: an expression is compiled for the definitions
//!              of its moment, and an error inside of it ends a part of the block whose variables
//!              are as they were before that part

pub(crate) mod called;
mod cursors;
mod execute;
mod loops;
mod nested;
mod parts;
mod refused;
mod run;
mod scopes;
mod step;

use std::cell::RefMut;

use hotrow_base::memory::Charge;
use hotrow_base::stack::with_room;
use hotrow_base::types::SqlType;
use hotrow_base::value::Value;
use hotrow_transaction::catalog::{Catalog, SearchPath};
use hotrow_transaction::outcome::{Notice, SqlError};

use crate::anonymous::{Anonymous, DefinitionSyntax, Holds};
use crate::compiled::Compiled;
use crate::error::Result;
use crate::open_cursors::OpenCursors;
use crate::script::Offsets;
use crate::script_statement::ScriptStatement;
use crate::state::ProcedureNames;
use crate::syntax::Syntax;

/// The text of a definition in a block.
fn text_of<'t>(of: &'t Anonymous, definition: &DefinitionSyntax) -> &'t str {
    let offsets = Offsets::new(&of.text, of.origin);
    let range = offsets.of(definition.from)..offsets.of(definition.to);
    of.text.get(range).unwrap_or_default()
}

impl ScriptStatement {
    /// What a DO block holds of definitions; nothing: it is none, or has none.
    pub fn holds_definitions(&self) -> Holds {
        match &self.syntax {
            Syntax::Anonymous(of) => of.holds,
            _ => Holds::Nothing,
        }
    }

    /// Runs a DO block, or a call, statement by statement; what it has said, also where it fails,
    /// and what a call gives.
    ///
    /// Errors: those of the block, and of the host.
    pub fn interpret<H: BlockHost>(
        &self,
        host: &mut H,
    ) -> (Vec<Notice>, std::result::Result<Vec<Value>, H::Error>) {
        let Syntax::Anonymous(of) = &self.syntax else { return (Vec::new(), Ok(Vec::new())) };
        with_room(|| run::run((of, &self.path), host))
    }

    /// Whether it may stand in a block as it is: a query, or a change of rows.
    fn is_step(&self) -> bool {
        use sqlparser::ast::Statement as S;
        let Syntax::Sql(statement) = &self.syntax else { return false };
        matches!(
            **statement,
            S::Query(_)
                | S::Insert(_)
                | S::Update(_)
                | S::Delete(_)
                | S::Merge(_)
                | S::NOTIFY { .. }
        )
    }
}

/// Compiles a step for the definitions in force.
pub type CompileStep<'s> =
    dyn FnMut(&Catalog, &dyn ProcedureNames, &SearchPath) -> Result<Compiled> + 's;

/// What a step gave.
#[derive(Default, Debug)]
pub struct StepAnswer {
    /// row after row
    pub values: Vec<Value>,
    /// of what was sent: names and types of its columns
    pub columns: Vec<(String, SqlType)>,
    /// of a definition or a command: rows that it changed
    pub touched: u64,
    /// what it has said
    pub notices: Vec<Notice>,
    /// what many values take of the statement's memory
    pub charge: Charge,
}

/// What runs the statements of a block: a session, in its transaction.
pub trait BlockHost {
    /// Why something did not happen.
    type Error: From<SqlError>;

    /// Compiles a step, and runs it with values for its parameters. Where it fails it has changed
    /// nothing; unless that was told by `compile`, the transaction may have ended with it.
    fn step(
        &mut self,
        compile: &mut CompileStep<'_>,
        values: &[Value],
    ) -> std::result::Result<StepAnswer, Self::Error>;

    /// Executes a statement as if it had been sent by itself.
    fn send(&mut self, statement: ScriptStatement) -> std::result::Result<StepAnswer, Self::Error>;

    /// Begins what can be taken back.
    fn protect(&mut self) -> std::result::Result<(), Self::Error>;

    /// Ends the youngest of these: what was done in it stays, or is taken back.
    fn unprotect(&mut self, stays: bool) -> std::result::Result<(), Self::Error>;

    /// COMMIT or ROLLBACK, and the next transaction.
    fn end(&mut self, commits: bool) -> std::result::Result<(), Self::Error>;

    /// The cursors that routines of its session have opened, for a moment.
    fn cursors(&mut self) -> RefMut<'_, OpenCursors>;

    /// Fails where the statement is to end.
    fn check(&mut self) -> std::result::Result<(), Self::Error>;

    /// Steps that a block may take.
    fn steps_max(&self) -> u64;

    /// The error, if it is one of SQL.
    fn sql_error(error: Self::Error) -> std::result::Result<SqlError, Self::Error>;
}

/// Whether an error is that of a definition in the text of an EXECUTE, which a block that is run
/// statement by statement makes.
pub fn is_refused_definition(error: &SqlError) -> bool {
    &error.sqlstate == b"0A000" && error.message.starts_with(crate::dynamic_text::DEFINITION)
}
