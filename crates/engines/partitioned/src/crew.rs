//! What the engine's threads share: who sits where, and whether calls are still to come.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use hotrow_base::counters::PerWorker;
use hotrow_base::sync::Latch;
use hotrow_engine::contract::Ground;
use hotrow_engine::journal::Committer;
use hotrow_engine::schema::{Memory, Schema};
use hotrow_engine::statistics::WorkerBooks;
use hotrow_flow::node::Address;

use crate::call::{Multi, Parcel};
use crate::options::Settings;
use crate::protocol::Message;
use crate::world::World;

/// What threads tell each other.
pub type Told = Message<Parcel, Multi>;

/// The addresses of homes, partitions and coordinators, and the threads that host them.
#[derive(Clone, Copy, Debug)]
pub struct Seats {
    /// how many threads there are: each has a home
    pub threads: u16,
    /// how many partitions
    pub partitions: u16,
    /// how many coordinators
    pub coordinators: u16,
}

impl Seats {
    /// The home of a thread.
    pub fn home(self, thread: u16) -> Address {
        thread
    }

    /// A partition's owner.
    pub fn partition(self, partition: u16) -> Address {
        self.threads + partition
    }

    /// A coordinator.
    pub fn coordinator(self, coordinator: u16) -> Address {
        self.threads + self.partitions + coordinator
    }

    /// Who sits at an address.
    pub fn role(self, address: Address) -> Role {
        match address.checked_sub(self.threads) {
            None => Role::Home,
            Some(partition) if partition < self.partitions => Role::Partition(partition),
            Some(number) => Role::Coordinator(number - self.partitions),
        }
    }

    /// The thread that hosts a partition's owner.
    pub fn thread_of_partition(self, partition: u16) -> u16 {
        partition % self.threads
    }

    /// As [`Seats::thread_of_partition`], of a coordinator: from the last thread on, since that may
    /// have no partition.
    pub fn thread_of_coordinator(self, coordinator: u16) -> u16 {
        self.threads - 1 - coordinator % self.threads
    }

    /// The place of a partition, or a coordinator, among those that its thread hosts.
    pub fn place_on_thread(self, number: u16) -> usize {
        usize::from(number / self.threads)
    }

    /// By address: the thread that hosts it.
    pub fn all_threads(self) -> Vec<u16> {
        let partitions = (0..self.partitions).map(|number| self.thread_of_partition(number));
        let coordinators = (0..self.coordinators).map(|number| self.thread_of_coordinator(number));
        (0..self.threads).chain(partitions).chain(coordinators).collect()
    }
}

/// Who sits at an address.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Role {
    /// a home
    Home,
    /// the owner of this partition
    Partition(u16),
    /// this coordinator
    Coordinator(u16),
}

/// See the module.
pub struct Crew {
    /// what the engine runs on
    pub ground: Ground,
    /// the engine's settings
    pub settings: Settings,
    /// who sits where
    pub seats: Seats,
    /// loop iterations and rows that one call may visit
    pub step_budget: u64,
    /// calls that a thread has on their way at most
    pub in_flight: usize,
    /// by thread
    pub committers: Vec<Committer>,
    /// by thread
    pub books: PerWorker<WorkerBooks>,
    /// that of all schemas
    pub memory: Arc<Memory>,
    /// what was made of the schema in force
    world: Latch<Option<Arc<World>>>,
    stopping: AtomicBool,
    /// homes that have calls on their way, or may yet fetch some
    homes: AtomicUsize,
}

impl Crew {
    /// A crew of as many threads as there are committers.
    pub fn new(
        ground: Ground,
        settings: Settings,
        (step_budget, in_flight): (u64, usize),
        committers: Vec<Committer>,
    ) -> Self {
        let threads = committers.len();
        let memory = Arc::clone(&ground.schema.current().memory);
        let Settings { partitions, coordinators, .. } = settings;
        Self {
            ground,
            settings,
            seats: Seats { threads: threads as u16, partitions, coordinators },
            step_budget,
            in_flight,
            committers,
            books: PerWorker::with_defaults(threads),
            memory,
            world: Latch::default(),
            stopping: AtomicBool::new(false),
            homes: AtomicUsize::new(threads),
        }
    }

    /// A thread's books.
    pub fn books_of(&self, thread: u16) -> &WorkerBooks {
        self.books.of(thread.into())
    }

    /// What is made of a schema; the first who asks makes it.
    pub fn world(&self, schema: &Arc<Schema>) -> Arc<World> {
        let mut known = self.world.lock();
        match &*known {
            Some(world) if Arc::ptr_eq(&world.schema, schema) => Arc::clone(world),
            _ => {
                let world = Arc::new(World::new(Arc::clone(schema), self.settings.partitions));
                Arc::clone(known.insert(world))
            }
        }
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

    /// A home has no call on its way, and will have none; whether it was the last.
    pub fn leave_home(&self) -> bool {
        self.homes.fetch_sub(1, Ordering::AcqRel) == 1 // partner: the Acquire in `is_over`
    }

    /// Whether there are no calls any more, and there will be none.
    pub fn is_over(&self) -> bool {
        self.homes.load(Ordering::Acquire) == 0 // partner: the Release in `leave_home`
    }
}

impl hotrow_engine::crew::Crew for Crew {
    fn books(&self) -> &PerWorker<WorkerBooks> {
        &self.books
    }

    fn end(&self) {
        self.stopping.store(true, Ordering::Release); // partner: the Acquire in `is_ending`
    }
}
