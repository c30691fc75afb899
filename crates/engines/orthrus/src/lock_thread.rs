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
use std::time::Duration;

use crossbeam_utils::CachePadded;
use hotrow_base::clock::Ticks;
use hotrow_base::sync::Latch;
use hotrow_engine::schema::KnownSchema;
use hotrow_engine::statistics::{Activity, Stopwatch, turns_between_books};
use hotrow_flow::mesh::Senders;
use hotrow_log::position::Position;

use crate::crew::{Crew, Kit};
use crate::lock_table::{LockTable, OpenTable};
use crate::mesh::LockEnds;
use crate::options::Visits;
use crate::request::{Hop, Parcel, ToLock};

/// Messages taken from a ring before the next one's turn comes.
const BATCH: usize = 4;
/// The longest sleep; it bounds how late a stop is seen.
const NAP: Duration = Duration::from_millis(10);
/// Turns between two publications of the books.
const TURNS_PER_BOOKS: u32 = turns_between_books(256);
/// A turn without messages counts as so many at most: sleeps are long.
const TURNS_PER_IDLE: u32 = 32;

/// The ends of one thread's rings, and its table, which is latched for each turn.
pub struct LockThread {
    ends: LockEnds,
    /// its locks; latched for each turn, in which nobody else looks
    table: Arc<CachePadded<Latch<OpenTable>>>,
    desk: Desk,
}

/// All but the ends of rings and the locks.
struct Desk {
    crew: Arc<Crew>,
    kit: Kit,
    schema: KnownSchema,
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
    /// A thread that has not begun.
    pub fn new(
        crew: Arc<Crew>,
        ends: LockEnds,
        table: Arc<CachePadded<Latch<OpenTable>>>,
        kit: Kit,
    ) -> Self {
        let schema = KnownSchema::new(&crew.ground.schema);
        let desk = Desk { crew, kit, schema, watch: Stopwatch::default(), granted: Vec::new() };
        Self { ends, table, desk }
    }

    /// Runs until all transactions of the division have ended; what it leaves to the next one.
    pub fn run(mut self) -> Kit {
        let mut turns = 0_u32;
        self.desk.watch.switch(Activity::Lock);
        while !self.desk.crew.is_idle() {
            turns += 1;
            if self.turn() == 0 {
                self.desk.watch.switch(Activity::Idle);
                let Self { ends, desk, .. } = &mut self;
                ends.wait(Ticks::from_now(NAP), || desk.crew.is_idle());
                self.desk.watch.switch(Activity::Lock);
                turns = turns.next_multiple_of(TURNS_PER_IDLE);
            }
            if turns >= TURNS_PER_BOOKS {
                turns = 0;
                self.publish_books();
            }
        }
        // What is left are releases.
        while self.turn() > 0 {}
        self.publish_books();
        let mut open = self.table.lock();
        debug_assert!(open.table.is_empty(), "all transactions have ended");
        open.is_open = false;
        drop(open);
        self.desk.kit
    }

    /// Takes what is there, a few messages of each ring; how many there were.
    fn turn(&mut self) -> usize {
        let Self { ends, table, desk } = self;
        let table = &mut table.lock().table;
        let LockEnds { from_execution, from_lock, to_lock, to_execution, .. } = ends;
        let mut out = Outgoing { to_lock, to_execution };
        let mut taken = from_execution.receive(BATCH, |message| match message {
            ToLock::Acquire(parcel) => desk.take(table, parcel, &mut out),
            ToLock::Release { space, grant, position } => {
                table.release(space, grant, position, &mut desk.granted);
                desk.send_granted(table, &mut out);
            }
        });
        taken += from_lock.receive(BATCH, |parcel| desk.take(table, parcel, &mut out));
        if taken > 0 {
            ends.publish();
        }
        taken
    }

    /// Writes to the books, and gives back memory: that of tables that are no more, which a schema
    /// of before has, and some of its own if it runs calls.
    fn publish_books(&mut self) {
        let Self { ends, table, desk } = self;
        desk.schema.look_again(&desk.crew.ground.schema);
        let (number, waiting) = (desk.kit.number, ends.waiting());
        desk.crew.queues.of(number).looked(waiting);
        let books = desk.crew.books.of(number);
        books.waits.add(table.lock().table.take_waits());
        books.messages.add(ends.to_lock.take_sent() + ends.to_execution.take_sent());
        desk.watch.publish_as_lock_thread(books);
        if desk.crew.settings.run_there > 0 {
            desk.schema.reclaim(desk.kit.runner.worker());
        }
    }
}

impl Desk {
    /// Takes up a transaction that has come for its locks.
    fn take(&mut self, table: &mut LockTable, mut parcel: Parcel, out: &mut Outgoing<'_>) {
        parcel.request.take_over();
        if self.runs(&parcel) && table.pass(&mut parcel.request, 0) {
            let position = self.run(&mut parcel);
            table.leave(&parcel.request, 0, position);
            out.send_back(parcel);
        } else if let Some(parcel) = table.ask(parcel) {
            self.granted.push(parcel);
            self.send_granted(table, out);
        }
    }

    /// Sends those that hold everything here on their way; runs them first if that is done here,
    /// which may let others have everything.
    fn send_granted(&mut self, table: &mut LockTable, out: &mut Outgoing<'_>) {
        while let Some(mut parcel) = self.granted.pop() {
            if self.runs(&parcel) {
                let position = self.run(&mut parcel);
                let Hop { space, grant, .. } = parcel.request.hops[0];
                table.release(space, grant, position, &mut self.granted);
                out.send_back(parcel);
                continue;
            }
            match parcel.request.next() {
                Some(_) if table.is_shared() => self.granted.extend(table.ask(parcel)),
                Some(next) if self.crew.settings.visits == Visits::Forwarded => {
                    out.to_lock.send(next, parcel)
                }
                _ => out.send_back(parcel),
            }
        }
    }

    /// Whether a transaction is run here: not where that might have to wait (I1).
    fn runs(&self, parcel: &Parcel) -> bool {
        parcel.request.runs_there
            && self.kit.runner.committer.has_room()
            && self.schema.memory.saved_rows().has_room(self.kit.runner.worker())
    }

    /// Runs a transaction; its place.
    fn run(&mut self, parcel: &mut Parcel) -> Position {
        // The transaction's execution thread is inside the gate: the schema stays as it is.
        self.schema.look_again(&self.crew.ground.schema);
        self.watch.switch(Activity::Execute);
        let ran = self.kit.runner.run(&self.schema, parcel);
        let position = ran.position();
        parcel.ended = Some(self.kit.runner.end(ran, parcel));
        self.watch.switch(Activity::Lock);
        position
    }
}

impl Outgoing<'_> {
    fn send_back(&mut self, parcel: Parcel) {
        self.to_execution.send(parcel.execution, parcel);
    }
}
