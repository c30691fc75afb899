//! Figures of a part of an engine alone, out of the experiments that engines list.

use hotrow::{Experiment, ExperimentOptions, engines};

use super::expect::Claim;
use super::report::{FigureReport, Panel, Point};
use super::{Cores, Figure, FigureRunner, Part};
use crate::error::BenchError;

impl FigureRunner {
    /// Runs a part's experiment with each number of threads.
    pub(super) fn run_part(
        &self,
        figure: &Figure,
        part: &Part,
        claims: &[Claim],
    ) -> Result<FigureReport, BenchError> {
        let experiment = experiment_named(&part.name)?;
        let threads = if self.threads.is_empty() { &figure.threads } else { &self.threads };
        let empty = |&threads: &usize| Panel { threads: Some(threads), points: Vec::new() };
        let mut report = FigureReport::new(figure, threads.iter().map(empty).collect());
        experiment.x_axis.clone_into(&mut report.x_label);
        let at_scale = figure.at_scale.transactions.filter(|_| Cores::here() == Cores::Virtual);
        let asked = at_scale.unwrap_or(part.transactions);
        // What an experiment varies may count within its transactions: a tenth of them, as quick
        // runs have of tables, may leave nothing of it.
        let size = if self.is_quick { 1.0 } else { self.size };
        let transactions = ((asked as f64 * size) as u64).max(1);
        let mut varied = vec![report.clone(); self.coherence.len()];
        for round in 0..self.rounds() {
            let seed = self.driver.seed + round as u64;
            let report = match self.begin_round(round) {
                Some(variation) => &mut varied[variation],
                None => &mut report,
            };
            for (panel, &threads) in report.panels.iter_mut().zip(threads) {
                let options = ExperimentOptions { threads, transactions, seed };
                self.part_in_panel(experiment, &options, panel);
            }
        }
        self.judge(&mut report, varied, claims)?;
        Ok(report)
    }

    fn part_in_panel(
        &self,
        experiment: &Experiment,
        options: &ExperimentOptions,
        panel: &mut Panel,
    ) {
        let bar = self.driver.progress.bar(format!("measuring {}", experiment.name), 1);
        for measured in (experiment.run)(options) {
            let (x, series) = (measured.x.to_string(), measured.series.to_owned());
            let known = panel.points.iter_mut().find(|p| p.x == x && p.series == series);
            match known {
                Some(point) => point.measured.push(measured.value),
                None => {
                    let (runs, measured) = (Vec::new(), vec![measured.value]);
                    panel.points.push(Point { x, series, runs, measured });
                }
            }
        }
        bar.finish_and_clear();
    }
}

/// The experiment with this name, of whichever engine lists it.
fn experiment_named(name: &str) -> Result<&'static Experiment, BenchError> {
    let mut all = engines().iter().flat_map(|entry| entry.experiments);
    let unknown = || BenchError::Selection(format!("no engine has an experiment \"{name}\""));
    all.find(|experiment| experiment.name == name).ok_or_else(unknown)
}
