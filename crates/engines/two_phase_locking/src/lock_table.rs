//! The lock table: who holds and who waits for which lock, latched bucket by bucket.
//!
//! Role         runners acquire and release locks here by their 64-bit identity; the table knows
//!              no keys, no tables and no deadlocks beyond the policy it was made with
//! States       a request: (absent) -> granted | waiting -> granted -> (absent); granted ->
//!              converting -> granted; a waiting or converting one may also be refused, or taken
//!              back by its owner
//! Invariants   I1 granted modes of one lock are compatible with each other
//!              I2 fair: a request that would disturb an earlier waiting one waits behind it;
//!                 only conversions pass ordinary requests, because their owner holds the lock
//!                 already and everybody else may be waiting for just that
//!              I3 an owner waits for one lock at a time
//!              I4 under wait-die every transaction that waits is older than all it waits for, at
//!                 any time: a conversion that comes to stand before a younger waiter refuses it.
//!                 Under wound-wait it is younger than all it waits for, or those are doomed
//!              I5 who is granted a lock has met the position of whoever released it in a
//!                 conflicting mode before, or a greater one: a bucket keeps the greatest position
//!                 of all that were released in it (its tag), and it is read at each grant
//!              I6 planned owners are older than all others, wait for anybody, and are never
//!                 refused; since they wait for each other only in the order of their locks, every
//!                 cycle of waiting has a dynamic owner in it. Planned calls of sessions
//!                 ([`Standing::Ahead`]) wait in the same way, but have an age: in a cycle the
//!                 youngest is undone of all that are not planned
//!              I7 threads wait for threads: what waits for a session waits [`outside`]
//! Concurrency  a bucket -> whoever holds its latch; an owner's waiting cell -> see
//!              [`crate::waiting`]. No two latches are held at once
//! Source       per-bucket latches and no allocator on the path: orthrus.txt 4 ("two important
//!              multi-core specific optimizations"); wait-die: same section; conversions and
//!              fairness: locking.txt 4.2. We differ: time stamps are kept over restarts, so that
//!              the oldest transaction always gets through; tags (locking.txt 5.3) are positions
//!              and stand on buckets
//!
//! Measured (callgrind, `examples/lock_cost.rs`): an uncontended lock costs 60 instructions to
//! acquire and release together; 26 of them, as many as a TPC-C order has, cost 1,560.

mod bucket;
mod modes;
mod outside;
mod requests;
mod wait;

#[cfg(test)]
mod model_tests;
#[cfg(test)]
mod stress_tests;
#[cfg(test)]
mod tests;

use hotrow_base::sync::facade::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::fmt;
use std::sync::Arc;

use crossbeam_utils::CachePadded;
use hotrow_base::clock::Ticks;
use hotrow_base::interrupt::{Interrupt, WaitingForLock};
use hotrow_base::sync::{Latch, LatchGuard, Spin};
use hotrow_engine::lock_mode::Mode;
use hotrow_engine::schema::SharedSchema;
use hotrow_engine::source::Bell;
use hotrow_engine::waits::{self, Awaited, Party, WaitBook, Waited};
use hotrow_flow::deadlock::dreadlocks::Dreadlocks;
use hotrow_flow::deadlock::graph::{self, OwnerVersion, Search};
use hotrow_flow::deadlock::sets::SetForm;
use hotrow_flow::deadlock::{Cells, Waiter};
use hotrow_log::position::Position;
use hotrow_transaction::outcome::Conflict;

use crate::policy::{Deadlocks, Policy, Waiting};
use crate::waiting::{Verdict, WaitingCell};
use bucket::Bucket;
use outside::{Outside, Queueing};

/// Buckets per owner: with some 30 locks each, a bucket has another lock in it once in 30 looks.
const BUCKETS_PER_OWNER: usize = 1024;
const BUCKETS_MIN: usize = 4096;
/// 4 MiB of buckets.
const BUCKETS_MAX: usize = 32768;

/// The answer to a request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Acquired {
    /// the lock is held
    Granted,
    /// the request stands in the queue; [`LockTable::wait`] tells what becomes of it
    Waiting,
    /// the policy forbids to wait, or it must be done outside ([`Conflict::Parked`]); what was held
    /// before is still held
    Refused(Conflict),
}

/// How an owner's transactions come to their locks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Standing {
    /// all in one global order, each once: they only ever wait (I6)
    Planned,
    /// as planned ones, but undone in favour of older dynamic ones: a session's first call, which
    /// is repeated unseen
    Ahead,
    /// as they go, under the table's policy
    Dynamic,
}

/// A transaction that asks for locks: one per worker, used for one transaction after the other.
#[derive(Debug)]
pub struct Owner {
    number: u32,
    /// what edges to it are called
    version: OwnerVersion,
    standing: Standing,
    /// the greatest tag of the locks acquired since the transaction began
    met: Position,
    /// what released locks are tagged with
    position: Position,
    /// who was in the way of its last request that waited
    holder: Party,
    /// owners to wake once the latch is free
    told: Vec<u32>,
    search: Search,
    dreadlocks: Dreadlocks,
    /// whom its request waited for when its queue was last looked at, and with which of their
    /// transactions
    in_the_way: Vec<(u32, u32)>,
    /// whose quiet points it gives way to
    attends: Option<Attended>,
    /// what ends its waits
    heeds: Option<Arc<Interrupt>>,
    /// where its calls wait for sessions, if they may
    outside: Option<Box<Outside>>,
}

/// Whose quiet points an owner gives way to.
struct Attended(Arc<SharedSchema>);

impl fmt::Debug for Attended {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Attended").finish_non_exhaustive()
    }
}

impl Owner {
    /// From now on it leaves queues when somebody wants a quiet point: whoever it waits for may
    /// be waiting outside the gate for that to be over, while the quiet point waits for the owner.
    /// For sessions, whose transactions are parked outside; who queues for workers only need not.
    pub fn attend_to_quiet(&mut self, schema: Arc<SharedSchema>) {
        self.attends = Some(Attended(schema));
    }

    /// Whether it is a session's: it holds what it has while its client thinks, and gives way to
    /// quiet points.
    #[inline]
    pub fn is_session(&self) -> bool {
        self.attends.is_some()
    }

    /// Whether its calls wait for sessions outside.
    pub fn may_park(&self) -> bool {
        self.outside.is_some()
    }

    /// From now on its waits end when this says so.
    pub fn heed(&mut self, interrupt: &Arc<Interrupt>) {
        self.heeds = Some(Arc::clone(interrupt));
    }

    /// Tells whoever asks that its statement waits, until this is dropped.
    pub fn tell_wait(&self) -> Option<WaitingForLock> {
        self.heeds.as_ref().map(Interrupt::wait_for_lock)
    }

    /// Until when a wait that begins now may last, for who waits.
    pub fn lock_deadline(&self) -> Option<Ticks> {
        self.heeds.as_ref().and_then(|interrupt| interrupt.lock_deadline())
    }

    /// Why it may wait no longer: it is interrupted, by its lock's deadline for one, or a quiet
    /// point is wanted to which it gives way.
    pub fn called_away(&self, lock_deadline: Option<Ticks>) -> Option<Conflict> {
        let is_over = |interrupt: &Arc<Interrupt>| interrupt.check_wait(lock_deadline).is_err();
        if self.heeds.as_ref().is_some_and(is_over) {
            return Some(Conflict::Interrupt);
        }
        let attends = self.attends.as_ref();
        let wants_quiet = attends.is_some_and(|Attended(schema)| schema.gate().wants_quiet());
        wants_quiet.then_some(Conflict::Quiet)
    }

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

    /// What released locks are tagged with.
    #[inline]
    pub fn position(&self) -> Position {
        self.position
    }

    /// How its transactions come to their locks.
    #[inline]
    pub fn standing(&self) -> Standing {
        self.standing
    }

    /// Says who is in the way of the request that is going to wait.
    pub fn set_holder(&mut self, holder: Party) {
        self.holder = holder;
    }

    /// Follows whoever left this tag.
    #[inline]
    pub fn meet(&mut self, tag: Position) {
        self.met = self.met.max(tag);
    }
}

/// All locks of an engine, in buckets by identity, and a waiting cell for each owner.
#[derive(Debug)]
pub struct LockTable {
    buckets: Box<[CachePadded<Latch<Bucket>>]>,
    /// 64 minus the logarithm of the number of buckets
    shift: u32,
    cells: Box<Cells<WaitingCell>>,
    /// what each owner has waited for: written by it when it has waited, read by whoever asks
    books: Box<[CachePadded<Latch<WaitBook>>]>,
    deadlocks: Deadlocks,
    /// how the sets of owners in cells are kept
    form: SetForm,
    /// how long a waiting owner spins before it sleeps, if it is a thread of its own
    spin: Spin,
    /// owners from this one on are sessions
    threads: u32,
    /// how many; those behind them are stand-ins
    sessions: u32,
    /// whether some owner is a planned one
    has_planned: AtomicBool,
    /// where it has: other owners that wait, without whom no cycle closes (I6)
    dynamic_waits: CachePadded<AtomicUsize>,
    /// locks that are waited for outside without a stand-in
    nowhere: CachePadded<AtomicUsize>,
    /// of threads whose calls may wait outside
    bells: Latch<Vec<Arc<dyn Bell>>>,
}

impl LockTable {
    /// What becomes of a request that is not granted at once.
    pub fn policy(&self) -> Policy {
        self.deadlocks.policy
    }

    /// A table for the owners `0..owners`.
    pub fn new(owners: usize, deadlocks: Deadlocks) -> Self {
        Self::with_sessions(owners, 0, deadlocks)
    }

    /// A table for the owners `0..threads`, which are threads of their own, and for as many more as
    /// there are `sessions`, most of which are idle.
    pub fn with_sessions(threads: usize, sessions: usize, deadlocks: Deadlocks) -> Self {
        let buckets = (threads * BUCKETS_PER_OWNER).clamp(BUCKETS_MIN, BUCKETS_MAX);
        let stand_ins = if sessions > 0 { threads * Self::stand_ins(threads) } else { 0 };
        let owners = threads + sessions + stand_ins;
        let table = Self::with_buckets(owners, buckets.next_power_of_two(), deadlocks);
        let (spin, threads, sessions) =
            (Spin::for_threads(threads), threads as u32, sessions as u32);
        Self { spin, threads, sessions, ..table }
    }

    /// A table with a given number of buckets, a power of two of at least 2.
    fn with_buckets(owners: usize, buckets: usize, deadlocks: Deadlocks) -> Self {
        assert!(buckets >= 2 && buckets.is_power_of_two(), "buckets are addressed by high bits");
        assert!(owners <= OwnerVersion::OWNERS_MAX, "a word names an owner and its generation");
        let (form, words) = match deadlocks.policy {
            Policy::Dreadlocks => {
                let form = SetForm::of(deadlocks.digest, owners);
                (form, form.words())
            }
            _ => (SetForm::bitmap(owners), 0), // nobody has a digest
        };
        let cell = |_| CachePadded::new(WaitingCell::new(owners, words));
        Self {
            buckets: (0..buckets).map(|_| CachePadded::default()).collect(),
            shift: u64::BITS - buckets.trailing_zeros(),
            cells: (0..owners).map(cell).collect(),
            books: (0..owners).map(|_| CachePadded::new(Latch::new(WaitBook::new()))).collect(),
            deadlocks,
            form,
            spin: Spin::for_threads(owners),
            threads: owners as u32,
            sessions: 0,
            has_planned: AtomicBool::new(false),
            dynamic_waits: CachePadded::default(),
            nowhere: CachePadded::default(),
            bells: Latch::default(),
        }
    }

    /// The owner with this number; there must be only one at a time.
    pub fn owner(&self, number: usize, standing: Standing) -> Owner {
        assert!(number < self.cells.len(), "the table was made for fewer owners");
        let cell = &self.cells[number];
        cell.set_planned(standing == Standing::Planned);
        if standing == Standing::Planned {
            self.has_planned.store(true, Ordering::Relaxed); // before its thread starts
        }
        cell.set_age(0);
        let owner = number as u32;
        let mut dreadlocks = Dreadlocks::new(self.form, owner);
        if self.deadlocks.policy == Policy::Dreadlocks {
            dreadlocks.run(&self.cells);
        }
        Owner {
            number: owner,
            version: OwnerVersion::new(owner, cell.renew()),
            standing,
            met: Position::default(),
            position: Position::default(),
            holder: Party::Unknown,
            told: Vec::with_capacity(self.cells.len()),
            search: Search::new(self.cells.len()),
            dreadlocks,
            in_the_way: Vec::with_capacity(self.cells.len()),
            attends: None,
            heeds: None,
            outside: None,
        }
    }

    /// Begins a transaction of a dynamic owner, or another attempt of one. `age`: the lower, the
    /// older, and at least 1; equal ages are told apart by owner. A transaction keeps it from
    /// attempt to attempt, so that it is the oldest some day.
    pub fn begin(&self, owner: &mut Owner, age: u64) {
        debug_assert!(age > 0 && owner.standing == Standing::Dynamic, "planned ones are oldest");
        let cell = &self.cells[owner.number as usize];
        cell.begin();
        cell.set_age(age);
        owner.begin();
    }

    /// The owner holds nothing and waits for nothing: edges that lead to it until now lead nowhere.
    /// Where that is never said nothing goes wrong, but looking for cycles takes longer.
    #[inline]
    pub fn renew(&self, owner: &mut Owner) {
        let generation = self.cells[owner.number as usize].renew();
        owner.version = OwnerVersion::new(owner.number, generation);
    }

    /// Ends a dynamic owner's transaction, which has released all its locks: with dreadlocks,
    /// whoever waited for it hears of it now, and not when the next one begins and may stand behind
    /// them in a queue.
    #[inline]
    pub fn end(&self, owner: &Owner) {
        if self.deadlocks.policy == Policy::Dreadlocks {
            self.cells[owner.number as usize].begin();
        }
    }

    /// Has a dynamic owner's transaction, which holds nothing, ask for locks as planned ones do
    /// from now on, or, when that part is over, as it goes. For tables whose policy asks for no
    /// ages when a request is made: those it waits for may be older and younger.
    pub fn set_ahead(&self, owner: &mut Owner, is_ahead: bool) {
        debug_assert!(owner.standing != Standing::Planned, "it has an age");
        debug_assert!(self.deadlocks.policy == Policy::WaitForGraph, "it asks for no ages");
        owner.standing = if is_ahead { Standing::Ahead } else { Standing::Dynamic };
    }

    /// What an owner's transaction is.
    pub fn party(&self, owner: &Owner) -> Party {
        self.cells[owner.number as usize].party()
    }

    /// Says what the owner's transaction is, for those who ask who waits for whom.
    #[inline]
    pub fn set_party(&self, owner: &Owner, party: Party) {
        self.cells[owner.number as usize].set_party(party);
    }

    /// Who waited for whom since the start, the longest waits first.
    pub fn waits(&self) -> Vec<(Awaited, Waited)> {
        waits::sum(self.books.iter().map(|book| book.lock().clone()))
    }

    /// Says how many transactions of the owner's flush pipeline have finished, by which victims
    /// may be chosen.
    pub fn set_completed(&self, owner: &Owner, completed: u64) {
        self.cells[owner.number as usize].set_completed(completed);
    }

    /// Asks for a lock. Held already in a mode that includes `mode`, it is granted; in another
    /// mode, the lock is converted to the join of both.
    #[inline]
    pub fn acquire(&self, owner: &mut Owner, lock: u64, mode: Mode) -> Acquired {
        self.acquire_queued(owner, (lock, mode), Queueing::Leaves)
    }

    /// As [`LockTable::acquire`], but where it must be waited for outside, a place is kept in the
    /// queue: for who comes back for just this lock.
    #[inline]
    pub fn acquire_in_turn(&self, owner: &mut Owner, lock: u64, mode: Mode) -> Acquired {
        self.acquire_queued(owner, (lock, mode), Queueing::Keeps)
    }

    #[inline(always)]
    fn acquire_queued(
        &self,
        owner: &mut Owner,
        (lock, mode): (u64, Mode),
        queueing: Queueing,
    ) -> Acquired {
        let mut bucket = self.bucket(lock);
        if bucket.grant_at_once(lock, owner.version, mode) {
            owner.meet(bucket.tag);
            return Acquired::Granted;
        }
        self.acquire_met(bucket, owner, (lock, mode), queueing)
    }

    /// The lock is held or waited for by somebody.
    #[inline(never)]
    fn acquire_met(
        &self,
        mut bucket: LatchGuard<'_, Bucket>,
        owner: &mut Owner,
        (lock, mode): (u64, Mode),
        queueing: Queueing,
    ) -> Acquired {
        let cell = &self.cells[owner.number as usize];
        cell.reset();
        let policy = match owner.standing {
            Standing::Planned | Standing::Ahead => self.deadlocks.policy.of_planned(),
            Standing::Dynamic => self.deadlocks.policy,
        };
        let mut crowd = Crowd { table: self, told: &mut owner.told };
        let mut acquired = bucket.ask(lock, owner.version, mode, policy, &mut crowd);
        let tag = bucket.tag;
        if acquired == Acquired::Waiting {
            let first = bucket.in_the_way(lock, owner.number).next();
            owner.holder = first.map_or(Party::Unknown, |first| self.cells[first as usize].party());
            cell.set_waits_for(lock);
            if owner.may_park() && self.waits_for_outside(&bucket, lock, owner.number) {
                acquired = self.send_outside(&mut bucket, owner, (lock, mode), queueing);
            }
        } else if let Acquired::Refused(_) = acquired
            && owner.may_park()
            && self.is_claimed_outside(&bucket, lock, mode)
        {
            acquired = self.stay_outside(owner, lock, mode);
        }
        drop(bucket);
        owner.meet(tag);
        self.wake(owner);
        acquired
    }

    /// Asks for a lock and does not wait: false, and nothing has changed, when it is not free.
    #[inline]
    pub fn try_acquire(&self, owner: &mut Owner, lock: u64, mode: Mode) -> bool {
        let mut bucket = self.bucket(lock);
        let granted = bucket.grant_without_waiting(lock, owner.version, mode);
        if granted {
            owner.meet(bucket.tag);
        }
        granted
    }

    /// Whether somebody else holds or waits for a lock in a mode that `mode` does not go with.
    /// Nothing is acquired; who was here before and has left is met all the same.
    #[inline]
    pub fn is_claimed(&self, owner: &mut Owner, lock: u64, mode: Mode) -> bool {
        let bucket = self.bucket(lock);
        owner.meet(bucket.tag);
        bucket.is_claimed(lock, owner.number, mode)
    }

    /// As [`LockTable::is_claimed`], but who only waits does not count.
    #[inline]
    pub fn is_held(&self, owner: &mut Owner, lock: u64, mode: Mode) -> bool {
        let bucket = self.bucket(lock);
        owner.meet(bucket.tag);
        bucket.is_held(lock, owner.number, mode)
    }

    /// Meets who has left a lock that the owner holds already: what the lock stands for may have
    /// grown since it was granted ([`LockTable::hand_on`]).
    #[inline]
    pub fn meet(&self, owner: &mut Owner, lock: u64) {
        owner.meet(self.bucket(lock).tag);
    }

    /// What the lock `from` stood for, `to` stands for from now on, too, and perhaps only: who
    /// acquires `to` meets whoever has left `from`, and the owner where it has its position.
    pub fn hand_on(&self, owner: &Owner, from: u64, to: u64) {
        let tag = self.bucket(from).tag.max(owner.position);
        let mut bucket = self.bucket(to);
        bucket.tag = bucket.tag.max(tag);
    }

    /// Gives a lock back, which the owner holds, and tags its bucket with the owner's position.
    #[inline]
    pub fn release(&self, owner: &mut Owner, lock: u64) {
        let mut bucket = self.bucket(lock);
        bucket.tag = bucket.tag.max(owner.position);
        if bucket.remove(lock, owner.number) {
            self.let_pass(bucket, owner, lock);
        }
    }

    #[inline(never)]
    fn let_pass(&self, mut bucket: LatchGuard<'_, Bucket>, owner: &mut Owner, lock: u64) {
        let mut crowd = Crowd { table: self, told: &mut owner.told };
        bucket.let_pass(lock, owner.number, &mut crowd);
        drop(bucket);
        self.wake(owner);
    }

    /// Wakes whom a change concerned, outside the latch: waking may be a system call.
    fn wake(&self, owner: &mut Owner) {
        for other in owner.told.drain(..) {
            self.cells[other as usize].wake();
        }
    }

    /// The locks that owners wait for: as many looks as there are owners, however many locks
    /// somebody holds.
    pub fn awaited(&self) -> impl Iterator<Item = u64> {
        let last = self.cells.iter().map(|cell| cell.waits_for());
        last.filter(|&lock| lock != 0 && self.is_awaited(lock))
    }

    /// Whether somebody waits for a lock.
    pub fn is_awaited(&self, lock: u64) -> bool {
        self.bucket(lock).is_awaited(lock)
    }

    /// For an owner that waits elsewhere: has those undone that wait for a lock it holds, the
    /// younger ones. False if somebody waits who is older, or planned.
    pub fn overrule(&self, owner: &Owner, lock: u64) -> bool {
        for at in 0.. {
            let bucket = self.bucket(lock);
            let Some(other) = bucket.waiters(lock).nth(at) else { break };
            let cell = &self.cells[other as usize];
            let transaction = cell.sequence();
            drop(bucket); // from here on it may be another one's turn
            if self.is_older(other, owner.number) {
                return false;
            }
            cell.doom_transaction(transaction);
            cell.wake();
        }
        true
    }

    /// Notes that a session's transaction holds a table lock by a counter.
    pub fn add_counter(&self, owner: &Owner, counter: usize) {
        self.cells[owner.number as usize].add_counter(counter);
    }

    /// It holds none any more.
    pub fn clear_counters(&self, owner: &Owner) {
        self.cells[owner.number as usize].clear_counters();
    }

    /// For an owner that waits for a counter: whether a circle may go through it. Then somebody
    /// waits for the owner, over others or not, who holds a lock by a counter that is waited for.
    /// Of calls it is not known what they hold. `is_awaited`: whether a counter is waited for.
    pub fn may_close_circle(&self, owner: &Owner, is_awaited: impl Fn(usize) -> bool) -> bool {
        // Under other policies nobody knows who waits for whom.
        self.deadlocks.policy != Policy::WaitForGraph
            || graph::any_waiter(&self.cells, owner.number, |waiter| {
                waiter.party() != Party::Session || waiter.counters().any(&is_awaited)
            })
    }

    /// Whether one owner's transaction began before another's.
    fn is_older(&self, one: u32, other: u32) -> bool {
        let rank = |owner: u32| (self.cells[owner as usize].age(), owner);
        rank(one) < rank(other)
    }

    /// Under wound-wait, has the owner's transaction undone if an older one waits for a lock that
    /// it holds, as when that one asked.
    pub fn yield_to_older(&self, owner: &Owner, lock: u64) {
        let is_older = |other| self.is_older(other, owner.number);
        if self.deadlocks.policy == Policy::WoundWait
            && self.bucket(lock).waiters(lock).any(is_older)
        {
            self.cells[owner.number as usize].doom();
        }
    }

    /// Whether threads outnumber cores, so that who waits may have to be given one first.
    pub fn is_crowded(&self) -> bool {
        matches!(self.spin, Spin::Yielding(_))
    }

    /// See [`Policy::refuses`].
    pub fn refuses(&self) -> bool {
        self.deadlocks.policy.refuses()
    }

    /// Whether an owner's transaction was chosen to be undone, which it has not noticed yet.
    pub fn is_doomed(&self, owner: &Owner) -> bool {
        self.cells[owner.number as usize].is_doomed()
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
    table: &'a LockTable,
    told: &'a mut Vec<u32>,
}

impl Crowd<'_> {
    /// Tells an owner what became of its request.
    fn tell(&mut self, owner: u32, verdict: Verdict) {
        self.note_wait(owner, std::iter::empty());
        self.cell(owner).decide(verdict);
        self.told.push(owner);
    }

    /// Has an owner undo its transaction.
    fn doom(&mut self, owner: u32) {
        self.cell(owner).doom();
        self.told.push(owner);
    }

    /// Whether one owner's transaction began before another's.
    fn is_older(&self, one: u32, other: u32) -> bool {
        self.table.is_older(one, other)
    }

    fn is_planned(&self, owner: u32) -> bool {
        self.cell(owner).is_planned()
    }

    /// An owner's request waits for these now.
    fn note_wait(&self, owner: u32, others: impl Iterator<Item = OwnerVersion>) {
        if self.keeps_graph() {
            self.cell(owner).part().replace(others); // G1 of `hotrow_flow::deadlock::graph`
        }
    }

    /// An owner's request waits for one more.
    fn note_one_more(&self, owner: u32, other: OwnerVersion) {
        if self.keeps_graph() {
            self.cell(owner).part().add(other); // G2
        }
    }

    /// Whether who waits for somebody hears of it when that one lets go.
    fn marks_outdated(&self) -> bool {
        let deadlocks = &self.table.deadlocks;
        deadlocks.policy == Policy::Dreadlocks && deadlocks.waiting == Waiting::BackOff
    }

    /// An owner's request no longer waits for one of those it waited for.
    fn mark_outdated(&self, owner: u32) {
        self.cell(owner).set_outdated(true);
    }

    fn keeps_graph(&self) -> bool {
        self.table.deadlocks.policy == Policy::WaitForGraph
    }

    fn cell(&self, owner: u32) -> &WaitingCell {
        &self.table.cells[owner as usize]
    }
}
