//! Which rows FROM brings in: those of a view's query, of a partition, and of a table with row
//! security those that are shown.
//!
//! Role         called by FROM for each table that somebody has named, and by changes for their
//!              target. A condition of policies stands below all joins, as a part of the table
//! Invariants   I1 a condition sees its table by its own name, and nothing of the query around it

use std::mem::take;
use std::sync::Arc;

use hotrow_base::ids::TableId;
use hotrow_transaction::catalog::{Object, Partition, PolicyCommand, View};
use hotrow_transaction::program::Place;
use sqlparser::ast;

use crate::error::{Advice, Result, error};
use crate::relation::level::{Clause, Level, Relation, RelationKind, RelationNames};
use crate::scope::Compiler;
use crate::secured::SecurityCondition;
use crate::state::{ReadOf, Row};

use super::from::Tree;

impl Compiler<'_> {
    /// Brings in what FROM names; of a table the rows that are shown, unless it is the target of a
    /// change, which asks for itself.
    pub(super) fn enter_shown(
        &mut self,
        relation: Relation,
        is_target: bool,
        place: Place,
    ) -> Result<Tree> {
        let table = match relation.kind {
            RelationKind::Table(table) if !is_target => Some(table),
            _ => None,
        };
        let partition = relation.partition.clone();
        let tree = self.enter(relation, place)?;
        match (table, partition) {
            (Some(_), Some(partition)) => self.rows_of_partition(tree, &partition, place),
            (Some(table), None) => self.rows_shown_of(tree, table),
            (None, _) => Ok(tree),
        }
    }

    /// A partition: its table's rows, of which those are brought in that its bound says. Who may
    /// read it sees all of them, whatever policies its table has.
    pub(super) fn bind_partition(
        &mut self,
        (view, partition): (&Arc<View>, &Partition),
        (shown, aliases): (String, Vec<String>),
        place: Place,
    ) -> Result<Relation> {
        self.refuse_changed(partition.table, place)?;
        let schema = Some(view.schema.as_str().into());
        let row = Row {
            read_of: Some(ReadOf::own(Object::View(view.id))),
            ..self.row_of(partition.table, &shown)
        };
        let mut relation = Relation::over(row, schema);
        for (column, name) in relation.columns[..relation.shown].iter_mut().zip(aliases) {
            column.name = name;
        }
        relation.partition = Some(Arc::clone(view));
        Ok(relation)
    }

    fn rows_of_partition(&mut self, tree: Tree, view: &View, place: Place) -> Result<Tree> {
        let (Tree::Leaf(at), Some(partition)) = (&tree, &view.partition) else { return Ok(tree) };
        let (at, query) = (*at, self.view_query(view, place)?);
        let ast::SetExpr::Select(select) = &*query.body else { return Ok(tree) };
        let Some(written) = select.selection.clone() else { return Ok(tree) };
        let (table, path) = (partition.table, view.path.clone());
        let condition = SecurityCondition { table, written, path };
        let (on, late) =
            self.on_relation(at, &condition, |this, written| this.join_condition(written))?;
        Ok(Tree::Inner { items: vec![tree], on, late })
    }

    /// Compiles a view's query where it is named, as if nothing were around it.
    pub(super) fn bind_view(
        &mut self,
        view: &View,
        (shown, aliases): (String, Vec<String>),
        place: Place,
    ) -> Result<Relation> {
        let query = self.view_query(view, place)?;
        let bound = self.apart_from_statement(&view.path, |this| {
            this.as_view(view.id, |this| this.query_plan(&query))
        })?;
        let types = view.columns.iter().map(|(_, sql_type)| *sql_type);
        let gives = bound.outputs.iter().map(|(name, slot)| (name, self.slot_type(*slot)));
        if !gives.eq(view.given.iter().zip(types)) {
            let message = format!("view \"{}\" would have other columns", view.name);
            return Err(error(b"0A000", place, message).hint("name its columns in place of *"));
        }
        let own = view.columns.iter().skip(aliases.len()).map(|(name, _)| name.clone());
        let names: Vec<_> = aliases.iter().cloned().chain(own).collect();
        let read_of = Some(ReadOf::own(Object::View(view.id)));
        let relation = self.planned(shown, &names, bound, place)?;
        Ok(Relation { read_of, ..relation })
    }

    /// A table that has just been brought in, with the rows that its policies show.
    fn rows_shown_of(&mut self, tree: Tree, table: TableId) -> Result<Tree> {
        let Tree::Leaf(at) = tree else { return Ok(tree) };
        let level = self.level();
        let name = &level.relations[at].name;
        let is_of = |lock: &Clause| lock.of.as_ref().is_none_or(|of| of == name);
        let is_locked = level.locks.iter().any(is_of);
        // Who holds rows may be about to change them.
        let commands = [PolicyCommand::Select, PolicyCommand::Update];
        let commands = &commands[..1 + usize::from(is_locked)];
        let Some(condition) = self.rows_shown(self.catalog.table(table), commands)? else {
            return Ok(tree);
        };
        let (on, late) =
            self.on_relation(at, &condition, |this, written| this.join_condition(written))?;
        Ok(Tree::Inner { items: vec![tree], on, late })
    }

    /// Compiles a condition of policies on one of the innermost level's relations, which is all
    /// that it sees, under its table's own name.
    pub(super) fn on_relation<T>(
        &mut self,
        at: usize,
        condition: &SecurityCondition,
        compile: impl FnOnce(&mut Self, &ast::Expr) -> Result<T>,
    ) -> Result<T> {
        let table = self.catalog.table(condition.table);
        let own = Row { read_of: None, ..self.row_of(table.id, &table.name) };
        let mut names = RelationNames::of(&own);
        let mut level = self.levels.pop().expect("a query is being compiled");
        names.swap(&mut level.relations[at]);
        let shown = std::mem::replace(&mut level.relations[at].shown, own.shown);
        let others = |level: &mut Level| -> Vec<_> {
            let all = level.relations.iter_mut().enumerate().filter(|(other, _)| *other != at);
            let hide = |of: &mut Relation| (take(&mut of.shown), take(&mut of.name));
            all.map(|(_, relation)| hide(relation)).collect()
        };
        let hidden = others(&mut level);
        let (compiled, mut level) = self.apart_from_statement(&condition.path, |this| {
            this.levels.push(level);
            let compiled = this.as_security(condition, compile);
            Ok((compiled, this.levels.pop().expect("it was pushed above")))
        })?;
        let all = level.relations.iter_mut().enumerate().filter(|(other, _)| *other != at);
        for ((_, relation), (shown, name)) in all.zip(hidden) {
            (relation.shown, relation.name) = (shown, name);
        }
        level.relations[at].shown = shown;
        names.swap(&mut level.relations[at]);
        self.levels.push(level);
        compiled
    }
}
