//! How many calls a graph may have: the statistics manager's part of lads.txt.
//!
//! Role         one for all workers: the crew tells it how long a round took, and all of them how
//!              many calls each may take up in the next. A larger batch has fewer barriers per
//!              call, a smaller one is answered sooner and stays in the caches
//! Source       lads.txt 4.1 (statistics manager) and 5.6 (throughput and latency by batch size).
//!              The paper leaves open how the size is found; here it is what the last rounds' pace
//!              gives for half the latency wanted, since a call may come when a round has just
//!              begun

use std::time::Duration;

use crate::pace::Pace;

/// The fewest calls that a batch is made for.
const BATCH_MIN: usize = 16;

/// The most calls there may be, and the pace of rounds lately.
#[derive(Clone, Copy, Debug)]
pub struct BatchSize {
    max: usize,
    round: Option<Duration>,
    pace: Pace,
}

impl BatchSize {
    /// At most `max` calls, and if a latency is wanted, no more than can be answered within it.
    pub fn new(max: usize, latency: Option<Duration>) -> Self {
        Self { max, round: latency.map(|latency| latency / 2), pace: Pace::default() }
    }

    /// How many calls the next graph may have.
    pub fn calls(&self) -> usize {
        match (self.round, self.pace.nanos()) {
            (Some(round), Some(pace)) => {
                let fitting = round.as_nanos() as f64 / pace;
                (fitting as usize).clamp(BATCH_MIN.min(self.max), self.max)
            }
            (Some(_), None) => BATCH_MIN.min(self.max),
            (None, _) => self.max,
        }
    }

    /// A round took so long in which the largest graph had so many calls. Small ones tell nothing
    /// of the pace.
    pub fn took(&mut self, calls: usize, nanos: u64) {
        if calls * 2 < self.calls() {
            return;
        }
        self.pace.note(calls, nanos);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_size_follows_the_pace() {
        let mut size = BatchSize::new(5_000, Some(Duration::from_millis(2)));
        assert_eq!(size.calls(), BATCH_MIN);
        for pace in [10_000, 1_000, 100] {
            for _ in 0..40 {
                let calls = size.calls();
                size.took(calls, calls as u64 * pace);
            }
            let expected = (1_000_000 / pace as usize).min(5_000);
            let off = size.calls().abs_diff(expected);
            assert!(off * 50 <= expected, "{} for {expected}", size.calls());
        }
        let before = size.calls();
        size.took(3, 1_000_000);
        assert_eq!(size.calls(), before, "few calls tell nothing");
    }

    #[test]
    fn without_a_latency_it_is_the_most() {
        let mut size = BatchSize::new(700, None);
        size.took(700, 1 << 40);
        assert_eq!(size.calls(), 700);
        assert_eq!(BatchSize::new(3, Some(Duration::from_secs(1))).calls(), 3);
    }
}
