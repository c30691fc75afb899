//! Priorities of calls, and the lanes in which they wait.

use std::ops::Range;

/// Which of the calls that wait for a thread are taken first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Debug)]
pub enum Priority {
    /// before all others
    High,
    /// as if there were no priorities
    #[default]
    Normal,
    /// when nothing else waits
    Low,
}

impl Priority {
    /// How many there are.
    pub(super) const COUNT: usize = 3;
    /// A lane for each, of short calls and of those not known, and behind them one for each of long
    /// calls.
    pub(super) const LANES: usize = 2 * Self::COUNT;
    pub(super) const SHORT: Range<usize> = 0..Self::COUNT;
    pub(super) const LONG: Range<usize> = Self::COUNT..Self::LANES;

    /// The one that turn number `turn` of a thread begins with: most begin with the highest, and
    /// some with a lower one, so that nobody waits for ever.
    pub(super) const fn of_turn(turn: u32) -> Self {
        match turn {
            turn if turn.is_multiple_of(64) => Self::Low,
            turn if turn.is_multiple_of(8) => Self::Normal,
            _ => Self::High,
        }
    }
}
