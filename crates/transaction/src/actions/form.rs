//! Forming actions from runs of leaves: who runs with whom, in which phase, after whom.
//!
//! Role         second half of planning: makes the [`Form`] of a [`Shape`], and looks at nothing
//!              else. Slots are turned into values that are made once: an output is a new value, an
//!              input is the newest value of its slot at that point, or what the driver holds
//! Source       dora.txt 4.1 (flow graphs, phases), lads.txt 4.1 (logical dependencies, condition
//!              checks first). A pure leaf runs in the action that makes its last input, when
//!              that is one action: so condition checks come as early as they can, and what several
//!              actions need is not held up in one of them. Pure leaves without inputs run in the
//!              first action that needs them.

use std::ops::Range;

use hotrow_base::pool::NONE;

use super::batch::{Action, HERE, Instance, Value};
use super::cut::Step;
use super::leaf::Leaf;
use super::program::{ActionProgram, Kept};
use super::shape::{Did, Form, Shape, Touched};
use crate::granule::LockMode;
use crate::program::{FOUND, ROW_COUNT, SlotId};

/// The first phase in which somebody may run: behind the actions it waits for. Kept so that it can
/// be asked "what if I were part of action a".
#[derive(Clone, Copy, Debug)]
struct Ready {
    /// over all actions
    phase: u32,
    /// the action that decides it
    action: u32,
    /// over all other actions
    other: u32,
}

impl Ready {
    const AT_ONCE: Self = Self { phase: 0, action: NONE, other: 0 };

    /// Waits for `action`, and so until `phase`.
    fn wait(&mut self, action: u32, phase: u32) {
        if action == self.action || action == NONE {
            return;
        }
        if phase > self.phase {
            *self = Self { phase, action, other: self.phase.max(self.other) };
        } else {
            self.other = self.other.max(phase);
        }
    }

    fn within(&self, action: u32) -> u32 {
        if self.action == action { self.other } else { self.phase }
    }
}

/// A use of a granule by an action; two lists go through these.
#[derive(Clone, Copy, Debug)]
struct Held {
    action: u32,
    granule: u32,
    modes: Modes,
    /// older one of the same granule
    older: u32,
}

/// The modes in which one action's leaves use one granule. Not joined: S with IX would be X, and
/// conflict with IS, which neither does.
#[derive(Clone, Copy, Debug)]
struct Modes(u8);

impl Modes {
    const ALL: [LockMode; 4] =
        [LockMode::IntentShared, LockMode::IntentExclusive, LockMode::Shared, LockMode::Exclusive];

    const fn of(mode: LockMode) -> Self {
        Self(1 << mode as u8)
    }

    const fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    fn each(self) -> impl Iterator<Item = LockMode> {
        Self::ALL.into_iter().filter(move |&mode| self.0 & Self::of(mode).0 != 0)
    }

    fn compatible(self, other: Self) -> bool {
        self.each().all(|mode| other.each().all(|other| mode.compatible(other)))
    }

    const fn announces_changes(self) -> bool {
        self.is_exclusive() || self.0 & Self::of(LockMode::IntentExclusive).0 != 0
    }

    const fn is_exclusive(self) -> bool {
        self.0 & Self::of(LockMode::Exclusive).0 != 0
    }

    fn strongest(self) -> LockMode {
        self.each().reduce(LockMode::join).unwrap_or(LockMode::IntentShared)
    }
}

/// Values that stand before all others, as they are recorded.
const NULL: u32 = 0;
const FALSE: u32 = 1;
const ZERO: u32 = 2;

/// Working memory.
#[derive(Default, Debug)]
pub(super) struct Former {
    /// newest value of each slot
    newest: Vec<u32>,
    /// how many values are known
    known: u32,
    /// per value: the instance that makes it; [`NONE`]: it is known
    made_by: Vec<u32>,
    /// granules, by instance
    touched: Vec<Touched>,
    /// where each instance's end
    touched_end: Vec<usize>,
    /// per instance
    live: Vec<bool>,
    /// last round in which it was looked at
    seen: Vec<u32>,
    round: u32,
    makers: Makers,
    action: Vec<u32>,
    /// per action: the granule it was made for; [`NONE`]: it works on values alone and on tables
    /// nobody writes
    homes: Vec<u32>,
    /// per granule of the footprint: its newest use
    newest_use: Vec<u32>,
    held: Vec<Held>,
    /// per phase: the action that works on values alone
    pure: Vec<u32>,
    /// instances yet to be given to an action
    sinking: Vec<u32>,
}

impl Former {
    /// Makes the form of a shape; `form` is empty.
    pub(super) fn form(&mut self, program: &ActionProgram, shape: &Shape, form: &mut Form) {
        self.read(program, shape, form);
        self.begin(form);
        self.find_live(program, form);
        self.makers.find(program, form, (&self.live, &self.made_by));
        for instance in 0..form.instances.len() as u32 {
            if self.live[instance as usize] {
                self.put(program, form, instance);
            }
        }
        self.reply(form);
        self.cross(program, form);
        self.lay_out(program, form);
        self.depend(form);
    }

    /// The runs of leaves in a shape, and the values that they hand on.
    fn read(&mut self, program: &ActionProgram, shape: &Shape, form: &mut Form) {
        self.known = 0;
        self.made_by.clear();
        self.touched.clear();
        self.touched_end.clear();
        self.newest.clear();
        self.newest.resize(program.kept.len(), NULL);
        for _ in [NULL, FALSE, ZERO] {
            self.know(form, Kept::Plain);
        }
        self.newest[FOUND.index()] = FALSE;
        self.newest[ROW_COUNT.index()] = ZERO;
        for &(slot, kept) in &program.own_parameters {
            self.newest[slot.index()] = self.know(form, kept);
        }
        for did in shape.each() {
            match did {
                Did::Touch(touched) => self.touched.push(touched),
                Did::Step(step, keys) => match program.steps[step as usize] {
                    Step::Leaf(leaf) => self.read_leaf(program, (leaf, keys), form),
                    Step::Let { slot, .. } => {
                        let kept = program.kept[slot.index()];
                        self.newest[slot.index()] = self.know(form, kept);
                    }
                    Step::Nothing => {}
                },
            }
        }
        form.row_count = self.newest[ROW_COUNT.index()];
    }

    fn read_leaf(&mut self, program: &ActionProgram, (number, keys): (u16, u32), form: &mut Form) {
        let leaf = &program.leaves[number as usize];
        let first = form.inputs.len() as u32;
        let guards = leaf.guards.iter().map(|guard| self.newest[guard.slot.index()]);
        form.inputs.extend(guards);
        for input in &leaf.inputs {
            let value = match input.known {
                true => self.know(form, program.kept[input.slot.index()]),
                false => self.newest[input.slot.index()],
            };
            form.inputs.push(value);
        }
        if !leaf.guards.is_empty() {
            form.inputs.extend(leaf.outputs.iter().map(|output| self.newest[output.index()]));
        }
        let (made, maker) = (form.values.len() as u32, form.instances.len() as u32);
        for &SlotId(slot) in &leaf.outputs {
            let slot = usize::from(slot);
            self.newest[slot] = add_value(form, NONE, program.kept[slot]);
            self.made_by.push(maker);
        }
        let key = form.instances.last().map_or(0, |before| before.keys.1);
        form.instances.push(Instance {
            leaf: Some(number),
            inputs: (first, form.inputs.len() as u32),
            made,
            keys: (key, key + keys),
        });
        self.touched_end.push(self.touched.len());
    }

    /// A value that is known; its number.
    fn know(&mut self, form: &mut Form, kept: Kept) -> u32 {
        let known = self.known;
        self.known += 1;
        self.made_by.push(NONE);
        add_value(form, known, kept)
    }

    fn begin(&mut self, form: &Form) {
        let instances = form.instances.len();
        self.live.clear();
        self.live.resize(instances, false);
        self.seen.clear();
        self.seen.resize(instances, 0);
        self.round = 0;
        self.action.clear();
        self.action.resize(instances, NONE);
        self.homes.clear();
        let granules = self.touched.iter().map(|touched| touched.granule as usize + 1).max();
        self.newest_use.clear();
        self.newest_use.resize(granules.unwrap_or(0), NONE);
        self.held.clear();
        self.pure.clear();
        self.sinking.clear();
    }

    fn touched_by(&self, instance: u32) -> Range<usize> {
        let at = instance as usize;
        let start = if at == 0 { 0 } else { self.touched_end[at - 1] };
        start..self.touched_end[at]
    }

    /// An instance that has no effect and makes nothing that is needed is left out.
    fn find_live(&mut self, program: &ActionProgram, form: &mut Form) {
        let row_count = &mut form.values[form.row_count as usize];
        (row_count.crosses, row_count.live, row_count.passes) = (true, true, true);
        for at in (0..form.instances.len()).rev() {
            let instance = form.instances[at];
            let leaf = leaf_of(program, &instance);
            let made = instance.made as usize..instance.made as usize + leaf.outputs.len();
            let is_needed = form.values[made.clone()].iter().any(|value| value.live);
            if !(is_needed || leaf.stops || leaf.writes || leaf.returns) {
                continue;
            }
            self.live[at] = true;
            let (start, end) = (instance.inputs.0 as usize, instance.inputs.1 as usize);
            let read = start + leaf.guards.len() + leaf.inputs.len();
            for at_input in start..read {
                let value = form.inputs[at_input] as usize;
                let maker = self.made_by[value];
                let passes = maker != NONE && !runs_only_with(program, form, &instance, maker);
                form.values[value].live = true;
                form.values[value].passes |= passes;
            }
            for (value, old) in made.zip(read..end) {
                if form.values[value].passes {
                    let old = &mut form.values[form.inputs[old] as usize];
                    (old.live, old.passes) = (true, true);
                }
            }
        }
    }

    /// What an instance waits for, through leaves that have no action yet.
    fn ready(&mut self, form: &Form, instance: u32) -> Ready {
        let Self { action: actions, makers, seen, round, sinking: stack, .. } = self;
        let mut ready = Ready::AT_ONCE;
        let mut look = |maker: u32, stack: &mut Vec<u32>| match actions[maker as usize] {
            NONE => stack.push(maker),
            action => ready.wait(action, form.actions[action as usize].phase + 1),
        };
        makers.of(instance).iter().for_each(|&maker| look(maker, stack));
        if !stack.is_empty() {
            *round += 1;
        }
        while let Some(instance) = stack.pop() {
            if std::mem::replace(&mut seen[instance as usize], *round) != *round {
                makers.of(instance).iter().for_each(|&maker| look(maker, stack));
            }
        }
        ready
    }

    fn put(&mut self, program: &ActionProgram, form: &mut Form, instance: u32) {
        let mut ready = self.ready(form, instance);
        let touched = self.touched_by(instance);
        let home = self.touched[touched.clone()].iter().find(|touched| touched.is_home);
        // An index without granules led to no row: the table is announced all the same.
        let home = home.or_else(|| self.touched[touched.clone()].first());
        let home = home.map(|home| home.granule);
        let action = match home {
            Some(home) => {
                for touched in &self.touched[touched.clone()] {
                    self.wait_for_granule(form, &mut ready, touched);
                }
                let last = self.newest_use[home as usize];
                let last = if last == NONE { NONE } else { self.held[last as usize].action };
                match joinable(form, &ready, last) {
                    true => last,
                    false => self.open(form, ready.phase, home),
                }
            }
            None => {
                let leaf = leaf_of(program, &form.instances[instance as usize]);
                match self.pure_action(form, &ready, leaf) {
                    NONE => return,
                    action => action,
                }
            }
        };
        if home.is_some() {
            for at in touched {
                self.hold(action, self.touched[at]);
            }
        }
        self.sink(instance, action);
    }

    /// The action of a leaf that works on values alone; [`NONE`]: decided later.
    fn pure_action(&mut self, form: &mut Form, ready: &Ready, leaf: &Leaf) -> u32 {
        if !leaf.stops && leaf.returns {
            return NONE;
        }
        if joinable(form, ready, ready.action) {
            return ready.action;
        }
        if !leaf.stops {
            return NONE;
        }
        let phase = ready.phase as usize;
        if self.pure.len() <= phase {
            self.pure.resize(phase + 1, NONE);
        }
        if self.pure[phase] == NONE {
            self.pure[phase] = self.open(form, ready.phase, NONE);
        }
        self.pure[phase]
    }

    fn wait_for_granule(&self, form: &Form, ready: &mut Ready, touched: &Touched) {
        let mut at = self.newest_use[touched.granule as usize];
        while at != NONE {
            let held = self.held[at as usize];
            if !held.modes.compatible(Modes::of(touched.mode)) {
                ready.wait(held.action, form.actions[held.action as usize].phase + 1);
            }
            if held.modes.is_exclusive() {
                return;
            }
            at = held.older;
        }
    }

    /// Notes an action's use of a granule. In front of its list, unless the action was there
    /// already and does not become exclusive: so everything behind an exclusive use comes before
    /// it, in list and phase, and everything in front of it after.
    fn hold(&mut self, action: u32, touched: Touched) {
        let Touched { granule, mode, .. } = touched;
        let head = self.newest_use[granule as usize];
        let (mut at, mut newer) = (head, NONE);
        while at != NONE && self.held[at as usize].action != action {
            newer = at;
            at = self.held[at as usize].older;
        }
        if at == NONE {
            self.held.push(Held { action, granule, modes: Modes::of(mode), older: head });
            self.newest_use[granule as usize] = self.held.len() as u32 - 1;
            return;
        }
        let held = &mut self.held[at as usize];
        let is_new = mode == LockMode::Exclusive && !held.modes.is_exclusive();
        held.modes = held.modes.with(Modes::of(mode));
        if is_new && newer != NONE {
            let older = std::mem::replace(&mut held.older, head);
            self.held[newer as usize].older = older;
            self.newest_use[granule as usize] = at;
        }
    }

    /// Gives an instance to an action, with everything it takes from leaves that have none yet.
    fn sink(&mut self, instance: u32, action: u32) {
        let Self { sinking, action: actions, makers, .. } = self;
        sinking.push(instance);
        while let Some(instance) = sinking.pop() {
            let of = &mut actions[instance as usize];
            if *of == NONE {
                *of = action;
                let makers = makers.of(instance).iter();
                sinking.extend(makers.filter(|&&maker| actions[maker as usize] == NONE));
            }
        }
    }

    /// What is left is for the reply.
    fn reply(&mut self, form: &mut Form) {
        let mut phase = None;
        for at in 0..form.instances.len() {
            if self.live[at] && self.action[at] == NONE {
                phase = phase.max(Some(self.ready(form, at as u32).phase));
            }
        }
        let Some(phase) = phase else { return };
        let reply = self.open(form, phase, NONE);
        for at in 0..form.instances.len() {
            if self.live[at] && self.action[at] == NONE {
                self.action[at] = reply;
            }
        }
    }

    /// Which values go from one action to another, and which are taken where they are made.
    ///
    /// Consider `SELECT q INTO x ... WHERE key = 1; UPDATE ... SET q = x - 1 WHERE key = 1`: both
    /// leaves are in the action of key 1, and the second one finds `x` in its slot. If `x` is also
    /// returned, it crosses besides, to the reply.
    fn cross(&self, program: &ActionProgram, form: &mut Form) {
        for (at, instance) in form.instances.iter().enumerate() {
            let (action, leaf) = (self.action[at], leaf_of(program, instance));
            if action == NONE {
                continue;
            }
            let (start, end) = (instance.inputs.0 as usize, instance.inputs.1 as usize);
            let read = start + leaf.guards.len() + leaf.inputs.len();
            for at_input in start..end {
                let value = form.inputs[at_input];
                let maker = self.made_by[value as usize];
                if maker == NONE {
                    continue;
                }
                let made = instance.made + at_input.saturating_sub(read) as u32;
                let is_taken = at_input < read || form.values[made as usize].passes;
                match self.action[maker as usize] == action {
                    true => form.inputs[at_input] |= HERE,
                    false => form.values[value as usize].crosses |= is_taken,
                }
            }
        }
    }

    /// A new action, made for a granule or, [`NONE`], for none.
    fn open(&mut self, form: &mut Form, phase: u32, home: u32) -> u32 {
        self.homes.push(home);
        form.actions.push(Action {
            call: 0,
            phase,
            may_stop: false,
            decides: false,
            meets_own: false,
            writes: false,
            lines: (0, 0),
            uses: (0, 0),
        });
        form.actions.len() as u32 - 1
    }

    /// Puts instances and granules in order of their actions.
    fn lay_out(&mut self, program: &ActionProgram, form: &mut Form) {
        let Form { actions, instances, lines, uses, .. } = form;
        for (instance, &action) in instances.iter().zip(&self.action) {
            let Some(action) = actions.get_mut(action as usize) else { continue };
            let leaf = leaf_of(program, instance);
            action.may_stop |= leaf.stops;
            action.decides |= leaf.decides;
            action.writes |= leaf.writes;
            action.lines.1 += 1;
        }
        self.held.iter().for_each(|held| actions[held.action as usize].uses.1 += 1);
        let (mut line, mut used) = (0, 0);
        for action in actions.iter_mut() {
            (action.lines, line) = ((line, line), line + action.lines.1);
            (action.uses, used) = ((used, used), used + action.uses.1);
        }
        lines.resize(line as usize, 0);
        uses.resize(used as usize, (0, LockMode::Shared));
        for (at, &action) in self.action.iter().enumerate().filter(|(_, a)| **a != NONE) {
            let end = &mut actions[action as usize].lines.1;
            lines[*end as usize] = at as u32;
            *end += 1;
        }
        for held in &self.held {
            let action = &mut actions[held.action as usize];
            let (first, end) = (action.uses.0 as usize, action.uses.1 as usize);
            uses[end] = (held.granule, held.modes.strongest());
            if self.homes[held.action as usize] == held.granule {
                uses.swap(first, end);
            }
            action.uses.1 += 1;
        }
    }

    /// Dependencies: from makers to takers, and along granules.
    fn depend(&self, form: &mut Form) {
        let mut found = std::mem::take(&mut form.dependencies);
        for (instance, &action) in (0..).zip(&self.action) {
            if action == NONE {
                continue;
            }
            let from = self.makers.of(instance).iter().map(|&maker| self.action[maker as usize]);
            for from in from.filter(|&from| from != action) {
                if found.last() != Some(&(from, action)) {
                    found.push((from, action));
                }
            }
        }
        let actions = &mut form.actions;
        for held in &self.held {
            let mut at = held.older;
            while at != NONE {
                let older = self.held[at as usize];
                if !older.modes.compatible(held.modes) {
                    // Older in the list only means that it came first.
                    let (mut one, mut other) = (&older, held);
                    if actions[one.action as usize].phase > actions[other.action as usize].phase {
                        (one, other) = (other, one);
                    }
                    found.push((one.action, other.action));
                    actions[other.action as usize].meets_own |= one.modes.announces_changes();
                }
                if older.modes.is_exclusive() {
                    break;
                }
                at = older.older;
            }
        }
        found.sort_unstable();
        found.dedup();
        let phase = |action: u32| form.actions[action as usize].phase;
        debug_assert!(found.iter().all(|&(from, to)| phase(from) < phase(to)), "I1");
        form.dependencies = found;
    }
}

/// Per live instance, the makers of everything that it takes.
#[derive(Default, Debug)]
struct Makers {
    all: Vec<u32>,
    /// where each instance's end
    ends: Vec<u32>,
}

impl Makers {
    fn find(&mut self, program: &ActionProgram, form: &Form, (live, made_by): (&[bool], &[u32])) {
        let Self { all, ends } = self;
        all.clear();
        ends.clear();
        for (instance, &live) in form.instances.iter().zip(live) {
            if live {
                let leaf = leaf_of(program, instance);
                let values = inputs_of(form, instance);
                let (read, old) = values.split_at(leaf.guards.len() + leaf.inputs.len());
                let maker = |&value: &u32| {
                    let maker = made_by[value as usize];
                    (maker != NONE).then_some(maker)
                };
                all.extend(read.iter().filter_map(maker));
                for (value, old) in (instance.made..).zip(old) {
                    if form.values[value as usize].passes {
                        all.extend(maker(old));
                    }
                }
            }
            ends.push(all.len() as u32);
        }
    }

    fn of(&self, instance: u32) -> &[u32] {
        let at = instance as usize;
        let start = if at == 0 { 0 } else { self.ends[at - 1] };
        &self.all[start as usize..self.ends[at] as usize]
    }
}

/// Whether an instance only runs when `maker` does: its guards begin with all of the maker's.
fn runs_only_with(program: &ActionProgram, form: &Form, instance: &Instance, maker: u32) -> bool {
    let maker = &form.instances[maker as usize];
    let (own, others) = (&leaf_of(program, instance).guards, &leaf_of(program, maker).guards);
    if others.is_empty() {
        return true;
    }
    let conditions = inputs_of(form, instance).iter().zip(inputs_of(form, maker));
    own.starts_with(others) && conditions.take(others.len()).all(|(a, b)| a == b)
}

fn joinable(form: &Form, ready: &Ready, action: u32) -> bool {
    action != NONE && ready.within(action) <= form.actions[action as usize].phase
}

fn leaf_of<'p>(program: &'p ActionProgram, instance: &Instance) -> &'p Leaf {
    let leaf = instance.leaf.expect("what runs as a whole is not formed");
    &program.leaves[leaf as usize]
}

fn inputs_of<'f>(form: &'f Form, instance: &Instance) -> &'f [u32] {
    &form.inputs[instance.inputs.0 as usize..instance.inputs.1 as usize]
}

fn add_value(form: &mut Form, known: u32, kept: Kept) -> u32 {
    form.values.push(Value { known, kept, crosses: false, live: false, passes: false });
    form.values.len() as u32 - 1
}
