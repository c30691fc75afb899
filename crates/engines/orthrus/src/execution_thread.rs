//! An execution thread: plans calls, sends their footprints to the lock threads, and runs each when
//! everything it needs is held. It knows nothing of locks.
//!
//! States       outside the gate, with nothing on its way -> inside: calls are fetched, planned and
//!              sent off, and run as their requests come back, in any order -> something asks for
//!              a pause: nothing more is fetched -> the last one has ended -> outside
//!
//! ```text
//!   a call   fetched ─plan─▶ on its way ─granted─▶ run ─▶ released, told
//!                 ▲                                 │ outside its footprint: undone, released
//!                 └─────────────────────────────────┘ (too often: run alone)
//! ```
//!
//! Invariants   I1 records are touched only inside the gate and under an epoch pin: of one turn for
//!              plans, of one call for running it. A hint that has grown old in between names a
//!              record that is no longer the key's, or is again
//!              I2 a call fetched is finished, whatever happens
//!              I3 a call runs to its end without pause once it has everything, so that one set of
//!              buffers serves all
//!              I4 calls that were granted come before calls that are fetched: what is held is let
//!              go first
//! Source       orthrus.txt 3.1 (execution threads), 3.2 (OLLP) and 3.3 (asynchronous requests)

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use hotrow_base::clock::Ticks;
use hotrow_base::counters::PerWorker;
use hotrow_engine::in_place::{InPlace, Scratch};
use hotrow_engine::journal::Committer;
use hotrow_engine::protection::Planned;
use hotrow_engine::schema::{Schema, SharedSchema};
use hotrow_engine::source::{CallSource, Fetch};
use hotrow_engine::statistics::{Activity, Stopwatch, WorkerBooks};
use hotrow_engine::worker::{Call, REPLANS_MAX, error_of};
use hotrow_log::position::Position;
use hotrow_transaction::interpret;
use hotrow_transaction::outcome::Stop;

use crate::lower::Owners;
use crate::mesh::ExecutionEnds;
use crate::request::{Parcel, Request, ToLock};

/// Turns inside the gate before a pause: memory is given back, and the log and checkpoints may ask
/// for time.
const TURNS_PER_PAUSE: u32 = 256;
/// Requests taken from a ring before the next one's turn comes.
const BATCH: usize = 16;
/// How long a thread that has calls on their way, and room for more, sleeps before it looks for
/// those.
const GLANCE: Duration = Duration::from_micros(200);
/// How long it sleeps otherwise.
const NAP: Duration = Duration::from_millis(10);

/// A place for a call.
struct Slot {
    call: Call,
    /// which source it came from
    source: usize,
    /// while it is not on its way
    request: Option<Parcel>,
}

/// What an execution thread is made of.
pub struct Parts {
    /// its number among execution threads
    pub execution: u16,
    /// its number among all
    pub number: usize,
    /// tables, procedures and granules
    pub schema: Arc<SharedSchema>,
    /// its way to the journal
    pub committer: Committer,
    /// where its calls come from
    pub sources: Vec<Box<dyn CallSource>>,
    /// its rings
    pub ends: ExecutionEnds,
    /// how many lock threads there are
    pub lock_threads: u16,
    /// calls on their way at most
    pub in_flight: u16,
    /// of a call
    pub step_budget: u64,
    /// its books are those with its number
    pub books: Arc<PerWorker<WorkerBooks>>,
    /// no more calls are to be fetched
    pub stopping: Arc<AtomicBool>,
}

/// See the module.
pub struct ExecutionThread {
    parts: Parts,
    slots: Vec<Slot>,
    free: Vec<u16>,
    /// slots whose calls must run alone
    alone: Vec<u16>,
    /// requests that came back
    granted: Vec<Parcel>,
    /// slots that were filled this turn
    fresh: Vec<u16>,
    scratch: Scratch,
    watch: Stopwatch,
    /// sources that will have no more calls
    closed: Vec<bool>,
}

/// How a stay inside the gate ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Shift {
    /// there was nothing to do
    Idle,
    Paused,
}

impl ExecutionThread {
    /// A thread that has not begun.
    pub fn new(parts: Parts) -> Self {
        let slot = |number| Slot {
            call: Call::new(parts.step_budget),
            source: 0,
            request: Some(Box::new(Request::new(parts.execution, number))),
        };
        Self {
            slots: (0..parts.in_flight).map(slot).collect(),
            free: (0..parts.in_flight).rev().collect(),
            alone: Vec::new(),
            granted: Vec::new(),
            fresh: Vec::new(),
            scratch: Scratch::new(parts.committer.worker()),
            watch: Stopwatch::default(),
            closed: vec![false; parts.sources.len()],
            parts,
        }
    }

    /// Runs until it is told to stop, or its sources are closed.
    pub fn run(mut self) {
        let shared = Arc::clone(&self.parts.schema);
        let id = self.parts.committer.worker();
        let mut schema = shared.current();
        let mut generation = shared.generation();
        let mut owners = Owners::new(&schema, self.parts.lock_threads);
        // Acquire; partner: the Release in `Orthrus::stop`.
        while !self.parts.stopping.load(Ordering::Acquire) && self.closed.contains(&false) {
            schema.memory.saved_rows().wait_for_room(id);
            self.parts.committer.wait_for_room();
            shared.gate().enter(id.index());
            if shared.generation() != generation {
                generation = shared.generation();
                schema = shared.current();
                owners = Owners::new(&schema, self.parts.lock_threads);
            }
            let shift = self.shift(&shared, &schema, &owners);
            shared.gate().leave(id.index());
            self.run_alone(&shared);
            self.publish_books();
            schema.reclaim(id);
            if shift == Shift::Idle {
                self.wait_for_calls();
            }
        }
        self.publish_books();
    }

    /// Fetches and runs calls inside the gate, until something asks for a pause.
    fn shift(&mut self, shared: &SharedSchema, schema: &Schema, owners: &Owners) -> Shift {
        let mut turns = 0;
        let mut pauses = false;
        let mut ran = false;
        loop {
            let received = self.take_granted(schema, owners); // I4
            let fetched = if pauses { 0 } else { self.fetch(schema, owners) };
            self.parts.ends.to_lock.publish();
            ran |= fetched > 0;
            turns += 1;
            pauses = turns >= TURNS_PER_PAUSE
                || !self.alone.is_empty()
                || shared.gate().wants_quiet()
                || self.parts.stopping.load(Ordering::Acquire);
            if self.on_their_way() == 0 && (pauses || fetched == 0 && received == 0) {
                self.watch.switch(Activity::Idle);
                return if ran { Shift::Paused } else { Shift::Idle };
            }
            if fetched == 0 && received == 0 {
                self.watch.switch(Activity::Wait);
                let looks = !pauses && !self.free.is_empty();
                let deadline = Ticks::from_now(if looks { GLANCE } else { NAP });
                self.parts.ends.wait(deadline);
            }
        }
    }

    fn on_their_way(&self) -> usize {
        self.slots.len() - self.free.len() - self.alone.len()
    }

    /// Runs the calls whose requests have come back.
    fn take_granted(&mut self, schema: &Schema, owners: &Owners) -> usize {
        let mut granted = std::mem::take(&mut self.granted);
        let received = self.parts.ends.from_lock.receive(BATCH, |request| granted.push(request));
        for request in granted.drain(..) {
            match request.next() {
                Some(next) => self.parts.ends.to_lock.send(next, ToLock::Acquire(request)),
                None => self.execute(schema, owners, request),
            }
        }
        self.granted = granted;
        received
    }

    /// Fetches calls into free slots, plans them, and sends them off; how many.
    fn fetch(&mut self, schema: &Schema, owners: &Owners) -> usize {
        debug_assert!(self.fresh.is_empty(), "the last turn's calls are on their way");
        for source in 0..self.parts.sources.len() {
            while let Some(&slot) = self.free.last() {
                if self.closed[source] {
                    break;
                }
                let Slot { call, source: of_slot, .. } = &mut self.slots[usize::from(slot)];
                match call.fetch(&mut *self.parts.sources[source], schema) {
                    Fetch::Ready(_) => {
                        *of_slot = source;
                        self.free.pop();
                        self.fresh.push(slot);
                    }
                    Fetch::Empty => break,
                    Fetch::Closed => self.closed[source] = true,
                }
            }
        }
        let fetched = self.fresh.len();
        if fetched > 0 {
            self.send_fresh(schema, owners);
        }
        fetched
    }

    fn send_fresh(&mut self, schema: &Schema, owners: &Owners) {
        self.watch.switch(Activity::Plan);
        let fresh = std::mem::take(&mut self.fresh);
        let pin = schema.memory.epochs().pin(self.scratch.worker());
        for &slot in &fresh {
            let call = &mut self.slots[usize::from(slot)].call;
            // A plan that could not be made covers too little, and another one is made then.
            if call.procedure.is_some() && call.make_plan(schema, &mut self.scratch).is_ok() {
                call.prefetch_indexes(schema);
            }
        }
        for &slot in &fresh {
            let call = &mut self.slots[usize::from(slot)].call;
            if call.procedure.is_some() {
                call.resolve_hints(schema);
            }
        }
        drop(pin);
        self.watch.switch(Activity::Lock);
        for &slot in &fresh {
            if self.slots[usize::from(slot)].call.procedure.is_some() {
                self.send(schema, owners, slot);
            } else {
                let Parts { sources, books, number, .. } = &mut self.parts;
                let Slot { call, source, .. } = &mut self.slots[usize::from(slot)];
                call.finish_unknown(&mut *sources[*source], books.of(*number));
                self.free.push(slot);
            }
        }
        self.fresh = fresh;
        self.fresh.clear();
    }

    /// Sends a planned call's request to the first of the lock threads that it needs; runs the call
    /// if it needs none.
    fn send(&mut self, schema: &Schema, owners: &Owners, slot: u16) {
        let Slot { call, request, .. } = &mut self.slots[usize::from(slot)];
        let mut request = request.take().expect("the call is not on its way");
        owners.lower(&schema.catalog, &call.plan, &mut request);
        match request.next() {
            Some(first) => self.parts.ends.to_lock.send(first, ToLock::Acquire(request)),
            None => self.execute(schema, owners, request),
        }
    }

    /// Runs a call that holds everything it was planned to need, and lets all of it go.
    fn execute(&mut self, schema: &Schema, owners: &Owners, request: Parcel) {
        self.watch.switch(Activity::Execute);
        let number = request.slot;
        let committer = &self.parts.committer;
        let Slot { call, request: own, .. } = &mut self.slots[usize::from(number)];
        let met = request.met;
        let executed = {
            let Call { invocation, procedure, frame, plan, hints, .. } = &mut *call;
            let procedure = procedure.as_deref().expect("only procedures that exist are run");
            let program = &procedure.program;
            let _pin = schema.memory.epochs().pin(self.scratch.worker()); // I1
            frame.begin(program, invocation);
            let protection = Planned(plan.footprint());
            let access = InPlace::new(schema, &mut self.scratch, protection);
            let mut access = access.with_hints(hints);
            let ran = interpret::run(program, 0, frame, &mut access, &mut plan.keys());
            let commit = ran.and_then(|()| access.commit_at(committer, met, invocation));
            match commit {
                Ok(_) => access.commit(),
                Err(_) => access.undo(),
            }
            commit
        };
        let position = match &executed {
            Ok(commit) => commit.position(),
            Err(_) => Position::default(),
        };
        for hop in &request.hops {
            let release = ToLock::Release { grant: hop.grant, position };
            self.parts.ends.to_lock.send(hop.thread, release);
        }
        *own = Some(request);
        let ended = call.end(executed, met, committer);
        self.end(schema, owners, number, ended);
    }

    /// Tells the end of a call, or has it run again.
    fn end(&mut self, schema: &Schema, owners: &Owners, slot: u16, ended: Result<(), Stop>) {
        let Self { parts, slots, .. } = self;
        let Slot { call, source, .. } = &mut slots[usize::from(slot)];
        let books = parts.books.of(parts.number);
        let end = match ended {
            Ok(()) => Ok(()),
            Err(stop @ (Stop::Error | Stop::OutOfMemory)) => {
                Err(error_of(stop, schema, &mut call.frame))
            }
            Err(Stop::Log) => Err(parts.committer.failure()),
            Err(Stop::Replan) if call.attempts >= REPLANS_MAX => {
                self.alone.push(slot);
                return;
            }
            Err(stop) => {
                match stop {
                    Stop::Conflict(reason) => books.conflicts[reason as usize].increment(),
                    _ => books.replans.increment(),
                }
                call.attempts += 1;
                return self.plan_again(schema, owners, slot);
            }
        };
        call.finish(end, &mut *parts.sources[*source], books);
        self.free.push(slot);
    }

    fn plan_again(&mut self, schema: &Schema, owners: &Owners, slot: u16) {
        self.watch.switch(Activity::Plan);
        let pin = schema.memory.epochs().pin(self.scratch.worker());
        let call = &mut self.slots[usize::from(slot)].call;
        let planned = call.make_plan(schema, &mut self.scratch);
        if planned.is_ok() {
            call.resolve_hints(schema);
        }
        drop(pin);
        match planned {
            Ok(()) => self.send(schema, owners, slot),
            Err(stop) => self.end(schema, owners, slot, Err(stop)),
        }
    }

    /// Runs calls that could not be planned. Outside the gate, with nothing on its way.
    fn run_alone(&mut self, shared: &SharedSchema) {
        let Self { parts, slots, alone, scratch, free, .. } = self;
        for slot in alone.drain(..) {
            let Slot { call, source, .. } = &mut slots[usize::from(slot)];
            let (source, books) = (&mut *parts.sources[*source], parts.books.of(parts.number));
            call.run_alone(shared, scratch, &parts.committer, source, books);
            free.push(slot);
        }
    }

    /// Waits until some source may have a call. Those of sessions have them all from one queue.
    fn wait_for_calls(&mut self) {
        let open = self.closed.iter().position(|closed| !closed);
        if let Some(open) = open {
            self.parts.sources[open].wait();
        }
    }

    fn publish_books(&mut self) {
        let books = self.parts.books.of(self.parts.number);
        books.messages.add(self.parts.ends.to_lock.take_sent());
        self.watch.publish(books);
    }
}
