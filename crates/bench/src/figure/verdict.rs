//! Whether what a paper claims of a figure was seen: a verdict for each claim.
//!
//! Role         compares a figure that was run with its claims; knows neither how it was run nor
//!              how verdicts are written
//! Invariants   I1 a claim is a list of comparisons, each of which is one number (a value, a
//!              ratio, a difference of slopes) between bounds. The number is computed from the
//!              medians over all repeats, and once more within each repeat, whose runs are paired
//!              by its number. Noise alone moves it up as often as down: the spread of a series
//!              would be no such number, since noise only makes it larger
//!              I2 a comparison *holds* when the number of the medians lies within the bounds,
//!              those of at least 4 of 5 repeats do, and so does the whole 95 % interval of their
//!              mean (Student's t; of the logarithms where the number is a ratio). It *fails* when
//!              all three lie outside, with an interval of 1 - 0.05 / n for n comparisons of the
//!              claim: among many a chance failure is more likely. All else is *unclear*
//!              I3 a claim is shown when all comparisons hold, contrary when one fails, and else
//!              not to be seen here, because it was too noisy
//!              I4 whatever was measured, a claim is not to be seen here when a check of the run
//!              failed, the claim says so itself, the machine has not the cores, or places that
//!              it names were not run, or were for so short that nothing was committed. What was
//!              measured is told all the same
//!              I5 fewer than five repeats give no interval that says something: all of them have
//!              to agree, and the verdict is provisional

use std::fmt;

use serde::{Deserialize, Serialize};

use super::Cores;
use super::expect::{Bounds, Check, Claim, Knee, Scale, Side, Way, number, short};
use super::report::FigureReport;
use super::statistics::{interval, median};
use crate::error::BenchError;

/// Repeats from which on a verdict is more than provisional.
pub const REPEATS_MIN: usize = 5;
/// The confidence that a comparison holds or, shared by all of a claim, fails.
const CONFIDENCE: f64 = 0.95;

/// What became of a claim.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
pub enum Verdict {
    /// it was seen
    #[serde(rename = "shown")]
    Shown,
    /// it was measured to be otherwise
    #[serde(rename = "contrary")]
    Contrary,
    /// nothing can be said of it
    #[serde(rename = "not to be seen here")]
    NotSeen,
}

/// In words, as files have them.
impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.serialize(f)
    }
}

/// A claim of a figure, with its verdict.
#[derive(Clone, Debug, Serialize)]
pub struct ClaimReport {
    /// the claim, in a few words of the paper
    pub says: String,
    /// what was checked
    pub check: String,
    /// what became of it
    pub verdict: Verdict,
    /// whether there were too few repeats to be sure
    pub provisional: bool,
    /// why it is not to be seen here, or, where that is known, why it is otherwise
    pub reason: Option<String>,
    /// what was compared
    pub comparisons: Vec<Comparison>,
}

/// A number, and the bounds that it should lie in.
#[derive(Clone, Debug, Serialize)]
pub struct Comparison {
    /// what the number is of
    pub what: String,
    /// the least it may be
    pub at_least: Option<f64>,
    /// the most it may be
    pub at_most: Option<f64>,
    /// computed from the medians of all repeats
    pub measured: f64,
    /// computed within each repeat
    pub repeats: Vec<f64>,
    /// where their mean lies with a confidence of 95 %
    pub interval: Option<(f64, f64)>,
    /// how many of them lie in the bounds
    pub holds_in: usize,
    /// what follows
    pub outcome: Outcome,
}

/// What a comparison says.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// clearly outside of the bounds
    Fails,
    /// neither
    Unclear,
    /// clearly inside
    Holds,
}

impl Comparison {
    fn bounds(&self) -> Bounds {
        Bounds { least: self.at_least, most: self.at_most }
    }

    /// With what was measured, how far it spreads, and what was wanted.
    pub fn told(&self) -> String {
        let least = self.repeats.iter().copied().fold(f64::INFINITY, f64::min);
        let most = self.repeats.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let (low, high) = self.interval.unwrap_or((least, most));
        let spread = match self.repeats.len() {
            0 | 1 => String::new(),
            _ => format!(" ({} to {})", short(low), short(high)),
        };
        format!(
            "{}: {}{spread}, wanted {}; holds in {} of {}",
            self.what,
            short(self.measured),
            self.bounds(),
            self.holds_in,
            self.repeats.len()
        )
    }
}

impl ClaimReport {
    /// The comparison that is nearest to failing, or fails most.
    pub fn decisive(&self) -> Option<&Comparison> {
        self.comparisons.iter().min_by(|a, b| {
            let room = |comparison: &Comparison| comparison.bounds().room(comparison.measured);
            a.outcome.cmp(&b.outcome).then(room(a).total_cmp(&room(b)))
        })
    }

    /// How many comparisons there are and what becomes of them.
    pub fn counted(&self) -> String {
        let count = |outcome| self.comparisons.iter().filter(|c| c.outcome == outcome).count();
        let (holds, all) = (count(Outcome::Holds), self.comparisons.len());
        match all {
            1 => "1 comparison".to_owned(),
            _ if holds == all => format!("all of {all} comparisons hold"),
            _ => {
                let (fails, unclear) = (count(Outcome::Fails), count(Outcome::Unclear));
                format!("of {all} comparisons {holds} hold, {fails} fail, {unclear} are unclear")
            }
        }
    }
}

/// A verdict for each claim on a machine with so many cores.
///
/// # Errors
///
/// [`BenchError::Selection`] where a claim names what an experiment does not have.
pub(super) fn judge(
    claims: &[Claim],
    report: &FigureReport,
    cores: usize,
) -> Result<Vec<ClaimReport>, BenchError> {
    let of = |claim: &Claim| {
        let (missing, idle, parts) = (Vec::new(), Vec::new(), Vec::new());
        let mut judge = Judge { claim, report, missing, idle, parts };
        let unfit = |what| BenchError::Selection(format!("{}: {what}", claim.entry));
        if !report.is_partial || claim.is_decidable(cores) {
            judge.compare().map_err(unfit)?;
        }
        Ok(judge.verdict(cores))
    };
    claims.iter().map(of).collect()
}

/// A number that is computed from values of several points.
enum Statistic {
    /// of one
    Value,
    /// of the first over the second
    Ratio,
    /// the same, where 0 and 0 are alike
    Likeness,
    /// so many times the slope behind a knee less that before it, both the way it goes before it,
    /// over the mean value
    Slopes { before: Vec<f64>, behind: Vec<f64>, way: Way, steeper: f64 },
}

impl Statistic {
    fn of(&self, values: &[f64]) -> f64 {
        match self {
            Self::Value => values[0],
            Self::Ratio => values[0] / values[1],
            Self::Likeness if values[0] == values[1] => 1.0,
            Self::Likeness => values[0] / values[1],
            Self::Slopes { before, behind, way, steeper } => {
                let (left, right) = values.split_at(before.len());
                let (left, right) = (slope(before, left), slope(behind, right));
                let mean = values.iter().sum::<f64>() / values.len() as f64;
                let sign = if *way == Way::Falls { -1.0 } else { 1.0 };
                sign * (steeper * right - left) / mean
            }
        }
    }
}

/// Of the line with least squares.
fn slope(x: &[f64], y: &[f64]) -> f64 {
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
    let (x_mean, y_mean) = (mean(x), mean(y));
    let pairs = || x.iter().zip(y).map(|(x, y)| (x - x_mean, y - y_mean));
    pairs().map(|(x, y)| x * y).sum::<f64>() / pairs().map(|(x, _)| x * x).sum::<f64>()
}

/// A comparison before it is computed.
struct Part {
    what: String,
    statistic: Statistic,
    /// of each point, in every repeat
    points: Vec<Vec<f64>>,
    bounds: Bounds,
}

impl Part {
    /// `of` is how many comparisons the claim has.
    fn compare(&self, of: usize) -> Comparison {
        let repeats = self.points.iter().map(Vec::len).min().unwrap_or(0);
        let within = |repeat: usize| {
            let values: Vec<f64> = self.points.iter().map(|values| values[repeat]).collect();
            self.statistic.of(&values)
        };
        let each: Vec<f64> = (0..repeats).map(within).collect();
        let medians: Vec<f64> = self.points.iter().map(|values| median(values)).collect();
        let measured = self.statistic.of(&medians);
        let holds = each.iter().filter(|&&value| self.bounds.holds(value)).count();
        Comparison {
            what: self.what.clone(),
            at_least: self.bounds.least,
            at_most: self.bounds.most,
            measured,
            interval: self.interval(&each, CONFIDENCE),
            holds_in: holds,
            outcome: self.outcome(measured, &each, holds, of),
            repeats: each,
        }
    }

    /// I2 and I5.
    fn outcome(&self, measured: f64, each: &[f64], holds: usize, of: usize) -> Outcome {
        let repeats = each.len();
        let most_of_them = (4 * repeats).div_ceil(5);
        let no_number = each.iter().filter(|value| value.is_nan()).count();
        let fails = repeats - holds - no_number;
        // Without an interval all repeats have to agree.
        let agrees = |confidence: f64, count: usize, is_so: &dyn Fn(f64, f64) -> bool| {
            let interval = self.interval(each, confidence).filter(|_| repeats >= REPEATS_MIN);
            interval.map_or(count == repeats, |(low, high)| is_so(low, high))
        };
        let inside = |low: f64, high: f64| self.bounds.holds(low) && self.bounds.holds(high);
        let outside = |low: f64, high: f64| {
            self.bounds.least.is_some_and(|least| high < least)
                || self.bounds.most.is_some_and(|most| low > most)
        };
        if repeats == 0 || measured.is_nan() {
            Outcome::Unclear
        } else if self.bounds.holds(measured) {
            let is_clear = holds >= most_of_them && agrees(CONFIDENCE, holds, &inside);
            if is_clear { Outcome::Holds } else { Outcome::Unclear }
        } else {
            let confidence = 1.0 - (1.0 - CONFIDENCE) / of.max(1) as f64;
            let is_clear = fails >= most_of_them && agrees(confidence, fails, &outside);
            if is_clear { Outcome::Fails } else { Outcome::Unclear }
        }
    }

    fn interval(&self, each: &[f64], confidence: f64) -> Option<(f64, f64)> {
        if !matches!(self.statistic, Statistic::Ratio | Statistic::Likeness) {
            return interval(each, confidence);
        }
        let logarithms: Vec<f64> = each.iter().map(|value| value.ln()).collect();
        interval(&logarithms, confidence).map(|(low, high)| (low.exp(), high.exp()))
    }
}

/// One claim while it is compared.
struct Judge<'a> {
    claim: &'a Claim,
    report: &'a FigureReport,
    /// places that the claim names and that were not run
    missing: Vec<String>,
    /// where a run has committed nothing
    idle: Vec<String>,
    parts: Vec<Part>,
}

/// Where a number is read off.
#[derive(Clone, Copy, PartialEq)]
struct Spot<'a> {
    /// its number
    panel: usize,
    x: &'a str,
}

impl Claim {
    /// Why a machine with so many cores can show neither it nor the contrary, if so.
    pub(super) fn obstacle(&self, cores: usize) -> Option<String> {
        let Self { needs_cores, at_most_cores, because, .. } = self;
        if because.is_some() {
            return because.clone();
        }
        if cores < *needs_cores {
            return Some(format!("it needs {needs_cores} cores, and there are {cores}"));
        }
        let most = at_most_cores.filter(|&most| cores > most)?;
        Some(format!("it needs at most {most} cores, and there are {cores}"))
    }
}

impl<'a> Judge<'a> {
    fn verdict(self, cores: usize) -> ClaimReport {
        let all = self.parts.len();
        let comparisons: Vec<_> = self.parts.iter().map(|part| part.compare(all)).collect();
        let repeats = comparisons.iter().map(|c| c.repeats.len()).min().unwrap_or(0);
        let mut report = ClaimReport {
            says: self.claim.says.clone(),
            check: self.claim.to_string(),
            verdict: Verdict::NotSeen,
            provisional: repeats < REPEATS_MIN && !comparisons.is_empty(),
            reason: self.obstacle(cores),
            comparisons,
        };
        if report.reason.is_some() {
            // What is out of reach stays so with more repeats.
            report.provisional = false;
            return report;
        }
        match report.decisive() {
            None => report.reason = Some("nothing was measured that it speaks of".to_owned()),
            Some(decisive) => match decisive.outcome {
                Outcome::Holds => report.verdict = Verdict::Shown,
                Outcome::Fails => {
                    report.verdict = Verdict::Contrary;
                    report.reason = self.claim.why_on(Cores::here()).cloned();
                }
                Outcome::Unclear if decisive.measured.is_nan() => {
                    let what = &decisive.what;
                    report.reason = Some(format!("nothing to compare: {what}: both are 0"));
                }
                Outcome::Unclear => {
                    let (holds, of) = (decisive.holds_in, decisive.repeats.len());
                    let what = &decisive.what;
                    let text = format!("too noisy: {what} is as wanted in {holds} of {of} repeats");
                    report.reason = Some(text);
                }
            },
        }
        report
    }

    /// I4.
    fn obstacle(&self, cores: usize) -> Option<String> {
        if !self.report.checks_hold() {
            return Some("a check failed: what was measured means nothing".to_owned());
        }
        let of_machine = self.claim.obstacle(cores);
        if of_machine.is_some() {
            return of_machine;
        }
        let missing = self.missing.join(", ");
        if !missing.is_empty() {
            return Some(format!("not run with {missing}; --threads has it run"));
        }
        let first = self.idle.first()?;
        Some(format!("nothing was committed in a run of {first}: --seconds makes it longer"))
    }

    fn compare(&mut self) -> Result<(), String> {
        let claim = self.claim;
        let Some(check) = &claim.check else { return Ok(()) };
        if let Check::Ratio { of, to, bounds } = check {
            return self.ratio(of, to, *bounds);
        }
        for panel in self.panels() {
            let mut xs = self.xs(panel)?;
            let is_of_several = !matches!(check, Check::Order { .. } | Check::Value { .. });
            if is_of_several && xs.len() < 2 {
                // Most of what it names was not run: it is told of what was.
                xs = self.report.panels[panel].x_values();
            }
            let spots: Vec<_> = xs.into_iter().map(|x| Spot { panel, x }).collect();
            match check {
                Check::Order { ranks, tolerance } => {
                    let bounds = Bounds::at_least(1.0 - tolerance);
                    for &spot in &spots {
                        self.order(ranks, spot, bounds)?;
                    }
                }
                Check::Value { series, bounds } => {
                    for &spot in &spots {
                        for name in series {
                            let what = format!("{name}{}", self.place(spot));
                            self.part(what, Statistic::Value, &[(name, spot)], *bounds)?;
                        }
                    }
                }
                Check::Flat { series, tolerance } => {
                    for name in series {
                        self.flat(name, &spots, *tolerance)?;
                    }
                }
                Check::Moves { series, way, factor, monotone_within } => {
                    for name in series {
                        self.moves(name, &spots, (*way, *factor), *monotone_within)?;
                    }
                }
                Check::Knee { series, knee } => {
                    for name in series {
                        self.knee(name, &spots, knee)?;
                    }
                }
                Check::Ratio { .. } => {}
            }
        }
        Ok(())
    }

    /// Each of a rank over each of the next.
    fn order(&mut self, ranks: &[Vec<String>], spot: Spot<'a>, at: Bounds) -> Result<(), String> {
        for pair in ranks.windows(2) {
            for above in &pair[0] {
                for below in &pair[1] {
                    self.quotient((above, spot), (below, spot), at)?;
                }
            }
        }
        Ok(())
    }

    fn ratio(&mut self, of: &Side, to: &Side, bounds: Bounds) -> Result<(), String> {
        let both_have_threads = of.threads.is_some() && to.threads.is_some();
        let mut panels = self.panels();
        panels.truncate(if both_have_threads { 1 } else { usize::MAX });
        for panel in panels {
            let mut xs = self.xs(panel)?;
            xs.truncate(if of.x.is_some() && to.x.is_some() { 1 } else { usize::MAX });
            for x in xs {
                let here = Spot { panel, x };
                let (above, below) = (self.spot(of, here)?, self.spot(to, here)?);
                for name in &of.series {
                    let itself = std::slice::from_ref(name);
                    let others = if to.series.is_empty() { itself } else { &to.series[..] };
                    for other in others {
                        self.quotient((name, above), (other, below), bounds)?;
                    }
                }
            }
        }
        Ok(())
    }

    /// Every value over every later one.
    fn flat(&mut self, name: &str, spots: &[Spot<'a>], tolerance: f64) -> Result<(), String> {
        let least = 1.0 - tolerance;
        let bounds = Bounds { least: Some(least), most: Some(1.0 / least) };
        for (at, &first) in spots.iter().enumerate() {
            for &second in &spots[at + 1..] {
                let what = self.quotient_text((name, first), (name, second));
                let places = [(name, first), (name, second)];
                self.part(what, Statistic::Likeness, &places, bounds)?;
            }
        }
        Ok(())
    }

    fn moves(
        &mut self,
        name: &str,
        spots: &[Spot<'a>],
        (way, factor): (Way, f64),
        monotone_within: Option<f64>,
    ) -> Result<(), String> {
        let [first, .., last] = spots else { return Ok(()) };
        let bounds = Bounds::at_least(factor);
        match way {
            Way::Falls => self.quotient((name, *first), (name, *last), bounds)?,
            Way::Rises => self.quotient((name, *last), (name, *first), bounds)?,
        }
        let Some(share) = monotone_within else { return Ok(()) };
        let bounds = match way {
            Way::Falls => Bounds::at_most(1.0 + share),
            Way::Rises => Bounds::at_least(1.0 - share),
        };
        spots
            .windows(2)
            .try_for_each(|step| self.quotient((name, step[1]), (name, step[0]), bounds))
    }

    /// Up to the knee it goes its way by a factor, and behind it is less steep: slopes are those
    /// of a line of least squares through the values on each side.
    fn knee(&mut self, name: &str, spots: &[Spot<'a>], knee: &Knee) -> Result<(), String> {
        let number = |spot: &Spot<'_>| number(spot.x);
        let xs = spots.iter().map(number).collect::<Result<Vec<_>, _>>()?;
        let side = |is_on_it: &dyn Fn(f64) -> bool| {
            let mut side: Vec<_> = xs
                .iter()
                .copied()
                .zip(spots.iter().copied())
                .filter(|(x, _)| is_on_it(*x))
                .collect();
            side.sort_by(|a, b| a.0.total_cmp(&b.0));
            side
        };
        let (before, behind) = (side(&|x| x <= knee.left), side(&|x| x >= knee.right));
        if before.len() < 2 || behind.len() < 2 {
            return Ok(());
        }
        let ends: Vec<_> = [before[0], before[before.len() - 1]].map(|(_, spot)| spot).to_vec();
        self.moves(name, &ends, (knee.before, knee.factor), None)?;
        let scaled = |x: f64| if knee.scale == Scale::Log { x.ln() } else { x };
        let distances = |side: &[(f64, Spot<'_>)]| side.iter().map(|(x, _)| scaled(*x)).collect();
        let statistic = Statistic::Slopes {
            before: distances(&before),
            behind: distances(&behind),
            way: knee.before,
            steeper: knee.steeper,
        };
        let threads = self.threads(before[0].1.panel);
        let times = short(knee.steeper);
        let what = format!("{name}, {times} x slope behind the knee - slope before it{threads}");
        let places: Vec<_> = before.iter().chain(&behind).map(|(_, spot)| (name, *spot)).collect();
        self.part(what, statistic, &places, Bounds::at_most(0.0))
    }

    fn quotient(
        &mut self,
        (above, at): (&str, Spot<'a>),
        (below, to): (&str, Spot<'a>),
        bounds: Bounds,
    ) -> Result<(), String> {
        // Both where the nearest place that was run stands for the one that was not.
        if above == below && at == to {
            return Ok(());
        }
        let what = self.quotient_text((above, at), (below, to));
        self.part(what, Statistic::Ratio, &[(above, at), (below, to)], bounds)
    }

    fn quotient_text(
        &self,
        (above, at): (&str, Spot<'_>),
        (below, to): (&str, Spot<'_>),
    ) -> String {
        let (label, threads) = (&self.report.x_label, self.threads(at.panel));
        match (at == to, above == below && at.panel == to.panel) {
            (true, _) => format!("{above} / {below}{}", self.place(at)),
            (_, true) => format!("{above}, {label} = {} / {}{threads}", at.x, to.x),
            _ => format!("{above}{} / {below}{}", self.place(at), self.place(to)),
        }
    }

    fn part(
        &mut self,
        what: String,
        statistic: Statistic,
        places: &[(&str, Spot<'_>)],
        bounds: Bounds,
    ) -> Result<(), String> {
        let points = places.iter().map(|(series, spot)| self.values(series, *spot));
        let points = points.collect::<Result<_, _>>()?;
        self.parts.push(Part { what, statistic, points, bounds });
        Ok(())
    }

    /// In every repeat.
    fn values(&mut self, series: &str, spot: Spot<'_>) -> Result<Vec<f64>, String> {
        let panel = &self.report.panels[spot.panel];
        let mut points = panel.points_of(series);
        let point = points.find(|point| point.x == spot.x).ok_or_else(|| {
            let known = panel.series().join("\", \"");
            format!("there is no series \"{series}\" at {}; there are \"{known}\"", spot.x)
        })?;
        if point.runs.iter().any(|run| run.committed == 0) {
            self.idle.push(format!("{series}{}", self.place(spot)));
        }
        let mut sums = vec![0.0; point.repeats()];
        for &metric in &self.claim.metrics {
            for (sum, value) in sums.iter_mut().zip(point.values(metric)) {
                *sum += value;
            }
        }
        Ok(sums)
    }

    /// Those that the claim speaks of; the one with most threads for those that were not run.
    fn panels(&mut self) -> Vec<usize> {
        if self.claim.threads.is_empty() {
            return (0..self.report.panels.len()).collect();
        }
        let mut panels = Vec::new();
        for &threads in &self.claim.threads {
            let panel = self.panel(threads);
            panels.extend(panel.filter(|panel| !panels.contains(panel)));
        }
        panels
    }

    fn panel(&mut self, threads: usize) -> Option<usize> {
        let panels = &self.report.panels;
        let found = panels.iter().position(|panel| panel.threads == Some(threads));
        if found.is_none() {
            self.miss(crate::driver::threads_text(threads));
        }
        found.or_else(|| (0..panels.len()).max_by_key(|&panel| panels[panel].threads))
    }

    /// Those that the claim speaks of, in its order.
    fn xs(&mut self, panel: usize) -> Result<Vec<&'a str>, String> {
        let claim = self.claim;
        if claim.at.is_empty() {
            return Ok(self.report.panels[panel].x_values());
        }
        let mut xs = Vec::new();
        for x in &claim.at {
            let x = self.x(panel, x)?;
            if !xs.contains(&x) {
                xs.push(x);
            }
        }
        Ok(xs)
    }

    /// Where x is the number of threads and this one was not run, the greatest that was.
    fn x(&mut self, panel: usize, x: &str) -> Result<&'a str, String> {
        let report = self.report;
        let known = report.panels[panel].x_values();
        if let Some(found) = known.iter().copied().find(|known| *known == x) {
            return Ok(found);
        }
        let size = |x: &str| x.parse().unwrap_or(f64::NEG_INFINITY);
        let greatest = known.iter().copied().max_by(|a, b| size(a).total_cmp(&size(b)));
        match (report.panels[panel].threads, greatest) {
            (None, Some(greatest)) => {
                self.miss(format!("{} = {x}", report.x_label));
                Ok(greatest)
            }
            _ => Err(format!("x is never {x}; its values are {}", known.join(", "))),
        }
    }

    fn spot(&mut self, side: &Side, here: Spot<'a>) -> Result<Spot<'a>, String> {
        let panel = side.threads.and_then(|threads| self.panel(threads)).unwrap_or(here.panel);
        let x = side.x.as_deref().map(|x| self.x(panel, x)).transpose()?.unwrap_or(here.x);
        Ok(Spot { panel, x })
    }

    fn miss(&mut self, what: String) {
        if !self.missing.contains(&what) {
            self.missing.push(what);
        }
    }

    fn place(&self, spot: Spot<'_>) -> String {
        format!(", {} = {}{}", self.report.x_label, spot.x, self.threads(spot.panel))
    }

    fn threads(&self, panel: usize) -> String {
        let name = self.report.panels[panel].name();
        name.map(|name| format!(", {name}")).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests;

#[cfg(test)]
mod claims_tests;
