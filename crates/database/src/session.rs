//! A session: how one thread talks to the database.

use std::cell::{Cell, RefCell, RefMut};
use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use hotrow_base::clock;
use hotrow_base::datum::Datum;
use hotrow_base::ids::ProcedureId;
use hotrow_base::interrupt::Interrupt;
use hotrow_base::interrupt::current::{self, Entered};
use hotrow_base::memory::{Charge, MemoryAccount, Scope};
use hotrow_base::panics;
use hotrow_base::types::SqlType;
use hotrow_base::value::Value;
use hotrow_query::AdvisoryLevel;
use hotrow_transaction::compiled::CompiledProcedure;
use hotrow_transaction::invocation::{Arguments, Invocation};
use hotrow_transaction::outcome::{SqlError, apart};
use hotrow_transaction::program::Procedure as Tree;

use crate::advisory::AdvisoryOwner;
use crate::arguments::{IntoArguments, bind_all};
use crate::books::{OpenBooks, SessionBooks};
use crate::cancel::{Canceller, Listed};
use crate::client::{Mailbox, Priority};
use crate::config::Config;
use crate::core::Core;
use crate::error::Error;
use crate::held_back::HeldBack;
use crate::lookup::procedure_named;
use crate::named::Names;
use crate::once;
use crate::prepared::{Prepared, in_parts};
use crate::procedure::Procedure;
use crate::rows::Rows;
use crate::script::{Script, SentStatement};
use crate::sequences::Drawn;
use crate::settings::{Settings, TransactionStep};
use crate::shapes::Shapes;
use crate::statement::{self, Outcome, StatementResult};
use crate::talk::Talk;
use crate::transaction::TransactionState;
use crate::verifier::conceal;

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
    core: Arc<Core>,
    /// replaced when its call was withdrawn: the queue still has it then
    mailbox: RefCell<Arc<Mailbox>>,
    interrupt: Arc<Interrupt>,
    /// what it keeps between statements, and above the account of the statement that it runs
    memory: Arc<MemoryAccount>,
    /// under which number it can be cancelled
    listed: RefCell<Option<Listed>>,
    known: RefCell<Known>,
    talk: RefCell<Talk>,
    identity: RefCell<Arc<Identity>>,
    settings: RefCell<Settings>,
    drawn: RefCell<Drawn>,
    names: RefCell<Names>,
    shapes: RefCell<Shapes>,
    advisory: AdvisoryOwner,
    held_back: Arc<HeldBack>,
    books: OpenBooks,
    /// there is more to do before anybody waits for the answers
    is_patient: Cell<bool>,
    /// within which a thread must take its calls
    pub(crate) call_deadline: Cell<Option<Duration>>,
}

/// Who a session is, for queries that ask.
pub(crate) struct Identity {
    pub(crate) user: String,
    pub(crate) database: String,
    pub(crate) number: i32,
}

impl Default for Identity {
    fn default() -> Self {
        Self { user: "hotrow".to_owned(), database: "hotrow".to_owned(), number: 0 }
    }
}

/// Procedures looked up so far.
#[derive(Default)]
struct Known {
    generation: u64,
    by_name: HashMap<String, (ProcedureId, Arc<CompiledProcedure>)>,
}

impl Session {
    pub(crate) fn new(core: Arc<Core>) -> Self {
        let Config { session_memory_bytes, statement_memory_bytes, .. } = core.config;
        let memory = core.memory.child(Scope::Session, session_memory_bytes);
        let of_statement = memory.child(Scope::Statement, statement_memory_bytes);
        let interrupt = Arc::new(Interrupt::new(of_statement));
        let books = core.library.open();
        let call_deadline = Cell::new(core.config.call_deadline);
        let talk = RefCell::new(Talk::new(&core.config, &interrupt, books.share()));
        let mailbox = RefCell::new(Arc::new(Mailbox::new(books.share())));
        let advisory = AdvisoryOwner::new(&core.advisory);
        let shapes = RefCell::new(Shapes::new(Charge::new(&memory)));
        Self {
            core,
            mailbox,
            interrupt,
            memory,
            listed: RefCell::default(),
            known: RefCell::default(),
            talk,
            identity: RefCell::default(),
            settings: RefCell::default(),
            drawn: RefCell::default(),
            names: RefCell::default(),
            shapes,
            advisory,
            held_back: Arc::default(),
            books,
            is_patient: Cell::new(false),
            call_deadline,
        }
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
            tell(statement::execute(self, &statement, statement.values())?);
        }
        Ok(())
    }

    /// Has what this thread compiles and computes obey the session, and pay from its budget: for
    /// servers, which read values before they execute with them.
    #[doc(hidden)]
    pub fn enter(&self) -> Entered {
        current::enter(Some(&self.interrupt))
    }

    /// Reads a script whole; its statements, for [`Session::perform_sent`], come one by one from
    /// [`Session::next_of`].
    ///
    /// # Errors
    ///
    /// [`Error::Sql`]: 42601 and the like, with the place in the script.
    pub fn parse(&self, script: &str) -> Result<Script, Error> {
        let _guard = panics::guard();
        let _running = self.interrupt.begin();
        let _entered = self.enter();
        // On other engines single statements are known by their texts.
        let has_shapes = self.core.locks_as_it_goes;
        let read = || {
            panics::point::reach("parse");
            let known = has_shapes.then(|| self.shapes.borrow_mut().find(self, script)).flatten();
            match known {
                Some(known) => Ok(Script::of(known)),
                None => {
                    let read = hotrow_sql::Script::read(script)?;
                    Ok::<_, SqlError>(Script { read, known: None })
                }
            }
        };
        Ok(apart(read).inspect_err(|_| self.talk().fail())?)
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
        let own = |parsed| SentStatement::own(Prepared::of_script(in_parts(self, parsed)));
        let statement = parsed.map(own);
        Some(statement.inspect_err(|_| self.talk().fail()).map_err(Error::from))
    }

    /// Executes a statement of a script, COPY too, as [`Session::perform`] does one that was
    /// prepared.
    ///
    /// # Errors
    ///
    /// As [`Session::execute`].
    pub fn perform_sent(&self, statement: &SentStatement) -> Result<Outcome, Error> {
        statement::perform(self, statement, statement.values())
    }

    /// Executes a statement as [`Session::execute_prepared`] does, COPY too: its outcome is what
    /// takes or gives the rows then.
    ///
    /// # Errors
    ///
    /// As [`Session::execute_prepared`].
    pub fn perform(&self, prepared: &Prepared, values: &[Value]) -> Result<Outcome, Error> {
        statement::perform(self, prepared, values)
    }

    /// Has the calls of this session, and of [procedures](Session::procedure) that it looks up from
    /// now on, wait in another place in the queue: while all threads are busy, calls of high
    /// priority are taken before others, and those of low priority after them. Some of the latter
    /// are taken in any case, so that nobody waits for ever. A call that a thread has taken is run
    /// as all others are, whatever its priority.
    pub fn set_priority(&self, priority: Priority) {
        self.mailbox.borrow().set_priority(priority);
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
        let _running = self.interrupt.begin();
        let called = self.call_uncounted(name, arguments);
        self.note_statement(called.is_ok());
        called
    }

    /// A call that is part of a statement.
    pub(crate) fn call_uncounted(
        &self,
        name: &str,
        arguments: impl IntoArguments,
    ) -> Result<Rows, Error> {
        let inside = self.call_inside(|session| session.address(name, arguments))?;
        inside.map_or_else(|| self.call_in_queue(), Ok)
    }

    /// As [`Session::call`], but fails with 53300 when the queue of waiting calls is full.
    ///
    /// # Errors
    ///
    /// As [`Session::call`], and 53300.
    pub fn try_call(&self, name: &str, arguments: impl IntoArguments) -> Result<Rows, Error> {
        let _guard = panics::guard();
        let _running = self.interrupt.begin();
        let inside = self.call_inside(|session| session.address(name, arguments));
        let interrupt = Some(&self.interrupt);
        let try_call = || self.settle(self.core.try_call(&self.mailbox.borrow(), interrupt)?);
        let called = inside.and_then(|rows| rows.map_or_else(try_call, Ok));
        self.note_statement(called.is_ok());
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
        let _running = self.interrupt.begin();
        self.talk().refuse_inside("a call with a key")?;
        once::check_key(key)?;
        let (id, compiled) = self.look_up(name)?;
        let mailbox = self.mailbox.borrow();
        address(&mailbox, (id, &compiled), false, arguments)?;
        let call = {
            let mut invocation = mailbox.invocation.lock();
            invocation.key.extend_from_slice(key.as_bytes());
            // Without the numbers, which are others when the call is repeated.
            once::call_checksum(&compiled.procedure, &invocation.arguments)
        };
        self.draw_into(&mailbox, &compiled)?;
        let called = self.core.call_once(&mailbox, (key.as_bytes(), call), &self.interrupt);
        let called = called.and_then(|reply| self.settle(reply));
        self.note_statement(called.is_ok());
        called
    }

    /// A handle for calling one procedure again and again, without looking it up each time.
    ///
    /// # Errors
    ///
    /// 42883 when there is no such procedure.
    pub fn procedure(&self, name: &str) -> Result<Procedure, Error> {
        let (id, compiled) = self.look_up(name)?;
        let procedure = Procedure::new(Arc::clone(&self.core), id, compiled);
        procedure.set_priority(self.mailbox.borrow().priority());
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
        self.talk().refuse_inside("a repetition")?;
        let schema = self.core.schema.current();
        let fits = schema
            .procedure(recorded.procedure)
            .is_some_and(|compiled| fits(&recorded.arguments, &compiled.procedure));
        if !fits {
            let message = "the recorded call does not fit any procedure";
            return Err(SqlError::new(b"42883", message).into());
        }
        {
            let mailbox = self.mailbox.borrow();
            let mut invocation = mailbox.invocation.lock();
            invocation.procedure = recorded.procedure;
            invocation.arguments.clone_from(&recorded.arguments);
            invocation.now_us = recorded.now_us;
            invocation.key.clear();
        }
        let _running = self.interrupt.begin();
        self.call_in_queue()
    }

    /// Begins a batch, as far as none is under way: statements are one transaction from here to
    /// [`Session::end_batch`], as PostgreSQL has it for a script, and for what comes up to a Sync.
    /// A definition in it ends that transaction, and what follows is the next one; a call is
    /// planned, and a transaction of its own, unless a statement has come before it. On engines
    /// whose transactions are run again when they commit, each stays one of its own.
    pub fn begin_batch(&self) {
        let _guard = panics::guard();
        if self.transaction_state() == TransactionState::Idle {
            self.settings().step(TransactionStep::Begun);
        }
        self.talk().begin_batch();
    }

    /// Ends a batch, if one is under way: commits what was done in it, or takes it back; a block
    /// that BEGIN has opened in it stays open.
    ///
    /// # Errors
    ///
    /// What COMMIT says.
    pub fn end_batch(&self, stays: bool) -> Result<(), Error> {
        let _guard = panics::guard();
        let Some(ended) = self.talk().end_batch(self, stays) else { return Ok(()) };
        self.settle_advisory();
        if self.transaction_state() == TransactionState::Idle {
            self.settings().step(match ended {
                Ok(true) => TransactionStep::Committed,
                _ => TransactionStep::RolledBack,
            });
            self.settle_limits();
        }
        ended.map(drop)
    }

    /// Whether the session is in a transaction of several statements.
    pub fn transaction_state(&self) -> TransactionState {
        self.talk().state()
    }

    pub(crate) fn core(&self) -> &Core {
        &self.core
    }

    pub(crate) fn shared(&self) -> &Arc<Core> {
        &self.core
    }

    pub(crate) fn books(&self) -> &SessionBooks {
        &self.books
    }

    pub(crate) fn shared_books(&self) -> Arc<SessionBooks> {
        self.books.share()
    }

    pub(crate) fn held_back(&self) -> &Arc<HeldBack> {
        &self.held_back
    }

    /// Counts a statement that has ended.
    pub(crate) fn note_statement(&self, is_done: bool) {
        self.books.note_statement(is_done);
    }

    /// Counts a statement that ran on a snapshot.
    pub(crate) fn note_report(&self) {
        self.books.commits.increment();
        self.books.snapshots.increment();
    }

    /// The numbers it has drawn from sequences.
    pub(crate) fn drawn(&self) -> RefMut<'_, Drawn> {
        self.drawn.borrow_mut()
    }

    /// What interrupts the session's statements from other threads.
    pub fn canceller(&self) -> Canceller {
        Canceller::new(&self.interrupt)
    }

    /// Says what `pg_terminate_backend` does to end the session's connection, behind
    /// [`Session::identify`]; it is called on another session's thread.
    pub fn on_terminate(&self, terminate: impl Fn() + Send + Sync + 'static) {
        if let Some(listed) = &*self.listed.borrow() {
            listed.on_terminate(Arc::new(terminate));
        }
    }

    pub(crate) fn interrupt(&self) -> &Arc<Interrupt> {
        &self.interrupt
    }

    /// The account of what the session keeps between its statements: results that wait to be sent,
    /// prepared statements, portals.
    pub fn memory(&self) -> &Arc<MemoryAccount> {
        &self.memory
    }

    /// Says who the session is, for queries that ask: `current_user`, `current_database()` and
    /// `pg_backend_pid()`, by whose number `pg_cancel_backend` finds it.
    pub fn identify(&self, user: &str, database: &str, number: i32) {
        let (user, database) = (user.to_owned(), database.to_owned());
        drop(self.listed.take());
        *self.listed.borrow_mut() = Some(self.core.cancellers.list(number, self.canceller()));
        *self.identity.borrow_mut() = Arc::new(Identity { user, database, number });
    }

    pub(crate) fn identity(&self) -> Arc<Identity> {
        self.identity.borrow().clone()
    }

    pub(crate) fn advisory(&self) -> &AdvisoryOwner {
        &self.advisory
    }

    /// Gives back advisory locks of a transaction, where none is open any more.
    pub(crate) fn settle_advisory(&self) {
        let has_any = self.advisory.has_of_transaction();
        if has_any && self.transaction_state() == TransactionState::Idle {
            self.advisory.release(AdvisoryLevel::Transaction);
        }
    }

    /// Names of statements, for a moment.
    pub(crate) fn names(&self) -> RefMut<'_, Names> {
        self.names.borrow_mut()
    }

    /// Its settings, for a moment.
    pub(crate) fn settings(&self) -> RefMut<'_, Settings> {
        self.settings.borrow_mut()
    }

    /// What it says, one thing at a time.
    pub(crate) fn talk(&self) -> RefMut<'_, Talk> {
        self.talk.borrow_mut()
    }

    /// Addresses a call, and runs it in the open transaction; none when there is none.
    fn call_inside(
        &self,
        address: impl FnOnce(&Self) -> Result<(), Error>,
    ) -> Result<Option<Rows>, Error> {
        let mut talk = self.talk();
        talk.refuse_failed()?;
        let called = address(self).and_then(|()| {
            let mailbox = self.mailbox.borrow();
            let mut invocation = mailbox.invocation.lock();
            talk.call(self, &mut invocation).transpose()
        });
        called.inspect_err(|_| talk.fail())
    }

    fn address(&self, name: &str, arguments: impl IntoArguments) -> Result<(), Error> {
        let (id, compiled) = self.look_up(name)?;
        let mailbox = self.mailbox.borrow();
        address(&mailbox, (id, &compiled), self.is_patient.get(), arguments)?;
        self.draw_into(&mailbox, &compiled)
    }

    /// Says whether there is more to do before anybody waits for the answers that come: then calls
    /// do not hurry the log, and more of them share each of its syncs. How it was before.
    pub fn set_patient(&self, is_patient: bool) -> bool {
        self.is_patient.replace(is_patient)
    }

    /// Puts the numbers that a call draws behind its arguments.
    fn draw_into(&self, mailbox: &Mailbox, compiled: &CompiledProcedure) -> Result<(), Error> {
        if compiled.procedure.draws.is_empty() {
            return Ok(());
        }
        self.drawn().begin();
        self.draw_for(&compiled.procedure, &mut mailbox.invocation.lock().arguments)
    }

    /// Has the call in the mailbox run by the engine. While it waits to be taken it is withdrawn by
    /// an interrupt; later on it looks at it itself.
    fn call_in_queue(&self) -> Result<Rows, Error> {
        let deadline = self.call_deadline.get();
        let called = self.core.call(&self.mailbox.borrow(), Some(&self.interrupt), deadline);
        Mailbox::renew(&self.mailbox);
        self.settle(called?)
    }

    fn look_up(&self, name: &str) -> Result<(ProcedureId, Arc<CompiledProcedure>), Error> {
        let mut known = self.known.borrow_mut();
        let generation = self.core.schema.generation();
        if known.generation != generation {
            known.by_name.clear();
            known.generation = generation;
        }
        if let Some((id, compiled)) = known.by_name.get(name) {
            return Ok((*id, Arc::clone(compiled)));
        }
        let schema = self.core.schema.current();
        let (id, compiled) = procedure_named(&schema, name)?;
        known.by_name.insert(name.to_owned(), (id, Arc::clone(compiled)));
        Ok((id, Arc::clone(compiled)))
    }
}

/// Runs a statement of the database's own: see [`Core::run_own`].
pub(crate) fn run_own(core: &Arc<Core>, text: &str, values: &[Value]) -> Result<Rows, Error> {
    let session = Session::new(Arc::clone(core));
    let prepared = session.prepare_own(text)?;
    Ok(session.execute_prepared(&prepared, values)?.rows)
}

/// Puts a call into a mailbox; the numbers that it draws come behind.
pub(crate) fn address(
    mailbox: &Mailbox,
    (id, compiled): (ProcedureId, &CompiledProcedure),
    is_patient: bool,
    arguments: impl IntoArguments,
) -> Result<(), SqlError> {
    let mut invocation = mailbox.invocation.lock();
    invocation.is_patient = is_patient;
    invocation.procedure = id;
    invocation.now_us = clock::now_us();
    invocation.key.clear();
    bind_all(&compiled.procedure, arguments, &mut invocation.arguments)
}

/// Whether there is one argument per parameter, and ranges lie in their heaps: a worker trusts
/// both.
fn fits(arguments: &Arguments, procedure: &Tree) -> bool {
    let Arguments { datums, elements, heap } = arguments;
    let bytes = |datum: &Datum| datum.is_null() || heap.get(datum.as_range().range()).is_some();
    let one = |(datum, sql_type): (&Datum, SqlType)| match sql_type {
        SqlType::Scalar(data_type) => !data_type.is_bytes() || bytes(datum),
        SqlType::Array(_) if datum.is_null() => true,
        SqlType::Array(element) => elements
            .get(datum.as_range().range())
            .is_some_and(|elements| !element.is_bytes() || elements.iter().all(bytes)),
    };
    let types = procedure.parameters().iter().map(|slot| slot.sql_type);
    datums.len() == types.len() && datums.iter().zip(types).all(one)
}

impl fmt::Debug for Session {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Session").finish_non_exhaustive()
    }
}
