//! The values that parts of calls hand to each other, each in two words.
//!
//! Role         where [`CallRun`](hotrow_transaction::actions::CallRun) keeps values while a call's
//!              parts run on several threads: integers and their like in the words, bytes in a heap
//!              of whoever made them
//! Invariants   I1 a value has one maker at a time, and whoever loads it was told by a message, or
//!              at a barrier, that it is made
//!              I2 nothing is allocated once cells and heaps have grown to what is usual
//! Concurrency  the words -> stored by the maker before it tells (I1): so Relaxed is enough. A heap
//!              -> under its latch, since others read what was made earlier while its owner appends

use hotrow_base::sync::facade::atomic::{AtomicU64, Ordering::Relaxed};

use hotrow_base::datum::Datum;
use hotrow_base::sync::Latch;
use hotrow_transaction::actions::Values;

/// In the upper word of no datum: the upper half of a numeric is below 0x4b3b_4ca8_... or,
/// negative, above 0xb4c4_b357_..., and NULL is 0x8000_...
const IN_HEAP: u64 = 0x6000_0000_0000_0000;

/// A value: the words of a datum; if it has bytes, the upper one says in whose heap they are.
#[derive(Default, Debug)]
pub struct Cell(AtomicU64, AtomicU64);

impl Cell {
    /// Its words.
    #[inline]
    pub fn load(&self) -> (u64, u64) {
        (self.0.load(Relaxed), self.1.load(Relaxed)) // see the module
    }

    /// Sets its words.
    #[inline]
    pub fn store(&self, words: (u64, u64)) {
        self.0.store(words.0, Relaxed);
        self.1.store(words.1, Relaxed);
    }
}

/// The values of one call, or of a batch of them.
#[derive(Default, Debug)]
pub struct Cells {
    values: Vec<Cell>,
    /// by maker: the bytes of its values
    heaps: Vec<Latch<Vec<u8>>>,
}

impl Cells {
    /// None yet, for so many makers.
    pub fn new(makers: usize) -> Self {
        Self { values: Vec::new(), heaps: (0..makers).map(|_| Latch::default()).collect() }
    }

    /// Forgets all values, keeps the memory.
    pub fn clear(&mut self) {
        self.heaps.iter().for_each(|heap| heap.lock().clear());
    }

    /// Makes room for values with numbers below `count`, of so many makers at least.
    pub fn make_room(&mut self, count: usize, makers: usize) {
        if self.values.len() < count {
            self.values.resize_with(count, Cell::default);
        }
        if self.heaps.len() < makers {
            self.heaps.resize_with(makers, Latch::default);
        }
    }

    /// As one of the makers uses them.
    #[inline]
    pub fn of(&self, maker: u16) -> Maker<'_> {
        Maker { cells: self, maker }
    }

    /// Forgets the bytes of a maker that makes all its values anew.
    pub fn forget(&self, maker: u16) {
        self.heaps[usize::from(maker)].lock().clear();
    }
}

/// The values, as one of their makers uses them.
#[derive(Clone, Copy, Debug)]
pub struct Maker<'a> {
    cells: &'a Cells,
    maker: u16,
}

impl Maker<'_> {
    /// The datum that a cell's words stand for; its bytes, if it has some, are appended to `heap`.
    #[inline(always)]
    pub fn to_datum(&self, (low, high): (u64, u64), heap: &mut Vec<u8>) -> Datum {
        if high & !0xffff == IN_HEAP {
            return self.copy_from_heap((low, high), heap);
        }
        Datum::from_words((low, high))
    }

    #[inline(never)]
    fn copy_from_heap(&self, (low, high): (u64, u64), heap: &mut Vec<u8>) -> Datum {
        let made = self.cells.heaps[(high & 0xffff) as usize].lock();
        Datum::of_bytes(&made[Datum::from_words((low, 0)).as_range().range()], heap)
    }

    /// The words for a cell that stand for a datum; `bytes` are its own, if it has some.
    #[inline(always)]
    pub fn to_words(&self, datum: Datum, bytes: Option<&[u8]>) -> (u64, u64) {
        match bytes {
            Some(bytes) => self.put_into_heap(bytes),
            None => datum.to_words(),
        }
    }

    #[inline(never)]
    fn put_into_heap(&self, bytes: &[u8]) -> (u64, u64) {
        let heap = &mut *self.cells.heaps[usize::from(self.maker)].lock();
        let (low, _) = Datum::of_bytes(bytes, heap).to_words();
        (low, IN_HEAP | u64::from(self.maker))
    }
}

impl Values for Maker<'_> {
    #[inline]
    fn load(&self, value: u32, heap: &mut Vec<u8>) -> Datum {
        self.to_datum(self.cells.values[value as usize].load(), heap)
    }

    #[inline]
    fn store(&mut self, value: u32, datum: Datum, bytes: Option<&[u8]>) {
        self.cells.values[value as usize].store(self.to_words(datum, bytes));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_go_from_maker_to_maker_with_their_bytes() {
        let mut cells = Cells::new(1);
        cells.make_room(3, 2);
        cells.of(0).store(0, Datum::int(-7), None);
        cells.of(1).store(1, Datum::range(0, 0), Some(b"seat"));
        cells.of(1).store(2, Datum::NULL, None);
        let mut heap = b"row".to_vec();
        let reader = cells.of(0);
        assert_eq!(reader.load(0, &mut heap).as_int(), -7);
        let text = reader.load(1, &mut heap).as_range().range();
        assert_eq!(&heap[text], b"seat");
        assert!(reader.load(2, &mut heap).is_null());
        cells.forget(1);
        cells.of(1).store(1, Datum::range(0, 0), Some(b"row 2"));
        let text = reader.load(1, &mut heap).as_range().range();
        assert_eq!(&heap[text], b"row 2", "made anew");
    }
}
