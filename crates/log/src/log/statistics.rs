//! What the log has written.
//!
//! Concurrency  each counter -> stored by the writer alone, read by anyone

use hotrow_base::counters::Counter;

/// Counts since the start of the log.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LogStatistics {
    /// Blocks written: how many epochs had entries.
    pub blocks: u64,
    /// Their bytes, with headers and padding.
    pub bytes: u64,
    /// Entries in them.
    pub entries: u64,
    /// The bytes of the entries.
    pub entry_bytes: u64,
    /// Nanoseconds spent writing.
    pub write_nanos: u64,
    /// Syncs of the file.
    pub syncs: u64,
    /// Nanoseconds spent in them.
    pub sync_nanos: u64,
    /// Segments begun after the first.
    pub segments: u64,
}

#[derive(Debug, Default)]
pub(super) struct Counters {
    pub blocks: Counter,
    pub bytes: Counter,
    pub entries: Counter,
    pub entry_bytes: Counter,
    pub write_nanos: Counter,
    pub syncs: Counter,
    pub sync_nanos: Counter,
    pub segments: Counter,
}

impl Counters {
    pub(super) fn read(&self) -> LogStatistics {
        LogStatistics {
            blocks: self.blocks.get(),
            bytes: self.bytes.get(),
            entries: self.entries.get(),
            entry_bytes: self.entry_bytes.get(),
            write_nanos: self.write_nanos.get(),
            syncs: self.syncs.get(),
            sync_nanos: self.sync_nanos.get(),
            segments: self.segments.get(),
        }
    }
}
