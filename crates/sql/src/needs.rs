//! What a program needs the right to do, noted where names are looked up.
//!
//! Role         each name that somebody wrote is looked up in one place by kind: tables and views
//!              in FROM, columns of them, targets of changes, functions, sequences. What the
//!              database adds by itself (foreign keys, keys, computed columns) needs nobody's right
//! Source       PostgreSQL 15, "Privileges" and the pages of the statements

use std::sync::Arc;

use hotrow_base::ids::{ColumnId, TableId};
use hotrow_transaction::catalog::{
    Numbering, Object, PUBLIC, Privileges, Table, View, is_temporary, local, qualified, split,
};
use hotrow_transaction::needs::By;
use hotrow_transaction::program::Procedure;
use sqlparser::ast;

use crate::changes::{CatalogChange, Made, MadeName};
use crate::compiled::Compiled;
use crate::error::Result;
use crate::relation::level::{Relation, RelationKind};
use crate::scope::Compiler;
use crate::written::object_name;

/// Relations of the system catalog that show what is not for everybody, and how errors call them.
const SECRET: [(&str, &str); 3] = [
    ("pg_catalog.pg_authid", "table pg_authid"),
    ("hotrow.hot_keys", "view hot_keys"),
    ("hotrow.waits", "view waits"),
];

impl Compiler<'_> {
    /// A relation of the system catalog is read.
    pub(crate) fn need_system(&mut self, full_name: &str) {
        if let Some((_, shown)) = SECRET.iter().find(|(secret, _)| *secret == full_name) {
            self.needs.add_superuser(shown);
        }
    }

    /// A table of FROM is read.
    pub(crate) fn need_table(&mut self, table: &Table) {
        self.need_schema(&table.schema);
        // A change by key reads its own table, too: WHERE tells which columns.
        if !std::mem::take(&mut self.binds_target) {
            let object = Object::Table(table.id);
            self.needs.add_columns(&self.by, object, Privileges::SELECT, []);
        }
    }

    /// A view of FROM is read.
    pub(crate) fn need_view(&mut self, view: &View) {
        self.need_schema(&view.schema);
        let object = Object::View(view.id);
        self.needs.add_columns(&self.by, object, Privileges::SELECT, []);
    }

    /// Has what is compiled need the rights of a view's owner.
    pub(crate) fn as_view<T>(
        &mut self,
        view: &View,
        compile: impl FnOnce(&mut Self) -> Result<T>,
    ) -> Result<T> {
        let around = std::mem::replace(&mut self.by, By::View(view.id));
        let compiled = compile(self);
        self.by = around;
        compiled
    }

    /// A view has looked its names up when it was made.
    fn need_schema(&mut self, schema: &str) {
        if !matches!(self.by, By::View(_)) {
            self.needs.add(&self.by, Object::Schema(schema.into()), Privileges::USAGE);
        }
    }

    /// A column of a relation is read that somebody has named.
    pub(crate) fn need_column(&mut self, depth: usize, relation: usize, column: usize) {
        if let Some(object) = object_of(&self.levels[depth].relations[relation]) {
            let column = ColumnId(column as u16);
            self.needs.add_columns(&self.by, object, Privileges::SELECT, [column]);
        }
    }

    /// Rows are locked that FOR UPDATE or its kin says; none: those of all relations.
    pub(crate) fn need_locks(&mut self) {
        let Some(level) = self.levels.last() else { return };
        for lock in &level.locks {
            let is_it =
                |relation: &&Relation| lock.of.as_ref().is_none_or(|of| *of == relation.name);
            let locked = level.relations.iter().filter(is_it);
            for object in locked.filter_map(object_of) {
                self.needs.add_columns(&self.by, object, Privileges::UPDATE, []);
            }
        }
    }

    /// A change that somebody has written.
    pub(crate) fn need_change(&mut self, statement: &ast::Statement) -> Result<()> {
        let (table, events) = self.events_of(statement)?;
        let table = self.catalog.table(table);
        self.need_schema(&table.schema);
        let object = Object::Table(table.id);
        match statement {
            ast::Statement::Insert(insert) => {
                let columns = self.columns_given(table, insert);
                self.needs.add_columns(&self.by, object.clone(), Privileges::INSERT, columns);
                if let Some(ast::OnInsert::OnConflict(conflict)) = &insert.on
                    && let Some(ast::ConflictTarget::Columns(names)) = &conflict.conflict_target
                {
                    let known = |name: &ast::Ident| table.column(&crate::written::ident_name(name));
                    let columns: Vec<_> = names.iter().filter_map(known).collect();
                    self.needs.add_columns(&self.by, object.clone(), Privileges::SELECT, columns);
                }
                if let [_, (_, set)] = events.as_slice() {
                    let set = set.iter().copied();
                    self.needs.add_columns(&self.by, object, Privileges::UPDATE, set);
                }
            }
            ast::Statement::Update(_) => {
                let set = events.into_iter().flat_map(|(_, set)| set);
                self.needs.add_columns(&self.by, object, Privileges::UPDATE, set);
            }
            _ => self.needs.add(&self.by, object, Privileges::DELETE),
        }
        Ok(())
    }

    /// The columns that INSERT gives values to, as far as there are such.
    fn columns_given(&self, table: &Table, insert: &ast::Insert) -> Vec<ColumnId> {
        if insert.columns.is_empty() {
            return (0..table.shown().len()).map(|at| ColumnId(at as u16)).collect();
        }
        let named = |name: &ast::ObjectName| table.column(&object_name(name, self.place).ok()?);
        insert.columns.iter().filter_map(named).collect()
    }

    /// A function or a procedure is called: it may be, and its program's needs are the caller's,
    /// but for those of its owner.
    pub(crate) fn need_call(&mut self, callee: &Procedure) {
        let object = Object::Function(callee.name.as_str().into());
        self.needs.add(&self.runs_as, object, Privileges::EXECUTE);
        self.needs.add_all(&callee.needs, &self.runs_as);
    }

    /// A number of a sequence is drawn for a column, or for somebody who asks.
    pub(crate) fn need_number(&mut self, sequence: TableId, as_written: Option<Numbering>) {
        // GENERATED AS IDENTITY: the sequence is the column's own.
        if !matches!(as_written, Some(Numbering::Always | Numbering::ByDefault)) {
            let one_of = Privileges::USAGE.and(Privileges::UPDATE);
            self.needs.add(&self.runs_as, Object::Table(sequence), one_of);
        }
    }

    /// Has what is compiled need the rights of a function's owner, where it says SECURITY DEFINER.
    pub(crate) fn as_function<T>(
        &mut self,
        (name, is_definer): (&str, bool),
        compile: impl FnOnce(&mut Self) -> Result<T>,
    ) -> Result<T> {
        let by = if is_definer { By::Function(name.into()) } else { self.runs_as.clone() };
        let around = (self.by.clone(), self.runs_as.clone());
        (self.by, self.runs_as) = (by.clone(), by);
        let compiled = compile(self);
        (self.by, self.runs_as) = around;
        compiled
    }

    /// Gives what was compiled the needs that were noted.
    pub(crate) fn give_needs(&mut self, compiled: &mut Compiled) {
        let needs = std::mem::take(&mut self.needs);
        match compiled {
            Compiled::Statement(procedure) | Compiled::CreateProcedure { procedure, .. } => {
                procedure.needs = needs;
            }
            Compiled::Query(query) => {
                if let Some(query) = Arc::get_mut(query) {
                    query.needs = needs;
                }
            }
            Compiled::Change(change) => change.apply.needs = needs,
            Compiled::Explained { needs: of, .. } => *of = needs,
            Compiled::Analyzed(analyzed) => {
                self.needs = needs;
                self.give_needs(&mut analyzed.compiled);
            }
            _ => {}
        }
    }
}

impl Compiler<'_> {
    /// Gives what was compiled the role whose all that it makes is.
    pub(crate) fn give_maker(&self, compiled: &mut Compiled) {
        if let Compiled::CreateProcedure { maker, .. } = compiled {
            maker.clone_from(&self.role);
        }
        let Compiled::Catalog(changes) = compiled else { return };
        if self.role.is_none() && self.catalog.rights().defaults().next().is_none() {
            return;
        }
        let made: Vec<_> = changes.iter().filter_map(|change| self.made_by(change)).collect();
        for name in made {
            let is_said = changes
                .iter()
                .any(|change| matches!(change, CatalogChange::Made(made) if made.name == name));
            if !is_said {
                let owner = self.role.clone();
                changes.push(CatalogChange::Made(Made { name, owner }));
            }
        }
    }

    fn made_by(&self, change: &CatalogChange) -> Option<MadeName> {
        match change {
            CatalogChange::CreateTable(table) if !is_temporary(&table.schema) => {
                Some(MadeName::Table(qualified(&table.schema, &table.name)))
            }
            CatalogChange::CreateSequence(sequence) => {
                let is_lasting = !split(&sequence.name).0.is_some_and(is_temporary);
                is_lasting.then(|| MadeName::Table(sequence.name.clone()))
            }
            CatalogChange::CreateSchema(name) if !is_temporary(name) => {
                Some(MadeName::Schema(name.clone()))
            }
            CatalogChange::SetView(view) => {
                let name = view.qualified_name();
                self.catalog.view(&name).is_none().then_some(MadeName::View(name))
            }
            CatalogChange::SetType { name, .. } => {
                let (schema, of) = (split(name).0.unwrap_or(PUBLIC), local(name));
                let mut all = self.catalog.types();
                let is_there = all.any(|(known, name, _)| known == schema && name == of);
                (!is_there).then(|| MadeName::Type(name.clone()))
            }
            _ => None,
        }
    }
}

/// What has the rights of a relation's columns.
fn object_of(relation: &Relation) -> Option<Object> {
    match (&relation.kind, relation.view) {
        (RelationKind::Table(table), _) => Some(Object::Table(*table)),
        (RelationKind::Planned(_), Some(view)) => Some(Object::View(view)),
        _ => None,
    }
}
