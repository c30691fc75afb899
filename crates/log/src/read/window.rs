//! A window on a file: reads ahead, so that small blocks do not cost a system call each.
//!
//! Invariants   I1  memory is the greater of [`READ_AHEAD_BYTES`] and the longest slice asked for;
//!                  callers compare lengths with the file's before they ask

use crate::files::File;
use std::io;

const READ_AHEAD_BYTES: usize = 1 << 20;

#[derive(Debug, Default)]
pub(super) struct Window {
    bytes: Vec<u8>,
    /// Where in the file the bytes begin.
    start: u64,
}

impl Window {
    /// Forgets the bytes: those of another file are wanted.
    pub(super) fn clear(&mut self) {
        self.bytes.clear();
    }

    /// `length` bytes from `offset`, fewer where the file ends.
    pub(super) fn slice(
        &mut self,
        file: &dyn File,
        offset: u64,
        length: usize,
    ) -> io::Result<&[u8]> {
        if !self.holds(offset, length) {
            self.fill(file, offset, length.max(READ_AHEAD_BYTES))?;
        }
        Ok(self.held(offset, length))
    }

    /// The bytes of a slice that was given out before, and is still held.
    pub(super) fn held(&self, offset: u64, length: usize) -> &[u8] {
        let begin = (offset - self.start) as usize;
        &self.bytes[begin..self.bytes.len().min(begin + length)]
    }

    fn holds(&self, offset: u64, length: usize) -> bool {
        let end = self.start + self.bytes.len() as u64;
        offset >= self.start && offset + length as u64 <= end
    }

    fn fill(&mut self, file: &dyn File, offset: u64, length: usize) -> io::Result<()> {
        let rest = file.length()?.saturating_sub(offset);
        let length = usize::try_from(rest).map_or(length, |rest| rest.min(length));
        self.start = offset;
        self.bytes.clear();
        self.bytes.resize(length, 0);
        let read = file.read_at(&mut self.bytes, offset)?;
        self.bytes.truncate(read);
        Ok(())
    }
}
