//! The locks of one call, taken in the order that everybody shares.
//!
//! Invariants   I1 locks are acquired in ascending order of (class, identity), each once, in the
//!              strongest mode the footprint asks for: no cycle of waiting can close, and no
//!              request is ever converted or refused. Without heat everything is of class 0
//!              I2 classes do not change while the worker is inside the gate, which it is from
//!              before the first lock to after the last

use std::sync::Arc;

use hotrow_engine::protection::Protection;
use hotrow_engine::statistics::{Activity, Stopwatch};
use hotrow_log::position::Position;
use hotrow_transaction::granule::{LockMode, LockRequest, Space};
use hotrow_transaction::outcome::Stop;
use hotrow_transaction::plan::{Footprint, NO_ENTRY};

use crate::heat::{Class, Copied, Heat};
use crate::lock_table::{Acquired, LockTable, Owner, Standing};

/// A hot lock of the footprint.
struct Hot {
    class: Class,
    request: LockRequest,
    /// the plan's first entry that needs it, or [`NO_ENTRY`]
    first: u32,
    /// its place in the footprint
    granule: u32,
}

/// What a worker holds and is going to hold.
pub(super) struct Locking {
    table: Arc<LockTable>,
    pub(super) owner: Owner,
    worker: usize,
    heat: Option<Arc<Heat>>,
    copied: Copied,
    /// cold locks of the footprint, in the order of acquisition; how many of them are held
    cold: Vec<LockRequest>,
    cold_held: usize,
    /// the hot ones behind them, and how many of those are held
    hot: Vec<Hot>,
    hot_held: usize,
    /// the first entry that needs a hot lock that is not held, or [`NO_ENTRY`]
    next: u32,
    /// by place in the footprint: 0 for a cold lock, else one more than its place in `hot`. Only
    /// where there are hot ones
    ranks: Vec<u32>,
}

impl Locking {
    pub(super) fn new(table: Arc<LockTable>, worker: usize, heat: Option<Arc<Heat>>) -> Self {
        Self {
            owner: table.owner(worker, Standing::Planned),
            table,
            worker,
            heat,
            copied: Copied::default(),
            cold: Vec::new(),
            cold_held: 0,
            hot: Vec::new(),
            hot_held: 0,
            next: NO_ENTRY,
            ranks: Vec::new(),
        }
    }

    /// The heat that is kept, if any is.
    pub(super) fn heat(&self) -> Option<&Arc<Heat>> {
        self.heat.as_ref()
    }

    /// Begins a transaction: puts its locks into their order.
    pub(super) fn begin(&mut self, footprint: &Footprint) {
        self.owner.begin();
        self.hot.clear();
        if let Some(heat) = &self.heat {
            heat.refresh(&mut self.copied);
            if !self.copied.classes.is_empty() {
                return self.begin_by_class(footprint);
            }
        }
        footprint.requests(&mut self.cold);
    }

    fn begin_by_class(&mut self, footprint: &Footprint) {
        let Self { cold, hot, copied, ranks, .. } = self;
        cold.clear();
        for (granule, held) in footprint.granules().iter().enumerate() {
            let request = LockRequest::new(held.lock, held.mode);
            match copied.classes.class(held.lock) {
                0 => cold.push(request),
                class => {
                    let granule = granule as u32;
                    hot.push(Hot { class, request, first: held.first, granule });
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

    /// Whether some locks are hot.
    #[inline]
    pub(super) fn has_hot(&self) -> bool {
        !self.hot.is_empty()
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
        let moved = |hot: &Hot| (start..start + ranks.clone().count() as u32).contains(&hot.first);
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

    /// Acquires the cold locks.
    #[inline]
    pub(super) fn acquire_cold(&mut self, watch: &mut Stopwatch) {
        while let Some(&request) = self.cold.get(self.cold_held) {
            self.acquire(request, watch);
            self.cold_held += 1;
        }
    }

    /// Acquires the hot locks that an entry of the plan needs, with those that come before them.
    fn acquire_for(&mut self, entry: u32, watch: &mut Stopwatch) {
        if let Some(last) = self.hot.iter().rposition(|hot| hot.first <= entry) {
            self.acquire_hot(last, watch);
        }
    }

    /// Acquires the hot locks up to the one in place `last`.
    #[inline(never)]
    fn acquire_hot(&mut self, last: usize, watch: &mut Stopwatch) {
        while self.hot_held <= last {
            self.acquire(self.hot[self.hot_held].request, watch);
            self.hot_held += 1;
        }
        self.find_next();
    }

    #[inline]
    fn acquire(&mut self, request: LockRequest, watch: &mut Stopwatch) {
        let (lock, mode) = (request.lock(), request.mode());
        match self.table.acquire(&mut self.owner, lock, mode.into()) {
            Acquired::Granted => {}
            Acquired::Waiting => self.wait(lock, watch),
            Acquired::Refused(_) => unreachable!("planned owners are not refused"),
        }
    }

    fn wait(&mut self, lock: u64, watch: &mut Stopwatch) {
        // Acquiring without waiting counts as execution where it is not told apart: reading the
        // clock twice costs as much as a lock.
        let before = watch.switch(Activity::Wait);
        if let Some(heat) = &self.heat {
            heat.waited_for(self.worker, lock);
        }
        let granted = self.table.wait(&mut self.owner, lock);
        watch.switch(before);
        debug_assert!(granted.is_ok(), "nobody refuses an ordered request (I1)");
    }

    /// Releases everything that is held.
    pub(super) fn release_all(&mut self) {
        for request in &self.cold[..self.cold_held] {
            self.table.release(&mut self.owner, request.lock());
        }
        for hot in &self.hot[..self.hot_held] {
            self.table.release(&mut self.owner, hot.request.lock());
        }
        (self.cold_held, self.hot_held) = (0, 0);
    }
}

/// Everything is held already; as [`hotrow_engine::protection::Planned`].
pub(super) struct AllHeld<'a> {
    pub(super) footprint: &'a Footprint,
    pub(super) met: Position,
}

/// Cold locks are held; a hot one is acquired when what it covers is first asked for, and with it
/// all that come before it in the order.
pub(super) struct HotLast<'a> {
    pub(super) footprint: &'a Footprint,
    pub(super) locking: &'a mut Locking,
    pub(super) watch: &'a mut Stopwatch,
    /// some key was looked for in vain
    pub(super) missed: bool,
}

/// Protection of planned calls.
pub(super) trait Held: Protection {
    /// The greatest position of a transaction that this one follows, once it has done everything.
    fn met(&self) -> Position;

    /// Whether some key was looked for in vain, where that matters.
    fn has_missed(&self) -> bool;
}

impl Protection for AllHeld<'_> {
    const ACTIVE: bool = true;

    #[inline]
    fn hold(&mut self, lock: u64, _: Space, mode: LockMode) -> Result<(), Stop> {
        if self.footprint.covers(lock, mode) { Ok(()) } else { Err(Stop::Replan) }
    }
}

impl Held for AllHeld<'_> {
    fn met(&self) -> Position {
        self.met
    }

    fn has_missed(&self) -> bool {
        false
    }
}

impl Protection for HotLast<'_> {
    const ACTIVE: bool = true;

    #[inline]
    fn hold(&mut self, lock: u64, _: Space, mode: LockMode) -> Result<(), Stop> {
        if !self.footprint.covers(lock, mode) {
            return Err(Stop::Replan);
        }
        let Locking { hot, hot_held, .. } = &*self.locking;
        if let Some(at) = hot[*hot_held..].iter().position(|hot| hot.request.lock() == lock) {
            self.locking.acquire_hot(hot_held + at, self.watch);
        }
        Ok(())
    }

    #[inline]
    fn reach(&mut self, entry: u32) {
        if entry >= self.locking.next {
            self.locking.acquire_for(entry, self.watch);
        }
    }

    #[inline]
    fn missed(&mut self) {
        self.missed = true;
    }
}

impl Held for HotLast<'_> {
    fn met(&self) -> Position {
        self.locking.owner.met()
    }

    fn has_missed(&self) -> bool {
        self.missed
    }
}
