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
    /// nothing was done that could be judged
    #[error("{0}")]
    Idle(String),
    /// a server is not there, does not let us in, or refuses something
    #[error("{what}: {reason}")]
    Server {
        /// what was asked of it
        what: String,
        /// what it says, or the system
        reason: String,
    },
    /// a server has tables or procedures with the workload's names
    #[error(
        "{server} has something that the workload {workload} would overwrite:{names} \
         with --replace they are dropped, and what is in them is lost"
    )]
    Occupied {
        /// the workload
        workload: String,
        /// the server
        server: String,
        /// what there is
        names: String,
    },
    /// a story says something that cannot be, or that a database refuses
    #[error("story {story}: {what}: {reason}")]
    Story {
        /// the story
        story: String,
        /// the part of it
        what: String,
        /// what is wrong
        reason: String,
    },
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
    pub(crate) fn server(what: &str, error: &postgres::Error) -> Self {
        Self::Server { what: what.to_owned(), reason: told(error) }
    }

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

/// What a client's error says, with the server's words or the system's.
pub(crate) fn told(error: &postgres::Error) -> String {
    if let Some(refusal) = error.as_db_error() {
        let more = [("detail", refusal.detail()), ("hint", refusal.hint())];
        let more = more.into_iter().filter_map(|(word, text)| Some(format!("; {word}: {}", text?)));
        return format!(
            "ERROR {}: {}{}",
            refusal.code().code(),
            refusal.message(),
            more.collect::<String>()
        );
    }
    let mut text = error.to_string();
    let mut cause = std::error::Error::source(error);
    while let Some(why) = cause {
        text += &format!(": {why}");
        cause = why.source();
    }
    text
}
