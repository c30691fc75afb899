//! Changes of rows for which triggers fire: row by row.
//!
//! Role         called by INSERT, UPDATE and DELETE, ON CONFLICT and foreign keys where the table
//!              has triggers for rows. A row is read, what fires before it may change it or leave
//!              it out, then it is changed by its primary key as it would be without triggers
//! Invariants   I1 rows are all found before the first one is changed
//!              I2 of a statement that finds its row by a key, each access has that key: a call
//!                 holds what it would hold without triggers, and what these touch
//!              I3 columns that nobody may have changed are not written: keys stay where they are

use hotrow_base::ids::ColumnId;
use hotrow_transaction::catalog::{Table, TriggerEvent};
use hotrow_transaction::program::{
    Consume, Effect, Expr, ExprKind, FOUND, Path, RowsTo, SlotId, Statement, StatementKind,
};
use hotrow_transaction::walk;
use sqlparser::ast;

use crate::change::Receiver;
use crate::error::Result;
use crate::fire::{Events, RowSlots};
use crate::generated::value_of;
use crate::key_change::Updated;
use crate::keyless::lacks_key;
use crate::scope::Compiler;
use crate::source::Source;
use crate::through::Target;
use crate::written::object_name;

/// A row of an INSERT that triggers fire for.
pub(crate) struct InsertedRow {
    pub(crate) rows: RowSlots,
    /// becomes true where it is left out
    pub(crate) skip: Option<SlotId>,
}

impl<'c> Compiler<'c> {
    /// What a statement changes, and how.
    pub(crate) fn events_of(&self, statement: &ast::Statement) -> Result<(Target<'c>, Events)> {
        Ok(match statement {
            ast::Statement::Insert(insert) => {
                let target = self.insert_target(insert, self.place)?;
                let events = self.events_of_insert(&target, insert.on.as_ref());
                (target, events)
            }
            ast::Statement::Update(update) => {
                let target = self.changed_table(&update.table, TriggerEvent::Update)?;
                let set = self.columns_set(&target, &update.assignments);
                (target, vec![(TriggerEvent::Update, set)])
            }
            ast::Statement::Delete(delete) => {
                let (ast::FromTable::WithFromKeyword(tables)
                | ast::FromTable::WithoutKeyword(tables)) = &delete.from;
                let [table] = tables.as_slice() else {
                    return Err(crate::error::syntax(self.place, "DELETE needs one table"));
                };
                let target = self.changed_table(table, TriggerEvent::Delete)?;
                (target, vec![(TriggerEvent::Delete, Vec::new())])
            }
            ast::Statement::Merge(merge) => {
                let target = self.merge_target(merge)?;
                let mut events: Events = Vec::new();
                for change in self.merge_changes(merge)?.iter().flatten() {
                    for (event, set) in self.events_of(change)?.1 {
                        match events.iter_mut().find(|(known, _)| *known == event) {
                            Some((_, known)) => known.extend(set),
                            None => events.push((event, set)),
                        }
                    }
                }
                (target, events)
            }
            _ => unreachable!("a change is one of these"),
        })
    }

    pub(crate) fn events_of_insert(
        &self,
        target: &Target<'_>,
        on: Option<&ast::OnInsert>,
    ) -> Events {
        let mut events = vec![(TriggerEvent::Insert, Vec::new())];
        if let Some(ast::OnInsert::OnConflict(conflict)) = on
            && let ast::OnConflictAction::DoUpdate(update) = &conflict.action
        {
            events.push((TriggerEvent::Update, self.columns_set(target, &update.assignments)));
        }
        events
    }

    /// The columns that SET names, as far as there are such.
    pub(crate) fn columns_set(
        &self,
        target: &Target<'_>,
        assignments: &[ast::Assignment],
    ) -> Vec<ColumnId> {
        let named = assignments.iter().flat_map(|assignment| match &assignment.target {
            ast::AssignmentTarget::ColumnName(name) => std::slice::from_ref(name).iter(),
            ast::AssignmentTarget::Tuple(names) => names.iter(),
        });
        let column = |name: &ast::ObjectName| target.column(&object_name(name, self.place).ok()?);
        named.filter_map(column).collect()
    }

    /// Has what fires before an INSERT see its row, and change it; none: nothing fires for it.
    pub(crate) fn begin_inserted(
        &mut self,
        out: &mut Vec<Statement>,
        table: &Table,
        values: &mut [Expr],
    ) -> Result<Option<InsertedRow>> {
        if !self.fires_for_rows(table.id, TriggerEvent::Insert, &[]) {
            return Ok(None);
        }
        let mut new = Vec::with_capacity(values.len());
        for (value, column) in values.iter_mut().zip(&table.columns) {
            let slot = self.temporary(&format!("new.{}", column.name), column.data_type)?;
            let given = std::mem::replace(value, self.slot_expr(slot));
            self.emit_assign(out, slot, given);
            new.push(slot);
        }
        // They are computed of what the triggers leave.
        let computed: Vec<_> = table.generated.iter().map(|of| new[of.column.index()]).collect();
        self.emit_nulls(out, &computed);
        let rows = RowSlots::new(Vec::new(), new);
        let event = (TriggerEvent::Insert, &[][..]);
        let skip = self.fire_before_row(out, table.id, event, &rows)?;
        Ok(Some(InsertedRow { rows, skip }))
    }

    /// Keeps the columns that are computed of a row that triggers fire for.
    pub(crate) fn keep_generated(
        &mut self,
        out: &mut Vec<Statement>,
        table: &Table,
        (rows, values): (&RowSlots, &mut [Expr]),
    ) {
        for generated in &table.generated {
            let at = generated.column.index();
            let value = std::mem::replace(&mut values[at], self.slot_expr(rows.new[at]));
            self.emit_assign(out, rows.new[at], value);
        }
    }

    /// What is done where an INSERT's row is left out.
    pub(crate) fn emit_left_out(
        &mut self,
        out: &mut Vec<Statement>,
        (skip, inserted): (SlotId, Vec<Statement>),
        into: Receiver<'_>,
        returning: bool,
    ) -> Result<()> {
        let mut left_out = Vec::new();
        self.emit_touched(&mut left_out, 0);
        if returning && let Some(into) = into {
            let targets = into.targets.iter();
            let slots: Vec<SlotId> = targets.flat_map(|to| self.target_slots(to)).collect();
            self.emit_nulls(&mut left_out, &slots);
            if into.strict {
                let message = "query returned no rows".to_owned();
                self.emit_raise(&mut left_out, b"P0002", message, None);
            }
        }
        let condition = self.slot_expr(skip);
        self.emit(out, StatementKind::If { condition, then: left_out, otherwise: inserted });
        Ok(())
    }

    /// Emits the loop over a statement's rows, or what is done with its only one (I2). Gives the
    /// path by which a row is changed, when its columns have these slots.
    fn each_row(
        &mut self,
        out: &mut Vec<Statement>,
        mut source: Source,
        (read, old): (Vec<Expr>, std::ops::Range<usize>),
        emit: impl FnOnce(&mut Self, &mut Vec<Statement>, &[SlotId], Path) -> Result<()>,
    ) -> Result<()> {
        let table = self.catalog.table(source.row.table);
        // A trigger for the whole statement may want its rows, too.
        let Some(primary) = table.primary else {
            return Err(lacks_key(table, "a change that a trigger wants the rows of,", self.place));
        };
        let is_one = matches!(source.path, Path::Point { .. });
        let mut held = None;
        if let Path::Point { index, key } = &mut source.path {
            for value in key.iter_mut() {
                self.held(out, value)?;
            }
            held = (*index == primary).then(|| source.path.clone());
        }
        let mut slots = Vec::with_capacity(read.len());
        for value in &read {
            slots.push(self.temporary("row", value.data_type())?);
        }
        let own = &slots[old];
        let key = self.catalog.index(primary).columns.iter();
        let key = key.map(|column| self.slot_expr(own[column.index()])).collect();
        let path = held.unwrap_or(Path::Point { index: primary, key });
        let mut body = Vec::new();
        if is_one {
            emit(self, &mut body, &slots, path)?;
            let into = slots.into_iter().zip(read).collect();
            let consume = Consume::First { into, strict: false, order_by: vec![], offset: None };
            let access = source.access(Effect::Read(consume));
            self.emit(out, StatementKind::Access(Box::new(access)));
            let condition = self.slot_expr(FOUND);
            self.emit(out, StatementKind::If { condition, then: body, otherwise: Vec::new() });
            return Ok(());
        }
        self.changes_many();
        self.in_loop(|this| emit(this, &mut body, &slots, path))?;
        let rows = self.row_set();
        let consume = Consume::all_rows(RowsTo::Loop(rows), read);
        let query = Box::new(self.access(source, Effect::Read(consume))?);
        self.emit(out, StatementKind::ForQuery { rows, query, into: slots, body });
        Ok(())
    }

    /// Reads all columns of a source's row.
    fn read_all(&mut self, source: &mut Source, table: &Table) -> Result<Vec<Expr>> {
        let columns = (0..table.columns.len()).map(|at| ColumnId(at as u16));
        columns.map(|column| self.bind_in(&mut source.row, column)).collect()
    }

    /// UPDATE of a table that has triggers for rows.
    pub(crate) fn update_with_triggers(
        &mut self,
        out: &mut Vec<Statement>,
        Updated { mut source, set, sure }: Updated<'_>,
        (returns, columns): (bool, Vec<(String, Expr)>),
        into: Receiver<'_>,
    ) -> Result<()> {
        let table = self.catalog.table(source.row.table);
        let mut sink = self.row_sink(out, returns, columns, into)?;
        let mut read = self.read_all(&mut source, table)?;
        let width = read.len();
        let named: Vec<ColumnId> = set.iter().map(|(column, _)| *column).collect();
        read.extend(set.into_iter().map(|(_, value)| value));
        let row = source.row.clone();
        let bound = row.bound.clone();
        self.each_row(out, source, (read, 0..width), |this, body, slots, path| {
            let old = slots[..width].to_vec();
            let mut new = Vec::with_capacity(width);
            for (column, own) in table.columns.iter().zip(&old) {
                let slot = this.temporary(&format!("new.{}", column.name), column.data_type)?;
                let at = new.len();
                let given = named.iter().position(|column| column.index() == at);
                let from = given.map_or(*own, |given| slots[width + given]);
                this.emit_assign(body, slot, this.slot_expr(from));
                new.push(slot);
            }
            let rows = RowSlots::new(old, new);
            let event = (TriggerEvent::Update, named.as_slice());
            let mut before = Vec::new();
            let skip = this.fire_before_row(&mut before, table.id, event, &rows)?;
            let changed = changed_columns(table, &named, &rows, &before);
            body.append(&mut before);
            let mut then = Vec::new();
            let set = this.new_values(&mut then, table, &rows, changed);
            let new = (rows.new.as_slice(), returns || this.has_read(table));
            this.check_new_row(&mut then, (table, TriggerEvent::Update), new)?;
            let change = Source { row: this.row_of(table.id, &table.name), path, filter: None };
            let updated = Updated { source: change, set, sure };
            this.update_untriggered(&mut then, updated, (false, Vec::new()), None)?;
            let mut behind = Vec::new();
            let shown: Vec<_> = bound
                .iter()
                .map(|(column, slot)| (*slot, this.slot_expr(rows.new[column.index()])))
                .collect();
            let shown: Vec<_> = shown.iter().map(|(slot, value)| (*slot, value)).collect();
            this.shown(&mut sink).for_each(|value| walk::substitute(value, &shown));
            this.emit_row(&mut behind, &sink)?;
            this.fire_behind_row(&mut behind, table.id, event, &rows)?;
            this.emit_if_found(&mut then, behind);
            this.emit_kept_in(body, skip, then);
            Ok(())
        })?;
        self.emit_rows_end(out, &sink);
        Ok(())
    }

    /// The columns that are set, and those that are computed of them, as the row has them.
    fn new_values(
        &mut self,
        out: &mut Vec<Statement>,
        table: &Table,
        rows: &RowSlots,
        mut changed: Vec<ColumnId>,
    ) -> Vec<(ColumnId, Expr)> {
        for generated in &table.generated {
            if changed.contains(&generated.column)
                || generated.columns.iter().any(|column| changed.contains(column))
            {
                let own = generated.columns.iter();
                let values: Vec<Expr> =
                    own.map(|column| self.slot_expr(rows.new[column.index()])).collect();
                let slot = rows.new[generated.column.index()];
                self.emit_assign(out, slot, value_of(generated, &values));
                changed.retain(|column| *column != generated.column);
                changed.push(generated.column);
            }
        }
        let value = |column: &ColumnId| (*column, self.slot_expr(rows.new[column.index()]));
        changed.iter().map(value).collect()
    }

    /// DELETE of a table that has triggers for rows.
    pub(crate) fn delete_with_triggers(
        &mut self,
        out: &mut Vec<Statement>,
        mut source: Source,
        (returns, columns): (bool, Vec<(String, Expr)>),
        into: Receiver<'_>,
    ) -> Result<()> {
        let table = self.catalog.table(source.row.table);
        let mut sink = self.row_sink(out, returns, columns, into)?;
        let read = self.read_all(&mut source, table)?;
        let (width, bound) = (read.len(), source.row.bound.clone());
        self.each_row(out, source, (read, 0..width), |this, body, slots, path| {
            let rows = RowSlots::new(slots.to_vec(), Vec::new());
            let event = (TriggerEvent::Delete, &[][..]);
            let skip = this.fire_before_row(body, table.id, event, &rows)?;
            let mut then = Vec::new();
            let change = Source { row: this.row_of(table.id, &table.name), path, filter: None };
            this.delete_untriggered(&mut then, change, (false, Vec::new()), None)?;
            let mut behind = Vec::new();
            let shown: Vec<_> = bound
                .iter()
                .map(|(column, slot)| (*slot, this.slot_expr(slots[column.index()])))
                .collect();
            let shown: Vec<_> = shown.iter().map(|(slot, value)| (*slot, value)).collect();
            this.shown(&mut sink).for_each(|value| walk::substitute(value, &shown));
            this.emit_row(&mut behind, &sink)?;
            this.fire_behind_row(&mut behind, table.id, event, &rows)?;
            this.emit_if_found(&mut then, behind);
            this.emit_kept_in(body, skip, then);
            Ok(())
        })?;
        self.emit_rows_end(out, &sink);
        Ok(())
    }

    fn emit_if_found(&self, out: &mut Vec<Statement>, then: Vec<Statement>) {
        let condition = self.slot_expr(FOUND);
        self.emit(out, StatementKind::If { condition, then, otherwise: Vec::new() });
    }

    /// Statements for a row that is not left out.
    fn emit_kept_in(
        &self,
        out: &mut Vec<Statement>,
        skip: Option<SlotId>,
        mut then: Vec<Statement>,
    ) {
        match skip {
            Some(skip) => self.emit_unless(out, skip, then),
            None => out.append(&mut then),
        }
    }
}

/// The columns that SET or what fires before may have changed (I3). `RETURN OLD` changes none.
fn changed_columns(
    table: &Table,
    named: &[ColumnId],
    rows: &RowSlots,
    before: &[Statement],
) -> Vec<ColumnId> {
    let mut changed = named.to_vec();
    let mut assigned = Vec::new();
    walk::statements(before, &mut |statement| match &statement.kind {
        StatementKind::Assign { slot, value } => {
            let at = rows.new.iter().position(|new| new == slot);
            let is_old = at.is_some_and(|at| value.kind == ExprKind::Slot(rows.old[at]));
            if !is_old {
                assigned.push(*slot);
            }
        }
        _ => walk::defines(statement, &mut |slot| assigned.push(slot)),
    });
    for (slot, at) in rows.new.iter().zip(0..table.columns.len()) {
        let column = ColumnId(at as u16);
        if assigned.contains(slot) && !changed.contains(&column) {
            changed.push(column);
        }
    }
    changed
}
