//! overlay: a text in which a part is replaced by another one.

use hotrow_base::types::DataType;
use hotrow_transaction::program::{ArithmeticOp, Expr, ExprKind, Function};

use crate::typing::{call, integer, scalar};

/// `overlay(text PLACING new FROM place FOR count)`: what stands before the place, the new text,
/// and what stands behind as many characters as are replaced; without a count, as many as are new.
///
/// Source       PostgreSQL 15, `text_overlay`
pub(crate) fn overlaid(values: Vec<Expr>) -> Expr {
    let mut values = values.into_iter();
    let mut next = || values.next().unwrap_or_else(|| integer(0));
    let (whole, new, from) = (next(), next(), next());
    let length = || call(Function::Length, vec![new.clone()], DataType::Integer);
    let count = values.next().unwrap_or_else(length);
    let computed = |op, a: Expr, b: Expr| {
        scalar(ExprKind::Arithmetic(op, Box::new(a), Box::new(b)), DataType::Integer)
    };
    let part = |arguments| call(Function::Substring, arguments, DataType::Text);
    let before = computed(ArithmeticOp::Subtract, from.clone(), integer(1));
    let before = part(vec![whole.clone(), integer(1), before]);
    let behind = part(vec![whole, computed(ArithmeticOp::Add, from, count)]);
    let joined = |a, b| scalar(ExprKind::Concat(Box::new(a), Box::new(b)), DataType::Text);
    joined(joined(before, new), behind)
}
