//! What a database is opened with.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use hotrow_base::ids::WorkerId;
use hotrow_base::memory::machine_bytes;
use hotrow_base::thread::available_cores;
use hotrow_engine::contract::{CallerOptions, EngineEntry, EngineOptions, InteractiveOptions};
use hotrow_engine::interactive::RerunOptions;
use hotrow_engine::journal::LogEntries;
use hotrow_engine::schema::SPLIT_MAX;
use hotrow_log::log::LogOptions;

use crate::engine_table::DEFAULT;
use crate::error::Error;

/// The most threads an engine may have; worker ids and their slabs are cheap, not free.
const THREADS_MAX: usize = 1024;
/// Places of callers are as many as threads, and at least so many: a caller that the system stops
/// in the middle of its call keeps its place, and with fewer places than sessions the others would
/// soon find all of them taken. Each is a worker, at whose words engines and the gate look now and
/// then.
const CALLER_PLACES_MIN: usize = 16;
/// Memory of all sessions' work on a machine of 256 MiB or less.
const WORK_MEMORY_BYTES_MIN: u64 = 64 << 20;
/// Memory of a statement on a machine of 8 GiB or more: one pass over so much takes a second.
const STATEMENT_MEMORY_BYTES: u64 = 512 << 20;
/// A log file holds at least a few blocks.
const LOG_FILE_BYTES_MIN: u64 = 1 << 16;

/// What a transaction outlives once its end is told.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Debug)]
pub enum Durability {
    /// nothing: there is no log
    Memory,
    /// the end of the process; a power failure may take the last tenth of a second
    Buffered,
    /// a power failure
    #[default]
    Durable,
}

impl fmt::Display for Durability {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Memory => "memory",
            Self::Buffered => "buffered",
            Self::Durable => "durable",
        })
    }
}

impl FromStr for Durability {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "memory" => Ok(Self::Memory),
            "buffered" => Ok(Self::Buffered),
            "durable" => Ok(Self::Durable),
            _ => Err(format!("\"{text}\" is none of durable, buffered, memory")),
        }
    }
}

/// How a database is opened. [`Config::default`] suits a start; every field has a method of its
/// name to set it.
///
/// ```
/// let config = hotrow::Config::default()
///     .engine(hotrow::engines()[0].name)
///     .threads(1)
///     .memory_bytes(1 << 30);
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Config {
    /// the engine, by its name in [`crate::engines`]; by default the one
    /// that plans each call and takes its locks in order
    pub engine: String,
    /// the engine's settings, by name; none
    pub settings: BTreeMap<String, String>,
    /// threads that run calls; none: one per core, or as many as the engine can use
    pub threads: Option<usize>,
    /// bytes that records and indexes may take together, after which inserts fail with 53200;
    /// 4 GiB
    pub memory_bytes: u64,
    /// bytes that the work of all sessions may take together, beside the data: texts, rows, sorts,
    /// results, what sessions keep; then statements fail with 53200. A quarter of the machine's
    pub work_memory_bytes: u64,
    /// of these, what one session may take; half of a quarter of the machine's
    pub session_memory_bytes: u64,
    /// of these, what one statement or call may take, unless its session has set
    /// `hotrow.statement_memory`; a sixteenth of the machine's, 512 MiB at most
    pub statement_memory_bytes: u64,
    /// parts that each index is split into, by the routing fields that its keys begin with, where
    /// they do (EXPLAIN PROCEDURE tells them): of use to calls that stay with few of them; 1
    pub split_indexes: u16,
    /// loop iterations and visited rows of one call before it fails with 54000; 10 million
    pub step_budget: u64,
    /// calls that wait for a thread before callers must wait for room; 1024
    pub queue_capacity: usize,
    /// within which a thread must take a call, else the call fails with 53300 and has done nothing:
    /// at once, where it can be told from the queue that it would not; none: callers wait. Sessions
    /// have a setting of their own, `hotrow.call_deadline`
    pub call_deadline: Option<Duration>,
    /// calls that may wait for a key that they write, or run, before others that write it fail with
    /// 53300, so that those for other keys find room in the queue; none: as many as the queue takes
    pub calls_per_key_max: Option<u32>,
    /// calls a thread plans ahead; 8
    pub in_flight: usize,
    /// pins the engine's threads to cores; off, because an application's threads need cores too
    pub pin_threads: bool,
    /// what a call's end waits for, in a database with a directory
    pub durability: Durability,
    /// what the log has of calls
    pub log_entries: LogEntries,
    /// bytes of a log file, after which another one is begun; 64 MiB
    pub log_file_bytes: u64,
    /// bytes of log after which a checkpoint is taken; none: only when asked. 256 MiB
    pub checkpoint_log_bytes: Option<u64>,
    /// threads that copy rows into a checkpoint; 2
    pub checkpoint_threads: usize,
    /// how long the outcome of a call with a key is remembered; 24 hours
    pub key_window: Duration,
    /// of how many calls with keys the outcome is remembered; 1 million
    pub keys_max: usize,
    /// interactive transactions that can be open at a time, after which BEGIN fails with 53300; 112
    pub open_transactions_max: usize,
    /// changes that an interactive transaction may make before it fails with 54000: its undo log,
    /// of some 32 bytes a change, stays in memory until it ends; 16 million
    pub changes_max: usize,
    /// bytes that the rows of a session's statement may take before it fails with 54000, or with
    /// 53200 in between; 256 MiB
    pub result_bytes_max: usize,
    /// how long a report (a statement that only reads and visits whole tables) is tried under
    /// locks, before it runs on a snapshot and is in nobody's way; zero: not at all. 10 ms
    pub report_attempt: Duration,
    /// bytes that the snapshots of reports may take, all together; a report for which there is no
    /// room runs under locks. 1 GiB
    pub snapshot_bytes_max: u64,
    /// how long an interactive transaction may be idle between two statements before it is rolled
    /// back (25P03); none: for ever. 60 s
    pub idle_in_transaction: Option<Duration>,
    /// the same while others wait for what the transaction holds: how long its session may be
    /// silent then, all in all; none: as long as nobody waits. 10 s
    pub idle_while_awaited: Option<Duration>,
    /// statements that take longer are written to the log, with their text; none: no statement is
    pub slow_statement: Option<Duration>,
    /// records the serial order of commits, for tests: costs memory without bound; off
    pub trace: bool,
}

impl Default for Config {
    fn default() -> Self {
        let work_memory_bytes = (machine_bytes() / 4).max(WORK_MEMORY_BYTES_MIN);
        Self {
            engine: DEFAULT.to_owned(),
            settings: BTreeMap::new(),
            threads: None,
            memory_bytes: 4 << 30,
            work_memory_bytes,
            session_memory_bytes: work_memory_bytes / 2,
            statement_memory_bytes: (work_memory_bytes / 4).min(STATEMENT_MEMORY_BYTES),
            split_indexes: 1,
            step_budget: 10_000_000,
            queue_capacity: 1024,
            call_deadline: None,
            calls_per_key_max: None,
            in_flight: 8,
            pin_threads: false,
            durability: Durability::Durable,
            log_entries: LogEntries::Commands,
            log_file_bytes: 64 << 20,
            checkpoint_log_bytes: Some(256 << 20),
            checkpoint_threads: 2,
            key_window: Duration::from_secs(24 * 3600),
            keys_max: 1_000_000,
            open_transactions_max: 112,
            changes_max: 1 << 24,
            result_bytes_max: 256 << 20,
            report_attempt: Duration::from_millis(10),
            snapshot_bytes_max: 1 << 30,
            idle_in_transaction: Some(Duration::from_secs(60)),
            idle_while_awaited: Some(Duration::from_secs(10)),
            slow_statement: None,
            trace: false,
        }
    }
}

impl Config {
    /// Sets [`Config::engine`].
    #[must_use]
    pub fn engine(mut self, name: impl Into<String>) -> Self {
        self.engine = name.into();
        self
    }

    /// Adds one of [`Config::settings`].
    #[must_use]
    pub fn setting(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.settings.insert(name.into(), value.into());
        self
    }

    /// Sets all [`Config::settings`], as a variant in the engine table lists them.
    #[must_use]
    pub fn variant(mut self, settings: &[(&str, &str)]) -> Self {
        let owned = |&(name, value): &(&str, &str)| (name.to_owned(), value.to_owned());
        self.settings = settings.iter().map(owned).collect();
        self
    }

    /// Sets [`Config::threads`].
    #[must_use]
    pub fn threads(mut self, threads: usize) -> Self {
        self.threads = Some(threads);
        self
    }

    /// Sets [`Config::memory_bytes`].
    #[must_use]
    pub fn memory_bytes(mut self, bytes: u64) -> Self {
        self.memory_bytes = bytes;
        self
    }

    /// Sets [`Config::work_memory_bytes`].
    #[must_use]
    pub fn work_memory_bytes(mut self, bytes: u64) -> Self {
        self.work_memory_bytes = bytes;
        self
    }

    /// Sets [`Config::session_memory_bytes`].
    #[must_use]
    pub fn session_memory_bytes(mut self, bytes: u64) -> Self {
        self.session_memory_bytes = bytes;
        self
    }

    /// Sets [`Config::statement_memory_bytes`].
    #[must_use]
    pub fn statement_memory_bytes(mut self, bytes: u64) -> Self {
        self.statement_memory_bytes = bytes;
        self
    }

    /// Sets [`Config::split_indexes`].
    #[must_use]
    pub fn split_indexes(mut self, parts: u16) -> Self {
        self.split_indexes = parts;
        self
    }

    /// Sets [`Config::step_budget`].
    #[must_use]
    pub fn step_budget(mut self, steps: u64) -> Self {
        self.step_budget = steps;
        self
    }

    /// Sets [`Config::queue_capacity`].
    #[must_use]
    pub fn queue_capacity(mut self, calls: usize) -> Self {
        self.queue_capacity = calls;
        self
    }

    /// Sets [`Config::call_deadline`].
    #[must_use]
    pub fn call_deadline(mut self, span: Option<Duration>) -> Self {
        self.call_deadline = span;
        self
    }

    /// Sets [`Config::calls_per_key_max`].
    #[must_use]
    pub fn calls_per_key_max(mut self, calls: Option<u32>) -> Self {
        self.calls_per_key_max = calls;
        self
    }

    /// Sets [`Config::in_flight`].
    #[must_use]
    pub fn in_flight(mut self, calls: usize) -> Self {
        self.in_flight = calls;
        self
    }

    /// Sets [`Config::pin_threads`].
    #[must_use]
    pub fn pin_threads(mut self, pin: bool) -> Self {
        self.pin_threads = pin;
        self
    }

    /// Sets [`Config::durability`].
    #[must_use]
    pub fn durability(mut self, durability: Durability) -> Self {
        self.durability = durability;
        self
    }

    /// Sets [`Config::log_entries`].
    #[must_use]
    pub fn log_entries(mut self, entries: LogEntries) -> Self {
        self.log_entries = entries;
        self
    }

    /// Sets [`Config::log_file_bytes`].
    #[must_use]
    pub fn log_file_bytes(mut self, bytes: u64) -> Self {
        self.log_file_bytes = bytes;
        self
    }

    /// Sets [`Config::checkpoint_log_bytes`].
    #[must_use]
    pub fn checkpoint_log_bytes(mut self, bytes: Option<u64>) -> Self {
        self.checkpoint_log_bytes = bytes;
        self
    }

    /// Sets [`Config::checkpoint_threads`].
    #[must_use]
    pub fn checkpoint_threads(mut self, threads: usize) -> Self {
        self.checkpoint_threads = threads;
        self
    }

    /// Sets [`Config::key_window`].
    #[must_use]
    pub fn key_window(mut self, window: Duration) -> Self {
        self.key_window = window;
        self
    }

    /// Sets [`Config::keys_max`].
    #[must_use]
    pub fn keys_max(mut self, keys: usize) -> Self {
        self.keys_max = keys;
        self
    }

    /// Sets [`Config::open_transactions_max`].
    #[must_use]
    pub fn open_transactions_max(mut self, transactions: usize) -> Self {
        self.open_transactions_max = transactions;
        self
    }

    /// Sets [`Config::changes_max`].
    #[must_use]
    pub fn changes_max(mut self, changes: usize) -> Self {
        self.changes_max = changes;
        self
    }

    /// Sets [`Config::result_bytes_max`].
    #[must_use]
    pub fn result_bytes_max(mut self, bytes: usize) -> Self {
        self.result_bytes_max = bytes;
        self
    }

    /// Sets [`Config::report_attempt`].
    #[must_use]
    pub fn report_attempt(mut self, span: Duration) -> Self {
        self.report_attempt = span;
        self
    }

    /// Sets [`Config::snapshot_bytes_max`].
    #[must_use]
    pub fn snapshot_bytes_max(mut self, bytes: u64) -> Self {
        self.snapshot_bytes_max = bytes;
        self
    }

    /// Sets [`Config::idle_in_transaction`].
    #[must_use]
    pub fn idle_in_transaction(mut self, span: Option<Duration>) -> Self {
        self.idle_in_transaction = span;
        self
    }

    /// Sets [`Config::idle_while_awaited`].
    #[must_use]
    pub fn idle_while_awaited(mut self, span: Option<Duration>) -> Self {
        self.idle_while_awaited = span;
        self
    }

    /// Sets [`Config::slow_statement`].
    #[must_use]
    pub fn slow_statement(mut self, span: Option<Duration>) -> Self {
        self.slow_statement = span;
        self
    }

    /// Sets [`Config::trace`].
    #[must_use]
    pub fn trace(mut self, trace: bool) -> Self {
        self.trace = trace;
        self
    }

    /// Threads that `entry` runs with; without an engine, those the storage makes room for.
    pub(crate) fn threads_for(&self, entry: Option<&EngineEntry>) -> usize {
        let cores = || available_cores().len();
        let usual = || entry.map_or_else(cores, |entry| entry.threads_near(cores()));
        self.threads.unwrap_or_else(usual)
    }

    /// Interactive transactions that `entry` itself can have open.
    fn sessions_for(&self, entry: &EngineEntry) -> usize {
        if entry.locks_as_it_goes { self.open_transactions_max } else { 0 }
    }

    /// Calls that `entry` can run at a time on their callers' threads.
    fn places_for(&self, entry: &EngineEntry, threads: usize) -> usize {
        if entry.runs_on_callers { threads.max(CALLER_PLACES_MIN) } else { 0 }
    }

    /// Workers that `entry` has: threads, interactive transactions and places of callers.
    pub(crate) fn staff_for(&self, entry: &EngineEntry, threads: usize) -> usize {
        threads + self.sessions_for(entry) + self.places_for(entry, threads)
    }

    pub(crate) fn engine_options(&self, entry: &EngineEntry, threads: usize) -> EngineOptions {
        let sessions = self.sessions_for(entry);
        EngineOptions {
            threads,
            first_worker: WorkerId(1),
            pin_threads: self.pin_threads,
            step_budget: self.step_budget,
            in_flight: self.in_flight,
            settings: self.settings.clone(),
            interactive: InteractiveOptions {
                open_max: sessions,
                first_worker: WorkerId(threads as u16 + 1),
                idle_time_out: self.idle_in_transaction,
                awaited_time_out: self.idle_while_awaited,
                changes_max: self.changes_max,
            },
            on_callers: CallerOptions {
                places: self.places_for(entry, threads),
                first_worker: WorkerId((threads + sessions) as u16 + 1),
            },
        }
    }

    /// How transactions run where the engine has none of its own.
    pub(crate) fn rerun_options(&self) -> RerunOptions {
        RerunOptions {
            awaited_time_out: self.idle_while_awaited,
            open_max: self.open_transactions_max,
            idle_time_out: self.idle_in_transaction,
            changes_max: self.changes_max,
            step_budget: self.step_budget,
            rows_max: self.result_bytes_max,
        }
    }

    pub(crate) fn check(&self) -> Result<(), Error> {
        let in_range = |what, allowed, given: usize, most: usize| {
            let holds = (1..=most).contains(&given);
            if holds { Ok(()) } else { Err(Error::Config { what, allowed, given: given as u64 }) }
        };
        in_range("threads", "1 to 1024", self.threads.unwrap_or(1), THREADS_MAX)?;
        in_range("checkpoint_threads", "1 to 64", self.checkpoint_threads, 64)?;
        in_range("split_indexes", "1 to 256", self.split_indexes.into(), SPLIT_MAX.into())?;
        let open = self.open_transactions_max.max(1);
        in_range("open_transactions_max", "0 to 1024", open, THREADS_MAX)?;
        in_range("queue_capacity", "1 to 2^20", self.queue_capacity, 1 << 20)?;
        in_range("in_flight", "1 to 1024", self.in_flight, 1024)
    }

    /// As [`Config::check`], for a database with a directory.
    pub(crate) fn check_with_directory(&self) -> Result<(), Error> {
        self.check()?;
        if self.durability == Durability::Memory {
            return Err(Error::MemoryInDirectory);
        }
        let given = self.log_file_bytes;
        if given < LOG_FILE_BYTES_MIN {
            let (what, allowed) = ("log_file_bytes", "65536 or more");
            return Err(Error::Config { what, allowed, given });
        }
        Ok(())
    }

    pub(crate) fn log_options(&self, workers: usize) -> LogOptions {
        let durability = match self.durability {
            Durability::Buffered => hotrow_log::log::Durability::Buffered,
            Durability::Durable | Durability::Memory => hotrow_log::log::Durability::Durable,
        };
        let segment_bytes = self.log_file_bytes;
        LogOptions { durability, segment_bytes, ..LogOptions::new(workers) }
    }
}
