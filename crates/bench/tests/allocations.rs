//! Heap allocations per call, on every engine: none once buffers have grown.
//!
//! A global allocator counts. Runs of N and of 2N calls follow on one database, so that what is
//! allocated once per run (threads, buffers, histograms) cancels out in the difference. What
//! remains and is allowed is the growth of storage itself, a chunk per thousands of rows, and some
//! buffers of calls in flight that one run has used and the other not.
//!
//! `HOTROW_TRACE_ALLOCATIONS=N` prints where every N-th allocation comes from, when it is an
//! engine thread's.

use std::alloc::{GlobalAlloc, Layout, System};
use std::backtrace::Backtrace;
use std::cell::Cell;
use std::sync::atomic::{AtomicU64, Ordering};

use hotrow::{Durability, LogEntries};
use hotrow_bench::{Driver, Length, LogSettings, Variant, select_engines};
use hotrow_workloads::{Workload, workload_named};

/// Allocations per call that storage may need to grow.
const GROWTH_MAX: f64 = 0.01;
const CALLS: u64 = 4_000;
/// Allocations by which runs may differ: how many of the calls in flight have grown their buffers.
const WARM_UP_MAX: f64 = 150.0;

static ALLOCATIONS: AtomicU64 = AtomicU64::new(0);
/// One allocation in so many is printed; 0 for none.
static TRACE_EVERY: AtomicU64 = AtomicU64::new(0);

thread_local! {
    /// Whether this thread prints, which allocates too.
    static PRINTING: Cell<bool> = const { Cell::new(false) };
}

/// The system's allocator, counted.
struct Counted;

// SAFETY: every call goes to the system's allocator unchanged.
unsafe impl GlobalAlloc for Counted {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        note();
        // SAFETY: the caller's promises are `System`'s.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        // SAFETY: the caller's promises are `System`'s.
        unsafe { System.dealloc(block, layout) }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        note();
        // SAFETY: the caller's promises are `System`'s.
        unsafe { System.realloc(block, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counted = Counted;

fn note() {
    let count = ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
    let every = TRACE_EVERY.load(Ordering::Relaxed);
    if every > 0 && count.is_multiple_of(every) && !PRINTING.replace(true) {
        let trace = Backtrace::force_capture().to_string();
        if trace.contains("worker") {
            eprintln!("{trace}");
        }
        PRINTING.set(false);
    }
}

/// The same, with a fixed number of calls in flight: where that adapts, or is more than a run has,
/// each run warms up other buffers. One of `orthrus` takes up to 70 allocations until it is warm
/// (`kv`), and of 16 a short run on a busy machine used but half.
fn steady(variant: &Variant) -> Variant {
    let mut steady = variant.clone();
    if steady.entry.name == "orthrus" {
        steady.settings.entry("in_flight".to_owned()).or_insert("4".to_owned());
    }
    if steady.entry.name == "lads" {
        steady.settings.entry("batch".to_owned()).or_insert("200".to_owned());
        steady.settings.insert("latency_us".to_owned(), "0".to_owned());
    }
    steady
}

fn allocations_per_call(
    workload: &dyn Workload,
    variant: &Variant,
    log: Option<&LogSettings>,
) -> f64 {
    let driver = |calls| Driver {
        length: Length::Calls(calls),
        inspect: false,
        log: log.cloned(),
        ..Driver::default()
    };
    let variant = &steady(variant);
    let threads = variant.entry.threads_near(1);
    let mut population = driver(CALLS).load(workload, threads).expect("it loads");
    let mut run = |calls| {
        let before = ALLOCATIONS.load(Ordering::Relaxed);
        driver(calls).run_on(&mut population, workload, variant, threads).expect("it runs");
        ALLOCATIONS.load(Ordering::Relaxed) - before
    };
    let (once, twice) = (run(CALLS), run(2 * CALLS));
    (twice as f64 - once as f64 - WARM_UP_MAX).max(0.0) / CALLS as f64
}

fn workload(name: &str, settings: &[(&str, &str)]) -> Box<dyn Workload> {
    let mut workload = workload_named(name).expect("the name is listed");
    for (name, value) in settings {
        workload.parameters_mut().set(name, value).expect("the setting is legal");
    }
    workload
}

// One test, because the count is of all threads.
#[test]
fn calls_allocate_nothing_once_buffers_have_grown() {
    let every = std::env::var("HOTROW_TRACE_ALLOCATIONS").ok().and_then(|text| text.parse().ok());
    TRACE_EVERY.store(every.unwrap_or(0), Ordering::Relaxed);
    // Without the 1 % of New-Order that abort: an error of SQL is text, and allocated.
    let small = [("items", "1000"), ("customers", "100"), ("rollbacks", "0")];
    let mix = |mix: &'static str| workload("tpcc", &[&small[..], &[("mix", mix)]].concat());
    let workloads = [
        ("new-order", mix("new-order")),
        ("payment", mix("payment")),
        ("tpcb", workload("tpcb", &[("accounts", "1000"), ("reads", "30")])),
        ("tellers", workload("tellers", &[("tellers", "50")])),
        ("ycsb", workload("ycsb", &[("records", "10000"), ("reads", "50")])),
        ("kv", workload("kv", &[("multi-partition", "30")])),
    ];
    let logged = |entries| LogSettings {
        directory: std::env::temp_dir(),
        durability: Durability::Buffered,
        entries,
        in_flight: 512,
        sync_delay: std::time::Duration::ZERO,
        recover: false,
    };
    let logs = [None, Some(logged(LogEntries::Commands)), Some(logged(LogEntries::Values))];
    let mut found = Vec::new();
    let variants = select_engines("all").expect("there are engines");
    let is_first = |at: usize| at == 0 || variants[at - 1].entry.name != variants[at].entry.name;
    // What is logged, and by whom, is the same for all variants of an engine.
    let of_variant = |at: usize| if is_first(at) { &logs[..] } else { &logs[..1] };
    for (name, workload) in &workloads {
        for (variant, log) in (0..variants.len())
            .flat_map(|at| of_variant(at).iter().map(move |log| (at, log)))
            .map(|(at, log)| (&variants[at], log))
        {
            let count = allocations_per_call(&**workload, variant, log.as_ref());
            let entries = log.as_ref().map_or("no log".to_owned(), |log| log.entries.to_string());
            let line = format!("{name} on {variant}, {entries}: {count:.4} allocations per call");
            println!("{line}");
            if count > GROWTH_MAX {
                found.push(line);
            }
        }
    }
    assert!(found.is_empty(), "allocations per call: {found:#?}");
}
