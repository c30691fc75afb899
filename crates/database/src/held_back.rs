//! Answers that a session gives before they are durable, for whoever waits later.
//!
//! Role         a server's connection goes on with the next message while earlier answers wait
//!              for the log; a script waits once for all its statements; `Session::submit` gives
//!              a ticket. [`crate::settling`] says what answers wait for
//! States       of a session: waits for each answer -> holds back: each answer adds to what is
//!              [owed](Owed), which whoever tells answers takes and waits for
//! Concurrency  one session's thread, and who holds its [`Horizon`]: the latch is never waited for
//!              long

use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use hotrow_base::clock::Ticks;
use hotrow_base::sync::Latch;
use hotrow_log::error::LogFailure;
use hotrow_log::log::Log;

use crate::books::{SessionBooks, Spent};
use crate::core::Core;
use crate::error::{Error, lost};
use crate::reply::Reply;

/// What answers wait for that were given before they are durable.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Owed {
    /// the log's epoch; 0: nothing
    pub(crate) epoch: u64,
    /// something may have been changed
    pub(crate) changes: bool,
}

impl Owed {
    /// What two answers wait for.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self { epoch: self.epoch.max(other.epoch), changes: self.changes | other.changes }
    }

    /// Whether whoever has waited for this has waited for the other, too.
    pub fn covers(self, other: Self) -> bool {
        self.and(other) == self
    }
}

/// What a session's answers wait for.
#[derive(Default)]
pub(crate) struct HeldBack(pub(crate) Latch<Waiting>);

/// The same, and what is known of it.
#[derive(Default)]
pub(crate) struct Waiting {
    pub(crate) holds: bool,
    /// by answers since it was taken
    pub(crate) owed: Owed,
    /// calls whose time goes on
    calls: VecDeque<HeldCall>,
    /// by tickets, oldest first
    pub(crate) submitted: VecDeque<Owed>,
}

/// A call that has ended and is not durable.
struct HeldCall {
    epoch: u64,
    /// and when it was queued, and its session heard of its end
    spent: (Spent, Ticks, Ticks),
    has_failed: bool,
}

impl HeldBack {
    pub(crate) fn holds(&self) -> bool {
        self.0.lock().holds
    }

    /// Holds back, or waits for each answer from now on; how it was before.
    pub(crate) fn hold(&self, holds: bool) -> bool {
        std::mem::replace(&mut self.0.lock().holds, holds)
    }

    /// Notes an answer that is given on now, and is durable in `epoch`.
    pub(crate) fn add(&self, epoch: u64, reply: &Reply) {
        let mut waiting = self.0.lock();
        waiting.owed = waiting.owed.and(Owed { epoch, changes: reply.changes });
        if let Some(spent) = reply.spent {
            waiting.calls.push_back(HeldCall { epoch, spent, has_failed: reply.answer.is_err() });
        }
    }

    /// Notes the calls that are durable, or lost, by now.
    fn note_calls(&self, books: &SessionBooks, log: &Log) {
        let (failed, horizon) = (log.failure().is_some(), log.horizon());
        let mut waiting = self.0.lock();
        while let Some(call) = waiting.calls.pop_front_if(|call| call.epoch <= horizon || failed) {
            let HeldCall { epoch, spent: (spent, queued, woken), has_failed } = call;
            let is_lost = epoch > horizon;
            books.note_call(spent, (queued, woken, Ticks::now()), has_failed || is_lost);
        }
    }
}

/// The log's horizon, as answers of one session wait for it.
pub struct Horizon {
    pub(crate) core: Arc<Core>,
    pub(crate) held_back: Arc<HeldBack>,
    pub(crate) books: Arc<SessionBooks>,
}

impl Horizon {
    /// What answers wait for that were given since this was asked last.
    pub fn take_owed(&self) -> Owed {
        if let Some(log) = self.core.journal.log() {
            self.held_back.note_calls(&self.books, log);
        }
        std::mem::take(&mut self.held_back.0.lock().owed)
    }

    /// Whether answers that wait for this may be told.
    pub fn has_reached(&self, owed: Owed) -> bool {
        self.core.journal.log().is_none_or(|log| log.horizon() >= owed.epoch)
    }

    /// Waits until answers that wait for this may be told; none when it takes longer than
    /// `at_most`.
    ///
    /// # Errors
    ///
    /// In their place is to be told: 08007 if something may have been changed, 58030 if not.
    pub fn wait_for(&self, owed: Owed, at_most: Option<Duration>) -> Option<Result<(), Error>> {
        let Some(log) = self.core.journal.log() else { return Some(Ok(())) };
        let waited = match at_most {
            Some(span) => log.wait_for_until(owed.epoch, Ticks::from_now(span))?,
            None => log.wait_for(owed.epoch),
        };
        Some(self.has_waited(log, owed, waited))
    }

    /// As [`Horizon::wait_for`], of a client that has sent much at once: the log may wait for what
    /// others add.
    ///
    /// # Errors
    ///
    /// As [`Horizon::wait_for`].
    pub fn wait_patiently(&self, owed: Owed, at_most: Duration) -> Option<Result<(), Error>> {
        let Some(log) = self.core.journal.log() else { return Some(Ok(())) };
        let waited = log.wait_patiently(owed.epoch, Ticks::from_now(at_most))?;
        Some(self.has_waited(log, owed, waited))
    }

    fn has_waited(
        &self,
        log: &Log,
        owed: Owed,
        waited: Result<(), LogFailure>,
    ) -> Result<(), Error> {
        self.held_back.note_calls(&self.books, log);
        waited.map_err(|failure| lost(&failure, owed.changes).into())
    }

    /// Waits until answers that wait for this may be told.
    pub(crate) fn wait(&self, owed: Owed) -> Result<(), Error> {
        self.wait_for(owed, None).unwrap_or(Ok(()))
    }
}

impl fmt::Debug for Horizon {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Horizon").finish_non_exhaustive()
    }
}
