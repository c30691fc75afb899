//! A lock thread: owns granules, and grants them. It knows nothing of transactions but their
//! requests; short ones that need nobody else it may run itself, if the settings say so.
//!
//! States       taking messages by turns -> nothing there: asleep
//! Invariants   I1 it never waits for room in a ring (I1 of [`crate::mesh`]), nor in the log, so
//!              that whoever waits for it does not wait for ever
//!              I2 a transaction that it runs is the only thing it does meanwhile: others that come
//!              here find its locks as they were, or as they are afterwards
//! Source       orthrus.txt 3.1 (partitioned functionality) and 3.3 (forwarding). We differ where
//!              `run_there` says so: a transaction that needs one lock thread only is spared a
//!              message, and its locks their queues; the paper keeps the roles apart

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use hotrow_base::clock::Ticks;
use hotrow_base::counters::PerWorker;
use hotrow_engine::schema::{Schema, SharedSchema};
use hotrow_engine::statistics::{Activity, Stopwatch, WorkerBooks};
use hotrow_log::position::Position;

use crate::lock_space::LockSpace;
use crate::mesh::{LockEnds, Senders};
use crate::options::Visits;
use crate::request::{Parcel, ToLock};
use crate::run::Runner;

/// Messages taken from a ring before the next one's turn comes.
const BATCH: usize = 4;
/// The longest sleep; it bounds how late a stop is seen.
const NAP: Duration = Duration::from_millis(10);
/// Turns between two publications of the books.
const TURNS_PER_BOOKS: u32 = 256;

/// See the module.
pub struct LockThread {
    ends: LockEnds,
    desk: Desk,
    stopping: Arc<AtomicBool>,
    books: Arc<PerWorker<WorkerBooks>>,
    number: usize,
}

/// All but the ends of rings.
struct Desk {
    space: LockSpace,
    visits: Visits,
    runner: Runner,
    shared: Arc<SharedSchema>,
    schema: Arc<Schema>,
    generation: u64,
    watch: Stopwatch,
    /// transactions that hold everything here, and have not gone on
    granted: Vec<Parcel>,
}

/// Where parcels go from here.
struct Outgoing<'a> {
    to_lock: &'a mut Senders<Parcel>,
    to_execution: &'a mut Senders<Parcel>,
}

impl LockThread {
    /// The thread with these ends. It keeps the books with this number, and ends when `stopping`.
    pub fn new(
        ends: LockEnds,
        visits: Visits,
        (runner, shared): (Runner, Arc<SharedSchema>),
        stopping: Arc<AtomicBool>,
        (books, number): (Arc<PerWorker<WorkerBooks>>, usize),
    ) -> Self {
        let desk = Desk {
            space: LockSpace::default(),
            visits,
            runner,
            schema: shared.current(),
            generation: shared.generation(),
            shared,
            watch: Stopwatch::default(),
            granted: Vec::new(),
        };
        Self { ends, desk, stopping, books, number }
    }

    /// Runs until it is told to stop, which it is when all transactions have ended.
    pub fn run(mut self) {
        let mut turns = 0_u32;
        self.desk.watch.switch(Activity::Lock);
        // Acquire; partner: the Release in `Orthrus::stop`.
        while !self.stopping.load(Ordering::Acquire) {
            turns = turns.wrapping_add(1);
            if self.turn() == 0 {
                self.desk.watch.switch(Activity::Idle);
                self.ends.wait(Ticks::from_now(NAP));
                self.desk.watch.switch(Activity::Lock);
            }
            if turns.is_multiple_of(TURNS_PER_BOOKS) {
                self.publish_books();
                self.desk.schema.reclaim(self.desk.runner.worker());
            }
        }
        // What is left are releases.
        while self.turn() > 0 {}
        self.publish_books();
        debug_assert!(self.desk.space.is_empty(), "all transactions have ended");
    }

    /// Takes what is there, a few messages of each ring; how many there were.
    fn turn(&mut self) -> usize {
        let Self { ends, desk, .. } = self;
        let LockEnds { from_execution, from_lock, to_lock, to_execution, .. } = ends;
        let mut out = Outgoing { to_lock, to_execution };
        let mut taken = from_execution.receive(BATCH, |message| match message {
            ToLock::Acquire(parcel) => desk.take(parcel, &mut out),
            ToLock::Release { grant, position } => desk.release(grant, position, &mut out),
        });
        taken += from_lock.receive(BATCH, |parcel| desk.take(parcel, &mut out));
        if taken > 0 {
            out.to_execution.publish();
            out.to_lock.publish();
        }
        taken
    }

    fn publish_books(&mut self) {
        let books = self.books.of(self.number);
        books.waits.add(self.desk.space.take_waits());
        books.messages.add(self.ends.to_lock.take_sent() + self.ends.to_execution.take_sent());
        self.desk.watch.publish(books);
    }
}

impl Desk {
    /// Takes up a transaction that has come for its locks.
    fn take(&mut self, mut parcel: Parcel, out: &mut Outgoing<'_>) {
        if self.runs(&parcel) && self.space.pass(&mut parcel.request) {
            let position = self.run(&mut parcel);
            self.space.leave(&parcel.request, position);
            out.send_back(parcel);
        } else if let Some(parcel) = self.space.ask(parcel) {
            self.granted.push(parcel);
            self.send_granted(out);
        }
    }

    fn release(&mut self, grant: u32, position: Position, out: &mut Outgoing<'_>) {
        self.space.release(grant, position, &mut self.granted);
        self.send_granted(out);
    }

    /// Sends those that hold everything here on their way; runs them first if that is done here,
    /// which may let others have everything.
    fn send_granted(&mut self, out: &mut Outgoing<'_>) {
        while let Some(mut parcel) = self.granted.pop() {
            if self.runs(&parcel) {
                let position = self.run(&mut parcel);
                let grant = parcel.request.hops[0].grant;
                self.space.release(grant, position, &mut self.granted);
                out.send_back(parcel);
                continue;
            }
            match parcel.request.next() {
                Some(next) if self.visits == Visits::Forwarded => out.to_lock.send(next, parcel),
                _ => out.send_back(parcel),
            }
        }
    }

    /// Whether a transaction is run here: not where that might have to wait (I1).
    fn runs(&self, parcel: &Parcel) -> bool {
        parcel.request.runs_there
            && self.runner.committer.has_room()
            && self.schema.memory.saved_rows().has_room(self.runner.worker())
    }

    /// Runs a transaction; its place.
    fn run(&mut self, parcel: &mut Parcel) -> Position {
        // The transaction's execution thread is inside the gate: the schema stays as it is.
        if self.shared.generation() != self.generation {
            self.generation = self.shared.generation();
            self.schema = self.shared.current();
        }
        self.watch.switch(Activity::Execute);
        let ran = self.runner.run(&self.schema, parcel);
        let position = ran.position();
        parcel.ended = Some(self.runner.end(ran, parcel));
        self.watch.switch(Activity::Lock);
        position
    }
}

impl Outgoing<'_> {
    fn send_back(&mut self, parcel: Parcel) {
        self.to_execution.send(parcel.execution, parcel);
    }
}
