//! Real-time edges: completed before invoked, in a number linear in the history.
//!
//! The completions between two invocations are joined in one auxiliary node (a frontier); every
//! frontier leads to the next one, and the newest one to each transaction invoked after it. So
//! every pair of the real-time order is connected by a path, by at most 3 edges per transaction.

use super::facts::{Facts, Txn};
use super::graph::{Edges, NO_KEY, RT};

/// At equal times the invocation comes first: such transactions overlap.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    Invoked(Txn),
    Completed(Txn),
}

/// Adds the real-time edges, and those between consecutive transactions of one process.
pub(super) fn infer(facts: &Facts<'_>, edges: &mut Edges) {
    frontiers(facts, edges);
    processes(facts, edges);
}

fn live<'f>(facts: &'f Facts<'_>) -> impl Iterator<Item = Txn> + 'f {
    (0..).zip(&facts.live).filter(|(_, live)| **live).map(|(txn, _)| txn)
}

fn frontiers(facts: &Facts<'_>, edges: &mut Edges) {
    let mut events = Vec::new();
    for txn in live(facts) {
        let times = facts.transaction(txn);
        events.push((times.invoked_ns, Event::Invoked(txn)));
        if let Some(completed) = facts.known_completion(txn) {
            events.push((completed, Event::Completed(txn)));
        }
    }
    events.sort_unstable();
    let mut completed: Vec<Txn> = Vec::new();
    let mut frontier = None;
    for (_, event) in events {
        match event {
            Event::Completed(txn) => completed.push(txn),
            Event::Invoked(txn) => {
                if !completed.is_empty() {
                    let next = edges.auxiliary();
                    completed.drain(..).for_each(|before| edges.add(before, RT, NO_KEY, next));
                    if let Some(before) = frontier.replace(next) {
                        edges.add_inner(before, next);
                    }
                }
                if let Some(frontier) = frontier {
                    edges.add_inner(frontier, txn);
                }
            }
        }
    }
}

/// A process runs one transaction at a time: its order holds even where a coarse clock shows the
/// end of one and the start of the next at the same nanosecond.
fn processes(facts: &Facts<'_>, edges: &mut Edges) {
    let order_of = |txn: Txn| {
        let txn = facts.transaction(txn);
        (txn.process, txn.invoked_ns, txn.completed_ns.unwrap_or(u64::MAX))
    };
    let mut order: Vec<Txn> = live(facts).collect();
    order.sort_by_key(|txn| order_of(*txn));
    for pair in order.windows(2) {
        let [(process, begun, _), (next_process, invoked, _)] = [pair[0], pair[1]].map(order_of);
        let adjoining = facts.known_completion(pair[0]) == Some(invoked) && begun < invoked;
        if process == next_process && adjoining {
            edges.add(pair[0], RT, NO_KEY, pair[1]);
        }
    }
}
