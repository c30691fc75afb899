use super::Gate;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

const THREADS: usize = 4;
const CLOSINGS: usize = 200;

#[test]
fn nobody_is_inside_while_the_gate_is_closed() {
    let gate = Gate::new(THREADS);
    let inside = AtomicUsize::new(0);
    let passed = AtomicUsize::new(0);
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            let (gate, inside, passed, done) = (&gate, &inside, &passed, &done);
            scope.spawn(move || {
                while !done.load(Ordering::Relaxed) {
                    gate.enter(thread);
                    inside.fetch_add(1, Ordering::Relaxed);
                    passed.fetch_add(1, Ordering::Relaxed);
                    std::hint::spin_loop();
                    inside.fetch_sub(1, Ordering::Relaxed);
                    gate.leave(thread);
                }
            });
        }
        for _ in 0..CLOSINGS {
            let closed = gate.close();
            assert_eq!(inside.load(Ordering::Relaxed), 0, "I1");
            let before = passed.load(Ordering::Relaxed);
            std::thread::yield_now();
            assert_eq!(passed.load(Ordering::Relaxed), before, "nobody passes a closed gate");
            drop(closed);
        }
        // An open gate lets through, however late the threads get a core; or this hangs.
        let before = passed.load(Ordering::Relaxed);
        while passed.load(Ordering::Relaxed) == before {
            std::thread::yield_now();
        }
        done.store(true, Ordering::Relaxed);
    });
}

#[test]
fn a_thread_inside_is_told_that_quiet_is_wanted() {
    let gate = Gate::new(1);
    assert!(!gate.wants_quiet());
    gate.enter(0);
    std::thread::scope(|scope| {
        let closer = scope.spawn(|| drop(gate.close()));
        while !gate.wants_quiet() {
            std::thread::yield_now();
        }
        assert!(!closer.is_finished(), "somebody is inside");
        gate.leave(0);
    });
    assert!(!gate.wants_quiet(), "open again");
}

#[test]
fn who_gives_up_closing_leaves_the_gate_open() {
    let gate = Gate::new(2);
    gate.enter(0);
    assert!(gate.close_within(Duration::from_millis(1), || true).is_none(), "somebody is inside");
    assert!(!gate.wants_quiet(), "open again");
    let insiders = gate.insiders();
    assert!(gate.try_enter(1));
    gate.leave(1);
    assert!(gate.are_still_inside(&insiders), "thread 0");
    gate.leave(0);
    assert!(!gate.are_still_inside(&insiders));
    gate.enter(0);
    assert!(!gate.are_still_inside(&insiders), "it is there anew");
    gate.leave(0);
    let closed = gate.close_within(Duration::ZERO, || true).expect("nobody is inside");
    assert!(!gate.try_enter(1), "closed");
    drop(closed);
    assert!(gate.try_enter(1));
}

#[test]
fn who_waits_for_a_closed_gate_may_give_up() {
    let gate = Gate::new(1);
    let closed = gate.close();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut looks = 0;
            let goes_on = || {
                looks += 1;
                looks < 3
            };
            assert!(gate.keep_open_while(goes_on).is_none());
            assert_eq!(looks, 3);
            assert!(gate.close_within(Duration::from_secs(60), || false).is_none());
        });
    });
    drop(closed);
    assert!(!gate.is_wanted(), "who has given up is not waited for");
    drop(gate.keep_open_while(|| false).expect("it is open"));
    drop(gate.close_within(Duration::from_secs(60), || false).expect("nobody is inside"));
    gate.enter(0);
    gate.leave(0);
}
