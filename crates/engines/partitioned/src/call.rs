//! Calls on their way between homes, owners and coordinators.
//!
//! Role         a call of one partition is a parcel that goes to its owner and back; one of several
//!              is shared by all who work on it, each of whom leaves what it has done in a place of
//!              his own
//! Concurrency  a [`Shared`] is filled by its home, alone, then read by all; an [`Outcome`] has one
//!              writer at a time: its partition's owner, or, the last one, the coordinator; home
//!              reads all when it is told the end. Messages order all of that, so that no latch is
//!              waited for. When the home has it alone again, nobody works on it any more

use std::sync::Arc;

use hotrow_base::pool::NONE;
use hotrow_base::sync::Latch;
use hotrow_engine::worker::Call;
use hotrow_flow::cells::Cells;
use hotrow_flow::node::Address;
use hotrow_transaction::actions::{ActionProgram, Batch, CallRun};
use hotrow_transaction::compiled::CompiledProcedure;
use hotrow_transaction::frame::{Frame, RowStore, StoredRows};
use hotrow_transaction::invocation::Invocation;
use hotrow_transaction::outcome::{SqlError, Stop};
use hotrow_transaction::plan::Plan;
use hotrow_transaction::routing::PartitionSet;

use crate::protocol::{MultiCall, SingleCall};
use crate::schedule::Schedule;
use crate::world::World;

/// How a call that runs as a whole is kept inside what it may touch.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum Bounds {
    /// it cannot leave its partitions: its parameters tell, or it has all there are
    #[default]
    None,
    /// it was planned: outside of its plan's footprint the plan was wrong
    Footprint,
}

/// A call of one partition.
pub struct Single {
    /// the call; if it is bounded, with its plan
    pub call: Call,
    /// to whom its end is told
    pub home: Address,
    /// how it is kept inside
    pub bounds: Bounds,
    /// how it ended
    pub ended: Result<(), Stop>,
}

/// A call of one partition, as it goes from thread to thread.
pub type Parcel = Box<Single>;

impl SingleCall for Parcel {
    fn home(&self) -> Address {
        self.home
    }
}

/// How a call of several partitions is run.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum How {
    /// as actions, each by the owner of its granules
    #[default]
    InParts,
    /// as a whole by the first of its partitions' owners, while all others stand still
    AsWhole(Bounds),
}

/// A call of several partitions, as all see it.
#[derive(Default)]
pub struct Shared {
    /// to whom its end is told
    pub home: Address,
    /// its place there
    pub slot: usize,
    /// how it is run
    pub how: How,
    /// what was called
    pub invocation: Invocation,
    /// the procedure
    pub procedure: Option<Arc<CompiledProcedure>>,
    /// the schema it was planned under
    pub world: Option<Arc<World>>,
    /// in parts: the call as a batch of one
    pub batch: Batch,
    /// in parts: who does what when
    pub schedule: Schedule,
    /// as a whole: the footprint
    pub plan: Plan,
    /// what parts hand to each other
    pub cells: Cells,
    /// its partitions, ascending, each with the last round in which there is something to do there
    pub participants: Vec<(u16, u32)>,
    /// by participant; the last one is the coordinator's
    pub outcomes: Vec<Latch<Outcome>>,
}

/// What somebody who works on a call has done.
#[derive(Default)]
pub struct Outcome {
    /// the hash of what was changed, if something was
    pub changed: Option<u64>,
    /// the changes for a log of values
    pub values: Vec<u8>,
    /// rows that are returned, and what was said
    pub rows: RowStore,
    /// where they lie, by instance
    pub returned: Vec<(u32, StoredRows)>,
    /// as a whole: how many rows its last statement touched
    pub touched: i64,
    /// what failed first in the procedure
    pub fault: Option<Fault>,
}

/// A failure.
#[derive(Debug)]
pub struct Fault {
    /// the instance that failed
    pub instance: u32,
    /// in which round
    pub round: u32,
    /// how
    pub stop: Stop,
    /// what went wrong, if that was an error
    pub error: Option<SqlError>,
}

impl Outcome {
    /// As if nothing had been done; keeps the memory.
    pub fn clear(&mut self) {
        self.changed = None;
        self.values.clear();
        self.rows.clear();
        self.returned.clear();
        self.touched = 0;
        self.fault = None;
    }

    /// The instance that failed; [`NONE`]: none has.
    pub fn failed(&self) -> u32 {
        self.fault.as_ref().map_or(NONE, |fault| fault.instance)
    }

    /// Notes a failure; the error is in the frame.
    pub fn fail(&mut self, (instance, round): (u32, u32), stop: Stop, frame: &mut Frame) {
        let error = if stop == Stop::Error { frame.take_error() } else { None };
        self.fault = Some(Fault { instance, round, stop, error });
    }
}

impl Shared {
    /// The call, which is in parts, as a batch of one, with its program.
    pub fn run(&self) -> CallRun<'_> {
        let Self { invocation, batch, .. } = self;
        CallRun { program: self.program(), batch, call: &batch.calls()[0], invocation }
    }

    /// Its procedure as actions.
    pub fn program(&self) -> &ActionProgram {
        self.world().program(self.invocation.procedure)
    }

    /// Its procedure as a whole.
    pub fn procedure(&self) -> &CompiledProcedure {
        self.procedure.as_deref().expect("only procedures that exist are run")
    }

    /// The schema it runs under.
    pub fn world(&self) -> &World {
        self.world.as_deref().expect("it was planned")
    }

    /// The number of a partition among its participants.
    pub fn number_of(&self, partition: u16) -> usize {
        let at = self.participants.binary_search_by_key(&partition, |&(partition, _)| partition);
        at.expect("only participants work on it")
    }

    /// What the coordinator is called where participants have numbers.
    pub fn coordinator(&self) -> usize {
        self.participants.len()
    }

    /// The place of what somebody has done.
    pub fn outcome(&self, number: usize) -> &Latch<Outcome> {
        &self.outcomes[number]
    }

    /// Has it run in the actions that it was planned into, the only ones in `batch`, which gets
    /// other memory; false, and nothing is done, if some of them belong to no one partition.
    pub fn take_parts(&mut self, batch: &mut Batch) -> bool {
        let world = self.world.as_deref().expect("it was planned");
        let is_whole = batch.calls()[0].whole.is_some();
        if is_whole || !self.schedule.make(batch, world, &mut self.participants) {
            return false;
        }
        std::mem::swap(&mut self.batch, batch);
        self.how = How::InParts;
        self.make_room();
        true
    }

    /// Has it run as a whole, in these partitions.
    pub fn take_whole(&mut self, bounds: Bounds, partitions: &PartitionSet) {
        self.participants.clear();
        self.participants.extend(partitions.iter().map(|partition| (partition.0, 0)));
        self.participants[0].1 = 1; // when all others stand still
        self.batch.clear();
        self.how = How::AsWhole(bounds);
        self.make_room();
    }

    fn make_room(&mut self) {
        let doers = self.participants.len() + 1;
        if self.outcomes.len() < doers {
            self.outcomes.resize_with(doers, Latch::default);
        }
        self.cells.clear();
        self.cells.make_room(self.batch.values(), doers);
        self.outcomes.iter().for_each(|outcome| outcome.lock().clear());
    }
}

/// A call of several partitions, in the hands of one of them.
#[derive(Clone)]
pub struct Multi(pub Arc<Shared>);

impl std::ops::Deref for Multi {
    type Target = Shared;

    #[inline]
    fn deref(&self) -> &Shared {
        &self.0
    }
}

impl MultiCall for Multi {
    fn home(&self) -> Address {
        self.home
    }

    fn participants(&self) -> usize {
        self.participants.len()
    }

    fn participant(&self, at: usize) -> (u16, u32) {
        self.participants[at]
    }

    fn stands_still(&self) -> bool {
        matches!(self.how, How::AsWhole(_))
    }
}
