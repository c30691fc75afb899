//! A token is never lost, and what came before it is seen.

use super::*;
use crate::sync::facade::atomic::AtomicU32;
use crate::sync::facade::{self, Arc, thread};

#[test]
fn park_sees_what_came_before_unpark() {
    facade::model(|| {
        let shared = Arc::new((Parker::new(), AtomicU32::new(0)));
        let waker = {
            let shared = Arc::clone(&shared);
            thread::spawn(move || {
                shared.1.store(7, Ordering::Relaxed);
                shared.0.unpark();
            })
        };
        shared.0.park();
        assert_eq!(shared.1.load(Ordering::Relaxed), 7);
        waker.join().expect("it does not panic");
    });
}

#[test]
fn two_unparks_wake_and_the_last_is_seen() {
    facade::model(|| {
        let shared = Arc::new((Parker::new(), AtomicU32::new(0), AtomicU32::new(0)));
        let waker = {
            let shared = Arc::clone(&shared);
            thread::spawn(move || {
                shared.1.store(1, Ordering::Relaxed);
                shared.0.unpark();
            })
        };
        shared.0.unpark();
        shared.0.park();
        if shared.1.load(Ordering::Relaxed) == 0 {
            shared.0.park();
        }
        assert_eq!(shared.1.load(Ordering::Relaxed), 1);
        waker.join().expect("it does not panic");
    });
}

#[test]
fn wait_for_never_misses_a_notify() {
    facade::model(|| {
        let shared = Arc::new((Parker::new(), AtomicU32::new(0)));
        let wakers: Vec<_> = (0..2)
            .map(|_| {
                let shared = Arc::clone(&shared);
                thread::spawn(move || {
                    shared.1.fetch_add(1, Ordering::Relaxed);
                    shared.0.notify();
                })
            })
            .collect();
        shared.0.wait_for(None, || shared.1.load(Ordering::Relaxed) == 2);
        wakers.into_iter().for_each(|waker| waker.join().expect("it does not panic"));
    });
}
