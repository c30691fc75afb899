//! The protocol by which a call flows to the threads that have its data.
//!
//! Role         a state machine, the [`hall`], where the [`Dataset`]s of one thread and their
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
//! Invariants   I1 where requests are forwarded, a call visits halls in ascending order, and the
//!              datasets of each in ascending order, and goes on when it holds what it asked for;
//!              where they are latched, all that it asks for in a round enters all queues at one
//!              moment. So while it asks in one round only, and datasets stay where they are,
//!              nobody waits in a circle; else halls report who waits, and the youngest of a circle
//!              gives way
//!              I2 a round begins when all of the round before have met. So when the last one that
//!              locks something has, the call holds all its locks
//!              I3 locks are held until the call is committed or undone
//!              I4 what a call locks of a dataset lies in the dataset, wherever that is; what it
//!              runs, it runs in the hall where the dataset was when the call was planned
//! Source       dora.txt 4.1.2, 4.1.3 and 4.2.3. We differ: a call's locks are known from its plan,
//!              so that all may be asked for with the first phase; and a request may be handed from
//!              executor to executor in place of latching several queues at once

pub mod hall;

#[cfg(test)]
mod tests;

use hotrow_base::sync::facade::atomic::{AtomicBool, AtomicU32, Ordering};
use std::ops::Range;

use hotrow_base::pool::NONE;
use hotrow_base::sync::rendezvous::{Parcel, Share, Shares};
use hotrow_flow::deadlock::reports::{Attempt, Wait};
use hotrow_flow::lock_space::whole::WholeSpace;
use hotrow_flow::node::{Address, Ports};
use hotrow_log::position::Position;
use hotrow_transaction::granule::LockRequest;

use self::hall::Asker;

/// What is locked of a dataset, and by whom.
pub type Dataset<B> = WholeSpace<Asker<B>>;

/// How what a call locks in a round is asked for.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum Enqueue {
    /// hall by hall, dataset by dataset: each when all before are held
    #[default]
    Forwarded,
    /// everywhere at one moment, as the paper latches all queues
    Latched,
}

/// A call on its way, in the hands of one, or shared by several.
pub struct Flow<B> {
    /// to whom its end is told
    pub home: Address,
    /// of a call, which keeps its age when it gives way
    pub attempt: Attempt,
    /// how it asks for locks
    pub enqueue: Enqueue,
    /// what it locks, dataset by dataset
    pub locks: Vec<LockRequest>,
    /// round by round, and hall by hall in each, in ascending order (I1)
    pub visits: Vec<Visit>,
    /// the halls that it is in, each once, ascending; its *doers* are numbered as they stand here
    pub halls: Vec<Address>,
    /// its halls run each round one after the other: whoever fails has nobody behind him run
    /// anything in vain (4.2.4, DORA-S)
    pub is_sequential: bool,
    /// then the doer that runs the first round before those in front of it, which have asked for
    /// their locks before: the one whose actions fail most often
    pub leader: usize,
    /// by doer
    doers: Vec<Doer>,
    /// it is in a circle of waiting
    gives_way: AtomicBool,
    /// how it has ended: set by who decides it, alone
    pub outcome: Outcome,
    /// what its store knows of it
    pub body: B,
}

/// What a hall knows of its part of a call. Messages order what others see of it.
#[derive(Default)]
struct Doer {
    /// datasets of the round in which it has not all it wants yet
    missing: AtomicU32,
    /// it has asked for something, or run something
    is_reached: AtomicBool,
}

impl Doer {
    fn reach(&self) {
        self.is_reached.store(true, Ordering::Relaxed); // see the struct
    }

    fn is_reached(&self) -> bool {
        self.is_reached.load(Ordering::Relaxed)
    }

    /// It asks in so many datasets at once.
    fn expect(&self, datasets: u32) {
        self.missing.store(datasets, Ordering::Relaxed); // only its hall reads and writes it
    }

    /// It has what it wants in one of them; in how many it has not.
    fn note_held(&self) -> u32 {
        let missing = self.missing.load(Ordering::Relaxed) - 1; // as above
        self.missing.store(missing, Ordering::Relaxed);
        missing
    }
}

impl<B> Flow<B> {
    /// One that has nothing to do yet.
    pub fn new(home: Address, body: B) -> Self {
        Self {
            home,
            attempt: Attempt::default(),
            enqueue: Enqueue::Forwarded,
            locks: Vec::new(),
            visits: Vec::new(),
            halls: Vec::new(),
            is_sequential: false,
            leader: 0,
            doers: Vec::new(),
            gives_way: AtomicBool::new(false),
            outcome: Outcome::Undone,
            body,
        }
    }

    /// Makes ready to be sent off, when it is known what it locks.
    pub fn begin(&mut self) {
        self.doers.clear();
        self.doers.resize_with(self.halls.len(), Doer::default);
        *self.gives_way.get_mut() = false;
        self.visits.iter_mut().for_each(|visit| *visit.grant.get_mut() = NOT_HELD);
    }

    /// Whether a hall has asked for something, or run something.
    pub fn has_reached(&self, hall: Address) -> bool {
        self.doers[self.doer(hall)].is_reached()
    }

    /// The halls of which that is so.
    pub fn reached(&self) -> impl Iterator<Item = Address> {
        self.halls.iter().copied().filter(|&hall| self.has_reached(hall))
    }

    /// Whether it is told to give way.
    pub fn gives_way(&self) -> bool {
        self.gives_way.load(Ordering::Relaxed) // a hint, until all have met: see `Parcel`
    }

    /// Has it give way.
    fn give_way(&self) {
        self.gives_way.store(true, Ordering::Relaxed); // as above
    }

    /// What is locked in a dataset.
    fn locks_of(&self, visit: usize) -> &[LockRequest] {
        let Range { start, end } = self.visits[visit].locks;
        &self.locks[start as usize..end as usize]
    }

    /// The visits of a round, by number.
    fn visits_in(&self, round: u32) -> Range<usize> {
        let start = self.visits.partition_point(|visit| visit.round < round);
        let end = self.visits.partition_point(|visit| visit.round <= round);
        start..end
    }

    /// The number of a hall among the doers.
    pub fn doer(&self, hall: Address) -> usize {
        self.halls.iter().position(|&own| own == hall).expect("it is asked where it has data")
    }

    /// How its requests of a round are asked for: those of halls that run one after the other are
    /// handed on.
    fn enqueues(&self) -> Enqueue {
        if self.is_sequential { Enqueue::Forwarded } else { self.enqueue }
    }

    /// Whether a doer that holds its locks of a round lets the leader run before it does.
    fn yields(&self, doer: usize, round: u32) -> bool {
        self.is_sequential && round == 0 && doer < self.leader
    }

    /// The next of those who have yielded, from a doer on.
    fn next_to_yield(&self, from: usize) -> Option<usize> {
        let asks = |hall| self.visits[self.visits_in(0)].iter().any(|visit| visit.hall == hall);
        (from..self.halls.len()).find(|&doer| self.yields(doer, 0) && asks(self.halls[doer]))
    }

    /// Lists whom a round begins with, and how; how many shares that takes. `runs` tells whether a
    /// doer has something to run in it.
    pub fn list_starts(
        &self,
        round: u32,
        runs: impl Fn(usize) -> bool,
        starts: &mut Vec<Start>,
    ) -> usize {
        starts.clear();
        let visits = self.visits_in(round);
        let all = &self.visits[visits.clone()];
        let mut shares = 0;
        for (doer, &hall) in self.halls.iter().enumerate() {
            let asks = all.iter().filter(|visit| visit.hall == hall).count();
            match (asks, self.enqueues()) {
                (0, _) if runs(doer) => {
                    shares += 1;
                    starts.push(Start { hall, shares: 1, how: How::Run });
                }
                (0, _) => {}
                (_, Enqueue::Latched) => {
                    shares += asks;
                    starts.push(Start { hall, shares: asks, how: How::Lock });
                }
                (_, Enqueue::Forwarded) => shares += 1,
            }
        }
        if let Some(first) = all.first().filter(|_| self.enqueues() == Enqueue::Forwarded) {
            let asks = |doer: &usize| all.iter().any(|visit| visit.hall == self.halls[*doer]);
            let asking = (0..self.halls.len()).filter(asks);
            // Who yields has one share to ask with and one to run with.
            let yielding = asking.clone().filter(|&doer| self.yields(doer, round)).count();
            shares += yielding;
            let how = How::Ask(visits.start as u32);
            starts.push(Start { hall: first.hall, shares: asking.count() + yielding, how });
        }
        shares
    }
}

/// Where a round begins; see [`Flow::list_starts`].
pub struct Start {
    hall: Address,
    shares: usize,
    how: How,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum How {
    Ask(u32),
    Lock,
    Run,
}

/// Has a round begin as it was listed; `group` is memory.
pub fn send_starts<B>(
    mut shares: Shares<Flow<B>>,
    round: u32,
    starts: &mut Vec<Start>,
    group: &mut Vec<(Address, Message<B>)>,
    ports: &mut impl Outside<B>,
) {
    for Start { hall, shares: count, how } in starts.drain(..) {
        let mut own = shares.take_off(count);
        match how {
            How::Ask(visit) => ports.send(hall, Message::Ask(own, visit)),
            How::Lock => group.push((hall, Message::Lock(own, round))),
            How::Run => {
                let share = own.next().expect("there is one for each");
                ports.send(hall, Message::Run(share, round));
            }
        }
    }
    match group.len() {
        0 => {}
        1 => group.drain(..).for_each(|(hall, message)| ports.send(hall, message)),
        _ => ports.send_together(group),
    }
}

/// What a call locks of a dataset.
#[derive(Debug)]
pub struct Visit {
    /// in which round
    pub round: u32,
    /// the dataset
    pub dataset: u16,
    /// where it was when the call was planned (I4)
    pub hall: Address,
    /// it is to have all of it to itself
    pub whole: bool,
    /// which of the call's locks
    pub locks: Range<u32>,
    /// what these are called there, when it holds them or waits for them
    grant: AtomicU32,
}

/// In place of a grant, beside [`WHOLE`](hotrow_flow::lock_space::whole::WHOLE): it holds nothing;
/// or it has run without entering any queue, since nobody was there.
const NOT_HELD: u32 = NONE;
const PASSED: u32 = NONE - 2;

impl Visit {
    /// One that is to come.
    pub fn new(
        (round, hall, dataset): (u32, Address, u16),
        whole: bool,
        locks: Range<u32>,
    ) -> Self {
        Self { round, dataset, hall, whole, locks, grant: AtomicU32::new(NOT_HELD) }
    }

    fn grant(&self) -> u32 {
        self.grant.load(Ordering::Relaxed) // only where the dataset is it is read and written
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
    /// nor of this one, which was in a circle of waiting, and comes again
    GaveWay,
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

    /// A doer holds what it has asked for, and follows everybody up to `met`.
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

    /// The hall in which a dataset is before it is moved.
    fn first_hall(&self, dataset: u16) -> Address;

    /// A dataset has moved from here to another hall: calls that are planned from now on go there.
    fn note_move(&mut self, dataset: u16, to: Address);
}

/// All that nodes tell each other.
pub enum Message<B> {
    /// to a hall: lock from this dataset on, one after the other, and run the round. Shares for it
    /// and for the halls behind it
    Ask(Shares<Flow<B>>, u32),
    /// to a hall: lock in all datasets of this round that are there, each with a share, and run the
    /// round when all of that is held
    Lock(Shares<Flow<B>>, u32),
    /// to a hall that has yielded: run the first round, then have the next one that has. Shares for
    /// it and for those
    Turn(Shares<Flow<B>>),
    /// to a hall: run this round
    Run(Share<Flow<B>>, u32),
    /// to a hall: it has ended
    End(Share<Flow<B>>),
    /// to a home: it has ended
    Ended(Share<Flow<B>>),
    /// to a home: so have all who worked on it
    Back(Parcel<Flow<B>>),
    /// to a hall that has a dataset by now: ask for what this one locks of it
    Visit(Box<Asker<B>>),
    /// to the hall that runs it: this one holds it, or gives way
    Visited(Box<Asker<B>>),
    /// to a hall that has a dataset by now: this visit has ended
    Leave(Share<Flow<B>>, u32),
    /// to the hall that looks for circles: who waits for whom in a hall
    Waits(Address, Vec<Wait>),
    /// to a hall: its report has been looked at, for so many nanoseconds, so that it may send
    /// another one. Else reports would pile up before a detector that takes longer to look than
    /// halls take to report
    Looked(u64),
    /// to a hall: this one is in a circle
    GiveWay(Attempt),
    /// to a hall: of the layout with this number, move a dataset to another hall
    Yield(u64, u16, Address),
    /// to a hall: it has this dataset from now on, with all who have locked something in it
    Move(u64, u16, Box<Dataset<B>>),
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
