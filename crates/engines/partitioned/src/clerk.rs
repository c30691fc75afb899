//! What a coordinator does for calls beside ordering them: their own code between rounds, and their
//! places in the log.

use std::sync::Arc;

use hotrow_base::panics;
use hotrow_engine::in_place::Scratch;
use hotrow_engine::journal::{Committer, Company, Effect};
use hotrow_log::position::Position;
use hotrow_transaction::frame::Frame;

use crate::call::{How, Multi};
use crate::protocol::{Steering, Vote};
use crate::store::run_steps;
use crate::world::World;

/// See the module.
pub struct Clerk {
    world: Arc<World>,
    committer: Committer,
    frame: Frame,
    /// for reads of tables that nobody writes
    scratch: Scratch,
    /// changes of all parts of a call, for a log of values
    values: Vec<u8>,
}

impl Clerk {
    /// That of a coordinator.
    pub fn new(world: &Arc<World>, committer: Committer, step_budget: u64) -> Self {
        let mut frame = Frame::new();
        frame.set_step_budget(step_budget);
        let scratch = Scratch::new(committer.worker());
        Self { world: Arc::clone(world), committer, frame, scratch, values: Vec::new() }
    }

    /// Takes note of another schema.
    pub fn adopt(&mut self, world: &Arc<World>) {
        self.world = Arc::clone(world);
    }
}

impl Steering for Clerk {
    type Multi = Multi;

    fn steer(&mut self, call: &Multi, round: u32) -> Vote {
        if call.how != How::InParts {
            return Vote::Commit;
        }
        let number = call.coordinator();
        let outcome = &mut *call.outcome(number).lock();
        if round == 0 {
            outcome.clear(); // another attempt may have been here
            call.cells.forget(number as u16);
        }
        let steps = call.schedule.of_coordinator(round);
        let place = (&*self.world.schema, &mut self.scratch, &mut self.frame);
        run_steps(call, (steps, round, number), place, outcome);
        if outcome.fault.is_some() { Vote::Abort } else { Vote::Commit }
    }

    fn commit(&mut self, call: &Multi, met: Position) -> Option<Position> {
        panics::point::reach("commit");
        let (mut changed, values) = (None, &mut self.values);
        values.clear();
        for number in 0..call.coordinator() {
            let outcome = call.outcome(number).lock();
            if let Some(hash) = outcome.changed {
                changed = Some(changed.unwrap_or(0_u64).wrapping_add(hash));
                values.extend_from_slice(&outcome.values);
            }
        }
        let effect = Effect::of_call(changed, &call.invocation);
        let commit = match self.committer.commit(met, effect) {
            Ok(commit) => commit,
            Err(stop) => {
                let outcome = &mut *call.outcome(call.coordinator()).lock();
                outcome.fail((0, 0), stop, &mut self.frame);
                return None;
            }
        };
        let encode = |out: &mut Vec<u8>| out.extend_from_slice(values);
        let commit = self.committer.record_values(commit, &call.invocation, encode);
        self.committer.enter_in_log(commit, Company::Shared, &call.invocation, call.procedure());
        Some(commit.position())
    }
}
