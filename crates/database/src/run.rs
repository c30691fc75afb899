//! Running statements of a session: where each runs, and that it does.
//!
//! Role         [`place_for`] chooses among the [`Place`]s that suit a statement, and
//!              [`Runner::run_at`] runs it there; a place that cannot be had after all refuses, and
//!              the next one that suits is tried. In all of them but `Call`, `Kept` and `Quiet` the
//!              parts of the statement are run by [`crate::parts`]
//! Concurrency  one session's, and so one thread's

use std::borrow::Cow;
use std::cell::OnceCell;

use hotrow_base::clock;
use hotrow_base::conventions::Conventions;
use hotrow_base::ids::TableId;
use hotrow_base::value::Value;
use hotrow_engine::journal::text::TextEntry;
use hotrow_engine::schema::{Purpose, Schema};
use hotrow_sql::{Argument, Sender, with_sender};
use hotrow_transaction::catalog::is_temporary;
use hotrow_transaction::invocation::Leaves;
use hotrow_transaction::outcome::SqlError;

use crate::arguments::{Binder, IntoArguments};
use crate::calls::Calls;
use crate::context::Context;
use crate::error::{Error, changing};
use crate::kept;
use crate::prepared::Prepared;
use crate::query::{self, Around};
use crate::reply::Reply;
use crate::reports;
use crate::rows::Rows;
use crate::session_transaction::SessionTransaction;
use crate::transaction::{NEXT_NUMBER, only_reads, read_only};
use crate::work::{QueryWork, Work};

/// What statements of a session are run with.
pub(crate) struct Runner<'a> {
    pub(crate) context: &'a Context,
    pub(crate) transaction: &'a mut SessionTransaction,
    pub(crate) calls: &'a Calls,
}

/// Where a statement can run, in the order in which they are tried.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Place {
    /// where the procedure that it calls runs: in the open transaction, or in the queue
    Call,
    /// in the open transaction
    Open,
    /// nowhere: it reads no table
    Nothing,
    /// in one of the places behind `Snapshot`, for a moment: it may take long
    Attempt,
    /// on an image of the tables that it reads
    Snapshot,
    /// in the queue, as the procedure that it is kept as
    Kept,
    /// at a quiet point, by its text
    Quiet,
    /// in a transaction of its own
    Own,
}

impl Place {
    const ALL: [Self; 8] = [
        Self::Call,
        Self::Open,
        Self::Nothing,
        Self::Attempt,
        Self::Snapshot,
        Self::Kept,
        Self::Quiet,
        Self::Own,
    ];
}

/// Where a statement is to run, behind the place that has refused it.
fn place_for(
    context: &Context,
    is_open: bool,
    prepared: &Prepared,
    values: &[Value],
    refused: Option<Place>,
) -> Place {
    let core = &context.core;
    let report = OnceCell::new();
    let is_report = || *report.get_or_init(|| prepared.is_report());
    let suits = |place| match place {
        Place::Call => matches!(&*prepared.work(), Work::Call { .. }),
        Place::Open => is_open,
        Place::Nothing => prepared.reads_no_tables(),
        Place::Attempt => is_report() && !core.config.report_attempt.is_zero(),
        Place::Snapshot => is_report(),
        Place::Kept => !core.locks_as_it_goes,
        Place::Quiet => is_by_text(prepared, values) && is_for_quiet_points(context),
        Place::Own => true,
    };
    let first = refused.map_or(0, |refused| refused as usize + 1);
    let mut left = Place::ALL[first.min(Place::ALL.len())..].iter().copied();
    left.find(|place| suits(*place)).unwrap_or(Place::Own)
}

/// Whether a statement can run by its text. The log has texts of statements that run alone, and a
/// text does not tell such things.
fn is_by_text(prepared: &Prepared, values: &[Value]) -> bool {
    !prepared.has_parts()
        && !prepared.draws()
        && !values.iter().any(|value| value.elements().is_some())
}

/// Whether statements run alone: always where they do not lock what they touch, else while there
/// are no transactions of several statements to be beside of.
fn is_for_quiet_points(context: &Context) -> bool {
    let core = &context.core;
    let is_beside = || core.interactive.is_none() || core.schema.current().interactive;
    !core.locks_as_it_goes || !is_beside()
}

impl Runner<'_> {
    /// Runs a call or a statement in the session's transaction, or as one.
    pub(crate) fn run(&mut self, prepared: &Prepared, values: &[Value]) -> Result<Rows, Error> {
        prepared.refuse_without(self.context)?;
        let is_call = matches!(&*prepared.work(), Work::Call { .. });
        if !is_call {
            self.transaction.join_batch(self.context)?;
            let inside = self.transaction.is_read_only();
            let is_default = || self.context.settings().often_asked().is_read_only;
            let is_read_only = inside.unwrap_or_else(is_default);
            self.context.only_reads.set(is_read_only);
            if is_read_only {
                refuse_drawing(self.context, prepared)?;
            }
            if is_read_only && inside.is_none() && prepared.writes() {
                return Err(only_reads().into());
            }
        }
        match self.run_behind(None, prepared, values) {
            Err(Error::Sql(error)) if self.context.core.can_check_later(&error) => {
                self.run_checking(prepared, values)
            }
            done => done.map_err(Error::told),
        }
    }

    /// Runs a statement outside of transactions which has found violated what its COMMIT has to
    /// look at again.
    #[cold]
    fn run_checking(&mut self, prepared: &Prepared, values: &[Value]) -> Result<Rows, Error> {
        let (context, calls) = (self.context, self.calls);
        self.transaction.checking(context, |transaction| {
            Runner { context, transaction, calls }.run_behind(None, prepared, values)
        })
    }

    /// Runs a statement in the first place that has it, behind the one that refused it.
    fn run_behind(
        &mut self,
        mut refused: Option<Place>,
        prepared: &Prepared,
        values: &[Value],
    ) -> Result<Rows, Error> {
        loop {
            let is_open = self.transaction.is_open();
            let place = place_for(self.context, is_open, prepared, values, refused);
            if let Some(rows) = self.run_at(place, prepared, values)? {
                return Ok(rows);
            }
            refused = Some(place);
        }
    }

    /// Runs a statement in a place; none: it cannot be had.
    fn run_at(
        &mut self,
        place: Place,
        prepared: &Prepared,
        values: &[Value],
    ) -> Result<Option<Rows>, Error> {
        let context = self.context;
        let statement = (prepared, values);
        match place {
            Place::Call => self.call(prepared, values).map(Some),
            Place::Open => self.transaction.statement(context, statement).transpose(),
            Place::Nothing => {
                let rows = self.transaction.without_tables(context, statement);
                context.settle_found(rows).map(Some)
            }
            Place::Attempt => {
                let attempt = context.interrupt.attempt(context.core.config.report_attempt);
                let done = self.run_behind(Some(Place::Snapshot), prepared, values);
                if done.is_err() && attempt.is_over() { Ok(None) } else { done.map(Some) }
            }
            Place::Snapshot => reports::run(context, prepared, values),
            Place::Kept => kept::run(context, self.calls, prepared, values),
            Place::Quiet => execute_alone(context, prepared, values),
            Place::Own => self.transaction.own(context, statement).map(Some),
        }
    }

    fn call(&mut self, prepared: &Prepared, values: &[Value]) -> Result<Rows, Error> {
        let work = prepared.work();
        let Work::Call { name, arguments, label, types } = &*work else {
            return Err(SqlError::new(b"XX000", "the statement calls nothing").into());
        };
        let is_timed = arguments.iter().any(Argument::is_computed);
        let now_us = is_timed.then(|| self.transaction.now_us().unwrap_or_else(clock::now_us));
        let arguments = Given { arguments, values, now_us };
        let rows = self.calls.call(self.context, self.transaction, name, arguments)?;
        Ok(match label {
            Some(label) => rows.labelled(label, types),
            None => rows,
        })
    }
}

/// The values of arguments, where a statement's parameters have these.
pub(crate) fn given(arguments: &[Argument], values: &[Value]) -> Result<Vec<Value>, SqlError> {
    let now_us = clock::now_us();
    let given = arguments.iter().map(|argument| argument.value(values, now_us));
    given.map(|value| value.map(Cow::into_owned)).collect()
}

/// The same, for a call that only looks at them.
struct Given<'a> {
    arguments: &'a [Argument],
    values: &'a [Value],
    /// the call's time, where one of them depends on it
    now_us: Option<i64>,
}

impl IntoArguments for Given<'_> {
    fn count(&self) -> usize {
        self.arguments.len()
    }

    fn bind_each(self, binder: &mut Binder<'_>) -> Result<(), SqlError> {
        let now_us = self.now_us.unwrap_or_default();
        self.arguments.iter().try_for_each(|argument| {
            let value = argument.value(self.values, now_us)?;
            binder.value(&value)
        })
    }

    fn now_us(&self) -> Option<i64> {
        self.now_us
    }
}

/// Fails with 25006 where a statement draws numbers of sequences that outlive the session.
fn refuse_drawing(context: &Context, prepared: &Prepared) -> Result<(), SqlError> {
    let schema = context.core.schema.current();
    let is_kept = |id: TableId| !is_temporary(&schema.catalog.table(id).schema);
    match prepared.draws_numbers(is_kept) {
        true => Err(read_only(NEXT_NUMBER)),
        false => Ok(()),
    }
}

/// Executes a single statement at a quiet point; none: it is no place for one any more. The log has
/// its text, with its values in it.
fn execute_alone(
    context: &Context,
    prepared: &Prepared,
    values: &[Value],
) -> Result<Option<Rows>, Error> {
    let core = &context.core;
    core.refuse_unlogged()?;
    let whole = prepared.with_literals(values)?;
    let statement = whole.as_ref().unwrap_or(prepared);
    // Here, where nobody waits for it; at the quiet point only if another schema came meanwhile.
    statement.compile_now(&core.schema)?;
    let quiet = core.quiet_unless(Purpose::ALONE, Some(&context.interrupt))?;
    let schema = quiet.schema();
    if core.locks_as_it_goes && schema.interactive {
        return Ok(None); // somebody has begun a transaction meanwhile
    }
    if statement.compile_now(&core.schema)?.is_some() {
        return Err(changing().into());
    }
    let reply = match &*statement.work() {
        Work::Query(work) => query_alone(context, &schema, work)?,
        Work::Program(work) if work.procedure.draws.is_empty() => {
            let mut alone = core.alone.lock();
            alone.heed(Some(&context.interrupt));
            let sender = Sender { conventions: Conventions::current(), ..Sender::default() };
            let place = statement.statement().place;
            let text = &*with_sender(&statement.statement().text, sender);
            let entry = TextEntry { now_us: clock::now_us(), place, text };
            let reply = alone.statement(&schema, &work.program, &entry);
            alone.heed(None);
            reply
        }
        _ => return Err(SqlError::new(b"XX000", "a text does not tell all of a statement").into()),
    };
    drop(quiet);
    let rows = context.settle(reply)?;
    // Values in the text are written as casts, which give columns names.
    Ok(Some(match whole {
        Some(_) => rows.named(prepared.columns().map(|(name, _)| name.to_owned())),
        None => rows,
    }))
}

/// Runs a query at a quiet point: it changes nothing, and so the log need not know.
fn query_alone(context: &Context, schema: &Schema, work: &QueryWork) -> Result<Reply, Error> {
    let core = &context.core;
    let now_us = clock::now_us();
    let around = Around { core, schema, context, now_us, leaves: Leaves::Nothing, is_alone: true };
    let rows = query::run(work, &[], &around, &mut |read, invocation| {
        let mut alone = core.alone.lock();
        alone.heed(Some(&context.interrupt));
        let reply = alone.read(schema, &read.program, invocation);
        alone.heed(None);
        Ok(Some(reply.answer.map_err(Error::Sql)?))
    });
    let seen = core.alone.lock().seen();
    match rows {
        Ok(rows) => Ok(Reply::seen(Ok(rows.unwrap_or_default()), seen)),
        Err(Error::Sql(error)) => Ok(Reply::seen(Err(error), seen)),
        Err(error) => Err(error),
    }
}
