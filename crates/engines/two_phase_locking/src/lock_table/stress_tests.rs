//! Many threads on few locks: mutual exclusion, no lost wake-up, no deadlock.

use hotrow_base::sync::facade::atomic::{AtomicU64, Ordering};
use std::sync::Arc;
use std::sync::mpsc;
use std::time::Duration;

use hotrow_flow::deadlock::sets::Digest;

use super::*;
use crate::policy::Victim;

const LOCKS: usize = 12;
const THREADS: usize = 8;
/// Few enough that policies which sleep through deadlocks are done in seconds.
const TRANSACTIONS: usize = 1_000;
/// Far longer than any of these tests takes: a test that is not over by then hangs.
const PATIENCE: Duration = Duration::from_secs(120);

/// Two counters that only a holder of their lock changes, and always together.
#[derive(Default)]
struct Protected {
    one: AtomicU64,
    other: AtomicU64,
}

impl Protected {
    fn read(&self) -> u64 {
        let (one, other) = (self.one.load(Ordering::Relaxed), self.other.load(Ordering::Relaxed));
        assert_eq!(one, other, "read while another holder writes");
        one
    }

    /// A load and a store: loses counts unless holders exclude each other.
    fn write(&self) {
        let count = self.read();
        self.one.store(count + 1, Ordering::Relaxed);
        std::hint::spin_loop();
        self.other.store(count + 1, Ordering::Relaxed);
    }
}

struct Stress {
    table: LockTable,
    cells: [Protected; LOCKS],
    clock: AtomicU64,
    /// threads with lower numbers ask in ascending order, as planned owners
    planned: usize,
}

impl Stress {
    fn run(deadlocks: Deadlocks, planned: usize) {
        let stress = Arc::new(Self {
            table: LockTable::with_buckets(THREADS, 4, deadlocks),
            cells: Default::default(),
            clock: AtomicU64::new(1),
            planned,
        });
        let (done, ends) = mpsc::channel();
        for number in 0..THREADS {
            let (stress, done) = (Arc::clone(&stress), done.clone());
            std::thread::spawn(move || {
                let writes = Thread::new(&stress, number).run();
                done.send(writes).expect("the test waits for all threads");
            });
        }
        drop(done);
        let mut writes = 0;
        for _ in 0..THREADS {
            writes += ends.recv_timeout(PATIENCE).expect("no thread panics, no thread hangs");
        }
        assert_eq!(stress.cells.iter().map(Protected::read).sum::<u64>(), writes);
        assert_eq!(stress.table.requests(), 0);
    }
}

struct Thread<'a> {
    stress: &'a Stress,
    owner: Owner,
    random: u64,
    held: Vec<(usize, Mode)>,
}

impl<'a> Thread<'a> {
    fn new(stress: &'a Stress, number: usize) -> Self {
        let random = 0x9e37_79b9_7f4a_7c15_u64.wrapping_mul(number as u64 + 1);
        let is_planned = number < stress.planned;
        let standing = if is_planned { Standing::Planned } else { Standing::Dynamic };
        let owner = stress.table.owner(number, standing);
        Self { stress, owner, random, held: Vec::new() }
    }

    fn random(&mut self, below: usize) -> usize {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        (self.random >> 33) as usize % below
    }

    fn run(mut self) -> u64 {
        let mut writes = 0;
        for _ in 0..TRANSACTIONS {
            let locks = self.choose();
            let age = self.stress.clock.fetch_add(1, Ordering::Relaxed);
            self.begin(age);
            while !self.acquire_all(&locks) {
                assert!(!self.is_planned(), "planned owners are not refused");
                self.release_all();
                std::thread::yield_now();
                self.begin(age);
            }
            for &(lock, mode) in &self.held {
                if mode == Mode::X {
                    self.stress.cells[lock].write();
                    writes += 1;
                } else {
                    self.stress.cells[lock].read();
                }
            }
            self.release_all();
        }
        writes
    }

    fn is_planned(&self) -> bool {
        self.owner.standing == Standing::Planned
    }

    fn begin(&mut self, age: u64) {
        // Half of them: whoever never says that it holds nothing is waited for in vain at times.
        if self.owner.number.is_multiple_of(2) {
            self.stress.table.renew(&mut self.owner);
        }
        if self.is_planned() {
            self.owner.begin();
        } else {
            self.stress.table.begin(&mut self.owner, age);
        }
    }

    /// Up to 5 locks; out of order, a lock may come twice and be converted.
    fn choose(&mut self) -> Vec<(usize, Mode)> {
        let count = 1 + self.random(5);
        let mut locks: Vec<_> = (0..count)
            .map(|_| {
                let mode = if self.random(2) == 0 { Mode::S } else { Mode::X };
                (self.random(LOCKS), mode)
            })
            .collect();
        if self.is_planned() {
            // Strongest mode first, so that it is the one that stays.
            locks.sort_by_key(|&(lock, mode)| (lock, mode == Mode::S));
            locks.dedup_by_key(|&mut (lock, _)| lock);
        }
        locks
    }

    fn acquire_all(&mut self, locks: &[(usize, Mode)]) -> bool {
        for &(lock, mode) in locks {
            let table = &self.stress.table;
            let granted = match table.acquire(&mut self.owner, identity(lock), mode) {
                Acquired::Granted => true,
                Acquired::Waiting => table.wait(&mut self.owner, identity(lock)).is_ok(),
                Acquired::Refused(_) => false,
            };
            if !granted {
                return false;
            }
            match self.held.iter_mut().find(|(held, _)| *held == lock) {
                Some((_, held)) => *held = held.join(mode),
                None => self.held.push((lock, mode)),
            }
        }
        true
    }

    fn release_all(&mut self) {
        for (lock, _) in self.held.drain(..) {
            self.stress.table.release(&mut self.owner, identity(lock));
        }
    }
}

/// Spreads locks over the 4 buckets.
fn identity(lock: usize) -> u64 {
    (lock as u64) << 62 | lock as u64
}

/// Dynamic owners alone, then planned ones among them.
fn check(deadlocks: Deadlocks) {
    Stress::run(deadlocks, 0);
    Stress::run(deadlocks, THREADS / 2);
}

#[test]
fn ordered_acquisition_always_gets_through() {
    Stress::run(Deadlocks::default(), THREADS);
}

#[test]
fn no_wait_gets_through_in_random_order() {
    check(Deadlocks::of(Policy::NoWait));
}

#[test]
fn wait_die_gets_through_in_random_order() {
    check(Deadlocks::of(Policy::WaitDie));
}

#[test]
fn wound_wait_gets_through_in_random_order() {
    check(Deadlocks::of(Policy::WoundWait));
}

#[test]
fn a_wait_for_graph_gets_through_with_any_victim() {
    for victim in [Victim::Young, Victim::KillLong, Victim::KillShort] {
        check(Deadlocks { victim, ..Deadlocks::of(Policy::WaitForGraph) });
    }
}

#[test]
fn dreadlocks_get_through_with_any_digest_and_any_way_of_waiting() {
    for digest in [Digest::Bitmap, Digest::Bloom] {
        for waiting in [Waiting::Spin, Waiting::Yield, Waiting::Sleep, Waiting::BackOff] {
            check(Deadlocks { digest, waiting, ..Deadlocks::of(Policy::Dreadlocks) });
        }
    }
}

#[test]
fn time_outs_get_through_in_random_order() {
    let time_out = Duration::from_micros(200);
    check(Deadlocks { time_out, ..Deadlocks::of(Policy::TimeOut) });
}
