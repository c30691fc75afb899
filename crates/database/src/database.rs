//! The database: a handle, and what there is to ask of it.

mod figures;
mod serve;
mod writers;

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use hotrow_base::clock;
use hotrow_engine::contract::{EngineEntry, EngineOptions, RunningEngine};
use hotrow_engine::schema::{Purpose, Schema};
use hotrow_engine::source::CallSource;
use hotrow_engine::statistics::Statistics;
use hotrow_engine::trace::SerialTrace;
use hotrow_log::log::Log;
use hotrow_transaction::catalog::{Attribute, Object, ObjectKind, Privileges};
use hotrow_transaction::outcome::SqlError;

use crate::bulk::BulkLoader;
use crate::checkpoint::{CheckpointProgress, CheckpointReport};
use crate::config::{Config, Durability};
use crate::core::Core;
use crate::data_directory::DataDirectory;
use crate::definition;
use crate::engine_table::engine_named;
use crate::error::Error;
use crate::recovery::{RecoveryProgress, RecoveryReport};
use crate::session::{Session, run_own};
use crate::temporary;
use crate::verifier::Verifier;

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
    core: Arc<Core>,
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
        let staff = config.staff_for(entry, threads);
        let core = Core::in_memory(config, staff, run_own).start(entry, threads)?;
        Ok(Self { core: Arc::new(core) })
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
        let staff = config.staff_for(entry, threads);
        let directory = DataDirectory::open(path.as_ref())?;
        let core = Core::in_directory(directory, config, staff, run_own, progress)?;
        let core = Arc::new(core.start(entry, threads)?);
        temporary::drop_left(&core);
        Ok(Self { core })
    }

    /// Whether any user has, or ever had, a password: then nobody should be let in without one. It
    /// stays so: the last password cannot be taken away.
    pub fn asks_for_passwords(&self) -> bool {
        self.core.schema.current().catalog.rights().had_passwords()
    }

    /// Whether any user has a password.
    pub fn has_passwords(&self) -> bool {
        let schema = self.core.schema.current();
        schema.catalog.rights().roles().any(|(_, role)| role.verifier.is_some())
    }

    /// What the password of a user is checked with; none if there is no such user, or it has none
    /// that is still good.
    pub fn verifier_of(&self, user: &str) -> Option<Verifier> {
        let schema = self.core.schema.current();
        let role = schema.catalog.rights().role(user)?;
        let is_over = role.valid_until_us.is_some_and(|until| until < clock::now_us());
        Verifier::parse(role.verifier.as_deref().filter(|_| !is_over)?)
    }

    /// Whether a user whose name is that of a role may begin a session: who is no role may.
    ///
    /// # Errors
    ///
    /// 28000 for a role without LOGIN, 53300 for one with as many sessions as it may have, 42501
    /// for one that may not CONNECT.
    pub fn may_log_in(&self, user: &str) -> Result<(), SqlError> {
        let schema = self.core.schema.current();
        let rights = schema.catalog.rights();
        let Some(role) = rights.role(user) else { return Ok(()) };
        if !role.attributes.has(Attribute::Login) {
            let message = format!("role \"{user}\" is not permitted to log in");
            return Err(SqlError::new(b"28000", message));
        }
        let actor = rights.actor(Some(user));
        if !actor.may(&Object::Database, ObjectKind::Database, Privileges::CONNECT) {
            let message = "permission denied for database".to_owned();
            let mut error = SqlError::new(b"42501", message);
            error.detail = Some("User does not have CONNECT privilege.".to_owned());
            return Err(error);
        }
        let most = usize::try_from(role.connections_max).unwrap_or(usize::MAX);
        if !actor.is_superuser() && self.core.cancellers.count_of(user) >= most {
            let message = format!("too many connections for role \"{user}\"");
            return Err(SqlError::new(b"53300", message));
        }
        Ok(())
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
        Ok(Self { core: Arc::new(Core::in_memory(config, threads, run_own)) })
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
        self.core.start_engine(entry, options, sources)
    }

    /// A session: how one thread talks to the database.
    pub fn session(&self) -> Session {
        Session::new(Arc::clone(&self.core))
    }

    /// Ends the database: refuses new calls, finishes those that wait, and joins the engine's
    /// threads. Afterwards everything but descriptions fails with [`Error::Closed`]. A second
    /// shutdown waits for the first and does nothing.
    pub fn shutdown(&self) {
        self.core.shutdown();
    }

    /// What the engine's threads did so far, summed; of an engine started by
    /// [`Database::start_engine`], ask that engine.
    pub fn statistics(&self) -> Statistics {
        self.core.engine_statistics()
    }

    pub(crate) fn schema(&self) -> Arc<Schema> {
        self.core.wait_for_definitions();
        self.core.schema.current()
    }

    /// The serial order of commits, where [`Config::trace`] asked for it. Statements outside
    /// procedures are not in it.
    pub fn trace(&self) -> Option<&SerialTrace> {
        self.core.journal.trace().map(|trace| &**trace)
    }

    /// What a transaction outlives once its end is told.
    pub fn durability(&self) -> Durability {
        self.core.durability()
    }

    /// What opening the directory found and did; none for a database in memory.
    pub fn recovery(&self) -> Option<&RecoveryReport> {
        self.core.recovery.as_ref()
    }

    /// The log, for who must know when a call's end may be told; none for a database in memory.
    pub fn log(&self) -> Option<&Arc<Log>> {
        self.core.journal.log()
    }

    /// What planning knows of each access of a procedure, as text for people.
    ///
    /// # Errors
    ///
    /// 42883 when there is no such procedure.
    pub fn explain_procedure(&self, name: &str) -> Result<String, Error> {
        Ok(definition::explain(&self.core.schema.current(), name)?.0)
    }

    /// The flow graph of a procedure, in the language DOT: its accesses by phases, and what each
    /// waits for.
    ///
    /// # Errors
    ///
    /// 42883 when there is no such procedure.
    pub fn draw_procedure(&self, name: &str) -> Result<String, Error> {
        Ok(definition::draw(&self.core.schema.current(), name)?)
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
        self.core.checkpoint(progress)
    }

    /// A loader of many rows, without transactions; see [`BulkLoader`].
    ///
    /// # Errors
    ///
    /// [`Error::EngineRuns`], [`Error::Closed`].
    pub fn bulk_loader(&self) -> Result<BulkLoader<'_>, Error> {
        self.core.refuse_engine()?;
        Ok(BulkLoader::new(&self.core, self.core.quiet(Purpose::ALONE)?))
    }

    pub(crate) fn core(&self) -> &Core {
        &self.core
    }
}

impl fmt::Debug for Database {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Database").field("config", &self.core.config).finish_non_exhaustive()
    }
}
