//! The conclusion of a graph: how each of its calls has ended.
//!
//! Role         the builder gathers what the executors left behind, and runs what is left of its
//!              calls: leaves that work on values alone and for which nobody waits (a sum of what
//!              was read, the reply). Whether the calls commit is decided later, by all
//! Invariants   I1 of several instances of a call that fail, the first one in the procedure counts

use std::ops::Range;

use hotrow_base::datum::Datum;
use hotrow_base::pool::NONE;
use hotrow_base::sync::Latch;
use hotrow_engine::in_place::{InPlace, Scratch};
use hotrow_engine::journal::Effect;
use hotrow_engine::protection::Within;
use hotrow_engine::schema::Schema;
use hotrow_engine::worker::Call;
use hotrow_flow::reply::{Fault, Gathered};
use hotrow_transaction::actions::{CallRun, FlatLeaf, FlatOutcomes};
use hotrow_transaction::frame::{Frame, RowStore, StoredRows};
use hotrow_transaction::outcome::Stop;
use hotrow_transaction::program::ROW_COUNT;

use crate::crew::Verdict;
use crate::graph::{FlatValues, Graph, TAIL};
use crate::habits::Habits;
use crate::outbox::Outbox;
use crate::programs::Programs;

/// See the module. Memory is used again.
#[derive(Default)]
pub struct Conclusion {
    /// by call
    ends: Vec<CallEnd>,
    /// by call: the hash of what it wrote, if it wrote
    hashes: Vec<Option<u64>>,
    /// failed calls of which it is not known with which error they would have failed first
    doubts: Vec<u32>,
    rows: RowStore,
    gathered: Gathered,
    lines: Vec<u32>,
}

/// What the flat actions of a call have made, one after the other.
struct Outcomes<'a> {
    values: &'a FlatValues<'a>,
    next: u32,
    /// the one that failed
    failed: u32,
}

impl FlatOutcomes for Outcomes<'_> {
    fn next(&mut self, leaf: &FlatLeaf, frame: &mut Frame) -> Result<(), Stop> {
        let number = self.next;
        self.next += 1;
        if number == self.failed {
            return Err(Stop::Replan); // why it has is known elsewhere
        }
        self.values.give_outputs(number, leaf, frame);
        Ok(())
    }
}

enum CallEnd {
    /// its rows, and how many rows its last statement touched
    Done { rows: RowsOf, touched: Datum },
    /// what failed first
    Failed(Fault),
}

/// Where the rows of a call lie.
enum RowsOf {
    /// with the conclusion
    Kept(StoredRows),
    /// with those who have run it, and there among what is gathered
    Gathered(Range<usize>),
}

impl CallEnd {
    /// The instance that failed, or [`NONE`].
    fn failed(&self) -> u32 {
        match self {
            Self::Failed(fault) => fault.instance,
            Self::Done { .. } => NONE,
        }
    }

    /// If it failed: a frame has what it said before the instance that failed.
    fn follow(&mut self, frame: &Frame) {
        if let Self::Failed(fault) = self {
            fault.follow(frame);
        }
    }
}

/// What concluding a graph takes.
pub struct Remains<'a> {
    /// tables
    pub schema: &'a Schema,
    /// procedures
    pub programs: &'a Programs,
    /// the graph
    pub graph: &'a Graph,
    /// the builder's number
    pub worker: u16,
    /// a frame
    pub frame: &'a mut Frame,
    /// of a worker that has nothing to undo in it
    pub scratch: &'a mut Scratch,
}

impl Conclusion {
    /// Finds out how the calls of a graph have ended.
    pub fn conclude(&mut self, remains: &mut Remains<'_>, outboxes: &[Latch<Outbox>]) {
        let calls = remains.graph.calls();
        self.ends.clear();
        self.hashes.clear();
        self.hashes.resize(calls, None);
        self.doubts.clear();
        self.rows.clear();
        let none = || CallEnd::Done { rows: RowsOf::Gathered(0..0), touched: Datum::int(0) };
        self.ends.resize_with(calls, none);
        for &(call, stop) in &remains.graph.refused {
            self.ends[call as usize] = CallEnd::Failed(Fault { instance: 0, stop, error: None });
        }
        outboxes.iter().for_each(|outbox| self.gather(&mut outbox.lock()));
        self.gathered.gather(outboxes);
        for call in 0..calls as u32 {
            match remains.graph.flat_calls[call as usize] {
                Some(actions) => self.end_flat(remains, call, actions),
                None => self.end_one(remains, call, outboxes),
            }
        }
    }

    /// What a call did.
    pub fn effect(&self, call: usize, graph: &Graph) -> Effect {
        Effect::of_call(self.hashes[call], &graph.errands[call].invocation)
    }

    fn gather(&mut self, outbox: &mut Outbox) {
        for changed in &outbox.changes {
            let hash = &mut self.hashes[changed.call as usize];
            *hash = Some(hash.unwrap_or(0).wrapping_add(changed.hash));
        }
        for (call, fault) in outbox.faults.drain(..) {
            let end = &mut self.ends[call as usize];
            if fault.instance < end.failed() {
                *end = CallEnd::Failed(fault); // I1
            }
        }
        self.doubts.append(&mut outbox.doubts);
    }

    /// As [`Conclusion::end_one`], of a flat call.
    fn end_flat(&mut self, remains: &mut Remains<'_>, number: u32, actions: (u32, u32)) {
        let Remains { programs, graph, worker, frame, .. } = remains;
        let invocation = &graph.errands[number as usize].invocation;
        let Some(flat) = &programs.of(invocation.procedure).flat else { return };
        let flats = FlatValues::new(graph, *worker);
        let end = &mut self.ends[number as usize];
        let failed = end.failed();
        if !flat.has_tail {
            if let CallEnd::Done { touched, .. } = end {
                *touched = flats.touched(number as usize);
            }
            return;
        }
        let mut outcomes = Outcomes { values: &flats, next: actions.0, failed };
        match flat.run_tail(invocation, frame, &mut outcomes) {
            Err(_) if outcomes.next > failed => end.follow(frame), // as it is known
            Err(stop) => {
                *end = CallEnd::Failed(Fault::of(outcomes.next, stop, frame));
            }
            Ok(()) => {
                debug_assert_eq!(outcomes.next, actions.1, "I2 of flat calls");
                let touched = match flat.tail_counts {
                    true => frame.slot(ROW_COUNT),
                    false => flats.touched(number as usize),
                };
                let rows = frame.keep_rows(flat.tail(), &mut self.rows);
                *end = CallEnd::Done { rows: RowsOf::Kept(rows), touched };
            }
        }
    }

    /// Runs what is left of a call, and puts its rows together.
    fn end_one(&mut self, remains: &mut Remains<'_>, number: u32, outboxes: &[Latch<Outbox>]) {
        let Remains { schema, programs, graph, worker, frame, scratch } = remains;
        let batch = &graph.batch;
        let call = &batch.calls()[number as usize];
        let actions = batch.actions_of(call);
        let errand = &graph.errands[number as usize];
        if errand.procedure.is_none() || actions.is_empty() {
            return;
        }
        let invocation = &errand.invocation;
        let program = programs.of(invocation.procedure);
        let run = CallRun { program, batch, call, invocation };
        self.lines.clear();
        for action in actions.filter(|&action| graph.executors[action as usize] == TAIL) {
            self.lines.extend_from_slice(batch.lines(&batch.actions()[action as usize]));
        }
        self.lines.sort_unstable();
        let end = &mut self.ends[number as usize];
        let failed = end.failed();
        let instances = batch.instances_of(call);
        let mut values = graph.cells.of(*worker);
        let gathered = &mut self.gathered;
        if self.lines.is_empty()
            && let CallEnd::Done { rows, touched } = end
        {
            *touched = run.row_count(&values);
            *rows = RowsOf::Gathered(gathered.pass(instances.end));
            return;
        }
        run.begin(instances.start, frame);
        let code = |instance| run.code(instance);
        for &line in &self.lines {
            if line > failed {
                break;
            }
            gathered.add(line, outboxes, code, frame);
            let access = InPlace::resume(schema, scratch, Within::new(&[]));
            let mut access = access.with_hints(&graph.hints[run.keys(line)]);
            if let Err(stop) = run.run(line, frame, &mut access, &mut values) {
                *end = CallEnd::Failed(Fault::of(line, stop, frame));
                break;
            }
        }
        gathered.add(end.failed().min(instances.end), outboxes, code, frame);
        end.follow(frame);
        gathered.pass(instances.end);
        if let CallEnd::Done { rows, touched } = end {
            *touched = run.row_count(&values);
            let kept = frame.keep_rows(run.code(instances.start), &mut self.rows);
            *rows = RowsOf::Kept(kept);
        }
    }

    /// What that means for the round. Procedures of calls for whose sake it has to go back are
    /// remembered.
    pub fn verdict(&self, graph: &Graph, programs: &Programs, habits: &mut Habits) -> Verdict {
        let procedure = |call: usize| graph.errands[call].invocation.procedure;
        let may_have_written = |call: usize| {
            // What flat calls change is not always noted.
            let flat = || programs.of(procedure(call)).flat.as_ref();
            let is_flat = graph.flat_calls[call].is_some();
            self.hashes[call].is_some() || is_flat && flat().is_some_and(|flat| flat.writes)
        };
        let mut verdict = Verdict { must_go_back: !self.doubts.is_empty(), ..Verdict::default() };
        for &call in &self.doubts {
            habits.goes_back(procedure(call as usize));
        }
        for (call, end) in self.ends.iter().enumerate() {
            match end {
                CallEnd::Done { .. } => verdict.writes |= self.effect(call, graph) != Effect::Read,
                CallEnd::Failed(fault) => {
                    // As `Call::after`.
                    verdict.defers |= matches!(fault.stop, Stop::Replan | Stop::Conflict(_));
                    if may_have_written(call) {
                        verdict.must_go_back = true;
                        habits.goes_back(procedure(call));
                    }
                }
            }
        }
        verdict
    }

    /// How many calls the last graph had.
    pub fn calls(&self) -> usize {
        self.ends.len()
    }

    /// How a call has ended; its result, or what went wrong, is in the frame on the desk then.
    /// `outboxes`: those with which its graph was concluded.
    pub fn end(
        &mut self,
        call: usize,
        outboxes: &[Latch<Outbox>],
        desk: &mut Call,
    ) -> Result<(), Stop> {
        let frame = &mut desk.frame;
        frame.begin_result();
        match &mut self.ends[call] {
            CallEnd::Done { rows, touched } => {
                if let Some(procedure) = &desk.procedure {
                    let program = &procedure.program;
                    match rows {
                        RowsOf::Kept(rows) => frame.add_rows(program, &self.rows, rows),
                        RowsOf::Gathered(range) => {
                            self.gathered.put(range.clone(), outboxes, |_| program, frame);
                        }
                    }
                }
                frame.set_slot(ROW_COUNT, *touched);
                Ok(())
            }
            CallEnd::Failed(fault) => Err(fault.tell(frame)),
        }
    }
}
