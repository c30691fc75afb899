//! Recording: the driver's marks become instances of leaves, in program order.
//!
//! Role         the hook under which the driver runs. Slots are turned into values that are made
//!              once: an output is a new value, an input is the newest value of its slot at that
//!              point, or what the driver holds.

use hotrow_base::datum::Datum;

use super::cut::Step;
use super::plan::{ActionPlan, Instance, Value};
use super::program::{ActionProgram, Kept};
use crate::frame::Frame;
use crate::interpret::{Hook, PlannedKey};
use crate::outcome::Stop;
use crate::plan::Recorder;
use crate::program::{FOUND, ROW_COUNT, SlotId};
use crate::slice::OWN_MARK;

const NULL: u32 = 0;
const FALSE: u32 = 1;
const ZERO: u32 = 2;

pub(super) struct Recording<'a> {
    pub(super) program: &'a ActionProgram,
    pub(super) plan: &'a mut ActionPlan,
    /// keys and granules that earlier leaves took
    pub(super) key: u32,
    pub(super) granule: u32,
}

impl Hook for Recording<'_> {
    const PLANNED: bool = false;
    const FORGIVES: bool = true;

    fn next_key(&mut self, _: u16) -> Option<PlannedKey<'_>> {
        None
    }

    fn mark(&mut self, id: u32, frame: &mut Frame) -> Result<(), Stop> {
        if id & OWN_MARK == 0 {
            let ActionPlan { plan, touched, .. } = &mut *self.plan;
            let marks = &self.program.driver.marks;
            let mut recorder = Recorder { marks, plan, watch: &() };
            recorder.record(id, frame, |granule, mode| touched.push((granule, mode)));
            return Ok(());
        }
        match self.program.steps[(id & !OWN_MARK) as usize] {
            Step::Leaf(leaf) => self.leaf(leaf, frame),
            Step::Let { slot, from } => {
                let kept = self.program.kept[slot.index()];
                let value = self.plan.capture(frame, from, kept);
                self.plan.newest[slot.index()] = value;
            }
            Step::Nothing => {}
        }
        Ok(())
    }
}

impl Recording<'_> {
    fn leaf(&mut self, number: u16, frame: &Frame) {
        let leaf = &self.program.leaves[number as usize];
        let kept = &self.program.kept;
        let plan = &mut *self.plan;
        let first = plan.inputs.len() as u32;
        for guard in &leaf.guards {
            plan.inputs.push(plan.newest(guard.slot));
        }
        for input in &leaf.inputs {
            let value = match input.known {
                true => plan.capture(frame, input.slot, kept[input.slot.index()]),
                false => plan.newest(input.slot),
            };
            plan.inputs.push(value);
        }
        if !leaf.guards.is_empty() {
            for &output in &leaf.outputs {
                plan.inputs.push(plan.newest(output));
            }
        }
        let made = plan.values.len() as u32;
        let maker = plan.instances.len() as u32;
        for output in &leaf.outputs {
            plan.newest[output.index()] = plan.values.len() as u32;
            let kept = kept[output.index()];
            plan.values.push(Value { maker, kept, ..Value::known(Datum::NULL) });
        }
        let (keys, granules) = (plan.plan.entries().len() as u32, plan.touched.len() as u32);
        plan.instances.push(Instance {
            leaf: Some(number),
            action: None,
            values: (first, plan.inputs.len() as u32),
            made,
            granules: (self.granule, granules),
            keys: (self.key, keys),
        });
        plan.row_count = plan.newest(ROW_COUNT);
        (self.key, self.granule) = (keys, granules);
    }
}

impl ActionPlan {
    /// Every slot's value before the first statement.
    pub(super) fn begin_values(&mut self, program: &ActionProgram, frame: &Frame) {
        for datum in [Datum::NULL, Datum::FALSE, Datum::int(0)] {
            self.values.push(Value::known(datum));
        }
        self.newest.resize(program.kept.len(), NULL);
        if self.newest.is_empty() {
            return;
        }
        self.newest[FOUND.index()] = FALSE;
        self.newest[ROW_COUNT.index()] = ZERO;
        for &slot in &program.own_parameters {
            self.newest[slot.index()] = self.capture(frame, slot, program.kept[slot.index()]);
        }
    }

    /// The value a slot has in the driver, kept in the plan.
    fn capture(&mut self, frame: &Frame, slot: SlotId, kept: Kept) -> u32 {
        let datum = frame.slot(slot);
        let datum = match kept {
            _ if datum.is_null() => datum,
            Kept::Plain => datum,
            Kept::Bytes => self.keep_bytes(frame, datum),
            Kept::Array(bytes) => {
                let start = self.elements.len() as u32;
                let range = datum.as_range();
                for &element in &frame.elements()[range.range()] {
                    let element = match bytes && !element.is_null() {
                        true => self.keep_bytes(frame, element),
                        false => element,
                    };
                    self.elements.push(element);
                }
                Datum::range(start, range.len)
            }
        };
        self.values.push(Value { kept, ..Value::known(datum) });
        self.values.len() as u32 - 1
    }

    fn keep_bytes(&mut self, frame: &Frame, datum: Datum) -> Datum {
        Datum::of_bytes(&frame.heap()[datum.as_range().range()], &mut self.bytes)
    }
}
