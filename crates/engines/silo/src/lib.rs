//! Silo: optimistic concurrency control with decentralised commit.
//!
//! Should I be using this? Where transactions seldom conflict: reads write nothing that others see,
//! and nobody waits for a lock while a call runs. Hot rows are its weak side: whoever is overtaken
//! has worked in vain. It is here because lads.txt measures against it.
//!
//! ```text
//!   run on copies: read set, node set, changes ─▶ lock what is written ─▶ validate ─▶ make it so
//! ```
//!
//! Reading order: [`tid`], [`transaction`], [`access`], [`commit`], [`removals`], [`runner`].
//!
//! Role         every worker runs whole calls. Conflicts are counted and hidden: the call is tried
//!              again after a while, and alone if it loses for ever
//! Invariants   I1 a call commits only if everything it read, and every place where it found
//!              nothing, is as it was, at a moment at which everything it writes is locked
//! Source       Tu et al., "Speedy Transactions in Multicore In-Memory Databases" (Silo, 2013), as
//!              lads.txt uses it. We differ: no snapshots; hash indexes beside trees; rows are
//!              changed in place and not replaced; epochs are those of the log; see [`access`] and
//!              [`commit`]

#![forbid(unsafe_code)]

pub mod access;
pub mod cells;
pub mod commit;
pub mod removals;
pub mod runner;
pub mod tid;
pub mod transaction;

use std::sync::Arc;

use hotrow_base::counters::PerWorker;
use hotrow_engine::contract::{EngineEntry, EngineOptions, Ground, OptionError, RunningEngine};
use hotrow_engine::settings::{Known, ON_CALLERS, OnCallers, choose};
use hotrow_engine::source::CallSource;
use hotrow_engine::worker::Workers;

use crate::removals::Removals;
use crate::runner::SiloRunner;

const NAME: &str = "silo";
const KNOWN: Known = Known { engine: NAME, names: "on_callers" };

/// This engine's row in the engine table.
pub const ENTRY: EngineEntry = EngineEntry {
    name: NAME,
    summary: "calls run on copies, and commit if nobody was faster",
    start,
    variants: &[&[("on_callers", "on")], &[("on_callers", "off")]],
    threads_min: 1,
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
    let mut on_callers = OnCallers::default();
    KNOWN.read(&options.settings, |setting, value| match setting {
        "on_callers" => Some(choose(&mut on_callers, value, ON_CALLERS)),
        _ => None,
    })?;
    let workers = options.threads + options.on_callers.places;
    let removals = Arc::new(PerWorker::with_defaults(workers));
    let runner =
        |number, committer| SiloRunner::new(number, committer, Removals::new(&removals, number));
    Ok(Box::new(match on_callers {
        OnCallers::On => Workers::start_with_places(&ground, options, sources, runner),
        OnCallers::Off => Workers::start(&ground, options, sources, runner),
    }))
}
