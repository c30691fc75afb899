//! The home of calls: a thread's side towards its source.
//!
//! Role         fetches calls, hands each to the owner of its partition or, if it is of several, to
//!              a coordinator; is told how they have ended, and tells the source
//! States       outside the gate -> inside, while calls are on their way: everybody else works on
//!              them under this roof -> outside, when all have ended and nobody works on them any
//!              more
//!
//! ```text
//!   a call   fetched ─parameters tell─▶ its partition
//!                └──planned─▶ its partition, bounded by its footprint
//!                       └───▶ a coordinator: in parts, or as a whole
//!            back ─ended─▶ told
//!              └─ guessed wrong ─▶ planned again ── too often ─▶ as a whole, in all partitions
//! ```
//!
//! Invariants   I1 a call fetched is finished, whatever happens
//!              I2 of a call in parts that has failed, the error that is told is that of the part
//!              that is first in the procedure. Where it is not known whether something before
//!              would have failed, the call is run again, as a whole
//!              I3 nobody waits here long for the gate, nor for room in the log, or for anything
//!              but messages and calls: others' calls wait for this thread
//! Source       partitioned.txt 3.1 (clients route calls by themselves)

use std::sync::Arc;
use std::time::Duration;

use hotrow_base::clock::Ticks;
use hotrow_base::datum::Datum;
use hotrow_base::ids::PartitionId;
use hotrow_base::pool::NONE;
use hotrow_engine::in_place::Scratch;
use hotrow_engine::journal::Committer;
use hotrow_engine::reconnaissance::TrialReads;
use hotrow_engine::source::{CallSource, Fetch};
use hotrow_engine::worker::{Call, Next};
use hotrow_flow::exchange::Exchange;
use hotrow_flow::node::Address;
use hotrow_log::position::Position;
use hotrow_transaction::actions::{ActionPlanner, Batch, Wanted};
use hotrow_transaction::outcome::Stop;
use hotrow_transaction::program::ROW_COUNT;
use hotrow_transaction::routing::{Lies, PartitionSet};

use crate::call::{Bounds, Fault, How, Multi, Parcel, Shared, Single};
use crate::crew::{Crew, Told};
use crate::lower::lower;
use crate::protocol::{Message, Outcome};
use crate::world::World;

/// Calls fetched in a turn.
const FETCHES_PER_TURN: usize = 4;
/// How long a home looks in vain whether the gate is open before it queues for that, where one
/// after the other closes it. Should somebody inside need this thread meanwhile, who closes the
/// gate gives up after some milliseconds.
const KEPT_OUT_MAX: Duration = Duration::from_millis(20);

/// See the module.
pub struct Home {
    crew: Arc<Crew>,
    number: u16,
    committer: Committer,
    source: Box<dyn CallSource>,
    /// the source has no more calls
    is_closed: bool,
    is_inside: bool,
    /// how many coordinators have calls
    coordinators: u16,
    /// it has found the gate closed since then
    kept_out_since: Option<Ticks>,
    /// calls that were fetched and have not ended
    on_their_way: usize,
    /// parcels without a call
    free: Vec<Parcel>,
    /// calls of several partitions on their way, by slot
    away: Vec<Option<Parcel>>,
    free_slots: Vec<usize>,
    /// of calls that have ended, perhaps still in others' hands
    ended: Vec<Arc<Shared>>,
    /// for calls to come
    unused: Vec<Arc<Shared>>,
    planner: ActionPlanner,
    /// the call that is being planned
    batch: Batch,
    /// for trial reads
    scratch: Scratch,
    /// of a call whose rows are put together: instance, who has them, and the place there
    returned: Vec<(u32, usize, usize)>,
}

impl Home {
    /// That of thread `number`.
    pub fn new(crew: Arc<Crew>, number: u16, source: Box<dyn CallSource>) -> Self {
        let committer = crew.committers[usize::from(number)].clone();
        Self {
            scratch: Scratch::new(committer.worker()),
            crew,
            number,
            committer,
            source,
            is_closed: false,
            is_inside: false,
            coordinators: 1,
            kept_out_since: None,
            on_their_way: 0,
            free: Vec::new(),
            away: Vec::new(),
            free_slots: Vec::new(),
            ended: Vec::new(),
            unused: Vec::new(),
            planner: ActionPlanner::default(),
            batch: Batch::default(),
            returned: Vec::new(),
        }
    }

    /// Its address.
    pub fn address(&self) -> Address {
        self.crew.seats.home(self.number)
    }

    /// Has calls of several partitions go to the first so many coordinators.
    pub fn set_coordinators(&mut self, coordinators: u16) {
        self.coordinators = coordinators;
    }

    /// Whether calls are on their way.
    pub fn is_busy(&self) -> bool {
        self.on_their_way > 0
    }

    /// Whether it might fetch a call now.
    pub fn may_fetch(&self) -> bool {
        let is_open = !self.is_closed && !self.crew.is_ending();
        is_open && self.on_their_way < self.crew.in_flight && self.crew.has_room()
    }

    /// Whether it is done: no call is on its way, and none will be fetched.
    pub fn is_done(&self) -> bool {
        (self.is_closed || self.crew.is_ending()) && !self.is_inside
    }

    /// Waits at the source, which is called away by its bell.
    pub fn wait_at_source(&mut self) {
        self.source.wait();
    }

    /// Has others call this thread away from its source, if it can be; whether it can.
    pub fn set_bell(&self, exchange: &Exchange<Told>) -> bool {
        let Some(bell) = self.source.bell() else { return false };
        exchange.set_bell(move || bell.ring());
        true
    }

    /// Whether it is inside the gate.
    pub fn is_inside(&self) -> bool {
        self.is_inside
    }

    /// Goes inside the gate if calls may be fetched, and if it is open (I3).
    pub fn go_inside(&mut self) {
        if self.is_inside || !self.may_fetch() {
            return;
        }
        let gate = self.crew.ground.schema.gate();
        let thread = self.committer.worker().index();
        self.is_inside = gate.try_enter(thread);
        if self.is_inside {
            self.kept_out_since = None;
            return;
        }
        let since = *self.kept_out_since.get_or_insert_with(Ticks::now);
        if since.elapsed() > KEPT_OUT_MAX {
            gate.enter(thread);
            (self.is_inside, self.kept_out_since) = (true, None);
        }
    }

    /// Whether the gate was closed when this last wanted to go inside.
    pub fn is_kept_out(&self) -> bool {
        self.kept_out_since.is_some()
    }

    /// Goes outside, if nothing is on its way and in nobody's hands.
    pub fn go_outside(&mut self) {
        self.take_back();
        if self.is_inside && self.on_their_way == 0 && self.ended.is_empty() {
            let gate = self.crew.ground.schema.gate();
            gate.leave(self.committer.worker().index());
            self.is_inside = false;
        }
    }

    /// Takes back what nobody works on any more.
    fn take_back(&mut self) {
        let is_back = |shared: &mut Arc<Shared>| {
            let content = Arc::get_mut(shared);
            content.map(|content| content.world = None).is_some() // it may be an old one
        };
        self.unused.extend(self.ended.extract_if(.., is_back));
    }

    /// Fetches calls, and sends them off; how many. Called inside the gate.
    pub fn fetch(&mut self, world: &Arc<World>, exchange: &mut Exchange<Told>) -> usize {
        let mut fetched = 0;
        if self.crew.ground.schema.gate().wants_quiet() || !self.may_fetch() {
            return fetched;
        }
        while fetched < FETCHES_PER_TURN
            && self.on_their_way < self.crew.in_flight
            && !exchange.has_late()
        {
            let mut single = self.free.pop().unwrap_or_else(|| self.new_parcel());
            match single.call.fetch(&mut *self.source, &world.schema) {
                Fetch::Ready(_) => {
                    fetched += 1;
                    self.on_their_way += 1;
                    self.send(single, world, exchange);
                }
                empty => {
                    self.is_closed |= empty == Fetch::Closed;
                    self.free.push(single);
                    break;
                }
            }
        }
        fetched
    }

    fn new_parcel(&self) -> Parcel {
        let call = Call::new(self.crew.step_budget);
        Box::new(Single { call, home: self.address(), bounds: Bounds::None, ended: Ok(()) })
    }

    /// Sends a call off for its first attempt.
    fn send(&mut self, mut single: Parcel, world: &Arc<World>, exchange: &mut Exchange<Told>) {
        if single.call.procedure.is_none() {
            single.call.finish_unknown(&mut *self.source, self.crew.books_of(self.number));
            return self.take_in(single);
        }
        let partition = match world.place(&single.call.invocation) {
            Lies::In(partition) => partition.0,
            Lies::Anywhere => self.number % world.partitions(),
            Lies::Unknown => return self.send_planned(single, false, world, exchange),
        };
        single.bounds = Bounds::None;
        self.send_single(single, partition, exchange);
    }

    fn send_single(&self, single: Parcel, to: u16, exchange: &mut Exchange<Told>) {
        let to = self.crew.seats.partition(to);
        exchange.send(to, Message::Single(single));
    }

    /// Plans a call, and sends it off.
    fn send_planned(
        &mut self,
        mut single: Parcel,
        as_whole: bool,
        world: &Arc<World>,
        exchange: &mut Exchange<Told>,
    ) {
        let Self { planner, batch, scratch, .. } = self;
        let Call { invocation, frame, .. } = &mut single.call;
        let call = (world.program(invocation.procedure), &*invocation);
        let mut access = TrialReads::new(&world.schema, scratch);
        batch.clear();
        if let Err(stop) = planner.add(batch, Wanted::Actions, call, frame, &mut access) {
            return self.end(single, Err(stop), world, exchange);
        }
        let own = self.number % world.partitions();
        let set = lower(&world.owners, &world.schema.catalog, &batch.plan, own);
        if let (1, Some(PartitionId(one))) = (set.len(), set.iter().next()) {
            single.bounds = Bounds::Footprint;
            std::mem::swap(&mut single.call.plan, &mut batch.plan);
            return self.send_single(single, one, exchange);
        }
        self.send_multi(single, world, exchange, |shared, batch| {
            if as_whole || !shared.take_parts(batch) {
                shared.take_whole(Bounds::Footprint, &set);
                std::mem::swap(&mut shared.plan, &mut batch.plan);
            }
        });
    }

    /// Has a call run as a whole while all partitions stand still.
    fn send_to_all(&mut self, single: Parcel, world: &Arc<World>, exchange: &mut Exchange<Told>) {
        self.crew.books_of(self.number).exclusive.increment();
        let mut all = PartitionSet::EMPTY;
        all.insert_all(world.partitions());
        let whole = |shared: &mut Shared, _: &mut _| shared.take_whole(Bounds::None, &all);
        self.send_multi(single, world, exchange, whole);
    }

    fn send_multi(
        &mut self,
        mut single: Parcel,
        world: &Arc<World>,
        exchange: &mut Exchange<Told>,
        fill: impl FnOnce(&mut Shared, &mut Batch),
    ) {
        if self.unused.is_empty() {
            self.take_back();
        }
        let mut shared = self.unused.pop().unwrap_or_default();
        let slot = self.free_slots.pop().unwrap_or_else(|| {
            self.away.push(None);
            self.away.len() - 1
        });
        let content = Arc::get_mut(&mut shared).expect("nobody works on it");
        (content.home, content.slot) = (self.address(), slot);
        std::mem::swap(&mut content.invocation, &mut single.call.invocation);
        content.procedure.clone_from(&single.call.procedure);
        content.world = Some(Arc::clone(world));
        fill(content, &mut self.batch);
        self.away[slot] = Some(single);
        let to = self.crew.seats.coordinator(self.number % self.coordinators);
        exchange.send(to, Message::Begin(Multi(shared)));
    }

    /// Takes a message.
    pub fn take(&mut self, message: Told, world: &Arc<World>, exchange: &mut Exchange<Told>) {
        match message {
            Message::SingleEnded(single) => {
                let ended = single.ended;
                self.end(single, ended, world, exchange);
            }
            Message::MultiEnded(multi, outcome) => {
                self.end_multi(multi, outcome, world, exchange);
            }
            _ => unreachable!("homes are told ends"),
        }
    }

    /// Tells the end of a call, or has it run again.
    fn end(
        &mut self,
        mut single: Parcel,
        ended: Result<(), Stop>,
        world: &Arc<World>,
        exchange: &mut Exchange<Told>,
    ) {
        let books = self.crew.books_of(self.number);
        let call = &mut single.call;
        match call.after(ended, &world.schema, &self.committer, books) {
            Next::End(end) => {
                if end.is_err() {
                    call.durable_in = self.committer.entered();
                }
                call.finish(end, &mut *self.source, books);
                self.take_in(single);
            }
            Next::Alone => self.send_to_all(single, world, exchange),
            Next::Again(_) => {
                call.attempts += 1;
                self.send_planned(single, false, world, exchange);
            }
        }
    }

    /// A parcel carries no call any more.
    fn take_in(&mut self, single: Parcel) {
        self.free.push(single);
        self.on_their_way -= 1;
    }

    /// A call of several partitions has ended.
    fn end_multi(
        &mut self,
        multi: Multi,
        outcome: Outcome,
        world: &Arc<World>,
        exchange: &mut Exchange<Told>,
    ) {
        let slot = multi.slot;
        let mut single = self.away[slot].take().expect("it was sent off from here");
        self.free_slots.push(slot);
        let call = &mut single.call;
        let (ended, doubt) = match outcome {
            Outcome::Committed(position) => {
                self.gather(&multi, call, position);
                (Ok(()), false)
            }
            Outcome::Undone => match first_fault(&multi) {
                Some(fault) => {
                    // It may be run again.
                    call.invocation.clone_from(&multi.invocation);
                    self.gather_fault(&multi, call, fault)
                }
                None => unreachable!("a call is undone because a part has failed"),
            },
        };
        self.ended.push(multi.0);
        match doubt {
            true => self.send_planned(single, true, world, exchange), // I2
            false => self.end(single, ended, world, exchange),
        }
    }

    /// Puts the result of a call that has committed into its frame.
    fn gather(&mut self, multi: &Multi, call: &mut Call, position: Position) {
        self.gather_rows(multi, call, NONE);
        let frame = &mut call.frame;
        match multi.how {
            How::InParts => {
                let values = multi.cells.of(multi.coordinator() as u16);
                multi.run().tell_row_count(frame, &values);
            }
            How::AsWhole(_) => {
                let touched = multi.outcome(0).lock().touched;
                frame.set_slot(ROW_COUNT, Datum::int(touched));
            }
        }
        call.durable_in = position.epoch;
        self.committer.trace(position, &multi.invocation, multi.procedure(), frame);
    }

    /// Puts into a call's frame what went wrong; how it ended, and whether something else may have
    /// gone wrong first (I2).
    fn gather_fault(
        &mut self,
        multi: &Multi,
        call: &mut Call,
        fault: Fault,
    ) -> (Result<(), Stop>, bool) {
        let Fault { instance, round, stop, error } = fault;
        let in_parts = multi.how == How::InParts;
        let doubt = in_parts
            && matches!(stop, Stop::Error | Stop::OutOfMemory)
            && multi.schedule.leaves_doubt(instance, round);
        self.gather_rows(multi, call, instance);
        let frame = &mut call.frame;
        if let Some(mut error) = error {
            error.notices.splice(..0, frame.notices().iter().cloned());
            frame.machine.error = Some(error);
        }
        (Err(stop), doubt)
    }

    /// Puts the rows of a call, and what it said, into its frame: those of the instances before
    /// one.
    fn gather_rows(&mut self, multi: &Multi, call: &mut Call, before: u32) {
        let returned = &mut self.returned;
        returned.clear();
        for number in 0..=multi.coordinator() {
            let outcome = multi.outcome(number).lock();
            let places = outcome.returned.iter().enumerate();
            let places = places.map(|(at, &(instance, _))| (instance, number, at));
            returned.extend(places.filter(|&(instance, ..)| instance < before));
        }
        returned.sort_unstable();
        let frame = &mut call.frame;
        frame.begin_result();
        let parts = (multi.how == How::InParts).then(|| multi.run());
        for &(instance, number, at) in &*returned {
            let outcome = multi.outcome(number).lock();
            let whole = &multi.procedure().program;
            let program = parts.as_ref().map_or(whole, |parts| parts.code(instance));
            frame.add_rows(program, &outcome.rows, &outcome.returned[at].1);
        }
    }
}

/// What failed first in the procedure.
fn first_fault(multi: &Multi) -> Option<Fault> {
    let doers = 0..=multi.coordinator();
    let first = doers.min_by_key(|&number| multi.outcome(number).lock().failed())?;
    multi.outcome(first).lock().fault.take()
}
