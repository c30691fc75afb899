//! Calls of procedures by a session's callers.

use std::sync::Arc;

use hotrow_base::panics;
use hotrow_transaction::invocation::Invocation;

use super::Session;
use crate::arguments::IntoArguments;
use crate::asker::KnownAsker;
use crate::client::Priority;
use crate::error::Error;
use crate::procedure::Procedure;
use crate::rows::Rows;

impl Session {
    /// Has the calls of this session, and of [procedures](Session::procedure) that it looks up from
    /// now on, wait in another place in the queue: while all threads are busy, calls of high
    /// priority are taken before others, and those of low priority after them. Some of the latter
    /// are taken in any case, so that nobody waits for ever. A call that a thread has taken is run
    /// as all others are, whatever its priority.
    pub fn set_priority(&self, priority: Priority) {
        self.calls.set_priority(priority);
    }

    /// Calls a procedure and waits for its end. Its name is as stored: in lower case, unless it was
    /// created in quotes.
    ///
    /// # Errors
    ///
    /// [`Error::Sql`]: 42883 for an unknown procedure or a wrong number of arguments, 42804 (or
    /// what the value's conversion says) for a wrong one, else whatever the procedure failed with;
    /// [`Error::Closed`].
    pub fn call(&self, name: &str, arguments: impl IntoArguments) -> Result<Rows, Error> {
        let _guard = panics::guard();
        let _running = self.context.interrupt.begin();
        let called = self.calls.call(&self.context, &mut self.transaction(), name, arguments);
        self.context.books.note_statement(called.is_ok());
        self.settle_notifications();
        called
    }

    /// As [`Session::call`], but fails with 53300 when the queue of waiting calls is full.
    ///
    /// # Errors
    ///
    /// As [`Session::call`], and 53300.
    pub fn try_call(&self, name: &str, arguments: impl IntoArguments) -> Result<Rows, Error> {
        let _guard = panics::guard();
        let _running = self.context.interrupt.begin();
        let called = self.calls.try_call(&self.context, &mut self.transaction(), name, arguments);
        self.context.books.note_statement(called.is_ok());
        self.settle_notifications();
        called
    }

    /// Calls a procedure at most once: of all calls with one `key` the first one runs, and all get
    /// its outcome, be it rows or an error of the procedure's own. In a database with a directory
    /// that holds across restarts, so a caller that does not know what became of a call repeats it
    /// with the same key. Keys are forgotten after [`crate::Config::key_window`], and when
    /// [`crate::Config::keys_max`] others are younger.
    ///
    /// ```
    /// # let db = hotrow::Database::open_in_memory(hotrow::Config::default().threads(1))?;
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
    /// for _ in 0..3 {
    ///     assert_eq!(session.call_once("order 17", "bump", ())?.one::<i64>()?, 1);
    /// }
    /// assert_eq!(session.call_once("order 18", "bump", ())?.one::<i64>()?, 2);
    /// # Ok::<(), hotrow::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`Session::call`]; 22023 for a key that is empty, longer than 128 bytes, or was used for
    /// another procedure or other arguments. After 08xxx, 53xxx, 57xxx and 58xxx the call may be
    /// repeated with its key.
    pub fn call_once(
        &self,
        key: &str,
        name: &str,
        arguments: impl IntoArguments,
    ) -> Result<Rows, Error> {
        let _guard = panics::guard();
        let _running = self.context.interrupt.begin();
        self.transaction().refuse_inside("a call with a key")?;
        let called = self.calls.call_once(&self.context, key, name, arguments);
        self.context.books.note_statement(called.is_ok());
        self.settle_notifications();
        called
    }

    /// A handle for calling one procedure again and again, without looking it up each time.
    ///
    /// # Errors
    ///
    /// 42883 when there is no such procedure.
    pub fn procedure(&self, name: &str) -> Result<Procedure, Error> {
        let (id, compiled) = self.calls.look_up(&self.context, name)?;
        let asked = (Arc::clone(&self.context.core), KnownAsker::of(&self.context));
        let procedure = Procedure::new(asked, id, compiled);
        procedure.set_priority(self.calls.priority());
        Ok(procedure)
    }

    /// Repeats a recorded call, its time included: for tests that replay a trace. The procedure
    /// must have the same id and parameters as when the call was recorded.
    ///
    /// # Errors
    ///
    /// As [`Session::call`].
    pub fn replay(&self, recorded: &Invocation) -> Result<Rows, Error> {
        let _guard = panics::guard();
        self.transaction().refuse_inside("a repetition")?;
        self.calls.replay(&self.context, recorded)
    }

    /// Says whether there is more to do before anybody waits for the answers that come: then calls
    /// do not hurry the log, and more of them share each of its syncs. How it was before.
    pub fn set_patient(&self, is_patient: bool) -> bool {
        self.calls.set_patient(is_patient)
    }
}
