//! The ranges of dates and timestamps, and the infinities beyond them.

/// What a date of PostgreSQL may be, in days since 2000-01-01: 4714-11-24 BC to 5874897-12-31.
const DATES: std::ops::RangeInclusive<i64> = -2_451_545..=2_145_031_948;
/// What a timestamp may be, in microseconds since 2000-01-01: 4714-11-24 BC to the end of the
/// year 294276.
pub(super) const TIMESTAMPS: std::ops::Range<i64> =
    -211_813_488_000_000_000..9_223_371_331_200_000_000;

/// `infinity` as a date: later than all others.
pub const DATE_INFINITY: i32 = i32::MAX;
/// `-infinity` as a date: earlier than all others.
pub const DATE_MINUS_INFINITY: i32 = i32::MIN;
/// `infinity` as a timestamp: later than all others.
pub const TIMESTAMP_INFINITY: i64 = i64::MAX;
/// `-infinity` as a timestamp: earlier than all others.
pub const TIMESTAMP_MINUS_INFINITY: i64 = i64::MIN;

/// Days since 2000-01-01 as a date, if there is such a one.
pub fn date_in_range(days: i64) -> Option<i32> {
    DATES.contains(&days).then_some(days as i32)
}

/// Microseconds since 2000-01-01 as a timestamp, if there is such a one.
pub fn timestamp_in_range(micros: i64) -> Option<i64> {
    TIMESTAMPS.contains(&micros).then_some(micros)
}

/// Whether a date is neither infinity nor -infinity.
pub const fn is_finite_date(days: i32) -> bool {
    days != DATE_INFINITY && days != DATE_MINUS_INFINITY
}

/// Whether a timestamp is neither infinity nor -infinity.
pub const fn is_finite_timestamp(micros: i64) -> bool {
    micros != TIMESTAMP_INFINITY && micros != TIMESTAMP_MINUS_INFINITY
}
