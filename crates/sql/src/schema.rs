//! Schemas: where names are looked for, and where what is created stands.
//!
//! Role         looks relations and types up as the path of whoever wrote a statement says; CREATE
//!              SCHEMA and DROP SCHEMA
//! Invariants   I1 a name is looked up as it is written, bare or with its schema before it; what is
//!                 created gets a name with its schema, which means the same whatever the path is

use hotrow_transaction::catalog::{
    Index, NamedType, PUBLIC, SearchPath, Table, View, ViewKind, is_temporary, local, qualified,
    split,
};
use hotrow_transaction::outcome::SqlError;
use hotrow_transaction::program::{Place, routine_name};
use sqlparser::ast;

use crate::changes::{CatalogChange, Made, MadeName, left_out};
use crate::error::{Advice, Result, error, place_in, unsupported};
use crate::role::RoleName;
use crate::scope::Compiler;
use crate::types::TypeNames;
use crate::written::{ident_name, object_name};

/// Schemas whose names begin so are PostgreSQL's own, or those of temporary tables.
const RESERVED: &str = "pg_";
/// Schemas of the database's own making.
const SYSTEM: [&str; 2] = ["information_schema", "hotrow"];

/// 3F000
pub(crate) fn no_schema(name: &str, place: Place) -> SqlError {
    let message = format!("schema \"{name}\" does not exist");
    error(b"3F000", place, message).hint("CREATE SCHEMA makes one; public is always there")
}

impl<'c> Compiler<'c> {
    /// With bare names looked for in a path.
    pub(crate) fn seeing(mut self, path: &SearchPath) -> Self {
        self.path = path.clone();
        self
    }

    /// The table with a name.
    pub(crate) fn table_named(&self, name: &str) -> Option<&'c Table> {
        self.catalog.table_seen(&self.path, name)
    }

    /// The index with a name.
    pub(crate) fn index_named(&self, name: &str) -> Option<&'c Index> {
        self.catalog.index_seen(&self.path, name)
    }

    /// The view with a name.
    pub(crate) fn view_named(&self, name: &str) -> Option<&'c std::sync::Arc<View>> {
        self.catalog.view_seen(&self.path, name)
    }

    /// The type with a name.
    pub(crate) fn type_named(&self, name: &str) -> Option<&'c std::sync::Arc<NamedType>> {
        self.catalog.type_seen(&self.path, name)
    }

    /// Where names of types are looked for.
    pub(crate) fn type_names(&self) -> TypeNames<'_> {
        TypeNames { catalog: self.catalog, path: &self.path }
    }

    /// The name, with its schema, of what is created under a name as it is written.
    ///
    /// Errors: 3F000 for a schema that is not there, 42501 for one that is not to be written to.
    pub(crate) fn new_name(&self, written: &str, place: Place) -> Result<String> {
        let (schema, name) = split(written);
        let schema = match schema {
            Some(schema) => schema,
            None => {
                let mut schemas = self.path.schemas();
                let found = schemas.find(|schema| self.catalog.has_schema(schema));
                found.ok_or_else(|| {
                    let message = "no schema has been selected to create in";
                    error(b"3F000", place, message).hint("set search_path to one that is there")
                })?
            }
        };
        if self.catalog.has_schema(schema) && !is_temporary(schema) {
            return Ok(qualified(schema, name));
        }
        Err(match schema {
            system if SYSTEM.contains(&system) || system.starts_with(RESERVED) => {
                error(b"42501", place, format!("permission denied for schema {schema}"))
            }
            other => no_schema(other, place),
        })
    }

    /// The name, with its schema, of a temporary table that is created.
    pub(crate) fn temporary_name(&self, written: &str, place: Place) -> Result<String> {
        let (schema, name) = split(written);
        let own = self.path.temporary_schema();
        match (schema, own) {
            (None | Some("pg_temp"), Some(own)) => Ok(qualified(own, name)),
            (Some(schema), Some(own)) if schema == own => Ok(qualified(own, name)),
            (Some(_), _) => {
                let message = "cannot create temporary relation in non-temporary schema";
                Err(error(b"42P16", place, message))
            }
            (None, None) => {
                let hint = "a session can: create it in a statement of its own";
                Err(unsupported(place, "a temporary table here", hint))
            }
        }
    }

    /// The schema of what is temporary, where it is not there yet.
    pub(crate) fn temporary_schema_made(&self, name: &str) -> Option<CatalogChange> {
        let schema = split(name).0.filter(|schema| !self.catalog.has_schema(schema))?;
        Some(CatalogChange::CreateSchema(schema.to_owned()))
    }

    /// Fails with 42P01 where a name is that of a temporary table which the session does not have.
    pub(crate) fn refuse_hidden(&self, written: &str, place: Place) -> Result<()> {
        let (Some(schema), name) = split(written) else { return Ok(()) };
        if self.is_own || self.path.shows(schema, name) {
            return Ok(());
        }
        let message = format!("relation \"{schema}.{name}\" does not exist");
        Err(error(b"42P01", place, message).hint("temporary tables are their session's alone"))
    }

    /// Fails with 3F000 where the schema that is written before a name is not there.
    pub(crate) fn check_schema(&self, written: &str, place: Place) -> Result<()> {
        match split(written).0 {
            Some(schema) if !self.catalog.has_schema(schema) && !is_system(schema) => {
                Err(no_schema(schema, place))
            }
            _ => Ok(()),
        }
    }

    /// ALTER TABLE ... SET SCHEMA: with a table go its sequences.
    pub(crate) fn set_schema(
        &self,
        (name, place): (&str, Place),
        schema: &str,
        if_exists: bool,
    ) -> Result<Vec<CatalogChange>> {
        let Some(table) = self.table_named(name) else {
            let message = format!("relation \"{name}\" does not exist");
            return match if_exists {
                true => Ok(vec![told(format!("{message}, skipping"))]),
                false => Err(error(b"42P01", place, message)),
            };
        };
        if !self.catalog.has_schema(schema) {
            return Err(no_schema(schema, place));
        }
        if *table.schema == *schema {
            return Ok(Vec::new());
        }
        let mut changes = Vec::new();
        for id in std::iter::once(table.id).chain(crate::sequence::owned_by(self.catalog, table)) {
            let moved = self.catalog.table(id);
            let own = std::iter::once(moved.name.as_str());
            let indexes = moved.indexes().map(|index| self.catalog.index(index).name.as_str());
            for name in own.chain(indexes.filter(|name| *name != moved.name)) {
                self.is_there(&qualified(schema, name), false, place)?;
            }
            changes.push(CatalogChange::MoveTable { table: id, schema: schema.to_owned() });
        }
        Ok(changes)
    }

    /// CREATE SCHEMA.
    pub(crate) fn create_schema(
        &self,
        written: &ast::SchemaName,
        if_not_exists: bool,
    ) -> Result<Vec<CatalogChange>> {
        let (name, owner) = match written {
            ast::SchemaName::Simple(name) => (object_name(name, self.place)?, None),
            ast::SchemaName::UnnamedAuthorization(user) => (ident_name(user), Some(user)),
            ast::SchemaName::NamedAuthorization(name, user) => {
                (object_name(name, self.place)?, Some(user))
            }
        };
        if split(&name).0.is_some() {
            let message = format!("improper schema name: {written}");
            return Err(error(b"42601", self.place, message));
        }
        if name.starts_with(RESERVED) && !(self.is_own && is_temporary(&name)) {
            let message = format!("unacceptable schema name \"{name}\"");
            let detail = "The prefix \"pg_\" is reserved for system schemas.";
            return Err(error(b"42939", self.place, message).detail(detail.to_owned()));
        }
        if self.catalog.has_schema(&name) || is_system(&name) {
            let message = format!("schema \"{name}\" already exists");
            if !if_not_exists {
                return Err(error(b"42P06", self.place, message));
            }
            return Ok(vec![CatalogChange::Nothing(left_out(format!("{message}, skipping")))]);
        }
        let mut changes = vec![CatalogChange::CreateSchema(name.clone())];
        if let Some(user) = owner {
            let user = match user.value.to_lowercase().as_str() {
                "current_user" | "current_role" if user.quote_style.is_none() => RoleName::Current,
                _ => RoleName::Named(ident_name(user)),
            };
            let owner = match self.role_of(&user, self.place) {
                // Logs of older versions name whomever, since a schema had no owner.
                Err(_) if self.is_own => None,
                owner => owner?,
            };
            let name = MadeName::Schema(name);
            changes.push(CatalogChange::Made(Made { name, owner }));
        }
        Ok(changes)
    }

    /// ALTER SCHEMA ... RENAME TO.
    pub(crate) fn rename_schema(
        &self,
        (name, place): (&str, Place),
        to: &str,
    ) -> Result<Vec<CatalogChange>> {
        if name == PUBLIC || is_system(name) || is_temporary(name) {
            let hint = "it is always there: create another one, and move what is to be in that";
            return Err(unsupported(place, format!("another name of schema {name}"), hint));
        }
        if !self.catalog.has_schema(name) {
            return Err(no_schema(name, place));
        }
        if self.catalog.has_schema(to) || is_system(to) {
            return Err(error(b"42P06", place, format!("schema \"{to}\" already exists")));
        }
        if to.starts_with(RESERVED) {
            let message = format!("unacceptable schema name \"{to}\"");
            let detail = "The prefix \"pg_\" is reserved for system schemas.";
            return Err(error(b"42939", place, message).detail(detail));
        }
        let (name, to) = (name.to_owned(), to.to_owned());
        Ok(vec![CatalogChange::RenameSchema { name, to }])
    }

    /// DROP SCHEMA, of one name. CASCADE drops what is in it.
    pub(crate) fn drop_schema(
        &self,
        name: &ast::ObjectName,
        (if_exists, cascades): (bool, bool),
    ) -> Result<Vec<CatalogChange>> {
        let place = place_in(name, self.place);
        let name = object_name(name, place)?;
        if name == PUBLIC || is_system(&name) || is_temporary(&name) && !self.is_own {
            let message = format!("cannot drop schema {name} because the database needs it");
            return Err(error(b"2BP01", place, message));
        }
        if !self.catalog.has_schema(&name) {
            if !if_exists {
                return Err(no_schema(&name, place));
            }
            let text = format!("schema \"{name}\" does not exist, skipping");
            return Ok(vec![CatalogChange::Nothing(left_out(text))]);
        }
        let (mut changes, left) = self.contents(&name, place)?;
        if let (Some(first), false) = (left.first(), cascades) {
            let message = format!("cannot drop schema {name} because other objects depend on it");
            return Err(error(b"2BP01", place, message)
                .detail(format!("{first} depends on schema {name}"))
                .hint("Use DROP ... CASCADE to drop the dependent objects too."));
        }
        match left.as_slice() {
            [] => {}
            [only] => changes.push(told(format!("drop cascades to {only}"))),
            many => changes.push(told(format!("drop cascades to {} other objects", many.len()))),
        }
        changes.push(CatalogChange::DropSchema(name));
        Ok(changes)
    }

    /// Changes that drop what is in a schema, and how each of these things is called.
    fn contents(&self, schema: &str, place: Place) -> Result<(Vec<CatalogChange>, Vec<String>)> {
        let (mut changes, mut names) = (Vec::new(), Vec::new());
        for view in self.catalog.views().filter(|view| view.schema == schema) {
            let name = shown_in(schema, &view.name);
            names.extend(match view.kind {
                ViewKind::Plain => Some(format!("view {name}")),
                ViewKind::Kept { .. } => Some(format!("materialized view {name}")),
                ViewKind::Partition => Some(format!("table {name}")),
                ViewKind::Definition => None,
            });
            if let Some(partition) = &view.partition
                && *self.catalog.table(partition.table).schema != *schema
            {
                changes.extend(self.partition_dropped((view, partition))?);
            }
            changes.push(CatalogChange::DropView(view.qualified_name()));
        }
        let tables = self.catalog.tables().iter().filter(|table| &*table.schema == schema);
        for table in tables.clone() {
            let outside = crate::drop::references_from_outside(self.catalog, table, schema);
            changes.extend(outside.flat_map(|key| crate::drop::cut_reference(self.catalog, key)));
        }
        for table in tables {
            let owned =
                table.sequence.is_some()
                    && self.catalog.tables().iter().filter(|by| &*by.schema == schema).any(|by| {
                        self.catalog.owned_by(by).any(|(_, sequence)| sequence == table.id)
                    });
            if !owned && !table.is_kept {
                let kind = if table.sequence.is_some() { "sequence" } else { "table" };
                names.push(format!("{kind} {}", shown_in(schema, &table.name)));
            }
            changes.push(CatalogChange::DropTable(table.id));
        }
        for (_, name, _) in self.catalog.types().filter(|(of, ..)| *of == schema) {
            let written = qualified(schema, name);
            self.refuse_needed_type(&written, Some(schema), place)?;
            names.push(format!("type {}", shown_in(schema, name)));
            changes.push(CatalogChange::DropType(written));
        }
        // Routines go with their schema, and say so themselves.
        names.extend(
            self.routines_in(schema)
                .iter()
                .map(|key| format!("function {}", shown_in(schema, local(routine_name(key))))),
        );
        changes.extend(self.views_lost(&changes)?);
        Ok((changes, names))
    }
}

fn shown_in(schema: &str, name: &str) -> String {
    format!("{schema}.{name}")
}

fn told(text: String) -> CatalogChange {
    CatalogChange::Nothing(left_out(text))
}

/// Whether a schema is of the database's own making.
fn is_system(schema: &str) -> bool {
    SYSTEM.contains(&schema) || schema == "pg_catalog"
}
