//! What can be wrong with a value.

use crate::types::DataType;
use std::fmt;

/// Why a text is no value of a type, or a value does not fit a type. Code and message are
/// PostgreSQL's.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ValueError {
    code: &'static str,
    message: String,
}

impl ValueError {
    /// The SQLSTATE, such as `22003`.
    pub const fn code(&self) -> &'static str {
        self.code
    }

    /// What happened, in one line.
    pub fn message(&self) -> &str {
        &self.message
    }

    fn new(code: &'static str, message: String) -> Self {
        Self { code, message }
    }

    /// invalid_text_representation; invalid_datetime_format for dates and timestamps
    pub(super) fn syntax(data_type: DataType, text: &str) -> Self {
        let code = match data_type {
            DataType::Date | DataType::Timestamp | DataType::TimestampTz => "22007",
            _ => "22P02",
        };
        let name = name(data_type);
        let text = text.escape_debug();
        Self::new(code, format!("invalid input syntax for type {name}: \"{text}\""))
    }

    /// invalid_text_representation of an array
    pub(super) fn malformed_array(text: &str) -> Self {
        let text = text.escape_debug();
        Self::new("22P02", format!("malformed array literal: \"{text}\""))
    }

    /// numeric_value_out_of_range, told by a text
    pub(super) fn text_out_of_range(data_type: DataType, text: &str) -> Self {
        let (name, text) = (name(data_type), text.escape_debug());
        let message = match data_type.is_float() {
            true => format!("\"{text}\" is out of range for type {name}"),
            false => format!("value \"{text}\" is out of range for type {name}"),
        };
        Self::new("22003", message)
    }

    /// numeric_value_out_of_range
    pub(super) fn out_of_range(data_type: DataType) -> Self {
        let message = match data_type {
            DataType::Numeric { precision, scale } => format!(
                "numeric field overflow: a field with precision {precision}, scale {scale} must \
                 round to an absolute value less than 10^{}",
                precision.saturating_sub(scale)
            ),
            DataType::Real | DataType::Double => "value out of range: overflow".to_owned(),
            _ => format!("{} out of range", name(data_type)),
        };
        Self::new("22003", message)
    }

    /// string_data_right_truncation
    pub(super) fn too_long(data_type: DataType) -> Self {
        let limit = match data_type {
            DataType::Varchar(n) | DataType::Char(n) => format!("({n})"),
            _ => String::new(),
        };
        Self::new("22001", format!("value too long for type {}{limit}", name(data_type)))
    }

    /// datetime_field_overflow
    pub(super) fn date_out_of_range(text: &str) -> Self {
        let text = text.escape_debug();
        Self::new("22008", format!("date/time field value out of range: \"{text}\""))
    }

    /// datetime_field_overflow of a value
    pub(super) fn timestamp_out_of_range() -> Self {
        Self::new("22008", "timestamp out of range".to_owned())
    }

    /// feature_not_supported: infinite dates, numerics that are no numbers
    pub(super) fn unsupported(data_type: DataType, what: &str) -> Self {
        let name = name(data_type);
        Self::new("0A000", format!("{what} is not supported for type {name}"))
    }

    /// character_not_in_repertoire
    pub(super) fn zero_byte() -> Self {
        Self::new("22021", "invalid byte sequence for encoding \"UTF8\": 0x00".to_owned())
    }

    /// cannot_coerce
    pub(super) fn no_cast(from: &str, to: impl fmt::Display) -> Self {
        Self::new("42846", format!("cannot cast type {from} to {to}"))
    }

    /// null_value_no_indicator_parameter: NULL for a Rust type that has none
    pub(super) fn null(to: &str) -> Self {
        Self::new("22002", format!("null value cannot become {to}; ask for an Option"))
    }
}

impl fmt::Display for ValueError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for ValueError {}

/// A type's name in messages, without its modifier.
pub(super) fn name(data_type: DataType) -> &'static str {
    match data_type {
        DataType::Boolean => "boolean",
        DataType::SmallInt => "smallint",
        DataType::Integer => "integer",
        DataType::BigInt => "bigint",
        DataType::Real => "real",
        DataType::Double => "double precision",
        DataType::Numeric { .. } => "numeric",
        DataType::Text => "text",
        DataType::Varchar(_) => "character varying",
        DataType::Char(_) => "character",
        DataType::Bytea => "bytea",
        DataType::Timestamp => "timestamp",
        DataType::TimestampTz => "timestamp with time zone",
        DataType::Date => "date",
        DataType::Uuid => "uuid",
    }
}
