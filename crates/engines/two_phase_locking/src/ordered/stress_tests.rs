//! Classes that change under heavy contention, at quiet points and, to see that it matters, not.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use hotrow_base::clock::Ticks;
use hotrow_base::ids::{IndexId, WorkerId};
use hotrow_engine::journal::{Committer, Journal};
use hotrow_engine::schema::{Memory, Schema, SharedSchema};
use hotrow_engine::statistics::Stopwatch;
use hotrow_engine::waits::Party;
use hotrow_transaction::granule::{LockMode, Space};
use hotrow_transaction::plan::Footprint;

use super::locking::{Locking, WhileRunning};
use crate::heat::{Classes, Heat, Rule};
use crate::intents::{Form, TableLocks};
use crate::key_range::Ranges;
use crate::lock_table::LockTable;
use crate::policy::Deadlocks;

const THREADS: usize = 4;
const LOCKS: u64 = 6;
const SPACE: Space = Space::Index(IndexId(0));
/// Far longer than anything takes that is not a deadlock.
const PATIENCE: Duration = Duration::from_secs(4);

struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 33) % limit
    }
}

fn lock(number: u64) -> u64 {
    SPACE.lock_id(&number.to_be_bytes())
}

/// Workers that lock most of a few locks each time, and count how often they did.
struct Crowd {
    shared: Arc<SharedSchema>,
    heat: Arc<Heat>,
    rounds: Arc<AtomicU64>,
    stop: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

impl Crowd {
    fn start() -> Self {
        let schema = Schema::empty(Arc::new(Memory::new(THREADS + 1, 1 << 20)));
        let shared = Arc::new(SharedSchema::new(schema, THREADS + 1));
        let heat = Arc::new(Heat::new(THREADS, Rule::ByHeat, Duration::ZERO));
        let table = Arc::new(LockTable::new(THREADS, Deadlocks::default()));
        let tables = Arc::new(TableLocks::new(table, Form::default()));
        let (rounds, stop) = (Arc::<AtomicU64>::default(), Arc::<AtomicBool>::default());
        let worker = |number: usize| {
            let mut locking = Locking::new(
                Arc::clone(&tables),
                number,
                Some(Arc::clone(&heat)),
                false,
                Ranges::Granules,
            );
            let journal = Arc::new(Journal::new(THREADS + 1, None, None));
            let committer = Committer::new(&journal, WorkerId(number as u16 + 1));
            let (shared, rounds, stop) = (shared.clone(), rounds.clone(), stop.clone());
            std::thread::spawn(move || {
                let mut random = Random(number as u64 + 1);
                let (mut footprint, mut watch) = (Footprint::default(), Stopwatch::default());
                while !stop.load(Ordering::Relaxed) {
                    shared.gate().enter(number + 1);
                    lock_some(&mut locking, &mut footprint, &mut random, &mut watch, &committer);
                    shared.gate().leave(number + 1);
                    rounds.fetch_add(1, Ordering::Relaxed);
                }
            })
        };
        let threads = (0..THREADS).map(worker).collect();
        Self { shared, heat, rounds, stop, threads }
    }

    /// Other classes.
    fn change(&self, random: &mut Random) {
        let hot: Vec<_> = (0..LOCKS)
            .map(|number| (lock(number), random.below(4) as u8))
            .filter(|&(_, class)| class > 0)
            .collect();
        self.heat.put_in_force(Classes::new(&hot));
    }

    /// Whether somebody gets on.
    fn goes_on(&self) -> bool {
        let (before, deadline) = (self.rounds.load(Ordering::Relaxed), Ticks::from_now(PATIENCE));
        while self.rounds.load(Ordering::Relaxed) == before {
            if deadline.has_passed() {
                return false;
            }
            std::thread::yield_now();
        }
        true
    }

    fn end(self) {
        self.stop.store(true, Ordering::Relaxed);
        self.threads.into_iter().for_each(|thread| thread.join().expect("no worker panics"));
    }
}

fn lock_some(
    locking: &mut Locking,
    footprint: &mut Footprint,
    random: &mut Random,
    watch: &mut Stopwatch,
    committer: &Committer,
) {
    footprint.clear();
    for number in 0..LOCKS {
        if random.below(3) > 0 {
            footprint.join(lock(number), SPACE, LockMode::Exclusive);
        }
    }
    locking.begin(footprint, Party::Unknown, false);
    locking.acquire_cold(footprint, watch);
    let missed = false;
    let mut last = WhileRunning { footprint, locking, watch, committer, missed };
    let first = random.below(LOCKS);
    for number in (first..LOCKS).chain(0..first) {
        // What is not in the footprint is refused, and nothing else.
        let held = hotrow_engine::protection::Protection::hold(
            &mut last,
            lock(number),
            SPACE,
            LockMode::Exclusive,
        );
        assert_eq!(held.is_ok(), footprint.covers(lock(number), LockMode::Exclusive));
    }
    locking.release_all();
}

#[test]
fn classes_that_change_at_quiet_points_deadlock_nobody() {
    let crowd = Crowd::start();
    let mut random = Random(7);
    for change in 0..300 {
        {
            let _quiet = crowd.shared.quiet();
            crowd.change(&mut random);
        }
        assert!(crowd.goes_on(), "everybody waits after change {change}");
    }
    crowd.end();
}

/// The quiet point is what keeps deadlocks out: without it there is one soon. Its threads wait for
/// each other until the process ends.
#[test]
fn classes_that_change_under_transactions_deadlock() {
    let crowd = Crowd::start();
    let mut random = Random(7);
    let mut goes_on = true;
    for _ in 0..1_000_000 {
        crowd.change(&mut random);
        let before = crowd.rounds.load(Ordering::Relaxed);
        goes_on = (0..1000).any(|_| {
            std::thread::yield_now();
            crowd.rounds.load(Ordering::Relaxed) != before
        }) || crowd.goes_on();
        if !goes_on {
            break;
        }
    }
    assert!(!goes_on, "two orders at a time must close a cycle of waiting");
}
