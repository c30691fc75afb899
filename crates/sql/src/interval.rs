//! Intervals: their literals, their arithmetic with dates and timestamps, and their functions.

use hotrow_base::temporal::{ExtractField, Interval, TruncateUnit};
use hotrow_base::types::DataType;
use hotrow_base::value::Value;
use hotrow_transaction::program::{
    ArithmeticOp, CompareOp, Expr, ExprKind, Function, IntervalFunction, Place,
};
use sqlparser::ast;

use crate::error::{Advice, Result, error, place_in, unsupported};
use crate::expression::Operand;
use crate::function::{Arguments, call, unknown_function};
use crate::operator::no_operator;
use crate::scope::Compiler;
use crate::typing::{cast, constant, integer, parse_literal, scalar};

/// The code of a unit whose name is known when it runs only; NULL stays NULL, and what is no unit
/// has a code of none.
fn unit_code(unit: Expr) -> Expr {
    let lower = call(Function::Lower, vec![unit.clone()], DataType::Text);
    let arm = |(name, unit): &(&str, TruncateUnit)| {
        let name = constant(Value::from(*name), DataType::Text);
        let sides = (Box::new(lower.clone()), Box::new(name));
        let is_it = ExprKind::Compare(CompareOp::Equal, sides.0, sides.1);
        (scalar(is_it, DataType::Boolean), integer(*unit as i32))
    };
    let is_null = scalar(ExprKind::IsNull(Box::new(unit)), DataType::Boolean);
    let null = constant(Value::Null, DataType::Integer);
    let mut arms = vec![(is_null, null)];
    arms.extend(TruncateUnit::NAMES.iter().map(arm));
    let otherwise = Some(Box::new(integer(-1)));
    scalar(ExprKind::Case { arms, otherwise }, DataType::Integer)
}

/// `INTERVAL '2 hours'`, `INTERVAL '2' HOUR`, `INTERVAL '2:30' HOUR TO MINUTE`.
pub(crate) fn literal(literal: &ast::Interval, place: Place) -> Result<Expr> {
    let ast::Expr::Value(value) = &*literal.value else {
        return Err(unsupported(
            place,
            "an interval that is not a literal",
            "multiply: n * interval '1 day'",
        ));
    };
    let text = match &value.value {
        ast::Value::SingleQuotedString(text) | ast::Value::Number(text, _) => text.clone(),
        _ => return Err(error(b"22007", place, "invalid input syntax for type interval")),
    };
    if literal.leading_precision.is_some() || literal.fractional_seconds_precision.is_some() {
        return Err(precision(place));
    }
    let is_bare =
        text.trim_start_matches(['+', '-']).bytes().all(|c| matches!(c, b'0'..=b'9' | b'.'));
    let text = match (&literal.leading_field, &literal.last_field) {
        (Some(field), None) if is_bare => format!("{text} {}", field.to_string().to_lowercase()),
        (Some(_), Some(_)) if text.contains(':') && !text.contains(' ') => text,
        (None, None) => text,
        _ => {
            return Err(unsupported(
                place,
                "these fields of an interval",
                "write the units in the text: interval '2 hours 30 minutes'",
            ));
        }
    };
    parse_literal(&text, DataType::Interval, place)
}

/// interval(p), and interval with fields
pub(crate) fn precision(place: Place) -> hotrow_transaction::outcome::SqlError {
    unsupported(place, "interval with fields or precision", "write interval alone")
}

/// A function of intervals.
pub(crate) fn interval(function: IntervalFunction, arguments: Vec<Expr>) -> Expr {
    call(Function::Interval(function), arguments, DataType::Interval)
}

fn is_time(data_type: DataType) -> bool {
    matches!(data_type, DataType::Date | DataType::Timestamp | DataType::TimestampTz)
}

/// Arithmetic of dates, timestamps and intervals.
pub(crate) fn temporal(op: ArithmeticOp, left: Expr, right: Expr, place: Place) -> Result<Expr> {
    use ArithmeticOp as A;
    use DataType as T;
    use IntervalFunction as I;
    let double = |number: Expr| cast(number, T::Double);
    match (op, left.data_type(), right.data_type()) {
        (A::Add, T::Interval, T::Interval) => Ok(interval(I::Add, vec![left, right])),
        (A::Subtract, T::Interval, T::Interval) => Ok(interval(I::Subtract, vec![left, right])),
        (A::Multiply, T::Interval, n) if n.is_number() => {
            Ok(interval(I::Multiply, vec![left, double(right)]))
        }
        (A::Multiply, n, T::Interval) if n.is_number() => {
            Ok(interval(I::Multiply, vec![right, double(left)]))
        }
        (A::Divide, T::Interval, n) if n.is_number() => {
            Ok(interval(I::Divide, vec![left, double(right)]))
        }
        (A::Add, of, T::Interval) if is_time(of) => Ok(moved(left, right)),
        (A::Add, T::Interval, of) if is_time(of) => Ok(moved(right, left)),
        (A::Subtract, of, T::Interval) if is_time(of) => {
            Ok(moved(left, interval(I::Negate, vec![right])))
        }
        (A::Add, T::Date, T::SmallInt | T::Integer) => Ok(date_add(left, right)),
        (A::Add, T::SmallInt | T::Integer, T::Date) => Ok(date_add(right, left)),
        (A::Subtract, T::Date, T::SmallInt | T::Integer) => {
            let days = cast(right, T::Integer);
            let days = match days.kind {
                ExprKind::Constant(Value::Int(n)) if n != i32::MIN => integer(-n),
                _ => scalar(ExprKind::Negate(Box::new(days)), T::Integer),
            };
            Ok(date_add(left, days))
        }
        (A::Subtract, T::Date, T::Date) => {
            Ok(call(Function::DateDiff, vec![left, right], T::Integer))
        }
        (A::Subtract, one, other) if is_time(one) && is_time(other) => {
            let sides = vec![cast(left, T::Timestamp), cast(right, T::Timestamp)];
            Ok(call(Function::TimestampDiff, sides, T::Interval))
        }
        (op, l, r) => Err(no_operator(op, &l.to_string(), &r.to_string(), place)
            .hint("You might need to add explicit type casts.")),
    }
}

fn moved(time: Expr, by: Expr) -> Expr {
    let result = match time.data_type() {
        DataType::Date => DataType::Timestamp,
        other => other,
    };
    call(Function::TimestampAdd, vec![cast(time, result), by], result)
}

fn date_add(date: Expr, days: Expr) -> Expr {
    call(Function::DateAdd, vec![date, cast(days, DataType::Integer)], DataType::Date)
}

/// The type that a literal or a parameter has beside an operand; none: that of the operand.
pub(crate) fn beside(op: ArithmeticOp, typed: DataType) -> Option<DataType> {
    match (op, typed) {
        (ArithmeticOp::Add, DataType::Timestamp | DataType::TimestampTz) => {
            Some(DataType::Interval)
        }
        (ArithmeticOp::Multiply | ArithmeticOp::Divide, DataType::Interval) => {
            Some(DataType::Double)
        }
        _ => None,
    }
}

impl Compiler<'_> {
    /// A value with fields: a date is the timestamp of its midnight.
    fn timed(&mut self, value: &ast::Expr, name: &str, place: Place) -> Result<Expr> {
        let operand = self.operand(value)?;
        let expr = self.settle(operand, DataType::Timestamp, place)?;
        match self.scalar_type(&expr, place)? {
            DataType::Date => Ok(cast(expr, DataType::Timestamp)),
            DataType::Timestamp | DataType::TimestampTz | DataType::Interval => Ok(expr),
            other => {
                let message = format!("function {name}(unknown, {other}) does not exist");
                Err(error(b"42883", place, message))
            }
        }
    }

    pub(crate) fn extract(&mut self, field: &str, value: &ast::Expr, place: Place) -> Result<Expr> {
        let known = ExtractField::from_name(field);
        let value = self.timed(value, "extract", place)?;
        let of = value.data_type();
        let known = known.ok_or_else(|| {
            let message = format!("unit \"{field}\" not recognized for type {of}");
            error(b"22023", place, message)
        })?;
        if of == DataType::Interval && Interval::default().extract(known).is_none() {
            return Err(not_of_intervals(field, place));
        }
        let arguments = vec![value, integer(known as i32)];
        let result = DataType::Numeric { precision: 20, scale: known.scale() };
        Ok(call(Function::Extract, arguments, result))
    }

    pub(crate) fn date_trunc(
        &mut self,
        unit: &ast::Expr,
        value: &ast::Expr,
        place: Place,
    ) -> Result<Expr> {
        let unit_place = place_in(unit, place);
        let unit = self.operand(unit)?;
        let unit = self.settle(unit, DataType::Text, unit_place)?;
        let value = self.timed(value, "date_trunc", place)?;
        let data_type = value.data_type();
        if !self.scalar_type(&unit, unit_place)?.is_text() {
            let unit = unit.data_type();
            let message = format!("function date_trunc({unit}, {data_type}) does not exist");
            return Err(
                error(b"42883", place, message).hint("You might need to add explicit type casts.")
            );
        }
        let code = match &unit.kind {
            ExprKind::Constant(Value::Text(name)) => {
                let Some(unit) = TruncateUnit::from_name(name) else {
                    let message = format!("unit \"{name}\" not recognized for type {data_type}");
                    return Err(error(b"22023", unit_place, message));
                };
                let of_intervals = data_type == DataType::Interval;
                if of_intervals && Interval::default().truncated(unit).is_none() {
                    return Err(not_of_intervals(name, place)
                        .detail("Months usually have fractional weeks."));
                }
                integer(unit as i32)
            }
            _ => unit_code(unit),
        };
        Ok(call(Function::DateTrunc, vec![code, value], data_type))
    }

    /// A function of intervals or of times that gives one; none: it is another.
    pub(crate) fn interval_function(
        &mut self,
        name: &str,
        arguments: Arguments,
        place: Place,
    ) -> Result<Expr> {
        let function = match name {
            "justify_hours" => IntervalFunction::JustifyHours,
            "justify_days" => IntervalFunction::JustifyDays,
            "justify_interval" => IntervalFunction::Justify,
            _ => return self.age(arguments, place),
        };
        let values = self.converted(arguments, name, &[DataType::Interval])?;
        Ok(interval(function, values))
    }

    /// age(one, other); age(one) is that of today's midnight.
    fn age(&mut self, arguments: Arguments, place: Place) -> Result<Expr> {
        let mut times = Vec::new();
        for (operand, place) in arguments {
            let time = self.settle(operand, DataType::TimestampTz, place)?;
            let of = self.scalar_type(&time, place)?;
            if !is_time(of) {
                return Err(error(b"42883", place, format!("function age({of}) does not exist")));
            }
            times.push(cast(time, DataType::Timestamp));
        }
        if times.len() == 1 {
            let today = self.time_keyword("current_date");
            let today = today.ok_or_else(|| unknown_function("age", place))?;
            times.insert(0, cast(today, DataType::Timestamp));
        }
        Ok(call(Function::Age, times, DataType::Interval))
    }

    /// make_interval(...), whose arguments may be named.
    pub(crate) fn make_interval(&mut self, written: &ast::Function, place: Place) -> Result<Expr> {
        const NAMES: [&str; 7] = ["years", "months", "weeks", "days", "hours", "mins", "secs"];
        let ast::FunctionArguments::List(list) = &written.args else {
            return Ok(constant(Value::Interval(Interval::default()), DataType::Interval));
        };
        let of = |at: usize| if at == 6 { DataType::Double } else { DataType::Integer };
        let mut parts: [Option<Expr>; 7] = Default::default();
        for (at, argument) in list.args.iter().enumerate() {
            let (at, value) = match argument {
                ast::FunctionArg::Unnamed(ast::FunctionArgExpr::Expr(value)) => (Some(at), value),
                ast::FunctionArg::ExprNamed {
                    name: ast::Expr::Identifier(name),
                    arg: ast::FunctionArgExpr::Expr(value),
                    ..
                } => (NAMES.iter().position(|known| *known == name.value), value),
                _ => return Err(unknown_function("make_interval", place)),
            };
            let at = at.filter(|at| *at < NAMES.len() && parts[*at].is_none());
            let at = at.ok_or_else(|| unknown_function("make_interval", place))?;
            let value =
                self.operand(value).map(|operand| vec![(operand, place_in(value, place))])?;
            parts[at] = self.converted(value, "make_interval", &[of(at)])?.pop();
        }
        let none = |at: usize| match of(at) {
            DataType::Double => constant(Value::Double(0.0), DataType::Double),
            _ => integer(0),
        };
        let parts = parts.into_iter().enumerate();
        let parts = parts.map(|(at, part)| part.unwrap_or_else(|| none(at))).collect();
        Ok(interval(IntervalFunction::Make, parts))
    }

    /// `- interval`; none: it is no interval.
    pub(crate) fn negative_interval(&self, operand: &Operand) -> Option<Expr> {
        match operand {
            Operand::Typed(expr) if expr.data_type() == DataType::Interval => {
                Some(interval(IntervalFunction::Negate, vec![expr.clone()]))
            }
            _ => None,
        }
    }
}

fn not_of_intervals(unit: &str, place: Place) -> hotrow_transaction::outcome::SqlError {
    let unit = unit.to_lowercase();
    error(b"0A000", place, format!("unit \"{unit}\" not supported for type interval"))
}
