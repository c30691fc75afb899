//! The database: one schema, one engine at most, and whoever talks to them.
//!
//! States       open -> closed (`shutdown`, or the drop of the last handle); never open again
//! Invariants   I1 worker 0 is the quiet points'; engines and bulk parts have the ids from 1, first
//!              threads, then interactive transactions
//!              I2 bulk parts and an engine never run at the same time: they would share ids
//! Concurrency  `schema` -> see `SharedSchema`; `alone`, `sources` -> only at quiet points (the
//!              latches say so to the compiler); `engine` -> taken out once, by who shuts down

mod calls;
mod serve;
mod status;
mod writers;

use std::fmt;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

use hotrow_base::clock::Ticks;
use hotrow_base::ids::WorkerId;
use hotrow_base::interrupt::{Interrupt, Interruption};
use hotrow_base::memory::MemoryAccount;
use hotrow_base::sync::Latch;
use hotrow_base::thread::BackgroundThread;
use hotrow_engine::contract::{EngineEntry, EngineOptions, Ground, RunningEngine};
use hotrow_engine::interactive::Interactive;
use hotrow_engine::journal::{Committer, Journal};
use hotrow_engine::schema::{Memory, Purpose, Quiet, Schema, SharedSchema};
use hotrow_engine::source::CallSource;
use hotrow_engine::statistics::Statistics;
use hotrow_engine::trace::SerialTrace;
use hotrow_engine::waits::{Awaited, Waited};
use hotrow_log::checkpoint;
use hotrow_log::log::Log;
use hotrow_log::position::Position;
use hotrow_transaction::outcome::SqlError;

use crate::admission::Admission;
use crate::advisory::AdvisoryLocks;
use crate::alone::Alone;
use crate::books::Library;
use crate::bugs;
use crate::bulk::BulkLoader;
use crate::cancel::Cancellers;
use crate::checkpoint::{CheckpointProgress, CheckpointReport, Checkpoints, start_checkpointer};
use crate::client::{ClientQueue, Ends};
use crate::config::{Config, Durability};
use crate::data_directory::DataDirectory;
use crate::definition::{self, Sources};
use crate::engine_table::engine_named;
use crate::error::{Error, advised};
use crate::numbers::Sequences;
use crate::once::Outcomes;
use crate::recovery::{self, RecoveryProgress, RecoveryReport};
use crate::reports::Snapshots;
use crate::session::Session;
use crate::verifier::Verifier;

pub use status::{CallFigures, EngineStatus, HotKey, LogStatus};

/// A database: its data in memory, its log in a directory, or nowhere. Cheap to clone: all clones
/// are one database, which ends when the last clone and the last [`Session`] are dropped, or at
/// [`Database::shutdown`].
///
/// Calls of procedures go to the engine's threads through one bounded queue. Definitions (CREATE,
/// DROP) and single statements outside procedures run alone, when no call runs: convenient, and
/// not meant for many a second. Once somebody has begun a transaction of several statements
/// (BEGIN), single statements are transactions beside others, too.
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
    pub(crate) sources: Arc<Latch<Sources>>,
    pub(crate) alone: Latch<Alone>,
    pub(crate) journal: Arc<Journal>,
    pub(crate) outcomes: Arc<Outcomes>,
    /// with a directory, while it is open
    checkpoints: Latch<Option<Arc<Checkpoints>>>,
    checkpointer: Latch<Option<BackgroundThread>>,
    /// rows were loaded that no log and no checkpoint has
    unlogged: AtomicBool,
    recovery: Option<RecoveryReport>,
    /// the way to the engine; none: calls run alone
    clients: Option<Arc<ClientQueue>>,
    engine: Latch<Option<Box<dyn RunningEngine>>>,
    /// the way to interactive transactions, if some may be open
    pub(crate) interactive: Option<Arc<dyn Interactive>>,
    /// they are the engine's own, whose statements hold what they touch
    pub(crate) locks_as_it_goes: bool,
    /// books of the engine that was stopped
    last_books: Latch<Statistics>,
    /// engines that run, those of [`Database::start_engine`] included
    running: Arc<AtomicUsize>,
    closed: AtomicBool,
    pub(crate) sequences: Sequences,
    pub(crate) cancellers: Cancellers,
    pub(crate) advisory: Arc<AdvisoryLocks>,
    pub(crate) library: Arc<Library>,
    /// where calls for a key are counted
    admission: Option<Admission>,
    opened: Ticks,
    /// of the engine that sessions' calls go to
    threads: usize,
    pub(crate) names: status::LockNames,
    pub(crate) snapshots: Snapshots,
    /// what the work of all sessions takes
    pub(crate) memory: Arc<MemoryAccount>,
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
        let staff = threads + config.sessions_for(entry);
        Inner::in_memory(config, staff).start(entry, threads)
    }

    /// Opens the database in a directory, or begins one there, with the engine that `config` names:
    /// all that was committed is there again. One process at a time can have it open.
    ///
    /// # Errors
    ///
    /// As [`Database::open_in_memory`]; [`Error::Log`] when the directory cannot be used, another
    /// process has it, or the log is damaged; [`Error::Recovery`] when the log cannot be repeated.
    pub fn open(path: impl AsRef<Path>, config: Config) -> Result<Self, Error> {
        let entry = engine_named(&config.engine)?;
        Self::open_with(entry, path, config, |_| ())
    }

    /// As [`Database::open`], with an engine that need not be in the engine table, telling how far
    /// recovery is from time to time.
    ///
    /// # Errors
    ///
    /// As [`Database::open`].
    pub fn open_with(
        entry: &EngineEntry,
        path: impl AsRef<Path>,
        config: Config,
        progress: impl FnMut(RecoveryProgress),
    ) -> Result<Self, Error> {
        config.check_with_directory()?;
        let threads = config.threads_for(Some(entry));
        let staff = threads + config.sessions_for(entry);
        let directory = DataDirectory::open(path.as_ref())?;
        Inner::in_directory(directory, config, staff, progress)?.start(entry, threads)
    }

    /// Whether any user has, or ever had, a password: then nobody should be let in without one. It
    /// stays so: the last password cannot be taken away.
    pub fn asks_for_passwords(&self) -> bool {
        self.inner.schema.current().catalog.had_passwords()
    }

    /// Whether any user has a password.
    pub fn has_passwords(&self) -> bool {
        self.inner.schema.current().catalog.users().values().any(Option::is_some)
    }

    /// What the password of a user is checked with; none if there is no such user, or it has none.
    pub fn verifier_of(&self, user: &str) -> Option<Verifier> {
        let schema = self.inner.schema.current();
        Verifier::parse(schema.catalog.users().get(user)?.as_deref()?)
    }

    /// As [`Database::open_in_memory_without_engine`], in a directory.
    ///
    /// # Errors
    ///
    /// As [`Database::open`].
    pub fn open_without_engine(
        path: impl AsRef<Path>,
        config: Config,
        progress: impl FnMut(RecoveryProgress),
    ) -> Result<Self, Error> {
        Self::in_directory_without_engine(path.as_ref(), config, progress, |directory| directory)
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
        Ok(Self { inner: Arc::new(Inner::in_memory(config, threads)) })
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
        self.inner.refuse_threads(options)?;
        if sources.len() != options.threads {
            let given = sources.len() as u64;
            return Err(Error::Config { what: "sources", allowed: "one per thread", given });
        }
        self.inner.refuse_unlogged()?;
        self.inner.journal.cut();
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
        self.inner.engine_statistics()
    }

    pub(crate) fn schema(&self) -> Arc<Schema> {
        self.inner.wait_for_definitions();
        self.inner.schema.current()
    }

    /// The serial order of commits, where [`Config::trace`] asked for it. Statements outside
    /// procedures are not in it.
    pub fn trace(&self) -> Option<&SerialTrace> {
        self.inner.journal.trace().map(|trace| &**trace)
    }

    /// What a transaction outlives once its end is told.
    pub fn durability(&self) -> Durability {
        self.inner.durability()
    }

    /// What opening the directory found and did; none for a database in memory.
    pub fn recovery(&self) -> Option<&RecoveryReport> {
        self.inner.recovery.as_ref()
    }

    /// The log, for who must know when a call's end may be told; none for a database in memory.
    pub fn log(&self) -> Option<&Arc<Log>> {
        self.inner.journal.log()
    }

    /// What planning knows of each access of a procedure, as text for people.
    ///
    /// # Errors
    ///
    /// 42883 when there is no such procedure.
    pub fn explain_procedure(&self, name: &str) -> Result<String, Error> {
        Ok(definition::explain(&self.inner.schema.current(), name)?.0)
    }

    /// The flow graph of a procedure, in the language DOT: its accesses by phases, and what each
    /// waits for.
    ///
    /// # Errors
    ///
    /// 42883 when there is no such procedure.
    pub fn draw_procedure(&self, name: &str) -> Result<String, Error> {
        Ok(definition::draw(&self.inner.schema.current(), name)?)
    }

    /// Takes a checkpoint: an image of all rows, with which the next start begins, and after which
    /// the log before it is removed. Transactions go on meanwhile. Without a directory nothing is
    /// done, and nothing is reported.
    ///
    /// # Errors
    ///
    /// [`Error::Closed`], [`Error::Checkpoint`], [`Error::Log`]; everything is then as before.
    pub fn checkpoint(&self) -> Result<Option<CheckpointReport>, Error> {
        self.checkpoint_with(&|_| ())
    }

    /// As [`Database::checkpoint`], telling how far it is; from several threads.
    ///
    /// # Errors
    ///
    /// As [`Database::checkpoint`].
    pub fn checkpoint_with(
        &self,
        progress: &(dyn Fn(CheckpointProgress) + Sync),
    ) -> Result<Option<CheckpointReport>, Error> {
        self.inner.checkpoint(progress)
    }

    /// A loader of many rows, without transactions; see [`BulkLoader`].
    ///
    /// # Errors
    ///
    /// [`Error::EngineRuns`], [`Error::Closed`].
    pub fn bulk_loader(&self) -> Result<BulkLoader<'_>, Error> {
        self.inner.refuse_engine()?;
        Ok(BulkLoader::new(&self.inner, self.inner.quiet(Purpose::ALONE)?))
    }

    pub(crate) fn inner(&self) -> &Inner {
        &self.inner
    }
}

impl Inner {
    fn in_memory(config: Config, staff: usize) -> Self {
        let schema = empty_schema(&config, staff);
        let outcomes = Arc::new(config.outcomes());
        Self::new(config, schema, Sources::default(), outcomes, None)
    }

    fn in_directory(
        directory: DataDirectory,
        config: Config,
        staff: usize,
        progress: impl FnMut(RecoveryProgress),
    ) -> Result<Self, Error> {
        let schema = empty_schema(&config, staff);
        let recovered = recovery::recover(&directory, &schema, &config, progress)?;
        checkpoint::remove_older(&**directory.checkpoint_files(), recovered.checkpoint.as_ref())?;
        let log = directory.start_log(recovered.tail, &config, staff + 1)?;
        let mut inner = Self::new(config, schema, recovered.sources, recovered.outcomes, Some(log));
        let repeated = recovered.report.log_bytes;
        let checkpoints = Arc::new(inner.checkpoints_in(directory, repeated));
        if let Some(log_bytes) = inner.config.checkpoint_log_bytes {
            inner.checkpointer =
                Latch::new(start_checkpointer(Arc::clone(&checkpoints), log_bytes));
        }
        inner.checkpoints = Latch::new(Some(checkpoints));
        inner.recovery = Some(recovered.report);
        Ok(inner)
    }

    fn new(
        config: Config,
        schema: Arc<SharedSchema>,
        sources: Sources,
        outcomes: Arc<Outcomes>,
        log: Option<Arc<Log>>,
    ) -> Self {
        bugs::expect();
        let trace = config.trace.then(|| Arc::new(SerialTrace::default()));
        let workers = schema.current().memory.workers();
        let journal = Journal::new(workers, log, trace).with_entries(config.log_entries);
        let journal = Arc::new(journal);
        schema.tell_changes_to(&journal);
        let admission = config.calls_per_key_max.map(Admission::new);
        Self {
            schema,
            sources: Arc::new(Latch::new(sources)),
            outcomes,
            alone: Latch::new(Alone::new(&config, &journal)),
            journal,
            checkpoints: Latch::new(None),
            checkpointer: Latch::new(None),
            unlogged: AtomicBool::new(false),
            recovery: None,
            memory: MemoryAccount::process(config.work_memory_bytes),
            config,
            clients: None,
            engine: Latch::new(None),
            interactive: None,
            locks_as_it_goes: false,
            last_books: Latch::new(Statistics::default()),
            running: Arc::new(AtomicUsize::new(0)),
            closed: AtomicBool::new(false),
            sequences: Sequences::default(),
            cancellers: Cancellers::default(),
            advisory: Arc::default(),
            library: Arc::default(),
            admission,
            opened: Ticks::now(),
            threads: 0,
            names: status::LockNames::default(),
            snapshots: Snapshots::default(),
        }
    }

    fn start(mut self, entry: &EngineEntry, threads: usize) -> Result<Database, Error> {
        let options = self.config.engine_options(threads, self.config.sessions_for(entry));
        self.serve(entry, &options)?;
        Ok(Database { inner: Arc::new(self) })
    }

    fn ground(&self) -> Ground {
        Ground { schema: Arc::clone(&self.schema), journal: Arc::clone(&self.journal) }
    }

    /// Where a worker tells the ends of calls with keys.
    fn ends(&self, worker: WorkerId) -> Ends {
        let outcomes = Arc::clone(&self.outcomes);
        Ends { outcomes, committer: Committer::new(&self.journal, worker) }
    }

    fn checkpoints_in(&self, directory: DataDirectory, bytes_repeated: u64) -> Checkpoints {
        Checkpoints {
            schema: Arc::clone(&self.schema),
            journal: Arc::clone(&self.journal),
            sources: Arc::clone(&self.sources),
            outcomes: Arc::clone(&self.outcomes),
            directory: Arc::new(directory),
            threads: self.config.checkpoint_threads,
            bytes_repeated,
            bytes_before: AtomicU64::new(0),
            turn: parking_lot::Mutex::new(()),
        }
    }

    pub(crate) fn checkpoint(
        &self,
        progress: &(dyn Fn(CheckpointProgress) + Sync),
    ) -> Result<Option<CheckpointReport>, Error> {
        self.refuse_closed()?;
        let checkpoints = self.checkpoints.lock().clone();
        let Some(checkpoints) = checkpoints else { return Ok(None) };
        let report = checkpoints.take(progress)?;
        Ok(Some(report))
    }

    /// Tells that rows were loaded, or that they are safe.
    pub(crate) fn set_unlogged(&self, unlogged: bool) {
        let unlogged = unlogged && self.journal.log().is_some();
        self.unlogged.store(unlogged, Ordering::Relaxed); // told to the caller's own thread
    }

    pub(crate) fn refuse_unlogged(&self) -> Result<(), Error> {
        let unlogged = self.unlogged.load(Ordering::Relaxed); // see `set_unlogged`
        if unlogged { Err(Error::Unlogged) } else { Ok(()) }
    }

    pub(crate) fn durability(&self) -> Durability {
        if self.journal.log().is_some() { self.config.durability } else { Durability::Memory }
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
    pub(crate) fn quiet(&self, why: Purpose) -> Result<Quiet<'_>, Error> {
        self.quiet_unless(why, None)
    }

    /// As [`Inner::quiet`], unless a statement that wants it is interrupted before it comes: it is
    /// waited for like a lock.
    pub(crate) fn quiet_unless(
        &self,
        why: Purpose,
        interrupt: Option<&Arc<Interrupt>>,
    ) -> Result<Quiet<'_>, Error> {
        let deadline = interrupt.and_then(|interrupt| interrupt.lock_deadline());
        let check = || interrupt.map_or(Ok(()), |interrupt| interrupt.check_wait(deadline));
        match self.schema.quiet_while(why, || check().is_ok()) {
            Some(quiet) => {
                self.refuse_closed()?;
                Ok(quiet)
            }
            None => Err(SqlError::from(check().err().unwrap_or(Interruption::Request)).into()),
        }
    }

    /// See [`Journal::cut`].
    pub(crate) fn cut(&self) -> Position {
        self.journal.cut()
    }

    /// As [`Inner::quiet`], but lets interactive transactions be; 55P03 when that cannot be.
    pub(crate) fn quiet_beside(&self) -> Result<Quiet<'_>, Error> {
        let Some(quiet) = self.schema.quiet_beside(|_| ControlFlow::Continue(())) else {
            let message = "no moment without calls came while others wait for open transactions";
            let hint = "Try again when those transactions have ended.";
            return Err(advised(b"55P03", message.to_owned(), hint).into());
        };
        self.refuse_closed()?;
        Ok(quiet)
    }

    pub(crate) fn refuse_closed(&self) -> Result<(), Error> {
        // Relaxed: after `shutdown` has returned its store is seen; before, either is right.
        if self.closed.load(Ordering::Relaxed) { Err(Error::Closed) } else { Ok(()) }
    }

    /// The error of BEGIN in a database that was opened for calls only.
    pub(crate) fn no_transactions(&self) -> SqlError {
        let message = "the database was opened for no transactions of several statements";
        let hint = "Open it with open_transactions_max above 0, or write a procedure: a call is \
                    atomic.";
        advised(b"0A000", message.to_owned(), hint)
    }

    fn shutdown(&self) {
        let mut engine = self.engine.lock();
        self.closed.store(true, Ordering::Relaxed); // see `refuse_closed`
        if let Some(interactive) = &self.interactive {
            interactive.close(); // first: calls may be waiting for one
        }
        if let Some(clients) = &self.clients {
            clients.drain();
        }
        if let Some(engine) = engine.take() {
            *self.last_books.lock() = engine.stop();
        }
        drop(self.checkpointer.lock().take());
        if let Some(log) = self.journal.log() {
            // Who waits for something is told of a failure; nobody else misses anything.
            let _ = log.stop();
        }
        // Lets go of the directory, unless a checkpoint is still being taken.
        *self.checkpoints.lock() = None;
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

/// `staff`: threads and interactive transactions.
pub(crate) fn empty_schema(config: &Config, staff: usize) -> Arc<SharedSchema> {
    let workers = staff + 1; // I1
    let memory = Memory::new(workers, config.memory_bytes).split_into(config.split_indexes);
    let memory = Arc::new(memory);
    Arc::new(SharedSchema::new(Schema::empty(memory), workers))
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
    fn interactive(&self) -> Option<Arc<dyn Interactive>> {
        self.engine.as_ref()?.interactive()
    }

    fn statistics(&self) -> Statistics {
        self.engine.as_ref().map(|engine| engine.statistics()).unwrap_or_default()
    }

    fn waits(&self) -> Vec<(Awaited, Waited)> {
        self.engine.as_ref().map(|engine| engine.waits()).unwrap_or_default()
    }

    fn choice(&self) -> Option<String> {
        self.engine.as_ref()?.choice()
    }

    fn expected_rate(&self) -> Option<f64> {
        self.engine.as_ref()?.expected_rate()
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
