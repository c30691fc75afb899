//! The table of figures is right, and each of them runs.

use std::collections::BTreeSet;
use std::time::Duration;

use super::expect::claims;
use super::*;
use crate::driver::{Driver, Length};
use crate::table::Style;

/// A figure that nobody runs.
pub(super) const MADE_UP: &str = r#"
[[figure]]
name = "made-up"
source = "nobody"
title = "numbers"
claim = "So it is."
look = "the numbers"
workload = "counter"
x = { by = "set.hot", label = "hot", values = [1, 2, 4, 8] }
threads = [1, 2]
show = ["txn/s", "undone"]
series = [
    { label = "A", engine = "serial:" },
    { label = "B", engine = "serial:" },
    { label = "C", engine = "serial:" },
]
"#;

/// Runs everything twice, on little data.
fn twice(driver: Driver, threads: Vec<usize>) -> FigureRunner {
    let directory = std::env::temp_dir();
    FigureRunner {
        driver,
        size: 0.01,
        repetitions: 2,
        directory,
        threads,
        is_quick: false,
        coherence: Vec::new(),
    }
}

/// Runs a figure with few calls on little data.
fn tiny(figure: &Figure) -> FigureReport {
    let driver = Driver { length: Length::Calls(200), ..Driver::default() };
    let runner = FigureRunner {
        driver,
        size: 0.01,
        repetitions: 1,
        directory: std::env::temp_dir(),
        threads: Vec::new(),
        is_quick: false,
        coherence: Vec::new(),
    };
    let mut figure = figure.clone();
    if figure.workload.as_deref() == Some("tpcc") {
        // Loading and checking the items and customers of 24 warehouses took nearly all the time.
        let few = [("items", 200), ("customers", 60)];
        let few = few.map(|(name, number)| (name.to_owned(), Setting::Integer(number)));
        figure.set.extend(few);
        figure.scaled.clear();
    }
    let mut runs = 0;
    let report = runner.run(&figure, |_, of| {
        runs += 1;
        assert!(runs <= of);
    });
    report.unwrap_or_else(|error| panic!("{}: {error}", figure.name))
}

#[test]
fn every_figure_has_a_name_of_its_own_and_says_what_the_paper_shows() {
    let mut names = BTreeSet::new();
    for figure in figures() {
        assert!(names.insert(figure.name.clone()), "{} is there twice", figure.name);
        assert!(!figure.claim.is_empty() && !figure.title.is_empty() && !figure.show.is_empty());
        let labels: BTreeSet<_> = figure.series.iter().map(|series| &series.label).collect();
        assert_eq!(labels.len(), figure.series.len(), "{}", figure.name);
        assert!(figure.workload.is_some() != figure.experiment.is_some(), "{}", figure.name);
        let by_threads = figure.x.by == Varying::Threads;
        assert_eq!(figure.threads.is_empty(), by_threads, "{}", figure.name);
        let by_time = figure.x.by == Varying::Time;
        let steps = if by_time { figure.x.values.len() } else { 0 };
        assert_eq!(figure.x.steps.len(), steps, "{}", figure.name);
        figure_named(&figure.name).expect("it is listed");
    }
    let unknown = figure_named("chess-1").expect_err("there is none").to_string();
    assert!(unknown.contains("orthrus-4"), "{unknown}");
}

/// A run that is too short for what it is to show.
#[test]
fn a_figure_s_runs_take_as_long_as_it_says_at_least() {
    let measured = Duration::from_millis(1);
    let driver =
        Driver { length: Length::Time { warm_up: Duration::ZERO, measured }, ..Driver::default() };
    let mut figure = parse(MADE_UP).expect("it is right").remove(0);
    figure.seconds_min = 0.05;
    figure.x.by = Varying::Parameter("rows".to_owned());
    figure.x.values = vec![Setting::Integer(10)];
    figure.series.truncate(1);
    let report = twice(driver, vec![1]).run(&figure, |_, _| {}).expect("it runs");
    let runs = &report.panels[0].points[0].runs;
    assert!(runs.len() == 2 && runs.iter().all(|run| run.seconds >= 0.05), "{runs:?}");
}

/// A run that was over before its first commit says nothing of how fast it would have been, and
/// what would take for ever is not drawn.
#[test]
fn nothing_is_said_of_runs_without_a_commit() {
    let order = "[[figure.expect]]\nsays = \"so it is\"\nkind = \"order\"\nseries = [\"A\", \"B\"]";
    let mut figure = parse(&format!("{MADE_UP}\n{order}")).expect("it is right").remove(0);
    figure.x.by = Varying::Parameter("rows".to_owned());
    let claims = claims(&figure).expect("they fit");
    let driver = Driver { length: Length::Calls(100), ..Driver::default() };
    let mut report = twice(driver, vec![1]).run(&figure, |_, _| {}).expect("it runs");
    let reason = |report: &FigureReport| report.claims[0].reason.clone().unwrap_or_default();
    assert!(!reason(&report).contains("nothing was committed"), "{}", reason(&report));
    let run = &mut report.panels[0].points[0].runs[0];
    (run.committed, run.txn_per_s) = (0, f64::INFINITY);
    report.judge(&claims, 2).expect("all points are there");
    assert_eq!(report.claims[0].verdict, Verdict::NotSeen);
    let text = "nothing was committed in a run of A, hot = 1, 1 thread";
    assert!(reason(&report).starts_with(text), "{}", reason(&report));
    assert!(write_svg(&report).expect("it can be drawn").starts_with("<svg"));
}

/// Where the time goes can only be told of locks that calls take one by one if these are timed.
#[test]
fn figures_of_time_spent_on_locking_time_it() {
    for figure in figures() {
        let claims =
            figure.expect.iter().flat_map(|expect| expect.metric.iter().chain(&expect.plus));
        if !figure.show.iter().chain(claims).any(|metric| *metric == Metric::Locking) {
            continue;
        }
        for series in &figure.series {
            let settings = series.variant().expect("it is an engine").settings;
            let takes_one_by_one = settings.get("acquisition").is_some_and(|how| how != "ordered");
            let is_timed = settings.get("timing").is_some_and(|timing| timing == "locks");
            assert!(is_timed || !takes_one_by_one, "{}: {}", figure.name, series.label);
        }
    }
}

#[test]
fn every_figure_runs_and_its_checks_hold() {
    for figure in figures() {
        let report = tiny(&figure);
        let mut text = Vec::new();
        write_figure(&report, Style::default(), &mut text).expect("memory takes it");
        let text = String::from_utf8(text).expect("it is text");
        assert!(report.checks_hold(), "{text}");
        for series in &figure.series {
            assert!(text.contains(&series.label), "{text}");
        }
        assert_eq!(report.claims.len(), figure.expect.len());
        for claim in &report.claims {
            assert!(
                text.contains(&claim.says) && text.contains(&claim.verdict.to_string()),
                "{text}"
            );
            let is_declared = claim.check == "not checked";
            assert_eq!(claim.comparisons.is_empty(), is_declared, "{}", claim.says);
        }
        assert!(report.panels.iter().all(|panel| panel.points.len() > 2), "{text}");
        let runs: usize = report.panels.iter().map(|panel| panel.points.len()).sum();
        let mut csv = Vec::new();
        write_csv(&report, &mut csv).expect("memory takes it");
        let lines = String::from_utf8(csv).expect("it is text").lines().count();
        assert_eq!(lines, runs + 1, "{}", figure.name);
        let svg = write_svg(&report).expect("it can be drawn");
        assert!(svg.starts_with("<svg") && svg.contains(&report.x_label), "{svg}");
    }
}

#[test]
fn a_timed_figure_runs_all_series_in_each_repetition() {
    let mut figure = figure_named("orthrus-4").expect("it is listed");
    figure.x.values.truncate(2);
    figure.expect.clear();
    let time = Duration::from_millis(5);
    let driver =
        Driver { length: Length::Time { warm_up: time, measured: time }, ..Driver::default() };
    let runner = twice(driver, vec![1]);
    let mut order = Vec::new();
    let report = runner.run(&figure, |run, _| order.push(run.options.clone())).expect("it runs");
    let series = figure.series.len();
    assert_eq!(order.len(), 2 * 2 * series);
    assert_eq!(order[..series], order[series..2 * series], "A B C, A B C");
    assert!(report.panels[0].points.iter().all(|point| point.runs.len() == 2));
    assert!(report.checks_hold());
}

#[test]
fn a_workload_changes_while_the_engine_runs() {
    let mut figure = figure_named("lads-17").expect("it is listed");
    figure.x.values.truncate(2);
    figure.expect.clear();
    figure.x.steps.truncate(2);
    figure.series.retain(|series| series.label == "Silo");
    let time = Duration::from_millis(20);
    let driver =
        Driver { length: Length::Time { warm_up: time, measured: time }, ..Driver::default() };
    let runner = twice(driver, vec![1]);
    let report = runner.run(&figure, |_, _| ()).expect("it runs");
    assert!(report.checks_hold());
    let points = &report.panels[0].points;
    assert_eq!(points.len(), 2);
    for (point, step) in points.iter().zip(&figure.x.steps) {
        assert_eq!(point.runs.len(), 2);
        for run in &point.runs {
            assert_eq!(run.parameters["theta"], step["theta"].to_string());
            assert!(run.committed > 0);
        }
    }
}

#[test]
fn a_figure_by_threads_is_run_with_those_that_are_given() {
    let figure = figure_named("orthrus-1").expect("it is listed");
    let driver = Driver { length: Length::Calls(100), ..Driver::default() };
    let runner = twice(driver, vec![1, 3]);
    let report = runner.run(&figure, |_, _| ()).expect("it runs");
    assert_eq!(report.panels[0].x_values(), ["1", "3"]);
    assert_eq!((report.repeats, report.claims.len()), (2, figure.expect.len()));
    let mut json = Vec::new();
    write_figure_json(&report, &mut json).expect("memory takes it");
    let json: serde_json::Value = serde_json::from_slice(&json).expect("it is JSON");
    let claim = &json["claims"][0];
    assert!(claim["says"].is_string() && claim["verdict"].is_string(), "{claim}");
    assert_eq!(json["cores"], hotrow_base::thread::available_cores().len());
}

#[test]
fn a_table_of_figures_with_a_fault_is_refused() {
    let wrong = |change: &str| -> String {
        let text = FILE.replacen("by = \"threads\"", change, 1);
        toml::from_str::<File>(&text).err().expect("it is wrong").to_string()
    };
    assert!(wrong("by = \"moon\"").contains("set.NAME, engine.NAME"));
    assert!(wrong("by = \"threads\", colour = 3").contains("colour"));
}
