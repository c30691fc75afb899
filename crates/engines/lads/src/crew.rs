//! What all workers share, and the steps they take together.
//!
//! States       of a **round**: begun -> every worker builds a graph -> each executes its share of
//!              all graphs, one after the other; of one that is not built yet it waits for that ->
//!              all have executed theirs -> concluded: every builder looks how its calls have
//!              ended -> judged: either all graphs commit together, or all are taken back and
//!              their calls run one by one -> all have committed theirs: the next round begins, or
//!              a **pause**, in which workers look after themselves outside the gate. Where there
//!              is little to do, one worker goes through all of that by itself, again and again,
//!              while the others wait for the next round of all ([`crate::company`])
//! Invariants   I1 records are touched only inside the gate, which one worker enters and leaves for
//!              all: so nobody waits at the gate for whom others wait at a barrier
//!              I2 the order of calls is that of graphs, then that of calls in a graph
//! Concurrency  a graph -> its builder writes while it builds and commits, all read between; an
//!              outbox -> its builder, its executor, the builder, then whoever takes a round back;
//!              a scratch -> its worker, then whoever takes a round back. All of these steps are
//!              parted by milestones and barriers, so no latch here is ever waited for
//! Source       lads.txt 3.3 (a global synchronization between building and executing, conflicting
//!              graphs one after the other, group commit) and 4.1 (bulk synchronous threads)

use hotrow_base::sync::facade::atomic::{AtomicBool, AtomicUsize, Ordering};
use hotrow_base::sync::facade::{RwLock, RwLockReadGuard};
use std::sync::Arc;
use std::time::Duration;

use hotrow_base::clock::Ticks;
use hotrow_base::counters::PerWorker;
use hotrow_base::sync::{Barrier, Latch, Milestone};
use hotrow_engine::contract::Ground;
use hotrow_engine::in_place::{InPlace, Scratch};
use hotrow_engine::journal::{Committer, Group};
use hotrow_engine::protection::Alone;
use hotrow_engine::schema::{KnownSchema, Schema};
use hotrow_engine::statistics::WorkerBooks;
use hotrow_log::position::Position;

use crate::batch_size::BatchSize;
use crate::company::Company;
use crate::graph::Graph;
use crate::options::{LocalCalls, Settings};
use crate::outbox::Outbox;
use crate::partition::{Cuts, Sampled};
use crate::programs::Programs;

/// A graph's place, used round after round.
pub struct Slot {
    /// the graph
    pub graph: RwLock<Graph>,
    /// the last round in which it was built
    pub built: Milestone,
    /// by executor
    pub outboxes: Box<[Latch<Outbox>]>,
    /// of the queues that its builder met, in rounds in which [that is asked for](Round::samples)
    pub sample: Latch<Vec<Sampled>>,
    /// some of them have changed something
    writes: AtomicBool,
    calls: AtomicUsize,
    /// see [`Verdict`]
    must_go_back: AtomicBool,
    defers: AtomicBool,
}

/// Rounds of which one is sampled.
const ROUNDS_PER_SAMPLE: u32 = 8;
/// How long one worker goes on alone: the others have to see that tables are no more, and to give
/// back what they have retired, before memory is free.
const MEETING_EVERY: Duration = Duration::from_millis(50);

/// How the calls of a graph have ended.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Verdict {
    /// some of them have changed something
    pub writes: bool,
    /// one has failed after others may have seen what it wrote, or it is not known how it has
    /// failed: the round has to be taken back
    pub must_go_back: bool,
    /// footprints were guessed wrong: these calls are to run behind all others of the round
    pub defers: bool,
}

impl Slot {
    /// Tells that its graph is built, and of how many calls.
    pub fn tell(&self, round: u32, calls: usize) {
        self.calls.store(calls, Ordering::Relaxed); // the milestone orders this
        self.built.reach(round);
    }

    /// Its builder does nothing in the round.
    fn be_empty(&self) {
        self.calls.store(0, Ordering::Relaxed); // read by whoever does the round, or behind it
        for flag in [&self.writes, &self.must_go_back, &self.defers] {
            flag.store(false, Ordering::Relaxed); // as that
        }
        self.outboxes.iter().for_each(|outbox| outbox.lock().clear());
    }

    /// Whether calls are left to its builder that have to run one by one. Asked behind the barrier
    /// at which the round was judged, while that round goes on.
    pub fn needs_turn(&self, plan: Plan) -> bool {
        match plan {
            Plan::OneByOne => !self.is_empty(),
            _ => self.defers.load(Ordering::Relaxed), // the barrier orders this
        }
    }

    /// Whether its graph has no calls. Asked behind its milestone.
    pub fn is_empty(&self) -> bool {
        self.calls.load(Ordering::Relaxed) == 0
    }
}

/// Shared by all workers: slots for graphs, the barrier, and how granules are dealt out.
pub struct Crew {
    /// what the engine runs on
    pub ground: Ground,
    /// the engine's settings
    pub settings: Settings,
    /// each worker's books
    pub books: PerWorker<WorkerBooks>,
    /// by builder
    pub slots: Box<[Slot]>,
    /// by worker: what undoes its changes of this round
    pub scratches: Box<[Latch<Scratch>]>,
    /// one worker at a time makes its changes final where that removes something: what one has
    /// removed, another may have brought back and removed again
    pub settling: Latch<()>,
    /// by worker
    committers: Vec<Committer>,
    barrier: Barrier,
    state: Latch<State>,
    /// changed at barriers only; workers have copies
    cuts: RwLock<Cuts>,
    stopping: AtomicBool,
    /// somebody has to go outside the gate
    wants_pause: AtomicBool,
    /// somebody has calls of the next round already
    is_ahead: AtomicBool,
    /// by worker: its source has no more calls
    closed: Box<[AtomicBool]>,
}

/// What the last worker to come to a barrier decides for all.
struct State {
    /// of which the programs are
    schema: KnownSchema,
    programs: Arc<Programs>,
    round: u32,
    /// how often granules were dealt out anew
    cuts: u32,
    /// all samples of a round
    sample: Vec<Sampled>,
    /// the position of the last transaction
    met: Position,
    /// what became of the round
    plan: Plan,
    /// what all come to next. Set where all have met only: who does rounds alone is far ahead, when
    /// another one looks
    next: Plan,
    groups: Vec<Group>,
    /// one for all: nobody is to wait for who builds more
    batch_size: BatchSize,
    company: Company,
    /// who does the round alone
    alone: Option<usize>,
    /// when all were together
    met_at: Ticks,
    began: Ticks,
}

impl State {
    fn samples(&self) -> bool {
        self.round % ROUNDS_PER_SAMPLE == 1
    }
}

/// What a worker is told when a round begins.
#[derive(Clone, Debug)]
pub struct Round {
    /// its number
    pub number: u32,
    /// the procedures
    pub programs: Arc<Programs>,
    /// how many calls a graph may have
    pub calls: usize,
    /// each builder is to leave a sample of its queues
    pub samples: bool,
    /// who does it, if it is not for all: the others wait for the next one
    pub alone: Option<usize>,
    /// how often granules were dealt out anew: whether there are other [`Crew::cuts`] than before
    pub cuts: u32,
}

/// What comes next.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Plan {
    /// a round
    Round,
    /// all are outside the gate
    Pause,
    /// all graphs commit
    Commit,
    /// all graphs commit, then the calls whose footprints were guessed wrong run one by one
    CommitThenOneByOne,
    /// they have been taken back; their calls run one by one
    OneByOne,
    /// the engine ends
    End,
}

impl Crew {
    /// A crew of as many workers as there are committers; by worker, its memory node.
    /// `shares_calls`: each may take any call.
    pub fn new(
        ground: Ground,
        settings: Settings,
        committers: Vec<Committer>,
        nodes: &[u16],
        shares_calls: bool,
    ) -> Self {
        let workers = committers.len();
        let slot = |_| Slot {
            graph: RwLock::new(Graph::new(workers)),
            built: Milestone::new(workers),
            sample: Latch::default(),
            outboxes: (0..workers).map(|_| Latch::default()).collect(),
            writes: AtomicBool::new(false),
            calls: AtomicUsize::new(0),
            must_go_back: AtomicBool::new(false),
            defers: AtomicBool::new(false),
        };
        let scratch = |committer: &Committer| Latch::new(Scratch::new(committer.worker()));
        let schema = KnownSchema::new(&ground.schema);
        let state = State {
            programs: Arc::new(Programs::new(schema.get())),
            schema,
            round: 0,
            cuts: 0,
            sample: Vec::new(),
            met: Position::default(),
            plan: Plan::Pause,
            next: Plan::Pause,
            groups: Vec::with_capacity(workers),
            batch_size: BatchSize::new(settings.batch, settings.latency),
            company: Company::new(workers, shares_calls, settings.latency),
            alone: None,
            met_at: Ticks::now(),
            began: Ticks::now(),
        };
        Self {
            settings,
            books: PerWorker::with_defaults(workers),
            slots: (0..workers).map(slot).collect(),
            scratches: committers.iter().map(scratch).collect(),
            settling: Latch::default(),
            barrier: Barrier::new(workers as u32),
            state: Latch::new(state),
            cuts: RwLock::new(Cuts::new(nodes)),
            stopping: AtomicBool::new(false),
            wants_pause: AtomicBool::new(false),
            is_ahead: AtomicBool::new(false),
            closed: (0..workers).map(|_| AtomicBool::new(false)).collect(),
            committers,
            ground,
        }
    }

    /// How many workers there are.
    pub fn workers(&self) -> usize {
        self.slots.len()
    }

    /// Whether no call is to be fetched any more.
    pub fn is_ending(&self) -> bool {
        self.stopping.load(Ordering::Acquire) // partner: the Release in `end`
    }

    /// A worker's source has no more calls.
    pub fn close(&self, worker: usize) {
        self.closed[worker].store(true, Ordering::Relaxed); // read behind a barrier
    }

    /// The first worker whose source may have calls: in idle times it looks for all.
    pub fn watchman(&self) -> Option<usize> {
        self.closed.iter().position(|closed| !closed.load(Ordering::Relaxed)) // see `close`
    }

    /// Whether granules are dealt out so that one worker may have all that a call touches, and
    /// calls are not to be cut all the same.
    pub fn may_have_at_one(&self, round: &Round) -> bool {
        let Settings { partitioning, local_calls, .. } = self.settings;
        local_calls == LocalCalls::Whole && (partitioning.is_by_range() || self.is_for_one(round))
    }

    /// Whether one worker executes all of a round.
    pub fn is_for_one(&self, round: &Round) -> bool {
        self.workers() == 1 || round.alone.is_some()
    }

    /// Waits until all workers are here.
    pub fn meet(&self) {
        self.barrier.wait(|| ());
    }

    /// As [`Crew::meet`]; who waits works meanwhile.
    pub fn meet_working(&self, work: impl FnMut() -> bool) {
        self.barrier.wait_working(|| (), work);
    }

    /// A worker has fetched calls of the next round: there will be one.
    pub fn goes_ahead(&self) {
        self.is_ahead.store(true, Ordering::Relaxed); // read behind a barrier
    }

    /// How granules are dealt out in this round, to be copied.
    pub fn cuts(&self) -> RwLockReadGuard<'_, Cuts> {
        self.cuts.read().expect("nobody panics with it")
    }

    /// The round that has begun.
    pub fn round(&self) -> Round {
        let state = self.state.lock();
        Round {
            number: state.round,
            programs: Arc::clone(&state.programs),
            calls: state.batch_size.calls(),
            samples: state.samples() && state.alone.is_none(),
            alone: state.alone,
            cuts: state.cuts,
        }
    }

    /// Waits for all workers, outside the gate; then all are inside, and a round begins, or the
    /// engine ends.
    pub fn enter(&self) -> Plan {
        self.barrier.wait(|| self.begin(&mut self.state.lock()));
        self.state.lock().next
    }

    /// Waits for all workers; then another round has begun, or all are outside the gate.
    /// `pauses`: this one has to go outside.
    pub fn next_round(&self, pauses: bool) -> Plan {
        if pauses {
            self.wants_pause.store(true, Ordering::Relaxed); // the barrier orders this
        }
        self.barrier.wait(|| {
            let state = &mut *self.state.lock();
            self.note_time(state);
            if state.samples() && state.alone.is_none() && self.cut(&mut state.sample) {
                state.cuts = state.cuts.wrapping_add(1);
            }
            self.ground.schema.gate().leave(self.gate_number());
            match self.wants_pause.swap(false, Ordering::Relaxed) {
                true => state.next = Plan::Pause,
                false => self.begin(state),
            }
        });
        self.state.lock().next
    }

    /// Goes on to another round of the worker who did the last one alone. `outside` is done outside
    /// the gate. False, and nothing was done: the next round is for all, whom
    /// [`Crew::next_round`] calls.
    pub fn next_round_alone(&self, worker: usize, outside: impl FnOnce()) -> bool {
        {
            let state = &mut *self.state.lock();
            self.note_time(state);
            let is_closed = self.closed[worker].load(Ordering::Relaxed); // its own
            let is_time = state.met_at.elapsed() >= MEETING_EVERY;
            if !state.company.is_alone() || self.is_ending() || is_closed || is_time {
                return false;
            }
        }
        let gate = self.ground.schema.gate();
        gate.leave(self.gate_number());
        outside();
        gate.enter(self.gate_number());
        self.begin_inside(&mut self.state.lock());
        true
    }

    /// Learns from how long a round took that has committed.
    fn note_time(&self, state: &mut State) {
        if state.plan == Plan::Commit {
            let calls = || self.slots.iter().map(|slot| slot.calls.load(Ordering::Relaxed));
            let nanos = state.began.elapsed_nanos();
            state.batch_size.took(calls().max().unwrap_or(0), nanos);
            state.company.took(calls().sum(), nanos);
            state.plan = Plan::Pause; // once for each
        }
    }

    /// Begins a round, for all workers or for one of them.
    fn begin(&self, state: &mut State) {
        let is_ahead = self.is_ahead.swap(false, Ordering::Relaxed); // see `goes_ahead`
        let watchman = self.watchman();
        if !is_ahead && (self.is_ending() || watchman.is_none()) {
            state.next = Plan::End;
            return;
        }
        state.met_at = Ticks::now();
        // Who is ahead has calls, which he has to run himself.
        state.alone = watchman.filter(|_| !is_ahead && state.company.is_alone());
        if let Some(alone) = state.alone {
            let others = self.slots.iter().enumerate().filter(|(number, _)| *number != alone);
            others.for_each(|(_, slot)| slot.be_empty());
        }
        self.ground.schema.gate().enter(self.gate_number()); // I1
        self.begin_inside(state);
        state.next = Plan::Round;
    }

    /// What is to be done inside the gate.
    fn begin_inside(&self, state: &mut State) {
        let shared = &*self.ground.schema;
        if state.schema.look_again(shared) {
            state.programs = Arc::new(Programs::new(state.schema.get()));
        } else if state.programs.lack_some() {
            state.programs = Arc::new(state.programs.with_added());
        }
        state.plan = Plan::Round;
        state.round = state.round.wrapping_add(1);
        state.began = Ticks::now();
    }

    /// Deals out granules anew, by what builders have met in this round; whether they met any.
    fn cut(&self, all: &mut Vec<Sampled>) -> bool {
        all.clear();
        self.slots.iter().for_each(|slot| all.append(&mut slot.sample.lock()));
        if !all.is_empty() {
            let cuts = &mut *self.cuts.write().expect("nobody panics with it");
            cuts.find(all);
        }
        !all.is_empty()
    }

    /// Tells how a worker's calls have ended, and waits for all, unless it does the round alone.
    /// `work` is what a worker does while it waits.
    pub fn judge(
        &self,
        schema: &Schema,
        (worker, is_alone): (usize, bool),
        verdict: Verdict,
        work: impl FnMut() -> bool,
    ) -> Plan {
        let slot = &self.slots[worker];
        slot.writes.store(verdict.writes, Ordering::Relaxed); // the barrier orders all of these
        slot.must_go_back.store(verdict.must_go_back, Ordering::Relaxed);
        slot.defers.store(verdict.defers, Ordering::Relaxed);
        let decide = || {
            let mut state = self.state.lock();
            let any = |flag: fn(&Slot) -> &AtomicBool| {
                self.slots.iter().any(|slot| flag(slot).load(Ordering::Relaxed))
            };
            if any(|slot| &slot.must_go_back) || !self.open_groups(&mut state) {
                self.take_back(schema);
                state.plan = Plan::OneByOne;
            } else if any(|slot| &slot.defers) {
                state.plan = Plan::CommitThenOneByOne;
            } else {
                state.plan = Plan::Commit;
            }
        };
        match is_alone {
            true => decide(),
            false => self.barrier.wait_working(decide, work),
        }
        self.state.lock().plan
    }

    /// Gives all calls of the round their places (I2); whether the log lets them have some.
    fn open_groups(&self, state: &mut State) -> bool {
        state.groups.clear();
        let doers = match state.alone {
            Some(alone) => alone..alone + 1,
            None => 0..self.slots.len(),
        };
        for (slot, committer) in self.slots[doers.clone()].iter().zip(&self.committers[doers]) {
            let calls = slot.calls.load(Ordering::Relaxed);
            let writes = slot.writes.load(Ordering::Relaxed);
            let Ok(group) = committer.open_group(state.met, calls, writes) else {
                let opened = state.groups.drain(..).zip(&self.committers);
                opened.for_each(|(group, committer)| committer.close_group(group));
                return false;
            };
            state.groups.push(group);
            if calls > 0 {
                state.met = group.position(calls - 1);
            }
        }
        true
    }

    /// A worker's group of this round, and the epoch in which all of the round is durable.
    pub fn group(&self, worker: usize) -> (Group, u64) {
        let state = self.state.lock();
        let at = if state.alone.is_some() { 0 } else { worker };
        (state.groups[at], state.met.epoch)
    }

    /// The position of the last transaction.
    pub fn met(&self) -> Position {
        self.state.lock().met
    }

    /// A transaction has run, behind all others.
    pub fn meets(&self, position: Position) {
        let met = &mut self.state.lock().met;
        *met = position.max(*met);
    }

    /// Undoes all changes of the round, the last ones first.
    fn take_back(&self, schema: &Schema) {
        for slot in self.slots.iter().rev() {
            let last = || {
                let stamp = |outbox: &Latch<Outbox>| Some(outbox.lock().changes.last()?.stamp);
                let stamps = slot.outboxes.iter().map(stamp).enumerate();
                stamps.filter_map(|(worker, stamp)| Some((stamp?, worker))).max()
            };
            while let Some((_, worker)) = last() {
                let changed = slot.outboxes[worker].lock().changes.pop();
                let before = changed.expect("it has a last one").before;
                let scratch = &mut *self.scratches[worker].lock();
                InPlace::resume(schema, scratch, Alone).take_back(before);
            }
            if !slot.is_empty() {
                // What was not noted: each granule's changes stand in one undo log.
                for (scratch, outbox) in self.scratches.iter().zip(&slot.outboxes) {
                    let before = outbox.lock().begin;
                    InPlace::resume(schema, &mut scratch.lock(), Alone).take_back(before);
                }
            }
        }
        for scratch in &self.scratches {
            let scratch = &mut *scratch.lock();
            debug_assert!(scratch.is_unchanged(), "all changes stand in outboxes");
            InPlace::resume(schema, scratch, Alone).undo();
        }
    }

    /// The worker in whose name all enter the gate.
    fn gate_number(&self) -> usize {
        self.committers[0].worker().index()
    }
}

impl hotrow_engine::crew::Crew for Crew {
    fn books(&self) -> &PerWorker<WorkerBooks> {
        &self.books
    }

    /// After this round.
    fn end(&self) {
        self.stopping.store(true, Ordering::Release); // partner: the Acquire in `is_ending`
    }
}
