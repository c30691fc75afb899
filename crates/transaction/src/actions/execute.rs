//! Execution of a call's actions, one after another in any allowed order.
//!
//! Role         the proof that actions are right (tests run them in random orders), and the model
//!              of what an engine does with them: gather inputs, run the leaf, scatter outputs.
//!              Allocates; engines keep values in memory of their own.

use hotrow_base::datum::Datum;
use hotrow_base::value::Value as ApiValue;

use super::leaf::Leaf;
use super::plan::{ActionPlan, Instance, NONE, Value};
use super::program::{ActionProgram, Kept};
use crate::access::RecordAccess;
use crate::frame::Frame;
use crate::interpret::{self, Hook, NoHook, PlannedKey};
use crate::invocation::Invocation;
use crate::outcome::{Rows, SqlError, Stop};
use crate::plan::Plan;

/// Why a call ended early.
#[derive(Clone, PartialEq, Debug)]
pub enum Failure {
    /// the call's own error
    Error(Box<SqlError>),
    /// another reason
    Stop(Stop),
}

/// What goes on around the actions.
pub trait Order<A> {
    /// Which of so many ready actions is next.
    fn choose(&mut self, ready: usize) -> usize;

    /// An action begins.
    fn enter(&mut self, access: &mut A, plan: &ActionPlan, action: u32);
}

/// Runs all actions of a call. `order` chooses among those whose dependencies are done.
///
/// Errors: the failure of the leaf that is first in program order (I4 of the plan); the caller
/// undoes the call.
pub fn execute<A: RecordAccess>(
    program: &ActionProgram,
    plan: &ActionPlan,
    invocation: &Invocation,
    access: &mut A,
    order: &mut impl Order<A>,
) -> Result<Rows, Failure> {
    let mut run = Run {
        program,
        plan,
        invocation,
        frame: Frame::new(),
        values: plan.values.iter().map(|value| value.datum).collect(),
        heap: plan.bytes.clone(),
        rows: Vec::new(),
        failed: None,
    };
    let mut waits: Vec<usize> = vec![0; plan.actions().len()];
    plan.dependencies().iter().for_each(|&(_, to)| waits[to as usize] += 1);
    let mut ready: Vec<u32> = (0..waits.len() as u32).filter(|&a| waits[a as usize] == 0).collect();
    let mut done = 0;
    while !ready.is_empty() {
        let action = ready.swap_remove(order.choose(ready.len()));
        order.enter(access, plan, action);
        run.action(action, access);
        done += 1;
        for &(from, to) in plan.dependencies() {
            if from == action {
                waits[to as usize] -= 1;
                if waits[to as usize] == 0 {
                    ready.push(to);
                }
            }
        }
    }
    assert_eq!(done, plan.actions().len(), "dependencies have no cycle (I1 of the plan)");
    run.finish()
}

struct Run<'a> {
    program: &'a ActionProgram,
    plan: &'a ActionPlan,
    invocation: &'a Invocation,
    frame: Frame,
    /// all values; ranges of `heap` and of the plan's elements
    values: Vec<Datum>,
    heap: Vec<u8>,
    rows: Vec<(u32, Vec<Vec<ApiValue>>)>,
    /// the failed instance that is first in program order
    failed: Option<(u32, Failure)>,
}

impl Run<'_> {
    fn action<A: RecordAccess>(&mut self, action: u32, access: &mut A) {
        let action = &self.plan.actions()[action as usize];
        for &at in self.plan.leaves(action) {
            // What comes before a failure in program order runs on: it may fail first.
            if self.failed.as_ref().is_some_and(|(failed, _)| *failed < at) {
                return;
            }
            if let Err(stop) = self.instance(at, access) {
                let error = self.frame.take_error();
                let failure = match (stop, error) {
                    (Stop::Error, Some(error)) => Failure::Error(Box::new(error)),
                    (stop, _) => Failure::Stop(stop),
                };
                self.failed = Some((at, failure));
                return;
            }
        }
    }

    fn instance<A: RecordAccess>(&mut self, at: u32, access: &mut A) -> Result<(), Stop> {
        let instance = self.plan.instances()[at as usize];
        let Some(number) = instance.leaf else {
            let whole = &self.program.whole;
            self.frame.begin(whole, self.invocation);
            interpret::run(whole, 0, &mut self.frame, access, &mut NoHook)?;
            self.take_rows(at);
            self.values[self.plan.row_count as usize] = self.frame.slot(crate::program::ROW_COUNT);
            return Ok(());
        };
        let leaf = &self.program.leaves[number as usize];
        let taken = self.plan.values_of(&instance);
        let (guards, rest) = taken.split_at(leaf.guards.len());
        let (inputs, old) = rest.split_at(leaf.inputs.len());
        let enabled = leaf
            .guards
            .iter()
            .zip(guards)
            .all(|(guard, &value)| self.values[value as usize].is_true() == guard.when);
        if !enabled {
            self.pass_on(&instance, old);
            return Ok(());
        }
        if let Some(expected) = leaf.expects {
            let is_true = self.values[inputs[0] as usize].is_true();
            return if is_true == expected { Ok(()) } else { Err(Stop::Replan) };
        }
        // Once per leaf, so that nothing can be handed on but by values.
        self.frame.begin(&self.program.program, self.invocation);
        for (input, &value) in leaf.inputs.iter().zip(inputs) {
            let datum = self.gather(value);
            self.frame.set_slot(input.slot, datum);
        }
        let entry = leaf.entry as usize;
        let (keys, end) = instance.keys;
        let mut keys = Keys { plan: &self.plan.plan, next: keys, end };
        let leaves = &self.program.program;
        interpret::run(leaves, entry, &mut self.frame, access, &mut keys)?;
        if leaf.returns {
            self.take_rows(at);
        }
        self.scatter(leaf, &instance);
        Ok(())
    }

    fn take_rows(&mut self, at: u32) {
        let program = match self.plan.is_whole() {
            true => &self.program.whole,
            false => &self.program.program,
        };
        self.rows.push((at, self.frame.take_rows(program).rows));
    }

    /// A disabled leaf's outputs are what they were before it.
    fn pass_on(&mut self, instance: &Instance, old: &[u32]) {
        for (value, &old) in (instance.made..).zip(old) {
            if self.plan.values[value as usize].passes {
                self.values[value as usize] = self.values[old as usize];
            }
        }
    }

    /// A value, put into the frame.
    fn gather(&mut self, value: u32) -> Datum {
        let Value { kept, maker, .. } = self.plan.values[value as usize];
        let datum = self.values[value as usize];
        let machine = &mut self.frame.machine;
        match kept {
            _ if datum.is_null() => datum,
            Kept::Plain => datum,
            Kept::Bytes => machine.keep(&self.heap[datum.as_range().range()]),
            Kept::Array(bytes) => {
                debug_assert_eq!(maker, NONE, "arrays are known when planned");
                let start = machine.elements.len() as u32;
                let range = datum.as_range();
                for &element in &self.plan.elements[range.range()] {
                    let element = match bytes && !element.is_null() {
                        true => machine.keep(&self.heap[element.as_range().range()]),
                        false => element,
                    };
                    machine.elements.push(element);
                }
                Datum::range(start, range.len)
            }
        }
    }

    fn scatter(&mut self, leaf: &Leaf, instance: &Instance) {
        for (value, output) in (instance.made..).zip(&leaf.outputs) {
            if !self.plan.is_live(value) {
                continue;
            }
            let mut datum = self.frame.slot(*output);
            if self.plan.values[value as usize].kept == Kept::Bytes && !datum.is_null() {
                let start = self.heap.len() as u32;
                self.heap.extend_from_slice(self.frame.machine.bytes(datum));
                datum = Datum::range(start, datum.as_range().len);
            }
            self.values[value as usize] = datum;
        }
    }

    fn finish(mut self) -> Result<Rows, Failure> {
        if let Some((_, failure)) = self.failed {
            return Err(failure);
        }
        self.rows.sort_by_key(|(at, _)| *at);
        let touched = match self.program.tells_row_count {
            true => self.values[self.plan.row_count as usize].as_int() as u64,
            false => 0,
        };
        Ok(Rows {
            columns: self.program.whole.result.iter().map(|c| c.name.clone()).collect(),
            rows: self.rows.into_iter().flat_map(|(_, rows)| rows).collect(),
            touched,
        })
    }
}

/// Hands out the keys planned for one run of a leaf.
struct Keys<'a> {
    plan: &'a Plan,
    next: u32,
    end: u32,
}

impl Hook for Keys<'_> {
    const PLANNED: bool = true;

    fn next_key(&mut self, site: u16) -> Option<PlannedKey<'_>> {
        if self.next == self.end {
            return None;
        }
        let entry = &self.plan.entries()[self.next as usize];
        debug_assert_eq!(entry.site, site, "keys are planned in the order of their use");
        self.next += 1;
        Some(PlannedKey { key: self.plan.key(entry), hash: entry.hash, entry: self.next - 1 })
    }

    fn mark(&mut self, _: u32, _: &mut Frame) -> Result<(), Stop> {
        Ok(())
    }
}
