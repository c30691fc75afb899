//! Whether somebody may make a definition.
//!
//! Role         asked once, when a session sends one, of what it was compiled to. What is repeated
//!              from a log was asked when it was made, and what is compiled anew for another
//!              definition's sake is nobody's wish
//! Source       PostgreSQL 15, the pages of the statements, and user.c

use hotrow_base::ids::TableId;
use hotrow_transaction::catalog::{
    Actor, Attribute, Catalog, Object, Privileges, Role, SettingScope, local, schema_of,
};
use hotrow_transaction::needs::denied;
use hotrow_transaction::outcome::SqlError;
use sqlparser::ast;

use crate::changes::{CatalogChange, ForeignKeyDefinition, TableDefinition};
use crate::compiled::Compiled;
use crate::error::Result;
use crate::scope::Compiler;
use crate::script_statement::ScriptStatement;
use crate::state::ProcedureNames;
use crate::syntax::Syntax;
use crate::written::object_name;

/// Fails with 42501 where a role (none: the database's maker) may not make a definition.
pub fn refuse_not_entitled(
    catalog: &Catalog,
    procedures: &impl ProcedureNames,
    role: Option<&str>,
    (statement, compiled): (&ScriptStatement, &Compiled),
) -> Result<()> {
    let actor = catalog.rights().actor(role);
    if statement.is_own || statement.temporary().is_some() {
        return Ok(());
    }
    let asked = Asked { catalog, actor: &actor, statement };
    match compiled {
        Compiled::Catalog(changes) => {
            asked.altered_table()?;
            changes.iter().try_for_each(|change| asked.change(change, procedures))
        }
        Compiled::Refresh(refresh) => asked.owner(&refresh.object),
        Compiled::CreateProcedure { procedure, .. } => {
            match procedures.procedure(&procedure.name) {
                Some(_) => asked.owner(&Object::Function(procedure.name.as_str().into())),
                None => asked.creates_in(procedure.schema()),
            }
        }
        Compiled::AlterRoutine(altered) => {
            asked.owner(&Object::Function(altered.name.as_str().into()))?;
            altered.schema.iter().try_for_each(|schema| asked.creates_in(schema))
        }
        Compiled::DropProcedures { names, .. } => {
            names.iter().try_for_each(|dropped| match procedures.procedure(&dropped.name) {
                Some(_) => asked.owner(&Object::Function(dropped.name.as_str().into())),
                None => Ok(()),
            })
        }
        _ => Ok(()),
    }
}

/// Who wants what.
struct Asked<'a> {
    catalog: &'a Catalog,
    actor: &'a Actor<'a>,
    statement: &'a ScriptStatement,
}

impl Asked<'_> {
    fn owner(&self, object: &Object) -> Result<()> {
        self.catalog.refuse_not_owner(self.actor, object)
    }

    fn creates_in(&self, schema: &str) -> Result<()> {
        let object = Object::Schema(schema.into());
        self.catalog.refuse_denied(self.actor, &object, Privileges::CREATE)
    }

    fn creates(&self, written: &str) -> Result<()> {
        self.creates_in(schema_of(written))
    }

    /// ALTER TABLE, of whatever: its table has to be his.
    fn altered_table(&self) -> Result<()> {
        let name = match &self.statement.syntax {
            Syntax::Sql(statement) => match &**statement {
                ast::Statement::AlterTable(ast::AlterTable { name, .. }) => {
                    object_name(name, self.statement.place)?
                }
                _ => return Ok(()),
            },
            Syntax::SetSchema { table, .. } => table.clone(),
            Syntax::Alter(written) => {
                let compiler = Compiler::new(self.catalog).seeing(&self.statement.path);
                let object = compiler.altered_object(written);
                return object.map_or(Ok(()), |object| self.owner(&object));
            }
            _ => return Ok(()),
        };
        let path = &self.statement.path;
        if let Some(table) = self.catalog.table_seen(path, &name) {
            self.owner(&Object::Table(table.id))?;
        }
        match self.catalog.view_seen(path, &name) {
            Some(view) => self.owner(&Object::View(view.id)),
            None => Ok(()),
        }
    }

    /// Whether DROP names something by its own name, and does not only take it with another thing.
    fn is_named(&self, name: &str) -> bool {
        let Syntax::Sql(statement) = &self.statement.syntax else { return true };
        let names = match &**statement {
            ast::Statement::Drop { names, .. } => names,
            ast::Statement::DropDomain(_) => return true,
            _ => return false,
        };
        let place = self.statement.place;
        names.iter().any(|of| object_name(of, place).is_ok_and(|of| local(&of) == local(name)))
    }

    fn change(&self, change: &CatalogChange, procedures: &impl ProcedureNames) -> Result<()> {
        match change {
            CatalogChange::CreateSchema(_) => {
                self.catalog.refuse_denied(self.actor, &Object::Database, Privileges::CREATE)
            }
            CatalogChange::DropSchema(name) => self.owner(&Object::Schema(name.as_str().into())),
            CatalogChange::RenameSchema { name, .. } => {
                self.owner(&Object::Schema(name.as_str().into()))?;
                self.catalog.refuse_denied(self.actor, &Object::Database, Privileges::CREATE)
            }
            CatalogChange::MoveTable { schema, .. } => self.creates_in(schema),
            CatalogChange::CreateTable(definition) => {
                self.creates_in(&definition.schema)?;
                self.refers(definition)
            }
            CatalogChange::CreateSequence(definition) => self.creates(&definition.name),
            CatalogChange::CreateIndex { table, .. } => match self.catalog.table_named(table) {
                Some(table) => self.owner(&Object::Table(table.id)),
                None => Ok(()),
            },
            CatalogChange::DropTable(id) if self.is_named(&self.catalog.table(*id).name) => {
                self.owner(&Object::Table(*id))
            }
            CatalogChange::DropIndex(id) => {
                let index = self.catalog.index(*id);
                let is_his = self.owner(&Object::Table(index.table)).is_ok();
                match is_his || !self.is_named(&index.name) {
                    true => Ok(()),
                    false => Err(denied(format!("must be owner of index {}", index.name))),
                }
            }
            CatalogChange::AddForeignKey { key, .. } => self.refers_to(key),
            CatalogChange::SetTrigger { table, trigger } => match &self.statement.syntax {
                Syntax::Trigger(_) => {
                    let object = Object::Table(*table);
                    self.catalog.refuse_denied(self.actor, &object, Privileges::TRIGGER)?;
                    let function = Object::Function(trigger.function.name.as_str().into());
                    self.catalog.refuse_denied(self.actor, &function, Privileges::EXECUTE)
                }
                _ => Ok(()),
            },
            CatalogChange::DropTrigger { table, .. } => match &self.statement.syntax {
                Syntax::DropTrigger(_) => self.owner_of_relation(*table),
                _ => Ok(()),
            },
            CatalogChange::SetSecurity { table, .. } => self.owner(&Object::Table(*table)),
            CatalogChange::SetView(view) => {
                let known = self.catalog.view(&view.qualified_name());
                match (known, &view.partition) {
                    // It follows what somebody may do to its table.
                    (Some(_), Some(_)) => Ok(()),
                    (Some(old), None) => self.owner(&Object::View(old.id)),
                    (None, None) => self.creates_in(&view.schema),
                    (None, Some(partition)) => {
                        self.creates_in(&view.schema)?;
                        self.owner(&Object::Table(partition.table))
                    }
                }
            }
            CatalogChange::DropView(name) if self.is_named(name) => {
                let view = self.catalog.view(name);
                view.map_or(Ok(()), |view| self.owner(&Object::View(view.id)))
            }
            CatalogChange::SetType { name, .. } => match self.type_named(name) {
                Some(object) => self.owner(&object),
                None => self.creates(name),
            },
            CatalogChange::DropType(name) if self.is_named(name) => {
                self.type_named(name).map_or(Ok(()), |object| self.owner(&object))
            }
            CatalogChange::SetRole { name, role } => self.sets_role(name, role),
            CatalogChange::DropRole(name) => self.drops_role(name),
            CatalogChange::SetMembership { role, .. } => self.admits(role),
            CatalogChange::SetSessionSetting { scope, .. } => self.sets_for(scope),
            CatalogChange::SetComment { about: (object, _), .. } => self.owner(object),
            CatalogChange::SetOwner { object, owner } => {
                self.owner(object)?;
                self.gives_to(object, owner.as_deref(), procedures)
            }
            CatalogChange::SetDefaults { of, .. } if !self.actor.is(of.as_deref()) => {
                Err(denied("permission denied to change default privileges".to_owned()))
            }
            CatalogChange::Made(made) => match made.owner.as_deref() {
                Some(owner) if !self.actor.is_superuser() => self.may_be(owner),
                _ => Ok(()),
            },
            _ => Ok(()),
        }
    }

    fn owner_of_relation(&self, table: TableId) -> Result<()> {
        let name = || format!("must be owner of relation {}", self.catalog.table(table).name);
        self.owner(&Object::Table(table)).map_err(|_| denied(name()))
    }

    /// The key of a type that there is.
    fn type_named(&self, name: &str) -> Option<Object> {
        let (schema, name) = (schema_of(name), local(name));
        let mut all = self.catalog.types();
        let found = all.find(|(of, known, _)| *of == schema && *known == name);
        found.map(|(schema, name, _)| Object::type_in(schema, name))
    }

    fn refers(&self, definition: &TableDefinition) -> Result<()> {
        definition.foreign_keys.iter().try_for_each(|key| self.refers_to(key))
    }

    /// REFERENCES
    fn refers_to(&self, key: &ForeignKeyDefinition) -> Result<()> {
        let Some(parent) = key.parent else { return Ok(()) };
        let object = Object::Table(parent);
        let right = Privileges::REFERENCES;
        let by_columns = |column| self.actor.may_column(&object, column, right);
        match key.parent_columns.iter().copied().all(by_columns) && !key.parent_columns.is_empty() {
            true => Ok(()),
            false => self.catalog.refuse_denied(self.actor, &object, right),
        }
    }

    /// OWNER TO: he may say what that role may, and it may make such a thing there.
    fn gives_to(
        &self,
        object: &Object,
        owner: Option<&str>,
        _procedures: &impl ProcedureNames,
    ) -> Result<()> {
        if self.actor.is_superuser() {
            return Ok(());
        }
        self.may_be(owner.unwrap_or(hotrow_transaction::catalog::BOOTSTRAP))?;
        let next = self.catalog.rights().actor(owner);
        match self.catalog.schema_of(object) {
            Some(schema) => {
                let schema = Object::Schema(schema.into());
                self.catalog.refuse_denied(&next, &schema, Privileges::CREATE)
            }
            None => Ok(()),
        }
    }

    fn may_be(&self, role: &str) -> Result<()> {
        let own = self.actor.name().unwrap_or_default();
        match self.catalog.rights().is_member(own, role) {
            true => Ok(()),
            false => Err(denied(format!("must be member of role \"{role}\""))),
        }
    }

    fn sets_role(&self, name: &str, role: &Role) -> Result<()> {
        if self.actor.is_superuser() {
            return Ok(());
        }
        let must = |what: &str| Err::<(), SqlError>(denied(what.to_owned()));
        let has = |attribute| role.attributes.has(attribute);
        let may_create = self.actor.has(Attribute::CreateRole);
        let Some(before) = self.catalog.rights().role(name) else {
            return match () {
                () if has(Attribute::Superuser) => must("must be superuser to create superusers"),
                () if has(Attribute::Replication) => {
                    must("must be superuser to create replication users")
                }
                () if has(Attribute::BypassRls) => {
                    must("must be superuser to create bypassrls users")
                }
                () if !may_create => must("permission denied to create role"),
                () => Ok(()),
            };
        };
        let had = |attribute| before.attributes.has(attribute);
        let own_password = Role { verifier: role.verifier.clone(), ..Role::clone(before) };
        match () {
            () if has(Attribute::Superuser) || had(Attribute::Superuser) => {
                must("must be superuser to alter superuser roles or change superuser attribute")
            }
            () if has(Attribute::Replication) || had(Attribute::Replication) => {
                must("must be superuser to alter replication roles or change replication attribute")
            }
            () if has(Attribute::BypassRls) != had(Attribute::BypassRls) => {
                must("must be superuser to change bypassrls attribute")
            }
            () if may_create => Ok(()),
            // His own password everybody may change.
            () if self.actor.name() == Some(name) && own_password == *role => Ok(()),
            () => must("permission denied"),
        }
    }

    /// ALTER ROLE and ALTER DATABASE ... SET.
    fn sets_for(&self, scope: &SettingScope) -> Result<()> {
        let must = |what: &str| Err::<(), SqlError>(denied(what.to_owned()));
        match &scope.role {
            _ if self.actor.is_superuser() => Ok(()),
            None if scope.in_database => self.owner(&Object::Database),
            None => must("must be superuser to alter settings globally"),
            Some(role) if self.catalog.rights().is_superuser(role) => {
                must("must be superuser to alter superusers")
            }
            Some(role) if self.actor.name() == Some(role) => Ok(()),
            Some(_) if self.actor.has(Attribute::CreateRole) => Ok(()),
            Some(_) => must("permission denied"),
        }
    }

    fn drops_role(&self, name: &str) -> Result<()> {
        if self.actor.is_superuser() {
            return Ok(());
        }
        if !self.actor.has(Attribute::CreateRole) {
            return Err(denied("permission denied to drop role".to_owned()));
        }
        match self.catalog.rights().is_superuser(name) {
            true => Err(denied("must be superuser to drop superusers".to_owned())),
            false => Ok(()),
        }
    }

    /// GRANT and REVOKE of a role.
    fn admits(&self, role: &str) -> Result<()> {
        if self.actor.is_superuser() {
            return Ok(());
        }
        if self.catalog.rights().is_superuser(role) {
            return Err(denied("must be superuser to alter superusers".to_owned()));
        }
        match self.actor.administers(role) {
            true => Ok(()),
            false => Err(denied(format!("must have admin option on role \"{role}\""))),
        }
    }
}
