//! The engine's settings.

use std::time::Duration;

use hotrow_engine::contract::{EngineOptions, OptionError};
use hotrow_engine::settings::{Known, number};

use crate::NAME;

/// How a graph is dealt out to workers.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum Partitioning {
    /// by key range, then repaired: queues move to where most of their edges lead
    #[default]
    Repaired,
    /// by key range alone
    Keys,
    /// by the hash of granules
    Hash,
    /// by METIS, to see what the greedy repair gives away; it takes longer than running the graph
    #[cfg(feature = "metis")]
    Metis,
}

impl Partitioning {
    /// Whether neighbouring keys are with one worker.
    pub const fn is_by_range(self) -> bool {
        matches!(self, Self::Keys | Self::Repaired)
    }

    /// Whether it looks at edges.
    pub const fn needs_edges(self) -> bool {
        !matches!(self, Self::Keys | Self::Hash)
    }
}

/// How calls are run of which one worker has all granules.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum LocalCalls {
    /// as one action each: what leads from action to action would stay with the worker anyway
    #[default]
    Whole,
    /// as record actions, as all others: as in the paper
    Cut,
}

/// All settings.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Settings {
    /// the most calls of one graph
    pub batch: usize,
    /// in which time calls shall be answered, if the load allows it; none: batches are as large as
    /// they may be
    pub latency: Option<Duration>,
    /// see [`Partitioning`]
    pub partitioning: Partitioning,
    /// see [`LocalCalls`]
    pub local_calls: LocalCalls,
}

const KNOWN: Known = Known { engine: NAME, names: "batch, latency_us, partitioning, local_calls" };
const BATCH_MAX: usize = 100_000;
const BATCH: &str = "a whole number from 1 to 100000";
const LATENCY: &str = "a whole number of microseconds; 0: it does not matter";
const LOCAL_CALLS: &str = "whole, cut";
const PARTITIONING: &str = match cfg!(feature = "metis") {
    true => "repaired, keys, hash, metis",
    false => "repaired, keys, hash (and metis, if built with that feature)",
};

impl Default for Settings {
    fn default() -> Self {
        let latency = Some(Duration::from_millis(4));
        let (partitioning, local_calls) = Default::default();
        Self { batch: 5_000, latency, partitioning, local_calls }
    }
}

impl Settings {
    /// Reads settings.
    ///
    /// # Errors
    ///
    /// An unknown setting or value.
    pub fn read(options: &EngineOptions) -> Result<Self, OptionError> {
        let mut read = Self::default();
        KNOWN.read(&options.settings, |setting, value| {
            Some(match (setting, value) {
                ("batch", _) => {
                    number(value, (1..=BATCH_MAX, BATCH)).map(|number| read.batch = number)
                }
                ("latency_us", _) => {
                    let micros = value.parse().map(Duration::from_micros).ok();
                    let latency = micros.map(|micros| (!micros.is_zero()).then_some(micros));
                    latency.map(|latency| read.latency = latency).ok_or(LATENCY)
                }
                ("partitioning", _) => {
                    let found = match value {
                        "repaired" => Some(Partitioning::Repaired),
                        "keys" => Some(Partitioning::Keys),
                        "hash" => Some(Partitioning::Hash),
                        #[cfg(feature = "metis")]
                        "metis" => Some(Partitioning::Metis),
                        _ => None,
                    };
                    found.map(|found| read.partitioning = found).ok_or(PARTITIONING)
                }
                ("local_calls", _) => {
                    let found = match value {
                        "whole" => Some(LocalCalls::Whole),
                        "cut" => Some(LocalCalls::Cut),
                        _ => None,
                    };
                    found.map(|found| read.local_calls = found).ok_or(LOCAL_CALLS)
                }
                _ => return None,
            })
        })?;
        Ok(read)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(settings: &[(&str, &str)]) -> Result<Settings, String> {
        let owned = |&(name, value): &(&str, &str)| (name.to_owned(), value.to_owned());
        let settings = settings.iter().map(owned).collect();
        let options = EngineOptions { settings, ..EngineOptions::default() };
        Settings::read(&options).map_err(|error| error.to_string())
    }

    #[test]
    fn what_is_not_told_has_a_default() {
        let known = read(&[]).expect("nothing is wrong");
        assert_eq!((known.batch, known.partitioning), (5_000, Partitioning::Repaired));
        assert_eq!(known.local_calls, LocalCalls::Whole);
        let told = [("batch", "100"), ("partitioning", "hash"), ("latency_us", "70")];
        let told = read(&[&told[..], &[("local_calls", "cut")]].concat());
        let latency = Some(Duration::from_micros(70));
        let (partitioning, local_calls) = (Partitioning::Hash, LocalCalls::Cut);
        let expected = Settings { batch: 100, latency, partitioning, local_calls };
        assert_eq!(told, Ok(expected));
        assert_eq!(read(&[("latency_us", "0")]).map(|read| read.latency), Ok(None));
    }

    #[test]
    fn what_is_not_known_is_refused() {
        for wrong in ["0", "100001", "many"] {
            let text = read(&[("batch", wrong)]).expect_err("no such number");
            assert!(text.contains(BATCH), "{text}");
        }
        assert!(read(&[("latency_us", "-1")]).is_err_and(|text| text.contains(LATENCY)));
        let text = read(&[("partitioning", "x")]).expect_err("no such way");
        assert!(text.contains(PARTITIONING), "{text}");
        let text = read(&[("local_calls", "x")]).expect_err("neither");
        assert!(text.contains(LOCAL_CALLS), "{text}");
        assert!(read(&[("colour", "red")]).expect_err("unknown").contains(KNOWN.names));
    }
}
