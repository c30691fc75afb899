//! Version orders of registers, as far as reads, writes and time show them.
//!
//! A register shows one version at a time, so its order must be inferred:
//! - the initial state comes before every write;
//! - a transaction that read version v and wrote the register made the version right after v:
//!   every other reader of v precedes it (two such writers are a lost update);
//! - a version is in place once its writer or any reader of it completed; it is current when a
//!   reader of it is invoked. What is in place before another version was last current, or before
//!   its writer was invoked, is the earlier version of the two: its readers and its writer
//!   precede the writer of the later one.
//!
//! Concurrent writes that no reader tells apart stay unordered; the report counts them.

use std::collections::{HashMap, HashSet};

use crate::history::Op;
use crate::report::{AnomalyClass, Report};

use super::facts::{Facts, Txn};
use super::graph::{Edges, RT, RW, RangeTree, Toward, WR, WW};
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
    let mut times = times(facts, key, &reads);
    add_later_writers(facts, key, &reads, &times, edges);
    add_earlier_versions(key, &mut times, edges);
    note_undecided(facts, key, &reads, &times, report);
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

/// What time tells about one version.
struct Times {
    /// Position in the key's writes.
    version: u32,
    writer: Txn,
    readers: Vec<Txn>,
    /// From when on it, or a later version, is in place.
    in_place_ns: Option<u64>,
    /// Until when it is surely not overwritten.
    current_ns: u64,
}

/// The times of every version that a live transaction left behind.
fn times(facts: &Facts<'_>, key: usize, reads: &[ExternalRead]) -> Vec<Times> {
    let mut readers: HashMap<u32, Vec<Txn>> = HashMap::new();
    for read in reads {
        readers.entry(read.version.unwrap_or(u32::MAX)).or_default().push(read.reader);
    }
    let mut times = Vec::new();
    for (version, write) in (0..).zip(&facts.keys[key].writes) {
        if !write.last || !facts.live[write.txn as usize] {
            continue;
        }
        let readers = readers.remove(&version).unwrap_or_default();
        let witnesses = || readers.iter().copied().chain([write.txn]);
        let in_place_ns = witnesses().filter_map(|txn| facts.known_completion(txn)).min();
        let invoked = witnesses().map(|txn| facts.transaction(txn).invoked_ns);
        let current_ns = invoked.max().unwrap_or(0);
        times.push(Times { version, writer: write.txn, readers, in_place_ns, current_ns });
    }
    times
}

/// Readers precede every writer that was invoked after the version they read was in place.
fn add_later_writers(
    facts: &Facts<'_>,
    key: usize,
    reads: &[ExternalRead],
    times: &[Times],
    edges: &mut Edges,
) {
    let mut writers: Vec<Txn> = times.iter().map(|times| times.writer).collect();
    writers.sort_by_key(|txn| facts.transaction(*txn).invoked_ns);
    let places: HashMap<Txn, usize> =
        (0..).zip(&writers).map(|(place, txn)| (*txn, place)).collect();
    let in_place: HashMap<u32, Option<u64>> =
        times.iter().map(|times| (times.version, times.in_place_ns)).collect();
    let tree = RangeTree::new(edges, &writers, Toward::Range);
    for read in reads {
        let start = match read.version.map(|version| in_place.get(&version).copied().flatten()) {
            None => 0,
            Some(None) => continue,
            Some(Some(in_place)) => {
                writers.partition_point(|txn| facts.transaction(*txn).invoked_ns <= in_place)
            }
        };
        let own = places.get(&read.reader).copied();
        edges.add_to_range(read.reader, (RW, key as u32), &tree, start..writers.len(), own);
    }
}

/// Writers and readers of versions in place precede the writer of one that is current later.
/// These edges rest on time alone, and so do the anomalies found by them.
fn add_earlier_versions(key: usize, times: &mut [Times], edges: &mut Edges) {
    times.sort_by_key(|times| times.in_place_ns.unwrap_or(u64::MAX));
    let mut leaves: Vec<Txn> = Vec::new();
    let mut starts = Vec::with_capacity(times.len() + 1);
    let mut places: HashMap<Txn, Vec<usize>> = HashMap::new();
    for version in times.iter() {
        starts.push(leaves.len());
        for txn in version.readers.iter().copied().chain([version.writer]) {
            places.entry(txn).or_default().push(leaves.len());
            leaves.push(txn);
        }
    }
    starts.push(leaves.len());
    let label = (RT, key as u32);
    let tree = RangeTree::new(edges, &leaves, Toward::One(label.0, label.1));
    for (place, version) in times.iter().enumerate() {
        let earlier = times.partition_point(|other| {
            other.in_place_ns.is_some_and(|in_place| in_place < version.current_ns)
        });
        let own = (starts[place]..starts[place + 1]).chain(places[&version.writer].iter().copied());
        edges.add_from_range(&tree, 0..starts[earlier], own, label, version.writer);
    }
}

/// Counts versions that neither reads nor time order against the one in place before them.
fn note_undecided(
    facts: &Facts<'_>,
    key: usize,
    reads: &[ExternalRead],
    times: &[Times],
    report: &mut Report,
) {
    let ordered: HashSet<Txn> =
        reads.iter().filter(|read| read.overwrites).map(|read| read.reader).collect();
    let before = |first: &Times, second: &Times| {
        first.in_place_ns.is_some_and(|in_place| in_place < second.current_ns)
    };
    let is_open = |pair: &&[Times]| {
        let (first, second) = (&pair[0], &pair[1]);
        !before(first, second) && !before(second, first) && !ordered.contains(&second.writer)
    };
    let open = times.windows(2).filter(is_open).count();
    if open > 0 {
        report.undecided.push(format!(
            "register {}: {open} pairs of concurrent writes whose order no read shows",
            facts.keys[key].name
        ));
    }
}
