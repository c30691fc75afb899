//! What the engine's threads share.

use std::collections::BTreeMap;
use std::sync::Arc;

use crossbeam_utils::CachePadded;
use hotrow_base::counters::PerWorker;
use hotrow_base::sync::Latch;
use hotrow_engine::schema::Schema;
use hotrow_engine::statistics::WorkerBooks;
use hotrow_engine::waits::{self, Awaited, WaitBook, Waited};
use hotrow_flow::node::Address;
use hotrow_flow::roster::Roster;
use hotrow_transaction::compiled::CompiledProcedure;

use crate::call::Body;
use crate::layout::Layout;
use crate::options::Settings;
use crate::plans::Plans;
use crate::protocol::Message;

/// What threads tell each other.
pub type Told = Message<Body>;

/// See the module.
pub struct Crew {
    /// what all engines share whose threads host nodes
    pub roster: Roster,
    /// the engine's settings
    pub settings: Settings,
    /// what was made of the schema in force
    layout: Latch<Option<Arc<Layout>>>,
    /// by thread: what was waited for in its hall
    waits: Box<[CachePadded<Latch<WaitBook>>]>,
    /// by thread: the procedures that its home has run in sequence, and the share that aborts
    sequential: Box<[Latch<Vec<Sequential>>]>,
}

/// A procedure that is run in sequence, and the share of its calls that abort.
pub type Sequential = (Option<Arc<CompiledProcedure>>, f64);

impl Crew {
    /// That of an engine's threads.
    pub fn new(settings: Settings, roster: Roster) -> Self {
        let sequential = (0..roster.threads()).map(|_| Latch::default()).collect();
        let book = |_| CachePadded::new(Latch::new(WaitBook::new()));
        let waits = (0..roster.threads()).map(book).collect();
        Self { roster, settings, layout: Latch::default(), waits, sequential }
    }

    /// Notes that somebody has waited in a thread's hall, so many nanoseconds.
    pub fn note_wait(&self, thread: u16, awaited: Awaited, nanos: u64) {
        self.waits[usize::from(thread)].lock().note(awaited, nanos);
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

    /// By address: the thread that hosts a node.
    pub fn seats(&self) -> Vec<u16> {
        let threads = self.roster.threads();
        (0..threads).chain(0..threads).collect()
    }

    /// What is made of a schema; the first who asks makes it.
    pub fn layout(&self, schema: &Arc<Schema>) -> Arc<Layout> {
        let mut known = self.layout.lock();
        match &*known {
            Some(layout) if Arc::ptr_eq(&layout.world.schema, schema) => Arc::clone(layout),
            _ => {
                let Settings { executors, spread, .. } = self.settings;
                let halls: Vec<_> = (0..self.roster.threads()).map(|own| self.hall(own)).collect();
                let layout = Layout::new(Arc::clone(schema), executors, spread, &halls);
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
        if self.settings.plans != Plans::Chosen {
            return None;
        }
        let mut all = BTreeMap::<String, f64>::new();
        for sequential in &self.sequential {
            for (procedure, aborts) in sequential.lock().iter() {
                let name = procedure.as_ref().map_or("?", |known| &known.procedure.name);
                let most = all.entry(name.to_owned()).or_default();
                *most = most.max(*aborts);
            }
        }
        if all.is_empty() {
            return Some("plans: all parallel, since few calls abort".to_owned());
        }
        let told = all
            .iter()
            .map(|(name, aborts)| format!("{name}, of whose calls {:.1} % abort", aborts * 100.0));
        Some(format!("plans: sequential for {}", told.collect::<Vec<_>>().join("; ")))
    }
}
