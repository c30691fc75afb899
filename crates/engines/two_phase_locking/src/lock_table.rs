//! The lock table: who holds and who waits for which granule, latched bucket by bucket.
//!
//! Role         runners acquire and release locks here by their 64-bit identity; the table knows
//!              no keys, no tables and no deadlocks beyond the [`Policy`] it is asked to follow
//! States       a request: (absent) -> granted | waiting -> granted -> (absent); granted ->
//!              converting -> granted; a waiting or converting one may also be refused
//! Invariants   I1 granted modes of one lock are compatible with each other
//!              I2 fair: a request that would disturb an earlier waiting one waits behind it;
//!                 only conversions pass ordinary requests, because their owner holds the lock
//!                 already and everybody else may be waiting for just that
//!              I3 an owner waits for one lock at a time
//!              I4 under wait-die every transaction that waits is older than all it waits for, at
//!                 any time: a conversion that comes to stand before a younger waiter refuses it
//!              I5 who is granted a lock has met the position of whoever released it in a
//!                 conflicting mode before, or a greater one: a bucket keeps the greatest position
//!                 of all that were released in it (its tag), and it is read at each grant
//! Concurrency  a bucket -> whoever holds its latch; an owner's waiting cell -> see
//!              [`crate::waiting`]. No two latches are held at once
//! Source       per-bucket latches and no allocator on the path: orthrus.txt 4 ("two important
//!              multi-core specific optimizations"); wait-die: same section. We differ: time
//!              stamps are kept over restarts, so that the oldest transaction always gets through
//!
//! Measured (callgrind, `examples/lock_cost.rs`): an uncontended lock costs 60 instructions to
//! acquire and release together; 26 of them, as many as a TPC-C order has, cost 1,560.

mod bucket;
mod modes;
mod requests;

#[cfg(test)]
mod model_tests;
#[cfg(test)]
mod stress_tests;
#[cfg(test)]
mod tests;

use std::time::Duration;

use crossbeam_utils::CachePadded;
use hotrow_base::sync::{Latch, LatchGuard};
use hotrow_base::thread::available_cores;
use hotrow_log::position::Position;
use hotrow_transaction::granule::LockMode;
use hotrow_transaction::outcome::Conflict;

use crate::policy::Policy;
use crate::waiting::{Verdict, WaitingCell};
use bucket::Bucket;

/// Buckets per owner: with some 30 locks each, a bucket has another lock in it once in 30 looks.
const BUCKETS_PER_OWNER: usize = 1024;
const BUCKETS_MIN: usize = 4096;

/// The answer to a request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Acquired {
    /// the lock is held
    Granted,
    /// the request stands in the queue; [`LockTable::wait`] tells what becomes of it
    Waiting,
    /// the policy forbids to wait; what was held before is still held
    Refused(Conflict),
}

/// A transaction that asks for locks: one per worker, used for one transaction after the other.
#[derive(Debug)]
pub struct Owner {
    number: u32,
    /// the greatest tag of the locks acquired since the transaction began
    met: Position,
    /// what released locks are tagged with
    position: Position,
    /// owners to wake once the latch is free
    told: Vec<u32>,
}

impl Owner {
    /// Begins a transaction, which has met nobody.
    #[inline]
    pub fn begin(&mut self) {
        (self.met, self.position) = (Position::default(), Position::default());
    }

    /// The greatest position of a transaction that this one follows on some lock (I5).
    #[inline]
    pub fn met(&self) -> Position {
        self.met
    }

    /// From now on locks are released as by a transaction that stands there in the serial order;
    /// one that was undone stands nowhere, at zero.
    #[inline]
    pub fn commit_at(&mut self, position: Position) {
        self.position = position;
    }

    #[inline]
    fn meet(&mut self, tag: Position) {
        self.met = self.met.max(tag);
    }
}

/// See the module.
#[derive(Debug)]
pub struct LockTable {
    buckets: Box<[CachePadded<Latch<Bucket>>]>,
    /// 64 minus the logarithm of the number of buckets
    shift: u32,
    cells: Box<[CachePadded<WaitingCell>]>,
    /// how long a waiting owner spins before it sleeps
    spin: Duration,
}

/// A lock is waited for about as long as a transaction holds it (10 to 50 us here); going to sleep
/// and being woken costs as much again, twice per hand-over.
const SPIN: Duration = Duration::from_micros(50);

impl LockTable {
    /// A table for the owners `0..owners`.
    pub fn new(owners: usize) -> Self {
        let buckets = (owners * BUCKETS_PER_OWNER).max(BUCKETS_MIN).next_power_of_two();
        Self::with_buckets(owners, buckets)
    }

    /// A table with a given number of buckets, a power of two of at least 2.
    fn with_buckets(owners: usize, buckets: usize) -> Self {
        assert!(buckets >= 2 && buckets.is_power_of_two(), "buckets are addressed by high bits");
        Self {
            buckets: (0..buckets).map(|_| CachePadded::default()).collect(),
            shift: u64::BITS - buckets.trailing_zeros(),
            cells: (0..owners).map(|_| CachePadded::default()).collect(),
            // With fewer cores than owners, the holder may need this core.
            spin: if owners <= available_cores().len() { SPIN } else { Duration::ZERO },
        }
    }

    /// The owner with this number; there must be only one at a time.
    pub fn owner(&self, number: usize) -> Owner {
        assert!(number < self.cells.len(), "the table was made for fewer owners");
        Owner {
            number: number as u32,
            met: Position::default(),
            position: Position::default(),
            told: Vec::with_capacity(self.cells.len()),
        }
    }

    /// Makes the owner's transaction `age` old: the lower, the older; equal ages are told apart
    /// by owner. Only [`Policy::WaitDie`] looks at it. It is kept from attempt to attempt.
    pub fn set_age(&self, owner: &Owner, age: u64) {
        self.cells[owner.number as usize].set_age(age);
    }

    /// Asks for a lock. Held already in a mode that includes `mode`, it is granted; in another
    /// mode, the lock is converted to the join of both.
    #[inline]
    pub fn acquire(
        &self,
        owner: &mut Owner,
        lock: u64,
        mode: LockMode,
        policy: Policy,
    ) -> Acquired {
        let mut bucket = self.bucket(lock);
        if bucket.grant_at_once(lock, owner.number, mode) {
            owner.meet(bucket.tag);
            return Acquired::Granted;
        }
        self.acquire_met(bucket, owner, lock, mode, policy)
    }

    /// The lock is held or waited for by somebody.
    #[inline(never)]
    fn acquire_met(
        &self,
        mut bucket: LatchGuard<'_, Bucket>,
        owner: &mut Owner,
        lock: u64,
        mode: LockMode,
        policy: Policy,
    ) -> Acquired {
        self.cells[owner.number as usize].reset();
        let mut crowd = Crowd { cells: &self.cells, told: &mut owner.told };
        let acquired = bucket.ask(lock, owner.number, mode, policy, &mut crowd);
        let tag = bucket.tag;
        drop(bucket);
        owner.meet(tag);
        self.wake(owner);
        acquired
    }

    /// Waits for the end of the request for `lock`, which was answered with
    /// [`Acquired::Waiting`].
    pub fn wait(&self, owner: &mut Owner, lock: u64) -> Result<(), Conflict> {
        match self.cells[owner.number as usize].wait(self.spin) {
            Verdict::Granted => {
                // Who granted it has tagged the bucket before, under its latch.
                let tag = self.bucket(lock).tag;
                owner.meet(tag);
                Ok(())
            }
            Verdict::Refused => Err(Conflict::Die),
        }
    }

    /// Gives a lock back, which the owner holds, and tags its bucket with the owner's position.
    #[inline]
    pub fn release(&self, owner: &mut Owner, lock: u64) {
        let mut bucket = self.bucket(lock);
        bucket.tag = bucket.tag.max(owner.position);
        if bucket.remove(lock, owner.number) {
            self.grant_next(bucket, owner, lock);
        }
    }

    #[inline(never)]
    fn grant_next(&self, mut bucket: LatchGuard<'_, Bucket>, owner: &mut Owner, lock: u64) {
        let mut crowd = Crowd { cells: &self.cells, told: &mut owner.told };
        bucket.grant_waiting(lock, &mut crowd);
        drop(bucket);
        self.wake(owner);
    }

    /// Wakes whom a change concerned, outside the latch: waking may be a system call.
    fn wake(&self, owner: &mut Owner) {
        for other in owner.told.drain(..) {
            self.cells[other as usize].wake();
        }
    }

    #[inline]
    fn bucket(&self, lock: u64) -> LatchGuard<'_, Bucket> {
        // High bits: low ones address the footprint's cells, and identities in ascending order
        // then walk through the table in ascending order.
        self.buckets[(lock >> self.shift) as usize].lock()
    }

    /// Number of requests in the whole table, for tests and reports.
    pub fn requests(&self) -> usize {
        self.buckets.iter().map(|bucket| bucket.lock().len()).sum()
    }
}

/// All owners, as seen by a bucket that answers their requests.
struct Crowd<'a> {
    cells: &'a [CachePadded<WaitingCell>],
    told: &'a mut Vec<u32>,
}

impl Crowd<'_> {
    /// Tells an owner what became of its request.
    fn tell(&mut self, owner: u32, verdict: Verdict) {
        self.cells[owner as usize].decide(verdict);
        self.told.push(owner);
    }

    /// Whether one owner's transaction began before another's.
    fn is_older(&self, one: u32, other: u32) -> bool {
        let age = |owner: u32| (self.cells[owner as usize].age(), owner);
        age(one) < age(other)
    }
}
