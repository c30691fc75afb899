//! How an engine protects granules while records are reached in place.
//!
//! Role         the one thing in which engines that change records in place differ on the access
//!              path: nothing (serial), lock now (dynamic locking), it must be held already
//!              (planned)

use hotrow_transaction::granule::{LockMode, Space};
use hotrow_transaction::outcome::Stop;
use hotrow_transaction::plan::Footprint;

/// Holds granules for the transaction that runs.
pub trait Protection {
    /// Whether granules matter at all; when not, their keys are not even computed.
    const ACTIVE: bool;

    /// Makes sure that the transaction holds this granule in a mode that grants `mode`.
    fn hold(&mut self, lock: u64, space: Space, mode: LockMode) -> Result<(), Stop>;

    /// The plan's entry with this number is next: nobody asks for its granules one by one.
    #[inline]
    fn reach(&mut self, _entry: u32) {}

    /// A key was looked for in vain.
    #[inline]
    fn missed(&mut self) {}
}

/// One transaction at a time: nothing to protect.
#[derive(Clone, Copy, Default, Debug)]
pub struct Alone;

impl Protection for Alone {
    const ACTIVE: bool = false;

    #[inline]
    fn hold(&mut self, _: u64, _: Space, _: LockMode) -> Result<(), Stop> {
        Ok(())
    }
}

/// Everything is held already; an access outside the footprint means that reconnaissance guessed
/// wrong.
#[derive(Clone, Copy, Debug)]
pub struct Planned<'a>(pub &'a Footprint);

impl Protection for Planned<'_> {
    const ACTIVE: bool = true;

    #[inline]
    fn hold(&mut self, lock: u64, _: Space, mode: LockMode) -> Result<(), Stop> {
        if self.0.covers(lock, mode) { Ok(()) } else { Err(Stop::Replan) }
    }
}
