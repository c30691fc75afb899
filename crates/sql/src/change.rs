//! INSERT, UPDATE and DELETE.

use hotrow_base::ids::{ColumnId, TableId};
use hotrow_base::types::{DataType, SqlType};
use hotrow_transaction::catalog::TriggerEvent::{Delete, Insert};
use hotrow_transaction::catalog::{Column, Table, TriggerEvent};
use hotrow_transaction::program::{
    self, ArithmeticOp, CompareOp, Consume, Effect, Expr, ExprKind, FOUND, Place, ROW_COUNT,
    RowsTo, SlotId, Statement, StatementKind,
};
use sqlparser::ast::{self, SelectItem, SetExpr, TableFactor};

use crate::assignment::{ColumnValue, one_by_one};
use crate::conflict::{Duplicate, OnConflict};
use crate::consume::{Sink, no_values};
use crate::drawn::is_random;
use crate::error::{Advice, Result, error, place_in, syntax, unsupported};
use crate::generated::refuse_given_generated;
use crate::key_change::Updated;
use crate::path::conjuncts;
use crate::relation::{FoundRow, written_values};
use crate::scope::Compiler;
use crate::source::Source;
use crate::state::Row;
use crate::syntax::Into;
use crate::token::folded;
use crate::triggered::InsertedRow;
use crate::typing::{Coercion, assign, bigint, null};
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
        if found.is_some() {
            return self.insert_rows(out, insert, found, into);
        }
        let (table, _) = self.insert_target(insert, self.place)?;
        let events = self.events_of_insert(table, insert.on.as_ref());
        let is_one = match insert.source.as_deref().map(|query| &*query.body) {
            Some(SetExpr::Values(values)) => values.rows.len() == 1,
            _ => true,
        };
        self.as_firing(out, (table.id, &events), is_one, |this, out| {
            this.insert_rows(out, insert, None, into)
        })
    }

    fn insert_rows(
        &mut self,
        out: &mut Vec<Statement>,
        insert: &ast::Insert,
        found: Option<&FoundRow>,
        into: Receiver<'_>,
    ) -> Result<()> {
        let place = self.place;
        let (table, alias) = self.insert_target(insert, place)?;
        let on = self.on_conflict(insert.on.as_ref(), table, place)?;
        let columns = self.insert_columns(insert, table, place)?;
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
        for row in rows {
            if insert.source.is_some() && row.len() > columns.len() {
                let at = row.get(columns.len()).map_or(place, |value| value.place(place));
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
            let row = Duplicate { table, alias: &alias, values, returning };
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

    pub(crate) fn insert_target(
        &self,
        insert: &ast::Insert,
        place: Place,
    ) -> Result<(&'c Table, String)> {
        let ast::TableObject::TableName(name) = &insert.table else {
            return Err(syntax(place, "INSERT INTO needs a table"));
        };
        if !insert.into {
            return Err(syntax(place, "INSERT needs INTO"));
        }
        let name = object_name(name, place)?;
        let table = self.table(&name, place_in(&insert.table, place))?;
        let alias = match &insert.table_alias {
            Some(alias) => folded(&alias.alias.value, alias.alias.quote_style.is_some()),
            None => table.name.clone(),
        };
        if insert.ignore || insert.overwrite || insert.replace_into || insert.or.is_some() {
            return Err(syntax(place, "this form of INSERT is not PostgreSQL's")
                .hint("write INSERT INTO ... ON CONFLICT DO NOTHING"));
        }
        Ok((table, alias))
    }

    /// A column that INSERT or SET names: without its table, which could be the column's own name.
    fn changed_column(
        &self,
        table: &Table,
        name: &ast::ObjectName,
        place: Place,
    ) -> Result<ColumnId> {
        if let [ast::ObjectNamePart::Identifier(first), _, ..] = name.0.as_slice() {
            let (first, of) = (folded(&first.value, first.quote_style.is_some()), &table.name);
            let message = format!("column \"{first}\" of relation \"{of}\" does not exist");
            let hint = "SET and lists of columns name a column without its table";
            return Err(error(b"42703", place, message).hint(hint));
        }
        self.table_column(table, &object_name(name, place)?, place)
    }

    fn insert_columns(
        &self,
        insert: &ast::Insert,
        table: &Table,
        place: Place,
    ) -> Result<Vec<ColumnId>> {
        if insert.columns.is_empty() {
            return Ok((0..table.shown().len()).map(|i| ColumnId(i as u16)).collect());
        }
        let mut columns = Vec::new();
        for name in &insert.columns {
            let at = place_in(name, place);
            let column = self.changed_column(table, name, at)?;
            if columns.contains(&column) {
                return Err(error(
                    b"42701",
                    at,
                    format!(
                        "column \"{}\" specified more than once",
                        table.columns[column.index()].name
                    ),
                ));
            }
            columns.push(column);
        }
        Ok(columns)
    }

    /// A column of a table by name.
    pub(crate) fn table_column(&self, table: &Table, name: &str, at: Place) -> Result<ColumnId> {
        table.column(name).ok_or_else(|| {
            error(
                b"42703",
                at,
                format!("column \"{name}\" of relation \"{}\" does not exist", table.name),
            )
        })
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
            if !value.is_default() {
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

    fn column_value(
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
        let table = row.table;
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
        let Duplicate { table, alias, returning, .. } = row;
        let ignore_conflict = on.gives_way();
        self.fill_generated(out, table, &mut row.values)?;
        if let Some(fired) = fired {
            self.keep_generated(out, table, (&fired.rows, &mut row.values));
        }
        let late = self.check_parents_of_insert(out, table, &mut row.values, ignore_conflict)?;
        if on.acts() {
            self.keep_row(out, table, &mut row.values)?;
        }
        let mut returned = Vec::new();
        let mut columns = Vec::new();
        if let Some(items) = returning {
            let row = self.row_of(table.id, alias);
            let (listed, bound) = self.with_row(row, |this| this.returned_columns(items))?;
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
        if found.is_some() {
            return self.update_found(out, update, found, into);
        }
        let id = self.one_table(&update.table)?.0;
        let set = self.columns_set(self.catalog.table(id), &update.assignments);
        let events = vec![(TriggerEvent::Update, set)];
        self.as_firing(out, (id, &events), true, |this, out| {
            this.update_found(out, update, None, into)
        })
    }

    fn update_found(
        &mut self,
        out: &mut Vec<Statement>,
        update: &ast::Update,
        found: Option<&FoundRow>,
        into: Receiver<'_>,
    ) -> Result<()> {
        let place = self.place;
        let (id, alias) = self.one_table(&update.table)?;
        let table = self.catalog.table(id);
        let ((mut set, columns), mut row) = self.with_row(self.row_of(id, &alias), |this| {
            let set = this.assignments(table, &update.assignments, (found, place))?;
            let beside = found.map_or(&[][..], |found| &found.beside);
            let returned = this
                .with_rows_beside(beside, |this| this.returning(update.returning.as_deref(), into));
            Ok((set, returned?))
        })?;
        self.set_generated(&mut row, &mut set)?;
        let wanted = self.wanted_rows(&mut row, update.selection.as_ref(), found)?;
        let chosen = self.choose(&row, wanted, &[], &set)?;
        let source = Source { row, path: chosen.path, filter: chosen.filter };
        let updated = Updated { source, set, sure: None };
        self.update_rows(out, updated, (update.returning.is_some(), columns), into)
    }

    pub(crate) fn assignments(
        &mut self,
        table: &Table,
        assignments: &[ast::Assignment],
        (found, place): (Option<&FoundRow>, Place),
    ) -> Result<Vec<(ColumnId, Expr)>> {
        let mut set: Vec<(ColumnId, Expr)> = Vec::new();
        for (at, (name, written)) in one_by_one(assignments, place)?.into_iter().enumerate() {
            let value = found.and_then(|found| found.value(at)).unwrap_or(written);
            let at = place_in(name, place);
            let column = self.changed_column(table, name, at)?;
            if set.iter().any(|(other, _)| *other == column) {
                let name = &table.columns[column.index()].name;
                return Err(error(
                    b"42601",
                    at,
                    format!("multiple assignments to same column \"{name}\""),
                ));
            }
            let described = &table.columns[column.index()];
            self.refuse_given(described, false, at)?;
            let is_computed = table.generated.iter().any(|computed| computed.column == column);
            if is_computed && value.is_default() {
                continue; // which it is in any case
            }
            refuse_given_generated(table, column, false, at)?;
            let value = if value.is_default() {
                if described.draws.is_some() {
                    let hint = "SELECT nextval('sequence'), and set the column to it";
                    return Err(unsupported(at, "DEFAULT of a numbered column in UPDATE", hint));
                }
                if described.default.as_ref().is_some_and(is_random) {
                    let hint = "compute a value, and set the column to it";
                    return Err(unsupported(at, "a random DEFAULT in UPDATE", hint));
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
        let (id, alias) = self.one_table(table)?;
        let found_row = |this: &mut Self, out: &mut Vec<Statement>| {
            this.delete_found(out, delete, (id, &alias, found), into)
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
        (id, alias, found): (TableId, &str, Option<&FoundRow>),
        into: Receiver<'_>,
    ) -> Result<()> {
        let (columns, mut row) = self.with_row(self.row_of(id, alias), |this| {
            let beside = found.map_or(&[][..], |found| &found.beside);
            this.with_rows_beside(beside, |this| this.returning(delete.returning.as_deref(), into))
        })?;
        let wanted = self.wanted_rows(&mut row, delete.selection.as_ref(), found)?;
        let chosen = self.choose(&row, wanted, &[], &[])?;
        let source = Source { row, path: chosen.path, filter: chosen.filter };
        let returning = (delete.returning.is_some(), columns);
        match self.fires_for_rows(id, Delete, &[]) {
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
        row: &mut Row,
        selection: Option<&ast::Expr>,
        found: Option<&FoundRow>,
    ) -> Result<Vec<Expr>> {
        if let (Some(found), Some(primary)) = (found, self.catalog.table(row.table).primary) {
            return self.key_conditions(row, primary, &found.key);
        }
        let (condition, bound) = self.with_row(row.clone(), |this| this.condition_of(selection))?;
        *row = bound;
        Ok(conjuncts(condition))
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
    fn returned_columns(&mut self, items: &[SelectItem]) -> Result<Vec<(String, Expr)>> {
        let columns = self.listed_columns(items)?;
        for (_, value) in &columns {
            self.scalar_type(value, self.place)?;
        }
        Ok(columns)
    }

    /// A table reference without joins: its id and the name its columns are qualified with.
    pub(crate) fn one_table(
        &self,
        table: &ast::TableWithJoins,
    ) -> Result<(hotrow_base::ids::TableId, String)> {
        let place = place_in(table, self.place);
        if !table.joins.is_empty() {
            return Err(syntax(place, "one table is changed, and not a join"));
        }
        match &table.relation {
            TableFactor::Table { name, alias, args: None, sample: None, .. } => {
                let table = self.table(&object_name(name, place)?, place)?;
                let alias = match alias {
                    None => table.name.clone(),
                    Some(alias) if alias.columns.is_empty() => {
                        folded(&alias.name.value, alias.name.quote_style.is_some())
                    }
                    Some(_) => {
                        return Err(unsupported(
                            place,
                            "column aliases in FROM",
                            "use AS in SELECT",
                        ));
                    }
                };
                Ok((table.id, alias))
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

/// Whether the rows of a change are those of a query that it has.
pub(crate) fn is_of_query(statement: &ast::Statement) -> bool {
    match statement {
        ast::Statement::Insert(insert) => insert
            .source
            .as_deref()
            .is_some_and(|query| !matches!(&*query.body, SetExpr::Values(_))),
        ast::Statement::Update(update) => update.from.is_some(),
        ast::Statement::Delete(delete) => delete.using.is_some(),
        _ => false,
    }
}
