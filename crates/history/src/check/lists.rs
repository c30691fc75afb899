//! Version orders of lists, from the reads themselves.
//!
//! Every read of a list is a prefix of one order of its appends, so the longest read gives the
//! order and all others must agree with it. Committed appends that no read shows come after all
//! that is shown (otherwise some read would hold them), in an order nobody knows.
//! Elements of aborted transactions are reported and then left out; the rest is still compared.
//!
//! Source       Elle, section 4.2 (traceability of lists). We differ: unshown appends are used.

use std::collections::HashSet;

use crate::history::Status;
use crate::report::{Anomaly, AnomalyClass, Report};

use super::facts::{Facts, KeyFacts, ReadFact, Txn};
use super::graph::{Edges, RW, RangeTree, Toward, WR, WW};

/// A read without what cannot be part of the version order.
struct Version {
    read: ReadFact,
    /// Its last element that somebody else wrote, and how many elements precede and include it.
    external: Option<u32>,
    external_length: usize,
    /// Whether it is a prefix of the order.
    agrees: bool,
}

/// Judges the reads of a list and adds its ww, wr and rw edges.
pub(super) fn infer(facts: &mut Facts<'_>, key: usize, edges: &mut Edges, report: &mut Report) {
    let mut cleaner = Cleaner { key, reported: HashSet::new() };
    let (order, clean) = cleaner.order(facts, report);
    for write in &order {
        facts.live[facts.keys[key].writes[*write as usize].txn as usize] = true;
    }
    let reads = facts.keys[key].reads.clone();
    let mut versions = Vec::with_capacity(reads.len());
    let longest = longest_reader(facts, key);
    for (read, clean) in reads.into_iter().zip(clean) {
        let version = version(facts, key, read, &clean, &order);
        if !version.agrees {
            let elements = clean.elements(&order);
            report.add(incompatible(facts, key, [read.txn, longest], [elements, &order]));
        }
        versions.push(version);
    }
    intermediate_reads(facts, key, &versions, report);
    add_edges(facts, key, &order, &versions, edges);
}

/// A read's elements that count: as long as this prefix of the order's source, or its own.
enum Clean {
    Prefix(usize),
    Own(Vec<u32>),
}

impl Clean {
    fn elements<'c>(&'c self, order: &'c [u32]) -> &'c [u32] {
        match self {
            Clean::Prefix(length) => &order[..*length],
            Clean::Own(own) => own,
        }
    }
}

/// Sorts out elements that are garbage, repeated or aborted, reporting each once.
struct Cleaner {
    key: usize,
    reported: HashSet<(AnomalyClass, i64)>,
}

impl Cleaner {
    /// The version order (positions in the key's writes) and each read's clean elements.
    fn order(&mut self, facts: &Facts<'_>, report: &mut Report) -> (Vec<u32>, Vec<Clean>) {
        let reads = &facts.keys[self.key].reads;
        let longest = reads.iter().max_by_key(|read| facts.values(**read).len());
        let Some(longest) = longest else { return (Vec::new(), Vec::new()) };
        let source = facts.values(*longest);
        // Problems in the longest read are blamed on the shortest read that shares them.
        let mut by_length = reads.clone();
        by_length.retain(|read| source.starts_with(facts.values(*read)));
        by_length.sort_by_key(|read| facts.values(*read).len());
        let blame = |position: usize| {
            let first = by_length.partition_point(|read| facts.values(*read).len() <= position);
            by_length.get(first).copied().unwrap_or(*longest)
        };
        let (mut order, lengths) = self.clean(facts, source, blame, report);
        let shared = order.clone();
        let mut clean = Vec::with_capacity(reads.len());
        for read in reads {
            let values = facts.values(*read);
            if source.starts_with(values) {
                clean.push(Clean::Prefix(lengths[values.len()]));
                continue;
            }
            let (own, _) = self.clean(facts, values, |_| *read, report);
            if own.len() > order.len() {
                order.clone_from(&own);
            }
            clean.push(Clean::Own(own));
        }
        if order != shared {
            for clean in &mut clean {
                if let Clean::Prefix(length) = clean {
                    *clean = Clean::Own(shared[..*length].to_vec());
                }
            }
        }
        (order, clean)
    }

    /// The clean elements, and for each length of the raw list the clean length.
    fn clean(
        &mut self,
        facts: &Facts<'_>,
        values: &[i64],
        blame: impl Fn(usize) -> ReadFact,
        report: &mut Report,
    ) -> (Vec<u32>, Vec<usize>) {
        let mut clean = Vec::with_capacity(values.len());
        let mut lengths = vec![0];
        let mut seen: HashSet<i64, foldhash::fast::RandomState> = HashSet::default();
        for (position, value) in values.iter().enumerate() {
            let problem = if !seen.insert(*value) {
                Some(AnomalyClass::DuplicateElements)
            } else {
                self.problem(facts, *value, &mut clean)
            };
            lengths.push(clean.len());
            if let Some(class) = problem
                && self.reported.insert((class, *value))
            {
                let read = blame(position);
                report.add(bad_element(facts, self.key, read.txn, *value, class));
            }
        }
        (clean, lengths)
    }

    fn problem(&self, facts: &Facts<'_>, value: i64, clean: &mut Vec<u32>) -> Option<AnomalyClass> {
        let Some(write) = facts.writer(self.key, value) else {
            return Some(AnomalyClass::GarbageRead);
        };
        if facts.aborted(facts.keys[self.key].writes[write as usize].txn) {
            return Some(AnomalyClass::AbortedRead);
        }
        clean.push(write);
        None
    }
}

/// The anomaly of one element that a read must not hold.
pub(super) fn bad_element(
    facts: &Facts<'_>,
    key: usize,
    reader: Txn,
    value: i64,
    class: AnomalyClass,
) -> Anomaly {
    let name = facts.keys[key].name;
    let id = facts.transaction(reader).id;
    let writer = facts.writer(key, value).map(|write| facts.keys[key].writes[write as usize].txn);
    let mut txns = vec![reader];
    let what = match class {
        AnomalyClass::GarbageRead => {
            format!("T{id} read {value} from key {name}, but no transaction wrote it")
        }
        AnomalyClass::DuplicateElements => format!("T{id} read {value} twice in key {name}"),
        _ => format!("T{id} read {value} from key {name}, written by an aborted transaction"),
    };
    txns.extend(writer.filter(|writer| *writer != reader));
    facts.plain(class, &txns, &what)
}

/// Where one read stands in the order.
fn version(facts: &Facts<'_>, key: usize, read: ReadFact, clean: &Clean, order: &[u32]) -> Version {
    let writes = &facts.keys[key].writes;
    let elements = clean.elements(order);
    let is_own = |write: &&u32| writes[**write as usize].txn == read.txn;
    let own = elements.iter().rev().take_while(is_own).count();
    let external_length = elements.len() - own;
    let external = elements[..external_length].last().copied();
    Version { read, external, external_length, agrees: order.starts_with(elements) }
}

/// The anomaly of two reads that order the same list differently.
fn incompatible(facts: &Facts<'_>, key: usize, readers: [Txn; 2], lists: [&[u32]; 2]) -> Anomaly {
    let KeyFacts { name, writes, .. } = &facts.keys[key];
    let place = lists[0].iter().zip(lists[1]).take_while(|(a, b)| a == b).count();
    let [a, b] = lists.map(|list| list.get(place).map(|write| writes[*write as usize].value));
    let [id_a, id_b] = readers.map(|txn| facts.transaction(txn).id);
    let what = format!(
        "at place {place} (from 0) of list {name}, T{id_a} read {} and T{id_b} read {}",
        a.map_or("nothing more".to_owned(), |value| value.to_string()),
        b.map_or("nothing more".to_owned(), |value| value.to_string()),
    );
    facts.plain(AnomalyClass::IncompatibleOrder, &readers, &what)
}

fn longest_reader(facts: &Facts<'_>, key: usize) -> Txn {
    let reads = facts.keys[key].reads.iter();
    reads.max_by_key(|read| facts.values(**read).len()).map_or(0, |read| read.txn)
}

/// Whether a version ends inside another transaction's appends.
fn is_intermediate(facts: &Facts<'_>, key: usize, version: &Version) -> bool {
    version.external.is_some_and(|write| !facts.keys[key].writes[write as usize].last)
}

fn intermediate_reads(facts: &Facts<'_>, key: usize, versions: &[Version], report: &mut Report) {
    let mut reported = HashSet::new();
    for version in versions.iter().filter(|version| is_intermediate(facts, key, version)) {
        let Some(external) = version.external else { continue };
        if reported.insert(external) {
            let write = facts.keys[key].writes[external as usize];
            report.add(intermediate(facts, key, version.read.txn, write.txn, write.value));
        }
    }
}

/// The anomaly of a read that ends in the middle of another transaction.
pub(super) fn intermediate(
    facts: &Facts<'_>,
    key: usize,
    reader: Txn,
    writer: Txn,
    value: i64,
) -> Anomaly {
    let (reader_id, writer_id) = (facts.transaction(reader).id, facts.transaction(writer).id);
    let what = format!(
        "T{reader_id} read {value} from key {} as the newest, but T{writer_id} wrote that key \
         again after {value}",
        facts.keys[key].name
    );
    facts.plain(AnomalyClass::IntermediateRead, &[reader, writer], &what)
}

fn add_edges(
    facts: &Facts<'_>,
    key: usize,
    order: &[u32],
    versions: &[Version],
    edges: &mut Edges,
) {
    let writes = &facts.keys[key].writes;
    let name = key as u32;
    let txn_of = |write: u32| writes[write as usize].txn;
    for pair in order.windows(2) {
        edges.add(txn_of(pair[0]), WW, name, txn_of(pair[1]));
    }
    let unshown = unshown_writers(facts, key, order);
    if let Some(last) = order.last() {
        unshown.iter().for_each(|txn| edges.add(txn_of(*last), WW, name, *txn));
    }
    let tree = RangeTree::new(edges, &unshown, Toward::Range);
    for version in versions {
        let reader = version.read.txn;
        if let Some(external) = version.external {
            edges.add(txn_of(external), WR, name, reader);
        }
        if !version.agrees {
            continue;
        }
        // An intermediate read is already reported; its cycle with that writer adds nothing.
        let cut = version.external.filter(|_| is_intermediate(facts, key, version)).map(txn_of);
        let mut later = order[version.external_length..].iter().map(|write| txn_of(*write));
        match later.find(|txn| Some(*txn) != cut) {
            Some(next) => edges.add(reader, RW, name, next),
            None => {
                let holes = [Some(reader), cut].map(|txn| place(&unshown, txn?));
                let span = 0..unshown.len();
                edges.add_to_range(reader, (RW, name), &tree, span, holes.into_iter().flatten());
            }
        }
    }
}

/// Where a sorted sequence holds a transaction.
pub(super) fn place(sorted: &[Txn], txn: Txn) -> Option<usize> {
    sorted.binary_search(&txn).ok()
}

/// Committed transactions with an append that no read shows, sorted.
fn unshown_writers(facts: &Facts<'_>, key: usize, order: &[u32]) -> Vec<Txn> {
    let mut shown = vec![false; facts.keys[key].writes.len()];
    order.iter().for_each(|write| shown[*write as usize] = true);
    let writes = facts.keys[key].writes.iter().zip(&shown).filter(|(_, shown)| !**shown);
    let mut txns: Vec<Txn> = writes
        .map(|(write, _)| write.txn)
        .filter(|txn| facts.transaction(*txn).status == Status::Committed)
        .collect();
    txns.sort_unstable();
    txns.dedup();
    txns
}
