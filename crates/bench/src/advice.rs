//! Advice: which engine suits what a database does, by the map of engines.
//!
//! Role         takes what a run reported, or a server between two looks, finds the points of the
//!              map at which the engine that runs there shows the same, and tells how the others
//!              compare at these points
//! Invariants   I1 what cannot be told apart is told as a range: of several points that are alike
//!              none is chosen

mod observed;
mod told;

use std::collections::BTreeMap;

use serde::Serialize;

pub use observed::Observed;
pub use told::write_advice;

use crate::error::BenchError;
use crate::map::{EngineMap, Grid, MapPoint, Signs, Situation};

/// Points this much farther away than the nearest one are alike, too: signs differ by a factor of
/// two in all.
const ALIKE: f64 = 0.7;
/// What is farther away than this from every point is not on the map.
const FAR: f64 = 2.5;
/// A gain that is worth changing the engine.
const WORTHWHILE: f64 = 1.15;

/// How far apart two engines' signs are: the sum over signs of the logarithm of their ratio. Little
/// per call is as good as nothing; how long a call takes counts half, because machines differ.
fn distance(one: &Signs, other: &Signs) -> f64 {
    let apart =
        |of: fn(&Signs) -> f64, little: f64| ((of(one) + little) / (of(other) + little)).ln().abs();
    apart(|signs| signs.waits, 0.02)
        + apart(|signs| signs.undone, 0.02)
        + apart(|signs| signs.failed, 0.02)
        + apart(|signs| signs.messages, 0.5)
        + 0.5 * apart(|signs| signs.busy_us, 0.1)
}

/// A point of the map at which the engine shows what was observed.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Alike {
    /// the point
    pub situation: Situation,
    /// how far its signs are from those observed
    pub distance: f64,
}

/// An engine beside the one that runs, over the points that are alike.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Candidate {
    /// what the map calls it
    pub label: String,
    /// as the command line has it
    pub engine: String,
    /// its calls per second over those of the engine that runs: least, median and most
    pub gain: [f64; 3],
    /// what it shows there, the mean of all points
    pub signs: Signs,
}

/// The best engine, if one more thing was known.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct IfKnown {
    /// the axis
    pub axis: String,
    /// its value
    pub value: String,
    /// the best engine's label
    pub label: String,
    /// its median gain there
    pub gain: f64,
}

/// What the map says.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Advice {
    /// of what
    pub observed: Observed,
    /// what the map calls the engine that runs
    pub runs: String,
    /// what it shows on the map there, the mean of all points
    pub shows: Signs,
    /// the points, the nearest one first
    pub alike: Vec<Alike>,
    /// all engines, the best first
    pub candidates: Vec<Candidate>,
    /// axes on which the best engine depends
    pub if_known: Vec<IfKnown>,
    /// what else has to be said
    pub remarks: Vec<String>,
}

impl Advice {
    /// The engine to change to; none where it is not worth it, or the engine is not the limit.
    pub fn better(&self) -> Option<&Candidate> {
        let best = self.candidates.first()?;
        let is_worth_it = best.label != self.runs && best.gain[1] >= WORTHWHILE;
        (is_worth_it && !self.observed.is_idle()).then_some(best)
    }
}

/// Looks up what was observed. `known` is what else is known of the workload: values of axes.
///
/// # Errors
///
/// [`BenchError::Selection`] where the engine is not on the map, an axis or a value of `known` is
/// none of it, or nothing of the map remains.
pub fn advise(
    map: &EngineMap,
    grid: &Grid,
    observed: &Observed,
    known: &BTreeMap<String, String>,
) -> Result<Advice, BenchError> {
    for (axis, value) in known {
        grid.axis(axis)?.value(value)?;
    }
    let runs = series_like(grid, observed)?;
    let points = points_at(map, observed, known)?;
    let mut alike: Vec<(f64, &MapPoint)> = points
        .iter()
        .filter_map(|point| Some((distance(point.engines.get(&runs)?, &observed.signs), *point)))
        .collect();
    alike.sort_by(|a, b| a.0.total_cmp(&b.0));
    let Some(&(nearest, _)) = alike.first() else {
        let message = format!("\"{runs}\" was not measured at any of these points of the map");
        return Err(BenchError::Selection(message));
    };
    alike.retain(|(distance, _)| *distance <= nearest + ALIKE);
    let points: Vec<_> = alike.iter().map(|(_, point)| *point).collect();
    let candidates = candidates(grid, &points, &runs);
    let if_known = if_known(grid, &points, &runs);
    let mut remarks = observed.remarks();
    if nearest > FAR {
        remarks.push(format!(
            "nothing on the map is like this (distance {nearest:.1}): the nearest points may \
             mislead"
        ));
    }
    let shown: Vec<_> = points.iter().filter_map(|point| point.engines.get(&runs)).collect();
    let shows = Signs::mean(&shown.into_iter().copied().collect::<Vec<_>>()).unwrap_or_default();
    let alike = alike
        .into_iter()
        .map(|(distance, point)| Alike { situation: point.situation.clone(), distance });
    let alike = alike.collect();
    Ok(Advice { observed: observed.clone(), runs, shows, alike, candidates, if_known, remarks })
}

/// The label of the series that is the engine that runs, or its nearest relative: of those with its
/// name the one with which it shares most settings.
fn series_like(grid: &Grid, observed: &Observed) -> Result<String, BenchError> {
    let mut nearest: Option<(usize, &str)> = None;
    for series in &grid.series {
        let variant = series.variant()?;
        if variant.entry.name != observed.engine {
            continue;
        }
        let is_same =
            |(name, value): &(&String, &String)| observed.settings.get(*name) == Some(value);
        let same = variant.settings.iter().filter(is_same).count();
        if nearest.is_none_or(|(most, _)| same > most) {
            nearest = Some((same, &series.label));
        }
    }
    nearest.map(|(_, label)| label.to_owned()).ok_or_else(|| {
        BenchError::Selection(format!("engine \"{}\" is not on the map", observed.engine))
    })
}

/// The points with about as many threads, as far as they agree with what is known.
fn points_at<'a>(
    map: &'a EngineMap,
    observed: &Observed,
    known: &BTreeMap<String, String>,
) -> Result<Vec<&'a MapPoint>, BenchError> {
    let apart = |threads: usize| (threads as f64 / observed.threads.max(1) as f64).ln().abs();
    let sizes = map.points.iter().map(|point| point.situation.threads);
    let threads = sizes.min_by(|a, b| apart(*a).total_cmp(&apart(*b)));
    let agrees = |point: &&MapPoint| {
        let workload = &point.situation.workload;
        Some(point.situation.threads) == threads
            && known.iter().all(|(axis, value)| workload.get(axis) == Some(value))
    };
    let points: Vec<_> = map.points.iter().filter(agrees).collect();
    match points.is_empty() {
        true => Err(BenchError::Selection("the map has no point that agrees with that".to_owned())),
        false => Ok(points),
    }
}

/// All engines over some points, the best median first.
fn candidates(grid: &Grid, points: &[&MapPoint], runs: &str) -> Vec<Candidate> {
    let candidate = |series: &crate::figure::Series| {
        let gains = gains(points, &series.label, runs);
        let signs = points.iter().filter_map(|point| point.engines.get(&series.label).copied());
        Some(Candidate {
            label: series.label.clone(),
            engine: series.engine.clone(),
            gain: [*gains.first()?, median(&gains)?, *gains.last()?],
            signs: Signs::mean(&signs.collect::<Vec<_>>())?,
        })
    };
    let mut all: Vec<_> = grid.series.iter().filter_map(candidate).collect();
    all.sort_by(|a, b| b.gain[1].total_cmp(&a.gain[1]));
    all
}

/// What an engine gains over the one that runs at each point, ascending.
fn gains(points: &[&MapPoint], label: &str, runs: &str) -> Vec<f64> {
    let gain = |point: &&MapPoint| {
        let now = point.engines.get(runs)?.calls_per_s;
        Some(point.engines.get(label)?.calls_per_s / now.max(1.0))
    };
    let mut gains: Vec<_> = points.iter().filter_map(gain).collect();
    gains.sort_by(f64::total_cmp);
    gains
}

fn median(ascending: &[f64]) -> Option<f64> {
    ascending.get(ascending.len() / 2).copied()
}

/// For each axis on whose value the best engine depends, the best one at each of its values.
fn if_known(grid: &Grid, points: &[&MapPoint], runs: &str) -> Vec<IfKnown> {
    let mut all = Vec::new();
    for axis in &grid.axes {
        let best = |value: &crate::map::GridValue| {
            let is_at =
                |point: &&&MapPoint| point.situation.workload.get(&axis.name) == Some(&value.name);
            let there: Vec<_> = points.iter().filter(is_at).copied().collect();
            let best = candidates(grid, &there, runs).into_iter().next()?;
            Some(IfKnown {
                axis: axis.name.clone(),
                value: value.name.clone(),
                label: best.label,
                gain: best.gain[1],
            })
        };
        let bests: Vec<_> = axis.values.iter().filter_map(best).collect();
        if bests.iter().any(|best| best.label != bests[0].label) {
            all.extend(bests);
        }
    }
    all
}

#[cfg(test)]
mod tests;
