//! Blocks whose errors are caught, in a slice.
//!
//! The slice does not catch: it holds what the block and all of its handlers may touch, and goes on
//! as if no error had come. Consider
//!
//! ```text
//! BEGIN
//!     INSERT INTO t VALUES (p);
//! EXCEPTION WHEN unique_violation THEN
//!     UPDATE u SET n = n + 1 WHERE id = p;
//!     v := 2;
//! END;
//! UPDATE w SET n = n + 1 WHERE id = v;
//! ```
//!
//! The marks of both statements are run, and then `v` is what it was before the block. A call in
//! which the handler runs strays from its plan at `w`, and is run alone.

use crate::program::{Expr, ExprKind, LabelId, Place, Protected, SlotId, Statement, StatementKind};
use crate::walk;

use super::{Control, Cutter, ProtectedKnowledge};

impl<'a> Cutter<'a> {
    pub(super) fn protected(
        &mut self,
        statement: &'a Statement,
        of: &'a Protected,
        control: Control,
        out: &mut Vec<Statement>,
    ) {
        let (inner, place) = (control.under(false), statement.place);
        let decides = self.decides(of);
        self.protected.push(match decides {
            true => ProtectedKnowledge::Guessed,
            false => ProtectedKnowledge::Held,
        });
        let mut body = self.block(&of.body, inner);
        let handlers: Vec<_> =
            of.handlers.iter().map(|handler| self.block(&handler.body, inner)).collect();
        if !decides {
            out.append(&mut body);
            out.extend(handlers.into_iter().flatten());
            return;
        }
        let mut aside = Vec::new();
        for handler in handlers {
            self.handler_aside(handler, place, &mut aside);
        }
        let mut is_left = false;
        walk::left_labels(&body, &mut |_| is_left = true);
        // Nothing stands behind what leaves the block, so that handlers come before it.
        let (first, then) = if is_left { (aside, body) } else { (body, aside) };
        out.extend(first);
        out.extend(then);
    }

    /// Whether what comes behind a block, or in its handlers, depends on whether an error comes: on
    /// a slot that others than its own body look at, or on what is left.
    fn decides(&self, of: &Protected) -> bool {
        let handlers = of.handlers.iter().map(|handler| &handler.body[..]);
        let mut decides = of.told.iter().any(|&(_, slot)| self.needs.slot(slot));
        for block in [&of.body[..]].into_iter().chain(handlers) {
            walk::left_labels(block, &mut |label| decides |= self.needs.leaves(label));
            walk::statements(block, &mut |inner| {
                decides |= self.needs.end(inner);
                walk::defines(inner, &mut |slot| {
                    let is_local = || self.locals.has(block.as_ptr(), slot);
                    decides |= self.needs.slot(slot) && !is_local();
                });
            });
        }
        decides
    }

    /// Whether a slot of the procedure is needed; what the slice adds is its own.
    fn is_needed(&self, slot: SlotId) -> bool {
        slot.index() < self.needs.procedure.slots.len() && self.needs.slot(slot)
    }

    /// The marks of a handler, after which all is as it was before.
    fn handler_aside(
        &mut self,
        mut handler: Vec<Statement>,
        place: Place,
        out: &mut Vec<Statement>,
    ) {
        if handler.is_empty() {
            return;
        }
        let mut left = Vec::new();
        walk::left_labels(&handler, &mut |label| left.push(label));
        let end = LabelId(self.labels);
        self.labels = self.labels.saturating_add(1);
        redirect(&mut handler, &left, end);
        let mut set = Vec::new();
        walk::statements(&handler, &mut |inner| {
            walk::defines(inner, &mut |slot| {
                if self.is_needed(slot) && !set.contains(&slot) {
                    set.push(slot);
                }
            });
        });
        let mut back = Vec::new();
        for slot in set {
            let expr = |slot, sql_type| Expr { kind: ExprKind::Slot(slot), sql_type };
            let sql_type = self.slots[slot.index()].sql_type;
            let kept = self.new_slot(&expr(slot, sql_type));
            let assign = |slot: SlotId, from: SlotId| Statement {
                kind: StatementKind::Assign { slot, value: expr(from, sql_type) },
                place,
            };
            out.push(assign(kept, slot));
            back.push(assign(slot, kept));
        }
        let kind = StatementKind::Block { label: end, body: handler };
        out.push(Statement { kind, place });
        out.append(&mut back);
    }
}

/// Has what leaves one of these blocks leave another one.
fn redirect(statements: &mut [Statement], left: &[LabelId], to: LabelId) {
    for statement in statements {
        if let StatementKind::Leave(label) = &mut statement.kind
            && left.contains(label)
        {
            *label = to;
        }
        for block in walk::blocks_mut(statement) {
            redirect(block, left, to);
        }
    }
}
