//! Queues of two slots: exactly-once, wrap-around, closing, and no lost wake-up.

use super::*;
use crate::sync::facade::{self, Arc, thread};

#[test]
fn two_pushers_and_a_popper_pass_each_value_once() {
    facade::model(|| {
        let queue = Arc::new(BoundedQueue::new(2));
        let pushers: Vec<_> = (1..3)
            .map(|value| {
                let queue = Arc::clone(&queue);
                thread::spawn(move || queue.try_push(Box::new(value)).expect("not full"))
            })
            .collect();
        let early = queue.try_pop().map_or(0, |value| *value);
        pushers.into_iter().for_each(|pusher| pusher.join().expect("it does not panic"));
        let late: i32 = std::iter::from_fn(|| queue.try_pop().ok()).map(|value| *value).sum();
        assert_eq!(early + late, 3);
    });
}

#[test]
fn slots_are_reused_by_the_next_lap() {
    facade::model(|| {
        let queue = Arc::new(BoundedQueue::new(2));
        queue.try_push(Box::new(1)).expect("not full");
        queue.try_push(Box::new(2)).expect("not full");
        let popper = {
            let queue = Arc::clone(&queue);
            thread::spawn(move || *queue.try_pop().expect("two are there"))
        };
        let pushed = queue.try_push(Box::new(3)).is_ok();
        assert_eq!(popper.join().expect("it does not panic"), 1);
        let rest: Vec<_> =
            std::iter::from_fn(|| queue.try_pop().ok()).map(|value| *value).collect();
        assert_eq!(rest, if pushed { vec![2, 3] } else { vec![2] });
    });
}

#[test]
fn two_poppers_share_two_values() {
    facade::model(|| {
        let queue = Arc::new(BoundedQueue::new(2));
        queue.try_push(Box::new(1)).expect("not full");
        queue.try_push(Box::new(2)).expect("not full");
        let popper = {
            let queue = Arc::clone(&queue);
            thread::spawn(move || *queue.try_pop().expect("one each"))
        };
        let mine = *queue.try_pop().expect("one each");
        assert_eq!(mine + popper.join().expect("it does not panic"), 3);
    });
}

#[test]
fn a_push_before_close_is_popped_and_none_comes_after() {
    facade::model(|| {
        let queue = Arc::new(BlockingQueue::new(2));
        let pusher = {
            let queue = Arc::clone(&queue);
            thread::spawn(move || queue.push(5).is_ok())
        };
        let closer = {
            let queue = Arc::clone(&queue);
            thread::spawn(move || queue.close())
        };
        let popped: Vec<_> = std::iter::from_fn(|| queue.pop()).collect();
        let pushed = pusher.join().expect("it does not panic");
        assert!(closer.join().expect("it does not panic"));
        assert_eq!(popped, if pushed { vec![5] } else { vec![] });
    });
}

#[test]
fn a_waiting_pop_gets_the_value() {
    facade::model(|| {
        let queue = Arc::new(BlockingQueue::new(2));
        let popper = {
            let queue = Arc::clone(&queue);
            thread::spawn(move || queue.pop())
        };
        queue.push(Box::new(1)).expect("open");
        assert_eq!(popper.join().expect("it does not panic").as_deref(), Some(&1));
    });
}

#[test]
fn a_waiting_push_gets_room() {
    facade::model(|| {
        let queue = Arc::new(BlockingQueue::new(2));
        queue.push(1).expect("room");
        queue.push(2).expect("room");
        let pusher = {
            let queue = Arc::clone(&queue);
            thread::spawn(move || queue.push(3).expect("open"))
        };
        assert_eq!(queue.pop(), Some(1));
        pusher.join().expect("it does not panic");
        assert_eq!((queue.pop(), queue.pop()), (Some(2), Some(3)));
    });
}

/// Both pops may fall asleep after `close`, while the push is half done; the push wakes one.
#[test]
fn two_waiting_pops_end_when_the_last_value_is_gone() {
    facade::model(|| {
        let queue = Arc::new(BlockingQueue::new(2));
        let pusher = {
            let queue = Arc::clone(&queue);
            thread::spawn(move || queue.push(1).is_ok())
        };
        let popper = {
            let queue = Arc::clone(&queue);
            thread::spawn(move || queue.pop().is_some())
        };
        queue.close();
        let mine = queue.pop().is_some();
        let theirs = popper.join().expect("it does not panic");
        let pushed = pusher.join().expect("it does not panic");
        assert!(!(mine && theirs), "one value cannot come twice");
        assert!(!pushed || mine || theirs || queue.pop().is_some(), "the value is lost");
    });
}
