//! Functions of patterns and names.

use hotrow_base::interrupt::current::{self, Pace};
use hotrow_base::json::{self, JsonFunction};
use hotrow_base::memory::Charge;
use hotrow_base::quote;
use hotrow_base::shape::ArrayShape;
use hotrow_base::types::DataType;
use hotrow_base::value::Value;
use hotrow_transaction::outcome::SqlError;
use hotrow_transaction::random::{Randomness, Spot};

use crate::Row;
use crate::dissected;
use crate::functions::HostFunction;
use crate::json_paths;
use crate::patterns;
use crate::series::series;

/// A value of a type of texts.
pub(crate) fn text(value: &Value) -> Option<&str> {
    match value {
        Value::Text(text) => Some(text),
        _ => None,
    }
}

fn array(value: &Value) -> Option<&[Value]> {
    value.elements()
}

/// A value of an integer type.
pub(crate) fn integer(value: &Value) -> Option<i64> {
    match value {
        Value::SmallInt(n) => Some(i64::from(*n)),
        Value::Int(n) => Some(i64::from(*n)),
        Value::BigInt(n) => Some(*n),
        _ => None,
    }
}

/// A function's value; NULL where an argument that it needs is NULL.
pub(crate) fn value(function: HostFunction, arguments: &[Value]) -> Result<Value, SqlError> {
    match function {
        HostFunction::Json(function, gives) => return json_value(function, arguments, gives),
        HostFunction::JsonPath(function) => {
            let first = json_paths::values(function, arguments)?.into_iter().next();
            return Ok(first.unwrap_or_default());
        }
        HostFunction::Pattern(function) => return patterns::value(function, arguments),
        _ => {}
    }
    Ok(computed(function, arguments)?.unwrap_or_default())
}

/// A random value, number `row` of those that a query draws; of the call's seed, place, turn and
/// time.
pub(crate) fn random(what: Randomness, arguments: &[Value], row: u64) -> Value {
    let [Value::Uuid(seed), place, turn, Value::TimestampTz(now_us)] = arguments else {
        return Value::Null;
    };
    let number = |value: &Value| integer(value).unwrap_or_default().unsigned_abs();
    drawn(what, Spot { seed, place: number(place), turn: number(turn), row }, *now_us)
}

/// A random value as queries have it.
pub fn drawn(what: Randomness, spot: Spot<'_>, now_us: i64) -> Value {
    match what {
        Randomness::Double => Value::Double(spot.double()),
        Randomness::Uuid => Value::Uuid(spot.uuid()),
        Randomness::OrderedUuid => Value::Uuid(spot.ordered_uuid(now_us)),
    }
}

/// A function of json; an array stands for its elements, but where it becomes a json itself.
fn json_value(
    function: JsonFunction,
    arguments: &[Value],
    gives: DataType,
) -> Result<Value, SqlError> {
    use JsonFunction as F;
    if matches!(
        function,
        F::BuildObject | F::BuildArray | F::ToJson | F::Row | F::Object | F::ObjectOf | F::ArrayOf
    ) {
        return Ok(json::call(function, arguments, gives)?);
    }
    let mut flat = Vec::with_capacity(arguments.len());
    for argument in arguments {
        match argument {
            Value::Array(values) | Value::Shaped(_, values) => {
                flat.extend(values.iter().cloned());
            }
            value => flat.push(value.clone()),
        }
    }
    Ok(json::call(function, &flat, gives)?)
}

fn computed(function: HostFunction, arguments: &[Value]) -> Result<Option<Value>, SqlError> {
    use HostFunction as H;
    let [first, rest @ ..] = arguments else { return Ok(None) };
    let second = rest.first().unwrap_or(&Value::Null);
    // What quoting makes of a text: twice, each byte two of them.
    let mut quoted = current::charge();
    if matches!(function, H::QuoteIdent | H::QuoteLiteral) {
        quoted.add(4 * first.bytes())?;
    }
    let found = match function {
        H::SplitPart => match (text(first), text(second), rest.get(1).and_then(integer)) {
            (Some(_), Some(_), Some(0)) => {
                let message = "field position must not be zero";
                return Err(SqlError::new(b"22023", message));
            }
            (Some(whole), Some(separator), Some(at)) => {
                let part = part_of(whole, separator, at)?.unwrap_or_default();
                let mut copy = current::charge();
                copy.add(part.len())?;
                Some(Value::Text(part.to_owned()))
            }
            _ => None,
        },
        H::JsonPathText => text(first).map(json::normal_path).transpose()?,
        H::Dissected(function) => dissected::value(function, arguments)?,
        H::SizePretty => integer(first).map(|bytes| Value::Text(pretty(bytes))),
        H::QuoteIdent => text(first).map(|name| Value::Text(quote::identifier(name))),
        H::QuoteLiteral => text(first).map(|text| Value::Text(quote::literal(text))),
        H::Json(..)
        | H::JsonRows(_)
        | H::JsonRecords(_)
        | H::JsonPath(_)
        | H::Pattern(_)
        | H::PatternRows(_)
        | H::Keywords
        | H::Parts
        | H::Itself
        | H::System(_)
        | H::Random(_)
        | H::Series
        | H::Unnest
        | H::Subscripts
        | H::ExpandArray => None,
    };
    Ok(found)
}

/// A number of bytes, rounded half up, in the unit that leaves fewer than five digits.
fn pretty(bytes: i64) -> String {
    const LEAST: i64 = 10 * 1024;
    if bytes.unsigned_abs() < LEAST.unsigned_abs() {
        return format!("{bytes} bytes");
    }
    // Twice the number of units, so that the last bit rounds.
    let mut halves = bytes / 512;
    let mut units = ["kB", "MB", "GB", "TB", "PB"].iter();
    let mut unit = units.next().unwrap_or(&"kB");
    while halves.abs() >= 2 * LEAST - 1
        && let Some(next) = units.next()
    {
        (halves, unit) = (halves / 1024, next);
    }
    format!("{} {unit}", (halves + halves.signum()) / 2)
}

/// The part with a number, from 1, or from the end, from -1.
fn part_of<'a>(whole: &'a str, separator: &str, at: i64) -> Result<Option<&'a str>, SqlError> {
    if separator.is_empty() {
        return Ok(matches!(at, 1 | -1).then_some(whole));
    }
    let mut pace = Pace::default();
    if at < 0 {
        // Separators that overlap are still those that are found from the beginning.
        let mut count = 0_u64;
        for part in whole.split(separator) {
            pace.went(part.len() + 1)?;
            count += 1;
        }
        let Some(before) = count.checked_sub(at.unsigned_abs()) else { return Ok(None) };
        return part_of(whole, separator, before as i64 + 1);
    }
    let mut left = at;
    for part in whole.split(separator) {
        pace.went(part.len() + 1)?;
        left -= 1;
        if left == 0 {
            return Ok(Some(part));
        }
    }
    Ok(None)
}

/// The rows of a function that gives rows.
pub(crate) fn rows(
    function: HostFunction,
    arguments: &[Value],
) -> Result<Box<dyn Iterator<Item = Row>>, SqlError> {
    if function == HostFunction::Keywords {
        return Ok(Box::new(hotrow_base::keywords::keywords().into_iter()));
    }
    if let HostFunction::PatternRows(function) = function {
        let (rows, charge) = patterns::rows(function, arguments)?;
        return Ok(Box::new(charged(rows, charge)));
    }
    if function == HostFunction::Parts {
        let (rows, charge) = dissected::parts(arguments)?;
        return Ok(Box::new(charged(rows, charge)));
    }
    if let HostFunction::JsonPath(function) = function {
        let values = json_paths::values(function, arguments)?;
        let mut charge = current::charge();
        charge.add(values.iter().map(|value| value.bytes() + size_of::<Value>()).sum())?;
        let rows = values.into_iter().map(|value| vec![value]).collect();
        return Ok(Box::new(charged(rows, charge)));
    }
    let [first, rest @ ..] = arguments else { return Ok(Box::new(std::iter::empty())) };
    let values = array(first).unwrap_or_default().to_vec();
    Ok(match function {
        HostFunction::JsonRows(function) => Box::new(json::rows(function, first)?.into_iter()),
        HostFunction::JsonRecords(function) => {
            Box::new(json::records(function, first, rest)?.into_iter())
        }
        HostFunction::Itself => Box::new(std::iter::once(vec![first.clone()])),
        HostFunction::Series => return series(first, rest),
        HostFunction::Subscripts => subscripts(&first.shape(), rest),
        HostFunction::ExpandArray => Box::new(values.into_iter().enumerate().map(|(at, value)| {
            let number = Value::Int(at as i32 + 1);
            let whole = Value::Array(vec![value.clone(), number.clone()]);
            vec![value, number, whole]
        })),
        _ => Box::new(values.into_iter().map(|value| vec![value])),
    })
}

/// The subscripts of a dimension, backwards where the last argument says so.
fn subscripts(shape: &ArrayShape, rest: &[Value]) -> Box<dyn Iterator<Item = Row>> {
    let asked = rest.first().and_then(integer).and_then(|at| usize::try_from(at - 1).ok());
    let Some(of) = asked.and_then(|at| shape.dimensions().get(at)).copied() else {
        return Box::new(std::iter::empty());
    };
    let all = (0..of.length as i32).map(move |at| vec![Value::Int(of.lower + at)]);
    match rest.get(1) {
        Some(Value::Bool(true)) => Box::new(all.rev()),
        Some(Value::Null) => Box::new(std::iter::empty()),
        _ => Box::new(all),
    }
}

/// Rows whose charge ends with the last of them.
fn charged(rows: Vec<Row>, charge: Charge) -> impl Iterator<Item = Row> {
    rows.into_iter().inspect(move |_| {
        let _ = &charge;
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_written_as_postgresql_writes_them() {
        for (bytes, expected) in [
            (0, "0 bytes"),
            (10_239, "10239 bytes"),
            (10_240, "10 kB"),
            (10_751, "10 kB"),
            (10_752, "11 kB"),
            (10_485_247, "10239 kB"),
            (10_485_248, "10 MB"),
            (1 << 40, "1024 GB"),
            (-20_480, "-20 kB"),
        ] {
            assert_eq!(pretty(bytes), expected, "{bytes}");
        }
    }
}
