//! Basic blocks, counted by the code that the compiler puts into each.
//!
//! Built with `-Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=3
//! -Cllvm-args=-sanitizer-coverage-trace-pc` and without optimisation across crates, each block
//! that is not always run with another one calls the function below. Built without, nothing calls
//! it: then code between events costs nothing, and figures must not be asked for
//! ([`are_counted`]).

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Of the whole program: while a machine runs, nothing else does. Neither a thread's own, nor added
/// to in one step: what is called for each block must call nothing that has blocks itself.
static BLOCKS: AtomicU64 = AtomicU64::new(0);

/// The compiler's call. Its name is the compiler's.
#[cfg(hotrow_machine)]
// SAFETY: no other function of the program has the name, which sanitizers' runtimes define where
// they are linked; they are not.
#[unsafe(no_mangle)]
extern "C" fn __sanitizer_cov_trace_pc() {
    BLOCKS.store(BLOCKS.load(Relaxed) + 1, Relaxed);
}

/// Counts what takes as long as so many blocks.
#[cfg(hotrow_machine)]
#[inline]
pub(crate) fn add(blocks: u64) {
    BLOCKS.store(BLOCKS.load(Relaxed) + blocks, Relaxed);
}

/// Blocks since the last time, which is now.
#[inline]
pub(crate) fn take() -> u64 {
    let blocks = BLOCKS.load(Relaxed);
    BLOCKS.store(0, Relaxed);
    blocks
}

/// Whether this program counts its blocks.
pub(crate) fn are_counted() -> bool {
    #[inline(never)]
    fn some(n: u64) -> u64 {
        (0..std::hint::black_box(n)).fold(1, |a, b| if b % 3 == 0 { a * 3 } else { a ^ b })
    }
    let before = take();
    std::hint::black_box(some(10));
    let counted = take();
    BLOCKS.store(before, Relaxed);
    counted > 0
}
