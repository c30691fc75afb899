//! Internal consistency: what a transaction must see of its own doings.
//!
//! A list read must begin with what the transaction saw of that list before, and hold its own
//! appends since then, in order. Foreign elements in between are not judged here: they show up as
//! cycles. An index must keep what was seen and hold what was added. A register must not change
//! between two reads of one transaction except by its own write.

use std::collections::{HashMap, HashSet};

use crate::history::{Op, Status, Transaction};
use crate::report::{AnomalyClass, Report};

use super::facts::Facts;

/// What a transaction knows of one key so far.
#[derive(Default)]
struct Known<'h> {
    /// The elements of the last read, if there was one.
    seen: &'h [i64],
    /// Its own appends since then.
    appended: Vec<i64>,
    /// What the register must hold: unknown, or this.
    register: Option<Option<i64>>,
}

/// Reports every committed transaction that contradicts itself.
pub(super) fn check(facts: &Facts<'_>, report: &mut Report) {
    let mut known = HashMap::new();
    for (number, txn) in (0..).zip(&facts.history.transactions) {
        if txn.status != Status::Committed || txn.ops.len() < 2 {
            continue;
        }
        known.clear();
        if let Some(what) = contradiction(txn, &mut known) {
            report.add(facts.plain(AnomalyClass::InternalInconsistency, &[number], &what));
        }
    }
}

fn contradiction<'h>(txn: &'h Transaction, known: &mut HashMap<u64, Known<'h>>) -> Option<String> {
    for op in &txn.ops {
        let known = known.entry(op.key()).or_default();
        match op {
            Op::Append { value, .. } => known.appended.push(*value),
            Op::Write { value, .. } => known.register = Some(Some(*value)),
            Op::Read { key, values } => {
                if !(values.starts_with(known.seen)
                    && in_order(&known.appended, &values[known.seen.len()..]))
                {
                    let (seen, own) = (known.seen, &known.appended);
                    return Some(format!(
                        "read list {key} as {values:?}, but had seen {seen:?} and appended {own:?}"
                    ));
                }
                known.seen = values;
                known.appended.clear();
            }
            Op::Scan { key, values } => {
                let found: HashSet<i64> = values.iter().copied().collect();
                let mut expected = known.seen.iter().chain(&known.appended);
                if let Some(missing) = expected.find(|value| !found.contains(value)) {
                    return Some(format!(
                        "scanned index {key} without {missing}, which it had seen or added before"
                    ));
                }
                known.seen = values;
            }
            Op::ReadRegister { key, value } => {
                if let Some(expected) = known.register.replace(*value)
                    && expected != *value
                {
                    return Some(format!(
                        "read register {key} as {value:?} where {expected:?} was expected from its \
                         own earlier operations"
                    ));
                }
            }
        }
    }
    None
}

/// Whether `wanted` is a subsequence of `values`.
fn in_order(wanted: &[i64], values: &[i64]) -> bool {
    let mut values = values.iter();
    wanted.iter().all(|wanted| values.any(|value| value == wanted))
}
