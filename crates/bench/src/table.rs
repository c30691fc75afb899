//! Reports as a table for people.

use std::io::{self, Write};

use comfy_table::{Attribute, Cell, CellAlignment, Color, ContentArrangement, Table, presets};

use crate::report::{RunReport, WaitReport};

/// How text is written.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Style {
    /// with colours and rules, for a terminal; else plain
    pub fancy: bool,
}

const HEADER: [&str; 11] = [
    "workload", "engine", "settings", "threads", "txn/s", "p50 us", "p99 us", "aborts", "undone",
    "time", "checks",
];
/// The first column of figures, which are aligned to the right.
const FIRST_FIGURE: usize = 3;
/// Shares of time below this are not worth a word.
const WORTH_A_WORD: f64 = 0.05;
/// Lines on what a run waited for.
const WAITS_SHOWN: usize = 5;
/// Columns that are text although they come after figures.
const LAST_TEXTS: [usize; 2] = [9, 10];

/// Writes one row per run, the checks that fail, and a line that says what to look at.
///
/// # Errors
///
/// Those of `out`.
pub fn write_table(reports: &[RunReport], style: Style, out: &mut dyn Write) -> io::Result<()> {
    let mut table = empty_table(style);
    table.set_header(HEADER);
    for report in reports {
        table.add_row(row(report, style));
    }
    for (number, column) in table.column_iter_mut().enumerate() {
        if number >= FIRST_FIGURE && !LAST_TEXTS.contains(&number) {
            column.set_cell_alignment(CellAlignment::Right);
        }
        column.set_padding((0, 2));
    }
    write_lines(&table, out)?;
    writeln!(out)?;
    for report in reports.iter().filter(|report| !report.checks_hold()) {
        for check in report.checks.iter().filter(|check| !check.holds) {
            let run = name(report);
            writeln!(out, "CHECK FAILED  {run}: {}: {}", check.name, check.detail)?;
        }
    }
    for report in reports.iter().filter(|report| report.time_breakdown.wait >= WORTH_A_WORD) {
        write_waits(report, style, out)?;
    }
    writeln!(out, "{}", remark(reports))
}

/// What a run waited for longest.
fn write_waits(report: &RunReport, style: Style, out: &mut dyn Write) -> io::Result<()> {
    if report.waited_for.is_empty() {
        return Ok(());
    }
    writeln!(out, "Waited for by {}:", name(report))?;
    let header = ["ms", "times", "longest us", "row", "by", "because of"];
    let row = |wait: &WaitReport| {
        let what = match (wait.table.as_str(), wait.key.as_str()) {
            ("", _) if report.remote.is_some() => "a key that is not known yet".to_owned(),
            ("", _) => "a key that no row has".to_owned(),
            (table, "") => table.to_owned(),
            (table, key) => format!("{table} ({key})"),
        };
        let longest_us = (wait.longest_ms * 1e3).round() as u64;
        vec![
            grouped(wait.total_ms.round() as u64),
            grouped(wait.count),
            grouped(longest_us),
            what,
            wait.waiter.clone(),
            wait.holder.clone(),
        ]
    };
    let rows = report.waited_for.iter().take(WAITS_SHOWN).map(row).collect();
    write_rows(header.map(str::to_owned).to_vec(), rows, style, out)?;
    writeln!(out)
}

pub(crate) fn empty_table(style: Style) -> Table {
    let mut table = Table::new();
    table.load_preset(if style.fancy { presets::UTF8_HORIZONTAL_ONLY } else { presets::NOTHING });
    // Reports are piped and compared: a row is a line, whatever the terminal's width.
    table.set_content_arrangement(ContentArrangement::Disabled);
    if !style.fancy {
        table.force_no_tty();
    }
    table
}

pub(crate) fn write_lines(table: &Table, out: &mut dyn Write) -> io::Result<()> {
    table.lines().try_for_each(|line| writeln!(out, "{}", line.trim_end()))
}

/// Writes a table of figures, all aligned to the right.
pub(crate) fn write_rows(
    header: Vec<String>,
    rows: Vec<Vec<String>>,
    style: Style,
    out: &mut dyn Write,
) -> io::Result<()> {
    let mut table = empty_table(style);
    table.set_header(header);
    table.add_rows(rows);
    for column in table.column_iter_mut() {
        column.set_cell_alignment(CellAlignment::Right);
        column.set_padding((0, 2));
    }
    write_lines(&table, out)
}

fn row(report: &RunReport, style: Style) -> Vec<Cell> {
    let text = |text: String| Cell::new(text);
    let settings = report.options.iter().map(|(name, value)| format!("{name}={value}"));
    let split = (report.split_indexes > 1).then(|| format!("split {}", report.split_indexes));
    let checks = if report.checks_hold() {
        colored(text(format!("{} hold", report.checks.len())), Color::Green, style)
    } else {
        let failed = report.checks.iter().filter(|check| !check.holds).count();
        colored(text(format!("{failed} FAILED")), Color::Red, style)
    };
    let rate = text(grouped(report.txn_per_s.round() as u64));
    let rate = if style.fancy { rate.add_attribute(Attribute::Bold) } else { rate };
    vec![
        text(workload_text(report)),
        text(report.engine.clone()),
        text(settings.chain(split).collect::<Vec<_>>().join(",")),
        text(threads_and_clients(report)),
        rate,
        text(format!("{:.1}", report.latency_us.p50)),
        text(format!("{:.1}", report.latency_us.p99)),
        text(percent(report.user_aborts, report.committed + report.user_aborts)),
        text(percent(report.conflict_aborts, report.committed + report.conflict_aborts)),
        text(time_text(report)),
        checks,
    ]
}

fn colored(cell: Cell, color: Color, style: Style) -> Cell {
    if style.fancy { cell.fg(color) } else { cell }
}

/// The workload with its scale, and what else was set.
fn workload_text(report: &RunReport) -> String {
    let warehouses = report.parameters.get("warehouses");
    let scale = warehouses.map(|count| format!(" {count}w")).unwrap_or_default();
    let usual = hotrow_workloads::workload_named(&report.workload);
    let usual = usual.map(|workload| workload.parameters().list()).unwrap_or_default();
    let set = usual.iter().filter_map(|parameter| {
        let value = report.parameters.get(&parameter.name)?;
        let told = *value == parameter.value || parameter.name == "warehouses";
        (!told).then(|| format!(" {}={value}", parameter.name))
    });
    format!("{}{scale}{}", report.workload, set.collect::<String>())
}

/// `2`, `2, 16 clients`, or `2, 16 remote clients`.
fn threads_and_clients(report: &RunReport) -> String {
    let remote = if report.remote.is_some() { "remote " } else { "" };
    let clients = match report.clients {
        0 => String::new(),
        1 => format!(", 1 {remote}client"),
        several => format!(", {several} {remote}clients"),
    };
    format!("{}{clients}", report.threads)
}

fn name(report: &RunReport) -> String {
    let options = report.options.iter().map(|(name, value)| format!(" {name}={value}"));
    let options: String = options.collect();
    let threads = crate::driver::threads_text(report.threads);
    let at =
        report.remote.as_ref().map(|server| format!(" of {server}, {} clients", report.clients));
    let at = at.unwrap_or_default();
    format!("{} on {}{options}, {threads}{at}", workload_text(report), report.engine)
}

/// The shares of the threads' time that are worth a word, the largest first.
fn time_text(report: &RunReport) -> String {
    let time = report.time_breakdown;
    let mut shares = [
        ("execute", time.execute),
        ("plan", time.plan),
        ("lock", time.lock),
        ("wait", time.wait),
        ("log", time.log),
        ("idle", time.idle),
    ];
    shares.sort_by(|a, b| b.1.total_cmp(&a.1));
    let worth = shares.iter().filter(|(_, share)| *share >= WORTH_A_WORD).take(3);
    let texts: Vec<_> =
        worth.map(|(name, share)| format!("{name} {:.0}%", share * 100.0)).collect();
    texts.join(" ")
}

fn percent(part: u64, whole: u64) -> String {
    match part {
        0 => "0".to_owned(),
        _ => format!("{:.2}%", 100.0 * part as f64 / whole.max(1) as f64),
    }
}

/// `1234567` as `1,234,567`.
pub(crate) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() * 4 / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// What to look at.
fn remark(reports: &[RunReport]) -> String {
    if let Some(bad) = reports.iter().find(|report| !report.checks_hold()) {
        return format!("Look at: the failed checks of {}; its figures mean nothing.", name(bad));
    }
    let fastest = reports.iter().max_by(|a, b| a.txn_per_s.total_cmp(&b.txn_per_s));
    let undone = |report: &RunReport| {
        report.conflict_aborts as f64 / (report.committed + report.conflict_aborts).max(1) as f64
    };
    let worst = reports.iter().max_by(|a, b| undone(a).total_cmp(&undone(b)));
    let Some(fastest) = fastest else {
        return "Nothing was run.".to_owned();
    };
    let mut text = format!(
        "All checks hold. Fastest: {} with {} txn/s.",
        name(fastest),
        grouped(fastest.txn_per_s.round() as u64)
    );
    if let Some(worst) = worst.filter(|report| undone(report) >= 0.01) {
        let share = undone(worst) * 100.0;
        text += &format!(
            "\nLook at: column \"undone\", work lost to conflicts; most ({share:.0} %) by {}.",
            name(worst)
        );
    } else {
        let what = if fastest.remote.is_some() { "clients" } else { "threads" };
        text += &format!("\nLook at: txn/s at 1 and at more {what}, and where the time goes.");
    }
    text
}

#[cfg(test)]
mod tests;
