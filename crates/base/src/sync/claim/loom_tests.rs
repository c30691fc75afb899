//! An owner that changes a thing and threads that copy it: one copy is taken, of what was there.

use super::*;
use crate::sync::facade::{self, Arc, thread};

const BITS: ClaimBits = ClaimBits { stamp: 1, busy: 2, nothing: 4 };
const FLAG: u64 = 8;
const CURRENT: u64 = 1;
const BEFORE: u64 = 10;
const AFTER: u64 = 20;

struct Thing {
    word: AtomicU64,
    row: AtomicU64,
}

impl Thing {
    fn new() -> Self {
        Self { word: AtomicU64::new(0), row: AtomicU64::new(BEFORE) }
    }

    /// Takes the copy, if it falls to the caller; how many it took.
    fn copy(&self) -> u32 {
        if !BITS.claim(&self.word, CURRENT) {
            return 0;
        }
        let row = self.row.load(Ordering::Relaxed);
        BITS.finish(&self.word, CURRENT);
        assert_eq!(row, BEFORE, "the copy is of before the change");
        1
    }

    /// What an owner does: copies first, where nobody has, then changes word and row without
    /// regard for anybody.
    fn change(&self) -> u32 {
        let seen = self.word.load(Ordering::Acquire);
        let copies = if BITS.is_done(seen, CURRENT) { 0 } else { self.copy() };
        let word = self.word.load(Ordering::Acquire);
        self.row.store(AFTER, Ordering::Relaxed);
        self.word.store(word | FLAG, Ordering::Release);
        copies
    }
}

#[test]
fn a_copier_and_an_owner() {
    facade::model(|| {
        let thing = Arc::new(Thing::new());
        let copier = {
            let thing = Arc::clone(&thing);
            thread::spawn(move || thing.copy())
        };
        let copies = thing.change() + copier.join().expect("it does not panic");
        assert_eq!(copies, 1, "I1");
        assert_eq!(thing.word.load(Ordering::Relaxed), CURRENT | FLAG, "no change was lost: I3");
        assert_eq!(thing.row.load(Ordering::Relaxed), AFTER);
    });
}

#[test]
fn two_copiers() {
    facade::model(|| {
        let thing = Arc::new(Thing::new());
        let copier = {
            let thing = Arc::clone(&thing);
            thread::spawn(move || thing.copy())
        };
        let copies = thing.copy() + copier.join().expect("it does not panic");
        assert_eq!(copies, 1, "I1");
        assert_eq!(thing.word.load(Ordering::Relaxed), CURRENT);
    });
}
