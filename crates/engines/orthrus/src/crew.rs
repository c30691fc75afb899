//! The engine's threads and who of them does what.
//!
//! Role         a thread brings its kit, is seated as a lock thread or as an execution thread,
//!              works until the **division** ends, and brings its kit back. A division is one mesh
//!              of rings and one number of lock threads
//!
//! ```text
//!   every thread   waiting ─ all are there ─▶ seated ─ works ─▶ waiting ─▶ ... ─▶ home
//!   a division     execution threads drain ─ the last has ended ─▶ lock threads end
//! ```
//!
//! Invariants   I1 a division ends with nothing on its way and nothing locked: that is the safe
//!              point at which threads change roles
//!              I2 what comes later stands behind all that was before, though new lock tables do
//!              not know whom they follow: the journal is cut at a quiet point
//!              I3 a thread keeps its worker number, its books and its core in every role
//! Source       orthrus.txt 4.2 (the division of threads can be chosen as in staged event-driven
//!              servers). The paper leaves it at that

use hotrow_base::sync::facade::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering};
use std::sync::Arc;

use crossbeam_utils::CachePadded;
use hotrow_base::counters::PerWorker;
use hotrow_base::sync::{EventCount, Latch};
use hotrow_engine::contract::{EngineOptions, Ground};
use hotrow_engine::source::{CallSource, OnCallers};
use hotrow_engine::statistics::WorkerBooks;

use crate::division::{Controller, QueueBooks, Window};
use crate::execution_thread::ExecutionThread;
use crate::lock_table::{LockTable, OpenTable, SharedSpaces};
use crate::lock_thread::LockThread;
use crate::mesh;
use crate::options::{self, Settings};
use crate::request::Parcel;
use crate::run::Runner;

/// What a thread has in every role.
pub struct Kit {
    /// its number among all threads
    pub number: usize,
    /// runs calls
    pub runner: Runner,
    /// where calls come from: all of them are dealt out to execution threads
    pub sources: Vec<Box<dyn CallSource>>,
    /// what carries calls and has none now: made when more of them are on their way than ever
    pub free: Vec<Parcel>,
    /// places of callers, which threads look after
    pub places: Option<Arc<dyn OnCallers>>,
}

/// A thread's role in a division.
pub enum Seat {
    /// it locks
    Lock(Box<LockThread>),
    /// it plans and executes
    Execution(Box<ExecutionThread>),
    /// the engine has ended
    Home,
}

/// Shared by all threads: who does what in the present division, and the tables for callers.
pub struct Crew {
    /// what the engine runs on
    pub ground: Ground,
    /// the engine's settings
    pub settings: Settings,
    /// of a call
    pub step_budget: u64,
    /// each thread's books
    pub books: Arc<PerWorker<WorkerBooks>>,
    /// each thread's queues
    pub queues: PerWorker<QueueBooks>,
    pinned: bool,
    state: Latch<State>,
    seated: EventCount,
    /// execution threads shall fetch no more
    draining: AtomicBool,
    /// execution threads that have not ended; lock threads end when there are none
    executing: AtomicUsize,
    /// the lock tables of the division, for callers
    tables: Latch<Arc<OpenTables>>,
    /// divisions so far
    divisions: AtomicU32,
}

/// The lock tables of a division, by lock thread.
#[derive(Default)]
pub struct OpenTables(Vec<Arc<CachePadded<Latch<OpenTable>>>>);

impl OpenTables {
    /// How many lock threads there are.
    pub fn lock_threads(&self) -> u16 {
        self.0.len() as u16 // so many as a setting has
    }

    /// That of a lock thread.
    pub fn of(&self, lock_thread: u16) -> &Latch<OpenTable> {
        &self.0[usize::from(lock_thread)]
    }
}

struct State {
    /// of the threads that wait
    kits: Vec<Kit>,
    /// by thread: what it does next
    seats: Vec<Option<Seat>>,
    lock_threads: u16,
    /// what lock threads share, if they share anything
    spaces: Option<SharedSpaces>,
    controller: Controller,
    /// the engine is to end
    ends: bool,
}

impl Crew {
    /// A crew whose threads have not come yet.
    pub fn new(ground: Ground, settings: Settings, options: &EngineOptions, pinned: bool) -> Self {
        let (threads, places) = (settings.threads, options.on_callers.places);
        let state = State {
            kits: Vec::with_capacity(threads),
            seats: (0..threads).map(|_| None).collect(),
            lock_threads: settings.lock_threads,
            spaces: (settings.lock_table == options::LockTable::Shared).then(LockTable::spaces),
            controller: Controller::new(settings.division),
            ends: false,
        };
        Self {
            ground,
            settings,
            step_budget: options.step_budget,
            books: Arc::new(PerWorker::with_defaults(threads + places)),
            queues: PerWorker::with_defaults(threads),
            pinned,
            state: Latch::new(state),
            seated: EventCount::new(),
            draining: AtomicBool::new(false),
            executing: AtomicUsize::new(0),
            tables: Latch::new(Arc::default()),
            divisions: AtomicU32::new(0),
        }
    }

    /// The number of the division.
    #[inline]
    pub fn division(&self) -> u32 {
        self.divisions.load(Ordering::Acquire) // partner: the Release in `divide`
    }

    /// The lock tables of the division.
    pub fn open_tables(&self) -> Arc<OpenTables> {
        Arc::clone(&self.tables.lock())
    }

    /// What a thread of the engine does from start to end.
    pub fn work(self: &Arc<Self>, mut kit: Kit) {
        loop {
            kit = match self.sit(kit) {
                Seat::Lock(thread) => thread.run(),
                Seat::Execution(thread) => thread.run(),
                Seat::Home => return,
            }
        }
    }

    /// Waits until all threads are there; what this one does then.
    fn sit(self: &Arc<Self>, kit: Kit) -> Seat {
        let number = kit.number;
        let all_there = {
            let mut state = self.state.lock();
            state.kits.push(kit);
            state.kits.len() == state.seats.len()
        };
        if all_there {
            {
                let _quiet = self.ground.schema.quiet();
                self.ground.journal.cut(); // I2
            }
            self.divide(&mut self.state.lock());
            self.seated.notify_all();
        }
        let seat = self.seated.wait_for(None, || self.state.lock().seats[number].take());
        seat.expect("it waits without a deadline")
    }

    /// Seats everybody, or sends them home.
    fn divide(self: &Arc<Self>, state: &mut State) {
        let mut shared = state.spaces.iter().flat_map(|spaces| spaces.iter());
        debug_assert!(shared.all(|space| space.lock().is_empty()), "I1");
        let mut kits = std::mem::take(&mut state.kits);
        if state.ends || kits.iter().all(|kit| kit.sources.is_empty()) {
            state.seats.iter_mut().for_each(|seat| *seat = Some(Seat::Home));
            return;
        }
        kits.sort_unstable_by_key(|kit| kit.number);
        let lock_threads = usize::from(state.lock_threads);
        let execution_threads = kits.len() - lock_threads;
        let settings = Settings { lock_threads: state.lock_threads, ..self.settings };
        let roles = (lock_threads, execution_threads);
        let (lock_ends, execution_ends) = mesh::mesh(roles, settings.in_flight.into(), self.pinned);
        // Lock threads fetch no calls: execution threads do it for them.
        let sources: Vec<_> = kits.iter_mut().flat_map(|kit| kit.sources.drain(..)).collect();
        for (at, source) in sources.into_iter().enumerate() {
            kits[lock_threads + at % execution_threads].sources.push(source);
        }
        let mut kits = kits.into_iter();
        let table = |_| {
            let shared = state.spaces.as_ref().map(|spaces| LockTable::Shared(spaces.clone(), 0));
            let table = shared.unwrap_or_else(LockTable::own);
            Arc::new(CachePadded::new(Latch::new(OpenTable { table, is_open: true })))
        };
        let tables: Vec<_> = (0..lock_threads).map(table).collect();
        *self.tables.lock() = Arc::new(OpenTables(tables.clone()));
        self.divisions.fetch_add(1, Ordering::Release); // partner: the Acquire in `division`
        let lock_ends = lock_ends.into_iter().zip(tables);
        let lock = lock_ends.zip(kits.by_ref()).map(|((ends, table), kit)| {
            Seat::Lock(Box::new(LockThread::new(Arc::clone(self), ends, table, kit)))
        });
        let mut seats: Vec<_> = lock.collect();
        for (execution, (ends, kit)) in execution_ends.into_iter().zip(kits).enumerate() {
            let crew = Arc::clone(self);
            let thread = ExecutionThread::new(crew, execution as u16, ends, settings, kit);
            seats.push(Seat::Execution(Box::new(thread)));
        }
        state.seats = seats.into_iter().map(Some).collect();
        state.controller.begin(self.window(lock_threads));
        // Relaxed: threads see them after taking their seats, under the latch.
        self.executing.store(execution_threads, Ordering::Relaxed);
        self.draining.store(false, Ordering::Relaxed);
    }

    /// Ends the division.
    fn drain(&self) {
        self.draining.store(true, Ordering::Release); // partner: the Acquire in `is_draining`
    }

    /// Whether execution threads shall fetch no more.
    #[inline]
    pub fn is_draining(&self) -> bool {
        self.draining.load(Ordering::Acquire) // partner: the Release in `drain`
    }

    /// Whether lock threads shall end: all transactions have.
    #[inline]
    pub fn is_idle(&self) -> bool {
        self.executing.load(Ordering::Acquire) == 0 // partner: the Release in `has_executed`
    }

    /// An execution thread has ended; whether it was the last, and lock threads are to be woken.
    pub fn has_executed(&self) -> bool {
        self.executing.fetch_sub(1, Ordering::Release) == 1 // partner: the Acquire in `is_idle`
    }

    /// Looks whether another division would do better; if so, this one ends. Called now and then
    /// by one execution thread.
    pub fn review(&self) {
        let mut state = self.state.lock();
        if !state.controller.is_due() {
            return;
        }
        let lock_threads = state.lock_threads;
        let window = self.window(lock_threads.into());
        if let Some(better) = state.controller.judge(window, (lock_threads, self.settings.threads))
        {
            state.lock_threads = better;
            self.drain();
        }
    }

    /// The books, by role.
    fn window(&self, lock_threads: usize) -> Window {
        Window::of(&self.books, &self.queues, lock_threads)
    }
}

impl hotrow_engine::crew::Crew for Crew {
    fn books(&self) -> &PerWorker<WorkerBooks> {
        &self.books
    }

    fn end(&self) {
        let mut state = self.state.lock();
        state.ends = true;
        self.drain();
    }
}
