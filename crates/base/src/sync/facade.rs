//! The standard library's atomics, cells and threads, or loom's under `--cfg loom`.
//!
//! Role         the only place that decides between the two; primitives name nothing else
//! Invariants   I1  outside loom every item here compiles to the plain standard one: no wrapper
//!                  costs an instruction

#[cfg(loom)]
#[path = "facade/loom_atomic.rs"]
pub mod atomic;

#[cfg(not(loom))]
pub use std::sync::atomic;
#[cfg(not(loom))]
pub use std::sync::{Arc, Condvar, Mutex};
#[cfg(not(loom))]
pub use std::thread;

#[cfg(loom)]
pub use loom::cell::UnsafeCell;
#[cfg(loom)]
pub use loom::sync::{Arc, Condvar, Mutex};
#[cfg(loom)]
pub use loom::thread;

/// Runs `body` under loom in every interleaving of at most three preemptions
/// (`LOOM_MAX_PREEMPTIONS` sets another bound). A bound of two missed the lost wake-up that shaped
/// `queue/blocking.rs`, three found it; with four threads even three takes minutes.
#[cfg(loom)]
pub fn model(body: impl Fn() + Send + Sync + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = builder.preemption_bound.or(Some(3));
    builder.max_branches = 10_000;
    builder.check(body);
}

/// One pause of a spin loop (`pause` on x86-64); under loom it lets another thread run.
#[inline]
pub fn spin_hint() {
    #[cfg(not(loom))]
    std::hint::spin_loop();
    #[cfg(loom)]
    loom::thread::yield_now();
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
        f(self.0.get())
    }

    /// Runs `f` on a pointer that may be written while no one else reads or writes.
    #[inline(always)]
    pub fn with_mut<R>(&self, f: impl FnOnce(*mut T) -> R) -> R {
        f(self.0.get())
    }
}
