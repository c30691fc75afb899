//! Errors of the embedded database.

use hotrow_base::value::ValueError;
use hotrow_engine::contract::OptionError;
use hotrow_log::checkpoint::CheckpointError;
use hotrow_log::error::LogError;
use hotrow_log::error::LogFailure;
use hotrow_transaction::deferred::as_told;
use hotrow_transaction::outcome::SqlError;

/// Why something did not happen. After an error of a call or statement nothing of it remains.
#[derive(Clone, Debug, thiserror::Error)]
pub enum Error {
    /// SQL: syntax, names, types, constraints, RAISE; also a full queue (53300) and a full memory
    /// (53200). Has a SQLSTATE, PostgreSQL's where PostgreSQL has one.
    #[error("{0}")]
    Sql(Box<SqlError>),
    /// the result of a call does not have the Rust type that was asked for
    #[error("the result cannot be read as asked: {0}")]
    Result(String),
    /// no such engine
    #[error("there is no engine \"{name}\"; there are: {known}")]
    UnknownEngine {
        /// the name
        name: String,
        /// the names there are
        known: String,
    },
    /// a setting or thread count that the engine cannot use
    #[error(transparent)]
    Option(#[from] OptionError),
    /// a number of the configuration is out of range
    #[error("{what} must be {allowed}, not {given}")]
    Config {
        /// the number's name
        what: &'static str,
        /// its range
        allowed: &'static str,
        /// what it was
        given: u64,
    },
    /// the directory or the log in it cannot be used
    #[error(transparent)]
    Log(#[from] LogError),
    /// a checkpoint cannot be written or read
    #[error(transparent)]
    Checkpoint(#[from] CheckpointError),
    /// sessions, or clones of the handle, are there where the database must be in one hand
    #[error("sessions of the database are in use; drop them first")]
    InUse,
    /// rows were loaded in bulk and are not in a checkpoint yet
    #[error(
        "rows were loaded in bulk and are not durable: finish the bulk load, or take a checkpoint"
    )]
    Unlogged,
    /// the log is whole, but what it says cannot be repeated
    #[error("{place}: the log entry cannot be repeated: {what}")]
    Recovery {
        /// file and offset of its block, and its position
        place: String,
        /// why
        what: String,
    },
    /// a database with a directory cannot do without a log
    #[error(
        "a database with a directory is durable or buffered; open it in memory to go without a log"
    )]
    MemoryInDirectory,
    /// the database was shut down
    #[error("the database was shut down")]
    Closed,
    /// bulk loading and starting an engine need a database without a running engine
    #[error("an engine is running; stop it first, or open the database without one")]
    EngineRuns,
}

impl Error {
    /// The SQL error, if it is one.
    pub fn as_sql(&self) -> Option<&SqlError> {
        match self {
            Self::Sql(error) => Some(error),
            _ => None,
        }
    }

    /// As callers are told it who have no session that would check a constraint before COMMIT: what
    /// is violated at the end of a call is violated.
    pub(crate) fn told(self) -> Self {
        match self {
            Self::Sql(error) if error.is_deferred() => Self::Sql(Box::new(as_told(*error))),
            other => other,
        }
    }

    /// The SQLSTATE, five characters, if it is a SQL error.
    pub fn sqlstate(&self) -> Option<&str> {
        self.as_sql().map(SqlError::code)
    }
}

impl From<SqlError> for Error {
    fn from(error: SqlError) -> Self {
        Self::Sql(Box::new(error))
    }
}

impl From<Box<SqlError>> for Error {
    fn from(error: Box<SqlError>) -> Self {
        Self::Sql(error)
    }
}

impl From<ValueError> for Error {
    fn from(error: ValueError) -> Self {
        Self::Result(error.to_string())
    }
}

/// A SQL error with a hint.
pub(crate) fn advised(code: &[u8; 5], message: String, hint: impl Into<String>) -> SqlError {
    let mut error = SqlError::new(code, message);
    error.hint = Some(hint.into());
    error
}

/// The error that stands for an answer which would tell what is lost, or may be.
pub(crate) fn lost(failure: &LogFailure, changes: bool) -> SqlError {
    let (code, message, hint) = match changes {
        true => (
            b"08007",
            "whether the call will outlast a restart is unknown",
            "Restart the database, then look whether the call took effect before repeating it.",
        ),
        false => (
            b"58030",
            "what was read may not outlast a restart: the log has failed",
            "Restart the database, then ask again.",
        ),
    };
    let mut error = advised(code, message.to_owned(), hint);
    error.detail = Some(failure.to_string());
    error
}

/// Definitions came in between again and again.
pub(crate) fn changing() -> SqlError {
    let message = "definitions changed again and again while the statement was compiled";
    advised(b"40001", message.to_owned(), "Repeat the transaction.")
}
