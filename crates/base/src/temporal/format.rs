//! Dates and timestamps as PostgreSQL's ISO text.

use super::limits::is_finite_timestamp;
use super::zone::{TimeZone, write_offset};
use super::{
    DATE_INFINITY, DATE_MINUS_INFINITY, MICROS_PER_DAY, MICROS_PER_SECOND, TIMESTAMP_INFINITY,
    TIMESTAMP_MINUS_INFINITY, civil_from_days,
};
use std::fmt;

/// Writes `2026-11-21`, years before 1 as `0044-03-15 BC`.
pub fn write_date(days: i32, out: &mut impl fmt::Write) -> fmt::Result {
    match days {
        DATE_INFINITY => out.write_str("infinity"),
        DATE_MINUS_INFINITY => out.write_str("-infinity"),
        _ => {
            let era = write_day(days.into(), out)?;
            out.write_str(era)
        }
    }
}

/// Writes `2026-11-21 10:00:00.123`, without the fraction's trailing zeros.
pub fn write_timestamp(micros: i64, out: &mut impl fmt::Write) -> fmt::Result {
    write_moment(micros, "", out)
}

/// Writes `2026-11-21 10:00:00.123+00`: what the zone's clock shows, and its offset then.
pub fn write_timestamp_tz(micros: i64, zone: TimeZone, out: &mut impl fmt::Write) -> fmt::Result {
    if zone == TimeZone::UTC || !is_finite_timestamp(micros) {
        return write_moment(micros, "+00", out);
    }
    let mut offset = String::with_capacity(9);
    write_offset(zone.offset_at(micros), &mut offset)?;
    write_moment(zone.clock_at(micros), &offset, out)
}

/// Writes `10:00:00.123`, a time of day.
pub fn write_time(micros: i64, out: &mut impl fmt::Write) -> fmt::Result {
    let (seconds, fraction) = (micros / MICROS_PER_SECOND, micros % MICROS_PER_SECOND);
    let (hour, minute) = (seconds / 3_600, seconds / 60 % 60);
    write!(out, "{hour:02}:{minute:02}:{:02}", seconds % 60)?;
    if fraction > 0 {
        write!(out, ".{}", format!("{fraction:06}").trim_end_matches('0'))?;
    }
    Ok(())
}

fn write_moment(micros: i64, zone: &str, out: &mut impl fmt::Write) -> fmt::Result {
    match micros {
        TIMESTAMP_INFINITY => return out.write_str("infinity"),
        TIMESTAMP_MINUS_INFINITY => return out.write_str("-infinity"),
        _ => {}
    }
    let era = write_day(micros.div_euclid(MICROS_PER_DAY), out)?;
    out.write_str(" ")?;
    write_time(micros.rem_euclid(MICROS_PER_DAY), out)?;
    write!(out, "{zone}{era}")
}

/// Writes the date and returns what ends the text.
fn write_day(days: i64, out: &mut impl fmt::Write) -> Result<&'static str, fmt::Error> {
    let date = civil_from_days(days);
    let (year, era) = if date.year > 0 { (date.year, "") } else { (1 - date.year, " BC") };
    write!(out, "{year:04}-{:02}-{:02}", date.month, date.day)?;
    Ok(era)
}
