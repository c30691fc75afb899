//! Dates, timestamps and intervals by templates: to_char, to_date and to_timestamp.
//!
//! ```text
//! template    { [FM | TM] pattern [TH | th | SP] | "text" | character }
//! pattern     HH24, MI, YYYY, Month ...: capitals or small letters, names of months and days with
//!             one capital, too
//! ```
//!
//! Role         pure functions on values and texts; the calls of SQL are elsewhere
//! Stages       template -> patterns and literals, one after the other, without a list of them;
//!              to_char writes a value's parts for each; the inverses read fields for each, and put
//!              a moment together of all fields in the end
//! Invariants   I1 no template and no text panics: arithmetic wraps as PostgreSQL's does, so that
//!                 what is out of range is found out to be so by the same checks
//!              I2 a text has at most 12 bytes per byte of its template: J may have 11
//! Source       PostgreSQL 15, table 9.27 and formatting.c

mod assemble;
mod julian;
mod names;
mod number;
mod parts;
mod pattern;
mod read;
mod write;

#[cfg(test)]
mod fuzz_tests;
#[cfg(test)]
mod tests;

use super::limits::{
    TIMESTAMP_INFINITY, TIMESTAMP_MINUS_INFINITY, TIMESTAMPS, is_finite_timestamp,
};
use super::{Interval, MICROS_PER_SECOND, TimeZone};
use crate::template::TemplateError;
use parts::Parts;

/// Whether a moment is shown with its zone.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Zone {
    /// a timestamp's
    None,
    /// a timestamptz's
    Of(TimeZone),
}

/// `to_char(timestamp, template)`; NULL if the template is empty or the moment infinite.
///
/// # Errors
///
/// None so far: a moment has all that templates ask for.
pub fn moment_to_text(
    micros: i64,
    zone: Zone,
    template: &str,
) -> Result<Option<String>, TemplateError> {
    if !is_finite_timestamp(micros) {
        return Ok(None);
    }
    text_of(&Parts::of_moment(micros, zone), template)
}

/// `to_char(interval, template)`; NULL if the template is empty.
///
/// # Errors
///
/// 22007 where a pattern asks for a date.
pub fn interval_to_text(
    interval: Interval,
    template: &str,
) -> Result<Option<String>, TemplateError> {
    text_of(&Parts::of_interval(interval), template)
}

fn text_of(parts: &Parts, template: &str) -> Result<Option<String>, TemplateError> {
    if template.is_empty() {
        return Ok(None);
    }
    write::text_of(parts, template).map(Some)
}

/// `to_date(text, template)`: days since 2000-01-01.
///
/// # Errors
///
/// 22007 where the text does not fit the template, 22008 where it is no date, 22009 where its zone
/// is none, 0A000 where it would have to name one.
pub fn text_to_date(text: &str, template: &str) -> Result<i32, TemplateError> {
    assemble::date(&read::fields_of(text, template)?, text)
}

/// `to_timestamp(text, template)`: microseconds since 2000-01-01 UTC. A text without an offset is
/// in this zone.
///
/// # Errors
///
/// Those of [`text_to_date`].
pub fn text_to_moment(text: &str, template: &str, zone: TimeZone) -> Result<i64, TemplateError> {
    assemble::moment(&read::fields_of(text, template)?, text, zone)
}

/// `to_timestamp(seconds)`: microseconds since 2000-01-01, of seconds since 1970-01-01.
///
/// # Errors
///
/// 22008 for NaN and out of range.
pub fn moment_of_epoch(seconds: f64) -> Result<i64, TemplateError> {
    const EPOCH_SECONDS: i64 = 10_957 * 86_400; // from 1970-01-01 to 2000-01-01
    if seconds.is_nan() {
        return Err(TemplateError::new(b"22008", "timestamp cannot be NaN"));
    }
    if seconds.is_infinite() {
        return Ok(if seconds > 0.0 { TIMESTAMP_INFINITY } else { TIMESTAMP_MINUS_INFINITY });
    }
    let out_of_range = || {
        let shown = number::six_digits(seconds);
        TemplateError::new(b"22008", format!("timestamp out of range: \"{shown}\""))
    };
    // Asked of the seconds first: they lose digits when they are moved to another epoch.
    let seconds_of = |micros: i64| (micros / MICROS_PER_SECOND + EPOCH_SECONDS) as f64;
    if !(seconds_of(TIMESTAMPS.start)..seconds_of(TIMESTAMPS.end)).contains(&seconds) {
        return Err(out_of_range());
    }
    let micros = ((seconds - EPOCH_SECONDS as f64) * MICROS_PER_SECOND as f64).round_ties_even();
    let micros = micros as i64;
    match TIMESTAMPS.contains(&micros) {
        true => Ok(micros),
        false => Err(out_of_range()),
    }
}
