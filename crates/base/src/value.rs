//! Values: SQL values with their type and their memory, for the edges of the engine.
//!
//! Role         parameters and results of the API, literals, text protocols, errors and tests; the
//!              transaction path works on datums, which this converts to and from
//! Invariants   I1 text output and input are PostgreSQL's (ISO dates, times in the zone that this
//!                 thread has entered: [`TimeZone`](crate::temporal::TimeZone)), and input undoes
//!                 output in the same zone
//!              I2 a value becomes a datum of a column's type only by an assignment cast that loses
//!                 no more than rounding and trailing blanks; else it is an error with a SQLSTATE

mod array;
mod array_text;
mod builder;
mod cast;
mod composite;
mod convert;
mod error;
mod format;
mod parse;

#[cfg(test)]
mod tests;

pub use array::charged_list;
pub use array_text::checked_shape;
pub use builder::TextBuilder;
pub use convert::FromValue;
pub use error::ValueError;

use crate::any_numeric::{self, AnyNumeric};
use crate::composite::CompositeType;
use crate::datum::Datum;
use crate::decimal::Decimal;
use crate::encoded::Encoded;
use crate::enumeration::EnumType;
use crate::packed;
use crate::range::Range;
use crate::shape::ArrayShape;
use crate::temporal::Interval;
use crate::types::DataType;

/// One SQL value, owned.
#[derive(Clone, PartialEq, Debug, Default)]
pub enum Value {
    /// NULL of any type
    #[default]
    Null,
    /// `boolean`
    Bool(bool),
    /// `smallint`
    SmallInt(i16),
    /// `integer`
    Int(i32),
    /// `bigint` or `oid`
    BigInt(i64),
    /// `real`
    Real(f32),
    /// `double precision`
    Double(f64),
    /// `numeric` of at most 38 digits
    Numeric(Decimal),
    /// `numeric` of more digits, or one that is no number
    AnyNumeric(Box<AnyNumeric>),
    /// `text`, `varchar`, `char`, or a literal of a type still to be found
    Text(String),
    /// `citext`
    CiText(String),
    /// `bytea`
    Bytea(Vec<u8>),
    /// `timestamp`: microseconds since 2000-01-01
    Timestamp(i64),
    /// `timestamptz`: microseconds since 2000-01-01 UTC
    TimestampTz(i64),
    /// `date`: days since 2000-01-01
    Date(i32),
    /// `time`: microseconds since midnight
    Time(i64),
    /// `interval`
    Interval(Interval),
    /// `uuid`
    Uuid([u8; 16]),
    /// `json`, which has been checked
    Json(String),
    /// `jsonb`, in its normal form
    Jsonb(String),
    /// `int4range` and its kin
    Range(Box<Range>),
    /// `inet`, `macaddr`, `bit(n)`, `timetz` and their kin
    Encoded(Encoded),
    /// a value of an enum: the place of its label
    Enum(EnumType, u16),
    /// a row of a composite type, with as many values as that has fields
    Composite(CompositeType, Vec<Value>),
    /// a plain array ([`crate::shape`]) of values of one type, none of them an array
    Array(Vec<Value>),
    /// an array of several dimensions, or one that does not begin at 1: row by row
    Shaped(Box<ArrayShape>, Vec<Value>),
}

const _: () = assert!(size_of::<Value>() <= 48, "values lie in long lists");

impl Value {
    /// Bytes of memory that it takes.
    pub fn bytes(&self) -> usize {
        size_of::<Self>()
            + match self {
                Self::Text(text) | Self::CiText(text) | Self::Json(text) | Self::Jsonb(text) => {
                    text.len()
                }
                Self::Bytea(bytes) => bytes.len(),
                Self::AnyNumeric(number) => number.bytes(),
                Self::Range(range) => range.bytes(),
                Self::Encoded(value) => value.bytes().len(),
                Self::Array(values) | Self::Shaped(_, values) | Self::Composite(_, values) => {
                    values.iter().map(Self::bytes).sum()
                }
                _ => 0,
            }
    }

    /// The value as a numeric, if it is an integer or a numeric.
    pub fn to_any_numeric(&self) -> Option<AnyNumeric> {
        Some(match self {
            Self::SmallInt(value) => i64::from(*value).into(),
            Self::Int(value) => i64::from(*value).into(),
            Self::BigInt(value) => (*value).into(),
            Self::Numeric(value) => (*value).into(),
            Self::AnyNumeric(value) => (**value).clone(),
            _ => return None,
        })
    }

    /// Whether this is NULL.
    pub const fn is_null(&self) -> bool {
        matches!(self, Self::Null)
    }

    /// The value of a datum of a static type; `heap` is what its byte range points into. A char(n)
    /// gets its trailing blanks back.
    pub fn from_datum(datum: Datum, data_type: DataType, heap: &[u8]) -> Self {
        if datum.is_null() {
            return Self::Null;
        }
        let bytes = || &heap[datum.as_range().range()];
        // Text was checked when it came in; a lossy copy is better than a panic if it was not.
        let text = || String::from_utf8_lossy(bytes()).into_owned();
        let int = datum.as_int();
        match data_type {
            DataType::Boolean => Self::Bool(datum.is_true()),
            DataType::SmallInt => Self::SmallInt(int as i16),
            DataType::Integer => Self::Int(int as i32),
            DataType::BigInt | DataType::Oid => Self::BigInt(int),
            DataType::Real => Self::Real(datum.as_float() as f32),
            DataType::Double => Self::Double(datum.as_float()),
            DataType::Numeric { scale, .. } => {
                Decimal::new(datum.as_numeric(), scale).map_or(Self::Null, Self::Numeric)
            }
            DataType::AnyNumeric | DataType::WideNumeric { .. } => {
                any_numeric::read(bytes()).into()
            }
            DataType::Text | DataType::Varchar(_) => Self::Text(text()),
            DataType::CatalogChar | DataType::Name | DataType::RefCursor => Self::Text(text()),
            DataType::Any(_) => Self::Null,
            DataType::CiText => Self::CiText(text()),
            DataType::Char(n) => Self::Text(cast::padded(text(), n)),
            DataType::Bytea => Self::Bytea(bytes().to_vec()),
            DataType::Timestamp(_) => Self::Timestamp(int),
            DataType::TimestampTz(_) => Self::TimestampTz(int),
            DataType::Date => Self::Date(int as i32),
            DataType::Time(_) => Self::Time(int),
            DataType::Interval => Self::Interval(datum.as_interval()),
            DataType::Uuid => Self::Uuid(bytes().try_into().unwrap_or_default()),
            DataType::Json => Self::Json(text()),
            DataType::Jsonb => Self::Jsonb(text()),
            DataType::Range(kind) => Self::Range(Box::new(Range::read(kind, bytes()))),
            DataType::Encoded(of) => Self::Encoded(of.read(bytes())),
            DataType::Enum(of) => Self::Enum(of, int as u16),
            DataType::Composite(of) => {
                let fields = packed::fields(datum, of.fields().len(), heap).zip(of.types());
                let fields = fields.map(|(field, of)| Self::from_datum(field, of, heap));
                Self::Composite(of, fields.collect())
            }
            DataType::Array(element) => {
                let elements = packed::elements(datum, heap);
                let shape = elements.shape();
                let elements = elements.map(|it| Self::from_datum(it, *element, heap));
                Self::shaped(elements.collect(), &shape)
            }
        }
    }

    /// The type's name in messages.
    fn type_name(&self) -> &'static str {
        match self {
            Self::Null => "unknown",
            Self::Bool(_) => "boolean",
            Self::SmallInt(_) => "smallint",
            Self::Int(_) => "integer",
            Self::BigInt(_) => "bigint",
            Self::Real(_) => "real",
            Self::Double(_) => "double precision",
            Self::Numeric(_) | Self::AnyNumeric(_) => "numeric",
            Self::Text(_) => "text",
            Self::CiText(_) => "citext",
            Self::Bytea(_) => "bytea",
            Self::Timestamp(_) => "timestamp without time zone",
            Self::TimestampTz(_) => "timestamp with time zone",
            Self::Date(_) => "date",
            Self::Time(_) => "time without time zone",
            Self::Interval(_) => "interval",
            Self::Uuid(_) => "uuid",
            Self::Json(_) => "json",
            Self::Jsonb(_) => "jsonb",
            Self::Range(range) => range.kind().name(),
            Self::Encoded(value) => value.of().name(),
            Self::Enum(of, _) => of.name(),
            Self::Composite(of, _) => of.name(),
            Self::Array(_) | Self::Shaped(..) => "array",
        }
    }
}
