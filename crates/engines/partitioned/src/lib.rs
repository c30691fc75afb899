//! The partitioned engine: every granule belongs to a partition, and a call of one partition has
//! that to itself.
//!
//! Should I be using this? Where nearly every call keeps to one partition, as transactions of one
//! warehouse or one branch do: nothing is locked, and with split indexes each thread works in
//! memory of its own. Where calls of several partitions are common, docs/partitioned.md says which
//! scheme suffers least.
//!
//! ```text
//!   scheme=spinlocks   worker 0: plan ─▶ partitions {0, 2} ─▶ hold 0, then 2 ─▶ run ─▶ let go
//!
//!   all others         home ─parameters tell─▶ owner of partition 0: run
//!                        └─plan─▶ coordinator ─fragments─▶ owners of 0 and 2
//! ```
//!
//! Role         two engines on one view of what belongs where ([`Owners`]). Partitioned-store:
//!              every worker thread runs whole calls, and holds partitions in ascending order
//!              ([`spinlocks`], [`partition`]). H-Store: each partition has an owner, the only one
//!              who touches it. Its protocol ([`protocol`]) knows no thread and no row; here are
//!              the threads that host it ([`thread`]), what owners do with rows ([`store`]), and
//!              where calls come from and go to ([`home`])
//! Invariants   I1 a call touches a granule only while it has the partition that the granule
//!              belongs to ([`Owners`]), or, with `scheme=locking`, the granule's lock there
//!              I2 partitions are held in ascending order, or run what they are sent in one order,
//!              or find circles: no call fails because of others
//!              I3 an index that lies in one partition is changed by who has it: nodes are latched
//!              by plain stores, and read by anybody at any time
//! Source       orthrus.txt 4.3 (Partitioned-store, after the one of Silo's authors);
//!              partitioned.txt 3 and 4 (H-Store). We differ: readers check versions, so that calls
//!              are planned before they have anything; an index whose keys do not tell the
//!              partition is one for all, and latched; one process, no copies
//!
//! [`Owners`]: hotrow_engine::owners::Owners

#![forbid(unsafe_code)]

pub mod call;
pub mod choice;
pub mod crew;
pub mod home;
pub mod model;
pub mod options;
pub mod partition;
pub mod protocol;
pub mod spinlocks;
pub mod store;
pub mod thread;

use std::sync::Arc;

use hotrow_base::thread::BackgroundThread;
use hotrow_engine::contract::{EngineEntry, EngineOptions, Ground, OptionError, RunningEngine};
use hotrow_engine::crew::RunningCrew;
use hotrow_engine::schema::SharedSchema;
use hotrow_engine::source::CallSource;
use hotrow_engine::statistics::Statistics;
use hotrow_engine::worker::Workers;
use hotrow_flow::host;
use hotrow_flow::mesh::Link;
use hotrow_flow::roster::{self, Roster};

use crate::crew::Crew;
use crate::options::{Scheme, Settings};
use crate::partition::Partitions;
use crate::spinlocks::SpinlockRunner;
use crate::thread::Thread;

const NAME: &str = "partitioned";
/// Messages that a ring between two threads holds.
const RING: usize = 256;

/// This engine's row in the engine table.
pub const ENTRY: EngineEntry = EngineEntry {
    name: NAME,
    summary: "calls have the partitions that they need to themselves, one after the other",
    start,
    variants: &[
        &[("scheme", "spinlocks")],
        &[("scheme", "spinlocks"), ("partitions", "3")],
        &[("scheme", "blocking")],
        &[("scheme", "local"), ("partitions", "4")],
        &[("scheme", "speculation"), ("partitions", "2")],
        &[("scheme", "locking"), ("partitions", "2")],
        &[("scheme", "auto"), ("partitions", "2")],
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
    let schema = Arc::clone(&ground.schema);
    schema.quiet().schema().hold_partitions(settings.partitions); // I3
    let (mut advisor, mut owners) = (None, None);
    let engine: Box<dyn RunningEngine> = match settings.scheme {
        Scheme::Spinlocks => {
            let partitions = Arc::new(Partitions::new(settings.partitions));
            Box::new(Workers::start(&ground, options, sources, |number, committer| {
                SpinlockRunner::new(Arc::clone(&partitions), number, committer)
            }))
        }
        scheme => {
            let (crew, engine) = start_owners(ground, settings, options, sources);
            if scheme == Scheme::Auto {
                let choosing = Arc::clone(&crew);
                let thread = BackgroundThread::start("advisor", move |news| choosing.choose(news));
                advisor = Some(thread.expect("the system can start another thread"));
            }
            owners = Some(crew);
            Box::new(engine)
        }
    };
    Ok(Box::new(Running { engine, schema, advisor, crew: owners }))
}

/// The engine that runs.
struct Running {
    engine: Box<dyn RunningEngine>,
    schema: Arc<SharedSchema>,
    /// with `scheme=auto`: who chooses
    advisor: Option<BackgroundThread>,
    /// where partitions have owners
    crew: Option<Arc<Crew>>,
}

impl RunningEngine for Running {
    fn statistics(&self) -> Statistics {
        self.engine.statistics()
    }

    fn choice(&self) -> Option<String> {
        self.crew.as_ref()?.explain_choice()
    }

    fn expected_rate(&self) -> Option<f64> {
        self.crew.as_ref()?.expected_rate()
    }

    fn stop(self: Box<Self>) -> Statistics {
        drop(self.advisor); // while the engine runs: it may want a quiet point
        let statistics = self.engine.stop();
        self.schema.quiet().schema().hold_partitions(0); // the next engine may latch
        statistics
    }
}

/// Starts the engine whose threads own partitions.
fn start_owners(
    ground: Ground,
    settings: Settings,
    options: &EngineOptions,
    sources: Vec<Box<dyn CallSource>>,
) -> (Arc<Crew>, RunningCrew<Crew>) {
    let in_flight = settings.in_flight.unwrap_or(options.in_flight.max(1));
    let crew = Arc::new(Crew::new(settings, Roster::new(ground, options, in_flight)));
    let link = Link { delay: settings.delay, ..Link::of(RING) };
    let seats = (crew.seats.all_threads(), link);
    let run = |crew: Arc<Crew>, number, exchange, source| {
        host::run(Thread::new(&crew, number, exchange, source), &crew.roster);
    };
    let engine = roster::start(Arc::clone(&crew), (NAME, options), seats, sources, run);
    (crew, engine)
}
