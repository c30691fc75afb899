//! One interactive transaction: the session's side of a slot.

use std::sync::Arc;
use std::time::Duration;

use hotrow_base::clock::Ticks;
use hotrow_base::interrupt::{Interrupt, Interruption};
use hotrow_transaction::bytecode::Program;
use hotrow_transaction::frame::Frame;
use hotrow_transaction::interpret::{self, NoHook};
use hotrow_transaction::invocation::Invocation;
use hotrow_transaction::outcome::{Conflict, SqlError, Stop};
use hotrow_transaction::program::RowLocks;

use super::housekeeping::{ended_for, shut_down};
use super::slots::{Inside, Phase, Slots, Work};
use super::{Attempt, Failure, InteractiveTransaction, Locks, Statement};
use crate::back_off::BackOff;
use crate::in_place::{InPlace, Part, Savepoint};
use crate::journal::Committer;
use crate::reconnaissance::TrialReads;
use crate::schema::{Purpose, Schema};
use crate::statistics::{Activity, CallTime};
use crate::worker::error_of;

/// Times that a read which holds nothing is tried.
const LOOKS_MAX: u32 = 3;
/// Plans of a first call that may turn out wrong; then it locks as it goes.
const PLANS_MAX: u32 = 32;

/// The number of a slot, in the hands of its session.
pub(super) struct Transaction<L: Locks> {
    slots: Arc<Slots<L>>,
    number: usize,
    interrupt: Arc<Interrupt>,
    back_off: BackOff,
}

impl<L: Locks> Transaction<L> {
    pub(super) fn new(slots: Arc<Slots<L>>, number: usize, interrupt: &Arc<Interrupt>) -> Self {
        let (interrupt, back_off) = (Arc::clone(interrupt), BackOff::new(number as u64));
        Self { slots, number, interrupt, back_off }
    }

    /// Waits for room in what is kept for checkpoint and log, and, with nothing in hand, while
    /// somebody wants a quiet point.
    fn wait_for_turn(&self) -> Result<(), Interruption> {
        let slot = self.slots.slot(self.number);
        let schema = self.slots.schema.current();
        schema.memory.saved_rows().wait_for_room(slot.worker);
        slot.committer.wait_for_room();
        match slot.phase() {
            Phase::Empty => self.slots.wait_while_held_back(&self.interrupt),
            _ => Ok(()),
        }
    }
}

impl<L: Locks> InteractiveTransaction for Transaction<L> {
    fn execute(
        &mut self,
        statement: Statement<'_>,
        invocation: &Invocation,
        frame: &mut Frame,
    ) -> Result<(), Failure> {
        let mut attempts = 0;
        loop {
            let waited = self.wait_for_turn();
            waited.map_err(|why| Failure::Statement(Box::new(why.into())))?;
            let mut inside = self.slots.enter_for(self.number, &self.interrupt)?;
            if inside.generation != statement.generation {
                return Err(Failure::Outdated);
            }
            let schema = &inside.schema;
            if !schema.interactive || !schema.granules.know(statement.uses) {
                drop(inside);
                let go_on = || frame.check_interrupt();
                let opened = self.slots.open_for(self.number, statement.uses, go_on);
                opened.map_err(|error| Failure::Statement(Box::new(error)))?;
                return Err(Failure::Outdated); // for what was just made of it
            }
            if inside.work.scratch.changes() > self.slots.changes_max {
                let error = too_large(self.slots.changes_max);
                return Err(Failure::Statement(Box::new(error)));
            }
            let ran = inside.run_attempt(statement, (invocation, attempts), frame);
            if inside.is_closed() {
                inside.end(Some(shut_down()));
                return Err(Failure::Ended(Box::new(shut_down())));
            }
            drop(inside);
            match ran? {
                Ran::Done => return Ok(()),
                Ran::MadeWay => {} // I5
                Ran::Unknown => {
                    let uses = frame.take_unknown_uses();
                    let go_on = || frame.check_interrupt();
                    let opened = self.slots.open_for(self.number, &uses, go_on);
                    opened.map_err(|error| Failure::Statement(Box::new(error)))?;
                    return Err(Failure::Outdated); // for what was just made of it
                }
                Ran::Undone => {
                    let interruption = frame.check_interrupt();
                    interruption.map_err(|why| Failure::Statement(Box::new(why.into())))?;
                    self.back_off.wait(attempts);
                    attempts += 1; // I6
                }
            }
        }
    }

    fn savepoint(&mut self) -> Result<usize, Box<SqlError>> {
        let mut work = self.slots.slot(self.number).work.lock();
        if let Some(ended) = &work.ended {
            return Err(ended.clone());
        }
        work.idle_since = Ticks::now();
        let savepoint = work.scratch.savepoint();
        work.savepoints.push(savepoint);
        Ok(work.savepoints.len() - 1)
    }

    fn rollback_to(&mut self, savepoint: usize) -> Result<(), Box<SqlError>> {
        let mut inside = self.slots.enter(self.number)?;
        let Inside { schema, work, .. } = &mut inside;
        let Work { locks, scratch, savepoints, .. } = &mut **work;
        let _pin = schema.memory.epochs().pin(scratch.worker());
        InPlace::resume(schema, scratch, locks.protection()).take_back(savepoints[savepoint]);
        savepoints.truncate(savepoint + 1);
        Ok(())
    }

    fn release(&mut self, savepoint: usize) {
        self.slots.slot(self.number).work.lock().savepoints.truncate(savepoint);
    }

    fn stay_for_handing_over(&mut self, stays: bool) -> Result<(), Box<SqlError>> {
        let mut handed_over = self.slots.handed_over.lock();
        let other = handed_over.as_ref().is_some_and(|(number, _)| *number != self.number);
        match (stays, other) {
            // Each would wait for the other one to end.
            (true, true) => return Err(Box::new(ended_for(Purpose::DEFINITION))),
            (true, false) => *handed_over = Some((self.number, Arc::clone(&self.interrupt))),
            (false, true) => {}
            (false, false) => *handed_over = None,
        }
        Ok(())
    }

    fn hand_over(&mut self) -> Result<(Part, Vec<Savepoint>), Box<SqlError>> {
        let slot = self.slots.slot(self.number);
        let mut work = slot.work.lock();
        if let Some(ended) = &work.ended {
            return Err(ended.clone());
        }
        let mut part = Part::default();
        work.scratch.exchange(&mut part);
        work.locks.release_all(None); // what it has changed is in place, and nobody comes before it
        let savepoints = std::mem::take(&mut work.savepoints);
        slot.set_phase(Phase::Empty);
        Ok((part, savepoints))
    }

    fn commit(&mut self) -> Result<u64, Box<SqlError>> {
        let mut inside = self.slots.enter(self.number)?;
        let committer = &inside.slot.committer;
        let committed = inside.work.commit(&inside.schema, committer);
        if inside.slot.phase() == Phase::Changed {
            inside.schema.reclaim(inside.slot.worker);
        }
        committed.map_err(Box::new)
    }

    fn rollback(&mut self) {
        if self.slots.end_empty(self.number) {
            return;
        }
        if let Ok(mut inside) = self.slots.enter(self.number) {
            inside.end(None);
            if inside.slot.phase() == Phase::Changed {
                inside.schema.reclaim(inside.slot.worker);
            }
        }
    }

    fn begin_again(&mut self) {
        self.rollback();
        let mut work = self.slots.slot(self.number).work.lock();
        work.ended = None;
        work.awaited = Duration::ZERO;
        work.locks.begin(Attempt::Again);
    }

    fn expect_more(&mut self, expects: bool) {
        self.slots.slot(self.number).work.lock().locks.expect_more(expects);
    }

    fn limit_idle(&mut self, most: Option<Duration>) {
        self.slots.slot(self.number).work.lock().idle_limit = most;
    }

    fn seen(&self) -> u64 {
        let slot = self.slots.slot(self.number);
        let work = slot.work.lock();
        work.locks.met().max(slot.committer.floor()).epoch.max(work.looked_in)
    }

    fn time(&self) -> CallTime {
        self.slots.slot(self.number).work.lock().time
    }
}

impl<L: Locks> Drop for Transaction<L> {
    fn drop(&mut self) {
        if self.slots.slot(self.number).phase() != Phase::Empty {
            self.rollback();
        }
        self.slots.give_back(self.number);
    }
}

/// How an attempt of a statement ended that did not fail.
pub(super) enum Ran {
    /// it is done
    Done,
    /// it made way for a quiet point, and has done nothing
    MadeWay,
    /// it is all that the transaction did, and is undone because of others
    Undone,
    /// it has done nothing: its frame tells what it would do with tables that others do not know of
    Unknown,
}

impl<L: Locks> Inside<'_, L> {
    /// Runs a statement, and measures its time. `attempts`: so often it was undone before.
    fn run_attempt(
        &mut self,
        statement: Statement<'_>,
        (invocation, attempts): (&Invocation, u32),
        frame: &mut Frame,
    ) -> Result<Ran, Failure> {
        if attempts == 0 {
            self.work.time = CallTime::default();
        }
        let watch = self.work.locks.watch();
        watch.switch(Activity::Execute);
        let began = watch.read();
        let is_first = self.work.phase() == Phase::Empty;
        let ran = match statement.call() {
            Some(call) if is_first && self.work.locks.plans() && attempts < PLANS_MAX => {
                self.run_ahead(statement, call, invocation, frame)
            }
            _ => self.run(statement, (invocation, is_first), frame),
        };
        self.work.scratch.end_statement();
        let watch = self.work.locks.watch();
        let ended = watch.read();
        watch.switch(Activity::Idle);
        self.work.time.add_between(&began, &ended);
        ran
    }

    /// Runs a statement that locks as it goes; `is_first`: nothing is held so far.
    fn run(
        &mut self,
        statement: Statement<'_>,
        (invocation, is_first): (&Invocation, bool),
        frame: &mut Frame,
    ) -> Result<Ran, Failure> {
        let program = statement.program();
        if program.row_locks == RowLocks::Free && self.look(program, invocation, frame)? {
            return Ok(Ran::Done);
        }
        frame.begin(program, invocation);
        let Work { locks, scratch, .. } = &mut *self.work;
        let before = scratch.savepoint();
        let pin = self.schema.memory.epochs().pin(scratch.worker());
        locks.hurry(program.row_locks == RowLocks::ExclusiveAtOnce);
        let mut access = InPlace::resume(&self.schema, scratch, locks.protection());
        let Err(stop) = interpret::run(program, 0, frame, &mut access, &mut NoHook) else {
            return Ok(Ran::Done);
        };
        match stop {
            Stop::Conflict(Conflict::Busy) => {
                access.take_back(before); // I4
                let table = program.access.first().map(|access| access.table);
                let table = table.map(|table| &self.schema.catalog.table(table).name);
                Err(Failure::Statement(Box::new(not_at_once(table))))
            }
            Stop::Conflict(Conflict::Quiet) => {
                access.take_back(before); // I4
                Ok(Ran::MadeWay)
            }
            Stop::Conflict(Conflict::Interrupt) => {
                access.take_back(before); // I4
                Err(interrupted(frame))
            }
            Stop::Replan if frame.has_unknown_uses() => {
                access.take_back(before); // I4
                Ok(Ran::Unknown)
            }
            Stop::Conflict(_) if is_first => {
                drop((access, pin));
                self.begin_anew();
                Ok(Ran::Undone)
            }
            Stop::Conflict(conflict) => {
                drop((access, pin));
                let error = conflict_error(conflict);
                self.end(Some(error.clone()));
                Err(Failure::Ended(Box::new(error)))
            }
            stop => {
                access.take_back(before); // I4
                Err(Failure::Statement(Box::new(error_of(stop, &self.schema, frame))))
            }
        }
    }
}

/// Why a statement ends whose wait was interrupted.
pub(super) fn interrupted(frame: &Frame) -> Failure {
    let why = frame.check_interrupt().err();
    let error = why.map_or_else(|| conflict_error(Conflict::Interrupt), SqlError::from);
    Failure::Statement(Box::new(error))
}

impl<L: Locks> Inside<'_, L> {
    /// Undoes a statement that is all the transaction did, which begins again, as old as it was.
    pub(super) fn begin_anew(&mut self) {
        self.work.undo_first(&self.schema);
        self.work.locks.begin(Attempt::Again);
    }

    /// Runs a read that holds nothing. One that fails is tried again: it may have met a row that
    /// somebody had half changed. False: it failed each time, and is to be run under locks, so that
    /// its error is of rows that are there.
    fn look(
        &mut self,
        program: &Program,
        invocation: &Invocation,
        frame: &mut Frame,
    ) -> Result<bool, Failure> {
        let _pin = self.schema.memory.epochs().pin(self.slot.worker);
        let mut tries = 0;
        loop {
            tries += 1;
            frame.begin(program, invocation);
            let mut access = TrialReads::resume(&self.schema, &mut self.work.scratch);
            let looked = interpret::run(program, 0, frame, &mut access, &mut NoHook);
            self.work.looked_in = self.work.looked_in.max(self.slot.committer.entered());
            match looked {
                Ok(()) => return Ok(true),
                Err(Stop::Error) if tries < LOOKS_MAX => {}
                Err(Stop::Error) => return Ok(false),
                Err(stop) => {
                    let error = error_of(stop, &self.schema, frame);
                    return Err(Failure::Statement(Box::new(error)));
                }
            }
        }
    }
}

impl<L: Locks> Work<L> {
    fn commit(&mut self, schema: &Schema, committer: &Committer) -> Result<u64, SqlError> {
        let Self { locks, scratch, savepoints, looked_in, .. } = self;
        let _pin = schema.memory.epochs().pin(scratch.worker());
        savepoints.clear();
        let met = locks.met();
        let mut access = InPlace::resume(schema, scratch, locks.protection());
        match access.commit_values(committer, met) {
            Ok(commit) => {
                access.commit();
                locks.release_all(Some(commit.position()));
                committer.finish(commit);
                Ok(commit.position().epoch.max(*looked_in))
            }
            Err(_) => {
                access.undo();
                locks.release_all(None);
                Err(committer.failure())
            }
        }
    }
}

pub(super) fn too_large(most: usize) -> SqlError {
    let message = format!("the transaction has made more than {most} changes");
    let mut error = SqlError::new(b"54000", message);
    error.hint = Some("Commit, and do the rest in other transactions.".to_owned());
    error
}

/// 55P03 of a statement that does not wait.
fn not_at_once(table: Option<&String>) -> SqlError {
    let of = table.map(|name| format!(" in relation \"{name}\"")).unwrap_or_default();
    SqlError::new(b"55P03", format!("could not obtain lock on row{of}"))
}

/// 40P01 of the transaction that a deadlock was broken with, 40001 of others that gave way.
pub(super) fn conflict_error(conflict: Conflict) -> SqlError {
    let mut error = match conflict {
        Conflict::Victim => SqlError::new(b"40P01", "deadlock detected"),
        _ => {
            let message = "could not serialize access due to a concurrent transaction";
            SqlError::new(b"40001", message)
        }
    };
    error.detail = Some(format!("The transaction was rolled back ({}).", conflict.name()));
    error.hint = Some("Repeat the transaction.".to_owned());
    error
}
