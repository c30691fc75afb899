//! Pace: what calls take, by the last rounds.

/// The share of the last round in what is known.
const WEIGHT: f64 = 0.25;

/// Nanoseconds per call, of which the last rounds count most; nothing before the first one.
#[derive(Clone, Copy, Default, Debug)]
pub struct Pace(Option<f64>);

impl Pace {
    /// A round of so many calls took so long.
    pub fn note(&mut self, calls: usize, nanos: u64) {
        let own = nanos.max(1) as f64 / calls.max(1) as f64;
        let known = self.0.unwrap_or(own);
        self.0 = Some(known + WEIGHT * (own - known));
    }

    /// Nanoseconds per call; none: nobody knows.
    pub const fn nanos(self) -> Option<f64> {
        self.0
    }
}
