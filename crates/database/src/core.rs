//! What the parts of a database share: the schema, the log, the engine, and the books.
//!
//! Role         one for all handles, sessions and threads of a database; knows no session, and of
//!              statements only how to have one of its own run ([`RunOwn`])
//! States       open -> closed (`shutdown`, or the drop of the last handle); never open again
//! Invariants   I1 worker 0 is the quiet points'; engines and bulk parts have the ids from 1, first
//!              threads, then interactive transactions, then callers' places
//!              I2 bulk parts and an engine never run at the same time: they would share ids
//! Concurrency  `schema` -> see `SharedSchema`; `alone` -> only at quiet points (the latch says so
//!              to the compiler); `definer`, `sources` -> see [`crate::defining`]; `engine` ->
//!              taken out once, by who shuts down; the way to the engine is changed only while
//!              nobody else has the database

mod calls;
mod serve;
mod started;

use hotrow_base::sync::facade::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::ops::ControlFlow;
use std::sync::Arc;

use hotrow_base::clock::Ticks;
use hotrow_base::ids::WorkerId;
use hotrow_base::interrupt::{Interrupt, Interruption, WaitForTurn};
use hotrow_base::memory::MemoryAccount;
use hotrow_base::sync::Latch;
use hotrow_base::thread::BackgroundThread;
use hotrow_base::value::Value;
use hotrow_engine::contract::{EngineEntry, Ground, RunningEngine};
use hotrow_engine::interactive::Interactive;
use hotrow_engine::journal::{Committer, Journal};
use hotrow_engine::schema::{Memory, Purpose, Quiet, Schema, SharedSchema};
use hotrow_engine::statistics::Statistics;
use hotrow_engine::trace::SerialTrace;
use hotrow_log::checkpoint;
use hotrow_log::log::Log;
use hotrow_log::position::Position;
use hotrow_transaction::outcome::SqlError;
use parking_lot::{Mutex, RwLock};

use crate::admission::Admission;
use crate::advisory::AdvisoryLocks;
use crate::alone::Alone;
use crate::books::Library;
use crate::bugs;
use crate::cancel::Cancellers;
use crate::checkpoint::{CheckpointProgress, CheckpointReport, Checkpoints, start_checkpointer};
use crate::client::{ClientQueue, Ends};
use crate::config::{Config, Durability};
use crate::data_directory::DataDirectory;
use crate::definition::Sources;
use crate::error::{Error, advised};
use crate::lock_names::LockNames;
use crate::notifications::Notifications;
use crate::once::Outcomes;
use crate::recovery::{self, RecoveryProgress, RecoveryReport};
use crate::rows::Rows;
use crate::sequences::Sequences;
use crate::snapshots::Snapshots;
use crate::temporary::TemporaryNumbers;

/// Runs a statement of the database's own, with values for its parameters, as a transaction of its
/// own: what nobody below a session can do.
pub(crate) type RunOwn = fn(&Arc<Core>, &str, &[Value]) -> Result<Rows, Error>;

/// One for each database; whoever has a handle, a session or a procedure has a share of it.
pub(crate) struct Core {
    pub(crate) schema: Arc<SharedSchema>,
    pub(crate) config: Config,
    /// texts of the procedures, to compile them again
    pub(crate) sources: Arc<RwLock<Sources>>,
    /// held by whoever makes a definition
    pub(crate) definer: Mutex<()>,
    pub(crate) alone: Latch<Alone>,
    pub(crate) journal: Arc<Journal>,
    pub(crate) outcomes: Arc<Outcomes>,
    /// with a directory, while it is open
    checkpoints: Latch<Option<Arc<Checkpoints>>>,
    checkpointer: Latch<Option<BackgroundThread>>,
    /// rows were loaded that no log and no checkpoint has
    unlogged: AtomicBool,
    pub(crate) recovery: Option<RecoveryReport>,
    /// the way to the engine; none: calls run alone
    pub(crate) clients: Option<Arc<ClientQueue>>,
    engine: Latch<Option<Box<dyn RunningEngine>>>,
    /// the way to interactive transactions, if some may be open
    pub(crate) interactive: Option<Arc<dyn Interactive>>,
    /// the way to those that have definitions, where the engine's own can have none
    pub(crate) definers: Option<Arc<dyn Interactive>>,
    /// they are the engine's own, whose statements hold what they touch
    pub(crate) locks_as_it_goes: bool,
    /// books of the engine that was stopped
    last_books: Latch<Statistics>,
    /// engines that run, those of [`crate::Database::start_engine`] included
    running: Arc<AtomicUsize>,
    closed: AtomicBool,
    pub(crate) sequences: Sequences,
    pub(crate) temporary: TemporaryNumbers,
    pub(crate) cancellers: Cancellers,
    pub(crate) advisory: Arc<AdvisoryLocks>,
    pub(crate) notifications: Notifications,
    pub(crate) library: Arc<Library>,
    /// where calls for a key are counted
    admission: Option<Admission>,
    pub(crate) opened: Ticks,
    /// of the engine that sessions' calls go to
    pub(crate) threads: usize,
    pub(crate) names: LockNames,
    pub(crate) snapshots: Snapshots,
    /// what the work of all sessions takes
    pub(crate) memory: Arc<MemoryAccount>,
    pub(crate) run_own: RunOwn,
}

impl Core {
    /// An empty one. `staff`: threads, interactive transactions and callers' places.
    pub(crate) fn in_memory(config: Config, staff: usize, run_own: RunOwn) -> Self {
        let schema = empty_schema(&config, staff);
        let outcomes = Arc::new(Outcomes::of(&config));
        Self::new(config, schema, Sources::default(), outcomes, None, run_own)
    }

    /// What a directory has, or an empty one that begins there.
    pub(crate) fn in_directory(
        directory: DataDirectory,
        config: Config,
        staff: usize,
        run_own: RunOwn,
        progress: impl FnMut(RecoveryProgress),
    ) -> Result<Self, Error> {
        let schema = empty_schema(&config, staff);
        let recovered = recovery::recover(&directory, &schema, &config, progress)?;
        checkpoint::remove_older(&**directory.checkpoint_files(), recovered.checkpoint.as_ref())?;
        let log = directory.start_log(recovered.tail, &config, staff + 1)?;
        let (sources, outcomes) = (recovered.sources, recovered.outcomes);
        let mut core = Self::new(config, schema, sources, outcomes, Some(log), run_own);
        let repeated = recovered.report.log_bytes;
        let checkpoints = Arc::new(core.checkpoints_in(directory, repeated));
        if let Some(log_bytes) = core.config.checkpoint_log_bytes {
            core.checkpointer = Latch::new(start_checkpointer(Arc::clone(&checkpoints), log_bytes));
        }
        core.checkpoints = Latch::new(Some(checkpoints));
        core.recovery = Some(recovered.report);
        Ok(core)
    }

    fn new(
        config: Config,
        schema: Arc<SharedSchema>,
        sources: Sources,
        outcomes: Arc<Outcomes>,
        log: Option<Arc<Log>>,
        run_own: RunOwn,
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
            sources: Arc::new(RwLock::new(sources)),
            definer: Mutex::default(),
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
            definers: None,
            locks_as_it_goes: false,
            last_books: Latch::new(Statistics::default()),
            running: Arc::new(AtomicUsize::new(0)),
            closed: AtomicBool::new(false),
            sequences: Sequences::default(),
            temporary: TemporaryNumbers::default(),
            cancellers: Cancellers::default(),
            advisory: Arc::default(),
            notifications: Notifications::default(),
            library: Arc::default(),
            admission,
            opened: Ticks::now(),
            threads: 0,
            names: LockNames::default(),
            snapshots: Snapshots::default(),
            run_own,
        }
    }

    /// With an engine that runs the calls of sessions.
    pub(crate) fn start(mut self, entry: &EngineEntry, threads: usize) -> Result<Self, Error> {
        let options = self.config.engine_options(entry, threads);
        self.serve(entry, &options)?;
        Ok(self)
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
            turn: Mutex::default(),
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

    /// Bytes of log since the last checkpoint.
    pub(crate) fn bytes_since_checkpoint(&self) -> u64 {
        let checkpoints = self.checkpoints.lock().clone();
        checkpoints.map_or(0, |checkpoints| checkpoints.growth())
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

    /// Fails while an engine runs.
    pub(crate) fn refuse_engine(&self) -> Result<(), Error> {
        // Acquire; partner: the Release in the drop of `Started`.
        let running = self.running.load(Ordering::Acquire) > 0;
        if running { Err(Error::EngineRuns) } else { Ok(()) }
    }

    /// Waits until no call runs and keeps calls out until the guard is dropped.
    pub(crate) fn quiet(&self, why: Purpose) -> Result<Quiet<'_>, Error> {
        self.quiet_unless(why, None)
    }

    /// As [`Core::quiet`], unless a statement that wants it is interrupted before it comes: it is
    /// waited for like a lock.
    pub(crate) fn quiet_unless(
        &self,
        why: Purpose,
        interrupt: Option<&Arc<Interrupt>>,
    ) -> Result<Quiet<'_>, Error> {
        let wait = interrupt.map(Interrupt::begin_wait);
        let check = || wait.as_ref().map_or(Ok(()), WaitForTurn::check);
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

    /// As [`Core::quiet`], but lets interactive transactions be; 55P03 when that cannot be.
    pub(crate) fn quiet_beside(&self) -> Result<Quiet<'_>, Error> {
        let Some(quiet) = self.schema.quiet_beside(|| true, |_| ControlFlow::Continue(())) else {
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

    /// Whether a call is to be made again in a transaction of a session, which looks at violated
    /// constraints before it commits.
    pub(crate) fn can_check_later(&self, error: &SqlError) -> bool {
        error.is_deferred() && self.interactive.is_some()
    }

    /// The error of BEGIN in a database that was opened for calls only.
    pub(crate) fn no_transactions(&self) -> SqlError {
        let message = "the database was opened for no transactions of several statements";
        let hint = "Open it with open_transactions_max above 0, or write a procedure: a call is \
                    atomic.";
        advised(b"0A000", message.to_owned(), hint)
    }

    /// Ends it: see [`Database::shutdown`](crate::Database::shutdown).
    pub(crate) fn shutdown(&self) {
        let mut engine = self.engine.lock();
        self.closed.store(true, Ordering::Relaxed); // see `refuse_closed`
        for interactive in self.interactive.iter().chain(&self.definers) {
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

impl Drop for Core {
    fn drop(&mut self) {
        self.shutdown();
    }
}

/// `staff`: threads, interactive transactions and callers' places.
pub(crate) fn empty_schema(config: &Config, staff: usize) -> Arc<SharedSchema> {
    let workers = staff + 1; // I1
    let memory = Memory::new(workers, config.memory_bytes).split_into(config.split_indexes);
    let memory = Arc::new(memory);
    Arc::new(SharedSchema::new(Schema::empty(memory), workers))
}
