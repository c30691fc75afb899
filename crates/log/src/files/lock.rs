//! The lock file: one process at a time opens a database.
//!
//! Role         held as long as the database is open
//! Invariants   I1  the lock is the system's (flock on the open file) and ends with the process,
//!                  however it ends; the process id in the file is only for the message

use crate::error::LogError;
use rustix::fs::{FlockOperation, flock};
use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

/// A held lock file; dropping it lets go. The file stays: to remove it would let two processes
/// lock two files of one name.
#[derive(Debug)]
pub struct DirectoryLock {
    file: File,
}

impl Drop for DirectoryLock {
    /// Closing the file is not enough: a process that was forked off and has not called exec yet
    /// has it open, too, and would keep the lock a little longer.
    fn drop(&mut self) {
        // Should it fail, closing lets go all the same.
        let _ = flock(&self.file, FlockOperation::Unlock);
    }
}

impl DirectoryLock {
    pub(super) fn acquire(path: &Path) -> Result<Self, LogError> {
        let shown = path.display().to_string();
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false);
        let file = options.open(path).map_err(|error| LogError::io("open", &*shown, error))?;
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => {}
            Err(rustix::io::Errno::WOULDBLOCK) => {
                return Err(LogError::Locked { path: shown, holder: holder(&file) });
            }
            Err(error) => return Err(LogError::io("lock", shown, error.into())),
        }
        write_holder(&file).map_err(|error| LogError::io("write to", shown, error))?;
        Ok(Self { file })
    }
}

fn write_holder(file: &File) -> io::Result<()> {
    file.set_len(0)?;
    file.write_all_at(format!("{}\n", std::process::id()).as_bytes(), 0)
}

/// The process id in the file; `None` if its holder has not written it yet.
fn holder(file: &File) -> Option<u32> {
    let mut bytes = [0; 16];
    let read = file.read_at(&mut bytes, 0).ok()?;
    std::str::from_utf8(&bytes[..read]).ok()?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::DirectoryLock;

    #[test]
    fn a_dropped_lock_is_free_though_a_fork_has_the_file_open() {
        let name = format!("hotrow-lock-{}", std::process::id());
        let path = std::env::temp_dir().join(name);
        let lock = DirectoryLock::acquire(&path).expect("nobody has it");
        let of_a_fork = lock.file.try_clone().expect("there are file descriptors left");
        drop(lock);
        drop(DirectoryLock::acquire(&path).expect("it is free again"));
        drop(of_a_fork);
        let _ = std::fs::remove_file(&path);
    }
}
