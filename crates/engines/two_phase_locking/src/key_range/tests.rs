use std::sync::Arc;

use hotrow_base::ids::IndexId;
use hotrow_engine::lock_mode::Strength::{Exclusive, None as Free, Shared};

use hotrow_engine::waits::Party;

use super::*;
use crate::intents::{Form, TableLocks};
use crate::lock_table::LockTable;
use crate::policy::{Deadlocks, Policy};

#[test]
fn simulated_modes_are_the_next_stronger_ones_there_are() {
    let strengths = [Free, Shared, Exclusive];
    for (key, gap) in strengths.into_iter().flat_map(|key| strengths.map(|gap| (key, gap))) {
        let Some(exact) = Ranges::Orthogonal.mode(key, gap) else {
            assert_eq!((key, gap), (Free, Free));
            assert_eq!((Ranges::Lomet.mode(key, gap), Ranges::Kvl.mode(key, gap)), (None, None));
            continue;
        };
        assert_eq!((exact.parts().key, exact.parts().gap), (key, gap));
        for ranges in [Ranges::Lomet, Ranges::Kvl] {
            let mode = ranges.mode(key, gap).expect("as the exact one");
            assert!(mode.covers(exact), "{ranges:?} takes {mode:?} for {exact:?}");
        }
        assert!(matches!(Ranges::Kvl.mode(key, gap), Some(Mode::S | Mode::X)));
    }
    assert_eq!(Ranges::Lomet.mode(Free, Shared), Some(Mode::S), "it has no RangeS-N");
    assert_eq!(Ranges::Lomet.mode(Free, Exclusive), Some(Mode::X), "nor RangeX-N");
    assert_eq!(Ranges::Lomet.mode(Shared, Exclusive), Some(Mode::SX), "RangeX-S, it has");
    assert_eq!(Ranges::Lomet.mode(Exclusive, Shared), Some(Mode::X), "nor RangeS-X");
    assert_eq!(Ranges::Lomet.mode(Exclusive, Free), Some(Mode::XN));
    // Inserting needs the gap alone but where a key has no gap of its own.
    let dividing = [Ranges::Orthogonal, Ranges::Lomet, Ranges::Kvl].map(Ranges::dividing);
    assert_eq!(dividing, [Mode::NX, Mode::NX, Mode::X]);
}

/// Transactions of one lock table, which lock keys.
struct Two {
    one: Locking,
    other: Locking,
    watch: Stopwatch,
}

impl Two {
    fn new() -> Self {
        let table = Arc::new(LockTable::new(2, Deadlocks::of(Policy::NoWait)));
        let tables = Arc::new(TableLocks::new(Arc::clone(&table), Form::default()));
        let locking = |number| {
            let mut locking = Locking::new(Arc::clone(&tables), number);
            locking.begin(1, Party::Unknown);
            locking
        };
        Self { one: locking(0), other: locking(1), watch: Stopwatch::default() }
    }

    fn one(&mut self) -> LockKeys<'_, false, false> {
        LockKeys::new(&mut self.one, &mut self.watch, Ranges::Orthogonal)
    }

    fn other(&mut self) -> LockKeys<'_, false, false> {
        LockKeys::new(&mut self.other, &mut self.watch, Ranges::Orthogonal)
    }
}

fn lock(number: u64) -> KeyLock {
    // Of different buckets, because tags are kept by bucket.
    KeyLock { lock: number << 56, index: IndexId(0) }
}

const TIME: Position = Position { epoch: 3, time: 7 };

#[test]
fn a_gap_that_another_one_reads_is_not_divided() {
    let mut two = Two::new();
    let (gap, key) = (lock(1), lock(2));
    assert_eq!(two.other().hold_key(gap, Free, Shared), Ok(()));
    assert_eq!(two.one().hold_key(key, Exclusive, Free), Ok(()));
    assert!(!two.one().may_divide(gap, key));
    two.other.release_all();
    assert!(two.one().may_divide(gap, key));
}

#[test]
fn who_divides_a_gap_that_it_reads_reads_both_parts() {
    let mut two = Two::new();
    let (gap, key, next) = (lock(1), lock(2), lock(3));
    assert_eq!(two.one().hold_key(gap, Free, Shared), Ok(()));
    assert_eq!(two.one().hold_key(key, Exclusive, Free), Ok(()));
    assert!(two.one().may_divide(gap, key));
    assert_eq!(two.one.held.mode(key.lock), Some(Mode::XS));
    assert_eq!(two.other().hold_key(next, Exclusive, Free), Ok(()));
    assert!(!two.other().may_divide(key, next), "the gap behind the new key is read, too");
}

#[test]
fn who_has_read_a_gap_is_met_behind_keys_that_divide_it() {
    let mut two = Two::new();
    let (gap, key, next) = (lock(1), lock(2), lock(3));
    assert_eq!(two.other().hold_key(gap, Free, Shared), Ok(()));
    two.other().commits_at(TIME);
    two.other.release_all();
    assert_eq!(two.one().hold_key(key, Exclusive, Free), Ok(()));
    assert!(two.one().may_divide(gap, key));
    assert_eq!(two.one().met(), TIME);
    two.one.release_all(); // undone: it leaves no position of its own
    let table = Arc::clone(&two.other.table);
    table.begin(&mut two.other.owner, 2);
    assert_eq!(two.other().hold_key(next, Exclusive, Free), Ok(()));
    assert!(two.other().may_divide(key, next));
    assert_eq!(two.other().met(), TIME, "it divides what was a part of the gap that was read");
}

#[test]
fn who_removes_a_key_is_met_in_the_gap_that_grows_by_it() {
    let mut two = Two::new();
    let (gap, key) = (lock(1), lock(2));
    assert_eq!(two.one().hold_key(gap, Free, Shared), Ok(()));
    assert_eq!(two.other().hold_key(key, Exclusive, Free), Ok(()));
    two.other().commits_at(TIME);
    assert!(two.other().may_unite(gap, key));
    two.other.release_all();
    assert_eq!(two.one().met(), Position::default());
    assert_eq!(two.one().hold_key(gap, Free, Shared), Ok(()));
    assert_eq!(two.one().met(), TIME, "though it holds the gap already");
}

#[test]
fn a_key_that_another_one_has_locked_stays() {
    let mut two = Two::new();
    let (gap, key) = (lock(1), lock(2));
    assert_eq!(two.one().hold_key(key, Free, Shared), Ok(()));
    assert!(!two.other().may_unite(gap, key));
    assert!(two.one().may_unite(gap, key), "the own lock will be gone");
}
