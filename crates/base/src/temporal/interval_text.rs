//! Intervals from text.
//!
//! ```text
//! units       [@] { [sign] n [.n] unit | [sign] H...:MM[:SS[.n]] } [ago]
//!             a number without a unit: days before a time, seconds at the end
//!             Y-M: years and months
//! ISO 8601    P [nY] [nM] [nW] [nD] [T [nH] [nM] [nS]], or P Y-M-D [T H:M:S]; signs before numbers
//! ```

use super::interval::{Interval, MICROS_PER_HOUR, MICROS_PER_MINUTE};
use super::units::unit_name;
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
    let interval = match text.strip_prefix('P') {
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
    years: i64,
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
        Some(match unit_name(name).as_str() {
            "microseconds" => Self::Microsecond,
            "milliseconds" => Self::Millisecond,
            "second" => Self::Second,
            "minute" => Self::Minute,
            "hour" => Self::Hour,
            "day" => Self::Day,
            "week" => Self::Week,
            "month" => Self::Month,
            "year" => Self::Year,
            "decade" => Self::Decade,
            "century" => Self::Century,
            "millennium" => Self::Millennium,
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

    /// Adds a unit that is told once.
    fn add(&mut self, number: Number, unit: Unit) -> Result<()> {
        // A second with a fraction has told of its parts.
        let has_parts = unit == Unit::Second && number.fraction != 0.0;
        self.tell(if has_parts { SECONDS } else { 1 << unit as u32 })?;
        self.add_again(number, unit)
    }

    fn add_again(&mut self, number: Number, unit: Unit) -> Result<()> {
        let Number { whole, fraction } = number;
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
        self.years = sum(self.years, whole.checked_mul(years))?;
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
        (self.years, self.months) = (-self.years, -self.months);
        (self.days, self.micros) = (-self.days, -self.micros);
    }

    fn finish(self) -> Result<Interval> {
        let Self { years, months, days, micros, .. } = self;
        if [years, months, days].iter().any(|part| i32::try_from(*part).is_err()) {
            return Err(TemporalError::OutOfRange);
        }
        Interval::new(years * 12 + months, days, micros).ok_or(TemporalError::TotalRange)
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

/// What follows the P: numbers with units behind them, `2Y3M`, or all without, `0002-10-15T10:30`,
/// `00021015T103020`.
fn parse_iso(text: &str) -> Result<Interval> {
    let mut sum = Sum::default();
    let mut rest = text;
    // of the part that is read: the date, and behind the T the time
    let (mut is_date, mut has_field) = (true, false);
    if rest.is_empty() {
        return Err(TemporalError::Syntax);
    }
    while !rest.is_empty() {
        if let Some(time) = rest.strip_prefix('T') {
            (is_date, has_field, rest) = (false, false, time);
            continue;
        }
        let (number, width, behind) = iso_number(rest)?;
        let letter = behind.chars().next();
        let of_letter = if is_date { iso_date_unit(letter) } else { iso_time_unit(letter) };
        if let (Some(unit), Some(letter)) = (of_letter, letter) {
            sum.add_again(number, unit)?;
            rest = &behind[letter.len_utf8()..];
        } else if has_field {
            return Err(TemporalError::Syntax);
        } else {
            let form = if is_date { &ISO_DATE } else { &ISO_TIME };
            rest = iso_without_units(&mut sum, (number, width), behind, form)?;
        }
        has_field = true;
    }
    sum.finish()
}

const fn iso_date_unit(letter: Option<char>) -> Option<Unit> {
    match letter {
        Some('Y') => Some(Unit::Year),
        Some('M') => Some(Unit::Month),
        Some('W') => Some(Unit::Week),
        Some('D') => Some(Unit::Day),
        _ => None,
    }
}

const fn iso_time_unit(letter: Option<char>) -> Option<Unit> {
    match letter {
        Some('H') => Some(Unit::Hour),
        Some('M') => Some(Unit::Minute),
        Some('S') => Some(Unit::Second),
        _ => None,
    }
}

/// A number as C reads one, how many digits it begins with, and what is behind it.
fn iso_number(text: &str) -> Result<(Number, usize, &str)> {
    /// Parts that floats have exactly.
    const WHOLE_MAX: f64 = 1e15;
    let unsigned = text.strip_prefix('-').unwrap_or(text);
    let digits = |text: &str| text.bytes().take_while(u8::is_ascii_digit).count();
    let width = digits(unsigned);
    let mut end = width;
    if unsigned[end..].starts_with('.') {
        end += 1 + digits(&unsigned[end + 1..]);
    }
    if let Some(power) = unsigned[end..].strip_prefix(['e', 'E']) {
        let sign = usize::from(power.starts_with(['+', '-']));
        let count = digits(&power[sign..]);
        end += if count > 0 { 1 + sign + count } else { 0 };
    }
    let end = end + text.len() - unsigned.len();
    let value: f64 = text[..end].parse().map_err(|_| TemporalError::Syntax)?;
    if value.abs() > WHOLE_MAX {
        return Err(TemporalError::OutOfRange);
    }
    let number = Number { whole: value.trunc() as i64, fraction: value.fract() };
    Ok((number, width, &text[end..]))
}

/// `0002-10-15` or `00021015`, or of a time `10:30:20` or `103020`, whose first number has been
/// read; what is behind it.
fn iso_without_units<'t>(
    sum: &mut Sum,
    (number, width): (Number, usize),
    mut rest: &'t str,
    form: &IsoForm,
) -> Result<&'t str> {
    let IsoForm { units: [first, second, third], between, digits } = *form;
    let is_date = first == Unit::Year;
    let is_end = |rest: &str| rest.is_empty() || is_date && rest.starts_with('T');
    if width == digits && is_end(rest) {
        let whole = |whole| Number { whole, fraction: 0.0 };
        let Number { whole: all, fraction } = number;
        // What is behind the point of a time counts for nothing, as in PostgreSQL.
        let last = Number { whole: all % 100, fraction: if is_date { fraction } else { 0.0 } };
        sum.add_again(whole(all / 10_000), first)?;
        sum.add_again(whole(all / 100 % 100), second)?;
        sum.add_again(last, third)?;
        return Ok(rest);
    }
    sum.add_again(number, first)?;
    for unit in [second, third] {
        let Some(next) = rest.strip_prefix(between) else { break };
        let (number, _, behind) = iso_number(next)?;
        sum.add_again(number, unit)?;
        rest = behind;
    }
    if is_end(rest) { Ok(rest) } else { Err(TemporalError::Syntax) }
}

/// How a date or a time is written without units.
struct IsoForm {
    units: [Unit; 3],
    /// what stands between their numbers
    between: char,
    /// how many digits they have where nothing does
    digits: usize,
}

const ISO_DATE: IsoForm =
    IsoForm { units: [Unit::Year, Unit::Month, Unit::Day], between: '-', digits: 8 };
const ISO_TIME: IsoForm =
    IsoForm { units: [Unit::Hour, Unit::Minute, Unit::Second], between: ':', digits: 6 };
