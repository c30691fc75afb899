//! Tables without a primary key: what cannot be done without one, and how it comes.
//!
//! Role         a statement that must tell rows of such a table apart fails with an error that says
//!              so; whoever runs it makes the hidden key of [`crate::hidden`] then, and tries again

use std::fmt;

use hotrow_transaction::catalog::Table;
use hotrow_transaction::outcome::SqlError;
use hotrow_transaction::program::Place;

use crate::error::unsupported;
use crate::token::quoted_name;

/// The hidden column that is the key. No column that is written is called so.
pub(crate) const IDENTITY: &str = "(row)";

/// The error of what a table without a key cannot do: [`key_lacked`] says how it gets one.
pub(crate) fn lacks_key(table: &Table, what: impl fmt::Display, place: Place) -> SqlError {
    let what = format!("{what} of table \"{}\", which has no primary key,", table.name);
    SqlError {
        table: Some(table.qualified_name()),
        column: Some(IDENTITY.to_owned()),
        ..unsupported(place, what, "ALTER TABLE ... ADD PRIMARY KEY before")
    }
}

/// The definition that gives a table a key of its own, where that is all that a statement lacks
/// which failed so; none: it failed for another reason.
pub fn key_lacked(failed: &SqlError) -> Option<String> {
    let is_it = failed.column.as_deref() == Some(IDENTITY);
    let table = failed.table.as_ref().filter(|_| is_it)?;
    Some(format!("ALTER TABLE {} ADD IDENTITY OF ROWS", quoted_name(table)))
}
