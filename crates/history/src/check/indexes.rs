//! Predicate reads: which entries of an index a scan saw, and which it missed.
//!
//! Entries are only ever added, so the scans of a serial execution form a chain by inclusion;
//! sorting them by size gives the order in which entries appeared, up to ties. Entries added
//! between two scans are not ordered among themselves. A scan outside the chain is proof of an
//! anomaly on its own (it missed an entry that a scan without one of *its* entries saw); its edges
//! are added one by one, for the cycle search to word it.

use std::collections::HashSet;

use crate::history::Status;
use crate::report::{AnomalyClass, Report};

use super::facts::{Facts, ReadFact, Txn};
use super::graph::{Edges, RW, RangeTree, Toward, WR};
use super::lists::bad_element;

/// Scans outside the chain whose edges are added, per index: each costs as many edges as the
/// index has entries, and one is enough to condemn the history.
const STRAY_SCANS_MAX: usize = 256;

/// What one scan saw of others' entries (positions in the key's writes).
struct Scan {
    reader: Txn,
    seen: Vec<u32>,
}

/// Judges the scans of an index and adds its wr and rw edges.
pub(super) fn infer(facts: &mut Facts<'_>, key: usize, edges: &mut Edges, report: &mut Report) {
    let reads = facts.keys[key].reads.clone();
    let mut reported = HashSet::new();
    let mut scans = Vec::with_capacity(reads.len());
    for read in reads {
        let seen = foreign_entries(facts, key, read, &mut reported, report);
        for write in &seen {
            facts.live[facts.keys[key].writes[*write as usize].txn as usize] = true;
        }
        scans.push(Scan { reader: read.txn, seen });
    }
    scans.sort_by_key(|scan| scan.seen.len());
    add_edges(facts, key, &scans, edges, report);
}

/// The entries that count; garbage, repeated and aborted ones are reported, each once.
fn foreign_entries(
    facts: &Facts<'_>,
    key: usize,
    read: ReadFact,
    reported: &mut HashSet<(AnomalyClass, i64)>,
    report: &mut Report,
) -> Vec<u32> {
    let mut values = facts.values(read).to_vec();
    values.sort_unstable();
    let mut seen = Vec::with_capacity(values.len());
    for (place, value) in values.iter().enumerate() {
        let class = match facts.writer(key, *value) {
            _ if place > 0 && values[place - 1] == *value => AnomalyClass::DuplicateElements,
            None => AnomalyClass::GarbageRead,
            Some(write) => match facts.keys[key].writes[write as usize].txn {
                txn if txn == read.txn => continue,
                txn if facts.aborted(txn) => AnomalyClass::AbortedRead,
                _ => {
                    seen.push(write);
                    continue;
                }
            },
        };
        if reported.insert((class, *value)) {
            report.add(bad_element(facts, key, read.txn, *value, class));
        }
    }
    seen
}

/// The entries in order of appearance, as far as the scans tell.
struct Chain {
    order: Vec<u32>,
    /// Per write of the key: its place in `order`, if it has one.
    places: Vec<Option<u32>>,
}

impl Chain {
    fn push(&mut self, write: u32) {
        let place = &mut self.places[write as usize];
        if place.is_none() {
            *place = Some(self.order.len() as u32);
            self.order.push(write);
        }
    }

    /// Takes a scan in if it holds everything the chain has so far.
    fn extend(&mut self, seen: &[u32]) -> bool {
        let known = seen.iter().filter(|write| self.places[**write as usize].is_some()).count();
        let fits = known == self.order.len();
        if fits {
            seen.iter().for_each(|write| self.push(*write));
        }
        fits
    }
}

fn add_edges(
    facts: &Facts<'_>,
    key: usize,
    scans: &[Scan],
    edges: &mut Edges,
    report: &mut Report,
) {
    let writes = &facts.keys[key].writes;
    let mut chain = Chain { order: Vec::new(), places: vec![None; writes.len()] };
    let fits: Vec<bool> = scans.iter().map(|scan| chain.extend(&scan.seen)).collect();
    for (scan, _) in scans.iter().zip(&fits).filter(|(_, fits)| !**fits) {
        scan.seen.iter().for_each(|write| chain.push(*write));
    }
    for (number, write) in (0..).zip(writes) {
        if facts.transaction(write.txn).status == Status::Committed {
            chain.push(number);
        }
    }
    let leaves: Vec<Txn> = chain.order.iter().map(|write| writes[*write as usize].txn).collect();
    let label = (RW, key as u32);
    let missed = RangeTree::new(edges, &leaves, Toward::Range);
    let seen = RangeTree::new(edges, &leaves, Toward::One(WR, key as u32));
    let mut strays = 0;
    for (scan, fits) in scans.iter().zip(fits) {
        let mut held: Vec<usize> = own_places(facts, key, &chain, scan.reader);
        if fits {
            let length = scan.seen.len();
            edges.add_from_range(&seen, 0..length, [], (WR, key as u32), scan.reader);
            edges.add_to_range(scan.reader, label, &missed, length..leaves.len(), held);
            continue;
        }
        strays += 1;
        if strays <= STRAY_SCANS_MAX {
            for write in &scan.seen {
                edges.add(writes[*write as usize].txn, WR, key as u32, scan.reader);
                held.extend(chain.places[*write as usize].map(|place| place as usize));
            }
            edges.add_to_range(scan.reader, label, &missed, 0..leaves.len(), held);
        }
    }
    if strays > STRAY_SCANS_MAX {
        let left_out = strays - STRAY_SCANS_MAX;
        report.undecided.push(format!(
            "index {}: {left_out} more scans contradict the others and were left out",
            facts.keys[key].name
        ));
    }
}

/// Where the chain holds the reader's own entries; a transaction's writes lie side by side.
fn own_places(facts: &Facts<'_>, key: usize, chain: &Chain, reader: Txn) -> Vec<usize> {
    let writes = &facts.keys[key].writes;
    let first = writes.partition_point(|write| write.txn < reader);
    let own = (first..writes.len()).take_while(|write| writes[*write].txn == reader);
    own.filter_map(|write| chain.places[write]).map(|place| place as usize).collect()
}
