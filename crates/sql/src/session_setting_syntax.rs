//! Settings that sessions begin with, as they are written.
//!
//! ```text
//! ALTER {ROLE | USER} {name | CURRENT_USER | ALL} [IN DATABASE name] change
//! ALTER DATABASE name change
//!   change   SET name {TO | =} {value, ... | DEFAULT} | RESET {name | ALL}
//! ```
//!

use hotrow_transaction::program::Place;

use crate::error::{Result, unsupported};
use crate::role::{RoleName, role_name};
use crate::setting::{Setting, setting};
use crate::token::Cursor;

/// ALTER ROLE and ALTER DATABASE ... SET and RESET.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct SessionSettingSyntax {
    /// none: of all roles
    pub(crate) role: Option<(RoleName, Place)>,
    pub(crate) in_database: bool,
    /// none: all that were set are forgotten
    pub(crate) name: Option<String>,
    /// none: it is forgotten
    pub(crate) value: Option<String>,
    /// what is said of it
    pub(crate) notice: Option<String>,
}

/// What follows ALTER ROLE, if it is such a statement; none: it is another one.
pub(crate) fn role_setting(cursor: &mut Cursor<'_>) -> Result<Option<SessionSettingSyntax>> {
    let role = match cursor.accept("all") {
        true => None,
        false => Some(role_name(cursor)?),
    };
    let in_database = cursor.accept_all(&["in", "database"]);
    if in_database {
        cursor.identifier()?; // there is one, by whatever name
    }
    change(cursor, role, in_database)
}

/// ALTER DATABASE ... SET and RESET; none: another statement.
pub(crate) fn database_setting(cursor: &mut Cursor<'_>) -> Result<Option<SessionSettingSyntax>> {
    if !cursor.accept_all(&["alter", "database"]) {
        return Ok(None);
    }
    cursor.identifier()?;
    change(cursor, None, true)
}

fn change(
    cursor: &mut Cursor<'_>,
    role: Option<(RoleName, Place)>,
    in_database: bool,
) -> Result<Option<SessionSettingSyntax>> {
    if !cursor.is("set") && !cursor.is("reset") {
        return Ok(None);
    }
    if cursor.is("set") && cursor.is_at(2, "from") {
        let hint = "write the value";
        return Err(unsupported(cursor.place(), "SET ... FROM CURRENT", hint));
    }
    let place = cursor.place();
    let (name, value) = match setting(cursor)? {
        Some(Setting::Set { name, value, local: false }) => (Some(name), value),
        Some(Setting::Reset(name)) => (Some(name), None),
        Some(Setting::ResetAll) => (None, None),
        _ => {
            let hint = "write SET name TO value";
            return Err(unsupported(place, "such a setting of a role or a database", hint));
        }
    };
    Ok(Some(SessionSettingSyntax { role, in_database, name, value, notice: None }))
}
