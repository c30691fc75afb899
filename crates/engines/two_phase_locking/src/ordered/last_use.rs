//! Release at last use: shared locks that a call which only reads gives back while it still runs.
//!
//! Role         part of [`super::locking`], behind `last_use=release`; knows which entry of the
//!              plan needs a lock last
//! States       a shared lock: held -> the entry that needs it last is behind, and nothing is to be
//!              acquired any more -> released as of the call's position
//! Invariants   I1 two-phase: nothing is acquired after the first release
//!              I2 the position is taken before the first release: whoever changes next what was
//!              read stands behind the call in the serial order. One that only reads stands right
//!              behind what it met, so its position is known as soon as everything is held
//!              I3 what was released is not touched again. Plans know an access without an entry
//!              only by its granule, and it may turn out to reach another one: it is a wrong guess
//!              then, and the repetition keeps its locks
//! Source       DESIGN section 1 ("each granule's last use is known, so it can be released there
//!              once the transaction can no longer abort")
//!
//! Calls that write keep all their locks. Their position takes a commit epoch, which must not end
//! while they run, and which nobody would end if they then wrote nothing: who waits for it would
//! wait for ever. An exclusive lock, besides, may only go where nothing that follows can fail, and
//! hardly anything cannot: arithmetic overflows, an insert finds its key taken or the memory used
//! up, each turn of a loop takes a step off the budget. In no procedure of the workloads does
//! an access come behind all of these (a test of `hotrow-sql`, `last_use`, looks).

use hotrow_engine::journal::Commit;
use hotrow_transaction::granule::LockMode;
use hotrow_transaction::plan::{Granule, NO_ENTRY};

/// Locks with the last entry that needs each, in order, and how many have been released.
#[derive(Default, Debug)]
pub(super) struct LastUse {
    /// the last entry that needs a lock, and the lock; in order
    shared: Vec<(u32, u64)>,
    /// how many of them, the first, are released
    released: usize,
    /// the commit, from the first release on
    commit: Option<Commit>,
}

impl LastUse {
    /// Forgets the call before.
    #[inline]
    pub(super) fn clear(&mut self) {
        self.shared.clear();
        self.released = 0;
        self.commit = None;
    }

    /// Notes a granule, if its lock can go early.
    #[inline]
    pub(super) fn note(&mut self, granule: &Granule) {
        let is_table = granule.table().is_some(); // kept with its intents, to the end
        if granule.mode == LockMode::Shared && granule.last != NO_ENTRY && !is_table {
            self.shared.push((granule.last, granule.lock));
        }
    }

    /// All granules are noted.
    pub(super) fn sort(&mut self) {
        self.shared.sort_unstable();
    }

    /// The entries from `start` to before `end` have changed places among themselves.
    pub(super) fn renumber(&mut self, start: u32, end: u32) {
        for (last, _) in &mut self.shared {
            if (start..end).contains(last) {
                *last = end - 1;
            }
        }
        self.sort();
    }

    /// Whether some lock may go early.
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.shared.is_empty()
    }

    /// The next lock that is not needed from this entry on.
    #[inline]
    pub(super) fn next_before(&self, entry: u32) -> Option<u64> {
        let &(last, lock) = self.shared.get(self.released)?;
        (last < entry).then_some(lock)
    }

    /// That lock was released.
    pub(super) fn went(&mut self) {
        self.released += 1;
    }

    /// Whether a lock was released early.
    #[inline]
    pub(super) fn has_released(&self, lock: u64) -> bool {
        self.shared[..self.released].iter().any(|&(_, released)| released == lock)
    }

    /// The commit, once a lock was released early.
    #[inline]
    pub(super) fn commit(&self) -> Option<Commit> {
        self.commit
    }

    /// Notes the commit.
    pub(super) fn set_commit(&mut self, commit: Commit) {
        self.commit = Some(commit);
    }
}
