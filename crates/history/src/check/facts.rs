//! A history sorted by key, with dense numbers instead of ids and hash lookups of writers.

use std::collections::{HashMap, HashSet};

use crate::history::{History, Op, Status, Transaction};
use crate::report::{Anomaly, AnomalyClass, Report};

use super::explain;

/// Position of a transaction in the history.
pub(super) type Txn = u32;

/// How a key is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum KeyKind {
    /// Appended to, read whole and in order.
    List,
    /// Appended to, scanned; also read in order perhaps, then the order is ignored.
    Index,
    /// Overwritten.
    Register,
    /// Used in two ways: reported, not checked.
    Mixed,
}

/// One write of a key.
#[derive(Debug, Clone, Copy)]
pub(super) struct WriteFact {
    pub txn: Txn,
    pub value: i64,
    /// Whether it is the transaction's last write of the key.
    pub last: bool,
}

/// One read of a key by a committed transaction.
#[derive(Debug, Clone, Copy)]
pub(super) struct ReadFact {
    pub txn: Txn,
    /// Position in the transaction's operations.
    pub op: u32,
}

/// All that happened to one key.
#[derive(Debug)]
pub(super) struct KeyFacts {
    /// Its name in the history.
    pub name: u64,
    pub kind: KeyKind,
    pub writes: Vec<WriteFact>,
    pub reads: Vec<ReadFact>,
}

/// The history by key.
pub(super) struct Facts<'h> {
    pub history: &'h History,
    pub keys: Vec<KeyFacts>,
    /// Per transaction: whether it takes part (committed, or unknown and observed).
    pub live: Vec<bool>,
    /// (key number, value) -> position in that key's `writes`.
    writers: HashMap<(u32, i64), u32, foldhash::fast::RandomState>,
}

impl<'h> Facts<'h> {
    /// Reads the history once; reports malformed parts and values written twice.
    pub fn gather(history: &'h History, report: &mut Report) -> Facts<'h> {
        let live = history.transactions.iter().map(|txn| txn.status == Status::Committed).collect();
        let writers = HashMap::default();
        let mut facts = Facts { history, keys: Vec::new(), live, writers };
        let mut numbers: HashMap<u64, u32, foldhash::fast::RandomState> = HashMap::default();
        for (number, txn) in (0..).zip(&history.transactions) {
            facts.gather_transaction(number, txn, &mut numbers, report);
        }
        facts.report_malformed(report);
        facts
    }

    fn gather_transaction(
        &mut self,
        number: Txn,
        txn: &Transaction,
        numbers: &mut HashMap<u64, u32, foldhash::fast::RandomState>,
        report: &mut Report,
    ) {
        for (position, op) in (0..).zip(&txn.ops) {
            let fresh = self.keys.len() as u32;
            let key = *numbers.entry(op.key()).or_insert(fresh);
            if key == fresh {
                let (name, kind) = (op.key(), kind_of(op).unwrap_or(KeyKind::List));
                self.keys.push(KeyFacts { name, kind, writes: Vec::new(), reads: Vec::new() });
            }
            let facts = &mut self.keys[key as usize];
            facts.kind = joined(facts.kind, kind_of(op));
            match op.written() {
                Some(value) => self.gather_write(number, key, value, report),
                None if txn.status == Status::Committed => {
                    facts.reads.push(ReadFact { txn: number, op: position });
                }
                None => {}
            }
        }
    }

    fn gather_write(&mut self, txn: Txn, key: u32, value: i64, report: &mut Report) {
        let facts = &mut self.keys[key as usize];
        let position = facts.writes.len() as u32;
        // Transactions are gathered one after another: an earlier write of this one is the newest.
        if let Some(previous) = facts.writes.last_mut()
            && previous.txn == txn
        {
            previous.last = false;
        }
        facts.writes.push(WriteFact { txn, value, last: true });
        let name = facts.name;
        let Some(first) = self.writers.insert((key, value), position) else { return };
        self.writers.insert((key, value), first);
        let first = self.keys[key as usize].writes[first as usize].txn;
        let what = format!("both wrote {value} to key {name}, so readers cannot tell them apart");
        report.add(self.plain(AnomalyClass::DuplicateElements, &[first, txn], &what));
    }

    fn report_malformed(&self, report: &mut Report) {
        for key in self.keys.iter().filter(|key| key.kind == KeyKind::Mixed) {
            let what = format!("key {} is used as a list and as a register: not checked", key.name);
            report.add(self.plain(AnomalyClass::MalformedHistory, &[], &what));
        }
        let mut ids = HashSet::new();
        for (number, txn) in (0..).zip(&self.history.transactions) {
            if txn.completed_ns.is_some_and(|completed| completed < txn.invoked_ns) {
                let what = "completed before it was invoked";
                report.add(self.plain(AnomalyClass::MalformedHistory, &[number], what));
            }
            if !ids.insert(txn.id) {
                let what = format!("id {} is used twice", txn.id);
                report.add(self.plain(AnomalyClass::MalformedHistory, &[number], &what));
            }
        }
    }

    /// The transaction at this position of the history.
    pub fn transaction(&self, txn: Txn) -> &'h Transaction {
        &self.history.transactions[txn as usize]
    }

    /// Who wrote `value` to the key; position in its `writes`.
    pub fn writer(&self, key: usize, value: i64) -> Option<u32> {
        self.writers.get(&(key as u32, value)).copied()
    }

    /// Whether a write counts: not aborted.
    pub fn aborted(&self, txn: Txn) -> bool {
        self.transaction(txn).status == Status::Aborted
    }

    /// When a transaction's effects were surely in place; an unknown one may commit at any time.
    pub fn known_completion(&self, txn: Txn) -> Option<u64> {
        let txn = self.transaction(txn);
        txn.completed_ns.filter(|_| txn.status == Status::Committed)
    }

    /// The elements that a list read or scan returned.
    pub fn values(&self, read: ReadFact) -> &'h [i64] {
        match &self.transaction(read.txn).ops[read.op as usize] {
            Op::Read { values, .. } | Op::Scan { values, .. } => values,
            _ => &[],
        }
    }

    /// An anomaly that needs no cycle.
    pub fn plain(&self, class: AnomalyClass, txns: &[Txn], what: &str) -> Anomaly {
        let transactions = txns.iter().map(|txn| self.transaction(*txn).id).collect();
        let explanation = explain::plain(self, class, txns, what);
        Anomaly { class, transactions, cycle: Vec::new(), explanation }
    }

    /// Says how many transactions were left out because nobody knows their outcome.
    pub fn note_unknown(&self, report: &mut Report) {
        let txns = self.history.transactions.iter().zip(&self.live);
        let unseen = txns.filter(|(txn, live)| txn.status == Status::Unknown && !**live).count();
        if unseen > 0 {
            report.undecided.push(format!(
                "{unseen} transactions of unknown outcome were never observed: taken as absent"
            ));
        }
    }
}

/// What an operation says of its key; `None` for appends, which lists and indexes share.
fn kind_of(op: &Op) -> Option<KeyKind> {
    match op {
        Op::Append { .. } => None,
        Op::Read { .. } => Some(KeyKind::List),
        Op::Scan { .. } => Some(KeyKind::Index),
        Op::Write { .. } | Op::ReadRegister { .. } => Some(KeyKind::Register),
    }
}

fn joined(known: KeyKind, seen: Option<KeyKind>) -> KeyKind {
    match (known, seen) {
        (KeyKind::Register, None | Some(KeyKind::List | KeyKind::Index)) => KeyKind::Mixed,
        (KeyKind::List | KeyKind::Index, Some(KeyKind::Register)) => KeyKind::Mixed,
        (KeyKind::List, Some(KeyKind::Index)) => KeyKind::Index,
        (known, _) => known,
    }
}
