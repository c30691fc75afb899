//! Sizes of slots: exact up to 32 words, then sixteen steps for each doubling.
//!
//! Role         rounds a slot up to a size that freed slots can be reused at
//! Invariants   I1 a class is at least as large as what was asked for, and wastes less than a
//!              sixteenth of it: between `2^t` and `2^(t+1)` the steps are `2^t / 16` apart
//!              I2 a multiple of eight words rounds to a multiple of eight words

/// The class of slots of one size; as a number at least 1 and below [`SizeClass::COUNT`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SizeClass(u8);

/// Sizes up to here have a class each.
const EXACT: usize = 32;
const EXACT_LOG2: usize = EXACT.ilog2() as usize;
const STEPS_LOG2: usize = 4;

impl SizeClass {
    /// One more than the number of the largest class: slots of `2^17 + 2^13` words.
    pub(crate) const COUNT: usize = 226;

    /// The class for a slot of `words`, header included.
    #[inline]
    pub(crate) fn for_words(words: usize) -> Self {
        let class = if words <= EXACT {
            words
        } else {
            let below = (words - 1).ilog2() as usize;
            let step_log2 = below - STEPS_LOG2;
            let steps = (words - (1 << below)).div_ceil(1 << step_log2);
            EXACT + ((below - EXACT_LOG2) << STEPS_LOG2) + steps
        };
        assert!(class < Self::COUNT, "callers keep rows within MAX_ROW_WORDS");
        Self(class as u8)
    }

    /// The class with this number.
    #[inline]
    pub(crate) fn from_number(number: usize) -> Self {
        debug_assert!((1..Self::COUNT).contains(&number), "the number came from a class");
        Self(number as u8)
    }

    /// The class as a number, to be packed or to select a free list.
    #[inline]
    pub(crate) fn number(self) -> usize {
        usize::from(self.0)
    }

    /// Words of each slot, header included.
    #[inline]
    pub(crate) fn words(self) -> usize {
        let class = self.number();
        if class <= EXACT {
            return class;
        }
        let doublings = (class - EXACT - 1) >> STEPS_LOG2;
        let steps = (class - EXACT - 1) % (1 << STEPS_LOG2) + 1;
        (EXACT << doublings) + (steps << (doublings + EXACT_LOG2 - STEPS_LOG2))
    }
}

#[cfg(test)]
mod tests;
