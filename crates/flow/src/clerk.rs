//! What is done for calls in parts where all that was done in a round is known: their own code
//! between rounds, and their places in the log.
//!
//! Role         of H-Store's coordinators, and of DORA's executors at rendezvous points

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

use crate::shared_call::SharedCall;
use crate::world::World;

/// One thread's means to run calls' own code and to give them their places in the log.
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
    /// That of a thread that commits by `stay`.
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

    /// Runs what is to be done behind a round of a call, whose results are there; whether the call
    /// may go on.
    pub fn run_behind(&mut self, call: &SharedCall, round: u32) -> bool {
        let doer = call.doer_between();
        let outcome = &mut *call.outcome(doer).lock();
        if round == 0 {
            call.begin(doer, outcome); // another attempt may have been here
        }
        let steps = call.schedule.behind_round(round);
        let place = (&*self.world.schema, &mut self.scratch, &mut self.frame);
        call.run_steps((steps, round, doer), place, outcome, |_, _| true);
        outcome.fault.is_none()
    }

    /// Gives a call, all of whose owners are done, its place behind `met`, and makes its entry in
    /// the log; none if the log takes no more entries: then the call has failed, and knows why.
    pub fn commit(&mut self, call: &SharedCall, met: Position) -> Option<Position> {
        panics::point::reach("commit");
        let effect = call.effect(&mut self.values);
        let stay = &mut *self.stay.borrow_mut();
        let begun = match effect {
            Effect::Read => Ok(Begun::default()),
            Effect::Write { .. } => stay.begin(),
        };
        let begun = match begun {
            Ok(begun) => begun,
            Err(stop) => {
                let outcome = &mut *call.outcome(call.doer_between()).lock();
                outcome.fail((0, 0), stop, &mut self.frame);
                return None;
            }
        };
        let commit = stay.commit(begun, met, effect);
        stay.append(commit, &self.values, &call.invocation, call.procedure());
        stay.end(begun);
        Some(commit.position())
    }
}
