//! A figure that was run: its points, as a table for people, as JSON and as CSV.

use std::io::{self, Write};

use serde::Serialize;

use super::expect::Claim;
use super::verdict::{ClaimReport, REPEATS_MIN, Verdict, judge};
use super::{Figure, Metric};
use crate::error::BenchError;
use crate::report::{CheckReport, RunReport};
use crate::table::{Style, grouped, write_rows};

/// A figure and what was measured.
#[derive(Clone, Debug, Serialize)]
pub struct FigureReport {
    /// its name
    pub figure: String,
    /// where it stands in which paper
    pub source: String,
    /// what is measured
    pub title: String,
    /// what the paper shows
    pub claim: String,
    /// what x is
    pub x_label: String,
    /// what is read off each run
    pub show: Vec<Metric>,
    /// one for each number of threads
    pub panels: Vec<Panel>,
    /// checks of the workload that failed; the points mean nothing then
    pub failed_checks: Vec<CheckReport>,
    /// cores that the figure was run on
    pub cores: usize,
    /// how often everything was run
    pub repeats: usize,
    /// only what decides a claim on this machine was run
    pub is_partial: bool,
    /// what the paper claims, and what became of it
    pub claims: Vec<ClaimReport>,
}

/// The part of a figure with one number of threads.
#[derive(Clone, Debug, Serialize)]
pub struct Panel {
    /// the engine's threads; none where they are x
    pub threads: Option<usize>,
    /// by x, then by series
    pub points: Vec<Point>,
}

/// One series at one x.
#[derive(Clone, Debug, Serialize)]
pub struct Point {
    /// x, as text
    pub x: String,
    /// the series' label
    pub series: String,
    /// every repetition
    pub runs: Vec<RunReport>,
    /// every repetition of an experiment that is no run of calls, in its unit
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub measured: Vec<f64>,
}

impl Point {
    /// How many repetitions there are.
    pub fn repeats(&self) -> usize {
        self.runs.len().max(self.measured.len())
    }

    /// A metric in every repetition.
    pub fn values(&self, metric: Metric) -> Vec<f64> {
        if self.measured.is_empty() {
            return self.runs.iter().map(|run| metric.of(run)).collect();
        }
        self.measured.clone()
    }

    /// The mean of a metric over the repetitions.
    pub fn mean(&self, metric: Metric) -> f64 {
        let values = self.values(metric);
        values.iter().sum::<f64>() / values.len().max(1) as f64
    }

    /// The least and the greatest value of a metric.
    pub fn range(&self, metric: Metric) -> (f64, f64) {
        let values = self.values(metric).into_iter();
        values.fold((f64::INFINITY, f64::NEG_INFINITY), |(least, most), value| {
            (least.min(value), most.max(value))
        })
    }
}

impl Panel {
    /// What it is called beside the others.
    pub fn name(&self) -> Option<String> {
        self.threads.map(crate::driver::threads_text)
    }

    /// The values of x, from left to right.
    pub fn x_values(&self) -> Vec<&str> {
        let mut values: Vec<&str> = Vec::new();
        for point in &self.points {
            if !values.contains(&point.x.as_str()) {
                values.push(&point.x);
            }
        }
        values
    }

    /// The series' labels, in their order.
    pub fn series(&self) -> Vec<&str> {
        let of_first = |point: &&Point| point.x == self.points[0].x;
        self.points.iter().filter(of_first).map(|point| point.series.as_str()).collect()
    }

    /// The points of one series, from left to right.
    pub fn points_of<'a>(&'a self, series: &'a str) -> impl Iterator<Item = &'a Point> {
        self.points.iter().filter(move |point| point.series == series)
    }
}

impl FigureReport {
    pub(super) fn new(figure: &Figure, panels: Vec<Panel>) -> Self {
        Self {
            figure: figure.name.clone(),
            source: figure.source.clone(),
            title: figure.title.clone(),
            claim: figure.claim.clone(),
            x_label: figure.x.label.clone(),
            show: figure.show.clone(),
            panels,
            failed_checks: Vec::new(),
            cores: 0,
            repeats: 0,
            is_partial: false,
            claims: Vec::new(),
        }
    }

    /// Gives each of the figure's claims its verdict, on a machine with so many cores.
    pub(super) fn judge(&mut self, claims: &[Claim], cores: usize) -> Result<(), BenchError> {
        self.cores = cores;
        let points = self.panels.iter().flat_map(|panel| &panel.points);
        self.repeats = points.map(Point::repeats).min().unwrap_or(0);
        self.claims = judge(claims, self, cores)?;
        Ok(())
    }

    /// Takes back a verdict that another cost of coherence turns.
    pub(super) fn compare(&mut self, varied: &Self, percent: u64) {
        for (claim, other) in self.claims.iter_mut().zip(&varied.claims) {
            let pair = (claim.verdict, other.verdict);
            if matches!(
                pair,
                (Verdict::Shown, Verdict::Contrary) | (Verdict::Contrary, Verdict::Shown)
            ) {
                claim.reason = Some(format!(
                    "it hangs on what lines cost that travel between cores: {} at what the \
                     machine's table says, {} at {percent} % of it",
                    claim.verdict, other.verdict
                ));
                claim.verdict = Verdict::NotSeen;
            }
        }
    }

    /// Whether all checks hold, the workload's and the driver's.
    pub fn checks_hold(&self) -> bool {
        self.failed_checks.is_empty() && self.runs().all(RunReport::checks_hold)
    }

    fn runs(&self) -> impl Iterator<Item = &RunReport> {
        self.panels.iter().flat_map(|panel| &panel.points).flat_map(|point| &point.runs)
    }
}

/// Writes the figure for people: a table for each panel and metric, a row for each x.
///
/// # Errors
///
/// Those of `out`.
pub fn write_figure(figure: &FigureReport, style: Style, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "{}: {}", figure.figure, figure.title)?;
    writeln!(out, "{}", figure.source)?;
    writeln!(out, "Claim: {}", figure.claim)?;
    for panel in &figure.panels {
        for &metric in &figure.show {
            let of = panel.name().map(|name| format!(", {name}")).unwrap_or_default();
            writeln!(out, "\n{metric}{of}")?;
            write_panel(figure, panel, metric, style, out)?;
        }
    }
    for check in &figure.failed_checks {
        writeln!(out, "CHECK FAILED  {}: {}", check.name, check.detail)?;
    }
    for run in figure.runs().filter(|run| !run.checks_hold()) {
        for check in run.checks.iter().filter(|check| !check.holds) {
            let (name, detail) = (&check.name, &check.detail);
            writeln!(out, "CHECK FAILED  {}, {:?}: {name}: {detail}", run.engine, run.options)?;
        }
    }
    write_claims(figure, out)
}

/// What the paper claims, and what became of it.
fn write_claims(figure: &FigureReport, out: &mut dyn Write) -> io::Result<()> {
    if figure.claims.is_empty() {
        return Ok(());
    }
    let FigureReport { cores, repeats, .. } = figure;
    let s = |number: usize| if number == 1 { "" } else { "s" };
    writeln!(out, "\nVerdicts, {cores} core{}, {repeats} repeat{}", s(*cores), s(*repeats))?;
    for claim in &figure.claims {
        let provisional = if claim.provisional { " (provisional)" } else { "" };
        writeln!(out, "{}{provisional}: {}", claim.verdict, claim.says)?;
        if let Some(reason) = &claim.reason {
            writeln!(out, "    {reason}")?;
        }
        writeln!(out, "    checked: {}", claim.check)?;
        if let Some(decisive) = claim.decisive() {
            writeln!(out, "    {}; nearest to failing:", claim.counted())?;
            writeln!(out, "    {}", decisive.told())?;
        }
    }
    if figure.claims.iter().any(|claim| claim.provisional) {
        writeln!(out, "Provisional: from {repeats} repeats only; --repeat {REPEATS_MIN} or more.")?;
    }
    let count = |verdict| figure.claims.iter().filter(|claim| claim.verdict == verdict).count();
    let (shown, contrary) = (count(Verdict::Shown), count(Verdict::Contrary));
    let hidden = count(Verdict::NotSeen);
    writeln!(out, "{shown} shown, {contrary} contrary, {hidden} not to be seen here")
}

/// Writes what became of each claim, in a line, with the reason or what was measured.
///
/// # Errors
///
/// Those of `out`.
pub fn write_verdicts(figure: &FigureReport, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "{}  {} ({})", figure.figure, figure.title, figure.source)?;
    for claim in &figure.claims {
        let provisional = if claim.provisional { " (provisional)" } else { "" };
        let measured = claim.decisive().map(|decisive| decisive.told());
        let measured = measured.filter(|_| claim.verdict != Verdict::NotSeen);
        let why: Vec<_> = claim.reason.iter().cloned().chain(measured).collect();
        let why = why.join("; ");
        writeln!(out, "  {}{provisional}: {}: {why}", claim.verdict, claim.says)?;
    }
    for check in &figure.failed_checks {
        writeln!(out, "  CHECK FAILED  {}: {}", check.name, check.detail)?;
    }
    Ok(())
}

fn write_panel(
    figure: &FigureReport,
    panel: &Panel,
    metric: Metric,
    style: Style,
    out: &mut dyn Write,
) -> io::Result<()> {
    let mut header = vec![figure.x_label.clone()];
    header.extend(panel.series().into_iter().map(str::to_owned));
    let rows = panel.x_values().into_iter().map(|x| {
        let points = panel.points.iter().filter(|point| point.x == x);
        let cells = points.map(|point| cell(point, metric));
        std::iter::once(x.to_owned()).chain(cells).collect()
    });
    write_rows(header, rows.collect(), style, out)
}

/// The mean, and how far repetitions lie apart, in percent of it.
fn cell(point: &Point, metric: Metric) -> String {
    let mean = point.mean(metric);
    if mean.is_nan() {
        return "-".to_owned(); // the engine has no model
    }
    let text = match metric {
        Metric::Throughput | Metric::Model => grouped(mean.round() as u64),
        Metric::Seconds => format!("{mean:.3}"),
        _ => format!("{mean:.1}"),
    };
    let (least, most) = point.range(metric);
    if point.values(metric).len() < 2 || mean == 0.0 {
        return text;
    }
    format!("{text} ±{:.0}%", 50.0 * (most - least) / mean)
}

/// Writes the figure with all its runs as JSON.
///
/// # Errors
///
/// [`BenchError::Io`].
pub fn write_figure_json(figure: &FigureReport, mut out: impl Write) -> Result<(), BenchError> {
    serde_json::to_writer_pretty(&mut out, figure).map_err(io::Error::from)?;
    writeln!(out)?;
    Ok(())
}

/// Writes a line for each run: figure, threads, clients, series, x, and what was measured. An
/// experiment that is no run of calls has seconds only, or transactions a second.
///
/// # Errors
///
/// [`BenchError::Io`].
pub fn write_csv(figure: &FigureReport, mut out: impl Write) -> Result<(), BenchError> {
    let columns = "txn_per_s,conflict_aborts,committed,p50_us,wait";
    writeln!(out, "figure,threads,clients,series,x,seconds,{columns}")?;
    for panel in &figure.panels {
        for point in &panel.points {
            let place = |threads: usize, clients: usize| {
                let Point { series, x, .. } = point;
                format!("{},{threads},{clients},\"{series}\",{x}", figure.figure)
            };
            for value in &point.measured {
                let place = place(panel.threads.unwrap_or(0), 0);
                match figure.show.first() {
                    Some(Metric::Seconds) => writeln!(out, "{place},{value:.6},,,,,")?,
                    _ => writeln!(out, "{place},,{value:.1},,,,")?,
                }
            }
            for run in &point.runs {
                writeln!(
                    out,
                    "{},{:.6},{:.1},{},{},{},{:.4}",
                    place(run.threads, run.clients),
                    run.seconds,
                    run.txn_per_s,
                    run.conflict_aborts,
                    run.committed,
                    run.latency_us.p50,
                    run.time_breakdown.wait,
                )?;
            }
        }
    }
    Ok(())
}
