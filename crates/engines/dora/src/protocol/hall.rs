//! A hall: the datasets that one thread has, and what calls have to do there.
//!
//! Role         plays the executor of each of its datasets: what comes in is taken in order, locks
//!              are asked for, what holds its locks is run to the end of its round
//! States       of a call here: asks for locks -> holds them: runs the round -> waits for later
//!              rounds -> ended, and its locks let go.
//!              Of a dataset: as [`Held`] has it
//! Invariants   as [`super`]

use std::collections::VecDeque;

use hotrow_base::sync::rendezvous::{Parcel, Share, Shares};
use hotrow_flow::datasets::held::{Held, Place};
use hotrow_flow::deadlock::reports::{Attempt, Reports};
use hotrow_flow::lock_space::Requester;
use hotrow_flow::lock_space::whole::Visitor;
use hotrow_flow::node::Address;
use hotrow_log::position::Position;
use hotrow_transaction::granule::LockRequest;

use super::{
    Dataset, Doer, Flow, Message, NOT_HELD, Outcome, Outside, PASSED, Section, Start, Store,
    send_starts,
};

/// Where there may be circles of waiting.
#[derive(Clone, Copy, Debug)]
pub struct Looks {
    /// the hall that looks for them in what all report
    pub detector: Address,
    /// nanoseconds between a hall's reports, while somebody waits
    pub every: u64,
}

/// How far a hall is with its next report of who waits.
#[derive(Clone, Copy)]
enum Looking {
    /// nobody has come to wait since the last one
    Not,
    /// it reports before long
    Soon,
    /// it has reported, and the detector has not looked at that yet
    Reported,
}

impl Looks {
    /// Nanoseconds between reports where calls ask round by round: circles come about whenever two
    /// ask in opposite orders.
    pub const BY_ROUND: u64 = 50_000;
    /// And where they ask in one round: only a dataset that has moved, or a call that runs hall by
    /// hall among others that do not, makes one.
    pub const RARELY: u64 = 1_000_000;
    /// How many times as long as the detector took to look a hall waits before it reports again: so
    /// each hall has it look for a fifth of its time at most. The answer's own way is no part of
    /// that, for where threads wait for a core it takes milliseconds, and a circle as many.
    const PAUSES_PER_LOOK: u64 = 4;
}

/// A visit of a call: asks for what it locks of a dataset.
pub struct Asker<B> {
    flow: Share<Flow<B>>,
    /// one dataset after the other: for the halls behind this one; else it asks in all of the round
    /// at once
    others: Option<Shares<Flow<B>>>,
    /// which
    visit: usize,
    /// whom it follows here
    met: Position,
    /// when it asked last
    asked_at: u64,
    /// the lock that it did not get at once, if there is one
    awaited: Option<u64>,
}

impl<B> Asker<B> {
    /// The hall that runs it.
    fn hall(&self) -> Address {
        self.flow.visits[self.visit].hall
    }
}

impl<B> Requester for Asker<B> {
    fn wanted(&self) -> impl Iterator<Item = LockRequest> + Clone {
        self.flow.locks_of(self.visit).iter().copied()
    }

    fn enter(&mut self, grant: u32) {
        self.flow.visits[self.visit].set_grant(grant);
    }

    fn meet(&mut self, position: Position) {
        self.met = position.max(self.met);
    }

    fn wait(&mut self, lock: u64) {
        self.awaited = Some(lock);
    }

    fn hold(&mut self) {}
}

impl<B> Visitor for Asker<B> {
    fn wants_whole(&self) -> bool {
        self.flow.visits[self.visit].whole
    }

    fn grant(&self) -> u32 {
        self.flow.visits[self.visit].grant()
    }

    fn attempt(&self) -> Attempt {
        self.flow.attempt
    }
}

/// What is to be done here.
enum Work<B> {
    Ask(Shares<Flow<B>>, u32),
    Lock(Shares<Flow<B>>, u32),
    Turn(Shares<Flow<B>>),
    Run(Share<Flow<B>>, u32),
}

/// One thread's datasets, and the work that has come in, was granted, or goes on.
pub struct Hall<S: Store> {
    own: Address,
    store: S,
    /// none where there can be no circles (I1)
    looks: Option<Looks>,
    /// here, if this hall looks for them
    reports: Reports,
    datasets: Held<Dataset<S::Body>, Asker<S::Body>>,
    /// in order
    incoming: VecDeque<Work<S::Body>>,
    /// they hold what they have waited for, in the order in which they came to it
    granted: VecDeque<Asker<S::Body>>,
    /// those who have just been granted what they have waited for; empty between two calls
    going_on: Vec<Asker<S::Body>>,
    looking: Looking,
    /// in its last report somebody waited
    has_reported: bool,
    starts: Vec<Start>,
    group: Vec<(Address, Message<S::Body>)>,
    held: Vec<Asker<S::Body>>,
}

impl<S: Store> Hall<S> {
    /// One in which nothing has happened yet.
    pub fn new(own: Address, store: S, looks: Option<Looks>) -> Self {
        let (incoming, granted) = (VecDeque::new(), VecDeque::new());
        Self {
            own,
            store,
            looks,
            reports: Reports::default(),
            datasets: Held::default(),
            incoming,
            granted,
            going_on: Vec::new(),
            looking: Looking::Not,
            has_reported: false,
            starts: Vec::new(),
            group: Vec::new(),
            held: Vec::new(),
        }
    }

    /// Its data, to tell that of another schema, whose datasets have other numbers, in the layout
    /// with this number. No call is here then; what those have left behind who locked something
    /// stands before the definition, which all who come later follow anyway.
    pub fn begin_anew(&mut self, layout: u64) -> &mut S {
        debug_assert!(self.is_idle(), "definitions come between calls");
        self.datasets.begin_anew(layout);
        &mut self.store
    }

    /// Whether nothing is here that has not ended.
    pub fn is_idle(&self) -> bool {
        let Self { datasets, incoming, granted, .. } = self;
        let are_free = datasets.awaits_none() && datasets.all().all(Dataset::is_empty);
        incoming.is_empty() && granted.is_empty() && are_free
    }

    /// How often something was asked for in each dataset.
    pub fn asked(&self) -> &[u64] {
        self.datasets.asked()
    }

    /// What is to be done here and has not begun.
    pub fn queued(&self) -> usize {
        self.incoming.len() + self.granted.len()
    }

    /// Takes a message.
    pub fn take(&mut self, message: Message<S::Body>, ports: &mut impl Outside<S::Body>) {
        match message {
            Message::Ask(shares, visit) => self.incoming.push_back(Work::Ask(shares, visit)),
            Message::Lock(shares, round) => self.incoming.push_back(Work::Lock(shares, round)),
            Message::Turn(shares) => self.incoming.push_back(Work::Turn(shares)),
            Message::Run(flow, round) => self.incoming.push_back(Work::Run(flow, round)),
            Message::End(flow) => self.end(flow, ports),
            Message::Visit(asker) => {
                if let Some(asker) = self.ask(*asker, ports) {
                    ports.send(asker.hall(), Message::Visited(Box::new(asker)));
                }
            }
            Message::Visited(asker) => self.granted.push_back(*asker),
            Message::Leave(flow, visit) => self.leave(flow, visit as usize, ports),
            Message::Waits(hall, waits) => {
                let began = ports.now();
                for (hall, attempt) in self.reports.take(hall, waits) {
                    ports.send(hall, Message::GiveWay(attempt));
                }
                ports.send(hall, Message::Looked(ports.now() - began));
            }
            Message::Looked(took) => {
                self.looking = Looking::Not;
                // Somebody may have come since it reported; if nobody waits then, that is the last.
                self.look_after(took.saturating_mul(Looks::PAUSES_PER_LOOK), ports);
            }
            Message::GiveWay(attempt) => {
                self.withdraw(|asker| asker.flow.attempt == attempt, ports);
            }
            Message::Yield(layout, number, to) => self.give_away((layout, number), to, ports),
            Message::Move(layout, number, dataset) => {
                self.take_over((layout, number), dataset, ports);
            }
            Message::Ended(_) | Message::Back(_) => unreachable!("homes are told ends"),
        }
    }

    /// Does one thing that is to be done; whether there was one.
    pub fn work(&mut self, ports: &mut impl Outside<S::Body>) -> bool {
        if let Some(asker) = self.granted.pop_front() {
            if let Some(lock) = asker.awaited {
                self.store.note_wait(&asker.flow, lock, ports.now() - asker.asked_at);
            }
            self.go_on(Asker { awaited: None, ..asker }, ports);
            return true;
        }
        match self.incoming.pop_front() {
            None => return false,
            Some(Work::Run(flow, round)) => self.run(flow, round, ports),
            Some(Work::Turn(mut others)) => {
                let flow = others.next().expect("there is one for each that has yielded");
                match !flow.gives_way() && self.run_before_others(&flow, 0, ports) {
                    true => Self::give_turn(&flow, others, flow.doer(self.own) + 1, ports),
                    false => drop(others), // they have nothing to do with it
                }
                self.finish(flow, 0, ports);
            }
            Some(Work::Ask(mut shares, visit)) => {
                let flow = shares.next().expect("there is one for each of its halls");
                self.doer(&flow).reach();
                match self.pass(&flow, ports) {
                    true => self.run(flow, 0, ports),
                    false => self.visit(Self::asker(flow, Some(shares), visit as usize), ports),
                }
            }
            Some(Work::Lock(shares, round)) => self.lock(shares, round, ports),
        }
        true
    }

    fn asker(
        flow: Share<Flow<S::Body>>,
        others: Option<Shares<Flow<S::Body>>>,
        visit: usize,
    ) -> Asker<S::Body> {
        Asker { flow, others, visit, met: Position::default(), asked_at: 0, awaited: None }
    }

    /// What is known here of a call.
    fn doer<'f>(&self, flow: &'f Flow<S::Body>) -> &'f Doer {
        &flow.doers[flow.doer(self.own)]
    }

    /// Asks for what a call locks in a round in all datasets that were here, at once.
    fn lock(
        &mut self,
        mut shares: Shares<Flow<S::Body>>,
        round: u32,
        ports: &mut impl Outside<S::Body>,
    ) {
        let mut flow = shares.next().expect("there is one for each of its visits here");
        let doer = self.doer(&flow);
        doer.reach();
        doer.expect(shares.size_hint().0 as u32 + 1);
        let asked_at = ports.now();
        let mut held = std::mem::take(&mut self.held);
        for visit in flow.visits_in(round) {
            if flow.visits[visit].hall != self.own {
                continue;
            }
            let next = shares.next();
            let asker = Self::asker(flow, None, visit);
            held.extend(self.ask(Asker { asked_at, ..asker }, ports));
            match next {
                Some(next) => flow = next,
                None => break,
            }
        }
        // Behind all that were asked for: the first of them may be the last that is held.
        held.drain(..).for_each(|asker| self.arrive(asker, ports));
        self.held = held;
    }

    /// Whether a call that is here only, and that nobody is in the way of, may run at once: to its
    /// end, so that nobody comes before it has left.
    fn pass(&mut self, flow: &Flow<S::Body>, ports: &mut impl Outside<S::Body>) -> bool {
        let is_alone = flow.halls.len() == 1 && flow.visits.last().is_some_and(|v| v.round == 0);
        if !is_alone {
            return false;
        }
        let mut follows = Position::default();
        for (number, visit) in flow.visits.iter().enumerate() {
            let dataset = self.datasets.get(visit.dataset).filter(|_| !visit.whole);
            let Some(dataset) = dataset else { return false };
            let Some(met) = dataset.pass(flow.locks_of(number)) else { return false };
            follows = met.max(follows);
        }
        for visit in &flow.visits {
            ports.spend(Section::Lock);
            self.datasets.note_asked(visit.dataset);
            visit.set_grant(PASSED);
        }
        self.store.meet(flow, 0, follows);
        true
    }

    /// One after the other: asks for what a call locks from this visit on.
    fn visit(&mut self, mut asker: Asker<S::Body>, ports: &mut impl Outside<S::Body>) {
        asker.asked_at = ports.now();
        if let Some(held) = self.ask(asker, ports) {
            self.go_on(held, ports);
        } // else it is granted one day
    }

    /// Asks for what a call locks of one dataset; gives it back if it holds that, or gives way.
    fn ask(
        &mut self,
        asker: Asker<S::Body>,
        ports: &mut impl Outside<S::Body>,
    ) -> Option<Asker<S::Body>> {
        if asker.flow.gives_way() {
            return Some(asker);
        }
        ports.spend(Section::Lock);
        let dataset = asker.flow.visits[asker.visit].dataset;
        let Self { own, store, datasets, .. } = self;
        match datasets.ask(dataset, || store.first_hall(dataset) == *own) {
            Place::Here(dataset) => {
                let asked = dataset.ask(asker);
                if asked.is_none() {
                    self.look_later(ports);
                }
                return asked;
            }
            Place::Gone(to) => ports.send(*to, Message::Visit(Box::new(asker))),
            Place::Coming(askers) => askers.push(asker),
            Place::Unknown => unreachable!("it was looked up"),
        }
        None
    }

    /// One holds what it has asked for in a dataset, or gives way: if it asks one after the other,
    /// goes on to the next ones that are here, then runs the round, and hands the request on.
    fn go_on(&mut self, mut asker: Asker<S::Body>, ports: &mut impl Outside<S::Body>) {
        let others = loop {
            let Some(others) = asker.others.take() else { return self.arrive(asker, ports) };
            let round = asker.flow.visits[asker.visit].round;
            if asker.flow.gives_way() {
                drop(others); // they have nothing to do with it
                return self.finish(asker.flow, round, ports);
            }
            let next = asker.flow.visits.get(asker.visit + 1);
            if !next.is_some_and(|next| next.round == round && next.hall == self.own) {
                break others;
            }
            asker = Asker { others: Some(others), visit: asker.visit + 1, ..asker };
            match self.ask(asker, ports) {
                Some(held) => asker = held,
                None => return, // it is granted one day
            }
        };
        let Asker { flow, visit, met, .. } = asker;
        let (round, doer) = (flow.visits[visit].round, flow.doer(self.own));
        self.store.meet(&flow, doer, met);
        if !flow.is_sequential {
            Self::hand_on(&flow, others, visit, ports);
            return self.run(flow, round, ports);
        }
        match flow.yields(doer, round) || self.run_before_others(&flow, round, ports) {
            true => Self::hand_on(&flow, others, visit, ports),
            false => drop(others), // they have nothing to do with it
        }
        self.finish(flow, round, ports);
    }

    /// Runs a round of a call whose halls run it one after the other; whether the next one shall.
    fn run_before_others(
        &mut self,
        flow: &Flow<S::Body>,
        round: u32,
        ports: &mut impl Outside<S::Body>,
    ) -> bool {
        ports.spend(Section::Run);
        self.store.run(flow, flow.doer(self.own), round);
        !self.store.has_failed(flow)
    }

    /// Has the next hall go on with a request behind a visit, if there is one in the round. Behind
    /// the last one it is the turn of those that have yielded.
    fn hand_on(
        flow: &Flow<S::Body>,
        others: Shares<Flow<S::Body>>,
        visit: usize,
        ports: &mut impl Outside<S::Body>,
    ) {
        let round = flow.visits[visit].round;
        match flow.visits.get(visit + 1).filter(|next| next.round == round) {
            Some(next) => ports.send(next.hall, Message::Ask(others, visit as u32 + 1)),
            None if round == 0 => Self::give_turn(flow, others, 0, ports),
            None => {}
        }
    }

    /// Has the next hall run the first round that has yielded, from a doer on, if there is one.
    fn give_turn(
        flow: &Flow<S::Body>,
        others: Shares<Flow<S::Body>>,
        from: usize,
        ports: &mut impl Outside<S::Body>,
    ) {
        if let Some(next) = flow.next_to_yield(from) {
            ports.send(flow.halls[next], Message::Turn(others));
        }
    }

    /// One of a call's visits of a round holds what it has asked for; the last one runs the round.
    fn arrive(&mut self, asker: Asker<S::Body>, ports: &mut impl Outside<S::Body>) {
        let Asker { flow, visit, met, .. } = asker;
        let round = flow.visits[visit].round;
        if flow.gives_way() {
            return self.finish(flow, round, ports);
        }
        let number = flow.doer(self.own);
        self.store.meet(&flow, number, met);
        match flow.doers[number].note_held() {
            0 => self.run(flow, round, ports),
            _ => self.finish(flow, round, ports),
        }
    }

    /// Runs a round here.
    fn run(&mut self, flow: Share<Flow<S::Body>>, round: u32, ports: &mut impl Outside<S::Body>) {
        if !flow.gives_way() {
            ports.spend(Section::Run);
            self.doer(&flow).reach();
            self.store.run(&flow, flow.doer(self.own), round);
        }
        self.finish(flow, round, ports);
    }

    /// Somebody has nothing more to do in a round.
    fn finish(
        &mut self,
        flow: Share<Flow<S::Body>>,
        round: u32,
        ports: &mut impl Outside<S::Body>,
    ) {
        if let Some(flow) = flow.finish() {
            self.meet(flow, round, ports);
        }
    }

    /// All have met: starts the next round, or decides how the call ends.
    fn meet(
        &mut self,
        mut flow: Parcel<Flow<S::Body>>,
        mut round: u32,
        ports: &mut impl Outside<S::Body>,
    ) {
        ports.spend(Section::Meet);
        let own = flow.doer(self.own);
        let last = self.store.last_round(&flow);
        loop {
            if flow.gives_way() {
                flow.outcome = Outcome::GaveWay;
                break;
            }
            if !self.store.run_behind(&flow, own, round) {
                flow.outcome = Outcome::Undone;
                break;
            }
            if round >= last {
                let place = self.store.commit(&flow);
                flow.outcome = place.map_or(Outcome::Undone, Outcome::Committed);
                break;
            }
            round += 1;
            let Self { store, starts, .. } = self;
            let runs = |doer| doer != own && store.has_round(&flow, doer, round);
            let others = flow.list_starts(round, runs, starts);
            if others > 0 {
                return self.begin_round(flow, (round, others), ports);
            }
            if store.has_round(&flow, own, round) {
                self.doer(&flow).reach();
                self.store.run(&flow, own, round);
            }
        }
        self.tell_end(flow, ports);
    }

    /// Has a round begin that takes so many shares, but for this hall's: it runs what it has to
    /// run, unless it locks something first; it meets the others anyway.
    fn begin_round(
        &mut self,
        flow: Parcel<Flow<S::Body>>,
        (round, others): (u32, usize),
        ports: &mut impl Outside<S::Body>,
    ) {
        let visits = &flow.visits[flow.visits_in(round)];
        let asks = visits.iter().any(|visit| visit.hall == self.own);
        let runs = !asks && self.store.has_round(&flow, flow.doer(self.own), round);
        let mut shares = flow.share(others + 1);
        let own = shares.next().expect("for this hall");
        send_starts(shares, round, &mut self.starts, &mut self.group, ports);
        match runs {
            true => self.run(own, round, ports),
            false => self.finish(own, round, ports),
        }
    }

    /// Ends a call: what it has changed here first, so that where it was run as a whole, here, its
    /// locks elsewhere last until then; then tells all.
    fn tell_end(&mut self, flow: Parcel<Flow<S::Body>>, ports: &mut impl Outside<S::Body>) {
        ports.spend(Section::End);
        self.store.end(&flow, flow.doer(self.own));
        let own = self.own;
        let others = flow.reached().filter(|&hall| hall != own).count();
        let mut shares = flow.share(others + 2);
        let flow = shares.next().expect("for this hall");
        ports.send(flow.home, Message::Ended(shares.next().expect("for its home")));
        for hall in flow.reached().filter(|&hall| hall != own) {
            ports.send(hall, Message::End(shares.next().expect("for each other hall")));
        }
        self.release(flow, ports);
    }

    /// A call has ended: makes its changes here final, or takes them back, and lets go of its
    /// locks.
    fn end(&mut self, flow: Share<Flow<S::Body>>, ports: &mut impl Outside<S::Body>) {
        ports.spend(Section::End);
        self.store.end(&flow, flow.doer(self.own));
        self.release(flow, ports);
    }

    fn release(&mut self, flow: Share<Flow<S::Body>>, ports: &mut impl Outside<S::Body>) {
        for (number, visit) in (0..).zip(&flow.visits) {
            if visit.hall != self.own || visit.grant() == NOT_HELD {
                continue;
            }
            match self.datasets.known(visit.dataset) {
                Place::Gone(to) => ports.send(*to, Message::Leave(flow.another(), number)),
                Place::Here(dataset) => {
                    Self::let_go(&flow, number as usize, dataset, &mut self.going_on);
                }
                Place::Unknown | Place::Coming(_) => unreachable!("it has locked something"),
            }
        }
        self.deal_out(ports);
        Self::bring_back(flow, ports);
    }

    /// Lets go of what a visit holds.
    fn let_go(
        flow: &Flow<S::Body>,
        visit: usize,
        dataset: &mut Dataset<S::Body>,
        granted: &mut Vec<Asker<S::Body>>,
    ) {
        let position = match flow.outcome {
            Outcome::Committed(position) => position,
            Outcome::Undone | Outcome::GaveWay => Position::default(),
        };
        match flow.visits[visit].grant() {
            PASSED => dataset.leave(flow.locks_of(visit), position),
            grant => dataset.release(grant, position, granted),
        }
    }

    /// A visit has ended whose dataset was moved here.
    fn leave(
        &mut self,
        flow: Share<Flow<S::Body>>,
        visit: usize,
        ports: &mut impl Outside<S::Body>,
    ) {
        let dataset = flow.visits[visit].dataset;
        match self.datasets.known(dataset) {
            Place::Gone(to) => return ports.send(*to, Message::Leave(flow, visit as u32)),
            Place::Here(dataset) => {
                Self::let_go(&flow, visit, dataset, &mut self.going_on);
            }
            Place::Unknown | Place::Coming(_) => unreachable!("it came before whoever leaves it"),
        }
        self.deal_out(ports);
        Self::bring_back(flow, ports);
    }

    /// Tells those who have been granted something to go on, here or where they run.
    fn deal_out(&mut self, ports: &mut impl Outside<S::Body>) {
        for asker in self.going_on.drain(..) {
            match asker.hall() {
                hall if hall == self.own => self.granted.push_back(asker),
                hall => ports.send(hall, Message::Visited(Box::new(asker))),
            }
        }
    }

    fn bring_back(flow: Share<Flow<S::Body>>, ports: &mut impl Outside<S::Body>) {
        let home = flow.home;
        if let Some(flow) = flow.finish() {
            ports.send(home, Message::Back(flow));
        }
    }

    /// Has a look at who waits before long, if there may be circles.
    fn look_later(&mut self, ports: &mut impl Outside<S::Body>) {
        self.look_after(0, ports);
    }

    /// As [`Hall::look_later`], but not before `pause` nanoseconds are over.
    fn look_after(&mut self, pause: u64, ports: &mut impl Outside<S::Body>) {
        if let (Some(Looks { every, .. }), Looking::Not) = (self.looks, self.looking) {
            self.looking = Looking::Soon;
            ports.wake_at(ports.now() + every.max(pause));
        }
    }

    /// Tells who waits here for whom, and lets those give way who do elsewhere.
    pub fn wake(&mut self, ports: &mut impl Outside<S::Body>) {
        let (Some(Looks { detector, .. }), Looking::Soon) = (self.looks, self.looking) else {
            return;
        };
        self.looking = Looking::Not;
        self.withdraw(|asker| asker.flow.gives_way(), ports);
        let mut waits = Vec::new();
        for dataset in self.datasets.all() {
            dataset.visit_waits(&mut |waiter, other| waits.push((waiter, other)));
        }
        let is_waiting = !waits.is_empty();
        if is_waiting || self.has_reported {
            self.looking = Looking::Reported;
            ports.send(detector, Message::Waits(self.own, waits));
        }
        self.has_reported = is_waiting;
    }

    /// Those who wait here, as asked, give way.
    fn withdraw(
        &mut self,
        is_such: impl Fn(&Asker<S::Body>) -> bool,
        ports: &mut impl Outside<S::Body>,
    ) {
        for dataset in self.datasets.all_mut() {
            while let Some(asker) = dataset.withdraw(&is_such, &mut self.going_on) {
                asker.flow.give_way();
                asker.flow.visits[asker.visit].set_grant(NOT_HELD);
                self.going_on.push(asker);
            }
        }
        self.deal_out(ports);
    }

    /// Moves a dataset of a layout to another hall, if it is here.
    fn give_away(
        &mut self,
        (layout, number): (u64, u16),
        to: Address,
        ports: &mut impl Outside<S::Body>,
    ) {
        let Self { own, store, datasets, .. } = self;
        if to == *own {
            return; // it would go nowhere
        }
        let is_first = || store.first_hall(number) == *own;
        if let Some(dataset) = datasets.give_away((layout, number), to, is_first) {
            store.note_move(number, to);
            ports.send(to, Message::Move(layout, number, dataset));
        }
    }

    /// Has a dataset of a layout from now on.
    fn take_over(
        &mut self,
        which: (u64, u16),
        dataset: Box<Dataset<S::Body>>,
        ports: &mut impl Outside<S::Body>,
    ) {
        self.look_later(ports); // somebody may wait in it
        for asker in self.datasets.take_over(which, dataset) {
            let held = self.ask(asker, ports);
            self.going_on.extend(held);
        }
        self.deal_out(ports);
    }
}
