//! Renaming: a procedure's statements in the middle of another procedure, with slots, labels and
//! row sets of their own there.
//!
//! Role         used where a call of one procedure in another becomes the other's statements
//! Invariants   I1 two slots that follow one another do so afterwards, but for parameters and the
//!              special ones: rows are put into slots that follow one another

use crate::program::{
    Access, Aggregate, Consume, Effect, Elements, Expr, Gives, Insert, KeyList, LabelId,
    OperatorLoop, OrderKey, Path, Place, Protected, RangeEnd, RowSetId, RowsTo, SlotId, Statement,
    StatementKind,
};
use crate::walk;

/// What the names of a procedure become.
#[derive(Clone, Debug)]
pub struct Renaming {
    /// by slot
    pub slots: Vec<SlotId>,
    /// what label 0 becomes; the others follow
    pub first_label: u16,
    /// what row set 0 becomes; the others follow
    pub first_row_set: u16,
    /// where all statements stand then
    pub place: Place,
}

impl Renaming {
    /// Renames all that statements name.
    pub fn statements(&self, body: &mut [Statement]) {
        for statement in body {
            statement.place = self.place;
            self.statement(&mut statement.kind);
            for block in walk::blocks_mut(statement) {
                self.statements(block);
            }
        }
    }

    fn statement(&self, kind: &mut StatementKind) {
        match kind {
            StatementKind::Assign { slot, value } => {
                self.slot(slot);
                self.expr(value);
            }
            StatementKind::Access(access) => self.access(access),
            StatementKind::Insert(insert) => self.insert(insert),
            StatementKind::If { condition, .. } => self.expr(condition),
            StatementKind::ForRange { slot, from, to, step, .. } => {
                self.slot(slot);
                [from, to, step].into_iter().for_each(|expr| self.expr(expr));
            }
            StatementKind::ForEach { slot, elements, .. } => {
                self.slot(slot);
                match elements {
                    Elements::Array(array) => self.slot(array),
                    Elements::Keys(keys) => self.keys(keys),
                }
            }
            StatementKind::ForQuery { rows, query, into, .. } => {
                self.rows(rows);
                self.access(query);
                into.iter_mut().for_each(|slot| self.slot(slot));
            }
            StatementKind::ForOperators(of) => self.operators(of),
            StatementKind::Block { label, .. } | StatementKind::Leave(label) => self.label(label),
            StatementKind::Protected(of) => {
                let Protected { told, .. } = &mut **of;
                told.iter_mut().for_each(|(_, slot)| self.slot(slot));
            }
            StatementKind::Raise(raise) | StatementKind::Notice(_, raise) => {
                let texts = raise.arguments.iter_mut().chain(&mut raise.detail);
                texts.chain(&mut raise.hint).for_each(|expr| self.expr(expr));
            }
            StatementKind::Return(values) | StatementKind::ReturnNext(values) => {
                values.iter_mut().for_each(|expr| self.expr(expr));
            }
            StatementKind::Recur(of) => {
                self.label(&mut of.label);
                for (slot, value) in &mut of.arguments {
                    self.slot(slot);
                    self.expr(value);
                }
                of.shared.iter_mut().for_each(|slot| self.slot(slot));
            }
            StatementKind::Loop { .. } | StatementKind::Mark(_) => {}
        }
    }

    fn slot(&self, slot: &mut SlotId) {
        *slot = self.slots[slot.index()];
    }

    fn label(&self, label: &mut LabelId) {
        label.0 += self.first_label;
    }

    fn rows(&self, rows: &mut RowSetId) {
        rows.0 += self.first_row_set;
    }

    fn expr(&self, expr: &mut Expr) {
        walk::map_slots(expr, &|slot| self.slots[slot.index()]);
    }

    fn keys(&self, keys: &mut KeyList) {
        keys.exprs_mut().iter_mut().for_each(|expr| self.expr(expr));
    }

    fn insert(&self, insert: &mut Insert) {
        insert.values.iter_mut().for_each(|expr| self.expr(expr));
        insert.returning.iter_mut().for_each(|(slot, _)| self.slot(slot));
    }

    fn operators(&self, of: &mut OperatorLoop) {
        let reads = of.reads.iter_mut();
        reads.for_each(|read| {
            read.parameters.iter_mut().for_each(|slot| self.slot(slot));
            match &mut read.gives {
                Gives::Rows { rows, .. } => self.rows(rows),
                Gives::Values(slots) | Gives::Columns(slots) => {
                    slots.iter_mut().for_each(|slot| self.slot(slot));
                }
            }
        });
        of.takes.iter_mut().chain(&mut of.into).for_each(|slot| self.slot(slot));
        self.rows(&mut of.rows);
    }

    fn access(&self, access: &mut Access) {
        self.path(&mut access.path);
        access.bind.iter_mut().for_each(|(_, slot)| self.slot(slot));
        access.filter.iter_mut().for_each(|expr| self.expr(expr));
        match &mut access.effect {
            Effect::Read(consume) | Effect::Delete { consume } => self.consume(consume),
            Effect::Update { set, consume } => {
                set.iter_mut().for_each(|(_, expr)| self.expr(expr));
                self.consume(consume);
            }
        }
    }

    fn path(&self, path: &mut Path) {
        match path {
            Path::Point { key, .. } => key.iter_mut().for_each(|expr| self.expr(expr)),
            Path::Range { prefix, lower, upper, .. } => {
                prefix.iter_mut().for_each(|expr| self.expr(expr));
                let ends = lower.iter_mut().chain(upper);
                ends.for_each(|end: &mut RangeEnd| self.expr(&mut end.value));
            }
            Path::Whole => {}
            Path::Lists { lists, path } => {
                for list in lists {
                    self.slot(&mut list.slot);
                    self.keys(&mut list.keys);
                }
                self.path(path);
            }
        }
    }

    fn consume(&self, consume: &mut Consume) {
        match consume {
            Consume::Discard => {}
            Consume::First { into, order_by, offset, .. } => {
                self.pairs(into);
                self.order(order_by);
                offset.iter_mut().for_each(|expr| self.expr(expr));
            }
            Consume::Aggregate { aggregates, into } => {
                for Aggregate { argument, result, .. } in aggregates {
                    argument.iter_mut().for_each(|expr| self.expr(expr));
                    self.slot(result);
                }
                self.pairs(into);
            }
            Consume::Rows { to, columns, order_by, limit, offset, .. } => {
                match to {
                    RowsTo::Loop(rows) => self.rows(rows),
                    RowsTo::More { rows, into } => {
                        self.rows(rows);
                        self.slot(into);
                    }
                    RowsTo::Result => {}
                }
                let exprs = columns.iter_mut().chain(limit).chain(offset);
                exprs.for_each(|expr| self.expr(expr));
                self.order(order_by);
            }
        }
    }

    fn pairs(&self, into: &mut [(SlotId, Expr)]) {
        for (slot, expr) in into {
            self.slot(slot);
            self.expr(expr);
        }
    }

    fn order(&self, order_by: &mut [OrderKey]) {
        order_by.iter_mut().for_each(|key| self.expr(&mut key.value));
    }
}
