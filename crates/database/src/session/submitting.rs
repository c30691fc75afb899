//! Answers that are given before they are durable, as a session's callers ask for them.
//!
//! Role         [`Session::hold_back`] for servers, [`Session::submit`] for who keeps many calls on
//!              their way to the disk; [`crate::held_back`] has the rules

use std::pin::Pin;
use std::sync::Arc;
use std::task::{self, Poll};

use super::Session;
use crate::arguments::IntoArguments;
use crate::context::Context;
use crate::error::{Error, lost};
use crate::held_back::{Horizon, Owed};
use crate::rows::Rows;

/// Calls that were submitted and are not durable, before the next one waits.
const SUBMITTED_MAX: usize = 1024;

impl Session {
    /// From now on answers come before they are durable. Whoever has the session
    /// [takes](Horizon::take_owed) what they wait for, and tells nobody of them before it is
    /// [reached](Horizon::wait_for): for servers, whose clients send statements behind each other.
    pub fn hold_back(&self) -> Horizon {
        self.context.held_back.hold(true);
        self.horizon()
    }

    fn horizon(&self) -> Horizon {
        let Context { core, held_back, books, .. } = &self.context;
        let (core, held_back) = (Arc::clone(core), Arc::clone(held_back));
        Horizon { core, held_back, books: books.share() }
    }

    /// Does something of several statements, and waits once for all that they answer.
    pub(super) fn waiting_once<T>(
        &self,
        act: impl FnOnce() -> Result<T, Error>,
    ) -> Result<T, Error> {
        if self.context.held_back.hold(true) {
            return act(); // somebody else waits
        }
        let done = act();
        self.context.held_back.hold(false);
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
        let was_held = self.context.held_back.hold(true);
        let before = horizon.take_owed();
        let was_patient = self.set_patient(true);
        let answer = self.call(name, arguments);
        self.set_patient(was_patient);
        let owed = horizon.take_owed();
        let mut waiting = self.context.held_back.0.lock();
        (waiting.holds, waiting.owed) = (was_held, before);
        waiting.submitted.push_back(owed);
        drop(waiting);
        Pending { horizon, owed, answer: Some(answer) }
    }

    /// Waits for the oldest ticket while there are too many.
    fn wait_for_room(&self, horizon: &Horizon) {
        let oldest = {
            let mut waiting = self.context.held_back.0.lock();
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
    fn poll(
        mut self: Pin<&mut Self>,
        context: &mut task::Context<'_>,
    ) -> Poll<Result<Rows, Error>> {
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
