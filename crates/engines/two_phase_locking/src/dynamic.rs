//! Dynamic acquisition: each access locks what it touches, under a deadlock policy.
//!
//! Role         the runner behind every `acquisition` but `ordered`; needs no plan
//! States       running, holding what it touched so far -> committed -> released, or kept in the
//!              worker's flush pipeline ([`crate::pipeline`]); refused a lock: undone -> released
//!              -> backed off -> running again
//! Invariants   I1 strict: all locks are held until the changes are final or undone
//!              I2 a transaction keeps the age of its first attempt, so that under wait-die it is
//!              the oldest some day, and the oldest is never refused
//! Source       orthrus.txt 4 (wait-die with a processor's time stamp)
//!
//! Time spent in acquiring without waiting counts as execution, unless `timing=locks`: reading the
//! clock twice for each lock costs about as much as the lock. Waiting and releasing are told apart.

use std::sync::Arc;

use hotrow_base::clock::Ticks;
use hotrow_base::ids::{IndexId, TableId};
use hotrow_engine::back_off::BackOff;
use hotrow_engine::in_place::{InPlace, Scratch};
use hotrow_engine::journal::{Commit, Committer};
use hotrow_engine::lock_mode::{Mode, Strength};
use hotrow_engine::protection::Protection;
use hotrow_engine::schema::{Schema, SharedSchema};
use hotrow_engine::source::Bell;
use hotrow_engine::statistics::{Activity, LockKind, LockTiming, Stopwatch};
use hotrow_engine::waits::Party;
use hotrow_engine::worker::{Call, Runner};
use hotrow_log::position::Position;
use hotrow_transaction::granule::{LockMode, Space};
use hotrow_transaction::outcome::{Conflict, Stop};

use crate::foresight::{Foresight, Notes};
use crate::held::Held;
use crate::intents::{Coarse, Private, TableLocks};
use crate::key_range::{LockKeys, Ranges};
use crate::lock_table::{Acquired, LockTable, Owner, Standing};
use crate::options::{Locks, Settings};
use crate::pipeline::Pipeline;

/// What a transaction holds, and how it gets more.
pub(crate) struct Locking {
    pub(crate) table: Arc<LockTable>,
    pub(crate) tables: Arc<TableLocks>,
    pub(crate) coarse: Private,
    pub(crate) owner: Owner,
    pub(crate) held: Held,
    /// locks that were held when the transaction began, by a flush pipeline
    kept: usize,
    /// and those on tables
    kept_coarse: usize,
    /// what is not free is refused, in place of waiting for it
    pub(crate) hurries: bool,
    /// what may become of keys that are read; for sessions that lock keys
    pub(crate) foresight: Option<Foresees>,
}

/// A session's view of what becomes of keys that are read.
pub(crate) struct Foresees {
    pub(crate) known: Arc<Foresight>,
    /// more statements follow, which may change what was read
    pub(crate) is_awake: bool,
    /// it is the transaction's turn to tell what it does
    pub(crate) tells: bool,
    pub(crate) notes: Notes,
}

impl Foresees {
    /// How strongly a key of which nothing but itself is asked for is to be held; `held`: already.
    pub(crate) fn strength(
        &mut self,
        index: IndexId,
        key: Strength,
        held: Option<Mode>,
    ) -> Strength {
        let held = held.map(|mode| mode.parts().key);
        match (key, held) {
            (Strength::Shared, None) if self.is_awake => {
                let expects_change = self.known.expects_change(index);
                if self.tells || !expects_change {
                    self.notes.read(index);
                }
                if expects_change { Strength::Update } else { key }
            }
            (Strength::Exclusive, Some(Strength::Shared | Strength::Update)) if self.is_awake => {
                self.notes.change(index);
                key
            }
            _ => key,
        }
    }
}

impl Locking {
    /// Nothing yet, for owner `number` of the lock table.
    pub(crate) fn new(tables: Arc<TableLocks>, number: usize) -> Self {
        let table = Arc::clone(tables.finer());
        let owner = table.owner(number, Standing::Dynamic);
        let (coarse, held) = (Private::default(), Held::default());
        let (kept, kept_coarse, hurries, foresight) = (0, 0, false, None);
        Self { table, tables, coarse, owner, held, kept, kept_coarse, hurries, foresight }
    }

    /// Begins a transaction, or another attempt of one; see [`LockTable::begin`].
    pub(crate) fn begin(&mut self, age: u64, party: Party) {
        if self.held.is_empty() && self.coarse.is_free() {
            self.table.renew(&mut self.owner);
        }
        self.table.begin(&mut self.owner, age);
        self.table.set_party(&self.owner, party);
        self.kept = self.held.len();
        self.kept_coarse = self.coarse.len();
    }

    /// Counts the locks that the transaction has come to (dora.txt 5.3).
    fn count_locks(&self, watch: &mut Stopwatch) {
        watch.note_locks(LockKind::Row, self.held.len() - self.kept);
        watch.note_locks(LockKind::HigherLevel, self.coarse.len() - self.kept_coarse);
    }

    /// See [`Owner::met`].
    pub(crate) fn met(&self) -> Position {
        self.owner.met()
    }

    pub(crate) fn holds_any(&self) -> bool {
        !self.held.is_empty() || !self.coarse.is_empty()
    }

    /// Whether somebody waits for what is held, or may be coming back for it again and again.
    pub(crate) fn is_awaited(&self) -> bool {
        self.holds_any() && self.table.refuses() || self.has_waiters()
    }

    /// Whether somebody waits for what is held, or outside for something that may be it.
    pub(crate) fn has_waiters(&self) -> bool {
        self.holds_any() && self.table.any_nowhere()
            || self.tables.is_awaited(&self.coarse)
            || self.table.awaited().any(|lock| self.held.mode(lock).is_some())
    }

    /// Whether somebody older wants what is held, and the policy gives it to him.
    pub(crate) fn is_doomed(&self) -> bool {
        self.table.is_doomed(&self.owner)
    }

    /// Releases everything, as a transaction that stands at `position`, and keeps nothing for a
    /// next one, which may be long in coming.
    pub(crate) fn release_at(&mut self, position: Position) {
        self.owner.commit_at(position);
        self.release_all();
        self.tables.release_inherited(&mut self.owner, &mut self.coarse);
        if self.table.any_nowhere() {
            self.table.call_outside();
        }
    }

    pub(crate) fn hold(
        &mut self,
        lock: u64,
        mode: Mode,
        watch: &mut Stopwatch,
    ) -> Result<(), Stop> {
        let before = watch.begin_lock();
        let mut held = Ok(());
        if !self.held.covers(lock, mode) {
            held = self.acquire(lock, mode, watch);
            if held.is_ok() {
                self.held.join(lock, mode);
            }
        }
        watch.end_lock(before);
        held
    }

    /// Holds a table as a whole, or announces finer locks in it.
    pub(crate) fn hold_table(
        &mut self,
        table: TableId,
        mode: Mode,
        watch: &mut Stopwatch,
    ) -> Result<(), Stop> {
        let before = watch.begin_lock();
        let held = self.acquire_table(table, mode, watch);
        watch.end_lock(before);
        held
    }

    fn acquire_table(
        &mut self,
        table: TableId,
        mode: Mode,
        watch: &mut Stopwatch,
    ) -> Result<(), Stop> {
        let Self { table: finer, tables, coarse, owner, held, .. } = self;
        let on = Coarse::Table(table);
        if tables.try_acquire(owner, coarse, on, mode) {
            return Ok(());
        }
        if self.hurries {
            return Err(Stop::Conflict(Conflict::Busy));
        }
        if tables.must_park(owner, coarse, on, mode) {
            return Err(Stop::Conflict(Conflict::Parked));
        }
        let before = watch.begin_wait();
        let prevails = |owner: &Owner| {
            !finer.is_doomed(owner) && held.locks().all(|lock| finer.overrule(owner, lock))
        };
        let waited = tables.acquire(owner, coarse, (on, mode), prevails);
        watch.switch(before);
        waited.map_err(Stop::Conflict)
    }

    /// Holds a granule, or a table.
    #[inline]
    pub(crate) fn hold_space(
        &mut self,
        lock: u64,
        space: Space,
        mode: LockMode,
        watch: &mut Stopwatch,
    ) -> Result<(), Stop> {
        match space {
            Space::Table(table) => self.hold_table(table, mode.into(), watch),
            Space::Index(_) => self.hold(lock, mode.into(), watch),
        }
    }

    /// Acquires a lock that the caller releases.
    pub(crate) fn acquire(
        &mut self,
        lock: u64,
        mode: Mode,
        watch: &mut Stopwatch,
    ) -> Result<(), Stop> {
        let before = watch.begin_lock();
        let acquired = self.acquire_finer(lock, mode, watch);
        watch.end_lock(before);
        acquired
    }

    #[inline]
    fn acquire_finer(&mut self, lock: u64, mode: Mode, watch: &mut Stopwatch) -> Result<(), Stop> {
        if self.hurries {
            return match self.table.try_acquire(&mut self.owner, lock, mode) {
                true => Ok(()),
                false => Err(Stop::Conflict(Conflict::Busy)),
            };
        }
        match self.table.acquire(&mut self.owner, lock, mode) {
            Acquired::Granted => Ok(()),
            Acquired::Waiting => {
                let before = watch.begin_wait();
                let Self { table, tables, coarse, owner, .. } = self;
                tables.prepare_to_wait(owner, coarse);
                let waited = table.wait(owner, lock);
                watch.switch(before);
                waited.map_err(Stop::Conflict)
            }
            Acquired::Refused(conflict) => Err(Stop::Conflict(conflict)),
        }
    }

    /// Releases what the transaction has only read under.
    pub(crate) fn release_shared(&mut self) {
        let Self { table, owner, held, kept, .. } = self;
        held.keep(*kept, |lock, mode| {
            let keeps = mode.is_exclusive();
            if !keeps {
                table.release(owner, lock);
            }
            keeps
        });
    }

    pub(crate) fn release_all(&mut self) {
        for lock in self.held.locks() {
            self.table.release(&mut self.owner, lock);
        }
        self.held.clear();
        self.table.end(&self.owner);
        self.tables.release_all(&mut self.owner, &mut self.coarse);
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
    fn hold(&mut self, lock: u64, space: Space, mode: LockMode) -> Result<(), Stop> {
        self.locking.hold_space(lock, space, mode, self.watch)
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
    locks: Locks,
    pipeline: Pipeline,
    timing: LockTiming,
}

impl DynamicRunner {
    /// The runner of worker thread `number`. `started` is the same for all workers.
    pub fn new(
        tables: Arc<TableLocks>,
        settings: &Settings,
        started: Ticks,
        number: usize,
        committer: Committer,
    ) -> Self {
        let Settings { ranges, release, locks, pipeline_max, timing, .. } = *settings;
        let pipeline = Pipeline::new((release, pipeline_max), tables.policy(), &committer);
        Self {
            locking: Locking::new(tables, number),
            scratch: Scratch::new(committer.worker()),
            committer,
            back_off: BackOff::new(number as u64),
            started,
            age: 1,
            ranges,
            locks,
            pipeline,
            timing,
        }
    }

    fn execute(
        &mut self,
        schema: &Schema,
        call: &mut Call,
        watch: &mut Stopwatch,
    ) -> Result<Commit, Stop> {
        let ran = match self.locks {
            Locks::Needed => self.execute_locking::<false>(schema, call, watch),
            Locks::All => self.execute_locking::<true>(schema, call, watch),
        };
        self.locking.count_locks(watch);
        ran
    }

    /// `ALL`: in every table.
    fn execute_locking<const ALL: bool>(
        &mut self,
        schema: &Schema,
        call: &mut Call,
        watch: &mut Stopwatch,
    ) -> Result<Commit, Stop> {
        let Self { locking, scratch, committer, .. } = self;
        locking.begin(self.age, Party::Procedure(call.invocation.procedure));
        self.pipeline.follow(locking);
        match self.ranges {
            Ranges::Granules => {
                let access = InPlace::new(schema, scratch, LockNow::<ALL> { locking, watch });
                run(committer, access, call, |protection| protection.locking.met())
            }
            ranges => {
                let protection = LockKeys::<ALL, false>::new(locking, watch, ranges);
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
    let ran = call.run_unplanned(&mut access);
    let met = met(access.protection());
    match ran.and_then(|()| access.commit_at(committer, met, &call.invocation)) {
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

/// A worker that ends leaves nothing behind that others would wait for.
impl Drop for DynamicRunner {
    fn drop(&mut self) {
        let Self { pipeline, locking, .. } = self;
        pipeline.flush(locking);
        locking.tables.release_inherited(&mut locking.owner, &mut locking.coarse);
    }
}

impl Runner for DynamicRunner {
    fn lock_timing(&self) -> LockTiming {
        self.timing
    }

    fn attempt(
        &mut self,
        schema: &Schema,
        call: &mut Call,
        _: Option<&Call>,
        watch: &mut Stopwatch,
    ) -> Result<(), Stop> {
        self.pipeline.settle(&mut self.locking);
        if let Some(resumed) = call.resumed.take() {
            self.age = resumed.first_parked().nanos_since(self.started) + 1; // I2
            let Locking { tables, owner, .. } = &mut self.locking;
            if let Some(lock) = resumed.lock {
                tables.come_in(owner, lock, Some(resumed.since));
            }
            watch.switch(Activity::Execute);
        } else if call.attempts == 0 {
            let age = Ticks::now().nanos_since(self.started) + 1;
            self.age = self.pipeline.age(age);
        } else {
            watch.switch(Activity::Execute);
        }
        let executed = self.execute(schema, call, watch);
        watch.switch(Activity::Lock);
        let conflict = matches!(executed, Err(Stop::Conflict(_)));
        match &executed {
            Ok(commit) => self.pipeline.commit(commit, self.age, &mut self.locking),
            Err(_) => self.pipeline.undone(conflict, &mut self.locking),
        }
        // After a conflict comes the back-off, which is waiting.
        watch.switch(if conflict { Activity::Wait } else { Activity::Execute });
        let is_read_only = executed.as_ref().is_ok_and(Commit::is_read_only);
        let ended = call.end(executed, self.locking.owner.met(), &self.committer);
        if is_read_only && !self.pipeline.is_safe() {
            call.durable_in = 0;
        }
        ended
    }

    fn between_turns(&mut self, _: &SharedSchema) {
        let Self { pipeline, locking, .. } = self;
        pipeline.settle(locking);
        locking.tables.release_unused(&mut locking.owner, &mut locking.coarse);
    }

    fn let_go(&mut self) {
        let Self { pipeline, locking, .. } = self;
        pipeline.settle(locking);
        locking.tables.release_inherited(&mut locking.owner, &mut locking.coarse);
    }

    fn set_bell(&mut self, bell: Arc<dyn Bell>) {
        self.locking.table.let_park(&mut self.locking.owner, bell);
    }

    fn parked_at(&self) -> u64 {
        self.locking.table.met_outside(&self.locking.owner)
    }

    fn is_due(&mut self, lock: u64) -> bool {
        self.locking.tables.is_due(&self.locking.owner, lock)
    }

    fn leave_line(&mut self, lock: u64) {
        let Locking { tables, owner, .. } = &mut self.locking;
        tables.leave_outside(owner, lock);
    }

    fn back_off(&mut self, call: &Call) {
        let Locking { tables, coarse, owner, .. } = &mut self.locking;
        tables.release_inherited(owner, coarse); // nobody looks meanwhile who waits for it
        self.back_off.wait(call.attempts);
    }
}

#[cfg(test)]
mod tests;
