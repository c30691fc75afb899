//! Deadlock policies: what becomes of a request that is not granted at once.
//!
//! Role         chosen when the engine starts, one for all dynamic transactions of a lock table;
//!              planned owners always wait and are never chosen as victims
//! Source       wait-die, wait-for graph with local parts, dreadlocks: orthrus.txt 4; dreadlocks in
//!              databases, sleeping, back-off, kill-short: locking.txt 4.2 and 4.3; wound-wait and
//!              time-out: locking.txt 4.1

use std::time::Duration;

use hotrow_flow::deadlock::Cells;
use hotrow_flow::deadlock::sets::Digest;

use crate::waiting::WaitingCell;

/// What a dynamic transaction's request does that is not granted at once.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Debug)]
pub enum Policy {
    /// it waits, whatever happens. For owners that ask for locks in one global order and never
    /// convert: they cannot deadlock
    Wait,
    /// it is refused
    NoWait,
    /// it waits when its transaction is older than all those it would wait for, and is refused
    /// otherwise; chains of waiting then run from old to young and never close
    WaitDie,
    /// it waits, and all those it waits for that are younger are undone; chains of waiting then
    /// run from young to old
    WoundWait,
    /// it waits; a cycle of waiting is looked for when a request begins to wait
    #[default]
    WaitForGraph,
    /// it waits and keeps asking whom the others wait for; see
    /// [`hotrow_flow::deadlock::dreadlocks`]
    Dreadlocks,
    /// it waits for a limited time
    TimeOut,
}

impl Policy {
    /// What a planned owner's request does in a table with this policy: it waits in any case, and
    /// under wound-wait it undoes the dynamic transactions in its way, all of which are younger.
    pub fn of_planned(self) -> Self {
        if self == Self::WoundWait { self } else { Self::Wait }
    }

    /// Whether ages decide who may wait for whom.
    pub fn goes_by_age(self) -> bool {
        matches!(self, Self::WaitDie | Self::WoundWait)
    }

    /// Whether requests are refused for whom they meet, so that who is in the way of others may see
    /// nobody wait.
    pub fn refuses(self) -> bool {
        matches!(self, Self::NoWait | Self::WaitDie)
    }
}

/// How a waiting owner passes its time, for dreadlocks.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Debug)]
pub enum Waiting {
    /// asking again and again, and never giving the core away, as in the paper: where threads
    /// outnumber cores, whoever is waited for may not run meanwhile
    Spin,
    /// asking again and again, giving the core away now and then
    Yield,
    /// sleeping between two looks; sleepers' digests grow stale and show deadlocks that are none
    Sleep,
    /// sleeping, with digests marked as outdated by whoever releases the lock
    #[default]
    BackOff,
}

/// Who is undone of those that wait for each other.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Debug)]
pub enum Victim {
    /// the one that began last
    #[default]
    Young,
    /// the one whose flush pipeline has the most finished transactions
    KillLong,
    /// the one whose flush pipeline has the fewest
    KillShort,
}

impl Victim {
    /// Who is undone of some that wait for each other; none when all are planned. A planned owner
    /// never is: every cycle has a dynamic one, because planned owners wait for each other only in
    /// the global order of their locks.
    pub fn choose(
        self,
        cells: &Cells<WaitingCell>,
        among: impl IntoIterator<Item = u32>,
    ) -> Option<u32> {
        let candidates = among.into_iter().filter(|&owner| !cells[owner as usize].is_planned());
        let age = |owner: u32| (cells[owner as usize].age(), owner);
        let completed = |owner: u32| cells[owner as usize].completed();
        match self {
            Self::Young => candidates.max_by_key(|&owner| age(owner)),
            // Of two pipelines of one length the one with the younger transaction.
            Self::KillLong => candidates.max_by_key(|&owner| (completed(owner), age(owner))),
            Self::KillShort => {
                candidates.max_by_key(|&owner| (std::cmp::Reverse(completed(owner)), age(owner)))
            }
        }
    }
}

/// A policy with all that it depends on.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Deadlocks {
    /// the policy
    pub policy: Policy,
    /// for dreadlocks
    pub digest: Digest,
    /// for dreadlocks
    pub waiting: Waiting,
    /// for policies that find cycles
    pub victim: Victim,
    /// for [`Policy::TimeOut`]
    pub time_out: Duration,
}

impl Default for Deadlocks {
    fn default() -> Self {
        Self::of(Policy::default())
    }
}

impl Deadlocks {
    /// A policy with everything else as usual.
    pub fn of(policy: Policy) -> Self {
        Self {
            policy,
            digest: Digest::default(),
            waiting: Waiting::default(),
            victim: Victim::default(),
            time_out: Duration::from_millis(50),
        }
    }
}
