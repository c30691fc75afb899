use hotrow_transaction::granule::LOCK_ID_STEP;

use super::*;
use crate::intents::Form;
use crate::policy::{Deadlocks, Policy};

/// Ticks of locking and of execution that a watch shows after a call that has taken many locks.
fn lock_and_execute(timing: LockTiming) -> (u64, u64) {
    let table = Arc::new(LockTable::new(1, Deadlocks::of(Policy::NoWait)));
    let tables = Arc::new(TableLocks::new(table, Form::default()));
    let mut locking = Locking::new(tables, 0);
    locking.begin(1, Party::Unknown);
    let mut watch = Stopwatch::new(timing);
    watch.switch(Activity::Execute);
    locking.hold_table(TableId(0), Mode::X, &mut watch).expect("it is free");
    for number in 1..1000 {
        locking.hold(number * LOCK_ID_STEP, Mode::X, &mut watch).expect("it is free");
        locking.hold(number * LOCK_ID_STEP, Mode::S, &mut watch).expect("it is held");
    }
    let shown = watch.read();
    locking.release_all();
    (shown.of(Activity::Lock), shown.of(Activity::Execute))
}

#[test]
fn taking_locks_is_locking_where_it_is_timed() {
    let (lock, execute) = lock_and_execute(LockTiming::Locks);
    assert!(lock > 0 && execute > 0, "{lock}, {execute}");
    let (lock, execute) = lock_and_execute(LockTiming::Calls);
    assert!(lock == 0 && execute > 0, "{lock}, {execute}");
}
