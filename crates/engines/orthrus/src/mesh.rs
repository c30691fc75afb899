//! The ends of rings that each thread of the engine has.
//!
//! Role         one ring per pair of threads and direction: execution thread to lock thread, lock
//!              thread to each later lock thread, lock thread to execution thread
//! Invariants   I1 what a lock thread writes always finds room: a transaction's request is in one
//!              place at a time, and the rings that lock threads write to hold all there are
//!              I2 an execution thread fetches nothing while something that it sent finds no room:
//!              a call has few messages, so what is late is bounded
//! Source       orthrus.txt 3.1 and 3.3

use std::time::Duration;

use hotrow_base::clock::Ticks;
use hotrow_base::sync::Spin;
use hotrow_flow::mesh::{Bed, Link, Receivers, Senders, Sleepers};

use crate::request::{Parcel, ToLock};

/// Messages of one transaction that may be on their way to a lock thread: what it asks for, and
/// what the transactions before it at its place released, of a hop each. More wait for room.
const TO_LOCK_PER_SLOT: usize = 8;

/// Of a lock thread that is pinned to a core of its own: its messages come when an execution
/// thread has planned and run a few calls, some 100 us, and a wake costs that thread 10. Where
/// clients need the cores, too, so long a spin takes them away (16 clients had a third left).
const LOCK_SPIN: Spin = Spin::Yielding(Duration::from_millis(1));

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

    /// Makes what was sent visible.
    pub fn publish(&mut self) {
        self.to_execution.publish();
        self.to_lock.publish();
        debug_assert!(!self.to_execution.has_late() && !self.to_lock.has_late(), "I1");
    }

    /// Sleeps until there is a message, until `ends`, or until `deadline`.
    pub fn wait(&mut self, deadline: Ticks, ends: impl Fn() -> bool) {
        let Self { from_execution, from_lock, bed, .. } = self;
        let ready = || !from_execution.are_empty() || !from_lock.are_empty() || ends();
        bed.wait(Some(deadline), ready);
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

    /// Sleeps until there is a message, until something late may find room, or until `deadline`.
    pub fn wait(&mut self, deadline: Ticks) {
        let Self { to_lock, from_lock, bed } = self;
        let deadline = to_lock.retry_at().map_or(deadline, |retry| retry.min(deadline));
        bed.wait(Some(deadline), || !from_lock.are_empty());
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
    let sleepers = Sleepers::new(lock + execution);
    let (locks, executions) = (0..lock, lock..lock + execution);
    let always = |capacity| move |_, _| Some(Link::of(capacity));
    let later = |from, to| (from < to).then(|| Link::of(slots * execution)); // I1
    let (acquire, acquired) =
        sleepers.connect(executions.clone(), locks.clone(), always(slots * TO_LOCK_PER_SLOT));
    let (forward, forwarded) = sleepers.connect(locks.clone(), locks.clone(), later);
    let (grant, granted) = sleepers.connect(locks, executions, always(slots)); // I1
    let lock_ends = acquired
        .into_iter()
        .zip(forwarded)
        .zip(forward.into_iter().zip(grant))
        .enumerate()
        .map(|(number, ((from_execution, from_lock), (to_lock, to_execution)))| LockEnds {
            from_execution,
            from_lock,
            to_lock,
            to_execution,
            bed: sleepers.bed(number, lock_spin),
        })
        .collect();
    let execution_ends = acquire
        .into_iter()
        .zip(granted)
        .enumerate()
        .map(|(number, (to_lock, from_lock))| ExecutionEnds {
            to_lock,
            from_lock,
            bed: sleepers.bed(lock + number, spin),
        })
        .collect();
    (lock_ends, execution_ends)
}
