//! Preparing statements: texts are parsed and compiled for the schema in force.
//!
//! Role         for sessions, and for what needs statements of its own on the way

use hotrow_base::panics;
use hotrow_base::types::SqlType;
use hotrow_sql::{Compiled, Naming, ScriptStatement, parse_script, split_path};
use hotrow_transaction::outcome::{SqlError, apart};

use crate::context::Context;
use crate::error::{Error, advised};
use crate::keyless::with_keys;
use crate::prepared::{Prepared, compile_taking};
use crate::session_transaction::SessionTransaction;
use crate::verifier::conceal;

/// A statement that may be done in parts, where there are transactions to hold them together.
pub(crate) fn in_parts(context: &Context, statement: ScriptStatement) -> ScriptStatement {
    let (core, statement) = (&context.core, in_path(context, statement));
    match core.interactive {
        Some(_) if core.locks_as_it_goes => statement.in_parts(),
        // One program can be kept, and is run once; parts make a transaction.
        Some(_) => statement.in_parts_if_need_be(),
        None => statement,
    }
}

/// A statement whose bare names are looked for where the session has them looked for, unless its
/// text says another path already: it was sent before that was changed.
fn in_path(context: &Context, statement: ScriptStatement) -> ScriptStatement {
    if statement.temporary().is_some() {
        context.temporary().begin(&context.core);
    }
    let maker = statement.depends_on_role().then(|| context.maker()).flatten();
    let statement = statement.of_sender(context.role().clone(), maker);
    match split_path(&statement.text).0 {
        "" => statement.in_path(&context.path()),
        _ => statement,
    }
}

/// See [`Session::prepare`](crate::Session::prepare).
pub(crate) fn prepare(
    context: &Context,
    transaction: &mut SessionTransaction,
    text: &str,
    types: &[Option<SqlType>],
) -> Result<Prepared, Error> {
    let prepared = prepare_parsed(context, transaction, text, types);
    context.settle_found(prepared).inspect_err(|_| transaction.fail())
}

/// Prepares a statement that was compiled with the schema of this number in force; compiles it
/// again if that is another one by now.
pub(crate) fn prepare_compiled(
    context: &Context,
    transaction: &mut SessionTransaction,
    text: &str,
    (generation, compiled): (u64, Compiled),
) -> Result<Prepared, Error> {
    let core = &context.core;
    let schema = core.schema.current();
    // Behind the look at the schema, which is therefore that of the number.
    if core.schema.generation() != generation {
        return prepare(context, transaction, text, &[]);
    }
    let statement = in_parts(context, parsed(text)?);
    Ok(Prepared::compiled(&schema, generation, statement, compiled)?)
}

/// Prepares a statement that may use the tables of sequences.
pub(crate) fn prepare_own(
    context: &Context,
    transaction: &mut SessionTransaction,
    text: &str,
    types: &[Option<SqlType>],
) -> Result<Prepared, Error> {
    prepare_one(context, transaction, parsed(text)?.as_own(), types)
}

/// Prepares a statement whose parameters are its literals ([`Prepared::literals`]).
pub(crate) fn prepare_shaped(
    context: &Context,
    mut statement: ScriptStatement,
) -> Result<Prepared, SqlError> {
    statement.keep_for(&context.memory); // it outlives the statement that makes it
    let generation = context.core.schema.generation();
    Prepared::shaped(&context.core.schema.current(), generation, statement)
}

fn prepare_parsed(
    context: &Context,
    transaction: &mut SessionTransaction,
    text: &str,
    types: &[Option<SqlType>],
) -> Result<Prepared, Error> {
    let _guard = panics::guard();
    let _running = context.interrupt.begin();
    let _entered = context.enter();
    let mut prepared = prepare_one(context, transaction, parsed(text)?, types)?;
    prepared.keep_for(&context.memory);
    Ok(prepared)
}

/// Prepares a statement, in the transaction that is open if it needs one.
pub(crate) fn prepare_one(
    context: &Context,
    transaction: &mut SessionTransaction,
    statement: ScriptStatement,
    types: &[Option<SqlType>],
) -> Result<Prepared, Error> {
    let statement = in_parts(context, conceal(statement)?);
    if let Some(Naming::Declare { text, .. }) = statement.naming() {
        let declared = prepare_parsed(context, transaction, text, types)?;
        return Ok(Prepared::declaring(statement, &declared));
    }
    if !statement.is_transaction_control() {
        transaction.refuse_failed()?;
    }
    let compile = || {
        let generation = context.core.schema.generation();
        let schema = context.core.schema.current();
        compile_taking(&schema, generation, &statement, types)
    };
    let compiled = with_keys(context, transaction, compile(), compile)?;
    Ok(Prepared::with_parameters(statement, compiled?))
}

fn parsed(text: &str) -> Result<ScriptStatement, SqlError> {
    let mut statements = apart(|| parse_script(text))?;
    match (statements.pop(), statements.is_empty()) {
        (Some(statement), true) => Ok(statement),
        _ => {
            let message = "a prepared statement is one statement".to_owned();
            Err(advised(b"42601", message, "Prepare them one by one."))
        }
    }
}
