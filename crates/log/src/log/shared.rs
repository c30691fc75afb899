//! What workers, clients and the writer share.
//!
//! Role         the state behind [`Log`](super::Log); its module says who may touch what

use super::LogOptions;
use super::buffers::WorkerBuffers;
use super::statistics::Counters;
use super::tail_segment::check_state;
use crate::error::{LogError, LogFailure};
use crate::files::{FileState, Files};
use crate::read::Tail;
use crossbeam_utils::CachePadded;
use hotrow_base::clock::Ticks;
use hotrow_base::sync::commit_epoch::CommitEpochs;
use hotrow_base::sync::facade::atomic::{AtomicU8, AtomicU64, Ordering};
use hotrow_base::sync::{EventCount, Latch, Parker};
use std::collections::VecDeque;
use std::io;
use std::sync::{Arc, OnceLock};
use std::task::{Poll, Waker};

const OPEN: u8 = 0;
const CLOSING: u8 = 1;
const ENDED: u8 = 2;

pub(super) struct Shared {
    pub files: Arc<dyn Files>,
    pub epochs: CommitEpochs,
    pub workers: Box<[CachePadded<WorkerBuffers>]>,
    /// Where the writer sleeps.
    pub writer: Parker,
    pub statistics: Counters,
    horizon: CachePadded<AtomicU64>,
    state: AtomicU8,
    failure: OnceLock<LogFailure>,
    /// The last epoch that is to end even if it is empty, and to be synced.
    boundary: AtomicU64,
    /// The last epoch that somebody waits for: it is to end even if it is empty.
    awaited: AtomicU64,
    /// And the last one that somebody waits for patiently.
    awaited_patiently: AtomicU64,
    /// Who waits for an even, and for an odd epoch: the end of one wakes half of the sleepers,
    /// those who need not go on sleeping.
    clients: [EventCount; 2],
    /// Tasks that wait, with the epoch of each.
    tasks: Latch<Vec<(u64, Waker)>>,
    /// Who waits for room.
    room: EventCount,
    buffer_bytes_max: u64,
    /// All segments, oldest first; the last one is being written.
    segments: Latch<VecDeque<Segment>>,
}

struct Segment {
    name: String,
    /// The epoch of the last block before it.
    previous_epoch: u64,
    /// What is found under the name; out of date for the one that is being written.
    state: FileState,
}

impl Shared {
    pub(super) fn new(
        files: Arc<dyn Files>,
        tail: &Tail,
        segment: (&str, FileState),
        options: &LogOptions,
    ) -> Result<Self, LogError> {
        let mut segments = VecDeque::new();
        for (name, previous_epoch) in tail.kept_segments() {
            let state = files.state(name);
            let state = state.map_err(|error| LogError::io("look at", files.path(name), error))?;
            let (name, previous_epoch) = (name.clone(), *previous_epoch);
            segments.push_back(Segment { name, previous_epoch, state });
        }
        let (name, state) = segment;
        segments.push_back(Segment { name: name.to_owned(), previous_epoch: tail.epoch, state });
        Ok(Self {
            files,
            epochs: CommitEpochs::new(options.workers, tail.next_epoch),
            workers: (0..options.workers).map(|_| CachePadded::default()).collect(),
            writer: Parker::new(),
            statistics: Counters::default(),
            horizon: CachePadded::new(AtomicU64::new(tail.next_epoch - 1)),
            state: AtomicU8::new(OPEN),
            failure: OnceLock::new(),
            boundary: AtomicU64::new(0),
            awaited: AtomicU64::new(0),
            awaited_patiently: AtomicU64::new(0),
            clients: [EventCount::new(), EventCount::new()],
            tasks: Latch::default(),
            room: EventCount::new(),
            buffer_bytes_max: options.buffer_bytes_max,
            segments: Latch::new(segments),
        })
    }

    #[inline]
    pub(super) fn is_open(&self) -> bool {
        self.state.load(Ordering::Acquire) == OPEN
    }

    pub(super) fn is_closing(&self) -> bool {
        self.state.load(Ordering::Acquire) == CLOSING
    }

    /// Why the log is not open.
    #[cold]
    pub(super) fn refusal(&self) -> LogFailure {
        self.failure().unwrap_or(LogFailure::Stopped)
    }

    pub(super) fn failure(&self) -> Option<LogFailure> {
        self.failure.get().cloned()
    }

    #[inline]
    pub(super) fn horizon(&self) -> u64 {
        self.horizon.load(Ordering::Acquire) // partner: `publish`
    }

    pub(super) fn wait_for(&self, epoch: u64) -> Result<(), LogFailure> {
        self.wait_for_until(epoch, None).expect("a wait without a deadline ends with an outcome")
    }

    /// As [`Shared::wait_for`]; none when the deadline passes before the outcome is known.
    pub(super) fn wait_for_until(
        &self,
        epoch: u64,
        deadline: Option<Ticks>,
    ) -> Option<Result<(), LogFailure>> {
        if self.horizon() >= epoch {
            return Some(Ok(()));
        }
        self.have_ended(epoch, &self.awaited);
        self.sleep_for(epoch, deadline)
    }

    /// As [`Shared::wait_for_until`], of one who is patient.
    pub(super) fn wait_patiently(
        &self,
        epoch: u64,
        deadline: Ticks,
    ) -> Option<Result<(), LogFailure>> {
        if self.horizon() >= epoch {
            return Some(Ok(()));
        }
        self.have_ended(epoch, &self.awaited_patiently);
        self.sleep_for(epoch, Some(deadline))
    }

    fn sleep_for(&self, epoch: u64, deadline: Option<Ticks>) -> Option<Result<(), LogFailure>> {
        self.clients[(epoch & 1) as usize].sleep_for(deadline, || self.outcome(epoch))
    }

    /// As [`Shared::wait_for`], for a task, which is woken.
    pub(super) fn poll_for(&self, epoch: u64, waker: &Waker) -> Poll<Result<(), LogFailure>> {
        if self.horizon() >= epoch {
            return Poll::Ready(Ok(()));
        }
        self.have_ended(epoch, &self.awaited);
        // Under the latch that the writer takes behind each move of the horizon: it sees the task,
        // or the task sees the move.
        let mut tasks = self.tasks.lock();
        if let Some(outcome) = self.outcome(epoch) {
            return Poll::Ready(outcome);
        }
        if !tasks.iter().any(|(of, known)| *of == epoch && known.will_wake(waker)) {
            tasks.push((epoch, waker.clone()));
        }
        Poll::Pending
    }

    /// Wakes the tasks whose epoch has an outcome.
    fn wake_tasks(&self) {
        let mut tasks = self.tasks.lock();
        let woken: Vec<_> = tasks.extract_if(.., |(of, _)| self.outcome(*of).is_some()).collect();
        drop(tasks);
        woken.into_iter().for_each(|(_, waker)| waker.wake());
    }

    /// What became of an epoch, as far as it is known.
    fn outcome(&self, epoch: u64) -> Option<Result<(), LogFailure>> {
        // The failure first: it comes after the last move of the horizon, so who sees it and then
        // an old horizon knows that the epoch was lost.
        let failure = self.failure();
        if self.horizon() >= epoch { Some(Ok(())) } else { failure.map(Err) }
    }

    /// Has an epoch end that is still entered: whoever entered it may have appended nothing, and
    /// then nothing else would end it.
    fn have_ended(&self, epoch: u64, awaited: &AtomicU64) {
        // Relaxed on both: the notification orders what the writer looks at.
        let is_open = self.epochs.current() <= epoch;
        if is_open && awaited.load(Ordering::Relaxed) < epoch {
            awaited.fetch_max(epoch, Ordering::Relaxed);
            self.writer.notify();
        }
    }

    #[inline]
    pub(super) fn has_room(&self, worker: usize) -> bool {
        self.workers[worker].unwritten() <= self.buffer_bytes_max
    }

    #[cold]
    pub(super) fn wait_for_room(&self, worker: usize) {
        self.have_ended(self.epochs.current(), &self.awaited);
        let has_room = || (self.has_room(worker) || self.failure.get().is_some()).then_some(());
        self.room.wait_for(None, has_room);
    }

    pub(super) fn boundary(&self) -> Result<u64, LogFailure> {
        let epoch = self.epochs.current();
        self.boundary.fetch_max(epoch, Ordering::Relaxed); // the notification orders it
        self.writer.notify();
        self.wait_for(epoch)?;
        Ok(epoch + 1)
    }

    /// Whether `epoch` is to end even if it is empty.
    pub(super) fn is_to_end(&self, epoch: u64) -> bool {
        self.is_boundary(epoch) || self.awaited.load(Ordering::Relaxed) >= epoch
    }

    /// Whether somebody waits for `epoch` who is patient.
    pub(super) fn is_to_end_soon(&self, epoch: u64) -> bool {
        self.awaited_patiently.load(Ordering::Relaxed) >= epoch
    }

    /// Whether `epoch` is to end even if it is empty, and to be synced.
    pub(super) fn is_boundary(&self, epoch: u64) -> bool {
        self.boundary.load(Ordering::Relaxed) >= epoch
    }

    /// Counts `epoch` as committed. Only the writer calls this.
    pub(super) fn publish(&self, epoch: u64) {
        self.horizon.store(epoch, Ordering::Release); // partner: `horizon`
        self.clients[(epoch & 1) as usize].notify_all();
        self.wake_tasks();
        self.room.notify_all();
    }

    /// Refuses further entries.
    pub(super) fn close(&self) {
        let closing =
            self.state.compare_exchange(OPEN, CLOSING, Ordering::AcqRel, Ordering::Acquire);
        if closing.is_ok() {
            self.writer.notify();
        }
    }

    /// Ends the log for good. Only the writer calls this, once.
    pub(super) fn end(&self, failure: LogFailure) {
        if let LogFailure::Failed(_) = &failure {
            tracing::error!("{failure}");
        }
        let set = self.failure.set(failure);
        debug_assert!(set.is_ok(), "a log ends once");
        self.state.store(ENDED, Ordering::Release);
        self.clients.iter().for_each(EventCount::notify_all);
        self.wake_tasks();
        self.room.notify_all();
    }

    /// The last segment is complete, and as `completed` says; the next one begins.
    pub(super) fn add_segment(
        &self,
        completed: FileState,
        (name, state): (&str, FileState),
        previous_epoch: u64,
    ) {
        let mut segments = self.segments.lock();
        if let Some(last) = segments.back_mut() {
            last.state = completed;
        }
        segments.push_back(Segment { name: name.to_owned(), previous_epoch, state });
    }

    /// Whether the completed segments, which a restart needs, are still what they were. Not looked
    /// at while some of them are being removed.
    pub(super) fn check_completed(&self) -> Result<(), LogError> {
        let Some(segments) = self.segments.try_lock() else { return Ok(()) };
        let completed = segments.len().saturating_sub(1);
        let mut segments = segments.iter().take(completed);
        segments.try_for_each(|segment| check_state(&*self.files, &segment.name, segment.state))
    }

    pub(super) fn truncate_before(&self, epoch: u64) -> Result<(), LogError> {
        let mut segments = self.segments.lock();
        while segments.get(1).is_some_and(|next| next.previous_epoch < epoch) {
            let name = &segments[0].name;
            match self.files.remove(name) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => {
                    return Err(LogError::io("remove", self.files.path(name), error));
                }
                _ => {}
            }
            // One by one: were several removals lost in part, the oldest might be back without
            // the next one, and the gap would look like a loss.
            let synced = self.files.sync_directory();
            synced.map_err(|error| LogError::io("sync", self.files.path(""), error))?;
            segments.pop_front();
        }
        Ok(())
    }
}
