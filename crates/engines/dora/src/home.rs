//! The home of calls: a thread's side towards its source.
//!
//! Role         has each call that is fetched planned, and sends it to the first hall that it
//!              visits; is told how it has ended, and has that told to the source
//!
//! ```text
//!   a call   fetched ─planned─▶ one hall: as a whole, kept inside its footprint
//!                        └────▶ several: in parts, or as a whole where all meet
//!            back ─ended─▶ told
//!              └─ guessed wrong ─▶ planned again ── too often ─▶ alone, everywhere
//! ```
//!
//! Invariants   those of [`ClientCalls`]

use std::sync::Arc;

use hotrow_base::sync::rendezvous::{Parcel, Share};
use hotrow_engine::source::CallSource;
use hotrow_engine::statistics::{LockKind, Stopwatch};
use hotrow_engine::worker::{Call, keep_same};
use hotrow_flow::client_calls::{ClientCall, ClientCalls, Left};
use hotrow_flow::datasets::View;
use hotrow_flow::deadlock::reports::Attempt;
use hotrow_flow::exchange::Exchange;
use hotrow_flow::intake::Intake;
use hotrow_flow::node::Address;
use hotrow_transaction::outcome::{Conflict, Stop};
use hotrow_transaction::routing::Lies;

use crate::call::{Body, Bounds, How};
use crate::crew::{Crew, Kind, Told};
use crate::options::Locks;
use crate::plans::PlanChooser;
use crate::protocol::{self, Enqueue, Message, Outcome, Start, send_starts};
use crate::visits::VisitLister;

type Flow = protocol::Flow<Body>;

/// A client's call, and its age.
type Aged = (ClientCall, u64);

/// One thread's calls, those in halls and those on their way back, and memory for those to come.
pub struct Home {
    crew: Arc<Crew>,
    number: u16,
    /// those of several halls are away while they run
    calls: ClientCalls,
    /// for calls to come
    unused: Vec<Parcel<Flow>>,
    /// flows that are in others' hands
    out: usize,
    /// of planning again
    watch: Stopwatch,
    visits: VisitLister,
    starts: Vec<Start>,
    group: Vec<(Address, Told)>,
    /// calls may wait in circles
    has_circles: bool,
    /// the youngest of its calls
    last_age: u64,
    plans: PlanChooser,
}

impl Home {
    /// That of thread `number`.
    pub fn new(crew: Arc<Crew>, number: u16, source: Box<dyn CallSource>) -> Self {
        let plans = PlanChooser::new(crew.settings.plans);
        let has_circles = crew.looks().is_some();
        Self {
            calls: ClientCalls::new(Arc::clone(&crew.roster), number, source),
            crew,
            number,
            unused: Vec::new(),
            out: 0,
            watch: Stopwatch::default(),
            visits: VisitLister::default(),
            starts: Vec::new(),
            group: Vec::new(),
            has_circles,
            last_age: 0,
            plans,
        }
    }

    /// Its side towards its source.
    pub fn intake(&mut self) -> &mut Intake {
        self.calls.intake()
    }

    /// Whether nobody works on its calls any more.
    pub fn has_all_back(&self) -> bool {
        self.out == 0
    }

    /// Fetches calls, and sends them off; whether there were any. Called inside the gate.
    pub fn fetch(&mut self, view: &View, exchange: &mut Exchange<Told>) -> bool {
        let fetches = self.calls.fetches();
        let mut left = fetches;
        while !exchange.has_late()
            && let Some(call) = self.calls.fetch(&mut left, &view.world.schema)
        {
            let age = self.new_age(exchange);
            self.send_planned((call, age), false, view, exchange);
        }
        left < fetches
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
    fn hall_of(&self, call: &Call, view: &View) -> Option<Address> {
        if self.crew.roster.threads() == 1 {
            return Some(self.crew.hall(0));
        }
        match view.world.place(&call.invocation) {
            Lies::In(range) => view.executor_of_range(range.0),
            Lies::Anywhere | Lies::Unknown => None,
        }
    }

    /// Plans a call, and sends it off.
    fn send_planned(
        &mut self,
        (mut client, age): Aged,
        as_whole: bool,
        view: &View,
        exchange: &mut Exchange<Told>,
    ) {
        let mut flow = self.new_flow(view);
        let planned = match self.hall_of(&client, view) {
            Some(hall) => self.plan_whole(&mut client, hall, view, &mut flow),
            None => self.plan_parts(&mut client, as_whole, view, &mut flow),
        };
        match planned {
            Ok(()) => self.send(flow, (client, age), exchange),
            Err(stop) => {
                self.unused.push(flow);
                self.end((client, age), Err(stop), view, exchange);
            }
        }
    }

    /// Plans a call that is run as a whole in this hall.
    fn plan_whole(
        &mut self,
        client: &mut Call,
        hall: Address,
        view: &View,
        flow: &mut Flow,
    ) -> Result<(), Stop> {
        let (schema, scratch) = (&view.world.schema, self.calls.scratch());
        match client.attempts {
            0 => client.plan_ahead(schema, scratch),
            _ => client.plan_again(schema, scratch, &mut self.watch)?,
        }
        self.visits.list(view, &client.plan, hall, flow);
        std::mem::swap(&mut flow.body.plan, &mut client.plan);
        flow.body.how = How::AsWhole(Bounds::Plan);
        Ok(())
    }

    /// Plans a call that may be of several halls.
    fn plan_parts(
        &mut self,
        client: &mut Call,
        as_whole: bool,
        view: &View,
        flow: &mut Flow,
    ) -> Result<(), Stop> {
        self.calls.plan_actions(client, &view.world)?;
        let batch = &mut self.calls.batch;
        self.visits.list(view, &batch.plan, self.crew.hall(self.number), flow);
        let concern = |_: &_, plan: &_, used: &_| view.executor_of(plan, used);
        let several = flow.halls.len() > 1 && !as_whole;
        if several && flow.body.call.lay_out(batch, 1, concern) {
            flow.body.how = How::InParts;
            if self.crew.settings.locks == Locks::Phase {
                self.visits.list_in_rounds(flow);
            }
        } else {
            std::mem::swap(&mut flow.body.plan, &mut batch.plan);
            flow.body.how = How::AsWhole(Bounds::Footprint);
        }
        Ok(())
    }

    /// Has a call run with all there is to itself.
    fn send_alone(&mut self, client: Aged, view: &View, exchange: &mut Exchange<Told>) {
        let mut flow = self.new_flow(view);
        self.visits.list_all(view, self.crew.hall(self.number), &mut flow);
        flow.body.how = How::AsWhole(Bounds::None);
        self.send(flow, client, exchange);
    }

    /// Sends a call off to the datasets that it visits.
    fn send(
        &mut self,
        mut flow: Parcel<Flow>,
        (mut client, age): Aged,
        exchange: &mut Exchange<Told>,
    ) {
        let attempt = Attempt { age, number: client.attempts };
        let Flow { halls, is_sequential, leader, visits, body, .. } = &mut *flow;
        *leader = 0;
        let Body { call, how, .. } = body;
        std::mem::swap(&mut call.invocation, &mut client.invocation);
        keep_same(&mut call.procedure, client.procedure.as_ref());
        match *how {
            How::InParts => call.add_participants(halls),
            How::AsWhole(_) => call.lay_whole(halls.iter().map(|&hall| (hall, 0))),
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
            1 => *body.client.lock() = Some(client),
            _ => body.slot = self.calls.away.keep(client),
        }
        (flow.attempt, flow.enqueue) = (attempt, self.crew.settings.enqueue);
        if !flow.visits.is_empty() {
            let whole = flow.visits.iter().filter(|visit| visit.whole).count();
            let locks = &self.calls.books().locks;
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
        let (body, age) = (&flow.body, flow.attempt.age);
        let (call, procedure) = (&body.call, body.call.invocation.procedure);
        let back = body.client.lock().take();
        let was_along = back.is_some(); // it was run in its client's frame
        let mut client = back.unwrap_or_else(|| self.calls.away.call_back(body.slot));
        let (ended, doubt) = match flow.outcome {
            Outcome::Committed(position) => {
                match was_along {
                    true => self.calls.note_commit(&mut client, call, position),
                    false => self.calls.take_result(&mut client, call, position),
                }
                (Ok(()), false)
            }
            Outcome::Undone => {
                let mut fault =
                    call.take_first_fault().expect("it was undone because it has failed");
                let stop = fault.0.stop;
                self.note_fault(body, fault.0.instance);
                let doubt = if was_along {
                    client.invocation.clone_from(&call.invocation);
                    fault.0.tell(&mut client.frame);
                    false
                } else {
                    // Who has asked for locks may have yielded, and not come to his turn.
                    let was_asked = |hall| call.outcome(call.doer(hall)).lock().ran > 0;
                    self.calls.take_fault(&mut client, call, fault, was_asked)
                };
                (Err(stop), doubt)
            }
            Outcome::GaveWay => {
                client.invocation.clone_from(&call.invocation);
                (Err(Stop::Conflict(Conflict::Victim)), false)
            }
        };
        let has_aborted = matches!(ended, Err(Stop::Error | Stop::OutOfMemory));
        if !was_along && self.plans.note(procedure, has_aborted) {
            let schema = &view.world.schema;
            let sequential = self.plans.sequential();
            let named = sequential
                .map(|(id, aborts, since)| (schema.procedure(id).cloned(), aborts, since));
            self.crew.note_plans(self.number, named.collect());
        }
        if let Some(flow) = flow.finish() {
            self.take_back(flow);
        }
        match doubt {
            true => self.send_planned((client, age), true, view, exchange),
            false => self.end((client, age), ended, view, exchange),
        }
    }

    /// Notes where a call has failed, and what was run in vain beside that.
    fn note_fault(&mut self, body: &Body, instance: u32) {
        let call = &body.call;
        if body.how == How::InParts {
            self.calls.books().in_vain.add(call.ran().saturating_sub(1).into());
            if let Some(leaf) = call.batch.leaf(instance) {
                self.plans.note_leaf(call.invocation.procedure, leaf);
            }
        }
    }

    /// An attempt has ended; the call may have to run again.
    fn end(
        &mut self,
        (client, age): Aged,
        ended: Result<(), Stop>,
        view: &View,
        exchange: &mut Exchange<Told>,
    ) {
        match self.calls.end(client, ended, &view.world.schema) {
            Left::Nothing => {}
            Left::Again(client) => self.send_planned((client, age), false, view, exchange),
            Left::Alone(client) => self.send_alone((client, age), view, exchange),
        }
    }
}
