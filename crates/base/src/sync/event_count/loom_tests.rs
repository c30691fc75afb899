//! No change between the last attempt and sleep is missed.

use super::*;
use crate::sync::facade::atomic::AtomicU32;
use crate::sync::facade::{self, Arc, thread};

/// Takes one of `count`, if there is one; never fails while there is.
fn take_one(count: &AtomicU32) -> Option<()> {
    let mut seen = count.load(Ordering::Relaxed);
    while seen > 0 {
        let order = Ordering::Relaxed;
        match count.compare_exchange(seen, seen - 1, order, order) {
            Ok(_) => return Some(()),
            Err(current) => seen = current,
        }
    }
    None
}

/// Two take one each of what two changes bring, and none sleeps for ever.
fn two_takers_get_one_each(
    preemptions: usize,
    take: fn(&EventCount, &AtomicU32) -> Option<()>,
    tell: fn(&EventCount),
) {
    facade::model_within(preemptions, move || {
        let shared = Arc::new((EventCount::new(), AtomicU32::new(0)));
        let takers: Vec<_> = (0..2)
            .map(|_| {
                let shared = Arc::clone(&shared);
                thread::spawn(move || take(&shared.0, &shared.1))
            })
            .collect();
        for _ in 0..2 {
            shared.1.fetch_add(1, Ordering::Relaxed);
            tell(&shared.0);
        }
        for taker in takers {
            assert!(taker.join().expect("it does not panic").is_some());
        }
        assert_eq!(shared.1.load(Ordering::Relaxed), 0);
    });
}

#[test]
fn a_waiter_never_misses_its_change() {
    let take = |events: &EventCount, count: &AtomicU32| events.wait_for(None, || take_one(count));
    two_takers_get_one_each(facade::PREEMPTIONS, take, EventCount::notify_one);
}

/// As queues use it: who takes one passes the wake-up on while there are more.
#[test]
fn who_looks_keeps_nobody_asleep_who_is_needed() {
    let take = |events: &EventCount, count: &AtomicU32| {
        let taken = events.look_for(None, || take_one(count));
        if count.load(Ordering::Relaxed) > 0 {
            events.notify_free();
        }
        taken
    };
    // With three preemptions more than ten minutes.
    two_takers_get_one_each(2, take, EventCount::notify_free);
}
