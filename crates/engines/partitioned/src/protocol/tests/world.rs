//! Homes, partitions and coordinators as the nodes of one virtual machine.

use std::rc::Rc;

use hotrow_flow::node::{Address, Node, Ports};
use hotrow_flow::virtual_time::{Costs, VirtualTime};
use rand::rngs::SmallRng;

use super::store::{Appender, Clerk, Counters, Log, Multi, Single, Tables, tables};
use crate::protocol::coordinator::Coordinator;
use crate::protocol::owner::{Owner, Settings};
use crate::protocol::{CallId, Message, Outcome, Report, Section, Vote};

pub type Told = Message<Single, Multi>;

/// Makes the next call; none: there are no more.
pub type Next = Box<dyn FnMut(&mut SmallRng) -> Option<Wanted>>;

/// Nanoseconds between the ends of two batches of a coordinator.
const BATCH: u64 = 150;
/// Nanoseconds between two looks of the log's writer.
const WRITE: u64 = 400;
/// Nanoseconds by which an end is late that is broken so.
const LATE: u64 = 1_000;

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
    /// partitions go on that stood still for a call, before who ran it has ended it
    OthersGoOnEarly,
    /// an epoch of the log ends though somebody stays in it
    EpochEndsEarly,
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

/// Addresses: the partitions, the coordinators, home, the log's writer.
#[derive(Clone, Copy, Debug)]
pub struct Place {
    pub partitions: u16,
    pub coordinators: u16,
}

impl Place {
    pub fn home(self) -> Address {
        self.partitions + self.coordinators
    }

    fn nodes(self) -> u16 {
        self.home() + 2
    }
}

pub struct Member {
    place: Place,
    fault: Option<Fault>,
    pub role: Role,
}

pub enum Role {
    Partition(Partition),
    Coordinator(Box<Coordinator<Clerk>>),
    Home(Home),
    Writer(Rc<Log>),
}

pub struct Partition {
    pub owner: Owner<Counters>,
    /// an end that it has put off, broken on purpose
    late: Option<(CallId, Outcome)>,
    /// ends that had several calls undone, and those of them where something that one of these had
    /// removed was brought back, or the other way round
    pub cascades: (u64, u64),
}

impl Partition {
    fn take(&mut self, message: Told, ports: &mut impl Ports<Told, Section>) {
        let before = self.owner.holdings().store.undone;
        self.owner.take(message, ports);
        let after = self.owner.holdings().store.undone;
        if after.0 > before.0 + 1 {
            self.cascades.0 += 1;
            self.cascades.1 += u64::from(after.1 > before.1);
        }
    }
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
            (Role::Partition(own), message) => match (&mut own.owner, message, *fault) {
                (
                    Owner::Queues(queues),
                    Message::Fragment(fragment),
                    Some(Fault::WrongOrderOfCoordinators),
                ) if fragment.round == 0 => queues.take_out_of_turn(fragment),
                (_, Message::EndFirst(id, outcome, to), Some(Fault::OthersGoOnEarly)) => {
                    own.late = Some((id, outcome));
                    ports.send(to, Message::EndedFirst(id));
                    let then = ports.now() + LATE;
                    ports.wake_at(then);
                }
                (_, message, _) => own.take(message, ports),
            },
            (Role::Coordinator(coordinator), Message::Report(report)) => {
                coordinator.take(Message::Report(tampered(report, *fault)), ports);
            }
            (Role::Coordinator(coordinator), message) => coordinator.take(message, ports),
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
        let Role::Partition(Partition { owner, late: None, .. }) = &mut self.role else {
            return false;
        };
        let worked = owner.work(ports);
        if let (Owner::Locks(locks), Some(Fault::LockReleasedEarly)) = (owner, self.fault) {
            locks.release_early();
        }
        worked
    }

    fn wake(&mut self, ports: &mut impl Ports<Told, Section>) {
        match &mut self.role {
            Role::Partition(own) => match own.late.take() {
                Some((id, outcome)) => own.take(Message::End(id, outcome), ports),
                None => own.owner.wake(ports),
            },
            Role::Coordinator(coordinator) => {
                if self.place.coordinators > 1 {
                    coordinator.end_batch(ports);
                    let next = ports.now() + BATCH;
                    ports.wake_at(next);
                }
            }
            Role::Home(home) => (0..home.clients).for_each(|_| home.begin(self.place, ports)),
            Role::Writer(log) => {
                log.write(self.fault == Some(Fault::EpochEndsEarly));
                let next = ports.now() + WRITE;
                ports.wake_at(next);
            }
        }
    }
}

pub struct World<C> {
    pub time: VirtualTime<Member, C>,
    pub log: Rc<Log>,
    pub tables: Tables,
    pub place: Place,
}

impl<C: Costs<Member>> World<C> {
    pub fn new(
        scheme: Settings,
        place: Place,
        keys: u32,
        home: Home,
        fault: Option<Fault>,
        costs: C,
    ) -> Self {
        let (log, tables) = (Log::new(place.nodes()), tables(place.partitions, keys));
        let coordinators: Vec<_> = (place.partitions..place.home()).collect();
        let partition = |number| {
            let mut counters = Counters::new(number, &tables, Appender::new(&log, number));
            counters.is_careless = fault == Some(Fault::SettledEarly);
            let owner = Owner::new(number, scheme, coordinators.clone(), counters);
            Role::Partition(Partition { owner, late: None, cascades: (0, 0) })
        };
        let coordinator = |number| {
            let partitions = (0..place.partitions).collect();
            let clerk = Clerk(Appender::new(&log, place.partitions + number));
            Role::Coordinator(Box::new(Coordinator::new(number, partitions, clerk)))
        };
        let partitions = (0..place.partitions).map(partition);
        let roles = partitions.chain((0..place.coordinators).map(coordinator));
        let roles = roles.chain([Role::Home(home), Role::Writer(Rc::clone(&log))]);
        let nodes = roles.map(|role| Member { place, fault, role }).collect();
        let mut time = VirtualTime::new(nodes, costs);
        time.wake_all();
        Self { time, log, tables, place }
    }

    pub fn home(&self) -> &Home {
        match &self.time.node(self.place.home()).role {
            Role::Home(home) => home,
            _ => unreachable!("it stands there"),
        }
    }
}
