//! Running the grid: every engine at every point.

use super::{EngineMap, Grid, MapPoint, Signs, Situation};
use crate::error::BenchError;
use crate::figure::FigureRunner;

/// Measures the map.
pub struct MapRunner {
    /// the grid
    pub grid: Grid,
    /// runs the engines
    pub runner: FigureRunner,
    /// numbers of threads instead of the grid's own; none: the grid's
    pub threads: Vec<usize>,
}

impl MapRunner {
    /// Measures one point.
    ///
    /// # Errors
    ///
    /// As [`FigureRunner::run`], and [`BenchError::Selection`] where a check of the workload fails:
    /// what was measured means nothing then.
    pub fn measure(&self, situation: &Situation) -> Result<MapPoint, BenchError> {
        let report = self.runner.run(&self.grid.figure(situation)?, |_, _| {})?;
        if let Some(failed) = report.failed_checks.first() {
            let (name, detail) = (&failed.name, &failed.detail);
            return Err(BenchError::Selection(format!("{situation}: {name}: {detail}")));
        }
        let points = report.panels.iter().flat_map(|panel| &panel.points);
        let signs = points.filter_map(|point| {
            let signs: Vec<_> = point.runs.iter().map(Signs::of_run).collect();
            Some((point.series.clone(), Signs::mean(&signs)?))
        });
        Ok(MapPoint { situation: situation.clone(), engines: signs.collect() })
    }

    /// The points that are to be measured and that a map does not have.
    pub fn missing(&self, map: &EngineMap) -> Vec<Situation> {
        let mut grid = self.grid.clone();
        if !self.threads.is_empty() {
            grid.threads.clone_from(&self.threads);
        }
        let all = grid.situations().into_iter();
        all.filter(|situation| map.point(situation).is_none()).collect()
    }
}
