//! A time zone, as a number: of a session it goes with each call.
//!
//! Role         what shows a timestamptz, reads one without an offset, or asks for its day, does so
//!              in the zone of whoever asks, which is one of their
//!              [conventions](crate::conventions::Conventions)
//! Invariants   I1 a zone is a small number, so that a call copies it, and looks nothing up but
//!                 where it is used; the log has its name ([`TimeZone::kept_name`]), since
//!                 another version of Hotrow may have other regions
//! Concurrency  regions are made once, by whoever needs one
//! Source       PostgreSQL 15, "SET TIME ZONE"; pg_tzset for the names that there are

use std::sync::OnceLock;

use jiff::tz::TimeZoneDatabase;

use super::super::limits::{is_finite_timestamp, timestamp_in_range};
use super::super::reader::zone_displacement;
use super::super::{MICROS_PER_SECOND, TemporalError, parse_interval};
use super::{REGIONAL, Region, UTC_NAMES, abbreviation, named, posix_offset, region};
use crate::conventions::{Conventions, EnteredConventions, IntervalStyle};

/// A zone: UTC, one of the regions by its place among them, an abbreviation of one (whose numbers
/// are below 0), or an offset.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Debug)]
pub struct TimeZone(i32);

/// The number of the offset 0; others are so many seconds away. Regions are below all.
const FIXED: i32 = 1 << 24;
/// Offsets, in seconds.
const OFFSET_MAX: u32 = 8_000_000;
/// Offsets that SET TIME ZONE takes, in hours.
const HOURS_MAX: f64 = 167.0;

/// A region and its name, made when it is first needed.
struct Known {
    name: String,
    /// in small letters
    small: String,
    region: OnceLock<Option<Region>>,
}

/// All regions, in the order of their names in small letters: which are looked up for each value of
/// AT TIME ZONE.
fn regions() -> &'static [Known] {
    static REGIONS: OnceLock<Vec<Known>> = OnceLock::new();
    REGIONS.get_or_init(|| {
        let names = TimeZoneDatabase::bundled();
        let known = |name: &str| {
            let (name, small) = (name.to_owned(), name.to_ascii_lowercase());
            Known { name, small, region: OnceLock::new() }
        };
        let mut all: Vec<_> = names.available().map(|it| known(it.as_str())).collect();
        all.sort_unstable_by(|one, other| one.small.cmp(&other.small));
        all
    })
}

impl TimeZone {
    /// Where sessions begin.
    pub const UTC: Self = Self(0);

    /// One offset all year, in seconds east of Greenwich; `None` if it is more than 92 days.
    pub const fn fixed(seconds: i32) -> Option<Self> {
        match seconds {
            0 => Some(Self::UTC),
            _ if seconds.unsigned_abs() <= OFFSET_MAX => Some(Self(FIXED + seconds)),
            _ => None,
        }
    }

    /// The zone of this name, in any case, as AT TIME ZONE and texts of timestamps take it: an
    /// abbreviation, letters with an offset to the west, or a region.
    pub fn named(name: &str) -> Option<Self> {
        let small = name.to_ascii_lowercase();
        let fixed = abbreviation(&small).map(|zone| zone.offset).or_else(|| named(&small));
        fixed
            .and_then(Self::fixed)
            .or_else(|| Self::abbreviated(&small))
            .or_else(|| Self::region_named(&small))
    }

    /// What an abbreviation in small letters means that is a region's.
    pub(in crate::temporal) fn abbreviated(small: &str) -> Option<Self> {
        let at = REGIONAL.binary_search_by_key(&small, |(known, _)| *known).ok()?;
        Some(Self(-(at as i32) - 1))
    }

    /// The abbreviation and the region whose it is.
    fn abbreviation(self) -> Option<(&'static str, &'static Region)> {
        let at = usize::try_from(-1 - self.0).ok()?;
        let (abbreviation, name) = REGIONAL.get(at)?;
        let region = Self::region_named(&name.to_ascii_lowercase())?.region()?;
        Some((abbreviation, region))
    }

    /// Whether it is an abbreviation, which a text may have without a date.
    pub(in crate::temporal) const fn is_abbreviation(self) -> bool {
        self.0 < 0
    }

    /// Hours and minutes to the east with their sign (`+2`, `-08:00`), as texts of timestamps have
    /// them; none: it is no such.
    ///
    /// # Errors
    ///
    /// [`TemporalError::ZoneRange`] where it is too much.
    pub fn displacement(text: &str) -> Result<Option<Self>, TemporalError> {
        match zone_displacement(text) {
            Ok(seconds) => Ok(Self::fixed(seconds)),
            Err(TemporalError::Syntax) => Ok(None),
            Err(other) => Err(other),
        }
    }

    /// The region of a name in small letters.
    pub(in crate::temporal) fn region_named(small: &str) -> Option<Self> {
        place(small).map(|at| Self(at as i32 + 1))
    }

    /// The zone that a value of the setting TimeZone says, and the value as SHOW tells it: a region
    /// in any case, a name of UTC, letters with an offset to the west (`UTC+3`), hours to the east
    /// (`-8`), or `INTERVAL '...'`. None: it says none. An abbreviation alone is none, as in
    /// PostgreSQL.
    pub fn of_setting(value: &str) -> Option<(Self, String)> {
        let bare = value.trim();
        if let Some(hours) = hours(bare) {
            return Some((Self::fixed(hours)?, posix_name(hours)));
        }
        let small = bare.to_ascii_lowercase();
        if let Some(interval) = small.strip_prefix("interval") {
            let quoted = interval.trim().strip_prefix('\'')?;
            let text = &quoted[..quoted.find('\'')?];
            let interval = parse_interval(text, IntervalStyle::Postgres).ok()?;
            let is_time = interval.months == 0 && interval.days == 0;
            let seconds = i32::try_from(interval.micros / MICROS_PER_SECOND).ok();
            let seconds = seconds.filter(|_| is_time).filter(|it| it.abs() <= 167 * 3_600)?;
            return Some((Self::fixed(seconds)?, posix_name(seconds)));
        }
        if let Some(at) = place(&small) {
            let zone = if UTC_NAMES.contains(&&*small) { Self::UTC } else { Self(at as i32 + 1) };
            return Some((zone, regions()[at].name.clone()));
        }
        if let Some((_, west)) = small.strip_prefix('<').and_then(|rest| rest.split_once('>')) {
            return posix_offset(west).and_then(|it| Some((Self::fixed(-it)?, bare.to_owned())));
        }
        // `+02:00` is to the west, as of all names; seconds are refused, as in PostgreSQL.
        let is_name = small.starts_with(|c: char| c.is_ascii_alphabetic()) || small.contains(':');
        let offset = named(&small).filter(|offset| is_name && offset % 60 == 0)?;
        Some((Self::fixed(offset)?, bare.to_ascii_uppercase()))
    }

    /// What the log keeps: a region's name, or seconds east of Greenwich.
    pub fn kept_name(self) -> String {
        match self.fixed_offset() {
            Some(seconds) => seconds.to_string(),
            None => self.known().map_or_else(|| "0".to_owned(), |known| known.name.clone()),
        }
    }

    /// Of what the log has kept. None: this version has no such region.
    pub fn of_kept_name(kept: &str) -> Option<Self> {
        match kept.parse() {
            Ok(seconds) => Self::fixed(seconds),
            Err(_) => Self::region_named(&kept.to_ascii_lowercase()),
        }
    }

    /// Its offset, if it has one all year.
    const fn fixed_offset(self) -> Option<i32> {
        match self.0 {
            0 => Some(0),
            fixed if fixed > FIXED / 2 => Some(fixed - FIXED),
            _ => None,
        }
    }

    fn known(self) -> Option<&'static Known> {
        usize::try_from(self.0 - 1).ok().and_then(|at| regions().get(at))
    }

    fn region(self) -> Option<&'static Region> {
        let known = self.known()?;
        known.region.get_or_init(|| region(&known.name)).as_ref()
    }

    /// Seconds east of Greenwich at a moment of UTC, in microseconds since 2000.
    pub fn offset_at(self, micros: i64) -> i32 {
        match self.fixed_offset() {
            Some(offset) => offset,
            None => match self.abbreviation() {
                Some((abbreviation, region)) => region
                    .offset_called(abbreviation, micros)
                    .unwrap_or_else(|| region.offset_at(micros)),
                None => self.region().map_or(0, |region| region.offset_at(micros)),
            },
        }
    }

    /// Seconds east of Greenwich where the zone's clock shows this, in microseconds since 2000.
    pub fn offset_of(self, clock: i64) -> i32 {
        match self.fixed_offset() {
            Some(offset) => offset,
            None => match self.abbreviation() {
                Some((abbreviation, region)) => {
                    let offset = region.offset_of(clock);
                    let moment = clock.saturating_sub(i64::from(offset) * MICROS_PER_SECOND);
                    region.offset_called(abbreviation, moment).unwrap_or(offset)
                }
                None => self.region().map_or(0, |region| region.offset_of(clock)),
            },
        }
    }

    /// What people there call the time that they have at a moment.
    pub fn abbreviation_at(self, micros: i64) -> String {
        match (self.fixed_offset(), self.region()) {
            (Some(0), _) | (None, None) => "UTC".to_owned(),
            (Some(offset), _) => signed(offset),
            (None, Some(region)) => region.abbreviation_at(micros),
        }
    }

    /// What the zone's clock shows at a moment, infinities as they are. It may be beyond what
    /// timestamps can be, by the offset.
    pub fn clock_at(self, micros: i64) -> i64 {
        if self == Self::UTC || !is_finite_timestamp(micros) {
            return micros;
        }
        micros.saturating_add(i64::from(self.offset_at(micros)) * MICROS_PER_SECOND)
    }

    /// When the zone's clock shows this, infinities as they are. `None` beyond PostgreSQL's range.
    pub fn moment_of(self, clock: i64) -> Option<i64> {
        if self == Self::UTC || !is_finite_timestamp(clock) {
            return Some(clock);
        }
        let ahead = i64::from(self.offset_of(clock)) * MICROS_PER_SECOND;
        clock.checked_sub(ahead).and_then(timestamp_in_range)
    }

    /// The zone of what this thread computes.
    #[inline]
    pub fn current() -> Self {
        Conventions::current().zone
    }

    /// Has what this thread computes be for a session with this zone.
    #[inline]
    pub fn enter(self) -> EnteredConventions {
        Conventions { zone: self, ..Conventions::current() }.enter()
    }
}

fn place(small: &str) -> Option<usize> {
    regions().binary_search_by(|known| (*known.small).cmp(small)).ok()
}

/// Hours east of Greenwich, with a fraction or not, as seconds.
fn hours(text: &str) -> Option<i32> {
    let is_number = text.starts_with(|c: char| c.is_ascii_digit() || matches!(c, '+' | '-' | '.'));
    let hours: f64 = text.parse().ok().filter(|_| is_number)?;
    (hours.abs() <= HOURS_MAX).then_some((hours * 3_600.0) as i32)
}

/// `<+02>-02`: as PostgreSQL names an offset, whose second half counts to the west.
fn posix_name(offset: i32) -> String {
    let (east, west) = if offset < 0 { ('-', '+') } else { ('+', '-') };
    let shown = signed(offset);
    format!("<{east}{0}>{west}{0}", &shown[1..])
}

/// `+HH[:MM[:SS]]`
fn signed(offset: i32) -> String {
    let mut text = String::new();
    let written = write_offset(offset, &mut text);
    debug_assert!(written.is_ok(), "a text takes any text");
    text
}

/// Writes `+HH[:MM[:SS]]`.
pub fn write_offset(offset: i32, out: &mut impl std::fmt::Write) -> std::fmt::Result {
    let (sign, away) = (if offset < 0 { '-' } else { '+' }, offset.unsigned_abs());
    write!(out, "{sign}{:02}", away / 3_600)?;
    if away % 3_600 != 0 {
        write!(out, ":{:02}", away / 60 % 60)?;
    }
    if away % 60 != 0 {
        write!(out, ":{:02}", away % 60)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests;
