//! ALTER ... RENAME TO, RENAME CONSTRAINT, ALTER SEQUENCE ... OWNED BY, and what is said of a
//! relation without effect: about pages of a disk, and statistics.
//!
//! Role         compiles what `alter_syntax` has read
//! Source       PostgreSQL 15, "ALTER TABLE", "ALTER INDEX", "ALTER SEQUENCE", "ALTER TYPE"

use hotrow_transaction::catalog::{
    Index, NamedType, Object, PUBLIC, Table, ViewKind, local, qualified, schema_of, split,
};
use hotrow_transaction::program::Place;

use crate::alter_syntax::{AlterSyntax, Altering, RelationKind};
use crate::changes::{CatalogChange, left_out};
use crate::error::{Advice, Result, constraint_taken, error, taken, unsupported};
use crate::scope::Compiler;

impl Compiler<'_> {
    /// RENAME TO, RENAME CONSTRAINT and OWNED BY.
    pub(crate) fn altering(&mut self, written: &AlterSyntax) -> Result<Vec<CatalogChange>> {
        self.refuse_hidden(&written.name, written.place)?;
        match &written.what {
            Altering::Name(to) => self.rename(written, to),
            Altering::Constraint(from, to) => self.rename_constraint(written, (from, to)),
            Altering::OwnedBy(place, names) => self.owned(written, (names, *place)),
            Altering::Attach(name, at, bound) => {
                self.attach((&written.name, written.place), (name, *at), bound)
            }
            Altering::Detach(name, at) => self.detach((&written.name, written.place), (name, *at)),
            Altering::Numbers(column, numbers) => {
                self.renumber(written, column.as_deref(), numbers)
            }
            Altering::RowIdentity => {
                let table = self.table(&written.name, written.place)?;
                Ok(self.identity_of_rows(table))
            }
            Altering::Storage(column) => self.storage(written, column.as_deref()),
            Altering::Column(name, change) => self.column_change(written, (name, change)),
            Altering::UseIndex(using) => self.constraint_of_index(written, using),
            Altering::Checked(name, of) => self.constraint_checked(written, (name, *of)),
            Altering::Attributes(changes) => self.alter_attributes(written, changes),
            Altering::Domain(change) => self.alter_domain(written, change),
            Altering::Schema(schema) => self.move_type(written, schema),
            Altering::Trigger(from, to) => self.rename_trigger(written, (from, to)),
        }
    }

    /// What concerns pages of a disk, and statistics: there are none.
    fn storage(&self, written: &AlterSyntax, column: Option<&str>) -> Result<Vec<CatalogChange>> {
        let AlterSyntax { name, place, .. } = written;
        match (self.table_named(name), column) {
            (Some(table), Some(column)) => drop(self.table_column(table, column, *place)?),
            (Some(_), None) => {}
            (None, _) if self.view_named(name).is_some() || self.index_named(name).is_some() => {}
            (None, _) => return self.missing(written),
        }
        let text = "tables lie in memory, and plans need no statistics: nothing is to be done";
        Ok(vec![CatalogChange::Nothing(left_out(text.to_owned()))])
    }

    /// What IF EXISTS says of a relation that is not there, or 42P01.
    pub(crate) fn missing(&self, written: &AlterSyntax) -> Result<Vec<CatalogChange>> {
        let message = format!("relation \"{}\" does not exist", written.name);
        match written.if_exists {
            true => Ok(vec![CatalogChange::Nothing(left_out(format!("{message}, skipping")))]),
            false => {
                self.check_schema(&written.name, written.place)?;
                Err(error(b"42P01", written.place, message))
            }
        }
    }

    fn rename_trigger(
        &self,
        written: &AlterSyntax,
        (from, to): (&str, &str),
    ) -> Result<Vec<CatalogChange>> {
        let table = self.table(&written.name, written.place)?;
        let named = |name: &str| table.triggers.iter().find(|trigger| trigger.name == *name);
        let of = &table.name;
        let Some(trigger) = named(from) else {
            let message = format!("trigger \"{from}\" for table \"{of}\" does not exist");
            return Err(error(b"42704", written.place, message));
        };
        if named(to).is_some() {
            let message = format!("trigger \"{to}\" for relation \"{of}\" already exists");
            return Err(error(b"42710", written.place, message));
        }
        let mut trigger = trigger.clone();
        trigger.name = to.to_owned();
        let (table, name) = (table.id, from.to_owned());
        Ok(vec![
            CatalogChange::DropTrigger { table, name },
            CatalogChange::SetTrigger { table, trigger },
        ])
    }

    fn rename(&self, written: &AlterSyntax, to: &str) -> Result<Vec<CatalogChange>> {
        let AlterSyntax { kind, name, place, .. } = written;
        let name_of = |schema: &str| -> Result<String> {
            self.is_there(&qualified(schema, to), false, *place)?;
            Ok(to.to_owned())
        };
        if matches!(kind, RelationKind::Type | RelationKind::Domain) {
            return self.rename_type(written, to);
        }
        if let Some(table) = self.table_named(name) {
            written.refuse_other(RelationKind::of(table))?;
            let (table, name) = (table.id, name_of(&table.schema)?);
            return Ok(vec![CatalogChange::RenameTable { table, name }]);
        }
        if let Some(view) = self.view_named(name) {
            if let ViewKind::Kept { .. } = view.kind {
                written.refuse_other(RelationKind::Materialized)?;
                name_of(&view.schema)?;
                return Ok(self.rename_materialized(view, to));
            }
            written.refuse_other(match view.kind {
                ViewKind::Partition => RelationKind::Any,
                _ => RelationKind::View,
            })?;
            let (name, to) = (view.qualified_name(), name_of(&view.schema)?);
            return Ok(vec![CatalogChange::RenameView { name, to }]);
        }
        if let Some(index) = self.index_named(name) {
            written.refuse_other(RelationKind::Index)?;
            let (index, schema) = (index.id, &self.catalog.table(index.table).schema);
            return Ok(vec![CatalogChange::RenameIndex { index, name: name_of(schema)? }]);
        }
        self.missing(written)
    }

    fn rename_type(&self, written: &AlterSyntax, to: &str) -> Result<Vec<CatalogChange>> {
        let AlterSyntax { kind, name, place, .. } = written;
        let name = self.altered_type((*kind, name), *place)?;
        let schema = split(&name).0;
        let next = schema.map_or_else(|| to.to_owned(), |schema| qualified(schema, to));
        if self.type_named(&next).is_some() {
            return Err(error(b"42710", *place, format!("type \"{to}\" already exists")));
        }
        Ok(vec![CatalogChange::RenameType { name, to: next }])
    }

    /// The name, with its schema, of a type or a domain that is altered.
    pub(crate) fn altered_type(
        &self,
        (kind, name): (RelationKind, &str),
        place: Place,
    ) -> Result<String> {
        let Some(named) = self.type_named(name) else {
            return Err(error(b"42704", place, format!("type \"{name}\" does not exist")));
        };
        if kind == RelationKind::Domain && !matches!(**named, NamedType::Domain(_)) {
            return Err(error(b"42809", place, format!("{name} is not a domain")));
        }
        self.found_type_name(name)
    }

    /// ALTER TYPE and DOMAIN ... SET SCHEMA
    fn move_type(&self, written: &AlterSyntax, schema: &str) -> Result<Vec<CatalogChange>> {
        let AlterSyntax { kind, name, place, .. } = written;
        let name = self.altered_type((*kind, name), *place)?;
        let to = self.new_name(&qualified(schema, local(&name)), *place)?;
        if schema_of(&name) == schema {
            return Ok(Vec::new());
        }
        if self.type_named(&to).is_some() {
            let message =
                format!("type \"{}\" already exists in schema \"{schema}\"", local(&name));
            return Err(error(b"42710", *place, message));
        }
        Ok(vec![CatalogChange::RenameType { name, to }])
    }

    /// Indexes that constraints are.
    fn keys_of<'t>(&'t self, table: &'t Table) -> impl Iterator<Item = &'t Index> {
        let all = table.declared_indexes().map(|id| self.catalog.index(id));
        all.filter(|index| index.is_constraint)
    }

    /// The constraints of a table.
    pub(crate) fn constraint_names<'t>(&'t self, table: &'t Table) -> Vec<&'t str> {
        let keys = self.keys_of(table).map(|index| &*index.name);
        let checks = table.checks.iter().map(|check| &*check.name);
        // Older versions had those of domains as the table's.
        let checks = checks.filter(|name| self.is_own || !table.is_of_domain(name));
        let triggers = table.triggers.iter().filter(|of| of.constraint.is_some());
        let references = table.foreign_keys.iter().map(|key| &*key.name);
        keys.chain(checks).chain(references).chain(triggers.map(|of| &*of.name)).collect()
    }

    fn rename_constraint(
        &self,
        written: &AlterSyntax,
        (from, to): (&str, &str),
    ) -> Result<Vec<CatalogChange>> {
        let Some(table) = self.table_named(&written.name) else { return self.missing(written) };
        let place = written.place;
        let all = self.constraint_names(table);
        if all.contains(&to) || !self.is_own && table.is_of_domain(to) {
            return Err(constraint_taken(to, &table.name, place));
        }
        if !all.contains(&from) {
            let message = format!("constraint \"{from}\" for table \"{}\"", table.name);
            return Err(error(b"42704", place, format!("{message} does not exist")));
        }
        let name = to.to_owned();
        let mut keys = self.keys_of(table);
        Ok(vec![match keys.find(|index| index.name == from) {
            Some(index) => {
                if self.is_there(&qualified(&table.schema, to), true, place)? {
                    return Err(taken(to, place));
                }
                CatalogChange::RenameIndex { index: index.id, name }
            }
            None => {
                let (table, name) = (table.id, from.to_owned());
                CatalogChange::RenameConstraint { table, name, to: to.to_owned() }
            }
        }])
    }

    /// ALTER SEQUENCE ... OWNED BY
    fn owned(
        &self,
        written: &AlterSyntax,
        (names, at): (&[String], Place),
    ) -> Result<Vec<CatalogChange>> {
        let place = written.place;
        let Some(sequence) = self.table_named(&written.name) else {
            return self.missing(written);
        };
        written.refuse_other(RelationKind::of(sequence))?;
        if self.catalog.is_of_identity(sequence.id) {
            let message = "cannot change ownership of identity sequence";
            let owner = self.catalog.drawing_from(sequence.id).next();
            let table = owner.map_or("", |(table, _)| &table.name);
            let detail = format!("Sequence \"{}\" is linked to table \"{table}\".", sequence.name);
            return Err(error(b"0A000", place, message).detail(detail));
        }
        let by = match names {
            [none] if none == "none" => None,
            [table, column] => Some((table.clone(), column)),
            [schema, table, column] => Some((qualified(schema, table), column)),
            _ => {
                let message = "invalid OWNED BY option";
                let hint = "Specify OWNED BY table.column or OWNED BY NONE.";
                return Err(error(b"42601", at, message).hint(hint));
            }
        };
        let by = match by {
            None => None,
            Some((table, column)) => {
                let table = self.table(&table, at)?;
                Some((table, self.table_column(table, column, at)?))
            }
        };
        if let Some((table, _)) = by
            && table.schema != sequence.schema
        {
            let message = "sequence must be in same schema as table it is linked to";
            return Err(error(b"55000", at, message));
        }
        let others = by.map(|(table, column)| {
            self.catalog.owned_by(table).filter(move |(of, _)| *of == column).map(|(_, id)| id)
        });
        if others.into_iter().flatten().any(|id| id != sequence.id) {
            let hint = "have the other one be OWNED BY NONE before";
            let what = "a column that owns two sequences";
            return Err(unsupported(at, what, hint));
        }
        let by = by.map(|(table, column)| (table.id, column));
        Ok(vec![CatalogChange::OwnSequence { sequence: sequence.id, by }])
    }

    /// Whose right it takes to alter this.
    pub(crate) fn altered_object(&self, written: &AlterSyntax) -> Option<Object> {
        let name = &written.name;
        let index = || Some(Object::Table(self.index_named(name)?.table));
        let view = || Some(Object::View(self.view_named(name)?.id));
        match written.kind {
            RelationKind::Type | RelationKind::Domain => {
                let name = self.found_type_name(name).ok()?;
                let schema = split(&name).0.map(str::to_owned);
                let schema = schema.as_deref().unwrap_or(PUBLIC);
                Some(Object::type_in(schema, local(&name)))
            }
            _ => {
                let table = self.table_named(name).map(|table| Object::Table(table.id));
                table.or_else(view).or_else(index)
            }
        }
    }
}

impl RelationKind {
    /// What a table is.
    fn of(table: &Table) -> Self {
        if table.sequence.is_some() { Self::Sequence } else { Self::Any }
    }
}

impl AlterSyntax {
    /// Fails with 42809 where something is no such thing as is written.
    fn refuse_other(&self, is: RelationKind) -> Result<()> {
        let what = match self.kind {
            RelationKind::Any | RelationKind::Index => return Ok(()),
            kind if kind == is => return Ok(()),
            RelationKind::Sequence => "a sequence",
            RelationKind::View => "a view",
            RelationKind::Materialized => "a materialized view",
            RelationKind::Type => "a type",
            RelationKind::Domain => "a domain",
        };
        let message = format!("\"{}\" is not {what}", local(&self.name));
        Err(error(b"42809", self.place, message))
    }
}
