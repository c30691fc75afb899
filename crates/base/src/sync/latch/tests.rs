//! Mutual exclusion on real threads, more of them than cores.

use super::*;
use std::thread;

#[test]
fn try_lock_fails_while_held() {
    let latch = Latch::new(5);
    let guard = latch.lock();
    assert_eq!(*guard, 5);
    assert!(latch.try_lock().is_none());
    drop(guard);
    *latch.try_lock().expect("free again") += 1;
    assert_eq!(latch.into_inner(), 6);
}

#[test]
fn no_increment_is_lost() {
    let latch = Latch::new(0u64);
    thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| (0..10_000).for_each(|_| *latch.lock() += 1));
        }
    });
    assert_eq!(*latch.lock(), 80_000);
}

#[test]
fn a_sleeper_is_woken() {
    let latch = RawLatch::new();
    let guard = latch.lock();
    thread::scope(|scope| {
        let sleeper = scope.spawn(|| drop(latch.lock()));
        thread::sleep(std::time::Duration::from_millis(20));
        assert!(latch.is_locked());
        drop(guard);
        sleeper.join().expect("it gets the latch");
    });
    assert!(!latch.is_locked());
}

#[test]
fn a_latch_is_one_word() {
    if cfg!(target_os = "linux") {
        assert_eq!(size_of::<RawLatch>(), 4);
        assert_eq!(size_of::<Latch<u32>>(), 8);
    }
}
