//! What threads share that are to each other's service: where they commit, and when it is over.
//!
//! Role         of engines whose threads host nodes: each thread has a home, which fetches calls,
//!              and nodes that all threads' calls need
//! States       running -> ending: no more calls are fetched -> over: no home has calls any more,
//!              and the threads end, all together

use hotrow_base::sync::facade::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::Arc;

use crossbeam_utils::CachePadded;
use hotrow_base::counters::PerWorker;
use hotrow_base::ids::WorkerId;
use hotrow_base::sync::{Latch, Spin};
use hotrow_base::thread::Team;
use hotrow_engine::contract::{EngineOptions, Ground};
use hotrow_engine::crew::{Crew, RunningCrew};
use hotrow_engine::journal::Committer;
use hotrow_engine::schema::Memory;
use hotrow_engine::source::CallSource;
use hotrow_engine::statistics::WorkerBooks;
use hotrow_engine::waits::{self, Awaited, WaitBook, Waited};

use crate::exchange::Exchange;
use crate::mesh::Link;
use crate::node::Address;

/// Shared by all threads of an engine: the committer and the books of each, and when it is over.
pub struct Roster {
    /// what the engine runs on
    pub ground: Ground,
    /// loop iterations and rows that one call may visit
    pub step_budget: u64,
    /// calls that a thread has on their way at most
    pub in_flight: usize,
    /// by thread
    pub committers: Vec<Committer>,
    /// by thread
    pub books: PerWorker<WorkerBooks>,
    /// by thread: what was waited for there
    waits: Box<[CachePadded<Latch<WaitBook>>]>,
    /// that of all schemas
    pub memory: Arc<Memory>,
    stopping: AtomicBool,
    /// homes that have calls on their way, or may yet fetch some
    homes: AtomicUsize,
}

impl Roster {
    /// That of an engine's threads, each with at most `in_flight` calls on their way.
    pub fn new(ground: Ground, options: &EngineOptions, in_flight: usize) -> Self {
        let threads = options.threads;
        let worker = |number| WorkerId(options.first_worker.0 + number as u16);
        let committer = |number| Committer::new(&ground.journal, worker(number));
        Self {
            committers: (0..threads).map(committer).collect(),
            memory: Arc::clone(&ground.schema.current().memory),
            ground,
            step_budget: options.step_budget,
            in_flight,
            books: PerWorker::with_defaults(threads),
            waits: (0..threads).map(|_| CachePadded::new(Latch::new(WaitBook::new()))).collect(),
            stopping: AtomicBool::new(false),
            homes: AtomicUsize::new(threads),
        }
    }

    /// How many threads there are.
    pub fn threads(&self) -> u16 {
        self.committers.len() as u16
    }

    /// A thread's books.
    pub fn books_of(&self, thread: u16) -> &WorkerBooks {
        self.books.of(thread.into())
    }

    /// Notes that somebody has waited for something at a thread, so many nanoseconds.
    pub fn note_wait(&self, thread: u16, awaited: Awaited, nanos: u64) {
        self.waits[usize::from(thread)].lock().note(awaited, nanos);
    }

    /// What was waited for, at all threads together.
    pub fn waits(&self) -> Vec<(Awaited, Waited)> {
        waits::sum(self.waits.iter().map(|book| book.lock().clone()))
    }

    /// Whether the log and a checkpoint have room for what further calls change, whoever runs
    /// them.
    pub fn has_room(&self) -> bool {
        let saved_rows = self.memory.saved_rows();
        self.committers
            .iter()
            .all(|committer| committer.has_room() && saved_rows.has_room(committer.worker()))
    }

    /// Whether no more calls are to be fetched.
    pub fn is_ending(&self) -> bool {
        self.stopping.load(Ordering::Acquire) // partner: the Release in `end`
    }

    /// No more calls are to be fetched.
    pub fn end(&self) {
        self.stopping.store(true, Ordering::Release); // partner: the Acquire in `is_ending`
    }

    /// A home has no call on its way, and will have none; whether it was the last.
    pub fn leave_home(&self) -> bool {
        self.homes.fetch_sub(1, Ordering::AcqRel) == 1 // partner: the Acquire in `is_over`
    }

    /// Whether there are no calls any more, and there will be none.
    pub fn is_over(&self) -> bool {
        self.homes.load(Ordering::Acquire) == 0 // partner: the Release in `leave_home`
    }
}

/// Starts a crew's threads: one per source, each of which runs `run` with its number, its source
/// and its place among the nodes, whose threads `seats` tells by address.
pub fn start<C: Crew + 'static, M: Send + 'static>(
    crew: Arc<C>,
    (name, options): (&'static str, &EngineOptions),
    (seats, link): (Vec<Address>, Link),
    sources: Vec<Box<dyn CallSource>>,
    run: impl Fn(Arc<C>, u16, Exchange<M>, Box<dyn CallSource>) + Clone + Send + 'static,
) -> RunningCrew<C> {
    let threads = options.threads;
    assert_eq!(sources.len(), threads, "one source per thread");
    let exchanges = Exchange::connect(threads as u16, seats, link, Spin::for_threads(threads));
    let team = Team::new(name, threads, options.pin_threads);
    let spawn = |(number, (source, exchange)): (usize, (Box<dyn CallSource>, _))| {
        let (crew, run) = (Arc::clone(&crew), run.clone());
        team.spawn(number, move || run(crew, number as u16, exchange, source))
    };
    let threads: Vec<_> = sources.into_iter().zip(exchanges).enumerate().map(spawn).collect();
    RunningCrew::new(crew, threads)
}
