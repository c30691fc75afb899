//! A partition's owner under whichever scheme, as its host sees it: threads, or virtual time.
//!
//! Invariants   I1 where others stand still for a call, they are told of its end when its changes
//!              here are final, or taken back, and no earlier

use super::locking::{self, LockingPartition, LockingStore};
use super::observed::Observed;
use super::partition::{self, Partition};
use super::{Message, Outside};
use hotrow_flow::node::Address;

/// How an owner works.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Settings {
    /// in the order in which calls come
    Queues(partition::Settings),
    /// with locks
    Locks(locking::Settings),
}

/// See the module.
pub enum Owner<S: LockingStore> {
    /// it queues
    Queues(Box<Partition<S>>),
    /// it locks
    Locks(Box<LockingPartition<S>>),
}

impl<S: LockingStore> Owner<S> {
    /// The owner of partition `number`, for coordinators at these addresses.
    pub fn new(number: u16, settings: Settings, coordinators: Vec<Address>, store: S) -> Self {
        match settings {
            Settings::Queues(settings) => {
                Self::Queues(Box::new(Partition::new(number, settings, coordinators, store)))
            }
            Settings::Locks(settings) => {
                Self::Locks(Box::new(LockingPartition::new(number, settings, coordinators, store)))
            }
        }
    }

    /// Has it work otherwise from now on; no call is here.
    pub fn change(self, number: u16, settings: Settings, coordinators: Vec<Address>) -> Self {
        let (store, tag, observed) = match self {
            Self::Queues(own) => own.into_store(),
            Self::Locks(own) => own.into_store(),
        };
        match Self::new(number, settings, coordinators, store) {
            Self::Queues(own) => Self::Queues(Box::new(own.behind(tag, observed))),
            Self::Locks(own) => Self::Locks(Box::new(own.behind(tag, observed))),
        }
    }

    /// What it has seen.
    pub fn observed(&self) -> &Observed {
        match self {
            Self::Queues(own) => own.observed(),
            Self::Locks(own) => own.observed(),
        }
    }

    /// The data, to tell it of another schema.
    pub fn store_mut(&mut self) -> &mut S {
        match self {
            Self::Queues(own) => own.store_mut(),
            Self::Locks(own) => own.store_mut(),
        }
    }

    /// The data.
    pub fn store(&self) -> &S {
        match self {
            Self::Queues(own) => own.store(),
            Self::Locks(own) => own.store(),
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
