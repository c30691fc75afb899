//! CASE: arm by arm, or by a table of jumps.

use hotrow_base::types::SqlType;
use hotrow_base::value::Value;

use super::Lowerer;
use super::expr::is_same_datum;
use super::segments::Label;
use crate::bytecode::{Op, SwitchCode};
use crate::program::{CompareOp, Expr, ExprKind, SlotId};

/// Fewest arms of a CASE that is worth a table.
const SWITCH_ARMS_MIN: usize = 4;

impl Lowerer<'_> {
    pub(super) fn case_into(
        &mut self,
        to: SqlType,
        arms: &[(Expr, Expr)],
        otherwise: Option<&Expr>,
        dst: u16,
    ) {
        let end = self.label();
        let starts = self.switch(arms);
        for (i, (condition, value)) in arms.iter().enumerate() {
            let next = self.label();
            match &starts {
                Some(starts) => self.place(starts[i]),
                None => self.jump_unless(condition, next),
            }
            self.expr_as_into(value, to, dst);
            self.emit(Op::Jump { to: end.0 });
            self.place(next);
        }
        if let Some(otherwise) = starts.as_ref().and_then(|starts| starts.last()) {
            self.place(*otherwise);
        }
        match otherwise {
            Some(value) => self.expr_as_into(value, to, dst),
            None => self.null_into(to, dst),
        }
        self.place(end);
    }

    /// A jump by table, where all arms compare one integer slot with constants that lie close
    /// together; gives the label of each arm and of ELSE.
    fn switch(&mut self, arms: &[(Expr, Expr)]) -> Option<Vec<Label>> {
        let (slot, first) = arms.first().and_then(|(condition, _)| equal_to_constant(condition))?;
        if arms.len() < SWITCH_ARMS_MIN {
            return None;
        }
        let mut values = vec![first];
        for (condition, _) in &arms[1..] {
            let (other, value) = equal_to_constant(condition)?;
            if other != slot {
                return None;
            }
            values.push(value);
        }
        let base = *values.iter().min()?;
        let span = usize::try_from(values.iter().max()?.checked_sub(base)?).ok()? + 1;
        if span > arms.len() * 4 {
            return None;
        }
        let labels: Vec<Label> = (0..=arms.len()).map(|_| self.label()).collect();
        let otherwise = labels.last()?.0;
        let mut targets = vec![otherwise; span];
        // Backwards, so that the first arm of a value is the one that counts.
        for (label, value) in labels.iter().zip(&values).rev() {
            targets[(value - base) as usize] = label.0;
        }
        self.program.switches.push(SwitchCode { base, targets: targets.into(), otherwise });
        let table = self.number(self.program.switches.len() - 1);
        self.load_deferred(slot, slot.0);
        let a = self.slot(slot);
        self.emit(Op::Switch { a, table });
        Some(labels)
    }
}

/// Slot and value of a condition `slot = integer constant`.
fn equal_to_constant(condition: &Expr) -> Option<(SlotId, i64)> {
    let ExprKind::Compare(CompareOp::Equal, a, b) = &condition.kind else { return None };
    let slot = |expr: &Expr| match &uncast(expr).kind {
        ExprKind::Slot(slot) if uncast(expr).data_type().is_integer() => Some(*slot),
        _ => None,
    };
    let value = |expr: &Expr| match uncast(expr).kind {
        ExprKind::Constant(Value::SmallInt(value)) => Some(i64::from(value)),
        ExprKind::Constant(Value::Int(value)) => Some(i64::from(value)),
        ExprKind::Constant(Value::BigInt(value)) => Some(value),
        _ => None,
    };
    match (slot(a), value(b)) {
        (Some(slot), Some(value)) => Some((slot, value)),
        _ => Some((slot(b)?, value(a)?)),
    }
}

/// An integer without conversions that keep its value.
fn uncast(expr: &Expr) -> &Expr {
    match &expr.kind {
        ExprKind::Cast(inner)
            if inner.data_type().is_integer()
                && is_same_datum(inner.data_type(), expr.data_type()) =>
        {
            uncast(inner)
        }
        _ => expr,
    }
}
