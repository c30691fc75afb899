//! Changes of users that would leave somebody outside.

use hotrow_sql::{CatalogChange, Compiled};
use hotrow_transaction::catalog::Catalog;
use hotrow_transaction::outcome::SqlError;

use crate::context::Context;
use crate::error::advised;

/// Fails with 55006 where a session would take its own user away, and with 55000 where nobody could
/// log in any more.
pub(crate) fn refuse_lock_out(context: &Context, definition: &Compiled) -> Result<(), SqlError> {
    let Compiled::Catalog(changes) = definition else { return Ok(()) };
    let identity = context.identity();
    let is_own = |change: &CatalogChange| match change {
        CatalogChange::DropUser(name) => *name == identity.user,
        _ => false,
    };
    match changes.iter().any(is_own) {
        true => Err(SqlError::new(b"55006", "current user cannot be dropped")),
        false => refuse_last_password(&context.core.schema.current().catalog, changes),
    }
}

/// Fails where changes would leave nobody with a password who can log in. What is repeated from a
/// log is not asked: older versions let it be done.
fn refuse_last_password(catalog: &Catalog, changes: &[CatalogChange]) -> Result<(), SqlError> {
    let mut lost = Vec::new();
    for change in changes {
        match change {
            CatalogChange::DropUser(name) | CatalogChange::SetUser { name, verifier: None } => {
                lost.push(name.as_str());
            }
            CatalogChange::SetUser { verifier: Some(_), .. } => return Ok(()),
            _ => {}
        }
    }
    let mut with_password = catalog.users().iter().filter(|(_, verifier)| verifier.is_some());
    let mut is_any = false;
    let are_lost = with_password.all(|(name, _)| {
        is_any = true;
        lost.contains(&name.as_str())
    });
    if !(is_any && are_lost) {
        return Ok(());
    }
    let message = "the last user with a password cannot be left without it: nobody could log in";
    let hint = "Give another user a password first. To let programs of this machine in without \
                passwords, restart the server with --insecure-no-passwords.";
    Err(advised(b"55000", message.to_owned(), hint))
}
