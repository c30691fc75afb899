//! A partition's rows, and how its owner runs calls on them.
//!
//! Role         [`Store`] on storage. Rows lie in tables that all partitions share; what belongs to
//!              a partition, only its owner touches. Each call's changes are kept in a part of its
//!              own until they stand, since others may run before that
//! Invariants   I1 what a call has changed is encoded for a log of values before anybody runs
//!              behind it

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

use hotrow_base::ids::{PartitionId, TableId};
use hotrow_base::panics;
use hotrow_engine::in_place::{InPlace, Part, Scratch};
use hotrow_engine::journal::stay::{Begun, Stay};
use hotrow_engine::journal::{Committer, Effect};
use hotrow_engine::protection::{Ahead, Alone, Planned, Within};
use hotrow_engine::schema::Schema;
use hotrow_engine::worker::Call;
use hotrow_log::position::Position;
use hotrow_transaction::bytecode::Program;
use hotrow_transaction::frame::Frame;
use hotrow_transaction::granule::{LockMode, LockRequest, Space};
use hotrow_transaction::interpret::{self, NoHook};
use hotrow_transaction::invocation::Invocation;
use hotrow_transaction::outcome::{Conflict, Stop};
use hotrow_transaction::plan::{Granule, Plan};
use hotrow_transaction::program::ROW_COUNT;

use crate::call::{Bounds, How, Multi, Outcome, Parcel, Shared, Single};
use crate::lower::{Owner, lower, owner_of};
use crate::protocol::locking::LockingStore;
use crate::protocol::{Store, Vote};
use crate::schedule::Step;
use crate::world::World;

/// See the module.
pub struct Rows {
    partition: u16,
    world: Arc<World>,
    scratch: Scratch,
    committer: Committer,
    logs_values: bool,
    /// the thread's
    stay: Rc<RefCell<Stay>>,
    /// for calls of several partitions
    frame: Frame,
    /// parts that are not used
    free: Vec<Undoable>,
}

/// What a call has changed here, kept until it stands.
pub type Undoable = Box<Changes>;

/// See [`Undoable`].
#[derive(Default)]
pub struct Changes {
    part: Part,
    /// the hash of it, if there is something
    hash: Option<u64>,
    /// for a log of values
    values: Vec<u8>,
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
        let mut frame = Frame::new();
        frame.set_step_budget(step_budget);
        Self {
            partition,
            world: Arc::clone(world),
            scratch: Scratch::new(committer.worker()),
            committer: committer.clone(),
            logs_values: !committer.logs_commands(),
            stay: Rc::clone(stay),
            frame,
            free: Vec::new(),
        }
    }

    /// Takes note of another schema.
    pub fn adopt(&mut self, world: &Arc<World>) {
        self.world = Arc::clone(world);
    }

    /// Ends an attempt to run something of a call: how it votes; notes what it has changed.
    fn vote(&mut self, ran: Result<(), Stop>, changes: &mut Changes) -> Result<Vote, Stop> {
        match ran {
            Ok(()) => {
                let Self { scratch, logs_values, world, .. } = self;
                changes.hash = scratch.changed_since(&Default::default());
                if *logs_values {
                    changes.values.clear();
                    scratch.encode_values(&world.schema, &mut changes.values); // I1
                }
                Ok(Vote::Commit)
            }
            Err(Stop::Conflict(Conflict::Undecided)) => Ok(Vote::Again),
            Err(stop) => Err(stop),
        }
    }

    /// Ends a call's part.
    fn end(&mut self, mut changes: Undoable, end: impl FnOnce(InPlace<'_, Ahead<Alone>>)) {
        self.scratch.exchange(&mut changes.part);
        end(InPlace::resume(&self.world.schema, &mut self.scratch, Ahead(Alone)));
        self.scratch.exchange(&mut changes.part);
        if let Some(begun) = changes.begun.take() {
            self.stay.borrow_mut().end(begun);
        }
        changes.hash = None;
        changes.values.clear();
        self.free.push(changes);
    }

    /// Runs a call that stands still elsewhere as a whole.
    fn run_alone(&mut self, shared: &Shared, bounds: Bounds, outcome: &mut Outcome) {
        let Self { world, scratch, frame, .. } = self;
        let program = &shared.procedure().program;
        let call = (program, &shared.invocation, &mut *frame);
        match run_whole(&world.schema, scratch, (bounds, &shared.plan), call) {
            Ok(()) => {
                outcome.touched = frame.slot(ROW_COUNT).as_int();
                let rows = frame.keep_rows(program, &mut outcome.rows);
                outcome.returned.push((0, rows));
            }
            Err(stop) => outcome.fail((0, 1), stop, frame),
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

/// Runs what is to be done of a call in parts, in order; what fails first in the procedure, and
/// what was returned, is in the outcome then. What comes before a failure in the procedure is run
/// though: it may fail, too, and tell why.
pub fn run_steps(
    shared: &Shared,
    (steps, round, number): (&[Step], u32, usize),
    (schema, scratch, frame): (&Schema, &mut Scratch, &mut Frame),
    outcome: &mut Outcome,
) {
    let call = shared.run();
    let batch = call.batch;
    let mut values = shared.cells.of(number as u16);
    for step in steps {
        let action = &batch.actions()[step.action as usize];
        for (at, &line) in batch.lines(action).iter().enumerate() {
            if line > outcome.failed() {
                break;
            }
            match at {
                0 => call.begin(line, frame),
                _ => frame.begin_next(),
            }
            let protection = Ahead(Within(batch.uses(action)));
            let mut access = InPlace::resume(schema, scratch, protection);
            match call.run(line, frame, &mut access, &mut values) {
                Ok(()) if call.returns(line) => {
                    let rows = frame.keep_rows(call.code(line), &mut outcome.rows);
                    outcome.returned.push((line, rows));
                }
                Ok(()) => {}
                Err(stop) => outcome.fail((line, round), stop, frame),
            }
        }
    }
}

/// In debug builds: what the parameters of a call say of its partition, planning says, too.
fn check_bounds(partition: u16, world: &World, scratch: &mut Scratch, call: &mut Call) {
    if !cfg!(debug_assertions) || world.partitions() == 1 {
        return;
    }
    call.plan_ahead(&world.schema, scratch);
    let set = lower(&world.owners, &world.schema.catalog, &call.plan, partition);
    let only = (set.len(), set.contains(PartitionId(partition)));
    assert_eq!(only, (1, true), "a call of partition {partition} stays there");
}

impl Store for Rows {
    type Single = Parcel;
    type Multi = Multi;
    type Part = Undoable;

    fn begin(&mut self) -> Undoable {
        self.free.pop().unwrap_or_default()
    }

    fn run_single(&mut self, single: &mut Parcel, changes: &mut Undoable) -> Vote {
        self.scratch.exchange(&mut changes.part);
        let Self { world, scratch, .. } = self;
        let Single { call, bounds, .. } = &mut **single;
        if *bounds == Bounds::None {
            check_bounds(self.partition, world, scratch, call);
        }
        let Call { invocation, procedure, frame, plan, .. } = call;
        let program = &procedure.as_deref().expect("only procedures that exist are run").program;
        let ran = run_whole(&world.schema, scratch, (*bounds, plan), (program, invocation, frame));
        let mut vote = self.vote(ran, changes);
        self.scratch.exchange(&mut changes.part);
        let effect = Effect::of_call(changes.hash, &single.call.invocation);
        if vote == Ok(Vote::Commit) && effect != Effect::Read {
            match self.stay.borrow_mut().begin() {
                Ok(begun) => changes.begun = Some(begun),
                Err(stop) => vote = Err(stop),
            }
        }
        single.ended = match vote {
            Ok(Vote::Again) => Err(Stop::Conflict(Conflict::Undecided)),
            vote => vote.map(drop),
        };
        vote.unwrap_or(Vote::Abort)
    }

    fn run_fragment(&mut self, multi: &Multi, round: u32, changes: &mut Undoable) -> Vote {
        let number = multi.number_of(self.partition);
        let outcome = &mut *multi.outcome(number).lock();
        if round == 0 {
            outcome.clear(); // another attempt may have been here
            multi.cells.forget(number as u16);
        }
        self.scratch.exchange(&mut changes.part);
        match multi.how {
            How::AsWhole(bounds) if round == 1 => self.run_alone(multi, bounds, outcome),
            How::AsWhole(_) => {}
            How::InParts => {
                let steps = multi.schedule.of_partition(self.partition, round);
                let Self { world, scratch, frame, .. } = self;
                let place = (&*world.schema, scratch, frame);
                run_steps(multi, (steps, round, number), place, outcome);
            }
        }
        let ran = outcome.fault.as_ref().map_or(Ok(()), |fault| Err(fault.stop));
        let vote = self.vote(ran, changes);
        self.scratch.exchange(&mut changes.part);
        outcome.changed = changes.hash;
        outcome.values.clone_from(&changes.values);
        vote.unwrap_or(Vote::Abort)
    }

    fn commit_single(
        &mut self,
        single: &mut Parcel,
        changes: &Undoable,
        met: Position,
    ) -> Option<Position> {
        panics::point::reach("commit");
        let Single { call, .. } = &mut **single;
        let effect = Effect::of_call(changes.hash, &call.invocation);
        let stay = &mut *self.stay.borrow_mut();
        let begun = changes.begun.unwrap_or_default();
        let commit = stay.commit(begun, met, effect);
        let procedure = call.procedure.as_deref().expect("it has just been run");
        stay.append(commit, &changes.values, &call.invocation, procedure);
        let position = commit.position();
        call.durable_in = position.epoch;
        self.committer.trace(position, &call.invocation, procedure, &call.frame);
        Some(position)
    }

    fn epoch_of(&self, changes: &Undoable) -> u64 {
        changes.begun.map_or(0, Begun::epoch)
    }

    fn commit(&mut self, changes: Undoable) {
        self.end(changes, |access| access.commit());
    }

    fn undo(&mut self, changes: Undoable) {
        self.end(changes, |access| access.undo());
    }
}

impl LockingStore for Rows {
    fn locks_of_single(&mut self, single: &mut Parcel, locks: &mut Vec<LockRequest>) {
        let Single { call, bounds, .. } = &mut **single;
        if *bounds == Bounds::None {
            // Not planned before it came: most calls run where nobody else does.
            call.plan_ahead(&self.world.schema, &mut self.scratch);
            *bounds = Bounds::Footprint;
        }
        locks.push(LockRequest::new(partition_lock(), LockMode::IntentExclusive));
        let World { schema, owners, .. } = &*self.world;
        let granules = call.plan.footprint().granules().iter();
        let own = granules.filter(|granule| {
            owner_of(owners, &schema.catalog, &call.plan, granule) != Owner::Nobody
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
        let steps = multi.schedule.of_partition(self.partition, round);
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
