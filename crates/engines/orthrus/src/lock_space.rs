//! Locks and their queues: plain data. A lock thread's own are touched by nobody else; those that
//! lock threads share are behind latches ([`crate::lock_table`]).
//!
//! States       of a lock: no queue -> held by some, awaited by others -> no queue, and forgotten
//! Invariants   I1 a queue is first come, first served: who goes together with all holders still
//!              waits behind whoever waits
//!              I2 a request's locks of one hop enter their queues together. Requests visit spaces
//!              in ascending order, so that the waiting of any two has one direction: who waits
//!              here for another came later to this space or visits later ones only, and nobody
//!              deadlocks
//!              I3 who is granted a lock has met whoever released a conflicting one: positions stay
//!              behind in the lock's bucket
//! Source       orthrus.txt 3.1 and 3.2; fair queues: H-Store and 2PL need them alike

use hotrow_base::pool::{NONE, Pool};
use hotrow_log::position::Position;
use hotrow_transaction::granule::{self, LockMode};

use crate::request::{Parcel, Request};

/// See the module.
pub struct LockSpace {
    buckets: Box<[Bucket]>,
    locks: Pool<Lock>,
    entries: Pool<Entry>,
    grants: Pool<Grant>,
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

/// The locks of one hop of a request.
struct Grant {
    /// entries that wait
    missing: u32,
    first: u32,
    /// while some do
    parcel: Option<Parcel>,
}

impl LockSpace {
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

    /// Takes up a request that has come for the locks of its next hop; gives it back when they are
    /// all held at once, else keeps it until they are.
    pub fn ask(&mut self, mut parcel: Parcel) -> Option<Parcel> {
        let request = &mut parcel.request;
        let grant = self.grants.put(Grant { missing: 0, first: NONE, parcel: None });
        let mut missing = 0;
        let mut first = NONE;
        let mut met = request.met;
        for &(_, wanted) in request.of_next() {
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
            }
        }
        request.met = met;
        let hop = request.granted;
        request.hops[hop].grant = grant;
        self.waits += u64::from(missing);
        self.grants[grant].first = first;
        if missing == 0 {
            request.granted += 1;
            return Some(parcel);
        }
        request.waited = true;
        self.grants[grant].missing = missing;
        self.grants[grant].parcel = Some(parcel);
        None
    }

    /// Whether nobody who holds or awaits a lock of the request is in its way; it has met those who
    /// held them then. It may be run at once without entering any queue, since nobody else comes
    /// here meanwhile; [`LockSpace::leave`] says when it has.
    pub fn pass(&self, request: &mut Request) -> bool {
        let mut met = request.met;
        for &(_, wanted) in &request.locks {
            let bucket = self.buckets[self.bucket_of(wanted.lock())];
            if let Some(lock) = self.find(bucket.first, wanted.lock()) {
                let queue = &self.locks[lock];
                if queue.waiting != NONE || !goes_with(&queue.held, wanted.mode()) {
                    return false;
                }
            }
            met = met.max(bucket.tag); // I3
        }
        request.met = met;
        true
    }

    /// A request that has [passed](LockSpace::pass) has ended, and stands at `position`.
    pub fn leave(&mut self, request: &Request, position: Position) {
        for &(_, had) in &request.locks {
            let bucket = self.bucket_of(had.lock());
            let tag = &mut self.buckets[bucket].tag;
            *tag = position.max(*tag); // I3
        }
    }

    /// Frees the locks of a hop. Requests that hold all they asked for from now on are added to
    /// `granted`.
    pub fn release(&mut self, grant: u32, position: Position, granted: &mut Vec<Parcel>) {
        let mut at = self.grants[grant].first;
        self.grants.give_back(grant);
        while at != NONE {
            let (lock, sibling) = (self.entries[at].lock, self.entries[at].sibling);
            let bucket = self.bucket_of(self.locks[lock].id);
            let tag = &mut self.buckets[bucket].tag;
            *tag = position.max(*tag); // I3
            let tag = *tag;
            self.dequeue(lock, at);
            if self.locks[lock].first == NONE {
                self.forget(bucket, lock);
            } else {
                self.grant_waiting(lock, tag, granted);
            }
            at = sibling;
        }
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

    /// Takes an entry that holds its lock out of the queue.
    fn dequeue(&mut self, lock: u32, entry: u32) {
        let Entry { mode, next, previous, .. } = self.entries[entry];
        let queue = &mut self.locks[lock];
        queue.held[mode as usize] -= 1;
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

    fn grant_waiting(&mut self, lock: u32, tag: Position, granted: &mut Vec<Parcel>) {
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
            let parcel = grant.parcel.as_mut().expect("it waits here");
            parcel.request.met = parcel.request.met.max(tag); // I3
            if grant.missing == 0 {
                parcel.request.granted += 1;
                granted.extend(grant.parcel.take());
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
