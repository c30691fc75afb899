//! What the engine's threads share.

use std::collections::BTreeMap;
use std::sync::Arc;

use crossbeam_utils::CachePadded;
use hotrow_base::counters::{Counter, PerWorker};
use hotrow_base::sync::Latch;
use hotrow_engine::schema::Schema;
use hotrow_engine::statistics::WorkerBooks;
use hotrow_engine::waits::{self, Awaited, WaitBook, Waited};
use hotrow_flow::node::Address;
use hotrow_flow::roster::Roster;
use hotrow_flow::slots::SlotLocks;
use hotrow_transaction::compiled::CompiledProcedure;

use crate::call::Body;
use crate::layout::Layout;
use crate::options::{Locks, Settings};
use crate::plans::Plans;
use crate::protocol::hall::Looks;
use crate::protocol::{Enqueue, Message};

/// What threads tell each other.
pub type Told = Message<Body>;

/// See the module.
pub struct Crew {
    /// what all engines share whose threads host nodes
    pub roster: Roster,
    /// the engine's settings
    pub settings: Settings,
    /// what was made of the schema in force, and how many layouts there have been
    layout: Latch<(Option<Arc<Layout>>, u64)>,
    /// by thread: what was waited for in its hall
    waits: Box<[CachePadded<Latch<WaitBook>>]>,
    /// by thread: the procedures that its home has run in sequence, and the share that aborts
    sequential: Box<[Latch<Vec<Sequential>>]>,
    /// by thread
    loads: Box<[Latch<Load>]>,
    /// by thread
    pub tallies: PerWorker<Tally>,
    /// where slots are locked
    pub slots: Option<SlotLocks>,
    /// datasets that have moved since the engine began
    moved: Counter,
    /// by hall: requests in the last round of moves
    shares: Latch<Vec<u64>>,
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

/// What a hall has been asked for.
#[derive(Default)]
struct Load {
    /// the number of its layout
    layout: u64,
    /// by dataset: how often something in it was asked for, since the layout was made
    asked: Vec<u64>,
}

/// A procedure that is run in sequence, the share of its calls that abort, and the call since which
/// it is so.
pub type Sequential = (Option<Arc<CompiledProcedure>>, f64, u64);

impl Crew {
    /// That of an engine's threads.
    pub fn new(settings: Settings, roster: Roster) -> Self {
        let sequential = (0..roster.threads()).map(|_| Latch::default()).collect();
        let book = |_| CachePadded::new(Latch::new(WaitBook::new()));
        let waits = (0..roster.threads()).map(book).collect();
        let loads = (0..roster.threads()).map(|_| Latch::default()).collect();
        Self {
            tallies: PerWorker::with_defaults(roster.threads().into()),
            roster,
            settings,
            layout: Latch::default(),
            waits,
            sequential,
            loads,
            slots: settings.locks_slots.then(SlotLocks::default),
            moved: Counter::default(),
            shares: Latch::default(),
        }
    }

    /// Notes that somebody has waited in a thread's hall, so many nanoseconds.
    pub fn note_wait(&self, thread: u16, awaited: Awaited, nanos: u64) {
        self.waits[usize::from(thread)].lock().note(awaited, nanos);
    }

    /// Takes note of how often something was asked for in each dataset of a layout, in a thread's
    /// hall.
    pub fn note_load(&self, thread: u16, layout: u64, asked: &[u64]) {
        let load = &mut *self.loads[usize::from(thread)].lock();
        load.layout = layout;
        load.asked.clear();
        load.asked.extend_from_slice(asked);
    }

    /// How often something was asked for in each dataset of a layout, in all halls together.
    pub fn asked(&self, layout: u64) -> Vec<u64> {
        let mut sum = Vec::new();
        for load in &self.loads {
            let load = load.lock();
            if load.layout == layout {
                sum.resize(sum.len().max(load.asked.len()), 0);
                sum.iter_mut().zip(&load.asked).for_each(|(sum, asked)| *sum += asked);
            }
        }
        sum
    }

    /// Counts datasets that are told to move. Of one thread.
    pub fn note_moves(&self, datasets: u64) {
        self.moved.add(datasets);
    }

    /// Takes note of how the last requests were spread over halls, before datasets were moved.
    pub fn note_shares(&self, shares: Vec<u64>) {
        *self.shares.lock() = shares;
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

    /// What is made of a schema; the first who asks makes it.
    pub fn layout(&self, schema: &Arc<Schema>) -> Arc<Layout> {
        let (known, count) = &mut *self.layout.lock();
        match known {
            Some(layout) if Arc::ptr_eq(&layout.world.schema, schema) => Arc::clone(layout),
            _ => {
                *count += 1;
                let Settings { executors, spread, .. } = self.settings;
                let halls: Vec<_> = (0..self.roster.threads()).map(|own| self.hall(own)).collect();
                let layout = Layout::new(*count, Arc::clone(schema), (executors, spread), &halls);
                Arc::clone(known.insert(Arc::new(layout)))
            }
        }
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
        waits::sum(self.waits.iter().map(|book| book.lock().clone()))
    }

    fn choice(&self) -> Option<String> {
        let mut told = vec![self.calls()];
        if self.settings.rebalances {
            let (each, moved) = (self.settings.executors, self.moved.get());
            let shares = self.shares.lock();
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
