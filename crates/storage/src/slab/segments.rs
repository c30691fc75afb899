//! A space of words that grows by doubling and never moves.
//!
//! Role         resolves positions, the numbers inside record ids and bucket numbers, to words
//! States       segment `k` is absent, then present for good; it holds the positions
//!              `FIRST << k .. FIRST << (k + 1)`
//! Invariants   I1 a position resolves to the same word for as long as the space lives
//!              I2 no position below `FIRST` resolves, so 0 can mean "none"
//!              I3 `starts[top]` is null, or the first word of the segment whose positions have
//!              the top bit `top`, which is `1 << top` words long and lives as long as the space
//! Concurrency  segments are set once; then, Release, their starts, which are loaded Acquire
//!
//! The top bit of a position names its segment and the rest is the offset in it: one bit scan
//! instead of a directory whose lines would have to be cached too. A segment is reserved whole but
//! committed by the operating system as it is touched, and charged to the budget as it is handed
//! out, so doubling wastes address space only.

use hotrow_base::sync::facade::atomic::{
    AtomicPtr, AtomicU64,
    Ordering::{Acquire, Release},
};
use std::ptr;
use std::sync::OnceLock;

use super::zeroed_words::ZeroedWords;

/// Log2 of [`FIRST`].
const FIRST_LOG2: u32 = 13;
/// The first position, and the words of the first segment: 64 KiB.
pub(crate) const FIRST: u64 = 1 << FIRST_LOG2;
/// Log2 of the end of all positions: 40 bits are 8 TiB of words, and leave a hash index entry
/// 24 bits for its tag.
pub(crate) const POSITION_BITS: u32 = 40;
const SEGMENTS: usize = (POSITION_BITS - FIRST_LOG2) as usize;

/// Words by position; the position's top bit says where its segment begins.
#[derive(Debug)]
pub(crate) struct Segments {
    /// By the top bit of their positions, so that no position needs a check.
    starts: [AtomicPtr<AtomicU64>; u64::BITS as usize],
    /// What `starts` points into.
    segments: [OnceLock<ZeroedWords>; SEGMENTS],
}

impl Segments {
    /// An empty space.
    pub(crate) fn new() -> Self {
        Self {
            starts: [const { AtomicPtr::new(ptr::null_mut()) }; u64::BITS as usize],
            segments: [const { OnceLock::new() }; SEGMENTS],
        }
    }

    /// The words from `position` to the end of its segment.
    ///
    /// # Panics
    ///
    /// If the segment of `position` is absent: no caller ever was given such a position.
    #[inline(always)]
    pub(crate) fn words_from(&self, position: u64) -> &[AtomicU64] {
        let top = (position | 1).ilog2(); // `| 1` spares the check for zero
        // Acquire; partner: the Release in `ensure`. The words are zeroed.
        let start = self.starts[top as usize].load(Acquire);
        if start.is_null() {
            absent(position);
        }
        let words = 1 << top;
        let offset = (position ^ words) as usize;
        let rest = words as usize - offset;
        // SAFETY: by I3 there are `1 << top` words from `start` on, borrowed no longer than `self`.
        // `top` is the top bit of `position` (it is not 0, whose segment is absent), so the
        // offset, which lacks that bit, is less.
        // JUSTIFICATION: a record or bucket is resolved with 10 instructions instead of 16; each
        // point access of ycsb does both (`hotrow bench ycsb` under callgrind).
        unsafe { std::slice::from_raw_parts(start.add(offset), rest) }
    }

    /// Makes the segment of `position` present; `None` if the allocator has no room.
    pub(crate) fn ensure(&self, position: u64) -> Option<()> {
        assert!(position >= FIRST, "positions below the first segment mean nothing");
        let top = position.ilog2();
        let segment = &self.segments[(top - FIRST_LOG2) as usize];
        if segment.get().is_none() {
            // Two threads may both allocate; the later block is dropped at once.
            let _ = segment.set(ZeroedWords::try_new(1 << top)?);
        }
        let start = segment.get().expect("one of the two was set").as_ptr();
        // Release; partner: the Acquire in `words_from`.
        self.starts[top as usize].store(start.cast_mut(), Release);
        Some(())
    }
}

/// Words of the segment that holds `position`.
pub(crate) fn segment_words_at(position: u64) -> u64 {
    1 << position.ilog2()
}

#[cold]
#[inline(never)]
fn absent(position: u64) -> ! {
    panic!("position {position:#x} was never handed out by this store")
}
