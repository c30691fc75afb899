//! Ranges as operands: what their functions and operators take and give.

use hotrow_base::range::RangeFunction;
use hotrow_base::types::{DataType, RangeKind, SqlType};
use hotrow_transaction::program::{ArithmeticOp, Expr, Function, Place};

use crate::error::Result;
use crate::functions::Type;
use crate::operand::Operand;
use crate::scope::Compiler;
use crate::typing::cast;

impl Compiler<'_> {
    /// An argument that is a range of this kind, or lies in one. None: it is of another type.
    pub(crate) fn range_argument(
        &mut self,
        operand: Operand,
        wanted: Type,
        kind: Option<RangeKind>,
        place: Place,
    ) -> Result<Option<Expr>> {
        let Some(kind) = kind else { return Ok(None) };
        let to = match wanted {
            Type::AnyRange => DataType::Range(kind),
            _ => kind.element(),
        };
        let value = self.settle(operand, to, place)?;
        Ok(match value.sql_type {
            SqlType::Scalar(of) if of == to => Some(value),
            // How many digits a numeric or a second has is no matter of the range's.
            SqlType::Scalar(of) if of.with_all_digits() == to => Some(cast(value, to)),
            SqlType::Scalar(of) if of.is_numeric() && to.is_any_numeric() => Some(cast(value, to)),
            _ => None,
        })
    }
}

/// The type of what lies in the range that is the first of some values.
pub(crate) fn element_in(values: &[Expr]) -> DataType {
    let kind = values.first().and_then(|range| range.data_type().range_kind());
    kind.map_or(DataType::Text, RangeKind::element)
}

/// What an operator does with two ranges of one kind; none: they are others, or it is.
pub(crate) fn range_function(
    op: ArithmeticOp,
    left: DataType,
    right: DataType,
) -> Option<Function> {
    left.range_kind().filter(|_| left == right)?;
    Some(Function::Range(match op {
        ArithmeticOp::Add => RangeFunction::Union,
        ArithmeticOp::Subtract => RangeFunction::Difference,
        ArithmeticOp::Multiply => RangeFunction::Intersection,
        ArithmeticOp::Divide | ArithmeticOp::Modulo => return None,
    }))
}
