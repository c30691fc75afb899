//! Forming actions from instances of leaves: who runs with whom, in which phase, after whom.
//!
//! Role         second half of planning; works on the values and granules that the driver
//!              recorded, and on nothing else
//! Source       dora.txt 4.1 (flow graphs, phases), lads.txt 4.1 (logical dependencies, condition
//!              checks first). A pure leaf runs in the action that makes its last input, when
//!              that is one action: so condition checks come as early as they can, and what several
//!              actions need is not held up in one of them. Pure leaves without inputs run in the
//!              first action that needs them.

use super::leaf::{Guard, Leaf};
use super::plan::{Action, ActionPlan, Instance, NONE, Use};
use super::program::ActionProgram;
use crate::granule::{LockMode, Space};

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

/// Working memory.
#[derive(Default, Debug)]
pub(super) struct Former {
    /// per instance
    live: Vec<bool>,
    /// last round in which it was looked at
    seen: Vec<u32>,
    round: u32,
    makers: Makers,
    action: Vec<u32>,
    /// per granule of the footprint: its newest use
    newest: Vec<u32>,
    held: Vec<Held>,
    /// per phase: the action that works on values alone
    pure: Vec<u32>,
    /// instances yet to be given to an action
    sinking: Vec<u32>,
}

impl Former {
    pub(super) fn form(&mut self, program: &ActionProgram, plan: &mut ActionPlan) {
        self.begin(plan);
        self.find_live(program, plan);
        self.makers.find(program, plan, &self.live);
        for instance in 0..plan.instances.len() as u32 {
            if self.live[instance as usize] {
                self.put(program, plan, instance);
            }
        }
        self.reply(plan);
        self.lay_out(program, plan);
        self.depend(plan);
        plan.phases = plan.actions.iter().map(|action| action.phase + 1).max().unwrap_or(0);
    }

    fn begin(&mut self, plan: &ActionPlan) {
        let instances = plan.instances.len();
        self.live.clear();
        self.live.resize(instances, false);
        self.seen.clear();
        self.seen.resize(instances, 0);
        self.round = 0;
        self.action.clear();
        self.action.resize(instances, NONE);
        self.newest.clear();
        self.newest.resize(plan.plan.footprint().granules().len(), NONE);
        self.held.clear();
        self.pure.clear();
        self.sinking.clear();
    }

    /// An instance that has no effect and makes nothing that is needed is left out.
    fn find_live(&mut self, program: &ActionProgram, plan: &mut ActionPlan) {
        let row_count = &mut plan.values[plan.row_count as usize];
        (row_count.live, row_count.passes) = (true, true);
        for at in (0..plan.instances.len()).rev() {
            let instance = plan.instances[at];
            let Some(number) = instance.leaf else {
                self.live[at] = true;
                continue;
            };
            let leaf = &program.leaves[number as usize];
            let made = instance.made as usize..instance.made as usize + leaf.outputs.len();
            let is_needed = plan.values[made.clone()].iter().any(|value| value.live);
            if !(is_needed || leaf.stops || leaf.writes || leaf.returns) {
                continue;
            }
            self.live[at] = true;
            let (start, end) = (instance.values.0 as usize, instance.values.1 as usize);
            let read = start + leaf.guards.len() + leaf.inputs.len();
            for at_input in start..read {
                let value = plan.inputs[at_input] as usize;
                let maker = plan.values[value].maker;
                let passes = maker != NONE && !runs_only_with(program, plan, &instance, maker);
                plan.values[value].live = true;
                plan.values[value].passes |= passes;
            }
            for (value, old) in made.zip(read..end) {
                if plan.values[value].passes {
                    let old = &mut plan.values[plan.inputs[old] as usize];
                    (old.live, old.passes) = (true, true);
                }
            }
        }
    }

    /// What an instance waits for, through leaves that have no action yet.
    fn ready(&mut self, plan: &ActionPlan, instance: u32) -> Ready {
        let Self { action: actions, makers, seen, round, sinking: stack, .. } = self;
        let mut ready = Ready::AT_ONCE;
        let mut look = |maker: u32, stack: &mut Vec<u32>| match actions[maker as usize] {
            NONE => stack.push(maker),
            action => ready.wait(action, plan.actions[action as usize].phase + 1),
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

    fn put(&mut self, program: &ActionProgram, plan: &mut ActionPlan, instance: u32) {
        let mut ready = self.ready(plan, instance);
        let found = plan.instances[instance as usize].granules;
        let touched = found.0 as usize..found.1 as usize;
        let home = touched
            .clone()
            .map(|at| plan.touched[at])
            .find(|&(granule, mode)| is_home(plan, granule, mode))
            // An index without granules led to no row: the table is announced all the same.
            .or_else(|| plan.touched[touched.clone()].first().copied());
        let action = match home {
            Some((home, _)) => {
                for at in touched.clone() {
                    let (granule, mode) = plan.touched[at];
                    self.wait_for_granule(plan, &mut ready, granule, mode);
                }
                let last = self.newest[home as usize];
                let last = if last == NONE { NONE } else { self.held[last as usize].action };
                match joinable(plan, &ready, last) {
                    true => last,
                    false => open(plan, ready.phase, Some(home)),
                }
            }
            None => {
                let leaf = plan.instances[instance as usize].leaf;
                match self.pure_action(plan, &ready, leaf.map(|l| &program.leaves[l as usize])) {
                    NONE => return,
                    action => action,
                }
            }
        };
        if home.is_some() {
            for at in touched {
                let (granule, mode) = plan.touched[at];
                self.hold(action, granule, mode);
            }
        }
        self.sink(instance, action);
    }

    /// The action of a leaf that works on values alone; [`NONE`]: decided later.
    fn pure_action(&mut self, plan: &mut ActionPlan, ready: &Ready, leaf: Option<&Leaf>) -> u32 {
        let stops = leaf.is_none_or(|leaf| leaf.stops);
        if !stops && leaf.is_some_and(|leaf| leaf.returns) {
            return NONE;
        }
        if joinable(plan, ready, ready.action) {
            return ready.action;
        }
        if !stops {
            return NONE;
        }
        let phase = ready.phase as usize;
        if self.pure.len() <= phase {
            self.pure.resize(phase + 1, NONE);
        }
        if self.pure[phase] == NONE {
            self.pure[phase] = open(plan, ready.phase, None);
        }
        self.pure[phase]
    }

    fn wait_for_granule(&self, plan: &ActionPlan, ready: &mut Ready, granule: u32, mode: LockMode) {
        let mut at = self.newest[granule as usize];
        while at != NONE {
            let held = self.held[at as usize];
            if !held.modes.compatible(Modes::of(mode)) {
                ready.wait(held.action, plan.actions[held.action as usize].phase + 1);
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
    fn hold(&mut self, action: u32, granule: u32, mode: LockMode) {
        let head = self.newest[granule as usize];
        let (mut at, mut newer) = (head, NONE);
        while at != NONE && self.held[at as usize].action != action {
            newer = at;
            at = self.held[at as usize].older;
        }
        if at == NONE {
            self.held.push(Held { action, granule, modes: Modes::of(mode), older: head });
            self.newest[granule as usize] = self.held.len() as u32 - 1;
            return;
        }
        let held = &mut self.held[at as usize];
        let is_new = mode == LockMode::Exclusive && !held.modes.is_exclusive();
        held.modes = held.modes.with(Modes::of(mode));
        if is_new && newer != NONE {
            let older = std::mem::replace(&mut held.older, head);
            self.held[newer as usize].older = older;
            self.newest[granule as usize] = at;
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
    fn reply(&mut self, plan: &mut ActionPlan) {
        let mut phase = None;
        for at in 0..plan.instances.len() {
            if self.live[at] && self.action[at] == NONE {
                phase = phase.max(Some(self.ready(plan, at as u32).phase));
            }
        }
        let Some(phase) = phase else { return };
        let reply = open(plan, phase, None);
        for at in 0..plan.instances.len() {
            if self.live[at] && self.action[at] == NONE {
                self.action[at] = reply;
            }
        }
        plan.reply = Some(reply);
    }

    /// Puts instances and granules in order of their actions.
    fn lay_out(&mut self, program: &ActionProgram, plan: &mut ActionPlan) {
        let ActionPlan { actions, instances, lines, uses, .. } = plan;
        for (instance, &action) in instances.iter_mut().zip(&self.action) {
            instance.action = (action != NONE).then_some(action);
            let Some(action) = instance.action else { continue };
            let action = &mut actions[action as usize];
            let leaf = instance.leaf.map(|leaf| &program.leaves[leaf as usize]);
            action.may_stop |= leaf.is_none_or(|leaf| leaf.stops);
            action.decides |= leaf.is_none_or(|leaf| leaf.decides);
            action.writes |= leaf.is_none_or(|leaf| leaf.writes);
            action.leaves.1 += 1;
        }
        self.held.iter().for_each(|held| actions[held.action as usize].uses.1 += 1);
        let (mut line, mut used) = (0, 0);
        for action in actions.iter_mut() {
            (action.leaves, line) = ((line, line), line + action.leaves.1);
            (action.uses, used) = ((used, used), used + action.uses.1);
        }
        lines.resize(line as usize, 0);
        uses.resize(used as usize, Use { granule: 0, mode: LockMode::Shared });
        for (at, &action) in self.action.iter().enumerate().filter(|(_, a)| **a != NONE) {
            let end = &mut actions[action as usize].leaves.1;
            lines[*end as usize] = at as u32;
            *end += 1;
        }
        for held in &self.held {
            let action = &mut actions[held.action as usize];
            let (first, end) = (action.uses.0 as usize, action.uses.1 as usize);
            uses[end] = Use { granule: held.granule, mode: held.modes.strongest() };
            if action.home == Some(held.granule) {
                uses.swap(first, end);
            }
            action.uses.1 += 1;
        }
    }

    /// Dependencies: from makers to takers, and along granules.
    fn depend(&self, plan: &mut ActionPlan) {
        let mut found = std::mem::take(&mut plan.dependencies);
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
        let actions = &mut plan.actions;
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
        let phase = |action: u32| plan.actions[action as usize].phase;
        debug_assert!(found.iter().all(|&(from, to)| phase(from) < phase(to)), "I1");
        plan.dependencies = found;
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
    fn find(&mut self, program: &ActionProgram, plan: &ActionPlan, live: &[bool]) {
        let Self { all, ends } = self;
        all.clear();
        ends.clear();
        for (instance, &live) in plan.instances.iter().zip(live) {
            if let (Some(number), true) = (instance.leaf, live) {
                let leaf = &program.leaves[number as usize];
                let values = plan.values_of(instance);
                let (read, old) = values.split_at(leaf.guards.len() + leaf.inputs.len());
                let maker = |&value: &u32| {
                    let maker = plan.values[value as usize].maker;
                    (maker != NONE).then_some(maker)
                };
                all.extend(read.iter().filter_map(maker));
                for (value, old) in (instance.made..).zip(old) {
                    if plan.values[value as usize].passes {
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
fn runs_only_with(
    program: &ActionProgram,
    plan: &ActionPlan,
    instance: &Instance,
    maker: u32,
) -> bool {
    let guards = |instance: &Instance| -> &[Guard] {
        instance.leaf.map_or(&[][..], |leaf| &program.leaves[leaf as usize].guards)
    };
    let maker = &plan.instances[maker as usize];
    let (own, others) = (guards(instance), guards(maker));
    if others.is_empty() {
        return true;
    }
    let conditions = plan.values_of(instance).iter().zip(plan.values_of(maker));
    own.starts_with(others) && conditions.take(others.len()).all(|(a, b)| a == b)
}

/// Intents announce granules; they are no place to work in.
fn is_home(plan: &ActionPlan, granule: u32, mode: LockMode) -> bool {
    match plan.granule(granule).space {
        Space::Table(_) => mode >= LockMode::Shared,
        Space::Index(_) => true,
    }
}

fn joinable(plan: &ActionPlan, ready: &Ready, action: u32) -> bool {
    action != NONE && ready.within(action) <= plan.actions[action as usize].phase
}

fn open(plan: &mut ActionPlan, phase: u32, home: Option<u32>) -> u32 {
    plan.actions.push(Action {
        phase,
        home,
        may_stop: false,
        decides: false,
        meets_own: false,
        writes: false,
        leaves: (0, 0),
        uses: (0, 0),
    });
    plan.actions.len() as u32 - 1
}
