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
//! Invariants   I1 records are touched only inside the gate and under an epoch pin that lasts from
//!              the first call's plan to the last one's end, so that hints found by planning are
//!              good when a call is run, here or by a lock thread
//!              I2 a call fetched is finished, whatever happens
//!              I3 a call runs to its end without pause once it has everything, so that one set of
//!              buffers serves all
//!              I4 calls that were granted come before calls that are fetched: what is held is let
//!              go first
//! Source       orthrus.txt 3.1 (execution threads), 3.2 (OLLP) and 3.3 (asynchronous requests)

use std::sync::Arc;
use std::time::Duration;

use hotrow_base::clock::Ticks;
use hotrow_engine::schema::{KnownSchema, Schema, SharedSchema};
use hotrow_engine::source::Fetch;
use hotrow_engine::statistics::{Activity, Stopwatch, turns_between_books};
use hotrow_engine::worker::Next;
use hotrow_transaction::outcome::Stop;

use crate::crew::{Crew, Kit};
use crate::in_flight::InFlight;
use crate::lower::Spaces;
use crate::mesh::ExecutionEnds;
use crate::options::{LockTable, Settings};
use crate::request::{Hop, Parcel, ToLock, Transaction};
use crate::run::Runner;

/// Turns inside the gate before a pause: memory is given back, and the log and checkpoints may ask
/// for time.
const TURNS_PER_PAUSE: u32 = 256;
/// Turns between two publications of the books; a pause publishes them, too.
const TURNS_PER_BOOKS: u32 = turns_between_books(TURNS_PER_PAUSE);
/// Turns between two looks at how many transactions have come back.
const TURNS_PER_LOOK: u32 = 8;
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

/// One thread: its sources, the calls that it has sent out, and those that have come back.
pub struct ExecutionThread {
    crew: Arc<Crew>,
    /// its number among execution threads
    execution: u16,
    ends: ExecutionEnds,
    /// as they are in this division
    settings: Settings,
    kit: Kit,
    /// fetched this turn
    fresh: Vec<Parcel>,
    /// must run alone
    alone: Vec<Parcel>,
    /// have come back this turn
    back: Vec<Parcel>,
    on_their_way: usize,
    in_flight: InFlight,
    /// calls that this thread is to run itself though lock threads could: it has had to wait
    spare: u32,
    /// the lock thread that was asked last, where any of them serves
    turn: u16,
    watch: Stopwatch,
    /// sources that will have no more calls
    closed: Vec<bool>,
}

impl ExecutionThread {
    /// A thread that has not begun.
    pub fn new(
        crew: Arc<Crew>,
        execution: u16,
        ends: ExecutionEnds,
        settings: Settings,
        kit: Kit,
    ) -> Self {
        Self {
            fresh: Vec::new(),
            alone: Vec::new(),
            back: Vec::new(),
            on_their_way: 0,
            in_flight: InFlight::new(&settings),
            spare: 0,
            turn: 0,
            watch: Stopwatch::default(),
            closed: vec![false; kit.sources.len()],
            crew,
            execution,
            ends,
            settings,
            kit,
        }
    }

    /// Runs until the division ends, or its sources are closed; what it leaves to the next one.
    pub fn run(mut self) -> Kit {
        let crew = Arc::clone(&self.crew);
        let shared = &*crew.ground.schema;
        let id = self.kit.runner.worker();
        let mut schema = KnownSchema::new(shared);
        let mut spaces = Spaces::new(&schema, &self.settings);
        while !crew.is_draining() && self.closed.contains(&false) {
            schema.memory.saved_rows().wait_for_room(id);
            self.kit.runner.committer.wait_for_room();
            shared.gate().enter(id.index());
            if schema.look_again(shared) {
                spaces = Spaces::new(&schema, &self.settings);
            }
            let ran = self.shift(shared, &schema, &spaces);
            shared.gate().leave(id.index());
            self.run_alone(shared);
            self.publish_books();
            schema.reclaim(id);
            if self.execution == 0 {
                crew.review();
            }
            if !ran && !crew.is_draining() {
                if let Some(places) = &self.kit.places {
                    let executing = self.settings.threads - usize::from(self.settings.lock_threads);
                    places.look_after(self.execution.into(), executing);
                }
                self.wait_for_calls();
            }
        }
        self.publish_books();
        if crew.has_executed() {
            self.ends.wake_lock_threads();
        }
        let mut closed = self.closed.into_iter();
        self.kit.sources.retain(|_| closed.next() == Some(false));
        self.kit
    }

    /// Fetches and runs calls inside the gate, until something asks for a pause or there are none;
    /// whether there were any.
    fn shift(&mut self, shared: &SharedSchema, schema: &Schema, spaces: &Spaces) -> bool {
        let _pin = schema.memory.epochs().pin(self.kit.runner.worker()); // I1
        let mut turns = 0;
        let mut pauses = false;
        let mut ran = false;
        loop {
            let received = self.take_back(schema, spaces); // I4
            self.ends.to_lock.publish();
            let fetches = !pauses && !self.ends.to_lock.has_late();
            let fetched = if fetches { self.fetch(schema, spaces) } else { 0 };
            self.ends.to_lock.publish();
            ran |= fetched > 0;
            if turns % TURNS_PER_LOOK == 0 {
                self.look_at_queue();
            }
            turns += 1;
            if TURNS_PER_BOOKS < TURNS_PER_PAUSE && turns.is_multiple_of(TURNS_PER_BOOKS) {
                self.publish_books();
            }
            pauses = turns >= TURNS_PER_PAUSE
                || !self.alone.is_empty()
                || shared.gate().wants_quiet()
                || self.crew.is_draining();
            if self.on_their_way == 0 && (pauses || fetched == 0 && received == 0) {
                self.ends.to_lock.flush(); // others may wait for what is released
                self.watch.switch(Activity::Idle);
                return ran;
            }
            if fetched == 0 && received == 0 {
                self.watch.switch(Activity::Wait);
                self.spare = SPARE_MAX.min(self.spare + 1);
                let looks = !pauses && self.in_flight.room(self.on_their_way) > 0;
                if !looks && !pauses {
                    self.in_flight.waited(|| self.ends.to_lock.backlog());
                }
                let deadline = Ticks::from_now(if looks { GLANCE } else { NAP });
                self.ends.wait(deadline);
            }
        }
    }

    /// Counts the calls that hold everything and wait for this thread.
    fn look_at_queue(&mut self) {
        let waiting = self.ends.from_lock.waiting();
        self.crew.queues.of(self.kit.number).looked(waiting);
        self.in_flight.found(waiting);
    }

    /// Goes on with the transactions that have come back.
    fn take_back(&mut self, schema: &Schema, spaces: &Spaces) -> usize {
        let mut back = std::mem::take(&mut self.back);
        let received = self.ends.from_lock.receive(BATCH, |parcel| back.push(parcel));
        for mut parcel in back.drain(..) {
            parcel.request.take_over();
            self.in_flight.came_back(parcel.request.waited);
            match (parcel.ended.take(), parcel.request.next()) {
                (Some(ended), _) => self.end(schema, spaces, parcel, ended),
                (None, None) => self.execute(schema, spaces, parcel),
                (None, Some(next)) => {
                    self.ends.to_lock.send(next, ToLock::Acquire(parcel));
                }
            }
        }
        self.back = back;
        received
    }

    /// Fetches calls, plans them, and sends them off; how many.
    fn fetch(&mut self, schema: &Schema, spaces: &Spaces) -> usize {
        let Self { kit, fresh, closed, on_their_way, in_flight, watch, .. } = self;
        let most = FETCHES_PER_TURN.min(in_flight.room(*on_their_way));
        if most == 0 {
            return 0;
        }
        watch.switch(Activity::Idle); // a source may make its calls up
        let (new, free) = (|| Transaction::new(self.crew.step_budget), &mut kit.free);
        for (number, source) in kit.sources.iter_mut().enumerate() {
            while !closed[number] && fresh.len() < most {
                let mut parcel = free.pop().unwrap_or_else(new);
                parcel.execution = self.execution;
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
            self.send_fresh(schema, spaces);
        }
        fetched
    }

    fn send_fresh(&mut self, schema: &Schema, spaces: &Spaces) {
        self.watch.switch(Activity::Plan);
        let mut fresh = std::mem::take(&mut self.fresh);
        let known = |parcel: &&mut Parcel| parcel.call.procedure.is_some();
        let runner = &mut self.kit.runner;
        for parcel in fresh.iter_mut().filter(known) {
            parcel.call.plan_ahead(schema, &mut runner.scratch);
        }
        fresh.iter_mut().filter(known).for_each(|parcel| parcel.call.resolve_hints(schema));
        self.watch.switch(Activity::Lock);
        for mut parcel in fresh.drain(..) {
            if parcel.call.procedure.is_some() {
                self.send(schema, spaces, parcel);
            } else {
                let Kit { sources, number, .. } = &mut self.kit;
                let source = &mut *sources[parcel.source];
                parcel.call.finish_unknown(source, self.crew.books.of(*number));
                self.take_in(parcel);
            }
        }
        self.fresh = fresh;
    }

    /// Sends a planned call to the first of the lock threads that it needs; runs it if it needs
    /// none.
    fn send(&mut self, schema: &Schema, spaces: &Spaces, mut parcel: Parcel) {
        let Self { ends, spare, turn, .. } = self;
        let Settings { lock_threads, lock_table, run_there, .. } = self.settings;
        let Transaction { call, request, .. } = &mut *parcel;
        spaces.lower(schema, &call.plan, request, run_there);
        if request.runs_there && *spare > 0 {
            (request.runs_there, *spare) = (false, *spare - 1);
        }
        if lock_table == LockTable::Shared {
            *turn = if *turn + 1 < lock_threads { *turn + 1 } else { 0 };
            request.server = Some(*turn);
        }
        match request.next() {
            Some(first) => {
                let to = request.thread_of(first);
                ends.to_lock.send(to, ToLock::Acquire(parcel));
            }
            None => self.execute(schema, spaces, parcel),
        }
    }

    /// Runs a call that holds everything it was planned to need, and lets all of it go.
    fn execute(&mut self, schema: &Schema, spaces: &Spaces, mut parcel: Parcel) {
        self.watch.switch(Activity::Execute);
        let Self { kit: Kit { runner, .. }, ends, in_flight, watch, .. } = self;
        let ran = runner.run(schema, &mut parcel);
        watch.switch(Activity::Lock);
        let position = ran.position();
        let request = &parcel.request;
        for &Hop { space, grant, .. } in &request.hops {
            let release = ToLock::Release { space, grant, position };
            ends.to_lock.send(request.thread_of(space), release);
        }
        if in_flight.is_contended() {
            ends.to_lock.publish(); // somebody waits for them
        }
        watch.switch(Activity::Execute);
        let ended = runner.end(ran, &mut parcel);
        self.end(schema, spaces, parcel, ended);
    }

    /// Tells the end of a call, or has it run again.
    fn end(
        &mut self,
        schema: &Schema,
        spaces: &Spaces,
        mut parcel: Parcel,
        ended: Result<(), Stop>,
    ) {
        let Kit { runner, sources, number, .. } = &mut self.kit;
        let (call, books) = (&mut parcel.call, self.crew.books.of(*number));
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
                self.plan_again(schema, spaces, parcel);
            }
        }
    }

    fn plan_again(&mut self, schema: &Schema, spaces: &Spaces, mut parcel: Parcel) {
        let Self { kit: Kit { runner, .. }, watch, .. } = self;
        let planned = parcel.call.plan_again(schema, &mut runner.scratch, watch);
        match planned {
            Ok(()) => self.send(schema, spaces, parcel),
            Err(stop) => self.end(schema, spaces, parcel, Err(stop)),
        }
    }

    /// A parcel carries no call any more, and can carry another one.
    fn take_in(&mut self, parcel: Parcel) {
        self.kit.free.push(parcel);
        self.on_their_way -= 1;
    }

    /// Runs calls that could not be planned. Outside the gate, with nothing on its way.
    fn run_alone(&mut self, shared: &SharedSchema) {
        let Self { kit: Kit { number, runner, sources, free, .. }, alone, .. } = self;
        for mut parcel in alone.drain(..) {
            let Runner { scratch, committer } = &mut *runner;
            let (source, books) = (&mut *sources[parcel.source], self.crew.books.of(*number));
            parcel.call.run_alone(shared, scratch, committer, source, books);
            free.push(parcel);
        }
    }

    /// Waits until some source may have a call. Those of sessions have them all from one queue.
    fn wait_for_calls(&mut self) {
        let open = self.closed.iter().position(|closed| !closed);
        if let Some(open) = open {
            self.kit.sources[open].wait();
        }
    }

    fn publish_books(&mut self) {
        let books = self.crew.books.of(self.kit.number);
        books.messages.add(self.ends.to_lock.take_sent());
        self.watch.publish(books);
    }
}
