//! What can go wrong with a checkpoint, in words that say where and what to do.

use crate::error::LogError;
use std::io;
use thiserror::Error;

/// Why a checkpoint could not be written or read.
#[derive(Clone, Debug, Error)]
pub enum CheckpointError {
    /// The system refused an operation on a file.
    #[error(transparent)]
    Io(#[from] LogError),
    /// A file is not what was written.
    #[error(
        "{path} is damaged at byte {offset}: {what}. Restore the files of this checkpoint from a \
         copy; or, if the log still reaches back to an older checkpoint or to its own beginning, \
         move them out of the directory"
    )]
    Damaged {
        /// The file.
        path: String,
        /// Where in it.
        offset: u64,
        /// What is wrong.
        what: String,
    },
    /// A checkpoint of a format this program does not write.
    #[error(
        "{path} has checkpoint format {found}, this program reads format {known}: open it with \
         {} version of Hotrow",
        if found > known { "a newer" } else { "the older" }
    )]
    UnknownVersion {
        /// The file.
        path: String,
        /// The version in its header.
        found: u32,
        /// The version of this program.
        known: u32,
    },
    /// A checkpoint of another database.
    #[error(
        "{path} belongs to another database (log id {found:016x}, this one is {expected:016x}): \
         it was copied here by mistake; move it out of the directory"
    )]
    WrongLog {
        /// The file.
        path: String,
        /// The log id in its header.
        found: u64,
        /// The log id of the database.
        expected: u64,
    },
}

impl CheckpointError {
    pub(super) fn io(action: &'static str, path: String) -> impl FnOnce(io::Error) -> Self {
        move |error| Self::Io(LogError::io(action, path, error))
    }
}
