//! Synchronisation primitives: latches, bounded queues, parking.
//!
//! Role         every crate above takes its latches and queues from here; this module knows nothing
//!              of records, transactions or engines
//! Concurrency  every primitive is written against [`facade`], so that loom can run all its
//!              interleavings:
//!
//! ```text
//! CARGO_TARGET_DIR=target/loom RUSTFLAGS="--cfg loom" \
//!     cargo test -p hotrow-base --release --lib loom
//! ```
//!
//! This takes about 90 s of two cores. The models were tried on broken code: taking away a fence
//! or weakening a Release or Acquire named in a module's "Concurrency" (most of them, one at a
//! time) makes a model of that primitive fail. The search is bounded to three preemptions
//! ([`facade`]), and no model has more than three threads.

pub mod barrier;
pub mod claim;
pub mod commit_epoch;
pub mod event_count;
pub mod facade;
pub mod futex;
pub mod gate;
pub mod latch;
pub mod milestone;
pub mod parker;
pub mod queue;
pub mod reclaim;
pub mod rendezvous;
pub mod reply;
pub mod spin;
pub mod spsc;
pub mod version_latch;

pub use barrier::Barrier;
pub use claim::ClaimBits;
pub use commit_epoch::CommitEpochs;
pub use event_count::EventCount;
pub use latch::{Latch, LatchGuard, RawLatch, RawLatchGuard};
pub use milestone::Milestone;
pub use parker::Parker;
pub use queue::{BlockingQueue, BoundedQueue, PopError, PushError};
pub use rendezvous::{Parcel, Share};
pub use reply::ReplySlot;
pub use spin::{Spin, SpinWait, spin_for};
pub use version_latch::{Version, VersionLatch, order_locks_before_checks};
