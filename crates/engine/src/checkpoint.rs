//! Checkpoints: an image of all rows as they were at one moment, taken while transactions run.
//!
//! Role         [`begin`] at a quiet point, then [`write`] with transactions running; [`restore`]
//!              when a database starts. Only these two know files; below them rows go to a
//!              [`RowSink`] and come from a [`RowSource`]
//! States       begun (a quiet point: every row is due) -> walking and draining -> complete, or
//!              failed and walked to the end all the same
//! Invariants   I1 the image is the state at the quiet point: a row due is copied before it is
//!              changed, by the walk or by the transaction that changes it, and never twice
//!              I2 when a capture is over, finished or not, no row is due: else the next image
//!              would take what is due for what it has
//!              I3 memory for rows that transactions saved is bounded: who is over the bound waits
//!              before its next turn, holding nothing
//! Concurrency  see base's `sync::claim` (the walk against transactions), `saved` (transactions
//!              against who drains)
//! Source       CALC (Ren, Diamond, Abadi and Thomson, "Low-Overhead Asynchronous Checkpointing in
//!              Main-Memory Database Systems", SIGMOD 2016). We differ:
//!
//!  - CALC has virtual points of consistency, because it avoids quiet points; ours is a quiet
//!    point that lasts for flipping one bit per table, since a gate is there anyway and no
//!    transaction is long. So there is no phase in which before-images are kept for transactions
//!    whose side of the point is not known yet, and no row that has two versions afterwards.
//!  - CALC keeps a stable version beside each live record until the walk comes by, so its memory
//!    is bounded by the database's size. Here saved rows go to the image by themselves, in buffers
//!    of 4 MiB a worker, in whatever order; the image needs none.
//!
//! Two threads that copy and one worker: see docs/checkpoints.md for the walk-through.

mod capture;
mod copier;
mod files;
mod load;
mod rows;
mod saved;

pub use capture::{Capture, Captured, Progress, TableRows, begin, begin_of};
pub use files::{Destination, Written, restore, write};
pub use load::{LoadError, Loaded, load};
pub use rows::{BatchFault, BatchHead, RowBatch, RowSink, RowSource};
pub use saved::{SavedRows, Turn};
