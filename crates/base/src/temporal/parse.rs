//! Dates, times of day and timestamps from text.
//!
//! Role         the entries: [`super::reader`] reads, and what it has read is checked against the
//!              types' ranges here
//! Source       PostgreSQL 15, manual 8.5.1 and B.1

use std::fmt;

use super::limits::{date_in_range, timestamp_in_range};
use super::reader::{Moment, Special, Wanted};
use super::{DATE_INFINITY, DATE_MINUS_INFINITY, MICROS_PER_SECOND};
use super::{TIMESTAMP_INFINITY, TIMESTAMP_MINUS_INFINITY};
use crate::conventions::{Conventions, DateOrder};

/// Why a text is no date, time, timestamp or interval.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum TemporalError {
    /// It is not of a form that is known.
    Syntax,
    /// A field is out of its range.
    FieldRange,
    /// A month or a day is out of its range: maybe they were meant in another order.
    FieldOrder,
    /// The value is out of the type's range.
    OutOfRange,
    /// So are the parts of an interval together.
    TotalRange,
    /// An offset of a zone is out of its range.
    ZoneRange,
    /// A zone that is not known, or whose offset depends on the date.
    UnknownZone(String),
    /// now, today, tomorrow, yesterday: what they are depends on a clock.
    Clock,
}

impl fmt::Display for TemporalError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Syntax => "invalid date or time",
            Self::FieldRange | Self::FieldOrder => "date/time field value out of range",
            Self::OutOfRange => "date or time out of range",
            Self::TotalRange => "interval out of range",
            Self::ZoneRange => "time zone displacement out of range",
            Self::UnknownZone(name) => return write!(f, "time zone \"{name}\" not recognized"),
            Self::Clock => "a date or time that depends on the clock",
        })
    }
}

impl std::error::Error for TemporalError {}

/// Parses a date; a time of day is allowed and dropped.
pub fn parse_date(text: &str, order: DateOrder) -> Result<i32, TemporalError> {
    let moment = Moment::read(text, Wanted::Moment, order)?;
    match moment.special {
        Some(Special::Infinity) => Ok(DATE_INFINITY),
        Some(Special::MinusInfinity) => Ok(DATE_MINUS_INFINITY),
        Some(Special::Epoch) => Ok(-10_957),
        None => date_in_range(moment.days()).ok_or(TemporalError::OutOfRange),
    }
}

/// Parses a timestamp; a zone is ignored.
pub fn parse_timestamp(text: &str, order: DateOrder) -> Result<i64, TemporalError> {
    timestamp(text, order, |_| 0)
}

/// Parses a timestamp with time zone; without a zone in the text it is in this one.
pub fn parse_timestamp_tz(text: &str, conventions: Conventions) -> Result<i64, TemporalError> {
    let Conventions { zone, style } = conventions;
    timestamp(text, style.order, |moment| {
        let clock = || i64::try_from(moment.local_micros()).unwrap_or(i64::MAX);
        let ahead = match moment.region {
            Some(region) => region.offset_of(clock()),
            None if moment.has_zone() => moment.offset,
            None => zone.offset_of(clock()),
        };
        i64::from(ahead) * MICROS_PER_SECOND
    })
}

/// A timestamp, as much before what the text says as its zone is ahead.
fn timestamp(
    text: &str,
    order: DateOrder,
    ahead: impl Fn(&Moment) -> i64,
) -> Result<i64, TemporalError> {
    let moment = Moment::read(text, Wanted::Moment, order)?;
    match moment.special {
        Some(Special::Infinity) => Ok(TIMESTAMP_INFINITY),
        Some(Special::MinusInfinity) => Ok(TIMESTAMP_MINUS_INFINITY),
        Some(Special::Epoch) => Ok(-10_957 * super::MICROS_PER_DAY),
        None => {
            let micros = moment.local_micros() - i128::from(ahead(&moment));
            let micros = i64::try_from(micros).ok().and_then(timestamp_in_range);
            micros.ok_or(TemporalError::OutOfRange)
        }
    }
}

/// Parses a time of day with a zone: microseconds since midnight, and seconds east of Greenwich.
/// Without a zone in the text it is in this one, as that is in winter where no date is said.
///
/// # Errors
///
/// [`TemporalError::Syntax`] also where the zone has a summer time, and no date is said.
pub fn parse_time_tz(text: &str, conventions: Conventions) -> Result<(i64, i32), TemporalError> {
    let Conventions { zone, style } = conventions;
    let moment = Moment::read(text, Wanted::TimeOfDay, style.order)?;
    let clock = match moment.has_date() {
        true => Some(i64::try_from(moment.local_micros()).unwrap_or(i64::MAX)),
        false => None,
    };
    moment.refuse_region_without_date()?;
    let clock = clock.unwrap_or_else(|| moment.time_of_day());
    let offset = match moment.region {
        Some(region) => region.offset_of(clock),
        None if moment.has_zone() => moment.offset,
        None => zone.offset_of(clock),
    };
    Ok((moment.time_of_day(), offset))
}

/// Parses a time of day, in microseconds since midnight; a zone is ignored.
pub fn parse_time(text: &str, order: DateOrder) -> Result<i64, TemporalError> {
    let moment = Moment::read(text, Wanted::TimeOfDay, order)?;
    moment.refuse_region_without_date()?;
    Ok(moment.time_of_day())
}
