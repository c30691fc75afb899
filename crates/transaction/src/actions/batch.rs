//! The actions of many calls side by side, in a few lists that are used again batch after batch.
//!
//! Role         what an engine keeps of planned calls until it has run them: filled by
//!              [`ActionPlanner::add`](super::ActionPlanner::add), read by all threads that run
//!              actions ([`super::run`]). Knows no thread and no graph
//! Invariants   I1 what belongs to one call stands together. Numbers of actions, of instances
//!              (runs of leaves) and of dependencies are the batch's; inside an instance they count
//!              from the call's first ones, so that what calls of one shape have in common is
//!              copied as it is
//!              I2 nothing is allocated once its lists have grown to the size of a batch
//! Source       lads.txt 4.2.3 (transactions decomposed into record actions, batch by batch)

use std::ops::Range;

use hotrow_base::datum::Datum;
use hotrow_base::pool::NONE;

use super::program::Kept;
use super::shape::Form;
use crate::frame::{Frame, Machine};
use crate::plan::{Entry, Granule, Plan};
use crate::program::SlotId;

/// A call of a batch.
#[derive(Clone, Copy, Debug)]
pub struct BatchCall {
    /// why it is one action, if it is one for such a reason
    pub whole: Option<WhyWhole>,
    actions: (u32, u32),
    instances: (u32, u32),
    /// the first of its inputs
    pub(super) inputs: u32,
    /// the first of its values
    pub(super) values: u32,
    /// the first of its known values
    pub(super) known: u32,
    /// the first of its planned keys
    pub(super) keys: u32,
    /// the value its caller hears as row count; [`NONE`]: none
    pub(super) row_count: u32,
}

/// What the actions of a call are to be like.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Wanted {
    /// ordered as their values and granules ask for it
    Actions,
    /// besides, none writes before the program has decided that the call goes on; where that
    /// cannot be, it is one action
    ConditionsFirst,
    /// one action
    Whole,
}

/// Why a call is one action.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WhyWhole {
    /// its procedure cannot be cut
    Uncut,
    /// planning takes more steps than a call may
    TooLong,
    /// its conditions cannot come before all of its changes, as was wanted
    DecidesLate,
    /// that was wanted
    Wanted,
    /// all it touches is with one worker
    Local,
}

/// A run of a leaf.
#[derive(Clone, Copy, Debug)]
pub(super) struct Instance {
    /// which; none: the whole procedure
    pub(super) leaf: Option<u16>,
    /// places among inputs: guards' conditions, then inputs, then, when there are guards, the old
    /// values of outputs; those that the same action makes are marked as [`HERE`]
    pub(super) inputs: (u32, u32),
    /// the first of its outputs
    pub(super) made: u32,
    /// planned keys
    pub(super) keys: (u32, u32),
}

/// Marks an input that an instance of the same action makes. Those run in program order and in one
/// frame, and a value is always in its variable's slot: it is still there.
pub(super) const HERE: u32 = 1 << 31;

/// A value that leaves hand on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Value {
    /// its place among known values; [`NONE`]: a leaf makes it
    pub(super) known: u32,
    pub(super) kept: Kept,
    /// an action other than its maker's needs it: those of its own find it in its slot
    pub(super) crosses: bool,
    /// somebody needs it
    pub(super) live: bool,
    /// somebody needs it even when its maker is disabled: then it is the old value of its slot
    pub(super) passes: bool,
}

/// What one thread runs from start to end.
#[derive(Clone, Copy, Debug)]
pub struct Action {
    /// the call it is of
    pub call: u32,
    /// actions it depends on have lower ones; those of one phase may run at once
    pub phase: u32,
    /// one of its leaves may end the call
    pub may_stop: bool,
    /// in one of its leaves the program decides whether the call goes on
    pub decides: bool,
    /// it may meet what another action of the call has changed: without that its outcome would be
    /// another one
    pub meets_own: bool,
    /// one of its leaves changes records
    pub writes: bool,
    pub(super) lines: (u32, u32),
    pub(super) uses: (u32, u32),
}

impl Action {
    /// Whether it works on values alone, and reads tables and columns that nobody writes.
    #[inline]
    pub const fn is_pure(&self) -> bool {
        self.uses.0 == self.uses.1 && !self.writes
    }
}

/// Actions, their values and dependencies, in lists with offsets per call.
#[derive(Default, Debug)]
pub struct Batch {
    /// the planned keys of all calls, and the footprint of the one that was added last
    pub plan: Plan,
    pub(super) calls: Vec<BatchCall>,
    pub(super) instances: Vec<Instance>,
    pub(super) inputs: Vec<u32>,
    pub(super) values: Vec<Value>,
    /// known values, with ranges of bytes and elements
    pub(super) known: Vec<Datum>,
    pub(super) bytes: Vec<u8>,
    pub(super) elements: Vec<Datum>,
    actions: Vec<Action>,
    lines: Vec<u32>,
    uses: Vec<Granule>,
    dependencies: Vec<(u32, u32)>,
}

/// Where in a batch a call begins that is being planned.
pub(super) struct Begun {
    plan: (usize, usize),
    known: usize,
    bytes: usize,
    elements: usize,
}

impl Batch {
    /// Forgets all calls, keeps the memory.
    pub fn clear(&mut self) {
        self.plan.clear();
        self.calls.clear();
        self.instances.clear();
        self.inputs.clear();
        self.values.clear();
        self.known.clear();
        self.bytes.clear();
        self.elements.clear();
        self.actions.clear();
        self.lines.clear();
        self.uses.clear();
        self.dependencies.clear();
    }

    /// Adds a call that does nothing here: it is known already how it ends.
    pub fn add_empty(&mut self) {
        let begun = self.begin();
        self.calls.push(self.next_call(&begun, (0, 0), NONE));
    }

    /// What is recorded next belongs to another call.
    pub(super) fn begin(&self) -> Begun {
        let Self { plan, known, bytes, elements, .. } = self;
        let (known, bytes, elements) = (known.len(), bytes.len(), elements.len());
        Begun { plan: plan.end(), known, bytes, elements }
    }

    /// Keeps the values that a frame has in slots.
    #[inline]
    pub(super) fn capture(&mut self, slots: &[(SlotId, Kept)], frame: &Frame) {
        for &(slot, kept) in slots {
            let datum = match (frame.slot(slot), kept) {
                (datum, Kept::Plain) => datum,
                (datum, _) if datum.is_null() => datum,
                (datum, kept) => self.keep(datum, kept, frame),
            };
            self.known.push(datum);
        }
    }

    #[inline(never)]
    fn keep(&mut self, datum: Datum, kept: Kept, frame: &Frame) -> Datum {
        let Self { bytes, elements, .. } = self;
        let mut keep =
            |value: Datum| Datum::of_bytes(&frame.heap()[value.as_range().range()], bytes);
        let Kept::Array(of_bytes) = kept else { return keep(datum) };
        let (start, range) = (elements.len(), datum.as_range());
        elements.extend(
            frame.elements()[range.range()].iter().map(|&element| {
                if of_bytes && !element.is_null() { keep(element) } else { element }
            }),
        );
        elements.extend_from_slice(dimensions_behind(datum, frame.elements()));
        datum.starting_at(start)
    }

    /// Puts a known value into a frame's memory; what it is there.
    #[inline]
    pub(super) fn give(&self, known: u32, kept: Kept, machine: &mut Machine) -> Datum {
        let datum = self.known[known as usize];
        match kept {
            Kept::Plain => datum,
            _ if datum.is_null() => datum,
            Kept::Bytes => machine.keep(&self.bytes[datum.as_range().range()]),
            Kept::Array(of_bytes) => {
                let (start, range) = (machine.elements.len(), datum.as_range());
                for &element in &self.elements[range.range()] {
                    let element = match of_bytes && !element.is_null() {
                        true => machine.keep(&self.bytes[element.as_range().range()]),
                        false => element,
                    };
                    machine.elements.push(element);
                }
                machine.elements.extend_from_slice(dimensions_behind(datum, &self.elements));
                datum.starting_at(start)
            }
        }
    }

    /// Forgets what has been recorded of a call.
    pub(super) fn cut_back(&mut self, begun: &Begun) {
        self.plan.cut_back(begun.plan);
        self.known.truncate(begun.known);
        self.bytes.truncate(begun.bytes);
        self.elements.truncate(begun.elements);
    }

    /// Puts a recorded call in one action for all its granules.
    pub(super) fn put_whole(&mut self, begun: &Begun, why: WhyWhole) {
        // They are the keys of its leaves. Those of granules are among the bytes of keys.
        self.plan.cut_back((begun.plan.0, self.plan.end().1));
        self.put_planned(begun, why);
    }

    /// As [`Batch::put_whole`], for one that was planned in one piece: it is run with its keys.
    pub(super) fn put_planned(&mut self, begun: &Begun, why: WhyWhole) {
        let keys = (self.plan.end().0 - begun.plan.0) as u32;
        let (used, line) = (self.uses.len() as u32, self.lines.len() as u32);
        self.uses.extend_from_slice(self.plan.footprint().granules());
        let action = Action {
            call: self.calls.len() as u32,
            phase: 0,
            may_stop: true,
            decides: true,
            meets_own: false,
            writes: true,
            lines: (line, line + 1),
            uses: (used, self.uses.len() as u32),
        };
        let call = BatchCall { whole: Some(why), ..self.next_call(begun, (1, 1), 0) };
        self.lines.push(call.instances.0);
        self.actions.push(action);
        self.instances.push(Instance { leaf: None, inputs: (0, 0), made: 0, keys: (0, keys) });
        self.values.push(Value {
            known: NONE,
            kept: Kept::Plain,
            crosses: true,
            live: true,
            passes: false,
        });
        self.calls.push(call);
    }

    /// Puts a recorded call in the actions that its shape is formed into.
    pub(super) fn put(&mut self, form: &Form, begun: &Begun) {
        let call = self.calls.len() as u32;
        let count = (form.actions.len(), form.instances.len());
        self.calls.push(self.next_call(begun, count, form.row_count));
        let (line, used) = (self.lines.len() as u32, self.uses.len() as u32);
        let (action, instance) = (self.actions.len() as u32, self.instances.len() as u32);
        self.instances.extend_from_slice(&form.instances);
        self.inputs.extend_from_slice(&form.inputs);
        self.values.extend_from_slice(&form.values);
        self.lines.extend(form.lines.iter().map(|&at| instance + at));
        let granules = self.plan.footprint().granules();
        self.uses.extend(form.uses.iter().map(|&(at, mode)| granules[at as usize].held_in(mode)));
        self.actions.extend(form.actions.iter().map(|formed| Action {
            call,
            lines: (line + formed.lines.0, line + formed.lines.1),
            uses: (used + formed.uses.0, used + formed.uses.1),
            ..*formed
        }));
        let dependencies = form.dependencies.iter();
        self.dependencies.extend(dependencies.map(|&(from, to)| (action + from, action + to)));
    }

    fn next_call(
        &self,
        begun: &Begun,
        (actions, instances): (usize, usize),
        row_count: u32,
    ) -> BatchCall {
        let next = |len: usize, count: usize| (len as u32, (len + count) as u32);
        BatchCall {
            whole: None,
            actions: next(self.actions.len(), actions),
            instances: next(self.instances.len(), instances),
            inputs: self.inputs.len() as u32,
            values: self.values.len() as u32,
            known: begun.known as u32,
            keys: begun.plan.0 as u32,
            row_count,
        }
    }

    /// The calls.
    pub fn calls(&self) -> &[BatchCall] {
        &self.calls
    }

    /// The actions, call by call.
    pub fn actions(&self) -> &[Action] {
        &self.actions
    }

    /// The numbers of a call's actions, phase by phase.
    pub fn actions_of(&self, call: &BatchCall) -> Range<u32> {
        call.actions.0..call.actions.1
    }

    /// The numbers of a call's instances, in program order.
    pub fn instances_of(&self, call: &BatchCall) -> Range<u32> {
        call.instances.0..call.instances.1
    }

    /// Which leaf an instance runs; none: the whole procedure.
    pub fn leaf(&self, instance: u32) -> Option<u16> {
        self.instances[instance as usize].leaf
    }

    /// Which action (second) must wait for which (first): of all calls, call by call, each call's
    /// sorted, none twice.
    pub fn dependencies(&self) -> &[(u32, u32)] {
        &self.dependencies
    }

    /// An action's runs of leaves, in the order in which they are to be run; their numbers ascend
    /// with their places in the procedure.
    pub fn lines(&self, action: &Action) -> &[u32] {
        &self.lines[action.lines.0 as usize..action.lines.1 as usize]
    }

    /// The granules an action works in, in the modes in which it needs them; the one it was made
    /// for first.
    pub fn uses(&self, action: &Action) -> &[Granule] {
        &self.uses[action.uses.0 as usize..action.uses.1 as usize]
    }

    /// Where an action's uses stand among those of all actions.
    pub fn places_of_uses(&self, action: &Action) -> Range<u32> {
        action.uses.0..action.uses.1
    }

    /// The uses of all actions.
    pub fn all_uses(&self) -> &[Granule] {
        &self.uses
    }

    /// The planned keys, in the order of instances.
    pub fn entries(&self) -> &[Entry] {
        self.plan.entries()
    }

    /// How many values there are.
    pub fn values(&self) -> usize {
        self.values.len()
    }
}

/// The dimensions behind an array's elements: none of a plain one.
fn dimensions_behind(array: Datum, list: &[Datum]) -> &[Datum] {
    let (all, elements) = (array.whole_array(), array.as_range().range());
    &list[elements.end..all.end]
}
