//! Hot locks that are kept for the next call.

use std::sync::Arc;
use std::time::Duration;

use hotrow_base::clock::Ticks;
use hotrow_base::ids::{IndexId, WorkerId};
use hotrow_engine::journal::{Committer, Effect, Journal};
use hotrow_engine::lock_mode::Mode;
use hotrow_engine::protection::Protection;
use hotrow_engine::statistics::Stopwatch;
use hotrow_engine::trace::SerialTrace;
use hotrow_engine::waits::Party;
use hotrow_log::position::Position;
use hotrow_transaction::granule::{LockMode, Space};
use hotrow_transaction::plan::Footprint;

use super::locking::{Locking, WhileRunning};
use crate::heat::{Classes, Heat, Rule};
use crate::intents::{Form, TableLocks};
use crate::key_range::Ranges;
use crate::lock_table::{LockTable, Owner, Standing};
use crate::policy::Deadlocks;

const SPACE: Space = Space::Index(IndexId(0));
/// More than any machine has cores.
const CROWD: usize = 5_000;

fn lock(number: u64) -> u64 {
    SPACE.lock_id(&number.to_be_bytes())
}

fn footprint(numbers: &[u64]) -> Footprint {
    let mut footprint = Footprint::default();
    footprint.clear();
    numbers.iter().for_each(|&number| {
        footprint.join(lock(number), SPACE, LockMode::Exclusive);
    });
    footprint
}

/// A planned worker to which lock 1 is hot.
struct Worker {
    locking: Locking,
    committer: Committer,
    watch: Stopwatch,
}

/// The only worker of so many threads, and somebody else on the same table.
fn worker(threads: usize) -> (Worker, Arc<LockTable>, Owner) {
    let table = Arc::new(LockTable::with_sessions(threads, 1, Deadlocks::default()));
    let tables = Arc::new(TableLocks::new(Arc::clone(&table), Form::default()));
    let heat = Arc::new(Heat::new(threads, Rule::ByHeat, Duration::from_secs(60)));
    heat.put_in_force(Classes::new(&[(lock(1), 3)]));
    let locking = Locking::new(tables, 0, Some(heat), false, Ranges::Granules);
    let journal = Journal::new(2, None, Some(Arc::new(SerialTrace::default())));
    let committer = Committer::new(&Arc::new(journal), WorkerId(1));
    let mut other = table.owner(threads, Standing::Dynamic);
    table.begin(&mut other, 1);
    (Worker { locking, committer, watch: Stopwatch::default() }, table, other)
}

impl Worker {
    /// Runs a call up to its commit; its position.
    fn run(&mut self, footprint: &Footprint) -> Position {
        let Self { locking, committer, watch } = self;
        locking.begin(footprint, Party::Unknown, false);
        locking.acquire_cold(footprint, watch).expect("nobody parks");
        let mut call = WhileRunning { footprint, locking, watch, committer, missed: false };
        for granule in footprint.granules() {
            call.hold(granule.lock, SPACE, LockMode::Exclusive).expect("it is in the footprint");
        }
        let effect = Effect::Write { hash: 0 };
        let commit = committer.commit(locking.owner.met(), effect).expect("there is no log");
        locking.owner.commit_at(commit.position());
        commit.position()
    }
}

fn is_free(table: &LockTable, owner: &mut Owner, number: u64) -> bool {
    let free = table.try_acquire(owner, lock(number), Mode::X);
    if free {
        table.release(owner, lock(number));
    }
    free
}

#[test]
fn a_hot_lock_is_kept_for_a_call_that_needs_nothing_else() {
    let (mut worker, table, mut other) = worker(1);
    let hot = footprint(&[1]);
    for (next, is_kept) in [(&[1][..], true), (&[1, 2], false), (&[2], false)] {
        let before = worker.run(&hot);
        worker.locking.release_all(Some(&footprint(next)));
        assert_eq!(is_free(&table, &mut other, 1), !is_kept, "{next:?}");
        let after = worker.run(&footprint(next));
        assert!(after > before || !next.contains(&1), "who had lock 1 before is met: {next:?}");
        worker.locking.release_all(None);
        assert!(is_free(&table, &mut other, 1) && is_free(&table, &mut other, 2));
    }
    assert_eq!(table.requests(), 0);
}

#[test]
fn in_a_crowd_a_hot_lock_is_kept_and_given_back_before_anything_is_waited_for() {
    let (mut worker, table, mut other) = worker(CROWD);
    let more = footprint(&[1, 2]);
    let kept_at = worker.run(&more);
    worker.locking.release_all(Some(&more));
    assert!(!is_free(&table, &mut other, 1) && table.try_acquire(&mut other, lock(2), Mode::X));
    std::thread::scope(|scope| {
        let running = scope.spawn(|| {
            worker.run(&more);
            worker.locking.release_all(None);
        });
        let deadline = Ticks::from_now(Duration::from_secs(10));
        while !table.try_acquire(&mut other, lock(1), Mode::X) {
            assert!(!running.is_finished(), "lock 2 is held by somebody else");
            if deadline.has_passed() {
                table.release(&mut other, lock(2)); // so that the worker ends
                panic!("lock 1 is kept by who waits for lock 2");
            }
            std::thread::yield_now();
        }
        assert!(other.met() >= kept_at, "it was given back as of the call that had it");
        table.release(&mut other, lock(1));
        table.release(&mut other, lock(2));
    });
    assert_eq!(table.requests(), 0);
}
