//! The data directory: where a database keeps its log and its checkpoints.
//!
//! ```text
//! DIR/hotrow.lock   held by the process that has the database open
//! DIR/log/          log files
//! DIR/checkpoint/   checkpoints
//! ```

use std::path::Path;
use std::sync::Arc;

use hotrow_log::files::{Directory, DirectoryLock, Files};
use hotrow_log::log::Log;
use hotrow_log::read::Tail;

use crate::config::Config;
use crate::error::Error;

/// An open data directory.
pub(crate) struct DataDirectory {
    log: Arc<dyn Files>,
    _lock: DirectoryLock,
}

impl DataDirectory {
    /// Opens `path`, or makes it; refused while another process has it.
    pub(crate) fn open(path: &Path) -> Result<Self, Error> {
        Directory::create(path)?;
        let lock = Directory::lock(path.join("hotrow.lock"))?;
        let log = Arc::new(Directory::create(path.join("log"))?);
        Ok(Self { log, _lock: lock })
    }

    /// The files of the log.
    pub(crate) fn log_files(&self) -> &dyn Files {
        &*self.log
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
