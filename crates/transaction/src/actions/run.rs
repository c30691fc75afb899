//! Running the leaves of an action: inputs are gathered, the leaf is run, outputs are scattered.
//!
//! Role         called by whoever runs actions, with a frame, an access path, and a place where
//!              values between actions are kept. Knows no thread
//! Invariants   I1 an action reads what it is given: constants, parameters that nobody assigns,
//!              and its leaves' inputs. So actions of one call may follow one another in a frame in
//!              any order
//!              I2 what a leaf of the same action has made is still in its slot: the action's
//!              leaves run in program order and in one frame, and whatever another leaf writes to
//!              that slot in between would be what the program reads. So only values that go to
//!              other actions are copied. Debug builds copy all that fit, and compare

use std::ops::Range;

use hotrow_base::datum::Datum;
use hotrow_base::pool::NONE;

use super::batch::{Batch, BatchCall, HERE, Instance, Value};
use super::leaf::Leaf;
use super::program::{ActionProgram, Kept};
use crate::access::RecordAccess;
use crate::bytecode::Program;
use crate::frame::{Frame, Machine};
use crate::interpret;
use crate::invocation::Invocation;
use crate::outcome::Stop;
use crate::program::{ROW_COUNT, SlotId};

/// Where values between actions are kept, by number; each is stored once, before it is loaded.
pub trait Values {
    /// A value; if it has bytes, they are appended to `heap`, and it is their range there.
    fn load(&self, value: u32, heap: &mut Vec<u8>) -> Datum;

    /// Keeps a value; `bytes` are its own, if it has some.
    fn store(&mut self, value: u32, datum: Datum, bytes: Option<&[u8]>);
}

/// A call of a batch, to be run action by action.
#[derive(Clone, Copy, Debug)]
pub struct CallRun<'a> {
    /// its procedure
    pub program: &'a ActionProgram,
    /// the batch
    pub batch: &'a Batch,
    /// which of its calls
    pub call: &'a BatchCall,
    /// what was called
    pub invocation: &'a Invocation,
}

impl CallRun<'_> {
    /// The code that an instance runs, and whose result it returns.
    pub fn code(&self, instance: u32) -> &Program {
        match self.batch.leaf(instance) {
            Some(_) => &self.program.program,
            None => &self.program.whole.program,
        }
    }

    /// Whether an instance may return rows.
    pub fn returns(&self, instance: u32) -> bool {
        let leaf = self.batch.leaf(instance);
        leaf.is_none_or(|leaf| self.program.leaves[leaf as usize].returns)
    }

    /// Where an instance's planned keys stand among those of the batch; its accesses count them
    /// from the first of these.
    pub fn keys(&self, instance: u32) -> Range<usize> {
        self.keys_of(&self.batch.instances[instance as usize])
    }

    #[inline]
    fn keys_of(&self, instance: &Instance) -> Range<usize> {
        let (first, (start, end)) = (self.call.keys, instance.keys);
        (first + start) as usize..(first + end) as usize
    }

    /// Makes a frame ready for the call's leaves.
    pub fn begin(&self, instance: u32, frame: &mut Frame) {
        frame.begin(self.code(instance), self.invocation);
    }

    /// Runs an instance in a frame that is ready. Rows that it returns are in the frame then,
    /// behind those that were there.
    ///
    /// # Errors
    ///
    /// As [`interpret::run`].
    pub fn run<A: RecordAccess>(
        &self,
        instance: u32,
        frame: &mut Frame,
        access: &mut A,
        values: &mut impl Values,
    ) -> Result<(), Stop> {
        let instance = &self.batch.instances[instance as usize];
        let mut keys = self.batch.plan.keys_among(self.keys_of(instance));
        let Some(number) = instance.leaf else {
            interpret::run(&self.program.whole.program, 0, frame, access, &mut keys)?;
            values.store(self.call.values + instance.made, frame.slot(ROW_COUNT), None);
            return Ok(());
        };
        let leaf = &self.program.leaves[number as usize];
        let inputs = &self.batch.inputs[self.call.inputs as usize..];
        let inputs = &inputs[instance.inputs.0 as usize..instance.inputs.1 as usize];
        let (guards, rest) = inputs.split_at(leaf.guards.len());
        let (inputs, old) = rest.split_at(leaf.inputs.len());
        let machine = &mut frame.machine;
        let enabled = leaf.guards.iter().zip(guards).all(|(guard, &value)| {
            self.gather((guard.slot, value), machine, values).is_true() == guard.when
        });
        if !enabled {
            self.pass_on((leaf, instance), old, machine, values);
            return Ok(());
        }
        if let Some(expected) = leaf.expects {
            let is_true = self.gather((leaf.inputs[0].slot, inputs[0]), machine, values);
            let is_true = is_true.is_true();
            return if is_true == expected { Ok(()) } else { Err(Stop::Replan) };
        }
        for (input, &value) in leaf.inputs.iter().zip(inputs) {
            let datum = self.gather((input.slot, value), &mut frame.machine, values);
            frame.set_slot(input.slot, datum);
        }
        interpret::run_here(&self.program.program, leaf.entry.into(), frame, access, &mut keys)?;
        self.scatter(leaf, instance, frame, values);
        Ok(())
    }

    /// A value, as a frame has it in its slot.
    #[inline]
    fn gather(
        &self,
        (slot, value): (SlotId, u32),
        machine: &mut Machine,
        values: &impl Values,
    ) -> Datum {
        match value & HERE {
            0 => self.fetch(value, machine, values),
            _ => {
                let datum = machine.slots[slot.0];
                let number = self.call.values + (value & !HERE);
                debug_assert!(
                    self.batch.values[number as usize].kept != Kept::Plain
                        || values.load(number, &mut Vec::new()) == datum,
                    "I2"
                );
                datum
            }
        }
    }

    /// A value that was made elsewhere, put into a frame.
    fn fetch(&self, value: u32, machine: &mut Machine, values: &impl Values) -> Datum {
        let number = self.call.values + value;
        let Value { known, kept, .. } = self.batch.values[number as usize];
        if known == NONE {
            return values.load(number, &mut machine.heap);
        }
        self.batch.give(self.call.known + known, kept, machine)
    }

    fn scatter(&self, leaf: &Leaf, instance: &Instance, frame: &Frame, values: &mut impl Values) {
        for (value, &output) in (self.call.values + instance.made..).zip(&leaf.outputs) {
            let of = self.batch.values[value as usize];
            if of.live {
                self.hand_on((value, of), frame.slot(output), &frame.machine, values);
            }
        }
    }

    /// Keeps a value for other actions, if one takes it.
    #[inline]
    fn hand_on(
        &self,
        (number, of): (u32, Value),
        datum: Datum,
        machine: &Machine,
        values: &mut impl Values,
    ) {
        if of.crosses || (cfg!(debug_assertions) && of.kept == Kept::Plain) {
            let has_bytes = of.kept == Kept::Bytes && !datum.is_null();
            values.store(number, datum, has_bytes.then(|| machine.bytes(datum)));
        }
    }

    /// A disabled leaf's outputs are what they were before it.
    fn pass_on(
        &self,
        (leaf, instance): (&Leaf, &Instance),
        old: &[u32],
        machine: &mut Machine,
        values: &mut impl Values,
    ) {
        let made = (self.call.values + instance.made..).zip(&leaf.outputs);
        for ((value, &slot), &old) in made.zip(old) {
            let of = self.batch.values[value as usize];
            if of.passes {
                let datum = self.gather((slot, old), machine, values);
                machine.slots[slot.0] = datum;
                self.hand_on((value, of), datum, machine, values);
            }
        }
    }

    /// The row count that the caller hears.
    pub fn row_count(&self, values: &impl Values) -> Datum {
        let BatchCall { row_count, values: first, known: first_known, .. } = *self.call;
        if row_count == NONE {
            return Datum::int(0);
        }
        match self.batch.values[(first + row_count) as usize].known {
            NONE => values.load(first + row_count, &mut Vec::new()), // it has no bytes
            known => self.batch.known[(first_known + known) as usize],
        }
    }
}
