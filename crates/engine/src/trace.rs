//! The serial order of commits, recorded for tests: which call came how many-th.
//!
//! Role         off in production, where it would need memory without bound; tests replay the
//!              trace on the serial engine and compare states and results
//! Invariants   I1 positions are those of the log ([`crate::journal`]), so what tests find of the
//!              order of a trace is true of the order in which a log is replayed
//! Source       DESIGN section 6.1

use hotrow_base::sync::facade::atomic::{AtomicU64, Ordering};

use hotrow_base::sync::Latch;
use hotrow_log::position::Position;
use hotrow_transaction::bytecode::Program;
use hotrow_transaction::frame::Frame;
use hotrow_transaction::invocation::Invocation;
use hotrow_transaction::outcome::Rows;

/// One committed call.
#[derive(Clone, Debug)]
pub struct Traced {
    /// its place in the serial order; calls with the same one do not conflict
    pub position: Position,
    /// the call
    pub invocation: Invocation,
    /// its result rows
    pub result: Rows,
}

/// The trace.
#[derive(Default, Debug)]
pub struct SerialTrace {
    calls: Latch<Vec<Traced>>,
    /// see [`SerialTrace::count`]
    counter: AtomicU64,
}

impl SerialTrace {
    /// Records a call.
    pub fn record(&self, position: Position, call: &Invocation, program: &Program, frame: &Frame) {
        let invocation = call.clone();
        let result = frame.result_rows(program);
        self.calls.lock().push(Traced { position, invocation, result });
    }

    /// How many times it was asked before: an order for engines whose positions are none.
    pub fn count(&self) -> u64 {
        self.counter.fetch_add(1, Ordering::SeqCst)
    }

    /// All calls in serial order.
    pub fn take(&self) -> Vec<Traced> {
        let mut calls = std::mem::take(&mut *self.calls.lock());
        calls.sort_by_key(|call| call.position);
        calls
    }
}
