//! What shares have done is seen by who gets the parcel, who alone may change it.

use super::*;
use crate::sync::facade::{self, UnsafeCell, thread};

/// A value that loom watches.
struct Watched(UnsafeCell<u32>);

// SAFETY: the test is that a parcel and its shares keep those apart who change it.
unsafe impl Sync for Watched {}

/// Reads through a share.
fn read(share: &Share<[Watched; 3]>) -> u32 {
    // SAFETY: shares only read this one.
    share[2].0.with(|value| unsafe { *value })
}

/// Each of two shares writes a cell of its own; who is last reads both and writes the third.
fn end(own: usize, share: Share<[Watched; 3]>) -> Option<Parcel<[Watched; 3]>> {
    assert_eq!(read(&share), 7);
    // SAFETY: each has its own cell.
    share[own].0.with_mut(|value| unsafe { *value = 1 });
    let parcel = share.finish()?;
    let done: u32 = parcel[..2].iter().map(|cell| cell.0.with(|value| unsafe { *value })).sum();
    assert_eq!(done, 2, "both have been here");
    // SAFETY: it is the only one that has it.
    parcel[2].0.with_mut(|value| unsafe { *value += 1 });
    Some(parcel)
}

#[test]
fn who_brings_the_counter_to_zero_has_it_alone() {
    facade::model(|| {
        let parcel = Parcel::new([0, 0, 7].map(|value| Watched(UnsafeCell::new(value))));
        let mut shares = parcel.share(2);
        let (one, other) = (shares.next().expect("1"), shares.next().expect("2"));
        let there = thread::spawn(move || end(1, other));
        let here = end(0, one);
        let there = there.join().expect("it does not panic");
        assert!(here.is_some() != there.is_some(), "one gets it");
        let parcel = here.or(there).expect("one has it");
        // A second phase, whose shares see what was done between the two.
        let mut shares = parcel.share(2);
        let (one, other) = (shares.next().expect("1"), shares.next().expect("2"));
        let seen = thread::spawn(move || other[2].0.with(|value| unsafe { *value }));
        assert_eq!(one[2].0.with(|value| unsafe { *value }), 8);
        drop(one);
        assert_eq!(seen.join().expect("it does not panic"), 8);
    });
}

#[test]
fn another_share_keeps_it_from_whoever_finishes_meanwhile() {
    facade::model(|| {
        let parcel = Parcel::new([0, 0, 7].map(|value| Watched(UnsafeCell::new(value))));
        let mut shares = parcel.share(2);
        let (one, other) = (shares.next().expect("1"), shares.next().expect("2"));
        // One thread finishes while the other makes a share out of its own.
        let there = thread::spawn(move || end_after(None, other));
        let another = one.another();
        let here = end_after(Some(one), another);
        let there = there.join().expect("it does not panic");
        assert!(here != there, "one of them gets it");
    });
}

/// Reads, and finishes; whether it got the parcel, which it changes then.
fn end_after(first: Option<Share<[Watched; 3]>>, share: Share<[Watched; 3]>) -> bool {
    let first = first.and_then(Share::finish);
    assert!(first.is_none(), "another share is there");
    assert_eq!(read(&share), 7);
    let Some(parcel) = share.finish() else { return false };
    // SAFETY: it is the only one that has it.
    parcel[2].0.with_mut(|value| unsafe { *value += 1 });
    true
}
