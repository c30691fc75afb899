//! What a session may: the role that it has, and whether that has the rights that it needs.
//!
//! Role         what is compiled is compiled once for everybody, and tells what it needs; whoever
//!              runs it is asked once for each role and catalog, and nothing is asked when it runs
//! Invariants   I1 a session has the role that it began with, unless it has said SET ROLE or SET
//!              SESSION AUTHORIZATION, which settings keep, and a rollback takes back
//!              I2 a session whose user was no role when it began is the database's maker's: where
//!              nobody is asked for a password, everybody may do everything

use std::sync::Arc;

use hotrow_sql::is_function;
use hotrow_transaction::catalog::{
    Attribute, Catalog, Object, ObjectKind, PUBLIC, Privileges, Rights, Table,
};
use hotrow_transaction::needs::{Needs, denied};
use hotrow_transaction::outcome::{Notice, SqlError};
use hotrow_transaction::program::Place;

use crate::context::Context;
use crate::role_in_force::RoleInForce;
use crate::settings::{AUTHORIZATION, ROLE};

impl Context {
    /// Who its user is: what RESET goes back to, and SET ROLE is measured by.
    fn session_role(&self) -> RoleInForce {
        let identity = self.identity();
        match self.settings().said(AUTHORIZATION) {
            Some(said) if said != identity.user => Some(said.into()),
            _ => identity.role.clone(),
        }
    }

    /// Has the role in force that the settings tell, if it is another one.
    pub(crate) fn settle_role(&self) {
        let said = self.settings().said(ROLE).filter(|said| said != "none");
        let next = match said {
            Some(role) => Some(role.into()),
            None => self.session_role(),
        };
        // Of most sessions, behind each transaction: without a look at what all threads share.
        if next.is_none() && self.role().is_none() {
            return;
        }
        if *self.role() != next {
            self.set_role_in_force(next);
        }
        let schema = self.core.schema.current();
        let role = self.role().clone();
        let actor = schema.catalog.rights().actor(role.as_deref());
        let is_on = if actor.is_superuser() { "on" } else { "off" };
        self.settings().tell("is_superuser", is_on);
    }

    /// What `current_user` is.
    pub(crate) fn current_user(&self) -> String {
        let role = self.role().as_deref().map(str::to_owned);
        role.unwrap_or_else(|| self.session_user())
    }

    /// What the database's maker is called here, where the session is his.
    pub(crate) fn maker(&self) -> Option<Arc<str>> {
        let identity = self.identity();
        identity.role.is_none().then(|| identity.user.as_str().into())
    }

    /// What `session_user` is.
    pub(crate) fn session_user(&self) -> String {
        self.settings().said(AUTHORIZATION).unwrap_or_else(|| self.identity().user.clone())
    }

    /// SET ROLE and SET SESSION AUTHORIZATION; none: to the default.
    pub(crate) fn set_role(
        &self,
        name: &str,
        value: Option<&str>,
        local: bool,
    ) -> Result<(), SqlError> {
        let schema = self.core.schema.current();
        let rights = schema.catalog.rights();
        let value = match value {
            Some("none") if name == ROLE => None,
            Some("default") if name == AUTHORIZATION => None,
            value => value,
        };
        if let Some(wanted) = value {
            self.refuse_role(rights, name, wanted)?;
        }
        let mut settings = self.settings();
        settings.say(name, value, local);
        if name == AUTHORIZATION {
            settings.say(ROLE, None, local);
        }
        Ok(())
    }

    /// Fails with 22023 for a role that there is none of, and with 42501 for one that the session
    /// may not have.
    fn refuse_role(&self, rights: &Rights, name: &str, wanted: &str) -> Result<(), SqlError> {
        let own = match name {
            AUTHORIZATION => self.identity().role.clone(),
            _ => self.session_role(),
        };
        let is_own_name = own.is_none() && wanted == self.identity().user;
        if rights.role(wanted).is_none() && !is_own_name {
            let message = format!("role \"{wanted}\" does not exist");
            return Err(SqlError::new(b"22023", message));
        }
        let actor = rights.actor(own.as_deref());
        let may = match (name, own.as_deref()) {
            _ if actor.is_superuser() => true,
            (AUTHORIZATION, own) => own == Some(wanted),
            (_, Some(own)) => rights.is_member(own, wanted),
            (_, None) => true,
        };
        match (may, name) {
            (true, _) => Ok(()),
            (false, AUTHORIZATION) => {
                Err(denied("permission denied to set session authorization".to_owned()))
            }
            (false, _) => Err(denied(format!("permission denied to set role \"{wanted}\""))),
        }
    }

    /// Fails with 42501 where the session's role has not all that is needed.
    pub(crate) fn refuse_without(&self, catalog: &Catalog, needs: &Needs) -> Result<(), SqlError> {
        let role = self.role();
        match &*role {
            None => Ok(()),
            Some(_) if needs.is_empty() => Ok(()),
            Some(role) => catalog.refuse_without(Some(role), needs),
        }
    }

    /// Fails with 42501 where the session's role may not call a function, or do what that does.
    pub(crate) fn refuse_call(
        &self,
        catalog: &Catalog,
        procedure: &hotrow_transaction::program::Procedure,
    ) -> Result<(), SqlError> {
        let role = self.role();
        let Some(role) = role.as_deref() else { return Ok(()) };
        let object = Object::Function(procedure.name.as_str().into());
        let actor = catalog.rights().actor(Some(role));
        if !procedure.is_statement() && procedure.schema() != PUBLIC {
            let schema = Object::Schema(procedure.schema().into());
            catalog.refuse_denied(&actor, &schema, Privileges::USAGE)?;
        }
        if !procedure.is_statement()
            && !actor.may(&object, ObjectKind::Function, Privileges::EXECUTE)
        {
            let what = if is_function(procedure) { "function" } else { "procedure" };
            return Err(denied(format!("permission denied for {what} {}", procedure.shown_name())));
        }
        catalog.refuse_without(Some(role), &procedure.needs)
    }

    /// Fails with 42501 where the session may not draw a sequence's numbers, or set them.
    pub(crate) fn refuse_sequence(
        &self,
        catalog: &Catalog,
        object: &Object,
        one_of: Privileges,
    ) -> Result<(), SqlError> {
        let role = self.role();
        let Some(role) = role.as_deref() else { return Ok(()) };
        catalog.refuse_denied(&catalog.rights().actor(Some(role)), object, one_of)
    }

    /// What is to be said of tables that are not the session's, which VACUUM and ANALYZE pass over.
    pub(crate) fn not_his(&self, verb: &str, tables: &[(String, Place)]) -> Vec<Notice> {
        let role = self.role();
        let Some(role) = role.as_deref() else { return Vec::new() };
        let schema = self.core.schema.current();
        let catalog = &schema.catalog;
        let actor = catalog.rights().actor(Some(role));
        let path = self.path();
        let named = tables.iter().filter_map(|(name, _)| catalog.table_seen(&path, name));
        let others = named.filter(|table| !actor.owns(&Object::Table(table.id)));
        let warning = |table: &Table| {
            let name = &table.name;
            let message =
                format!("skipping \"{name}\" --- only table or database owner can {verb} it");
            Notice::warning(SqlError::new(b"01000", message))
        };
        others.map(warning).collect()
    }

    /// Whether the session's role is this attribute's, or may be anything.
    pub(crate) fn has_attribute(&self, attribute: Attribute) -> bool {
        let role = self.role();
        let Some(role) = role.as_deref() else { return true };
        let schema = self.core.schema.current();
        schema.catalog.rights().actor(Some(role)).has(attribute)
    }

    /// Whether the session may interrupt one of another user's, or see what it does; of this role,
    /// none: the database's maker.
    pub(crate) fn may_interrupt(&self, other: &RoleInForce) -> Result<(), SqlError> {
        let role = self.role();
        let Some(role) = role.as_deref() else { return Ok(()) };
        let schema = self.core.schema.current();
        let rights = schema.catalog.rights();
        let actor = rights.actor(Some(role));
        let is_super = rights.actor(other.as_deref()).is_superuser();
        match actor.is_superuser() || !is_super && actor.is(other.as_deref()) {
            true => Ok(()),
            false if is_super => {
                Err(denied("must be a superuser to terminate superuser process".to_owned()))
            }
            false => Err(denied(
                "must be a member of the role whose process is being terminated or member of \
                 pg_signal_backend"
                    .to_owned(),
            )),
        }
    }
}
