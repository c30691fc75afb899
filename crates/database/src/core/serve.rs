//! Engines: one that serves sessions, for good or for a while, and those that a benchmark starts.

use hotrow_base::ids::WorkerId;
use hotrow_base::sync::Latch;
use hotrow_engine::contract::{
    CallerOptions, EngineEntry, EngineOptions, InteractiveOptions, RunningEngine,
};
use hotrow_engine::interactive::Reruns;
use hotrow_engine::source::CallSource;
use hotrow_engine::statistics::Statistics;
use hotrow_engine::waits::{Awaited, Waited};

use super::Core;
use super::started::Started;
use crate::client::ClientQueue;
use crate::error::Error;

impl Core {
    /// See [`Database::start_engine`](crate::Database::start_engine).
    pub(crate) fn start_engine(
        &self,
        entry: &EngineEntry,
        options: &EngineOptions,
        sources: Vec<Box<dyn CallSource>>,
    ) -> Result<Box<dyn RunningEngine>, Error> {
        self.refuse_engine()?;
        self.refuse_threads(options)?;
        if sources.len() != options.threads {
            let given = sources.len() as u64;
            return Err(Error::Config { what: "sources", allowed: "one per thread", given });
        }
        self.refuse_unlogged()?;
        self.journal.cut();
        let engine = (entry.start)(self.ground(), options, sources)?;
        Ok(Box::new(Started::new(engine, &self.running)))
    }

    /// See [`Database::serve`](crate::Database::serve).
    pub(crate) fn serve_for_a_while(
        &mut self,
        entry: &EngineEntry,
        options: &EngineOptions,
    ) -> Result<(), Error> {
        self.refuse_engine()?;
        self.refuse_threads(options)?;
        self.refuse_unlogged()?;
        self.journal.cut();
        self.serve(entry, options)
    }

    /// Ends the engine that serves sessions, when all calls have ended; its books.
    pub(crate) fn rest(&mut self) -> Statistics {
        (self.interactive, self.definers, self.locks_as_it_goes) = (None, None, false);
        if let Some(clients) = self.clients.take() {
            clients.drain();
        }
        let engine = self.engine.lock().take();
        engine.map(|engine| engine.stop()).unwrap_or_default()
    }

    /// The statistics of the engine that runs, or ran.
    pub(crate) fn engine_statistics(&self) -> Statistics {
        let running = self.engine.lock().as_ref().map(|engine| engine.statistics());
        running.unwrap_or_else(|| self.last_books.lock().clone())
    }

    /// What it has chosen by itself.
    pub(crate) fn engine_choice(&self) -> Option<String> {
        self.engine.lock().as_ref().and_then(|engine| engine.choice())
    }

    /// Who waits for whom.
    pub(crate) fn engine_waits(&self) -> Vec<(Awaited, Waited)> {
        self.engine.lock().as_ref().map(|engine| engine.waits()).unwrap_or_default()
    }

    /// Starts the engine that sessions' calls go to.
    pub(super) fn serve(
        &mut self,
        entry: &EngineEntry,
        options: &EngineOptions,
    ) -> Result<(), Error> {
        let first = options.first_worker.0;
        let workers = (first..).take(options.threads).map(WorkerId);
        let ends = workers.map(|worker| self.ends(worker)).collect();
        let (queue, sources) = ClientQueue::new(self.config.queue_capacity, ends);
        let engine = (entry.start)(self.ground(), options, sources)?;
        queue.set_on_callers(engine.on_callers());
        self.interactive = match self.config.open_transactions_max {
            0 => None,
            _ if entry.locks_as_it_goes => engine.interactive(),
            _ => Some(Reruns::new(&self.ground(), self.config.rerun_options())),
        };
        self.definers = match self.config.open_transactions_max {
            1.. if entry.locks_as_it_goes => {
                Some(Reruns::new(&self.ground(), self.config.rerun_options()))
            }
            _ => None,
        };
        self.locks_as_it_goes = entry.locks_as_it_goes;
        self.clients = Some(queue);
        self.threads = options.threads;
        self.engine = Latch::new(Some(Box::new(Started::new(engine, &self.running))));
        Ok(())
    }

    /// Refuses workers that the storage has no room for.
    fn refuse_threads(&self, options: &EngineOptions) -> Result<(), Error> {
        let first = options.first_worker.index();
        if first == 0 || first + options.threads > self.workers() {
            let allowed = "at most those the database was opened for";
            return Err(Error::Config { what: "threads", allowed, given: options.threads as u64 });
        }
        let InteractiveOptions { open_max, first_worker, .. } = options.interactive;
        if open_max > 0 && first_worker.index() + open_max > self.workers() {
            let (what, allowed) = ("open_max", "at most what the database was opened for");
            return Err(Error::Config { what, allowed, given: open_max as u64 });
        }
        let CallerOptions { places, first_worker } = options.on_callers;
        if places > 0 && first_worker.index() + places > self.workers() {
            let (what, allowed) = ("places", "at most what the database was opened for");
            return Err(Error::Config { what, allowed, given: places as u64 });
        }
        Ok(())
    }
}
