//! Replays without a log: calls run one after the other on one database, as a log would have them,
//! and replayed on another.

use std::cell::RefCell;
use std::sync::Arc;

use hotrow::{CallSource, Database, EngineEntry, EngineOptions, Invocation};
use hotrow_base::ids::WorkerId;
use hotrow_engine::contract::{Ground, OptionError, RunningEngine};
use hotrow_engine::in_place::{InPlace, Scratch};
use hotrow_engine::journal::command::fold_hash;
use hotrow_engine::protection::Alone;
use hotrow_engine::recovery::{
    LogPlace, LoggedCall, ReplayCounts, ReplayEnds, ReplayError, ReplayOptions, Replayer,
};
use hotrow_engine::schema::{Schema, SharedSchema};
use hotrow_engine::source::{End, Fetch, Ticket};
use hotrow_engine::statistics::Statistics;
use hotrow_log::position::Position;
use hotrow_transaction::frame::Frame;
use hotrow_transaction::interpret::{self, NoHook};

thread_local! {
    static GIVEN: RefCell<Option<Arc<SharedSchema>>> = const { RefCell::new(None) };
}

/// An engine that runs nothing and keeps the schema it was given.
const LISTENER: EngineEntry = EngineEntry {
    name: "listener",
    summary: "keeps the schema",
    start: listen,
    variants: &[],
    threads_min: 1,
    threads_max: None,
    locks_as_it_goes: false,
    runs_on_callers: false,
    experiments: &[],
};

struct Listener;

impl RunningEngine for Listener {
    fn statistics(&self) -> Statistics {
        Statistics::default()
    }

    fn stop(self: Box<Self>) -> Statistics {
        Statistics::default()
    }
}

impl CallSource for Listener {
    fn fetch(&mut self, _: &mut Invocation) -> Fetch {
        Fetch::Closed
    }

    fn wait(&mut self) {}

    fn finish(&mut self, _: Ticket, _: End<'_>) {}
}

fn listen(
    ground: Ground,
    _: &EngineOptions,
    _: Vec<Box<dyn CallSource>>,
) -> Result<Box<dyn RunningEngine>, OptionError> {
    GIVEN.set(Some(ground.schema));
    Ok(Box::new(Listener))
}

/// The schema of a database without an engine, with its tables.
pub fn schema_of(db: &Database) -> Arc<Schema> {
    let options = EngineOptions { threads: 1, ..EngineOptions::default() };
    let started = db.start_engine(&LISTENER, &options, vec![Box::new(Listener)]);
    started.expect("no engine runs").stop();
    GIVEN.take().expect("the engine was given it").current()
}

/// Loop iterations and rows a call of a test may visit.
const STEP_BUDGET: u64 = 1_000_000;

/// Runs calls one after the other; those that commit, as they would be logged.
pub fn run_serially(
    schema: &Schema,
    calls: impl IntoIterator<Item = Invocation>,
) -> Vec<LoggedCall> {
    let (mut scratch, mut frame) = (Scratch::new(WorkerId(0)), Frame::new());
    frame.set_step_budget(STEP_BUDGET);
    let mut logged = Vec::new();
    for invocation in calls {
        let _pin = schema.memory.epochs().pin(scratch.worker());
        let program = &schema.procedure(invocation.procedure).expect("it was created").program;
        frame.begin(program, &invocation);
        let mut access = InPlace::new(schema, &mut scratch, Alone);
        let ran = interpret::run(program, 0, &mut frame, &mut access, &mut NoHook);
        if ran.is_err() {
            access.undo();
            continue;
        }
        let write_hash = fold_hash(access.write_hash().unwrap_or(0));
        let position = Position { epoch: 1, time: logged.len() as u64 };
        access.commit();
        let place = LogPlace { position, worker: 0 };
        logged.push(LoggedCall { invocation, write_hash, place, ..LoggedCall::default() });
    }
    logged
}

/// Replays calls, so many at once.
pub fn replay(
    schema: &Schema,
    calls: &[LoggedCall],
    (threads, at_once): (usize, usize),
    ends: &dyn ReplayEnds,
) -> Result<ReplayCounts, ReplayError> {
    let first_worker = WorkerId(1);
    let mut replayer =
        Replayer::new(ReplayOptions { threads, first_worker, step_budget: STEP_BUDGET });
    calls.chunks(at_once).try_for_each(|calls| replayer.run(schema, calls, ends))?;
    Ok(replayer.counts())
}
