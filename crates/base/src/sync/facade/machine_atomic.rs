//! Atomics of the virtual machine: each access is told to it first, then done.
//!
//! Role         what the machine sees of the program. Between the telling and the access no other
//!              thread of the machine runs
//! Concurrency  the accesses are the standard library's, with the orders that were asked for:
//!              outside of a machine a program built so works as any other

use std::sync::atomic as inner;
pub use std::sync::atomic::Ordering;

use hotrow_machine::Access;
use hotrow_machine::hook::access;

/// The standard library's `fence`, told to the machine where it orders all memory.
pub fn fence(order: Ordering) {
    if order == Ordering::SeqCst {
        hotrow_machine::hook::fence();
    }
    inner::fence(order);
}

macro_rules! told {
    ($name:ident, $value:ty) => {
        #[doc = concat!("The standard library's `", stringify!($name), "`, told to the machine.")]
        #[derive(Default)]
        #[repr(transparent)]
        pub struct $name(inner::$name);

        impl std::fmt::Debug for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                self.0.fmt(f)
            }
        }

        impl From<$value> for $name {
            fn from(value: $value) -> Self {
                Self::new(value)
            }
        }

        #[expect(missing_docs, reason = "each is the standard method of the same name")]
        impl $name {
            #[inline]
            pub const fn new(value: $value) -> Self {
                Self(inner::$name::new(value))
            }

            /// For calls of the system that take the standard library's.
            #[inline]
            pub fn inner(&self) -> &inner::$name {
                &self.0
            }

            #[inline]
            fn tell(&self, what: Access) {
                access(std::ptr::from_ref(self).addr(), what);
            }

            #[inline]
            pub fn load(&self, order: Ordering) -> $value {
                self.tell(Access::Load);
                self.0.load(order)
            }

            #[inline]
            pub fn store(&self, value: $value, order: Ordering) {
                let is_ordered = order == Ordering::SeqCst;
                self.tell(if is_ordered { Access::Change } else { Access::Store });
                self.0.store(value, order);
            }

            #[inline]
            pub fn swap(&self, value: $value, order: Ordering) -> $value {
                self.tell(Access::Change);
                self.0.swap(value, order)
            }

            #[inline]
            pub fn compare_exchange(
                &self,
                current: $value,
                new: $value,
                success: Ordering,
                failure: Ordering,
            ) -> Result<$value, $value> {
                self.tell(Access::Change);
                self.0.compare_exchange(current, new, success, failure)
            }

            #[inline]
            pub fn compare_exchange_weak(
                &self,
                current: $value,
                new: $value,
                success: Ordering,
                failure: Ordering,
            ) -> Result<$value, $value> {
                self.compare_exchange(current, new, success, failure)
            }

            #[inline]
            pub fn fetch_update(
                &self,
                success: Ordering,
                failure: Ordering,
                mut f: impl FnMut($value) -> Option<$value>,
            ) -> Result<$value, $value> {
                let mut before = self.load(failure);
                while let Some(next) = f(before) {
                    match self.compare_exchange_weak(before, next, success, failure) {
                        Ok(before) => return Ok(before),
                        Err(found) => before = found,
                    }
                }
                Err(before)
            }

            #[inline]
            pub fn get_mut(&mut self) -> &mut $value {
                self.0.get_mut()
            }

            #[inline]
            pub fn into_inner(self) -> $value {
                self.0.into_inner()
            }

            #[inline]
            pub const fn as_ptr(&self) -> *mut $value {
                self.0.as_ptr()
            }
        }
    };
}

macro_rules! counted {
    ($name:ident, $value:ty, $($method:ident),*) => {
        told!($name, $value);

        #[expect(missing_docs, reason = "each is the standard method of the same name")]
        impl $name {
            $(
                #[inline]
                pub fn $method(&self, value: $value, order: Ordering) -> $value {
                    self.tell(Access::Change);
                    self.0.$method(value, order)
                }
            )*
        }
    };
    ($name:ident, $value:ty) => {
        counted!(
            $name, $value, fetch_add, fetch_sub, fetch_or, fetch_and, fetch_xor, fetch_max,
            fetch_min
        );
    };
}

counted!(AtomicU8, u8);
counted!(AtomicU16, u16);
counted!(AtomicU32, u32);
counted!(AtomicU64, u64);
counted!(AtomicUsize, usize);
counted!(AtomicI32, i32);
counted!(AtomicI64, i64);
counted!(AtomicIsize, isize);
counted!(AtomicBool, bool, fetch_or, fetch_and, fetch_xor);

/// The standard library's `AtomicPtr`, told to the machine.
#[derive(Debug)]
#[repr(transparent)]
pub struct AtomicPtr<T>(inner::AtomicPtr<T>);

#[expect(missing_docs, reason = "each is the standard method of the same name")]
impl<T> AtomicPtr<T> {
    #[inline]
    pub const fn new(value: *mut T) -> Self {
        Self(inner::AtomicPtr::new(value))
    }

    #[inline]
    pub fn load(&self, order: Ordering) -> *mut T {
        access(std::ptr::from_ref(self).addr(), Access::Load);
        self.0.load(order)
    }

    #[inline]
    pub fn store(&self, value: *mut T, order: Ordering) {
        access(std::ptr::from_ref(self).addr(), Access::Store);
        self.0.store(value, order);
    }

    #[inline]
    pub fn swap(&self, value: *mut T, order: Ordering) -> *mut T {
        access(std::ptr::from_ref(self).addr(), Access::Change);
        self.0.swap(value, order)
    }

    #[inline]
    pub fn compare_exchange(
        &self,
        current: *mut T,
        new: *mut T,
        success: Ordering,
        failure: Ordering,
    ) -> Result<*mut T, *mut T> {
        access(std::ptr::from_ref(self).addr(), Access::Change);
        self.0.compare_exchange(current, new, success, failure)
    }

    #[inline]
    pub fn get_mut(&mut self) -> &mut *mut T {
        self.0.get_mut()
    }
}
