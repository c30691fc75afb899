//! Files as the log and checkpoints need them: a flat directory of named files.
//!
//! Role         the one door to the file system. [`Directory`] is the real one; in tests
//!              [`simulated`] stands in its place, remembers every operation, and can show what a
//!              power failure would have left;
//!              [`SlowFiles`] is a slower disk, for benchmarks
//! Watching     who keeps a file open learns by [`Files::state`] that somebody has removed,
//!              renamed, replaced or cut it: what is written to it from then on is lost with it
//! Invariants   I1  what was written to a file is durable after `sync_data` of that file
//!              I2  that a file exists, has a name or has none is durable after `sync_directory`
//! Concurrency  implementations may be called from any thread

mod directory;
mod lock;
#[cfg(any(test, feature = "simulation"))]
pub mod simulated;
mod slow;
#[cfg(test)]
pub(crate) mod tests;
pub use directory::Directory;
pub use lock::DirectoryLock;
pub use slow::{DiskSwitch, SlowFiles};

use std::io;

/// A directory of files.
pub trait Files: Send + Sync {
    /// Makes a file, open for reading and writing; an error if there is one of that name.
    fn create(&self, name: &str) -> io::Result<Box<dyn File>>;
    /// Opens a file for reading.
    fn open(&self, name: &str) -> io::Result<Box<dyn File>>;
    /// Opens a file for reading and writing.
    fn open_writable(&self, name: &str) -> io::Result<Box<dyn File>>;
    /// The names of all files, in no order.
    fn list(&self) -> io::Result<Vec<String>>;
    /// Gives the file `from` the name `to`, in place of a file that had it.
    fn rename(&self, from: &str, to: &str) -> io::Result<()>;
    /// Removes a file.
    fn remove(&self, name: &str) -> io::Result<()>;
    /// Makes earlier creations, renames and removals durable.
    fn sync_directory(&self) -> io::Result<()>;
    /// What is found now where the file `name` should be. An error of kind `NotFound` when nothing
    /// is, also where the directory itself is no longer found at its path. Allocates nothing.
    fn state(&self, name: &str) -> io::Result<FileState>;
    /// The path of a file, or for "" of the directory, for messages.
    fn path(&self, name: &str) -> String;
}

/// What is found under a name.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FileState {
    /// Which file it is: no two that exist at a time have the same.
    pub identity: FileIdentity,
    /// Its length in bytes.
    pub length: u64,
}

/// What tells a file from all others, whatever it is called.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FileIdentity {
    /// The device it is on.
    pub device: u64,
    /// Its number there.
    pub inode: u64,
}

/// An open file.
pub trait File: Send + Sync {
    /// Writes all of `bytes` at `offset`; the file grows as needed.
    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<()>;
    /// Reads at `offset` until `bytes` is full or the file ends; how many bytes were read.
    fn read_at(&self, bytes: &mut [u8], offset: u64) -> io::Result<usize>;
    /// The file's length in bytes.
    fn length(&self) -> io::Result<u64>;
    /// Cuts the file, or lets it grow by zeros.
    fn set_length(&self, length: u64) -> io::Result<()>;
    /// Waits until all that was written is on the disk, with what is needed to read it back.
    fn sync_data(&self) -> io::Result<()>;

    /// Gives `length` bytes from `offset` places on the disk by writing zeros over them, so that
    /// a later sync of these bytes has nothing but data to write.
    fn allocate(&self, offset: u64, length: u64) -> io::Result<()> {
        static ZEROS: [u8; 64 * 1024] = [0; 64 * 1024];
        let mut at = offset;
        while at < offset + length {
            let step = (offset + length - at).min(ZEROS.len() as u64);
            self.write_at(&ZEROS[..step as usize], at)?;
            at += step;
        }
        Ok(())
    }
}
