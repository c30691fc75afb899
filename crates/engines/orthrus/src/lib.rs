//! ORTHRUS: threads that lock and threads that execute share nothing but messages.
//!
//! Should I be using this? Where many cores contend for few rows: a hot lock's queue stays in the
//! cache of the one thread that owns it, and whoever needs the lock sends a message. On a few cores
//! the messages cost more than they save, and planned ordered locking does better.
//!
//! ```text
//!   call ─▶ execution thread ─ request ─▶ lock thread 2 ─ request ─▶ lock thread 5
//!                 ▲  │  ▲                    │ (all held)                 │ (all held)
//!                 │  │  └────────────────────┼───────────── granted ──────┘
//!              end│  └── release ───────────▶└─▶ ...
//! ```
//!
//! Role         every granule belongs to one lock thread ([`lower`]), which keeps the queues of its
//!              granules in plain memory ([`lock_space`]). A planned call's footprint travels from
//!              lock thread to lock thread in ascending order ([`request`]) through rings with one
//!              writer and one reader each ([`mesh`]); when it comes back, everything is held, and
//!              the execution thread runs the call ([`execution_thread`])
//! Invariants   I1 conflicting transactions hold a granule one after the other, from before the
//!              first access to after the commit: the order in which they commit is a serial order
//!              I2 requests enter the queues of one lock thread at a time, and visit lock threads
//!              in ascending order: nobody deadlocks, and no call is undone because of others
//! Source       orthrus.txt 3. We differ: locks are granules of indexes, so phantoms are kept out;
//!              tables that somebody visits as wholes have intent modes

#![forbid(unsafe_code)]

pub mod execution_thread;
pub mod lock_space;
pub mod lock_thread;
pub mod lower;
pub mod mesh;
pub mod options;
pub mod request;
pub mod run;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use hotrow_base::counters::PerWorker;
use hotrow_base::ids::WorkerId;
use hotrow_base::thread::{JoinHandle, ThreadOptions, available_cores, join_all};
use hotrow_engine::contract::{EngineEntry, EngineOptions, Ground, OptionError, RunningEngine};
use hotrow_engine::journal::Committer;
use hotrow_engine::source::CallSource;
use hotrow_engine::statistics::{Statistics, WorkerBooks};

use crate::execution_thread::{ExecutionThread, Parts};
use crate::lock_thread::LockThread;
use crate::options::Settings;
use crate::run::Runner;

const NAME: &str = "orthrus";

/// This engine's row in the engine table.
pub const ENTRY: EngineEntry = EngineEntry {
    name: NAME,
    summary: "threads that lock and threads that execute, which share nothing but messages",
    start,
    variants: &[
        &[("visits", "forwarded")],
        &[("visits", "returned"), ("in_flight", "2")],
        &[("run_there", "16")],
    ],
    threads_min: 2,
    threads_max: None,
    interactive: false,
    experiments: &[],
};

/// The running engine.
struct Orthrus {
    books: Arc<PerWorker<WorkerBooks>>,
    /// execution threads shall fetch no more
    draining: Arc<AtomicBool>,
    execution: Vec<JoinHandle<()>>,
    /// lock threads shall end
    stopping: Arc<AtomicBool>,
    lock: Vec<JoinHandle<()>>,
}

fn start(
    ground: Ground,
    options: &EngineOptions,
    sources: Vec<Box<dyn CallSource>>,
) -> Result<Box<dyn RunningEngine>, OptionError> {
    let settings = Settings::read(options)?;
    let threads = options.threads;
    assert_eq!(sources.len(), threads, "one source per thread");
    let lock_threads = usize::from(settings.lock_threads);
    let execution_threads = threads - lock_threads;
    let in_flight = usize::from(settings.in_flight);
    let cores = available_cores();
    let pins = options.pin_threads && cores.len() >= threads;
    let roles = (lock_threads, execution_threads);
    let (lock_ends, execution_ends) = mesh::mesh(roles, in_flight, pins);
    let books: Arc<PerWorker<WorkerBooks>> = Arc::new(PerWorker::with_defaults(threads));
    let (draining, stopping) = (Arc::<AtomicBool>::default(), Arc::<AtomicBool>::default());
    let spawn = |name: String, number: usize, run: Box<dyn FnOnce() + Send>| {
        let mut thread = ThreadOptions::named(name);
        if pins {
            thread = thread.on_core(cores[number]);
        }
        thread.spawn(run).expect("the system can start another thread")
    };
    let runner = |worker: usize| {
        let worker = WorkerId(options.first_worker.0 + worker as u16);
        Runner::new(Committer::new(&ground.journal, worker))
    };
    let lock = lock_ends.into_iter().enumerate().map(|(number, ends)| {
        let (stopping, books) = (Arc::clone(&stopping), Arc::clone(&books));
        let running = (runner(execution_threads + number), Arc::clone(&ground.schema));
        let visits = settings.visits;
        let thread = LockThread::new(ends, visits, running, stopping, (books, number));
        spawn(format!("lock-{number}"), number, Box::new(move || thread.run()))
    });
    let lock = lock.collect();
    // Lock threads fetch no calls: their sources are the others'.
    let mut shares: Vec<Vec<_>> = (0..execution_threads).map(|_| Vec::new()).collect();
    for (number, source) in sources.into_iter().enumerate() {
        shares[number % execution_threads].push(source);
    }
    let execution = execution_ends.into_iter().zip(shares).enumerate();
    let execution = execution.map(|(at, (ends, sources))| {
        let number = lock_threads + at;
        let thread = ExecutionThread::new(Parts {
            execution: at as u16,
            number,
            shared: Arc::clone(&ground.schema),
            runner: runner(at),
            sources,
            ends,
            settings,
            step_budget: options.step_budget,
            books: Arc::clone(&books),
            stopping: Arc::clone(&draining),
        });
        spawn(format!("execute-{at}"), number, Box::new(move || thread.run()))
    });
    let execution = execution.collect();
    Ok(Box::new(Orthrus { books, draining, execution, stopping, lock }))
}

impl RunningEngine for Orthrus {
    fn statistics(&self) -> Statistics {
        Statistics::of(&self.books)
    }

    fn stop(mut self: Box<Self>) -> Statistics {
        self.draining.store(true, Ordering::Release); // partner: the Acquire of execution threads
        join_all(self.execution.drain(..));
        self.stopping.store(true, Ordering::Release); // partner: the Acquire of lock threads
        join_all(self.lock.drain(..));
        self.statistics()
    }
}
