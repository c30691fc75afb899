//! Recorded histories: what every client asked, saw, and when.
//!
//! Role         plain data; filled by whoever ran the transactions, read by the checker and the
//!              format writers.
//! Invariants   times are nanoseconds on one clock for the whole history; a process runs one
//!              transaction at a time. The checker reports what breaks these, it does not panic.

use std::io::{BufRead, Write};

use serde::{Deserialize, Serialize};

use crate::Error;

/// How a transaction ended, as far as its client knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// The client was told that it committed.
    Committed,
    /// The client was told that it had no effect.
    Aborted,
    /// The client cannot know (connection lost, crash): it may commit now, later, or never.
    Unknown,
}

/// One operation of a transaction, with what it returned.
///
/// A key is used in one way throughout a history: as a list (`Append`, `Read`), as an index
/// (`Append`, `Scan`) or as a register (`Write`, `ReadRegister`). Every value is written to a key
/// at most once in the whole history, aborted attempts included.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(tag = "op", rename_all = "snake_case")]
pub enum Op {
    /// Appends `value` to the list, or adds the entry `value` to the index.
    Append {
        /// List or index.
        key: u64,
        /// Unique in that list or index.
        value: i64,
    },
    /// Reads a whole list, elements in list order.
    Read {
        /// List.
        key: u64,
        /// Its elements, oldest first.
        values: Vec<i64>,
    },
    /// Predicate read: reads all entries of an index, in whatever order (a scan by key, say).
    /// Anomalies that rest on it are phantoms.
    Scan {
        /// Index.
        key: u64,
        /// The entries found; the order means nothing.
        values: Vec<i64>,
    },
    /// Overwrites a register.
    Write {
        /// Register.
        key: u64,
        /// Unique in that register.
        value: i64,
    },
    /// Reads a register.
    ReadRegister {
        /// Register.
        key: u64,
        /// What it held; `None` if it was never written.
        value: Option<i64>,
    },
}

impl Op {
    /// `Append { key, value }`.
    pub fn append(key: u64, value: i64) -> Op {
        Op::Append { key, value }
    }

    /// `Read { key, values }`.
    pub fn read(key: u64, values: impl Into<Vec<i64>>) -> Op {
        Op::Read { key, values: values.into() }
    }

    /// `Scan { key, values }`.
    pub fn scan(key: u64, values: impl Into<Vec<i64>>) -> Op {
        Op::Scan { key, values: values.into() }
    }

    /// `Write { key, value }`.
    pub fn write(key: u64, value: i64) -> Op {
        Op::Write { key, value }
    }

    /// `ReadRegister { key, value }`.
    pub fn read_register(key: u64, value: impl Into<Option<i64>>) -> Op {
        Op::ReadRegister { key, value: value.into() }
    }

    /// The list, index or register that it touches.
    pub fn key(&self) -> u64 {
        match *self {
            Op::Append { key, .. }
            | Op::Read { key, .. }
            | Op::Scan { key, .. }
            | Op::Write { key, .. }
            | Op::ReadRegister { key, .. } => key,
        }
    }

    /// The value it writes, if it writes.
    pub fn written(&self) -> Option<i64> {
        match *self {
            Op::Append { value, .. } | Op::Write { value, .. } => Some(value),
            _ => None,
        }
    }
}

/// One transaction as its client saw it.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Transaction {
    /// Its name in reports; unique in the history.
    pub id: u64,
    /// The client that ran it; a client runs one transaction at a time.
    pub process: u64,
    /// When the client sent it, or began it.
    pub invoked_ns: u64,
    /// When the client had the answer; `None` if none ever came.
    pub completed_ns: Option<u64>,
    /// How it ended.
    pub status: Status,
    /// Its operations in program order. Reads count only if the transaction committed.
    pub ops: Vec<Op>,
}

impl Transaction {
    /// A transaction that committed between the two times.
    pub fn committed(
        id: u64,
        process: u64,
        invoked_ns: u64,
        completed_ns: u64,
        ops: Vec<Op>,
    ) -> Transaction {
        let completed_ns = Some(completed_ns);
        Transaction { id, process, invoked_ns, completed_ns, status: Status::Committed, ops }
    }

    /// The same transaction with another ending.
    pub fn with_status(mut self, status: Status) -> Transaction {
        self.status = status;
        self
    }
}

/// All transactions of one run, in any order.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct History {
    /// The transactions.
    pub transactions: Vec<Transaction>,
}

impl History {
    /// A history of these transactions.
    pub fn new(transactions: Vec<Transaction>) -> History {
        History { transactions }
    }

    /// Joins what several clients recorded: sorts by invocation time and numbers the
    /// transactions anew from 0.
    pub fn merge(parts: impl IntoIterator<Item = Vec<Transaction>>) -> History {
        let mut transactions: Vec<Transaction> = parts.into_iter().flatten().collect();
        transactions.sort_by_key(|txn| (txn.invoked_ns, txn.process));
        for (id, txn) in (0..).zip(&mut transactions) {
            txn.id = id;
        }
        History { transactions }
    }

    /// Writes one JSON object per transaction and line.
    pub fn write_json_lines(&self, mut out: impl Write) -> Result<(), Error> {
        for txn in &self.transactions {
            serde_json::to_writer(&mut out, txn).map_err(std::io::Error::from)?;
            out.write_all(b"\n")?;
        }
        Ok(())
    }

    /// Reads what [`History::write_json_lines`] wrote; empty lines are skipped.
    pub fn read_json_lines(input: impl BufRead) -> Result<History, Error> {
        let mut transactions = Vec::new();
        for (line, text) in (1..).zip(input.lines()) {
            let text = text?;
            if text.trim().is_empty() {
                continue;
            }
            let txn = serde_json::from_str(&text).map_err(|source| Error::Json { line, source })?;
            transactions.push(txn);
        }
        Ok(History { transactions })
    }
}

#[cfg(test)]
mod tests;
