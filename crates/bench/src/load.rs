//! Loading: a workload's schema, population and procedures into a fresh database.
//!
//! Role         the population is made in one place and given to whoever takes rows: parts of a
//!              bulk loader here, COPY to a server in `remote`

use std::ops::ControlFlow;
use std::path::Path;
use std::time::Duration;

use hotrow::{BulkPart, Config, Database, Datum};
use hotrow_base::thread;
use hotrow_workloads::{Share, Workload};
use indicatif::ProgressBar;

use crate::error::BenchError;
use crate::progress::Progress;

/// Rows between two steps of the progress bar.
const ROWS_PER_STEP: u64 = 4096;

/// Loads `workload` into a new database without an engine. `config.threads` says how many threads
/// load, and how many an engine may have later.
/// `directory` is where it is logged, and how much longer than the disk's own a sync takes.
pub(crate) fn load(
    workload: &dyn Workload,
    config: Config,
    directory: Option<(&Path, Duration)>,
    seed: u64,
    progress: Progress,
) -> Result<Database, BenchError> {
    workload.parameters().validate()?;
    let db = match directory {
        Some((path, delay)) => {
            Database::open_without_engine_on_slow_log(path, config, delay, |_| ())?
        }
        None => Database::open_in_memory_without_engine(config)?,
    };
    let session = db.session();
    session.execute(&workload.schema_sql())?;
    // Before there are rows: indexes are split as the procedures ask for it.
    session.execute(&workload.procedures_sql())?;
    let bar = progress.bar(format!("loading {}", workload.name()), workload.rows_expected());
    fill(&db, workload, seed, &bar)?;
    bar.finish_and_clear();
    Ok(db)
}

fn fill(
    db: &Database,
    workload: &dyn Workload,
    seed: u64,
    bar: &ProgressBar,
) -> Result<(), BenchError> {
    let loader = db.bulk_loader()?;
    give(workload, seed, loader.parts(), bar)?;
    loader.finish()?;
    Ok(())
}

/// Takes a part of a population, row by row.
pub(crate) trait RowTaker: Send {
    /// Takes a row: one datum per column of the table, and the heap that byte-like ones point into.
    fn take(&mut self, table: &'static str, row: &[Datum], heap: &[u8]) -> Result<(), BenchError>;

    /// Nothing comes any more.
    fn finish(self) -> Result<(), BenchError>;
}

impl RowTaker for BulkPart<'_> {
    fn take(&mut self, table: &'static str, row: &[Datum], heap: &[u8]) -> Result<(), BenchError> {
        Ok(self.load(table, row, heap)?)
    }

    fn finish(self) -> Result<(), BenchError> {
        Ok(())
    }
}

/// Makes a workload's population and gives each taker an equal part of it, each in a thread.
pub(crate) fn give<T: RowTaker>(
    workload: &dyn Workload,
    seed: u64,
    takers: Vec<T>,
    bar: &ProgressBar,
) -> Result<(), BenchError> {
    let of = takers.len() as u32;
    thread::scope(|scope| {
        let threads: Vec<_> = (0..of)
            .zip(takers)
            .map(|(index, taker)| {
                let share = Share { index, of };
                scope.spawn(move || give_part(workload, share, seed, taker, bar))
            })
            .collect();
        threads.into_iter().try_for_each(|thread| {
            let joined = thread.join();
            joined.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        })
    })
}

fn give_part(
    workload: &dyn Workload,
    share: Share,
    seed: u64,
    mut taker: impl RowTaker,
    bar: &ProgressBar,
) -> Result<(), BenchError> {
    let (mut refused, mut rows) = (None, 0_u64);
    // Broken off exactly when `refused` says why.
    let _ = workload.load(share, seed, &mut |table, row, heap| {
        if let Err(error) = taker.take(table, row, heap) {
            refused = Some(error);
            return ControlFlow::Break(());
        }
        rows += 1;
        if rows.is_multiple_of(ROWS_PER_STEP) {
            bar.inc(ROWS_PER_STEP);
        }
        ControlFlow::Continue(())
    });
    refused.map_or_else(|| taker.finish(), Err)
}
