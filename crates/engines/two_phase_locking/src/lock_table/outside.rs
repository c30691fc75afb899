//! Places in queues for calls that wait outside: in no thread, holding nothing.
//!
//! Role         an owner that may park its calls ([`LockTable::let_park`]) does not wait for
//!              whoever may be long: sessions, and those who wait for one themselves. Its request
//!              is given up, or handed to a *stand-in*, an owner that runs nothing and keeps the
//!              place in the queue for the first call of a line
//! States       of a place: asked for -> granted -> handed over to the owner, which runs the call;
//!              or left. A lock that is waited for without a stand-in, because all are taken or the
//!              lock table has no queue for it, is looked at now and then
//! Invariants   O1 a stand-in has at most one request and so, waiting, holds nothing: it may stand
//!              in a queue for ever and be in nobody's way but by its place
//!              O2 a planned owner that does wait waits for threads that run, which wait for
//!              nobody outside: so no session, however long it thinks, keeps a thread
//!              O3 what is handed over in a queue changes its name under the bucket's latch, in the
//!              queue and in the sets of those who wait for it
//! Concurrency  [`Outside`] -> its owner; a stand-in's cell -> as any other's, but its waker calls
//!              the owner's thread away from waiting for calls

use hotrow_base::sync::facade::atomic::Ordering;
use std::sync::Arc;

use hotrow_base::clock::Ticks;
use hotrow_engine::lock_mode::Mode;
use hotrow_engine::source::Bell;
use hotrow_engine::waits::{Awaited, Party};
use hotrow_flow::deadlock::graph::OwnerVersion;
use hotrow_log::position::Position;
use hotrow_transaction::outcome::Conflict;

use super::bucket::Bucket;
use super::{Acquired, Crowd, LockTable, Owner};
use crate::intents::Coarse;
use crate::waiting::Verdict;

/// Stand-ins of one thread, where there are few threads.
const STAND_INS: usize = 32;
/// And of all threads, as long as each has some.
const STAND_INS_IN_ALL: usize = 256;
const STAND_INS_MIN: usize = 2;

/// What becomes of a request that meets somebody outside.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Queueing {
    /// a stand-in keeps its place
    Keeps,
    /// it leaves the queue
    Leaves,
}

/// Where an owner's parked calls wait.
#[derive(Debug)]
pub(super) struct Outside {
    free: Vec<u32>,
    places: Vec<Place>,
    /// the lock that the last parked call met
    met: u64,
}

/// The place of those who wait for one lock.
#[derive(Clone, Copy, Debug)]
struct Place {
    lock: u64,
    mode: Mode,
    kind: Kind,
    /// who was in the way
    holder: Party,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kind {
    StandIn(u32),
    /// counted with the lock itself
    Counted(Coarse),
    Nowhere,
}

impl Outside {
    fn take(&mut self, lock: u64) -> Option<Place> {
        let at = self.places.iter().position(|place| place.lock == lock)?;
        Some(self.places.swap_remove(at))
    }

    fn find(&self, lock: u64) -> Option<&Place> {
        self.places.iter().find(|place| place.lock == lock)
    }
}

impl LockTable {
    /// How many stand-ins each of so many threads has.
    pub(super) fn stand_ins(threads: usize) -> usize {
        (STAND_INS_IN_ALL / threads.max(1)).clamp(STAND_INS_MIN, STAND_INS)
    }

    /// Has an owner, a thread's, leave queues in which it would wait for sessions. `bell` calls its
    /// thread.
    pub fn let_park(&self, owner: &mut Owner, bell: Arc<dyn Bell>) {
        let (number, each) = (owner.number as usize, Self::stand_ins(self.threads as usize));
        let first = self.first_stand_in() as usize + number * each;
        assert!(number < self.threads as usize, "sessions wait where they are");
        if first + each > self.cells.len() {
            return; // made without sessions
        }
        let stand_ins = first..first + each;
        for cell in &self.cells[stand_ins.clone()] {
            cell.set_planned(true);
            cell.set_bell(Arc::clone(&bell));
        }
        self.bells.lock().push(bell);
        let free = stand_ins.map(|number| number as u32).collect();
        owner.outside = Some(Box::new(Outside { free, places: Vec::new(), met: 0 }));
    }

    fn first_stand_in(&self) -> u32 {
        self.threads + self.sessions
    }

    /// Whether a request waits for a session or a stand-in.
    pub(super) fn waits_for_outside(&self, bucket: &Bucket, lock: u64, owner: u32) -> bool {
        bucket.in_the_way(lock, owner).any(|other| other >= self.threads)
    }

    /// Whether a session or a stand-in has a claim on a lock that `mode` does not go with.
    pub(super) fn is_claimed_outside(&self, bucket: &Bucket, lock: u64, mode: Mode) -> bool {
        bucket.claimants(lock, mode).any(|other| other >= self.threads)
    }

    /// Takes a request that waits for somebody outside from its owner.
    pub(super) fn send_outside(
        &self,
        bucket: &mut Bucket,
        owner: &mut Owner,
        (lock, mode): (u64, Mode),
        queueing: Queueing,
    ) -> Acquired {
        let Owner { number, outside: Some(outside), told, holder, .. } = owner else {
            unreachable!("it may park its calls");
        };
        outside.met = lock;
        let is_new = outside.find(lock).is_none();
        let mut crowd = Crowd { table: self, told };
        let free = (is_new && queueing == Queueing::Keeps).then(|| outside.free.pop()).flatten();
        let kind = match free {
            Some(stand_in) => {
                let cell = &self.cells[stand_in as usize];
                cell.reset();
                cell.set_party(self.cells[*number as usize].party());
                cell.set_waits_for(lock);
                // Whoever waited for it in another queue is there no more.
                bucket.rename(lock, *number, OwnerVersion::new(stand_in, cell.renew()));
                crowd.note_wait(stand_in, bucket.versions_in_the_way(lock, stand_in));
                crowd.note_wait(*number, std::iter::empty());
                Kind::StandIn(stand_in)
            }
            None => {
                bucket.withdraw(lock, *number, &mut crowd);
                Kind::Nowhere
            }
        };
        if is_new {
            self.note_nowhere(kind, 1);
            outside.places.push(Place { lock, mode, kind, holder: *holder });
        }
        Acquired::Refused(Conflict::Parked)
    }

    /// As [`LockTable::send_outside`], of a request that was refused.
    pub(super) fn stay_outside(&self, owner: &mut Owner, lock: u64, mode: Mode) -> Acquired {
        let holder = Party::Session;
        let outside = owner.outside.as_mut().expect("it may park its calls");
        outside.met = lock;
        if outside.find(lock).is_none() {
            self.note_nowhere(Kind::Nowhere, 1);
            outside.places.push(Place { lock, mode, kind: Kind::Nowhere, holder });
        }
        Acquired::Refused(Conflict::Parked)
    }

    /// Notes that a call waits outside for a lock that is none of the table's.
    pub fn wait_outside(&self, owner: &mut Owner, on: Coarse, mode: Mode) -> bool {
        let holder = owner.holder;
        let Some(outside) = &mut owner.outside else { return false };
        outside.met = on.lock();
        let is_new = outside.find(on.lock()).is_none();
        if is_new {
            let place = Place { lock: on.lock(), mode, kind: Kind::Counted(on), holder };
            outside.places.push(place);
        }
        is_new
    }

    fn note_nowhere(&self, kind: Kind, more: usize) {
        if kind == Kind::Nowhere {
            // Relaxed: whoever misses it is looked at again within the next look of a worker.
            self.nowhere.fetch_add(more, Ordering::Relaxed);
        }
    }

    /// Whether the first who waits outside for a lock may try again; none where [`Coarse`] tells.
    pub fn is_due(&self, owner: &Owner, lock: u64) -> Result<bool, (Coarse, Mode)> {
        let place = owner.outside.as_ref().and_then(|outside| outside.find(lock));
        let Some(place) = place else { return Ok(true) };
        match place.kind {
            Kind::StandIn(number) => Ok(self.cells[number as usize].verdict().is_some()),
            Kind::Counted(on) => Err((on, place.mode)),
            Kind::Nowhere => Ok(!self.is_claimed_outside(&self.bucket(lock), lock, place.mode)),
        }
    }

    /// Takes the place of those who wait outside for a lock, since `since`: the mode in which the
    /// owner holds the lock now, if it was granted. A lock that is none of the table's is told.
    pub fn come_in(
        &self,
        owner: &mut Owner,
        lock: u64,
        since: Option<Ticks>,
    ) -> (Option<Mode>, Option<(Coarse, Mode)>) {
        let place = owner.outside.as_mut().and_then(|outside| outside.take(lock));
        let Some(place) = place else { return (None, None) };
        if let Some(since) = since {
            let number = owner.number as usize;
            let waiter = self.cells[number].party();
            let awaited = Awaited { lock, waiter, holder: place.holder };
            self.books[number].lock().note(awaited, since.elapsed_nanos());
        }
        match place.kind {
            Kind::StandIn(number) => {
                (self.relieve(owner, lock, number).then_some(place.mode), None)
            }
            Kind::Counted(on) => (None, Some((on, place.mode))),
            Kind::Nowhere => {
                self.nowhere.fetch_sub(1, Ordering::Relaxed); // see `note_nowhere`
                (None, None)
            }
        }
    }

    /// Takes a stand-in's place in the queue; whether its request was granted. Else it is gone.
    fn relieve(&self, owner: &mut Owner, lock: u64, stand_in: u32) -> bool {
        let mut bucket = self.bucket(lock);
        let granted = self.cells[stand_in as usize].verdict() == Some(Verdict::Granted);
        let mut crowd = Crowd { table: self, told: &mut owner.told };
        if granted {
            bucket.hand_over(lock, (stand_in, owner.version), &mut crowd); // O3
        } else {
            bucket.withdraw(lock, stand_in, &mut crowd);
        }
        let tag = bucket.tag;
        drop(bucket);
        let outside = owner.outside.as_mut().expect("it had the place");
        outside.free.push(stand_in);
        if granted {
            owner.meet(tag);
        }
        self.wake(owner);
        granted
    }

    /// Nobody waits outside for a lock any more. A lock that is none of the table's is told.
    pub fn leave_outside(&self, owner: &mut Owner, lock: u64) -> Option<(Coarse, Mode)> {
        let (held, counted) = self.come_in(owner, lock, None);
        if held.is_some() {
            let own = owner.position();
            owner.commit_at(Position::default());
            self.release(owner, lock);
            owner.commit_at(own);
        }
        counted
    }

    /// The lock that the last parked call met.
    pub fn met_outside(&self, owner: &Owner) -> u64 {
        owner.outside.as_ref().expect("a call was parked").met
    }

    /// Whether some wait outside for locks of the table in no queue: who releases one calls them.
    pub fn any_nowhere(&self) -> bool {
        self.nowhere.load(Ordering::Relaxed) > 0 // see `note_nowhere`
    }

    /// Calls all who may wait outside for something that is no request.
    #[cold]
    pub fn call_outside(&self) {
        self.bells.lock().iter().for_each(|bell| bell.ring());
    }

    /// For an owner that waits in a queue and has found itself waiting for somebody outside, who
    /// came to stand before it: leaves the queue. None if it need not, or has just been granted it.
    pub(super) fn go_outside(&self, owner: &mut Owner, lock: u64) -> Option<Conflict> {
        owner.outside.as_ref()?;
        let mut bucket = self.bucket(lock);
        let is_granted = self.cells[owner.number as usize].verdict() == Some(Verdict::Granted);
        if is_granted || !self.waits_for_outside(&bucket, lock, owner.number) {
            return None;
        }
        let mode = bucket.wanted(lock, owner.number)?;
        self.send_outside(&mut bucket, owner, (lock, mode), Queueing::Leaves);
        drop(bucket);
        self.wake(owner);
        Some(Conflict::Parked)
    }
}
