//! The storage manager: records, indexes over them, and the reuse of their memory.
//!
//! Use it to write a transaction engine. To run transactions, use crate `hotrow`, which brings
//! engines, SQL and durability; this crate alone isolates nothing and survives no crash.

pub mod reclaim;

pub mod budget;
pub mod hash_index;
pub mod latching;
pub mod prefetch;
pub mod record;
pub mod slab;
