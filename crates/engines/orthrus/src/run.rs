//! Running a transaction that holds all it needs: on whichever thread has it.
//!
//! Invariants   I1 whoever runs a transaction has buffers, a worker number and a way to the journal
//!              of its own; the execution thread that the transaction belongs to is inside the gate
//!              meanwhile
//!              I2 hints are used only if no record can have been given to another key since the
//!              call was planned: while the epoch is the one that planning was pinned in

use hotrow_base::ids::WorkerId;
use hotrow_engine::in_place::{InPlace, Scratch};
use hotrow_engine::journal::{Commit, Committer};
use hotrow_engine::protection::Planned;
use hotrow_engine::schema::Schema;
use hotrow_engine::worker::Call;
use hotrow_log::position::Position;
use hotrow_transaction::interpret;
use hotrow_transaction::outcome::Stop;

use crate::request::Transaction;

/// See the module.
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
        let Call { invocation, procedure, frame, plan, hints, .. } = &mut transaction.call;
        let procedure = procedure.as_deref().expect("only procedures that exist are run");
        let program = &procedure.program;
        let pin = schema.memory.epochs().pin(self.committer.worker());
        if pin.epoch() != transaction.planned_in {
            hints.clear(); // I2
        }
        frame.begin(program, invocation);
        let access = InPlace::new(schema, &mut self.scratch, Planned(plan.footprint()));
        let mut access = access.with_hints(hints);
        let ran = interpret::run(program, 0, frame, &mut access, &mut plan.keys());
        let executed = ran.and_then(|()| access.commit_at(&self.committer, met, invocation));
        match executed {
            Ok(_) => access.commit(),
            Err(_) => access.undo(),
        }
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
