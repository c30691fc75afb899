//! Running a figure: every series at every value of x, with every number of threads.
//!
//! Role         makes runs of the driver out of a figure
//! Invariants   I1 the series at one value of x run one after the other, all of them in each
//!              repetition (A B C, A B C): a machine that slows down for a while slows all of them
//!              I2 series of the same parameters run on one population, which is checked when it
//!              is given up: when too many others have been used since, and after so many commits
//!              that tables stay small

use std::path::PathBuf;
use std::time::Duration;

use hotrow::{Durability, LogEntries};
use hotrow_base::thread::available_cores;
use hotrow_workloads::{Parameters, Workload, workload_named};

use super::expect::{Claim, claims};
use super::report::{FigureReport, Panel, Point};
use super::{Cores, Figure, LogDevice, Series, Setting, Varying, quick};
use crate::data::LogSettings;
use crate::driver::{Driver, Length, Population};
use crate::error::BenchError;
use crate::report::{CheckReport, RunReport};

/// Commits after which a population is given up: TPC-B adds a row with each.
const COMMITS_MAX: u64 = 4_000_000;
/// What is left of scaled parameters that are more, at least: workloads refuse less. Of those that
/// are less by themselves one is enough.
const SCALED_MIN: f64 = 200.0;

/// Runs figures.
#[derive(Clone, Debug)]
pub struct FigureRunner {
    /// runs the runs; its length is each run's
    pub driver: Driver,
    /// what scaled parameters are multiplied by
    pub size: f64,
    /// how often everything is run; at least once
    pub repetitions: usize,
    /// where figures with a log keep it
    pub directory: PathBuf,
    /// numbers of threads instead of the figure's own; none: the figure's
    pub threads: Vec<usize>,
    /// only what decides a claim on this machine is run
    pub is_quick: bool,
    /// on a virtual machine: what lines cost that travel between cores, in percent of what its
    /// table says; everything is run once more with each of these, whose verdicts have to be the
    /// same
    pub coherence: Vec<u64>,
}

/// What the table of machines says.
const AS_WRITTEN: u64 = 100;

/// A run to be made: which series in which panel at which x.
#[derive(Clone, Copy)]
struct Place {
    panel: usize,
    series: usize,
    x: usize,
}

/// A population in use, with what it was made for.
struct Loaded {
    workload: Box<dyn Workload>,
    split: u16,
    is_logged: bool,
    population: Population,
    commits: u64,
    /// nothing was run on it
    is_fresh: bool,
}

impl FigureRunner {
    /// Runs a figure. `tell` is given each run when it has ended, and how many there are in all.
    ///
    /// # Errors
    ///
    /// As [`Driver::run`]. A check that fails is no error: it stands in the report.
    pub fn run(
        &self,
        figure: &Figure,
        mut tell: impl FnMut(&RunReport, usize),
    ) -> Result<FigureReport, BenchError> {
        // Claims that do not fit are told before anything runs.
        let claims = claims(figure)?;
        let cores = available_cores().len();
        let is_virtual = Cores::here() == Cores::Virtual;
        let at_scale = is_virtual.then(|| figure.at_scale(&claims, cores));
        let figure = at_scale.as_ref().unwrap_or(figure);
        let given = self.with_threads_given(figure);
        let figure = given.as_ref().unwrap_or(figure);
        // What claims nothing is run whole, or not at all.
        let is_quick = self.is_quick && !claims.is_empty();
        let part = if is_quick { quick::part(figure, &claims, cores) } else { None };
        if is_quick && part.is_none() {
            let mut report = FigureReport::new(figure, Vec::new());
            report.is_partial = true;
            report.judge(&claims, cores)?;
            return Ok(report);
        }
        let figure = part.as_ref().unwrap_or(figure);
        if let Some(part) = &figure.experiment {
            return self.run_part(figure, part, &claims);
        }
        let mut report = FigureReport::new(figure, self.panels(figure)?);
        report.is_partial = self.is_quick;
        let mut loaded = Vec::new();
        let mut varied = vec![report.clone(); self.coherence.len()];
        let rounds = self.rounds();
        let total = self.places(figure, &report)?.len() * figure.x.values.len() * rounds;
        // A run in which time goes by gives all values.
        let values = if figure.x.by == Varying::Time { 1 } else { figure.x.values.len() };
        for first in 0..values {
            for round in 0..rounds {
                let variation = self.begin_round(round);
                for mut place in self.places(figure, &report)? {
                    place.x = first;
                    let runs = self.run_at(figure, &mut report, (place, round), &mut loaded)?;
                    let report = variation.map_or(&mut report, |at| &mut varied[at]);
                    for (x, run) in (first..).zip(runs) {
                        tell(&run, total);
                        let at = x * figure.series.len() + place.series;
                        report.panels[place.panel].points[at].runs.push(run);
                    }
                }
            }
        }
        loaded.into_iter().try_for_each(|loaded| self.give_up(loaded, &mut report))?;
        self.judge(&mut report, varied, &claims)?;
        Ok(report)
    }

    /// How often everything is run.
    pub(super) fn rounds(&self) -> usize {
        self.repetitions + self.coherence.len()
    }

    /// Begins to run everything once more: the repetitions first, then one round for each other
    /// cost of coherence, whose number is given back.
    pub(super) fn begin_round(&self, round: usize) -> Option<usize> {
        let variation = round.checked_sub(self.repetitions);
        let percent = variation.map_or(AS_WRITTEN, |at| self.coherence[at]);
        hotrow_machine::hook::set_coherence(percent);
        variation
    }

    /// Gives claims their verdicts, which the rounds with other costs of coherence may turn.
    pub(super) fn judge(
        &self,
        report: &mut FigureReport,
        varied: Vec<FigureReport>,
        claims: &[Claim],
    ) -> Result<(), BenchError> {
        let cores = available_cores().len();
        report.judge(claims, cores)?;
        for (mut varied, &percent) in varied.into_iter().zip(&self.coherence) {
            varied.judge(claims, cores)?;
            report.compare(&varied, percent);
        }
        Ok(())
    }

    /// The figure whose x is the number of threads, with those of the runner.
    fn with_threads_given(&self, figure: &Figure) -> Option<Figure> {
        let is_given = figure.x.by == Varying::Threads && !self.threads.is_empty();
        is_given.then(|| {
            let mut figure = figure.clone();
            figure.x.values = self.threads.iter().map(|&n| Setting::Integer(n as u64)).collect();
            figure
        })
    }

    /// Panels without runs: one for each number of threads.
    fn panels(&self, figure: &Figure) -> Result<Vec<Panel>, BenchError> {
        let points = || {
            let values = figure.x.values.iter();
            let points = values.flat_map(|x| {
                figure.series.iter().map(|series| Point {
                    x: x.to_string(),
                    series: series.label.clone(),
                    runs: Vec::new(),
                    measured: Vec::new(),
                })
            });
            points.collect()
        };
        if figure.x.by == Varying::Threads {
            return Ok(vec![Panel { threads: None, points: points() }]);
        }
        let threads = if self.threads.is_empty() { &figure.threads } else { &self.threads };
        Ok(threads.iter().map(|&n| Panel { threads: Some(n), points: points() }).collect())
    }

    /// All runs at one value of x.
    fn places(&self, figure: &Figure, report: &FigureReport) -> Result<Vec<Place>, BenchError> {
        let series = 0..figure.series.len();
        let panels = 0..report.panels.len();
        Ok(panels
            .flat_map(|panel| series.clone().map(move |series| Place { panel, series, x: 0 }))
            .collect())
    }

    fn run_at(
        &self,
        figure: &Figure,
        report: &mut FigureReport,
        (place, round): (Place, usize),
        loaded: &mut Vec<Loaded>,
    ) -> Result<Vec<RunReport>, BenchError> {
        let (series, x) = (&figure.series[place.series], &figure.x.values[place.x]);
        let (threads, clients) = who(figure, series, report.panels[place.panel].threads, x)?;
        let at_x = match &figure.x.by {
            Varying::Parameter(name) => Some((name, x)),
            _ => None,
        };
        let workload = self.workload(figure, series, at_x)?;
        let log = figure.log.filter(|_| !series.in_memory).map(|device| self.log(device));
        let is_logged = log.is_some();
        let split_indexes = series.split;
        let (watched, inspect, length) = (figure.watched.clone(), false, self.length(figure));
        let mut own = self.driver.clone();
        if figure.x.by == Varying::Time || self.least(figure) > 0.0 {
            own.enough = None; // it takes time, whatever is committed in it
        }
        let is_virtual = Cores::here() == Cores::Virtual;
        if is_virtual {
            own.seed += round as u64; // there is no other chance
        }
        let driver = Driver { clients, inspect, log, split_indexes, length, watched, ..own };
        let is_for_it = |loaded: &Loaded| {
            (loaded.split, loaded.is_logged) == (split_indexes, is_logged)
                && are_loaded_alike(&*loaded.workload, &*workload)
        };
        let is_usable = |loaded: &Loaded| {
            loaded.commits < COMMITS_MAX && loaded.population.threads() >= threads
        };
        match loaded.iter().position(is_for_it) {
            Some(at) if is_usable(&loaded[at]) => {
                loaded[at].workload = workload;
                loaded[at..].rotate_left(1);
            }
            spent => {
                let oldest = (loaded.len() == figure.series.len()).then_some(0);
                if let Some(at) = spent.or(oldest) {
                    self.give_up(loaded.remove(at), report)?;
                }
                let population = driver.load(&*workload, self.most_threads(figure, report))?;
                let split = split_indexes;
                let commits = 0;
                let is_fresh = true;
                loaded.push(Loaded { workload, split, is_logged, population, commits, is_fresh });
            }
        }
        let loaded = loaded.last_mut().expect("it was just moved or put there");
        let mut variant = series.variant()?;
        if let Varying::Option(name) = &figure.x.by {
            variant.settings.insert(name.clone(), x.to_string());
        }
        let steps = figure.x.steps.iter().map(|set| self.workload(figure, series, set));
        let steps: Vec<_> = steps.collect::<Result<_, _>>()?;
        let steps: Vec<_> = match &steps[..] {
            [] => vec![&*loaded.workload],
            _ => steps.iter().map(|step| &**step).collect(),
        };
        if loaded.is_fresh && is_virtual {
            // Caches have nothing of it yet: who comes first would be the slowest.
            let runs = driver.run_steps_on(&mut loaded.population, &steps, &variant, threads)?;
            loaded.commits += runs.iter().map(|run| run.committed).sum::<u64>();
        }
        loaded.is_fresh = false;
        let runs = driver.run_steps_on(&mut loaded.population, &steps, &variant, threads)?;
        loaded.commits += runs.iter().map(|run| run.committed).sum::<u64>();
        Ok(runs)
    }

    /// How long a run of the figure is.
    fn length(&self, figure: &Figure) -> Length {
        let Length::Time { warm_up, measured } = self.driver.length else {
            return self.driver.length;
        };
        // A real second is too dear on a virtual machine, which has a least time of its own.
        let share_to_warm_up = match Cores::here() {
            Cores::Real => 0.0,
            Cores::Virtual => 0.5,
        };
        let least = Duration::from_secs_f64(self.least(figure));
        let warm_up = warm_up.max(least.mul_f64(share_to_warm_up));
        Length::Time { warm_up, measured: measured.max(least) }
    }

    /// Seconds that a run of the figure takes at least.
    fn least(&self, figure: &Figure) -> f64 {
        match Cores::here() {
            Cores::Real => figure.seconds_min,
            Cores::Virtual => figure.at_scale.seconds_min,
        }
    }

    fn log(&self, device: LogDevice) -> LogSettings {
        LogSettings {
            directory: self.directory.clone(),
            durability: Durability::Durable,
            entries: LogEntries::Commands,
            in_flight: device.in_flight,
            sync_delay: Duration::from_micros(device.sync_delay_us),
            recover: false,
        }
    }

    /// Checks a population and drops it.
    fn give_up(&self, loaded: Loaded, report: &mut FigureReport) -> Result<(), BenchError> {
        let Loaded { workload, population, .. } = loaded;
        let checks = self.driver.checks(&population, &*workload)?;
        report.failed_checks.extend(checks.into_iter().filter(|check: &CheckReport| !check.holds));
        Ok(())
    }

    /// The most threads that any run of the figure has.
    fn most_threads(&self, figure: &Figure, report: &FigureReport) -> usize {
        let panels = report.panels.iter().filter_map(|panel| panel.threads);
        let axis = figure.x.values.iter().filter_map(|value| match (&figure.x.by, value) {
            (Varying::Threads, Setting::Integer(threads)) => Some(*threads as usize),
            _ => None,
        });
        let own = figure.series.iter().filter_map(|series| series.threads);
        let more = figure.series.iter().map(|series| series.more_threads).max().unwrap_or(0);
        panels.chain(axis).chain(own).max().unwrap_or(1) + more
    }

    /// The figure's workload as a series has it, and with `more` parameters.
    fn workload<'a>(
        &self,
        figure: &'a Figure,
        series: &'a Series,
        more: impl IntoIterator<Item = (&'a String, &'a Setting)>,
    ) -> Result<Box<dyn Workload>, BenchError> {
        let name = figure.workload.as_deref().unwrap_or_default();
        let unknown = || BenchError::Selection(format!("there is no workload \"{name}\""));
        let mut workload = workload_named(name).ok_or_else(unknown)?;
        let parameters = workload.parameters_mut();
        for (name, value) in figure.set.iter().chain(&series.set).chain(more) {
            self.set(figure, parameters, name, value)?;
        }
        workload.parameters().validate()?;
        Ok(workload)
    }

    fn set(
        &self,
        figure: &Figure,
        parameters: &mut dyn Parameters,
        name: &str,
        value: &Setting,
    ) -> Result<(), BenchError> {
        let text = match value {
            Setting::Integer(number) if figure.scaled.iter().any(|scaled| scaled == name) => {
                let number = *number as f64;
                let least = if number < SCALED_MIN { 1.0 } else { SCALED_MIN };
                let scaled = (number * self.size).max(least);
                (scaled as u64).to_string()
            }
            other => other.to_string(),
        };
        Ok(parameters.set(name, &text)?)
    }
}

/// Whether runs of one workload can go on where those of another one have ended. On real cores
/// populations grow with what is committed on them, and each value of x has its own; on virtual
/// ones loading takes longer than what is run.
fn are_loaded_alike(one: &dyn Workload, other: &dyn Workload) -> bool {
    let counting = match Cores::here() {
        Cores::Real => None,
        Cores::Virtual => one.population_parameters(),
    };
    let of = |workload: &dyn Workload| {
        let mut list = workload.parameters().list();
        list.retain(|parameter| {
            counting.is_none_or(|names| names.contains(&parameter.name.as_str()))
        });
        list
    };
    of(one) == of(other)
}

/// How many threads and clients a run has.
fn who(
    figure: &Figure,
    series: &Series,
    panel: Option<usize>,
    x: &Setting,
) -> Result<(usize, Option<usize>), BenchError> {
    let number = match (&figure.x.by, x) {
        (Varying::Threads | Varying::Clients, Setting::Integer(number)) => Some(*number as usize),
        (Varying::Threads | Varying::Clients, _) => {
            let message = format!("figure {}: {x} is no number", figure.name);
            return Err(BenchError::Selection(message));
        }
        _ => None,
    };
    let (of_axis, clients) = match figure.x.by {
        Varying::Threads => (number, None),
        Varying::Clients => (None, number),
        _ => (None, None),
    };
    let threads = series.threads.or(panel).or(of_axis).unwrap_or(1);
    Ok((threads + series.more_threads, clients))
}
