//! What templates show of a moment or an interval.

use super::super::calendar::iso_weekday;
use super::super::{Interval, MICROS_PER_DAY, MICROS_PER_SECOND, civil_from_days};
use super::julian::{day_number, iso_year_start};
use super::{TimeZone, Zone};

/// A value taken apart. Parts of an interval may be negative, or more than a date's.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Parts {
    pub(super) kind: Kind,
    /// when it is, of a moment with a zone: microseconds since 2000 UTC
    pub(super) at: i64,
    /// astronomical: 0 is 1 BC
    pub(super) year: i32,
    pub(super) month: i32,
    pub(super) day: i32,
    pub(super) hour: i64,
    pub(super) minute: i64,
    pub(super) second: i64,
    /// microseconds of the second
    pub(super) fraction: i64,
    /// Sunday is 0; 0 for intervals
    pub(super) weekday: i64,
    /// from 1; all days of an interval, with months of 30
    pub(super) day_of_year: i32,
}

/// What was taken apart.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Kind {
    Moment(Zone),
    Interval,
}

impl Parts {
    pub(super) fn of_moment(micros: i64, zone: Zone) -> Self {
        let clock = match zone {
            Zone::None => micros,
            Zone::Of(zone) => zone.clock_at(micros),
        };
        let days = clock.div_euclid(MICROS_PER_DAY);
        let date = civil_from_days(days);
        let time = Self::of_time(clock.rem_euclid(MICROS_PER_DAY), Kind::Moment(zone));
        let (year, month, day) = (date.year, date.month.into(), date.day.into());
        let day_of_year = day_number(year, month, day) - day_number(year, 1, 1) + 1;
        Self { at: micros, year, month, day, weekday: iso_weekday(days) % 7, day_of_year, ..time }
    }

    pub(super) fn of_interval(interval: Interval) -> Self {
        let (year, month) = interval.years();
        let day_of_year = interval.months.wrapping_mul(30).wrapping_add(interval.days);
        let time = Self::of_time(interval.micros, Kind::Interval);
        Self { year, month, day: interval.days, day_of_year, ..time }
    }

    const fn of_time(micros: i64, kind: Kind) -> Self {
        let seconds = micros / MICROS_PER_SECOND;
        Self {
            kind,
            at: 0,
            year: 0,
            month: 0,
            day: 0,
            hour: seconds / 3_600,
            minute: seconds / 60 % 60,
            second: seconds % 60,
            fraction: micros % MICROS_PER_SECOND,
            weekday: 0,
            day_of_year: 0,
        }
    }

    /// The zone, of a moment with one.
    pub(super) const fn zone(&self) -> Option<TimeZone> {
        match self.kind {
            Kind::Moment(Zone::Of(zone)) => Some(zone),
            _ => None,
        }
    }

    /// Seconds east of Greenwich; 0 without a zone.
    pub(super) fn offset(&self) -> i32 {
        self.zone().map_or(0, |zone| zone.offset_at(self.at))
    }

    pub(super) const fn julian_day(&self) -> i32 {
        day_number(self.year, self.month, self.day)
    }

    /// ISO year, week in it, and day in it, from 1.
    pub(super) const fn iso(&self) -> (i32, i32, i32) {
        let day = self.julian_day();
        let (mut year, mut start) = (self.year, iso_year_start(self.year));
        if day < start {
            year = self.year.wrapping_sub(1);
            start = iso_year_start(year);
        } else if day.wrapping_sub(start) / 7 >= 51 && day >= iso_year_start(self.year + 1) {
            year = self.year + 1;
            start = iso_year_start(year);
        }
        let days = day.wrapping_sub(start);
        (year, days / 7 + 1, days.wrapping_add(1))
    }

    /// The year as it is shown: no year is 0, but in an interval.
    pub(super) const fn shown(&self, year: i32) -> i64 {
        let year = year as i64;
        match self.kind {
            Kind::Moment(_) if year <= 0 => 1 - year,
            _ => year,
        }
    }
}
