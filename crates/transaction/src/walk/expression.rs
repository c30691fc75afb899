//! Walks over expressions.

use hotrow_base::types::{DataType, SqlType};
use hotrow_base::value::Value;

use crate::program::expression::{Expr, ExprKind, SlotId};

/// Calls `visit` with every slot an expression reads.
pub fn expr_slots(expr: &Expr, visit: &mut impl FnMut(SlotId)) {
    match &expr.kind {
        ExprKind::Slot(slot) | ExprKind::ArrayLength(slot) => visit(*slot),
        ExprKind::Element(slot, index) => {
            visit(*slot);
            expr_slots(index, visit);
        }
        _ => operands(expr, &mut |operand| expr_slots(operand, visit)),
    }
}

/// Whether an expression reads a slot that is one of those.
pub fn reads_any(expr: &Expr, mut is_one: impl FnMut(SlotId) -> bool) -> bool {
    let mut found = false;
    expr_slots(expr, &mut |slot| found = found || is_one(slot));
    found
}

/// Calls `visit` with the direct operands of an expression.
pub fn operands<'a>(expr: &'a Expr, visit: &mut impl FnMut(&'a Expr)) {
    match &expr.kind {
        ExprKind::Slot(_) | ExprKind::Constant(_) | ExprKind::ArrayLength(_) => {}
        ExprKind::Negate(a)
        | ExprKind::Not(a)
        | ExprKind::IsNull(a)
        | ExprKind::Cast(a)
        | ExprKind::Element(_, a) => visit(a),
        ExprKind::Arithmetic(_, a, b)
        | ExprKind::Compare(_, a, b)
        | ExprKind::NotDistinct(a, b)
        | ExprKind::And(a, b)
        | ExprKind::Or(a, b)
        | ExprKind::Concat(a, b) => {
            visit(a);
            visit(b);
        }
        ExprKind::Case { arms, otherwise } => {
            for (condition, value) in arms {
                visit(condition);
                visit(value);
            }
            if let Some(value) = otherwise {
                visit(value);
            }
        }
        ExprKind::Coalesce(list) | ExprKind::Call(_, list) => list.iter().for_each(visit),
    }
}

/// Calls `visit` with the direct operands of an expression, to change them.
pub fn operands_mut(expr: &mut Expr, visit: &mut impl FnMut(&mut Expr)) {
    match &mut expr.kind {
        ExprKind::Slot(_) | ExprKind::Constant(_) | ExprKind::ArrayLength(_) => {}
        ExprKind::Negate(a)
        | ExprKind::Not(a)
        | ExprKind::IsNull(a)
        | ExprKind::Cast(a)
        | ExprKind::Element(_, a) => visit(a),
        ExprKind::Arithmetic(_, a, b)
        | ExprKind::Compare(_, a, b)
        | ExprKind::NotDistinct(a, b)
        | ExprKind::And(a, b)
        | ExprKind::Or(a, b)
        | ExprKind::Concat(a, b) => {
            visit(a);
            visit(b);
        }
        ExprKind::Case { arms, otherwise } => {
            for (condition, value) in arms {
                visit(condition);
                visit(value);
            }
            if let Some(value) = otherwise {
                visit(value);
            }
        }
        ExprKind::Coalesce(list) | ExprKind::Call(_, list) => list.iter_mut().for_each(visit),
    }
}

/// Gives an expression, and all in it, other types, whose values are kept as those of the old ones.
pub fn map_types(expr: &mut Expr, map: &impl Fn(SqlType) -> SqlType) {
    expr.sql_type = map(expr.sql_type);
    if let ExprKind::Constant(Value::Enum(of, _)) = &mut expr.kind
        && let SqlType::Scalar(DataType::Enum(next)) = map(SqlType::Scalar(DataType::Enum(*of)))
    {
        *of = next;
    }
    if let ExprKind::Constant(Value::Composite(of, _)) = &mut expr.kind
        && let SqlType::Scalar(DataType::Composite(next)) =
            map(SqlType::Scalar(DataType::Composite(*of)))
    {
        *of = next;
    }
    operands_mut(expr, &mut |operand| map_types(operand, map));
}

/// Replaces every slot an expression reads.
pub fn map_slots(expr: &mut Expr, map: &impl Fn(SlotId) -> SlotId) {
    if let ExprKind::Slot(slot) | ExprKind::ArrayLength(slot) | ExprKind::Element(slot, _) =
        &mut expr.kind
    {
        *slot = map(*slot);
    }
    operands_mut(expr, &mut |operand| map_slots(operand, map));
}

/// Replaces slots by expressions.
pub fn substitute(expr: &mut Expr, replacements: &[(SlotId, &Expr)]) {
    if let ExprKind::Slot(slot) = expr.kind {
        if let Some((_, new)) = replacements.iter().find(|(old, _)| *old == slot) {
            *expr = (*new).clone();
        }
        return;
    }
    operands_mut(expr, &mut |operand| substitute(operand, replacements));
}

/// Whether evaluating an expression can fail (overflow, division by zero, bad cast).
pub fn can_fail(expr: &Expr) -> bool {
    let mut fails = matches!(
        expr.kind,
        ExprKind::Arithmetic(..) | ExprKind::Negate(_) | ExprKind::Cast(_) | ExprKind::Call(..)
    );
    operands(expr, &mut |operand| fails |= can_fail(operand));
    fails
}
