//! A moment: a quiet point that a transaction has, and what it does there.

use std::hash::RandomState;
use std::sync::Arc;

use hotrow_transaction::bytecode::Program;
use hotrow_transaction::frame::Frame;
use hotrow_transaction::interpret::{self, NoHook};
use hotrow_transaction::invocation::Invocation;
use hotrow_transaction::outcome::SqlError;

use super::Buffers;
use super::definitions::Definitions;
use super::list::{Entry, Given, KeptRuns, List, Step};
use crate::in_place::{InPlace, Savepoint, Scratch};
use crate::journal::Committer;
use crate::protection::Alone;
use crate::schema::{KeptQuiet, QUIET_WORKER, Schema};
use crate::worker::error_of;

/// Statements that a transaction looks at again when it goes on at another moment.
const LOOKS_AGAIN_MAX: usize = 32;

/// The schema of that moment, and what of the transaction's changes stands in place.
pub(super) struct Moment {
    /// which of the transaction's it is
    pub(super) number: u32,
    pub(super) schema: Arc<Schema>,
    pub(super) generation: u64,
    /// what the transaction has changed so far stands in place
    pub(super) is_ready: bool,
    /// all that it has done was done here, in place
    pub(super) covers_all: bool,
    /// what it has defined, if it defines something
    pub(super) definitions: Option<Definitions>,
    pub(super) quiet: KeptQuiet,
}

/// Why a transaction does not go on.
pub(super) enum Halt {
    /// a statement did not give again what it had given: 40001
    Overtaken,
    /// it failed in a way that does not follow from rows, or for the first time
    Failed(usize, Box<SqlError>),
}

/// How a statement ran.
pub(super) struct Ran {
    pub(super) given: Given,
    pub(super) changes: bool,
    pub(super) error: Option<Box<SqlError>>,
}

impl Moment {
    pub(super) fn new(
        quiet: KeptQuiet,
        number: u32,
        (schema, generation): (Arc<Schema>, u64),
    ) -> Self {
        let (is_ready, covers_all) = (false, false);
        let definitions = None;
        Self { number, schema, generation, is_ready, covers_all, definitions, quiet }
    }

    /// Runs a statement; one that fails has done nothing.
    pub(super) fn run(
        &self,
        scratch: &mut Scratch,
        program: &Program,
        (invocation, frame): (&Invocation, &mut Frame),
        hashes: &RandomState,
    ) -> Ran {
        let (before, changes) = (scratch.savepoint(), scratch.changes());
        frame.begin(program, invocation);
        let _pin = self.schema.memory.epochs().pin(QUIET_WORKER);
        let mut access = InPlace::resume(&self.schema, scratch, Alone);
        match interpret::run(program, 0, frame, &mut access, &mut NoHook) {
            Ok(()) => {
                let given = Given::Answer(frame.hash_of_answer(program, hashes));
                Ran { given, changes: scratch.changes() > changes, error: None }
            }
            Err(stop) => {
                access.take_back(before);
                let error = error_of(stop, &self.schema, frame);
                let given = Given::Error(error.sqlstate);
                Ran { given, changes: false, error: Some(Box::new(error)) }
            }
        }
    }

    /// Repeats a statement, or runs it for the first time.
    fn run_step(&self, buffers: &mut Buffers, step: &Step, hashes: &RandomState) -> Ran {
        let Buffers { scratch, frame } = buffers;
        let invocation = &step.invocation;
        match &step.runs {
            KeptRuns::Program(program) => self.run(scratch, program, (invocation, frame), hashes),
            KeptRuns::Call(procedure) => match self.schema.procedure(*procedure) {
                Some(called) => self.run(scratch, &called.program, (invocation, frame), hashes),
                // It was dropped: what it gave is not given again.
                None => Ran { given: Given::Error(*b"42883"), changes: false, error: None },
            },
        }
    }

    /// Puts what the transaction has changed so far in place.
    pub(super) fn repeat_changes(
        &self,
        buffers: &mut Buffers,
        list: &mut List,
        hashes: &RandomState,
    ) -> Result<(), Halt> {
        for at in 0..list.entries().len() {
            let Some(step) = list.step_mut(at).filter(|step| step.is_of_effect()) else { continue };
            let ran = self.run_step(buffers, step, hashes);
            check(at, step, &ran)?;
            if step.given == Given::Nothing {
                (step.given, step.changes, step.moment) = (ran.given, ran.changes, self.number);
            }
        }
        Ok(())
    }

    /// Looks again at what a transaction was shown at moments before, if it has only looked so far:
    /// where that is shown again, all of it is of this moment, and COMMIT has nothing to check.
    pub(super) fn look_again(
        &mut self,
        buffers: &mut Buffers,
        list: &mut List,
        hashes: &RandomState,
    ) {
        let is_look = |step: &Step| !step.changes && step.given != Given::Nothing;
        let is_over = list.steps().nth(LOOKS_AGAIN_MAX).is_some();
        if self.covers_all || is_over || !list.steps().all(is_look) {
            return;
        }
        let before = buffers.scratch.savepoint();
        let is_again = list.steps().all(|step| {
            let ran = self.run_step(buffers, step, hashes);
            ran.given == step.given && !ran.changes
        });
        if is_again {
            list.steps_mut().for_each(|step| step.moment = self.number);
            self.covers_all = true;
        } else {
            // A call that had nothing to change may have it now.
            let _pin = self.schema.memory.epochs().pin(QUIET_WORKER);
            InPlace::resume(&self.schema, &mut buffers.scratch, Alone).take_back(before);
        }
    }

    /// Repeats all that the transaction has done, in its order. Where its savepoints stand, by the
    /// number of the entry.
    pub(super) fn repeat_all(
        &self,
        buffers: &mut Buffers,
        list: &List,
        hashes: &RandomState,
    ) -> Result<Vec<(usize, Savepoint)>, Halt> {
        let mut savepoints: Vec<(usize, Savepoint)> = Vec::new();
        for (at, entry) in list.entries().iter().enumerate() {
            match entry {
                Entry::Step(step) if step.given == Given::Nothing && step.is_undone => {}
                Entry::Step(step) => check(at, step, &self.run_step(buffers, step, hashes))?,
                Entry::Savepoint => savepoints.push((at, buffers.scratch.savepoint())),
                Entry::RollbackTo(to) => {
                    let found = savepoints.iter().rev().find(|(at, _)| at == to);
                    let (_, before) = *found.expect("it was made before");
                    let _pin = self.schema.memory.epochs().pin(QUIET_WORKER);
                    InPlace::resume(&self.schema, &mut buffers.scratch, Alone).take_back(before);
                }
            }
        }
        Ok(savepoints)
    }

    /// Commits what stands in place; in which epoch it is durable.
    pub(super) fn commit(
        &self,
        scratch: &mut Scratch,
        committer: &Committer,
    ) -> Result<u64, Box<SqlError>> {
        let _pin = self.schema.memory.epochs().pin(QUIET_WORKER);
        let mut access = InPlace::resume(&self.schema, scratch, Alone);
        match access.commit_values_alone(committer) {
            Ok(commit) => {
                access.commit();
                committer.finish(commit);
                self.schema.reclaim(QUIET_WORKER);
                Ok(commit.position().epoch)
            }
            Err(_) => {
                access.undo();
                Err(Box::new(committer.failure()))
            }
        }
    }

    /// Takes back what stands in place, and lets everybody go on.
    pub(super) fn end(mut self, scratch: &mut Scratch) {
        self.take_back_definitions(0, scratch);
        if scratch.is_unchanged() {
            return;
        }
        undo(&self.schema, scratch);
        self.schema.reclaim(QUIET_WORKER);
    }
}

/// Takes back what was changed under a schema.
pub(super) fn undo(schema: &Schema, scratch: &mut Scratch) {
    let _pin = schema.memory.epochs().pin(QUIET_WORKER);
    InPlace::resume(schema, scratch, Alone).undo();
}

fn check(at: usize, step: &Step, ran: &Ran) -> Result<(), Halt> {
    if step.given.allows(ran.given) {
        return Ok(());
    }
    Err(match &ran.error {
        Some(error) if step.given == Given::Nothing || !follows_from_rows(error) => {
            Halt::Failed(at, error.clone())
        }
        _ => Halt::Overtaken,
    })
}

/// Whether a statement that fails so fails so again on the same rows.
pub(super) fn follows_from_rows(error: &SqlError) -> bool {
    // No resources, limits, cancelled or shut down, the system, a bug.
    !matches!(&error.sqlstate[..2], b"53" | b"54" | b"57" | b"58" | b"XX")
}
