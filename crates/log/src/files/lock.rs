//! The lock of a directory: one process at a time opens a database.
//!
//! Role         held as long as the database is open
//! Invariants   I1  the locks are the system's (flock) and end with the process, however it ends;
//!                  the process id in the file is only for the message
//!              I2  the directory itself is locked, so that removing the file, or putting another
//!                  one in its place, lets nobody in. The file is locked, too: for file systems
//!                  that lock no directories (NFS), and for older versions, which know only that

use crate::error::LogError;
use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;

/// A held directory; dropping it lets go. The file stays: to remove it would let two processes
/// lock two files of one name.
#[derive(Debug)]
pub struct DirectoryLock {
    directory: File,
    file: File,
}

impl Drop for DirectoryLock {
    /// Closing them is not enough: a process that was forked off and has not called exec yet has
    /// them open, too, and would keep the locks a little longer.
    fn drop(&mut self) {
        for held in [&self.file, &self.directory] {
            // Should it fail, closing lets go all the same.
            let _ = flock(held, FlockOperation::Unlock);
        }
    }
}

impl DirectoryLock {
    pub(super) fn acquire(directory: &Path, name: &str) -> Result<Self, LogError> {
        let path = directory.join(name);
        let [shown, around] = [&*path, directory].map(|path| path.display().to_string());
        let directory =
            File::open(directory).map_err(|error| LogError::io("open", &*around, error))?;
        // Other errors: a file system that locks no directories (I2).
        if let Err(Errno::WOULDBLOCK) = lock(&directory) {
            let holder = File::open(&path).ok().and_then(|file| holder(&file));
            return Err(LogError::Locked { path: around, holder });
        }
        let mut options = OpenOptions::new();
        options
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .mode(super::directory::FILE_MODE);
        let file = options.open(&path).map_err(|error| LogError::io("open", &*shown, error))?;
        match lock(&file) {
            Ok(()) => {}
            Err(Errno::WOULDBLOCK) => {
                return Err(LogError::Locked { path: shown, holder: holder(&file) });
            }
            Err(error) => return Err(LogError::io("lock", shown, error.into())),
        }
        write_holder(&file).map_err(|error| LogError::io("write to", shown, error))?;
        Ok(Self { directory, file })
    }
}

fn lock(file: &File) -> Result<(), Errno> {
    flock(file, FlockOperation::NonBlockingLockExclusive)
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
    use crate::error::LogError;
    use crate::files::tests::TemporaryDirectory;

    const NAME: &str = "hotrow.lock";

    #[test]
    fn a_dropped_lock_is_free_though_a_fork_has_the_files_open() {
        let directory = TemporaryDirectory::new();
        let lock = DirectoryLock::acquire(directory.path(), NAME).expect("nobody has it");
        let of_a_fork = [&lock.file, &lock.directory]
            .map(|held| held.try_clone().expect("there are file descriptors left"));
        drop(lock);
        drop(DirectoryLock::acquire(directory.path(), NAME).expect("it is free again"));
        drop(of_a_fork);
    }

    #[test]
    fn a_lock_outlasts_its_file() {
        let directory = TemporaryDirectory::new();
        let lock = DirectoryLock::acquire(directory.path(), NAME).expect("nobody has it");
        let refused = || DirectoryLock::acquire(directory.path(), NAME).expect_err("it is held");
        let file = directory.path().join(NAME);
        assert!(matches!(refused(), LogError::Locked { holder: Some(_), .. }));
        std::fs::remove_file(&file).expect("it is there");
        assert!(matches!(refused(), LogError::Locked { holder: None, .. }));
        std::fs::write(&file, "1").expect("the directory is writable");
        assert!(matches!(refused(), LogError::Locked { holder: Some(1), .. }));
        drop(lock);
        DirectoryLock::acquire(directory.path(), NAME).expect("it is free again");
    }
}
