//! Arithmetic and concatenation: result types as PostgreSQL's.
//!
//! | operands | + - | * | / | % |
//! |---|---|---|---|---|
//! | integers | the wider | the wider | the wider, truncates | the wider |
//! | numeric(p,s), or with an integer | larger scale | sum of scales | numeric | larger scale |
//! | numeric without a precision | numeric | numeric | numeric | numeric |
//! | a float | double (real with real: real) | same | same | refused |

use hotrow_base::types::DataType;
use hotrow_base::value::Value;
use hotrow_transaction::program::{ArithmeticOp, Expr, ExprKind, Function, Place};
use sqlparser::ast::{self, BinaryOperator};

use crate::encoded::{self, is_bits_concat};
use crate::error::{Advice, Result, error, no_operator, place_in, unsupported};
use crate::operand::{Operand, is_json_concat, is_jsonb};
use crate::ranges::range_function;
use crate::scope::Compiler;
use crate::temporal::{beside, temporal};
use crate::typing::{call, cast, digits, numeric_of, scalar, wider};

impl Compiler<'_> {
    /// + - * / % and ||.
    pub(crate) fn arithmetic(
        &mut self,
        left: &ast::Expr,
        op: &BinaryOperator,
        right: &ast::Expr,
        written: &ast::Expr,
    ) -> Result<Operand> {
        let place = place_in(written, self.place);
        let op = match op {
            BinaryOperator::StringConcat => {
                let places = [left, right].map(|side| place_in(side, self.place));
                let sides = [self.operand(left)?, self.operand(right)?];
                let concat = if is_json_concat(&sides) {
                    self.json_concat(sides, places)?
                } else if is_bits_concat(&sides) {
                    self.named("||", sides.into_iter().zip(places).collect(), place)?
                } else {
                    self.concat(sides, places)?
                };
                return Ok(Operand::Typed(concat));
            }
            BinaryOperator::Plus => ArithmeticOp::Add,
            BinaryOperator::Minus => ArithmeticOp::Subtract,
            BinaryOperator::Multiply => ArithmeticOp::Multiply,
            BinaryOperator::Divide => ArithmeticOp::Divide,
            BinaryOperator::Modulo => ArithmeticOp::Modulo,
            BinaryOperator::Overlaps => {
                return self.overlaps(left, right, place).map(Operand::Typed);
            }
            // As dumps have LIKE and its kin.
            BinaryOperator::PGLikeMatch => {
                return self.like(left, right, None, false, None).map(Operand::Typed);
            }
            BinaryOperator::PGNotLikeMatch => {
                return self.like(left, right, None, true, None).map(Operand::Typed);
            }
            BinaryOperator::PGILikeMatch => {
                let fold = Some(Function::Lower);
                return self.like(left, right, None, false, fold).map(Operand::Typed);
            }
            BinaryOperator::PGNotILikeMatch => {
                let fold = Some(Function::Lower);
                return self.like(left, right, None, true, fold).map(Operand::Typed);
            }
            other => {
                if let Some(json) = self.json_operator(left, other, right)? {
                    return Ok(Operand::Typed(json));
                }
                return Err(unsupported(
                    place,
                    format!("operator {other}"),
                    "docs/functions.md lists the operators",
                ));
            }
        };
        let (left_place, right_place) = (place_in(left, place), place_in(right, place));
        let left = self.operand(left)?;
        if op == ArithmeticOp::Subtract && is_jsonb(&left) {
            return self.json_without((left, left_place), right).map(Operand::Typed);
        }
        let right = self.operand(right)?;
        self.combined(op, (left, left_place), (right, right_place))
    }

    fn combined(
        &mut self,
        op: ArithmeticOp,
        (left, left_place): (Operand, Place),
        (right, right_place): (Operand, Place),
    ) -> Result<Operand> {
        use Operand as O;
        match (left, right) {
            (O::Typed(left), O::Typed(right)) => {
                let left_type = self.scalar_type(&left, left_place)?;
                let right_type = self.scalar_type(&right, right_place)?;
                let [left, right] = match encoded::arithmetic(op, left, right) {
                    Ok(value) => return Ok(O::Typed(value)),
                    Err(sides) => *sides,
                };
                if let Some(function) = range_function(op, left_type, right_type) {
                    Ok(O::Typed(call(function, vec![left, right], left_type)))
                } else if left_type.is_number() && right_type.is_number() {
                    numbers(op, left, right, left_place).map(O::Typed)
                } else {
                    temporal(op, left, right, left_place).map(O::Typed)
                }
            }
            (O::Typed(left), open) => {
                let right = self.open_beside(op, &left, open, right_place)?;
                self.combined(op, (O::Typed(left), left_place), (right, right_place))
            }
            (open, O::Typed(right)) => {
                let left = self.open_beside(op, &right, open, left_place)?;
                self.combined(op, (left, left_place), (O::Typed(right), right_place))
            }
            // PostgreSQL cannot choose an operator either.
            (O::Unknown(_) | O::Parameter(_), O::Unknown(_) | O::Parameter(_)) => {
                Err(no_operator(op, "unknown", "unknown", left_place)
                    .hint("You might need to add explicit type casts."))
            }
        }
    }

    /// What has no type takes that of the operand beside it, where there is such an operator.
    fn open_beside(
        &mut self,
        op: ArithmeticOp,
        typed: &Expr,
        open: Operand,
        place: Place,
    ) -> Result<Operand> {
        let data_type = self.scalar_type(typed, place)?;
        let of_encoded = encoded::encoded_type(data_type).and_then(encoded::beside);
        let wanted = of_encoded.or_else(|| beside(op, data_type)).unwrap_or(data_type);
        self.settle(open, wanted, place).map(Operand::Typed)
    }

    fn concat(&mut self, operands: [Operand; 2], places: [Place; 2]) -> Result<Expr> {
        let mut sides = Vec::new();
        let mut any_text = false;
        for (operand, place) in operands.into_iter().zip(places) {
            any_text |= matches!(operand, Operand::Unknown(_) | Operand::Parameter(_));
            let expr = self.settle(operand, DataType::Text, place)?;
            let data_type = self.scalar_type(&expr, place)?;
            any_text |= data_type.is_text();
            sides.push(cast(expr, DataType::Text));
        }
        let [place, _] = places;
        let (Some(right), Some(left)) = (sides.pop(), sides.pop()) else {
            return Err(error(b"42601", place, "|| needs two operands"));
        };
        if !any_text {
            return Err(error(
                b"42883",
                place,
                "operator does not exist: neither side of || is text",
            )
            .hint("cast one side: value::text"));
        }
        Ok(scalar(ExprKind::Concat(Box::new(left), Box::new(right)), DataType::Text))
    }
}

/// Arithmetic on two numbers, with the types of the table above; oids are bigints in it.
pub(crate) fn numbers(op: ArithmeticOp, left: Expr, right: Expr, place: Place) -> Result<Expr> {
    let [left, right] = [left, right].map(oid_as_bigint);
    let (l, r) = (left.data_type(), right.data_type());
    let result = if l.is_integer() && r.is_integer() {
        wider(l, r)
    } else if let (Some(l), Some(r)) = (digits_of(&left), digits_of(&right)) {
        numeric_result(op, l, r)
    } else if !l.is_float() && !r.is_float() {
        DataType::AnyNumeric
    } else if op == ArithmeticOp::Modulo {
        return Err(no_operator(op, &l.to_string(), &r.to_string(), place)
            .hint("cast the floats to numeric"));
    } else if l == DataType::Real && r == DataType::Real {
        DataType::Real
    } else {
        DataType::Double
    };
    let (left, right) = match result {
        of if of.is_numeric() => (as_numeric(left), as_numeric(right)),
        other => (cast(left, other), cast(right, other)),
    };
    Ok(scalar(ExprKind::Arithmetic(op, Box::new(left), Box::new(right)), result))
}

/// What is computed of an oid is no oid: it may be negative.
pub(crate) fn oid_as_bigint(expr: Expr) -> Expr {
    if expr.data_type() == DataType::Oid { cast(expr, DataType::BigInt) } else { expr }
}

/// An integer as a numeric of its digits; a numeric as it is.
pub(crate) fn as_numeric(expr: Expr) -> Expr {
    match digits_of(&expr) {
        Some((precision, scale)) if expr.data_type().is_integer() => {
            cast(expr, DataType::Numeric { precision, scale })
        }
        _ => expr,
    }
}

/// Digits of numbers of its type; those of an integer that stands there itself are its own. In
/// `sum * (1 - discount)` ten digits for the 1 would be more than a numeric with a precision has
/// room for, and what has none takes several times the instructions.
fn digits_of(expr: &Expr) -> Option<(u8, u8)> {
    let known = match expr.kind {
        ExprKind::Constant(Value::Int(n)) => i64::from(n),
        ExprKind::Constant(Value::BigInt(n)) => n,
        _ => return digits(expr.data_type()),
    };
    Some((known.unsigned_abs().checked_ilog10().unwrap_or(0) as u8 + 1, 0))
}

fn numeric_result(op: ArithmeticOp, left: (u8, u8), right: (u8, u8)) -> DataType {
    let larger = left.1.max(right.1);
    let whole = (left.0 - left.1).max(right.0 - right.1);
    let (precision, scale) = match op {
        ArithmeticOp::Add | ArithmeticOp::Subtract => (whole + larger + 1, larger),
        ArithmeticOp::Multiply => (left.0 + right.0, left.1 + right.1),
        // How many digits a quotient shows is a matter of the values.
        ArithmeticOp::Divide => return DataType::AnyNumeric,
        ArithmeticOp::Modulo => (whole + larger, larger),
    };
    numeric_of(precision, scale)
}
