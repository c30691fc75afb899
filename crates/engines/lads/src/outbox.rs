//! What one worker leaves behind when it has executed its share of a graph.
//!
//! Role         filled by an executor, read by the graph's builder when it tells the calls' ends,
//!              and by whoever takes a batch back

use hotrow_engine::in_place::Savepoint;
use hotrow_flow::reply::{Fault, Returned};

/// See the module. Memory is used again.
#[derive(Default, Debug)]
pub struct Outbox {
    /// the worker's undo log before all of them
    pub begin: Savepoint,
    /// changes, in the order in which they were made
    pub changes: Vec<Changed>,
    /// rows that calls return, and what they said
    pub returned: Returned,
    /// calls, and their failures
    pub faults: Vec<(u32, Fault)>,
    /// calls that have failed, though something before that in the procedure, which may have failed
    /// first, could not be tried: the call's own changes were missing
    pub doubts: Vec<u32>,
}

/// An action has changed something.
#[derive(Clone, Copy, Debug)]
pub struct Changed {
    /// its call
    pub call: u32,
    /// it comes after everything with a lower stamp that it may have met, in whichever outbox of
    /// the graph that stands
    pub stamp: u32,
    /// the worker's undo log before
    pub before: Savepoint,
    /// of what it wrote
    pub hash: u64,
}

impl AsRef<Returned> for Outbox {
    fn as_ref(&self) -> &Returned {
        &self.returned
    }
}

impl Outbox {
    /// Forgets everything, keeps the memory.
    pub fn clear(&mut self) {
        self.changes.clear();
        self.returned.clear();
        self.faults.clear();
        self.doubts.clear();
    }
}
