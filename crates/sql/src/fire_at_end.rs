//! Constraint triggers that fire at the end of the call: its last statements.
//!
//! Role         where a trigger that is INITIALLY DEFERRED would fire, the row is kept in variables
//!              of the procedure, and behind all its statements a loop fires for each in order. So
//!              a call that is a transaction of its own is planned with what its triggers do, like
//!              any other. In an open transaction COMMIT may be far: there the row is told instead
//!              ([`crate::fire_later`])
//! Invariants   I1 procedures that call each other in one program keep their rows in one place, and
//!                 only what is outermost fires: the statements that fire in the others are left
//!                 out ([`Procedure::body_of_call`])
//!              I2 a handler of an exception forgets the rows that its block has kept
//!              I3 where variables do not hold what was kept (a routine that calls itself has them
//!                 anew, and what a query calls leaves none behind), nothing is kept, but told

use hotrow_base::types::{DataType, SqlType};
use hotrow_base::value::Value;
use hotrow_transaction::invocation::Leaves;
use hotrow_transaction::program::{
    CompareOp, EventQueue, ExprKind, Function, LaterEvents, Procedure, SlotId, Statement,
    StatementKind,
};
use hotrow_transaction::walk;

use crate::error::Result;
use crate::fire::{Fired, defined_by, used_by};
use crate::fire_later::leaves;
use crate::scope::Compiler;
use crate::typing::{call, constant, integer, scalar};

impl Compiler<'_> {
    /// Keeps a row that a trigger is to fire for, where the call fires; else does what tells it.
    pub(crate) fn emit_kept_event(
        &mut self,
        out: &mut Vec<Statement>,
        fired: &Fired<'_>,
        told: Vec<Statement>,
    ) -> Result<()> {
        let Fired { table, trigger, event, rows, .. } = *fired;
        let values: Vec<SlotId> = rows.old.iter().chain(&rows.new).copied().collect();
        let types = values.iter().map(|slot| self.slot_expr(*slot).data_type()).collect::<Vec<_>>();
        let queue = EventQueue {
            table: table.id,
            trigger: trigger.name.clone(),
            event,
            arrays: Vec::new(),
        };
        let name = queue.name();
        let arrays = self.queue_like(queue, &types)?;
        let Some(LaterEvents { fires, order, .. }) = self.later else { return Ok(()) };
        let mut kept = Vec::new();
        self.emit_append(&mut kept, order, constant(Value::Text(name), DataType::Text));
        for (array, value) in arrays.into_iter().zip(values) {
            self.emit_append(&mut kept, array, self.slot_expr(value));
        }
        let condition = self.slot_expr(fires);
        self.emit(out, StatementKind::If { condition, then: kept, otherwise: told });
        Ok(())
    }

    /// The arrays of a queue for the same events, of rows with columns of these types.
    fn queue_like(&mut self, like: EventQueue, types: &[DataType]) -> Result<Vec<SlotId>> {
        let name = like.name();
        if self.later.is_none() {
            let fires = self.temporary("fires", DataType::Boolean)?;
            let order = self.slot("$events", SqlType::Array(DataType::Text))?;
            self.later = Some(LaterEvents { fires, order, queues: Vec::new(), firing: 0..0 });
        }
        let known = self.later.iter().flat_map(|later| &later.queues);
        if let Some(queue) = known.into_iter().find(|queue| queue.name() == name) {
            return Ok(queue.arrays.clone());
        }
        let arrays = types.iter().map(|of| self.slot("$event", SqlType::Array(*of)));
        let arrays = arrays.collect::<Result<Vec<_>>>()?;
        let queue = EventQueue { arrays: arrays.clone(), ..like };
        self.later.iter_mut().for_each(|later| later.queues.push(queue.clone()));
        Ok(arrays)
    }

    /// Forgets the queues that have slots from this one on.
    pub(crate) fn forget_later_from(&mut self, slot: usize) {
        let is_there = |known: &SlotId| known.index() < slot;
        self.later.take_if(|later| !is_there(&later.order));
        if let Some(later) = &mut self.later {
            later.queues.retain(|queue| queue.arrays.iter().all(is_there));
        }
    }

    /// Which of a procedure's slots are what here, of those in which it keeps rows (I1).
    pub(crate) fn later_of_callee(&mut self, callee: &Procedure) -> Result<Vec<(SlotId, SlotId)>> {
        let Some(theirs) = &callee.later else { return Ok(Vec::new()) };
        let mut shared = Vec::new();
        for queue in &theirs.queues {
            let of = |array: &SlotId| match callee.slots[array.index()].sql_type {
                SqlType::Array(of) | SqlType::Scalar(of) => of,
            };
            let types: Vec<DataType> = queue.arrays.iter().map(of).collect();
            let own = self.queue_like(queue.clone(), &types)?;
            shared.extend(queue.arrays.iter().copied().zip(own));
        }
        if let Some(own) = &self.later {
            shared.extend([(theirs.fires, own.fires), (theirs.order, own.order)]);
        }
        Ok(shared)
    }

    /// Keeps what the rows are before a block with handlers; what puts them back in a handler (I2).
    pub(crate) fn keep_events(
        &mut self,
        out: &mut Vec<Statement>,
        body: &[Statement],
    ) -> Result<Vec<Statement>> {
        let slots: Vec<_> = self.later.iter().flat_map(LaterEvents::slots).collect();
        let defined = if slots.is_empty() { Vec::new() } else { defined_by(body) };
        let mut put_back = Vec::new();
        for slot in slots.into_iter().filter(|slot| defined.contains(slot)) {
            let value = self.slot_expr(slot);
            let kept = self.slot("$before", value.sql_type)?;
            self.emit_assign(out, kept, value);
            self.emit_assign(&mut put_back, slot, self.slot_expr(kept));
        }
        Ok(put_back)
    }

    /// A whole program's statements, and behind them those that fire for what they have kept.
    pub(crate) fn with_firing(
        &mut self,
        mut body: Vec<Statement>,
        returns_set: bool,
    ) -> Result<Vec<Statement>> {
        let Some(later) = &self.later else { return Ok(body) };
        let (fires, slots) = (later.fires, later.slots().collect::<Vec<_>>());
        let is_lost = walk::has_recursion(&body) || keeps_in_reads(&body, &slots);
        if is_lost || self.endings.are_any {
            return Ok(body); // I3
        }
        let mut results = Vec::new();
        if !returns_set {
            for of in self.result.iter().map(|column| column.data_type).collect::<Vec<_>>() {
                results.push((self.temporary("result", of)?, of));
            }
        }
        self.leave_at_return(&mut body, &results)?;
        let mut whole = Vec::new();
        self.emit_assign(&mut whole, fires, leaves(Leaves::Nothing));
        whole.append(&mut body);
        let first = whole.len();
        self.emit_firing(&mut whole)?;
        if let Some(later) = &mut self.later {
            later.firing = first..whole.len();
        }
        if !results.is_empty() {
            let values = results.iter().map(|(slot, _)| self.slot_expr(*slot)).collect();
            self.emit(&mut whole, StatementKind::Return(values));
        }
        Ok(whole)
    }

    /// Fires for all rows that are kept, and those that are kept meanwhile.
    fn emit_firing(&mut self, out: &mut Vec<Statement>) -> Result<()> {
        let Some(order) = self.later.as_ref().map(|later| later.order) else { return Ok(()) };
        let mut firing = Vec::new();
        let at = self.temporary("at", DataType::Integer)?;
        self.emit_assign(&mut firing, at, integer(0));
        let exit = self.new_label()?;
        let count = call(Function::Cardinality, vec![self.slot_expr(order)], DataType::Integer);
        let count = scalar(ExprKind::Coalesce(vec![count, integer(0)]), DataType::Integer);
        let here = Box::new(self.slot_expr(at));
        let is_over = ExprKind::Compare(CompareOp::GreaterOrEqual, here, Box::new(count));
        let mut turn = Vec::new();
        let mut leave = Vec::new();
        self.emit(&mut leave, StatementKind::Leave(exit));
        let condition = scalar(is_over, DataType::Boolean);
        self.emit(&mut turn, StatementKind::If { condition, then: leave, otherwise: Vec::new() });
        self.emit_next(&mut turn, at);
        let mut number = 0;
        // What a trigger does may add another queue.
        while let Some(queue) = self.later.as_ref().and_then(|of| of.queues.get(number)).cloned() {
            let own = self.temporary("at", DataType::Integer)?;
            self.emit_assign(&mut firing, own, integer(0));
            let element = ExprKind::Element(order, Box::new(self.slot_expr(at)));
            let element = Box::new(scalar(element, DataType::Text));
            let name = Box::new(constant(Value::Text(queue.name()), DataType::Text));
            let is_its = ExprKind::Compare(CompareOp::Equal, element, name);
            let mut then = Vec::new();
            self.emit_next(&mut then, own);
            self.in_loop(|this| this.emit_firing_of(&mut then, &queue, own))?;
            let condition = scalar(is_its, DataType::Boolean);
            self.emit(&mut turn, StatementKind::If { condition, then, otherwise: Vec::new() });
            number += 1;
        }
        self.emit_loop(&mut firing, exit, turn);
        self.emit_unseen(out, firing)
    }

    /// What a trigger does for the row that is number `at` of its queue.
    fn emit_firing_of(
        &mut self,
        out: &mut Vec<Statement>,
        queue: &EventQueue,
        at: SlotId,
    ) -> Result<()> {
        let table = self.catalog.table(queue.table);
        let found = table.triggers.iter().find(|trigger| trigger.name == queue.trigger);
        let Some(trigger) = found else { return Ok(()) };
        let rows = self.slots_of_rows(table, queue.event)?;
        for (slot, array) in rows.old.iter().chain(&rows.new).zip(&queue.arrays) {
            let of = self.slot_expr(*slot).data_type();
            let element = ExprKind::Element(*array, Box::new(self.slot_expr(at)));
            self.emit_assign(out, *slot, scalar(element, of));
        }
        let fired = Fired { table, trigger, event: queue.event, rows: &rows, skip: None };
        self.fire_now(out, &fired)
    }
}

/// The slots that the [body of a call](Procedure::body_of_call) reads, where it leaves out what
/// fires at the procedure's end, with what that draws; none: it has all.
pub(crate) fn draws_of_call(callee: &Procedure, body: &[Statement]) -> Option<Vec<SlotId>> {
    let fires = callee.later.as_ref().is_some_and(|later| !later.firing.is_empty());
    fires.then(|| used_by(body))
}

/// Whether something that a query calls keeps rows in these slots.
fn keeps_in_reads(body: &[Statement], slots: &[SlotId]) -> bool {
    walk::any(body, |statement| match &statement.kind {
        StatementKind::ForOperators(of) => {
            let mut defined = of.reads.iter().flat_map(|read| defined_by(&read.body));
            defined.any(|slot| slots.contains(&slot))
        }
        _ => false,
    })
}
