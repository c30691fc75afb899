//! What the engine's threads share.

use std::collections::BTreeMap;
use std::sync::Arc;

use hotrow_base::counters::{Counter, PerWorker};
use hotrow_base::sync::Latch;
use hotrow_engine::schema::Schema;
use hotrow_engine::statistics::WorkerBooks;
use hotrow_engine::waits::{Awaited, Waited};
use hotrow_flow::datasets::Layout;
use hotrow_flow::datasets::balance::Loads;
use hotrow_flow::node::Address;
use hotrow_flow::roster::Roster;
use hotrow_flow::slots::SlotLocks;
use hotrow_flow::world::PerSchema;
use hotrow_transaction::compiled::CompiledProcedure;

use crate::call::Body;
use crate::options::{Locks, Settings};
use crate::plans::Plans;
use crate::protocol::hall::Looks;
use crate::protocol::{Enqueue, Message};

/// What threads tell each other.
pub type Told = Message<Body>;

/// Shared by all threads: the layout of datasets, what halls were asked for, locks on slots.
pub struct Crew {
    /// what all engines share whose threads host nodes
    pub roster: Arc<Roster>,
    /// the engine's settings
    pub settings: Settings,
    layout: PerSchema<Layout>,
    /// by thread: the procedures that its home has run in sequence, and the share that aborts
    sequential: Box<[Latch<Vec<Sequential>>]>,
    /// what halls were asked for
    pub loads: Loads,
    /// by thread
    pub tallies: PerWorker<Tally>,
    /// where slots are locked
    pub slots: Option<SlotLocks>,
    /// datasets that have moved since the engine began, and by hall: requests before the last round
    /// of moves
    moved: Latch<(u64, Vec<u64>)>,
}

/// What a thread tells of its queue, and of how its calls were run. One writer.
#[derive(Default)]
pub struct Tally {
    /// what its hall has to do and has not begun
    pub queued: Counter,
    /// calls sent off, by [`Kind`]
    pub sent: [Counter; 4],
}

/// How a call is run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(usize)]
pub enum Kind {
    /// in one hall
    Here,
    /// in several, side by side (DORA-P)
    Parallel,
    /// in several, one after the other (DORA-S)
    Sequential,
    /// as a whole, with the locks of several
    Whole,
}

/// A procedure that is run in sequence, the share of its calls that abort, and the call since which
/// it is so.
pub type Sequential = (Option<Arc<CompiledProcedure>>, f64, u64);

impl Crew {
    /// That of an engine's threads.
    pub fn new(settings: Settings, roster: Roster) -> Self {
        let sequential = (0..roster.threads()).map(|_| Latch::default()).collect();
        Self {
            tallies: PerWorker::with_defaults(roster.threads().into()),
            loads: Loads::new(roster.threads()),
            roster: Arc::new(roster),
            settings,
            layout: PerSchema::default(),
            sequential,
            slots: settings.locks_slots.then(SlotLocks::default),
            moved: Latch::default(),
        }
    }

    /// Takes note of how the last requests were spread over halls, and of how many datasets are
    /// told to move because of that.
    pub fn note_moves(&self, shares: Vec<u64>, datasets: usize) {
        let (moved, last) = &mut *self.moved.lock();
        (*moved, *last) = (*moved + datasets as u64, shares);
    }

    /// Takes note of what a thread's home has run in sequence.
    pub fn note_plans(&self, thread: u16, sequential: Vec<Sequential>) {
        *self.sequential[usize::from(thread)].lock() = sequential;
    }

    /// The home of a thread.
    pub fn home(&self, thread: u16) -> Address {
        thread
    }

    /// The hall of a thread.
    pub fn hall(&self, thread: u16) -> Address {
        self.roster.threads() + thread
    }

    /// Who looks for circles of waiting, and how often, if there may be some.
    pub fn looks(&self) -> Option<Looks> {
        let Settings { enqueue, locks, rebalances, .. } = self.settings;
        let every = match locks {
            Locks::Phase => Looks::BY_ROUND,
            Locks::Call if enqueue == Enqueue::Latched || rebalances => Looks::RARELY,
            Locks::Call => return None,
        };
        Some(Looks { detector: self.hall(0), every })
    }

    /// By address: the thread that hosts a node.
    pub fn seats(&self) -> Vec<u16> {
        let threads = self.roster.threads();
        (0..threads).chain(0..threads).collect()
    }

    /// The halls of all threads.
    pub fn halls(&self) -> Vec<Address> {
        (0..self.roster.threads()).map(|thread| self.hall(thread)).collect()
    }

    /// The datasets of a schema.
    pub fn layout(&self, schema: &Arc<Schema>) -> Arc<Layout> {
        let Settings { executors, spread, .. } = self.settings;
        self.layout.get(schema, |number| {
            Layout::new(number, Arc::clone(schema), (executors, spread), &self.halls())
        })
    }
}

impl hotrow_engine::crew::Crew for Crew {
    fn books(&self) -> &PerWorker<WorkerBooks> {
        &self.roster.books
    }

    fn end(&self) {
        self.roster.end();
    }

    fn waits(&self) -> Vec<(Awaited, Waited)> {
        self.roster.waits()
    }

    fn choice(&self) -> Option<String> {
        let mut told = vec![self.calls()];
        if self.settings.rebalances {
            let (each, (moved, shares)) = (self.settings.executors, &*self.moved.lock());
            let all = shares.iter().sum::<u64>().max(1);
            let shares = shares.iter().map(|share| format!("{} %", share * 100 / all));
            let shares = shares.collect::<Vec<_>>().join(", ");
            told.push(format!(
                "executors: {each} a table, {moved} moves between threads; last requests: {shares}"
            ));
        }
        if self.settings.plans == Plans::Chosen {
            told.push(self.plans());
        }
        Some(told.join(". "))
    }
}

impl Crew {
    /// How many calls were run in which way, and how long each thread's queue is.
    fn calls(&self) -> String {
        let sent = |kind| self.tallies.sum(|tally| tally.sent[kind as usize].get());
        let (here, parallel) = (sent(Kind::Here), sent(Kind::Parallel));
        let (sequential, whole) = (sent(Kind::Sequential), sent(Kind::Whole));
        let queues = self.tallies.iter().map(|tally| tally.queued.get().to_string());
        let queues = queues.collect::<Vec<_>>().join(", ");
        format!(
            "calls: {here} in one thread, {parallel} in parallel, {sequential} sequential, {whole} \
             as a whole; queues: {queues}"
        )
    }

    /// Which procedures' halls run one after the other.
    fn plans(&self) -> String {
        let mut all = BTreeMap::<String, (f64, u64)>::new();
        for sequential in &self.sequential {
            for &(ref procedure, aborts, since) in sequential.lock().iter() {
                let name = procedure.as_ref().map_or("?", |known| known.procedure.shown_name());
                let (most, first) = all.entry(name.to_owned()).or_insert((aborts, since));
                (*most, *first) = (most.max(aborts), since.min(*first));
            }
        }
        if all.is_empty() {
            return "plans: all parallel, since few calls abort".to_owned();
        }
        let told = all.iter().map(|(name, (aborts, since))| {
            let percent = aborts * 100.0;
            format!("{name}, of whose calls {percent:.1} % abort, since a thread's {since}th")
        });
        format!("plans: sequential for {}", told.collect::<Vec<_>>().join("; "))
    }
}
