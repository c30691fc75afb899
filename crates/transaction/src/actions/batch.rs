//! The actions of many calls side by side, in a few lists that are used again batch after batch.
//!
//! Role         what an engine keeps of planned calls until it has run them: filled by
//!              [`Batch::add`] from one [`ActionPlan`] after the other, read by all threads that
//!              run actions ([`super::run`]). Knows no thread and no graph
//! Invariants   I1 all numbers in it (of instances, values, entries, actions) are the batch's, and
//!              those of one call follow one another
//!              I2 nothing is allocated once its lists have grown to the size of a batch
//! Source       lads.txt 4.2.3 (transactions decomposed into record actions, batch by batch)

use std::ops::Range;

use hotrow_base::datum::Datum;
use hotrow_base::ids::IndexId;

use super::plan::{ActionPlan, NONE};
use super::program::Kept;
use crate::granule::{LockMode, Space};
use crate::plan::{Granule, Plan};

/// A call of a batch.
#[derive(Clone, Copy, Debug)]
pub struct BatchCall {
    actions: (u32, u32),
    instances: (u32, u32),
    /// the value its caller hears as row count; [`NONE`]: none
    pub(super) row_count: u32,
}

/// A run of a leaf.
#[derive(Clone, Copy, Debug)]
pub(super) struct BatchInstance {
    /// which; none: the whole procedure
    pub(super) leaf: Option<u16>,
    /// guards' conditions, then inputs, then old values of outputs: places among inputs
    pub(super) values: (u32, u32),
    /// the first of its outputs
    pub(super) made: u32,
    /// planned keys: places among entries
    pub(super) keys: (u32, u32),
}

/// A value that leaves hand on.
#[derive(Clone, Copy, Debug)]
pub(super) struct BatchValue {
    /// what it is, if it is known; with ranges of the batch's bytes and elements
    pub(super) known: Datum,
    pub(super) is_known: bool,
    pub(super) live: bool,
    pub(super) passes: bool,
    pub(super) kept: Kept,
}

/// A key that planning computed.
#[derive(Clone, Copy, Debug)]
pub struct BatchEntry {
    start: u32,
    len: u32,
    pub(super) site: u16,
    /// the index
    pub index: IndexId,
    /// its hash
    pub hash: u64,
}

/// An action.
#[derive(Clone, Copy, Debug)]
pub struct BatchAction {
    /// the call it is of
    pub call: u32,
    /// actions it depends on have lower ones
    pub phase: u32,
    /// it works on values alone, and reads tables that nobody writes
    pub is_pure: bool,
    /// see [`Action::meets_own`](super::Action::meets_own)
    pub meets_own: bool,
    lines: (u32, u32),
    uses: (u32, u32),
}

/// A granule that an action works in.
#[derive(Clone, Copy, Debug)]
pub struct BatchUse {
    /// identity of its lock
    pub lock: u64,
    /// its lock space
    pub space: Space,
    /// how it is used
    pub mode: LockMode,
    /// the first bytes of its key, as a number that ascends with keys
    pub head: u64,
}

/// See the module.
#[derive(Default, Debug)]
pub struct Batch {
    pub(super) calls: Vec<BatchCall>,
    pub(super) instances: Vec<BatchInstance>,
    pub(super) values: Vec<BatchValue>,
    pub(super) inputs: Vec<u32>,
    pub(super) bytes: Vec<u8>,
    pub(super) elements: Vec<Datum>,
    pub(super) entries: Vec<BatchEntry>,
    key_bytes: Vec<u8>,
    actions: Vec<BatchAction>,
    lines: Vec<u32>,
    uses: Vec<BatchUse>,
    dependencies: Vec<(u32, u32)>,
}

impl Batch {
    /// Forgets all calls, keeps the memory.
    pub fn clear(&mut self) {
        self.calls.clear();
        self.instances.clear();
        self.values.clear();
        self.inputs.clear();
        self.bytes.clear();
        self.elements.clear();
        self.entries.clear();
        self.key_bytes.clear();
        self.actions.clear();
        self.lines.clear();
        self.uses.clear();
        self.dependencies.clear();
    }

    /// Adds a call that does nothing: it is known already how it ends.
    pub fn add_empty(&mut self) {
        let (next, instance) = (self.actions.len() as u32, self.instances.len() as u32);
        self.calls.push(BatchCall {
            actions: (next, next),
            instances: (instance, instance),
            row_count: NONE,
        });
    }

    /// Adds a planned call, in one action for all its granules if it is to run as a whole.
    pub fn add_whole(&mut self, plan: &Plan) {
        let (call, action) = (self.calls.len() as u32, self.actions.len() as u32);
        let (line, instance) = (self.lines.len() as u32, self.instances.len() as u32);
        let first = self.uses.len() as u32;
        for granule in plan.footprint().granules() {
            self.uses.push(use_of(plan, granule, granule.mode));
        }
        self.lines.push(instance);
        let (inputs, entries) = (self.inputs.len() as u32, self.entries.len() as u32);
        let made = self.values.len() as u32;
        self.values.push(BatchValue {
            known: Datum::NULL,
            is_known: false,
            live: true,
            passes: false,
            kept: Kept::Plain,
        });
        self.instances.push(BatchInstance {
            leaf: None,
            values: (inputs, inputs),
            made,
            keys: (entries, entries),
        });
        self.actions.push(BatchAction {
            call,
            phase: 0,
            is_pure: false,
            meets_own: false,
            lines: (line, line + 1),
            uses: (first, self.uses.len() as u32),
        });
        self.calls.push(BatchCall {
            actions: (action, action + 1),
            instances: (instance, instance + 1),
            row_count: made,
        });
    }

    /// Adds a call in the actions it was planned into.
    pub fn add(&mut self, plan: &ActionPlan) {
        if plan.is_whole() {
            return self.add_whole(&plan.plan);
        }
        let call = self.calls.len() as u32;
        let value = self.values.len() as u32;
        self.add_values(plan);
        self.add_instances(plan, value);
        let first = self.actions.len() as u32;
        let line = self.lines.len() as u32;
        let used = self.uses.len() as u32;
        let instance = self.instances.len() as u32 - plan.instances.len() as u32;
        self.lines.extend(plan.lines.iter().map(|&at| instance + at));
        self.uses.extend(
            plan.uses.iter().map(|held| use_of(&plan.plan, plan.granule(held.granule), held.mode)),
        );
        self.actions.extend(plan.actions.iter().map(|action| BatchAction {
            call,
            phase: action.phase,
            is_pure: action.home.is_none() && !action.writes,
            meets_own: action.meets_own,
            lines: (line + action.leaves.0, line + action.leaves.1),
            uses: (used + action.uses.0, used + action.uses.1),
        }));
        self.dependencies
            .extend(plan.dependencies.iter().map(|&(from, to)| (first + from, first + to)));
        let row_count = value + plan.row_count;
        let actions = (first, self.actions.len() as u32);
        let instances = (instance, self.instances.len() as u32);
        self.calls.push(BatchCall { actions, instances, row_count });
    }

    fn add_values(&mut self, plan: &ActionPlan) {
        let (bytes, elements) = (self.bytes.len() as u32, self.elements.len() as u32);
        self.bytes.extend_from_slice(&plan.bytes);
        self.elements.extend_from_slice(&plan.elements);
        self.values.extend(plan.values.iter().map(|value| {
            let is_known = value.maker == NONE;
            let known = match value.kept {
                _ if !is_known || value.datum.is_null() => value.datum,
                Kept::Plain => value.datum,
                Kept::Bytes => moved(value.datum, bytes),
                Kept::Array(of_bytes) => {
                    let list = moved(value.datum, elements);
                    if of_bytes {
                        // Each value has elements of its own.
                        for element in &mut self.elements[list.as_range().range()] {
                            if !element.is_null() {
                                *element = moved(*element, bytes);
                            }
                        }
                    }
                    list
                }
            };
            let (live, passes, kept) = (value.live, value.passes, value.kept);
            BatchValue { known, is_known, live, passes, kept }
        }));
    }

    fn add_instances(&mut self, plan: &ActionPlan, value: u32) {
        let (input, entry) = (self.inputs.len() as u32, self.entries.len() as u32);
        self.inputs.extend(plan.inputs.iter().map(|&input| value + input));
        for entry in plan.plan.entries() {
            let key = plan.plan.key(entry);
            let start = self.key_bytes.len() as u32;
            self.key_bytes.extend_from_slice(key);
            self.entries.push(BatchEntry {
                start,
                len: key.len() as u32,
                site: entry.site,
                index: entry.index,
                hash: entry.hash,
            });
        }
        self.instances.extend(plan.instances.iter().map(|instance| BatchInstance {
            leaf: instance.leaf,
            values: (input + instance.values.0, input + instance.values.1),
            made: value + instance.made,
            keys: (entry + instance.keys.0, entry + instance.keys.1),
        }));
    }

    /// The calls.
    pub fn calls(&self) -> &[BatchCall] {
        &self.calls
    }

    /// The actions, call by call.
    pub fn actions(&self) -> &[BatchAction] {
        &self.actions
    }

    /// The numbers of a call's actions. Phases ascend along dependencies, not along numbers.
    pub fn actions_of(&self, call: &BatchCall) -> Range<u32> {
        call.actions.0..call.actions.1
    }

    /// The numbers of a call's instances, in program order.
    pub fn instances_of(&self, call: &BatchCall) -> Range<u32> {
        call.instances.0..call.instances.1
    }

    /// Which action (second) must wait for which (first): of all calls, call by call.
    pub fn dependencies(&self) -> &[(u32, u32)] {
        &self.dependencies
    }

    /// An action's runs of leaves, in the order in which they are to be run; their numbers ascend
    /// with their places in the procedure.
    pub fn lines(&self, action: &BatchAction) -> &[u32] {
        &self.lines[action.lines.0 as usize..action.lines.1 as usize]
    }

    /// The granules an action works in, its home first.
    pub fn uses(&self, action: &BatchAction) -> &[BatchUse] {
        &self.uses[action.uses.0 as usize..action.uses.1 as usize]
    }

    /// Where an action's uses stand among those of all actions.
    pub fn places_of_uses(&self, action: &BatchAction) -> Range<u32> {
        action.uses.0..action.uses.1
    }

    /// The uses of all actions.
    pub fn all_uses(&self) -> &[BatchUse] {
        &self.uses
    }

    /// The planned keys, in the order of instances.
    pub fn entries(&self) -> &[BatchEntry] {
        &self.entries
    }

    /// A planned key's bytes; empty when it has a NULL and matches nothing.
    #[inline]
    pub fn key(&self, entry: &BatchEntry) -> &[u8] {
        &self.key_bytes[entry.start as usize..(entry.start + entry.len) as usize]
    }

    /// How many values there are.
    pub fn values(&self) -> usize {
        self.values.len()
    }
}

fn use_of(plan: &Plan, granule: &Granule, mode: LockMode) -> BatchUse {
    let key = plan.granule_key(granule);
    let mut head = [0; 8];
    let bytes = key.len().min(head.len());
    head[..bytes].copy_from_slice(&key[..bytes]);
    let (lock, space) = (granule.lock, granule.space);
    BatchUse { lock, space, mode, head: u64::from_be_bytes(head) }
}

fn moved(range: Datum, by: u32) -> Datum {
    let range = range.as_range();
    Datum::range(range.start + by, range.len)
}
