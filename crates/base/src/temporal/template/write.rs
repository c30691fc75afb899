//! A value's parts written by a template.

use std::fmt::Write;

use super::names::{DAYS, ERAS, HALVES, MONTHS, ROMAN_MONTHS, in_letters_of, short};
use super::parts::{Kind, Parts};
use super::pattern::{Field, Node, Nodes, Pattern};
use crate::template::{Ordinal, TemplateError, TemplatePace};

/// To what names of months and days are filled up: September, Wednesday.
const NAME_WIDTH: usize = 9;
const ROMAN_WIDTH: usize = 4;

pub(super) fn text_of(parts: &Parts, template: &str) -> Result<String, TemplateError> {
    let (mut out, mut pace) = (String::new(), TemplatePace::default());
    for node in Nodes::of(template) {
        pace.went()?;
        match node {
            Node::Literal(literal) => out.push(literal.character),
            Node::Pattern(pattern) => write_pattern(parts, &pattern, &mut out)?,
        }
    }
    Ok(out)
}

fn write_pattern(
    parts: &Parts,
    pattern: &Pattern<'_>,
    out: &mut String,
) -> Result<(), TemplateError> {
    if parts.kind == Kind::Interval && !suits_intervals(pattern.field) {
        let hint = "Intervals are not tied to specific calendar dates.";
        let message = "invalid format specification for an interval value";
        return Err(TemplateError::new(b"22007", message).hint(hint));
    }
    if let Some(number) = number(parts, pattern.field) {
        number.write(pattern, out);
    } else {
        write_word(parts, pattern, out);
    }
    Ok(())
}

const fn suits_intervals(field: Field) -> bool {
    use Field as F;
    !matches!(
        field,
        F::Era
            | F::DayName
            | F::ShortDayName
            | F::MonthName
            | F::ShortMonthName
            | F::Weekday
            | F::IsoWeekday
            | F::ZoneName
            | F::ZoneHour
            | F::ZoneMinute
            | F::Offset
    )
}

/// A number, and how it is filled up with zeros.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Number {
    value: i64,
    /// sign included
    width: usize,
    /// FM does not take the zeros away
    is_fixed: bool,
}

impl Number {
    const fn plain(value: i64) -> Self {
        Self { value, width: 0, is_fixed: true }
    }

    /// With so many digits. The sign has a place of its own where this is negative.
    const fn padded(value: i64, digits: usize, sign_of: i64) -> Self {
        Self { value, width: digits + (sign_of < 0) as usize, is_fixed: false }
    }

    fn write(self, pattern: &Pattern<'_>, out: &mut String) {
        let width = if pattern.is_bare && !self.is_fixed { 0 } else { self.width };
        push(out, format_args!("{:0width$}", self.value));
        write_ending(pattern.ordinal, self.value, out);
    }
}

fn write_ending(ordinal: Option<Ordinal>, value: i64, out: &mut String) {
    out.push_str(ordinal.map_or("", |ordinal| ordinal.ending(value.unsigned_abs())));
}

/// What a pattern shows of a value, if that is a number.
fn number(parts: &Parts, field: Field) -> Option<Number> {
    use Field as F;
    let two = |value: i64| Some(Number::padded(value, 2, value));
    let plain = |value: i32| Some(Number::plain(value.into()));
    let days_to_weeks = |days: i32| days.wrapping_sub(1) / 7 + 1;
    match field {
        // Of a negative interval, 12 stands for 0 with the sign's place.
        F::Hour12 => {
            let hour = if parts.hour % 12 == 0 { 12 } else { parts.hour % 12 };
            Some(Number::padded(hour, 2, parts.hour))
        }
        F::Hour24 => two(parts.hour),
        F::Minute => two(parts.minute),
        F::Second => two(parts.second),
        F::SecondOfDay => Some(Number::plain((parts.hour * 60 + parts.minute) * 60 + parts.second)),
        F::Fraction(digits) => Some(fraction(parts, digits)),
        F::Millisecond => Some(fraction(parts, 3)),
        F::Microsecond => Some(fraction(parts, 6)),
        F::Month => two(parts.month.into()),
        F::Day => Some(Number::padded(parts.day.into(), 2, 0)),
        F::DayOfYear => Some(Number::padded(parts.day_of_year.into(), 3, 0)),
        F::IsoDayOfYear => Some(Number::padded(parts.iso().2.into(), 3, 0)),
        F::Weekday => Some(Number::plain(parts.weekday + 1)),
        F::IsoWeekday => Some(Number::plain((parts.weekday + 6) % 7 + 1)),
        F::Week => Some(Number::padded(days_to_weeks(parts.day_of_year).into(), 2, 0)),
        F::IsoWeek => Some(Number::padded(parts.iso().1.into(), 2, 0)),
        F::WeekOfMonth => plain(days_to_weeks(parts.day)),
        F::Quarter if parts.month != 0 => plain((parts.month - 1) / 3 + 1),
        F::JulianDay => plain(parts.julian_day()),
        F::Century => Some(century(parts)),
        F::Year(digits) => Some(year(parts, parts.year, digits)),
        F::IsoYear(digits) => Some(year(parts, parts.iso().0, digits)),
        _ => None,
    }
}

fn fraction(parts: &Parts, digits: u8) -> Number {
    let value = parts.fraction / 10_i64.pow(6 - u32::from(digits.min(6)));
    Number { value, width: digits.into(), is_fixed: true }
}

fn century(parts: &Parts) -> Number {
    let year = i64::from(parts.year);
    let century = match parts.kind {
        Kind::Interval => year / 100,
        Kind::Moment(_) if year > 0 => (year - 1) / 100 + 1,
        Kind::Moment(_) => year / 100 - 1,
    };
    match century {
        -99..=99 => Number::padded(century, 2, century),
        more => Number::plain(more),
    }
}

/// The last digits of a year; its sign's place is that of the calendar's year.
fn year(parts: &Parts, of: i32, digits: u8) -> Number {
    let shown = parts.shown(of);
    match digits {
        1 => Number::plain(shown % 10),
        4.. => Number::padded(shown, 4, parts.shown(parts.year)),
        digits => {
            let last = shown % 10_i64.pow(digits.into());
            Number::padded(last, digits.into(), parts.shown(parts.year))
        }
    }
}

/// Writes what is no number, or more than one.
fn write_word(parts: &Parts, pattern: &Pattern<'_>, out: &mut String) {
    let name = |names: &[&'static str], at: i64| {
        usize::try_from(at).ok().and_then(|at| names.get(at).copied()).unwrap_or_default()
    };
    let padded = |word: &str, width: usize, out: &mut String| {
        let is_bare = pattern.is_bare || pattern.is_translated;
        let width = if is_bare { 0 } else { width };
        push(out, format_args!("{:width$}", in_letters_of(pattern.name, word)));
    };
    let month = name(&MONTHS, i64::from(parts.month) - 1);
    let day = name(&DAYS, parts.weekday);
    match pattern.field {
        Field::Half => {
            let is_late = parts.hour % 24 >= 12;
            let half = HALVES.like(pattern.name)[usize::from(is_late)];
            out.push_str(&in_letters_of(pattern.name, half));
        }
        Field::Era => {
            let era = ERAS.like(pattern.name)[usize::from(parts.year <= 0)];
            out.push_str(&in_letters_of(pattern.name, era));
        }
        Field::MonthName => padded(month, NAME_WIDTH, out),
        Field::ShortMonthName => padded(short(month), 0, out),
        Field::DayName => padded(day, NAME_WIDTH, out),
        Field::ShortDayName => padded(short(day), 0, out),
        Field::RomanMonth => write_roman(parts, pattern, out),
        Field::YearWithComma => {
            let year = parts.shown(parts.year);
            push(out, format_args!("{},{:03}", year / 1_000, year % 1_000));
            write_ending(pattern.ordinal, year, out);
        }
        Field::ZoneName => {
            let name = parts.zone().map(|zone| zone.abbreviation_at(parts.at));
            out.push_str(&in_letters_of(pattern.name, &name.unwrap_or_default()));
        }
        Field::ZoneHour => write_hour(parts.offset(), 2, out),
        Field::ZoneMinute => {
            push(out, format_args!("{:02}", parts.offset().unsigned_abs() / 60 % 60));
        }
        Field::Offset => {
            let offset = parts.offset();
            write_hour(offset, if pattern.is_bare { 1 } else { 2 }, out);
            if offset % 3_600 != 0 {
                push(out, format_args!(":{:02}", offset.unsigned_abs() / 60 % 60));
            }
        }
        _ => {}
    }
}

/// Writes the hours of an offset, with so many digits at least.
fn write_hour(offset: i32, digits: usize, out: &mut String) {
    let sign = if offset < 0 { '-' } else { '+' };
    push(out, format_args!("{sign}{:0digits$}", offset.unsigned_abs() / 3_600));
}

/// Months in Roman numerals; of an interval, 12 months are December where they are a year.
fn write_roman(parts: &Parts, pattern: &Pattern<'_>, out: &mut String) {
    if parts.month == 0 && parts.year == 0 {
        return;
    }
    let backwards = match parts.month {
        0 if parts.year >= 0 => 0,
        0 => 11,
        month @ ..0 => -(month + 1),
        month => 12 - month,
    };
    let numeral = usize::try_from(backwards).ok().and_then(|at| ROMAN_MONTHS.get(at).copied());
    let width = if pattern.is_bare { 0 } else { ROMAN_WIDTH };
    let numeral = in_letters_of(pattern.name, numeral.unwrap_or_default());
    push(out, format_args!("{numeral:width$}"));
}

fn push(out: &mut String, text: std::fmt::Arguments<'_>) {
    out.write_fmt(text).expect("a String takes any text");
}
