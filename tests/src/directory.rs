//! Directories of tests: fresh, and removed at the end.

use std::cell::Cell;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

/// A path where nothing is yet; what comes there is removed when this is dropped.
#[derive(Debug)]
pub struct TestDirectory {
    path: PathBuf,
    is_kept: Cell<bool>,
}

impl TestDirectory {
    /// A path of this process's own; `name` tells people whose it is.
    pub fn new(name: &str) -> Self {
        Self::within(&std::env::temp_dir(), name)
    }

    /// As [`TestDirectory::new`], in the directory `around`.
    pub fn within(around: &Path, name: &str) -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Relaxed);
        let path = around.join(format!("hotrow-{name}-{}-{number}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        Self { path, is_kept: Cell::new(false) }
    }

    /// Leaves what comes there for people to look at.
    pub fn keep(&self) {
        self.is_kept.set(true);
    }

    /// The path.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for TestDirectory {
    fn drop(&mut self) {
        if !self.is_kept.get() {
            let _ = std::fs::remove_dir_all(&self.path);
        }
    }
}
