//! Rings of two slots: wrap-around, full, batches, and drops at any moment. Loom checks that no
//! slot is read and written at once and that no value leaks.

use super::*;
use crate::sync::facade::{self, thread};

/// A thread that pushes 0, 1 and 2 into a ring of two slots, and the ring's other end.
fn three_through_two() -> (thread::JoinHandle<()>, Consumer<Box<i32>>) {
    let (mut producer, consumer) = ring(2);
    let sender = thread::spawn(move || {
        for value in 0..3 {
            while producer.try_push(Box::new(value)).is_err() {
                thread::yield_now();
            }
        }
    });
    (sender, consumer)
}

#[test]
fn values_pass_in_order_through_a_full_ring() {
    facade::model(|| {
        let (sender, mut consumer) = three_through_two();
        let mut expected = 0;
        while expected < 3 {
            match consumer.pop() {
                Some(value) => {
                    assert_eq!(*value, expected);
                    expected += 1;
                }
                None => thread::yield_now(),
            }
        }
        assert!(consumer.is_empty());
        sender.join().expect("it does not panic");
    });
}

#[test]
fn values_taken_together_leave_their_slots_together() {
    facade::model(|| {
        let (sender, mut consumer) = three_through_two();
        let mut expected = 0;
        while expected < 3 {
            let taken = consumer.take(2, |value| {
                assert_eq!(*value, expected);
                expected += 1;
            });
            if taken == 0 {
                thread::yield_now();
            }
        }
        sender.join().expect("it does not panic");
    });
}

#[test]
fn a_batch_becomes_visible_whole() {
    facade::model(|| {
        let (mut producer, mut consumer) = ring(4);
        let sender = thread::spawn(move || {
            producer.push(1).expect("not full");
            producer.push(2).expect("not full");
            producer.publish();
            producer.push(3).expect("not full");
        });
        match consumer.len() {
            0 => {}
            2 => assert_eq!((consumer.pop(), consumer.pop()), (Some(1), Some(2))),
            3 => assert_eq!(consumer.peek(), Some(&1)),
            other => panic!("{other} values of two batches are visible"),
        }
        sender.join().expect("it does not panic");
    });
}

#[test]
fn ends_dropped_in_any_order_leak_nothing() {
    facade::model(|| {
        let counted = Arc::new(());
        let (mut producer, mut consumer) = ring(2);
        let sender = {
            let counted = Arc::clone(&counted);
            thread::spawn(move || {
                producer.try_push(Arc::clone(&counted)).expect("not full");
                producer.push(counted).expect("not full");
            })
        };
        drop(consumer.pop());
        drop(consumer);
        sender.join().expect("it does not panic");
        assert_eq!(Arc::strong_count(&counted), 1);
    });
}
