//! The transaction of a session: one that is open, or one for each statement.
//!
//! Role         sends statements and calls of a session into its open transaction, or makes a
//!              transaction of each; keeps what both need
//! Concurrency  one session's, and so one thread's

mod checking;
mod definitions;
mod steps;

use std::sync::Arc;
use std::time::Duration;

use hotrow_base::clock::{self, Ticks};
use hotrow_base::ids::ProcedureId;
use hotrow_base::interrupt::Interrupt;
use hotrow_base::thread;
use hotrow_base::value::Value;
use hotrow_engine::interactive::{Interactive, InteractiveTransaction, Runs, Statement};
use hotrow_query::AdvisoryLevel;
use hotrow_sql::{TransactionAccess, TransactionControl};
use hotrow_transaction::frame::Frame;
use hotrow_transaction::invocation::{Invocation, Leaves};
use hotrow_transaction::outcome::{Notice, SqlError};

use crate::books::{SessionBooks, Spent};
use crate::config::Config;
use crate::context::Context;
use crate::deferred::Fires;
use crate::error::{Error, advised, changing};
use crate::lookup::unknown_procedure;
use crate::parts::{Nothing, run_in};
use crate::prepared::{COMPILATIONS_MAX, Prepared};
use crate::reply::Reply;
use crate::rows::Rows;
use crate::transaction::{
    Ended, Extent, OpenTransaction, TransactionState, inside, outside, warning_inside,
    warning_outside,
};

/// Times a statement outside transactions is repeated after a conflict, with growing pauses.
pub(crate) const REPETITIONS_MAX: u32 = 200;
const FIRST_PAUSE: Duration = Duration::from_micros(20);
const DOUBLINGS_MAX: u32 = 9;
/// How long a statement outside transactions waits for a place among those that are open.
const PLACE_PATIENCE: Duration = Duration::from_secs(1);
const PLACE_LOOKS_EVERY: Duration = Duration::from_millis(1);

/// The transaction that is open, if one is, and what every other one needs.
pub(crate) struct SessionTransaction {
    open: Option<OpenTransaction>,
    frame: Frame,
    /// statements are one transaction, which the first of them begins
    in_batch: bool,
    interrupt: Arc<Interrupt>,
    /// how long transactions may be idle, if that is less than the database allows
    idle_limit: Option<Duration>,
    books: Arc<SessionBooks>,
    /// what triggers have said that fired behind their statements, until somebody is told
    said: Vec<Notice>,
    /// what such triggers do, the one that was fired last at the end
    firings: Vec<(Fires, Prepared)>,
}

/// What was said of a transaction.
pub(crate) struct Said {
    pub(crate) tag: &'static str,
    pub(crate) notices: Vec<Notice>,
}

impl Said {
    fn new(tag: &'static str, warning: Option<Notice>) -> Self {
        Self { tag, notices: warning.into_iter().collect() }
    }
}

impl SessionTransaction {
    pub(crate) fn new(
        config: &Config,
        interrupt: &Arc<Interrupt>,
        books: Arc<SessionBooks>,
    ) -> Self {
        let mut frame = Frame::new();
        frame.set_step_budget(config.step_budget);
        frame.set_rows_max(config.result_bytes_max);
        frame.set_interrupt(Some(Arc::clone(interrupt)));
        let interrupt = Arc::clone(interrupt);
        let (idle_limit, said, firings) = (None, Vec::new(), Vec::new());
        Self { open: None, frame, in_batch: false, interrupt, idle_limit, books, said, firings }
    }

    pub(crate) fn state(&self) -> TransactionState {
        self.open.as_ref().map_or(TransactionState::Idle, OpenTransaction::state)
    }

    /// Limits how long the transaction that is open, and those to come, may be idle.
    pub(crate) fn limit_idle(&mut self, most: Option<Duration>) {
        self.idle_limit = most;
        if let Some(open) = &mut self.open {
            open.limit_idle(most);
        }
    }

    /// Notes that something the session said failed.
    pub(crate) fn fail(&mut self) {
        self.frame.release();
        if let Some(open) = &mut self.open {
            open.fail();
        }
    }

    /// Fails with 25P02 in a failed transaction.
    pub(crate) fn refuse_failed(&self) -> Result<(), SqlError> {
        self.open.as_ref().map_or(Ok(()), OpenTransaction::refuse_failed)
    }

    /// Fails with 25001 in a transaction.
    pub(crate) fn refuse_inside(&self, what: &str) -> Result<(), SqlError> {
        if self.open.is_some() { Err(inside(what)) } else { Ok(()) }
    }

    /// Fails with 25P01 outside of a transaction of several statements.
    pub(crate) fn refuse_outside(&self, what: &str) -> Result<(), SqlError> {
        if self.open.is_some() { Ok(()) } else { Err(outside(what)) }
    }

    /// Fails with 25001 in a transaction that has definitions: it keeps a quiet point, and what is
    /// asked for waits for one.
    pub(crate) fn refuse_beside_definitions(&self, what: &str) -> Result<(), SqlError> {
        if self.open.as_ref().is_some_and(OpenTransaction::defines) {
            let message = format!("{what} cannot be in a transaction that has definitions");
            return Err(advised(b"25001", message, "Write COMMIT first."));
        }
        Ok(())
    }

    /// BEGIN, COMMIT and so on.
    pub(crate) fn control(
        &mut self,
        context: &Context,
        control: TransactionControl,
    ) -> Result<Said, Error> {
        let said = |tag| Ok(Said::new(tag, None));
        match control {
            TransactionControl::Begin(modes) => {
                self.begin(context, modes.access.unwrap_or_default())
            }
            TransactionControl::Commit => {
                let warning = ending(self.open.as_ref());
                let mut said = self.commit(context)?;
                said.notices.splice(0..0, warning);
                Ok(said)
            }
            TransactionControl::Chain(end) => self.control(context, *end),
            TransactionControl::Rollback => {
                let warning = ending(self.open.as_ref());
                self.abandon();
                Ok(Said::new("ROLLBACK", warning))
            }
            TransactionControl::Savepoint(name) => {
                self.refuse_failed()?;
                self.in_block("SAVEPOINT")?.savepoint(name)?;
                said("SAVEPOINT")
            }
            TransactionControl::RollbackTo(name, place) => {
                self.in_block("ROLLBACK TO SAVEPOINT")?.rollback_to(&name, place)?;
                said("ROLLBACK")
            }
            TransactionControl::Release(name, place) => {
                self.refuse_failed()?;
                self.in_block("RELEASE SAVEPOINT")?.release(&name, place)?;
                said("RELEASE")
            }
        }
    }

    fn begin(&mut self, context: &Context, access: TransactionAccess) -> Result<Said, Error> {
        if let Some(open) = &mut self.open {
            open.refuse_failed()?;
            // What a batch has done before its BEGIN belongs to the block, as PostgreSQL has it.
            let warning = open.begin_block(access).then(warning_inside);
            return Ok(Said::new("BEGIN", warning));
        }
        let core = &context.core;
        core.refuse_closed()?;
        let Some(engine) = &core.interactive else { return Err(core.no_transactions().into()) };
        let mut engine = Arc::clone(engine).begin(&self.interrupt)?;
        engine.limit_idle(self.idle_limit);
        let is_read_only = access == TransactionAccess::ReadOnly;
        engine.expect_more(!is_read_only);
        self.open =
            Some(OpenTransaction::new(engine, Extent::Block, is_read_only, &context.memory));
        Ok(Said::new("BEGIN", None))
    }

    fn commit(&mut self, context: &Context) -> Result<Said, Error> {
        if let Err(error) = self.check_deferred(context, true) {
            self.abandon();
            return Err(error);
        }
        let defines =
            |open: &OpenTransaction| open.defines() && open.state() == TransactionState::Open;
        if self.open.as_ref().is_some_and(defines)
            && let Err(error) = self.store_numbers(context)
        {
            self.abandon();
            return Err(error);
        }
        let mut notices = self.take_said();
        context.note_notifications(&mut notices);
        let Some(open) = self.open.take() else { return Ok(Said { tag: "COMMIT", notices }) };
        match open.commit()? {
            Ended::RolledBack => {
                self.books.rollbacks.increment();
                Ok(Said { tag: "ROLLBACK", notices })
            }
            Ended::Committed(durable_in) => {
                self.books.commits.increment();
                context.settle(Reply::new(Ok(Rows::default()), durable_in))?;
                Ok(Said { tag: "COMMIT", notices })
            }
        }
    }

    /// Whether the open transaction only reads; none: there is none.
    pub(crate) fn is_read_only(&self) -> Option<bool> {
        self.open.as_ref().map(|open| open.is_read_only)
    }

    /// SET TRANSACTION READ ONLY or READ WRITE; false outside.
    pub(crate) fn set_read_only(&mut self, is_read_only: bool) -> Result<bool, Box<SqlError>> {
        let Some(open) = &mut self.open else { return Ok(false) };
        open.set_read_only(is_read_only).map(|()| true)
    }

    /// Begins a transaction for something that takes several statements, where none is open;
    /// whether it did.
    pub(crate) fn begin_unless_open(&mut self, context: &Context) -> Result<bool, Error> {
        if self.open.is_some() {
            return Ok(false);
        }
        let core = &context.core;
        core.refuse_closed()?;
        let Some(interactive) = &core.interactive else {
            return Err(core.no_transactions().into());
        };
        let engine = begin_soon(interactive, &self.interrupt).or_else(|error| {
            core.refuse_closed()?;
            Err(Error::from(error))
        })?;
        let is_read_only = context.settings().often_asked().is_read_only;
        self.open =
            Some(OpenTransaction::new(engine, Extent::Batch, is_read_only, &context.memory));
        Ok(!self.in_batch)
    }

    /// Begins a batch.
    pub(crate) fn begin_batch(&mut self) {
        self.in_batch = true;
    }

    /// Ends a batch: commits its transaction, or takes it back, unless BEGIN has made a block of
    /// it. Whether it stays; none: there was no batch.
    pub(crate) fn end_batch(
        &mut self,
        context: &Context,
        stays: bool,
    ) -> Option<Result<bool, Error>> {
        if !std::mem::take(&mut self.in_batch) {
            return None;
        }
        match &self.open {
            Some(open) if open.extent() == Extent::Block => Some(Ok(true)),
            Some(_) if stays => Some(self.commit(context).map(|said| said.tag == "COMMIT")),
            _ => {
                self.abandon();
                Some(Ok(stays))
            }
        }
    }

    /// Begins a batch's transaction, if it has none yet and statements lock what they touch. Where
    /// transactions are run again, each statement of a long batch would repeat those before it.
    pub(crate) fn join_batch(&mut self, context: &Context) -> Result<(), Error> {
        if self.in_batch && context.core.locks_as_it_goes {
            self.begin_unless_open(context)?;
        }
        Ok(())
    }

    /// Commits what [`SessionTransaction::begin_unless_open`] began; what triggers have said then.
    pub(crate) fn commit_own(&mut self, context: &Context) -> Result<Vec<Notice>, Error> {
        self.commit(context).map(|said| said.notices)
    }

    /// Takes back what [`SessionTransaction::begin_unless_open`] began.
    pub(crate) fn abandon(&mut self) {
        self.said.clear();
        if self.open.take().is_some() {
            self.books.rollbacks.increment();
        }
    }

    fn in_block(&mut self, verb: &str) -> Result<&mut OpenTransaction, SqlError> {
        let block = self.open.as_mut().filter(|open| open.extent() == Extent::Block);
        block.ok_or_else(|| outside(verb))
    }

    /// Runs a statement in the open transaction, if there is one.
    pub(crate) fn statement(
        &mut self,
        context: &Context,
        statement: (&Prepared, &[Value]),
    ) -> Option<Result<Rows, Error>> {
        let taken = self.take_up(context);
        let Self { open, frame, .. } = self;
        let open = open.as_mut()?;
        let now_us = open.now_us;
        let done = run_in(context, statement, now_us, frame, open);
        self.put_down(taken);
        let done = self.checked(context, done);
        let is_own = |rows: &Rows| rows.touched() > 0;
        Some(self.settle_inside(context, done, is_own))
    }

    /// Runs a query that reads no table, which needs neither a transaction nor a quiet point.
    pub(crate) fn without_tables(
        &mut self,
        context: &Context,
        statement: (&Prepared, &[Value]),
    ) -> Result<Rows, Error> {
        context.core.refuse_closed()?;
        run_in(context, statement, clock::now_us(), &mut self.frame, &mut Nothing)
    }

    /// Gives back advisory locks of a transaction, where none is open any more.
    pub(crate) fn settle_advisory(&self, context: &Context) {
        if !self.is_open() && context.advisory.has_of_transaction() {
            context.advisory.release(AdvisoryLevel::Transaction);
        }
    }

    /// The time of the open transaction; none: none is open.
    pub(crate) fn now_us(&self) -> Option<i64> {
        self.open.as_ref().map(|open| open.now_us)
    }

    /// Whether one is open.
    pub(crate) fn is_open(&self) -> bool {
        self.open.is_some()
    }

    /// Tells the end of something that was done in the open transaction, when what it saw is
    /// durable. `is_own`: whether an answer without values tells only of changes that the
    /// transaction has made itself, which wait for its COMMIT ([`crate::settling`]).
    fn settle_inside(
        &mut self,
        context: &Context,
        done: Result<Rows, Error>,
        is_own: impl FnOnce(&Rows) -> bool,
    ) -> Result<Rows, Error> {
        let answer = match done {
            Ok(rows) if rows.is_empty() && rows.notices().is_empty() && is_own(&rows) => {
                return Ok(rows);
            }
            Ok(rows) => Ok(rows),
            Err(Error::Sql(error)) => Err(error),
            Err(error) => return Err(error),
        };
        let seen = self.open.as_ref().map_or(0, OpenTransaction::seen);
        if answer.is_err() {
            self.fail(); // nothing is held that nobody needs any more
        }
        context.settle(Reply::seen(answer, seen))
    }

    /// Has changes that follow only noted, where the open transaction can; whether it does.
    pub(crate) fn defer(&mut self) -> bool {
        self.open.as_mut().is_some_and(OpenTransaction::defer)
    }

    /// Runs the changes that were noted. `is_last`: COMMIT comes next. The number of the change
    /// that fails comes with its error.
    pub(crate) fn settle_changes(&mut self, is_last: bool) -> Result<(), (usize, Box<SqlError>)> {
        let Some(open) = &mut self.open else { return Ok(()) };
        if is_last {
            open.hold();
        }
        open.settle()
    }

    /// Runs a call in the open transaction, if there is one.
    pub(crate) fn call(
        &mut self,
        context: &Context,
        invocation: &mut Invocation,
    ) -> Option<Result<Rows, Error>> {
        let Self { open, frame, books, .. } = self;
        let open = open.as_mut()?;
        (invocation.now_us, invocation.leaves) = (open.now_us, open.deferred.leaves());
        let mut writes = false;
        let began = Ticks::now();
        let called = call_inside(context, open, frame, (invocation, &mut writes));
        invocation.leaves = Leaves::Nothing; // it is the queue's again, where nobody looks
        let ended = Ticks::now();
        let (procedure, time) = (invocation.procedure, open.time());
        let spent = Spent { procedure, taken: began, ended, time };
        books.note_call(spent, (began, ended, ended), called.is_err());
        let called = self.checked(context, called);
        Some(self.settle_inside(context, called, |_| writes))
    }

    /// Runs a statement as a transaction of its own.
    pub(crate) fn own(
        &mut self,
        context: &Context,
        (prepared, values): (&Prepared, &[Value]),
    ) -> Result<Rows, Error> {
        let core = &context.core;
        let Some(interactive) = &core.interactive else {
            return Err(core.no_transactions().into());
        };
        let now_us = clock::now_us();
        let mut transaction = begin_soon(interactive, &self.interrupt).or_else(|error| {
            core.refuse_closed()?;
            Err(Error::from(error))
        })?;
        let mut repetitions = 0;
        loop {
            let mut durable_in = 0;
            let statement = (prepared, values);
            let rows = run_in(context, statement, now_us, &mut self.frame, &mut transaction);
            let committed = rows.and_then(|rows| {
                durable_in = transaction.commit()?;
                Ok(rows)
            });
            transaction.let_go(); // before anything is waited for
            match committed {
                Ok(rows) => {
                    self.books.commits.increment();
                    let reply =
                        Reply { changes: prepared.writes(), ..Reply::new(Ok(rows), durable_in) };
                    return context.settle(reply);
                }
                Err(error) if is_conflict(&error) && repetitions < REPETITIONS_MAX => {
                    self.pause(repetitions)?;
                    repetitions += 1;
                    transaction.begin_again();
                }
                Err(Error::Sql(error)) => {
                    core.refuse_closed()?;
                    self.books.rollbacks.increment();
                    let durable_in = transaction.seen();
                    return context.settle(Reply::seen(Err(error), durable_in));
                }
                Err(error) => return Err(error),
            }
        }
    }
}

/// What there is to be said of a transaction's end.
fn ending(open: Option<&OpenTransaction>) -> Option<Notice> {
    let is_block = open.is_some_and(|open| open.extent() == Extent::Block);
    (!is_block).then(warning_outside)
}

fn call_inside(
    context: &Context,
    open: &mut OpenTransaction,
    frame: &mut Frame,
    (invocation, writes): (&mut Invocation, &mut bool),
) -> Result<Rows, Error> {
    let core = &context.core;
    let mut compilations = 0;
    while compilations < COMPILATIONS_MAX {
        let generation = core.schema.generation();
        let schema = core.schema.current();
        let called: ProcedureId = invocation.procedure;
        let compiled = schema.procedure(called).ok_or_else(unknown_procedure)?;
        if compiled.procedure.ends_transaction {
            return Err(SqlError::new(b"2D000", "invalid transaction termination").into());
        }
        let uses = schema.granules.uses_of(&schema.catalog, &compiled.procedure);
        *writes =
            uses.iter().any(|(_, usage)| usage.is_written()) || compiled.program.has_dynamic();
        let runs = Runs::Call(called, compiled);
        let statement = Statement { runs, uses: &uses, generation };
        let done = open.execute(statement, invocation, frame).map_err(Error::Sql);
        let mut done = done.map(|run| run.map(|()| Rows::of_program(frame, &compiled.program)));
        let arguments = &mut invocation.arguments;
        if context.draws_more(&compiled.procedure, arguments, &mut done, || {})? {
            continue;
        }
        if let Some(rows) = done? {
            return Ok(rows);
        }
        compilations += 1;
    }
    Err(changing().into())
}

/// Begins a transaction, waiting a while for one to end when too many are open.
fn begin_soon(
    interactive: &Arc<dyn Interactive>,
    interrupt: &Arc<Interrupt>,
) -> Result<Box<dyn InteractiveTransaction>, SqlError> {
    match Arc::clone(interactive).begin(interrupt) {
        Err(error) if is_full(&error) => begin_later(interactive, interrupt),
        begun => begun,
    }
}

#[cold]
fn begin_later(
    interactive: &Arc<dyn Interactive>,
    interrupt: &Arc<Interrupt>,
) -> Result<Box<dyn InteractiveTransaction>, SqlError> {
    let deadline = Ticks::from_now(PLACE_PATIENCE);
    loop {
        interrupt.check()?;
        thread::sleep(PLACE_LOOKS_EVERY);
        match Arc::clone(interactive).begin(interrupt) {
            Err(error) if is_full(&error) && !deadline.has_passed() => {}
            begun => return begun,
        }
    }
}

fn is_full(error: &SqlError) -> bool {
    error.sqlstate == *b"53300"
}

pub(crate) fn is_conflict(error: &Error) -> bool {
    matches!(error.sqlstate(), Some("40001" | "40P01"))
}
