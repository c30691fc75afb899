//! Mutexes and condition variables whose waiting the virtual machine sees.
//!
//! Role         the standard library's would put the operating system's one thread to sleep, and
//!              with it all threads of the machine
//! Invariants   I1  `word` is 0 free, 1 taken, 2 taken and somebody may sleep
//! Source       Drepper, "Futexes Are Tricky", mutex 2

use std::ops::{Deref, DerefMut};
use std::sync::{LockResult, PoisonError, TryLockError, TryLockResult};
use std::time::Duration;

use crate::sync::facade::atomic::Ordering;
use crate::sync::futex::Futex;

/// What primitives ask of threads.
pub mod thread {
    pub use hotrow_machine::hook::yield_now;
    pub use std::thread::{JoinHandle, scope, spawn};
}

/// As the standard library's; never poisoned.
#[derive(Debug)]
pub struct Mutex<T: ?Sized> {
    word: Futex,
    value: std::cell::UnsafeCell<T>,
}

// SAFETY: as the standard library's mutex: one thread at a time reaches the value.
unsafe impl<T: ?Sized + Send> Send for Mutex<T> {}
// SAFETY: as above.
unsafe impl<T: ?Sized + Send> Sync for Mutex<T> {}

/// As the standard library's.
#[derive(Debug)]
pub struct MutexGuard<'a, T: ?Sized> {
    mutex: &'a Mutex<T>,
}

#[expect(missing_docs, reason = "each is the standard method of the same name")]
impl<T> Mutex<T> {
    pub const fn new(value: T) -> Self {
        Self { word: Futex::new(0), value: std::cell::UnsafeCell::new(value) }
    }

    pub fn into_inner(self) -> LockResult<T> {
        Ok(self.value.into_inner())
    }
}

#[expect(missing_docs, reason = "each is the standard method of the same name")]
impl<T: ?Sized> Mutex<T> {
    pub fn lock(&self) -> LockResult<MutexGuard<'_, T>> {
        self.take();
        Ok(MutexGuard { mutex: self })
    }

    pub fn try_lock(&self) -> TryLockResult<MutexGuard<'_, T>> {
        match self.word.compare_exchange(0, 1, Ordering::Acquire, Ordering::Relaxed) {
            Ok(_) => Ok(MutexGuard { mutex: self }),
            Err(_) => Err(TryLockError::WouldBlock),
        }
    }

    pub fn get_mut(&mut self) -> LockResult<&mut T> {
        Ok(self.value.get_mut())
    }

    fn take(&self) {
        if self.word.compare_exchange(0, 1, Ordering::Acquire, Ordering::Relaxed).is_ok() {
            return;
        }
        while self.word.swap(2, Ordering::Acquire) != 0 {
            self.word.wait(2, None);
        }
    }

    fn give_back(&self) {
        if self.word.swap(0, Ordering::Release) == 2 {
            self.word.wake_one();
        }
    }
}

impl<T: Default> Default for Mutex<T> {
    fn default() -> Self {
        Self::new(T::default())
    }
}

impl<T: ?Sized> Deref for MutexGuard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        // SAFETY: this thread has the mutex.
        unsafe { &*self.mutex.value.get() }
    }
}

impl<T: ?Sized> DerefMut for MutexGuard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: this thread has the mutex, and the guard is borrowed alone.
        unsafe { &mut *self.mutex.value.get() }
    }
}

impl<T: ?Sized> Drop for MutexGuard<'_, T> {
    fn drop(&mut self) {
        self.mutex.give_back();
    }
}

/// As the standard library's.
#[derive(Debug, Default)]
pub struct Condvar {
    turns: Futex,
}

#[expect(missing_docs, reason = "each is the standard method of the same name")]
impl Condvar {
    pub const fn new() -> Self {
        Self { turns: Futex::new(0) }
    }

    pub fn wait<'a, T>(&self, guard: MutexGuard<'a, T>) -> LockResult<MutexGuard<'a, T>> {
        self.sleep(guard, None)
    }

    pub fn wait_timeout<'a, T>(
        &self,
        guard: MutexGuard<'a, T>,
        span: Duration,
    ) -> LockResult<(MutexGuard<'a, T>, ())> {
        match self.sleep(guard, Some(span)) {
            Ok(guard) => Ok((guard, ())),
            Err(poison) => Err(PoisonError::new((poison.into_inner(), ()))),
        }
    }

    pub fn notify_one(&self) {
        self.turns.fetch_add(1, Ordering::Release);
        self.turns.wake_one();
    }

    pub fn notify_all(&self) {
        self.turns.fetch_add(1, Ordering::Release);
        self.turns.wake_all();
    }

    fn sleep<'a, T>(
        &self,
        guard: MutexGuard<'a, T>,
        span: Option<Duration>,
    ) -> LockResult<MutexGuard<'a, T>> {
        let (mutex, seen) = (guard.mutex, self.turns.load(Ordering::Acquire));
        drop(guard);
        self.turns.wait(seen, span);
        mutex.lock()
    }
}

/// A value that the first who asks makes; the others wait for him where the machine sees it.
#[derive(Debug)]
pub struct OnceLock<T> {
    makes: Mutex<()>,
    value: std::sync::OnceLock<T>,
}

#[expect(missing_docs, reason = "each is the standard method of the same name")]
impl<T> OnceLock<T> {
    pub const fn new() -> Self {
        Self { makes: Mutex::new(()), value: std::sync::OnceLock::new() }
    }

    pub fn get(&self) -> Option<&T> {
        self.value.get()
    }

    pub fn get_or_init(&self, make: impl FnOnce() -> T) -> &T {
        if self.value.get().is_none() {
            let _makes = locked(&self.makes);
            if self.value.get().is_none() {
                let made = make();
                return self.value.get_or_init(|| made);
            }
        }
        self.value.get().expect("it was made")
    }
}

impl<T> Default for OnceLock<T> {
    fn default() -> Self {
        Self::new()
    }
}

/// A lock of readers and writers; here readers stand in line as writers do.
#[derive(Debug, Default)]
pub struct RwLock<T> {
    /// readers, or [`WRITES`]
    state: Mutex<u32>,
    changed: Condvar,
    value: std::cell::UnsafeCell<T>,
}

const WRITES: u32 = u32::MAX;

// SAFETY: as the standard library's lock: readers share the value, or one writer has it.
unsafe impl<T: Send + Sync> Sync for RwLock<T> {}

/// As the standard library's.
#[derive(Debug)]
pub struct RwLockReadGuard<'a, T> {
    lock: &'a RwLock<T>,
}

/// As the standard library's.
#[derive(Debug)]
pub struct RwLockWriteGuard<'a, T> {
    lock: &'a RwLock<T>,
}

#[expect(missing_docs, reason = "each is the standard method of the same name")]
impl<T> RwLock<T> {
    pub const fn new(value: T) -> Self {
        let value = std::cell::UnsafeCell::new(value);
        Self { state: Mutex::new(0), changed: Condvar::new(), value }
    }

    pub fn read(&self) -> LockResult<RwLockReadGuard<'_, T>> {
        let mut state = locked(&self.state);
        while *state == WRITES {
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        *state += 1;
        Ok(RwLockReadGuard { lock: self })
    }

    pub fn write(&self) -> LockResult<RwLockWriteGuard<'_, T>> {
        let mut state = locked(&self.state);
        while *state != 0 {
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        *state = WRITES;
        Ok(RwLockWriteGuard { lock: self })
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<T> Deref for RwLockReadGuard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        // SAFETY: no writer has the lock while there is a reader.
        unsafe { &*self.lock.value.get() }
    }
}

impl<T> Drop for RwLockReadGuard<'_, T> {
    fn drop(&mut self) {
        let mut state = locked(&self.lock.state);
        *state -= 1;
        if *state == 0 {
            self.lock.changed.notify_all();
        }
    }
}

impl<T> Deref for RwLockWriteGuard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        // SAFETY: the one writer.
        unsafe { &*self.lock.value.get() }
    }
}

impl<T> DerefMut for RwLockWriteGuard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: the one writer, whose guard is borrowed alone.
        unsafe { &mut *self.lock.value.get() }
    }
}

impl<T> Drop for RwLockWriteGuard<'_, T> {
    fn drop(&mut self) {
        *locked(&self.lock.state) = 0;
        self.lock.changed.notify_all();
    }
}
