//! No statement takes more memory than its budget, and each ends soon after it is told to.
//!
//! A program of its own: its allocator counts what all threads have.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use hotrow::{Config, Database, Session};

#[path = "../../../tests/torture/memory.rs"]
mod inputs;

struct Counting;

static NOW: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);

// SAFETY: every call is handed on to the system's allocator as it came.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let now = NOW.fetch_add(layout.size(), Ordering::Relaxed) + layout.size();
        PEAK.fetch_max(now, Ordering::Relaxed);
        // SAFETY: the caller's promises are the system allocator's.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        NOW.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: the caller's promises are the system allocator's.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

const BUDGET: usize = 16 << 20;
/// What is small, and nobody's: buffers that frames keep, and the log of errors.
const SLACK: usize = 4 << 20;

fn database() -> (Database, Session) {
    let config = Config::default()
        .threads(2)
        .step_budget(u64::MAX)
        .statement_memory_bytes(BUDGET as u64)
        .session_memory_bytes(8 * BUDGET as u64);
    let db = Database::open_in_memory(config).expect("it opens");
    let session = db.session();
    session.execute(inputs::PREPARATION).expect("it is made");
    (db, session)
}

/// All in one: what one test allocates is another one's noise.
#[test]
fn budgets_hold_and_cancels_are_obeyed() {
    let (_db, session) = database();
    let mut wrong = Vec::new();
    for statement in inputs::LARGE {
        let before = NOW.load(Ordering::Relaxed);
        PEAK.store(before, Ordering::Relaxed);
        let ended = session.execute(statement).map(drop);
        let code = match &ended {
            Ok(()) => "done",
            Err(error) => error.sqlstate().unwrap_or("no SQL error"),
        };
        let code = code.to_owned();
        drop(ended);
        let peak = PEAK.load(Ordering::Relaxed);
        // A thread of the engine gives back what a call took when it has told its end.
        let told = Instant::now();
        let is_left = || {
            session.memory().used() > 0
                || NOW.load(Ordering::Relaxed).saturating_sub(before) > SLACK
        };
        while is_left() && told.elapsed() < Duration::from_secs(10) {
            std::thread::yield_now();
        }
        let now = NOW.load(Ordering::Relaxed);
        let (most, left) = (peak.saturating_sub(before), now.saturating_sub(before));
        println!("{code} {} MiB, {} KiB left: {statement:.90}", most >> 20, left >> 10);
        let held = session.memory().used();
        if !["53200", "54000"].contains(&&*code) || most > BUDGET / 4 * 5 + SLACK || left > SLACK {
            wrong.push((code, most >> 20, left >> 20, *statement));
        }
        if held > 0 {
            wrong.push(("held".to_owned(), held as usize, 0, *statement));
        }
    }
    // They run for hours if they are not ended; a busy machine may take its time to do it. Some
    // need more memory than it takes to see that a budget is kept.
    session.execute("SET hotrow.statement_memory = '64MB'").expect("it is set");
    session.execute("SET statement_timeout = '50ms'").expect("it is set");
    for statement in inputs::LONG {
        let began = Instant::now();
        let error = session.execute(statement).map(drop).expect_err("it never ends");
        println!("{:?}: {statement:.90}", began.elapsed());
        if error.sqlstate() != Some("57014") || began.elapsed() > Duration::from_secs(5) {
            wrong.push((error.to_string(), began.elapsed().as_millis() as usize, 0, *statement));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    session.execute("RESET statement_timeout").expect("it is set");
    a_call_that_runs_is_cancelled(session);
}

/// A call that a thread has taken is ended by a cancel.
fn a_call_that_runs_is_cancelled(session: Session) {
    let canceller = session.canceller();
    let caller = std::thread::spawn(move || session.call("spin", (i32::MAX,)).map(drop));
    // As soon as it runs, be it in the queue or with a thread.
    while !canceller.cancel() && !caller.is_finished() {
        std::thread::yield_now();
    }
    let error = caller.join().expect("no panic").expect_err("it would never end");
    assert_eq!(error.sqlstate(), Some("57014"), "{error}");
}
