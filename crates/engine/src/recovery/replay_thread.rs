//! A thread of a replay: takes steps from the schedule until there are none.
//!
//! Role         one per worker id; the only one here that touches records
//! Invariants   I1 records are touched under an epoch pin, one per step
//!              I2 a call that does not end as it was logged is undone, and ends the replay
//!              I3 no record's memory is used again before all calls of a run have ended: hints
//!              outlive the pin under which they were made, and so still name what they named

use hotrow_base::sync::facade::atomic::Ordering;

use hotrow_base::ids::WorkerId;
use hotrow_transaction::compiled::CompiledProcedure;
use hotrow_transaction::frame::Frame;
use hotrow_transaction::interpret::{self, Hook, NoHook};
use hotrow_transaction::outcome::Stop;

use super::schedule::Step;
use super::{LoggedCall, ReplayError, Shared};
use crate::in_place::{InPlace, Scratch};
use crate::journal::command::fold_hash;
use crate::planning;
use crate::protection::{Alone, Planned, Protection};
use crate::worker::error_of;

/// One thread's scratch memory and frame.
pub(super) struct ReplayThread {
    scratch: Scratch,
    frame: Frame,
}

/// What a thread has done.
#[derive(Clone, Copy)]
enum Done {
    Nothing,
    Planned { first: u32, count: usize },
    PlannedAgain { slot: u32 },
    Run { number: u32, slot: u32 },
    RunAlone { number: u32, slot: u32 },
}

impl ReplayThread {
    pub(super) fn new(worker: WorkerId, step_budget: u64) -> Self {
        let mut frame = Frame::new();
        frame.set_step_budget(step_budget);
        Self { scratch: Scratch::new(worker), frame }
    }

    /// Takes steps until all calls have ended.
    pub(super) fn work(&mut self, shared: &Shared<'_>) {
        let mut done = Done::Nothing;
        loop {
            done = match shared.next(done) {
                Step::Plan { first, count, slots } => {
                    self.plan(shared, first, &slots[..count]);
                    Done::Planned { first, count }
                }
                Step::PlanAgain { number, slot } => {
                    self.plan(shared, number, &[slot]);
                    Done::PlannedAgain { slot }
                }
                Step::Run { number, slot } => {
                    self.run(shared, number, |thread, call, procedure| {
                        thread.run_planned(shared, slot, call, procedure)
                    });
                    Done::Run { number, slot }
                }
                Step::RunAlone { number, slot } => {
                    self.run(shared, number, |thread, call, procedure| {
                        thread.execute(shared, call, procedure, Alone, (&[], &mut NoHook))
                    });
                    Done::RunAlone { number, slot }
                }
                Step::End => break,
            }
        }
    }

    /// Plans calls with consecutive numbers.
    fn plan(&mut self, shared: &Shared<'_>, first: u32, slots: &[u32]) {
        let schema = shared.schema;
        let _pin = schema.memory.epochs().pin(self.scratch.worker());
        for (number, &slot) in (first as usize..).zip(slots) {
            let call = &shared.calls[number];
            let mut forecast = shared.forecasts[slot as usize].lock();
            match schema.procedure(call.invocation.procedure) {
                // Without a procedure it will fail alone.
                Some(procedure) if !call.alone => {
                    let memory = (&mut self.scratch, &mut self.frame);
                    forecast.make(schema, procedure, &call.invocation, memory);
                    planning::prefetch_indexes(schema, &forecast.plan);
                }
                _ => forecast.set_alone(),
            }
        }
        for &slot in slots {
            let forecast = &mut *shared.forecasts[slot as usize].lock();
            planning::resolve_hints(schema, &forecast.plan, &mut forecast.hints);
        }
    }

    /// Runs a call to its commit, or ends the replay.
    fn run(
        &mut self,
        shared: &Shared<'_>,
        number: u32,
        execute: impl FnOnce(&mut Self, &LoggedCall, &CompiledProcedure) -> Result<(), ReplayError>,
    ) {
        let schema = shared.schema;
        let call = &shared.calls[number as usize];
        let pin = schema.memory.epochs().pin(self.scratch.worker());
        let ended = match schema.procedure(call.invocation.procedure) {
            Some(procedure) => execute(self, call, procedure).map(|()| {
                if call.tell_end {
                    shared.ends.ended(call, &mut self.frame, &procedure.program);
                }
            }),
            None => Err(ReplayError::UnknownProcedure {
                place: call.place,
                procedure: call.invocation.procedure.0,
            }),
        };
        drop(pin);
        if let Err(error) = ended {
            shared.schedule.lock().fail(number, error);
        }
    }

    fn run_planned(
        &mut self,
        shared: &Shared<'_>,
        slot: u32,
        call: &LoggedCall,
        procedure: &CompiledProcedure,
    ) -> Result<(), ReplayError> {
        let forecast = shared.forecasts[slot as usize].lock();
        let (plan, hints) = (&forecast.plan, forecast.hints.as_slice());
        let protection = Planned(plan.footprint());
        self.execute(shared, call, procedure, protection, (hints, &mut plan.keys()))
    }

    fn execute(
        &mut self,
        shared: &Shared<'_>,
        call: &LoggedCall,
        procedure: &CompiledProcedure,
        protection: impl Protection,
        (hints, keys): (&[u64], &mut impl Hook),
    ) -> Result<(), ReplayError> {
        let Self { scratch, frame, .. } = self;
        frame.begin(&procedure.program, &call.invocation);
        let mut access = InPlace::new(shared.schema, scratch, protection).with_hints(hints);
        let ran = interpret::run(&procedure.program, 0, frame, &mut access, keys);
        let replayed = fold_hash(access.write_hash().unwrap_or(0));
        if ran.is_ok() && replayed == call.write_hash {
            access.commit();
            return Ok(());
        }
        access.undo();
        let (place, name) = (call.place, procedure.procedure.name.clone());
        Err(match ran {
            Ok(()) => {
                ReplayError::Differs { place, procedure: name, logged: call.write_hash, replayed }
            }
            Err(Stop::Replan) => ReplayError::Strayed { place, procedure: name },
            Err(stop) => {
                let error = Box::new(error_of(stop, shared.schema, frame));
                ReplayError::Failed { place, procedure: name, error }
            }
        })
    }
}

impl Shared<'_> {
    /// Tells what was done and waits for something to do.
    fn next(&self, done: Done) -> Step {
        let mut schedule = self.schedule.lock();
        match done {
            Done::Nothing => {}
            Done::Planned { first, count } => schedule.note_planned(first, count),
            Done::PlannedAgain { slot } => {
                schedule.note_planned_again(&mut self.forecasts[slot as usize].lock());
            }
            Done::Run { number, slot } => schedule.note_run(number, slot),
            Done::RunAlone { number, slot } => schedule.note_run_alone(number, slot),
        }
        let step = schedule.next(self.forecasts);
        let has_more = schedule.has_more();
        self.has_more.store(has_more, Ordering::Relaxed); // the latch orders what it speaks of
        drop(schedule);
        match (step, has_more) {
            (Some(Step::End), _) => self.idle.notify_all(),
            (_, true) => self.idle.notify_one(),
            _ => {}
        }
        step.unwrap_or_else(|| self.wait())
    }

    fn wait(&self) -> Step {
        let look = || {
            // Not by the latch, which those need who work. Relaxed: a notification follows.
            if !self.has_more.load(Ordering::Relaxed) {
                return None;
            }
            let mut schedule = self.schedule.lock();
            let step = schedule.next(self.forecasts);
            let has_more = schedule.has_more();
            self.has_more.store(has_more, Ordering::Relaxed);
            Some((step?, has_more))
        };
        let found = self.idle.wait_for(None, look);
        let (step, has_more) = found.expect("it waits without a deadline");
        match step {
            Step::End => self.idle.notify_all(),
            _ if has_more => self.idle.notify_one(),
            _ => {}
        }
        step
    }
}
