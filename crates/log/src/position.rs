//! Where a transaction stands in the serial order: its epoch, and its time within the epoch.
//!
//! Role         given at commit; carried by log entries and by the tags of locks and records; the
//!              key by which replay sorts
//! Invariants   I1  of two conflicting transactions the later one has the greater position
//!              I2  two transactions with one position do not conflict
//!
//! No counter is shared: a position is derived from what the transaction touched. A writing
//! transaction, at commit and while it still holds every lock, enters the current epoch `e` and
//! takes [`Position::after`] the greatest position its granules carry. Why sorting by
//! (epoch, time) is then a valid serial order:
//!
//! - **Locking.** Each lock carries the greatest position of those who released it. Let `B` touch
//!   what `A` changed (or change what `A` read). `B` got the lock after `A` had released it, and
//!   `A` tagged it at release with its own position or a greater one; `B` takes its position after
//!   all its locks are held, so after that tag: `B > A`. The epoch cannot run backwards: `A` was
//!   inside its epoch before it released, `B` enters after it acquired, and epochs only ascend; so
//!   `B`'s epoch is at least `A`'s, and within the same epoch `time` is greater. Early lock release
//!   changes nothing: the tag is set when the lock is released, not when the entry is durable, and
//!   the block of an epoch is durable only after the blocks of all earlier ones.
//! - **Planned engines** (ordered locks, lock threads, queues per granule). The same tags stand at
//!   whoever grants the granule: a lock thread's table, an executor's local lock, the tail of an
//!   action queue. Each is handed on only after its holder has taken a position, so the argument is
//!   the same; there is nothing to add for several granules, since a transaction takes its position
//!   once, after the last of them.
//! - **Optimistic engines.** Silo's rule is this one with record words as tags: the write set is
//!   locked, the epoch is read, and the TID is chosen greater than every TID read or overwritten
//!   and than the worker's last, within that epoch. What Silo's order does not give, I2 does not
//!   need: an anti-dependency (`A` read what `B` overwrote) inside one epoch may have positions in
//!   either order. Replay of *values* does not care, since reads leave no trace in it; replay of
//!   *commands* does, so an optimistic engine that logged commands would also have to put the
//!   positions of readers into the record words. Ours logs values.
//!
//! Epochs as group-commit boundaries: the block of epoch `e` holds all transactions of `e`, so any
//! prefix of blocks is closed under "happened before" and is a consistent state.
//!
//! Source       Tu et al., "Speedy transactions in multicore in-memory databases" (Silo, 2013),
//!              sections 4.2 and 4.9; tags on locks for early release: locking.txt, section 5.
//!              We differ: epochs are advanced by the log writer when it is ready for the next
//!              block, not by a clock

use std::fmt;

/// A place in the serial order; see the module. The default, zero, is before everything.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Position {
    /// The group-commit epoch; the first one is 1.
    pub epoch: u64,
    /// The place within the epoch; those with the same one do not conflict.
    pub time: u64,
}

impl Position {
    /// The position of one who entered `epoch` and conflicts with others up to `self`.
    ///
    /// `epoch` is at least `self.epoch`: epochs only ascend, and whoever `self` belongs to was
    /// inside its epoch before it let go of what it touched.
    #[inline]
    #[must_use]
    pub fn after(self, epoch: u64) -> Self {
        debug_assert!(epoch >= self.epoch, "epoch {epoch} after {self}");
        if self.epoch == epoch {
            Self { epoch, time: self.time + 1 }
        } else {
            Self { epoch, time: 0 }
        }
    }
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.epoch, self.time)
    }
}

#[cfg(test)]
mod tests {
    use super::Position;

    #[test]
    fn positions_ascend_within_and_across_epochs() {
        let first = Position::default().after(3);
        assert_eq!(first, Position { epoch: 3, time: 0 });
        let second = first.after(3);
        assert_eq!(second, Position { epoch: 3, time: 1 });
        let third = second.after(7);
        assert_eq!(third, Position { epoch: 7, time: 0 });
        assert!(Position::default() < first && first < second && second < third);
        assert_eq!(third.to_string(), "7.0");
    }
}
