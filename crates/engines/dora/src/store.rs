//! How calls run on the rows of a hall.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

use hotrow_base::pool::NONE;
use hotrow_base::sync::Latch;
use hotrow_engine::in_place::{InPlace, Scratch};
use hotrow_engine::journal::stay::Stay;
use hotrow_engine::protection::{Alone, Planned};
use hotrow_engine::schema::Schema;
use hotrow_engine::statistics::LockKind;
use hotrow_engine::waits::{Awaited, Party};
use hotrow_flow::clerk::Clerk;
use hotrow_flow::datasets::Layout;
use hotrow_flow::node::Address;
use hotrow_flow::part::PartRunner;
use hotrow_flow::slots::HeldSlot;
use hotrow_log::position::Position;
use hotrow_transaction::frame::Frame;
use hotrow_transaction::interpret::{self, NoHook};
use hotrow_transaction::outcome::Stop;

use crate::call::{Body, Bounds, How};
use crate::crew::Crew;
use crate::protocol::{Flow, Outcome, Store};

/// One hall's way to the rows: how parts of calls run there, under which layout.
pub struct Rows {
    layout: Arc<Layout>,
    runner: PartRunner,
    clerk: Clerk,
    crew: Arc<Crew>,
    thread: u16,
}

impl Rows {
    /// Those of a thread.
    pub fn new(crew: &Arc<Crew>, thread: u16, layout: &Arc<Layout>) -> Self {
        let committer = &crew.roster.committers[usize::from(thread)];
        let step_budget = crew.roster.step_budget;
        let stay = Rc::new(RefCell::new(Stay::new(committer.clone())));
        let (worker, logs_values) = (committer.worker(), !committer.logs_commands());
        Self {
            layout: Arc::clone(layout),
            runner: PartRunner::new(worker, logs_values, step_budget),
            clerk: Clerk::new(&layout.world, (worker, &stay), step_budget),
            crew: Arc::clone(crew),
            thread,
        }
    }

    /// Takes note of another schema.
    pub fn adopt(&mut self, layout: &Arc<Layout>) {
        self.layout = Arc::clone(layout);
        self.clerk.adopt(&layout.world);
    }

    /// Runs a call as a whole, which has all its locks.
    fn run_whole(&mut self, body: &Body, doer: usize) {
        let Self { layout, runner, crew, thread, .. } = self;
        let schema = &layout.world.schema;
        let outcome = &mut *body.call.outcome(doer).lock();
        let mut part = runner.begin();
        let mut client = body.client.lock();
        // All have met, or there is nobody else: it ends next.
        let ran = runner.run_to_end(schema, &mut part, |scratch, frame| {
            let is_along = client.is_some();
            let frame = client.as_mut().map_or(frame, |client| &mut client.frame);
            let ran = run_program(schema, scratch, body, frame);
            lock_slots((crew, *thread), &body.slots[doer], scratch, 0);
            match ran {
                Ok(()) if is_along => {} // its client has what it returns
                ran => outcome.take_whole(ran, 0, &body.call.procedure().program, frame),
            }
            ran
        });
        outcome.take_changes(&part);
        if ran.is_err() {
            body.note_failure(0);
        }
        *body.parts[doer].lock() = Some(part);
    }

    /// Runs a doer's actions of a round.
    fn run_parts(&mut self, body: &Body, doer: usize, round: u32) {
        let Self { layout, runner, crew, thread, .. } = self;
        let (call, schema) = (&body.call, &layout.world.schema);
        let outcome = &mut *call.outcome(doer).lock();
        let mut part = body.parts[doer].lock().take().unwrap_or_else(|| runner.begin());
        let steps = call.schedule.of_owner(call.participants[doer].0, round);
        let ran = runner.run(schema, &mut part, |scratch, frame| {
            let before = scratch.changes();
            let place = (&**schema, &mut *scratch, frame);
            // Asked before each action (4.2.4): of a call that has failed only what could have
            // failed earlier in the procedure is run, since that would be the error to tell.
            call.run_steps((steps, round, doer), place, outcome, |step, outcome| {
                body.note_failure(outcome.failed());
                let failed = body.failed();
                failed == NONE || step.stops_at.is_some_and(|at| at < failed)
            });
            lock_slots((crew, *thread), &body.slots[doer], scratch, before);
            body.note_failure(outcome.failed());
            outcome.fault.as_ref().map_or(Ok(()), |(fault, _)| Err(fault.stop))
        });
        if ran.is_ok() {
            outcome.take_changes(&part);
        }
        *body.parts[doer].lock() = Some(part);
    }
}

impl Store for Rows {
    type Body = Body;

    fn has_round(&self, flow: &Flow<Body>, doer: usize, round: u32) -> bool {
        flow.body.has_round(doer, round)
    }

    fn last_round(&self, flow: &Flow<Body>) -> u32 {
        let participants = &flow.body.call.participants;
        participants.iter().map(|&(_, last)| last).max().unwrap_or(0)
    }

    fn note_wait(&mut self, flow: &Flow<Body>, lock: u64, nanos: u64) {
        let waiter = Party::Procedure(flow.body.call.invocation.procedure);
        self.crew.roster.note_wait(
            self.thread,
            Awaited { lock, waiter, holder: Party::Unknown },
            nanos,
        );
    }

    fn meet(&mut self, flow: &Flow<Body>, doer: usize, met: Position) {
        let follows = &mut flow.body.call.outcome(doer).lock().met;
        *follows = met.max(*follows);
    }

    fn run(&mut self, flow: &Flow<Body>, doer: usize, round: u32) {
        let body = &flow.body;
        match body.how {
            How::InParts => self.run_parts(body, doer, round),
            How::AsWhole(_) if flow.halls.len() == 1 => self.run_whole(body, doer),
            How::AsWhole(_) => {} // when all have met
        }
    }

    fn has_failed(&self, flow: &Flow<Body>) -> bool {
        flow.body.failed() != NONE
    }

    fn run_behind(&mut self, flow: &Flow<Body>, doer: usize, round: u32) -> bool {
        let body = &flow.body;
        match body.how {
            How::InParts => {
                if body.failed() == NONE && !self.clerk.run_behind(&body.call, round) {
                    let doer = body.call.doer_between();
                    body.note_failure(body.call.outcome(doer).lock().failed());
                }
            }
            How::AsWhole(_) if flow.halls.len() > 1 => self.run_whole(body, doer),
            How::AsWhole(_) => {}
        }
        body.failed() == NONE
    }

    fn commit(&mut self, flow: &Flow<Body>) -> Option<Position> {
        let call = &flow.body.call;
        let met = (0..flow.halls.len()).map(|doer| call.outcome(doer).lock().met);
        self.clerk.commit(call, met.max().unwrap_or_default())
    }

    fn end(&mut self, flow: &Flow<Body>, doer: usize) {
        let Some(part) = flow.body.parts[doer].lock().take() else { return };
        let schema = &self.layout.world.schema;
        match flow.outcome {
            Outcome::Committed(_) => self.runner.commit(schema, part),
            Outcome::Undone | Outcome::GaveWay => self.runner.undo(schema, part),
        }
        if let Some(slots) = &self.crew.slots {
            slots.release(&mut flow.body.slots[doer].lock());
        }
    }

    fn first_hall(&self, dataset: u16) -> Address {
        self.layout.first_executor(dataset)
    }

    fn note_move(&mut self, dataset: u16, to: Address) {
        self.layout.note_move(dataset, to);
    }
}

/// Locks the slots of rows that were put somewhere, or taken away, behind the first changes
/// (4.2.1).
fn lock_slots(
    (crew, thread): (&Crew, u16),
    held: &Latch<Vec<HeldSlot>>,
    scratch: &Scratch,
    changes: usize,
) {
    let Some(slots) = &crew.slots else { return };
    let locked = slots.lock_since(changes, scratch, &mut held.lock());
    crew.roster.books_of(thread).locks[LockKind::Row as usize].add(locked as u64);
}

fn run_program(
    schema: &Schema,
    scratch: &mut Scratch,
    body: &Body,
    frame: &mut Frame,
) -> Result<(), Stop> {
    let program = &body.call.procedure().program;
    frame.begin(program, &body.call.invocation);
    let footprint = body.plan.footprint();
    let mut planned = InPlace::resume(schema, scratch, Planned(footprint));
    match body.how {
        How::AsWhole(Bounds::Plan) => {
            interpret::run(program, 0, frame, &mut planned, &mut body.plan.keys())
        }
        How::AsWhole(Bounds::None) => {
            let mut alone = InPlace::resume(schema, scratch, Alone);
            interpret::run(program, 0, frame, &mut alone, &mut NoHook)
        }
        _ => interpret::run(program, 0, frame, &mut planned, &mut NoHook),
    }
}
