//! A moment put together of the fields that were read.
//!
//! What is not given is the beginning: year 1 BC, January, the first, midnight. Fields are looked
//! at in an order, and later ones go over earlier ones: the year, the Julian day, the ISO week,
//! day and month, the day of the year where no day or month has been set.

use super::super::calendar::days_in_month;
use super::super::limits::TIMESTAMPS;
use super::super::{
    Civil, MICROS_PER_DAY, MICROS_PER_SECOND, TimeZone, civil_from_days, days_from_civil,
};
use super::julian::iso_year_start;
use super::pattern::{Convention, Field};
use crate::template::TemplateError;

type Result<T> = std::result::Result<T, TemplateError>;

/// What was read; 0: nothing, but where it says otherwise.
#[derive(Clone, Default, Debug)]
pub(super) struct Fields {
    convention: Option<Convention>,
    pub(super) hour: i32,
    /// 1: behind noon
    pub(super) half: i32,
    /// hours are those of a clock with 12
    pub(super) is_half_day: bool,
    pub(super) minute: i32,
    pub(super) second: i32,
    pub(super) second_of_day: i32,
    pub(super) milliseconds: i32,
    pub(super) microseconds: i32,
    /// to how many digits the second is rounded
    pub(super) fraction_digits: u8,
    /// Sunday is 1
    pub(super) weekday: i32,
    pub(super) day: i32,
    pub(super) day_of_year: i32,
    pub(super) month: i32,
    pub(super) year: i32,
    /// of the pattern it was read by
    pub(super) year_digits: u8,
    /// 1: before Christ
    pub(super) era: i32,
    pub(super) week: i32,
    pub(super) week_of_month: i32,
    pub(super) century: i32,
    pub(super) julian_day: i32,
    /// 1 or -1
    pub(super) zone_sign: i32,
    pub(super) zone_hour: i32,
    pub(super) zone_minute: i32,
}

/// A date and a time, before they are one number.
struct Moment {
    /// the day may be one of the next month: 31 of February, if there is no year
    year: i32,
    month: i32,
    day: i32,
    /// microseconds of the day
    time: i64,
    /// seconds east of Greenwich, if it says so
    offset: Option<i64>,
}

impl Fields {
    /// Refuses a field of another way to tell dates than those before it.
    pub(super) fn keep_to(&mut self, field: Field) -> Result<()> {
        let Some(convention) = field.convention() else { return Ok(()) };
        if *self.convention.get_or_insert(convention) == convention {
            return Ok(());
        }
        let hint = "Do not mix Gregorian and ISO week date conventions in a formatting template.";
        let message = "invalid combination of date conventions";
        Err(TemplateError::new(b"22007", message).hint(hint))
    }

    /// `text` is what is told of in errors.
    fn moment(&self, text: &str) -> Result<Moment> {
        let (hour, minute, second) = self.time()?;
        let (year, month, day) = self.date(text)?;
        let fraction = self.milliseconds.wrapping_mul(1_000).wrapping_add(self.microseconds);
        let is_time = (0..24).contains(&hour)
            && (0..60).contains(&minute)
            && (0..60).contains(&second)
            && (0..1_000_000).contains(&fraction);
        if !is_time {
            return Err(out_of_range(text));
        }
        let seconds = i64::from((hour * 60 + minute) * 60 + second);
        let time = seconds * MICROS_PER_SECOND + i64::from(fraction);
        Ok(Moment { year, month, day, time, offset: self.offset(text)? })
    }

    fn time(&self) -> Result<(i32, i32, i32)> {
        let of_day = self.second_of_day;
        let given = |field: i32, otherwise: i32| if field != 0 { field } else { otherwise };
        let mut hour = given(self.hour, of_day / 3_600);
        if self.is_half_day {
            if !(1..=12).contains(&hour) {
                let hint = "Use the 24-hour clock, or give an hour between 1 and 12.";
                let message = format!("hour \"{hour}\" is invalid for the 12-hour clock");
                return Err(TemplateError::new(b"22007", message).hint(hint));
            }
            hour = hour % 12 + if self.half == 0 { 0 } else { 12 };
        }
        let minute = given(self.minute, of_day / 60 % 60);
        Ok((hour, minute, given(self.second, of_day % 60)))
    }

    fn offset(&self, text: &str) -> Result<Option<i64>> {
        if self.zone_sign == 0 {
            return Ok(None);
        }
        if !(0..=15).contains(&self.zone_hour) || !(0..60).contains(&self.zone_minute) {
            let message = format!("time zone displacement out of range: \"{text}\"");
            return Err(TemplateError::new(b"22009", message));
        }
        Ok(Some(i64::from(self.zone_sign * (self.zone_hour * 60 + self.zone_minute) * 60)))
    }

    /// The year: astronomical, 0 if there is none.
    fn year(&self) -> Option<i32> {
        let is_bc = self.era != 0;
        let century = if is_bc { self.century.wrapping_neg() } else { self.century };
        if self.year == 0 && self.century == 0 {
            return None;
        }
        if self.year == 0 {
            // Its first: 2001 of the 21st, 600 BC of the 6th before Christ.
            let years = if century >= 0 { century.wrapping_sub(1) } else { century };
            return Some(years.wrapping_mul(100).wrapping_add(1));
        }
        if self.century == 0 || self.year_digits > 2 {
            let year = if is_bc { self.year.wrapping_neg() } else { self.year };
            return Some(if year < 0 { year + 1 } else { year });
        }
        // The last two digits within the century; 00 ends it.
        let digits = self.year % 100;
        let hundreds = |centuries: i32| centuries.wrapping_mul(100);
        Some(match (digits, century) {
            (0, 0..) => hundreds(century),
            (0, _) => hundreds(century).wrapping_add(1),
            (_, 0..) => hundreds(century.wrapping_sub(1)).wrapping_add(digits),
            _ => hundreds(century.wrapping_add(1)).wrapping_sub(digits).wrapping_add(1),
        })
    }

    fn date(&self, text: &str) -> Result<(i32, i32, i32)> {
        let year = self.year();
        let mut date = Date {
            year: year.unwrap_or(0),
            month: 1,
            day: 1,
            has_year: year.is_some(),
            has_month: false,
            has_day: false,
        };
        let is_iso = self.convention == Some(Convention::IsoWeek);
        if self.julian_day != 0 {
            date.set(i64::from(self.julian_day) - JULIAN_DAY_OF_EPOCH);
        }
        let mut day_of_year = self.day_of_year;
        if self.week != 0 && is_iso {
            // Monday, if no day is given.
            let weekday = if self.weekday == 0 { 2 } else { self.weekday };
            let since_monday = if weekday > 1 { weekday - 2 } else { 6 };
            let days = self.week.wrapping_sub(1).wrapping_mul(7).wrapping_add(since_monday);
            date.set_iso(days);
        } else if self.week != 0 {
            day_of_year = first_of_week(self.week);
        }
        let day =
            if self.week_of_month != 0 { first_of_week(self.week_of_month) } else { self.day };
        if day != 0 {
            (date.day, date.has_day) = (day, true);
        }
        if self.month != 0 {
            (date.month, date.has_month) = (self.month, true);
        }
        if day_of_year != 0 && (date.month <= 1 || date.day <= 1) {
            if date.year == 0 && self.era == 0 {
                let message = "cannot calculate day of year without year information";
                return Err(TemplateError::new(b"22007", message));
            }
            if is_iso {
                date.set_iso(day_of_year.wrapping_sub(1));
            } else {
                date.set_day_of_year(day_of_year);
            }
        }
        if !date.is_valid() {
            return Err(out_of_range(text));
        }
        Ok((date.year, date.month, date.day))
    }
}

/// The first day of a week that counts from the first of a month or a year.
const fn first_of_week(week: i32) -> i32 {
    week.wrapping_sub(1).wrapping_mul(7).wrapping_add(1)
}

/// 2000-01-01.
const JULIAN_DAY_OF_EPOCH: i64 = 2_451_545;

/// A date that is being put together, and what of it was given.
struct Date {
    year: i32,
    month: i32,
    day: i32,
    has_year: bool,
    has_month: bool,
    has_day: bool,
}

impl Date {
    fn set(&mut self, days: i64) {
        let date = civil_from_days(days);
        (self.year, self.month, self.day) = (date.year, date.month.into(), date.day.into());
        (self.has_year, self.has_month, self.has_day) = (true, true, true);
    }

    /// Sets it to so many days after its ISO year began.
    fn set_iso(&mut self, days: i32) {
        let day = iso_year_start(self.year).wrapping_add(days);
        self.set(i64::from(day) - JULIAN_DAY_OF_EPOCH);
    }

    /// Sets month and day, if they are not set, to those of a day of the year. There is a month 13
    /// for days that the year has not.
    fn set_day_of_year(&mut self, day_of_year: i32) {
        let (mut month, mut before) = (1, 0);
        while month <= 12 {
            let days = i32::from(days_in_month(self.year, month));
            if day_of_year <= before + days {
                break;
            }
            (month, before) = (month + 1, before + days);
        }
        if self.month <= 1 {
            self.month = month.into();
        }
        if self.day <= 1 {
            self.day = day_of_year.wrapping_sub(before);
        }
        (self.has_month, self.has_day) = (true, true);
    }

    /// Whether what was given is in range. A day is too great for its month only if all is given.
    fn is_valid(&self) -> bool {
        let is_month = (1..=12).contains(&self.month);
        let last = match (self.has_year && self.has_month && self.has_day, is_month) {
            (true, true) => days_in_month(self.year, self.month as u8).into(),
            _ => 31,
        };
        (!self.has_month || is_month) && (!self.has_day || (1..=last).contains(&self.day))
    }
}

impl Moment {
    /// Days since 2000-01-01; none: beyond what Julian days are computed for, 4714-11 BC to
    /// 5874898-05.
    fn days(&self) -> Option<i64> {
        let month = (self.year, self.month);
        let is_in_range = ((-4_713, 11)..(5_874_898, 6)).contains(&month);
        let (year, month, day) = (self.year, self.month as u8, self.day as u8);
        is_in_range.then(|| days_from_civil(Civil { year, month, day }))
    }
}

pub(super) fn date(fields: &Fields, text: &str) -> Result<i32> {
    /// 4714-11-24 BC, and the first day behind 5874897-12-31
    const DAYS: std::ops::Range<i64> = -JULIAN_DAY_OF_EPOCH..2_145_031_949;
    let days = fields.moment(text)?.days().filter(|days| DAYS.contains(days));
    let days = days.and_then(|days| i32::try_from(days).ok());
    days.ok_or_else(|| TemplateError::new(b"22008", format!("date out of range: \"{text}\"")))
}

pub(super) fn moment(fields: &Fields, text: &str, zone: TimeZone) -> Result<i64> {
    let moment = fields.moment(text)?;
    let ahead = |clock| moment.offset.unwrap_or_else(|| zone.offset_of(clock).into());
    let micros = moment
        .days()
        .and_then(|days| days.checked_mul(MICROS_PER_DAY)?.checked_add(moment.time))
        .and_then(|clock| clock.checked_sub(ahead(clock) * MICROS_PER_SECOND))
        .filter(|micros| TIMESTAMPS.contains(micros))
        .ok_or_else(|| TemplateError::new(b"22008", "timestamp out of range"))?;
    Ok(match fields.fraction_digits {
        0 => micros,
        digits => rounded(micros, 10_i64.pow(6_u32.saturating_sub(digits.into()))),
    })
}

/// The nearest multiple of a unit; halves away from 2000.
fn rounded(micros: i64, unit: i64) -> i64 {
    let units = (micros.unsigned_abs() + unit.unsigned_abs() / 2) / unit.unsigned_abs();
    micros.signum() * (units as i64) * unit
}

fn out_of_range(text: &str) -> TemplateError {
    TemplateError::new(b"22008", format!("date/time field value out of range: \"{text}\""))
}
