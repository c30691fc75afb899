//! Checker of recorded transaction histories for strict serializability.
//!
//! Use this crate when you ran concurrent transactions against something and kept what every
//! client saw: [`check`] says whether some serial order that respects real time explains it, and if
//! none does, names the anomaly and shows the smallest cycle of transactions that proves it.
//! It is for tests and tools; nothing on a transaction's path depends on it.
//!
//! ```
//! use hotrow_history::{AnomalyClass, History, Op, Transaction, check};
//!
//! // Two clients read the same list and both append to it: one of them was lost.
//! let history = History::new(vec![
//!     Transaction::committed(1, 0, 10, 40, vec![Op::read(7, []), Op::append(7, 1)]),
//!     Transaction::committed(2, 1, 20, 50, vec![Op::read(7, []), Op::append(7, 2)]),
//! ]);
//! let report = check(&history);
//! assert!(report.has(AnomalyClass::LostUpdate), "{report}");
//! ```
//!
//! Role         takes a [`History`], gives a [`Report`]; knows no engine, no storage, no thread.
//! Formats      JSON lines ([`History::write_json_lines`]), Elle's EDN ([`format::elle`]) and
//!              dbcop's JSON ([`format::dbcop`]), so that outsiders can check the same history.
//! Source       Adya, Liskov, O'Neil, "Generalized Isolation Level Definitions" (ICDE 2000);
//!              Kingsbury, Alvaro, "Elle: Inferring Isolation Anomalies from Experimental
//!              Observations" (VLDB 2020). We differ: real-time edges and predicate reads go
//!              through auxiliary nodes, so the graph stays (nearly) linear in the history.
#![forbid(unsafe_code)]

mod check;
pub mod format;
mod history;
mod report;

pub use check::check;
pub use history::{History, Op, Status, Transaction};
pub use report::{Anomaly, AnomalyClass, Dependency, Report, Step};

/// What can go wrong while a history is read or written.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The underlying reader or writer failed.
    #[error("history file: {0}")]
    Io(#[from] std::io::Error),
    /// A line of a JSON-lines file is not a transaction.
    #[error("history line {line}: {source}")]
    Json {
        /// Line number, from 1.
        line: usize,
        /// What serde objects to.
        source: serde_json::Error,
    },
    /// The text is not EDN, or not a Jepsen history.
    #[error("history EDN, byte {offset}: {what}")]
    Edn {
        /// Byte offset in the text.
        offset: usize,
        /// What was expected or found.
        what: String,
    },
    /// The history holds something that the target format cannot express.
    #[error("transaction {transaction} cannot be written as {format}: {what}")]
    NotExpressible {
        /// Id of the offending transaction.
        transaction: u64,
        /// Name of the target format.
        format: &'static str,
        /// What it cannot express.
        what: String,
    },
}
