//! What can go wrong with the log, in words that say where and what to do.
//!
//! Role         [`LogError`] is given by what opens, reads and starts a log; [`LogFailure`] is the
//!              state of a running log that writes no more. Both are cheap to clone: a failure is
//!              told to every waiting client

use std::io;
use std::sync::Arc;
use thiserror::Error;

/// Why a log could not be opened, read, started or written.
#[derive(Clone, Debug, Error)]
pub enum LogError {
    /// The system refused an operation on a file.
    #[error("cannot {action} {path}: {source}{}", advice(source))]
    Io {
        /// What was tried: "write to", "sync".
        action: &'static str,
        /// The file or directory.
        path: String,
        /// What the system answered.
        source: Arc<io::Error>,
    },
    /// Somebody took a file of a running log away, or changed it.
    #[error(
        "{path} {found} while the database had it open: nothing is acknowledged any more, since it \
         might be lost with that file. What the server has in memory can still be read: read out \
         (COPY, pg_dump) what must not be lost. Then stop the server, put the file back where it \
         was (or the directory from a copy), and start again"
    )]
    Disturbed {
        /// The file.
        path: String,
        /// What it was found to be: "was removed or renamed".
        found: String,
    },
    /// Anybody could put another database in place of this one.
    #[error(
        "{path} may be changed by anybody (mode {mode:03o}), so a database in it could be taken \
         away \
         or replaced: chmod 700 it, or give the database a directory of its own"
    )]
    Exposed {
        /// The directory.
        path: String,
        /// Its permissions.
        mode: u32,
    },
    /// Another process uses the database.
    #[error(
        "{path} is held by another process{}: one process at a time may open a database; \
         stop that one, or connect to it",
        holder.map_or_else(String::new, |pid| format!(" (pid {pid})"))
    )]
    Locked {
        /// The lock file.
        path: String,
        /// The process that wrote its id into it.
        holder: Option<u32>,
    },
    /// A segment of a format this program does not write.
    #[error(
        "{path} has log format {found}, this program reads format {known}: open it with {} \
         version of Hotrow",
        if found > known { "a newer" } else { "the older" }
    )]
    UnknownVersion {
        /// The segment.
        path: String,
        /// The version in its header.
        found: u32,
        /// The version of this program.
        known: u32,
    },
    /// A segment of another database's log.
    #[error(
        "{path} belongs to another log (id {found:016x}, this one is {expected:016x}): it was \
         copied here by mistake; move it out of the directory"
    )]
    WrongLog {
        /// The segment.
        path: String,
        /// The log id in its header.
        found: u64,
        /// The log id of the first segment.
        expected: u64,
    },
    /// A segment under a name that is not its own.
    #[error(
        "{path} is a copy of or was renamed from {own_name}: restore the name, or move it out of \
         the directory if {own_name} is there too"
    )]
    WrongName {
        /// The segment.
        path: String,
        /// The name its header asks for.
        own_name: String,
    },
    /// Bytes that were once synced are not what was written.
    #[error(
        "{path} is damaged at byte {offset}, where {expected} was expected: {found}. What follows \
         was written later and is not lost, but cannot be applied without it: restore the file \
         from a copy"
    )]
    Damaged {
        /// The segment.
        path: String,
        /// Where in it.
        offset: u64,
        /// What should stand there.
        expected: String,
        /// What stands there.
        found: String,
    },
    /// The last block is not what was written, and does not look as if it was torn.
    #[error(
        "{path} is damaged at byte {offset}, where {expected} was expected: {found}. Nothing \
         follows, but a write cut short by a power failure leaves some sector unwritten, and here \
         none is: the block may have been acknowledged. Restore the file from a copy; or, to give \
         the block up, fill the file with zeros from there to its end"
    )]
    DamagedEnd {
        /// The segment.
        path: String,
        /// Where in it.
        offset: u64,
        /// What should stand there.
        expected: String,
        /// What stands there.
        found: String,
    },
    /// Blocks that are in no file.
    #[error(
        "{path} ends at byte {offset}, and blocks {first} to {last} are in no other file: restore \
         the missing segments, or the rest of this one, from a copy"
    )]
    Missing {
        /// The segment before the gap.
        path: String,
        /// Where its blocks end.
        offset: u64,
        /// The first block that is missing.
        first: u64,
        /// The last one.
        last: u64,
    },
    /// The log does not reach back to where replay has to begin.
    #[error(
        "the log in {path} begins after epoch {begins_after}, but is needed from epoch {needed}: \
         restore the newest checkpoint or the older segments from a copy"
    )]
    BeginsTooLate {
        /// The log's directory.
        path: String,
        /// The epoch of the last block that is no longer there.
        begins_after: u64,
        /// The epoch from which on blocks were asked for.
        needed: u64,
    },
    /// A database that has a checkpoint has no log.
    #[error(
        "there is no log in {path}, but a checkpoint says that it is needed from epoch {needed}: \
         restore the log's directory from a copy"
    )]
    Absent {
        /// The log's directory.
        path: String,
        /// The epoch from which on blocks were asked for.
        needed: u64,
    },
}

impl LogError {
    /// An error of the system while doing `action` to `path`.
    pub fn io(action: &'static str, path: impl Into<String>, source: io::Error) -> Self {
        Self::Io { action, path: path.into(), source: Arc::new(source) }
    }
}

/// What to do about an answer of the system, where that is not plain from the answer itself.
fn advice(error: &io::Error) -> &'static str {
    use io::ErrorKind::{NotFound, PermissionDenied, ReadOnlyFilesystem, StorageFull};
    if error.raw_os_error() == Some(rustix::io::Errno::MFILE.raw_os_error()) {
        return ": raise the limit on open files (ulimit -n) and restart";
    }
    if error.raw_os_error() == Some(rustix::io::Errno::IO.raw_os_error()) {
        return ": the device failed; check it before restarting, what was acknowledged is safe \
                only as far as the device kept it";
    }
    match error.kind() {
        StorageFull => ": free space on this file system and restart",
        PermissionDenied | ReadOnlyFilesystem => {
            ": the log needs a directory that this user may write to"
        }
        NotFound => ": the directory was moved or removed",
        _ => "",
    }
}

/// Why a running log writes no more. Nothing is acknowledged after it.
#[derive(Clone, Debug, Error)]
pub enum LogFailure {
    /// An operation failed. It is not tried again: after a failed sync the system may have dropped
    /// what it could not write, and a second sync would wrongly succeed.
    #[error("the log has failed, nothing more is committed: {0}")]
    Failed(#[from] LogError),
    /// The log was stopped.
    #[error("the log is stopped")]
    Stopped,
}
