//! Dates and timestamps from text.
//!
//! ```text
//! date        [+]Y...-M[M]-D[D] [ BC]                            (four or more digits of year)
//! timestamp   date [(space | T) H[H]:MM[:SS[.fraction]] [zone]] [ BC]
//! zone        Z | UTC | GMT | (+|-)HH[[:]MM[[:]SS]]
//! ```
//!
//! A plain timestamp may carry a zone, which is ignored, as in PostgreSQL.

use super::calendar::days_in_month;
use super::{Civil, MICROS_PER_DAY, MICROS_PER_SECOND, days_from_civil};
use std::fmt;

/// Why a text is no date or timestamp.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TemporalError {
    /// Not of the form above.
    Syntax,
    /// A field out of its range, or a date out of the type's.
    OutOfRange,
    /// `infinity` or `-infinity`, which Hotrow does not store.
    Infinity,
}

impl fmt::Display for TemporalError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Syntax => "invalid date or time",
            Self::OutOfRange => "date/time field value out of range",
            Self::Infinity => "infinite dates and timestamps are not supported",
        })
    }
}

impl std::error::Error for TemporalError {}

const YEAR_MIN: i32 = -4_712;
const DATE_YEAR_MAX: i32 = 5_874_897;
const TIMESTAMP_YEAR_MAX: i32 = 294_276;

/// Parses a date.
pub fn parse_date(text: &str) -> Result<i32, TemporalError> {
    let (day, time) = parse_moment(text, DATE_YEAR_MAX)?;
    // A time of day is allowed and dropped, as in PostgreSQL.
    let _dropped = time;
    i32::try_from(day).map_err(|_| TemporalError::OutOfRange)
}

/// Parses a timestamp; a zone is ignored.
pub fn parse_timestamp(text: &str) -> Result<i64, TemporalError> {
    let (day, time) = parse_moment(text, TIMESTAMP_YEAR_MAX)?;
    Ok(day * MICROS_PER_DAY + time.micros)
}

/// Parses a timestamp with time zone; without a zone it is in UTC.
pub fn parse_timestamp_tz(text: &str) -> Result<i64, TemporalError> {
    let (day, time) = parse_moment(text, TIMESTAMP_YEAR_MAX)?;
    Ok(day * MICROS_PER_DAY + time.micros - time.offset_seconds * MICROS_PER_SECOND)
}

/// A time of day and the zone it is told in.
#[derive(Default)]
struct Time {
    micros: i64,
    /// east of Greenwich is positive
    offset_seconds: i64,
}

fn parse_moment(text: &str, year_max: i32) -> Result<(i64, Time), TemporalError> {
    let text = text.trim_ascii();
    if ["infinity", "+infinity", "-infinity"].iter().any(|word| text.eq_ignore_ascii_case(word)) {
        return Err(TemporalError::Infinity);
    }
    let (text, is_bc) = split_era(text);
    let mut rest = Scanner { rest: text.as_bytes() };
    let _sign = rest.take(b'+');
    let date = rest.date(is_bc, year_max)?;
    let time = if rest.take(b'T') || rest.take(b't') || rest.blanks() && !rest.is_empty() {
        rest.time_or_zone()?
    } else {
        Time::default()
    };
    if !rest.is_empty() {
        return Err(TemporalError::Syntax);
    }
    Ok((days_from_civil(date), time))
}

fn split_era(text: &str) -> (&str, bool) {
    match text.split_at_checked(text.len().saturating_sub(3)) {
        Some((before, era)) if era.eq_ignore_ascii_case(" BC") => (before.trim_ascii_end(), true),
        Some((before, era)) if era.eq_ignore_ascii_case(" AD") => (before.trim_ascii_end(), false),
        _ => (text, false),
    }
}

struct Scanner<'a> {
    rest: &'a [u8],
}

impl Scanner<'_> {
    fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    fn take(&mut self, byte: u8) -> bool {
        let found = self.rest.first() == Some(&byte);
        self.rest = &self.rest[usize::from(found)..];
        found
    }

    fn expect(&mut self, byte: u8) -> Result<(), TemporalError> {
        if self.take(byte) { Ok(()) } else { Err(TemporalError::Syntax) }
    }

    fn blanks(&mut self) -> bool {
        let before = self.rest.len();
        self.rest = self.rest.trim_ascii_start();
        self.rest.len() < before
    }

    /// A number of `least..=most` digits.
    fn number(&mut self, least: usize, most: usize) -> Result<i64, TemporalError> {
        let digits = self.rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
        if digits < least || digits > most {
            return Err(TemporalError::Syntax);
        }
        let (number, rest) = self.rest.split_at(digits);
        self.rest = rest;
        Ok(number.iter().fold(0, |value, digit| value * 10 + i64::from(digit - b'0')))
    }

    fn date(&mut self, is_bc: bool, year_max: i32) -> Result<Civil, TemporalError> {
        let year = self.number(4, 7)? as i32;
        self.expect(b'-')?;
        let month = self.number(1, 2)? as u8;
        self.expect(b'-')?;
        let day = self.number(1, 2)? as u8;
        let year = match (year, is_bc) {
            (0, _) => return Err(TemporalError::OutOfRange),
            (year, true) => 1 - year,
            (year, false) => year,
        };
        let in_range = (YEAR_MIN..=year_max).contains(&year)
            && (1..=12).contains(&month)
            && (1..=days_in_month(year, month)).contains(&day);
        if in_range { Ok(Civil { year, month, day }) } else { Err(TemporalError::OutOfRange) }
    }

    fn time(&mut self) -> Result<Time, TemporalError> {
        let hour = self.number(1, 2)?;
        self.expect(b':')?;
        let minute = self.number(2, 2)?;
        let second = if self.take(b':') { self.number(2, 2)? } else { 0 };
        let fraction = if self.take(b'.') { self.fraction()? } else { 0 };
        let micros = ((hour * 60 + minute) * 60 + second) * MICROS_PER_SECOND + fraction;
        // Second 60 and 24:00:00 are the next minute and day.
        if hour > 24 || minute > 59 || second > 60 || micros > MICROS_PER_DAY {
            return Err(TemporalError::OutOfRange);
        }
        self.blanks();
        Ok(Time { micros, offset_seconds: self.zone()? })
    }

    /// A time, or a zone alone, as some drivers send dates.
    fn time_or_zone(&mut self) -> Result<Time, TemporalError> {
        match self.rest.first() {
            Some(b'+' | b'-') => Ok(Time { micros: 0, offset_seconds: self.zone()? }),
            _ => self.time(),
        }
    }

    /// Digits behind the point as microseconds, rounded half up.
    fn fraction(&mut self) -> Result<i64, TemporalError> {
        let before = self.rest;
        let digits = before.iter().take_while(|byte| byte.is_ascii_digit()).count();
        self.rest = &before[digits..];
        let digit = |i: usize| before[..digits].get(i).map_or(0, |digit| i64::from(digit - b'0'));
        let micros = (0..6).fold(0, |value, i| value * 10 + digit(i));
        Ok(micros + i64::from(digit(6) >= 5))
    }

    fn zone(&mut self) -> Result<i64, TemporalError> {
        for name in ["Z", "UTC", "GMT"] {
            if self.rest.eq_ignore_ascii_case(name.as_bytes()) {
                self.rest = &[];
                return Ok(0);
            }
        }
        let sign = match (self.take(b'+'), self.take(b'-')) {
            (true, false) => 1,
            (false, true) => -1,
            (false, false) => return Ok(0),
            (true, true) => return Err(TemporalError::Syntax),
        };
        let digits = self.rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
        let (hour, minute) = match digits {
            3 | 4 => {
                let number = self.number(3, 4)?;
                (number / 100, number % 100)
            }
            _ => (self.number(1, 2)?, if self.take(b':') { self.number(2, 2)? } else { 0 }),
        };
        let second = if self.take(b':') { self.number(2, 2)? } else { 0 };
        // PostgreSQL's limit: 15:59:59.
        if hour > 15 || minute > 59 || second > 59 {
            return Err(TemporalError::OutOfRange);
        }
        Ok(sign * ((hour * 60 + minute) * 60 + second))
    }
}
