//! What a lock thread keeps locks in: a space of its own, or spaces that all lock threads share.
//!
//! Role         the two forms of the paper. Of its own: nobody else touches it, and requests are
//!              handed on to the owners of other granules. Shared: any lock thread visits all
//!              spaces for a request, each under its latch for as long as it takes to enter or
//!              leave a few queues; who lets a request go on by a release visits the rest for it
//! Invariants   I1 no latch of a shared space is held while a message is sent, nor while another is
//!              taken
//! Source       orthrus.txt 3.1 and 3.4

use std::sync::Arc;

use crossbeam_utils::CachePadded;
use hotrow_base::sync::Latch;
use hotrow_flow::lock_space::LockSpace;
use hotrow_log::position::Position;

use crate::request::{Parcel, Request};

/// Buckets of a space that a lock thread has to itself.
const OWN_BUCKETS: usize = 1 << 12;
/// Locks of such a space at a time: those of some tens of calls.
const OWN_USUAL: usize = 1 << 10;
/// Spaces that lock threads share: requests of a few locks seldom meet in one.
pub const SHARED_SPACES: u16 = 64;
/// Buckets of each of these.
const SHARED_BUCKETS: usize = 1 << 8;
/// Locks of one of these at a time.
const SHARED_USUAL: usize = 1 << 6;

/// Spaces that lock threads share.
pub type SharedSpaces = Arc<[CachePadded<Latch<LockSpace<Parcel>>>]>;

/// The locks of one lock thread, or its way to those that all share.
pub enum LockTable {
    /// a space of its own
    Own(LockSpace<Parcel>),
    /// spaces that it shares, and how often requests had to wait when it asked for them
    Shared(SharedSpaces, u64),
}

/// A lock thread's table in a division. The thread holds its latch for each turn, a caller that
/// runs a call of its own ([`crate::on_caller`]) while it does.
pub struct OpenTable {
    /// the table
    pub table: LockTable,
    /// the division has not ended
    pub is_open: bool,
}

impl LockTable {
    /// One of its own.
    pub fn own() -> Self {
        Self::Own(LockSpace::new(OWN_BUCKETS, OWN_USUAL))
    }

    /// What lock threads share.
    pub fn spaces() -> SharedSpaces {
        let space = |_| CachePadded::new(Latch::new(LockSpace::new(SHARED_BUCKETS, SHARED_USUAL)));
        (0..SHARED_SPACES).map(space).collect()
    }

    /// Takes up a request for the locks of its next hop; gives it back when they are all held at
    /// once, else keeps it until they are.
    pub fn ask(&mut self, parcel: Parcel) -> Option<Parcel> {
        match self {
            Self::Own(space) => space.ask(parcel).ok(),
            Self::Shared(spaces, waits) => {
                let space = parcel.request.next().expect("it has a hop to go");
                let mut space = spaces[usize::from(space)].lock();
                let held = space.ask(parcel).ok();
                *waits += space.take_waits();
                held
            }
        }
    }

    /// Frees the locks of a hop. Requests that hold all they asked for there from now on are added
    /// to `granted`.
    pub fn release(
        &mut self,
        space: u16,
        grant: u32,
        position: Position,
        granted: &mut Vec<Parcel>,
    ) {
        match self {
            Self::Own(own) => own.release(grant, position, granted),
            Self::Shared(spaces, _) => {
                spaces[usize::from(space)].lock().release(grant, position, granted);
            }
        }
    }

    /// Whether nobody is in the way of a hop of a request; it has met those who were. See
    /// [`LockSpace::pass`]; never where spaces are shared.
    pub fn pass(&self, request: &mut Request, hop: usize) -> bool {
        let Self::Own(space) = self else { return false };
        let Some(met) = space.pass(request.of_hop(hop)) else { return false };
        request.met = met.max(request.met);
        true
    }

    /// See [`LockSpace::leave`].
    pub fn leave(&mut self, request: &Request, hop: usize, position: Position) {
        match self {
            Self::Own(space) => space.leave(request.of_hop(hop), position),
            Self::Shared(..) => unreachable!("requests do not pass where spaces are shared"),
        }
    }

    /// Whether the lock thread visits all spaces for a request.
    pub fn is_shared(&self) -> bool {
        matches!(self, Self::Shared(..))
    }

    /// Requests for locks that had to wait since this was asked last.
    pub fn take_waits(&mut self) -> u64 {
        match self {
            Self::Own(space) => space.take_waits(),
            Self::Shared(_, waits) => std::mem::take(waits),
        }
    }

    /// Whether nobody holds or waits for anything in a space of its own; others may still be at
    /// work in those that are shared.
    pub fn is_empty(&self) -> bool {
        match self {
            Self::Own(space) => space.is_empty(),
            Self::Shared(..) => true,
        }
    }
}
