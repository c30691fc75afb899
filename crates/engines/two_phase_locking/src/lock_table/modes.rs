//! Sets of lock modes.

use hotrow_engine::lock_mode::{CONFLICTS, Mode};

/// A set of lock modes, one bit each.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(super) struct Modes(u16);

impl Modes {
    pub const NONE: Self = Self(0);

    #[inline]
    pub const fn of(mode: Mode) -> Self {
        Self(1 << mode as u8)
    }

    #[inline]
    pub const fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    #[inline]
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Whether some mode of the set is not compatible with `mode`.
    #[inline]
    pub const fn conflict_with(self, mode: Mode) -> bool {
        self.0 & CONFLICTS[mode as usize] != 0
    }

    /// The mode of a set of one.
    #[inline]
    pub fn only(self) -> Option<Mode> {
        Mode::ALL.get(self.0.trailing_zeros() as usize).copied()
    }
}
