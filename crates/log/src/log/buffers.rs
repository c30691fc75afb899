//! A worker's buffers: one for even epochs, one for odd ones.
//!
//! Invariants   I1  the worker is inside the epoch whose buffer it appends to, or inside the one
//!                  before, so the writer takes the other one or none, and the latches are never
//!                  waited for

use crate::block::BlockBuilder;
use crate::entry::{self, Kind};
use hotrow_base::sync::Latch;
use hotrow_base::sync::facade::atomic::{AtomicU64, Ordering, fence};

/// A buffer that holds this much is kept as it is, whatever it was used for last.
const KEEP_BYTES: usize = 256 << 10;

#[derive(Debug, Default)]
struct Run {
    bytes: Vec<u8>,
    entries: u32,
    /// The most that was in it of late: falls by an eighth with every block.
    peak: usize,
}

#[derive(Debug, Default)]
pub(super) struct WorkerBuffers {
    runs: [Latch<Run>; 2],
    /// The epoch the worker entered last.
    epoch: AtomicU64,
    /// Bytes appended since the start.
    appended: AtomicU64,
    /// And those up to the last entry that somebody waits for.
    hurried: AtomicU64,
    /// How many were written.
    written: AtomicU64,
    /// How many were written when the worker last told the writer of an entry that nobody waits
    /// for, and one.
    told: AtomicU64,
}

impl WorkerBuffers {
    #[inline]
    pub(super) fn set_epoch(&self, epoch: u64) {
        self.epoch.store(epoch, Ordering::Relaxed); // for the worker itself
    }

    #[inline]
    pub(super) fn append(&self, time: u64, kind: Kind, body: impl FnOnce(&mut Vec<u8>)) {
        let epoch = self.epoch.load(Ordering::Relaxed); // the worker's own store
        debug_assert_ne!(epoch, 0, "append before the first enter");
        let mut run = self.runs[parity(epoch)].lock();
        let before = run.bytes.len();
        entry::encode(&mut run.bytes, time, kind, body);
        run.entries += 1;
        let appended = self.appended() + (run.bytes.len() - before) as u64;
        // Relaxed: tells the writer to come; what it then finds is ordered by the epochs.
        self.appended.store(appended, Ordering::Relaxed);
    }

    /// Moves what the worker appended in `epoch`, which has ended, into `block`; how many bytes.
    pub(super) fn take(&self, epoch: u64, worker: u16, block: &mut BlockBuilder) -> u64 {
        let mut run = self.runs[parity(epoch)].lock();
        let length = run.bytes.len();
        if run.entries > 0 {
            block.push_run(worker, run.entries, &run.bytes);
        }
        run.reset();
        length as u64
    }

    /// Says that somebody waits for what was appended.
    #[inline]
    pub(super) fn hurry(&self) {
        // Relaxed: as `appended`.
        self.hurried.store(self.appended(), Ordering::Relaxed);
    }

    /// Whether the writer is still to be told of an entry that nobody waits for: once between two
    /// blocks. Behind a fence: whoever is not told by this sees the entry.
    #[inline]
    pub(super) fn is_to_tell(&self) -> bool {
        fence(Ordering::SeqCst); // partner: the writer's, between `set_written` and its sleep
        let of = self.written.load(Ordering::Relaxed) + 1;
        let is_new = self.told.load(Ordering::Relaxed) != of; // the worker's own
        if is_new {
            self.told.store(of, Ordering::Relaxed);
        }
        is_new
    }

    /// Bytes up to the last entry that somebody waits for.
    #[inline]
    pub(super) fn hurried(&self) -> u64 {
        self.hurried.load(Ordering::Relaxed) // a hint
    }

    #[inline]
    pub(super) fn appended(&self) -> u64 {
        self.appended.load(Ordering::Relaxed) // the worker's own, or a hint
    }

    /// Bytes appended and not written yet.
    #[inline]
    pub(super) fn unwritten(&self) -> u64 {
        // Relaxed: a limit that may be a block late.
        self.appended().saturating_sub(self.written.load(Ordering::Relaxed))
    }

    /// Says that the first `bytes` appended were written; gives them back. Only the writer calls
    /// this.
    pub(super) fn set_written(&self, bytes: u64) -> u64 {
        self.written.store(bytes, Ordering::Relaxed); // as in `unwritten`
        bytes
    }
}

impl Run {
    /// Empties the buffer, and gives memory back that was needed once and not for a while.
    fn reset(&mut self) {
        self.peak = self.bytes.len().max(self.peak - self.peak / 8);
        self.bytes.clear();
        self.entries = 0;
        if self.bytes.capacity() > KEEP_BYTES.max(4 * self.peak) {
            self.bytes.shrink_to(KEEP_BYTES.max(2 * self.peak));
        }
    }
}

#[inline]
fn parity(epoch: u64) -> usize {
    (epoch & 1) as usize
}

#[cfg(test)]
mod tests {
    use super::{KEEP_BYTES, WorkerBuffers};
    use crate::block::BlockBuilder;
    use crate::entry::Kind;

    fn capacity(buffers: &WorkerBuffers) -> usize {
        buffers.runs[0].lock().bytes.capacity()
    }

    #[test]
    fn a_burst_is_given_back_and_steady_use_keeps_its_memory() {
        let buffers = WorkerBuffers::default();
        let mut block = BlockBuilder::new();
        let mut turn = |bytes: usize| {
            buffers.set_epoch(2);
            buffers.append(0, Kind::Values, |body| body.resize(body.len() + bytes, 1));
            buffers.take(2, 0, &mut block);
            block.clear(1 << 20);
        };
        turn(8 << 20);
        assert!(capacity(&buffers) >= 8 << 20);
        (0..100).for_each(|_| turn(1000));
        assert_eq!(capacity(&buffers), KEEP_BYTES);
        (0..100).for_each(|_| turn(KEEP_BYTES));
        let steady = capacity(&buffers);
        (0..100).for_each(|_| turn(KEEP_BYTES));
        assert_eq!(capacity(&buffers), steady);
    }
}
