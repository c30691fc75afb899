//! Laps, closing and waiting, on one thread and on more threads than cores.

use super::*;
use crate::clock::Ticks;
use std::sync::atomic::AtomicU64;
use std::thread;
use std::time::Duration;

#[test]
fn values_come_out_in_order_over_many_laps() {
    let queue = BoundedQueue::new(3);
    assert_eq!(queue.capacity(), 4);
    for lap in 0..10 {
        (0..4).for_each(|value| queue.try_push(lap * 4 + value).expect("not full"));
        assert_eq!(queue.try_push(99), Err(PushError::Full(99)));
        assert_eq!(queue.len(), 4);
        (0..4).for_each(|value| assert_eq!(queue.try_pop(), Ok(lap * 4 + value)));
        assert_eq!(queue.try_pop(), Err(PopError::Empty));
        assert!(queue.is_empty());
    }
}

#[test]
fn positions_wrap_at_their_end() {
    let queue = BoundedQueue::new(2);
    let last = POSITIONS - 1;
    queue.tail.store(last * STEP, Ordering::Relaxed);
    queue.head.store(last * STEP, Ordering::Relaxed);
    queue.slots[1].sequence.store(last, Ordering::Relaxed);
    for value in 0..5 {
        queue.try_push(value).expect("not full");
        queue.try_push(value + 100).expect("not full");
        assert_eq!(queue.len(), 2);
        assert_eq!(queue.try_push(7), Err(PushError::Full(7)));
        assert_eq!((queue.try_pop(), queue.try_pop()), (Ok(value), Ok(value + 100)));
        assert_eq!(queue.try_pop(), Err(PopError::Empty));
    }
}

#[test]
fn a_closed_queue_is_drained_and_ends() {
    let queue = BlockingQueue::new(4);
    queue.push(1).expect("open");
    queue.push(2).expect("open");
    assert!(queue.close());
    assert!(!queue.close());
    assert_eq!(queue.push(3), Err(3));
    assert_eq!(queue.try_push(4), Err(PushError::Closed(4)));
    assert_eq!((queue.pop(), queue.pop(), queue.pop()), (Some(1), Some(2), None));
    assert_eq!(queue.try_pop(), Err(PopError::Drained));
}

#[test]
fn deadlines_end_waits() {
    let queue = BlockingQueue::new(2);
    let soon = || Ticks::from_now(Duration::from_millis(2));
    assert_eq!(queue.pop_until(soon()), Err(PopError::Empty));
    queue.push(1).expect("open");
    queue.push(2).expect("open");
    assert_eq!(queue.push_until(3, soon()), Err(PushError::Full(3)));
    assert_eq!(queue.pop_until(soon()), Ok(1));
}

#[test]
fn values_left_are_dropped_once() {
    let counted = std::sync::Arc::new(());
    let queue = BoundedQueue::new(4);
    (0..3).for_each(|_| queue.try_push(std::sync::Arc::clone(&counted)).expect("not full"));
    drop(queue.try_pop());
    drop(queue);
    assert_eq!(std::sync::Arc::strong_count(&counted), 1);
}

#[test]
fn everything_pushed_is_popped_once() {
    const THREADS: u64 = 4;
    const VALUES: u64 = 20_000;
    let queue = BlockingQueue::new(16);
    let (sum, count) = (AtomicU64::new(0), AtomicU64::new(0));
    thread::scope(|scope| {
        let pushers: Vec<_> = (0..THREADS)
            .map(|thread| {
                let queue = &queue;
                scope.spawn(move || {
                    let range = thread * VALUES..(thread + 1) * VALUES;
                    range.for_each(|value| queue.push(value).expect("open"));
                })
            })
            .collect();
        for _ in 0..THREADS {
            scope.spawn(|| {
                while let Some(value) = queue.pop() {
                    sum.fetch_add(value, Ordering::Relaxed);
                    count.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
        pushers.into_iter().for_each(|pusher| pusher.join().expect("it does not panic"));
        queue.close();
    });
    let total = THREADS * VALUES;
    assert_eq!(count.into_inner(), total);
    assert_eq!(sum.into_inner(), total * (total - 1) / 2);
}

#[test]
fn closing_wakes_every_waiter() {
    let (empty, full) = (BlockingQueue::<u32>::new(2), BlockingQueue::new(2));
    (0..2).for_each(|value| full.push(value).expect("open"));
    thread::scope(|scope| {
        let pops = [(); 3].map(|()| scope.spawn(|| empty.pop()));
        let pushes = [(); 3].map(|()| scope.spawn(|| full.push(9)));
        thread::sleep(Duration::from_millis(20));
        empty.close();
        full.close();
        for pop in pops {
            assert_eq!(pop.join().expect("it does not panic"), None);
        }
        for push in pushes {
            assert_eq!(push.join().expect("it does not panic"), Err(9));
        }
    });
}

#[test]
fn lanes_have_room_of_their_own_and_are_looked_at_in_turn() {
    let queue = BlockingQueue::<u32, 3>::with_lanes(2, 3);
    for (lane, value) in [(1, 10), (2, 20), (1, 11), (0, 1)] {
        queue.try_push_to(lane, value).expect("there is room");
    }
    assert_eq!(queue.try_push_to(1, 12), Err(PushError::Full(12)));
    assert_eq!(queue.len(), 4);
    assert_eq!(queue.try_pop_from(2), Ok(20));
    let rest: Vec<_> = std::iter::from_fn(|| queue.try_pop_from(0).ok()).collect();
    assert_eq!(rest, [1, 10, 11]);
    queue.try_push_to(2, 21).expect("there is room");
    assert!(queue.close() && !queue.close());
    assert_eq!(queue.try_push_to(0, 2), Err(PushError::Closed(2)));
    assert_eq!(queue.pop_at_most(None), Ok(21));
    assert_eq!(queue.pop_at_most(None), Err(PopError::Drained));
}

#[test]
fn nobody_sleeps_beside_a_value_in_another_lane() {
    const VALUES: u64 = 30_000;
    let queue = BlockingQueue::<u64, 3>::with_lanes(4, 3);
    let sum = std::thread::scope(|scope| {
        let queue = &queue;
        let pushers: Vec<_> = (0..3)
            .map(|lane| {
                scope.spawn(move || {
                    let own = (0..VALUES).filter(|value| value % 3 == lane as u64);
                    own.for_each(|value| queue.push_to(lane, value, None).expect("it is open"));
                })
            })
            .collect();
        let poppers: Vec<_> = (0..2)
            .map(|_| {
                scope.spawn(|| std::iter::from_fn(|| queue.pop_at_most(None).ok()).sum::<u64>())
            })
            .collect();
        pushers.into_iter().for_each(|pusher| pusher.join().expect("it does not panic"));
        queue.close();
        let sums = poppers.into_iter().map(|popper| popper.join().expect("it does not panic"));
        sums.sum::<u64>()
    });
    assert_eq!(sum, VALUES * (VALUES - 1) / 2);
}
