//! The storage manager: records, indexes over them, and the reuse of their memory.
//!
//! Use it to write a transaction engine. To run transactions, use crate `hotrow`, which brings
//! engines, SQL and durability; this crate alone isolates nothing and survives no crash.
//!
//! ```text
//! table ──┬── slab::RecordStore ──── record::Record     rows as atomic words behind stable ids
//!         └── hash_index, btree                         hash or key -> RecordId
//! undo    what an in-place engine needs to roll back    budget    how much memory there is
//! write_hash  tells whether a replay did what the run did
//! (writers  how many at a time)                         (when an unlinked id may be used again is
//!                                                        base's sync::reclaim)
//! ```
//!
//! Architecture invariants: storage knows no protocol (a record's control word is opaque to it), no
//! columns and no log. All shared memory is atomic words, so engines need no `unsafe`, and an
//! engine's bug reads wrong data but is never undefined behaviour.

pub mod table;

pub mod record;
pub mod slab;
pub use slab::zeroed_words::ZeroedWords;

pub mod btree;
pub mod hash_index;

pub mod undo;
pub mod write_hash;

pub mod budget;

mod writers;
