//! Threads of the virtual machine, with the standard library's names; real ones where no machine
//! runs.
//!
//! Role         stands in for `std::thread` under `--cfg hotrow_machine`
//! Invariants   I1 a scope returns when all its threads have ended: what they borrow lives so long

use std::any::Any;
use std::io;
use std::marker::PhantomData;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, PoisonError};

use hotrow_machine::{ThreadId, hook};

pub use hotrow_machine::hook::{sleep, yield_now};

/// What a thread ended with.
type Ended<T> = Result<T, Box<dyn Any + Send>>;
type Slot<T> = Arc<Mutex<Option<Ended<T>>>>;

/// As the standard library's.
#[derive(Debug)]
pub struct JoinHandle<T>(Joined<T>);

#[derive(Debug)]
enum Joined<T> {
    Real(std::thread::JoinHandle<T>),
    Virtual(ThreadId, Slot<T>),
}

#[expect(missing_docs, reason = "each is the standard method of the same name")]
impl<T> JoinHandle<T> {
    pub fn join(self) -> Ended<T> {
        match self.0 {
            Joined::Real(thread) => thread.join(),
            Joined::Virtual(thread, slot) => joined(thread, &slot),
        }
    }

    pub fn is_finished(&self) -> bool {
        match &self.0 {
            Joined::Real(thread) => thread.is_finished(),
            Joined::Virtual(thread, _) => hook::has_ended(*thread),
        }
    }
}

fn joined<T>(thread: ThreadId, slot: &Slot<T>) -> Ended<T> {
    hook::join(thread);
    let ended = slot.lock().unwrap_or_else(PoisonError::into_inner).take();
    ended.expect("the thread has ended, and is joined once")
}

/// A thread, on a core if one is named.
pub(super) fn spawn<T: Send + 'static>(
    name: String,
    core: Option<usize>,
    body: impl FnOnce() -> T + Send + 'static,
) -> io::Result<JoinHandle<T>> {
    if !hook::is_running() {
        let thread = std::thread::Builder::new().name(name).spawn(body)?;
        return Ok(JoinHandle(Joined::Real(thread)));
    }
    // SAFETY: the body borrows nothing.
    let (thread, slot) = unsafe { spawn_virtual(core, body) };
    Ok(JoinHandle(Joined::Virtual(thread, slot)))
}

/// # Safety
///
/// What the body borrows must live until the thread has ended.
unsafe fn spawn_virtual<'a, T: 'a>(
    core: Option<usize>,
    body: impl FnOnce() -> T + 'a,
) -> (ThreadId, Slot<T>) {
    let slot = Slot::<T>::default();
    let place = Arc::clone(&slot);
    let body = Box::new(move || {
        let ended = catch_unwind(AssertUnwindSafe(body));
        *place.lock().unwrap_or_else(PoisonError::into_inner) = Some(ended);
    });
    // SAFETY: as the caller promises.
    (unsafe { hook::spawn(core, body) }, slot)
}

/// As the standard library's.
#[derive(Debug)]
pub struct Scope<'scope, 'env: 'scope> {
    threads: Mutex<Vec<ThreadId>>,
    scope: PhantomData<&'scope mut &'scope ()>,
    env: PhantomData<&'env mut &'env ()>,
}

/// As the standard library's.
#[derive(Debug)]
pub struct ScopedJoinHandle<'scope, T> {
    thread: ThreadId,
    slot: Slot<T>,
    scope: PhantomData<&'scope ()>,
}

#[expect(missing_docs, reason = "each is the standard method of the same name")]
impl<T> ScopedJoinHandle<'_, T> {
    pub fn join(self) -> Ended<T> {
        joined(self.thread, &self.slot)
    }

    pub fn is_finished(&self) -> bool {
        hook::has_ended(self.thread)
    }
}

impl<'scope> Scope<'scope, '_> {
    /// As the standard library's.
    pub fn spawn<T: Send + 'scope>(
        &'scope self,
        body: impl FnOnce() -> T + Send + 'scope,
    ) -> ScopedJoinHandle<'scope, T> {
        self.spawn_on(None, body)
    }

    pub(super) fn spawn_on<T: Send + 'scope>(
        &'scope self,
        core: Option<usize>,
        body: impl FnOnce() -> T + Send + 'scope,
    ) -> ScopedJoinHandle<'scope, T> {
        assert!(hook::is_running(), "this build has threads in scopes on a virtual machine only");
        // SAFETY: I1.
        let (thread, slot) = unsafe { spawn_virtual(core, body) };
        self.threads.lock().unwrap_or_else(PoisonError::into_inner).push(thread);
        ScopedJoinHandle { thread, slot, scope: PhantomData }
    }
}

/// As the standard library's. A thread's panic is seen by whoever joins it, and only there.
pub fn scope<'env, F, T>(f: F) -> T
where
    F: for<'scope> FnOnce(&'scope Scope<'scope, 'env>) -> T,
{
    let scope = Scope { threads: Mutex::new(Vec::new()), scope: PhantomData, env: PhantomData };
    let result = catch_unwind(AssertUnwindSafe(|| f(&scope)));
    let threads =
        std::mem::take(&mut *scope.threads.lock().unwrap_or_else(PoisonError::into_inner));
    threads.into_iter().for_each(hook::join);
    result.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}
