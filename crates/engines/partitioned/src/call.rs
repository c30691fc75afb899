//! Calls on their way between homes, owners and coordinators.
//!
//! Role         a call of one partition is a parcel that goes to its owner and back; one of several
//!              is shared by all who work on it ([`SharedCall`])
//! Concurrency  a [`Shared`] is filled by its home, alone, then read by all. When the home has it
//!              alone again, nobody works on it any more

use std::ops::Deref;
use std::sync::Arc;

use hotrow_flow::clerk::Clerk;
use hotrow_flow::client_calls::ClientCall;
use hotrow_flow::node::Address;
use hotrow_flow::shared_call::SharedCall;
use hotrow_log::position::Position;
use hotrow_transaction::actions::Batch;
use hotrow_transaction::outcome::Stop;
use hotrow_transaction::plan::Plan;
use hotrow_transaction::routing::PartitionSet;

use crate::protocol::{MultiCall, SingleCall, Steering, Vote};

/// How a call that runs as a whole is kept inside what it may touch.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum Bounds {
    /// it cannot leave its partitions: its parameters tell, or it has all there are
    #[default]
    None,
    /// it was planned: outside of its plan's footprint the plan was wrong
    Footprint,
}

/// A call of one partition, as it goes from thread to thread.
pub struct Single {
    /// the call; if it is bounded, with its plan
    pub call: ClientCall,
    /// to whom its end is told
    pub home: Address,
    /// how it is kept inside
    pub bounds: Bounds,
    /// how it ended
    pub ended: Result<(), Stop>,
}

impl SingleCall for Single {
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
    /// as a whole: the footprint
    pub plan: Plan,
    /// the call, and what its partitions have done
    pub call: SharedCall,
}

impl Deref for Shared {
    type Target = SharedCall;

    #[inline]
    fn deref(&self) -> &SharedCall {
        &self.call
    }
}

impl Shared {
    /// Has it run in the actions that it was planned into, the only ones in `batch`, which gets
    /// other memory; false, and nothing is done, if some of them belong to no one partition.
    pub fn take_parts(&mut self, batch: &mut Batch) -> bool {
        let is_laid_out = self.call.lay_out(batch, 2, |world, plan, used| {
            world.owners.concern(&world.schema.catalog, plan, used)
        });
        if is_laid_out {
            self.how = How::InParts;
        }
        is_laid_out
    }

    /// Has it run as a whole, in these partitions.
    pub fn take_whole(&mut self, bounds: Bounds, partitions: &PartitionSet) {
        // The first runs it, when all others stand still.
        let last_rounds = std::iter::once(1).chain(std::iter::repeat(0));
        self.call.lay_whole(partitions.iter().map(|partition| partition.0).zip(last_rounds));
        self.how = How::AsWhole(bounds);
    }
}

/// A call of several partitions, in the hands of one of them.
#[derive(Clone)]
pub struct Multi(pub Arc<Shared>);

impl Deref for Multi {
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

impl Steering for Clerk {
    type Multi = Multi;

    fn steer(&mut self, call: &Multi, round: u32) -> Vote {
        match call.how {
            How::InParts if !self.run_behind(call, round) => Vote::Abort,
            _ => Vote::Commit,
        }
    }

    fn commit(&mut self, call: &Multi, met: Position) -> Option<Position> {
        Self::commit(self, call, met)
    }
}
