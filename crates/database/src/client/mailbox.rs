//! A mailbox: a call on its way, the place for its answer, and how its session waits for that.
//!
//! Invariants and concurrency: see [`super`].

use hotrow_base::sync::facade::atomic::{AtomicU8, AtomicU32, Ordering};
use std::cell::RefCell;
use std::sync::Arc;
use std::time::Duration;

use hotrow_base::clock::Ticks;
use hotrow_base::interrupt::{Interrupt, Interruption, LOOK_EVERY, WaitingForLock};
use hotrow_base::sync::{Latch, ReplySlot};
use hotrow_transaction::invocation::Invocation;
use hotrow_transaction::outcome::SqlError;

use super::cost::Costs;
use super::priority::Priority;
use crate::admission::Planner;
use crate::books::SessionBooks;
use crate::reply::Reply;
use crate::rows::ColumnNames;

/// Looks of who waits for its call's end grow apart up to so many times [`LOOK_EVERY`]: 50 ms.
const LOOKS_APART_MAX: u32 = 5;

/// A call on its way, and the place for its answer. Belongs to one session, used again and again.
pub(crate) struct Mailbox {
    pub(crate) invocation: Latch<Invocation>,
    /// of a call with a key: [`call_checksum`](crate::once::call_checksum). Ordered by the queue
    pub(crate) call: AtomicU32,
    /// read and written by the session alone
    priority: AtomicU8,
    /// a [`Place`]
    pub(super) place: AtomicU8,
    /// the lane in which its call waits; read and written by the session, and read by who finds
    /// that call withdrawn
    pub(super) lane: AtomicU8,
    /// whose call it is, for who does not want the invocation's latch
    pub(super) procedure: AtomicU32,
    /// what its calls have lately cost
    pub(super) costs: Costs,
    pub(super) reply: ReplySlot<Reply>,
    /// result columns by procedure, of calls that its session runs itself
    pub(super) columns: Latch<ColumnNames>,
    /// those of its session
    pub(crate) books: Arc<SessionBooks>,
    /// what its session plans with, where calls for a key are counted
    pub(crate) planner: Latch<Planner>,
}

/// Where a call is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub(super) enum Place {
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
            columns: Latch::default(),
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
    pub(super) fn go(&self, from: Place, to: Place) -> bool {
        let (from, to) = (from as u8, to as u8);
        // Relaxed: the queue and the reply slot order what is in the mailbox.
        self.place.compare_exchange(from, to, Ordering::Relaxed, Ordering::Relaxed).is_ok()
    }

    pub(super) fn is_at(&self, place: Place) -> bool {
        self.place.load(Ordering::Relaxed) == place as u8 // see `go`
    }

    /// Whether its call was given up: another mailbox is needed for the next one.
    pub(super) fn is_withdrawn(&self) -> bool {
        self.is_at(Place::Withdrawn) || self.is_at(Place::GivenUp)
    }

    /// Waits for the end of the call, or takes it back while it waits for a thread or for
    /// somebody's open transaction.
    pub(super) fn wait(
        &self,
        patience: Patience<'_>,
        mut due: Option<Ticks>,
    ) -> Result<Reply, Refused> {
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
    pub(super) fn look_at(self, due: Option<Ticks>) -> Option<Ticks> {
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
    pub(super) fn check(self, due: Option<Ticks>) -> Result<(), Refused> {
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

/// Answers a call that no thread is left to run to its end.
pub(super) fn abandon(mailbox: &Mailbox) {
    let error = SqlError::new(b"57P02", "the engine ended before it told the end of the call");
    // An answer that is there already stays: the call had ended.
    let _ = mailbox.reply.complete(Reply::refused(error));
}
