//! The rings between all threads of the engine, and where threads sleep.
//!
//! Role         one ring per pair of threads and direction: execution thread to lock thread, lock
//!              thread to each later lock thread, lock thread to execution thread
//! Invariants   I1 a lock thread never waits for room: a transaction's request is in one place at a
//!              time, and the rings that lock threads write to have room for all there are
//!              I2 so an execution thread that waits for room in a ring to a lock thread waits for
//!              a thread that waits for nobody: full rings close no circle
//!              I3 who finds its rings empty sleeps; who writes to one publishes, then wakes
//! Source       orthrus.txt 3.1 and 3.3. We differ: messages are published in batches, once per
//!              turn of a thread

use std::sync::Arc;
use std::time::Duration;

use crossbeam_utils::CachePadded;
use hotrow_base::clock::Ticks;
use hotrow_base::sync::spsc::{Consumer, Producer, ring};
use hotrow_base::sync::{Parker, Spin, SpinWait};

use crate::request::{Parcel, ToLock};

/// Messages of one transaction that may be on their way to a lock thread: what it asks for, and
/// what the transactions before it at its place released, of a hop each. More wait for room.
const TO_LOCK_PER_SLOT: usize = 8;

/// Of a lock thread that is pinned to a core of its own: its messages come when an execution
/// thread has planned and run a few calls, some 100 us, and a wake costs that thread 10. Where
/// clients need the cores, too, so long a spin takes them away (16 clients had a third left).
const LOCK_SPIN: Spin = Spin::Yielding(Duration::from_millis(1));

/// Where all threads sleep: lock threads first.
pub type Sleepers = Arc<[CachePadded<Parker>]>;

/// An end that writes, and whom it wakes.
struct Sender<T> {
    ring: Producer<T>,
    reader: usize,
}

/// Senders to several threads.
pub struct Senders<T> {
    senders: Vec<Option<Sender<T>>>,
    sleepers: Sleepers,
    /// messages since this was asked last
    sent: u64,
}

impl<T> Senders<T> {
    /// Writes a message to thread number `to`, unpublished; publishes and waits while the ring is
    /// full.
    #[inline]
    pub fn send(&mut self, to: u16, message: T) {
        let Some(sender) = &mut self.senders[usize::from(to)] else {
            unreachable!("requests go to later lock threads")
        };
        self.sent += 1;
        if let Err(message) = sender.ring.push(message) {
            wait_for_room(sender, &self.sleepers, message);
        }
    }

    /// Makes everything sent visible, and wakes whom it concerns.
    #[inline]
    pub fn publish(&mut self) {
        for sender in self.senders.iter_mut().flatten() {
            if sender.ring.unpublished() > 0 {
                sender.ring.publish();
                self.sleepers[sender.reader].notify();
            }
        }
    }

    /// How many messages have not been taken.
    pub fn backlog(&mut self) -> usize {
        let senders = self.senders.iter_mut().flatten();
        senders.map(|sender| sender.ring.capacity() - sender.ring.free_slots()).sum()
    }

    /// Wakes all who read, message or not.
    fn wake_all(&self) {
        self.senders.iter().flatten().for_each(|sender| self.sleepers[sender.reader].notify());
    }

    /// Messages since this was asked last.
    pub fn take_sent(&mut self) -> u64 {
        std::mem::take(&mut self.sent)
    }
}

#[cold]
fn wait_for_room<T>(sender: &mut Sender<T>, sleepers: &Sleepers, mut message: T) {
    let mut spin = SpinWait::new();
    while let Err(back) = sender.ring.try_push(message) {
        message = back;
        sleepers[sender.reader].notify();
        spin.wait();
    }
    sleepers[sender.reader].notify();
}

/// Receivers from several threads.
pub struct Receivers<T> {
    rings: Vec<Consumer<T>>,
}

impl<T> Receivers<T> {
    /// Takes messages of all rings by turns, at most so many of each; how many there were.
    #[inline]
    pub fn receive(&mut self, most: usize, mut take: impl FnMut(T)) -> usize {
        self.rings.iter_mut().map(|ring| ring.take(most, &mut take)).sum()
    }

    /// How many messages there are to take.
    pub fn waiting(&mut self) -> usize {
        self.rings.iter_mut().map(Consumer::len).sum()
    }

    /// Whether there is nothing to take.
    #[inline]
    pub fn are_empty(&mut self) -> bool {
        self.rings.iter_mut().all(Consumer::is_empty)
    }
}

/// The ends of a lock thread.
pub struct LockEnds {
    /// requests that begin here, and releases
    pub from_execution: Receivers<ToLock>,
    /// requests that others have handed on
    pub from_lock: Receivers<Parcel>,
    /// requests to hand on
    pub to_lock: Senders<Parcel>,
    /// requests to give back
    pub to_execution: Senders<Parcel>,
    bed: Bed,
}

impl LockEnds {
    /// How many messages there are to take.
    pub fn waiting(&mut self) -> usize {
        self.from_execution.waiting() + self.from_lock.waiting()
    }

    /// Sleeps until there is a message, until `ends`, or until `deadline`.
    pub fn wait(&mut self, deadline: Ticks, ends: impl Fn() -> bool) {
        let Self { from_execution, from_lock, bed, .. } = self;
        bed.wait(deadline, || !from_execution.are_empty() || !from_lock.are_empty() || ends());
    }
}

/// The ends of an execution thread.
pub struct ExecutionEnds {
    /// requests and releases
    pub to_lock: Senders<ToLock>,
    /// requests that have come back
    pub from_lock: Receivers<Parcel>,
    bed: Bed,
}

impl ExecutionEnds {
    /// Lets lock threads that sleep look whether the division has ended.
    pub fn wake_lock_threads(&self) {
        self.to_lock.wake_all();
    }

    /// Sleeps until there is a message, or until `deadline`.
    pub fn wait(&mut self, deadline: Ticks) {
        let Self { from_lock, bed, .. } = self;
        bed.wait(deadline, || !from_lock.are_empty());
    }
}

/// Where a thread sleeps, and how it spins before.
struct Bed {
    sleepers: Sleepers,
    own: usize,
    spin: Spin,
}

impl Bed {
    fn wait(&self, deadline: Ticks, ready: impl FnMut() -> bool) {
        self.sleepers[self.own].spin_then_wait(self.spin, Some(deadline), ready);
    }
}

/// All rings for so many lock threads and execution threads, of which each has so many transactions
/// on their way at most. `pinned`: each has a core to itself.
pub fn mesh(
    (lock, execution): (usize, usize),
    slots: usize,
    pinned: bool,
) -> (Vec<LockEnds>, Vec<ExecutionEnds>) {
    let spin = Spin::for_threads(lock + execution);
    let lock_spin = if pinned { LOCK_SPIN } else { spin };
    let sleepers: Sleepers = (0..lock + execution).map(|_| CachePadded::default()).collect();
    let bed = |own, spin| Bed { sleepers: Arc::clone(&sleepers), own, spin };
    let (acquire, received) = rings(execution, lock, 0, slots * TO_LOCK_PER_SLOT, |_, _| true);
    let forward = rings(lock, lock, 0, slots * execution, |from, to| from < to); // I1
    let grant = rings(lock, execution, lock, slots, |_, _| true); // I1
    let lock_ends = received
        .into_iter()
        .zip(forward.1)
        .zip(forward.0.into_iter().zip(grant.0))
        .enumerate()
        .map(|(number, ((from_execution, from_lock), (to_lock, to_execution)))| LockEnds {
            from_execution: Receivers { rings: from_execution },
            from_lock: Receivers { rings: from_lock },
            to_lock: senders(to_lock, &sleepers),
            to_execution: senders(to_execution, &sleepers),
            bed: bed(number, lock_spin),
        })
        .collect();
    let execution_ends = acquire
        .into_iter()
        .zip(grant.1)
        .enumerate()
        .map(|(number, (to_lock, from_lock))| ExecutionEnds {
            to_lock: senders(to_lock, &sleepers),
            from_lock: Receivers { rings: from_lock },
            bed: bed(lock + number, spin),
        })
        .collect();
    (lock_ends, execution_ends)
}

fn senders<T>(senders: Vec<Option<Sender<T>>>, sleepers: &Sleepers) -> Senders<T> {
    Senders { senders, sleepers: Arc::clone(sleepers), sent: 0 }
}

/// The ends of rings by sender and by receiver.
type Ends<T> = (Vec<Vec<Option<Sender<T>>>>, Vec<Vec<Consumer<T>>>);

/// Rings from each of some threads to each of others, as far as `has` says; the first of those that
/// read sleeps in place `reader`.
fn rings<T: Send>(
    from: usize,
    to: usize,
    reader: usize,
    capacity: usize,
    has: impl Fn(usize, usize) -> bool,
) -> Ends<T> {
    let mut consumers: Vec<_> = (0..to).map(|_| Vec::new()).collect();
    let mut producers = Vec::with_capacity(from);
    for sender in 0..from {
        let own = (0..to).map(|receiver| {
            if !has(sender, receiver) {
                return None;
            }
            let (ring, end) = ring(capacity);
            consumers[receiver].push(end);
            Some(Sender { ring, reader: reader + receiver })
        });
        producers.push(own.collect());
    }
    (producers, consumers)
}
