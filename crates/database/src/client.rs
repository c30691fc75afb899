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

use std::cell::RefCell;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicIsize, AtomicU8, AtomicU32, AtomicUsize, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

use hotrow_base::clock::Ticks;
use hotrow_base::counters::{Counter, PerWorker};
use hotrow_base::ids::ProcedureId;
use hotrow_base::interrupt::{Interrupt, Interruption, LOOK_EVERY, WaitingForLock};
use hotrow_base::sync::queue::PushError;
use hotrow_base::sync::{BlockingQueue, Latch, PopError, ReplySlot};
use hotrow_base::thread;
use hotrow_engine::journal::Committer;
use hotrow_engine::source::{Bell, CallSource, End, Fetch, Ticket};
use hotrow_engine::statistics::CallTime;
use hotrow_transaction::invocation::Invocation;
use hotrow_transaction::outcome::SqlError;

use crate::admission::Planner;
use crate::books::{SessionBooks, Spent};
use crate::once::{Outcome, Outcomes, encode_refusal, is_outcome};
use crate::rows::{ColumnNames, Rows};
use cost::{Costs, EXPECTED, Length, Lengths, SHARE};

/// The longest sleep of an idle worker; it bounds how late it sees a stop.
const WAIT: Duration = Duration::from_millis(10);
/// Looks of who waits for its call's end grow apart up to so many times [`LOOK_EVERY`]: 50 ms.
const LOOKS_APART_MAX: u32 = 5;
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
    /// the lane in which its call waits; read and written by the session, and read by who finds
    /// that call withdrawn
    lane: AtomicU8,
    /// whose call it is, for who does not want the invocation's latch
    procedure: AtomicU32,
    /// what its calls have lately cost
    costs: Costs,
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
    /// with a source that does not run it: it waits for somebody's open transaction
    Parked,
    /// with a source, which has not noticed yet that its session has given it up
    GivenUp,
}

impl Mailbox {
    /// A mailbox whose calls are noted in these books.
    pub(crate) fn new(books: Arc<SessionBooks>) -> Self {
        Self {
            invocation: Latch::default(),
            call: AtomicU32::new(0),
            priority: AtomicU8::new(Priority::default() as u8),
            place: AtomicU8::new(Place::Waiting as u8),
            lane: AtomicU8::new(0),
            procedure: AtomicU32::new(0),
            costs: Costs::default(),
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

    /// Has the call obey a session, and charge its memory to it; none: nobody. What is there is
    /// another session's, whose call a thread has had before.
    pub(crate) fn serve(&self, interrupt: Option<&Arc<Interrupt>>) {
        let of_call = &mut self.invocation.lock().interrupt;
        let is_same = match (interrupt, &*of_call) {
            (Some(new), Some(old)) => Arc::ptr_eq(new, old),
            (None, None) => true,
            _ => false,
        };
        if !is_same {
            *of_call = interrupt.cloned();
        }
    }

    /// Moves a call (I4); whether it was there.
    fn go(&self, from: Place, to: Place) -> bool {
        let (from, to) = (from as u8, to as u8);
        // Relaxed: the queue and the reply slot order what is in the mailbox.
        self.place.compare_exchange(from, to, Ordering::Relaxed, Ordering::Relaxed).is_ok()
    }

    fn is_at(&self, place: Place) -> bool {
        self.place.load(Ordering::Relaxed) == place as u8 // see `go`
    }

    /// Whether its call was given up: another mailbox is needed for the next one.
    fn is_withdrawn(&self) -> bool {
        self.is_at(Place::Withdrawn) || self.is_at(Place::GivenUp)
    }

    /// Waits for the end of the call, or takes it back while it waits for a thread or for
    /// somebody's open transaction.
    fn wait(&self, patience: Patience<'_>, mut due: Option<Ticks>) -> Result<Reply, Refused> {
        let mut parked: Option<WaitsOutside> = None;
        for looks in 0.. {
            let parked_due = parked.as_ref().and_then(|parked| parked.deadline);
            let due_next = [due, parked_due].into_iter().flatten().min();
            let Some(look_at) = patience.look_again_at(due_next, looks) else { break };
            if let Some(reply) = self.reply.wait_until(look_at) {
                return Ok(reply);
            }
            if self.is_at(Place::Waiting) {
                if let Err(why) = patience.check(due)
                    && self.go(Place::Waiting, Place::Withdrawn)
                {
                    return Err(why);
                }
                continue;
            }
            due = None; // a thread has taken it in time
            if !self.is_at(Place::Parked) {
                continue; // it keeps the time that it has waited: it may only be looking
            }
            let Some(interrupt) = patience.interrupt else { break };
            let parked = parked.get_or_insert_with(|| WaitsOutside::begin(interrupt));
            if let Err(why) = interrupt.check_wait(parked.deadline)
                && self.go(Place::Parked, Place::GivenUp)
            {
                return Err(Refused::Interrupted(why));
            }
        }
        Ok(self.reply.wait())
    }

    /// Has its calls wait in another lane from now on.
    pub(crate) fn set_priority(&self, priority: Priority) {
        self.priority.store(priority as u8, Ordering::Relaxed);
    }
}

/// A parked call, as its session sees it.
struct WaitsOutside {
    deadline: Option<Ticks>,
    /// tells whoever asks
    _told: WaitingForLock,
}

impl WaitsOutside {
    fn begin(interrupt: &Arc<Interrupt>) -> Self {
        Self { deadline: interrupt.lock_deadline(), _told: interrupt.wait_for_lock() }
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
    /// A lane for each, of short calls and of those not known, and behind them one for each of long
    /// calls.
    const LANES: usize = 2 * Self::COUNT;
    const SHORT: Range<usize> = 0..Self::COUNT;
    const LONG: Range<usize> = Self::COUNT..Self::LANES;

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

/// How long a session lets its call wait for a thread, or for somebody's open transaction. One that
/// a thread runs is waited for: it looks at the interrupt itself ([`Invocation::interrupt`]).
#[derive(Clone, Copy, Default)]
pub(crate) struct Patience<'a> {
    /// says when to give it up
    pub(crate) interrupt: Option<&'a Arc<Interrupt>>,
    /// within which it must be taken
    pub(crate) deadline: Option<Duration>,
}

impl Patience<'_> {
    /// When to look again whether to go on; none: never.
    fn look_at(self, due: Option<Ticks>) -> Option<Ticks> {
        self.look_again_at(due, 0)
    }

    /// As [`Patience::look_at`], after so many looks: a crowd that waits for long takes little time
    /// from those who work.
    fn look_again_at(self, due: Option<Ticks>, looks: u32) -> Option<Ticks> {
        let span = LOOK_EVERY * (1 + looks).min(LOOKS_APART_MAX);
        let look = self.interrupt.map(|_| Ticks::from_now(span));
        [look, due].into_iter().flatten().min()
    }

    /// Whether to wait on.
    fn check(self, due: Option<Ticks>) -> Result<(), Refused> {
        let interrupt = self.interrupt.map_or(Ok(()), |interrupt| interrupt.check());
        interrupt.map_err(Refused::Interrupted)?;
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
    /// before any thread had taken it, or while it was parked
    Interrupted(Interruption),
}

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
    /// calls that are parked: they do not count as unfinished
    parked: usize,
    /// how many calls to take before the first of them is finished: a thread that took all would
    /// leave nothing for the others
    share: usize,
    /// calls taken since a moment from which on there always was one
    busy: (u64, Ticks),
    /// pops so far
    turn: u32,
    /// what was taken is to be the only one of its turn (F1)
    alone: bool,
    /// when the next long call is due even before short ones (F2)
    long_due: Ticks,
    /// when this thread last ran a short call
    short_at: Ticks,
    /// [`EXPECTED`]
    expects_short: Duration,
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
            parked: 0,
            share: 1,
            busy: (0, Ticks::now()),
            turn: 0,
            alone: false,
            long_due: Ticks::now(),
            short_at: Ticks::now(),
            expects_short: EXPECTED,
            columns: ColumnNames::default(),
        }
    }

    /// Takes a call; none when its session has given it up.
    fn take(&mut self, mailbox: Arc<Mailbox>, invocation: &mut Invocation) -> Option<Ticket> {
        if !mailbox.go(Place::Waiting, Place::Taken) {
            let lane = usize::from(mailbox.lane.load(Ordering::Relaxed));
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

    /// Forgets a call that its session has given up.
    fn forget(&mut self, ticket: Ticket) {
        let at = ticket.0 as usize;
        if self.taken[at].take().is_some() {
            self.free.push(at);
            self.set_parked(self.parked - 1);
            self.queue.given_up.fetch_sub(1, Ordering::Relaxed); // a count
        }
    }

    fn set_parked(&mut self, calls: usize) {
        self.parked = calls;
        self.queue.threads.of(self.number).parked.set(calls as u64);
    }

    fn parked_call(&self, ticket: Ticket) -> Option<&Mailbox> {
        Some(&*self.taken.get(ticket.0 as usize)?.as_ref()?.mailbox)
    }

    /// The next call of the turn.
    fn pop(&mut self) -> Result<Arc<Mailbox>, PopError> {
        self.turn = self.turn.wrapping_add(1);
        let first = Priority::of_turn(self.turn) as usize;
        let calls = &self.queue.calls;
        let may_run_long = self.unfinished == 0
            && Priority::LONG.map(|lane| calls.lane(lane).len()).sum::<usize>() > 0
            && self.may_run_long();
        if may_run_long
            && self.long_due.has_passed()
            && let Ok(mailbox) = calls.try_pop_among(first + Priority::COUNT, Priority::LONG)
        {
            return Ok(mailbox); // F2
        }
        match calls.try_pop_among(first, Priority::SHORT) {
            Err(_) if may_run_long => calls.try_pop_among(first + Priority::COUNT, Priority::LONG),
            Err(PopError::Drained) if !calls.is_empty() => Err(PopError::Empty),
            popped => popped,
        }
    }

    /// Whether this thread may run a long call now (F3).
    fn may_run_long(&self) -> bool {
        let threads = &self.queue.threads;
        let others = threads.sum(|thread| thread.long.get()) + 1;
        let is_last = others >= threads.workers() as u64;
        !is_last
            || threads.workers() == 1
            || self.short_at.elapsed() >= self.expects_short
            || self.queue.calls.lane(0).is_closed()
    }

    fn note_taken(&mut self, ticket: Ticket, length: Length) {
        match length {
            Length::Short => {
                let taken = self.taken[ticket.0 as usize].as_ref();
                self.short_at = taken.map_or(self.short_at, |taken| taken.at);
            }
            Length::Unknown => self.alone = true,
            Length::Long => {
                self.alone = true;
                self.queue.threads.of(self.number).long.set(1);
            }
        }
    }

    /// Notes what a call has cost, and how long others may go before the next long one.
    fn note_cost(&mut self, mailbox: &Mailbox, procedure: ProcedureId, time: CallTime) {
        let ticks = time.plan + time.execute;
        self.queue.lengths.note(&mailbox.costs, procedure, ticks);
        let book = &self.queue.threads.of(self.number).long;
        if book.get() > 0 {
            book.set(0);
            self.long_due = Ticks::from_now(Duration::from_nanos(Ticks::nanos_of(SHARE * ticks)));
        }
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
            let waiting: usize = Priority::SHORT.map(|at| self.queue.calls.lane(at).len()).sum();
            self.share = waiting.div_ceil(self.queue.threads.workers()).max(1);
            self.alone = false;
        }
        let mut next = self.next.take();
        loop {
            if let Some(mailbox) = next.take() {
                let procedure = ProcedureId(mailbox.procedure.load(Ordering::Relaxed));
                let length = self.queue.lengths.expect(&mailbox.costs, procedure);
                if length == Length::Long && self.unfinished > 0 {
                    self.next = Some(mailbox); // it was queued before that was known (F1)
                    return Fetch::Empty;
                }
                if let Some(ticket) = self.take(mailbox, invocation) {
                    self.note_taken(ticket, length);
                    return Fetch::Ready(ticket);
                }
            }
            if self.unfinished >= self.share || self.alone {
                return Fetch::Empty;
            }
            match self.pop() {
                Ok(mailbox) => next = Some(mailbox),
                Err(PopError::Empty) => return Fetch::Empty,
                Err(PopError::Drained) => return Fetch::Closed,
            }
        }
    }

    fn wait(&mut self) {
        if self.next.is_none() {
            self.note_service();
            let rung = &self.queue.rung[self.number];
            // Relaxed: the queue orders it before the call that tells of it.
            let called = || rung.load(Ordering::Relaxed) && rung.swap(false, Ordering::Relaxed);
            let lanes = if self.may_run_long() { 0..Priority::LANES } else { Priority::SHORT };
            let next = self.queue.calls.pop_unless(Some(Ticks::from_now(WAIT)), lanes, called);
            self.next = next.ok();
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
            // Nothing of it remains.
            End::Aborted { error, durable_in, time } => (Reply::seen(Err(error), durable_in), time),
        };
        self.note_cost(&mailbox, procedure, time);
        if !key.is_empty() {
            let call = mailbox.call.load(Ordering::Relaxed); // ordered by the queue
            reply = self.ends.tell(&key, call, now_us, reply);
        }
        let ended = Ticks::now();
        reply.spent = Some((Spent { procedure, taken, ended, time }, ended, ended));
        let answered = mailbox.reply.complete(reply);
        debug_assert!(answered.is_ok(), "I1");
    }

    fn park(&mut self, ticket: Ticket) {
        if let Some(mailbox) = self.parked_call(ticket) {
            let _ = mailbox.go(Place::Taken, Place::Parked); // nobody else moves a taken one
            self.set_unfinished(self.unfinished - 1);
            self.set_parked(self.parked + 1);
            self.queue.threads.of(self.number).long.set(0);
        }
    }

    fn resume(&mut self, ticket: Ticket) -> bool {
        let goes_on =
            self.parked_call(ticket).is_some_and(|mailbox| mailbox.go(Place::Parked, Place::Taken));
        if goes_on {
            self.set_unfinished(self.unfinished + 1);
            self.set_parked(self.parked - 1);
        } else {
            self.forget(ticket);
        }
        goes_on
    }

    fn has_given_up(&self) -> bool {
        self.queue.given_up.load(Ordering::Relaxed) != 0 // a hint: the next turn asks again
    }

    fn forget_given_up(&mut self, ticket: Ticket) -> bool {
        let given_up =
            self.parked_call(ticket).is_some_and(|mailbox| mailbox.is_at(Place::GivenUp));
        if given_up {
            self.forget(ticket);
        }
        given_up
    }

    fn bell(&self) -> Option<Arc<dyn Bell>> {
        Some(Arc::new(ThreadBell { queue: Arc::downgrade(&self.queue), number: self.number }))
    }
}

/// Calls one thread away from the queue.
#[derive(Debug)]
struct ThreadBell {
    queue: Weak<ClientQueue>,
    number: usize,
}

impl Bell for ThreadBell {
    fn ring(&self) {
        if let Some(queue) = self.queue.upgrade() {
            queue.rung[self.number].store(true, Ordering::Relaxed); // see `wait`
            queue.calls.call_away();
        }
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
