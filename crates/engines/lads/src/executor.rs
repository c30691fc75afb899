//! Execution of a graph: the actions of one worker's share, each when nothing is before it.
//!
//! States       of an action: waiting for its turns in queues and for other actions -> ready -> run
//!              (or disabled: something before it in its call has failed) -> its queues and its
//!              successors are told
//! Invariants   I1 an action is run by one worker, when its turn has come in all its queues:
//!              nothing is locked, and nothing it reaches is changed by anybody else meanwhile
//!              I2 stamps ascend along dependencies, also from worker to worker (a Lamport clock)
//!              I3 what a failed call changed before it was known to have failed stands in an
//!              outbox; what it changes later is taken back at once: that is only run because it
//!              may fail, too, and stands first in the procedure
//! Source       lads.txt 3.3, Algorithm 3. We differ: one flag per call disables its actions, where
//!              the paper sends each of them a message; and an executor follows a queue to its end
//!              before it turns to the next one, so that a record stays in the cache

use hotrow_base::conventions::Conventions;
use hotrow_base::datum::Datum;
use hotrow_base::key;
use hotrow_base::pool::NONE;
use hotrow_base::prefetch::prefetch;
use hotrow_engine::in_place::{CellChange, InPlace, Savepoint, Scratch};
use hotrow_engine::planning;
use hotrow_engine::protection::Within;
use hotrow_engine::schema::Schema;
use hotrow_engine::statistics::{Activity, Stopwatch};
use hotrow_flow::reply::Fault;
use hotrow_transaction::actions::{CallRun, Simple};
use hotrow_transaction::frame::Frame;
use hotrow_transaction::outcome::Stop;

use crate::graph::{FlatValues, Graph, Share};
use crate::mail::{About, Mail, Message};
use crate::outbox::{Changed, Outbox};
use crate::programs::Programs;
use crate::queue::Stands;

/// Actions run before messages are published and received.
const RUNS_PER_MAIL: u32 = 16;
/// Queues between the one that is opened and the one whose record is asked for.
const LOOK_AHEAD: usize = 6;

/// What a worker has for executing graphs.
pub struct Executor {
    worker: u16,
    frame: Frame,
    /// the call that it has begun
    begun_call: u32,
    /// for flat actions
    flat_frame: Frame,
    /// the procedure whose code that has
    begun: Option<u32>,
    mail: Mail,
    /// the graph that is being executed, by its number in the round
    number: u16,
    front: Front,
    /// how far it has come in its own graph before that one's turn
    own: Ahead,
    /// messages about graphs of the round that come later
    early: Vec<Message>,
    /// actions run since mail was looked at
    runs: u32,
}

/// How far a worker has come in its share of a graph.
#[derive(Default)]
struct Front {
    /// the executable set
    ready: Vec<u32>,
    /// queues whose next run is to be opened
    opening: Vec<u32>,
    /// what is left to do
    tasks: u64,
    clock: u32,
}

/// What is left of the worker's share of its own graph, before that graph's turn.
#[derive(Default)]
struct Ahead {
    tasks: u64,
    /// actions that wait for that turn alone
    ready: Vec<u32>,
}

impl Front {
    /// Takes note of a message.
    fn hear(&mut self, graph: &Graph, message: Message) {
        self.clock = message.clock.max(self.clock);
        match message.about {
            About::Action(action) => self.wait_less(graph, action),
            About::Queue(queue) => self.leave(graph, queue),
        }
    }

    /// An action of this worker waits for one thing less.
    #[inline]
    fn wait_less(&mut self, graph: &Graph, action: u32) {
        if graph.wait_less(action) {
            self.ready.push(action);
        }
    }

    /// An action of a call has changed something (I2).
    #[inline]
    fn note(&mut self, outbox: &mut Outbox, (call, before): (u32, Savepoint), hash: u64) {
        self.clock += 1;
        outbox.changes.push(Changed { call, stamp: self.clock, before, hash });
    }

    /// One action of the run that is a queue's turn is done.
    #[inline]
    fn leave(&mut self, graph: &Graph, queue: u32) {
        self.tasks -= 1;
        if graph.leave(queue) {
            self.opening.push(queue);
        }
    }
}

/// What a share is executed on.
pub struct Field<'a> {
    /// tables
    pub schema: &'a Schema,
    /// procedures
    pub programs: &'a Programs,
    /// the graph
    pub graph: &'a Graph,
    /// its number in the round
    pub number: u16,
    /// the worker's
    pub scratch: &'a mut Scratch,
    /// the worker's, for this graph
    pub outbox: &'a mut Outbox,
    /// every change is to be noted: for the log, or because some actions work in queues of several
    /// owners, so that changes can only be taken back one by one
    pub notes: bool,
}

impl Field<'_> {
    /// Asks for the first action of a queue that is opened soon.
    #[inline]
    fn prefetch_first(&self, queue: u32) {
        if let Stands::Flat(number) = self.graph.next_run(queue).stands() {
            prefetch(&self.graph.flats.all[number as usize]);
        }
    }

    /// Asks for the record that the first action of a queue works on.
    #[inline]
    fn prefetch_record(&self, queue: u32) {
        if let Stands::Flat(number) = self.graph.next_run(queue).stands() {
            let flat = &self.graph.flats.all[number as usize];
            let (.., leaf) = self.programs.coded(flat.code);
            planning::prefetch_hinted(self.schema, leaf.index, flat.hint);
        }
    }
}

/// An instance, or a flat action, of a call has failed.
#[cold]
fn fail(
    graph: &Graph,
    outbox: &mut Outbox,
    (call, instance): (u32, u32),
    stop: Stop,
    frame: &mut Frame,
) {
    graph.fail(call, instance);
    outbox.faults.push((call, Fault::of(instance, stop, frame)));
}

impl Executor {
    /// That of worker `worker`; a call may take so many steps.
    pub fn new(worker: u16, mail: Mail, step_budget: u64) -> Self {
        let frame = || {
            let mut frame = Frame::new();
            frame.set_step_budget(step_budget);
            frame
        };
        Self {
            worker,
            frame: frame(),
            begun_call: NONE,
            flat_frame: frame(),
            begun: None,
            mail,
            number: 0,
            front: Front::default(),
            own: Ahead::default(),
            early: Vec::new(),
            runs: 0,
        }
    }

    /// How many messages were sent since this was last asked.
    pub fn take_sent(&mut self) -> u64 {
        self.mail.to.take_sent()
    }

    /// Runs the actions of the worker's own graph that wait for no granule and change nothing, when
    /// it is built, before any graph's turn: nothing that others do is anything to them. In their
    /// graph's turn all workers would wait for this one, as most calls' conditions are such
    /// actions. [`Executor::execute`] does the rest, and comes behind this.
    pub fn run_ahead(&mut self, field: &mut Field<'_>, watch: &mut Stopwatch) {
        watch.switch(Activity::Execute);
        let share = self.begin(field);
        for &root in &share.roots {
            self.front.ready.push(root);
            while let Some(action) = self.front.ready.pop() {
                if !field.graph.batch.actions()[action as usize].is_pure() {
                    self.own.ready.push(action);
                    continue;
                }
                self.run(field, action);
                self.tell(field.graph, action);
            }
            self.mail.to.publish(); // nothing is received: others may be at graphs before
        }
        self.own.tasks = self.front.tasks;
    }

    /// Executes the worker's share of a graph. Others may be at earlier or later graphs of the
    /// round meanwhile.
    pub fn execute(&mut self, field: &mut Field<'_>, watch: &mut Stopwatch) {
        watch.switch(Activity::Execute);
        let share = self.begin(field);
        if field.number == self.worker {
            self.front.tasks = self.own.tasks;
            self.front.ready.append(&mut self.own.ready);
        }
        field.outbox.begin = field.scratch.savepoint();
        let is_own = |message: &mut Message| message.graph == field.number;
        for message in self.early.extract_if(.., is_own) {
            self.front.hear(field.graph, message);
        }
        self.work(field);
        for (at, &queue) in share.queues.iter().enumerate() {
            if let Some(&ahead) = share.queues.get(at + 2 * LOOK_AHEAD) {
                field.prefetch_first(ahead);
            }
            if let Some(&ahead) = share.queues.get(at + LOOK_AHEAD) {
                field.prefetch_record(ahead);
            }
            self.open(field, queue);
            self.work(field);
        }
        while self.front.tasks > 0 {
            self.mail.to.publish();
            if self.receive(field) == 0 {
                watch.switch(Activity::Wait);
                self.mail.wait();
                watch.switch(Activity::Execute);
            }
            self.work(field);
        }
        self.mail.to.flush();
    }

    fn begin<'g>(&mut self, field: &Field<'g>) -> &'g Share {
        let share = &field.graph.shares[usize::from(self.worker)];
        (self.front.tasks, self.front.clock, self.runs) = (share.tasks, 0, 0);
        self.number = field.number;
        (self.begun, self.begun_call) = (None, NONE); // there may be other procedures and calls
        share
    }

    /// Runs what is ready, and what gets ready by it here.
    fn work(&mut self, field: &mut Field<'_>) {
        loop {
            if let Some(action) = self.front.ready.pop() {
                self.run(field, action);
                self.tell(field.graph, action);
                self.runs += 1;
                if self.runs.is_multiple_of(RUNS_PER_MAIL) {
                    self.mail.to.publish();
                    self.receive(field);
                }
            } else if let Some(queue) = self.front.opening.pop() {
                self.open(field, queue);
            } else {
                return;
            }
        }
    }

    /// Opens a queue's next run, and, as long as there are only flat actions, those behind it.
    fn open(&mut self, field: &mut Field<'_>, queue: u32) {
        let graph = field.graph;
        let mut at = graph.next_run(queue);
        let mut open = 0;
        let mut is_first = true;
        loop {
            let begins_run = match at.stands() {
                Stands::Nothing => break,
                Stands::Link(link) => graph.queues.links[link as usize].begins_run,
                Stands::Flat(flat) => graph.flats.all[flat as usize].begins_run,
            };
            if begins_run && !is_first && open > 0 {
                break;
            }
            is_first = false;
            match at.stands() {
                Stands::Link(link) => {
                    let link = &graph.queues.links[link as usize];
                    open += 1;
                    self.wait_less(graph, link.action);
                    at = link.next;
                }
                Stands::Flat(flat) => {
                    let (flat, is_done) = self.run_simples(field, flat, open == 0);
                    at = graph.flats.all[flat as usize].next;
                    if is_done {
                        continue;
                    }
                    if let Stands::Flat(next) = at.stands() {
                        prefetch(&graph.flats.all[next as usize]);
                    }
                    self.run_flat(field, flat);
                }
                Stands::Nothing => {}
            }
        }
        graph.opened(queue, open, at);
    }

    /// Runs flat actions, from one on whose turn it is, as long as they are simple: the record that
    /// they work on is found once, and bumps that follow one another are stored once. The last one
    /// looked at, and whether it is done. `crosses`: the turn passes on from run to run.
    fn run_simples(&mut self, field: &mut Field<'_>, first: u32, crosses: bool) -> (u32, bool) {
        let Field { schema, programs, graph, scratch, outbox, notes, .. } = field;
        let flats = &graph.flats;
        let begin = &flats.all[first as usize];
        let (.., leaf) = programs.coded(begin.code);
        if leaf.simple.is_none() {
            return (first, false);
        }
        let access = InPlace::resume(schema, scratch, Within::new(&[]));
        let mut access = access.with_hints(std::slice::from_ref(&begin.hint));
        let key = (begin.key(), key::hash(begin.key()));
        let Ok(Some(record)) = leaf.find(key, &mut access) else { return (first, false) };
        let index = leaf.index;
        let mut cell: Option<CellChange<'_>> = None;
        let mut number = first;
        let ended = loop {
            let flat = &flats.all[number as usize];
            if let Stands::Flat(next) = flat.next.stands() {
                prefetch(&flats.all[next as usize]);
            }
            let (.., leaf) = programs.coded(flat.code);
            // Two granules may share the identity of their locks.
            let Some(simple) =
                leaf.simple.as_ref().filter(|_| leaf.index == index && flat.key() == begin.key())
            else {
                break (number, false);
            };
            let failed = graph.failed(flat.call);
            let captured = |at| flat.captured.value(&graph.batch, at);
            let outbox = notes.then_some(&mut **outbox);
            if failed < number {
                // disabled
            } else if let &Simple::Bump(bump, operand) = simple
                && failed == NONE
                && CellChange::fits(schema, leaf.table(), bump.field)
            {
                if cell.as_ref().is_none_or(|cell| !cell.is_of(bump.field)) {
                    if let Some(cell) = cell.take() {
                        cell.store(&mut access);
                    }
                    cell = CellChange::begin(&access, (leaf.table(), record, bump.field));
                }
                let Some((cell, operand)) = cell.as_mut().zip(operand.value(captured)) else {
                    break (number, false);
                };
                let Some(value) = bump.apply(cell.value(), operand) else {
                    break (number, false);
                };
                let (before, hash) = (cell.before(), cell.set(value));
                if let Some(outbox) = outbox {
                    self.front.note(outbox, (flat.call, before), hash);
                }
                if flat.is_last {
                    graph.keep_touched(flat.call, 1);
                }
            } else {
                if let Some(cell) = cell.take() {
                    cell.store(&mut access);
                }
                let before = access.savepoint();
                let make = |at, made: Datum| graph.keep_output(flat, at, made.to_words());
                match leaf.run_simple(simple, record, &mut access, captured, make) {
                    Ok(true) => {}
                    _ => break (number, false),
                }
                if flat.is_last {
                    graph.keep_touched(flat.call, 1);
                }
                self.note(&mut access, (flat.call, before), graph, outbox);
            }
            match flat.next.stands() {
                Stands::Flat(next) if crosses || !flats.all[next as usize].begins_run => {
                    number = next;
                }
                _ => break (number, true),
            }
        };
        if let Some(cell) = cell {
            cell.store(&mut access);
        }
        ended
    }

    /// Runs a flat action, whose turn it is.
    fn run_flat(&mut self, field: &mut Field<'_>, number: u32) {
        let Field { schema, programs, graph, scratch, outbox, notes, .. } = field;
        let flat = &graph.flats.all[number as usize];
        if graph.failed(flat.call) < number {
            return;
        }
        let (procedure, program, leaf) = programs.coded(flat.code);
        let frame = &mut self.flat_frame;
        if self.begun == Some(procedure) {
            frame.begin_leaf(&program.program);
        } else {
            frame.begin_code(&program.program);
            self.begun = Some(procedure);
        }
        frame.set_conventions(match graph.has_conventions {
            true => graph.errands[flat.call as usize].invocation.conventions,
            false => Conventions::DEFAULT,
        });
        leaf.give(&graph.batch, flat.captured, frame);
        let before = scratch.savepoint();
        let access = InPlace::resume(schema, scratch, Within::new(&[]));
        let mut access = access.with_hints(std::slice::from_ref(&flat.hint));
        let key = (flat.key(), key::hash(flat.key()));
        let flats = FlatValues::new(graph, self.worker);
        match leaf.run(&program.program, key, frame, &mut access) {
            Ok(()) => flats.keep_outputs(number, leaf, frame),
            Err(stop) => fail(graph, outbox, (flat.call, number), stop, frame),
        }
        let notes = notes.then_some(&mut **outbox);
        self.note(&mut access, (flat.call, before), graph, notes);
    }

    /// Notes what an action of a call has changed since `before`, if `outbox` wants that; takes it
    /// back if the call has failed (I3).
    #[inline]
    fn note(
        &mut self,
        access: &mut InPlace<'_, Within<'_>>,
        (call, before): (u32, Savepoint),
        graph: &Graph,
        outbox: Option<&mut Outbox>,
    ) {
        let Some(hash) = access.changed_since(&before) else { return };
        if graph.failed(call) != NONE {
            access.take_back(before);
        } else if let Some(outbox) = outbox {
            self.front.note(outbox, (call, before), hash);
        }
    }

    /// Tells that an action waits for one thing less.
    #[inline]
    fn wait_less(&mut self, graph: &Graph, action: u32) {
        let executor = graph.executors[action as usize];
        if executor == self.worker {
            self.front.wait_less(graph, action);
        } else {
            self.send(executor, About::Action(action));
        }
    }

    fn send(&mut self, to: u16, about: About) {
        let message = Message { graph: self.number, about, clock: self.front.clock };
        self.mail.to.send(to, message);
    }

    /// Tells queues and successors that an action is done.
    fn tell(&mut self, graph: &Graph, action: u32) {
        self.front.tasks -= 1;
        let places = graph.batch.places_of_uses(&graph.batch.actions()[action as usize]);
        for at in places {
            let queue = graph.queues.links[at as usize].queue;
            let owner = graph.owners[queue as usize];
            if owner == self.worker {
                self.front.leave(graph, queue);
            } else {
                self.send(owner, About::Queue(queue));
            }
        }
        for &next in graph.successors(action) {
            self.wait_less(graph, next);
        }
    }

    /// Takes note of messages; how many there were.
    fn receive(&mut self, field: &Field<'_>) -> usize {
        let Self { mail, front, early, number, .. } = self;
        mail.receive(|message| match message.graph == *number {
            true => front.hear(field.graph, message),
            false => early.push(message),
        })
    }

    fn run(&mut self, field: &mut Field<'_>, number: u32) {
        let Field { schema, programs, graph, scratch, outbox, .. } = field;
        let batch = &graph.batch;
        let action = &batch.actions()[number as usize];
        let failed = graph.failed(action.call);
        if failed != NONE && action.meets_own && batch.lines(action)[0] < failed {
            outbox.doubts.push(action.call); // I3
            return;
        }
        let invocation = &graph.errands[action.call as usize].invocation;
        let program = programs.of(invocation.procedure);
        let call = &batch.calls()[action.call as usize];
        let call = CallRun { program, batch, call, invocation };
        let before = scratch.savepoint();
        let mut values = graph.cells.of(self.worker);
        for (at, &line) in batch.lines(action).iter().enumerate() {
            if graph.failed(action.call) < line {
                break;
            }
            match (std::mem::replace(&mut self.begun_call, action.call) == action.call, at) {
                (false, _) => call.begin(line, &mut self.frame),
                (true, 0) => self.frame.begin_next_action(),
                (true, _) => self.frame.begin_next_leaf(),
            }
            let access = InPlace::resume(schema, scratch, Within::new(batch.uses(action)));
            let mut access = access.with_hints(&graph.hints[call.keys(line)]);
            match call.run(line, &mut self.frame, &mut access, &mut values) {
                Ok(()) if call.returns(line) => {
                    outbox.returned.keep(line, call.code(line), &mut self.frame);
                }
                Ok(()) => {}
                Err(stop) => {
                    fail(graph, outbox, (action.call, line), stop, &mut self.frame);
                    break;
                }
            }
        }
        let mut access = InPlace::resume(schema, scratch, Within::new(&[]));
        self.note(&mut access, (action.call, before), graph, Some(outbox));
    }
}
