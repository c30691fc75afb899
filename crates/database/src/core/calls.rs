//! Calls: into the queue, or alone.

use hotrow_base::sync::facade::atomic::Ordering;
use std::sync::Arc;
use std::time::Duration;

use hotrow_base::clock::{self, Ticks};
use hotrow_base::interrupt::Interrupt;
use hotrow_engine::schema::{Purpose, QUIET_WORKER};
use hotrow_transaction::outcome::SqlError;

use super::Core;
use crate::admission::Places;
use crate::client::{Mailbox, Patience, Refused};
use crate::error::{Error, advised};
use crate::lookup::unknown_procedure;
use crate::once::Claim;
use crate::reply::Reply;

/// What to do about overload.
const AGAIN: &str = "Nothing of it was done: repeat it later, with growing pauses.";

impl Core {
    /// Runs the call in `mailbox`, waiting for room in the queue. Its reply is to be
    /// [settled](crate::settling).
    pub(crate) fn call(
        &self,
        mailbox: &Arc<Mailbox>,
        interrupt: Option<&Arc<Interrupt>>,
        deadline: Option<Duration>,
    ) -> Result<Reply, Error> {
        mailbox.serve(interrupt);
        match &self.clients {
            None => self.call_alone(mailbox, interrupt),
            Some(clients) => {
                let patience = Patience { interrupt, deadline };
                self.queued(mailbox, || clients.call(mailbox, patience))
            }
        }
    }

    /// Has a call queued and waits for its end, unless too many wait for a key that it writes.
    fn queued(
        &self,
        mailbox: &Mailbox,
        call: impl FnOnce() -> Result<Reply, Refused>,
    ) -> Result<Reply, Error> {
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

    /// As [`Core::call`]; 53300 when the queue is full.
    pub(crate) fn try_call(
        &self,
        mailbox: &Arc<Mailbox>,
        interrupt: Option<&Arc<Interrupt>>,
    ) -> Result<Reply, Error> {
        mailbox.serve(interrupt);
        match &self.clients {
            None => self.call_alone(mailbox, interrupt),
            Some(clients) => self.queued(mailbox, || clients.try_call(mailbox, interrupt)),
        }
    }

    /// A call's end, and when it was queued and heard of.
    fn ended(
        &self,
        mailbox: &Mailbox,
        queued: Ticks,
        end: Result<Reply, Refused>,
    ) -> Result<Reply, Error> {
        if end.is_err() {
            mailbox.books.refused.increment();
        }
        match end {
            Ok(mut reply) => {
                if let Some((_, at, woken)) = &mut reply.spent {
                    (*at, *woken) = (queued, Ticks::now());
                }
                Ok(reply)
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
    ) -> Result<Reply, Error> {
        self.refuse_unlogged()?;
        let quiet = self.quiet_unless(Purpose::ALONE, interrupt)?;
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
            return Ok(reply);
        }
        let call = mailbox.call.load(Ordering::Relaxed); // this thread's own
        Ok(self.ends(QUIET_WORKER).tell(&invocation.key, call, invocation.now_us, reply))
    }

    /// As [`Core::call`], unless one with this key has run: then its outcome.
    pub(crate) fn call_once(
        &self,
        mailbox: &Arc<Mailbox>,
        (key, call): (&[u8], u32),
        interrupt: &Arc<Interrupt>,
    ) -> Result<Reply, Error> {
        mailbox.call.store(call, Ordering::Relaxed); // ordered by the queue
        loop {
            match self.outcomes.claim(key, call, clock::now_us())? {
                Claim::Ended(reply) => return Ok(reply),
                Claim::Running => self.outcomes.wait(key, interrupt).map_err(SqlError::from)?,
                Claim::Run => {
                    let ended = self.call(mailbox, Some(interrupt), None);
                    // If it was not run at all, nobody has told the key's end.
                    self.outcomes.release(key);
                    return ended;
                }
            }
        }
    }
}
