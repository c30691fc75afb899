//! The worker: a thread that fetches calls and runs each as a whole.
//!
//! Role         shared by engines whose threads run whole transactions; the engine supplies a
//!              [`Runner`] for what differs
//! States       turn: enter the gate -> fetch up to `in_flight` calls -> prepare all of them ->
//!              run one after the other, telling each end -> leave the gate; idle between turns.
//!              A call that meets what a client's open transaction holds is parked, and the first
//!              of a later turn ([`parking_lot`])
//! Invariants   I1 records are touched only between enter and leave, under one epoch pin
//!              I2 a call fetched is finished, whatever happens, unless its caller has given it up
//!              while it was parked
//!              I3 a call that meets conflicts or wrong guesses is repeated until it ends; after
//!                 as many wrong guesses as [`patience`] allows it runs alone, at a quiet point
//! Source       preparing several calls before running the first overlaps their cache misses
//!              (DESIGN section 1, "what planning buys")

pub mod caller_places;
mod parking_lot;
mod patience;

use hotrow_base::sync::facade::atomic::{AtomicBool, Ordering};
use hotrow_base::thread::JoinHandle;
use std::sync::Arc;
use std::time::Duration;

use caller_places::CallerPlaces;
use hotrow_base::clock::Ticks;
use hotrow_base::counters::PerWorker;
use hotrow_base::ids::WorkerId;
use hotrow_base::thread::{self, Team};
use hotrow_log::position::Position;
use hotrow_transaction::access::RecordAccess;
use hotrow_transaction::bytecode::Program;
use hotrow_transaction::compiled::CompiledProcedure;
use hotrow_transaction::frame::Frame;
use hotrow_transaction::interpret::{self, NoHook};
use hotrow_transaction::invocation::Invocation;
use hotrow_transaction::outcome::{Conflict, SqlError, Stop};
use hotrow_transaction::plan::Plan;
use parking_lot::{Arrival, ParkingLot};
use patience::Patience;

use crate::contract::{EngineOptions, Ground, RunningEngine};
use crate::in_place::{InPlace, Scratch};
use crate::journal::{Commit, Committer, Company};
use crate::protection::Alone;
use crate::schema::{KnownSchema, Schema, SharedSchema};
use crate::source::{Bell, CallSource, End, Fetch, OnCallers, Ticket};
use crate::statistics::{
    Activity, CallTime, LockTiming, Statistics, Stopwatch, WorkerBooks, turns_between_books,
};

pub use parking_lot::Resumed;

/// Turns between two publications of the stopwatch and two looks at reclaimed memory.
const TURNS_PER_HOUSEKEEPING: u32 = turns_between_books(64);
/// Between two looks of a worker whose source is closed and whose last calls are parked.
const LAST_CALLS_PAUSE: Duration = Duration::from_millis(1);

/// A call in the hands of a worker.
pub struct Call {
    /// what was called
    pub invocation: Invocation,
    /// the procedure, in all its forms
    pub procedure: Option<Arc<CompiledProcedure>>,
    /// execution state; holds the result afterwards
    pub frame: Frame,
    /// keys and footprint, where the engine plans
    pub plan: Plan,
    /// per plan entry: the record found while preparing (bits of its id plus one, 0 for none)
    pub hints: Vec<u64>,
    /// times undone so far
    pub attempts: u32,
    /// the log's epoch in which the call and all it saw are durable; set by each attempt
    pub durable_in: u64,
    ticket: Ticket,
    time: CallTime,
    /// is to run alone, at a quiet point: said of a call that is to be [`Stop::Replan`]ned
    pub exclusive: bool,
    /// its plan is short, and so would another one be
    pub planned_short: bool,
    /// it was parked; taken by its next attempt
    pub resumed: Option<Resumed>,
    /// when it came, if it was parked
    arrival: Option<Arrival>,
    /// of all calls that came here
    patience: Patience,
}

/// A call without the memory that running it takes: what many calls are that wait in a batch.
#[derive(Default)]
pub struct Errand {
    /// what was called
    pub invocation: Invocation,
    /// the procedure, in all its forms
    pub procedure: Option<Arc<CompiledProcedure>>,
    /// times undone so far
    pub attempts: u32,
    ticket: Ticket,
}

impl Call {
    /// No call yet; each one that is fetched into it may take so many steps.
    pub fn new(step_budget: u64) -> Self {
        let mut frame = Frame::new();
        frame.set_step_budget(step_budget);
        Self {
            invocation: Invocation::default(),
            procedure: None,
            frame,
            plan: Plan::default(),
            hints: Vec::new(),
            attempts: 0,
            durable_in: 0,
            ticket: Ticket::default(),
            time: CallTime::default(),
            exclusive: false,
            planned_short: false,
            resumed: None,
            arrival: None,
            patience: Patience::default(),
        }
    }

    /// Fetches a call from `source`, to be run under `schema`.
    pub fn fetch(&mut self, source: &mut dyn CallSource, schema: &Schema) -> Fetch {
        let fetched = source.fetch(&mut self.invocation);
        if let Fetch::Ready(ticket) = fetched {
            self.ticket = ticket;
            self.attempts = 0;
            self.durable_in = 0;
            self.time = CallTime::default();
            (self.exclusive, self.planned_short) = (false, false);
            self.arrival = None;
            self.look_up(schema);
        }
        fetched
    }

    /// Goes on with a call that was parked; false if its caller has given it up.
    fn resume(
        &mut self,
        (errand, time, resumed): (&mut Errand, CallTime, Resumed),
        source: &mut dyn CallSource,
        schema: &Schema,
    ) -> bool {
        if !source.resume(errand.ticket) {
            return false;
        }
        self.swap(errand);
        (self.time, self.durable_in, self.exclusive) = (time, 0, false);
        self.planned_short = false;
        (self.resumed, self.arrival) = (Some(resumed), Some(resumed.arrival));
        self.look_up(schema);
        true
    }

    /// Looks its procedure up, in a schema that may be another one than when it was fetched.
    pub fn look_up(&mut self, schema: &Schema) {
        keep_same(&mut self.procedure, schema.procedure(self.invocation.procedure));
    }

    /// Takes an errand's place, and gives it this call's.
    pub fn swap(&mut self, errand: &mut Errand) {
        std::mem::swap(&mut self.invocation, &mut errand.invocation);
        std::mem::swap(&mut self.procedure, &mut errand.procedure);
        std::mem::swap(&mut self.attempts, &mut errand.attempts);
        std::mem::swap(&mut self.ticket, &mut errand.ticket);
    }

    /// Runs the call from its beginning, without a plan.
    ///
    /// # Errors
    ///
    /// As [`interpret::run`].
    #[inline]
    pub fn run_unplanned<A: RecordAccess>(&mut self, access: &mut A) -> Result<(), Stop> {
        let Self { invocation, procedure, frame, .. } = self;
        let procedure = procedure.as_deref().expect("only procedures that exist are run");
        frame.begin(&procedure.program, invocation);
        interpret::run(&procedure.program, 0, frame, access, &mut NoHook)
    }

    /// What becomes of the call after an attempt; counts it if it is to be repeated.
    #[inline]
    pub fn after(
        &mut self,
        attempt: Result<(), Stop>,
        schema: &Schema,
        committer: &Committer,
        books: &WorkerBooks,
    ) -> Next {
        let of = self.invocation.procedure;
        let Err(stop) = attempt else {
            self.patience.note_planned(of);
            return Next::End(Ok(()));
        };
        match stop {
            Stop::Error | Stop::OutOfMemory => {
                return Next::End(Err(error_of(stop, schema, &mut self.frame).into()));
            }
            Stop::Log => return Next::End(Err(committer.failure().into())),
            Stop::Replan if self.is_beyond_plans() => return Next::Alone,
            Stop::Replan if self.attempts >= self.patience.replans(of) => {
                self.patience.note_alone(of);
                return Next::Alone;
            }
            Stop::Replan => books.replans.increment(),
            Stop::Conflict(reason) => books.conflicts[reason as usize].increment(),
        }
        Next::Again(stop)
    }

    /// Whether another plan would not be better, either.
    fn is_beyond_plans(&self) -> bool {
        self.exclusive || self.planned_short || self.frame.has_unknown_uses()
    }

    /// Counts the call's end, and tells it to the source that it came from.
    pub fn finish(
        &mut self,
        end: Result<(), Box<SqlError>>,
        source: &mut dyn CallSource,
        books: &WorkerBooks,
    ) {
        let (attempts, durable_in, time) = (self.attempts, self.durable_in, self.time);
        match (end, &self.procedure) {
            (Ok(()), Some(procedure)) => {
                books.committed.increment();
                let (frame, program) = (&mut self.frame, &procedure.program);
                let end = End::Committed { frame, program, attempts, durable_in, time };
                source.finish(self.ticket, end);
            }
            (Ok(()), None) => unreachable!("only procedures that exist are run"),
            (Err(error), _) => {
                books.user_aborts.increment();
                source.finish(self.ticket, End::Aborted { error, durable_in, time });
            }
        }
        if self.frame.release() {
            self.invocation.arguments.shrink();
        }
    }

    /// Ends the call with 42883: its procedure was dropped while it waited.
    pub fn finish_unknown(&mut self, source: &mut dyn CallSource, books: &WorkerBooks) {
        self.finish(Err(unknown_procedure().into()), source, books);
    }

    /// Runs the call, which could not be planned, alone, and tells its end. The caller is outside
    /// the gate and holds nothing.
    pub fn run_alone(
        &mut self,
        shared: &SharedSchema,
        scratch: &mut Scratch,
        committer: &Committer,
        source: &mut dyn CallSource,
        books: &WorkerBooks,
    ) {
        let began = Ticks::now();
        let quiet = shared.quiet();
        let schema = quiet.schema();
        self.procedure = schema.procedure(self.invocation.procedure).cloned();
        books.exclusive.increment();
        let end = match &self.procedure {
            None => Err((unknown_procedure(), 0)),
            Some(procedure) => {
                let (invocation, frame) = (&self.invocation, &mut self.frame);
                run_call_alone(&schema, scratch, committer, procedure, invocation, frame)
            }
        };
        let (end, durable_in) = match end {
            Ok(durable_in) => (Ok(()), durable_in),
            Err((error, durable_in)) => (Err(Box::new(error)), durable_in),
        };
        self.durable_in = durable_in;
        self.time.execute += Ticks::now().ticks_since(began);
        // At the quiet point: who comes to the next one finds every committed call's end told.
        self.finish(end, source, books);
    }

    /// Ends an attempt of an engine whose locks tell what a call has met: records a commit, and
    /// notes in which epoch the end is durable. Called with nothing held any more.
    pub fn end(
        &mut self,
        executed: Result<Commit, Stop>,
        met: Position,
        committer: &Committer,
    ) -> Result<(), Stop> {
        self.durable_in = met.max(committer.floor()).epoch;
        let commit = executed?;
        self.durable_in = commit.position().epoch;
        let procedure = self.procedure.as_deref().expect("it has just been run");
        committer.record(commit, Company::Shared, &self.invocation, procedure, &self.frame);
        Ok(())
    }
}

/// Takes what is given in place of what was there; where these are the same, nothing is counted:
/// the counter is shared by all threads.
pub fn keep_same<T>(kept: &mut Option<Arc<T>>, given: Option<&Arc<T>>) {
    let is_same = match (&*kept, given) {
        (Some(kept), Some(given)) => Arc::ptr_eq(kept, given),
        (kept, given) => kept.is_none() && given.is_none(),
    };
    if !is_same {
        *kept = given.cloned();
    }
}

/// What becomes of a call after an attempt.
#[derive(Debug)]
pub enum Next {
    /// it has ended so, and its end is to be told
    End(Result<(), Box<SqlError>>),
    /// it is to be attempted once more, because of this
    Again(Stop),
    /// it is to run alone: reconnaissance has guessed wrong too often
    Alone,
}

/// What an engine's worker does with a call.
pub trait Runner: Send {
    /// Takes note of the schema that calls run under from now on.
    fn adopt(&mut self, _schema: &Schema) {}

    /// First look at a call: plan it and ask for the memory it will need. Called for all calls of
    /// a turn before [`Runner::resolve`].
    fn prepare(&mut self, _schema: &Schema, _call: &mut Call) {}

    /// Second look, when what `prepare` asked for is likely in the cache.
    fn resolve(&mut self, _schema: &Schema, _call: &mut Call) {}

    /// Runs a call to its commit, or undoes everything it did and says why; either way sets
    /// [`Call::durable_in`]. `attempts` tells
    /// whether it is a repetition; the runner plans again by itself where it must. `next`: the call
    /// that is run after this one, prepared as this one was; none at the end of a turn. `watch`
    /// shows [`Activity::Execute`] before a first attempt and after a last one.
    fn attempt(
        &mut self,
        schema: &Schema,
        call: &mut Call,
        next: Option<&Call>,
        watch: &mut Stopwatch,
    ) -> Result<(), Stop>;

    /// Called now and then, between two turns, and whenever there is nothing to run (every 10 ms or
    /// more often then): the worker is inside nothing, and holds nothing but what the runner keeps
    /// from transaction to transaction, so the runner may ask for a quiet point.
    fn between_turns(&mut self, _shared: &SharedSchema) {}

    /// Lets go of all that the runner keeps from transaction to transaction: the worker is about to
    /// wait for a quiet point, and who is inside of the gate may wait for what is kept.
    fn let_go(&mut self) {}

    /// Lets other transactions go first after a conflict.
    fn back_off(&mut self, _call: &Call) {
        std::thread::yield_now();
    }

    /// Whether locks that calls take while they run are timed.
    fn lock_timing(&self) -> LockTiming {
        LockTiming::Calls
    }

    /// Takes what calls this worker away from waiting for calls, for who parks some.
    fn set_bell(&mut self, _bell: Arc<dyn Bell>) {}

    /// After an attempt that ended with [`Conflict::Parked`]: the lock that it met. Who waits for
    /// one lock is in one line.
    fn parked_at(&self) -> u64 {
        unreachable!("only an engine whose sessions hold locks parks calls")
    }

    /// Whether the first who is in line for a lock may try again.
    fn is_due(&mut self, _lock: u64) -> bool {
        true
    }

    /// The first in line for a lock will not try again, and nobody else in its place.
    fn leave_line(&mut self, _lock: u64) {}
}

/// A set of worker threads.
pub struct Workers {
    stopping: Arc<AtomicBool>,
    books: Arc<PerWorker<WorkerBooks>>,
    places: Option<Arc<dyn OnCallers>>,
    threads: Vec<JoinHandle<()>>,
}

impl Workers {
    /// Starts one thread per source; `runner` makes the part of thread `i`.
    pub fn start<R: Runner + 'static>(
        ground: &Ground,
        options: &EngineOptions,
        sources: Vec<Box<dyn CallSource>>,
        runner: impl FnMut(usize, Committer) -> R,
    ) -> Self {
        let books = Arc::new(PerWorker::with_defaults(sources.len()));
        Self::start_beside(ground, options, sources, books, None, runner)
    }

    /// As [`Workers::start`], with places beside them where calls run on their callers' threads,
    /// as many as `options` ask for; `runner` makes their parts, too.
    pub fn start_with_places<R: Runner + 'static>(
        ground: &Ground,
        options: &EngineOptions,
        sources: Vec<Box<dyn CallSource>>,
        mut runner: impl FnMut(usize, Committer) -> R,
    ) -> Self {
        let books = sources.len() + options.on_callers.places;
        let books = Arc::new(PerWorker::with_defaults(books));
        let places = CallerPlaces::new(ground, options, &books, &mut runner);
        Self::start_beside(ground, options, sources, books, Some(Arc::new(places)), runner)
    }

    fn start_beside<R: Runner + 'static>(
        ground: &Ground,
        options: &EngineOptions,
        sources: Vec<Box<dyn CallSource>>,
        books: Arc<PerWorker<WorkerBooks>>,
        places: Option<Arc<dyn OnCallers>>,
        mut runner: impl FnMut(usize, Committer) -> R,
    ) -> Self {
        let stopping = Arc::new(AtomicBool::new(false));
        let workers = sources.len();
        let team = Team::new("worker", sources.len(), options.pin_threads);
        let threads = sources
            .into_iter()
            .enumerate()
            .map(|(number, source)| {
                let id = WorkerId(options.first_worker.0 + number as u16);
                let committer = Committer::new(&ground.journal, id);
                let mut runner = runner(number, committer.clone());
                if let Some(bell) = source.bell() {
                    runner.set_bell(bell);
                }
                let timing = runner.lock_timing();
                let worker = Worker {
                    id,
                    number,
                    workers,
                    places: places.clone(),
                    schema: Arc::clone(&ground.schema),
                    committer,
                    stopping: Arc::clone(&stopping),
                    books: Arc::clone(&books),
                    runner,
                    source,
                    calls: (0..options.in_flight.max(1))
                        .map(|_| Call::new(options.step_budget))
                        .collect(),
                    parked: ParkingLot::default(),
                    watch: Stopwatch::new(timing),
                    alone: Scratch::new(id),
                };
                team.spawn(number, move || worker.run())
            })
            .collect();
        Self { stopping, books, places, threads }
    }
}

impl RunningEngine for Workers {
    fn statistics(&self) -> Statistics {
        Statistics::of(&self.books)
    }

    fn on_callers(&self) -> Option<Arc<dyn OnCallers>> {
        self.places.clone()
    }

    fn stop(mut self: Box<Self>) -> Statistics {
        self.places.iter().for_each(|places| places.end());
        self.stopping.store(true, Ordering::Release); // partner: the Acquire in `Worker::run`
        thread::join_all(self.threads.drain(..));
        self.statistics()
    }
}

struct Worker<R> {
    id: WorkerId,
    number: usize,
    /// how many there are
    workers: usize,
    places: Option<Arc<dyn OnCallers>>,
    schema: Arc<SharedSchema>,
    committer: Committer,
    stopping: Arc<AtomicBool>,
    books: Arc<PerWorker<WorkerBooks>>,
    runner: R,
    source: Box<dyn CallSource>,
    calls: Vec<Call>,
    parked: ParkingLot,
    watch: Stopwatch,
    alone: Scratch,
}

impl<R: Runner> Worker<R> {
    fn run(mut self) {
        let mut schema = KnownSchema::new(&self.schema);
        self.runner.adopt(&schema);
        let mut turns = 0_u32;
        // Acquire; partner: the Release in `Workers::stop`.
        while !self.stopping.load(Ordering::Acquire) {
            schema.memory.saved_rows().wait_for_room(self.id);
            self.committer.wait_for_room();
            self.schema.gate().enter(self.id.index());
            if schema.look_again(&self.schema) {
                self.runner.adopt(&schema);
            }
            let (fetched, closed) = self.turn(&schema);
            self.schema.gate().leave(self.id.index());
            self.run_exclusive_calls(fetched);
            turns = turns.wrapping_add(1);
            if turns.is_multiple_of(TURNS_PER_HOUSEKEEPING) || fetched == 0 {
                self.watch.publish(self.books.of(self.number));
                schema.reclaim(self.id);
                self.runner.between_turns(&self.schema);
            }
            if let Some(places) = self.places.as_ref().filter(|_| fetched == 0) {
                places.look_after(self.number, self.workers);
            }
            match (closed, self.parked.is_empty()) {
                (true, true) => break,
                (true, false) => thread::sleep(LAST_CALLS_PAUSE),
                (false, _) if fetched == 0 => self.source.wait(),
                (false, _) => {}
            }
        }
        self.watch.publish(self.books.of(self.number));
    }

    /// Fetches and runs calls; how many, and whether the source is closed. Out of line, so that
    /// instructions can be counted from here on.
    #[inline(never)]
    fn turn(&mut self, schema: &Schema) -> (usize, bool) {
        let mut fetched = if self.parked.is_empty() { 0 } else { self.resume(schema) };
        let mut closed = false;
        while fetched < self.calls.len() && !closed {
            let call = &mut self.calls[fetched];
            match call.fetch(&mut *self.source, schema) {
                Fetch::Ready(_) => fetched += 1,
                Fetch::Empty => break,
                Fetch::Closed => closed = true,
            }
        }
        if fetched > 0 {
            self.run_calls(schema, fetched);
        }
        (fetched, closed)
    }

    /// Begins a turn with parked calls whose time has come; how many they are.
    #[inline(never)]
    fn resume(&mut self, schema: &Schema) -> usize {
        let Self { parked, runner, source, calls, .. } = self;
        if source.has_given_up() {
            parked.sweep(&mut **source, |lock| runner.leave_line(lock));
        }
        let most = calls.len();
        let mut left = Vec::new();
        let resumed = parked.resume(
            most,
            |lock| runner.is_due(lock),
            |at, errand, time, back| calls[at].resume((errand, time, back), &mut **source, schema),
            |lock| left.push(lock),
        );
        left.into_iter().for_each(|lock| runner.leave_line(lock));
        resumed
    }

    fn run_calls(&mut self, schema: &Schema, fetched: usize) {
        let _pin = schema.memory.epochs().pin(self.id);
        self.watch.switch(Activity::Plan);
        let mut reading = self.watch.read();
        for look in [R::prepare, R::resolve] {
            for call in self.calls[..fetched].iter_mut().filter(|call| call.procedure.is_some()) {
                look(&mut self.runner, schema, call);
                let before = std::mem::replace(&mut reading, self.watch.read());
                call.time.add_between(&before, &reading);
            }
        }
        self.watch.switch(Activity::Execute);
        for at in 0..fetched {
            if self.calls[at].procedure.is_some() {
                self.run_call(schema, at, fetched);
            } else {
                let call = &mut self.calls[at];
                if let Some(lock) = call.resumed.take().and_then(|resumed| resumed.lock) {
                    self.runner.leave_line(lock);
                }
                call.finish_unknown(&mut *self.source, self.books.of(self.number));
            }
        }
        self.watch.switch(Activity::Idle);
    }

    fn run_call(&mut self, schema: &Schema, at: usize, fetched: usize) {
        let books = self.books.of(self.number);
        let [call, later @ ..] = &mut self.calls[at..fetched] else { return };
        let next = later.first().filter(|next| next.procedure.is_some());
        let began = self.watch.read();
        loop {
            let attempt = self.runner.attempt(schema, call, next, &mut self.watch);
            match call.after(attempt, schema, &self.committer, books) {
                Next::End(end) => {
                    call.time.add_between(&began, &self.watch.read());
                    return call.finish(end, &mut *self.source, books);
                }
                Next::Alone => {
                    call.exclusive = true;
                    return;
                }
                Next::Again(Stop::Conflict(Conflict::Parked)) => {
                    call.time.add_between(&began, &self.watch.read());
                    self.source.park(call.ticket);
                    return self.parked.park(call, self.runner.parked_at());
                }
                Next::Again(stop) => {
                    if let Stop::Conflict(_) = stop {
                        self.runner.back_off(call);
                    }
                    call.attempts += 1;
                }
            }
        }
    }

    /// Runs calls that could not be planned, each alone.
    fn run_exclusive_calls(&mut self, fetched: usize) {
        if self.calls[..fetched].iter().any(|call| call.exclusive) {
            self.runner.let_go();
        }
        let books = self.books.of(self.number);
        for call in self.calls[..fetched].iter_mut().filter(|call| call.exclusive) {
            let Self { schema, alone, committer, source, .. } = self;
            call.run_alone(schema, alone, committer, &mut **source, books);
        }
    }
}

/// Runs one call while nothing else runs: at a quiet point, or without an engine. The epoch in
/// which it is durable, in either case.
pub fn run_call_alone(
    schema: &Schema,
    scratch: &mut Scratch,
    committer: &Committer,
    procedure: &CompiledProcedure,
    invocation: &Invocation,
    frame: &mut Frame,
) -> Result<u64, (SqlError, u64)> {
    let program = &procedure.program;
    let commit = run_alone(schema, scratch, committer, program, invocation, frame, |access| {
        access.commit_alone(committer, invocation)
    })?;
    committer.record(commit, Company::Alone, invocation, procedure, frame);
    Ok(commit.position().epoch)
}

/// Runs a program while nothing else runs. `place` gives it its place; the caller records the
/// commit.
pub fn run_alone(
    schema: &Schema,
    scratch: &mut Scratch,
    committer: &Committer,
    program: &Program,
    invocation: &Invocation,
    frame: &mut Frame,
    place: impl FnOnce(&mut InPlace<'_, Alone>) -> Result<Commit, Stop>,
) -> Result<Commit, (SqlError, u64)> {
    let _pin = schema.memory.epochs().pin(scratch.worker());
    frame.begin(program, invocation);
    let mut access = InPlace::new(schema, scratch, Alone);
    let commit = match interpret::run(program, 0, frame, &mut access, &mut NoHook) {
        Ok(()) => place(&mut access),
        Err(stop) => Err(stop),
    };
    match commit {
        Ok(commit) => {
            access.commit();
            Ok(commit)
        }
        Err(stop) => {
            access.undo();
            let error = match stop {
                Stop::Log => committer.failure(),
                _ => error_of(stop, schema, frame),
            };
            Err((error, committer.seen_alone().epoch))
        }
    }
}

/// The error of a call that stopped for good.
pub fn error_of(stop: Stop, schema: &Schema, frame: &mut Frame) -> SqlError {
    match stop {
        Stop::OutOfMemory => schema.memory.out_of_memory(),
        _ => frame.take_error().unwrap_or_else(unexplained),
    }
}

fn unknown_procedure() -> SqlError {
    let mut error = SqlError::new(b"42883", "the procedure was dropped before the call ran");
    error.hint = Some("Create it again, then call it.".to_owned());
    error
}

fn unexplained() -> SqlError {
    SqlError::new(b"XX000", "the call stopped without saying why; this is a bug in Hotrow")
}
