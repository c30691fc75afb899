//! Loom's atomics, with a step at a common gate before each operation.
//!
//! Role         makes loom try every switch of threads. Loom 0.7 remembers only the last access to
//!              an object; when a thread loads a word and then stores to it, as every lock does,
//!              its own load hides the loads of others and loom skips the orders in which the store
//!              comes between them (removing both fences of the version latch went unnoticed).
//!              A store to one common word depends on all earlier ones, so no switch is skipped.
//! Invariants   I1  the gate is stored to Relaxed and never loaded, so it synchronises nothing and
//!                  hides no missing fence
//!              I2  it is made with the model's first atomic, before threads are spawned, so its
//!                  creation orders nothing either

pub use loom::sync::atomic::{Ordering, fence};

use loom::sync::atomic as inner;

loom::lazy_static! {
    static ref GATE: inner::AtomicUsize = inner::AtomicUsize::new(0);
}

fn step() {
    GATE.store(0, Ordering::Relaxed);
}

macro_rules! gated {
    ($name:ident, $value:ty) => {
        #[doc = concat!("Loom's `", stringify!($name), "`, gated.")]
        #[derive(Debug)]
        #[repr(transparent)]
        pub struct $name(inner::$name);

        #[expect(missing_docs, reason = "each is the standard method of the same name")]
        impl $name {
            #[track_caller]
            pub fn new(value: $value) -> Self {
                step();
                Self(inner::$name::new(value))
            }

            #[track_caller]
            pub fn load(&self, order: Ordering) -> $value {
                step();
                self.0.load(order)
            }

            #[track_caller]
            pub fn store(&self, value: $value, order: Ordering) {
                step();
                self.0.store(value, order);
            }

            #[track_caller]
            pub fn swap(&self, value: $value, order: Ordering) -> $value {
                step();
                self.0.swap(value, order)
            }

            #[track_caller]
            pub fn compare_exchange(
                &self,
                current: $value,
                new: $value,
                success: Ordering,
                failure: Ordering,
            ) -> Result<$value, $value> {
                step();
                self.0.compare_exchange(current, new, success, failure)
            }

            #[track_caller]
            pub fn compare_exchange_weak(
                &self,
                current: $value,
                new: $value,
                success: Ordering,
                failure: Ordering,
            ) -> Result<$value, $value> {
                self.compare_exchange(current, new, success, failure)
            }

            #[track_caller]
            pub fn fetch_add(&self, value: $value, order: Ordering) -> $value {
                step();
                self.0.fetch_add(value, order)
            }

            #[track_caller]
            pub fn fetch_sub(&self, value: $value, order: Ordering) -> $value {
                step();
                self.0.fetch_sub(value, order)
            }

            #[track_caller]
            pub fn fetch_or(&self, value: $value, order: Ordering) -> $value {
                step();
                self.0.fetch_or(value, order)
            }

            #[track_caller]
            pub fn fetch_and(&self, value: $value, order: Ordering) -> $value {
                step();
                self.0.fetch_and(value, order)
            }
        }
    };
}

gated!(AtomicU32, u32);
gated!(AtomicU64, u64);
gated!(AtomicUsize, usize);
