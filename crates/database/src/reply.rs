//! How a call or a statement ended, until its end may be told.

use hotrow_base::clock::Ticks;
use hotrow_transaction::outcome::SqlError;

use crate::books::Spent;
use crate::rows::Rows;

/// How a call ended. To be told to the caller when `durable_in` is.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) answer: Result<Rows, Box<SqlError>>,
    /// the log's epoch in which the call and all it saw are durable
    pub(crate) durable_in: u64,
    /// whether something may have been changed
    pub(crate) changes: bool,
    /// where its time went, if a thread of the engine ran it; when it was queued, and when its
    /// session heard of its end
    pub(crate) spent: Option<(Spent, Ticks, Ticks)>,
}

impl Reply {
    pub(crate) fn new(answer: Result<Rows, Box<SqlError>>, durable_in: u64) -> Self {
        Self { answer, durable_in, changes: true, spent: None }
    }

    /// Of what has only looked.
    pub(crate) fn seen(answer: Result<Rows, Box<SqlError>>, durable_in: u64) -> Self {
        Self { changes: false, ..Self::new(answer, durable_in) }
    }

    /// The end of what has done and seen nothing.
    pub(crate) fn refused(error: SqlError) -> Self {
        Self::seen(Err(Box::new(error)), 0)
    }
}
