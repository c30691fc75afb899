//! The function of a trigger, where it fires: its statements, with OLD, NEW and TG_OP as they are
//! there.

use hotrow_base::types::{DataType, SqlType};
use hotrow_base::value::Value;
use hotrow_transaction::catalog::{
    Table, Trigger, TriggerEvent, TriggerFunction, TriggerLevel, TriggerTiming, shown,
};
use hotrow_transaction::outcome::SqlError;
use hotrow_transaction::program::{
    Expr, ExprKind, Place, Raise, Statement, StatementKind, routine_name,
};
use hotrow_transaction::walk;
use sqlparser::ast;

use crate::error::{Advice, Result, error, syntax, too_complex};
use crate::fire::{Fired, RowSlots, defined_by, transition_tables, used_by};
use crate::inline::STATEMENTS_MAX;
use crate::known::Around;
use crate::path::truth;
use crate::relation::table_number;
use crate::routine::routine_with;
use crate::scope::Compiler;
use crate::search_path::path_before;
use crate::state::{ChangedRows, MayEnd, Names, Returning, TriggerReturn, Variable};
use crate::syntax::Routine;
use crate::token::{Cursor, parse_expression, tokenize};
use crate::trigger_records::with_fields;
use crate::typing::{constant, constant_array, integer};
use crate::written::{arguments, bare, function_name, ident_name};

/// How often a trigger may fire in what it fired itself.
const DEPTH_MAX: usize = 8;

impl<'c> Compiler<'c> {
    /// Compiles what a trigger does, to see whether it can be.
    pub(crate) fn try_trigger(
        &mut self,
        table: &Table,
        trigger: &Trigger,
        event: TriggerEvent,
    ) -> Result<()> {
        let skip = self.temporary("skip", DataType::Boolean)?;
        let mut rows = self.slots_of_rows(table, event)?;
        let is_row = trigger.level == TriggerLevel::Row;
        if event == TriggerEvent::Truncate {
            rows = RowSlots::default();
        } else if !is_row {
            self.firing.changed = Some(ChangedRows::default());
            let at = self.event_rows(table.id, (event, &trigger.columns), true)?;
            let changed = self.firing.changed.take().unwrap_or_default();
            let of = at.and_then(|at| changed.events.get(at));
            let kept = of.map_or_else(Vec::new, |of| transition_tables(table, trigger, of));
            rows = RowSlots { kept, ..RowSlots::default() };
        }
        let skip = (is_row && trigger.timing == TriggerTiming::Before).then_some(skip);
        let fired = Fired { table, trigger, event, rows: &rows, skip };
        self.fire(&mut Vec::new(), &fired)?;
        match trigger.deferral() {
            None => Ok(()),
            Some(_) => self.fire_now(&mut Vec::new(), &fired),
        }
    }

    pub(crate) fn fire(&mut self, out: &mut Vec<Statement>, fired: &Fired<'_>) -> Result<()> {
        let place = self.place;
        let when = self.when(fired).map_err(|error| in_trigger(error, fired, place))?;
        if let Some((_, condition)) = &when
            && self.known_truth_of(condition) == Some(false)
        {
            return Ok(());
        }
        let mut body = Vec::new();
        match fired.trigger.deferral() {
            None => self.fire_now(&mut body, fired)?,
            Some(deferral) => self.fire_when_due(&mut body, fired, deferral)?,
        }
        match when {
            Some((before, condition)) if self.known_truth_of(&condition).is_none() => {
                out.extend(before);
                self.emit(out, StatementKind::If { condition, then: body, otherwise: Vec::new() });
            }
            _ => out.append(&mut body),
        }
        Ok(())
    }

    /// What a trigger does, whose condition holds.
    pub(crate) fn fire_now(&mut self, out: &mut Vec<Statement>, fired: &Fired<'_>) -> Result<()> {
        let own = (fired.table.id, fired.trigger.name.clone());
        let place = self.place;
        if self.triggers.iter().filter(|around| **around == own).count() >= DEPTH_MAX {
            self.emit_too_deep(out, fired);
            return Ok(());
        }
        let changed = self.firing.changed.as_ref();
        let turns = usize::from(changed.is_some_and(|changed| changed.draws_by_turns));
        self.triggers.push(own);
        self.loops += turns;
        let compiled = self.function_of(out, fired);
        self.loops -= turns;
        self.triggers.pop();
        compiled.map_err(|error| in_trigger(error, fired, place))
    }

    /// I2
    pub(crate) fn emit_too_deep(&self, out: &mut Vec<Statement>, fired: &Fired<'_>) {
        let (name, table) = (&fired.trigger.name, &fired.table.name);
        let text = |text: String| Some(constant(Value::Text(text), DataType::Text));
        let raise = Raise {
            sqlstate: *b"54001",
            message: vec!["stack depth limit exceeded".to_owned()],
            arguments: Vec::new(),
            detail: text(format!(
                "Trigger \"{name}\" of table \"{table}\" fires itself more than {DEPTH_MAX} times."
            )),
            hint: text(
                "Write a loop in its function, or WHEN (pg_trigger_depth() = 0).".to_owned(),
            ),
            of: None,
            is_again: false,
            parts: Vec::new(),
        };
        self.emit(out, StatementKind::Raise(raise));
    }

    /// WHEN: what is computed before it is asked, and the condition.
    pub(crate) fn when(&mut self, fired: &Fired<'_>) -> Result<Option<(Vec<Statement>, Expr)>> {
        let Some(text) = &fired.trigger.when else { return Ok(None) };
        let tokens = tokenize(text, Place { line: 1, column: 1 })?;
        let tokens = with_fields(&tokens, &field_names(fired.table));
        let written = parse_expression(&tokens, self.place)?;
        self.in_names_of_its_own(|this| {
            this.calls.mentions = [false; 2];
            let (names, _) = this.records(fired);
            this.names = vec![names];
            let condition = this.condition(&written, "WHEN")?;
            let mut before = std::mem::take(&mut this.before);
            set_places(&mut before, this.place);
            Ok(Some((before, condition)))
        })
    }

    /// Compiles a part of its own (I1).
    pub(crate) fn in_names_of_its_own<T>(
        &mut self,
        compile: impl FnOnce(&mut Self) -> Result<T>,
    ) -> Result<T> {
        let mut around = Around::default();
        around.swap_with(self);
        let of_database = std::mem::replace(&mut self.security.is_foreign_keys, false);
        self.is_procedure = true;
        self.endings.may = MayEnd::Never;
        let place = self.place;
        let compiled = compile(self);
        self.place = place;
        self.security.is_foreign_keys = of_database;
        around.swap_with(self);
        compiled
    }

    /// The statements of a trigger's function.
    pub(crate) fn function_of(
        &mut self,
        out: &mut Vec<Statement>,
        fired: &Fired<'_>,
    ) -> Result<()> {
        let Fired { table, trigger, rows, skip, .. } = *fired;
        let routine = routine_of(&trigger.function, &field_names(table))?;
        let (place, statements) = (self.place, self.calls.statements);
        let by = (trigger.function.name.as_str(), routine.is_definer);
        let compile = |this: &mut Self| {
            let of = crate::state::Calls::of(None, &trigger.function.text);
            (this.calls.mentions, this.calls.mentions_current) = (of.mentions, of.mentions_current);
            let (mut names, nothing) = this.records(fired);
            names.label = Some(trigger.function.name.clone());
            this.declare_about(fired, &mut names)?;
            this.names = vec![names];
            this.keeping.rows.clone_from(&rows.kept);
            let exit = this.new_label()?;
            let row = if skip.is_some() { rows.new.clone() } else { Vec::new() };
            let returning = TriggerReturn { exit, skip, row, nothing };
            this.returning = Returning::Trigger(returning);
            let mut body = Vec::new();
            if this.calls.mentions != [false; 2] {
                this.emit_touched(&mut body, 0);
            }
            this.with_own_path(&routine, |this| this.block(&routine.body, &mut body))?;
            let leaves =
                |last: &Statement| matches!(last.kind, StatementKind::Leave(at) if at == exit);
            match body.iter().position(leaves) {
                Some(at) => body.truncate(at),
                None => this.emit_end(&mut body, routine.end),
            }
            if walk::is_left(exit, &body) {
                let inner = std::mem::take(&mut body);
                this.emit_in_block(&mut body, Some(exit), |_, out| out.extend(inner));
            }
            this.with_records_kept(fired, body)
        };
        let mut body = self.as_function(by, |this| this.in_names_of_its_own(compile))?;
        set_places(&mut body, place);
        let mut count = 0;
        walk::statements(&body, &mut |_| count += 1);
        self.calls.statements = statements + count;
        if self.calls.statements > STATEMENTS_MAX {
            let message =
                format!("what triggers do comes to more than {STATEMENTS_MAX} statements");
            return Err(too_complex(place, message)
                .hint("have them change fewer tables that have triggers themselves"));
        }
        out.append(&mut body);
        Ok(())
    }

    /// OLD and NEW; the names of those that there are not.
    pub(crate) fn records(&mut self, fired: &Fired<'_>) -> (Names, Vec<String>) {
        let (mut names, mut nothing) = (Names::default(), Vec::new());
        for (name, slots) in [("old", &fired.rows.old), ("new", &fired.rows.new)] {
            let columns: Vec<_> = fired
                .table
                .columns
                .iter()
                .map(|column| (column.name.clone(), SqlType::Scalar(column.data_type)))
                .collect();
            let fields = match slots.is_empty() {
                false => {
                    columns.into_iter().map(|(name, _)| name).zip(slots.iter().copied()).collect()
                }
                true => {
                    nothing.push(name.to_owned());
                    self.record_fields(name, &columns).unwrap_or_default()
                }
            };
            let of = Some(fired.table.row_type());
            let variable = Variable::Record { fields, open: false, of };
            names.variables.push((name.to_owned(), variable));
        }
        (names, nothing)
    }

    /// TG_OP and its kin.
    pub(crate) fn declare_about(&mut self, fired: &Fired<'_>, names: &mut Names) -> Result<()> {
        let Fired { table, trigger, event, .. } = *fired;
        let text = |text: &str| constant(Value::Text(text.to_owned()), DataType::Text);
        let relation = Value::BigInt(table_number(table.id));
        let about = [
            ("tg_op", text(event.name())),
            ("tg_name", text(&trigger.name)),
            ("tg_when", text(trigger.timing.name())),
            ("tg_level", text(trigger.level.name())),
            ("tg_table_name", text(&table.name)),
            ("tg_relname", text(&table.name)),
            ("tg_table_schema", text("public")),
            ("tg_relid", constant(relation, DataType::Oid)),
            ("tg_nargs", integer(trigger.arguments.len() as i32)),
        ];
        for (name, value) in about {
            let slot = self.slot(name, value.sql_type)?;
            let variable = Variable::Scalar { slot, constant: true, not_null: false };
            names.variables.push((name.to_owned(), variable));
            self.firing.known.push((slot, value));
        }
        let slot = self.slot("tg_argv", SqlType::Array(DataType::Text))?;
        let variable = Variable::Scalar { slot, constant: true, not_null: false };
        names.variables.push(("tg_argv".to_owned(), variable));
        self.firing.arguments = Some((slot, trigger.arguments.clone()));
        Ok(())
    }

    /// A function's statements, before them what they read of the trigger, and around them the
    /// records that others read, too, as they were.
    pub(crate) fn with_records_kept(
        &mut self,
        fired: &Fired<'_>,
        mut body: Vec<Statement>,
    ) -> Result<Vec<Statement>> {
        let (used, defined) = (used_by(&body), defined_by(&body));
        let (mut all, mut behind) = (Vec::new(), Vec::new());
        for (slot, value) in self.firing.known.clone() {
            if used.contains(&slot) {
                self.emit_assign(&mut all, slot, value);
            }
        }
        if let Some((slot, arguments)) = self.firing.arguments.clone()
            && used.contains(&slot)
        {
            let values = arguments.into_iter().map(Value::Text).collect();
            let array = constant_array(Value::Array(values), DataType::Text);
            self.emit_assign(&mut all, slot, array);
        }
        for (_, variable) in self.names.first().map_or(&[][..], |names| &names.variables).to_vec() {
            let Variable::Record { fields, .. } = variable else { continue };
            for (_, slot) in fields {
                let is_old = fired.rows.old.contains(&slot);
                let is_new = fired.rows.new.contains(&slot);
                if !is_old && !is_new {
                    if used.contains(&slot) {
                        self.emit_nulls(&mut all, &[slot]);
                    }
                } else if defined.contains(&slot) && (is_old || fired.skip.is_none()) {
                    let kept = self.temporary("kept", self.slot_expr(slot).data_type())?;
                    self.emit_assign(&mut all, kept, self.slot_expr(slot));
                    self.emit_assign(&mut behind, slot, self.slot_expr(kept));
                }
            }
        }
        all.append(&mut body);
        all.append(&mut behind);
        Ok(all)
    }

    /// RETURN in a trigger's function.
    pub(crate) fn return_of_trigger(
        &mut self,
        to: &TriggerReturn,
        value: Option<&ast::Expr>,
        out: &mut Vec<Statement>,
    ) -> Result<()> {
        let Some(value) = value else {
            return Err(syntax(self.place, "missing expression after RETURN"));
        };
        match (self.returned_row(to, value)?, to.skip) {
            (None, Some(skip)) => self.emit_assign(out, skip, truth(true)),
            (Some(row), Some(_)) if !to.row.is_empty() => {
                if row.len() != to.row.len() {
                    let message = "returned row structure does not match the structure of the \
                                   triggering table";
                    return Err(error(b"42804", self.place, message));
                }
                let mut pairs = self.fitted(&to.row, &row)?;
                let is_itself = |slot, value: &Expr| value.kind == ExprKind::Slot(slot);
                pairs.retain(|(slot, value)| !is_itself(*slot, value));
                self.emit_assigns(out, pairs)?;
            }
            _ => {}
        }
        self.emit(out, StatementKind::Leave(to.exit));
        Ok(())
    }

    /// The row that RETURN gives; none: NULL.
    pub(crate) fn returned_row(
        &mut self,
        to: &TriggerReturn,
        value: &ast::Expr,
    ) -> Result<Option<Vec<(String, Expr)>>> {
        match bare(value) {
            ast::Expr::Value(literal) if matches!(literal.value, ast::Value::Null) => Ok(None),
            ast::Expr::Identifier(name) if to.nothing.contains(&ident_name(name)) => Ok(None),
            ast::Expr::Function(function) if function_name(function) == "coalesce" => {
                let (_, values) = arguments(function, self.place)?;
                for value in values {
                    if let Some(row) = self.returned_row(to, value)? {
                        return Ok(Some(row));
                    }
                }
                Ok(None)
            }
            _ => {
                let wanted: Vec<_> = to
                    .row
                    .iter()
                    .map(|slot| (String::new(), self.slot_expr(*slot).sql_type))
                    .collect();
                self.row_value(value, &wanted, || "RETURN".to_owned()).map(Some)
            }
        }
    }

    /// `pg_trigger_depth()`
    pub(crate) fn trigger_depth(&self) -> Expr {
        integer(self.triggers.len() as i32)
    }
}

pub(crate) fn field_names(table: &Table) -> Vec<String> {
    table.columns.iter().map(|column| column.name.clone()).collect()
}

/// A trigger's function, with OLD and NEW of a table with these columns.
pub(crate) fn routine_of(function: &TriggerFunction, fields: &[String]) -> Result<Routine> {
    let tokens = tokenize(&function.text, Place { line: 1, column: 1 })?;
    let end = tokens.last().map_or(Place::default(), |last| crate::error::place_of(last.span.end));
    let mut cursor = Cursor::new(&tokens, end);
    cursor.expect("create")?;
    let or_replace = cursor.accept_all(&["or", "replace"]);
    let routine = routine_with(&mut cursor, or_replace, |tokens| with_fields(tokens, fields))?;
    // Its names are looked for where its maker had them looked for, whoever fires it.
    let own = path_before(&function.text).filter(|path| path.schemas().next().is_some());
    Ok(Routine { path: routine.path.or(own), ..routine })
}

/// The error of what a trigger does, at the statement that fires it.
pub(crate) fn in_trigger(mut error: SqlError, fired: &Fired<'_>, place: Place) -> SqlError {
    if error.is_refusal() {
        return error;
    }
    if error.detail.is_none() {
        let function = shown(routine_name(&fired.trigger.function.name).to_owned());
        let name = &fired.trigger.name;
        let table = &fired.table.name;
        let line = error.place.line;
        error.detail = Some(format!(
            "It stands in line {line} of function {function}(), which trigger \"{name}\" of table \
             \"{table}\" executes."
        ));
    }
    error.place = place;
    error
}

/// Statements of a function stand where the statement does that fires it.
pub(crate) fn set_places(body: &mut [Statement], place: Place) {
    for statement in body {
        statement.place = place;
        walk::blocks_mut(statement).into_iter().for_each(|block| set_places(block, place));
    }
}
