//! The real directory.
//!
//! Role         [`Files`] over the standard library; `sync_data` is fdatasync

use super::{DirectoryLock, File, Files};
use crate::error::LogError;
use std::fs;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

/// A directory of the file system.
#[derive(Debug)]
pub struct Directory {
    path: PathBuf,
}

impl Directory {
    /// The directory `path`, which must exist.
    pub fn open(path: impl Into<PathBuf>) -> Result<Self, LogError> {
        let path = path.into();
        let fault = |error| LogError::io("open", path.display().to_string(), error);
        if !fs::metadata(&path).map_err(fault)?.is_dir() {
            return Err(fault(io::ErrorKind::NotADirectory.into()));
        }
        Ok(Self { path })
    }

    /// The directory `path`, made if it does not exist; its name is then durable. The directory
    /// around it must exist.
    pub fn create(path: impl Into<PathBuf>) -> Result<Self, LogError> {
        let path = path.into();
        match fs::create_dir(&path) {
            Ok(()) => sync_around(&path)
                .map_err(|error| LogError::io("sync", path.display().to_string(), error))?,
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(LogError::io("make", path.display().to_string(), error)),
        }
        Self::open(path)
    }

    /// Holds `path`, a file made if need be, for this process alone; see [`DirectoryLock`].
    pub fn lock(path: impl AsRef<Path>) -> Result<DirectoryLock, LogError> {
        DirectoryLock::acquire(path.as_ref())
    }
}

/// Makes the name of `path` durable.
fn sync_around(path: &Path) -> io::Result<()> {
    let around = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    fs::File::open(around.unwrap_or(Path::new(".")))?.sync_all()
}

impl Files for Directory {
    fn create(&self, name: &str) -> io::Result<Box<dyn File>> {
        let mut options = fs::OpenOptions::new();
        options.read(true).write(true).create_new(true);
        Ok(Box::new(options.open(self.path.join(name))?))
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
        fs::File::open(&self.path)?.sync_all()
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
