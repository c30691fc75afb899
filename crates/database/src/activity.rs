//! What others may see of a session: `pg_stat_activity`.
//!
//! Role         the session's thread says which statement it begins, and what it is in behind it;
//!              whoever asks reads it. That costs each statement some 150 instructions: times are
//!              readings of the processor's counter, and passwords are hidden by who reads
//! Concurrency  latched, for as long as some words and a text of at most [`TEXT_BYTES_MAX`] are
//!              copied
//! Bounds       a statement's text is cut, as PostgreSQL's `track_activity_query_size` cuts it

use hotrow_base::clock::{self, Ticks};
use hotrow_base::sync::Latch;

use crate::transaction::TransactionState;

/// Bytes that are shown of a statement.
const TEXT_BYTES_MAX: usize = 1023;

/// A session as others may see it.
pub(crate) struct SessionActivity {
    pub(crate) user: String,
    pub(crate) database: String,
    /// in microseconds since 2000-01-01 UTC
    pub(crate) began_us: i64,
    shown: Latch<Shown>,
}

/// What a session does, or did last.
#[derive(Clone)]
pub(crate) struct Shown {
    /// what the client calls itself
    pub(crate) application: String,
    /// the statement that runs, or the last one, as it was sent; empty: there was none yet
    pub(crate) statement: String,
    pub(crate) started: Option<Ticks>,
    /// when it began, or ended
    pub(crate) changed: Ticks,
    /// the transaction that it is in, behind the statement
    pub(crate) transaction: TransactionState,
    /// when that began
    pub(crate) transaction_began: Option<Ticks>,
}

impl SessionActivity {
    /// Of a session that begins now.
    pub(crate) fn new(user: &str, database: &str) -> Self {
        let shown = Latch::new(Shown {
            application: String::new(),
            statement: String::new(),
            started: None,
            changed: Ticks::now(),
            transaction: TransactionState::Idle,
            transaction_began: None,
        });
        let (user, database) = (user.to_owned(), database.to_owned());
        Self { user, database, began_us: clock::now_us(), shown }
    }

    /// A statement begins.
    pub(crate) fn begin(&self, text: &str) {
        let now = Ticks::now();
        let mut shown = self.shown.lock();
        shown.statement.clear();
        shown.statement.push_str(&text[..text.floor_char_boundary(TEXT_BYTES_MAX)]);
        (shown.started, shown.changed) = (Some(now), now);
        if shown.transaction == TransactionState::Idle {
            shown.transaction_began = Some(now);
        }
    }

    /// The client calls itself so from now on.
    pub(crate) fn set_application(&self, name: String) {
        self.shown.lock().application = name;
    }

    /// The statement has ended.
    pub(crate) fn end(&self, transaction: TransactionState) {
        let now = Ticks::now();
        let mut shown = self.shown.lock();
        (shown.transaction, shown.changed) = (transaction, now);
        if transaction == TransactionState::Idle {
            shown.transaction_began = None;
        }
    }

    /// A copy of what it shows now.
    pub(crate) fn shown(&self) -> Shown {
        self.shown.lock().clone()
    }
}
