//! The home of calls: a thread's side towards its source.
//!
//! Role         fetches calls, plans each, and sends it to the first hall that it visits; is told
//!              how it has ended, and tells the source
//!
//! ```text
//!   a call   fetched ─planned─▶ one hall: as a whole, kept inside its footprint
//!                        └────▶ several: in parts, or as a whole where all meet
//!            back ─ended─▶ told
//!              └─ guessed wrong ─▶ planned again ── too often ─▶ alone, everywhere
//! ```
//!
//! Invariants   I1 a call fetched is finished, whatever happens
//!              I2 of a call in parts that has failed, the error that is told is that of the part
//!              that is first in the procedure. Where it is not known whether something before
//!              would have failed, the call is run again, as a whole

use std::sync::Arc;

use hotrow_base::sync::rendezvous::{Parcel, Share};
use hotrow_engine::in_place::Scratch;
use hotrow_engine::journal::Committer;
use hotrow_engine::reconnaissance::TrialReads;
use hotrow_engine::source::CallSource;
use hotrow_engine::statistics::{LockKind, Stopwatch};
use hotrow_engine::worker::{Call, Next, keep_same};
use hotrow_flow::away::Away;
use hotrow_flow::exchange::Exchange;
use hotrow_flow::host;
use hotrow_flow::intake::Intake;
use hotrow_flow::node::Address;
use hotrow_flow::reply::Gathered;
use hotrow_log::position::Position;
use hotrow_transaction::actions::{ActionPlanner, Batch, Wanted};
use hotrow_transaction::outcome::{Conflict, Stop};
use hotrow_transaction::routing::Lies;

use crate::call::{Body, Bounds, Desk, How};
use crate::crew::{Crew, Kind, Told};
use crate::layout::{self, View};
use crate::options::Locks;
use crate::plans::PlanChooser;
use crate::protocol::{self, Enqueue, Message, Outcome, Start, send_starts};

/// Calls fetched in a turn.
const FETCHES_PER_TURN: usize = 4;

type Flow = protocol::Flow<Body>;

/// See the module.
pub struct Home {
    crew: Arc<Crew>,
    number: u16,
    committer: Committer,
    intake: Intake,
    /// the clients' calls that are not on their way
    free: Vec<Desk>,
    /// of several halls: they wait here, by slot
    away: Away<Desk>,
    /// for calls to come
    unused: Vec<Parcel<Flow>>,
    /// flows that are in others' hands
    out: usize,
    planner: ActionPlanner,
    /// the call that is being planned
    batch: Batch,
    /// for trial reads
    scratch: Scratch,
    /// of planning again
    watch: Stopwatch,
    visits: layout::Places,
    rounds: layout::Rounds,
    starts: Vec<Start>,
    group: Vec<(Address, Told)>,
    /// calls may wait in circles
    has_circles: bool,
    /// the youngest of its calls
    last_age: u64,
    plans: PlanChooser,
    /// of a call whose rows are put together
    gathered: Gathered,
}

impl Home {
    /// That of thread `number`.
    pub fn new(crew: Arc<Crew>, number: u16, source: Box<dyn CallSource>) -> Self {
        let committer = crew.roster.committers[usize::from(number)].clone();
        let (schema, worker) = (&crew.roster.ground.schema, committer.worker());
        let intake = Intake::new(schema, worker, source, crew.roster.in_flight);
        let plans = PlanChooser::new(crew.settings.plans);
        let has_circles = crew.looks().is_some();
        Self {
            scratch: Scratch::new(worker),
            crew,
            number,
            committer,
            intake,
            free: Vec::new(),
            away: Away::default(),
            unused: Vec::new(),
            out: 0,
            planner: ActionPlanner::default(),
            batch: Batch::default(),
            watch: Stopwatch::default(),
            visits: layout::Places::new(),
            rounds: layout::Rounds::new(),
            starts: Vec::new(),
            group: Vec::new(),
            has_circles,
            last_age: 0,
            plans,
            gathered: Gathered::default(),
        }
    }

    /// Its side towards its source.
    pub fn intake(&mut self) -> &mut Intake {
        &mut self.intake
    }

    /// Whether nobody works on its calls any more.
    pub fn has_all_back(&self) -> bool {
        self.out == 0
    }

    /// Fetches calls, and sends them off; how many. Called inside the gate.
    pub fn fetch(&mut self, view: &View, exchange: &mut Exchange<Told>) -> usize {
        if !host::may_fetch(&self.crew.roster, &self.intake) {
            return 0;
        }
        for fetched in 0..FETCHES_PER_TURN {
            let step_budget = self.crew.roster.step_budget;
            let mut desk = self.free.pop().unwrap_or_else(|| Desk::new(Call::new(step_budget)));
            if exchange.has_late() || !self.intake.fetch(&mut desk, &view.world.schema) {
                self.free.push(desk);
                return fetched;
            }
            match desk.procedure {
                Some(_) => {
                    let age = self.new_age(exchange);
                    self.send_planned((desk, age), false, view, exchange);
                }
                None => {
                    desk.finish_unknown(
                        self.intake.source(),
                        self.crew.roster.books_of(self.number),
                    );
                    self.take_in(desk);
                }
            }
        }
        FETCHES_PER_TURN
    }

    /// That of a call that comes now: unlike any other's. Where nobody asks who is older, no clock
    /// is looked at.
    fn new_age(&mut self, exchange: &Exchange<Told>) -> u64 {
        let now = if self.has_circles { exchange.now() } else { 0 };
        self.last_age = now.max(self.last_age + 1);
        self.last_age * u64::from(self.crew.roster.threads()) + u64::from(self.number)
    }

    /// One for a call that is planned under this view.
    fn new_flow(&mut self, view: &View) -> Parcel<Flow> {
        let new = || Parcel::new(Flow::new(self.crew.home(self.number), Body::default()));
        let mut flow = self.unused.pop().unwrap_or_else(new);
        keep_same(&mut flow.body.call.world, Some(&view.world));
        flow
    }

    /// The hall that a call will be in, as far as its parameters tell.
    fn hall_of(&self, desk: &Call, view: &View) -> Option<Address> {
        if self.crew.roster.threads() == 1 {
            return Some(self.crew.hall(0));
        }
        match view.world.place(&desk.invocation) {
            Lies::In(range) => view.hall_of_range(range.0),
            Lies::Anywhere | Lies::Unknown => None,
        }
    }

    /// Plans a call, and sends it off.
    fn send_planned(
        &mut self,
        (mut desk, age): (Desk, u64),
        as_whole: bool,
        view: &View,
        exchange: &mut Exchange<Told>,
    ) {
        let schema = &view.world.schema;
        let own = self.crew.hall(self.number);
        let mut flow = self.new_flow(view);
        let hall = self.hall_of(&desk, view);
        let Self { planner, batch, scratch, visits, rounds, watch, crew, .. } = self;
        if let Some(hall) = hall {
            let planned = match desk.attempts {
                0 => {
                    desk.plan_ahead(schema, scratch);
                    Ok(())
                }
                _ => desk.plan_again(schema, scratch, watch),
            };
            if let Err(stop) = planned {
                self.unused.push(flow);
                return self.end((desk, age), Err(stop), view, exchange);
            }
            view.visit_planned(&desk.plan, hall, &mut flow, visits);
            std::mem::swap(&mut flow.body.plan, &mut desk.plan);
            flow.body.how = How::AsWhole(Bounds::Plan);
        } else {
            let Call { invocation, frame, .. } = &mut *desk;
            let call = (view.world.program(invocation.procedure), &*invocation);
            let mut access = TrialReads::new(schema, scratch);
            batch.clear();
            if let Err(stop) = planner.add(batch, Wanted::Actions, call, frame, &mut access) {
                self.unused.push(flow);
                return self.end((desk, age), Err(stop), view, exchange);
            }
            view.visit_planned(&batch.plan, own, &mut flow, visits);
            let concern = |_: &_, plan: &_, used: &_| view.hall_of(plan, used);
            let several = flow.halls.len() > 1 && !as_whole;
            if several && flow.body.call.lay_out(batch, 1, concern) {
                flow.body.how = How::InParts;
                if crew.settings.locks == Locks::Phase {
                    view.visit_in_rounds(&mut flow, (visits, rounds));
                }
            } else {
                std::mem::swap(&mut flow.body.plan, &mut batch.plan);
                flow.body.how = How::AsWhole(Bounds::Footprint);
            }
        }
        self.send(flow, (desk, age), exchange);
    }

    /// Has a call run with all there is to itself.
    fn send_alone(&mut self, desk: (Desk, u64), view: &View, exchange: &mut Exchange<Told>) {
        self.crew.roster.books_of(self.number).exclusive.increment();
        let mut flow = self.new_flow(view);
        view.visit_all(self.crew.hall(self.number), &mut flow, &mut self.visits);
        flow.body.how = How::AsWhole(Bounds::None);
        self.send(flow, desk, exchange);
    }

    /// Sends a call off to the datasets that it visits.
    fn send(
        &mut self,
        mut flow: Parcel<Flow>,
        (mut desk, age): (Desk, u64),
        exchange: &mut Exchange<Told>,
    ) {
        let Flow { halls, is_sequential, leader, visits, body, .. } = &mut *flow;
        *leader = 0;
        let Body { call, how, .. } = body;
        std::mem::swap(&mut call.invocation, &mut desk.invocation);
        keep_same(&mut call.procedure, desk.procedure.as_ref());
        if *how != How::InParts {
            call.batch.clear();
            call.participants.clear();
            call.participants.extend(halls.iter().map(|&hall| (hall, 0)));
            call.make_room();
        } else if call.participants.len() < halls.len() {
            // A hall where a table is taken as a whole may have nothing to run.
            for (at, &hall) in halls.iter().enumerate() {
                if call.participants.get(at).is_none_or(|&(known, _)| known != hall) {
                    call.participants.insert(at, (hall, 0));
                }
            }
            call.make_room();
        }
        let (count, first) = (halls.len(), halls[0]);
        *is_sequential = count > 1 && self.plans.is_sequential(call.invocation.procedure);
        if *is_sequential && *how == How::InParts {
            let procedure = call.invocation.procedure;
            let asks = |hall| visits.iter().any(|visit| (visit.hall, visit.round) == (hall, 0));
            *leader = call.likeliest_to_fail(|leaf| self.plans.fails(procedure, leaf), asks);
        }
        let kind = match (count, *how, *is_sequential) {
            (1, ..) => Kind::Here,
            (_, How::AsWhole(_), _) => Kind::Whole,
            (.., true) => Kind::Sequential,
            (.., false) => Kind::Parallel,
        };
        self.crew.tallies.of(self.number.into()).sent[kind as usize].increment();
        body.begin(count);
        match count {
            1 => *body.desk.lock() = Some(desk),
            _ => body.slot = self.away.keep(desk),
        }
        (flow.age, flow.enqueue) = (age, self.crew.settings.enqueue);
        if !flow.visits.is_empty() {
            let whole = flow.visits.iter().filter(|visit| visit.whole).count();
            let locks = &self.crew.roster.books_of(self.number).locks;
            locks[LockKind::Local as usize].add((flow.locks.len() + whole) as u64);
        }
        flow.begin();
        self.out += 1;
        if count == 1 && flow.enqueue == Enqueue::Forwarded && !flow.visits.is_empty() {
            return exchange.send(first, Message::Ask(flow.share(1), 0));
        }
        // What locks nothing runs in its only hall.
        let runs = |doer| flow.visits.is_empty() || flow.body.has_round(doer, 0);
        let shares = flow.list_starts(0, runs, &mut self.starts);
        let ports = &mut exchange.ports(self.crew.home(self.number));
        send_starts(flow.share(shares), 0, &mut self.starts, &mut self.group, ports);
    }

    /// Takes a message.
    pub fn take(&mut self, message: Told, view: &View, exchange: &mut Exchange<Told>) {
        match message {
            Message::Ended(flow) => self.take_end(flow, view, exchange),
            Message::Back(flow) => self.take_back(flow),
            _ => unreachable!("homes are told ends"),
        }
    }

    /// Takes note of another schema: lets go of the last one.
    pub fn adopt(&mut self) {
        self.plans.forget();
        self.crew.note_plans(self.number, Vec::new());
        self.unused.iter_mut().for_each(|flow| flow.body.call.world = None);
    }

    /// Nobody works on a call any more.
    fn take_back(&mut self, flow: Parcel<Flow>) {
        self.unused.push(flow);
        self.out -= 1;
    }

    /// A call has ended.
    fn take_end(&mut self, flow: Share<Flow>, view: &View, exchange: &mut Exchange<Told>) {
        let body = &flow.body;
        let own = body.desk.lock().take();
        let has_own_desk = own.is_some();
        let mut desk = own.unwrap_or_else(|| self.away.call_back(body.slot));
        let call = &body.call;
        let age = flow.age;
        let (ended, doubt) = match flow.outcome {
            Outcome::Committed(position) => {
                if !has_own_desk {
                    call.gather(&mut self.gathered, &mut desk.frame);
                }
                self.trace(body, &mut desk, position);
                (Ok(()), false)
            }
            Outcome::Undone => {
                let mut fault =
                    call.take_first_fault().expect("it was undone because it has failed");
                // It may be run again.
                desk.invocation.clone_from(&call.invocation);
                let stop = fault.0.stop;
                if body.how == How::InParts {
                    let books = self.crew.roster.books_of(self.number);
                    books.in_vain.add(call.ran().saturating_sub(1).into());
                    if let Some(leaf) = call.batch.leaf(fault.0.instance) {
                        self.plans.note_leaf(call.invocation.procedure, leaf);
                    }
                }
                let doubt = if has_own_desk {
                    fault.0.tell(&mut desk.frame);
                    false
                } else {
                    // Who has asked for locks may have yielded, and not come to his turn.
                    let was_asked = |hall| call.outcome(call.doer(hall)).lock().ran > 0;
                    call.gather_fault(fault, was_asked, &mut self.gathered, &mut desk.frame)
                };
                (Err(stop), doubt)
            }
            Outcome::GaveWay => {
                desk.invocation.clone_from(&call.invocation);
                (Err(Stop::Conflict(Conflict::Victim)), false)
            }
        };
        if !has_own_desk {
            let has_aborted = matches!(ended, Err(Stop::Error | Stop::OutOfMemory));
            if self.plans.note(call.invocation.procedure, has_aborted) {
                let schema = &view.world.schema;
                let sequential = self.plans.sequential();
                let named = sequential
                    .map(|(id, aborts, since)| (schema.procedure(id).cloned(), aborts, since));
                self.crew.note_plans(self.number, named.collect());
            }
        }
        if let Some(flow) = flow.finish() {
            self.take_back(flow);
        }
        match doubt {
            true => self.send_planned((desk, age), true, view, exchange), // I2
            false => self.end((desk, age), ended, view, exchange),
        }
    }

    fn trace(&self, body: &Body, desk: &mut Call, position: Position) {
        desk.durable_in = position.epoch;
        let Body { call, .. } = body;
        self.committer.trace(position, &call.invocation, call.procedure(), &desk.frame);
    }

    /// Tells the end of a call, or has it run again.
    fn end(
        &mut self,
        (mut desk, age): (Desk, u64),
        ended: Result<(), Stop>,
        view: &View,
        exchange: &mut Exchange<Told>,
    ) {
        let books = self.crew.roster.books_of(self.number);
        match desk.after(ended, &view.world.schema, &self.committer, books) {
            Next::End(end) => {
                if end.is_err() {
                    desk.durable_in = self.committer.entered();
                }
                desk.finish(end, self.intake.source(), books);
                self.take_in(desk);
            }
            Next::Alone => self.send_alone((desk, age), view, exchange),
            Next::Again(_) => {
                desk.attempts += 1;
                self.send_planned((desk, age), false, view, exchange);
            }
        }
    }

    /// A client's call is not on its way any more.
    fn take_in(&mut self, desk: Desk) {
        self.free.push(desk);
        self.intake.note_end();
    }
}
