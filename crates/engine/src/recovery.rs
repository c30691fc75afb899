//! Recovery: the commands of a log, run again by several threads to the same state.
//!
//! Role         given calls in the order of their positions, by whoever reads logs; knows no file,
//!              no SQL text and no engine. Nothing else runs meanwhile
//! States       of a batch: planned, entered and run call by call, in a window that moves on (see
//!              [`schedule`]); when [`Replayer::run`] returns, all its calls have ended
//! Invariants   I1 the state afterwards is that of the calls run one after the other
//!              I2 each call changes what it changed when it was logged, or the replay fails: the
//!              hashes of all that it wrote are compared
//!              I3 nothing is allocated per call once buffers have grown
//! Source       lads.txt 3.2 and 4.2.4: a dependency graph is rebuilt from the commands, and what
//!              has no incoming edge runs; see [`chains`] for what differs. Guesses: see
//!              [`forecast`]
//!
//! ```text
//!            plan                 enter, in order                  run
//! calls ──▶ by any thread ──▶ by one thread at a time ──▶ by any thread, when nobody before
//!           trial reads           │ places it in the           it holds what it needs
//!                                 │ chains of its locks
//!                                 └ a guess that rows may have proved wrong waits here until
//!                                   nothing that it looked at is being written, and is made again
//! ```
//!
//! **Guesses.** A plan that rows decide is wrong if a call before it, not yet run when it was made,
//! changes those rows. Then later calls must not take their places before it, because nobody knows
//! where it stands. The trial reads note the locks that cover what they look at. When the call's
//! turn to enter comes, all calls before it have their places in the chains, so these locks tell:
//! has nobody been entered since who writes there, the guess is right. Otherwise the entrance
//! closes until those who do have ended, and the plan is made again. Calls entered before run on
//! meanwhile. TPC-C's Payment by name is always right, since nobody changes names; a Delivery
//! waits for the NewOrders of its warehouse entered before it.
//!
//! **Calls alone.** A call whose trial reads look at what it has itself written by then may go
//! where no plan knows; it runs when all before it have ended, and nothing else runs meanwhile. So
//! do calls that were logged as having run so.

mod chains;
mod forecast;
mod replay_thread;
mod schedule;

use hotrow_base::sync::facade::atomic::AtomicBool;

use hotrow_base::ids::WorkerId;
use hotrow_base::sync::{EventCount, Latch};
use hotrow_base::thread;
use hotrow_log::position::Position;
use hotrow_transaction::bytecode::Program;
use hotrow_transaction::frame::Frame;
use hotrow_transaction::invocation::Invocation;
use hotrow_transaction::outcome::SqlError;

use crate::schema::Schema;
use forecast::Forecast;
use replay_thread::ReplayThread;
use schedule::Schedule;

pub use schedule::ReplayCounts;

/// Calls that may be planned and have not ended, per thread. More let threads plan further ahead
/// while a chain is long, fewer stay in the caches.
const WINDOW_PER_THREAD: usize = 64;

/// Where a call stands in the log; for messages.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct LogPlace {
    /// its position
    pub position: Position,
    /// the worker that ran it
    pub worker: u16,
}

impl std::fmt::Display for LogPlace {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "position {}, worker {}", self.position, self.worker)
    }
}

/// A committed call, as logged.
#[derive(Clone, Default, Debug)]
pub struct LoggedCall {
    /// the call; number and types of its arguments fit the procedure's parameters
    pub invocation: Invocation,
    /// hash of all that it wrote, as entries have it
    pub write_hash: u32,
    /// where it was logged
    pub place: LogPlace,
    /// it ran with nothing else running, without a plan
    pub alone: bool,
    /// its end is to be told
    pub tell_end: bool,
}

/// Who is told of calls' ends.
pub trait ReplayEnds: Sync {
    /// A call with [`LoggedCall::tell_end`] has been run; its result rows lie in the frame. Called
    /// by the thread that ran it.
    fn ended(&self, call: &LoggedCall, frame: &mut Frame, program: &Program);
}

/// Nobody.
impl ReplayEnds for () {
    fn ended(&self, _: &LoggedCall, _: &mut Frame, _: &Program) {}
}

/// Why a replay came to its end. What it has done until then is of no use, and neither is the
/// replayer.
#[derive(Clone, PartialEq, Debug, thiserror::Error)]
pub enum ReplayError {
    /// the procedure is not there
    #[error(
        "the log's call at {place} is of procedure number {procedure}, which does not exist; was \
         this log written with other definitions?"
    )]
    UnknownProcedure {
        /// the call
        place: LogPlace,
        /// the procedure's number
        procedure: u32,
    },
    /// the call failed
    #[error(
        "the log's call of {procedure} at {place} was committed, but fails now: {error}; was this \
         log written by another version?"
    )]
    Failed {
        /// the call
        place: LogPlace,
        /// the procedure's name
        procedure: String,
        /// why it failed
        error: Box<SqlError>,
    },
    /// the call left its plan
    #[error(
        "the log's call of {procedure} at {place} touches what its plan does not know; this is a \
         bug in Hotrow"
    )]
    Strayed {
        /// the call
        place: LogPlace,
        /// the procedure's name
        procedure: String,
    },
    /// the call wrote something else
    #[error(
        "the log's call of {procedure} at {place} writes other values than it did (hash \
         {replayed:08x} instead of {logged:08x}); was this log written by another version?"
    )]
    Differs {
        /// the call
        place: LogPlace,
        /// the procedure's name
        procedure: String,
        /// the hash in the log
        logged: u32,
        /// the hash now
        replayed: u32,
    },
}

/// How calls are replayed.
#[derive(Clone, Copy, Debug)]
pub struct ReplayOptions {
    /// threads
    pub threads: usize,
    /// the first of as many worker ids, which nobody else uses meanwhile
    pub first_worker: WorkerId,
    /// loop iterations and rows one call may visit
    pub step_budget: u64,
}

/// Replays calls; see the module.
pub struct Replayer {
    schedule: Latch<Schedule>,
    /// by slot
    forecasts: Box<[Latch<Forecast>]>,
    /// where threads without work wait
    idle: EventCount,
    threads: Vec<ReplayThread>,
}

impl Replayer {
    /// A replayer whose threads run only while [`Replayer::run`] does.
    ///
    /// # Panics
    ///
    /// Without a thread.
    pub fn new(options: ReplayOptions) -> Self {
        assert!(options.threads > 0, "calls are replayed by at least one thread");
        let slots = WINDOW_PER_THREAD * options.threads;
        let first = options.first_worker.0;
        let workers = (first..).take(options.threads).map(WorkerId);
        Self {
            schedule: Latch::new(Schedule::new(slots)),
            forecasts: (0..slots).map(|_| Latch::new(Forecast::default())).collect(),
            idle: EventCount::new(),
            threads: workers.map(|id| ReplayThread::new(id, options.step_budget)).collect(),
        }
    }

    /// Runs calls, given in serial order, to the state that they leave when they are run one after
    /// the other. Calls by the thousand keep the threads busy: at the end of each run they wait for
    /// each other.
    pub fn run(
        &mut self,
        schema: &Schema,
        calls: &[LoggedCall],
        ends: &dyn ReplayEnds,
    ) -> Result<(), ReplayError> {
        self.schedule.lock().begin(calls.len());
        let Self { schedule, forecasts, idle, threads } = self;
        let has_more = AtomicBool::new(false);
        let shared = Shared { schema, calls, ends, schedule, forecasts, idle, has_more };
        let shared = &shared;
        let (own, others) = threads.split_first_mut().expect("there is at least one");
        thread::scope(|scope| {
            for other in others {
                scope.spawn(move || other.work(shared));
            }
            own.work(shared);
        });
        self.schedule.lock().failure().map_or(Ok(()), Err)
    }

    /// What happened so far.
    pub fn counts(&self) -> ReplayCounts {
        self.schedule.lock().counts()
    }
}

/// What the threads of one run share.
struct Shared<'a> {
    schema: &'a Schema,
    calls: &'a [LoggedCall],
    ends: &'a dyn ReplayEnds,
    schedule: &'a Latch<Schedule>,
    forecasts: &'a [Latch<Forecast>],
    idle: &'a EventCount,
    /// a thread that waits would find something to do
    has_more: AtomicBool,
}
