//! Stories: contended workloads in SQL, as an application has them, driven and checked.
//!
//! Role         runs what a file describes, without a line of Rust: a schema with its procedures,
//!              the calls that clients make with what is drawn for each, and what must hold
//!              afterwards, as queries that give no rows
//! States       schema -> clients connect and prepare -> (warm up ->) measure -> what clients were
//!              told is put into tables -> the queries look at those and the story's own
//! Invariants   I1 a call that fails with 40001 or 40P01 is repeated by its client, with the same
//!              values, as an application would, and counted: so the same story runs at servers
//!              that ask for that; at a target that promises that it is not asked for, it is a
//!              failure
//!              I2 a call that fails otherwise, and not as its story says that it may, is a failure
//!              of the run
//!              I3 what a client was told stands in the tables for all calls of a run, those of
//!              warming up included

mod client;
mod connection;
mod draw;
mod file;
mod report;
mod target;
#[cfg(test)]
mod tests;
mod told;

use std::sync::Arc;
use std::time::Duration;

use hotrow_base::clock::Ticks;
use hotrow_base::thread;

pub use file::{Story, stories, story_named};
pub use report::{StoryCallReport, StoryReport, write_stories, write_stories_json};
pub use target::Target;

use crate::error::BenchError;
use crate::phase::{Phase, PhaseFlag};
use crate::progress::Progress;
use crate::report::CheckReport;
use client::{Books, Client};
use connection::Connection;
use told::Told;

/// How a story is run.
#[derive(Clone, Debug)]
pub struct StoryOptions {
    /// connections that call, each from a thread of its own
    pub clients: usize,
    /// before measuring
    pub warm_up: Duration,
    /// measured
    pub measured: Duration,
    /// of what is drawn; when calls meet is up to the threads
    pub seed: u64,
    /// whether to show progress
    pub progress: Progress,
}

impl Default for StoryOptions {
    fn default() -> Self {
        Self {
            clients: 16,
            warm_up: Duration::ZERO,
            measured: Duration::from_secs(10),
            seed: 42,
            progress: Progress::Off,
        }
    }
}

/// Runs a story on an empty database, and checks what it leaves.
///
/// # Errors
///
/// [`BenchError::Story`] for what the story says wrongly, with its name and place in it;
/// [`BenchError::Server`], [`BenchError::Database`]. A call that fails is no error: it stands in
/// the report, as does what does not hold.
pub fn run_story(
    story: &Story,
    target: &Target<'_>,
    options: &StoryOptions,
) -> Result<StoryReport, BenchError> {
    let mut control = target.connect()?;
    control.script(&story.schema).map_err(|error| story.wrong("its schema", error))?;
    control.script(told::BEGIN).map_err(|error| story.wrong("the run's own tables", error))?;
    let phase = Arc::new(PhaseFlag::new(Phase::WarmUp));
    let client = |number| -> Result<Client<'_>, BenchError> {
        let mut connection = target.connect()?;
        for (call, sql) in story.calls.iter().zip(&story.statements) {
            let prepared = connection.prepare(sql);
            prepared.map_err(|error| story.wrong(&format!("call \"{}\"", call.name), error))?;
        }
        Ok(Client::new(story, connection, number, options.seed, Arc::clone(&phase)))
    };
    let clients: Vec<_> = (0..options.clients).map(client).collect::<Result<_, _>>()?;
    let (books, seconds) = thread::scope(|scope| {
        let running: Vec<_> =
            clients.into_iter().map(|client| scope.spawn(move || client.run())).collect();
        let what = format!("{}: {}", story.name, target.name());
        options.progress.sleep(format!("{what}, warming up"), options.warm_up);
        let start = Ticks::now();
        phase.set(Phase::Measure(0));
        options.progress.sleep(what, options.measured);
        phase.set(Phase::Ended);
        let seconds = Ticks::now().nanos_since(start) as f64 / 1e9;
        let mut books = Books::new(story);
        for client in running {
            let ended = client.join();
            books.add(ended.unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        }
        (books, seconds)
    });
    let mut checks = vec![books.check_of_failures(target.repeats_itself())];
    let told = Told::script(story, &books);
    control.script(&told).map_err(|error| story.wrong("what was told", error))?;
    for holds in &story.holds {
        checks.push(check(&mut *control, holds));
    }
    Ok(StoryReport::new(story, target, options, (&books, seconds), checks))
}

/// Asks whether something holds. What cannot be asked does not hold: the run has been made by then,
/// and others come behind it.
fn check(control: &mut dyn Connection, holds: &file::Holds) -> CheckReport {
    const SHOWN: usize = 3;
    let name = holds.what.clone();
    let rows = match control.script(&holds.sql) {
        Ok(rows) => rows,
        Err(error) => {
            return CheckReport { name, holds: false, detail: format!("its query: {error}") };
        }
    };
    let cell = |cell: &Option<String>| cell.clone().unwrap_or_else(|| "NULL".to_owned());
    let row = |row: &Vec<Option<String>>| row.iter().map(cell).collect::<Vec<_>>().join(", ");
    let detail = match rows.len() {
        0 => "its query gives no row".to_owned(),
        many => {
            let some: Vec<_> = rows.iter().take(SHOWN).map(row).collect();
            let more = if many > SHOWN { "; and more" } else { "" };
            format!("its query gives {many} rows: ({}){more}", some.join("), ("))
        }
    };
    CheckReport { name, holds: rows.is_empty(), detail }
}
