//! A figure on a machine that has the paper's cores.
//!
//! Role         by default figures are cut to what two cores can show; on a virtual machine they
//!              are run with the numbers of threads that their claims name, and with the sizes that
//!              the paper had, as `figures.toml` writes them in `at_scale`
//! Invariants   I1 labels of series stay, so that claims speak of the same

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;

use super::expect::Claim;
use super::{Figure, Series, Setting, Varying};
use crate::error::BenchError;

/// What is otherwise on the paper's machine; what is empty or none stays.
#[derive(Clone, Default, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AtScale {
    /// the virtual machine, where it is not that of the paper's other figures
    #[serde(default)]
    pub machine: Option<String>,
    /// why there is nothing to be run on one
    #[serde(default)]
    pub because: Option<String>,
    /// virtual seconds that a run is measured at least, and half of them to warm up: what is done
    /// in batches takes some
    #[serde(default)]
    pub seconds_min: f64,
    /// transactions of all threads together, for an experiment of a part
    #[serde(default)]
    pub(super) transactions: Option<u64>,
    /// the engine's threads, a panel for each
    #[serde(default)]
    pub(super) threads: Vec<usize>,
    /// values of x
    #[serde(default)]
    pub(super) x: Vec<Setting>,
    /// parameters of the workload
    #[serde(default)]
    pub(super) set: BTreeMap<String, Setting>,
    /// by label
    #[serde(default)]
    pub(super) series: BTreeMap<String, SeriesAtScale>,
}

/// A series on the paper's machine.
#[derive(Clone, Default, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SeriesAtScale {
    engine: Option<String>,
    #[serde(default)]
    set: BTreeMap<String, Setting>,
    more_threads: Option<usize>,
    threads: Option<usize>,
    split: Option<u16>,
}

impl SeriesAtScale {
    fn apply(&self, to: &mut Series) {
        if let Some(engine) = &self.engine {
            to.engine.clone_from(engine);
        }
        to.set.extend(self.set.clone());
        to.more_threads = self.more_threads.unwrap_or(to.more_threads);
        to.threads = self.threads.or(to.threads);
        to.split = self.split.unwrap_or(to.split);
    }
}

impl AtScale {
    /// Refuses what the figure does not have.
    pub(super) fn check(&self, figure: &Figure) -> Result<(), BenchError> {
        let is_unknown =
            |label: &&String| figure.series.iter().all(|series| series.label != **label);
        match self.series.keys().find(is_unknown) {
            None => Ok(()),
            Some(label) => {
                let name = &figure.name;
                let what = format!("figure {name}, at_scale: there is no series \"{label}\"");
                Err(BenchError::Selection(what))
            }
        }
    }
}

impl Figure {
    /// The figure as it is run on a virtual machine with so many cores.
    pub(super) fn at_scale(&self, claims: &[Claim], cores: usize) -> Self {
        let mut figure = self.clone();
        let scale = &self.at_scale;
        figure.set.extend(scale.set.clone());
        for series in &mut figure.series {
            if let Some(more) = scale.series.get(&series.label) {
                more.apply(series);
            }
        }
        let by_threads = self.x.by == Varying::Threads;
        if !scale.x.is_empty() {
            figure.x.values.clone_from(&scale.x);
        } else if by_threads {
            let named = claims.iter().flat_map(named_xs).filter_map(|x| x.parse().ok());
            let named: Vec<_> = counts(named, cores).map(Setting::Integer).collect();
            if !named.is_empty() {
                figure.x.values = named;
            }
        }
        if !scale.threads.is_empty() {
            figure.threads.clone_from(&scale.threads);
        } else if !by_threads {
            let named = claims.iter().flat_map(named_threads);
            let own = self.threads.iter().map(|&threads| threads as u64);
            figure.threads = counts(own.chain(named), cores).map(|n| n as usize).collect();
        }
        figure
    }
}

/// Numbers of threads, each once and in order; some claims are of threads that outnumber cores, but
/// not so far.
fn counts(named: impl Iterator<Item = u64>, cores: usize) -> impl Iterator<Item = u64> {
    let most = 8 * cores as u64;
    named.filter(move |&n| n <= most).collect::<BTreeSet<_>>().into_iter()
}

/// The values of x that a claim names.
fn named_xs(claim: &Claim) -> impl Iterator<Item = String> {
    let sides = claim.sides().into_iter().filter_map(|side| side.x.clone());
    claim.at.iter().cloned().chain(sides)
}

fn named_threads(claim: &Claim) -> impl Iterator<Item = u64> {
    let sides = claim.sides().into_iter().filter_map(|side| side.threads);
    claim.threads.iter().copied().chain(sides).map(|threads| threads as u64)
}

#[cfg(test)]
mod tests {
    use super::super::{expect::claims, figure_named};

    #[test]
    fn a_figure_at_scale_has_the_threads_that_its_claims_name() {
        let figure = figure_named("orthrus-12b").expect("it is listed");
        let claims = claims(&figure).expect("they fit");
        let at_scale = figure.at_scale(&claims, 80);
        let xs: Vec<_> = at_scale.x.values.iter().map(ToString::to_string).collect();
        assert_eq!(xs, ["20", "40", "80"]);
        let single = &at_scale.series[0];
        assert_eq!(
            (single.label.as_str(), single.engine.as_str()),
            ("ORTHRUS, single", "orthrus:")
        );
        assert_eq!(single.set["partitions"].to_string(), "16");
        assert_eq!(at_scale.series.len(), figure.series.len());
    }

    #[test]
    fn without_a_word_of_scale_the_claims_tell_the_threads() {
        let figure = figure_named("lads-12").expect("it is listed");
        let claims = claims(&figure).expect("they fit");
        assert_eq!(figure.at_scale(&claims, 24).threads, [2, 4, 24]);
        assert_eq!(figure.at_scale(&claims, 2).threads, [2, 4], "too many for two cores");
    }

    #[test]
    fn what_a_figure_has_not_is_refused() {
        let mut figure = figure_named("orthrus-12b").expect("it is listed");
        let of = figure.at_scale.series["ORTHRUS, single"].clone();
        figure.at_scale.series.insert("ORTHRUS, quadruple".to_owned(), of);
        let message = figure.at_scale.check(&figure).expect_err("none of it").to_string();
        assert!(message.contains("\"ORTHRUS, quadruple\""), "{message}");
    }
}
