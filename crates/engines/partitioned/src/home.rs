//! The home of calls: a thread's side towards its source.
//!
//! Role         hands each call that is fetched to the owner of its partition or, if it is of
//!              several, to a coordinator; is told how they have ended, and has the source told
//!
//! ```text
//!   a call   fetched ─parameters tell─▶ its partition
//!                └──planned─▶ its partition, bounded by its footprint
//!                       └───▶ a coordinator: in parts, or as a whole
//!            back ─ended─▶ told
//!              └─ guessed wrong ─▶ planned again ── too often ─▶ as a whole, in all partitions
//! ```
//!
//! Invariants   those of [`ClientCalls`]
//! Source       partitioned.txt 3.1 (clients route calls by themselves)

use std::sync::Arc;

use hotrow_base::ids::PartitionId;
use hotrow_engine::source::CallSource;
use hotrow_flow::client_calls::{ClientCall, ClientCalls, Left};
use hotrow_flow::exchange::Exchange;
use hotrow_flow::intake::Intake;
use hotrow_flow::node::Address;
use hotrow_flow::world::World;
use hotrow_transaction::actions::Batch;
use hotrow_transaction::outcome::Stop;
use hotrow_transaction::routing::{Lies, PartitionSet};

use crate::call::{Bounds, Multi, Shared, Single};
use crate::crew::{Crew, Told};
use crate::protocol::{Message, Outcome};

/// One thread's calls, those of several partitions among them, and memory for those to come.
pub struct Home {
    crew: Arc<Crew>,
    number: u16,
    /// those of several partitions are away while they run
    calls: ClientCalls,
    /// how many coordinators have calls
    coordinators: u16,
    /// of calls that have ended, perhaps still in others' hands
    ended: Vec<Arc<Shared>>,
    /// for calls to come
    unused: Vec<Arc<Shared>>,
}

impl Home {
    /// That of thread `number`.
    pub fn new(crew: Arc<Crew>, number: u16, source: Box<dyn CallSource>) -> Self {
        let calls = ClientCalls::new(Arc::clone(&crew.roster), number, source);
        let (ended, unused) = (Vec::new(), Vec::new());
        Self { crew, number, calls, coordinators: 1, ended, unused }
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
        self.calls.intake()
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

    /// Fetches calls, and sends them off; whether there were any. Called inside the gate.
    pub fn fetch(&mut self, world: &Arc<World>, exchange: &mut Exchange<Told>) -> bool {
        let fetches = self.calls.fetches();
        let mut left = fetches;
        while !exchange.has_late()
            && let Some(call) = self.calls.fetch(&mut left, &world.schema)
        {
            self.send(call, world, exchange);
        }
        left < fetches
    }

    /// Sends a call off for its first attempt.
    fn send(&mut self, client: ClientCall, world: &Arc<World>, exchange: &mut Exchange<Told>) {
        let partition = match world.place(&client.invocation) {
            Lies::In(partition) => partition.0,
            Lies::Anywhere => self.number % world.partitions(),
            Lies::Unknown => return self.send_planned(client, false, world, exchange),
        };
        self.send_single((client, Bounds::None), partition, exchange);
    }

    fn send_single(
        &self,
        (call, bounds): (ClientCall, Bounds),
        to: u16,
        exchange: &mut Exchange<Told>,
    ) {
        let to = self.crew.seats.partition(to);
        let single = Single { call, home: self.address(), bounds, ended: Ok(()) };
        exchange.send(to, Message::Single(single));
    }

    /// Plans a call, and sends it off.
    fn send_planned(
        &mut self,
        mut client: ClientCall,
        as_whole: bool,
        world: &Arc<World>,
        exchange: &mut Exchange<Told>,
    ) {
        if let Err(stop) = self.calls.plan_actions(&mut client, world) {
            return self.end(client, Err(stop), world, exchange);
        }
        let plan = &mut self.calls.batch.plan;
        let own = self.number % world.partitions();
        let set = world.owners.concerned(&world.schema.catalog, plan, own);
        if let (1, Some(PartitionId(one))) = (set.len(), set.iter().next()) {
            std::mem::swap(&mut client.plan, plan);
            return self.send_single((client, Bounds::Footprint), one, exchange);
        }
        self.send_multi(client, world, exchange, |shared, batch| {
            if as_whole || !shared.take_parts(batch) {
                shared.take_whole(Bounds::Footprint, &set);
                std::mem::swap(&mut shared.plan, &mut batch.plan);
            }
        });
    }

    /// Has a call run as a whole while all partitions stand still.
    fn send_to_all(
        &mut self,
        client: ClientCall,
        world: &Arc<World>,
        exchange: &mut Exchange<Told>,
    ) {
        let mut all = PartitionSet::EMPTY;
        all.insert_all(world.partitions());
        let whole = |shared: &mut Shared, _: &mut _| shared.take_whole(Bounds::None, &all);
        self.send_multi(client, world, exchange, whole);
    }

    fn send_multi(
        &mut self,
        mut client: ClientCall,
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
        std::mem::swap(&mut content.call.invocation, &mut client.invocation);
        content.call.procedure.clone_from(&client.procedure);
        content.call.world = Some(Arc::clone(world));
        fill(content, &mut self.calls.batch);
        (content.home, content.slot) = (home, self.calls.away.keep(client));
        let to = self.crew.seats.coordinator(self.number % self.coordinators);
        exchange.send(to, Message::Begin(Multi(shared)));
    }

    /// Takes a message.
    pub fn take(&mut self, message: Told, world: &Arc<World>, exchange: &mut Exchange<Told>) {
        match message {
            Message::SingleEnded(Single { call, ended, .. }) => {
                self.end(call, ended, world, exchange);
            }
            Message::MultiEnded(multi, outcome) => {
                self.end_multi(multi, outcome, world, exchange);
            }
            _ => unreachable!("homes are told ends"),
        }
    }

    /// A call of several partitions has ended.
    fn end_multi(
        &mut self,
        multi: Multi,
        outcome: Outcome,
        world: &Arc<World>,
        exchange: &mut Exchange<Told>,
    ) {
        let mut client = self.calls.away.call_back(multi.slot);
        let (ended, doubt) = match outcome {
            Outcome::Committed(position) => {
                self.calls.take_result(&mut client, &multi, position);
                (Ok(()), false)
            }
            Outcome::Undone => {
                let fault = multi.take_first_fault().expect("it was undone because it has failed");
                let stop = fault.0.stop;
                (Err(stop), self.calls.take_fault(&mut client, &multi, fault, |_| true))
            }
        };
        self.ended.push(multi.0);
        match doubt {
            true => self.send_planned(client, true, world, exchange),
            false => self.end(client, ended, world, exchange),
        }
    }

    /// An attempt has ended; the call may have to run again.
    fn end(
        &mut self,
        client: ClientCall,
        ended: Result<(), Stop>,
        world: &Arc<World>,
        exchange: &mut Exchange<Told>,
    ) {
        match self.calls.end(client, ended, &world.schema) {
            Left::Nothing => {}
            Left::Again(client) => self.send_planned(client, false, world, exchange),
            Left::Alone(client) => self.send_to_all(client, world, exchange),
        }
    }
}
