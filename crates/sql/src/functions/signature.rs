//! What functions take and give.

use std::fmt;

use hotrow_base::types::{DataType, SqlType, TIME_DIGITS};

/// The type of an argument or of a result.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum Type {
    Is(SqlType),
    /// numeric, with whatever digits
    Numeric,
    /// one of the types of numbers: an open literal is a double
    Number,
    /// one of the types: an open literal is a text
    Any,
    AnyArray,
    /// what the array or the first argument decides
    AnyElement,
    AnyRange,
    /// what lies in the range
    RangeElement,
    /// a relation or a sequence: its name or its number
    Relation,
    /// a relation's number, which a literal may name
    RelationNumber,
    Record,
    Void,
}

/// An argument.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Argument {
    pub(crate) of: Type,
    pub(crate) count: Count,
}

/// How often an argument stands in a call.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Count {
    Once,
    Optional,
    /// any number of times
    Many,
}

const fn once(of: Type) -> Argument {
    Argument { of, count: Count::Once }
}

const fn scalar(of: DataType) -> Argument {
    once(Type::Is(SqlType::Scalar(of)))
}

/// An argument that may be left out.
pub(super) const fn opt(argument: Argument) -> Argument {
    Argument { count: Count::Optional, ..argument }
}

/// An argument that may be left out or repeated.
pub(super) const fn many(argument: Argument) -> Argument {
    Argument { count: Count::Many, ..argument }
}

pub(super) const TEXT: Argument = scalar(DataType::Text);
pub(super) const BOOLEAN: Argument = scalar(DataType::Boolean);
pub(super) const SMALLINT: Argument = scalar(DataType::SmallInt);
pub(super) const INTEGER: Argument = scalar(DataType::Integer);
pub(super) const BIGINT: Argument = scalar(DataType::BigInt);
/// the number of something in the catalog
pub(super) const OID: Argument = scalar(DataType::Oid);
pub(super) const REAL: Argument = scalar(DataType::Real);
pub(super) const DOUBLE: Argument = scalar(DataType::Double);
pub(super) const BYTEA: Argument = scalar(DataType::Bytea);
pub(super) const UUID: Argument = scalar(DataType::Uuid);
pub(super) const DATE: Argument = scalar(DataType::Date);
pub(super) const TIME: Argument = scalar(DataType::Time(TIME_DIGITS));
pub(super) const TIMESTAMP: Argument = scalar(DataType::TIMESTAMP);
pub(super) const TIMESTAMPTZ: Argument = scalar(DataType::TIMESTAMPTZ);
pub(super) const INTERVAL: Argument = scalar(DataType::Interval);
pub(super) const JSON: Argument = scalar(DataType::Json);
pub(super) const JSONB: Argument = scalar(DataType::Jsonb);
pub(super) const TEXTS: Argument = once(Type::Is(SqlType::Array(DataType::Text)));
pub(super) const INTEGERS: Argument = once(Type::Is(SqlType::Array(DataType::Integer)));
pub(super) const NUMERIC: Argument = once(Type::Numeric);
/// numeric, each value with its digits
pub(super) const ANY_NUMERIC: Argument = scalar(DataType::AnyNumeric);
pub(super) const NUMBER: Argument = once(Type::Number);
pub(super) const ANY: Argument = once(Type::Any);
pub(super) const ARRAY: Argument = once(Type::AnyArray);
pub(super) const ELEMENT: Argument = once(Type::AnyElement);
pub(super) const RANGE: Argument = once(Type::AnyRange);
pub(super) const IN_RANGE: Argument = once(Type::RangeElement);
pub(super) const RELATION: Argument = once(Type::Relation);
pub(super) const RELATION_NUMBER: Argument = once(Type::RelationNumber);
pub(super) const RECORD: Argument = once(Type::Record);
pub(super) const VOID: Argument = once(Type::Void);

impl Argument {
    pub(crate) fn is_required(&self) -> bool {
        self.count == Count::Once
    }

    pub(crate) fn is_variadic(&self) -> bool {
        self.count == Count::Many
    }
}

impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Is(sql_type) => return sql_type.fmt(f),
            Self::Numeric => "numeric",
            Self::Number => "number",
            Self::Any => "any",
            Self::AnyArray => "anyarray",
            Self::AnyElement | Self::RangeElement => "anyelement",
            Self::AnyRange => "anyrange",
            Self::Relation | Self::RelationNumber => "regclass",
            Self::Record => "record",
            Self::Void => "void",
        })
    }
}

/// `a, b [, c] [, ...]`
pub(super) fn list(arguments: &[Argument]) -> String {
    let mut text = String::new();
    for Argument { of, count } in arguments {
        let comma = if text.is_empty() { "" } else { ", " };
        text += &match count {
            Count::Once => format!("{comma}{of}"),
            Count::Optional if text.is_empty() => format!("[{of}]"),
            Count::Optional => format!(" [, {of}]"),
            Count::Many => format!("{comma}{of} [, ...]"),
        };
    }
    text
}
