//! A thread's end of the queue: it takes calls and answers them.
//!
//! Invariants and concurrency: see [`super`] and [`super::cost`].

use hotrow_base::sync::facade::atomic::Ordering;
use std::sync::{Arc, Weak};
use std::time::Duration;

use hotrow_base::clock::Ticks;
use hotrow_base::ids::ProcedureId;
use hotrow_base::sync::PopError;
use hotrow_engine::journal::Committer;
use hotrow_engine::source::{Bell, CallSource, End, Fetch, Ticket};
use hotrow_engine::statistics::CallTime;
use hotrow_transaction::invocation::Invocation;

use super::cost::{EXPECTED, Length, SHARE};
use super::mailbox::{Mailbox, Place, abandon};
use super::priority::Priority;
use super::{ClientQueue, reply_of};
use crate::books::Spent;
use crate::once::{Outcome, Outcomes, encode_refusal, is_outcome};
use crate::reply::Reply;
use crate::rows::ColumnNames;

/// The longest sleep of an idle worker; it bounds how late it sees a stop.
const WAIT: Duration = Duration::from_millis(10);

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
pub(super) struct ClientSource {
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
    pub(super) expects_short: Duration,
    /// result columns by procedure, so that an answer allocates no names
    columns: ColumnNames,
}

impl ClientSource {
    pub(super) fn new(queue: &Arc<ClientQueue>, number: usize, ends: Ends) -> Self {
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

    fn shares_calls(&self) -> bool {
        true
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
        let (mut reply, time) = reply_of(end, procedure, &mut self.columns);
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
