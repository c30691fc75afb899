//! Values from Rust types, and back.

use super::{Value, ValueError};
use crate::any_numeric::AnyNumeric;
use crate::decimal::Decimal;
use crate::range::Range;
use crate::temporal::Interval;

macro_rules! from_rust {
    ($($rust:ty => $variant:ident),* $(,)?) => {
        $(impl From<$rust> for Value {
            fn from(value: $rust) -> Self {
                Self::$variant(value)
            }
        })*
    };
}

from_rust! {
    bool => Bool,
    i16 => SmallInt,
    i32 => Int,
    i64 => BigInt,
    f32 => Real,
    f64 => Double,
    Decimal => Numeric,
    Interval => Interval,
    String => Text,
}

impl From<AnyNumeric> for Value {
    fn from(number: AnyNumeric) -> Self {
        match number {
            AnyNumeric::Short(decimal) => Self::Numeric(decimal),
            other => Self::AnyNumeric(Box::new(other)),
        }
    }
}

impl From<Range> for Value {
    fn from(range: Range) -> Self {
        Self::Range(Box::new(range))
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

/// A `bytea`; bytes are never elements of an array.
impl From<Vec<u8>> for Value {
    fn from(bytes: Vec<u8>) -> Self {
        Self::Bytea(bytes)
    }
}

/// A `bytea`.
impl From<&[u8]> for Value {
    fn from(bytes: &[u8]) -> Self {
        Self::Bytea(bytes.to_vec())
    }
}

/// An array.
impl<T: Into<Self>> From<Vec<T>> for Value {
    fn from(elements: Vec<T>) -> Self {
        Self::Array(elements.into_iter().map(Into::into).collect())
    }
}

impl<T: Into<Self>> From<Option<T>> for Value {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Null, Into::into)
    }
}

/// A Rust type that a value can become without loss. `Option` takes NULL, `Vec` arrays; integers
/// become wider ones, or narrower ones if they are in range, and decimals; reals become doubles.
pub trait FromValue: Sized {
    /// Converts, or says why not.
    fn from_value(value: Value) -> Result<Self, ValueError>;
}

impl FromValue for Value {
    fn from_value(value: Value) -> Result<Self, ValueError> {
        Ok(value)
    }
}

impl<T: FromValue> FromValue for Option<T> {
    fn from_value(value: Value) -> Result<Self, ValueError> {
        if value.is_null() { Ok(None) } else { T::from_value(value).map(Some) }
    }
}

impl<T: FromValue> FromValue for Vec<T> {
    fn from_value(value: Value) -> Result<Self, ValueError> {
        match value {
            Value::Array(elements) => elements.into_iter().map(T::from_value).collect(),
            other => Err(refused(&other, "an array")),
        }
    }
}

fn refused(value: &Value, rust: &str) -> ValueError {
    match value {
        Value::Null => ValueError::null(rust),
        other => ValueError::no_cast(other.type_name(), rust),
    }
}

macro_rules! to_integer {
    ($($rust:ident => $data_type:ident),*) => {
        $(impl FromValue for $rust {
            fn from_value(value: Value) -> Result<Self, ValueError> {
                let wide = match value {
                    Value::SmallInt(value) => i64::from(value),
                    Value::Int(value) => i64::from(value),
                    Value::BigInt(value) => value,
                    other => return Err(refused(&other, stringify!($rust))),
                };
                let out_of_range = ValueError::out_of_range(crate::types::DataType::$data_type);
                Self::try_from(wide).map_err(|_| out_of_range)
            }
        })*
    };
}

to_integer!(i16 => SmallInt, i32 => Integer, i64 => BigInt);

macro_rules! to_rust {
    ($($rust:ty: $($pattern:pat => $result:expr),+;)*) => {
        $(impl FromValue for $rust {
            fn from_value(value: Value) -> Result<Self, ValueError> {
                match value {
                    $($pattern => Ok($result),)+
                    other => Err(refused(&other, stringify!($rust))),
                }
            }
        })*
    };
}

to_rust! {
    bool: Value::Bool(value) => value;
    f32: Value::Real(value) => value;
    f64: Value::Double(value) => value, Value::Real(value) => value.into();
    String:
        Value::Text(text) => text,
        Value::CiText(text) => text,
        Value::Json(text) => text,
        Value::Jsonb(text) => text,
        Value::Enum(of, place) => of.label(place).to_owned();
    Vec<u8>: Value::Bytea(bytes) => bytes;
    [u8; 16]: Value::Uuid(bytes) => bytes;
    Interval: Value::Interval(interval) => interval;
    AnyNumeric:
        Value::AnyNumeric(value) => *value,
        Value::Numeric(value) => value.into(),
        Value::SmallInt(value) => i64::from(value).into(),
        Value::Int(value) => i64::from(value).into(),
        Value::BigInt(value) => value.into();
    Decimal:
        Value::Numeric(value) => value,
        Value::SmallInt(value) => i64::from(value).into(),
        Value::Int(value) => i64::from(value).into(),
        Value::BigInt(value) => value.into();
}

macro_rules! try_from_value {
    ($($rust:ty),*) => {
        $(impl TryFrom<Value> for $rust {
            type Error = ValueError;

            fn try_from(value: Value) -> Result<Self, ValueError> {
                Self::from_value(value)
            }
        }

        impl TryFrom<Value> for Option<$rust> {
            type Error = ValueError;

            fn try_from(value: Value) -> Result<Self, ValueError> {
                Self::from_value(value)
            }
        }

        impl TryFrom<Value> for Vec<$rust> {
            type Error = ValueError;

            fn try_from(value: Value) -> Result<Self, ValueError> {
                Self::from_value(value)
            }
        })*
    };
}

try_from_value!(
    bool,
    i16,
    i32,
    i64,
    f32,
    f64,
    String,
    Vec<u8>,
    [u8; 16],
    Decimal,
    AnyNumeric,
    Interval
);
