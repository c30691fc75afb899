//! How fast logged calls are replayed, and how fast engines execute the same calls.
//!
//!     cargo run --release -p hotrow-tests --example replay_speed -- \
//!         CALLS REPEATS WORKLOAD NAME=VALUE...
//!
//! for instance `200000 3 tpcc warehouses=4 mix=np`. Takes calls from the workload's generator,
//! runs them one after the other to know which ones commit and write (what a log would hold), and
//! gives these, as often as REPEATS says, to engines and to replays on fresh databases. Prints
//! calls per second, all runs, best last. `ONLY=words` runs what has one of the words in its name.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use hotrow::{CallSource, Config, Database, EngineOptions, Invocation};
use hotrow_base::clock::Ticks;
use hotrow_engine::recovery::LoggedCall;
use hotrow_engine::source::{End, Fetch, Ticket};
use hotrow_tests::loaded::open_loaded;
use hotrow_tests::matrix;
use hotrow_tests::replay::{replay, run_serially, schema_of};
use hotrow_workloads::{Share, Workload, workload_named};

const SEED: u64 = 1;
/// Calls a replay is given at once.
const AT_ONCE: usize = 8_192;

/// Every n-th of the logged calls.
struct Calls {
    all: Arc<[LoggedCall]>,
    next: usize,
    step: usize,
    ended: Arc<AtomicUsize>,
}

impl CallSource for Calls {
    fn fetch(&mut self, invocation: &mut Invocation) -> Fetch {
        let Some(call) = self.all.get(self.next) else { return Fetch::Closed };
        self.next += self.step;
        invocation.procedure = call.invocation.procedure;
        invocation.now_us = call.invocation.now_us;
        let (from, to) = (&call.invocation.arguments, &mut invocation.arguments);
        to.clear();
        to.datums.extend_from_slice(&from.datums);
        to.elements.extend_from_slice(&from.elements);
        to.heap.extend_from_slice(&from.heap);
        Fetch::Ready(Ticket(0))
    }

    fn wait(&mut self) {}

    fn finish(&mut self, _: Ticket, _: End<'_>) {}
}

impl Drop for Calls {
    fn drop(&mut self) {
        self.ended.fetch_add(1, Ordering::Release);
    }
}

fn open(workload: &dyn Workload) -> Database {
    open_loaded(workload, SEED, Config::default().threads(8).memory_bytes(16 << 30))
}

fn logged(workload: &dyn Workload, calls: usize) -> Arc<[LoggedCall]> {
    let db = open(workload);
    let session = db.session();
    let resolve = |name: &str| session.procedure(name).expect("it was created").id();
    let mut generator = workload.generator(Share::WHOLE, SEED, &resolve);
    let call = |now_us| {
        let mut invocation = Invocation { now_us, ..Invocation::default() };
        generator.next(&mut invocation);
        invocation
    };
    let all = run_serially(&schema_of(&db), (1..=calls as i64).map(call));
    // Calls that write have the hash 0 once in 2^32.
    all.into_iter().filter(|call| call.write_hash != 0).collect()
}

/// Seconds that an engine takes.
fn execute(
    workload: &dyn Workload,
    calls: &Arc<[LoggedCall]>,
    (name, variant): (&str, &[(&str, &str)]),
    threads: usize,
) -> f64 {
    let db = open(workload);
    let entry = matrix::engine(name);
    let ended = Arc::new(AtomicUsize::new(0));
    let source = |next| -> Box<dyn CallSource> {
        let (all, ended) = (Arc::clone(calls), Arc::clone(&ended));
        Box::new(Calls { all, next, step: threads, ended })
    };
    let settings = variant.iter().map(|&(name, value)| (name.to_owned(), value.to_owned()));
    let options =
        EngineOptions { threads, settings: settings.collect(), ..EngineOptions::default() };
    let began = Ticks::now();
    let engine = db.start_engine(entry, &options, (0..threads).map(source).collect());
    let engine = engine.expect("the options are right");
    while ended.load(Ordering::Acquire) < threads {
        hotrow_base::thread::sleep(std::time::Duration::from_millis(1));
    }
    let seconds = Ticks::now().nanos_since(began) as f64 / 1e9;
    engine.stop();
    seconds
}

/// Seconds that a replay takes.
fn replayed(workload: &dyn Workload, calls: &[LoggedCall], threads: usize) -> f64 {
    let db = open(workload);
    let schema = schema_of(&db);
    let began = Ticks::now();
    let counts = replay(&schema, calls, (threads, AT_ONCE), &()).expect("it is right");
    let seconds = Ticks::now().nanos_since(began) as f64 / 1e9;
    eprintln!("    {counts:?}");
    seconds
}

fn main() {
    let mut arguments = std::env::args().skip(1);
    let usage = "CALLS REPEATS WORKLOAD NAME=VALUE...";
    let mut number = || arguments.next().and_then(|text| text.parse().ok()).expect(usage);
    let (calls, repeats): (usize, usize) = (number(), number());
    let name = arguments.next().expect(usage);
    let mut workload = workload_named(&name).expect("it is listed");
    for setting in arguments {
        let (name, value) = setting.split_once('=').expect(usage);
        workload.parameters_mut().set(name, value).expect("the value is right");
    }
    let workload = &*workload;
    let calls = logged(workload, calls);
    println!("{} logged calls", calls.len());
    let only = std::env::var("ONLY").unwrap_or_default();
    let report = |name: String, run: &dyn Fn() -> f64| {
        if !only.split_whitespace().any(|word| name.contains(word)) && !only.is_empty() {
            return;
        }
        let mut rates: Vec<_> = (0..repeats).map(|_| calls.len() as f64 / run()).collect();
        rates.sort_by(f64::total_cmp);
        let rates: Vec<_> = rates.iter().map(|rate| format!("{rate:.0}")).collect();
        println!("{name:<40} {}", rates.join(" "));
    };
    for plan in ["off", "on"] {
        let engine = ("serial", &[("plan", plan)][..]);
        report(format!("serial:plan={plan} x 1"), &|| execute(workload, &calls, engine, 1));
    }
    for threads in [1, 2] {
        let engine = ("two_phase_locking", &[("acquisition", "ordered")][..]);
        let run = || execute(workload, &calls, engine, threads);
        report(format!("two_phase_locking:ordered x {threads}"), &run);
    }
    for threads in [1, 2] {
        report(format!("replay x {threads}"), &|| replayed(workload, &calls, threads));
    }
}
