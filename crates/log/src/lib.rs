//! The log: what committed transactions did, on disk, in an order in which it can be done again.
//!
//! Should I be using this? Only inside Hotrow's own crates: engines append to a [`Log`], recovery
//! reads it back with [`read::scan`].
//!
//! Architecture invariant: this crate knows bytes, workers and epochs. It knows no table, no
//! procedure and no engine, and storage never imports it; recovery joins the two.
//!
//! A walk through the writing side: a worker that holds all its locks *enters* the current epoch,
//! takes a [`Position`](position::Position) in it, appends its entry to its own buffer and
//! *leaves*. One thread, the [writer](log), ends the epoch, gathers what all workers appended in
//! it into one block, writes and syncs the block, and only then publishes the epoch as the
//! [horizon](Log::horizon): the replies of all its transactions may go out. Formats:
//! `docs/log-format.md`.
#![forbid(unsafe_code)]

pub mod block;
pub mod checkpoint;
pub mod checksum;
pub mod entry;
pub mod error;
pub mod files;
pub mod log;
pub mod position;
pub mod read;
pub mod segment;

pub use entry::{Entry, Kind};
pub use error::{LogError, LogFailure};
pub use log::{Durability, Log, LogOptions, LogStatistics};
pub use position::Position;
pub use read::{Block, Tail, scan};
