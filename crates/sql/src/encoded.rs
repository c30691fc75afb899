//! Addresses, bit strings and times with a zone as operands: what `+`, `-`, `||` and written casts
//! of them mean. Their other operators are rows of the table of functions.

use std::slice::from_ref;

use hotrow_base::encoded::{self, EncodedFunction, EncodedType};
use hotrow_base::types::DataType;
use hotrow_base::value::Value;
use hotrow_transaction::program::{ArithmeticOp, Expr, ExprKind, Function, Place};

use crate::error::Result;
use crate::operand::Operand;
use crate::typing::{call, constant, value_error};

/// The encoded type that a type is; none: it is another one.
pub(crate) fn encoded_type(of: DataType) -> Option<EncodedType> {
    match of {
        DataType::Encoded(of) => Some(of),
        _ => None,
    }
}

const fn is_bits(of: DataType) -> bool {
    matches!(of, DataType::Encoded(EncodedType::Bit(_) | EncodedType::VarBit(_)))
}

/// Whether `||` of these is one of bits: one of them is, and the other one, too, or open.
pub(crate) fn is_bits_concat(sides: &[Operand; 2]) -> bool {
    let is = |side: &Operand| match side {
        Operand::Typed(expr) => is_bits(expr.sql_type.packed()),
        Operand::Unknown(_) | Operand::Parameter(_) => false,
    };
    let may_be = |side: &Operand| is(side) || !matches!(side, Operand::Typed(_));
    sides.iter().any(is) && sides.iter().all(may_be)
}

/// `B'101'` and `X'1F'`, written with their letter.
pub(crate) fn bits_literal(text: &str, place: Place) -> Result<Expr> {
    let of = DataType::Encoded(EncodedType::Bit(0));
    let value = Value::parse(of, text).map_err(|wrong| value_error(&wrong, place))?;
    Ok(constant(value, of))
}

/// What `+` or `-` of two types is; none: it is of others.
fn function_of(
    op: ArithmeticOp,
    left: DataType,
    right: DataType,
) -> Option<(EncodedFunction, DataType)> {
    use ArithmeticOp::{Add, Subtract};
    use DataType as T;
    use EncodedFunction as F;
    use EncodedType::{Cidr, Inet, TimeTz};
    const INET: DataType = DataType::Encoded(Inet);
    const TIME: DataType = DataType::Encoded(TimeTz(hotrow_base::types::TIME_DIGITS));
    Some(match (op, left, right) {
        (Add, T::Encoded(Inet | Cidr), n) if n.is_integer() => (F::Plus, INET),
        (Subtract, T::Encoded(Inet | Cidr), n) if n.is_integer() => (F::Minus, INET),
        (Subtract, T::Encoded(Inet | Cidr), T::Encoded(Inet | Cidr)) => (F::Distance, T::BigInt),
        (Add, T::Encoded(TimeTz(_)), T::Interval) => (F::Later, TIME),
        (Subtract, T::Encoded(TimeTz(_)), T::Interval) => (F::Earlier, TIME),
        (Add, T::Date, T::Encoded(TimeTz(_))) => (F::AtDate, T::TIMESTAMPTZ),
        _ => return None,
    })
}

/// `+` or `-` of such values; an error with both sides: it is of others.
pub(crate) fn arithmetic(
    op: ArithmeticOp,
    left: Expr,
    right: Expr,
) -> std::result::Result<Expr, Box<[Expr; 2]>> {
    let types = [left.data_type(), right.data_type()];
    let turned = [types[1], types[0]];
    let made = |[one, other]: [DataType; 2]| function_of(op, one, other);
    match (made(types), made(turned)) {
        (Some((function, gives)), _) => {
            Ok(call(Function::Encoded(function), vec![left, right], gives))
        }
        (None, Some((function, gives))) if op == ArithmeticOp::Add => {
            Ok(call(Function::Encoded(function), vec![right, left], gives))
        }
        _ => Err(Box::new([left, right])),
    }
}

/// The type that a literal has beside such an operand; none: that of the operand.
pub(crate) fn beside(typed: EncodedType) -> Option<DataType> {
    match typed {
        EncodedType::TimeTz(_) => Some(DataType::Interval),
        _ => None,
    }
}

/// Whether a value becomes one of an encoded type, or of another one from such a type.
pub(crate) fn is_cast(from: DataType, to: DataType, is_explicit: bool) -> bool {
    use DataType as T;
    use EncodedType as E;
    match (from, to) {
        (T::Encoded(from), T::Encoded(to)) => from.common(to).is_some(),
        (T::Encoded(E::TimeTz(_)), T::Time(_)) => true,
        (T::Time(_) | T::TimestampTz(_), T::Encoded(E::TimeTz(_))) => true,
        (from, T::Integer | T::BigInt) if is_bits(from) => is_explicit,
        (T::Integer | T::BigInt, T::Encoded(E::Bit(_))) => is_explicit,
        _ => false,
    }
}

/// What a written cast does beyond what an assignment does: bits are cut, or filled with zeros, and
/// made of integers. None: nothing.
pub(crate) fn forced(expr: &Expr, to: DataType) -> Option<Expr> {
    let of = encoded_type(to).filter(|_| is_bits(to))?;
    let from = expr.data_type();
    let is_limited = of != of.bare() && is_bits(from);
    if !is_limited && !from.is_integer() {
        return None;
    }
    if let ExprKind::Constant(value) = &expr.kind
        && let Ok(value) = encoded::call(EncodedFunction::Force, from_ref(value), to)
    {
        return Some(constant(value, to));
    }
    Some(call(Function::Encoded(EncodedFunction::Force), vec![expr.clone()], to))
}
