//! Planned ordered acquisition: all locks first, in one global order, then execution.
//!
//! Role         the runner behind `acquisition=ordered` ("deadlock free locking" of the papers)
//! States       planned -> all locks held -> executed -> released; a wrong guess of
//!              reconnaissance: undone -> released -> planned again
//! Invariants   I1 locks are acquired in ascending order of their identity, each once, in the
//!              strongest mode the footprint asks for: no cycle of waiting can close, and no
//!              request is ever converted or refused
//!              I2 nothing is read or written before all locks are held
//! Source       orthrus.txt 3.2 and 4. We differ: the papers sort by table and key; any order will
//!              do that all transactions share, and identities sort without looking at keys.
//!              Taking the hottest locks last (DESIGN section 1) needs heat, which nobody measures
//!              yet

use std::sync::Arc;

use hotrow_engine::in_place::{InPlace, Scratch};
use hotrow_engine::journal::{Commit, Committer};
use hotrow_engine::protection::Planned;
use hotrow_engine::schema::Schema;
use hotrow_engine::statistics::{Activity, Stopwatch};
use hotrow_engine::worker::{Call, Runner};
use hotrow_transaction::granule::LockRequest;
use hotrow_transaction::interpret;
use hotrow_transaction::outcome::Stop;
use hotrow_transaction::plan::Footprint;

use crate::lock_table::{Acquired, LockTable, Owner, Standing};

/// Runs the calls of one worker; see the module.
pub struct OrderedRunner {
    table: Arc<LockTable>,
    owner: Owner,
    scratch: Scratch,
    committer: Committer,
    /// the footprint in the order of acquisition
    locks: Vec<LockRequest>,
}

impl OrderedRunner {
    /// The runner of worker thread `number`.
    pub fn new(table: Arc<LockTable>, number: usize, committer: Committer) -> Self {
        let owner = table.owner(number, Standing::Planned);
        let scratch = Scratch::new(committer.worker());
        Self { table, owner, scratch, committer, locks: Vec::new() }
    }

    fn acquire_all(&mut self, footprint: &Footprint, watch: &mut Stopwatch) {
        footprint.requests(&mut self.locks);
        self.owner.begin();
        for request in &self.locks {
            let (lock, mode) = (request.lock(), request.mode());
            match self.table.acquire(&mut self.owner, lock, mode.into()) {
                Acquired::Granted => {}
                Acquired::Waiting => {
                    watch.switch(Activity::Wait);
                    let granted = self.table.wait(&mut self.owner, lock);
                    watch.switch(Activity::Lock);
                    debug_assert!(granted.is_ok(), "nobody refuses an ordered request (I1)");
                }
                Acquired::Refused(_) => unreachable!("planned owners are not refused"),
            }
        }
    }

    fn release_all(&mut self) {
        for request in &self.locks {
            self.table.release(&mut self.owner, request.lock());
        }
    }

    /// Runs the call under the locks of its footprint.
    fn execute(&mut self, schema: &Schema, call: &mut Call) -> Result<Commit, Stop> {
        let Call { invocation, procedure, frame, plan, hints, .. } = call;
        let procedure = procedure.as_deref().expect("only procedures that exist are run");
        frame.begin(&procedure.program, invocation);
        let protection = Planned(plan.footprint());
        let mut access = InPlace::new(schema, &mut self.scratch, protection).with_hints(hints);
        let ran = interpret::run(&procedure.program, 0, frame, &mut access, &mut plan.keys());
        let met = self.owner.met();
        match ran.and_then(|()| access.commit_at(&self.committer, met, invocation)) {
            Ok(commit) => {
                access.commit();
                Ok(commit)
            }
            Err(stop) => {
                access.undo();
                Err(stop)
            }
        }
    }
}

impl Runner for OrderedRunner {
    fn prepare(&mut self, schema: &Schema, call: &mut Call) {
        // A plan that could not be made covers too little, and the attempt makes another one.
        if call.make_plan(schema, &mut self.scratch).is_ok() {
            call.prefetch_indexes(schema);
        }
    }

    fn resolve(&mut self, schema: &Schema, call: &mut Call) {
        call.resolve_hints(schema);
    }

    fn attempt(
        &mut self,
        schema: &Schema,
        call: &mut Call,
        watch: &mut Stopwatch,
    ) -> Result<(), Stop> {
        if call.attempts > 0 {
            watch.switch(Activity::Plan);
            call.make_plan(schema, &mut self.scratch)?;
            call.resolve_hints(schema);
        }
        watch.switch(Activity::Lock);
        self.acquire_all(call.plan.footprint(), watch);
        watch.switch(Activity::Execute);
        let executed = self.execute(schema, call);
        watch.switch(Activity::Lock);
        if let Ok(commit) = &executed {
            self.owner.commit_at(commit.position());
        }
        self.release_all();
        watch.switch(Activity::Execute);
        call.end(executed, self.owner.met(), &self.committer)
    }
}
