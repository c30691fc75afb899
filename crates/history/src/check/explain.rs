//! The words of a report: what an engineer reads first when a test fails.

use std::fmt::Write;

use crate::history::{Op, Status};
use crate::report::{AnomalyClass, Dependency, Step};

use super::cycles::Link;
use super::facts::{Facts, Txn};
use super::graph::{NO_KEY, RW, WR, WW};

/// Elements of a long list that are printed, the newest.
const ELEMENTS_MAX: usize = 12;

/// Operations of a long transaction that are printed.
const OPS_MAX: usize = 24;

/// Transactions of a long cycle that are printed.
const TRANSACTIONS_MAX: usize = 12;

/// The text of an anomaly without a cycle.
pub(super) fn plain(facts: &Facts<'_>, class: AnomalyClass, txns: &[Txn], what: &str) -> String {
    let mut text = format!("{class}: {what}\n");
    for txn in txns {
        let _ = writeln!(text, "  {}", transaction(facts, *txn));
    }
    text
}

/// The text of a cycle: the circle on one line, the transactions, the reasons.
pub(super) fn cycle(
    facts: &Facts<'_>,
    class: AnomalyClass,
    links: &[Link],
    steps: &[Step],
    tangled: usize,
) -> String {
    let mut text = format!("{class}: T{}", steps[0].from);
    for step in steps {
        let key = step.key.map_or(String::new(), |key| format!("({key})"));
        let _ = write!(text, " -{}{key}-> T{}", step.dependency.short(), step.to);
    }
    text.push('\n');
    for link in links.iter().take(TRANSACTIONS_MAX) {
        let _ = writeln!(text, "  {}", transaction(facts, link.from));
    }
    for step in steps.iter().take(TRANSACTIONS_MAX) {
        let _ = writeln!(text, "  T{} must precede T{}: {}", step.from, step.to, step.why);
    }
    if links.len() > TRANSACTIONS_MAX {
        let _ = writeln!(text, "  ... {} more", links.len() - TRANSACTIONS_MAX);
    }
    let _ = write!(text, "  so no serial order ");
    let timed = steps.iter().any(|step| step.dependency == Dependency::RealTime);
    text.push_str(if timed { "that respects real time explains this" } else { "explains this" });
    if tangled > steps.len() {
        let _ =
            write!(text, " ({tangled} transactions are tangled here; the smallest cycle found)");
    }
    text.push('\n');
    text
}

/// Why one transaction must precede another.
pub(super) fn link(facts: &Facts<'_>, link: &Link) -> String {
    let [from, to] = [link.from, link.to].map(|txn| facts.transaction(txn));
    let key = facts.keys.get(link.key as usize).map_or(0, |key| key.name);
    let written = |txn: Txn| written(facts, txn, key);
    match link.kind {
        WW => {
            let first = written(link.from).last().copied().unwrap_or_default();
            let second = written(link.to).first().copied().unwrap_or_default();
            format!("T{} wrote {first} to key {key} before T{} wrote {second}", from.id, to.id)
        }
        WR => {
            let own = written(link.from);
            let seen = seen_by(facts, link.to, key);
            let value = own.iter().rev().find(|value| seen.contains(value)).or(own.last());
            let value = value.copied().unwrap_or_default();
            format!("T{} read {value} from key {key}, which T{} wrote", to.id, from.id)
        }
        RW => format!(
            "T{} read key {key} without {}, which T{} wrote",
            from.id,
            missed(facts, link, key),
            to.id
        ),
        _ if link.key != NO_KEY => version_time(facts, link, key),
        _ => format!(
            "T{} completed at {} ns, before T{} was invoked at {} ns",
            from.id,
            from.completed_ns.unwrap_or_default(),
            to.id,
            to.invoked_ns
        ),
    }
}

/// Why a register's version is the later one, by time.
fn version_time(facts: &Facts<'_>, link: &Link, key: u64) -> String {
    let [from, to] = [link.from, link.to].map(|txn| facts.transaction(txn));
    let reads = &facts.keys[link.key as usize].reads;
    let readers = reads.iter().map(|read| read.txn).chain([link.to]);
    let own = written(facts, link.to, key).last().copied();
    let current = readers
        .filter(|txn| {
            *txn == link.to || own.is_some_and(|own| seen_by(facts, *txn, key).contains(&own))
        })
        .max_by_key(|txn| facts.transaction(*txn).invoked_ns)
        .map_or(to, |txn| facts.transaction(txn));
    format!(
        "the version of key {key} that T{} wrote or read was in place before T{} was invoked at {} \
         ns, which found or made the version {} of T{}",
        from.id,
        current.id,
        current.invoked_ns,
        own.unwrap_or_default(),
        to.id
    )
}

fn written(facts: &Facts<'_>, txn: Txn, key: u64) -> Vec<i64> {
    let ops = facts.transaction(txn).ops.iter().filter(|op| op.key() == key);
    ops.filter_map(Op::written).collect()
}

/// All that a transaction ever saw of a key.
fn seen_by(facts: &Facts<'_>, txn: Txn, key: u64) -> Vec<i64> {
    let mut seen = Vec::new();
    for op in facts.transaction(txn).ops.iter().filter(|op| op.key() == key) {
        match op {
            Op::Read { values, .. } | Op::Scan { values, .. } => seen.extend(values),
            Op::ReadRegister { value, .. } => seen.extend(value),
            Op::Append { .. } | Op::Write { .. } => {}
        }
    }
    seen
}

/// A value of `link.to` that some read of `link.from` lacks.
fn missed(facts: &Facts<'_>, link: &Link, key: u64) -> i64 {
    let own = written(facts, link.to, key);
    let reads = facts.transaction(link.from).ops.iter().filter(|op| op.key() == key);
    for op in reads {
        let lacking = match op {
            Op::Read { values, .. } | Op::Scan { values, .. } => {
                own.iter().find(|value| !values.contains(value))
            }
            Op::ReadRegister { value, .. } => own.iter().find(|own| Some(**own) != *value),
            Op::Append { .. } | Op::Write { .. } => None,
        };
        if let Some(value) = lacking {
            return *value;
        }
    }
    own.first().copied().unwrap_or_default()
}

/// A transaction on one line.
fn transaction(facts: &Facts<'_>, txn: Txn) -> String {
    let txn = facts.transaction(txn);
    let completed = txn.completed_ns.map_or("never".to_owned(), |time| format!("{time} ns"));
    let status = match txn.status {
        Status::Committed => "committed",
        Status::Aborted => "ABORTED",
        Status::Unknown => "outcome unknown",
    };
    let mut text = format!(
        "T{} = process {}, {} to {completed}, {status}:",
        txn.id, txn.process, txn.invoked_ns
    );
    for op in txn.ops.iter().take(OPS_MAX) {
        let _ = write!(text, " {};", operation(op));
    }
    if txn.ops.len() > OPS_MAX {
        let _ = write!(text, " ... {} more", txn.ops.len() - OPS_MAX);
    }
    text
}

fn operation(op: &Op) -> String {
    match op {
        Op::Append { key, value } => format!("append({key}, {value})"),
        Op::Read { key, values } => format!("read({key}) = {}", elements(values)),
        Op::Scan { key, values } => format!("scan({key}) = {}", elements(values)),
        Op::Write { key, value } => format!("write({key}, {value})"),
        Op::ReadRegister { key, value: Some(value) } => format!("read({key}) = {value}"),
        Op::ReadRegister { key, value: None } => format!("read({key}) = nothing"),
    }
}

fn elements(values: &[i64]) -> String {
    let hidden = values.len().saturating_sub(ELEMENTS_MAX);
    let shown: Vec<String> = values[hidden..].iter().map(i64::to_string).collect();
    match hidden {
        0 => format!("[{}]", shown.join(" ")),
        _ => format!("[{hidden} more, {}]", shown.join(" ")),
    }
}
