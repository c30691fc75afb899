//! Shapes of calls: what forming looks at, so that calls of one shape are formed once.
//!
//! Role         between recording and forming ([`super::form`]): two New-Order calls of ten lines
//!              differ in keys and values, not in which leaf runs with whom and after whom
//! Invariants   I1 calls of one shape are formed alike: a shape is the program, the runs of leaves
//!              in order, the values that each takes and makes, and its granules, by their places
//!              in the footprint, with modes, and whether they are tables as a whole
//!              I2 memory is bounded, and taken once: [`PLACES`] forms, each with room for what a
//!              long call of TPC-C needs; longer ones are formed each time. A shape gets a place,
//!              and perhaps another one's, when it is met twice in a row there
//! Measured     TPC-C on LADS: see docs/benchmarking.md

use super::plan::{Action, ActionPlan, NONE, Use};
use super::program::ActionProgram;

/// Forms that are kept, a power of two.
const PLACES: usize = 128;
/// Words of a shape.
const WORDS_MAX: usize = 1536;
/// What a form may have: with these a place takes 16 KiB.
const VALUES_MAX: usize = 1024;
const INSTANCES_MAX: usize = 256;
const ACTIONS_MAX: usize = 64;
const USES_MAX: usize = 128;
const DEPENDENCIES_MAX: usize = 256;

/// What was formed of a shape.
#[derive(Debug)]
struct Form {
    shape: Vec<u32>,
    /// per value: whether it is live, and whether it passes
    values: Vec<(bool, bool)>,
    /// per instance; [`NONE`]: nobody needs it
    action_of: Vec<u32>,
    actions: Vec<Action>,
    lines: Vec<u32>,
    uses: Vec<Use>,
    dependencies: Vec<(u32, u32)>,
    reply: Option<u32>,
    phases: u32,
}

#[derive(Debug)]
struct Place {
    /// of the shape that was met last
    met: u64,
    /// of the shape that is kept
    hash: u64,
    form: Form,
}

/// See the module.
#[derive(Default, Debug)]
pub(super) struct Shapes {
    places: Vec<Place>,
    /// of the call that is being planned
    shape: Vec<u32>,
    hash: u64,
}

impl Shapes {
    /// Forms a recorded call as another one of its shape was; false, and nothing is done, if there
    /// is none.
    pub(super) fn form(&mut self, program: &ActionProgram, plan: &mut ActionPlan) -> bool {
        self.describe(program, plan);
        let Some(place) = self.places.get(self.hash as usize % PLACES) else { return false };
        let is_known = place.hash == self.hash && place.form.shape == self.shape;
        if is_known {
            place.form.put(plan);
        }
        is_known
    }

    /// Keeps what has been formed of the call that was [not known](Shapes::form).
    pub(super) fn keep(&mut self, plan: &ActionPlan) {
        if self.shape.len() > WORDS_MAX || !Form::has_room_for(plan) {
            return;
        }
        if self.places.is_empty() {
            let place = || Place { met: 0, hash: 0, form: Form::with_room() };
            self.places.resize_with(PLACES, place);
        }
        let place = &mut self.places[self.hash as usize % PLACES];
        if std::mem::replace(&mut place.met, self.hash) == self.hash {
            place.hash = self.hash;
            place.form.take(&self.shape, plan);
        }
    }

    fn describe(&mut self, program: &ActionProgram, plan: &ActionPlan) {
        let Self { shape, hash, .. } = self;
        let ActionPlan { instances, inputs, touched, row_count, .. } = plan;
        let (low, high) = (program.number as u32, (program.number >> 32) as u32);
        shape.clear();
        shape.extend([low, high, instances.len() as u32, inputs.len() as u32, *row_count]);
        for instance in instances {
            // Where one's values and granules end, the next one's begin.
            let leaf = instance.leaf.map_or(NONE, u32::from);
            shape.extend([leaf, instance.values.1, instance.made, instance.granules.1]);
        }
        shape.extend_from_slice(inputs);
        shape.extend(touched.iter().map(|&(at, mode)| {
            let is_table = plan.granule(at).table().is_some();
            at << 4 | (mode as u32) << 1 | u32::from(is_table)
        }));
        // Odd and with its bits spread, as in FxHash; equal hashes are compared on.
        let add = |hash: u64, &word: &u32| {
            (hash.rotate_left(5) ^ u64::from(word)).wrapping_mul(0x9e37_79b9_7f4a_7c15)
        };
        let folded = shape.iter().fold(0, add);
        *hash = folded ^ folded >> 32;
    }
}

impl Form {
    fn with_room() -> Self {
        Self {
            shape: Vec::with_capacity(WORDS_MAX),
            values: Vec::with_capacity(VALUES_MAX),
            action_of: Vec::with_capacity(INSTANCES_MAX),
            actions: Vec::with_capacity(ACTIONS_MAX),
            lines: Vec::with_capacity(INSTANCES_MAX),
            uses: Vec::with_capacity(USES_MAX),
            dependencies: Vec::with_capacity(DEPENDENCIES_MAX),
            reply: None,
            phases: 0,
        }
    }

    fn has_room_for(plan: &ActionPlan) -> bool {
        plan.values.len() <= VALUES_MAX
            && plan.instances.len() <= INSTANCES_MAX
            && plan.actions.len() <= ACTIONS_MAX
            && plan.uses.len() <= USES_MAX
            && plan.dependencies.len() <= DEPENDENCIES_MAX
    }

    fn take(&mut self, shape: &[u32], plan: &ActionPlan) {
        fn replace<T>(all: &mut Vec<T>, with: impl Iterator<Item = T>) {
            all.clear();
            all.extend(with);
        }
        replace(&mut self.shape, shape.iter().copied());
        replace(&mut self.values, plan.values.iter().map(|value| (value.live, value.passes)));
        let action_of = plan.instances.iter().map(|instance| instance.action.unwrap_or(NONE));
        replace(&mut self.action_of, action_of);
        replace(&mut self.actions, plan.actions.iter().copied());
        replace(&mut self.lines, plan.lines.iter().copied());
        replace(&mut self.uses, plan.uses.iter().copied());
        replace(&mut self.dependencies, plan.dependencies.iter().copied());
        (self.reply, self.phases) = (plan.reply, plan.phases);
    }

    fn put(&self, plan: &mut ActionPlan) {
        for (value, &(live, passes)) in plan.values.iter_mut().zip(&self.values) {
            (value.live, value.passes) = (live, passes);
        }
        for (instance, &action) in plan.instances.iter_mut().zip(&self.action_of) {
            instance.action = (action != NONE).then_some(action);
        }
        plan.actions.extend_from_slice(&self.actions);
        plan.lines.extend_from_slice(&self.lines);
        plan.uses.extend_from_slice(&self.uses);
        plan.dependencies.extend_from_slice(&self.dependencies);
        (plan.reply, plan.phases) = (self.reply, self.phases);
    }
}
