//! A simulated disk: files in memory that remember every operation, fail on demand, and can show
//! what a power failure would have left.
//!
//! Role         stands in for [`Directory`](super::Directory) in tests of this and other crates
//!              (feature "simulation")
//! Model        - what was written is on the disk after `sync_data` of the file; before, each
//!                sector of 512 bytes may be there or not, for itself;
//!              - a growing or cut file may have its new length or not, a sector beyond the length
//!                is lost;
//!              - a created, renamed or removed name may be there or not, for itself, until
//!                `sync_directory`;
//!              - a failed sync leaves each sector there or not, and no later sync helps those that
//!                are not, as on Linux, though reading still shows them
//! Source       the crash images of pmreorder and of TigerBeetle's simulator; "fsyncgate" for the
//!              last rule

mod crash;
#[cfg(test)]
mod tests;

use super::{File, FileIdentity, FileState, Files};
use hotrow_base::sync::Latch;
use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;

/// What an operation that is to fail does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// It does nothing and reports EIO. A sync that fails so may have done a part.
    Error,
    /// It does nothing and reports ENOSPC.
    Full,
    /// It does nothing and reports EMFILE.
    TooManyFiles,
    /// A write does its first half and reports ENOSPC; other operations do nothing.
    Short,
}

impl Fault {
    fn error(self) -> io::Error {
        use rustix::io::Errno;
        let errno = match self {
            Self::Error => Errno::IO,
            Self::Full | Self::Short => Errno::NOSPC,
            Self::TooManyFiles => Errno::MFILE,
        };
        errno.into()
    }
}

#[derive(Clone, Debug)]
enum Operation {
    Create { name: String, file: usize },
    Rename { from: String, to: String },
    Remove { name: String },
    SyncDirectory,
    Write { file: usize, offset: usize, bytes: Vec<u8> },
    SetLength { file: usize, length: usize },
    Sync { file: usize },
    FailedSync { file: usize },
}

#[derive(Clone, Debug, Default)]
struct State {
    /// The contents of all files that ever were, as a reader sees them now.
    contents: Vec<Vec<u8>>,
    names: BTreeMap<String, usize>,
    /// What the disk began with: durable.
    first_contents: Vec<Vec<u8>>,
    first_names: BTreeMap<String, usize>,
    /// All that changed something since.
    operations: Vec<Operation>,
    /// Operations asked for, reading ones and failed ones included.
    calls: u64,
    fault: Option<(u64, Fault)>,
}

impl State {
    /// Counts an operation; the fault that it is to have, if any.
    fn call(&mut self) -> Result<(), Fault> {
        self.calls += 1;
        match self.fault {
            Some((at, fault)) if at == self.calls => Err(fault),
            _ => Ok(()),
        }
    }

    fn file(&self, name: &str) -> io::Result<usize> {
        self.names.get(name).copied().ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    fn write(&mut self, file: usize, offset: usize, bytes: &[u8]) {
        put(&mut self.contents[file], offset, bytes);
        self.operations.push(Operation::Write { file, offset, bytes: bytes.to_vec() });
    }
}

fn put(content: &mut Vec<u8>, offset: usize, bytes: &[u8]) {
    let end = offset + bytes.len();
    if content.len() < end {
        content.resize(end, 0);
    }
    content[offset..end].copy_from_slice(bytes);
}

/// See the module. Clones are the same disk.
#[derive(Clone, Debug, Default)]
pub struct SimulatedDisk {
    state: Arc<Latch<State>>,
}

impl SimulatedDisk {
    /// An empty disk.
    pub fn new() -> Self {
        Self::default()
    }

    /// How many changing operations there were: the moments at which [`SimulatedDisk::crash`] can
    /// cut the power are 0 to this.
    pub fn operations(&self) -> usize {
        self.state.lock().operations.len()
    }

    /// How many operations were asked for, reading ones included.
    pub fn calls(&self) -> u64 {
        self.state.lock().calls
    }

    /// Lets the `nth` operation from now on (1 is the next one) fail, that one only.
    pub fn fail(&self, nth: u64, fault: Fault) {
        let mut state = self.state.lock();
        state.fault = Some((state.calls + nth, fault));
    }

    /// Whether the operation that was to fail has come.
    pub fn has_failed(&self) -> bool {
        let state = self.state.lock();
        state.fault.is_some_and(|(at, _)| at <= state.calls)
    }

    /// Another disk with the same files, all durable.
    pub fn copy(&self) -> Self {
        let state = self.state.lock();
        Self::with(state.contents.clone(), state.names.clone())
    }

    /// The content of a file.
    pub fn content(&self, name: &str) -> io::Result<Vec<u8>> {
        let state = self.state.lock();
        Ok(state.contents[state.file(name)?].clone())
    }

    /// Gives a file, made if there is none, another content, as a fault of the device or a person
    /// would: no operation is counted.
    pub fn set_content(&self, name: &str, content: Vec<u8>) {
        let mut state = self.state.lock();
        let file = state.contents.len();
        state.contents.push(content);
        state.names.insert(name.to_owned(), file);
    }

    /// Removes a file's name, as a person would while it is open: no operation is counted, and who
    /// has it open goes on writing to it.
    pub fn unlink(&self, name: &str) {
        self.state.lock().names.remove(name);
    }

    /// Cuts a file, as a person would while it is open: no operation is counted.
    pub fn cut(&self, name: &str, length: usize) -> io::Result<()> {
        let mut state = self.state.lock();
        let file = state.file(name)?;
        state.contents[file].truncate(length);
        Ok(())
    }

    fn with(contents: Vec<Vec<u8>>, names: BTreeMap<String, usize>) -> Self {
        let (first_contents, first_names) = (contents.clone(), names.clone());
        let state = State { contents, names, first_contents, first_names, ..State::default() };
        Self { state: Arc::new(Latch::new(state)) }
    }

    fn handle(&self, file: usize) -> Box<dyn File> {
        Box::new(SimulatedFile { state: self.state.clone(), file })
    }

    fn open_named(&self, name: &str) -> io::Result<Box<dyn File>> {
        let mut state = self.state.lock();
        state.call().map_err(Fault::error)?;
        let file = state.file(name)?;
        drop(state);
        Ok(self.handle(file))
    }
}

impl Files for SimulatedDisk {
    fn create(&self, name: &str) -> io::Result<Box<dyn File>> {
        let mut state = self.state.lock();
        state.call().map_err(Fault::error)?;
        if state.names.contains_key(name) {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        let file = state.contents.len();
        state.contents.push(Vec::new());
        state.names.insert(name.to_owned(), file);
        state.operations.push(Operation::Create { name: name.to_owned(), file });
        drop(state);
        Ok(self.handle(file))
    }

    fn open(&self, name: &str) -> io::Result<Box<dyn File>> {
        self.open_named(name)
    }

    fn open_writable(&self, name: &str) -> io::Result<Box<dyn File>> {
        self.open_named(name)
    }

    fn list(&self) -> io::Result<Vec<String>> {
        let mut state = self.state.lock();
        state.call().map_err(Fault::error)?;
        Ok(state.names.keys().cloned().collect())
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        let mut state = self.state.lock();
        state.call().map_err(Fault::error)?;
        let file = state.file(from)?;
        state.names.remove(from);
        state.names.insert(to.to_owned(), file);
        state.operations.push(Operation::Rename { from: from.to_owned(), to: to.to_owned() });
        Ok(())
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        let mut state = self.state.lock();
        state.call().map_err(Fault::error)?;
        state.file(name)?;
        state.names.remove(name);
        state.operations.push(Operation::Remove { name: name.to_owned() });
        Ok(())
    }

    fn sync_directory(&self) -> io::Result<()> {
        let mut state = self.state.lock();
        state.call().map_err(Fault::error)?;
        state.operations.push(Operation::SyncDirectory);
        Ok(())
    }

    fn state(&self, name: &str) -> io::Result<FileState> {
        let mut state = self.state.lock();
        state.call().map_err(Fault::error)?;
        let file = state.file(name)?;
        let identity = FileIdentity { device: 0, inode: file as u64 };
        Ok(FileState { identity, length: state.contents[file].len() as u64 })
    }

    fn path(&self, name: &str) -> String {
        format!("simulated/{name}")
    }
}

struct SimulatedFile {
    state: Arc<Latch<State>>,
    file: usize,
}

impl File for SimulatedFile {
    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        let mut state = self.state.lock();
        let outcome = state.call();
        let done = match outcome {
            Ok(()) => bytes.len(),
            Err(Fault::Short) => bytes.len() / 2,
            Err(_) => 0,
        };
        if done > 0 {
            state.write(self.file, offset as usize, &bytes[..done]);
        }
        outcome.map_err(Fault::error)
    }

    fn read_at(&self, bytes: &mut [u8], offset: u64) -> io::Result<usize> {
        let mut state = self.state.lock();
        state.call().map_err(Fault::error)?;
        let content = &state.contents[self.file];
        let begin = content.len().min(offset as usize);
        let count = bytes.len().min(content.len() - begin);
        bytes[..count].copy_from_slice(&content[begin..begin + count]);
        Ok(count)
    }

    fn length(&self) -> io::Result<u64> {
        let mut state = self.state.lock();
        state.call().map_err(Fault::error)?;
        Ok(state.contents[self.file].len() as u64)
    }

    fn set_length(&self, length: u64) -> io::Result<()> {
        let mut state = self.state.lock();
        state.call().map_err(Fault::error)?;
        let (file, length) = (self.file, length as usize);
        state.contents[file].resize(length, 0);
        state.operations.push(Operation::SetLength { file, length });
        Ok(())
    }

    fn sync_data(&self) -> io::Result<()> {
        let mut state = self.state.lock();
        let outcome = state.call();
        let file = self.file;
        state.operations.push(match outcome {
            Ok(()) => Operation::Sync { file },
            Err(_) => Operation::FailedSync { file },
        });
        outcome.map_err(Fault::error)
    }
}
