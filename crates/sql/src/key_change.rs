//! UPDATE, and what it does where it changes keys: of the rows, and those that others refer to.
//!
//! Role         called by UPDATE, ON CONFLICT DO UPDATE and what foreign keys do to children
//! Invariants   I1 where no key changes, it is one access
//!              I2 else the rows are found first and changed one by one, in an order that the
//!              contents decide: an index has each change before the next, as in PostgreSQL, so two
//!              rows cannot change places (23505)
//!              I3 a row with another primary key is removed and inserted: engines keep records by
//!              their keys
//!              I4 children follow their parent at once; where they would change what they are
//!              found by, it is refused

use hotrow_base::ids::ColumnId;
use hotrow_base::types::DataType;
use hotrow_base::value::Value;
use hotrow_transaction::catalog::{ForeignKey, Table, TriggerEvent};
use hotrow_transaction::program::{
    Consume, Effect, Expr, ExprKind, FOUND, Insert, Path, RowsTo, SlotId, Statement, StatementKind,
};
use hotrow_transaction::walk;

use crate::change::Receiver;
use crate::comparison::negated;
use crate::error::{Result, unsupported};
use crate::scope::Compiler;
use crate::source::Source;
use crate::typing::{joined, scalar};

/// An UPDATE.
pub(crate) struct Updated<'a> {
    pub(crate) source: Source,
    pub(crate) set: Vec<(ColumnId, Expr)>,
    /// a foreign key whose parent is known to be there
    pub(crate) sure: Option<&'a str>,
}

/// A row of which some columns change.
struct Changed<'a> {
    table: &'a Table,
    old: Vec<(ColumnId, Expr)>,
    new: Vec<(ColumnId, Expr)>,
}

impl Changed<'_> {
    fn before(&self, column: ColumnId) -> Option<&Expr> {
        self.old.iter().find(|(of, _)| *of == column).map(|(_, value)| value)
    }

    fn after(&self, column: ColumnId) -> Option<&Expr> {
        let new = self.new.iter().find(|(of, _)| *of == column).map(|(_, value)| value);
        new.or_else(|| self.before(column))
    }
}

impl<'c> Compiler<'c> {
    /// UPDATE of the rows of a source.
    pub(crate) fn update_rows(
        &mut self,
        out: &mut Vec<Statement>,
        updated: Updated<'_>,
        (returns, columns): (bool, Vec<(String, Expr)>),
        into: Receiver<'_>,
    ) -> Result<()> {
        let table = updated.source.row.table;
        let set: Vec<ColumnId> = updated.set.iter().map(|(column, _)| *column).collect();
        match self.fires_for_rows(table, TriggerEvent::Update, &set) {
            true => self.update_with_triggers(out, updated, (returns, columns), into),
            false => self.update_untriggered(out, updated, (returns, columns), into),
        }
    }

    /// UPDATE of the rows of a source, for which no trigger fires any more.
    pub(crate) fn update_untriggered(
        &mut self,
        out: &mut Vec<Statement>,
        mut updated: Updated<'_>,
        (returns, columns): (bool, Vec<(String, Expr)>),
        into: Receiver<'_>,
    ) -> Result<()> {
        let table = self.catalog.table(updated.source.row.table);
        self.set_generated(&mut updated.source.row, &mut updated.set)?;
        let is_set = |column: &ColumnId| updated.set.iter().any(|(of, _)| of == column);
        let moves = |id| self.catalog.index(id).columns.iter().any(is_set);
        let keys = self.keys_to(table.id);
        let followed: Vec<_> = keys.into_iter().filter(|key| moves(key.parent_index)).collect();
        let moved = table.primary.is_some_and(moves);
        let changes_keys = moved || !followed.is_empty();
        if !changes_keys && !self.checks_by_row(table, &updated) {
            let Updated { source, set, sure } = updated;
            let (set, late) = self.check_update(out, table, &source.row, (set, sure))?;
            let make = |consume| Effect::Update { set, consume };
            self.change(out, source, make, returns, columns, into)?;
            return self.emit_late_checks(out, late);
        }
        if !changes_keys {
            let rows = (false, followed.as_slice());
            return self.update_by_row(out, updated, rows, (returns, columns), into);
        }
        if self.changing.contains(&table.id) {
            return Err(unsupported(
                self.place,
                format!("an UPDATE of keys of table \"{}\" that comes back to it", table.name),
                "INSERT new rows, move the children, DELETE the old rows",
            ));
        }
        self.changing.push(table.id);
        let compiled =
            self.update_by_row(out, updated, (moved, &followed), (returns, columns), into);
        self.changing.pop();
        compiled
    }

    /// Whether what is to be looked for differs from row to row.
    fn checks_by_row(&self, table: &'c Table, updated: &Updated<'_>) -> bool {
        let Updated { source, set, sure } = updated;
        let checked = self.checked_behind(table);
        checked.iter().filter(|of| *sure != Some(of.name())).any(|checked| {
            let new = |column: &ColumnId| set.iter().find(|(of, _)| of == column);
            let values: Vec<_> = checked.columns().iter().filter_map(new).collect();
            let is_null = |value: &Expr| matches!(value.kind, ExprKind::Constant(Value::Null));
            let is_part = !values.is_empty() && values.len() < checked.columns().len();
            let is_nothing = values.iter().any(|(_, value)| is_null(value));
            let reads = values.iter().any(|(_, value)| source.row.is_read_by(value));
            (is_part || reads) && !is_nothing && table.primary.is_some()
        })
    }

    fn update_by_row(
        &mut self,
        out: &mut Vec<Statement>,
        Updated { mut source, set, sure }: Updated<'_>,
        (moved, followed): (bool, &[&ForeignKey]),
        (returns, columns): (bool, Vec<(String, Expr)>),
        into: Receiver<'_>,
    ) -> Result<()> {
        let table = self.catalog.table(source.row.table);
        let primary = table.primary.expect("a table with keys has a primary key");
        let key = &self.catalog.index(primary).columns;
        let mut sink = self.row_sink(out, returns, columns, into)?;
        let mut read: Vec<Expr> = set.iter().map(|(_, value)| value.clone()).collect();
        let mut old_columns = key.clone();
        if !moved {
            old_columns.extend((0..table.columns.len()).map(|at| ColumnId(at as u16)));
            let mut seen = Vec::new();
            let is_needed = |column: &ColumnId| {
                let checked = self.checked_behind(table);
                let of_key = checked.iter().any(|of| of.columns().contains(column));
                let new = !seen.contains(column);
                seen.push(*column);
                new && (key.contains(column)
                    || of_key
                    || returns
                    || is_followed(self, followed, column))
            };
            old_columns.retain(is_needed);
        }
        for column in &old_columns {
            read.push(self.bind_in(&mut source.row, *column)?);
        }
        let mut slots = Vec::new();
        for value in &read {
            slots.push(self.temporary("row", value.data_type())?);
        }
        let row = source.row.clone();
        let rows = self.row_set();
        let consume = Consume::all_rows(RowsTo::Loop(rows), read);
        let query = Box::new(self.access(source, Effect::Read(consume))?);
        let of = |slots: &[SlotId], columns: &mut dyn Iterator<Item = ColumnId>| {
            columns.zip(slots).map(|(column, slot)| (column, self.slot_expr(*slot))).collect()
        };
        let new: Vec<_> = of(&slots[..set.len()], &mut set.iter().map(|(column, _)| *column));
        let old: Vec<_> = of(&slots[set.len()..], &mut old_columns.iter().copied());
        let path = Path::Point {
            index: primary,
            key: old[..key.len()].iter().map(|o| o.1.clone()).collect(),
        };
        let mut changed = Changed { table, old, new };
        let mut body = Vec::new();
        let mut then = Vec::new();
        if moved {
            self.emit_removal(&mut body, &mut changed, path)?;
            let values = (0..table.columns.len()).map(|at| {
                let value = changed.after(ColumnId(at as u16));
                value.expect("all columns were read").clone()
            });
            let (values, returning) = (values.collect(), Vec::new());
            let insert = Insert { table: table.id, values, returning, ignore_conflict: false };
            self.emit(&mut then, StatementKind::Insert(Box::new(insert)));
        } else {
            let set = changed.new.clone();
            let effect = Effect::Update { set, consume: Consume::Discard };
            let change = Source { row: self.row_of(table.id, &table.name), path, filter: None };
            self.emit(&mut body, StatementKind::Access(Box::new(change.access(effect))));
        }
        self.check_row(&mut then, &changed, sure);
        for key in followed {
            self.follow(&mut then, &changed, key)?;
        }
        let bound = row.bound.iter();
        let shown = bound.filter_map(|(column, slot)| Some((*slot, changed.after(*column)?)));
        let shown: Vec<_> = shown.collect();
        self.shown(&mut sink).for_each(|value| walk::substitute(value, &shown));
        self.emit_row(&mut then, &sink)?;
        let condition = self.slot_expr(FOUND);
        self.emit(&mut body, StatementKind::If { condition, then, otherwise: Vec::new() });
        self.emit(out, StatementKind::ForQuery { rows, query, into: slots, body });
        self.emit_rows_end(out, &sink);
        Ok(())
    }

    /// Removes a row by its key; all it had is old then.
    fn emit_removal(
        &mut self,
        out: &mut Vec<Statement>,
        changed: &mut Changed<'_>,
        path: Path,
    ) -> Result<()> {
        let table = changed.table;
        let row = self.row_of(table.id, &table.name);
        let mut source = Source { row, path, filter: None };
        let mut into = Vec::new();
        changed.old.clear();
        for (at, column) in table.columns.iter().enumerate() {
            let slot = self.temporary("old", column.data_type)?;
            let id = ColumnId(at as u16);
            into.push((slot, self.bind_in(&mut source.row, id)?));
            changed.old.push((id, self.slot_expr(slot)));
        }
        let consume = Consume::First { into, strict: false, order_by: Vec::new(), offset: None };
        let access = source.access(Effect::Delete { consume });
        self.emit(out, StatementKind::Access(Box::new(access)));
        Ok(())
    }

    /// Checks a changed row.
    fn check_row(&self, out: &mut Vec<Statement>, changed: &Changed<'c>, sure: Option<&str>) {
        for of in self.checked_behind(changed.table) {
            let is_set = |column: &ColumnId| changed.new.iter().any(|(of, _)| of == column);
            if sure == Some(of.name()) || !of.columns().iter().any(is_set) {
                continue;
            }
            let values = of.columns().iter().filter_map(|column| changed.after(*column));
            let values: Vec<Expr> = values.cloned().collect();
            self.check_behind(out, changed.table, of, &values);
        }
    }

    /// ON UPDATE: what happens to the children of a row whose key has changed.
    fn follow(
        &mut self,
        out: &mut Vec<Statement>,
        changed: &Changed<'_>,
        key: &ForeignKey,
    ) -> Result<()> {
        let (before, after) = (
            self.key_values(key, &changed.old),
            self.catalog.index(key.parent_index).columns.iter().filter_map(|c| changed.after(*c)),
        );
        let after: Vec<Expr> = after.cloned().collect();
        let mut changes = Vec::new();
        if key.on_update.changes_children() {
            self.set_children(&mut changes, (key, key.on_update), &before, &after)?;
        } else {
            self.check_child(&mut changes, changed.table, (key, key.on_update), &before)?;
        }
        let mut then = Vec::new();
        self.where_present(&mut then, key, &before, changes);
        let same = before.into_iter().zip(after).map(|(before, after)| {
            let kind = ExprKind::NotDistinct(Box::new(before), Box::new(after));
            scalar(kind, DataType::Boolean)
        });
        let same = joined(same.collect(), ExprKind::And).expect("a key has columns");
        let condition = negated(same);
        self.emit(out, StatementKind::If { condition, then, otherwise: Vec::new() });
        Ok(())
    }
}

fn is_followed(compiler: &Compiler<'_>, followed: &[&ForeignKey], column: &ColumnId) -> bool {
    compiler.referenced_columns(followed).contains(column)
}
