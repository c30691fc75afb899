//! Instructions, counted by the code that the compiler puts into each basic block.
//!
//! Role         what code takes between two events. Built with the flags of `scripts/machine.sh`,
//!              each block begins by calling the hook below with a word of its own. The first call
//!              reads in the program's text how many instructions the block has ([`text`]) and
//!              leaves the number in the word; later calls add it. Built without, nothing calls
//!              it: then code costs nothing, and figures must not be asked for ([`are_counted`])
//! Invariants   I1 nothing that a hook runs has blocks that call one: the script has this crate and
//!                 the decoder built without. So a count is what the simulated program did, and
//!                 reading the text ends
//! Concurrency  counts are those of the operating system's thread, which runs a machine or none
//! Source       simulators that run programs, as Tango and Proteus, price blocks so

#[cfg(any(test, all(hotrow_machine, target_arch = "x86_64")))]
mod text;

use std::cell::Cell;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// Whether the compiler has put hooks anywhere.
static HAS_HOOKS: AtomicBool = AtomicBool::new(false);

thread_local! {
    /// What ran since the last event.
    static RAN: Cell<u64> = const { Cell::new(0) };
}

/// How many instructions ran since the last time, which is now, whether they take time or not.
#[inline]
pub(crate) fn take() -> u64 {
    RAN.take()
}

/// Counts what takes as long as so many instructions.
#[cfg(hotrow_machine)]
#[inline]
fn add(instructions: u64) {
    RAN.set(RAN.get() + instructions);
}

/// Counts what takes as long as so many instructions, where it takes any time.
#[cfg(hotrow_machine)]
#[inline]
pub(crate) fn add_if_timed(instructions: u64) {
    if crate::hook::takes_time() {
        add(instructions);
    }
}

/// Whether this program counts its instructions.
pub(crate) fn are_counted() -> bool {
    HAS_HOOKS.load(Relaxed)
}

/// The compiler has this called as the program starts, once for each file that has hooks, with the
/// words of its blocks: they are 0.
#[cfg(hotrow_machine)]
// SAFETY: no other function of the program has the name, which sanitizers' runtimes define where
// they are linked; they are not.
#[unsafe(no_mangle)]
extern "C" fn __sanitizer_cov_trace_pc_guard_init(_first: *mut u32, _end: *mut u32) {
    HAS_HOOKS.store(true, Relaxed);
}

/// The compiler's call at the beginning of a block, whose word this is.
#[cfg(all(hotrow_machine, target_arch = "x86_64"))]
// SAFETY: the name as above. The word is the block's own; behind the call is where it goes on.
#[unsafe(no_mangle)]
#[unsafe(naked)]
unsafe extern "C" fn __sanitizer_cov_trace_pc_guard(word: *mut u32) {
    std::arch::naked_asm!(
        "mov rsi, qword ptr [rsp]",
        "jmp {begin}",
        begin = sym begin,
    )
}

/// A block begins.
///
/// # Safety
///
/// The word must be the block's own, and `behind` the place in the program's text from which it
/// goes on.
#[cfg(all(hotrow_machine, target_arch = "x86_64"))]
unsafe extern "C" fn begin(word: *mut u32, behind: *const u8) {
    // SAFETY: as the caller promises; only the thread that runs a machine comes here.
    let word = unsafe { &mut *word };
    if *word == 0 {
        *word = read_block(behind);
    }
    add(u64::from(*word));
}

/// How many instructions a block has that goes on there in the program's text.
#[cfg(all(hotrow_machine, target_arch = "x86_64"))]
#[cold]
#[inline(never)]
fn read_block(from: *const u8) -> u32 {
    let hook = __sanitizer_cov_trace_pc_guard as *const () as u64;
    text::instructions_of_block(text::program, from.addr() as u64, hook)
}

/// The compiler's call at the beginning of a block. Where there is no decoder of the processor's
/// instructions, all blocks have as many, which is what they have on average.
#[cfg(all(hotrow_machine, not(target_arch = "x86_64")))]
// SAFETY: the name as above.
#[unsafe(no_mangle)]
extern "C" fn __sanitizer_cov_trace_pc_guard(_word: *mut u32) {
    const ON_AVERAGE: u64 = 5;
    add_if_timed(ON_AVERAGE);
}
