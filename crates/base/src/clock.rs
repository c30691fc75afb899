//! Time stamps of a few nanoseconds' cost, for intervals and deadlines.
//!
//! Role         everything that measures a latency or waits for a deadline; and, apart from that,
//!              the time of day that `now()` gives
//! Invariants   I1  an interval is never negative: stamps of two cores that disagree give 0
//! Source       the processor's invariant counter through `quanta`, and the system's monotonic
//!              clock where there is none

#[cfg(all(test, not(loom)))]
mod tests;

#[cfg(hotrow_machine)]
use machine::Clock;
#[cfg(not(hotrow_machine))]
use quanta::Clock;
use std::sync::LazyLock;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

static CLOCK: LazyLock<Scale> = LazyLock::new(Scale::measure);

/// Calibrates the counter, which takes up to 200 ms, so that no later stamp waits for it. Called
/// once when a program starts; without it the first [`Ticks::now`] pays.
pub fn calibrate() {
    LazyLock::force(&CLOCK);
}

/// The time of day as a timestamptz: microseconds since 2000-01-01 UTC, by the system's clock,
/// which may be set back.
pub fn now_us() -> i64 {
    const EPOCH_SECONDS: i64 = 946_684_800; // from 1970 to 2000
    #[cfg(hotrow_machine)]
    if let Some(ns) = hotrow_machine::hook::now_ns() {
        return ns as i64 / 1_000; // the same in each run
    }
    let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    since_1970.as_micros() as i64 - EPOCH_SECONDS * 1_000_000
}

/// A point in time: a reading of the processor's counter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Ticks(u64);

impl Ticks {
    /// The present.
    #[inline]
    pub fn now() -> Self {
        Self(CLOCK.clock.raw())
    }

    /// Nanoseconds from `earlier` to `self`; 0 when `earlier` is later.
    #[inline]
    pub fn nanos_since(self, earlier: Self) -> u64 {
        CLOCK.clock.delta_as_nanos(earlier.0, self.0)
    }

    /// Ticks from `earlier` to `self`, for whoever sums many spans and converts the sum; 0 when
    /// `earlier` is later.
    #[inline]
    pub fn ticks_since(self, earlier: Self) -> u64 {
        self.0.saturating_sub(earlier.0)
    }

    /// Nanoseconds that a number of ticks take.
    pub fn nanos_of(ticks: u64) -> u64 {
        CLOCK.clock.delta_as_nanos(0, ticks)
    }

    /// Nanoseconds from `self` to now.
    #[inline]
    pub fn elapsed_nanos(self) -> u64 {
        Self::now().nanos_since(self)
    }

    /// Time from `self` to now.
    #[inline]
    pub fn elapsed(self) -> Duration {
        Duration::from_nanos(self.elapsed_nanos())
    }

    /// Time left until `self`, a deadline; zero when it has passed.
    #[inline]
    pub fn remaining(self) -> Duration {
        Duration::from_nanos(self.nanos_since(Self::now()))
    }

    /// Whether `self`, a deadline, has passed.
    #[inline]
    pub fn has_passed(self) -> bool {
        Self::now() >= self
    }

    /// The point `span` after `self`; the last representable one if that is too far.
    #[inline]
    #[must_use]
    pub fn after(self, span: Duration) -> Self {
        Self(self.0.saturating_add(CLOCK.ticks(span)))
    }

    /// As a number, for an atomic word.
    pub(crate) fn to_word(self) -> u64 {
        self.0
    }

    /// The reverse of [`Ticks::to_word`].
    pub(crate) fn from_word(word: u64) -> Self {
        Self(word)
    }

    /// The deadline `span` from now.
    #[inline]
    pub fn from_now(span: Duration) -> Self {
        Self::now().after(span)
    }
}

/// The counter, and its rate in the direction quanta does not offer.
struct Scale {
    clock: Clock,
    /// Nanoseconds that [`SAMPLE_TICKS`] take.
    sample_nanos: u64,
}

/// 2^30 ticks are about 0.36 s at 3 GHz: the rate is exact to some 3e-9, as quanta's own.
const SAMPLE_TICKS: u64 = 1 << 30;

impl Scale {
    fn measure() -> Self {
        let clock = Clock::new();
        let sample_nanos = clock.delta_as_nanos(0, SAMPLE_TICKS).max(1);
        Self { clock, sample_nanos }
    }

    fn ticks(&self, span: Duration) -> u64 {
        let ticks = span.as_nanos().saturating_mul(u128::from(SAMPLE_TICKS))
            / u128::from(self.sample_nanos);
        u64::try_from(ticks).unwrap_or(u64::MAX)
    }
}

/// A clock that the virtual machine sets, whose ticks are nanoseconds.
#[cfg(hotrow_machine)]
mod machine {
    use std::sync::LazyLock;
    use std::time::Instant;

    static STARTED: LazyLock<Instant> = LazyLock::new(Instant::now);

    pub(super) struct Clock;

    impl Clock {
        pub(super) fn new() -> Self {
            Self
        }

        pub(super) fn raw(&self) -> u64 {
            let real = || STARTED.elapsed().as_nanos() as u64;
            hotrow_machine::hook::now_ns().unwrap_or_else(real)
        }

        pub(super) fn delta_as_nanos(&self, from: u64, to: u64) -> u64 {
            to.saturating_sub(from)
        }
    }
}
