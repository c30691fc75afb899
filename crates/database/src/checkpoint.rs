//! Checkpoints of a database: when they are taken, what belongs to one, what goes afterwards.
//!
//! Role         [`Checkpoints`] is everything that taking one needs, shared by whoever asks for one
//!              and by the thread that takes them when the log has grown
//! States       a quiet point of microseconds: position, definitions, and the flip of the capture
//!              -> rows are copied while transactions run -> the log's horizon has reached the
//!              position -> the checkpoint exists -> older ones and the log before it are removed
//! Invariants   I1 a checkpoint holds exactly what was committed up to a position; replay begins
//!              with the first entry behind it
//!              I2 nothing is removed before the checkpoint that replaces it exists
//! Concurrency  `turn` -> held while one is taken: one at a time

use hotrow_base::sync::facade::atomic::{AtomicU64, Ordering};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use hotrow_base::clock::Ticks;
use hotrow_base::thread::{BackgroundThread, News};
use hotrow_engine::checkpoint::{self, Destination, Progress, Turn};
use hotrow_engine::journal::Journal;
use hotrow_engine::schema::{Purpose, SharedSchema};
use hotrow_log::checkpoint::{Identity, remove_older};
use hotrow_log::log::Log;
use parking_lot::{Mutex, RwLock};

use crate::contents::Contents;
use crate::data_directory::DataDirectory;
use crate::definition::Sources;
use crate::error::Error;
use crate::once::Outcomes;

/// Between two looks at the size of the log.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// How far a checkpoint is.
pub use hotrow_engine::checkpoint::Progress as CheckpointProgress;

/// A checkpoint that was taken.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CheckpointReport {
    /// rows in it
    pub rows: u64,
    /// bytes of its files
    pub bytes: u64,
    /// rows that transactions saved before they changed them, because they came before the walk
    pub saved_rows: u64,
    /// how long no transaction could begin
    pub quiet: Duration,
    /// how long it took in all
    pub duration: Duration,
}

/// What taking a checkpoint needs.
pub(crate) struct Checkpoints {
    pub(crate) schema: Arc<SharedSchema>,
    pub(crate) journal: Arc<Journal>,
    pub(crate) sources: Arc<RwLock<Sources>>,
    pub(crate) outcomes: Arc<Outcomes>,
    pub(crate) directory: Arc<DataDirectory>,
    pub(crate) threads: usize,
    /// bytes of log that the last recovery repeated
    pub(crate) bytes_repeated: u64,
    /// what [`Checkpoints::log_bytes`] was at the last checkpoint, or when one failed
    pub(crate) bytes_before: AtomicU64,
    pub(crate) turn: Mutex<()>,
}

impl Checkpoints {
    /// Takes a checkpoint, after the one that is under way, if there is one.
    pub(crate) fn take(
        &self,
        progress: &(dyn Fn(Progress) + Sync),
    ) -> Result<CheckpointReport, Error> {
        let _turn = self.turn.lock();
        let started = Ticks::now();
        let log = self.log();
        let bytes = self.log_bytes();
        let memory = Arc::clone(&self.schema.current().memory);
        let turn = Turn::wait(&memory, None).expect("it waits as long as it takes");
        let beside = self.schema.quiet_for_checkpoint();
        let quiet = beside.unwrap_or_else(|| self.schema.quiet_for(Purpose::CHECKPOINT));
        let closed = Ticks::now();
        let position = self.journal.cut();
        let history = self.sources.read().history().to_vec();
        let capture = checkpoint::begin(&quiet, turn);
        drop(quiet);
        let quiet = closed.elapsed();
        let contents = Contents::gather(position, history, &self.outcomes);
        // Outcomes of later calls may be among them: they are only true once their calls are.
        self.reach(log, contents.durable_in())?;
        let identity = Identity { log_id: log.id(), epoch: position.epoch };
        let files = Arc::clone(self.directory.checkpoint_files());
        let catalog = contents.encode();
        let to = Destination { files, identity, catalog, threads: self.threads };
        let written = checkpoint::write(capture, to, progress)?;
        self.bytes_before.store(bytes, Ordering::Relaxed); // under `turn`
        log.truncate_before(position.epoch)?;
        remove_older(&**self.directory.checkpoint_files(), Some(&written.manifest))?;
        let report = CheckpointReport {
            rows: written.manifest.rows(),
            bytes: written.manifest.bytes(),
            saved_rows: written.captured.saved_rows,
            quiet,
            duration: started.elapsed(),
        };
        let CheckpointReport { rows, bytes, duration, .. } = report;
        tracing::info!(rows, bytes, ?duration, "a checkpoint was taken");
        Ok(report)
    }

    fn reach(&self, log: &Log, epoch: u64) -> Result<(), Error> {
        log.wait_for(epoch).map_err(|failure| hotrow_engine::journal::log_error(&failure).into())
    }

    /// Bytes of log, from those that the last recovery repeated on.
    fn log_bytes(&self) -> u64 {
        self.bytes_repeated + self.log().statistics().bytes
    }

    /// Bytes of log since the last checkpoint: what would have to be repeated now.
    pub(crate) fn growth(&self) -> u64 {
        self.log_bytes().saturating_sub(self.bytes_before.load(Ordering::Relaxed)) // a figure
    }

    fn log(&self) -> &Log {
        self.journal.log().expect("a database with a directory has a log")
    }
}

/// Starts the thread that takes a checkpoint whenever the log has grown by so much. None when the
/// system has no room for it: then the log grows until somebody asks for a checkpoint.
pub(crate) fn start_checkpointer(
    checkpoints: Arc<Checkpoints>,
    log_bytes: u64,
) -> Option<BackgroundThread> {
    let look = move |news: &News| look_after(&checkpoints, news, log_bytes);
    BackgroundThread::start("checkpointer", look).ok()
}

fn look_after(checkpoints: &Checkpoints, news: &News, log_bytes: u64) {
    while news.wait(Some(Ticks::from_now(LOOK_EVERY))) {
        if checkpoints.growth() < log_bytes {
            continue;
        }
        if let Err(error) = checkpoints.take(&|_| ()) {
            // Nothing is lost: the log goes on. Try again when it has grown once more.
            tracing::error!(%error, "a checkpoint could not be taken");
            let bytes = checkpoints.log_bytes();
            checkpoints.bytes_before.store(bytes, Ordering::Relaxed); // a figure
        }
    }
}

impl fmt::Debug for Checkpoints {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Checkpoints").field("threads", &self.threads).finish_non_exhaustive()
    }
}
