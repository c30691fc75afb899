//! `/metrics`: the figures of a server, as Prometheus reads them.
//!
//! Role         asks the database for what it keeps anyway, when somebody scrapes; nothing is
//!              counted here
//! Format       OpenMetrics text; names and units as Prometheus wants them: seconds, bytes,
//!              counters that end in `_total`
//! Invariants   I1 labels are few: procedures, phases, ways to end. Keys of rows are in
//!              `hotrow.hot_keys`, which takes a user to read, and nowhere here

use std::fmt;
use std::sync::Weak;
use std::time::Duration;

use hotrow::{Activity, CallFigures, CallPhase, Database, EngineStatus};
use prometheus_client::collector::Collector;
use prometheus_client::encoding::text::encode;
use prometheus_client::encoding::{
    DescriptorEncoder, EncodeCounterValue, EncodeGaugeValue, EncodeMetric, NoLabelSet,
};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::registry::Registry;

/// What the answer says it is.
pub(crate) const CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// Ends of the buckets of a call's duration, in microseconds.
const BUCKETS_US: [u64; 19] = [
    50, 100, 250, 500, 1_000, 2_500, 5_000, 10_000, 25_000, 50_000, 100_000, 250_000, 500_000,
    1_000_000, 2_500_000, 5_000_000, 10_000_000, 25_000_000, 60_000_000,
];

/// What the server itself counts.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct ConnectionFigures {
    pub(crate) open: usize,
    pub(crate) most: usize,
    pub(crate) accepted: u64,
    pub(crate) refused: u64,
    pub(crate) logins_failed: u64,
}

/// Who tells what the server counts.
pub(crate) trait Counts: Send + Sync + 'static {
    /// The database that is served.
    fn db(&self) -> &Database;
    /// Who comes and goes.
    fn connections(&self) -> ConnectionFigures;
}

/// All figures, as text.
pub(crate) fn text<C: Counts>(of: Weak<C>) -> Result<String, fmt::Error> {
    let mut registry = Registry::with_prefix("hotrow");
    registry.register_collector(Box::new(Figures(of)));
    let mut text = String::new();
    encode(&mut text, &registry)?;
    Ok(text)
}

struct Figures<C>(Weak<C>);

impl<C> fmt::Debug for Figures<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Figures")
    }
}

impl<C: Counts> Collector for Figures<C> {
    fn encode(&self, encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let Some(of) = self.0.upgrade() else { return Ok(()) };
        let mut page = Page { encoder };
        page.status(&of.db().status())?;
        page.calls(&of.db().calls())?;
        page.connections(of.connections())
    }
}

/// Labels and a value.
type Line<'a, const N: usize, V> = ([(&'static str, &'a str); N], V);

struct Page<'a> {
    encoder: DescriptorEncoder<'a>,
}

impl Page<'_> {
    fn gauge<N: EncodeGaugeValue + Copy>(&mut self, name: &str, help: &str, value: N) -> fmt::Result
    where
        ConstGauge<N>: EncodeMetric,
    {
        let encoder = self.encoder.encode_descriptor(name, help, None, MetricType::Gauge)?;
        ConstGauge::new(value).encode(encoder)
    }

    fn counter<N: EncodeCounterValue + Copy>(
        &mut self,
        name: &str,
        help: &str,
        value: N,
    ) -> fmt::Result
    where
        ConstCounter<N>: EncodeMetric,
    {
        let encoder = self.encoder.encode_descriptor(name, help, None, MetricType::Counter)?;
        ConstCounter::new(value).encode(encoder)
    }

    /// A counter for each set of labels.
    fn counters<'l, const L: usize, N: EncodeCounterValue + Copy>(
        &mut self,
        name: &str,
        help: &str,
        lines: impl IntoIterator<Item = Line<'l, L, N>>,
    ) -> fmt::Result
    where
        ConstCounter<N>: EncodeMetric,
    {
        let mut encoder = self.encoder.encode_descriptor(name, help, None, MetricType::Counter)?;
        for (labels, value) in lines {
            ConstCounter::new(value).encode(encoder.encode_family(&labels)?)?;
        }
        Ok(())
    }

    fn status(&mut self, status: &EngineStatus) -> fmt::Result {
        let EngineStatus { statistics, sessions, .. } = status;
        let durability = status.durability.to_string();
        let labels = [
            ("version", env!("CARGO_PKG_VERSION")),
            ("engine", &status.engine),
            ("settings", &status.settings),
            ("durability", &durability),
        ];
        self.encoder
            .encode_descriptor("build", "What is running", None, MetricType::Info)?
            .encode_info(&labels)?;
        self.gauge("uptime_seconds", "Since it was opened", status.uptime.as_secs_f64())?;
        self.gauge("threads", "Threads of the engine", count(status.threads))?;
        self.counters(
            "engine_calls",
            "Calls by how an attempt ended; undone and replanned ones were repeated",
            [
                ([("end", "committed")], statistics.committed),
                ([("end", "failed")], statistics.user_aborts),
                ([("end", "undone")], statistics.conflict_aborts()),
                ([("end", "replanned")], statistics.replans),
                ([("end", "run_alone")], statistics.exclusive),
            ],
        )?;
        self.counter("lock_waits", "Requests for locks that had to wait", statistics.waits)?;
        self.counter("messages", "Messages between threads", statistics.messages)?;
        let seconds = |nanos: u64| nanos as f64 / 1e9;
        let activity =
            |of: Activity| ([("activity", of.name())], seconds(statistics.nanos[of as usize]));
        let lines = Activity::ALL.map(activity);
        self.counters("thread_seconds", "What the engine's threads did", lines)?;
        self.gauge("running_calls", "Calls that threads have taken", count(status.running))?;
        let parked = "Calls that wait for open transactions, in no thread";
        self.gauge("parked_calls", parked, count(status.parked))?;
        self.gauge("queued_calls", "Calls that wait for a thread", count(status.queued))?;
        let capacity = count(status.queue_capacity);
        self.gauge("queue_capacity_calls", "How many of one priority can", capacity)?;
        let (open, most) = (count(status.open_transactions), count(status.open_transactions_max));
        self.gauge("open_transactions", "Transactions of several statements", open)?;
        self.gauge("open_transactions_max", "How many can be open", most)?;
        self.counters(
            "statements",
            "Statements that ended, calls among them",
            [
                ([("end", "done")], sessions.statements.saturating_sub(sessions.failed)),
                ([("end", "failed")], sessions.failed),
            ],
        )?;
        self.counters(
            "session_transactions",
            "Transactions outside planned calls",
            [
                ([("end", "committed")], sessions.commits),
                ([("end", "rolled_back")], sessions.rollbacks),
            ],
        )?;
        self.counter("statement_repeats", "Statements undone and repeated", sessions.repeated)?;
        self.counter("snapshots", "Statements that ran on a snapshot", sessions.snapshots)?;
        self.counter("calls_refused", "Calls refused or withdrawn", sessions.refused)?;
        self.gauge("memory_bytes", "Records and indexes", count(status.memory_bytes))?;
        let limit = count(status.memory_limit_bytes);
        self.gauge("memory_limit_bytes", "What they may take", limit)?;
        self.gauge("snapshot_bytes", "Snapshots of reports", count(status.snapshot_bytes))?;
        let Some(log) = &status.log else { return Ok(()) };
        self.counter("log_bytes", "Written to the log", log.statistics.bytes)?;
        self.counter("log_entries", "Entries written to it", log.statistics.entries)?;
        self.counter("log_syncs", "Syncs of its file", log.statistics.syncs)?;
        let syncing = seconds(log.statistics.sync_nanos);
        self.counter("log_sync_seconds", "Time spent in them", syncing)?;
        let behind = count(log.since_checkpoint_bytes);
        self.gauge("log_since_checkpoint_bytes", "What a restart would repeat", behind)?;
        self.gauge(
            "log_failed",
            "1: nothing is committed any more",
            i64::from(log.failure.is_some()),
        )
    }

    fn calls(&mut self, calls: &[CallFigures]) -> fmt::Result {
        let lines = calls.iter().flat_map(|call| {
            let name = ("procedure", call.procedure.as_str());
            let done = call.calls - call.failed;
            [([name, ("end", "done")], done), ([name, ("end", "failed")], call.failed)]
        });
        self.counters("calls", "Calls of procedures, from the queue to their ends", lines)?;
        let lines = calls.iter().flat_map(|call| {
            CallPhase::ALL.map(|phase| {
                let labels = [("procedure", call.procedure.as_str()), ("phase", phase.name())];
                (labels, call.phases[phase as usize].as_secs_f64())
            })
        });
        self.counters("call_phase_seconds", "Where the time of calls went", lines)?;
        let help = "How long calls took";
        let mut encoder =
            self.encoder.encode_descriptor("call_seconds", help, None, MetricType::Histogram)?;
        for call in calls {
            let labels = [("procedure", call.procedure.as_str())];
            let sum: Duration = call.phases.iter().sum();
            let (buckets, count) = (buckets(call), call.latencies.count());
            let mut family = encoder.encode_family(&labels)?;
            family.encode_histogram::<NoLabelSet>(sum.as_secs_f64(), count, &buckets, None)?;
        }
        Ok(())
    }

    fn connections(&mut self, figures: ConnectionFigures) -> fmt::Result {
        self.gauge("connections", "Connections now", count(figures.open))?;
        self.gauge("connections_max", "How many there can be", count(figures.most))?;
        self.counter("connections_accepted", "Connections accepted", figures.accepted)?;
        self.counter("connections_refused", "Refused: too many", figures.refused)?;
        self.counter("logins_failed", "Wrong passwords and users", figures.logins_failed)
    }
}

/// Ends of buckets in seconds, and how many calls are in each; the last one ends nowhere.
fn buckets(call: &CallFigures) -> Vec<(f64, u64)> {
    let mut below = 0;
    let bucket = |&end_us: &u64| {
        let end = Duration::from_micros(end_us);
        let more = call.latencies.below(end) - below;
        below += more;
        (end.as_secs_f64(), more)
    };
    let mut buckets: Vec<_> = BUCKETS_US.iter().map(bucket).collect();
    buckets.push((f64::INFINITY, call.latencies.count() - below));
    buckets
}

/// As a gauge has it.
fn count(count: impl TryInto<i64>) -> i64 {
    count.try_into().unwrap_or(i64::MAX)
}
