//! What a coordinator does for calls beside ordering them: their own code between rounds, and their
//! places in the log.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

use hotrow_base::ids::WorkerId;
use hotrow_base::panics;
use hotrow_engine::in_place::Scratch;
use hotrow_engine::journal::Effect;
use hotrow_engine::journal::stay::{Begun, Stay};
use hotrow_log::position::Position;
use hotrow_transaction::frame::Frame;

use crate::call::{How, Multi};
use crate::protocol::{Steering, Vote};
use crate::store::run_steps;
use crate::world::World;

/// See the module.
pub struct Clerk {
    world: Arc<World>,
    /// the thread's
    stay: Rc<RefCell<Stay>>,
    frame: Frame,
    /// for reads of tables that nobody writes
    scratch: Scratch,
    /// changes of all parts of a call, for a log of values
    values: Vec<u8>,
}

impl Clerk {
    /// That of a coordinator, for a thread that commits by `stay`.
    pub fn new(
        world: &Arc<World>,
        (worker, stay): (WorkerId, &Rc<RefCell<Stay>>),
        step_budget: u64,
    ) -> Self {
        let mut frame = Frame::new();
        frame.set_step_budget(step_budget);
        let (world, stay) = (Arc::clone(world), Rc::clone(stay));
        Self { world, stay, frame, scratch: Scratch::new(worker), values: Vec::new() }
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
        let stay = &mut *self.stay.borrow_mut();
        let begun = match effect {
            Effect::Read => Ok(Begun::default()),
            Effect::Write { .. } => stay.begin(),
        };
        let begun = match begun {
            Ok(begun) => begun,
            Err(stop) => {
                let outcome = &mut *call.outcome(call.coordinator()).lock();
                outcome.fail((0, 0), stop, &mut self.frame);
                return None;
            }
        };
        let commit = stay.commit(begun, met, effect);
        stay.append(commit, values, &call.invocation, call.procedure());
        stay.end(begun);
        Some(commit.position())
    }
}
