//! A worker: builds a graph, executes its share of every graph, tells the ends of its calls.
//!
//! States       see [`crate::crew`]
//! Invariants   I1 a call fetched is finished, whatever happens
//!              I2 a call whose footprint was guessed wrong runs at the end of its round, as a
//!              whole, while nothing else runs: another guess would be made of what others of the
//!              next round change
//!              I3 one epoch pin lasts from the first plan of a call to its commit, so that hints
//!              are good
//!              I4 calls of the next round are planned while others are waited for, inside the
//!              gate. If there is another schema when that round begins, or procedures were added
//!              to it, they are planned again

use std::sync::Arc;

use hotrow_base::conventions::Conventions;
use hotrow_base::ids::WorkerId;
use hotrow_base::sync::reclaim::ReclaimEpoch;
use hotrow_engine::in_place::{InPlace, Scratch};
use hotrow_engine::journal::Committer;
use hotrow_engine::protection::Alone;
use hotrow_engine::reconnaissance::TrialReads;
use hotrow_engine::schema::{KnownSchema, Schema};
use hotrow_engine::source::{CallSource, Fetch};
use hotrow_engine::statistics::{Activity, Stopwatch, turns_between_books};
use hotrow_engine::worker::{Call, Errand, Next};
use hotrow_transaction::actions::{ActionPlanner, Wanted, WhyWhole};
use hotrow_transaction::outcome::Stop;

use crate::conclusion::{Conclusion, Remains};
use crate::crew::{Crew, Plan, Round, Slot, Verdict};
use crate::executor::{Executor, Field};
use crate::flat::Taker;
use crate::graph::Graph;
use crate::habits::Habits;
use crate::mail::Mail;
use crate::options::Partitioning;
use crate::partition::{self, Cuts};
use crate::programs::Programs;

/// Rounds between two publications of the stopwatch, while there are calls.
const ROUNDS_PER_HOUSEKEEPING: u32 = turns_between_books(64);
/// Calls of one round after which it is done at once.
const CALLS_PER_HOUSEKEEPING: usize = 256;

/// One thread: its source, the calls that it plans, and its share of each graph.
pub struct Worker {
    crew: Arc<Crew>,
    number: usize,
    id: WorkerId,
    committer: Committer,
    source: Box<dyn CallSource>,
    executor: Executor,
    conclusion: Conclusion,
    /// the call that is being planned, or whose end is being told
    desk: Call,
    planner: ActionPlanner,
    /// for trial reads, and for calls that run alone
    scratch: Scratch,
    habits: Habits,
    /// their footprints were guessed wrong: to run when the others of the round have committed
    deferred: Vec<Errand>,
    /// errands without a call
    free: Vec<Errand>,
    /// how granules are dealt out, and how often that was done anew before
    cuts: (u32, Cuts),
    /// the next round's graph, as far as it is built
    ahead: Graph,
    /// when that was begun
    ahead_since: Option<ReclaimEpoch>,
    watch: Stopwatch,
}

impl Worker {
    /// Worker number `number` of a crew.
    pub fn new(
        crew: Arc<Crew>,
        number: usize,
        committer: Committer,
        source: Box<dyn CallSource>,
        mail: Mail,
        step_budget: u64,
    ) -> Self {
        let id = committer.worker();
        Self {
            number,
            id,
            committer,
            source,
            executor: Executor::new(number as u16, mail, step_budget),
            conclusion: Conclusion::default(),
            desk: Call::new(step_budget),
            planner: ActionPlanner::default(),
            scratch: Scratch::new(id),
            habits: Habits::default(),
            deferred: Vec::new(),
            free: Vec::new(),
            cuts: (0, Cuts::new(&[])),
            ahead: Graph::new(crew.workers()),
            ahead_since: None,
            watch: Stopwatch::default(),
            crew,
        }
    }

    /// Runs until the engine ends.
    pub fn run(mut self) {
        let crew = Arc::clone(&self.crew);
        let shared = &*crew.ground.schema;
        let mut schema = KnownSchema::new(shared);
        let memory = Arc::clone(&schema.memory);
        let mut programs = crew.round().programs;
        let mut pin = None;
        let mut next = Plan::Pause;
        while next != Plan::End {
            if next == Plan::Pause {
                schema.memory.saved_rows().wait_for_room(self.id);
                self.committer.wait_for_room();
                next = crew.enter();
                continue;
            }
            let round = crew.round();
            let mut is_new = schema.look_again(shared);
            if is_new {
                self.habits.forget();
            }
            if !Arc::ptr_eq(&programs, &round.programs) {
                (programs, is_new) = (Arc::clone(&round.programs), true);
            }
            if round.alone.is_some_and(|other| other != self.number) {
                debug_assert_eq!(self.ahead.calls(), 0, "who is ahead does it with the others");
                pin = None; // it may be long
                drop(round); // and its programs know tables that may be dropped meanwhile
                self.publish_books();
                schema.reclaim(self.id);
                self.watch.switch(Activity::Idle);
                next = crew.next_round(false);
                continue;
            }
            let guard = pin.take().unwrap_or_else(|| memory.epochs().pin(self.id)); // I3
            if self.cuts.0 != round.cuts {
                self.cuts.0 = round.cuts;
                self.cuts.1.copy(&crew.cuts());
            }
            let calls = self.turn(&schema, &round, is_new);
            if let Some(since) = self.ahead_since.take() {
                guard.move_on(since);
                pin = Some(guard);
            } else {
                drop(guard);
            }
            let is_idle = calls == 0;
            let many = self.conclusion.calls() >= CALLS_PER_HOUSEKEEPING;
            if is_idle || many || round.number.is_multiple_of(ROUNDS_PER_HOUSEKEEPING) {
                self.publish_books();
                schema.reclaim(self.id);
            }
            let saved_rows = schema.memory.saved_rows();
            let has_room = saved_rows.has_room(self.id) && self.committer.has_room();
            self.watch.switch(if is_idle { Activity::Idle } else { Activity::Wait });
            if round.alone.is_some() {
                let Self { source, committer, id, number, .. } = &mut self;
                let outside = || {
                    if is_idle {
                        source.wait();
                    }
                    if !has_room {
                        saved_rows.wait_for_room(*id);
                        committer.wait_for_room();
                    }
                };
                if crew.next_round_alone(*number, outside) {
                    continue;
                }
            }
            next = crew.next_round(is_idle || !has_room);
            if is_idle && crew.watchman() == Some(self.number) {
                self.source.wait();
            }
        }
        self.publish_books();
    }

    /// One round, inside the gate; how many calls it had, of all workers. `is_new`: there is
    /// another schema than in the round before, or more procedures. Out of line, so that
    /// instructions can be counted from here on.
    #[inline(never)]
    fn turn(&mut self, schema: &Schema, round: &Round, is_new: bool) -> usize {
        let crew = Arc::clone(&self.crew);
        let slot = &crew.slots[self.number];
        let programs = &*round.programs;
        {
            let graph = &mut *slot.graph.write().expect("nobody panics with it");
            std::mem::swap(graph, &mut self.ahead);
            self.ahead.clear();
            if is_new {
                self.plan_again(schema, round, graph); // I4
            }
            self.build(schema, round, graph);
            slot.tell(round.number, graph.calls());
        }
        let calls = self.execute(schema, round);
        if calls == 0 {
            return 0;
        }
        self.watch.switch(Activity::Wait);
        let is_alone = round.alone.is_some();
        if !is_alone {
            crew.meet_working(|| self.go_ahead(schema, round));
        }
        let verdict = {
            self.watch.switch(Activity::Execute);
            let graph = slot.graph.read().expect("nobody panics with it");
            self.conclude(schema, programs, &graph, slot)
        };
        self.watch.switch(Activity::Wait);
        let who = (self.number, is_alone);
        let plan = crew.judge(schema, who, verdict, || self.go_ahead(schema, round));
        let graph = &mut *slot.graph.write().expect("nobody panics with it");
        match plan {
            Plan::OneByOne => {
                let calls = graph.calls();
                self.run_in_turn(schema, &mut graph.errands[..calls], (plan, is_alone));
            }
            Plan::CommitThenOneByOne => {
                self.commit(schema, graph);
                let mut deferred = std::mem::take(&mut self.deferred);
                self.run_in_turn(schema, &mut deferred, (plan, is_alone));
                debug_assert!(self.deferred.is_empty(), "what runs as a whole guesses nothing");
                self.free.append(&mut deferred);
                self.deferred = deferred;
            }
            _ => self.commit(schema, graph),
        }
        calls
    }

    /// Finds out how the calls have ended.
    fn conclude(
        &mut self,
        schema: &Schema,
        programs: &Programs,
        graph: &Graph,
        slot: &Slot,
    ) -> Verdict {
        if !self.committer.logs_commands() {
            // What each call wrote is only known when it runs by itself.
            return Verdict { must_go_back: true, ..Verdict::default() };
        }
        let Self { conclusion, desk, scratch, number, habits, .. } = self;
        let (worker, frame) = (*number as u16, &mut desk.frame);
        let mut remains = Remains { schema, programs, graph, worker, frame, scratch };
        conclusion.conclude(&mut remains, &slot.outboxes);
        conclusion.verdict(graph, programs, habits)
    }

    /// Plans one call of the next round; whether there was one.
    fn go_ahead(&mut self, schema: &Schema, round: &Round) -> bool {
        if self.ahead.calls() >= round.calls || self.crew.is_ending() {
            return false;
        }
        let epochs = schema.memory.epochs();
        self.ahead_since.get_or_insert_with(|| epochs.moment());
        self.watch.switch(Activity::Plan);
        let mut graph = std::mem::take(&mut self.ahead);
        // That there are no more is told when the round begins.
        let is_ready = matches!(self.fetch(schema, round, &mut graph), Fetch::Ready(_));
        self.ahead = graph;
        if is_ready {
            self.crew.goes_ahead();
        }
        self.watch.switch(Activity::Wait);
        is_ready
    }

    /// Plans a graph's calls again, for another schema.
    fn plan_again(&mut self, schema: &Schema, round: &Round, graph: &mut Graph) {
        let calls = graph.calls();
        graph.clear();
        for at in 0..calls {
            self.desk.swap(&mut graph.errands[at]);
            self.desk.look_up(schema);
            self.plan(schema, round, graph);
            self.desk.swap(&mut graph.errands[at]);
        }
    }

    /// Fetches a call, plans it, and hangs its actions into a graph.
    fn fetch(&mut self, schema: &Schema, round: &Round, graph: &mut Graph) -> Fetch {
        let at = graph.calls();
        if graph.errands.len() == at {
            graph.errands.push(Errand::default());
        }
        self.desk.swap(&mut graph.errands[at]); // its memory is used again
        let fetched = self.desk.fetch(&mut *self.source, schema);
        if let Fetch::Ready(_) = fetched {
            self.plan(schema, round, graph);
        }
        self.desk.swap(&mut graph.errands[at]);
        fetched
    }

    /// Builds a graph, on what is there of it.
    fn build(&mut self, schema: &Schema, round: &Round, graph: &mut Graph) {
        self.watch.switch(Activity::Plan);
        let outboxes = &self.crew.slots[self.number].outboxes;
        outboxes.iter().for_each(|outbox| outbox.lock().clear());
        while graph.calls() < round.calls {
            match self.fetch(schema, round, graph) {
                Fetch::Ready(_) => {}
                Fetch::Empty => break,
                Fetch::Closed => {
                    self.crew.close(self.number);
                    break;
                }
            }
        }
        self.watch.switch(Activity::Lock);
        let how = self.crew.settings.partitioning;
        graph.seal(how, &self.cuts.1, (self.number as u16, round.alone.is_some()));
        if round.samples && how != Partitioning::Hash {
            let taken = &mut self.crew.slots[self.number].sample.lock();
            partition::sample(&graph.queues.all, self.crew.workers() as u16, taken);
        }
    }

    /// Plans the call on the desk.
    fn plan(&mut self, schema: &Schema, round: &Round, graph: &mut Graph) {
        let programs = &*round.programs;
        let Self { desk, planner, scratch, habits, crew, cuts, .. } = self;
        let Call { invocation, procedure, frame, .. } = desk;
        if procedure.is_none() {
            graph.batch.add_empty();
            graph.hang_last();
            return;
        }
        graph.has_conventions |= invocation.conventions != Conventions::DEFAULT;
        let program = programs.of(invocation.procedure);
        let wanted = match habits.runs_whole(invocation.procedure) {
            true => Wanted::Whole,
            false => Wanted::ConditionsFirst,
        };
        if let Some(flat) = &program.flat
            && wanted != Wanted::Whole
        {
            let (first, call) = (graph.flats.len(), graph.calls() as u32);
            let first_code = programs.first_code(invocation.procedure);
            let (flats, queues) = (&mut graph.flats, &graph.queues);
            let mut taker = Taker { flats, queues, schema, call, first_code };
            if flat.plan(&mut graph.batch, invocation, frame, &mut taker) {
                return graph.hang_flat(schema, programs, first);
            }
            graph.flats.cut_back(first);
        }
        let mut access = TrialReads::new(schema, scratch);
        let (call, batch) = ((program, &*invocation), &mut graph.batch);
        let planned = match wanted {
            Wanted::ConditionsFirst
                if crew.may_have_at_one(round) && habits.may_be_local(invocation.procedure) =>
            {
                let workers = crew.workers() as u16;
                let is_only = crew.is_for_one(round);
                let is_local = |plan: &_| is_only || cuts.1.have_at_one(workers, plan);
                let why = WhyWhole::Local;
                let added =
                    ActionPlanner::add_whole(batch, why, call, frame, &mut access, is_local);
                if let Ok(was_local) = added {
                    habits.was_local(invocation.procedure, was_local);
                }
                added
            }
            _ => Ok(false),
        };
        let planned = match planned {
            Ok(false) => planner.add(batch, wanted, call, frame, &mut access),
            ended => ended.map(|_| ()),
        };
        match planned {
            Ok(()) => graph.note_hints(schema),
            Err(stop) => {
                graph.refused.push((graph.calls() as u32, stop));
                graph.batch.add_empty();
            }
        }
        graph.hang_last();
    }

    /// Executes this worker's share of all graphs, one after the other; how many calls they have.
    fn execute(&mut self, schema: &Schema, round: &Round) -> usize {
        let crew = Arc::clone(&self.crew);
        let scratch = &mut *crew.scratches[self.number].lock();
        let logs_commands = self.committer.logs_commands();
        let has_actions = |graph: &Graph| graph.calls() > 0 && logs_commands;
        let (mut calls, mut stood_apart) = (0, false);
        let own = &crew.slots[self.number];
        {
            let graph = &*own.graph.read().expect("nobody panics with it");
            if has_actions(graph) {
                let share = (self.number, graph, &mut *scratch);
                self.run_share((schema, round), share, Executor::run_ahead);
            }
        }
        for (number, slot) in crew.slots.iter().enumerate() {
            if round.alone.is_some_and(|alone| alone != number) {
                continue;
            }
            self.watch.switch(Activity::Wait);
            slot.built.wait(round.number);
            let graph = &*slot.graph.read().expect("nobody panics with it");
            if !has_actions(graph) {
                calls += graph.calls();
                continue;
            }
            // The first one meets with nobody in the graphs before.
            if calls > 0 && (stood_apart || graph.stands_apart) {
                crew.meet();
            }
            calls += graph.calls();
            stood_apart = graph.stands_apart;
            let share = (number, graph, &mut *scratch);
            self.run_share((schema, round), share, Executor::execute);
        }
        calls
    }

    /// Runs something of this worker's share of a graph, which has number `number`.
    fn run_share(
        &mut self,
        (schema, round): (&Schema, &Round),
        (number, graph, scratch): (usize, &Graph, &mut Scratch),
        run: fn(&mut Executor, &mut Field<'_>, &mut Stopwatch),
    ) {
        let Self { crew, committer, executor, watch, .. } = self;
        let outbox = &mut *crew.slots[number].outboxes[self.number].lock();
        let notes = committer.is_active() || !graph.batch.actions().is_empty();
        let (programs, number) = (&*round.programs, number as u16);
        let mut field = Field { schema, programs, graph, number, scratch, outbox, notes };
        run(executor, &mut field, watch);
    }

    /// Makes this worker's changes final, and tells its calls' ends.
    fn commit(&mut self, schema: &Schema, graph: &mut Graph) {
        self.watch.switch(Activity::Execute);
        let crew = Arc::clone(&self.crew);
        {
            let scratch = &mut *crew.scratches[self.number].lock();
            let _turn = scratch.is_unsettled().then(|| crew.settling.lock());
            InPlace::resume(schema, scratch, Alone).commit();
        }
        self.watch.switch(Activity::Log);
        let (group, durable_in) = crew.group(self.number);
        for at in 0..graph.calls() {
            let effect = self.conclusion.effect(at, graph);
            self.desk.swap(&mut graph.errands[at]);
            self.desk.durable_in = durable_in;
            let outboxes = &crew.slots[self.number].outboxes;
            let ended = self.conclusion.end(at, outboxes, &mut self.desk);
            if let (Ok(()), Some(procedure)) = (&ended, &self.desk.procedure) {
                let Call { invocation, frame, .. } = &self.desk;
                let commit = group.commit(at, effect);
                self.committer.record_in_group(commit, invocation, procedure, frame);
            }
            self.finish(schema, ended);
            self.desk.swap(&mut graph.errands[at]);
        }
        self.committer.close_group(group);
    }

    /// Tells the end of the call on the desk, or takes it up again.
    fn finish(&mut self, schema: &Schema, ended: Result<(), Stop>) {
        let Self { desk, committer, source, deferred, free, crew, number, .. } = self;
        let books = crew.books.of(*number);
        if desk.procedure.is_none() {
            desk.finish_unknown(&mut **source, books);
            return;
        }
        match desk.after(ended, schema, committer, books) {
            Next::End(end) => desk.finish(end, &mut **source, books),
            Next::Again(_) | Next::Alone => {
                desk.attempts += 1;
                let mut errand = free.pop().unwrap_or_default();
                desk.swap(&mut errand);
                deferred.push(errand);
            }
        }
    }

    /// Runs calls one by one, each worker its own, in turn, when nobody plans or commits any more.
    fn run_in_turn(
        &mut self,
        schema: &Schema,
        errands: &mut [Errand],
        (plan, is_alone): (Plan, bool),
    ) {
        let crew = Arc::clone(&self.crew);
        let meet = || {
            if !is_alone {
                crew.meet();
            }
        };
        meet();
        for (turn, slot) in crew.slots.iter().enumerate() {
            if !slot.needs_turn(plan) {
                debug_assert!(turn != self.number || errands.is_empty(), "they would be lost");
                continue;
            }
            if turn == self.number {
                self.watch.switch(Activity::Execute);
                for errand in &mut *errands {
                    self.desk.swap(errand);
                    self.run_here(schema);
                    self.desk.swap(errand);
                }
                self.watch.switch(Activity::Wait);
            }
            meet();
        }
    }

    /// Runs the call on the desk as a whole, while nothing else runs.
    fn run_here(&mut self, schema: &Schema) {
        let crew = Arc::clone(&self.crew);
        let Self { desk, scratch, committer, .. } = self;
        if desk.procedure.is_none() {
            return self.finish(schema, Ok(()));
        }
        let met = crew.met();
        let mut access = InPlace::new(schema, scratch, Alone);
        let ran = desk.run_unplanned(&mut access);
        let ended = ran.and_then(|()| access.commit_at(committer, met, &desk.invocation));
        match ended {
            Ok(commit) => {
                access.commit();
                crew.meets(commit.position());
            }
            Err(_) => access.undo(),
        }
        let ended = desk.end(ended, met, committer);
        self.finish(schema, ended);
    }

    fn publish_books(&mut self) {
        let books = self.crew.books.of(self.number);
        books.messages.add(self.executor.take_sent());
        self.watch.publish(books);
    }
}
