//! What a session says, statement by statement, where transactions of several statements are known.
//!
//! Role         sends statements and calls of a session into its open transaction, or makes a
//!              transaction of each; keeps what both need
//! Concurrency  one session's, and so one thread's

use std::time::Duration;

use hotrow_base::clock::Ticks;
use hotrow_base::ids::{ProcedureId, TableId};
use hotrow_base::interrupt::Interrupt;
use hotrow_base::thread;
use hotrow_base::value::Value;
use hotrow_engine::interactive::{Failure, Interactive, InteractiveTransaction, Runs, Statement};
use hotrow_sql::{TransactionAccess, TransactionControl};
use hotrow_transaction::frame::Frame;
use hotrow_transaction::invocation::Invocation;
use hotrow_transaction::outcome::{Notice, SqlError};

use crate::arguments::bind_all;
use crate::books::{SessionBooks, Spent};
use crate::client::Reply;
use crate::config::Config;
use crate::core::Core;
use crate::error::Error;
use crate::lookup::unknown_procedure;
use crate::prepared::{COMPILATIONS_MAX, Prepared, StatementProgram, Work, changing, run_compiled};
use crate::query::{self, Around};
use crate::rows::Rows;
use crate::session::Session;
use crate::transaction::{
    Ended, Extent, OpenTransaction, TransactionState, inside, outside, warning_inside,
    warning_outside, warning_stays,
};
use std::sync::Arc;

/// Times a statement outside transactions is repeated after a conflict, with growing pauses.
const REPETITIONS_MAX: u32 = 200;
const FIRST_PAUSE: Duration = Duration::from_micros(20);
const DOUBLINGS_MAX: u32 = 9;
/// How long a statement outside transactions waits for a place among those that are open.
const PLACE_PATIENCE: Duration = Duration::from_secs(1);
const PLACE_LOOKS_EVERY: Duration = Duration::from_millis(1);

/// See the module.
pub(crate) struct Talk {
    open: Option<OpenTransaction>,
    frame: Frame,
    /// statements are one transaction, which the first of them begins
    in_batch: bool,
    interrupt: Arc<Interrupt>,
    /// how long transactions may be idle, if that is less than the database allows
    idle_limit: Option<Duration>,
    books: Arc<SessionBooks>,
}

/// What was said of a transaction.
pub(crate) struct Said {
    pub(crate) tag: &'static str,
    pub(crate) warning: Option<Notice>,
}

impl Talk {
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
        Self { open: None, frame, in_batch: false, interrupt, idle_limit: None, books }
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

    /// BEGIN, COMMIT and so on.
    pub(crate) fn control(
        &mut self,
        session: &Session,
        control: TransactionControl,
    ) -> Result<Said, Error> {
        let said = |tag| Ok(Said { tag, warning: None });
        match control {
            TransactionControl::Begin(modes) => {
                self.begin(session.core(), modes.access.unwrap_or_default())
            }
            TransactionControl::Commit => self.commit(session),
            TransactionControl::Rollback => {
                let warning = ending(self.open.as_ref(), "ROLLBACK");
                self.abandon();
                Ok(Said { tag: "ROLLBACK", warning })
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

    fn begin(&mut self, core: &Core, access: TransactionAccess) -> Result<Said, Error> {
        if let Some(open) = &mut self.open {
            open.refuse_failed()?;
            // What a batch has done before its BEGIN belongs to the block, as PostgreSQL has it.
            let warning = open.begin_block(access).then(warning_inside);
            return Ok(Said { tag: "BEGIN", warning });
        }
        core.refuse_closed()?;
        let Some(engine) = &core.interactive else { return Err(core.no_transactions().into()) };
        let mut engine = Arc::clone(engine).begin(&self.interrupt)?;
        engine.limit_idle(self.idle_limit);
        let is_read_only = access == TransactionAccess::ReadOnly;
        engine.expect_more(!is_read_only);
        self.open = Some(OpenTransaction::new(engine, Extent::Block, is_read_only));
        Ok(Said { tag: "BEGIN", warning: None })
    }

    fn commit(&mut self, session: &Session) -> Result<Said, Error> {
        let warning = ending(self.open.as_ref(), "COMMIT");
        let Some(open) = self.open.take() else { return Ok(Said { tag: "COMMIT", warning }) };
        match open.commit()? {
            Ended::RolledBack => {
                self.books.rollbacks.increment();
                Ok(Said { tag: "ROLLBACK", warning })
            }
            Ended::Committed(durable_in) => {
                self.books.commits.increment();
                session.settle(Reply::new(Ok(Rows::default()), durable_in))?;
                Ok(Said { tag: "COMMIT", warning })
            }
        }
    }

    /// Whether the open transaction only reads; none: there is none.
    pub(crate) fn is_read_only(&self) -> Option<bool> {
        self.open.as_ref().map(|open| open.is_read_only)
    }

    /// SET TRANSACTION READ ONLY or READ WRITE; false outside.
    pub(crate) fn set_read_only(&mut self, is_read_only: bool) -> bool {
        let open = self.open.as_mut();
        open.map(|open| open.is_read_only = is_read_only).is_some()
    }

    /// Begins a transaction for something that takes several statements, where none is open;
    /// whether it did.
    pub(crate) fn begin_unless_open(
        &mut self,
        core: &Core,
        session: &Session,
    ) -> Result<bool, Error> {
        if self.open.is_some() {
            return Ok(false);
        }
        core.refuse_closed()?;
        let Some(interactive) = &core.interactive else {
            return Err(core.no_transactions().into());
        };
        let engine = begin_soon(interactive, &self.interrupt).or_else(|error| {
            core.refuse_closed()?;
            Err(Error::from(error))
        })?;
        let is_read_only = session.settings().is_on("default_transaction_read_only");
        self.open = Some(OpenTransaction::new(engine, Extent::Batch, is_read_only));
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
        session: &Session,
        stays: bool,
    ) -> Option<Result<bool, Error>> {
        if !std::mem::take(&mut self.in_batch) {
            return None;
        }
        match &self.open {
            Some(open) if open.extent() == Extent::Block => Some(Ok(true)),
            Some(_) if stays => Some(self.commit(session).map(|said| said.tag == "COMMIT")),
            _ => {
                self.abandon();
                Some(Ok(stays))
            }
        }
    }

    /// Begins a batch's transaction, if it has none yet and statements lock what they touch. Where
    /// transactions are run again, each statement of a long batch would repeat those before it.
    pub(crate) fn join_batch(&mut self, core: &Core, session: &Session) -> Result<(), Error> {
        if self.in_batch && core.locks_as_it_goes {
            self.begin_unless_open(core, session)?;
        }
        Ok(())
    }

    /// Makes way for a definition, which is part of no transaction: a batch's is committed, and one
    /// of BEGIN is, too, if only rows of tables go with it that it has made itself. Otherwise fails
    /// with 25001.
    pub(crate) fn make_way(&mut self, session: &Session, what: &str) -> Result<(), Error> {
        let Some(open) = &mut self.open else { return Ok(()) };
        if open.extent() == Extent::Batch {
            return self.commit(session).map(drop);
        }
        let durable_in = open.make_way(what)?;
        session.settle(Reply::new(Ok(Rows::default()), durable_in)).map(drop)
    }

    /// Notes that a definition was made in the open transaction, if there is one.
    pub(crate) fn has_defined(&mut self, created: impl Iterator<Item = TableId>) {
        if let Some(open) = &mut self.open {
            open.has_defined(created);
        }
    }

    /// Commits what [`Talk::begin_unless_open`] began.
    pub(crate) fn commit_own(&mut self, session: &Session) -> Result<(), Error> {
        self.commit(session).map(drop)
    }

    /// Takes back what [`Talk::begin_unless_open`] began.
    pub(crate) fn abandon(&mut self) {
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
        statement: (&Prepared, &[Value]),
        session: &Session,
    ) -> Option<Result<Rows, Error>> {
        let core = session.core();
        if let Err(error) = self.join_batch(core, session) {
            return Some(Err(error));
        }
        let Self { open, frame, .. } = self;
        let open = open.as_mut()?;
        let now_us = open.now_us;
        let done = run_in(core, statement, (session, now_us), frame, open);
        let is_own = |rows: &Rows| rows.touched() > 0;
        Some(self.settle_inside(session, done, is_own))
    }

    /// Tells the end of something that was done in the open transaction, when what it saw is
    /// durable. `is_own`: whether an answer without values tells only of changes that the
    /// transaction has made itself, which wait for its COMMIT ([`crate::settling`]).
    fn settle_inside(
        &mut self,
        session: &Session,
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
        session.settle(Reply::seen(answer, seen))
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
        session: &Session,
        invocation: &mut Invocation,
    ) -> Option<Result<Rows, Error>> {
        let Self { open, frame, books, .. } = self;
        let open = open.as_mut()?;
        invocation.now_us = open.now_us;
        let mut writes = false;
        let began = Ticks::now();
        let called = call_inside(session.core(), open, frame, (invocation, &mut writes));
        let ended = Ticks::now();
        let (procedure, time) = (invocation.procedure, open.time());
        let spent = Spent { procedure, taken: began, ended, time };
        books.note_call(spent, (began, ended, ended), called.is_err());
        Some(self.settle_inside(session, called, |_| writes))
    }

    /// Runs a statement as a transaction of its own.
    pub(crate) fn alone(
        &mut self,
        core: &Core,
        interactive: &Arc<dyn Interactive>,
        (prepared, values, now_us): (&Prepared, &[Value], i64),
        session: &Session,
    ) -> Result<Rows, Error> {
        let mut transaction = begin_soon(interactive, &self.interrupt).or_else(|error| {
            core.refuse_closed()?;
            Err(Error::from(error))
        })?;
        let mut repetitions = 0;
        loop {
            let mut durable_in = 0;
            let (frame, facts) = (&mut self.frame, (session, now_us));
            let rows = run_in(core, (prepared, values), facts, frame, &mut transaction);
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
                    return session.settle(reply);
                }
                Err(error) if is_conflict(&error) && repetitions < REPETITIONS_MAX => {
                    self.interrupt.check().map_err(SqlError::from)?;
                    // It waits for whoever was in its way, though in no queue.
                    let told = self.interrupt.wait_for_lock();
                    thread::sleep(FIRST_PAUSE * (1 << repetitions.min(DOUBLINGS_MAX)));
                    drop(told);
                    repetitions += 1;
                    self.books.repeated.increment();
                    transaction.begin_again();
                }
                Err(Error::Sql(error)) => {
                    core.refuse_closed()?;
                    self.books.rollbacks.increment();
                    let durable_in = transaction.seen();
                    return session.settle(Reply::seen(Err(error), durable_in));
                }
                Err(error) => return Err(error),
            }
        }
    }
}

/// What there is to be said of a transaction's end.
fn ending(open: Option<&OpenTransaction>, verb: &str) -> Option<Notice> {
    match open {
        Some(open) if open.extent() == Extent::Block => {
            let is_undone = verb == "ROLLBACK" || open.state() == TransactionState::Failed;
            (is_undone && open.has_definitions()).then(warning_stays)
        }
        _ => Some(warning_outside()),
    }
}

/// A transaction, or what stands for one, as a statement of several parts uses it.
pub(crate) trait Parts {
    /// Executes a part; none when it must be compiled again.
    fn execute(
        &mut self,
        part: Statement<'_>,
        invocation: &Invocation,
        frame: &mut Frame,
    ) -> Result<Option<()>, Error>;

    /// Begins a statement of which several parts change something.
    fn begin(&mut self) -> Result<usize, Error> {
        Ok(0)
    }

    /// It has ended: what was done since it began stays, or is taken back.
    fn end(&mut self, _began: usize, _ended: &Result<Option<Rows>, Error>) {}

    /// The part that comes is the last one, and nothing that waits for others comes behind it.
    fn is_last_part(&mut self) {}

    /// Has parts that follow see one state, which is theirs in any case where rows are locked.
    /// Whether everybody else waits until the statement ends.
    fn hold(&mut self) -> bool {
        false
    }

    /// The parts that see one state have run.
    fn let_go(&mut self) {}

    /// Something comes in between that may wait for others.
    fn let_others_go_on(&mut self) {}
}

impl Parts for OpenTransaction {
    fn execute(
        &mut self,
        part: Statement<'_>,
        invocation: &Invocation,
        frame: &mut Frame,
    ) -> Result<Option<()>, Error> {
        Self::execute(self, part, invocation, frame).map_err(Error::Sql)
    }

    fn begin(&mut self) -> Result<usize, Error> {
        Ok(self.begin_part()?)
    }

    fn end(&mut self, began: usize, ended: &Result<Option<Rows>, Error>) {
        self.end_part(began, matches!(ended, Ok(Some(_))));
    }

    fn hold(&mut self) -> bool {
        Self::hold(self)
    }

    fn let_go(&mut self) {
        Self::let_go(self);
    }

    fn let_others_go_on(&mut self) {
        Self::let_go(self);
    }
}

/// A transaction of one statement: what fails in it ends it.
impl Parts for Box<dyn InteractiveTransaction> {
    fn execute(
        &mut self,
        part: Statement<'_>,
        invocation: &Invocation,
        frame: &mut Frame,
    ) -> Result<Option<()>, Error> {
        match (**self).execute(part, invocation, frame) {
            Ok(()) => Ok(Some(())),
            Err(Failure::Outdated) => Ok(None),
            Err(Failure::Statement(error) | Failure::Ended(error)) => Err(error.into()),
        }
    }

    fn end(&mut self, _: usize, ended: &Result<Option<Rows>, Error>) {
        if let Ok(None) = ended {
            self.begin_again();
        }
    }

    fn is_last_part(&mut self) {
        (**self).hold();
    }

    /// Up to its COMMIT, which needs nothing done again then.
    fn hold(&mut self) -> bool {
        (**self).hold()
    }

    fn let_others_go_on(&mut self) {
        (**self).let_go();
    }
}

/// Runs what a statement does in a transaction.
pub(crate) fn run_in(
    core: &Core,
    (prepared, values): (&Prepared, &[Value]),
    (session, now_us): (&Session, i64),
    frame: &mut Frame,
    transaction: &mut impl Parts,
) -> Result<Rows, Error> {
    let mut invocation = Invocation { now_us, ..Invocation::default() };
    session.drawn().begin();
    run_compiled(core, prepared, |work, schema, generation| {
        session.drawn().begin_again();
        if let Work::Program(work) = work {
            bind_all(&work.procedure, values, &mut invocation.arguments)?;
            session.draw_for(&work.procedure, &mut invocation.arguments)?;
            transaction.is_last_part();
            return execute_part(transaction, (work, generation), &invocation, frame);
        }
        let values = prepared.bound(values)?;
        let began = match work {
            Work::Change(_) => Some(transaction.begin()?),
            Work::Query(work) if work.writes() => Some(transaction.begin()?),
            _ => None,
        };
        // Numbers are drawn in transactions of their own.
        let is_alone = work.reads_tables_only() && transaction.hold();
        let around = Around { core, schema, session, now_us, is_alone };
        let rows = {
            let mut execute = |part: &StatementProgram, invocation: &Invocation| {
                execute_part(transaction, (part, generation), invocation, frame)
            };
            match work {
                Work::Query(work) => query::run(work, &values, &around, &mut execute),
                Work::Change(work) => query::run(&work.rows, &values, &around, &mut execute),
                Work::Call { .. } | Work::Program(_) => Ok(None),
            }
        };
        let rows = match (work, rows) {
            (Work::Change(work), Ok(Some(rows))) => {
                if !work.apply.procedure.draws.is_empty() {
                    transaction.let_others_go_on();
                }
                query::draw(work, rows.len(), session).and_then(|drawn| {
                    transaction.hold();
                    let mut execute = |part: &StatementProgram, invocation: &Invocation| {
                        execute_part(transaction, (part, generation), invocation, frame)
                    };
                    query::apply(work, (&values, &rows, &drawn), &around, &mut execute)
                })
            }
            (_, rows) => rows,
        };
        transaction.let_go();
        if let Some(began) = began {
            transaction.end(began, &rows);
        }
        rows
    })
}

/// Executes a part of a statement; its rows. None: the schema is another one.
fn execute_part(
    transaction: &mut impl Parts,
    (part, generation): (&StatementProgram, u64),
    invocation: &Invocation,
    frame: &mut Frame,
) -> Result<Option<Rows>, Error> {
    let done = transaction.execute(part.as_of(generation), invocation, frame)?;
    Ok(done.map(|()| Rows::of_program(frame, &part.program)))
}

impl StatementProgram {
    /// As a statement of a schema.
    fn as_of(&self, generation: u64) -> Statement<'_> {
        Statement { runs: Runs::Program(&self.program), uses: &self.uses, generation }
    }
}

fn call_inside(
    core: &Core,
    open: &mut OpenTransaction,
    frame: &mut Frame,
    (invocation, writes): (&Invocation, &mut bool),
) -> Result<Rows, Error> {
    for _ in 0..COMPILATIONS_MAX {
        let generation = core.schema.generation();
        let schema = core.schema.current();
        let called: ProcedureId = invocation.procedure;
        let compiled = schema.procedure(called).ok_or_else(unknown_procedure)?;
        let uses = schema.granules.uses_of(&schema.catalog, &compiled.procedure);
        *writes = uses.iter().any(|(_, usage)| usage.is_written());
        let runs = Runs::Call(called, compiled);
        let statement = Statement { runs, uses: &uses, generation };
        if open.execute(statement, invocation, frame)?.is_some() {
            return Ok(Rows::of_program(frame, &compiled.program));
        }
    }
    Err(changing().into())
}

/// Begins a transaction, waiting a while for one to end when too many are open.
fn begin_soon(
    interactive: &Arc<dyn Interactive>,
    interrupt: &Arc<Interrupt>,
) -> Result<Box<dyn InteractiveTransaction>, SqlError> {
    let deadline = Ticks::from_now(PLACE_PATIENCE);
    loop {
        match Arc::clone(interactive).begin(interrupt) {
            Err(error) if error.sqlstate == *b"53300" && !deadline.has_passed() => {
                interrupt.check()?;
                thread::sleep(PLACE_LOOKS_EVERY);
            }
            begun => return begun,
        }
    }
}

fn is_conflict(error: &Error) -> bool {
    matches!(error.sqlstate(), Some("40001" | "40P01"))
}
