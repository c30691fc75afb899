//! Values compared, and as keys of hash tables.
//!
//! Role         equality and order of values of one type, as programs have them: numerics by their
//!              number, floats with NaN as the greatest, text by its bytes

use std::cmp::Ordering;

use hotrow_base::any_numeric::{self, AnyNumeric};
use hotrow_base::decimal;
use hotrow_base::fold;
use hotrow_base::value::Value;
use hotrow_transaction::program::CompareOp;

/// Which of two values that are not NULL comes first.
pub fn compare(left: &Value, right: &Value) -> Ordering {
    use Value as V;
    match (left, right) {
        (V::Bool(a), V::Bool(b)) => a.cmp(b),
        (V::Text(a), V::Text(b)) | (V::Jsonb(a), V::Jsonb(b)) | (V::Json(a), V::Json(b)) => {
            a.as_bytes().cmp(b.as_bytes())
        }
        (V::CiText(a), V::CiText(b)) => fold::compare(a.as_bytes(), b.as_bytes()),
        (V::Bytea(a), V::Bytea(b)) => a.cmp(b),
        (V::Uuid(a), V::Uuid(b)) => a.cmp(b),
        (V::Array(a), V::Array(b)) | (V::Composite(_, a), V::Composite(_, b)) => {
            first_difference(a, b).unwrap_or_else(|| a.len().cmp(&b.len()))
        }
        (V::Array(a) | V::Shaped(_, a), V::Array(b) | V::Shaped(_, b)) => {
            first_difference(a, b).unwrap_or_else(|| left.shape().cmp(&right.shape()))
        }
        (V::Numeric(a), V::Numeric(b)) => a.cmp(b),
        (V::AnyNumeric(a), V::AnyNumeric(b)) => a.cmp(b),
        (V::Interval(a), V::Interval(b)) => a.span().cmp(&b.span()),
        (V::Range(a), V::Range(b)) => a.cmp(b),
        (V::Encoded(a), V::Encoded(b)) => a.bytes().cmp(b.bytes()),
        _ => match (integer(left), integer(right)) {
            (Some(a), Some(b)) => a.cmp(&b),
            _ => numbers(left, right),
        },
    }
}

fn first_difference(a: &[Value], b: &[Value]) -> Option<Ordering> {
    let mut pairs = a.iter().zip(b).map(|(a, b)| compare_nulls(a, b, false));
    pairs.find(|ordering| ordering.is_ne())
}

fn numbers(left: &Value, right: &Value) -> Ordering {
    let numeric =
        |value: &Value| value.to_any_numeric().or_else(|| integer(value).map(AnyNumeric::from));
    match (numeric(left), numeric(right)) {
        (Some(a), Some(b)) => a.cmp(&b),
        _ => {
            let (a, b) = (float(left), float(right));
            a.partial_cmp(&b).unwrap_or_else(|| a.is_nan().cmp(&b.is_nan()))
        }
    }
}

/// What an integer, a date or a time counts.
fn integer(value: &Value) -> Option<i64> {
    match value {
        Value::SmallInt(n) => Some(i64::from(*n)),
        Value::Int(n) | Value::Date(n) => Some(i64::from(*n)),
        Value::BigInt(n) | Value::Timestamp(n) | Value::TimestampTz(n) | Value::Time(n) => Some(*n),
        Value::Enum(_, place) => Some(i64::from(*place)),
        _ => None,
    }
}

fn float(value: &Value) -> f64 {
    match value {
        Value::Real(x) => f64::from(*x),
        Value::Double(x) => *x,
        Value::Numeric(decimal) => decimal::to_f64(decimal.units(), decimal.scale()),
        Value::AnyNumeric(number) => number.to_f64(),
        other => integer(other).unwrap_or_default() as f64,
    }
}

/// As [`compare`], with NULLs last, or first.
pub(crate) fn compare_nulls(left: &Value, right: &Value, nulls_first: bool) -> Ordering {
    match (left.is_null(), right.is_null()) {
        (false, false) => compare(left, right),
        (true, true) => Ordering::Equal,
        (true, false) if nulls_first => Ordering::Less,
        (true, false) => Ordering::Greater,
        (false, true) if nulls_first => Ordering::Greater,
        (false, true) => Ordering::Less,
    }
}

/// What a comparison of two values says; none for NULL.
pub(crate) fn holds(op: CompareOp, left: &Value, right: &Value) -> Option<bool> {
    if left.is_null() || right.is_null() {
        return None;
    }
    let ordering = compare(left, right);
    Some(match op {
        CompareOp::Equal => ordering.is_eq(),
        CompareOp::NotEqual => ordering.is_ne(),
        CompareOp::Less => ordering.is_lt(),
        CompareOp::LessOrEqual => ordering.is_le(),
        CompareOp::Greater => ordering.is_gt(),
        CompareOp::GreaterOrEqual => ordering.is_ge(),
    })
}

/// Appends bytes that are equal exactly where values of one type are; NULLs are equal.
pub(crate) fn encode(value: &Value, key: &mut Vec<u8>) {
    match value {
        Value::Null => key.push(0),
        Value::Bool(truth) => key.extend([1, u8::from(*truth)]),
        Value::Text(text) => encode_bytes(2, text.as_bytes(), key),
        Value::CiText(text) => {
            let mut bytes = Vec::with_capacity(text.len());
            fold::append(text.as_bytes(), &mut bytes);
            encode_bytes(14, &bytes, key);
        }
        Value::Bytea(bytes) => encode_bytes(3, bytes, key),
        Value::Uuid(bytes) => encode_bytes(4, bytes, key),
        Value::Json(text) | Value::Jsonb(text) => encode_bytes(9, text.as_bytes(), key),
        Value::Real(_) | Value::Double(_) => {
            let number = float(value);
            // 0 and -0 are equal, and all that is no number.
            let number = if number == 0.0 { 0.0 } else { number };
            let number = if number.is_nan() { f64::NAN } else { number };
            key.push(5);
            key.extend(number.to_bits().to_le_bytes());
        }
        Value::Numeric(decimal) => {
            let (mut units, mut scale) = (decimal.units(), decimal.scale());
            while scale > 0 && units % 10 == 0 {
                (units, scale) = (units / 10, scale - 1);
            }
            key.extend([6, scale]);
            key.extend(units.to_le_bytes());
        }
        Value::AnyNumeric(number) => {
            let mut bytes = Vec::new();
            any_numeric::write(number, &mut bytes);
            encode_bytes(11, any_numeric::comparable(&bytes), key);
        }
        Value::Encoded(value) => encode_bytes(13, value.bytes(), key),
        Value::Range(range) => {
            let mut bytes = Vec::new();
            range.write_comparable(&mut bytes);
            encode_bytes(12, &bytes, key);
        }
        Value::Interval(interval) => {
            key.push(10);
            key.extend(interval.span().to_le_bytes());
        }
        Value::Array(values) | Value::Composite(_, values) => {
            key.push(7);
            key.extend((values.len() as u64).to_le_bytes());
            values.iter().for_each(|value| encode(value, key));
        }
        Value::Shaped(shape, values) => {
            encode_bytes(15, shape.to_string().as_bytes(), key);
            values.iter().for_each(|value| encode(value, key));
        }
        other => {
            key.push(8);
            key.extend(integer(other).unwrap_or_default().to_le_bytes());
        }
    }
}

fn encode_bytes(tag: u8, bytes: &[u8], key: &mut Vec<u8>) {
    key.push(tag);
    key.extend((bytes.len() as u64).to_le_bytes());
    key.extend(bytes);
}

/// The key of several values.
pub(crate) fn key_of<'v>(values: impl IntoIterator<Item = &'v Value>) -> Vec<u8> {
    let mut key = Vec::new();
    values.into_iter().for_each(|value| encode(value, &mut key));
    key
}

/// The key of values that must be equal to others, none of which is NULL; none if one is.
pub(crate) fn join_key(values: &[Value]) -> Option<Vec<u8>> {
    values.iter().all(|value| !value.is_null()).then(|| key_of(values))
}

#[cfg(test)]
mod tests {
    use super::*;
    use hotrow_base::decimal::Decimal;

    #[test]
    fn keys_are_equal_where_values_are() {
        let decimal = |units, scale| Value::Numeric(Decimal::new(units, scale).expect("in range"));
        let values = [
            Value::Null,
            decimal(10, 1),
            decimal(1, 0),
            decimal(100, 2),
            decimal(11, 1),
            decimal(-10, 1),
            Value::Double(0.0),
            Value::Double(-0.0),
            Value::Double(f64::NAN),
            Value::Double(-f64::NAN),
            Value::Double(1.5),
            Value::Text("a".into()),
            Value::Text(String::new()),
            Value::Int(1),
            Value::SmallInt(1),
            Value::Array(vec![Value::Int(1), Value::Null]),
            Value::Array(vec![Value::Int(1)]),
        ];
        for a in &values {
            for b in &values {
                if std::mem::discriminant(a) == std::mem::discriminant(b) {
                    let equal = compare_nulls(a, b, false).is_eq();
                    assert_eq!(key_of([a]) == key_of([b]), equal, "{a:?} {b:?}");
                }
            }
        }
        assert_eq!(key_of([&Value::Int(1)]), key_of([&Value::SmallInt(1)]));
    }

    #[test]
    fn one_key_is_no_beginning_of_another() {
        let text = |text: &str| Value::Text(text.into());
        let (a, b) = ([text("a"), text("bc")], [text("ab"), text("c")]);
        assert_ne!(key_of(&a), key_of(&b));
        assert_eq!(join_key(&[text("a"), Value::Null]), None);
    }

    #[test]
    fn order_is_that_of_numbers() {
        let half = Value::Numeric(Decimal::new(5, 1).expect("in range"));
        assert!(compare(&half, &Value::Int(1)).is_lt());
        assert!(compare(&Value::Double(f64::NAN), &Value::Double(f64::INFINITY)).is_gt());
        assert!(compare_nulls(&Value::Null, &Value::Int(1), false).is_gt());
        assert!(compare_nulls(&Value::Null, &Value::Int(1), true).is_lt());
        assert_eq!(holds(CompareOp::Less, &Value::Null, &Value::Int(1)), None);
    }
}
