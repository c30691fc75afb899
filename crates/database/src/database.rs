//! The database: one schema, one engine at most, and whoever talks to them.
//!
//! States       open -> closed (`shutdown`, or the drop of the last handle); never open again
//! Invariants   I1 worker 0 is the quiet points'; engines and bulk parts have the ids from 1
//!              I2 bulk parts and an engine never run at the same time: they would share ids
//! Concurrency  `schema` -> see `SharedSchema`; `alone`, `sources` -> only at quiet points (the
//!              latches say so to the compiler); `engine` -> taken out once, by who shuts down

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use hotrow_base::sync::Latch;
use hotrow_engine::contract::{EngineEntry, EngineOptions, Ground, RunningEngine};
use hotrow_engine::schema::{Memory, Quiet, Schema, SharedSchema};
use hotrow_engine::source::CallSource;
use hotrow_engine::statistics::Statistics;
use hotrow_engine::trace::SerialTrace;

use crate::alone::Alone;
use crate::bulk::BulkLoader;
use crate::client::{ClientQueue, Mailbox, Refused};
use crate::config::Config;
use crate::definition::{self, Sources};
use crate::engine_table::engine_named;
use crate::error::{Error, advised};
use crate::rows::Rows;
use crate::session::Session;

/// A database in memory. Cheap to clone: all clones are one database, which ends when the last
/// clone and the last [`Session`] are dropped, or at [`Database::shutdown`].
///
/// Calls of procedures go to the engine's threads through one bounded queue. Definitions (CREATE,
/// DROP) and single statements outside procedures run alone, when no call runs: convenient, and
/// not meant for many a second.
///
/// ```
/// use hotrow::{Config, Database};
///
/// let db = Database::open_in_memory(Config::default())?;
/// db.session().execute("CREATE TABLE account (id bigint PRIMARY KEY, cents bigint NOT NULL)")?;
/// assert_eq!(db.tables(), ["account"]);
/// db.shutdown();
/// assert!(db.session().execute("SELECT id FROM account").is_err());
/// # Ok::<(), hotrow::Error>(())
/// ```
#[derive(Clone)]
pub struct Database {
    inner: Arc<Inner>,
}

pub(crate) struct Inner {
    pub(crate) schema: Arc<SharedSchema>,
    pub(crate) config: Config,
    /// texts of the procedures, to compile them again
    pub(crate) sources: Latch<Sources>,
    pub(crate) alone: Latch<Alone>,
    trace: Option<Arc<SerialTrace>>,
    /// the way to the engine; none: calls run alone
    clients: Option<Arc<ClientQueue>>,
    engine: Latch<Option<Box<dyn RunningEngine>>>,
    /// books of the engine that was stopped
    last_books: Latch<Statistics>,
    /// engines that run, those of [`Database::start_engine`] included
    running: Arc<AtomicUsize>,
    closed: AtomicBool,
}

impl Database {
    /// Opens an empty database in memory, with the engine that `config` names.
    ///
    /// # Errors
    ///
    /// [`Error::UnknownEngine`], [`Error::Option`], [`Error::Config`].
    pub fn open_in_memory(config: Config) -> Result<Self, Error> {
        let entry = engine_named(&config.engine)?;
        Self::open_in_memory_with(entry, config)
    }

    /// Opens an empty database in memory with an engine that need not be in the engine table.
    ///
    /// # Errors
    ///
    /// As [`Database::open_in_memory`].
    pub fn open_in_memory_with(entry: &EngineEntry, config: Config) -> Result<Self, Error> {
        config.check()?;
        let threads = config.threads_for(Some(entry));
        let (queue, sources) = ClientQueue::new(config.queue_capacity, threads);
        let mut inner = Inner::new(config, threads);
        let options = inner.config.engine_options(threads);
        let engine = (entry.start)(inner.ground(), &options, sources)?;
        inner.clients = Some(queue);
        inner.engine = Latch::new(Some(Box::new(Started::new(engine, &inner.running))));
        Ok(Self { inner: Arc::new(inner) })
    }

    /// Opens an empty database in memory without an engine: calls run alone, one after the other,
    /// until [`Database::start_engine`] brings some of its own. `config` tells how many threads
    /// there can be.
    ///
    /// # Errors
    ///
    /// [`Error::Config`].
    pub fn open_in_memory_without_engine(config: Config) -> Result<Self, Error> {
        config.check()?;
        let threads = config.threads_for(None);
        Ok(Self { inner: Arc::new(Inner::new(config, threads)) })
    }

    /// Starts an engine that pulls its calls from `sources`, one for each of its threads, rather
    /// than from sessions: for benchmarks. Stop it (or drop it) before starting another.
    ///
    /// # Errors
    ///
    /// [`Error::EngineRuns`], [`Error::Option`], and [`Error::Config`] when there are more threads
    /// than the database was opened for, or not one source for each.
    pub fn start_engine(
        &self,
        entry: &EngineEntry,
        options: &EngineOptions,
        sources: Vec<Box<dyn CallSource>>,
    ) -> Result<Box<dyn RunningEngine>, Error> {
        self.inner.refuse_engine()?;
        let given = options.threads as u64;
        let workers = self.inner.workers();
        let first = options.first_worker.index();
        if first == 0 || first + options.threads > workers {
            let allowed = "at most those the database was opened for";
            return Err(Error::Config { what: "threads", allowed, given });
        }
        if sources.len() != options.threads {
            let given = sources.len() as u64;
            return Err(Error::Config { what: "sources", allowed: "one per thread", given });
        }
        let engine = (entry.start)(self.inner.ground(), options, sources)?;
        Ok(Box::new(Started::new(engine, &self.inner.running)))
    }

    /// A session: how one thread talks to the database.
    pub fn session(&self) -> Session {
        Session::new(Arc::clone(&self.inner))
    }

    /// Ends the database: refuses new calls, finishes those that wait, and joins the engine's
    /// threads. Afterwards everything but descriptions fails with [`Error::Closed`]. A second
    /// shutdown waits for the first and does nothing.
    pub fn shutdown(&self) {
        self.inner.shutdown();
    }

    /// What the engine's threads did so far, summed; of an engine started by
    /// [`Database::start_engine`], ask that engine.
    pub fn statistics(&self) -> Statistics {
        let running = self.inner.engine.lock().as_ref().map(|engine| engine.statistics());
        running.unwrap_or_else(|| self.inner.last_books.lock().clone())
    }

    /// The serial order of commits, where [`Config::trace`] asked for it. Statements outside
    /// procedures are not in it.
    pub fn trace(&self) -> Option<&SerialTrace> {
        self.inner.trace.as_deref()
    }

    /// What planning knows of each access of a procedure, as text for people.
    ///
    /// # Errors
    ///
    /// 42883 when there is no such procedure.
    pub fn explain_procedure(&self, name: &str) -> Result<String, Error> {
        Ok(definition::explain(&self.inner.schema.current(), name)?)
    }

    /// A loader of many rows, without transactions; see [`BulkLoader`].
    ///
    /// # Errors
    ///
    /// [`Error::EngineRuns`], [`Error::Closed`].
    pub fn bulk_loader(&self) -> Result<BulkLoader<'_>, Error> {
        self.inner.refuse_engine()?;
        Ok(BulkLoader::new(self.inner.quiet()?, self.inner.workers()))
    }

    pub(crate) fn inner(&self) -> &Inner {
        &self.inner
    }
}

impl Inner {
    fn new(config: Config, threads: usize) -> Self {
        let workers = threads + 1; // I1
        let memory = Arc::new(Memory::new(workers, config.memory_bytes));
        Self {
            schema: Arc::new(SharedSchema::new(Schema::empty(memory), workers)),
            sources: Latch::new(Sources::default()),
            alone: Latch::new(Alone::new(config.step_budget)),
            trace: config.trace.then(|| Arc::new(SerialTrace::default())),
            config,
            clients: None,
            engine: Latch::new(None),
            last_books: Latch::new(Statistics::default()),
            running: Arc::new(AtomicUsize::new(0)),
            closed: AtomicBool::new(false),
        }
    }

    fn ground(&self) -> Ground {
        Ground { schema: Arc::clone(&self.schema), trace: self.trace.clone() }
    }

    fn workers(&self) -> usize {
        self.schema.current().memory.workers()
    }

    fn refuse_engine(&self) -> Result<(), Error> {
        // Acquire; partner: the Release in the drop of `Started`.
        let running = self.running.load(Ordering::Acquire) > 0;
        if running { Err(Error::EngineRuns) } else { Ok(()) }
    }

    /// Waits until no call runs and keeps calls out until the guard is dropped.
    pub(crate) fn quiet(&self) -> Result<Quiet<'_>, Error> {
        let quiet = self.schema.quiet();
        // Relaxed: after `shutdown` has returned its store is seen; before, either is right.
        if self.closed.load(Ordering::Relaxed) { Err(Error::Closed) } else { Ok(quiet) }
    }

    /// Runs the call in `mailbox`, waiting for room in the queue.
    pub(crate) fn call(&self, mailbox: &Arc<Mailbox>) -> Result<Rows, Error> {
        match &self.clients {
            None => self.call_alone(mailbox),
            Some(clients) => self.ended(clients.call(mailbox)),
        }
    }

    /// Runs the call in `mailbox`; 53300 when the queue is full.
    pub(crate) fn try_call(&self, mailbox: &Arc<Mailbox>) -> Result<Rows, Error> {
        match &self.clients {
            None => self.call_alone(mailbox),
            Some(clients) => self.ended(clients.try_call(mailbox)),
        }
    }

    fn ended(
        &self,
        end: Result<Result<Rows, Box<hotrow_transaction::outcome::SqlError>>, Refused>,
    ) -> Result<Rows, Error> {
        match end {
            Ok(answer) => answer.map_err(Error::from),
            Err(Refused::Closed) => Err(Error::Closed),
            Err(Refused::Full) => {
                let capacity = self.clients.as_ref().map_or(0, |clients| clients.capacity());
                let message = format!("too many calls: all {capacity} places are taken");
                Err(advised(b"53300", message, "Try again, or let the call wait.").into())
            }
        }
    }

    fn call_alone(&self, mailbox: &Mailbox) -> Result<Rows, Error> {
        let quiet = self.quiet()?;
        let schema = quiet.schema();
        let invocation = mailbox.invocation.lock();
        let Some(procedure) = schema.procedure(invocation.procedure) else {
            let message = "the procedure was dropped before the call ran".to_owned();
            return Err(advised(b"42883", message, "Create it again, then call it.").into());
        };
        let trace = self.trace.as_deref();
        let mut alone = self.alone.lock();
        alone.run(&schema, &procedure.program, &invocation, trace).map_err(Error::from)
    }

    fn shutdown(&self) {
        let mut engine = self.engine.lock();
        self.closed.store(true, Ordering::Relaxed); // see `quiet`
        if let Some(clients) = &self.clients {
            clients.drain();
        }
        if let Some(engine) = engine.take() {
            *self.last_books.lock() = engine.stop();
        }
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        self.shutdown();
    }
}

impl fmt::Debug for Database {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Database").field("config", &self.inner.config).finish_non_exhaustive()
    }
}

/// A running engine that is counted, and stopped when it is dropped.
struct Started {
    engine: Option<Box<dyn RunningEngine>>,
    running: Arc<AtomicUsize>,
}

impl Started {
    fn new(engine: Box<dyn RunningEngine>, running: &Arc<AtomicUsize>) -> Self {
        running.fetch_add(1, Ordering::Relaxed); // who asks later synchronised with this thread
        Self { engine: Some(engine), running: Arc::clone(running) }
    }
}

impl RunningEngine for Started {
    fn statistics(&self) -> Statistics {
        self.engine.as_ref().map(|engine| engine.statistics()).unwrap_or_default()
    }

    fn stop(mut self: Box<Self>) -> Statistics {
        self.engine.take().map(|engine| engine.stop()).unwrap_or_default()
    }
}

impl Drop for Started {
    fn drop(&mut self) {
        if let Some(engine) = self.engine.take() {
            engine.stop();
        }
        // Release; partner: the Acquire in `refuse_engine`.
        self.running.fetch_sub(1, Ordering::Release);
    }
}
