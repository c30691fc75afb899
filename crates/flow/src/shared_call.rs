//! A call in parts, as all who work on it share it.
//!
//! Role         what was planned of the call, and what each who works on it has made of his part:
//!              the *doers*, numbered in the order of the owners that they are, and behind these
//!              the one who works between rounds
//! Concurrency  filled by its home, alone, then read by all; an [`Outcome`] has one writer at a
//!              time, its doer, and is read when the engine's messages have told that he is done.
//!              So no latch in here is waited for

use std::sync::Arc;

use hotrow_base::datum::Datum;
use hotrow_base::pool::NONE;
use hotrow_base::sync::{Latch, facade};
use hotrow_engine::in_place::{InPlace, Scratch};
use hotrow_engine::journal::Effect;
use hotrow_engine::owners::Concern;
use hotrow_engine::protection::{Ahead, Within};
use hotrow_engine::schema::Schema;
use hotrow_log::position::Position;
use hotrow_transaction::actions::{ActionProgram, Batch, CallRun};
use hotrow_transaction::bytecode::Program;
use hotrow_transaction::compiled::CompiledProcedure;
use hotrow_transaction::frame::Frame;
use hotrow_transaction::invocation::Invocation;
use hotrow_transaction::outcome::Stop;
use hotrow_transaction::plan::{Granule, Plan};
use hotrow_transaction::program::ROW_COUNT;

use crate::cells::Cells;
use crate::part::Part;
use crate::reply::{Fault, Gathered, Returned};
use crate::schedule::{Schedule, Step};
use crate::world::World;

/// See the module. Memory is used again.
#[derive(Default)]
pub struct SharedCall {
    /// what was called
    pub invocation: Invocation,
    /// the procedure
    pub procedure: Option<Arc<CompiledProcedure>>,
    /// the schema it was planned under
    pub world: Option<Arc<World>>,
    /// the call as a batch of one, if it is in parts
    pub batch: Batch,
    /// who does what when
    pub schedule: Schedule,
    /// what parts hand to each other
    pub cells: Cells,
    /// its owners, ascending, each with the last round in which there is something to do there
    pub participants: Vec<(u16, u32)>,
    /// by doer
    outcomes: Vec<Latch<Outcome>>,
}

/// What a doer has done.
#[derive(Default)]
pub struct Outcome {
    /// the hash of what was changed, if something was
    pub changed: Option<u64>,
    /// the changes for a log of values
    pub values: Vec<u8>,
    /// the greatest position that it follows
    pub met: Position,
    /// rows that are returned, and what was said
    pub returned: Returned,
    /// of a call that is not in parts: how many rows its last statement touched
    pub touched: i64,
    /// what failed first in the procedure, and in which round
    pub fault: Option<(Fault, u32)>,
    /// actions that he has run
    pub ran: u32,
}

impl AsRef<Returned> for Outcome {
    fn as_ref(&self) -> &Returned {
        &self.returned
    }
}

impl Outcome {
    /// As if nothing had been done; keeps the memory.
    pub fn clear(&mut self) {
        self.changed = None;
        self.values.clear();
        self.met = Position::default();
        self.returned.clear();
        self.touched = 0;
        self.fault = None;
        self.ran = 0;
    }

    /// The instance that failed; [`NONE`]: none has.
    pub fn failed(&self) -> u32 {
        self.fault.as_ref().map_or(NONE, |(fault, _)| fault.instance)
    }

    /// Notes a failure; the error is in the frame.
    pub fn fail(&mut self, (instance, round): (u32, u32), stop: Stop, frame: &mut Frame) {
        self.fault = Some((Fault::of(instance, stop, frame), round));
    }

    /// Takes what a call that was run as a whole, in this frame, has left, or why it has failed in
    /// this round; the call is one instance then.
    pub fn take_whole(
        &mut self,
        ran: Result<(), Stop>,
        round: u32,
        program: &Program,
        frame: &mut Frame,
    ) {
        match ran {
            Ok(()) => {
                self.touched = frame.slot(ROW_COUNT).as_int();
                self.returned.keep(0, program, frame);
            }
            Err(stop) => self.fail((0, round), stop, frame),
        }
    }

    /// Takes what a part has changed so far.
    pub fn take_changes(&mut self, part: &Part) {
        self.changed = part.hash;
        self.values.clone_from(&part.values);
    }
}

impl SharedCall {
    /// The call as a batch of one, with its program.
    pub fn run(&self) -> CallRun<'_> {
        let Self { invocation, batch, .. } = self;
        CallRun { program: self.program(), batch, call: &batch.calls()[0], invocation }
    }

    /// Its procedure as actions.
    pub fn program(&self) -> &ActionProgram {
        self.world().program(self.invocation.procedure)
    }

    /// Its procedure as a whole.
    pub fn procedure(&self) -> &CompiledProcedure {
        self.procedure.as_deref().expect("only procedures that exist are run")
    }

    /// The schema it runs under.
    pub fn world(&self) -> &World {
        self.world.as_deref().expect("it was planned")
    }

    /// The number of an owner among the doers.
    pub fn doer(&self, owner: u16) -> usize {
        let at = self.participants.binary_search_by_key(&owner, |&(owner, _)| owner);
        at.expect("only participants work on it")
    }

    /// The number of the doer who works between rounds.
    pub fn doer_between(&self) -> usize {
        self.participants.len()
    }

    /// What a doer has done.
    pub fn outcome(&self, doer: usize) -> &Latch<Outcome> {
        &self.outcomes[doer]
    }

    /// Lays it out in the actions that it was planned into, the only ones in `batch`, which gets
    /// other memory; false, and nothing is done, if it does not run in actions, or one of them
    /// concerns several owners, or there are fewer than `owners_min` of these. `concern` tells whom
    /// a granule concerns.
    pub fn lay_out(
        &mut self,
        batch: &mut Batch,
        owners_min: usize,
        concern: impl Fn(&World, &Plan, &Granule) -> Concern,
    ) -> bool {
        let world = self.world.as_deref().expect("it was planned");
        let concern = |plan: &Plan, used: &Granule| concern(world, plan, used);
        let is_whole = batch.calls()[0].whole.is_some();
        if is_whole
            || !self.schedule.make(batch, concern, &mut self.participants)
            || self.participants.len() < owners_min
        {
            return false;
        }
        std::mem::swap(&mut self.batch, batch);
        self.make_room();
        true
    }

    /// Has it run as a whole; its owners, ascending, each with the last round in which there is
    /// something to do there.
    pub fn lay_whole(&mut self, owners: impl Iterator<Item = (u16, u32)>) {
        self.participants.clear();
        self.participants.extend(owners);
        // Its lists are many, and of most calls that are whole, empty already.
        if !self.batch.calls().is_empty() {
            self.batch.clear();
        }
        self.make_room();
    }

    /// Takes in those of these owners, ascending, who have no action of it: they hold something for
    /// it all the same.
    pub fn add_participants(&mut self, owners: &[u16]) {
        if self.participants.len() == owners.len() {
            return; // nobody else has actions
        }
        for (at, &owner) in owners.iter().enumerate() {
            if self.participants.get(at).is_none_or(|&(known, _)| known != owner) {
                self.participants.insert(at, (owner, 0));
            }
        }
        self.make_room();
    }

    /// Makes room for what its doers will do, whom `participants` lists.
    fn make_room(&mut self) {
        let doers = self.participants.len() + 1;
        if self.outcomes.len() < doers {
            self.outcomes.resize_with(doers, Latch::default);
        }
        if self.is_in_parts() {
            self.cells.clear();
            self.cells.make_room(self.batch.values(), doers);
        }
        self.outcomes[..doers].iter().for_each(|outcome| outcome.lock().clear());
    }

    /// A doer begins, perhaps once more: as if he had done nothing.
    pub fn begin(&self, doer: usize, outcome: &mut Outcome) {
        facade::take_over(self);
        outcome.clear();
        if self.is_in_parts() {
            self.cells.forget(doer as u16);
        }
    }

    /// Runs what a doer has to do in a round, its *fragment*, in order and in one frame; what fails
    /// first in the procedure, and what was returned, is in the outcome then. What comes before a
    /// failure in the procedure is run though: it may fail, too, and tell why. Before each step
    /// `is_wanted` is asked, which sees what the doer has done so far.
    pub fn run_steps(
        &self,
        (steps, round, doer): (&[Step], u32, usize),
        (schema, scratch, frame): (&Schema, &mut Scratch, &mut Frame),
        outcome: &mut Outcome,
        mut is_wanted: impl FnMut(&Step, &Outcome) -> bool,
    ) {
        let call = self.run();
        let batch = call.batch;
        let mut values = self.cells.of(doer as u16);
        let mut has_begun = false;
        for step in steps {
            if !is_wanted(step, outcome) {
                continue;
            }
            let action = &batch.actions()[step.action as usize];
            outcome.ran += 1;
            for (at, &line) in batch.lines(action).iter().enumerate() {
                if line > outcome.failed() {
                    break;
                }
                match (std::mem::replace(&mut has_begun, true), at) {
                    (false, _) => call.begin(line, frame),
                    (true, 0) => frame.begin_next_action(),
                    (true, _) => frame.begin_next_leaf(),
                }
                let protection = Ahead(Within::new(batch.uses(action)));
                let mut access = InPlace::resume(schema, scratch, protection);
                match call.run(line, frame, &mut access, &mut values) {
                    Ok(()) if call.returns(line) => {
                        outcome.returned.keep(line, call.code(line), frame);
                    }
                    Ok(()) => {}
                    Err(stop) => outcome.fail((line, round), stop, frame),
                }
            }
        }
    }

    /// What all owners together have done, and, in `values`, their changes for a log of values.
    pub fn effect(&self, values: &mut Vec<u8>) -> Effect {
        let mut changed = None;
        values.clear();
        for owner in 0..self.participants.len() {
            let outcome = self.outcome(owner).lock();
            if let Some(hash) = outcome.changed {
                changed = Some(changed.unwrap_or(0_u64).wrapping_add(hash));
                values.extend_from_slice(&outcome.values);
            }
        }
        Effect::of_call(changed, &self.invocation)
    }

    /// The doer that is likeliest to fail in the first round, among the owners that `may` be it; of
    /// equals the first. `fails` tells how often a leaf does.
    pub fn likeliest_to_fail(
        &self,
        fails: impl Fn(u16) -> f64,
        may: impl Fn(u16) -> bool,
    ) -> usize {
        let of_action = |action: u32| -> f64 {
            let lines = self.batch.lines(&self.batch.actions()[action as usize]).iter();
            lines.filter_map(|&line| self.batch.leaf(line)).map(&fails).sum()
        };
        let (mut first, mut most) = (0, 0.0);
        for (doer, &(owner, _)) in self.participants.iter().enumerate() {
            let steps = self.schedule.of_owner(owner, 0).iter();
            let fails: f64 = steps.map(|step| of_action(step.action)).sum();
            if fails > most && may(owner) {
                (first, most) = (doer, fails);
            }
        }
        first
    }

    /// Actions that its doers have run.
    pub fn ran(&self) -> u32 {
        (0..=self.doer_between()).map(|doer| self.outcome(doer).lock().ran).sum()
    }

    /// Takes what failed first in the procedure, and in which round, if something has.
    pub fn take_first_fault(&self) -> Option<(Fault, u32)> {
        let doers = 0..=self.doer_between();
        let first = doers.min_by_key(|&doer| self.outcome(doer).lock().failed())?;
        self.outcome(first).lock().fault.take()
    }

    /// Whether it is laid out in actions; else it runs as a whole, at one of its doers.
    fn is_in_parts(&self) -> bool {
        !self.batch.calls().is_empty()
    }

    /// Puts the result of a call that has committed into a frame; `gathered` is memory.
    pub fn gather(&self, gathered: &mut Gathered, frame: &mut Frame) {
        self.gather_returned(NONE, gathered, frame);
        if self.is_in_parts() {
            let touched = self.run().row_count(&self.cells.of(self.doer_between() as u16));
            frame.set_slot(ROW_COUNT, touched);
        } else {
            let touched = self.outcomes[..self.doer_between()].iter();
            let touched = touched.map(|outcome| outcome.lock().touched).sum();
            frame.set_slot(ROW_COUNT, Datum::int(touched));
        }
    }

    /// Puts into a frame what instances before one have returned.
    fn gather_returned(&self, before: u32, gathered: &mut Gathered, frame: &mut Frame) {
        frame.begin_result();
        let outcomes = &self.outcomes[..=self.doer_between()];
        gathered.gather(outcomes);
        let run = self.is_in_parts().then(|| self.run());
        let whole = &self.procedure().program;
        let program = |instance| run.as_ref().map_or(whole, |run| run.code(instance));
        gathered.add(before, outcomes, program, frame);
    }

    /// Puts into a frame what went wrong first, in this round, behind what was said before; whether
    /// something else may have gone wrong before that, which was not tried. `was_asked` tells
    /// whether an owner was asked for anything.
    pub fn gather_fault(
        &self,
        (mut fault, round): (Fault, u32),
        was_asked: impl Fn(u16) -> bool,
        gathered: &mut Gathered,
        frame: &mut Frame,
    ) -> bool {
        let instance = fault.instance;
        self.gather_returned(instance, gathered, frame);
        let stop = fault.tell(frame);
        self.is_in_parts()
            && matches!(stop, Stop::Error | Stop::OutOfMemory)
            && self.schedule.leaves_doubt(instance, round, was_asked)
    }
}
