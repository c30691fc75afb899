//! Who gets a parcel, and that it is dropped once.

use std::sync::Arc;
use std::thread;

use super::*;

#[test]
fn the_last_to_finish_gets_it() {
    let mut parcel = Parcel::new(vec![1]);
    parcel.push(2);
    let mut shares = parcel.share(3);
    let (one, other, last) = (shares.next(), shares.next(), shares.next());
    assert!(shares.next().is_none());
    let (one, other, last) = (one.expect("1"), other.expect("2"), last.expect("3"));
    assert_eq!(*other, [1, 2]);
    assert!(other.finish().is_none());
    assert!(one.finish().is_none());
    let mut parcel = last.finish().expect("it is the last");
    parcel.push(3);
    assert_eq!(*parcel, [1, 2, 3]);
}

#[test]
fn shares_are_dealt_out_in_parts_and_one_makes_another() {
    let mut all = Parcel::new("seats").share(3);
    let two = all.take_off(2);
    let one = all.take_off(7).next().expect("the third");
    assert_eq!((two.size_hint().0, all.next().is_none()), (2, true));
    let another = one.another();
    assert!(one.finish().is_none());
    drop(two);
    assert_eq!(*another.finish().expect("it is the last"), "seats");
}

#[test]
fn what_nobody_finishes_is_dropped_once() {
    let value = Arc::new(());
    let parcel = Parcel::new(Arc::clone(&value));
    let mut shares = parcel.share(3);
    let one = shares.next().expect("1");
    drop(shares); // two of them
    assert_eq!(Arc::strong_count(&value), 2);
    drop(one);
    assert_eq!(Arc::strong_count(&value), 1);
    drop(Parcel::new(Arc::clone(&value)));
    assert_eq!(Arc::strong_count(&value), 1);
}

#[test]
fn phases_follow_each_other_over_threads() {
    const PHASES: usize = 200;
    const THREADS: usize = 4;
    let seen = [const { AtomicUsize::new(0) }; THREADS];
    let mut parcel = Parcel::new(seen);
    for phase in 1..=PHASES {
        let workers: Vec<_> = parcel
            .share(THREADS)
            .enumerate()
            .map(|(own, share)| {
                thread::spawn(move || {
                    share[own].store(phase, Ordering::Relaxed);
                    share.finish()
                })
            })
            .collect();
        let ends = workers.into_iter().filter_map(|worker| worker.join().expect("it ends"));
        let mut ends: Vec<_> = ends.collect();
        parcel = ends.pop().expect("one gets it");
        assert!(ends.is_empty(), "only one");
        assert!(parcel.iter_mut().all(|seen| *seen.get_mut() == phase), "all that was done");
    }
}
