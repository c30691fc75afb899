//! Doors for benchmarks: an engine that serves sessions for a while, and a slow log device.
//!
//! Role         opening starts an engine for good; a benchmark loads a database without one, has
//!              its sessions served for a while, and looks at the rows at rest
//! Concurrency  the way to the engine is changed only while nobody else has the database

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use hotrow_base::ids::WorkerId;
use hotrow_base::sync::Latch;
use hotrow_engine::contract::{EngineEntry, EngineOptions, InteractiveOptions};
use hotrow_engine::interactive::Reruns;
use hotrow_engine::statistics::Statistics;

use super::{Database, Inner, Started};
use crate::client::ClientQueue;
use crate::config::Config;
use crate::data_directory::DataDirectory;
use crate::error::Error;
use crate::recovery::RecoveryProgress;

impl Database {
    /// As [`Database::open_without_engine`], on a log device whose every sync takes `delay` longer:
    /// for benchmarks of what waits for the log. Nothing else should want it.
    ///
    /// # Errors
    ///
    /// As [`Database::open`].
    pub fn open_without_engine_on_slow_log(
        path: impl AsRef<Path>,
        config: Config,
        delay: Duration,
        progress: impl FnMut(RecoveryProgress),
    ) -> Result<Self, Error> {
        let slow = |directory: DataDirectory| directory.with_slow_log(delay);
        Self::in_directory_without_engine(path.as_ref(), config, progress, slow)
    }

    /// As [`Database::open_with`], on a log device whose every sync waits for `wait` first, and
    /// fails if that fails: for tests of what is told before it is durable.
    ///
    /// # Errors
    ///
    /// As [`Database::open`].
    pub fn open_on_slow_log(
        entry: &EngineEntry,
        path: impl AsRef<Path>,
        config: Config,
        wait: impl Fn() -> io::Result<()> + Send + Sync + 'static,
    ) -> Result<Self, Error> {
        config.check_with_directory()?;
        let threads = config.threads_for(Some(entry));
        let staff = threads + config.sessions_for(entry);
        let directory = DataDirectory::open(path.as_ref())?.with_log_behind(wait);
        Inner::in_directory(directory, config, staff, |_| ())?.start(entry, threads)
    }

    pub(super) fn in_directory_without_engine(
        path: &Path,
        config: Config,
        progress: impl FnMut(RecoveryProgress),
        change: impl FnOnce(DataDirectory) -> DataDirectory,
    ) -> Result<Self, Error> {
        config.check_with_directory()?;
        let threads = config.threads_for(None);
        let directory = change(DataDirectory::open(path)?);
        let inner = Inner::in_directory(directory, config, threads, progress)?;
        Ok(Self { inner: Arc::new(inner) })
    }

    /// Starts an engine that runs the calls of sessions, on a database that has none: for
    /// benchmarks, which load without an engine. [`Database::rest`] ends it.
    ///
    /// # Errors
    ///
    /// [`Error::InUse`] while there are sessions or clones of the handle, else as
    /// [`Database::start_engine`].
    pub fn serve(&mut self, entry: &EngineEntry, options: &EngineOptions) -> Result<(), Error> {
        let inner = Arc::get_mut(&mut self.inner).ok_or(Error::InUse)?;
        inner.refuse_engine()?;
        inner.refuse_threads(options)?;
        inner.refuse_unlogged()?;
        inner.journal.cut();
        inner.serve(entry, options)
    }

    /// Ends the engine that [`Database::serve`] started, when all calls have ended; its books.
    ///
    /// # Errors
    ///
    /// [`Error::InUse`], as for [`Database::serve`].
    pub fn rest(&mut self) -> Result<Statistics, Error> {
        let inner = Arc::get_mut(&mut self.inner).ok_or(Error::InUse)?;
        (inner.interactive, inner.locks_as_it_goes) = (None, false);
        if let Some(clients) = inner.clients.take() {
            clients.drain();
        }
        let engine = inner.engine.lock().take();
        Ok(engine.map(|engine| engine.stop()).unwrap_or_default())
    }
}

impl Inner {
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
        self.interactive = match self.config.open_transactions_max {
            0 => None,
            _ if entry.locks_as_it_goes => engine.interactive(),
            _ => Some(Reruns::new(&self.ground(), self.config.rerun_options())),
        };
        self.locks_as_it_goes = entry.locks_as_it_goes;
        self.clients = Some(queue);
        self.threads = options.threads;
        self.engine = Latch::new(Some(Box::new(Started::new(engine, &self.running))));
        Ok(())
    }

    /// Refuses workers that the storage has no room for.
    pub(super) fn refuse_threads(&self, options: &EngineOptions) -> Result<(), Error> {
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
        Ok(())
    }
}
