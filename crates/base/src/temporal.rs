//! Dates and timestamps: days and microseconds since 2000-01-01, proleptic Gregorian calendar; and
//! intervals between them.
//!
//! Role         text, fields and truncation of the types date, timestamp, timestamptz and interval;
//!              knows no clock and one time zone, UTC: a timestamptz is shown in it, and a text
//!              without an offset is taken to be in it
//! Invariants   I1 every i32 of days and every i64 of microseconds can be formatted and taken apart
//!              I2 parsing admits PostgreSQL's range: from 4713-01-01 BC to the year 5874897 (date)
//!                 or 294276 (timestamps); infinity is refused
//! Source       calendar arithmetic: H. Hinnant, "chrono-Compatible Low-Level Date Algorithms"

mod calendar;
mod extract;
mod format;
mod interval;
mod interval_text;
mod parse;
pub mod template;

#[cfg(test)]
mod tests;

pub use calendar::{Civil, civil_from_days, days_from_civil};
pub use extract::{ExtractField, TruncateUnit, date_trunc, extract};
pub use format::{write_date, write_timestamp, write_timestamp_tz};
pub use interval::{Interval, add_interval, age, difference};
pub use interval_text::{parse_interval, write_interval};
pub use parse::{TemporalError, parse_date, parse_timestamp, parse_timestamp_tz};

/// Microseconds in a second.
pub const MICROS_PER_SECOND: i64 = 1_000_000;
/// Microseconds in a day.
pub const MICROS_PER_DAY: i64 = 86_400 * MICROS_PER_SECOND;

/// Midnight of a date as a timestamp; `None` if that is beyond 64 bits.
pub fn timestamp_of_date(days: i32) -> Option<i64> {
    i64::from(days).checked_mul(MICROS_PER_DAY)
}

/// The date a timestamp falls on. Every timestamp has one: 64 bits of microseconds hold fewer days
/// than 32 bits.
pub fn date_of_timestamp(micros: i64) -> i32 {
    micros.div_euclid(MICROS_PER_DAY) as i32
}
