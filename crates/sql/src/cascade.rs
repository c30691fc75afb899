//! ON DELETE: what a DELETE does to the rows that refer to those that it removes.
//!
//! Role         called by DELETE. The rows go first, as in PostgreSQL; then, row by row, a
//!              statement for the children of each key, which is compiled as one that a procedure
//!              had written: plans know it, and every engine runs it
//! Invariants   I1 children of children are statements in its body. Where a table is reached from
//!              itself, its rows join the loop that is running: they are met once, so it ends
//!              I2 children are changed before it is asked whether others are left: those that have
//!              others go last

use hotrow_base::ids::{ColumnId, TableId};
use hotrow_base::types::DataType;
use hotrow_transaction::catalog::{ForeignKey, ReferentialAction, Table, TriggerEvent};
use hotrow_transaction::program::{
    CompareOp, Consume, Effect, Expr, ExprKind, Path, ROW_COUNT, RowsTo, SlotId, Statement,
    StatementKind,
};

use crate::change::Receiver;
use crate::consume::Sink;
use crate::drawn::is_random;
use crate::error::{Result, unsupported};
use crate::foreign_key::key_of;
use crate::key_change::Updated;
use crate::scope::Compiler;
use crate::source::Source;
use crate::state::Deleting;
use crate::typing::{bigint, cast, null, scalar};

/// RETURNING of a statement that goes row by row.
pub(crate) struct RowSink {
    sink: Sink,
    columns: Vec<(String, Expr)>,
    /// rows so far
    count: SlotId,
}

impl<'c> Compiler<'c> {
    /// The foreign keys that refer to a table, those with something to do first.
    pub(crate) fn keys_to(&self, parent: TableId) -> Vec<&'c ForeignKey> {
        let catalog = self.catalog;
        let tables = catalog.tables().iter();
        let keys = tables.flat_map(|table| &table.foreign_keys);
        keys.filter(|key| key.parent == parent).collect()
    }

    /// The tables whose rows a DELETE takes along with a key's children.
    fn tables_behind(&self, key: &ForeignKey) -> Vec<TableId> {
        let mut found = vec![key.child];
        let mut at = 0;
        while key.on_delete == ReferentialAction::Cascade && at < found.len() {
            for next in self.keys_to(found[at]) {
                if next.on_delete == ReferentialAction::Cascade && !found.contains(&next.child) {
                    found.push(next.child);
                }
            }
            at += 1;
        }
        found
    }

    /// In the order in which a DELETE looks at them (I2).
    fn keys_by_turn(&self, parent: TableId) -> Vec<&'c ForeignKey> {
        let (mut left, checked): (Vec<_>, Vec<_>) =
            self.keys_to(parent).into_iter().partition(|key| key.on_delete.changes_children());
        let mut ordered = Vec::with_capacity(left.len() + checked.len());
        while !left.is_empty() {
            let is_referred_to = |key: &ForeignKey| {
                let own = self.tables_behind(key);
                let others = left.iter().filter(|other| other.child != key.child);
                let mut others = others.flat_map(|other| self.tables_behind(other));
                others.any(|id| {
                    let mut keys = self.catalog.table(id).foreign_keys.iter();
                    !own.contains(&id) && keys.any(|key| own.contains(&key.parent))
                })
            };
            let next = left.iter().position(|key| !is_referred_to(key)).unwrap_or(0);
            ordered.push(left.remove(next));
        }
        ordered.extend(checked);
        ordered
    }

    /// The columns of a table that foreign keys refer to.
    pub(crate) fn referenced_columns(&self, keys: &[&ForeignKey]) -> Vec<ColumnId> {
        let mut columns = Vec::new();
        for key in keys {
            for column in &self.catalog.index(key.parent_index).columns {
                if !columns.contains(column) {
                    columns.push(*column);
                }
            }
        }
        columns
    }

    /// A DELETE whose rows have children that change with them.
    pub(crate) fn delete_with_children(
        &mut self,
        out: &mut Vec<Statement>,
        mut source: Source,
        (returns, columns): (bool, Vec<(String, Expr)>),
        into: Receiver<'_>,
    ) -> Result<()> {
        let table = self.catalog.table(source.row.table);
        let keys = self.keys_to(table.id);
        if let Path::Point { index, key } = &mut source.path
            && source.filter.is_none()
            && keys.iter().all(|key| key.parent_index == *index)
        {
            // The referenced values are the key itself.
            let referenced = self.catalog.index(*index).columns.iter().copied();
            let referenced: Vec<_> = referenced.collect();
            let mut values = Vec::new();
            for (value, column) in key.iter_mut().zip(&referenced) {
                let data_type = table.columns[column.index()].data_type;
                let slot = self.temporary("key", data_type)?;
                self.emit_assign(out, slot, key_of(value.clone(), data_type));
                *value = self.slot_expr(slot);
                values.push((*column, self.slot_expr(slot)));
            }
            self.change(out, source, |consume| Effect::Delete { consume }, returns, columns, into)?;
            let count = self.begin_count(out)?;
            self.emit_assign(out, count, self.slot_expr(ROW_COUNT));
            self.children_of_deleted(out, table, &values)?;
            self.end_count(out, count);
            return Ok(());
        }
        let mut sink = self.row_sink(out, returns, columns, into)?;
        let mut shown: Vec<Expr> = sink.columns.iter().map(|(_, value)| value.clone()).collect();
        let mut slots = Vec::new();
        for value in &shown {
            slots.push(self.temporary("returned", value.data_type())?);
        }
        for ((_, value), slot) in sink.columns.iter_mut().zip(&slots) {
            *value = self.slot_expr(*slot);
        }
        let (values, read, mut into) = self.read_referenced(&mut source, &keys)?;
        shown.splice(0..0, read);
        into.extend(slots);
        let rows = self.row_set();
        let effect = Effect::Delete { consume: Consume::all_rows(RowsTo::Loop(rows), shown) };
        let query = Box::new(self.access(source, effect)?);
        let mut body = Vec::new();
        self.emit_row(&mut body, &sink)?;
        self.children_of_deleted(&mut body, table, &values)?;
        self.emit(out, StatementKind::ForQuery { rows, query, into, body });
        self.emit_rows_end(out, &sink);
        Ok(())
    }

    /// Reads the referenced columns of a statement's rows: the values by column, what is read, and
    /// the slots, one behind the other, that a loop puts it into.
    #[expect(clippy::type_complexity, reason = "three lists of one length")]
    fn read_referenced(
        &mut self,
        source: &mut Source,
        keys: &[&ForeignKey],
    ) -> Result<(Vec<(ColumnId, Expr)>, Vec<Expr>, Vec<SlotId>)> {
        let columns = self.referenced_columns(keys);
        let mut read = Vec::new();
        for column in &columns {
            read.push(self.bind_in(&mut source.row, *column)?);
        }
        let mut slots = Vec::new();
        for value in &read {
            slots.push(self.temporary("deleted", value.data_type())?);
        }
        let values = slots.iter().map(|slot| self.slot_expr(*slot));
        Ok((columns.into_iter().zip(values).collect(), read, slots))
    }

    /// What happens to the children of one deleted row.
    fn children_of_deleted(
        &mut self,
        out: &mut Vec<Statement>,
        table: &Table,
        values: &[(ColumnId, Expr)],
    ) -> Result<()> {
        for key in self.keys_by_turn(table.id) {
            let of = self.key_values(key, values);
            if !key.on_delete.changes_children() {
                self.check_child(out, table, (key, key.on_delete), &of)?;
                continue;
            }
            let mut changes = Vec::new();
            if key.on_delete == ReferentialAction::Cascade {
                self.delete_children(&mut changes, key, &of)?;
            } else {
                self.set_children(&mut changes, (key, key.on_delete), &of, &[])?;
            }
            self.where_present(out, key, &of, changes);
        }
        Ok(())
    }

    /// The values of a key, in its order.
    pub(crate) fn key_values(&self, key: &ForeignKey, values: &[(ColumnId, Expr)]) -> Vec<Expr> {
        let columns = self.catalog.index(key.parent_index).columns.iter();
        let of = |column: &ColumnId| values.iter().find(|(of, _)| of == column);
        columns.filter_map(of).map(|(_, value)| value.clone()).collect()
    }

    /// Does something about children only where the parent's key has no NULL.
    pub(crate) fn where_present(
        &self,
        out: &mut Vec<Statement>,
        key: &ForeignKey,
        values: &[Expr],
        mut changes: Vec<Statement>,
    ) {
        let parent = self.catalog.table(key.parent);
        let columns = &self.catalog.index(key.parent_index).columns;
        if columns.iter().any(|column| parent.columns[column.index()].nullable) {
            self.guarded(out, values, changes);
        } else {
            out.append(&mut changes);
        }
    }

    fn delete_children(
        &mut self,
        out: &mut Vec<Statement>,
        key: &ForeignKey,
        values: &[Expr],
    ) -> Result<()> {
        let events = vec![(TriggerEvent::Delete, Vec::new())];
        self.as_foreign_keys(|this| {
            this.as_firing(out, (key.child, &events), true, |this, out| {
                let source = this.children(key, values)?;
                match this.fires_for_rows(key.child, TriggerEvent::Delete, &[]) {
                    true => this.delete_triggered_children(out, key, source),
                    false => this.delete_found_children(out, key, source),
                }
            })
        })
    }

    /// Children for which triggers fire go one by one, each with its own children.
    fn delete_triggered_children(
        &mut self,
        out: &mut Vec<Statement>,
        key: &ForeignKey,
        source: Source,
    ) -> Result<()> {
        if self.cascading.contains(&key.child) {
            return Err(unsupported(
                self.place,
                format!(
                    "ON DELETE CASCADE of table \"{}\", which refers to itself and has triggers \
                     for rows,",
                    self.catalog.table(key.child).name
                ),
                "have a trigger AFTER DELETE delete the children, or DISABLE TRIGGER",
            ));
        }
        self.cascading.push(key.child);
        let deleted = self.delete_with_triggers(out, source, (false, Vec::new()), None);
        self.cascading.pop();
        deleted
    }

    fn delete_found_children(
        &mut self,
        out: &mut Vec<Statement>,
        key: &ForeignKey,
        mut source: Source,
    ) -> Result<()> {
        let keys = self.keys_to(key.child);
        if keys.is_empty() {
            return self.emit_change(out, source, Effect::Delete { consume: Consume::Discard });
        }
        let running = self.deleting.iter().find(|running| running.table == key.child);
        if let Some(Deleting { rows, into, .. }) = running {
            let to = RowsTo::More { rows: *rows, into: *into };
            let mut columns = Vec::new();
            for column in self.referenced_columns(&keys) {
                columns.push(self.bind_in(&mut source.row, column)?);
            }
            let mut consume = Consume::all_rows(to, columns);
            if let Consume::Rows { distinct, .. } = &mut consume {
                *distinct = true;
            }
            return self.emit_change(out, source, Effect::Delete { consume });
        }
        let (values, read, into) = self.read_referenced(&mut source, &keys)?;
        let rows = self.row_set();
        let effect = Effect::Delete { consume: Consume::all_rows(RowsTo::Loop(rows), read) };
        let query = Box::new(self.access(source, effect)?);
        let mut body = Vec::new();
        self.deleting.push(Deleting { table: key.child, rows, into: into[0] });
        let compiled = self.children_of_deleted(&mut body, self.catalog.table(key.child), &values);
        self.deleting.pop();
        compiled?;
        self.emit(out, StatementKind::ForQuery { rows, query, into, body });
        Ok(())
    }

    /// Changes the referencing columns of a key's children: to `new` values, NULL or defaults.
    pub(crate) fn set_children(
        &mut self,
        out: &mut Vec<Statement>,
        (key, action): (&ForeignKey, ReferentialAction),
        values: &[Expr],
        new: &[Expr],
    ) -> Result<()> {
        let child = self.catalog.table(key.child);
        let source = self.children(key, values)?;
        let is_drawn = |column: &ColumnId| {
            let column = &child.columns[column.index()];
            column.draws.is_some() || column.default.as_ref().is_some_and(is_random)
        };
        if action == ReferentialAction::SetDefault && key.child_columns.iter().any(is_drawn) {
            return Err(unsupported(
                self.place,
                format!("SET DEFAULT of a drawn value, as foreign key \"{}\" says,", key.name),
                "give the column a constant for its default",
            ));
        }
        let set = key.child_columns.iter().enumerate().map(|(at, column)| {
            let described = &child.columns[column.index()];
            let nothing = null(described.data_type);
            let value = match action {
                ReferentialAction::Cascade => cast(new[at].clone(), described.data_type),
                ReferentialAction::SetDefault => described.default.clone().unwrap_or(nothing),
                _ => nothing,
            };
            (*column, value)
        });
        let sure = (action == ReferentialAction::Cascade).then_some(key.name.as_str());
        let updated = Updated { source, set: set.collect(), sure };
        let events = vec![(TriggerEvent::Update, key.child_columns.clone())];
        self.as_foreign_keys(|this| {
            this.as_firing(out, (key.child, &events), true, |this, out| {
                this.update_rows(out, updated, (false, Vec::new()), None)
            })
        })
    }

    /// Prepares RETURNING.
    pub(crate) fn row_sink(
        &mut self,
        out: &mut Vec<Statement>,
        returns: bool,
        columns: Vec<(String, Expr)>,
        into: Receiver<'_>,
    ) -> Result<RowSink> {
        let sink = if returns { self.receiver(into, &columns)? } else { Sink::Discard };
        let columns = if returns { columns } else { Vec::new() };
        Ok(RowSink { sink, columns, count: self.begin_count(out)? })
    }

    /// The values that RETURNING shows, to be read from other slots than they were compiled for.
    pub(crate) fn shown<'s>(
        &self,
        sink: &'s mut RowSink,
    ) -> impl Iterator<Item = &'s mut Expr> + use<'s> {
        sink.columns.iter_mut().map(|(_, value)| value)
    }

    /// Counts and shows a row.
    pub(crate) fn emit_row(&mut self, out: &mut Vec<Statement>, to: &RowSink) -> Result<()> {
        let one = Box::new(bigint(1));
        let count = Box::new(self.slot_expr(to.count));
        let add = hotrow_transaction::program::ArithmeticOp::Add;
        let next = scalar(ExprKind::Arithmetic(add, count, one), DataType::BigInt);
        self.emit_assign(out, to.count, next);
        match &to.sink {
            Sink::Discard => {}
            Sink::Result => self.emit_result_row(out, &to.columns)?,
            Sink::Kept => self.emit_kept_row(out, &to.columns)?,
            Sink::Slots { slots, .. } => {
                let mut then = Vec::new();
                let message = "query returned more than one row".to_owned();
                self.emit_raise(&mut then, b"P0003", message, None);
                let condition = self.counted(to, CompareOp::Greater, 1);
                self.emit(out, StatementKind::If { condition, then, otherwise: Vec::new() });
                let pairs = self.fitted(slots, &to.columns)?;
                self.emit_assigns(out, pairs)?;
            }
        }
        Ok(())
    }

    /// The end of a statement that went row by row.
    pub(crate) fn emit_rows_end(&mut self, out: &mut Vec<Statement>, to: &RowSink) {
        if let Sink::Slots { slots, strict } = &to.sink {
            let mut then = Vec::new();
            self.emit_nulls(&mut then, slots);
            if *strict {
                let message = "query returned no rows".to_owned();
                self.emit_raise(&mut then, b"P0002", message, None);
            }
            let condition = self.counted(to, CompareOp::Equal, 0);
            self.emit(out, StatementKind::If { condition, then, otherwise: Vec::new() });
        }
        self.end_count(out, to.count);
    }

    fn counted(&self, to: &RowSink, op: CompareOp, rows: i64) -> Expr {
        let sides = (Box::new(self.slot_expr(to.count)), Box::new(bigint(rows)));
        scalar(ExprKind::Compare(op, sides.0, sides.1), DataType::Boolean)
    }
}
