//! Two threads, and a third, at one latch: exclusion, and no lost wake-up.

use super::*;
use crate::sync::facade::{self, Arc, thread};

fn count_with_threads(threads: u32) {
    facade::model(move || {
        let latch = Arc::new(Latch::new(0));
        let others: Vec<_> = (1..threads)
            .map(|_| {
                let latch = Arc::clone(&latch);
                thread::spawn(move || *latch.lock() += 1)
            })
            .collect();
        *latch.lock() += 1;
        others.into_iter().for_each(|other| other.join().expect("it does not panic"));
        assert_eq!(*latch.lock(), threads);
    });
}

#[test]
fn two_threads_exclude_each_other() {
    count_with_threads(2);
}

#[test]
fn three_threads_exclude_each_other() {
    count_with_threads(3);
}

#[test]
fn who_gives_up_leaves_nobody_asleep() {
    facade::model(|| {
        let latch = Arc::new(RawLatch::new());
        let waits = {
            let latch = Arc::clone(&latch);
            thread::spawn(move || drop(latch.lock()))
        };
        let gives_up = {
            let latch = Arc::clone(&latch);
            thread::spawn(move || drop(latch.lock_within(Duration::ZERO)))
        };
        drop(latch.lock());
        [waits, gives_up].into_iter().for_each(|other| other.join().expect("it does not panic"));
        assert!(latch.try_lock().is_some(), "nobody has it");
    });
}
