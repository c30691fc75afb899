//! Company: whether rounds are for all workers, or for one of them alone.
//!
//! Role         a round of all takes four barriers, and waking whoever sleeps at one; where it has
//!              a few calls, that is longer than running them. Where all sources hand out the same
//!              calls, one worker does such rounds alone, and the others sleep until they are
//!              called
//! Source       none: the paper's batches always have work for everybody
//!
//! Measured: 16 clients that transfer through one account over the wire, two cores: 9,000 calls a
//! second with two workers in each round, 25,000 with one.

use std::time::Duration;

use crate::pace::Pace;

/// The fewest calls of a round that tells something of the pace.
const CALLS_MIN: usize = 8;
/// Rounds of all after which it is known whether they are faster.
const TRIAL: u32 = 16;
/// Rounds alone after which all are tried again, though they were slower: seconds.
const ROUNDS_PER_TRIAL: u32 = 1 << 11;
/// Part of the wanted latency that a round may take which one worker does alone. In debug builds
/// little, so that tests change to and fro.
const PARTS: u32 = if cfg!(debug_assertions) { 128 } else { 2 };

/// Whether rounds are for one worker, for how long now, and the pace of both ways.
#[derive(Clone, Copy, Debug)]
pub struct Company {
    /// the longest round for one worker, in ns; none: rounds are for all
    small: Option<f64>,
    is_alone: bool,
    /// since that changed
    rounds: u32,
    /// of one worker, and of all together
    alone: Pace,
    together: Pace,
}

impl Company {
    /// `shares_calls`: one worker may take any call. `latency`: see
    /// [`Settings`](crate::options::Settings); where none is wanted, rounds are for all.
    pub fn new(workers: usize, shares_calls: bool, latency: Option<Duration>) -> Self {
        let may_be_alone = workers > 1 && shares_calls;
        let small = latency.filter(|_| may_be_alone);
        let small = small.map(|latency| (latency / PARTS).as_nanos() as f64);
        let (alone, together) = Default::default();
        Self { small, is_alone: small.is_some(), rounds: 0, alone, together }
    }

    /// Whether the next round is for one worker.
    pub fn is_alone(&self) -> bool {
        self.is_alone
    }

    /// The last round had so many calls, and took so long.
    pub fn took(&mut self, calls: usize, nanos: u64) {
        let Some(small) = self.small else { return };
        if calls >= CALLS_MIN {
            let pace = if self.is_alone { &mut self.alone } else { &mut self.together };
            pace.note(calls, nanos);
        }
        self.rounds += 1;
        let nanos = nanos.max(1) as f64;
        let were_slower =
            self.alone.nanos().is_some_and(|alone| self.together.nanos() > Some(alone));
        let is_alone = match self.is_alone {
            true => nanos < small || were_slower && self.rounds < ROUNDS_PER_TRIAL,
            false => {
                let alone = self.alone.nanos().map_or(nanos, |pace| pace * calls as f64);
                alone * 2.0 < small || were_slower && self.rounds >= TRIAL
            }
        };
        if is_alone != self.is_alone {
            (self.is_alone, self.rounds) = (is_alone, 0);
            if !is_alone {
                self.together = Pace::default(); // it may have changed
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LATENCY: Duration = Duration::from_micros(PARTS as u64 * 1000); // 1 ms is small

    fn company() -> Company {
        Company::new(4, true, Some(LATENCY))
    }

    /// Rounds of so many calls; how many of them one worker did. `alone`, `together`: ns per call.
    fn rounds(company: &mut Company, count: u32, calls: usize, alone: u64, together: u64) -> u32 {
        (0..count).fold(0, |lonely, _| {
            let is_alone = company.is_alone();
            let pace = if is_alone { alone } else { together };
            company.took(calls, calls as u64 * pace);
            lonely + u32::from(is_alone)
        })
    }

    #[test]
    fn few_calls_are_for_one_and_many_for_all() {
        let mut company = company();
        assert_eq!(rounds(&mut company, 100, 20, 10_000, 90_000), 100, "200 us");
        assert_eq!(rounds(&mut company, 100, 200, 10_000, 3_000), 1, "2 ms, and all are faster");
        assert_eq!(rounds(&mut company, 100, 60, 10_000, 3_000), 0, "600 us: as it was");
        assert_eq!(rounds(&mut company, 100, 20, 10_000, 3_000), 99, "200 us");
    }

    #[test]
    fn all_are_tried_again_though_they_were_slower() {
        let mut company = company();
        let (count, of) = (10 * ROUNDS_PER_TRIAL, ROUNDS_PER_TRIAL + TRIAL);
        let together = count - rounds(&mut company, count, 200, 10_000, 20_000);
        assert!((9..=11).contains(&(together / TRIAL)), "{together}");
        let lonely = rounds(&mut company, 2 * of, 200, 10_000, 5_000);
        assert!(lonely <= ROUNDS_PER_TRIAL, "{lonely}: they have become faster");
    }

    #[test]
    fn nobody_is_alone_who_may_not() {
        for company in [
            Company::new(1, true, Some(LATENCY)),
            Company::new(2, false, Some(LATENCY)),
            Company::new(2, true, None),
        ] {
            let mut company = company;
            assert_eq!(rounds(&mut company, 50, 1, 1000, 1000), 0);
        }
    }
}
