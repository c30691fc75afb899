//! Interrupting a session's statements from other threads, and seeing them.
//!
//! Role         a [`Canceller`] is the handle for one session; [`Cancellers`] finds it by the
//!              session's number, and lists all that have one
//! Invariants   I1 a session is listed as long as it lives, and no longer

use std::collections::HashMap;
use std::sync::Arc;

use hotrow_base::interrupt::Interrupt;
use hotrow_base::sync::Latch;

use crate::activity::SessionActivity;
use crate::role_in_force::RoleInForce;

/// Interrupts the statements of one session, from any thread. What is interrupted fails with 57014
/// and is undone; its session goes on.
///
/// Interrupted are loops, scans, queries and functions of long texts, of statements and of calls
/// that a thread of the engine has taken, and waits for locks and for such a thread.
///
/// ```
/// let db = hotrow::Database::open_in_memory(hotrow::Config::default().threads(1))?;
/// let session = db.session();
/// let canceller = session.canceller();
/// assert!(!canceller.cancel(), "no statement runs");
/// session.execute("SET statement_timeout = '10ms'")?;
/// let error = session.execute("SELECT pg_sleep(60)").unwrap_err();
/// assert_eq!(error.sqlstate(), Some("57014"));
/// # Ok::<(), hotrow::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Canceller {
    interrupt: Arc<Interrupt>,
}

impl Canceller {
    pub(crate) fn new(interrupt: &Arc<Interrupt>) -> Self {
        Self { interrupt: Arc::clone(interrupt) }
    }

    /// Interrupts the statement that runs; false, and nothing happens, when there is none.
    pub fn cancel(&self) -> bool {
        self.interrupt.cancel()
    }
}

/// Ends a session's connection.
pub(crate) type Terminator = Arc<dyn Fn() + Send + Sync>;

/// A session.
#[derive(Clone)]
pub(crate) struct Known {
    canceller: Canceller,
    /// that it began with
    pub(crate) role: RoleInForce,
    pub(crate) activity: Arc<SessionActivity>,
    /// what ends it
    terminate: Option<Terminator>,
}

impl Known {
    /// A session that is to be listed.
    pub(crate) fn new(
        canceller: Canceller,
        role: RoleInForce,
        activity: Arc<SessionActivity>,
    ) -> Self {
        Self { canceller, role, activity, terminate: None }
    }

    /// Whether a statement of it runs.
    pub(crate) fn is_running(&self) -> bool {
        self.canceller.interrupt.is_running()
    }

    /// Whether its statement waits for a lock just now.
    pub(crate) fn is_waiting(&self) -> bool {
        self.canceller.interrupt.is_waiting_for_lock()
    }
}

type ByNumber = Arc<Latch<HashMap<i32, Known>>>;

/// The cancellers of sessions that have numbers.
#[derive(Default)]
pub(crate) struct Cancellers {
    by_number: ByNumber,
}

impl Cancellers {
    /// Lists a session until what this returns is dropped.
    pub(crate) fn list(&self, number: i32, session: Known) -> Listed {
        self.by_number.lock().insert(number, session);
        Listed { all: Arc::clone(&self.by_number), number }
    }

    /// Interrupts the statement of a session; false when there is no such session.
    pub(crate) fn cancel(&self, number: i32) -> bool {
        let found = self.by_number.lock().get(&number).cloned();
        found.map(|session| session.canceller.cancel()).is_some()
    }

    /// The role that a session began with; none: there is no such session.
    pub(crate) fn role_of(&self, number: i32) -> Option<RoleInForce> {
        self.by_number.lock().get(&number).map(|session| session.role.clone())
    }

    /// How many sessions began with a role.
    pub(crate) fn count_of(&self, role: &str) -> usize {
        let all = self.by_number.lock();
        all.values().filter(|session| session.role.as_deref() == Some(role)).count()
    }

    /// Whether the statement of a session waits for a lock just now; false without such a session.
    pub(crate) fn is_waiting(&self, number: i32) -> bool {
        let found = self.by_number.lock().get(&number).cloned();
        found.is_some_and(|session| session.is_waiting())
    }

    /// All sessions that have numbers, by these.
    pub(crate) fn all(&self) -> Vec<(i32, Known)> {
        let all = self.by_number.lock();
        let mut all: Vec<_> = all.iter().map(|(number, known)| (*number, known.clone())).collect();
        all.sort_unstable_by_key(|(number, _)| *number);
        all
    }

    /// Ends a session with its statement; false when there is none that can be ended.
    pub(crate) fn terminate(&self, number: i32) -> bool {
        let found = self.by_number.lock().get(&number).cloned();
        let Some(Known { canceller, terminate: Some(terminate), .. }) = found else { return false };
        terminate();
        canceller.interrupt.terminate();
        true
    }
}

/// A session is listed (I1).
pub(crate) struct Listed {
    all: ByNumber,
    number: i32,
}

impl Listed {
    /// Says how the session is ended.
    pub(crate) fn on_terminate(&self, terminate: Terminator) {
        if let Some(session) = self.all.lock().get_mut(&self.number) {
            session.terminate = Some(terminate);
        }
    }
}

impl Drop for Listed {
    fn drop(&mut self) {
        self.all.lock().remove(&self.number);
    }
}
