//! Interactive transactions that are run again: on engines that run whole calls only.
//!
//! Role         makes [`Interactive`] of any engine, without a lock or a word of its protocol. A
//!              transaction of several statements is a procedure that is written as it goes: its
//!              statements so far are kept in a [list], with a hash of what each gave its client
//! States       of a statement: waits for a quiet point -> those before it that changed something
//!              are repeated -> it runs, and its answer is taken -> all is undone, the quiet point
//!              over: between two statements the transaction is a list and nothing else; but see
//!              I6. Of COMMIT: waits for a quiet point -> all statements run in their order, those
//!              that were taken back and those that failed included -> each gave what its client
//!              had seen: the changes stay. Or one did not: all is undone, and the transaction
//!              fails with 40001
//! Invariants   I1 what commits is what a client would have seen that sent all of its statements
//!              at the quiet point of COMMIT: it knows of the rows what it was shown, and is shown
//!              that again. So transactions stand in the order of their quiet points, and blind
//!              changes (`SET n = n + 1`) never fail each other
//!              I2 nothing is held between two statements, so nobody waits for a session that
//!              thinks, there are no deadlocks, and no quiet point must be clear of anybody
//!              I3 what a statement shows was true at one moment of its own, and is checked by
//!              COMMIT. Of a transaction that fails, two statements may have shown two states. One
//!              that has only looked so far looks again when it goes on: where all is as it was,
//!              that moment stands for all of them, and one that only reads never fails for what
//!              others commit behind its last statement
//!              I4 an answer that does not follow from rows (a cancel, a time-out, no memory) is
//!              not kept, and not asked for again
//!              I5 programs are kept from one statement to the next. A definition that touches a
//!              table of theirs ends the transaction; procedures are taken as they are then
//!              I6 who is alone repeats nothing: behind a statement its transaction lingers, with
//!              the gate closed and its changes in place, until it comes back, or anybody else is
//!              about to wait for the gate: who takes the changes back and opens it, on his own
//!              thread. If that has never happened, COMMIT has nothing to repeat either
//!              I7 from its first definition on a transaction keeps its quiet point until it ends
//!              ([definitions])
//! Concurrency  all touch records as [`QUIET_WORKER`](crate::schema::QUIET_WORKER), at quiet points
//!              only, which exclude each other; `lingering` -> whoever takes it out has the quiet
//!              point that is in it
//! Source       validation by running again instead of by versions: Aria and Calvin repeat whole
//!              procedures so; we differ: the procedure is what a client has said, and its control
//!              flow is the client's, so that what it has seen stands for it

mod definitions;
mod list;
mod moment;
mod transaction;

use hotrow_base::sync::facade::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::hash::RandomState;
use std::sync::Arc;
use std::time::Duration;

use hotrow_base::clock::Ticks;
use hotrow_base::interrupt::Interrupt;
use hotrow_base::sync::Latch;
use hotrow_base::sync::gate::Lingerer;
use hotrow_transaction::frame::Frame;
use hotrow_transaction::outcome::SqlError;

use self::moment::Moment;
use self::transaction::Rerun;
use super::housekeeping::shut_down;
use super::slots::too_many;
use super::{Interactive, InteractiveTransaction};
use crate::contract::Ground;
use crate::in_place::Scratch;
use crate::journal::Committer;
use crate::schema::{QUIET_WORKER, SharedSchema};

/// How such transactions are to run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RerunOptions {
    /// how many can be open at a time
    pub open_max: usize,
    /// how long one may be idle between two statements before it is over; none: for ever
    pub idle_time_out: Option<Duration>,
    /// the same for one that has definitions, while others wait for it
    pub awaited_time_out: Option<Duration>,
    /// changes that one may make
    pub changes_max: usize,
    /// loop iterations and rows that one statement may visit
    pub step_budget: u64,
    /// bytes that the rows of one statement may take
    pub rows_max: usize,
}

/// What all such transactions share, and the buffers that are nobody's just now.
pub struct Reruns {
    schema: Arc<SharedSchema>,
    committer: Committer,
    options: RerunOptions,
    open: AtomicUsize,
    /// begun so far: their numbers
    begun: AtomicU64,
    closed: AtomicBool,
    /// of nobody just now
    buffers: Latch<Vec<Buffers>>,
    /// the transaction that keeps its quiet point (I6)
    lingering: Latch<Option<Lingering>>,
    /// what answers are hashed with: nobody can make two that look alike
    hashes: RandomState,
}

/// What a transaction runs with.
struct Buffers {
    scratch: Scratch,
    /// of statements that are repeated
    frame: Frame,
}

/// A transaction that keeps its quiet point between two statements.
struct Lingering {
    /// its number
    of: u64,
    moment: Moment,
    buffers: Buffers,
    since: Ticks,
}

impl Reruns {
    /// Transactions on an engine that runs on this ground.
    pub fn new(ground: &Ground, options: RerunOptions) -> Arc<Self> {
        let reruns = Arc::new(Self {
            schema: Arc::clone(&ground.schema),
            committer: Committer::new(&ground.journal, QUIET_WORKER),
            options,
            open: AtomicUsize::new(0),
            begun: AtomicU64::new(0),
            closed: AtomicBool::new(false),
            buffers: Latch::new(Vec::new()),
            lingering: Latch::new(None),
            hashes: RandomState::new(),
        });
        let lingerer: Arc<dyn Lingerer> = reruns.clone();
        ground.schema.gate().set_lingerer(Arc::downgrade(&lingerer));
        reruns
    }

    fn is_closed(&self) -> bool {
        // Relaxed: who misses it finds the log stopped, or ends before the engine does.
        self.closed.load(Ordering::Relaxed)
    }

    fn take_buffers(&self, interrupt: &Arc<Interrupt>) -> Buffers {
        let Buffers { mut scratch, mut frame } = self.buffers.lock().pop().unwrap_or_else(|| {
            Buffers { scratch: Scratch::new(QUIET_WORKER), frame: Frame::new() }
        });
        scratch.charge_to(Some(interrupt));
        frame.set_step_budget(self.options.step_budget);
        frame.set_rows_max(self.options.rows_max);
        frame.set_interrupt(Some(Arc::clone(interrupt)));
        Buffers { scratch, frame }
    }

    fn give_back(&self, mut buffers: Buffers) {
        buffers.scratch.charge_to(None);
        buffers.frame.set_interrupt(None);
        self.buffers.lock().push(buffers); // as many as were ever in use at a time
    }

    /// Lets a transaction keep its quiet point, until it comes back or somebody wants to pass.
    fn linger(&self, of: u64, moment: Moment, buffers: Buffers) {
        *self.lingering.lock() = Some(Lingering { of, moment, buffers, since: Ticks::now() });
        if self.schema.gate().is_wanted() {
            self.go();
        }
    }

    /// What a transaction has kept, if it still has it.
    fn come_back(&self, of: u64) -> Option<(Moment, Buffers)> {
        let mut lingering = self.lingering.lock();
        let kept = lingering.take_if(|lingering| lingering.of == of)?;
        Some((kept.moment, kept.buffers))
    }

    /// Takes a transaction back that has definitions and was idle for too long; whether it was.
    fn end_if_due(&self, number: u64) -> bool {
        let RerunOptions { idle_time_out, awaited_time_out, .. } = self.options;
        let awaited = awaited_time_out.filter(|_| self.schema.gate().is_wanted());
        let limit = idle_time_out.into_iter().chain(awaited).min();
        let is_due = |kept: &mut Lingering| {
            let is_idle = limit.is_some_and(|limit| kept.since.elapsed() >= limit);
            kept.of == number && (is_idle || self.is_closed())
        };
        self.end_lingering(is_due)
    }

    /// Takes back what stands in place of the transaction that lingers, if it is one that goes;
    /// whether it was.
    fn end_lingering(&self, goes: impl FnOnce(&mut Lingering) -> bool) -> bool {
        let Some(kept) = self.lingering.lock().take_if(goes) else { return false };
        let Lingering { moment, mut buffers, .. } = kept;
        moment.end(&mut buffers.scratch);
        self.give_back(buffers);
        true
    }
}

impl Lingerer for Reruns {
    fn go(&self) {
        // One with definitions stays: nobody may see them before COMMIT, and who takes them back
        // ends the transaction.
        self.end_lingering(|kept| kept.moment.definitions.is_none());
    }
}

impl Interactive for Reruns {
    fn begin(
        self: Arc<Self>,
        interrupt: &Arc<Interrupt>,
    ) -> Result<Box<dyn InteractiveTransaction>, SqlError> {
        if self.is_closed() {
            return Err(shut_down());
        }
        let most = self.options.open_max;
        let more = |open: usize| (open < most).then_some(open + 1);
        let counted = self.open.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more);
        counted.map_err(|_| too_many(most))?;
        let number = self.begun.fetch_add(1, Ordering::Relaxed); // a name, which orders nothing
        Ok(Box::new(Rerun::new(self, number, interrupt)))
    }

    fn places(&self) -> (usize, usize) {
        (self.open.load(Ordering::Relaxed), self.options.open_max)
    }

    fn close(&self) {
        self.closed.store(true, Ordering::Relaxed); // see `is_closed`
        self.end_lingering(|_| true);
    }
}
