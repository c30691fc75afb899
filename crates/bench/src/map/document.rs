//! The map as a chapter of the documentation.
//!
//! Role         writes the part of `docs/map.md` between two marks out of the grid and of what was
//!              measured on it, so that the two cannot drift apart: a test compares

use std::fmt::Write as _;

use super::{EngineMap, Grid, MapPoint, Situation};
use crate::error::BenchError;
use crate::table::grouped;

pub(super) const BEGIN: &str =
    "<!-- map: from here on written by `hotrow bench map --document` -->";
pub(super) const END: &str = "<!-- map: to here -->";

/// The text of the chapter with the part between its marks written anew.
///
/// # Errors
///
/// [`BenchError::Selection`] where the text lacks a mark.
pub fn map_document(text: &str, grid: &Grid, map: &EngineMap) -> Result<String, BenchError> {
    let lacks = |mark: &str| BenchError::Selection(format!("the document lacks its mark {mark}"));
    let (before, rest) = text.split_once(BEGIN).ok_or_else(|| lacks(BEGIN))?;
    let (_, after) = rest.split_once(END).ok_or_else(|| lacks(END))?;
    Ok(format!("{before}{BEGIN}\n\n{}\n{END}{after}", tables(grid, map)))
}

fn tables(grid: &Grid, map: &EngineMap) -> String {
    let mut text = String::new();
    let EngineMap { machine, commit, configuration, .. } = map;
    writeln!(text, "Machine `{machine}`, commit {commit}, `{configuration}`.\n").expect("a string");
    for axis in &grid.axes {
        let values: Vec<_> =
            axis.values.iter().map(|value| format!("*{}*, {}", value.name, value.about)).collect();
        let (name, about) = (&axis.name, &axis.about);
        writeln!(text, "- **{name}**: {about}: {}.", values.join("; ")).expect("a string");
    }
    text.push('\n');
    let engines =
        grid.series.iter().map(|series| format!("{} is `{}`", series.label, series.engine));
    writeln!(text, "{}.\n", engines.collect::<Vec<_>>().join(", ")).expect("a string");
    for &threads in &grid.threads {
        table(grid, map, threads, &mut text);
    }
    text.truncate(text.trim_end().len());
    text.push('\n');
    text
}

/// A row for each point: what each engine reaches, in percent of the best one.
fn table(grid: &Grid, map: &EngineMap, threads: usize, text: &mut String) {
    let names = grid.axes.iter().map(|axis| axis.name.as_str()).chain(["best, calls/s"]);
    let labels = grid.series.iter().map(|series| series.label.as_str());
    let header: Vec<_> = names.chain(labels).collect();
    writeln!(text, "### {threads} threads, in percent of the best\n").expect("a string");
    writeln!(text, "| {} |", header.join(" | ")).expect("a string");
    writeln!(text, "|{}", "---|".repeat(header.len())).expect("a string");
    for point in points_with(grid, map, threads) {
        writeln!(text, "| {} |", row(grid, point).join(" | ")).expect("a string");
    }
    text.push('\n');
}

fn row(grid: &Grid, point: &MapPoint) -> Vec<String> {
    let value = |axis: &super::GridAxis| {
        point.situation.workload.get(&axis.name).cloned().unwrap_or_default()
    };
    let mut row: Vec<_> = grid.axes.iter().map(value).collect();
    let best = point.ranking().first().map_or(0.0, |(_, signs)| signs.calls_per_s);
    row.push(grouped(best.round() as u64));
    row.extend(grid.series.iter().map(|series| match point.engines.get(&series.label) {
        Some(signs) if signs.calls_per_s >= best => "**100**".to_owned(),
        Some(signs) => format!("{:.0}", 100.0 * signs.calls_per_s / best),
        None => "-".to_owned(),
    }));
    row
}

/// The points with so many threads that were measured, in the grid's order.
pub(super) fn points_with<'a>(
    grid: &Grid,
    map: &'a EngineMap,
    threads: usize,
) -> Vec<&'a MapPoint> {
    let all: Vec<Situation> = grid.situations();
    let there = all.iter().filter(|situation| situation.threads == threads);
    there.filter_map(|situation| map.point(situation)).collect()
}
