//! Calls and statements run alone, at a quiet point, outside any engine.
//!
//! Role         statements typed outside procedures, and calls of a database without an engine
//! Concurrency  used only at quiet points, which exclude each other

use hotrow_engine::in_place::Scratch;
use hotrow_engine::reconnaissance::TrialReads;
use hotrow_engine::schema::{QUIET_WORKER, Schema};
use hotrow_engine::trace::SerialTrace;
use hotrow_engine::worker;
use hotrow_transaction::bytecode::Program;
use hotrow_transaction::compiled::CompiledProcedure;
use hotrow_transaction::frame::Frame;
use hotrow_transaction::invocation::Invocation;
use hotrow_transaction::outcome::SqlError;
use hotrow_transaction::plan::Plan;

use crate::rows::Rows;

/// Buffers for running alone.
pub(crate) struct Alone {
    scratch: Scratch,
    frame: Frame,
}

impl Alone {
    pub(crate) fn new(step_budget: u64) -> Self {
        let mut frame = Frame::new();
        frame.set_step_budget(step_budget);
        Self { scratch: Scratch::new(QUIET_WORKER), frame }
    }

    /// Plans one call, without running it.
    pub(crate) fn plan(
        &mut self,
        schema: &Schema,
        compiled: &CompiledProcedure,
        invocation: &Invocation,
    ) -> Result<Plan, SqlError> {
        let Self { scratch, frame } = self;
        let _pin = schema.memory.epochs().pin(QUIET_WORKER);
        let mut plan = Plan::default();
        let mut access = TrialReads::new(schema, scratch);
        let made = plan.make(&compiled.plan, invocation, frame, &mut access);
        made.map_err(|stop| worker::error_of(stop, schema, frame))?;
        Ok(plan)
    }

    /// Runs one call to its commit or undoes it.
    pub(crate) fn run(
        &mut self,
        schema: &Schema,
        program: &Program,
        invocation: &Invocation,
        trace: Option<&SerialTrace>,
    ) -> Result<Rows, SqlError> {
        let Self { scratch, frame } = self;
        let result = worker::run_alone(schema, scratch, program, invocation, frame, trace);
        schema.reclaim(QUIET_WORKER);
        result?;
        let names = program.result.iter().map(|column| column.name.clone()).collect();
        Ok(Rows::of_frame(names, frame, program))
    }
}
