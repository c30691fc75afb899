//! What can be wrong with a value.

use crate::encoded::{EncodedFunction, EncodedType};
use crate::interrupt::Interruption;
use crate::interrupt::current::Refusal;
use crate::memory::OutOfMemory;
use crate::temporal::TemporalError;
use crate::types::DataType;
use std::fmt;

/// Why a text is no value of a type, or a value does not fit a type. Code and message are
/// PostgreSQL's.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ValueError {
    code: &'static str,
    message: String,
    detail: Option<String>,
    hint: Option<&'static str>,
    /// it is no matter of the value
    refusal: Option<Refusal>,
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

    /// More about it, if there is more.
    pub fn detail(&self) -> Option<&str> {
        self.detail.as_deref()
    }

    /// What to do about it, where that can be said.
    pub const fn hint(&self) -> Option<&'static str> {
        self.hint
    }

    fn new(code: &'static str, message: String) -> Self {
        Self { code, message, detail: None, hint: None, refusal: None }
    }

    /// Why the value was not computed to its end, if it was not: code and message are told by
    /// whoever runs statements.
    pub const fn refusal(&self) -> Option<Refusal> {
        self.refusal
    }

    /// invalid_text_representation; invalid_datetime_format for dates and timestamps
    pub(crate) fn syntax(data_type: DataType, text: &str) -> Self {
        let code = match data_type {
            DataType::Date | DataType::Timestamp(_) | DataType::TimestampTz(_) => "22007",
            DataType::Time(_) | DataType::Interval => "22007",
            DataType::Encoded(EncodedType::TimeTz(_)) => "22007",
            _ => "22P02",
        };
        let name = name(data_type);
        let text = text.escape_debug();
        let what = match data_type {
            DataType::Enum(_) => "invalid input value for enum",
            _ => "invalid input syntax for type",
        };
        Self::new(code, format!("{what} {name}: \"{text}\""))
    }

    /// invalid_text_representation of a row, and what is wrong with it
    pub(super) fn malformed_record(text: &str, detail: &str) -> Self {
        let text = text.escape_debug();
        let error = Self::new("22P02", format!("malformed record literal: \"{text}\""));
        Self { detail: Some(detail.to_owned()), ..error }
    }

    /// invalid_text_representation of an array, with what is wrong
    pub(super) fn malformed_array(text: &str, detail: &str) -> Self {
        let error = Self::new("22P02", format!("malformed array literal: \"{text}\""));
        Self { detail: Some(detail.to_owned()), ..error }
    }

    /// program_limit_exceeded: dimensions of an array
    pub(super) fn array_limit(message: String) -> Self {
        Self::new("54000", message)
    }

    /// array_subscript_error: slices of more dimensions than an array has
    pub(super) fn slice_range(wanted: i32, count: usize) -> Self {
        let message = format!("slice dimension ({wanted}) is out of the valid range 0..{count}");
        Self::new("2202E", message)
    }

    /// null_value_not_allowed: among arrays that become one
    pub(super) fn null_part() -> Self {
        Self::new("22004", "cannot accumulate null arrays".to_owned())
    }

    /// array_subscript_error: among arrays that become one
    pub(super) fn no_part(what: &str) -> Self {
        Self::new("2202E", format!("cannot accumulate {what}"))
    }

    /// array_subscript_error: a dimension that ends before it begins
    pub(super) fn array_bounds() -> Self {
        Self::new("2202E", "upper bound cannot be less than lower bound".to_owned())
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
    pub(crate) fn out_of_range(data_type: DataType) -> Self {
        let message = match data_type {
            DataType::Numeric { precision, scale } => format!(
                "numeric field overflow: a field with precision {precision}, scale {scale} must \
                 round to an absolute value less than 10^{}",
                precision.saturating_sub(scale)
            ),
            DataType::Real | DataType::Double => "value out of range: overflow".to_owned(),
            DataType::AnyNumeric => "value overflows numeric format".to_owned(),
            DataType::WideNumeric { precision, scale } => {
                let whole = i32::from(precision) - i32::from(scale);
                let limit = if whole == 0 { "1".to_owned() } else { format!("10^{whole}") };
                format!(
                    "numeric field overflow: a field with precision {precision}, scale {scale} \
                     must round to an absolute value less than {limit}"
                )
            }
            DataType::Oid => "OID out of range".to_owned(),
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
    pub(super) fn field_out_of_range(text: &str) -> Self {
        let text = text.escape_debug();
        Self::new("22008", format!("date/time field value out of range: \"{text}\""))
    }

    /// datetime_field_overflow that may come of a date's order
    pub(super) fn field_order(text: &str) -> Self {
        let hint = "Perhaps you need a different \"datestyle\" setting.";
        Self { hint: Some(hint), ..Self::field_out_of_range(text) }
    }

    /// datetime_field_overflow of a text that is in order
    pub(super) fn time_out_of_range(data_type: DataType, text: &str) -> Self {
        let name = if data_type == DataType::Date { "date" } else { "timestamp" };
        let text = text.escape_debug();
        Self::new("22008", format!("{name} out of range: \"{text}\""))
    }

    /// invalid_time_zone_displacement_value
    pub(super) fn zone_out_of_range(text: &str) -> Self {
        let text = text.escape_debug();
        Self::new("22009", format!("time zone displacement out of range: \"{text}\""))
    }

    /// invalid_parameter_value
    pub(crate) fn unknown_zone(name: &str) -> Self {
        let name = name.escape_debug();
        let error = Self::new("22023", format!("time zone \"{name}\" not recognized"));
        Self { hint: Some(crate::temporal::KNOWN_ZONES), ..error }
    }

    /// feature_not_supported: a text that means another time whenever it is read
    pub(super) fn clock(data_type: DataType, text: &str) -> Self {
        let hint = "Write now(), current_date, or current_date + 1.";
        Self { hint: Some(hint), ..Self::unsupported(data_type, &format!("'{text}'")) }
    }

    /// interval_field_overflow
    pub(super) fn interval_out_of_range(text: &str) -> Self {
        let text = text.escape_debug();
        Self::new("22015", format!("interval field value out of range: \"{text}\""))
    }

    /// datetime_field_overflow of an interval's parts together
    pub(super) fn interval_total() -> Self {
        Self::new("22008", "interval out of range".to_owned())
    }

    /// datetime_field_overflow of a value
    pub(crate) fn date_beyond_timestamps() -> Self {
        Self::new("22008", "date out of range for timestamp".to_owned())
    }

    /// feature_not_supported: times that depend on a clock, numerics that are no numbers
    pub(super) fn unsupported(data_type: DataType, what: &str) -> Self {
        let name = name(data_type);
        Self::new("0A000", format!("{what} is not supported for type {name}"))
    }

    /// character_not_in_repertoire
    pub(super) fn zero_byte() -> Self {
        Self::new("22021", "invalid byte sequence for encoding \"UTF8\": 0x00".to_owned())
    }

    /// invalid_text_representation of a json, and where
    pub(crate) fn json(problem: &serde_json::Error) -> Self {
        let error = Self::new("22P02", "invalid input syntax for type json".to_owned());
        let mut detail = problem.to_string();
        detail.get_mut(..1).map(str::make_ascii_uppercase);
        Self { detail: Some(detail + "."), ..error }
    }

    /// untranslatable_character: `\u0000`, which no text holds
    pub(crate) fn json_zero() -> Self {
        let error = Self::new("22P05", "unsupported Unicode escape sequence".to_owned());
        Self { detail: Some("\\u0000 cannot be converted to text.".to_owned()), ..error }
    }

    /// statement_too_complex: arrays and objects within each other
    pub(crate) fn json_too_deep(depth_max: usize) -> Self {
        Self::new("54001", format!("json is nested more than {depth_max} levels deep"))
    }

    /// program_limit_exceeded
    pub(crate) fn too_many_bytes(what: &str, bytes_max: usize) -> Self {
        let mebibytes = bytes_max >> 20;
        Self::new("54000", format!("{what} is longer than {mebibytes} MiB"))
    }

    /// numeric_value_out_of_range: a number of a jsonb
    pub(crate) fn numeric_format() -> Self {
        Self::new("22003", "value overflows numeric format".to_owned())
    }

    /// invalid_parameter_value: a function or an operator does not take such a json
    pub(crate) fn json_use(message: String) -> Self {
        Self::new("22023", message)
    }

    /// invalid_parameter_value: jsonb_insert of a key that is there
    pub(crate) fn json_key_exists() -> Self {
        let error = Self::new("22023", "cannot replace existing key".to_owned());
        let advice = "Try using the function jsonb_set to replace key value.";
        Self { detail: Some(advice.to_owned()), ..error }
    }

    /// invalid_parameter_value: an assignment into what is neither an array nor an object
    pub(crate) fn json_within_scalar() -> Self {
        let error = Self::new("22023", "cannot replace existing key".to_owned());
        let why = "The path assumes key is a composite object, but it is a scalar value.";
        Self { detail: Some(why.to_owned()), ..error }
    }

    /// invalid_text_representation: a field of an object that is to be an array
    pub(crate) fn no_json_array(key: &str) -> Self {
        let error = Self::new("22P02", "expected JSON array".to_owned());
        Self { detail: Some(format!("See the value of key \"{key}\".")), ..error }
    }

    /// invalid_text_representation: arrays within an array, of several lengths
    pub(crate) fn ragged_json_array() -> Self {
        let error = Self::new("22P02", "malformed JSON array".to_owned());
        let why = "Multidimensional arrays must have sub-arrays with matching dimensions.";
        Self { detail: Some(why.to_owned()), ..error }
    }

    /// invalid_text_representation: a step of a path
    pub(crate) fn json_path(message: String) -> Self {
        Self::new("22P02", message)
    }

    /// what a function of json, or a path, says of what it meets
    pub(crate) fn json_error(code: &'static str, message: String) -> Self {
        Self::new(code, message)
    }

    /// invalid_text_representation of a range, and what is wrong with it
    pub(crate) fn malformed_range(text: &str, detail: &'static str) -> Self {
        let text = text.escape_debug();
        let error = Self::new("22P02", format!("malformed range literal: \"{text}\""));
        Self { detail: Some(detail.to_owned()), ..error }
    }

    /// what a text of a time is wrong in
    pub(crate) fn temporal(data_type: DataType, text: &str, error: TemporalError) -> Self {
        super::parse::temporal_error(data_type, text, error)
    }

    /// invalid_text_representation: what names a host, in a network
    pub(crate) fn network_with_host(text: &str) -> Self {
        let text = text.escape_debug();
        let error = Self::new("22P02", format!("invalid cidr value: \"{text}\""));
        Self { detail: Some("Value has bits set to right of mask.".to_owned()), ..error }
    }

    /// invalid_parameter_value: bits of an address that name its network
    pub(crate) fn mask_length(bits: i64) -> Self {
        Self::new("22023", format!("invalid mask length: {bits}"))
    }

    /// invalid_parameter_value: an address of 32 bits beside one of 128
    pub(crate) fn mixed_families() -> Self {
        Self::new("22023", "cannot merge addresses from different families".to_owned())
    }

    /// invalid_parameter_value: the same, in an operator
    pub(crate) fn mixed_sizes(function: EncodedFunction) -> Self {
        let what = match function {
            EncodedFunction::And => "AND",
            EncodedFunction::Or => "OR",
            _ => "subtract",
        };
        Self::new("22023", format!("cannot {what} inet values of different sizes"))
    }

    /// numeric_value_out_of_range: no address follows
    pub(crate) fn inet_range() -> Self {
        Self::new("22003", "result is out of range".to_owned())
    }

    /// numeric_value_out_of_range: no value of a type
    pub(crate) fn range_of(of: &str) -> Self {
        Self::new("22003", format!("{of} out of range"))
    }

    /// numeric_value_out_of_range: an address of eight bytes that none of six was made
    pub(crate) fn device_of_eight_bytes() -> Self {
        let why = "Only addresses that have FF and FE as values in the 4th and 5th bytes from the \
                   left, for example xx:xx:xx:ff:fe:xx:xx:xx, are eligible to be converted from \
                   macaddr8 to macaddr.";
        let message = "macaddr8 data out of range to convert to macaddr";
        Self { hint: Some(why), ..Self::new("22003", message.to_owned()) }
    }

    /// invalid_text_representation: a digit that says no bits
    pub(crate) fn no_bits(digit: char, radix: u32) -> Self {
        let of = if radix == 2 { "binary" } else { "hexadecimal" };
        Self::new("22P02", format!("\"{}\" is not a valid {of} digit", digit.escape_debug()))
    }

    /// string_data_length_mismatch: bits for a column of another length
    pub(crate) fn other_bits(given: usize, wanted: u32) -> Self {
        let message = format!("bit string length {given} does not match type bit({wanted})");
        Self::new("22026", message)
    }

    /// string_data_right_truncation: bits for a column of fewer
    pub(crate) fn too_many_bits(most: u32) -> Self {
        Self::new("22001", format!("bit string too long for type bit varying({most})"))
    }

    /// string_data_length_mismatch: an operator wants as many bits on both sides
    pub(crate) fn bits_of_other_size(function: EncodedFunction) -> Self {
        let name = match function {
            EncodedFunction::And => "AND",
            EncodedFunction::Or => "OR",
            _ => "XOR",
        };
        Self::new("22026", format!("cannot {name} bit strings of different sizes"))
    }

    /// array_subscript_error: no bit stands there
    pub(crate) fn no_such_bit(at: i64, count: usize) -> Self {
        let last = count as i64 - 1;
        Self::new("2202E", format!("bit index {at} out of valid range (0..{last})"))
    }

    /// invalid_parameter_value: a bit that is neither
    pub(crate) fn bit_value() -> Self {
        Self::new("22023", "new bit must be 0 or 1".to_owned())
    }

    /// substring_error
    pub(crate) fn negative_length() -> Self {
        Self::new("22011", "negative substring length not allowed".to_owned())
    }

    /// data_exception: what is no range, or cannot be one
    pub(crate) fn range(message: &str) -> Self {
        Self::new("22000", message.to_owned())
    }

    /// syntax_error: the third argument of a range's constructor
    pub(crate) fn range_flags() -> Self {
        let hint = "Valid values are \"[]\", \"[)\", \"(]\", and \"()\".";
        let error = Self::new("42601", "invalid range bound flags".to_owned());
        Self { hint: Some(hint), ..error }
    }

    /// datetime_field_overflow: no date follows
    pub(crate) fn date_out_of_range() -> Self {
        Self::new("22008", "date out of range".to_owned())
    }

    /// syntax_error: a flag of `like_regex`
    pub(crate) fn no_path_flag(flag: char) -> Self {
        let error = Self::new("42601", "invalid input syntax for type jsonpath".to_owned());
        let detail = format!("Unrecognized flag character \"{flag}\" in LIKE_REGEX predicate.");
        Self { detail: Some(detail), ..error }
    }

    /// invalid_parameter_value: a path's variables
    pub(crate) fn no_path_variables() -> Self {
        let error = Self::new("22023", "\"vars\" argument is not an object".to_owned());
        let advice = "Jsonpath parameters should be encoded as key-value pairs of \"vars\" object.";
        Self { detail: Some(advice.to_owned()), ..error }
    }

    /// cannot_coerce
    pub(crate) fn no_cast(from: &str, to: impl fmt::Display) -> Self {
        Self::new("42846", format!("cannot cast type {from} to {to}"))
    }

    /// null_value_no_indicator_parameter: NULL for a Rust type that has none
    pub(super) fn null(to: &str) -> Self {
        Self::new("22002", format!("null value cannot become {to}; ask for an Option"))
    }
}

impl From<Refusal> for ValueError {
    fn from(why: Refusal) -> Self {
        let (code, message) = match why {
            Refusal::Interrupted(_) => ("57014", "canceling statement"),
            Refusal::OutOfMemory(_) => ("53200", "out of memory"),
        };
        Self { refusal: Some(why), ..Self::new(code, message.to_owned()) }
    }
}

impl From<Interruption> for ValueError {
    fn from(why: Interruption) -> Self {
        Refusal::from(why).into()
    }
}

impl From<OutOfMemory> for ValueError {
    fn from(why: OutOfMemory) -> Self {
        Refusal::from(why).into()
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
        DataType::Oid => "oid",
        DataType::Real => "real",
        DataType::Double => "double precision",
        DataType::Numeric { .. } => "numeric",
        DataType::AnyNumeric | DataType::WideNumeric { .. } => "numeric",
        DataType::Text => "text",
        DataType::Varchar(_) => "character varying",
        DataType::Char(_) => "character",
        DataType::CatalogChar => "\"char\"",
        DataType::Name => "name",
        DataType::RefCursor => "refcursor",
        DataType::Any(of) => of.name(),
        DataType::CiText => "citext",
        DataType::Bytea => "bytea",
        DataType::Timestamp(_) => "timestamp",
        DataType::TimestampTz(_) => "timestamp with time zone",
        DataType::Date => "date",
        DataType::Time(_) => "time",
        DataType::Interval => "interval",
        DataType::Uuid => "uuid",
        DataType::Json => "json",
        DataType::Jsonb => "jsonb",
        DataType::Range(kind) => kind.name(),
        DataType::Encoded(of) => of.name(),
        DataType::Enum(of) => of.name(),
        DataType::Composite(of) => of.name(),
        DataType::Array(_) => "array",
    }
}
