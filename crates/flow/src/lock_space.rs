//! Locks and their queues: plain data of one thread, or of whoever latches it.
//!
//! Role         for threads that own granules: a lock thread of ORTHRUS, a partition's owner. Who
//!              asks for locks is a [`Requester`], which stays here while it waits. It knows
//!              nothing of what a requester is otherwise
//! States       of a lock: no queue -> held by some, awaited by others -> no queue, and forgotten
//! Invariants   I1 a queue is first come, first served: who goes together with all holders still
//!              waits behind whoever waits
//!              I2 all locks that a requester asks for at once enter their queues together, so
//!              that within one space nobody who asks once deadlocks. Over several spaces, whoever
//!              visits them in ascending order does not deadlock either: who waits here for another
//!              came later to this space or visits later ones only
//!              I3 who is granted a lock has met whoever released a conflicting one: positions stay
//!              behind in the lock's bucket
//! Source       orthrus.txt 3.1 and 3.2

pub mod whole;

use hotrow_base::pool::{NONE, Pool};
use hotrow_log::position::Position;
use hotrow_transaction::granule::{self, LockMode, LockRequest};

/// Who asks for locks, and waits for them.
pub trait Requester {
    /// The locks that it asks for here.
    fn wanted(&self) -> impl Iterator<Item = LockRequest> + Clone;

    /// The space calls these locks `grant`: for their release.
    fn enter(&mut self, grant: u32);

    /// It follows everybody who stands there or earlier.
    fn meet(&mut self, position: Position);

    /// It does not get all of them at once: this is the first one that it does not get.
    fn wait(&mut self, lock: u64);

    /// It holds all of them.
    fn hold(&mut self);
}

/// The locks of one space, and those who wait for them.
pub struct LockSpace<W> {
    buckets: Box<[Bucket]>,
    locks: Pool<Lock>,
    entries: Pool<Entry>,
    grants: Pool<Grant<W>>,
    /// requests for locks that had to wait
    waits: u64,
}

#[derive(Clone, Copy, Debug)]
struct Bucket {
    /// the greatest position that a lock was released as
    tag: Position,
    first: u32,
}

/// A lock that somebody holds.
#[derive(Debug)]
struct Lock {
    id: u64,
    /// in its bucket
    next: u32,
    /// how many hold it, by mode
    held: [u32; LockMode::ALL.len()],
    /// the queue: holders and those who wait, in the order in which they came
    first: u32,
    last: u32,
    /// the first of the queue that waits
    waiting: u32,
}

/// A place in a queue.
#[derive(Debug)]
struct Entry {
    lock: u32,
    grant: u32,
    mode: LockMode,
    next: u32,
    previous: u32,
    /// of the same grant
    sibling: u32,
}

/// The locks that one requester asked for at once.
struct Grant<W> {
    /// entries that wait
    missing: u32,
    first: u32,
    /// while some do
    waiter: Option<W>,
}

impl<W: Requester> LockSpace<W> {
    /// A space without locks. A few are held at a time; more buckets, a power of two, only tell
    /// apart what those who released them have left behind (I3). There is memory for `usual` locks,
    /// and for as many who hold or await them; for more it grows.
    pub fn new(buckets: usize, usual: usize) -> Self {
        let empty = Bucket { tag: Position::default(), first: NONE };
        Self {
            buckets: vec![empty; buckets].into(),
            locks: Pool::with_capacity(usual),
            entries: Pool::with_capacity(usual),
            grants: Pool::with_capacity(usual),
            waits: 0,
        }
    }

    /// Takes up a requester; gives it back when it holds all locks that it asked for, else keeps it
    /// until it does.
    ///
    /// # Errors
    ///
    /// What its locks are called that it waits for.
    pub fn ask(&mut self, mut requester: W) -> Result<W, u32> {
        let grant = self.grants.put(Grant { missing: 0, first: NONE, waiter: None });
        let (mut missing, mut awaited) = (0, 0);
        let mut first = NONE;
        let mut met = Position::default();
        for wanted in requester.wanted() {
            let (bucket, lock) = self.lock(wanted.lock());
            let entry = Entry {
                lock,
                grant,
                mode: wanted.mode(),
                next: NONE,
                previous: self.locks[lock].last,
                sibling: first,
            };
            first = self.entries.put(entry);
            if self.enqueue(lock, first, wanted.mode()) {
                met = met.max(self.buckets[bucket].tag); // I3
            } else {
                missing += 1;
                if missing == 1 {
                    awaited = wanted.lock();
                }
            }
        }
        requester.enter(grant);
        requester.meet(met);
        self.grants[grant].first = first;
        if missing == 0 {
            requester.hold();
            return Ok(requester);
        }
        self.waits += u64::from(missing);
        requester.wait(awaited);
        self.grants[grant].missing = missing;
        self.grants[grant].waiter = Some(requester);
        Err(grant)
    }

    /// Whom a requester would follow that asked for these locks and got all of them at once; none
    /// if somebody who holds or awaits one of them is in the way. It may have them without entering
    /// any queue if nobody else comes here until [`LockSpace::leave`] says that it has ended.
    pub fn pass(&self, wanted: impl Iterator<Item = LockRequest>) -> Option<Position> {
        let mut met = Position::default();
        for wanted in wanted {
            let bucket = self.buckets[self.bucket_of(wanted.lock())];
            if let Some(lock) = self.find(bucket.first, wanted.lock()) {
                let queue = &self.locks[lock];
                if queue.waiting != NONE || !goes_with(&queue.held, wanted.mode()) {
                    return None;
                }
            }
            met = met.max(bucket.tag); // I3
        }
        Some(met)
    }

    /// One that has [passed](LockSpace::pass) has ended, and stands at `position`.
    pub fn leave(&mut self, had: impl Iterator<Item = LockRequest>, position: Position) {
        for had in had {
            let bucket = self.bucket_of(had.lock());
            let tag = &mut self.buckets[bucket].tag;
            *tag = position.max(*tag); // I3
        }
    }

    /// Frees locks; who had them stands at `position`, the beginning of all if it was undone. Those
    /// who hold all they asked for from now on are added to `granted`.
    pub fn release(&mut self, grant: u32, position: Position, granted: &mut Vec<W>) {
        self.free(grant, position, |_, _| true, granted);
    }

    /// As [`LockSpace::release`]; `holds` tells whether an entry holds its lock.
    #[inline]
    fn free(
        &mut self,
        grant: u32,
        position: Position,
        holds: impl Fn(&Self, u32) -> bool,
        granted: &mut Vec<W>,
    ) {
        let mut at = self.grants[grant].first;
        self.grants.give_back(grant);
        while at != NONE {
            let (lock, sibling) = (self.entries[at].lock, self.entries[at].sibling);
            let bucket = self.bucket_of(self.locks[lock].id);
            let tag = &mut self.buckets[bucket].tag;
            *tag = position.max(*tag); // I3
            let tag = *tag;
            let holds = holds(self, at);
            self.dequeue(lock, at, holds);
            if self.locks[lock].first == NONE {
                self.forget(bucket, lock);
            } else {
                self.grant_waiting(lock, tag, granted);
            }
            at = sibling;
        }
    }

    /// Takes back what was asked for as `grant`, whose requester still waits, and gives that back.
    /// Those who hold all they asked for from now on are added to `granted`.
    pub fn withdraw(&mut self, grant: u32, granted: &mut Vec<W>) -> W {
        let requester = self.grants[grant].waiter.take().expect("it waits here");
        // It has done nothing with what it holds, so nobody follows it.
        self.free(grant, Position::default(), Self::holds, granted);
        requester
    }

    /// Tells whom a requester that waits is behind: `grant` by `grant`, those who hold a lock that
    /// it waits for, or wait for it before it. Some may be told more than once.
    pub fn visit_blockers(&self, grant: u32, mut visit: impl FnMut(u32)) {
        let mut at = self.grants[grant].first;
        while at != NONE {
            if !self.holds(at) {
                let mut before = self.entries[at].previous;
                while before != NONE {
                    visit(self.entries[before].grant);
                    before = self.entries[before].previous;
                }
            }
            at = self.entries[at].sibling;
        }
    }

    /// What the locks of one that waits are called, if one is such.
    pub fn find_waiter(&self, is_such: impl Fn(&W) -> bool) -> Option<u32> {
        let waiter = |grant: &u32| self.grants[*grant].waiter.as_ref().is_some_and(&is_such);
        (0..self.grants.places()).find(waiter) // none has a waiter that was given back
    }

    /// Tells what the locks of all are called who hold or await some; some more than once.
    pub fn visit_grants(&self, mut visit: impl FnMut(u32)) {
        for lock in 0..self.locks.places() {
            let mut entry = self.locks[lock].first; // what was given back has none
            while entry != NONE {
                visit(self.entries[entry].grant);
                entry = self.entries[entry].next;
            }
        }
    }

    /// Tells of all who wait: who does, and what the locks of the one right before it in a queue
    /// are called. Where that one holds the lock, all other holders are told as well; where it
    /// waits, too, it stands for all who are before it. Some may be told more than once.
    pub fn visit_waits(&self, mut visit: impl FnMut(&W, u32)) {
        // What was given back awaits nothing.
        for at in 0..self.locks.places() {
            let mut entry = self.locks[at].waiting;
            let mut first = true;
            while entry != NONE {
                let Entry { grant, next, previous, .. } = self.entries[entry];
                let waiter = self.grants[grant].waiter.as_ref().expect("it waits here");
                let mut before = previous;
                while before != NONE {
                    visit(waiter, self.entries[before].grant);
                    before = if first { self.entries[before].previous } else { NONE };
                }
                (entry, first) = (next, false);
            }
        }
    }

    /// Whether an entry holds its lock: all that stand before the first that waits do.
    fn holds(&self, entry: u32) -> bool {
        let mut at = self.locks[self.entries[entry].lock].waiting;
        while at != NONE {
            if at == entry {
                return false;
            }
            at = self.entries[at].next;
        }
        true
    }

    /// Requests for locks that had to wait since this was asked last.
    pub fn take_waits(&mut self) -> u64 {
        std::mem::take(&mut self.waits)
    }

    /// Whether nobody holds or waits for anything.
    pub fn is_empty(&self) -> bool {
        self.locks.is_empty() && self.entries.is_empty() && self.grants.is_empty()
    }

    /// A lock, which is made if nobody has it, and its bucket.
    fn lock(&mut self, id: u64) -> (usize, u32) {
        let bucket = self.bucket_of(id);
        let first = self.buckets[bucket].first;
        if let Some(lock) = self.find(first, id) {
            return (bucket, lock);
        }
        let held = [0; LockMode::ALL.len()];
        let lock = Lock { id, next: first, held, first: NONE, last: NONE, waiting: NONE };
        let lock = self.locks.put(lock);
        self.buckets[bucket].first = lock;
        (bucket, lock)
    }

    fn bucket_of(&self, id: u64) -> usize {
        granule::lock_hash(id) as usize & (self.buckets.len() - 1)
    }

    fn find(&self, first: u32, id: u64) -> Option<u32> {
        let mut at = first;
        while at != NONE {
            if self.locks[at].id == id {
                return Some(at);
            }
            at = self.locks[at].next;
        }
        None
    }

    /// Puts an entry at the end of its queue; whether it holds the lock.
    fn enqueue(&mut self, lock: u32, entry: u32, mode: LockMode) -> bool {
        let queue = &mut self.locks[lock];
        let last = std::mem::replace(&mut queue.last, entry);
        if last == NONE {
            queue.first = entry;
        } else {
            self.entries[last].next = entry;
        }
        let holds = queue.waiting == NONE && goes_with(&queue.held, mode); // I1
        if holds {
            queue.held[mode as usize] += 1;
        } else if queue.waiting == NONE {
            queue.waiting = entry;
        }
        holds
    }

    /// Takes an entry out of the queue, whether it holds its lock or waits for it.
    fn dequeue(&mut self, lock: u32, entry: u32, holds: bool) {
        let Entry { mode, next, previous, .. } = self.entries[entry];
        let queue = &mut self.locks[lock];
        if holds {
            queue.held[mode as usize] -= 1;
        } else if queue.waiting == entry {
            queue.waiting = next;
        }
        match previous {
            NONE => queue.first = next,
            previous => self.entries[previous].next = next,
        }
        match next {
            NONE => queue.last = previous,
            next => self.entries[next].previous = previous,
        }
        self.entries.give_back(entry);
    }

    fn grant_waiting(&mut self, lock: u32, tag: Position, granted: &mut Vec<W>) {
        let Self { locks, entries, grants, .. } = self;
        let queue = &mut locks[lock];
        while queue.waiting != NONE {
            let Entry { mode, next, grant, .. } = entries[queue.waiting];
            if !goes_with(&queue.held, mode) {
                return;
            }
            queue.held[mode as usize] += 1;
            queue.waiting = next;
            let grant = &mut grants[grant];
            grant.missing -= 1;
            let waiter = grant.waiter.as_mut().expect("it waits here");
            waiter.meet(tag); // I3
            if grant.missing == 0 {
                waiter.hold();
                granted.extend(grant.waiter.take());
            }
        }
    }

    /// Takes a lock that nobody holds out of its bucket.
    fn forget(&mut self, bucket: usize, lock: u32) {
        let next = self.locks[lock].next;
        let first = self.buckets[bucket].first;
        if first == lock {
            self.buckets[bucket].first = next;
        } else {
            let mut at = first;
            while self.locks[at].next != lock {
                at = self.locks[at].next;
            }
            self.locks[at].next = next;
        }
        self.locks.give_back(lock);
    }
}

fn goes_with(held: &[u32; LockMode::ALL.len()], mode: LockMode) -> bool {
    LockMode::ALL.iter().zip(held).all(|(other, &count)| count == 0 || other.compatible(mode))
}

#[cfg(test)]
mod tests;
