//! Two-phase locking on one shared lock table: the classic, and its planned, deadlock-free form.
//!
//! Should I be using this? `acquisition=ordered` is the one to start with: it plans every call,
//! takes its locks in one global order, the hottest last, and therefore never deadlocks and never
//! undoes a call because of another one. The other acquisitions lock as they go, need no plan, and
//! are the baselines that papers compare with, each named after its deadlock policy: under
//! contention they spend their time on waiting for each other, undoing and repeating. What they
//! lock of an index says `ranges`: granules, as planned calls do, or keys and the gaps between
//! them, which lets scans and inserts of one granule go on side by side.
//!
//! ```text
//! ordered    plan ─ prefetch ─▶ sort footprint ─ acquire cold ─▶ execute ─▶ commit ─ release all
//!                                                               └ hot locks when it comes to them
//! dynamic    execute, acquiring at each access ─────────────────────────▶ commit ─ release all
//!               ▲        └── refused: undo, release all, back off ──┐
//!               └───────────────────────────────────────────────────┘
//! ```
//!
//! Reading order: [`options`], [`policy`], [`lock_table`], [`waiting`], `hotrow_flow::deadlock`,
//! [`intents`], [`ordered`], [`heat`], [`dynamic`], [`key_range`], `interactive`, `ahead`,
//! `foresight`.
//!
//! Invariants   I1 strict two-phase locking: a lock is held until the transaction's changes are
//!              final or undone; so the order in which conflicting transactions commit is a serial
//!              order of all of them
//! Source       orthrus.txt 3.2 and 4 (ordered acquisition, "deadlock free locking"; wait-die;
//!              per-bucket latches); locking.txt 2.2 (key ranges). We differ: locks are granules
//!              of indexes, prefixes of keys, so that they keep phantoms out; and a table that
//!              somebody visits as a whole has intent locks, which that baseline does without
//!
//! Measured (callgrind, one thread, `examples/transaction_cost.rs`): a payment from the account
//! that an alias points to takes 5,300 instructions ordered and 3,580 to 3,880 no-wait or wait-die,
//! a transfer of 3 updates and an insert 7,310 and 5,210 to 5,760: what planning costs while
//! nobody contends. Payments allocate nothing after warm-up.

#![forbid(unsafe_code)]

mod ahead;
pub mod dynamic;
pub mod experiment;
mod foresight;
pub mod heat;
mod held;
pub mod intents;
mod interactive;
pub mod key_range;
pub mod lock_table;
pub mod options;
pub mod ordered;
pub mod pipeline;
pub mod policy;
pub mod waiting;

use std::sync::Arc;

use hotrow_base::clock::Ticks;
use hotrow_engine::contract::{EngineEntry, EngineOptions, Ground, OptionError, RunningEngine};
use hotrow_engine::interactive::Interactive;
use hotrow_engine::source::CallSource;
use hotrow_engine::statistics::Statistics;
use hotrow_engine::waits::{Awaited, Waited};
use hotrow_engine::worker::Workers;

use crate::dynamic::DynamicRunner;
use crate::heat::Heat;
use crate::intents::TableLocks;
use crate::key_range::Ranges;
use crate::lock_table::LockTable;
use crate::options::{Acquisition, Settings};
use crate::ordered::OrderedRunner;

const NAME: &str = "two_phase_locking";
/// This engine's row in the engine table.
pub const ENTRY: EngineEntry = EngineEntry {
    name: NAME,
    summary: "two-phase locking: planned and deadlock-free, or locking as it goes",
    start,
    variants: &[
        &[("acquisition", "ordered"), ("order", "identity"), ("intents", "inherited")],
        &[("acquisition", "ordered"), ("order", "hot-last")],
        &[("acquisition", "ordered"), ("ranges", "granules")],
        &[("acquisition", "no-wait"), ("intents", "plain")],
        &[("acquisition", "wait-die")],
        &[("acquisition", "wait-die"), ("ranges", "orthogonal")],
        &[("acquisition", "wound-wait"), ("intents", "inherited")],
        &[("acquisition", "wait-for-graph"), ("intents", "inherited")],
        &[("acquisition", "wait-for-graph"), ("ranges", "orthogonal")],
        &[("acquisition", "dreadlocks"), ("victim", "kill-short")],
        &[("acquisition", "dreadlocks"), ("digest", "bloom"), ("waiting", "sleep")],
        &[("acquisition", "time-out"), ("time_out_ms", "2")],
    ],
    threads_min: 1,
    threads_max: None,
    locks_as_it_goes: true,
    runs_on_callers: false,
    experiments: &[experiment::INTENTS],
};

fn start(
    ground: Ground,
    options: &EngineOptions,
    sources: Vec<Box<dyn CallSource>>,
) -> Result<Box<dyn RunningEngine>, OptionError> {
    let settings = Settings::read(&options.settings)?;
    let threads = options.threads;
    if threads == 0 {
        return Err(OptionError::Threads { engine: NAME, threads, allowed: "1 or more" });
    }
    assert_eq!(sources.len(), threads, "one source per thread");
    let sessions = options.interactive;
    let table = LockTable::with_sessions(threads, sessions.open_max, settings.deadlocks);
    let table = Arc::new(table);
    let tables = Arc::new(TableLocks::new(Arc::clone(&table), settings.intents));
    let started = Ticks::now();
    if settings.ranges != Ranges::Granules {
        ground.schema.current().guard_gaps();
    }
    let rule = settings.order.rule().filter(|_| settings.acquisition == Acquisition::Ordered);
    let heat = rule.map(|rule| Arc::new(Heat::new(threads, rule, settings.heat)));
    let workers = match settings.acquisition {
        Acquisition::Ordered => Workers::start(&ground, options, sources, |number, committer| {
            let (tables, heat) = (Arc::clone(&tables), heat.clone());
            OrderedRunner::new(tables, number, committer, heat, &settings)
        }),
        Acquisition::Dynamic => Workers::start(&ground, options, sources, |number, committer| {
            let tables = Arc::clone(&tables);
            DynamicRunner::new(tables, &settings, started, number, committer)
        }),
    };
    let workers = Box::new(workers);
    let sessions = (sessions.open_max > 0).then(|| {
        let place = interactive::Place { tables: &tables, started, threads, heat: heat.as_ref() };
        interactive::slots(&ground, &sessions, &settings, place)
    });
    Ok(Box::new(Running { workers, sessions, table }))
}

/// Worker threads, their locks, and sessions beside them.
struct Running {
    workers: Box<Workers>,
    sessions: Option<Arc<dyn Interactive>>,
    table: Arc<LockTable>,
}

impl RunningEngine for Running {
    fn statistics(&self) -> Statistics {
        self.workers.statistics()
    }

    fn interactive(&self) -> Option<Arc<dyn Interactive>> {
        self.sessions.clone()
    }

    fn waits(&self) -> Vec<(Awaited, Waited)> {
        self.table.waits()
    }

    fn stop(self: Box<Self>) -> Statistics {
        // First: calls may be waiting for locks of sessions.
        if let Some(sessions) = &self.sessions {
            sessions.close();
        }
        self.workers.stop()
    }
}
