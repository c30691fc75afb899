//! Why a benchmark could not be run.

use std::path::Path;

use hotrow_workloads::ParameterError;

/// Why a benchmark could not be run. A check that fails is no error: it stands in the report.
#[derive(Debug, thiserror::Error)]
pub enum BenchError {
    /// no such engine, or a text that names none
    #[error("{0}")]
    Selection(String),
    /// the workload refuses a parameter
    #[error(transparent)]
    Parameter(#[from] ParameterError),
    /// the database refused something
    #[error(transparent)]
    Database(#[from] hotrow::Error),
    /// the history cannot be written
    #[error(transparent)]
    History(#[from] hotrow_history::Error),
    /// a directory for a database cannot be made
    #[error("{path}: {reason}")]
    Directory {
        /// the directory
        path: String,
        /// what the system says
        reason: String,
    },
    /// a file cannot be written
    #[error(transparent)]
    Io(#[from] std::io::Error),
    /// a figure cannot be drawn
    #[error("the figure cannot be drawn: {0}")]
    Drawing(String),
    /// the engine ended without telling what became of its calls
    #[error("the engine ended before it gave its calls back; this is a bug in Hotrow")]
    LostCalls,
    /// the recorded calls came back with something that they cannot return
    #[error("a recorded call returned {0}; this is a bug in Hotrow")]
    Unreadable(String),
}

impl BenchError {
    pub(crate) fn directory(path: &Path, error: &std::io::Error) -> Self {
        Self::Directory { path: path.display().to_string(), reason: error.to_string() }
    }

    /// Whether the caller asked for something that there is not, rather than something failing.
    pub fn is_usage(&self) -> bool {
        use hotrow::Error::{Config, Option, UnknownEngine};
        match self {
            Self::Selection(_) | Self::Parameter(_) => true,
            Self::Database(error) => {
                matches!(error, Config { .. } | Option(_) | UnknownEngine { .. })
            }
            Self::History(error) => matches!(error, hotrow_history::Error::NotExpressible { .. }),
            _ => false,
        }
    }
}
