//! What a run of a story gave, as JSON and as a table for people.

use std::collections::BTreeMap;
use std::io::{self, Write};

use comfy_table::CellAlignment;
use serde::{Deserialize, Serialize};

use super::client::{Books, CallBooks};
use super::{Story, StoryOptions, Target};
use crate::error::BenchError;
use crate::report::CheckReport;
use crate::table::{Style, empty_table, grouped, write_lines};

/// One run of a story. Counts and times are those of the measured part; checks see everything.
#[derive(Clone, PartialEq, Serialize, Deserialize, Debug)]
pub struct StoryReport {
    /// the story's name
    pub story: String,
    /// where it ran
    pub target: String,
    /// whether that was over the wire
    pub over_the_wire: bool,
    /// clients that called
    pub clients: usize,
    /// measured seconds
    pub seconds: f64,
    /// calls a second that committed
    pub good_per_s: f64,
    /// times a second that a call was repeated because of 40001 or 40P01
    pub repeated_per_s: f64,
    /// calls that were still being repeated when the run ended
    pub given_up: u64,
    /// by call
    pub calls: BTreeMap<String, StoryCallReport>,
    /// what must hold, and whether it does
    pub checks: Vec<CheckReport>,
}

/// What clients saw of one call.
#[derive(Clone, PartialEq, Serialize, Deserialize, Debug)]
pub struct StoryCallReport {
    /// that committed
    pub good: u64,
    /// times it was repeated because of 40001 or 40P01
    pub repeated: u64,
    /// that failed, by SQLSTATE
    pub failed: BTreeMap<String, u64>,
    /// from the first try to the answer, of those that committed, in microseconds
    pub latency_us: [f64; 3],
}

impl StoryReport {
    pub(super) fn new(
        story: &Story,
        target: &Target<'_>,
        options: &StoryOptions,
        (books, seconds): (&Books, f64),
        checks: Vec<CheckReport>,
    ) -> Self {
        let all = |count: fn(&CallBooks) -> u64| books.calls.iter().map(count).sum::<u64>() as f64;
        let us = |nanos: u64| nanos as f64 / 1e3;
        let call = |of: &CallBooks| StoryCallReport {
            good: of.good,
            repeated: of.repeated,
            failed: of.failed.clone(),
            latency_us: [
                us(of.latency_ns.value_at_quantile(0.5)),
                us(of.latency_ns.value_at_quantile(0.99)),
                us(of.latency_ns.max()),
            ],
        };
        let names = story.calls.iter().map(|call| call.name.clone());
        Self {
            story: story.name.clone(),
            target: target.name().to_owned(),
            over_the_wire: target.is_server(),
            clients: options.clients,
            seconds,
            good_per_s: all(|call| call.good) / seconds,
            repeated_per_s: all(|call| call.repeated) / seconds,
            given_up: books.given_up,
            calls: names.zip(books.calls.iter().map(call)).collect(),
            checks,
        }
    }

    /// Whether all checks hold.
    pub fn checks_hold(&self) -> bool {
        self.checks.iter().all(|check| check.holds)
    }

    fn name(&self) -> String {
        format!("{} on {}", self.story, self.target)
    }
}

/// Writes one row per run and call, and the checks that fail. `beside`: the target that others are
/// compared with.
///
/// # Errors
///
/// Those of `out`.
pub fn write_stories(
    reports: &[StoryReport],
    beside: Option<&str>,
    style: Style,
    out: &mut dyn Write,
) -> io::Result<()> {
    const FIRST_FIGURE: usize = 3;
    let mut header = vec![
        "story",
        "target",
        "call",
        "good/s",
        "repeated/s",
        "failed/s",
        "p50 us",
        "p99 us",
        "max us",
    ];
    header.extend(beside.map(|_| "times as many"));
    let mut table = empty_table(style);
    table.set_header(header);
    for report in reports {
        let other = beside.and_then(|beside| {
            let is_other =
                |other: &&StoryReport| other.target == beside && other.story == report.story;
            reports.iter().find(is_other)
        });
        for (at, (name, call)) in report.calls.iter().enumerate() {
            let per_s = |count: u64| grouped((count as f64 / report.seconds).round() as u64);
            let (story, target) =
                if at == 0 { (&*report.story, &*report.target) } else { ("", "") };
            let mut row = vec![story.to_owned(), target.to_owned(), name.clone()];
            row.extend([call.good, call.repeated, call.failed.values().sum()].map(per_s));
            row.extend(call.latency_us.map(|us| grouped(us.round() as u64)));
            row.extend(beside.map(|_| match other {
                Some(other) if at == 0 && other.good_per_s > 0.0 => {
                    format!("{:.1}", report.good_per_s / other.good_per_s)
                }
                _ => String::new(),
            }));
            table.add_row(row);
        }
    }
    for (number, column) in table.column_iter_mut().enumerate() {
        if number >= FIRST_FIGURE {
            column.set_cell_alignment(CellAlignment::Right);
        }
        column.set_padding((0, 2));
    }
    write_lines(&table, out)?;
    writeln!(out)?;
    for report in reports {
        for check in report.checks.iter().filter(|check| !check.holds) {
            writeln!(out, "DOES NOT HOLD  {}: {}: {}", report.name(), check.name, check.detail)?;
        }
    }
    let checks: usize = reports.iter().map(|report| report.checks.len()).sum();
    if reports.iter().all(StoryReport::checks_hold) {
        writeln!(out, "All {checks} checks hold.")?;
    }
    Ok(())
}

/// Writes runs as JSON.
///
/// # Errors
///
/// Those of `out`.
pub fn write_stories_json(reports: &[StoryReport], mut out: impl Write) -> Result<(), BenchError> {
    serde_json::to_writer_pretty(&mut out, reports).map_err(io::Error::from)?;
    Ok(writeln!(out)?)
}
