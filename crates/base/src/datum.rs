//! A datum: the 16-byte, untyped run-time form of one SQL value.
//!
//! Role         what slots hold and expressions compute on; its type is static, known to the
//!              program, and never stored with it
//! Invariants   I1 NULL is `hi == i64::MIN`, `lo == 0`: no other datum has that `hi`, because
//!              integers, floats and ranges keep `hi == 0` (arrays: at most 6), a numeric's
//!              magnitude stays below 10^38 < 2^127, and an interval has more than `i32::MIN`
//!              months
//!              I2 a byte range or array range is only valid with the heap it was made for

use crate::temporal::Interval;

/// One SQL value: 16 bytes, `Copy`.
///
/// | type | lo | hi |
/// |---|---|---|
/// | boolean, integers, date, time, timestamps | the value as `i64` | 0 |
/// | real, double precision | the bits of the `f64` | 0 |
/// | numeric | low half of the scaled `i128` | high half |
/// | texts, bytea, uuid, json | start (low 32 bits) and length (high 32) in a heap | 0 |
/// | interval | microseconds | months (high 32 bits) and days (low) |
/// | array | start and count in an element list | 0, or its dimensions ([`crate::shape`]) |
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
#[repr(C, align(16))]
pub struct Datum {
    lo: u64,
    hi: u64,
}

const NULL_HI: u64 = 1 << 63;

/// A range of a byte heap or of an element list.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct HeapRange {
    /// first byte or element
    pub start: u32,
    /// bytes or elements
    pub len: u32,
}

impl HeapRange {
    /// The range for indexing a slice.
    #[inline]
    pub const fn range(self) -> std::ops::Range<usize> {
        self.start as usize..self.start as usize + self.len as usize
    }
}

impl Datum {
    /// SQL NULL of any type.
    pub const NULL: Self = Self { lo: 0, hi: NULL_HI };
    /// boolean true
    pub const TRUE: Self = Self { lo: 1, hi: 0 };
    /// boolean false
    pub const FALSE: Self = Self { lo: 0, hi: 0 };

    /// Whether this is NULL.
    #[inline]
    pub const fn is_null(self) -> bool {
        self.hi == NULL_HI
    }

    /// An integer, date or timestamp.
    #[inline]
    pub const fn int(value: i64) -> Self {
        Self { lo: value as u64, hi: 0 }
    }

    /// The integer, date or timestamp. Meaningless for NULL.
    #[inline]
    pub const fn as_int(self) -> i64 {
        self.lo as i64
    }

    /// Whether neither of two integers, dates, timestamps or ranges is NULL: one test instead of
    /// two.
    #[inline(always)]
    pub const fn are_ints(a: Self, b: Self) -> bool {
        a.hi | b.hi == 0
    }

    /// `N` datums in memory that the system hands out zeroed: those that are never touched cost
    /// address space only. Each reads as the integer 0.
    pub fn zeroed_array<const N: usize>() -> Box<[Self; N]> {
        // SAFETY: a datum is two `u64`s, for which all bits zero is a value (I1: the integer 0).
        // JUSTIFICATION: writing the array instead would touch 1 MiB per frame, of which a call
        // uses some KiB.
        unsafe { Box::<[Self; N]>::new_zeroed().assume_init() }
    }

    /// Both halves, to be kept as words.
    #[inline]
    pub const fn to_words(self) -> (u64, u64) {
        (self.lo, self.hi)
    }

    /// The datum with these halves.
    #[inline]
    pub const fn from_words((lo, hi): (u64, u64)) -> Self {
        Self { lo, hi }
    }

    /// 0 for an integer, and not 0 for NULL.
    #[inline]
    pub(crate) const fn high_half(self) -> u64 {
        self.hi
    }

    /// A boolean.
    #[inline]
    pub const fn bool(value: bool) -> Self {
        Self { lo: value as u64, hi: 0 }
    }

    /// The boolean; NULL reads as false, which is what WHERE and IF want.
    #[inline]
    pub const fn is_true(self) -> bool {
        self.lo == 1 && self.hi == 0
    }

    /// A real or double precision.
    #[inline]
    pub const fn float(value: f64) -> Self {
        Self { lo: value.to_bits(), hi: 0 }
    }

    /// The float. Meaningless for NULL.
    #[inline]
    pub const fn as_float(self) -> f64 {
        f64::from_bits(self.lo)
    }

    /// A numeric's scaled units. `|units|` must be below 10^38.
    #[inline]
    pub const fn numeric(units: i128) -> Self {
        Self { lo: units as u64, hi: (units >> 64) as u64 }
    }

    /// The numeric's scaled units. Meaningless for NULL.
    #[inline]
    pub const fn as_numeric(self) -> i128 {
        ((self.hi as i128) << 64) | self.lo as i128
    }

    /// An interval.
    #[inline]
    pub const fn interval(interval: Interval) -> Self {
        let Interval { months, days, micros } = interval;
        Self { lo: micros as u64, hi: (months as u32 as u64) << 32 | days as u32 as u64 }
    }

    /// The interval. Meaningless for NULL.
    #[inline]
    pub const fn as_interval(self) -> Interval {
        let (months, days) = ((self.hi >> 32) as i32, self.hi as i32);
        Interval { months, days, micros: self.lo as i64 }
    }

    /// The numeric's scaled units, if they fit 64 bits and this is not NULL.
    #[inline]
    pub const fn as_small_numeric(self) -> Option<i64> {
        let low = self.lo as i64;
        if self.hi as i64 == low >> 63 { Some(low) } else { None }
    }

    /// A range: of the heap for text, bytea and uuid; of the element list for arrays.
    #[inline]
    pub const fn range(start: u32, len: u32) -> Self {
        Self { lo: start as u64 | (len as u64) << 32, hi: 0 }
    }

    /// The same range, of an array with dimensions behind its elements ([`crate::shape`]).
    pub(crate) const fn with_dimensions(self, count: usize) -> Self {
        Self { lo: self.lo, hi: count as u64 }
    }

    /// The same array, whose elements begin elsewhere in a list.
    pub fn starting_at(self, start: usize) -> Self {
        Self { hi: self.hi, ..Self::range(start as u32, self.as_range().len) }
    }

    /// Where the elements of an array and its dimensions lie in a list. Meaningless for NULL.
    pub const fn whole_array(self) -> std::ops::Range<usize> {
        let range = self.as_range().range();
        range.start..range.end.saturating_add(self.dimensions())
    }

    /// How many dimensions lie behind the elements of an array: none of a plain one. Meaningless
    /// for NULL.
    #[inline]
    pub const fn dimensions(self) -> usize {
        self.hi as usize
    }

    /// Appends bytes to a heap, which stays below 4 GiB; their range in it.
    #[inline]
    pub fn of_bytes(bytes: &[u8], heap: &mut Vec<u8>) -> Self {
        let start = heap.len();
        heap.extend_from_slice(bytes);
        Self::range(start as u32, bytes.len() as u32)
    }

    /// The range. Meaningless for NULL.
    #[inline]
    pub const fn as_range(self) -> HeapRange {
        HeapRange { start: self.lo as u32, len: (self.lo >> 32) as u32 }
    }
}

impl Default for Datum {
    fn default() -> Self {
        Self::NULL
    }
}

impl std::fmt::Debug for Datum {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.is_null() {
            f.write_str("NULL")
        } else {
            write!(f, "Datum({:#x},{:#x})", self.lo, self.hi)
        }
    }
}

const _: () = assert!(size_of::<Datum>() == 16);

#[cfg(test)]
mod tests {
    use super::{Datum, Interval};

    #[test]
    fn forms_round_trip_and_only_null_is_null() {
        for units in [0, 1, -1, 10_i128.pow(38) - 1, -(10_i128.pow(38)) + 1] {
            assert_eq!(Datum::numeric(units).as_numeric(), units);
            assert!(!Datum::numeric(units).is_null());
            let small = i64::try_from(units).ok();
            assert_eq!(Datum::numeric(units).as_small_numeric(), small);
        }
        for months in [0, 1, -1, i32::MIN + 1, i32::MAX] {
            for (days, micros) in [(0, 0), (-1, -1), (i32::MIN, i64::MIN), (i32::MAX, i64::MAX)] {
                let interval = Interval { months, days, micros };
                assert_eq!(Datum::interval(interval).as_interval(), interval);
                assert!(!Datum::interval(interval).is_null());
            }
        }
        for value in [0, 1, -1, i64::MIN, i64::MAX] {
            assert_eq!(Datum::int(value).as_int(), value);
            assert!(!Datum::int(value).is_null());
        }
        assert_eq!(Datum::range(7, u32::MAX).as_range().len, u32::MAX);
        for small in [i64::MIN, -1, 0, i64::MAX] {
            assert_eq!(Datum::numeric(small.into()).as_small_numeric(), Some(small));
        }
        assert!(Datum::zeroed_array::<3>().iter().all(|&datum| datum == Datum::int(0)));
        assert!(Datum::are_ints(Datum::int(-1), Datum::int(i64::MIN)));
        assert!(!Datum::are_ints(Datum::int(1), Datum::NULL));
        assert!(!Datum::are_ints(Datum::NULL, Datum::NULL));
        assert_eq!(Datum::NULL.as_small_numeric(), None);
        assert!(Datum::NULL.is_null() && !Datum::NULL.is_true());
        assert!(Datum::TRUE.is_true() && !Datum::FALSE.is_true());
    }
}
