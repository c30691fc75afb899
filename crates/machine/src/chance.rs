//! Chance that is the same in every run.
//!
//! Role         hash tables are seeded with it, and take a block more or less by their seeds
//! Source       getrandom(2), whose place this takes in programs that simulate, for the standard
//!              library as for others. So such a program is good for nothing that has secrets: it
//!              refuses to serve

use std::ffi::{c_uint, c_void};

/// Fills a place with bytes that are always the same. The name is the system library's.
///
/// # Safety
///
/// There must be so many bytes at the place.
#[unsafe(no_mangle)]
// SAFETY: a program's own function comes before the system library's of this name, whose signature
// it has.
unsafe extern "C" fn getrandom(place: *mut c_void, bytes: usize, _flags: c_uint) -> isize {
    // SAFETY: as the caller promises.
    let place = unsafe { std::slice::from_raw_parts_mut(place.cast::<u8>(), bytes) };
    for (at, byte) in place.iter_mut().enumerate() {
        *byte = (at as u8).wrapping_mul(0x9D).wrapping_add(0x51);
    }
    bytes as isize
}
