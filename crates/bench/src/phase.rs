//! Which part of a run it is: one word that all sources read and the driver writes twice.

use std::sync::atomic::{AtomicU8, Ordering};

/// Parts of a run, in their order.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
#[repr(u8)]
pub(crate) enum Phase {
    /// calls run, nothing is measured
    WarmUp,
    /// calls that end now count
    Measure,
    /// no call begins any more
    Ended,
}

/// The phase, shared. Alone on its cache line, so that reading it costs nothing while it stands.
#[derive(Debug)]
#[repr(align(128))]
pub(crate) struct PhaseFlag(AtomicU8);

impl PhaseFlag {
    pub(crate) fn new(phase: Phase) -> Self {
        Self(AtomicU8::new(phase as u8))
    }

    // Relaxed is enough for both: nothing else is published by the phase, and a source that sees a
    // change late only puts a call or two into the phase before.

    pub(crate) fn set(&self, phase: Phase) {
        self.0.store(phase as u8, Ordering::Relaxed);
    }

    #[inline]
    pub(crate) fn get(&self) -> Phase {
        match self.0.load(Ordering::Relaxed) {
            0 => Phase::WarmUp,
            1 => Phase::Measure,
            _ => Phase::Ended,
        }
    }
}
