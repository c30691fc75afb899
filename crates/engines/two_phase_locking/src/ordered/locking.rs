//! The locks of one call, taken in the order that everybody shares.
//!
//! Invariants   I1 table locks come first, in the order of tables; all others are
//!              acquired in ascending order of (class, identity), each once, in the
//!              strongest mode the footprint asks for: no cycle of waiting can close, and no
//!              request is ever converted or refused. Without heat everything is of class 0
//!              I2 classes do not change while the worker is inside the gate, which it is from
//!              before the first lock to after the last
//!              I3 a hot lock may be kept from one call to the next of the same turn that needs it,
//!              which has met its predecessor then. Kept, it stands in no order: before the worker
//!              waits for a lock that comes before it, it is given back, and acquired again in its
//!              turn. So nobody waits while keeping what others may want first
//!              I4 the same of a lock that a call has waited for outside ([`LockTable::let_park`])
//!              and that it was granted ahead of its turn
//!
//! Where threads outnumber cores, handing a hot lock over means that the next owner must be woken
//! and given a core first: keeping it (I3) makes of one switch per call one per turn. Where every
//! thread has its core the next call only keeps what it can begin with at once: if it has anything
//! else to lock, that is done while others have their turn.

use std::sync::Arc;

use hotrow_base::ids::TableId;
use hotrow_engine::journal::{Commit, Committer, Effect};
use hotrow_engine::protection::{KeyLock, Protection};
use hotrow_engine::schema::SharedSchema;
use hotrow_engine::source::Bell;
use hotrow_engine::statistics::Stopwatch;
use hotrow_engine::waits::Party;
use hotrow_engine::worker::Resumed;
use hotrow_log::position::Position;
use hotrow_transaction::granule::{LockMode, LockRequest, Space};
use hotrow_transaction::outcome::Stop;
use hotrow_transaction::plan::{Footprint, Granule, NO_ENTRY};

use crate::heat::{Class, Copied, Heat};
use crate::intents::{Coarse, Private, TableLocks};
use crate::key_range::{BesideKeys, Ranges, may_unite};
use crate::lock_table::{Acquired, LockTable, Owner, Standing};

use super::last_use::LastUse;

/// A hot lock of the footprint.
struct Hot {
    class: Class,
    request: LockRequest,
    /// the plan's first entry that needs it, or [`NO_ENTRY`]
    first: u32,
    /// its place in the footprint
    granule: u32,
    /// it is held since an earlier call (I3)
    kept: bool,
}

/// What a worker holds and is going to hold.
pub(super) struct Locking {
    table: Arc<LockTable>,
    tables: Arc<TableLocks>,
    pub(super) owner: Owner,
    /// table locks that are held
    coarse: Private,
    /// and those of the footprint, in the order of acquisition
    coarse_wanted: Vec<(TableId, LockMode)>,
    worker: usize,
    heat: Option<Arc<Heat>>,
    /// calls that heat has not heard of
    calls: u32,
    copied: Copied,
    /// cold locks of the footprint, in the order of acquisition; how many of them are held
    cold: Vec<LockRequest>,
    cold_held: usize,
    /// the hot ones behind them, and how many of those are held
    hot: Vec<Hot>,
    hot_held: usize,
    /// locks kept for the next call; the position of the last one that changed what they cover
    kept: Vec<LockRequest>,
    kept_at: Position,
    /// whether threads outnumber cores
    is_crowded: bool,
    /// the first entry that needs a hot lock that is not held, or [`NO_ENTRY`]
    next: u32,
    /// by place in the footprint: 0 for a cold lock, else one more than its place in `hot`. Only
    /// where there are hot ones
    ranks: Vec<u32>,
    last_use: Option<LastUse>,
    /// what dynamic transactions lock
    ranges: Ranges,
    /// while some of them lock keys
    beside: Option<BesideKeys>,
    /// held ahead of its turn, or not of the footprint at all (I4)
    ahead: Option<u64>,
}

impl Locking {
    pub(super) fn new(
        tables: Arc<TableLocks>,
        worker: usize,
        heat: Option<Arc<Heat>>,
        releases_at_last_use: bool,
        ranges: Ranges,
    ) -> Self {
        let table = Arc::clone(tables.finer());
        Self {
            ranges,
            beside: None,
            ahead: None,
            last_use: releases_at_last_use.then(LastUse::default),
            owner: table.owner(worker, Standing::Planned),
            is_crowded: table.is_crowded(),
            table,
            tables,
            coarse: Private::default(),
            coarse_wanted: Vec::new(),
            worker,
            heat,
            calls: 0,
            copied: Copied::default(),
            cold: Vec::new(),
            cold_held: 0,
            hot: Vec::new(),
            hot_held: 0,
            kept: Vec::new(),
            kept_at: Position::default(),
            next: NO_ENTRY,
            ranks: Vec::new(),
        }
    }

    /// From now on calls that meet sessions wait outside; `bell` calls this thread.
    pub(super) fn let_park(&mut self, bell: Arc<dyn Bell>) {
        self.table.let_park(&mut self.owner, bell);
    }

    /// See [`hotrow_engine::worker::Runner::parked_at`].
    pub(super) fn parked_at(&self) -> u64 {
        self.table.met_outside(&self.owner)
    }

    /// See [`hotrow_engine::worker::Runner::is_due`].
    pub(super) fn is_due(&self, lock: u64) -> bool {
        self.tables.is_due(&self.owner, lock)
    }

    /// See [`hotrow_engine::worker::Runner::leave_line`].
    pub(super) fn leave_line(&mut self, lock: u64) {
        self.tables.leave_outside(&mut self.owner, lock);
    }

    /// Lets go of what nobody needs between two calls.
    pub(super) fn release_unused(&mut self) {
        self.tables.release_unused(&mut self.owner, &mut self.coarse);
    }

    /// Lets go of what is kept for the next call.
    pub(super) fn release_inherited(&mut self) {
        self.tables.release_inherited(&mut self.owner, &mut self.coarse);
    }

    /// Between two turns: keeps heat, where it is kept.
    pub(super) fn keep_heat(&mut self, shared: &SharedSchema) {
        if let Some(heat) = &self.heat {
            heat.ran(self.worker, std::mem::take(&mut self.calls));
            heat.keep(shared);
        }
    }

    /// Whether dynamic transactions may be open.
    pub(super) fn set_beside(&mut self, interactive: bool) {
        let locks_keys = interactive && self.ranges != Ranges::Granules;
        self.beside = locks_keys.then(|| BesideKeys::new(self.ranges));
    }

    /// Begins a transaction of `party`: puts its locks into their order. `early`: shared ones may
    /// be released at their last use, where that is asked for.
    pub(super) fn begin(&mut self, footprint: &Footprint, party: Party, early: bool) {
        self.owner.begin();
        if self.kept.is_empty() && self.ahead.is_none() && self.coarse.is_free() {
            self.table.renew(&mut self.owner);
        }
        self.table.set_party(&self.owner, party);
        self.hot.clear();
        self.next = NO_ENTRY;
        self.calls = self.calls.wrapping_add(1);
        let by_class = match &self.heat {
            Some(heat) => {
                heat.refresh(&mut self.copied);
                !self.copied.classes.is_empty()
            }
            None => false,
        };
        if by_class {
            self.begin_by_class(footprint);
            if !self.kept.is_empty() {
                self.take_kept();
            }
        } else {
            debug_assert!(self.kept.is_empty(), "classes do not change within a turn (I2)");
            footprint.requests(&mut self.cold);
        }
        if let Some(last_use) = &mut self.last_use {
            last_use.clear();
            let only_reads = |granule: &Granule| {
                matches!(granule.mode, LockMode::Shared | LockMode::IntentShared)
            };
            if early && footprint.granules().iter().all(only_reads) {
                self.note_last_uses(footprint);
            }
        }
    }

    /// Where heat is kept, only hot locks are worth releasing early.
    #[cold]
    fn note_last_uses(&mut self, footprint: &Footprint) {
        let Self { heat, hot, last_use: Some(last_use), .. } = self else { return };
        let granules = footprint.granules();
        match heat {
            None => granules.iter().for_each(|granule| last_use.note(granule)),
            Some(_) => hot.iter().for_each(|hot| last_use.note(&granules[hot.granule as usize])),
        }
        last_use.sort();
    }

    fn begin_by_class(&mut self, footprint: &Footprint) {
        let Self { cold, hot, copied, ranks, .. } = self;
        cold.clear();
        for (granule, held) in footprint.granules().iter().enumerate() {
            if held.table().is_some() {
                continue;
            }
            let request = LockRequest::new(held.lock, held.mode);
            match copied.classes.class(held.lock) {
                0 => cold.push(request),
                class => {
                    let granule = granule as u32;
                    hot.push(Hot { class, request, first: held.first, granule, kept: false });
                }
            }
        }
        cold.sort_unstable();
        if hot.is_empty() {
            return;
        }
        hot.sort_unstable_by_key(|hot| (hot.class, hot.request));
        ranks.clear();
        ranks.resize(footprint.granules().len(), 0);
        for (rank, hot) in (1..).zip(hot) {
            ranks[hot.granule as usize] = rank;
        }
        self.find_next();
    }

    /// Takes over what the last call kept for this one (I3).
    #[inline(never)]
    fn take_kept(&mut self) {
        for kept in self.kept.drain(..) {
            match self.hot.iter_mut().find(|hot| hot.request.lock() == kept.lock()) {
                Some(hot) => hot.kept = true,
                None => give_back(&self.table, &mut self.owner, kept.lock(), self.kept_at),
            }
        }
        self.owner.meet(self.kept_at);
    }

    /// After [`Locking::begin`]: takes the place of a call that has waited outside.
    #[cold]
    pub(super) fn come_in(&mut self, resumed: Resumed) {
        let Some(lock) = resumed.lock else { return };
        let Some(mode) = self.tables.come_in(&mut self.owner, lock, Some(resumed.since)) else {
            return;
        };
        let of_footprint = self.cold.iter().find(|request| request.lock() == lock).copied();
        let hot = self.hot.iter().position(|hot| hot.request.lock() == lock);
        let wanted = of_footprint.or_else(|| hot.map(|at| self.hot[at].request));
        self.ahead = Some(lock);
        if wanted.is_some_and(|wanted| !mode.covers(wanted.mode().into())) {
            self.give_back_ahead(); // I1: nothing is converted
        } else if let Some(at) = hot {
            self.hot[at].kept = true;
            self.ahead = None;
        }
    }

    /// Gives back what is held ahead of its turn, if that has not come (I4).
    #[inline]
    fn give_back_ahead(&mut self) {
        let Some(lock) = self.ahead.take() else { return };
        if !self.cold[..self.cold_held].iter().any(|request| request.lock() == lock) {
            give_back(&self.table, &mut self.owner, lock, Position::default());
        }
    }

    /// Gives back what was kept and comes behind the first `held` hot locks, and what is held ahead
    /// of its turn.
    #[inline(never)]
    fn give_back_kept(&mut self, held: usize) {
        self.give_back_ahead();
        for hot in self.hot[held..].iter_mut().filter(|hot| hot.kept) {
            hot.kept = false;
            give_back(&self.table, &mut self.owner, hot.request.lock(), self.kept_at);
        }
    }

    /// Keeps the hot locks that the next call needs, and can begin with.
    fn keep_for(&mut self, next: &Footprint) {
        let needs = |hot: &&Hot| {
            hot.request.mode() == LockMode::Exclusive
                && next.covers(hot.request.lock(), LockMode::Shared)
        };
        self.kept.extend(self.hot[..self.hot_held].iter().filter(needs).map(|hot| hot.request));
        let needed = next.granules().iter().filter(|granule| granule.table().is_none()).count();
        if !self.is_crowded && self.kept.len() < needed {
            self.kept.clear();
        }
    }

    /// Whether some locks are hot.
    #[inline]
    pub(super) fn has_hot(&self) -> bool {
        !self.hot.is_empty()
    }

    /// Whether locks are acquired or released while the call runs.
    #[inline]
    pub(super) fn changes(&self) -> bool {
        self.has_hot() || self.last_use.as_ref().is_some_and(|last_use| !last_use.is_empty())
    }

    /// The commit of a call that has released locks early.
    fn commit(&self) -> Option<Commit> {
        self.last_use.as_ref()?.commit()
    }

    /// The place of a granule's lock in the order of hot locks, from 1; 0 if it is cold. Only where
    /// there are hot ones.
    #[inline]
    pub(super) fn rank(&self, granule: u32) -> u32 {
        self.ranks.get(granule as usize).copied().unwrap_or(0)
    }

    /// Some of the plan's entries have other numbers: `ranks` has those of the granules that are
    /// needed from `start` on, in order.
    pub(super) fn renumber(&mut self, start: u32, ranks: impl Iterator<Item = u32> + Clone) {
        let end = start + ranks.clone().count() as u32;
        if let Some(last_use) = &mut self.last_use {
            last_use.renumber(start, end);
        }
        let moved = |hot: &Hot| (start..end).contains(&hot.first);
        self.hot.iter_mut().filter(|hot| moved(hot)).for_each(|hot| hot.first = NO_ENTRY);
        for (entry, rank) in (start..).zip(ranks) {
            if rank > 0 {
                let first = &mut self.hot[rank as usize - 1].first;
                *first = entry.min(*first);
            }
        }
        self.find_next();
    }

    fn find_next(&mut self) {
        let needed = self.hot[self.hot_held..].iter().map(|hot| hot.first);
        self.next = needed.min().unwrap_or(NO_ENTRY);
    }

    /// Acquires table locks, then the cold ones of granules.
    ///
    /// # Errors
    ///
    /// [`Conflict::Parked`]: to be released, and tried again when the runner is told so.
    #[inline]
    pub(super) fn acquire_cold(
        &mut self,
        footprint: &Footprint,
        watch: &mut Stopwatch,
    ) -> Result<(), Stop> {
        self.cold_held = 0;
        self.acquire_tables(footprint, watch)?;
        loop {
            let Self { table, owner, cold, cold_held, .. } = &mut *self;
            let mut rest = cold[*cold_held..].iter();
            let mut asked = Acquired::Granted;
            let missing = |request: &&LockRequest| {
                asked = ask(table, owner, **request);
                asked != Acquired::Granted
            };
            let Some(&request) = rest.find(missing) else { break };
            *cold_held = cold.len() - rest.len() - 1;
            self.wait(request, asked, 0, watch)?;
            self.cold_held += 1;
        }
        self.cold_held = self.cold.len();
        Ok(())
    }

    /// Waits for a request that was `asked` for, in its queue. `held`: how many hot locks come
    /// before it.
    #[cold]
    #[inline(never)]
    fn wait(
        &mut self,
        request: LockRequest,
        asked: Acquired,
        held: usize,
        watch: &mut Stopwatch,
    ) -> Result<(), Stop> {
        self.give_back_kept(held); // I3, I4
        if let Acquired::Refused(conflict) = asked {
            return Err(Stop::Conflict(conflict));
        }
        // Acquiring a hot lock without waiting counts as execution, unless `timing=locks`.
        let before = watch.begin_wait();
        if let Some(heat) = &self.heat {
            heat.waited_for(self.worker, request.lock());
        }
        let granted = self.table.wait(&mut self.owner, request.lock());
        watch.switch(before);
        granted.map_err(Stop::Conflict)
    }

    fn acquire_tables(&mut self, footprint: &Footprint, watch: &mut Stopwatch) -> Result<(), Stop> {
        self.coarse_wanted.clear();
        self.coarse_wanted.extend(footprint.tables());
        let tables = &self.tables;
        self.coarse_wanted.sort_unstable_by_key(|(table, _)| tables.order(Coarse::Table(*table)));
        for at in 0..self.coarse_wanted.len() {
            let (table, mode) = self.coarse_wanted[at];
            let (on, mode) = (Coarse::Table(table), mode.into());
            if !self.tables.try_acquire(&mut self.owner, &mut self.coarse, on, mode) {
                self.give_back_kept(0); // I3
                let Self { tables, owner, coarse, .. } = self;
                let before = watch.begin_wait();
                let granted = tables.acquire(owner, coarse, (on, mode), |_| false);
                watch.switch(before);
                granted.map_err(Stop::Conflict)?;
            }
        }
        Ok(())
    }

    /// Acquires the hot locks that an entry of the plan needs, with those that come before them.
    fn acquire_for(&mut self, entry: u32, watch: &mut Stopwatch) -> Result<(), Stop> {
        match self.hot.iter().rposition(|hot| hot.first <= entry) {
            Some(last) => self.acquire_hot(last, watch),
            None => Ok(()),
        }
    }

    /// Acquires the hot locks up to the one in place `last`.
    #[inline(never)]
    fn acquire_hot(&mut self, last: usize, watch: &mut Stopwatch) -> Result<(), Stop> {
        let before = watch.begin_lock();
        let held = self.acquire_hot_now(last, watch);
        watch.end_lock(before);
        held
    }

    #[inline]
    fn acquire_hot_now(&mut self, last: usize, watch: &mut Stopwatch) -> Result<(), Stop> {
        for at in self.hot_held..=last {
            let Hot { request, kept, .. } = self.hot[at];
            if !kept {
                let asked = ask(&self.table, &mut self.owner, request);
                if asked != Acquired::Granted {
                    self.wait(request, asked, at, watch)?;
                }
            }
            self.hot_held = at + 1;
        }
        self.find_next();
        Ok(())
    }

    /// Releases the shared locks that are not needed from this entry on, once everything is held.
    #[inline]
    fn release_before(&mut self, entry: u32, committer: &Committer) {
        let Some(last_use) = &mut self.last_use else { return };
        if self.hot_held < self.hot.len() {
            return;
        }
        while let Some(lock) = last_use.next_before(entry) {
            if last_use.commit().is_none() {
                // Nothing is acquired any more, so nobody else will be met.
                let Ok(commit) = committer.commit(self.owner.met(), Effect::Read) else { return };
                self.owner.commit_at(commit.position());
                last_use.set_commit(commit);
            }
            self.table.release(&mut self.owner, lock);
            last_use.went();
        }
    }

    /// Releases everything that is held, but for what is kept for the `next` call of the turn.
    pub(super) fn release_all(&mut self, next: Option<&Footprint>) {
        self.give_back_kept(self.hot_held);
        // A call that was undone stands nowhere; those before it that kept locks for it do.
        let position = self.owner.position().max(self.kept_at);
        self.owner.commit_at(position);
        self.kept_at = Position::default();
        if let Some(next) = next.filter(|_| self.hot_held > 0) {
            self.keep_for(next);
            if !self.kept.is_empty() {
                self.kept_at = position;
            }
        }
        let Self { table, owner, last_use, kept, cold, cold_held, hot, hot_held, .. } = self;
        let released = last_use.as_ref().filter(|last_use| !last_use.is_empty());
        for lock in cold[..*cold_held].iter().map(|request| request.lock()) {
            if released.is_none_or(|last_use| !last_use.has_released(lock)) {
                table.release(owner, lock);
            }
        }
        for lock in hot[..*hot_held].iter().map(|hot| hot.request.lock()) {
            let is_kept = kept.iter().any(|kept| kept.lock() == lock);
            if !is_kept && released.is_none_or(|last_use| !last_use.has_released(lock)) {
                table.release(owner, lock);
            }
        }
        (self.cold_held, self.hot_held) = (0, 0);
        self.tables.release_all(&mut self.owner, &mut self.coarse);
    }
}

/// A worker that ends leaves nothing behind that others would wait for.
impl Drop for Locking {
    fn drop(&mut self) {
        self.release_inherited();
    }
}

/// Asks for a lock.
#[inline(always)]
fn ask(table: &LockTable, owner: &mut Owner, request: LockRequest) -> Acquired {
    table.acquire_in_turn(owner, request.lock(), request.mode().into())
}

/// Releases a lock as of another position than the owner's, which runs the next call already.
fn give_back(table: &LockTable, owner: &mut Owner, lock: u64, position: Position) {
    let own = owner.position();
    owner.commit_at(position);
    table.release(owner, lock);
    owner.commit_at(own);
}

/// Everything is held already; as [`hotrow_engine::protection::Planned`].
pub(super) struct AllHeld<'a> {
    pub(super) footprint: &'a Footprint,
    pub(super) locking: &'a mut Locking,
    pub(super) watch: &'a mut Stopwatch,
}

/// Cold locks are held; a hot one is acquired when what it covers is first asked for, and with it
/// all that come before it in the order. Shared ones may go at their last use.
pub(super) struct WhileRunning<'a> {
    pub(super) footprint: &'a Footprint,
    pub(super) locking: &'a mut Locking,
    pub(super) watch: &'a mut Stopwatch,
    pub(super) committer: &'a Committer,
    /// some key was looked for in vain
    pub(super) missed: bool,
}

/// Protection of planned calls.
pub(super) trait Held: Protection {
    /// The greatest position of a transaction that this one follows, once it has done everything.
    fn met(&self) -> Position;

    /// Whether some key was looked for in vain, where that matters.
    fn has_missed(&self) -> bool;

    /// The commit of a call that has released locks early.
    fn commit(&self) -> Option<Commit> {
        None
    }
}

/// What planned calls ask beside transactions that lock keys and gaps.
macro_rules! beside_keys {
    () => {
        #[inline]
        fn guards_gaps(&self) -> bool {
            self.locking.beside.is_some()
        }

        fn may_divide(&mut self, gap: KeyLock, key: KeyLock) -> bool {
            let Locking { table, owner, beside, .. } = &mut *self.locking;
            beside.as_mut().is_none_or(|beside| beside.may_divide(table, owner, (gap, key)))
        }

        fn wait_to_divide(&mut self) -> Result<(), Stop> {
            self.locking.give_back_ahead();
            let Locking { table, owner, beside, .. } = &mut *self.locking;
            if let Some(beside) = beside {
                let before = self.watch.begin_wait();
                let waited = beside.wait_to_divide(table, owner);
                self.watch.switch(before);
                return waited.map_err(Stop::Conflict);
            }
            Ok(())
        }

        fn done_dividing(&mut self) {
            let Locking { table, owner, beside, .. } = &mut *self.locking;
            if let Some(beside) = beside {
                beside.done_dividing(table, owner);
            }
        }

        fn may_unite(&mut self, gap: KeyLock, key: KeyLock) -> bool {
            let Locking { table, owner, .. } = &mut *self.locking;
            may_unite(table, owner, (gap, key))
        }

        #[inline]
        fn commits_at(&mut self, position: Position) {
            self.locking.owner.commit_at(position);
        }
    };
}

impl Protection for AllHeld<'_> {
    const ACTIVE: bool = true;

    #[inline]
    fn hold(&mut self, lock: u64, _: Space, mode: LockMode) -> Result<(), Stop> {
        if self.footprint.covers(lock, mode) { Ok(()) } else { Err(Stop::Replan) }
    }

    beside_keys!();
}

impl Held for AllHeld<'_> {
    fn met(&self) -> Position {
        self.locking.owner.met()
    }

    fn has_missed(&self) -> bool {
        false
    }
}

impl Protection for WhileRunning<'_> {
    const ACTIVE: bool = true;

    #[inline]
    fn hold(&mut self, lock: u64, _: Space, mode: LockMode) -> Result<(), Stop> {
        if !self.footprint.covers(lock, mode) {
            return Err(Stop::Replan);
        }
        let Locking { hot, hot_held, last_use, .. } = &*self.locking;
        if last_use.as_ref().is_some_and(|last_use| last_use.has_released(lock)) {
            return Err(Stop::Replan);
        }
        if let Some(at) = hot[*hot_held..].iter().position(|hot| hot.request.lock() == lock) {
            return self.locking.acquire_hot(hot_held + at, self.watch);
        }
        Ok(())
    }

    #[inline]
    fn reach(&mut self, entry: u32) -> Result<(), Stop> {
        if entry >= self.locking.next {
            self.locking.acquire_for(entry, self.watch)?;
        }
        self.locking.release_before(entry, self.committer);
        Ok(())
    }

    #[inline]
    fn missed(&mut self) {
        self.missed = true;
    }

    beside_keys!();
}

impl Held for WhileRunning<'_> {
    fn met(&self) -> Position {
        self.locking.owner.met()
    }

    fn has_missed(&self) -> bool {
        self.missed
    }

    fn commit(&self) -> Option<Commit> {
        self.locking.commit()
    }
}
