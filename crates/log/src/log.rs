//! The running log: what workers append to, and what clients wait for.
//!
//! Role         one per open database. Engines' workers [`enter`](Log::enter),
//!              [`append`](Log::append) and [`leave`](Log::leave); whoever owes a reply
//!              [waits for](Log::wait_for) its epoch. Knows neither what entries mean nor who reads
//!              them
//! States       open ──stop──▶ closing ──all written and sealed──▶ ended
//!              open or closing ──a write or sync fails──▶ ended (failed)
//! Invariants   I1  `horizon` never passes an epoch whose block, or an earlier one, is not durable
//!                  (written, in buffered mode); after a failure it never moves again
//!              I2  a worker has two buffers, for even and odd epochs. The writer takes those of
//!                  the ended epoch, which nobody is inside of, before it ends the next one
//!              I3  no epoch counts whose file is not there any more, at its path and as long as it
//!                  was: the writer looks after each sync, and ten times a second at the completed
//!                  segments
//!              I4  who appended to an epoch is told of its fate: the horizon reaches it, or the
//!                  log ends with a failure
//! Concurrency  buffers -> their worker inside its epoch, the writer after it: handed over by the
//!              epochs' Release and Acquire; the latch, which nobody ever waits for, says so to the
//!              compiler. `appended` -> stored by its worker, `written` and everything in
//!              `horizon` -> stored by the writer; counters are Relaxed, `horizon` is stored
//!              **Release** and loaded **Acquire**. `state` -> Release and Acquire; a worker reads
//!              it after it has entered, so that the writer, who ends an epoch after it has seen
//!              `closing`, misses nobody
//! Source       group commit and flush pipelines: locking.txt, section 5; Silo, section 4.10. We
//!              differ from Silo: one log file and one block for all workers, and an epoch ends as
//!              soon as the disk is free, so that latency is that of one or two syncs

mod begin;
mod buffers;
mod shared;
mod statistics;
mod tail_segment;
#[cfg(test)]
pub(crate) mod tests;
mod writer;

pub use statistics::LogStatistics;

use crate::entry::Kind;
use crate::error::{LogError, LogFailure};
use crate::files::Files;
use crate::read::Tail;
use hotrow_base::clock::Ticks;
use hotrow_base::ids::WorkerId;
use hotrow_base::sync::Latch;
use hotrow_base::thread::{JoinHandle, ThreadOptions};
use shared::Shared;
use std::fmt;
use std::sync::Arc;
use std::task::{Poll, Waker};

/// When an epoch counts as committed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Durability {
    /// When it is on the disk: it survives a power failure.
    #[default]
    Durable,
    /// When the system has it: it survives the end of the process. About every
    /// [`BUFFERED_SYNC_INTERVAL`] it is put on the disk, too.
    Buffered,
}

/// How much a power failure may cost in buffered mode.
pub const BUFFERED_SYNC_INTERVAL: std::time::Duration = std::time::Duration::from_millis(100);

/// How long an entry is not written that nobody waits for. Entries meanwhile go with it, so each
/// sync is worth more; whoever does wait for it, or for a later one, ends this.
pub const PATIENCE: std::time::Duration = std::time::Duration::from_millis(1);

/// How long an epoch goes on for which only patient ones wait, while others append to it. A sync
/// takes half as long, and its interrupts cost more than the time of a processor that it is seen to
/// take: with 3,000 syncs a second of another program beside it, a server in memory had 0.64 times
/// its calls.
pub const LINGER: std::time::Duration = std::time::Duration::from_micros(400);

/// How a log is kept.
#[derive(Clone, Debug)]
pub struct LogOptions {
    /// How many workers append; their ids are below it.
    pub workers: usize,
    /// When an epoch counts as committed.
    pub durability: Durability,
    /// The length of a segment file; a longer block gets a longer file.
    pub segment_bytes: u64,
    /// How much a worker may have appended that is not written yet; see [`Log::wait_for_room`].
    pub buffer_bytes_max: u64,
}

impl LogOptions {
    /// A durable log of `workers` with segments of 64 MiB and buffers of 4 MiB.
    pub fn new(workers: usize) -> Self {
        Self {
            workers,
            durability: Durability::Durable,
            segment_bytes: 64 << 20,
            buffer_bytes_max: 4 << 20,
        }
    }
}

/// A database's running log. Workers, committers and a writer thread share it; dropping it ends
/// that thread.
pub struct Log {
    shared: Arc<Shared>,
    id: u64,
    writer: Latch<Option<JoinHandle<()>>>,
}

impl fmt::Debug for Log {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (horizon, failure) = (self.horizon(), self.failure());
        f.debug_struct("Log").field("horizon", &horizon).field("failure", &failure).finish()
    }
}

impl Log {
    /// Goes on where `tail`, the result of a [scan](crate::read::scan) of `files`, says that the
    /// log ends: cuts off a torn write, begins a fresh segment, starts the thread "log-writer".
    /// With an empty directory this begins a log.
    pub fn start(
        files: Arc<dyn Files>,
        tail: Tail,
        options: LogOptions,
    ) -> Result<Arc<Self>, LogError> {
        let (segment, log_id) = begin::begin(&*files, &tail, &options)?;
        let begun = (segment.name(), segment.state());
        let shared = Arc::new(Shared::new(files, &tail, begun, &options)?);
        let writer = writer::Writer::new(shared.clone(), segment, log_id, &tail, &options);
        let thread = ThreadOptions::named("log-writer").spawn(move || writer.run());
        let thread = thread.map_err(|error| {
            LogError::io("start the thread that writes", shared.files.path(""), error)
        })?;
        Ok(Arc::new(Self { shared, id: log_id, writer: Latch::new(Some(thread)) }))
    }

    /// The number that tells this database's files from those of others.
    pub fn id(&self) -> u64 {
        self.id
    }

    /// Enters the current epoch, which does not end before the worker leaves; which one it is.
    /// Called at commit with all locks held; between this and [`Log::leave`] stand only taking a
    /// position and appending. An error when the log takes no more; then there is nothing to leave.
    #[inline]
    pub fn enter(&self, worker: WorkerId) -> Result<u64, LogFailure> {
        let epoch = self.shared.epochs.enter(worker.index());
        if !self.shared.is_open() {
            self.shared.epochs.leave(worker.index());
            return Err(self.shared.refusal());
        }
        self.shared.workers[worker.index()].set_epoch(epoch);
        Ok(epoch)
    }

    /// As [`Log::enter`], for a worker that is inside an epoch, and stays there: the current one is
    /// that, or the one behind it, and neither ends before it [moves on](Log::move_on) or leaves.
    #[inline]
    pub fn enter_beside(&self, worker: WorkerId) -> Result<u64, LogFailure> {
        match self.shared.is_open() {
            true => Ok(self.shared.epochs.current_beside(worker.index())),
            false => Err(self.shared.refusal()),
        }
    }

    /// Has the worker's next entries be of this epoch, one of the two that it is inside.
    #[inline]
    pub fn append_to(&self, worker: WorkerId, epoch: u64) {
        self.shared.workers[worker.index()].set_epoch(epoch);
    }

    /// Goes on into the epoch behind the one that the worker is inside, where it is
    /// [inside](Log::enter_beside), too.
    #[inline]
    pub fn move_on(&self, worker: WorkerId) {
        self.shared.workers[worker.index()].hurry();
        self.shared.epochs.move_on(worker.index());
        self.shared.writer.notify();
    }

    /// Appends an entry to the epoch entered; `body` appends its bytes to what is given. Nothing is
    /// allocated once buffers have grown to their size.
    #[inline]
    pub fn append(&self, worker: WorkerId, time: u64, kind: Kind, body: impl FnOnce(&mut Vec<u8>)) {
        self.shared.workers[worker.index()].append(time, kind, body);
    }

    /// Leaves the epoch; wakes the writer if it sleeps.
    #[inline]
    pub fn leave(&self, worker: WorkerId) {
        self.shared.workers[worker.index()].hurry();
        self.shared.epochs.leave(worker.index());
        self.shared.writer.notify();
    }

    /// As [`Log::leave`], where whoever is to wait for the entry has more to append first, or has
    /// appended before: the epoch ends when somebody waits for it, or after [`PATIENCE`].
    #[inline]
    pub fn leave_patiently(&self, worker: WorkerId) {
        self.shared.epochs.leave(worker.index());
        if self.shared.workers[worker.index()].is_to_tell() {
            self.shared.writer.notify();
        }
    }

    /// Waits while the worker has too much that is not written yet. Called with no lock held, at
    /// the start of a turn. One transaction's entries may exceed the limit: it is looked at before.
    #[inline]
    pub fn wait_for_room(&self, worker: WorkerId) {
        if !self.shared.has_room(worker.index()) {
            self.shared.wait_for_room(worker.index());
        }
    }

    /// Whether [`Log::wait_for_room`] would not wait, unless the log has failed.
    #[inline]
    pub fn has_room(&self, worker: WorkerId) -> bool {
        self.shared.has_room(worker.index())
    }

    /// The last committed epoch: all up to it are durable (or written, in buffered mode).
    #[inline]
    pub fn horizon(&self) -> u64 {
        self.shared.horizon()
    }

    /// Waits until the horizon reaches `epoch`, one that somebody has entered; it ends though
    /// nobody has appended to it. An error when the horizon never will.
    pub fn wait_for(&self, epoch: u64) -> Result<(), LogFailure> {
        self.shared.wait_for(epoch)
    }

    /// As [`Log::wait_for`]; none when the deadline passes first.
    pub fn wait_for_until(&self, epoch: u64, deadline: Ticks) -> Option<Result<(), LogFailure>> {
        self.shared.wait_for_until(epoch, Some(deadline))
    }

    /// As [`Log::wait_for_until`], of one with many calls on their way: while others append, the
    /// epoch goes on for up to [`LINGER`], unless somebody waits for it who is not patient.
    pub fn wait_patiently(&self, epoch: u64, deadline: Ticks) -> Option<Result<(), LogFailure>> {
        self.shared.wait_patiently(epoch, deadline)
    }

    /// As [`Log::wait_for`], of a task that is woken when there is an outcome.
    pub fn poll_for(&self, epoch: u64, waker: &Waker) -> Poll<Result<(), LogFailure>> {
        self.shared.poll_for(epoch, waker)
    }

    /// Why the log takes no more; `None` while it does.
    pub fn failure(&self) -> Option<LogFailure> {
        self.shared.failure()
    }

    /// The epoch that is entered now; it may be another one the next moment.
    pub fn current_epoch(&self) -> u64 {
        self.shared.epochs.current()
    }

    /// Ends the current epoch, even an empty one, and waits until it is on the disk (in buffered
    /// mode, too); the epoch that follows. Called at a quiet point, when no worker is between enter
    /// and leave, it parts all that was committed before (earlier epochs) from all that comes: what
    /// a checkpoint of that moment replaces from what has to be replayed on it.
    pub fn boundary(&self) -> Result<u64, LogFailure> {
        self.shared.boundary()
    }

    /// Removes the segments in which all blocks are of epochs before `epoch`, as a checkpoint does
    /// that holds all of them. The last segment always stays.
    pub fn truncate_before(&self, epoch: u64) -> Result<(), LogError> {
        self.shared.truncate_before(epoch)
    }

    /// What was written since the start. A difference of `bytes` is how much has to be replayed
    /// since a [boundary](Log::boundary).
    pub fn statistics(&self) -> LogStatistics {
        self.shared.statistics.read()
    }

    /// Takes no more entries, writes and syncs all there are, seals the log and ends the writer.
    /// Once is enough, twice does no harm. The failure, if there was one.
    pub fn stop(&self) -> Result<(), LogFailure> {
        self.shared.close();
        if let Some(thread) = self.writer.lock().take() {
            // A panic there was a bug and is reported by its own message.
            let _ = thread.join();
        }
        match self.failure() {
            Some(LogFailure::Stopped) | None => Ok(()),
            Some(failure) => Err(failure),
        }
    }
}

impl Drop for Log {
    fn drop(&mut self) {
        // Who wants to know of a failure calls `stop`.
        let _ = self.stop();
    }
}
