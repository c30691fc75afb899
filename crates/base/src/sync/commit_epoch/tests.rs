use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use super::{CommitEpochs, EpochStay, StayEnd};
use crate::sync::Latch;

#[test]
fn epochs_go_up_by_one_and_are_entered_in_turn() {
    let epochs = CommitEpochs::new(2, 7);
    assert_eq!(epochs.enter(0), 7);
    epochs.leave(0);
    assert_eq!(epochs.advance(), 7);
    assert_eq!(epochs.current(), 8);
    assert_eq!(epochs.enter(1), 8);
    epochs.leave(1);
}

#[test]
fn advancing_waits_for_who_is_inside_and_not_for_the_others() {
    let epochs = Arc::new(CommitEpochs::new(3, 1));
    let ended = Arc::new(AtomicBool::new(false));
    epochs.enter(1);
    let writer = std::thread::spawn({
        let (epochs, ended) = (Arc::clone(&epochs), Arc::clone(&ended));
        move || {
            let epoch = epochs.advance();
            ended.store(true, Ordering::Release);
            epoch
        }
    });
    while epochs.current() == 1 {
        std::thread::yield_now();
    }
    // The next epoch is open to others meanwhile.
    assert_eq!(epochs.enter(0), 2);
    epochs.leave(0);
    assert!(!ended.load(Ordering::Acquire), "worker 1 is still inside");
    epochs.leave(1);
    assert_eq!(writer.join().expect("the writer does not panic"), 1);
}

#[test]
fn who_stays_is_inside_two_epochs_until_it_moves_on() {
    let epochs = Arc::new(CommitEpochs::new(1, 4));
    assert_eq!(epochs.enter(0), 4);
    assert_eq!(epochs.current_beside(0), 4);
    let writer = std::thread::spawn({
        let epochs = Arc::clone(&epochs);
        move || (epochs.advance(), epochs.advance())
    });
    while epochs.current() == 4 {
        std::thread::yield_now();
    }
    assert_eq!(epochs.current_beside(0), 5);
    std::thread::sleep(std::time::Duration::from_millis(5));
    assert_eq!(epochs.current(), 5, "4 has not ended");
    epochs.move_on(0);
    while epochs.current() == 5 {
        std::thread::yield_now();
    }
    assert_eq!(epochs.current_beside(0), 6, "5 has not ended");
    epochs.leave(0);
    assert_eq!(writer.join().expect("the writer does not panic"), (4, 5));
}

#[test]
fn a_stay_lasts_as_long_as_a_call_waits_in_its_epoch() {
    let (epochs, mut stay) = (CommitEpochs::new(2, 4), EpochStay::default());
    stay.begin(epochs.enter(0));
    let ended = epochs.begin_next();
    stay.begin(epochs.current_beside(0));
    stay.begin(epochs.current_beside(0));
    assert!(!epochs.is_left(ended), "a call began in it");
    assert_eq!((stay.end(5), epochs.is_left(ended)), (StayEnd::Stays, false));
    assert_eq!(stay.end(4), StayEnd::MovesOn);
    epochs.move_on(0);
    assert!(epochs.is_left(ended), "the calls that wait began in the next one");
    let ended = epochs.begin_next();
    assert_eq!((ended, epochs.is_left(ended)), (5, false));
    assert_eq!((stay.end(5), stay.is_outside()), (StayEnd::Leaves, true));
    epochs.leave(0);
    assert!(epochs.is_left(ended));
}

#[test]
fn under_load_every_commit_is_in_the_buffer_that_is_taken() {
    const WORKERS: usize = 4;
    const COMMITS: u64 = 20_000;
    let epochs = CommitEpochs::new(WORKERS, 1);
    let buffers: Vec<[Latch<Vec<u64>>; 2]> = (0..WORKERS).map(|_| Default::default()).collect();
    let working = AtomicU64::new(WORKERS as u64);
    let mut taken = 0_u64;
    std::thread::scope(|scope| {
        for worker in 0..WORKERS {
            let (epochs, buffers, working) = (&epochs, &buffers, &working);
            scope.spawn(move || {
                let mut last = 0;
                for _ in 0..COMMITS {
                    let epoch = epochs.enter(worker);
                    assert!(epoch >= last, "time does not run backwards");
                    last = epoch;
                    buffers[worker][(epoch % 2) as usize].lock().push(epoch);
                    epochs.leave(worker);
                }
                working.fetch_sub(1, Ordering::Release);
            });
        }
        let mut rounds_left = 2;
        while rounds_left > 0 {
            if working.load(Ordering::Acquire) == 0 {
                rounds_left -= 1;
            }
            let ended = epochs.advance();
            for buffer in &buffers {
                for epoch in buffer[(ended % 2) as usize].lock().drain(..) {
                    assert_eq!(epoch, ended, "a commit lies with its own epoch");
                    taken += 1;
                }
            }
        }
    });
    assert_eq!(taken, WORKERS as u64 * COMMITS);
}
