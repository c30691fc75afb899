//! Dates and times from their fields.

use super::calendar::days_in_month;
use super::limits::{date_in_range, timestamp_in_range};
use super::{Civil, MICROS_PER_DAY, MICROS_PER_SECOND, days_from_civil};

/// Why fields are no date or time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FieldsError {
    /// There is no such day.
    Date,
    /// There is no such time of day.
    Time,
    /// The date is out of the type's range.
    DateRange,
    /// The timestamp is out of the type's range.
    TimestampRange,
}

/// Days since 2000-01-01; a year below 0 is before Christ.
fn days(year: i64, month: i64, day: i64) -> Result<i64, FieldsError> {
    let year = match year {
        0 => return Err(FieldsError::Date),
        // The year before 1 is -1.
        ..0 => year + 1,
        _ => year,
    };
    let year = i32::try_from(year).map_err(|_| FieldsError::Date)?;
    let is_day = (1..=12).contains(&month)
        && (1..=i64::from(days_in_month(year, month as u8))).contains(&day);
    match is_day {
        true => Ok(days_from_civil(Civil { year, month: month as u8, day: day as u8 })),
        false => Err(FieldsError::Date),
    }
}

/// A date of year, month and day.
pub fn make_date(year: i64, month: i64, day: i64) -> Result<i32, FieldsError> {
    date_in_range(days(year, month, day)?).ok_or(FieldsError::DateRange)
}

/// Microseconds since midnight, 24:00:00 at most.
pub fn make_time(hour: i64, minute: i64, second: f64) -> Result<i64, FieldsError> {
    let is_in_range =
        (0..=24).contains(&hour) && (0..60).contains(&minute) && (0.0..=60.0).contains(&second);
    if !is_in_range {
        return Err(FieldsError::Time);
    }
    let micros = (second * MICROS_PER_SECOND as f64).round_ties_even() as i64;
    let time = (hour * 60 + minute) * 60 * MICROS_PER_SECOND + micros;
    if time <= MICROS_PER_DAY { Ok(time) } else { Err(FieldsError::Time) }
}

/// Microseconds since 2000-01-01.
pub fn make_timestamp(
    [year, month, day]: [i64; 3],
    [hour, minute]: [i64; 2],
    second: f64,
) -> Result<i64, FieldsError> {
    let day = days(year, month, day)?;
    let time = make_time(hour, minute, second)?;
    let micros = day.checked_mul(MICROS_PER_DAY).and_then(|day| day.checked_add(time));
    micros.and_then(timestamp_in_range).ok_or(FieldsError::TimestampRange)
}
