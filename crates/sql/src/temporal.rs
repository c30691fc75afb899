//! Arithmetic of dates, timestamps and intervals, and intervals as they are written.

use hotrow_base::conventions::Conventions;
use hotrow_base::temporal::{
    IntervalField, IntervalFields, TemporalError, TruncateUnit, parse_interval_of,
};
use hotrow_base::types::{DataType, TIME_DIGITS};
use hotrow_base::value::Value;
use hotrow_transaction::functions::time::known_zone;
use hotrow_transaction::outcome::SqlError;
use hotrow_transaction::program::{
    ArithmeticOp, CompareOp, Expr, ExprKind, Function, IntervalFunction, Place,
};
use sqlparser::ast;

use crate::error::{Advice, Result, error, no_operator, syntax, unsupported};
use crate::functions::no_function;
use crate::operand::{OpenText, Operand};
use crate::scope::Compiler;
use crate::typing::{call, cast, constant, integer, parse_literal, scalar};
use crate::written::{arguments, function_name};

/// The code of a unit whose name is known when it runs only; NULL stays NULL, and what is no unit
/// has a code of none.
pub(crate) fn unit_code(unit: Expr) -> Expr {
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
    let field = |of: &Option<ast::DateTimeField>| {
        of.as_ref().map(|of| field_of(of).ok_or_else(|| precision(place))).transpose()
    };
    let (first, last) = (field(&literal.leading_field)?, field(&literal.last_field)?);
    if first.is_some() && first >= last.or(Some(IntervalField::Second)) && last.is_some() {
        return Err(syntax(place, "syntax error in the fields of an interval"));
    }
    let digits = digits_of(literal.fractional_seconds_precision.or(literal.leading_precision));
    if first.is_none() && digits.is_none() {
        return parse_literal(&text, DataType::Interval, place);
    }
    let fields =
        IntervalFields { first: first.filter(|_| last.is_some()), last: last.or(first), digits };
    with_fields(&text, &fields, place)
}

/// A literal of an interval with fields.
fn with_fields(text: &str, fields: &IntervalFields, place: Place) -> Result<Expr> {
    let style = Conventions::current().style.intervals;
    let parsed = parse_interval_of(text, fields, style).map_err(|wrong| match wrong {
        TemporalError::OutOfRange => {
            error(b"22015", place, format!("interval field value out of range: \"{text}\""))
        }
        TemporalError::TotalRange => error(b"22008", place, "interval out of range"),
        _ => error(b"22007", place, format!("invalid input syntax for type interval: \"{text}\"")),
    })?;
    Ok(constant(Value::Interval(parsed), DataType::Interval))
}

/// Digits of seconds as they are written; there are six.
fn digits_of(written: Option<u64>) -> Option<u8> {
    written.map(|digits| u8::try_from(digits.min(6)).unwrap_or(6))
}

/// The fields of a type that is written as `interval day to second(2)`; none: it has none.
fn fields_of(written: &ast::DataType) -> Option<IntervalFields> {
    use IntervalField as F;
    use ast::IntervalFields as W;
    let ast::DataType::Interval { fields, precision } = written else { return None };
    let (first, last) = match fields {
        None => (None, None),
        Some(W::Year) => (None, Some(F::Year)),
        Some(W::Month) => (None, Some(F::Month)),
        Some(W::Day) => (None, Some(F::Day)),
        Some(W::Hour) => (None, Some(F::Hour)),
        Some(W::Minute) => (None, Some(F::Minute)),
        Some(W::Second) => (None, Some(F::Second)),
        Some(W::YearToMonth) => (Some(F::Year), Some(F::Month)),
        Some(W::DayToHour) => (Some(F::Day), Some(F::Hour)),
        Some(W::DayToMinute) => (Some(F::Day), Some(F::Minute)),
        Some(W::DayToSecond) => (Some(F::Day), Some(F::Second)),
        Some(W::HourToMinute) => (Some(F::Hour), Some(F::Minute)),
        Some(W::HourToSecond) => (Some(F::Hour), Some(F::Second)),
        Some(W::MinuteToSecond) => (Some(F::Minute), Some(F::Second)),
    };
    let digits = digits_of(*precision);
    (last.is_some() || digits.is_some()).then_some(IntervalFields { first, last, digits })
}

impl Compiler<'_> {
    /// CURRENT_TIMESTAMP(digits) and its kin; none: it is another call.
    pub(crate) fn time_in_digits(
        &self,
        call: &ast::Function,
        place: Place,
    ) -> Result<Option<Expr>> {
        let name = function_name(call);
        if !["current_timestamp", "localtimestamp", "current_time", "localtime"]
            .contains(&name.as_str())
        {
            return Ok(None);
        }
        let (_, given) = arguments(call, place)?;
        let digits = match given.as_slice() {
            [ast::Expr::Value(literal)] => match &literal.value {
                ast::Value::Number(digits, _) => digits.parse::<u8>().ok(),
                _ => None,
            },
            _ => None,
        };
        let (Some(digits), Some(time)) = (digits, self.time_keyword(&name)) else {
            return Ok(None);
        };
        let of = time.data_type().with_digits(digits.min(TIME_DIGITS));
        Ok(Some(cast(time, of)))
    }

    /// A cast to an interval with fields; none: it is to another type.
    pub(crate) fn cast_to_fields(
        &mut self,
        value: &ast::Expr,
        to: &ast::DataType,
        place: Place,
    ) -> Result<Option<Expr>> {
        let Some(fields) = fields_of(to) else { return Ok(None) };
        let value = match self.operand(value)? {
            Operand::Unknown(Some(OpenText { text, literal })) => {
                // What it becomes is no matter of its type alone.
                self.literals.is_refused |= literal.is_some();
                return with_fields(&text, &fields, place).map(Some);
            }
            operand => self.settle(operand, DataType::Interval, place)?,
        };
        let unit = match fields.last {
            Some(IntervalField::Year) => Some(TruncateUnit::Year),
            Some(IntervalField::Month) => Some(TruncateUnit::Month),
            Some(IntervalField::Day) => Some(TruncateUnit::Day),
            Some(IntervalField::Hour) => Some(TruncateUnit::Hour),
            Some(IntervalField::Minute) => Some(TruncateUnit::Minute),
            Some(IntervalField::Second) | None => None,
        };
        if fields.digits.is_some_and(|digits| digits < 6)
            || self.scalar_type(&value, place)? != DataType::Interval
        {
            return Err(precision(place));
        }
        Ok(Some(match unit {
            Some(unit) => {
                let arguments = vec![integer(unit as i32), value];
                call(Function::DateTrunc, arguments, DataType::Interval)
            }
            None => value,
        }))
    }
}

fn field_of(written: &ast::DateTimeField) -> Option<IntervalField> {
    Some(match written {
        ast::DateTimeField::Year => IntervalField::Year,
        ast::DateTimeField::Month => IntervalField::Month,
        ast::DateTimeField::Day => IntervalField::Day,
        ast::DateTimeField::Hour => IntervalField::Hour,
        ast::DateTimeField::Minute => IntervalField::Minute,
        ast::DateTimeField::Second => IntervalField::Second,
        _ => return None,
    })
}

/// interval(p), and interval with fields
pub(crate) fn precision(place: Place) -> hotrow_transaction::outcome::SqlError {
    unsupported(place, "interval with fields or precision", "write interval alone")
}

/// A function of intervals.
pub(crate) fn interval(function: IntervalFunction, arguments: Vec<Expr>) -> Expr {
    call(Function::Interval(function), arguments, DataType::Interval)
}

pub(crate) fn is_time(data_type: DataType) -> bool {
    matches!(data_type, DataType::Date | DataType::Timestamp(_) | DataType::TimestampTz(_))
}

/// Arithmetic of dates, timestamps and intervals.
pub(crate) fn temporal(op: ArithmeticOp, left: Expr, right: Expr, place: Place) -> Result<Expr> {
    use ArithmeticOp as A;
    use DataType as T;
    use IntervalFunction as I;
    let double = |number: Expr| cast(number, T::Double);
    if let Some(sides) = with_times(op, &left, &right) {
        let [left, right] = sides;
        return temporal(op, left, right, place);
    }
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
        (A::Add, T::Time(_), T::Interval) => Ok(moved(left, right)),
        (A::Add, T::Interval, T::Time(_)) => Ok(moved(right, left)),
        (A::Subtract, T::Time(_), T::Interval) => Ok(moved(left, interval(I::Negate, vec![right]))),
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
            let sides = vec![cast(left, T::TIMESTAMP), cast(right, T::TIMESTAMP)];
            Ok(call(Function::TimestampDiff, sides, T::Interval))
        }
        (op, l, r) => Err(no_operator(op, &l.to_string(), &r.to_string(), place)
            .hint("You might need to add explicit type casts.")),
    }
}

/// Operands among which times are taken as intervals since midnight; none: they are all taken as
/// they are.
fn with_times(op: ArithmeticOp, left: &Expr, right: &Expr) -> Option<[Expr; 2]> {
    use ArithmeticOp as A;
    use DataType as T;
    let span = |time: &Expr| cast(time.clone(), T::Interval);
    match (op, left.data_type(), right.data_type()) {
        (A::Subtract, T::Time(_), T::Time(_)) => Some([span(left), span(right)]),
        (A::Add | A::Subtract, of, T::Time(_))
            if is_time(of) || of == T::Interval && op == A::Subtract =>
        {
            Some([left.clone(), span(right)])
        }
        (A::Add, T::Time(_), of) if is_time(of) => Some([span(left), right.clone()]),
        (A::Multiply | A::Divide, T::Time(_), of) if of.is_number() => {
            Some([span(left), right.clone()])
        }
        (A::Multiply, of, T::Time(_)) if of.is_number() => Some([left.clone(), span(right)]),
        _ => None,
    }
}

/// A timestamp in a zone, or the timestamp that a zone's clock shows.
pub(crate) fn at_time_zone(name: &str, values: Vec<Expr>, place: Place) -> Result<Expr> {
    let Ok([zone, time]) = <[Expr; 2]>::try_from(values) else {
        return Err(no_function(name, &[], place));
    };
    if let ExprKind::Constant(Value::Text(zone)) = &zone.kind {
        known_zone(zone).map_err(|error| SqlError { place, ..error })?;
    }
    let (time, shown) = match time.data_type() {
        DataType::TimestampTz(_) => (time, DataType::TIMESTAMP),
        _ => (cast(time, DataType::TIMESTAMP), DataType::TIMESTAMPTZ),
    };
    Ok(call(Function::InZone, vec![zone, time], shown))
}

pub(crate) fn moved(time: Expr, by: Expr) -> Expr {
    let result = match time.data_type() {
        DataType::Date => DataType::TIMESTAMP,
        other => other.with_all_digits(),
    };
    call(Function::TimestampAdd, vec![cast(time, result), by], result)
}

pub(crate) fn date_add(date: Expr, days: Expr) -> Expr {
    call(Function::DateAdd, vec![date, cast(days, DataType::Integer)], DataType::Date)
}

/// The type that a literal or a parameter has beside an operand; none: that of the operand.
pub(crate) fn beside(op: ArithmeticOp, typed: DataType) -> Option<DataType> {
    match (op, typed) {
        (
            ArithmeticOp::Add,
            DataType::Timestamp(_) | DataType::TimestampTz(_) | DataType::Time(_),
        ) => Some(DataType::Interval),
        (ArithmeticOp::Multiply | ArithmeticOp::Divide, DataType::Interval) => {
            Some(DataType::Double)
        }
        _ => None,
    }
}
