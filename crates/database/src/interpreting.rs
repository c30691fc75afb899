//! DO blocks that hold definitions: run statement by statement in the session's transaction.
//!
//! Role         what [`hotrow_sql::BlockHost`] asks for is done here, by the session's own means:
//!              steps are programs that run in the open transaction, definitions are executed as
//!              if they had been sent, and what a handler takes back is a savepoint. Where no
//!              transaction of BEGIN is open, the block has one of its own, which is committed
//!              with its end; one of a batch ends before it, as before a definition
//! Invariants   I1 a block is done whole or not at all: its own transaction is rolled back where
//!              it fails, and one of BEGIN has failed then
//!              I2 nothing is told of a step before the block's end, which waits for all that the
//!              transaction has seen
//!              I3 blocks execute each other [`DEPTH_MAX`] deep at most

use hotrow_base::value::Value;
use hotrow_sql::{
    BlockHost, CompileStep, Holds, ScriptStatement, StepAnswer, TransactionControl,
    TransactionModes, is_refused_definition,
};
use hotrow_transaction::outcome::{Notice, SqlError, apart};

use crate::context::Context;
use crate::error::{Error, changing};
use crate::keyless::with_keys;
use crate::lookup::registered;
use crate::notifications::is_notice;
use crate::prepare::in_parts;
use crate::prepared::{COMPILATIONS_MAX, Prepared};
use crate::reply::Reply;
use crate::result::StatementResult;
use crate::rows::Rows;
use crate::run::Runner;
use crate::session_settings::control_transaction;
use crate::session_transaction::{REPETITIONS_MAX, is_conflict};
use crate::verifier::conceal;
use crate::work::Work;

/// How deep blocks may execute each other.
const DEPTH_MAX: u32 = 8;

impl Runner<'_> {
    /// Runs a block that holds definitions.
    pub(crate) fn interpret(&mut self, prepared: &Prepared) -> Result<StatementResult, Error> {
        let context = self.context;
        let depth = context.blocks.get();
        if depth >= DEPTH_MAX {
            let message = "blocks that execute each other are nested too deeply";
            return Err(SqlError::new(b"54001", message).into());
        }
        context.blocks.set(depth + 1);
        let done = match self.transaction.is_block() {
            true => self.interpret_inside(prepared),
            false => self.interpret_alone(prepared),
        };
        context.blocks.set(depth);
        let notices = done?;
        let place = prepared.statement().place;
        Ok(StatementResult { place, notices, ..StatementResult::of_tag("DO") })
    }

    /// In the transaction of BEGIN that is open.
    fn interpret_inside(&mut self, prepared: &Prepared) -> Result<Vec<Notice>, Error> {
        let (notices, done) = prepared.statement().interpret(self);
        let done = done.map_err(|failed| with_notices(failed, &notices));
        self.transaction.settle_block(self.context, done)?;
        Ok(notices)
    }

    /// In a transaction of its own, which is begun again where it meets a conflict.
    fn interpret_alone(&mut self, prepared: &Prepared) -> Result<Vec<Notice>, Error> {
        let context = self.context;
        if self.transaction.is_open() {
            self.transaction.commit_own(context)?; // a batch's
        }
        let mut repetitions = 0;
        loop {
            let begin = TransactionControl::Begin(TransactionModes::default());
            control_transaction(context, self.transaction, begin)?;
            let (notices, done) = prepared.statement().interpret(self);
            let failed = match done {
                Ok(()) => {
                    let commit = TransactionControl::Commit;
                    match control_transaction(context, self.transaction, commit) {
                        Ok(_) => return Ok(notices),
                        Err(failed) => failed,
                    }
                }
                Err(failed) => {
                    let seen = self.transaction.seen();
                    let back = TransactionControl::Rollback;
                    control_transaction(context, self.transaction, back)?;
                    told(context, failed, seen)
                }
            };
            if !is_conflict(&failed) || repetitions == REPETITIONS_MAX {
                return Err(with_notices(failed, &notices));
            }
            self.transaction.pause(repetitions)?;
            repetitions += 1;
        }
    }

    /// Runs a block that may execute definitions as the program that it was compiled to; none: it
    /// does, and nothing of it was done.
    pub(crate) fn run_unless_defining(
        &mut self,
        prepared: &Prepared,
        values: &[Value],
    ) -> Result<Option<Rows>, Error> {
        if prepared.statement().holds_definitions() != Holds::Perhaps {
            return self.run(prepared, values).map(Some);
        }
        self.transaction.join_batch(self.context)?;
        let is_protected = self.transaction.is_open();
        if is_protected {
            self.transaction.protect(self.context)?;
        }
        let done = self.run(prepared, values);
        if is_protected {
            let ended = self.transaction.unprotect(self.context, done.is_ok());
            if done.is_ok() {
                ended?;
            }
        }
        match done {
            Err(Error::Sql(failed)) if is_refused_definition(&failed) => Ok(None),
            done => done.map(Some),
        }
    }
}

impl BlockHost for Runner<'_> {
    type Error = Error;

    fn step(
        &mut self,
        compile: &mut CompileStep<'_>,
        values: &[Value],
    ) -> Result<StepAnswer, Error> {
        let (context, path) = (self.context, self.context.path());
        let core = &context.core;
        context.drawn().begin();
        let mut run = || {
            for _ in 0..COMPILATIONS_MAX {
                let mut compile_once = || {
                    // In this order: a schema that is newer than its number is only compiled for
                    // again.
                    let generation = core.schema.generation();
                    let schema = core.schema.current();
                    apart(|| {
                        let compiled = compile(&schema.catalog, &registered(&schema), &path)?;
                        let needs = compiled.needs().cloned().unwrap_or_default();
                        let work = Work::of(&schema, compiled)?;
                        Ok::<_, SqlError>((schema, work, needs, generation))
                    })
                };
                let first = compile_once();
                let compiled = with_keys(context, self.transaction, first, compile_once)?;
                let (schema, work, needs, generation) = compiled?;
                context.refuse_without(&schema.catalog, &needs)?;
                let compiled = (&work, &*schema, generation);
                if let Some(rows) = self.transaction.step(context, compiled, values)? {
                    return Ok(rows);
                }
            }
            Err(Error::from(changing()))
        };
        match run() {
            Ok(mut rows) => {
                context.note_notifications(rows.notices_mut());
                let (touched, notices) = (rows.touched(), std::mem::take(rows.notices_mut()));
                let (values, charge) = rows.into_parts();
                Ok(StepAnswer { values, touched, notices, charge })
            }
            Err(mut failed) => {
                if let Error::Sql(failed) = &mut failed {
                    failed.notices.retain(is_notice);
                }
                Err(failed)
            }
        }
    }

    fn send(&mut self, statement: ScriptStatement) -> Result<StepAnswer, Error> {
        let statement = in_parts(self.context, conceal(statement)?);
        let done = self.execute(&Prepared::of_script(statement), &[])?;
        let touched = done.rows.touched();
        Ok(StepAnswer { touched, notices: done.notices, ..StepAnswer::default() })
    }

    fn protect(&mut self) -> Result<(), Error> {
        self.transaction.protect(self.context)
    }

    fn unprotect(&mut self, stays: bool) -> Result<(), Error> {
        self.transaction.unprotect(self.context, stays)
    }

    fn check(&mut self) -> Result<(), Error> {
        Ok(self.context.interrupt.check().map_err(SqlError::from)?)
    }

    fn steps_max(&self) -> u64 {
        self.context.core.config.step_budget
    }

    fn sql_error(error: Error) -> Result<SqlError, Error> {
        match error {
            Error::Sql(error) => Ok(*error),
            other => Err(other),
        }
    }
}

/// An error, when what the transaction has seen is durable.
fn told(context: &Context, failed: Error, seen: u64) -> Error {
    let Error::Sql(failed) = failed else { return failed };
    match context.settle(Reply::seen(Err(failed), seen)) {
        Err(failed) => failed,
        Ok(_) => changing().into(),
    }
}

/// An error, with what the block has said before it.
fn with_notices(mut failed: Error, notices: &[Notice]) -> Error {
    if let Error::Sql(failed) = &mut failed {
        failed.notices.splice(0..0, notices.iter().cloned());
    }
    failed
}
