//! The way of a call from a session to a worker thread and back.
//!
//! Role         sessions put mailboxes into one bounded queue, in the lane of their priority; each
//!              thread of the engine has a [`ClientSource`] on it and answers into the mailbox.
//!              Where the engine has places for callers ([`OnCallers`]), a session first tries to
//!              run a short call itself
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

use hotrow_base::sync::facade::atomic::{AtomicBool, AtomicIsize, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use hotrow_base::clock::Ticks;
use hotrow_base::counters::{Counter, PerWorker};
use hotrow_base::ids::ProcedureId;
use hotrow_base::interrupt::Interrupt;
use hotrow_base::sync::BlockingQueue;
use hotrow_base::sync::queue::PushError;
use hotrow_base::thread;
use hotrow_engine::source::{CallSource, End, OnCallers};
use hotrow_engine::statistics::CallTime;

use self::cost::{Length, Lengths};
use self::mailbox::{Place, abandon};
use self::source::ClientSource;
use crate::books::Spent;
use crate::reply::Reply;
use crate::rows::{ColumnNames, Rows};

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
    /// the way to run calls on their sessions' threads, where the engine has one
    on_callers: OnceLock<Arc<dyn OnCallers>>,
}

impl ClientQueue {
    /// A queue for `capacity` calls of each priority and the sources of `threads` threads.
    pub(crate) fn new(capacity: usize, ends: Vec<Ends>) -> (Arc<Self>, Vec<Box<dyn CallSource>>) {
        let threads = ends.len();
        let queue = Self {
            calls: BlockingQueue::with_lanes(capacity, Priority::SHORT.end),
            withdrawn: Default::default(),
            lengths: Lengths::new(),
            given_up: AtomicUsize::new(0),
            rung: (0..threads).map(|_| AtomicBool::new(false)).collect(),
            sources: AtomicUsize::new(threads),
            threads: PerWorker::with_defaults(threads),
            on_callers: OnceLock::new(),
        };
        let queue = Arc::new(queue);
        let source = |(number, ends)| Box::new(ClientSource::new(&queue, number, ends));
        let ends = ends.into_iter().enumerate();
        let sources = ends.map(|ends| source(ends) as Box<dyn CallSource>).collect();
        (queue, sources)
    }

    /// Takes the way to run calls on their sessions' threads, once the engine has started.
    pub(crate) fn set_on_callers(&self, on_callers: Option<Arc<dyn OnCallers>>) {
        if let Some(on_callers) = on_callers {
            let set = self.on_callers.set(on_callers);
            debug_assert!(set.is_ok(), "a queue has one engine");
        }
    }

    /// Runs the call in `mailbox` on this thread, where the engine can do that just now. Not one
    /// that may be long: threads know how many of those to run beside each other ([`cost`]). And
    /// not past those that wait for a thread.
    fn run_here(&self, mailbox: &Mailbox) -> Option<Reply> {
        let on_callers = self.on_callers.get()?;
        let mut invocation = mailbox.invocation.lock();
        let procedure = invocation.procedure;
        let is_short = self.lengths.expect(&mailbox.costs, procedure) == Length::Short;
        let may_pass = self.calls.is_empty() && !self.calls.lane(0).is_closed();
        if !is_short || !may_pass || !invocation.key.is_empty() {
            return None;
        }
        let (taken, mut reply) = (Ticks::now(), None);
        let mut end = |end: End<'_>| {
            let (mut ended, time) = reply_of(end, procedure, &mut mailbox.columns.lock());
            self.lengths.note(&mailbox.costs, procedure, time.plan + time.execute);
            let now = Ticks::now();
            ended.spent = Some((Spent { procedure, taken, ended: now, time }, now, now));
            reply = Some(ended);
        };
        on_callers.try_run(mailbox.books.number, &mut invocation, &mut end);
        reply
    }

    /// Has the call in `mailbox` run, here or by a thread, waits for room in the queue if need be,
    /// and waits for its end.
    pub(crate) fn call(
        &self,
        mailbox: &Arc<Mailbox>,
        patience: Patience<'_>,
    ) -> Result<Reply, Refused> {
        if let Some(reply) = self.run_here(mailbox) {
            return Ok(reply);
        }
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
        if let Some(reply) = self.run_here(mailbox) {
            return Ok(reply);
        }
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

/// What a call's end is to its session, and where its time went.
fn reply_of(end: End<'_>, procedure: ProcedureId, columns: &mut ColumnNames) -> (Reply, CallTime) {
    match end {
        End::Committed { frame, program, durable_in, time, .. } => {
            let rows = Rows::of_frame(columns.of(procedure, program), frame, program);
            (Reply::new(Ok(rows), durable_in), time)
        }
        // Nothing of it remains.
        End::Aborted { error, durable_in, time } => (Reply::seen(Err(error), durable_in), time),
    }
}

#[cfg(test)]
mod tests;
