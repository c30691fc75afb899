//! The data directory: where a database keeps its log and its checkpoints.
//!
//! ```text
//! DIR               locked by the process that has the database open
//! DIR/hotrow.lock   tells which process that is
//! DIR/log/          log files
//! DIR/checkpoint/   checkpoints
//! ```
//!
//! Invariants   I1 whoever does not own it can read nothing of it: directories have mode 700, files
//!                 600. Those of older versions, or of somebody's chmod, are made so, with a notice

use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use hotrow_log::error::LogError;
use hotrow_log::files::{Directory, DirectoryLock, Files, SlowFiles};
use hotrow_log::log::Log;
use hotrow_log::read::Tail;

use crate::config::Config;
use crate::error::Error;

/// Tells who has the directory.
const LOCK: &str = "hotrow.lock";
/// Where the log is.
const LOG: &str = "log";
/// Where checkpoints are.
const CHECKPOINTS: &str = "checkpoint";
/// What others than the owner may do.
const OTHERS: u32 = 0o077;

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
        let lock = Directory::lock(path, LOCK)?;
        restrict(path)?;
        let log = Arc::new(Directory::create(path.join(LOG))?);
        let checkpoints = Arc::new(Directory::create(path.join(CHECKPOINTS))?);
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
        found._lock = match Directory::lock(path, LOCK) {
            Ok(lock) => Some(lock),
            Err(held @ LogError::Locked { .. }) => return Err(held.into()),
            Err(_) => None,
        };
        Ok(found)
    }

    /// As [`DataDirectory::look_at`], though another process may be writing.
    pub(crate) fn look_at_shared(path: &Path) -> Result<Self, Error> {
        let log = Arc::new(Directory::open(path.join(LOG))?);
        let checkpoints = Arc::new(Directory::open(path.join(CHECKPOINTS))?);
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

/// Takes from others what they may do to a data directory and what is in it (I1), and tells so.
fn restrict(path: &Path) -> Result<(), Error> {
    let mut opened = 0;
    for part in [LOG, CHECKPOINTS] {
        opened += restrict_whole(&path.join(part))?;
    }
    opened += restrict_one(&path.join(LOCK), 0o600)?;
    opened += restrict_top(path)?;
    if opened > 0 {
        tracing::warn!(
            "{}: {opened} directories and files could be read by others; they are their owner's \
             alone from now on",
            path.display()
        );
    }
    Ok(())
}

/// A directory that holds nothing but files of ours; how many could be read by others.
fn restrict_whole(path: &Path) -> Result<usize, Error> {
    let entries = match fs::read_dir(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(0),
        entries => entries.map_err(|error| failed("list", path, error))?,
    };
    let mut opened = restrict_one(path, 0o700)?;
    for entry in entries {
        let entry = entry.map_err(|error| failed("list", path, error))?;
        if entry.file_type().is_ok_and(|kind| kind.is_file()) {
            opened += restrict_one(&entry.path(), 0o600)?;
        }
    }
    Ok(opened)
}

/// The directory around it all, unless it is somebody else's, too: then what is in it is
/// restricted, and nobody but its owner and group may be able to put other things in their places.
fn restrict_top(path: &Path) -> Result<usize, Error> {
    let ours = [LOCK, LOG, CHECKPOINTS];
    let mut entries = fs::read_dir(path).map_err(|error| failed("list", path, error))?;
    let is_ours = entries
        .all(|entry| entry.is_ok_and(|entry| ours.iter().any(|own| *own == entry.file_name())));
    if is_ours && let Ok(restricted) = restrict_one(path, 0o700) {
        return Ok(restricted);
    }
    let mode = mode_of(path)?;
    let (anybody_writes, only_own) = (mode & 0o002 != 0, mode & 0o1000 != 0);
    if anybody_writes && !only_own {
        let path = path.display().to_string();
        return Err(LogError::Exposed { path, mode: mode & 0o777 }.into());
    }
    Ok(0)
}

/// Whether others could read it, as 0 or 1; they cannot any more.
fn restrict_one(path: &Path, mode: u32) -> Result<usize, Error> {
    if mode_of(path)? & OTHERS == 0 {
        return Ok(0);
    }
    let restricted = fs::set_permissions(path, Permissions::from_mode(mode));
    restricted.map_err(|error| failed("take from others the permissions of", path, error))?;
    Ok(1)
}

fn mode_of(path: &Path) -> Result<u32, Error> {
    let found = fs::metadata(path).map_err(|error| failed("look at", path, error))?;
    Ok(found.permissions().mode())
}

fn failed(action: &'static str, path: &Path, error: io::Error) -> Error {
    LogError::io(action, path.display().to_string(), error).into()
}

#[cfg(test)]
mod tests;
