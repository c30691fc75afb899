//! A worker that commits, and a log writer that takes what it kept.

use crate::sync::facade::{UnsafeCell, model};
use loom::sync::Arc;
use loom::thread;

use super::*;

struct Shared {
    epochs: CommitEpochs,
    /// one per worker and parity of the epoch; owned by the worker inside, by the writer afterwards
    buffers: [[UnsafeCell<u64>; 2]; 2],
    lock: loom::sync::Mutex<u64>,
}

fn shared(workers: usize) -> Arc<Shared> {
    let buffer = || [UnsafeCell::new(0), UnsafeCell::new(0)];
    Arc::new(Shared {
        epochs: CommitEpochs::new(workers, 1),
        buffers: [buffer(), buffer()],
        lock: loom::sync::Mutex::new(0),
    })
}

fn commit(shared: &Shared, worker: usize) -> u64 {
    let epoch = shared.epochs.enter(worker);
    let buffer = &shared.buffers[worker][(epoch % 2) as usize];
    // SAFETY: inside the epoch the buffer is the worker's (loom checks it).
    buffer.with_mut(|kept| unsafe { *kept += 1 });
    shared.epochs.leave(worker);
    epoch
}

fn take(shared: &Shared, worker: usize) -> u64 {
    let ended = shared.epochs.advance();
    let buffer = &shared.buffers[worker][(ended % 2) as usize];
    // SAFETY: I1 (loom checks it).
    buffer.with_mut(|kept| unsafe { std::mem::take(&mut *kept) })
}

#[test]
fn loom_what_an_ended_epoch_kept_is_the_writers() {
    model(|| {
        let shared = shared(1);
        let worker = thread::spawn({
            let shared = Arc::clone(&shared);
            move || {
                commit(&shared, 0);
                commit(&shared, 0);
            }
        });
        let taken = take(&shared, 0) + take(&shared, 0);
        worker.join().expect("the worker does not panic");
        let rest = take(&shared, 0) + take(&shared, 0);
        assert_eq!(taken + rest, 2, "nothing is lost and nothing is taken twice");
    });
}

#[test]
fn loom_who_depends_on_another_is_not_in_an_older_epoch() {
    model(|| {
        let shared = shared(2);
        let worker = thread::spawn({
            let shared = Arc::clone(&shared);
            move || {
                let mut row = shared.lock.lock().expect("no panic");
                *row = commit(&shared, 0);
            }
        });
        let writer = thread::spawn({
            let shared = Arc::clone(&shared);
            move || {
                shared.epochs.advance();
            }
        });
        {
            let row = shared.lock.lock().expect("no panic");
            let own = commit(&shared, 1);
            assert!(*row <= own, "{} is read by {own}", *row);
        }
        worker.join().expect("the worker does not panic");
        writer.join().expect("the writer does not panic");
    });
}

#[test]
fn loom_who_stays_keeps_for_the_next_epoch_and_moves_on_into_it() {
    model(|| {
        let shared = shared(1);
        let worker = thread::spawn({
            let shared = Arc::clone(&shared);
            move || {
                let keep = |epoch: u64| {
                    let buffer = &shared.buffers[0][(epoch % 2) as usize];
                    // SAFETY: the worker is inside this epoch or the one before (loom checks it).
                    buffer.with_mut(|kept| unsafe { *kept += 1 });
                };
                let first = shared.epochs.enter(0);
                keep(first);
                let second = shared.epochs.current_beside(0);
                keep(second);
                if second > first {
                    shared.epochs.move_on(0);
                    keep(second);
                }
                shared.epochs.leave(0);
                if second > first { 3 } else { 2 }
            }
        });
        let taken = take(&shared, 0) + take(&shared, 0);
        let kept = worker.join().expect("the worker does not panic");
        let rest = take(&shared, 0) + take(&shared, 0);
        assert_eq!(taken + rest, kept, "nothing is lost and nothing is taken twice");
    });
}
