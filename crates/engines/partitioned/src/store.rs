//! A partition's rows, and how its owner runs calls on them.
//!
//! Role         [`Store`] on storage. Rows lie in tables that all partitions share; what belongs to
//!              a partition, only its owner touches. Each call's changes are kept in a part of its
//!              own until they stand, since others may run before that

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

use hotrow_base::ids::{PartitionId, TableId};
use hotrow_base::panics;
use hotrow_engine::in_place::{InPlace, Scratch};
use hotrow_engine::journal::stay::{Begun, Stay};
use hotrow_engine::journal::{Committer, Effect};
use hotrow_engine::owners::Concern;
use hotrow_engine::protection::{Ahead, Alone, Planned};
use hotrow_engine::schema::Schema;
use hotrow_engine::worker::Call;
use hotrow_flow::part::{self, PartRunner};
use hotrow_flow::schedule::Step;
use hotrow_flow::world::World;
use hotrow_log::position::Position;
use hotrow_transaction::bytecode::Program;
use hotrow_transaction::frame::Frame;
use hotrow_transaction::granule::{LockMode, LockRequest, Space};
use hotrow_transaction::interpret::{self, NoHook};
use hotrow_transaction::invocation::Invocation;
use hotrow_transaction::outcome::{Conflict, Stop};
use hotrow_transaction::plan::{Granule, Plan};

use crate::call::{Bounds, How, Multi, Single};
use crate::protocol::locking::LockingStore;
use crate::protocol::{Store, Vote};

/// One partition's number and world, and how calls run there.
pub struct Rows {
    partition: u16,
    world: Arc<World>,
    runner: PartRunner,
    committer: Committer,
    /// the thread's
    stay: Rc<RefCell<Stay>>,
}

/// What a call has changed here, kept until it stands.
pub struct Part {
    changes: part::Part,
    /// of a call of this partition that waits for its place
    begun: Option<Begun>,
}

impl Rows {
    /// Those of a partition, for a thread that commits by `stay`.
    pub fn new(
        partition: u16,
        world: &Arc<World>,
        (committer, stay): (&Committer, &Rc<RefCell<Stay>>),
        step_budget: u64,
    ) -> Self {
        let logs_values = !committer.logs_commands();
        Self {
            partition,
            world: Arc::clone(world),
            runner: PartRunner::new(committer.worker(), logs_values, step_budget),
            committer: committer.clone(),
            stay: Rc::clone(stay),
        }
    }

    /// Takes note of another schema.
    pub fn adopt(&mut self, world: &Arc<World>) {
        self.world = Arc::clone(world);
    }

    /// A call's part has ended.
    fn end(&self, begun: Option<Begun>) {
        if let Some(begun) = begun {
            self.stay.borrow_mut().end(begun);
        }
    }
}

/// Runs a call as a whole, bounded by a plan if it is.
fn run_whole(
    schema: &Schema,
    scratch: &mut Scratch,
    (bounds, plan): (Bounds, &Plan),
    (program, invocation, frame): (&Program, &Invocation, &mut Frame),
) -> Result<(), Stop> {
    frame.begin(program, invocation);
    match bounds {
        Bounds::None => {
            let mut access = InPlace::resume(schema, scratch, Ahead(Alone));
            interpret::run(program, 0, frame, &mut access, &mut NoHook)
        }
        Bounds::Footprint => {
            let protection = Ahead(Planned(plan.footprint()));
            let mut access = InPlace::resume(schema, scratch, protection);
            interpret::run(program, 0, frame, &mut access, &mut NoHook)
        }
    }
}

/// In debug builds: what the parameters of a call say of its partition, planning says, too.
fn check_bounds(partition: u16, world: &World, scratch: &mut Scratch, call: &mut Call) {
    if !cfg!(debug_assertions) || world.partitions() == 1 {
        return;
    }
    call.plan_ahead(&world.schema, scratch);
    let set = world.owners.concerned(&world.schema.catalog, &call.plan, partition);
    let only = (set.len(), set.contains(PartitionId(partition)));
    assert_eq!(only, (1, true), "a call of partition {partition} stays there");
}

impl Store for Rows {
    type Single = Single;
    type Multi = Multi;
    type Part = Part;

    fn begin(&mut self) -> Part {
        Part { changes: self.runner.begin(), begun: None }
    }

    fn run_single(&mut self, single: &mut Single, part: &mut Part) -> Vote {
        let Self { world, runner, .. } = self;
        let Single { call, bounds, .. } = single;
        if *bounds == Bounds::None {
            check_bounds(self.partition, world, runner.scratch(), call);
        }
        let Call { invocation, procedure, frame, plan, .. } = &mut **call;
        let program = &procedure.as_deref().expect("only procedures that exist are run").program;
        let schema = &world.schema;
        let mut ran = runner.run(schema, &mut part.changes, |scratch, _| {
            run_whole(schema, scratch, (*bounds, plan), (program, invocation, frame))
        });
        let effect = Effect::of_call(part.changes.hash, invocation);
        if ran.is_ok() && effect != Effect::Read {
            match self.stay.borrow_mut().begin() {
                Ok(begun) => part.begun = Some(begun),
                Err(stop) => ran = Err(stop),
            }
        }
        single.ended = ran;
        vote(ran)
    }

    fn run_fragment(&mut self, multi: &Multi, round: u32, part: &mut Part) -> Vote {
        let Self { world, runner, .. } = self;
        let doer = multi.doer(self.partition);
        let outcome = &mut *multi.outcome(doer).lock();
        if round == 0 {
            multi.begin(doer, outcome); // another attempt may have been here
        }
        let schema = &world.schema;
        let ran = runner.run(schema, &mut part.changes, |scratch, frame| {
            match multi.how {
                How::AsWhole(bounds) if round == 1 => {
                    // All others stand still.
                    let program = &multi.procedure().program;
                    let call = (program, &multi.invocation, &mut *frame);
                    let ran = run_whole(schema, scratch, (bounds, &multi.plan), call);
                    outcome.take_whole(ran, round, program, frame);
                }
                How::AsWhole(_) => {}
                How::InParts => {
                    let steps = multi.schedule.of_owner(self.partition, round);
                    let place = (&**schema, scratch, frame);
                    multi.run_steps((steps, round, doer), place, outcome, |_, _| true);
                }
            }
            outcome.fault.as_ref().map_or(Ok(()), |(fault, _)| Err(fault.stop))
        });
        outcome.take_changes(&part.changes);
        vote(ran)
    }

    fn commit_single(
        &mut self,
        single: &mut Single,
        part: &Part,
        met: Position,
    ) -> Option<Position> {
        panics::point::reach("commit");
        let Single { call, .. } = single;
        let effect = Effect::of_call(part.changes.hash, &call.invocation);
        let stay = &mut *self.stay.borrow_mut();
        let begun = part.begun.unwrap_or_default();
        let commit = stay.commit(begun, met, effect);
        let procedure = call.procedure.as_deref().expect("it has just been run");
        stay.append(commit, &part.changes.values, &call.invocation, procedure);
        let position = commit.position();
        call.durable_in = position.epoch;
        self.committer.trace(position, &call.invocation, procedure, &call.frame);
        Some(position)
    }

    fn epoch_of(&self, part: &Part) -> u64 {
        part.begun.map_or(0, Begun::epoch)
    }

    fn commit(&mut self, part: Part) {
        self.runner.commit(&self.world.schema, part.changes);
        self.end(part.begun);
    }

    fn undo(&mut self, part: Part) {
        self.runner.undo(&self.world.schema, part.changes);
        self.end(part.begun);
    }
}

/// How the end of an attempt to run something of a call votes.
fn vote(ran: Result<(), Stop>) -> Vote {
    match ran {
        Ok(()) => Vote::Commit,
        Err(Stop::Conflict(Conflict::Undecided)) => Vote::Again,
        Err(_) => Vote::Abort,
    }
}

impl LockingStore for Rows {
    fn locks_of_single(&mut self, single: &mut Single, locks: &mut Vec<LockRequest>) {
        let Single { call, bounds, .. } = single;
        if *bounds == Bounds::None {
            // Not planned before it came: most calls run where nobody else does.
            call.plan_ahead(&self.world.schema, self.runner.scratch());
            *bounds = Bounds::Footprint;
        }
        locks.push(LockRequest::new(partition_lock(), LockMode::IntentExclusive));
        let World { schema, owners, .. } = &*self.world;
        let granules = call.plan.footprint().granules().iter();
        let own = granules.filter(|granule| {
            owners.concern(&schema.catalog, &call.plan, granule) != Concern::Nobody
        });
        locks.extend(own.map(|granule| LockRequest::new(granule.lock, granule.mode)));
    }

    fn locks_of(&mut self, multi: &Multi, round: u32, locks: &mut Vec<LockRequest>) {
        if multi.how != How::InParts {
            if round == 0 {
                locks.push(LockRequest::new(partition_lock(), LockMode::Exclusive));
            }
            return;
        }
        locks.push(LockRequest::new(partition_lock(), LockMode::IntentExclusive));
        let steps = multi.schedule.of_owner(self.partition, round);
        let uses = |step: &Step| multi.batch.uses(&multi.batch.actions()[step.action as usize]);
        let is_granule = |held: &&Granule| matches!(held.space, Space::Index(_));
        for held in steps.iter().flat_map(uses).filter(is_granule) {
            if locks.iter().any(|lock| lock.lock() == held.lock) {
                continue;
            }
            // As strong as any round needs it.
            let later = multi.schedule.from_round(self.partition, round).iter().flat_map(uses);
            let modes = later.filter(|later| later.lock == held.lock).map(|later| later.mode);
            locks.push(LockRequest::new(held.lock, modes.fold(held.mode, LockMode::join)));
        }
    }
}

/// The lock on a partition as a whole: calls in parts announce themselves, and whoever has all
/// stand still has it exclusively. No table has this number.
fn partition_lock() -> u64 {
    Space::Table(TableId(u16::MAX)).lock_id(&[])
}
