//! The engine table: every engine there is, by name.
//!
//! Role         the only place besides the engines' own crates, tests and docs where their names
//!              stand; a new engine is one more row. An engine's experiments in virtual time are a
//!              crate beside it, and stand in its row

use hotrow_engine::contract::EngineEntry;

use crate::error::Error;

/// The engine of a configuration that names none.
pub(crate) const DEFAULT: &str = "two_phase_locking";

static ENGINES: &[EngineEntry] = &[
    hotrow_serial::ENTRY,
    hotrow_two_phase_locking::ENTRY,
    hotrow_orthrus::ENTRY,
    EngineEntry {
        experiments: hotrow_partitioned_simulation::EXPERIMENTS,
        ..hotrow_partitioned::ENTRY
    },
    hotrow_silo::ENTRY,
    hotrow_lads::ENTRY,
    hotrow_dora::ENTRY,
];

/// All engines, the reference first.
pub fn engines() -> &'static [EngineEntry] {
    ENGINES
}

/// The engine with this name.
pub(crate) fn engine_named(name: &str) -> Result<&'static EngineEntry, Error> {
    engines().iter().find(|entry| entry.name == name).ok_or_else(|| {
        let known: Vec<_> = engines().iter().map(|entry| entry.name).collect();
        Error::UnknownEngine { name: name.to_owned(), known: known.join(", ") }
    })
}
