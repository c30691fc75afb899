//! Parts of a block that is run statement by statement, in the session's open transaction.

use hotrow_base::thread;
use hotrow_base::value::Value;
use hotrow_engine::schema::Schema;
use hotrow_transaction::invocation::Invocation;
use hotrow_transaction::outcome::SqlError;
use hotrow_transaction::program::Place;

use crate::context::Context;
use crate::error::Error;
use crate::parts::run_work;
use crate::rows::Rows;
use crate::session_transaction::{DOUBLINGS_MAX, FIRST_PAUSE, SessionTransaction};
use crate::settings::TransactionStep;
use crate::transaction::{Extent, OpenTransaction};
use crate::work::Work;

/// What savepoints of blocks are called, which no client sees: the youngest one is meant.
const OF_BLOCK: &str = "?block";

impl SessionTransaction {
    /// Whether the transaction that is open began with BEGIN.
    pub(crate) fn is_block(&self) -> bool {
        self.open.as_ref().is_some_and(|open| open.extent() == Extent::Block)
    }

    /// Runs a step of a block in the open transaction. Its end is told nobody: it is a part of
    /// what the block does. None: it was compiled for another schema.
    pub(crate) fn step(
        &mut self,
        context: &Context,
        compiled: (&Work, &Schema, u64),
        values: &[Value],
    ) -> Result<Option<Rows>, Error> {
        let taken = self.take_up(context);
        let Self { open, frame, .. } = self;
        let done = match open {
            None => Err(SqlError::new(b"25P01", "the transaction of the block has ended").into()),
            Some(open) => {
                let leaves = open.deferred.leaves();
                let mut invocation = Invocation { leaves, ..Invocation::at(open.now_us) };
                context.drawn().begin_again();
                let given = (values, || Ok(values.to_vec()));
                run_work(context, compiled, given, (&mut invocation, frame), open)
            }
        };
        self.put_down(taken);
        let rows = done?;
        self.check_deferred(context, false)?;
        Ok(rows)
    }

    /// Begins what can be taken back, in whatever transaction is open.
    pub(crate) fn protect(&mut self, context: &Context) -> Result<(), Error> {
        self.refuse_failed()?;
        let Some(open) = &mut self.open else { return Ok(()) };
        open.savepoint(OF_BLOCK.to_owned())?;
        context.step(TransactionStep::Savepoint(OF_BLOCK.to_owned()));
        Ok(())
    }

    /// Ends the youngest of these: what was done in it stays, or is taken back.
    pub(crate) fn unprotect(&mut self, context: &Context, stays: bool) -> Result<(), Error> {
        let Some(open) = &mut self.open else { return Ok(()) };
        if !stays {
            open.rollback_to(OF_BLOCK, Place::default())?;
            context.step(TransactionStep::RolledBackTo(OF_BLOCK.to_owned()));
        }
        open.release(OF_BLOCK, Place::default())?;
        context.step(TransactionStep::Released(OF_BLOCK.to_owned()));
        Ok(())
    }

    /// Tells the end of a block that has run in a transaction of BEGIN, when what it saw is
    /// durable.
    pub(crate) fn settle_block(
        &mut self,
        context: &Context,
        done: Result<(), Error>,
    ) -> Result<(), Error> {
        self.settle_inside(context, done.map(|()| Rows::default()), |_| false).map(drop)
    }

    /// The epoch in which all is durable that the open transaction has seen.
    pub(crate) fn seen(&self) -> u64 {
        self.open.as_ref().map_or(0, OpenTransaction::seen)
    }

    /// Waits a while before what met a conflict is done again.
    pub(crate) fn pause(&self, repetitions: u32) -> Result<(), SqlError> {
        self.interrupt.check()?;
        // It waits for whoever was in its way, though in no queue.
        let told = self.interrupt.wait_for_lock();
        thread::sleep(FIRST_PAUSE * (1 << repetitions.min(DOUBLINGS_MAX)));
        drop(told);
        self.books.repeated.increment();
        Ok(())
    }
}
