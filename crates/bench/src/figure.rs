//! Figures of the papers, as data: what to run, and what the paper shows.
//!
//! Role         the command line lists and runs them; a new figure is a new entry of
//!              `figures.toml`, which is part of the program. Engines stand there in the form that
//!              [`select_engines`] reads, so that none is named in code
//! Invariants   I1 the file is right: a test reads it and runs every figure, scaled down
//!              I2 the claims of each figure fit it (`expect`)

mod cores;
mod document;
mod draw;
mod expect;
mod experiment;
mod page;
mod prediction;
mod quick;
mod report;
mod run;
mod scale;
pub(crate) mod statistics;
mod verdict;

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

pub use cores::Cores;
pub use document::{Record, RecordedClaim, Records, RecordsByCores, document};
pub(crate) use draw::colour;
pub use draw::write_svg;
pub use expect::{Expect, Names, Place, Scale, Way};
pub use page::{Evidence, EvidenceByFigure, PageHead, write_page};
pub use report::{
    FigureReport, Panel, Point, write_csv, write_figure, write_figure_json, write_verdicts,
};
pub use run::FigureRunner;
pub use scale::AtScale;
pub use verdict::{ClaimReport, Comparison, Outcome, REPEATS_MIN, Verdict};

use hotrow::LockKind;

use crate::error::BenchError;
use crate::report::RunReport;
use crate::selection::{Variant, select_engines};

const FILE: &str = include_str!("../figures.toml");

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    figure: Vec<Figure>,
}

/// An experiment of a paper.
#[derive(Clone, Default, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Figure {
    /// its name on the command line
    pub name: String,
    /// where it stands in which paper
    pub source: String,
    /// what is measured
    pub title: String,
    /// what the paper shows
    pub claim: String,
    /// what of it to look at here
    pub look: String,
    /// the workload's name; none: an experiment is run instead
    #[serde(default)]
    pub workload: Option<String>,
    /// an experiment that an engine lists: it has its own series and values of x
    #[serde(default)]
    pub experiment: Option<Part>,
    /// its parameters
    #[serde(default)]
    pub set: BTreeMap<String, Setting>,
    /// a run takes so many seconds at least, whatever is asked for: what is measured takes time
    #[serde(default)]
    pub seconds_min: f64,
    /// parameters that the size multiplies
    #[serde(default)]
    pub scaled: Vec<String>,
    /// what varies from left to right
    #[serde(default)]
    pub x: Axis,
    /// the engine's threads, a panel for each; none where they are what varies
    #[serde(default)]
    pub threads: Vec<usize>,
    /// the log device; none: nothing is logged
    pub log: Option<LogDevice>,
    /// a table whose changes are recorded and drawn, thread by thread
    #[serde(default)]
    pub watched: Option<String>,
    /// what is read off each run
    pub show: Vec<Metric>,
    /// what is compared
    #[serde(default)]
    pub series: Vec<Series>,
    /// what is otherwise on a virtual machine with the paper's cores
    #[serde(default)]
    pub at_scale: AtScale,
    /// what the paper claims, in a form that can be checked
    #[serde(default)]
    pub expect: Vec<Expect>,
}

/// A part of an engine that is measured alone.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Part {
    /// the experiment's name
    pub name: String,
    /// transactions of all threads together, for each point; the size multiplies them
    pub transactions: u64,
}

/// A value of a parameter: as text it is what the workload reads.
#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(untagged)]
pub enum Setting {
    /// yes or no
    Flag(bool),
    /// a whole number
    Integer(u64),
    /// a number
    Float(f64),
    /// anything else
    Text(String),
}

impl fmt::Display for Setting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Flag(value) => write!(f, "{value}"),
            Self::Integer(value) => write!(f, "{value}"),
            Self::Float(value) => write!(f, "{value}"),
            Self::Text(value) => f.write_str(value),
        }
    }
}

/// The log device of a figure whose calls are durable.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct LogDevice {
    /// microseconds that a sync takes longer than the disk's own
    pub sync_delay_us: u64,
    /// calls of all threads together that may wait to be durable
    pub in_flight: usize,
}

/// What varies from left to right.
#[derive(Clone, Default, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Axis {
    /// what a value of the axis is
    pub by: Varying,
    /// in words
    pub label: String,
    /// its values, from left to right
    pub values: Vec<Setting>,
    /// where it is time: the workload's parameters at each of its values
    #[serde(default)]
    pub steps: Vec<BTreeMap<String, Setting>>,
}

/// What a value of an axis is.
#[derive(Clone, PartialEq, Eq, Default, Debug, Deserialize)]
#[serde(try_from = "String")]
pub enum Varying {
    /// what an experiment varies by itself
    #[default]
    Own,
    /// the engine's threads
    Threads,
    /// clients that call through sessions
    Clients,
    /// a parameter of the workload
    Parameter(String),
    /// a setting of all series' engines
    Option(String),
    /// steps of a workload that changes while the engine runs
    Time,
}

impl TryFrom<String> for Varying {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        match text.as_str() {
            "threads" => Ok(Self::Threads),
            "clients" => Ok(Self::Clients),
            "time" => Ok(Self::Time),
            _ => match text.split_once('.') {
                Some(("set", name)) => Ok(Self::Parameter(name.to_owned())),
                Some(("engine", name)) => Ok(Self::Option(name.to_owned())),
                _ => {
                    let known = "threads, clients, time, set.NAME, engine.NAME";
                    Err(format!("\"{text}\" is none of {known}"))
                }
            },
        }
    }
}

/// One line of a figure.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Series {
    /// what it is called
    pub label: String,
    /// the engine and its settings, as the command line has them
    pub engine: String,
    /// parameters of the workload that this series changes
    #[serde(default)]
    pub set: BTreeMap<String, Setting>,
    /// the engine's threads, where they are others than the panel's
    pub threads: Option<usize>,
    /// threads that the engine has besides those of the panel or the axis
    #[serde(default)]
    pub more_threads: usize,
    /// parts that indexes are split into, where they can be
    #[serde(default = "whole")]
    pub split: u16,
    /// nothing is logged, though the figure has a log
    #[serde(default)]
    pub in_memory: bool,
}

const fn whole() -> u16 {
    1
}

impl Series {
    /// The engine with its settings.
    ///
    /// # Errors
    ///
    /// [`BenchError::Selection`].
    pub fn variant(&self) -> Result<Variant, BenchError> {
        let mut variants = select_engines(&self.engine)?;
        match (variants.pop(), variants.is_empty()) {
            (Some(variant), true) => Ok(variant),
            _ => Err(BenchError::Selection(format!("\"{}\" is not one engine", self.engine))),
        }
    }
}

/// What is read off a run.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize, Serialize)]
pub enum Metric {
    /// committed calls per second
    #[serde(rename = "txn/s")]
    Throughput,
    /// times a call was undone because of another one, per thousand commits
    #[serde(rename = "undone")]
    Undone,
    /// microseconds of all threads together for each of the probes that the parameter of this name
    /// has a call make
    #[serde(rename = "us a probe")]
    PerProbe,
    /// percent of the changes of a table's rows that were made by the thread which has made most of
    /// the row's
    #[serde(rename = "at home")]
    AtHome,
    /// median latency in microseconds
    #[serde(rename = "p50 us")]
    Median,
    /// messages between threads of the engine, per thousand commits
    #[serde(rename = "messages")]
    Messages,
    /// locks of rows, entries and ranges in a table that threads share, per 100 transactions
    #[serde(rename = "row locks")]
    RowLocks,
    /// locks of what rows are in, in a table that threads share, per 100 transactions
    #[serde(rename = "higher locks")]
    HigherLocks,
    /// locks in tables that one thread has for itself, per 100 transactions
    #[serde(rename = "local locks")]
    LocalLocks,
    /// locks of rows for each of what rows are in
    #[serde(rename = "row per higher")]
    RowPerHigher,
    /// actions run for calls that failed, but those that failed themselves, per 100 transactions
    #[serde(rename = "in vain")]
    InVain,
    /// requests for locks that had to wait, per thousand commits
    #[serde(rename = "waits")]
    Waits,
    /// percent of the time of threads that run calls spent on executing procedures
    #[serde(rename = "executing")]
    Executing,
    /// percent of their time spent on planning calls
    #[serde(rename = "planning")]
    Planning,
    /// percent of their time spent on taking and releasing locks
    #[serde(rename = "locking")]
    Locking,
    /// percent of their time spent on waiting for locks
    #[serde(rename = "waiting")]
    Waiting,
    /// percent of their time spent on writing to the log's buffers, and on replies
    #[serde(rename = "logging")]
    Logging,
    /// percent of their time in which they had nothing to do
    #[serde(rename = "idle")]
    Idle,
    /// by how many percent the thread that was busy least was so for less time than the one that
    /// was busy most
    #[serde(rename = "busy apart")]
    BusyApart,
    /// percent of the time of lock threads in which they had something to do
    #[serde(rename = "lock threads")]
    LockThreads,
    /// seconds that were measured
    #[serde(rename = "seconds")]
    Seconds,
    /// calls per second that the engine's model expects, aborted ones included
    #[serde(rename = "model")]
    Model,
    /// committed and aborted calls per second, in percent of those that the model expects
    #[serde(rename = "of model")]
    OfModel,
}

impl Metric {
    /// What it is called in the table of figures.
    pub fn name(self) -> impl fmt::Display {
        fmt::from_fn(move |f| self.serialize(f))
    }

    /// Its value in one run.
    pub fn of(self, run: &RunReport) -> f64 {
        match self {
            Self::Throughput => run.txn_per_s,
            Self::Undone => per_thousand(run, run.conflict_aborts),
            Self::Messages => per_thousand(run, run.messages),
            Self::Waits => per_thousand(run, run.waits),
            Self::RowLocks => per_hundred_ended(run, run.locks[LockKind::Row as usize]),
            Self::HigherLocks => per_hundred_ended(run, run.locks[LockKind::HigherLevel as usize]),
            Self::LocalLocks => per_hundred_ended(run, run.locks[LockKind::Local as usize]),
            Self::InVain => per_hundred_ended(run, run.in_vain),
            Self::RowPerHigher => {
                let [rows, higher, _] = run.locks.map(|count| count as f64);
                if higher > 0.0 { rows / higher } else { f64::NAN }
            }
            Self::AtHome => run.accesses.as_ref().map_or(f64::NAN, |accesses| accesses.at_home),
            Self::PerProbe => {
                let probes = run.parameters.get("probes").and_then(|probes| probes.parse().ok());
                let probes_per_s = run.txn_per_s * probes.unwrap_or(f64::NAN);
                1e6 * run.threads as f64 / probes_per_s
            }
            Self::Median => run.latency_us.p50,
            Self::Executing => 100.0 * run.time_breakdown.execute,
            Self::Planning => 100.0 * run.time_breakdown.plan,
            Self::Locking => 100.0 * run.time_breakdown.lock,
            Self::Waiting => 100.0 * run.time_breakdown.wait,
            Self::Logging => 100.0 * run.time_breakdown.log,
            Self::Idle => 100.0 * run.time_breakdown.idle,
            Self::BusyApart => {
                let most = run.busy_by_thread.iter().copied().fold(f64::NAN, f64::max);
                let least = run.busy_by_thread.iter().copied().fold(f64::NAN, f64::min);
                100.0 * (most - least) / most
            }
            Self::LockThreads => {
                run.lock_threads.map_or(f64::NAN, |time| 100.0 * (1.0 - time.idle))
            }
            Self::Seconds => run.seconds,
            Self::Model => run.expected_per_s.unwrap_or(f64::NAN),
            Self::OfModel => {
                let ended = (run.committed + run.user_aborts) as f64 / run.seconds.max(1e-9);
                100.0 * ended / run.expected_per_s.unwrap_or(f64::NAN)
            }
        }
    }
}

fn per_thousand(run: &RunReport, count: u64) -> f64 {
    1e3 * count as f64 / run.committed.max(1) as f64
}

/// Of all transactions that have ended, as dora.txt's figure 7 counts them: a quarter of TATP's
/// fail.
fn per_hundred_ended(run: &RunReport, count: u64) -> f64 {
    1e2 * count as f64 / (run.committed + run.user_aborts).max(1) as f64
}

impl fmt::Display for Metric {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Throughput => "transactions per second",
            Self::Undone => "undone per thousand commits",
            Self::Messages => "messages per thousand commits",
            Self::RowLocks => "row locks per 100 transactions",
            Self::HigherLocks => "higher-level locks per 100 transactions",
            Self::LocalLocks => "local locks per 100 transactions",
            Self::RowPerHigher => "row locks for each higher-level lock",
            Self::AtHome => "percent of a row's changes by the thread that makes most",
            Self::PerProbe => "microseconds of all threads for a probe",
            Self::InVain => "actions run in vain per 100 transactions",
            Self::Waits => "waits per thousand commits",
            Self::Median => "median latency, us",
            Self::Executing => "percent of time executing",
            Self::Planning => "percent of time planning",
            Self::Locking => "percent of time locking",
            Self::Waiting => "percent of time waiting",
            Self::Logging => "percent of time logging",
            Self::Idle => "percent of time idle",
            Self::BusyApart => "percent by which threads' busy times differ",
            Self::LockThreads => "percent of lock threads' time busy",
            Self::Seconds => "seconds",
            Self::Model => "calls per second that the model expects",
            Self::OfModel => "calls per second in percent of the model's",
        })
    }
}

/// All figures, in the order of the file.
pub fn figures() -> Vec<Figure> {
    parse(FILE).expect("I1, I2: the file is part of the program")
}

/// Figures out of a table of them, with claims that fit.
fn parse(text: &str) -> Result<Vec<Figure>, BenchError> {
    let file: File =
        toml::from_str(text).map_err(|error| BenchError::Selection(error.to_string()))?;
    file.figure.iter().try_for_each(|figure| {
        figure.at_scale.check(figure)?;
        expect::claims(figure).map(drop)
    })?;
    Ok(file.figure)
}

/// The figure with this name.
///
/// # Errors
///
/// [`BenchError::Selection`], which lists the names there are.
pub fn figure_named(name: &str) -> Result<Figure, BenchError> {
    let mut all = figures();
    match all.iter().position(|figure| figure.name == name) {
        Some(at) => Ok(all.swap_remove(at)),
        None => {
            let known: Vec<_> = all.iter().map(|figure| figure.name.as_str()).collect();
            let known = known.join(", ");
            Err(BenchError::Selection(format!("there is no figure \"{name}\"; there are: {known}")))
        }
    }
}

#[cfg(test)]
mod tests;
