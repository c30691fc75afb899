//! Directories of tests.

use std::path::{Path, PathBuf};
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

    /// Its files as they are now: what a crash leaves of a database that is open.
    pub fn copy(&self, name: &str) -> Self {
        let copied = Self::new(name);
        copy_files(&self.0, &copied.0);
        copied
    }
}

fn copy_files(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).expect("there is room");
    for entry in std::fs::read_dir(from).expect("it is there") {
        let entry = entry.expect("it can be listed");
        let target = to.join(entry.file_name());
        match entry.file_type().expect("it is known").is_dir() {
            true => copy_files(&entry.path(), &target),
            false => drop(std::fs::copy(entry.path(), target).expect("it can be copied")),
        }
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
