//! INSTEAD OF: what a statement does that changes a view, where the view's triggers say it.
//!
//! Role         the statement becomes a loop over the rows that it finds of the view, or that it
//!              gives it; in each turn stand the statements of the triggers' functions, as those of
//!              tables' triggers do (`fire`), so that they are planned with the statement
//! Invariants   I1 rows are all found before a trigger fires
//!              I2 a row for which a trigger returns NULL is neither counted nor returned
//! Source       PostgreSQL 15, CREATE TRIGGER, and 43.10. We differ: UPDATE ... FROM and DELETE ...
//!              USING of such a view are refused, and so are WHEN and changes of it behind WITH

use hotrow_transaction::catalog::{
    Object, Privileges, Table, Trigger, TriggerEvent, TriggerLevel, TriggerTiming, View,
};
use hotrow_transaction::program::{Place, SlotId, Statement, StatementKind};
use sqlparser::ast::{self, SetExpr};

use crate::assignment::{ColumnValue, one_by_one};
use crate::change::Receiver;
use crate::changes::{CatalogChange, left_out};
use crate::consume::no_values;
use crate::drawn::in_rounds;
use crate::error::{Advice, Result, error, place_in, syntax, unsupported};
use crate::fire::{Fired, RowSlots, defined_by};
use crate::path::truth;
use crate::relation::RowBeside;
use crate::relation::level::Level;
use crate::relation::one_access::{Rows, Wanted};
use crate::scope::Compiler;
use crate::state::{Names, Variable};
use crate::token::selection_of;
use crate::trigger::no_trigger;
use crate::trigger_syntax::{DropTriggerSyntax, TriggerSyntax};
use crate::typing::{Coercion, assign, null};
use crate::written::{alias_of, object_name};

/// A view whose triggers act, what fires them, and the rows that they are shown.
struct Acting<'c> {
    view: &'c View,
    event: TriggerEvent,
    /// the view's columns
    table: Table,
    rows: RowSlots,
}

impl<'c> Compiler<'c> {
    /// CREATE [OR REPLACE] TRIGGER of a view.
    pub(crate) fn create_view_trigger(
        &mut self,
        view: &View,
        written: &TriggerSyntax,
    ) -> Result<CatalogChange> {
        let (place, at) = (written.place, written.table.1);
        let is_a_view = |detail: &str| {
            Err(error(b"42809", at, format!("\"{}\" is a view", view.name)).detail(detail))
        };
        if written.events.contains(&TriggerEvent::Truncate) {
            return is_a_view("Views cannot have TRUNCATE triggers.");
        }
        if written.timing != TriggerTiming::Instead {
            return is_a_view(match written.level {
                TriggerLevel::Row => "Views cannot have row-level BEFORE or AFTER triggers.",
                TriggerLevel::Statement => "Triggers FOR EACH STATEMENT are those of tables here.",
            });
        }
        let refused =
            |what: &str| Err(error(b"0A000", place, format!("INSTEAD OF triggers {what}")));
        match () {
            () if written.level == TriggerLevel::Statement => {
                return refused("must be FOR EACH ROW");
            }
            () if written.when.is_some() => return refused("cannot have WHEN conditions"),
            () if !written.columns.is_empty() => return refused("cannot have column lists"),
            () => {}
        }
        if !written.or_replace && view.triggers.iter().any(|other| other.name == written.name) {
            let (name, of) = (&written.name, &view.name);
            let message = format!("trigger \"{name}\" for relation \"{of}\" already exists");
            return Err(error(b"42710", place, message));
        }
        let trigger = Trigger {
            name: written.name.clone(),
            timing: written.timing,
            level: written.level,
            events: written.events.clone(),
            columns: Vec::new(),
            when: None,
            transition: [None, None],
            function: self.trigger_function(&written.function)?,
            arguments: written.arguments.clone(),
            is_enabled: true,
            constraint: None,
        };
        self.check_view_trigger(view, &trigger, place)?;
        let mut view = view.clone();
        view.triggers.retain(|other| other.name != trigger.name);
        let behind = view.triggers.partition_point(|other| other.name < trigger.name);
        view.triggers.insert(behind, trigger);
        Ok(CatalogChange::SetView(view))
    }

    /// Compiles what fires for each event, to see whether it can be.
    fn check_view_trigger(&self, view: &View, trigger: &Trigger, place: Place) -> Result<()> {
        let table = Table::like_view(view)?;
        for event in &trigger.events {
            in_rounds(|room| {
                let mut compiler = Compiler::new(self.catalog);
                (compiler.place, compiler.room) = (place, room);
                compiler.procedures = self.procedures;
                compiler.take_drawn_slots()?;
                compiler.try_trigger(&table, trigger, *event)?;
                Ok((std::mem::take(&mut compiler.draws), ()))
            })?;
        }
        Ok(())
    }

    /// DROP TRIGGER of a view.
    pub(crate) fn drop_view_trigger(
        &self,
        view: &View,
        written: &DropTriggerSyntax,
    ) -> Result<CatalogChange> {
        let DropTriggerSyntax { name, place, if_exists, table } = written;
        let mut next = view.clone();
        next.triggers.retain(|trigger| trigger.name != *name);
        match (next.triggers.len() < view.triggers.len(), if_exists) {
            (true, _) => Ok(CatalogChange::SetView(next)),
            (false, true) => {
                let text = format!("trigger \"{name}\" for relation \"{table}\" does not exist");
                Ok(CatalogChange::Nothing(left_out(format!("{text}, skipping"))))
            }
            (false, false) => Err(no_trigger(name, table, *place)),
        }
    }

    /// The view that a statement changes, if its triggers say how, and what fires them.
    pub(crate) fn view_that_acts(
        &self,
        statement: &ast::Statement,
    ) -> Result<Option<(&'c View, TriggerEvent)>> {
        let (name, event) = match statement {
            ast::Statement::Insert(insert) => match &insert.table {
                ast::TableObject::TableName(name) => (Some(name), TriggerEvent::Insert),
                _ => (None, TriggerEvent::Insert),
            },
            ast::Statement::Update(update) => {
                (table_name(&update.table.relation), TriggerEvent::Update)
            }
            ast::Statement::Delete(delete) => {
                let (ast::FromTable::WithFromKeyword(tables)
                | ast::FromTable::WithoutKeyword(tables)) = &delete.from;
                let first = tables.first().map(|table| &table.relation);
                (first.and_then(table_name), TriggerEvent::Delete)
            }
            _ => return Ok(None),
        };
        let Some(name) = name else { return Ok(None) };
        let Some(view) = self.view_named(&object_name(name, self.place)?) else { return Ok(None) };
        let acts = |trigger: &Trigger| trigger.events.contains(&event);
        Ok(view.triggers.iter().any(acts).then_some((view, event)))
    }

    /// INSERT, UPDATE or DELETE of a view whose triggers say how.
    pub(crate) fn change_instead(
        &mut self,
        out: &mut Vec<Statement>,
        statement: &ast::Statement,
        into: Receiver<'_>,
    ) -> Result<()> {
        let Some((view, event)) = self.view_that_acts(statement)? else { return Ok(()) };
        let right = match event {
            TriggerEvent::Insert => Privileges::INSERT,
            TriggerEvent::Update => Privileges::UPDATE,
            TriggerEvent::Delete => Privileges::DELETE,
            TriggerEvent::Truncate => Privileges::TRUNCATE,
        };
        self.needs.add(&self.by.clone(), Object::View(view.id), right);
        let table = Table::like_view(view)?;
        let rows = self.slots_of_rows(&table, event)?;
        let acting = Acting { view, event, table, rows };
        match statement {
            ast::Statement::Insert(insert) => self.insert_instead(out, insert, &acting, into),
            ast::Statement::Update(update) => self.update_instead(out, update, &acting, into),
            ast::Statement::Delete(delete) => self.delete_instead(out, delete, &acting, into),
            _ => Err(unsupported(self.place, "this change of a view", "write INSERT, UPDATE")),
        }
    }

    fn insert_instead(
        &mut self,
        out: &mut Vec<Statement>,
        insert: &ast::Insert,
        acting: &Acting<'c>,
        into: Receiver<'_>,
    ) -> Result<()> {
        let (place, columns) = (self.place, &acting.table.columns);
        // There is no row to come into conflict with: DO NOTHING has nothing to do.
        let updates = matches!(
            &insert.on,
            Some(ast::OnInsert::OnConflict(of))
                if matches!(of.action, ast::OnConflictAction::DoUpdate(_))
        );
        if updates {
            let what = "ON CONFLICT DO UPDATE of a view with INSTEAD OF triggers";
            return Err(unsupported(place, what, "have the trigger's function look for the row"));
        }
        let given: Vec<usize> = match insert.columns.is_empty() {
            true => (0..columns.len()).collect(),
            false => insert
                .columns
                .iter()
                .map(|name| self.view_column(acting, name))
                .collect::<Result<_>>()?,
        };
        let too_many = |count: usize| {
            let message = "INSERT has more expressions than target columns";
            if count > given.len() { Err(syntax(place, message)) } else { Ok(()) }
        };
        let alias = insert.table_alias.as_ref().map(|alias| alias.alias.value.clone());
        let alias = alias.unwrap_or_else(|| acting.view.name.clone());
        let returned = (insert.returning.as_deref(), alias.as_str());
        let mut sink = self.instead_sink(out, acting, returned, into)?;
        let new = &acting.rows.new;
        match insert.source.as_deref().map(|query| (query, &*query.body)) {
            Some((_, SetExpr::Values(values))) => {
                for row in &values.rows {
                    too_many(row.content.len())?;
                    self.emit_nulls(out, new);
                    let mut body = Vec::new();
                    for (at, written) in given.iter().zip(&row.content) {
                        self.give_field(&mut body, acting, *at, &ColumnValue::Written(written))?;
                    }
                    self.act(&mut body, acting, &mut sink)?;
                    out.append(&mut body);
                }
            }
            Some((query, _)) => self.each_found(out, query, |this, body, found| {
                too_many(found.len())?;
                this.emit_nulls(body, new);
                for (at, slot) in given.iter().zip(found) {
                    let value = ColumnValue::Found(this.slot_expr(*slot));
                    this.give_field(body, acting, *at, &value)?;
                }
                this.act(body, acting, &mut sink)
            })?,
            None => {
                self.emit_nulls(out, new);
                let mut body = Vec::new();
                self.act(&mut body, acting, &mut sink)?;
                out.append(&mut body);
            }
        }
        self.emit_rows_end(out, &sink);
        Ok(())
    }

    fn update_instead(
        &mut self,
        out: &mut Vec<Statement>,
        update: &ast::Update,
        acting: &Acting<'c>,
        into: Receiver<'_>,
    ) -> Result<()> {
        let place = self.place;
        if update.from.is_some() || !update.table.joins.is_empty() {
            let what = "UPDATE ... FROM of a view with INSTEAD OF triggers";
            return Err(unsupported(place, what, "write a subquery in SET and WHERE"));
        }
        let set = one_by_one(&update.assignments, place)?;
        let alias = alias_in(&update.table.relation, acting);
        let returned = (update.returning.as_deref(), alias.as_str());
        let mut sink = self.instead_sink(out, acting, returned, into)?;
        let query = rows_of_view(&update.table, update.selection.as_ref(), (acting, &alias))?;
        self.each_found(out, &query, |this, body, found| {
            this.take_found(body, acting, found);
            for (new, old) in acting.rows.new.iter().zip(&acting.rows.old) {
                this.emit_assign(body, *new, this.slot_expr(*old));
            }
            this.names.push(fields_named(acting, &alias));
            let mut given = Vec::new();
            for (name, value) in &set {
                let at = this.view_column(acting, name)?;
                let before = given.len();
                this.give_field(&mut given, acting, at, value)?;
                let mut computed = std::mem::take(&mut this.before);
                given.splice(before..before, computed.drain(..));
            }
            this.names.pop();
            body.append(&mut given);
            this.act(body, acting, &mut sink)
        })?;
        self.emit_rows_end(out, &sink);
        Ok(())
    }

    fn delete_instead(
        &mut self,
        out: &mut Vec<Statement>,
        delete: &ast::Delete,
        acting: &Acting<'c>,
        into: Receiver<'_>,
    ) -> Result<()> {
        let (ast::FromTable::WithFromKeyword(tables) | ast::FromTable::WithoutKeyword(tables)) =
            &delete.from;
        let [table] = tables.as_slice() else {
            return Err(syntax(self.place, "DELETE needs one table"));
        };
        if delete.using.is_some() {
            let what = "DELETE ... USING of a view with INSTEAD OF triggers";
            return Err(unsupported(self.place, what, "write a subquery in WHERE"));
        }
        let alias = alias_in(&table.relation, acting);
        let returned = (delete.returning.as_deref(), alias.as_str());
        let mut sink = self.instead_sink(out, acting, returned, into)?;
        let query = rows_of_view(table, delete.selection.as_ref(), (acting, &alias))?;
        self.each_found(out, &query, |this, body, found| {
            this.take_found(body, acting, found);
            this.act(body, acting, &mut sink)
        })?;
        self.emit_rows_end(out, &sink);
        Ok(())
    }

    /// The column of a view with a name.
    fn view_column(&self, acting: &Acting<'_>, written: &ast::ObjectName) -> Result<usize> {
        let name = object_name(written, self.place)?;
        acting.table.column(&name).map(hotrow_base::ids::ColumnId::index).ok_or_else(|| {
            let of = &acting.view.name;
            let message = format!("column \"{name}\" of relation \"{of}\" does not exist");
            error(b"42703", place_in(written, self.place), message)
        })
    }

    /// Gives a field of NEW a value.
    fn give_field(
        &mut self,
        out: &mut Vec<Statement>,
        acting: &Acting<'_>,
        at: usize,
        value: &ColumnValue<'_>,
    ) -> Result<()> {
        let column = &acting.table.columns[at];
        let what = || format!("column \"{}\"", column.name);
        let (of, place) = (Coercion::Assignment, self.place);
        let value = match value {
            value if value.is_default() => null(column.data_type),
            ColumnValue::Written(written) => self.value_for(written, column.data_type, of, what)?,
            given => assign(self.value_given(given)?, column.data_type, of, place, what)?,
        };
        out.append(&mut self.before);
        self.emit_assign(out, acting.rows.new[at], value);
        Ok(())
    }

    /// Has OLD be the row that was found.
    fn take_found(&self, out: &mut Vec<Statement>, acting: &Acting<'_>, found: &[SlotId]) {
        for (old, slot) in acting.rows.old.iter().zip(found) {
            self.emit_assign(out, *old, self.slot_expr(*slot));
        }
    }

    /// Emits the loop over a query's rows, which are all found before its body runs (I1).
    fn each_found(
        &mut self,
        out: &mut Vec<Statement>,
        query: &ast::Query,
        emit: impl FnOnce(&mut Self, &mut Vec<Statement>, &[SlotId]) -> Result<()>,
    ) -> Result<()> {
        let rows = self.rows_in_procedure(query, Wanted::All)?;
        let columns = match &rows {
            Rows::Access(selected) => &selected.columns,
            Rows::Operators(of) => &of.columns,
        };
        let types: Vec<_> = columns.iter().map(|(_, value)| value.sql_type.packed()).collect();
        let mut slots = Vec::with_capacity(types.len());
        for of in types {
            slots.push(self.temporary("found", of)?);
        }
        let mut body = Vec::new();
        match rows {
            Rows::Access(selected) => match self.loop_query(out, *selected, &slots)? {
                None => {
                    emit(self, &mut body, &slots)?;
                    out.append(&mut body);
                }
                Some((rows, query)) => {
                    self.in_loop(|this| emit(this, &mut body, &slots))?;
                    let query = Box::new(query);
                    self.emit(out, StatementKind::ForQuery { rows, query, into: slots, body });
                }
            },
            Rows::Operators(of) => {
                let pairs = self.fitted(&slots, &of.columns)?;
                self.emit_assigns(&mut body, pairs)?;
                self.in_loop(|this| emit(this, &mut body, &slots))?;
                self.emit_operators(out, of, body);
            }
        }
        Ok(())
    }

    /// What RETURNING gives of each row, and where it goes.
    fn instead_sink(
        &mut self,
        out: &mut Vec<Statement>,
        acting: &Acting<'_>,
        (items, alias): (Option<&[ast::SelectItem]>, &str),
        into: Receiver<'_>,
    ) -> Result<crate::cascade::RowSink> {
        let Some(items) = items else {
            if into.is_some() {
                return Err(no_values(self.place));
            }
            return self.row_sink(out, false, Vec::new(), into);
        };
        let slots = match acting.event {
            TriggerEvent::Delete => &acting.rows.old,
            _ => &acting.rows.new,
        };
        let names = acting.table.columns.iter().map(|column| column.name.clone());
        let columns = names.zip(slots.iter().copied()).collect();
        let row = RowBeside { name: alias.to_owned(), columns, read_of: None };
        self.levels.push(Level::default());
        let compiled = self.with_rows_beside(&[row], |this| this.returned_columns(items));
        let level = self.levels.pop();
        if level.is_some_and(|level| level.needs_operators()) {
            let what = "this RETURNING of a view with INSTEAD OF triggers";
            return Err(unsupported(self.place, what, "compute it behind the statement"));
        }
        self.row_sink(out, true, compiled?, into)
    }

    /// What the triggers do with a row; then it counts, unless one of them has left it out (I2).
    fn act(
        &mut self,
        out: &mut Vec<Statement>,
        acting: &Acting<'c>,
        sink: &mut crate::cascade::RowSink,
    ) -> Result<()> {
        let Acting { view, event, table, rows } = acting;
        let skip = self.temporary("skip", hotrow_base::types::DataType::Boolean)?;
        let (mut all, mut may_skip) = (Vec::new(), false);
        for trigger in view.triggers.iter().filter(|trigger| trigger.fires(*event, &[])) {
            let mut one = Vec::new();
            let fired = Fired { table, trigger, event: *event, rows, skip: Some(skip) };
            self.fire(&mut one, &fired)?;
            let skips = defined_by(&one).contains(&skip);
            match may_skip {
                true => self.emit_unless(&mut all, skip, one),
                false => all.append(&mut one),
            }
            may_skip |= skips;
        }
        self.emit_assign(out, skip, truth(false));
        out.append(&mut all);
        let mut counted = Vec::new();
        self.emit_row(&mut counted, sink)?;
        self.emit_unless(out, skip, counted);
        Ok(())
    }
}

fn table_name(factor: &ast::TableFactor) -> Option<&ast::ObjectName> {
    match factor {
        ast::TableFactor::Table { name, args: None, .. } => Some(name),
        _ => None,
    }
}

fn alias_in(factor: &ast::TableFactor, acting: &Acting<'_>) -> String {
    let alias = match factor {
        ast::TableFactor::Table { alias, .. } => alias.as_ref(),
        _ => None,
    };
    alias_of(alias, &acting.view.name).0
}

/// All columns of the rows of a view that a condition finds.
fn rows_of_view(
    from: &ast::TableWithJoins,
    selection: Option<&ast::Expr>,
    (acting, alias): (&Acting<'_>, &str),
) -> Result<Box<ast::Query>> {
    let columns = acting.table.columns.iter().map(|column| {
        let parts = [alias, &column.name].map(|name| ast::Ident::with_quote('"', name));
        ast::SelectItem::UnnamedExpr(ast::Expr::CompoundIdentifier(parts.to_vec()))
    });
    let start = Place { line: 1, column: 1 };
    let mut query = selection_of(columns.collect(), start)?;
    if let SetExpr::Select(select) = &mut *query.body {
        select.from = vec![from.clone()];
        select.selection = selection.cloned();
    }
    Ok(query)
}

/// The columns of a row that is updated, as SET names them.
fn fields_named(acting: &Acting<'_>, alias: &str) -> Names {
    let names = acting.table.columns.iter().map(|column| column.name.clone());
    let fields = names.zip(&acting.rows.old).map(|(name, slot)| {
        (name, Variable::Scalar { slot: *slot, constant: true, not_null: false })
    });
    Names { label: Some(alias.to_owned()), variables: fields.collect() }
}
