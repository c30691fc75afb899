//! What a program needs the right to do, noted where names are looked up.
//!
//! Role         each name that somebody wrote is looked up in one place by kind: tables and views
//!              in FROM, columns of them, targets of changes, functions, sequences. What the
//!              database adds by itself (foreign keys, keys, computed columns) needs nobody's right
//! Source       PostgreSQL 15, "Privileges" and the pages of the statements

use std::sync::Arc;

use hotrow_base::conventions::Conventions;
use hotrow_base::ids::{ColumnId, TableId};
use hotrow_transaction::catalog::{
    Numbering, Object, PUBLIC, Privileges, Table, View, is_temporary, local, qualified, schema_of,
    split,
};
use hotrow_transaction::needs::By;
use hotrow_transaction::program::{Place, Procedure};
use sqlparser::ast;

use crate::changes::{CatalogChange, Made, MadeName};
use crate::compiled::Compiled;
use crate::error::Result;
use crate::relation::level::Relation;
use crate::scope::Compiler;
use crate::state::ReadOf;
use crate::through::Target;
use crate::written::{ident_name, object_name};

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
        let object = Object::Table(table.id);
        self.needs.add_columns(&self.by, object, Privileges::SELECT, []);
    }

    /// A view of FROM is read.
    pub(crate) fn need_view(&mut self, view: &View) {
        self.need_schema(&view.schema);
        let object = Object::View(view.id);
        self.needs.add_columns(&self.by, object, Privileges::SELECT, []);
    }

    /// Has what is compiled need the rights of a view's owner, and its literals be read as they
    /// were when the view was made.
    pub(crate) fn as_view<T>(
        &mut self,
        view: u32,
        compile: impl FnOnce(&mut Self) -> Result<T>,
    ) -> Result<T> {
        let of_view = self.catalog.views().find(|known| known.id == view);
        let conventions = of_view.map_or_else(Conventions::current, |known| known.conventions);
        let _entered = conventions.enter();
        let around = std::mem::replace(&mut self.settles_times, true);
        let compiled = self.as_by(By::View(view), compile);
        self.settles_times = around;
        compiled
    }

    /// Has what is compiled need somebody's rights to relations.
    pub(crate) fn as_by<T>(
        &mut self,
        by: By,
        compile: impl FnOnce(&mut Self) -> Result<T>,
    ) -> Result<T> {
        let around = std::mem::replace(&mut self.by, by);
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
    pub(crate) fn need_column(
        &mut self,
        depth: usize,
        relation: usize,
        column: usize,
    ) -> Result<()> {
        match self.levels[depth].relations[relation].read_of.clone() {
            Some(of) => self.need_read(&of, [column]),
            None => Ok(()),
        }
    }

    /// Columns of rows are read.
    fn need_read(&mut self, of: &ReadOf, columns: impl IntoIterator<Item = usize>) -> Result<()> {
        let is_first = !self.needs.has(&self.by, &of.object, Privileges::SELECT);
        let columns = columns.into_iter().filter_map(|column| of.column(column));
        self.needs.add_columns(&self.by, of.object.clone(), Privileges::SELECT, columns);
        if of.is_through && is_first { self.need_definition(&of.object) } else { Ok(()) }
    }

    /// A view that is written through is read: its owner has to be allowed all that its query
    /// reads, as where it stands in FROM.
    fn need_definition(&mut self, view: &Object) -> Result<()> {
        let found = self.catalog.views().find(|known| Object::View(known.id) == *view);
        let Some(view) = found else { return Ok(()) };
        let query = self.view_query(view, self.place)?;
        let mut compiler = Compiler::new(self.catalog).seeing(&view.path);
        (compiler.place, compiler.procedures) = (self.place, self.procedures);
        (compiler.by, compiler.runs_as) = (By::View(view.id), self.runs_as.clone());
        compiler.ad_hoc = true;
        compiler.query_plan(&query)?;
        self.needs.add_all(&compiler.needs, &self.runs_as);
        Ok(())
    }

    /// Rows are locked that FOR UPDATE or its kin says; none: those of all relations. Those of a
    /// view are its owner's to lock, too, where he reads them.
    pub(crate) fn need_locks(&mut self) -> Result<()> {
        let Some(level) = self.levels.last() else { return Ok(()) };
        let mut locked = Vec::new();
        for lock in &level.locks {
            let is_it =
                |relation: &&Relation| lock.of.as_ref().is_none_or(|of| *of == relation.name);
            let objects = level.relations.iter().filter(is_it);
            locked.extend(objects.filter_map(|of| Some(of.read_of.as_ref()?.object.clone())));
        }
        for object in locked {
            self.needs.add_columns(&self.by, object.clone(), Privileges::UPDATE, []);
            self.need_locks_beneath(object)?;
        }
        Ok(())
    }

    /// Rows of a view are locked, and so those of what stands in its FROM, by its owner; and so on,
    /// where that are views.
    fn need_locks_beneath(&mut self, locked: Object) -> Result<()> {
        let mut left = vec![locked];
        while let Some(object) = left.pop() {
            let Object::View(number) = object else { continue };
            let found = self.catalog.views().find(|known| known.id == number);
            let Some(view) = found else { continue };
            for name in names_in_from(&*self.view_query(view, self.place)?, self.place)? {
                let table = self.catalog.table_seen(&view.path, &name);
                let object = match (self.catalog.view_seen(&view.path, &name), table) {
                    (Some(beneath), _) => Object::View(beneath.id),
                    (None, Some(table)) => Object::Table(table.id),
                    (None, None) => continue,
                };
                let by = By::View(number);
                self.needs.add_columns(&by, object.clone(), Privileges::UPDATE, []);
                left.push(object);
            }
        }
        Ok(())
    }

    /// Compiles something whose needs are none of whoever runs it.
    pub(crate) fn without_needs<T>(
        &mut self,
        compile: impl FnOnce(&mut Self) -> Result<T>,
    ) -> Result<T> {
        let needs = self.needs.clone();
        let compiled = compile(self);
        self.needs = needs;
        compiled
    }

    /// A change that somebody has written. MERGE needs what its clauses do, each by itself.
    pub(crate) fn need_change(&mut self, statement: &ast::Statement) -> Result<()> {
        let (target, events) = self.events_of(statement)?;
        self.need_schema(target.schema());
        match statement {
            ast::Statement::Insert(insert) => {
                let columns = self.columns_given(&target, insert);
                self.need_on_layers(&target, Privileges::INSERT, Some(&columns));
                if let Some(ast::OnInsert::OnConflict(conflict)) = &insert.on
                    && let Some(ast::ConflictTarget::Columns(names)) = &conflict.conflict_target
                    && let Some(of) = self.target_row(&target).read_of
                {
                    let known = |name: &ast::Ident| target.column(&ident_name(name));
                    let columns = names.iter().filter_map(known).map(ColumnId::index);
                    self.need_read(&of, columns.collect::<Vec<_>>())?;
                }
                if let [_, (_, set)] = events.as_slice() {
                    self.need_on_layers(&target, Privileges::UPDATE, Some(set));
                }
            }
            ast::Statement::Update(_) => {
                let set: Vec<_> = events.into_iter().flat_map(|(_, set)| set).collect();
                self.need_on_layers(&target, Privileges::UPDATE, Some(&set));
            }
            ast::Statement::Delete(_) => {
                self.need_on_layers(&target, Privileges::DELETE, None);
            }
            // MERGE that does nothing reads its table.
            _ if events.is_empty() => {
                let object = Object::Table(target.table.id);
                self.needs.add_columns(&self.by, object, Privileges::SELECT, []);
            }
            _ => {}
        }
        Ok(())
    }

    /// A right to change what a statement names; where that is a view, its owner needs it on what
    /// the view stands on. `columns`: those of the table; none: it is a right to whole rows.
    fn need_on_layers(
        &mut self,
        target: &Target<'_>,
        right: Privileges,
        columns: Option<&[ColumnId]>,
    ) {
        let mut by = self.by.clone();
        for (object, own) in target.layers(columns.unwrap_or_default()) {
            let next = match object {
                Object::View(view) => By::View(view),
                _ => by.clone(),
            };
            match columns {
                Some(_) => self.needs.add_columns(&by, object, right, own),
                None => self.needs.add(&by, object, right),
            }
            by = next;
        }
    }

    /// The columns that INSERT gives values to, as far as there are such.
    fn columns_given(&self, target: &Target<'_>, insert: &ast::Insert) -> Vec<ColumnId> {
        if insert.columns.is_empty() {
            let mut columns = target.columns();
            if let Some(values) = values_count(insert) {
                columns.truncate(values);
            }
            return columns;
        }
        let named = |name: &ast::ObjectName| target.column(&object_name(name, self.place).ok()?);
        insert.columns.iter().filter_map(named).collect()
    }

    /// A function or a procedure is called: it may be, and its program's needs are the caller's,
    /// but for those of its owner.
    pub(crate) fn need_call(&mut self, callee: &Procedure) {
        self.calls.needs_turn |= callee.interpreted.is_some();
        let object = Object::Function(callee.name.as_str().into());
        let is_own = self.path.temporary_schema() == Some(callee.schema());
        if callee.schema() != PUBLIC && !is_own {
            let schema = Object::Schema(callee.schema().into());
            self.needs.add(&self.runs_as, schema, Privileges::USAGE);
        }
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
                let (schema, of) = (schema_of(name), local(name));
                let mut all = self.catalog.types();
                let is_there = all.any(|(known, name, _)| known == schema && name == of);
                (!is_there).then(|| MadeName::Type(name.clone()))
            }
            _ => None,
        }
    }
}

/// What stands in FROM of a query, and of the queries that stand there.
fn names_in_from(query: &ast::Query, place: Place) -> Result<Vec<String>> {
    let (mut names, mut queries) = (Vec::new(), vec![query]);
    while let Some(query) = queries.pop() {
        let common = query.with.iter().flat_map(|with| &with.cte_tables);
        let common: Vec<_> = common.map(|table| ident_name(&table.alias.name)).collect();
        let ast::SetExpr::Select(select) = &*query.body else { continue };
        let (before, mut factors) = (names.len(), Vec::from_iter(&select.from));
        while let Some(ast::TableWithJoins { relation, joins }) = factors.pop() {
            for factor in joins.iter().map(|join| &join.relation).chain([relation]) {
                match factor {
                    ast::TableFactor::Table { name, args: None, .. } => {
                        names.push(object_name(name, place)?);
                    }
                    ast::TableFactor::Derived { subquery, .. } => queries.push(subquery),
                    ast::TableFactor::NestedJoin { table_with_joins, .. } => {
                        factors.push(table_with_joins);
                    }
                    _ => {}
                }
            }
        }
        let own = names.split_off(before);
        names.extend(own.into_iter().filter(|name| !common.contains(name)));
    }
    Ok(names)
}

/// How many columns INSERT gives values to; none: as many as there are.
fn values_count(insert: &ast::Insert) -> Option<usize> {
    match insert.source.as_deref().map(|source| &*source.body) {
        None => Some(0), // DEFAULT VALUES
        Some(ast::SetExpr::Values(values)) => values.rows.first().map(|row| row.content.len()),
        Some(ast::SetExpr::Select(select)) => {
            let is_one = |item: &ast::SelectItem| {
                use ast::SelectItem as S;
                matches!(item, S::UnnamedExpr(_) | S::ExprWithAlias { .. })
            };
            select.projection.iter().all(is_one).then_some(select.projection.len())
        }
        Some(_) => None,
    }
}
