//! Conditions first: a call's actions ordered so that none writes before the program has decided
//! that the call goes on.
//!
//! Role         for engines that show what an action wrote before its call has ended: of a call
//!              whose conditions come first, nothing has been written when it ends by one, so that
//!              nobody has to be taken back with it
//! Source       lads.txt 3.3.1 (a condition check as the first record action of each transaction).
//!              We differ: the order is derived from the program. Errors that only wrong data lead
//!              to (a number out of range, a duplicate key) are no conditions: who shows early what
//!              was written must be able to take it back, seldom

use super::plan::ActionPlan;

/// Working memory.
#[derive(Default, Debug)]
pub(super) struct Order {
    /// per action: it, or one that depends on it, decides
    is_before: Vec<bool>,
    awaited: Vec<u32>,
    ready: Vec<u32>,
}

impl ActionPlan {
    /// Has every action that writes wait for every other one that decides; whether that can be.
    /// It cannot where something is decided by what was written, or two actions both decide and
    /// write: then nothing is changed, and the call had better run as a whole.
    pub fn put_conditions_first(&mut self) -> bool {
        let mut order = std::mem::take(&mut self.order);
        let can_be = order.put_conditions_first(self);
        self.order = order;
        can_be
    }
}

impl Order {
    fn put_conditions_first(&mut self, plan: &mut ActionPlan) -> bool {
        let actions = &plan.actions;
        let decide = actions.iter().filter(|action| action.decides).count();
        let write = actions.iter().filter(|action| action.writes).count();
        let both = actions.iter().filter(|action| action.decides && action.writes).count();
        if decide == 0 || write == 0 || both == 1 && decide == 1 && write == 1 {
            return true;
        }
        if both > 1 || self.is_decided_late(plan) {
            return false;
        }
        for (from, _) in (0..).zip(actions).filter(|(_, action)| action.decides) {
            let writing = (0..).zip(actions).filter(|(_, action)| action.writes);
            // One that does both comes behind all others that decide.
            let behind = writing.map(|(to, _)| to).filter(|&to: &u32| to != from);
            plan.dependencies.extend(behind.map(|to| (from, to)));
        }
        plan.dependencies.sort_unstable();
        plan.dependencies.dedup();
        self.find_phases(plan);
        true
    }

    /// Whether something that writes comes before something else that decides.
    fn is_decided_late(&mut self, plan: &ActionPlan) -> bool {
        self.is_before.clear();
        self.is_before.extend(plan.actions.iter().map(|action| action.decides));
        // Dependencies lead to higher phases, so from the last phase on each is looked at once.
        for phase in (0..plan.phases).rev() {
            for &(from, to) in &plan.dependencies {
                let (before, after) = (from as usize, to as usize);
                if plan.actions[after].phase == phase && self.is_before[after] {
                    if plan.actions[before].writes {
                        return true;
                    }
                    self.is_before[before] = true;
                }
            }
        }
        false
    }

    /// Gives each action the lowest phase behind those that it depends on.
    fn find_phases(&mut self, plan: &mut ActionPlan) {
        self.awaited.clear();
        self.awaited.resize(plan.actions.len(), 0);
        plan.actions.iter_mut().for_each(|action| action.phase = 0);
        plan.dependencies.iter().for_each(|&(_, to)| self.awaited[to as usize] += 1);
        let first = (0..).zip(&self.awaited).filter(|(_, awaited)| **awaited == 0);
        self.ready.clear();
        self.ready.extend(first.map(|(action, _): (u32, _)| action));
        let mut found = 0;
        while let Some(from) = self.ready.pop() {
            found += 1;
            let phase = plan.actions[from as usize].phase;
            let start = plan.dependencies.partition_point(|&(before, _)| before < from);
            for &(before, to) in &plan.dependencies[start..] {
                if before != from {
                    break;
                }
                let (action, awaited) =
                    (&mut plan.actions[to as usize], &mut self.awaited[to as usize]);
                action.phase = action.phase.max(phase + 1);
                *awaited -= 1;
                if *awaited == 0 {
                    self.ready.push(to);
                }
            }
        }
        debug_assert_eq!(found, plan.actions.len(), "there is no cycle");
        plan.phases = plan.actions.iter().map(|action| action.phase + 1).max().unwrap_or(0);
    }
}
