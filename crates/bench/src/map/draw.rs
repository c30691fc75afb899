//! The map as a picture: for each number of threads a field, whose cells have the colour of the
//! engine that is best there, the paler the nearer the next one is.

use plotters::coord::Shift;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use super::document::points_with;
use super::{EngineMap, Grid, GridAxis, MapPoint, Situation};
use crate::error::BenchError;
use crate::figure::colour;

const CELL_WIDTH: u32 = 150;
const CELL_HEIGHT: u32 = 34;
/// Room for what rows are.
const ROWS_WIDTH: u32 = 250;
/// Room for what columns are.
const HEAD_HEIGHT: u32 = 48;
/// A lead of so much, in powers of two, has the full colour.
const FULL_LEAD: f64 = 1.0;

type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;
type Drawn = Result<(), Box<dyn std::error::Error>>;

/// Draws the map as the text of an SVG.
///
/// # Errors
///
/// [`BenchError::Drawing`].
pub fn write_map_svg(grid: &Grid, map: &EngineMap) -> Result<String, BenchError> {
    let (rows, columns) = sides(grid);
    let size = (
        ROWS_WIDTH + CELL_WIDTH * columns.len() as u32,
        (HEAD_HEIGHT + CELL_HEIGHT * rows.len() as u32) * grid.threads.len() as u32 + 8,
    );
    let mut svg = String::new();
    draw(grid, map, (&rows, &columns), SVGBackend::with_string(&mut svg, size).into_drawing_area())
        .map_err(|error| BenchError::Drawing(error.to_string()))?;
    Ok(svg)
}

/// Values of some axes together.
type Values<'a> = Vec<(&'a str, &'a str)>;

/// What rows and columns are: the first axes, and the last ones.
fn sides(grid: &Grid) -> (Vec<Values<'_>>, Vec<Values<'_>>) {
    let (rows, columns) = grid.axes.split_at(grid.axes.len().div_ceil(2));
    (all_values(rows), all_values(columns))
}

fn all_values(axes: &[GridAxis]) -> Vec<Values<'_>> {
    axes.iter().fold(vec![Vec::new()], |all, axis| {
        all.iter()
            .flat_map(|values| {
                axis.values.iter().map(move |value| {
                    let mut values = values.clone();
                    values.push((axis.name.as_str(), value.name.as_str()));
                    values
                })
            })
            .collect()
    })
}

fn draw(
    grid: &Grid,
    map: &EngineMap,
    (rows, columns): (&[Values<'_>], &[Values<'_>]),
    root: Area<'_>,
) -> Drawn {
    root.fill(&WHITE)?;
    let field = HEAD_HEIGHT + CELL_HEIGHT * rows.len() as u32;
    for (at, &threads) in grid.threads.iter().enumerate() {
        let top = (field * at as u32) as i32;
        text(&root, (8, top + 26), &format!("{threads} threads"), (16.0, HPos::Left))?;
        for (column, values) in columns.iter().enumerate() {
            let x = (ROWS_WIDTH + CELL_WIDTH * column as u32 + CELL_WIDTH / 2) as i32;
            text(&root, (x, top + 30), &words(values), (11.0, HPos::Center))?;
        }
        let points = points_with(grid, map, threads);
        for (row, of_row) in rows.iter().enumerate() {
            let y = top + (HEAD_HEIGHT + CELL_HEIGHT * row as u32) as i32;
            text(&root, (8, y + CELL_HEIGHT as i32 / 2), &words(of_row), (11.0, HPos::Left))?;
            for (column, of_column) in columns.iter().enumerate() {
                let is_there = |point: &&&MapPoint| is_at(&point.situation, of_row, of_column);
                let x = (ROWS_WIDTH + CELL_WIDTH * column as u32) as i32;
                if let Some(point) = points.iter().find(is_there) {
                    draw_cell(grid, point, (x, y), &root)?;
                }
            }
        }
    }
    root.present()?;
    Ok(())
}

fn is_at(situation: &Situation, row: &Values<'_>, column: &Values<'_>) -> bool {
    let has = |(axis, value): &(&str, &str)| {
        situation.workload.get(*axis).is_some_and(|there| there == value)
    };
    row.iter().all(has) && column.iter().all(has)
}

/// The best engine, and how far the next one is behind.
fn draw_cell(grid: &Grid, point: &MapPoint, (x, y): (i32, i32), root: &Area<'_>) -> Drawn {
    let [best, next, ..] = point.ranking()[..] else { return Ok(()) };
    let lead = best.1.calls_per_s / next.1.calls_per_s.max(1.0);
    let strength = 0.15 + 0.6 * (lead.log2() / FULL_LEAD).clamp(0.0, 1.0);
    let number = grid.series.iter().position(|series| series.label == best.0).unwrap_or(0);
    let to = (x + CELL_WIDTH as i32 - 2, y + CELL_HEIGHT as i32 - 2);
    root.draw(&Rectangle::new([(x, y), to], colour(number).mix(strength).filled()))?;
    let middle = x + CELL_WIDTH as i32 / 2;
    text(root, (middle, y + 10), best.0, (12.0, HPos::Center))?;
    let behind = format!("{lead:.1} x {}", next.0);
    text(root, (middle, y + 24), &behind, (9.0, HPos::Center))
}

fn words(values: &Values<'_>) -> String {
    values.iter().map(|(axis, value)| format!("{axis} {value}")).collect::<Vec<_>>().join(", ")
}

fn text(root: &Area<'_>, at: (i32, i32), text: &str, (size, side): (f64, HPos)) -> Drawn {
    let style = ("sans-serif", size).into_font().color(&BLACK);
    root.draw(&Text::new(text.to_owned(), at, style.pos(Pos::new(side, VPos::Center))))?;
    Ok(())
}
