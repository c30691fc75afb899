//! INSERT, UPDATE and DELETE.

use hotrow_base::ids::ColumnId;
use hotrow_base::types::{DataType, SqlType};
use hotrow_transaction::catalog::TriggerEvent::Delete;
use hotrow_transaction::catalog::{Table, TriggerEvent};
use hotrow_transaction::outcome::SqlError;
use hotrow_transaction::program::{
    ArithmeticOp, CompareOp, Consume, Effect, Expr, ExprKind, FOUND, Place, ROW_COUNT, RowsTo,
    SlotId, Statement,
};
use sqlparser::ast::{self, SelectItem, SetExpr, TableFactor};

use crate::assignment::one_by_one;
use crate::consume::{Sink, no_values};
use crate::drawn::is_random;
use crate::error::{Advice, Result, error, place_in, syntax, unsupported};
use crate::generated::refuse_given_generated;
use crate::key_change::Updated;
use crate::path::conjuncts;
use crate::relation::FoundRow;
use crate::scope::Compiler;
use crate::source::Source;
use crate::state::Row;
use crate::syntax::Into;
use crate::through::{Target, is_computed};
use crate::token::folded;
use crate::typing::{bigint, null, packed};
use crate::written::{has_hints, object_name};

/// Who receives RETURNING: INTO's targets, or the result of an ad-hoc statement.
pub(crate) type Receiver<'i> = Option<&'i Into>;

impl<'c> Compiler<'c> {
    /// A slot that counts the rows of a statement made of several inserts.
    pub(crate) fn begin_count(&mut self, out: &mut Vec<Statement>) -> Result<SlotId> {
        let slot = self.temporary("inserted", DataType::BigInt)?;
        self.emit_assign(out, slot, bigint(0));
        Ok(slot)
    }

    /// What was counted so far and the last insert's rows.
    pub(crate) fn row_sum(&self, counted: SlotId) -> Expr {
        let operands = [counted, ROW_COUNT].map(|slot| Box::new(self.slot_expr(slot)));
        let [counted, last] = operands;
        let kind = ExprKind::Arithmetic(ArithmeticOp::Add, counted, last);
        Expr { kind, sql_type: SqlType::Scalar(DataType::BigInt) }
    }

    /// Makes the count the statement's.
    pub(crate) fn end_count(&self, out: &mut Vec<Statement>, counted: SlotId) {
        let count = self.slot_expr(counted);
        let none = Box::new(bigint(0));
        let kind = ExprKind::Compare(CompareOp::Greater, Box::new(count.clone()), none);
        let found = Expr { kind, sql_type: SqlType::Scalar(DataType::Boolean) };
        self.emit_assign(out, FOUND, found);
        self.emit_assign(out, ROW_COUNT, count);
    }

    /// A column that INSERT or SET names: without its table, which could be the column's own name.
    pub(crate) fn changed_column(
        &self,
        target: &Target<'_>,
        name: &ast::ObjectName,
        (change, place): (TriggerEvent, Place),
    ) -> Result<ColumnId> {
        if let [ast::ObjectNamePart::Identifier(first), _, ..] = name.0.as_slice() {
            let (first, of) = (folded(&first.value, first.quote_style.is_some()), target.name());
            let message = format!("column \"{first}\" of relation \"{of}\" does not exist");
            let hint = "SET and lists of columns name a column without its table";
            return Err(error(b"42703", place, message).hint(hint));
        }
        let name = object_name(name, place)?;
        if target.computes(&name) {
            return Err(is_computed(target.name(), &name, change, place));
        }
        self.target_column(target, &name, place)
    }

    /// A column of what is changed, by name.
    pub(crate) fn target_column(
        &self,
        target: &Target<'_>,
        name: &str,
        at: Place,
    ) -> Result<ColumnId> {
        target.column(name).ok_or_else(|| no_column(target.name(), name, at))
    }

    /// A column of a table by name.
    pub(crate) fn table_column(&self, table: &Table, name: &str, at: Place) -> Result<ColumnId> {
        table.column(name).ok_or_else(|| no_column(&table.name, name, at))
    }

    /// Where RETURNING goes.
    pub(crate) fn receiver(
        &mut self,
        into: Receiver<'_>,
        columns: &[(String, Expr)],
    ) -> Result<Sink> {
        match into {
            Some(_) => self.sink_of(into, columns),
            None if self.keeping.is_open() => Ok(Sink::Kept),
            None if self.ad_hoc || self.returns_rows => Ok(Sink::Result),
            None => Err(syntax(self.place, "query has no destination for result data")
                .hint("write RETURNING ... INTO variable")),
        }
    }

    /// UPDATE.
    pub(crate) fn update(
        &mut self,
        out: &mut Vec<Statement>,
        update: &ast::Update,
        found: Option<&FoundRow>,
        into: Receiver<'_>,
    ) -> Result<()> {
        let place = self.place;
        if !update.order_by.is_empty() || update.limit.is_some() || update.or.is_some() {
            return Err(syntax(place, "this form of UPDATE is not PostgreSQL's"));
        }
        let target = self.changed_table(&update.table, TriggerEvent::Update)?;
        if found.is_some() {
            return self.update_found(out, update, (&target, found), into);
        }
        let set = self.columns_set(&target, &update.assignments);
        let events = vec![(TriggerEvent::Update, set)];
        self.as_firing(out, (target.table.id, &events), true, |this, out| {
            this.update_found(out, update, (&target, None), into)
        })
    }

    fn update_found(
        &mut self,
        out: &mut Vec<Statement>,
        update: &ast::Update,
        (target, found): (&Target<'c>, Option<&FoundRow>),
        into: Receiver<'_>,
    ) -> Result<()> {
        let place = self.place;
        let ((mut set, columns), mut row) = self.with_row(self.target_row(target), |this| {
            let set = this.assignments(target, &update.assignments, (found, place))?;
            let beside = found.map_or(&[][..], |found| &found.beside);
            let returned = this
                .with_rows_beside(beside, |this| this.returning(update.returning.as_deref(), into));
            Ok((set, returned?))
        })?;
        self.set_generated(&mut row, &mut set)?;
        let wanted = self.wanted_rows((target, &mut row), update.selection.as_ref(), found)?;
        self.check_option(target, &mut row, &mut set)?;
        let chosen = self.choose(&row, wanted, &[], &set)?;
        let source = Source { row, path: chosen.path, filter: chosen.filter };
        let updated = Updated { source, set, sure: None };
        let returning = (update.returning.is_some(), columns);
        let by = self.by_of(target);
        self.as_by(by, |this| this.update_rows(out, updated, returning, into))
    }

    pub(crate) fn assignments(
        &mut self,
        target: &Target<'_>,
        assignments: &[ast::Assignment],
        (found, place): (Option<&FoundRow>, Place),
    ) -> Result<Vec<(ColumnId, Expr)>> {
        let table = target.table;
        let mut set: Vec<(ColumnId, Expr)> = Vec::new();
        for (at, (name, written)) in one_by_one(assignments, place)?.into_iter().enumerate() {
            let value = found.and_then(|found| found.value(at)).unwrap_or(written);
            let at = place_in(name, place);
            if let Some((column, of, fields)) = self.assigned_field(target, name, at)? {
                refuse_given_generated(table, column, false, at)?;
                let described = &table.columns[column.index()];
                let before = set.iter().position(|(other, _)| *other == column);
                let row = match before {
                    Some(before) => set.remove(before).1,
                    None => self.expr(&column_of_target(target, name))?,
                };
                let of_row = (row, of);
                let value = self.with_field(of_row, (&described.name, &fields), &value, at)?;
                set.push((column, value));
                continue;
            }
            let column = self.changed_column(target, name, (TriggerEvent::Update, at))?;
            if set.iter().any(|(other, _)| *other == column) {
                let name = object_name(name, at)?;
                let message = format!("multiple assignments to same column \"{name}\"");
                return Err(error(b"42601", at, message));
            }
            let described = &table.columns[column.index()];
            if !value.is_default() {
                self.refuse_given(described, false, at)?;
            }
            let is_computed = table.generated.iter().any(|computed| computed.column == column);
            if is_computed && value.is_default() {
                continue; // which it is in any case
            }
            refuse_given_generated(table, column, false, at)?;
            let value = if value.is_default() {
                if described.draws.is_some() {
                    let hint = "SET it to nextval('sequence')";
                    return Err(unsupported(at, "DEFAULT of a numbered column in UPDATE", hint));
                }
                if described.default.as_ref().is_some_and(is_random) {
                    let hint = "compute a value, and set the column to it";
                    return Err(unsupported(
                        at,
                        "a random DEFAULT, or current_user, in UPDATE",
                        hint,
                    ));
                }
                described.default.clone().unwrap_or_else(|| null(described.data_type))
            } else {
                self.column_value(table, column, &value)?
            };
            set.push((column, value));
        }
        Ok(set)
    }

    /// DELETE.
    pub(crate) fn delete(
        &mut self,
        out: &mut Vec<Statement>,
        delete: &ast::Delete,
        found: Option<&FoundRow>,
        into: Receiver<'_>,
    ) -> Result<()> {
        let place = self.place;
        let is_other = !delete.tables.is_empty() || !delete.order_by.is_empty();
        if is_other || delete.limit.is_some() {
            return Err(syntax(place, "DELETE with ORDER BY or LIMIT is not PostgreSQL's")
                .hint("write a FOR loop over SELECT ... ORDER BY ... LIMIT and DELETE by key"));
        }
        let (ast::FromTable::WithFromKeyword(tables) | ast::FromTable::WithoutKeyword(tables)) =
            &delete.from;
        let [table] = tables.as_slice() else {
            return Err(syntax(place, "DELETE needs one table"));
        };
        let target = self.changed_table(table, Delete)?;
        let id = target.table.id;
        let found_row = |this: &mut Self, out: &mut Vec<Statement>| {
            this.delete_found(out, delete, (&target, found), into)
        };
        match found {
            Some(_) => found_row(self, out),
            None => self.as_firing(out, (id, &vec![(Delete, Vec::new())]), true, found_row),
        }
    }

    fn delete_found(
        &mut self,
        out: &mut Vec<Statement>,
        delete: &ast::Delete,
        (target, found): (&Target<'c>, Option<&FoundRow>),
        into: Receiver<'_>,
    ) -> Result<()> {
        let (columns, mut row) = self.with_row(self.target_row(target), |this| {
            let beside = found.map_or(&[][..], |found| &found.beside);
            this.with_rows_beside(beside, |this| this.returning(delete.returning.as_deref(), into))
        })?;
        let wanted = self.wanted_rows((target, &mut row), delete.selection.as_ref(), found)?;
        let chosen = self.choose(&row, wanted, &[], &[])?;
        let source = Source { row, path: chosen.path, filter: chosen.filter };
        let returning = (delete.returning.is_some(), columns);
        match self.fires_for_rows(target.table.id, Delete, &[]) {
            true => self.delete_with_triggers(out, source, returning, into),
            false => self.delete_untriggered(out, source, returning, into),
        }
    }

    /// DELETE of the rows of a source, for which no trigger fires any more.
    pub(crate) fn delete_untriggered(
        &mut self,
        out: &mut Vec<Statement>,
        mut source: Source,
        (returns, columns): (bool, Vec<(String, Expr)>),
        into: Receiver<'_>,
    ) -> Result<()> {
        let table = self.catalog.table(source.row.table);
        if self.keys_to(table.id).iter().any(|key| key.on_delete.changes_children()) {
            return self.delete_with_children(out, source, (returns, columns), into);
        }
        self.check_children_of_delete(out, table, &mut source)?;
        let make = |consume| Effect::Delete { consume };
        self.change(out, source, make, returns, columns, into)
    }

    /// Conditions on the rows that are changed: WHERE, or the key of the one that was found.
    fn wanted_rows(
        &mut self,
        (target, row): (&Target<'_>, &mut Row),
        selection: Option<&ast::Expr>,
        found: Option<&FoundRow>,
    ) -> Result<Vec<Expr>> {
        if let (Some(found), Some(primary)) = (found, self.catalog.table(row.table).primary) {
            return self.key_conditions(row, primary, &found.key);
        }
        let (condition, bound) = self.with_row(row.clone(), |this| this.condition_of(selection))?;
        *row = bound;
        let mut wanted = self.narrowing_conditions(target, row)?;
        wanted.extend(conjuncts(condition));
        Ok(wanted)
    }

    pub(crate) fn returning(
        &mut self,
        items: Option<&[SelectItem]>,
        into: Receiver<'_>,
    ) -> Result<Vec<(String, Expr)>> {
        match items {
            Some(items) => self.returned_columns(items),
            None if into.is_some() => Err(no_values(self.place)),
            None => Ok(Vec::new()),
        }
    }

    /// RETURNING: values that a program has.
    pub(crate) fn returned_columns(&mut self, items: &[SelectItem]) -> Result<Vec<(String, Expr)>> {
        let columns = self.listed_columns(items)?;
        Ok(columns.into_iter().map(|(name, value)| (name, packed(value))).collect())
    }

    /// The table, or the view, that UPDATE or DELETE names.
    pub(crate) fn changed_table(
        &self,
        written: &ast::TableWithJoins,
        change: TriggerEvent,
    ) -> Result<Target<'c>> {
        let place = place_in(written, self.place);
        if !written.joins.is_empty() {
            return Err(syntax(place, "one table is changed, and not a join"));
        }
        match &written.relation {
            hinted if has_hints(hinted) => {
                Err(syntax(place, "hints of a table are not PostgreSQL's"))
            }
            TableFactor::Table { name, alias, args: None, sample: None, .. } => {
                self.target(&object_name(name, place)?, alias.as_ref(), change, place)
            }
            _ => Err(syntax(place, "a table is changed, and nothing else")),
        }
    }

    /// WHERE.
    pub(crate) fn condition_of(&mut self, written: Option<&ast::Expr>) -> Result<Option<Expr>> {
        written.map(|written| self.condition(written, "WHERE")).transpose()
    }

    /// Emits an UPDATE or DELETE with what RETURNING asks for.
    pub(crate) fn change(
        &mut self,
        out: &mut Vec<Statement>,
        source: Source,
        make: impl FnOnce(Consume) -> Effect,
        returns: bool,
        columns: Vec<(String, Expr)>,
        into: Receiver<'_>,
    ) -> Result<()> {
        let consume = if !returns {
            Consume::Discard
        } else {
            match self.receiver(into, &columns)? {
                Sink::Discard => Consume::Discard,
                Sink::Slots { slots, strict } => Consume::First {
                    into: self.fitted(&slots, &columns)?,
                    strict,
                    order_by: Vec::new(),
                    offset: None,
                },
                Sink::Result => Consume::all_rows(RowsTo::Result, self.result_values(&columns)?),
                Sink::Kept => {
                    let rows = self.row_set();
                    let values = columns.iter().map(|(_, value)| value.clone()).collect();
                    let consume = Consume::all_rows(RowsTo::Loop(rows), values);
                    let begin = out.len();
                    self.emit_change(out, source, make(consume))?;
                    return self.keep_changed_rows(&mut out[begin..], rows, &columns);
                }
            }
        };
        self.emit_change(out, source, make(consume))
    }

    /// A value that can be read twice: a slot or a constant as it is, anything else by way of a
    /// temporary that is assigned now.
    pub(crate) fn held(&mut self, out: &mut Vec<Statement>, value: &mut Expr) -> Result<()> {
        if !matches!(value.kind, ExprKind::Slot(_) | ExprKind::Constant(_)) {
            let slot: SlotId = self.temporary("key", value.data_type())?;
            let computed = std::mem::replace(value, self.slot_expr(slot));
            self.emit_assign(out, slot, computed);
        }
        Ok(())
    }
}

fn no_column(of: &str, name: &str, at: Place) -> SqlError {
    error(b"42703", at, format!("column \"{name}\" of relation \"{of}\" does not exist"))
}

/// Whether the rows of a change are those of a query that it has.
pub(crate) fn is_of_query(statement: &ast::Statement) -> bool {
    match statement {
        ast::Statement::Insert(insert) => insert
            .source
            .as_deref()
            .is_some_and(|query| !matches!(&*query.body, SetExpr::Values(_))),
        ast::Statement::Update(update) => update.from.is_some(),
        ast::Statement::Delete(delete) => delete.using.is_some(),
        ast::Statement::Merge(_) => true,
        _ => false,
    }
}

/// The column of what is changed whose field an assignment names, as it is before.
fn column_of_target(target: &Target<'_>, assigned: &ast::ObjectName) -> ast::Expr {
    let column = assigned.0.first().and_then(|part| part.as_ident()).cloned();
    let alias = ast::Ident::with_quote('"', &target.alias);
    ast::Expr::CompoundIdentifier([Some(alias), column].into_iter().flatten().collect())
}
