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
//!              mailbox with a withdrawn call is used no more
//! Concurrency  `invocation` -> the session before it submits, the source that took the mailbox
//!              after (a latch keeps misuse harmless); `reply` -> see `ReplySlot`

use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicIsize, AtomicU8, AtomicU32, AtomicUsize, Ordering};
use std::time::Duration;

use hotrow_base::clock::Ticks;
use hotrow_base::counters::{Counter, PerWorker};
use hotrow_base::ids::ProcedureId;
use hotrow_base::interrupt::{Interrupt, Interruption, LOOK_EVERY};
use hotrow_base::sync::queue::PushError;
use hotrow_base::sync::{BlockingQueue, Latch, PopError, ReplySlot};
use hotrow_base::thread;
use hotrow_engine::journal::Committer;
use hotrow_engine::source::{CallSource, End, Fetch, Ticket};
use hotrow_transaction::invocation::Invocation;
use hotrow_transaction::outcome::SqlError;

use crate::admission::Planner;
use crate::books::{SessionBooks, Spent};
use crate::once::{Outcome, Outcomes, encode_refusal, is_outcome};
use crate::rows::{ColumnNames, Rows};

/// The longest sleep of an idle worker; it bounds how late it sees a stop.
const WAIT: Duration = Duration::from_millis(10);
/// Between two looks of who waits for the last source to go.
const DRAIN_PAUSE: Duration = Duration::from_micros(100);

/// A call on its way, and the place for its answer. Belongs to one session, used again and again.
pub(crate) struct Mailbox {
    pub(crate) invocation: Latch<Invocation>,
    /// of a call with a key: [`call_checksum`](crate::once::call_checksum). Ordered by the queue
    pub(crate) call: AtomicU32,
    /// read and written by the session alone
    priority: AtomicU8,
    /// a [`Place`]
    place: AtomicU8,
    reply: ReplySlot<Reply>,
    /// those of its session
    pub(crate) books: Arc<SessionBooks>,
    /// what its session plans with, where calls for a key are counted
    pub(crate) planner: Latch<Planner>,
}

/// Where a call is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
enum Place {
    /// with its session, or in the queue
    Waiting,
    /// with a source, or ended
    Taken,
    /// nowhere: its session has given it up
    Withdrawn,
}

impl Mailbox {
    /// A mailbox whose calls are noted in these books.
    pub(crate) fn new(books: Arc<SessionBooks>) -> Self {
        Self {
            invocation: Latch::default(),
            call: AtomicU32::new(0),
            priority: AtomicU8::new(Priority::default() as u8),
            place: AtomicU8::new(Place::Waiting as u8),
            reply: ReplySlot::default(),
            books,
            planner: Latch::default(),
        }
    }

    /// Replaces a mailbox whose call was withdrawn: the queue still has it.
    pub(crate) fn renew(mailbox: &RefCell<Arc<Self>>) {
        if mailbox.borrow().is_withdrawn() {
            let next = Self::new(Arc::clone(&mailbox.borrow().books));
            next.set_priority(mailbox.borrow().priority());
            mailbox.replace(Arc::new(next));
        }
    }

    /// In which lane its calls wait.
    pub(crate) fn priority(&self) -> Priority {
        match self.priority.load(Ordering::Relaxed) {
            high if high == Priority::High as u8 => Priority::High,
            low if low == Priority::Low as u8 => Priority::Low,
            _ => Priority::Normal,
        }
    }

    /// Moves a waiting call (I4); whether it did wait.
    fn leave_queue(&self, to: Place) -> bool {
        let (from, to) = (Place::Waiting as u8, to as u8);
        // Relaxed: the queue and the reply slot order what is in the mailbox.
        self.place.compare_exchange(from, to, Ordering::Relaxed, Ordering::Relaxed).is_ok()
    }

    fn is_at(&self, place: Place) -> bool {
        self.place.load(Ordering::Relaxed) == place as u8 // see `leave_queue`
    }

    /// Whether its call was given up: another mailbox is needed for the next one.
    fn is_withdrawn(&self) -> bool {
        self.is_at(Place::Withdrawn)
    }

    /// Waits for the end of the call, or takes it back while it waits for a thread.
    fn wait(&self, patience: Patience<'_>, due: Option<Ticks>) -> Result<Reply, Refused> {
        while let Some(look_at) = patience.look_at(due) {
            if let Some(reply) = self.reply.wait_until(look_at) {
                return Ok(reply);
            }
            if self.is_at(Place::Taken) {
                break;
            }
            if let Err(why) = patience.check(due)
                && self.leave_queue(Place::Withdrawn)
            {
                return Err(why);
            }
        }
        Ok(self.reply.wait())
    }

    /// Has its calls wait in another lane from now on.
    pub(crate) fn set_priority(&self, priority: Priority) {
        self.priority.store(priority as u8, Ordering::Relaxed);
    }
}

/// How a call ended. To be told to the caller when `durable_in` is.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) answer: Result<Rows, Box<SqlError>>,
    /// the log's epoch in which the call and all it saw are durable
    pub(crate) durable_in: u64,
    /// whether something may have been changed
    pub(crate) changes: bool,
    /// where its time went, if a thread of the engine ran it; when it was queued, and when its
    /// session heard of its end
    pub(crate) spent: Option<(Spent, Ticks, Ticks)>,
}

impl Reply {
    pub(crate) fn new(answer: Result<Rows, Box<SqlError>>, durable_in: u64) -> Self {
        Self { answer, durable_in, changes: true, spent: None }
    }

    /// Of what has only looked.
    pub(crate) fn seen(answer: Result<Rows, Box<SqlError>>, durable_in: u64) -> Self {
        Self { changes: false, ..Self::new(answer, durable_in) }
    }

    /// The end of what has done and seen nothing.
    pub(crate) fn refused(error: SqlError) -> Self {
        Self::seen(Err(Box::new(error)), 0)
    }
}

/// Which of the calls that wait for a thread are taken first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Debug)]
pub enum Priority {
    /// before all others
    High,
    /// as if there were no priorities
    #[default]
    Normal,
    /// when nothing else waits
    Low,
}

impl Priority {
    /// How many there are.
    const COUNT: usize = 3;

    /// The one that turn number `turn` of a thread begins with: most begin with the highest, and
    /// some with a lower one, so that nobody waits for ever.
    const fn of_turn(turn: u32) -> Self {
        match turn {
            turn if turn.is_multiple_of(64) => Self::Low,
            turn if turn.is_multiple_of(8) => Self::Normal,
            _ => Self::High,
        }
    }
}

/// How long a session lets its call wait for a thread. One that a thread has taken is waited for,
/// since others may have been planned behind it.
#[derive(Clone, Copy, Default)]
pub(crate) struct Patience<'a> {
    /// says when to give it up
    pub(crate) interrupt: Option<&'a Interrupt>,
    /// within which it must be taken
    pub(crate) deadline: Option<Duration>,
}

impl Patience<'_> {
    /// When to look again whether to go on; none: never.
    fn look_at(self, due: Option<Ticks>) -> Option<Ticks> {
        let look = self.interrupt.map(|_| Ticks::from_now(LOOK_EVERY));
        [look, due].into_iter().flatten().min()
    }

    /// Whether to wait on.
    fn check(self, due: Option<Ticks>) -> Result<(), Refused> {
        self.interrupt.map_or(Ok(()), Interrupt::check).map_err(Refused::Interrupted)?;
        if due.is_some_and(Ticks::has_passed) { Err(Refused::Late) } else { Ok(()) }
    }
}

/// Why a call was not queued.
#[derive(Debug)]
pub(crate) enum Refused {
    Closed,
    Full,
    /// no thread has taken it, or would have, by its deadline
    Late,
    /// before any thread had taken it
    Interrupted(Interruption),
}

/// What a thread tells of its calls. One writer.
#[derive(Default)]
struct ThreadBook {
    /// nanoseconds that a call has lately taken
    service: Counter,
    /// calls that it has taken and not ended
    running: Counter,
}

/// The queue between all sessions and all threads of one engine.
pub(crate) struct ClientQueue {
    /// a lane for each priority
    calls: BlockingQueue<Arc<Mailbox>, { Priority::COUNT }>,
    /// of the mailboxes in each lane, those whose call was given up: they take no thread's time.
    /// Below zero for a moment where a thread comes to one before its session has told
    withdrawn: [AtomicIsize; Priority::COUNT],
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
        let lane = mailbox.priority() as usize;
        if patience.deadline.is_some_and(|most| self.expected_wait(lane) > most) {
            return Err(Refused::Late);
        }
        let due = patience.deadline.map(Ticks::from_now);
        mailbox.place.store(Place::Waiting as u8, Ordering::Relaxed); // ordered by the queue
        let mut call = Arc::clone(mailbox);
        loop {
            match self.calls.push_to(lane, call, patience.look_at(due)) {
                Ok(()) => {
                    let end = mailbox.wait(patience, due);
                    if end.is_err() {
                        self.withdrawn[lane].fetch_add(1, Ordering::Relaxed); // a count
                    }
                    return end;
                }
                Err(PushError::Closed(_)) => return Err(Refused::Closed),
                Err(PushError::Full(again)) => call = again,
            }
            patience.check(due)?;
        }
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
    pub(crate) fn try_call(&self, mailbox: &Arc<Mailbox>) -> Result<Reply, Refused> {
        let lane = mailbox.priority() as usize;
        mailbox.place.store(Place::Waiting as u8, Ordering::Relaxed); // ordered by the queue
        match self.calls.try_push_to(lane, Arc::clone(mailbox)) {
            Ok(()) => Ok(mailbox.reply.wait()),
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

    /// How many calls wait.
    pub(crate) fn len(&self) -> usize {
        (0..Priority::COUNT).map(|lane| self.waiting(lane)).sum()
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

/// Answers a call that no thread is left to run to its end.
fn abandon(mailbox: &Mailbox) {
    let error = SqlError::new(b"57P02", "the engine ended before it told the end of the call");
    // An answer that is there already stays: the call had ended.
    let _ = mailbox.reply.complete(Reply::refused(error));
}

/// A call in the hands of a thread.
struct Taken {
    mailbox: Arc<Mailbox>,
    procedure: ProcedureId,
    /// empty: none
    key: Vec<u8>,
    now_us: i64,
    at: Ticks,
}

/// Where a thread tells the ends of calls with keys.
pub(crate) struct Ends {
    pub(crate) outcomes: Arc<Outcomes>,
    pub(crate) committer: Committer,
}

impl Ends {
    /// Remembers how a keyed call ended, and has its refusal logged. Called in the turn of its
    /// commit, inside the gate.
    pub(crate) fn tell(&self, key: &[u8], call: u32, ended_us: i64, mut reply: Reply) -> Reply {
        if let Err(error) = &reply.answer {
            if !is_outcome(error) {
                self.outcomes.release(key);
                return reply;
            }
            let refusal = |out: &mut Vec<u8>| encode_refusal(out, key, (call, ended_us), error);
            match self.committer.record_refusal(refusal) {
                Ok(epoch) => reply.durable_in = reply.durable_in.max(epoch),
                Err(_) => {
                    self.outcomes.release(key);
                    return Reply::refused(self.committer.failure());
                }
            }
        }
        let (answer, durable_in) = (reply.answer.clone(), reply.durable_in);
        self.outcomes.end(key, Outcome { call, ended_us, answer, durable_in });
        reply
    }
}

/// One thread's end of the queue.
struct ClientSource {
    queue: Arc<ClientQueue>,
    /// which of the threads it is
    number: usize,
    ends: Ends,
    /// taken from the queue while waiting, not yet fetched
    next: Option<Arc<Mailbox>>,
    /// calls fetched and not finished, by ticket
    taken: Vec<Option<Taken>>,
    free: Vec<usize>,
    unfinished: usize,
    /// how many calls to take before the first of them is finished: a thread that took all would
    /// leave nothing for the others
    share: usize,
    /// calls taken since a moment from which on there always was one
    busy: (u64, Ticks),
    /// pops so far
    turn: u32,
    /// result columns by procedure, so that an answer allocates no names
    columns: ColumnNames,
}

impl ClientSource {
    fn new(queue: &Arc<ClientQueue>, number: usize, ends: Ends) -> Self {
        Self {
            queue: Arc::clone(queue),
            number,
            ends,
            next: None,
            taken: Vec::new(),
            free: Vec::new(),
            unfinished: 0,
            share: 1,
            busy: (0, Ticks::now()),
            turn: 0,
            columns: ColumnNames::default(),
        }
    }

    /// Takes a call; none when its session has given it up.
    fn take(&mut self, mailbox: Arc<Mailbox>, invocation: &mut Invocation) -> Option<Ticket> {
        if !mailbox.leave_queue(Place::Taken) {
            let lane = mailbox.priority() as usize;
            self.queue.withdrawn[lane].fetch_sub(1, Ordering::Relaxed); // a count
            return None;
        }
        // Buffers change places, so that neither side allocates when they have grown.
        std::mem::swap(&mut *mailbox.invocation.lock(), invocation);
        let (procedure, now_us) = (invocation.procedure, invocation.now_us);
        let (key, at) = (invocation.key.clone(), Ticks::now());
        let taken = Taken { mailbox, procedure, key, now_us, at };
        let at = match self.free.pop() {
            Some(at) => at,
            None => {
                self.taken.push(None);
                self.taken.len() - 1
            }
        };
        self.taken[at] = Some(taken);
        self.set_unfinished(self.unfinished + 1);
        self.busy.0 += 1;
        Some(Ticket(at as u64))
    }

    fn set_unfinished(&mut self, calls: usize) {
        self.unfinished = calls;
        self.queue.threads.of(self.number).running.set(calls as u64);
    }

    /// Notes what calls take, between two turns: the mean of the last one, smoothed.
    fn note_service(&mut self) {
        let (calls, since) = std::mem::replace(&mut self.busy, (0, Ticks::now()));
        if let Some(own) = since.elapsed_nanos().checked_div(calls) {
            let book = &self.queue.threads.of(self.number).service;
            let known = book.get();
            book.set(if known == 0 { own } else { (7 * known + own) / 8 });
        }
    }
}

impl CallSource for ClientSource {
    fn fetch(&mut self, invocation: &mut Invocation) -> Fetch {
        if self.unfinished == 0 {
            self.note_service();
            let waiting = self.queue.calls.len();
            self.share = waiting.div_ceil(self.queue.threads.workers()).max(1);
        }
        let mut next = self.next.take();
        loop {
            if let Some(ticket) = next.take().and_then(|mailbox| self.take(mailbox, invocation)) {
                return Fetch::Ready(ticket);
            }
            if self.unfinished >= self.share {
                return Fetch::Empty;
            }
            self.turn = self.turn.wrapping_add(1);
            match self.queue.calls.try_pop_from(Priority::of_turn(self.turn) as usize) {
                Ok(mailbox) => next = Some(mailbox),
                Err(PopError::Empty) => return Fetch::Empty,
                Err(PopError::Drained) => return Fetch::Closed,
            }
        }
    }

    fn wait(&mut self) {
        if self.next.is_none() {
            self.note_service();
            self.next = self.queue.calls.pop_at_most(Some(Ticks::from_now(WAIT))).ok();
            self.busy.1 = Ticks::now();
        }
    }

    fn finish(&mut self, ticket: Ticket, end: End<'_>) {
        let at = ticket.0 as usize;
        let Some(Taken { mailbox, procedure, key, now_us, at: taken }) =
            self.taken.get_mut(at).and_then(Option::take)
        else {
            debug_assert!(false, "ticket {at} was finished twice");
            return;
        };
        self.free.push(at);
        self.set_unfinished(self.unfinished - 1);
        let (mut reply, time) = match end {
            End::Committed { frame, program, durable_in, time, .. } => {
                let columns = self.columns.of(procedure, program);
                (Reply::new(Ok(Rows::of_frame(columns, frame, program)), durable_in), time)
            }
            End::Aborted { error, durable_in, time } => (Reply::new(Err(error), durable_in), time),
        };
        if !key.is_empty() {
            let call = mailbox.call.load(Ordering::Relaxed); // ordered by the queue
            reply = self.ends.tell(&key, call, now_us, reply);
        }
        let ended = Ticks::now();
        reply.spent = Some((Spent { procedure, taken, ended, time }, ended, ended));
        let answered = mailbox.reply.complete(reply);
        debug_assert!(answered.is_ok(), "I1");
    }
}

impl Drop for ClientSource {
    fn drop(&mut self) {
        let unfinished = self.taken.drain(..).flatten().map(|taken| taken.mailbox);
        unfinished.chain(self.next.take()).for_each(|mailbox| abandon(&mailbox));
        // Release; partner: the Acquire in `drain`. AcqRel: the last one sees all others gone.
        if self.queue.sources.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.queue.abandon_rest();
        }
    }
}

#[cfg(test)]
mod tests;
