//! What a run gave, as it is written to JSON.

use std::collections::BTreeMap;
use std::io::Write;
use std::time::Duration;

use hdrhistogram::Histogram;
use hotrow::{
    Activity, Database, LockKind, MemoryReport, RecoveryReport, RowAccess, Statistics, Wait,
};
use hotrow_log::log::LogStatistics;
use serde::{Deserialize, Serialize};

use crate::books::KindBooks;
use crate::error::BenchError;

/// One run: one workload on one engine with so many threads. Counts and times are those of the
/// measured part; checks see everything since the load.
#[derive(Clone, PartialEq, Serialize, Deserialize, Debug)]
pub struct RunReport {
    /// the engine's name
    pub engine: String,
    /// the engine's settings
    pub options: BTreeMap<String, String>,
    /// the workload's name
    pub workload: String,
    /// all its parameters
    pub parameters: BTreeMap<String, String>,
    /// threads that ran calls
    pub threads: usize,
    /// clients that called through sessions; 0: calls were generated inside the threads
    #[serde(default)]
    pub clients: usize,
    /// the server that was called over the wire; none: the engine ran in this process
    #[serde(default)]
    pub remote: Option<String>,
    /// parts that each index was split into, where it could be
    #[serde(default = "whole")]
    pub split_indexes: u16,
    /// measured seconds
    pub seconds: f64,
    /// calls committed
    pub committed: u64,
    /// calls that aborted themselves, as New-Order does with an unused item
    pub user_aborts: u64,
    /// calls undone because of another call and run again, unseen by the caller
    pub conflict_aborts: u64,
    /// calls planned again after a wrong guess, unseen by the caller
    pub restarts: u64,
    /// requests for locks that had to wait
    #[serde(default)]
    pub waits: u64,
    /// messages between threads of the engine
    #[serde(default)]
    pub messages: u64,
    /// actions run for calls that failed, but those that failed themselves; 0 where the engine does
    /// not count them
    #[serde(default)]
    pub in_vain: u64,
    /// what the engine said of its own choices when the run ended, if it makes some
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub choice: Option<String>,
    /// who has changed which rows of a table, warming up included, where one was watched
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub accesses: Option<AccessReport>,
    /// locks that calls held, those of undone attempts included: of rows, of what rows are in, and
    /// local to a thread; all 0 where the engine does not count them
    #[serde(default)]
    pub locks: [u64; LockKind::ALL.len()],
    /// what was waited for longest, warming up included
    #[serde(default)]
    pub waited_for: Vec<WaitReport>,
    /// committed calls per second
    pub txn_per_s: f64,
    /// calls per second that the engine's own model expects, where it has one: from what calls cost
    /// since the run began
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expected_per_s: Option<f64>,
    /// of committed calls, from fetch to commit; with clients, as they see it
    pub latency_us: LatencyReport,
    /// what threads that run calls spent their time on; of a server over the wire, all threads,
    /// since it does not tell them apart
    pub time_breakdown: TimeBreakdown,
    /// what lock threads spent theirs on; none where no thread locks for others
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lock_threads: Option<TimeBreakdown>,
    /// the part of its time in which each thread neither waited nor idled; of a server over the
    /// wire nothing, since it does not tell its threads apart
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub busy_by_thread: Vec<f64>,
    /// what must hold, and whether it does
    pub checks: Vec<CheckReport>,
    /// what the data takes, after the run
    pub memory: MemorySummary,
    /// what an end waited for: durable, buffered or memory
    #[serde(default)]
    pub durability: String,
    /// what the log took; all 0 without one
    #[serde(default)]
    pub log: LogReport,
    /// what closing the database and recovering it took, where that was asked for
    #[serde(default)]
    pub recovery: Option<RecoveryFigures>,
    /// by kind of transaction
    pub kinds: BTreeMap<String, KindReport>,
}

fn whole() -> u16 {
    1
}

impl RunReport {
    /// Whether all checks hold.
    pub fn checks_hold(&self) -> bool {
        self.checks.iter().all(|check| check.holds)
    }
}

/// Who has changed which rows of a table, and when.
#[derive(Clone, PartialEq, Default, Serialize, Deserialize, Debug)]
pub struct AccessReport {
    /// percent of all changes that were made by the thread that has changed the row most often: all
    /// where each row is one thread's, and little more than each thread's share where anybody comes
    /// to any row
    pub at_home: f64,
    /// some of the changes that followed one another: thread, microseconds, and the row's number
    /// among those that were changed
    pub some: Vec<(u16, f64, u32)>,
}

/// Changes kept to be drawn.
const ACCESSES_DRAWN: usize = 2_000;

impl AccessReport {
    pub(crate) fn of(mut accesses: Vec<RowAccess>) -> Self {
        let mut rows = BTreeMap::<u64, BTreeMap<u16, usize>>::new();
        let mut last = BTreeMap::<u16, u64>::new();
        for access in &accesses {
            let threads = rows.entry(access.row.bits()).or_default();
            *threads.entry(access.worker).or_default() += 1;
            let last = last.entry(access.worker).or_default();
            *last = access.nanos.max(*last);
        }
        let most = rows.values().filter_map(|threads| threads.values().max()).sum::<usize>();
        let at_home = 100.0 * most as f64 / accesses.len() as f64;
        // All threads are recorded until the first of them has had its room.
        let until = last.values().min().copied().unwrap_or(0);
        accesses.retain(|access| access.nanos <= until);
        accesses.sort_by_key(|access| access.nanos);
        let first_worker = last.keys().next().copied().unwrap_or(0);
        let drawn = accesses.iter().skip(accesses.len().saturating_sub(ACCESSES_DRAWN));
        let numbers: BTreeMap<_, _> = rows.keys().copied().zip(0_u32..).collect();
        let some = drawn.map(|access| {
            let (thread, us) = (access.worker - first_worker, access.nanos as f64 / 1e3);
            (thread, us, numbers[&access.row.bits()])
        });
        Self { at_home, some: some.collect() }
    }
}

/// What was written to the log by a run, warming up included.
#[derive(Clone, Copy, PartialEq, Default, Serialize, Deserialize, Debug)]
pub struct LogReport {
    /// entries: one for each transaction that changed something
    pub entries: u64,
    /// blocks: groups that were committed together; 0 where a server does not tell
    pub blocks: u64,
    /// bytes of entries per entry; 0 where a server does not tell
    pub bytes_per_entry: f64,
    /// bytes of file, block headers and padding included, per committed call
    pub file_bytes_per_txn: f64,
    /// mean time of a sync in microseconds
    pub sync_us: f64,
}

/// What recovery did after a run.
#[derive(Clone, Copy, PartialEq, Default, Serialize, Deserialize, Debug)]
pub struct RecoveryFigures {
    /// rows loaded from the checkpoint that the load of the population ended with, or a later one
    pub checkpoint_rows: u64,
    /// seconds that took
    pub checkpoint_seconds: f64,
    /// transactions repeated from the log behind it
    pub transactions: u64,
    /// seconds that took
    pub log_seconds: f64,
    /// transactions repeated per second
    pub txn_per_s: f64,
}

impl RecoveryFigures {
    pub(crate) fn of(report: &RecoveryReport) -> Self {
        let checkpoint_seconds = report.checkpoint_duration.as_secs_f64();
        let log_seconds = report.duration.as_secs_f64() - checkpoint_seconds;
        Self {
            checkpoint_rows: report.checkpoint_rows,
            checkpoint_seconds,
            transactions: report.transactions,
            log_seconds,
            txn_per_s: report.transactions as f64 / log_seconds.max(1e-9),
        }
    }
}

/// The log's books at one moment, or between two.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct LogUse(pub(crate) LogStatistics);

impl LogUse {
    pub(crate) fn of(db: &Database) -> Self {
        Self(db.log().map(|log| log.statistics()).unwrap_or_default())
    }

    pub(crate) fn since(self, before: Self) -> Self {
        let (now, before) = (self.0, before.0);
        Self(LogStatistics {
            blocks: now.blocks - before.blocks,
            bytes: now.bytes - before.bytes,
            entries: now.entries - before.entries,
            entry_bytes: now.entry_bytes - before.entry_bytes,
            syncs: now.syncs - before.syncs,
            sync_nanos: now.sync_nanos - before.sync_nanos,
            ..now
        })
    }

    pub(crate) fn report(self, committed: u64) -> LogReport {
        let per = |sum: u64, count: u64| sum as f64 / count.max(1) as f64;
        let LogStatistics { entries, blocks, bytes, entry_bytes, syncs, sync_nanos, .. } = self.0;
        LogReport {
            entries,
            blocks,
            bytes_per_entry: per(entry_bytes, entries),
            file_bytes_per_txn: per(bytes, committed),
            sync_us: per(sync_nanos, syncs) / 1e3,
        }
    }
}

/// Latencies in microseconds, each off by 1 % at most; all 0 when nothing was measured.
#[derive(Clone, Copy, PartialEq, Default, Serialize, Deserialize, Debug)]
pub struct LatencyReport {
    /// median
    pub p50: f64,
    /// 95th percentile
    pub p95: f64,
    /// 99th percentile
    pub p99: f64,
    /// the longest
    pub max: f64,
}

impl LatencyReport {
    pub(crate) fn of_nanos(nanos: &Histogram<u64>) -> Self {
        let us = |nanos: u64| nanos as f64 / 1_000.0;
        let at = |quantile| us(nanos.value_at_quantile(quantile));
        if nanos.is_empty() {
            return Self::default();
        }
        Self { p50: at(0.50), p95: at(0.95), p99: at(0.99), max: us(nanos.max()) }
    }
}

/// Shares of the threads' time, 0 to 1.
#[derive(Clone, Copy, PartialEq, Default, Serialize, Deserialize, Debug)]
pub struct TimeBreakdown {
    /// running procedures, commit and undo included
    pub execute: f64,
    /// planning, prefetching, reconnaissance
    pub plan: f64,
    /// the lock manager's work
    pub lock: f64,
    /// waiting for a lock
    pub wait: f64,
    /// writing the log
    pub log: f64,
    /// nothing to do
    pub idle: f64,
}

impl TimeBreakdown {
    /// Of the threads that run calls.
    pub(crate) fn of_execution(part: &Statistics) -> Self {
        Self::of_nanos(part.execution_nanos())
    }

    /// Of lock threads, where there are any.
    pub(crate) fn of_lock_threads(part: &Statistics) -> Option<Self> {
        let nanos = part.lock_thread_nanos;
        nanos.iter().any(|nanos| *nanos > 0).then(|| Self::of_nanos(nanos))
    }

    /// From sums of nanoseconds by activity.
    fn of_nanos(nanos: [u64; 6]) -> Self {
        let all = nanos.iter().sum::<u64>().max(1) as f64;
        let share = |activity: Activity| nanos[activity as usize] as f64 / all;
        Self {
            execute: share(Activity::Execute),
            plan: share(Activity::Plan),
            lock: share(Activity::Lock),
            wait: share(Activity::Wait),
            log: share(Activity::Log),
            idle: share(Activity::Idle),
        }
    }
}

/// What was waited for, by whom and because of whom.
#[derive(Clone, PartialEq, Serialize, Deserialize, Debug)]
pub struct WaitReport {
    /// the table; empty where nobody knows any more
    pub table: String,
    /// the key, or the part of it that is locked; empty for a table as a whole
    pub key: String,
    /// the procedure that waited
    pub waiter: String,
    /// the procedure that was in the way; of several the first
    pub holder: String,
    /// times
    pub count: u64,
    /// milliseconds of all of them
    pub total_ms: f64,
    /// milliseconds of the longest
    pub longest_ms: f64,
}

impl From<Wait> for WaitReport {
    fn from(wait: Wait) -> Self {
        let ms = |time: Duration| time.as_secs_f64() * 1e3;
        let (total_ms, longest_ms) = (ms(wait.total), ms(wait.longest));
        let Wait { table, key, waiter, holder, count, .. } = wait;
        Self { table, key, waiter, holder, count, total_ms, longest_ms }
    }
}

/// A check and what it found.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, Debug)]
pub struct CheckReport {
    /// its name
    pub name: String,
    /// whether it holds; a check that could not be made does
    pub holds: bool,
    /// how much was looked at, the first fault, or why it was not made
    pub detail: String,
}

/// What the data takes; all 0 when it was not measured.
#[derive(Clone, Copy, PartialEq, Default, Serialize, Deserialize, Debug)]
pub struct MemorySummary {
    /// rows
    pub rows: u64,
    /// bytes of the rows' values alone
    pub raw_bytes: u64,
    /// bytes of records, free places included
    pub record_bytes: u64,
    /// bytes of indexes
    pub index_bytes: u64,
    /// bytes of records and indexes per raw byte
    pub ratio: f64,
}

impl From<&MemoryReport> for MemorySummary {
    fn from(report: &MemoryReport) -> Self {
        let raw_bytes = report.raw_row_bytes();
        let (record_bytes, index_bytes) = (report.record_bytes(), report.index_bytes());
        let ratio = (record_bytes + index_bytes) as f64 / raw_bytes.max(1) as f64;
        let rows = report.tables.iter().map(|table| table.rows).sum();
        Self { rows, raw_bytes, record_bytes, index_bytes, ratio }
    }
}

/// One kind of transaction.
#[derive(Clone, PartialEq, Serialize, Deserialize, Debug)]
pub struct KindReport {
    /// calls committed
    pub committed: u64,
    /// calls that aborted themselves
    pub user_aborts: u64,
    /// of committed calls, in microseconds
    #[serde(flatten)]
    pub latency_us: LatencyReport,
}

impl KindReport {
    pub(crate) fn of(books: &KindBooks) -> Self {
        Self {
            committed: books.measured.committed,
            user_aborts: books.measured.user_aborts,
            latency_us: LatencyReport::of_nanos(&books.latency_ns),
        }
    }
}

/// What happened between two looks at an engine's books.
pub(crate) fn difference(later: &Statistics, earlier: &Statistics) -> Statistics {
    let mut between = later.clone();
    between.committed -= earlier.committed;
    between.user_aborts -= earlier.user_aborts;
    between.replans -= earlier.replans;
    between.exclusive -= earlier.exclusive;
    between.waits -= earlier.waits;
    between.messages -= earlier.messages;
    between.in_vain -= earlier.in_vain;
    for (sum, before) in between.conflicts.iter_mut().zip(&earlier.conflicts) {
        *sum -= before;
    }
    for (sum, before) in between.locks.iter_mut().zip(&earlier.locks) {
        *sum -= before;
    }
    for (sum, before) in between.nanos.iter_mut().zip(&earlier.nanos) {
        *sum -= before;
    }
    for (sum, before) in between.lock_thread_nanos.iter_mut().zip(&earlier.lock_thread_nanos) {
        *sum -= before;
    }
    for (sum, before) in between.busy_nanos.iter_mut().zip(&earlier.busy_nanos) {
        *sum -= before;
    }
    between
}

/// Reads what [`write_json`] has written.
///
/// # Errors
///
/// [`BenchError::Selection`], with the line and what is wrong there.
pub fn read_json(text: &str) -> Result<Vec<RunReport>, BenchError> {
    serde_json::from_str(text).map_err(|error| BenchError::Selection(format!("reports: {error}")))
}

/// Writes reports as a JSON list.
///
/// # Errors
///
/// [`BenchError::Io`].
pub fn write_json(reports: &[RunReport], mut out: impl Write) -> Result<(), BenchError> {
    serde_json::to_writer_pretty(&mut out, reports).map_err(std::io::Error::from)?;
    writeln!(out)?;
    Ok(())
}
