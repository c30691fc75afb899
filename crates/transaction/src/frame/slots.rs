//! The slots of a running call.
//!
//! Role         what instructions address by `u16`: an array of as many datums as a `u16` can name,
//!              so that no access is checked against a length. Memory is touched as far as programs
//!              have slots.

use std::fmt;
use std::ops::{Index, IndexMut, Range};

use hotrow_base::datum::Datum;

/// Slots that a program may have.
pub const SLOTS_MAX: usize = 1 << 16;

/// A datum for each slot, in one allocation.
pub struct Slots(Box<[Datum; SLOTS_MAX]>);

impl Slots {
    /// Slots of integers 0.
    pub fn new() -> Self {
        Self(Datum::zeroed_array())
    }

    /// Sets the first slots.
    #[inline]
    pub(crate) fn begin(&mut self, image: &[Datum]) {
        self.0[..image.len()].copy_from_slice(image);
    }
}

impl Default for Slots {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for Slots {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Where a program's slots end is not known here.
        let used =
            self.0.iter().rposition(|&slot| slot != Datum::int(0)).map_or(0, |last| last + 1);
        f.debug_list().entries(&self.0[..used]).finish()
    }
}

impl Index<u16> for Slots {
    type Output = Datum;

    #[inline(always)]
    fn index(&self, slot: u16) -> &Datum {
        &self.0[usize::from(slot)]
    }
}

impl IndexMut<u16> for Slots {
    #[inline(always)]
    fn index_mut(&mut self, slot: u16) -> &mut Datum {
        &mut self.0[usize::from(slot)]
    }
}

impl Index<Range<usize>> for Slots {
    type Output = [Datum];

    #[inline(always)]
    fn index(&self, slots: Range<usize>) -> &[Datum] {
        &self.0[slots]
    }
}

impl IndexMut<Range<usize>> for Slots {
    #[inline(always)]
    fn index_mut(&mut self, slots: Range<usize>) -> &mut [Datum] {
        &mut self.0[slots]
    }
}
