//! A block of zeroed atomic words that starts on a cache line and never moves.
//!
//! Role         the only allocation of records' and buckets' memory; the operating system commits
//!              a large block page by page, on first touch and on the toucher's NUMA node
//! Invariants   I1 `start .. start + words` lies inside the allocation and stays valid and
//!              initialised until drop
//!              I2 `start` is a multiple of the cache line
//!
//! Large blocks ask for huge pages, since their look-ups miss the TLB otherwise; the allocator asks
//! for none (the workspace's Cargo.toml says why). Not measured.

use hotrow_base::sync::facade::atomic::AtomicU64;
use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::ops::Deref;
use std::ptr::NonNull;

/// Bytes of a cache line.
pub(crate) const LINE_BYTES: usize = 64;
/// Words of a cache line.
pub(crate) const LINE_WORDS: usize = LINE_BYTES / size_of::<u64>();

/// Bytes of a huge page where the systems that have `madvise` for it have 4 KiB pages.
#[cfg(target_os = "linux")]
const HUGE_PAGE_BYTES: usize = 2 << 20;

/// Whether a block's memory is to come in huge pages.
#[derive(Clone, Copy)]
enum HugePages {
    Wanted,
    Unwanted,
}

/// A block of zeroed words as records, buckets and nodes lie in: on a cache line, never moved, in
/// huge pages where the system has them.
#[derive(Debug)]
pub struct ZeroedWords {
    start: NonNull<AtomicU64>,
    words: usize,
    /// Words between the start of the allocation and `start`.
    skipped: usize,
}

// SAFETY: the block is owned memory, reached only as `&[AtomicU64]`, which threads may share.
unsafe impl Send for ZeroedWords {}
// SAFETY: as above.
unsafe impl Sync for ZeroedWords {}

impl ZeroedWords {
    /// A block of `words` zeroes (at least one), or `None` if the allocator has no room.
    pub fn try_new(words: usize) -> Option<Self> {
        let layout = Self::layout(words)?;
        // SAFETY: the layout is not of size zero, as it holds at least the line to skip.
        let allocation = NonNull::new(unsafe { alloc_zeroed(layout) })?.cast::<AtomicU64>();
        let skipped = allocation.align_offset(LINE_BYTES);
        assert!(skipped < LINE_WORDS, "a word-aligned address reaches the next line within it");
        // SAFETY: the allocation is LINE_WORDS longer than `words` and `skipped` is below that.
        let start = unsafe { allocation.add(skipped) };
        let made = Self { start, words, skipped };
        made.advise(HugePages::Wanted);
        Some(made)
    }

    /// Tells the system whether the block's huge pages, those that it covers whole, are wanted.
    /// Advice only: a refusal changes nothing but speed.
    #[cfg(target_os = "linux")]
    fn advise(&self, wanted: HugePages) {
        use rustix::mm::{Advice, madvise};
        let bytes = self.words * size_of::<AtomicU64>();
        let before = self.start.as_ptr().addr().wrapping_neg() % HUGE_PAGE_BYTES;
        let whole = bytes.saturating_sub(before) / HUGE_PAGE_BYTES * HUGE_PAGE_BYTES;
        if whole == 0 {
            return;
        }
        let advice = match wanted {
            HugePages::Wanted => Advice::LinuxHugepage,
            HugePages::Unwanted => Advice::LinuxNoHugepage,
        };
        // SAFETY: by I1 the bytes from `before` on, `whole` of them, lie in the block, which is
        // ours; advice on page sizes changes no contents.
        let _ = unsafe { madvise(self.start.as_ptr().byte_add(before).cast(), whole, advice) };
    }

    #[cfg(not(target_os = "linux"))]
    fn advise(&self, _: HugePages) {}

    /// The alignment asked for is that of a word and a line is skipped by hand, because the
    /// standard library clears (and so commits) over-aligned blocks itself, while it takes others
    /// from `calloc`, which takes large ones untouched from the operating system.
    fn layout(words: usize) -> Option<Layout> {
        Layout::array::<AtomicU64>(words.checked_add(LINE_WORDS)?).ok()
    }
}

impl Deref for ZeroedWords {
    type Target = [AtomicU64];

    #[inline(always)]
    fn deref(&self) -> &[AtomicU64] {
        // SAFETY: I1; zero bytes are a valid AtomicU64.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.words) }
    }
}

impl Drop for ZeroedWords {
    fn drop(&mut self) {
        self.advise(HugePages::Unwanted); // whoever has the memory next may be small
        let layout = Self::layout(self.words).expect("the block was allocated with this layout");
        // SAFETY: `start - skipped` is what `try_new` got for this layout, and nobody borrows it.
        unsafe { dealloc(self.start.as_ptr().sub(self.skipped).cast(), layout) };
    }
}
