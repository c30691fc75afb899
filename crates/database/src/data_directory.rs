//! The data directory: where a database keeps its log and its checkpoints.
//!
//! ```text
//! DIR/hotrow.lock   held by the process that has the database open
//! DIR/log/          log files
//! DIR/checkpoint/   checkpoints
//! ```

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use hotrow_log::error::LogError;
use hotrow_log::files::{Directory, DirectoryLock, Files, SlowFiles};
use hotrow_log::log::Log;
use hotrow_log::read::Tail;

use crate::config::Config;
use crate::error::Error;

/// An open data directory.
pub(crate) struct DataDirectory {
    log: Arc<dyn Files>,
    checkpoints: Arc<dyn Files>,
    _lock: Option<DirectoryLock>,
}

impl DataDirectory {
    /// Opens `path`, or makes it; refused while another process has it.
    pub(crate) fn open(path: &Path) -> Result<Self, Error> {
        Directory::create(path)?;
        let lock = Directory::lock(path.join("hotrow.lock"))?;
        let log = Arc::new(Directory::create(path.join("log"))?);
        let checkpoints = Arc::new(Directory::create(path.join("checkpoint"))?);
        Ok(Self { log, checkpoints, _lock: Some(lock) })
    }

    /// Makes every sync of the log's files take so much longer; a delay of 0 changes nothing.
    pub(crate) fn with_slow_log(mut self, delay: Duration) -> Self {
        if delay.is_zero() {
            return self;
        }
        self.log = Arc::new(SlowFiles::new(self.log, delay));
        self
    }

    /// Has every sync of the log's files wait for something first, and fail if that fails.
    pub(crate) fn with_log_behind(
        mut self,
        wait: impl Fn() -> io::Result<()> + Send + Sync + 'static,
    ) -> Self {
        self.log = Arc::new(SlowFiles::waiting(self.log, wait));
        self
    }

    /// Opens `path`, which must be a data directory, for reading only; refused while another
    /// process has it. Where not even the lock can be written nobody else can have it.
    pub(crate) fn look_at(path: &Path) -> Result<Self, Error> {
        let mut found = Self::look_at_shared(path)?;
        found._lock = match Directory::lock(path.join("hotrow.lock")) {
            Ok(lock) => Some(lock),
            Err(held @ LogError::Locked { .. }) => return Err(held.into()),
            Err(_) => None,
        };
        Ok(found)
    }

    /// As [`DataDirectory::look_at`], though another process may be writing.
    pub(crate) fn look_at_shared(path: &Path) -> Result<Self, Error> {
        let log = Arc::new(Directory::open(path.join("log"))?);
        let checkpoints = Arc::new(Directory::open(path.join("checkpoint"))?);
        Ok(Self { log, checkpoints, _lock: None })
    }

    /// The files of the log.
    pub(crate) fn log_files(&self) -> &dyn Files {
        &*self.log
    }

    /// The files of checkpoints.
    pub(crate) fn checkpoint_files(&self) -> &Arc<dyn Files> {
        &self.checkpoints
    }

    /// Goes on with the log where recovery found its end.
    pub(crate) fn start_log(
        &self,
        tail: Tail,
        config: &Config,
        workers: usize,
    ) -> Result<Arc<Log>, Error> {
        Ok(Log::start(Arc::clone(&self.log), tail, config.log_options(workers))?)
    }
}
