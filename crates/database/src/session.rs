//! A session: how one thread talks to the database.
//!
//! Role         what a statement needs of it is passed down ([`Context`], [`Runner`]); nobody below
//!              knows a session, so that nobody comes back to it in the middle of a statement

mod calling;
mod checking;
mod copying;
mod notifying;
mod settings;
mod submitting;

use std::cell::{RefCell, RefMut};
use std::fmt;
use std::sync::Arc;

use hotrow_base::memory::{Charge, MemoryAccount};
use hotrow_base::panics;
use hotrow_base::types::SqlType;
use hotrow_base::value::Value;
use hotrow_sql::WrittenType;
use hotrow_transaction::outcome::{SqlError, apart};

use crate::activity::SessionActivity;
use crate::calls::Calls;
use crate::cancel::{Canceller, Known, Listed};
use crate::context::{Context, EnteredSession, Identity};
use crate::core::Core;
use crate::elsewhere::{is_elsewhere, moved};
use crate::error::Error;
use crate::named::NamedBy;
use crate::perform::{Outcome, perform};
use crate::prepare::{in_parts, prepare, prepare_own};
use crate::prepared::Prepared;
use crate::result::StatementResult;
use crate::rows::Rows;
use crate::run::Runner;
use crate::script::{Script, SentStatement};
use crate::session_settings::settle_limits;
use crate::session_transaction::SessionTransaction;
use crate::settings::TransactionStep;
use crate::shapes::Shapes;
use crate::transaction::TransactionState;
use crate::verifier::conceal;

pub use checking::Checked;
pub use submitting::Pending;

/// How one thread talks to the database. Make one for each thread; it can be sent to another
/// thread, not shared.
///
/// A call waits for its end, and before that for room when the queue of waiting calls is full
/// ([`crate::Config::queue_capacity`]); [`Session::try_call`] fails instead.
///
/// ```
/// use hotrow::{Config, Database, Error};
///
/// let db = Database::open_in_memory(Config::default().threads(1))?;
/// let session = db.session();
/// session.execute(
///     "CREATE TABLE counter (id bigint PRIMARY KEY, n bigint NOT NULL CHECK (n <= 2));
///      INSERT INTO counter VALUES (1, 0);
///      CREATE PROCEDURE bump(which bigint) AS $$
///      BEGIN UPDATE counter SET n = n + 1 WHERE id = which; END $$ LANGUAGE plpgsql;",
/// )?;
/// session.call("bump", (1_i64,))?;
/// session.call("bump", (1_i64,))?;
/// let error = session.call("bump", (1_i64,)).unwrap_err();
/// assert_eq!(error.sqlstate(), Some("23514"));
/// # Ok::<(), Error>(())
/// ```
pub struct Session {
    pub(crate) context: Context,
    /// taken for the whole of a statement, which knows no session
    transaction: RefCell<SessionTransaction>,
    calls: Calls,
    shapes: RefCell<Shapes>,
    /// under which number it can be cancelled, and seen
    listed: RefCell<Option<Listed>>,
}

impl Session {
    pub(crate) fn new(core: Arc<Core>) -> Self {
        let context = Context::new(core);
        let Context { core, interrupt, memory, books, .. } = &context;
        let transaction = SessionTransaction::new(&core.config, interrupt, books.share());
        let calls = Calls::new(books.share());
        let shapes = RefCell::new(Shapes::new(Charge::new(memory)));
        let (transaction, listed) = (RefCell::new(transaction), RefCell::default());
        Self { context, transaction, calls, shapes, listed }
    }

    /// Executes a script: statements separated by semicolons, each on its own and atomic. A syntax
    /// error anywhere refuses the whole script; another error ends it, and the statements before
    /// it keep their effect.
    ///
    /// # Errors
    ///
    /// [`Error::Sql`] with the place in the script, [`Error::Closed`].
    pub fn execute(&self, script: &str) -> Result<Vec<StatementResult>, Error> {
        let mut results = Vec::new();
        self.waiting_once(|| self.execute_each(script, |result| results.push(result)))?;
        Ok(results)
    }

    /// As [`Session::execute`], telling each result as soon as it is there.
    ///
    /// # Errors
    ///
    /// As [`Session::execute`].
    pub fn execute_each(
        &self,
        script: &str,
        mut tell: impl FnMut(StatementResult),
    ) -> Result<(), Error> {
        let mut script = self.parse(script)?;
        while let Some(statement) = self.next_of(&mut script) {
            let statement = statement?;
            tell(self.execute_prepared(&statement, statement.values())?);
        }
        Ok(())
    }

    /// Has what this thread compiles and computes obey the session, pay from its budget, and show
    /// and read values by its conventions: for servers, which read values before they execute with
    /// them, and write what comes of it.
    #[doc(hidden)]
    pub fn enter(&self) -> EnteredSession {
        self.context.enter()
    }

    /// Reads a script whole; its statements, for [`Session::perform_sent`], come one by one from
    /// [`Session::next_of`].
    ///
    /// # Errors
    ///
    /// [`Error::Sql`]: 42601 and the like, with the place in the script.
    pub fn parse(&self, script: &str) -> Result<Script, Error> {
        let _guard = panics::guard();
        let _running = self.context.interrupt.begin();
        let _entered = self.enter();
        // A shape says nothing of a path.
        let has_shapes = self.context.has_usual_path();
        let read = || {
            panics::point::reach("parse");
            let known =
                has_shapes.then(|| self.shapes.borrow_mut().find(&self.context, script)).flatten();
            match known {
                Some(known) => Ok(Script::of(known)),
                None => {
                    let read = hotrow_sql::Script::read(script)?;
                    Ok::<_, SqlError>(Script { read, known: None })
                }
            }
        };
        Ok(apart(read).inspect_err(|_| self.transaction().fail())?)
    }

    /// The next statement of a script; none behind the last one.
    ///
    /// # Errors
    ///
    /// [`Error::Sql`]: 22023 for a password that cannot be one.
    pub fn next_of(&self, script: &mut Script) -> Option<Result<SentStatement, Error>> {
        if let Some(known) = script.known.take() {
            return Some(Ok(known));
        }
        let _guard = panics::guard();
        let _entered = self.enter();
        let parsed = apart(|| script.read.next().transpose()).transpose()?.and_then(conceal);
        let own = |parsed| SentStatement::own(Prepared::of_script(in_parts(&self.context, parsed)));
        let statement = parsed.map(own);
        Some(statement.inspect_err(|_| self.transaction().fail()).map_err(Error::from))
    }

    /// Executes a statement of a script, COPY too, as [`Session::perform`] does one that was
    /// prepared.
    ///
    /// # Errors
    ///
    /// As [`Session::execute`].
    pub fn perform_sent(&self, statement: &SentStatement) -> Result<Outcome, Error> {
        self.perform(statement, statement.values())
    }

    /// Executes a statement as [`Session::execute_prepared`] does, COPY too: its outcome is what
    /// takes or gives the rows then.
    ///
    /// # Errors
    ///
    /// As [`Session::execute_prepared`].
    pub fn perform(&self, prepared: &Prepared, values: &[Value]) -> Result<Outcome, Error> {
        let run = |meant: &Prepared| self.with_runner(|runner| perform(runner, meant, values));
        self.as_meant(prepared, run)
    }

    /// Prepares a statement. `types` are those of its first parameters, as far as the caller wants
    /// them so; the others follow from where they stand: `n` in `WHERE id = $1` where `id` is of
    /// that type, text where nothing says more.
    ///
    /// # Errors
    ///
    /// [`Error::Sql`]: 42601 if the text is not one statement, 42P18 for a parameter whose type
    /// nothing tells, and what compiling says.
    pub fn prepare(&self, text: &str, types: &[Option<SqlType>]) -> Result<Prepared, Error> {
        prepare(&self.context, &mut self.transaction(), text, types)
    }

    /// The types that PREPARE has written.
    ///
    /// # Errors
    ///
    /// [`Error::Sql`]: 42704 for one that does not exist.
    pub fn look_up_types(&self, types: &[WrittenType]) -> Result<Vec<Option<SqlType>>, Error> {
        let catalog = &self.context.core.schema.current().catalog;
        let types = hotrow_sql::look_up_types(catalog, types);
        types.map_err(Error::from).inspect_err(|_| self.transaction().fail())
    }

    /// Whether preparing the same text with the same types now would give the same.
    pub fn is_as_new(&self, prepared: &Prepared) -> bool {
        if self.transaction_state() == TransactionState::Failed {
            return false; // which refuses most
        }
        let is_here = !is_elsewhere(&self.context, prepared);
        is_here && prepared.is_of(self.context.core.schema.generation())
    }

    /// Executes a statement with values for its parameters, each converted to the parameter's type
    /// as an assignment would.
    ///
    /// # Errors
    ///
    /// As [`Session::execute`]; 08P01 for another number of values than there are parameters, 0A000
    /// if definitions have changed so that it would return other columns now.
    pub fn execute_prepared(
        &self,
        prepared: &Prepared,
        values: &[Value],
    ) -> Result<StatementResult, Error> {
        let run = |meant: &Prepared| self.with_runner(|runner| runner.execute(meant, values));
        self.as_meant(prepared, run)
    }

    /// Runs a statement as what it means with the path that is in force.
    fn as_meant<T>(
        &self,
        prepared: &Prepared,
        run: impl FnOnce(&Prepared) -> Result<T, Error>,
    ) -> Result<T, Error> {
        if !is_elsewhere(&self.context, prepared) {
            return self.showing(prepared, || run(prepared));
        }
        let _entered = self.enter();
        let moved = moved(&self.context, &mut self.transaction(), prepared)?;
        let done = self.showing(prepared, || run(&moved.prepared));
        prepared.keep_elsewhere(moved);
        done
    }

    /// Runs a statement that others see, if the session has a number.
    fn showing<T>(&self, prepared: &Prepared, run: impl FnOnce() -> T) -> T {
        let Some(activity) = self.context.activity.borrow().clone() else { return run() };
        activity.begin(&prepared.statement().text);
        let done = run();
        activity.end(self.transaction_state());
        done
    }

    /// Begins a batch, as far as none is under way: statements are one transaction from here to
    /// [`Session::end_batch`], as PostgreSQL has it for a script, and for what comes up to a Sync.
    /// A definition in it ends that transaction, and what follows is the next one; a call is
    /// planned, and a transaction of its own, unless a statement has come before it. On engines
    /// whose transactions are run again when they commit, each stays one of its own.
    pub fn begin_batch(&self) {
        let _guard = panics::guard();
        if self.transaction_state() == TransactionState::Idle {
            self.context.step(TransactionStep::Begun);
        }
        self.transaction().begin_batch();
    }

    /// Ends a batch, if one is under way: commits what was done in it, or takes it back; a block
    /// that BEGIN has opened in it stays open.
    ///
    /// # Errors
    ///
    /// What COMMIT says.
    pub fn end_batch(&self, stays: bool) -> Result<(), Error> {
        let _guard = panics::guard();
        let Some(ended) = self.transaction().end_batch(&self.context, stays) else { return Ok(()) };
        self.transaction().settle_advisory(&self.context);
        if self.transaction_state() == TransactionState::Idle {
            self.context.step(match ended {
                Ok(true) => TransactionStep::Committed,
                _ => TransactionStep::RolledBack,
            });
            settle_limits(&self.context, &mut self.transaction());
            self.settle_temporary();
        }
        ended.map(drop)
    }

    /// Whether the session is in a transaction of several statements.
    pub fn transaction_state(&self) -> TransactionState {
        self.transaction().state()
    }

    /// The transaction, between two statements.
    fn transaction(&self) -> RefMut<'_, SessionTransaction> {
        self.transaction.borrow_mut()
    }

    /// Has a statement, or a part of one, run.
    fn with_runner<T>(&self, act: impl FnOnce(&mut Runner<'_>) -> T) -> T {
        let done = {
            let transaction = &mut *self.transaction();
            act(&mut Runner { context: &self.context, transaction, calls: &self.calls })
        };
        self.settle_temporary();
        done
    }

    /// Notes a statement's name; one without a name is not told.
    pub fn note_name(&self, name: &str, text: &str, types: &[SqlType], by: NamedBy) {
        if name.is_empty() {
            return;
        }
        self.context.names().note(name, text, types, by);
    }

    /// Forgets a statement's name, or all of them.
    pub fn forget_name(&self, name: Option<&str>) {
        self.context.names().forget(name);
    }

    /// What interrupts the session's statements from other threads.
    pub fn canceller(&self) -> Canceller {
        Canceller::new(&self.context.interrupt)
    }

    /// Says what `pg_terminate_backend` does to end the session's connection, behind
    /// [`Session::identify`]; it is called on another session's thread.
    pub fn on_terminate(&self, terminate: impl Fn() + Send + Sync + 'static) {
        if let Some(listed) = &*self.listed.borrow() {
            listed.on_terminate(Arc::new(terminate));
        }
    }

    /// The account of what the session keeps between its statements: results that wait to be sent,
    /// prepared statements, portals.
    pub fn memory(&self) -> &Arc<MemoryAccount> {
        &self.context.memory
    }

    /// Says who the session is, for queries that ask: `current_user`, `current_database()` and
    /// `pg_backend_pid()`, by whose number `pg_cancel_backend` finds it. If there is a role of the
    /// user's name, the session has that role's rights from here on; else, as before, it may do
    /// everything.
    pub fn identify(&self, user: &str, database: &str, number: i32) {
        let role = self.context.core.schema.current().catalog.rights().role_name(user);
        let activity = Arc::new(SessionActivity::new(user, database));
        let (user, database) = (user.to_owned(), database.to_owned());
        drop(self.listed.take());
        let known = Known::new(self.canceller(), role.clone(), Arc::clone(&activity));
        *self.listed.borrow_mut() = Some(self.context.core.cancellers.list(number, known));
        *self.context.activity.borrow_mut() = Some(activity);
        self.context.identify(Identity { user, role, database, number });
        self.context.show_application();
    }
}

/// Runs a statement of the database's own: see [`Core::run_own`].
pub(crate) fn run_own(core: &Arc<Core>, text: &str, values: &[Value]) -> Result<Rows, Error> {
    let session = Session::new(Arc::clone(core));
    let prepared = prepare_own(&session.context, &mut session.transaction(), text, &[])?;
    Ok(session.execute_prepared(&prepared, values)?.rows)
}

impl Session {
    /// Lets go of all temporary tables, as DISCARD TEMP does.
    pub fn drop_temporary_tables(&self) {
        self.context.temporary().let_go_of_all();
        self.settle_temporary();
    }

    /// Does what is due to temporary tables, unless a transaction is open.
    fn settle_temporary(&self) {
        if self.transaction_state() == TransactionState::Idle && self.context.temporary().is_due() {
            self.context.temporary().settle(&self.context.core);
        }
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        // What it holds would keep its own tables from being emptied.
        self.transaction.get_mut().abandon();
        self.context.temporary().end(&self.context.core);
    }
}

impl fmt::Debug for Session {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Session").finish_non_exhaustive()
    }
}
