//! Intervals from text.
//!
//! ```text
//! units       [@] { [sign] n [.n] unit | [sign] H...:MM[:SS[.n]] } [ago]
//!             a number without a unit: days before a time, seconds at the end
//!             Y-M: years and months
//! ISO 8601    P [nY] [nM] [nW] [nD] [T [nH] [nM] [nS]], or P Y-M-D [T H:M:S]; signs before numbers
//! ```

use super::interval::{Interval, MICROS_PER_HOUR, MICROS_PER_MINUTE};
use super::{MICROS_PER_DAY, MICROS_PER_SECOND, TemporalError};
use crate::conventions::IntervalStyle;

type Result<T> = std::result::Result<T, TemporalError>;

/// Parses an interval of a session with this style.
pub fn parse_interval(text: &str, style: IntervalStyle) -> Result<Interval> {
    parse_interval_of(text, &IntervalFields::default(), style)
}

/// What stands behind an interval's literal: `DAY TO SECOND (3)`.
#[derive(Clone, Copy, Default, Debug)]
pub struct IntervalFields {
    /// the first of its fields, if there are two
    pub first: Option<IntervalField>,
    /// the last of its fields: what a number without a unit counts, and what stays of the interval
    pub last: Option<IntervalField>,
    /// digits of seconds that stay
    pub digits: Option<u8>,
}

/// A field of an interval.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum IntervalField {
    /// and all that is more
    Year,
    /// of a year
    Month,
    /// beside months
    Day,
    /// of the time
    Hour,
    /// of an hour
    Minute,
    /// of a minute
    Second,
}

/// Parses an interval with these fields.
pub fn parse_interval_of(
    text: &str,
    fields: &IntervalFields,
    style: IntervalStyle,
) -> Result<Interval> {
    let text = text.trim_ascii();
    let interval = match text.strip_prefix(['P', 'p']) {
        Some(rest) => parse_iso(rest)?,
        None => parse_units(text, fields, style)?,
    };
    fields.kept_of(interval).ok_or(TemporalError::OutOfRange)
}

impl IntervalFields {
    /// The unit of a number that has none.
    fn unit(&self) -> Unit {
        match self.last {
            Some(IntervalField::Year) => Unit::Year,
            Some(IntervalField::Month) => Unit::Month,
            Some(IntervalField::Day) => Unit::Day,
            Some(IntervalField::Hour) => Unit::Hour,
            Some(IntervalField::Minute) => Unit::Minute,
            Some(IntervalField::Second) | None => Unit::Second,
        }
    }

    /// Without what is less than the last field; seconds are rounded.
    fn kept_of(&self, interval: Interval) -> Option<Interval> {
        let Interval { mut months, mut days, mut micros } = interval;
        if let Some(last) = self.last {
            if last == IntervalField::Year {
                months -= months % 12;
            }
            if last < IntervalField::Day {
                days = 0;
            }
            micros = match last {
                IntervalField::Year | IntervalField::Month | IntervalField::Day => 0,
                IntervalField::Hour => micros - micros % MICROS_PER_HOUR,
                IntervalField::Minute => micros - micros % MICROS_PER_MINUTE,
                IntervalField::Second => micros,
            };
        }
        if let Some(digits) = self.digits.filter(|digits| *digits < 6) {
            let unit = 10_i64.pow(6 - u32::from(digits));
            let half = if micros < 0 { -unit / 2 } else { unit / 2 };
            micros = micros.checked_add(half)? / unit * unit;
        }
        Some(Interval { months, days, micros })
    }
}

/// What is added up.
#[derive(Default)]
struct Sum {
    months: i64,
    days: i64,
    micros: i64,
    /// units that have been told: each may be once
    told: u32,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Unit {
    Microsecond,
    Millisecond,
    Second,
    Minute,
    Hour,
    Day,
    Week,
    Month,
    Year,
    Decade,
    Century,
    Millennium,
}

impl Unit {
    fn named(name: &str) -> Option<Self> {
        /// Letters that tell words from each other, as in PostgreSQL: `millenniums`.
        const LETTERS: usize = 10;
        Some(match name[..name.len().min(LETTERS)].to_ascii_lowercase().as_str() {
            "us" | "usec" | "usecs" | "useconds" | "usecond" | "microsecon" => Self::Microsecond,
            "ms" | "msec" | "msecs" | "msecond" | "mseconds" | "millisecon" => Self::Millisecond,
            "s" | "sec" | "secs" | "second" | "seconds" => Self::Second,
            "m" | "min" | "mins" | "minute" | "minutes" => Self::Minute,
            "h" | "hr" | "hrs" | "hour" | "hours" => Self::Hour,
            "d" | "day" | "days" => Self::Day,
            "w" | "week" | "weeks" => Self::Week,
            "mon" | "mons" | "month" | "months" => Self::Month,
            "y" | "yr" | "yrs" | "year" | "years" => Self::Year,
            "dec" | "decs" | "decade" | "decades" => Self::Decade,
            "c" | "cent" | "century" | "centuries" => Self::Century,
            "mil" | "mils" | "millennium" | "millennia" => Self::Millennium,
            _ => return None,
        })
    }
}

/// All parts of a second.
const SECONDS: u32 =
    1 << Unit::Second as u32 | 1 << Unit::Millisecond as u32 | 1 << Unit::Microsecond as u32;

/// A number: its whole part and what is behind the point, both with its sign.
#[derive(Clone, Copy)]
struct Number {
    whole: i64,
    fraction: f64,
}

impl Number {
    fn parse(text: &str) -> Result<Self> {
        let (is_negative, digits) = match text.as_bytes().first() {
            Some(b'-') => (true, text[1..].trim_ascii_start()),
            Some(b'+') => (false, text[1..].trim_ascii_start()),
            _ => (false, text),
        };
        let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
        let is_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
        if !is_digits(whole) || !is_digits(fraction) || whole.is_empty() && fraction.is_empty() {
            return Err(TemporalError::Syntax);
        }
        let whole: i64 = match (whole, is_negative) {
            ("", _) => 0,
            // With its sign: the least number has no positive counterpart.
            (digits, true) => {
                format!("-{digits}").parse().map_err(|_| TemporalError::OutOfRange)?
            }
            (digits, false) => digits.parse().map_err(|_| TemporalError::OutOfRange)?,
        };
        let fraction: f64 = match fraction {
            "" => 0.0,
            digits => format!("0.{digits}").parse().map_err(|_| TemporalError::Syntax)?,
        };
        Ok(match is_negative {
            true => Self { whole, fraction: -fraction },
            false => Self { whole, fraction },
        })
    }
}

impl Sum {
    fn tell(&mut self, bit: u32) -> Result<()> {
        if self.told & bit != 0 {
            return Err(TemporalError::Syntax);
        }
        self.told |= bit;
        Ok(())
    }

    fn add(&mut self, number: Number, unit: Unit) -> Result<()> {
        let Number { whole, fraction } = number;
        // A second with a fraction has told of its parts.
        let has_parts = unit == Unit::Second && fraction != 0.0;
        self.tell(if has_parts { SECONDS } else { 1 << unit as u32 })?;
        match unit {
            Unit::Microsecond => self.add_time(whole, fraction, 1),
            Unit::Millisecond => self.add_time(whole, fraction, 1_000),
            Unit::Second => self.add_time(whole, fraction, MICROS_PER_SECOND),
            Unit::Minute => self.add_time(whole, fraction, MICROS_PER_MINUTE),
            Unit::Hour => self.add_time(whole, fraction, MICROS_PER_HOUR),
            Unit::Day => {
                self.days = sum(self.days, Some(whole))?;
                self.add_time(0, fraction, MICROS_PER_DAY)
            }
            Unit::Week => {
                self.days = sum(self.days, whole.checked_mul(7))?;
                self.add_days(fraction * 7.0)
            }
            Unit::Month => {
                self.months = sum(self.months, Some(whole))?;
                self.add_days(fraction * 30.0)
            }
            Unit::Year => self.add_years(number, 1),
            Unit::Decade => self.add_years(number, 10),
            Unit::Century => self.add_years(number, 100),
            Unit::Millennium => self.add_years(number, 1_000),
        }
    }

    fn add_years(&mut self, Number { whole, fraction }: Number, years: i64) -> Result<()> {
        let months = (fraction * years as f64 * 12.0).round_ties_even() as i64;
        self.months = sum(self.months, whole.checked_mul(years * 12))?;
        self.months = sum(self.months, Some(months))?;
        Ok(())
    }

    /// A part of a week or a month.
    fn add_days(&mut self, days: f64) -> Result<()> {
        self.days = sum(self.days, Some(days as i64))?;
        self.add_time(0, days - days.trunc(), MICROS_PER_DAY)
    }

    fn add_time(&mut self, whole: i64, fraction: f64, per: i64) -> Result<()> {
        let part = fraction * per as f64;
        let micros = part as i64;
        let rest = part - micros as f64;
        let rounded = i64::from(rest > 0.5) - i64::from(rest < -0.5);
        self.micros = sum(self.micros, whole.checked_mul(per))?;
        self.micros = sum(self.micros, Some(micros + rounded))?;
        Ok(())
    }

    /// `H:M`, `H:M:S`, with a sign or without.
    fn add_clock(&mut self, text: &str, fields: &IntervalFields) -> Result<()> {
        self.tell(1 << Unit::Hour as u32 | 1 << Unit::Minute as u32 | SECONDS)?;
        let (sign, digits) = match text.as_bytes().first() {
            Some(b'-') => (-1, text[1..].trim_ascii_start()),
            Some(b'+') => (1, text[1..].trim_ascii_start()),
            _ => (1, text),
        };
        let mut parts = digits.split(':');
        let mut part = || parts.next().map(Number::parse).transpose();
        // `1:02 MINUTE TO SECOND`, or seconds with a fraction, are minutes and seconds.
        let is_two = digits.matches(':').count() == 1;
        let are_minutes = fields.first == Some(IntervalField::Minute) || digits.contains('.');
        let zero = Number { whole: 0, fraction: 0.0 };
        let hours = if is_two && are_minutes { Some(zero) } else { part()? };
        let minutes = part()?;
        let seconds = part()?.unwrap_or(Number { whole: 0, fraction: 0.0 });
        let (Some(hours), Some(minutes), None) = (hours, minutes, part()?) else {
            return Err(TemporalError::Syntax);
        };
        if digits.contains(['-', '+']) || hours.fraction != 0.0 || minutes.fraction != 0.0 {
            return Err(TemporalError::Syntax);
        }
        if minutes.whole > 59 || seconds.whole > 60 {
            return Err(TemporalError::OutOfRange);
        }
        let fraction = (seconds.fraction * 1e6).round_ties_even() as i64;
        let time = hours.whole.checked_mul(MICROS_PER_HOUR).and_then(|micros| {
            let rest = minutes.whole * MICROS_PER_MINUTE + seconds.whole * MICROS_PER_SECOND;
            micros.checked_add(rest + fraction)
        });
        self.micros = sum(self.micros, time.map(|time| sign * time))?;
        Ok(())
    }

    /// Has what has been added, which had no sign, be less than zero.
    const fn negate(&mut self) {
        (self.months, self.days, self.micros) = (-self.months, -self.days, -self.micros);
    }

    fn finish(self) -> Result<Interval> {
        Interval::new(self.months, self.days, self.micros).ok_or(TemporalError::OutOfRange)
    }
}

fn sum(one: i64, other: Option<i64>) -> Result<i64> {
    other.and_then(|other| one.checked_add(other)).ok_or(TemporalError::OutOfRange)
}

/// Numbers with their signs, times, words.
fn tokens(text: &str) -> Result<Vec<&str>> {
    let mut tokens = Vec::new();
    let mut rest = text;
    loop {
        rest = rest.trim_start_matches(|c: char| c.is_ascii_whitespace() || c == ',');
        let Some(first) = rest.chars().next() else { return Ok(tokens) };
        let end = match first {
            '@' => 1,
            '+' | '-' | '.' | '0'..='9' => {
                let sign = usize::from(matches!(first, '+' | '-'));
                let blanks = rest[sign..].len() - rest[sign..].trim_ascii_start().len();
                let start = sign + blanks;
                let digits = rest[start..]
                    .find(|c: char| !matches!(c, '0'..='9' | '.' | ':' | '-'))
                    .unwrap_or(rest.len() - start);
                if digits == 0 {
                    return Err(TemporalError::Syntax);
                }
                start + digits
            }
            c if c.is_ascii_alphabetic() => {
                rest.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(rest.len())
            }
            _ => return Err(TemporalError::Syntax),
        };
        let (token, behind) = rest.split_at(end);
        tokens.push(token);
        rest = behind;
    }
}

/// Whether the sign before the first field is that of all: as the standard has it, where no other
/// field has one.
fn is_all_negative(tokens: &[&str], style: IntervalStyle) -> bool {
    let is_signed = |token: &&str| token.starts_with(['-', '+']);
    let mut fields = tokens.iter().skip_while(|token| **token == "@");
    style == IntervalStyle::SqlStandard
        && fields.next().is_some_and(|first| first.starts_with('-'))
        && !fields.any(is_signed)
}

/// From the end to the beginning, so that a unit is known before its number.
fn parse_units(text: &str, fields: &IntervalFields, style: IntervalStyle) -> Result<Interval> {
    let mut sum = Sum::default();
    let (mut unit, mut is_ago) = (None, false);
    let tokens = tokens(text)?;
    let is_all_negative = is_all_negative(&tokens, style);
    for token in tokens.into_iter().rev() {
        let first = token.as_bytes().first().copied().unwrap_or_default();
        if is_all_negative && first == b'-' {
            sum.negate(); // what stands behind it
        }
        if token == "@" {
        } else if token.eq_ignore_ascii_case("ago") {
            is_ago = true;
        } else if first.is_ascii_alphabetic() {
            unit = Some(Unit::named(token).ok_or(TemporalError::Syntax)?);
        } else if token.contains(':') {
            sum.add_clock(token, fields)?;
            // What stands before a time are days.
            unit = Some(Unit::Day);
        } else if let Some((years, months)) = token[1..].find('-').map(|at| token.split_at(at + 1))
        {
            let (years, months) = (Number::parse(years)?, Number::parse(&months[1..])?);
            if months.whole >= 12 || years.fraction != 0.0 || months.fraction != 0.0 {
                return Err(TemporalError::OutOfRange);
            }
            let sign = if first == b'-' { -1 } else { 1 };
            let whole =
                years.whole.checked_mul(12).and_then(|y| y.checked_add(sign * months.whole));
            let whole = whole.ok_or(TemporalError::OutOfRange)?;
            sum.add(Number { whole, fraction: 0.0 }, Unit::Month)?;
            unit = Some(Unit::Month);
        } else {
            let of = *unit.get_or_insert(fields.unit());
            sum.add(Number::parse(token)?, of)?;
            if of == Unit::Hour {
                unit = Some(Unit::Day);
            }
        }
    }
    if sum.told == 0 {
        return Err(TemporalError::Syntax);
    }
    let interval = sum.finish()?;
    if is_ago { interval.negated().ok_or(TemporalError::OutOfRange) } else { Ok(interval) }
}

/// What follows the P.
fn parse_iso(text: &str) -> Result<Interval> {
    let mut sum = Sum::default();
    let (date, time) = match text.find(['T', 't']) {
        Some(at) => (&text[..at], Some(&text[at + 1..])),
        None => (text, None),
    };
    if date.is_empty() && time.is_none() {
        return Err(TemporalError::Syntax);
    }
    let is_dashed =
        date.get(1..).is_some_and(|rest| rest.contains('-')) && !date.contains(is_letter);
    if is_dashed {
        let mut parts = date.splitn(3, '-').map(Number::parse);
        for unit in [Unit::Year, Unit::Month, Unit::Day] {
            if let Some(number) = parts.next() {
                sum.add(number?, unit)?;
            }
        }
    } else {
        designated(
            date,
            &mut sum,
            &[('Y', Unit::Year), ('M', Unit::Month), ('W', Unit::Week), ('D', Unit::Day)],
        )?;
    }
    match time {
        Some(time) if time.contains(':') => sum.add_clock(time, &IntervalFields::default())?,
        Some(time) => {
            designated(
                time,
                &mut sum,
                &[('H', Unit::Hour), ('M', Unit::Minute), ('S', Unit::Second)],
            )?;
        }
        None => {}
    }
    sum.finish()
}

fn is_letter(c: char) -> bool {
    c.is_ascii_alphabetic()
}

/// Numbers, each with a letter behind it.
fn designated(mut text: &str, sum: &mut Sum, units: &[(char, Unit)]) -> Result<()> {
    while !text.is_empty() {
        let end = text.find(is_letter).ok_or(TemporalError::Syntax)?;
        let letter = text[end..].chars().next().unwrap_or_default().to_ascii_uppercase();
        let known = units.iter().find(|(known, _)| *known == letter);
        let (_, unit) = known.ok_or(TemporalError::Syntax)?;
        sum.add(Number::parse(&text[..end])?, *unit)?;
        text = &text[end + 1..];
    }
    Ok(())
}
