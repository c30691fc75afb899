//! Dynamic acquisition: each access locks what it touches, under a deadlock policy.
//!
//! Role         the runner behind every `acquisition` but `ordered`; needs no plan
//! States       running, holding what it touched so far -> committed -> released; refused a lock:
//!              undone -> released -> backed off -> running again
//! Invariants   I1 strict: all locks are held until the changes are final or undone
//!              I2 a transaction keeps the age of its first attempt, so that under wait-die it is
//!              the oldest some day, and the oldest is never refused
//! Source       orthrus.txt 4 (wait-die with a processor's time stamp)
//!
//! Time spent in acquiring without waiting counts as execution here: reading the clock twice per
//! lock would cost as much as the lock. Waiting and releasing are told apart.

use std::sync::Arc;

use hotrow_base::clock::Ticks;
use hotrow_engine::in_place::{InPlace, Scratch};
use hotrow_engine::journal::{Commit, Committer};
use hotrow_engine::protection::Protection;
use hotrow_engine::schema::Schema;
use hotrow_engine::statistics::{Activity, Stopwatch};
use hotrow_engine::worker::{Call, Runner};
use hotrow_transaction::granule::{LockMode, Space};
use hotrow_transaction::interpret::{self, NoHook};
use hotrow_transaction::outcome::Stop;
use hotrow_transaction::plan::Footprint;

use crate::back_off::BackOff;
use crate::lock_table::{Acquired, LockTable, Owner, Standing};

/// What a transaction holds, and how it gets more.
struct Locking {
    table: Arc<LockTable>,
    owner: Owner,
    held: Footprint,
}

impl Locking {
    fn hold(
        &mut self,
        lock: u64,
        space: Space,
        mode: LockMode,
        watch: &mut Stopwatch,
    ) -> Result<(), Stop> {
        if self.held.covers(lock, mode) {
            return Ok(());
        }
        match self.table.acquire(&mut self.owner, lock, mode.into()) {
            Acquired::Granted => {}
            Acquired::Waiting => {
                let before = watch.switch(Activity::Wait);
                let waited = self.table.wait(&mut self.owner, lock);
                watch.switch(before);
                waited.map_err(Stop::Conflict)?;
            }
            Acquired::Refused(conflict) => return Err(Stop::Conflict(conflict)),
        }
        self.held.join(lock, space, mode);
        Ok(())
    }

    fn release_all(&mut self) {
        for granule in self.held.granules() {
            self.table.release(&mut self.owner, granule.lock);
        }
        self.held.clear();
    }
}

/// Protection that locks at each access.
struct LockNow<'a> {
    locking: &'a mut Locking,
    watch: &'a mut Stopwatch,
}

impl Protection for LockNow<'_> {
    const ACTIVE: bool = true;

    #[inline]
    fn hold(&mut self, lock: u64, space: Space, mode: LockMode) -> Result<(), Stop> {
        self.locking.hold(lock, space, mode, self.watch)
    }
}

/// Runs the calls of one worker; see the module.
pub struct DynamicRunner {
    locking: Locking,
    scratch: Scratch,
    committer: Committer,
    back_off: BackOff,
    /// ages are counted from here
    started: Ticks,
    /// of the call at hand
    age: u64,
}

impl DynamicRunner {
    /// The runner of worker thread `number`. `started` is the same for all workers.
    pub fn new(table: Arc<LockTable>, started: Ticks, number: usize, committer: Committer) -> Self {
        let owner = table.owner(number, Standing::Dynamic);
        let mut held = Footprint::default();
        held.clear();
        Self {
            locking: Locking { table, owner, held },
            scratch: Scratch::new(committer.worker()),
            committer,
            back_off: BackOff::new(number as u64),
            started,
            age: 1,
        }
    }

    fn execute(
        &mut self,
        schema: &Schema,
        call: &mut Call,
        watch: &mut Stopwatch,
    ) -> Result<Commit, Stop> {
        let Call { invocation, procedure, frame, .. } = call;
        let procedure = procedure.as_deref().expect("only procedures that exist are run");
        frame.begin(&procedure.program, invocation);
        let Locking { table, owner, .. } = &mut self.locking;
        table.begin(owner, self.age);
        let protection = LockNow { locking: &mut self.locking, watch };
        let mut access = InPlace::new(schema, &mut self.scratch, protection);
        let ran = interpret::run(&procedure.program, 0, frame, &mut access, &mut NoHook);
        let met = access.protection().locking.owner.met();
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

impl Runner for DynamicRunner {
    fn attempt(
        &mut self,
        schema: &Schema,
        call: &mut Call,
        watch: &mut Stopwatch,
    ) -> Result<(), Stop> {
        if call.attempts == 0 {
            self.age = Ticks::now().nanos_since(self.started) + 1;
        } else {
            watch.switch(Activity::Execute);
        }
        let executed = self.execute(schema, call, watch);
        watch.switch(Activity::Lock);
        if let Ok(commit) = &executed {
            self.locking.owner.commit_at(commit.position());
        }
        self.locking.release_all();
        // After a conflict comes the back-off, which is waiting.
        let conflict = matches!(executed, Err(Stop::Conflict(_)));
        watch.switch(if conflict { Activity::Wait } else { Activity::Execute });
        call.end(executed, self.locking.owner.met(), &self.committer)
    }

    fn back_off(&mut self, call: &Call) {
        self.back_off.wait(call.attempts);
    }
}
