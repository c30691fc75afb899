//! Routines whose texts name what is not there.
//!
//! Role         such a routine is created all the same, as PostgreSQL does for PL/pgSQL; a call of
//!              it fails with the error that its text has. It is compiled again when definitions
//!              come that it may concern

use std::sync::Arc;

use hotrow_transaction::catalog::Catalog;
use hotrow_transaction::outcome::SqlError;
use hotrow_transaction::program::{Lacking, Procedure, RoutineSource};

use crate::compile::compiler_of;
use crate::compiled::Compiled;
use crate::create::create_failing;
use crate::error::{Advice, Result, error};
use crate::scope::Compiler;
use crate::script_statement::ScriptStatement;
use crate::state::ProcedureNames;
use crate::syntax::{Routine, Syntax};

/// Compiles CREATE FUNCTION or PROCEDURE of a routine that cannot be called: a call fails with this
/// error.
///
/// Errors: those of what it takes and returns, and XX000 for another statement.
pub fn compile_lacking<'c>(
    catalog: &'c Catalog,
    procedures: &'c impl ProcedureNames,
    statement: &ScriptStatement,
    failed: SqlError,
) -> Result<Compiled> {
    let Syntax::Routine(routine) = &statement.syntax else {
        return Err(error(b"XX000", statement.place, "the statement makes no routine"));
    };
    let mut compiler = compiler_of(catalog, procedures, statement)?;
    lacking(&mut compiler, routine, statement, failed)
}

/// As [`compile_lacking`], by a compiler that has compiled nothing yet.
pub(crate) fn lacking(
    compiler: &mut Compiler<'_>,
    routine: &Routine,
    statement: &ScriptStatement,
    failed: SqlError,
) -> Result<Compiled> {
    compiler.place = statement.place;
    let compiled = create_lacking(compiler, routine, statement, failed);
    let mut compiled = compiled.map_err(|e| e.or_at(statement.place))?;
    compiler.give_needs(&mut compiled);
    compiler.give_maker(&mut compiled);
    Ok(compiled)
}

/// Whether an error is that of a text that names what is not there, but may come.
pub(crate) fn is_of_lacking(failed: &SqlError) -> bool {
    [b"42P01", b"42703", b"42883"].contains(&&failed.sqlstate)
}

/// A routine whose text names what is not there: a call of it fails with that error. Errors of what
/// it takes and returns are errors.
fn create_lacking(
    compiler: &mut Compiler<'_>,
    routine: &Routine,
    statement: &ScriptStatement,
    failed: SqlError,
) -> Result<Compiled> {
    let of = Lacking { error: failed.clone(), is_looked_at: routine.is_in_sql };
    let source = Arc::new(RoutineSource { text: statement.text.clone(), is_hollow: true });
    let with =
        |procedure| Procedure { lacks: Some(Arc::new(of)), source: Some(source), ..procedure };
    create_failing(compiler, routine, statement, &failed, with)
}
