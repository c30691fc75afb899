//! Slots that only one body of a protected block, or one of its handlers, looks at.
//!
//! An error ends a body anywhere. What the body assigns is then anything to who looks at it
//! afterwards; but who looks at it in the body itself does so after the assignment, or not at all.
//! So whether an error comes decides nothing about such a slot.

use std::collections::{HashMap, HashSet};

use crate::program::{Procedure, SlotId, Statement, StatementKind};
use crate::walk;

/// By body or handler, which is named by where its statements lie: the slots that are defined in it
/// and that nothing outside of it defines or looks at.
#[derive(Clone, Default, Debug)]
pub(crate) struct LocalSlots(HashMap<*const Statement, HashSet<SlotId>>);

impl LocalSlots {
    /// Of a procedure, whose statements stay where they are.
    pub(crate) fn of(procedure: &Procedure) -> Self {
        let mut locals = Self::default();
        if walk::has_protected(&procedure.body) {
            let all = counts(&procedure.body);
            locals.look(procedure, &procedure.body, &all, false);
        }
        locals
    }

    /// Whether a slot is local to a body or a handler.
    pub(crate) fn has(&self, block: *const Statement, slot: SlotId) -> bool {
        self.0.get(&block).is_some_and(|slots| slots.contains(&slot))
    }

    fn look(
        &mut self,
        procedure: &Procedure,
        block: &[Statement],
        all: &HashMap<SlotId, usize>,
        in_loop: bool,
    ) {
        for statement in block {
            let is_protected = matches!(statement.kind, StatementKind::Protected(_));
            for inner in walk::blocks(statement) {
                if is_protected && !inner.is_empty() {
                    let own = counts(inner);
                    // Another turn of a loop may find what the one before has left, but for
                    // temporaries, which are assigned before they are looked at.
                    let is_local = |slot: &SlotId| {
                        let name = &procedure.slots[slot.index()].name;
                        own[slot] == all[slot] && (!in_loop || name.starts_with('$'))
                    };
                    let local = own.keys().copied().filter(is_local).collect();
                    self.0.insert(inner.as_ptr(), local);
                }
                self.look(procedure, inner, all, in_loop || is_loop(statement));
            }
        }
    }
}

const fn is_loop(statement: &Statement) -> bool {
    matches!(
        statement.kind,
        StatementKind::Loop { .. }
            | StatementKind::ForRange { .. }
            | StatementKind::ForEach { .. }
            | StatementKind::ForQuery { .. }
            | StatementKind::ForOperators(_)
    )
}

/// How often statements define a slot or look at it. Those that are looked at without being defined
/// are parameters, or have no value.
fn counts(block: &[Statement]) -> HashMap<SlotId, usize> {
    let mut counts = HashMap::new();
    walk::statements(block, &mut |statement| {
        let mut count = |slot| *counts.entry(slot).or_default() += 1;
        walk::defines(statement, &mut count);
        walk::uses(statement, &mut count);
    });
    counts
}
