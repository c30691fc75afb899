//! What a compilation keeps in mind of the routines around the one that it compiles.
//!
//! Role         for [`crate::circle`], whose I1 says what stands in their place

use std::cell::Cell;
use std::rc::Rc;
use std::sync::Arc;

use hotrow_base::types::DataType;
use hotrow_transaction::program::{LabelId, Procedure, SlotId, Statement, StatementKind};
use hotrow_transaction::walk;

/// The routines around the one that is compiled.
#[derive(Clone, Default)]
pub(crate) struct Circle {
    /// what callers see of them, the outermost first
    pub(crate) around: Vec<Arc<Procedure>>,
    /// those of them that it calls so far
    pub(crate) used: Vec<AroundUse>,
    /// how many were compiled within others so far
    pub(crate) compiled: Rc<Cell<u32>>,
    /// what the slots and labels of the next routine that is called become here (I1)
    pub(crate) meets: Meets,
    /// whether what it calls lacks something, or calls what does
    pub(crate) is_hollow: bool,
}

/// A routine around the one that is compiled, as that knows it (I1).
#[derive(Clone)]
pub(crate) struct AroundUse {
    /// which
    pub(crate) key: String,
    /// its block
    pub(crate) label: LabelId,
    pub(crate) parameters: Vec<SlotId>,
    pub(crate) results: Vec<(SlotId, DataType)>,
}

/// What stands here for what a routine that is called has in place of those around it.
#[derive(Clone, Default)]
pub(crate) struct Meets {
    /// slots there, and here
    pub(crate) slots: Vec<(SlotId, SlotId)>,
    /// labels there and here, and what else stays as an inner run leaves it
    pub(crate) labels: Vec<(LabelId, LabelId, Vec<SlotId>)>,
}

impl Meets {
    /// What a slot of the routine that is called is here; none: it is the routine's own.
    pub(crate) fn slot(&self, there: usize) -> Option<SlotId> {
        let found = self.slots.iter().find(|(slot, _)| slot.index() == there);
        found.map(|(_, here)| *here)
    }

    /// Has calls of routines around be those of what is around here; `first`: what was added to
    /// the labels of the statements.
    pub(crate) fn settle(&self, body: &mut [Statement], first: u16) {
        if self.labels.is_empty() {
            return;
        }
        for statement in body {
            if let StatementKind::Recur(of) = &mut statement.kind {
                let is_it = |known: &&(LabelId, LabelId, Vec<SlotId>)| {
                    known.0.0.checked_add(first) == Some(of.label.0)
                };
                if let Some((_, here, shared)) = self.labels.iter().find(is_it) {
                    of.label = *here;
                    of.shared.extend(shared);
                }
            }
            for inner in walk::blocks_mut(statement) {
                self.settle(inner, first);
            }
        }
    }
}
