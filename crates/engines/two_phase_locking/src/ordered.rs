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

use hotrow_base::ids::WorkerId;
use hotrow_engine::in_place::{InPlace, Scratch};
use hotrow_engine::protection::Planned;
use hotrow_engine::schema::Schema;
use hotrow_engine::statistics::{Activity, Stopwatch};
use hotrow_engine::trace::SerialTrace;
use hotrow_engine::worker::{Call, Runner};
use hotrow_transaction::granule::LockRequest;
use hotrow_transaction::interpret;
use hotrow_transaction::outcome::Stop;
use hotrow_transaction::plan::Footprint;

use crate::lock_table::{Acquired, LockTable, Owner};
use crate::policy::Policy;

/// Runs the calls of one worker; see the module.
pub struct OrderedRunner {
    table: Arc<LockTable>,
    owner: Owner,
    scratch: Scratch,
    trace: Option<Arc<SerialTrace>>,
    /// the footprint in the order of acquisition
    locks: Vec<LockRequest>,
}

impl OrderedRunner {
    /// The runner of worker thread `number`.
    pub fn new(
        table: Arc<LockTable>,
        number: usize,
        worker: WorkerId,
        trace: Option<Arc<SerialTrace>>,
    ) -> Self {
        let owner = table.owner(number);
        Self { table, owner, scratch: Scratch::new(worker), trace, locks: Vec::new() }
    }

    fn acquire_all(&mut self, footprint: &Footprint, watch: &mut Stopwatch) {
        footprint.requests(&mut self.locks);
        for request in &self.locks {
            let (lock, mode) = (request.lock(), request.mode());
            match self.table.acquire(&mut self.owner, lock, mode, Policy::Wait) {
                Acquired::Granted => {}
                Acquired::Waiting => {
                    watch.switch(Activity::Wait);
                    let granted = self.table.wait(&self.owner);
                    watch.switch(Activity::Lock);
                    debug_assert!(granted.is_ok(), "nobody refuses an ordered request (I1)");
                }
                Acquired::Refused(_) => unreachable!("`Policy::Wait` refuses nothing"),
            }
        }
    }

    fn release_all(&mut self) {
        for request in &self.locks {
            self.table.release(&mut self.owner, request.lock());
        }
    }

    /// Runs the call under the locks of its footprint; its position in the serial order where
    /// that is traced.
    fn execute(&mut self, schema: &Schema, call: &mut Call) -> Result<Option<u64>, Stop> {
        let Call { invocation, procedure, frame, plan, hints, .. } = call;
        let procedure = procedure.as_deref().expect("only procedures that exist are run");
        frame.begin(&procedure.program, invocation);
        let protection = Planned(plan.footprint());
        let mut access = InPlace::new(schema, &mut self.scratch, protection).with_hints(hints);
        match interpret::run(&procedure.program, 0, frame, &mut access, &mut plan.keys()) {
            Ok(()) => {
                let position = self.trace.as_ref().map(|trace| trace.position());
                access.commit();
                Ok(position)
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
        self.release_all();
        watch.switch(Activity::Execute);
        let position = executed?;
        if let (Some(trace), Some(position)) = (&self.trace, position) {
            let procedure = call.procedure.as_deref().expect("it has just been run");
            trace.record(position, &call.invocation, &procedure.program, &call.frame);
        }
        Ok(())
    }
}
