//! What an engine is to everybody else: a thing that starts, runs calls, and stops.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use hotrow_base::ids::WorkerId;

use crate::interactive::Interactive;
use crate::journal::Journal;
use crate::schema::SharedSchema;
use crate::source::{CallSource, OnCallers};
use crate::statistics::Statistics;
use crate::waits::{Awaited, Waited};

/// What an engine is given to run on.
#[derive(Clone)]
pub struct Ground {
    /// tables, procedures and granules; changed only at quiet points
    pub schema: Arc<SharedSchema>,
    /// where commits are told
    pub journal: Arc<Journal>,
}

/// How an engine is to run.
#[derive(Clone, Debug)]
pub struct EngineOptions {
    /// threads that run calls
    pub threads: usize,
    /// the first worker id the engine may use; it uses `threads` of them unless it says otherwise
    pub first_worker: WorkerId,
    /// pins threads to cores when there are at least as many cores
    pub pin_threads: bool,
    /// loop iterations and rows one call may visit before it is ended with an error
    pub step_budget: u64,
    /// calls a thread plans ahead, so that their cache misses overlap
    pub in_flight: usize,
    /// the engine's own settings, by name; an unknown one is refused
    pub settings: BTreeMap<String, String>,
    /// interactive transactions, for an engine that has its own
    pub interactive: InteractiveOptions,
    /// calls that run on their callers' threads, for an engine that has places for them
    pub on_callers: CallerOptions,
}

/// How calls are to run on their callers' threads.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct CallerOptions {
    /// how many can at a time; 0: none, all go to the engine's threads
    pub places: usize,
    /// the first worker id for them; they use `places`
    pub first_worker: WorkerId,
}

/// How interactive transactions are to run.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct InteractiveOptions {
    /// how many can be open at a time
    pub open_max: usize,
    /// the first worker id for them; they use `open_max`
    pub first_worker: WorkerId,
    /// how long one may be idle between two statements before it is ended; none: for ever
    pub idle_time_out: Option<Duration>,
    /// how long one may be idle, all in all, while others wait for what it holds; none: for ever
    pub awaited_time_out: Option<Duration>,
    /// changes that one may make
    pub changes_max: usize,
}

impl Default for EngineOptions {
    fn default() -> Self {
        Self {
            threads: 1,
            first_worker: WorkerId(1),
            pin_threads: true,
            step_budget: 10_000_000,
            in_flight: 8,
            settings: BTreeMap::new(),
            interactive: InteractiveOptions::default(),
            on_callers: CallerOptions::default(),
        }
    }
}

/// A setting that an engine does not know or cannot use.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum OptionError {
    /// no such setting
    #[error("engine {engine} has no setting \"{setting}\"; it has: {known}")]
    Unknown {
        /// the engine
        engine: &'static str,
        /// the setting
        setting: String,
        /// the ones it has
        known: &'static str,
    },
    /// no such value
    #[error("setting {setting} of engine {engine} cannot be \"{value}\"; it can be: {known}")]
    Value {
        /// the engine
        engine: &'static str,
        /// the setting
        setting: String,
        /// the value
        value: String,
        /// the ones it can have
        known: &'static str,
    },
    /// a thread count it cannot run with
    #[error("engine {engine} runs with {allowed} threads, not {threads}")]
    Threads {
        /// the engine
        engine: &'static str,
        /// the count asked for
        threads: usize,
        /// the counts it can run with
        allowed: &'static str,
    },
}

/// An engine that runs.
pub trait RunningEngine: Send + Sync {
    /// Its books, summed over its threads.
    fn statistics(&self) -> Statistics;

    /// The way to its own interactive transactions, if it locks as it goes and some may be open.
    fn interactive(&self) -> Option<Arc<dyn Interactive>> {
        None
    }

    /// The way to run calls on their callers' threads, if it has places for them.
    fn on_callers(&self) -> Option<Arc<dyn OnCallers>> {
        None
    }

    /// Who waited for whom since the start, the longest waits first; nothing where nobody waits.
    fn waits(&self) -> Vec<(Awaited, Waited)> {
        Vec::new()
    }

    /// What it has chosen by itself of how it works, and why, in a sentence; nothing where it does
    /// not choose.
    fn choice(&self) -> Option<String> {
        None
    }

    /// Calls a second that the engine's model expects of such calls as it has run since its start;
    /// nothing where it has no model, or has seen too few.
    fn expected_rate(&self) -> Option<f64> {
        None
    }

    /// Ends it: every call already fetched is finished, then the threads end. Sources are dropped.
    fn stop(self: Box<Self>) -> Statistics;
}

/// Starts an engine: one source of calls per thread (`options.threads` of them).
pub type Start = fn(
    Ground,
    &EngineOptions,
    Vec<Box<dyn CallSource>>,
) -> Result<Box<dyn RunningEngine>, OptionError>;

/// One row of the engine table.
#[derive(Clone, Copy)]
pub struct EngineEntry {
    /// its name, as options spell it
    pub name: &'static str,
    /// one line for `--help`
    pub summary: &'static str,
    /// how it starts
    pub start: Start,
    /// the settings in which tests and benchmarks run it, each `(setting, value)` lists
    pub variants: &'static [&'static [(&'static str, &'static str)]],
    /// the fewest threads it can run with
    pub threads_min: usize,
    /// the most threads it can use; none: any number
    pub threads_max: Option<usize>,
    /// whether it has interactive transactions of its own, whose statements hold what they touch;
    /// elsewhere they are run again when they commit ([`crate::interactive::Reruns`])
    pub locks_as_it_goes: bool,
    /// whether it has places for calls on their callers' threads
    pub runs_on_callers: bool,
    /// measurements of parts of it
    pub experiments: &'static [Experiment],
}

impl EngineEntry {
    /// The number of threads nearest to this one with which it can run.
    pub fn threads_near(&self, threads: usize) -> usize {
        threads.min(self.threads_max.unwrap_or(usize::MAX)).max(self.threads_min)
    }

    /// Whether it can run with so many threads.
    pub fn runs_with(&self, threads: usize) -> bool {
        threads >= self.threads_min && self.threads_max.is_none_or(|most| threads <= most)
    }
}

/// A measurement of one part of an engine, without tables or calls.
#[derive(Clone, Copy)]
pub struct Experiment {
    /// its name
    pub name: &'static str,
    /// one line for lists
    pub summary: &'static str,
    /// what [`Measured::x`] counts
    pub x_axis: &'static str,
    /// what [`Measured::value`] counts
    pub unit: Unit,
    /// takes seconds to minutes
    pub run: fn(&ExperimentOptions) -> Vec<Measured>,
}

/// What an experiment measures.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Unit {
    /// seconds that the transactions took
    Seconds,
    /// transactions a second
    Throughput,
}

/// The size of an experiment.
#[derive(Clone, Copy, Debug)]
pub struct ExperimentOptions {
    /// threads that work
    pub threads: usize,
    /// transactions of all threads together, for each point
    pub transactions: u64,
    /// what is random follows from it; each repetition has another one
    pub seed: u64,
}

/// A point of an experiment's figure.
#[derive(Clone, Copy, Debug)]
pub struct Measured {
    /// the settings it was measured with
    pub series: &'static str,
    /// where it stands on the x axis
    pub x: f64,
    /// what was measured, in the experiment's unit
    pub value: f64,
}
