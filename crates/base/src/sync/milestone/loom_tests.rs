//! What was done before a step is seen by whoever waited for it, and nobody sleeps through it.

use super::*;
use crate::sync::facade::{self, Arc, thread};

#[test]
fn a_step_is_waited_for_and_shows_what_was_before_it() {
    facade::model(|| {
        let shared = Arc::new((Milestone::new(2), AtomicU32::new(0)));
        let maker = {
            let shared = Arc::clone(&shared);
            thread::spawn(move || {
                for step in 1..=2 {
                    shared.1.store(step, Ordering::Relaxed); // the milestone orders
                    shared.0.reach(step);
                }
            })
        };
        for step in 1..=2 {
            shared.0.wait(step);
            assert!(shared.1.load(Ordering::Relaxed) >= step);
        }
        maker.join().expect("it does not panic");
    });
}
