//! The log writer: the one thread that writes.
//!
//! Role         thread "log-writer": ends an epoch, gathers what workers appended in it, writes it
//!              as one block, syncs, publishes; again as long as there is something
//! States       asleep ──somebody waits for an epoch, boundary, close──▶ turn ──▶ asleep
//!              asleep ──something appended that nobody waits for──▶ patient ──▶ turn ──▶ asleep
//!              asleep ──somebody waits patiently──▶ lingers ──▶ turn ──▶ asleep
//!                 turn ──failure──▶ ended;  turn seen closing ──▶ seal ──▶ ended
//! Invariants   I1  an operation that failed is never tried again

use super::begin::segment_bytes;
use super::shared::Shared;
use super::tail_segment::TailSegment;
use super::{BUFFERED_SYNC_INTERVAL, Durability, LINGER, LogOptions, PATIENCE};
use crate::block::{ALIGNMENT, BlockBuilder, BlockHeader};
use crate::error::{LogError, LogFailure};
use crate::read::Tail;
use crate::segment::{SEGMENT_HEADER_BYTES, SegmentHeader};
use hotrow_base::clock::Ticks;
use hotrow_base::thread;
use std::sync::Arc;
use std::time::Duration;

/// In buffered mode a write costs a few microseconds, and a sector however little there is to
/// write. Blocks below [`SMALL_BLOCK_BYTES`] follow each other at this distance at least, so that
/// 10,000 of them a second make 40 MB and not ten times as much. Not measured.
const BUFFERED_PAUSE: Duration = Duration::from_micros(100);
const SMALL_BLOCK_BYTES: u64 = 64 << 10;

/// How often the completed segments are looked at: each is a system call of a microsecond, and
/// there are as many as have been filled since the last checkpoint but one.
const COMPLETED_LOOK_EVERY: Duration = Duration::from_millis(100);

/// The block buffer keeps this much after a large block.
const BLOCK_KEEP_BYTES: usize = 8 << 20;

pub(super) struct Writer {
    shared: Arc<Shared>,
    durability: Durability,
    segment_bytes: u64,
    log_id: u64,
    segment: TailSegment,
    block: BlockBuilder,
    /// For each worker, the bytes taken from its buffers since the start.
    taken: Box<[u64]>,
    /// The number, epoch and chain value of the last block.
    number: u64,
    epoch: u64,
    chain: u32,
    /// The last block on the disk.
    synced: u64,
    synced_at: Ticks,
    written_at: Ticks,
    /// When the completed segments were last looked at.
    looked_at: Ticks,
    /// When what nobody waits for is written; none: there is none such.
    patient_until: Option<Ticks>,
}

impl Writer {
    pub(super) fn new(
        shared: Arc<Shared>,
        segment: TailSegment,
        log_id: u64,
        tail: &Tail,
        options: &LogOptions,
    ) -> Self {
        Self {
            durability: options.durability,
            segment_bytes: segment_bytes(options),
            log_id,
            segment,
            block: BlockBuilder::new(),
            taken: vec![0; shared.workers.len()].into(),
            number: tail.next_number - 1,
            epoch: tail.epoch,
            chain: tail.chain,
            synced: tail.next_number - 1,
            synced_at: Ticks::now(),
            written_at: Ticks::now(),
            looked_at: Ticks::now(),
            patient_until: None,
            shared,
        }
    }

    pub(super) fn run(mut self) {
        let outcome = self.write_until_closed();
        self.shared.end(match outcome {
            Ok(()) => LogFailure::Stopped,
            Err(error) => LogFailure::Failed(error),
        });
    }

    fn write_until_closed(&mut self) -> Result<(), LogError> {
        loop {
            self.wait();
            // Read before the epoch ends: who enters a later epoch sees it, too, and is refused.
            let is_closing = self.shared.is_closing();
            if self.is_awaited_patiently() {
                self.linger();
            }
            let is_late = self.patient_until.is_some_and(Ticks::has_passed);
            if is_closing || is_late || self.has_work() || self.is_awaited_patiently() {
                self.turn()?;
            }
            if is_closing {
                return self.seal();
            }
            if self.is_sync_due() {
                self.sync()?;
            }
        }
    }

    /// Sleeps until there is something to do, or something new that can wait.
    fn wait(&mut self) {
        if self.patient_until.is_none() && self.has_entries() {
            self.patient_until = Some(Ticks::from_now(PATIENCE));
        }
        let is_sync_owed = self.synced < self.number;
        let sync_at = is_sync_owed.then(|| self.synced_at.after(BUFFERED_SYNC_INTERVAL));
        let deadline = [sync_at, self.patient_until].into_iter().flatten().min();
        let is_new = || self.patient_until.is_none() && self.has_entries();
        let is_awaited = || self.has_work() || self.is_awaited_patiently();
        let is_up = || is_awaited() || self.shared.is_closing() || is_new();
        self.shared.writer.wait_for(deadline, is_up);
    }

    /// Waits for what others are about to append to an epoch for which nobody waits who is not
    /// patient. If a moment that others have for themselves brings nothing, nothing more comes: all
    /// who append wait.
    fn linger(&self) {
        let is_over = || self.has_work() || self.shared.is_closing();
        let before = self.appended();
        thread::yield_now();
        if self.appended() != before && !is_over() {
            self.shared.writer.wait_for(Some(Ticks::from_now(LINGER)), is_over);
        }
    }

    fn appended(&self) -> u64 {
        self.shared.workers.iter().map(|worker| worker.appended()).sum()
    }

    fn is_awaited_patiently(&self) -> bool {
        self.shared.is_to_end_soon(self.shared.epochs.current())
    }

    /// Whether somebody waits for what was appended, or for the end of an epoch.
    fn has_work(&self) -> bool {
        let workers = self.shared.workers.iter().zip(&self.taken);
        self.shared.is_to_end(self.shared.epochs.current())
            || workers.into_iter().any(|(worker, &taken)| worker.hurried() > taken)
    }

    /// Whether anybody appended.
    fn has_entries(&self) -> bool {
        let workers = self.shared.workers.iter().zip(&self.taken);
        workers.into_iter().any(|(worker, &taken)| worker.appended() != taken)
    }

    /// Ends an epoch, and writes and publishes it.
    fn turn(&mut self) -> Result<(), LogError> {
        self.pause();
        self.patient_until = None;
        let epoch = self.shared.epochs.advance();
        let is_empty = self.gather(epoch) == 0;
        if !is_empty {
            self.write_block(epoch, false)?;
        }
        let is_boundary = self.shared.is_boundary(epoch) && self.synced < self.number;
        if is_boundary || (!is_empty && self.durability == Durability::Durable) {
            self.sync()?;
        } else if !is_empty {
            self.check()?;
        }
        self.count_written();
        self.shared.publish(epoch);
        Ok(())
    }

    /// See [`BUFFERED_PAUSE`].
    fn pause(&self) {
        let is_small = self.block.block_bytes() < SMALL_BLOCK_BYTES;
        if self.durability == Durability::Buffered && is_small {
            let rest = self.written_at.after(BUFFERED_PAUSE).remaining();
            if !rest.is_zero() {
                thread::sleep(rest);
            }
        }
    }

    /// Puts what was appended in `epoch` into the block; how many entries.
    fn gather(&mut self, epoch: u64) -> u32 {
        self.block.clear(BLOCK_KEEP_BYTES);
        for (index, worker) in self.shared.workers.iter().enumerate() {
            let worker_id = u16::try_from(index).expect("worker ids have 16 bits");
            self.taken[index] += worker.take(epoch, worker_id, &mut self.block);
        }
        self.block.entries()
    }

    fn write_block(&mut self, epoch: u64, seal: bool) -> Result<(), LogError> {
        let begin = Ticks::now();
        if !self.segment.takes(self.block.block_bytes()) {
            self.next_segment(epoch)?;
        }
        let header = BlockHeader {
            log_id: self.log_id,
            number: self.number + 1,
            epoch,
            synced_through: self.synced,
            chain: self.chain,
            seal,
            payload_bytes: 0,
            entries: 0,
            payload_checksum: 0,
        };
        let entries = self.block.entries();
        let (bytes, chain) = self.block.finish(header);
        self.segment.write(bytes)?;
        self.written_at = Ticks::now();
        if seal {
            return Ok(());
        }
        (self.number, self.epoch, self.chain) = (self.number + 1, epoch, chain);
        let counters = &self.shared.statistics;
        counters.blocks.increment();
        counters.bytes.add(bytes.len() as u64);
        counters.entries.add(u64::from(entries));
        counters.write_nanos.add(self.written_at.nanos_since(begin));
        Ok(())
    }

    /// Begins the segment of which the block of `epoch` is the first.
    fn next_segment(&mut self, epoch: u64) -> Result<(), LogError> {
        if self.synced < self.number {
            self.sync()?; // a segment's header says that all blocks before it are durable
        }
        let block_bytes = self.block.block_bytes();
        let header = SegmentHeader {
            log_id: self.log_id,
            first_epoch: epoch,
            first_number: self.number + 1,
            length: self.segment_bytes.max(SEGMENT_HEADER_BYTES + block_bytes + ALIGNMENT),
            previous_epoch: self.epoch,
            chain: self.chain,
        };
        let next = TailSegment::create(&*self.shared.files, &header)?;
        self.segment.cut()?;
        let completed = std::mem::replace(&mut self.segment, next).state();
        let begun = (self.segment.name(), self.segment.state());
        self.shared.add_segment(completed, begun, self.epoch);
        self.shared.statistics.segments.increment();
        Ok(())
    }

    fn is_sync_due(&self) -> bool {
        self.synced < self.number && self.synced_at.after(BUFFERED_SYNC_INTERVAL).has_passed()
    }

    fn sync(&mut self) -> Result<(), LogError> {
        let begin = Ticks::now();
        self.segment.sync()?;
        self.check()?;
        self.synced = self.number;
        self.synced_at = Ticks::now();
        let counters = &self.shared.statistics;
        counters.syncs.increment();
        counters.sync_nanos.add(self.synced_at.nanos_since(begin));
        Ok(())
    }

    /// Fails when somebody has removed, renamed, replaced or cut a file of the log.
    fn check(&mut self) -> Result<(), LogError> {
        self.segment.check(&*self.shared.files)?;
        if self.looked_at.after(COMPLETED_LOOK_EVERY).has_passed() {
            self.shared.check_completed()?;
            self.looked_at = Ticks::now();
        }
        Ok(())
    }

    /// Makes room in the workers' accounts for what was taken.
    fn count_written(&self) {
        let workers = self.shared.workers.iter().zip(&self.taken);
        let written = workers.map(|(worker, &taken)| worker.set_written(taken)).sum();
        self.shared.statistics.entry_bytes.set(written);
    }

    /// Ends the log in order: a seal, so that from now on every damage can be told from a torn
    /// write, and no bytes behind it.
    fn seal(&mut self) -> Result<(), LogError> {
        if self.synced < self.number {
            self.sync()?;
        }
        let epoch = self.shared.epochs.advance();
        self.block.clear(BLOCK_KEEP_BYTES);
        self.write_block(epoch, true)?;
        self.sync()?;
        self.segment.cut()?;
        self.sync()
    }
}
