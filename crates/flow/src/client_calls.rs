//! The calls of a home's clients: fetched, planned, and told how they have ended.
//!
//! Role         what all homes do whose calls others work on; where a call is sent, and as what, is
//!              the engine's own
//!
//! ```text
//!   fetched ─planned, sent─▶ away ─back─▶ told
//!                                   └─ guessed wrong ─▶ planned again ── too often ─▶ alone
//! ```
//!
//! Invariants   I1 a call fetched is finished, whatever happens
//!              I2 of a call in parts that has failed, the error that is told is that of the part
//!              that is first in the procedure. Where it is not known whether something before
//!              would have failed, the call is run again, as a whole

use std::sync::Arc;

use hotrow_engine::in_place::Scratch;
use hotrow_engine::journal::Committer;
use hotrow_engine::reconnaissance::TrialReads;
use hotrow_engine::schema::Schema;
use hotrow_engine::source::CallSource;
use hotrow_engine::statistics::WorkerBooks;
use hotrow_engine::worker::{Call, Next};
use hotrow_log::position::Position;
use hotrow_transaction::actions::{ActionPlanner, Batch, Wanted};
use hotrow_transaction::outcome::Stop;

use crate::away::Away;
use crate::host;
use crate::intake::Intake;
use crate::reply::{Fault, Gathered};
use crate::roster::Roster;
use crate::shared_call::SharedCall;
use crate::world::World;

/// Calls fetched in a turn.
const FETCHES_PER_TURN: usize = 4;

/// A client's call: boxed, since it goes to where it is run.
pub type ClientCall = Box<Call>;

/// What is left to do for a call behind an attempt.
pub enum Left {
    /// nothing: its end was told
    Nothing,
    /// it is to be planned, and sent off, once more
    Again(ClientCall),
    /// it is to have everything to itself: reconnaissance has guessed wrong too often
    Alone(ClientCall),
}

/// One thread's calls that have not ended, and memory for those to come.
pub struct ClientCalls {
    roster: Arc<Roster>,
    thread: u16,
    committer: Committer,
    intake: Intake,
    /// those that others work on, by slot
    pub away: Away<ClientCall>,
    /// the call that was planned last, as actions
    pub batch: Batch,
    /// memory of others to come
    free: Vec<ClientCall>,
    planner: ActionPlanner,
    /// for trial reads
    scratch: Scratch,
    /// of a call whose rows are put together
    gathered: Gathered,
}

impl ClientCalls {
    /// Those that come in at a thread, from `source`.
    pub fn new(roster: Arc<Roster>, thread: u16, source: Box<dyn CallSource>) -> Self {
        let committer = roster.committers[usize::from(thread)].clone();
        let worker = committer.worker();
        Self {
            intake: Intake::new(&roster.ground.schema, worker, source, roster.in_flight),
            roster,
            thread,
            committer,
            away: Away::default(),
            batch: Batch::default(),
            free: Vec::new(),
            planner: ActionPlanner::default(),
            scratch: Scratch::new(worker),
            gathered: Gathered::default(),
        }
    }

    /// The side towards the source.
    pub fn intake(&mut self) -> &mut Intake {
        &mut self.intake
    }

    /// The thread's books.
    pub fn books(&self) -> &WorkerBooks {
        self.roster.books_of(self.thread)
    }

    /// Where nothing is to be undone: for trial reads.
    pub fn scratch(&mut self) -> &mut Scratch {
        &mut self.scratch
    }

    /// How many calls may be fetched in a turn that begins now.
    pub fn fetches(&self) -> usize {
        if host::may_fetch(&self.roster, &self.intake) { FETCHES_PER_TURN } else { 0 }
    }

    /// Fetches a call whose procedure exists, to be run under `schema`, one of so many that are
    /// left of a turn. Called inside the gate.
    #[inline(always)]
    pub fn fetch(&mut self, left: &mut usize, schema: &Schema) -> Option<ClientCall> {
        while *left > 0 {
            let new = || Box::new(Call::new(self.roster.step_budget));
            let mut call = self.free.pop().unwrap_or_else(new);
            if !self.intake.fetch(&mut call, schema) {
                self.free.push(call);
                return None;
            }
            *left -= 1;
            if call.procedure.is_some() {
                return Some(call);
            }
            call.finish_unknown(self.intake.source(), self.roster.books_of(self.thread));
            self.take_in(call);
        }
        None
    }

    /// Plans a call as actions, which [`ClientCalls::batch`] has then.
    ///
    /// # Errors
    ///
    /// How this attempt has ended.
    pub fn plan_actions(&mut self, call: &mut Call, world: &World) -> Result<(), Stop> {
        let Self { planner, batch, scratch, .. } = self;
        let Call { invocation, frame, procedure, planned_short, .. } = call;
        *planned_short = procedure.as_ref().is_some_and(|of| of.plan.may_miss);
        let called = (world.program(invocation.procedure), &*invocation);
        let mut access = TrialReads::new(&world.schema, scratch);
        batch.clear();
        planner.add(batch, Wanted::Actions, called, frame, &mut access)
    }

    /// A call that others have run stands: takes its result.
    pub fn take_result(&mut self, call: &mut Call, shared: &SharedCall, position: Position) {
        shared.gather(&mut self.gathered, &mut call.frame);
        self.note_commit(call, shared, position);
    }

    /// A call whose result is in its frame stands there.
    pub fn note_commit(&self, call: &mut Call, shared: &SharedCall, position: Position) {
        call.durable_in = position.epoch;
        self.committer.trace(position, &shared.invocation, shared.procedure(), &call.frame);
    }

    /// A call that others have run has failed so: takes what went wrong; whether something before
    /// may have gone wrong, which was not tried (I2). `was_asked` tells whether an owner was asked
    /// for anything.
    pub fn take_fault(
        &mut self,
        call: &mut Call,
        shared: &SharedCall,
        fault: (Fault, u32),
        was_asked: impl Fn(u16) -> bool,
    ) -> bool {
        call.invocation.clone_from(&shared.invocation); // it may be run again
        shared.gather_fault(fault, was_asked, &mut self.gathered, &mut call.frame)
    }

    /// An attempt has ended: tells the call's end, unless it is to be run again (I1).
    pub fn end(&mut self, mut call: ClientCall, ended: Result<(), Stop>, schema: &Schema) -> Left {
        let books = self.roster.books_of(self.thread);
        match call.after(ended, schema, &self.committer, books) {
            Next::End(end) => {
                if end.is_err() {
                    call.durable_in = self.committer.entered();
                }
                call.finish(end, self.intake.source(), books);
                self.take_in(call);
                Left::Nothing
            }
            Next::Alone => {
                books.exclusive.increment();
                Left::Alone(call)
            }
            Next::Again(_) => {
                call.attempts += 1;
                Left::Again(call)
            }
        }
    }

    /// A client's call is not on its way any more.
    fn take_in(&mut self, call: ClientCall) {
        self.free.push(call);
        self.intake.note_end();
    }
}
