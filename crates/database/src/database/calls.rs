//! Calls: into the queue, or alone; and what is told of their ends.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use hotrow_base::clock::{self, Ticks};
use hotrow_base::interrupt::Interrupt;
use hotrow_engine::schema::{Purpose, QUIET_WORKER};
use hotrow_log::error::LogFailure;
use hotrow_transaction::outcome::SqlError;

use super::Inner;
use crate::admission::Places;
use crate::client::{Mailbox, Patience, Refused, Reply};
use crate::definition::unknown_procedure;
use crate::error::{Error, advised};
use crate::once::Claim;
use crate::rows::Rows;

/// What to do about overload.
const AGAIN: &str = "Nothing of it was done: repeat it later, with growing pauses.";

impl Inner {
    /// Runs the call in `mailbox`, waiting for room in the queue.
    pub(crate) fn call(
        &self,
        mailbox: &Arc<Mailbox>,
        interrupt: Option<&Arc<Interrupt>>,
        deadline: Option<Duration>,
    ) -> Result<Rows, Error> {
        match &self.clients {
            None => self.call_alone(mailbox, interrupt),
            Some(clients) => {
                let patience = Patience { interrupt: interrupt.map(|arc| &**arc), deadline };
                self.queued(mailbox, || clients.call(mailbox, patience))
            }
        }
    }

    /// Has a call queued and tells its end, unless too many wait for a key that it writes.
    fn queued(
        &self,
        mailbox: &Mailbox,
        call: impl FnOnce() -> Result<Reply, Refused>,
    ) -> Result<Rows, Error> {
        let queued = Ticks::now();
        let _places = self.admit(mailbox)?;
        self.ended(mailbox, queued, call())
    }

    /// Takes places for a call at the keys that it writes, where they are counted.
    fn admit(&self, mailbox: &Mailbox) -> Result<Option<Places<'_>>, Error> {
        let Some(admission) = &self.admission else { return Ok(None) };
        let schema = self.schema.current();
        // Whoever takes the call wants the latch.
        let invocation = mailbox.invocation.lock();
        let Some(compiled) = schema.procedure(invocation.procedure) else {
            return Ok(None); // it is told so in the queue
        };
        let budget = self.config.step_budget;
        let places = admission.enter(&mailbox.planner, compiled, &invocation, budget);
        if places.is_none() {
            mailbox.books.refused.increment();
            let most = self.config.calls_per_key_max.unwrap_or_default();
            let message = format!("too many calls for one key: {most} wait for it already");
            return Err(advised(b"53300", message, AGAIN).into());
        }
        Ok(places)
    }

    /// Runs the call in `mailbox`; 53300 when the queue is full.
    pub(crate) fn try_call(&self, mailbox: &Arc<Mailbox>) -> Result<Rows, Error> {
        match &self.clients {
            None => self.call_alone(mailbox, None),
            Some(clients) => self.queued(mailbox, || clients.try_call(mailbox)),
        }
    }

    /// Waits until a call's end is durable, tells it, and notes where its time went.
    fn ended(
        &self,
        mailbox: &Mailbox,
        queued: Ticks,
        end: Result<Reply, Refused>,
    ) -> Result<Rows, Error> {
        if end.is_err() {
            mailbox.books.refused.increment();
        }
        match end {
            Ok(reply) => {
                let (woken, spent) = (Ticks::now(), reply.spent);
                let answer = self.settle(reply);
                if let Some(spent) = spent {
                    let at = (queued, woken, Ticks::now());
                    mailbox.books.note_call(spent, at, answer.is_err());
                }
                answer
            }
            Err(Refused::Closed) => Err(Error::Closed),
            Err(Refused::Late) => {
                let message = "too many calls: no thread could take this one by its deadline";
                Err(advised(b"53300", message.to_owned(), AGAIN).into())
            }
            Err(Refused::Interrupted(why)) => Err(SqlError::from(why).into()),
            Err(Refused::Full) => {
                let capacity = self.clients.as_ref().map_or(0, |clients| clients.capacity());
                let message = format!("too many calls: all {capacity} places are taken");
                Err(advised(b"53300", message, "Try again, or let the call wait.").into())
            }
        }
    }

    fn call_alone(
        &self,
        mailbox: &Mailbox,
        interrupt: Option<&Arc<Interrupt>>,
    ) -> Result<Rows, Error> {
        self.refuse_unlogged()?;
        let reply = {
            let quiet = self.quiet(Purpose::ALONE)?;
            let schema = quiet.schema();
            let invocation = mailbox.invocation.lock();
            let procedure = schema.procedure(invocation.procedure);
            let procedure = procedure.ok_or_else(unknown_procedure)?;
            let mut alone = self.alone.lock();
            alone.heed(interrupt);
            let reply = alone.call(&schema, procedure, &invocation);
            alone.heed(None);
            drop(alone);
            if invocation.key.is_empty() {
                reply
            } else {
                let call = mailbox.call.load(Ordering::Relaxed); // this thread's own
                self.ends(QUIET_WORKER).tell(&invocation.key, call, invocation.now_us, reply)
            }
        };
        self.settle(reply)
    }

    /// Runs the call in `mailbox`, unless one with this key has run: then tells its outcome.
    pub(crate) fn call_once(
        &self,
        mailbox: &Arc<Mailbox>,
        key: &[u8],
        call: u32,
    ) -> Result<Rows, Error> {
        mailbox.call.store(call, Ordering::Relaxed); // ordered by the queue
        loop {
            match self.outcomes.claim(key, call, clock::now_us())? {
                Claim::Ended(reply) => return self.settle(reply),
                Claim::Running => self.outcomes.wait(key),
                Claim::Run => {
                    let ended = self.call(mailbox, None, None);
                    // If it was not run at all, nobody has told the key's end.
                    self.outcomes.release(key);
                    return ended;
                }
            }
        }
    }

    /// Waits until what `reply` tells is durable, and tells it.
    pub(crate) fn settle(&self, reply: Reply) -> Result<Rows, Error> {
        if let Some(log) = self.journal.log()
            && let Err(failure) = log.wait_for(reply.durable_in)
        {
            return Err(unknown_outcome(&failure).into());
        }
        let durability = self.durability();
        let answer = reply.answer.map(|rows| rows.with_durability(durability));
        answer.map_err(Error::from)
    }
}

/// 08007: the call may have taken effect or not; after a restart it is seen which.
fn unknown_outcome(failure: &LogFailure) -> SqlError {
    let mut error = advised(
        b"08007",
        "whether the call will outlast a restart is unknown".to_owned(),
        "Restart the database, then look whether the call took effect before repeating it.",
    );
    error.detail = Some(failure.to_string());
    error
}
