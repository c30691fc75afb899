//! The serial order of commits, recorded for tests: which call came how many-th.
//!
//! Role         off in production (positions come from one counter that all threads write);
//!              tests replay the trace on the serial engine and compare states and results
//! Invariants   I1 an engine takes a position while it still holds all locks of the call, so that
//!              conflicting calls have positions in their serial order
//! Source       DESIGN section 6.1

use std::sync::atomic::{AtomicU64, Ordering};

use hotrow_base::sync::Latch;
use hotrow_transaction::bytecode::Program;
use hotrow_transaction::frame::Frame;
use hotrow_transaction::invocation::Invocation;
use hotrow_transaction::outcome::Rows;

/// One committed call.
#[derive(Clone, Debug)]
pub struct Traced {
    /// its place in the serial order, from 0
    pub position: u64,
    /// the call
    pub invocation: Invocation,
    /// its result rows
    pub result: Rows,
}

/// The trace.
#[derive(Default, Debug)]
pub struct SerialTrace {
    next: AtomicU64,
    calls: Latch<Vec<Traced>>,
}

impl SerialTrace {
    /// Takes the next position. Called with all locks of the call held.
    pub fn position(&self) -> u64 {
        self.next.fetch_add(1, Ordering::Relaxed) // ordered by the locks that are held
    }

    /// Records a call.
    pub fn record(&self, position: u64, call: &Invocation, program: &Program, frame: &Frame) {
        let invocation = call.clone();
        let result = frame.result_rows(program);
        self.calls.lock().push(Traced { position, invocation, result });
    }

    /// All calls in serial order.
    pub fn take(&self) -> Vec<Traced> {
        let mut calls = std::mem::take(&mut *self.calls.lock());
        calls.sort_by_key(|call| call.position);
        calls
    }
}
