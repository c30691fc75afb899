//! Sets of lock modes.

use hotrow_transaction::granule::LockMode;

const MODES: [LockMode; 4] = LockMode::ALL;

/// Per mode, the modes it is not compatible with.
const CONFLICTS: [u8; 4] = {
    let mut table = [0; 4];
    let mut one = 0;
    while one < 4 {
        let mut other = 0;
        while other < 4 {
            assert!(MODES[other] as usize == other);
            if !MODES[one].compatible(MODES[other]) {
                table[one] |= 1 << other;
            }
            other += 1;
        }
        one += 1;
    }
    table
};

/// A set of lock modes, one bit each.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(super) struct Modes(u8);

impl Modes {
    pub const NONE: Self = Self(0);

    #[inline]
    pub const fn of(mode: LockMode) -> Self {
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
    pub const fn conflict_with(self, mode: LockMode) -> bool {
        self.0 & CONFLICTS[mode as usize] != 0
    }

    /// The mode of a set of one.
    #[inline]
    pub fn only(self) -> Option<LockMode> {
        MODES.get(self.0.trailing_zeros() as usize).copied()
    }
}
