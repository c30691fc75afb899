//! Flush pipelines: when the locks of a transaction go whose log entry is not durable yet.
//!
//! Role         one per worker that locks as it goes. The worker goes on at once in any case, the
//!              answer leaves when the entry is durable; the question here is only the locks
//! States       closed, nothing kept -> open: the locks of committed transactions stay with their
//!              worker, whose next transactions may use them -> durable, full, or given up because
//!              one of them is undone: the log is waited for, everything is released
//! Invariants   P1 with [`Release::None`] no lock of a transaction that has changed something goes
//!              before its entry is durable; with [`Release::Shared`] none that it wrote under
//!              P2 who uses a kept lock follows those who kept it
//!              P3 where age decides who may wait for whom, a transaction is as old as the first
//!              one of its pipeline, whose locks it may hold, so that those rules stay true of all
//!              who wait for it. Else it has its own age: the youngest of a circle is the one that
//!              began last, whatever its pipeline is (locking.txt 4.3)
//! Source       locking.txt 4.3 (pipelines that keep locks, and flush when one of their
//!              transactions is the victim), 5 (early lock release; Algorithms 6 and 7) and 6.3
//!              (pipelines of 100,000 transactions). We differ: a pipeline also ends when nothing
//!              of it waits for the log any more

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

/// One worker's: how many transactions it has finished, and the epoch in which all are durable.
pub(crate) struct Pipeline {
    release: Release,
    /// it is full with so many transactions
    transactions_max: u64,
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
    pub(crate) fn new(
        (release, transactions_max): (Release, u64),
        policy: Policy,
        committer: &Committer,
    ) -> Self {
        Self {
            release,
            transactions_max,
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

    /// A worker that had locks for ever would keep all others out for ever: while it runs calls,
    /// there is always one that is not durable yet.
    fn is_full(&self) -> bool {
        self.is_open() && self.completed >= self.transactions_max
    }

    /// The age of a transaction that begins at `age` (P3), before its locks are asked for.
    pub(crate) fn age(&self, age: u64) -> u64 {
        if self.is_open() && self.is_one_age { self.age } else { age }
    }

    /// P2, when a transaction has begun.
    pub(crate) fn follow(&self, locking: &mut Locking) {
        locking.owner.meet(self.position);
    }

    /// Releases everything if it is durable by now, and waits for that if the pipeline is full. To
    /// be called between transactions: what waits here must have written its entries.
    pub(crate) fn settle(&mut self, locking: &mut Locking) {
        if self.is_full() {
            return self.flush(locking);
        }
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

    fn pipeline(policy: Policy, until: u64, completed: u64) -> Pipeline {
        Pipeline {
            release: Release::None,
            transactions_max: 5,
            is_one_age: policy.goes_by_age(),
            log: None,
            until,
            position: Position::default(),
            completed,
            age: 10,
        }
    }

    #[test]
    fn a_pipeline_is_full_with_so_many_transactions() {
        let is_full = |until, completed| pipeline(Policy::Dreadlocks, until, completed).is_full();
        assert_eq!([3, 4, 5, 6].map(|completed| is_full(7, completed)), [false, false, true, true]);
        assert!(!is_full(0, 5), "it is closed");
    }

    #[test]
    fn a_full_pipeline_releases_its_locks_before_the_next_transaction() {
        use std::sync::Arc;

        use hotrow_engine::lock_mode::Mode;
        use hotrow_engine::statistics::Stopwatch;
        use hotrow_engine::waits::Party;
        use hotrow_transaction::granule::LOCK_ID_STEP;

        use crate::intents::{Form, TableLocks};
        use crate::lock_table::LockTable;
        use crate::policy::Deadlocks;

        let table = Arc::new(LockTable::new(1, Deadlocks::of(Policy::NoWait)));
        let tables = Arc::new(TableLocks::new(table, Form::default()));
        let mut locking = Locking::new(tables, 0);
        locking.begin(1, Party::Unknown);
        locking.hold(LOCK_ID_STEP, Mode::X, &mut Stopwatch::default()).expect("it is free");
        let mut kept = pipeline(Policy::Dreadlocks, 7, 4);
        kept.settle(&mut locking);
        assert!(locking.holds_any() && kept.is_open(), "it has room for one more");
        kept.completed = 5;
        kept.settle(&mut locking);
        assert!(!locking.holds_any() && !kept.is_open());
        assert_eq!(kept.completed, 0, "the next pipeline begins anew");
    }

    #[test]
    fn only_age_rules_make_a_pipeline_as_old_as_its_first_transaction() {
        let pipeline = |policy: Policy, until| pipeline(policy, until, 3);
        for policy in [Policy::WaitDie, Policy::WoundWait] {
            assert_eq!(pipeline(policy, 7).age(500), 10, "{policy:?}");
            assert_eq!(pipeline(policy, 0).age(500), 500, "{policy:?}, closed");
        }
        for policy in [Policy::Dreadlocks, Policy::WaitForGraph] {
            assert_eq!(pipeline(policy, 7).age(500), 500, "{policy:?}: it began last");
        }
    }
}
