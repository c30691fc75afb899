//! A hall: the datasets that one thread has, and what calls have to do there.
//!
//! Role         plays the executor of each of its datasets: what comes in is taken in order, locks
//!              are asked for, what holds its locks is run to the end of its round
//! States       of a call here: asks for locks, dataset after dataset -> holds them: runs round 0
//!              -> waits for later rounds -> ended, and its locks let go
//! Invariants   as [`super`]

use std::collections::VecDeque;

use hotrow_base::sync::rendezvous::{Parcel, Share, Shares};
use hotrow_flow::lock_space::Requester;
use hotrow_flow::node::Address;
use hotrow_log::position::Position;
use hotrow_transaction::granule::LockRequest;

use super::dataset::{Dataset, Visitor};
use super::{Flow, Message, Outcome, Outside, Section, Store};

/// A call that asks for locks here.
struct Asker<B> {
    flow: Share<Flow<B>>,
    /// for the halls behind this one
    others: Shares<Flow<B>>,
    /// the dataset that it is in
    visit: usize,
    /// whom it follows here
    met: Position,
    /// when it asked last
    asked_at: u64,
    /// the lock that it did not get at once, if there is one
    awaited: Option<u64>,
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
}

/// What is to be done here.
enum Work<B> {
    Ask(Shares<Flow<B>>, u32),
    Run(Share<Flow<B>>, u32),
}

/// See the module.
pub struct Hall<S: Store> {
    own: Address,
    store: S,
    /// by number; nothing where a dataset is elsewhere, or has not been asked for yet
    datasets: Vec<Option<Dataset<Asker<S::Body>>>>,
    /// in order
    incoming: VecDeque<Work<S::Body>>,
    /// they hold what they have waited for, in the order in which they came to it
    granted: VecDeque<Asker<S::Body>>,
    /// those who have just been granted what they have waited for; empty between two calls
    going_on: Vec<Asker<S::Body>>,
}

impl<S: Store> Hall<S> {
    /// One in which nothing has happened yet.
    pub fn new(own: Address, store: S) -> Self {
        let (datasets, incoming) = (Vec::new(), VecDeque::new());
        let (granted, going_on) = (VecDeque::new(), Vec::new());
        Self { own, store, datasets, incoming, granted, going_on }
    }

    /// Its data, to tell that of another schema, whose datasets have other numbers. No call is here
    /// then; what those have left behind who locked something stands before the definition, which
    /// all who come later follow anyway.
    pub fn begin_anew(&mut self) -> &mut S {
        debug_assert!(self.is_idle(), "definitions come between calls");
        self.datasets.clear();
        &mut self.store
    }

    /// Whether nothing is here that has not ended.
    pub fn is_idle(&self) -> bool {
        let is_free = |dataset: &Dataset<_>| dataset.is_empty();
        self.incoming.is_empty()
            && self.granted.is_empty()
            && self.datasets.iter().flatten().all(is_free)
    }

    /// Takes a message.
    pub fn take(&mut self, message: Message<S::Body>, ports: &mut impl Outside<S::Body>) {
        match message {
            Message::Ask(shares, visit) => self.incoming.push_back(Work::Ask(shares, visit)),
            Message::Run(flow, round) => self.incoming.push_back(Work::Run(flow, round)),
            Message::End(flow) => self.end(flow, ports),
            Message::Ended(_) | Message::Back(_) => unreachable!("homes are told ends"),
        }
    }

    /// Does one thing that is to be done; whether there was one.
    pub fn work(&mut self, ports: &mut impl Outside<S::Body>) -> bool {
        if let Some(asker) = self.granted.pop_front() {
            if let Some(lock) = asker.awaited {
                self.store.note_wait(&asker.flow, lock, ports.now() - asker.asked_at);
            }
            let visit = asker.visit + 1;
            self.go_on(Asker { visit, awaited: None, ..asker }, ports);
            return true;
        }
        match self.incoming.pop_front() {
            None => return false,
            Some(Work::Run(flow, round)) => self.run(flow, round, ports),
            Some(Work::Ask(mut shares, visit)) => {
                let flow = shares.next().expect("there is one for each of its halls");
                let (visit, met) = (visit as usize, Position::default());
                let (asked_at, awaited) = (0, None);
                let asker = Asker { flow, others: shares, visit, met, asked_at, awaited };
                self.go_on(asker, ports);
            }
        }
        true
    }

    /// Asks for what a call locks in the datasets that are here, from the next one on; when it
    /// holds all of that, hands it on, and runs its first round here.
    fn go_on(&mut self, mut asker: Asker<S::Body>, ports: &mut impl Outside<S::Body>) {
        asker.asked_at = ports.now();
        while let Some(visit) = asker.flow.visits.get(asker.visit)
            && visit.hall == self.own
        {
            ports.spend(Section::Lock);
            let number = usize::from(visit.dataset);
            if self.datasets.len() <= number {
                self.datasets.resize_with(number + 1, || None);
            }
            let dataset = self.datasets[number].get_or_insert_default();
            match dataset.ask(asker) {
                Some(held) => asker = Asker { visit: held.visit + 1, ..held },
                None => return, // it is granted one day
            }
        }
        let Asker { flow, others, visit, met, .. } = asker;
        let doer = flow.doer(self.own);
        flow.reach(doer);
        self.store.meet(&flow, doer, met);
        if !flow.is_sequential {
            Self::hand_on(&flow, others, visit, ports);
            return self.run(flow, 0, ports);
        }
        ports.spend(Section::Run);
        self.store.run(&flow, doer, 0);
        match self.store.has_failed(&flow) {
            true => drop(others), // they have nothing to do with it
            false => Self::hand_on(&flow, others, visit, ports),
        }
        self.finish(flow, 0, ports);
    }

    /// Has the next hall go on with a request, if there is one.
    fn hand_on(
        flow: &Flow<S::Body>,
        others: Shares<Flow<S::Body>>,
        visit: usize,
        ports: &mut impl Outside<S::Body>,
    ) {
        if let Some(next) = flow.visits.get(visit) {
            ports.send(next.hall, Message::Ask(others, visit as u32));
        }
    }

    /// Runs a round here.
    fn run(&mut self, flow: Share<Flow<S::Body>>, round: u32, ports: &mut impl Outside<S::Body>) {
        ports.spend(Section::Run);
        self.store.run(&flow, flow.doer(self.own), round);
        self.finish(flow, round, ports);
    }

    /// A round is done here.
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
            let doers = (0..flow.halls.len()).filter(|&doer| doer != own);
            let others = doers.filter(|&doer| self.store.has_round(&flow, doer, round)).count();
            if others > 0 {
                return self.begin_round(flow, round, others, ports);
            }
            if self.store.has_round(&flow, own, round) {
                self.store.run(&flow, own, round);
            }
        }
        self.tell_end(flow, ports);
    }

    /// Has `others` run a round, and this hall, if it has something to do; it meets them anyway.
    fn begin_round(
        &mut self,
        flow: Parcel<Flow<S::Body>>,
        round: u32,
        others: usize,
        ports: &mut impl Outside<S::Body>,
    ) {
        let mut shares = flow.share(others + 1);
        let flow = shares.next().expect("for this hall");
        let own = flow.doer(self.own);
        for (doer, &hall) in flow.halls.iter().enumerate() {
            if doer != own && self.store.has_round(&flow, doer, round) {
                let share = shares.next().expect("there is one for each");
                ports.send(hall, Message::Run(share, round));
            }
        }
        match self.store.has_round(&flow, own, round) {
            true => self.run(flow, round, ports),
            false => self.finish(flow, round, ports),
        }
    }

    /// Ends a call: what it has changed here first, so that where it was run as a whole, here, its
    /// locks elsewhere last until then; then tells all.
    fn tell_end(&mut self, flow: Parcel<Flow<S::Body>>, ports: &mut impl Outside<S::Body>) {
        ports.spend(Section::End);
        self.store.end(&flow, flow.doer(self.own));
        let (home, halls) = (flow.home, flow.reached().len());
        let mut shares = flow.share(halls + 1);
        let own = shares.next().expect("for this hall");
        ports.send(home, Message::Ended(shares.next().expect("for its home")));
        for &hall in own.reached().iter().filter(|&&hall| hall != self.own) {
            ports.send(hall, Message::End(shares.next().expect("for each other hall")));
        }
        self.release(own, ports);
    }

    /// A call has ended: makes its changes here final, or takes them back, and lets go of its
    /// locks.
    fn end(&mut self, flow: Share<Flow<S::Body>>, ports: &mut impl Outside<S::Body>) {
        ports.spend(Section::End);
        self.store.end(&flow, flow.doer(self.own));
        self.release(flow, ports);
    }

    fn release(&mut self, flow: Share<Flow<S::Body>>, ports: &mut impl Outside<S::Body>) {
        let position = match flow.outcome {
            Outcome::Committed(position) => position,
            Outcome::Undone => Position::default(),
        };
        for visit in flow.visits.iter().filter(|visit| visit.hall == self.own) {
            let dataset = self.datasets[usize::from(visit.dataset)].as_mut();
            let dataset = dataset.expect("it was asked here");
            dataset.release(visit.whole, visit.grant(), position, &mut self.going_on);
        }
        self.granted.extend(self.going_on.drain(..));
        let home = flow.home;
        if let Some(flow) = flow.finish() {
            ports.send(home, Message::Back(flow));
        }
    }
}
