//! No claim of any figure is empty words: each is shown by numbers just inside of what it allows,
//! contrary by numbers just outside, and turned by each single point that it speaks of. What that
//! is, is read off the entry here once more, apart from how it is judged.

use std::collections::BTreeSet;

use super::super::expect::claims;
use super::super::figures;
use super::super::report::{Panel, Point};
use super::super::{Figure, Varying};
use super::*;

/// How far inside, or outside, of a bound numbers are.
const JUST: f64 = 1.02;
/// How repeats differ.
const NOISE: [f64; 5] = [1.0, 1.0002, 0.9998, 1.0001, 0.9999];
/// How far a point is moved away.
const FAR: f64 = 64.0;

/// A point of a figure. What a claim does not speak of is no number, so that whoever reads it finds
/// nothing.
#[derive(Clone, Copy, PartialEq, Debug)]
struct At<'a> {
    series: &'a str,
    x: &'a str,
    threads: Option<usize>,
}

/// All points of a figure that is run with what a claim names.
struct Table {
    series: Vec<String>,
    xs: Vec<String>,
    threads: Vec<Option<usize>>,
}

impl Table {
    fn of(figure: &Figure, claim: &Claim) -> Self {
        let sides = claim.sides();
        let mut table = Self { series: Vec::new(), xs: Vec::new(), threads: Vec::new() };
        let labels = figure.series.iter().map(|series| &series.label);
        labels.chain(claim.series()).for_each(|label| add(&mut table.series, label));
        let values: Vec<_> = figure.x.values.iter().map(ToString::to_string).collect();
        let named = claim.at.iter().chain(sides.iter().filter_map(|side| side.x.as_ref()));
        values.iter().chain(named).for_each(|x| add(&mut table.xs, x));
        if figure.experiment.is_some() {
            // It has values of its own, whatever they are.
            let around = match &claim.check {
                Some(Check::Knee { knee, .. }) => {
                    let Knee { left, right, .. } = knee;
                    vec![left / 2.0, *left, *right, right * 2.0]
                }
                _ => vec![1.0, 2.0, 4.0],
            };
            around.iter().for_each(|x| add(&mut table.xs, &x.to_string()));
        }
        let given = sides.iter().filter_map(|side| side.threads);
        let all = figure.threads.iter().copied().chain(claim.threads.iter().copied()).chain(given);
        all.for_each(|threads| add(&mut table.threads, &Some(threads)));
        if table.threads.is_empty() {
            assert!(figure.x.by == Varying::Threads || figure.experiment.is_some());
            table.threads.push(None);
        }
        table
    }

    /// The report of runs in which every point is `value` of it, but for noise.
    fn report(&self, figure: &Figure, value: &dyn Fn(At<'_>) -> f64) -> FigureReport {
        let panel = |&threads: &Option<usize>| {
            let point = |x: &String, series: &String| {
                let value = value(At { series, x, threads });
                let (row, x, series) = (series.len() + x.len(), x.clone(), series.clone());
                let noise = (0..NOISE.len()).map(|n| NOISE[(n + row) % NOISE.len()]);
                let measured = noise.map(|noise| value * noise).collect();
                Point { x, series, runs: Vec::new(), measured }
            };
            let points =
                self.xs.iter().flat_map(|x| self.series.iter().map(move |series| point(x, series)));
            Panel { threads, points: points.collect() }
        };
        FigureReport::new(figure, self.threads.iter().map(panel).collect())
    }
}

fn add<T: Clone + PartialEq>(all: &mut Vec<T>, one: &T) {
    if !all.contains(one) {
        all.push(one.clone());
    }
}

/// Numbers for all points of a figure.
type Numbers<'a> = Box<dyn Fn(At<'_>) -> f64 + 'a>;

/// A claim, and the values of x that it speaks of, in its order.
struct Spoken<'a> {
    claim: &'a Claim,
    xs: &'a [String],
}

impl<'a> Spoken<'a> {
    /// Numbers that lie inside of each of the claim's bounds by a factor; outside, if that is below
    /// 1. One set for each bound, of which all other bounds hold.
    fn numbers(&self, level: f64) -> Vec<Numbers<'a>> {
        let Self { claim, xs } = *self;
        if let Some(Check::Ratio { of, to, bounds }) = &claim.check {
            let ratio = move |ratio: f64| -> Numbers<'a> {
                Box::new(move |at| self::ratio(claim, (of, to), at, ratio))
            };
            return edges(*bounds, level).into_iter().map(ratio).collect();
        }
        let all = self.numbers_of_all(level).into_iter();
        let spoken = |numbers: Numbers<'a>| -> Numbers<'a> {
            Box::new(move |at| {
                let is_series = claim.series().iter().any(|series| *series == at.series);
                let is_spoken = is_series && has(xs, at.x) && is_panel(claim, at);
                if is_spoken { numbers(at) } else { f64::NAN }
            })
        };
        all.map(spoken).collect()
    }

    /// As [`Spoken::numbers`], of a claim that is no ratio.
    fn numbers_of_all(&self, level: f64) -> Vec<Numbers<'a>> {
        match self.claim.check.as_ref().expect("it is checked") {
            Check::Ratio { .. } => unreachable!("it has sides"),
            Check::Order { ranks, tolerance } => {
                let step = |of: usize| -> Numbers<'a> {
                    let (decisive, tolerance) = ((1.0 - tolerance) * level, *tolerance);
                    Box::new(move |at| {
                        let own = ranks.iter().position(|rank| has(rank, at.series));
                        let own = own.expect("it is spoken of");
                        let steps = (0..own).map(|rank| match rank == of {
                            true => decisive,
                            false => (1.0 - tolerance) * JUST,
                        });
                        1.0 / steps.product::<f64>()
                    })
                };
                (0..ranks.len() - 1).map(step).collect()
            }
            Check::Value { bounds, .. } => {
                let of_each = 1.0 / self.claim.metrics.len() as f64; // what is read is their sum
                let value = |value: f64| -> Numbers<'a> { Box::new(move |_| of_each * value) };
                edges(*bounds, level).into_iter().map(value).collect()
            }
            Check::Flat { tolerance, .. } => {
                let end = (1.0 - tolerance) * level;
                vec![self.along(move |way| end.powf(way)), self.along(move |way| end.powf(-way))]
            }
            Check::Moves { way, factor, monotone_within, .. } => {
                let (factor, sign) = (*factor, if *way == Way::Falls { -1.0 } else { 1.0 });
                let mut all = vec![self.along(move |way| (factor * level).powf(sign * way))];
                if let Some(share) = *monotone_within {
                    // The first step goes back, all others go far.
                    let back =
                        if sign < 0.0 { (1.0 + share) / level } else { (1.0 - share) * level };
                    let first = 1.0 / (self.xs.len() - 1) as f64;
                    let end = (FAR * factor).powf(sign);
                    all.push(self.along(move |way| match way {
                        0.0 => 1.0,
                        way if way <= first => back,
                        way => end.powf(way),
                    }));
                }
                all
            }
            Check::Knee { knee, .. } => vec![
                self.knee(knee, knee.factor * level, 0.0),
                self.knee(knee, knee.factor * JUST, 1.0 / (knee.steeper * level)),
            ],
        }
    }

    /// Numbers by how far x is on its way from the first to the last of those spoken of.
    fn along(&self, value: impl Fn(f64) -> f64 + 'a) -> Numbers<'a> {
        let xs = self.xs;
        Box::new(move |at| {
            let place = xs.iter().position(|x| x == at.x).expect("it is spoken of");
            value(place as f64 / (xs.len() - 1) as f64)
        })
    }

    /// Whether a value of x has to turn the claim by itself.
    fn is_decisive(&self, x: &str) -> bool {
        let is_end = [self.xs.first(), self.xs.last()].iter().flatten().any(|end| *end == x);
        match &self.claim.check {
            // Those between may lie anywhere, or weigh little.
            Some(Check::Moves { monotone_within: None, .. } | Check::Knee { .. }) => is_end,
            _ => true,
        }
    }

    /// Numbers that change by a factor before a knee, and behind it by so many times that slope.
    fn knee(&self, knee: &'a Knee, factor: f64, behind: f64) -> Numbers<'a> {
        let scaled = |x: f64| if knee.scale == Scale::Log { x.ln() } else { x };
        let number = |x: &str| number(x).expect("it was read");
        let before = self.xs.iter().map(|x| number(x)).filter(|x| *x <= knee.left);
        let (first, last) = before.fold((f64::INFINITY, f64::NEG_INFINITY), |(first, last), x| {
            (first.min(x), last.max(x))
        });
        let way = move |x: f64| {
            let whole = scaled(last) - scaled(first);
            let way = (scaled(x.min(last)) - scaled(first)) / whole;
            let further = (scaled(x.max(knee.right)) - scaled(knee.right)) / whole;
            way + behind * further
        };
        let (from, to) = match knee.before {
            Way::Rises => (1.0, factor),
            Way::Falls => (factor, 1.0),
        };
        Box::new(move |at| from + (to - from) * way(number(at.x)))
    }
}

fn has(names: &[String], name: &str) -> bool {
    names.iter().any(|known| known == name)
}

/// Whether a claim speaks of a point's number of threads.
fn is_panel(claim: &Claim, at: At<'_>) -> bool {
    let all = &claim.threads;
    all.is_empty() || at.threads.is_some_and(|threads| all.contains(&threads))
}

/// Beside each bound, inside by a factor.
fn edges(bounds: Bounds, level: f64) -> Vec<f64> {
    let least = bounds.least.map(|least| least * level);
    let most = bounds.most.map(|most| match most {
        0.0 if level < 1.0 => 1.0,
        most => most / level,
    });
    least.into_iter().chain(most).collect()
}

/// `ratio` where a numerator is read off, 1 where a denominator is. Where a point may be both, it
/// belongs to the side that says more of where it is.
fn ratio(claim: &Claim, (of, to): (&Side, &Side), at: At<'_>, ratio: f64) -> f64 {
    let is_of = |side: &Side| {
        let series = if side.series.is_empty() { &of.series } else { &side.series };
        let is_x = match &side.x {
            Some(x) => x == at.x,
            None => claim.at.is_empty() || has(&claim.at, at.x),
        };
        let is_panel = match side.threads {
            Some(threads) => at.threads == Some(threads),
            None => is_panel(claim, at),
        };
        has(series, at.series) && is_x && is_panel
    };
    let said = |side: &Side| usize::from(side.x.is_some()) + usize::from(side.threads.is_some());
    let mut sides = [(of, ratio), (to, 1.0)];
    sides.sort_by_key(|(side, _)| std::cmp::Reverse(said(side)));
    sides.iter().find(|(side, _)| is_of(side)).map_or(f64::NAN, |(_, value)| *value)
}

/// The report on a claim as if it could be seen.
fn judged(
    figure: &Figure,
    claim: &Claim,
    table: &Table,
    value: &dyn Fn(At<'_>) -> f64,
) -> ClaimReport {
    let report = table.report(figure, value);
    let all = std::slice::from_ref(claim);
    judge(all, &report, claim.needs_cores).expect("all points are there").remove(0)
}

/// Moves each single point far away: all that decide turn the claim, and every comparison turns
/// with one of them.
fn check_points(figure: &Figure, spoken: &Spoken<'_>, table: &Table, entry: &str) {
    let (claim, value) = (spoken.claim, &spoken.numbers(JUST)[0]);
    let mut turned = vec![false; judged(figure, claim, table, value).comparisons.len()];
    for (x, &threads) in table.xs.iter().flat_map(|x| table.threads.iter().map(move |t| (x, t))) {
        for series in &table.series {
            let moved = At { series, x, threads };
            if value(moved).is_nan() {
                continue;
            }
            let mut turns = false;
            for way in [FAR, 1.0 / FAR] {
                let far = |at: At<'_>| match at == moved {
                    true if way > 1.0 => (value(at) + 1.0) * way,
                    true => value(at) * way,
                    false => value(at),
                };
                let judged = judged(figure, claim, table, &far);
                turns |= judged.verdict == Verdict::Contrary;
                for (turned, comparison) in turned.iter_mut().zip(&judged.comparisons) {
                    *turned |= comparison.outcome == Outcome::Fails;
                }
            }
            assert!(turns || !spoken.is_decisive(x), "{entry}: {moved:?} decides nothing");
        }
    }
    assert!(!turned.is_empty() && !turned.contains(&false), "{entry}: {turned:?}");
}

#[test]
fn every_claim_of_every_figure_turns_with_what_it_speaks_of() {
    let mut kinds = BTreeSet::new();
    for figure in figures() {
        let all = claims(&figure).expect("they were checked");
        for (mut claim, expect) in all.into_iter().zip(&figure.expect) {
            claim.because = None; // as if it could be seen here
            if claim.check.is_none() {
                continue;
            }
            kinds.extend(expect.kind.clone());
            let table = Table::of(&figure, &claim);
            let xs = if claim.at.is_empty() { &table.xs } else { &claim.at };
            let spoken = Spoken { claim: &claim, xs };
            let entry = format!("{} ({}): {claim}", claim.entry, claim.says);
            let (inside, outside) = (spoken.numbers(JUST), spoken.numbers(1.0 / JUST));
            for numbers in &inside {
                let shown = judged(&figure, &claim, &table, numbers);
                assert_eq!(shown.verdict, Verdict::Shown, "{entry}: {shown:#?}");
            }
            for numbers in &outside {
                let contrary = judged(&figure, &claim, &table, numbers);
                assert_eq!(contrary.verdict, Verdict::Contrary, "{entry}: {contrary:#?}");
            }
            check_points(&figure, &spoken, &table, &entry);
        }
    }
    let kinds: Vec<_> = kinds.iter().map(String::as_str).collect();
    assert_eq!(kinds, ["falls", "flat", "knee", "order", "ratio", "rises", "value"]);
}
