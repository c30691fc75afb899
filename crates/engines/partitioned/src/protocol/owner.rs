//! A partition's owner under whichever scheme, as its host sees it: threads, or virtual time.
//!
//! Invariants   I1 where others stand still for a call, they are told of its end when its changes
//!              here are final, or taken back, and no earlier

use super::locking::{self, LockingPartition, LockingStore};
use super::observed::Observed;
use super::partition::{self, Partition};
use super::{Message, Outside};
use hotrow_flow::node::Address;
use hotrow_log::position::Position;

/// How an owner works.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Settings {
    /// in the order in which calls come
    Queues(partition::Settings),
    /// with locks
    Locks(locking::Settings),
}

/// What an owner has, however it works.
pub struct Holdings<S> {
    /// the partition
    pub number: u16,
    /// its data
    pub store: S,
    /// the greatest position of a call that has committed here
    pub tag: Position,
    /// what was seen of calls
    pub observed: Observed,
}

/// A partition whose scheme queues calls, or one whose scheme locks.
pub enum Owner<S: LockingStore> {
    /// it queues
    Queues(Box<Partition<S>>),
    /// it locks
    Locks(Box<LockingPartition<S>>),
}

impl<S: LockingStore> Owner<S> {
    /// The owner of partition `number`, for coordinators at these addresses.
    pub fn new(number: u16, settings: Settings, coordinators: Vec<Address>, store: S) -> Self {
        let (tag, observed) = (Position::default(), Observed::default());
        Self::of(Holdings { number, store, tag, observed }, settings, coordinators)
    }

    fn of(has: Holdings<S>, settings: Settings, coordinators: Vec<Address>) -> Self {
        match settings {
            Settings::Queues(settings) => {
                Self::Queues(Box::new(Partition::new(has, settings, coordinators)))
            }
            Settings::Locks(settings) => {
                Self::Locks(Box::new(LockingPartition::new(has, settings, coordinators)))
            }
        }
    }

    /// Has it work otherwise from now on; no call is here.
    #[must_use]
    pub fn change(self, settings: Settings, coordinators: Vec<Address>) -> Self {
        debug_assert!(self.is_idle(), "it hands over between two calls");
        let has = match self {
            Self::Queues(own) => own.has,
            Self::Locks(own) => own.has,
        };
        Self::of(has, settings, coordinators)
    }

    /// What it has.
    pub fn holdings(&self) -> &Holdings<S> {
        match self {
            Self::Queues(own) => &own.has,
            Self::Locks(own) => &own.has,
        }
    }

    /// What it has, to tell that of another schema.
    pub fn holdings_mut(&mut self) -> &mut Holdings<S> {
        match self {
            Self::Queues(own) => &mut own.has,
            Self::Locks(own) => &mut own.has,
        }
    }

    /// Whether nothing is here that has not ended.
    pub fn is_idle(&self) -> bool {
        match self {
            Self::Queues(own) => own.is_idle(),
            Self::Locks(own) => own.is_idle(),
        }
    }

    /// Takes a message.
    pub fn take(
        &mut self,
        message: Message<S::Single, S::Multi>,
        ports: &mut impl Outside<S::Single, S::Multi>,
    ) {
        match (self, message) {
            (own, Message::EndFirst(id, outcome, coordinator)) => {
                own.take(Message::End(id, outcome), ports);
                ports.send(coordinator, Message::EndedFirst(id)); // I1
            }
            (Self::Queues(own), Message::Single(call)) => own.take_single(call),
            (Self::Queues(own), Message::Fragment(fragment)) => own.take_fragment(fragment),
            (Self::Queues(own), Message::End(id, outcome)) => own.take_end(id, outcome, ports),
            (Self::Queues(own), Message::BatchEnd(number)) => own.take_batch_end(number),
            (Self::Locks(own), Message::Single(call)) => own.take_single(call),
            (Self::Locks(own), Message::Fragment(fragment)) => own.take_fragment(fragment),
            (Self::Locks(own), Message::End(id, outcome)) => own.take_end(id, outcome, ports),
            (Self::Locks(_), Message::BatchEnd(_)) => {} // who locks needs no order
            _ => unreachable!("owners are sent calls, fragments and ends"),
        }
    }

    /// Runs one call or fragment, if there is one that may be run; whether there was.
    pub fn work(&mut self, ports: &mut impl Outside<S::Single, S::Multi>) -> bool {
        match self {
            Self::Queues(own) => own.work(ports),
            Self::Locks(own) => own.work(ports),
        }
    }

    /// The time has come that it asked for.
    pub fn wake(&mut self, ports: &mut impl Outside<S::Single, S::Multi>) {
        match self {
            Self::Queues(_) => {} // they ask for none
            Self::Locks(own) => own.wake(ports),
        }
    }
}
