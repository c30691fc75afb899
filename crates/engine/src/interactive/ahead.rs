//! A call that comes first in its transaction: planned, and run under the locks of its plan.
//!
//! Role         what drivers make of a call when they begin transactions unasked: BEGIN, one CALL,
//!              COMMIT. Run as any statement of a session, such calls would lock in the order in
//!              which they come to rows, and deadlock with each other and with planned calls
//! States       planned -> all of the plan is held, taken in the order that planned calls share ->
//!              run -> part of an open transaction, which keeps its locks; a wrong guess of
//!              reconnaissance, a conflict or a quiet point: undone, released, planned again
//! Invariants   I1 nobody waits while holding what others may want before: it is the first thing
//!              the transaction does, and waits in the order of planned calls, as one of them. In
//!              a circle with an older session's transaction it gives way, unseen: transactions
//!              that begin with a call and end in a circle would else be undone for each other's
//!              calls for ever. When the call has run, it is a transaction like others

use hotrow_transaction::frame::Frame;
use hotrow_transaction::interpret::{self, NoHook};
use hotrow_transaction::invocation::Invocation;
use hotrow_transaction::outcome::{Conflict, Stop};
use hotrow_transaction::plan::PlanProgram;

use super::slots::{Inside, Work};
use super::transaction::{Ran, interrupted};
use super::{Failure, Locks, Statement};
use crate::in_place::InPlace;
use crate::reconnaissance::TrialReads;
use crate::statistics::Activity;
use crate::waits::Party;
use crate::worker::error_of;

impl<L: Locks> Inside<'_, L> {
    /// Runs a call before which the transaction has done nothing, and holds nothing.
    pub(super) fn run_ahead(
        &mut self,
        statement: Statement<'_>,
        (plan, party): (&PlanProgram, Party),
        invocation: &Invocation,
        frame: &mut Frame,
    ) -> Result<Ran, Failure> {
        self.work.locks.set_party(party);
        let ran = self.plan(plan, invocation, frame).and_then(|()| {
            let Work { locks, plan, .. } = &mut *self.work;
            locks.hold_ahead(plan.footprint(), statement.uses).map_err(Stop::Conflict)?;
            self.run_held(statement, invocation, frame)?;
            // Once the client has seen what it did, it can only fail.
            let is_doomed = self.work.locks.is_doomed();
            if is_doomed { Err(Stop::Conflict(Conflict::Victim)) } else { Ok(()) }
        });
        self.work.locks.end_ahead();
        self.work.locks.set_party(Party::Session);
        match ran {
            Ok(()) => Ok(Ran::Done),
            Err(Stop::Conflict(Conflict::Quiet)) => {
                self.begin_anew();
                Ok(Ran::MadeWay)
            }
            Err(Stop::Conflict(Conflict::Interrupt)) => Err(interrupted(frame)),
            Err(Stop::Replan) if frame.has_unknown_uses() => {
                self.begin_anew();
                Ok(Ran::Unknown)
            }
            Err(Stop::Conflict(_) | Stop::Replan) => {
                self.begin_anew();
                Ok(Ran::Undone)
            }
            Err(stop) => {
                let error = error_of(stop, &self.schema, frame);
                Err(Failure::Statement(Box::new(error)))
            }
        }
    }

    fn plan(
        &mut self,
        program: &PlanProgram,
        invocation: &Invocation,
        frame: &mut Frame,
    ) -> Result<(), Stop> {
        let Work { locks, scratch, plan, .. } = &mut *self.work;
        locks.watch().switch(Activity::Plan);
        let _pin = self.schema.memory.epochs().pin(scratch.worker());
        let mut reads = TrialReads::new(&self.schema, scratch);
        let planned = plan.make(program, invocation, frame, &mut reads);
        locks.watch().switch(Activity::Execute);
        planned
    }

    fn run_held(
        &mut self,
        statement: Statement<'_>,
        invocation: &Invocation,
        frame: &mut Frame,
    ) -> Result<(), Stop> {
        let Work { locks, scratch, .. } = &mut *self.work;
        let _pin = self.schema.memory.epochs().pin(scratch.worker());
        frame.begin(statement.program(), invocation);
        let mut access = InPlace::resume(&self.schema, scratch, locks.ahead());
        let before = access.savepoint();
        let ran = interpret::run(statement.program(), 0, frame, &mut access, &mut NoHook);
        if ran.is_err() {
            access.take_back(before);
        }
        ran
    }
}
