//! Data flow through a statement: what it takes from before and what it may leave behind.
//!
//! Role         tells [`super::cut`] the inputs and outputs of a leaf that has statements inside

use std::collections::BTreeSet;

use crate::program::{SlotId, Statement, StatementKind};
use crate::walk;

/// Slots that cross a statement's border.
#[derive(Clone, Default, Debug)]
pub(super) struct Flow {
    /// read before they are written for sure, and, of those written perhaps, the old values
    pub inputs: BTreeSet<SlotId>,
    /// written, or perhaps written
    pub outputs: BTreeSet<SlotId>,
}

impl Flow {
    /// The flow of one statement.
    pub(super) fn of(statement: &Statement) -> Self {
        let mut flow = Self::default();
        let mut certain = BTreeSet::new();
        flow.statement(statement, &mut certain);
        let perhaps: Vec<_> = flow.outputs.difference(&certain).copied().collect();
        flow.inputs.extend(perhaps);
        flow
    }

    fn block(&mut self, block: &[Statement], certain: &mut BTreeSet<SlotId>) {
        block.iter().for_each(|statement| self.statement(statement, certain));
    }

    fn statement(&mut self, statement: &Statement, certain: &mut BTreeSet<SlotId>) {
        walk::uses(statement, &mut |slot| {
            if !certain.contains(&slot) {
                self.inputs.insert(slot);
            }
        });
        walk::defines(statement, &mut |slot| {
            self.outputs.insert(slot);
        });
        match &statement.kind {
            StatementKind::If { then, otherwise, .. } => {
                let (mut yes, mut no) = (certain.clone(), certain.clone());
                self.block(then, &mut yes);
                self.block(otherwise, &mut no);
                *certain = match (ends(then), ends(otherwise)) {
                    (true, false) => no,
                    (false, true) => yes,
                    _ => yes.intersection(&no).copied().collect(),
                };
            }
            StatementKind::ForRange { slot, body, .. }
            | StatementKind::ForEach { slot, body, .. } => {
                self.loop_body(&[*slot], body, certain);
            }
            StatementKind::ForQuery { into, body, .. } => {
                self.loop_body(into, body, certain);
            }
            StatementKind::ForOperators(of) => {
                for read in &of.reads {
                    self.inside(&read.parameters, &read.body, certain);
                }
                self.inside(&of.into, &of.body, certain);
                if of.sets_found {
                    certain.extend([crate::program::FOUND, crate::program::ROW_COUNT]);
                }
            }
            StatementKind::Loop { body } => self.inside(&[], body, certain),
            StatementKind::Block { label, body } if walk::is_left(*label, body) => {
                self.inside(&[], body, certain); // which may be left before it has written anything
            }
            StatementKind::Block { body, .. } => self.block(body, certain),
            _ => walk::defines(statement, &mut |slot| {
                certain.insert(slot);
            }),
        }
    }

    /// A loop may run not at all: what it writes is certain only inside. FOUND it always sets.
    fn loop_body(
        &mut self,
        variables: &[SlotId],
        body: &[Statement],
        certain: &mut BTreeSet<SlotId>,
    ) {
        self.inside(variables, body, certain);
        certain.insert(crate::program::FOUND);
    }

    fn inside(&mut self, variables: &[SlotId], body: &[Statement], certain: &BTreeSet<SlotId>) {
        let mut inside = certain.clone();
        inside.extend(variables);
        self.block(body, &mut inside);
    }
}

/// Whether what follows a block is never reached from it.
pub(super) fn ends(block: &[Statement]) -> bool {
    block.iter().any(|statement| match &statement.kind {
        StatementKind::Return(_) | StatementKind::Raise(_) | StatementKind::Leave(_) => true,
        StatementKind::Loop { .. } => true,
        StatementKind::Block { label, body } => ends(body) && !walk::is_left(*label, body),
        StatementKind::If { then, otherwise, .. } => ends(then) && ends(otherwise),
        _ => false,
    })
}
