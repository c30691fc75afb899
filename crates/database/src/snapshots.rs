//! How much memory the snapshots of reports take together.
//!
//! Invariants   I1 all snapshots together are no larger than `Config::snapshot_bytes_max`
//! Concurrency  `bytes` -> added to and subtracted from by each report

use hotrow_base::sync::facade::atomic::{AtomicU64, Ordering::Relaxed};

/// The snapshots of all sessions.
#[derive(Default)]
pub(crate) struct Snapshots {
    /// that there are now, by the tables' sizes
    bytes: AtomicU64,
}

/// A part of what snapshots may take, until it is dropped.
pub(crate) struct Room<'a> {
    snapshots: &'a Snapshots,
    bytes: u64,
}

impl Snapshots {
    /// Bytes that they take now.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes.load(Relaxed)
    }

    /// Room for a snapshot, if there is any.
    pub(crate) fn room(&self, bytes: u64, most: u64) -> Option<Room<'_>> {
        let fits = |taken: u64| taken.checked_add(bytes).filter(|sum| *sum <= most);
        self.bytes.fetch_update(Relaxed, Relaxed, fits).ok()?; // a count, which orders nothing
        Some(Room { snapshots: self, bytes })
    }
}

impl Drop for Room<'_> {
    fn drop(&mut self) {
        self.snapshots.bytes.fetch_sub(self.bytes, Relaxed); // as above
    }
}
