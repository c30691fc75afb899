//! Workloads: benchmark databases, their transactions as SQL, their populations and their checks.
//!
//! Should I be using this? To run a benchmark, use `hotrow bench`. Read this crate to see exactly
//! what is run, or to add a workload: a `.sql` schema, `.sql` procedures (no transaction is
//! written in Rust), a loader, a generator of calls, and checks of the state that any serial order
//! of those calls must leave. See `docs/workloads.md`.
//!
//! Reading order: [`workload`] (the trait), [`parameter`], [`row`] and [`random`] (what loaders
//! use), [`check`], [`stored`], then the workloads: [`tpcc`], [`tpcb`], [`tellers`],
//! [`ycsb`], [`counter`], [`kv`], [`tatp`].
//!
//! Architecture invariants: this crate knows no engine, no storage and no thread; it reads no
//! clock and no file; everything it produces is a function of parameters and seed.

#![forbid(unsafe_code)]

pub mod check;
pub mod counter;
pub mod kv;
pub mod parameter;
pub mod random;
pub mod row;
pub mod stored;
pub mod tatp;
pub mod tellers;
pub mod tpcb;
pub mod tpcc;
pub mod workload;
pub mod ycsb;

pub use check::{Check, CheckContext, CheckResult, Finding};
pub use parameter::{ParameterError, ParameterInfo, Parameters};
pub use row::RowSink;
pub use stored::{LoadError, StoredContext, StoredRows, load_rows};
pub use workload::{Generator, KindInfo, Resolve, Share, TransactionKind, Workload};

/// The names [`workload_named`] knows.
pub const NAMES: &[&str] = &["tpcc", "tpcb", "tellers", "ycsb", "counter", "kv", "tatp"];

/// A workload with its default parameters.
pub fn workload_named(name: &str) -> Option<Box<dyn Workload>> {
    match name {
        "tpcc" => Some(Box::new(tpcc::Tpcc::default())),
        "counter" => Some(Box::new(counter::Counter::default())),
        "kv" => Some(Box::new(kv::Kv::default())),
        "tatp" => Some(Box::new(tatp::Tatp::default())),
        "tellers" => Some(Box::new(tellers::Tellers::default())),
        "tpcb" => Some(Box::new(tpcb::Tpcb::default())),
        "ycsb" => Some(Box::new(ycsb::Ycsb::default())),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
