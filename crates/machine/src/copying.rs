//! Copying and comparing memory, which the C library does: its code has no blocks that the
//! compiler counts.
//!
//! Role         the linker sends calls of these functions here (`--wrap`, in `scripts/machine.sh`),
//!              and from here they go on to the library
//! Source       the library copies 32 bytes a cycle or more once it has begun; to begin takes some
//!              ten cycles, since it goes by lengths that differ from call to call. Copies of known
//!              lengths are the compiler's own code, and do not come here

use std::ffi::{c_int, c_void};

use crate::instructions;

/// What a call takes before it has copied anything.
const INSTRUCTIONS_TO_BEGIN: u64 = 30;
/// What an instruction's time is enough for.
const BYTES_PER_INSTRUCTION: u64 = 12;

/// A C function of two places and a length.
macro_rules! counted {
    ($wrapped:ident calls $real:ident($to:ty) -> $result:ty) => {
        unsafe extern "C" {
            fn $real(a: $to, b: *const c_void, bytes: usize) -> $result;
        }

        // SAFETY: the linker alone makes this name, for calls of the library's function, whose
        // signature it has; it asks nothing of its caller that the library does not.
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $wrapped(a: $to, b: *const c_void, bytes: usize) -> $result {
            instructions::add_if_timed(
                INSTRUCTIONS_TO_BEGIN + bytes as u64 / BYTES_PER_INSTRUCTION,
            );
            // SAFETY: what the caller promised the library.
            unsafe { $real(a, b, bytes) }
        }
    };
}

counted!(__wrap_memcpy calls __real_memcpy(*mut c_void) -> *mut c_void);
counted!(__wrap_memmove calls __real_memmove(*mut c_void) -> *mut c_void);
counted!(__wrap_memcmp calls __real_memcmp(*const c_void) -> c_int);
counted!(__wrap_bcmp calls __real_bcmp(*const c_void) -> c_int);
