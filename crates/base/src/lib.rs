//! The ground floor: ids, values, keys, row layouts, time, latches, bounded queues, interrupts,
//! memory accounts, pools, numberings, per-thread counters.
//!
//! Should I be using this? Only inside Hotrow's own crates; an embedder wants the crate `hotrow`.
//!
//! Architecture invariant: this crate knows no table, no transaction and no protocol. It is the
//! only one that names fences, threads and clocks.

pub mod any_numeric;
pub mod by_name;
pub mod clock;
pub mod composite;
pub mod conventions;
pub mod counters;
pub mod datum;
pub mod decimal;
pub mod encoded;
pub mod enumeration;
pub mod fold;
pub mod ids;
pub mod interrupt;
pub mod json;
pub mod key;
pub mod keywords;
pub mod memory;
pub mod numbering;
pub mod packed;
pub mod panics;
pub mod pool;
pub mod prefetch;
pub mod quote;
pub mod range;
pub mod row;
pub mod shape;
pub mod sort;
pub mod stack;
pub mod sync;
pub mod template;
pub mod temporal;
pub mod thread;
pub mod types;
pub mod value;
pub mod varint;

#[cfg(test)]
mod plain;
