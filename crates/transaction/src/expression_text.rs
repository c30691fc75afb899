//! Expressions as people would write them, where they are short enough to be read.
//!
//! Role         for EXPLAIN, checks and messages; the text is for reading, not for parsing

use crate::program::{ArithmeticOp, Expr, ExprKind, Procedure, SlotId};
use crate::walk;

/// An expression of a procedure: variables by their names; what is longer than arithmetic is told
/// by the variables that it reads.
pub(crate) fn expression_text(procedure: &Procedure, expr: &Expr) -> String {
    let name = |slot: &SlotId| procedure.slots[slot.index()].name.as_str();
    match &expr.kind {
        ExprKind::Slot(slot) => name(slot).to_owned(),
        ExprKind::Constant(value) => value.to_string(),
        ExprKind::Cast(inner) => expression_text(procedure, inner),
        ExprKind::Element(array, at) => {
            format!("{}[{}]", name(array), expression_text(procedure, at))
        }
        ExprKind::Arithmetic(op, a, b) => {
            let sign = match op {
                ArithmeticOp::Add => '+',
                ArithmeticOp::Subtract => '-',
                ArithmeticOp::Multiply => '*',
                ArithmeticOp::Divide => '/',
                ArithmeticOp::Modulo => '%',
            };
            let (a, b) = (expression_text(procedure, a), expression_text(procedure, b));
            format!("({a} {sign} {b})")
        }
        _ => {
            let mut slots = Vec::new();
            walk::expr_slots(expr, &mut |slot| slots.push(name(&slot)));
            format!("an expression over ({})", slots.join(", "))
        }
    }
}
