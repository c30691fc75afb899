//! The grid, the kept map, its document and its picture.

use std::collections::BTreeSet;

use super::*;
use crate::driver::{Driver, Length};

fn signs(calls_per_s: f64) -> Signs {
    Signs { calls_per_s, ..Signs::default() }
}

#[test]
fn the_kept_map_is_one_of_the_grid_and_whole() {
    let (grid, map) = (Grid::of_program(), EngineMap::of_program());
    let labels: BTreeSet<_> = grid.series.iter().map(|series| series.label.clone()).collect();
    assert_eq!(labels.len(), grid.series.len(), "each label once");
    let situations: BTreeSet<_> = grid.situations().into_iter().collect();
    let measured: BTreeSet<_> = map.points.iter().map(|point| point.situation.clone()).collect();
    let missing = situations.difference(&measured).next();
    assert_eq!(missing, None, "not measured");
    assert_eq!(measured.difference(&situations).next(), None, "not of the grid");
    assert_eq!(map.points.len(), situations.len(), "each point once");
    for point in &map.points {
        assert_eq!(point.engines.keys().cloned().collect::<BTreeSet<_>>(), labels);
        for (label, signs) in &point.engines {
            assert!(signs.calls_per_s > 0.0, "{label} at {}: {signs:?}", point.situation);
        }
    }
}

#[test]
fn the_document_is_that_of_the_kept_map() {
    let (grid, map) = (Grid::of_program(), EngineMap::of_program());
    let text = include_str!("../../../../docs/map.md");
    assert_eq!(map_document(text, &grid, &map).expect("it has its marks"), text);
    let error = map_document("nothing", &grid, &map).expect_err("no marks").to_string();
    assert!(error.contains("lacks its mark"), "{error}");
}

#[test]
fn every_axis_changes_what_is_run() {
    let grid = Grid::of_program();
    let figure = |situation: &Situation| grid.figure(situation).expect("it is of the grid").set;
    let all: Vec<_> = grid.situations().iter().map(figure).collect();
    for (at, set) in all.iter().enumerate() {
        assert!(!all[..at].contains(set), "{set:?} comes twice");
    }
}

#[test]
fn a_point_is_measured_on_all_engines_with_its_checks() {
    let mut grid = Grid::of_program();
    grid.set.insert("records".to_owned(), Setting::Integer(2_000));
    let driver = Driver { length: Length::Calls(300), ..Driver::default() };
    let all = grid.situations().len();
    let sizes = grid.threads.len();
    grid.threads = vec![2];
    let runner = MapRunner::new(grid.clone(), driver);
    let mut map = EngineMap::default();
    let missing = runner.missing(&map);
    assert_eq!(missing.len() * sizes, all);
    // The last one has most of everything: hot, in several partitions, with aborts.
    let last = missing.last().expect("there are points");
    let point = runner.measure(last).expect("all engines can run it");
    assert_eq!(point.engines.len(), grid.series.len());
    for (label, signs) in &point.engines {
        assert!(signs.calls_per_s > 0.0 && signs.busy_us > 0.0, "{label}: {signs:?}");
        assert!((0.02..0.3).contains(&signs.failed), "{label}: {signs:?}");
    }
    map.keep(point.clone());
    map.keep(point);
    assert_eq!(map.points.len(), 1);
    assert_eq!(runner.missing(&map).len(), missing.len() - 1);
    assert_eq!(EngineMap::read(&map.write().expect("a string")).expect("it was written"), map);
}

#[test]
fn what_is_not_on_the_grid_is_told_with_what_is() {
    let grid = Grid::of_program();
    let axis = grid.axis("weather").expect_err("no such axis").to_string();
    assert!(axis.contains("\"weather\"") && axis.contains("contention"), "{axis}");
    let contention = grid.axis("contention").expect("it is there");
    let value = contention.value("huge").expect_err("no such value").to_string();
    assert!(value.contains("\"huge\"") && value.contains("extreme"), "{value}");
    let twice = GRID.replacen("workload = ", "workload = \"x\"\nworkload = ", 1);
    assert!(Grid::read(&twice).is_err());
}

#[test]
fn the_picture_names_the_best_engine_and_how_far_the_next_is() {
    let grid = Grid::of_program();
    let situation = grid.situations().remove(0);
    let engines = [("Silo", 300.0), ("H-Store", 200.0), ("DORA", 100.0)];
    let engines = engines.map(|(label, rate)| (label.to_owned(), signs(rate))).into();
    let map = EngineMap { points: vec![MapPoint { situation, engines }], ..Default::default() };
    let svg = write_map_svg(&grid, &map).expect("it can be drawn");
    assert!(svg.contains("Silo") && svg.contains("1.5 x H-Store") && !svg.contains("DORA"));
    let text = map_document(&format!("{}\n{}", document::BEGIN, document::END), &grid, &map);
    let text = text.expect("it has its marks");
    assert!(
        text.contains("| 300 |") && text.contains("**100**") && text.contains("| 67 |"),
        "{text}"
    );
}
