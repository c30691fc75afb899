//! The directory of a benchmark's database, when it is to be durable.

use hotrow_base::sync::facade::atomic::{AtomicU32, Ordering};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use hotrow::{Durability, LogEntries};

use crate::error::BenchError;

/// How a benchmark's database is to be logged.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LogSettings {
    /// where directories for databases are made
    pub directory: PathBuf,
    /// what a call's end waits for
    pub durability: Durability,
    /// what the log has of calls
    pub entries: LogEntries,
    /// calls of all threads together that may wait to be durable
    pub in_flight: usize,
    /// how much longer than the disk's own a sync takes
    pub sync_delay: Duration,
    /// whether to close the database after a run, recover it, and check it again
    pub recover: bool,
}

/// A fresh directory for one database, removed with everything in it when it is dropped.
#[derive(Debug)]
pub struct RunDirectory {
    path: PathBuf,
}

impl RunDirectory {
    /// Makes one in `around`, which is made too if need be.
    ///
    /// # Errors
    ///
    /// [`BenchError::Directory`]
    pub fn new(around: &Path) -> Result<Self, BenchError> {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        fs::create_dir_all(around).map_err(|error| BenchError::directory(around, &error))?;
        // Relaxed: only the number matters. Directories of processes that were killed may be left.
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let path = around.join(format!("hotrow-bench-{}-{number}", std::process::id()));
        if path.exists() {
            fs::remove_dir_all(&path).map_err(|error| BenchError::directory(&path, &error))?;
        }
        Ok(Self { path })
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for RunDirectory {
    fn drop(&mut self) {
        // Best effort: the directory has a name of its own and hurts nobody.
        let _ = fs::remove_dir_all(&self.path);
    }
}
