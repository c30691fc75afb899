//! Where calls come from and where their ends are told: the seam between engines and their users.
//!
//! Role         implemented by client queues (`database`) and by worker-local generators
//!              (`bench`); pulled by worker threads, so that nobody pushes into an engine faster
//!              than it works. [`OnCallers`] is the other way: a caller lends its own thread

use std::fmt;
use std::sync::Arc;

use hotrow_transaction::bytecode::Program;
use hotrow_transaction::frame::Frame;
use hotrow_transaction::invocation::Invocation;
use hotrow_transaction::outcome::SqlError;

use crate::statistics::CallTime;

/// A source's own name for a call it handed out.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Ticket(pub u64);

/// The answer to a fetch.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fetch {
    /// a call is there
    Ready(Ticket),
    /// none now
    Empty,
    /// none ever again
    Closed,
}

/// How a call ended.
#[derive(Debug)]
pub enum End<'a> {
    /// it committed; its result rows lie in the frame
    Committed {
        /// holds the result
        frame: &'a mut Frame,
        /// tells the result's columns
        program: &'a Program,
        /// the engine undid and repeated it this many times before
        attempts: u32,
        /// the epoch in which it and all it saw are durable
        durable_in: u64,
        /// where its time went
        time: CallTime,
    },
    /// it failed or aborted itself; nothing of it remains
    Aborted {
        /// why
        error: Box<SqlError>,
        /// the epoch in which all it saw is durable
        durable_in: u64,
        /// where its time went
        time: CallTime,
    },
}

/// A source of calls for one thread.
pub trait CallSource: Send {
    /// Fetches the next call into `invocation`, whose buffers are reused.
    fn fetch(&mut self, invocation: &mut Invocation) -> Fetch;

    /// Whether what this source may fetch, others of the engine may as well, so that nothing is
    /// left lying if one of them is asked for all.
    fn shares_calls(&self) -> bool {
        false
    }

    /// Waits until there may be something to fetch, for a bounded time (at most 10 ms): spins
    /// briefly, then parks.
    fn wait(&mut self);

    /// Tells the end of a call. It may be told to others only when the log's horizon has reached
    /// `durable_in` (which is 0 where there is no log); the source sees to that, so that the
    /// worker can go on.
    fn finish(&mut self, ticket: Ticket, end: End<'_>);

    /// A fetched call waits for somebody's open transaction, outside of everything, and its caller
    /// may give it up until it is resumed.
    fn park(&mut self, _ticket: Ticket) {}

    /// Goes on with a parked call; false, and it is never finished, if its caller has given it up.
    fn resume(&mut self, _ticket: Ticket) -> bool {
        true
    }

    /// Whether parked calls were given up that were not forgotten yet, here or at another source.
    fn has_given_up(&self) -> bool {
        false
    }

    /// Forgets a parked call if its caller has given it up; whether that is so.
    fn forget_given_up(&mut self, _ticket: Ticket) -> bool {
        false
    }

    /// What ends a [`CallSource::wait`] before its time; none where nobody could.
    fn bell(&self) -> Option<Arc<dyn Bell>> {
        None
    }
}

/// Runs calls on the threads of their callers.
pub trait OnCallers: Send + Sync {
    /// Runs a call to its end, which is told before this returns; false, and nothing was done, if
    /// it cannot run here just now. `first`: the place to look at first, any number: a caller that
    /// always says the same has its memory near.
    fn try_run(
        &self,
        first: usize,
        invocation: &mut Invocation,
        end: &mut (dyn FnMut(End<'_>) + Send),
    ) -> bool;

    /// Looks after the places of one of the engine's threads that nobody is in: a place is left
    /// with memory to be given back, and with a schema that may be no more.
    fn look_after(&self, thread: usize, threads: usize);

    /// Ends all places; calls that run in them have ended.
    fn end(&self);
}

/// Calls one thread away from waiting for calls: something else that it waits for may be there.
pub trait Bell: fmt::Debug + Send + Sync {
    /// Ends its [`CallSource::wait`], or the next one if it does not wait.
    fn ring(&self);
}
