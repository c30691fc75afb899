//! Intervals: months, days and microseconds, none of which is any number of another.
//!
//! Source       PostgreSQL 15, timestamp.c: results are its own, its roundings by floats included.
//!              We differ: an interval of -178956970 years -8 months is out of range

use super::TimeZone;
use super::calendar::days_in_month;
use super::extract::{ExtractField, TruncateUnit};
use super::limits::{is_finite_timestamp, timestamp_in_range};
use super::{Civil, MICROS_PER_DAY, MICROS_PER_SECOND, civil_from_days, days_from_civil};

pub(super) const MICROS_PER_HOUR: i64 = 3_600 * MICROS_PER_SECOND;
pub(super) const MICROS_PER_MINUTE: i64 = 60 * MICROS_PER_SECOND;
/// Days of a month where it has to be a number of them.
const DAYS_PER_MONTH: i64 = 30;

/// A span of time. Its months are greater than `i32::MIN`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Interval {
    /// calendar months, whatever their lengths
    pub months: i32,
    /// days, of 24 hours in UTC
    pub days: i32,
    /// the rest
    pub micros: i64,
}

impl Interval {
    /// An interval of parts; `None` if one is out of range.
    pub fn new(months: i64, days: i64, micros: i64) -> Option<Self> {
        let months = i32::try_from(months).ok().filter(|months| *months > i32::MIN)?;
        Some(Self { months, days: i32::try_from(days).ok()?, micros })
    }

    /// What it is compared by: microseconds, with months of 30 days.
    pub fn span(self) -> i128 {
        let days = i128::from(self.months) * i128::from(DAYS_PER_MONTH) + i128::from(self.days);
        days * i128::from(MICROS_PER_DAY) + i128::from(self.micros)
    }

    /// `- interval`
    pub fn negated(self) -> Option<Self> {
        Self::new(-i64::from(self.months), -i64::from(self.days), self.micros.checked_neg()?)
    }

    /// `interval + interval`
    pub fn plus(self, other: Self) -> Option<Self> {
        Self::new(
            i64::from(self.months) + i64::from(other.months),
            i64::from(self.days) + i64::from(other.days),
            self.micros.checked_add(other.micros)?,
        )
    }

    /// `interval * factor`: what is no whole month becomes days, what is no whole day time.
    pub fn times(self, factor: f64) -> Option<Self> {
        self.scaled(|part| part * factor)
    }

    /// `interval / divisor`, which is not 0.
    pub fn divided(self, divisor: f64) -> Option<Self> {
        self.scaled(|part| part / divisor)
    }

    fn scaled(self, scale: impl Fn(f64) -> f64) -> Option<Self> {
        const SECONDS_PER_DAY: f64 = 86_400.0;
        let micros_exact = |x: f64| (x * 1e6).round_ties_even() / 1e6;
        let (months, days) = (scale(self.months.into()), scale(self.days.into()));
        let whole = Self::new(whole(months)?, whole_of_32_bits(days)?, 0)?;
        let more_days = micros_exact((months - f64::from(whole.months)) * DAYS_PER_MONTH as f64);
        let mut seconds =
            (days - f64::from(whole.days) + more_days - more_days.trunc()) * SECONDS_PER_DAY;
        seconds = micros_exact(seconds);
        let mut all_days = i64::from(whole.days);
        if seconds.abs() >= SECONDS_PER_DAY {
            let carried = (seconds / SECONDS_PER_DAY).trunc();
            all_days += carried as i64;
            seconds -= carried * SECONDS_PER_DAY;
        }
        all_days += more_days as i64;
        let micros = (scale(self.micros as f64) + seconds * 1e6).round_ties_even();
        const LIMIT: f64 = (1_u64 << 63) as f64;
        if !(-LIMIT..LIMIT).contains(&micros) {
            return None;
        }
        Self::new(whole.months.into(), all_days, micros as i64)
    }

    /// Whole days out of the time.
    pub fn justify_hours(self) -> Option<Self> {
        let days = i64::from(self.days) + self.micros / MICROS_PER_DAY;
        let (days, micros) = one_sign(days, self.micros % MICROS_PER_DAY, MICROS_PER_DAY);
        Self::new(self.months.into(), days, micros)
    }

    /// Whole months, of 30 days, out of the days.
    pub fn justify_days(self) -> Option<Self> {
        let days = i64::from(self.days);
        let months = i64::from(self.months) + days / DAYS_PER_MONTH;
        let (months, days) = one_sign(months, days % DAYS_PER_MONTH, DAYS_PER_MONTH);
        Self::new(months, days, self.micros)
    }

    /// Both, and all parts of one sign.
    pub fn justify(self) -> Option<Self> {
        let mut days = i64::from(self.days) + self.micros / MICROS_PER_DAY;
        let mut micros = self.micros % MICROS_PER_DAY;
        let mut months = i64::from(self.months) + days / DAYS_PER_MONTH;
        days %= DAYS_PER_MONTH;
        if months > 0 && (days < 0 || days == 0 && micros < 0) {
            (months, days) = (months - 1, days + DAYS_PER_MONTH);
        } else if months < 0 && (days > 0 || days == 0 && micros > 0) {
            (months, days) = (months + 1, days - DAYS_PER_MONTH);
        }
        (days, micros) = one_sign(days, micros, MICROS_PER_DAY);
        Self::new(months, days, micros)
    }

    /// Years and months of the year.
    pub(super) fn years(self) -> (i32, i32) {
        (self.months / 12, self.months % 12)
    }

    /// A field as units of its scale; `None` if an interval has none such.
    pub fn extract(self, field: ExtractField) -> Option<i128> {
        use ExtractField as F;
        let (years, months) = self.years();
        let (years, months) = (i64::from(years), i64::from(months));
        let units = match field {
            F::Microseconds | F::Milliseconds | F::Second => self.micros % MICROS_PER_MINUTE,
            F::Minute => self.micros / MICROS_PER_MINUTE % 60,
            F::Hour => self.micros / MICROS_PER_HOUR,
            F::Day => self.days.into(),
            F::Month => months,
            F::Quarter => months / 3 + 1,
            F::Year => years,
            F::Decade => years / 10,
            F::Century => years / 100,
            F::Millennium => years / 1_000,
            F::Epoch => {
                // Years of 365.25 days here.
                let quarters = 1_461 * years + 120 * months + 4 * i64::from(self.days);
                let seconds = i128::from(quarters * (86_400 / 4));
                return Some(seconds * i128::from(MICROS_PER_SECOND) + i128::from(self.micros));
            }
            F::Dow | F::Isodow | F::Doy | F::Week | F::Isoyear => return None,
        };
        Some(units.into())
    }

    /// Cut to a unit; `None` for weeks, of which months are no number.
    pub fn truncated(self, unit: TruncateUnit) -> Option<Self> {
        use TruncateUnit as U;
        let whole_years =
            |years: i32| Self { months: self.months / 12 / years * years * 12, ..Self::default() };
        let time = |unit: i64| Self { micros: self.micros / unit * unit, ..self };
        Some(match unit {
            U::Microseconds => self,
            U::Milliseconds => time(1_000),
            U::Second => time(MICROS_PER_SECOND),
            U::Minute => time(MICROS_PER_MINUTE),
            U::Hour => time(MICROS_PER_HOUR),
            U::Day => Self { micros: 0, ..self },
            U::Week => return None,
            U::Month => Self { days: 0, micros: 0, ..self },
            U::Quarter => Self { months: self.months / 3 * 3, ..Self::default() },
            U::Year => whole_years(1),
            U::Decade => whole_years(10),
            U::Century => whole_years(100),
            U::Millennium => whole_years(1_000),
        })
    }
}

/// Truncated, as a conversion to 32 bits does, if it fits them.
fn whole_of_32_bits(value: f64) -> Option<i64> {
    let fits = value.is_finite() && (f64::from(i32::MIN)..=f64::from(i32::MAX)).contains(&value);
    fits.then_some(value as i64)
}

fn whole(value: f64) -> Option<i64> {
    whole_of_32_bits(value)
}

/// A number of units and a rest of the same sign.
fn one_sign(units: i64, rest: i64, per: i64) -> (i64, i64) {
    match (units.signum(), rest.signum()) {
        (1, -1) => (units - 1, rest + per),
        (-1, 1) => (units + 1, rest - per),
        _ => (units, rest),
    }
}

/// `timestamp + interval`: months first, in which the last day takes the place of one that is not
/// there; then days; then the time. Infinities stay. `None` beyond PostgreSQL's range.
pub fn add_interval(micros: i64, interval: Interval) -> Option<i64> {
    if !is_finite_timestamp(micros) {
        return Some(micros);
    }
    let (mut day, time) = (micros.div_euclid(MICROS_PER_DAY), micros.rem_euclid(MICROS_PER_DAY));
    if interval.months != 0 {
        let date = civil_from_days(day);
        let months = i64::from(date.year) * 12 + i64::from(date.month) - 1;
        let months = months + i64::from(interval.months);
        let (year, month) = (months.div_euclid(12), months.rem_euclid(12) as u8 + 1);
        let year = i32::try_from(year).ok()?;
        let last = days_in_month(year, month);
        day = days_from_civil(Civil { year, month, day: date.day.min(last) });
    }
    day += i64::from(interval.days);
    let moved = day.checked_mul(MICROS_PER_DAY)?.checked_add(time)?.checked_add(interval.micros)?;
    timestamp_in_range(moved)
}

/// `timestamptz + interval`: months and days by the zone's clock, as [`add_interval`] does, so that
/// a day later it shows the same; the time as it goes by. `None` beyond PostgreSQL's range.
pub fn add_interval_in(micros: i64, interval: Interval, zone: TimeZone) -> Option<i64> {
    let Interval { months, days, micros: time } = interval;
    if zone == TimeZone::UTC || !is_finite_timestamp(micros) || (months, days) == (0, 0) {
        return add_interval(micros, interval);
    }
    let by_calendar = Interval { months, days, micros: 0 };
    let clock = add_interval(zone.clock_at(micros), by_calendar)?;
    timestamp_in_range(zone.moment_of(clock)?.checked_add(time)?)
}

/// The start of the stride that a timestamp lies in, where strides follow each other from an origin
/// on, to both sides. `None` beyond PostgreSQL's range.
pub fn bin(stride: i64, micros: i64, origin: i64) -> Option<i64> {
    let into = micros.checked_sub(origin)?.rem_euclid(stride);
    timestamp_in_range(micros.checked_sub(into)?)
}

/// `timestamp - timestamp`, both finite: days and a time of the same sign.
pub fn difference(one: i64, other: i64) -> Option<Interval> {
    Interval { micros: one.checked_sub(other)?, ..Interval::default() }.justify_hours()
}

/// `age(one, other)`: years, months and days by the calendar. `None` of infinities, too.
pub fn age(one: i64, other: i64) -> Option<Interval> {
    if !is_finite_timestamp(one) || !is_finite_timestamp(other) {
        return None;
    }
    let sign = if one < other { -1 } else { 1 };
    let fields = |micros: i64| {
        let date = civil_from_days(micros.div_euclid(MICROS_PER_DAY));
        let months = i64::from(date.year) * 12 + i64::from(date.month) - 1;
        (months, i64::from(date.day), micros.rem_euclid(MICROS_PER_DAY), date)
    };
    let (later, earlier) = if one < other { (other, one) } else { (one, other) };
    let (a, b) = (fields(later), fields(earlier));
    let (mut months, mut days, mut time) = (a.0 - b.0, a.1 - b.1, a.2 - b.2);
    if time < 0 {
        (days, time) = (days - 1, time + MICROS_PER_DAY);
    }
    while days < 0 {
        // The earlier date's month, however long it is.
        days += i64::from(days_in_month(b.3.year, b.3.month));
        months -= 1;
    }
    Interval::new(sign * months, sign * days, sign * time)
}
