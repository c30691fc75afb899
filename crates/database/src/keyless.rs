//! Statements that lack the key of a table which has none: it is made for them, once.

use hotrow_sql::key_lacked;
use hotrow_transaction::catalog::{Object, Privileges};
use hotrow_transaction::needs::{By, Needs};
use hotrow_transaction::outcome::SqlError;

use crate::context::Context;
use crate::definition::parse_one;
use crate::error::Error;
use crate::session_transaction::SessionTransaction;

/// Tables that one statement may lack a key of.
const TABLES_MAX: usize = 64;

/// What a statement was compiled to; it is compiled once more for each table that it lacks a key of
/// and that gets one: in the session's transaction, if one is open. The inner error is the
/// statement's.
pub(crate) fn with_keys<T>(
    context: &Context,
    transaction: &mut SessionTransaction,
    mut compiled: Result<T, SqlError>,
    mut compile: impl FnMut() -> Result<T, SqlError>,
) -> Result<Result<T, SqlError>, Error> {
    for _ in 0..TABLES_MAX {
        let Some(failed) = compiled.as_ref().err() else { break };
        let Some(text) = key_lacked(failed).filter(|_| may_change(context, failed)) else { break };
        transaction.have_definitions(context, "a statement that gives a table a key")?;
        transaction.define(context, &parse_one(&text)?.as_own())?;
        tracing::info!("a table without a primary key has got a hidden one: {text}");
        compiled = compile();
    }
    Ok(compiled)
}

/// Whether the session's role may change or delete all rows of the table that an error tells of:
/// who may not gives it no key either.
fn may_change(context: &Context, failed: &SqlError) -> bool {
    let schema = context.core.schema.current();
    let named = failed.table.as_deref().and_then(|name| schema.catalog.table_named(name));
    let Some(table) = named else { return false };
    [Privileges::UPDATE, Privileges::DELETE].into_iter().any(|right| {
        let mut needs = Needs::default();
        needs.add(&By::Caller, Object::Table(table.id), right);
        context.refuse_without(&schema.catalog, &needs).is_ok()
    })
}
