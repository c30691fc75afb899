//! The way of a call from a session to a worker thread and back.
//!
//! Role         sessions put mailboxes into one bounded queue, in the lane of their priority; each
//!              thread of the engine has a [`ClientSource`] on it and answers into the mailbox
//! Invariants   I1 a mailbox is in the queue, with a source or nowhere; its session waits exactly
//!              while it is in one of the first two, so one reply slot is enough
//!              I2 a mailbox taken from the queue is answered: by the end of its call, or by the
//!              drop of its source
//!              I3 no call is queued after the last source is gone: nobody would answer it
//!              I4 a call is either taken by a source or withdrawn by its session, never both; a
//!              mailbox with a withdrawn call is used no more. The same of one that was parked:
//!              it is either resumed or given up
//!              I5 long calls keep to the lanes behind those of short ones ([`cost`])
//! Concurrency  `invocation` -> the session before it submits, the source that took the mailbox
//!              after (a latch keeps misuse harmless); `reply` -> see `ReplySlot`

mod cost;
mod mailbox;
mod priority;
mod source;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicIsize, AtomicUsize, Ordering};
use std::time::Duration;

use hotrow_base::clock::Ticks;
use hotrow_base::counters::{Counter, PerWorker};
use hotrow_base::interrupt::Interrupt;
use hotrow_base::sync::BlockingQueue;
use hotrow_base::sync::queue::PushError;
use hotrow_base::thread;
use hotrow_engine::source::CallSource;

use self::cost::{Length, Lengths};
use self::mailbox::{Place, abandon};
use self::source::ClientSource;
use crate::reply::Reply;

pub(crate) use self::mailbox::{Mailbox, Patience, Refused};
pub use self::priority::Priority;
pub(crate) use self::source::Ends;

/// Between two looks of who waits for the last source to go.
const DRAIN_PAUSE: Duration = Duration::from_micros(100);

/// What a thread tells of its calls. One writer.
#[derive(Default)]
struct ThreadBook {
    /// nanoseconds that a call has lately taken
    service: Counter,
    /// calls that it has taken and not ended
    running: Counter,
    /// calls that it has parked
    parked: Counter,
    /// 1 while it runs a long call
    long: Counter,
}

/// The queue between all sessions and all threads of one engine.
pub(crate) struct ClientQueue {
    /// a lane for each priority
    calls: BlockingQueue<Arc<Mailbox>, { Priority::LANES }>,
    /// of the mailboxes in each lane, those whose call was given up: they take no thread's time.
    /// Below zero for a moment where a thread comes to one before its session has told
    withdrawn: [AtomicIsize; Priority::LANES],
    lengths: Lengths,
    /// parked calls whose sessions have given them up, and that their sources have not forgotten
    given_up: AtomicUsize,
    /// by thread: it is called away from waiting
    rung: Box<[AtomicBool]>,
    /// sources that are not dropped yet
    sources: AtomicUsize,
    threads: PerWorker<ThreadBook>,
}

impl ClientQueue {
    /// A queue for `capacity` calls of each priority and the sources of `threads` threads.
    pub(crate) fn new(capacity: usize, ends: Vec<Ends>) -> (Arc<Self>, Vec<Box<dyn CallSource>>) {
        let threads = ends.len();
        let queue = Self {
            calls: BlockingQueue::with_lanes(capacity),
            withdrawn: Default::default(),
            lengths: Lengths::new(),
            given_up: AtomicUsize::new(0),
            rung: (0..threads).map(|_| AtomicBool::new(false)).collect(),
            sources: AtomicUsize::new(threads),
            threads: PerWorker::with_defaults(threads),
        };
        let queue = Arc::new(queue);
        let source = |(number, ends)| Box::new(ClientSource::new(&queue, number, ends));
        let ends = ends.into_iter().enumerate();
        let sources = ends.map(|ends| source(ends) as Box<dyn CallSource>).collect();
        (queue, sources)
    }

    /// Queues the call in `mailbox`, waiting for room, and waits for its end.
    pub(crate) fn call(
        &self,
        mailbox: &Arc<Mailbox>,
        patience: Patience<'_>,
    ) -> Result<Reply, Refused> {
        let lane = self.choose_lane(mailbox);
        if patience.deadline.is_some_and(|most| self.expected_wait(lane) > most) {
            return Err(Refused::Late);
        }
        let due = patience.deadline.map(Ticks::from_now);
        mailbox.place.store(Place::Waiting as u8, Ordering::Relaxed); // ordered by the queue
        let mut call = Arc::clone(mailbox);
        loop {
            match self.calls.push_to(lane, call, patience.look_at(due)) {
                Ok(()) => return self.wait_for_end(mailbox, lane, patience, due),
                Err(PushError::Closed(_)) => return Err(Refused::Closed),
                Err(PushError::Full(again)) => call = again,
            }
            patience.check(due)?;
        }
    }

    /// Waits for the end of a call that is queued.
    fn wait_for_end(
        &self,
        mailbox: &Mailbox,
        lane: usize,
        patience: Patience<'_>,
        due: Option<Ticks>,
    ) -> Result<Reply, Refused> {
        let end = mailbox.wait(patience, due);
        if mailbox.is_at(Place::Withdrawn) {
            self.withdrawn[lane].fetch_add(1, Ordering::Relaxed); // a count
        } else if mailbox.is_at(Place::GivenUp) {
            self.given_up.fetch_add(1, Ordering::Relaxed); // a hint to look
        }
        end
    }

    /// The lane for a call: of its priority, and of its length as far as that is known.
    fn choose_lane(&self, mailbox: &Mailbox) -> usize {
        let procedure = mailbox.invocation.lock().procedure;
        let length = self.lengths.expect(&mailbox.costs, procedure);
        let behind = if length == Length::Long { Priority::COUNT } else { 0 };
        let lane = mailbox.priority() as usize + behind;
        mailbox.lane.store(lane as u8, Ordering::Relaxed); // ordered by the queue
        mailbox.procedure.store(procedure.0, Ordering::Relaxed); // as well
        lane
    }

    /// How long a call of a lane would wait for a thread, by what calls have lately taken (Little's
    /// law): those of its own lane and of lanes before it are before it.
    fn expected_wait(&self, lane: usize) -> Duration {
        let before: usize = (0..=lane).map(|lane| self.waiting(lane)).sum();
        let threads = self.threads.workers() as u64;
        let service = self.threads.sum(|thread| thread.service.get()) / threads.max(1);
        Duration::from_nanos(service.saturating_mul(before as u64) / threads.max(1))
    }

    /// As [`ClientQueue::call`], but does not wait for room.
    pub(crate) fn try_call(
        &self,
        mailbox: &Arc<Mailbox>,
        interrupt: Option<&Arc<Interrupt>>,
    ) -> Result<Reply, Refused> {
        let lane = self.choose_lane(mailbox);
        mailbox.place.store(Place::Waiting as u8, Ordering::Relaxed); // ordered by the queue
        match self.calls.try_push_to(lane, Arc::clone(mailbox)) {
            Ok(()) => {
                let patience = Patience { interrupt, deadline: None };
                self.wait_for_end(mailbox, lane, patience, None)
            }
            Err(PushError::Full(_)) => Err(Refused::Full),
            Err(PushError::Closed(_)) => Err(Refused::Closed),
        }
    }

    /// How many calls of one priority fit.
    pub(crate) fn capacity(&self) -> usize {
        self.calls.lane(Priority::Normal as usize).capacity()
    }

    /// How many calls threads have taken and not ended.
    pub(crate) fn running(&self) -> usize {
        self.threads.sum(|thread| thread.running.get()) as usize
    }

    /// How many calls wait for open transactions.
    pub(crate) fn parked(&self) -> usize {
        self.threads.sum(|thread| thread.parked.get()) as usize
    }

    /// How many calls wait.
    pub(crate) fn len(&self) -> usize {
        (0..Priority::LANES).map(|lane| self.waiting(lane)).sum()
    }

    /// How many calls wait in a lane.
    fn waiting(&self, lane: usize) -> usize {
        let withdrawn = self.withdrawn[lane].load(Ordering::Relaxed).max(0);
        self.calls.lane(lane).len().saturating_sub(withdrawn as usize)
    }

    /// Refuses new calls and waits until all queued ones have ended.
    pub(crate) fn drain(&self) {
        self.calls.close();
        // Acquire; partner: the Release in the drop of a source.
        while self.sources.load(Ordering::Acquire) > 0 {
            thread::sleep(DRAIN_PAUSE);
        }
    }

    fn abandon_rest(&self) {
        self.calls.close();
        while let Ok(mailbox) = self.calls.try_pop_from(0) {
            abandon(&mailbox);
        }
    }
}

#[cfg(test)]
mod tests;
