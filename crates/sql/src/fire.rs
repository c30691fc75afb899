//! Triggers that fire: the statements of their functions stand where the rows are changed.
//!
//! Role         asked by whatever changes rows. A trigger's function is compiled for each place
//!              where it may fire, with OLD and NEW as records of the table's columns, and TG_OP
//!              and its kin as known values: a branch that they rule out is not compiled. So
//!              planning, locks and actions see what a trigger touches as they see what the
//!              procedure does itself
//! Invariants   I1 a function has FOUND, names, loops and handlers of its own: nothing of the
//!                 statement that fires it ([`Around`])
//!              I2 a trigger stands in itself [`DEPTH_MAX`] times at most, and what would come then
//!                 fails (54001); what all come to is bounded as for called procedures
//!              I3 what an AFTER trigger does stands behind the statement, and finds all its rows
//!                 changed; where it changes one row at most, right behind that
//! Source       PostgreSQL 15, chapter 39 and 43.10

use hotrow_base::ids::{ColumnId, TableId};
use hotrow_base::types::{DataType, SqlType};
use hotrow_transaction::catalog::{Table, Trigger, TriggerEvent, TriggerLevel, TriggerTiming};
use hotrow_transaction::program::{ExprKind, ROW_COUNT, SlotId, Statement, StatementKind};
use hotrow_transaction::walk;

use crate::comparison::negated;
use crate::error::Result;
use crate::path::truth;
use crate::scope::Compiler;
use crate::state::{ChangedColumn, ChangedRows, EventRows, KeptColumn, KeptRows};
use crate::typing::{integer, scalar};

/// What a statement does to a table: events, and columns that are set.
pub(crate) type Events = Vec<(TriggerEvent, Vec<ColumnId>)>;

/// The slots of a row that a trigger fires for: one for each column.
#[derive(Clone, Default)]
pub(crate) struct RowSlots {
    pub(crate) old: Vec<SlotId>,
    pub(crate) new: Vec<SlotId>,
    /// of a statement: its transition tables
    pub(crate) kept: Vec<KeptRows>,
}

impl RowSlots {
    /// A row as it was, and as it will be; no slots: there is none.
    pub(crate) fn new(old: Vec<SlotId>, new: Vec<SlotId>) -> Self {
        Self { old, new, kept: Vec::new() }
    }
}

/// What fires, and where it does.
pub(crate) struct Fired<'f> {
    pub(crate) table: &'f Table,
    pub(crate) trigger: &'f Trigger,
    pub(crate) event: TriggerEvent,
    pub(crate) rows: &'f RowSlots,
    /// of a BEFORE trigger for rows
    pub(crate) skip: Option<SlotId>,
}

impl<'c> Compiler<'c> {
    /// The triggers of a table that may fire.
    fn triggers_of(&self, table: TableId) -> &'c [Trigger] {
        if self.firing.is_silent { &[] } else { &self.catalog.table(table).triggers }
    }

    /// The triggers of a table that fire, in their order.
    pub(crate) fn firing_triggers(
        &self,
        table: TableId,
        (level, timing): (TriggerLevel, TriggerTiming),
        (event, set): (TriggerEvent, &[ColumnId]),
    ) -> Vec<&'c Trigger> {
        let triggers = self.triggers_of(table).iter();
        let fires = |trigger: &&Trigger| {
            trigger.level == level && trigger.timing == timing && trigger.fires(event, set)
        };
        triggers.filter(fires).collect()
    }

    /// Whether a table has triggers for rows that are changed in this way, or that are shown them.
    pub(crate) fn fires_for_rows(
        &self,
        table: TableId,
        event: TriggerEvent,
        set: &[ColumnId],
    ) -> bool {
        let triggers = self.triggers_of(table);
        let fires = triggers.iter().any(|of| {
            let is_shown_rows = of.transition.iter().any(Option::is_some);
            (of.level == TriggerLevel::Row || is_shown_rows) && of.fires(event, set)
        });
        // New rows are looked at where triggers are shown them.
        fires || self.checks_new_rows(self.catalog.table(table), event)
    }

    /// Whether something fires behind a statement as a whole, or for it.
    pub(crate) fn fires_for_statement(&self, table: TableId, events: &Events) -> bool {
        let triggers = self.triggers_of(table);
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
        let known = self.triggers_of(table);
        if !known.iter().any(|of| events.iter().any(|(event, set)| of.fires(*event, set))) {
            return compile(self, out);
        }
        let draws_by_turns = !is_one || known.iter().any(|of| of.level == TriggerLevel::Statement);
        let changed = ChangedRows { is_one, draws_by_turns, events: Vec::new() };
        let around = self.firing.changed.replace(changed);
        let fired = self.fire_around(out, (table, events), compile);
        self.firing.changed = around;
        fired
    }

    fn fire_around(
        &mut self,
        out: &mut Vec<Statement>,
        (table, events): (TableId, &Events),
        compile: impl FnOnce(&mut Self, &mut Vec<Statement>) -> Result<()>,
    ) -> Result<()> {
        self.fire_before_statement(out, table, events)?;
        let begin = out.len();
        self.keep_for_transition(table, events)?;
        compile(self, out)?;
        let changed = self.firing.changed.clone().unwrap_or_default();
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
        self.emit_unseen(out, before) // the statement may read them
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
    pub(crate) fn event_rows(
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
        self.in_loop(|this| {
            triggers.into_iter().try_for_each(|trigger| {
                this.fire(&mut body, &Fired { table, trigger, event, rows: &rows, skip: None })
            })
        })?;
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
    pub(crate) fn slots_of_rows(&mut self, table: &Table, event: TriggerEvent) -> Result<RowSlots> {
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
        self.emit_next(out, count);
        for ChangedColumn { is_new, column, array, .. } in columns {
            let slots = if is_new { &rows.new } else { &rows.old };
            self.emit_append(out, array, self.slot_expr(slots[column.index()]));
        }
        Ok(())
    }
}

/// The slots that statements read.
pub(crate) fn used_by(body: &[Statement]) -> Vec<SlotId> {
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

/// The tables of REFERENCING.
pub(crate) fn transition_tables(table: &Table, trigger: &Trigger, of: &EventRows) -> Vec<KeptRows> {
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
