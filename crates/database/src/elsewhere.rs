//! Prepared statements whose names are looked for elsewhere by now.
//!
//! Role         a session prepares `SELECT ... FROM account`, sets `search_path` to another
//!              schema, and executes it: it means the table of that schema then, as if it were
//!              prepared again. Many hold one schema for each of their customers, and statements
//!              over all of them
//! Invariants   I1 what it returns stays what it was said to return, else it fails with 0A000
//! Source       PostgreSQL 15, PREPARE, "Notes"

use hotrow_base::types::SqlType;
use hotrow_sql::split_path;
use hotrow_transaction::catalog::SearchPath;

use crate::context::Context;
use crate::error::Error;
use crate::prepare::prepare;
use crate::prepared::{Prepared, result_changed};
use crate::session_transaction::SessionTransaction;

/// What a prepared statement means where another path is in force.
pub(crate) struct Elsewhere {
    path: SearchPath,
    pub(crate) prepared: Prepared,
}

/// Whether the session looks for a statement's names elsewhere than when it was prepared.
pub(crate) fn is_elsewhere(context: &Context, prepared: &Prepared) -> bool {
    let of = prepared.statement().path();
    prepared.may_move() && (!of.is_default() || !context.has_usual_path()) && *of != context.path()
}

/// A statement prepared again, with the path in force: what was kept of that, if it is for this
/// one.
pub(crate) fn moved(
    context: &Context,
    transaction: &mut SessionTransaction,
    prepared: &Prepared,
) -> Result<Box<Elsewhere>, Error> {
    let path = context.path();
    if let Some(kept) = prepared.take_elsewhere().filter(|kept| kept.path == path) {
        return Ok(kept);
    }
    let types: Vec<Option<SqlType>> = prepared.parameters().iter().copied().map(Some).collect();
    let text = split_path(&prepared.statement().text).1;
    let again = prepare(context, transaction, text, &types)?;
    if !again.columns().eq(prepared.columns()) {
        transaction.fail();
        return Err(result_changed().into()); // I1
    }
    Ok(Box::new(Elsewhere { path, prepared: again }))
}
