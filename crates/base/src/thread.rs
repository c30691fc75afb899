//! Threads: names, cores, pinning.
//!
//! Role         every thread of Hotrow is started here, so that it has a name in a debugger and a
//!              profile; which thread does what is its engine's business

mod background;
#[cfg(hotrow_machine)]
mod machine;
mod nodes;

#[cfg(all(test, not(loom)))]
mod tests;

use std::io;

use crate::panics;

pub use background::{BackgroundThread, News};
#[cfg(hotrow_machine)]
pub use machine::{JoinHandle, Scope, ScopedJoinHandle, scope, sleep, yield_now};
pub use nodes::Nodes;
#[cfg(not(hotrow_machine))]
pub use std::thread::{JoinHandle, Scope, ScopedJoinHandle, scope, sleep, yield_now};

/// How a thread is started.
#[derive(Clone, Debug)]
pub struct ThreadOptions {
    /// Its name; Linux shows the first 15 bytes.
    pub name: String,
    /// The core it is pinned to, if any; a refusal by the system is ignored.
    pub core: Option<usize>,
}

impl ThreadOptions {
    /// A thread called `name`, not pinned.
    pub fn named(name: impl Into<String>) -> Self {
        Self { name: name.into(), core: None }
    }

    /// The same, pinned to `core` where the system allows it.
    #[must_use]
    pub fn on_core(self, core: usize) -> Self {
        Self { core: Some(core), ..self }
    }

    /// Starts the thread. An error means that the system has no room for another one.
    pub fn spawn<T: Send + 'static>(
        self,
        body: impl FnOnce() -> T + Send + 'static,
    ) -> io::Result<JoinHandle<T>> {
        let core = self.core;
        #[cfg(not(hotrow_machine))]
        let thread = std::thread::Builder::new().name(self.name).spawn(move || run(core, body));
        #[cfg(hotrow_machine)]
        let thread = machine::spawn(self.name, core, move || run(None, body));
        thread
    }

    /// As [`ThreadOptions::spawn`], for a thread that ends before `scope` does.
    pub fn spawn_scoped<'scope, T: Send + 'scope>(
        self,
        scope: &'scope Scope<'scope, '_>,
        body: impl FnOnce() -> T + Send + 'scope,
    ) -> io::Result<ScopedJoinHandle<'scope, T>> {
        let core = self.core;
        #[cfg(not(hotrow_machine))]
        let thread = std::thread::Builder::new()
            .name(self.name)
            .spawn_scoped(scope, move || run(core, body));
        #[cfg(hotrow_machine)]
        let thread = Ok(scope.spawn_on(core, move || run(None, body)));
        thread
    }
}

/// Threads that share one work: `x-0`, `x-1` and so on.
#[derive(Debug)]
pub struct Team {
    name: &'static str,
    /// one for each thread, if they are pinned
    cores: Option<Vec<usize>>,
}

impl Team {
    /// A team of so many threads. `pin`: each is to have a core of its own, if there are as many.
    pub fn new(name: &'static str, threads: usize, pin: bool) -> Self {
        let cores = pin.then(available_cores).filter(|cores| cores.len() >= threads);
        Self { name, cores }
    }

    /// Whether each thread has a core of its own.
    pub fn is_pinned(&self) -> bool {
        self.cores.is_some()
    }

    /// By thread, the memory node of its core; all the same where threads are not pinned.
    pub fn nodes(&self, threads: usize) -> Vec<u16> {
        match &self.cores {
            Some(cores) => {
                let nodes = Nodes::of_machine();
                cores[..threads].iter().map(|core| nodes.of_core(*core)).collect()
            }
            None => vec![0; threads],
        }
    }

    /// Starts thread `number`. Panics if the system has no room for another one.
    pub fn spawn(&self, number: usize, body: impl FnOnce() + Send + 'static) -> JoinHandle<()> {
        let core = self.cores.as_ref().map(|cores| cores[number]);
        let thread = ThreadOptions { name: format!("{}-{number}", self.name), core };
        thread.spawn(body).expect("the system can start another thread")
    }
}

fn run<T>(core: Option<usize>, body: impl FnOnce() -> T) -> T {
    if let Some(core) = core {
        pin_current_thread(core);
    }
    panics::guard_thread();
    body()
}

/// Waits until all these threads have ended; panics as the first of them did that panicked.
pub fn join_all(threads: impl IntoIterator<Item = JoinHandle<()>>) {
    for thread in threads {
        if let Err(panic) = thread.join() {
            std::panic::resume_unwind(panic);
        }
    }
}

/// Pins the calling thread to `core`. `false` when the system refuses (no such core, not in this
/// process's set, or a system without pinning); the thread then runs anywhere, as before.
#[cfg(target_os = "linux")]
pub fn pin_current_thread(core: usize) -> bool {
    use rustix::thread::{CpuSet, sched_setaffinity};
    if core >= CpuSet::MAX_CPU {
        return false;
    }
    let mut cores = CpuSet::new();
    cores.set(core);
    sched_setaffinity(None, &cores).is_ok()
}

/// Pins the calling thread to `core`; not on this system.
#[cfg(not(target_os = "linux"))]
pub fn pin_current_thread(_core: usize) -> bool {
    false
}

/// The cores the calling thread may run on, ascending; never empty. In a container these are not
/// always 0, 1, 2.
pub fn available_cores() -> Vec<usize> {
    #[cfg(hotrow_machine)]
    if let Some(cores) = hotrow_machine::hook::cores() {
        return (0..cores).collect();
    }
    allowed_cores().unwrap_or_else(|| {
        let count = std::thread::available_parallelism().map_or(1, usize::from);
        (0..count).collect()
    })
}

#[cfg(target_os = "linux")]
fn allowed_cores() -> Option<Vec<usize>> {
    use rustix::thread::{CpuSet, sched_getaffinity};
    let allowed = sched_getaffinity(None).ok()?;
    let cores: Vec<usize> = (0..CpuSet::MAX_CPU).filter(|&core| allowed.is_set(core)).collect();
    (!cores.is_empty()).then_some(cores)
}

#[cfg(not(target_os = "linux"))]
fn allowed_cores() -> Option<Vec<usize>> {
    None
}
