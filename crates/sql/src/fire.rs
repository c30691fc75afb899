//! Triggers that fire: the statements of their functions stand where the rows are changed.
//!
//! Role         asked by whatever changes rows. A trigger's function is compiled for each place where
//!              it may fire, with OLD and NEW as records of the table's columns, and TG_OP and its
//!              kin as known values: a branch that they rule out is not compiled. So planning, locks
//!              and actions see what a trigger touches as they see what the procedure does itself
//! Invariants   I1 a function has FOUND, names, loops and handlers of its own: nothing of the statement
//!                 that fires it ([`Around`])
//!              I2 a trigger stands in itself [`DEPTH_MAX`] times at most, and what would come then
//!                 fails (54001); what all come to is bounded as for called procedures
//!              I3 what an AFTER trigger does stands behind the statement, and finds all its rows
//!                 changed; where it changes one row at most, right behind that
//! Source       PostgreSQL 15, chapter 39 and 43.10

use hotrow_base::ids::{ColumnId, TableId};
use hotrow_base::types::{DataType, SqlType};
use hotrow_base::value::Value;
use hotrow_transaction::catalog::{
    Table, Trigger, TriggerEvent, TriggerFunction, TriggerLevel, TriggerTiming,
};
use hotrow_transaction::outcome::SqlError;
use hotrow_transaction::program::{
    ArithmeticOp, Expr, ExprKind, FOUND, Function, Place, ROW_COUNT, Raise, SlotId, Statement,
    StatementKind,
};
use hotrow_transaction::walk;
use sqlparser::ast;

use crate::comparison::negated;
use crate::error::{Advice, Result, error, syntax, too_complex};
use crate::inline::STATEMENTS_MAX;
use crate::known::Around;
use crate::path::truth;
use crate::relation::table_number;
use crate::routine::routine_with;
use crate::scope::Compiler;
use crate::state::{
    ChangedColumn, ChangedRows, EventRows, KeptColumn, KeptRows, MayEnd, Names, Returning,
    TriggerReturn, Variable,
};
use crate::syntax::Routine;
use crate::token::{Cursor, parse_expression, tokenize};
use crate::trigger_records::with_fields;
use crate::typing::{constant, integer, scalar};
use crate::written::{arguments, bare, function_name, ident_name};

/// How often a trigger may fire in what it fired itself.
const DEPTH_MAX: usize = 8;

/// What a statement does to a table: events, and columns that are set.
pub(crate) type Events = Vec<(TriggerEvent, Vec<ColumnId>)>;

/// The slots of a row that a trigger fires for: one for each column.
#[derive(Clone, Default)]
pub(crate) struct RowSlots {
    pub(crate) old: Vec<SlotId>,
    pub(crate) new: Vec<SlotId>,
    /// of a statement: its transition tables
    kept: Vec<KeptRows>,
}

impl RowSlots {
    /// A row as it was, and as it will be; no slots: there is none.
    pub(crate) fn new(old: Vec<SlotId>, new: Vec<SlotId>) -> Self {
        Self { old, new, kept: Vec::new() }
    }
}

/// What fires, and where it does.
struct Fired<'f> {
    table: &'f Table,
    trigger: &'f Trigger,
    event: TriggerEvent,
    rows: &'f RowSlots,
    /// of a BEFORE trigger for rows
    skip: Option<SlotId>,
}

impl<'c> Compiler<'c> {
    /// The triggers of a table that fire, in their order.
    pub(crate) fn firing_triggers(
        &self,
        table: TableId,
        (level, timing): (TriggerLevel, TriggerTiming),
        (event, set): (TriggerEvent, &[ColumnId]),
    ) -> Vec<&'c Trigger> {
        let triggers = self.catalog.table(table).triggers.iter();
        let fires = |trigger: &&Trigger| {
            trigger.level == level && trigger.timing == timing && trigger.fires(event, set)
        };
        triggers.filter(fires).collect()
    }

    /// Whether a table has triggers for rows that are changed in this way.
    pub(crate) fn fires_for_rows(
        &self,
        table: TableId,
        event: TriggerEvent,
        set: &[ColumnId],
    ) -> bool {
        let triggers = &self.catalog.table(table).triggers;
        triggers.iter().any(|of| of.level == TriggerLevel::Row && of.fires(event, set))
    }

    /// Whether something fires behind a statement as a whole, or for it.
    pub(crate) fn fires_for_statement(&self, table: TableId, events: &Events) -> bool {
        let triggers = &self.catalog.table(table).triggers;
        triggers.iter().any(|of| {
            let is_whole = of.level == TriggerLevel::Statement || of.timing == TriggerTiming::After;
            is_whole && events.iter().any(|(event, set)| of.fires(*event, set))
        })
    }

    /// Compiles a statement, and what fires before and behind it. `is_one`: it changes one row at
    /// most.
    pub(crate) fn as_firing(
        &mut self,
        out: &mut Vec<Statement>,
        (table, events): (TableId, &Events),
        is_one: bool,
        compile: impl FnOnce(&mut Self, &mut Vec<Statement>) -> Result<()>,
    ) -> Result<()> {
        let known = &self.catalog.table(table).triggers;
        if !known.iter().any(|of| events.iter().any(|(event, set)| of.fires(*event, set))) {
            return compile(self, out);
        }
        self.fire_before_statement(out, table, events)?;
        let begin = out.len();
        let changed = ChangedRows { is_one, events: Vec::new() };
        let around = self.firing.changed.replace(changed);
        let kept = self.keep_for_transition(table, events);
        let compiled = kept.and_then(|()| compile(self, out));
        let changed = std::mem::replace(&mut self.firing.changed, around).unwrap_or_default();
        compiled?;
        let mut empty = Vec::new();
        for rows in &changed.events {
            self.emit_assign(&mut empty, rows.count, integer(0));
            let arrays: Vec<_> = rows.columns.iter().map(|column| column.array).collect();
            self.emit_nulls(&mut empty, &arrays); // in a loop the rows are those of this turn
        }
        out.splice(begin..begin, empty);
        let mut behind = Vec::new();
        for rows in &changed.events {
            self.emit_for_rows(&mut behind, rows)?;
        }
        self.fire_behind_statement(&mut behind, table, (events, &changed))?;
        if !behind.is_empty() {
            let count = self.begin_count(out)?;
            self.emit_assign(out, count, self.slot_expr(ROW_COUNT));
            out.append(&mut behind);
            self.end_count(out, count);
        }
        Ok(())
    }

    fn fire_before_statement(
        &mut self,
        out: &mut Vec<Statement>,
        table: TableId,
        events: &Events,
    ) -> Result<()> {
        let mut before = Vec::new();
        for (event, set) in events {
            let at = (TriggerLevel::Statement, TriggerTiming::Before);
            for trigger in self.firing_triggers(table, at, (*event, set)) {
                let (table, rows) = (self.catalog.table(table), &RowSlots::default());
                let fired = Fired { table, trigger, event: *event, rows, skip: None };
                self.fire(&mut before, &fired)?;
            }
        }
        if before.is_empty() {
            return Ok(());
        }
        // The statement may read them.
        let mut kept = Vec::new();
        for slot in [FOUND, ROW_COUNT] {
            let value = self.slot_expr(slot);
            let keeps = self.temporary("kept", value.data_type())?;
            self.emit_assign(out, keeps, value);
            kept.push((slot, keeps));
        }
        out.append(&mut before);
        for (slot, keeps) in kept {
            self.emit_assign(out, slot, self.slot_expr(keeps));
        }
        Ok(())
    }

    fn fire_behind_statement(
        &mut self,
        out: &mut Vec<Statement>,
        table: TableId,
        (events, changed): (&Events, &ChangedRows),
    ) -> Result<()> {
        // That of ON CONFLICT DO UPDATE before that of its INSERT.
        for (event, set) in events.iter().rev() {
            let at = (TriggerLevel::Statement, TriggerTiming::After);
            for trigger in self.firing_triggers(table, at, (*event, set)) {
                let of = changed.events.iter().find(|rows| rows.event == *event);
                let table = self.catalog.table(table);
                let kept = of.map_or_else(Vec::new, |of| transition_tables(table, trigger, of));
                let rows = &RowSlots { kept, ..RowSlots::default() };
                let fired = Fired { table, trigger, event: *event, rows, skip: None };
                self.fire(out, &fired)?;
            }
        }
        Ok(())
    }

    /// Has all columns of changed rows be kept where a transition table shows them.
    fn keep_for_transition(&mut self, table: TableId, events: &Events) -> Result<()> {
        for (event, set) in events {
            let at = (TriggerLevel::Statement, TriggerTiming::After);
            let triggers = self.firing_triggers(table, at, (*event, set));
            if triggers.iter().any(|trigger| trigger.transition.iter().any(Option::is_some)) {
                self.event_rows(table, (*event, set), true)?;
                self.changes_many();
            }
        }
        Ok(())
    }

    /// The statement that is compiled may change several rows.
    pub(crate) fn changes_many(&mut self) {
        if let Some(changed) = &mut self.firing.changed {
            changed.is_one = false;
        }
    }

    /// Which of the rows kept for what fires behind the statement are changed in this way.
    fn event_rows(
        &mut self,
        table: TableId,
        (event, set): (TriggerEvent, &[ColumnId]),
        keeps_all: bool,
    ) -> Result<Option<usize>> {
        let events = self.firing.changed.iter().flat_map(|changed| &changed.events);
        if let Some(at) = events.clone().position(|rows| rows.event == event) {
            return Ok(Some(at));
        }
        let triggers =
            self.firing_triggers(table, (TriggerLevel::Row, TriggerTiming::After), (event, set));
        if triggers.is_empty() && !keeps_all {
            return Ok(None);
        }
        let at = events.count();
        let table = self.catalog.table(table);
        let rows = self.slots_of_rows(table, event)?;
        let mut body = Vec::new();
        self.loops += 1;
        let fired = triggers.into_iter().try_for_each(|trigger| {
            self.fire(&mut body, &Fired { table, trigger, event, rows: &rows, skip: None })
        });
        self.loops -= 1;
        fired?;
        let used = used_by(&body);
        let mut columns = Vec::new();
        for (is_new, slots) in [(false, &rows.old), (true, &rows.new)] {
            for (slot, column) in slots.iter().zip(0..) {
                if keeps_all || used.contains(slot) {
                    let of = self.slot_expr(*slot).data_type();
                    let array = self.slot("$rows", SqlType::Array(of))?;
                    let column = ColumnId(column);
                    columns.push(ChangedColumn { is_new, column, slot: *slot, array });
                }
            }
        }
        let count = self.temporary("rows", DataType::Integer)?;
        let kept = EventRows { event, count, columns, body };
        self.firing.changed.iter_mut().for_each(|changed| changed.events.push(kept.clone()));
        Ok(Some(at))
    }

    /// Slots for rows that are changed in this way.
    fn slots_of_rows(&mut self, table: &Table, event: TriggerEvent) -> Result<RowSlots> {
        let columns: Vec<_> = table
            .columns
            .iter()
            .map(|column| (column.name.clone(), SqlType::Scalar(column.data_type)))
            .collect();
        let mut slots = |name, is_there| -> Result<Vec<SlotId>> {
            let fields = if is_there { self.record_fields(name, &columns)? } else { Vec::new() };
            Ok(fields.into_iter().map(|(_, slot)| slot).collect())
        };
        let old = slots("old", event != TriggerEvent::Insert)?;
        Ok(RowSlots::new(old, slots("new", event != TriggerEvent::Delete)?))
    }

    /// The loop over kept rows.
    fn emit_for_rows(&mut self, out: &mut Vec<Statement>, rows: &EventRows) -> Result<()> {
        if rows.body.is_empty() {
            return Ok(());
        }
        let at = self.temporary("at", DataType::Integer)?;
        let mut body = Vec::new();
        for ChangedColumn { slot, array, .. } in &rows.columns {
            let of = self.slot_expr(*slot).data_type();
            let element = ExprKind::Element(*array, Box::new(self.slot_expr(at)));
            self.emit_assign(&mut body, *slot, scalar(element, of));
        }
        body.extend(rows.body.iter().cloned());
        let (from, to, step) = (integer(1), self.slot_expr(rows.count), integer(1));
        let kind = StatementKind::ForRange { slot: at, from, to, step, reverse: false, body };
        self.emit(out, kind);
        Ok(())
    }

    /// What fires before a row is changed. Gives what becomes true where a trigger leaves it out;
    /// none: no trigger may.
    pub(crate) fn fire_before_row(
        &mut self,
        out: &mut Vec<Statement>,
        table: TableId,
        (event, set): (TriggerEvent, &[ColumnId]),
        rows: &RowSlots,
    ) -> Result<Option<SlotId>> {
        let triggers =
            self.firing_triggers(table, (TriggerLevel::Row, TriggerTiming::Before), (event, set));
        if triggers.is_empty() {
            return Ok(None);
        }
        let skip = self.temporary("skip", DataType::Boolean)?;
        let (mut all, mut may_skip) = (Vec::new(), false);
        let table = self.catalog.table(table);
        for trigger in triggers {
            let mut one = Vec::new();
            let fired = Fired { table, trigger, event, rows, skip: Some(skip) };
            self.fire(&mut one, &fired)?;
            let skips = defined_by(&one).contains(&skip);
            if may_skip {
                self.emit_unless(&mut all, skip, one);
            } else {
                all.append(&mut one);
            }
            may_skip |= skips;
        }
        if may_skip {
            self.emit_assign(out, skip, truth(false));
        }
        out.append(&mut all);
        Ok(may_skip.then_some(skip))
    }

    /// Statements for rows that are not left out.
    pub(crate) fn emit_unless(&self, out: &mut Vec<Statement>, skip: SlotId, then: Vec<Statement>) {
        let condition = negated(self.slot_expr(skip));
        self.emit(out, StatementKind::If { condition, then, otherwise: Vec::new() });
    }

    /// What fires behind a row that was changed, now or at the end of its statement (I3).
    pub(crate) fn fire_behind_row(
        &mut self,
        out: &mut Vec<Statement>,
        table: TableId,
        (event, set): (TriggerEvent, &[ColumnId]),
        rows: &RowSlots,
    ) -> Result<()> {
        let Some(is_one) = self.firing.changed.as_ref().map(|changed| changed.is_one) else {
            return Ok(());
        };
        if is_one {
            let at = (TriggerLevel::Row, TriggerTiming::After);
            let triggers = self.firing_triggers(table, at, (event, set));
            let table = self.catalog.table(table);
            return triggers.into_iter().try_for_each(|trigger| {
                self.fire(out, &Fired { table, trigger, event, rows, skip: None })
            });
        }
        let Some(at) = self.event_rows(table, (event, set), false)? else { return Ok(()) };
        let kept = self.firing.changed.as_ref().map(|changed| changed.events[at].clone());
        let Some(EventRows { count, columns, .. }) = kept else { return Ok(()) };
        let (left, one) = (Box::new(self.slot_expr(count)), Box::new(integer(1)));
        let next = ExprKind::Arithmetic(ArithmeticOp::Add, left, one);
        self.emit_assign(out, count, scalar(next, DataType::Integer));
        for ChangedColumn { is_new, column, array, .. } in columns {
            let slots = if is_new { &rows.new } else { &rows.old };
            let values = vec![self.slot_expr(array), self.slot_expr(slots[column.index()])];
            let sql_type = values[0].sql_type;
            let kind = ExprKind::Call(Function::ArrayAppend, values);
            self.emit_assign(out, array, Expr { kind, sql_type });
        }
        Ok(())
    }

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
        if !is_row {
            self.firing.changed = Some(ChangedRows::default());
            let at = self.event_rows(table.id, (event, &trigger.columns), true)?;
            let changed = self.firing.changed.take().unwrap_or_default();
            let of = at.and_then(|at| changed.events.get(at));
            let kept = of.map_or_else(Vec::new, |of| transition_tables(table, trigger, of));
            rows = RowSlots { kept, ..RowSlots::default() };
        }
        let skip = (is_row && trigger.timing == TriggerTiming::Before).then_some(skip);
        self.fire(&mut Vec::new(), &Fired { table, trigger, event, rows: &rows, skip })
    }

    fn fire(&mut self, out: &mut Vec<Statement>, fired: &Fired<'_>) -> Result<()> {
        let own = (fired.table.id, fired.trigger.name.clone());
        let place = self.place;
        let when = self.when(fired).map_err(|error| in_trigger(error, fired, place))?;
        if let Some((_, condition)) = &when
            && self.known_truth_of(condition) == Some(false)
        {
            return Ok(());
        }
        let mut body = Vec::new();
        if self.triggers.iter().filter(|around| **around == own).count() >= DEPTH_MAX {
            self.emit_too_deep(&mut body, fired);
        } else {
            self.triggers.push(own);
            let compiled = self.function_of(&mut body, fired);
            self.triggers.pop();
            compiled.map_err(|error| in_trigger(error, fired, place))?;
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

    /// I2
    fn emit_too_deep(&self, out: &mut Vec<Statement>, fired: &Fired<'_>) {
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
        };
        self.emit(out, StatementKind::Raise(raise));
    }

    /// WHEN: what is computed before it is asked, and the condition.
    fn when(&mut self, fired: &Fired<'_>) -> Result<Option<(Vec<Statement>, Expr)>> {
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
    fn in_names_of_its_own<T>(
        &mut self,
        compile: impl FnOnce(&mut Self) -> Result<T>,
    ) -> Result<T> {
        let mut around = Around::default();
        around.swap_with(self);
        self.is_procedure = true;
        self.endings.may = MayEnd::Never;
        let place = self.place;
        let compiled = compile(self);
        self.place = place;
        around.swap_with(self);
        compiled
    }

    /// The statements of a trigger's function.
    fn function_of(&mut self, out: &mut Vec<Statement>, fired: &Fired<'_>) -> Result<()> {
        let Fired { table, trigger, rows, skip, .. } = *fired;
        let routine = routine_of(&trigger.function, &field_names(table))?;
        let (place, statements) = (self.place, self.calls.statements);
        let mut body = self.in_names_of_its_own(|this| {
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
            this.block(&routine.body, &mut body)?;
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
        })?;
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
    fn records(&mut self, fired: &Fired<'_>) -> (Names, Vec<String>) {
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
            names.variables.push((name.to_owned(), Variable::Record { fields, open: false }));
        }
        (names, nothing)
    }

    /// TG_OP and its kin.
    fn declare_about(&mut self, fired: &Fired<'_>, names: &mut Names) -> Result<()> {
        let Fired { table, trigger, event, .. } = *fired;
        let text = |text: &str| constant(Value::Text(text.to_owned()), DataType::Text);
        let relation = Value::BigInt(i64::from(table_number(table.id)));
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
    fn with_records_kept(
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
            let kind = ExprKind::Constant(Value::Array(values));
            self.emit_assign(&mut all, slot, Expr { kind, ..self.slot_expr(slot) });
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
    fn returned_row(
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

/// The tables of REFERENCING.
fn transition_tables(table: &Table, trigger: &Trigger, of: &EventRows) -> Vec<KeptRows> {
    let named = trigger.transition.iter().zip([false, true]);
    let shown = named.filter_map(|(name, is_new)| {
        let columns = of.columns.iter().filter(|column| column.is_new == is_new);
        let columns = columns.map(|changed| KeptColumn {
            name: table.columns[changed.column.index()].name.clone(),
            slot: changed.array,
        });
        let name = name.clone()?;
        Some(KeptRows { name, renamed: Vec::new(), columns: columns.collect() })
    });
    shown.collect()
}

fn field_names(table: &Table) -> Vec<String> {
    table.columns.iter().map(|column| column.name.clone()).collect()
}

/// A trigger's function, with OLD and NEW of a table with these columns.
fn routine_of(function: &TriggerFunction, fields: &[String]) -> Result<Routine> {
    let tokens = tokenize(&function.text, Place { line: 1, column: 1 })?;
    let end = tokens.last().map_or(Place::default(), |last| crate::error::place_of(last.span.end));
    let mut cursor = Cursor::new(&tokens, end);
    cursor.expect("create")?;
    let or_replace = cursor.accept_all(&["or", "replace"]);
    routine_with(&mut cursor, or_replace, |tokens| with_fields(tokens, fields))
}

/// The error of what a trigger does, at the statement that fires it.
fn in_trigger(mut error: SqlError, fired: &Fired<'_>, place: Place) -> SqlError {
    if error.is_refusal() {
        return error;
    }
    if error.detail.is_none() {
        let (function, name) = (&fired.trigger.function.name, &fired.trigger.name);
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
fn set_places(body: &mut [Statement], place: Place) {
    for statement in body {
        statement.place = place;
        walk::blocks_mut(statement).into_iter().for_each(|block| set_places(block, place));
    }
}

fn used_by(body: &[Statement]) -> Vec<SlotId> {
    let mut used = Vec::new();
    walk::statements(body, &mut |statement| walk::uses(statement, &mut |slot| used.push(slot)));
    used.sort_unstable();
    used.dedup();
    used
}

/// The slots that statements assign.
pub(crate) fn defined_by(body: &[Statement]) -> Vec<SlotId> {
    let mut all = Vec::new();
    walk::statements(body, &mut |statement| walk::defines(statement, &mut |slot| all.push(slot)));
    all
}
