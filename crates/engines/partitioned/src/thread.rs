//! A thread of the engine: a home, the owners of some partitions, perhaps a coordinator.
//!
//! States       turns, each of which takes the messages there are, runs one call for each partition
//!              and fetches a few -> when a turn has had nothing to do, it rests: until a message
//!              or a call comes
//! Invariants   I1 records are touched inside some home's gate: that of the call for which they are
//!              touched; and under a pin of this thread's own, that lasts for a turn
//!              I2 the schema and the scheme are looked at when messages have been taken in and
//!              before they are taken: who sent them was inside the gate under those that are in
//!              force. Calls are fetched only if the home was inside the gate before
//!              I3 a thread ends when no home has calls: others need its partitions as long

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use hotrow_base::clock::Ticks;
use hotrow_base::ids::WorkerId;
use hotrow_engine::journal::stay::Stay;
use hotrow_engine::schema::{KnownSchema, Memory};
use hotrow_engine::source::CallSource;
use hotrow_engine::statistics::{Activity, Stopwatch};
use hotrow_flow::exchange::Exchange;
use hotrow_flow::node::Address;

use crate::call::{Multi, Parcel};
use crate::clerk::Clerk;
use crate::crew::{Crew, Role, Told};
use crate::home::Home;
use crate::options::Scheme;
use crate::protocol::coordinator::Coordinator;
use crate::protocol::observed::Observed;
use crate::protocol::owner::{self, Owner};
use crate::protocol::{Outside, locking, partition};
use crate::store::Rows;
use crate::world::World;

/// Turns between two publications of the stopwatch and two looks at reclaimed memory.
const TURNS_PER_HOUSEKEEPING: u32 = 64;
/// How long a thread with calls on their way, or whose source cannot call it, sleeps before it
/// looks for calls.
const GLANCE: Duration = Duration::from_micros(200);
/// How long it sleeps otherwise.
const NAP: Duration = Duration::from_millis(10);
/// Rests in a row with nothing on its way after which a source without a bell is waited for: it may
/// have to be told that the log has failed.
const RESTS_MAX: u32 = 50;

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

/// See the module.
pub struct Thread {
    crew: Arc<Crew>,
    number: u16,
    id: WorkerId,
    schema: KnownSchema,
    world: Arc<World>,
    exchange: Exchange<Told>,
    home: Home,
    /// the source can call this thread from where it waits for calls
    has_bell: bool,
    /// those it owns, as [`Seats::place_on_thread`](crate::crew::Seats::place_on_thread) has them
    partitions: Vec<Owner<Rows>>,
    /// likewise
    coordinators: Vec<Coordinator<Clerk>>,
    /// changes of the scheme that it knows
    changes: u64,
    turns: u32,
    /// in a row
    rests: u32,
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
        let schema = KnownSchema::new(&crew.ground.schema);
        let world = crew.world(schema.get());
        let committer = &crew.committers[usize::from(number)];
        let stay = Rc::new(RefCell::new(Stay::new(committer.clone())));
        let (seats, budget) = (crew.seats, crew.step_budget);
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
        Self {
            number,
            id: committer.worker(),
            has_bell: home.set_bell(&exchange),
            partitions: own_partitions.map(partition).collect(),
            coordinators: own_coordinators.map(coordinator).collect(),
            crew: Arc::clone(crew),
            schema,
            world,
            exchange,
            home,
            changes,
            turns: 0,
            rests: 0,
            watch: Stopwatch::default(),
        }
    }

    /// Runs until the engine ends.
    pub fn run(mut self) {
        let crew = Arc::clone(&self.crew);
        let mut has_home = true;
        self.begin_batches();
        while !crew.is_over() {
            self.home.go_inside();
            let has_moved = self.turn(&crew.memory);
            self.exchange.publish();
            self.turns = self.turns.wrapping_add(1);
            if !has_moved || self.crew.ground.schema.gate().wants_quiet() {
                self.home.go_outside();
            }
            if has_home && self.home.is_done() {
                has_home = false;
                if crew.leave_home() {
                    self.exchange.wake_all(); // I3
                }
            }
            if !has_moved || self.turns.is_multiple_of(TURNS_PER_HOUSEKEEPING) {
                self.keep_house();
            }
            match has_moved {
                true => self.rests = 0,
                false => self.rest(),
            }
        }
        self.keep_house();
    }

    /// One turn; whether there was anything to do. Out of line, so that instructions can be counted
    /// from here on.
    #[inline(never)]
    fn turn(&mut self, memory: &Memory) -> bool {
        let mut has_moved = self.exchange.fetch() > 0;
        if self.schema.look_again(&self.crew.ground.schema) {
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
        if self.home.is_inside() {
            self.watch.switch(Activity::Plan);
            has_moved |= self.home.fetch(&self.world, &mut self.exchange) > 0;
            self.deliver();
        }
        self.watch.switch(Activity::Wait);
        has_moved
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

    fn set_batch_alarm(ports: &mut impl Outside<Parcel, Multi>) {
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

    fn keep_house(&mut self) {
        let books = self.crew.books_of(self.number);
        books.messages.add(self.exchange.take_sent());
        self.watch.publish(books);
        self.schema.reclaim(self.id);
        let mut observed = Observed::default();
        self.partitions.iter().for_each(|own| observed.add(&own.holdings().observed));
        self.coordinators.iter().for_each(|own| observed.add(own.observed()));
        self.crew.take_observed(self.number, observed);
    }

    /// Waits until there may be something to do.
    fn rest(&mut self) {
        self.watch.switch(if self.home.is_busy() { Activity::Wait } else { Activity::Idle });
        self.rests += 1;
        let Self { crew, exchange, home, has_bell, rests, .. } = self;
        let looks = home.may_fetch();
        if looks && !home.is_busy() && !home.is_kept_out() {
            if *has_bell {
                if exchange.wait_elsewhere(|| home.wait_at_source()) {
                    return;
                }
            } else if *rests > RESTS_MAX {
                return home.wait_at_source();
            }
        }
        let span = if looks || !crew.has_room() { GLANCE } else { NAP };
        let crew = Arc::clone(crew);
        exchange.wait(Some(Ticks::from_now(span)), || crew.is_over());
    }
}
