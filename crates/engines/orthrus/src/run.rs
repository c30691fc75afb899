//! Running a transaction that holds all it needs: on whichever thread has it.
//!
//! Invariants   I1 whoever runs a transaction has buffers, a worker number and a way to the journal
//!              of its own; the execution thread that the transaction belongs to is inside the gate
//!              meanwhile
//!              I2 that thread's epoch pin has lasted since the call was planned, so hints are good

use hotrow_base::ids::WorkerId;
use hotrow_engine::in_place::Scratch;
use hotrow_engine::journal::{Commit, Committer};
use hotrow_engine::schema::Schema;
use hotrow_log::position::Position;
use hotrow_transaction::outcome::Stop;

use crate::request::Transaction;

/// A thread's scratch memory, and its way to the journal.
pub struct Runner {
    /// of the thread
    pub scratch: Scratch,
    /// its way to the journal
    pub committer: Committer,
}

/// A transaction that has been run, and whose locks are still held.
#[must_use = "its locks are to be released and its end to be recorded"]
pub struct Ran {
    executed: Result<Commit, Stop>,
}

impl Runner {
    /// A runner with this way to the journal.
    pub fn new(committer: Committer) -> Self {
        Self { scratch: Scratch::new(committer.worker()), committer }
    }

    /// The worker that it is.
    pub fn worker(&self) -> WorkerId {
        self.committer.worker()
    }

    /// Runs a transaction to its commit, or undoes it.
    pub fn run(&mut self, schema: &Schema, transaction: &mut Transaction) -> Ran {
        let met = transaction.request.met;
        let call = &mut transaction.call;
        let _pin = schema.memory.epochs().pin(self.committer.worker());
        let executed = call.run_planned(schema, &mut self.scratch, &self.committer, met);
        Ran { executed }
    }

    /// Records the end of a transaction whose locks are free.
    pub fn end(&self, ran: Ran, transaction: &mut Transaction) -> Result<(), Stop> {
        transaction.call.end(ran.executed, transaction.request.met, &self.committer)
    }
}

impl Ran {
    /// Where the transaction stands; the beginning of all if it was undone.
    pub fn position(&self) -> Position {
        self.executed.as_ref().map_or_else(|_| Position::default(), Commit::position)
    }
}
