//! ORTHRUS: threads that lock and threads that execute share nothing but messages.
//!
//! Should I be using this? Where many cores contend for few rows: a hot lock's queue stays in the
//! cache of the one thread that owns it, and whoever needs the lock sends a message. On a few cores
//! the messages cost more than they save, and planned ordered locking does better.
//!
//! ```text
//!   call ─▶ execution thread ─ request ─▶ lock thread 2 ─ request ─▶ lock thread 5
//!                 ▲  │  ▲                    │ (all held)                 │ (all held)
//!                 │  │  └────────────────────┼───────────── granted ──────┘
//!              end│  └── release ───────────▶└─▶ ...
//! ```
//!
//! Role         every granule belongs to one lock thread ([`lower`]), which keeps the queues of its
//!              granules in plain memory ([`LockSpace`]). A planned call's footprint travels from
//!              lock thread to lock thread in ascending order ([`request`]) through rings with one
//!              writer and one reader each ([`mesh`]); when it comes back, everything is held, and
//!              the execution thread runs the call ([`execution_thread`])
//!              A session's short call that nobody is in the way of visits the tables itself
//!              ([`on_caller`])
//! Invariants   I1 conflicting transactions hold a granule one after the other, from before the
//!              first access to after the commit: the order in which they commit is a serial order
//!              I2 requests enter the queues of one lock thread at a time, and visit lock threads
//!              in ascending order: nobody deadlocks, and no call is undone because of others
//! Source       orthrus.txt 3. We differ: locks are granules of indexes, so phantoms are kept out;
//!              tables that somebody visits as wholes have intent modes
//!
//! [`LockSpace`]: hotrow_flow::lock_space::LockSpace

#![forbid(unsafe_code)]

pub mod crew;
pub mod division;
pub mod execution_thread;
pub mod in_flight;
pub mod lock_table;
pub mod lock_thread;
pub mod lower;
pub mod mesh;
pub mod on_caller;
pub mod options;
pub mod request;
pub mod run;

use std::sync::Arc;

use hotrow_base::ids::WorkerId;
use hotrow_base::thread::Team;
use hotrow_engine::contract::{EngineEntry, EngineOptions, Ground, OptionError, RunningEngine};
use hotrow_engine::crew::RunningCrew;
use hotrow_engine::journal::Committer;
use hotrow_engine::source::{CallSource, OnCallers};
use hotrow_engine::worker::caller_places::CallerPlaces;

use crate::crew::{Crew, Kit};
use crate::on_caller::OnCaller;
use crate::options::Settings;
use crate::run::Runner;

const NAME: &str = "orthrus";

/// This engine's row in the engine table.
pub const ENTRY: EngineEntry = EngineEntry {
    name: NAME,
    summary: "threads that lock and threads that execute, which share nothing but messages",
    start,
    variants: &[
        &[("visits", "forwarded")],
        &[("visits", "returned"), ("in_flight", "2"), ("on_callers", "off")],
        &[("run_there", "16")],
        &[("lock_table", "shared")],
    ],
    threads_min: 2,
    threads_max: None,
    locks_as_it_goes: false,
    runs_on_callers: true,
    experiments: &[],
};

fn start(
    ground: Ground,
    options: &EngineOptions,
    sources: Vec<Box<dyn CallSource>>,
) -> Result<Box<dyn RunningEngine>, OptionError> {
    let settings = Settings::read(options)?;
    let threads = options.threads;
    assert_eq!(sources.len(), threads, "one source per thread");
    let team = Team::new("orthrus", threads, options.pin_threads);
    let journal = Arc::clone(&ground.journal);
    let crew = Arc::new(Crew::new(ground, settings, options, team.is_pinned()));
    let places = settings.runs_on_callers().then(|| -> Arc<dyn OnCallers> {
        let runner = |_, committer| OnCaller::new(&crew, committer);
        Arc::new(CallerPlaces::new(&crew.ground, options, &crew.books, runner))
    });
    let spawn = |(number, source): (usize, Box<dyn CallSource>)| {
        let worker = WorkerId(options.first_worker.0 + number as u16);
        let runner = Runner::new(Committer::new(&journal, worker));
        let places = places.clone();
        let kit = Kit { number, runner, sources: vec![source], free: Vec::new(), places };
        let crew = Arc::clone(&crew);
        team.spawn(number, move || crew.work(kit))
    };
    let threads = sources.into_iter().enumerate().map(spawn);
    Ok(Box::new(RunningCrew::new(Arc::clone(&crew), threads).with_places(places.clone())))
}
