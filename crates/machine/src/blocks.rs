//! Basic blocks, counted by the code that the compiler puts into each.
//!
//! Built with `-Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=3
//! -Cllvm-args=-sanitizer-coverage-trace-pc` and without optimisation across crates, each block
//! that is not always run with another one calls the function below. Built without, nothing calls
//! it: then code between events costs nothing, and figures must not be asked for
//! ([`are_counted`]).

use std::cell::Cell;

thread_local! {
    static BLOCKS: Cell<u64> = const { Cell::new(0) };
}

/// The compiler's call. Its name is the compiler's.
#[cfg(hotrow_machine)]
// SAFETY: no other function of the program has the name, which sanitizers' runtimes define where
// they are linked; they are not.
#[unsafe(no_mangle)]
extern "C" fn __sanitizer_cov_trace_pc() {
    BLOCKS.set(BLOCKS.get() + 1);
}

/// Blocks since the last time, which is now.
#[inline]
pub(crate) fn take() -> u64 {
    BLOCKS.replace(0)
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
    BLOCKS.set(before);
    counted > 0
}
