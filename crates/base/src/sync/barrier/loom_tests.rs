//! What was done before a barrier is seen behind it, step after step.

use super::*;
use crate::sync::facade::{self, Arc, thread};

#[test]
fn steps_do_not_overlap() {
    facade::model(|| {
        let shared = Arc::new((Barrier::new(2), [AtomicU32::new(0), AtomicU32::new(0)]));
        let work = |shared: &(Barrier, [AtomicU32; 2]), own: usize| {
            let (barrier, steps) = shared;
            for step in 1..=2 {
                steps[own].store(step, Ordering::Relaxed);
                barrier.wait(|| {
                    // Relaxed: the barrier orders.
                    assert_eq!(steps[1 - own].load(Ordering::Relaxed), step);
                });
                assert_eq!(steps[1 - own].load(Ordering::Relaxed), step);
                if step < 2 {
                    barrier.wait(|| ());
                }
            }
        };
        let other = {
            let shared = Arc::clone(&shared);
            thread::spawn(move || work(&shared, 0))
        };
        work(&shared, 1);
        other.join().expect("it does not panic");
    });
}
