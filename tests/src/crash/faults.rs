//! Faults of the system, made real by limits of a child process: a file that may not grow, no file
//! descriptors left.
//!
//! Role         the suite, and whoever wants to see what is told. The child of the crash test runs
//!              until a client is told that the log has failed; then the parent looks, as after a
//!              crash

use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use hotrow::{Config, Database};

use super::child::LogFile;
use super::workload::{self, CLIENTS};
use super::{CrashOptions, CrashReport, Journal, database_directory, listen, look};

/// What a child is denied.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Limit {
    /// files longer than so many blocks of 512 bytes
    FileBlocks(u32),
    /// more open files than so many, of which the child takes all that are left
    OpenFiles(u32),
}

impl Limit {
    /// As a shell sets it. The signal that too long a file sends is ignored, so that the write
    /// fails instead.
    fn shell(self) -> String {
        match self {
            Self::FileBlocks(blocks) => format!("trap '' XFSZ; ulimit -f {blocks}"),
            Self::OpenFiles(files) => format!("ulimit -n {files}"),
        }
    }
}

/// What clients were told when the log had failed.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct FaultReport {
    /// what was found afterwards
    pub found: CrashReport,
    /// why the child could not even open the database; empty if it could
    pub trouble: String,
    /// SQLSTATE and message, by client
    pub errors: Vec<String>,
    /// reads of durable data that went on afterwards
    pub reads: u32,
    /// files of the log, at the end
    pub log_files: usize,
}

/// How long a child may go on that a limit does not stop.
const PATIENCE: Duration = Duration::from_secs(15);

/// Runs a child under a limit until its log fails, or for a while if it does not, and looks for
/// everything it acknowledged.
pub fn run(options: &CrashOptions, limit: Limit) -> Result<FaultReport, String> {
    let directory = database_directory(options)?;
    {
        let db = Database::open(directory.path(), Config::default().threads(1))
            .map_err(|error| error.to_string())?;
        workload::prepare(&db)?;
    }
    let (log_file, hoards) = match limit {
        Limit::FileBlocks(_) => (LogFile::Long, "false"),
        Limit::OpenFiles(_) => (LogFile::Short, "true"),
    };
    let mut child = Command::new("sh")
        .arg("-c")
        .arg(format!("{}; exec \"$@\"", limit.shell()))
        .arg("sh")
        .arg(&options.program)
        .arg("crash-child")
        .arg("--directory")
        .arg(directory.path())
        .args(["--setup", "3", "--durability", "durable", "--until-failure"])
        .args(["--log-file", log_file.name(), "--hoard-files", hoards])
        .args(["--seed", &options.seed.to_string()])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .map_err(|error| format!("cannot start the child: {error}"))?;
    let journal = Arc::new(Mutex::new(Journal::default()));
    let listener = listen(&mut child, &journal)?;
    let started = Instant::now();
    while child.try_wait().map_err(|error| error.to_string())?.is_none() {
        if started.elapsed() > PATIENCE {
            child.kill().map_err(|error| error.to_string())?;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    listener.join().map_err(|_| "the listener panicked".to_owned())?;
    let journal = journal.lock().map_err(|_| "the listener panicked".to_owned())?;
    let mut report = FaultReport {
        trouble: journal.trouble.join("\n"),
        errors: journal.failures.clone(),
        reads: journal.reads,
        log_files: files_of_log(directory.path())?,
        ..FaultReport::default()
    };
    look(directory.path(), &journal.acknowledged, &mut [0; CLIENTS], &mut report.found)?;
    Ok(report)
}

fn files_of_log(directory: &Path) -> Result<usize, String> {
    let files = std::fs::read_dir(directory.join("log")).map_err(|error| error.to_string())?;
    Ok(files.count())
}
