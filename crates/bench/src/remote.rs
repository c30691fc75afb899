//! Runs at a server: the driver's clients, over PostgreSQL's protocol.
//!
//! Role         does what the driver does with a database of its own: makes a workload's tables and
//!              procedures, loads its rows, has clients call, checks what is left, reports. What it
//!              knows of the server it asks by SQL
//! States       load -> connect and prepare -> (warm up ->) measure -> look -> check -> report
//! Invariants   I1 of a user's tables and procedures none is touched: see `population`
//!              I2 clients have ended before a run does, whatever fails

mod address;
mod blueprint;
mod client;
mod look;
mod population;
mod wire;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use hotrow::{Activity, Statistics, Wait};
use hotrow_base::clock::Ticks;
use hotrow_base::thread;
use hotrow_log::log::LogStatistics;
use hotrow_workloads::{Share, Workload};

pub use address::ServerAddress;
pub use look::{ServerCall, ServerLevels, ServerStatus, ServerSums, ServerWait};
pub use population::{Existing, RemotePopulation};

use crate::books::SourceBooks;
use crate::check;
use crate::clients::CallLoop;
use crate::driver::{Driver, Length, Measured, Ran, Step, WAITS_TOLD};
use crate::error::BenchError;
use crate::phase::{Phase, PhaseFlag};
use crate::report::{CheckReport, LogUse, RunReport, difference};
use blueprint::Blueprint;
use client::RemoteClient;
use population::RemoteRows;

/// What a server told of itself at one moment.
struct Look {
    status: ServerStatus,
    calls: Vec<ServerCall>,
    waits: Vec<ServerWait>,
}

impl Driver {
    /// Loads a workload at a server. The driver's settings of engine, memory and log do not apply:
    /// the server has its own.
    ///
    /// # Errors
    ///
    /// [`BenchError::Occupied`] where there are tables or procedures with the workload's names;
    /// [`BenchError::Server`]; refused parameters.
    pub fn load_remote(
        &self,
        workload: &dyn Workload,
        address: &ServerAddress,
        existing: Existing,
    ) -> Result<RemotePopulation, BenchError> {
        RemotePopulation::load(workload, address, existing, self.seed, self.progress)
    }

    /// Has clients with connections of their own (1, where [`Driver::clients`] says no number) call
    /// the procedures of a loaded workload, and checks it.
    ///
    /// # Errors
    ///
    /// [`BenchError::Server`]
    pub fn run_remote(
        &self,
        population: &mut RemotePopulation,
        workload: &dyn Workload,
    ) -> Result<RunReport, BenchError> {
        let clients = self.clients.unwrap_or(1);
        let phase = Arc::new(PhaseFlag::new(self.first_phase()));
        let RemotePopulation { address, control, blueprint, totals } = population;
        let connected = self.connect((address, blueprint), workload, clients, &phase)?;
        let before = Look::take(control)?;
        let what = format!("running at {address}");
        let (books, timed) = thread::scope(|scope| {
            let running: Vec<_> =
                connected.into_iter().map(|client| scope.spawn(move || client.run())).collect();
            let timed = match self.length {
                Length::Time { warm_up, measured } => {
                    self.progress.sleep(format!("{what}, warming up"), warm_up);
                    Some(self.time_remote(control, &phase, measured, what))
                }
                Length::Calls(_) => None,
            };
            // I2
            if timed.is_some() {
                phase.set(Phase::Ended);
            }
            let mut books = SourceBooks::new(&workload.kinds());
            for client in running {
                let ended = client.join();
                books.add(&ended.unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
            }
            (books, timed.transpose())
        });
        let after = Look::take(control)?;
        let whole = difference(&after.status.statistics(), &before.status.statistics());
        let (seconds, part) = timed?.unwrap_or_else(|| (books.seconds(), whole.clone()));
        totals.add(&books);
        let agreement = agreement(&books, &before, &after, blueprint);
        let mut checks = vec![check::of_failures(&books), agreement];
        if self.inspect {
            checks.extend(self.checks_remote(population, workload)?);
        }
        let status = &after.status;
        let measured = Measured {
            steps: vec![Step { seconds, part, books }],
            whole,
            expected: None,
            choice: None,
            accesses: None,
            waits: self.inspect.then(|| waits_between(&before.waits, &after.waits)),
            log: LogUse(status.log()).since(LogUse(before.status.log())),
            durability: status.durability.clone(),
        };
        let ran = Ran {
            engine: status.engine.clone(),
            options: options(&status.settings),
            threads: status.levels.threads as usize,
        };
        let mut report = measured.report(&measured.steps[0], workload, &ran);
        (report.clients, report.checks) = (clients, checks);
        report.remote = Some(population.address.to_string());
        Ok(report)
    }

    /// Runs the workload's checks over the rows at the server and the commits of all runs on them.
    ///
    /// # Errors
    ///
    /// [`BenchError::Server`]
    pub fn checks_remote(
        &self,
        population: &mut RemotePopulation,
        workload: &dyn Workload,
    ) -> Result<Vec<CheckReport>, BenchError> {
        let RemotePopulation { control, blueprint, totals, .. } = population;
        check::of_workload(workload, RemoteRows { control, blueprint }, totals)
    }

    /// Clients that are let in and have prepared their calls.
    fn connect<'a>(
        &self,
        (address, blueprint): (&ServerAddress, &'a Blueprint),
        workload: &dyn Workload,
        clients: usize,
        phase: &Arc<PhaseFlag>,
    ) -> Result<Vec<RemoteClient<'a>>, BenchError> {
        let client = |index: u32| {
            let share = Share { index, of: clients as u32 };
            let mut connection = address.connect()?;
            let statements = client::prepare(&mut connection, blueprint)?;
            let calls = CallLoop {
                generator: workload
                    .generator(share, self.seed, &|name| blueprint.procedure(name).id),
                kinds: workload.kinds(),
                phase: Arc::clone(phase),
                calls: self.calls_of(share),
            };
            Ok(RemoteClient { connection, blueprint, statements, calls })
        };
        (0..clients as u32).map(client).collect()
    }

    /// Lets clients call for some time; how long it was, and what the server's engine did in it.
    fn time_remote(
        &self,
        control: &mut postgres::Client,
        phase: &PhaseFlag,
        time: Duration,
        what: String,
    ) -> Result<(f64, Statistics), BenchError> {
        let before = ServerStatus::take(control)?.statistics();
        let start = Ticks::now();
        phase.set(Phase::Measure(0));
        self.progress.sleep(what, time);
        let end = Ticks::now();
        phase.set(Phase::Ended);
        let after = ServerStatus::take(control)?.statistics();
        Ok((end.nanos_since(start) as f64 / 1e9, difference(&after, &before)))
    }
}

impl Look {
    fn take(client: &mut postgres::Client) -> Result<Self, BenchError> {
        Ok(Self {
            status: ServerStatus::take(client)?,
            calls: ServerCall::take(client)?,
            waits: ServerWait::take(client)?,
        })
    }

    /// Calls of the workload's procedures that ended, and those of them that failed.
    fn ends(&self, blueprint: &Blueprint) -> (u64, u64) {
        let ours = |call: &&ServerCall| {
            blueprint.procedures.iter().any(|procedure| procedure.name == call.procedure)
        };
        let calls = self.calls.iter().filter(ours);
        calls.fold((0, 0), |(all, failed), call| (all + call.calls, failed + call.failed))
    }
}

impl ServerStatus {
    /// As the books of an engine in this process.
    fn statistics(&self) -> Statistics {
        let sums = &self.sums;
        let mut statistics = Statistics {
            committed: sums.committed,
            user_aborts: sums.failed,
            replans: sums.replanned,
            waits: sums.lock_waits,
            messages: sums.messages,
            ..Statistics::default()
        };
        // The server does not tell reasons; only the sum is looked at.
        statistics.conflicts[0] = sums.undone;
        for (activity, ms) in [
            (Activity::Execute, sums.execute_ms),
            (Activity::Plan, sums.plan_ms),
            (Activity::Lock, sums.lock_ms),
            (Activity::Wait, sums.wait_ms),
            (Activity::Log, sums.log_ms),
            (Activity::Idle, sums.idle_ms),
        ] {
            statistics.nanos[activity as usize] = ms * 1_000_000;
        }
        statistics
    }

    /// As the books of a log in this process, as far as the server tells them.
    fn log(&self) -> LogStatistics {
        LogStatistics {
            bytes: self.sums.log_bytes,
            entries: self.sums.log_entries,
            syncs: self.sums.log_syncs,
            sync_nanos: self.sums.log_sync_ms * 1_000_000,
            ..LogStatistics::default()
        }
    }
}

/// Whether the server counted as many calls of the workload's procedures as the clients.
fn agreement(
    books: &SourceBooks,
    before: &Look,
    after: &Look,
    blueprint: &Blueprint,
) -> CheckReport {
    let ends = books.all();
    let clients_say = (ends.committed + ends.user_aborts, ends.user_aborts);
    let (then, now) = (before.ends(blueprint), after.ends(blueprint));
    let server_says = (now.0 - then.0, now.1 - then.1);
    let holds = clients_say == server_says;
    let detail = if holds {
        format!("clients and server agree on {} commits", ends.committed)
    } else {
        format!(
            "clients counted {} calls, {} failed; the server {} and {}",
            clients_say.0, clients_say.1, server_says.0, server_says.1
        )
    };
    CheckReport { name: "books".to_owned(), holds, detail }
}

/// What was waited for longest between two looks.
fn waits_between(before: &[ServerWait], after: &[ServerWait]) -> Vec<Wait> {
    let ms = |ms: f32| Duration::from_secs_f64(f64::from(ms.max(0.0)) / 1e3);
    let wait = |wait: ServerWait| Wait {
        table: wait.table,
        key: wait.key,
        waiter: wait.waiter,
        holder: wait.holder,
        count: wait.waits,
        total: ms(wait.total_ms),
        longest: ms(wait.longest_ms),
    };
    ServerWait::between(before, after).into_iter().take(WAITS_TOLD).map(wait).collect()
}

/// `name=value,...`
fn options(settings: &str) -> BTreeMap<String, String> {
    let pairs = settings.split(',').filter_map(|pair| pair.split_once('='));
    pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
}
