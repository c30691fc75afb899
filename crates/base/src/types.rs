//! SQL data types as Hotrow stores them.
//!
//! Role         shared by catalog, rows, keys, expressions and the API; knows no SQL text

use std::collections::HashSet;
use std::fmt;
use std::ops::Deref;
use std::sync::LazyLock;

use crate::composite::CompositeType;
use crate::encoded::EncodedType;
use crate::enumeration::EnumType;
use crate::sync::Latch;

/// The digits of a second that a time has where its type says nothing of them, and at most.
pub const TIME_DIGITS: u8 = 6;

/// Bytes of a value of type `name`, at most.
pub const NAME_BYTES_MAX: usize = 63;

/// The type of one column, or of one element of an array parameter.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum DataType {
    /// `boolean`
    Boolean,
    /// `smallint`, 16 bits
    SmallInt,
    /// `integer`, 32 bits
    Integer,
    /// `bigint`, 64 bits
    BigInt,
    /// `oid`, the number of something in the system catalog: 0 to 4294967295, kept as a bigint
    Oid,
    /// `real`, 32 bits
    Real,
    /// `double precision`, 64 bits
    Double,
    /// `numeric(precision, scale)`: a 128-bit integer scaled by `10^scale`; in rows 64 bits where
    /// `precision <= 18`
    Numeric {
        /// decimal digits in all, 1 to 38
        precision: u8,
        /// digits behind the point, 0 to `precision`
        scale: u8,
    },
    /// `numeric`: of any number of digits, infinite, or none; each value knows how many digits it
    /// shows ([`crate::any_numeric`])
    AnyNumeric,
    /// `numeric(precision, scale)` of more than 38 digits, or with a scale below 0 or above the
    /// precision: its values are those of `AnyNumeric`, rounded and held against the precision
    WideNumeric {
        /// decimal digits in all, 1 to 1000
        precision: u16,
        /// digits behind the point, -1000 to 1000; below 0, so many before it are zeros
        scale: i16,
    },
    /// `text`
    Text,
    /// `varchar(n)`, n characters at most
    Varchar(u32),
    /// `char(n)`, blank padded; n bytes, stored in place
    Char(u32),
    /// `"char"`, one letter, which columns of the system catalog are of; kept as a text
    CatalogChar,
    /// `name`, a text that is cut to 63 bytes
    Name,
    /// `refcursor`, the name of a cursor; kept as a text
    RefCursor,
    /// `anyelement` and its kin: what routines take whose types their calls say. No value has it
    Any(AnyType),
    /// `citext`, whose letters count the same in either case ([`crate::fold`])
    CiText,
    /// `bytea`
    Bytea,
    /// `timestamp(precision)`: microseconds since 2000-01-01 00:00, rounded to that many digits of
    /// a second
    Timestamp(u8),
    /// `timestamptz(precision)`: microseconds since 2000-01-01 00:00 UTC, rounded to that many
    /// digits of a second
    TimestampTz(u8),
    /// `date`: days since 2000-01-01
    Date,
    /// `time(precision)`: microseconds since midnight, rounded to that many digits of a second
    Time(u8),
    /// `interval`: months, days and microseconds
    Interval,
    /// `uuid`
    Uuid,
    /// `json`, as it was written
    Json,
    /// `jsonb`, in its normal form
    Jsonb,
    /// `int4range` and its kin: all values between two bounds ([`crate::range`])
    Range(RangeKind),
    /// `inet`, `macaddr`, `bit(n)`, `timetz` and their kin ([`crate::encoded`])
    Encoded(EncodedType),
    /// a composite type: a row in one piece of bytes ([`crate::packed`])
    Composite(CompositeType),
    /// an enum: the place of a label
    Enum(EnumType),
    /// an array of values of one type, in one piece of bytes ([`crate::packed`]): what columns
    /// and results have; variables and expressions have [`SqlType::Array`]
    Array(ElementType),
}

/// What a polymorphic parameter takes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum AnyType {
    /// `anyelement`
    Element,
    /// `anyarray`, of arrays of what `anyelement` is
    Array,
    /// `anynonarray`, an `anyelement` that is no array
    NonArray,
    /// `anyenum`, an `anyelement` that is an enum
    Enum,
    /// `anycompatible`: all of them have a common type, to which they are converted
    Compatible,
    /// `anycompatiblearray`
    CompatibleArray,
    /// `anycompatiblenonarray`
    CompatibleNonArray,
}

impl AnyType {
    /// All of them.
    pub const ALL: [Self; 7] = [
        Self::Element,
        Self::Array,
        Self::NonArray,
        Self::Enum,
        Self::Compatible,
        Self::CompatibleArray,
        Self::CompatibleNonArray,
    ];

    /// The name of the type.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Element => "anyelement",
            Self::Array => "anyarray",
            Self::NonArray => "anynonarray",
            Self::Enum => "anyenum",
            Self::Compatible => "anycompatible",
            Self::CompatibleArray => "anycompatiblearray",
            Self::CompatibleNonArray => "anycompatiblenonarray",
        }
    }

    /// Whether its values are converted to a common type, and need not be of one.
    pub const fn is_compatible(self) -> bool {
        matches!(self, Self::Compatible | Self::CompatibleArray | Self::CompatibleNonArray)
    }

    /// Whether it takes arrays of what others of its family take.
    pub const fn is_array(self) -> bool {
        matches!(self, Self::Array | Self::CompatibleArray)
    }
}

/// What a range is of.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum RangeKind {
    /// `int4range`, of integers
    Int4,
    /// `int8range`, of bigints
    Int8,
    /// `numrange`, of numerics
    Num,
    /// `tsrange`, of timestamps
    Ts,
    /// `tstzrange`, of timestamps with time zone
    TsTz,
    /// `daterange`, of dates
    Date,
}

impl RangeKind {
    /// All of them.
    pub const ALL: [Self; 6] =
        [Self::Int4, Self::Int8, Self::Num, Self::Ts, Self::TsTz, Self::Date];

    /// The name of the type.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Int4 => "int4range",
            Self::Int8 => "int8range",
            Self::Num => "numrange",
            Self::Ts => "tsrange",
            Self::TsTz => "tstzrange",
            Self::Date => "daterange",
        }
    }

    /// The kind with this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }

    /// The type of the bounds, and of what lies between them.
    pub const fn element(self) -> DataType {
        match self {
            Self::Int4 => DataType::Integer,
            Self::Int8 => DataType::BigInt,
            Self::Num => DataType::AnyNumeric,
            Self::Ts => DataType::TIMESTAMP,
            Self::TsTz => DataType::TIMESTAMPTZ,
            Self::Date => DataType::Date,
        }
    }
}

/// The type of an array's elements, which is no array.
///
/// Bounds       kept until the process ends, once for each type that arrays were declared of
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct ElementType(&'static DataType);

/// All of them, latched where types are named only.
static ELEMENTS: LazyLock<Latch<HashSet<&'static DataType>>> = LazyLock::new(Latch::default);

impl Deref for ElementType {
    type Target = DataType;

    fn deref(&self) -> &DataType {
        self.0
    }
}

impl DataType {
    /// `timestamp` of which no precision is said.
    pub const TIMESTAMP: Self = Self::Timestamp(TIME_DIGITS);

    /// `timestamptz` of which no precision is said.
    pub const TIMESTAMPTZ: Self = Self::TimestampTz(TIME_DIGITS);

    /// A time, or a timestamp, with all digits of a second, and bits of any length; others as they
    /// are.
    #[must_use]
    pub const fn with_all_digits(self) -> Self {
        match self {
            Self::Encoded(of) => Self::Encoded(of.bare()),
            other => other.with_digits(TIME_DIGITS),
        }
    }

    /// A time, or a timestamp, with so many digits of a second; others as they are.
    #[must_use]
    pub const fn with_digits(self, digits: u8) -> Self {
        match self {
            Self::Time(_) => Self::Time(digits),
            Self::Timestamp(_) => Self::Timestamp(digits),
            Self::TimestampTz(_) => Self::TimestampTz(digits),
            Self::Encoded(EncodedType::TimeTz(_)) => Self::Encoded(EncodedType::TimeTz(digits)),
            other => other,
        }
    }

    /// Arrays of this type, which is none of arrays.
    pub fn array(self) -> Self {
        let mut elements = ELEMENTS.lock();
        if let Some(known) = elements.get(&self) {
            return Self::Array(ElementType(known));
        }
        let element: &'static Self = Box::leak(Box::new(self));
        elements.insert(element);
        Self::Array(ElementType(element))
    }

    /// The type of its elements, if it is one of arrays.
    pub fn element(self) -> Option<Self> {
        match self {
            Self::Array(element) => Some(*element),
            _ => None,
        }
    }

    /// smallint, integer, bigint or oid.
    pub const fn is_integer(self) -> bool {
        matches!(self, Self::SmallInt | Self::Integer | Self::BigInt | Self::Oid)
    }

    /// Whether values of two types compare as they are kept, without a conversion of either.
    pub fn is_kept_like(self, other: Self) -> bool {
        let scale = |of| match of {
            Self::Numeric { scale, .. } => Some(scale),
            _ => None,
        };
        let encoded = |of| match of {
            Self::Encoded(of) => Some(of),
            _ => None,
        };
        self.with_all_digits() == other.with_all_digits()
            || self.is_integer() && other.is_integer()
            || self.is_text() && other.is_text() && !(self.is_folded() || other.is_folded())
            || self.is_any_numeric() && other.is_any_numeric()
            || scale(self).is_some() && scale(self) == scale(other)
            || encoded(self).zip(encoded(other)).is_some_and(|(of, other)| of.is_kept_like(other))
    }

    /// real or double precision.
    pub const fn is_float(self) -> bool {
        matches!(self, Self::Real | Self::Double)
    }

    /// citext, which is compared by what it is in small letters.
    pub const fn is_folded(self) -> bool {
        matches!(self, Self::CiText)
    }

    /// text, varchar, char, "char", name, refcursor or citext.
    pub const fn is_text(self) -> bool {
        matches!(self, Self::Text | Self::Varchar(_) | Self::Char(_))
            || matches!(self, Self::CatalogChar | Self::Name | Self::RefCursor | Self::CiText)
    }

    /// Whether values of both types are the same datums: what is of one can be looked for in an
    /// index of the other, whose encoding refuses what is out of its range.
    pub fn has_datums_of(self, other: Self) -> bool {
        self == other
            || self.is_integer() && other.is_integer()
            || self.is_text() && other.is_text()
    }

    /// json or jsonb.
    pub const fn is_json(self) -> bool {
        matches!(self, Self::Json | Self::Jsonb)
    }

    /// Whether a datum of this type points into a byte heap (text, bytea, uuid, json,
    /// numerics of any number of digits, ranges, encoded values, arrays, rows).
    pub const fn is_bytes(self) -> bool {
        self.is_text()
            || self.is_json()
            || self.is_any_numeric()
            || matches!(self, Self::Bytea | Self::Uuid | Self::Range(_) | Self::Encoded(_))
            || matches!(self, Self::Array(_) | Self::Composite(_))
    }

    /// Whether its values lie behind a row's fixed part: text, varchar, bytea, json, jsonb,
    /// numerics of any number of digits, ranges, encoded values, arrays, rows.
    pub const fn is_variable(self) -> bool {
        self.is_bytes() && !matches!(self, Self::Char(_) | Self::Uuid)
    }

    /// The kind of a range.
    pub const fn range_kind(self) -> Option<RangeKind> {
        match self {
            Self::Range(kind) => Some(kind),
            _ => None,
        }
    }

    /// Whether values are compared by all of their bytes but the last ones, which say how numbers
    /// are shown: numerics whose values say how many digits they have, and ranges.
    pub const fn is_shown_by_last_bytes(self) -> bool {
        self.is_any_numeric() || matches!(self, Self::Range(_))
    }

    /// Any of the numeric types: integers, floats, numeric.
    pub const fn is_number(self) -> bool {
        self.is_integer() || self.is_float() || self.is_numeric()
    }

    /// numeric, with a precision or without.
    pub const fn is_numeric(self) -> bool {
        matches!(self, Self::Numeric { .. }) || self.is_any_numeric()
    }

    /// numeric whose values say themselves how many digits they have: without a precision, or with
    /// a wide one.
    pub const fn is_any_numeric(self) -> bool {
        matches!(self, Self::AnyNumeric | Self::WideNumeric { .. })
    }
}

impl fmt::Display for DataType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Boolean => f.write_str("boolean"),
            Self::SmallInt => f.write_str("smallint"),
            Self::Integer => f.write_str("integer"),
            Self::BigInt => f.write_str("bigint"),
            Self::Oid => f.write_str("oid"),
            Self::Real => f.write_str("real"),
            Self::Double => f.write_str("double precision"),
            Self::Numeric { precision, scale } => write!(f, "numeric({precision},{scale})"),
            Self::AnyNumeric => f.write_str("numeric"),
            Self::WideNumeric { precision, scale } => write!(f, "numeric({precision},{scale})"),
            Self::Text => f.write_str("text"),
            Self::Varchar(n) => write!(f, "varchar({n})"),
            Self::Char(n) => write!(f, "char({n})"),
            Self::CatalogChar => f.write_str("\"char\""),
            Self::Name => f.write_str("name"),
            Self::RefCursor => f.write_str("refcursor"),
            Self::Any(of) => f.write_str(of.name()),
            Self::CiText => f.write_str("citext"),
            Self::Bytea => f.write_str("bytea"),
            Self::Timestamp(TIME_DIGITS) => f.write_str("timestamp"),
            Self::TimestampTz(TIME_DIGITS) => f.write_str("timestamptz"),
            Self::Timestamp(digits) => write!(f, "timestamp({digits})"),
            Self::TimestampTz(digits) => write!(f, "timestamptz({digits})"),
            Self::Date => f.write_str("date"),
            Self::Time(TIME_DIGITS) => f.write_str("time"),
            Self::Time(digits) => write!(f, "time({digits})"),
            Self::Interval => f.write_str("interval"),
            Self::Uuid => f.write_str("uuid"),
            Self::Json => f.write_str("json"),
            Self::Jsonb => f.write_str("jsonb"),
            Self::Range(kind) => f.write_str(kind.name()),
            Self::Encoded(of) => write!(f, "{of}"),
            Self::Composite(of) => f.write_str(of.name()),
            Self::Enum(of) => f.write_str(of.name()),
            Self::Array(element) => write!(f, "{}[]", **element),
        }
    }
}

/// The type of a parameter or of a slot.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum SqlType {
    /// one value
    Scalar(DataType),
    /// an array of values, whose elements lie in a list
    Array(DataType),
}

impl SqlType {
    /// What it is polymorphic as; none: it is a type of values.
    pub const fn any(self) -> Option<AnyType> {
        match self {
            Self::Scalar(DataType::Any(any)) => Some(any),
            _ => None,
        }
    }

    /// The type as columns and results have it.
    pub fn packed(self) -> DataType {
        match self {
            Self::Scalar(data_type) => data_type,
            Self::Array(element) => element.array(),
        }
    }

    /// The type as variables have it: the elements of an array lie in a list.
    pub fn spread(self) -> Self {
        match self {
            Self::Scalar(DataType::Array(element)) => Self::Array(*element),
            other => other,
        }
    }
}

impl fmt::Display for SqlType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Scalar(data_type) => data_type.fmt(f),
            Self::Array(element) => write!(f, "{element}[]"),
        }
    }
}
