//! What the engine's threads share: who sits where, and whether calls are still to come.

use hotrow_base::sync::facade::atomic::{AtomicU64, Ordering};
use std::sync::Arc;
use std::time::Duration;

use hotrow_base::counters::PerWorker;
use hotrow_base::sync::Latch;
use hotrow_base::thread::News;
use hotrow_engine::schema::Schema;
use hotrow_engine::statistics::WorkerBooks;
use hotrow_flow::node::Address;
use hotrow_flow::roster::Roster;
use hotrow_flow::world::{PerSchema, World};

use crate::call::{Multi, Single};
use crate::choice::Chooser;
use crate::model::{self, Costs};
use crate::options::{Scheme, Settings};
use crate::protocol::Message;
use crate::protocol::observed::Observed;

/// How often the choice of the scheme is looked at.
const LOOK_EVERY: Duration = Duration::from_millis(200);
/// What locks add to a call, taken for true as long as nobody has measured it: instructions of
/// `locks=always` over those of `locks=needed`, for TPC-C's New-Order and Payment of one partition
/// (56,375 to 42,262). More than half of it is planning, which such a call does without where
/// nothing is locked.
const LOCK_OVERHEAD: f64 = 0.33;

/// What threads tell each other.
pub type Told = Message<Single, Multi>;

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

/// Shared by all threads: who sits where, the scheme, and what was seen of it.
pub struct Crew {
    /// what all engines share whose threads host nodes
    pub roster: Arc<Roster>,
    /// the engine's settings
    pub settings: Settings,
    /// who sits where
    pub seats: Seats,
    /// where the scheme is chosen
    choice: Option<Choice>,
    /// by thread: what its nodes have seen
    observed: Box<[Latch<Observed>]>,
    world: PerSchema<World>,
}

/// The scheme of the moment, and what its choice is made by.
struct Choice {
    chooser: Latch<Chooser>,
    /// changes so far. The scheme changes while nobody is inside the gate: who is there sees this
    /// and the scheme as they were when it went inside
    changes: AtomicU64,
}

impl Crew {
    /// That of an engine's threads.
    pub fn new(settings: Settings, roster: Roster) -> Self {
        let Settings { partitions, scheme, .. } = settings;
        let threads = roster.threads();
        // Without an order among calls of several partitions, each home coordinates its own.
        let coordinators = match scheme {
            Scheme::Locking | Scheme::Auto => threads,
            _ => settings.coordinators,
        };
        let choice = (scheme == Scheme::Auto).then(|| Choice {
            chooser: Latch::new(Chooser::new(partitions, LOCK_OVERHEAD)),
            changes: AtomicU64::new(0),
        });
        Self {
            roster: Arc::new(roster),
            settings,
            seats: Seats { threads, partitions, coordinators },
            choice,
            observed: (0..threads).map(|_| Latch::default()).collect(),
            world: PerSchema::default(),
        }
    }

    /// The scheme of the moment.
    pub fn scheme(&self) -> Scheme {
        self.choice.as_ref().map_or(self.settings.scheme, |choice| choice.chooser.lock().scheme())
    }

    /// How many of the coordinators have calls under a scheme.
    pub fn coordinators(&self, scheme: Scheme) -> u16 {
        if scheme == Scheme::Locking { self.seats.threads } else { self.settings.coordinators }
    }

    /// How often the scheme has changed.
    #[inline]
    pub fn changes(&self) -> u64 {
        // Relaxed: the gate and messages order it, see `Choice`.
        self.choice.as_ref().map_or(0, |choice| choice.changes.load(Ordering::Relaxed))
    }

    /// Takes what a thread's nodes have seen.
    pub fn take_observed(&self, thread: u16, observed: Observed) {
        *self.observed[usize::from(thread)].lock() = observed;
    }

    /// What all have seen.
    fn observed(&self) -> Observed {
        let mut sum = Observed::default();
        self.observed.iter().for_each(|observed| sum.add(&observed.lock()));
        sum
    }

    /// Calls a second that the model expects under the scheme of the moment.
    pub fn expected_rate(&self) -> Option<f64> {
        let (observed, locks) = (self.observed(), self.settings.locks);
        let before = Costs { lock_overhead: LOCK_OVERHEAD, ..Costs::PAPER };
        let costs = observed.costs(&before)?;
        let scheme = self.scheme().in_model(locks)?;
        Some(model::expected(scheme, &costs, &observed.mix(self.seats.partitions)))
    }

    /// Looks now and then whether another scheme suits the calls better, and changes to it, until
    /// `news` says that it is over.
    pub fn choose(&self, news: &News) {
        let Some(choice) = &self.choice else { return };
        let mut before = Observed::default();
        while news.rest(LOOK_EVERY) {
            let observed = self.observed();
            let seen = observed.since(&before);
            before = observed;
            let mut next = choice.chooser.lock().clone();
            let changes = next.look(&seen);
            // No call is on its way meanwhile.
            let _quiet = changes.then(|| self.roster.ground.schema.quiet());
            *choice.chooser.lock() = next;
            choice.changes.fetch_add(changes.into(), Ordering::Relaxed);
        }
    }

    /// The scheme that was chosen, and why.
    pub fn explain_choice(&self) -> Option<String> {
        let chooser = self.choice.as_ref()?.chooser.lock();
        Some(format!("scheme={}: {}", chooser.scheme().name(), chooser.reason()))
    }

    /// What is made of a schema.
    pub fn world(&self, schema: &Arc<Schema>) -> Arc<World> {
        self.world.get(schema, |_| World::new(Arc::clone(schema), self.settings.partitions))
    }
}

impl hotrow_engine::crew::Crew for Crew {
    fn books(&self) -> &PerWorker<WorkerBooks> {
        &self.roster.books
    }

    fn end(&self) {
        self.roster.end();
    }
}
