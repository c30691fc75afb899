//! The actions of one call.
//!
//! Role         filled by [`ActionPlan::make`], in memory reused from call to call; read by
//!              engines that run actions on several threads
//! Invariants   I1 every dependency leads from a lower to a higher phase: no cycles
//!              I2 two actions with incompatible modes on one granule have different phases and
//!                 a path of dependencies from the one whose leaves come first
//!              I3 an action's leaves stand in program order, and their inputs come from leaves
//!                 before them: of the same action, or of actions it depends on
//!              I4 of several leaves that fail, the one first in program order fails as it would
//!                 have in the procedure; so the error a client sees does not depend on the order
//!                 in which actions ran

use hotrow_base::datum::Datum;

use super::conditions::Order;
use super::form::Former;
use super::program::{ActionProgram, Kept};
use super::record::Recording;
use super::shape::Shapes;
use crate::access::RecordAccess;
use crate::frame::Frame;
use crate::granule::LockMode;
use crate::interpret;
use crate::invocation::Invocation;
use crate::outcome::Stop;
use crate::plan::{Granule, Plan};
use crate::program::SlotId;

pub(super) const NONE: u32 = u32::MAX;

/// One run of a leaf.
#[derive(Clone, Copy, Debug)]
pub struct Instance {
    /// which leaf; none: the whole procedure
    pub leaf: Option<u16>,
    /// the action it belongs to; none when nobody needs it
    pub action: Option<u32>,
    /// guards' conditions, then inputs, then, when there are guards, the old
    /// values of outputs
    pub(super) values: (u32, u32),
    /// first of its outputs
    pub(super) made: u32,
    /// granules: positions in the footprint, with modes
    pub(super) granules: (u32, u32),
    /// planned keys
    pub(super) keys: (u32, u32),
}

/// A value that leaves hand on.
#[derive(Clone, Copy, Debug)]
pub(super) struct Value {
    /// the instance that makes it; [`NONE`]: known, `datum`
    pub(super) maker: u32,
    /// with ranges of the plan's bytes and elements
    pub(super) datum: Datum,
    /// somebody needs it
    pub(super) live: bool,
    /// somebody needs it even when its maker is disabled: then it is the old value of its slot
    pub(super) passes: bool,
    pub(super) kept: Kept,
}

impl Value {
    pub(super) const fn known(datum: Datum) -> Self {
        Self { maker: NONE, datum, live: false, passes: false, kept: Kept::Plain }
    }
}

/// A granule an action works in.
#[derive(Clone, Copy, Debug)]
pub struct Use {
    /// position in the footprint
    pub granule: u32,
    /// mode
    pub mode: LockMode,
}

/// What one thread runs from start to end.
#[derive(Clone, Copy, Debug)]
pub struct Action {
    /// actions of one phase may run at once
    pub phase: u32,
    /// position in the footprint of the granule it was made for; none: it works on values alone
    /// and on tables and columns nobody writes, at any thread
    pub home: Option<u32>,
    /// one of its leaves may end the call
    pub may_stop: bool,
    /// in one of its leaves the program decides whether the call goes on
    pub decides: bool,
    /// it may meet what another action of the call has changed: without that its outcome would be
    /// another one
    pub meets_own: bool,
    /// one of its leaves changes records
    pub writes: bool,
    pub(super) leaves: (u32, u32),
    pub(super) uses: (u32, u32),
}

/// The actions of a call, and everything known about it before it runs.
#[derive(Default, Debug)]
pub struct ActionPlan {
    /// keys and footprint
    pub plan: Plan,
    pub(super) instances: Vec<Instance>,
    pub(super) values: Vec<Value>,
    /// value numbers, in pieces
    pub(super) inputs: Vec<u32>,
    /// granules of instances, in pieces
    pub(super) touched: Vec<(u32, LockMode)>,
    /// bytes and elements of known values
    pub(super) bytes: Vec<u8>,
    pub(super) elements: Vec<Datum>,
    /// newest value of each slot
    pub(super) newest: Vec<u32>,
    /// the value the caller hears as row count
    pub(super) row_count: u32,
    pub(super) actions: Vec<Action>,
    /// instances, by action
    pub(super) lines: Vec<u32>,
    pub(super) uses: Vec<Use>,
    pub(super) dependencies: Vec<(u32, u32)>,
    pub(super) reply: Option<u32>,
    pub(super) phases: u32,
    is_whole: bool,
    former: Former,
    shapes: Shapes,
    pub(super) order: Order,
}

impl ActionPlan {
    /// Plans a call. `access` serves the trial reads of reconnaissance.
    ///
    /// Expressions that fail while planning fail again in their leaf. When the driver spends the
    /// step budget, the call becomes one action with the granules found until then.
    pub fn make<A: RecordAccess>(
        &mut self,
        program: &ActionProgram,
        invocation: &Invocation,
        frame: &mut Frame,
        access: &mut A,
    ) -> Result<(), Stop> {
        self.clear();
        frame.begin(&program.driver.program, invocation);
        self.begin_values(program, frame);
        self.is_whole = program.uncut.is_some();
        let mut recording = Recording { program, plan: self, key: 0, granule: 0 };
        match interpret::run(&program.driver.program, 0, frame, access, &mut recording) {
            Ok(()) => {}
            Err(Stop::Error) => self.is_whole = true,
            Err(stop) => return Err(stop),
        }
        if self.is_whole {
            self.take_whole();
        }
        let mut shapes = std::mem::take(&mut self.shapes);
        if !shapes.form(program, self) {
            let mut former = std::mem::take(&mut self.former);
            former.form(program, self);
            self.former = former;
            shapes.keep(self);
        }
        self.shapes = shapes;
        Ok(())
    }

    fn clear(&mut self) {
        self.plan.clear();
        self.instances.clear();
        self.values.clear();
        self.inputs.clear();
        self.touched.clear();
        self.bytes.clear();
        self.elements.clear();
        self.newest.clear();
        self.actions.clear();
        self.lines.clear();
        self.uses.clear();
        self.dependencies.clear();
        self.reply = None;
        self.row_count = 0;
        self.phases = 0;
    }

    /// One instance for the whole call.
    fn take_whole(&mut self) {
        self.instances.clear();
        self.touched.clear();
        let granules = self.plan.footprint().granules().iter().enumerate();
        self.touched.extend(granules.map(|(at, granule)| (at as u32, granule.mode)));
        self.instances.push(Instance {
            leaf: None,
            action: None,
            values: (0, 0),
            made: self.values.len() as u32,
            granules: (0, self.touched.len() as u32),
            keys: (0, 0),
        });
        self.row_count = 0;
    }

    /// The actions. Phases ascend along dependencies, not along this list.
    pub fn actions(&self) -> &[Action] {
        &self.actions
    }

    /// Which action (second) must wait for which (first); sorted, none twice.
    pub fn dependencies(&self) -> &[(u32, u32)] {
        &self.dependencies
    }

    /// How many phases there are.
    pub fn phases(&self) -> u32 {
        self.phases
    }

    /// The action that assembles the reply, when something is left for it to do.
    pub fn reply(&self) -> Option<u32> {
        self.reply
    }

    /// Whether the call is one action, run by [`ActionProgram::whole`].
    pub fn is_whole(&self) -> bool {
        self.is_whole
    }

    /// The runs of leaves, in program order.
    pub fn instances(&self) -> &[Instance] {
        &self.instances
    }

    /// An action's runs of leaves, in the order in which they are to be run.
    pub fn leaves(&self, action: &Action) -> &[u32] {
        &self.lines[action.leaves.0 as usize..action.leaves.1 as usize]
    }

    /// The granules an action works in, its home first.
    pub fn uses(&self, action: &Action) -> &[Use] {
        &self.uses[action.uses.0 as usize..action.uses.1 as usize]
    }

    /// A granule of the footprint.
    pub fn granule(&self, at: u32) -> &Granule {
        &self.plan.footprint().granules()[at as usize]
    }

    pub(super) fn values_of(&self, instance: &Instance) -> &[u32] {
        &self.inputs[instance.values.0 as usize..instance.values.1 as usize]
    }

    pub(super) fn newest(&self, slot: SlotId) -> u32 {
        self.newest[slot.index()]
    }
}
