//! Elle's histories: Jepsen operations in EDN, one map a line.
//!
//! ```text
//! {:index 0, :type :invoke, :process 0, :f :txn, :value [[:append 7 1] [:r 7 nil]], :time 10}
//! {:index 1, :type :ok, :process 0, :f :txn, :value [[:append 7 1] [:r 7 [1]]], :time 40}
//! ```
//!
//! List histories suit Elle's `list-append` checker, register histories (`:w` and `:r`) its
//! `rw-register` checker. What the format cannot say:
//! - scans are written as reads; Elle takes their order for list order, so give it histories with
//!   scans only if the entries were recorded in insertion order;
//! - a process ends with an unknown outcome (`:info`), as in Jepsen: what it did afterwards is
//!   written under a process number that is not in use;
//! - ids are not written: reading numbers transactions by invocation.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::io::Write;

use super::edn::{self, Node, Value};
use crate::Error;
use crate::history::{History, Op, Status, Transaction};

/// Writes a history as Elle reads it.
pub fn write(history: &History, mut out: impl Write) -> Result<(), Error> {
    let mut writer = Writer { history, index: 0, out: &mut out };
    let mut open: HashMap<u64, usize> = HashMap::new();
    let processes = processes(history);
    for event in events(history) {
        let (txn, process) = (&history.transactions[event.txn], processes[event.txn]);
        if event.completes {
            // It may have been written early, see below.
            if open.get(&process) == Some(&event.txn) {
                open.remove(&process);
                writer.completion(txn, process)?;
            }
            continue;
        }
        // One process: the earlier transaction's completion goes first at equal times.
        if let Some(before) = open.insert(process, event.txn) {
            writer.completion(&history.transactions[before], process)?;
        }
        writer.operation("invoke", txn.invoked_ns, process, txn, false)?;
    }
    Ok(())
}

struct Event {
    time_ns: u64,
    completes: bool,
    txn: usize,
}

/// Invocations and completions in time order; at equal times invocations first, since they
/// overlap with what completes then.
fn events(history: &History) -> Vec<Event> {
    let mut events = Vec::with_capacity(2 * history.transactions.len());
    for (txn, times) in history.transactions.iter().enumerate() {
        events.push(Event { time_ns: times.invoked_ns, completes: false, txn });
        let completion = times.completed_ns.map(|time_ns| time_ns.max(times.invoked_ns));
        events.extend(completion.map(|time_ns| Event { time_ns, completes: true, txn }));
    }
    events.sort_by_key(|event| (event.time_ns, event.completes));
    events
}

/// The process number that each transaction is written under.
fn processes(history: &History) -> Vec<u64> {
    let used = history.transactions.iter().map(|txn| txn.process);
    let mut fresh = used.max().map_or(0, |process| process + 1);
    let mut order: Vec<usize> = (0..history.transactions.len()).collect();
    order.sort_by_key(|txn| history.transactions[*txn].invoked_ns);
    let mut current: HashMap<u64, u64> = HashMap::new();
    let mut ended: HashSet<u64> = HashSet::new();
    let mut processes = vec![0; history.transactions.len()];
    for position in order {
        let txn = &history.transactions[position];
        let process = current.entry(txn.process).or_insert(txn.process);
        if ended.contains(process) {
            *process = fresh;
            fresh += 1;
        }
        if txn.status == Status::Unknown || txn.completed_ns.is_none() {
            ended.insert(*process);
        }
        processes[position] = *process;
    }
    processes
}

struct Writer<'h, W: Write> {
    history: &'h History,
    index: usize,
    out: W,
}

impl<W: Write> Writer<'_, W> {
    fn completion(&mut self, txn: &Transaction, process: u64) -> Result<(), Error> {
        let kind = match txn.status {
            Status::Committed => "ok",
            Status::Aborted => "fail",
            Status::Unknown => "info",
        };
        self.operation(kind, txn.completed_ns.unwrap_or(txn.invoked_ns), process, txn, true)
    }

    fn operation(
        &mut self,
        kind: &str,
        time_ns: u64,
        process: u64,
        txn: &Transaction,
        results: bool,
    ) -> Result<(), Error> {
        debug_assert!(self.index < 2 * self.history.transactions.len());
        let index = self.index;
        self.index += 1;
        write!(self.out, "{{:index {index}, :type :{kind}, :process {process}, :f :txn, :value [")?;
        for (place, op) in txn.ops.iter().enumerate() {
            let blank = if place == 0 { "" } else { " " };
            write!(self.out, "{blank}")?;
            self.micro_operation(op, results)?;
        }
        writeln!(self.out, "], :time {time_ns}}}")?;
        Ok(())
    }

    fn micro_operation(&mut self, op: &Op, results: bool) -> Result<(), Error> {
        match op {
            Op::Append { key, value } => write!(self.out, "[:append {key} {value}]")?,
            Op::Write { key, value } => write!(self.out, "[:w {key} {value}]")?,
            Op::Read { key, values } | Op::Scan { key, values } if results => {
                let values: Vec<String> = values.iter().map(i64::to_string).collect();
                write!(self.out, "[:r {key} [{}]]", values.join(" "))?;
            }
            Op::ReadRegister { key, value: Some(value) } if results => {
                write!(self.out, "[:r {key} {value}]")?;
            }
            op => write!(self.out, "[:r {} nil]", op.key())?,
        }
        Ok(())
    }
}

/// Reads a history that [`write()`] or Jepsen wrote: maps one after another, or in one vector.
///
/// Operations with a process that is no number (the nemesis) and without `:value` are skipped.
/// Keys and values must be integers. An operation without `:time` gets its place as time, in
/// nanoseconds. A transaction without completion is unknown, one without invocation is taken as
/// invoked just when it completed.
pub fn read(text: &str) -> Result<History, Error> {
    let mut nodes = edn::read(text)?;
    if let [Node { value: Value::Sequence(inner), .. }] = nodes.as_mut_slice() {
        nodes = std::mem::take(inner);
    }
    let registers = register_keys(&nodes)?;
    let mut transactions: Vec<Transaction> = Vec::new();
    let mut open: BTreeMap<u64, usize> = BTreeMap::new();
    for (place, node) in (0..).zip(&nodes) {
        let Some((process, value)) = operation(node)? else { continue };
        let time_ns = match node.get("time") {
            Some(time) => unsigned(time)?,
            None => place,
        };
        let status = match node.get("type").map(|kind| &kind.value) {
            Some(Value::Keyword(kind)) if kind == "invoke" => None,
            Some(Value::Keyword(kind)) if kind == "ok" => Some(Status::Committed),
            Some(Value::Keyword(kind)) if kind == "fail" => Some(Status::Aborted),
            Some(Value::Keyword(kind)) if kind == "info" => Some(Status::Unknown),
            _ => return Err(node.error(":type must be :invoke, :ok, :fail or :info")),
        };
        let ops = operations(value, &registers)?;
        let fresh = transactions.len();
        let position = match status {
            None => {
                open.insert(process, fresh);
                fresh
            }
            Some(_) => open.remove(&process).unwrap_or(fresh),
        };
        if position == fresh {
            let (id, invoked_ns) = (fresh as u64, time_ns);
            let unknown = Status::Unknown;
            transactions.push(Transaction {
                id,
                process,
                invoked_ns,
                completed_ns: None,
                status: unknown,
                ops: Vec::new(),
            });
        }
        let txn = &mut transactions[position];
        txn.ops = ops;
        if let Some(status) = status {
            (txn.status, txn.completed_ns) = (status, Some(time_ns));
        }
    }
    Ok(History { transactions })
}

/// Process and value of a client's operation.
fn operation(node: &Node) -> Result<Option<(u64, &Node)>, Error> {
    if !matches!(node.value, Value::Map(_)) {
        return Err(node.error("an operation (a map) was expected"));
    }
    let process = match node.get("process") {
        None => 0,
        Some(Node { value: Value::Integer(_), .. }) => {
            unsigned(node.get("process").unwrap_or(node))?
        }
        Some(_) => return Ok(None),
    };
    let value = node.get("value").filter(|value| value.value != Value::Nil);
    Ok(value.map(|value| (process, value)))
}

/// Keys that are written, or read as a single value, somewhere.
fn register_keys(nodes: &[Node]) -> Result<HashSet<u64>, Error> {
    let mut registers = HashSet::new();
    for node in nodes {
        let Some((_, value)) = operation(node)? else { continue };
        for (function, key, argument) in micro_operations(value)? {
            if function == "w" || (function == "r" && matches!(argument.value, Value::Integer(_))) {
                registers.insert(key);
            }
        }
    }
    Ok(registers)
}

/// The `[function key argument]` triples of an operation's value.
fn micro_operations(value: &Node) -> Result<Vec<(&str, u64, &Node)>, Error> {
    let Value::Sequence(parts) = &value.value else {
        return Err(value.error("a vector of micro-operations was expected"));
    };
    let triple = |node: &Node| node.error("[:append|:r|:w key value] was expected");
    let mut triples = Vec::with_capacity(parts.len());
    for part in parts {
        let Value::Sequence(triple_parts) = &part.value else { return Err(triple(part)) };
        let [function, key, argument] = triple_parts.as_slice() else { return Err(triple(part)) };
        let Value::Keyword(function) = &function.value else { return Err(triple(part)) };
        triples.push((function.as_str(), unsigned(key)?, argument));
    }
    Ok(triples)
}

fn operations(value: &Node, registers: &HashSet<u64>) -> Result<Vec<Op>, Error> {
    let mut ops = Vec::new();
    for (function, key, argument) in micro_operations(value)? {
        ops.push(match (function, &argument.value) {
            ("append", _) => Op::Append { key, value: signed(argument)? },
            ("w", _) => Op::Write { key, value: signed(argument)? },
            ("r", Value::Nil) if registers.contains(&key) => Op::ReadRegister { key, value: None },
            ("r", Value::Nil) => Op::Read { key, values: Vec::new() },
            ("r", Value::Integer(_)) => Op::ReadRegister { key, value: Some(signed(argument)?) },
            ("r", Value::Sequence(values)) => {
                let values: Result<Vec<i64>, Error> = values.iter().map(signed).collect();
                Op::Read { key, values: values? }
            }
            _ => return Err(argument.error(format!("':{function}' with this argument is unknown"))),
        });
    }
    Ok(ops)
}

fn signed(node: &Node) -> Result<i64, Error> {
    match node.value {
        Value::Integer(number) => {
            i64::try_from(number).map_err(|_| node.error("a 64-bit integer was expected"))
        }
        _ => Err(node.error("an integer was expected")),
    }
}

fn unsigned(node: &Node) -> Result<u64, Error> {
    match node.value {
        Value::Integer(number) => {
            u64::try_from(number).map_err(|_| node.error("a non-negative integer was expected"))
        }
        _ => Err(node.error("a non-negative integer was expected")),
    }
}

#[cfg(test)]
mod tests;
