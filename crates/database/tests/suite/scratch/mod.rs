//! Directories of tests.

use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};

/// Directories that this process has made.
static MADE: AtomicU64 = AtomicU64::new(0);

/// A directory of this test's own, removed at its end.
pub struct Directory(pub PathBuf);

impl Directory {
    /// `name` says whose it is to who looks at what a killed test left.
    pub fn new(name: &str) -> Self {
        let (process, number) = (std::process::id(), MADE.fetch_add(1, Ordering::Relaxed));
        let path = std::env::temp_dir().join(format!("hotrow-{name}-{process}-{number}"));
        let _ = std::fs::remove_dir_all(&path);
        Self(path)
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
