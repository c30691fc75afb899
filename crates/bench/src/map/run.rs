//! Running the grid: every engine at every point.

use super::{EngineMap, Grid, MapPoint, Signs, Situation};
use crate::driver::Driver;
use crate::error::BenchError;
use crate::figure::FigureRunner;

/// Measures the map.
pub struct MapRunner {
    grid: Grid,
    runner: FigureRunner,
}

impl MapRunner {
    /// A grid, whose runs a driver makes: each once, on populations of the grid's sizes.
    pub fn new(grid: Grid, driver: Driver) -> Self {
        let runner = FigureRunner {
            driver,
            size: 1.0,
            repetitions: 1,
            directory: std::env::temp_dir(),
            threads: Vec::new(),
            is_quick: false,
            coherence: Vec::new(),
        };
        Self { grid, runner }
    }

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
        let all = self.grid.situations().into_iter();
        all.filter(|situation| map.point(situation).is_none()).collect()
    }
}
