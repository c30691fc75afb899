//! A space of words that grows by doubling and never moves.
//!
//! Role         resolves positions, the numbers inside record ids and bucket numbers, to words
//! States       segment `k` is absent, then present for good; it holds the positions
//!              `FIRST << k .. FIRST << (k + 1)`
//! Invariants   I1 a position resolves to the same word for as long as the space lives
//!              I2 no position below `FIRST` resolves, so 0 can mean "none"
//! Concurrency  segments are set once; `OnceLock` orders that before their use
//!
//! The top bit of a position names its segment and the rest is the offset in it: one bit scan
//! instead of a directory whose lines would have to be cached too. A segment is reserved whole but
//! committed by the operating system as it is touched, and charged to the budget as it is handed
//! out, so doubling wastes address space only.

use std::sync::OnceLock;
use std::sync::atomic::AtomicU64;

use super::zeroed_words::ZeroedWords;

/// Log2 of [`FIRST`].
const FIRST_LOG2: u32 = 13;
/// The first position, and the words of the first segment: 64 KiB.
pub(crate) const FIRST: u64 = 1 << FIRST_LOG2;
/// Log2 of the end of all positions: 40 bits are 8 TiB of words, and leave a hash index entry
/// 24 bits for its tag.
pub(crate) const POSITION_BITS: u32 = 40;
/// Rounded up to a power of two, so that masking proves an index to be in bounds.
const SEGMENTS: usize = ((POSITION_BITS - FIRST_LOG2) as usize).next_power_of_two();

/// See the module.
#[derive(Debug)]
pub(crate) struct Segments {
    segments: [OnceLock<ZeroedWords>; SEGMENTS],
}

impl Segments {
    /// An empty space.
    pub(crate) fn new() -> Self {
        Self { segments: [const { OnceLock::new() }; SEGMENTS] }
    }

    /// The words from `position` to the end of its segment.
    ///
    /// # Panics
    ///
    /// If the segment of `position` is absent: no caller ever was given such a position.
    #[inline(always)]
    pub(crate) fn words_from(&self, position: u64) -> &[AtomicU64] {
        let (segment, offset) = locate(position);
        match self.segments[segment].get() {
            Some(words) => &words[offset..],
            None => absent(position),
        }
    }

    /// Makes the segment of `position` present; `None` if the allocator has no room.
    pub(crate) fn ensure(&self, position: u64) -> Option<()> {
        assert!(position >= FIRST, "positions below the first segment mean nothing");
        let (segment, _) = locate(position);
        if self.segments[segment].get().is_none() {
            // Two threads may both allocate; the later block is dropped at once.
            let _ = self.segments[segment].set(ZeroedWords::try_new(segment_words(segment))?);
        }
        Some(())
    }
}

#[inline(always)]
fn locate(position: u64) -> (usize, usize) {
    // `| FIRST` spares the check for zero; a position below FIRST gets an offset past the end.
    let top = (position | FIRST).ilog2();
    ((top - FIRST_LOG2) as usize % SEGMENTS, (position ^ (1 << top)) as usize)
}

fn segment_words(segment: usize) -> usize {
    (FIRST as usize) << segment
}

/// Words of the segment that holds `position`.
pub(crate) fn segment_words_at(position: u64) -> u64 {
    segment_words(locate(position).0) as u64
}

#[cold]
#[inline(never)]
fn absent(position: u64) -> ! {
    panic!("position {position:#x} was never handed out by this store")
}
