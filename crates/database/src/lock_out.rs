//! Changes of users that would leave somebody outside.

use hotrow_sql::{CatalogChange, Compiled};
use hotrow_transaction::catalog::{Attribute, Catalog, Role};
use hotrow_transaction::outcome::{Notice, SqlError};

use crate::context::Context;
use crate::error::advised;

/// Fails with 55006 where a session would take its own user away, and with 55000 where nobody could
/// log in any more.
pub(crate) fn refuse_lock_out(context: &Context, definition: &Compiled) -> Result<(), SqlError> {
    let Compiled::Catalog(changes) = definition else { return Ok(()) };
    let identity = context.identity();
    let is_own = |change: &CatalogChange| match change {
        CatalogChange::DropRole(name) => {
            *name == identity.user || context.role().as_deref() == Some(name)
        }
        _ => false,
    };
    match changes.iter().any(is_own) {
        true => Err(SqlError::new(b"55006", "current user cannot be dropped")),
        false => refuse_last_password(&context.core.schema.current().catalog, changes),
    }
}

/// What is to be said behind a definition that gives a user a password, where passwords are asked
/// for from then on, and no superuser has one.
pub(crate) fn warning(catalog: &Catalog, definition: &Compiled) -> Option<Notice> {
    let Compiled::Catalog(changes) = definition else { return None };
    let gives = |change: &CatalogChange| match change {
        CatalogChange::SetRole { role, .. } => role.verifier.is_some(),
        _ => false,
    };
    let gets_in = |role: &Role| {
        let is = |attribute| role.attributes.has(attribute);
        role.verifier.is_some() && is(Attribute::Login) && is(Attribute::Superuser)
    };
    let mut roles = catalog.rights().roles();
    if !changes.iter().any(gives) || roles.any(|(_, role)| gets_in(role)) {
        return None;
    }
    let message = "no superuser has a password, and users have to prove theirs from now on";
    let hint = "CREATE USER name SUPERUSER PASSWORD '...' before this session ends; hotrow serve \
                --user makes one, too.";
    Some(Notice::warning(advised(b"01000", message.to_owned(), hint)))
}

/// Fails where changes would leave nobody with a password who can log in. What is repeated from a
/// log is not asked: older versions let it be done.
fn refuse_last_password(catalog: &Catalog, changes: &[CatalogChange]) -> Result<(), SqlError> {
    let gets_in = |role: &Role| role.verifier.is_some() && role.attributes.has(Attribute::Login);
    let mut lost = Vec::new();
    for change in changes {
        match change {
            CatalogChange::SetRole { role, .. } if gets_in(role) => return Ok(()),
            CatalogChange::DropRole(name) | CatalogChange::SetRole { name, .. } => {
                lost.push(name.as_str());
            }
            _ => {}
        }
    }
    let mut with_password = catalog.rights().roles().filter(|(_, role)| gets_in(role));
    let mut is_any = false;
    let are_lost = with_password.all(|(name, _)| {
        is_any = true;
        lost.contains(&&**name)
    });
    if !(is_any && are_lost) {
        return Ok(());
    }
    let message = "the last user with a password cannot be left without it: nobody could log in";
    let hint = "Give another user a password first. To let programs of this machine in without \
                passwords, restart the server with --insecure-no-passwords.";
    Err(advised(b"55000", message.to_owned(), hint))
}
