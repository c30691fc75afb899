//! The protocol by which a call flows to the threads that have its data.
//!
//! Role         a state machine, the [`hall`], where the [`dataset`]s of one thread and their
//!              executors are; it knows no thread and no record: a [`Store`] runs what a call has
//!              to do in a hall
//!
//! ```text
//!   home ─Ask─▶ hall of its first dataset ─Ask─▶ next hall ─Ask─▶ last hall
//!                │ locks held: run round 0        │               │
//!                └───────────────── rendezvous ───┴───────────────┘
//!                     the last one: ─Run round 1─▶ halls ... rendezvous ...
//!                     the last one: commits ─End─▶ all its halls, which let go of its locks
//!                                           ─Ended─▶ home
//! ```
//!
//! Invariants   I1 a call visits halls in ascending order, and the datasets of each in ascending
//!              order, and goes on when it holds what it asked for: so nobody waits in a circle
//!              I2 a round begins when all of the round before have met. So when the first one has,
//!              the call holds all its locks
//!              I3 locks are held until the call is committed or undone
//! Source       dora.txt 4.1.2 and 4.1.3. We differ: a call's locks are known from its plan, and
//!              are all asked for with the first phase; and a request is handed from executor to
//!              executor in place of latching several queues at once (4.2.3)

pub mod dataset;
pub mod hall;

#[cfg(test)]
mod tests;

use std::ops::Range;
use std::sync::atomic::{AtomicU16, AtomicU32, Ordering};

use hotrow_base::sync::rendezvous::{Parcel, Share, Shares};
use hotrow_flow::node::{Address, Ports};
use hotrow_log::position::Position;
use hotrow_transaction::granule::LockRequest;

/// A call on its way, in the hands of one, or shared by several.
pub struct Flow<B> {
    /// to whom its end is told
    pub home: Address,
    /// what it locks, dataset by dataset
    pub locks: Vec<LockRequest>,
    /// hall by hall, in ascending order (I1)
    pub visits: Vec<Visit>,
    /// the halls that these are in, each once; its *doers* are numbered as they stand here
    pub halls: Vec<Address>,
    /// its halls run the first round one after the other: whoever fails has nobody behind him run
    /// anything in vain (4.2.4, DORA-S)
    pub is_sequential: bool,
    /// how many of its halls have locked what it locks there
    reached: AtomicU16,
    /// how it has ended: set by who decides it, alone
    pub outcome: Outcome,
    /// what its store knows of it
    pub body: B,
}

impl<B> Flow<B> {
    /// One that has nothing to do yet.
    pub fn new(home: Address, body: B) -> Self {
        let (locks, visits, halls) = (Vec::new(), Vec::new(), Vec::new());
        let (is_sequential, reached, outcome) = (false, AtomicU16::new(0), Outcome::Undone);
        Self { home, locks, visits, halls, is_sequential, reached, outcome, body }
    }

    /// Notes that a doer, behind all before him, has locked what is locked in his hall.
    fn reach(&self, doer: usize) {
        // Messages order it: the next doer's is sent behind it, and all finish behind their own.
        self.reached.store(doer as u16 + 1, Ordering::Relaxed);
    }

    /// The halls that have locked something.
    pub fn reached(&self) -> &[Address] {
        &self.halls[..self.reached.load(Ordering::Relaxed).into()] // as above
    }

    /// What is locked in a dataset.
    fn locks_of(&self, visit: usize) -> &[LockRequest] {
        let Range { start, end } = self.visits[visit].locks;
        &self.locks[start as usize..end as usize]
    }

    /// The number of a hall among the doers.
    pub fn doer(&self, hall: Address) -> usize {
        self.halls.iter().position(|&own| own == hall).expect("it is asked where it has data")
    }
}

/// What a call locks of a dataset.
#[derive(Debug)]
pub struct Visit {
    /// the dataset
    pub dataset: u16,
    /// where it is
    pub hall: Address,
    /// it is to have all of it to itself
    pub whole: bool,
    /// which of the call's locks
    pub locks: Range<u32>,
    /// what these are called there, when it holds them
    grant: AtomicU32,
}

impl Visit {
    /// One that is to come.
    pub fn new(dataset: u16, hall: Address, whole: bool, locks: Range<u32>) -> Self {
        Self { dataset, hall, whole, locks, grant: AtomicU32::new(0) }
    }

    fn grant(&self) -> u32 {
        self.grant.load(Ordering::Relaxed) // only the dataset's hall reads and writes it
    }

    fn set_grant(&self, grant: u32) {
        self.grant.store(grant, Ordering::Relaxed); // as above
    }
}

/// How a call has ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Outcome {
    /// it stands there
    Committed(Position),
    /// nothing of it remains
    Undone,
}

/// The data of a hall, and how calls run on it.
pub trait Store {
    /// what it knows of a call
    type Body;

    /// Whether a doer has something to do in a round behind the first.
    fn has_round(&self, flow: &Flow<Self::Body>, doer: usize, round: u32) -> bool;

    /// The last round.
    fn last_round(&self, flow: &Flow<Self::Body>) -> u32;

    /// A call has waited for a lock here, so many nanoseconds.
    fn note_wait(&mut self, flow: &Flow<Self::Body>, lock: u64, nanos: u64);

    /// A doer holds all that it locks here, and follows everybody up to `met`.
    fn meet(&mut self, flow: &Flow<Self::Body>, doer: usize, met: Position);

    /// Runs what a doer has to do in a round. If it fails, the call knows why.
    fn run(&mut self, flow: &Flow<Self::Body>, doer: usize, round: u32);

    /// Whether something that has been run has failed, as far as is known here.
    fn has_failed(&self, flow: &Flow<Self::Body>) -> bool;

    /// Runs what is left to do behind a round of which all have met, at the doer that was the last;
    /// whether the call stands so far.
    fn run_behind(&mut self, flow: &Flow<Self::Body>, doer: usize, round: u32) -> bool;

    /// Gives the call its place behind all it follows, and makes its entry in the log; none if it
    /// has to be undone.
    fn commit(&mut self, flow: &Flow<Self::Body>) -> Option<Position>;

    /// Makes a doer's changes final, or takes them back, as the outcome says.
    fn end(&mut self, flow: &Flow<Self::Body>, doer: usize);
}

/// All that nodes tell each other.
pub enum Message<B> {
    /// to a hall: lock from this dataset on, and run the first round. Shares for it and for the
    /// halls behind it
    Ask(Shares<Flow<B>>, u32),
    /// to a hall: run this round
    Run(Share<Flow<B>>, u32),
    /// to a hall: it has ended
    End(Share<Flow<B>>),
    /// to a home: it has ended
    Ended(Share<Flow<B>>),
    /// to a home: so have all who worked on it
    Back(Parcel<Flow<B>>),
}

/// The ports of a node of this protocol.
pub trait Outside<B>: Ports<Message<B>, Section> {}

impl<B, P: Ports<Message<B>, Section>> Outside<B> for P {}

/// What takes time in this protocol.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Section {
    /// asking for the locks in a dataset
    Lock,
    /// a round in a hall
    Run,
    /// what is done where all have met
    Meet,
    /// hearing how a call has ended
    End,
}
