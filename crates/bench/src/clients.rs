//! Clients: threads with sessions of their own, each of which calls, waits for the end, and calls
//! again.
//!
//! Role         stands in for an application's threads where the driver is asked for clients; calls
//!              come from the same generators as inside an engine's threads
//! Concurrency  a client shares nothing with its siblings but the phase and what sessions share

use std::sync::Arc;

use hotrow::{Error, Invocation, Session};
use hotrow_base::clock::Ticks;
use hotrow_workloads::{Generator, KindInfo};

use crate::books::{OnItsWay, SourceBooks};
use crate::phase::{Phase, PhaseFlag};
use crate::source::CallTime;

/// One client.
pub(crate) struct Client {
    pub(crate) session: Session,
    pub(crate) generator: Box<dyn Generator>,
    pub(crate) kinds: Vec<KindInfo>,
    pub(crate) phase: Arc<PhaseFlag>,
    /// calls to make in all
    pub(crate) calls: u64,
    pub(crate) time: CallTime,
}

impl Client {
    /// Calls until the run ends, or so many times; gives its books.
    pub(crate) fn run(mut self) -> SourceBooks {
        let mut books = SourceBooks::new(&self.kinds);
        let mut invocation = Invocation::default();
        while self.calls > 0 && self.phase.get() != Phase::Ended {
            self.calls -= 1;
            let since = Ticks::now();
            let kind = self.generator.next(&mut invocation);
            invocation.now_us = self.time.next(since);
            books.span.get_or_insert((since, since));
            let end = self.session.replay(&invocation);
            let (now, measured) = (Ticks::now(), self.phase.get().step().is_some());
            let committed = end.is_ok();
            if let Err(error) = end {
                match error {
                    Error::Sql(error) => books.note_abort(kind, &error),
                    // Nobody knows how this call ended, and none after it would end better.
                    other => {
                        books.failures += 1;
                        books.first_failure.get_or_insert_with(|| other.to_string());
                        break;
                    }
                }
            }
            let tally = self.generator.tally();
            books.settle(OnItsWay { kind, tally, since }, committed, now, measured);
        }
        books
    }
}
