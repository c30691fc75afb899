//! Sums over workers, and the distance between their lines.

use super::*;

#[test]
fn sums_are_exact_once_workers_are_done() {
    let counters: PerWorker<Counter> = PerWorker::with_defaults(4);
    std::thread::scope(|scope| {
        for (worker, counter) in counters.iter().enumerate() {
            scope.spawn(move || (0..1_000).for_each(|_| counter.add(worker as u64)));
        }
    });
    assert_eq!(counters.sum(Counter::get), 1_000 * (1 + 2 + 3));
    assert_eq!(counters.max(Counter::get), 3_000);
}

#[test]
fn a_gauge_is_set_and_raised() {
    let counter = Counter::new();
    counter.raise_to(7);
    counter.raise_to(3);
    assert_eq!(counter.get(), 7);
    counter.set(2);
    counter.increment();
    assert_eq!(counter.get(), 3);
}

#[test]
fn workers_share_no_line() {
    let counters = PerWorker::new(3, |_| Counter::new());
    let distance =
        std::ptr::from_ref(counters.of(1)).addr() - std::ptr::from_ref(counters.of(0)).addr();
    assert!(distance >= 64, "{distance}");
    assert!(counters.get(3).is_none());
    assert_eq!(counters.workers(), 3);
}
