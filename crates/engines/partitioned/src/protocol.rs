//! The protocol of partitions that are owned: what their owners, the coordinators and the homes of
//! calls tell each other.
//!
//! Role         two state machines, [`partition`] and [`coordinator`], which know no thread and no
//!              record: a [`Store`] runs calls on a partition's data, a [`Steering`] goes on with a
//!              call between rounds and gives it its place in the log
//!
//! ```text
//!   a call of one partition     home ──Single──▶ partition ──SingleEnded──▶ home
//!
//!   a call of several           home ──Begin──▶ coordinator ──MultiEnded──▶ home
//!                                       Fragment │  ▲        │ End
//!                                                ▼  │ Report ▼
//!                                            all its partitions
//! ```
//!
//! Invariants   I1 a coordinator sends the first fragments of its calls to all their partitions in
//!              one order, and a partition runs them in the order in which they come: so any two
//!              calls of several partitions have one order wherever they meet
//!              I2 every partition of a call gets a fragment in the first round, if only an empty
//!              one: it keeps the call's place in that order
//!              I3 a call is ended when all its partitions have reported from its last round, none
//!              of them has failed, and none of the reports follows a call that has not ended
//! Source       partitioned.txt 3.2 to 4.2

pub mod coordinator;
pub mod locking;
pub mod observed;
pub mod owner;
pub mod partition;
#[cfg(test)]
mod tests;

use hotrow_flow::node::{Address, Ports};
use hotrow_log::position::Position;

/// A call of several partitions, in its coordinator's order.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct CallId {
    /// the coordinator
    pub coordinator: u16,
    /// its place among those of the coordinator
    pub number: u64,
}

/// A call of one partition.
pub trait SingleCall {
    /// To whom its end is told.
    fn home(&self) -> Address;
}

/// A call of several partitions, shared by all who work on it. Each partition has a clone until its
/// part of the call has ended: changes are final, or gone. So who has the only one that is left
/// knows that nobody works on it.
pub trait MultiCall: Clone {
    /// To whom its end is told.
    fn home(&self) -> Address;

    /// How many partitions it has.
    fn participants(&self) -> usize;

    /// A partition of its, and the last round in which there is something to do there.
    fn participant(&self, at: usize) -> (u16, u32);

    /// Whether its partitions stand still until it has ended, since the one with the most rounds
    /// works with the data of all: nobody runs behind it anywhere, however few rounds it has there,
    /// and that one ends first.
    fn stands_still(&self) -> bool {
        false
    }
}

/// A partition's data, and how calls run on it.
pub trait Store {
    /// a call of this partition alone
    type Single: SingleCall;
    /// a call of several
    type Multi: MultiCall;
    /// what undoes what a call has changed here
    type Part;

    /// Begins the part of a call.
    fn begin(&mut self) -> Self::Part;

    /// Runs a call of this partition from its beginning. If it fails, the call knows why.
    fn run_single(&mut self, call: &mut Self::Single, part: &mut Self::Part) -> Vote;

    /// Runs what a call has to do here in a round. If it fails, the call knows why.
    fn run_fragment(&mut self, call: &Self::Multi, round: u32, part: &mut Self::Part) -> Vote;

    /// Gives a call of this partition the place right behind `met`, and makes its entry in the log;
    /// none if the log takes no more entries: the call has failed then.
    fn commit_single(
        &mut self,
        call: &mut Self::Single,
        part: &Self::Part,
        met: Position,
    ) -> Option<Position>;

    /// The epoch of the log that does not end before a call that has run gets its place; 0: it has
    /// changed nothing, or there is no log.
    fn epoch_of(&self, _part: &Self::Part) -> u64 {
        0
    }

    /// Makes changes final, frees what was removed, and ends the part.
    fn commit(&mut self, part: Self::Part);

    /// Takes all changes back, and ends the part.
    fn undo(&mut self, part: Self::Part);

    /// The part of a call that would commit; that of one that would not is undone.
    fn keep(&mut self, part: Self::Part, vote: Vote) -> Option<Self::Part> {
        match vote {
            Vote::Commit => Some(part),
            Vote::Abort | Vote::Again => {
                self.undo(part);
                None
            }
        }
    }
}

/// What a coordinator does for calls, apart from ordering them.
pub trait Steering {
    /// a call of several partitions
    type Multi: MultiCall;

    /// Runs the call's own code behind a round whose results are all there.
    fn steer(&mut self, call: &Self::Multi, round: u32) -> Vote;

    /// Gives a call its place, behind `met`, and makes its entry in the log; none if the log takes
    /// no more entries, and the call must be undone.
    fn commit(&mut self, call: &Self::Multi, met: Position) -> Option<Position>;
}

/// Whether a part of a call would commit.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Vote {
    /// it would
    Commit,
    /// it has failed
    Abort,
    /// it is to run again. At a partition: it met what a call that is undecided has removed, and
    /// would bring it back; never said where nobody is undecided. To a coordinator: it waited for
    /// others that wait for it
    Again,
}

/// How a call has ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Outcome {
    /// it stands there
    Committed(Position),
    /// nothing of it remains
    Undone,
}

/// What a call has to do at one partition in one round.
#[derive(Clone, Debug)]
pub struct Fragment<M> {
    /// its place in the order
    pub id: CallId,
    /// the call
    pub call: M,
    /// how often the call was begun before
    pub attempt: u32,
    /// the round, from 0
    pub round: u32,
    /// it is the last one at this partition
    pub is_last: bool,
}

/// What a partition tells of a fragment that it has run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Report {
    /// of which call
    pub id: CallId,
    /// from which partition
    pub partition: u16,
    /// of which round
    pub round: u32,
    /// how it went
    pub vote: Vote,
    /// how many calls the partition had undone for the coordinator by then: the attempt that this
    /// is of. If that was one too few, it is stale, and another one comes. [`Report::STANDS`]:
    /// undoing other calls does not take it back
    pub undone: u64,
    /// the greatest position of a call that it follows here and that had committed by then
    pub met: Position,
    /// the call that it follows here and that had not ended by then
    pub follows: Option<Followed>,
}

impl Report {
    /// Of a partition where nobody runs behind what is undecided.
    pub const STANDS: u64 = u64::MAX;

    /// What it follows has committed, at `last` or before: it follows nobody any more, and stands
    /// behind the calls of one partition that come between the two.
    fn follow_committed(&mut self, last: Position) {
        if let Some(followed) = self.follows.take() {
            let before = if followed.epoch > last.epoch { 0 } else { last.time };
            let (epoch, time) = (followed.epoch.max(last.epoch), before + followed.between);
            self.met = Position { epoch, time }.max(self.met);
        }
    }
}

/// A call that was followed before it ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Followed {
    /// which
    pub id: CallId,
    /// calls of one partition that stand between it and who follows it
    pub between: u64,
    /// the greatest of the epochs that these have begun in; 0: none
    pub epoch: u64,
}

/// All that nodes tell each other.
pub enum Message<S, M> {
    /// home to partition: run this
    Single(S),
    /// partition to home: it has ended
    SingleEnded(S),
    /// home to coordinator: see to this
    Begin(M),
    /// coordinator to home: it has ended
    MultiEnded(M, Outcome),
    /// coordinator to partition: run this
    Fragment(Fragment<M>),
    /// partition to coordinator: it has run
    Report(Report),
    /// coordinator to partition: a call has ended
    End(CallId, Outcome),
    /// coordinator to partition: so has a call for which others stand still; they are told when
    /// this partition has made its changes final, or taken them back. Which it answers here
    EndFirst(CallId, Outcome, Address),
    /// partition to coordinator: it has
    EndedFirst(CallId),
    /// coordinator to partition, where there are several coordinators: its batch ends here, and the
    /// next coordinator's turn has come
    BatchEnd(u16),
}

/// The ports of a node of this protocol.
pub trait Outside<S, M>: Ports<Message<S, M>, Section> {}

impl<S, M, P: Ports<Message<S, M>, Section>> Outside<S, M> for P {}

/// What a partition has to run.
enum Work<S: Store> {
    /// a call of its own
    Single(S::Single),
    /// its part of a call of several
    Multi(Fragment<S::Multi>),
}

impl<S: Store> Work<S> {
    /// Which call of several partitions it is of.
    fn id(&self) -> Option<CallId> {
        match self {
            Self::Single(_) => None,
            Self::Multi(fragment) => Some(fragment.id),
        }
    }
}

/// What takes time in this protocol.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Section {
    /// a call of one partition, run where nothing is undecided
    Single,
    /// one run behind a call that is undecided
    SpeculativeSingle,
    /// a fragment
    Fragment,
    /// hearing at a partition how a call has ended
    End,
    /// a message at a coordinator
    Coordinate,
    /// undoing what a call did at a partition
    Undo,
    /// a call of one partition, run with locks
    LockedSingle,
    /// a fragment, run with locks
    LockedFragment,
    /// hearing how a call has ended, and letting go of its locks
    LockedEnd,
}

/// How a partition goes on while a call of several partitions is undecided.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum Speculation {
    /// not at all: everything else waits (partitioned.txt 4.1)
    Blocking,
    /// it runs calls behind it, and keeps their results to itself (4.2.1)
    Local,
    /// as that; calls of several partitions are reported, with whom they follow (4.2.2)
    #[default]
    Multi,
}
