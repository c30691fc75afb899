//! Classes that change under heavy contention, at quiet points and, to see that it matters, not.

use hotrow_base::sync::facade::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use hotrow_base::clock::Ticks;
use hotrow_base::ids::{IndexId, WorkerId};
use hotrow_engine::journal::{Committer, Journal};
use hotrow_engine::protection::Protection;
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
/// Calls of a turn.
const CALLS: usize = 3;
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

/// Which locks somebody is behind, as those find who hold them.
type Inside = [AtomicBool; LOCKS as usize];

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
        let inside = Arc::<Inside>::default();
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
            let inside = Arc::clone(&inside);
            std::thread::spawn(move || {
                let mut random = Random(number as u64 + 1);
                let mut watch = Stopwatch::default();
                let mut turn: [Footprint; CALLS] = Default::default();
                while !stop.load(Ordering::Relaxed) {
                    shared.gate().enter(number + 1);
                    turn.iter_mut().for_each(|footprint| draw(footprint, &mut random));
                    for (at, footprint) in turn.iter().enumerate() {
                        let first = random.below(LOCKS);
                        let mut held = WhileRunning {
                            footprint,
                            locking: &mut locking,
                            watch: &mut watch,
                            committer: &committer,
                            missed: false,
                        };
                        lock_all(&mut held, first, &inside);
                        locking.release_all(turn.get(at + 1));
                    }
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

/// What a call locks.
fn draw(footprint: &mut Footprint, random: &mut Random) {
    footprint.clear();
    for number in 0..LOCKS {
        if random.below(3) > 0 {
            footprint.join(lock(number), SPACE, LockMode::Exclusive);
        }
    }
}

/// Runs a call up to where it releases its locks: nobody else is behind one of them.
fn lock_all(call: &mut WhileRunning<'_>, first: u64, inside: &Inside) {
    call.locking.begin(call.footprint, Party::Unknown, false);
    call.locking.acquire_cold(call.footprint, call.watch).expect("nobody parks");
    let needed = |number: &u64| call.footprint.covers(lock(*number), LockMode::Exclusive);
    let needed: Vec<_> = (0..LOCKS).filter(needed).collect();
    for number in (first..LOCKS).chain(0..first) {
        // What is not in the footprint is refused, and nothing else.
        let held = call.hold(lock(number), SPACE, LockMode::Exclusive);
        assert_eq!(held.is_ok(), needed.contains(&number));
    }
    for &number in &needed {
        assert!(!inside[number as usize].swap(true, Ordering::Relaxed), "two are behind a lock");
    }
    for &number in &needed {
        inside[number as usize].store(false, Ordering::Relaxed);
    }
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
