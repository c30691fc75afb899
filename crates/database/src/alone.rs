//! Calls and statements run alone, at a quiet point, outside any engine.
//!
//! Role         statements typed outside procedures, and calls of a database without an engine
//! Concurrency  used only at quiet points, which exclude each other, or by whoever keeps the gate
//!              open to make a definition

use std::sync::Arc;

use hotrow_base::interrupt::Interrupt;
use hotrow_engine::in_place::{InPlace, Scratch};
use hotrow_engine::journal::text::TextEntry;
use hotrow_engine::journal::{Commit, Committer, Effect, Journal};
use hotrow_engine::reconnaissance::TrialReads;
use hotrow_engine::schema::{QUIET_WORKER, Schema};
use hotrow_engine::worker;
use hotrow_log::entry::Kind;
use hotrow_transaction::bytecode::Program;
use hotrow_transaction::compiled::CompiledProcedure;
use hotrow_transaction::frame::Frame;
use hotrow_transaction::invocation::Invocation;
use hotrow_transaction::outcome::{SqlError, Stop};

use crate::config::Config;
use crate::reply::Reply;
use crate::rows::Rows;

/// Buffers for running alone.
pub(crate) struct Alone {
    scratch: Scratch,
    frame: Frame,
    committer: Committer,
    /// bytes that the rows of a session's statement may take
    rows_max: usize,
}

impl Alone {
    pub(crate) fn new(config: &Config, journal: &Arc<Journal>) -> Self {
        let mut frame = Frame::new();
        frame.set_step_budget(config.step_budget);
        let committer = Committer::new(journal, QUIET_WORKER);
        let rows_max = config.result_bytes_max;
        Self { scratch: Scratch::new(QUIET_WORKER), frame, committer, rows_max }
    }

    /// What runs from now on is a session's, and can be interrupted; or it is repeated from the
    /// log, where no limit of today holds.
    pub(crate) fn heed(&mut self, interrupt: Option<&Arc<Interrupt>>) {
        self.frame.set_rows_max(if interrupt.is_some() { self.rows_max } else { usize::MAX });
        self.frame.set_interrupt(interrupt.cloned());
        self.scratch.charge_to(interrupt);
    }

    /// Plans one call as `plan` does it, without running it.
    pub(crate) fn plan(
        &mut self,
        schema: &Schema,
        plan: impl FnOnce(&mut Frame, &mut TrialReads<'_>) -> Result<(), Stop>,
    ) -> Result<(), SqlError> {
        let Self { scratch, frame, .. } = self;
        let _pin = schema.memory.epochs().pin(QUIET_WORKER);
        let planned = plan(frame, &mut TrialReads::new(schema, scratch));
        planned.map_err(|stop| worker::error_of(stop, schema, frame))
    }

    /// Runs one call to its commit or undoes it.
    pub(crate) fn call(
        &mut self,
        schema: &Schema,
        procedure: &CompiledProcedure,
        invocation: &Invocation,
    ) -> Reply {
        let Self { scratch, frame, committer, .. } = self;
        let ended =
            worker::run_call_alone(schema, scratch, committer, procedure, invocation, frame);
        self.reply(schema, &procedure.program, ended)
    }

    /// Runs a statement, given as a program and as its text, to its commit or undoes it.
    pub(crate) fn statement(
        &mut self,
        schema: &Schema,
        program: &Program,
        entry: &TextEntry<'_>,
    ) -> Reply {
        let Self { scratch, frame, committer, .. } = self;
        let invocation = Invocation::at(entry.now_us);
        // Its text is logged, whatever is logged of calls.
        let place = |access: &mut InPlace<'_, _>| committer.commit_alone(access.effect());
        let ended =
            worker::run_alone(schema, scratch, committer, program, &invocation, frame, place);
        let ended = ended.map(|commit| {
            committer.record_text(commit, Kind::Statement, entry);
            commit.position().epoch
        });
        self.reply(schema, program, ended)
    }

    /// Runs a statement to its commit or undoes it; the log has the values that it leaves.
    pub(crate) fn values(&mut self, schema: &Schema, program: &Program) -> Reply {
        let Self { scratch, frame, committer, .. } = self;
        let invocation = Invocation::default();
        let place = |access: &mut InPlace<'_, _>| access.commit_values_alone(committer);
        let ended =
            worker::run_alone(schema, scratch, committer, program, &invocation, frame, place);
        let ended = ended.map(|commit| {
            committer.finish(commit);
            commit.position().epoch
        });
        self.reply(schema, program, ended)
    }

    /// Runs a statement that only reads.
    pub(crate) fn read(
        &mut self,
        schema: &Schema,
        program: &Program,
        invocation: &Invocation,
    ) -> Reply {
        let Self { scratch, frame, committer, .. } = self;
        let place = |access: &mut InPlace<'_, _>| committer.commit_alone(access.effect());
        let ended =
            worker::run_alone(schema, scratch, committer, program, invocation, frame, place);
        let ended = ended.map(|commit| commit.position().epoch);
        self.reply(schema, program, ended)
    }

    /// The epoch in which all is durable that anybody has done so far.
    pub(crate) fn seen(&self) -> u64 {
        self.committer.seen_alone().epoch
    }

    /// Tells the log of a definition that has taken effect; the epoch in which it is durable.
    pub(crate) fn definition(&self, entry: &TextEntry<'_>) -> Result<u64, SqlError> {
        self.tell_definition(self.committer.commit_alone(Effect::Write { hash: 0 }), entry)
    }

    /// The same of one that is made while calls run.
    pub(crate) fn definition_beside(&self, entry: &TextEntry<'_>) -> Result<u64, SqlError> {
        self.tell_definition(self.committer.commit_beside(Effect::Write { hash: 0 }), entry)
    }

    fn tell_definition(
        &self,
        commit: Result<Commit, Stop>,
        entry: &TextEntry<'_>,
    ) -> Result<u64, SqlError> {
        let commit = commit.map_err(|_| self.committer.failure())?;
        self.committer.record_text(commit, Kind::Definition, entry);
        Ok(commit.position().epoch)
    }

    fn reply(
        &mut self,
        schema: &Schema,
        program: &Program,
        ended: Result<u64, (SqlError, u64)>,
    ) -> Reply {
        schema.reclaim(QUIET_WORKER);
        match ended {
            Ok(durable_in) => {
                Reply::new(Ok(Rows::of_program(&mut self.frame, program)), durable_in)
            }
            Err((error, durable_in)) => {
                self.frame.release();
                Reply::new(Err(Box::new(error)), durable_in)
            }
        }
    }
}
