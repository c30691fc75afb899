//! Clients: threads with sessions of their own, each of which calls, waits for the end, and calls
//! again.
//!
//! Role         stands in for an application's threads where the driver is asked for clients; calls
//!              come from the same generators as inside an engine's threads
//! Concurrency  a client shares nothing with its siblings but the phase and what sessions share

use std::sync::Arc;

use hotrow::{Error, Invocation, Session, SqlError};
use hotrow_base::clock::Ticks;
use hotrow_workloads::{Generator, KindInfo};

use crate::books::{OnItsWay, SourceBooks};
use crate::phase::{Phase, PhaseFlag};
use crate::source::CallTime;

/// One client.
pub(crate) struct Client {
    pub(crate) session: Session,
    pub(crate) calls: CallLoop,
    pub(crate) time: CallTime,
}

/// What a client does again and again, wherever its calls go.
pub(crate) struct CallLoop {
    pub(crate) generator: Box<dyn Generator>,
    pub(crate) kinds: Vec<KindInfo>,
    pub(crate) phase: Arc<PhaseFlag>,
    /// calls to make in all
    pub(crate) calls: u64,
}

/// Why a call did not commit.
pub(crate) enum Failed {
    /// it failed or aborted itself
    Call(Box<SqlError>),
    /// nobody knows how it ended, and none after it would end better
    Unknown(String),
}

impl CallLoop {
    /// Calls until the run ends, or so many times; gives the books. A call is told when it begins.
    pub(crate) fn run(
        mut self,
        mut call: impl FnMut(&mut Invocation, Ticks) -> Result<(), Failed>,
    ) -> SourceBooks {
        let mut books = SourceBooks::new(&self.kinds);
        let mut invocation = Invocation::default();
        while self.calls > 0 && self.phase.get() != Phase::Ended {
            self.calls -= 1;
            let since = Ticks::now();
            let kind = self.generator.next(&mut invocation);
            books.span.get_or_insert((since, since));
            let end = call(&mut invocation, since);
            let (now, measured) = (Ticks::now(), self.phase.get().step().is_some());
            let committed = end.is_ok();
            match end {
                Ok(()) => {}
                Err(Failed::Call(error)) => books.note_abort(kind, &error),
                Err(Failed::Unknown(why)) => {
                    books.failures += 1;
                    books.first_failure.get_or_insert(why);
                    break;
                }
            }
            let tally = self.generator.tally();
            books.settle(OnItsWay { kind, tally, since }, committed, now, measured);
        }
        books
    }
}

impl Client {
    /// Calls until the run ends, or so many times; gives its books.
    pub(crate) fn run(self) -> SourceBooks {
        let Self { session, calls, mut time } = self;
        calls.run(|invocation, since| {
            invocation.now_us = time.next(since);
            match session.replay(invocation) {
                Ok(_) => Ok(()),
                Err(Error::Sql(error)) => Err(Failed::Call(error)),
                Err(other) => Err(Failed::Unknown(other.to_string())),
            }
        })
    }
}
