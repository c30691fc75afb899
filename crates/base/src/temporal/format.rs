//! Dates and timestamps as PostgreSQL's text, in a session's style.
//!
//! Source       PostgreSQL 15, "Date/Time Output"

use super::limits::is_finite_timestamp;
use super::zone::{TimeZone, write_offset};
use super::{
    Civil, DATE_INFINITY, DATE_MINUS_INFINITY, MICROS_PER_DAY, MICROS_PER_SECOND,
    TIMESTAMP_INFINITY, TIMESTAMP_MINUS_INFINITY, civil_from_days,
};
use crate::conventions::{Conventions, DateOrder, DateStyle, Style};
use std::fmt;

const WEEKDAYS: [&str; 7] = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"];
const MONTHS: [&str; 12] =
    ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/// Writes `2026-11-21`, years before 1 as `0044-03-15 BC`.
pub fn write_date(days: i32, style: Style, out: &mut impl fmt::Write) -> fmt::Result {
    match days {
        DATE_INFINITY => out.write_str("infinity"),
        DATE_MINUS_INFINITY => out.write_str("-infinity"),
        _ => {
            let (date, era) = day_of(days.into());
            write_day(date, style, out)?;
            out.write_str(era)
        }
    }
}

/// Writes `2026-11-21 10:00:00.123`, without the fraction's trailing zeros.
pub fn write_timestamp(micros: i64, style: Style, out: &mut impl fmt::Write) -> fmt::Result {
    write_moment(micros, "", style, out)
}

/// Writes `2026-11-21 10:00:00.123+00`: what the zone's clock shows, and its offset then, or what
/// that is called.
pub fn write_timestamp_tz(
    micros: i64,
    conventions: Conventions,
    out: &mut impl fmt::Write,
) -> fmt::Result {
    let Conventions { zone, style } = conventions;
    let is_iso = style.dates == DateStyle::Iso;
    if zone == TimeZone::UTC || !is_finite_timestamp(micros) {
        return write_moment(micros, if is_iso { "+00" } else { " UTC" }, style, out);
    }
    let mut shown = String::with_capacity(9);
    match is_iso {
        true => write_offset(zone.offset_at(micros), &mut shown)?,
        false => shown = format!(" {}", zone.abbreviation_at(micros)),
    }
    write_moment(zone.clock_at(micros), &shown, style, out)
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

fn write_moment(micros: i64, zone: &str, style: Style, out: &mut impl fmt::Write) -> fmt::Result {
    match micros {
        TIMESTAMP_INFINITY => return out.write_str("infinity"),
        TIMESTAMP_MINUS_INFINITY => return out.write_str("-infinity"),
        _ => {}
    }
    let days = micros.div_euclid(MICROS_PER_DAY);
    let time = micros.rem_euclid(MICROS_PER_DAY);
    let (date, era) = day_of(days);
    if style.dates == DateStyle::Postgres {
        write_named_day((date, days), style.order, out)?;
        write_time(time, out)?;
        return write!(out, " {:04}{zone}{era}", date.year);
    }
    write_day(date, style, out)?;
    out.write_str(" ")?;
    write_time(time, out)?;
    write!(out, "{zone}{era}")
}

/// A date with the year of its era, and what ends the text.
fn day_of(days: i64) -> (Civil, &'static str) {
    let date = civil_from_days(days);
    match date.year {
        1.. => (date, ""),
        year => (Civil { year: 1 - year, ..date }, " BC"),
    }
}

/// Writes a date in numbers.
fn write_day(date: Civil, style: Style, out: &mut impl fmt::Write) -> fmt::Result {
    let Civil { year, month, day } = date;
    let (first, second) = match style.order {
        DateOrder::Dmy => (day, month),
        DateOrder::Mdy | DateOrder::Ymd => (month, day),
    };
    match style.dates {
        DateStyle::Iso => write!(out, "{year:04}-{month:02}-{day:02}"),
        DateStyle::Sql => write!(out, "{first:02}/{second:02}/{year:04}"),
        DateStyle::Postgres => write!(out, "{first:02}-{second:02}-{year:04}"),
        DateStyle::German => write!(out, "{day:02}.{month:02}.{year:04}"),
    }
}

/// Writes `Sat Nov 21 `.
fn write_named_day(
    (date, days): (Civil, i64),
    order: DateOrder,
    out: &mut impl fmt::Write,
) -> fmt::Result {
    // 2000-01-01 was a Saturday.
    let weekday = WEEKDAYS[(days + 6).rem_euclid(7) as usize];
    let month = MONTHS[usize::from(date.month) - 1];
    match order {
        DateOrder::Dmy => write!(out, "{weekday} {:02} {month} ", date.day),
        DateOrder::Mdy | DateOrder::Ymd => write!(out, "{weekday} {month} {:02} ", date.day),
    }
}
