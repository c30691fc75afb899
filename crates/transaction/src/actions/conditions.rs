//! Conditions first: a call's actions ordered so that none writes before the program has decided
//! that the call goes on.
//!
//! Role         for engines that show what an action wrote before its call has ended: of a call
//!              whose conditions come first, nothing has been written when it ends by one, so that
//!              nobody has to be taken back with it. Whatever was wanted, actions are numbered here
//!              by their phases at last
//! Source       lads.txt 3.3.1 (a condition check as the first record action of each transaction).
//!              We differ: the order is derived from the program. Errors that only wrong data lead
//!              to (a number out of range, a duplicate key) are no conditions: who shows early what
//!              was written must be able to take it back, seldom

use super::batch::Action;
use super::shape::Form;

/// Working memory.
#[derive(Default, Debug)]
pub(super) struct Order {
    /// per action: it, or one that depends on it, decides
    is_before: Vec<bool>,
    awaited: Vec<u32>,
    ready: Vec<u32>,
    /// actions in the order of phases
    by_phase: Vec<u32>,
    actions: Vec<Action>,
}

impl Order {
    /// Has every action that writes wait for every other one that decides; whether that can be.
    /// It cannot where something is decided by what was written, or two actions both decide and
    /// write: then nothing is changed, and the call had better run as a whole.
    pub(super) fn put_conditions_first(&mut self, form: &mut Form) -> bool {
        let actions = &form.actions;
        let decide = actions.iter().filter(|action| action.decides).count();
        let write = actions.iter().filter(|action| action.writes).count();
        let both = actions.iter().filter(|action| action.decides && action.writes).count();
        if decide == 0 || write == 0 || both == 1 && decide == 1 && write == 1 {
            return true;
        }
        if both > 1 || self.is_decided_late(form) {
            return false;
        }
        for (from, _) in (0..).zip(actions).filter(|(_, action)| action.decides) {
            let writing = (0..).zip(actions).filter(|(_, action)| action.writes);
            // One that does both comes behind all others that decide.
            let behind = writing.map(|(to, _)| to).filter(|&to: &u32| to != from);
            form.dependencies.extend(behind.map(|to| (from, to)));
        }
        form.dependencies.sort_unstable();
        form.dependencies.dedup();
        self.find_phases(form);
        true
    }

    /// Numbers actions by their phases.
    pub(super) fn number_by_phase(&mut self, form: &mut Form) {
        let Self { by_phase, actions, awaited: numbers, .. } = self;
        by_phase.clear();
        by_phase.extend(0..form.actions.len() as u32);
        by_phase.sort_unstable_by_key(|&action| (form.actions[action as usize].phase, action));
        actions.clear();
        actions.extend(by_phase.iter().map(|&action| form.actions[action as usize]));
        std::mem::swap(actions, &mut form.actions);
        numbers.clear();
        numbers.resize(by_phase.len(), 0);
        for (number, &action) in (0..).zip(&*by_phase) {
            numbers[action as usize] = number;
        }
        for (from, to) in &mut form.dependencies {
            (*from, *to) = (numbers[*from as usize], numbers[*to as usize]);
        }
        form.dependencies.sort_unstable();
    }

    /// Whether something that writes comes before something else that decides.
    fn is_decided_late(&mut self, form: &Form) -> bool {
        self.is_before.clear();
        self.is_before.extend(form.actions.iter().map(|action| action.decides));
        // Dependencies lead to higher phases, so from the last phase on each is looked at once.
        let phases = form.actions.iter().map(|action| action.phase + 1).max().unwrap_or(0);
        for phase in (0..phases).rev() {
            for &(from, to) in &form.dependencies {
                let (before, after) = (from as usize, to as usize);
                if form.actions[after].phase == phase && self.is_before[after] {
                    if form.actions[before].writes {
                        return true;
                    }
                    self.is_before[before] = true;
                }
            }
        }
        false
    }

    /// Gives each action the lowest phase behind those that it depends on.
    fn find_phases(&mut self, form: &mut Form) {
        self.awaited.clear();
        self.awaited.resize(form.actions.len(), 0);
        form.actions.iter_mut().for_each(|action| action.phase = 0);
        form.dependencies.iter().for_each(|&(_, to)| self.awaited[to as usize] += 1);
        let first = (0..).zip(&self.awaited).filter(|(_, awaited)| **awaited == 0);
        self.ready.clear();
        self.ready.extend(first.map(|(action, _): (u32, _)| action));
        let mut found = 0;
        while let Some(from) = self.ready.pop() {
            found += 1;
            let phase = form.actions[from as usize].phase;
            let start = form.dependencies.partition_point(|&(before, _)| before < from);
            for &(before, to) in &form.dependencies[start..] {
                if before != from {
                    break;
                }
                let (action, awaited) =
                    (&mut form.actions[to as usize], &mut self.awaited[to as usize]);
                action.phase = action.phase.max(phase + 1);
                *awaited -= 1;
                if *awaited == 0 {
                    self.ready.push(to);
                }
            }
        }
        debug_assert_eq!(found, form.actions.len(), "there is no cycle");
    }
}
