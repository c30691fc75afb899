//! Directories of tests.

use std::path::PathBuf;

/// A directory of this test's own, removed at its end.
pub struct Directory(pub PathBuf);

impl Directory {
    /// `name` tells it from those of other tests.
    pub fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("hotrow-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        Self(path)
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
