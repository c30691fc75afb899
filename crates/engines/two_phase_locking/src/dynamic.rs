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
use hotrow_engine::lock_mode::Mode;
use hotrow_engine::protection::Protection;
use hotrow_engine::schema::Schema;
use hotrow_engine::statistics::{Activity, Stopwatch};
use hotrow_engine::worker::{Call, Runner};
use hotrow_log::position::Position;
use hotrow_transaction::granule::{LockMode, Space};
use hotrow_transaction::interpret::{self, NoHook};
use hotrow_transaction::outcome::Stop;

use crate::back_off::BackOff;
use crate::held::Held;
use crate::key_range::{LockKeys, Ranges};
use crate::lock_table::{Acquired, LockTable, Owner, Standing};

/// What a transaction holds, and how it gets more.
pub(crate) struct Locking {
    pub(crate) table: Arc<LockTable>,
    pub(crate) owner: Owner,
    pub(crate) held: Held,
}

impl Locking {
    /// Nothing yet, for owner `number` of the table.
    pub(crate) fn new(table: Arc<LockTable>, number: usize) -> Self {
        let owner = table.owner(number, Standing::Dynamic);
        Self { table, owner, held: Held::default() }
    }

    /// Begins a transaction, or another attempt of one; see [`LockTable::begin`].
    pub(crate) fn begin(&mut self, age: u64) {
        self.table.begin(&mut self.owner, age);
    }

    /// See [`Owner::met`].
    pub(crate) fn met(&self) -> Position {
        self.owner.met()
    }

    pub(crate) fn holds_any(&self) -> bool {
        !self.held.is_empty()
    }

    /// Whether somebody waits for what is held, or may be coming back for it again and again.
    pub(crate) fn is_awaited(&self) -> bool {
        let refuses = self.table.refuses();
        self.held.locks().any(|lock| refuses || self.table.is_awaited(lock))
    }

    /// Whether somebody older wants what is held, and the policy gives it to him.
    pub(crate) fn is_doomed(&self) -> bool {
        self.table.is_doomed(&self.owner)
    }

    /// Releases everything, as a transaction that stands at `position`.
    pub(crate) fn release_at(&mut self, position: Position) {
        self.owner.commit_at(position);
        self.release_all();
    }

    pub(crate) fn hold(
        &mut self,
        lock: u64,
        mode: Mode,
        watch: &mut Stopwatch,
    ) -> Result<(), Stop> {
        if self.held.covers(lock, mode) {
            return Ok(());
        }
        self.acquire(lock, mode, watch)?;
        self.held.join(lock, mode);
        Ok(())
    }

    /// Acquires a lock that the caller releases.
    pub(crate) fn acquire(
        &mut self,
        lock: u64,
        mode: Mode,
        watch: &mut Stopwatch,
    ) -> Result<(), Stop> {
        match self.table.acquire(&mut self.owner, lock, mode) {
            Acquired::Granted => Ok(()),
            Acquired::Waiting => {
                let before = watch.switch(Activity::Wait);
                let waited = self.table.wait(&mut self.owner, lock);
                watch.switch(before);
                waited.map_err(Stop::Conflict)
            }
            Acquired::Refused(conflict) => Err(Stop::Conflict(conflict)),
        }
    }

    pub(crate) fn release_all(&mut self) {
        for lock in self.held.locks() {
            self.table.release(&mut self.owner, lock);
        }
        self.held.clear();
    }
}

/// Protection that locks granules at each access; `ALL`: in every table.
pub(crate) struct LockNow<'a, const ALL: bool> {
    pub(crate) locking: &'a mut Locking,
    pub(crate) watch: &'a mut Stopwatch,
}

impl<const ALL: bool> Protection for LockNow<'_, ALL> {
    const ACTIVE: bool = true;
    const ALWAYS: bool = ALL;

    #[inline]
    fn hold(&mut self, lock: u64, _: Space, mode: LockMode) -> Result<(), Stop> {
        self.locking.hold(lock, mode.into(), self.watch)
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
    ranges: Ranges,
}

impl DynamicRunner {
    /// The runner of worker thread `number`. `started` is the same for all workers.
    pub fn new(
        table: Arc<LockTable>,
        ranges: Ranges,
        started: Ticks,
        number: usize,
        committer: Committer,
    ) -> Self {
        Self {
            locking: Locking::new(table, number),
            scratch: Scratch::new(committer.worker()),
            committer,
            back_off: BackOff::new(number as u64),
            started,
            age: 1,
            ranges,
        }
    }

    fn execute(
        &mut self,
        schema: &Schema,
        call: &mut Call,
        watch: &mut Stopwatch,
    ) -> Result<Commit, Stop> {
        let Self { locking, scratch, committer, .. } = self;
        locking.begin(self.age);
        match self.ranges {
            Ranges::Granules => {
                let access = InPlace::new(schema, scratch, LockNow::<false> { locking, watch });
                run(committer, access, call, |protection| protection.locking.met())
            }
            ranges => {
                let protection = LockKeys::<false, false>::new(locking, watch, ranges);
                let access = InPlace::new(schema, scratch, protection);
                run(committer, access, call, LockKeys::met)
            }
        }
    }
}

/// Runs a call to its commit or undoes it; `met`: whom it has met.
fn run<P: Protection>(
    committer: &Committer,
    mut access: InPlace<'_, P>,
    call: &mut Call,
    met: impl FnOnce(&P) -> Position,
) -> Result<Commit, Stop> {
    let Call { invocation, procedure, frame, .. } = call;
    let procedure = procedure.as_deref().expect("only procedures that exist are run");
    frame.begin(&procedure.program, invocation);
    let ran = interpret::run(&procedure.program, 0, frame, &mut access, &mut NoHook);
    let met = met(access.protection());
    match ran.and_then(|()| access.commit_at(committer, met, invocation)) {
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
