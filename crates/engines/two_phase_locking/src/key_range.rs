//! Key-range locks: dynamic transactions that hold keys and gaps instead of granules.
//!
//! Role         behind `ranges=orthogonal`, `lomet` and `kvl`: the modes in which keys and gaps are
//!              locked, and what [`hotrow_engine::in_place`] asks before gaps are divided or united
//! Invariants   I1 what stands behind a key that comes to divide a gap is held by whoever held the
//!              gap: nobody else held it ([`LockTable::is_held`]), and the inserter's own mode is
//!              taken over by the new key
//!              I2 positions follow gaps: who is granted a gap has met all who read it or removed
//!              keys from it before, under whatever name it had then ([`LockTable::hand_on`])
//!              I3 a gap that was waited for is held until it is divided or found not to be the
//!              right one any more, but never while waiting for another lock. Let go before, two
//!              inserters could go on finding it held by the other one, who was just granted it
//! Source       locking.txt 2.2; Lomet's modes and ARIES/KVL's as its 6.3 simulates them, by the
//!              next stronger mode there is. We differ: both lock a gap by the key behind it, here
//!              as everywhere by the key before it. A scan holds as many keys either way, one more
//!              at its beginning in place of its end, so that in a workload that has no direction
//!              they meet as often

use hotrow_engine::lock_mode::{Mode, Strength};
use hotrow_engine::protection::{KeyLock, Protection};
use hotrow_engine::statistics::Stopwatch;
use hotrow_log::position::Position;
use hotrow_transaction::granule::{LockMode, Space};
use hotrow_transaction::outcome::{Conflict, Stop};

use crate::dynamic::Locking;
use crate::lock_table::{Acquired, LockTable, Owner};

/// What dynamic transactions hold of an index.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Ranges {
    /// granules: prefixes of keys, as planned calls
    Granules,
    /// keys and gaps, each in a mode of its own (Graefe)
    Orthogonal,
    /// keys and gaps, in the modes that Lomet has: no gap without its key, and none that is only
    /// read with a key that is written
    Lomet,
    /// keys with their gaps, read or written (ARIES/KVL)
    Kvl,
}

impl Ranges {
    /// The mode for a key and the gap behind it; none when neither is held.
    pub fn mode(self, key: Strength, gap: Strength) -> Option<Mode> {
        let mode = Mode::of_range(key, gap)?;
        Some(match (self, mode) {
            (Self::Granules | Self::Orthogonal, mode) => mode,
            (Self::Lomet, Mode::NS) => Mode::S,
            // It has neither RangeS-X nor RangeX-N, but RangeX-S, which is SX here.
            (Self::Lomet, Mode::XS | Mode::NX) => Mode::X,
            (Self::Lomet, mode) => mode,
            (Self::Kvl, mode) if mode.is_exclusive() => Mode::X,
            (Self::Kvl, _) => Mode::S,
        })
    }

    /// The mode that a gap must be free for, to be divided. It is asked for and let go of at once,
    /// as Lomet's lock for inserting into a range is, which leaves the key alone.
    fn dividing(self) -> Mode {
        match self {
            Self::Kvl => Mode::X,
            Self::Granules | Self::Orthogonal | Self::Lomet => Mode::NX,
        }
    }
}

/// Protection that locks keys and gaps at each access; `ALL`: in every table, `BESIDE_GRANULES`:
/// while others lock granules.
pub(crate) struct LockKeys<'a, const ALL: bool, const BESIDE_GRANULES: bool> {
    locking: &'a mut Locking,
    watch: &'a mut Stopwatch,
    ranges: Ranges,
    /// what forbade to divide a gap
    forbade: Option<(u64, Mode)>,
    /// a gap that was waited for, held until it is divided
    awaited: Option<u64>,
}

impl<'a, const ALL: bool, const BESIDE_GRANULES: bool> LockKeys<'a, ALL, BESIDE_GRANULES> {
    pub(crate) fn new(locking: &'a mut Locking, watch: &'a mut Stopwatch, ranges: Ranges) -> Self {
        Self { locking, watch, ranges, forbade: None, awaited: None }
    }

    pub(crate) fn met(&self) -> Position {
        self.locking.met()
    }
}

impl<const ALL: bool, const BESIDE_GRANULES: bool> Protection
    for LockKeys<'_, ALL, BESIDE_GRANULES>
{
    const ACTIVE: bool = true;
    const ALWAYS: bool = ALL;
    const LOCKS_KEYS: bool = true;
    const ANNOUNCES: bool = BESIDE_GRANULES;

    #[inline]
    fn hold(&mut self, lock: u64, space: Space, mode: LockMode) -> Result<(), Stop> {
        self.locking.hold_space(lock, space, mode, self.watch)
    }

    fn hold_key(&mut self, lock: KeyLock, key: Strength, gap: Strength) -> Result<(), Stop> {
        let Locking { table, owner, held, foresight, .. } = &mut *self.locking;
        let key = match foresight {
            Some(foresees) if ALL && gap == Strength::None => {
                foresees.strength(lock.index, key, held.mode(lock.lock))
            }
            _ => key,
        };
        let Some(mode) = self.ranges.mode(key, gap) else { return Ok(()) };
        if gap != Strength::None && held.covers(lock.lock, mode) {
            table.meet(owner, lock.lock); // I2: keys may have been removed since
            return Ok(());
        }
        self.locking.hold(lock.lock, mode, self.watch)
    }

    fn may_divide(&mut self, gap: KeyLock, key: KeyLock) -> bool {
        let (gap, key) = (gap.lock, key.lock);
        let dividing = self.ranges.dividing();
        let Locking { table, owner, held, .. } = &mut *self.locking;
        if table.is_held(owner, gap, dividing) {
            self.forbade = Some((gap, dividing));
            return false;
        }
        // I1. The key itself is held exclusively already.
        let own = held.mode(gap).map_or(Strength::None, |mode| mode.parts().gap);
        let inherited = self.ranges.mode(Strength::Exclusive, own).expect("a key is something");
        if !held.covers(key, inherited) {
            if !table.try_acquire(owner, key, inherited) {
                self.forbade = Some((key, inherited));
                return false;
            }
            held.join(key, inherited);
        }
        table.hand_on(owner, gap, key); // I2
        true
    }

    fn wait_to_divide(&mut self) -> Result<(), Stop> {
        self.done_dividing(); // I3
        let (lock, mode) = self.forbade.take().expect("it was forbidden to divide a gap");
        if self.locking.held.mode(lock).is_some() {
            return self.locking.hold(lock, mode, self.watch);
        }
        self.locking.acquire(lock, mode, self.watch)?;
        self.awaited = Some(lock);
        Ok(())
    }

    fn done_dividing(&mut self) {
        if let Some(lock) = self.awaited.take() {
            self.locking.table.release(&mut self.locking.owner, lock);
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

/// What a planned call, which locks no keys itself, asks beside transactions that do.
#[derive(Debug)]
pub(crate) struct BesideKeys {
    ranges: Ranges,
    forbade: Option<u64>,
    awaited: Option<u64>,
}

impl BesideKeys {
    pub(crate) fn new(ranges: Ranges) -> Self {
        Self { ranges, forbade: None, awaited: None }
    }

    /// See [`Protection::may_divide`].
    pub(crate) fn may_divide(
        &mut self,
        table: &LockTable,
        owner: &mut Owner,
        (gap, key): (KeyLock, KeyLock),
    ) -> bool {
        if table.is_held(owner, gap.lock, self.ranges.dividing()) {
            self.forbade = Some(gap.lock);
            return false;
        }
        table.hand_on(owner, gap.lock, key.lock); // I2
        true
    }

    /// See [`Protection::wait_to_divide`]. Every cycle of waiting that this closes has a dynamic
    /// transaction in it, because no planned call holds a gap and waits (I3).
    ///
    /// # Errors
    ///
    /// It does not hold the gap: a session's call was called away, a worker's waits outside, since
    /// a session has the gap ([`Conflict::Parked`]).
    pub(crate) fn wait_to_divide(
        &mut self,
        table: &LockTable,
        owner: &mut Owner,
    ) -> Result<(), Conflict> {
        self.done_dividing(table, owner);
        let gap = self.forbade.take().expect("it was forbidden to divide a gap");
        match table.acquire_in_turn(owner, gap, self.ranges.dividing()) {
            Acquired::Granted => {}
            Acquired::Waiting => table.wait(owner, gap)?,
            Acquired::Refused(conflict) => return Err(conflict),
        }
        self.awaited = Some(gap);
        Ok(())
    }

    /// See [`Protection::done_dividing`].
    pub(crate) fn done_dividing(&mut self, table: &LockTable, owner: &mut Owner) {
        if let Some(gap) = self.awaited.take() {
            table.release(owner, gap);
        }
    }
}

/// See [`Protection::may_unite`].
pub(crate) fn may_unite(
    table: &LockTable,
    owner: &mut Owner,
    (gap, key): (KeyLock, KeyLock),
) -> bool {
    let is_free = !table.is_claimed(owner, key.lock, Mode::X);
    if is_free {
        table.hand_on(owner, key.lock, gap.lock); // I2
    }
    is_free
}

#[cfg(test)]
mod tests;
