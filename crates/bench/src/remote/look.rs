//! Looks: what a server tells of itself at one moment, from the views of schema `hotrow`.
//!
//! Role         taken by the driver before and behind what it measures, and by `hotrow top` once a
//!              second; figures of a span of time are differences of two looks

use postgres::{Client, Row};

use crate::error::BenchError;

/// Columns of a view that are counts, as fields of a struct.
macro_rules! counts {
    ($(#[$about:meta])* $name:ident: $($(#[$doc:meta])* $field:ident),+ $(,)?) => {
        $(#[$about])*
        #[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
        pub struct $name {
            $($(#[$doc])* pub $field: u64,)+
        }

        impl $name {
            /// What has come since another look; nothing where it was later, or another start of
            /// the database.
            pub fn since(&self, before: &Self) -> Self {
                Self { $($field: self.$field.saturating_sub(before.$field)),+ }
            }

            const COLUMNS: &'static [&'static str] = &[$(stringify!($field)),+];

            /// From the columns of a row, the first of which has this number; NULL is 0.
            fn of(row: &Row, first: usize) -> Result<Self, postgres::Error> {
                let mut at = first;
                let mut next = || {
                    let value: Option<i64> = row.try_get(at)?;
                    at += 1;
                    Ok::<_, postgres::Error>(value.unwrap_or(0).max(0).cast_unsigned())
                };
                Ok(Self { $($field: next()?),+ })
            }
        }
    };
}

counts! {
    /// Sums since the database was opened: columns of `hotrow.engine_status`.
    ServerSums:
    /// calls committed by the engine
    committed,
    /// calls that failed or aborted themselves
    failed,
    /// calls undone because of others and run again
    undone,
    /// calls planned again after a wrong guess
    replanned,
    /// requests for locks that had to wait
    lock_waits,
    /// messages between threads of the engine
    messages,
    /// statements that ended
    statements,
    /// those that failed
    statements_failed,
    /// transactions outside planned calls that committed
    session_commits,
    /// those that were taken back
    session_rollbacks,
    /// calls that were refused for want of room, or withdrawn
    calls_refused,
    /// milliseconds of the engine's threads: running procedures
    execute_ms,
    /// planning
    plan_ms,
    /// the lock manager's work
    lock_ms,
    /// waiting for locks
    wait_ms,
    /// the log
    log_ms,
    /// nothing to do
    idle_ms,
    /// bytes of the log
    log_bytes,
    /// entries of the log
    log_entries,
    /// syncs of the log
    log_syncs,
    /// milliseconds spent in them
    log_sync_ms,
}

counts! {
    /// What there is at the moment: columns of `hotrow.engine_status`.
    ServerLevels:
    /// threads of the engine
    threads,
    /// seconds since the database was opened
    uptime_s,
    /// calls that threads have taken and not ended
    running,
    /// calls that wait for a thread
    queued,
    /// how many can
    queue_capacity,
    /// transactions of several statements that are open
    open_transactions,
    /// how many can be
    open_transactions_max,
    /// bytes that records and indexes take
    memory_bytes,
    /// bytes that they may take
    memory_limit_bytes,
    /// bytes of the log since the last checkpoint
    log_since_checkpoint_bytes,
}

/// How a database behind a server is doing: the one row of `hotrow.engine_status`.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct ServerStatus {
    /// the engine
    pub engine: String,
    /// its settings, as `name=value,...`
    pub settings: String,
    /// what a commit outlives
    pub durability: String,
    /// why the log takes no more; none while it does
    pub log_failure: Option<String>,
    /// since it was opened
    pub sums: ServerSums,
    /// now
    pub levels: ServerLevels,
}

/// A line of `hotrow.calls`: all calls of one procedure since the database was opened.
#[derive(Clone, PartialEq, Default, Debug)]
pub struct ServerCall {
    /// its name
    pub procedure: String,
    /// calls that ended
    pub calls: u64,
    /// those of them that failed
    pub failed: u64,
    /// the duration that half of the calls do not exceed, in microseconds
    pub p50_us: f32,
    /// and that 99 % do not exceed
    pub p99_us: f32,
    /// the longest
    pub max_us: f32,
    /// means of queue, plan, lock, execute, reply, log, in microseconds
    pub phases_us: [f32; 6],
}

/// A line of `hotrow.hot_keys`, or of `hotrow.waits`, which tells who waited because of whom.
#[derive(Clone, PartialEq, Default, Debug)]
pub struct ServerWait {
    /// the table; empty where nobody knows
    pub table: String,
    /// the key; empty for a table as a whole
    pub key: String,
    /// who waited; empty for a hot key
    pub waiter: String,
    /// because of whom; empty for a hot key
    pub holder: String,
    /// times
    pub waits: u64,
    /// milliseconds of all of them
    pub total_ms: f32,
    /// milliseconds of the longest
    pub longest_ms: f32,
}

const PHASES: &str = "queue_us, plan_us, lock_us, execute_us, reply_us, log_us";

impl ServerStatus {
    /// Asks for it.
    ///
    /// # Errors
    ///
    /// [`BenchError::Server`], also where the server is none of ours.
    pub fn take(client: &mut Client) -> Result<Self, BenchError> {
        let columns = ServerSums::COLUMNS.iter().chain(ServerLevels::COLUMNS);
        let columns: String = columns.map(|name| format!(", {name}")).collect();
        let query = format!(
            "SELECT engine, settings, durability, log_failure{columns} FROM hotrow.engine_status"
        );
        let read = |row: &Row| {
            Ok(Self {
                engine: row.try_get(0)?,
                settings: row.try_get(1)?,
                durability: row.try_get(2)?,
                log_failure: row.try_get(3)?,
                sums: ServerSums::of(row, 4)?,
                levels: ServerLevels::of(row, 4 + ServerSums::COLUMNS.len())?,
            })
        };
        let status = client.query_one(&query, &[]).and_then(|row| read(&row));
        status.map_err(|error| BenchError::server("asking for hotrow.engine_status", &error))
    }
}

impl ServerCall {
    /// Asks for all of them.
    ///
    /// # Errors
    ///
    /// [`BenchError::Server`]
    pub fn take(client: &mut Client) -> Result<Vec<Self>, BenchError> {
        let query = format!(
            "SELECT procedure, calls, failed, p50_us, p99_us, max_us, {PHASES} FROM hotrow.calls"
        );
        let read = |row: &Row| {
            let mut phases_us = [0.0; 6];
            for (at, phase) in phases_us.iter_mut().enumerate() {
                *phase = row.try_get(6 + at)?;
            }
            Ok(Self {
                procedure: row.try_get(0)?,
                calls: count(row, 1)?,
                failed: count(row, 2)?,
                p50_us: row.try_get(3)?,
                p99_us: row.try_get(4)?,
                max_us: row.try_get(5)?,
                phases_us,
            })
        };
        rows(client, &query, read)
    }
}

impl ServerCall {
    /// Calls between two looks, by procedure, the most time-consuming first: counts and means are
    /// of the time between, `p50_us`, `p99_us` and `max_us` since the database was opened. Means
    /// come as single floats: beyond 10 million calls those of a few calls are off by per cents.
    pub fn between(before: &[Self], after: &[Self]) -> Vec<Self> {
        let mut all: Vec<(Self, [f64; 6])> = Vec::new();
        // Several lines have one name where procedures were dropped.
        let mut at = |line: &Self| {
            let known = all.iter().position(|(call, _)| call.procedure == line.procedure);
            known.unwrap_or_else(|| {
                all.push((Self { procedure: line.procedure.clone(), ..Self::default() }, [0.0; 6]));
                all.len() - 1
            })
        };
        let places: Vec<_> = after.iter().chain(before).map(&mut at).collect();
        let (now, then) = places.split_at(after.len());
        for (line, &at) in after.iter().zip(now) {
            let (call, sums) = &mut all[at];
            call.calls += line.calls;
            call.failed += line.failed;
            call.p50_us = call.p50_us.max(line.p50_us);
            call.p99_us = call.p99_us.max(line.p99_us);
            call.max_us = call.max_us.max(line.max_us);
            line.add_to(sums, 1.0);
        }
        for (line, &at) in before.iter().zip(then) {
            let (call, sums) = &mut all[at];
            call.calls = call.calls.saturating_sub(line.calls);
            call.failed = call.failed.saturating_sub(line.failed);
            line.add_to(sums, -1.0);
        }
        let mean = |(mut call, sums): (Self, [f64; 6])| {
            let count = call.calls.max(1) as f64;
            let is_called = call.calls > 0;
            let mean = |sum: f64| if is_called { (sum / count).max(0.0) as f32 } else { 0.0 };
            call.phases_us = sums.map(mean);
            call
        };
        let mut calls: Vec<Self> = all.into_iter().map(mean).collect();
        calls.sort_by(|a, b| b.busy_us().total_cmp(&a.busy_us()));
        calls
    }

    /// The mean of all phases together.
    pub fn mean_us(&self) -> f32 {
        self.phases_us.iter().sum()
    }

    /// The time of all calls together.
    pub fn busy_us(&self) -> f64 {
        f64::from(self.mean_us()) * self.calls as f64
    }

    fn add_to(&self, sums: &mut [f64; 6], factor: f64) {
        for (sum, mean) in sums.iter_mut().zip(self.phases_us) {
            *sum += f64::from(mean) * self.calls as f64 * factor;
        }
    }
}

impl ServerWait {
    /// Asks for who waited because of whom.
    ///
    /// # Errors
    ///
    /// [`BenchError::Server`]
    pub fn take(client: &mut Client) -> Result<Vec<Self>, BenchError> {
        Self::take_from(client, "hotrow.waits", "waiter, holder")
    }

    /// Asks for the keys that were waited for.
    ///
    /// # Errors
    ///
    /// [`BenchError::Server`]
    pub fn take_hot_keys(client: &mut Client) -> Result<Vec<Self>, BenchError> {
        Self::take_from(client, "hotrow.hot_keys", "'', ''")
    }

    /// What was waited for between two looks, the longest first; lines about the same are one.
    /// The longest wait is that since the engine started.
    pub fn between(before: &[Self], after: &[Self]) -> Vec<Self> {
        let mut waits: Vec<Self> = Vec::new();
        let find = |waits: &[Self], like: &Self| {
            let names = |wait: &Self| {
                [&wait.table, &wait.key, &wait.waiter, &wait.holder].map(String::clone)
            };
            waits.iter().position(|wait| names(wait) == names(like))
        };
        for line in after {
            match find(&waits, line) {
                Some(at) => {
                    let wait = &mut waits[at];
                    wait.waits += line.waits;
                    wait.total_ms += line.total_ms;
                    wait.longest_ms = wait.longest_ms.max(line.longest_ms);
                }
                None => waits.push(line.clone()),
            }
        }
        for line in before {
            if let Some(at) = find(&waits, line) {
                let wait = &mut waits[at];
                wait.waits = wait.waits.saturating_sub(line.waits);
                wait.total_ms = (wait.total_ms - line.total_ms).max(0.0);
            }
        }
        waits.retain(|wait| wait.waits > 0);
        waits.sort_by(|a, b| b.total_ms.total_cmp(&a.total_ms));
        waits
    }

    fn take_from(client: &mut Client, view: &str, parties: &str) -> Result<Vec<Self>, BenchError> {
        let query =
            format!("SELECT table_name, key, {parties}, waits, total_ms, longest_ms FROM {view}");
        let read = |row: &Row| {
            Ok(Self {
                table: row.try_get(0)?,
                key: row.try_get(1)?,
                waiter: row.try_get(2)?,
                holder: row.try_get(3)?,
                waits: count(row, 4)?,
                total_ms: row.try_get(5)?,
                longest_ms: row.try_get(6)?,
            })
        };
        rows(client, &query, read)
    }
}

fn count(row: &Row, at: usize) -> Result<u64, postgres::Error> {
    Ok(row.try_get::<_, i64>(at)?.max(0).cast_unsigned())
}

fn rows<T>(
    client: &mut Client,
    query: &str,
    read: impl Fn(&Row) -> Result<T, postgres::Error>,
) -> Result<Vec<T>, BenchError> {
    let found = client.query(query, &[]).and_then(|rows| rows.iter().map(read).collect());
    found.map_err(|error| BenchError::server("asking what it does", &error))
}

#[cfg(test)]
mod tests;
