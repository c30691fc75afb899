//! The engine's settings.

use std::time::Duration;

use hotrow_engine::contract::{EngineOptions, OptionError};
use hotrow_engine::settings::{Choices, Known, choose, number};
use hotrow_flow::datasets::Spread;

use crate::NAME;
use crate::plans::Plans;
use crate::protocol::Enqueue;

/// When a call asks for its locks.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum Locks {
    /// all with its first round: nobody waits in a circle
    #[default]
    Call,
    /// with the first round that needs them, as in the paper
    Phase,
}

/// All settings.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Settings {
    /// ranges of each table: its executors
    pub executors: u16,
    /// how they are spread over threads
    pub spread: Spread,
    /// whether a call's halls run side by side
    pub plans: Plans,
    /// how locks are asked for
    pub enqueue: Enqueue,
    /// when
    pub locks: Locks,
    /// whether inserts and deletes lock slots of rows in a table that all threads share, as in the
    /// paper (4.2.1)
    pub locks_slots: bool,
    /// datasets move from busy threads to idle ones
    pub rebalances: bool,
    /// calls that each thread has on their way at most
    pub in_flight: usize,
    /// how long each message to another thread is on its way, as if threads were far apart
    pub delay: Option<Duration>,
}

const KNOWN: Known = Known {
    engine: NAME,
    names: "delay_us, enqueue, executors, in_flight, locks, plans, rebalance, slots, spread",
};
const EXECUTORS_MAX: u16 = 64;
const EXECUTORS: &str = "a whole number from 1 to 64";
/// Calls wait for messages, not for a thread: more of them are on their way than it can run.
const IN_FLIGHT_USUAL: usize = 32;
const IN_FLIGHT_MAX: usize = 4096;
const IN_FLIGHT: &str = "a whole number from 1 to 4096";
const DELAY_MAX: u64 = 1_000_000;
const DELAYS: &str = "a whole number of microseconds from 0 to 1000000";
const SPREADS: Choices<Spread> =
    (&[("ranges", Spread::Ranges), ("tables", Spread::Tables)], "ranges, tables");
const ENQUEUES: Choices<Enqueue> =
    (&[("forwarded", Enqueue::Forwarded), ("latched", Enqueue::Latched)], "forwarded, latched");
const LOCKS: Choices<Locks> = (&[("call", Locks::Call), ("phase", Locks::Phase)], "call, phase");
const SLOTS: Choices<bool> = (&[("free", false), ("locked", true)], "free, locked");
const SWITCHES: Choices<bool> = (&[("off", false), ("on", true)], "off, on");
const PLANS: Choices<Plans> = (
    &[("chosen", Plans::Chosen), ("parallel", Plans::Parallel), ("sequential", Plans::Sequential)],
    "chosen, parallel, sequential",
);
/// Executors a table for each thread, where they move: so many can be dealt out evenly.
const EXECUTORS_TO_MOVE: u16 = 8;

impl Settings {
    /// Reads settings: as many executors a table as threads, unless told otherwise.
    ///
    /// # Errors
    ///
    /// An unknown setting or value.
    pub fn read(options: &EngineOptions) -> Result<Self, OptionError> {
        let mut executors = None;
        let mut read = Self {
            executors: 1,
            spread: Spread::default(),
            plans: Plans::default(),
            enqueue: Enqueue::default(),
            locks: Locks::default(),
            locks_slots: false,
            rebalances: false,
            in_flight: IN_FLIGHT_USUAL,
            delay: None,
        };
        KNOWN.read(&options.settings, |setting, value| {
            Some(match setting {
                "executors" => number(value, (1..=EXECUTORS_MAX, EXECUTORS))
                    .map(|number| executors = Some(number)),
                "spread" => choose(&mut read.spread, value, SPREADS),
                "plans" => choose(&mut read.plans, value, PLANS),
                "enqueue" => choose(&mut read.enqueue, value, ENQUEUES),
                "locks" => choose(&mut read.locks, value, LOCKS),
                "slots" => choose(&mut read.locks_slots, value, SLOTS),
                "rebalance" => choose(&mut read.rebalances, value, SWITCHES),
                "in_flight" => number(value, (1..=IN_FLIGHT_MAX, IN_FLIGHT))
                    .map(|number| read.in_flight = number),
                "delay_us" => number(value, (0..=DELAY_MAX, DELAYS)).map(|micros| {
                    read.delay = (micros > 0).then(|| Duration::from_micros(micros));
                }),
                _ => return None,
            })
        })?;
        if read.enqueue == Enqueue::Latched && read.delay.is_some() {
            let known = "0 with enqueue=latched: whoever latches another thread's queue is not far \
                         from it";
            return Err(KNOWN.refused(&options.settings, "delay_us", known));
        }
        let each = if read.rebalances { EXECUTORS_TO_MOVE } else { 1 };
        let usual = options.threads.saturating_mul(each.into()).clamp(1, EXECUTORS_MAX.into());
        read.executors = executors.unwrap_or(usual as u16);
        Ok(read)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(threads: usize, settings: &[(&str, &str)]) -> Result<Settings, String> {
        let settings = settings.iter().map(|&(name, value)| (name.to_owned(), value.to_owned()));
        let settings = settings.collect();
        let options = EngineOptions { threads, settings, ..EngineOptions::default() };
        Settings::read(&options).map_err(|error| error.to_string())
    }

    #[test]
    fn executors_follow_threads_unless_told_otherwise() {
        let executors =
            |threads, settings: &[_]| read(threads, settings).expect("they are known").executors;
        assert_eq!(executors(2, &[]), 2);
        assert_eq!(executors(2, &[("rebalance", "on")]), 16, "some to be moved");
        assert_eq!(executors(2, &[("rebalance", "on"), ("executors", "3")]), 3);
        assert_eq!(executors(1_000, &[]), 64, "no more than there can be");
    }

    #[test]
    fn what_is_not_known_is_refused_with_what_is() {
        let all = [
            ("executors", "0", "1 to 64"),
            ("executors", "many", "1 to 64"),
            ("spread", "rows", "ranges, tables"),
            ("plans", "", "chosen, parallel, sequential"),
            ("enqueue", "both", "forwarded, latched"),
            ("locks", "row", "call, phase"),
            ("rebalance", "yes", "off, on"),
            ("slots", "mine", "free, locked"),
            ("in_flight", "5000", "1 to 4096"),
            ("delay_us", "-1", "0 to 1000000"),
            ("queues", "4", "enqueue, executors"),
        ];
        for (setting, value, known) in all {
            let refused = read(2, &[(setting, value)]).expect_err("it is not known");
            assert!(refused.contains(setting) && refused.contains(known), "{refused}");
        }
        let far = read(2, &[("enqueue", "latched"), ("delay_us", "40")]).expect_err("it is not");
        assert!(far.contains("delay_us") && far.contains("enqueue=latched"), "{far}");
    }
}
