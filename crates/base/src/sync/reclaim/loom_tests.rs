//! A reader, and a writer that reuses what the reader may hold.

use crate::sync::facade::model;
use loom::sync::Arc;
use loom::thread;

use super::*;

const POISON: u64 = u64::MAX;

struct Shared {
    epochs: ReclaimEpochs,
    link: AtomicU64,
    cells: [AtomicU64; 2],
}

fn shared() -> Arc<Shared> {
    Arc::new(Shared {
        epochs: ReclaimEpochs::new(2),
        link: AtomicU64::new(0),
        cells: [AtomicU64::new(1), AtomicU64::new(2)],
    })
}

fn read_once(shared: &Shared) {
    let _guard = shared.epochs.pin(WorkerId(1));
    let cell = &shared.cells[shared.link.load(Acquire) as usize];
    assert_ne!(cell.load(Relaxed), POISON, "reused under a pin");
}

fn unlink_and_reuse(shared: &Shared) {
    let mut retired = Retired::default();
    // Relaxed but for publishing cell 1: the fences alone must order the unlinking.
    shared.link.store(1, Release);
    retired.retire(shared.epochs.retire_epoch(), 0_usize);
    shared.epochs.advance();
    let safe = shared.epochs.safe_epoch();
    retired.drain_safe(safe, |cell| shared.cells[cell].store(POISON, Relaxed));
}

#[test]
fn loom_a_pinned_reader_never_sees_a_reused_cell() {
    model(|| {
        let shared = shared();
        let reader = thread::spawn({
            let shared = Arc::clone(&shared);
            move || read_once(&shared)
        });
        unlink_and_reuse(&shared);
        reader.join().expect("the reader does not panic");
    });
}

#[test]
fn loom_a_pin_that_is_moved_on_protects_what_was_reached_since() {
    model(|| {
        let shared = shared();
        // Pinned before there is a writer: to fail, the model needs its three preemptions later.
        let guard = shared.epochs.pin(WorkerId(1));
        let early = &shared.cells[0];
        let writer = thread::spawn({
            let shared = Arc::clone(&shared);
            move || unlink_and_reuse(&shared)
        });
        assert_ne!(early.load(Relaxed), POISON, "reused under a pin");
        let moment = shared.epochs.moment();
        let late = &shared.cells[shared.link.load(Acquire) as usize];
        guard.move_on(moment);
        assert_ne!(late.load(Relaxed), POISON, "reused under a pin that was moved on");
        writer.join().expect("the writer does not panic");
    });
}

#[test]
fn loom_pinning_again_does_not_unprotect() {
    model(|| {
        let shared = shared();
        let reader = thread::spawn({
            let shared = Arc::clone(&shared);
            move || {
                read_once(&shared);
                read_once(&shared);
            }
        });
        unlink_and_reuse(&shared);
        reader.join().expect("the reader does not panic");
    });
}

#[test]
fn loom_a_third_thread_may_advance() {
    model(|| {
        let shared = shared();
        let reader = thread::spawn({
            let shared = Arc::clone(&shared);
            move || read_once(&shared)
        });
        let ticker = thread::spawn({
            let shared = Arc::clone(&shared);
            move || {
                shared.epochs.advance();
            }
        });
        unlink_and_reuse(&shared);
        reader.join().expect("the reader does not panic");
        ticker.join().expect("the ticker does not panic");
    });
}
