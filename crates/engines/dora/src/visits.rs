//! What a call visits: the datasets in which it locks something, in which round, and where.
//!
//! Role         lowers a planned call to the [`Visit`]s of its [`Flow`]

use hotrow_flow::datasets::View;
use hotrow_flow::node::Address;
use hotrow_transaction::granule::LockRequest;
use hotrow_transaction::plan::Plan;

use crate::call::Body;
use crate::protocol::{Flow, Visit};

/// Lists what calls visit, one after the other. Memory is used again.
#[derive(Default)]
pub struct VisitLister {
    wanted: Vec<Wanted>,
    /// locks, and a round in which each is needed
    rounds: Vec<(u64, u32)>,
}

/// What a call being laid out wants in a round.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Wanted {
    round: u32,
    hall: Address,
    dataset: u16,
    /// none: all of it
    lock: Option<LockRequest>,
}

impl VisitLister {
    /// Lists what a planned call locks, all of it in the first round. `own`: the hall for a call
    /// that locks nothing.
    pub fn list<B>(&mut self, view: &View, plan: &Plan, own: Address, flow: &mut Flow<B>) {
        self.wanted.clear();
        view.visit_locks(plan, |dataset, lock| {
            let hall = view.executors()[usize::from(dataset)];
            self.wanted.push(Wanted { round: 0, hall, dataset, lock });
        });
        self.visit(own, flow);
    }

    /// As [`VisitLister::list`] has listed it, for a call in parts: has each lock be asked for in
    /// the first round in which something needs it.
    pub fn list_in_rounds(&mut self, flow: &mut Flow<Body>) {
        let Self { wanted, rounds } = self;
        let call = &flow.body.call;
        rounds.clear();
        for (round, action) in call.schedule.actions() {
            let used = call.batch.uses(&call.batch.actions()[action as usize]);
            rounds.extend(used.iter().map(|used| (used.lock, round)));
        }
        rounds.sort_unstable();
        for wanted in &mut *wanted {
            let Some(lock) = wanted.lock else { continue };
            let first = rounds.partition_point(|&(known, _)| known < lock.lock());
            let needed = rounds.get(first).filter(|(known, _)| *known == lock.lock());
            wanted.round = needed.map_or(0, |&(_, round)| round);
        }
        // A first round that works on values alone has no hall yet.
        if let Some(first) = wanted.iter_mut().min_by_key(|wanted| wanted.round) {
            first.round = 0;
        }
        self.visit(flow.halls[0], flow);
    }

    /// Has a call have all datasets to itself.
    pub fn list_all<B>(&mut self, view: &View, own: Address, flow: &mut Flow<B>) {
        self.wanted.clear();
        let all = (0..).zip(view.executors());
        let wanted = |(dataset, &hall)| Wanted { round: 0, hall, dataset, lock: None };
        self.wanted.extend(all.map(wanted));
        self.visit(own, flow);
    }

    fn visit<B>(&mut self, own: Address, flow: &mut Flow<B>) {
        // Who wants all of a dataset comes before those who want some of it, who need not then.
        self.wanted.sort_unstable();
        flow.locks.clear();
        flow.visits.clear();
        flow.halls.clear();
        for &Wanted { round, hall, dataset, lock } in &self.wanted {
            let begin = flow.locks.len() as u32;
            let has_all = |visit: &Visit| visit.whole && visit.dataset == dataset;
            if round > 0 && flow.visits.iter().any(has_all) {
                continue; // since its first round
            }
            match flow.visits.last_mut() {
                Some(last) if (last.round, last.dataset) == (round, dataset) => {
                    if let Some(lock) = lock.filter(|_| !last.whole) {
                        flow.locks.push(lock);
                        last.locks.end += 1;
                    }
                }
                _ => {
                    flow.locks.extend(lock);
                    let locks = begin..flow.locks.len() as u32;
                    flow.visits.push(Visit::new((round, hall, dataset), lock.is_none(), locks));
                }
            }
            if flow.halls.last() != Some(&hall) {
                flow.halls.push(hall);
            }
        }
        if flow.visits.last().is_some_and(|last| last.round > 0) {
            flow.halls.sort_unstable();
            flow.halls.dedup();
        }
        if flow.halls.is_empty() {
            flow.halls.push(own);
        }
    }
}
