//! Version orders of registers, as far as reads, writes and time show them.
//!
//! A register shows one version at a time, so its order must be inferred:
//! - the initial state comes before every write;
//! - a transaction that read version v and wrote the register made the version right after v:
//!   every other reader of v precedes it (two such writers are a lost update);
//! - a write that was invoked after another one completed is the later version: readers of the
//!   earlier one precede it.
//!
//! Concurrent blind writes stay unordered; the report says how many there are.

use std::collections::{HashMap, HashSet};

use crate::history::{Op, Status};
use crate::report::{AnomalyClass, Report};

use super::facts::{Facts, Txn};
use super::graph::{Edges, RW, RangeTree, Toward, WR, WW};
use super::lists::{bad_element, intermediate};

/// A transaction's first read of the register before it wrote it.
struct ExternalRead {
    reader: Txn,
    /// Position in the key's writes; `None` for the initial state.
    version: Option<u32>,
    /// Whether the reader also wrote the register, after this read.
    overwrites: bool,
}

/// Judges the reads of a register and adds its ww, wr and rw edges.
pub(super) fn infer(facts: &mut Facts<'_>, key: usize, edges: &mut Edges, report: &mut Report) {
    let reads = external_reads(facts, key, report);
    for read in &reads {
        if let Some(version) = read.version {
            facts.live[facts.keys[key].writes[version as usize].txn as usize] = true;
        }
    }
    let overwriters = overwriters(&reads);
    add_version_edges(facts, key, &reads, &overwriters, edges);
    add_time_edges(facts, key, &reads, edges);
    note_undecided(facts, key, &reads, report);
}

fn external_reads(facts: &Facts<'_>, key: usize, report: &mut Report) -> Vec<ExternalRead> {
    let mut reported = HashSet::new();
    let mut reads: Vec<ExternalRead> = Vec::new();
    for read in &facts.keys[key].reads {
        let Op::ReadRegister { key: name, value } =
            facts.transaction(read.txn).ops[read.op as usize]
        else {
            continue;
        };
        let version = match value.map(|value| (value, facts.writer(key, value))) {
            None => None,
            Some((value, None)) => {
                if reported.insert((AnomalyClass::GarbageRead, value)) {
                    let class = AnomalyClass::GarbageRead;
                    report.add(bad_element(facts, key, read.txn, value, class));
                }
                continue;
            }
            Some((value, Some(version))) => {
                let write = facts.keys[key].writes[version as usize];
                if write.txn == read.txn {
                    continue;
                }
                if facts.aborted(write.txn) {
                    if reported.insert((AnomalyClass::AbortedRead, value)) {
                        let class = AnomalyClass::AbortedRead;
                        report.add(bad_element(facts, key, read.txn, value, class));
                    }
                    continue;
                }
                if !write.last && reported.insert((AnomalyClass::IntermediateRead, value)) {
                    report.add(intermediate(facts, key, read.txn, write.txn, value));
                }
                Some(version)
            }
        };
        let writes_key = |op: &Op| op.key() == name && op.written().is_some();
        let (before, after) = facts.transaction(read.txn).ops.split_at(read.op as usize);
        if !before.iter().any(writes_key) {
            let overwrites = after.iter().any(writes_key);
            reads.push(ExternalRead { reader: read.txn, version, overwrites });
        }
    }
    reads
}

/// Per version, the first two transactions that read it and wrote the next one. A third adds
/// nothing: the first two already contradict each other.
fn overwriters(reads: &[ExternalRead]) -> HashMap<Option<u32>, Vec<Txn>> {
    let mut overwriters: HashMap<Option<u32>, Vec<Txn>> = HashMap::new();
    for read in reads.iter().filter(|read| read.overwrites) {
        let known = overwriters.entry(read.version).or_default();
        if known.len() < 2 && !known.contains(&read.reader) {
            known.push(read.reader);
        }
    }
    overwriters
}

fn add_version_edges(
    facts: &Facts<'_>,
    key: usize,
    reads: &[ExternalRead],
    overwriters: &HashMap<Option<u32>, Vec<Txn>>,
    edges: &mut Edges,
) {
    let name = key as u32;
    for read in reads {
        if let Some(version) = read.version {
            let writer = facts.keys[key].writes[version as usize].txn;
            edges.add(writer, WR, name, read.reader);
            if read.overwrites {
                edges.add(writer, WW, name, read.reader);
            }
        }
        for overwriter in overwriters.get(&read.version).into_iter().flatten() {
            edges.add(read.reader, RW, name, *overwriter);
        }
    }
}

/// Live transactions that wrote the register, by invocation time.
fn writers_by_time(facts: &Facts<'_>, key: usize) -> Vec<Txn> {
    let writes = facts.keys[key].writes.iter();
    let last = writes.filter(|write| write.last && facts.live[write.txn as usize]);
    let mut writers: Vec<Txn> = last.map(|write| write.txn).collect();
    writers.sort_by_key(|txn| facts.transaction(*txn).invoked_ns);
    writers
}

/// Readers precede every writer that began after the version they read was complete.
fn add_time_edges(facts: &Facts<'_>, key: usize, reads: &[ExternalRead], edges: &mut Edges) {
    let writers = writers_by_time(facts, key);
    let places: HashMap<Txn, usize> =
        (0..).zip(&writers).map(|(place, txn)| (*txn, place)).collect();
    let tree = RangeTree::new(edges, &writers, Toward::Range);
    for read in reads {
        let start = match read.version {
            None => 0,
            Some(version) => {
                let writer = facts.keys[key].writes[version as usize].txn;
                let Some(completed) = facts.known_completion(writer) else { continue };
                writers.partition_point(|txn| facts.transaction(*txn).invoked_ns <= completed)
            }
        };
        let own = places.get(&read.reader).copied();
        edges.add_to_range(read.reader, (RW, key as u32), &tree, start..writers.len(), own);
    }
}

/// Counts neighbouring writes that overlap in time and that no read orders.
fn note_undecided(facts: &Facts<'_>, key: usize, reads: &[ExternalRead], report: &mut Report) {
    let ordered: HashSet<Txn> =
        reads.iter().filter(|read| read.overwrites).map(|read| read.reader).collect();
    let writers = writers_by_time(facts, key);
    let overlap = |pair: &&[Txn]| {
        let [first, second] = [pair[0], pair[1]].map(|txn| facts.transaction(txn));
        let completed = facts.known_completion(pair[0]);
        let overlapping = completed.is_none_or(|completed| completed >= second.invoked_ns);
        overlapping && first.status != Status::Aborted && !ordered.contains(&pair[1])
    };
    let open = writers.windows(2).filter(overlap).count();
    if open > 0 {
        report.undecided.push(format!(
            "register {}: {open} pairs of concurrent writes whose order no read shows",
            facts.keys[key].name
        ));
    }
}
