//! Order, bounds, batches and drops, on one thread and on two.

use super::*;
use std::thread;

#[test]
fn values_come_out_in_order_and_full_gives_back() {
    let (mut producer, mut consumer) = ring(3);
    assert_eq!(producer.capacity(), 4);
    (0..4).for_each(|value| producer.try_push(value).expect("not full"));
    assert_eq!(producer.try_push(9), Err(9));
    assert_eq!(producer.free_slots(), 0);
    assert_eq!(consumer.len(), 4);
    assert_eq!(consumer.peek(), Some(&0));
    assert_eq!(consumer.pop(), Some(0));
    producer.try_push(4).expect("one was taken");
    assert_eq!(std::iter::from_fn(|| consumer.pop()).collect::<Vec<_>>(), [1, 2, 3, 4]);
    assert!(consumer.is_empty());
}

#[test]
fn a_push_is_invisible_until_published() {
    let (mut producer, mut consumer) = ring(4);
    producer.push('a').expect("not full");
    producer.push('b').expect("not full");
    assert_eq!(consumer.pop(), None);
    assert_eq!(producer.unpublished(), 2);
    producer.publish();
    assert_eq!(producer.unpublished(), 0);
    assert_eq!((consumer.pop(), consumer.pop(), consumer.pop()), (Some('a'), Some('b'), None));
}

#[test]
fn a_full_ring_of_unpublished_values_is_published_by_try_push() {
    let (mut producer, mut consumer) = ring(2);
    producer.push(1).expect("not full");
    producer.push(2).expect("not full");
    assert_eq!(producer.try_push(3), Err(3));
    assert_eq!(consumer.pop(), Some(1));
}

#[test]
fn several_are_taken_at_once_and_no_more_than_there_are() {
    let (mut producer, mut consumer) = ring(4);
    let mut taken = Vec::new();
    assert_eq!(consumer.take(3, |value: u32| taken.push(value)), 0);
    (0..4).for_each(|value| producer.try_push(value).expect("there is room"));
    assert_eq!(consumer.take(3, |value| taken.push(value)), 3);
    assert_eq!(producer.free_slots(), 3);
    (4..7).for_each(|value| producer.try_push(value).expect("there is room again"));
    assert_eq!(consumer.take(9, |value| taken.push(value)), 4);
    assert_eq!(taken, [0, 1, 2, 3, 4, 5, 6]);
}

#[test]
fn a_panic_in_the_midst_of_taking_drops_every_value_once() {
    let counted = Arc::new(());
    let (mut producer, mut consumer) = ring(4);
    (0..4).for_each(|_| producer.try_push(Arc::clone(&counted)).expect("there is room"));
    let mut count = 0;
    let panics = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        consumer.take(4, |_| {
            count += 1;
            assert!(count < 3, "on purpose");
        });
    }));
    assert!(panics.is_err());
    assert_eq!((consumer.len(), Arc::strong_count(&counted)), (1, 2));
    drop((producer, consumer));
    assert_eq!(Arc::strong_count(&counted), 1);
}

#[test]
fn every_value_is_dropped_once() {
    let counted = std::sync::Arc::new(());
    let (mut producer, mut consumer) = ring(8);
    for _ in 0..6 {
        producer.push(std::sync::Arc::clone(&counted)).expect("not full");
    }
    producer.publish();
    drop((consumer.pop(), consumer.pop()));
    assert_eq!(std::sync::Arc::strong_count(&counted), 5);
    producer.push(std::sync::Arc::clone(&counted)).expect("not full");
    drop(producer);
    drop(consumer);
    assert_eq!(std::sync::Arc::strong_count(&counted), 1);
}

#[test]
fn two_threads_pass_everything_in_order() {
    const VALUES: u64 = 200_000;
    let (mut producer, mut consumer) = ring(64);
    thread::scope(|scope| {
        scope.spawn(move || {
            for value in 0..VALUES {
                while producer.push(value).is_err() {
                    producer.publish();
                    thread::yield_now();
                }
                if value % 7 == 0 {
                    producer.publish();
                }
            }
        });
        for expected in 0..VALUES {
            let value = loop {
                match consumer.pop() {
                    Some(value) => break value,
                    None => thread::yield_now(),
                }
            };
            assert_eq!(value, expected);
        }
    });
}
