//! dbcop's JSON, for register histories.
//!
//! The file that `dbcop verify --input-dir` reads: a wrapper (`params`, `info`, `start`, `end`)
//! around `data`, an array of sessions, each an array of
//! `{"events": [{"Write": {"variable": 0, "version": 1}}, ...], "committed": true}`.
//! A session is one process's transactions in order; dbcop knows no real time, so it checks
//! serializability and weaker levels, not strictness.
//!
//! What the format cannot say: lists, negative values, and unknown outcomes. An unknown
//! transaction is written as committed, in a session of its own (it may take effect at any time),
//! if a committed one read a value of its, else as not committed. Reads of transactions that did
//! not commit are left out: dbcop would check them.
//!
//! Source       rnbguy/dbcop, docs/history-format.md.

use std::collections::{BTreeMap, HashSet};
use std::io::Write;

use serde::Serialize;

use crate::Error;
use crate::history::{History, Op, Status, Transaction};

#[derive(Serialize)]
struct File {
    params: Params,
    info: &'static str,
    start: &'static str,
    end: &'static str,
    data: Vec<Vec<Unit>>,
}

#[derive(Serialize)]
struct Params {
    id: u64,
    n_node: usize,
    n_variable: usize,
    n_transaction: usize,
    n_event: usize,
}

/// One transaction of a session.
#[derive(Serialize)]
struct Unit {
    events: Vec<Event>,
    committed: bool,
}

#[derive(Serialize)]
enum Event {
    Read { variable: u64, version: Option<u64> },
    Write { variable: u64, version: u64 },
}

/// dbcop wants dates; the history's times are intervals on a clock without one.
const NO_DATE: &str = "1970-01-01T00:00:00.000000000+00:00";

/// Writes a register history as dbcop reads it.
///
/// # Errors
/// [`Error::NotExpressible`] for list operations and negative values.
pub fn write(history: &History, mut out: impl Write) -> Result<(), Error> {
    let data = sessions(history)?;
    let keys: HashSet<u64> =
        history.transactions.iter().flat_map(|txn| &txn.ops).map(Op::key).collect();
    let lengths = data.iter().map(Vec::len);
    let events = data.iter().flatten().map(|txn| txn.events.len());
    let params = Params {
        id: 0,
        n_node: data.len(),
        n_variable: keys.len(),
        n_transaction: lengths.max().unwrap_or(0),
        n_event: events.max().unwrap_or(0),
    };
    let file = File { params, info: "hotrow", start: NO_DATE, end: NO_DATE, data };
    serde_json::to_writer(&mut out, &file).map_err(std::io::Error::from)?;
    out.write_all(b"\n")?;
    Ok(())
}

fn sessions(history: &History) -> Result<Vec<Vec<Unit>>, Error> {
    let observed = observed_values(history);
    let mut order: Vec<&Transaction> = history.transactions.iter().collect();
    order.sort_by_key(|txn| (txn.invoked_ns, txn.completed_ns));
    let mut by_process: BTreeMap<u64, Vec<Unit>> = BTreeMap::new();
    let mut alone = Vec::new();
    for txn in order {
        let seen =
            |op: &Op| op.written().is_some_and(|value| observed.contains(&(op.key(), value)));
        let committed = match txn.status {
            Status::Committed => true,
            Status::Aborted => false,
            Status::Unknown => txn.ops.iter().any(seen),
        };
        let unit = Unit { events: events(txn)?, committed };
        match txn.status {
            Status::Unknown => alone.push(vec![unit]),
            _ => by_process.entry(txn.process).or_default().push(unit),
        }
    }
    Ok(by_process.into_values().chain(alone).collect())
}

fn observed_values(history: &History) -> HashSet<(u64, i64)> {
    let committed = history.transactions.iter().filter(|txn| txn.status == Status::Committed);
    let reads = committed.flat_map(|txn| &txn.ops).filter_map(|op| match *op {
        Op::ReadRegister { key, value: Some(value) } => Some((key, value)),
        _ => None,
    });
    reads.collect()
}

fn events(txn: &Transaction) -> Result<Vec<Event>, Error> {
    let refuse = |what: &str| Error::NotExpressible {
        transaction: txn.id,
        format: "dbcop",
        what: what.to_owned(),
    };
    let version = |value: i64| u64::try_from(value).map_err(|_| refuse("negative values"));
    let mut events = Vec::with_capacity(txn.ops.len());
    for op in &txn.ops {
        match *op {
            Op::Write { key: variable, value } => {
                events.push(Event::Write { variable, version: version(value)? });
            }
            Op::ReadRegister { .. } if txn.status != Status::Committed => {}
            Op::ReadRegister { key: variable, value } => {
                events.push(Event::Read { variable, version: value.map(version).transpose()? });
            }
            _ => return Err(refuse("lists and scans")),
        }
    }
    Ok(events)
}

#[cfg(test)]
mod tests;
