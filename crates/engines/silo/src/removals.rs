//! What was removed last: who finds nothing follows whoever took it away.
//!
//! Role         a record tells by its version whom its reader follows. One that is gone cannot; so
//!              each worker tells the version of its last removal, and who relied on an absence
//!              follows the removals of all. Else a row that comes in the place of a removed one
//!              could stand before the removal in the log, and who was told that nothing is there
//!              would not wait until that is durable
//! Invariants   I1 a worker tells it before the entries leave their indexes: whoever looked there
//!              afterwards reads it
//! Concurrency  one writer each; Relaxed, because the indexes' versions order it (I1)
//! Source       ours: Silo keeps removed records in their indexes, with their versions, until two
//!              epochs have passed (4.5, 4.9)

use std::sync::Arc;

use hotrow_base::counters::{Counter, PerWorker};
use hotrow_base::sync::Version;

/// A worker's view of them.
#[derive(Debug)]
pub struct Removals {
    /// by worker: the version of its last removal, as a word
    all: Arc<PerWorker<Counter>>,
    worker: usize,
}

impl Removals {
    /// That of worker thread `worker`, of the removals of all.
    pub fn new(all: &Arc<PerWorker<Counter>>, worker: usize) -> Self {
        Self { all: Arc::clone(all), worker }
    }

    /// The worker is about to remove something, at this version.
    pub fn tell(&self, version: Version) {
        self.all.of(self.worker).raise_to(version.to_word());
    }

    /// The version of the last removal.
    pub fn newest(&self) -> Version {
        Version::from_word(self.all.max(Counter::get))
    }
}
