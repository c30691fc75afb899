//! The protection of an action: its turn has come in some granules, and it stays inside them.

use hotrow_engine::protection::Protection;
use hotrow_transaction::actions::BatchUse;
use hotrow_transaction::granule::{LockMode, Space};
use hotrow_transaction::outcome::Stop;

/// An access outside of these granules means that reconnaissance guessed wrong.
#[derive(Clone, Copy, Debug)]
pub struct Within<'a>(pub &'a [BatchUse]);

impl Protection for Within<'_> {
    const ACTIVE: bool = true;

    fn hold(&mut self, lock: u64, _: Space, mode: LockMode) -> Result<(), Stop> {
        let covers = |held: &BatchUse| held.lock == lock && held.mode.covers(mode);
        if self.0.iter().any(covers) { Ok(()) } else { Err(Stop::Replan) }
    }
}
