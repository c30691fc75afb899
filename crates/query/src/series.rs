//! generate_series: integers, numerics and moments, in steps.

use hotrow_base::any_numeric::AnyNumeric;
use hotrow_base::temporal::{Interval, TimeZone, add_interval_in};
use hotrow_base::value::Value;
use hotrow_transaction::outcome::SqlError;

use crate::Row;
use crate::host::integer;

/// The values from one to another, of the first one's type; none where an argument is NULL.
///
/// # Errors
///
/// A step of zero (22023), or one that is no number.
pub(crate) fn series(
    from: &Value,
    rest: &[Value],
) -> Result<Box<dyn Iterator<Item = Row>>, SqlError> {
    let (to, step) = (rest.first().unwrap_or(&Value::Null), rest.get(1));
    if from.is_null() || to.is_null() || step.is_some_and(Value::is_null) {
        return Ok(Box::new(std::iter::empty()));
    }
    match (from, to, step) {
        (Value::Numeric(_) | Value::AnyNumeric(_), ..) => numerics(from, to, step),
        (Value::Timestamp(first), Value::Timestamp(last), Some(Value::Interval(step))) => {
            let moments = moments((*first, *last), *step, TimeZone::UTC)?;
            Ok(Box::new(moments.map(|at| vec![Value::Timestamp(at)])))
        }
        (Value::TimestampTz(first), Value::TimestampTz(last), Some(Value::Interval(step))) => {
            let moments = moments((*first, *last), *step, TimeZone::current())?;
            Ok(Box::new(moments.map(|at| vec![Value::TimestampTz(at)])))
        }
        _ => integers(from, to, step),
    }
}

fn no_step() -> SqlError {
    SqlError::new(b"22023", "step size cannot equal zero")
}

fn integers(
    from: &Value,
    to: &Value,
    step: Option<&Value>,
) -> Result<Box<dyn Iterator<Item = Row>>, SqlError> {
    let ends = (integer(from), integer(to), step.map_or(Some(1), integer));
    let (Some(first), Some(last), Some(step)) = ends else {
        return Ok(Box::new(std::iter::empty()));
    };
    if step == 0 {
        return Err(no_step());
    }
    let of = from.clone();
    let within = move |n: &i64| if step > 0 { *n <= last } else { *n >= last };
    let next = move |n: &i64| n.checked_add(step).filter(within);
    let numbers = std::iter::successors(Some(first).filter(within), next);
    Ok(Box::new(numbers.map(move |n| {
        vec![match of {
            Value::SmallInt(_) => Value::SmallInt(n as i16),
            Value::Int(_) => Value::Int(n as i32),
            _ => Value::BigInt(n),
        }]
    })))
}

fn numerics(
    from: &Value,
    to: &Value,
    step: Option<&Value>,
) -> Result<Box<dyn Iterator<Item = Row>>, SqlError> {
    let number = |value: &Value| value.to_any_numeric().unwrap_or(AnyNumeric::NaN);
    let step = step.map_or_else(|| AnyNumeric::from(1), number);
    let (first, last) = (number(from), number(to));
    for (what, number) in [("start", &first), ("stop", &last), ("step", &step)] {
        if !number.is_finite() {
            let is = if matches!(number, AnyNumeric::NaN) { "NaN" } else { "infinity" };
            let message = match what {
                "step" => format!("step size cannot be {is}"),
                _ => format!("{what} value cannot be {is}"),
            };
            return Err(SqlError::new(b"22023", message));
        }
    }
    let sign = step.sign();
    if sign.is_eq() {
        return Err(no_step());
    }
    let within = move |n: &AnyNumeric| {
        if sign.is_gt() { *n <= last } else { *n >= last }
    };
    let first = Some(first).filter(&within);
    let next = move |n: &AnyNumeric| n.add(&step).ok().filter(&within);
    Ok(Box::new(std::iter::successors(first, next).map(|n| vec![n.into()])))
}

/// Moments in microseconds; each is a step behind the one before it.
fn moments(
    (first, last): (i64, i64),
    step: Interval,
    zone: TimeZone,
) -> Result<impl Iterator<Item = i64> + use<>, SqlError> {
    let length = step.span();
    if length == 0 {
        return Err(no_step());
    }
    let within = move |at: &i64| if length > 0 { *at <= last } else { *at >= last };
    if add_interval_in(first, step, zone).is_none() && within(&first) {
        return Err(SqlError::new(b"22008", "timestamp out of range"));
    }
    let next = move |at: &i64| add_interval_in(*at, step, zone).filter(within);
    Ok(std::iter::successors(Some(first).filter(within), next))
}
