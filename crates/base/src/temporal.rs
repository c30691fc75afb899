//! Dates, times of day and timestamps: days and microseconds, proleptic Gregorian calendar; and
//! intervals between them.
//!
//! Role         text, fields and truncation of date, time, timestamp, timestamptz and interval;
//!              knows no clock. A timestamptz is shown in a session's zone, and a text without
//!              an offset is taken to be in it
//! Invariants   I1 every i32 of days and every i64 of microseconds can be formatted and taken
//!                 apart; the least and the greatest are -infinity and infinity
//!              I2 parsing and arithmetic give PostgreSQL's range: from 4714-11-24 BC to the year
//!                 5874897 (date) or 294276 (timestamps), and the infinities
//! Source       calendar arithmetic: H. Hinnant, "chrono-Compatible Low-Level Date Algorithms"

mod calendar;
mod extract;
mod format;
mod interval;
mod interval_format;
mod interval_text;
mod limits;
mod make;
mod parse;
mod reader;
pub mod template;
mod text_fields;
mod units;
mod words;
mod zone;

#[cfg(test)]
mod tests;

pub use calendar::{Civil, civil_from_days, days_from_civil};
pub use extract::{ExtractField, TruncateUnit, date_trunc, extract};
pub use format::{write_date, write_time, write_timestamp, write_timestamp_tz};
pub use interval::{Interval, add_interval, add_interval_in, age, bin, difference};
pub use interval_format::write_interval;
pub use interval_text::{IntervalField, IntervalFields, parse_interval, parse_interval_of};
pub use limits::{
    DATE_INFINITY, DATE_MINUS_INFINITY, TIMESTAMP_INFINITY, TIMESTAMP_MINUS_INFINITY,
    date_in_range, is_finite_date, is_finite_timestamp, timestamp_in_range,
};
pub use make::{FieldsError, make_date, make_time, make_timestamp};
pub use parse::{
    TemporalError, parse_date, parse_time, parse_time_tz, parse_timestamp, parse_timestamp_tz,
};
pub use units::unit_name;
pub use words::ClockWord;
pub use zone::TimeZone;
pub(crate) use zone::write_offset;

/// Microseconds in a second.
pub const MICROS_PER_SECOND: i64 = 1_000_000;
/// Microseconds in a day.
pub const MICROS_PER_DAY: i64 = 86_400 * MICROS_PER_SECOND;

/// What may be done where a zone is not known.
pub const KNOWN_ZONES: &str =
    "Names of the IANA database as Europe/Berlin, abbreviations as PST, and offsets are known.";
/// What may be done where a session's zone is not known.
pub const KNOWN_SESSION_ZONES: &str =
    "Write a name of the IANA database as Europe/Berlin, UTC, or hours east of Greenwich.";

/// The time of day of a timestamp or an interval: what is left without whole days.
pub const fn time_of_day(micros: i64) -> i64 {
    micros.rem_euclid(MICROS_PER_DAY)
}

/// A time of day with so many digits of a second, rounded: maybe 24:00:00.
pub fn rounded_time(micros: i64, digits: u8) -> i64 {
    let unit = 10_i64.pow(6_u8.saturating_sub(digits).into());
    (micros + unit / 2) / unit * unit
}

/// A timestamp with so many digits of a second, rounded; half of a unit goes away from 2000-01-01,
/// as in PostgreSQL. `None` if that is out of range.
pub fn rounded_timestamp(micros: i64, digits: u8) -> Option<i64> {
    if digits >= crate::types::TIME_DIGITS || !is_finite_timestamp(micros) {
        return Some(micros);
    }
    let rounded = rounded_time(micros.abs(), digits); // far from where it would overflow
    timestamp_in_range(if micros < 0 { -rounded } else { rounded })
}

/// Midnight of a date as a timestamp; `None` if that is out of range.
pub fn timestamp_of_date(days: i32) -> Option<i64> {
    match days {
        DATE_INFINITY => Some(TIMESTAMP_INFINITY),
        DATE_MINUS_INFINITY => Some(TIMESTAMP_MINUS_INFINITY),
        _ => i64::from(days).checked_mul(MICROS_PER_DAY).and_then(timestamp_in_range),
    }
}

/// The date a timestamp falls on. Every timestamp has one: 64 bits of microseconds hold fewer days
/// than 32 bits.
pub const fn date_of_timestamp(micros: i64) -> i32 {
    match micros {
        TIMESTAMP_INFINITY => DATE_INFINITY,
        TIMESTAMP_MINUS_INFINITY => DATE_MINUS_INFINITY,
        _ => micros.div_euclid(MICROS_PER_DAY) as i32,
    }
}
