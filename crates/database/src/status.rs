//! What there is to know of a running database: figures for people, dashboards and alarms.

use std::collections::HashMap;
use std::time::Duration;

use hotrow_base::ids::ProcedureId;
use hotrow_engine::statistics::Statistics;
use hotrow_engine::waits::Waited;
use hotrow_log::log::LogStatistics;

use crate::books::{LatencyCounts, SessionSums};
use crate::config::Durability;
use crate::core::Core;
use crate::lock_names::procedure_name;

/// How the database is doing. Sums are since it was opened.
#[derive(Clone, PartialEq, Debug)]
pub struct EngineStatus {
    /// the engine
    pub engine: String,
    /// its settings, as `name=value,...`
    pub settings: String,
    /// what it has chosen by itself of how it works, and why; nothing where it does not choose
    pub choice: Option<String>,
    /// its threads
    pub threads: usize,
    /// what a transaction outlives once its end is told
    pub durability: Durability,
    /// since it was opened
    pub uptime: Duration,
    /// the books of the engine's threads
    pub statistics: Statistics,
    /// calls that threads have taken and not ended, now
    pub running: usize,
    /// calls that wait for open transactions now, in no thread
    pub parked: usize,
    /// calls that wait for a thread now
    pub queued: usize,
    /// how many of one priority can
    pub queue_capacity: usize,
    /// transactions of several statements that are open now
    pub open_transactions: usize,
    /// how many can be
    pub open_transactions_max: usize,
    /// what sessions have done
    pub sessions: SessionSums,
    /// bytes that records and indexes take
    pub memory_bytes: u64,
    /// bytes that they may take
    pub memory_limit_bytes: u64,
    /// bytes that snapshots of reports take
    pub snapshot_bytes: u64,
    /// the log; none for a database in memory
    pub log: Option<LogStatus>,
    /// it takes no calls any more
    pub is_closed: bool,
}

/// How the log is doing.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LogStatus {
    /// what was written since the start
    pub statistics: LogStatistics,
    /// the last epoch that is durable
    pub horizon: u64,
    /// the epoch that is being filled
    pub epoch: u64,
    /// bytes since the last checkpoint: what a restart would have to repeat
    pub since_checkpoint_bytes: u64,
    /// why it takes no more; none while it does
    pub failure: Option<String>,
}

/// How the calls of one procedure went since the database was opened: those that sessions queued
/// for an engine, not those inside transactions of several statements.
#[derive(Clone, Debug)]
pub struct CallFigures {
    /// its name
    pub procedure: String,
    /// calls that ended
    pub calls: u64,
    /// those of them that failed
    pub failed: u64,
    /// the time of all of them together, by [`CallPhase`](crate::CallPhase)
    pub phases: [Duration; 6],
    /// the longest call
    pub longest: Duration,
    /// how many took how long
    pub latencies: LatencyCounts,
}

/// A key that was waited for since the engine started.
#[derive(Clone, PartialEq, Debug)]
pub struct HotKey {
    /// the table; empty where nobody knows (yet, or any more)
    pub table: String,
    /// the key, or the part of it that is locked, as `column=value, ...`; empty for a table as a
    /// whole
    pub key: String,
    /// times that somebody waited for it
    pub waits: u64,
    /// all these waits together
    pub total: Duration,
    /// the longest
    pub longest: Duration,
}

impl Core {
    pub(crate) fn status(&self) -> EngineStatus {
        let (open, open_max) = self.interactive.as_ref().map_or((0, 0), |open| open.places());
        let budget = self.schema.current();
        let budget = budget.memory.budget();
        let settings = self.config.settings.iter().map(|(name, value)| format!("{name}={value}"));
        EngineStatus {
            engine: self.config.engine.clone(),
            settings: settings.collect::<Vec<_>>().join(","),
            choice: self.engine_choice(),
            threads: self.threads,
            durability: self.durability(),
            uptime: self.opened.elapsed(),
            statistics: self.engine_statistics(),
            running: self.clients.as_ref().map_or(0, |clients| clients.running()),
            parked: self.clients.as_ref().map_or(0, |clients| clients.parked()),
            queued: self.clients.as_ref().map_or(0, |clients| clients.len()),
            queue_capacity: self.clients.as_ref().map_or(0, |clients| clients.capacity()),
            open_transactions: open,
            open_transactions_max: open_max,
            sessions: self.library.sums(),
            memory_bytes: budget.used(),
            memory_limit_bytes: budget.limit(),
            snapshot_bytes: self.snapshots.bytes(),
            log: self.log_status(),
            is_closed: self.refuse_closed().is_err(),
        }
    }

    fn log_status(&self) -> Option<LogStatus> {
        let log = self.journal.log()?;
        Some(LogStatus {
            statistics: log.statistics(),
            horizon: log.horizon(),
            epoch: log.current_epoch(),
            since_checkpoint_bytes: self.bytes_since_checkpoint(),
            failure: log.failure().map(|failure| failure.to_string()),
        })
    }

    pub(crate) fn call_figures(&self) -> Vec<CallFigures> {
        let schema = self.schema.current();
        let figures = |(id, book): (ProcedureId, crate::books::CallBook)| CallFigures {
            procedure: procedure_name(&schema, id),
            calls: book.latencies.count(),
            failed: book.failed,
            phases: book.nanos.map(Duration::from_nanos),
            longest: Duration::from_nanos(book.longest_ns),
            latencies: book.latencies,
        };
        let mut all: Vec<_> = self.library.calls().into_iter().map(figures).collect();
        all.sort_by_key(|one| std::cmp::Reverse(one.phases.iter().sum::<Duration>()));
        all
    }

    pub(crate) fn hot_keys(&self, most: usize) -> Vec<HotKey> {
        let mut by_lock: HashMap<u64, Waited> = HashMap::new();
        for (awaited, waited) in self.engine_waits() {
            by_lock.entry(awaited.lock).or_default().add(waited);
        }
        let mut hottest: Vec<_> = by_lock.into_iter().collect();
        hottest.sort_by_key(|(lock, waited)| (std::cmp::Reverse(waited.total_ns), *lock));
        hottest.truncate(most);
        let schema = self.schema.current();
        let names = self.names.of(&schema, hottest.iter().map(|(lock, _)| *lock));
        let hot_key = |((_, waited), (table, key)): ((u64, Waited), (String, String))| HotKey {
            table,
            key,
            waits: waited.count,
            total: Duration::from_nanos(waited.total_ns),
            longest: Duration::from_nanos(waited.longest_ns),
        };
        hottest.into_iter().zip(names).map(hot_key).collect()
    }
}
