//! Reports: statements that only read, and visit whole tables. One that takes long runs on a
//! snapshot, so that it neither holds anybody up nor waits for anybody.
//!
//! Role         what statements outside transactions are tried as, under locks or at a quiet point,
//!              for a moment; and, when that is over, how they run on a [`Snapshot`] of the tables
//!              that they name
//! States       tried for `Config::report_attempt` -> waits for whoever makes an image, room and
//!              a quiet point -> tables are copied while transactions run -> runs, in nobody's
//!              way. Where there is no room, or no quiet point to be had: runs as it was tried, to
//!              its end
//! Invariants   I1 a report's rows are those of one moment between its beginning and its end: the
//!              quiet point of its last snapshot. So it is serializable, and sees what was
//!              committed before it began
//!              I2 its end is told when all it saw is durable
//! Concurrency  one session's thread

use std::sync::Arc;

use hotrow_base::clock::{self, Ticks};
use hotrow_base::interrupt::LOOK_EVERY;
use hotrow_base::value::Value;
use hotrow_engine::checkpoint::{Turn, begin_of};
use hotrow_engine::interactive::Statement;
use hotrow_engine::schema::Schema;
use hotrow_engine::snapshot::Snapshot;
use hotrow_engine::worker::error_of;
use hotrow_transaction::frame::Frame;
use hotrow_transaction::interpret::{self, NoHook};
use hotrow_transaction::invocation::Invocation;
use hotrow_transaction::outcome::SqlError;

use crate::context::Context;
use crate::error::Error;
use crate::parts::{Parts, run_in};
use crate::prepared::Prepared;
use crate::reply::Reply;
use crate::rows::Rows;
use crate::snapshots::Room;

/// Runs a report on a snapshot; none when there is none to be had.
pub(crate) fn run(
    context: &Context,
    prepared: &Prepared,
    values: &[Value],
) -> Result<Option<Rows>, Error> {
    let core = &context.core;
    let mut frame = Frame::new();
    // Its steps are nobody's concern: it is in nobody's way, and can be interrupted.
    frame.set_step_budget(u64::MAX);
    frame.set_rows_max(core.config.result_bytes_max);
    frame.set_interrupt(Some(Arc::clone(&context.interrupt)));
    let mut report = Report { context, prepared, taken: None, has_none: false };
    let now_us = clock::now_us();
    let rows = run_in(context, (prepared, values), now_us, &mut frame, &mut report);
    if report.has_none {
        return Ok(None);
    }
    let durable_in = report.taken.map_or(0, |taken| taken.durable_in);
    match rows {
        Ok(rows) => {
            context.books.commits.increment();
            context.books.snapshots.increment();
            context.settle(Reply::seen(Ok(rows), durable_in)).map(Some)
        }
        Err(Error::Sql(error)) => context.settle(Reply::seen(Err(error), durable_in)).map(Some),
        Err(error) => Err(error),
    }
}

/// A report that is being run.
struct Report<'a> {
    context: &'a Context,
    prepared: &'a Prepared,
    taken: Option<Taken<'a>>,
    /// no snapshot could be had
    has_none: bool,
}

/// A snapshot that was taken.
struct Taken<'a> {
    generation: u64,
    schema: Arc<Schema>,
    snapshot: Snapshot,
    durable_in: u64,
    _room: Room<'a>,
}

/// What came of taking one.
enum Taking<'a> {
    Done(Taken<'a>),
    /// the schema has changed
    Outdated,
    NoRoom,
}

impl<'a> Report<'a> {
    /// Copies the tables that the report reads.
    fn take(&self, generation: u64) -> Result<Taking<'a>, Error> {
        let (core, interrupt) = (&self.context.core, &self.context.interrupt);
        let tables = self.prepared.work().tables();
        let memory = Arc::clone(&core.schema.current().memory);
        let turn = loop {
            interrupt.check().map_err(SqlError::from)?;
            let turn = Turn::wait(&memory, Some(Ticks::from_now(LOOK_EVERY)));
            if let Some(turn) = turn {
                break turn;
            }
        };
        let wanted = Ticks::now();
        let Some(quiet) = core.schema.quiet_for_report() else { return Ok(Taking::NoRoom) };
        core.refuse_closed()?;
        if core.schema.generation() != generation {
            return Ok(Taking::Outdated);
        }
        let schema = quiet.schema();
        let bytes = tables.iter().map(|table| schema.table(*table).records().bytes_used()).sum();
        let room = core.snapshots.room(bytes, core.config.snapshot_bytes_max);
        let Some(room) = room else { return Ok(Taking::NoRoom) };
        let durable_in = core.cut().epoch;
        let capture = begin_of(&quiet, turn, tables);
        drop(quiet);
        let quiet = wanted.elapsed();
        let snapshot = Snapshot::of(capture, interrupt).map_err(SqlError::from)?;
        let (rows, took) = (snapshot.rows(), wanted.elapsed());
        tracing::debug!(rows, bytes, ?quiet, ?took, "a snapshot was taken");
        Ok(Taking::Done(Taken { generation, schema, snapshot, durable_in, _room: room }))
    }
}

impl Parts for Report<'_> {
    fn execute(
        &mut self,
        part: Statement<'_>,
        invocation: &Invocation,
        frame: &mut Frame,
    ) -> Result<Option<()>, Error> {
        if self.taken.as_ref().is_none_or(|taken| taken.generation != part.generation) {
            self.taken = None; // its room, before another one is taken
            match self.take(part.generation)? {
                Taking::Done(taken) => self.taken = Some(taken),
                Taking::Outdated => return Ok(None),
                Taking::NoRoom => self.has_none = true,
            }
        }
        let Some(Taken { schema, snapshot, .. }) = &mut self.taken else {
            return Err(SqlError::new(b"53200", "there is no room for a snapshot").into());
        };
        frame.begin(part.program(), invocation);
        let ended = interpret::run(part.program(), 0, frame, snapshot, &mut NoHook);
        ended.map(Some).map_err(|stop| error_of(stop, schema, frame).into())
    }
}
