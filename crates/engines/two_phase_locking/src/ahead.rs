//! Locks of a call that comes first in a session's transaction: taken before it runs, as planned
//! calls take theirs.
//!
//! Role         what [`hotrow_engine::interactive`] asks of this engine for such calls
//! Invariants   I1 table locks come first, in the order of tables; then granules, in ascending
//!              order of (class, identity), each once: the order of [`crate::ordered`]. Nothing is
//!              held before, so among all that lock so no circle closes. Classes do not change
//!              meanwhile, since the session is inside the gate
//!              I2 while the call runs, only gaps are waited for, with no other gap in hand, as
//!              planned calls do; what was not foreseen is taken if it is free, else the call is
//!              planned again
//!              I3 every table is locked, also those that planned calls need not lock: others may
//!              come to write there before the transaction ends. Who reads where nobody writes is
//!              granted it at once, in no order

use std::sync::Arc;

use hotrow_base::ids::TableId;
use hotrow_engine::lock_mode::Mode;
use hotrow_engine::protection::{KeyLock, Protection};
use hotrow_engine::statistics::Stopwatch;
use hotrow_log::position::Position;
use hotrow_transaction::granule::{LockMode, LockRequest, Space, TableUse};
use hotrow_transaction::outcome::{Conflict, Stop};
use hotrow_transaction::plan::Footprint;

use crate::dynamic::Locking;
use crate::heat::{Class, Copied, Heat};
use crate::intents::Coarse;
use crate::key_range::{BesideKeys, Ranges, may_unite};

/// Kept from transaction to transaction, for their memory.
pub(crate) struct Ahead {
    heat: Option<Arc<Heat>>,
    copied: Copied,
    tables: Vec<(TableId, Mode)>,
    granules: Vec<(Class, LockRequest)>,
    /// where others lock keys
    beside: Option<BesideKeys>,
}

impl Ahead {
    /// `heat`: of planned calls; `ranges`: what transactions lock that go as they come.
    pub(crate) fn new(heat: Option<Arc<Heat>>, ranges: Ranges) -> Self {
        let beside = (ranges != Ranges::Granules).then(|| BesideKeys::new(ranges));
        let (tables, granules) = (Vec::new(), Vec::new());
        Self { heat, copied: Copied::default(), tables, granules, beside }
    }

    /// Takes what a call is planned to hold, in its order (I1).
    pub(crate) fn acquire(
        &mut self,
        locking: &mut Locking,
        footprint: &Footprint,
        uses: &[(TableId, TableUse)],
        watch: &mut Stopwatch,
    ) -> Result<(), Conflict> {
        self.sort(footprint, uses);
        for &(table, mode) in &self.tables {
            conflict_of(locking.hold_table(table, mode, watch))?;
        }
        for (_, request) in &self.granules {
            conflict_of(locking.hold(request.lock(), request.mode().into(), watch))?;
        }
        Ok(())
    }

    fn sort(&mut self, footprint: &Footprint, uses: &[(TableId, TableUse)]) {
        let Self { heat, copied, tables, granules, .. } = self;
        if let Some(heat) = heat {
            heat.refresh(copied);
        }
        tables.clear();
        let intent = |usage: &TableUse| if usage.is_written() { Mode::IX } else { Mode::IS };
        tables.extend(uses.iter().map(|(table, usage)| (*table, intent(usage))));
        tables.extend(footprint.tables().map(|(table, mode)| (table, Mode::from(mode))));
        tables.sort_unstable_by_key(|(table, _)| *table);
        tables.dedup_by(|next, kept| {
            let is_same = next.0 == kept.0;
            if is_same {
                kept.1 = kept.1.join(next.1);
            }
            is_same
        });
        granules.clear();
        let held = footprint.granules().iter().filter(|granule| granule.table().is_none());
        granules.extend(held.map(|granule| {
            let class = copied.classes.class(granule.lock);
            (class, LockRequest::new(granule.lock, granule.mode))
        }));
        granules.sort_unstable();
    }
}

fn conflict_of(held: Result<(), Stop>) -> Result<(), Conflict> {
    held.map_err(|stop| match stop {
        Stop::Conflict(conflict) => conflict,
        stop => unreachable!("locks are not granted for conflicts only: {stop:?}"),
    })
}

/// Protection of a call whose footprint is held.
pub(crate) struct HeldAhead<'a> {
    pub(crate) locking: &'a mut Locking,
    pub(crate) watch: &'a mut Stopwatch,
    pub(crate) ahead: &'a mut Ahead,
}

impl Protection for HeldAhead<'_> {
    const ACTIVE: bool = true;
    const ALWAYS: bool = true;

    #[inline]
    fn hold(&mut self, lock: u64, space: Space, mode: LockMode) -> Result<(), Stop> {
        let mode = Mode::from(mode);
        let Locking { table: finer, tables, coarse, owner, held, .. } = &mut *self.locking;
        let is_held = match space {
            Space::Table(table) => tables.try_acquire(owner, coarse, Coarse::Table(table), mode),
            Space::Index(_) if held.covers(lock, mode) => true,
            Space::Index(_) => {
                let is_free = finer.try_acquire(owner, lock, mode);
                if is_free {
                    held.join(lock, mode);
                }
                is_free
            }
        };
        if is_held { Ok(()) } else { Err(Stop::Replan) }
    }

    #[inline]
    fn guards_gaps(&self) -> bool {
        self.ahead.beside.is_some()
    }

    fn may_divide(&mut self, gap: KeyLock, key: KeyLock) -> bool {
        let Locking { table, owner, .. } = &mut *self.locking;
        let beside = self.ahead.beside.as_mut();
        beside.is_none_or(|beside| beside.may_divide(table, owner, (gap, key)))
    }

    fn wait_to_divide(&mut self) -> Result<(), Stop> {
        let Some(beside) = &mut self.ahead.beside else { return Ok(()) };
        let before = self.watch.begin_wait();
        let waited = beside.wait_to_divide(&self.locking.table, &mut self.locking.owner);
        self.watch.switch(before);
        waited.map_err(Stop::Conflict)
    }

    fn done_dividing(&mut self) {
        if let Some(beside) = &mut self.ahead.beside {
            beside.done_dividing(&self.locking.table, &mut self.locking.owner);
        }
    }

    fn may_unite(&mut self, gap: KeyLock, key: KeyLock) -> bool {
        let Locking { table, owner, .. } = &mut *self.locking;
        may_unite(table, owner, (gap, key))
    }

    fn commits_at(&mut self, position: Position) {
        self.locking.owner.commit_at(position);
    }
}
