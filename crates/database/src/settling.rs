//! What was answered is true: no answer leaves before all that it tells is durable.
//!
//! Role         every answer of a database passes here, with the epoch in which what it has done
//!              and seen is durable, and waits until the log's horizon has reached it; or, where
//!              its session [holds answers back](crate::held_back), is given on with the epoch, for
//!              whoever has the session to wait. Without a log nothing waits
//! Invariants   I1 an answer waits for the epoch of its kind, see below, and for the floor of the
//!              journal: what ran at quiet points, definitions above all, which every statement has
//!              seen by being compiled
//!              I2 where the horizon will never get there, the log has failed: the answer is
//!              replaced by 08007 if something was to be changed, and by 58030 if not
//!              I3 a session's answers leave in their order
//!
//! Locks go before their owner's entry is durable, so everybody may meet what a failure would take
//! back. Which epoch covers what an answer saw:
//!
//! | answer | epoch | why that covers what it saw |
//! |---|---|---|
//! | calls, and errors of calls | the greatest of the tags on what it locked, read or found missing | whoever let go of a lock left its position in a tag (`hotrow_log::position`); engines tell it as `Call::durable_in` |
//! | COMMIT, and statements outside transactions | the same of all their statements | as above |
//! | rows, errors, notices, "no row" inside a transaction | the tags that the transaction has met up to then ([`InteractiveTransaction::seen`]) | as above; locks stay meanwhile |
//! | how many rows a statement inside a transaction has changed | none, before COMMIT | it tells of the transaction's own changes, which a failure takes back with the transaction, and its client knows that COMMIT has not been answered |
//! | reads that hold nothing (SKIP LOCKED looks for rows so) | the latest that any commit had entered when they had read ([`Journal::entered`]) | they meet no tags, and a commit has entered its epoch before anything of it can be seen |
//! | what runs at a quiet point: definitions, whether they succeed or not, statements alone, EXPLAIN of a call, scans | the greatest position there is | nothing runs beside it |
//! | reports | that of the quiet point at which their image began | the image is of that moment |
//! | the system catalog, prepared statements, errors of compiling | the floor | the schema changes at quiet points, and is looked at when the quiet point is over ([`SharedSchema::wait_for_change`]) |
//! | numbers of sequences | none | their block was durable before the first of them was given (`numbers`) |
//! | outcomes of keyed calls that are asked for again | that of the call | it is kept with the outcome |
//!
//! Tags mean something as long as locks do. Whatever changes what is locked, or whose a row is (a
//! table's first whole read, another procedure, other partitions), is a change of the schema at a
//! quiet point, and each of those raises the floor to the greatest position there is
//! ([`Quiet::replace`]). So a tag that nobody left, because nobody had to lock then, is of
//! something that the floor covers.
//!
//! What is not covered: figures of the running process (`hotrow.engine_status` and its kin,
//! metrics), which tell nothing of rows; and [`Database::scan`](crate::Database::scan), whose rows
//! count when it has returned.
//!
//! [`InteractiveTransaction::seen`]: hotrow_engine::interactive::InteractiveTransaction::seen
//! [`Journal::entered`]: hotrow_engine::journal::Journal::entered
//! [`SharedSchema::wait_for_change`]: hotrow_engine::schema::SharedSchema::wait_for_change
//! [`Quiet::replace`]: hotrow_engine::schema::Quiet::replace

use hotrow_base::clock::Ticks;
use hotrow_log::error::LogFailure;

use crate::books::SessionBooks;
use crate::context::Context;
use crate::core::Core;
use crate::error::{Error, lost};
use crate::notifications::is_notice;
use crate::reply::Reply;
use crate::rows::Rows;

impl Context {
    /// Tells what `reply` says when it is durable.
    pub(crate) fn settle(&self, mut reply: Reply) -> Result<Rows, Error> {
        let core = &self.core;
        match &mut reply.answer {
            Ok(rows) => self.note_notifications(rows.notices_mut()),
            // What it has said is taken back with what it has done.
            Err(error) => error.notices.retain(is_notice),
        }
        if self.held_back.holds()
            && let Some(log) = core.journal.log()
        {
            let epoch = core.told_in(reply.durable_in);
            if log.horizon() < epoch {
                self.held_back.add(epoch, &reply);
                return core.answer(reply);
            }
        }
        core.settle(reply, &self.books)
    }

    /// Tells something that was found in the schema alone, or an error.
    pub(crate) fn settle_found<T>(&self, found: Result<T, Error>) -> Result<T, Error> {
        match found {
            // What the log's own errors tell is true in any case.
            Err(error) if matches!(error.sqlstate(), None | Some("08007" | "58030")) => Err(error),
            found => self.settle(Reply::seen(Ok(Rows::default()), 0)).and(found),
        }
    }
}

impl Core {
    /// As [`Context::settle`], waiting in any case.
    pub(crate) fn settle(&self, reply: Reply, books: &SessionBooks) -> Result<Rows, Error> {
        let waited = self.wait_until_durable(reply.durable_in);
        if let Some((spent, queued, woken)) = reply.spent {
            let has_failed = waited.is_err() || reply.answer.is_err();
            books.note_call(spent, (queued, woken, Ticks::now()), has_failed);
        }
        if let Err(failure) = waited {
            return Err(lost(&failure, reply.changes).into());
        }
        self.answer(reply)
    }

    fn answer(&self, reply: Reply) -> Result<Rows, Error> {
        let durability = self.durability();
        let answer = reply.answer.map(|rows| rows.with_durability(durability));
        answer.map_err(Error::from)
    }

    /// Waits until what was seen is durable in `epoch`; for whoever has a quiet point.
    pub(crate) fn wait_for_seen(&self, epoch: u64) -> Result<(), Error> {
        let Some(log) = self.journal.log() else { return Ok(()) };
        log.wait_for(epoch).map_err(|failure| lost(&failure, false).into())
    }

    /// The epoch in which all is durable that may be told by whoever has seen what is durable in
    /// `epoch` (I1).
    fn told_in(&self, epoch: u64) -> u64 {
        self.schema.wait_for_change();
        epoch.max(self.journal.floor().epoch)
    }

    fn wait_until_durable(&self, epoch: u64) -> Result<(), LogFailure> {
        let Some(log) = self.journal.log() else { return Ok(()) };
        log.wait_for(self.told_in(epoch))
    }

    /// Waits until what was seen is durable in `epoch`; for what is no session's.
    pub(crate) fn settle_seen(&self, epoch: u64) -> Result<(), Error> {
        self.wait_until_durable(epoch).map_err(|failure| lost(&failure, false).into())
    }

    /// Waits until the definitions are durable that are in force; if the log has failed, they may
    /// never be, and are described all the same.
    pub(crate) fn wait_for_definitions(&self) {
        let _ = self.wait_until_durable(0);
    }
}
