//! The check: from a history to a report.
//!
//! States       1 `facts` groups reads and writes by key; 2 `lists`, `indexes` and `registers`
//!              judge single reads, infer version orders and add ww, wr, rw edges; 3 `real_time`
//!              adds rt edges; 4 `cycles` searches the graph; 5 `explain` words what it found.
//! Invariants   every edge is sound: if a serial, real-time-respecting order explains the history,
//!              then that order respects the edge. So a cycle is proof, and a correct execution is
//!              never flagged. The reverse does not hold: what a history does not show (the order
//!              of unread appends, of concurrent register writes) is not guessed.

mod cycles;
mod explain;
mod facts;
mod graph;
mod indexes;
mod internal;
mod lists;
mod real_time;
mod registers;

use crate::history::History;
use crate::report::Report;

use facts::{Facts, KeyKind};
use graph::Edges;

/// Checks a history for strict serializability.
///
/// Aborted transactions take part only as writers that nobody may have read; unknown ones take
/// part if somebody read a value of theirs, and then only with their writes. Never panics,
/// whatever the history. Time is about linear in the history's size (operations plus elements
/// read) unless many anomalies overlap, where the search is cut off by a budget.
///
/// The report's anomalies are reduced to the most basic class: where transactions already form a
/// write cycle, the weaker cycles through the same transactions are not reported again.
pub fn check(history: &History) -> Report {
    let mut report = Report::default();
    let mut facts = Facts::gather(history, &mut report);
    internal::check(&facts, &mut report);
    let mut edges = Edges::new(history.transactions.len());
    for key in 0..facts.keys.len() {
        match facts.keys[key].kind {
            KeyKind::List => lists::infer(&mut facts, key, &mut edges, &mut report),
            KeyKind::Index => indexes::infer(&mut facts, key, &mut edges, &mut report),
            KeyKind::Register => registers::infer(&mut facts, key, &mut edges, &mut report),
            KeyKind::Mixed => {}
        }
    }
    real_time::infer(&facts, &mut edges);
    report.transactions_checked = facts.live.iter().filter(|live| **live).count();
    cycles::search(&facts, edges, &mut report);
    facts.note_unknown(&mut report);
    report.anomalies.sort_by_key(|anomaly| (anomaly.class, anomaly.cycle.len()));
    report
}

#[cfg(test)]
mod tests;
