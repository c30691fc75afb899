//! LADS: batches of calls become dependency graphs of record actions, dealt out to workers and
//! executed without locks.
//!
//! Role         an engine of the engine table
//! States       of a batch: calls are planned and cut into actions, each hung behind the latest one
//!              on its granule -> the queues are dealt out to workers -> each worker executes its
//!              queues' actions when nothing is before them -> all calls commit together
//! Invariants   I1 the order of effects is that of calls: by graph, then by place in the graph
//!              I2 no call is undone because of another one. What is undone is a call that ends
//!              itself; if others have seen by then what it wrote, the round is taken back and its
//!              calls run one by one
//! Source       lads.txt. We differ: see docs/lads.md

#![forbid(unsafe_code)]

pub mod batch_size;
pub mod company;
pub mod conclusion;
pub mod crew;
pub mod executor;
pub mod flat;
pub mod graph;
pub mod habits;
pub mod mail;
pub mod options;
pub mod outbox;
pub mod pace;
pub mod partition;
pub mod programs;
pub mod queue;
pub mod worker;

use std::sync::Arc;

use hotrow_base::ids::WorkerId;
use hotrow_base::thread::Team;
use hotrow_engine::contract::{EngineEntry, EngineOptions, Ground, OptionError, RunningEngine};
use hotrow_engine::crew::RunningCrew;
use hotrow_engine::journal::Committer;
use hotrow_engine::source::CallSource;

use crate::crew::Crew;
use crate::options::Settings;
use crate::worker::Worker;

const NAME: &str = "lads";

/// This engine's row in the engine table.
pub const ENTRY: EngineEntry = EngineEntry {
    name: NAME,
    summary: "batches become dependency graphs of record actions, run without locks",
    start,
    variants: &[
        &[("partitioning", "repaired")],
        &[("partitioning", "keys"), ("batch", "7"), ("latency_us", "0")],
        &[("partitioning", "hash"), ("batch", "100")],
    ],
    threads_min: 1,
    threads_max: None,
    locks_as_it_goes: false,
    runs_on_callers: false,
    experiments: &[],
};

fn start(
    ground: Ground,
    options: &EngineOptions,
    sources: Vec<Box<dyn CallSource>>,
) -> Result<Box<dyn RunningEngine>, OptionError> {
    let settings = Settings::read(options)?;
    let id = |number: usize| WorkerId(options.first_worker.0 + number as u16);
    let committers: Vec<_> =
        (0..sources.len()).map(|number| Committer::new(&ground.journal, id(number))).collect();
    let team = Team::new("worker", sources.len(), options.pin_threads);
    let nodes = team.nodes(sources.len());
    let mails = mail::mesh(sources.len());
    let shares_calls = sources.iter().all(|source| source.shares_calls());
    let crew = Crew::new(ground, settings, committers.clone(), &nodes, shares_calls);
    let crew = Arc::new(crew);
    let parts = sources.into_iter().zip(mails).zip(committers).enumerate();
    let threads = parts.map(|(number, ((source, mail), committer))| {
        let crew = Arc::clone(&crew);
        let worker = Worker::new(crew, number, committer, source, mail, options.step_budget);
        team.spawn(number, move || worker.run())
    });
    Ok(Box::new(RunningCrew::new(Arc::clone(&crew), threads)))
}
