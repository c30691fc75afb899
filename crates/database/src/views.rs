//! The views of schema `hotrow`: what there is to know of the running database, as rows.

use std::time::Duration;

use hotrow_base::clock::{self, Ticks};
use hotrow_base::value::Value;
use hotrow_engine::statistics::Activity;
use hotrow_sql::{Fields, split_path};

use crate::books::CallPhase;
use crate::cancel::Known;
use crate::context::Context;
use crate::core::Core;
use crate::status::{CallFigures, EngineStatus, HotKey};
use crate::transaction::TransactionState;
use crate::waits::Wait;

/// Rows of a view at most: beyond the hottest there is nothing to see.
const ROWS_MAX: usize = 100;

/// The rows of a view, by its full name.
pub(crate) fn rows(core: &Core, view: &str) -> Vec<Fields> {
    match view {
        "hotrow.engine_status" => vec![status(&core.status())],
        "hotrow.calls" => core.call_figures().iter().map(call).collect(),
        "hotrow.hot_keys" => core.hot_keys(ROWS_MAX).iter().map(hot_key).collect(),
        "hotrow.waits" => core.waits(ROWS_MAX).iter().map(wait).collect(),
        _ => Vec::new(),
    }
}

/// What is shown in place of a statement that is none of the asker's.
const NOT_SHOWN: &str = "<insufficient privilege>";

/// The rows of `pg_stat_activity`: sessions that have numbers. What one does is told to who may
/// interrupt it.
pub(crate) fn sessions(context: &Context) -> Vec<Fields> {
    let one = |(pid, known): (i32, Known)| {
        let activity = &known.activity;
        let shown = activity.shown();
        let mut fields = vec![
            ("pid", Value::Int(pid)),
            ("usename", text(&activity.user)),
            ("datname", text(&activity.database)),
            ("application_name", text(&shown.application)),
        ];
        if context.may_interrupt(&known.role).is_err() {
            fields.push(("query", text(NOT_SHOWN)));
            return fields;
        }
        let state = match (known.is_running(), shown.transaction) {
            (true, _) => "active",
            (false, TransactionState::Idle) => "idle",
            (false, TransactionState::Open) => "idle in transaction",
            (false, TransactionState::Failed) => "idle in transaction (aborted)",
        };
        let now = clock::now_us();
        let at = |at: Option<Ticks>| match at {
            Some(at) => Value::TimestampTz(now - (at.elapsed_nanos() / 1_000).cast_signed()),
            None => Value::Null,
        };
        fields.extend([
            ("backend_type", text("client backend")),
            ("backend_start", Value::TimestampTz(activity.began_us)),
            ("xact_start", at(shown.transaction_began)),
            ("query_start", at(shown.started)),
            ("state_change", at(Some(shown.changed))),
            ("state", text(state)),
            ("query", text(&hotrow_sql::shown(split_path(&shown.statement).1))),
        ]);
        if known.is_running() && known.is_waiting() {
            fields.extend([("wait_event_type", text("Lock")), ("wait_event", text("tuple"))]);
        }
        fields
    };
    context.core.cancellers.all().into_iter().map(one).collect()
}

fn text(text: &str) -> Value {
    Value::Text(text.to_owned())
}

fn count(count: u64) -> Value {
    Value::BigInt(count.cast_signed())
}

fn number(number: usize) -> Value {
    count(number as u64)
}

fn micros(span: Duration) -> Value {
    Value::Real((span.as_secs_f64() * 1e6) as f32)
}

fn millis(span: Duration) -> Value {
    Value::Real((span.as_secs_f64() * 1e3) as f32)
}

fn status(status: &EngineStatus) -> Fields {
    let EngineStatus { statistics, sessions, .. } = status;
    let mut fields = vec![
        ("engine", text(&status.engine)),
        ("settings", text(&status.settings)),
        ("choice", status.choice.as_deref().map_or(Value::Null, text)),
        ("threads", number(status.threads)),
        ("durability", text(&status.durability.to_string())),
        ("uptime_s", count(status.uptime.as_secs())),
        ("committed", count(statistics.committed)),
        ("failed", count(statistics.user_aborts)),
        ("undone", count(statistics.conflict_aborts())),
        ("replanned", count(statistics.replans)),
        ("run_alone", count(statistics.exclusive)),
        ("lock_waits", count(statistics.waits)),
        ("messages", count(statistics.messages)),
        ("running", number(status.running)),
        ("parked", number(status.parked)),
        ("queued", number(status.queued)),
        ("queue_capacity", number(status.queue_capacity)),
        ("open_transactions", number(status.open_transactions)),
        ("open_transactions_max", number(status.open_transactions_max)),
        ("statements", count(sessions.statements)),
        ("statements_failed", count(sessions.failed)),
        ("session_commits", count(sessions.commits)),
        ("session_rollbacks", count(sessions.rollbacks)),
        ("session_repeats", count(sessions.repeated)),
        ("snapshots", count(sessions.snapshots)),
        ("snapshot_bytes", count(status.snapshot_bytes)),
        ("calls_refused", count(sessions.refused)),
        ("memory_bytes", count(status.memory_bytes)),
        ("memory_limit_bytes", count(status.memory_limit_bytes)),
    ];
    for activity in Activity::ALL {
        let name = match activity {
            Activity::Execute => "execute_ms",
            Activity::Plan => "plan_ms",
            Activity::Lock => "lock_ms",
            Activity::Wait => "wait_ms",
            Activity::Log => "log_ms",
            Activity::Idle => "idle_ms",
        };
        fields.push((name, count(statistics.nanos[activity as usize] / 1_000_000)));
    }
    if let Some(log) = &status.log {
        fields.extend([
            ("log_bytes", count(log.statistics.bytes)),
            ("log_entries", count(log.statistics.entries)),
            ("log_syncs", count(log.statistics.syncs)),
            ("log_sync_ms", count(log.statistics.sync_nanos / 1_000_000)),
            ("log_since_checkpoint_bytes", count(log.since_checkpoint_bytes)),
            ("log_failure", log.failure.as_deref().map_or(Value::Null, text)),
        ]);
    }
    fields
}

fn call(call: &CallFigures) -> Fields {
    let mean = |span: Duration| micros(span / u32::try_from(call.calls.max(1)).unwrap_or(u32::MAX));
    let mut fields = vec![
        ("procedure", text(&call.procedure)),
        ("calls", count(call.calls)),
        ("failed", count(call.failed)),
        ("mean_us", mean(call.phases.iter().sum())),
        ("p50_us", micros(call.latencies.quantile(0.5).min(call.longest))),
        ("p99_us", micros(call.latencies.quantile(0.99).min(call.longest))),
        ("max_us", micros(call.longest)),
    ];
    for phase in CallPhase::ALL {
        let name = match phase {
            CallPhase::Queue => "queue_us",
            CallPhase::Plan => "plan_us",
            CallPhase::Lock => "lock_us",
            CallPhase::Execute => "execute_us",
            CallPhase::Reply => "reply_us",
            CallPhase::Log => "log_us",
        };
        fields.push((name, mean(call.phases[phase as usize])));
    }
    fields
}

fn hot_key(hot: &HotKey) -> Fields {
    vec![
        ("table_name", text(&hot.table)),
        ("key", text(&hot.key)),
        ("waits", count(hot.waits)),
        ("total_ms", millis(hot.total)),
        ("longest_ms", millis(hot.longest)),
    ]
}

fn wait(wait: &Wait) -> Fields {
    vec![
        ("table_name", text(&wait.table)),
        ("key", text(&wait.key)),
        ("waiter", text(&wait.waiter)),
        ("holder", text(&wait.holder)),
        ("waits", count(wait.count)),
        ("total_ms", millis(wait.total)),
        ("longest_ms", millis(wait.longest)),
    ]
}
