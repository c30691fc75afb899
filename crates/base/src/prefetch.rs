//! Prefetching: asking the processor for a cache line before it is needed.
//!
//! Role         engines prefetch the buckets and records of a whole footprint before they execute
//!              it, so that the misses of one transaction overlap. A hint: it changes no value,
//!              and on processors without the instruction it does nothing

/// Asks for the cache line in which `place` begins.
#[inline(always)]
#[cfg(not(hotrow_machine))]
#[cfg_attr(not(target_arch = "x86_64"), expect(unused_variables, reason = "no such hint there"))]
pub fn prefetch<T: ?Sized>(place: &T) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: the instruction accesses nothing in the language's sense and faults on no
        // address, and the SSE it needs is part of x86-64.
        // JUSTIFICATION: no safe way to it; what it gains in an engine is not measured yet.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(std::ptr::from_ref(place).cast()) };
    }
}

/// Asks for the cache line in which `place` begins.
#[inline]
#[cfg(hotrow_machine)]
pub fn prefetch<T: ?Sized>(place: &T) {
    let address = std::ptr::from_ref(place).cast::<u8>().addr();
    hotrow_machine::hook::access(address, hotrow_machine::Access::Prefetch);
}
