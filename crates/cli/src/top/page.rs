//! A page: two looks at a server as lines of text.
//!
//! Role         pure; knows no terminal and no server
//! Invariants   I1 figures are of the time between the looks, but for levels (queue, open
//!              transactions, memory) and what is marked "since start"

use std::fmt::Write as _;

use hotrow_bench::{ServerCall, ServerStatus, ServerSums, ServerWait};
use ratatui::style::{Modifier, Style};
use ratatui::text::{Line, Span};

use super::watch::Look;
use crate::arguments::Sort;

/// What a server did between two looks.
#[derive(Clone, Debug)]
pub(crate) struct Figures {
    pub(crate) seconds: f64,
    /// at the later look
    status: ServerStatus,
    sums: ServerSums,
    calls: Vec<ServerCall>,
    hot_keys: Vec<ServerWait>,
    waits: Vec<ServerWait>,
}

impl Figures {
    pub(crate) fn between(before: &Look, after: &Look) -> Self {
        Self {
            seconds: (after.at.nanos_since(before.at) as f64 / 1e9).max(1e-3),
            status: after.status.clone(),
            sums: after.status.sums.since(&before.status.sums),
            calls: ServerCall::between(&before.calls, &after.calls),
            hot_keys: ServerWait::between(&before.hot_keys, &after.hot_keys),
            waits: ServerWait::between(&before.waits, &after.waits),
        }
    }

    fn per_s(&self, count: u64) -> f64 {
        count as f64 / self.seconds
    }
}

/// How much room there is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Extent {
    pub(crate) columns: usize,
    pub(crate) lines: usize,
}

impl Extent {
    /// A page that is not cut.
    pub(crate) const ALL: Self = Self { columns: 120, lines: 60 };
}

/// Lines that are there in any case, and the headers and empty lines of the three lists.
const FIXED: usize = 5 + 3 * 2;
/// Widths of procedures' names and of figures.
const NAME: usize = 24;
const FIGURE: usize = 9;

/// The page. Lists are cut so that each has its share of the room.
pub(crate) fn lines(figures: &Figures, at: &str, sort: Sort, room: Extent) -> Vec<Line<'static>> {
    let mut lines = vec![title(figures, at), throughput(figures), levels(figures)];
    lines.extend([log(figures), threads(figures)]);
    let free = room.lines.saturating_sub(FIXED);
    let keys = figures.hot_keys.len().min(free / 4);
    let waits = figures.waits.len().min(free / 4);
    let mut calls = figures.calls.clone();
    sort_calls(&mut calls, sort);
    calls.truncate((free - keys - waits).max(1));
    lines.extend([Line::default(), header(&call_header())]);
    lines.extend(calls.iter().map(|call| Line::from(call_line(figures, call))));
    let waited = ["waits/s", "ms/s", "longest ms"];
    lines.extend([Line::default(), header(&wait_line("hot key", waited))]);
    let key = |wait: &ServerWait| Line::from(wait_text(figures, wait, row_name(wait)));
    lines.extend(figures.hot_keys.iter().take(keys).map(key));
    lines.extend([Line::default(), header(&wait_line("wait", waited))]);
    let wait = |wait: &ServerWait| {
        let name = format!("{} for {} at {}", wait.waiter, wait.holder, row_name(wait));
        Line::from(wait_text(figures, wait, name))
    };
    lines.extend(figures.waits.iter().take(waits).map(wait));
    lines
}

fn header(text: &str) -> Line<'static> {
    Line::from(Span::styled(text.to_owned(), Style::new().add_modifier(Modifier::REVERSED)))
}

fn title(figures: &Figures, at: &str) -> Line<'static> {
    let ServerStatus { engine, settings, durability, levels, .. } = &figures.status;
    let settings = if settings.is_empty() { String::new() } else { format!(" {settings}") };
    let threads = levels.threads;
    let plural = if threads == 1 { "" } else { "s" };
    let up = duration(levels.uptime_s);
    let rest = format!("  {engine}{settings}, {threads} thread{plural}, {durability}, up {up}");
    Line::from(vec![
        Span::styled(format!("hotrow {at}"), Style::new().add_modifier(Modifier::BOLD)),
        Span::raw(rest),
        Span::raw(format!("  ({:.1} s)", figures.seconds)),
    ])
}

fn throughput(figures: &Figures) -> Line<'static> {
    let ServerSums { committed, failed, undone, statements, session_commits, .. } = figures.sums;
    let rates = [
        ("calls/s", committed + failed),
        ("failed/s", failed),
        ("undone/s", undone),
        ("replanned/s", figures.sums.replanned),
        ("statements/s", statements),
        ("commits/s", committed + session_commits),
        ("rollbacks/s", figures.sums.session_rollbacks),
    ];
    let rate = |(name, count)| format!("{name} {}", rate(figures.per_s(count)));
    Line::from(rates.map(rate).join("  "))
}

fn levels(figures: &Figures) -> Line<'static> {
    let levels = &figures.status.levels;
    Line::from(format!(
        "running {}  queue {} of {}  refused/s {}  open transactions {} of {}  memory {} of {}",
        levels.running,
        levels.queued,
        levels.queue_capacity,
        rate(figures.per_s(figures.sums.calls_refused)),
        levels.open_transactions,
        levels.open_transactions_max,
        bytes(levels.memory_bytes as f64),
        bytes(levels.memory_limit_bytes as f64),
    ))
}

fn log(figures: &Figures) -> Line<'static> {
    let sums = &figures.sums;
    if let Some(failure) = &figures.status.log_failure {
        return Line::from(format!("log FAILED: {failure}"));
    }
    if figures.status.durability == "memory" {
        return Line::from("log none: in memory only");
    }
    let sync_ms = sums.log_sync_ms as f64 / sums.log_syncs.max(1) as f64;
    Line::from(format!(
        "log {}/s  entries/s {}  syncs/s {} of {sync_ms:.2} ms  {} since the last checkpoint",
        bytes(figures.per_s(sums.log_bytes)),
        rate(figures.per_s(sums.log_entries)),
        rate(figures.per_s(sums.log_syncs)),
        bytes(figures.status.levels.log_since_checkpoint_bytes as f64),
    ))
}

fn threads(figures: &Figures) -> Line<'static> {
    let sums = &figures.sums;
    let times = [
        ("execute", sums.execute_ms),
        ("plan", sums.plan_ms),
        ("lock", sums.lock_ms),
        ("wait", sums.wait_ms),
        ("log", sums.log_ms),
        ("idle", sums.idle_ms),
    ];
    let all = times.iter().map(|(_, ms)| ms).sum::<u64>().max(1) as f64;
    let share = |(name, ms): (&str, u64)| format!("{name} {:.0} %", ms as f64 / all * 100.0);
    Line::from(format!("threads  {}", times.map(share).join("  ")))
}

fn sort_calls(calls: &mut [ServerCall], sort: Sort) {
    match sort {
        Sort::Time => calls.sort_by(|a, b| b.busy_us().total_cmp(&a.busy_us())),
        Sort::Calls => calls.sort_by_key(|call| std::cmp::Reverse(call.calls)),
        Sort::Mean => calls.sort_by(|a, b| b.mean_us().total_cmp(&a.mean_us())),
        Sort::Name => calls.sort_by(|a, b| a.procedure.cmp(&b.procedure)),
    }
}

/// A name and figures below one another.
fn columns(name: &str, figures: impl IntoIterator<Item = String>) -> String {
    let mut text = format!("{:NAME$}", cut(name, NAME));
    for figure in figures {
        let _ = write!(text, " {figure:>FIGURE$}"); // a String takes everything
    }
    text
}

/// All but the last two are means of microseconds.
fn call_header() -> String {
    let names = [
        "calls/s", "failed/s", "mean us", "queue", "plan", "lock", "execute", "reply", "log",
        "p99 *",
    ];
    columns("procedure  * since start", names.map(str::to_owned))
}

fn call_line(figures: &Figures, call: &ServerCall) -> String {
    let counts = [call.calls, call.failed].map(|count| rate(figures.per_s(count)));
    let times = [call.mean_us()].into_iter().chain(call.phases_us).chain([call.p99_us]);
    columns(&call.procedure, counts.into_iter().chain(times.map(|us| rate(us.into()))))
}

fn row_name(wait: &ServerWait) -> String {
    match (wait.table.as_str(), wait.key.as_str()) {
        ("", _) => "a key not known yet".to_owned(),
        (table, "") => format!("{table} as a whole"),
        (table, key) => format!("{table} {key}"),
    }
}

/// Width of what a line of waits is about.
const WAIT_NAME: usize = 60;

fn wait_line<T: AsRef<str>>(name: &str, figures: [T; 3]) -> String {
    let mut text = format!("{:WAIT_NAME$}", cut(name, WAIT_NAME));
    for figure in figures {
        let _ = write!(text, " {:>10}", figure.as_ref()); // a String takes everything
    }
    text
}

fn wait_text(figures: &Figures, wait: &ServerWait, name: String) -> String {
    let ms = f64::from(wait.total_ms) / figures.seconds;
    let longest = rate(wait.longest_ms.into());
    wait_line(&name, [rate(figures.per_s(wait.waits)), rate(ms), longest])
}

/// A text of so many characters at most.
fn cut(text: &str, most: usize) -> String {
    if text.chars().count() <= most {
        return text.to_owned();
    }
    let kept: String = text.chars().take(most - 1).collect();
    format!("{kept}…")
}

/// A figure with about three digits, and no more than eight characters: `0`, `0.12`, `3.4`, `120`,
/// `12,345`, `1,234k`.
fn rate(figure: f64) -> String {
    match figure {
        figure if figure < 0.005 => "0".to_owned(),
        figure if figure < 1.0 => format!("{figure:.2}"),
        figure if figure < 99.95 => format!("{figure:.1}"),
        figure if figure < 999_999.5 => grouped(figure.round() as u64),
        figure => format!("{}k", grouped((figure / 1e3).round() as u64)),
    }
}

fn grouped(number: u64) -> String {
    match number {
        0..1_000 => number.to_string(),
        more => format!("{},{:03}", grouped(more / 1_000), more % 1_000),
    }
}

/// In the unit that leaves one to four digits before the point.
fn bytes(bytes: f64) -> String {
    let units = ["B", "KiB", "MiB", "GiB", "TiB"];
    let (mut amount, mut unit) = (bytes, 0);
    while amount >= 1_024.0 && unit + 1 < units.len() {
        amount /= 1_024.0;
        unit += 1;
    }
    let digits = usize::from(unit > 0 && amount < 100.0);
    format!("{amount:.digits$} {}", units[unit])
}

/// `5 s`, `1:05`, `2:00:05`, `3 days 2:00`.
fn duration(seconds: u64) -> String {
    let (days, hours) = (seconds / 86_400, seconds / 3_600 % 24);
    let (minutes, rest) = (seconds / 60 % 60, seconds % 60);
    match seconds {
        0..60 => format!("{rest} s"),
        60..3_600 => format!("{minutes}:{rest:02}"),
        3_600..86_400 => format!("{hours}:{minutes:02}:{rest:02}"),
        _ => format!("{days} days {hours}:{minutes:02}"),
    }
}

#[cfg(test)]
pub(crate) mod tests;
