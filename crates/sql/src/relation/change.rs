//! INSERT, UPDATE and DELETE of rows that a query gives.
//!
//! Role         binds such a statement in two parts: a query for the rows' keys and new values, and
//!              the statement itself, by key, which is executed for each of them, both in one
//!              transaction. The query is over before the first row is changed, so it meets no
//!              change of its own

use std::borrow::Cow;
use std::sync::Arc;

use hotrow_query::{Plan, Query};
use hotrow_transaction::catalog::{SearchPath, TriggerEvent};
use hotrow_transaction::program::{
    CompareOp, Expr, ExprKind, FIRST_PARAMETER, Place, Procedure, SlotId,
};
use sqlparser::ast::{self, SelectItem, SetExpr};

use crate::assignment::{ColumnValue, is_default, one_by_one};
use crate::drawn::in_rounds;
use crate::error::{Result, error, unsupported};
use crate::keyless::lacks_key;
use crate::relation::level::{Bound, Clause, How, Level, Relation, RelationNames};
use crate::scope::Compiler;
use crate::star_syntax::stands_for_many;
use crate::state::ReadOf;
use crate::through::Target;
use crate::typing::cast;

use super::from::Tree;
use super::select::{BoundSelect, Where};

/// A change of many rows, found by a query.
#[derive(Clone, Debug)]
pub struct Change {
    /// the rows
    pub query: Arc<Query>,
    /// what is executed for each; takes the statement's parameters, and then the row's values
    pub apply: Procedure,
}

/// Columns of a relation by their places in the row of a query.
struct ColumnsBeside {
    relation: String,
    columns: Vec<(String, usize)>,
    read_of: Option<ReadOf>,
}

/// What a change takes of each row of its query.
#[derive(Default)]
pub(crate) struct Taken {
    /// of UPDATE and DELETE: the primary key
    pub(super) key: Vec<TakenValue>,
    /// by value of the change; none: it stays as it is written
    values: Vec<Option<TakenValue>>,
    /// for RETURNING: columns of the other relations of FROM, by their names
    beside: Vec<ColumnsBeside>,
    /// of MERGE
    pub(super) merge: Option<TakenMerge>,
    /// of an INSERT with ON CONFLICT DO UPDATE: how many rows had its key so far, by column
    again: Option<usize>,
}

/// What MERGE takes of each row of its query: columns by their places.
pub(super) struct TakenMerge {
    /// the clause that is for the row, from 1; 0: none
    pub(super) action: usize,
    /// which change of its row it is, from 1
    pub(super) again: usize,
    /// by clause, as [`Taken`]'s
    pub(super) clauses: Vec<Vec<Option<TakenValue>>>,
}

/// A value that a change takes.
pub(super) enum TakenValue {
    /// a column of the query
    Column(usize),
    /// of variables of the procedure alone, and so the same for all rows: the change names it
    /// itself, and what is planned of it need not wait for the rows
    Fixed(Expr),
}

impl TakenValue {
    fn of(&self, columns: &[Expr]) -> Expr {
        match self {
            Self::Column(at) => columns[*at].clone(),
            Self::Fixed(value) => value.clone(),
        }
    }
}

/// A row whose columns have slots.
pub(crate) struct RowBeside {
    pub(crate) name: String,
    pub(crate) columns: Vec<(String, SlotId)>,
    /// whose right it takes to read them; none: nobody's
    pub(crate) read_of: Option<ReadOf>,
}

/// The row that a change is made for.
pub(crate) struct FoundRow {
    /// of UPDATE and DELETE: its primary key
    pub(crate) key: Vec<Expr>,
    /// none: as it is written
    pub(crate) values: Vec<Option<Expr>>,
    /// what it was joined with
    pub(crate) beside: Vec<RowBeside>,
    /// of MERGE
    pub(crate) merge: Option<FoundMerge>,
    /// of an INSERT with ON CONFLICT DO UPDATE: how many rows had its key so far, with itself
    pub(crate) again: Option<Expr>,
}

/// What MERGE does with a row.
pub(crate) struct FoundMerge {
    /// the clause that is for it, from 1; 0: none
    pub(crate) action: Expr,
    /// which change of its row it is, from 1
    pub(crate) again: Expr,
    /// by clause: values, as [`FoundRow`]'s
    pub(crate) clauses: Vec<Vec<Option<Expr>>>,
}

impl Taken {
    /// What it takes of a row with these columns.
    pub(crate) fn row(&self, columns: &[Expr]) -> FoundRow {
        let of = |taken: &TakenValue| taken.of(columns);
        let all = |values: &[Option<TakenValue>]| {
            values.iter().map(|taken| taken.as_ref().map(of)).collect::<Vec<_>>()
        };
        let values = all(&self.values);
        let merge = self.merge.as_ref().map(|merge| FoundMerge {
            action: columns[merge.action].clone(),
            again: columns[merge.again].clone(),
            clauses: merge.clauses.iter().map(|values| all(values)).collect(),
        });
        let slot = |(name, at): &(String, usize)| match columns[*at].kind {
            ExprKind::Slot(slot) => Some((name.clone(), slot)),
            _ => None,
        };
        let beside = self.beside.iter().map(|beside| RowBeside {
            name: beside.relation.clone(),
            columns: beside.columns.iter().filter_map(slot).collect(),
            read_of: beside.read_of.clone(),
        });
        let key = self.key.iter().map(of).collect();
        let again = self.again.map(|at| columns[at].clone());
        FoundRow { key, values, beside: beside.collect(), merge, again }
    }
}

impl Compiler<'_> {
    /// Compiles INSERT, UPDATE or DELETE of rows that a query gives, with names for queries before
    /// it.
    pub(crate) fn relational_change(
        &mut self,
        statement: &ast::Statement,
        with: Option<&ast::With>,
    ) -> Result<Change> {
        let (target, events) = self.events_of(statement)?;
        if self.fires_for_statement(target.table.id, &events) {
            // What fires behind all rows needs them together.
            let advice = "send it alone, or write a procedure for it";
            return Err(unsupported(self.place, "triggers of a change in parts", advice));
        }
        let (mut query, taken) = self.rows_of_change(statement, with, &[])?;
        let mut types = self.given.clone();
        types.extend(query.outputs.iter().map(|slot| Some(query.slots[slot.index()].sql_type)));
        let (compiler, apply) = in_rounds(|room| {
            let mut compiler = Compiler::new(self.catalog).seeing(&self.path);
            (compiler.place, compiler.room) = (self.place, room);
            (compiler.overriding, compiler.ad_hoc) = (self.overriding, true);
            compiler.procedures = self.procedures;
            (compiler.by, compiler.runs_as) = (self.by.clone(), self.runs_as.clone());
            compiler.needs = self.needs.clone(); // what its rows were found by was read
            compiler.take_parameters(&types, 0)?;
            compiler.take_drawn_slots()?;
            let columns = compiler.parameters[self.given.len()..].iter();
            let columns: Vec<_> = columns.map(|slot| compiler.slot_expr(*slot)).collect();
            let mut body = Vec::new();
            let row = taken.row(&columns);
            compiler.change_statement(&mut body, statement, Some(&row), None)?;
            compiler.needs_query.take().map_or(Ok(()), Err)?;
            let returns_set = !compiler.result.is_empty();
            let apply = compiler.take_procedure("", body, returns_set);
            Ok((apply.draws.clone(), (compiler, apply)))
        })?;
        self.needs.add_all(&compiler.needs, &self.by);
        // Parameters that only the second part knows the types of.
        for (at, known) in compiler.given.iter().take(self.given.len()).enumerate() {
            if let Some(known) = known {
                self.give(at, *known);
            }
        }
        query.slots.clone_from(&self.slots);
        Ok(Change { query: Arc::new(query), apply })
    }

    /// The rows that a change is made for, and what it takes of them. `assigned`: variables that
    /// the change of a row assigns.
    pub(crate) fn rows_of_change(
        &mut self,
        statement: &ast::Statement,
        with: Option<&ast::With>,
        assigned: &[SlotId],
    ) -> Result<(Query, Taken)> {
        let place = self.place;
        let (mut bound, mut taken) = match statement {
            ast::Statement::Insert(insert) => self.rows_to_insert((insert, with), place)?,
            ast::Statement::Update(update) => {
                self.rows_to_update((update, with), assigned, place)?
            }
            ast::Statement::Delete(delete) => {
                self.rows_to_delete((delete, with), assigned, place)?
            }
            ast::Statement::Merge(merge) => self.rows_to_merge((merge, with), assigned, place)?,
            _ => return Err(unsupported(place, "this statement", "write SELECT, INSERT, UPDATE")),
        };
        if !taken.key.is_empty() && taken.merge.is_none() {
            let own = taken.key.iter().filter_map(|of| match of {
                TakenValue::Column(at) => Some(bound.outputs[*at].1),
                TakenValue::Fixed(_) => None,
            });
            let on = own.collect();
            bound.plan = Plan::Distinct { input: Box::new(bound.plan), on };
        }
        let clauses = taken.merge.iter_mut().flat_map(|merge| &mut merge.clauses);
        let values = taken.values.iter_mut().chain(clauses.flatten()).flatten();
        for value in taken.key.iter_mut().chain(values) {
            if let TakenValue::Column(at) = value {
                let slot = bound.outputs[*at].1;
                if self.is_fixed(slot, assigned) {
                    *value = TakenValue::Fixed(self.slot_expr(slot));
                }
            }
        }
        Ok((self.query_of(bound)?, taken))
    }

    /// Whether a slot of a query in a procedure is a variable, and no column of a row, that stays
    /// as it is while rows are changed, which assigns these.
    fn is_fixed(&self, slot: SlotId, assigned: &[SlotId]) -> bool {
        self.reads.as_ref().is_some_and(|reads| slot.index() < reads.outer)
            && slot.0 >= FIRST_PARAMETER
            && !assigned.contains(&slot)
    }

    /// Binds something at a level of its own, where WITH gives names to queries.
    fn at_level<T>(
        &mut self,
        with: Option<&ast::With>,
        bind: impl FnOnce(&mut Self) -> Result<T>,
    ) -> Result<T> {
        self.levels.push(Level::default());
        let named = with.map_or(Ok(()), |with| self.with(with, self.place));
        let bound = named.and_then(|()| bind(self));
        self.levels.pop();
        bound
    }

    fn rows_to_insert(
        &mut self,
        (insert, with): (&ast::Insert, Option<&ast::With>),
        place: Place,
    ) -> Result<(Bound, Taken)> {
        let Some(source) = insert.source.as_deref() else {
            return Err(unsupported(place, "this INSERT", "write VALUES or SELECT"));
        };
        let (mut values, mut again) = (Vec::new(), None);
        let bound = match &*source.body {
            // Subqueries among the values of a row.
            SetExpr::Values(rows) if rows.rows.len() == 1 => {
                self.rows_from(with, (None, &[], None), |this, _| {
                    let mut columns = Vec::new();
                    for written in &rows.rows[0].content {
                        let stays = this.stays_in_change(written);
                        values.push((!stays).then_some(TakenValue::Column(columns.len())));
                        if !stays {
                            columns.push(this.expr(written)?);
                        }
                    }
                    Ok(columns)
                })?
            }
            _ => {
                let mut query = Cow::Borrowed(source);
                if let SetExpr::Select(select) = &*source.body {
                    let draws = select.distinct.is_none();
                    for (at, item) in select.projection.iter().enumerate() {
                        let stays = written_in(item)
                            .is_some_and(|of| is_untyped(of) || draws && self.draws_number(of));
                        values.push((!stays).then_some(TakenValue::Column(at)));
                        if stays {
                            take_out(query.to_mut(), at);
                        }
                    }
                    if select.projection.iter().any(stands_for_many) {
                        values.clear();
                        query = Cow::Borrowed(source);
                    }
                }
                let mut bound = match with {
                    None => self.query_plan(&query)?,
                    Some(_) => self.at_level(with, |this| this.query_plan(&query))?,
                };
                if values.is_empty() {
                    let all = 0..bound.outputs.len();
                    values = all.map(|at| Some(TakenValue::Column(at))).collect();
                }
                again = self.numbered_by_key(&mut bound, (insert, &values), place)?;
                bound
            }
        };
        Ok((bound, Taken { values, again, ..Taken::default() }))
    }

    fn rows_to_update(
        &mut self,
        (update, with): (&ast::Update, Option<&ast::With>),
        assigned: &[SlotId],
        place: Place,
    ) -> Result<(Bound, Taken)> {
        let mut from = vec![&update.table];
        if let Some(
            ast::UpdateTableFromKind::BeforeSet(more) | ast::UpdateTableFromKind::AfterSet(more),
        ) = &update.from
        {
            from.extend(more);
        }
        let target = self.changed_table(&update.table, TriggerEvent::Update)?;
        let assignments = one_by_one(&update.assignments, place)?;
        let (mut key, mut values, mut beside) = (Vec::new(), Vec::new(), Vec::new());
        let of = (Some(&target), from.as_slice(), update.selection.as_ref());
        let bound = self.rows_from(with, of, |this, wanted| {
            let mut columns = Vec::new();
            key = this.key_of_target((&target, wanted), assigned, &mut columns)?;
            for (_, given) in &assignments {
                let stays = match given {
                    ColumnValue::Written(of) => this.stays_in_change(of),
                    _ => false,
                };
                values.push((!stays).then_some(TakenValue::Column(columns.len())));
                if !stays {
                    columns.push(this.value_given(given)?);
                }
            }
            if update.returning.is_some() {
                beside = this.columns_beside(&mut columns)?;
            }
            Ok(columns)
        })?;
        Ok((bound, Taken { key, values, beside, ..Taken::default() }))
    }

    fn rows_to_delete(
        &mut self,
        (delete, with): (&ast::Delete, Option<&ast::With>),
        assigned: &[SlotId],
        place: Place,
    ) -> Result<(Bound, Taken)> {
        let (ast::FromTable::WithFromKeyword(tables) | ast::FromTable::WithoutKeyword(tables)) =
            &delete.from;
        let [table] = tables.as_slice() else {
            return Err(error(b"42601", place, "DELETE needs one table"));
        };
        let (mut key, mut beside) = (Vec::new(), Vec::new());
        let from: Vec<_> = std::iter::once(table).chain(delete.using.iter().flatten()).collect();
        let target = self.changed_table(table, TriggerEvent::Delete)?;
        let of = (Some(&target), from.as_slice(), delete.selection.as_ref());
        let bound = self.rows_from(with, of, |this, wanted| {
            let mut columns = Vec::new();
            key = this.key_of_target((&target, wanted), assigned, &mut columns)?;
            if delete.returning.is_some() {
                beside = this.columns_beside(&mut columns)?;
            }
            Ok(columns)
        })?;
        Ok((bound, Taken { key, beside, ..Taken::default() }))
    }

    /// Adds the columns of all relations but the first one, which RETURNING may name.
    fn columns_beside(&mut self, columns: &mut Vec<Expr>) -> Result<Vec<ColumnsBeside>> {
        let depth = self.levels.len() - 1;
        let mut beside: Vec<(usize, Vec<usize>, ColumnsBeside)> = Vec::new();
        for (relation, column) in self.level().shown.clone() {
            if relation == 0 {
                continue;
            }
            let known = &self.level().relations[relation];
            let (of, name) = (known.name.clone(), known.columns[column].name.clone());
            let read_of = known.read_of.clone();
            let named = (name, columns.len());
            columns.push(self.slot_of_column(depth, relation, column)?);
            match beside.last_mut() {
                Some((last, numbers, all)) if *last == relation => {
                    numbers.push(column);
                    all.columns.push(named);
                }
                _ => {
                    let all = ColumnsBeside { relation: of, columns: vec![named], read_of };
                    beside.push((relation, vec![column], all));
                }
            }
        }
        // RETURNING reads those that it names.
        let in_order = beside.into_iter().map(|(_, numbers, mut beside)| {
            beside.read_of = beside.read_of.map(|of| of.of_columns(&numbers));
            beside
        });
        Ok(in_order.collect())
    }

    /// Some values of the rows of FROM for which a condition is true. Those of the first table, if
    /// there is one, are held by writers' locks at once: two that came as readers would both wait
    /// for the other one to let go.
    pub(super) fn rows_from(
        &mut self,
        with: Option<&ast::With>,
        (target, from, selection): (
            Option<&Target<'_>>,
            &[&ast::TableWithJoins],
            Option<&ast::Expr>,
        ),
        list: impl FnOnce(&mut Self, &Where) -> Result<Vec<Expr>>,
    ) -> Result<Bound> {
        self.at_level(with, |this| {
            let place = this.place;
            let through = target.filter(|target| target.through.is_some());
            let mut tree = match through {
                None => {
                    this.binds_target = !from.is_empty();
                    this.bind_from(from.iter().copied())?
                }
                Some(target) => {
                    let schema = Some(Arc::clone(&target.table.schema));
                    let relation = Relation::over(this.target_row(target), schema);
                    let tree = this.enter(relation, place)?;
                    tree.joined(this.bind_from(from[1..].iter().copied())?)
                }
            };
            if let Some(target) = this.level().relations.first() {
                let of = Some(target.name.clone());
                this.level().locks.push(Clause { of, how: How::Wait });
            }
            this.check_locks(place)?;
            let mut wanted = this.wanted(selection, &mut tree)?;
            for narrowing in through.map_or_else(Vec::new, |target| this.narrowings(target)) {
                wanted.extend(this.narrowed_by(narrowing, &mut tree)?);
            }
            if let Some(target) = target
                && let Some(condition) = this.shown_to_change(target)?
            {
                let by = this.by_of(target);
                let mut shown = this.as_by(by, |this| {
                    this.on_relation(0, &condition, |this, written| {
                        this.wanted(Some(written), &mut tree)
                    })
                })?;
                shown.extend(wanted);
                wanted = shown;
            }
            let list = list(this, &wanted)?;
            let columns = list.into_iter().map(|value| (String::new(), value)).collect();
            let steps = std::mem::take(&mut this.level().steps);
            this.assembled(BoundSelect::ungrouped(place, (tree, wanted), (columns, steps)))
        })
    }

    /// The condition of a view on the rows of the innermost level's first relation.
    fn narrowed_by(
        &mut self,
        (mut names, path, (view, written)): (RelationNames, SearchPath, (u32, ast::Expr)),
        tree: &mut Tree,
    ) -> Result<Where> {
        let mut level = self.levels.pop().expect("a change is being compiled");
        names.swap(&mut level.relations[0]);
        // What stands beside it cannot be named.
        let beside: Vec<_> = level.relations[1..]
            .iter_mut()
            .map(|relation| {
                (std::mem::take(&mut relation.shown), std::mem::take(&mut relation.name))
            })
            .collect();
        let (wanted, mut level) = self.apart_from_statement(&path, |this| {
            this.levels.push(level);
            let wanted = this.as_view(view, |this| this.wanted(Some(&written), tree));
            Ok((wanted, this.levels.pop().expect("it was pushed above")))
        })?;
        for (relation, (shown, name)) in level.relations[1..].iter_mut().zip(beside) {
            (relation.shown, relation.name) = (shown, name);
        }
        names.swap(&mut level.relations[0]);
        self.levels.push(level);
        wanted
    }

    /// The primary key of a table that is changed by key, the first one in FROM. What it takes of
    /// the row is added to the columns.
    pub(super) fn key_of_target(
        &mut self,
        (target, wanted): (&Target<'_>, &Where),
        assigned: &[SlotId],
        columns: &mut Vec<Expr>,
    ) -> Result<Vec<TakenValue>> {
        let place = self.place;
        let table = target.table;
        let Some(primary) = table.primary else {
            return Err(lacks_key(table, "this change", place));
        };
        let depth = self.levels.len() - 1;
        let mut key = Vec::new();
        for column in &self.catalog.index(primary).columns {
            let column = self.slot_of_column(depth, 0, column.index())?;
            key.push(match self.fixed_for(&column, wanted, assigned) {
                Some(variable) => TakenValue::Fixed(variable),
                None => {
                    columns.push(column);
                    TakenValue::Column(columns.len() - 1)
                }
            });
        }
        if columns.is_empty() {
            columns.push(crate::typing::integer(0)); // a row needs one
        }
        Ok(key)
    }

    /// The variable that a column of a row has to be equal to; none: there is none whose values
    /// are all the column's, too.
    fn fixed_for(&self, column: &Expr, wanted: &Where, assigned: &[SlotId]) -> Option<Expr> {
        let bare = |expr: &Expr| match &expr.kind {
            ExprKind::Cast(inner) if inner.data_type().is_integer() => (**inner).clone(),
            _ => expr.clone(),
        };
        wanted.conditions.iter().find_map(|condition| {
            let ExprKind::Compare(CompareOp::Equal, a, b) = &condition.kind else { return None };
            let (a, b) = (bare(a), bare(b));
            let other = match (a == *column, b == *column) {
                (true, false) => b,
                (false, true) => a,
                _ => return None,
            };
            let ExprKind::Slot(slot) = other.kind else { return None };
            let fits = other.sql_type == column.sql_type
                || other.data_type().is_integer() && column.data_type().is_integer();
            (fits && self.is_fixed(slot, assigned)).then(|| cast(other, column.data_type()))
        })
    }

    /// Whether a value is the change's own: literals and parameters have the types of their
    /// columns, and go there by themselves; numbers of sequences are drawn for each row.
    pub(super) fn stays_in_change(&self, written: &ast::Expr) -> bool {
        is_default(written) || is_untyped(written) || self.draws_number(written)
    }

    /// Whether a value is the next number of a sequence, which the change of a procedure takes.
    fn draws_number(&self, written: &ast::Expr) -> bool {
        self.is_procedure
            && matches!(crate::written::bare(written), ast::Expr::Function(function)
                if crate::functions::takes_number(&crate::written::function_name(function)))
    }
}

/// Whether it is a literal or a parameter that has the type of what it is assigned to.
fn is_untyped(written: &ast::Expr) -> bool {
    match crate::written::bare(written) {
        ast::Expr::Value(value) => matches!(
            value.value,
            ast::Value::SingleQuotedString(_) | ast::Value::Null | ast::Value::Placeholder(_)
        ),
        _ => false,
    }
}

/// The values that an INSERT has written out: of its only row, or of its select list.
pub(crate) fn written_values(insert: &ast::Insert) -> Vec<&ast::Expr> {
    match insert.source.as_deref().map(|source| &*source.body) {
        Some(SetExpr::Values(values)) => values.rows.iter().flat_map(|row| &row.content).collect(),
        Some(SetExpr::Select(select)) => select.projection.iter().filter_map(written_in).collect(),
        _ => Vec::new(),
    }
}

fn written_in(item: &SelectItem) -> Option<&ast::Expr> {
    match item {
        SelectItem::UnnamedExpr(written) | SelectItem::ExprWithAlias { expr: written, .. } => {
            Some(written)
        }
        _ => None,
    }
}

/// Takes a value out of a select list, in which its place stays.
fn take_out(query: &mut ast::Query, at: usize) {
    let nothing = ast::Expr::Value(ast::Value::SingleQuotedString(String::new()).into());
    if let SetExpr::Select(select) = &mut *query.body {
        select.projection[at] = SelectItem::UnnamedExpr(nothing);
    }
}
