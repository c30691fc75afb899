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

use std::cell::RefMut;

use hotrow_base::value::Value;
use hotrow_sql::{
    BlockHost, CompileStep, Compiled, Holds, OpenCursors, ScriptStatement, StepAnswer,
    TransactionControl, TransactionModes, is_refused_definition, with_literals,
};
use hotrow_transaction::outcome::{Notice, SqlError, apart};

use crate::context::Context;
use crate::error::{Error, changing};
use crate::journal::Journal;
use crate::keyless::with_keys;
use crate::lookup::{procedure_named, registered};
use crate::notifications::is_notice;
use crate::prepare::{in_parts, prepare};
use crate::prepared::{COMPILATIONS_MAX, Prepared};
use crate::reply::Reply;
use crate::result::{StatementResult, tag};
use crate::rows::Rows;
use crate::run::Runner;
use crate::session_settings::control_transaction;
use crate::session_transaction::{REPETITIONS_MAX, is_conflict};
use crate::verifier::conceal;
use crate::work::{Work, columns_of};

/// How deep blocks may execute each other.
const DEPTH_MAX: u32 = 8;

impl Runner<'_> {
    /// Runs a block that holds definitions.
    pub(crate) fn interpret(&mut self, prepared: &Prepared) -> Result<StatementResult, Error> {
        let (notices, _) = self.interpret_block(prepared.statement())?;
        let (place, text) = (prepared.statement().place, &prepared.statement().text);
        let tag = tag(text, &Rows::default());
        Ok(StatementResult { place, notices, ..StatementResult::of_tag(&tag) })
    }

    /// Runs a call of a routine that is run statement by statement.
    pub(crate) fn interpret_call(
        &mut self,
        prepared: &Prepared,
        called: &Compiled,
        values: &[Value],
    ) -> Result<StatementResult, Error> {
        let (context, statement) = (self.context, prepared.statement());
        let Compiled::InterpretedCall { name, block, .. } = called else {
            return Err(SqlError::new(b"XX000", "this is no call to be interpreted").into());
        };
        if !values.is_empty() {
            // Its arguments become expressions of the block, which has no parameters.
            let text = with_literals(statement, prepared.parameters(), values)?;
            let called = prepare(context, self.transaction, &text, &[])?;
            return self.execute(&called, &[]);
        }
        let schema = context.core.schema.current();
        let (_, compiled) = procedure_named(&schema, name)?;
        context.refuse_call(&schema.catalog, &compiled.procedure)?;
        let columns = columns_of(&schema, called);
        let (notices, mut values) = self.interpret_block(block)?;
        if values.is_empty() && !columns.is_empty() && !compiled.procedure.returns_set {
            values = vec![Value::Text(String::new())]; // of a function that returns nothing
        }
        let names: Vec<String> = columns.iter().map(|(name, _)| name.clone()).collect();
        let types = columns.into_iter().map(|(_, of)| of).collect();
        let rows = Rows::new(names.into(), values, 0);
        let (tag, place) = (tag(&statement.text, &rows), statement.place);
        Ok(StatementResult { tag, rows, types, place, notices })
    }

    pub(crate) fn interpret_block(
        &mut self,
        block: &ScriptStatement,
    ) -> Result<(Vec<Notice>, Vec<Value>), Error> {
        let context = self.context;
        let depth = context.blocks.get();
        if depth >= DEPTH_MAX {
            let message = "blocks that execute each other are nested too deeply";
            return Err(SqlError::new(b"54001", message).into());
        }
        context.blocks.set(depth + 1);
        let done = match self.transaction.is_block() {
            true => self.interpret_inside(block),
            false => self.interpret_alone(block),
        };
        context.blocks.set(depth);
        done
    }

    /// In the transaction of BEGIN that is open.
    fn interpret_inside(
        &mut self,
        block: &ScriptStatement,
    ) -> Result<(Vec<Notice>, Vec<Value>), Error> {
        let around = self.context.journal.replace(None);
        let (notices, done) = block.interpret(self);
        self.context.journal.replace(around);
        let done = done.map_err(|failed| with_notices(failed, &notices));
        let mut given = Vec::new();
        self.transaction.settle_block(self.context, done.map(|values| given = values))?;
        Ok((notices, given))
    }

    /// In a transaction of its own, which is begun again where it meets a conflict; what it has
    /// committed by then is not done again, but answered as it was.
    fn interpret_alone(
        &mut self,
        block: &ScriptStatement,
    ) -> Result<(Vec<Notice>, Vec<Value>), Error> {
        let context = self.context;
        if self.transaction.is_open() {
            self.transaction.commit_own(context)?; // a batch's
        }
        context.journal.replace(Some(Journal::default()));
        let done = self.interpret_repeatedly(block);
        context.journal.replace(None);
        done
    }

    fn interpret_repeatedly(
        &mut self,
        block: &ScriptStatement,
    ) -> Result<(Vec<Notice>, Vec<Value>), Error> {
        let context = self.context;
        let mut repetitions = 0;
        loop {
            let begin = TransactionControl::Begin(TransactionModes::default());
            control_transaction(context, self.transaction, begin)?;
            let (notices, done) = block.interpret(self);
            let failed = match done {
                Ok(values) => {
                    let commit = TransactionControl::Commit;
                    match control_transaction(context, self.transaction, commit) {
                        Ok(_) => return Ok((notices, values)),
                        Err(failed) => failed,
                    }
                }
                Err(failed) => {
                    let seen = self.transaction.seen();
                    if self.transaction.is_block() {
                        let back = TransactionControl::Rollback;
                        control_transaction(context, self.transaction, back)?;
                    }
                    told(context, failed, seen)
                }
            };
            let begun_again = context.journal.borrow_mut().as_mut().and_then(Journal::rewind);
            repetitions = match begun_again.filter(|_| is_conflict(&failed)) {
                Some(true) => 0, // another transaction of it
                Some(false) if repetitions < REPETITIONS_MAX => repetitions,
                _ => return Err(with_notices(failed, &notices)),
            };
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

impl Runner<'_> {
    /// The answer that a step had before the block was begun again, if it was committed.
    fn answered(&self) -> Option<Result<StepAnswer, SqlError>> {
        self.context.journal.borrow_mut().as_mut()?.answered()
    }

    /// Keeps the answer of a step, for where the block is begun again.
    fn keep_answer(&self, answer: &Result<StepAnswer, Error>) {
        let mut journal = self.context.journal.borrow_mut();
        match (journal.as_mut(), answer) {
            (Some(journal), Ok(answer)) => journal.keep(Ok(answer)),
            (Some(journal), Err(Error::Sql(failed))) => journal.keep(Err(failed)),
            _ => {}
        }
    }

    fn is_answered(&self) -> bool {
        self.context.journal.borrow().as_ref().is_some_and(Journal::is_answered)
    }

    pub(crate) fn run_step(
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
                Ok(StepAnswer { values, touched, notices, charge, ..StepAnswer::default() })
            }
            Err(mut failed) => {
                if let Error::Sql(failed) = &mut failed {
                    failed.notices.retain(is_notice);
                }
                Err(failed)
            }
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
        if self.is_answered() {
            // What it gives is known; what that is, the compiler tells.
            let core = &self.context.core;
            let (schema, path) = (core.schema.current(), self.context.path());
            let compiled = compile(&schema.catalog, &registered(&schema), &path);
            let answer = self.answered().unwrap_or_else(|| Ok(StepAnswer::default()));
            return Ok(compiled.and(answer)?);
        }
        let answer = self.run_step(compile, values);
        self.keep_answer(&answer);
        answer
    }

    fn send(&mut self, statement: ScriptStatement) -> Result<StepAnswer, Error> {
        if let Some(answer) = self.answered() {
            return Ok(answer?);
        }
        let statement = in_parts(self.context, conceal(statement)?);
        // What it executes in turn is its own.
        let journal = self.context.journal.replace(None);
        let done = self.execute(&Prepared::of_script(statement), &[]);
        self.context.journal.replace(journal);
        let answer = done.map(|done| {
            let StatementResult { rows, types, notices, .. } = done;
            let columns = rows.columns().iter().cloned().zip(types.iter().copied()).collect();
            let touched = rows.touched();
            let (values, charge) = rows.into_parts();
            StepAnswer { values, columns, touched, notices, charge }
        });
        self.keep_answer(&answer);
        answer
    }

    fn protect(&mut self) -> Result<(), Error> {
        match self.is_answered() {
            true => Ok(()),
            false => self.transaction.protect(self.context),
        }
    }

    fn unprotect(&mut self, stays: bool) -> Result<(), Error> {
        match self.is_answered() {
            true => Ok(()),
            false => self.transaction.unprotect(self.context, stays),
        }
    }

    fn end(&mut self, commits: bool) -> Result<(), Error> {
        let context = self.context;
        if context.journal.borrow().is_none() {
            return Err(SqlError::new(b"2D000", "invalid transaction termination").into());
        }
        if self.answered().is_some() {
            self.context.cursors().close_all();
            return Ok(());
        }
        let end = match commits {
            true => TransactionControl::Commit,
            false => TransactionControl::Rollback,
        };
        control_transaction(context, self.transaction, end)?;
        self.keep_answer(&Ok(StepAnswer::default()));
        if let Some(journal) = context.journal.borrow_mut().as_mut() {
            journal.commit();
        }
        let begin = TransactionControl::Begin(TransactionModes::default());
        control_transaction(context, self.transaction, begin).map(drop)
    }

    fn cursors(&mut self) -> RefMut<'_, OpenCursors> {
        self.context.cursors()
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
