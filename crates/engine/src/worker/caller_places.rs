//! Places where a call runs on its caller's thread.
//!
//! Role         handing a call to a worker and back takes two wake-ups and two changes of threads,
//!              which cost several times what a short call does. An engine whose calls need no
//!              thread of its own keeps places beside its workers, each with all that a worker
//!              has: a number, buffers, a way to the journal, books. A caller takes one that is
//!              free, and is a worker for one call
//! States       of a place: free -> a caller's, for one call -> free; gone when the engine ends
//! Invariants   I1 who uses a place holds its latch, and is inside the gate, under an epoch pin,
//!              while records are touched, as a worker
//!              I2 a call runs to its end here, or nothing of it was done: nobody waits at the
//!              gate, for room in the log or for somebody's lock in a place, since workers can do
//!              that as well
//! Concurrency  `places[i]` -> its latch; a place's books -> who has its latch

use std::sync::Arc;

use hotrow_base::counters::PerWorker;
use hotrow_base::ids::WorkerId;
use hotrow_base::sync::Latch;
use hotrow_transaction::invocation::Invocation;
use hotrow_transaction::outcome::Stop;

use super::{Call, Next, Runner};
use crate::contract::{EngineOptions, Ground};
use crate::in_place::Scratch;
use crate::journal::Committer;
use crate::schema::{KnownSchema, Schema, SharedSchema};
use crate::source::{CallSource, End, Fetch, OnCallers, Ticket};
use crate::statistics::{Activity, Stopwatch, WorkerBooks};

/// Calls between two publications of a place's stopwatch and two looks at reclaimed memory.
const CALLS_PER_HOUSEKEEPING: u32 = 64;

/// What an engine does with a call in a place.
pub trait CallerRunner: Send + 'static {
    /// Takes note of the schema that calls run under from now on.
    fn adopt(&mut self, schema: &Schema);

    /// Plans a call, if the engine plans.
    fn prepare(&mut self, schema: &Schema, call: &mut Call);

    /// As [`Runner::attempt`]; none if the call meets what only workers can wait for, and nothing
    /// of it was done.
    fn attempt(
        &mut self,
        schema: &Schema,
        call: &mut Call,
        watch: &mut Stopwatch,
    ) -> Option<Result<(), Stop>>;

    /// As [`Runner::back_off`].
    fn back_off(&mut self, call: &Call);
}

impl<R: Runner + 'static> CallerRunner for R {
    fn adopt(&mut self, schema: &Schema) {
        Runner::adopt(self, schema);
    }

    fn prepare(&mut self, schema: &Schema, call: &mut Call) {
        Runner::prepare(self, schema, call);
        Runner::resolve(self, schema, call);
    }

    fn attempt(
        &mut self,
        schema: &Schema,
        call: &mut Call,
        watch: &mut Stopwatch,
    ) -> Option<Result<(), Stop>> {
        Some(Runner::attempt(self, schema, call, None, watch))
    }

    fn back_off(&mut self, call: &Call) {
        Runner::back_off(self, call);
    }
}

/// An engine's places.
pub struct CallerPlaces<R> {
    schema: Arc<SharedSchema>,
    /// those of the engine's threads, and behind them one for each place
    books: Arc<PerWorker<WorkerBooks>>,
    /// none: the engine has ended
    places: PerWorker<Latch<Option<Place<R>>>>,
}

struct Place<R> {
    id: WorkerId,
    /// of its books
    number: usize,
    schema: KnownSchema,
    committer: Committer,
    runner: R,
    call: Call,
    watch: Stopwatch,
    alone: Scratch,
    /// calls so far
    calls: u32,
}

impl<R: CallerRunner> CallerPlaces<R> {
    /// The places that `options` ask for. `books`: of the engine's threads and of all places.
    /// `runner` makes the part of the place whose books have this number.
    pub fn new(
        ground: &Ground,
        options: &EngineOptions,
        books: &Arc<PerWorker<WorkerBooks>>,
        mut runner: impl FnMut(usize, Committer) -> R,
    ) -> Self {
        let wanted = options.on_callers;
        let place = |at: usize| {
            let id = WorkerId(wanted.first_worker.0 + at as u16);
            let (number, committer) = (options.threads + at, Committer::new(&ground.journal, id));
            let mut runner = runner(number, committer.clone());
            let schema = KnownSchema::new(&ground.schema);
            runner.adopt(&schema);
            Latch::new(Some(Place {
                id,
                number,
                schema,
                committer,
                runner,
                call: Call::new(options.step_budget),
                watch: Stopwatch::default(),
                alone: Scratch::new(id),
                calls: 0,
            }))
        };
        let (schema, books) = (Arc::clone(&ground.schema), Arc::clone(books));
        let places = PerWorker::new(wanted.places, place);
        Self { schema, books, places }
    }
}

impl<R: CallerRunner> OnCallers for CallerPlaces<R> {
    fn try_run(
        &self,
        first: usize,
        invocation: &mut Invocation,
        end: &mut (dyn FnMut(End<'_>) + Send),
    ) -> bool {
        let count = self.places.workers();
        for at in (0..count).map(|at| (first + at) % count) {
            if let Some(mut place) = self.places.of(at).try_lock() {
                let Some(place) = &mut *place else { return false };
                return place.run(&self.schema, &self.books, &mut Caller { invocation, end });
            }
        }
        false
    }

    fn look_after(&self, thread: usize, threads: usize) {
        for place in self.places.iter().skip(thread).step_by(threads) {
            if let Some(mut place) = place.try_lock()
                && let Some(place) = &mut *place
            {
                place.look_at_schema(&self.schema);
                place.keep_house(self.books.of(place.number));
            }
        }
    }

    fn end(&self) {
        for place in self.places.iter() {
            if let Some(mut place) = place.lock().take() {
                place.keep_house(self.books.of(place.number));
            }
        }
    }
}

/// The one call of a caller.
struct Caller<'a> {
    invocation: &'a mut Invocation,
    end: &'a mut (dyn FnMut(End<'_>) + Send),
}

impl CallSource for Caller<'_> {
    fn fetch(&mut self, invocation: &mut Invocation) -> Fetch {
        // Buffers change places, so that neither side allocates when they have grown.
        std::mem::swap(self.invocation, invocation);
        Fetch::Ready(Ticket::default())
    }

    fn wait(&mut self) {}

    fn finish(&mut self, _: Ticket, end: End<'_>) {
        (self.end)(end);
    }
}

/// How a call left a place.
enum Left {
    Ended,
    /// it is to run alone
    Alone,
    /// nothing of it was done (I2)
    Undone,
}

impl<R: CallerRunner> Place<R> {
    fn look_at_schema(&mut self, shared: &SharedSchema) {
        if self.schema.look_again(shared) {
            self.runner.adopt(&self.schema);
        }
    }

    /// Out of line, so that instructions can be counted from here on.
    #[inline(never)]
    fn run(
        &mut self,
        shared: &SharedSchema,
        books: &PerWorker<WorkerBooks>,
        caller: &mut Caller<'_>,
    ) -> bool {
        let (at, books) = (self.id.index(), books.of(self.number));
        let has_room =
            self.committer.has_room() && self.schema.memory.saved_rows().has_room(self.id);
        if !has_room || !shared.gate().try_enter(at) {
            return false; // I2
        }
        self.look_at_schema(shared);
        let left = self.run_inside(books, caller);
        shared.gate().leave(at);
        match left {
            Left::Ended => {}
            Left::Alone => {
                let Self { call, alone, committer, .. } = self;
                call.run_alone(shared, alone, committer, caller, books);
            }
            Left::Undone => std::mem::swap(caller.invocation, &mut self.call.invocation),
        }
        self.calls = self.calls.wrapping_add(1);
        if self.calls.is_multiple_of(CALLS_PER_HOUSEKEEPING) {
            self.keep_house(books);
        }
        !matches!(left, Left::Undone)
    }

    /// I1
    fn run_inside(&mut self, books: &WorkerBooks, caller: &mut Caller<'_>) -> Left {
        let Self { id, schema, committer, runner, call, watch, .. } = self;
        let schema: &Schema = schema;
        let _pin = schema.memory.epochs().pin(*id);
        call.fetch(caller, schema);
        if call.procedure.is_none() {
            call.finish_unknown(caller, books);
            return Left::Ended;
        }
        watch.begin(Activity::Plan);
        let began = watch.read();
        runner.prepare(schema, call);
        loop {
            let Some(attempt) = runner.attempt(schema, call, watch) else {
                watch.switch(Activity::Idle);
                return Left::Undone;
            };
            match call.after(attempt, schema, committer, books) {
                Next::End(end) => {
                    watch.switch(Activity::Idle);
                    call.time.add_between(&began, &watch.read());
                    call.finish(end, caller, books);
                    return Left::Ended;
                }
                Next::Alone => {
                    watch.switch(Activity::Idle);
                    return Left::Alone;
                }
                Next::Again(stop) => {
                    if let Stop::Conflict(_) = stop {
                        runner.back_off(call);
                    }
                    call.attempts += 1;
                }
            }
        }
    }

    fn keep_house(&mut self, books: &WorkerBooks) {
        self.watch.begin(Activity::Idle);
        self.watch.publish(books);
        self.schema.reclaim(self.id);
    }
}
