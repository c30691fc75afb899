//! Who asks, as programs and queries ask for it: the role in force, and settings.
//!
//! Role         answers what a call draws of its session ([`SessionDraw`]), and what policies are
//!              whose; of calls by a handle, which has no session, what that one was when it gave
//!              the handle

use hotrow_base::ids::TableId;
use hotrow_base::value::Value;
use hotrow_transaction::catalog::{ALL_ROWS, BOOTSTRAP, Catalog};
use hotrow_transaction::draw::SessionDraw;
use hotrow_transaction::needs::{By, denied};
use hotrow_transaction::outcome::SqlError;

use crate::context::Context;

/// Who asks.
pub(crate) trait Asker {
    /// the role in force; none: the database's maker
    fn role(&self) -> Option<String>;
    /// what that is called
    fn current_user(&self) -> String;
    /// the user of the session
    fn session_user(&self) -> String;
    /// the value of a setting; none: there is no such setting
    fn setting(&self, name: &str) -> Option<String>;
}

impl Asker for Context {
    fn role(&self) -> Option<String> {
        self.role().as_deref().map(str::to_owned)
    }

    fn current_user(&self) -> String {
        self.current_user()
    }

    fn session_user(&self) -> String {
        self.session_user()
    }

    fn setting(&self, name: &str) -> Option<String> {
        self.settings().get(&name.to_lowercase()).ok()
    }
}

/// Who has looked a procedure up for many calls; its settings are not known any more.
#[derive(Debug)]
pub(crate) struct KnownAsker {
    role: Option<String>,
    current_user: String,
    session_user: String,
}

impl KnownAsker {
    pub(crate) fn of(context: &Context) -> Self {
        let (role, current_user) = (Asker::role(context), context.current_user());
        Self { role, current_user, session_user: context.session_user() }
    }
}

impl Asker for KnownAsker {
    fn role(&self) -> Option<String> {
        self.role.clone()
    }

    fn current_user(&self) -> String {
        self.current_user.clone()
    }

    fn session_user(&self) -> String {
        self.session_user.clone()
    }

    fn setting(&self, _: &str) -> Option<String> {
        None
    }
}

/// What a call asks of its session.
///
/// # Errors
///
/// 42704 for a setting that there is not, 42501 where row_security is off and rows would be left
/// out.
pub(crate) fn said(
    catalog: &Catalog,
    asker: &dyn Asker,
    what: &SessionDraw,
) -> Result<Value, SqlError> {
    match what {
        SessionDraw::SessionUser => Ok(Value::Text(asker.session_user())),
        SessionDraw::CurrentUser(by @ By::Function(_)) => {
            Ok(Value::Text(catalog.owner_by(by).unwrap_or(BOOTSTRAP).to_owned()))
        }
        SessionDraw::Role(by) => Ok(role_by(catalog, asker, by).map_or(Value::Null, Value::Text)),
        SessionDraw::CurrentUser(_) => Ok(Value::Text(asker.current_user())),
        SessionDraw::Setting(name, may_miss) => match asker.setting(name) {
            Some(value) => Ok(Value::Text(value)),
            None if *may_miss => Ok(Value::Null),
            None => {
                let message = format!("unrecognized configuration parameter \"{name}\"");
                Err(SqlError::new(b"42704", message))
            }
        },
        SessionDraw::Policies { table, by, .. } => own_policies(catalog, asker, (*table, by)),
    }
}

/// The role of whoever asks, or of the owner of what asks for him; none: the database's maker.
fn role_by(catalog: &Catalog, asker: &dyn Asker, by: &By) -> Option<String> {
    match by {
        By::Caller => asker.role(),
        by => catalog.owner_by(by).map(str::to_owned),
    }
}

/// Which policies of a table are of whoever asks, or of the owner of what asks for him.
///
/// # Errors
///
/// As [`said`].
pub(crate) fn own_policies(
    catalog: &Catalog,
    asker: &dyn Asker,
    (table, by): (TableId, &By),
) -> Result<Value, SqlError> {
    let role = role_by(catalog, asker, by);
    let own = catalog.policies_of_table(table, role.as_deref());
    let is_off = || asker.setting("row_security").is_some_and(|value| value == "off");
    if own != ALL_ROWS && is_off() {
        let name = catalog.tables().at(table.index()).map_or("", |table| &table.name);
        let message =
            format!("query would be affected by row-level security policy for table \"{name}\"");
        let mut refused = denied(message);
        refused.hint = Some("SET row_security TO on, or ask as who sees all rows.".to_owned());
        return Err(refused);
    }
    Ok(Value::BigInt(own))
}
