//! Tokens, deadlines and sleepers on real threads.

use super::*;
use std::sync::atomic::AtomicU64;
use std::thread;
use std::time::Duration;

#[test]
fn a_token_given_first_is_taken_once() {
    let parker = Parker::new();
    parker.unpark();
    parker.unpark();
    parker.park();
    assert!(!parker.park_until(Ticks::from_now(Duration::from_millis(1))));
}

#[test]
fn a_deadline_ends_the_wait() {
    let parker = Parker::new();
    let start = Ticks::now();
    assert!(!parker.park_until(start.after(Duration::from_millis(10))));
    assert!(start.elapsed() >= Duration::from_millis(10));
    assert!(!parker.wait_for(Some(Ticks::from_now(Duration::from_millis(5))), || false));
}

#[test]
fn a_sleeper_is_woken() {
    let parker = Parker::new();
    thread::scope(|scope| {
        scope.spawn(|| {
            thread::sleep(Duration::from_millis(20));
            parker.unpark();
        });
        parker.park();
    });
}

/// Ping-pong between more threads than cores: a lost wake-up hangs the test.
#[test]
fn wait_for_never_misses_a_notify() {
    const ROUNDS: u64 = 2_000;
    let pair = || ((Parker::new(), Parker::new()), (AtomicU64::new(0), AtomicU64::new(0)));
    let pairs = [pair(), pair(), pair()];
    thread::scope(|scope| {
        for ((left, right), (ping, pong)) in &pairs {
            scope.spawn(move || {
                for round in 1..=ROUNDS {
                    ping.store(round, Ordering::Relaxed);
                    right.notify();
                    left.wait_for(None, || pong.load(Ordering::Relaxed) == round);
                }
            });
            scope.spawn(move || {
                for round in 1..=ROUNDS {
                    right.wait_for(None, || ping.load(Ordering::Relaxed) == round);
                    pong.store(round, Ordering::Relaxed);
                    left.notify();
                }
            });
        }
    });
}
