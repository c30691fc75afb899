//! INSERT: rows of values, of variables or of what is computed, with what fills the columns that
//! were not given.

use hotrow_base::ids::ColumnId;
use hotrow_transaction::catalog::TriggerEvent::Insert;
use hotrow_transaction::catalog::{Column, Table};
use hotrow_transaction::program::{self, Expr, FOUND, Place, Statement, StatementKind};
use sqlparser::ast::{self, SetExpr};

use crate::assignment::ColumnValue;
use crate::conflict::{Duplicate, INSERTED, OnConflict};
use crate::conflict_again::Again;
use crate::consume::{Sink, no_values};
use crate::error::{Advice, Result, error, place_in, syntax};
use crate::generated::refuse_given_generated;
use crate::relation::{FoundRow, written_values};
use crate::scope::Compiler;
use crate::sequence::is_identity;
use crate::state::Overriding;
use crate::syntax::Into;
use crate::through::{Target, is_computed};
use crate::token::folded;
use crate::triggered::InsertedRow;
use crate::typing::{Coercion, assign, null};
use crate::written::object_name;

/// Who receives RETURNING: INTO's targets, or the result of an ad-hoc statement.
pub(crate) type Receiver<'i> = Option<&'i Into>;

impl<'c> Compiler<'c> {
    /// INSERT: one [`program::Insert`] per row of VALUES.
    pub(crate) fn insert(
        &mut self,
        out: &mut Vec<Statement>,
        insert: &ast::Insert,
        found: Option<&FoundRow>,
        into: Receiver<'_>,
    ) -> Result<()> {
        let target = self.insert_target(insert, self.place)?;
        if found.is_some() {
            return self.insert_rows(out, insert, (&target, found), into);
        }
        let events = self.events_of_insert(&target, insert.on.as_ref());
        let is_one = match insert.source.as_deref().map(|query| &*query.body) {
            Some(SetExpr::Values(values)) => values.rows.len() == 1,
            _ => true,
        };
        self.as_firing(out, (target.table.id, &events), is_one, |this, out| {
            this.insert_rows(out, insert, (&target, None), into)
        })
    }

    fn insert_rows(
        &mut self,
        out: &mut Vec<Statement>,
        insert: &ast::Insert,
        (target, found): (&Target<'c>, Option<&FoundRow>),
        into: Receiver<'_>,
    ) -> Result<()> {
        let place = self.place;
        let table = target.table;
        let on = self.on_conflict(insert.on.as_ref(), target, place)?;
        let columns = self.insert_columns(insert, target, place)?;
        let rows: Vec<Vec<ColumnValue<'_>>> =
            match insert.source.as_deref().map(|query| &*query.body) {
                Some(_) if let Some(found) = found => {
                    let written = written_values(insert);
                    let own = |at| written.get(at).copied().map(ColumnValue::Written);
                    let values = 0..found.values.len();
                    vec![values.filter_map(|at| found.value(at).or_else(|| own(at))).collect()]
                }
                Some(SetExpr::Values(values)) => {
                    let rows = values.rows.iter().map(|row| row.content.iter());
                    rows.map(|row| row.map(ColumnValue::Written).collect()).collect()
                }
                _ => vec![Vec::new()],
            };
        let width = rows.first().map_or(0, Vec::len);
        if rows.iter().any(|row| row.len() != width) {
            return Err(syntax(place, "VALUES lists must all be the same length"));
        }
        if insert.returning.is_none() && into.is_some() {
            return Err(no_values(place));
        }
        if rows.len() > 1 && into.is_some() {
            return Err(error(b"P0003", place, "query returned more than one row")
                .hint("write one INSERT per row to return values INTO variables"));
        }
        let several = (rows.len() > 1).then_some(rows.len() as i64);
        let inserted = match several {
            Some(_) if on.gives_way() || self.fires_for_rows(table.id, Insert, &[]) => {
                Some(self.begin_count(out)?)
            }
            _ => None,
        };
        let hits = match (several, on) {
            (Some(_), OnConflict::Update(index, _)) => Some(self.begin_hits(out, (table, index))?),
            _ => None,
        };
        for row in rows {
            if insert.source.is_some() && row.len() > columns.len() {
                let at = row.get(columns.len()).map_or(place, |value| value.place(place));
                if let Some(computed) = target.computed_at(columns.len()) {
                    return Err(is_computed(target.name(), computed, Insert, at));
                }
                return Err(syntax(at, "INSERT has more expressions than target columns"));
            }
            if insert.source.is_some() && row.len() < columns.len() && !insert.columns.is_empty() {
                return Err(syntax(place, "INSERT has more target columns than expressions"));
            }
            let draws_once = std::mem::replace(&mut self.draws_once, true);
            let values = self.insert_values(table, &columns, &row);
            self.draws_once = draws_once;
            let values = values?;
            let returning = insert.returning.as_deref();
            let again = match hits {
                Some(hits) => Again::Hits(hits),
                None => found.and_then(|of| of.again.clone()).map_or(Again::Never, Again::Row),
            };
            let is_only = several.is_none() && found.is_none();
            let row = Duplicate { target, values, returning, again, is_only };
            self.insert_row(out, row, on, into)?;
            if let Some(inserted) = inserted {
                let sum = self.row_sum(inserted);
                self.emit_assign(out, inserted, sum);
            }
        }
        match (inserted, several) {
            (Some(inserted), _) => self.end_count(out, inserted),
            (None, Some(rows)) => self.emit_touched(out, rows),
            (None, None) => {}
        }
        Ok(())
    }

    pub(crate) fn insert_target(&self, insert: &ast::Insert, place: Place) -> Result<Target<'c>> {
        let ast::TableObject::TableName(name) = &insert.table else {
            return Err(syntax(place, "INSERT INTO needs a table"));
        };
        if !insert.into {
            return Err(syntax(place, "INSERT needs INTO"));
        }
        let (name, at) = (object_name(name, place)?, place_in(&insert.table, place));
        let mut target = self.target(&name, None, Insert, at)?;
        if let Some(alias) = &insert.table_alias {
            target.alias = folded(&alias.alias.value, alias.alias.quote_style.is_some());
        }
        if insert.ignore || insert.overwrite || insert.replace_into || insert.or.is_some() {
            return Err(syntax(place, "this form of INSERT is not PostgreSQL's")
                .hint("write INSERT INTO ... ON CONFLICT DO NOTHING"));
        }
        Ok(target)
    }

    pub(crate) fn insert_columns(
        &self,
        insert: &ast::Insert,
        target: &Target<'_>,
        place: Place,
    ) -> Result<Vec<ColumnId>> {
        if insert.columns.is_empty() {
            return Ok(target.columns());
        }
        let mut columns = Vec::new();
        for name in &insert.columns {
            let at = place_in(name, place);
            let column = self.changed_column(target, name, (Insert, at))?;
            if columns.contains(&column) {
                let name = object_name(name, at)?;
                let message = format!("column \"{name}\" specified more than once");
                return Err(error(b"42701", at, message));
            }
            columns.push(column);
        }
        Ok(columns)
    }

    /// One value per column of the table, defaults filled in.
    fn insert_values(
        &mut self,
        table: &Table,
        columns: &[ColumnId],
        row: &[ColumnValue<'_>],
    ) -> Result<Vec<Expr>> {
        let mut values: Vec<Option<Expr>> = vec![None; table.columns.len()];
        for (column, value) in columns.iter().zip(row) {
            let own =
                self.overriding == Overriding::User && is_identity(&table.columns[column.index()]);
            if !value.is_default() && !own {
                let at = column.index();
                let place = value.place(self.place);
                self.refuse_given(&table.columns[at], true, place)?;
                refuse_given_generated(table, *column, true, place)?;
                values[at] = Some(self.column_value(table, *column, value)?);
            }
        }
        let values = values.into_iter().zip(&table.columns);
        let filled = values.map(|(value, column)| match (value, column.draws) {
            (Some(value), _) => Ok(value),
            (None, Some(draws)) => self.drawn(column, draws),
            (None, None) => Ok(self.default_of(column)?.unwrap_or_else(|| null(column.data_type))),
        });
        filled.collect()
    }

    pub(crate) fn column_value(
        &mut self,
        table: &Table,
        column: ColumnId,
        value: &ColumnValue<'_>,
    ) -> Result<Expr> {
        let Column { name, data_type, .. } = &table.columns[column.index()];
        let what = || format!("column \"{name}\"");
        let (of, place) = (Coercion::Assignment, self.place);
        match value {
            ColumnValue::Written(written) => self.value_for(written, *data_type, of, what),
            given => assign(self.value_given(given)?, *data_type, of, place, what),
        }
    }

    /// A value of a change, of its own type.
    pub(crate) fn value_given(&mut self, given: &ColumnValue<'_>) -> Result<Expr> {
        match given {
            ColumnValue::Written(written) => self.expr(written),
            ColumnValue::Column(query, at, of) => {
                self.column_of_subquery(query, (*at, *of), self.place)
            }
            ColumnValue::Found(value) => Ok(value.clone()),
        }
    }

    fn insert_row(
        &mut self,
        out: &mut Vec<Statement>,
        mut row: Duplicate<'_>,
        on: OnConflict<'_>,
        into: Receiver<'_>,
    ) -> Result<()> {
        let table = row.target.table;
        let Some(fired) = self.begin_inserted(out, table, &mut row.values)? else {
            return self.insert_row_for(out, (row, None), on, into);
        };
        let Some(skip) = fired.skip else {
            return self.insert_row_for(out, (row, Some(&fired)), on, into);
        };
        let (mut inserted, returning) = (Vec::new(), row.returning.is_some());
        self.insert_row_for(&mut inserted, (row, Some(&fired)), on, into)?;
        self.emit_left_out(out, (skip, inserted), into, returning)
    }

    fn insert_row_for(
        &mut self,
        out: &mut Vec<Statement>,
        (mut row, fired): (Duplicate<'_>, Option<&InsertedRow>),
        on: OnConflict<'_>,
        into: Receiver<'_>,
    ) -> Result<()> {
        let Duplicate { target, returning, .. } = row;
        let table = target.table;
        let ignore_conflict = on.gives_way();
        self.fill_generated(out, table, &mut row.values)?;
        if let Some(fired) = fired {
            self.keep_generated(out, table, (&fired.rows, &mut row.values));
            let is_read = returning.is_some() || on.acts();
            let (by, new) = (self.by_of(target), (fired.rows.new.as_slice(), is_read));
            self.as_by(by, |this| this.check_new_row(out, (table, Insert), new))?;
        }
        self.check_inserted(target, &mut row.values)?;
        let late = self.check_insert(out, table, &mut row.values, ignore_conflict)?;
        if on.acts() {
            self.keep_row(out, table, &mut row.values)?;
        }
        let mut returned = Vec::new();
        let mut columns = Vec::new();
        if let Some(items) = returning {
            let row = self.target_row(target);
            let (listed, bound) =
                self.with_row(row, |this| this.returned_beside_xmax(items, INSERTED))?;
            columns = listed;
            returned = bound.bound.iter().map(|(column, slot)| (*slot, *column)).collect();
        }
        let values = row.values.clone();
        let insert =
            program::Insert { table: table.id, values, returning: returned, ignore_conflict };
        self.emit(out, StatementKind::Insert(Box::new(insert)));
        if returning.is_none() && late.is_empty() && !on.acts() && fired.is_none() {
            return Ok(());
        }
        let mut then = late;
        let (mut otherwise, mut conflicting) = (Vec::new(), Vec::new());
        self.emit_conflict(&mut conflicting, on, &row, into)?;
        self.emit_hit(&mut then, on, &row)?;
        if returning.is_some() {
            match self.receiver(into, &columns)? {
                Sink::Discard => {}
                Sink::Result => self.emit_result_row(&mut then, &columns)?,
                Sink::Kept => self.emit_kept_row(&mut then, &columns)?,
                Sink::Slots { slots, strict } => {
                    let pairs = self.fitted(&slots, &columns)?;
                    self.emit_assigns(&mut then, pairs)?;
                    // An UPDATE in its place gives its own.
                    let updates = matches!(on, OnConflict::Update(..));
                    if !updates {
                        self.emit_nulls(&mut otherwise, &slots);
                    }
                    if strict && !updates {
                        let message = "query returned no rows".to_owned();
                        self.emit_raise(&mut otherwise, b"P0002", message, None);
                    }
                }
            }
        }
        otherwise.append(&mut conflicting);
        if let Some(fired) = fired {
            let mut behind = Vec::new();
            self.fire_behind_row(&mut behind, table.id, (Insert, &[]), &fired.rows)?;
            if !behind.is_empty() {
                self.emit_touched(&mut behind, 1);
            }
            then.append(&mut behind);
        }
        if ignore_conflict {
            let condition = self.slot_expr(FOUND);
            self.emit(out, StatementKind::If { condition, then, otherwise });
        } else {
            out.append(&mut then);
        }
        Ok(())
    }
}
