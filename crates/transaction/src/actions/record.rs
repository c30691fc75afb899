//! Recording: what the driver says of a call, in a batch and in a few words.
//!
//! Role         the hook under which the driver runs. Keys and granules go into the batch, and so
//!              do the values that only the driver holds; which leaves are run on which granules,
//!              and where values were taken, is the call's [`Shape`]

use hotrow_base::datum::Datum;

use super::batch::{Batch, Wanted};
use super::cut::Step;
use super::program::ActionProgram;
use super::shape::Shape;
use crate::frame::Frame;
use crate::interpret::{Hook, PlannedKey};
use crate::outcome::Stop;
use crate::plan::Recorder;
use crate::slice::OWN_MARK;

pub(super) struct Recording<'a> {
    program: &'a ActionProgram,
    batch: &'a mut Batch,
    shape: &'a mut Shape,
    /// keys that there were at the leaf before
    keys: u32,
}

impl<'a> Recording<'a> {
    /// Begins with the values that there are before the first statement.
    pub(super) fn begin(
        program: &'a ActionProgram,
        wanted: Wanted,
        (batch, shape): (&'a mut Batch, &'a mut Shape),
        frame: &Frame,
    ) -> Self {
        shape.begin(program, wanted);
        batch.known.extend([Datum::NULL, Datum::FALSE, Datum::int(0)]);
        batch.capture(&program.own_parameters, frame);
        let keys = batch.plan.entries().len() as u32;
        Self { program, batch, shape, keys }
    }
}

impl Hook for Recording<'_> {
    const PLANNED: bool = false;
    const FORGIVES: bool = true;

    fn next_key(&mut self, _: u16) -> Option<PlannedKey<'_>> {
        None
    }

    fn mark(&mut self, id: u32, frame: &mut Frame) -> Result<(), Stop> {
        let Self { program, batch, shape, keys } = self;
        if id & OWN_MARK == 0 {
            let (marks, plan) = (&program.driver.marks, &mut batch.plan);
            let mut recorder = Recorder { marks, plan, watch: &() };
            recorder.record(id, frame, |at, space, mode| shape.touch(at, space, mode));
            return Ok(());
        }
        let number = id & !OWN_MARK;
        match program.steps[number as usize] {
            Step::Leaf(_) => {
                let end = batch.plan.entries().len() as u32;
                shape.step(number, end - *keys);
                *keys = end;
            }
            Step::Let { .. } => shape.step(number, 0),
            Step::Nothing => return Ok(()),
        }
        batch.capture(&program.captures[number as usize], frame);
        Ok(())
    }
}
