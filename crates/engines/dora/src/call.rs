//! A call on its way, as the engine's threads see it.
//!
//! Role         what a [`Flow`](crate::protocol::Flow) carries: the call as all see it
//!              ([`SharedCall`]), how it is run, and what each hall has changed for it
//! Concurrency  filled by its home, alone, then read by all. A *part* has one user at a time, its
//!              hall; the client's own frame one, the only hall of a call that has one. So no latch
//!              in here is waited for

use hotrow_base::sync::facade::atomic::{AtomicU32, Ordering};

use hotrow_base::pool::NONE;
use hotrow_base::sync::Latch;
use hotrow_flow::client_calls::ClientCall;
use hotrow_flow::part::Part;
use hotrow_flow::shared_call::SharedCall;
use hotrow_flow::slots::HeldSlot;
use hotrow_transaction::plan::Plan;

/// How a call is run.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum How {
    /// as actions, each in the hall of its granules
    #[default]
    InParts,
    /// as a whole, where its first round ends
    AsWhole(Bounds),
}

/// How a call that is run as a whole is kept inside what it may touch.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Bounds {
    /// it was planned as a whole: its keys are known in their order
    Plan,
    /// it was planned as actions: its footprint is known
    Footprint,
    /// it has all there is to itself
    None,
}

/// What the home of a call and the halls that do parts of it share.
#[derive(Default)]
pub struct Body {
    /// its place at its home
    pub slot: usize,
    /// how it is run
    pub how: How,
    /// not in parts: its footprint
    pub plan: Plan,
    /// the call
    pub call: SharedCall,
    /// the client's call, with the frame that it is run in, if it has one hall only
    pub client: Latch<Option<ClientCall>>,
    /// by doer: what it has changed
    pub parts: Vec<Latch<Option<Part>>>,
    /// by doer: slots that it has locked
    pub slots: Vec<Latch<Vec<HeldSlot>>>,
    /// the first instance in the procedure that has failed, or [`NONE`]
    failed: AtomicU32,
}

impl Body {
    /// Makes ready for its doers.
    pub fn begin(&mut self, doers: usize) {
        if self.parts.len() < doers {
            self.parts.resize_with(doers, Latch::default);
            self.slots.resize_with(doers, Latch::default);
        }
        *self.failed.get_mut() = NONE;
    }

    /// Whether a doer has actions to run in a round.
    pub fn has_round(&self, doer: usize, round: u32) -> bool {
        let Self { how, call, .. } = self;
        *how == How::InParts && !call.schedule.of_owner(call.participants[doer].0, round).is_empty()
    }

    /// The first instance in the procedure of which it is known that it has failed; [`NONE`]: none.
    /// Others may not have heard of it yet, and do for nothing what comes behind it.
    pub fn failed(&self) -> u32 {
        self.failed.load(Ordering::Relaxed) // a hint, until all have met: see `Parcel`
    }

    /// Notes that an instance has failed, if it is not [`NONE`].
    pub fn note_failure(&self, instance: u32) {
        if instance != NONE {
            self.failed.fetch_min(instance, Ordering::Relaxed); // as above
        }
    }
}
