//! A lock thread: owns granules, grants them, and knows nothing of transactions but their requests.
//!
//! States       taking messages by turns -> nothing there: asleep
//! Invariants   I1 it never waits for room in a ring (I1 of [`crate::mesh`]), so that whoever waits
//!              for it does not wait for ever
//! Source       orthrus.txt 3.1 (partitioned functionality) and 3.3 (forwarding)

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use hotrow_base::clock::Ticks;
use hotrow_base::counters::PerWorker;
use hotrow_engine::statistics::{Activity, Stopwatch, WorkerBooks};

use crate::lock_space::LockSpace;
use crate::mesh::{LockEnds, Senders};
use crate::options::Visits;
use crate::request::{Parcel, ToLock};

/// Messages taken from a ring before the next one's turn comes.
const BATCH: usize = 16;
/// The longest sleep; it bounds how late a stop is seen.
const NAP: Duration = Duration::from_millis(10);
/// Turns between two publications of the books.
const TURNS_PER_BOOKS: u32 = 256;

/// See the module.
pub struct LockThread {
    ends: LockEnds,
    space: LockSpace,
    visits: Visits,
    stopping: Arc<AtomicBool>,
    books: Arc<PerWorker<WorkerBooks>>,
    number: usize,
    watch: Stopwatch,
    /// requests that hold everything since the last release
    granted: Vec<Parcel>,
}

impl LockThread {
    /// The thread with these ends. It keeps the books with this number, and ends when `stopping`.
    pub fn new(
        ends: LockEnds,
        visits: Visits,
        stopping: Arc<AtomicBool>,
        books: Arc<PerWorker<WorkerBooks>>,
        number: usize,
    ) -> Self {
        let (space, watch) = (LockSpace::default(), Stopwatch::default());
        Self { ends, space, visits, stopping, books, number, watch, granted: Vec::new() }
    }

    /// Runs until it is told to stop, which it is when all transactions have ended.
    pub fn run(mut self) {
        let mut turns = 0_u32;
        self.watch.switch(Activity::Lock);
        // Acquire; partner: the Release in `Orthrus::stop`.
        while !self.stopping.load(Ordering::Acquire) {
            turns = turns.wrapping_add(1);
            if self.turn() == 0 {
                self.watch.switch(Activity::Idle);
                self.ends.wait(Ticks::from_now(NAP));
                self.watch.switch(Activity::Lock);
            }
            if turns.is_multiple_of(TURNS_PER_BOOKS) {
                self.publish_books();
            }
        }
        // What is left are releases.
        while self.turn() > 0 {}
        self.publish_books();
        debug_assert!(self.space.is_empty(), "all transactions have ended");
    }

    /// Takes what is there, a few messages of each ring; how many there were.
    fn turn(&mut self) -> usize {
        let Self { ends, space, visits, granted, .. } = self;
        let LockEnds { from_execution, from_lock, to_lock, to_execution, .. } = ends;
        let mut pass_on = |request| pass_on(request, *visits, to_lock, to_execution);
        let mut taken = from_execution.receive(BATCH, |message| match message {
            ToLock::Acquire(request) => {
                if let Some(request) = space.ask(request) {
                    pass_on(request);
                }
            }
            ToLock::Release { grant, position } => {
                space.release(grant, position, granted);
                granted.drain(..).for_each(&mut pass_on);
            }
        });
        taken += from_lock.receive(BATCH, |request| {
            if let Some(request) = space.ask(request) {
                pass_on(request);
            }
        });
        if taken > 0 {
            to_execution.publish();
            to_lock.publish();
        }
        taken
    }

    fn publish_books(&mut self) {
        let books = self.books.of(self.number);
        books.waits.add(self.space.take_waits());
        books.messages.add(self.ends.to_lock.take_sent() + self.ends.to_execution.take_sent());
        self.watch.publish(books);
    }
}

/// Sends a request, which holds what it asked for here, to where it goes next.
fn pass_on(
    request: Parcel,
    visits: Visits,
    to_lock: &mut Senders<Parcel>,
    to_execution: &mut Senders<Parcel>,
) {
    match request.next() {
        Some(next) if visits == Visits::Forwarded => to_lock.send(next, request),
        _ => to_execution.send(request.execution, request),
    }
}
