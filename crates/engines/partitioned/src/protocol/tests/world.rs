//! Homes, partitions and coordinators as the nodes of one virtual machine.

use hotrow_flow::node::{Address, Node, Ports};
use hotrow_flow::virtual_time::{Costs, VirtualTime};
use rand::rngs::SmallRng;

use super::store::{Clerk, Counters, Log, Multi, Single};
use crate::protocol::coordinator::Coordinator;
use crate::protocol::locking::{self, LockingPartition};
use crate::protocol::partition::{self, Partition};
use crate::protocol::{Message, Outcome, Report, Section, Vote};

pub type Told = Message<Single, Multi>;

/// Makes the next call; none: there are no more.
pub type Next = Box<dyn FnMut(&mut SmallRng) -> Option<Wanted>>;

/// Nanoseconds between the ends of two batches of a coordinator.
const BATCH: u64 = 150;

/// A call, and the partition that it is of if it is of one.
pub enum Wanted {
    Single(Single),
    Multi(Multi),
}

/// What is broken on purpose.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fault {
    /// a coordinator does not wait for what a report follows
    NoWaitForDependency,
    /// a coordinator takes what was undone along with another call
    StaleAccepted,
    /// who has removed something has it gone before it has committed: others bring it back
    SettledEarly,
    /// a partition lets go of locks before a call is decided
    LockReleasedEarly,
    /// a partition takes what coordinators send as it comes
    WrongOrderOfCoordinators,
    /// a coordinator overlooks that a part has failed
    LostAbort,
}

/// How partitions work.
#[derive(Clone, Copy, Debug)]
pub enum Scheme {
    Queues(partition::Settings),
    Locks(locking::Settings),
}

/// All clients, each with one call on its way.
pub struct Home {
    pub random: SmallRng,
    pub clients: u32,
    pub next: Next,
    pub begun: u64,
    pub ended: u64,
    pub undone: u64,
}

impl Home {
    pub fn new(random: SmallRng, clients: u32, next: Next) -> Self {
        Self { random, clients, next, begun: 0, ended: 0, undone: 0 }
    }

    fn begin(&mut self, place: Place, ports: &mut impl Ports<Told, Section>) {
        match (self.next)(&mut self.random) {
            None => {}
            Some(Wanted::Single(call)) => ports.send(call.partition, Message::Single(call)),
            Some(Wanted::Multi(call)) => {
                self.begun += 1;
                let coordinator = (self.begun % u64::from(place.coordinators)) as u16;
                ports.send(place.partitions + coordinator, Message::Begin(call));
            }
        }
    }
}

/// Addresses: the partitions, the coordinators, home.
#[derive(Clone, Copy, Debug)]
pub struct Place {
    pub partitions: u16,
    pub coordinators: u16,
}

impl Place {
    pub fn home(self) -> Address {
        self.partitions + self.coordinators
    }
}

pub struct Member {
    place: Place,
    fault: Option<Fault>,
    pub role: Role,
}

pub enum Role {
    Partition(Partition<Counters>),
    Locking(Box<LockingPartition<Counters>>),
    Coordinator(Coordinator<Clerk>),
    Home(Home),
}

/// A report as a coordinator sees it that is broken so.
fn tampered(mut report: Report, fault: Option<Fault>) -> Report {
    match fault {
        Some(Fault::NoWaitForDependency) => report.follows = None,
        Some(Fault::StaleAccepted) => report.undone = Report::STANDS,
        Some(Fault::LostAbort) => report.vote = Vote::Commit,
        _ => {}
    }
    report
}

impl Node for Member {
    type Message = Told;
    type Section = Section;

    fn take(&mut self, message: Told, ports: &mut impl Ports<Told, Section>) {
        let Self { place, fault, role } = self;
        match (role, message) {
            (Role::Partition(partition), Message::Single(call)) => partition.take_single(call),
            (Role::Partition(partition), Message::Fragment(fragment)) => {
                let out_of_turn = *fault == Some(Fault::WrongOrderOfCoordinators);
                match out_of_turn && fragment.round == 0 {
                    true => partition.take_out_of_turn(fragment),
                    false => partition.take_fragment(fragment),
                }
            }
            (Role::Partition(partition), Message::BatchEnd(coordinator)) => {
                partition.take_batch_end(coordinator);
            }
            (Role::Partition(partition), Message::End(id, outcome)) => {
                partition.take_end(id, outcome, ports);
            }
            (Role::Locking(partition), Message::Single(call)) => partition.take_single(call),
            (Role::Locking(partition), Message::Fragment(fragment)) => {
                partition.take_fragment(fragment);
            }
            (Role::Locking(partition), Message::End(id, outcome)) => {
                partition.take_end(id, outcome, ports);
            }
            (Role::Locking(_), Message::BatchEnd(_)) => {} // who locks needs no order
            (Role::Coordinator(coordinator), Message::Begin(call)) => {
                coordinator.take_call(call, ports);
            }
            (Role::Coordinator(coordinator), Message::Report(report)) => {
                coordinator.take_report(tampered(report, *fault), ports);
            }
            (Role::Home(home), Message::SingleEnded(_)) => {
                home.ended += 1;
                home.begin(*place, ports);
            }
            (Role::Home(home), Message::MultiEnded(_, outcome)) => {
                home.ended += 1;
                home.undone += u64::from(outcome == Outcome::Undone);
                home.begin(*place, ports);
            }
            _ => panic!("this is not for it"),
        }
    }

    fn work(&mut self, ports: &mut impl Ports<Told, Section>) -> bool {
        match &mut self.role {
            Role::Partition(partition) => partition.work(ports),
            Role::Locking(partition) => {
                let worked = partition.work(ports);
                if self.fault == Some(Fault::LockReleasedEarly) {
                    partition.release_early();
                }
                worked
            }
            Role::Coordinator(_) | Role::Home(_) => false,
        }
    }

    fn wake(&mut self, ports: &mut impl Ports<Told, Section>) {
        match &mut self.role {
            Role::Partition(_) => {}
            Role::Locking(partition) => partition.wake(ports),
            Role::Coordinator(coordinator) => {
                if self.place.coordinators > 1 {
                    coordinator.end_batch(ports);
                    let next = ports.now() + BATCH;
                    ports.wake_at(next);
                }
            }
            Role::Home(home) => (0..home.clients).for_each(|_| home.begin(self.place, ports)),
        }
    }
}

pub struct World<C> {
    pub time: VirtualTime<Member, C>,
    pub log: Log,
    pub place: Place,
}

impl<C: Costs<Member>> World<C> {
    pub fn new(
        scheme: Scheme,
        place: Place,
        keys: u32,
        home: Home,
        fault: Option<Fault>,
        costs: C,
    ) -> Self {
        let log = Log::default();
        let coordinators: Vec<_> = (place.partitions..place.home()).collect();
        let partition = |number| {
            let mut counters = Counters::new(number, keys, Log::clone(&log));
            counters.is_careless = fault == Some(Fault::SettledEarly);
            let coordinators = coordinators.clone();
            match scheme {
                Scheme::Queues(settings) => {
                    Role::Partition(Partition::new(number, settings, coordinators, counters))
                }
                Scheme::Locks(settings) => {
                    let own = LockingPartition::new(number, settings, coordinators, counters);
                    Role::Locking(Box::new(own))
                }
            }
        };
        let coordinator = |number| {
            let partitions = (0..place.partitions).collect();
            Role::Coordinator(Coordinator::new(number, partitions, Clerk(Log::clone(&log))))
        };
        let partitions = (0..place.partitions).map(partition);
        let roles = partitions.chain((0..place.coordinators).map(coordinator));
        let roles = roles.chain(std::iter::once(Role::Home(home)));
        let nodes = roles.map(|role| Member { place, fault, role }).collect();
        let mut time = VirtualTime::new(nodes, costs);
        time.wake_all();
        Self { time, log, place }
    }

    pub fn home(&self) -> &Home {
        match &self.time.node(self.place.home()).role {
            Role::Home(home) => home,
            _ => unreachable!("it stands there"),
        }
    }
}
