//! A thread of the engine: a home, the owners of some partitions, perhaps a coordinator.
//!
//! Role         what [`hotrow_flow::host`] runs: a turn takes the messages there are, runs one call
//!              for each partition and fetches a few
//! Invariants   I1 records are touched inside some home's gate: that of the call for which they are
//!              touched; and under a pin of this thread's own, that lasts for a turn
//!              I2 the schema and the scheme are looked at when messages have been taken in and
//!              before they are taken: who sent them was inside the gate under those that are in
//!              force. Calls are fetched only if the home was inside the gate before

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

use hotrow_base::ids::WorkerId;
use hotrow_engine::journal::stay::Stay;
use hotrow_engine::schema::{KnownSchema, Memory};
use hotrow_engine::source::CallSource;
use hotrow_engine::statistics::{Activity, Stopwatch};
use hotrow_flow::clerk::Clerk;
use hotrow_flow::exchange::Exchange;
use hotrow_flow::host::Member;
use hotrow_flow::intake::Intake;
use hotrow_flow::node::Address;
use hotrow_flow::world::World;

use crate::call::{Multi, Single};
use crate::crew::{Crew, Role, Told};
use crate::home::Home;
use crate::options::Scheme;
use crate::protocol::coordinator::Coordinator;
use crate::protocol::observed::Observed;
use crate::protocol::owner::{self, Owner};
use crate::protocol::{Outside, locking, partition};
use crate::store::Rows;

/// Nanoseconds that a call of several partitions waits for locks before it is taken to be in a
/// circle: some ten times as long as it usually takes.
const TIME_OUT: u64 = 2_000_000;

/// Nanoseconds between the ends of two batches of a coordinator, where there are several: about
/// as long as a call of several partitions takes, which waits for half a round of turns.
const BATCH: u64 = 100_000;

/// How owners work by the scheme of the moment, and the coordinators that they hear.
fn how_owners_work(crew: &Crew) -> (owner::Settings, Vec<Address>) {
    let (scheme, depth, locks) = (crew.scheme(), crew.settings.depth, crew.settings.locks);
    let settings = match scheme {
        Scheme::Locking => owner::Settings::Locks(locking::Settings { locks, time_out: TIME_OUT }),
        scheme => {
            let speculation = scheme.speculation();
            owner::Settings::Queues(partition::Settings { speculation, depth })
        }
    };
    let coordinators = 0..crew.coordinators(scheme);
    (settings, coordinators.map(|number| crew.seats.coordinator(number)).collect())
}

/// One thread's home, the partitions that it owns, and its coordinators.
pub struct Thread {
    crew: Arc<Crew>,
    number: u16,
    id: WorkerId,
    schema: KnownSchema,
    world: Arc<World>,
    exchange: Exchange<Told>,
    home: Home,
    /// those it owns, as [`Seats::place_on_thread`](crate::crew::Seats::place_on_thread) has them
    partitions: Vec<Owner<Rows>>,
    /// likewise
    coordinators: Vec<Coordinator<Clerk>>,
    /// changes of the scheme that it knows
    changes: u64,
    watch: Stopwatch,
}

impl Thread {
    /// Thread number `number` of a crew.
    pub fn new(
        crew: &Arc<Crew>,
        number: u16,
        exchange: Exchange<Told>,
        source: Box<dyn CallSource>,
    ) -> Self {
        let schema = KnownSchema::new(&crew.roster.ground.schema);
        let world = crew.world(schema.get());
        let committer = &crew.roster.committers[usize::from(number)];
        let stay = Rc::new(RefCell::new(Stay::new(committer.clone())));
        let (seats, budget) = (crew.seats, crew.roster.step_budget);
        let mut home = Home::new(Arc::clone(crew), number, source);
        let own_partitions = (0..seats.partitions)
            .filter(|&partition| seats.thread_of_partition(partition) == number);
        let own_coordinators = (0..seats.coordinators)
            .filter(|&coordinator| seats.thread_of_coordinator(coordinator) == number);
        let addresses: Vec<_> =
            (0..seats.partitions).map(|number| seats.partition(number)).collect();
        let (changes, (how, coordinators)) = (crew.changes(), how_owners_work(crew));
        home.set_coordinators(coordinators.len() as u16);
        let partition = |partition| {
            let rows = Rows::new(partition, &world, (committer, &stay), budget);
            Owner::new(partition, how, coordinators.clone(), rows)
        };
        let coordinator = |coordinator| {
            let clerk = Clerk::new(&world, (committer.worker(), &stay), budget);
            Coordinator::new(coordinator, addresses.clone(), clerk)
        };
        let mut thread = Self {
            number,
            id: committer.worker(),
            partitions: own_partitions.map(partition).collect(),
            coordinators: own_coordinators.map(coordinator).collect(),
            crew: Arc::clone(crew),
            schema,
            world,
            exchange,
            home,
            changes,
            watch: Stopwatch::default(),
        };
        thread.begin_batches();
        thread
    }

    /// Takes note of another schema.
    fn adopt(&mut self) {
        self.world = self.crew.world(self.schema.get());
        self.partitions.iter_mut().for_each(|own| own.holdings_mut().store.adopt(&self.world));
        self.coordinators.iter_mut().for_each(|own| own.steering_mut().adopt(&self.world));
    }

    /// Has owners work by the scheme that was chosen, from the next message on.
    #[cold]
    fn change_scheme(&mut self) {
        self.changes = self.crew.changes();
        let (how, coordinators) = how_owners_work(&self.crew);
        self.home.set_coordinators(coordinators.len() as u16);
        let owners = std::mem::take(&mut self.partitions).into_iter();
        let changed = owners.map(|owner| owner.change(how, coordinators.clone()));
        self.partitions = changed.collect();
        self.coordinators.iter_mut().for_each(Coordinator::begin_anew);
    }

    /// Takes the messages there are; whether there were any.
    fn deliver(&mut self) -> bool {
        let mut some = false;
        while let Some((to, message)) = self.exchange.next() {
            some = true;
            match self.crew.seats.role(to) {
                Role::Home => self.home.take(message, &self.world, &mut self.exchange),
                Role::Partition(partition) => {
                    let own = &mut self.partitions[self.crew.seats.place_on_thread(partition)];
                    own.take(message, &mut self.exchange.ports(to));
                }
                Role::Coordinator(coordinator) => {
                    let at = self.crew.seats.place_on_thread(coordinator);
                    self.coordinators[at].take(message, &mut self.exchange.ports(to));
                }
            }
        }
        some
    }

    /// The time has come that a node has asked for.
    fn wake(&mut self, address: Address) {
        let mut ports = self.exchange.ports(address);
        match self.crew.seats.role(address) {
            Role::Home => unreachable!("homes ask for none"),
            Role::Partition(partition) => {
                self.partitions[self.crew.seats.place_on_thread(partition)].wake(&mut ports);
            }
            Role::Coordinator(coordinator) => {
                let at = self.crew.seats.place_on_thread(coordinator);
                self.coordinators[at].end_batch(&mut ports);
                Self::set_batch_alarm(&mut ports);
            }
        }
    }

    fn set_batch_alarm(ports: &mut impl Outside<Single, Multi>) {
        let next = ports.now() + BATCH;
        ports.wake_at(next);
    }

    /// Where several coordinators take turns, has each of this thread's end its first batch soon.
    fn begin_batches(&mut self) {
        let seats = self.crew.seats;
        if matches!(self.crew.settings.scheme, Scheme::Locking | Scheme::Auto)
            || seats.coordinators == 1
        {
            return;
        }
        for coordinator in 0..seats.coordinators {
            if seats.thread_of_coordinator(coordinator) == self.number {
                let address = seats.coordinator(coordinator);
                Self::set_batch_alarm(&mut self.exchange.ports(address));
            }
        }
    }
}

impl Member for Thread {
    type Message = Told;

    fn ends(&mut self) -> (&mut Exchange<Told>, &mut Intake) {
        (&mut self.exchange, self.home.intake())
    }

    fn watch(&mut self) -> &mut Stopwatch {
        &mut self.watch
    }

    fn has_all_back(&mut self) -> bool {
        self.home.has_all_back()
    }

    // Out of line, so that instructions can be counted from here on.
    #[inline(never)]
    fn turn(&mut self, memory: &Memory) -> bool {
        let mut has_moved = self.exchange.fetch() > 0;
        if self.schema.look_again(&self.crew.roster.ground.schema) {
            self.adopt(); // I2
        }
        if self.crew.changes() != self.changes {
            self.change_scheme(); // I2
        }
        let _pin = memory.epochs().pin(self.id); // I1
        self.watch.switch(Activity::Execute);
        has_moved |= self.deliver();
        while let Some(address) = self.exchange.next_to_wake() {
            self.wake(address);
            has_moved = true;
        }
        for at in 0..self.partitions.len() {
            let partition = self.number + at as u16 * self.crew.seats.threads;
            let mut ports = self.exchange.ports(self.crew.seats.partition(partition));
            if self.partitions[at].work(&mut ports) {
                self.exchange.publish(); // others wait for what it tells
                self.deliver();
                has_moved = true;
            }
        }
        // Not one that has come inside since the schema was looked at (I2).
        if self.home.intake().is_inside() {
            self.watch.switch(Activity::Plan);
            has_moved |= self.home.fetch(&self.world, &mut self.exchange);
            self.deliver();
        }
        self.watch.switch(Activity::Wait);
        has_moved
    }

    fn keep_house(&mut self) {
        let books = self.crew.roster.books_of(self.number);
        books.messages.add(self.exchange.take_sent());
        self.watch.publish(books);
        self.schema.reclaim(self.id);
        let mut observed = Observed::default();
        self.partitions.iter().for_each(|own| observed.add(&own.holdings().observed));
        self.coordinators.iter().for_each(|own| observed.add(own.observed()));
        self.crew.take_observed(self.number, observed);
    }
}
