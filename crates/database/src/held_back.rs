//! Answers that a session gives before they are durable, for whoever waits later.
//!
//! Role         a server's connection goes on with the next message while earlier answers wait
//!              for the log; a script waits once for all its statements; [`Session::submit`] gives
//!              a ticket. [`crate::settling`] says what answers wait for
//! States       of a session: waits for each answer -> holds back: each answer adds to what is
//!              [owed](Owed), which whoever tells answers takes and waits for
//! Concurrency  one session's thread, and who holds its [`Horizon`]: the latch is never waited for
//!              long

use std::collections::VecDeque;
use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use hotrow_base::clock::Ticks;
use hotrow_base::sync::Latch;
use hotrow_log::error::LogFailure;
use hotrow_log::log::Log;

use crate::arguments::IntoArguments;
use crate::books::{SessionBooks, Spent};
use crate::client::Reply;
use crate::core::Core;
use crate::error::Error;
use crate::rows::Rows;
use crate::session::Session;
use crate::settling::lost;

/// Calls that were submitted and are not durable, before the next one waits.
const SUBMITTED_MAX: usize = 1024;

/// What answers wait for that were given before they are durable.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Owed {
    /// the log's epoch; 0: nothing
    epoch: u64,
    /// something may have been changed
    changes: bool,
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
pub(crate) struct HeldBack(Latch<Waiting>);

#[derive(Default)]
struct Waiting {
    holds: bool,
    /// by answers since it was taken
    owed: Owed,
    /// calls whose time goes on
    calls: VecDeque<HeldCall>,
    /// by tickets, oldest first
    submitted: VecDeque<Owed>,
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
    fn hold(&self, holds: bool) -> bool {
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
    core: Arc<Core>,
    held_back: Arc<HeldBack>,
    books: Arc<SessionBooks>,
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

    fn wait(&self, owed: Owed) -> Result<(), Error> {
        self.wait_for(owed, None).unwrap_or(Ok(()))
    }
}

impl fmt::Debug for Horizon {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Horizon").finish_non_exhaustive()
    }
}

impl Session {
    /// From now on answers come before they are durable. Whoever has the session
    /// [takes](Horizon::take_owed) what they wait for, and tells nobody of them before it is
    /// [reached](Horizon::wait_for): for servers, whose clients send statements behind each other.
    pub fn hold_back(&self) -> Horizon {
        self.held_back().hold(true);
        self.horizon()
    }

    fn horizon(&self) -> Horizon {
        let (core, held_back) = (Arc::clone(self.shared()), Arc::clone(self.held_back()));
        Horizon { core, held_back, books: self.shared_books() }
    }

    /// Does something of several statements, and waits once for all that they answer.
    pub(crate) fn waiting_once<T>(
        &self,
        act: impl FnOnce() -> Result<T, Error>,
    ) -> Result<T, Error> {
        if self.held_back().hold(true) {
            return act(); // somebody else waits
        }
        let done = act();
        self.held_back().hold(false);
        let horizon = self.horizon();
        horizon.wait(horizon.take_owed()).and(done)
    }

    /// Calls a procedure, and returns when it has run, before it is durable: a later call, of this
    /// session or another one, sees what it has done. The [ticket](Pending) has its answer when it
    /// is durable. So one session keeps many calls on their way to the disk, which share its syncs.
    /// With 1024 that are not durable the next one waits for the oldest.
    ///
    /// ```
    /// # let directory = format!("hotrow-submit-{}", std::process::id());
    /// # let directory = std::env::temp_dir().join(directory);
    /// # let db = hotrow::Database::open(&directory, hotrow::Config::default().threads(1))?;
    /// let session = db.session();
    /// session.execute(
    ///     "CREATE TABLE counter (id bigint PRIMARY KEY, n bigint NOT NULL);
    ///      INSERT INTO counter VALUES (1, 0);
    ///      CREATE FUNCTION bump() RETURNS bigint AS $$
    ///      DECLARE result bigint;
    ///      BEGIN
    ///        UPDATE counter SET n = n + 1 WHERE id = 1 RETURNING n INTO result;
    ///        RETURN result;
    ///      END $$ LANGUAGE plpgsql;",
    /// )?;
    /// let tickets: Vec<_> = (0..100).map(|_| session.submit("bump", ())).collect();
    /// for (ticket, expected) in tickets.into_iter().zip(1_i64..) {
    ///     assert_eq!(ticket.wait()?.one::<i64>()?, expected);
    /// }
    /// # drop((session, db));
    /// # std::fs::remove_dir_all(directory).ok();
    /// # Ok::<(), hotrow::Error>(())
    /// ```
    ///
    /// Whatever the call fails with, the ticket tells.
    pub fn submit(&self, name: &str, arguments: impl IntoArguments) -> Pending {
        let horizon = self.horizon();
        self.wait_for_room(&horizon);
        let was_held = self.held_back().hold(true);
        let before = horizon.take_owed();
        let was_patient = self.set_patient(true);
        let answer = self.call(name, arguments);
        self.set_patient(was_patient);
        let owed = horizon.take_owed();
        let mut waiting = self.held_back().0.lock();
        (waiting.holds, waiting.owed) = (was_held, before);
        waiting.submitted.push_back(owed);
        drop(waiting);
        Pending { horizon, owed, answer: Some(answer) }
    }

    /// Waits for the oldest ticket while there are too many.
    fn wait_for_room(&self, horizon: &Horizon) {
        let oldest = {
            let mut waiting = self.held_back().0.lock();
            while waiting.submitted.pop_front_if(|owed| horizon.has_reached(*owed)).is_some() {}
            let is_full = waiting.submitted.len() >= SUBMITTED_MAX;
            is_full.then(|| waiting.submitted.front().copied()).flatten()
        };
        if let Some(owed) = oldest {
            let _ = horizon.wait(owed); // the ticket itself tells what has become of it
        }
    }
}

/// A ticket: the answer of a call that has run and need not be durable yet; see
/// [`Session::submit`]. Waited for by [`Pending::wait`], or as a future, by whatever runtime there
/// is: it is woken when the log is there. Dropped, the call is not undone.
#[must_use = "whether the call is durable is known by waiting"]
#[derive(Debug)]
pub struct Pending {
    horizon: Horizon,
    owed: Owed,
    /// until it was given
    answer: Option<Result<Rows, Error>>,
}

impl Pending {
    /// Waits until the call is durable, and all that it saw.
    ///
    /// # Errors
    ///
    /// As [`Session::call`].
    pub fn wait(mut self) -> Result<Rows, Error> {
        self.horizon.wait(self.owed)?;
        self.answer.take().expect("it is given once")
    }

    /// Whether [`Pending::wait`] would not wait.
    pub fn is_durable(&self) -> bool {
        self.horizon.has_reached(self.owed)
    }
}

impl Future for Pending {
    type Output = Result<Rows, Error>;

    /// # Panics
    ///
    /// If it is asked again after it was ready, as futures may.
    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<Rows, Error>> {
        if let Some(log) = self.horizon.core.journal.log() {
            match log.poll_for(self.owed.epoch, context.waker()) {
                Poll::Pending => return Poll::Pending,
                Poll::Ready(Err(failure)) => {
                    return Poll::Ready(Err(lost(&failure, self.owed.changes).into()));
                }
                Poll::Ready(Ok(())) => {}
            }
        }
        Poll::Ready(self.answer.take().expect("a future that is ready is not asked again"))
    }
}
