//! Fields of timestamps, and truncation, both as PostgreSQL defines them.

use super::calendar::{iso_week, iso_weekday};
use super::limits::{is_finite_timestamp, timestamp_in_range};
use super::units::unit_name;
use super::{Civil, MICROS_PER_DAY, MICROS_PER_SECOND, civil_from_days, days_from_civil};

/// Microseconds from 1970-01-01 to 2000-01-01.
const UNIX_EPOCH_OFFSET: i64 = 10_957 * MICROS_PER_DAY;

/// What `extract(field from timestamp)` can give.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum ExtractField {
    /// of the minute, seconds included: below 60,000,000
    Microseconds,
    /// of the minute, seconds included, with fraction: scale 3
    Milliseconds,
    /// with fraction: scale 6
    Second,
    /// 0 to 59
    Minute,
    /// 0 to 23
    Hour,
    /// of the month
    Day,
    /// Sunday is 0
    Dow,
    /// Monday is 1
    Isodow,
    /// 1 to 366
    Doy,
    /// ISO 8601
    Week,
    /// 1 to 12
    Month,
    /// 1 to 4
    Quarter,
    /// negative before Christ, never 0
    Year,
    /// year of the ISO week
    Isoyear,
    /// year divided by 10
    Decade,
    /// the first began with year 1
    Century,
    /// the first began with year 1
    Millennium,
    /// seconds since 1970-01-01, scale 6
    Epoch,
}

impl ExtractField {
    /// The field of that name, in any case.
    pub fn from_name(name: &str) -> Option<Self> {
        Some(match unit_name(name).as_str() {
            "microseconds" => Self::Microseconds,
            "milliseconds" => Self::Milliseconds,
            "second" => Self::Second,
            "minute" => Self::Minute,
            "hour" => Self::Hour,
            "day" => Self::Day,
            "dow" => Self::Dow,
            "isodow" => Self::Isodow,
            "doy" => Self::Doy,
            "week" => Self::Week,
            "month" => Self::Month,
            "quarter" => Self::Quarter,
            "year" => Self::Year,
            "isoyear" => Self::Isoyear,
            "decade" => Self::Decade,
            "century" => Self::Century,
            "millennium" => Self::Millennium,
            "epoch" => Self::Epoch,
            _ => return None,
        })
    }

    /// Whether it grows with time without end: of infinity it is infinite, and others are unknown.
    pub const fn grows(self) -> bool {
        matches!(
            self,
            Self::Year
                | Self::Isoyear
                | Self::Decade
                | Self::Century
                | Self::Millennium
                | Self::Epoch
        )
    }

    /// Whether a time of day has it.
    pub const fn is_of_time(self) -> bool {
        matches!(
            self,
            Self::Microseconds
                | Self::Milliseconds
                | Self::Second
                | Self::Minute
                | Self::Hour
                | Self::Epoch
        )
    }

    /// The scale of the numeric that [`extract`] gives.
    pub const fn scale(self) -> u8 {
        match self {
            Self::Second | Self::Epoch => 6,
            Self::Milliseconds => 3,
            _ => 0,
        }
    }
}

/// A field of a finite timestamp, as units of the field's scale.
pub fn extract(field: ExtractField, micros: i64) -> i128 {
    let (days, time) = (micros.div_euclid(MICROS_PER_DAY), micros.rem_euclid(MICROS_PER_DAY));
    let seconds = time / MICROS_PER_SECOND;
    let date = civil_from_days(days);
    let year = i64::from(date.year);
    let units = match field {
        // The same digits: units of scale 0, 3 and 6.
        ExtractField::Microseconds | ExtractField::Milliseconds | ExtractField::Second => {
            time % (60 * MICROS_PER_SECOND)
        }
        ExtractField::Minute => seconds / 60 % 60,
        ExtractField::Hour => seconds / 3_600,
        ExtractField::Day => date.day.into(),
        ExtractField::Dow => iso_weekday(days) % 7,
        ExtractField::Isodow => iso_weekday(days),
        ExtractField::Doy => days - first_of(date.year, 1) + 1,
        ExtractField::Week => iso_week(days).1,
        ExtractField::Month => date.month.into(),
        ExtractField::Quarter => i64::from(date.month - 1) / 3 + 1,
        ExtractField::Year => without_zero(year),
        ExtractField::Isoyear => without_zero(iso_week(days).0.into()),
        ExtractField::Decade => year.div_euclid(10),
        ExtractField::Century => period(year, 100),
        ExtractField::Millennium => period(year, 1_000),
        ExtractField::Epoch => return i128::from(micros) + i128::from(UNIX_EPOCH_OFFSET),
    };
    units.into()
}

/// Years before Christ as negative numbers: 0 is 1 BC.
fn without_zero(year: i64) -> i64 {
    if year > 0 { year } else { year - 1 }
}

/// The century or millennium of a year: 1 to `years` are the first, those before it the -1st.
fn period(year: i64, years: i64) -> i64 {
    without_zero((year - 1).div_euclid(years) + 1)
}

fn first_of(year: i32, month: u8) -> i64 {
    days_from_civil(Civil { year, month, day: 1 })
}

/// What `date_trunc` can cut to, from the shortest on.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum TruncateUnit {
    /// nothing is cut
    Microseconds,
    /// a thousandth of a second
    Milliseconds,
    /// a second
    Second,
    /// a minute
    Minute,
    /// an hour
    Hour,
    /// midnight
    Day,
    /// Monday
    Week,
    /// the first of the month
    Month,
    /// the first of January, April, July, October
    Quarter,
    /// the first of January
    Year,
    /// of a year divisible by 10
    Decade,
    /// of a year 1, 101, ...
    Century,
    /// of a year 1, 1001, ...
    Millennium,
}

impl TruncateUnit {
    /// All units by their names, in small letters.
    pub const NAMES: [(&str, Self); 15] = [
        ("microseconds", Self::Microseconds),
        ("microsecond", Self::Microseconds),
        ("milliseconds", Self::Milliseconds),
        ("millisecond", Self::Milliseconds),
        ("second", Self::Second),
        ("minute", Self::Minute),
        ("hour", Self::Hour),
        ("day", Self::Day),
        ("week", Self::Week),
        ("month", Self::Month),
        ("quarter", Self::Quarter),
        ("year", Self::Year),
        ("decade", Self::Decade),
        ("century", Self::Century),
        ("millennium", Self::Millennium),
    ];

    /// The unit of that name, in any case.
    pub fn from_name(name: &str) -> Option<Self> {
        let name = unit_name(name);
        Self::NAMES.iter().find(|(known, _)| name == *known).map(|(_, unit)| *unit)
    }
}

/// The start of the unit a timestamp lies in; an infinity stays. `None` if it is out of range.
pub fn date_trunc(unit: TruncateUnit, micros: i64) -> Option<i64> {
    if !is_finite_timestamp(micros) {
        return Some(micros);
    }
    let days = micros.div_euclid(MICROS_PER_DAY);
    let date = civil_from_days(days);
    let start_of_years =
        |years: i32, first: i32| first_of((date.year - first).div_euclid(years) * years + first, 1);
    let start = match unit {
        TruncateUnit::Microseconds => return Some(micros),
        TruncateUnit::Milliseconds => return floor(micros, 1_000),
        TruncateUnit::Second => return floor(micros, MICROS_PER_SECOND),
        TruncateUnit::Minute => return floor(micros, 60 * MICROS_PER_SECOND),
        TruncateUnit::Hour => return floor(micros, 3_600 * MICROS_PER_SECOND),
        TruncateUnit::Day => days,
        TruncateUnit::Week => days - iso_weekday(days) + 1,
        TruncateUnit::Month => first_of(date.year, date.month),
        TruncateUnit::Quarter => first_of(date.year, (date.month - 1) / 3 * 3 + 1),
        TruncateUnit::Year => first_of(date.year, 1),
        TruncateUnit::Decade => start_of_years(10, 0),
        TruncateUnit::Century => start_of_years(100, 1),
        TruncateUnit::Millennium => start_of_years(1_000, 1),
    };
    start.checked_mul(MICROS_PER_DAY).and_then(timestamp_in_range)
}

fn floor(micros: i64, unit: i64) -> Option<i64> {
    micros.checked_sub(micros.rem_euclid(unit))
}
