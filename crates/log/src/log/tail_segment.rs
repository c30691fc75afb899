//! The segment that is being written.
//!
//! Role         the writer's file: appends blocks, keeps zeros ahead of them
//! Invariants   I1  the file has its full length and its header on the disk before it gets its
//!                  name: a shorter file was cut, an unreadable header is damage
//!              I2  what was written counts when the name still leads to this file and the file has
//!                  the length it was given, seen after the sync: a file that was removed, renamed,
//!                  replaced or cut meanwhile takes what it was given with it
//!              I3  bytes behind the last block are zeros, on the disk, too: a place that was never
//!                  written to reads as such
//!
//! Zeros are written ahead of the blocks so that a sync has data to write and nothing else: the
//! file system would otherwise commit the place of every new block in its journal. Measured with
//! `cargo run --release -p hotrow-log --example sync_cost`; figures in docs/log-format.md.

use crate::error::LogError;
use crate::files::{File, FileState, Files};
use crate::segment::{SEGMENT_HEADER_BYTES, SegmentHeader, segment_name, unfinished_name};

/// How much is filled with zeros at a time.
const ZEROS_AHEAD_BYTES: u64 = 1 << 20;

pub(super) struct TailSegment {
    name: String,
    path: String,
    file: Box<dyn File>,
    /// Where the next block begins.
    end: u64,
    /// What is found under the name, unless somebody has meddled with it.
    state: FileState,
    /// Up to where zeros were written.
    zeroed: u64,
}

impl TailSegment {
    /// Makes the file, its length, its header and its name durable.
    pub(super) fn create(files: &dyn Files, header: &SegmentHeader) -> Result<Self, LogError> {
        let name = segment_name(header.first_epoch);
        let path = files.path(&name);
        let unfinished = unfinished_name(header.first_epoch);
        let make = |error| LogError::io("make", &*path, error);
        let file = files.create(&unfinished).map_err(make)?;
        let write = |error| LogError::io("write to", &*path, error);
        let sync = |error| LogError::io("sync", &*path, error);
        file.set_length(header.length).map_err(write)?;
        file.write_at(&header.encode(), 0).map_err(write)?;
        file.sync_data().map_err(sync)?;
        files.rename(&unfinished, &name).map_err(make)?;
        files.sync_directory().map_err(|error| LogError::io("sync", files.path(""), error))?;
        let state = files.state(&name).map_err(|error| LogError::io("look at", &*path, error))?;
        let state = FileState { length: header.length, ..state };
        let end = SEGMENT_HEADER_BYTES;
        Ok(Self { name, path, file, end, state, zeroed: end })
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// What is found under the name, unless somebody has meddled with it.
    pub(super) fn state(&self) -> FileState {
        self.state
    }

    /// Whether a block of `bytes` is to be written here: a sector stays behind it to be cut off
    /// later, so that the file is seen to have been followed by another; or it is the first block.
    pub(super) fn takes(&self, bytes: u64) -> bool {
        self.end == SEGMENT_HEADER_BYTES || self.end + bytes < self.state.length
    }

    /// Writes a block behind the last one.
    pub(super) fn write(&mut self, block: &[u8]) -> Result<(), LogError> {
        let end = self.end + block.len() as u64;
        let written = self.zeros_for(end).and_then(|()| self.file.write_at(block, self.end));
        written.map_err(|error| LogError::io("write to", &*self.path, error))?;
        self.end = end;
        self.state.length = self.state.length.max(end); // a first block may be longer
        Ok(())
    }

    /// Keeps zeros up to `end` and beyond, except behind the segment's length.
    fn zeros_for(&mut self, end: u64) -> std::io::Result<()> {
        if end <= self.zeroed {
            return Ok(());
        }
        let upto = (end + ZEROS_AHEAD_BYTES).min(self.state.length);
        if upto > end {
            self.file.allocate(end, upto - end)?;
        }
        self.zeroed = upto.max(end);
        Ok(())
    }

    /// Whether it is still what it was (I2).
    pub(super) fn check(&self, files: &dyn Files) -> Result<(), LogError> {
        check_state(files, &self.name, self.state)
    }

    /// Waits until all blocks are on the disk.
    pub(super) fn sync(&self) -> Result<(), LogError> {
        self.file.sync_data().map_err(|error| LogError::io("sync", &*self.path, error))
    }

    /// Gives back what lies behind the last block; called when that and what follows it, a segment
    /// or the log's end, is on the disk.
    pub(super) fn cut(&mut self) -> Result<(), LogError> {
        let cut = self.file.set_length(self.end);
        self.state.length = self.end;
        cut.map_err(|error| LogError::io("cut", &*self.path, error))
    }
}

/// Fails unless a file `name` is what it is expected to be.
pub(super) fn check_state(
    files: &dyn Files,
    name: &str,
    expected: FileState,
) -> Result<(), LogError> {
    let found = match files.state(name) {
        Ok(found) if found == expected => return Ok(()),
        Ok(FileState { identity, .. }) if identity != expected.identity => {
            "was replaced by another file".to_owned()
        }
        Ok(FileState { length, .. }) => {
            format!("has {length} bytes in place of {}", expected.length)
        }
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            "was removed or renamed".to_owned()
        }
        Err(error) => return Err(LogError::io("look at", files.path(name), error)),
    };
    Err(LogError::Disturbed { path: files.path(name), found })
}
