//! Sets of a table's columns.

/// A set of a table's columns: bit by number; all from 63 on share a bit.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Debug)]
pub struct ColumnSet(u64);

impl ColumnSet {
    /// No column.
    pub const NONE: Self = Self(0);
    /// Every column a table may have.
    pub const ALL: Self = Self(u64::MAX);

    /// A set of these columns.
    pub fn of(columns: impl IntoIterator<Item = usize>) -> Self {
        Self(columns.into_iter().fold(0, |set, column| set | Self::bit(column)))
    }

    /// Whether the set may hold a column; never wrong when it says no.
    #[inline(always)]
    pub const fn may_contain(self, column: usize) -> bool {
        self.0 & Self::bit(column) != 0
    }

    /// Whether it holds none.
    #[inline(always)]
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Whether it holds all that a table may have.
    #[inline(always)]
    pub const fn is_all(self) -> bool {
        self.0 == u64::MAX
    }

    /// The columns of both.
    #[must_use]
    pub const fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Whether all columns of `other` are in it.
    pub const fn includes(self, other: Self) -> bool {
        self.and(other).0 == self.0
    }

    #[inline(always)]
    const fn bit(column: usize) -> u64 {
        1 << if column < 63 { column } else { 63 }
    }
}

#[cfg(test)]
mod tests {
    use super::ColumnSet;

    #[test]
    fn far_columns_share_a_bit() {
        let set = ColumnSet::of([3, 200]);
        assert!(set.may_contain(3) && set.may_contain(200) && !set.may_contain(4));
        assert!(set.may_contain(63), "it cannot be told from column 200");
        assert!(!set.may_contain(62));
        assert!(ColumnSet::ALL.includes(set) && !set.includes(ColumnSet::of([4])));
    }
}
