//! Verdicts of every kind of claim on numbers that are made up.

use super::super::expect::claims;
use super::super::report::{Panel, Point};
use super::super::tests::MADE_UP;
use super::super::{Figure, parse};
use super::*;
use crate::report::CheckReport;

/// How runs of a quiet machine lie around what they would be.
const QUIET: [f64; 5] = [1.0, 1.02, 0.98, 1.01, 0.99];
/// And of one that others use.
const NOISY: [f64; 5] = [1.0, 1.6, 0.6, 1.35, 0.7];

fn figure(entry: &str) -> Figure {
    let text = format!("{MADE_UP}\n[[figure.expect]]\nsays = \"so it is\"\n{entry}");
    parse(&text).unwrap_or_else(|error| panic!("{error}")).remove(0)
}

/// A figure whose every point is `value(series, x, threads)` times one of `noise` in each repeat;
/// noise of different series is shifted against each other.
fn measured(
    figure: &Figure,
    noise: &[f64],
    value: &dyn Fn(&str, f64, usize) -> f64,
) -> FigureReport {
    let panel = |&threads: &usize| {
        let xs = figure.x.values.iter().map(|x| x.to_string());
        let points = xs.enumerate().flat_map(|(column, x)| {
            figure.series.iter().enumerate().map(move |(row, series)| {
                let at: f64 = x.parse().expect("the values of x are numbers");
                let noise = (0..noise.len()).map(|n| noise[(n + row + column) % noise.len()]);
                let seconds =
                    noise.map(|noise| value(&series.label, at, threads) * noise).collect();
                Point {
                    x: x.clone(),
                    series: series.label.clone(),
                    runs: Vec::new(),
                    measured: seconds,
                }
            })
        });
        Panel { threads: Some(threads), points: points.collect() }
    };
    let panels = figure.threads.iter().map(panel).collect();
    FigureReport::new(figure, panels)
}

fn verdict_of(
    entry: &str,
    cores: usize,
    noise: &[f64],
    value: &dyn Fn(&str, f64, usize) -> f64,
) -> ClaimReport {
    let figure = figure(entry);
    let report = measured(&figure, noise, value);
    let claims = claims(&figure).expect("they were checked");
    judge(&claims, &report, cores).expect("all points are there").remove(0)
}

/// The verdicts where it is so, where it is not, where nobody can tell, and on too few cores.
fn check(
    entry: &str,
    so: &dyn Fn(&str, f64, usize) -> f64,
    not_so: &dyn Fn(&str, f64, usize) -> f64,
) {
    let entry = &format!("{entry}\nneeds_cores = 2");
    let shown = verdict_of(entry, 2, &QUIET, so);
    assert_eq!((shown.verdict, shown.provisional), (Verdict::Shown, false), "{shown:#?}");
    assert!(shown.reason.is_none() && !shown.comparisons.is_empty());
    let contrary = verdict_of(entry, 2, &QUIET, not_so);
    assert_eq!((contrary.verdict, contrary.provisional), (Verdict::Contrary, false), "{entry}");
    let alone = verdict_of(entry, 1, &QUIET, not_so);
    assert_eq!(alone.verdict, Verdict::NotSeen, "{entry}");
    assert_eq!(alone.reason.as_deref(), Some("it needs 2 cores, and there are 1"));
    assert_eq!(alone.comparisons.len(), contrary.comparisons.len(), "it is told all the same");
}

/// Where nobody can tell.
fn check_noisy(entry: &str, value: &dyn Fn(&str, f64, usize) -> f64) {
    let noisy = verdict_of(entry, 2, &NOISY, value);
    assert_eq!(noisy.verdict, Verdict::NotSeen, "{noisy:#?}");
    let reason = noisy.reason.expect("it is told why");
    assert!(reason.starts_with("too noisy: ") && reason.contains(" of 5"), "{reason}");
}

fn by_series(a: f64, b: f64, c: f64) -> impl Fn(&str, f64, usize) -> f64 {
    move |series, _, _| match series {
        "A" => a,
        "B" => b,
        _ => c,
    }
}

#[test]
fn an_order() {
    let entry = "kind = \"order\"\nseries = [\"A\", [\"B\", \"C\"]]\nat = [4, 8]";
    check(entry, &by_series(1.5, 1.2, 1.0), &by_series(1.5, 1.2, 1.8));
    check_noisy(entry, &by_series(1.05, 1.0, 1.0));
    let tolerant = "kind = \"order\"\nseries = [\"A\", \"B\"]\ntolerance = 0.2";
    check(tolerant, &by_series(1.0, 1.1, 0.0), &by_series(1.0, 1.5, 0.0));
}

#[test]
fn series_that_are_swapped_turn_shown_into_contrary() {
    let value = by_series(1.3, 1.0, 1.0);
    let written = |first: &str, second: &str| {
        let entry = format!("kind = \"order\"\nseries = [\"{first}\", \"{second}\"]");
        verdict_of(&entry, 2, &QUIET, &value)
    };
    let (shown, contrary) = (written("A", "B"), written("B", "A"));
    assert_eq!(shown.verdict, Verdict::Shown);
    assert_eq!(contrary.verdict, Verdict::Contrary);
    assert_eq!(shown.comparisons.len(), 8, "two panels of four values of x");
    assert!(contrary.comparisons.iter().all(|c| c.outcome == Outcome::Fails && c.holds_in == 0));
    let told = contrary.decisive().expect("it was compared").told();
    assert!(told.starts_with("B / A, hot = ") && told.contains("holds in 0 of 5"), "{told}");
    // The same for what was measured: the claim stays as it is.
    let swapped = by_series(1.0, 1.3, 1.0);
    let entry = "kind = \"order\"\nseries = [\"A\", \"B\"]";
    assert_eq!(verdict_of(entry, 2, &QUIET, &swapped).verdict, Verdict::Contrary);
}

#[test]
fn a_ratio_of_series_of_x_and_of_threads() {
    let near = "kind = \"ratio\"\nof = { series = \"A\" }\nto = { series = \"B\" }\nnear = 2\n\
                tolerance = 0.2";
    check(near, &by_series(2.1, 1.0, 0.0), &by_series(3.0, 1.0, 0.0));
    check(near, &by_series(1.9, 1.0, 0.0), &by_series(1.0, 1.0, 0.0));
    check_noisy(near, &by_series(2.1, 1.0, 0.0));
    let by_x = "kind = \"ratio\"\nof = { series = [\"A\", \"B\"], x = 8 }\nto = { x = 1 }\n\
                at_least = 4";
    check(by_x, &|_, x, _| x, &|_, x, _| x.sqrt());
    let by_threads = "kind = \"ratio\"\nof = { series = \"A\", threads = 2 }\n\
                      to = { series = \"A\", threads = 1 }\nat_least = 1.5\nat_most = 2.2";
    check(by_threads, &|_, _, threads| threads as f64, &|_, _, _| 1.0);
}

#[test]
fn a_value() {
    let entry = "kind = \"value\"\nseries = [\"A\"]\nat_least = 10\nat_most = 20";
    check(entry, &by_series(15.0, 0.0, 0.0), &by_series(30.0, 0.0, 0.0));
    check_noisy(entry, &by_series(12.0, 0.0, 0.0));
    let nothing = "kind = \"value\"\nseries = [\"A\"]\nat_most = 0";
    check(nothing, &by_series(0.0, 0.0, 0.0), &by_series(3.0, 0.0, 0.0));
}

#[test]
fn a_flat_series() {
    let entry = "kind = \"flat\"\nseries = [\"A\"]\ntolerance = 0.2";
    check(entry, &|_, x, _| 10.0 + 0.05 * x, &|_, x, _| 10.0 + x);
    check_noisy(entry, &|_, x, _| if x < 2.0 { 10.0 } else { 10.5 });
}

#[test]
fn a_series_that_falls_or_rises() {
    let falls = "kind = \"falls\"\nseries = [\"A\"]\nfactor = 2";
    check(falls, &|_, x, _| 10.0 / x, &|_, _, _| 10.0);
    check_noisy(falls, &|_, x, _| if x < 8.0 { 20.0 } else { 9.0 });
    let rises = "kind = \"rises\"\nseries = [\"A\"]\nmonotone_within = 0.1";
    check(rises, &|_, x, _| 1.0 + x, &|_, x, _| 10.0 - x);
    // From end to end it rises, but it goes down on the way.
    check(rises, &|_, x, _| 1.0 + x, &|_, x, _| if x == 4.0 { 0.5 } else { 1.0 + x });
    check_noisy(rises, &|_, _, _| 10.0);
}

#[test]
fn a_knee() {
    let entry = "kind = \"knee\"\nseries = [\"A\"]\nbetween = [2, 4]";
    check(entry, &|_, x, _| x.min(3.0), &|_, x, _| x);
    check(entry, &|_, x, _| if x < 4.0 { x } else { 4.0 - 0.2 * x }, &|_, x, _| 1.0 + x * x);
    check_noisy(entry, &|_, x, _| 10.0 + x.min(3.0));
    let falls = format!("{entry}\nbefore = \"falls\"\nsteeper = 4");
    check(&falls, &|_, x, _| 10.0 - 3.0 * x.min(2.0) - 0.1 * x, &|_, x, _| 10.0 - x);
    // By factors of x the logarithm has no knee.
    let log = format!("{entry}\nscale = \"log\"");
    let logarithm = |_: &str, x: f64, _: usize| 1.0 + x.ln();
    assert_eq!(verdict_of(entry, 2, &QUIET, &logarithm).verdict, Verdict::Shown);
    assert_eq!(verdict_of(&log, 2, &QUIET, &logarithm).verdict, Verdict::Contrary);
}

/// Numbers from -1 to 1 that look like chance, always the same.
fn chance(seed: u64) -> impl FnMut() -> f64 {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 11) as f64 / (1u64 << 52) as f64 - 1.0
    }
}

#[test]
fn noise_alone_is_seldom_contrary_and_seldom_shown() {
    let verdicts = |entry: &str, value: &dyn Fn(&str, f64, usize) -> f64| {
        let figure = figure(entry);
        let claims = claims(&figure).expect("they were checked");
        let mut counts = [0; 2];
        for seed in 1..=400 {
            let mut chance = chance(seed);
            let mut report = measured(&figure, &[1.0; 5], value);
            let points = report.panels.iter_mut().flat_map(|panel| &mut panel.points);
            for seconds in points.flat_map(|point| &mut point.measured) {
                *seconds *= 1.0 + 0.3 * (chance() + chance());
            }
            let verdict = judge(&claims, &report, 2).expect("all points are there")[0].verdict;
            counts[0] += usize::from(verdict == Verdict::Shown);
            counts[1] += usize::from(verdict == Verdict::Contrary);
        }
        counts
    };
    let alike = by_series(1.0, 1.0, 1.0);
    let order = "kind = \"order\"\nseries = [\"A\", \"B\"]";
    let [shown, contrary] = verdicts(order, &alike);
    assert!(shown == 0 && contrary <= 20, "{shown} and {contrary} of 400, eight comparisons");
    let [shown, contrary] = verdicts(&format!("{order}\nat = [4]\nthreads = [2]"), &alike);
    assert!(shown <= 20 && contrary <= 20, "{shown} and {contrary} of 400, one comparison");
    let flat = "kind = \"flat\"\nseries = [\"A\"]\ntolerance = 0.1";
    let [_, contrary] = verdicts(flat, &alike);
    assert!(contrary <= 20, "{contrary} of 400 flat series are not flat");
    let knee = "kind = \"knee\"\nseries = [\"A\"]\nbetween = [2, 4]";
    let [_, contrary] = verdicts(knee, &|_, x, _| 2.0 + x.min(4.0) + 0.4 * (x - 4.0).max(0.0));
    assert!(contrary <= 20, "{contrary} of 400 series with a knee have none");
}

#[test]
fn few_repeats_give_provisional_verdicts_if_they_agree() {
    let entry = "kind = \"order\"\nseries = [\"A\", \"B\"]";
    let value = by_series(1.3, 1.0, 1.0);
    for repeats in 1..REPEATS_MIN {
        let shown = verdict_of(entry, 2, &QUIET[..repeats], &value);
        assert_eq!((shown.verdict, shown.provisional), (Verdict::Shown, true));
    }
    let noisy = verdict_of(entry, 2, &NOISY[..3], &value);
    assert_eq!((noisy.verdict, noisy.provisional), (Verdict::NotSeen, true));
}

#[test]
fn a_chance_failure_among_many_comparisons_is_not_contrary() {
    // One of eight is on the wrong side by two per cent, which noise of as much can do.
    let entry = "kind = \"order\"\nseries = [\"A\", \"B\"]";
    let value = |series: &str, x: f64, threads: usize| match (series, threads) {
        ("A", 2) if x == 4.0 => 0.98,
        ("A", _) => 1.3,
        _ => 1.0,
    };
    let report = verdict_of(entry, 2, &QUIET, &value);
    assert_eq!(report.verdict, Verdict::NotSeen, "{report:#?}");
    assert_eq!(report.counted(), "of 8 comparisons 7 hold, 0 fail, 1 are unclear");
}

#[test]
fn what_cannot_be_seen_is_told_with_its_reason_whatever_was_measured() {
    let value = by_series(1.3, 1.0, 1.0);
    let reason = |entry: &str, cores: usize| {
        let report = verdict_of(entry, cores, &QUIET, &value);
        assert_eq!((report.verdict, report.provisional), (Verdict::NotSeen, false), "{entry}");
        (report.reason.expect("it has one"), report.comparisons.len())
    };
    let order = "kind = \"order\"\nseries = [\"A\", \"B\"]";
    let because = format!("{order}\nbecause = \"the moon is up\"");
    assert_eq!(reason(&because, 2), ("the moon is up".to_owned(), 8));
    assert_eq!(reason("because = \"no charts\"", 2), ("no charts".to_owned(), 0));
    let few = format!("{order}\nat_most_cores = 4");
    assert_eq!(reason(&few, 8).0, "it needs at most 4 cores, and there are 8");
    // Eighty threads can be run and were not: the two that were are told.
    let many = format!("{order}\nthreads = [80]\nneeds_cores = 80");
    assert_eq!(reason(&many, 2), ("it needs 80 cores, and there are 2".to_owned(), 4));
    let not_run = "not run with 80 threads; --threads has it run";
    assert_eq!(reason(&many, 128), (not_run.to_owned(), 4));

    let figure = figure(order);
    let mut report = measured(&figure, &QUIET, &value);
    let (name, detail) = ("books".to_owned(), "do not add up".to_owned());
    report.failed_checks.push(CheckReport { name, holds: false, detail });
    let claims = claims(&figure).expect("they were checked");
    let judged = judge(&claims, &report, 2).expect("all points are there");
    assert_eq!(judged[0].verdict, Verdict::NotSeen);
    assert!(judged[0].reason.as_ref().is_some_and(|reason| reason.starts_with("a check failed")));
}

#[test]
fn where_both_are_zero_nothing_is_compared() {
    let entry = "kind = \"order\"\nseries = [\"A\", \"B\"]";
    let report = verdict_of(entry, 2, &QUIET, &by_series(0.0, 0.0, 0.0));
    assert_eq!(report.verdict, Verdict::NotSeen);
    assert!(report.reason.as_ref().is_some_and(|reason| reason.contains("both are 0")));
    let above_nothing = verdict_of(entry, 2, &QUIET, &by_series(1.0, 0.0, 0.0));
    assert_eq!(above_nothing.verdict, Verdict::Shown);
    let below = verdict_of(entry, 2, &QUIET, &by_series(0.0, 1.0, 0.0));
    assert_eq!(below.verdict, Verdict::Contrary);
}

#[test]
fn a_claim_of_what_an_experiment_does_not_have_is_an_error() {
    let mut figure = figure("kind = \"order\"\nseries = [\"A\", \"B\"]");
    let claims = claims(&figure).expect("they were checked");
    figure.series.retain(|series| series.label != "B");
    let report = measured(&figure, &QUIET, &by_series(1.0, 1.0, 1.0));
    let told = judge(&claims, &report, 2).expect_err("there is no B").to_string();
    let wanted = "figure made-up, expect entry 1: there is no series \"B\" at 1; there are \"A\"";
    assert!(told.starts_with(wanted), "{told}");
}
