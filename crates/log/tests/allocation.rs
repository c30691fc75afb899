//! Neither workers nor the writer allocate once buffers have grown to their size.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use hotrow_base::ids::WorkerId;
use hotrow_log::files::{Directory, Files};
use hotrow_log::{Kind, Log, LogError, LogOptions, scan};

struct Counting;

/// Of all threads.
static ALLOCATIONS: AtomicU64 = AtomicU64::new(0);

// SAFETY: every call is handed on to the system's allocator as it came.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
        // SAFETY: the caller's promises are the system allocator's.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the caller's promises are the system allocator's.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

const ENTRIES: u64 = 200;

/// One epoch with entries of several sizes, and a wait for it.
fn turn(log: &Log, worker: WorkerId) {
    log.wait_for_room(worker);
    let epoch = log.enter(worker).expect("the log is open");
    for time in 0..ENTRIES {
        log.append(worker, time, Kind::Values, |body| body.resize(body.len() + time as usize, 7));
    }
    log.leave(worker);
    log.wait_for(epoch).expect("nothing fails");
}

#[test]
fn warm_commits_allocate_nothing() {
    let path = std::env::temp_dir().join(format!("hotrow-log-allocation-{}", std::process::id()));
    let files: Arc<dyn Files> = Arc::new(Directory::create(&path).expect("it can be made"));
    let tail = scan(&*files, 0, |_| Ok::<_, LogError>(())).expect("it is empty");
    let log = Log::start(files, tail, LogOptions::new(2)).expect("it is writable");
    let workers = [WorkerId(0), WorkerId(1)];
    let turns = |count| (0..count).for_each(|turn_of| turn(&log, workers[turn_of % 2]));
    turns(10);
    let before = ALLOCATIONS.load(Ordering::Relaxed);
    turns(100);
    let after = ALLOCATIONS.load(Ordering::Relaxed);
    log.stop().expect("nothing fails");
    std::fs::remove_dir_all(&path).expect("it is there");
    assert_eq!(after - before, 0, "100 epochs of {ENTRIES} entries");
}
