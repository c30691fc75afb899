//! Doors for benchmarks: an engine that serves sessions for a while, and a slow log device.
//!
//! Role         opening starts an engine for good; a benchmark loads a database without one, has
//!              its sessions served for a while, and looks at the rows at rest

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use hotrow_engine::contract::{EngineEntry, EngineOptions};
use hotrow_engine::statistics::Statistics;

use super::Database;
use crate::config::Config;
use crate::core::Core;
use crate::data_directory::DataDirectory;
use crate::error::Error;
use crate::recovery::RecoveryProgress;
use crate::session::run_own;

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
        let staff = config.staff_for(entry, threads);
        let directory = DataDirectory::open(path.as_ref())?.with_log_behind(wait);
        let core = Core::in_directory(directory, config, staff, run_own, |_| ())?;
        Ok(Self { core: Arc::new(core.start(entry, threads)?) })
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
        let core = Core::in_directory(directory, config, threads, run_own, progress)?;
        Ok(Self { core: Arc::new(core) })
    }

    /// Starts an engine that runs the calls of sessions, on a database that has none: for
    /// benchmarks, which load without an engine. [`Database::rest`] ends it.
    ///
    /// # Errors
    ///
    /// [`Error::InUse`] while there are sessions or clones of the handle, else as
    /// [`Database::start_engine`].
    pub fn serve(&mut self, entry: &EngineEntry, options: &EngineOptions) -> Result<(), Error> {
        let core = Arc::get_mut(&mut self.core).ok_or(Error::InUse)?;
        core.serve_for_a_while(entry, options)
    }

    /// Ends the engine that [`Database::serve`] started, when all calls have ended; its books.
    ///
    /// # Errors
    ///
    /// [`Error::InUse`], as for [`Database::serve`].
    pub fn rest(&mut self) -> Result<Statistics, Error> {
        let core = Arc::get_mut(&mut self.core).ok_or(Error::InUse)?;
        Ok(core.rest())
    }
}
