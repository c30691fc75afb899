//! The map: how engines compare, by what a workload is like.
//!
//! Role         a grid of workloads (contention, calls of several partitions, aborts, length) is
//!              run on every engine, on virtual cores or real ones; what came of it is kept in a
//!              file, drawn for people, and looked up for those who ask which engine suits them
//!              ([`advise`](crate::advise))
//! Invariants   I1 the grid and the kept map are right: tests read both
//!              I2 points of the kept map are points of the grid, and know all its series

mod document;
mod draw;
mod run;

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

pub use document::map_document;
pub use draw::write_map_svg;
pub use run::MapRunner;

use crate::error::BenchError;
use crate::figure::{Axis, Figure, Metric, Series, Setting, Varying};
use crate::report::RunReport;

/// The grid that is part of the program.
const GRID: &str = include_str!("../map.toml");
/// What was measured on it, kept with the program.
const MEASURED: &str = include_str!("../map.json");

/// Workloads that differ by a few axes, and the engines that are run on each.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Grid {
    workload: String,
    /// its parameters everywhere
    set: BTreeMap<String, Setting>,
    /// parameters that the number of threads multiplies
    by_threads: BTreeMap<String, u64>,
    /// numbers of the engine's threads
    pub threads: Vec<usize>,
    /// what workloads differ by
    #[serde(rename = "axis")]
    pub axes: Vec<GridAxis>,
    /// the engines
    pub series: Vec<Series>,
}

/// What workloads differ by.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GridAxis {
    /// its name
    pub name: String,
    /// what it is
    pub about: String,
    /// from little to much
    pub values: Vec<GridValue>,
}

/// A value of an axis.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GridValue {
    /// its name
    pub name: String,
    /// what it means
    pub about: String,
    #[serde(default)]
    set: BTreeMap<String, Setting>,
    #[serde(default)]
    by_threads: BTreeMap<String, u64>,
}

/// A point of the grid: a kind of workload, and the engine's threads.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
pub struct Situation {
    /// the engine's threads
    pub threads: usize,
    /// the value's name by the axis' name
    pub workload: BTreeMap<String, String>,
}

impl fmt::Display for Situation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let values: Vec<_> =
            self.workload.iter().map(|(axis, value)| format!("{axis} {value}")).collect();
        write!(f, "{}, threads {}", values.join(", "), self.threads)
    }
}

/// What an engine showed at a point: by it a report of a run, or a server's status, is found again.
#[derive(Clone, Copy, PartialEq, Default, Debug, Serialize, Deserialize)]
pub struct Signs {
    /// committed calls per second
    pub calls_per_s: f64,
    /// requests for locks that had to wait, per committed call
    pub waits: f64,
    /// attempts undone because of other calls, per committed call
    pub undone: f64,
    /// calls that failed by themselves, per committed call
    pub failed: f64,
    /// messages between threads of the engine, per committed call
    pub messages: f64,
    /// microseconds of the engine's threads, without waiting and idling, per committed call
    pub busy_us: f64,
}

impl Signs {
    /// Of a run.
    pub fn of_run(run: &RunReport) -> Self {
        let per_call = |count: u64| rounded(count as f64 / run.committed.max(1) as f64);
        let spare = run.time_breakdown.wait + run.time_breakdown.idle;
        let thread_us = run.threads as f64 * run.seconds * 1e6;
        Self {
            calls_per_s: run.txn_per_s.round(),
            waits: per_call(run.waits),
            undone: per_call(run.conflict_aborts),
            failed: per_call(run.user_aborts),
            messages: per_call(run.messages),
            busy_us: rounded(thread_us * (1.0 - spare).max(0.0) / run.committed.max(1) as f64),
        }
    }

    /// The mean of several; none of none.
    pub fn mean(all: &[Self]) -> Option<Self> {
        let mean = |of: fn(&Self) -> f64| all.iter().map(of).sum::<f64>() / all.len() as f64;
        (!all.is_empty()).then(|| Self {
            calls_per_s: mean(|signs| signs.calls_per_s),
            waits: mean(|signs| signs.waits),
            undone: mean(|signs| signs.undone),
            failed: mean(|signs| signs.failed),
            messages: mean(|signs| signs.messages),
            busy_us: mean(|signs| signs.busy_us),
        })
    }
}

/// To thousandths: the file of the map is read by people, too.
fn rounded(value: f64) -> f64 {
    (value * 1e3).round() / 1e3
}

/// What all engines showed at a point.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MapPoint {
    /// the point
    pub situation: Situation,
    /// by the label of the series
    pub engines: BTreeMap<String, Signs>,
}

impl MapPoint {
    /// The engines, the fastest first.
    fn ranking(&self) -> Vec<(&str, &Signs)> {
        let mut all: Vec<_> =
            self.engines.iter().map(|(label, signs)| (label.as_str(), signs)).collect();
        all.sort_by(|a, b| b.1.calls_per_s.total_cmp(&a.1.calls_per_s));
        all
    }
}

/// What was measured on the grid.
#[derive(Clone, PartialEq, Default, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EngineMap {
    /// the machine: a virtual one's name, or the real one's cores
    pub machine: String,
    /// what was run
    pub commit: String,
    /// how, as arguments of `hotrow bench map`
    pub configuration: String,
    /// in the order of the grid
    pub points: Vec<MapPoint>,
}

impl Grid {
    /// The one that is part of the program.
    pub fn of_program() -> Self {
        Self::read(GRID).expect("I1: the file is part of the program")
    }

    /// Reads a grid in the form of `map.toml`.
    ///
    /// # Errors
    ///
    /// [`BenchError::Selection`], with the line and what is wrong there.
    pub fn read(text: &str) -> Result<Self, BenchError> {
        let grid: Self = toml::from_str(text)
            .map_err(|error| BenchError::Selection(format!("grid of the map: {error}")))?;
        grid.series.iter().try_for_each(|series| series.variant().map(drop))?;
        Ok(grid)
    }

    /// All its points, those with few threads first.
    pub fn situations(&self) -> Vec<Situation> {
        let at_start = |&threads: &usize| Situation { threads, workload: BTreeMap::new() };
        let mut all: Vec<_> = self.threads.iter().map(at_start).collect();
        for axis in &self.axes {
            let with = |point: &Situation, value: &GridValue| {
                let mut point = point.clone();
                point.workload.insert(axis.name.clone(), value.name.clone());
                point
            };
            all = all
                .iter()
                .flat_map(|point| axis.values.iter().map(move |value| with(point, value)))
                .collect();
        }
        all
    }

    /// The axis with this name.
    ///
    /// # Errors
    ///
    /// [`BenchError::Selection`], with the names that there are.
    pub fn axis(&self, name: &str) -> Result<&GridAxis, BenchError> {
        self.axes.iter().find(|axis| axis.name == name).ok_or_else(|| {
            let names = self.axes.iter().map(|axis| axis.name.as_str());
            BenchError::Selection(format!(
                "there is no axis \"{name}\" on the map; there are: {}",
                names.collect::<Vec<_>>().join(", ")
            ))
        })
    }

    /// A point as an experiment that can be run.
    fn figure(&self, point: &Situation) -> Result<Figure, BenchError> {
        let mut set = self.set.clone();
        let threads = point.threads as u64;
        let grown = |by_threads: &BTreeMap<String, u64>| {
            let of = |(name, factor): (&String, &u64)| {
                (name.clone(), Setting::Integer(factor * threads))
            };
            by_threads.iter().map(of).collect::<Vec<_>>()
        };
        set.extend(grown(&self.by_threads));
        for (axis, value) in &point.workload {
            let value = self.axis(axis)?.value(value)?;
            set.extend(value.set.clone());
            set.extend(grown(&value.by_threads));
        }
        let values = vec![Setting::Integer(threads)];
        let x = Axis { by: Varying::Threads, label: "threads".to_owned(), values, steps: vec![] };
        Ok(Figure {
            name: "map".to_owned(),
            title: point.to_string(),
            workload: Some(self.workload.clone()),
            set,
            x,
            show: vec![Metric::Throughput],
            series: self.series.clone(),
            ..Figure::default()
        })
    }
}

impl GridAxis {
    /// The value with this name.
    ///
    /// # Errors
    ///
    /// [`BenchError::Selection`], with the names that there are.
    pub fn value(&self, name: &str) -> Result<&GridValue, BenchError> {
        self.values.iter().find(|value| value.name == name).ok_or_else(|| {
            let names = self.values.iter().map(|value| value.name.as_str());
            BenchError::Selection(format!(
                "{} is none of {}: \"{name}\"",
                self.name,
                names.collect::<Vec<_>>().join(", ")
            ))
        })
    }
}

impl EngineMap {
    /// The one that is kept with the program.
    pub fn of_program() -> Self {
        Self::read(MEASURED).expect("I1: the file is part of the program")
    }

    /// Reads a map.
    ///
    /// # Errors
    ///
    /// [`BenchError::Selection`], with the line and what is wrong there.
    pub fn read(text: &str) -> Result<Self, BenchError> {
        let wrong = |error| BenchError::Selection(format!("map of engines: {error}"));
        serde_json::from_str(text).map_err(wrong)
    }

    /// The text of the file.
    ///
    /// # Errors
    ///
    /// [`BenchError::Io`].
    pub fn write(&self) -> Result<String, BenchError> {
        let mut text = serde_json::to_string_pretty(self).map_err(std::io::Error::from)?;
        text.push('\n');
        Ok(text)
    }

    /// Keeps a point, in place of the one of its situation if there is one.
    pub fn keep(&mut self, point: MapPoint) {
        match self.points.iter_mut().find(|kept| kept.situation == point.situation) {
            Some(kept) => *kept = point,
            None => self.points.push(point),
        }
    }

    /// The point with this situation, if it was measured.
    pub fn point(&self, situation: &Situation) -> Option<&MapPoint> {
        self.points.iter().find(|point| point.situation == *situation)
    }
}

#[cfg(test)]
mod tests;
