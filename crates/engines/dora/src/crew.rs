//! What the engine's threads share.

use std::sync::Arc;

use hotrow_base::counters::PerWorker;
use hotrow_base::sync::Latch;
use hotrow_engine::schema::Schema;
use hotrow_engine::statistics::WorkerBooks;
use hotrow_flow::node::Address;
use hotrow_flow::roster::Roster;

use crate::call::Body;
use crate::layout::Layout;
use crate::options::Settings;
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
}

impl Crew {
    /// That of an engine's threads.
    pub fn new(settings: Settings, roster: Roster) -> Self {
        Self { roster, settings, layout: Latch::default() }
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
}
