//! Intervals as text, in a session's style.
//!
//! Source       PostgreSQL 15, "Interval Output"

use super::MICROS_PER_SECOND;
use super::interval::{Interval, MICROS_PER_HOUR, MICROS_PER_MINUTE};
use crate::conventions::IntervalStyle;
use std::fmt;

/// Writes `1 year 2 mons -3 days +04:05:06.7`, or what another style has for it.
pub fn write_interval(
    interval: Interval,
    style: IntervalStyle,
    out: &mut impl fmt::Write,
) -> fmt::Result {
    match style {
        IntervalStyle::Postgres => write_postgres(interval, out),
        IntervalStyle::PostgresVerbose => write_verbose(interval, out),
        IntervalStyle::SqlStandard => write_standard(interval, out),
        IntervalStyle::Iso8601 => write_iso(interval, out),
    }
}

/// The fields of an interval's time, all without their sign.
struct Clock {
    is_negative: bool,
    hours: u64,
    minutes: u64,
    seconds: u64,
    micros: u64,
}

fn clock(micros: i64) -> Clock {
    let (away, is_negative) = (micros.unsigned_abs(), micros < 0);
    let [hour, minute, second] =
        [MICROS_PER_HOUR, MICROS_PER_MINUTE, MICROS_PER_SECOND].map(i64::unsigned_abs);
    Clock {
        is_negative,
        hours: away / hour,
        minutes: away % hour / minute,
        seconds: away % minute / second,
        micros: away % second,
    }
}

impl Clock {
    const fn has_seconds(&self) -> bool {
        self.seconds != 0 || self.micros != 0
    }

    /// `05`, `05.25`
    fn write_seconds(&self, width: usize, out: &mut impl fmt::Write) -> fmt::Result {
        write!(out, "{:0width$}", self.seconds)?;
        match self.micros {
            0 => Ok(()),
            micros => write!(out, ".{}", format!("{micros:06}").trim_end_matches('0')),
        }
    }
}

/// Nothing at all is `00:00:00`.
fn write_postgres(interval: Interval, out: &mut impl fmt::Write) -> fmt::Result {
    let (years, months) = interval.years();
    let (mut is_first, mut is_negative) = (true, false);
    for (value, unit) in [(years, "year"), (months, "mon"), (interval.days, "day")] {
        if value != 0 {
            let blank = if is_first { "" } else { " " };
            let plus = if is_negative && value > 0 { "+" } else { "" };
            let plural = if value == 1 { "" } else { "s" };
            write!(out, "{blank}{plus}{value} {unit}{plural}")?;
            (is_first, is_negative) = (false, value < 0);
        }
    }
    if !is_first && interval.micros == 0 {
        return Ok(());
    }
    let time = clock(interval.micros);
    let sign = match time.is_negative {
        true => "-",
        false if is_negative => "+",
        false => "",
    };
    let blank = if is_first { "" } else { " " };
    write!(out, "{blank}{sign}{:02}:{:02}:", time.hours, time.minutes)?;
    time.write_seconds(2, out)
}

/// `@ 1 year 2 mons -3 days`; what begins with a negative unit is told as what is `ago`.
fn write_verbose(interval: Interval, out: &mut impl fmt::Write) -> fmt::Result {
    let (years, months) = interval.years();
    let time = clock(interval.micros);
    let of_time = |value: u64| {
        let value = i128::from(value);
        if time.is_negative { -value } else { value }
    };
    let mut is_ago = None;
    out.write_str("@")?;
    for (value, unit) in [
        (years.into(), "year"),
        (months.into(), "mon"),
        (interval.days.into(), "day"),
        (of_time(time.hours), "hour"),
        (of_time(time.minutes), "min"),
    ] {
        if value != 0 {
            let value = if *is_ago.get_or_insert(value < 0) { -value } else { value };
            write!(out, " {value} {unit}{}", if value == 1 { "" } else { "s" })?;
        }
    }
    if time.has_seconds() {
        let is_ago = *is_ago.get_or_insert(time.is_negative);
        out.write_str(if is_ago == time.is_negative { " " } else { " -" })?;
        time.write_seconds(1, out)?;
        let is_one = time.seconds == 1 && time.micros == 0;
        out.write_str(if is_one { " sec" } else { " secs" })?;
    }
    match is_ago {
        None => out.write_str(" 0"),
        Some(true) => out.write_str(" ago"),
        Some(false) => Ok(()),
    }
}

/// `1-2`, or `3 4:05:06`, with a sign before it; other intervals with all fields and signs.
fn write_standard(interval: Interval, out: &mut impl fmt::Write) -> fmt::Result {
    let (years, months) = interval.years();
    let Interval { months: all_months, days, micros } = interval;
    let time = clock(micros);
    let is_negative = all_months < 0 || days < 0 || micros < 0;
    let is_positive = all_months > 0 || days > 0 || micros > 0;
    let is_of_months = all_months != 0;
    let is_of_days = days != 0 || micros != 0;
    let (years, months) = (years.unsigned_abs(), months.unsigned_abs());
    if !is_negative && !is_positive {
        return out.write_str("0");
    }
    if is_negative && is_positive || is_of_months && is_of_days {
        let sign = |is_negative| if is_negative { '-' } else { '+' };
        let (of_months, of_days) = (sign(all_months < 0), sign(days < 0));
        write!(out, "{of_months}{years}-{months} {of_days}{} ", days.unsigned_abs())?;
        out.write_char(sign(micros < 0))?;
    } else {
        out.write_str(if is_negative { "-" } else { "" })?;
        if is_of_months {
            return write!(out, "{years}-{months}");
        }
        if days != 0 {
            write!(out, "{} ", days.unsigned_abs())?;
        }
    }
    write!(out, "{}:{:02}:", time.hours, time.minutes)?;
    time.write_seconds(2, out)
}

/// `P1Y2M-3DT4H5M6.7S`
fn write_iso(interval: Interval, out: &mut impl fmt::Write) -> fmt::Result {
    if interval == Interval::default() {
        return out.write_str("PT0S");
    }
    let (years, months) = interval.years();
    out.write_str("P")?;
    for (value, unit) in [(years, 'Y'), (months, 'M'), (interval.days, 'D')] {
        if value != 0 {
            write!(out, "{value}{unit}")?;
        }
    }
    if interval.micros == 0 {
        return Ok(());
    }
    let time = clock(interval.micros);
    let sign = if time.is_negative { "-" } else { "" };
    out.write_str("T")?;
    for (value, unit) in [(time.hours, 'H'), (time.minutes, 'M')] {
        if value != 0 {
            write!(out, "{sign}{value}{unit}")?;
        }
    }
    if time.has_seconds() {
        out.write_str(sign)?;
        time.write_seconds(1, out)?;
        out.write_str("S")?;
    }
    Ok(())
}
