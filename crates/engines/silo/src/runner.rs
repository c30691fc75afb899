//! Runs the calls of one worker: optimistically, until one attempt is valid.
//!
//! States       running on copies -> committing -> committed; invalid: backed off -> running again;
//!              after [`ATTEMPTS_MAX`] attempts alone, at a quiet point
//! Invariants   I1 an error that a call raises counts only if what it read is valid

use hotrow_engine::back_off::BackOff;
use hotrow_engine::in_place::Scratch;
use hotrow_engine::journal::{Commit, Committer};
use hotrow_engine::schema::Schema;
use hotrow_engine::statistics::{Activity, Stopwatch};
use hotrow_engine::worker::{Call, Runner};
use hotrow_log::position::Position;
use hotrow_transaction::outcome::{Conflict, Stop};

use crate::access::Access;
use crate::commit::commit;
use crate::removals::Removals;
use crate::tid;
use crate::transaction::Transaction;

/// Attempts of a call before it runs alone: with the longest back-off some 50 ms.
const ATTEMPTS_MAX: u32 = 100;

/// One worker: its transaction's memory, its committer, its back-off.
pub struct SiloRunner {
    transaction: Transaction,
    scratch: Scratch,
    committer: Committer,
    removals: Removals,
    back_off: BackOff,
}

impl SiloRunner {
    /// The runner of worker thread `number`.
    pub fn new(number: usize, committer: Committer, removals: Removals) -> Self {
        Self {
            transaction: Transaction::default(),
            scratch: Scratch::new(committer.worker()),
            committer,
            removals,
            back_off: BackOff::new(number as u64),
        }
    }

    fn execute(
        &mut self,
        schema: &Schema,
        call: &mut Call,
        watch: &mut Stopwatch,
    ) -> Result<Commit, Stop> {
        let Self { transaction, scratch, committer, removals, .. } = self;
        transaction.begin();
        match call.run_unplanned(&mut Access::new(schema, transaction)) {
            Ok(()) => {
                watch.switch(Activity::Lock);
                commit(schema, transaction, scratch, committer, removals)
            }
            Err(stop) if transaction.is_valid(schema) => Err(stop),
            Err(Stop::Replan) => Err(Stop::Replan),
            Err(_) => Err(Stop::Conflict(Conflict::Validation)), // I1
        }
    }

    /// Whether a call cannot run beside others: it has a key, so that its outcome must be found
    /// again by running it, in an order that values do not tell; or it lost too often.
    fn is_exclusive(&self, call: &Call) -> bool {
        call.attempts >= ATTEMPTS_MAX
            || self.committer.log().is_some() && !call.invocation.key.is_empty()
    }
}

impl Runner for SiloRunner {
    fn attempt(
        &mut self,
        schema: &Schema,
        call: &mut Call,
        _: Option<&Call>,
        watch: &mut Stopwatch,
    ) -> Result<(), Stop> {
        if self.is_exclusive(call) {
            call.exclusive = true;
            return Err(Stop::Replan);
        }
        watch.switch(Activity::Execute);
        let executed = self.execute(schema, call, watch);
        call.exclusive = self.transaction.needs_quiet;
        let conflict = matches!(executed, Err(Stop::Conflict(_)));
        // After a conflict comes the back-off, which is waiting.
        watch.switch(if conflict { Activity::Wait } else { Activity::Execute });
        // A commit's position tells by itself what it has met.
        let met = match executed {
            Ok(_) => Position::default(),
            Err(_) => tid::position_of(self.transaction.newest(&self.removals)),
        };
        call.end(executed, met, &self.committer)
    }

    fn back_off(&mut self, call: &Call) {
        self.back_off.wait(call.attempts);
    }
}
