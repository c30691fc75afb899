//! A figure that was run, drawn as SVG: a chart for each panel and metric; where a table was
//! watched, one for each panel and series of what its threads did (dora.txt, figure 2).
//!
//! Role         values of x stand at equal distances, as the papers' figures have them, because
//!              they are numbers of threads, sizes or percentages that grow by factors

use plotters::coord::Shift;
use plotters::prelude::*;

use super::Metric;
use super::report::{FigureReport, Panel};
use crate::error::BenchError;
use crate::report::AccessReport;

const CHART_WIDTH: u32 = 680;
const CHART_HEIGHT: u32 = 400;
const TITLE_HEIGHT: u32 = 36;
/// Pixels of a title's letters, if it fits.
const TITLE_SIZE: f64 = 18.0;
/// Their height over their width, a little less so that it fits in most fonts.
const TITLE_FIT: f64 = 1.7;

/// Room for the legend, as a share of the axis: it never lies over a line.
const LEGEND: f64 = 0.4;

/// The colour of the series with this number; after many they come again.
pub(crate) fn colour(number: usize) -> RGBColor {
    COLOURS[number % COLOURS.len()]
}

/// Colours that people with any colour vision tell apart: Okabe's and Ito's, and two more for the
/// many series of the map.
const COLOURS: [RGBColor; 10] = [
    RGBColor(0, 114, 178),
    RGBColor(213, 94, 0),
    RGBColor(0, 158, 115),
    RGBColor(204, 121, 167),
    RGBColor(230, 159, 0),
    RGBColor(86, 180, 233),
    RGBColor(0, 0, 0),
    RGBColor(240, 228, 66),
    RGBColor(136, 34, 85),
    RGBColor(68, 68, 170),
];

type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;

/// Draws a figure as the text of an SVG.
///
/// # Errors
///
/// [`BenchError::Drawing`].
pub fn write_svg(figure: &FigureReport) -> Result<String, BenchError> {
    let (rows, columns) = (figure.show.len() + traced(figure).len(), figure.panels.len());
    let size = (CHART_WIDTH * columns as u32, CHART_HEIGHT * rows as u32 + TITLE_HEIGHT);
    let mut svg = String::new();
    draw(figure, (rows, columns), SVGBackend::with_string(&mut svg, size).into_drawing_area())
        .map_err(|error| BenchError::Drawing(error.to_string()))?;
    Ok(svg)
}

fn draw(
    figure: &FigureReport,
    cells: (usize, usize),
    root: Area<'_>,
) -> Result<(), Box<dyn std::error::Error>> {
    root.fill(&WHITE)?;
    let title = format!("{}: {}", figure.figure, figure.title);
    let fitting = f64::from(root.dim_in_pixel().0) * TITLE_FIT / title.len() as f64;
    let body = root.titled(&title, ("sans-serif", fitting.min(TITLE_SIZE)))?;
    let areas = body.split_evenly(cells);
    let charts = figure
        .show
        .iter()
        .flat_map(|&metric| figure.panels.iter().map(move |panel| (metric, panel)));
    for (area, (metric, panel)) in areas.iter().zip(charts) {
        draw_panel(figure, panel, metric, area)?;
    }
    let traces = traced(figure);
    let charts =
        traces.iter().flat_map(|&series| figure.panels.iter().map(move |panel| (series, panel)));
    for (area, (series, panel)) in areas[figure.show.len() * cells.1..].iter().zip(charts) {
        draw_accesses(series, panel, area)?;
    }
    root.present()?;
    Ok(())
}

/// The series whose threads' changes were recorded.
fn traced(figure: &FigureReport) -> Vec<&str> {
    let is_traced = |panel: &&Panel, series: &str| accesses(panel, series).is_some();
    let panels = figure.panels.iter();
    let mut all: Vec<_> = panels
        .flat_map(|panel| panel.series().into_iter().filter(move |one| is_traced(&panel, one)))
        .collect();
    all.sort_unstable();
    all.dedup();
    all
}

/// What a series' threads changed, in the last of its runs.
fn accesses<'a>(panel: &'a Panel, series: &str) -> Option<&'a AccessReport> {
    let runs = panel.points.iter().filter(|point| point.series == series);
    runs.flat_map(|point| &point.runs).filter_map(|run| run.accesses.as_ref()).next_back()
}

/// Rows over time, a colour for each thread.
fn draw_accesses(
    series: &str,
    panel: &Panel,
    area: &Area<'_>,
) -> Result<(), Box<dyn std::error::Error>> {
    let Some(AccessReport { some, .. }) = accesses(panel, series) else { return Ok(()) };
    let begin = some.first().map_or(0.0, |first| first.1);
    let right = some.last().map_or(1.0, |last| (last.1 - begin).max(1.0));
    let top = some.iter().map(|access| access.2).max().unwrap_or(0) + 1;
    let mut chart = ChartBuilder::on(area)
        .caption(format!("{series}: a colour for each thread"), ("sans-serif", 15))
        .margin(10)
        .x_label_area_size(38)
        .y_label_area_size(78)
        .build_cartesian_2d(0.0..right, 0..top)?;
    chart.configure_mesh().disable_mesh().x_desc("microseconds").y_desc("row").draw()?;
    chart.draw_series(some.iter().map(|&(thread, us, row)| {
        let colour = colour(thread.into());
        Circle::new((us - begin, row), 2, colour.filled())
    }))?;
    Ok(())
}

fn draw_panel(
    figure: &FigureReport,
    panel: &Panel,
    metric: Metric,
    area: &Area<'_>,
) -> Result<(), Box<dyn std::error::Error>> {
    let x_values = panel.x_values();
    let all = panel.points.iter().map(|point| point.mean(metric));
    // What nothing was committed of may take for ever: there is no place for that on an axis, and
    // looking for its marks would not end.
    let top = all.filter(|value| value.is_finite()).fold(0.0, f64::max);
    let top = if top > 0.0 { top * 1.08 } else { 1.0 };
    let right = (x_values.len().max(2) - 1) as f64;
    let mut chart = ChartBuilder::on(area)
        .caption(panel.name().unwrap_or_default(), ("sans-serif", 15))
        .margin(10)
        .x_label_area_size(38)
        .y_label_area_size(78)
        .build_cartesian_2d(-0.1..right * (1.0 + LEGEND), 0.0..top)?;
    let at = |x: &f64| match x.round() {
        whole if (x - whole).abs() < 1e-6 && whole >= 0.0 => {
            x_values.get(whole as usize).map(|text| (*text).to_owned()).unwrap_or_default()
        }
        _ => String::new(),
    };
    chart
        .configure_mesh()
        .disable_x_mesh()
        .x_labels(2 * x_values.len())
        .x_label_formatter(&at)
        .x_desc(&figure.x_label)
        .y_desc(metric.to_string())
        .y_label_formatter(&|y| number(*y))
        .light_line_style(WHITE)
        .draw()?;
    for (number, series) in panel.series().into_iter().enumerate() {
        let colour = colour(number);
        let points: Vec<(f64, f64)> = panel
            .points_of(series)
            .enumerate()
            .map(|(at, point)| (at as f64, point.mean(metric)))
            .filter(|(_, value)| value.is_finite())
            .collect();
        let line = LineSeries::new(points, colour.stroke_width(2)).point_size(3);
        chart
            .draw_series(line)?
            .label(series)
            .legend(move |(x, y)| PathElement::new([(x, y), (x + 18, y)], colour.stroke_width(2)));
    }
    chart
        .configure_series_labels()
        .position(SeriesLabelPosition::UpperRight)
        .background_style(WHITE.mix(0.8))
        .border_style(BLACK.mix(0.3))
        .draw()?;
    Ok(())
}

/// A number on an axis: `1.2 M`, `350 k`, `12`.
fn number(value: f64) -> String {
    if value >= 1e6 {
        format!("{:.1} M", value / 1e6)
    } else if value >= 1e4 {
        format!("{:.0} k", value / 1e3)
    } else if value >= 10.0 || value == 0.0 {
        format!("{value:.0}")
    } else {
        format!("{value:.2}")
    }
}
