//! The standard library's atomics, cells and threads; or loom's under `--cfg loom`, or those of the
//! virtual machine under `--cfg hotrow_machine`.
//!
//! Role         the only place that decides between the three; every crate that shares words
//!              between threads names nothing else
//! Invariants   I1  in plain builds every item here compiles to the plain standard one: no wrapper
//!                  costs an instruction

#[cfg(loom)]
#[path = "facade/loom_atomic.rs"]
pub mod atomic;
#[cfg(hotrow_machine)]
#[path = "facade/machine_atomic.rs"]
pub mod atomic;
#[cfg(hotrow_machine)]
mod machine;

#[cfg(not(any(loom, hotrow_machine)))]
pub use std::sync::atomic;
#[cfg(not(any(loom, hotrow_machine)))]
pub use std::sync::{Arc, Condvar, Mutex, MutexGuard, RwLock, RwLockReadGuard};
#[cfg(not(any(loom, hotrow_machine)))]
pub use std::thread;

/// Atomics of words that no model of loom's looks at.
#[cfg(not(loom))]
pub use atomic as plain_atomic;
#[cfg(loom)]
pub use std::sync::atomic as plain_atomic;

#[cfg(hotrow_machine)]
pub use machine::{Condvar, Mutex, MutexGuard, OnceLock, RwLock, RwLockReadGuard, thread};
#[cfg(hotrow_machine)]
pub use std::sync::Arc;
#[cfg(not(hotrow_machine))]
pub use std::sync::OnceLock;

#[cfg(loom)]
pub use loom::cell::UnsafeCell;
#[cfg(loom)]
pub use loom::sync::{Arc, Condvar, Mutex};
#[cfg(loom)]
pub use loom::thread;

/// Preemptions of a model, at most.
#[cfg(loom)]
pub const PREEMPTIONS: usize = 3;

/// Runs `body` under loom in every interleaving of at most [`PREEMPTIONS`]
/// (`LOOM_MAX_PREEMPTIONS` sets another bound). A bound of two missed the lost wake-up that shaped
/// `queue/blocking.rs`, three found it; with four threads even three takes minutes.
#[cfg(loom)]
pub fn model(body: impl Fn() + Send + Sync + 'static) {
    model_within(PREEMPTIONS, body);
}

/// As [`model`], with another bound.
#[cfg(loom)]
pub fn model_within(preemptions: usize, body: impl Fn() + Send + Sync + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = builder.preemption_bound.or(Some(preemptions));
    builder.max_branches = 10_000;
    builder.check(body);
}

/// One pause of a spin loop (`pause` on x86-64); under loom it lets another thread run.
#[inline]
pub fn spin_hint() {
    #[cfg(not(any(loom, hotrow_machine)))]
    std::hint::spin_loop();
    #[cfg(hotrow_machine)]
    hotrow_machine::hook::spin();
    #[cfg(loom)]
    loom::thread::yield_now();
}

/// Some pauses of a spin loop that ends by what it looks at or by the clock, and not after so many
/// turns: the virtual machine leaves turns out that see nothing new.
#[inline]
pub fn spin_hints(pauses: u32) {
    #[cfg(not(hotrow_machine))]
    (0..pauses).for_each(|_| spin_hint());
    #[cfg(hotrow_machine)]
    hotrow_machine::hook::spin_uncounted(pauses);
}

/// A thread takes over what another one has written and handed on by its address: plain memory,
/// of which the virtual machine would know nothing else. It reads all of it, and changes its
/// beginning.
#[inline(always)]
#[cfg_attr(not(hotrow_machine), expect(unused_variables, reason = "only the machine asks"))]
pub fn take_over<T: ?Sized>(taken: &T) {
    #[cfg(hotrow_machine)]
    {
        let first = std::ptr::from_ref(taken).cast::<u8>().addr();
        tell_lines(first, size_of_val(taken), hotrow_machine::Access::Load);
        hotrow_machine::hook::access(first, hotrow_machine::Access::Store);
    }
}

/// Tells the machine of so many bytes.
#[cfg(hotrow_machine)]
#[inline]
fn tell_lines(first: usize, bytes: usize, what: hotrow_machine::Access) {
    const LINE: usize = 64;
    for line in 0..(first % LINE + bytes).div_ceil(LINE).max(1) {
        hotrow_machine::hook::access(first + line * LINE, what);
    }
}

/// A cell whose content is reached through a closure, as loom's is, so that loom sees each access.
#[cfg(not(loom))]
#[derive(Debug, Default)]
#[repr(transparent)]
pub struct UnsafeCell<T: ?Sized>(std::cell::UnsafeCell<T>);

#[cfg(not(loom))]
impl<T> UnsafeCell<T> {
    /// A cell holding `value`.
    pub const fn new(value: T) -> Self {
        Self(std::cell::UnsafeCell::new(value))
    }

    /// The content, given up by the cell.
    pub fn into_inner(self) -> T {
        self.0.into_inner()
    }
}

#[cfg(not(loom))]
impl<T: ?Sized> UnsafeCell<T> {
    /// Runs `f` on a pointer that may be read while no one writes.
    #[inline(always)]
    pub fn with<R>(&self, f: impl FnOnce(*const T) -> R) -> R {
        #[cfg(hotrow_machine)]
        self.tell(hotrow_machine::Access::Load);
        f(self.0.get())
    }

    /// Runs `f` on a pointer that may be written while no one else reads or writes.
    #[inline(always)]
    pub fn with_mut<R>(&self, f: impl FnOnce(*mut T) -> R) -> R {
        #[cfg(hotrow_machine)]
        self.tell(hotrow_machine::Access::Store);
        f(self.0.get())
    }

    #[cfg(hotrow_machine)]
    #[inline]
    fn tell(&self, what: hotrow_machine::Access) {
        tell_lines(self.0.get().cast::<u8>().addr(), size_of_val(&self.0), what);
    }
}
