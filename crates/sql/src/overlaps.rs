//! `(start, end) OVERLAPS (start, end)`.

use hotrow_base::types::DataType;
use hotrow_base::value::Value;
use hotrow_transaction::program::{ArithmeticOp, CompareOp, Expr, ExprKind, Place};
use sqlparser::ast;

use crate::comparison::negated;
use crate::error::{Result, place_in, syntax};
use crate::functions::no_function;
use crate::operand::types_of;
use crate::scope::Compiler;
use crate::temporal::{is_time, temporal};
use crate::typing::{cast, constant, scalar};
use crate::written::row_values;

/// A period, its end not before its start; NULL where only the other one is known.
struct Period {
    start: Expr,
    end: Expr,
}

impl Compiler<'_> {
    /// Whether two periods have a moment in common. An end may be written as the time that lies
    /// between, and stand before its start.
    pub(crate) fn overlaps(
        &mut self,
        left: &ast::Expr,
        right: &ast::Expr,
        place: Place,
    ) -> Result<Expr> {
        let mut operands = Vec::new();
        for (side, written) in [("left", left), ("right", right)] {
            let values = row_values(written).filter(|values| values.len() == 2);
            let values = values.ok_or_else(|| {
                let what = "wrong number of parameters on";
                syntax(place, format!("{what} {side} side of OVERLAPS expression"))
            })?;
            for value in values {
                operands.push((self.operand(value)?, place_in(value, place)));
            }
        }
        let given = types_of(&operands);
        let has = |of: DataType| {
            given.iter().flatten().any(|known| known.packed().with_all_digits() == of)
        };
        let is_of_day =
            given.iter().flatten().any(|known| matches!(known.packed(), DataType::Time(_)));
        let moment = match () {
            () if has(DataType::TIMESTAMPTZ) => DataType::TIMESTAMPTZ,
            () if is_of_day => DataType::Time(6),
            () => DataType::TIMESTAMP,
        };
        let mut periods = Vec::new();
        let mut operands = operands.into_iter();
        while let (Some((start, start_place)), Some((end, end_place))) =
            (operands.next(), operands.next())
        {
            let start = self.settle(start, moment, start_place)?;
            let fits = |of: DataType| match moment {
                DataType::Time(_) => matches!(of, DataType::Time(_)),
                _ => is_time(of),
            };
            let start_type = self.scalar_type(&start, start_place)?;
            let end = self.settle(end, moment, end_place)?;
            let end_type = self.scalar_type(&end, end_place)?;
            if !fits(start_type) || !fits(end_type) && end_type != DataType::Interval {
                return Err(no_function("overlaps", &given, place));
            }
            let start = cast(start, moment);
            let end = match end_type {
                DataType::Interval => temporal(ArithmeticOp::Add, start.clone(), end, place)?,
                _ => end,
            };
            periods.push(period(start, cast(end, moment), moment));
        }
        match <[Period; 2]>::try_from(periods) {
            Ok([one, other]) => Ok(meet(&one, &other)),
            Err(_) => Err(no_function("overlaps", &given, place)),
        }
    }
}

/// The period between two moments, in whichever order they stand.
fn period(one: Expr, other: Expr, moment: DataType) -> Period {
    let is_turned = compare(CompareOp::Greater, &one, &other);
    let either = scalar(ExprKind::Coalesce(vec![one.clone(), other.clone()]), moment);
    let start = case(vec![(is_turned.clone(), other.clone())], either, moment);
    let unknown = constant(Value::Null, moment);
    let end = case(vec![(is_turned, one.clone()), (is_null(&one), unknown)], other, moment);
    Period { start, end }
}

/// Whether two periods have a moment in common: the one that begins later begins before the other
/// ends. NULL where an end that is not known decides it.
fn meet(one: &Period, other: &Period) -> Expr {
    let begins_within = |later: &Period, earlier: &Period| {
        let is_open = and(is_null(&later.end), unknown());
        or(compare(CompareOp::Less, &later.start, &earlier.end), is_open)
    };
    let ends = and(negated(is_null(&one.end)), negated(is_null(&other.end)));
    let arms = vec![
        (compare(CompareOp::Greater, &one.start, &other.start), begins_within(one, other)),
        (compare(CompareOp::Less, &one.start, &other.start), begins_within(other, one)),
    ];
    case(arms, or(ends, unknown()), DataType::Boolean)
}

fn unknown() -> Expr {
    constant(Value::Null, DataType::Boolean)
}

fn compare(op: CompareOp, left: &Expr, right: &Expr) -> Expr {
    let sides = (Box::new(left.clone()), Box::new(right.clone()));
    scalar(ExprKind::Compare(op, sides.0, sides.1), DataType::Boolean)
}

fn is_null(of: &Expr) -> Expr {
    scalar(ExprKind::IsNull(Box::new(of.clone())), DataType::Boolean)
}

fn and(left: Expr, right: Expr) -> Expr {
    scalar(ExprKind::And(Box::new(left), Box::new(right)), DataType::Boolean)
}

fn or(left: Expr, right: Expr) -> Expr {
    scalar(ExprKind::Or(Box::new(left), Box::new(right)), DataType::Boolean)
}

fn case(arms: Vec<(Expr, Expr)>, otherwise: Expr, of: DataType) -> Expr {
    scalar(ExprKind::Case { arms, otherwise: Some(Box::new(otherwise)) }, of)
}
