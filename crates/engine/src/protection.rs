//! How an engine protects granules while records are reached in place.
//!
//! Role         the one thing in which engines that change records in place differ on the access
//!              path: nothing (serial), lock now (dynamic locking), it must be held already
//!              (planned)

use hotrow_base::ids::{IndexId, TableId};
use hotrow_base::key;
use hotrow_log::position::Position;
use hotrow_storage::record::Record;
use hotrow_transaction::granule::{LockMode, Space, SpaceSeed};
use hotrow_transaction::outcome::Stop;
use hotrow_transaction::plan::{Footprint, Granule};

use crate::lock_mode::Strength;
use crate::stamp::{Change, PartOf};

/// Holds granules for the transaction that runs.
pub trait Protection {
    /// Whether granules matter at all; when not, their keys are not even computed.
    const ACTIVE: bool;

    /// Whether granules are held in every table, also in those that registered procedures do not
    /// use in a way that would ask for it: for transactions that others may join at any time with
    /// statements that nobody knew of when they began.
    const ALWAYS: bool = false;

    /// Whether keys and gaps of indexes are held, and not granules.
    const LOCKS_KEYS: bool = false;

    /// Whether granules are announced by intent modes, besides: others hold granules.
    const ANNOUNCES: bool = false;

    /// Whether changes of transactions are met that have not ended: these are undone after this
    /// one, if they are, and what they have removed must not be brought back.
    const RUNS_AHEAD: bool = false;

    /// Makes sure that the transaction holds this granule in a mode that grants `mode`.
    fn hold(&mut self, lock: u64, space: Space, mode: LockMode) -> Result<(), Stop>;

    /// The plan's entry with this number is next: nobody asks for its granules one by one.
    #[inline]
    fn reach(&mut self, _entry: u32) -> Result<(), Stop> {
        Ok(())
    }

    /// A key was looked for in vain.
    #[inline]
    fn missed(&mut self) {}

    /// Makes sure that the transaction holds a key of an index and the gap behind it at least so.
    /// Called with nothing latched: it may wait. Only where [`Protection::LOCKS_KEYS`].
    fn hold_key(&mut self, lock: KeyLock, key: Strength, gap: Strength) -> Result<(), Stop> {
        unreachable!("granules are held: {lock:?}, {key:?}, {gap:?}")
    }

    /// Whether others lock keys and gaps, so that gaps may not be divided or united unasked.
    #[inline]
    fn guards_gaps(&self) -> bool {
        Self::LOCKS_KEYS
    }

    /// Whether `key` may come to divide the gap behind `gap`. If so, it is made sure that what this
    /// transaction holds of the gap, it holds behind `key`, too. Called under the leaf's latch:
    /// does not wait; who is told no calls [`Protection::wait_to_divide`] without it.
    fn may_divide(&mut self, _gap: KeyLock, _key: KeyLock) -> bool {
        true
    }

    /// Waits until what forbade the last [`Protection::may_divide`] has passed. It may come again.
    fn wait_to_divide(&mut self) -> Result<(), Stop> {
        Ok(())
    }

    /// The insert for which a gap was to be divided is over.
    fn done_dividing(&mut self) {}

    /// Whether nobody else holds or waits for `key`, an entry or a fence, so that what is behind it
    /// may from now on be behind `gap`. Called under the leaf's latch when the transaction has come
    /// to its end, after [`Protection::commits_at`] if it commits.
    fn may_unite(&mut self, _gap: KeyLock, _key: KeyLock) -> bool {
        true
    }

    /// The transaction has changed what others may have looked into.
    #[inline]
    fn changed(&mut self, _part: PartOf, _change: Change) {}

    /// The transaction has made a record, which nobody else reaches yet.
    #[inline]
    fn born(&mut self, _table: TableId, _record: Record<'_>) {}

    /// Whether a record met under a key is as it shows: final, or the transaction's own. Others may
    /// only be met where nothing is locked before it is changed.
    #[inline]
    fn may_judge(&self, _table: TableId, _record: Record<'_>) -> bool {
        true
    }

    /// The transaction will be final, and stands there in the serial order.
    #[inline]
    fn commits_at(&mut self, _position: Position) {}
}

/// The lock on a key of an index, or on a fence, with the gap behind it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct KeyLock {
    /// its identity
    pub lock: u64,
    /// the index
    pub index: IndexId,
}

/// The locks on the keys of an index, or of one part of a split one: a lock space of its own.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct KeySpace {
    index: IndexId,
    seed: SpaceSeed,
}

impl KeySpace {
    /// The index.
    pub(crate) const fn index(self) -> IndexId {
        self.index
    }

    /// That of a part of an index; what is not split is part 0.
    pub const fn of(index: IndexId, part: u16) -> Self {
        Self { index, seed: Space::keys_of(index, part) }
    }

    /// The lock on a key, or on a fence.
    #[inline]
    pub fn lock(self, key: &[u8]) -> KeyLock {
        self.lock_hashed(key::hash(key))
    }

    /// As [`KeySpace::lock`], for a key whose [`key::hash`] is known.
    #[inline]
    pub const fn lock_hashed(self, hash: u64) -> KeyLock {
        KeyLock { lock: self.seed.lock_id(hash), index: self.index }
    }
}

/// One transaction at a time: nothing to protect.
#[derive(Clone, Copy, Default, Debug)]
pub struct Alone;

impl Protection for Alone {
    const ACTIVE: bool = false;

    #[inline]
    fn hold(&mut self, _: u64, _: Space, _: LockMode) -> Result<(), Stop> {
        Ok(())
    }
}

/// Nothing is to protect, but others have run before that are not decided: one that cannot go
/// without bringing back what they have removed stops with [`Conflict::Undecided`].
///
/// [`Conflict::Undecided`]: hotrow_transaction::outcome::Conflict::Undecided
#[derive(Clone, Copy, Default, Debug)]
pub struct Ahead<P>(pub P);

impl<P: Protection> Protection for Ahead<P> {
    const ACTIVE: bool = P::ACTIVE;
    const RUNS_AHEAD: bool = true;

    #[inline]
    fn hold(&mut self, lock: u64, space: Space, mode: LockMode) -> Result<(), Stop> {
        self.0.hold(lock, space, mode)
    }
}

/// Everything is held already; an access outside the footprint means that reconnaissance guessed
/// wrong.
#[derive(Clone, Copy, Debug)]
pub struct Planned<'a>(pub &'a Footprint);

impl Protection for Planned<'_> {
    const ACTIVE: bool = true;

    #[inline]
    fn hold(&mut self, lock: u64, _: Space, mode: LockMode) -> Result<(), Stop> {
        if self.0.covers(lock, mode) { Ok(()) } else { Err(Stop::Replan) }
    }
}

/// A part of a call that holds these granules: an access outside of them means that reconnaissance
/// guessed wrong.
#[derive(Clone, Copy, Debug)]
pub struct Within<'a> {
    granules: &'a [Granule],
    /// where the last one asked for stands. They are asked for in about the order in which they
    /// were planned, so that looking on from there finds most at once: a call may have hundreds
    at: usize,
}

impl<'a> Within<'a> {
    /// A part that holds these.
    #[inline]
    pub const fn new(granules: &'a [Granule]) -> Self {
        Self { granules, at: 0 }
    }
}

impl Protection for Within<'_> {
    const ACTIVE: bool = true;

    fn hold(&mut self, lock: u64, _: Space, mode: LockMode) -> Result<(), Stop> {
        let covers = |held: &Granule| held.lock == lock && held.mode.covers(mode);
        let (before, behind) = self.granules.split_at(self.at);
        match behind.iter().position(covers) {
            Some(further) => self.at += further,
            None => self.at = before.iter().position(covers).ok_or(Stop::Replan)?,
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_gap_before_the_first_key_of_each_part_has_a_lock_of_its_own() {
        let mut locks: Vec<_> = [3, 4]
            .into_iter()
            .flat_map(|index| (0..256).map(move |part| KeySpace::of(IndexId(index), part)))
            .map(|keys| keys.lock(&[]).lock)
            .collect();
        locks.sort_unstable();
        locks.dedup();
        assert_eq!(locks.len(), 512);
    }
}
