//! How a session reads and writes values as text: it goes with each of its calls.
//!
//! Role         the zone of its times and the styles of its texts. The interpreter is told them
//!              with each call; functions of values that lie too deep to be handed them (texts of
//!              arrays, ranges, json) find them by [`Conventions::current`], and whoever runs them
//!              for a session has [entered](Conventions::enter) them
//! Invariants   I1 they are a few bytes, so that a call copies them, and looks nothing up but where
//!                 they are used; the log has them as text ([`Conventions::kept`]), since another
//!                 version of Hotrow may have other regions
//!              I2 guards of a thread are dropped in the reverse order of their making
//!              I3 by default no text of a value is read as another one in another session: what is
//!                 written to be read again is written so ([`Style::default`])
//! Concurrency  each thread has its own current ones
//! Source       PostgreSQL 15, "Locale and Formatting"; variable.c for what DateStyle takes

use std::cell::Cell;
use std::fmt;
use std::marker::PhantomData;

use crate::temporal::TimeZone;

/// What texts of values depend on.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Conventions {
    /// in which timestamps with a zone are shown and read
    pub zone: TimeZone,
    /// of texts
    pub style: Style,
}

/// How values are written, and read where their texts may mean two things.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Style {
    /// how dates and timestamps are written
    pub dates: DateStyle,
    /// which of their fields comes first
    pub order: DateOrder,
    /// how intervals are written
    pub intervals: IntervalStyle,
    /// how bytes are written
    pub bytes: BytesStyle,
    /// extra_float_digits: up to 0, so many digits more than are always exact; above, the shortest
    /// text that is read as the same number
    pub float_digits: i8,
}

/// How dates and timestamps are written.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum DateStyle {
    /// `1997-12-17 07:37:16-08`
    #[default]
    Iso,
    /// `12/17/1997 07:37:16 PST`
    Sql,
    /// `Wed Dec 17 07:37:16 1997 PST`
    Postgres,
    /// `17.12.1997 07:37:16 PST`
    German,
}

/// The order of a date's fields, where numbers alone say it.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum DateOrder {
    /// month, day, year
    #[default]
    Mdy,
    /// day, month, year
    Dmy,
    /// year, month, day
    Ymd,
}

/// How intervals are written.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum IntervalStyle {
    /// `1 year 2 mons 3 days 04:05:06`
    #[default]
    Postgres,
    /// `@ 1 year 2 mons 3 days 4 hours 5 mins 6 secs`
    PostgresVerbose,
    /// `+1-2 +3 +4:05:06`
    SqlStandard,
    /// `P1Y2M3DT4H5M6S`
    Iso8601,
}

/// How bytes are written.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum BytesStyle {
    /// `a\000`
    Escape,
    /// `\x6100`
    #[default]
    Hex,
}

/// What a value of DateStyle is not.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum DateStyleError {
    /// a list of words
    Syntax,
    /// one that this word says something in
    Unknown(String),
    /// one that says one thing only
    Conflict,
}

impl Style {
    /// Where sessions begin.
    pub const DEFAULT: Self = Self {
        dates: DateStyle::Iso,
        order: DateOrder::Mdy,
        intervals: IntervalStyle::Postgres,
        bytes: BytesStyle::Hex,
        float_digits: 1,
    };

    /// Has this thread write and read texts so, in the zone that it is in.
    pub fn enter(self) -> EnteredConventions {
        Conventions { style: self, ..Conventions::current() }.enter()
    }

    /// Of the settings with these values, which have been checked; another value is the default.
    pub fn of_settings(dates: &str, intervals: &str, bytes: &str, float_digits: &str) -> Self {
        let (dates, order) = date_style(dates, Default::default()).unwrap_or_default();
        Self {
            dates,
            order,
            intervals: IntervalStyle::named(intervals).unwrap_or_default(),
            bytes: BytesStyle::named(bytes).unwrap_or_default(),
            float_digits: float_digits.parse().unwrap_or(Self::DEFAULT.float_digits),
        }
    }
}

impl Default for Style {
    fn default() -> Self {
        Self::DEFAULT
    }
}

impl DateStyle {
    const fn name(self) -> &'static str {
        match self {
            Self::Iso => "ISO",
            Self::Sql => "SQL",
            Self::Postgres => "Postgres",
            Self::German => "German",
        }
    }
}

impl DateOrder {
    const fn name(self) -> &'static str {
        match self {
            Self::Mdy => "MDY",
            Self::Dmy => "DMY",
            Self::Ymd => "YMD",
        }
    }
}

/// A value of the setting DateStyle, as SHOW tells it.
pub fn date_style_name((style, order): (DateStyle, DateOrder)) -> String {
    format!("{}, {}", style.name(), order.name())
}

/// What a value of the setting DateStyle says: a style, an order or both; what it does not say
/// stays as it was. The word DEFAULT is its caller's.
///
/// # Errors
///
/// Why it says nothing.
pub fn date_style(
    value: &str,
    before: (DateStyle, DateOrder),
) -> Result<(DateStyle, DateOrder), DateStyleError> {
    let (mut style, mut order) = (None, None);
    if value.trim().is_empty() {
        return Ok(before);
    }
    for word in value.split(',') {
        let word = word.trim().trim_matches('"').to_ascii_lowercase();
        let (says_style, says_order) = match word.as_str() {
            "" => return Err(DateStyleError::Syntax),
            "iso" => (Some(DateStyle::Iso), None),
            "sql" => (Some(DateStyle::Sql), None),
            "german" => (Some(DateStyle::German), None),
            "ymd" => (None, Some(DateOrder::Ymd)),
            "dmy" => (None, Some(DateOrder::Dmy)),
            "mdy" | "us" => (None, Some(DateOrder::Mdy)),
            _ if word.starts_with("postgres") => (Some(DateStyle::Postgres), None),
            _ if word.starts_with("euro") => (None, Some(DateOrder::Dmy)),
            _ if word.starts_with("noneuro") => (None, Some(DateOrder::Mdy)),
            _ => return Err(DateStyleError::Unknown(word)),
        };
        if says_style.is_some() && style.is_some_and(|said| Some(said) != says_style)
            || says_order.is_some() && order.is_some_and(|said| Some(said) != says_order)
        {
            return Err(DateStyleError::Conflict);
        }
        (style, order) = (style.or(says_style), order.or(says_order));
    }
    // Germans write the day first.
    let usual = if style == Some(DateStyle::German) { DateOrder::Dmy } else { before.1 };
    Ok((style.unwrap_or(before.0), order.unwrap_or(usual)))
}

impl IntervalStyle {
    /// The values of the setting.
    pub const NAMES: &'static [&'static str] =
        &["postgres", "postgres_verbose", "sql_standard", "iso_8601"];

    /// The style that a value of the setting says.
    pub fn named(name: &str) -> Option<Self> {
        let all = [Self::Postgres, Self::PostgresVerbose, Self::SqlStandard, Self::Iso8601];
        all.into_iter().find(|style| Self::NAMES[*style as usize] == name)
    }
}

impl BytesStyle {
    /// The values of the setting.
    pub const NAMES: &'static [&'static str] = &["escape", "hex"];

    /// The style that a value of the setting says.
    pub fn named(name: &str) -> Option<Self> {
        [Self::Escape, Self::Hex].into_iter().find(|style| Self::NAMES[*style as usize] == name)
    }
}

impl fmt::Display for Style {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { dates, order, intervals, bytes, float_digits } = self;
        let dates = date_style_name((*dates, *order));
        let intervals = IntervalStyle::NAMES[*intervals as usize];
        let bytes = BytesStyle::NAMES[*bytes as usize];
        write!(f, "{dates}; {intervals}; {bytes}; {float_digits}")
    }
}

impl Conventions {
    /// Where sessions begin.
    pub const DEFAULT: Self = Self { zone: TimeZone::UTC, style: Style::DEFAULT };

    /// What the log keeps: a zone ([`TimeZone::kept_name`]), and behind a semicolon the style,
    /// where it is not the usual one.
    pub fn kept(self) -> String {
        let zone = self.zone.kept_name();
        match self.style == Style::DEFAULT {
            true => zone,
            false => format!("{zone}; {}", self.style),
        }
    }

    /// Of what the log has kept. None: this version has no such region or style.
    pub fn of_kept(kept: &str) -> Option<Self> {
        let (zone, style) = match kept.split_once("; ") {
            Some((zone, style)) => (zone, Some(style)),
            None => (kept, None),
        };
        let style = style.map_or(Some(Style::DEFAULT), |written| {
            let mut parts = written.splitn(4, "; ");
            let mut part = || parts.next().unwrap_or_default();
            let style = Style::of_settings(part(), part(), part(), part());
            (style.to_string() == written).then_some(style)
        })?;
        Some(Self { zone: TimeZone::of_kept_name(zone)?, style })
    }

    /// Those of what this thread computes.
    #[inline]
    pub fn current() -> Self {
        CURRENT.get()
    }

    /// Has what this thread computes be for a session with these.
    #[inline]
    pub fn enter(self) -> EnteredConventions {
        EnteredConventions { before: CURRENT.replace(self), here: PhantomData }
    }
}

thread_local! {
    static CURRENT: Cell<Conventions> = const { Cell::new(Conventions::DEFAULT) };
}

/// What this thread computes is for a session with those conventions, until this is dropped.
#[must_use = "they are left when this is dropped"]
#[derive(Debug)]
pub struct EnteredConventions {
    before: Conventions,
    /// not to leave its thread (I2)
    here: PhantomData<*const ()>,
}

impl Drop for EnteredConventions {
    #[inline]
    fn drop(&mut self) {
        CURRENT.set(self.before);
    }
}

#[cfg(test)]
mod tests;
