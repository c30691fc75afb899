//! The home of calls: a thread's side towards its source.
//!
//! Role         fetches calls, hands each to the owner of its partition or, if it is of several, to
//!              a coordinator; is told how they have ended, and tells the source
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
//! Source       partitioned.txt 3.1 (clients route calls by themselves)

use std::sync::Arc;

use hotrow_base::ids::PartitionId;
use hotrow_engine::in_place::Scratch;
use hotrow_engine::journal::Committer;
use hotrow_engine::reconnaissance::TrialReads;
use hotrow_engine::source::CallSource;
use hotrow_engine::worker::{Call, Next};
use hotrow_flow::away::Away;
use hotrow_flow::exchange::Exchange;
use hotrow_flow::host;
use hotrow_flow::intake::Intake;
use hotrow_flow::node::Address;
use hotrow_flow::reply::Gathered;
use hotrow_flow::world::World;
use hotrow_log::position::Position;
use hotrow_transaction::actions::{ActionPlanner, Batch, Wanted};
use hotrow_transaction::outcome::Stop;
use hotrow_transaction::routing::{Lies, PartitionSet};

use crate::call::{Bounds, Multi, Parcel, Shared, Single};
use crate::crew::{Crew, Told};
use crate::protocol::{Message, Outcome};

/// Calls fetched in a turn.
const FETCHES_PER_TURN: usize = 4;

/// See the module.
pub struct Home {
    crew: Arc<Crew>,
    number: u16,
    committer: Committer,
    intake: Intake,
    /// how many coordinators have calls
    coordinators: u16,
    /// parcels without a call
    free: Vec<Parcel>,
    /// calls of several partitions on their way, by slot
    away: Away<Parcel>,
    /// of calls that have ended, perhaps still in others' hands
    ended: Vec<Arc<Shared>>,
    /// for calls to come
    unused: Vec<Arc<Shared>>,
    planner: ActionPlanner,
    /// the call that is being planned
    batch: Batch,
    /// for trial reads
    scratch: Scratch,
    /// of a call whose rows are put together
    gathered: Gathered,
}

impl Home {
    /// That of thread `number`.
    pub fn new(crew: Arc<Crew>, number: u16, source: Box<dyn CallSource>) -> Self {
        let committer = crew.roster.committers[usize::from(number)].clone();
        let (schema, worker) = (&crew.roster.ground.schema, committer.worker());
        let intake = Intake::new(schema, worker, source, crew.roster.in_flight);
        Self {
            scratch: Scratch::new(committer.worker()),
            crew,
            number,
            committer,
            intake,
            coordinators: 1,
            free: Vec::new(),
            away: Away::default(),
            ended: Vec::new(),
            unused: Vec::new(),
            planner: ActionPlanner::default(),
            batch: Batch::default(),
            gathered: Gathered::default(),
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

    /// Its side towards its source.
    pub fn intake(&mut self) -> &mut Intake {
        &mut self.intake
    }

    /// Whether nobody works on its calls any more.
    pub fn has_all_back(&mut self) -> bool {
        self.take_back();
        self.ended.is_empty()
    }

    /// Takes back what nobody works on any more.
    fn take_back(&mut self) {
        let is_back = |shared: &mut Arc<Shared>| {
            let content = Arc::get_mut(shared);
            content.map(|content| content.call.world = None).is_some() // it may be an old one
        };
        self.unused.extend(self.ended.extract_if(.., is_back));
    }

    /// Fetches calls, and sends them off; how many. Called inside the gate.
    pub fn fetch(&mut self, world: &Arc<World>, exchange: &mut Exchange<Told>) -> usize {
        if !host::may_fetch(&self.crew.roster, &self.intake) {
            return 0;
        }
        for fetched in 0..FETCHES_PER_TURN {
            let mut single = self.free.pop().unwrap_or_else(|| self.new_parcel());
            if exchange.has_late() || !self.intake.fetch(&mut single.call, &world.schema) {
                self.free.push(single);
                return fetched;
            }
            self.send(single, world, exchange);
        }
        FETCHES_PER_TURN
    }

    fn new_parcel(&self) -> Parcel {
        let call = Call::new(self.crew.roster.step_budget);
        Box::new(Single { call, home: self.address(), bounds: Bounds::None, ended: Ok(()) })
    }

    /// Sends a call off for its first attempt.
    fn send(&mut self, mut single: Parcel, world: &Arc<World>, exchange: &mut Exchange<Told>) {
        if single.call.procedure.is_none() {
            single
                .call
                .finish_unknown(self.intake.source(), self.crew.roster.books_of(self.number));
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
        let set = world.owners.concerned(&world.schema.catalog, &batch.plan, own);
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
        self.crew.roster.books_of(self.number).exclusive.increment();
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
        let home = self.address();
        let content = Arc::get_mut(&mut shared).expect("nobody works on it");
        std::mem::swap(&mut content.call.invocation, &mut single.call.invocation);
        content.call.procedure.clone_from(&single.call.procedure);
        content.call.world = Some(Arc::clone(world));
        fill(content, &mut self.batch);
        (content.home, content.slot) = (home, self.away.keep(single));
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
        let books = self.crew.roster.books_of(self.number);
        let call = &mut single.call;
        match call.after(ended, &world.schema, &self.committer, books) {
            Next::End(end) => {
                if end.is_err() {
                    call.durable_in = self.committer.entered();
                }
                call.finish(end, self.intake.source(), books);
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
        self.intake.note_end();
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
        let mut single = self.away.call_back(slot);
        let call = &mut single.call;
        let (ended, doubt) = match outcome {
            Outcome::Committed(position) => {
                self.gather(&multi, call, position);
                (Ok(()), false)
            }
            Outcome::Undone => match multi.take_first_fault() {
                Some(fault) => {
                    // It may be run again.
                    call.invocation.clone_from(&multi.invocation);
                    let (stop, frame) = (fault.0.stop, &mut call.frame);
                    let doubt = multi.gather_fault(fault, |_| true, &mut self.gathered, frame);
                    (Err(stop), doubt)
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
        let frame = &mut call.frame;
        multi.gather(&mut self.gathered, frame);
        call.durable_in = position.epoch;
        self.committer.trace(position, &multi.invocation, multi.procedure(), frame);
    }
}
