//! Flush pipelines: when the locks of a transaction go whose log entry is not durable yet.
//!
//! Role         one per worker that locks as it goes. The worker goes on at once in any case, the
//!              answer leaves when the entry is durable; the question here is only the locks
//! States       closed, nothing kept -> open: the locks of committed transactions stay with their
//!              worker, whose next transactions may use them -> durable, or given up because one
//!              of them is undone: the log is waited for, everything is released
//! Invariants   P1 with [`Release::None`] no lock of a transaction that has changed something goes
//!              before its entry is durable; with [`Release::Shared`] none that it wrote under
//!              P2 who uses a kept lock follows those who kept it
//!              P3 where age decides who may wait for whom, a transaction is as old as the first
//!              one of its pipeline, whose locks it may hold, so that those rules stay true of all
//!              who wait for it. Else it has its own age: the youngest of a circle is the one that
//!              began last, whatever its pipeline is (locking.txt 4.3)
//! Source       locking.txt 4.3 (pipelines that keep locks, and flush when one of their
//!              transactions is the victim) and 5 (early lock release; Algorithms 6 and 7). We
//!              differ: a pipeline ends when its entries are durable, not after a number of
//!              transactions

use std::sync::Arc;

use hotrow_engine::journal::{Commit, Committer};
use hotrow_log::log::Log;
use hotrow_log::position::Position;

use crate::dynamic::Locking;
use crate::policy::Policy;

/// Which locks go at commit, before the log is durable.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Debug)]
pub enum Release {
    /// none
    None,
    /// those that were only read under
    Shared,
    /// all; tags on locks tell who follows whom, so that a reader's answer waits for what it has
    /// seen
    #[default]
    All,
    /// all, and readers wait for nobody: not serializable when the system fails. For showing just
    /// that (locking.txt, table 6)
    AllUntagged,
}

/// See the module.
pub(crate) struct Pipeline {
    release: Release,
    /// its transactions are as old as the first of them (P3)
    is_one_age: bool,
    log: Option<Arc<Log>>,
    /// the epoch in which all is durable; 0: closed
    until: u64,
    /// the greatest position of its transactions
    position: Position,
    completed: u64,
    age: u64,
}

impl Pipeline {
    /// A closed pipeline.
    pub(crate) fn new(release: Release, policy: Policy, committer: &Committer) -> Self {
        Self {
            release,
            is_one_age: policy.goes_by_age(),
            log: committer.log().cloned(),
            until: 0,
            position: Position::default(),
            completed: 0,
            age: 0,
        }
    }

    /// Whether readers' answers wait for what they have seen.
    pub(crate) fn is_safe(&self) -> bool {
        self.release != Release::AllUntagged
    }

    fn is_open(&self) -> bool {
        self.until > 0
    }

    /// The age of a transaction that begins at `age` (P3), before its locks are asked for.
    pub(crate) fn age(&self, age: u64) -> u64 {
        if self.is_open() && self.is_one_age { self.age } else { age }
    }

    /// P2, when a transaction has begun.
    pub(crate) fn follow(&self, locking: &mut Locking) {
        locking.owner.meet(self.position);
    }

    /// Releases everything if it is durable by now.
    pub(crate) fn settle(&mut self, locking: &mut Locking) {
        if let Some(log) = &self.log
            && self.is_open()
            && log.horizon() >= self.until
        {
            self.close(locking);
        }
    }

    /// The end of a transaction that commits, at `age`: releases what may go.
    pub(crate) fn commit(&mut self, commit: &Commit, age: u64, locking: &mut Locking) {
        let keeps = matches!(self.release, Release::None | Release::Shared);
        if !keeps || self.log.is_none() || commit.is_read_only() && !self.is_open() {
            locking.owner.commit_at(commit.position());
            return locking.release_all();
        }
        if !self.is_open() {
            self.age = age;
        }
        self.position = self.position.max(commit.position());
        self.until = self.until.max(self.position.epoch);
        self.completed += 1;
        locking.table.set_completed(&locking.owner, self.completed);
        if self.release == Release::Shared {
            locking.owner.commit_at(commit.position());
            locking.release_shared();
        }
    }

    /// The end of a transaction that is undone. `in_the_way`: of others, so that all must go.
    pub(crate) fn undone(&mut self, in_the_way: bool, locking: &mut Locking) {
        if !self.is_open() {
            return locking.release_all();
        }
        if in_the_way {
            self.flush(locking);
        }
    }

    /// Waits until everything is durable, and releases it: the worker has no next transaction, or
    /// others are in its way.
    pub(crate) fn flush(&mut self, locking: &mut Locking) {
        if !self.is_open() {
            return;
        }
        if let Some(log) = &self.log {
            // A log that has failed has told so to whoever waits for the answers.
            let _ = log.wait_for(self.until);
        }
        self.close(locking);
    }

    fn close(&mut self, locking: &mut Locking) {
        locking.owner.commit_at(self.position);
        locking.release_all();
        (self.until, self.position, self.completed) = (0, Position::default(), 0);
        locking.table.set_completed(&locking.owner, 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_age_rules_make_a_pipeline_as_old_as_its_first_transaction() {
        let pipeline = |policy: Policy, until| Pipeline {
            release: Release::None,
            is_one_age: policy.goes_by_age(),
            log: None,
            until,
            position: Position::default(),
            completed: 3,
            age: 10,
        };
        for policy in [Policy::WaitDie, Policy::WoundWait] {
            assert_eq!(pipeline(policy, 7).age(500), 10, "{policy:?}");
            assert_eq!(pipeline(policy, 0).age(500), 500, "{policy:?}, closed");
        }
        for policy in [Policy::Dreadlocks, Policy::WaitForGraph] {
            assert_eq!(pipeline(policy, 7).age(500), 500, "{policy:?}: it began last");
        }
    }
}
