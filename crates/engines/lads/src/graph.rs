//! The dependency graph of one worker's batch.
//!
//! Role         filled by the worker that built it, then executed by all of them, then read by the
//!              builder, who tells the calls' ends. The vertices are actions; *temporal*
//!              dependencies lead along queues ([`crate::queue`]), *logical* ones are listed
//! States       being built (the builder alone) -> being executed (all read; each action and each
//!              queue has one worker that writes its state) -> being concluded (the builder alone)
//! Invariants   I1 whatever an action waits for is of an earlier call, or of the same call and an
//!              earlier phase: there is no circle
//!              I2 nothing is allocated once lists have grown to the size of a batch
//! Concurrency  `waits` of an action -> stored by its executor alone; `open` and `next` of a queue
//!              -> by its owner alone; `failed` of a call -> lowered by anybody. Whoever needs to
//!              know is told by message or at a barrier: so Relaxed is enough everywhere
//! Source       lads.txt 3.1, Algorithm 1

use hotrow_base::sync::facade::atomic::{AtomicU32, Ordering::Relaxed};
use std::ops::Range;

use hotrow_base::datum::Datum;
use hotrow_base::pool::NONE;
use hotrow_engine::planning;
use hotrow_engine::schema::Schema;
use hotrow_engine::worker::Errand;
use hotrow_flow::cells::{Cell, Cells, Maker};
use hotrow_transaction::actions::{Batch, FlatLeaf};
use hotrow_transaction::frame::Frame;
use hotrow_transaction::outcome::Stop;
use hotrow_transaction::program::ROW_COUNT;

use crate::flat::{Flat, Flats};
use crate::options::Partitioning;
use crate::partition::{self, Cuts, Partitioner};
use crate::programs::Programs;
use crate::queue::{Place, Queues, Stands};

/// The executor of actions that the builder runs itself, when all others are done: they work on
/// values alone, and nobody waits for them.
pub const TAIL: u16 = u16::MAX;

/// One batch of calls as a graph of actions; its memory is used again batch after batch.
#[derive(Default)]
pub struct Graph {
    /// the calls, as actions
    pub batch: Batch,
    /// the calls; those behind the batch's are free
    pub errands: Vec<Errand>,
    /// calls that could not be planned, and why
    pub refused: Vec<(u32, Stop)>,
    /// per planned key: the record that it leads to (bits of its id plus one, 0 for none)
    pub hints: Vec<u64>,
    /// actions that wait for nothing but their turn
    pub flats: Flats,
    /// by call: its flat actions
    pub flat_calls: Vec<Option<(u32, u32)>>,
    /// temporal dependencies
    pub queues: Queues,
    /// by queue
    pub owners: Vec<u16>,
    /// by action; [`TAIL`]: none
    pub executors: Vec<u16>,
    /// what each worker has to do
    pub shares: Vec<Share>,
    /// some of its calls are of sessions with other conventions than sessions begin with
    pub has_conventions: bool,
    /// granules have other owners than in other graphs of the round: nobody may execute one of
    /// those while somebody executes this one
    pub stands_apart: bool,
    /// by action: where its successors end
    successors_end: Vec<u32>,
    successors: Vec<u32>,
    /// by action: uses whose turn has not come, and actions that are not done
    waits: Vec<AtomicU32>,
    /// by queue: actions whose turn it is and that are not done
    open: Vec<AtomicU32>,
    /// by queue: the first link whose turn has not come
    next: Vec<AtomicU32>,
    /// by call: the first instance that failed
    failed: Vec<AtomicU32>,
    /// what actions hand on
    pub cells: Cells,
    /// outputs of flat actions besides their first ones
    more: Vec<Cell>,
    /// by call: rows that its last flat action touched
    touched: Vec<AtomicU32>,
    partitioner: Partitioner,
    edges: Vec<(u32, u32)>,
    /// queues that all workers read
    spread: Vec<u32>,
}

/// A worker's part of a graph.
#[derive(Default, Debug)]
pub struct Share {
    /// queues that it owns
    pub queues: Vec<u32>,
    /// actions in no queue that wait for nothing
    pub roots: Vec<u32>,
    /// actions that it executes and links of queues that it owns
    pub tasks: u64,
}

impl Graph {
    /// A graph for so many workers.
    pub fn new(workers: usize) -> Self {
        let mut graph = Self {
            shares: (0..workers).map(|_| Share::default()).collect(),
            cells: Cells::new(workers),
            ..Self::default()
        };
        graph.clear(); // so its queues can be numbered
        graph
    }

    /// Forgets all calls, keeps the memory.
    pub fn clear(&mut self) {
        self.batch.clear();
        self.has_conventions = false;
        self.refused.clear();
        self.hints.clear();
        self.queues.clear();
        self.flats.clear();
        self.flat_calls.clear();
        self.failed.clear();
        self.touched.clear();
        self.cells.clear();
    }

    /// How many calls there are.
    pub fn calls(&self) -> usize {
        self.batch.calls().len()
    }

    /// Notes the records that the planned keys of the call that was added to the batch last most
    /// probably lead to, and asks for their cache lines.
    pub fn note_hints(&mut self, schema: &Schema) {
        let Self { batch, hints, .. } = self;
        let new = &batch.entries()[hints.len()..];
        hints.extend(
            new.iter().map(|entry| {
                planning::hint(schema, entry.index, batch.plan.key(entry), entry.hash)
            }),
        );
    }

    /// Hangs the actions of the call that was added to the batch last into the queues of their
    /// granules.
    pub fn hang_last(&mut self) {
        self.note_call(None);
        let Self { batch, queues, flats, .. } = self;
        let call = batch.calls().last().expect("one was added");
        queues.make_room(batch.all_uses().len());
        // Phase by phase (I2 of queues).
        for number in batch.actions_of(call) {
            let action = &batch.actions()[number as usize];
            for (at, used) in batch.places_of_uses(action).zip(batch.uses(action)) {
                queues.hang(number, at, used, || batch.plan.head(used), &mut flats.all);
            }
        }
    }

    /// Hangs the flat actions of the call that was added to the batch last, from number `first`
    /// on, into the queues of their granules.
    pub fn hang_flat(&mut self, schema: &Schema, programs: &Programs, first: usize) {
        if let Some(last) = self.flats.all[first..].last_mut() {
            last.is_last = true;
        }
        self.flats.settle(schema, programs, &mut self.queues);
        self.note_call(Some((first as u32, self.flats.len() as u32)));
    }

    fn note_call(&mut self, flat: Option<(u32, u32)>) {
        self.flat_calls.push(flat);
        self.failed.push(AtomicU32::new(NONE));
        self.touched.push(AtomicU32::new(0));
    }

    /// Ends the building of the graph: dependencies are counted, and the work is dealt out, to all
    /// workers or to the builder `alone`.
    pub fn seal(&mut self, how: Partitioning, cuts: &Cuts, (builder, alone): (u16, bool)) {
        self.link(builder);
        let workers = if alone { 1 } else { self.shares.len() as u16 };
        let weight = (workers > 1).then(|| partition::weight(&self.queues.all));
        self.edges.clear();
        let is_worth_meeting = |weight| partition::is_worth_meeting(workers.into(), weight);
        if how.needs_edges() && weight.is_some_and(is_worth_meeting) {
            self.find_edges();
        }
        let Self { queues, edges, owners, partitioner, .. } = self;
        self.stands_apart = partitioner.partition(how, (workers, cuts), &queues.all, edges, owners);
        if alone {
            owners.fill(builder);
        }
        self.deal_out(workers.into(), weight);
        self.spread_reads();
        let Self { cells, batch, more, flats, shares, .. } = self;
        cells.make_room(batch.values(), shares.len());
        let flats = flats.more as usize;
        if more.len() < flats {
            more.resize_with(flats, Cell::default);
        }
    }

    /// Lists successors, and counts what each action waits for.
    fn link(&mut self, builder: u16) {
        let Self { batch, successors, successors_end, waits, executors, .. } = self;
        let actions = batch.actions();
        successors.clear();
        successors_end.clear();
        executors.clear();
        let by_default = actions.iter().map(|action| if action.is_pure() { TAIL } else { builder });
        executors.extend(by_default);
        batch.dependencies().iter().for_each(|&(from, _)| executors[from as usize] = builder);
        waits.clear();
        waits.extend(actions.iter().map(|action| AtomicU32::new(batch.uses(action).len() as u32)));
        // Dependencies stand call by call, each call's sorted.
        let mut dependencies = batch.dependencies().iter().peekable();
        for number in 0..actions.len() as u32 {
            while let Some(&(_, to)) = dependencies.next_if(|&&(from, _)| from == number) {
                if executors[to as usize] != TAIL {
                    successors.push(to);
                    *waits[to as usize].get_mut() += 1;
                }
            }
            successors_end.push(successors.len() as u32);
        }
        debug_assert!(dependencies.next().is_none(), "dependencies are sorted");
    }

    /// An action's successors.
    pub fn successors(&self, action: u32) -> &[u32] {
        &self.successors[self.successors_of(action)]
    }

    fn successors_of(&self, action: u32) -> Range<usize> {
        let start = match action {
            0 => 0,
            _ => self.successors_end[action as usize - 1],
        };
        start as usize..self.successors_end[action as usize] as usize
    }

    /// The home of an action; [`NONE`] if it has no uses.
    fn home(&self, action: u32) -> u32 {
        let places = self.batch.places_of_uses(&self.batch.actions()[action as usize]);
        if places.is_empty() { NONE } else { self.queues.links[places.start as usize].queue }
    }

    /// The edges between queues: where values go, and where one action works in several.
    fn find_edges(&mut self) {
        let mut edges = std::mem::take(&mut self.edges);
        for (number, action) in (0..).zip(self.batch.actions()) {
            let home = self.home(number);
            if home == NONE {
                continue;
            }
            let others = self.batch.places_of_uses(action).skip(1);
            edges.extend(others.map(|at| (home, self.queues.links[at as usize].queue)));
            let takers = self.successors(number).iter().map(|&to| self.home(to));
            edges.extend(takers.filter(|&to| to != NONE && to != home).map(|to| (home, to)));
        }
        self.edges = edges;
    }

    /// `workers`: those who have a part; `weight`: the graph's, if they are several. An action
    /// without a home is executed where the last one is that it takes a value from, and by the
    /// builder if it takes none: were all of them his, the others would wait for him in each graph.
    fn deal_out(&mut self, workers: u64, weight: Option<u64>) {
        self.shares.iter_mut().for_each(|share| {
            share.queues.clear();
            share.roots.clear();
            share.tasks = 0;
        });
        self.spread.clear();
        let Self { queues, owners, shares, open, next, spread, .. } = self;
        open.clear();
        next.clear();
        for (number, (queue, &owner)) in (0..).zip(queues.all.iter().zip(&*owners)) {
            if weight.is_some_and(|weight| queue.is_for_all(workers, weight)) {
                spread.push(number);
            } else {
                shares[usize::from(owner)].queues.push(number);
            }
            open.push(AtomicU32::new(0));
            next.push(AtomicU32::new(queue.first.to_word()));
        }
        for link in &queues.links {
            shares[usize::from(owners[link.queue as usize])].tasks += 1;
        }
        for number in 0..self.batch.actions().len() as u32 {
            if self.executors[number as usize] == TAIL {
                continue;
            }
            let home = self.home(number);
            if home != NONE {
                self.executors[number as usize] = self.owners[home as usize];
            }
            let executor = self.executors[number as usize];
            for at in self.successors_of(number) {
                self.executors[self.successors[at] as usize] = executor;
            }
            let share = &mut self.shares[usize::from(executor)];
            share.tasks += 1;
            if *self.waits[number as usize].get_mut() == 0 {
                share.roots.push(number);
            }
        }
    }

    /// Deals out the reads of records that all workers read. Their granules have several owners
    /// then.
    fn spread_reads(&mut self) {
        let Self { queues, flats, shares, open, next, spread, stands_apart, .. } = self;
        *stands_apart |= !spread.is_empty();
        let workers = shares.len() as u32;
        for &number in &*spread {
            let queue = &queues.all[number as usize];
            let (mut at, mut left) = (queue.first, queue.weight);
            for (own, share) in (0..).zip(shares.iter_mut()) {
                let part = left.div_ceil(workers - own);
                if part == 0 {
                    break;
                }
                share.queues.push(open.len() as u32);
                open.push(AtomicU32::new(0));
                next.push(AtomicU32::new(at.to_word()));
                left -= part;
                for taken in 1..=part {
                    let Stands::Flat(flat) = at.stands() else { unreachable!("it has flat ones") };
                    let flat = &mut flats.all[flat as usize];
                    at = flat.next;
                    if taken == part {
                        flat.next = Place::END;
                    }
                }
            }
        }
    }

    /// An action waits for one thing less; whether that was the last. Called by its executor.
    #[inline]
    pub fn wait_less(&self, action: u32) -> bool {
        count_down(&self.waits[action as usize])
    }

    /// Where a queue's next run begins. Asked by the queue's owner, when no action of the run
    /// before is left.
    #[inline]
    pub fn next_run(&self, queue: u32) -> Place {
        Place::from_word(self.next[queue as usize].load(Relaxed))
    }

    /// A queue's run has been opened: `open` of its actions are not done, and the next one begins
    /// there. Called by the queue's owner.
    #[inline]
    pub fn opened(&self, queue: u32, open: u32, next: Place) {
        self.open[queue as usize].store(open, Relaxed); // one writer
        self.next[queue as usize].store(next.to_word(), Relaxed);
    }

    /// An action whose turn it was in a queue is done; whether it was the last of its run. Called
    /// by the queue's owner.
    #[inline]
    pub fn leave(&self, queue: u32) -> bool {
        count_down(&self.open[queue as usize])
    }

    /// Keeps an output of a flat action. Called by its executor.
    #[inline]
    pub fn keep_output(&self, flat: &Flat, at: usize, words: (u64, u64)) {
        match at {
            0 => flat.make(words),
            _ => self.more[flat.more as usize + at - 1].store(words),
        }
    }

    /// Keeps how many rows the last flat action of a call touched. Called by its executor.
    #[inline]
    pub fn keep_touched(&self, call: u32, rows: u32) {
        self.touched[call as usize].store(rows, Relaxed); // as cells
    }

    /// The first instance of a call that failed; [`NONE`]: none has, as far as is known here.
    #[inline]
    pub fn failed(&self, call: u32) -> u32 {
        self.failed[call as usize].load(Relaxed)
    }

    /// An instance of a call has failed: whatever comes behind it is disabled.
    pub fn fail(&self, call: u32, instance: u32) {
        self.failed[call as usize].fetch_min(instance, Relaxed);
    }
}

/// Takes one off a counter that has one writer; whether that was the last.
#[inline]
fn count_down(counter: &AtomicU32) -> bool {
    let left = counter.load(Relaxed) - 1;
    counter.store(left, Relaxed);
    left == 0
}

/// The values of a graph's flat actions, as one worker uses them.
pub struct FlatValues<'a> {
    graph: &'a Graph,
    values: Maker<'a>,
}

impl<'a> FlatValues<'a> {
    /// As worker `worker` uses them.
    pub fn new(graph: &'a Graph, worker: u16) -> Self {
        Self { graph, values: graph.cells.of(worker) }
    }
}

impl FlatValues<'_> {
    /// Keeps what a flat action has made.
    pub fn keep_outputs(&self, number: u32, leaf: &FlatLeaf, frame: &Frame) {
        let graph = self.graph;
        let flat = &graph.flats.all[number as usize];
        for (at, &slot) in leaf.outputs.iter().enumerate() {
            let datum = frame.slot(slot);
            let has_bytes = leaf.makes_bytes(at) && !datum.is_null();
            let bytes = has_bytes.then(|| &frame.heap()[datum.as_range().range()]);
            graph.keep_output(flat, at, self.values.to_words(datum, bytes));
        }
        if flat.is_last {
            graph.keep_touched(flat.call, frame.slot(ROW_COUNT).as_int() as u32);
        }
    }

    /// Puts what a flat action has made into a frame.
    pub fn give_outputs(&self, number: u32, leaf: &FlatLeaf, frame: &mut Frame) {
        let flat = &self.graph.flats.all[number as usize];
        for (at, &slot) in leaf.outputs.iter().enumerate() {
            let words = match at {
                0 => flat.made(),
                _ => self.graph.more[flat.more as usize + at - 1].load(),
            };
            let datum = self.values.to_datum(words, &mut frame.machine.heap);
            frame.set_slot(slot, datum);
        }
    }

    /// Rows that the last flat action of a call touched.
    pub fn touched(&self, call: usize) -> Datum {
        Datum::int(self.graph.touched[call].load(Relaxed).into()) // as cells
    }
}
