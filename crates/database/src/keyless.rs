//! Statements that lack the key of a table which has none: it is made for them, once.

use hotrow_sql::key_lacked;
use hotrow_transaction::outcome::SqlError;

use crate::context::Context;
use crate::definition::parse_one;
use crate::error::Error;
use crate::session_transaction::SessionTransaction;

/// Tables that one statement may lack a key of.
const TABLES_MAX: usize = 64;

/// Compiles a statement, and once more for each table that it lacks a key of and that gets one: in
/// the session's transaction, if one is open. The inner error is the statement's.
pub(crate) fn with_keys<T>(
    context: &Context,
    transaction: &mut SessionTransaction,
    mut compile: impl FnMut() -> Result<T, SqlError>,
) -> Result<Result<T, SqlError>, Error> {
    let mut compiled = compile();
    for _ in 0..TABLES_MAX {
        let lacked = compiled.as_ref().err().and_then(key_lacked);
        let Some(text) = lacked else { break };
        transaction.have_definitions(context, "a statement that gives a table a key")?;
        transaction.define(context, &parse_one(&text)?.as_own())?;
        tracing::info!("a table without a primary key has got a hidden one: {text}");
        compiled = compile();
    }
    Ok(compiled)
}
