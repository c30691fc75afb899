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
//!              plans, of one call for running it (I2 of [`crate::run`] for what lies in between)
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
use hotrow_base::sync::reclaim::ReclaimEpoch;
use hotrow_engine::schema::{Schema, SharedSchema};
use hotrow_engine::source::{CallSource, Fetch};
use hotrow_engine::statistics::{Activity, Stopwatch, WorkerBooks};
use hotrow_engine::worker::{Call, Next};
use hotrow_transaction::outcome::Stop;

use crate::lower::Owners;
use crate::mesh::ExecutionEnds;
use crate::options::Settings;
use crate::request::{Parcel, Request, ToLock, Transaction};
use crate::run::Runner;

/// Turns inside the gate before a pause: memory is given back, and the log and checkpoints may ask
/// for time.
const TURNS_PER_PAUSE: u32 = 256;
/// Transactions taken from a ring before the next one's turn comes.
const BATCH: usize = 4;
/// Calls fetched in a turn: so many are planned together, and the lock threads have something to do
/// while the next are.
const FETCHES_PER_TURN: usize = 4;
/// Calls that a thread that had to wait keeps to itself at most, until it has to wait again.
const SPARE_MAX: u32 = 4;
/// How long a thread that has calls on their way, and room for more, sleeps before it looks for
/// those.
const GLANCE: Duration = Duration::from_micros(200);
/// How long it sleeps otherwise.
const NAP: Duration = Duration::from_millis(10);

/// What an execution thread is made of.
pub struct Parts {
    /// its number among execution threads
    pub execution: u16,
    /// its number among all
    pub number: usize,
    /// tables, procedures and granules
    pub shared: Arc<SharedSchema>,
    /// runs what has come back
    pub runner: Runner,
    /// where its calls come from
    pub sources: Vec<Box<dyn CallSource>>,
    /// its rings
    pub ends: ExecutionEnds,
    /// the engine's settings
    pub settings: Settings,
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
    /// those that carry no call
    free: Vec<Parcel>,
    /// fetched this turn
    fresh: Vec<Parcel>,
    /// must run alone
    alone: Vec<Parcel>,
    /// have come back this turn
    back: Vec<Parcel>,
    on_their_way: usize,
    /// calls that this thread is to run itself though lock threads could: it has had to wait
    spare: u32,
    watch: Stopwatch,
    /// sources that will have no more calls
    closed: Vec<bool>,
}

impl ExecutionThread {
    /// A thread that has not begun.
    pub fn new(parts: Parts) -> Self {
        let parcel = |_| {
            Box::new(Transaction {
                call: Call::new(parts.step_budget),
                execution: parts.execution,
                source: 0,
                planned_in: ReclaimEpoch::default(),
                request: Request::default(),
                ended: None,
            })
        };
        Self {
            free: (0..parts.settings.in_flight).map(parcel).collect(),
            fresh: Vec::new(),
            alone: Vec::new(),
            back: Vec::new(),
            on_their_way: 0,
            spare: 0,
            watch: Stopwatch::default(),
            closed: vec![false; parts.sources.len()],
            parts,
        }
    }

    /// Runs until it is told to stop, or its sources are closed.
    pub fn run(mut self) {
        let shared = Arc::clone(&self.parts.shared);
        let id = self.parts.runner.worker();
        let lock_threads = self.parts.settings.lock_threads;
        let mut schema = shared.current();
        let mut generation = shared.generation();
        let mut owners = Owners::new(&schema, lock_threads);
        // Acquire; partner: the Release in `Orthrus::stop`.
        while !self.parts.stopping.load(Ordering::Acquire) && self.closed.contains(&false) {
            schema.memory.saved_rows().wait_for_room(id);
            self.parts.runner.committer.wait_for_room();
            shared.gate().enter(id.index());
            if shared.generation() != generation {
                generation = shared.generation();
                schema = shared.current();
                owners = Owners::new(&schema, lock_threads);
            }
            let ran = self.shift(&shared, &schema, &owners);
            shared.gate().leave(id.index());
            self.run_alone(&shared);
            self.publish_books();
            schema.reclaim(id);
            if !ran {
                self.wait_for_calls();
            }
        }
        self.publish_books();
    }

    /// Fetches and runs calls inside the gate, until something asks for a pause or there are none;
    /// whether there were any.
    fn shift(&mut self, shared: &SharedSchema, schema: &Schema, owners: &Owners) -> bool {
        let mut turns = 0;
        let mut pauses = false;
        let mut ran = false;
        loop {
            let received = self.take_back(schema, owners); // I4
            let fetched = if pauses { 0 } else { self.fetch(schema, owners) };
            self.parts.ends.to_lock.publish();
            ran |= fetched > 0;
            turns += 1;
            pauses = turns >= TURNS_PER_PAUSE
                || !self.alone.is_empty()
                || shared.gate().wants_quiet()
                || self.parts.stopping.load(Ordering::Acquire);
            if self.on_their_way == 0 && (pauses || fetched == 0 && received == 0) {
                self.watch.switch(Activity::Idle);
                return ran;
            }
            if fetched == 0 && received == 0 {
                self.watch.switch(Activity::Wait);
                self.spare = SPARE_MAX.min(self.spare + 1);
                let looks = !pauses && !self.free.is_empty();
                let deadline = Ticks::from_now(if looks { GLANCE } else { NAP });
                self.parts.ends.wait(deadline);
            }
        }
    }

    /// Goes on with the transactions that have come back.
    fn take_back(&mut self, schema: &Schema, owners: &Owners) -> usize {
        let mut back = std::mem::take(&mut self.back);
        let received = self.parts.ends.from_lock.receive(BATCH, |parcel| back.push(parcel));
        for mut parcel in back.drain(..) {
            match (parcel.ended.take(), parcel.request.next()) {
                (Some(ended), _) => self.end(schema, owners, parcel, ended),
                (None, None) => self.execute(schema, owners, parcel),
                (None, Some(next)) => {
                    self.parts.ends.to_lock.send(next, ToLock::Acquire(parcel));
                }
            }
        }
        self.back = back;
        received
    }

    /// Fetches calls, plans them, and sends them off; how many.
    fn fetch(&mut self, schema: &Schema, owners: &Owners) -> usize {
        let Self { parts, free, fresh, closed, .. } = self;
        for (number, source) in parts.sources.iter_mut().enumerate() {
            while !closed[number]
                && fresh.len() < FETCHES_PER_TURN
                && let Some(mut parcel) = free.pop()
            {
                parcel.source = number;
                match parcel.call.fetch(&mut **source, schema) {
                    Fetch::Ready(_) => fresh.push(parcel),
                    Fetch::Empty => {
                        free.push(parcel);
                        break;
                    }
                    Fetch::Closed => {
                        free.push(parcel);
                        closed[number] = true;
                    }
                }
            }
        }
        let fetched = self.fresh.len();
        if fetched > 0 {
            self.on_their_way += fetched;
            self.send_fresh(schema, owners);
        }
        fetched
    }

    fn send_fresh(&mut self, schema: &Schema, owners: &Owners) {
        self.watch.switch(Activity::Plan);
        let mut fresh = std::mem::take(&mut self.fresh);
        let known = |parcel: &&mut Parcel| parcel.call.procedure.is_some();
        let runner = &mut self.parts.runner;
        let pin = schema.memory.epochs().pin(runner.worker());
        for parcel in fresh.iter_mut().filter(known) {
            parcel.planned_in = pin.epoch();
            // A plan that could not be made covers too little, and another one is made then.
            if parcel.call.make_plan(schema, &mut runner.scratch).is_ok() {
                parcel.call.prefetch_indexes(schema);
            }
        }
        fresh.iter_mut().filter(known).for_each(|parcel| parcel.call.resolve_hints(schema));
        drop(pin);
        self.watch.switch(Activity::Lock);
        for mut parcel in fresh.drain(..) {
            if parcel.call.procedure.is_some() {
                self.send(schema, owners, parcel);
            } else {
                let Parts { sources, books, number, .. } = &mut self.parts;
                let source = &mut *sources[parcel.source];
                parcel.call.finish_unknown(source, books.of(*number));
                self.take_in(parcel);
            }
        }
        self.fresh = fresh;
    }

    /// Sends a planned call to the first of the lock threads that it needs; runs it if it needs
    /// none.
    fn send(&mut self, schema: &Schema, owners: &Owners, mut parcel: Parcel) {
        let Transaction { call, request, .. } = &mut *parcel;
        owners.lower(&schema.catalog, &call.plan, request, self.parts.settings.run_there);
        if request.runs_there && self.spare > 0 {
            (request.runs_there, self.spare) = (false, self.spare - 1);
        }
        match request.next() {
            Some(first) => self.parts.ends.to_lock.send(first, ToLock::Acquire(parcel)),
            None => self.execute(schema, owners, parcel),
        }
    }

    /// Runs a call that holds everything it was planned to need, and lets all of it go.
    fn execute(&mut self, schema: &Schema, owners: &Owners, mut parcel: Parcel) {
        self.watch.switch(Activity::Execute);
        let Parts { runner, ends, .. } = &mut self.parts;
        let ran = runner.run(schema, &mut parcel);
        let position = ran.position();
        for hop in &parcel.request.hops {
            let release = ToLock::Release { grant: hop.grant, position };
            ends.to_lock.send(hop.thread, release);
        }
        let ended = runner.end(ran, &mut parcel);
        self.end(schema, owners, parcel, ended);
    }

    /// Tells the end of a call, or has it run again.
    fn end(
        &mut self,
        schema: &Schema,
        owners: &Owners,
        mut parcel: Parcel,
        ended: Result<(), Stop>,
    ) {
        let Parts { runner, sources, books, number, .. } = &mut self.parts;
        let (call, books) = (&mut parcel.call, books.of(*number));
        match call.after(ended, schema, &runner.committer, books) {
            Next::End(end) => {
                call.finish(end, &mut *sources[parcel.source], books);
                self.take_in(parcel);
            }
            Next::Alone => {
                self.alone.push(parcel);
                self.on_their_way -= 1;
            }
            Next::Again(_) => {
                call.attempts += 1;
                self.plan_again(schema, owners, parcel);
            }
        }
    }

    fn plan_again(&mut self, schema: &Schema, owners: &Owners, mut parcel: Parcel) {
        self.watch.switch(Activity::Plan);
        let runner = &mut self.parts.runner;
        let pin = schema.memory.epochs().pin(runner.worker());
        parcel.planned_in = pin.epoch();
        let planned = parcel.call.make_plan(schema, &mut runner.scratch);
        if planned.is_ok() {
            parcel.call.resolve_hints(schema);
        }
        drop(pin);
        match planned {
            Ok(()) => self.send(schema, owners, parcel),
            Err(stop) => self.end(schema, owners, parcel, Err(stop)),
        }
    }

    /// A parcel carries no call any more.
    fn take_in(&mut self, parcel: Parcel) {
        self.free.push(parcel);
        self.on_their_way -= 1;
    }

    /// Runs calls that could not be planned. Outside the gate, with nothing on its way.
    fn run_alone(&mut self, shared: &SharedSchema) {
        let Self { parts, alone, free, .. } = self;
        for mut parcel in alone.drain(..) {
            let Runner { scratch, committer } = &mut parts.runner;
            let (source, books) =
                (&mut *parts.sources[parcel.source], parts.books.of(parts.number));
            parcel.call.run_alone(shared, scratch, committer, source, books);
            free.push(parcel);
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
