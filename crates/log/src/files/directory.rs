//! The real directory.
//!
//! Role         [`Files`] over the standard library; `sync_data` is fdatasync
//! Invariants   I1  what is made here is for its owner alone: directories have mode 700, files 600
//!              I2  making one file, with a sync of the directory, needs no descriptor that is not
//!                  there already: others who use up what the process may have (connections) do not
//!                  stop the log from beginning its next segment

use super::{DirectoryLock, File, FileIdentity, FileState, Files};
use crate::error::LogError;
use hotrow_base::sync::Latch;
use rustix::fd::AsFd;
use rustix::fs::{AtFlags, CWD, Stat};
use rustix::io::Errno;
use rustix::path::Arg;
use std::fs;
use std::io;
use std::os::unix::fs::{DirBuilderExt, FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// A directory of the file system.
#[derive(Debug)]
pub struct Directory {
    path: PathBuf,
    /// open, so that a sync needs no descriptor
    handle: fs::File,
    identity: FileIdentity,
    /// closed when there is no other descriptor for a new file (I2)
    spare: Latch<Option<fs::File>>,
}

/// Only the owner may read and write.
pub(super) const FILE_MODE: u32 = 0o600;
/// Only the owner may enter.
const DIRECTORY_MODE: u32 = 0o700;

impl Directory {
    /// The directory `path`, which must exist.
    pub fn open(path: impl Into<PathBuf>) -> Result<Self, LogError> {
        let path = path.into();
        let fault = |error| LogError::io("open", path.display().to_string(), error);
        let handle = fs::File::open(&path).map_err(fault)?;
        if !handle.metadata().map_err(fault)?.is_dir() {
            return Err(fault(io::ErrorKind::NotADirectory.into()));
        }
        let identity = look(&handle, ".").map_err(fault)?.identity;
        let spare = Latch::new(handle.try_clone().ok());
        Ok(Self { path, identity, handle, spare })
    }

    /// The directory `path`, made if it does not exist; its name is then durable. The directory
    /// around it must exist.
    pub fn create(path: impl Into<PathBuf>) -> Result<Self, LogError> {
        let path = path.into();
        match fs::DirBuilder::new().mode(DIRECTORY_MODE).create(&path) {
            Ok(()) => sync_around(&path)
                .map_err(|error| LogError::io("sync", path.display().to_string(), error))?,
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(LogError::io("make", path.display().to_string(), error)),
        }
        Self::open(path)
    }

    /// Holds the directory `path` for this process alone, telling others so in the file `name` in
    /// it; see [`DirectoryLock`].
    pub fn lock(path: impl AsRef<Path>, name: &str) -> Result<DirectoryLock, LogError> {
        DirectoryLock::acquire(path.as_ref(), name)
    }

    /// Makes a file; with the spare descriptor where there is no other (I2).
    fn create_new(&self, name: &str) -> io::Result<fs::File> {
        let mut options = fs::OpenOptions::new();
        options.read(true).write(true).create_new(true).mode(FILE_MODE);
        let path = self.path.join(name);
        let mut spare = self.spare.lock();
        let created = match options.open(&path) {
            Err(error) if is_out_of_descriptors(&error) && spare.take().is_some() => {
                options.open(&path)
            }
            created => created,
        };
        if spare.is_none() {
            *spare = self.handle.try_clone().ok(); // none is left: then the next time
        }
        created
    }
}

fn is_out_of_descriptors(error: &io::Error) -> bool {
    let code = error.raw_os_error();
    [Errno::MFILE, Errno::NFILE].iter().any(|errno| code == Some(errno.raw_os_error()))
}

/// What is found under a name in a directory, or at a path.
fn look(directory: impl AsFd, name: impl Arg + Copy) -> io::Result<FileState> {
    #[cfg(target_os = "linux")]
    {
        // Linux (6.13 and later) gives the next write to a file whose times somebody has asked for
        // a time of its own, and the sync behind it then writes the inode beside the data. Whoever
        // asks after each sync for no more than he wants spares each sync a second write.
        use rustix::fs::{StatxFlags, makedev, statx};
        let wanted = StatxFlags::INO | StatxFlags::SIZE;
        match statx(&directory, name, AtFlags::empty(), wanted) {
            Err(Errno::NOSYS) => {} // a system before Linux 4.11
            found => {
                let found = found?;
                let device = makedev(found.stx_dev_major, found.stx_dev_minor);
                let identity = FileIdentity { device, inode: found.stx_ino };
                return Ok(FileState { identity, length: found.stx_size });
            }
        }
    }
    Ok(state_of(&rustix::fs::statat(directory, name, AtFlags::empty())?))
}

/// What the system says of a file.
#[allow(
    clippy::unnecessary_cast,
    clippy::cast_sign_loss,
    reason = "the types differ from system to system"
)]
fn state_of(stat: &Stat) -> FileState {
    let identity = FileIdentity { device: stat.st_dev as u64, inode: stat.st_ino as u64 };
    FileState { identity, length: stat.st_size as u64 }
}

/// Makes the name of `path` durable.
fn sync_around(path: &Path) -> io::Result<()> {
    let around = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    fs::File::open(around.unwrap_or(Path::new(".")))?.sync_all()
}

impl Files for Directory {
    fn create(&self, name: &str) -> io::Result<Box<dyn File>> {
        Ok(Box::new(self.create_new(name)?))
    }

    fn open(&self, name: &str) -> io::Result<Box<dyn File>> {
        Ok(Box::new(fs::File::open(self.path.join(name))?))
    }

    fn open_writable(&self, name: &str) -> io::Result<Box<dyn File>> {
        let mut options = fs::OpenOptions::new();
        options.read(true).write(true);
        Ok(Box::new(options.open(self.path.join(name))?))
    }

    fn list(&self) -> io::Result<Vec<String>> {
        let mut names = Vec::new();
        for entry in fs::read_dir(&self.path)? {
            let entry = entry?;
            // A name that is not text is none of ours.
            if let (true, Ok(name)) =
                (entry.file_type()?.is_file(), entry.file_name().into_string())
            {
                names.push(name);
            }
        }
        Ok(names)
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        fs::rename(self.path.join(from), self.path.join(to))
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        fs::remove_file(self.path.join(name))
    }

    fn sync_directory(&self) -> io::Result<()> {
        self.handle.sync_all()
    }

    fn state(&self, name: &str) -> io::Result<FileState> {
        // What is found in the directory is not found at its path when that leads elsewhere.
        if look(CWD, &self.path)?.identity != self.identity {
            return Err(io::ErrorKind::NotFound.into());
        }
        look(&self.handle, name)
    }

    fn path(&self, name: &str) -> String {
        self.path.join(name).display().to_string()
    }
}

impl File for fs::File {
    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        self.write_all_at(bytes, offset)
    }

    fn read_at(&self, bytes: &mut [u8], offset: u64) -> io::Result<usize> {
        let mut read = 0;
        while read < bytes.len() {
            match FileExt::read_at(self, &mut bytes[read..], offset + read as u64) {
                Ok(0) => break,
                Ok(count) => read += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(read)
    }

    fn length(&self) -> io::Result<u64> {
        Ok(self.metadata()?.len())
    }

    fn set_length(&self, length: u64) -> io::Result<()> {
        self.set_len(length)
    }

    fn sync_data(&self) -> io::Result<()> {
        fs::File::sync_data(self)
    }
}
