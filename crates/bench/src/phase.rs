//! Which part of a run it is: one word that all sources read and the driver writes.

use hotrow_base::sync::facade::atomic::{AtomicU32, Ordering};

/// Parts of a run, in their order.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Phase {
    /// calls run, nothing is measured
    WarmUp,
    /// calls that end now count, in the step with this number; a workload that changes while it
    /// runs has several
    Measure(u16),
    /// no call begins any more
    Ended,
}

impl Phase {
    const fn to_word(self) -> u32 {
        match self {
            Self::WarmUp => WARM_UP,
            Self::Measure(step) => FIRST_STEP + step as u32,
            Self::Ended => ENDED,
        }
    }

    /// The step that is measured.
    pub(crate) const fn step(self) -> Option<usize> {
        match self {
            Self::Measure(step) => Some(step as usize),
            _ => None,
        }
    }
}

/// The phase, shared. Alone on its cache line, so that reading it costs nothing while it stands.
#[derive(Debug)]
#[repr(align(128))]
pub(crate) struct PhaseFlag(AtomicU32);

const WARM_UP: u32 = 0;
const FIRST_STEP: u32 = 1;
const ENDED: u32 = u32::MAX;

impl PhaseFlag {
    pub(crate) fn new(phase: Phase) -> Self {
        Self(AtomicU32::new(phase.to_word()))
    }

    // Relaxed is enough for both: nothing else is published by the phase, and a source that sees a
    // change late only puts a call or two into the phase before.

    pub(crate) fn set(&self, phase: Phase) {
        self.0.store(phase.to_word(), Ordering::Relaxed);
    }

    #[inline]
    pub(crate) fn get(&self) -> Phase {
        match self.0.load(Ordering::Relaxed) {
            WARM_UP => Phase::WarmUp,
            ENDED => Phase::Ended,
            step => Phase::Measure((step - FIRST_STEP) as u16),
        }
    }
}
