//! A table while the operations of one ALTER TABLE on it are read.
//!
//! Role         holds the draft of the table as it is to be, takes what needs no compiler, and
//!              tells the [`CatalogChange`]s that lead there: one for all that changes the rows'
//!              form, then one for each constraint
//! Invariants   I1 what the draft has of indexes and constraints beyond what the table had is new

use std::sync::Arc;

use hotrow_base::ids::{ColumnId, IndexId};
use hotrow_base::types::DataType;
use hotrow_transaction::catalog::{
    Catalog, Check, Column, DeclaredRouting, Draws, Generated, Hidden, IndexKind, OfDomain, Table,
    qualified,
};
use hotrow_transaction::program::Place;
use sqlparser::ast;

use crate::changes::{CatalogChange, Columns, Filled, TableDefinition, left_out};
use crate::definition::Draft;
use crate::drop::cut_reference;
use crate::error::{Advice, Result, error, ident_place, unsupported};
use crate::hidden::{gone_with, identity_column, identity_key, identity_name, without};
use crate::mention::may_name;
use crate::partition::is_of_key;
use crate::policy::{policy_with, switched_security};
use crate::relation::check_anywhere;
use crate::scope::Compiler;
use crate::sequence::is_identity;
use crate::token::folded;
use crate::trigger::{switched, trigger_with};

/// A table while the operations on it are read.
pub(crate) struct Altered<'c> {
    pub(crate) table: &'c Table,
    pub(crate) draft: Draft,
    /// what fills each column of the draft
    pub(crate) filled: Vec<Filled>,
    /// the rows' form, or the columns' NOT NULL, changes
    pub(crate) rebuilds: bool,
    /// constraints and indexes that go, before the columns change
    dropped: Vec<CatalogChange>,
    /// names and defaults of columns change, or a key is new
    pub(crate) changes: Vec<CatalogChange>,
    /// names of new constraints that rows which are there need not obey
    not_valid: Vec<String>,
    /// it took effect before, when constraints of domains were the table's
    pub(crate) is_own: bool,
}

impl Compiler<'_> {
    /// A table as it is, to be altered.
    pub(crate) fn draft_of<'t>(&self, table: &'t Table, place: Place) -> Altered<'t> {
        let definition = TableDefinition::of(self.catalog, table);
        Altered::new(table, Draft::of(definition, IndexKind::BTree, place))
    }

    /// What leads to a table that has been altered.
    pub(crate) fn changes_of(&self, altered: Altered<'_>) -> Vec<CatalogChange> {
        let identity = self.free_name(&altered.draft, identity_name(&altered.table.name));
        altered.into_changes(identity)
    }
}

impl<'c> Altered<'c> {
    /// A table that there is, as it is.
    pub(crate) fn new(table: &'c Table, draft: Draft) -> Self {
        let filled = (0..table.columns.len()).map(|at| Filled::Old(ColumnId(at as u16))).collect();
        let (dropped, changes, not_valid) = (Vec::new(), Vec::new(), Vec::new());
        let (rebuilds, is_own) = (false, false);
        Self { table, draft, filled, rebuilds, dropped, changes, not_valid, is_own }
    }
    /// ENABLE and DISABLE TRIGGER
    pub(crate) fn switch_trigger(&mut self, written: &ast::Ident, is_enabled: bool) -> Result<()> {
        let name = folded(&written.value, written.quote_style.is_some());
        let place = ident_place(written, self.draft.place);
        self.changes.extend(switched(self.table, &name, is_enabled, place)?);
        Ok(())
    }

    /// ENABLE, DISABLE, FORCE and NO FORCE ROW LEVEL SECURITY
    pub(crate) fn switch_security(&mut self, operation: &ast::AlterTableOperation) -> Result<()> {
        let said = self.changes.iter().rev().find_map(|change| match change {
            CatalogChange::SetSecurity { security, .. } => Some(security.clone()),
            _ => None,
        });
        let before = said.unwrap_or_else(|| self.table.security.clone());
        let security = switched_security(self.table, (before, operation), self.draft.place)?;
        self.changes.push(CatalogChange::SetSecurity { table: self.table.id, security });
        Ok(())
    }

    /// Takes the columns that users do not see out of the draft, so that another one comes before
    /// them; which they are, and what for.
    pub(crate) fn set_hidden_aside(&mut self) -> (Vec<Column>, Vec<Hidden>) {
        let table = &mut self.draft.table;
        let first = table.shown().len();
        let later = |column: &mut ColumnId| column.0 += u16::from(column.index() >= first);
        for of in &mut table.generated {
            of.columns.iter_mut().chain([&mut of.column]).for_each(later);
        }
        table.unique.iter_mut().for_each(|index| index.columns.iter_mut().for_each(later));
        (table.columns.split_off(first), std::mem::take(&mut table.hidden))
    }

    pub(crate) fn put_hidden_back(&mut self, (columns, hidden): (Vec<Column>, Vec<Hidden>)) {
        self.draft.table.columns.extend(columns);
        self.draft.table.hidden = hidden;
    }

    /// Fails where a column tells the partition of a row.
    pub(crate) fn refuse_key(
        &self,
        catalog: &Catalog,
        (verb, column): (&str, &str),
        place: Place,
    ) -> Result<()> {
        let mut keys = catalog.partition_keys(self.table);
        match keys.find(|(_, key)| key.reads(column)) {
            Some((relation, _)) => Err(is_of_key(verb, column, relation, place)),
            None => Ok(()),
        }
    }

    /// Fails where something was compiled for the type that a column has, and is not compiled
    /// again: checks are ([`Altered::take_checks`]).
    pub(crate) fn refuse_needed_type(
        &self,
        catalog: &Catalog,
        (name, id): (&str, ColumnId),
        to: DataType,
        place: Place,
    ) -> Result<()> {
        let table = &self.draft.table;
        for key in &self.table.foreign_keys {
            let Some(at) = key.child_columns.iter().position(|own| *own == id) else { continue };
            let parent = catalog.table(key.parent);
            let column = catalog.index(key.parent_index).columns[at];
            let column = &parent.columns[column.index()];
            let of = column.data_type;
            if !of.has_datums_of(to) {
                let key = &key.name;
                let message = format!("foreign key constraint \"{key}\" cannot be implemented");
                let theirs = &column.name;
                return Err(error(b"42804", place, message).detail(format!(
                    "Key columns \"{name}\" and \"{theirs}\" are of incompatible types: {to} and \
                     {of}."
                )));
            }
        }
        let mut generated = table.generated.iter();
        let computed = generated.find(|other| other.columns.contains(&id) || other.column == id);
        let what = match computed {
            Some(of) if of.column.index() >= table.shown().len() => {
                "the expression or condition of an index"
            }
            Some(_) => "a generated column",
            None => return Ok(()),
        };
        let what = format!("another type of column \"{name}\", which {what} needs,");
        Err(unsupported(place, what, "drop that, and add it again behind the change"))
    }

    /// Takes the checks that read a column, and that its domain does not ask for: their names, and
    /// what they say. They are to be added again, for what the column is then.
    pub(crate) fn take_checks(&mut self, catalog: &Catalog, id: ColumnId) -> Vec<(String, String)> {
        let of_domain = self.draft.table.columns[id.index()].domain.clone();
        let goes = |check: &Check| of_domain.as_ref().is_some_and(|of| of.has_check(&check.name));
        let (mut taken, table) = (Vec::new(), self.table);
        let known = self.draft.table.checks.iter_mut().take(table.checks.len());
        for check in known.filter(|check| check.columns.contains(&id) && !goes(check)) {
            let said = check_anywhere(catalog, table, check);
            let name = std::mem::take(&mut check.name); // another one may have it now
            let dropped = CatalogChange::DropConstraint { table: table.id, name: name.clone() };
            self.dropped.push(dropped);
            taken.push((name, said));
        }
        taken
    }

    pub(crate) fn column(&self, written: &ast::Ident) -> Result<ColumnId> {
        let name = folded(&written.value, written.quote_style.is_some());
        let found = self.draft.table.shown().iter().position(|column| column.name == name);
        found.map(|at| ColumnId(at as u16)).ok_or_else(|| {
            let place = ident_place(written, self.draft.place);
            let table = &self.table.name;
            let text = format!("column \"{name}\" of relation \"{table}\" does not exist");
            error(b"42703", place, text)
        })
    }

    /// Changes what a column has of its domain, if it is of one.
    pub(crate) fn change_domain(&mut self, column: ColumnId, change: impl FnOnce(&mut OfDomain)) {
        let table = self.table.id;
        if let Some(of) = &mut self.draft.table.columns[column.index()].domain {
            change(Arc::make_mut(of));
            let domain = Some(Arc::clone(of));
            self.changes.push(CatalogChange::SetColumnDomain { table, column, domain });
        }
    }

    /// Has a column be of no domain any more, whose constraints go.
    pub(crate) fn leave_domain(&mut self, column: ColumnId) {
        let Some(of) = self.draft.table.columns[column.index()].domain.take() else { return };
        for (_, name) in &of.checks {
            let (table, name) = (self.table.id, name.clone());
            self.dropped.push(CatalogChange::DropConstraint { table, name });
        }
    }

    pub(crate) fn set_default(
        &mut self,
        column: ColumnId,
        default: Option<hotrow_transaction::program::Expr>,
    ) {
        let table = self.table.id;
        self.changes.push(CatalogChange::SetDefault { table, column, default });
    }

    /// Whether a column is GENERATED AS IDENTITY.
    pub(crate) fn is_identity(&self, column: ColumnId) -> bool {
        is_identity(&self.draft.table.columns[column.index()])
    }

    /// Fails where a column that is to have another default has numbers of its own.
    pub(crate) fn refuse_identity(&self, column: ColumnId, place: Place) -> Result<()> {
        if !self.is_identity(column) {
            return Ok(());
        }
        let (name, table) = (&self.draft.table.columns[column.index()].name, &self.table.name);
        let text = format!("column \"{name}\" of relation \"{table}\" is an identity column");
        let hint = "Use ALTER TABLE ... ALTER COLUMN ... DROP IDENTITY instead.";
        Err(error(b"42601", place, text).hint(hint))
    }

    /// Has a column draw from a sequence, or no more.
    pub(crate) fn set_draws(&mut self, column: ColumnId, draws: Option<Draws>) {
        let of = &mut self.draft.table.columns[column.index()];
        (of.draws, of.default) = (draws, None);
        let (table, sequence) = (self.table.id, draws.map(|draws| draws.sequence));
        self.changes.push(CatalogChange::SetDraws { table, column, sequence });
    }

    pub(crate) fn rename_column(&mut self, written: &ast::Ident, new: &ast::Ident) -> Result<()> {
        let column = self.column(written)?;
        let name = folded(&new.value, new.quote_style.is_some());
        if self.draft.table.shown().iter().any(|other| other.name == name) {
            let place = ident_place(new, self.draft.place);
            let table = &self.table.name;
            let text = format!("column \"{name}\" of relation \"{table}\" already exists");
            return Err(error(b"42701", place, text));
        }
        let old = &self.table.columns[column.index()].name;
        let names = |text: &String| may_name(text, old);
        let mut triggers = self.table.triggers.iter();
        if let Some(trigger) = triggers.find(|trigger| trigger.when.as_ref().is_some_and(names)) {
            let place = ident_place(written, self.draft.place);
            let what =
                format!("a new name of a column that WHEN of trigger \"{}\" names", trigger.name);
            return Err(unsupported(place, what, "drop the trigger, and make it again behind it"));
        }
        if let Some(policy) = policy_with(self.table, column) {
            let place = ident_place(written, self.draft.place);
            let what = format!("a new name of a column that policy \"{}\" names", policy.name);
            return Err(unsupported(place, what, "drop the policy, and make it again behind it"));
        }
        self.draft.table.columns[column.index()].name.clone_from(&name);
        let table = self.table.id;
        self.changes.push(CatalogChange::RenameColumn { table, column, name });
        Ok(())
    }

    /// DROP COLUMN: its constraints and indexes go with it.
    pub(crate) fn drop_column(
        &mut self,
        catalog: &Catalog,
        written: &ast::Ident,
        (if_exists, cascades): (bool, bool),
    ) -> Result<()> {
        let place = ident_place(written, self.draft.place);
        let column = match self.column(written) {
            Ok(column) => column,
            Err(missing) if if_exists => {
                let text = format!("{}, skipping", missing.message);
                self.changes.push(CatalogChange::Nothing(left_out(text)));
                return Ok(());
            }
            Err(missing) => return Err(missing),
        };
        let table = self.table;
        let name = &table.columns[column.index()].name;
        self.refuse_key(catalog, ("drop", name), place)?;
        let needs = |what: String| {
            let text = format!("cannot drop column {name} of table {}", table.name);
            let text = format!("{text} because other objects depend on it");
            let detail = format!("{what} depends on column {name} of table {}", table.name);
            Err(error(b"2BP01", place, text).detail(detail).hint("Drop that first."))
        };
        if let Some(trigger) = trigger_with(table, column) {
            return needs(format!("trigger {} on table {}", trigger.name, table.name));
        }
        if let Some(policy) = policy_with(table, column) {
            return needs(format!("policy {} on table {}", policy.name, table.name));
        }
        let is_shown = |of: &&Generated| table.hidden(of.column).is_none();
        let mut generated = table.generated.iter().filter(is_shown);
        if let Some(computed) = generated.find(|computed| computed.columns.contains(&column)) {
            let name = &table.columns[computed.column.index()].name;
            return needs(format!("column {name} of table {}", table.name));
        }
        if table.shown().len() == 1 {
            let hint = "drop the table";
            return Err(unsupported(place, "dropping the only column of a table", hint));
        }
        let checks = table.checks.iter().filter(|check| check.columns.contains(&column));
        let keys = table.foreign_keys.iter().filter(|key| key.child_columns.contains(&column));
        for name in checks.map(|check| &check.name).chain(keys.map(|key| &key.name)) {
            let (table, name) = (table.id, name.clone());
            self.dropped.push(CatalogChange::DropConstraint { table, name });
        }
        let (gone, indexes) = gone_with(catalog, table, column);
        for id in indexes {
            self.cut_or_refuse(catalog, (id, cascades), || {
                format!("cannot drop column {name} of table {}", table.name)
            })
            .map_err(|error| error.or_at(place))?;
            match table.primary == Some(id) {
                true => self.draft.table.primary = None,
                false => self.dropped.push(CatalogChange::DropIndex(id)),
            }
        }
        let owned = catalog.owned_by(table).filter(|(of, _)| *of == column);
        let owned: Vec<_> = owned.map(|(_, sequence)| sequence).collect();
        for sequence in owned.iter().copied() {
            let mut others = catalog.drawing_from(sequence);
            let is_other = |of: &Column| of.name != *name;
            if let Some((of, other)) = others.find(|(of, c)| of.id != table.id || is_other(c)) {
                let (column, of) = (&other.name, &of.name);
                return needs(format!("default value for column {column} of table {of}"));
            }
        }
        self.changes.extend(owned.into_iter().map(CatalogChange::DropTable));
        let Columns { columns, hidden, filled, generated, .. } = without(table, &gone);
        let draft = &mut self.draft.table;
        (draft.columns, draft.hidden, draft.generated) = (columns, hidden, generated);
        (self.filled, self.rebuilds) = (filled, true);
        Ok(())
    }

    /// Foreign keys of other tables that refer to an index that goes: with CASCADE they go, too.
    fn cut_or_refuse(
        &mut self,
        catalog: &Catalog,
        (index, cascades): (IndexId, bool),
        what: impl FnOnce() -> String,
    ) -> Result<()> {
        let keys = catalog.tables().iter().flat_map(|table| &table.foreign_keys);
        let keys: Vec<_> = keys.filter(|key| key.parent_index == index).collect();
        if cascades || keys.is_empty() {
            self.dropped.extend(keys.into_iter().flat_map(|key| cut_reference(catalog, key)));
            return Ok(());
        }
        let index = &catalog.index(index).name;
        let detail = keys.into_iter().map(|key| {
            let child = &catalog.table(key.child).name;
            format!("constraint {} on table {child} depends on index {index}", key.name)
        });
        let text = format!("{} because other objects depend on it", what());
        let hint = "Use DROP ... CASCADE to drop the dependent objects too.";
        let detail = detail.collect::<Vec<_>>().join("\n");
        Err(error(b"2BP01", self.draft.place, text).detail(detail).hint(hint))
    }

    /// VALIDATE CONSTRAINT
    pub(crate) fn validate(&mut self, written: &ast::Ident) -> Result<()> {
        let name = folded(&written.value, written.quote_style.is_some());
        let place = ident_place(written, self.draft.place);
        let table = &self.draft.table;
        let is_check = table.checks.iter().any(|check| check.name == name);
        let is_key = table.foreign_keys.iter().any(|key| key.name == name);
        let of = &self.table.name;
        if !is_check && !is_key {
            let is_known = table.constraint_names().any(|known| known == name);
            let (code, what) = match is_known {
                true => (b"42809", "is not a foreign key or check constraint"),
                false => (b"42704", "does not exist"),
            };
            let text = format!("constraint \"{name}\" of relation \"{of}\" {what}");
            return Err(error(code, place, text));
        }
        if self.table.not_valid.contains(&name) {
            let table = self.table.id;
            self.changes.push(CatalogChange::Validate { table, name });
        }
        Ok(())
    }

    /// NOT VALID, of the constraints of the draft behind so many checks and foreign keys.
    pub(crate) fn mark_not_valid(&mut self, (checks, keys): (usize, usize)) {
        let table = &self.draft.table;
        let checks = table.checks.iter().skip(checks).map(|check| &check.name);
        let keys = table.foreign_keys.iter().skip(keys).map(|key| &key.name);
        self.not_valid.extend(checks.chain(keys).cloned());
    }

    /// DROP CONSTRAINT
    pub(crate) fn drop_constraint(
        &mut self,
        catalog: &Catalog,
        written: &ast::Ident,
        (if_exists, cascades): (bool, bool),
    ) -> Result<()> {
        let name = folded(&written.value, written.quote_style.is_some());
        let place = ident_place(written, self.draft.place);
        let table = self.table;
        let unique = table.declared_indexes().map(|id| catalog.index(id));
        let mut unique = unique.filter(|index| index.is_constraint);
        if let Some(index) = unique.find(|index| index.name == name) {
            self.cut_or_refuse(catalog, (index.id, cascades), || {
                format!("cannot drop constraint {name} on table {}", table.name)
            })
            .map_err(|error| error.or_at(place))?;
            if table.declared_primary() == Some(index.id) {
                (self.draft.table.primary, self.rebuilds) = (None, true);
            } else {
                self.dropped.push(CatalogChange::DropIndex(index.id));
            }
        } else if table.checks.iter().any(|check| check.name == name)
            && (self.is_own || !table.is_of_domain(&name))
            || table.foreign_keys.iter().any(|key| key.name == name)
        {
            self.dropped.push(CatalogChange::DropConstraint { table: table.id, name });
        } else {
            let text =
                format!("constraint \"{name}\" of relation \"{}\" does not exist", table.name);
            if !if_exists {
                return Err(error(b"42704", place, text));
            }
            self.changes.push(CatalogChange::Nothing(left_out(format!("{text}, skipping"))));
        }
        Ok(())
    }

    /// A table with indexes has a primary key: its own, until one is declared.
    fn settle_identity(&mut self, name: String) {
        let (table, draft) = (self.table, &mut self.draft.table);
        if let Some(of) = draft.hidden.iter().position(|of| *of == Hidden::Identity)
            && draft.primary.is_some()
        {
            let at = draft.shown().len() + of;
            draft.columns.remove(at);
            draft.hidden.remove(of);
            self.filled.remove(at);
            for generated in &mut draft.generated {
                generated.column.0 -= u16::from(generated.column.index() > at);
            }
        } else if draft.primary.is_none()
            && (table.declared_primary().is_some()
                || table.primary.is_none() && draft.unique.len() > table.secondary.len())
        {
            draft.primary = Some(identity_key(name, ColumnId(draft.columns.len() as u16)));
            draft.columns.push(identity_column());
            draft.hidden.push(Hidden::Identity);
            self.filled.push(Filled::Identity);
            self.rebuilds = true;
        }
    }

    pub(crate) fn into_changes(mut self, identity: String) -> Vec<CatalogChange> {
        let loses_key =
            self.table.declared_primary().is_some() && self.draft.table.primary.is_none();
        if loses_key && matches!(self.table.routing, Some(DeclaredRouting::Fields(_))) {
            let text = "rows are no longer routed by columns of the primary key, which has gone";
            self.draft.told.push(text.to_owned());
        }
        self.settle_identity(identity);
        let Self { table, draft, filled, rebuilds, dropped: mut all, changes, not_valid, .. } =
            self;
        let TableDefinition {
            name,
            schema,
            columns,
            hidden,
            primary,
            unique,
            checks,
            foreign_keys,
            generated,
            ..
        } = draft.table;
        all.extend(draft.sequences.into_iter().map(CatalogChange::CreateSequence));
        if rebuilds {
            let primary = primary.filter(|_| table.declared_primary().is_none() || loses_key);
            let table = table.id;
            all.push(CatalogChange::Columns(Columns {
                table,
                columns,
                hidden,
                filled,
                primary,
                generated,
            }));
        }
        all.extend(changes);
        let (had, id) = (table.checks.len(), table.id);
        let new = checks.into_iter().skip(had);
        all.extend(new.map(|check| {
            let is_valid = !not_valid.contains(&check.name);
            CatalogChange::AddCheck { table: id, check, is_valid }
        }));
        all.extend(draft.told.into_iter().map(|text| CatalogChange::Nothing(left_out(text))));
        let had = table.secondary.len();
        let new = unique.into_iter().skip(had);
        let named = qualified(&schema, &name);
        all.extend(
            new.map(|definition| CatalogChange::CreateIndex { table: named.clone(), definition }),
        );
        let new = foreign_keys.into_iter().skip(table.foreign_keys.len());
        all.extend(new.map(|key| {
            let is_valid = !not_valid.contains(&key.name);
            CatalogChange::AddForeignKey { table: table.id, key, is_valid }
        }));
        all
    }
}
