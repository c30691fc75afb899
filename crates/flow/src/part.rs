//! The part that an owner has of a call: what undoes what was changed there.
//!
//! Role         an owner interleaves calls, so that what each has changed is kept apart until it
//!              stands, while others run
//! Invariants   I1 what a call has changed is encoded for a log of values before anybody runs
//!              behind it
//!              I2 what undoes a call is in its part, but for the one that was
//!              [run to its end](PartRunner::run_to_end) and has not ended yet: nothing is run
//!              between the two, and nothing needs to be moved

use hotrow_base::ids::WorkerId;
use hotrow_engine::in_place::{self, InPlace, Scratch};
use hotrow_engine::protection::{Ahead, Alone};
use hotrow_engine::schema::Schema;
use hotrow_transaction::frame::Frame;
use hotrow_transaction::outcome::Stop;

/// The changes of one owner for one call; taken back, or kept until the call's end.
pub type Part = Box<Changes>;

/// What a call has changed somewhere.
#[derive(Default)]
pub struct Changes {
    undo: in_place::Part,
    /// the hash of it, if there is something
    pub hash: Option<u64>,
    /// for a log of values
    pub values: Vec<u8>,
    /// what undoes it is with the owner still (I2)
    is_here: bool,
}

/// An owner's side: what it runs parts with.
pub struct PartRunner {
    scratch: Scratch,
    frame: Frame,
    logs_values: bool,
    /// one was run to its end, and has not ended yet (I2)
    is_taken: bool,
    /// parts that are not used
    free: Vec<Part>,
}

impl PartRunner {
    /// That of an owner on the thread of `worker`; `step_budget`: loop iterations and rows that
    /// what runs at once may visit.
    pub fn new(worker: WorkerId, logs_values: bool, step_budget: u64) -> Self {
        let mut frame = Frame::new();
        frame.set_step_budget(step_budget);
        let (scratch, is_taken, free) = (Scratch::new(worker), false, Vec::new());
        Self { scratch, frame, logs_values, is_taken, free }
    }

    /// Where nothing is to be undone: for trial reads.
    pub fn scratch(&mut self) -> &mut Scratch {
        &mut self.scratch
    }

    /// Begins a part.
    pub fn begin(&mut self) -> Part {
        self.free.pop().unwrap_or_default()
    }

    /// Runs something of a call, which is given what it changes rows with and a frame of this
    /// owner's. What it has changed then belongs to the part.
    ///
    /// # Errors
    ///
    /// Why it has failed: the part is to be undone.
    pub fn run(
        &mut self,
        schema: &Schema,
        part: &mut Part,
        run: impl FnOnce(&mut Scratch, &mut Frame) -> Result<(), Stop>,
    ) -> Result<(), Stop> {
        debug_assert!(!self.is_taken, "I2");
        self.scratch.exchange(&mut part.undo);
        let ran = self.run_here(schema, part, run);
        self.scratch.exchange(&mut part.undo);
        ran
    }

    /// As [`PartRunner::run`], of all of a call's part, which ends before anything else is run.
    ///
    /// # Errors
    ///
    /// As [`PartRunner::run`].
    pub fn run_to_end(
        &mut self,
        schema: &Schema,
        part: &mut Part,
        run: impl FnOnce(&mut Scratch, &mut Frame) -> Result<(), Stop>,
    ) -> Result<(), Stop> {
        debug_assert!(!self.is_taken, "I2");
        (part.is_here, self.is_taken) = (true, true);
        self.run_here(schema, part, run)
    }

    fn run_here(
        &mut self,
        schema: &Schema,
        part: &mut Part,
        run: impl FnOnce(&mut Scratch, &mut Frame) -> Result<(), Stop>,
    ) -> Result<(), Stop> {
        let Self { scratch, frame, logs_values, .. } = self;
        let ran = run(scratch, frame);
        if ran.is_ok() {
            part.hash = scratch.changed_since(&Default::default());
            if *logs_values {
                part.values.clear();
                scratch.encode_values(schema, &mut part.values); // I1
            }
        }
        ran
    }

    /// Makes changes final, frees what was removed, and ends the part.
    pub fn commit(&mut self, schema: &Schema, part: Part) {
        self.end(schema, part, |access| access.commit());
    }

    /// Takes all changes back, and ends the part.
    pub fn undo(&mut self, schema: &Schema, part: Part) {
        self.end(schema, part, |access| access.undo());
    }

    fn end(
        &mut self,
        schema: &Schema,
        mut part: Part,
        end: impl FnOnce(InPlace<'_, Ahead<Alone>>),
    ) {
        let is_here = std::mem::take(&mut part.is_here);
        debug_assert_eq!(is_here, self.is_taken, "I2");
        self.is_taken = false;
        if !is_here {
            self.scratch.exchange(&mut part.undo);
        }
        end(InPlace::resume(schema, &mut self.scratch, Ahead(Alone)));
        if !is_here {
            self.scratch.exchange(&mut part.undo);
        }
        part.hash = None;
        part.values.clear();
        self.free.push(part);
    }
}
