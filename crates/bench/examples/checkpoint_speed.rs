//! Measures checkpoints of a TPC-C population: writing, with and without calls running, and
//! loading.
//!
//! ```text
//! cargo run --release -p hotrow-bench --example checkpoint_speed -- [warehouses [directory]]
//! ```
//!
//! Calls are NewOrder and Payment from one worker of the reference engine. Files go to the
//! directory (a new one under the system's temporary directory by default) and are removed.

use std::cell::RefCell;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use hotrow::{Config, Database, EngineEntry, Invocation, engines};
use hotrow_base::clock::Ticks;
use hotrow_base::thread;
use hotrow_engine::checkpoint::{self, Destination, Turn, Written};
use hotrow_engine::contract::{EngineOptions, Ground, OptionError, RunningEngine};
use hotrow_engine::source::{CallSource, End, Fetch, Ticket};
use hotrow_log::checkpoint::{Identity, Reader, find, remove_older, verify};
use hotrow_log::files::{Directory, Files};
use hotrow_workloads::{Generator, Share, Workload, tpcc::Tpcc};

const THREADS: usize = 2;
const CALLS_FOR: Duration = Duration::from_secs(2);

thread_local! {
    static GROUND: RefCell<Option<Ground>> = const { RefCell::new(None) };
}

/// Starts the reference engine, and keeps what it stands on.
fn start(
    ground: Ground,
    options: &EngineOptions,
    sources: Vec<Box<dyn CallSource>>,
) -> Result<Box<dyn RunningEngine>, OptionError> {
    GROUND.set(Some(ground.clone()));
    (engines()[0].start)(ground, options, sources)
}

struct Calls {
    generator: Box<dyn Generator>,
    committed: Arc<AtomicU64>,
}

impl CallSource for Calls {
    fn fetch(&mut self, invocation: &mut Invocation) -> Fetch {
        self.generator.next(invocation);
        Fetch::Ready(Ticket(0))
    }

    fn wait(&mut self) {}

    fn finish(&mut self, _: Ticket, end: End<'_>) {
        if let End::Committed { .. } = end {
            self.committed.fetch_add(1, Relaxed);
        }
    }
}

struct Nothing;

impl CallSource for Nothing {
    fn fetch(&mut self, _: &mut Invocation) -> Fetch {
        Fetch::Closed
    }

    fn wait(&mut self) {}

    fn finish(&mut self, _: Ticket, _: End<'_>) {}
}

/// A database with the workload's schema and no rows.
fn empty(workload: &Tpcc) -> Database {
    let config = Config::default().threads(THREADS).memory_bytes(32 << 30);
    let db = Database::open_in_memory_without_engine(config).expect("the configuration is right");
    db.session().execute(&workload.schema_sql()).expect("the schema is right");
    db
}

/// Starts an engine with one worker, and what it stands on.
fn started(db: &Database, calls: Box<dyn CallSource>) -> (Box<dyn RunningEngine>, Ground) {
    let entry = EngineEntry { start, ..engines()[0] };
    let engine = db.start_engine(&entry, &EngineOptions::default(), vec![calls]);
    (engine.expect("none runs"), GROUND.take().expect("it was started here"))
}

struct Place {
    files: Arc<Directory>,
    epoch: u64,
}

impl Place {
    fn write(&mut self, ground: &Ground, threads: usize) -> (Written, Duration) {
        self.epoch += 1;
        let begun = Ticks::now();
        let capture = {
            let memory = Arc::clone(&ground.schema.current().memory);
            let turn = Turn::wait(&memory, None).expect("no other is under way");
            checkpoint::begin(&ground.schema.quiet(), turn)
        };
        let quiet_for = begun.elapsed();
        let identity = Identity { log_id: 1, epoch: self.epoch };
        let files = Arc::clone(&self.files) as Arc<dyn Files>;
        let to = Destination { files, identity, catalog: Vec::new(), threads };
        let written = checkpoint::write(capture, to, &|_| {}).expect("the disk has room");
        let took = begun.elapsed();
        remove_older(&*self.files, Some(&written.manifest)).expect("it can be removed");
        println!("  (until the quiet point was over: {quiet_for:?})");
        (written, took)
    }
}

fn report(what: &str, rows: u64, bytes: u64, took: Duration) {
    let (seconds, megabytes) = (took.as_secs_f64(), bytes as f64 / 1e6);
    println!(
        "{what:40} {seconds:6.2} s {:8.2} M rows/s {:8.0} MB/s ({rows} rows, {megabytes:.0} MB)",
        rows as f64 / 1e6 / seconds,
        megabytes / seconds,
    );
}

fn main() {
    let mut arguments = std::env::args().skip(1);
    let warehouses = arguments.next().map_or(4, |text| text.parse().expect("a number"));
    let name = format!("hotrow-checkpoint-speed-{}", std::process::id());
    let path = arguments.next().map_or_else(|| std::env::temp_dir().join(name), PathBuf::from);
    let files = Arc::new(Directory::create(&path).expect("the directory can be made"));
    let mut workload = Tpcc::default();
    workload.parameters.warehouses = warehouses;
    workload.parameters_mut().set("mix", "np").expect("there is such a mix");

    let db = empty(&workload);
    {
        let loader = db.bulk_loader().expect("no engine runs");
        let mut part = loader.parts().remove(0);
        let _ = workload.load(Share::WHOLE, 1, &mut |table, row, heap| {
            part.load(table, row, heap).expect("the population is right");
            ControlFlow::Continue(())
        });
    }
    db.session().execute(&workload.procedures_sql()).expect("the procedures are right");
    let mut place = Place { files: Arc::clone(&files), epoch: 0 };

    let (engine, ground) = started(&db, Box::new(Nothing));
    for threads in [1, 2] {
        let (written, took) = place.write(&ground, threads);
        let (rows, bytes) = (written.captured.rows(), written.manifest.bytes());
        report(&format!("write, {threads} threads, no calls"), rows, bytes, took);
    }
    engine.stop();

    let session = db.session();
    let resolve = |name: &str| session.procedure(name).expect("it was made").id();
    let committed = Arc::new(AtomicU64::new(0));
    let generator = workload.generator(Share::WHOLE, 1, &resolve);
    let calls = Calls { generator, committed: Arc::clone(&committed) };
    let (engine, ground) = started(&db, Box::new(calls));
    let rate = |begun: Ticks, before: u64| {
        (committed.load(Relaxed) - before) as f64 / begun.elapsed().as_secs_f64()
    };
    for threads in [1, 2] {
        let (begun, before) = (Ticks::now(), committed.load(Relaxed));
        thread::sleep(CALLS_FOR);
        let alone = rate(begun, before);
        let (begun, before) = (Ticks::now(), committed.load(Relaxed));
        let (written, took) = place.write(&ground, threads);
        let during = rate(begun, before);
        let (rows, bytes) = (written.captured.rows(), written.manifest.bytes());
        report(&format!("write, {threads} threads, calls running"), rows, bytes, took);
        let saved = written.captured.saved_rows;
        println!("  {alone:.0} calls/s before, {during:.0} during it; {saved} rows saved by calls");
    }
    engine.stop();

    let begun = Ticks::now();
    let verified = verify(&*files).expect("it is whole").expect("there is one");
    report("verify", verified.manifest.rows(), verified.manifest.bytes(), begun.elapsed());
    for threads in [1, 2] {
        let manifest = find(&*files).expect("it is whole").newest.expect("there is one");
        let bytes = manifest.bytes();
        let db = empty(&workload);
        let (engine, ground) = started(&db, Box::new(Nothing));
        engine.stop();
        let begun = Ticks::now();
        let reader = Reader::open(&*files, manifest).expect("it is whole");
        let quiet = ground.schema.quiet();
        let loaded = checkpoint::restore(&quiet.schema(), &reader, threads).expect("it is whole");
        report(&format!("load, {threads} threads"), loaded.rows(), bytes, begun.elapsed());
    }
    std::fs::remove_dir_all(&path).expect("it can be removed");
}
