//! The engine's settings.

use std::time::Duration;

use hotrow_engine::contract::{EngineOptions, OptionError};
use hotrow_engine::settings::Known;

use crate::NAME;
use crate::layout::Spread;
use crate::plans::Plans;

/// All settings.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Settings {
    /// ranges of each table: its executors
    pub executors: u16,
    /// how they are spread over threads
    pub spread: Spread,
    /// whether a call's halls run side by side
    pub plans: Plans,
    /// calls that each thread has on their way at most
    pub in_flight: usize,
    /// how long each message to another thread is on its way, as if threads were far apart
    pub delay: Option<Duration>,
}

const KNOWN: Known = Known { engine: NAME, names: "delay_us, executors, in_flight, plans, spread" };
const EXECUTORS_MAX: u16 = 64;
const EXECUTORS: &str = "a whole number from 1 to 64";
/// Calls wait for messages, not for a thread: more of them are on their way than it can run.
const IN_FLIGHT_USUAL: usize = 32;
const IN_FLIGHT_MAX: usize = 4096;
const IN_FLIGHT: &str = "a whole number from 1 to 4096";
const DELAY_MAX: u64 = 1_000_000;
const DELAYS: &str = "a whole number of microseconds from 0 to 1000000";
const SPREADS: [(&str, Spread); 2] = [("ranges", Spread::Ranges), ("tables", Spread::Tables)];
const PLANS: [(&str, Plans); 3] =
    [("chosen", Plans::Chosen), ("parallel", Plans::Parallel), ("sequential", Plans::Sequential)];

impl Settings {
    /// Reads settings: as many executors a table as threads, unless told otherwise.
    ///
    /// # Errors
    ///
    /// An unknown setting or value.
    pub fn read(options: &EngineOptions) -> Result<Self, OptionError> {
        let executors = options.threads.clamp(1, EXECUTORS_MAX.into()) as u16;
        let (spread, plans) = (Spread::default(), Plans::default());
        let mut read = Self { executors, spread, plans, in_flight: IN_FLIGHT_USUAL, delay: None };
        KNOWN.read(&options.settings, |setting, value| {
            Some(match (setting, value) {
                ("executors", _) => {
                    let number = value.parse().ok();
                    let fits = number.filter(|number| (1..=EXECUTORS_MAX).contains(number));
                    fits.map(|number| read.executors = number).ok_or(EXECUTORS)
                }
                ("spread", name) => {
                    let known = SPREADS.iter().find(|(known, _)| *known == name);
                    known.map(|&(_, spread)| read.spread = spread).ok_or("ranges, tables")
                }
                ("plans", name) => {
                    let known = PLANS.iter().find(|(known, _)| *known == name);
                    known
                        .map(|&(_, plans)| read.plans = plans)
                        .ok_or("chosen, parallel, sequential")
                }
                ("in_flight", _) => {
                    let number = value.parse().ok();
                    let fits = number.filter(|number| (1..=IN_FLIGHT_MAX).contains(number));
                    fits.map(|number| read.in_flight = number).ok_or(IN_FLIGHT)
                }
                ("delay_us", _) => {
                    let micros = value.parse().ok().filter(|&micros| micros <= DELAY_MAX);
                    let delay = micros.filter(|&micros| micros > 0).map(Duration::from_micros);
                    micros.map(|_| read.delay = delay).ok_or(DELAYS)
                }
                _ => return None,
            })
        })?;
        Ok(read)
    }
}
