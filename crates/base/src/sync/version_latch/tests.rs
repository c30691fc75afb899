//! One-thread state table, and readers against writers on real threads.

use super::*;
use std::sync::Arc;
use std::thread;

const RELAXED: Ordering = Ordering::Relaxed;

#[test]
fn a_zeroed_word_is_a_free_latch() {
    let word = AtomicU64::new(0);
    let latch = VersionLatch::in_word(&word);
    let version = latch.read_begin().expect("a new latch is not obsolete");
    assert!(latch.validate(version));
    assert_eq!(version.to_word(), 0);
    assert_eq!(Version::from_word(version.to_word()), version);
}

#[test]
fn unlock_publishes_the_next_version() {
    let latch = VersionLatch::new();
    let before = latch.read_begin().expect("free");
    assert_eq!(latch.lock(), Some(before));
    assert!(latch.is_locked());
    assert_eq!(latch.held_version(), before);
    assert!(!latch.validate(before), "a locked latch validates no one");
    assert_eq!(latch.try_read_begin(), None);
    assert_eq!(latch.try_lock(), None);
    assert_eq!(latch.unlock(), before.next());
    assert!(!latch.validate(before));
    assert!(!latch.try_upgrade(before));
    assert_eq!(latch.read_begin(), Some(before.next()));
}

#[test]
fn unlock_unchanged_keeps_readers_valid() {
    let latch = VersionLatch::new();
    let version = latch.read_begin().expect("free");
    assert!(latch.try_upgrade(version));
    latch.unlock_unchanged();
    assert!(latch.validate(version));
}

#[test]
fn an_obsolete_latch_refuses_until_reused() {
    let latch = VersionLatch::new();
    assert!(!latch.lock_for_reuse(), "not obsolete yet");
    let first = latch.lock().expect("free");
    latch.unlock_obsolete();
    assert!(latch.is_obsolete());
    assert_eq!(latch.read_begin(), None);
    assert_eq!(latch.lock(), None);
    assert_eq!(latch.try_lock(), None);
    assert!(!latch.validate(first));
    assert!(latch.lock_for_reuse());
    assert!(!latch.lock_for_reuse(), "only one caller gets it");
    let reborn = latch.unlock();
    assert!(reborn > first);
    assert!(latch.validate(reborn));
}

#[test]
fn readers_never_validate_a_torn_pair() {
    const WRITES: u64 = 20_000;
    let shared = Arc::new((VersionLatch::new(), [const { AtomicU64::new(0) }; 4]));
    let writers: Vec<_> = (0..2)
        .map(|_| {
            let shared = Arc::clone(&shared);
            thread::spawn(move || {
                for _ in 0..WRITES {
                    shared.0.lock().expect("never obsolete");
                    let next = shared.1[0].load(RELAXED) + 1;
                    shared.1.iter().for_each(|word| word.store(next, RELAXED));
                    shared.0.unlock();
                }
            })
        })
        .collect();
    let mut last = 0;
    while last < 2 * WRITES {
        let version = shared.0.read_begin().expect("never obsolete");
        let seen = [0, 1, 2, 3].map(|i: usize| shared.1[i].load(RELAXED));
        if shared.0.validate(version) {
            assert!(seen.iter().all(|&value| value == seen[0]), "torn read {seen:?}");
            assert!(seen[0] >= last, "time went back");
            last = seen[0];
        }
    }
    writers.into_iter().for_each(|writer| writer.join().expect("the writer asserts nothing"));
}
