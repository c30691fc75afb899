//! DORA: transactions flow to the threads that have the data.
//!
//! Should I be using this? Where calls touch several tables or ranges, and none of these alone is
//! the hot one: a call's actions run side by side where their data is, and nobody fetches another
//! core's cache lines. Its neighbours: the partitioned engine, where nearly every call keeps to one
//! partition, and ORTHRUS, where threads own locks but not data.
//!
//! ```text
//!   home ─plan─▶ datasets, by hall ─Ask─▶ hall A: lock, run ─┐
//!                                    └Ask─▶ hall B: lock, run ─┴─ rendezvous ─▶ next round, or
//!                                                              commit ─▶ locks go
//! ```
//!
//! Role         each table's rows fall into ranges, and those of one range of one table are a
//!              *dataset* ([`hotrow_flow::datasets`]). A thread has some of them; it is the
//!              executor of each: the only one who touches it. Its protocol ([`protocol`]) knows no
//!              thread and no row. Here are what a call visits ([`visits`]), what halls do with
//!              rows ([`store`]), the threads that host them ([`thread`]), and where calls come
//!              from and go to ([`home`])
//! Invariants   I1 a call touches a granule only while it holds the granule's lock in its dataset,
//!              in the hall that has it; or, if it runs as a whole, in that where its first round
//!              ended, while it holds all its locks
//! Source       dora.txt 4. We differ: see [`protocol`] and [`hotrow_flow::datasets`]
//!
//! What of the paper's means the storage makes unnecessary, and why:
//!
//!  - locks on slots of inserted and deleted rows (4.2.1). A slot is given to another row only when
//!    the epoch is safe in which the commit, or the undo, has freed it; until then whoever undoes a
//!    delete finds its row where it was. `slots=locked` takes them all the same, to be counted
//!  - the row's routing fields in each entry of a secondary index, by which the paper finds its
//!    executor (4.2.2). Planning reads the row that the entry names, which tells its key, and both
//!    are checked again under their locks (reconnaissance)
//!  - the entry's deleted flag, set behind the commit, and the collection of such entries at splits
//!    (4.2.2). Who deletes a row, or moves it to another key, holds the granules of its entries
//!    exclusively; the entry and the row stay, as ghosts, until it has committed, and go then. So
//!    nobody sees an entry that is being deleted, and nothing is left to be collected
//!
//! Phantoms, which the paper lets in, are kept out: granules are prefixes of keys, so that who has
//! read a range holds what an insert into it needs.

#![forbid(unsafe_code)]

pub mod call;
pub mod crew;
pub mod home;
pub mod options;
pub mod plans;
pub mod protocol;
pub mod store;
pub mod thread;
pub mod visits;

use std::sync::Arc;

use hotrow_engine::contract::{EngineEntry, EngineOptions, Ground, OptionError, RunningEngine};
use hotrow_engine::source::CallSource;
use hotrow_flow::host;
use hotrow_flow::mesh::Link;
use hotrow_flow::roster::{self, Roster};

use crate::crew::Crew;
use crate::options::Settings;
use crate::thread::Thread;

const NAME: &str = "dora";
/// Messages that a ring between two threads holds.
const RING: usize = 256;

/// This engine's row in the engine table.
pub const ENTRY: EngineEntry = EngineEntry {
    name: NAME,
    summary: "calls flow, action by action, to the threads that have the data",
    start,
    variants: &[
        &[("spread", "ranges")],
        &[("executors", "4"), ("enqueue", "latched"), ("slots", "locked")],
        &[("executors", "2"), ("spread", "tables"), ("locks", "phase"), ("rebalance", "on")],
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
    let crew = Arc::new(Crew::new(settings, Roster::new(ground, options, settings.in_flight)));
    let link = Link { delay: settings.delay, ..Link::of(RING) };
    let seats = (crew.seats(), link);
    let run = |crew: Arc<Crew>, number, exchange, source| {
        host::run(Thread::new(&crew, number, exchange, source), &crew.roster);
    };
    Ok(Box::new(roster::start(crew, (NAME, options), seats, sources, run)))
}
